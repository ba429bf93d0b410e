"""`DPLogisticRegression` and `DPLinearSVC`: private linear classifiers that know how far off they
are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.calls import Called
from dpci_core.base.decimals import EXACT
from dpci_core.base.errors import check_choice, expect
from dpci_core.base.limits import confidence_level_in_range
from dpci_core.base.rows import EncodedRows, Meaning, Rows, WeightedRows
from dpci_core.design import (
    ESTIMANDS,
    Calibration,
    CalibrationName,
    Design,
    Geometry,
    MechanismName,
    TargetName,
    spent_by,
)
from dpci_core.estimators.account import (
    LedgerAccount,
    Payable,
    check_labels_declared,
    drawn_by,
    payer,
)
from dpci_core.estimators.defaults import (
    certifiable,
    default_regularization,
    effects_regularization,
)
from dpci_core.estimators.encoding import check_every_row_counts
from dpci_core.estimators.input import (
    check_features,
    check_labels,
    check_none_of,
    declared_classes,
    names_of,
    signs_of,
    unchanged_if_refused,
)
from dpci_core.estimators.scaling import Scaling, Standardisation
from dpci_core.estimators.settings import settings_of, table_of
from dpci_core.estimators.statement import RECORD, PrivacyStatement, noise_source
from dpci_core.estimators.summary import (
    FLAG,
    CoefficientIntervals,
    StatsmodelsNames,
    Summary,
)
from dpci_core.estimators.table import table_given, take_columns
from dpci_core.estimators.unpaid import warn_if_unpaid
from dpci_core.intervals.certified import check_feasible
from dpci_core.intervals.forecast import Forecast, forecast
from dpci_core.intervals.private_fit import PrivateFit, private_fit
from dpci_core.ledger import Cost
from dpci_core.losses import Logistic, Loss, make_loss
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.mechanisms.shares import share_out
from dpci_core.privacy.budget import ApproxDP, Budget
from dpci_core.privacy.randomness import SystemSource
from dpci_core.report.covered import covered
from dpci_core.report.words import number_at_most
from dpci_core.schema.declare import DEFAULT_LIMIT, Shape
from dpci_core.solvers.moments import fit_moments
from dpci_core.tuning.released import for_coefficients_alone

Units = Literal["original", "scaled"]

_HOW_BUDGET = (
    "Say how private as budget=PureDP(model='0.5', hessian='0.25', covariance='0.25'), which is "
    "epsilon = 1 in all."
)
_HOW_C = (
    "The penalty is regularization=c of the mean loss + c |theta|^2, theta of the scaled features, "
    "the constant too: scikit-learn's C is c = 1 / (2 n C). None chooses c from n, d and budget."
)
_NO_INTERCEPT = (
    "Expected fit_intercept=True: the constant is a column of the records, inside their norm bound "
    "and inside the penalty; the guarantee and the encoding are made for it."
)


class PrivateLinearClassifier(Called, Payable, StatsmodelsNames, ClassifierMixin, BaseEstimator):
    """What both classifiers share: the public scaling, one private model for each class, and their
    intervals.
    """

    call_hint = _HOW_BUDGET
    renamed: ClassVar[Mapping[str, str]] = {"C": _HOW_C}

    def __init__(
        self,
        *,
        budget: Budget | ApproxDP | None = None,
        feature_bounds: Any = None,
        feature_typical: Any = None,
        feature_spread: Any = None,
        shape: Shape | None = None,
        column_limit: float = DEFAULT_LIMIT,
        random_state: Any = None,
        classes: Any = None,
        norm_bound: float | None = None,
        mechanism: MechanismName = "objective",
        regularization: float | None = None,
        calibration: Calibration | CalibrationName = "sharp",
        confidence_level: float = 0.95,
        target: TargetName | None = None,
        geometry: Geometry | None = None,
        intervals: bool = True,
        fit_intercept: bool = True,
        ledger: LedgerAccount | None = None,
    ) -> None:
        self.budget = budget
        self.feature_bounds = feature_bounds
        self.feature_typical = feature_typical
        self.feature_spread = feature_spread
        self.shape = shape
        self.column_limit = column_limit
        self.random_state = random_state
        self.classes = classes
        self.norm_bound = norm_bound
        self.mechanism = mechanism
        self.regularization = regularization
        self.calibration = calibration
        self.confidence_level = confidence_level
        self.target = target
        self.geometry = geometry
        self.intervals = intervals
        self.fit_intercept = fit_intercept
        self.ledger = ledger

    @abstractmethod
    def _loss(self) -> Loss:
        """The pointwise loss."""

    def fit(self, X: Any, y: Any, **unsupported: object) -> Self:
        """Train privately; every argument of the constructor is checked here, and nothing public is
        read off X.

        Args:
            X: (n, d) features in their own units, cut at `feature_bounds` and at `column_limit`; or
                a folder of Parquet files whose columns but one are features, or a Dask array or
                data frame, read in batches.
            y: (n,) labels; of a folder the name of their column. In batches `classes` are declared.

        Privacy: `privacy_`.  n and d count as public.  Not covered, and not to be seen from here,
                 is what was read from the records before: a StandardScaler, an imputer or a choice
                 of features that was fitted to them, also as a step of a Pipeline
                 (`feature_typical` and `feature_spread` scale by declared numbers instead). Each
                 fold of a cross-validation is a fit that adds its budget: UnpaidFitWarning.
        Raises:  ValueError without budget or declared columns, for weights, or for records that
                 break a rule; no message holds a value of a record.  InfeasibleDesignError,
                 ConvergenceError.
        """
        check_none_of(unsupported)
        with unchanged_if_refused(self):
            return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any) -> Self:
        budget = self._declared_budget()
        table = table_given(X, y)
        if table is None:
            cells = check_features(self, X, reset=True, may_be_infinite=True)  # `encode` refuses it
            n, d = cells.shape
            scaling = self._declared_scaling(d)
            classes, codes = check_labels(y, self.classes, n_records=n)
        else:
            n, d = take_columns(self, table)
            scaling = self._declared_scaling(d)
            classes = declared_classes(self.classes)
        n_models = 1 if len(classes) == 2 else len(classes)
        source = noise_source(self.random_state)
        account = payer(self.ledger, source)
        check_labels_declared(account, self.classes)
        designs = self._designs(
            budget,
            n_models,
            scaling,
            is_exact=isinstance(source, SystemSource),
            n_records=n,
            n_coefficients=d + 1,
        )
        if table is None:
            signs = (signs_of(codes, k, n_models) for k in range(n_models))
            records: Iterator[Table | Rows] = _signed(scaling.encode(cells), signs)
        else:
            tables = [table.batches(scaling, classes, k) for k in range(n_models)]
            check_every_row_counts(tables[0])
            records = (found.in_memory() for found in tables)
        warn_if_unpaid(account, source, stacklevel=4)
        models, charge = drawn_by(
            account,
            lambda: tuple(
                private_fit(rows, design=design, intervals=self.intervals, source=source)
                for design, rows in zip(designs, records, strict=True)
            ),
            cost=lambda: _cost(designs, budget, self.intervals),
            name=f"{type(self).__name__}.fit",
            settings=(table_of(X, y, (n, d)) if table is None else table.told) | settings_of(self),
            released=lambda models: tuple(part for model in models for part in model.numbers),
        )
        self._keep(scaling, models, classes)
        self.privacy_ = PrivacyStatement(
            definition=designs[0].definition,
            amount=budget.total,
            mechanism=self.mechanism,
            n_models=n_models,
            classes_declared=self.classes is not None,
            status=designs[0].status,
            noise="system" if isinstance(source, SystemSource) else "seeded",
            unit=RECORD if account is None else f"{RECORD} ({account.unit})",
            charge=charge,
        )
        return self

    def forecast(self, X: Any, y: Any, *, n_records: int) -> Forecast:
        """Forecast the intervals of a fit of two classes, in the user's units, the intercept last.

        Args:
            X, y: planning rows (m, d) and (m,), public or simulated, in memory.
            n_records: of the table to come.

        Privacy: the rows are taken for public. It changes nothing here.
        Raises:  ValueError for more than two classes, and as `fit`; InfeasibleDesignError.
        """
        other = clone(self)
        budget = other._declared_budget()
        cells = check_features(other, X, reset=True)
        scaling = other._declared_scaling(cells.shape[1])
        classes, codes = check_labels(y, self.classes, n_records=len(cells))
        expect(len(classes) == 2, f"Expected two classes to forecast, got {len(classes)}.")
        contrasts = scaling.to_original
        (design,) = other._designs(
            budget,
            1,
            scaling,
            is_exact=self.random_state is None,
            n_records=n_records,
            n_coefficients=len(contrasts),
        )
        rows = scaling.encode(cells)
        moments = fit_moments(
            rows[:] if isinstance(rows, EncodedRows) else rows,
            signs_of(codes, 0, 1),
            loss=design.loss,
            regularization=design.regularization,
            target=design.target,
            geometry=design.geometry,
            meaning=Meaning(constant=float(contrasts[-1, -1])),
        )
        return forecast(moments, design=design, contrasts=contrasts)

    def _declared_budget(self) -> Budget:
        """The budget in the definition it is spent in, after the refusals that need no data."""
        if self.budget is None:
            raise ValueError(
                "Expected a budget: PureDP, ZCDP, GDP or ApproxDP. There is no default for how "
                f"private to be. {_HOW_BUDGET}"
            )
        if not isinstance(self.budget, Budget | ApproxDP):
            raise ValueError(
                "Expected budget to be PureDP, ZCDP, GDP or ApproxDP, got "
                f"{type(self.budget).__name__}. {_HOW_BUDGET}"
            )
        if not self._has_typical and self.feature_bounds is None:
            raise ValueError(
                "Expected feature_bounds=(low, high), or feature_typical and feature_spread, "
                "declared from what is known beforehand. Bounds read from the data would reveal "
                "its extremes."
            )
        if self.fit_intercept is not True:
            raise ValueError(_NO_INTERCEPT)
        if not isinstance(self.intervals, bool | np.bool_):
            raise ValueError(f"Expected intervals={self.intervals!r} to be True or False.")
        if isinstance(self.budget, ApproxDP):
            return spent_by(self.budget, self.mechanism)
        return self.budget

    @property
    def _has_typical(self) -> bool:
        return self.feature_typical is not None or self.feature_spread is not None

    def _declared_scaling(self, n_features: int) -> Scaling | Standardisation:
        """The encoding by typical values and spreads where they are declared, else by bounds."""
        if not self._has_typical:
            if self.shape is not None or self.column_limit != DEFAULT_LIMIT:
                raise ValueError(
                    "Expected feature_typical and feature_spread beside shape and column_limit, "
                    "which count in spreads."
                )
            return Scaling.of(
                self.feature_bounds,
                n_features=n_features,
                norm_bound=self.norm_bound,
                names=names_of(self),
            )
        if self.norm_bound is not None:
            raise ValueError(
                f"Expected norm_bound={self.norm_bound!r} to be None beside feature_typical: "
                "shape says where rows count less."
            )
        return Standardisation.of(
            self.feature_typical,
            self.feature_spread,
            n_features=n_features,
            limit=self.column_limit,
            shape=self.shape,
            bounds=self.feature_bounds,
            names=names_of(self),
        )

    def _designs(
        self,
        budget: Budget,
        n_models: int,
        scaling: Scaling | Standardisation,
        *,
        is_exact: bool,
        n_records: int,
        n_coefficients: int,
    ) -> list[Design]:
        """One design for each model; the budget divided, the penalty shared. `is_exact` says
        whether noise is the system's.

        Raises:  InfeasibleDesignError where the system's noise cannot run them: before any draw,
                 and before anything is booked.
        """
        is_standard = isinstance(scaling, Standardisation)
        usual: TargetName = "unpenalised" if is_standard and self.intervals else "penalised"
        designs = [
            Design(
                loss=self._loss(),
                mechanism=self.mechanism,
                budget=share if self.intervals else _without_matrices(share),
                regularization=1.0 if self.regularization is None else self.regularization,
                confidence_level=self.confidence_level,
                calibration=self.calibration,
                target=usual if self.target is None else self.target,
                geometry=self.geometry,
                n_records=n_records,
            )
            for share in budget.divided(n_models)
        ]
        if self.regularization is None:
            c = self._usual_penalty(designs[0], scaling, n_coefficients, is_exact=is_exact)
            designs = [replace(design, regularization=c) for design in designs]
        if is_exact:
            for design in designs:
                check_feasible(design, dim=n_coefficients)
        return designs

    def _usual_penalty(
        self,
        design: Design,
        scaling: Scaling | Standardisation,
        n_coefficients: int,
        *,
        is_exact: bool,
    ) -> float:
        """The penalty of a design where none is given."""
        if isinstance(scaling, Standardisation) and not ESTIMANDS[design.target].is_shrunk:
            c = effects_regularization(
                design, n_coefficients=n_coefficients, row_radius=scaling.radius
            )
        else:
            c = default_regularization(design, n_coefficients=n_coefficients)
        if is_exact:
            c = certifiable(replace(design, regularization=c), n_coefficients=n_coefficients)
        return c

    def _keep(
        self,
        scaling: Scaling | Standardisation,
        models: tuple[PrivateFit, ...],
        classes: npt.NDArray[Any],
    ) -> None:
        """Set what scikit-learn calls fitted attributes: released numbers and declared ones, no
        record.
        """
        self.classes_ = classes
        self.regularization_ = models[0].design.regularization
        self._scaling, self._models = scaling, models
        original = np.array([model.theta_priv for model in models]) @ scaling.to_original.T
        self.coef_, self.intercept_ = original[:, :-1], original[:, -1]

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores, (n,) for two classes and (n, n_classes) for more.

        Where nothing is cut this is X @ coef_.T + intercept_; elsewhere X is cut as for the fit.
        """
        check_is_fitted(self)
        X = check_features(self, X, reset=False, may_be_infinite=True)
        scores: Array = (
            self._scaling.encode(X) @ np.array([model.theta_priv for model in self._models]).T
        )
        return scores[:, 0] if len(self._models) == 1 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the likelier label of each row."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def confidence_intervals(
        self, level: float | None = None, units: Units = "original", *, joint: bool = False
    ) -> CoefficientIntervals:
        """Return intervals for every coefficient: post-processing, at any level, as often as
        needed.

        Args:
            level: like 0.95 (default: `confidence_level`).
            units: "original", slopes for one unit of each feature as in `coef_`, or "scaled",
                for one spread, or for one step of a feature on the scale of its bounds.
            joint: all intervals of all classes hold together at this level, by Bonferroni.

        Privacy: none spent.
        """
        check_is_fitted(self)
        check_choice(units, ("original", "scaled"), name="units")
        level = confidence_level_in_range(self.confidence_level if level is None else level)
        p = len(self._models[0].theta_priv)
        contrasts = self._scaling.to_original if units == "original" else self._scaling.basis
        each = 1.0 - (1.0 - level) / (len(self._models) * p) if joint else level
        constant = float(self._scaling.to_original[-1, -1])
        widths = [model.half_widths(contrasts, each, constant) for model in self._models]
        pairs = list(zip(widths, self._models, strict=True))
        estimate = np.array([w.estimate(model.theta_priv) for w, model in pairs])
        half = np.array([w.half_width for w in widths])
        return CoefficientIntervals(
            names=self._coefficient_names(),
            models=tuple(self.classes_[1:] if len(self._models) == 1 else self.classes_),
            estimate=estimate,
            low=estimate - half,
            high=estimate + half,
            sampling_se=np.sqrt(np.array([w.law.sampling for w in widths])),
            privacy_se=np.sqrt(np.array([w.law.privacy(p) for w in widths])),
            is_not_estimable=np.array([w.is_not_estimable for w in widths]),
            confidence_level=level,
            units=units,
            joint=joint,
            covers=covered(self._models[0].design),
        )

    def _coefficient_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return (*map(str, names), "intercept")

    def summary(
        self, level: float | None = None, units: Units = "original", *, joint: bool = False
    ) -> Summary:
        """Return the fit on one page, with what it promises and what it is good for."""
        found = self.confidence_intervals(level, units, joint=joint)
        design, privacy = self._models[0].design, self.privacy_
        notes = list(privacy.sentences)
        notes.append(f"The intervals cover, in the population, the {found.covers}; units: {units}.")
        if joint:
            notes.append(f"All {found.low.size} intervals hold together, by Bonferroni.")
        if found.is_not_estimable.any():
            notes.append(
                f"{FLAG} Not estimable: the coefficient without penalty, as the step "
                "to it falls short, and the interval may miss it."
            )
        facts = (
            ("Loss", design.loss.name),
            ("Mechanism", mechanism_of(design).title),
            ("Records", f"{self._models[0].design.n_records:,}"),
            ("Features", str(self.n_features_in_)),
            ("Classes", str(len(self.classes_))),
            ("Budget", privacy.guarantee.split(" (")[0]),
            ("Epsilon(1e-06)", number_at_most(privacy.epsilon(1e-6))),
            ("Penalty c", f"{self.regularization_:.4g}"),
            ("Calibration", design.switches.name or "custom"),
            ("Confidence", f"{found.confidence_level:g}"),
            ("Kind", privacy.kind),
        )
        return Summary(
            title=f"{type(self).__name__}, private intervals",
            facts=facts,
            notes=tuple(notes),
            intervals=found,
        )


