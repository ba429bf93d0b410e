"""Private logistic regression beside its peers at equal epsilon: `python -m benchmarks.peers`.

Adult, one split in five, everybody's whole budget on the coefficients. diffprivlib 0.6.6 needs an
older scikit-learn, so pip puts both into an environment in a temporary folder. It appears with its
own constant, for which it makes room in the norm (sqrt(data_norm^2 + 1)) but which it does not
penalise, and with the constant as a column of the records, as its theorem asks. Times are processor
time with one thread of linear algebra; `benchmarks.peers_times` compares them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dpci_core import DPLogisticRegression, PureDP, datasets
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.datasets.files import is_available

EPSILONS = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5")
PEER = ("diffprivlib==0.6.6", "scikit-learn<1.6")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
N_COLUMNS = 11
"""Source columns of Adult; their number bounds the squared norm of a scaled row."""
Measured = dict[str, dict[str, Any]]


def split() -> dict[str, np.ndarray]:
    """Encoded records of Adult, a fifth of them for testing."""
    records = datasets.load("adult", encoding="schema")
    order = np.random.default_rng(20_261_121).permutation(len(records.y))
    test, train = np.split(order, [len(order) // 5])
    return {
        "X": records.X[train],
        "y": records.y[train],
        "X_test": records.X[test],
        "y_test": records.y[test],
    }


def unscaled(records: np.ndarray) -> np.ndarray:
    """The features of encoded records in [-1, 1], without the constant."""
    return np.asarray(records[:, :-1] * (np.sqrt(2.0 * N_COLUMNS) / NORM_MARGIN))


def learner(epsilon: str, *, intervals: bool, random_state: int | None) -> DPLogisticRegression:
    """The estimator with nothing but a budget and bounds."""
    half, quarter = Decimal(epsilon) / 2, Decimal(epsilon) / 4
    return DPLogisticRegression(
        budget=PureDP(model=half, hessian=quarter, covariance=quarter),
        feature_bounds=(-1, 1),
        norm_bound=float(np.sqrt(N_COLUMNS)),
        classes=(-1, 1),
        intervals=intervals,
        random_state=random_state,
    )


def ours(tables: dict[str, np.ndarray], n_draws: int, *, intervals: bool) -> Measured:
    """`learner` on the same numbers in [-1, 1]."""
    X, X_test = unscaled(tables["X"]), unscaled(tables["X_test"])
    rows: Measured = {}
    for epsilon in EPSILONS:
        errors, seconds = [], []
        for seed in range(n_draws):
            model = learner(epsilon, intervals=intervals, random_state=seed)
            start = time.process_time()
            model.fit(X, tables["y"])
            seconds.append(time.process_time() - start)
            errors.append(float(np.mean(model.predict(X_test) != tables["y_test"])))
        rows[epsilon] = {"errors": errors, "seconds": float(np.median(seconds))}
    return rows


def make_environment(folder: Path) -> str | None:
    """Install diffprivlib in a new environment and return its interpreter; None if pip could
    not.
    """
    venv.create(folder / "env", with_pip=True)
    python = str(folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = subprocess.run(
        [python, "-m", "pip", "install", "-q", *PEER], capture_output=True, text=True
    )
    return None if pip.returncode else python


def peers(
    tables: dict[str, np.ndarray], n_draws: int, python: str | None
) -> dict[str, Measured] | str:
    """What `peers_worker` measures, or the sentence that says why not."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(file, epsilons=np.array(EPSILONS, dtype=float), **tables)
        if python is None and (python := make_environment(Path(folder))) is None:
            return f"diffprivlib is left out: pip could not install {' and '.join(PEER)}."
        worker = Path(__file__).with_name("peers_worker.py")
        command = [python, str(worker), str(file), str(n_draws)]
        run = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if run.returncode:
        return f"diffprivlib is left out: it stopped with {run.stderr.strip().splitlines()[-1]}"
    return dict(json.loads(run.stdout))


def table(found: dict[str, Measured]) -> str:
    """Mean test error with its 95 % band, and the seconds of a fit, for every variant."""
    lines = ["| learner | " + " | ".join(f"eps {e}" for e in EPSILONS) + " | seconds a fit |"]
    lines.append("|" + "---|" * (len(EPSILONS) + 2))
    for name, rows in found.items():
        cells = []
        for epsilon in EPSILONS:
            errors = np.array(_row(rows, epsilon)["errors"])
            band = 1.96 * errors.std(ddof=1) / np.sqrt(len(errors))
            cells.append(f"{errors.mean():.4f} ± {band:.4f}")
        seconds = np.median([row["seconds"] for row in rows.values()])
        lines.append(f"| {name} | {' | '.join(cells)} | {seconds:.3f} |")
    return "\n".join(lines)


def _row(rows: Measured, epsilon: str) -> dict[str, Any]:
    """What was measured at an epsilon; without privacy it is one and the same."""
    return rows.get(epsilon) or rows.get(str(float(epsilon))) or rows[""]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--draws", type=int, default=200, help="fits at each epsilon")
    parser.add_argument(
        "--python", help="interpreter of an environment that has diffprivlib already"
    )
    parser.add_argument("--json", type=Path, help="keep every draw in this file")
    options = parser.parse_args()
    if not is_available("adult"):
        print(
            "Adult is needed for this; get it with `python -m dpci_core data get adult`.",
            file=sys.stderr,
        )
        return 1
    tables = split()
    n, n_test = len(tables["y"]), len(tables["y_test"])
    constant = min(np.mean(tables["y_test"] > 0), np.mean(tables["y_test"] < 0))
    print(
        f"Adult, {n:,} rows to train on and {n_test:,} to test; {options.draws} draws; constant "
        f"guess {constant:.4f}."
    )
    with threadpool_limits(limits=1, user_api="blas"):
        found = {
            "ours": ours(tables, options.draws, intervals=False),
            "ours, half the budget on intervals": ours(tables, options.draws, intervals=True),
        }
    of_others = peers(tables, options.draws, options.python)
    if isinstance(of_others, str):
        print(of_others)
    else:
        found |= of_others
    print(table(found))
    if options.json:
        options.json.write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
