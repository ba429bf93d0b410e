"""The screens of Learn without Streamlit: their numbers against the core, their words, their
pictures.
"""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

from dpci_core import Design, HuberSVM, Logistic, PureDP, datasets, fit_moments, forecast
from dpci_core.base.batches import as_table
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.mechanisms.metric import release_metric
from dpci_core.privacy.budget import zcdp_to_epsilon
from dpci_core.solvers.metric import metric_of
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from ui.kit.palette import SOURCE_MARKS
from ui.kit.picture import frame_digits
from ui.learn import crowd, figures, numbers
from ui.learn.model import Choice, Control, ReleaseTask
from ui.learn.page import drawn, frames_of
from ui.learn.path import SCREENS

BY_KEY = {screen.key: screen for screen in SCREENS}
ends = pytest.mark.parametrize("screen", SCREENS, ids=lambda s: s.key)


def values_of(screen) -> tuple[float, float, float]:
    """Both ends and the start."""
    return screen.control.values[0], screen.control.start, screen.control.values[-1]


def own_design(epsilon: float, *, share: float = 0.5, **changes) -> Design:
    """The design of a screen, written out."""
    rest = epsilon * (1 - share) / 2
    budget = PureDP(
        model=f"{epsilon * share:.12g}", hessian=f"{rest:.12g}", covariance=f"{rest:.12g}"
    )
    fields = {
        "loss": Logistic(),
        "mechanism": "objective",
        "regularization": 0.001,
        "n_records": 30_000,
        "calibration": "sharp",
    } | changes
    return Design(budget=budget, **fields)


def own_moments(d: int, loss=None, c: float = 0.001):
    records = datasets.load("census", features=d, n_rows=10_000)
    return fit_moments(records.X, records.y, loss=loss or Logistic(), regularization=c)


@ends
def test_a_moved_control_draws_other_data_and_the_same_one_the_same(screen):
    low, _, high = values_of(screen)
    first, again, other = (drawn(screen, screen.compute(v)).data("") for v in (low, low, high))
    assert repr(first) == repr(again)
    # A line that moves through a curve is no picture of what changes.
    assert any(first[key] != other[key] for key in ("bars", "dots"))
    assert screen.sentence(screen.compute(low)) != screen.sentence(screen.compute(high))
    assert other["meta"] == {"screen": screen.key, "value": high}


@ends
def test_every_picture_has_its_badge_its_assumptions_and_a_table_without_gaps(screen):
    for value in values_of(screen):
        found = screen.compute(value)
        texts = drawn(screen, found).footer
        assert SOURCE_MARKS[screen.source][0] in texts
        assert screen.control.show(value).replace("\u00a0", " ") in texts.replace("\u00a0", " ")
        assert len(found.table) >= 5
        assert not found.table.isna().any().any()
        assert all(math.isfinite(fact) for fact in found.facts.values())
        said = screen.sentence(found)
        assert 20 < len(said) < 400
        assert "**" not in said  # a chart shows it as it is


def test_intervals_are_those_of_the_textbook_and_hits_are_counted():
    found = numbers.promise(0.9)
    replays = numbers.replays()
    sd = np.sqrt(replays.variance)
    np.testing.assert_allclose(found.table["high"] - found.table["low"], 2 * ndtri(0.95) * sd)
    inside = (found.table["low"] <= replays.truth) & (replays.truth <= found.table["high"])
    assert found.facts["hits"] == inside.sum() == found.table["holds the truth"].sum()
    hits = [numbers.promise(level).facts["hits"] for level in (0.5, 0.8, 0.95, 0.999)]
    assert hits == sorted(hits)
    for level, count in zip((0.5, 0.8, 0.95), hits, strict=False):
        assert abs(count - 100 * level) < 4 * math.sqrt(100 * level * (1 - level))


