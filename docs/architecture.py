"""The picture in ARCHITECTURE.md, from the imports themselves: `python -m docs.architecture` writes
it.

A package is a file or package directly in `dpci_core` or `ui`. It stands one row above the highest
package that it imports, so every arrow points down; an import that a chain of others implies is not
drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
Graph = Mapping[str, frozenset[str]]
"""The packages that each package imports."""

ROW, BOX, GAP, MARGIN = 58, 28, 16, 24
"""Pixels from one row to the next, of a box's height, between two of a row, and around
everything.
"""
LANE = 10
"""Width that an arrow takes where it passes a row."""
SWEEPS = 60
"""How often the rows are put in order by their neighbours, down and up again."""
STYLE = """
  .ground { fill: #ffffff } .box { fill: #eef3fa; stroke: #4a6fa5 } .other { fill: #f6f0e3; stroke: #9a7b2f }
  text { fill: #1b2430; font: 13px system-ui, sans-serif; text-anchor: middle } .title { font-weight: 600 }
  path { fill: none; stroke: #5f6b7a; stroke-width: 1.1 } .head { fill: #5f6b7a; stroke: none }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #12161c } .box { fill: #1e2a3a; stroke: #7fa6dd } .other { fill: #2e2818; stroke: #d0ad58 }
    text { fill: #e8edf3 } path { stroke: #93a0b0 } .head { fill: #93a0b0 }
  }
"""  # noqa: E501 - CSS


def imported(source: str) -> set[str]:
    """Dotted names that a module imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@cache
def packages(top: str) -> Graph:
    """The packages of `dpci_core` or `ui`, each with those that it imports."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / top).rglob("*.py")):
        package = path.relative_to(ROOT / top).parts[0].removesuffix(".py")
        if package in ("__init__", "__main__"):
            continue
        reached = (name.split(".") for name in imported(path.read_text(encoding="utf-8")))
        found.setdefault(package, set()).update(
            parts[1] for parts in reached if parts[0] == top and len(parts) > 1
        )
    return {
        package: frozenset(reached & found.keys() - {package}) for package, reached in found.items()
    }


def heights(graph: Graph) -> dict[str, int]:
    """The row of each package: one above the highest that it imports, the ground being 0."""
    known: dict[str, int] = {}

    def height(package: str) -> int:
        if package not in known:
            known[package] = 1 + max((height(below) for below in graph[package]), default=-1)
        return known[package]

    for package in sorted(graph):
        height(package)
    return known


def needed_arrows(graph: Graph) -> Graph:
    """The imports that no chain of other imports implies."""

    def below(package: str) -> set[str]:
        return set(graph[package]).union(*(below(other) for other in graph[package]))

    implied = {
        package: set().union(*(below(other) for other in graph[package])) for package in graph
    }
    return {package: frozenset(graph[package] - implied[package]) for package in graph}


@dataclass
class Layout:
    """Where everything stands: rows from the ground up, each with its packages and the arrows that
    pass, in order.

    An entry is a package, or (package, package below, row) for an arrow on its way; `chains`
    follows each arrow downwards.
    """

    rows: list[list[object]]
    chains: list[list[object]]
    x: dict[object, float]


def laid_out(graph: Graph) -> Layout:
    """Rows put in order by the mean place of their neighbours, as is usual for layered drawings."""
    row_of = heights(graph)
    rows: list[list[object]] = [[] for _ in range(max(row_of.values()) + 1)]
    for package in sorted(graph):
        rows[row_of[package]].append(package)
    chains: list[list[object]] = []
    for package, reached in sorted(needed_arrows(graph).items()):
        for below in sorted(reached):
            passed: list[object] = [
                (package, below, row) for row in range(row_of[package] - 1, row_of[below], -1)
            ]
            for entry in passed:
                rows[entry[2]].append(entry)  # type: ignore[index]
            chains.append([package, *passed, below])
    neighbours: dict[object, list[object]] = {entry: [] for row in rows for entry in row}
    for chain in chains:
        for upper, lower in pairwise(chain):
            neighbours[upper].append(lower)
            neighbours[lower].append(upper)
    layout = Layout(rows, chains, {})
    for row in rows:
        _spread(row, layout.x, {})
    for _ in range(SWEEPS):
        for row in (*rows, *reversed(rows)):
            preferred = {
                e: _mean([layout.x[other] for other in neighbours[e]], layout.x[e]) for e in row
            }
            row.sort(key=lambda e: (preferred[e], str(e)))
            _spread(row, layout.x, preferred)
    return layout


def _mean(values: list[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def width_of(entry: object) -> float:
    """Of a box with its name, or of the lane of an arrow."""
    return 22.0 + 7.4 * len(entry) if isinstance(entry, str) else float(LANE)


def _spread(row: list[object], x: dict[object, float], preferred: Mapping[object, float]) -> None:
    """Middles of a row's entries, near their preferred places and not over each other."""
    least = [0.0]
    for left, right in pairwise(row):
        least.append(least[-1] + (width_of(left) + width_of(right)) / 2.0 + GAP)
    # Preferred places less the space that those on the left take: the nearest ascending sequence,
    # pooled where they cross.
    pools: list[tuple[float, int]] = []
    for entry, taken in zip(row, least, strict=True):
        pools.append((preferred.get(entry, 0.0) - taken, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (right, n_right), (left, n_left) = pools.pop(), pools.pop()
            pools.append(((left * n_left + right * n_right) / (n_left + n_right), n_left + n_right))
    places = [place for place, n in pools for _ in range(n)]
    x.update({entry: place + taken for entry, place, taken in zip(row, places, least, strict=True)})


def drawn(
    graph: Graph, *, title: str, left: float, height: float, other: Iterable[str] = ()
) -> tuple[str, float]:
    """One graph as SVG that stands on the ground line at `height`, and the x where it ends."""
    layout = laid_out(graph)
    start = left - min(layout.x[e] - width_of(e) / 2.0 for row in layout.rows for e in row)
    row_of = {entry: k for k, row in enumerate(layout.rows) for entry in row}

    def place(entry: object) -> tuple[float, float]:
        return round(start + layout.x[entry], 1), round(height - ROW * row_of[entry], 1)

    parts = []
    for chain in layout.chains:
        x, y = place(chain[0])
        y += BOX / 2.0
        path = f"M{x:g} {y:g}"
        for entry in chain[1:]:
            nx, middle = place(entry)
            is_end = isinstance(entry, str)
            top = middle - BOX / 2.0 - (5.0 if is_end else 0.0)
            bend = (top - y) / 2.0
            path += f"C{x:g} {y + bend:g} {nx:g} {top - bend:g} {nx:g} {top:g}"
            if not is_end:
                path += f"V{middle + BOX / 2.0:g}"
            x, y = nx, middle + BOX / 2.0
        tip = place(chain[-1])[1] - BOX / 2.0
        parts.append(f'<path d="{path}"/><path class="head" d="M{x:g} {tip:g}l-3.5 -7h7z"/>')
    for row in layout.rows:
        for entry in row:
            if isinstance(entry, str):
                x, y = place(entry)
                kind, width = ("other" if entry in other else "box"), width_of(entry)
                parts.append(
                    f'<rect class="{kind}" x="{x - width / 2.0:g}" y="{y - BOX / 2.0:g}" '
                    f'width="{width:g}" height="{BOX}" rx="5"/><text x="{x:g}" '
                    f'y="{y + 4.5:g}">{escape(entry)}</text>'
                )
    end = start + max(layout.x[e] + width_of(e) / 2.0 for row in layout.rows for e in row)
    parts.append(
        f'<text class="title" x="{(left + end) / 2.0:g}" y="{MARGIN + 4}">{escape(title)}</text>'
    )
    return "\n".join(parts), end


def picture() -> str:
    """The dashboard on the left, standing on the core as one box; the core on the right."""
    core, ui = packages("dpci_core"), packages("ui")
    ui = {package: reached | {"dpci_core"} for package, reached in ui.items()} | {
        "dpci_core": frozenset()
    }
    n_rows = 1 + max(*heights(core).values(), *heights(ui).values())
    ground = 2.0 * MARGIN + 20.0 + ROW * (n_rows - 1)
    left, end = drawn(
        ui, title="ui: the dashboard", left=MARGIN, height=ground, other=["dpci_core"]
    )
    right, end = drawn(core, title="dpci_core: the method", left=end + 3.0 * MARGIN, height=ground)
    width, height = round(end + MARGIN), round(ground + BOX / 2.0 + MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="Which package imports '
        f'which">\n<style>{STYLE}</style>\n'
        f'<rect class="ground" width="{width}" height="{height}"/>\n{left}\n{right}\n</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    for top in ("ui", "dpci_core"):
        graph = packages(top)
        n_arrows = sum(map(len, graph.values()))
        shown = sum(map(len, needed_arrows(graph).values()))
        print(
            f"{top}: {len(graph)} packages, {1 + max(heights(graph).values())} rows, {n_arrows} "
            f"arrows, {shown} drawn"
        )
