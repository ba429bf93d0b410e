"""A plan as an object: the same after every file and link, strict about what it reads, and computed
without a file.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import sys
import sysconfig
import zlib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core import (
    ZCDP,
    ApproxDP,
    CategoricalColumn,
    DeclaredTable,
    Guesses,
    Logistic,
    NumberGuess,
    NumericColumn,
    Plan,
    PublicTable,
    PureDP,
    Schema,
    Target,
    best_split,
    fit_moments,
    forecast,
    meeting_probability,
    needed_records,
    read_plan,
    write_plan,
)
from dpci_core.design import guarantee_at
from dpci_core.plan import VERSION, AnyPlan, as_json, as_yaml, to_html
from dpci_core.plan.codec import decimal_text
from dpci_core.plan.link import canonical, pack, unpack
from dpci_core.plan.yaml_text import dump_yaml, load_yaml
from tests.linear_example import linear_plan
from tests.plan_examples import SCHEMA, a_design, a_plan, plans


@given(plans())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_files_and_links_bring_back_the_same_plan(plan: Plan) -> None:
    for again in (
        read_plan(as_yaml(plan)),
        read_plan(as_json(plan)),
        Plan.from_query(plan.to_query()),
    ):
        assert again == plan
        assert again.digest == plan.digest
        assert hash(again) == hash(plan)


@given(
    st.text(
        st.sampled_from(
            "ab \n\r\t:#'\"\\-\u2028\u2029\x85\ufeff\x00\x07\xa0é😀|>%@&*!?[]{},~\x1f\x7f"
        ),
        max_size=8,
    )
)
@settings(max_examples=500, derandomize=True, deadline=None)
def test_every_text_survives_yaml(text: str) -> None:
    content = {"notes": text, "in a list": {"a": [text, text]}, "as a name": {text: 1}}
    assert load_yaml(dump_yaml(content)) == content


def test_other_readers_of_yaml_see_the_same_values() -> None:
    plan = a_plan(design=a_design(regularization=1e-5), notes="two\nlines", title="12:30")
    assert yaml.safe_load(as_yaml(plan)) == plan.to_dict()


def test_files_are_written_in_both_forms(tmp_path: Path) -> None:
    plan = a_plan()
    for name in ("plan.yaml", "plan.YML", "plan.json"):
        write_plan(plan, tmp_path / name)
        assert read_plan(tmp_path / name) == read_plan(str(tmp_path / name)) == plan
    assert json.loads((tmp_path / "plan.json").read_text())["version"] == VERSION
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.YML", "plan.json", "plan.yaml"]
    with pytest.raises(ValueError, match=r"\.yaml, \.yml or \.json, got 'plan\.txt'"):
        write_plan(plan, tmp_path / "plan.txt")
    with pytest.raises(ValueError, match=r"plan\.csv"):
        read_plan(tmp_path / "plan.csv")
    (tmp_path / "plan.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        read_plan(tmp_path / "plan.yaml")


def test_a_file_that_cannot_be_replaced_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan.yaml"
    write_plan(a_plan(), path)

    def full(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_plan(a_plan(title="Another"), path)
    assert read_plan(path) == a_plan()
    assert [p.name for p in tmp_path.iterdir()] == ["plan.yaml"]


def test_what_people_write_by_hand_is_read() -> None:
    text = """
version: 1
title: 2027
source:
  kind: declared
  schema:
    target: ill
    positive: 1
    features:
      - {kind: numeric, name: age, low: 18, high: 1e2}
      - {kind: categorical, name: home, levels: [no, yes, 01, 2]}
design:
  loss: logistic
  mechanism: output
  budget: {definition: pure, model: 0.1, hessian: 0.10, covariance: "0.1"}
  regularization: 1e-3
  calibration: sharp
