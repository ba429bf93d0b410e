"""Inverse questions over the forecast: which split, how many records, how much budget, which mechanism.

Every answer is found by calling the forecast, so it is as private as the moments it is given: on a sensitive table an
answer may steer a release only when the moments are public, simulated, or a release already paid for.
"""

from dpci_core.planner.remedies import Remedies, moments_near, remedies
from dpci_core.planner.split import PARTS, SplitAnswer, best_split, score, shares_of

__all__ = ["PARTS", "Remedies", "SplitAnswer", "best_split", "moments_near", "remedies", "score", "shares_of"]
