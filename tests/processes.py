"""Processes of their own for tests that kill them or let them race."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def found_by(module: str, what: str, folder: Path, rounds: int) -> Any:
    """What a module of tests, run as a program, prints as JSON; nothing else may be said."""
    run = subprocess.run(
        [sys.executable, "-m", module, what, str(folder), str(rounds)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    return json.loads(run.stdout)
