"""What a linear plan promises holds in worlds of its declaration, on few releases, and a promise
that is not kept shows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bars import error, twin
from benchmarks.linear import kept, ward, within_of
from dpci_core.report.cautions import REPORTABLE_CHANCE
from dpci_core.schema import worlds_of

RUNS = 80
NAMES = ("rare levels", "twice the spreads, outcome", "long tails, outcome")


def test_what_is_promised_of_a_declaration_is_kept_in_its_worlds() -> None:
    plan = ward(2_000, "4")
    worlds = {one.name: one for one in worlds_of(plan.schema, plan.source.guesses)}
    asked = {worlds[name].assumption for name in NAMES}
    given = tuple(one for one in plan.worlds() if one.assumption in asked)
    promised, within = plan.promise(given), within_of(plan, given)
    assert promised.worlds == tuple(one.assumption for one in given)
    sure, spared = np.flatnonzero(promised.chance >= REPORTABLE_CHANCE), np.arange(RUNS) % 5 > 0
    assert len(sure) >= 3
    for place, name in enumerate(NAMES):
        frame = twin(plan.schema, worlds[name].guesses, n=20_000)
        made = kept(plan, frame, RUNS, within, place)
        assert not made.broken(sure), name
        mean = made.covered(sure).mean()
        assert mean == pytest.approx(0.95, abs=4 * error(0.95, len(sure) * RUNS)), name
        assert replace(made, held=made.held * spared[:, None]).broken(sure), name
        assert replace(made, reported=made.reported * spared[:, None]).broken(sure), name
