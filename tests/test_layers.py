"""The house rules as imports: packages of the core lean on lower layers only, and pages never hold
the method.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from ui.session.evidence import TABS

ROOT = Path(__file__).resolve().parents[1]
LAYERS = (
    ("base", "losses"),
    ("privacy", "design", "report"),
    ("schema", "datasets"),
    ("solvers", "mechanisms"),
    ("intervals", "regression", "tuning", "scorecards"),
    ("simulation", "planner"),
    ("plan", "ledger", "release"),
    ("estimators",),
    ("cli", "__main__"),
)
"""Lowest first; within a layer a package may lean on those to its left. Packages may lean on
themselves.
"""
HEIGHT = {
    package: (layer, place)
    for layer, packages in enumerate(LAYERS)
    for place, package in enumerate(packages)
}
UI_LAYERS = (
    ("kit",),
    ("session",),
    ("controls",),
    ("views",),
    (
        "about",
        "evidence",
        "explore",
        "learn",
        "ledger",
        "plan",
        "release",
    ),
    ("shell", "gate", "head"),
)
"""Lowest first. A package leans on itself and on lower layers only, so no page reaches another."""
UI_HEIGHT = {package: layer for layer, packages in enumerate(UI_LAYERS) for package in packages}
ONLY_IN_TESTS = {"pytest", "hypothesis", "statsmodels", "playwright", "psutil", "nbformat"}
INTERFACE = {"streamlit", "plotly", "starlette", "ui", "pages", "app"}
INTERFACE_TOP = {"app.py", "pages", "ui"}


@cache
def imported(source: str) -> frozenset[str]:
    """Dotted names that a module imports anywhere, also inside functions. Many rules ask it of the
    same modules.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer they reach"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def packages(source: str) -> set[str]:
    """The first part of every imported name."""
    return {name.split(".")[0] for name in imported(source)}


def package_of(path: Path) -> str:
    return path.relative_to(ROOT / "dpci_core").parts[0].removesuffix(".py")


def broken_layers(package: str, source: str) -> list[str]:
    """What this package of the core reaches but may not: packages on its right or above, and the
    public interface.
    """
    reached = {
        name.partition(".")[2].split(".")[0]
        for name in imported(source)
        if name.split(".")[0] == "dpci_core"
    }
    return sorted(
        r or "the public interface"
        for r in reached - {package}
        if r not in HEIGHT or HEIGHT[r] >= HEIGHT[package]
    )


def broken_ui_layers(package: str, source: str) -> list[str]:
    """What this package of the dashboard reaches but may not: its own layer and those above."""
    reached = {
        [*name.split("."), ""][1] for name in imported(source) if name.split(".")[0] == "ui"
    } - {package}
    return sorted(
        r or "ui" for r in reached if r not in UI_HEIGHT or UI_HEIGHT[r] >= UI_HEIGHT[package]
    )


