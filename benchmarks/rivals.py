"""This project's intervals beside noisy gradient descent and noisy Newton: length and coverage of
the penalised logistic coefficient, same table, same total, same replicates.

    python -m benchmarks.rivals [--runs 500] [--only adult-10 ...] [--rho 0.1875 ...] [--write]

prints the table of `data/rivals.csv`; with --write it first measures what is missing there. A
Newton is searched and measured in a minute, a gradient descent in three. docs/rivals.md says what
the methods are.
"""

from __future__ import annotations

import argparse
import time

from dpci_core.studies.compare import SETS
from dpci_core.studies.rivals.rows import CELLS, METHODS, append_measured, read_measured

SEED = 20_261_122


def table() -> list[str]:
    """What is on file, in Markdown: mean length / mean coverage / smallest coverage."""
    rows = read_measured()
    lines = [f"| table, ρ | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for cell in CELLS:
        found = [rows.get((cell, method)) for method in METHODS]
        told = (
            f"{row.ci_length:.4f} / {row.coverage:.3f} / {row.coverage_smallest:.3f}" if row else ""
            for row in found
        )
        lines.append(f"| {cell[0]}, {cell[1]} | {' | '.join(told)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, metavar="K")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="+", choices=sorted({name for name, _ in CELLS}))
    parser.add_argument("--rho", nargs="+", choices=sorted({rho for _, rho in CELLS}))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--write", action="store_true", help="measure what is missing")
    options = parser.parse_args()
    for cell in CELLS if options.write else ():
        if cell[0] not in (options.only or cell) or cell[1] not in (options.rho or cell):
            continue
        missing = [m for m in options.methods if (cell, m) not in read_measured()]
        if missing:
            from dpci_core.studies.rivals.run import Population, measure  # compiles

            population = Population.of(SETS[cell[0]].records(), cell[1])
            for method in missing:
                began = time.monotonic()
                rows = measure(cell, population, [method], k=options.runs, seed=options.seed)
                append_measured(rows)
                print(f"{cell} {method}: {time.monotonic() - began:.0f} s", flush=True)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
