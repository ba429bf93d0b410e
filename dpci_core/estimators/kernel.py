"""Kernels in front of a private linear classifier: random features as a scikit-learn
transformer.
"""

from __future__ import annotations

import math
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count
from dpci_core.estimators.input import check_features
from dpci_core.tuning.features import FEATURE_SEED, CosineFeatures


class RandomCosines(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random cosine features whose rows have norm at most 1, for the kernel exp(-gamma |x - x'|^2).

    Args:
        gamma: inverse squared width, in the units of X: bring columns to comparable scales first,
            by declared bounds.
        n_components: D.
        seed: of the map; public and fixed, and no source of privacy.

    Privacy: reads nothing but the number of columns, so it costs nothing. The classifier behind it
             takes `feature_bounds=RandomCosines.bounds(D)`, with which its encoding wastes nothing.
    Source:  CMS Algorithm 3, its norm corrected (`tuning.features`).

    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from dpci_core import DPLinearSVC, PureDP
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (4000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0  # no line separates these
    >>> svc = DPLinearSVC(budget=PureDP(model=8, hessian=1, covariance=1),
    ...                   feature_bounds=RandomCosines.bounds(40), intervals=False, random_state=0)
    >>> bool(make_pipeline(RandomCosines(gamma=2.0, n_components=40), svc).fit(X, y)
    ...      .score(X, y) > 0.85)
    True
    """

    def __init__(
        self, *, gamma: float = 1.0, n_components: int = 100, seed: int = FEATURE_SEED
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.seed = seed

    @staticmethod
    def bounds(n_components: int) -> tuple[float, float]:
        """Return the bounds of every feature, 1/sqrt(D) on either side."""
        check_count(n_components=n_components)
        return -1.0 / math.sqrt(n_components), 1.0 / math.sqrt(n_components)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the parameters and keep the number and names of the columns."""
        check_features(self, X, reset=True)
        self._features = CosineFeatures(
            gamma=self.gamma, n_components=self.n_components, seed=self.seed
        )
        self._n_features_out = self.n_components
        return self

    def transform(self, X: Any) -> Array:
        """Return the features (n, D)."""
        check_is_fitted(self)
        return self._features.transform(check_features(self, X, reset=False))
