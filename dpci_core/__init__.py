"""Differentially private confidence intervals for logistic regression and SVM coefficients.

>>> import numpy as np
>>> import dpci_core as dp
>>> records = dp.datasets.load("census", encoding="schema", features=2, n_rows=20_000)
>>> budget = dp.PureDP(model="0.5", hessian="0.25", covariance="0.25")  # a total epsilon of 1
>>> design = dp.Design(
...     loss=dp.Logistic(), mechanism="objective", budget=budget, regularization=0.001,
...     n_records=20_000, calibration="sharp"
... )
>>> moments = dp.fit_moments(records.X, records.y, loss=design.loss, regularization=0.001)
>>> expected = dp.forecast(moments, design=design)
>>> drawn = dp.private_intervals(records.X, records.y, design=design, rng=np.random.default_rng(1))
>>> bool(abs(drawn.length.mean() / expected.ci_length_mean - 1) < 0.1)
True

From the ground up: losses and budgets, one design, its intervals and how long they will be,
experiments and the planner, tables and plans, and the one release of a private table with its
ledger.
"""

from typing import TYPE_CHECKING

from dpci_core.base.batches import RecordBatches
from dpci_core.base.engines import Dask, Processes, dask_workers
from dpci_core.base.errors import Change, ConvergenceError, DataRejectedError, InfeasibleDesignError
from dpci_core.base.extras import ExtraNeededError, has_extra, named_extras
from dpci_core.base.watch import StoppedError, watched
from dpci_core.design import Calibration, Design, Geometry
from dpci_core.intervals.forecast import Forecast, Validity, forecast
from dpci_core.intervals.inference import IntervalResult, private_intervals
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.planner import (
    GeometryAnswer,
    NeededBudget,
    NeededRecords,
    Promise,
    RankedDesign,
    RegularizationAnswer,
    Remedies,
    SplitAnswer,
    Target,
    WorldMoments,
    as_if_records,
    best_geometry,
    best_regularization,
    best_split,
    meeting_probability,
    needed_budget,
    needed_records,
    promise,
    rank_mechanisms,
    remedies,
)
from dpci_core.privacy.budget import GDP, ZCDP, ApproxDP, PureDP, zcdp_to_epsilon
from dpci_core.privacy.gaussian import gdp_to_delta, gdp_to_epsilon
from dpci_core.solvers.moments import Moments, fit_moments

if TYPE_CHECKING:
    from dpci_core import datasets, release
    from dpci_core.estimators import (
        DPHistogram,
        DPLinearRegression,
        DPLinearSVC,
        DPLogisticRegression,
        DPScorecard,
        DPSelection,
        LedgerAccount,
        UnpaidFitWarning,
    )
    from dpci_core.ledger import Cap, Ledger
    from dpci_core.plan import DeclaredTable, LinearPlan, Plan, PublicTable, read_plan, write_plan
    from dpci_core.plan.moments_file import read_moments, write_moments
    from dpci_core.planner.standard import StandardAnswer, best_standard
    from dpci_core.regression.design import LinearDesign
    from dpci_core.release import Release, ReleaseInference, load_release
    from dpci_core.schema import (
        CategoricalColumn,
        Guesses,
        NumberGuess,
        NumericColumn,
        Persons,
        Schema,
        StandardEncoding,
        World,
        simulate_twin,
        worlds_of,
    )
    from dpci_core.simulation.result import DesignResult, ExperimentResult, Progress
    from dpci_core.simulation.run import run_experiment

# ruff: noqa: RUF022  (grouped by floor)
__version__ = "0.1.0"

