"""The rule by which a plan says beforehand what is to be published: declared in the plan, checked
on released numbers, and nothing that draws or refunds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core import HuberSVM
from dpci_core.plan import Acceptance, Plan, PlanFieldError, as_json, as_yaml, read_plan, to_html
from dpci_core.plan.acceptance import STAYS_SPENT
from dpci_core.release import load_release, model_card, report_html
from dpci_core.release.effects import acceptance, effect_table
from dpci_core.release.rehearsal import rehearse
from tests.refusals import refuses
from tests.release_example import Desk, make_plan


def with_rule(**rule: float) -> Plan:
    return replace(make_plan(), publish_if=Acceptance(**rule))  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", [{"within": 1.25}, {"reported": 2}, {"within": 3, "reported": 2}])
def test_the_rule_is_part_of_the_plan_and_of_its_digest(rule: dict) -> None:
    plan = with_rule(**rule)
    assert read_plan(as_yaml(plan)) == plan
    assert read_plan(as_json(plan)) == plan
    assert Plan.from_query(plan.to_query()) == plan
    assert plan.digest != make_plan().digest
    assert "publish_if" not in as_yaml(make_plan())
    page = to_html(plan, plan.numbers())
    assert Acceptance(**rule).sentence in page
    assert STAYS_SPENT in page


@pytest.mark.parametrize(
    ("rule", "said"),
    [({"within": 1.0}, "within"), ({"reported": 0}, "reported"), ({"reported": 3}, "2 effects")],
)
def test_a_rule_that_nothing_meets_is_no_rule(rule: dict, said: str) -> None:
    with refuses(ValueError, match=said):
        with_rule(**rule)


def test_a_file_names_the_field_of_a_rule_that_nothing_meets() -> None:
    text = as_yaml(with_rule(reported=2)).replace("reported: 2", "reported: 3")
    with pytest.raises(PlanFieldError) as caught:
        read_plan(text)
    assert caught.value.field == "publish_if"


def test_a_model_without_odds_has_no_factor() -> None:
    plan = make_plan()
    svm = replace(plan, design=replace(plan.design, loss=HuberSVM(h=1.0)))
    assert replace(svm, publish_if=Acceptance(reported=2)).publish_if
    with refuses(ValueError, match="odds"):
        replace(svm, publish_if=Acceptance(within=2.0))


def test_it_is_judged_by_released_numbers_alone_at_its_border(tmp_path: Path) -> None:
    made = Desk.at(tmp_path).release()
    table = effect_table(made)
    longest = max(row.half for row in table.rows)
    just, short = math.exp(longest) * (1 + 1e-9), math.exp(longest) * (1 - 1e-9)
    assert Acceptance(within=just).broken_by(table) == ()
    (broken,) = Acceptance(within=short).broken_by(table)
    name = max(table.rows, key=lambda row: row.half).name
    assert broken.startswith(f"{name} is known to within a factor of ")
    lost = replace(table, rows=(replace(table.rows[0], reason="why"), *table.rows[1:]))
    assert Acceptance(reported=2).broken_by(table) == ()
    assert Acceptance(reported=2).broken_by(lost) == ("1 of 2 effects is reported",)
    nothing = replace(table, rows=tuple(replace(row, reason="why") for row in table.rows))
    assert Acceptance(within=just).broken_by(nothing) == ("0 of 2 effects are reported",)


def test_the_words_are_as_exact_as_the_rule(tmp_path: Path) -> None:
    assert "within a factor of 1.23456789." in Acceptance(within=1.23456789).sentence
    assert "within a factor of 3." in Acceptance(within=3).sentence
    table = effect_table(Desk.at(tmp_path).release())
    rows = tuple(replace(row, half=math.log(1.20001)) for row in table.rows)
    (broken,) = Acceptance(within=1.2).broken_by(replace(table, rows=rows))
    assert broken.endswith("up to 1.201")  # never as short as the rule allows


@pytest.mark.parametrize(("within", "begins"), [(1.001, "Not accepted"), (1e5, "Accepted")])
def test_a_release_says_whether_it_meets_it_and_stays_paid(
    tmp_path: Path, within: float, begins: str
) -> None:
    desk = Desk.at(tmp_path, plan=with_rule(within=within))
    made = desk.release()
    said = acceptance(made)
    assert said.startswith(begins)
    assert desk.spent == "1"
    assert desk.release().to_json() == made.to_json()  # asked again, nothing is drawn
    assert len(desk.ledger.history()) == 1
    again = load_release(tmp_path / "out")
    assert again.publish_if == made.publish_if == Acceptance(within=within)
    assert acceptance(again) == said
    assert made.publish_if is not None
    assert made.publish_if.sentence in report_html(again)
    assert f"Publication: ` {said} `" in model_card(again)
    assert acceptance(replace(made, publish_if=None)) == ""


def test_the_rule_moves_no_number_and_no_price(tmp_path: Path) -> None:
    plain, ruled = rehearse(make_plan(), times=2), rehearse(with_rule(within=1.001), times=2)
    assert plain.tables == ruled.tables
    assert "0 of 2 meet the plan's own rule." in " ".join(ruled.findings())
