"""The command `app`: the dashboard, started as Streamlit starts it, from any folder."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from dpci_core.base.places import HOME
from dpci_core.cli.command import Command, flag

PORT = 8501
"""Streamlit's own default."""


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65_535):
        raise argparse.ArgumentTypeError(
            f"Expected port={text!r} to be a whole number from 1 to 65535."
        )
    return int(text)


def command(port: int) -> list[str]:
    """What starts the dashboard; Streamlit reads the settings beside app.py, wherever it is
    started.
    """
    return [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(HOME / "app.py"),
        "--server.port",
        str(port),
    ]


def _run(options: argparse.Namespace) -> int:
    line = command(options.port)
    if os.name == "posix":
        os.execv(line[0], line)  # the server takes this process over, and with it every signal
    return subprocess.call(line)


APP = Command(
    name="app",
    help="start the dashboard in this terminal; Ctrl+C stops it",
    flags=(
        flag(
            "--port", type=_port, default=PORT, help=f"TCP port on this machine (default: {PORT})"
        ),
    ),
    run=_run,
)
