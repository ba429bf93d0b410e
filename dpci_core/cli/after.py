"""The command `python -m dpci_core after`: what a release answers from its record alone."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dpci_core.cli.command import JSON, RELEASE, Command, check_new, flag, put
from dpci_core.release import (
    Answer,
    Interval,
    Prediction,
    ReleaseInference,
    Together,
    WaldTest,
    notebook,
)
from dpci_core.report import afterwards
from dpci_core.report.cautions import not_reportable
from dpci_core.report.words import called, number


def run_after(options: argparse.Namespace) -> int:
    """Print what is asked for, all intervals at once by default."""
    check_new(options.notebook)
    after = ReleaseInference.read(options.release)
    found = _answers(after, options)
    if options.notebook is not None:
        put(notebook(after.made), options.notebook)
    if options.json:
        print(json.dumps([{"asked": asked} | asdict(one) for asked, one in found], indent=1))
        return 0
    if not after.is_exact:
        print(afterwards.NOT_EXACT)
    for asked, one in found:
        print("\n".join(_lines(asked, one, "mean" if after.made.schema.outcome else "score")))
    return 0


Found = Answer | Prediction | Together | WaldTest


def _answers(after: ReleaseInference, options: argparse.Namespace) -> list[tuple[str, Found]]:
    """What was asked for, and what was found."""
    found: list[tuple[str, Found]] = []
    for terms in options.contrast or ():
        weights = {name: _weight(name, text) for name, text in _named(terms).items()}
        one = after.contrast(
            weights, unit=options.unit, level=options.level, after_looking=options.after_looking
        )
        found.append((" ".join(terms), one))
    if options.test:
        tests = after.test([{name: 1.0} for name in options.test])
        every = "all " if len(options.test) > 1 else ""
        found.append((f"{', '.join(options.test)} {every}0", tests))
    for cells in options.predict or ():
        found.append((" ".join(cells), after.predict(_named(cells), level=options.level)[0]))
    if options.simultaneous or not (found or options.notebook):
        found.append(("all at once", after.together(level=options.level, unit=options.unit)))
    return found


def _named(terms: Sequence[str]) -> dict[str, str]:
    """The value of each name, which is given once."""
    found: dict[str, str] = {}
    for name, value in map(_parted, terms):
        if name in found:
            raise ValueError(f"Expected {name!r} once, got it twice.")
        found[name] = value
    return found


def _parted(text: str) -> tuple[str, str]:
    """Name and value; a name may hold "=" itself, as of a level."""
    name, sign, value = text.rpartition("=")
    if not sign or not name:
        raise ValueError(f"Expected NAME=VALUE, got {text!r}.")
    return name, value


def _weight(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"Expected a number as the weight of {name!r}, got {text!r}.") from None


def _lines(asked: str, one: Found, predicted: str) -> Sequence[str]:
    if isinstance(one, Together):
        heading = afterwards.hold_together(one)
        rows = (f"  {called(name):<32}{_ends(found)}" for name, found in one.intervals.items())
        if heading:
            heading += f"\nAll at once, {number(one.multiplier)} times as long as released:"
        return [*filter(None, [heading]), *rows]
    if one.is_not_estimable:
        return [f"{asked}: {not_reportable([asked])}"]
    if isinstance(one, WaldTest):
        return [f"{asked}: {afterwards.p_value(one.p_value, one.privacy_share)}"]
    if isinstance(one, Answer):
        said = afterwards.p_value(one.p_value, one.privacy_share, one.level)
        return [f"{asked}: {_ends(one.interval)}, level {one.level:.10g}; {said}"]
    lines = [f"{asked}: {predicted} {_ends(one.score)}, level {one.level:.10g}"]
    if one.probability is not None:
        lines.append(f"  probability {_ends(one.probability)}. {afterwards.POINTWISE}")
    return lines


def _ends(found: Interval) -> str:
    return f"{found.estimate:.4g} ({found.low:.4g} to {found.high:.4g})"


AFTER = Command(
    name="after",
    help="combinations, tests, predictions and joint intervals of a release, at no charge",
    flags=(
        RELEASE,
        flag(
            "--contrast",
            nargs="+",
            action="append",
            metavar="NAME=WEIGHT",
            help="a combination of coefficients, like age=1 income=-2, with interval and p-value",
        ),
        flag(
            "--unit",
            choices=("unit", "step", "encoded"),
            default="unit",
            help="what a weight of 1 is per",
        ),
        flag(
            "--after-looking",
            action="store_true",
            help="the combinations were chosen after looking at the release (Scheffe)",
        ),
        flag("--test", nargs="+", metavar="NAME", help="whether these coefficients are all 0"),
        flag("--simultaneous", action="store_true", help="intervals that hold all at once"),
        flag(
            "--predict",
            nargs="+",
            action="append",
            metavar="COLUMN=VALUE",
            help="score and probability of a row, with intervals",
        ),
        flag("--level", type=float, help="of the intervals (default: the release's)"),
        flag("--notebook", type=Path, help="write a new Jupyter notebook of all this"),
        JSON,
    ),
    run=run_after,
)
