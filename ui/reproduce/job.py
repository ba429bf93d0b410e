"""Published cells, computed again in the background. Knows no Streamlit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ui.session.jobs import Task, workers

if TYPE_CHECKING:
    from dpci_core.studies.reproduce import Cell, Reproduced


@dataclass(eq=False, kw_only=True)
class CellsJob(Task):
    """Published cells, recomputed; what is done so far is in `found`."""

    name: str
    cells: tuple[Cell, ...]
    m: int
    k: int
    seed: int
    found: dict[str, Reproduced] = field(default_factory=dict)

    def _execute(self) -> bool:
        from dpci_core.studies.reproduce import run_cells  # compiles

        with workers() as n_jobs:
            run = run_cells(
                self.cells,
                k=self.k,
                m=self.m,
                seed=self.seed,
                n_jobs=n_jobs,
                progress=self._take,
                should_stop=self._should_stop,
            )
            for cell, found in run:
                self.found[cell.key] = found
        return len(self.found) == len(self.cells)
