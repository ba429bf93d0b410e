"""What people type into the ledger: names of data sets, and other text of one line."""

from __future__ import annotations

import unicodedata

from dpci_core.base.errors import LedgerTextError
from dpci_core.base.text import TextProblem, folded, line_problem, visible

MOST_CHARACTERS = 500
MOST_OF_PURPOSE = 100_000
"""Of what a charge is for: a fit writes out its settings there."""


def one_line(value: object, *, name: str, most: int = MOST_CHARACTERS) -> str:
    """Return one line of text without blanks around it, or raise LedgerError naming the field."""
    text = value.strip() if isinstance(value, str) else value
    problem = line_problem(text, most=most)
    if problem:
        raise LedgerTextError(name, problem)
    return str(text)


def dataset_name(value: object) -> str:
    """Return the name of a data set in Unicode form C, its runs of blanks as one."""
    text = " ".join(
        unicodedata.normalize("NFC", one_line(value, name="the name of the data set")).split()
    )
    if not name_key(text):
        raise LedgerTextError("the name of the data set", TextProblem("without_letters", text))
    return text


def name_key(name: str) -> str:
    """What two names share that differ only in case, blanks, punctuation, Unicode form or unseen
    characters.

    Such names are one data set.

    >>> name_key("Census-2020") == name_key(" ｃensus 2020\\ufe0f")
    True
    """
    return "".join(
        character
        for character in visible(folded(name))
        if unicodedata.category(character)[0] in "LMN"
    )
