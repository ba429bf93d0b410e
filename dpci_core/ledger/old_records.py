"""What must be known of records that earlier versions of this program released."""

from __future__ import annotations

MATRICES_LEAK = (
    "It was made by an earlier version, whose noise under pure differential privacy left traces of "
    "single records in the last digits of both matrices. Do not publish it as it is, and withdraw "
    "it where it is public: keep the coefficients, and the intervals rounded to four digits. "
    "SECURITY.md says why and how."
)
"""Of pure releases whose record has version 1."""


def caution_of(version: object, definition: object) -> str:
    """What whoever holds a record of this version and definition must know; empty for nothing.

    A version that cannot be read is taken for the first.
    """
    is_exact = isinstance(version, int) and not isinstance(version, bool) and version >= 2
    return MATRICES_LEAK if not is_exact and definition != "zcdp" else ""
