"""The commands `python -m dpci_core plan show|export|rehearse`: the numbers of a plan file, the
plan in other forms, and its release on made-up rows.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from dpci_core.cli.command import JSON, Command, check_new, flag, put
from dpci_core.plan import (
    AnyPlan,
    LinearNumbers,
    Plan,
    PlanNumbers,
    as_json,
    as_yaml,
    notebook_text,
    read_plan,
    to_html,
    to_script,
)
from dpci_core.plan.base import Planned
from dpci_core.plan.csvw import csvw_of
from dpci_core.plan.effects import planned_effects
from dpci_core.plan.goals import goals
from dpci_core.plan.moments_file import read_moments
from dpci_core.release.rehearsal import FREE, rehearse
from dpci_core.report.cautions import reach, sentences
from dpci_core.report.words import (
    neighbours,
    number,
    number_at_most,
    percent,
    person_rules,
    risk,
)
from dpci_core.solvers.moments import Moments

FORMS: dict[str, Callable[[AnyPlan], str]] = {
    "script": to_script,
    "notebook": notebook_text,
    "html": lambda plan: to_html(plan, plan.numbers()),
    "json": as_json,
    "yaml": as_yaml,
    "csvw": lambda plan: csvw_of(plan.schema),
    "link": lambda plan: f"?{urlencode(plan.to_query())}\n",
}
"""What a plan can become."""


def _show(options: argparse.Namespace) -> int:
    plan = read_plan(options.file)
    if options.moments is None:
        found = plan.numbers()
    else:
        with_moments = plan.expected(Plan)
        found = with_moments.numbers(_read(options.moments, with_moments))
    record = {"title": plan.title, "digest": plan.digest, **found.to_record()}
    print(json.dumps(record, indent=1) if options.json else _in_words(plan, found))
    return 0


def _read(path: Path, plan: Plan) -> Moments:
    """Moments for a plan; ValueError for others."""
    found = read_moments(path)
    plan.check_moments(found.moments, found.names)
    return found.moments


def _export(options: argparse.Namespace) -> int:
    check_new(options.output)
    return put(FORMS[options.to](read_plan(options.file)), options.output)


def _rehearse(options: argparse.Namespace) -> int:
    check_new(options.output)
    found = rehearse(read_plan(options.file))
    if options.output is not None:
        put(found.html(), options.output)
    first = found.tables[0]
    print(FREE, *found.findings(), sep="\n", end="\n\n")
    for row in (first.heads, *first.cells):
        print(f"{row[0]:<44}{'  '.join(row[1:])}")
    return 0


def _in_words(plan: AnyPlan, found: Planned) -> str:
    """A plan's numbers for people."""
    epsilon, delta = plan.design.budget.guarantee(plan.delta)
    whose = plan.persons
    about = []
    if whose is not None:
        about = [neighbours(whose.rows), person_rules(f"“{whose.column}”", whose.rows)]
    facts, rows = _LENGTHS[type(found)](plan, found)
    return "\n".join(
        [
            plan.title,
            f"epsilon = {number_at_most(epsilon)} at delta = {delta:g}. {risk(epsilon, delta)}",
            *about,
            *facts,
            f"{reach(found.promise, plan.usable)} {planned_effects(plan, found).saying()}",
            *goals(plan, found),
            f"For the {found.covers(plan.design)}.",
            *sentences(found.cautions(plan.design)),
            *([plan.design.status] if plan.design.status else []),
            "",
            *rows,
            "",
            f"Plan {plan.digest}",
        ]
    )


def _effects(plan: AnyPlan, found: LinearNumbers) -> tuple[list[str], list[str]]:
    """Lengths of a linear regression, in units of the outcome."""
    shown = planned_effects(plan, found)
    share = f"The influence of about {percent(max(found.share_clipped, 0.0))} of them is cut."
    facts = [f"n = {found.n_records:,} {plan.counted}. {share}"]
    return facts, [f"{row[0]:<44}{'  '.join(row[1:])}" for row in (shown.heads, *shown.cells)]


def _coefficients(plan: AnyPlan, found: PlanNumbers) -> tuple[list[str], list[str]]:
    """Lengths of a penalised model, in encoded units."""
    facts = [
        f"n = {found.n_records:,} {plan.counted}; mean length {number(found.ci_length_mean)}, "
        f"variability {number(found.vi_length_mean)}, without privacy "
        f"{number(found.nonprivate_length_mean)}; as if only "
        f"{found.as_if_records:,} records, without privacy. Forecast coverage "
        f"{100 * found.coverage_mean:.1f} %.",
    ]
    headers = (
        f"{'coefficient':<32}{'length':>10}{'variability':>13}{'no privacy':>12}{'per unit':>12}"
    )
    rows = [
        f"{name[:31]:<32}{number(float(ci)):>10}{number(float(vi)):>13}{number(float(plain)):>12}{number(float(unit)):>12}"
        for name, ci, vi, plain, unit in zip(
            found.names,
            found.scaled.ci_length,
            found.scaled.vi_length,
            found.scaled.nonprivate_length,
            found.original.ci_length,
            strict=True,
        )
    ]
    return facts, [headers, *rows]


_LENGTHS: dict[type, Callable[[AnyPlan, Any], tuple[list[str], list[str]]]] = {
    PlanNumbers: _coefficients,
    LinearNumbers: _effects,
}

_FILE = flag("file", type=Path)
SHOW = Command(
    name="show",
    help="the numbers of a plan file",
    flags=(
        _FILE,
        flag(
            "--moments",
            type=Path,
            metavar="FILE",
            help="of `moments`, in the place of a fit of the plan's own rows",
        ),
        JSON,
    ),
    run=_show,
)
EXPORT = Command(
    name="export",
    help="a plan file as code, a page, another file or a link",
    flags=(
        _FILE,
        flag("--to", choices=tuple(FORMS), required=True),
        flag("-o", "--output", type=Path, help="write here instead of printing"),
    ),
    run=_export,
)
REHEARSE = Command(
    name="rehearse",
    help="its release on made-up rows, ten times, free",
    flags=(_FILE, flag("-o", "--output", type=Path, help="write a page here as well")),
    run=_rehearse,
)