def test_the_studies_are_fits_of_their_own_samples():
    X, y = numbers.population(numbers.REPLAYED)
    A = y[:, None] * X
    child = np.random.SeedSequence(20_261_121).spawn(100)[7]
    sample = A[np.random.default_rng(child).integers(0, 10_000, 500)]
    theta = Newton().minimise(PenalisedRisk(sample, loss=Logistic(), regularization=0.01)).theta
    assert numbers.replays().estimate[7] == pytest.approx(theta[1], abs=1e-7)


def test_noise_is_inversely_proportional_to_the_budget():
    one, two = numbers.noise(1.0), numbers.noise(2.0)
    moved = [found.table["published"] - found.facts["estimate"] for found in (one, two)]
    np.testing.assert_allclose(moved[0], 2 * moved[1], rtol=1e-9)
    # p = 3, rate n c eps/2: variance (p + 1)/rate^2
    assert one.facts["noise_sd"] == pytest.approx(2.0 / (500 * 0.01 * 0.5))
    assert moved[0].std() == pytest.approx(one.facts["noise_sd"], rel=0.35)


def test_nobody_moves_the_coefficients_further_than_the_bound():
    for n in BY_KEY["neighbours"].control.values:
        found = numbers.neighbours(n)
        assert f"by more than {100 / n:g}." in BY_KEY["neighbours"].sentence(found)
        assert found.facts["bound"] == pytest.approx(1 / (n * 0.01))
        assert (
            found.table["coefficients move by"].max()
            == found.facts["largest"]
            <= found.facts["bound"]
        )
    A = numbers.rows_of(numbers.REPLAYED)
    table = A[:20].copy()
    before = Newton().minimise(PenalisedRisk(table, loss=Logistic(), regularization=0.01)).theta
    table[3] = A[len(A) - 30 + 3]
    after = Newton().minimise(PenalisedRisk(table, loss=Logistic(), regularization=0.01)).theta
    moved = numbers.neighbours(20.0).table["coefficients move by"]
    assert moved[3] == pytest.approx(np.linalg.norm(after - before), abs=1e-6)


def test_odds_are_those_of_the_definition():
    found = numbers.odds(2.0)
    for before, after in found.table.to_numpy():
        assert after / (1 - after) == pytest.approx(math.exp(2) * before / (1 - before))
    assert found.facts["even"] == pytest.approx(0.8808, abs=1e-4)


def test_both_promises_have_the_same_epsilon():
    found = numbers.concentrated(1.0)
    sd = found.table.set_index("features d")
    # Pure: sqrt(d + 2)/(n c eps/2). zCDP: 1/(n c sqrt(2 rho/2)), rho the total that (1, 1e-6) buys.
    assert sd.loc[3, "pure ε"] == pytest.approx(math.sqrt(5) / 2.5)
    rho = 1 / (5.0 * sd.loc[3, "zCDP"]) ** 2
    assert zcdp_to_epsilon(rho, 1e-6) == pytest.approx(1.0, rel=1e-4)
    assert sd["zCDP"].nunique() == 1
    assert sd.loc[found.facts["better"], "pure ε"] > sd.loc[found.facts["better"], "zCDP"]


def test_clouds_lie_around_the_exact_answer_and_output_noise_follows_its_law():
    found = numbers.clouds(0.005)
    A = numbers.rows_of((numbers.SHOWN,))[:500]
    exact = Newton().minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.005)).theta
    rng = np.random.default_rng([20_261_121, 6])
    drawn = train_private(as_table(A), design=numbers.design(1.0, c=0.005), rng=rng).theta_priv
    noise = found.table[["education", "intercept"]].to_numpy()
    np.testing.assert_allclose(noise[0] + exact, drawn, atol=1e-7)
    # E|b|^2 = k(k+1)/rate^2, rate = n c eps/2
    assert found.facts["output"] == pytest.approx(math.sqrt(6) / (500 * 0.005 * 0.5), rel=0.3)
    assert found.facts["objective"] < found.facts["output"]
    sizes = [
        numbers.clouds(c).facts["output"] / numbers.clouds(c).facts["objective"]
        for c in (0.001, 0.1)
    ]
    assert sizes[0] > 1.5 > sizes[1]


