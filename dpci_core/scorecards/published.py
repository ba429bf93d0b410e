"""RSPM, OPDisc and one-hot noise: an exact minimum of mistakes with noise in the objective. For
comparison, never a release.

RSPM and OPDisc are those of Neel, Roth, Vietri and Wu, "Differentially Private Objective
Perturbation: Beyond Smoothness and Convexity"; "ours" are `opdisc` and `one_hot`. The text at hand
lacked main formulas, so what is inferred is marked.

Theorem 3. Released is argmin over W of L(w) - <eta, phi(w)>, eta of density p. PAIR_SENSITIVITY = 2
is a bound Delta on |(L(v) - L(w)) - (L'(v) - L'(w))| for losses in [0, 1] of neighbours. If for
every w there is s(w) with <s(w), phi(w) - phi(v)> >= Delta for all v != w, and p(x) <= e^epsilon
p(x + s(w)), the release is epsilon-DP. Proof: let eta in E(w) make w the unique minimiser on D. On
D' at eta + s(w) the gap of v is above -Delta + <s(w), phi(w) - phi(v)> >= 0. So E(w) + s(w) lies
in E'(w), and P(w) <= e^epsilon int_E(w) p(x + s(w)) dx <= e^epsilon P'(w). It needs an exact
minimum.

- rspm: phi(w) = -(e_1(w), ..., e_m(w)), each 0 or 1, whether w_j >= value; s = +-Delta each;
  Laplace noise of scale Delta m / epsilon.
- opdisc: phi(w) = pi(w) = (w, sqrt(D^2 - |w|^2)) / D, s = c pi(w) with c = 2 Delta / min |pi(w) -
  pi(v)|^2 <= 4 D^2 / tau^2, noise of density ~ exp(-epsilon |x| / c). For <pi(w), pi(w) - pi(v)> =
  |pi(w) - pi(v)|^2 / 2, and points tau apart have |pi(w) - pi(v)| >= tau / D.
- one_hot: indicators of w_j = value, s = Delta phi(w), exponential noise of scale Delta d /
  epsilon.
- permute-and-flip, which `privacy.choice` draws: the indicator of w, s = Delta at w, exponential
  noise of scale Delta / epsilon.

Counterexample. `opdisc_published` draws N(0, sigma^2 I), sigma = 7 G D^2 sqrt(ln 1/delta) / (tau
epsilon) (inferred), by a bound for a fixed w; but the released w is the one that eta is aligned
with. Let W = {-1, 1}^d, tau = 2, D = sqrt(d), G = 1/2, so sigma = 1.75 d sqrt(ln 1/delta) /
epsilon, and one record have the loss 1[parity even] on D and 1[odd] on D'. The best vertex is
sign(eta); an even one is left exactly if 2 min |eta_i| / sqrt(d) < 1. With q = P(|N(0, 1)| >
sqrt(d) / (2 sigma))^d, P_D(even) = q/2 and P_D'(even) = 1 - q/2, so delta(epsilon) >= 1 - (1 +
e^epsilon) q / 2 (`hypercube_delta`). Parity is no threshold loss: for cards we know no violation
and no proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import (
    check_choice,
    check_count,
    check_positive,
    check_probability,
    expect,
)
from dpci_core.scorecards.cards import ScorecardClass, sums_above

PublishedMethod = Literal["rspm", "opdisc", "opdisc_published", "one_hot"]
PUBLISHED_METHODS: tuple[PublishedMethod, ...] = ("rspm", "opdisc", "opdisc_published", "one_hot")
NOT_PRIVATE: tuple[PublishedMethod, ...] = ("opdisc_published",)
"""Methods whose printed guarantee is false (`hypercube_delta`)."""
PAIR_SENSITIVITY = 2.0
"""How far one replaced record moves the difference of two rules' mistakes."""
NEVER = (
    "Published for comparison, never a release: expected a numpy.random.Generator, got {given}. A "
    "release draws with scorecards.draw_card."
)
_BLOCK = 2**22