n_records: 1000
delta: 1e-6
"""
    plan = read_plan(text)
    columns = (NumericColumn("age", 18, 100), CategoricalColumn("home", ("no", "yes", "01", "2")))
    assert plan.schema == Schema(columns, "ill", "1")
    assert plan.design.budget == PureDP(model="0.1", hessian="0.1", covariance="0.1")
    assert (plan.title, plan.features, plan.goal, plan.delta) == (
        "2027",
        None,
        None,
        Decimal("0.000001"),
    )
    approx = text.replace(
        '{definition: pure, model: 0.1, hessian: 0.10, covariance: "0.1"}',
        "{definition: approx, epsilon: 1, delta: 1e-6, shares: [0.5, 0.25, 0.25]}",
    )
    assert (
        read_plan(approx).design.budget == ApproxDP("1", "1e-6", ("0.5", "0.25", "0.25")).to_gdp()
    )


def changed(path: str, value: object) -> dict[str, Any]:
    """A plan's content with the field at this path set, or removed where the value is Ellipsis."""
    plan = a_plan(
        goal=Target(0.2, coefficient=0),
        source=DeclaredTable(
            schema=SCHEMA,
            guesses=Guesses(
                shares={"owns home": (0.2, 0.3, 0.5)},
                numbers={"age": NumberGuess(40, 9)},
                effects={"age": 0.1},
            ),
        ),
    )
    content = json.loads(as_json(plan))
    place: Any = content
    *way, last = path.replace("[", ".[").split(".")
    for step in way:
        place = place[int(step[1:-1]) if step.startswith("[") else step]
    if value is ...:
        del place[last]
    else:
        place[int(last[1:-1]) if last.startswith("[") else last] = value
    return dict(content)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("version", 2, "version: Expected 1, got 2"),
        ("version", True, "version: Expected 1, got True"),
        ("version", ..., "version: This field is missing"),
        ("colour", "red", "colour: This field is unknown"),
        ("title", " ", "title: "),
        ("title", "a\nb", "title: "),
        ("title", "a" * 201, "title: "),
        ("title", True, "title: Expected a text, got true or false. Put it in quotes"),
        ("notes", ["a"], "notes: Expected a text, got a list"),
        ("source", "census", "source: Expected fields"),
        ("source.kind", "private", "source.kind: Expected 'public' or 'declared'"),
        ("source.kind", ..., "source.kind: This field is missing"),
        ("source.unit", "", "source.unit: Expected unit"),
        ("source.schema.target", ..., "source.schema.target: This field is missing"),
        ("source.schema.target", "age", "source.schema: Expected every column name once"),
        ("source.schema.features[0].low", 98, "source.schema.features[0]: Expected finite low"),
        ("source.schema.features[0].low", "18", "source.schema.features[0].low: Expected a number"),
        (
            "source.schema.features[0].unit",
            "years",
            "source.schema.features[0].unit: This field is unknown",
        ),
        ("source.schema.features[1].kind", "text", "source.schema.features[1].kind: "),
        (
            "source.schema.features[1].levels[0]",
            1.5,
            "source.schema.features[1].levels[0]: Expected a text",
        ),
        (
            "source.schema.features[1].levels[0]",
            "yes",
            "source.schema.features[1]: Expected at least two levels",
        ),
        ("source.guesses.base_rate", 0, "source.guesses.base_rate: Expected 0 < base_rate=0.0 < 1"),
        ("source.guesses.n_rows", 10**9, "source.guesses.n_rows: Expected 100 <= n_rows"),
        (
            "source.guesses.shares.owns home",
            [1],
            "source.guesses: Expected shares['owns home'] to hold 3",
        ),
        (
            "source.guesses.shares.owns home[1]",
            "x",
            "source.guesses.shares.owns home[1]: Expected a number",
        ),
        (
            "source.guesses.shares.owns home[1]",
            0.9,
            "source.guesses: Expected shares['owns home'] to be at least 0",
        ),
        (
            "source.guesses.numbers.age.centre",
            99,
            "source.guesses: Expected 18 <= numbers['age'].centre",
        ),
        (
            "source.guesses.numbers.age.spread",
            ...,
            "source.guesses.numbers.age.spread: This field is missing",
        ),
        (
            "source.guesses.effects.owns home=no",
            1,
            "source.guesses: Expected effects['owns home=no']",
        ),
        ("source.guesses.effects.age", 10, "source.guesses: Expected effects['age']=10.0"),
        ("features", 9, "features: Expected 1 <= features=9 <= 3"),
        ("features", ["size"], "features: "),
        ("features", "two", "features: "),
        ("design.budget.model", 0, "design.budget.model: Expected model=0 > 0"),
        ("design.budget.model", "1e21", "design.budget.model: Expected 1e-12 <= budget.model"),
        ("design.budget.model", "much", "design.budget.model: "),
        ("design.budget.hessian", ..., "design.budget.hessian: This field is missing"),
        ("design.budget.rho", "1", "design.budget.rho: This field is unknown"),
        ("design.budget.definition", "renyi", "design.budget.definition: "),
        ("design.loss.h", 1, "design.loss.h: This field is unknown"),
        ("design.loss", {"name": "huber_svm"}, "design.loss.h: This field is missing"),
        ("design.loss", {"name": "huber_svm", "h": -1}, "design.loss.h: "),
        ("design.loss.name", "hinge", "design.loss.name: "),
        ("design.mechanism", "input", "design.mechanism: Expected mechanism="),
        ("design.regularization", 0, "design.regularization: Expected regularization=0.0"),
        ("design.loss.name", 5, "design.loss.name: "),
        (
            "design.budget",
            {"definition": "approx", "epsilon": 0, "delta": 1e-6, "shares": ["0.5", 0.25, 0.25]},
            "design.budget.epsilon: Expected epsilon=0 > 0",
        ),
        (
            "design.budget",
            {"definition": "approx", "epsilon": 1, "delta": 1e-6, "shares": ["0.5", [], 0.25]},
            "design.budget.shares[1]: Expected an amount",
        ),
        ("design.calibration", "best", "design.calibration: "),
        (
            "design.calibration",
            {"covariance_floor": "zero"},
            "design.calibration.tight_sensitivity: This field is",
        ),
        ("n_records", 0, "n_records: Expected n_records=0"),
        ("n_records", 1.5, "n_records: Expected a whole number"),
        ("goal.coefficient", "size", "goal.coefficient: "),
        ("goal.coefficient", 4, "goal: Expected coefficient=4 < 4"),
        ("goal.length", ..., "goal: Expected exactly one of"),
        ("goal.probability", 1, "goal: Expected 0 < probability=1.0 < 1"),
        ("delta", 0, "delta: "),
        ("delta", "1", "delta: "),
        ("delta", None, "delta: Expected an amount, got nothing"),
    ],
)
def test_an_error_begins_with_the_path_of_its_field(path: str, value: object, named: str) -> None:
    content = changed(path, value)
    with pytest.raises(ValueError, match=r"^" + named.replace("[", r"\[").replace("(", r"\(")):
        read_plan(json.dumps(content))
    with pytest.raises(ValueError, match=r"^" + named.replace("[", r"\[").replace("(", r"\(")):
        read_plan("\n" + yaml.safe_dump(content))


