"""After a release the page says whether the goal of the plan is met."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpci_core.planner import Target
from tests.release_example import Desk
from ui.release.result import against_goal

MET, MISSED = "**The goal of the plan is met**.", "**The goal of the plan is missed**"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return Desk.at(tmp_path_factory.mktemp("desk")).release()


@pytest.mark.parametrize(("times", "said"), [(1.001, MET), (0.999, MISSED)])
def test_lengths_are_held_against_what_was_asked(made, times, said):
    lengths = [c.scaled.length for c in made.coefficients]
    for goal in (
        Target(times * lengths[1], coefficient=1),
        Target(times * sum(lengths) / len(lengths)),
        Target(limits=tuple(times * length for length in lengths[:2])),
        Target(limits=(9.0 * lengths[0], times * lengths[1])),
    ):
        assert against_goal(made, goal).startswith(said)


def test_a_coefficient_that_is_not_reported_is_no_goal_met(made):
    lost = [replace(c, is_not_estimable=True) for c in made.coefficients]
    other = replace(made, coefficients=(lost[0], *made.coefficients[1:]))
    assert against_goal(other, Target(1e6, coefficient=0)).startswith(MISSED)
    assert against_goal(other, Target(1e6, coefficient=1)) == MET
    assert against_goal(other, Target(limits=(1e6, 1e6))).startswith(MISSED)


def test_a_goal_that_is_met_by_luck_is_said_to_be_so(made):
    goal = Target(limits=(9.0, 9.0), probability=0.9)
    for chance, luck in ((0.89, True), (0.91, False)):
        planned = SimpleNamespace(promise=SimpleNamespace(probability=chance))
        assert ("could not promise" in against_goal(made, goal, planned)) == luck


def test_power_says_nothing_of_one_release(made):
    goal = Target(coefficient=0, excludes_zero_at=0.5, probability=0.8)
    assert against_goal(made, goal) == against_goal(made, None) == ""
