"""A plan as an object: where it starts, what would be released, and its numbers; as a file, a link,
code and a page.

A plan holds declarations and guesses, never a record, so it may be shared like any text.
"""

from dpci_core.plan.acceptance import Acceptance
from dpci_core.plan.base import VERSION, AnyPlan
from dpci_core.plan.codec import PlanFieldError
from dpci_core.plan.csvw import csvw_of, schema_of_csvw
from dpci_core.plan.file import MOST_CHARACTERS, as_json, as_yaml, read_plan, write_plan
from dpci_core.plan.linear import LinearNumbers, LinearPlan
from dpci_core.plan.link import LINK_KEY
from dpci_core.plan.numbers import PlanNumbers, shrinkage_of
from dpci_core.plan.plan import Plan
from dpci_core.plan.script import notebook_text, to_notebook, to_script
from dpci_core.plan.source import DEFAULT_UNIT, DeclaredTable, PublicTable
from dpci_core.plan.summary import to_html

__all__ = [
    "DEFAULT_UNIT",
    "LINK_KEY",
    "MOST_CHARACTERS",
    "VERSION",
    "Acceptance",
    "AnyPlan",
    "DeclaredTable",
    "LinearNumbers",
    "LinearPlan",
    "Plan",
    "PlanFieldError",
    "PlanNumbers",
    "PublicTable",
    "as_json",
    "as_yaml",
    "csvw_of",
    "notebook_text",
    "read_plan",
    "schema_of_csvw",
    "shrinkage_of",
    "to_html",
    "to_notebook",
    "to_script",
    "write_plan",
]
