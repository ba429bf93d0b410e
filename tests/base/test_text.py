"""One line of text: what may stand on it, and that nothing unseen tells two names apart."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from dpci_core.base.errors import TextError
from dpci_core.base.text import TextProblem, line_problem, text_problem, visible
from dpci_core.ledger.names import name_key
from dpci_core.report.refusals import text_rule

FAMILY = "\U0001f469\u200d\U0001f467"
LINES = {
    "joined emoji": FAMILY,
    "a skin tone": "\U0001f469\U0001f3fd\u200d\U0001f680 crew",
    "a selector": "\u2764\ufe0f\u200d\U0001f525",
    "Persian": "می\u200cخواهم",
    "a conjunct": "क्\u200dष",
    "a French blank": "Durée\u00a0: 5\u202f%",
    "decomposed": "Zu\u0308rich",
}
NO_LINES = {
    "soft hyphen": "co\u00adop",
    "non-joiner between Latin letters": "a\u200cb",
    "joiner between Latin letters": "a\u200db",
    "joiner between Arabic letters": "م\u200dی",
    "two joiners": "می\u200c\u200cخ",
    "joiner after an emoji": "\U0001f469\u200d",
    "joiner before an emoji": "\u200d\U0001f469",
    "direction": "a\u200eb",
    "turned": "a\u202eb",
    "two lines": "a\nb",
    "private": "\ue000",
    "unassigned": "\u0378",
    "half a character": "\ud800",
}


@pytest.mark.parametrize("text", LINES.values(), ids=LINES)
def test_what_is_written_somewhere_is_a_line(text: str) -> None:
    assert line_problem(text) is None


@pytest.mark.parametrize("text", NO_LINES.values(), ids=NO_LINES)
def test_what_hides_a_difference_is_none(text: str) -> None:
    assert line_problem(text)


def test_the_sentence_names_the_character() -> None:
    def rule(problem: TextProblem | None) -> str:
        assert problem is not None
        return text_rule(TextError("title", problem))

    assert rule(line_problem("co\u00adop")).endswith("got U+00AD (soft hyphen)")
    assert rule(line_problem("a\nb")).endswith("got U+000A (a control character)")
    assert rule(line_problem("abc", most=2)) == "have at most 2 characters, got 3"
    assert rule(line_problem(3)) == rule(text_problem(3)) == "be a text, got int"
    assert text_problem("a\nb\u00ad") is None


@pytest.mark.parametrize("text", ["", " ", "\u00a0", "\u3164", "\ufe0f", "\u115f\u1160"])
def test_what_nobody_sees_says_nothing(text: str) -> None:
    assert line_problem(text) == TextProblem("empty")


def test_no_unseen_character_tells_two_names_apart() -> None:
    """Of every character there is: allowed between letters or not, it makes no second data set."""
    for first in range(0, sys.maxunicode + 1, 1024):
        block = "".join(map(chr, range(first, first + 1024)))
        seen = set(visible(block))
        unseen = "".join(character for character in block if character not in seen)
        assert name_key(f"a{unseen}b") == name_key("ab"), hex(first)
        for character in seen:
            if unicodedata.category(character)[0] != "Z":
                assert line_problem(character) is None, hex(ord(character))
    for text in (FAMILY, LINES["Persian"]):
        assert name_key(f"census {text}") == name_key(
            f"census {text}".replace("\u200d", "").replace("\u200c", "")
        )
