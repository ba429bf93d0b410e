"""What one record moves where rows are measured by a public map (`StandardEncoding.shape`), from
the cells of a table on: gradients, matrices, private coefficients with fixed noise and densities,
each as a share of what the noise is paid for.

Maps are made for other tables, nearly singular or as long as a declaration allows; records are at
their bounds, far beyond them, alike but for a bit, or have a missing cell. A wrong map may cost
length, and never privacy (docs/proofs/map.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from dpci_core import Design, HuberSVM, Logistic, PureDP
from dpci_core.base.batches import as_table
from dpci_core.base.rows import PersonRows, WeightedRows, signed
from dpci_core.losses import Loss
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    RecordMapper,
    Schema,
    StandardEncoding,
)
from dpci_core.solvers.guaranteed import Guaranteed

Array = np.ndarray
ROOM = 1.0 + 1e-9
SCHEMA = Schema(
    (
        NumericColumn("age", 0, 100, typical=50, spread=10),
        NumericColumn("pay", 1, 1e6, typical=900, spread=3, transform="log", limit=50.0),
        CategoricalColumn("home", ("none", "rented", "owned"), shares=(0.2, 0.5, 0.3)),
    ),
    "ill",
    "yes",
    negative=("no",),
)
P = len(SCHEMA.feature_names) + 1
LOSSES: tuple[Loss, ...] = (Logistic(), HuberSVM(h=0.5))


def maps(rng: np.random.Generator) -> Iterator[StandardEncoding]:
    """Round, of every size, nearly singular, as long as can be."""
    while True:
        off = rng.normal(size=(P, P)) * 10.0 ** rng.uniform(-3, 6, (P, P))
        on = 10.0 ** rng.uniform(-6, 6, P if rng.random() < 0.7 else 1) * np.ones(P)
        off = np.clip(off, -1e6, 1e6) * rng.choice([0.0, 1e-6, 1e-3, 1.0])
        U = np.triu(off, 1) + np.diag(np.clip(on, 1e-6, 1e6))
        yield StandardEncoding(shape=tuple(tuple(map(float, row[k:])) for k, row in enumerate(U)))
        yield StandardEncoding(shape=float(10.0 ** rng.uniform(0, 6)))


def rows(rng: np.random.Generator, n: int, encoding: StandardEncoding) -> WeightedRows:
    """Rows y x of n records of made-up and hostile cells."""
    cells = {
        "age": rng.choice([50.0, 0.0, 100.0, np.nextafter(50.0, 51.0), 1e300, np.nan], n).tolist(),
        "pay": np.exp(rng.normal(7, 2, n)).tolist(),
        "home": rng.choice(["none", "rented", "owned", "tent"], n, p=[0.3, 0.3, 0.3, 0.1]).tolist(),
        "ill": rng.choice(["yes", "no", "?"], n, p=[0.45, 0.45, 0.1]).tolist(),
    }
    found = signed(*RecordMapper(replace(SCHEMA, standard=encoding)).records_of(cells))
    assert isinstance(found, WeightedRows)
    return found


def turned(rng: np.random.Generator, pair: WeightedRows) -> WeightedRows:
    """The same rows, or half of the time each second one the first turned round."""
    if rng.random() < 0.5:
        return pair
    found = WeightedRows(pair.rows.copy(), pair.weights.copy())
    found.rows[1::2], found.weights[1::2] = -found.rows[::2], found.weights[::2]
    return found


def towards(rng: np.random.Generator, x: Array) -> Array:
    """Coefficients that give this row any margin, that where a kink begins among them."""
    free, size = rng.normal(size=P), float(x @ x)
    if size == 0.0 or rng.random() < 0.2:
        return free * 10.0 ** rng.uniform(-6, 6)
    margin = rng.choice([0.0, 0.5 + 1e-6, rng.uniform(-30.0, 3.0)])
    return free * 10.0 ** rng.uniform(-15, 0) + x / size * margin


def test_gradients_and_matrices_of_thousands_of_pairs() -> None:
    rng, largest = np.random.default_rng(0), np.zeros(3)
    for encoding, _ in zip(maps(rng), range(600), strict=False):
        pair = turned(rng, rows(rng, 12, encoding))
        for loss in LOSSES:
            theta = towards(rng, pair.rows[int(rng.integers(len(pair)))])
            z, w = pair.rows @ theta, pair.weights
            gradients = (w * loss.slope(z))[:, None] * pair.rows
            roots = np.sqrt(w * loss.curvature(z))[:, None] * pair.rows
            slope = loss.max_squared_slope(float(np.linalg.norm(theta)))
            for i in range(0, 12, 2):
                a, b = gradients[i : i + 2]
                u, v = roots[i : i + 2]
                moved = (
                    np.linalg.norm(a - b) / 2.0,
                    distance(u, v) / (np.sqrt(2.0) * loss.max_curvature),
                    distance(a, b) / (np.sqrt(2.0) * slope),
                )
                largest = np.maximum(largest, moved)
    assert (largest <= ROOM).all()
    assert (largest > [0.9, 0.95, 0.6]).all(), largest


def distance(u: Array, v: Array) -> float:
    """Of u u' and v v'."""
    return float(np.linalg.norm(np.outer(u, u) - np.outer(v, v)))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_private_coefficients_with_the_same_noise(loss: Loss) -> None:
    rng, largest = np.random.default_rng(1), 0.0
    budget = PureDP(model="1e6", hessian="1", covariance="1")
    for k, (encoding, _) in enumerate(zip(maps(rng), range(150), strict=False)):
        n, c = int(rng.integers(1, 4)), float(10.0 ** rng.uniform(-3, 1))
        design = Design(
            loss=loss,
            mechanism="output",
            budget=budget,
            regularization=c,
            n_records=n,
            calibration="published",
        )
        here, other = rows(rng, n, encoding), rows(rng, 1, encoding)
        there = WeightedRows(here.rows.copy(), here.weights.copy())
        is_turned = rng.random() < 0.5
        there.rows[0] = -here.rows[0] if is_turned else other.rows[0]
        there.weights[0] = here.weights[0] if is_turned else other.weights[0]
        thetas = [
            train_private(
                as_table(one), design=design, rng=np.random.default_rng(k), solver=exactly
            ).theta_priv
            for one in (here, there)
        ]
        largest = max(largest, float(np.linalg.norm(thetas[0] - thetas[1])) * n * c)
    assert largest <= 1.0 + 1e-6
    assert largest > (0.8 if loss.name == "huber_svm" else 0.4)  # the logistic slope at 0 is a half


def exactly(risk, start=None):
    """The solver of a release, which may not raise whatever the map is."""
    return Guaranteed().minimise(risk, start)


def test_densities_of_objective_perturbation() -> None:
    """The noise behind the same coefficients on two neighbours, and the volume they are of."""
    rng, loss, kappa, epsilon, largest = np.random.default_rng(2), HuberSVM(h=0.5), 0.5, 1.0, 0.0
    rate = (epsilon - np.log1p(kappa)) / 2.0
    for encoding, _ in zip(maps(rng), range(2_000), strict=False):
        pair = turned(rng, rows(rng, 2, encoding))
        common = rows(rng, int(rng.integers(0, 3)), encoding)
        n = 1 + len(common)
        c = loss.max_curvature / (2.0 * n * kappa)
        found = []
        theta = towards(rng, pair.rows[0])
        for first in (pair[:1], pair[1:]):
            X = np.vstack([first.rows, common.rows])
            w, z = np.concatenate([first.weights, common.weights]), X @ theta
            b = -((w * loss.slope(z)) @ X + 2.0 * n * c * theta)
            root = np.sqrt(w * loss.curvature(z))[:, None] * X
            volume = np.linalg.slogdet(root.T @ root + 2.0 * n * c * np.eye(P))[1]
            found.append((b, volume))
        (b, V), (b2, V2) = found
        lost = rate * np.linalg.norm(b - b2) + max(V2 - V, V - V2)
        largest = max(largest, lost)
    assert 0.8 * epsilon < largest <= epsilon + 1e-6


def test_all_rows_of_a_person_together() -> None:
    rng, largest = np.random.default_rng(3), 0.0
    for encoding, _ in zip(maps(rng), range(400), strict=False):
        k = int(rng.integers(1, 6))
        found = rows(rng, 8, encoding)
        if rng.random() < 0.5:  # all of a person's rows alike, and the other's turned round
            signs = np.repeat([1.0, -1.0], 4)
            found = WeightedRows(np.outer(signs, found.rows[0]), np.full(8, found.weights[0]))
        persons = PersonRows.of(found, np.repeat([0, 1], 4), most=k)
        loss = LOSSES[int(rng.integers(2))]
        theta = towards(rng, found.rows[0])
        slopes = (persons.weights * loss.slope(persons.rows @ theta))[:, None] * persons.rows
        a, b = persons.sums(slopes)
        largest = max(largest, float(np.linalg.norm(a - b)) / 2.0)
    assert 0.8 < largest <= ROOM
