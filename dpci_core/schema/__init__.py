"""Declared columns, and the encoding that turns a table into records of norm at most 1."""

from dpci_core.schema.categorical import CategoricalColumn
from dpci_core.schema.column import Column, Scale, as_text
from dpci_core.schema.declare import (
    CONSTANT,
    KINDS,
    Persons,
    Schema,
    StandardEncoding,
    Transformations,
    told_steps,
)
from dpci_core.schema.encode import (
    basis_of,
    constant_of,
    design_matrix,
    encode,
    leave_out,
    meaning_of,
    target_signs,
    to_original,
)
from dpci_core.schema.mapping import MappingNote, RecordMapper
from dpci_core.schema.numeric import NumberGuess, NumericColumn
from dpci_core.schema.propose import (
    MAX_LEVELS,
    propose_schema,
    propose_standard,
    round_outward,
)
from dpci_core.schema.records import Encoding, Provenance, Records, make_records
from dpci_core.schema.twin import Guesses, simulate_twin, twin_table
from dpci_core.schema.worlds import World, worlds_of

__all__ = [
    "CONSTANT",
    "KINDS",
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
    "Scale",
    "Schema",
    "StandardEncoding",
    "Transformations",
    "World",
    "as_text",
    "basis_of",
    "constant_of",
    "design_matrix",
    "encode",
    "leave_out",
    "make_records",
    "meaning_of",
    "propose_schema",
    "propose_standard",
    "round_outward",
    "simulate_twin",
    "target_signs",
    "to_original",
    "told_steps",
    "twin_table",
    "worlds_of",
]
