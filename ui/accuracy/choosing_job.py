"""Curves of choosing privately on the table at hand, measured in the background. Knows no
Streamlit.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from dpci_core.base.rows import WeightedRows
from dpci_core.studies.accuracy.selection_run import SelectionRate
from dpci_core.tuning import Candidate
from ui.accuracy.choosing_numbers import Question
from ui.session.jobs import TableTask

EPSILONS = ("0.1", "0.3", "1", "3", "10")
DIVISIONS = 6
MOST_ROWS = 20_000
SEED = 20_131_205
"""The same settings give the same picture."""


@dataclass(eq=False, kw_only=True)
class ChoosingJob(TableTask):
    """Errors for one picture of the section."""

    question: Question
    title: str
    asked: tuple[Hashable, ...]
    done: int = 0
    rows: list[SelectionRate] = field(default_factory=list)

    def _execute(self) -> bool:
        from dpci_core.studies.accuracy.selection_curve import (  # compiles
            SelectionProtocol,
            selection_curve,
        )

        assert self.X is not None
        assert self.y is not None
        assert not isinstance(self.X, WeightedRows)
        rng = np.random.default_rng(SEED)
        used = rng.permutation(len(self.y))[:MOST_ROWS]
        share = float(self.question.share)
        points = selection_curve(
            self.X[used],
            self.y[used],
            candidates=[Candidate(learner=one) for one in self.question.learners],
            epsilons=EPSILONS,
            protocol=SelectionProtocol(n_divisions=DIVISIONS, validation_share=f"{share:g}"),
            rng=rng,
            progress=self._count,
            should_stop=self._should_stop,
        )
        rest = len(used) - round(0.1 * len(used))
        n_validation = int(share * rest)
        names = " ".join(f"{2 * one.regularization:.3g}" for one in self.question.learners)
        self.rows = [
            SelectionRate(
                run="census",
                method=point.method,
                epsilon=point.epsilon,
                error=point.error,
                error_se=point.error_se,
                auc=point.auc or 0.0,
                auc_se=point.auc_se or 0.0,
                gap=point.gap or 0.0,
                gap_se=point.gap_se or 0.0,
                constant_error=point.constant_error or 0.0,
                candidates=names,
                chosen=" ".join(f"{one:.4f}" for one in point.chosen),
                train=point.train,
                n_train=rest - n_validation,
                n_validation=n_validation,
                divisions=DIVISIONS,
                seed=SEED,
                date="",
                versions="",
            )
            for point in points
        ]
        return bool(points)

    def _count(self, done: int, _total: int) -> None:
        self.done = done
