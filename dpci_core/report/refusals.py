"""What the core refuses by a code, in sentences: pages and the command line say the same."""

from __future__ import annotations

from collections.abc import Callable

from dpci_core.base.errors import CodedError, Finding, TextError, sentence
from dpci_core.base.text import TextCode

_TEXTS: dict[TextCode, str] = {
    "another_type": "be a text, got {found}",
    "too_long": "have at most {limit} characters, got {found}",
    "broken": "be readable text: half a character is in it",
    "unreadable": "be one line of readable characters, got {found}",
    "empty": "say something",
    "without_letters": "have a letter or a digit, got {found!r}",
}
"""What a text has to do."""


def said(
    problem: BaseException | Finding, inner: Callable[[BaseException], str] | None = None
) -> str:
    """Why something was refused, or what was found, in a sentence of its code and facts; else the
    error's own.

    Args:
        inner: says an error among the facts (default: this function).

    >>> said(CodedError("another_number_of_fields", row=7, found=3, wanted=4))
    'Line 7 has another number of fields (3) than the first line (4).'
    """
    if isinstance(problem, CodedError | Finding):
        return sentence(problem, inner or said)
    if isinstance(problem, TextError):
        return f"Expected {problem.name} to {text_rule(problem)}."
    return str(problem)


def text_rule(problem: TextError) -> str:
    """What a text has to do, to stand after "to"."""
    return _TEXTS[problem.problem.code].format(**problem.problem._asdict())
