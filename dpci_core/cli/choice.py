"""`python -m dpci_core release` of what is chosen privately: a histogram of a declared column, one
of several penalties with its model, or a card of whole points.
"""

from __future__ import annotations

import argparse
import csv
import io

import pandas as pd

from dpci_core.ledger import as_text, safe_cell
from dpci_core.plan import Plan
from dpci_core.release import CardChoice, CardRecord, ChoiceRecord, HistogramChoice, ModelChoice
from dpci_core.release.choice import Choice
from dpci_core.report.words import card_parts
from dpci_core.scorecards import Question

_SEVERAL = "Expected one of --histogram, --penalties and --card."
_VALIDATION, _HOLDOUT = "0.1", "0.3"
_POINTS = (-2, 2)


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
    group.add_argument(
        "--card", nargs="+", metavar="QUESTION",
        help='release a card of whole points for questions such as "age>=40" "city=Oslo|Bergen"',
    )  # fmt: skip
    group.add_argument(
        "--points", nargs=2, type=int, metavar=("LOW", "HIGH"), help="of a card (-2 2)"
    )
    group.add_argument("--epsilon", help="of what is chosen, all of it")
    group.add_argument("--rho", help="of a card, instead of --epsilon")
    group.add_argument(
        "--held-out",
        help="share of the rows that choose (0.1), or that count a card's mistakes (0.3)",
    )


def choice_of(options: argparse.Namespace, plan: Plan) -> Choice | CardChoice | None:
    """Return what is asked for instead of the plan's own release, if anything is.

    Raises:  ValueError.
    """
    asked = [one for one in (options.histogram, options.penalties, options.card) if one is not None]
    if not asked:
        return None
    if len(asked) > 1:
        raise ValueError(_SEVERAL)
    if options.card is not None:
        return CardChoice.make(
            plan,
            tuple(Question.read(text) for text in options.card),
            epsilon=options.epsilon,
            rho=options.rho,
            weights=tuple(options.points or _POINTS),
            holdout=options.held_out or _HOLDOUT,
        )
    if options.rho is not None:
        raise ValueError("Expected --rho with --card only.")
    if options.epsilon is None:
        raise ValueError("Expected --epsilon: the plan's own budget plays no part here.")
    if options.histogram is not None:
        return HistogramChoice.make(
            plan,
            options.histogram,
            epsilon=options.epsilon,
            bins=tuple(options.bins or (8, 16, 32, 64, 128)),
            validation_share=options.held_out or _VALIDATION,
        )
    return ModelChoice.make(
        plan,
        epsilon=options.epsilon,
        penalties=tuple(options.penalties),
        validation_share=options.held_out or _VALIDATION,
    )


def choice_lines(choice: Choice | CardChoice) -> list[str]:
    """What is spent on what, before anything is."""
    if isinstance(choice, CardChoice):
        cost = choice.price()
        parts = card_parts(choice.cards.n_rules, choice.parts, choice.excess_share)
        return [
            f"{choice.title}: costs {cost.symbol} {as_text(cost.amount)}, {choice.plan.unit}.",
            *(f"  {part}" for part in parts),
        ]
    cost, spending = choice.price(), choice.spending(choice.plan.n_records)
    return [
        f"{choice.title}: costs {cost.symbol} {as_text(cost.amount)}, {choice.plan.unit}.",
        f"  of it {as_text(spending.train)} at most for one training, on {spending.n_train:,} rows",
        "  training and choice are two sides of a maximum and do not add up",
    ]


def print_card(made: CardRecord) -> None:
    """The card, and how often it is wrong."""
    print(made.table(), end="")
    print(
        f"Wrong for {made.error_low:.1%} to {made.error_high:.1%} "
        f"(level {made.confidence_level:.10g})."
    )


def card_csv(made: CardRecord, frame: pd.DataFrame) -> str:
    """Return one line a row: sum of points, threshold and label."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["points", "threshold", "prediction"])
    sums, target = made.sums(frame), made.schema
    assert target is not None
    for points in sums.tolist():
        is_yes = points > made.threshold
        label = target.positive if is_yes else f"not {target.positive}"
        writer.writerow([points, made.threshold, safe_cell(label)])
    return out.getvalue()


def print_choice(made: ChoiceRecord) -> None:
    """What was chosen, and its released numbers."""
    what = f"{len(made.counts)} bins" if made.counts else f"penalty c = {made.chosen:g}"
    print(f"Chosen: {what}.")
    print(made.table(), end="")
