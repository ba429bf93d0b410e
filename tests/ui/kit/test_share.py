"""The QR code of a link: made here, and to be read in both themes."""

from __future__ import annotations

import re

import segno

from ui.kit.palette import SCANNED
from ui.kit.share import code

LINK = "http://127.0.0.1:8501/learn?screen=odds&value=1"


def test_the_code_holds_the_link_dark_on_light_with_a_quiet_border():
    """Every dark module of the link's code is a stroke of the picture, four modules from its
    edge.
    """
    drawn = code(LINK)
    assert SCANNED["dark"][:4] in drawn
    assert re.search(r'fill="#fff(fff)?"', drawn, re.IGNORECASE)
    expected = {
        (x + 4, y + 4)
        for y, row in enumerate(segno.make(LINK, error="m", micro=False).matrix)
        for x, is_dark in enumerate(row)
        if is_dark
    }
    assert modules(drawn) == expected


def modules(drawn: str) -> set[tuple[int, int]]:
    """The dark squares that the strokes of a code cover."""
    (path,) = re.findall(r'class="qrline"[^>]*d="([^"]+)"|d="(M4[^"]+)"', drawn)
    x = y = 0.0
    found = set()
    for kind, numbers in re.findall(r"([Mmh])([-\d. ]+)", "".join(path)):
        values = [float(part) for part in numbers.split()]
        if kind == "M":
            x, y = values
        elif kind == "m":
            x, y = x + values[0], y + values[1]
        else:
            found |= {(round(x) + i, int(y)) for i in range(round(values[0]))}
            x += values[0]
    return found


def test_another_link_has_another_code():
    assert code(LINK) != code(LINK + "0")
