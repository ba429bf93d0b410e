"""Print one table: how long the main tasks take, beside what a user would do instead, in the same
run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
from sklearn.linear_model import LogisticRegression

from benchmarks.server import free_port
from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    Logistic,
    Moments,
    PureDP,
    datasets,
    fit_moments,
    forecast,
    private_intervals,
)
from ui.session import compute
from ui.session.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
C = 0.001
BUDGETS = (
    PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
)


def seconds(task: Callable[[], object], repeats: int) -> float:
    """Median time of one call, after one call to warm up."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def row(what: str, took: float, remark: str = "") -> None:
    print(f"| {what} | {1000 * took:,.1f} ms | {remark} |")


def core(d: int) -> None:
    """Forecast, sweep and one private interval on the simulated census."""
    records = datasets.load("census", encoding="schema", features=d, n_rows=30_000)
    X, y = records.X, records.y
    losses = (Logistic(), HuberSVM(h=1.0))
    fits = {loss: fit_moments(X, y, loss=loss, regularization=C) for loss in losses}
    designs = [
        Design(loss=loss, mechanism=mechanism, budget=budget, regularization=C)
        for loss in losses
        for mechanism in ("objective", "output")
        for budget in BUDGETS
    ]
    scikit = LogisticRegression(
        C=1 / (2 * len(y) * C), tol=1e-8, solver="newton-cholesky", fit_intercept=False
    )
    reference = seconds(lambda: scikit.fit(X, y), 5)
    row(
        f"scikit-learn newton-cholesky fit, n = 30,000, d = {d}",
        reference,
        "the measure for the rest",
    )
    fit = seconds(lambda: fit_moments(X, y, loss=Logistic(), regularization=C), 5)
    row(
        f"fit and moments, d = {d}",
        fit,
        f"{reference / fit:.1f} times faster than the scikit-learn fit",
    )
    one = seconds(lambda: forecast(fits[losses[0]], design=designs[0]), 20)
    row(
        f"one forecast, d = {d}",
        one,
        f"{reference / one:.1f} times faster than one scikit-learn fit",
    )
    sweep = seconds(lambda: _sweep(fits, designs), 3)
    row(
        f"sweep of n over 41 points, eight combinations, d = {d}",
        sweep,
        f"{41 * 8} forecasts of 16 draws",
    )
    rng = np.random.default_rng(0)
    interval = seconds(lambda: private_intervals(X, y, design=designs[0], rng=rng), 5)
    row(f"one private interval, d = {d}", interval, f"{interval / reference:.1f} scikit-learn fits")


def _sweep(fits: dict[object, Moments], designs: list[Design]) -> None:
    for n in np.geomspace(1000, 1_000_000, 41):
        for design in designs:
            forecast(fits[design.loss], design=design, n_records=round(n), n_draws=16)


MOVES = {"total": "total budget", "n": "n", "c": "c", "h": "h", "d": "d"}


def page(d: int, dataset: str) -> None:
    """Server time of one move on Explore: forecast, interval rows and the sweep of the moved
    control.
    """
    source = compute.TableSource(compute.PUBLIC)
    now = replace(
        Settings(),
        dataset=dataset,
        d=d,
        n=30_000,
        encoding="schema" if dataset == "census" else "paper",
    )
    eight = replace(now, definitions=("pure", "zcdp"), losses=("logistic", "huber_svm"))
    for settings in (now, eight):
        compute.compute(settings, source)
        for name, word in MOVES.items():
            sweep = name if name != "h" or "huber_svm" in settings.losses else "total"
            start = time.perf_counter()
            moved = settings.swept(
                name, 1.3 * (d if name == "d" else float(_value(settings, name)))
            )
            compute.interval_rows(compute.compute(moved, source), "scaled")
            compute.sweep(moved, source, sweep, datasets_features(dataset))
            took = time.perf_counter() - start
            row(
                f"page: move {word}, {dataset}, d = {d}",
                took,
                f"{len(settings.combinations)} combinations, first visit",
            )


def _value(settings: Settings, name: str) -> float:
    return float(settings.split.total) if name == "total" else float(getattr(settings, name))


def datasets_features(key: str) -> int:
    """Features a named set has, up to the 36 of the page's promise."""
    return min(36, next(info.max_features for info in datasets.list_datasets() if info.key == key))


def application() -> None:
    """Cold start of the dashboard until its first chart is in the page's answer, and resident
    memory.
    """
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _wait_until_healthy(port)
            row("server up", time.perf_counter() - start, "")
            _first_chart(port, start)
            memory = psutil.Process(server.pid).memory_info().rss / 2**20
            print(f"| resident memory after the first page | {memory:,.0f} MB | |")
        finally:
            server.terminate()


def _wait_until_healthy(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with closing(
                urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2)
            ):
                return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("The dashboard did not start within two minutes.")


def _first_chart(port: int, start: float) -> None:
    from playwright.sync_api import sync_playwright

    from tests.browser.driver import BROWSER_ARGS, find_browser

    path = find_browser()
    if path is None:
        print("| first chart in a browser | not measured | no browser found |")
        return
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{port}/")
        page.wait_for_selector(".js-plotly-plot .scatterlayer", timeout=120_000)
        row(
            "cold start to first chart in a browser",
            time.perf_counter() - start,
            "server, browser and page together",
        )
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--no-app", action="store_true", help="leave out the measurements that start the dashboard"
    )
    args = parser.parse_args()
    print(f"Threads for linear algebra: {os.environ.get('OMP_NUM_THREADS', 'all')}.\n")
    print("| task | median time | |\n|---|---|---|")
    for d in (10, 36):
        core(d)
    available = {info.key for info in datasets.list_datasets() if info.available}
    for dataset in ("census", "kdd99"):
        for d in (10, 26) if dataset in available else ():
            page(d, dataset)
    if not args.no_app:
        application()


if __name__ == "__main__":
    main()
