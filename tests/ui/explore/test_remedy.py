"""What is said to help where effects are not reportable does help."""

from __future__ import annotations

import re

import pytest

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
        told = re.search(r"though (\d+) would promise too much", said)
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
