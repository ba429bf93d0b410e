"""Figures 4 and 5 of [CMS]: the parts of a permutation, what is trained on which, the choice, the
file, the command.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from benchmarks import error_rates, tuning
from benchmarks.error_rates import published_rates
from benchmarks.files import read_rows
from benchmarks.tuning import TuningProtocol, divide
from dpci_core import HuberSVM, Logistic
from dpci_core.base.array import Array
from dpci_core.base.places import DATA
from dpci_core.base.rows import plain as without_weights
from dpci_core.datasets import load
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning.training import Training

N = 1_000
LOSS = Logistic()
PROTOCOL = TuningProtocol(sizes=(100, 250), n_held_out=200, n_permutations=3, n_runs=8)
PENALTIES = (1e-3, 0.5)


def table(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Records whose first value tells them apart."""
    rng = np.random.default_rng(seed)
    X = np.c_[np.linspace(0.001, 0.6, n), rng.uniform(-0.3, 0.3, n), np.full(n, 0.7)]
    return X, np.where(rng.random(n) < 1.2 * X[:, 0], 1.0, -1.0)


X, Y = table()


def curve_of(
    *, epsilons=("0.5", "4"), protocol=PROTOCOL, seed=3, regularizations=PENALTIES, **settings
):
    rng = np.random.default_rng(seed)
    settings = {"loss": LOSS, "regularizations": regularizations} | settings
    return tuning.tuned_curve(X, Y, epsilons=epsilons, protocol=protocol, rng=rng, **settings)


# --- the parts ------------------------------------------------------------------------------------


def test_parts_are_disjoint_and_as_large_as_asked_for() -> None:
    parts = divide(100, n_candidates=3, size=20, n_held_out=15, rng=np.random.default_rng(0))
    assert [len(part) for part in (parts.test, parts.validation, *parts.train)] == [
        15,
        15,
        20,
        20,
        20,
    ]
    rows = np.concatenate([parts.test, parts.validation, *parts.train])
    assert len(set(rows.tolist())) == 90 == len(rows)
    assert not np.array_equal(np.sort(rows), rows)


def test_too_few_rows_are_refused_with_the_size_that_fits() -> None:
    divide(100, n_candidates=3, size=23, n_held_out=15, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"size=24 <= 23: 100 rows, 3 candidates"):
        divide(100, n_candidates=3, size=24, n_held_out=15, rng=np.random.default_rng(0))


def test_what_is_trained_on_which_rows(monkeypatch) -> None:
    seen, tested = [], []
    models, errors = tuning.trained_models, tuning.errors_of

    def spy(A, training, n_fits, seed, n_records):
        assert n_records == len(A)
        seen.append((training, frozenset(np.abs(A[:, 0])), n_fits, seed))
        return models(A, training, n_fits, seed, n_records)

    def spy_on_errors(theta, records, labels):
        tested.append(frozenset(np.abs(records[:, 0])))
        return errors(theta, records, labels)

    monkeypatch.setattr(tuning, "trained_models", spy)
    monkeypatch.setattr(tuning, "errors_of", spy_on_errors)
    protocol = dataclasses.replace(PROTOCOL, n_permutations=2)
    curve_of(epsilons=["0.5"], protocol=protocol)
    assert len(seen) == 2 * 2 * 3 * 2  # permutations, sizes, methods, candidates
    for first in (0, 12):
        validation, test = tested[2 * first], tested[2 * first + 1]
        assert tested[2 * first : 2 * first + 24] == [validation, test] * 12
        assert (len(validation), len(test), len(validation & test)) == (200, 200, 0)
        for (plain, other, *private), n in (
            (seen[first : first + 6], 100),
            (seen[first + 6 : first + 12], 250),
        ):
            assert plain[0] == Training.without_privacy(LOSS, 1e-3)
            assert other[0] == Training.without_privacy(LOSS, 0.5)
            assert plain[1:3] == (
                private[0][1] | private[1][1],
                1,
            )  # once, on the rows of all candidates
            assert other[1:3] == plain[1:3]
            assert not private[0][1] & private[1][1]
            assert not plain[1] & (validation | test)
            for (one, rows, n_fits, seed), c in zip(private, PENALTIES * 2, strict=True):
                i = PENALTIES.index(c)
                assert (rows, n_fits, len(rows)) == (private[i][1], 8, n)
                assert seed == seen[first + i][3]  # equal noise for all methods and sizes
                if (
                    not one.perturbs_objective
                ):  # the n of the bound is that of the part: rate n c epsilon
                    assert one.noise.rate == pytest.approx(n * c * 0.5)
        assert seen[first + 2][1] < seen[first + 8][1]  # a smaller part is within the larger one
    assert (
        len({seed for *_, seed in seen}) == 4
    )  # another stream for each candidate and permutation


