"""Numbers in sentences that promise."""

from __future__ import annotations

import math

from dpci_core.report.words import number_at_most


def test_a_promised_number_is_never_below_what_it_stands_for() -> None:
    for exponent in range(-40, 60):
        x = 1.2345678 * 10.0 ** (exponent / 10.0)
        assert x <= float(number_at_most(x).replace(",", "")) <= 1.01 * x
    assert number_at_most(math.inf) == "-"
