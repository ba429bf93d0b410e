"""A plan: everything that is decided about a release before a record is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any

from dpci_core.base.array import Array
from dpci_core.base.errors import expect
from dpci_core.design import ESTIMANDS, Design, check_design
from dpci_core.intervals.certified import check_feasible
from dpci_core.losses import LOSSES
from dpci_core.mechanisms.shares import share_out
from dpci_core.plan.base import FIRST, TYPES, AnyPlan, plan_from
from dpci_core.plan.codec import FORMS, Form
from dpci_core.plan.content import design_from
from dpci_core.plan.numbers import PlanNumbers, plan_numbers
from dpci_core.planner import (
    Worlds,
    as_worlds,
)
from dpci_core.planner.standard import StandardAnswer, best_standard
from dpci_core.schema import Records, meaning_of, to_original
from dpci_core.solvers.moments import Moments, fit_moments


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan(AnyPlan):
    """A plan of a penalised model of an outcome with codes.

    Args:
        design: and what `AnyPlan` says.

    Raises:
        ValueError: naming the field.

    >>> from dpci_core import Logistic, PublicTable, PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001,
    ...                 n_records=100_000)
    >>> plan = Plan(title="Wages", source=PublicTable(key="census"), features=2, design=design,
    ...             delta="1e-6")
    >>> round(plan.numbers().ci_length_mean, 4), plan.digest[:8]
    (0.1882, '6913a4d0')
    """

    design: Design

    def _check_model(self) -> None:
        check_design(self.design)
        expect(self.schema.outcome is None, "Expected an outcome with codes for this design.")
        if type(self.design.loss) not in LOSSES.values():  # a plan file could not name it
            *others, last = (kind.__name__ for kind in LOSSES.values())
            name = type(self.design.loss).__name__
            raise ValueError(
                f"Expected design.loss to be {', '.join(others)} or {last}, got {name}."
            )

    def check_can_run(self, n_records: int) -> None:
        check_feasible(replace(self.design, n_records=n_records), dim=len(self.names))

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        return share_out(self.design).lines

    def moments(self) -> Moments:
        """Return the moments of `records` for the loss and the penalty of the design, and the fit
        without penalty, which says what the penalty leaves of the coefficients.
        """
        return self.moments_of(self.records())

    def moments_of(self, records: Records) -> Moments:
        """Return the fit of planning rows, with the one without penalty."""
        return fit_moments(
            records.X,
            records.y,
            loss=self.design.loss,
            regularization=self.design.regularization,
            target="unpenalised",
            geometry=self.design.geometry,
            with_spread=not ESTIMANDS[self.design.target].needs_unpenalised_fit,
            meaning=records.meaning,
        )

    def check_moments(self, moments: Moments, names: Sequence[str]) -> None:
        """Raise ValueError, naming what is another, for moments of coefficients with these names
        that are of other columns, another fit, or rows that are encoded otherwise: a release would
        have other lengths than they promise.
        """
        design, own = self.design, meaning_of(self.schema, self.features)
        for name, wanted, found in (
            ("names", self.names, tuple(names)),
            ("loss", design.loss, moments.loss),
            ("regularization", design.regularization, moments.regularization),
            ("geometry", design.geometry, moments.geometry),
            ("basis", _listed(own.basis), _listed(moments.basis)),
            ("constant", own.constant, moments.constant),
            ("told", _listed(own.told), _listed(moments.told)),
        ):
            expect(wanted == found, f"Expected moments for this plan: their {name} is another one.")

    def numbers(self, worlds: Worlds | None = None) -> PlanNumbers:
        """Return what the plan promises, as `AnyPlan.numbers`."""
        given = as_worlds(self.worlds() if worlds is None else worlds)
        return plan_numbers(
            given[0].moments,
            design=self.design,
            to_original=to_original(self.schema, self.features),
            names=self.names,
            delta=self.delta,
            promised=self.promise(given),
        )

    def in_standard(self) -> tuple[Plan, StandardAnswer]:
        """Return the plan for the coefficients without penalty, in the standard encoding with the
        shape of the rows, c and split that reach most effects and are nearest to its goal
        (`best_standard`). A goal of another encoding, in other units, is left out.

        Raises:  ValueError naming a number without a typical value; InfeasibleDesignError.
        """
        first, *others = self.source.encoders(self.features)
        asked = replace(self.design, n_records=self.fewest)
        goal = self.goal if self.source.is_standard else None
        found = best_standard(first, design=asked, worlds=others, target=goal)
        source = self.source.in_standard(found.encoding)
        design = replace(found.design, n_records=self.n_records)
        return replace(self, source=source, design=design, goal=goal), found

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""
        return self._plain()


def _listed(values: Array | None) -> Any:
    return None if values is None else values.tolist()


FORMS[Plan] = Form(
    first=FIRST,
    always=("features", "goal", "notes"),
    types={**TYPES, "design": Design},
    build=partial(plan_from, Plan, design_from),
)