@pytest.mark.parametrize(
    ("key", "value", "n", "made_for", "moments"),
    [
        ("split", 0.7, 30_000, own_design(1.0, share=0.7), lambda: own_moments(5)),
        ("n", 5_000.0, 5_000, own_design(1.0), lambda: own_moments(5)),
        ("c", 0.01, 30_000, own_design(1.0, regularization=0.01), lambda: own_moments(5, c=0.01)),
        (
            "h",
            0.5,
            30_000,
            own_design(1.0, loss=HuberSVM(h=0.5)),
            lambda: own_moments(5, loss=HuberSVM(h=0.5)),
        ),
    ],
)
def test_lengths_are_the_forecasts_of_the_core(key, value, n, made_for, moments):
    made = forecast(moments(), design=replace(made_for, n_records=n), n_draws=16)
    found = BY_KEY[key].compute(value)
    row = found.table[np.isclose(found.table.iloc[:, 0].astype(float), value)].iloc[0]
    expected = [made.ci_length_mean, made.vi_length_mean, made.nonprivate_length_mean]
    assert row.iloc[1:4].astype(float).tolist() == pytest.approx(expected, rel=1e-9)
    assert [found.facts[w] for w in ("private", "variability", "non-private")] == pytest.approx(
        expected, rel=1e-9
    )
    assert made.validity.grade == "valid"


def test_with_more_features_the_first_interval_is_the_one_drawn():
    made = forecast(own_moments(10), design=own_design(1.0), n_draws=16)
    assert numbers.features(10.0).facts["private"] == pytest.approx(made.ci_length[0])


@pytest.mark.parametrize("key", ["split", "n", "c", "h", "d", "sharp"])
def test_every_drawn_forecast_is_valid(key, monkeypatch):
    grades = []

    def kept(*args, **kwargs):
        grades.append(forecast(*args, **kwargs).validity.grade)
        return forecast(*args, **kwargs)

    monkeypatch.setattr(numbers, "forecast", kept)
    for name, one in vars(numbers).items():
        if name.startswith(("_at_", "_ratios")):
            one.cache_clear()
    BY_KEY[key].compute(BY_KEY[key].control.start)
    assert set(grades) == {"valid"}


def test_the_claims_of_the_titles_and_answers_hold():
    split = numbers.split(0.5).table
    good = split["share"][split["private"] < 1.15 * split["private"].min()]
    right = next(c.text for c in BY_KEY["split"].question.choices if c.is_right)
    assert right == f"{100 * good.min():.0f} to {100 * good.max():.0f} %"
    many, few = numbers.records(1e6).facts, numbers.records(1e3).facts
    assert many["private"] < 1.1 * many["non-private"]
    assert few["private"] > 10 * few["non-private"]
    one, thirty = numbers.features(1.0).facts, numbers.features(30.0).facts
    assert thirty["private"] / one["private"] > 3 * thirty["non-private"] / one["non-private"]
    wide = numbers.width(1.0).table
    assert wide["private"].iloc[0] > wide["private"].min() < wide["private"].iloc[-1]
    large, small = numbers.sharp(1e6).facts, numbers.sharp(1e3).facts
    assert large["published"] > 1.3 > 1.01 > large["sharp"]
    assert small["sharp"] > small["published"]


def test_the_spread_is_that_of_the_forecast():
    found = numbers.spread(2.0)
    made = forecast(
        own_moments_of_replays(),
        design=replace(own_design(2.0, mechanism="output", regularization=0.01), n_records=500),
    )
    assert found.facts["variability"] == pytest.approx(made.vi_length[1])
    assert found.facts["private"] == pytest.approx(made.ci_length[1])
    inside = (
        np.abs(found.table["published"] - found.facts["truth"]) <= found.facts["variability"] / 2
    )
    assert inside.sum() == found.facts["inside"]
    assert 93 <= found.facts["inside"] <= 97  # as most classes would see it


