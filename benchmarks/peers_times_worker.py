"""The side of `benchmarks.peers_times` with diffprivlib: `python peers_times_worker.py TABLE.npz`.

Reads lines "VARIANT EPSILON SEED" and answers each with the seconds of processor time that the fit took.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression

table = np.load(sys.argv[1])
y = table["y"]
TABLES = {"own": np.ascontiguousarray(table["X"][:, :-1]) * np.sqrt(2.0), "column": table["X"]}  # norm at most 1
warnings.simplefilter("ignore")  # of fits that stop early

for line in sys.stdin:
    variant, epsilon, seed = line.split()
    model = LogisticRegression(
        epsilon=float(epsilon), data_norm=1.0, fit_intercept=variant == "own", random_state=int(seed)
    )
    start = time.process_time()
    model.fit(TABLES[variant], y)
    print(time.process_time() - start, flush=True)