def _cost(designs: list[Design], budget: Budget, intervals: bool) -> Cost:
    """What all models cost, in parts; models in the order of the declared classes."""
    matrices = () if intervals else ("hessian", "covariance")  # which are not drawn then
    lines: list[tuple[str, Decimal]] = []
    for k, design in enumerate(designs, start=1):
        of_model = f", model {k}" if len(designs) > 1 else ""
        lines += [
            (f"{name}{of_model}", part)
            for name, part in share_out(design).lines
            if name not in matrices
        ]
    return Cost(definition=designs[0].definition, amount=budget.total, lines=lines)


def _without_matrices(share: Budget) -> Budget:
    """A budget with what the matrices would take spent on the coefficients."""
    alone = for_coefficients_alone(type(share), EXACT.subtract(share.total, share.metric))
    return replace(alone, metric=share.metric) if share.metric else alone


def _signed(records: EncodedRows | WeightedRows, signs: Iterator[Array]) -> Iterator[Rows]:
    """The rows y_i x_i of each model in turn; written-out rows are turned where they are, so that
    only those asked for last are valid.
    """
    before: Array | float = 1.0
    for y in signs:
        if isinstance(records, EncodedRows):
            yield records.signed(y)
            continue
        np.multiply(records.rows, (before * y)[:, None], out=records.rows)
        before = y
        yield records


