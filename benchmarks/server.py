"""A free port on this machine."""

from __future__ import annotations

import socket


def free_port() -> int:
    """Return a TCP port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
