"""An attacker who reads the last bits: which of two tables can a published matrix come from at all?

A floating-point sum *true entry + scale * draw* reaches only some doubles, and which ones depends
on the true entry. Whoever holds two candidate tables counts, for each, the published entries that
no draw explains, and names the table with fewer. On records made before noise was exact this names
the right one nearly always; a guess is right half of the time.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dpci_core import ZCDP, Design, DPLogisticRegression, Logistic, PureDP
from dpci_core.ledger import Cap, Ledger
from dpci_core.mechanisms.matrices import (
    covariance_noise,
    hessian_noise,
    noise_scale,
    rounding_allowance,
)
from dpci_core.plan import DeclaredTable, Plan
from dpci_core.release import (
    draw_release,
    read_header,
    read_records,
    release,
    schema_hash,
    share_out,
)
from dpci_core.schema import CategoricalColumn, Guesses, NumericColumn, RecordMapper, Schema
from dpci_core.solvers.risk import PenalisedRisk

Table = tuple[np.ndarray, np.ndarray]
TOO_MANY = 16
"""Doubles behind one published entry from which on nearly every one can be reached."""
BUDGETS = {
    "pure": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    "zcdp": ZCDP(model="0.06", hessian="0.03", covariance="0.03"),
}


def around(x: float, steps: int) -> Iterator[float]:
    """x and the doubles on both sides of it, the nearest first."""
    low = high = x
    yield x
    for _ in range(steps):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
        yield from (low, high)


def is_draw(noise: float, scale: float, *, above_diagonal: bool) -> bool:
    """Whether noise is scale * w for a double w, for entries above the diagonal w = v / sqrt(2)."""
    for w in around(noise / scale, 2):
        if scale * w == noise and (
            not above_diagonal
            or any(v / math.sqrt(2.0) == w for v in around(w * math.sqrt(2.0), 2))
        ):
            return True
    return False


def unexplained(
    published: np.ndarray, true: np.ndarray, scale: float, *, symmetric: bool = True
) -> int:
    """Entries of a published matrix that no draw around the true ones gives."""
    p, count = len(published), 0
    for i in range(p):
        for j in range(i, p) if symmetric else (i,):
            seen, here, there = float(published[i, j]), float(true[i, j]), float(true[j, i])
            noise = seen - here
            coarse = max(math.ulp(seen), math.ulp(here))
            steps = coarse / math.ulp(noise) if noise else math.inf
            if steps > TOO_MANY:
                continue
            count += not any(
                0.5 * ((here + z) + (there + z)) == seen
                and is_draw(z, scale, above_diagonal=i != j)
                for z in around(noise, int(2 * steps) + 3)
            )
    return count


@dataclass
class Score:
    """How often the attacker named the right table, the wrong one, or could not tell."""

    right: int = 0
    wrong: int = 0
    undecided: int = 0
    shown: dict[str, int] = field(default_factory=dict, repr=False)

    def guess(self, truth: int, counts: list[int]) -> None:
        if counts[0] == counts[1]:
            self.undecided += 1
        elif counts[truth] < counts[1 - truth]:
            self.right += 1
        else:
            self.wrong += 1

    @property
    def deviation(self) -> float:
        """(right - wrong) in standard errors of a guess."""
        return (self.right - self.wrong) / math.sqrt(max(1, self.right + self.wrong))

    def __str__(self) -> str:
        return (
            f"right {self.right}, wrong {self.wrong}, undecided {self.undecided}: "
            f"{self.deviation:+.1f} SE"
        )


def two_tables(n: int, d: int, seed: int) -> tuple[Table, Table]:
    """Tables of the encoding that differ in their last record."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-1, 1, (n, d)) / math.sqrt(2 * d), np.full(n, math.sqrt(0.5))] * (
        1 - 1e-12
    )
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-4 * X[:, 0])), 1.0, -1.0)
    other, flipped = X.copy(), y.copy()
    other[-1, :-1], flipped[-1] = -X[-1, :-1], -y[-1]
    return (X, y), (other, flipped)


def design_of(kind: str, mechanism: str, calibration: str, n: int, c: float = 0.003) -> Design:
    return Design(
        loss=Logistic(),
        mechanism=mechanism,
        budget=BUDGETS[kind],
        regularization=c,
        n_records=n,
        calibration=calibration,
    )


def scales(design: Design, theta: np.ndarray) -> dict[str, float]:
    """What the draws of both matrices are multiplied by; public."""
    radius, rounding = (
        float(np.linalg.norm(theta)),
        rounding_allowance(design, theta),
    )
    laws = {
        "hessian": hessian_noise(design),
        "covariance": covariance_noise(design, radius),
    }
    return {
        name: noise_scale(sensitivity=law.sensitivity + rounding, amount=law.amount, kind=law.kind)
        for name, law in laws.items()
    }


def true_matrices(rows: np.ndarray, theta: np.ndarray, design: Design) -> dict[str, np.ndarray]:
    H, S = PenalisedRisk(rows, loss=design.loss, regularization=design.regularization).moments(
        theta
    )
    return {"hessian": H, "covariance": S}