__all__ = [
    # losses and budgets
    "Loss",
    "Logistic",
    "HuberSVM",
    "SmoothedHinge",
    "PureDP",
    "ZCDP",
    "GDP",
    "ApproxDP",
    "zcdp_to_epsilon",
    "gdp_to_epsilon",
    "gdp_to_delta",
    # one design: its fit, its intervals, and how long they will be
    "Calibration",
    "Geometry",
    "Design",
    "Moments",
    "fit_moments",
    "read_moments",
    "write_moments",
    "IntervalResult",
    "private_intervals",
    "Forecast",
    "Validity",
    "forecast",
    # tables in batches, and where they are read
    "RecordBatches",
    "Processes",
    "Dask",
    "dask_workers",
    # many replicates
    "DesignResult",
    "ExperimentResult",
    "Progress",
    "run_experiment",
    # the planner
    "Target",
    "SplitAnswer",
    "best_split",
    "NeededRecords",
    "needed_records",
    "NeededBudget",
    "needed_budget",
    "RegularizationAnswer",
    "best_regularization",
    "StandardAnswer",
    "best_standard",
    "GeometryAnswer",
    "best_geometry",
    "RankedDesign",
    "rank_mechanisms",
    "Remedies",
    "remedies",
    "as_if_records",
    "meeting_probability",
    "Promise",
    "WorldMoments",
    "promise",
    # tables and plans
    "datasets",
    "Schema",
    "NumericColumn",
    "CategoricalColumn",
    "StandardEncoding",
    "Persons",
    "Guesses",
    "NumberGuess",
    "simulate_twin",
    "World",
    "worlds_of",
    "Plan",
    "LinearPlan",
    "LinearDesign",
    "DeclaredTable",
    "PublicTable",
    "read_plan",
    "write_plan",
    # the one release
    "Ledger",
    "Cap",
    "LedgerAccount",
    "release",
    "Release",
    "load_release",
    "ReleaseInference",
    # scikit-learn estimators
    "DPLogisticRegression",
    "DPLinearSVC",
    "DPLinearRegression",
    "DPSelection",
    "DPHistogram",
    "DPScorecard",
    # what is raised or warned of, and stopping
    "Change",
    "ConvergenceError",
    "DataRejectedError",
    "ExtraNeededError",
    "InfeasibleDesignError",
    "StoppedError",
    "UnpaidFitWarning",
    "watched",
]

_LATE = {
    "datasets": (),
    "release": ("Release", "ReleaseInference", "load_release"),
    "estimators": (
        "DPHistogram",
        "DPLinearRegression",
        "DPLinearSVC",
        "DPLogisticRegression",
        "DPScorecard",
        "DPSelection",
        "LedgerAccount",
        "UnpaidFitWarning",
    ),
    "ledger": ("Cap", "Ledger"),
    "plan": ("DeclaredTable", "LinearPlan", "Plan", "PublicTable", "read_plan", "write_plan"),
    "schema": (
        "CategoricalColumn",
        "Guesses",
        "NumberGuess",
        "NumericColumn",
        "Persons",
        "Schema",
        "StandardEncoding",
        "World",
        "simulate_twin",
        "worlds_of",
    ),
    "regression.design": ("LinearDesign",),
    "planner.standard": ("StandardAnswer", "best_standard"),
    "plan.moments_file": ("read_moments", "write_moments"),
    "simulation.result": ("DesignResult", "ExperimentResult", "Progress"),
    "simulation.run": ("run_experiment",),
}
_OF_RELEASES = ("plan", "plan.moments_file", "release")
_PACKAGE_OF = {name: package for package, names in _LATE.items() for name in names}


def __getattr__(name: str) -> object:
    """Import on first use what is slow to import: compilers, scikit-learn, tables behind schemas
    and plans.
    """
    from importlib import import_module

    package = name if name in ("datasets", "release") else _PACKAGE_OF.get(name)
    if package is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with named_extras():
        found = import_module(f"{__name__}.{package}")
    return found if name == package else getattr(found, name)


def __dir__() -> list[str]:
    """What completion and `help` show: without the extra that releases need, nothing of theirs."""
    lacking: set[str] = set()
    if not has_extra("release"):
        lacking = {"release", *(name for name in _PACKAGE_OF if _PACKAGE_OF[name] in _OF_RELEASES)}
    return sorted({*globals(), *__all__} - lacking)
