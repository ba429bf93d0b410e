"""How long a fit takes beside diffprivlib: `python -m benchmarks.peers_times`.

Processor time with one thread of linear algebra on either side, on the table of `benchmarks.peers`.
Fits take turns, seed by seed, so that what else the machine does slows all of them down alike.
diffprivlib stops where the gradient of its objective is 1e-4, which its theorem does not cover; "to
the minimiser" it goes on to 1e-10, as ours always does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.peers import EPSILONS, ONE_THREAD, learner, make_environment, split, unscaled
from dpci_core.datasets.files import is_available

OURS = {"ours": True, "ours, noise from the operating system": False}
"""By name, whether the fit has a seed."""
PEERS = {
    "diffprivlib, its own intercept": "own",
    "diffprivlib, constant in the records": "column",
    "diffprivlib, its own intercept, to the minimiser": "exact",
}


def seconds_of_ours(
    epsilon: str, seed: int, *, is_seeded: bool, X: np.ndarray, y: np.ndarray
) -> float:
    """One fit."""
    model = learner(epsilon, intervals=False, random_state=seed if is_seeded else None)
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def measure(python: str, folder: Path, n_draws: int) -> dict[str, np.ndarray]:
    """Seconds (epsilons, draws) of every variant; the first fit of each epsilon warms up and is
    left out.
    """
    tables = split()
    X, y = unscaled(tables["X"]), tables["y"]
    np.savez(folder / "table.npz", X=tables["X"], y=y)
    worker = Path(__file__).with_name("peers_times_worker.py")
    command = [python, str(worker), str(folder / "table.npz")]
    found = {name: np.empty((len(EPSILONS), n_draws + 1)) for name in (*OURS, *PEERS)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | ONE_THREAD,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for row, epsilon in enumerate(EPSILONS):
            for seed in range(n_draws + 1):
                for name, is_seeded in OURS.items():
                    found[name][row, seed] = seconds_of_ours(
                        epsilon, seed, is_seeded=is_seeded, X=X, y=y
                    )
                for name, variant in PEERS.items():
                    process.stdin.write(f"{variant} {epsilon} {seed}\n")
                    process.stdin.flush()
                    found[name][row, seed] = float(process.stdout.readline())
        process.stdin.close()
    return {name: seconds[:, 1:] for name, seconds in found.items()}


def table(found: dict[str, np.ndarray]) -> str:
    """Median milliseconds at each epsilon, and how many times the median of ours that is."""
    own = np.median(found["ours"], axis=1)
    lines = ["| ms a fit, times ours | " + " | ".join(f"eps {e}" for e in EPSILONS) + " |"]
    lines.append("|" + "---|" * (len(EPSILONS) + 1))
    for name, seconds in found.items():
        medians = np.median(seconds, axis=1)
        cells = [f"{1e3 * m:.1f}, {m / base:.1f}" for m, base in zip(medians, own, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers_times", description=__doc__)
    parser.add_argument("--draws", type=int, default=25, help="fits at each epsilon")
    parser.add_argument(
        "--python", help="interpreter of an environment that has diffprivlib already"
    )
    options = parser.parse_args()
    if not is_available("adult"):
        print(
            "Adult is needed for this; get it with `python -m dpci_core data get adult`.",
            file=sys.stderr,
        )
        return 1
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1, user_api="blas"):
        python = options.python or make_environment(Path(folder))
        if python is None:
            print("pip could not install diffprivlib.", file=sys.stderr)
            return 1
        found = measure(python, Path(folder), options.draws)
    load = (
        f"; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        if hasattr(os, "getloadavg")
        else ""
    )
    print(f"Adult, {options.draws} draws{load}.")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
