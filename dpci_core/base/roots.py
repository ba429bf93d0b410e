"""A root of a function of one number between two that enclose it."""

from __future__ import annotations

from collections.abc import Callable


def find_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    xtol: float = 2e-12,
    rtol: float = 8.881784197001252e-16,
) -> float:
    """Return where the function is zero, by Brent's method.

    Args:
        function: continuous, of opposite signs at the two ends.
        low, high: the ends.
        xtol, rtol: absolute and relative error of the root.

    Raises:  ValueError where both ends have the same sign.
    """
    from scipy.optimize import brentq  # takes as long as half of this package

    return float(brentq(function, low, high, xtol=xtol, rtol=rtol))
