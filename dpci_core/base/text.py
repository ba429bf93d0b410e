"""What people type, by one rule: titles of plans, names in the ledger, headings of tables.

One line of text holds visible characters and blanks, and no two lines that look the same differ:

- Refused are line ends, control and format characters (soft hyphens, zero-width blanks, marks that
  turn the direction), half characters, private and unassigned ones.
- The two joiners U+200C and U+200D are format characters that writing needs. They may stand where
  they change what is seen, and nowhere else: between Arabic letters (U+200C only), beside a virama
  of an Indian script, and between two emoji (U+200D only) [UAX 31 section 2.3; UTS 51].
- Variation selectors and fillers are letters or marks for Unicode, though nobody sees them. They
  may stand in a line, but do not make it say something, and `visible` leaves them and the joiners
  out: names that must differ are compared by it, so that no budget is spent twice under two
  names that look the same.

Names of columns and levels in a schema are not held to it: they have to be what the table holds.
"""

from __future__ import annotations

import math
import unicodedata
from typing import Literal, NamedTuple

_REFUSED = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories of what is no character of a line."""
_NON_JOINER, _JOINER = "\u200c", "\u200d"
_SKIN_TONES = range(0x1F3FB, 0x1F400)
UNSEEN = (
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180F, 0x3164, 0xFFA0}
    | set(range(0x180B, 0x180E))
    | set(range(0xFE00, 0xFE10))
    | set(range(0xE0100, 0xE01F0))
)
"""Letters and marks that are not drawn: Unicode's Default_Ignorable_Code_Point outside Cf and
Cn.
"""
_VIRAMA = 9
"""Combining class of the sign that joins letters of Indian scripts."""


TextCode = Literal["another_type", "too_long", "broken", "unreadable", "empty", "without_letters"]


class TextProblem(NamedTuple):
    """What is wrong with a text: found, a type, a length or a character; limit, of the length."""

    code: TextCode
    found: object = None
    limit: float | None = None


def line_problem(text: object, *, most: float = math.inf) -> TextProblem | None:
    """What keeps a value from being one line that says something, None if nothing does.

    >>> line_problem("Wages", most=200)
    >>> line_problem("co\\u00adop", most=200)
    TextProblem(code='unreadable', found='U+00AD (soft hyphen)', limit=None)
    """
    problem = text_problem(text, most=most)
    if problem or not isinstance(text, str):
        return problem
    bad = next((c for at, c in enumerate(text) if not _may_stand(text, at)), None)
    if bad is None:
        return None if any(map(_is_seen, text)) else TextProblem("empty")
    name = unicodedata.name(bad, "a control character").lower()
    return TextProblem("unreadable", f"U+{ord(bad):04X} ({name})")


def text_problem(text: object, *, most: float = math.inf) -> TextProblem | None:
    """Return what keeps a file from holding a text of any number of lines, None if nothing does."""
    if not isinstance(text, str):
        return TextProblem("another_type", type(text).__name__)
    if len(text) > most:
        return TextProblem("too_long", len(text), most)
    if any(unicodedata.category(c) == "Cs" for c in text):
        return TextProblem("broken")
    return None


def beginning(text: str, most: int = 80) -> str:
    """A text where there is room for its beginning only.

    >>> beginning("a long purpose", 7)
    'a long…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def folded(text: str) -> str:
    """What texts share that differ only in case or Unicode form: folding takes some letters
    apart.
    """
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def one_i(text: str) -> str:
    """A folded text with one letter i: folding leaves the two of Turkish."""
    return text.replace("\u0131", "i").replace("i\u0307", "i")


def visible(text: str) -> str:
    """A text without the characters that nobody sees.

    >>> visible("Census\\ufe0f"), visible("a b")
    ('Census', 'a b')
    """
    return "".join(c for c in text if _is_seen(c) or unicodedata.category(c)[0] == "Z")


def _is_seen(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] not in "CZ" and ord(character) not in UNSEEN


def _may_stand(text: str, at: int) -> bool:
    character = text[at]
    if unicodedata.category(character) not in _REFUSED:
        return True
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if character not in (_NON_JOINER, _JOINER) or not before or not after:
        return False
    if _VIRAMA in (unicodedata.combining(before), unicodedata.combining(after)):
        return True
    if character == _NON_JOINER:
        return unicodedata.bidirectional(before) == unicodedata.bidirectional(after) == "AL"
    is_emoji = unicodedata.category(before) == "So" or ord(before) in {0xFE0F, *_SKIN_TONES}
    return is_emoji and unicodedata.category(after) == "So"
