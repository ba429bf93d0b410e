"""What is said to help where effects are not reportable does help."""

from __future__ import annotations

import re

import pytest

from dpci_core import remedies
from ui.controls import currency
from ui.explore import finding, remedy, tabs
from ui.session import compute
from ui.session.compute import PUBLIC, TableSource
from ui.session.settings import from_query


def view_of(total: float | None = None, **changes: object) -> compute.View:
    settings = from_query({name: str(value) for name, value in changes.items()})[0].settled()
    settings = settings if total is None else currency.at_total(settings, total)
    return compute.compute(settings, TableSource(PUBLIC))


def n_all(view: compute.View) -> int:
    return int(finding.counted_coefficients(view).sum())


def n_told(view: compute.View) -> int:
    return sum(found.n for found in finding.numbers(view))


def n_short(view: compute.View) -> int:
    return sum(len(found.short) for found in finding.numbers(view))


def test_a_smaller_penalty_is_named_where_it_helps_and_does():
    view = view_of(n=100_000)
    said = remedy.sentence(view)
    assert said == "A smaller penalty helps: c = 6e-06 lets them be reported."
    larger, there = view_of(n=100_000, c=3e-5), view_of(n=100_000, c=6e-6)
    assert (n_told(larger), n_short(larger)) == (7, 1), "the first that is tried, at a price"
    assert (n_told(there), n_short(there)) == (7, 0)
    assert n_told(view) < 7
    assert remedy.sentence(there) == ""


@pytest.mark.parametrize("c", [1.0, 0.1, 0.03])
def test_a_penalty_that_is_far_too_large_is_named_too(c):
    """Only 64 times less was tried, and “neither a smaller c nor more records” was said of more."""
    view = view_of(c=c)
    said = remedy.sentence(view)
    assert n_told(view) < 7
    assert said.startswith("A smaller penalty helps: c = ")
    smaller = float(said.split(" = ")[1].split(" ")[0])
    assert n_told(view_of(c=smaller)) > n_told(view)


def test_neither_is_said_to_help_where_neither_does():
    view = view_of(n=1_000_000)
    assert "neither a smaller c nor more records" in remedy.sentence(view)
    for c in (2e-5, 2e-6):
        assert n_told(view_of(n=1_000_000, c=c)) == n_told(view) < 7


@pytest.mark.parametrize(
    ("settings", "words", "moved"),
    [
        ({"n": 1_000_000, "d": 20}, "A smaller penalty helps: c = 2e-06 lets", {"c": 2e-6}),
        ({"total": 0.1}, "More records help: n = 240,000 lets them", {"n": 240_000}),
        (
            {"total": 0.1, "mechanisms": "output"},
            "No single control helps most of them, but n = 120,000 with ε = 0.4 lets them",
            {"n": 120_000, "total": 0.4},
        ),
        ({"d": 20, "c": 0.01}, "Not even n = 240,000 with ε = 8 lets most", {}),
    ],
)
def test_one_remedy_is_told_and_its_forecast_keeps_it(settings, words, moved):
    """No sum of advice against each other: what is named lets most effects be reported."""
    view = view_of(**settings)
    said = remedy.sentence(view)
    assert said.startswith(words)
    there = view_of(**settings | moved)
    lost = n_all(view) - n_told(view)
    assert bool(moved) == (n_told(there) - n_told(view) >= lost / 2)
    if moved:
        told = re.search(r"though (\d+) intervals? would promise too much", said)
        assert n_short(there) == (int(told[1]) if told else 0)


def test_no_remark_advises_beside_the_remedy():
    for mechanism in ("objective", "output"):
        told = " ".join(tabs._remarks(view_of(total=0.1, mechanisms=mechanism)))
        assert told.count("help") == 1
        assert "larger c" not in told
        assert "longer than usual" not in told, "of intervals that say nothing"
        assert "more records or" not in told


def test_the_remark_beside_the_chart_says_it():
    view = view_of(n=100_000)
    (said,) = tabs._lost(view)
    assert said.endswith(remedy.sentence(view))


PENALISED = {"encoding": "schema", "d": 6, "target": "penalised", "penalty": "typed"}
TOO_NOISY = PENALISED | {"c": 0.001, "split": "0.025~0.0125~0.0125"}
AT_BEST_SPLIT = PENALISED | {"c": 0.00825, "split": "0.047675~0.002105~0.00022"}


@pytest.mark.parametrize("settings", [TOO_NOISY, AT_BEST_SPLIT])
def test_from_where_on_intervals_are_of_use_is_kept_by_each_forecast(settings):
    """A guess of c was named that left them useless and named itself again; records and budget were
    named beyond what can be typed, and without the intervals that promise too much there.
    """
    view = view_of(**settings)
    said = remedy.of_use(view, view.drawn[0])
    n, times, c = (
        re.search(pattern, said)
        for pattern in (r"([\d,]+) records", r"([\d.]+) times the budget", r"about c = ([\d.e-]+),")
    )
    assert n
    assert c
    assert float(c[1]) > settings["c"]
    there = [
        view_of(**settings | {"n": int(n[1].replace(",", ""))}),
        view_of(**settings | {"c": float(c[1])}),
    ]
    if times:
        there.append(view_of(float(f"{0.05 * float(times[1]):.3g}"), **settings))
    assert not any(one.drawn[0].forecast.usefulness.is_useless for one in there)
    short = max(map(n_short, there))
    told = re.search(r"Up to (\d+) intervals? would then promise too much", said)
    assert short == (int(told[1]) if told else 0)
    assert (settings is TOO_NOISY) == (short > 0)


def test_what_no_control_can_be_set_to_is_not_said_to_help():
    view = view_of(dataset="breast_cancer", n=569, encoding="schema", target="penalised", c=0.001)
    useless = view.drawn[0]
    found = remedies(useless.moments, design=useless.forecast.design)
    assert found.budget_factor > 10.0, "epsilon is 1, and the page has up to 10"
    assert found.n_records is not None
    said = remedy.of_use(view, useless)
    assert "times the budget" not in said
    assert f"{found.n_records:,} records" in said