def cycle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a ring, or nothing."""
    graph = {}
    for module, source in sources.items():
        reached = {
            name if name in sources else name.rpartition(".")[0] for name in imported(source)
        }
        graph[module] = (reached & sources.keys()) - {module}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


UI = sorted((ROOT / "ui").rglob("*.py"))
CORE = sorted((ROOT / "dpci_core").rglob("*.py"))
PYTHON = [p for top in ("dpci_core", "ui", "pages") for p in sorted((ROOT / top).rglob("*.py"))] + [
    *ROOT.glob("*.py")
]
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))


def test_every_package_leans_on_lower_layers_only() -> None:
    packages = {path: package_of(path) for path in CORE}  # the public interface shows every layer
    assert set(packages.values()) - {"__init__"} <= set(HEIGHT), "a package has no layer"
    for path, package in packages.items():
        assert package == "__init__" or broken_layers(package, path.read_text()) == [], path


def test_no_page_reaches_a_page_and_no_session_a_picture() -> None:
    for path in UI:
        package = path.relative_to(ROOT / "ui").parts[0].removesuffix(".py")
        assert package in {*UI_HEIGHT, "__init__"}, f"{package} has no layer"
        assert package == "__init__" or broken_ui_layers(package, path.read_text()) == [], path


def test_nothing_but_the_command_line_uses_its_parts() -> None:
    for path in PYTHON:
        if path.relative_to(ROOT).parts[1:2] not in {("cli",), ("__main__.py",)}:
            parts = {n for n in imported(path.read_text()) if n.startswith("dpci_core.cli.")}
            assert parts == set(), path


def test_every_page_has_a_package_and_every_package_a_page() -> None:
    pages = {path.stem: imported(path.read_text()) for path in (ROOT / "pages").glob("*.py")}
    assert set(pages) == set(UI_LAYERS[-2])
    for name, used in pages.items():
        assert used == {"__future__.annotations", f"ui.{name}.page.page"}


def test_the_core_knows_no_interface() -> None:
    assert [path for path in CORE if packages(path.read_text()) & INTERFACE] == []


def test_what_ships_needs_no_test_tool() -> None:
    tools = ONLY_IN_TESTS | {"tests", "benchmarks"}
    assert [path for path in PYTHON if packages(path.read_text()) & tools] == []


def test_streamlit_stays_with_the_interface() -> None:
    below = [p for p in PYTHON + BENCHMARKS if p.relative_to(ROOT).parts[0] not in INTERFACE_TOP]
    assert len(below) > len(CORE)
    assert [path for path in below if "streamlit" in packages(path.read_text())] == []


def test_no_module_leans_on_itself_in_a_ring() -> None:
    sources = {".".join(p.relative_to(ROOT).with_suffix("").parts): p.read_text() for p in PYTHON}
    assert cycle({name.removesuffix(".__init__"): source for name, source in sources.items()}) == []


def test_commands_and_pages_do_not_wake_the_compiler_or_all_distributions() -> None:
    modules = "sys, dpci_core.cli.main, ui.evidence.page"
    late = {"numba", "sklearn", "scipy.stats"}
    code = f"import {modules}; assert not {late} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_public_interface_waits_with_tables_and_files() -> None:
    late = {"pandas", "yaml", "jinja2", "dpci_core.plan", "dpci_core.schema"}
    code = (
        f"import sys, dpci_core; assert not {late!r} & set(sys.modules); dpci_core.Plan, "
        "dpci_core.Guesses"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_charts_are_pure() -> None:
    pure = (
        "explore/sentences",
        "kit/palette",
        "session/budget",
        "session/settings",
        "session/case",
        "session/results",
    )
    for name in (
        *pure,
        *(
            f"{page}/{part}"
            for page in (*UI_LAYERS[-2], *(f"evidence/{tab}" for tab in TABS))
            for part in ("chart", "charts", "job", "numbers")
        ),
    ):
        file = ROOT / "ui" / f"{name}.py"
        assert name not in pure or file.exists()
        assert not file.exists() or "streamlit" not in packages(file.read_text())


def test_the_rule_sees_a_breach() -> None:
    assert broken_layers("solvers", "from dpci_core.intervals.forecast import forecast") == [
        "intervals"
    ]
    assert broken_layers("base", "def f():\n    import dpci_core.privacy.noise") == ["privacy"]
    assert broken_layers("design", "from dpci_core import privacy, mechanisms") == ["mechanisms"]
    assert broken_layers("schema", "from dpci_core.schema import declare") == []
    assert broken_layers("planner", "from dpci_core import solvers, Design") == ["Design"]
    assert broken_layers("planner", "import dpci_core") == ["the public interface"]
    with pytest.raises(AssertionError, match="relative"):
        imported("from . import forecast")


def test_the_rule_of_the_dashboard_sees_a_breach() -> None:
    assert broken_ui_layers("explore", "from ui.plan import words") == ["plan"]
    assert broken_ui_layers("session", "def f():\n    from ui.views.show import show") == ["views"]
    assert broken_ui_layers("session", "from ui.evidence.coverage.job import Job") == ["evidence"]
    assert broken_ui_layers("kit", "import ui.session.text") == ["session"]
    assert broken_ui_layers("controls", "from ui import views, state") == ["state", "views"]
    assert broken_ui_layers("learn", "import ui") == ["ui"]
    assert (
        broken_ui_layers("plan", "from ui.plan import words\nfrom ui.views.show import show") == []
    )


def test_the_rules_of_packages_and_rings_see_a_breach() -> None:
    assert packages("def f():\n    from streamlit.runtime import get_instance") & INTERFACE
    assert packages("import numpy, hypothesis.strategies as st") & ONLY_IN_TESTS
    ring = {
        "a.x": "from a import y",
        "a.y": "from a.z import f",
        "a.z": "def f():\n    import a.x",
        "a": "import a.x",
    }
    assert set(cycle(ring)) == {"a.x", "a.y", "a.z"}
    assert cycle(ring | {"a.z": ""}) == []
