"""Versions of what is installed, also while others change the search path."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from dpci_core.base.extras import version_of

NOWHERE = "/nowhere"


class Changing(list[str]):
    """A search path of which another thread takes the first entry while it is gone through."""

    def __iter__(self) -> Iterator[str]:
        for entry in super().__iter__():
            yield entry
            if entry == NOWHERE:
                self.remove(entry)


def test_a_package_is_found_while_the_search_path_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does on a server whenever a run of a script ends."""
    right, folder = version("numpy"), str(Path(np.__file__).parents[1])
    for look, is_found in ((version_of, True), (version, False)):
        monkeypatch.setattr(sys, "path", Changing([NOWHERE, folder]))
        if is_found:
            assert look("numpy") == right
        else:
            with pytest.raises(PackageNotFoundError):
                look("numpy")


def test_what_is_not_installed_is_said_by_name() -> None:
    with pytest.raises(PackageNotFoundError, match="no-such-package"):
        version_of("no-such-package")