def test_a_plan_of_another_version_is_refused_by_its_version() -> None:
    """Fields that it alone has were named instead."""
    content = {"colour": "red"} | changed("version", 2)
    with pytest.raises(ValueError, match=r"^version: Expected 1, got 2\.$"):
        read_plan(json.dumps(content))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a: &x 1\nb: *x\n", "Line 1: Expected no anchor"),
        ("a: 1\nb: *x\n", "Line 2: Expected no anchor"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", "Line 2: Expected no tag"),
        ("a: 1\na: 2\n", "Line 2: The field 'a' is given twice"),
        ("a: {b: 1, b: 2}\n", "Line 1: The field 'b' is given twice"),
        ("1: a\n'1': b\n", "Line 2: The field '1' is given twice"),
        ("true: a\n", "Line 1: Expected the name"),
        ("a: [1\n", "Line 2"),
        ("a: 1\n---\nb: 2\n", "Line 2"),
        ("a: 1e999\n", "Line 1: Expected a finite number"),
        ("a: \x00\n", "character"),
        ("[" * 5_000 + "\n", "nested"),
        ("- a\n- b\n", "Expected a plan"),
        ("\n", "Expected a plan"),
        ('{"a": 1, "a": 2}', "a: This field is given twice"),
        ('{"a": NaN}', "Expected finite numbers, got NaN"),
        ('{"a": ', "Line 1 is not JSON"),
        ('{"a": ' * 20_000, "nested"),
        ('{"a": ' + "9" * 5_000 + "}", "too many digits"),
        ("a: " + "9" * 5_000 + "\n", "cannot be read"),
        ("a: 1\n" + "#" * 200_000, "at most 200,000 characters"),
    ],
)
def test_text_that_is_no_plan_is_refused_in_words(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        read_plan(text)


def test_a_link_is_bounded_and_says_what_is_wrong() -> None:
    query = a_plan().to_query()
    text = query["plan"]
    assert len(text) < 700
    assert set(text) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
    with pytest.raises(ValueError, match="holds no plan"):
        Plan.from_query({"n": "3"})
    for broken in (text[:-8], text[:20] + "A" * 30 + text[50:], "1.", "1.%%%", "1.é"):
        with pytest.raises(ValueError, match="damaged"):
            Plan.from_query({"plan": broken})
    with pytest.raises(ValueError, match="version"):
        Plan.from_query({"plan": "2." + text[2:]})
    with pytest.raises(ValueError, match="at most 8,000"):
        Plan.from_query({"plan": "1." + "A" * 9_000})
    bomb = pack({"title": "a" * 3_000_000})
    assert len(bomb) < 8_000
    with pytest.raises(ValueError, match="too much"):
        unpack(bomb)
    with pytest.raises(ValueError, match="Share it as a file"):
        a_plan(
            notes="".join(chr(0x4E00 + (k * k * 7919) % 20_000) for k in range(9_000))
        ).to_query()
    with pytest.raises(ValueError, match="JSON"):
        unpack(pack({})[:2] + __import__("base64").urlsafe_b64encode(zlib.compress(b"no")).decode())


def test_the_digest_is_that_of_the_content() -> None:
    plan = a_plan()
    assert (
        plan.digest
        == a_plan(
            design=a_design(budget=PureDP(model="0.50", hessian=0.25, covariance="0.250"))
        ).digest
    )
    others = [
        a_plan(title="Another"),
        a_plan(delta="1e-7"),
        a_plan(design=a_design(n_records=20_001)),
        a_plan(features=2),
        a_plan(notes="x"),
        a_plan(goal=Target(0.1)),
        a_plan(design=a_design(regularization=0.02)),
        a_plan(
            source=DeclaredTable(schema=SCHEMA, guesses=Guesses(effects={"age": 0.04}, n_rows=500))
        ),
    ]
    assert len({plan.digest, *(other.digest for other in others)}) == len(others) + 1
    assert canonical({"b": 1, "a": "é"}) == '{"a":"\\u00e9","b":1}'


@given(st.decimals(allow_nan=False, allow_infinity=False).filter(lambda d: d > 0))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_amounts_are_exact_texts(amount: Decimal) -> None:
    assert Decimal(decimal_text(amount)) == amount
    sign, digits, exponent = amount.as_tuple()
    assert isinstance(exponent, int)
    assert decimal_text(amount) == decimal_text(Decimal((sign, (*digits, 0, 0), exponent - 2)))


def test_numbers_are_those_of_the_forecast() -> None:
    goal = Target(coefficient=0, excludes_zero_at=0.1, probability=0.8)
    zcdp = ZCDP(model="0.05", hessian="0.02", covariance="0.02")
    plan = a_plan(
        design=a_design(budget=zcdp, calibration="sharp"),
        goal=goal,
        features=("age", "owns home=1"),
    )
    found, records = plan.numbers(), plan.records()
    moments = fit_moments(records.X, records.y, loss=Logistic(), regularization=0.01)
    made = forecast(moments, design=plan.design)
    slopes = forecast(moments, design=plan.design, contrasts=records.to_original)
    assert found.names == ("age", "owns home=1", "constant")
    assert found.scaled.ci_length == pytest.approx(made.ci_length, rel=1e-9)
    assert found.original.vi_length == pytest.approx(slopes.vi_length, rel=1e-9)
    assert found.ci_length_mean == pytest.approx(made.ci_length_mean, rel=1e-9)
    assert (found.epsilon, found.delta) == pytest.approx(made.epsilon_delta, rel=1e-9)
    chance = found.promise.probability
    assert chance is not None
    assert 0.0 < chance < 1.0
    assert json.loads(json.dumps(found.to_record(), allow_nan=False)) == found.to_record()
    again = plan.numbers(moments)
    assert again.scaled.ci_length == pytest.approx(found.scaled.ci_length, rel=1e-9)
    fewer = replace(plan.design, n_records=plan.fewest)
    alone = meeting_probability(moments, design=fewer, target=goal)
    assert again.promise.probability == pytest.approx(alone, rel=1e-6)
    assert chance <= alone * (1.0 + 1e-6)


def test_the_guarantee_is_stated_at_the_delta_of_the_plan() -> None:
    assert guarantee_at(a_design(), Decimal("1e-6")) == (1.0, 0.0)
    zcdp = a_design(budget=ZCDP(model="0.1", hessian="0.0125", covariance="0.0125"))
    assert guarantee_at(zcdp, Decimal("1e-6"))[0] == pytest.approx(2.419, abs=5e-4)
    assert guarantee_at(zcdp, Decimal("1e-3"))[0] < 2.0


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"title": "a\u202eb"}, "title"),
        ({"title": "\ud800"}, "title"),
        ({"notes": "\ud800"}, "notes"),
        ({"notes": "a" * 10_001}, "notes"),
        ({"source": SCHEMA}, "source"),
        ({"design": None}, "Design"),
        ({"delta": "0"}, "delta"),
        ({"features": 9}, "features"),
        ({"goal": Target(0.1, coefficient=7)}, "coefficient"),
    ],
)
def test_a_plan_names_the_field_that_is_wrong(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        a_plan(**changes)


def test_a_declaration_too_large_to_compute_with_is_refused_at_once() -> None:
    levels = CategoricalColumn("a", tuple(map(str, range(30_000))))
    with pytest.raises(ValueError, match="at most 250 encoded features, got 29,999"):
        DeclaredTable(schema=Schema((levels,), "t", "1"))
    wide = Schema(tuple(NumericColumn(str(k), 0, 1) for k in range(250)), "t", "1")
    with pytest.raises(ValueError, match=r"guesses.n_rows=200,000 <= 20,000 with 250 features"):
        DeclaredTable(schema=wide, guesses=Guesses(n_rows=200_000))
    with pytest.raises(ValueError, match=r"^source\.kind: .{100,600}…$"):
        read_plan(json.dumps(changed("source.kind", "x" * 50_000)))


def test_a_public_table_knows_its_rows() -> None:
    assert PublicTable(key="breast_cancer").schema.target == "diagnosis"
    with pytest.raises(ValueError, match="n_rows=570"):
        PublicTable(key="breast_cancer", n_rows=570)
    with pytest.raises(ValueError, match="key='private'"):
        PublicTable(key="private")


OWN = [
    Path(p).resolve()
    for p in (
        sys.prefix,
        sys.base_prefix,
        sysconfig.get_path("stdlib"),
        Path(__file__).parents[2] / "dpci_core",
    )
]


def test_planning_from_a_declaration_opens_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way from a schema to every answer, while whoever opens a file outside the code
    itself fails.
    """
    plan = a_plan(goal=Target(0.5))
    text = as_yaml(plan)

    def guarded(real: Any) -> Any:
        def opened(file: Any, *args: Any, **options: Any) -> Any:
            is_path = isinstance(file, str | bytes | os.PathLike)
            if is_path and not any(
                Path(os.fsdecode(file)).resolve().is_relative_to(own) for own in OWN
            ):
                raise AssertionError(f"{file!r} was opened")
            return real(file, *args, **options)

        return opened

    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        monkeypatch.setattr(module, name, guarded(getattr(module, name)))
    for opener in (open, io.open, lambda path: os.open(path, os.O_RDONLY)):
        with pytest.raises(AssertionError, match="was opened"):
            opener("private.csv")
    again = read_plan(text)
    moments = again.moments()
    assert again.numbers(moments).ci_length_mean > 0
    assert best_split(moments, design=again.design).gain >= 0
    assert again.goal is not None
    assert needed_records(moments, design=again.design, target=again.goal).n_records > 0
    assert Plan.from_query(again.to_query()) == again


def test_the_documented_file_is_a_plan() -> None:
    page = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
    plan = read_plan(page.split("```yaml\n")[1].split("```")[0])
    assert isinstance(plan.source, DeclaredTable)
    assert plan.source.guesses.effects == {"age": 0.03, "smokes=current": 0.9}
    assert plan.goal == Target(0.4, coefficient=0, probability=0.9)
    assert plan.numbers().validity.grade == "valid"
    assert read_plan(as_yaml(plan)) == plan


@pytest.mark.parametrize("plan", [a_plan(), linear_plan()], ids=["penalised", "linear"])
def test_an_approval_is_in_the_file_and_on_the_page_and_changes_no_digest(plan: AnyPlan) -> None:
    said = "Approved by Ada on 2026-01-31."
    approved = replace(plan, approved=said)
    assert approved.digest == plan.digest
    assert said not in as_yaml(plan)
    for again in (read_plan(as_yaml(approved)), read_plan(as_json(approved))):
        assert (again.approved, again.digest) == (said, plan.digest)
    numbers = plan.numbers()
    assert to_html(approved, numbers).count(said) == 1
    assert plan.digest in to_html(approved, numbers)
    assert "Approved" not in to_html(plan, numbers)
    assert replace(plan, notes=said).digest != plan.digest
    with pytest.raises(ValueError, match="approved"):
        replace(plan, approved="x" * 201)
