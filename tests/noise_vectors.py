"""Test vectors for the noise: what another implementation has to find from the same bits.

    python -m tests.noise_vectors            # compares tests/fixtures/noise_vectors.json
    python -m tests.noise_vectors --write    # makes it anew

Doubles stand in the file in hexadecimal, as C prints them with %a, and rates as exact fractions.
The argument for all of it is docs/proofs/release.md#noise.

draws: from real numbers (spherical Laplace under pure privacy, Gaussian under GDP and in a noise
    vector). The bits are the stream SHAKE-256 of `seed`, in pieces of so many bytes (`taken`). With
    k coordinates there are m uniform numbers: 2 ceil(k/2), under "laplace" k more. Every piece is
    cut into m equal parts, most significant byte first; part i prolongs the binary digits of number
    i: 128 in the first piece, 64 in each further one, which is taken while some answer is not
    settled by the digits there are. Each pair (u, u') of the first 2 ceil(k/2) gives two normals,
    sqrt(-2 ln u) times (cos 2 pi u', sin 2 pi u'), of which the first k count. "gaussian" noise is
    z / `rate`, "laplace" noise z / |z| times -ln of the product of the last k numbers, over `rate`.
    `sums` are the multiples of 2^`exponent` nearest to `values` + noise, floor(x / 2^e + 1/2) of
    the exact real number; above 2^53 of them the nearest double.
orders: which rows train and which choose: 8 bytes a row, the least significant first, sorted with
    ties in their order.
scales: for designs on n = 1,000 records with c = 0.01 and p = 3, the exact `amounts` of every line
    in the ledger, and of every noise its law, sensitivity, scale (1/rate or standard deviation) and
    grid. Matrices are for |theta| = `radius`, without the allowance for rounding of sums. A scale
    is rounded away from zero, so another implementation may be above it and never below.
choices, rounded: under zCDP values, scores and counts get their noise from OpenDP, which takes the
    system's bits itself, so it cannot be fed: the parameters it is called with, and what is done to
    the double it returns (to the nearest multiple of 2^`exponent`, of two the even one, no -0).
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dpci_core import GDP, ZCDP, Design, HuberSVM, Logistic, PureDP
from dpci_core.intervals.certified import noise_of_release
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise
from dpci_core.mechanisms.mechanism import GRID_EXPONENT
from dpci_core.mechanisms.shares import share_out
from dpci_core.privacy import exact, randomness
from dpci_core.privacy.exact import RealNoise
from dpci_core.privacy.randomness import SystemSource, grid_under, to_grid
from dpci_core.scorecards import CardSpending
from dpci_core.tuning.choose import choice_scale

FILE = Path(__file__).parent / "fixtures" / "noise_vectors.json"
_DRAWS: list[dict[str, Any]] = [
    {"law": "laplace", "rate": "1", "values": [0.0], "exponent": -30},
    {"law": "laplace", "rate": "25/2", "values": [0.3, -1.0, 2.0], "exponent": -30},
    {"law": "laplace", "rate": "3/1000", "values": [0.1] * 10, "exponent": -12},
    {"law": "laplace", "rate": "1000003/7", "values": [1e-3, -1e-3], "exponent": -45},
    {"law": "gaussian", "rate": "1", "values": [0.0], "exponent": -30},
    {"law": "gaussian", "rate": "40/3", "values": [0.25, -0.75, 0.1, 1e-9, 5.0], "exponent": -30},
    {"law": "gaussian", "rate": "1/4096", "values": [1e6, -1e6], "exponent": -8},
    {"law": "laplace", "rate": "5", "values": [0.7, -0.2], "exponent": -170},
    {"law": "gaussian", "rate": "5", "values": [0.7, -0.2, 0.0], "exponent": -210},
]
"""The last two need more bits than the first 128 of a number."""
_ROUNDED = [(0.3, -2), (0.375, -2), (0.625, -2), (-0.375, -2), (1e-12, -30), (-0.0, -30)]


@contextmanager
def fed(seed: str) -> Iterator[list[int]]:
    """Bits of a fixed stream in the place of the operating system's; how many bytes were taken."""
    taken: list[int] = []

    def stream(n: int) -> bytes:
        start = sum(taken)
        taken.append(n)
        return hashlib.shake_256(seed.encode()).digest(start + n)[start:]

    class Fed:
        token_bytes = staticmethod(stream)

    kept = exact.secrets, randomness.secrets
    exact.secrets = randomness.secrets = Fed  # type: ignore[assignment]
    try:
        yield taken
    finally:
        exact.secrets, randomness.secrets = kept


