"""The frames that follow the pointer on the budget's slider: what they hold, and when there are
none.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from dpci_core import datasets, forecast
from ui.controls import currency
from ui.controls.paired import positions
from ui.explore import later, totals
from ui.session import compute
from ui.session.budget import Split, from_shares
from ui.session.choices import ALL_COMBINATIONS
from ui.session.compute import PUBLIC, TableSource
from ui.session.results import IntervalRows
from ui.session.settings import Settings

BASE = Settings(d=3, mechanisms=("objective",))


def animation_of(settings: Settings, units: str = "scaled") -> dict:
    view = compute.compute(settings, TableSource(PUBLIC))
    return later._animation(view, units, later.animation_version(view, units))


def moving(animation: dict, style: int, place: int) -> np.ndarray:
    """Ends (k, 2) of the bars of a style in a frame, from the top down."""
    ends = np.reshape(animation["frames"][place]["ends"], (-1, 2))
    found = [
        (-y, *e) for (y, own), e in zip(animation["places"], ends, strict=True) if own == style
    ]
    return np.array(sorted(found))[:, 1:]


def grid_of(settings: Settings) -> list[float]:
    return [float(x) for x in currency.total_grid(settings)]


def test_there_is_a_frame_and_a_title_for_every_position():
    for settings in (
        BASE,
        replace(BASE, split=from_shares(Decimal("1.234"))),
        replace(BASE, currency="zcdp", definitions=("zcdp",)),
    ):
        animation = animation_of(settings)
        value, options = positions(settings.typed_total, currency.total_grid(settings))
        assert len(animation["frames"]) == len(animation["words"]) == len(options)
        assert options[later.here(settings)] == value
        assert all(said["title"] for said in animation["words"])


@pytest.mark.parametrize("units", ["scaled", "odds"])
def test_frames_are_forecasts_between_and_at_the_knots(units):
    settings = replace(BASE, mechanisms=("objective", "output"), units=units)
    animation, grid = animation_of(settings, units), grid_of(settings)
    view = compute.compute(settings, TableSource(PUBLIC))
    contrasts = None if units == "scaled" else view.records.to_original
    for place, slack in ((0, 0.15), (13, 0.05), (27, 0.03), (len(grid) - 1, 0.03)):
        moved = currency.at_total(settings, grid[place])
        for order, outcome in enumerate(view.outcomes):
            made = forecast(
                outcome.moments,
                design=moved.design(outcome.combination),
                contrasts=contrasts,
            )
            ends = moving(animation, 1 + 2 * order, place)
            ends = np.log(ends) if units == "odds" else ends
            keep = slice(None) if units == "scaled" else slice(0, -1)  # without the intercept
            found = sorted(zip(ends.mean(axis=1), ends[:, 1] - ends[:, 0], strict=True))
            wanted = sorted(zip(made.estimate[keep], made.ci_length[keep], strict=True))
            centres, lengths = zip(*found, strict=True)
            np.testing.assert_allclose(centres, [c for c, _ in wanted], rtol=1e-3, atol=1e-3)
            np.testing.assert_allclose(lengths, [x for _, x in wanted], rtol=slack)


def test_more_budget_draws_shorter_bars_and_the_words_follow():
    animation, grid = animation_of(BASE), grid_of(BASE)
    lengths = [np.ptp(moving(animation, 1, at), axis=1).mean() for at in range(len(grid))]
    assert lengths == sorted(lengths, reverse=True)
    assert len({json.dumps(said) for said in animation["words"]}) == len(grid)


def test_frames_do_not_depend_on_where_the_slider_has_been():
    away = BASE
    for total in (2.345, 0.07, 1.0):
        away = currency.at_total(away, total)
    assert animation_of(away) == animation_of(BASE)


def test_locks_hold_in_the_frames_and_what_they_forbid_is_left_out():
    parts = (Decimal("0.5"), Decimal("0.25"), Decimal("0.25"))
    locked = replace(BASE, split=Split(Decimal(1), parts, (True, False, False)))
    animation, free, grid = animation_of(locked), animation_of(BASE), grid_of(locked)
    assert animation["frames"][grid.index(0.1)] is None
    assert "Not possible" in animation["words"][grid.index(0.1)]["title"]
    at = grid.index(5.0)
    own, other = (np.ptp(moving(found, 1, at), axis=1).mean() for found in (animation, free))
    assert own > 1.3 * other
    with pytest.raises(ValueError, match="locked parts already take"):
        currency.at_total(locked, 0.1)


@pytest.mark.parametrize(
    "info", [i for i in datasets.list_datasets() if i.available and i.max_features <= 40]
)
def test_every_feature_of_a_table_follows_the_slider(info):
    settings = Settings(
        dataset=info.key,
        encoding=info.encodings[0],
        d=info.max_features,
        n=max(20_000, info.n_rows),
    )
    animation = animation_of(settings)
    assert len(animation["places"]) == 2 * 2 * (info.max_features + 1)
    assert len(animation["still"]) == 2 * (
        info.max_features + 1
    )  # those without privacy, sent once
    assert len(json.dumps(animation, allow_nan=False)) < 500_000


def test_more_intervals_than_a_screen_shows_wait_until_the_slider_is_let_go():
    both = {"definitions": ("pure", "zcdp"), "losses": ("logistic", "huber_svm")}
    view = compute.compute(replace(BASE, d=5, **both), TableSource(PUBLIC))
    rng, k = np.random.default_rng(0), totals.MOST_INTERVALS
    names = tuple(f"feature number {i}" for i in range(k + 1))
    rows = [IntervalRows(ALL_COMBINATIONS[0], names, *rng.uniform(1, 2, (4, k + 1)))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compute, "interval_rows", lambda *_: rows)
        animation = later._animation(view, "scaled", "v")
    assert animation["frames"] is None
    assert [totals.knots_for(many) for many in (4, 46, 74, 240)] == [13, 13, 8, 4]


def test_interpolation_is_exact_for_powers_and_keeps_gaps():
    knots = np.array([1.0, 4.0, 16.0])
    at = totals.between(knots, 3.0 / knots[:, None] ** 2, np.array([2.0, 8.0]))
    np.testing.assert_allclose(at[:, 0], [0.75, 3 / 64])
    gap = totals.between(knots, np.array([[np.nan], [1.0], [1.0]]), np.array([2.0, 8.0]))
    assert np.isnan(gap[0, 0])
    assert gap[1, 0] == 1.0