def test_no_row_is_tested_or_chosen_with_that_was_trained_on(monkeypatch) -> None:
    made = []
    take = tuning._Permuted.of.__func__
    monkeypatch.setattr(
        tuning._Permuted,
        "of",
        classmethod(lambda *given: made.append(take(*given)) or made[-1]),
    )
    curve_of()
    assert len(made) == 3
    assert not np.array_equal(made[0].test[0], made[1].test[0])
    for one in made:
        rows = [
            one.test[1][:, None] * one.test[0],
            one.validation[1][:, None] * one.validation[0],
            *one.train,
        ]
        labelled = np.concatenate(rows)
        assert len(np.unique(labelled, axis=0)) == len(labelled) == 900
        whole = {tuple(row) for row in Y[:, None] * X}
        assert {tuple(row) for row in labelled} <= whole


# --- the choice -----------------------------------------------------------------------------------


def test_without_privacy_the_fewest_mistakes_win_among_models_of_all_rows() -> None:
    rows = [row for row in curve_of() if row.method == "non_private"]
    rng, errors, picked = np.random.default_rng(3), {100: [], 250: []}, {100: [0, 0], 250: [0, 0]}
    for _ in range(3):
        parts = divide(N, n_candidates=2, size=250, n_held_out=200, rng=rng)
        rng.integers(2**63, size=2), rng.random(8)
        for n in errors:
            train = np.concatenate([part[:n] for part in parts.train])
            models = [
                Newton()
                .minimise(PenalisedRisk(Y[train, None] * X[train], loss=LOSS, regularization=c))
                .theta
                for c in PENALTIES
            ]
            wrong = [
                [np.mean(np.sign(X[p] @ m) != Y[p]) for m in models]
                for p in (parts.validation, parts.test)
            ]
            best = int(np.argmin(wrong[0]))
            errors[n].append(wrong[1][best])
            picked[n][best] += 1
    for row in rows:
        assert row.error == pytest.approx(np.mean(errors[row.n_train]))
        assert row.error_se == pytest.approx(np.std(errors[row.n_train], ddof=1) / math.sqrt(3))
        assert list(row.chosen) == picked[row.n_train]
        assert row.epsilon is None


def test_choices_follow_the_exponential_mechanism() -> None:
    # epsilon = 2 log 2 halves the weight with each mistake: 4/7, 2/7, 1/7.
    mistakes = np.array([[3, 4, 5]] * 6 + [[900, 0, 900]])
    uniform = np.array([0.0, 0.57, 0.572, 0.857, 0.858, 0.999, 0.5])
    assert tuning._choice(mistakes, 2 * math.log(2), uniform).tolist() == [0, 0, 1, 1, 2, 2, 1]
    assert tuning._choice(mistakes[[0, 6]], None, uniform).tolist() == [0, 1]


