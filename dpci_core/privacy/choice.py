"""One private choice for everything that chooses: the candidate with the largest noisy score.

Noise of mean `scale` decides between the two known mechanisms: exponential noise is
permute-and-flip, Gumbel noise of that scale the exponential mechanism. Where neighbours move every
score by at most d, each in its own direction, it costs

    exponential, Gumbel    2 d / scale in pure epsilon
    Gumbel                 d^2 / (2 scale^2) in zCDP (its privacy loss has the range 2 d / scale)

Exponential noise has no such bound in zCDP: docs/proofs/selection.md#choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import roots_legendre, softmax

from dpci_core.base.array import Array
from dpci_core.base.errors import check_choice, check_positive
from dpci_core.privacy.randomness import NoiseSource, SystemSource

ChoiceNoise = Literal["exponential", "gumbel"]
CHOICE_NOISES: tuple[ChoiceNoise, ...] = ("exponential", "gumbel")


_EXACT_UP_TO = 200
"""Candidates up to which one rule of Gauss integrates without error."""
_NODES, _WEIGHTS = roots_legendre(24)
_NEGLIGIBLE = 48.0
"""Exponent below which a weight e^-x is lost in rounding."""


def noisy_max_probabilities(
    scores: npt.ArrayLike,
    *,
    scale: float,
    noise: ChoiceNoise = "exponential",
    counts: npt.ArrayLike | None = None,
) -> Array:
    """Return how often each candidate has the largest noisy score: no draw.

    Args:
        scores: (..., k), large is good; any unit.
        scale: of the noise on each score, in that unit (> 0); the mean of exponential noise.
        noise: "exponential" or "gumbel".
        counts: (k,) how many candidates have each score, 1 by default; a probability is then that
            of all of them together. For one row of scores.

    Shapes:  (..., k); rows sum to 1.
    Raises:  ValueError for no candidate or a score that is not finite.
    Source:  McKenna and Sheldon 2020 (permute-and-flip), Ding et al. 2021 (its noise is
             exponential); the integral is own. With a_i = exp((q_i - max q) / scale),
             P_i = a_i * integral over (0, 1) of the product of 1 - a_j t, j != i: a polynomial of
             degree k - 1, which Gauss's rule integrates without error. Beyond 200 candidates
             equal scores are taken together and 24 nodes stand on panels that halve towards both
             ends, to about 1e-12.

    >>> noisy_max_probabilities([0.1, 0.3, 0.25, 0.0], scale=0.1).round(4).tolist()
    [0.0532, 0.6428, 0.2849, 0.0191]
    """
    check_positive(scale=scale)
    check_choice(noise, CHOICE_NOISES, name="noise")
    given = _checked(scores)
    if counts is None and given.shape[-1] > _EXACT_UP_TO and noise == "exponential":
        rows = given.reshape(-1, given.shape[-1])
        return np.stack([_of_many(row, scale) for row in rows]).reshape(given.shape)
    number = np.ones(given.shape[-1]) if counts is None else _checked_counts(counts, given)
    with np.errstate(over="ignore"):  # a score hopelessly behind: its weight is 0
        behind = (given - given.max(axis=-1, keepdims=True)) / scale
    if noise == "gumbel":
        return np.asarray(softmax(behind + np.log(number), axis=-1))
    a = np.exp(behind)
    if counts is not None:
        found = _integrated(a, number)
    else:
        nodes, weights = roots_legendre(given.shape[-1] // 2 + 1)
        found = np.zeros_like(a)
        for x, weight in zip(nodes, weights, strict=True):
            others = 1.0 - a * ((x + 1.0) / 2.0)  # > 0: every node is inside (0, 1)
            found += (weight / 2.0) * others.prod(axis=-1, keepdims=True) / others
        found *= a
    return np.asarray(found / found.sum(axis=-1, keepdims=True))  # 1 but for rounding


def _of_many(scores: Array, scale: float) -> Array:
    """The law of exponential noise for one long row of scores."""
    distinct, places, number = np.unique(scores, return_inverse=True, return_counts=True)
    law = noisy_max_probabilities(distinct, scale=scale, counts=number)
    return np.asarray((law / number)[places])


def _integrated(a: Array, number: Array) -> Array:
    """N_i a_i times the integral of prod (1 - a_j t)^N_j / (1 - a_i t), by panels."""
    total = float(a @ number)
    behind = a * number < total * np.exp(-_NEGLIGIBLE) / len(a)
    near, n = a[~behind], number[~behind]
    first = min(1.0, 1.0 / total)
    halves = 0.5 ** np.arange(1, 40)
    ends = np.concatenate([[0.0, first / 2.0], first * 2.0 ** np.arange(64.0), 1.0 - halves, [1.0]])
    ends = np.unique(ends[(ends <= 1.0) & (ends * total <= 2.0 * _NEGLIGIBLE)])
    found = np.zeros_like(near)
    for low, high in pairwise(ends):
        t = np.minimum(low + (high - low) * (_NODES + 1.0) / 2.0, 1.0 - 2.0**-53)
        logs = np.log1p(-np.outer(t, near))
        product = np.exp(logs @ n) * _WEIGHTS * (high - low) / 2.0
        found += product @ np.exp(-logs)
    every = np.zeros_like(a)
    every[~behind] = found * near * n
    return every


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
        listed: Sequence[float] = _checked(scores).tolist()
        return source.noisy_max(listed, scale=scale, is_gumbel=noise == "gumbel")
    given = _checked(scores)
    if given.ndim == 1 and len(given) > _EXACT_UP_TO:  # drawing is quicker than the law of many
        drawn = (
            source.exponential(1.0, len(given))
            if noise == "exponential"
            else source.gumbel(0.0, 1.0, len(given))
        )
        return int(np.argmax(given + scale * drawn))
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


def _checked_counts(counts: npt.ArrayLike, scores: Array) -> Array:
    number = np.asarray(counts, dtype=np.float64)
    if scores.ndim != 1 or number.shape != scores.shape or not (number >= 1.0).all():
        raise ValueError("Expected counts to be at least 1, one for each of a row of scores.")
    return number
