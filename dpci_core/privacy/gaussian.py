"""What noise that is exactly Gaussian promises: Gaussian differential privacy, in amounts of mu^2.

A release of L2 sensitivity s plus N(0, sd^2 I) is mu-GDP with mu = s/sd, and adaptive composition
adds the squares [DRS22 Theorem 2.7, Corollary 3.3], so amounts are mu^2 here: twice the rho of the
same noise. docs/proofs/release.md#definitions-and-composition says what of a release is of this
kind.

Each conversion is found in double precision and then proved in ball arithmetic (Arb) for the very
numbers that are returned, so that no rounding error is on the wrong side.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq
from scipy.special import log_ndtr

from dpci_core.base.errors import RangeError, check_positive, check_probability
from dpci_core.base.roots import find_root
from dpci_core.privacy.exact import PRECISION

_DIGITS = 12
"""Significant digits kept of a mu^2 that was solved for, rounded down."""
_FIRST_STEP = 2.0**-52
"""Relative, to the private side where a solution is not yet proved; each is twice the last."""
_SLACK = 1e-12
"""By which a mu^2 that was solved for is lowered: more than the epsilon of it moves by such steps.
"""
_BITS = (128, 512, 2048, 8192)
"""Working precisions of a proof, each tried where the one before says too little."""
_ENOUGH_BITS = 60
_PROTECTS_NOBODY = 1e12
"""A mu^2 above which the bound of zCDP stands for the exact epsilon: half of it, to six digits."""
_ROOT = {"xtol": 1e-15, "rtol": 1e-15}


def gdp_to_delta(mu_squared: float | Decimal, epsilon: float) -> float:
    """Return the smallest delta so that mu-GDP implies (epsilon, delta)-DP, rounded up.

    It is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), and no mu-GDP release has
    less where its sensitivity is attained.

    Args:
        mu_squared: > 0; a float is taken for the number it is.
        epsilon: >= 0.

    Source:  Dong, Roth, Su 2022, Corollary 2.13; Balle, Wang 2018, Theorem 8.

    >>> f"{gdp_to_delta(0.0625, 1.0):.6e}"
    '2.924272e-06'
    """
    check_positive(mu_squared=float(mu_squared))
    if not (epsilon >= 0 and math.isfinite(epsilon)):
        raise RangeError("epsilon", epsilon, 0.0)
    return min(1.0, _above(_proved_delta(Fraction(mu_squared), epsilon)))


def gdp_to_epsilon(mu_squared: float, delta: float) -> float:
    """Return the smallest epsilon so that mu-GDP implies (epsilon, delta)-DP, at least 0, rounded
    up.

    Args:
        mu_squared: > 0.
        delta: in (0, 1).

    Privacy: `gdp_to_delta` of what is returned is at most delta, proved in exact arithmetic.
    Source:  as for `gdp_to_delta`.

    >>> round(gdp_to_epsilon(0.25, 1e-6), 3)
    2.254
    """
    check_positive(mu_squared=mu_squared)
    check_probability(delta=delta)
    return _epsilon(float(mu_squared), float(delta))


@lru_cache(maxsize=1024)
def _epsilon(mu_squared: float, delta: float) -> float:
    exact, mu, log_delta = Fraction(mu_squared), math.sqrt(mu_squared), math.log(delta)
    if _is_within(exact, 0.0, delta):
        return 0.0
    # zCDP promises no more [BS16 Proposition 1.3], so this is far enough.
    high = mu_squared / 2.0 + mu * math.sqrt(-2.0 * log_delta)
    if mu_squared > _PROTECTS_NOBODY:
        return high * (1.0 + _SLACK)
    low = 0.0
    if _log_delta(mu, high) < log_delta < _log_delta(mu, low):
        high = find_root(lambda x: _log_delta(mu, x) - log_delta, low, high, **_ROOT)
        high = _newton_step(exact, _newton_step(exact, high, delta), delta)
    step, epsilon = _FIRST_STEP, high
    while not _is_within(exact, epsilon, delta):
        epsilon = high * (1.0 + step)
        step *= 2.0
    return epsilon


def epsilon_to_gdp(epsilon: float, delta: float, *, at_least: Decimal) -> Decimal:
    """Return the largest mu^2 whose conversion at `delta` does not exceed `epsilon`, rounded down.

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        at_least: a mu^2 that is known to do, > 0.

    Privacy: the post-condition gdp_to_epsilon(mu^2, delta) <= epsilon is checked, not assumed, for
             the next float above mu^2.
    """
    check_positive(epsilon=epsilon)
    check_probability(delta=delta)
    return _mu_squared(float(epsilon), float(delta), at_least)


@lru_cache(maxsize=1024)
def _mu_squared(epsilon: float, delta: float, at_least: Decimal) -> Decimal:
    log_delta = math.log(delta)

    def excess(log_mu: float) -> float:
        return _log_delta(math.exp(log_mu), epsilon) - log_delta

    low = math.log(float(at_least)) / 2.0
    high = low + 0.25
    while excess(high) < 0.0:
        high += 0.25
    found = 2.0 * (find_root(excess, low, high, **_ROOT) if excess(low) < 0.0 else low)
    down = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    step = _SLACK
    while True:
        amount = down.create_decimal_from_float(math.exp(found) * (1.0 - step))
        if amount <= at_least:
            return at_least
        if gdp_to_epsilon(math.nextafter(float(amount), math.inf), delta) <= epsilon:
            return amount
        step *= 2.0


def gdp_to_pure_epsilon(mu_squared: float) -> float:
    """Return the largest epsilon so that epsilon-DP implies mu-GDP, rounded down.

    It is log(Phi(mu/2) / Phi(-mu/2)): of all epsilon-DP mechanisms randomised response tells the
    most, and its two kinds of error, each 1/(1 + e^epsilon), lie on the curve of mu-GDP then.

    Args:
        mu_squared: > 0.
    """
    check_positive(mu_squared=mu_squared)
    half = math.sqrt(mu_squared) / 2.0
    return float(log_ndtr(half) - log_ndtr(-half)) * (1.0 - _SLACK)


def _log_delta(mu: float, epsilon: float) -> float:
    """log of the delta at epsilon, to some 1e-14 / mu; nothing rests on it that is not proved."""
    a = mu / 2.0 - epsilon / mu
    first, second = float(log_ndtr(a)), epsilon + float(log_ndtr(a - mu))
    # Rounding can take the two for equal where mu is tiny; the difference is above 0.
    return first + math.log(max(-math.expm1(min(second - first, 0.0)), 5e-324))


def _newton_step(mu_squared: Fraction, epsilon: float, delta: float) -> float:
    """An epsilon nearer to where the delta is reached: the slope is -e^epsilon Phi(-mu/2 -
    epsilon/mu).
    """
    first, second = _two_parts(mu_squared, epsilon)
    with PRECISION, ctx.workprec(_BITS[0]):
        moved = float(epsilon + (first - second - arb(delta)) / second)
    return moved if moved > 0.0 else epsilon


def _is_within(mu_squared: Fraction, epsilon: float, delta: float) -> bool:
    """Whether the delta at epsilon is at most `delta`, beyond doubt."""
    return bool(_proved_delta(mu_squared, epsilon) <= arb(delta))


def _proved_delta(mu_squared: Fraction, epsilon: float) -> Any:
    """A ball that holds the delta of this mu^2 at this epsilon."""
    first, second = _two_parts(mu_squared, epsilon)
    with PRECISION, ctx.workprec(_BITS[-1]):
        return first - second


def _two_parts(mu_squared: Fraction, epsilon: float) -> tuple[Any, Any]:
    """Balls that hold Phi(mu/2 - epsilon/mu) and e^epsilon Phi(-mu/2 - epsilon/mu)."""
    for bits in _BITS:
        with PRECISION, ctx.workprec(bits):
            mu = arb(fmpq(mu_squared.numerator, mu_squared.denominator)).sqrt()
            root, loss = arb(2).sqrt(), arb(epsilon)
            near, far = (loss / mu - mu / 2) / root, (loss / mu + mu / 2) / root
            first, second = near.erfc() / 2, loss.exp() * far.erfc() / 2
            if (first - second).rel_accuracy_bits() >= _ENOUGH_BITS:
                break
    return first, second


def _above(ball: Any) -> float:
    """A float that no number of a ball exceeds."""
    with PRECISION, ctx.workprec(_BITS[0]):
        top = ball.upper()
        nearest = float(top)
        return nearest if bool(top <= arb(nearest)) else math.nextafter(nearest, math.inf)
