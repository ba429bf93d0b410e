"""The geometry of a plan that was opened, as the settings hold it. No Streamlit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from dpci_core import Logistic
from dpci_core.design import Design, Geometry
from dpci_core.plan import Plan
from dpci_core.plan.link import pack, unpack
from dpci_core.planner import with_metric_share
from dpci_core.privacy.budget import DEFINITIONS, Budget
from ui.session.budget import split_of

Noise = Literal["even", "shaped", "planning"]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A geometry with the whole budget it was planned for, exactly.

    of: mark of the table and its coefficients; another table is shaped anew.
    """

    of: str
    geometry: Geometry
    budget: Budget

    def goes_with(
        self, dataset: str, names: Sequence[str], *, noise: Noise, definition: str
    ) -> bool:
        """Whether it was planned for these coefficients of this table, and is asked for."""
        M = self.geometry.second_moment
        return (
            self.of == _mark(dataset, names)
            and self.budget.definition == definition
            and noise_of(self.geometry) == noise
            and (M is None or len(M) == len(names))
        )

    def on(self, design: Design) -> Design:
        """The design with this geometry: with this very budget where the settings still have its
        total and split, else with the same share for the metric.
        """
        if split_of(self.budget).parts == design.budget.parts:
            return replace(design, budget=self.budget, geometry=self.geometry)
        share = self.budget.metric / self.budget.total
        return with_metric_share(design, self.geometry, share)


def packed_shape(plan: Plan) -> str:
    """The geometry of a plan as the settings hold it; "" of a plan without one.

    Raises:  ValueError in words where it is too long for a link.
    """
    geometry, budget = plan.design.geometry, plan.design.budget
    if geometry is None:
        return ""
    content: dict[str, Any] = {
        "of": _mark(getattr(plan.source, "key", "declared"), plan.names),
        "ridge": geometry.ridge,
        "leverage": geometry.leverage,
        "definition": budget.definition,
        "parts": [str(part) for part in (*budget.parts, *_metric(budget))],
    }
    if geometry.second_moment is not None:
        content["second_moment"] = [list(row) for row in geometry.second_moment]
    try:
        return pack(content)
    except ValueError:
        raise ValueError(
            "The second moment of this plan is too long for this page, whose address holds it. "
            "Release and the command line take the plan as it is."
        ) from None


_AMOUNTS = (Decimal("1e-9"), Decimal(1000))
"""Of one part: exact arithmetic with what a stranger's link holds has to end."""


@lru_cache(maxsize=32)
def shape_of(packed: str) -> Shape:
    """What `packed_shape` packed.

    Raises:  ValueError for anything else.
    """
    content = unpack(packed)
    try:
        assert isinstance(content, dict)
        amounts = [Decimal(part) for part in content["parts"]]
        assert all(_AMOUNTS[0] <= amount <= _AMOUNTS[1] for amount in amounts)
        kind = DEFINITIONS[content["definition"]]
        names = ("model", "hessian", "covariance", "metric")
        parts = dict(zip(names, amounts, strict=False))
        rows = content.get("second_moment")
        geometry = Geometry(
            ridge=content["ridge"],
            leverage=content["leverage"],
            second_moment=None if rows is None else tuple(map(tuple, rows)),
        )
        Design(
            loss=Logistic(),
            mechanism="objective",
            budget=kind(**parts),
            regularization=1.0,
            n_records=1,
            geometry=geometry,
        )
        found = Shape(of=str(content["of"]), geometry=geometry, budget=kind(**parts))
        split_of(found.budget)  # whose parts a control has to reach
        return found
    except (AssertionError, KeyError, TypeError, ArithmeticError):
        raise ValueError("This shape of the noise is damaged.") from None


def noise_of(geometry: Geometry | None) -> Noise:
    """The setting that asks for such noise."""
    if geometry is None:
        return "even"
    return "shaped" if geometry.is_private else "planning"


def _metric(budget: Budget) -> tuple[Decimal, ...]:
    return (budget.metric,) if budget.metric else ()


def _mark(dataset: str, names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join((dataset, *names)).encode()).hexdigest()[:12]
