"""A release rehearsed: what would come out of a plan on made-up rows, free and as often as one
likes.

Rows are drawn, with replacement, from the public or simulated ones that the plan is planned with,
as many as it is for; everything else is the way of a release, with a seeded generator in the place
of the operating system's entropy. No file, no ledger and no private table is in sight: nothing here
takes one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_count, expect
from dpci_core.base.rows import PersonRows, WeightedRows, parted, signed, with_weights
from dpci_core.design import Design
from dpci_core.intervals.draw import ReleasedIntervals, rehearse_draw
from dpci_core.intervals.estimands import estimand_of
from dpci_core.plan import Acceptance, AnyPlan, LinearPlan, Plan
from dpci_core.plan.base import Planned
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import linear_fit
from dpci_core.release.content import coefficients_of
from dpci_core.release.effects import effect_table
from dpci_core.release.linear import linear_intervals
from dpci_core.release.record import Coefficient
from dpci_core.report.effect_table import EffectRow, EffectTable
from dpci_core.report.html import IntervalRow, interval_chart, render
from dpci_core.report.words import joined, many, number
from dpci_core.schema import Schema, basis_of, constant_of, to_original, told_steps
from dpci_core.solvers.moments import Moments

TIMES = 10
"""Rehearsals of a plan, unless another number is asked for."""
FREE = "Made-up rows: nothing is opened, and nothing is spent."
"""Stands with everything that was rehearsed."""
LARGEST_TABLE = 40_000_000
"""Numbers in the made-up rows: they and their copies have to fit into memory."""
_SEED = 20_261_124
"""Of the rows and of the noise: the same plan, the same rehearsal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsed:
    """One release on made-up rows: what a record would say of its coefficients, and how many
    seconds it took.
    """

    schema: Schema
    features: tuple[str, ...]
    design: Design | LinearDesign
    coefficients: tuple[Coefficient, ...]
    not_reportable: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What came out of a plan, each time.

    tables: of its effects.  truth: the made-up effects (d,) for the step of each column, None where
    the made-up rows have none, because a line separates their outcomes.  seconds: of all together.
    """

    title: str
    n_records: int
    tables: tuple[EffectTable, ...]
    truth: Array | None
    seconds: float
    publish_if: Acceptance | None = None

    def lost_times(self, place: int) -> int:
        """In how many rehearsals the effect at this place was not reportable."""
        return sum(bool(table.rows[place].reason) for table in self.tables)

    def findings(self) -> tuple[str, ...]:
        """What can be seen, in sentences."""
        n, first = len(self.tables), self.tables[0]
        lost: dict[int, list[str]] = {}
        for place, row in enumerate(first.rows):
            if times := self.lost_times(place):
                lost.setdefault(times, []).append(row.name)
        said = [
            f"{joined(names)}: not reportable in {times} of {n}."
            for times, names in sorted(lost.items(), reverse=True)
        ] or [f"Every effect was reportable in each of {n} rehearsals."]
        if self.truth is not None and (hits := list(self._hits())):
            level = f"{100.0 * first.level:.10g} %"
            cover = "covers" if sum(hits) == 1 else "cover"
            of = many(len(hits), "interval")
            said.append(f"{sum(hits)} of {of} {cover} the made-up effect ({level} should).")
        if self.publish_if is not None:
            n_met = sum(not self.publish_if.broken_by(table) for table in self.tables)
            meet = "meets" if n_met == 1 else "meet"
            said.append(f"{n_met} of {n} {meet} the plan's own rule. {self.publish_if.sentence}")
        said.append(f"It took {number(self.seconds / n, 2)} s each time.")
        return tuple(said)

    def _hits(self) -> Iterator[bool]:
        """Of every reported interval whether it covers."""
        assert self.truth is not None
        for table in self.tables:
            for row, truth in zip(table.rows, self.truth, strict=True):
                if not row.reason:
                    yield _covers(row, float(truth))

    def html(self) -> str:
        """The whole as a page of its own, as a report is one."""
        first = self.tables[0]
        return render(
            "rehearsal.html",
            title=f"Rehearsal: {self.title}",
            free=FREE,
            n=f"{self.n_records:,}",
            times=len(self.tables),
            findings=self.findings(),
            table=first.html(caption="The first of them"),
            saying=first.saying(),
            chart=self._chart(),
        )

    def _chart(self) -> str:
        """A strip of intervals for each effect, beside its made-up value."""
        first, rows = self.tables[0], []
        for place, effect in enumerate(first.rows):
            every = [table.rows[place] for table in self.tables]
            told = [row for row in every if not row.reason and row.interval is not None]
            if not told:
                continue
            truth = None if self.truth is None else float(self.truth[place])
            rows.append(
                IntervalRow(
                    label=effect.name,
                    centre=truth,
                    intervals=tuple(row.interval[1:] for row in told if row.interval is not None),
                    series=tuple(int(truth is not None and not _covers(r, truth)) for r in told),
                )
            )
        if not rows:
            return ""
        return interval_chart(
            rows,
            series=("covers the made-up effect", "misses it"),
            title=f"The intervals of {len(self.tables)} rehearsals",
            description=" ".join(self.findings()),
            axis=f"{first.scale.told}, for the step of each column",
            is_odds=first.is_odds,
        )


def _covers(row: EffectRow, truth: float) -> bool:
    assert row.interval is not None
    _, low, high = row.interval
    return low <= truth <= high


def rehearsed(plan: AnyPlan, numbers: Planned, *, times: int = TIMES) -> Iterator[Rehearsed]:
    """Yield releases of a plan on made-up rows, one after the other.

    Args:
        plan: whose planning rows they are drawn from.
        numbers: of the plan, which say what it calls not reportable.
        times: how often.

    Privacy: none is needed: no argument leads to a private row, and the noise is seeded.
    Raises:  InfeasibleDesignError where a release would; ValueError for more rows than fit into
             memory.
    """
    check_count(times=times)
    n, p = plan.n_records, len(plan.names)
    expect(
        n * p <= LARGEST_TABLE,
        f"Expected at most {LARGEST_TABLE // p:,} records to rehearse with {p} coefficients, got "
        f"{n:,}.",
    )
    plan.check_can_run(n)
    made_up, draw = _DRAWS[type(plan)]
    rows, weights = parted(made_up(plan))
    for stream in np.random.default_rng(_SEED).spawn(times):
        began = time.perf_counter()
        some = stream.integers(len(rows), size=n)
        drawn = draw(
            plan, with_weights(rows[some], None if weights is None else weights[some]), stream
        )
        yield Rehearsed(
            schema=plan.schema,
            features=plan.names[:-1],
            design=plan.design,
            coefficients=coefficients_of(plan, drawn, numbers),
            not_reportable=numbers.not_reportable,
            seconds=time.perf_counter() - began,
        )


def _signed_rows(plan: Plan) -> Array | WeightedRows:
    records = plan.records()
    return signed(records.X, records.y)


def _penalised(
    plan: Plan, rows: Array | WeightedRows, stream: np.random.Generator
) -> ReleasedIntervals:
    return rehearse_draw(
        rows,
        design=plan.design,
        rng=stream,
        to_original=to_original(plan.schema, plan.features),
        basis=basis_of(plan.schema, plan.features),
        constant=constant_of(plan.schema, plan.features),
    )


def _linear(
    plan: LinearPlan, rows: Array | WeightedRows, stream: np.random.Generator
) -> ReleasedIntervals:
    if plan.persons is not None:  # each with one row, as planned
        rows = PersonRows.of(rows, np.arange(len(rows)), most=1)
    fit = linear_fit(as_table(rows), design=plan.design, source=stream)
    return linear_intervals(plan, fit)


_DRAWS: dict[type, tuple[Callable[..., Any], Callable[..., ReleasedIntervals]]] = {
    Plan: (_signed_rows, _penalised),
    LinearPlan: (LinearPlan.rows, _linear),
}
"""The made-up rows of a plan, and one draw from them."""


def rehearsal_of(plan: AnyPlan, made: list[Rehearsed]) -> Rehearsal:
    """Return releases that were rehearsed as one, beside the effects that the made-up rows have."""
    return Rehearsal(
        title=plan.title,
        n_records=plan.n_records,
        tables=tuple(map(effect_table, made)),
        truth=_truth(plan),
        seconds=sum(one.seconds for one in made),
        publish_if=plan.publish_if,
    )


def rehearse(plan: AnyPlan, *, times: int = TIMES) -> Rehearsal:
    """Return what comes out of a plan on made-up rows, each of so many times; arguments and errors
    as of `rehearsed`.
    """
    return rehearsal_of(plan, list(rehearsed(plan, plan.numbers(), times=times)))


def _truth(plan: AnyPlan) -> Array | None:
    """The effects (d,) that intervals are for, were the planning rows the whole population."""
    original = _TRUTHS[type(plan)](plan)
    if original is None:
        return None
    return np.asarray((np.array(told_steps(plan.schema, plan.names)) * original)[:-1])


def _plain_truth(plan: LinearPlan) -> Array:
    """Plain least squares of the made-up rows, per unit of each column."""
    rows = plan.rows().rows
    theta = np.linalg.lstsq(rows[:, 1:], rows[:, 0], rcond=None)[0]
    return np.asarray(plan.contrasts[len(plan.names) :] @ theta)


def _penalised_truth(plan: Plan) -> Array | None:
    theta = _target(plan.moments(), plan.design)
    if theta is None:
        return None
    basis = basis_of(plan.schema, plan.features)
    meant = theta if basis is None else basis @ theta
    return np.asarray(to_original(plan.schema, plan.features) @ meant)


_TRUTHS: dict[type, Callable[..., Array | None]] = {
    Plan: _penalised_truth,
    LinearPlan: _plain_truth,
}


def _target(moments: Moments, design: Design) -> Array | None:
    without, estimand = moments.unpenalised_fit, estimand_of(design)
    if without is None and estimand.needs_unpenalised_fit:
        return None
    return estimand.in_table(
        moments.theta_hat, lambda: moments.theta_hat if without is None else without.unweighted
    )
