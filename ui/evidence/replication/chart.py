"""Published coverage as lines, ours as marks with error bars. A pure builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import plotly.graph_objects as go

from ui.kit.figure import Meta, finish
from ui.kit.palette import GRID, QUIET
from ui.session.choices import Combination, shortened

DATASET_WORDS = {
    "kddcup99": "KDD Cup 99",
    "adult": "Adult",
    "banking": "Bank Marketing",
    "ipums_us": "IPUMS-US",
    "ipums_br": "IPUMS-BR",
}


@dataclass(frozen=True)
class Cell:
    """One published coverage; epsilons are pure, a zCDP cell spends rho_k = epsilon_k^2/2."""

    table: str
    dataset: str
    privacy: str
    mechanism: str
    loss: str
    n: int
    d: int
    epsilon_1: str
    epsilon_2: str
    epsilon_3: str
    c: float
    h: float
    alpha: float
    coverage: float

    @property
    def key(self) -> str:
        """Name of the cell in the file of our run."""
        parts = (self.table, self.dataset, self.privacy, self.mechanism, self.loss, self.n, self.d)
        return "/".join(map(str, (*parts, self.epsilon_1, self.epsilon_2, self.epsilon_3)))

    @property
    def combination(self) -> Combination:
        """How the design is drawn elsewhere."""
        return Combination(self.privacy, self.mechanism, self.loss)


@dataclass(frozen=True)
class Reproduced:
    """A cell as recomputed by `benchmarks.reproduce`: coverage with its Monte Carlo standard error,
    and mean length.
    """

    cell: str
    coverage: float
    coverage_se: float
    ci_length: float
    k: int
    m: int
    seed: int
    date: str
    versions: str


def _key(cell: Cell) -> tuple[str, str, str]:
    return cell.privacy, cell.mechanism, cell.loss


def coverage_chart(
    cells: Sequence[Cell],
    found: Mapping[str, Reproduced],
    *,
    names: Mapping[Combination, str],
    swept: str,
    label: str,
    meta: Meta,
) -> go.Figure:
    """One line of published values and one row of our marks for each combination."""
    fig = go.Figure()
    groups = [list(group) for _, group in groupby(sorted(cells, key=_key), key=_key)]
    lowest = 0.94
    for group in groups:
        first = group[0]
        combination = first.combination
        style, name = combination.style, shortened(names[combination])
        mine = [(c, f) for c in group if (f := found.get(c.key)) is not None]
        fig.add_scatter(
            x=[float(getattr(c, swept)) for c in group],
            y=[c.coverage for c in group],
            mode="lines",
            line={"color": style.colour, "width": 1.8, "dash": "dot"},
            name=f"{name}: published",
            legendgroup=combination.key,
            showlegend=not mine,
        )
        lowest = min(
            [
                lowest,
                *(c.coverage for c in group),
                *(f.coverage - 2 * f.coverage_se for _, f in mine),
            ]
        )
        if mine:
            fig.add_scatter(
                x=[float(getattr(c, swept)) for c, _ in mine],
                y=[f.coverage for _, f in mine],
                error_y={
                    "type": "data",
                    "array": [2 * f.coverage_se for _, f in mine],
                    "color": style.colour,
                    "thickness": 1.5,
                },
                mode="markers",
                marker={"color": style.colour, "symbol": style.marker, "size": 9},
                name=name,
                legendgroup=combination.key,
            )
    fig.add_hline(
        y=0.95, line={"color": QUIET, "width": 2, "dash": "dash"}, annotation_text="promised 95 %"
    )
    fig.update_xaxes(
        title={"text": label, "standoff": 4}, tickformat=",~g", gridcolor=GRID, automargin=True
    )
    fig.update_yaxes(
        title={"text": "coverage, mean over coefficients"},
        range=[lowest - 0.003, 1.001],
        tickformat=".1%",
        gridcolor=GRID,
        automargin=True,
    )
    first = cells[0]
    caption = (
        f"{DATASET_WORDS[first.dataset]}, encoding “paper”, c = {first.c:g}, h = {first.h:g}, "
        "published calibration, zCDP at ρ_k = ε_k²/2; dotted: published, marks: ours ± 2 s.e."
    )
    return finish(
        fig, caption=caption, meta=meta, source="public", height=380, legend_rows=len(groups)
    )
