"""The command `python -m dpci_core plan ...`: the planner on public, simulated or declared tables,
and plans as files.

A question starts from a named set and flags, or from a plan file, whose table, design, n and goal
take their place.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from dpci_core.cli.command import JSON, Command, Flag, check_new, flag
from dpci_core.cli.plan_export import EXPORT, REHEARSE, SHOW
from dpci_core.datasets import list_datasets, load
from dpci_core.design import ESTIMANDS, MECHANISMS, Design, guarantee_at, spent_by
from dpci_core.intervals.forecast import HEADLINE_DELTA
from dpci_core.losses import LOSSES, Loss, make_loss
from dpci_core.plan import (
    AnyPlan,
    DeclaredTable,
    LinearPlan,
    Plan,
    read_plan,
    shrinkage_of,
    write_plan,
)
from dpci_core.plan.base import PlanT
from dpci_core.plan.effects import planned_effects
from dpci_core.plan.linear import plain_design
from dpci_core.plan.numbers import PlanNumbers
from dpci_core.planner import (
    PARTS,
    NeededBudget,
    NeededRecords,
    RegularizationChoice,
    Target,
    as_if_records,
    best_regularization,
    best_split,
    needed_budget,
    needed_records,
    rank_mechanisms,
    shares_of,
)
from dpci_core.planner.amounts import delta_in_range
from dpci_core.planner.geometry import best_geometry, without_geometry
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.regularization import moments_source
from dpci_core.planner.standard import best_standard
from dpci_core.planner.worlds import ONLY_WORLD, AnyDesign, AnyForecast, WorldMoments, Worlds
from dpci_core.privacy.budget import GDP, ZCDP, Amount, ApproxDP, Budget, PureDP, to_decimal
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.forecast import LinearForecast
from dpci_core.report.answers import geometry as geometry_words
from dpci_core.report.answers import standard_encoding
from dpci_core.report.cautions import cautions, reach, sentences, unreachable
from dpci_core.report.covered import covered
from dpci_core.report.words import PERSONS_PLANNED, called, number, person_rules, protected
from dpci_core.schema import Persons, Records, StandardEncoding
from dpci_core.solvers.moments import fit_moments

Answer = dict[str, Any]

_ANY_PENALTY = 0.001
"""Stands where the planner will choose c."""
_ORDER = (
    "First the fewest coefficients that cannot be reported, among equals the shortest mean "
    "interval; last what cannot run."
)
_NEEDED = ("data", "loss", "regularization")
_NEEDED_OF_A_DESIGN = ("mechanism", "calibration")
_DEFAULTS: dict[str, Any] = {
    "encoding": "schema",
    "confidence_level": 0.95,
    "shares": ["0.5", "0.25", "0.25"],
}
_OF_A_PLAN = (
    *(*_NEEDED, *_NEEDED_OF_A_DESIGN, *_DEFAULTS),
    *("target", "features", "rows", "h", "rho", "mu", "shape", "limit"),
)
"""Flags that say what a plan file says already."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Start:
    """Where a question starts: records, moments of every world that they may be from, their
    coefficients, and the plan it may come from.
    """

    records: Records
    worlds: tuple[WorldMoments, ...]
    names: tuple[str, ...]
    plan: AnyPlan | None

    @property
    def moments(self) -> Any:
        """The moments of the records themselves, which are the first world."""
        return self.worlds[0].moments

    @property
    def penalised(self) -> Plan | None:
        """The plan, for questions that only a penalised model has."""
        return None if self.plan is None else self.plan.expected(Plan)

    def fewest(self, n_records: int) -> int:
        """How many records an answer is for: the fewest that a release of the plan takes."""
        return n_records if self.plan is None else self.plan.fewest_of(n_records)

    def counted(self, design: Design) -> Design:
        """The design with the fewest records."""
        return replace(design, n_records=self.fewest(design.n_records))


