"""Round numbers for axes, and how they are written."""

from __future__ import annotations

import math

Tick = tuple[float, str]

_FEW_DECADES = 3.2
"""Up to so many powers of ten 1, 2 and 5 of each are written, beyond only the powers."""
_ONE_STEP = 0.45
"""Below so much of a power of ten a logarithmic axis is nearly straight, and its ticks are those of
a straight one.
"""


_SMALL = 1e-4
"""Numbers below are written as powers of ten."""


def written(value: float) -> str:
    """A number at an axis: in full, with commas, powers of ten only where zeros could not be
    counted.

    >>> [written(v) for v in (0.2, 1, 2000, 1e6, 1e-5, -0.0)]
    ['0.2', '1', '2,000', '1,000,000', '1e-5', '0']
    """
    if value == 0:
        return "0"
    if abs(value) < _SMALL:
        return f"{value:.6g}".replace("e-0", "e-")
    if abs(value) >= 1e7:
        return f"{value:.6g}".replace("e+0", "e").replace("e+", "e")
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def straight(low: float, high: float, most: int = 7) -> list[Tick]:
    """Ticks of a straight axis, 1, 2 or 5 times a power of ten apart.

    >>> [label for _, label in straight(-0.31, 1.02)]
    ['-0.2', '0', '0.2', '0.4', '0.6', '0.8', '1.0']
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, -math.floor(math.log10(step)))
    values = [round(k * step, digits) for k in range(first, last + 1)]
    if max(abs(low), abs(high)) < _SMALL:
        return [(value, written(value)) for value in values]
    labels = [f"{value:,.{digits}f}" for value in values]
    keep = digits if any(label[-1] != "0" for label in labels) else digits - 1
    return [(v, f"{v:,.{max(keep, 0)}f}" if v else "0") for v in values]


def logarithmic(low: float, high: float) -> list[Tick]:
    """Ticks of a logarithmic axis: 1, 2 and 5 times each power of ten, written out.

    >>> [label for _, label in logarithmic(0.18, 11)]
    ['0.2', '0.5', '1', '2', '5', '10']
    >>> [label for _, label in logarithmic(100, 1_000_000)]
    ['100', '1,000', '10,000', '100,000', '1,000,000']
    """
    decades = math.log10(high / low)
    if decades < _ONE_STEP:
        return straight(low, high, most=5)
    steps = (1, 2, 5) if decades <= _FEW_DECADES else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [float(f"{m}e{power}") for power in powers for m in steps]
    inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
    return [(value, written(value)) for value in inside]
