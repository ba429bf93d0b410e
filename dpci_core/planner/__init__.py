"""Inverse questions over the forecast: which split, how many records, how much budget, which
mechanism, which c.

Every answer is found by calling the forecast, so it is as private as the moments it is given: on a
sensitive table an answer may steer a release only when the moments are public, simulated, or a
release already paid for.
"""

from dpci_core.planner.geometry import (
    GeometryAnswer,
    best_geometry,
    shaped,
    with_metric_share,
    with_room,
)
from dpci_core.planner.linear import best_linear_design
from dpci_core.planner.needed import (
    NeededBudget,
    NeededRecords,
    Neighbour,
    OutOfReachError,
    needed_budget,
    needed_records,
)
from dpci_core.planner.promise import Promise, promise
from dpci_core.planner.ranking import RankedDesign, rank_mechanisms
from dpci_core.planner.regularization import (
    RegularizationAnswer,
    RegularizationChoice,
    RegularizationCurve,
    best_regularization,
)
from dpci_core.planner.remedies import Remedies, moments_near, remedies
from dpci_core.planner.search import score
from dpci_core.planner.split import NoSplitError, SplitAnswer, best_split, shares_of
from dpci_core.planner.targets import Target, as_if_records, meeting_probability
from dpci_core.planner.worlds import WorldMoments, Worlds, as_worlds
from dpci_core.privacy.budget import PARTS

__all__ = [
    "PARTS",
    "GeometryAnswer",
    "NeededBudget",
    "NeededRecords",
    "Neighbour",
    "NoSplitError",
    "OutOfReachError",
    "Promise",
    "RankedDesign",
    "RegularizationAnswer",
    "RegularizationChoice",
    "RegularizationCurve",
    "Remedies",
    "SplitAnswer",
    "Target",
    "WorldMoments",
    "Worlds",
    "as_if_records",
    "as_worlds",
    "best_geometry",
    "best_linear_design",
    "best_regularization",
    "best_split",
    "meeting_probability",
    "moments_near",
    "needed_budget",
    "needed_records",
    "promise",
    "rank_mechanisms",
    "remedies",
    "score",
    "shaped",
    "shares_of",
    "with_metric_share",
    "with_room",
]
