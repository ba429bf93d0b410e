"""From what was drawn to what is written: the record, and the files of its folder."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, TypeVar

from dpci_core.base.extras import version_of
from dpci_core.intervals.draw import Drawn, ReleasedIntervals
from dpci_core.ledger import Charge, Cost, as_text
from dpci_core.plan import AnyPlan, LinearPlan, Plan, as_yaml
from dpci_core.plan.base import Planned
from dpci_core.plan.codec import plain
from dpci_core.plan.goals import missed
from dpci_core.plan.link import canonical
from dpci_core.regression.fit import LinearFit
from dpci_core.regression.noise import share_sd
from dpci_core.release.evaluation import (
    EVALUATION_NAME,
    REGISTRY_NAME,
    evaluation,
    registry_entry,
)
from dpci_core.release.linear import LinearRelease, Steps, linear_intervals
from dpci_core.release.notebook import NOTEBOOK_NAME, notebook
from dpci_core.release.record import (
    RECORD_NAME,
    AnyRelease,
    Coefficient,
    Goal,
    Guarantee,
    Interval,
    Release,
)
from dpci_core.release.report import (
    intervals_csv,
    model_card,
    report_html,
    together_sentence,
)
from dpci_core.report.cautions import Caution, sentences
from dpci_core.report.covered import transformations
from dpci_core.report.words import (
    PERSONS_PLANNED,
    influence_cut,
    neighbours,
    person_rules,
    protected,
)
from dpci_core.schema import Schema

_PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "opendp", "python-flint")


Numbers = TypeVar("Numbers", bound=Planned)


@dataclass(frozen=True, kw_only=True, slots=True)
class Price(Generic[Numbers]):
    """What a release of a plan would do, before anything is spent.

    cost: with its lines.  schema_hash: what the ledger's account must have.  numbers: the planned
    lengths, and which coefficients are not reportable: decided here, from public numbers.
    """

    cost: Cost
    schema_hash: str
    numbers: Numbers


def schema_hash(schema: Schema) -> str:
    """SHA-256 of the columns and bounds that a schema declares, in hexadecimal.

    It says which people an account of the ledger is about. Notes do not count, nor does what is
    declared for planning, so that another radius or step is no reason to open a second account, nor
    how many rows of a person count, nor codes and what a missing cell counts as: correcting them
    leaves the people who they are. Whose row it is does: an account of persons pays for no plan of
    single rows.
    """
    bare = replace(
        schema,
        features=tuple(column.bare() for column in schema.features),
        outcome=None if schema.outcome is None else schema.outcome.bare(),
        positive="",
        negative=(),
        complete=1.0,
        notes=(),
        suggested=(),
        standard=None,
        persons=None if schema.persons is None else replace(schema.persons, rows=1),
    )
    return hashlib.sha256(canonical(plain(bare)).encode()).hexdigest()


def warnings_of(plan: AnyPlan, price: Price[Any]) -> tuple[Caution, ...]:
    """Return what speaks against a release of a plan, gravest first, before anything is spent."""
    found: tuple[Caution, ...] = price.numbers.cautions(plan.design)
    return found


def make_record(plan: Plan, drawn: Drawn, price: Price[Any], charge: Charge) -> Release:
    """Return the record of what was drawn for a charge.

    Args:
        plan: what was released by.
        drawn: coefficients, matrices and intervals as drawn.
        price: of the plan, from `release.price_of`.
        charge: that the ledger booked for it.
    """
    return Release(
        **record_fields(plan, drawn, price, charge),
        design=replace(plan.design, n_records=drawn.n_records),
        hessian=tuple(map(tuple, drawn.hessian.tolist())),
        covariance=tuple(map(tuple, drawn.covariance.tolist())),
        hessian_at=tuple(drawn.hessian_at.tolist()),
        second_moment=()
        if drawn.second_moment is None
        else tuple(map(tuple, drawn.second_moment.tolist())),
        verdict=drawn.usefulness.sentence,
    )


def make_linear_record(
    plan: LinearPlan, fit: LinearFit, price: Price[Any], charge: Charge
) -> LinearRelease:
    """Return the record of the clipped steps that were drawn for a charge; arguments as for
    `make_record`.
    """
    return LinearRelease(
        **record_fields(plan, linear_intervals(plan, fit), price, charge),
        design=fit.design,
        drawn=Steps.of(fit),
        verdict=influence_cut(fit.share_clipped, share_sd(fit.design), plan.counted),
    )


def record_fields(
    plan: AnyPlan, drawn: ReleasedIntervals, price: Price[Any], charge: Charge
) -> dict[str, Any]:
    """Return the fields of a record that every model has."""
    return {
        **entry_of(charge, plan, title=plan.title),
        "guarantee": _guarantee(plan),
        "schema": plan.schema,
        "features": plan.names[:-1],
        "n_planned": plan.n_records,
        "coefficients": coefficients_of(plan, drawn, price.numbers),
        "covers": price.numbers.covers(plan.design),
        "not_reportable": price.numbers.not_reportable,
        "warnings": sentences(warnings_of(plan, price)),
        "goal": None
        if plan.goal is None
        else Goal(target=plan.goal, is_promised=not missed(plan, price.numbers)),
        "publish_if": plan.publish_if,
        "approved": plan.approved,
        "assumptions": assumptions_of(plan, price.numbers),
        "software": dict(software()),
    }


def entry_of(charge: Charge, plan: AnyPlan, *, title: str) -> dict[str, Any]:
    """Return the fields of an `Entry` about a charge on the table of a plan."""
    return {
        "title": title,
        "dataset": charge.dataset,
        "person": charge.person,
        "unit": plan.unit,
        "released_at": charge.booked_at,
        "request_id": charge.request_id,
        "charge_id": charge.charge_id,
        "ledger_head": charge.head,
        "so_far": charge.so_far,
        "plan_hash": charge.plan_hash,
        "schema_hash": charge.schema_hash,
    }


@cache
def software() -> tuple[tuple[str, str], ...]:
    """Name and version of what computes a release; looking them up takes as long as drawing the
    noise.
    """
    return ("python", platform.python_version()), *((name, version_of(name)) for name in _PACKAGES)


def _guarantee(plan: AnyPlan) -> Guarantee:
    budget = plan.design.budget
    epsilon, delta = budget.guarantee(plan.delta)
    return Guarantee(
        definition=budget.definition,
        amount=as_text(budget.total),
        lines={name: as_text(amount) for name, amount in plan.lines},
        epsilon=epsilon,
        delta=delta,
        rho=as_text(budget.as_rho(budget.total)),
        neighbours=neighbours(None if plan.persons is None else plan.persons.rows),
    )


def coefficients_of(
    plan: AnyPlan, drawn: ReleasedIntervals, numbers: Planned
) -> tuple[Coefficient, ...]:
    """Return the coefficients of what was drawn for a plan with these numbers, as a record has
    them: in encoded units, and in original ones as the combinations that were asked for.
    """
    p, lost = len(plan.names), drawn.is_not_estimable

    def interval(j: int) -> Interval:
        return Interval(
            estimate=float(drawn.estimate[j]), low=float(drawn.low[j]), high=float(drawn.high[j])
        )

    return tuple(
        Coefficient(
            name=name,
            released=float(drawn.released[j]),
            scaled=interval(j),
            original=interval(p + j),
            planned_scaled=float(numbers.scaled.ci_length[j]),
            planned_original=float(numbers.original.ci_length[j]),
            sampling_se=float(drawn.sampling_se[j]),
            privacy_se=float(drawn.privacy_se[j]),
            noise_factor=float(drawn.noise_factor[j]),
            is_noise_aware=bool(drawn.is_noise_aware[j]),
            is_not_estimable=bool(numbers.is_not_reportable[j] or lost[j] or lost[p + j]),
        )
        for j, name in enumerate(plan.names)
    )


def assumptions_of(plan: AnyPlan, numbers: Planned) -> tuple[str, ...]:
    """What the guarantee of a release of this plan rests on, and its target, in sentences."""
    found = [f"Whom a record stands for, as declared: {plan.unit}."]
    if plan.persons is not None:
        found = [
            f"Who is protected, as declared: {protected(plan.unit, plan.persons.rows)}.",
            person_rules(f"“{plan.persons.column}”", plan.persons.rows),
            PERSONS_PLANNED,
        ]
    found.append(
        "What is declared of the columns, and every setting, was chosen without looking at the "
        "records."
    )
    found += transformations(plan.transformations)
    found.append(
        "All noise is drawn from the operating system's entropy and exact, and every number here "
        "is made from multiples of a public grid; the program, the OpenDP and Arb libraries do "
        "what they say."
    )
    found += numbers.rests_on(plan.design)
    found.append(
        "Nobody who should not know the records could watch the machine, or how long it took."
    )
    return (*found, plan.design.status) if plan.design.status else tuple(found)


def files_of(made: AnyRelease, plan: AnyPlan) -> dict[str, str]:
    """Return the text of every file of a release, by name."""
    together = together_sentence(made)
    return {
        RECORD_NAME: made.to_json(),
        "intervals.csv": intervals_csv(made),
        "report.html": report_html(made, together=together),
        "model_card.md": model_card(made, together=together),
        EVALUATION_NAME: evaluation(made, together=together),
        REGISTRY_NAME: registry_entry(made, together=together),
        "plan.yaml": as_yaml(plan),
        NOTEBOOK_NAME: notebook(made),
    }
