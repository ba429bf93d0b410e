"""One private choice for everything that chooses: the candidate with the largest noisy score.

Noise of mean `scale` decides between the two known mechanisms: exponential noise is
permute-and-flip, Gumbel noise of that scale the exponential mechanism. Where neighbours move every
score by at most d, each in its own direction, it costs

    exponential, Gumbel    2 d / scale in pure epsilon
    Gumbel                 d^2 / (2 scale^2) in zCDP (its privacy loss has the range 2 d / scale)

Exponential noise has no such bound in zCDP: docs/selection.md, section 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre, softmax

from dpci_core.base.array import Array
from dpci_core.base.errors import check_choice, check_positive
from dpci_core.privacy.randomness import NoiseSource, SystemSource

ChoiceNoise = Literal["exponential", "gumbel"]
CHOICE_NOISES: tuple[ChoiceNoise, ...] = ("exponential", "gumbel")


def noisy_max_probabilities(
    scores: npt.ArrayLike, *, scale: float, noise: ChoiceNoise = "exponential"
) -> Array:
    """Return how often each candidate has the largest noisy score, exactly: no draw.

    Args:
        scores: (..., k), large is good; any unit.
        scale: of the noise on each score, in that unit (> 0); the mean of exponential noise.
        noise: "exponential" or "gumbel".

    Shapes:  (..., k); rows sum to 1.
    Raises:  ValueError for no candidate or a score that is not finite.
    Source:  McKenna and Sheldon 2020 (permute-and-flip), Ding et al. 2021 (its noise is
             exponential); the integral is own. With a_i = exp((q_i - max q) / scale),
             P_i = a_i * integral over (0, 1) of the product of 1 - a_j t, j != i: a polynomial of
             degree k - 1, which Gauss's rule integrates without error.

    >>> noisy_max_probabilities([0.1, 0.3, 0.25, 0.0], scale=0.1).round(4).tolist()
    [0.0532, 0.6428, 0.2849, 0.0191]
    """
    check_positive(scale=scale)
    check_choice(noise, CHOICE_NOISES, name="noise")
    given = _checked(scores)
    with np.errstate(over="ignore"):  # a score hopelessly behind: its weight is 0
        behind = (given - given.max(axis=-1, keepdims=True)) / scale
    if noise == "gumbel":
        return np.asarray(softmax(behind, axis=-1))
    a = np.exp(behind)
    nodes, weights = roots_legendre(given.shape[-1] // 2 + 1)
    found = np.zeros_like(a)
    for x, weight in zip(nodes, weights, strict=True):
        others = 1.0 - a * ((x + 1.0) / 2.0)  # > 0: every node is inside (0, 1)
        found += (weight / 2.0) * others.prod(axis=-1, keepdims=True) / others
    found *= a
    return np.asarray(found / found.sum(axis=-1, keepdims=True))  # 1 but for rounding


def choose(
    scores: npt.ArrayLike, *, scale: float, source: NoiseSource, noise: ChoiceNoise = "exponential"
) -> int:
    """Return the place of the largest noisy score.

    Args:
        scores: (k,), large is good.
        scale, noise: as for `noisy_max_probabilities`.
        source: the operating system's entropy, from which the draw is exact (OpenDP), or a
            generator.

    Privacy: the table above.
    """
    check_choice(noise, CHOICE_NOISES, name="noise")
    if isinstance(source, SystemSource):
        given: Sequence[float] = _checked(scores).tolist()
        return source.noisy_max(given, scale=scale, is_gumbel=noise == "gumbel")
    probabilities = noisy_max_probabilities(scores, scale=scale, noise=noise)
    return int(chosen_at(probabilities, source.random(probabilities.shape[:-1])))


def chosen_at(probabilities: Array, uniform: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Return what uniform numbers (...) choose by the probabilities (..., k)."""
    below = np.cumsum(probabilities, axis=-1)[..., :-1]
    return np.asarray((below <= np.asarray(uniform)[..., None]).sum(axis=-1))


def _checked(scores: npt.ArrayLike) -> Array:
    """Finite numbers, at least one; the message holds none of them."""
    given = np.asarray(scores, dtype=np.float64)
    if given.ndim == 0 or given.shape[-1] == 0 or not np.isfinite(given).all():
        raise ValueError("Expected scores to hold at least one candidate and finite numbers only.")
    return given
