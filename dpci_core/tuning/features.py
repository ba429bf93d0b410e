"""Kernels by random features [CMS Algorithm 3]: a public random map after which a linear learner
fits a kernel one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, check_positive

FEATURE_SEED = 20_110_307
"""Default seed of the map: public and fixed, so that a model can be applied by whoever has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CosineFeatures:
    """The map x -> cos(w_j.x + psi_j) / sqrt(D), w_j ~ N(0, 2 gamma I), psi_j uniform on [-pi, pi].

    gamma: of the kernel exp(-gamma |x - x'|^2).
    n_components: D.
    seed: public.

    Rows of the result have norm at most 1 whatever x is, and 2 v(x).v(x') estimates the kernel.
    Source:  CMS Algorithm 3 after Rahimi and Recht.  Differs: its factor sqrt(2/D) lets the norm
             reach sqrt 2, where its proof needs 1; the factor here is 1/sqrt(D).

    >>> v = CosineFeatures(gamma=0.5, n_components=4).transform(np.zeros((1, 3)))
    >>> v.shape, bool((v**2).sum() <= 1)
    ((1, 4), True)
    """

    gamma: float
    n_components: int = 100
    seed: int = FEATURE_SEED

    def __post_init__(self) -> None:
        check_positive(gamma=self.gamma)
        check_count(n_components=self.n_components)
        seed: object = self.seed
        if isinstance(seed, bool) or not (isinstance(seed, Integral) and int(seed) >= 0):
            raise ValueError(f"Expected seed={self.seed!r} to be a whole number >= 0.")

    def transform(self, X: Array) -> Array:
        """Return the features (n, D) of X (n, d)."""
        rng = np.random.default_rng([self.seed, X.shape[1]])
        w = math.sqrt(2.0 * self.gamma) * rng.standard_normal((X.shape[1], self.n_components))
        psi = rng.uniform(-math.pi, math.pi, self.n_components)
        with np.errstate(over="ignore", invalid="ignore"):
            angles = X @ w + psi
        angles[~np.isfinite(angles)] = 0.0  # as good as any other, and what keeps the norm
        # A hair below 1 / sqrt(D), so that rounding cannot lift a norm above 1.
        return np.asarray(np.cos(angles) * ((1.0 - 1e-12) / math.sqrt(self.n_components)))
