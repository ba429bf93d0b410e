"""The two tables of docs/security.md: what `make soak` counted, and what one process takes.

`python -m benchmarks.security` prints them from docs/soak.json and from the code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ui.session.jobs import MOST_HELD, MOST_WAITING
from ui.session.quota import MB, Quota, most_minutes

SOAK = Path(__file__).resolve().parents[1] / "docs" / "soak.json"
Found = dict[str, Any]
_IN_ORDER = ("may go on, went on", "done, released")


def table(soak: dict[str, Found]) -> str:
    """What was tried, from the file of `make soak`."""
    rows = [("what was tried", "tries", "faults", "what came of it", "command"), *_counted(soak)]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---|---:|---:|---|---|", *lines[1:]])


def _counted(soak: dict[str, Found]) -> Iterator[tuple[str, str, str, str, str]]:
    """A row each."""
    kills = soak["tests/release/test_attacks.py::test_killed_a_thousand_times"]["found"]
    yield (
        "releases killed at each stage and at any moment, asked again",
        f"{sum(kills['outcomes'].values()):,}",
        f"{len(kills['faults'])}",
        f"{kills['charges']:,} charges, {kills['draws']:,} draws, none twice",
        "`make soak`: `test_killed_a_thousand_times`",
    )
    ends = [one["outcomes"] for name, one in soak.items() if "test_sigterm.py" in name]
    yield (
        "a live server told to end in mid-release, and started again",
        f"{sum(sum(one.values()) for one in ends)}",
        f"{sum(n for one in ends for end, n in one.items() if end not in _IN_ORDER)}",
        "before its draw it went on with its charge, after it the result was there",
        "`make soak`: `test_a_server_told_to_end_in_mid_release`",
    )
    guesses = [
        [int(n) for n in re.findall(r"(?:right|wrong) (\d+)", one[matrix])]
        for name, one in soak.items()
        if "test_last_bits.py" in name
        for matrix in ("hessian", "covariance")
    ]
    failed = sum("test_last_bits" in k and one["outcome"] != "passed" for k, one in soak.items())
    right, wrong = (sum(pair[k] for pair in guesses) for k in (0, 1))
    yield (
        "which of two neighbouring tables, guessed from the last bits of a matrix",
        f"{right + wrong:,}",
        f"{failed}",
        f"{right:,} right, {wrong:,} wrong: a coin's",
        "`make soak`: `test_last_bits.py`",
    )
    audits = [one["log ratio, at least"] for name, one in soak.items() if "long_audit" in name]
    yield (
        "whole releases at ε = 2 on two neighbouring tables, 20,000 a side",
        f"{40_000 * len(audits):,}",
        f"{sum(one > 2.0 for one in audits)}",
        f"log odds of at least {max(audits):g} seen, at most 2 promised",
        "`make soak`: `test_a_long_audit_of_whole_releases`",
    )


def quotas() -> str:
    """What one process takes by default, as the code has it, and on a public demo."""
    usual, demo = ({"DPCI_VISITORS": "200"}, {"DPCI_PUBLIC_DEMO": "1", "DPCI_VISITORS": "200"})
    own, open_ = Quota.from_environment(usual), Quota.from_environment(demo)
    rows = (
        ("open pages", f"{own.visitors}", f"{open_.visitors}"),
        ("open pages of one address", f"{own.visitors_each}", f"{open_.visitors_each}"),
        ("MB of one file", f"{own.upload // MB}", f"{open_.upload // MB}"),
        (
            "MB of the files of a session",
            f"{own.upload_session // MB}",
            f"{open_.upload_session // MB}",
        ),
        ("MB of all files", f"{own.upload_all // MB}", f"{open_.upload_all // MB}"),
        (
            "minutes of a simulation while others wait",
            f"{most_minutes(usual)}",
            f"{most_minutes(demo)}",
        ),
        ("simulations that wait", f"{MOST_WAITING}", f"{MOST_WAITING}"),
        ("of these of one address", f"{MOST_WAITING // 2}", f"{MOST_WAITING // 2}"),
        ("MB of the tables of these", f"{MOST_HELD // MB}", f"{MOST_HELD // MB}"),
    )
    head = ["| at most | default | public demo |", "|---|---:|---:|"]
    return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])


if __name__ == "__main__":
    print(table(json.loads(SOAK.read_text())), quotas(), sep="\n\n")