class DPLogisticRegression(PrivateLinearClassifier):
    """Logistic regression under differential privacy, with confidence intervals for its
    coefficients.

    Args:
        budget: `PureDP`, `ZCDP`, `GDP` or `ApproxDP`; `fit` refuses without. A grid lists whole
            budgets, {"budget": [PureDP(...), PureDP(...)]}: their parts are no parameters.
        feature_bounds: (low, high), numbers or one for each feature, declared beforehand; `fit`
            refuses without, unless typical values and spreads are declared. What is declared for
            each feature is in the order of the columns, or by name: a dictionary (of pairs here) or
            a pandas Series, whose names have to be those of the columns.
        feature_typical: a middling value of every feature, a number or one for each, in its units,
            declared beforehand; of a column of 0 and 1 the share of 1. None encodes by bounds.
        feature_spread: about its standard deviation, likewise; 0.5 for a column of 0 and 1. With
            both, features are cut, centred and scaled by them (`schema.StandardEncoding`).
        shape: the public map U of rows in spreads, as for `schema.StandardEncoding`: its rows from
            the diagonal on, made of planning rows (`planner.ellipsoid`), or R for U = I/R. Records
            with |U v| > 1 count less. None takes R = 1.25 sqrt(d + 1).
        column_limit: values further than so many spreads from the typical one count as that far.
        random_state: None draws from the operating system's entropy as a release does. A seed or a
            generator, for tests and teaching, makes the fit a SIMULATION whose noise can be
            subtracted (`privacy_.noise`, `privacy_.is_simulation`).
        classes: the labels, declared; None reads them from y, which the guarantee does not cover.
        norm_bound: declared bound on the norm of the features scaled to [-1, 1] (default sqrt(d)).
        mechanism: "objective" or "output" perturbation, or clipped "newton" steps in a geometry.
        regularization: c in c |theta|^2 of the mean objective (scaled units, the constant too).
            None takes `default_regularization`, a function of n, d and the budget, or, with typical
            values and the target "unpenalised", `effects_regularization`, one of R besides; with
            the operating system's noise at least what the fit can be certified for (`certifiable`).
        calibration, confidence_level: as for `Design`.
        target: as for `Design`; None is "unpenalised" where typical values are declared and
            intervals asked for, else "penalised".
        geometry: as for `Design`, planned from public or simulated rows of this very encoding
            (`best_geometry`); with more than two classes each model learns its own second moment.
            It goes with objective perturbation and steps, and with either encoding.
        intervals: False spends the whole budget on the coefficients, and on a metric.
        fit_intercept: only True.
        ledger: the account that pays: each fit is booked before its noise is drawn, and needs
            `random_state` None and declared `classes`. None books nothing, and the fit says so.

    Shapes:  `coef_` (1, d) and `intercept_` (1,) in the user's units; one row a class for more than
             two.
    Privacy: `budget` for replace-one neighbours, under either encoding: every row, times the root
             of its weight, has norm at most 1, whatever it holds. With more than two classes it is
             divided between the models. With the system's noise and objective perturbation, a delta
             of at most 2^-200 besides (docs/proofs/release.md#coefficients).
    Validity: where a single class occurs, or columns separate the classes, there is no coefficient
             without penalty. The release cannot always tell and leaves some such fits unmarked; a
             plan refuses planning rows of that kind.
    Raises:  ValueError, InfeasibleDesignError, LedgerError and ConvergenceError from `fit`; none
             holds a value.
    Source:  WKL Algorithms 1-5.

    >>> from dpci_core import PureDP
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, size=(5000, 1))
    >>> y = rng.random(5000) < expit((age[:, 0] - 45) / 10)
    >>> budget = PureDP(model="2", hessian="1", covariance="1")
    >>> model = DPLogisticRegression(budget=budget, feature_bounds=(0, 100), classes=(False, True),
    ...                              random_state=1)
    >>> model.fit(age, y).privacy_.is_simulation
    True
    >>> found = model.confidence_intervals()
    >>> bool(found.low[0, 0] < 0.1 < found.high[0, 0])
    True
    """

    def _loss(self) -> Loss:
        return Logistic()

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (n, n_classes); one against the rest is normalised
        to sum to 1.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(log_expit(scores), axis=1))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of `predict_proba`, exact where those underflow."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        logs = log_expit(scores)
        return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


