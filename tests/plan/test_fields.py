"""The reader of plain values: every field by the type that its class declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from dpci_core.plan.fields import PlanFieldError, a_record, a_text, reader_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    low: float
    high: float = 1.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("Expected low <= high.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outer:
    name: str
    inner: Inner
    kind: Literal["a", "b"] = "a"
    count: int | None = None
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    is_on: bool = True


GOOD: dict[str, Any] = {"name": "x", "inner": {"low": 0}, "shares": {"owns home": [1, 0.5]}}


def test_every_field_is_read_by_its_type() -> None:
    found = a_record(Outer)(GOOD | {"count": None, "kind": "b"}, "it")
    assert found == Outer(
        name="x", inner=Inner(low=0.0), kind="b", shares={"owns home": (1.0, 0.5)}
    )
    assert isinstance(found.inner.low, float)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": None}, "it.name"),
        ({"inner": 3}, "it.inner"),
        ({"inner": {}}, "it.inner.low"),
        ({"inner": {"low": True}}, "it.inner.low"),
        ({"inner": {"low": 2}}, "it.inner"),
        ({"inner": {"low": 0, "unit": "m"}}, "it.inner.unit"),
        ({"count": 1.5}, "it.count"),
        ({"kind": 1.5}, "it.kind"),
        ({"is_on": 1}, "it.is_on"),
        ({"shares": {"owns home": [1, "x"]}}, "it.shares.owns home[1]"),
        ({"other": 1}, "it.other"),
    ],
)
def test_what_breaks_a_rule_is_named_by_its_whole_path(change: dict[str, Any], path: str) -> None:
    with pytest.raises(PlanFieldError) as caught:
        a_record(Outer)(GOOD | change, "it")
    assert caught.value.field == path


def test_a_field_can_be_needed_or_read_otherwise() -> None:
    with pytest.raises(PlanFieldError, match=r"^it\.kind: This field is missing"):
        a_record(Outer, needed=("kind",))(GOOD, "it")
    assert (
        a_record(Outer, inner=lambda value, path: a_text(value, path))(
            GOOD | {"inner": "as text"}, "it"
        ).inner
        == "as text"
    )  # type: ignore[comparison-overlap]


def test_a_type_nobody_can_read_is_a_fault_of_the_program() -> None:
    with pytest.raises(TypeError, match="Expected a reader"):
        reader_of(set[str])
