"""What must be known of records that earlier versions of this program released."""

from __future__ import annotations

from dpci_core.base.errors import Finding


def caution_of(version: object, definition: object) -> Finding | None:
    """What whoever holds a record of this version and definition must know; None for nothing.

    Pure releases whose record has version 1 left traces of records in their matrices. A version
    that cannot be read is taken for the first.
    """
    is_exact = isinstance(version, int) and not isinstance(version, bool) and version >= 2
    return Finding("matrices_leak") if not is_exact and definition != "zcdp" else None
