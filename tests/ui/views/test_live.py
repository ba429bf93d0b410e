"""The frames that follow the pointer: what they hold, and when there are none."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpci_core import datasets, forecast
from ui.controls import currency
from ui.controls.paired import positions
from ui.kit import live
from ui.kit.palette import ALL_COMBINATIONS
from ui.session import compute, state
from ui.session.budget import Split, from_shares
from ui.session.compute import LRU, PUBLIC, TableSource
from ui.session.results import IntervalRows
from ui.session.settings import Settings
from ui.views import live_intervals

BASE = Settings(d=3, mechanisms=("objective",))


@pytest.fixture(autouse=True)
def curves(monkeypatch):
    """Where curves are kept, empty for each test."""
    kept = LRU(64)
    monkeypatch.setattr(state, "curves", lambda: kept)
    monkeypatch.setattr(state, "films", lambda: kept)
    return kept


def animation_of(settings: Settings, units: str = "scaled") -> live.Animation | None:
    view = compute.compute(settings, TableSource(PUBLIC))
    return live_intervals.total_animation(view, units, compute.interval_rows(view, units))


def private_lengths(frame: live.Frame) -> np.ndarray:
    return np.array([high - low for _, low, high, stroke in frame.bars if stroke == 1])


def with_total(settings: Settings, total: str) -> Settings:
    return replace(settings, split=from_shares(Decimal(total)))


def test_there_is_a_frame_for_every_position_and_the_page_stands_on_its_own():
    for settings in (
        BASE,
        with_total(BASE, "1.234"),
        replace(BASE, currency="zcdp", definitions=("zcdp",)),
    ):
        animation = animation_of(settings)
        value, options = positions(settings.typed_total, currency.total_grid(settings))
        assert len(animation.film.frames) == len(options)
        assert options[animation.here] == value
        assert animation.slider == "total_slider"


@pytest.mark.parametrize("units", ["scaled", "original", "odds"])
def test_frames_are_forecasts_between_and_at_the_knots(units):
    settings = replace(BASE, mechanisms=("objective", "output"), units=units)
    animation, grid = animation_of(settings, units), currency.total_grid(settings)
    view = compute.compute(settings, TableSource(PUBLIC))
    contrasts = None if units == "scaled" else view.records.to_original
    for place, slack in ((0, 0.15), (13, 0.05), (20, 0.03), (27, 0.03), (len(grid) - 1, 0.03)):
        moved = currency.at_total(settings, grid[place])
        for order, outcome in enumerate(view.outcomes):
            made = forecast(
                outcome.moments,
                design=moved.design(outcome.combination),
                n_records=settings.n,
                contrasts=contrasts,
            )
            bars = [b for b in animation.film.frames[place].bars if b[3] == 1 + 2 * order]
            ends = np.array([[low, high] for _, low, high, _ in bars])
            ends = np.log(ends) if units == "odds" else ends
            np.testing.assert_allclose(ends[:, 1] - ends[:, 0], made.ci_length, rtol=slack)
            np.testing.assert_allclose(ends.mean(axis=1), made.estimate, rtol=1e-6, atol=1e-9)


def test_more_budget_draws_shorter_bars_and_the_words_name_the_total():
    animation, grid = animation_of(BASE), currency.total_grid(BASE)
    lengths = [private_lengths(frame).mean() for frame in animation.film.frames]
    assert lengths == sorted(lengths, reverse=True)
    assert "ε = 2:" in animation.film.frames[grid.index(2.0)].words


def test_frames_do_not_depend_on_where_the_slider_has_been():
    away = BASE
    for total in (2.345, 0.07, 1.0):
        away = currency.at_total(away, total)
    assert animation_of(away).film.frames == animation_of(BASE).film.frames


def test_frames_are_computed_once_for_all_totals(monkeypatch):
    animation_of(BASE)
    calls = []
    monkeypatch.setattr(
        live_intervals, "forecast", lambda *a, **k: calls.append(1) or forecast(*a, **k)
    )
    animation_of(with_total(BASE, "2"))
    assert not calls
    animation_of(replace(BASE, n=12_345))
    assert calls


def test_locks_hold_in_the_frames_and_what_they_forbid_is_left_out():
    locked = replace(
        BASE,
        split=Split(
            Decimal(1), (Decimal("0.5"), Decimal("0.25"), Decimal("0.25")), (True, False, False)
        ),
    )
    animation, grid = animation_of(locked), currency.total_grid(locked)
    assert animation.film.frames[grid.index(0.1)] is None
    assert animation.film.frames[grid.index(5.0)] is not None
    free = animation_of(BASE)
    at = grid.index(5.0)
    assert (
        private_lengths(animation.film.frames[at]).mean()
        > 1.3 * private_lengths(free.film.frames[at]).mean()
    )
    with pytest.raises(ValueError, match="locked parts already take"):
        currency.at_total(locked, 0.1)


@pytest.mark.parametrize(
    "info", [i for i in datasets.list_datasets() if i.available and i.max_features <= 40]
)
def test_every_feature_of_a_table_follows_the_slider(info):
    encoding = info.encodings[0]
    animation = animation_of(
        Settings(
            dataset=info.key, encoding=encoding, d=info.max_features, n=max(20_000, info.n_rows)
        )
    )
    data = animation.data
    assert {len(f["ends"]) for f in data["frames"] if f} == {2 * 2 * 2 * (info.max_features + 1)}
    assert live.numbers_in(data) <= live.NUMBERS_SENT


def test_what_is_sent_for_the_largest_chart_is_bounded():
    rng, k, m = (
        np.random.default_rng(0),
        live_intervals.MOST_INTERVALS // 2,
        live_intervals.FEWEST_KNOTS,
    )
    names = tuple(f"feature number {i}" for i in range(k))
    rows = [IntervalRows(c, names, *rng.uniform(1, 2, (4, k))) for c in ALL_COMBINATIONS[:2]]
    found = [live_intervals.Lengths(*rng.uniform(1, 2, (2, m, k))) for _ in rows]
    knots, grid = np.geomspace(0.05, 10, m), np.array(currency.total_grid(BASE))
    film = live_intervals.total_film(rows, found, knots, grid, settings=BASE, is_odds=False)
    data = film.data
    assert 40_000 < live.numbers_in(data) <= live.NUMBERS_SENT
    assert len(json.dumps(data)) < 500_000


def test_more_intervals_than_a_screen_shows_wait_until_the_slider_is_let_go():
    both = {
        "definitions": ("pure", "zcdp"),
        "mechanisms": ("objective", "output"),
        "losses": ("logistic", "huber_svm"),
    }
    assert animation_of(replace(BASE, d=10, **both)) is not None
    assert animation_of(replace(BASE, d=36, **both)) is None
    assert [live_intervals.knots_for(many) for many in (4, 46, 74, 240)] == [13, 13, 8, 4]


def test_what_stands_still_is_sent_once_and_nothing_is_lost():
    animation = animation_of(BASE)
    data = animation.data
    assert len(data["still"]) == 4  # the non-private intervals
    assert len(data["stillDots"]) == 4
    for frame, sent in zip(animation.film.frames, data["frames"], strict=True):
        pairs = zip(data["places"], np.reshape(sent["ends"], (-1, 2)), strict=True)
        bars = [(y, low, high, kind) for (y, kind), (low, high) in pairs]
        by_row_and_kind = {"key": lambda bar: (bar[0], bar[3])}
        got = sorted([*map(tuple, data["still"]), *bars], **by_row_and_kind)
        np.testing.assert_allclose(got, sorted(frame.bars, **by_row_and_kind), rtol=1e-4, atol=1e-9)
        assert sent["bars"] == sent["dots"] == []


def test_frames_whose_rows_differ_are_sent_whole():
    frames = (
        live.Frame("a", ((0.0, 1.0, 2.0, 0),), ((1.0, 0.0, 0),)),
        None,
        live.Frame("b", ((1.0, 1.0, 2.0, 0),)),
    )
    film = live.Film(
        frames=frames,
        strokes=(live.Stroke("#000000", 1.0),),
        x_title="x",
        span=(0.0, 3.0),
        rows=(0.0, 1.0),
    )
    data = film.data
    assert data["still"] == data["places"] == data["stillDots"] == []
    assert [f and f["bars"] for f in data["frames"]] == [
        [[0.0, 1.0, 2.0, 0.0]],
        None,
        [[1.0, 1.0, 2.0, 0.0]],
    ]
    assert [f and f["dots"] for f in data["frames"]] == [[[1.0, 0.0, 0.0]], None, []]


def test_what_the_browser_gets_is_plain_and_finite():
    animation = animation_of(BASE)
    data = animation.data
    sent = json.loads(json.dumps(data, allow_nan=False))
    assert sent["here"] == animation.here
    assert len(sent["frames"][0]["ends"]) == 2 * 2 * 4
    assert sent["span"][0] < 0 < sent["span"][1]


def test_interpolation_is_exact_for_powers_and_keeps_gaps():
    knots = np.array([1.0, 4.0, 16.0])
    at = live_intervals.between(knots, 3.0 / knots[:, None] ** 2, np.array([2.0, 8.0]))
    np.testing.assert_allclose(at[:, 0], [0.75, 3 / 64])
    gap = live_intervals.between(knots, np.array([[np.nan], [1.0], [1.0]]), np.array([2.0, 8.0]))
    assert np.isnan(gap[0, 0])
    assert gap[1, 0] == 1.0


def test_the_script_asks_nobody_and_moves_nothing_by_itself():
    script = Path(live.__file__).with_name("live.js").read_text(encoding="utf-8")
    for word in (
        "fetch(",
        "XMLHttpRequest",
        "import(",
        "eval(",
        "setInterval",
        "requestAnimationFrame",
        "innerHTML",
    ):
        assert word not in script
    assert script.count("http") == 1  # the name of the SVG namespace
