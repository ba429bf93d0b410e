"""Sums that kill or fail their worker; in a module of their own, which workers import quickly."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpci_core.base.batches import Place


@dataclass(frozen=True)
class Deadly:
    """Kills the worker that meets its batch first, once."""

    measure: Any
    marker: Path
    at: int = 2

    def __call__(self, place: Place) -> Any:
        if place.index == self.at and not self.marker.exists():
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.measure(place)


@dataclass(frozen=True)
class AlwaysDeadly:
    """Kills every worker that it meets."""

    def __call__(self, place: Place) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Faulty:
    """Fails as a reader may, with the value of a cell in its message."""

    def __call__(self, place: Place) -> Any:
        raise ValueError("cell 31337-secret")
