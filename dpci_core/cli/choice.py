"""`python -m dpci_core release` of what is chosen privately: a histogram of a declared column, or
one of several penalties with its model.
"""

from __future__ import annotations

import argparse
import getpass
import sys
import uuid

from dpci_core.ledger import Ledger, as_text
from dpci_core.plan import Plan
from dpci_core.release import (
    ChoiceRecord,
    HistogramChoice,
    ModelChoice,
    check_account,
    check_choice_table,
    release_choice,
)

_SEVERAL = "Expected --histogram or --penalties, not both."


def add_choice(spend: argparse.ArgumentParser) -> None:
    """Add the options of a choice to those of a release."""
    group = spend.add_argument_group(
        "instead of the plan's own release", "from its table, at an epsilon of its own"
    )
    group.add_argument("--histogram", metavar="COLUMN", help="release a histogram of this number")
    group.add_argument(
        "--bins", nargs="+", type=int, help="how many; of several, one is chosen privately"
    )
    group.add_argument(
        "--penalties", nargs="+", type=float, metavar="C",
        help="release the plan's model, without intervals, at a penalty c chosen privately",
    )  # fmt: skip
    group.add_argument("--epsilon", help="of the histogram or the chosen model, all of it")
    group.add_argument("--held-out", default="0.1", help="share of the rows that choose (0.1)")


def is_choice(options: argparse.Namespace) -> bool:
    """Whether something other than the plan's own release is asked for."""
    return options.histogram is not None or options.penalties is not None


def choice_of(options: argparse.Namespace, plan: Plan) -> HistogramChoice | ModelChoice:
    """Return what is asked for.

    Raises:  ValueError.
    """
    if options.histogram is not None and options.penalties is not None:
        raise ValueError(_SEVERAL)
    if options.epsilon is None:
        raise ValueError("Expected --epsilon: the plan's own budget plays no part here.")
    if options.histogram is not None:
        return HistogramChoice.make(
            plan,
            options.histogram,
            epsilon=options.epsilon,
            bins=tuple(options.bins or (8, 16, 32, 64, 128)),
            validation_share=options.held_out,
        )
    return ModelChoice.make(
        plan,
        epsilon=options.epsilon,
        penalties=tuple(options.penalties),
        validation_share=options.held_out,
    )


def run_choice(options: argparse.Namespace, plan: Plan, ledger: Ledger) -> int:
    """Check, ask, release."""
    choice = choice_of(options, plan)
    cost = choice.price()
    spending = choice.spending(plan.n_records)
    print(f"{choice.title}: costs {cost.symbol} {as_text(cost.amount)}, {plan.unit}.")
    print(
        f"  of it {as_text(spending.train)} at most for one training, on {spending.n_train:,} rows"
    )
    print("  training and choice are two sides of a maximum and do not add up")
    if options.check:
        if options.file is not None:
            check_choice_table(choice, options.file, encoding=options.encoding)
        if options.dataset is not None:
            check_account(ledger, options.dataset, plan)
        return 0
    missing = [
        f"--{name}" for name in ("file", "dataset", "folder") if getattr(options, name) is None
    ]
    if missing:
        raise ValueError(f"Expected {', '.join(missing)}; only --check does without.")
    request = options.request or str(uuid.uuid4())
    _say(f"Request {request}: give it again with --request if anything goes wrong.")
    if ledger.find(request) is None and not _is_confirmed(options):
        raise ValueError("Not confirmed; nothing was spent.")
    options.folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    made = release_choice(
        choice,
        options.file,
        ledger=ledger,
        dataset=options.dataset,
        person=options.person or getpass.getuser(),
        request_id=request,
        folder=options.folder,
        encoding=options.encoding,
    )
    _print(made, options)
    return 0


def _is_confirmed(options: argparse.Namespace) -> bool:
    """Whether the name of the data set was typed once more."""
    if options.confirm is not None:
        return bool(options.confirm == options.dataset)
    if not sys.stdin.isatty():
        raise ValueError(
            "Expected --confirm with the name of the data set: nobody is here to be asked. "
            "Nothing was spent."
        )
    sys.stderr.write("This cannot be undone. Type the name of the data set to spend it: ")
    sys.stderr.flush()
    return sys.stdin.readline().strip() == str(options.dataset)


def _print(made: ChoiceRecord, options: argparse.Namespace) -> None:
    if options.json:
        print(made.to_json(), end="")
        return
    what = f"{len(made.counts)} bins" if made.counts else f"penalty c = {made.chosen:g}"
    print(f"Chosen: {what}.")
    print(made.table(), end="")
    print(f"Written to {options.folder}.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
