"""The house rules as imports: rooms of the core lean on lower floors only, and pages never hold the method."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = (
    ("errors", "validation", "privacy", "losses", "noise", "linalg", "kernels"),
    ("design", "erm", "batched", "sensitivity"),
    ("perturbation", "private_moments"),
    ("intervals", "inference"),
    ("forecast", "experiment_result", "experiment"),
    ("schema", "datasets", "reproduce"),
    ("__main__",),
)
"""Lowest first; within a floor a room may lean on those to its left. Packages may lean on themselves."""
HEIGHT = {room: (floor, place) for floor, rooms in enumerate(FLOORS) for place, room in enumerate(rooms)}
ONLY_IN_TESTS = {"pytest", "hypothesis", "statsmodels", "opendp", "playwright", "psutil"}
INTERFACE = {"streamlit", "plotly", "starlette", "ui", "pages", "app"}


def imported(source: str) -> set[str]:
    """Dotted names that a module imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the floor they reach"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "dpci_core").parts[0].removesuffix(".py")


def broken_floors(room: str, source: str) -> list[str]:
    """Rooms of the core that this one may not lean on but does."""
    reached = {name.split(".")[1] for name in imported(source) if name.startswith("dpci_core.")}
    rooms = (reached & HEIGHT.keys()) - {room}
    return sorted(other for other in rooms if HEIGHT[other] >= HEIGHT[room])


CORE = sorted((ROOT / "dpci_core").rglob("*.py"))
PYTHON = [p for top in ("dpci_core", "ui", "pages") for p in sorted((ROOT / top).rglob("*.py"))] + [ROOT / "app.py"]


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_room_leans_on_lower_floors_only(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return  # the front door shows every floor
    assert room in HEIGHT, f"{room} has no floor"
    assert broken_floors(room, path.read_text()) == []


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_core_knows_no_interface(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path.read_text())} & INTERFACE


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_ships_needs_no_test_tool(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path.read_text())} & (ONLY_IN_TESTS | {"tests", "benchmarks"})


def test_the_front_door_does_not_wake_the_compiler() -> None:
    code = "import sys, dpci_core, ui.validate, ui.reproduce, ui.home; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_charts_are_pure() -> None:
    for name in ("charts", "palette", "budget", "settings"):
        assert "streamlit" not in imported((ROOT / "ui" / f"{name}.py").read_text())


def test_the_rule_sees_a_breach() -> None:
    assert broken_floors("erm", "from dpci_core.forecast import forecast") == ["forecast"]
    assert broken_floors("privacy", "def f():\n    import dpci_core.noise") == ["noise"]
    assert broken_floors("noise", "from dpci_core import privacy, inference") == ["inference"]
    assert broken_floors("schema", "from dpci_core.schema import declare") == []
    with pytest.raises(AssertionError, match="relative"):
        imported("from . import forecast")