@dataclass(frozen=True)
class IntegerBall:
    """Whole vectors (w, b) of squared norm at most D^2, which say yes where w.x + b > 0.

    n_questions: k; the vectors have d = k + 1 entries.
    largest: of an entry.
    squared_norm: D^2; None is the whole box, D^2 = d largest^2.
    """

    n_questions: int
    largest: int = 2
    squared_norm: int | None = None

    def __post_init__(self) -> None:
        check_count(n_questions=self.n_questions, largest=self.largest)
        if self.squared_norm is not None:
            check_count(squared_norm=self.squared_norm)

    @property
    def n_entries(self) -> int:
        """d."""
        return self.n_questions + 1

    @property
    def values(self) -> Integers:
        """The values (K,) that an entry can have, in order."""
        return np.arange(-self.largest, self.largest + 1)

    @property
    def radius2(self) -> int:
        """D^2."""
        return self.squared_norm or self.n_entries * self.largest**2

    @cached_property
    def _cards(self) -> ScorecardClass:
        """w.x + b > 0 is w.x > 1/2 - b."""
        L = self.largest
        return ScorecardClass(self.n_questions, (-L, L), (0.5 - L, 0.5 + L))

    @cached_property
    def _is_inside(self) -> npt.NDArray[np.bool_]:
        w, b = self._cards.all_points(), 0.5 - self._cards.all_thresholds()
        return np.asarray((w**2).sum(axis=1) + b**2 <= self.radius2)

    @cached_property
    def vectors(self) -> Integers:
        """All of them (M, d), b last."""
        b = np.round(0.5 - self._cards.all_thresholds()).astype(np.int64)
        return np.column_stack([self._cards.all_points(), b])[self._is_inside]

    def mistakes(self, cells: Integers) -> Integers:
        """Return the mistakes of all vectors (M,) for counts (2^k, 2)."""
        gained = cells[:, 0] - cells[:, 1]
        return np.asarray(cells[:, 1].sum() + sums_above(gained, self._cards)[self._is_inside])

    def lifted(self) -> Array:
        """Return pi(w), unit vectors (M, d + 1)."""
        square = (self.vectors**2).sum(axis=1)
        last = np.sqrt(1.0 - square / self.radius2)
        return np.column_stack([self.vectors / math.sqrt(self.radius2), last])


def features_of(ball: IntegerBall, method: PublishedMethod) -> Array:
    """Return phi (M, m): the objective of a method is mistakes - noise . phi."""
    check_choice(method, PUBLISHED_METHODS, name="method")
    w = ball.vectors[:, :, None]
    if method == "rspm":
        return np.asarray(-(w >= ball.values[1:]).reshape(len(w), -1).astype(np.float64))
    if method == "one_hot":
        return np.asarray((w == ball.values).reshape(len(w), -1).astype(np.float64))
    return ball.lifted()


def noise_scale(
    ball: IntegerBall, method: PublishedMethod, *, epsilon: float, delta: float | None = None
) -> float:
    """Return the scale of the noise: of Laplace, exponential or spherical Laplace noise, or the
    standard deviation of Gaussian noise.

    Args:
        ball: the class.
        method: one of PUBLISHED_METHODS.
        epsilon: > 0.
        delta: for "opdisc_published" only.

    Source:  Theorem 3 above; as printed 7 G D^2 sqrt(ln 1/delta) / (tau epsilon) with
             G = 1/tau and tau = 1.
    """
    check_choice(method, PUBLISHED_METHODS, name="method")
    check_positive(epsilon=epsilon)
    expect(
        (delta is None) != (method in NOT_PRIVATE),
        f"Expected delta for {NOT_PRIVATE[0]!r} and for no other method.",
    )
    d, K = ball.n_entries, len(ball.values)
    if method == "rspm":
        return PAIR_SENSITIVITY * d * (K - 1) / epsilon
    if method == "one_hot":
        return PAIR_SENSITIVITY * d / epsilon
    if method == "opdisc":
        return 2.0 * PAIR_SENSITIVITY * ball.radius2 / epsilon
    assert delta is not None
    check_probability(delta=delta)
    return 7.0 * ball.radius2 * math.sqrt(math.log(1.0 / delta)) / epsilon