def run(options: argparse.Namespace) -> int:
    """Answer one question; exit code 2 for flags that do not go together."""
    _check_flags(options)
    if options.action != "rank":
        check_new(options.write)
    plan = None if options.plan is None else read_plan(options.plan)
    if plan is not None and options.action not in ("split", "records", "budget", "persons"):
        plan = plan.expected(Plan)
    answer, better = options.answer(options, _start(options, plan))
    if options.action != "rank" and options.write is not None:
        if plan is not None and better.digest != plan.digest:
            better = replace(better, approved="")  # what somebody approved was another plan
        write_plan(better, options.write)
    print(json.dumps(answer, indent=1) if options.json else _in_words(answer))
    return 0


def _check_flags(options: argparse.Namespace) -> None:
    """Leave by the parser where a flag is missing, or repeats what the plan says; then fill in the
    defaults.
    """
    is_rank = options.action == "rank"

    def flags(names: tuple[str, ...], *, given: bool) -> str:
        found = [
            name
            for name in names
            if hasattr(options, name) and (getattr(options, name) is not None) == given
        ]
        return ", ".join(f"--{name.replace('_', '-')}" for name in found)

    if options.action == "standard" and options.plan is None:
        options.parser.error("--plan is required: shape and limit are fields of a plan")
    if options.complete is not None and options.plan is None:
        options.parser.error("--complete needs --plan: a set that is here has its own rows")
    if options.plan is not None:
        repeated = flags(_OF_A_PLAN if is_rank else (*_OF_A_PLAN, "epsilon", "delta"), given=True)
        if repeated:
            options.parser.error(
                f"not with --plan, which says it already: {repeated}. Change it in a copy of the "
                "plan file"
            )
    else:
        needed: tuple[str, ...] = (
            (*_NEEDED, "epsilon", "delta") if is_rank else (*_NEEDED, *_NEEDED_OF_A_DESIGN)
        )
        if _is_chosen(options):
            needed = tuple(name for name in needed if name != "regularization")
        if options.encoding == "standard" and not _is_chosen(options):
            needed = (*needed, "shape")
        elif options.encoding != "standard" and flags(("shape", "limit"), given=True):
            options.parser.error("--shape and --limit are for --encoding standard")
        if missing := flags(needed, given=False):
            options.parser.error(f"the following arguments are required: {missing} (or --plan)")
        if not is_rank and options.write is not None:
            options.parser.error("--write needs --plan: an answer alone has no title and no delta")
    if options.target is None:
        options.target = "unpenalised" if options.encoding == "standard" else "penalised"
    for name, value in _DEFAULTS.items():
        if hasattr(options, name) and getattr(options, name) is None:
            setattr(options, name, value)


def _is_chosen(options: argparse.Namespace) -> bool:
    """Whether the planner chooses shape, limit and c together."""
    given = (options.regularization, options.shape, options.limit, options.plan)
    return (
        options.encoding == "standard"
        and options.action != "rank"
        and all(value is None for value in given)
    )


def _loaded(options: argparse.Namespace, standard: StandardEncoding | None) -> Records:
    """The named set of the flags."""
    return load(
        options.data,
        encoding=options.encoding,
        features=options.features,
        n_rows=options.rows,
        standard=standard,
    )


def _choose(options: argparse.Namespace) -> StandardEncoding | None:
    """The standard encoding of the flags; c goes into them where the planner chooses it."""
    if options.encoding != "standard":
        return None
    if not _is_chosen(options):
        limit = {} if options.limit is None else {"limit": options.limit}
        return StandardEncoding(shape=options.shape, **limit)
    n = options.n_records
    if n is None:
        n = len(_loaded(options, StandardEncoding()).y)
    found = best_standard(
        lambda encoding: _loaded(options, encoding),
        design=_design_of(options, _loss(options), _ANY_PENALTY, n),
    )
    options.regularization = found.design.regularization
    return found.encoding


def _expecting(plan: PlanT, complete: float | None) -> PlanT:
    """A plan with another expected share of complete records, if one is given."""
    if complete is None:
        return plan
    if not isinstance(plan.source, DeclaredTable):
        raise ValueError("Expected a plan of a declared table: a public set has its own rows.")
    schema = replace(plan.source.schema, complete=complete)
    return replace(plan, source=replace(plan.source, schema=schema))


