"""A plan: everything that is decided about a release before a record is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from dpci_core.base.array import Array
from dpci_core.base.errors import expect
from dpci_core.base.limits import records_in_range
from dpci_core.design import Design, check_design
from dpci_core.intervals.certified import check_feasible
from dpci_core.losses import LOSSES
from dpci_core.mechanisms.shares import share_out
from dpci_core.plan.base import FIRST, TYPES, AnyPlan, features_from
from dpci_core.plan.codec import FORMS, Form, at
from dpci_core.plan.content import coefficient_names, design_from, goal_from
from dpci_core.plan.numbers import PlanNumbers, plan_numbers, promise_of
from dpci_core.planner import (
    Promise,
    Target,
    WorldMoments,
    Worlds,
)
from dpci_core.planner.standard import StandardAnswer, best_standard
from dpci_core.planner.targets import check_target
from dpci_core.schema import Records, meaning_of, to_original
from dpci_core.solvers.moments import Moments, fit_moments


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan(AnyPlan):
    """A plan of a penalised model of an outcome with codes.

    Args:
        design: and what `AnyPlan` says.
        goal: a `Target` in encoded units, or None.

    Raises:
        ValueError: naming the field.

    >>> from dpci_core import Logistic, PublicTable, PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001,
    ...                 n_records=100_000)
    >>> plan = Plan(title="Wages", source=PublicTable(key="census"), features=2, design=design,
    ...             delta="1e-6")
    >>> round(plan.numbers().ci_length_mean, 4), plan.digest[:8]
    (0.1882, '8694a4c8')
    """

    design: Design
    goal: Target | None = None

    def _check_model(self) -> None:
        check_design(self.design)
        expect(self.schema.outcome is None, "Expected an outcome with codes for this design.")
        k = 1 if self.persons is None else self.persons.rows
        if self.design.rows_per_person == 1:  # said once, by the declaration
            object.__setattr__(self, "design", replace(self.design, rows_per_person=k))
        expect(
            self.design.rows_per_person == k,
            f"Expected design.rows_per_person={self.design.rows_per_person} to be {k}, as the "
            "schema's persons say.",
        )
        if type(self.design.loss) not in LOSSES.values():  # a plan file could not name it
            *others, last = (kind.__name__ for kind in LOSSES.values())
            name = type(self.design.loss).__name__
            raise ValueError(
                f"Expected design.loss to be {', '.join(others)} or {last}, got {name}."
            )
        if self.goal is not None:
            check_target(self.goal, p=len(self.names))

    def check_can_run(self, n_records: int) -> None:
        check_feasible(replace(self.design, n_records=n_records), dim=len(self.names))

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        return share_out(self.design).lines

    def records(self) -> Records:
        """Return the public or simulated records that the plan is computed from, as they would be
        encoded.
        """
        return self.source.records(self.features)

    def moments(self) -> Moments:
        """Return the moments of `records` for the loss and the penalty of the design, and the fit
        without penalty, which says what the penalty leaves of the coefficients.
        """
        return self._fit(self.records())

    def worlds(self) -> tuple[WorldMoments, ...]:
        """Return the moments of every world that the source allows, that of `moments` first."""
        found = self.source.worlds(self.features)
        return tuple(WorldMoments(said, self._fit(records)) for said, records in found)

    def _fit(self, records: Records) -> Moments:
        return fit_moments(
            records.X,
            records.y,
            loss=self.design.loss,
            regularization=self.design.regularization,
            target="unpenalised",
            geometry=self.design.geometry,
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

    def promise(self, worlds: Worlds | None = None) -> Promise:
        """Return what holds in every world, of the effects in original units; `worlds` as for
        `numbers`.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return promise_of(
            self.worlds() if worlds is None else worlds,
            design=self.design,
            to_original=to_original(self.schema, self.features),
            goal=self.goal,
            fewest=self.fewest,
        )

    def numbers(self, worlds: Worlds | None = None) -> PlanNumbers:
        """Return what the plan promises.

        Args:
            worlds: its `worlds`, from whoever has them already; or the moments of planning rows,
                which are the only world then.

        Raises:  InfeasibleDesignError if the design cannot run at this n.
        """
        return plan_numbers(
            self.worlds() if worlds is None else worlds,
            design=self.design,
            to_original=to_original(self.schema, self.features),
            names=self.names,
            delta=self.delta,
            goal=self.goal,
            fewest=self.fewest,
        )

    def in_standard(self) -> tuple[Plan, StandardAnswer]:
        """Return the plan for the coefficients without penalty, in the standard encoding with the
        shape of the rows, c and split of the shortest intervals; without a goal, whose units were
        those of another encoding.

        Raises:  ValueError naming a number without a typical value; InfeasibleDesignError.
        """
        first, *others = self.source.encoders(self.features)
        asked = replace(self.design, n_records=self.fewest)
        found = best_standard(first, design=asked, worlds=others)
        source = self.source.in_standard(found.encoding)
        design = replace(found.design, n_records=self.n_records)
        return replace(self, source=source, design=design, goal=None), found

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""
        record = self._plain()
        if self.goal is not None and self.goal.coefficient is not None:
            record["goal"]["coefficient"] = self.names[self.goal.coefficient]
        return record


def _listed(values: Array | None) -> Any:
    return None if values is None else values.tolist()


def _plan_from(
    *,
    version: int,
    design: dict[str, Any],
    n_records: int,
    features: object = None,
    goal: Any = None,
    notes: str | None = None,
    **given: Any,
) -> Plan:
    """A plan of the fields of its file, whose n stands beside the design; a goal names its
    coefficient among those of the source.
    """
    n = records_in_range(n_records)
    with at("features"):
        chosen = features_from(features)
        names = coefficient_names(given["source"], chosen)
    with at("goal"):
        target = None if goal is None else goal_from(goal, names)
    asked = design_from(design, n)
    with at("publish_if"):
        if (rule := given.get("publish_if")) is not None:
            rule.check_against(len(names) - 1, measures=asked.measures)
    return Plan(features=chosen, design=asked, goal=target, notes=notes or "", **given)


FORMS[Plan] = Form(
    first=(*FIRST, "n_tolerance", "goal"),
    always=("features", "goal", "notes"),
    types={**TYPES, "goal": Target | None, "design": Design},
    build=_plan_from,
)
