"""How every command ends that cannot do what was asked."""

from __future__ import annotations

import sys

from dpci_core.plan import PlanFieldError
from dpci_core.report.refusals import said


def refuse(error: Exception, advice: str = "") -> int:
    """Say why on the error output, and return exit code 1."""
    if isinstance(error, PlanFieldError) and isinstance(error.problem, Exception):
        print(f"{error.field}: {said(error.problem)}".removeprefix(": "), file=sys.stderr)
    else:
        print(f"{said(error)}{advice}", file=sys.stderr)
    return 1
