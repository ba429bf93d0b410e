"""Accuracy experiments: against single fits, invariant to batches, and the published protocol and
its tables.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks import error_rates as published
from benchmarks.study import read_rows
from dpci_core import ZCDP, Design, HuberSVM, Logistic, PureDP, SmoothedHinge
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise, train_private
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning import METHODS, Learner, train
from dpci_core.tuning import accuracy as curve
from dpci_core.tuning.accuracy import HeldOut, Measured, Training, accuracy_curve


def table(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-0.5, 0.5, (n, 2)), np.full(n, 0.7)]
    return X, np.where(rng.random(n) < 0.3 + 0.8 * X[:, 0], 1.0, -1.0)


X, Y = table(1_000, 0)
X_TEST, Y_TEST = table(700, 1)
LOSS = Logistic()


def error_of(theta: np.ndarray) -> float:
    return float(
        np.mean(
            [(1.0 if x @ theta > 0 else -1.0) != y for x, y in zip(X_TEST, Y_TEST, strict=True)]
        )
    )


def measured(learners, epsilon=1.0, n_fits=200, seed=3) -> list[Measured]:
    trainings = [
        Training.of_learner(
            one, epsilon=None if one.method == "non_private" else epsilon, n_records=len(X)
        )
        for one in learners
    ]
    return curve_of(trainings, n_fits=n_fits, seed=seed)


def learner(method: str, loss=LOSS, c: float = 0.01) -> Learner:
    return Learner(loss=loss, method=method, regularization=c)


def training_of(design: Design) -> Training:
    """The coefficients of a design, as a release trains them."""
    perturbs = mechanism_of(design).perturbs_objective
    return Training(design.loss, design.regularization, model_noise(design), perturbs)


def test_without_privacy_it_is_one_fit_and_no_error_of_chance() -> None:
    (row,) = measured([learner("non_private")])
    assert row.error == pytest.approx(
        error_of(
            Newton().minimise(PenalisedRisk(Y[:, None] * X, loss=LOSS, regularization=0.01)).theta
        )
    )
    assert (row.error_se, row.n_fits) == (0.0, 1)


@pytest.mark.parametrize("loss", [LOSS, HuberSVM(h=0.5), SmoothedHinge(h=0.5)], ids=repr)
@pytest.mark.parametrize("method", METHODS[1:])
def test_means_are_those_of_single_trainings(method: str, loss) -> None:
    chosen = learner(method, loss, 0.001)
    (row,) = measured([chosen], epsilon=0.2)
    rng, A = np.random.default_rng(11), Y[:, None] * X
    single = [error_of(train(A, learner=chosen, epsilon=0.2, rng=rng)) for _ in range(120)]
    se = math.hypot(row.error_se, np.std(single) / math.sqrt(120))
    assert abs(row.error - np.mean(single)) <= 4 * se
    assert row.error_se == pytest.approx(row.error_sd / math.sqrt(200))
    assert row.error > measured([learner("non_private", loss, 0.001)])[0].error + 5 * row.error_se
    assert row.n_failed == 0


def test_noise_is_common() -> None:
    learners = [learner("non_private"), learner("output")]
    rows = measured(learners, epsilon=10, n_fits=40)
    (alone,) = measured([learner("output")], epsilon=10, n_fits=40)
    assert alone == rows[-1]  # the same streams whatever else is asked
    assert measured([learner("output")], epsilon=0.1, n_fits=40)[0].error > alone.error


def test_batches_change_nothing(monkeypatch) -> None:
    learners = [learner("objective"), learner("output")]
    whole = measured(learners, n_fits=11)
    monkeypatch.setattr(curve, "_BATCH_NUMBERS", 2_500)
    assert measured(learners, n_fits=11) == whole


def test_designs_train_as_a_release_does() -> None:
    budgets = {
        "output": ZCDP(model="0.02", hessian="1", covariance="1"),
        "objective": PureDP(model="0.3", hessian=1, covariance=1),
    }
    A = Y[:, None] * X
    for mechanism, budget in budgets.items():
        design = Design(
            loss=LOSS,
            mechanism=mechanism,
            budget=budget,
            regularization=0.01,
            n_records=len(A),
            calibration="published",
        )
        training = training_of(design)
        split, rng = HeldOut(A, X_TEST, Y_TEST), np.random.default_rng(5)
        (found,) = accuracy_curve(split, trainings=[training], n_fits=200, rng=rng)
        rng = np.random.default_rng(6)
        single = [error_of(train_private(A, design=design, rng=rng).theta_priv) for _ in range(150)]
        se = math.hypot(found.error_se, np.std(single) / math.sqrt(150))
        assert abs(found.error - np.mean(single)) <= 4 * se


def test_mistakes_by_hand() -> None:
    theta = np.array([[1.0, 0.0], [-1.0, 0.0], [np.nan, np.nan]])
    records = np.array([[0.5, 0.1], [0.2, 0.1], [-0.3, 0.1], [-0.4, 0.1], [0.6, 0.1]])
    labels = np.array([1.0, 1.0, -1.0, 1.0, -1.0])
    found = [curve.measured(theta[i : i + 1], records, labels) for i in range(3)]
    assert [one.error for one in found] == [2 / 5, 3 / 5, 1.0]
    assert [one.false_positive for one in found] == [1 / 2, 1 / 2, 1.0]
    assert [one.false_negative for one in found] == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert [one.n_failed for one in found] == [0, 0, 1]
    together = curve.measured(theta, records, labels)
    assert together.error == pytest.approx(2 / 3)
    assert together.false_negative == pytest.approx(2 / 3)
    assert (together.n_fits, together.n_failed) == (3, 1)
    assert np.isnan(curve.measured(theta[:1], records, np.ones(5)).false_positive)


def test_a_small_epsilon_raises_the_penalty() -> None:
    for method, of_budget, raised in (
        ("objective", 0.125, 0.5),
        ("objective", None, 8.0),
        ("objective_tight", 0.25, 0.5),
    ):
        one = learner(method, c=1e-4)
        training = Training.of_learner(one, epsilon=raised, n_records=1_000)
        wanted = 1e-4 if of_budget is None else 0.25 / (2_000 * math.expm1(of_budget))
        assert training.regularization == pytest.approx(wanted, rel=1e-9)


# --- a curve of any trainings ---------------------------------------------------------------------

HELD_OUT = HeldOut(Y[:, None] * X, X_TEST, Y_TEST)


def curve_of(trainings, n_fits=20, seed=5) -> list[Measured]:
    rng = np.random.default_rng(seed)
    return accuracy_curve(HELD_OUT, trainings=trainings, n_fits=n_fits, rng=rng)


def test_equal_trainings_are_measured_once(monkeypatch) -> None:
    seen, fits = [], curve.trained_models
    monkeypatch.setattr(curve, "trained_models", lambda *a: seen.append(a[1]) or fits(*a))
    raised = [
        Training.of_learner(learner("objective", c=c), epsilon=0.1, n_records=1_000)
        for c in (1e-9, 1e-7, 1.0)
    ]
    found = curve_of(raised)
    assert len(seen) == 2
    assert found[0] == found[1] != found[2]


def test_it_refuses() -> None:
    with pytest.raises(ValueError, match="n_fits=0"):
        measured([learner("output")], n_fits=0)


# --- the published protocol -----------------------------------------------------------------------


def test_published_rates_are_the_printed_ones() -> None:
    rates = published.published_rates()
    assert {table: len(cells) for table, cells in rates.items()} == {"1": 48, "2": 48}
    assert rates["1"]["logistic", "objective", "1e-2.5"] == 0.2161
    assert rates["2"]["huber_svm", "objective", "1e-2.0"] == 0.0064
    cell = published.RateCell("table1", "logistic", "output", "1e-3.5", "0.1")
    assert cell.training(1_000).regularization == pytest.approx(0.00015811, rel=1e-4)


def test_folds_cover_the_table_once_and_are_averaged(monkeypatch) -> None:
    seen, given = [], {"n_fits": 6, "seed": 0}
    given["cells"] = published.cells_of("table1")[::8][:3]

    def spy(split, **settings):
        seen.append(split)
        return accuracy_curve(split, **settings)

    monkeypatch.setattr(published, "accuracy_curve", spy)
    rows = published.measure_cells(X, Y, n_folds=4, **given)
    tested = np.concatenate([split.X_test for split in seen])
    assert np.array_equal(np.sort(tested, axis=0), np.sort(X, axis=0))
    assert [len(split.A) for split in seen] == [row.n_records for row in rows] + [750]
    assert [row.method for row in rows] == ["non_private", "output", "objective"]
    assert [row.n_fits for row in rows] == [4, 24, 24]
    assert rows[0].error_se == 0
    assert rows[0].error_sd > 0
    with pytest.raises(ValueError, match="n_folds=1"):
        published.measure_cells(X, Y, n_folds=1, **given)


def test_averages_by_hand() -> None:
    one, two = measured([learner("output"), learner("output", c=0.5)], n_fits=10)
    both = published.averaged([one, two])
    assert both["error"] == pytest.approx((one.error + two.error) / 2, abs=1e-6)
    assert both["error_se"] == pytest.approx(math.hypot(one.error_se, two.error_se) / 2, abs=1e-7)
    spread = (one.error_sd**2 + two.error_sd**2) / 2 + (one.error - two.error) ** 2 / 4
    assert both["error_sd"] == pytest.approx(math.sqrt(spread), abs=1e-6)


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "n_cells"), [("table1", 48), ("figure3", 34)])
def test_published_cells_beside_ours(part, n_cells, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(published, "load_cms", lambda key, n_rows: (X[:n_rows], Y[:n_rows]))
    file = tmp_path / "run.csv"
    made = "--rows 300 --folds 2 --draws 2"
    published.main([part, *made.split(), "--out", str(file)])
    lines, cells = capsys.readouterr().out.splitlines(), published.cells_of(part)
    assert len(lines) == n_cells == len(cells)
    on_file = read_rows(published.MeasuredRate, file)
    assert [row.cell for row in on_file] == list(cells)
    for line, row in zip(lines, on_file, strict=True):
        printed = published.published_error(row.cell)
        assert f"{row.error:.4f} ± {row.error_se:.4f}" in line
        assert (
            ("printed" not in line) if printed is None else line.endswith(f"printed {printed:.4f}")
        )
    first = next(row for row in on_file if row.method == "objective" and row.epsilon == "0.1")
    assert published.published_error(first.cell) == (0.8619 if part == "table1" else 0.0113)
    assert {row.n_records for row in on_file} == {150}


def test_every_cell_of_a_figure_is_at_the_best_printed_penalty() -> None:
    best = {
        ("adult", "logistic", "objective"): "1e-2.5",
        ("kdd99", "huber_svm", "output"): "1e-2.0",
    }
    for (dataset, loss, method), penalty in best.items():
        part = next(
            p for p, key in published.EXHIBITS.items() if key == dataset and p.startswith("figure")
        )
        cells = [c for c in published.cells_of(part) if (c.loss, c.method) == (loss, method)]
        assert {c.penalty for c in cells} == {penalty}
        assert [c.epsilon for c in cells] == list(published.FIGURE_EPSILONS)
        assert [c for c in cells if published.published_error(c) is not None] == [
            c for c in cells if c.epsilon == "0.1"
        ]
