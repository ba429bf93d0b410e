"""Choosing by random stopping: K runs of one private procedure, K drawn beforehand, and the run
with the best score is released.

K has a truncated negative binomial law with shape eta >= 0 and stopping chance gamma: its
generating function is f(x) = ((1 - (1 - gamma) x)^-eta - 1) / (gamma^-eta - 1), and
ln(1 - (1 - gamma) x) / ln gamma for eta = 0. eta = 1 is geometric [Liu and Talwar 2019].
"""

from __future__ import annotations

import math

from dpci_core.base.errors import check_positive

_STEPS = 200
"""Halvings of an interval: more than a double has bits."""
_UP = 1.0 + 2.0**-40


def repeated_price(run: float, *, shape: float, stop: float) -> float:
    """Return the epsilon of the best of K runs that are `run`-DP each, rounded up.

    run + (1 + eta) ln((e^run + gamma) / (1 + gamma e^run)), below (2 + eta) run.

    Args:
        run: epsilon of one run: draw a candidate, train it, score it (> 0).
        shape, stop: of K.

    Privacy: exact: three-outcome runs attain it. K must be drawn independently of the data and
             never be cut.
    Source:  own (docs/proofs/selection.md#random-stopping); Papernot and Steinke 2022, Corollary 3,
             have the bound (2 + eta) run.

    >>> round(repeated_price(0.3803, shape=1, stop=0.1), 3)
    1.0
    """
    check_positive(run=run)
    _check(shape, stop)
    # ln((e^x + g)/(1 + g e^x)) without overflow: ln(1 + g e^-x) - ln(e^-x + g)
    small = math.exp(-run)
    gain = math.log1p(stop * small) - math.log(small + stop)
    return (run + (1.0 + shape) * gain) * _UP


def repeated_run(total: float, *, shape: float, stop: float) -> float:
    """Return the largest epsilon of one run whose `repeated_price` is at most `total`.

    >>> round(repeated_run(1, shape=1, stop=0.1), 4), round(repeated_run(3, shape=1, stop=0.1), 4)
    (0.3803, 1.1649)
    """
    check_positive(total=total)
    _check(shape, stop)
    low, high = 0.0, float(total)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        if repeated_price(middle, shape=shape, stop=stop) <= total:
            low = middle
        else:
            high = middle
    return low


def _check(shape: float, stop: float) -> None:
    if not 0.0 <= shape <= 100.0:
        raise ValueError(
            f"Expected 0 <= shape={shape!r} <= 100; below 0 most choices are made of one run."
        )
    if not 0.0 < stop < 1.0:
        raise ValueError(f"Expected 0 < stop={stop!r} < 1.")
