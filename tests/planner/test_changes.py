"""What a refusal says would help, applied: each change alone makes the design possible, 2 % less
does not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from decimal import Decimal

import pytest

from dpci_core import (
    ZCDP,
    Calibration,
    Change,
    Design,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    PureDP,
    Target,
    best_split,
    datasets,
    fit_moments,
    forecast,
    needed_budget,
    needed_records,
)
from dpci_core.intervals.certified import check_feasible
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy.budget import pair_budget

C = 0.001
TABLE = datasets.load("census", encoding="schema", features=4, n_rows=5_000)
LOSSES = {"logistic": Logistic(), "huber_svm": HuberSVM(h=0.5)}
FITS = {
    name: fit_moments(TABLE.X, TABLE.y, loss=loss, regularization=C)
    for name, loss in LOSSES.items()
}
SMALL = {
    "pure": PureDP(model="0.002", hessian="0.001", covariance="0.0007"),
    "zcdp": ZCDP(model="2e-6", hessian="1e-6", covariance="7e-7"),
}


def refused(ask: Callable[[], object]) -> InfeasibleDesignError:
    with pytest.raises(InfeasibleDesignError) as caught:
        ask()
    return caught.value


def works(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except InfeasibleDesignError:
        return False
    return True


def changed(design: Design, change: Change, nearer: float) -> Design:
    """The design with the change, `nearer` times it."""
    times = Decimal(repr(nearer))
    value = Decimal(str(change.value)) * times
    budget = design.budget
    match change.what:
        case "n_records":
            return dataclasses.replace(design, n_records=math.floor(value))
        case "regularization":
            return dataclasses.replace(design, regularization=float(value))
        case "model":
            return dataclasses.replace(design, budget=dataclasses.replace(budget, model=value))
        case "total":
            parts = {
                name: getattr(budget, name) * value / budget.total
                for name in ("model", "hessian", "covariance")
            }
            return dataclasses.replace(design, budget=type(budget)(**parts))
    raise AssertionError(change)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("definition", SMALL)
@pytest.mark.parametrize("calibration", ["published", "sharp"])
@pytest.mark.parametrize("n", [40, 1_000, 9_999])
def test_each_change_is_enough_and_the_smallest(
    loss: str, definition: str, calibration: str, n: int
) -> None:
    design = Design(
        loss=LOSSES[loss],
        mechanism="objective",
        budget=SMALL[definition],
        regularization=C,
        n_records=n,
        calibration=calibration,
    )
    error = refused(lambda: model_noise(design))
    assert [change.what for change in error.changes] == [
        "regularization",
        "n_records",
        "model",
        "total",
    ]
    assert refused(lambda: forecast(FITS[loss], design=design)).changes == error.changes
    for change in error.changes:
        assert change.is_smallest
        enough, less = (changed(design, change, nearer) for nearer in (1.0, 0.98))
        assert works(lambda enough=enough: model_noise(enough)), change
        assert not works(lambda less=less: model_noise(less)), change


def test_the_refusal_of_a_split_names_numbers_that_work() -> None:
    """By `best_split` itself for the total and n, and at moments refitted for c."""
    for definition, budget in SMALL.items():
        for calibration in ("published", "sharp"):
            design = Design(
                loss=Logistic(),
                mechanism="objective",
                budget=budget,
                regularization=C,
                n_records=1_000,
                calibration=calibration,
            )
            error = refused(lambda design=design: best_split(FITS["logistic"], design=design))
            assert [change.what for change in error.changes] == [
                "total",
                "n_records",
                "regularization",
            ], definition
            for change in error.changes:
                text = f"{change.value:,}" if change.what == "n_records" else f"{change.value}"
                assert text in error.suggestion
                for nearer in (1.0, 0.98):
                    other = changed(design, change, nearer)
                    fit = FITS["logistic"]
                    if change.what == "regularization":
                        fit = dataclasses.replace(fit, regularization=other.regularization)
                    ask = lambda fit=fit, other=other: best_split(fit, design=other)  # noqa: E731
                    assert works(ask) == (nearer == 1.0), (change, nearer)


def test_locks_that_take_too_much_name_the_total_that_is_needed() -> None:
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=SMALL["pure"],
        regularization=C,
        n_records=5_000,
        calibration="published",
    )

    def ask(total: Decimal, locked: dict[str, str]) -> Callable[[], object]:
        third = total / 4
        budget = PureDP(model=total - third - third, hessian=third, covariance=third)
        other = dataclasses.replace(design, budget=budget)
        return lambda: best_split(FITS["logistic"], design=other, locked=locked)

    for locked in ({"hessian": "0.3", "covariance": "0.1"}, {"model": "0.5"}):
        error = refused(ask(Decimal("0.2"), locked))
        (change,) = error.changes
        assert change.what == "total"
        assert str(change.value) in error.suggestion
        assert works(ask(Decimal(change.value), locked))
        assert not works(ask(Decimal(change.value) * Decimal("0.98"), locked))
    exact = {"model": "0.1", "hessian": "0.05", "covariance": "0.01"}
    assert refused(ask(Decimal("0.2"), exact)).changes == (Change("total", Decimal("0.16")),)
    assert works(ask(Decimal("0.16"), exact))


def test_a_target_out_of_reach_names_the_nearest_one() -> None:
    fit = FITS["logistic"]
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=SMALL["pure"],
        regularization=C,
        n_records=5_000,
        calibration="sharp",
    )
    error = refused(lambda: needed_budget(fit, design=design, target=Target(0.01)))
    length, n = error.change("length"), error.change("n_records")
    assert length is not None
    assert n is not None
    assert f"{n.value:,} records" in error.suggestion
    assert f"{length.value:.3g}" in error.suggestion
    at = lambda length, n: needed_budget(  # noqa: E731
        fit, design=dataclasses.replace(design, n_records=n), target=Target(length)
    )
    assert works(lambda: at(0.01, n.value))
    assert works(lambda: at(length.value, 5_000))
    assert not works(lambda: at(0.98 * length.value, 5_000))
    power = Target(coefficient=0, excludes_zero_at=-1e-6, probability=0.8)
    (change,) = refused(lambda: needed_records(fit, design=design, target=power)).changes
    assert change.what == "excludes_zero_at"
    assert change.value < 0.0
    for nearer in (1.0, 0.98):
        moved = dataclasses.replace(power, excludes_zero_at=nearer * change.value)
        assert works(lambda moved=moved: needed_records(fit, design=design, target=moved)) == (
            nearer == 1.0
        )


def test_a_budget_that_cannot_be_paired_names_the_delta_and_the_total() -> None:
    budget = ZCDP(model="5e-13", hessian="3e-13", covariance="2e-13")
    error = refused(lambda: pair_budget(budget, rule="guarantee", delta="0.001"))
    total, delta = error.change("total"), error.change("delta")
    assert total is not None
    assert delta is not None

    def scaled(factor: Decimal) -> ZCDP:
        return ZCDP(
            **{name: getattr(budget, name) * factor for name in ("model", "hessian", "covariance")}
        )

    assert works(lambda: pair_budget(budget, rule="guarantee", delta=delta.value))
    assert not works(
        lambda: pair_budget(budget, rule="guarantee", delta=delta.value * Decimal("1.02"))
    )
    for nearer in (Decimal(1), Decimal("0.98")):
        factor = nearer * total.value / budget.total
        assert works(lambda f=factor: pair_budget(scaled(f), rule="guarantee", delta="0.001")) == (
            nearer == 1
        )


def test_a_release_that_cannot_be_certified_names_a_c_that_can() -> None:
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=budget,
        regularization=1e-9,
        n_records=10**6,
        calibration="published",
    )
    error = refused(lambda: check_feasible(design, dim=37))
    (change,) = error.changes
    assert (change.what, change.is_smallest) == ("regularization", False)
    enough = dataclasses.replace(design, regularization=change.value)
    assert works(lambda: check_feasible(enough, dim=37))


def test_two_arguments_are_still_enough() -> None:
    error = InfeasibleDesignError("It cannot run.", "Use more.")
    assert (str(error), error.suggestion, error.changes) == (
        "It cannot run. Use more.",
        "Use more.",
        (),
    )
    assert error.change("total") is None


def test_a_custom_calibration_states_the_budget_in_its_own_currency() -> None:
    """A rho budget that runs published objective perturbation at sqrt(2 rho)."""
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=SMALL["zcdp"],
        regularization=C,
        n_records=1_000,
        calibration=Calibration.published(tight_sensitivity=True),
    )
    change = refused(lambda: model_noise(design)).change("model")
    assert change is not None
    # c > t/(2n(e^epsilon - 1)) at epsilon = log(1 + t/(2nc)) = log(1.125), and rho = epsilon^2/2.
    assert float(change.value) == pytest.approx(math.log(1.125) ** 2 / 2.0, rel=0.01)
