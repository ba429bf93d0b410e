"""Test errors, measured in the background. Knows no Streamlit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.rows import WeightedRows
from ui.evidence.errors.numbers import SEED, Answer, Request
from ui.session.jobs import TableTask


@dataclass(eq=False, kw_only=True)
class AccuracyJob(TableTask):
    """Test errors for one picture of the tab of prediction error."""

    request: Request
    done: int = 0
    answer: Answer | None = None

    def _execute(self) -> bool:
        from dpci_core.tuning.accuracy import accuracy_curve  # compiles

        assert self.X is not None
        assert not isinstance(self.X, WeightedRows)
        assert self.y is not None
        held_out, points = self.request.held_out(self.X, self.y), self.request.points
        measured = accuracy_curve(
            held_out,
            points=points,
            n_fits=self.request.n_fits,
            rng=np.random.default_rng(SEED),
            progress=self._count,
            should_stop=self._should_stop,
        )
        if len(measured) < len(points):
            return False
        self.answer = Answer(
            found=dict(zip(points, measured, strict=True)),
            constant_error=held_out.constant_error,
            n_train=len(held_out.A),
            n_test=len(held_out.y_test),
            n_fits=self.request.n_fits,
        )
        return True

    def _count(self, done: int, _total: int) -> None:
        self.done = done