def attack_draws(
    kind: str, mechanism: str, calibration: str, rounds: int, n: int = 1500, d: int = 4
) -> dict:
    """`draw_release` on one of two tables, chosen by a coin; the attacker has what is published."""
    tables = two_tables(n, d, 1)
    design = design_of(kind, mechanism, calibration, n)

    def publish(truth: int) -> dict[str, np.ndarray]:
        drawn = draw_release(*tables[truth], design=design)
        return {"theta": drawn.theta_priv, "hessian": drawn.hessian, "covariance": drawn.covariance}

    return attack(
        publish,
        share_out(design).design_after_solver_share,
        [y[:, None] * X for X, y in tables],
        rounds,
    )


def attack_estimators(
    kind: str, mechanism: str, calibration: str, rounds: int, n: int = 500, d: int = 4
) -> dict:
    """A fitted estimator with both noisy matrices, as a pickle keeps it."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0] - X[:, 1]))).astype(int)
    X2, y2 = X.copy(), y.copy()
    X2[-1], y2[-1] = -X[-1], 1 - y[-1]
    fitted = DPLogisticRegression(
        budget=BUDGETS[kind],
        feature_bounds=(-1, 1),
        classes=(0, 1),
        calibration=calibration,
        regularization=0.003,
        mechanism=mechanism,
    )
    models: list = []

    def publish(truth: int) -> dict[str, np.ndarray]:
        model = fitted.fit(*((X, y), (X2, y2))[truth])._models[0]
        models.append(model)
        H, S = model.moments.hessian.noisy, model.moments.covariance.noisy
        return {"theta": model.theta_priv, "hessian": H, "covariance": S}

    publish(0)
    encode = fitted._scaling.encode
    rows = [
        np.asarray(encode(a).signed(np.where(b == 1, 1.0, -1.0))[:]) for a, b in ((X, y), (X2, y2))
    ]
    return attack(publish, models[0].design, rows, rounds)


def attack(
    publish: Callable[[int], dict[str, np.ndarray]],
    design: Design,
    rows: list[np.ndarray],
    rounds: int,
) -> dict[str, Score]:
    coin = np.random.default_rng(7)
    found = {"hessian": Score(), "covariance": Score()}
    for _ in range(rounds):
        truth = int(coin.integers(2))
        seen = publish(truth)
        theta = seen["theta"]
        scale = scales(design, theta)
        true = [true_matrices(A, theta, design) for A in rows]
        for name, score in found.items():
            counts = [
                unexplained(
                    seen[name], t[name], scale[name], symmetric=design.switches.symmetric_noise
                )
                for t in true
            ]
            score.guess(truth, counts)
    return found


SCHEMA = Schema(
    features=(
        NumericColumn("age", 0, 100),
        NumericColumn("income", 0, 200_000),
        CategoricalColumn("city", ("a", "b", "c", "d")),
        CategoricalColumn("job", ("x", "y", "z", "w")),
    ),
    target="sick",
    positive="yes",
    negative=("no",),
)


def write_tables(folder: Path, n: int) -> tuple[Path, Path]:
    """Two CSV files that differ in their last row."""
    rng = np.random.default_rng(3)
    age, income = rng.uniform(0, 100, n), rng.lognormal(10.5, 0.5, n)
    city, job = rng.choice(list("abcd"), n, p=[0.9, 0.06, 0.03, 0.01]), rng.choice(list("xyzw"), n)
    sick = np.where(rng.random(n) < 0.2 + age / 300, "yes", "no")
    columns = zip(age, income, city, job, sick, strict=True)
    rows = [f"{a:.3f},{i:.2f},{c},{j},{s}" for a, i, c, j, s in columns]
    paths = folder / "one.csv", folder / "other.csv"
    for path, last in zip(
        paths, ("41.000,31000.00,a,x,no", "67.000,52000.00,d,w,yes"), strict=True
    ):
        path.write_text("\n".join(["age,income,city,job,sick", *rows[:-1], last]) + "\n")
    return paths


def attack_records(
    folder: Path, kind: str, mechanism: str, calibration: str, rounds: int, n: int = 2000
) -> dict:
    """`release` from one of two files; the attacker has release.json, read as anyone would."""
    design = design_of(kind, mechanism, calibration, n)
    plan = Plan(
        title="Attack",
        source=DeclaredTable(schema=SCHEMA, guesses=Guesses(n_rows=n)),
        design=design,
        delta="1e-6",  # type: ignore[arg-type]
    )
    ledger = Ledger(folder / "ledger.sqlite")
    cap = Cap.pure(rounds + 1) if kind == "pure" else Cap.zcdp(rounds + 1)
    ledger.create_dataset(
        "Clinic", schema_hash=schema_hash(SCHEMA), cap=cap, unit="one row is one person", person="A"
    )
    files = write_tables(folder, n)
    rows = []
    for file in files:
        X, y, _ = read_records(read_header(file), RecordMapper(plan.schema, plan.features))
        rows.append(y[:, None] * X)
    requests = itertools.count()

    def publish(truth: int) -> dict[str, np.ndarray]:
        request = f"r{next(requests)}"
        release(
            plan,
            files[truth],
            ledger=ledger,
            dataset="Clinic",
            person="Ada",
            request_id=request,
            folder=folder / request,
            allow_unreviewed=True,
        )
        return read_record(folder / request)

    return attack(publish, share_out(design).design_after_solver_share, rows, rounds)


def read_record(folder: Path) -> dict[str, np.ndarray]:
    """What release.json publishes."""
    record = json.loads((folder / "release.json").read_text())
    theta = np.array([c["released"] for c in record["coefficients"]])
    return {"theta": theta, **{name: np.array(m) for name, m in record["matrices"].items()}}
