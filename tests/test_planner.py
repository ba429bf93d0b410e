"""The planner by forecasts made here: no random split is better, locks and totals are exact, remedies are the smallest.

The table is the simulated census. A score is computed from the fields of a forecast, never by the planner.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    Design,
    Forecast,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    Moments,
    PureDP,
    best_split,
    datasets,
    fit_moments,
    forecast,
    remedies,
)
from dpci_core.planner import Remedies

C = 0.001
PARTS = ("model", "hessian", "covariance")
LOSSES = {"logistic": Logistic(), "huber_svm": HuberSVM(h=0.5)}
BUDGETS = {
    "pure": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    "zcdp": ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
}
"""The published splits of a total of 1 and 0.1875."""
COMBINATIONS = [
    pytest.param(*names, id="-".join(names))
    for names in itertools.product(LOSSES, BUDGETS, ("objective", "output"), ("sharp", "published"))
]


@pytest.fixture(scope="module")
def records() -> tuple[np.ndarray, np.ndarray]:
    loaded = datasets.load("census", encoding="schema", features=6, n_rows=20_000)
    return loaded.X, loaded.y


@pytest.fixture(scope="module")
def moments(records: tuple[np.ndarray, np.ndarray]) -> dict[str, Moments]:
    return {name: fit_moments(*records, loss=loss, regularization=C) for name, loss in LOSSES.items()}


def make_design(loss: str, definition: str, mechanism: str, calibration: str = "sharp", **changes: object) -> Design:
    given = {"budget": BUDGETS[definition], "regularization": C} | changes
    return Design(loss=LOSSES[loss], mechanism=mechanism, calibration=calibration, **given)


def penalised_length(found: Forecast) -> float:
    """Mean length, 1 % longer for every tenth of a point that a coefficient lacks to the level less half a point."""
    missing = 0.95 - 0.005 - found.coverage.min()
    return found.ci_length_mean * (1.0 + 10.0 * max(0.0, missing))


def exact_sum(*amounts: Decimal) -> Decimal:
    with localcontext(Context(prec=300)):
        return sum(amounts, Decimal(0))


# --- locks and totals -------------------------------------------------------------------------------------------------

AWKWARD = {
    "tenths": PureDP(model="0.1", hessian="0.1", covariance="0.1"),
    "thirds": ZCDP(model=Decimal(2) / 3, hessian=Decimal(1) / 6, covariance=Decimal(1) / 6),
    "long": PureDP(model="0.5", hessian="0.25", covariance="0.2500000000000000000000000000000000000000001"),
    "small": ZCDP(model="2e-3", hessian="7e-4", covariance="3.0000001e-4"),
}


@pytest.mark.parametrize("budget", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize("locked", [(), ("model",), ("hessian",), ("covariance",)], ids=str)
def test_the_total_never_moves(budget: PureDP | ZCDP, locked: tuple[str, ...], moments: dict[str, Moments]) -> None:
    """Not by a digit, also where a third or 40 digits are at stake; nor does a locked part."""
    definition = "pure" if isinstance(budget, PureDP) else "zcdp"
    design = make_design("logistic", definition, "output", "published", budget=budget)
    held = {name: getattr(budget, name) for name in locked}
    found = best_split(moments["logistic"], design=design, n_records=200_000, locked=held).design.budget
    assert type(found) is type(budget)
    assert exact_sum(*found.parts) == exact_sum(*budget.parts)
    for name, amount in held.items():
        assert getattr(found, name) == amount


def test_the_caller_cannot_round_the_total(moments: dict[str, Moments]) -> None:
    design = make_design("logistic", "pure", "output", "published")
    with localcontext(Context(prec=3)):
        found = best_split(moments["logistic"], design=design, locked={"hessian": "0.1234567"}).design.budget
    assert exact_sum(*found.parts) == Decimal(1)
    assert found.hessian == Decimal("0.1234567")


OTHER = {"model": "0.61", "hessian": "0.12", "covariance": "0.17"}
"""Amounts that are not those of the design."""


@pytest.mark.parametrize("amounts", ["own", "other"])
@pytest.mark.parametrize("names", [*itertools.combinations(PARTS, 1), *itertools.combinations(PARTS, 2)], ids="-".join)
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_locks_are_kept_exactly(
    mechanism: str, names: tuple[str, ...], amounts: str, moments: dict[str, Moments]
) -> None:
    design = make_design("logistic", "pure", mechanism, "published")
    own = dict(zip(PARTS, design.budget.parts, strict=True))
    locked = {name: own[name] if amounts == "own" else OTHER[name] for name in names}
    answer = best_split(moments["logistic"], design=design, locked=locked)
    found = answer.design.budget
    for name, amount in locked.items():
        assert getattr(found, name) == Decimal(amount)
    assert exact_sum(*found.parts) == exact_sum(*design.budget.parts)
    assert all(part > 0 for part in found.parts)
    for name, share in zip(PARTS, answer.shares, strict=True):
        assert answer.flat[name][0] <= share <= answer.flat[name][1]
    if len(names) == 1:
        # A plain scan of the one free share finds nothing better.
        for share in np.linspace(0.02, 0.98, 25):
            parts = shared_out(design.budget.total, locked, share)
            found = forecast(moments["logistic"], design=dataclasses.replace(design, budget=PureDP(**parts)))
            assert penalised_length(answer.forecast) <= 1.003 * penalised_length(found)


def shared_out(total: Decimal, locked: dict[str, object], share: float) -> dict[str, Decimal]:
    """The locked part, and the rest split between the other two."""
    (name, amount), (first, second) = next(iter(locked.items())), [n for n in PARTS if n not in locked]
    rest = total - Decimal(amount)
    part = (rest * Decimal(float(share))).quantize(Decimal("1e-9"))
    return {name: Decimal(amount), first: part, second: rest - part}


def test_all_three_parts_may_be_locked(moments: dict[str, Moments]) -> None:
    """The tenths of 0.3 add up to it, which three thirds of a float would not."""
    design = make_design("logistic", "pure", "output", budget=AWKWARD["tenths"])
    answer = best_split(moments["logistic"], design=design, locked=dict.fromkeys(PARTS, "0.1"))
    assert answer.design.budget == design.budget
    assert answer.gain == 0.0
    moved = {"model": "0.2", "hessian": "0.05", "covariance": "0.05"}
    found = best_split(moments["logistic"], design=design, locked=moved).design.budget
    assert found.parts == (Decimal("0.2"), Decimal("0.05"), Decimal("0.05"))


def test_a_lock_on_nearly_everything_leaves_the_rest(moments: dict[str, Moments]) -> None:
    design = make_design("logistic", "pure", "output", "published")
    for name in PARTS:
        found = best_split(moments["logistic"], design=design, locked={name: "0.999"}).design.budget
        assert getattr(found, name) == Decimal("0.999")
        assert exact_sum(*found.parts) == 1


@pytest.mark.parametrize(
    ("locked", "error", "words"),
    [
        ({"gradient": "0.1"}, ValueError, "Expected locked part 'gradient' to be one of model, hessian, covariance."),
        ({"hessian": "0"}, ValueError, "Expected locked hessian=0 > 0"),
        ({"hessian": "much"}, ValueError, "Expected locked hessian='much' to be a number"),
        ({"hessian": "1.1"}, InfeasibleDesignError, r"take 1\.10 of the total 1\.00\. Unlock"),
        ({"model": "0.6", "covariance": "0.5"}, InfeasibleDesignError, r"take 1\.10 of the total 1\.00\."),
        ({"model": "0.6", "covariance": "0.4"}, InfeasibleDesignError, r"take 1\.00 of the total 1\.00\."),
        ({"model": "1"}, InfeasibleDesignError, "take 1.* of the total"),
        ({"model": "0.6", "hessian": "0.2", "covariance": "0.1"}, InfeasibleDesignError, r"take 0\.90 of the total"),
    ],
)
def test_bad_locks_are_named(
    locked: dict[str, str], error: type[Exception], words: str, moments: dict[str, Moments]
) -> None:
    with pytest.raises(error, match=words):
        best_split(moments["logistic"], design=make_design("logistic", "pure", "output"), locked=locked)


# --- remedies ---------------------------------------------------------------------------------------------------------


def scaled(budget: PureDP | ZCDP, factor: float) -> PureDP | ZCDP:
    return type(budget)(**{name: Decimal(repr(factor)) * getattr(budget, name) for name in PARTS})


REMEDIES = [
    pytest.param(*names, id="-".join(names))
    for names in itertools.product(("pure", "zcdp"), ("objective", "output"), ("sharp", "published"))
]
N_USELESS = {"pure": 2_000, "zcdp": 1_000}


@pytest.mark.parametrize(("definition", "mechanism", "calibration"), REMEDIES)
def test_remedies_are_the_smallest_change(
    definition: str,
    mechanism: str,
    calibration: str,
    moments: dict[str, Moments],
    records: tuple[np.ndarray, np.ndarray],
) -> None:
    """Useful as answered, useless with 3 % less, and c as a guess for what refitting gives."""
    fit, n = moments["logistic"], N_USELESS[definition]
    budget = scaled(BUDGETS[definition], 1.0 if definition == "pure" else 0.2)
    design = make_design("logistic", definition, mechanism, calibration, budget=budget)

    def is_useless(n: int = n, fit: Moments = fit, **changes: object) -> bool:
        return forecast(fit, design=dataclasses.replace(design, **changes), n_records=n).usefulness.is_useless

    assert is_useless()
    found = remedies(fit, design=design, n_records=n)
    assert found.n_records is not None
    assert not is_useless(found.n_records)
    assert is_useless(math.floor(0.97 * found.n_records))
    assert not is_useless(budget=scaled(budget, found.budget_factor))
    assert is_useless(budget=scaled(budget, 0.97 * found.budget_factor))

    def is_useless_refitted(c: float) -> bool:
        refitted = fit_moments(*records, loss=LOSSES["logistic"], regularization=c)
        return is_useless(fit=refitted, regularization=c)

    if found.regularization is None:
        assert all(is_useless_refitted(C * factor) for factor in (2.0, 8.0, 32.0, 128.0, 1024.0))
        return
    assert is_useless_refitted(found.regularization / 1.3)
    assert not is_useless_refitted(found.regularization * 1.3)


def test_what_is_useful_already_needs_nothing(moments: dict[str, Moments]) -> None:
    design = make_design("logistic", "pure", "objective")
    found = remedies(moments["logistic"], design=design)
    assert found == Remedies(n_records=20_000, budget_factor=1.0, regularization=C)


def test_where_nothing_helps_remedies_say_so(moments: dict[str, Moments]) -> None:
    """Without a signal the coefficients are within their own noise at any n, c and budget."""
    fit = dataclasses.replace(moments["logistic"], theta_hat=np.zeros(7), covariance=1e-12 * np.eye(7))
    found = remedies(fit, design=make_design("logistic", "pure", "output", "published"), n_records=2_000)
    assert found == Remedies(n_records=None, budget_factor=None, regularization=None)
    assert found.sentence == "No single change of n, budget or c helps."


def test_an_infeasible_design_can_be_remedied(moments: dict[str, Moments]) -> None:
    """At n = 100 objective perturbation needs c > 0.25/(200 (e^0.5 - 1)) = 0.0019: no forecast, but an answer."""
    design = make_design("logistic", "pure", "objective")
    with pytest.raises(InfeasibleDesignError):
        forecast(moments["logistic"], design=design, n_records=100)
    found = remedies(moments["logistic"], design=design, n_records=100)
    assert found.n_records is not None
    assert not forecast(moments["logistic"], design=design, n_records=found.n_records).usefulness.is_useless


def test_remedies_in_words() -> None:
    found = Remedies(n_records=12_345, budget_factor=2.3456, regularization=0.01234)
    assert found.sentence == (
        "The smallest change that helps: 12,345 records, or 2.35 times the budget, or about c = 0.012, which also "
        "pulls the coefficients towards zero."
    )
    assert dataclasses.replace(found, budget_factor=None, regularization=None).sentence == (
        "The smallest change that helps: 12,345 records."
    )