def draw_noise(
    ball: IntegerBall,
    method: PublishedMethod,
    *,
    epsilon: float,
    delta: float | None = None,
    n_draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return noise (n_draws, m) of a method; arguments as for `noise_scale`.

    Raises:  TypeError for anything but a generator.
    """
    if not isinstance(rng, np.random.Generator):
        raise TypeError(NEVER.format(given=type(rng).__name__))
    scale = noise_scale(ball, method, epsilon=epsilon, delta=delta)
    d, K = ball.n_entries, len(ball.values)
    if method == "rspm":
        return rng.laplace(0.0, scale, (n_draws, d * (K - 1)))
    if method == "one_hot":
        return rng.exponential(scale, (n_draws, d * K))
    direction = rng.normal(0.0, 1.0, (n_draws, d + 1))
    if method == "opdisc_published":
        return np.asarray(direction * scale)
    length = rng.gamma(d + 1, scale, n_draws)
    return np.asarray(direction * (length / np.linalg.norm(direction, axis=1))[:, None])


def perturbed_choice(
    mistakes: npt.ArrayLike,
    ball: IntegerBall,
    *,
    method: PublishedMethod,
    epsilon: float,
    delta: float | None = None,
    n_draws: int = 1,
    rng: np.random.Generator,
) -> Integers:
    """Return which vectors minimise mistakes with noise in the objective, (n_draws,).

    Args:
        mistakes: (M,) from `ball.mistakes`.
        ball: the class.
        method, epsilon, delta: as for `noise_scale`.
        n_draws: how many independent ones.
        rng: a generator only.

    Privacy: a simulation. "rspm", "opdisc" and "one_hot" would be epsilon-DP with noise nobody can
             predict; "opdisc_published" is not private as published.
    """
    counts = np.asarray(mistakes, dtype=np.float64)
    phi = features_of(ball, method)
    expect(
        counts.shape == (len(phi),), f"Expected mistakes of {len(phi)} vectors, got {counts.shape}."
    )
    eta = draw_noise(ball, method, epsilon=epsilon, delta=delta, n_draws=n_draws, rng=rng)
    step = max(1, _BLOCK // len(phi))
    parts = [np.argmin(counts - eta[i : i + step] @ phi.T, axis=1) for i in range(0, n_draws, step)]
    return np.concatenate(parts)


def hypercube_delta(
    n_dimensions: int, *, epsilon: float, delta: float, noise_share: float = 1.0
) -> float:
    """Return the least delta that OPDisc with its printed noise has at epsilon on {-1, 1}^d, where
    (epsilon, delta) is claimed.

    Args:
        n_dimensions: d.
        epsilon, delta: as claimed.
        noise_share: of the printed standard deviation; 0.5 is the authors' public code.

    Source:  own, closed form: the counterexample of this module.

    >>> round(hypercube_delta(100, epsilon=1.0, delta=1e-5), 4)
    0.0526
    """
    check_count(n_dimensions=n_dimensions)
    check_positive(epsilon=epsilon, noise_share=noise_share)
    check_probability(delta=delta)
    sd = noise_share * 1.75 * n_dimensions * math.sqrt(math.log(1.0 / delta)) / epsilon
    alone = 2.0 * float(ndtr(-math.sqrt(n_dimensions) / (2.0 * sd)))
    q = math.exp(n_dimensions * math.log(alone))
    return max(0.0, 1.0 - (1.0 + math.exp(epsilon)) * q / 2.0)
