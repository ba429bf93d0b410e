"""What people type into the ledger: names of data sets, and other text of one line."""

from __future__ import annotations

import unicodedata

from dpci_core.base.errors import LedgerTextError

MOST_CHARACTERS = 500
_REFUSED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Control, invisible, unassigned: two names could look the same, or a line could be two."""


def one_line(value: object, *, name: str) -> str:
    """Return text of one visible line without blanks around it, or raise LedgerError naming the field."""
    if not isinstance(value, str):
        raise LedgerTextError(name, f"be text, got {type(value).__name__}")
    text = value.strip()
    if not text:
        raise LedgerTextError(name, "say something, got only blanks")
    if len(text) > MOST_CHARACTERS:
        raise LedgerTextError(name, f"have at most {MOST_CHARACTERS} characters, got {len(text)}")
    if any(unicodedata.category(character) in _REFUSED for character in text):
        raise LedgerTextError(name, f"be one line of visible characters, got {value!r}")
    return text


def dataset_name(value: object) -> str:
    """Return the name of a data set in Unicode form C, its runs of blanks as one."""
    text = " ".join(unicodedata.normalize("NFC", one_line(value, name="the name of the data set")).split())
    if not name_key(text):
        raise LedgerTextError("the name of the data set", f"have a letter or a digit, got {text!r}")
    return text


def name_key(name: str) -> str:
    """What two names share that differ only in case, blanks, punctuation or Unicode form; such names are one data set.

    >>> name_key("Census-2020") == name_key(" ｃensus 2020")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(character for character in folded if unicodedata.category(character)[0] in "LMN")
