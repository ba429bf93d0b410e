"""The published experiments on accuracy [CMS section 7]: cross-validation, the printed cells,
private tuning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpci_core.base.errors import check_count, check_generator
from dpci_core.base.validation import check_unit_records
from dpci_core.privacy.budget import Amount
from dpci_core.studies.accuracy.published import RateCell
from dpci_core.studies.accuracy.study import Accuracy, accuracy_experiment
from dpci_core.tuning.choose import Candidate, tune_privately
from dpci_core.tuning.learners import Learner


def cross_validated(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    learners: Sequence[Learner],
    epsilons: Sequence[Amount],
    n_folds: int,
    n_fits: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[Accuracy]:
    """Return `accuracy_experiment` averaged over folds.

    error_se is the Monte Carlo error of the noise on these folds; error_sd the spread of single
    fits over both.

    Args:
        X, y, learners, epsilons: as for `accuracy_experiment`.
        n_folds: each the test table once.
        n_fits: draws of noise a fold.
        progress: called with (folds done, folds).

    Source:  CMS section 7.1, with n_folds = 10 and n_fits = 50.
    """
    check_generator(rng)
    check_count(n_folds=n_folds)
    features, labels = check_unit_records(X, y)
    if not 2 <= n_folds <= len(labels):
        raise ValueError(f"Expected 2 <= n_folds={n_folds} <= {len(labels)}.")
    folds = np.array_split(rng.permutation(len(labels)), n_folds)
    parts = []
    for k, test in enumerate(folds):
        train = np.concatenate([fold for other, fold in enumerate(folds) if other != k])
        parts.append(
            accuracy_experiment(
                features[train],
                labels[train],
                features[test],
                labels[test],
                learners=learners,
                epsilons=epsilons,
                n_fits=n_fits,
                rng=rng,
            )
        )
        if progress is not None:
            progress(k + 1, n_folds)
    return [_averaged(rows) for rows in zip(*parts, strict=True)]


def _averaged(rows: Sequence[Accuracy]) -> Accuracy:
    errors = np.array([row.error for row in rows])
    return replace(
        rows[0],
        error=float(errors.mean()),
        error_se=float(np.sqrt(np.sum([row.error_se**2 for row in rows]))) / len(rows),
        error_sd=float(np.sqrt(np.mean([row.error_sd**2 for row in rows]) + errors.var())),
        false_positive=float(np.mean([row.false_positive for row in rows])),
        false_negative=float(np.mean([row.false_negative for row in rows])),
        n_fits=sum(row.n_fits for row in rows),
        n_failed=sum(row.n_failed for row in rows),
    )


def measure_cells(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    cells: Sequence[RateCell],
    n_folds: int,
    n_fits: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[Accuracy]:
    """Return `cross_validated` for the cells of one table or figure, in their order."""
    learners = list(dict.fromkeys(cell.learner for cell in cells))
    epsilons = list(dict.fromkeys(cell.epsilon for cell in cells if cell.epsilon))
    found = cross_validated(
        X,
        y,
        learners=learners,
        epsilons=epsilons,
        n_folds=n_folds,
        n_fits=n_fits,
        rng=rng,
        progress=progress,
    )
    # By what was asked for, not by what was used: two penalties that Algorithm 2 raises are one and
    # the same then.
    asked = [
        (one, e) for one in learners for e in ([""] if one.method == "non_private" else epsilons)
    ]
    by_question = dict(zip(asked, found, strict=True))
    return [by_question[cell.learner, cell.epsilon] for cell in cells]


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedAccuracy:
    """Test error of private tuning, and how often each candidate was chosen.

    sentence: the utility bound and the price of one run.
    """

    n_records: int
    n_train: int
    error: float
    error_se: float
    chosen: tuple[int, ...]
    n_runs: int
    sentence: str


def tuned_accuracy(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    X_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount,
    n_runs: int,
    rng: np.random.Generator,
) -> TunedAccuracy:
    """Run Algorithm 4 so many times, with a partition and noise of its own each, and test what it
    chose.

    Source:  CMS section 7.3.  Differs: parts are equal, as Algorithm 4 says; their figures held out
             25,000 rows, which is `tuned_curve`.
    """
    check_count(n_runs=n_runs)
    test, labels = check_unit_records(X_test, y_test)
    errors, chosen = [], np.zeros(len(candidates), dtype=np.int64)
    for _ in range(n_runs):
        result = tune_privately(X, y, candidates=candidates, epsilon=epsilon, rng=rng)
        errors.append(float(np.mean(result.predict(test) != labels)))
        chosen[result.index] += 1
    sd = float(np.std(errors, ddof=1)) if n_runs > 1 else 0.0
    return TunedAccuracy(
        n_records=len(np.asarray(y)),
        n_train=result.n_train,
        error=float(np.mean(errors)),
        error_se=sd / float(np.sqrt(n_runs)),
        chosen=tuple(chosen.tolist()),
        n_runs=n_runs,
        sentence=result.sentence(),
    )