class DPLinearSVC(PrivateLinearClassifier):
    """Linear support vector classification under differential privacy, with confidence intervals.

    Args:
        loss: "huber_svm" or "smoothed_hinge".
        h: half-width of its smoothing.
        others: as for `DPLogisticRegression`.

    There is no `predict_proba`, because an SVM estimates none.
    """

    def __init__(
        self,
        *,
        budget: Budget | ApproxDP | None = None,
        feature_bounds: Any = None,
        feature_typical: Any = None,
        feature_spread: Any = None,
        shape: Shape | None = None,
        column_limit: float = DEFAULT_LIMIT,
        random_state: Any = None,
        classes: Any = None,
        norm_bound: float | None = None,
        mechanism: MechanismName = "objective",
        regularization: float | None = None,
        loss: Literal["huber_svm", "smoothed_hinge"] = "huber_svm",
        h: float = 0.5,
        calibration: Calibration | CalibrationName = "sharp",
        confidence_level: float = 0.95,
        target: TargetName | None = None,
        geometry: Geometry | None = None,
        intervals: bool = True,
        fit_intercept: bool = True,
        ledger: LedgerAccount | None = None,
    ) -> None:
        super().__init__(
            budget=budget,
            feature_bounds=feature_bounds,
            feature_typical=feature_typical,
            feature_spread=feature_spread,
            shape=shape,
            column_limit=column_limit,
            random_state=random_state,
            classes=classes,
            norm_bound=norm_bound,
            mechanism=mechanism,
            regularization=regularization,
            calibration=calibration,
            confidence_level=confidence_level,
            target=target,
            geometry=geometry,
            intervals=intervals,
            fit_intercept=fit_intercept,
            ledger=ledger,
        )
        self.loss = loss
        self.h = h

    def _loss(self) -> Loss:
        check_choice(self.loss, ("huber_svm", "smoothed_hinge"), name="loss")
        return make_loss(self.loss, self.h)
