"""Private linear models with confidence intervals, as scikit-learn estimators."""

from dpci_core.estimators.account import LedgerAccount
from dpci_core.estimators.histogram import DPHistogram
from dpci_core.estimators.kernel import RandomCosines
from dpci_core.estimators.linear import DPLinearSVC, DPLogisticRegression
from dpci_core.estimators.measurement import make_private_fit
from dpci_core.estimators.regression import DPLinearRegression
from dpci_core.estimators.scorecard import DPScorecard
from dpci_core.estimators.selection import DPSelection
from dpci_core.estimators.statement import ChoiceStatement, PrivacyStatement
from dpci_core.estimators.summary import CoefficientIntervals, Summary
from dpci_core.estimators.tuning import select_for_release, tune_for_release
from dpci_core.estimators.unpaid import UnpaidFitWarning

__all__ = [
    "ChoiceStatement",
    "CoefficientIntervals",
    "DPHistogram",
    "DPLinearRegression",
    "DPLinearSVC",
    "DPLogisticRegression",
    "DPScorecard",
    "DPSelection",
    "LedgerAccount",
    "PrivacyStatement",
    "RandomCosines",
    "Summary",
    "UnpaidFitWarning",
    "make_private_fit",
    "select_for_release",
    "tune_for_release",
]
