"""Private coefficients and private matrices: what is drawn, at which price.

A further mechanism is a file beside `objective`, `output` and `steps`, and its line here.
"""

from dpci_core.design import MECHANISMS
from dpci_core.mechanisms.objective import Objective
from dpci_core.mechanisms.output import Output
from dpci_core.mechanisms.steps import Steps

MECHANISMS.update({mechanism.name: mechanism for mechanism in (Objective(), Output(), Steps())})
