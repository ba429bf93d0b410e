"""`DPSelection`: one of several settings of a private classifier, chosen privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array, Positions
from dpci_core.base.rows import EncodedRows
from dpci_core.design import MECHANISMS, Design
from dpci_core.estimators.account import (
    LedgerAccount,
    Payable,
    check_labels_declared,
    drawn_by,
    payer,
)
from dpci_core.estimators.input import check_features, check_labels, names_of, signs_of
from dpci_core.estimators.linear import PrivateLinearClassifier
from dpci_core.estimators.scaling import Scaling
from dpci_core.estimators.settings import settings_of, table_of
from dpci_core.estimators.statement import ChoiceStatement, PrivacyStatement, noise_source
from dpci_core.estimators.unpaid import warn_if_unpaid
from dpci_core.intervals.private_fit import PrivateFit
from dpci_core.ledger import Charge, Cost
from dpci_core.mechanisms.mechanism import mechanism_named, model_noise
from dpci_core.privacy.budget import Amount, PureDP, to_decimal, to_float_down
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner, Method, learner_noise, train
from dpci_core.tuning.released import certified, for_coefficients_alone, spending_of_release
from dpci_core.tuning.selection import (
    SelectionMethod,
    SelectionResult,
    checked_score,
    distinct_candidates,
    select_by,
    spend,
)

_NOT_RELEASED = (
    "DPSelection has no {name}: scores are not released. What a choice among noisy scores costs "
    "holds for the index and the model alone."
)


class DPSelection(Payable, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """The best of several settings of `DPLogisticRegression` or `DPLinearSVC`, as far as a private
    choice can tell.

    Args:
        estimator: declares the columns by `feature_bounds`, and whatever the candidates do not
            change; its budget and intervals play no part. Two classes.
        candidates: settings as dictionaries, each with `regularization`; also `mechanism`, and
            `loss` and `h` of `DPLinearSVC`. A list made without looking at the data.
        epsilon: of training and choice together; `fit` refuses without.
        method: one of `tuning.SELECTION_METHODS`.
        validation_share: of the rows, that score.
        random_state, ledger: as for `DPLogisticRegression`, of everything that is drawn; the
            estimator has no ledger of its own.

    `best_index_`, `best_params_`, `best_estimator_` (without intervals), `classes_`, `privacy_`.
    There is no `cv_results_` and no `best_score_`: scores are not released.
    Privacy: epsilon-DP, replace-one neighbours, n public (docs/proofs/selection.md).
    Raises:  ValueError, InfeasibleDesignError from `fit`; none holds a value.

    >>> from dpci_core import DPLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (8000, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=8000) > 0
    >>> model = DPSelection(
    ...     DPLogisticRegression(feature_bounds=(-1, 1), classes=(False, True)),
    ...     [{"regularization": c} for c in (0.005, 0.05, 5.0)], epsilon=2, random_state=1)
    >>> model.fit(X, y).best_params_
    {'regularization': 0.005}
    """

    def __init__(
        self,
        estimator: Any = None,
        candidates: Sequence[Mapping[str, Any]] = (),
        *,
        epsilon: Amount | None = None,
        method: SelectionMethod = "stability",
        validation_share: Amount = "0.1",
        random_state: Any = None,
        ledger: LedgerAccount | None = None,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.epsilon = epsilon
        self.method = method
        self.validation_share = validation_share
        self.random_state = random_state
        self.ledger = ledger

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("cv_results_", "best_score_"):
            raise AttributeError(_NOT_RELEASED.format(name=name))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train every candidate, choose one, and keep that one only.

        Privacy: `privacy_`.
        """
        if self.epsilon is None:
            raise ValueError("Expected epsilon. There is no default for how private to be.")
        total = to_decimal(self.epsilon, name="epsilon")
        settings = self._settings()
        given, X = X, check_features(self, X, reset=True, may_be_infinite=True)
        told = table_of(given, y, X.shape)
        scaling = Scaling.of(
            settings[0].feature_bounds,
            n_features=X.shape[1],
            norm_bound=settings[0].norm_bound,
            names=names_of(self),
        )
        classes, codes = check_labels(y, settings[0].classes, n_records=len(X))
        if len(classes) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"Expected two classes, got {len(classes)} classes."
            )
        check_labels_declared(payer(self.ledger), settings[0].classes)
        result, source, charge = self._chosen(settings, scaling.encode(X), codes, total, told)
        self.classes_ = classes
        self.best_index_ = result.index
        self.best_params_ = dict(self.candidates[result.index])
        is_system = isinstance(source, SystemSource)
        self.privacy_ = ChoiceStatement(
            amount=total,
            noise="system" if is_system else "seeded",
            classes_declared=settings[0].classes is not None,
            perturbs_objective=any(
                mechanism_named(one.mechanism).perturbs_objective for one in settings
            ),
            charge=charge,
        )
        self.best_estimator_ = _kept(
            settings[result.index], result, scaling, classes, X.shape, self.privacy_
        )
        if hasattr(self, "feature_names_in_"):
            self.best_estimator_.feature_names_in_ = self.feature_names_in_
        return self

    def _settings(self) -> list[PrivateLinearClassifier]:
        """The estimators of the candidates, none fitted."""
        if not isinstance(self.estimator, PrivateLinearClassifier):
            raise ValueError(
                "Expected estimator to be a DPLogisticRegression or a DPLinearSVC, got "
                f"{type(self.estimator).__name__}."
            )
        if self.estimator.feature_bounds is None or self.estimator.feature_typical is not None:
            raise ValueError(
                "Expected an estimator with feature_bounds=(low, high) and no feature_typical: the "
                "bounds of the scores are for rows of weight 1."
            )
        if self.estimator.ledger is not None:
            raise ValueError(
                "Expected an estimator without a ledger: DPSelection(ledger=) pays for all "
                "candidates and the choice at once."
            )
        if self.estimator.geometry is not None:
            raise ValueError(
                "Expected an estimator without a geometry: the bounds of the scores are for noise "
                "of equal size in every direction."
            )
        listed = self.candidates
        if not isinstance(listed, list | tuple) or not listed:
            raise ValueError("Expected candidates to hold at least one dictionary of settings.")
        allowed = {"regularization", "mechanism", "loss", "h"}
        for i, one in enumerate(listed):
            if not isinstance(one, Mapping) or not set(one) <= allowed:
                raise ValueError(
                    f"Expected candidate {i} to be a dictionary with keys among "
                    f"{', '.join(sorted(allowed))}."
                )
            if one.get("regularization", self.estimator.regularization) is None:
                raise ValueError(f"Expected candidate {i} to set regularization.")
        made = [clone(self.estimator).set_params(**one) for one in listed]
        for i, setting in enumerate(made):
            name = setting.mechanism
            if name in MECHANISMS and mechanism_named(name).needs_metric:
                raise ValueError(
                    f"Expected another mechanism={name!r} of candidate {i}: it runs in a metric "
                    "only."
                )
        return made

    def _chosen(
        self,
        settings: list[PrivateLinearClassifier],
        rows: EncodedRows,
        codes: Positions,
        total: Decimal,
        told: dict[str, object],
    ) -> tuple[SelectionResult, NoiseSource, Charge | None]:
        records, signs = np.asarray(rows[:]), signs_of(codes, 1, 1)
        candidates = distinct_candidates([_candidate(one) for one in settings])
        source = noise_source(self.random_state)
        account = payer(self.ledger, source)
        given: dict[str, Any] = {
            "epsilon": total,
            "n_records": len(signs),
            "validation_share": self.validation_share,
        }
        if isinstance(source, SystemSource):
            spending = spending_of_release(
                self.method, candidates=candidates, n_features=records.shape[1], **given
            )
        else:
            learners = [one.learner for one in candidates]
            spending = spend(self.method, learners=learners, **given)

        def trained(A: Array, learner: Learner, share: Decimal) -> Array:
            if isinstance(source, SystemSource):
                return certified(A, learner, share, source)
            return train(A, learner=learner, epsilon=to_float_down(share), rng=source)

        score = checked_score(self.method, None)
        warn_if_unpaid(account, source, stacklevel=4)
        result, charge = drawn_by(
            account,
            lambda: select_by(
                records,
                signs,
                candidates=candidates,
                total=total,
                spending=spending,
                score=score,
                source=source,
                trainer=trained,
            ),
            cost=lambda: Cost(definition="pure", amount=total, lines=[("model and choice", total)]),
            name="DPSelection.fit",
            settings=told | settings_of(self),
            released=lambda made: (made.index, made.theta),
        )
        return result, source, charge

    def predict(self, X: Any) -> Any:
        """Return the likelier label of each row."""
        return self._best(X).predict(X)

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores (n,) of the chosen model."""
        return self._best(X).decision_function(X)

    def _best(self, X: Any) -> PrivateLinearClassifier:
        check_is_fitted(self)
        check_features(self, X, reset=False, may_be_infinite=True)
        best: PrivateLinearClassifier = self.best_estimator_
        return best


def _candidate(setting: PrivateLinearClassifier) -> Candidate:
    c = setting.regularization
    assert c is not None
    perturbs_objective = mechanism_named(setting.mechanism).perturbs_objective
    method: Method = "objective_tight" if perturbs_objective else "output"
    return Candidate(learner=Learner(loss=setting._loss(), method=method, regularization=c))


def _kept(
    setting: PrivateLinearClassifier,
    result: SelectionResult,
    scaling: Scaling,
    classes: Any,
    shape: tuple[int, ...],
    privacy: ChoiceStatement,
) -> PrivateLinearClassifier:
    """The chosen setting as a fitted estimator: its coefficients, no intervals."""
    learner, train_epsilon = result.chosen.learner, result.spending.train
    run = learner_noise(learner, epsilon=to_float_down(train_epsilon), n_records=result.n_train)
    design = Design(
        loss=learner.loss,
        mechanism=setting.mechanism,
        budget=for_coefficients_alone(PureDP, train_epsilon),
        regularization=run.regularization,
        n_records=result.n_train,
    )
    setting.budget, setting.intervals = design.budget, False
    model = PrivateFit(design, result.theta, model_noise(design))
    setting.n_features_in_ = shape[1]
    setting._keep(scaling, (model,), classes)
    setting.privacy_ = PrivacyStatement(
        definition="pure",
        amount=privacy.amount,
        mechanism=setting.mechanism,
        n_models=1,
        classes_declared=privacy.classes_declared,
        status="",
        noise=privacy.noise,
        charge=privacy.charge,
    )
    return setting
