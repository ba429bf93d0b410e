"""Differentially private confidence intervals for logistic regression and SVM coefficients."""

from typing import TYPE_CHECKING

from dpci_core.design import Calibration, Design
from dpci_core.erm import Moments, fit_moments
from dpci_core.errors import ConvergenceError, DataRejectedError, InfeasibleDesignError
from dpci_core.forecast import Forecast, Validity, forecast
from dpci_core.inference import IntervalResult, private_intervals
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.planner import (
    NeededBudget,
    NeededRecords,
    RankedDesign,
    Remedies,
    SplitAnswer,
    Target,
    as_if_records,
    best_split,
    meeting_probability,
    needed_budget,
    needed_records,
    rank_mechanisms,
    remedies,
)
from dpci_core.privacy import ZCDP, ApproxDP, PureDP

if TYPE_CHECKING:
    from dpci_core.estimators import DPLinearSVC, DPLogisticRegression
    from dpci_core.experiment import run_experiment
    from dpci_core.experiment_result import DesignResult, ExperimentResult, Progress

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Calibration",
    "ConvergenceError",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DataRejectedError",
    "Design",
    "DesignResult",
    "ExperimentResult",
    "Forecast",
    "HuberSVM",
    "InfeasibleDesignError",
    "IntervalResult",
    "Logistic",
    "Loss",
    "Moments",
    "NeededBudget",
    "NeededRecords",
    "Progress",
    "PureDP",
    "RankedDesign",
    "Remedies",
    "SmoothedHinge",
    "SplitAnswer",
    "Target",
    "Validity",
    "as_if_records",
    "best_split",
    "fit_moments",
    "forecast",
    "meeting_probability",
    "needed_budget",
    "needed_records",
    "private_intervals",
    "rank_mechanisms",
    "remedies",
    "run_experiment",
]

_LAZY = {
    "DPLinearSVC": "estimators",
    "DPLogisticRegression": "estimators",
    "DesignResult": "experiment_result",
    "ExperimentResult": "experiment_result",
    "Progress": "experiment_result",
    "run_experiment": "experiment",
}


def __getattr__(name: str) -> object:
    """Import on first use what takes half a second that most sessions never need: a compiler, scikit-learn."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
