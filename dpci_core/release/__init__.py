"""The one release: real noise, booked before it is drawn, written so that it can be shown and
checked later.
"""

from dpci_core.intervals.certified import GRID, check_feasible
from dpci_core.intervals.draw import Drawn, draw_release
from dpci_core.ledger.draw import is_drawing, wait_for_draws
from dpci_core.mechanisms.shares import INEXACT_SHARE, TAU, ReleaseParts, share_out
from dpci_core.release.after import (
    AfterError,
    Answer,
    Prediction,
    Region,
    ReleaseInference,
    Together,
    WaldTest,
)
from dpci_core.release.content import Price, assumptions_of, schema_hash, warnings_of
from dpci_core.release.effects import (
    Effect,
    effect_lines,
    effect_sentences,
    effects,
    reading_sentence,
)
from dpci_core.release.linear import LinearRelease
from dpci_core.release.look import ACCEPTABLE, Acceptable, Look, look_at
from dpci_core.release.notebook import notebook
from dpci_core.release.once import (
    NotAcceptedError,
    ReleaseFailedError,
    ReleaseLostError,
    ReleasePausedError,
    ReleaseRefusedError,
    ReleaseTask,
    ReleaseUnfinishedError,
    check_account,
    check_approved,
    check_header,
    check_is_left,
    check_number,
    complete,
    propose,
    release_once,
)
from dpci_core.release.reading import load_release
from dpci_core.release.record import (
    AnyRelease,
    Coefficient,
    Entry,
    Guarantee,
    Interval,
    RecordError,
    Release,
)
from dpci_core.release.rehearsal import Rehearsal, rehearse
from dpci_core.release.report import intervals_csv, model_card, report_html
from dpci_core.release.run import (
    ModelTask,
    PlanRelease,
    check_table,
    price_of,
    release,
    task_of,
)
from dpci_core.release.signature import SignatureCheck, check_signature
from dpci_core.release.table import (
    Header,
    MemoryFile,
    TableFile,
    TextEncoding,
    read_cells,
    read_header,
    read_records,
)

__all__ = [
    "ACCEPTABLE",
    "GRID",
    "INEXACT_SHARE",
    "TAU",
    "Acceptable",
    "AfterError",
    "Answer",
    "AnyRelease",
    "Coefficient",
    "Drawn",
    "Effect",
    "Entry",
    "Guarantee",
    "Header",
    "Interval",
    "LinearRelease",
    "Look",
    "MemoryFile",
    "ModelTask",
    "NotAcceptedError",
    "PlanRelease",
    "Prediction",
    "Price",
    "RecordError",
    "Region",
    "Rehearsal",
    "Release",
    "ReleaseFailedError",
    "ReleaseInference",
    "ReleaseLostError",
    "ReleaseParts",
    "ReleasePausedError",
    "ReleaseRefusedError",
    "ReleaseTask",
    "ReleaseUnfinishedError",
    "SignatureCheck",
    "TableFile",
    "TextEncoding",
    "Together",
    "WaldTest",
    "assumptions_of",
    "check_account",
    "check_approved",
    "check_feasible",
    "check_header",
    "check_is_left",
    "check_number",
    "check_signature",
    "check_table",
    "complete",
    "draw_release",
    "effect_lines",
    "effect_sentences",
    "effects",
    "intervals_csv",
    "is_drawing",
    "load_release",
    "look_at",
    "model_card",
    "notebook",
    "price_of",
    "propose",
    "read_cells",
    "read_header",
    "read_records",
    "reading_sentence",
    "rehearse",
    "release",
    "release_once",
    "report_html",
    "schema_hash",
    "share_out",
    "task_of",
    "wait_for_draws",
    "warnings_of",
]
