"""Differentially private confidence intervals for logistic regression and SVM coefficients."""

from typing import TYPE_CHECKING

from dpci_core.design import Calibration, Design
from dpci_core.erm import Moments, fit_moments
from dpci_core.errors import Change, ConvergenceError, DataRejectedError, InfeasibleDesignError
from dpci_core.forecast import Forecast, Validity, forecast
from dpci_core.inference import IntervalResult, private_intervals
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.planner import (
    NeededBudget,
    NeededRecords,
    RankedDesign,
    RegularizationAnswer,
    Remedies,
    SplitAnswer,
    Target,
    as_if_records,
    best_regularization,
    best_split,
    meeting_probability,
    needed_budget,
    needed_records,
    rank_mechanisms,
    remedies,
)
from dpci_core.privacy import ZCDP, ApproxDP, PureDP, zcdp_to_epsilon
from dpci_core.watch import StoppedError, watched

if TYPE_CHECKING:
    from dpci_core.estimators import DPLinearSVC, DPLogisticRegression
    from dpci_core.experiment import run_experiment
    from dpci_core.experiment_result import DesignResult, ExperimentResult, Progress
    from dpci_core.plan import DeclaredTable, Plan, PublicTable, read_plan, write_plan
    from dpci_core.release import Release, load_release
    from dpci_core.schema import CategoricalColumn, Guesses, NumberGuess, NumericColumn, Schema, simulate_twin

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Calibration",
    "CategoricalColumn",
    "Change",
    "ConvergenceError",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DataRejectedError",
    "DeclaredTable",
    "Design",
    "DesignResult",
    "ExperimentResult",
    "Forecast",
    "Guesses",
    "HuberSVM",
    "InfeasibleDesignError",
    "IntervalResult",
    "Logistic",
    "Loss",
    "Moments",
    "NeededBudget",
    "NeededRecords",
    "NumberGuess",
    "NumericColumn",
    "Plan",
    "Progress",
    "PublicTable",
    "PureDP",
    "RankedDesign",
    "RegularizationAnswer",
    "Release",
    "Remedies",
    "Schema",
    "SmoothedHinge",
    "SplitAnswer",
    "StoppedError",
    "Target",
    "Validity",
    "as_if_records",
    "best_regularization",
    "best_split",
    "fit_moments",
    "forecast",
    "load_release",
    "meeting_probability",
    "needed_budget",
    "needed_records",
    "private_intervals",
    "rank_mechanisms",
    "read_plan",
    "remedies",
    "run_experiment",
    "simulate_twin",
    "watched",
    "write_plan",
    "zcdp_to_epsilon",
]

_LAZY = {
    "DPLinearSVC": "estimators",
    "DPLogisticRegression": "estimators",
    "DesignResult": "experiment_result",
    "ExperimentResult": "experiment_result",
    "Progress": "experiment_result",
    "run_experiment": "experiment",
    **dict.fromkeys(("Release", "load_release"), "release"),
    **dict.fromkeys(("DeclaredTable", "Plan", "PublicTable", "read_plan", "write_plan"), "plan"),
    **dict.fromkeys(
        ("CategoricalColumn", "Guesses", "NumberGuess", "NumericColumn", "Schema", "simulate_twin"), "schema"
    ),
}


def __getattr__(name: str) -> object:
    """Import on first use what is slow to import: compilers, scikit-learn, tables behind schemas and plans."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
