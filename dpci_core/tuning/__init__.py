"""The learners of Chaudhuri, Monteleoni and Sarwate [CMS]: training, kernels and private tuning.

`curve`, `study`, `protocol` and `tuned_curve` of `studies.accuracy` measure them and are imported
by themselves, because the compiler takes half a second; `tuning.training` says what they measure.
"""

from dpci_core.tuning.choose import (
    Candidate,
    TuningResult,
    selection_probabilities,
    tune_privately,
    utility_bound,
)
from dpci_core.tuning.features import CosineFeatures
from dpci_core.tuning.learners import METHODS, Learner, Method, ObjectiveRun, objective_run, train

__all__ = [
    "METHODS",
    "Candidate",
    "CosineFeatures",
    "Learner",
    "Method",
    "ObjectiveRun",
    "TuningResult",
    "objective_run",
    "selection_probabilities",
    "train",
    "tune_privately",
    "utility_bound",
]