def test_the_error_is_that_of_the_chosen_candidate(monkeypatch) -> None:
    """Models that name one class only: their errors are the shares of the classes, whatever the
    noise.
    """
    always = {1e-3: np.array([0.0, 0.0, 1.0]), 0.5: np.array([0.0, 0.0, -1.0])}

    def fixed(A, training, n_fits, seed, n_records):
        yield np.tile(always[0.5 if training.regularization >= 0.5 else 1e-3], (n_fits, 1))

    monkeypatch.setattr(tuning, "trained_models", fixed)
    protocol = dataclasses.replace(PROTOCOL, n_runs=400)
    rows = {
        (row.n_train, row.method, row.epsilon): row
        for row in curve_of(epsilons=["0.02", "90"], protocol=protocol)
    }
    constant = rows[100, "output", "90"].constant_error
    positive = np.mean(Y > 0)
    assert constant == pytest.approx(min(positive, 1 - positive), abs=0.05)
    sure, unsure = rows[100, "output", "90"], rows[100, "output", "0.02"]
    assert sure.error == pytest.approx(constant)
    assert rows[100, "non_private", None].error == pytest.approx(constant)
    assert sure.chosen == (0, 1_200)  # the negatives are more
    share = unsure.chosen[0] / 1_200
    assert unsure.error == pytest.approx((1 - share) * constant + share * (1 - constant), abs=0.01)
    assert unsure.best_error == pytest.approx(constant)
    # exp(-0.01 * difference of mistakes): about 200 (1 - 2 constant) more of them
    odds = math.exp(-0.01 * 200 * (1 - 2 * constant))
    assert share == pytest.approx(odds / (1 + odds), abs=0.06)
    assert (sure.false_positive, sure.false_negative) == (0.0, 1.0)
    assert unsure.false_positive == pytest.approx(share)


def test_averages_by_hand() -> None:
    def runs(index, error):
        error = np.array(error)
        return tuning._Runs(
            np.array(index), error, error, 2 * error, np.array([0.3, 0.1, 0.2]), 0.2, 1
        )

    point = tuning._averaged(
        [runs([0, 2], [0.1, 0.3]), runs([2, 2], [0.2, 0.4])], 70, "output", None
    )
    assert point.error == pytest.approx(0.25)
    assert point.error_se == pytest.approx(0.05)  # means 0.2 and 0.3
    assert point.error_sd == pytest.approx(math.sqrt(0.05 / 3))
    assert (point.chosen, point.n_failed, point.n_train) == ((1, 0, 3), 2, 70)
    assert point.best_error == pytest.approx(0.1)
    assert point.false_negative == pytest.approx(0.5)


def test_a_seed_gives_one_result_and_another_another() -> None:
    done = []
    rows = curve_of(progress=lambda k, n: done.append((k, n)))
    assert rows == curve_of()
    assert done == [(1, 3), (2, 3), (3, 3)]
    assert rows != curve_of(seed=4)
    assert [row for row in rows if row.epsilon != "4"] == curve_of(
        epsilons=["0.5"]
    )  # whatever else is asked
    assert [(row.n_train, row.method, row.epsilon) for row in rows[:5]] == [
        (100, "non_private", None),
        (100, "output", "0.5"),
        (100, "output", "4"),
        (100, "objective", "0.5"),
        (100, "objective", "4"),
    ]


@pytest.mark.parametrize("loss", [LOSS, HuberSVM(h=0.5)], ids=repr)
def test_more_budget_and_more_rows_make_fewer_mistakes(loss) -> None:
    protocol = dataclasses.replace(PROTOCOL, sizes=(20, 250), n_runs=40)
    rows = curve_of(
        loss=loss, epsilons=["0.1", "20"], protocol=protocol, regularizations=(1e-3, 1e-2)
    )
    for method in ("output", "objective"):
        error = {(row.n_train, row.epsilon): row.error for row in rows if row.method == method}
        assert error[20, "0.1"] > error[250, "20"] + 0.05
        assert error[250, "0.1"] > error[250, "20"]
    assert not any(row.n_failed for row in rows)


