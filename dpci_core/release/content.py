"""From what was drawn to what is written: the record, and the files of its folder."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

from dpci_core.design import guarantee_at
from dpci_core.intervals.draw import Drawn
from dpci_core.ledger import Charge, Cost, as_text
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.mechanisms.shares import ReleaseParts
from dpci_core.plan import Plan, PlanNumbers, as_yaml
from dpci_core.plan.codec import plain
from dpci_core.plan.link import canonical
from dpci_core.release.evaluation import (
    EVALUATION_NAME,
    REGISTRY_NAME,
    evaluation,
    registry_entry,
)
from dpci_core.release.notebook import NOTEBOOK_NAME, notebook
from dpci_core.release.record import (
    RECORD_NAME,
    Coefficient,
    Guarantee,
    Interval,
    Release,
)
from dpci_core.release.report import intervals_csv, model_card, report_html
from dpci_core.report.cautions import Caution, sentences
from dpci_core.report.covered import covered, transformations, weighted_rows
from dpci_core.report.words import PERSONS_PLANNED, neighbours, person_rules, protected
from dpci_core.schema import Schema, basis_of

_PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "opendp", "python-flint")


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a release of a plan would do, before anything is spent.

    cost: with its lines.  schema_hash: what the ledger's account must have.  numbers: the planned
    lengths, and which coefficients are not reportable: decided here, from public numbers.
    """

    cost: Cost
    schema_hash: str
    numbers: PlanNumbers


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
        positive="",
        negative=(),
        complete=1.0,
        notes=(),
        suggested=(),
        standard=None,
        persons=None if schema.persons is None else replace(schema.persons, rows=1),
    )
    return hashlib.sha256(canonical(plain(bare)).encode()).hexdigest()


def warnings_of(plan: Plan, price: Price) -> tuple[Caution, ...]:
    """Return what speaks against a release of a plan, gravest first, before anything is spent."""
    return price.numbers.cautions(plan.design)


def make_record(plan: Plan, drawn: Drawn, price: Price, charge: Charge) -> Release:
    """Return the record of what was drawn for a charge.

    Args:
        plan: what was released by.
        drawn: coefficients, matrices and intervals as drawn.
        price: of the plan, from `release.price_of`.
        charge: that the ledger booked for it.
    """
    return Release(
        **entry_of(charge, plan, title=plan.title),
        guarantee=_guarantee(plan, drawn.shares),
        design=replace(plan.design, n_records=drawn.n_records),
        schema=plan.schema,
        features=plan.names[:-1],
        n_planned=plan.n_records,
        coefficients=_coefficients(plan, drawn, price.numbers),
        hessian=tuple(map(tuple, drawn.hessian.tolist())),
        covariance=tuple(map(tuple, drawn.covariance.tolist())),
        hessian_at=tuple(drawn.hessian_at.tolist()),
        second_moment=()
        if drawn.second_moment is None
        else tuple(map(tuple, drawn.second_moment.tolist())),
        covers=covered(plan.design, price.numbers.shrinkage),
        not_reportable=price.numbers.not_reportable,
        warnings=sentences(warnings_of(plan, price)),
        verdict=drawn.usefulness.sentence,
        assumptions=assumptions_of(plan, price.numbers),
        software=dict(software()),
    )


def entry_of(charge: Charge, plan: Plan, *, title: str) -> dict[str, Any]:
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
        "plan_hash": charge.plan_hash,
        "schema_hash": charge.schema_hash,
    }


@cache
def software() -> tuple[tuple[str, str], ...]:
    """Name and version of what computes a release; looking them up takes as long as drawing the
    noise.
    """
    return ("python", platform.python_version()), *((name, version(name)) for name in _PACKAGES)


def _guarantee(plan: Plan, shares: ReleaseParts) -> Guarantee:
    design = plan.design
    epsilon, delta = guarantee_at(design, plan.delta)
    total = design.budget.total
    return Guarantee(
        definition=design.definition,
        amount=as_text(total),
        lines={name: as_text(amount) for name, amount in shares.lines},
        epsilon=epsilon,
        delta=delta,
        rho=as_text(design.budget.as_rho(total)),
        neighbours=neighbours(None if plan.persons is None else plan.persons.rows),
    )


def _coefficients(plan: Plan, drawn: Drawn, numbers: PlanNumbers) -> tuple[Coefficient, ...]:
    basis = basis_of(plan.schema, plan.features)
    released = drawn.theta_priv if basis is None else basis @ drawn.theta_priv

    def interval(estimate: float, low: float, high: float) -> Interval:
        return Interval(estimate=float(estimate), low=float(low), high=float(high))

    return tuple(
        Coefficient(
            name=name,
            released=float(released[j]),
            scaled=interval(drawn.estimate[j], drawn.low[j], drawn.high[j]),
            original=interval(
                drawn.contrast_estimate[j], drawn.contrast_low[j], drawn.contrast_high[j]
            ),
            planned_scaled=float(numbers.scaled.ci_length[j]),
            planned_original=float(numbers.original.ci_length[j]),
            sampling_se=float(drawn.sampling_se[j]),
            privacy_se=float(drawn.privacy_se[j]),
            noise_factor=float(drawn.noise_factor[j]),
            is_noise_aware=bool(drawn.is_noise_aware[j]),
            is_not_estimable=bool(
                numbers.is_not_reportable[j]
                or drawn.is_not_estimable[j]
                or drawn.contrast_is_not_estimable[j]
            ),
        )
        for j, name in enumerate(plan.names)
    )


def assumptions_of(plan: Plan, numbers: PlanNumbers) -> tuple[str, ...]:
    """What the guarantee of a release of this plan rests on, and its target, in sentences."""
    design = plan.design
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
    found += weighted_rows(design, numbers.n_weighted, numbers.n_rows)
    found.append(
        "All noise is drawn from the operating system's entropy and exact, and every number here "
        "is made from multiples of a public grid; the program, the OpenDP and Arb libraries do "
        "what they say."
    )
    if mechanism_of(design).perturbs_objective:
        found.append(
            "A noise vector too long for a certified fit ends a release without a result: a delta "
            "of at most 2^-200."
        )
    found.append(
        "The fit reaches its fixed tolerance on every table: proved in exact arithmetic, tested "
        "beyond it."
    )
    found.append(
        "Nobody who should not know the records could watch the machine, or how long it took."
    )
    return (*found, design.status) if design.status else tuple(found)


def files_of(made: Release, plan: Plan) -> dict[str, str]:
    """Return the text of every file of a release, by name."""
    return {
        RECORD_NAME: made.to_json(),
        "intervals.csv": intervals_csv(made),
        "report.html": report_html(made),
        "model_card.md": model_card(made),
        EVALUATION_NAME: evaluation(made),
        REGISTRY_NAME: registry_entry(made),
        "plan.yaml": as_yaml(plan),
        NOTEBOOK_NAME: notebook(made),
    }
