"""What the core refuses reads as the page speaks: controls by their names, numbers as they are
written elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dpci_core.base.errors import (
    PersonsNotShownError,
)
from dpci_core.report.covered import covered
from dpci_core.schema import Persons
from tests.release_example import SCHEMA, make_plan
from ui.controls import declare
from ui.controls.declare import example
from ui.release import words
from ui.session import text
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, packed_table
from ui.session.settings import Settings
from ui.session.words import in_words
from ui.views import path


@pytest.mark.parametrize(
    "message",
    [
        "Unlock one of them.",
        "Expected low=1.0 < high=0.5 for column 'a'.",
        "The data set 'a' needs a cap.",
    ],
)
def test_other_words_stay(message):
    assert in_words(ValueError(message)) == message


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
def test_pages_say_what_is_covered_in_the_words_of_reports(target):
    settings = Settings(target=target, c=0.0125)
    design = settings.design(settings.combinations[0])
    assert text.covers(settings) == covered(design)
    assert f"for the {covered(design)}" in text.calibration_words(settings)


def test_persons_with_several_rows_are_named_wherever_protection_is():
    table = replace(example(), schema=replace(example().schema, persons=Persons("id", 3)))
    settings = replace(Settings(), dataset=DECLARED, declared=packed_table(table))
    assert "one person with up to 3 rows" in text.privacy_unit(settings)
    assert "number of persons is public" in text.privacy_unit(settings)
    assert text.privacy_unit(Settings()) == text.PRIVACY_UNIT
    assert "up to 3 rows" in in_words(PersonsNotShownError(3))
    plan = make_plan(schema=replace(SCHEMA, persons=Persons("id", 3)))
    said = words.plan_words(plan)
    assert "protected is one person with up to 3 rows" in said
    assert "“id”" in said
    account = SimpleNamespace(unit=plan.unit)
    protection = words._protection(plan, account)
    assert protection.startswith("Protected is one person with up to 3 rows.")
    assert "all of its up to 3 rows" in protection


def test_a_table_of_one_column_has_one_coefficient():
    table = declare.example()
    first = replace(table.schema, features=table.schema.features[:1])
    one = replace(table, schema=first, guesses=replace(table.guesses, effects={}))
    settings = Settings(dataset=DECLARED, declared=packed_table(one), d=1).in_plain_terms()
    said = path._table_words(make_case(settings, TableSource(PUBLIC)))
    assert "by 1 column (1 coefficient and the intercept)" in said