def test_settings_are_checked() -> None:
    for words, change in {
        "sizes": {"sizes": ()},
        "size=0": {"sizes": (0,)},
        "n_held_out=0": {"n_held_out": 0},
        "n_runs=0": {"n_runs": 0},
        "n_permutations=1 >= 2": {"n_permutations": 1},
    }.items():
        with pytest.raises(ValueError, match=words):
            dataclasses.replace(PROTOCOL, **change)
    with pytest.raises(ValueError, match="size=301 <= 300"):
        curve_of(protocol=dataclasses.replace(PROTOCOL, sizes=(100, 301)))
    with pytest.raises(ValueError, match="epsilon=0"):
        curve_of(epsilons=[0])


# --- the file -------------------------------------------------------------------------------------


def test_what_is_on_file_is_whole() -> None:
    """Every method at every size, all of a figure by one run of our settings, from the least to the
    most rows.
    """
    found = read_rows(tuning.TunedRate, DATA / "tuning_run.csv")
    how = {
        ("non_private", ""),
        *((m, e) for m in ("output", "objective") for e in tuning.EPSILONS),
    }
    for part in tuning.EXHIBITS:
        rows = [row for row in found if row.part == part]
        sizes = sorted({row.n_train for row in rows})
        assert set(sizes) <= set(tuning.SIZES)
        assert [sizes[0], sizes[-1]] == [tuning.SIZES[0], tuning.SIZES[-1]]
        assert {(row.n_train, row.method, row.epsilon) for row in rows} == {
            (n, *one) for n in sizes for one in how
        }
        assert {row.penalties for row in rows} == {" ".join(tuning.PENALTIES)}
        assert len({(row.permutations, row.runs, row.seed, row.versions) for row in rows}) == 1
        assert {(row.held_out, row.n_failed) for row in rows} == {(tuning.HELD_OUT, 0)}


def test_settings_of_the_figures() -> None:
    assert tuning.loss_of("figure4") == Logistic()
    assert tuning.loss_of("figure5") == HuberSVM(h=0.5)
    assert tuning.regularizations()[-1] == pytest.approx(0.0158113883)
    assert 5 * max(tuning.SIZES) + 2 * tuning.HELD_OUT <= 494_021
    assert 5 * max(tuning.SIZES) == 444_000
    printed = sorted({rate.regularization for rate in published_rates() if rate.table == 2})
    assert tuning.regularizations() == printed[-5:]


# --- the command ----------------------------------------------------------------------------------

SMALL = [
    "--rows",
    "900",
    "--features",
    "2",
    "--sizes",
    "60",
    "120",
    "--held-out",
    "100",
    "--draws",
    "3",
]


@pytest.mark.parametrize("part", tuning.EXHIBITS)
def test_command_measures_a_figure_and_keeps_it(part, capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(error_rates, "load_cms", census_as_cms)  # no public file is needed
    file = tmp_path / "run.csv"
    asked = [part, *SMALL, "--permutations", "2", "--seed", "5", "--out", str(file)]
    tuning.main(asked)
    printed, on_file = capsys.readouterr().out.splitlines(), read_rows(tuning.TunedRate, file)
    assert len(printed) == len(on_file) == 10
    assert {(row.part, row.seed, row.permutations, row.runs, row.held_out) for row in on_file} == {
        (part, 5, 2, 3, 100)
    }
    assert all(f"{row.error:.4f}" in line for line, row in zip(printed, on_file, strict=True))
    assert {row.epsilon for row in on_file} == {"", "0.01", "0.05"}
    tuning.main(asked)  # the same seed, the same numbers
    assert capsys.readouterr().out.splitlines() == printed


def census_as_cms(key: str, *, n_rows: int | None, features: int | None) -> tuple[Array, Array]:
    """What is asked of the encoding of the paper, of other rows."""
    assert key == "kdd99"
    records = load("census", encoding="paper", features=features, n_rows=n_rows)
    return without_weights(records.X), records.y
