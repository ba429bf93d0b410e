"""How long a booking takes, which checks every entry, on ledgers of some lengths, in one run."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from dpci_core.ledger import Cap, Cost, Ledger
from tests.ledger_lab import charge

COST = Cost(definition="zcdp", amount="0.0001")


def fill(ledger: Ledger, n_entries: int) -> None:
    """Charges up to so many entries, in one transaction."""
    with ledger._writing() as transaction:
        while transaction.last is not None and transaction.last.sequence < n_entries:
            transaction.write(
                "booked",
                person="Ada",
                account=1,
                cost_definition="zcdp",
                cost_amount="0.0001",
                cost_lines="[]",
                spent="0.0001",
                purpose="model",
                plan_hash="p",
                request_id=f"filled {transaction.last.sequence}",
            )


def seconds(task: Callable[[int], object], repeats: int) -> float:
    """Median time of one call."""
    times = []
    for k in range(repeats):
        start = time.perf_counter()
        task(k)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[100, 1_000, 9_000])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("| entries | one booking | of the first row | what remains | check of all |")
    print("|---:|---:|---:|---:|---:|")
    with TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.sqlite", key_path=Path(folder) / "key")
        given = {"schema_hash": "s", "unit": "one row is one person", "person": "Ada"}
        ledger.create_dataset("Census", cap=Cap.zcdp(1000), **given)
        first = 0.0
        for n in options.entries:
            fill(ledger, n)
            took = seconds(lambda k, n=n: charge(ledger, f"{n}/{k}", COST), options.repeats)
            first = first or took
            left = seconds(lambda k: ledger.remaining("Census"), options.repeats)
            whole = seconds(lambda k: ledger.verify(), 1)
            print(f"| {n:,} | {took:.3f} s | {took / first:.1f} | {left:.3f} s | {whole:.2f} s |")


if __name__ == "__main__":
    main()
