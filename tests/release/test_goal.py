"""A release says whether the goal of its plan is met: the same words on the page, in the report and
on the command line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core.cli.release import _print_release
from dpci_core.planner import Target
from dpci_core.release import load_release, report_html
from dpci_core.release.effects import against_goal
from dpci_core.release.reading import release_from
from dpci_core.release.record import Goal, RecordError
from dpci_core.release.report import model_card
from dpci_core.report.words import MEAN_COUNTS_ALL
from tests.linear_example import linear_desk
from tests.release_example import Desk, make_plan

MET, MISSED = "is met by this release.", "is missed by this release."


def asked(made, target, *, is_promised=True):
    """The release as one of a plan with this goal."""
    return replace(made, goal=Goal(target=target, is_promised=is_promised))


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
        assert against_goal(asked(made, goal)).endswith(said)


def test_a_coefficient_that_is_not_reported_is_no_goal_met(made):
    lost = [replace(c, is_not_estimable=True) for c in made.coefficients]
    other = replace(made, coefficients=(lost[0], *made.coefficients[1:]))
    assert against_goal(asked(other, Target(1e6, coefficient=0))).endswith(MISSED)
    assert against_goal(asked(other, Target(1e6, coefficient=1))).endswith(MET)
    assert against_goal(asked(other, Target(limits=(1e6, 1e6)))).endswith(MISSED)


@pytest.mark.parametrize(("length", "said"), [(1e6, MET), (1e-6, MISSED)])
def test_a_mean_says_that_it_counts_what_is_not_reported(made, length, said):
    first = replace(made.coefficients[0], is_not_estimable=True)
    other = replace(made, coefficients=(first, *made.coefficients[1:]))
    assert against_goal(asked(other, Target(length))).endswith(f"{said} {MEAN_COUNTS_ALL}")
    assert against_goal(asked(made, Target(length))).endswith(said)


def test_power_says_nothing_of_one_release(made):
    goal = Target(coefficient=0, excludes_zero_at=0.5, probability=0.8)
    assert against_goal(asked(made, goal)) == against_goal(made) == ""


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (Target(1e3), "The goal of the plan, that the mean interval is at most 1,000 long, is met"),
        (
            Target(1e-3, coefficient=0),
            "The goal of the plan, that the odds ratio per unit of age is",
        ),
        (Target(limits=(1e3, 1e3), probability=0.9), "The goal of the plan, that every odds ratio"),
    ],
)
def test_report_record_and_command_line_say_it_alike(tmp_path: Path, capsys, goal, said):
    made = Desk.at(tmp_path, plan=replace(make_plan(), goal=goal)).release()
    verdict = against_goal(made)
    assert verdict.startswith(said)
    assert "probability" not in verdict
    again = load_release(tmp_path / "out")
    assert again.goal == made.goal
    assert again.to_json() == made.to_json()
    assert f'<p class="finding">{verdict}</p>' in (tmp_path / "out" / "report.html").read_text()
    assert verdict in report_html(again)
    assert verdict in model_card(again)
    _print_release(again)
    assert verdict in capsys.readouterr().out


@pytest.mark.parametrize(("length", "is_promised"), [(1e-6, False), (1e6, True)])
def test_the_record_says_whether_the_plan_could_promise_it(tmp_path: Path, length, is_promised):
    made = Desk.at(tmp_path, plan=replace(make_plan(), goal=Target(length))).release()
    assert made.goal.is_promised == is_promised
    by_luck = against_goal(asked(made, Target(1e6), is_promised=is_promised))
    assert ("could not promise" in by_luck) != is_promised


def test_a_linear_release_says_it_too(tmp_path: Path):
    desk = linear_desk(tmp_path)
    made = desk.release()
    k = len(made.coefficients) - 1
    verdict = against_goal(asked(made, Target(limits=(1e9,) * k)))
    assert verdict.startswith("The goal of the plan, that every effect is known to within ± ")
    assert verdict.endswith(MET)


def test_a_record_names_the_coefficient_and_is_refused_where_there_is_none(made):
    content = asked(made, Target(0.5, coefficient=0)).to_dict()
    assert content["goal"]["target"]["coefficient"] == "age"
    assert release_from(json.dumps(content).encode()).goal.target.coefficient == 0
    content["goal"]["target"]["coefficient"] = "height"
    with pytest.raises(RecordError, match=r"goal\.target\.coefficient"):
        release_from(json.dumps(content).encode())
    del content["goal"]
    assert release_from(json.dumps(content).encode()).goal is None