def own_moments_of_replays():
    X, y = numbers.population(numbers.REPLAYED)
    return fit_moments(X, y, loss=Logistic(), regularization=0.01)


def test_a_budget_picked_on_the_table_tells_records_apart():
    for n in (100.0, 5000.0):
        facts = numbers.peeking(n).facts
        assert facts["different"] >= 4
        assert facts["low"] < facts["high"] < 1.1 * facts["low"]


def own_leverages(ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """x'(M + ridge I)^-1 x of everybody in the crowd, and the inverse."""
    X, _ = crowd.people()
    inverse = np.linalg.inv(X.T @ X / len(X) + ridge * np.eye(2))
    return np.array([x @ inverse @ x for x in X]), inverse


@pytest.mark.parametrize("ridge", crowd.RIDGES)
def test_the_ellipse_holds_all_but_those_who_count_less(ridge):
    leverages, inverse = own_leverages(ridge)
    geometry = crowd.shaped_noise(ridge).geometry
    found = crowd.crowd(ridge)
    outside = leverages > geometry.leverage
    assert 0 < outside.sum() == found.facts["weighted"] <= 40_000 / 3_000
    picture = crowd.picture(found)
    dots, crosses = ([dot[:2] for dot in picture.dots if dot[2] == kind] for kind in (0, 1))
    (_, ball), (_, ellipse) = picture.lines
    np.testing.assert_allclose(crosses, crowd.people()[0][outside])
    np.testing.assert_allclose(dots, crowd.people()[0][::100][~outside[::100]])
    np.testing.assert_allclose(np.hypot(*np.transpose(ball)), 1.0)
    for point in ellipse:
        assert np.array(point) @ inverse @ point == pytest.approx(geometry.leverage)
    # What is said of the cost to the estimates, and of the promise.
    assert found.facts["moved"] < 1 / 20
    assert crowd.shaped_noise(ridge).budget.total == crowd.round_noise().budget.total
    assert f"{outside.sum()} extreme people of 40,000" in BY_KEY["crowd"].sentence(found)
    assert "5 % of the privacy budget" in BY_KEY["crowd"].sentence(found)


def test_lengths_of_the_crowd_are_the_forecasts_of_the_core():
    (X, y), geometry = crowd.people(), crowd.shaped_noise(0.02).geometry
    # What all but one in 3,000 stay below, in the shape that noise may make thinner.
    usual = [np.quantile(own_leverages(ridge)[0], 1 - 1 / 3_000) for ridge in (0.02, 0.01)]
    assert usual[0] < geometry.leverage < usual[1]
    rest = {"hessian": "0.025", "covariance": "0.05"}
    budgets = PureDP(model="0.425", **rest), PureDP(model="0.4", metric="0.025", **rest)
    for kind, budget, shape in zip(("round", "shaped"), budgets, (None, geometry), strict=True):
        own = replace(own_design(0.5), budget=budget, geometry=shape)
        moments = fit_moments(X, y, loss=Logistic(), regularization=0.001, geometry=shape)
        made = forecast(moments, design=replace(own, n_records=40_000))
        facts = crowd.crowd(0.02).facts
        found = [facts[f"{name}, {kind}"] for name in ("height", "shoe size")]
        assert found == pytest.approx(made.ci_length.tolist(), rel=1e-9)
        assert made.validity.grade == "valid"


def test_noise_that_fits_the_crowd_is_shorter_and_the_best_ridge_lies_between():
    for name in crowd.COLUMNS:
        found = [crowd.crowd(ridge).facts for ridge in crowd.RIDGES]
        shaped = [facts[f"{name}, shaped"] for facts in found]
        assert max(shaped) < found[0][f"{name}, round"]
        assert 0 < int(np.argmin(shaped)) < len(shaped) - 1
    thin, middle, nearly_round = (
        crowd.crowd(ridge).table.set_index("what")["shaped noise"] for ridge in (0.01, 0.02, 1.0)
    )
    along, across = (f"reach of the noise {way} the crowd" for way in ("along", "across"))
    assert thin[along] > middle[along] > middle[across]
    assert nearly_round[across] > 0.95 * nearly_round[along]


def test_lengths_of_the_crowd_hold_when_its_shape_is_noisy():
    (X, y), design = crowd.people(), crowd.shaped_noise(0.01)
    moments = fit_moments(X, y, loss=Logistic(), regularization=0.001)
    rng, rate = np.random.default_rng(3), 0.4 / 2  # log(1 + kappa) is far below

    def sd(metric):
        noise = 3 / rate**2 * metric.unwhiten @ metric.unwhiten / len(X)
        rows = np.linalg.inv(moments.hessian)
        return np.sqrt(np.diag(rows @ (moments.covariance + noise) @ rows) / len(X))

    released = [sd(release_metric(X, design=design, rng=rng)) for _ in range(200)]
    exact = sd(metric_of(design.geometry, X.T @ X / len(X)))
    np.testing.assert_allclose(np.mean(released, axis=0), exact, rtol=0.1)
    found = [crowd.crowd(0.01).facts[f"{name}, shaped"] for name in crowd.COLUMNS]
    np.testing.assert_allclose(2 * ndtri(0.975) * exact, found, rtol=0.1)


@ends
def test_frames_hold_what_the_pictures_hold(screen):
    animation, values = frames_of(screen.key), screen.control.values
    assert len(animation["frames"]) == len(animation["words"]) == len(values)
    for value, frame, words in itertools.islice(
        zip(values, animation["frames"], animation["words"], strict=True), 0, None, 9
    ):
        picture = drawn(screen, screen.compute(value))
        data = picture.data("", frame_digits(picture))
        assert {key: data[key] for key in frame} == frame
        assert words == {"title": picture.title, "footer": picture.footer}
    still = set(data) - set(animation["frames"][0]) - {"title", "footer", "meta", "version"}
    assert all(
        one.data("", frame_digits(one))[key] == data[key]
        for key in still
        for one in (drawn(screen, screen.compute(v)) for v in values[:2])
    )
    assert len(json.dumps(animation, allow_nan=False)) < 300_000


def test_the_picture_of_a_promise_counts_what_the_table_counts():
    found = numbers.promise(0.8)
    picture = figures.promise(found)
    assert [bar[1] for bar in picture.bars] == found.table["low"].tolist()
    missed = [bar for bar in picture.bars if bar[3] == 1]
    assert len(missed) == 100 - found.facts["hits"] == len(picture.dots) / 2
    (panel,) = picture.panels
    assert all(panel.low < bar[1] < bar[2] < panel.high for bar in picture.bars)


@ends
def test_nothing_is_drawn_outside_its_axes(screen):
    for value in values_of(screen):
        picture = drawn(screen, screen.compute(value))
        for x, y, _ in picture.dots:
            assert any(
                p.low <= x <= p.high and p.data["from"] <= y <= p.data["to"] for p in picture.panels
            )
        for _, points in picture.lines:
            first = picture.panels[0]
            assert all(
                first.low <= x <= first.high and first.up.low <= y <= first.up.high
                for x, y in points
            )


@pytest.mark.parametrize(
    "screen", [screen for screen in SCREENS if screen.key != "peeking"], ids=lambda s: s.key
)
def test_axes_stand_still_while_the_control_moves(screen):
    """What shrinks on screen has shrunk. Budgets that hardly differ, at one n, are magnified."""
    pictures = [drawn(screen, screen.compute(v)) for v in screen.control.values]
    held = [[(p.low, p.high, p.rows, p.up) for p in picture.panels] for picture in pictures]
    assert all(axes == held[0] for axes in held)


@pytest.mark.parametrize(
    ("key", "kinds"), [("noise", (0, 1)), ("variability", (0, 1)), ("mechanisms", (2, 3))]
)
def test_clouds_only_get_narrower_on_screen_as_noise_falls(key, kinds):
    screen, found = BY_KEY[key], []
    for value in screen.control.values:
        picture = drawn(screen, screen.compute(value))
        xs = [x for x, _, kind in picture.dots if kind in kinds]
        found.append((max(xs) - min(xs)) / (picture.panels[0].high - picture.panels[0].low))
    assert all(before >= after for before, after in itertools.pairwise(found))
    assert found[0] > 0.8
    assert found[-1] < 0.25


def test_dots_beyond_the_edge_are_on_it_and_counted():
    screen = BY_KEY["noise"]
    counts = []
    for value in screen.control.values:
        found = screen.compute(value)
        picture = drawn(screen, found)
        (panel,) = picture.panels
        edge = [x for x, _, kind in picture.dots if kind == 1]
        x = found.table["published"]
        assert len(edge) == ((x < panel.low) | (x > panel.high)).sum()
        assert set(edge) <= {panel.low, panel.high}
        assert ("dot", 1, f"beyond the edge: {len(edge)} of 100") in picture.key
        assert f"{len(edge)} of 100" in picture.alt
        counts.append(len(edge))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 50 > counts[screen.control.values.index(screen.control.start)] == 0


def test_clouds_are_framed_and_what_lies_beyond_is_counted_by_mechanism():
    found = numbers.clouds(0.001)
    picture = figures.clouds(found)
    for kind, (name, rows) in zip((0, 2), found.table.groupby("mechanism"), strict=True):
        far = (rows[["education", "intercept"]].abs() > 3.0).any(axis=1).sum()
        edge = [dot for dot in picture.dots if dot[2] == kind + 1]
        assert all(max(abs(x), abs(y)) == 3.0 for x, y, _ in edge)
        assert len(edge) == far > 0
        assert ("dot", kind, f"{name}, {far} of 80 beyond the frame") in picture.key
        assert f"{far} of 80 under {name.split()[0]}" in picture.alt


@pytest.mark.parametrize("key", ["split", "n", "d", "c", "h", "sharp"])
def test_intervals_longer_than_their_scale_are_counted(key):
    screen = BY_KEY[key]
    for value in screen.control.values:
        picture = drawn(screen, screen.compute(value))
        below = picture.panels[1]
        longer = sum(high > below.high for _, _, high, _ in picture.bars)
        said = f"; beyond the edge: {longer} of {len(picture.bars)}" if longer else ""
        assert below.title == f"these intervals, to scale{said}"
        assert below.title in picture.alt
        if value == screen.control.start:  # an axis that is too long shows nothing
            longest = max(high for _, _, high, _ in picture.bars)
            assert 0.2 < longest / below.high < 1.0
        # At the start all are there; an arrow needs a style with ends.
        assert not (longer and value == screen.control.start)
        assert all(picture.styles[kind].ends for *_, kind in picture.bars)


def test_what_all_positions_of_a_slider_show_fills_the_axis():
    surest = figures.promise(numbers.promise(BY_KEY["promise"].control.values[-1]))
    (panel,) = surest.panels
    ends = [end for bar in surest.bars for end in bar[1:3]]
    assert max(ends) - min(ends) > 0.8 * (panel.high - panel.low)
    some = [figures.neighbours(numbers.neighbours(n)) for n in BY_KEY["neighbours"].control.values]
    moved = [y for picture in some for _, y, _ in picture.dots]
    bounds = [y for picture in some for _, points in picture.lines for _, y in points]
    up = some[0].panels[0].up
    assert math.log(max(bounds) / min(moved)) > 0.8 * math.log(up.high / up.low)


def test_a_question_without_one_right_answer_and_a_start_off_the_grid_are_refused():
    with pytest.raises(ValueError, match="one right choice"):
        ReleaseTask(ask="?", choices=(Choice("a", "b"), Choice("c", "d")))
    with pytest.raises(ValueError, match="start=2"):
        Control(label="x", values=(1.0, 3.0), start=2.0, show=str, low_end="a", high_end="b")


def test_the_first_screen_says_what_the_path_is_about():
    assert "**differential privacy**: noise that limits what anybody can learn" in SCREENS[0].text
