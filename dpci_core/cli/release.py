"""The commands `python -m dpci_core release` and `python -m dpci_core predict`."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from dpci_core.base.engine_names import HERE, engine_named
from dpci_core.cli.command import (
    ENCODING,
    JSON,
    OF_A_LEDGER,
    OUTPUT,
    RELEASE,
    Command,
    check_new,
    flag,
    person,
    person_of,
    put,
)
from dpci_core.cli.engines import Watched, engine_flag, progress_line
from dpci_core.cli.refuse import refuse
from dpci_core.cli.tables import check_folder
from dpci_core.ledger import Ledger, NotApprovedError, as_text
from dpci_core.plan import AnyPlan, read_plan
from dpci_core.plan.acceptance import STAYS_SPENT
from dpci_core.release import (
    AnyRelease,
    Header,
    ModelTask,
    NotAcceptedError,
    Price,
    check_account,
    check_header,
    check_is_left,
    check_number,
    effect_lines,
    is_drawing,
    load_release,
    propose,
    read_cells,
    read_header,
    release_once,
    task_of,
    warnings_of,
)
from dpci_core.release.effects import acceptance, against_goal
from dpci_core.release.look import ACCEPTABLE, CODES_ONLY
from dpci_core.report.cautions import Caution, not_reportable, sentences, stopping
from dpci_core.report.refusals import said
from dpci_core.report.words import PERSONS_PLANNED, person_rules, protected
from dpci_core.schema import Persons

NOT_APPROVED = 3
"""Exit code of a release that waits for the approval of another person."""
_COUNTED_FIRST = (
    "The file decides how many records there are. They are counted before anything is booked: too "
    "few for this plan, or a number too far from the planned one, cost nothing."
)


def run_release(options: argparse.Namespace) -> int:
    """Check, ask, release; exit code 3 where another person has to approve first."""
    try:
        plan, ledger = read_plan(options.plan), Ledger(options.ledger, key_path=options.key)
        asked = task_of(plan, allow_unreviewed=options.allow_unreviewed)
        if options.check:
            return _check(options, asked, ledger)
        missing = [
            f"--{name}" for name in ("file", "dataset", "folder") if getattr(options, name) is None
        ]
        if missing:
            raise ValueError(f"Expected {', '.join(missing)}; only --check does without.")
        if options.engine != HERE:
            check_folder(options.file)  # other files are read here, whatever --engine says
        request = options.request or str(uuid.uuid4())
        _say(
            f"Request {request}: give it again with --request if anything goes wrong; it is never "
            "drawn twice."
        )
        known = ledger.find(request)
        who = person_of(options)
        if known is None and not os.path.lexists(options.folder):  # else it is refused below
            _check_approved(options, asked, ledger, who, request)
        if known is None and not _is_confirmed(options, asked, ledger):
            raise ValueError(
                f"Not confirmed with the name of the data set, {options.dataset!r}. Nothing was "
                "spent."
            )
        options.folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with (
            _ending_in_order(),
            engine_named(options.engine, elsewhere=False) as engine,
            progress_line("release", in_logs=False) as told,
        ):
            watched = Watched(engine, told)
            made = release_once(
                replace(asked, engine=watched),
                options.file,
                ledger=ledger,
                dataset=options.dataset,
                person=who,
                request_id=request,
                folder=options.folder,
                encoding=options.encoding,
                accept=options.accept,
            )
    except NotApprovedError as error:
        refuse(error)
        return NOT_APPROVED
    except NotAcceptedError as error:
        named = " ".join(f"--accept {found.code}" for found in error.findings)
        return refuse(error, f" If that is as it should be: {named}.")
    _print_result(made, options)
    return 0


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """A process that is told to end does so at once while nothing is drawn, and else after the
    result is written.
    """

    def end(*_: object) -> None:
        if not is_drawing():
            raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say(text: str) -> None:
    if text:
        print(text, file=sys.stderr, flush=True)


def _check(options: argparse.Namespace, asked: ModelTask[Any], ledger: Ledger) -> int:
    """What would be spent for what; with --file the header is held against the schema, and the
    number of records, which is public, against the plan.
    """
    price = asked.priced
    if options.file is not None:
        header = check_header(asked, options.file, encoding=options.encoding)
        _look(asked, check_number(asked, header))
    if options.dataset is not None:
        check_account(ledger, options.dataset, asked.plan)
        check_is_left(ledger, options.dataset, asked)
    if options.json:
        print(json.dumps(_price_record(asked.plan, price), indent=1))
        return 0
    print("\n".join(_price_lines(asked)))
    if options.dataset is not None:
        print(_remaining(ledger, options.dataset))
        if ledger.account(options.dataset).needs_approval:
            print("Another person has to approve it before it is booked.")
    return 0


def _look(asked: ModelTask[Any], header: Header) -> None:
    """How many cells fit the plan, for the steward at a terminal alone."""
    if not sys.stderr.isatty():
        return
    found = asked.look(header)
    if found is not None:
        _say("For you alone, not for publication: how many cells fit the plan.")
        _say("\n".join(f"  {name:<32}{word}" for name, word in found.columns))
        _say("\n".join(map(said, (*found.hints, *found.asks))))
        _say(CODES_ONLY)


def _price_record(plan: AnyPlan, price: Price[Any]) -> dict[str, object]:
    cost = price.cost
    return {
        "title": plan.title,
        "definition": cost.definition,
        "amount": as_text(cost.amount),
        "lines": {name: as_text(amount) for name, amount in cost.lines},
        "unit": _protects(plan),
        "schema_hash": price.schema_hash,
        "plan_hash": plan.digest,
        "covers": price.numbers.covers(plan.design),
        "warnings": list(sentences(warnings_of(plan, price))),
        "planned": price.numbers.to_record(),
    }


def _price_lines(asked: ModelTask[Any]) -> list[str]:
    plan, price = asked.plan, asked.priced
    cost, numbers = price.cost, price.numbers
    lengths = zip(plan.names, numbers.original.ci_length, numbers.scaled.ci_length, strict=True)
    return [
        f"{plan.title}: costs {cost.symbol} {as_text(cost.amount)}, {_protects(plan)}.",
        f"  of it {', '.join(f'{name} {as_text(amount)}' for name, amount in cost.lines)}",
        f"  schema {price.schema_hash}",
        f"Intervals for the {numbers.covers(plan.design)}.",
        f"Planned lengths for {plan.n_records:,} {plan.counted} (original units, encoded units):",
        *(f"  {name:<32}{original:>12.4g}{scaled:>12.4g}" for name, original, scaled in lengths),
        *([] if plan.persons is None else [_rules(plan.persons), PERSONS_PLANNED]),
        *_said_of(asked),
        _COUNTED_FIRST,
    ]


def _most(plan: AnyPlan) -> int | None:
    return None if plan.persons is None else plan.persons.rows


def _protects(plan: AnyPlan) -> str:
    return protected(plan.unit, _most(plan))


def _rules(persons: Persons) -> str:
    return person_rules(repr(persons.column), persons.rows)


def _warnings(asked: ModelTask[Any]) -> tuple[Caution, ...]:
    return warnings_of(asked.plan, asked.priced)


def _said_of(asked: ModelTask[Any]) -> list[str]:
    """A line each; what has to be accepted is called a warning."""
    called = {"stops": "Warning", "weigh": "To weigh", "know": "Note"}
    return [f"{called[one.gravity]}: {one.sentence}" for one in _warnings(asked)]


def _remaining(ledger: Ledger, dataset: str) -> str:
    account = ledger.account(dataset)
    return (
        f"{dataset!r} has {account.cap.symbol} {as_text(account.remaining)} left of "
        f"{account.cap.sentence}."
    )


def _check_approved(
    options: argparse.Namespace, asked: ModelTask[Any], ledger: Ledger, person: str, request: str
) -> None:
    """Propose what another person has to approve, and raise NotApprovedError until one did."""
    if not ledger.account(options.dataset).needs_approval:
        return
    proposal = propose(asked, ledger, options.dataset, person=person, request_id=request)
    if proposal.state == "proposed":
        _say("\n".join([*_price_lines(asked), _remaining(ledger, options.dataset)]))
        raise proposal.waiting()


def _is_confirmed(options: argparse.Namespace, asked: ModelTask[Any], ledger: Ledger) -> bool:
    """Whether the warnings were accepted and the name of the data set was typed once more, after
    the price was shown.
    """
    asked.price()
    warnings = () if options.accept_warnings else stopping(_warnings(asked))
    if options.confirm is None:
        _say("\n".join([*_price_lines(asked), _remaining(ledger, options.dataset)]))
        if (rule := asked.plan.publish_if) is not None:
            _say(f"{rule.sentence} {STAYS_SPENT}")
        _say("This cannot be undone.")
    else:
        _say("\n".join(_said_of(asked)))
    if not sys.stdin.isatty():
        missing = [] if options.confirm else ["--confirm with the name of the data set"]
        missing += ["--accept-warnings"] if warnings else []
        if missing:
            raise ValueError(
                f"Expected {' and '.join(missing)}: nobody is here to be asked. Nothing was spent."
            )
    if warnings and _typed('Type "yes" to release in spite of the warnings: ') != "yes":
        return False
    question = "Type the name of the data set to spend it: "
    given = _typed(question) if options.confirm is None else options.confirm
    return str(options.dataset) == given


def _typed(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _print_result(made: AnyRelease, options: argparse.Namespace) -> None:
    """The released numbers; what was mapped goes to the steward at a terminal alone, never into the
    log of a server.
    """
    if options.json:
        print(made.to_json(), end="")
    else:
        _print_release(made)
        print(f"Written to {options.folder}.")
    note = made.note
    if note is not None and note.sentences() and sys.stderr.isatty():
        _say("For you alone, not for publication:")
        for sentence in note.sentences():
            _say(f"  {sentence}")


def _print_release(made: AnyRelease) -> None:
    level = f"{100 * made.design.confidence_level:.10g} %"
    print(f"{level} intervals for the {made.covers}, in original units:")
    print(f"{'':<32}{'estimate':>12}{'low':>12}{'high':>12}{'length':>12}{'planned':>12}")
    for c in (c for c in made.coefficients if not c.is_not_estimable):
        at, length = c.original, c.original.length
        numbers = (at.estimate, at.low, at.high, length, c.planned_original)
        print(f"{c.name:<32}{''.join(f'{number:>12.4g}' for number in numbers)}")
    print("\n".join(effect_lines(made)))
    if made.not_estimable:
        print(not_reportable(made.not_estimable))
    for verdict in filter(None, (against_goal(made), acceptance(made))):
        print(verdict)


def run_predict(options: argparse.Namespace) -> int:
    """Write a score, a label and, for a logistic model, a probability for every row."""
    check_new(options.output)
    made = load_release(options.release)
    header = read_header(options.file, encoding=options.encoding)
    header.check_has(made.mapper.needed[:-1])
    frame = pd.DataFrame(read_cells(header, made.mapper), dtype=object)
    return put(predictions_csv(made, frame), options.output)


def predictions_csv(made: AnyRelease, frame: pd.DataFrame) -> str:
    """Return what is predicted of each row in a line; empty cells for a row with a missing one."""
    found = made.predictions(frame)
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(found)
    for row in zip(*found.values(), strict=True):
        writer.writerow([""] * len(row) if row[0] == "nan" else row)
    return out.getvalue()


RELEASE_ONCE = Command(
    name="release",
    help="release the model of a plan from a private file, once",
    flags=(
        flag("plan", type=Path),
        flag(
            "--file",
            type=Path,
            help="the private table: CSV, Parquet or a folder of Parquet files",
        ),
        flag("--dataset", help="name of the data set in the ledger"),
        flag("--folder", type=Path, help="a new folder for the result"),
        person("releases"),
        flag(
            "--request",
            help="name of this request; the same one again never draws twice (default: a new one)",
        ),
        flag("--check", action="store_true", help="print price and planned lengths, spend nothing"),
        flag(
            "--confirm",
            metavar="DATASET",
            help="the name of the data set again, instead of typing it",
        ),
        flag(
            "--accept-warnings",
            action="store_true",
            help="go on although something speaks against the plan, which is asked without it",
        ),
        flag(
            "--accept",
            action="append",
            choices=ACCEPTABLE,
            default=[],
            help="go on although the file was found to have no cell with the code for yes, or none "
            "with a code for no, or more records with a cell that is missing or not declared than "
            "the plan expects; once for each of them that holds, which is refused without it",
        ),
        flag(
            "--allow-unreviewed", action="store_true", help="allow Gaussian objective perturbation"
        ),
        ENCODING,
        *OF_A_LEDGER,
        engine_flag(elsewhere=False),
        JSON,
    ),
    run=run_release,
)
PREDICT = Command(
    name="predict",
    help="apply a released model to new rows",
    flags=(
        RELEASE,
        flag("file", type=Path, help="CSV or Parquet with the columns of the schema"),
        ENCODING,
        OUTPUT,
    ),
    run=run_predict,
)
