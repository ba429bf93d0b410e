"""What shapes the noise, and the geometry of a plan that was opened, as the settings hold it. No
Streamlit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from dpci_core import Logistic
from dpci_core.design import Design, Geometry
from dpci_core.mechanisms.objective import Objective
from dpci_core.plan import Plan
from dpci_core.plan.link import pack, unpack
from dpci_core.planner import with_metric_share
from dpci_core.privacy.budget import DEFINITIONS, Budget
from ui.session.budget import split_of
from ui.session.choices import COUNTED_AS

ShapeSource = Literal["declared", "planning", "released"]
"""Where the shape of the noise comes from: the declaration alone, the planning rows, or a second
moment of the private records that is released at a price."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A geometry with the whole budget it was planned for, exactly.

    mechanism, clip: that it was planned with.
    of: mark of the table and its coefficients; another table is shaped anew.
    """

    of: str
    geometry: Geometry
    budget: Budget
    mechanism: str
    clip: float

    def goes_with(self, dataset: str, names: Sequence[str], *, definition: str) -> bool:
        """Whether it was planned for these coefficients of this table."""
        return (
            self.of == _mark(dataset, names)
            and COUNTED_AS.get(self.budget.definition, self.budget.definition) == definition
        )

    def on(self, design: Design) -> Design:
        """The design with this geometry: with this very budget where the settings still have its
        total and split, else with the same share for the metric.
        """
        if split_of(self.budget).parts == design.budget.parts:
            found = replace(design, budget=self.budget, geometry=self.geometry)
        else:
            share = self.budget.metric / self.budget.total
            found = with_metric_share(design, self.geometry, share)
        return replace(found, clip=self.clip) if design.mechanism == self.mechanism else found


def packed_shape(plan: Plan) -> str:
    """The geometry of a plan as the settings hold it; "" of a plan without one."""
    geometry, budget = plan.design.geometry, plan.design.budget
    if geometry is None:
        return ""
    content = {
        "of": _mark(getattr(plan.source, "key", "declared"), plan.names),
        "ridge": geometry.ridge,
        "leverage": geometry.leverage,
        "mechanism": plan.design.mechanism,
        "clip": plan.design.clip,
        "definition": budget.definition,
        "parts": [str(part) for part in (*budget.parts, budget.metric)],
    }
    return pack(content)


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
        geometry = Geometry(ridge=content["ridge"], leverage=content["leverage"])
        mechanism, clip = content.get("mechanism", Objective.name), content.get("clip", 1.0)
        Design(
            loss=Logistic(),
            mechanism=mechanism,
            budget=kind(**parts),
            regularization=1.0,
            n_records=1,
            geometry=geometry,
            clip=clip,
        )
        found = Shape(
            of=str(content["of"]),
            geometry=geometry,
            budget=kind(**parts),
            mechanism=mechanism,
            clip=clip,
        )
        split_of(found.budget)  # whose parts a control has to reach
        return found
    except (AssertionError, KeyError, TypeError, ArithmeticError):
        raise ValueError("This shape of the noise is damaged.") from None


def _mark(dataset: str, names: Sequence[str]) -> str:
    return hashlib.sha256("\n".join((dataset, *names)).encode()).hexdigest()[:12]
