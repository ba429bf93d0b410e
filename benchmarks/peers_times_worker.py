"""The side of `benchmarks.peers_times` with diffprivlib: `python peers_times_worker.py TABLE.npz`.

Reads lines "VARIANT EPSILON SEED" and answers each with the seconds of processor time that the fit
took.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

table = np.load(sys.argv[1])
y = table["y"]
features = np.ascontiguousarray(table["X"][:, :-1]) * np.sqrt(2.0)  # norm at most 1
TABLES = {"own": features, "column": table["X"], "exact": features}
OPTIONS = {
    "own": {},
    "column": {"fit_intercept": False},
    "exact": {"tol": 1e-10, "max_iter": 100_000},
}
warnings.simplefilter("ignore")  # of fits that stop early

for line in sys.stdin:
    variant, epsilon, seed = line.split()
    model = LogisticRegression(
        epsilon=float(epsilon), data_norm=1.0, random_state=int(seed), **OPTIONS[variant]
    )
    start = time.process_time()
    model.fit(TABLES[variant], y)
    print(time.process_time() - start, flush=True)
