"""The side of `benchmarks.peers` that runs in an environment of its own: `python peers_worker.py
TABLE.npz DRAWS`.

Prints JSON: for each variant and epsilon the test error of every draw and the median seconds of a
fit.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression
from sklearn.linear_model import LogisticRegression as Plain

DEFAULT_C = 1.0
OTHER_C = (0.01, 0.1, 10.0, 100.0)
"""Tried with a tenth of the draws."""


def measured(make, tables, n_draws):
    """Errors (n_draws,) and the median seconds of a fit; a fit that stops early counts as it is."""
    X, y, X_test, y_test = tables
    errors, seconds = [], []
    for seed in range(n_draws):
        model = make(seed)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        seconds.append(time.process_time() - start)
        errors.append(float(np.mean(model.predict(X_test) != y_test)))
    return {"errors": errors, "seconds": float(np.median(seconds))}


def main() -> None:
    table, n_draws = np.load(sys.argv[1]), int(sys.argv[2])
    y, y_test = table["y"], table["y_test"]
    scaled = (
        table["X"][:, :-1] * np.sqrt(2.0),
        y,
        table["X_test"][:, :-1] * np.sqrt(2.0),
        y_test,
    )  # norm at most 1
    records = (table["X"], y, table["X_test"], y_test)  # norm at most 1 with the constant
    found = {"scikit-learn": {"": measured(lambda seed: Plain(max_iter=1000), scaled, 5)}}
    for name, tables, has_intercept in (
        ("intercept outside", scaled, True),
        ("intercept in the records", records, False),
    ):
        for C in (DEFAULT_C, *OTHER_C):
            rows = {}
            for epsilon in table["epsilons"].tolist():

                def make(seed, epsilon=epsilon, C=C, has_intercept=has_intercept):
                    return LogisticRegression(
                        epsilon=epsilon,
                        data_norm=1.0,
                        C=C,
                        fit_intercept=has_intercept,
                        random_state=seed,
                    )

                rows[str(epsilon)] = measured(
                    make, tables, n_draws if C == DEFAULT_C else max(n_draws // 10, 2)
                )
            found[f"{name}, C = {C:g}"] = rows
    print(json.dumps(found))


if __name__ == "__main__":
    main()
