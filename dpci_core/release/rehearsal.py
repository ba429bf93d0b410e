"""A release rehearsed: what would come out of a plan on made-up rows, free and as often as one
likes.

Rows are drawn, with replacement, from the public or simulated ones that the plan is planned with,
as many as it is for; everything else is the way of a release, with a seeded generator in the place
of the operating system's entropy. No file, no ledger and no private table is in sight: nothing here
takes one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, expect
from dpci_core.base.rows import parted, signed, with_weights
from dpci_core.design import Design
from dpci_core.intervals.certified import check_feasible
from dpci_core.intervals.draw import rehearse_draw
from dpci_core.intervals.estimands import estimand_of
from dpci_core.plan import Acceptance, Plan, PlanNumbers
from dpci_core.release.content import coefficients_of
from dpci_core.release.effects import effect_table
from dpci_core.release.record import Coefficient
from dpci_core.report.effect_table import EffectRow, EffectTable
from dpci_core.report.html import IntervalRow, interval_chart, render
from dpci_core.report.words import joined, number
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
    design: Design
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
            said.append(
                f"{sum(hits)} of {len(hits)} intervals cover the made-up effect ({level} should)."
            )
        if self.publish_if is not None:
            n_met = sum(not self.publish_if.broken_by(table) for table in self.tables)
            said.append(f"{n_met} of {n} meet the plan's own rule. {self.publish_if.sentence}")
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
            axis=f"{'odds ratio' if first.is_odds else 'score'}, for the step of each column",
            is_odds=first.is_odds,
        )


def _covers(row: EffectRow, truth: float) -> bool:
    assert row.interval is not None
    _, low, high = row.interval
    return low <= truth <= high


def rehearsed(plan: Plan, numbers: PlanNumbers, *, times: int = TIMES) -> Iterator[Rehearsed]:
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
    check_feasible(plan.design, dim=p)
    records = plan.records()
    rows, weights = parted(signed(records.X, records.y))
    told, basis = to_original(plan.schema, plan.features), basis_of(plan.schema, plan.features)
    for stream in np.random.default_rng(_SEED).spawn(times):
        began = time.perf_counter()
        some = stream.integers(len(rows), size=n)
        drawn = rehearse_draw(
            with_weights(rows[some], None if weights is None else weights[some]),
            design=plan.design,
            rng=stream,
            to_original=told,
            basis=basis,
            constant=constant_of(plan.schema, plan.features),
        )
        yield Rehearsed(
            schema=plan.schema,
            features=plan.names[:-1],
            design=plan.design,
            coefficients=coefficients_of(plan, drawn, numbers),
            not_reportable=numbers.not_reportable,
            seconds=time.perf_counter() - began,
        )


def rehearsal_of(plan: Plan, made: list[Rehearsed]) -> Rehearsal:
    """Return releases that were rehearsed as one, beside the effects that the made-up rows have."""
    return Rehearsal(
        title=plan.title,
        n_records=plan.n_records,
        tables=tuple(map(effect_table, made)),
        truth=_truth(plan),
        seconds=sum(one.seconds for one in made),
        publish_if=plan.publish_if,
    )


def rehearse(plan: Plan, *, times: int = TIMES) -> Rehearsal:
    """Return what comes out of a plan on made-up rows, each of so many times; arguments and errors
    as of `rehearsed`.
    """
    return rehearsal_of(plan, list(rehearsed(plan, plan.numbers(), times=times)))


def _truth(plan: Plan) -> Array | None:
    """The effects (d,) that intervals are for, were the planning rows the whole population."""
    theta = _target(plan.moments(), plan.design)
    if theta is None:
        return None
    basis = basis_of(plan.schema, plan.features)
    original = to_original(plan.schema, plan.features) @ (theta if basis is None else basis @ theta)
    return np.asarray((np.array(told_steps(plan.schema, plan.names)) * original)[:-1])


def _target(moments: Moments, design: Design) -> Array | None:
    without, estimand = moments.unpenalised_fit, estimand_of(design)
    if without is None and estimand.needs_unpenalised_fit:
        return None
    return estimand.in_table(
        moments.theta_hat, lambda: moments.theta_hat if without is None else without.unweighted
    )
