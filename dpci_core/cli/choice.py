"""`python -m dpci_core release` of what is chosen privately: a histogram of a declared column, or
one of several penalties with its model.
"""

from __future__ import annotations

import argparse

from dpci_core.ledger import as_text
from dpci_core.plan import Plan
from dpci_core.release import ChoiceRecord, HistogramChoice, ModelChoice
from dpci_core.release.choice import Choice

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


def choice_of(options: argparse.Namespace, plan: Plan) -> Choice | None:
    """Return what is asked for instead of the plan's own release, if anything is.

    Raises:  ValueError.
    """
    if options.histogram is None and options.penalties is None:
        return None
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


def choice_lines(choice: Choice) -> list[str]:
    """What is spent on what, before anything is."""
    cost, spending = choice.price(), choice.spending(choice.plan.n_records)
    return [
        f"{choice.title}: costs {cost.symbol} {as_text(cost.amount)}, {choice.plan.unit}.",
        f"  of it {as_text(spending.train)} at most for one training, on {spending.n_train:,} rows",
        "  training and choice are two sides of a maximum and do not add up",
    ]


def print_choice(made: ChoiceRecord) -> None:
    """What was chosen, and its released numbers."""
    what = f"{len(made.counts)} bins" if made.counts else f"penalty c = {made.chosen:g}"
    print(f"Chosen: {what}.")
    print(made.table(), end="")