def _start(options: argparse.Namespace, given: AnyPlan | None) -> _Start:
    if given is not None:
        plan = _expecting(given, options.complete)
        n = plan.n_records if options.n_records is None else options.n_records
        asked = replace(plan, design=replace(plan.design, n_records=n))
        if isinstance(asked, Plan) and options.action == "rank":  # geometry goes with few of them
            asked = replace(asked, design=without_geometry(asked.design))
        return _Start(
            records=plan.records(),
            worlds=asked.worlds(),
            names=plan.names,
            plan=asked,
        )
    records = _loaded(options, _choose(options))
    moments = fit_moments(
        records.X,
        records.y,
        loss=_loss(options),
        regularization=options.regularization,
        target="unpenalised",
        with_spread=True,
        meaning=records.meaning,
    )
    return _Start(
        records=records,
        worlds=(WorldMoments(ONLY_WORLD, moments),),
        names=records.feature_names,
        plan=None,
    )


def _in_words(answer: Answer) -> str:
    if "designs" not in answer:
        return "\n".join([answer["reason"], *answer["warnings"]])
    rows = (
        f"{r['calibration']:<11}{r['definition']:<6}{r['mechanism']:<11}{r['reason']}"
        for r in answer["designs"]
    )
    return "\n".join([_ORDER, *rows])


def _loss(options: argparse.Namespace) -> Loss:
    if "h" not in LOSSES[options.loss].parameter_names():
        if options.h is not None:
            raise ValueError(f"Expected no h={options.h} with the {options.loss} loss.")
    elif options.h is None:
        raise ValueError("Expected --h, the smoothing of the SVM.")
    return make_loss(options.loss, options.h)


def _design(options: argparse.Namespace, start: _Start) -> Any:
    if start.plan is not None:
        return start.plan.design
    n = start.moments.n_records if options.n_records is None else options.n_records
    return _design_of(options, start.moments.loss, options.regularization, n)


def _design_of(options: argparse.Namespace, loss: Loss, c: float, n: int) -> Design:
    """The design of the flags."""
    budget = _budget(options)
    return Design(
        loss=loss,
        mechanism=options.mechanism,
        budget=budget if isinstance(budget, Budget) else spent_by(budget, options.mechanism),
        regularization=c,
        n_records=n,
        confidence_level=options.confidence_level,
        calibration=options.calibration,
        target=options.target,
    )


def _budget(options: argparse.Namespace) -> Budget | ApproxDP:
    if sum(x is not None for x in (options.epsilon, options.rho, options.mu)) != 1:
        raise ValueError("Expected exactly one of --epsilon, --rho and --mu.")
    if options.epsilon is None and options.delta is not None:
        raise ValueError("Expected no --delta with --rho or --mu.")
    if options.delta is not None:
        return ApproxDP(options.epsilon, options.delta, tuple(options.shares))
    if options.mu is not None:
        return GDP.of(options.mu, shares=options.shares)
    # Any (epsilon, delta) budget checks the shares.
    shares = ApproxDP("1", "0.5", tuple(options.shares)).shares
    kind, name = (PureDP, "epsilon") if options.rho is None else (ZCDP, "rho")
    total = to_decimal(options.epsilon or options.rho, name=name)
    return kind(**{part: total * share for part, share in zip(PARTS, shares, strict=True)})


def _target(options: argparse.Namespace, start: _Start) -> Target:
    """What the flags say, or the goal of the plan where they say nothing."""
    place, names = options.coefficient, start.names
    targets = (options.length, place, options.excludes_zero_at, options.probability)
    if start.plan is not None and all(target is None for target in targets):
        if start.plan.goal is None:
            raise ValueError("Expected --length or --excludes-zero-at: this plan has no goal.")
        return start.plan.goal
    if place is not None and place in names:
        place = names.index(place)
    elif place is not None:
        if not place.isdecimal():
            raise ValueError(
                f"Expected coefficient={place!r} to be a place from 0 or one of {', '.join(names)}."
            )
        place = int(place)
    probability = 0.5 if options.probability is None else options.probability
    return Target(options.length, place, options.excludes_zero_at, probability)


