"""The command `python -m dpci_core plan split|records|budget|rank`: the planner, on public or simulated sets only."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dpci_core.datasets import list_datasets, load
from dpci_core.design import Design
from dpci_core.erm import Moments, fit_moments
from dpci_core.losses import LOSS_NAMES, Loss, make_loss
from dpci_core.planner import (
    PARTS,
    NeededBudget,
    NeededRecords,
    Target,
    as_if_records,
    best_split,
    meeting_probability,
    needed_budget,
    needed_records,
    rank_mechanisms,
    shares_of,
)
from dpci_core.privacy import ZCDP, ApproxDP, Budget, PureDP, to_decimal

Answer = dict[str, Any]


def add_plan(rooms: Any) -> None:
    """Add the command and its four actions to the parsers of the command line."""
    actions = rooms.add_parser("plan", help="the best split, the records or budget a target needs, mechanisms ranked")
    actions = actions.add_subparsers(required=True, metavar="ACTION")
    for name, (answer, words) in _ACTIONS.items():
        parser = actions.add_parser(name, help=words)
        _add_table(parser)
        if name == "rank":
            parser.add_argument("--epsilon", required=True)
            parser.add_argument("--delta", required=True, help="0 leaves the pure designs")
            parser.add_argument("--calibrations", nargs="+", default=["sharp", "published"])
        else:
            _add_design(parser)
        if name == "split":
            parser.add_argument("--locked", nargs="*", default=[], metavar="PART=AMOUNT", help="parts that stay")
        if name in ("records", "budget"):
            _add_target(parser)
        parser.set_defaults(run=run, answer=answer)


def _add_table(parser: argparse.ArgumentParser) -> None:
    """What every action takes; records are read from sets that are public or simulated, never from a file."""
    parser.add_argument("--data", required=True, choices=[info.key for info in list_datasets()])
    parser.add_argument("--features", type=int, help="how many (default: all)")
    parser.add_argument("--rows", type=int, help="of the set (default: all; the census: its usual size)")
    parser.add_argument("--encoding", choices=("schema", "paper"), default="schema")
    parser.add_argument("--loss", choices=LOSS_NAMES, required=True)
    parser.add_argument("--h", type=float, help="corner of an SVM")
    parser.add_argument("--regularization", type=float, required=True, help="c")
    parser.add_argument("--n-records", type=int, help="n to plan for (default: the rows)")
    parser.add_argument("--confidence-level", type=float, default=0.95)
    parser.add_argument("--target", choices=("penalised", "unpenalised"), default="penalised")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")


def _add_design(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mechanism", choices=("objective", "output"), required=True)
    parser.add_argument("--epsilon", help="total; with --delta it is spent as zCDP")
    parser.add_argument("--delta")
    parser.add_argument("--rho", help="total, in the place of --epsilon")
    parser.add_argument(
        "--shares",
        nargs=3,
        metavar=("MODEL", "HESSIAN", "COVARIANCE"),
        default=["0.5", "0.25", "0.25"],
        help="of the total, 1 together",
    )
    parser.add_argument("--calibration", choices=("sharp", "published"), required=True)


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--length", type=float, help="of the mean interval, or of that of --coefficient")
    parser.add_argument("--coefficient", help="its place, from 0, or its name")
    parser.add_argument("--excludes-zero-at", type=float, metavar="VALUE", help="true value to be told from zero")
    parser.add_argument("--probability", type=float, default=0.5)


def run(options: argparse.Namespace) -> int:
    """Answer one question; exit code 1 after a sentence on the error output."""
    try:
        records = load(options.data, encoding=options.encoding, features=options.features, n_rows=options.rows)
        loss = _loss(options)
        moments = fit_moments(records.X, records.y, loss=loss, regularization=options.regularization)
        answer = options.answer(options, moments, (*records.feature_names, "constant"))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(answer, indent=1) if options.json else _in_words(answer))
    return 0


def _in_words(answer: Answer) -> str:
    if "designs" not in answer:
        return str(answer["reason"])
    rows = answer["designs"]
    return "\n".join(f"{r['calibration']:<11}{r['definition']:<6}{r['mechanism']:<11}{r['reason']}" for r in rows)


def _loss(options: argparse.Namespace) -> Loss:
    if options.loss == "logistic":
        if options.h is not None:
            raise ValueError(f"Expected no h={options.h} with the logistic loss.")
    elif options.h is None:
        raise ValueError("Expected --h, the corner of the SVM.")
    return make_loss(options.loss, options.h)


def _design(options: argparse.Namespace, loss: Loss) -> Design:
    return Design(
        loss=loss,
        mechanism=options.mechanism,
        budget=_budget(options),
        regularization=options.regularization,
        confidence_level=options.confidence_level,
        calibration=options.calibration,
        target=options.target,
    )


def _budget(options: argparse.Namespace) -> Budget:
    if (options.epsilon is None) == (options.rho is None):
        raise ValueError("Expected exactly one of --epsilon and --rho.")
    if options.rho is not None and options.delta is not None:
        raise ValueError("Expected no --delta with --rho.")
    if options.delta is not None:
        return ApproxDP(options.epsilon, options.delta, tuple(options.shares)).to_zcdp()
    # Any (epsilon, delta) budget checks the shares.
    shares = ApproxDP("1", "0.5", tuple(options.shares)).shares
    kind, name = (PureDP, "epsilon") if options.rho is None else (ZCDP, "rho")
    total = to_decimal(options.epsilon or options.rho, name=name)
    return kind(**{part: total * share for part, share in zip(PARTS, shares, strict=True)})


def _target(options: argparse.Namespace, names: tuple[str, ...]) -> Target:
    place = options.coefficient
    if place is not None and place in names:
        place = names.index(place)
    elif place is not None:
        if not place.isdecimal():
            raise ValueError(f"Expected coefficient={place!r} to be a place from 0 or one of {', '.join(names)}.")
        place = int(place)
    return Target(options.length, place, options.excludes_zero_at, options.probability)


def _plain_design(design: Design) -> Answer:
    budget = design.budget
    return {
        "mechanism": design.mechanism,
        "definition": design.definition,
        "total": _text(budget.total),
        "parts": {name: str(getattr(budget, name)) for name in PARTS},
        "shares": dict(zip(PARTS, shares_of(budget), strict=True)),
        "status": design.status,
    }


def _text(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _split(options: argparse.Namespace, moments: Moments, names: tuple[str, ...]) -> Answer:
    locked = dict(item.partition("=")[::2] for item in options.locked)
    design = _design(options, moments.loss)
    found = best_split(moments, design=design, n_records=options.n_records, locked=locked)
    return {
        "design": _plain_design(found.design),
        "n_records": found.forecast.n_records,
        "epsilon_delta": found.forecast.epsilon_delta,
        "length": found.forecast.ci_length_mean,
        "asked_length": found.asked.ci_length_mean,
        "gain": found.gain,
        "flat": found.flat,
        "as_if_records": as_if_records(moments, design=found.design, n_records=options.n_records),
        "reason": found.reason,
    }


def _records(options: argparse.Namespace, moments: Moments, names: tuple[str, ...]) -> Answer:
    design = _design(options, moments.loss)
    found = needed_records(moments, design=design, target=_target(options, names))
    return _needed(found, moments)


def _needed_budget(options: argparse.Namespace, moments: Moments, names: tuple[str, ...]) -> Answer:
    design, target = _design(options, moments.loss), _target(options, names)
    found = needed_budget(moments, design=design, target=target, n_records=options.n_records)
    return _needed(found, moments)


def _needed(found: NeededRecords | NeededBudget, moments: Moments) -> Answer:
    n = found.forecast.n_records
    return {
        "n_records": n,
        "design": _plain_design(found.design),
        "epsilon_delta": found.forecast.epsilon_delta,
        "target": found.target.sentence,
        "length": found.length,
        "probability": meeting_probability(moments, design=found.design, target=found.target, n_records=n),
        "around": [
            {"factor": a.factor, "amount": str(a.amount), "length": _finite(a.length), "probability": a.probability}
            for a in found.around
        ],
        "as_if_records": as_if_records(moments, design=found.design, n_records=n),
        "reason": found.reason,
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def _rank(options: argparse.Namespace, moments: Moments, names: tuple[str, ...]) -> Answer:
    rows = rank_mechanisms(
        moments,
        epsilon=options.epsilon,
        delta=options.delta,
        regularization=options.regularization,
        n_records=options.n_records,
        confidence_level=options.confidence_level,
        target=options.target,
        calibrations=options.calibrations,
    )
    designs = [
        {
            "calibration": row.calibration,
            "definition": row.definition,
            "mechanism": row.mechanism,
            "length": _finite(row.length),
            "epsilon_delta": (row.epsilon, row.delta),
            "as_if_records": row.as_if_records,
            "design": None if row.design is None else _plain_design(row.design),
            "reason": row.reason,
        }
        for row in rows
    ]
    return {"loss": moments.loss.name, "designs": designs}


_ACTIONS: dict[str, tuple[Callable[[argparse.Namespace, Moments, tuple[str, ...]], Answer], str]] = {
    "split": (_split, "the best split of a total"),
    "records": (_records, "the smallest number of records for a target"),
    "budget": (_needed_budget, "the smallest total for a target"),
    "rank": (_rank, "every mechanism and definition at the same (epsilon, delta)"),
}
