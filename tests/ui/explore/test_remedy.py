"""What is said to help where effects are not reportable does help."""

from __future__ import annotations

import pytest

from ui.explore import finding, remedy, tabs
from ui.session import compute
from ui.session.compute import PUBLIC, TableSource
from ui.session.settings import from_query


def view_of(**changes: object) -> compute.View:
    query = {name: str(value) for name, value in changes.items()}
    return compute.compute(from_query(query)[0], TableSource(PUBLIC))


def n_told(view: compute.View) -> int:
    return sum(found.n for found in finding.numbers(view))


def test_a_smaller_penalty_is_named_where_it_helps_and_does():
    view = view_of(n=100_000)
    said = remedy.sentence(view)
    assert said == "A smaller penalty helps: c = 3e-05 lets them be reported."
    there = view_of(n=100_000, c=3e-5)
    assert n_told(there) == 7 > n_told(view)
    assert remedy.sentence(there) == ""


def test_neither_is_said_to_help_where_neither_does():
    view = view_of(n=1_000_000)
    assert "neither a smaller c nor more records" in remedy.sentence(view)
    for c in (2e-5, 2e-6):
        assert n_told(view_of(n=1_000_000, c=c)) == n_told(view) < 7


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n": 1_000_000, "d": 20}, "A smaller penalty helps: c = 2e-06"),
        ({"d": 20, "c": 0.01}, "More records help, together with a smaller penalty."),
        ({"n": 1_000}, "More records help most"),
    ],
)
def test_the_help_goes_with_the_reason(settings, words):
    assert words in remedy.sentence(view_of(**settings))


def test_the_remark_beside_the_chart_says_it():
    view = view_of(n=100_000)
    (said,) = tabs._lost(view)
    assert said.endswith(remedy.sentence(view))
