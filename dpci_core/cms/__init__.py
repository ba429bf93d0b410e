"""The learners of Chaudhuri, Monteleoni and Sarwate [CMS]: training, kernels and private tuning.

`cms.curve`, `cms.accuracy`, `cms.protocol` and `cms.tuned_curve` measure them and are imported by themselves, because
the compiler takes half a second; `cms.training` says what they measure.
"""

from dpci_core.cms.features import CosineFeatures
from dpci_core.cms.learners import METHODS, Learner, Method, ObjectiveRun, objective_run, train
from dpci_core.cms.tuning import Candidate, TuningResult, selection_probabilities, tune_privately, utility_bound

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
