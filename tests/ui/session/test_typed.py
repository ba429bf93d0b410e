"""Numbers as they are typed: what is written is read as the same number."""

from __future__ import annotations

import math
import sys

import pytest

from ui.session.typed import number_in, whole_in, written


@pytest.mark.parametrize(
    ("value", "entry"),
    [
        (18, "18"),
        (18.0, "18"),
        (1_000_000.0, "1000000"),
        (0.1 + 0.2, "0.30000000000000004"),
        (1e22, "1e+22"),
        (-1e-7, "-1e-07"),
        (sys.float_info.max, "1.7976931348623157e+308"),
        (math.ulp(0.0), "5e-324"),
    ],
)
def test_a_number_is_written_so_that_it_is_read_as_the_same(value: float, entry: str):
    assert written(value, None) == entry
    assert number_in(entry) == value


def test_a_number_beyond_the_limits_is_refused_in_words():
    assert number_in("1", (1.0, 2.0)) == 1.0
    with pytest.raises(ValueError, match="Type a number from 1 to 2,000"):
        number_in("1e12", (1.0, 2_000.0))
    with pytest.raises(ValueError, match="Type a number from 1 to 2,000"):
        whole_in("3,000", (1, 2_000))
