"""Attacks on the last bits of what a release and a fitted estimator show. `make soak` runs them
long.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.last_bits import attack_draws, attack_estimators, attack_records, is_draw, unexplained

CASES = [
    (kind, mechanism, calibration)
    for kind in ("pure", "zcdp")
    for mechanism in ("objective", "output")
    for calibration in ("published", "sharp")
]
FALSE_ALARM = 5.0
"""Standard errors of a guess: 6e-7 for one score with fresh entropy."""


def test_the_attacker_sees_which_matrix_floating_point_noise_cannot_give() -> None:
    """The attack itself works: on sums in floating point it names the table that was used."""
    rng, scale, right = np.random.default_rng(3), 0.0026, 0
    true = 0.01 * np.cov(rng.normal(size=(4, 30)))
    for _ in range(60):
        noise = rng.normal(size=(4, 4))
        noise = np.triu(noise, 1) / np.sqrt(2.0) + np.diag(np.diagonal(noise))
        noise = scale * (noise + np.triu(noise, 1).T)
        published = 0.5 * ((true + noise) + (true + noise).T)
        assert unexplained(published, true, scale) == 0
        right += unexplained(published, true * (1 + 1e-9), scale) > 0
    assert right > 40
    assert is_draw(scale * 0.7, scale, above_diagonal=False)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_no_table_is_named_by_the_last_bits_of_a_release(case) -> None:
    for score in attack_draws(*case, rounds=60).values():
        assert abs(score.deviation) < FALSE_ALARM, score


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_no_table_is_named_by_the_last_bits_of_an_estimator(case) -> None:
    for score in attack_estimators(*case, rounds=60).values():
        assert abs(score.deviation) < FALSE_ALARM, score


def test_no_table_is_named_by_the_last_bits_of_a_record(memory: Path) -> None:
    """Of one case: a record writes each kind's draws alike; the long attack has all."""
    for score in attack_records(memory, *CASES[5], rounds=40).values():
        assert abs(score.deviation) < FALSE_ALARM, score


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_long_attack_on_records_is_a_guess(
    case, memory: Path, record_property: Callable[[str, object], None]
) -> None:
    for name, score in attack_records(memory, *case, rounds=400).items():
        record_property(name, str(score))
        assert abs(score.deviation) < FALSE_ALARM, score


@pytest.mark.soak
@pytest.mark.parametrize("attack", [attack_draws, attack_estimators], ids=["release", "estimator"])
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_long_attack_is_a_guess(
    case, attack, record_property: Callable[[str, object], None]
) -> None:
    for name, score in attack(*case, rounds=400).items():
        record_property(name, str(score))
        assert abs(score.deviation) < FALSE_ALARM, score
