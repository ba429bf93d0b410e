"""Declared columns, and the encoding that turns a table into records of norm at most 1."""

from dpci_core.schema.declare import (
    CONSTANT,
    CategoricalColumn,
    Column,
    NumericColumn,
    Persons,
    Schema,
    StandardEncoding,
    Transformations,
)
from dpci_core.schema.encode import (
    as_text,
    design_matrix,
    encode,
    leave_out,
    target_signs,
    to_original,
)
from dpci_core.schema.mapping import MappingNote, RecordMapper
from dpci_core.schema.propose import (
    MAX_LEVELS,
    propose_schema,
    propose_standard,
    round_outward,
)
from dpci_core.schema.records import Encoding, Provenance, Records, make_records
from dpci_core.schema.steps import told_step, told_steps
from dpci_core.schema.twin import Guesses, NumberGuess, simulate_twin, twin_table

__all__ = [
    "CONSTANT",
    "MAX_LEVELS",
    "CategoricalColumn",
    "Column",
    "Encoding",
    "Guesses",
    "MappingNote",
    "NumberGuess",
    "NumericColumn",
    "Persons",
    "Provenance",
    "RecordMapper",
    "Records",
    "Schema",
    "StandardEncoding",
    "Transformations",
    "as_text",
    "design_matrix",
    "encode",
    "leave_out",
    "make_records",
    "propose_schema",
    "propose_standard",
    "round_outward",
    "simulate_twin",
    "target_signs",
    "to_original",
    "told_step",
    "told_steps",
    "twin_table",
]
