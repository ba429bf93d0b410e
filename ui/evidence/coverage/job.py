"""A simulation of the settings as a job in the background. Knows no Streamlit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpci_core import Design
from dpci_core.base.rows import Meaning
from ui.session.choices import Combination
from ui.session.jobs import TableTask, workers
from ui.session.settings import Settings

if TYPE_CHECKING:
    from dpci_core.simulation.result import ExperimentResult


@dataclass(eq=False, kw_only=True)
class Job(TableTask):
    """One simulation as pages see it; `settings`, `assumptions` and the table's `digest` say what
    it is about.
    """

    settings: Settings
    assumptions: str
    digest: str
    combinations: tuple[Combination, ...]
    designs: tuple[Design, ...]
    m: int
    k: int
    seed: int
    meaning: Meaning | None = None
    result: ExperimentResult | None = None

    def _execute(self) -> bool:
        from dpci_core.simulation.run import run_experiment  # compiles; see dpci_core.__getattr__

        assert self.X is not None
        assert self.y is not None
        with workers() as n_jobs:
            self.result = run_experiment(
                self.X,
                self.y,
                designs=self.designs,
                n_variability=self.m,
                n_coverage=self.k,
                rng=np.random.default_rng(self.seed),
                n_jobs=n_jobs,
                progress=self._take,
                should_stop=self._should_stop,
                meaning=self.meaning,
            )
        return self.result.n_done == self.m and self.result.n_covered == self.k
