"""What the tests of the release share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.release_example import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.at(tmp_path)
