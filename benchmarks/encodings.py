"""How much coverage depends on which columns are taken: `python -m benchmarks.encodings`.

The paper does not say how the columns of its tables were encoded and ordered. This draws column
choices at random, fits each, and prints the range of the forecast coverage beside the published
value at the paper's settings.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.reproduce import SETS, Cell, published_cells
from dpci_core import datasets, fit_moments, forecast

CHOICES = {"adult": 30_162, "banking": 45_211, "kddcup99": 50_000}


def cells_at_default(dataset: str) -> list[Cell]:
    """The eight cells of a set at d = 10 and the default budget."""
    return [
        cell
        for cell in published_cells()
        if cell.dataset == dataset
        and cell.d == 10
        and cell.epsilon_1 == "0.5"
        and cell.n == CHOICES[dataset]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encodings", description=__doc__)
    parser.add_argument("--draws", type=int, default=60, help="random choices of ten columns")
    n_draws = parser.parse_args().draws
    print(
        "| set | combination | published | ours, first ten columns | lowest to highest over random "
        "columns | inside |"
    )
    print("|---|---|---|---|---|---|")
    for dataset, n in CHOICES.items():
        names = datasets.feature_names(SETS[dataset])
        rng = np.random.default_rng(0)
        choices = [names[:10]] + [tuple(rng.permutation(names)[:10]) for _ in range(n_draws)]
        cells = cells_at_default(dataset)
        found = np.array([coverages(dataset, n, chosen, cells) for chosen in choices])
        for cell, column in zip(cells, found.T, strict=True):
            low, high = column[1:].min(), column[1:].max()
            inside = "yes" if cell.coverage is not None and low <= cell.coverage <= high else "no"
            what = f"{cell.privacy} {cell.mechanism} {cell.loss}"
            print(
                f"| {dataset} | {what} | {cell.coverage:.4f} | {column[0]:.4f} | {low:.4f} to "
                f"{high:.4f} | {inside} |"
            )


def coverages(dataset: str, n: int, names: tuple[str, ...], cells: list[Cell]) -> list[float]:
    """Forecast mean coverage of each cell with these columns."""
    records = datasets.load(SETS[dataset], encoding="paper", features=names, n_rows=n)
    fits: dict[object, object] = {}
    out = []
    for cell in cells:
        design = cell.design()
        if design.loss not in fits:
            fits[design.loss] = fit_moments(
                records.X, records.y, loss=design.loss, regularization=cell.c
            )
        out.append(forecast(fits[design.loss], design=design).coverage_mean)
    return out


if __name__ == "__main__":
    main()