def _plain_design(design: AnyDesign) -> Answer:
    if isinstance(design, LinearDesign):
        return plain_design(design)
    budget = design.budget
    return {
        "mechanism": design.mechanism,
        "definition": design.definition,
        "total": _text(budget.total),
        "parts": {name: str(amount) for name, amount in budget.lines},
        "shares": {name: float(amount / budget.total) for name, amount in budget.lines},
        "status": design.status,
    }


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _warned(start: _Start, found: AnyForecast) -> list[str]:
    """What speaks against an answer, in the words of every page."""
    if isinstance(found, LinearForecast):
        return list(sentences(tuple(unreachable(found.is_not_reportable, start.names, None))))
    same_c = found.design.regularization == start.moments.regularization
    shrinkage = shrinkage_of(start.moments) if same_c else None
    said = cautions(found, design=found.design, names=start.names, shrinkage=shrinkage)
    return list(sentences(said))


def _split(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    if isinstance(start.plan, LinearPlan):
        return _linear_split(options, start.plan, start.worlds)
    for item in options.locked:
        if "=" not in item:
            raise ValueError(f"Expected --locked PART=AMOUNT, got {item!r}.")
    locked = dict(item.partition("=")[::2] for item in options.locked)
    design = _design(options, start)
    found = best_split(
        start.worlds,
        design=start.counted(design),
        locked=locked,
        delta=_delta(options, start),
    )
    answer = {
        "design": _plain_design(found.design),
        "n_records": found.forecast.n_records,
        "epsilon_delta": found.epsilon_delta,
        "length": found.forecast.ci_length_mean,
        "asked_length": found.asked.ci_length_mean,
        "gain": found.gain,
        "near_best": found.near_best,
        "as_if_records": as_if_records(start.moments, design=found.design),
        "decided_by": found.decided_by,
        "reason": found.reason,
        "warnings": _warned(start, found.forecast),
    }
    return answer, _better(start, found.design, design.n_records)


def _linear_split(
    options: argparse.Namespace, plan: LinearPlan, worlds: Worlds
) -> tuple[Answer, LinearPlan]:
    """The clips, steps and split of a linear regression that suit its worlds best."""
    if options.locked:
        raise ValueError("Expected no --locked: a linear regression has other parts.")
    better = plan.with_best_design(worlds)
    numbers = better.numbers(worlds)
    lengths = numbers.original.ci_length.tolist()
    answer = {
        "design": plain_design(better.design),
        "n_records": better.n_records,
        "epsilon_delta": (numbers.epsilon, numbers.delta),
        "lengths": dict(zip(better.names, lengths, strict=True)),
        "reason": f"{better.design.steps} steps, clip {better.design.clip:g}, rows count less from "
        f"{better.design.row_clip:g}. {reach(numbers.promise, better.usable)} "
        f"{planned_effects(better, numbers).saying()}",
        "warnings": list(sentences(numbers.cautions(better.design))),
    }
    return answer, better


def _least(
    ask: Callable[..., NeededRecords | NeededBudget], options: argparse.Namespace, start: _Start
) -> tuple[Answer, AnyPlan | None]:
    design, target = _design(options, start), _target(options, start)
    delta = _delta(options, start)

    def named(text: str) -> str:
        """What the planner says, with the name of the coefficient in the place of its place."""
        if target.coefficient is None:
            return text
        return text.replace(
            target.what, f"the interval of {called(start.names[target.coefficient])}"
        )

    try:
        found = ask(start.worlds, design=design, target=target, delta=delta, fewest=start.fewest)
    except OutOfReachError as error:
        raise ValueError(named(str(error))) from None
    answer = _needed(found, start)
    answer |= {name: named(answer[name]) for name in ("target", "reason")}
    return answer, _better(start, found.design, found.design.n_records)


def _better(start: _Start, design: AnyDesign, n_records: int) -> AnyPlan | None:
    """The plan with the answer in it, for so many records."""
    if start.plan is None:
        return None
    return replace(start.plan, design=replace(design, n_records=n_records))


def _delta(options: argparse.Namespace, start: _Start) -> Amount:
    """The delta at which a zCDP answer is stated."""
    for given in (
        options.delta_shown,
        options.delta,
        None if start.plan is None else start.plan.delta,
    ):
        if given is not None:
            return given
    return HEADLINE_DELTA


def _needed(found: NeededRecords | NeededBudget, start: _Start) -> Answer:
    return {
        "n_records": found.design.n_records,
        "fewest": found.fewest,
        "design": _plain_design(found.design),
        "epsilon_delta": found.epsilon_delta,
        "target": found.target.sentence,
        "length": found.length,
        "decided_by": found.decided_by,
        "probability": found.probability,
        "chance_to_report": found.chance_to_report,
        "around": [
            {
                "factor": a.factor,
                "amount": str(a.amount),
                "length": _finite(a.length),
                "probability": a.probability,
            }
            for a in found.around
        ],
        "as_if_records": as_if_records(start.moments, design=found.at_fewest),
        "reason": found.reason,
        "warnings": _warned(start, found.forecast),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _rank(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    plan, moments = start.penalised, start.moments
    epsilon, delta = options.epsilon, options.delta
    if plan is not None:
        epsilon = guarantee_at(plan.design, plan.delta)[0] if epsilon is None else epsilon
        delta = plan.delta if delta is None else delta
    rows = rank_mechanisms(
        start.worlds,
        epsilon=epsilon,
        delta=delta,
        regularization=moments.regularization,
        n_records=options.n_records if plan is None else plan.fewest,
        confidence_level=options.confidence_level if plan is None else plan.design.confidence_level,
        target=options.target if plan is None else plan.design.target,
        calibrations=options.calibrations,
        rows_per_person=1 if plan is None else plan.design.rows_per_person,
    )
    designs = [
        {
            "calibration": row.calibration,
            "definition": row.definition,
            "mechanism": row.mechanism,
            "length": _finite(row.length),
            "epsilon_delta": (row.epsilon, row.delta),
            "as_if_records": row.as_if_records,
            "decided_by": row.decided_by,
            "design": None if row.design is None else _plain_design(row.design),
            "reason": row.reason,
        }
        for row in rows
    ]
    return {"loss": moments.loss.name, "designs": designs}, None


def _c(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    planned = _design(options, start)
    design, tables = start.counted(planned), {ONLY_WORLD: start.records}
    if start.plan is not None:
        tables = dict(start.plan.source.worlds(start.plan.features))
    found = best_regularization(
        {said: moments_source(of.X, of.y, design, of.meaning) for said, of in tables.items()},
        design=design,
        share=options.share,
        split_each=options.split_each,
    )
    choices = {
        "shortest": found.shortest,
        "low_bias": found.low_bias,
        "unpenalised": found.unpenalised,
    }
    delta = delta_in_range(_delta(options, start))
    curve = found.curve
    best = found.low_bias or found.shortest
    answer = {
        **{name: None if at is None else _plain_choice(at, delta) for name, at in choices.items()},
        "is_at_end": found.is_at_end,
        "decided_by": found.decided_by,
        "share": found.share,
        "curve": [
            {
                "regularization": c,
                "length": _finite(length),
                "largest_shift": _finite(mean),
                "shift_norm": norm,
                "shift": dict(zip(start.names, shift, strict=True)),
                "grade": grade,
            }
            for c, length, mean, norm, shift, grade in zip(
                curve.regularization.tolist(),
                curve.length.tolist(),
                curve.largest_shift.tolist(),
                curve.shift_norm.tolist(),
                curve.shift.tolist(),
                curve.grade,
                strict=True,
            )
        ],
        "reason": found.reason,
        "warnings": _warned(start, best.forecast),
    }
    return answer, _better(start, best.design, planned.n_records)


def _standard(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    assert start.penalised is not None
    plan, found = start.penalised.in_standard()
    numbers = plan.numbers()
    answer = {
        "shape": found.encoding.shape,
        "limit": found.encoding.limit,
        "regularization": plan.design.regularization,
        "design": _plain_design(plan.design),
        "n_records": plan.n_records,
        "epsilon_delta": (numbers.epsilon, numbers.delta),
        "length": numbers.ci_length_mean,
        "not_reportable": list(numbers.not_reportable),
        "lengths": dict(zip(plan.names, numbers.original.ci_length.tolist(), strict=True)),
        "reason": standard_encoding(
            found.encoding.limit,
            plan.design.regularization,
            shares_of(plan.design.budget),
        ),
        "warnings": list(sentences(numbers.cautions(plan.design))),
    }
    return answer, plan


def _geometry(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    found = best_geometry(
        start.records.X,
        start.records.y,
        design=_design(options, start),
        meaning=start.records.meaning,
    )
    geometry = found.design.geometry
    answer = {
        "ridge": None if geometry is None else geometry.ridge,
        "leverage": None if geometry is None else geometry.leverage,
        "design": _plain_design(found.design),
        "n_records": found.forecast.n_records,
        "length": found.forecast.ci_length_mean,
        "clip": found.design.clip,
        "plain_length": None
        if found.plain_forecast is None
        else found.plain_forecast.ci_length_mean,
        "gain": found.gain,
        "largest_bias": float(found.bias.max()),
        "weighted_planning_rows": [found.n_weighted, found.n_rows],
        "covers": covered(found.design),
        "reason": geometry_words(found.gain, is_shorter=geometry is not None),
        "warnings": list(
            sentences(cautions(found.forecast, design=found.design, names=start.names))
        ),
    }
    return answer, _better(start, found.design, found.design.n_records)


def _persons(options: argparse.Namespace, start: _Start) -> tuple[Answer, AnyPlan | None]:
    plan = start.plan
    if plan is None or not isinstance(plan.source, DeclaredTable):
        raise ValueError("Expected a plan of a declared table: a public set has no persons.")
    persons = Persons(options.column, options.most)
    schema = replace(plan.source.schema, persons=persons)
    asked = replace(
        plan,
        source=replace(plan.source, schema=schema),
        design=replace(plan.design, rows_per_person=persons.rows),
    )
    numbers = asked.numbers()
    one = protected(asked.unit, persons.rows)
    if isinstance(numbers, PlanNumbers):
        lengths: Answer = {"length": numbers.ci_length_mean}
        said = f"the mean length is {number(numbers.ci_length_mean)}."
    else:
        found = numbers.original.ci_length.tolist()
        lengths = {"lengths": dict(zip(asked.names, found, strict=True))}
        reached = reach(numbers.promise, asked.usable)
        said = f"{reached} {planned_effects(asked, numbers).saying()}"
    answer = {
        "protected": one,
        "n_persons": asked.n_records,
        "design": _plain_design(asked.design),
        **lengths,
        "reason": f"{one[0].upper()}{one[1:]} is protected: with {asked.n_records:,} persons "
        f"{said} {person_rules(repr(persons.column), persons.rows)} {PERSONS_PLANNED}",
        "warnings": list(sentences(numbers.cautions(asked.design))),
    }
    return answer, asked


def _plain_choice(choice: RegularizationChoice, delta: float) -> Answer:
    return {
        "regularization": choice.regularization,
        "length": choice.forecast.ci_length_mean,
        "largest_shift": choice.largest_shift,
        "near_best": choice.near_best,
        "epsilon_delta": guarantee_at(choice.design, delta),
        "design": _plain_design(choice.design),
    }


_TABLE = (
    flag("--plan", type=Path, metavar="FILE", help="start from this plan, in the place of flags"),
    flag("--data", choices=[info.key for info in list_datasets()]),
    flag("--features", type=int, help="how many (default: all)"),
    flag("--rows", type=int, help="of the set (default: all; the census: its usual size)"),
    flag(
        "--encoding",
        choices=("schema", "standard", "paper"),
        help="(default: schema; standard is by typical values and spreads)",
    ),
    flag(
        "--shape",
        type=float,
        metavar="R",
        help="of rows in the standard encoding: longer than R spreads, they count less",
    ),
    flag("--limit", type=float, help="of values in the standard encoding, in spreads (default: 4)"),
    flag("--loss", choices=tuple(LOSSES)),
    flag("--h", type=float, help="smoothing of an SVM"),
    flag(
        "--regularization",
        type=float,
        help="c; in the standard encoding the planner chooses it with their shape where neither is "
        "given",
    ),
    flag("--n-records", type=int, help="n to plan for (default: the rows, or the plan's n)"),
    flag(
        "--complete",
        type=float,
        metavar="SHARE",
        help="expected share of records without a missing cell, in the place of the plan's",
    ),
    flag("--confidence-level", type=float, help="(default: 0.95)"),
    flag(
        "--target",
        choices=tuple(ESTIMANDS),
        help="(default: penalised; in the standard encoding unpenalised)",
    ),
    JSON,
)
"""What every action takes; records are read from sets that are public or simulated, never from a
file."""
_DESIGN = (
    flag("--mechanism", choices=tuple(MECHANISMS)),
    flag(
        "--epsilon",
        help="total; with --delta it is spent as zCDP, by output perturbation and clipped steps as "
        "mu^2, which is more",
    ),
    flag("--delta"),
    flag("--rho", help="total, in the place of --epsilon"),
    flag("--mu", help="total of Gaussian differential privacy, for noise added to the minimiser"),
    flag(
        "--shares",
        nargs=3,
        metavar=("MODEL", "HESSIAN", "COVARIANCE"),
        help="of the total, 1 together (default: 0.5 0.25 0.25)",
    ),
    flag("--calibration", choices=("sharp", "published")),
    flag(
        "--delta-shown",
        help="at which an answer in rho or mu^2 is stated as (epsilon, delta) (default: --delta, "
        "the plan's, or 1e-6)",
    ),
)
_TARGET = (
    flag("--length", type=float, help="of the mean interval, or of that of --coefficient"),
    flag("--coefficient", help="its place, from 0, or its name"),
    flag(
        "--excludes-zero-at",
        type=float,
        metavar="VALUE",
        help="true value to be told from zero",
    ),
    flag("--probability", type=float, help="(default: 0.5)"),
)
_WRITE = flag("--write", type=Path, metavar="FILE", help="save the answer as a plan; needs --plan")
Reply = Callable[[argparse.Namespace, _Start], tuple[Answer, AnyPlan | None]]


def _action(name: str, help: str, answer: Reply, *flags: Flag) -> Command:
    return Command(
        name=name,
        help=help,
        flags=(*_TABLE, *flags),
        run=run,
        defaults={"answer": answer, "action": name},
    )


PLAN = Command(
    name="plan",
    help="the best split, the records or budget a target needs, mechanisms ranked",
    actions=(
        SHOW,
        EXPORT,
        REHEARSE,
        _action(
            "split",
            "the best split of a total",
            _split,
            *_DESIGN,
            flag("--locked", nargs="*", default=[], metavar="PART=AMOUNT", help="parts that stay"),
            _WRITE,
        ),
        _action(
            "records",
            "the smallest number of records for a target",
            partial(_least, needed_records),
            *_DESIGN,
            *_TARGET,
            _WRITE,
        ),
        _action(
            "budget",
            "the smallest total for a target",
            partial(_least, needed_budget),
            *_DESIGN,
            *_TARGET,
            _WRITE,
        ),
        _action(
            "rank",
            "every mechanism and definition at the same (epsilon, delta)",
            _rank,
            flag("--epsilon", help="(default: the plan's)"),
            flag("--delta", help="0 leaves the pure designs (default: the plan's)"),
            flag("--calibrations", nargs="+", default=["sharp", "published"]),
        ),
        _action(
            "standard",
            "a plan for the coefficients without penalty: shape of the rows, c and split together",
            _standard,
            *_DESIGN,
            _WRITE,
        ),
        _action(
            "geometry",
            "noise shaped like the planning rows, with the split for it",
            _geometry,
            *_DESIGN,
            _WRITE,
        ),
        _action(
            "persons",
            "the plan where one person may have several rows",
            _persons,
            *_DESIGN,
            flag(
                "--column", required=True, help="that says whose row it is; its cells are not kept"
            ),
            flag("--most", type=int, required=True, help="rows of one person that count"),
            _WRITE,
        ),
        _action(
            "c",
            "the best regularization, and what it does to the target",
            _c,
            *_DESIGN,
            flag(
                "--share",
                type=float,
                default=0.25,
                help="largest shift of the target, in half-widths",
            ),
            flag("--split-each", action="store_true", help="give every c its own best split"),
            _WRITE,
        ),
    ),
)
