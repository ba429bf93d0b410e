"""The learners of Chaudhuri, Monteleoni and Sarwate [CMS]: training, kernels and private tuning.

`tuning.accuracy` measures them and is imported by itself, because the compiler takes half a
second.
"""

from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.tuning.choose import (
    Candidate,
    TuningResult,
    selection_probabilities,
    tune_privately,
    utility_bound,
)
from dpci_core.tuning.features import CosineFeatures
from dpci_core.tuning.learners import METHODS, Learner, Method, ObjectiveRun, objective_run, train
from dpci_core.tuning.repeated import repeated_price, repeated_run
from dpci_core.tuning.selection import (
    SELECTION_METHODS,
    Ramp,
    SelectionMethod,
    SelectionResult,
    Spending,
    select_privately,
    spend,
)
from dpci_core.tuning.stability import (
    ConcentratedPlan,
    ScoreBounds,
    SelectionPlan,
    histogram_score_bounds,
    linear_score_bounds,
    plan_concentrated_selection,
    plan_selection,
)

__all__ = [
    "METHODS",
    "SELECTION_METHODS",
    "Candidate",
    "ConcentratedPlan",
    "CosineFeatures",
    "Learner",
    "Method",
    "ObjectiveRun",
    "Ramp",
    "ScoreBounds",
    "SelectionMethod",
    "SelectionPlan",
    "SelectionResult",
    "Spending",
    "TuningResult",
    "histogram_score_bounds",
    "linear_score_bounds",
    "noisy_max_probabilities",
    "objective_run",
    "plan_concentrated_selection",
    "plan_selection",
    "repeated_price",
    "repeated_run",
    "select_privately",
    "selection_probabilities",
    "spend",
    "train",
    "tune_privately",
    "utility_bound",
]
