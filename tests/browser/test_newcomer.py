"""First contact: three questions from the start page, few clicks, and the screen says what the core
says.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.newcomer import MOST_CLICKS, QUESTIONS, Found, ask

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.words)
def test_a_newcomer_finds_the_answer_of_the_core_in_a_few_clicks(open_page, server, question):
    found = ask(open_page("/"), server, question)
    assert found.clicks <= MOST_CLICKS
    assert found.is_right, found


def test_a_wrong_answer_on_the_screen_would_be_noticed():
    right = Found(shown=(0.337, 12_345.0), expected=(0.33742, 12_345.0), clicks=1, seconds=1.0)
    assert right.is_right
    for shown in ((0.341, 12_345.0), (0.337, 12_346.0), (0.337,), ()):
        assert not replace(right, shown=shown).is_right
