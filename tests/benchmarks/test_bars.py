"""A random table of the bars is within its declaration, with several things off at once."""

from __future__ import annotations

import numpy as np

from benchmarks.bars import REGISTRY, allowed
from dpci_core import Guesses, worlds_of

ASKED = Guesses(base_rate=(0.1, 0.3))


def test_a_random_table_is_within_its_declaration_and_off_in_several_things():
    first = worlds_of(REGISTRY, ASKED)[0].guesses
    for seed in range(200):
        truth, said = allowed(np.random.default_rng(seed), REGISTRY, ASKED)
        truth.check_against(REGISTRY)
        assert 0.1 <= truth.rate <= 0.3
        assert set(truth.shares) == {"sex"}  # those of the others are declared
        assert min(truth.shares["sex"]) >= 1 / 6 - 1e-12
        assert all(abs(truth.effects[name]) <= abs(size) for name, size in first.effects.items())
        age = truth.numbers["age"]
        away = (age.centre - 64) / 14, np.log2(age.spread / 14), truth.correlation / 0.5
        assert 0.0 < np.square(away).sum() <= 1.0 + 1e-9
        assert np.count_nonzero(away) == 3
        assert "open shares" in said
