"""`DPLinearRegression`: least squares under differential privacy, with intervals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array
from dpci_core.base.batches import Table, as_table
from dpci_core.base.calls import Called
from dpci_core.base.limits import check_coefficients, confidence_level_in_range
from dpci_core.estimators.account import LedgerAccount, Payable, drawn_by, payer
from dpci_core.estimators.encoding import OutcomeEncoding, check_every_row_counts
from dpci_core.estimators.input import (
    check_features,
    check_none_of,
    check_outcome,
    names_of,
    unchanged_if_refused,
)
from dpci_core.estimators.scaling import Standardisation
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
from dpci_core.ledger import Cost
from dpci_core.planner import best_linear_design
from dpci_core.privacy.budget import ApproxDP, Budget
from dpci_core.privacy.randomness import SystemSource
from dpci_core.regression.design import COVERS, LinearDesign
from dpci_core.regression.fit import LinearFit, linear_fit
from dpci_core.regression.forecast import LinearForecast, PlanningRows, forecast_linear
from dpci_core.regression.noise import share_sd
from dpci_core.report.words import influence_cut, number_at_most
from dpci_core.schema.declare import DEFAULT_LIMIT, check_as_outcome
from dpci_core.schema.numeric import NumericColumn

_HOW_BUDGET = (
    "Say how private as budget=ApproxDP('1', '1e-6', ('0.7', '0.2', '0.1')): epsilon, delta, and "
    "the shares of steps, second moment and covariance."
)


class DPLinearRegression(Called, Payable, StatsmodelsNames, RegressorMixin, BaseEstimator):
    """Linear regression under differential privacy, with confidence intervals for its coefficients.

    Args:
        budget: `ZCDP`, `GDP` or `ApproxDP`; `fit` refuses without, and refuses a pure epsilon.
        outcome: the outcome as a `NumericColumn`, without a logarithm: bounds, at which it is cut,
            typical value, spread and unit, declared beforehand; `fit` refuses without. A spread
            that is wrong by a factor costs hardly any length.
        feature_typical: a middling value of every feature, a number or one for each, in its units,
            declared beforehand, in the order of the columns or by name.
        feature_spread: about its standard deviation, likewise; 0.5 for a column of 0 and 1.
        feature_bounds: (low, high) at which features are cut as well, or None.
        column_limit: values further than so many spreads from the typical one count as that far.
        steps, clip, row_clip: as for `LinearDesign`; `planned` finds them.
        confidence_level: of each interval.
        random_state: None draws from the operating system's entropy as a release does; a seed or a
            generator makes the fit a SIMULATION.
        ledger: the account that pays, as for `DPLogisticRegression`.

    Shapes:  `coef_` (d,) and `intercept_` in the user's units; `share_clipped_` the released share
             of records whose gradients were cut, about 2 % where residuals are normal.
    Privacy: `budget` for replace-one neighbours, n public
             (docs/proofs/gaussian.md#linear-regression).
    Raises:  ValueError, InfeasibleDesignError and LedgerError from `fit`; none holds a value.

    >>> from dpci_core import ApproxDP
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20, 70, size=(5000, 1))
    >>> pressure = 100 + 0.5 * age[:, 0] + rng.normal(0, 12, 5000)
    >>> model = DPLinearRegression(
    ...     budget=ApproxDP("1", "1e-6", ("0.7", "0.2", "0.1")), feature_typical=45,
    ...     feature_spread=15, random_state=1,
    ...     outcome=NumericColumn("pressure", 60, 250, typical=120, spread=20, units="mmHg"))
    >>> found = model.fit(age, pressure).confidence_intervals()
    >>> bool(found.low[0, 0] < 0.5 < found.high[0, 0] < found.low[0, 0] + 0.1)
    True
    """

    call_hint = _HOW_BUDGET

    def __init__(
        self,
        *,
        budget: Budget | ApproxDP | None = None,
        outcome: NumericColumn | None = None,
        feature_typical: Any = None,
        feature_spread: Any = None,
        feature_bounds: Any = None,
        column_limit: float = DEFAULT_LIMIT,
        steps: int = 3,
        clip: float = 1.5,
        row_clip: float = 1.2,
        confidence_level: float = 0.95,
        random_state: Any = None,
        ledger: LedgerAccount | None = None,
    ) -> None:
        self.budget = budget
        self.outcome = outcome
        self.feature_typical = feature_typical
        self.feature_spread = feature_spread
        self.feature_bounds = feature_bounds
        self.column_limit = column_limit
        self.steps = steps
        self.clip = clip
        self.row_clip = row_clip
        self.confidence_level = confidence_level
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any, **unsupported: object) -> Self:
        """Train privately; every argument of the constructor is checked here, and nothing public is
        read off X or y.

        Args:
            X: (n, d) features in their own units; or a folder of Parquet files whose columns but
                one are features, or a Dask array or data frame, read in batches.
            y: (n,) numbers; of a folder the name of their column.

        Privacy: `privacy_`; what is not covered is as for `DPLogisticRegression.fit`.
        Raises:  ValueError without budget, outcome or declared columns, for weights, or for records
                 that break a rule; no message holds a value of a record.
        """
        check_none_of(unsupported)
        with unchanged_if_refused(self):
            return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any) -> Self:
        outcome = self._declared_outcome()
        table = table_given(X, y)
        if table is None:
            cells = check_features(self, X, reset=True, may_be_infinite=True)
            n, d = cells.shape
        else:
            n, d = take_columns(self, table)
        design, scaling = self._design(n), self._declared_scaling(d)
        source = noise_source(self.random_state)
        account = payer(self.ledger, source)
        rows: Table
        if table is None:
            assert_all_finite(cells, input_name="X")
            values = check_outcome(y, n_records=n)
            rows = as_table(OutcomeEncoding(scaling, outcome).encoded(cells, values))
        else:
            batches = table.outcomes(scaling, outcome)
            check_every_row_counts(batches)
            rows = batches.in_memory()
        warn_if_unpaid(account, source, stacklevel=4)
        told = table_of(X, y, (n, d)) if table is None else table.told
        found, charge = drawn_by(
            account,
            lambda: linear_fit(rows, design=design, source=source),
            cost=lambda: Cost(
                definition=design.definition, amount=design.budget.total, lines=design.budget.lines
            ),
            name=f"{type(self).__name__}.fit",
            settings=told | settings_of(self),
            released=lambda fit: fit.numbers,
        )
        self._keep(found, scaling, outcome)
        self.privacy_ = PrivacyStatement(
            definition=design.definition,
            amount=design.budget.total,
            mechanism=None,
            n_models=1,
            classes_declared=True,
            status="",
            noise="system" if isinstance(source, SystemSource) else "seeded",
            unit=RECORD if account is None else f"{RECORD} ({account.unit})",
            charge=charge,
        )
        return self

    def _declared_outcome(self) -> NumericColumn:
        return check_as_outcome(self.outcome)

    def _design(self, n_records: int) -> LinearDesign:
        if self.budget is None:
            raise ValueError(
                "Expected a budget: ZCDP, GDP or ApproxDP. There is no default for how private to "
                f"be. {_HOW_BUDGET}"
            )
        return LinearDesign(
            budget=self.budget,  # type: ignore[arg-type]
            n_records=n_records,
            steps=self.steps,
            clip=self.clip,
            row_clip=self.row_clip,
            confidence_level=self.confidence_level,
        )

    def _declared_scaling(self, n_features: int) -> Standardisation:
        check_coefficients(n_features + 1)
        return Standardisation.of(
            self.feature_typical,
            self.feature_spread,
            n_features=n_features,
            limit=self.column_limit,
            shape=1.0,
            bounds=self.feature_bounds,
            names=names_of(self),
        )

    def _keep(self, fit: LinearFit, scaling: Standardisation, outcome: NumericColumn) -> None:
        """Set what scikit-learn calls fitted attributes: released numbers and declared ones."""
        self._fit, self._scaling, self._outcome = fit, scaling, outcome
        self._contrasts = outcome.unit * scaling.to_original
        original = self._contrasts @ fit.theta
        self.coef_, self.intercept_ = original[:-1], float(original[-1]) + outcome.centre
        self.share_clipped_ = fit.share_clipped

    def predict(self, X: Any) -> Array:
        """Return the expected outcome of each row (n,), X cut as for the fit."""
        check_is_fitted(self)
        cells = check_features(self, X, reset=False, may_be_infinite=True)
        scaled = self._scaling.encode(cells).rows @ self._fit.theta
        return np.asarray(self._outcome.centre + self._outcome.unit * scaled)

    def forecast(self, X: Any, y: Any, *, n_records: int) -> LinearForecast:
        """Forecast the intervals of a fit, in the user's units, the intercept last.

        Args:
            X, y: planning rows (m, d) and (m,), public or simulated, in memory.
            n_records: of the table to come.

        Privacy: the rows are taken for public. It changes nothing here.
        """
        rows, contrasts = self._planning(X, y)
        return forecast_linear(rows, design=self._design(n_records), contrasts=contrasts)

    def planned(self, X: Any, y: Any, *, n_records: int) -> Self:
        """Return an unfitted estimator of the same total, with the clips, the steps and the split
        that suit planning rows best (`best_linear_design`); arguments as for `forecast`.
        """
        rows, contrasts = self._planning(X, y)
        usual = self._design(n_records)
        best = best_linear_design(PlanningRows(rows, contrasts), design=usual, has_constant=True)
        found = {"steps": best.steps, "clip": best.clip, "row_clip": best.row_clip}
        made: Self = clone(self).set_params(budget=best.budget, **found)
        return made

    def _planning(self, X: Any, y: Any) -> tuple[Table, Array]:
        """Planning rows [t, x], and L of the units of the table."""
        other = clone(self)
        cells = check_features(other, X, reset=True)
        values = check_outcome(y, n_records=len(cells))
        outcome, scaling = other._declared_outcome(), other._declared_scaling(cells.shape[1])
        rows = as_table(OutcomeEncoding(scaling, outcome).encoded(cells, values))
        return rows, outcome.unit * scaling.to_original

    def confidence_intervals(self, level: float | None = None) -> CoefficientIntervals:
        """Return intervals for every coefficient in the user's units: post-processing, at any
        level, as often as needed.

        Args:
            level: like 0.95 (default: `confidence_level`).

        Privacy: none spent.
        """
        check_is_fitted(self)
        level = confidence_level_in_range(self.confidence_level if level is None else level)
        widths = self._fit.half_widths(self._contrasts, level)
        estimate = np.append(self.coef_, self.intercept_)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return CoefficientIntervals(
            names=(*map(str, names), "intercept"),
            models=(self._outcome.name,),
            estimate=estimate[None],
            low=(estimate - widths.half_width)[None],
            high=(estimate + widths.half_width)[None],
            sampling_se=np.sqrt(widths.sampling)[None],
            privacy_se=np.sqrt(widths.privacy)[None],
            is_not_estimable=widths.is_not_estimable[None],
            confidence_level=level,
            units="original",
            joint=False,
            covers=COVERS,
            kind="outcome",
        )

    def summary(self, level: float | None = None) -> Summary:
        """Return the fit on one page, with what it promises and what it is good for."""
        found = self.confidence_intervals(level)
        design, privacy = self._fit.design, self.privacy_
        unit = self._outcome.units or "units of the outcome"
        share = min(max(self.share_clipped_, 0.0), 1.0)
        notes = [
            *privacy.sentences,
            f"The intervals cover, in the population, the {found.covers}; in {unit}.",
            influence_cut(self.share_clipped_, share_sd(design)),
        ]
        if found.is_not_estimable.any():
            notes.append(f"{FLAG} Not estimable: noise, or what the steps left, is most of it.")
        facts = (
            ("Outcome", self._outcome.name),
            ("Mechanism", f"{design.steps} clipped steps"),
            ("Records", f"{design.n_records:,}"),
            ("Features", str(self.n_features_in_)),
            ("Budget", privacy.guarantee.split(" (")[0]),
            ("Epsilon(1e-06)", number_at_most(privacy.epsilon(1e-6))),
            ("Influence cut", f"{share:.1%}"),
            ("Confidence", f"{found.confidence_level:g}"),
            ("Kind", privacy.kind),
        )
        title = f"{type(self).__name__}, private intervals"
        return Summary(title=title, facts=facts, notes=tuple(notes), intervals=found)
