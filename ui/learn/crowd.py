"""A screen of Learn: noise that has the shape of the people there are, beside noise for anybody
anywhere.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache

import numpy as np
import pandas as pd

from dpci_core import Design, Geometry, Logistic, Moments, PureDP, fit_moments, forecast
from dpci_core.base.array import Array
from dpci_core.mechanisms.metric import metric_noise
from dpci_core.solvers.metric import metric_of, weighted
from ui.kit.picture import Axis, Panel, Picture, Style
from ui.kit.ticks import Tick
from ui.learn.figures import OTHER, PRIVATE, THIRD
from ui.learn.model import Choice, Control, ReleaseTask, Screen
from ui.learn.numbers import Numbers
from ui.session.text import number

N = 40_000
"""People in the made-up table."""
EPSILON = Decimal("0.5")
SHAPE_SHARE, HESSIAN_SHARE, COVARIANCE_SHARE = Decimal("0.05"), Decimal("0.05"), Decimal("0.1")
"""Of the budget; the coefficients have the rest."""
RIDGES = (0.01, 0.012, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
COLUMNS = ("height", "shoe size")
_MIDDLE, _HALF = np.array([170.0, 42.0]), np.array([30.0, 12.0])
"""Of the declared ranges, in cm and in sizes."""
_EVERY = 100
"""One of so many people is drawn."""
_C = 0.001


@lru_cache(maxsize=1)
def people() -> tuple[Array, Array]:
    """X (n, 2), both columns between their declared ends and no row longer than 1, and answers."""
    rng = np.random.default_rng(18)
    height = 170.0 + 9.0 * rng.standard_normal(N)
    # Tails of a t law: a few people have feet that their height does not suggest.
    size = 42.0 + 0.22 * (height - 170.0) + 0.4 * rng.standard_t(3, N)
    X = np.clip((np.column_stack([height, size]) - _MIDDLE) / _HALF, -1.0, 1.0) / np.sqrt(2.0)
    chance = 1.0 / (1.0 + np.exp(-X @ np.array([2.0, 1.0])))
    return X, np.where(rng.random(N) < chance, 1.0, -1.0)


def _fitted(geometry: Geometry | None) -> Moments:
    X, y = people()
    return fit_moments(
        X, y, loss=Logistic(), regularization=_C, geometry=geometry, with_spread=True
    )


@lru_cache(maxsize=1)
def _plain() -> Moments:
    return _fitted(None)


def round_noise() -> Design:
    """The design whose noise is as large in every direction."""
    hessian, covariance = EPSILON * HESSIAN_SHARE, EPSILON * COVARIANCE_SHARE
    budget = PureDP(model=EPSILON - hessian - covariance, hessian=hessian, covariance=covariance)
    return Design(
        loss=Logistic(),
        mechanism="objective",
        budget=budget,
        regularization=_C,
        calibration="sharp",
        n_records=N,
    )


def shaped_noise(ridge: float) -> Design:
    """Return the design that spends a part of the same total on the shape; its largest leverage is
    the usual one in the thinnest shape that noise may make, as in `planner.best_geometry`.
    """
    bare, spread = round_noise(), _plain().spread
    assert spread is not None
    part = EPSILON * SHAPE_SHARE
    budget = replace(bare.budget, model=bare.budget.model - part, metric=part)
    made = replace(bare, budget=budget, geometry=Geometry(ridge=ridge, leverage=1.0))
    size = metric_noise(made).diagonal_sd(2) * 2.0
    return replace(made, geometry=Geometry(ridge=ridge, leverage=spread.leverage(ridge - size)))


@lru_cache(maxsize=len(RIDGES))
def crowd(ridge: float) -> Numbers:
    """Lengths of both intervals with round and with shaped noise, and what the shape costs."""
    plain, made = _plain(), shaped_noise(ridge)
    assert made.geometry is not None
    assert plain.spread is not None
    moments = _fitted(made.geometry)
    ball = forecast(plain, design=round_noise()).ci_length
    ellipse = forecast(moments, design=made).ci_length
    axes = np.linalg.eigvalsh(metric_of(made.geometry, plain.spread.second_moment).unwhiten)
    moved = float((np.abs(moments.theta_hat - plain.theta_hat) * 2.0 / ellipse).max())
    lengths = zip(ball, ellipse, strict=True)
    rows = {
        **{f"interval for {name}": pair for name, pair in zip(COLUMNS, lengths, strict=True)},
        "reach of the noise along the crowd": (1.0, axes[1]),
        "reach of the noise across the crowd": (1.0, axes[0]),
        "people who count less": (0.0, moments.n_weighted),
        "estimates moved by that, in half-lengths, at most": (0.0, moved),
        "share of the budget for the shape": (0.0, float(SHAPE_SHARE)),
    }
    found = np.array(list(rows.values()), dtype=np.float64)
    table = pd.DataFrame(
        {"what": list(rows), "round noise": found[:, 0], "shaped noise": found[:, 1]}
    )
    facts = {
        "height, round": found[0, 0],
        "height, shaped": found[0, 1],
        "shoe size, round": found[1, 0],
        "shoe size, shaped": found[1, 1],
        "weighted": float(moments.n_weighted),
        "moved": moved,
    }
    return Numbers(ridge, table, facts)


# --- the picture ----------------------------------------------------------------------------------

_SCALE = (-1.0, -0.5, 0.0, 0.5, 1.0)
_PLACES = ((-1.25, "height"), (-1.45, "height"), (-1.75, "shoe size"), (-1.95, "shoe size"))
"""Rows of the lengths, below the crowd, and what each is of."""


def picture(numbers: Numbers) -> Picture:
    """The crowd with both shapes around it; below, the lengths that follow."""
    X = people()[0]
    geometry, spread = shaped_noise(numbers.value).geometry, _plain().spread
    assert geometry is not None
    assert spread is not None
    metric = metric_of(geometry, spread.second_moment)
    counts_less = weighted(X, metric).weights < 1.0 - 1e-6
    turn = np.linspace(0.0, 2.0 * np.pi, 121)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    is_drawn = np.arange(N) % _EVERY == 0
    crowds = (X[is_drawn & ~counts_less], X[counts_less])
    shapes = (circle, circle @ metric.unwhiten)
    facts = numbers.facts
    longest = max(facts[f"{name}, round"] for name in COLUMNS)
    kinds = [
        (y, name, kind) for (y, name), kind in zip(_PLACES, ("round", "shaped") * 2, strict=True)
    ]
    bars = [
        (y, 0.0, facts[f"{name}, {kind}"], 4 if kind == "round" else 5) for y, name, kind in kinds
    ]
    return Picture(
        panels=(
            Panel(low=-1.18, high=1.18, ticks=_ticks(0), title="", up=_upwards()),
            Panel(low=0.0, high=1.5 * longest, rows=(-2.1, -1.1), title="length of the interval"),
        ),
        styles=(
            Style(size=2.0),
            Style(colour=THIRD, size=5.0, marker="x"),
            Style(colour=OTHER, width=3.5, dash="9 4"),
            Style(colour=PRIVATE, width=3.5),
            Style(colour=OTHER, width=14.0),
            Style(colour=PRIVATE, width=14.0),
        ),
        dots=[(float(x), float(y), k) for k, some in enumerate(crowds) for x, y in some],
        lines=[(k, [(float(x), float(y)) for x, y in line]) for k, line in enumerate(shapes, 2)],
        bars=bars,
        labels=[(-1.35, COLUMNS[0], "", 0), (-1.85, COLUMNS[1], "", 0)],
        notes=[
            (end, y, f"{kind} {number(end, 2)}", style)
            for (y, _, end, style), (_, _, kind) in zip(bars, kinds, strict=True)
        ],
        key=[
            ("dot", 0, "people"),
            ("dot", 1, "count less"),
            ("bar", 2, "round"),
            ("bar", 3, "shaped noise"),
        ],
        is_square=True,
    )


def _ticks(column: int) -> list[Tick]:
    """Of the declared range of a column, in its own unit."""
    middle, half = _MIDDLE[column], _HALF[column]
    return [(share / math.sqrt(2.0), f"{middle + half * share:g}") for share in _SCALE]


def _upwards() -> Axis:
    return Axis(low=-1.05, high=1.05, ticks=_ticks(1), title="shoe size, by height in cm")


# --- the words ------------------------------------------------------------------------------------


def _sentence(found: Numbers) -> str:
    pairs = {
        name: f"{number(found.facts[f'{name}, shaped'], 2)} instead of "
        f"{number(found.facts[f'{name}, round'], 2)}"
        for name in COLUMNS
    }
    return (
        f"At λ = {found.value:g} shaped noise makes intervals {pairs['height']} long for height, "
        f"{pairs['shoe size']} for shoe size. Part of it comes from "
        f"{found.facts['weighted']:.0f} extreme people of {N:,} who count less; learning the "
        f"shape takes {100 * SHAPE_SHARE:.0f} % of the privacy budget."
    )


CROWD = Screen(
    key="crowd",
    name="Noise that fits the crowd",
    title="Noise that fits the crowd: shorter intervals at the same privacy",
    text=(
        "Each dot is somebody of that height and shoe size: together a long, thin crowd. Whatever "
        "is published gets random noise, enough to hide any one of them. Usual noise is **round**: "
        "it would hide anybody anywhere, also giants with tiny feet. **Shaped** noise is an "
        "ellipse, wide along the crowd and narrow across it, where nearly nobody is."
    ),
    control=Control(
        label="How round the ellipse stays (λ)",
        values=RIDGES,
        start=0.02,
        show=lambda value: f"λ = {value:g}",
        low_end="thin",
        high_end="nearly round",
    ),
    question=ReleaseTask(
        ask="Less noise across the crowd: what about the few people who stand outside the ellipse?",
        choices=(
            Choice(
                "They are less well hidden than the others",
                "A fair worry. But the promise is the same for everybody: whoever stands outside "
                "counts less, by as much as it takes.",
            ),
            Choice(
                "They are taken out of the table",
                "Nobody is taken out. The further outside they stand, the less their answers "
                "count.",
            ),
            Choice(
                "Their answers count less, so that they are hidden as well as anybody",
                "Yes. That is the first cost. The second: the shape comes from the table itself, "
                "so it is learnt with noise, and paid for.",
                is_right=True,
            ),
        ),
    ),
    compute=crowd,
    figure=picture,
    sentence=_sentence,
    assumptions=(
        f"New, not peer-reviewed. Made-up columns, n = {N:,} (drawn: every {_EVERY}th and "
        "all who count less); logistic regression without intercept, objective perturbation, "
        f"ε = {EPSILON}, c = {_C:g}; forecast lengths"
    ),
    mechanism=(
        "With M the second moment of the rows, released first with noise, the ellipse holds the "
        "rows x with x′(M + λI)⁻¹x ≤ C², and noise is stretched like it; a row outside has the "
        "weight C²/x′(M + λI)⁻¹x. In the coordinates that make the ellipse a ball everything is as "
        "with round noise, so ε is the same. A thin ellipse has to be long to hold the same "
        "people, and noise on its shape matters more; a round one gains little: the best ridge "
        "lies between. Weights move estimates by less than a twentieth of the half-length here."
    ),
    height=420,
)
