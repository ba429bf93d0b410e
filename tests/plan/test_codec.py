"""The codec: every field by the type that its class declares, and errors in our words."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import pytest

from dpci_core.base.errors import RangeError
from dpci_core.plan import Plan, PlanFieldError
from dpci_core.plan.codec import MOST_CHARACTERS, plain, read
from tests.plan_examples import a_plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    low: float
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("Expected low <= high.")
        if self.low < 0.0:
            raise RangeError("low", self.low, 0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Outer:
    name: str
    inner: Inner
    kind: Literal["a", "b"] = "a"
    count: int | None = None
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ends: tuple[float, float] | None = None
    amount: Decimal = Decimal(1)
    is_on: bool = True


GOOD: dict[str, Any] = {"name": "x", "inner": {"low": 0}, "shares": {"owns home": [1, 0.5]}}


def test_every_field_is_read_by_its_type() -> None:
    found = read(Outer, GOOD | {"name": 2027, "count": None, "kind": "b", "ends": [0, 1]}, "it")
    assert found == Outer(
        name="2027",
        inner=Inner(low=0.0),
        kind="b",
        shares={"owns home": (1.0, 0.5)},
        ends=(0.0, 1.0),
    )
    assert isinstance(found.inner.low, float)


def test_a_default_is_not_written() -> None:
    assert plain(read(Outer, GOOD)) == GOOD
    more = GOOD | {"count": 3, "amount": "1e-30", "ends": [0.0, 2.0]}
    assert plain(Outer(**(more | {"inner": Inner(low=0), "amount": Decimal("1E-30")}))) == more


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"name": None}, "it.name", "Expected a text, got nothing."),
        ({"name": 1.5}, "it.name", "Expected a text, got a number. Put it in quotes."),
        ({"inner": 3}, "it.inner", "Expected fields with values, got a number."),
        ({"inner": {}}, "it.inner.low", "This field is missing."),
        ({"inner": {"low": True}}, "it.inner.low", "Expected a number, got true or false."),
        ({"inner": {"low": 10**400}}, "it.inner.low", "Expected a number of a size"),
        ({"inner": {"low": float("inf")}}, "it.inner.low", "Expected a finite number, got inf."),
        ({"inner": {"low": 2}}, "it.inner", "Expected low <= high."),
        ({"inner": {"low": -1}}, "it.inner.low", "Expected low=-1.0 > 0 and finite."),
        (
            {"inner": {"low": 0, "unit": "m"}},
            "it.inner.unit",
            "This field is unknown to this version of dpci.",
        ),
        ({"count": 1.5}, "it.count", "Expected a whole number, got 1.5."),
        ({"count": "3"}, "it.count", "Expected a whole number, got a text."),
        ({"kind": 1.5}, "it.kind", "Expected 'a' or 'b', got 1.5."),
        ({"is_on": 1}, "it.is_on", "Expected true or false, got a number."),
        ({"shares": []}, "it.shares", "Expected fields with values, got a list."),
        ({"shares": {"owns home": 1}}, "it.shares.owns home", "Expected a list, got a number."),
        ({"shares": {"owns home": [1, "x"]}}, "it.shares.owns home[1]", "Expected a number"),
        ({"ends": [1]}, "it.ends[1]", "This field is missing."),
        ({"ends": [1, 2, 3]}, "it.ends", "Expected 2 values, got 3."),
        ({"amount": [1]}, "it.amount", "Expected an amount, got a list."),
        ({"other": 1}, "it.other", "This field is unknown to this version of dpci."),
    ],
)
def test_what_breaks_a_rule_is_named_by_its_whole_path(
    change: dict[str, Any], path: str, words: str
) -> None:
    with pytest.raises(PlanFieldError) as caught:
        read(Outer, GOOD | change, "it")
    assert caught.value.field == path
    assert str(caught.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize("path", ["delta", "design.budget.model"])
@pytest.mark.parametrize("digits", [MOST_CHARACTERS + 1, 10**6, 10**7])
def test_an_amount_of_many_digits_is_refused_before_it_is_computed_with(
    path: str, digits: int
) -> None:
    content = json.loads(json.dumps(a_plan().to_dict()))
    *way, last = path.split(".")
    place = content
    for step in way:
        place = place[step]
    place[last] = "9" * digits
    start = time.process_time()
    with pytest.raises(PlanFieldError, match="at most 1,000 digits") as caught:
        Plan.from_dict(content)
    assert caught.value.field == path
    assert time.process_time() - start < 1.0
    place[last] = "0." + "0" * (MOST_CHARACTERS - 5) + "1"  # as long as may be: judged by its value
    with pytest.raises(PlanFieldError, match="Expected 1e-"):
        Plan.from_dict(content)


@pytest.mark.parametrize(
    "change",
    [
        {"shares": {"owns home": [None] * 300_000}},
        {"shares": {str(place): None for place in range(300_000)}},
        {str(place): None for place in range(300_000)},
    ],
    ids=["list", "names", "fields"],
)
def test_a_file_of_wrong_values_ends_at_the_first(change: dict[str, Any]) -> None:
    content = GOOD | change
    tracemalloc.start()
    with pytest.raises(PlanFieldError):
        read(Outer, content)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6  # every error on its own takes a kilobyte


def test_only_reading_wakes_the_library() -> None:
    code = "import sys, dpci_core.release, dpci_core.cli.app; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
