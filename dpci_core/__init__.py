"""Differentially private confidence intervals for logistic regression and SVM coefficients."""

from dpci_core.design import Design
from dpci_core.erm import Moments, fit_moments
from dpci_core.errors import ConvergenceError, DataRejectedError, InfeasibleDesignError
from dpci_core.forecast import Forecast, Validity, forecast
from dpci_core.inference import IntervalResult, private_intervals
from dpci_core.losses import HuberSVM, Logistic, Loss
from dpci_core.privacy import ZCDP, ApproxDP, PureDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ConvergenceError",
    "DataRejectedError",
    "Design",
    "Forecast",
    "HuberSVM",
    "InfeasibleDesignError",
    "IntervalResult",
    "Logistic",
    "Loss",
    "Moments",
    "PureDP",
    "Validity",
    "fit_moments",
    "forecast",
    "private_intervals",
]
