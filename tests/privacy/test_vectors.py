"""The test vectors of the noise, against the code and against a second way to compute them."""

from __future__ import annotations

import hashlib
import json
import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from typing import Any

import pytest

from tests.noise_vectors import FILE, made

VECTORS = json.loads(FILE.read_text())
DIGITS = 160


def test_the_code_gives_the_vectors() -> None:
    now = made()
    for part in ("stream", "draws", "orders", "rounded"):
        assert now[part] == VECTORS[part]
    for part in ("scales", "choices"):  # logarithms and roots: the last bits are the machine's
        assert numbers_of(now[part]) == pytest.approx(numbers_of(VECTORS[part]), rel=1e-12)
        assert texts_of(now[part]) == texts_of(VECTORS[part])


def leaves(found: Any) -> list[Any]:
    if isinstance(found, dict):
        return [leaf for key in sorted(found) for leaf in leaves(found[key])]
    return [leaf for one in found for leaf in leaves(one)] if isinstance(found, list) else [found]


def is_hex(leaf: object) -> bool:
    return isinstance(leaf, str) and leaf.lstrip("-").startswith("0x")


def numbers_of(found: Any) -> list[float]:
    return [float.fromhex(leaf) for leaf in leaves(found) if is_hex(leaf)]


def texts_of(found: Any) -> list[Any]:
    return [leaf for leaf in leaves(found) if not is_hex(leaf)]


# --- the same draws in decimal arithmetic ---------------------------------------------------------


def pi() -> Decimal:
    """By Gauss and Legendre."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), Decimal(1)
    for _ in range(9):
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return (a + b) ** 2 / (4 * t)


def cosine_and_sine(x: Decimal) -> tuple[Decimal, Decimal]:
    """By their series."""
    term, sums, k = Decimal(1), [Decimal(0), Decimal(0)], 0
    while abs(term) > Decimal(10) ** -(getcontext().prec + 5):
        sums[k % 2] += term if k % 4 < 2 else -term
        k += 1
        term = term * x / k
    return sums[0], sums[1]


def uniforms(seed: str, taken: list[int], size: int) -> list[Decimal]:
    """The middle of what the bits say of each number."""
    stream, words, bits = hashlib.shake_256(seed.encode()).digest(sum(taken)), [0] * size, 0
    for n_bytes in taken:
        now, stream = stream[:n_bytes], stream[n_bytes:]
        width = n_bytes // size
        for i in range(size):
            words[i] = words[i] << 8 * width | int.from_bytes(
                now[width * i : width * (i + 1)], "big"
            )
        bits += 8 * width
    return [(Decimal(word) + Decimal("0.5")) / Decimal(2) ** bits for word in words]


@pytest.mark.parametrize("case", VECTORS["draws"], ids=lambda case: case["seed"])
def test_a_draw_in_decimal_arithmetic(case: dict[str, Any]) -> None:
    dim, rate = len(case["values"]), Fraction(case["rate"])
    pairs, is_laplace = (dim + 1) // 2, case["law"] == "laplace"
    with localcontext(prec=DIGITS):
        found = uniforms(case["seed"], case["taken"], 2 * pairs + (dim if is_laplace else 0))
        normals: list[Decimal] = []
        for first, second in zip(found[: 2 * pairs : 2], found[1 : 2 * pairs : 2], strict=True):
            length = (-2 * first.ln()).sqrt()
            normals += [length * wave for wave in cosine_and_sine(2 * pi() * second)]
        factor = Decimal(rate.denominator) / Decimal(rate.numerator)
        if is_laplace:
            gamma = -sum(one.ln() for one in found[2 * pairs :])
            factor *= gamma / sum((z * z for z in normals[:dim]), Decimal(0)).sqrt()
        grid = Decimal(2) ** case["exponent"]
        for z, value, expected in zip(normals, case["values"], case["sums"], strict=False):
            exact = Decimal(float.fromhex(value)) + factor * z
            multiple = math.floor(exact / grid + Decimal("0.5"))
            assert math.ldexp(multiple, case["exponent"]) == float.fromhex(expected)


@pytest.mark.parametrize("case", VECTORS["orders"], ids=lambda case: case["seed"])
def test_an_order_by_hand(case: dict[str, Any]) -> None:
    stream = hashlib.shake_256(case["seed"].encode()).digest(8 * case["size"])
    keys = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(case["size"])]
    assert sorted(range(case["size"]), key=keys.__getitem__) == case["order"]


@pytest.mark.parametrize("case", VECTORS["scales"])
def test_scales_by_their_formulas(case: dict[str, Any]) -> None:
    """Never below the formula, and above it by rounding alone; amounts add up."""
    n, c, tau = case["n_records"], case["regularization"], 1e-10
    amounts = {name: Decimal(amount) for name, amount in case["amounts"].items()}
    assert sum(amounts.values()) == Decimal("0.875")
    for name, part in case["parts"].items():
        amount, scale = float(amounts[name]), float.fromhex(part["scale"])
        if name == "model" and case["mechanism"] == "objective":
            if case["definition"] == "pure":
                t = 0.25 if case["loss"] == "logistic" else 1.0 / (2.0 * case["h"])
                formula = 2.0 / (amount - math.log1p(t / (2.0 * n * c)))
                assert scale == pytest.approx(formula, rel=1e-9)
            assert part["exponent"] is None
            continue
        sensitivity = 1.0 / (n * c) + tau / c
        if "sensitivity" in part:
            sensitivity = float.fromhex(part["sensitivity"])
        divisor = {
            "pure": amount,
            "zcdp": math.sqrt(2.0 * amount),
            "gdp": math.sqrt(amount),
        }[case["definition"]]
        assert part["law"] == ("laplace" if case["definition"] == "pure" else "gaussian")
        assert scale == pytest.approx(sensitivity / divisor, rel=1e-9)
        assert scale >= sensitivity / divisor * (1.0 - 1e-15)
        if name in ("hessian", "covariance"):
            assert 2.0**20 <= scale / 2.0 ** part["exponent"] < 2.0**21
        else:
            assert part["exponent"] == -30
