"""The runs of private scorecards on file."""

from __future__ import annotations

from benchmarks.files import read_rows
from benchmarks.scorecards import CARDS, QUESTIONS, RUN_SIZES, ScorecardRate
from dpci_core.base.places import DATA

ROWS = read_rows(ScorecardRate, DATA / "scorecards_run.csv")


def of(run: str) -> list[ScorecardRate]:
    return [row for row in ROWS if row.run == run]


def test_every_run_is_on_file_and_cards_are_rules() -> None:
    assert {row.run for row in ROWS} == set(RUN_SIZES)
    for run in RUN_SIZES:
        best = next(row.error for row in of(run) if row.method == "best_card")
        for row in of(run):
            if row.method == "scorecard":
                assert row.error >= best - 1e-6
                *points, threshold = row.card.split()
                assert len(points) == len(QUESTIONS[RUN_SIZES[run][0]]) == CARDS.n_questions
                assert float(threshold) % 1 == 0.5


def test_the_card_needs_less_than_the_published_methods_everywhere() -> None:
    for run in RUN_SIZES:
        rows = of(run)
        for epsilon in ("0.03", "0.1", "0.3", "1"):
            at = {row.method: row for row in rows if row.epsilon == epsilon}
            for other in ("opdisc", "rspm", "one_hot"):
                assert at["scorecard"].error <= at[other].error + 2 * at[other].error_se
