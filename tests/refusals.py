"""Refusals as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dpci_core.report.refusals import said


@contextmanager
def refuses(kind: type[Exception], *, match: str) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Like `pytest.raises`, with a pattern for the sentence that people are shown."""
    with pytest.raises(kind) as caught:
        yield caught
    assert re.search(match, said(caught.value)), said(caught.value)
