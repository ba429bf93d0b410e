"""What the tab of prediction error measures: which trainings at which budgets and sizes, and what
came out. No Streamlit.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.schema import Records
from dpci_core.tuning.training import HeldOut, Measured, Point, Training
from ui.kit.palette import (
    QUIET,
    WORDS,
    Combination,
    LossName,
    Style,
    ways,
)
from ui.session.settings import LIMITS, Settings

Sweep = Literal["total", "n"]

GRID_POINTS = 9
TEST_SHARE = 0.2
PREVIEW_ROWS = 10_000
"""Rows of the table that an immediate answer uses, to train and to test."""
EFFORT = {"preview": 16, "thorough": 100}
"""Draws of noise, and of rows, behind a mean."""
SEED = 20_110_307
"""Of the division of the table, the rows and the noise: the same settings give the same picture."""

QUIET_STYLES: dict[LossName, Style] = {
    "logistic": Style(QUIET, "x", 1.0, "solid"),
    "huber_svm": Style(QUIET, "cross", 1.0, "dot"),
}
"""How a learner without privacy is drawn."""
WITHOUT_PRIVACY = "without privacy"


@dataclass(frozen=True)
class Line:
    """One curve: how it is drawn, where, and what is trained there (None where no training is
    possible).
    """

    name: str
    style: Style
    is_private: bool
    x: tuple[float, ...]
    points: tuple[Point | None, ...]
    combination: Combination | None = None


@dataclass(frozen=True)
class Request:
    """Everything one picture needs; n_rows: of the table that are used, None for all.

    key: what an answer depends on, the table by its digest.
    """

    key: tuple[Hashable, ...]
    lines: tuple[Line, ...]
    n_fits: int
    n_rows: int | None

    @property
    def points(self) -> list[Point]:
        """All trainings, line by line."""
        return [point for line in self.lines for point in line.points if point is not None]

    def held_out(self, X: Array, y: Array) -> HeldOut:
        """The division of the table, or of a random part of it."""
        rng = np.random.default_rng(SEED)
        if self.n_rows is not None and self.n_rows < len(y):
            chosen = rng.permutation(len(y))[: self.n_rows]
            X, y = X[chosen], y[chosen]
        return HeldOut.of(X, y, test_share=TEST_SHARE, rng=rng)


@dataclass(frozen=True)
class Answer:
    """What was measured: one value for each point of the request, the error of guessing, and the
    rows it rests on.
    """

    found: Mapping[Point, Measured]
    constant_error: float
    n_train: int
    n_test: int
    n_fits: int

    def errors(self, line: Line) -> tuple[Measured | None, ...]:
        """Along a line."""
        return tuple(None if point is None else self.found[point] for point in line.points)


def present(settings: Settings, sweep: Sweep) -> float:
    """Where a control stands."""
    return float(settings.n) if sweep == "n" else settings.typed_total


def grid(settings: Settings, sweep: Sweep) -> tuple[float, ...]:
    """Round values over the range of a control, its present one among them."""
    low, high = LIMITS[settings.currency if sweep == "total" else "n"]
    values = [float(f"{x:.2g}") for x in np.geomspace(low, high, GRID_POINTS)]
    return tuple(sorted({*values, present(settings, sweep)}))


def swept(settings: Settings, sweep: Sweep, x: float) -> Settings:
    """The settings at a point of the grid."""
    return settings if x == present(settings, sweep) else settings.swept(sweep, x)


def request(settings: Settings, records: Records, *, effort: str, sweep: Sweep) -> Request:
    """What to measure for these settings, along one control."""
    lines = list(_lines(settings, sweep))
    key = (records.digest, effort, *(line.points for line in lines))
    n_rows = PREVIEW_ROWS if effort == "preview" else None
    return Request(key=key, lines=tuple(lines), n_fits=EFFORT[effort], n_rows=n_rows)


def _lines(settings: Settings, sweep: Sweep) -> Iterable[Line]:
    for loss in dict.fromkeys(c.loss for c in settings.combinations):
        yield _without_privacy(settings, sweep, loss)
    trained = _trainings(settings)
    for combination, name in zip(trained, ways(trained), strict=True):
        yield _of_design(settings, sweep, combination, name)


def _trainings(settings: Settings) -> list[Combination]:
    """Combinations that train differently: a calibration only decides whether Gaussian noise may
    perturb an objective.
    """
    found: dict[object, Combination] = {}
    for one in settings.combinations:
        is_gaussian = DEFINITIONS[one.definition].law == "gaussian"
        counts = is_gaussian and mechanism_named(one.mechanism).perturbs_objective
        key = one.definition, one.mechanism, one.loss, one.calibration if counts else ""
        found.setdefault(key, one)
    return list(found.values())


def _without_privacy(settings: Settings, sweep: Sweep, loss: LossName) -> Line:
    x = grid(settings, sweep)
    training = Training.without_privacy(settings.loss(loss), settings.c)
    points = tuple(Point(training, swept(settings, sweep, at).n) for at in x)
    name = f"{WITHOUT_PRIVACY}, {WORDS[loss]}"
    return Line(name=name, style=QUIET_STYLES[loss], is_private=False, x=x, points=points)


def _of_design(settings: Settings, sweep: Sweep, combination: Combination, name: str) -> Line:
    x = grid(settings, sweep)
    points = tuple(_design_point(swept(settings, sweep, at), combination) for at in x)
    return Line(
        name=name,
        style=combination.style,
        is_private=True,
        x=x,
        points=points,
        combination=combination,
    )


def _design_point(settings: Settings, combination: Combination) -> Point | None:
    try:
        design = settings.design(combination)
        return Point(Training.of_design(design, n_records=settings.n), settings.n)
    except ValueError:  # not feasible, or a budget that cannot be paired; Explore says why
        return None