def draw(case: dict[str, Any], seed: str) -> dict[str, Any]:
    """One case with what it gives."""
    with fed(seed) as taken:
        noise = RealNoise(len(case["values"]), law=case["law"], rate=Fraction(case["rate"]))
        found = noise.rounded(np.array(case["values"]), exponent=case["exponent"])
    values, sums = ([x.hex() for x in numbers] for numbers in (case["values"], found.tolist()))
    return {"seed": seed, **case, "values": values, "taken": taken, "sums": sums}


def order(size: int, seed: str) -> dict[str, Any]:
    """An order of so many rows."""
    with fed(seed) as taken:
        found = SystemSource().permutation(size)
    return {"seed": seed, "size": size, "taken": taken, "order": found.tolist()}


def scales() -> list[dict[str, Any]]:
    """Every line of some designs with the law, the scale and the grid of its noise."""
    amounts = {"model": "0.5", "hessian": "0.25", "covariance": "0.125"}
    found = []
    for kind in (PureDP, ZCDP, GDP):
        for mechanism in ("output", "objective"):
            if kind is GDP and mechanism == "objective":
                continue
            for calibration in ("published", "sharp"):
                loss = Logistic() if calibration == "sharp" else HuberSVM(h=0.5)
                design = Design(
                    loss=loss,
                    mechanism=mechanism,  # type: ignore[arg-type]
                    budget=kind(**amounts),
                    regularization=0.01,
                    n_records=1_000,
                    calibration=calibration,  # type: ignore[arg-type]
                )
                found.append({"calibration": calibration, **_scales_of(design)})
    return found


def _scales_of(design: Design, *, dim: int = 3, radius: float = 0.5) -> dict[str, Any]:
    shares = share_out(design)
    model = noise_of_release(design, dim=dim)
    exponent = GRID_EXPONENT if shares.minimiser is None else None  # a noise vector has no grid
    parts: dict[str, dict[str, Any]] = {
        "model": {"law": model.law, "scale": model.scale.hex(), "exponent": exponent}
    }
    if shares.minimiser is not None:
        hiding = shares.minimiser_noise()
        parts["inexact minimiser"] = {
            "law": hiding.law,
            "sensitivity": shares.solver_error.hex(),
            "scale": hiding.scale.hex(),
            "exponent": GRID_EXPONENT,
        }
    laws = {
        "hessian": hessian_noise(design),
        "covariance": covariance_noise(design, radius),
    }
    for name, law in laws.items():
        parts[name] = {
            "law": law.law,
            "sensitivity": law.sensitivity.hex(),
            "scale": law.scale.hex(),
            "exponent": grid_under(law.scale),
        }
    return {
        "definition": design.definition,
        "mechanism": design.mechanism,
        "loss": design.loss.name,
        "h": design.loss.parameters.get("h"),
        "regularization": design.regularization,
        "n_records": design.n_records,
        "radius": radius,
        "amounts": {name: str(amount) for name, amount in shares.lines},
        "parts": parts,
    }


def choices() -> list[dict[str, Any]]:
    """Scales of noise on scores and counts, which OpenDP draws."""
    pure, rho = CardSpending.of(epsilon="0.5"), CardSpending.of(rho="0.125")
    return [
        {
            "what": "exponential mechanism, Gumbel noise, a score that one record moves by 1",
            "epsilon": "0.5",
            "scale": choice_scale(Decimal("0.5")).hex(),
        },
        {"what": "card, epsilon", "epsilon": "0.5", "scale": pure.choice_scale(1.0).hex()},
        {"what": "card, rho", "rho": "0.125", "scale": rho.choice_scale(1.0).hex()},
    ]


def made() -> dict[str, Any]:
    """Everything that stands in the file."""
    return {
        "stream": "SHAKE-256 of the seed in UTF-8, from its first byte on",
        "draws": [draw(case, f"dpci noise {i}") for i, case in enumerate(_DRAWS)],
        "orders": [order(size, f"dpci order {size}") for size in (1, 8, 33)],
        "scales": scales(),
        "choices": choices(),
        "rounded": [
            {"value": x.hex(), "exponent": k, "rounded": float(to_grid(np.array(x), k)).hex()}
            for x, k in _ROUNDED
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.noise_vectors", description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        FILE.write_text(json.dumps(made(), indent=1) + "\n")
        return
    same = json.loads(FILE.read_text()) == made()
    print("the same" if same else "not the same")
    raise SystemExit(not same)


if __name__ == "__main__":
    main()
