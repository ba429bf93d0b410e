"""Which plan an approval is of: its text ends in the beginning of that plan's hash.

An approval is a line of text, which anybody can write: it keeps a plan from being changed by
mistake after somebody read it, and is no signature. Where another person has to agree, the ledger
asks for the whole hash.
"""

from __future__ import annotations

import re

_LENGTH = 12
"""Hexadecimal digits of a hash that an approval names."""
_NAMED = re.compile(rf"\(plan ([0-9a-f]{{{_LENGTH},64}})\)")


def approval_of(digest: str, *, person: str, day: str) -> str:
    """Return the approval of the plan with this digest, by a person on a day.

    >>> approval_of("0123456789abcdef", person="Ada", day="2026-01-31")
    'Approved by Ada on 2026-01-31 (plan 0123456789ab).'
    """
    return f"Approved by {person} on {day} (plan {digest[:_LENGTH]})."


def is_of_another(approved: str, digest: str) -> bool:
    """Return whether an approval names another plan than the one with this digest. One that names
    none is of whichever plan it stands in.

    >>> is_of_another("Approved by Ada (plan 0123456789ab).", "0123456789abcdef")
    False
    >>> is_of_another("Approved by Ada (plan 0123456789ab).", "f123456789abcdef")
    True
    >>> is_of_another("Approved by Ada (plan 123456789abc).", "0123456789abcdef")
    True
    """
    return any(not digest.startswith(named) for named in _NAMED.findall(approved.casefold()))
