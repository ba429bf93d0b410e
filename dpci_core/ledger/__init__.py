"""The budget ledger: a cap for each group of people, every charge, sealed so that changes show; see
docs/operations.md.

It holds names, amounts, hashes of declarations and of published results. Nothing in it is computed
from private records.

For other programs: the table `entries` has one entry a row; NULL fields are left out. Signed is the
JSON object `{"entry": {...}, "format": "dpci-ledger-1", "previous": seal}` in ASCII with sorted
names and no blanks, as Python's `json.dumps(message, sort_keys=True, separators=(",", ":"))`. The
seal is the SHA-256 of these bytes followed by the 128 hexadecimal digits of the signature; `key_id`
is the first 16 digits of the SHA-256 of the public key's 32 bytes; the head is
`sequence:key_id:seal`. An entry of kind `key` has `vouched`, the signature of the key before over
the object without it, with the format `dpci-ledger-1-next-key`. The `signature.json` of a release
signs its fields `files`, `format` and `public_key`. `tests/fixtures/ledger_vectors.json` has a key,
entries, bytes, signatures and heads.
"""

from dpci_core.base.errors import BudgetExceededError, LedgerError
from dpci_core.ledger.amounts import Cap, Cost, as_text, price
from dpci_core.ledger.entries import NO_HEAD, Entry
from dpci_core.ledger.export import (
    account_row,
    as_csv,
    charge_row,
    entry_row,
    proposal_row,
    safe_cell,
)
from dpci_core.ledger.key import PublicKey, SigningKey
from dpci_core.ledger.keyring import FOLDER_VARIABLE
from dpci_core.ledger.ledger import KEY_VARIABLE, PATH_VARIABLE, Ledger
from dpci_core.ledger.problems import (
    DrawBegunError,
    LedgerBusyError,
    LedgerDamagedError,
    NotApprovedError,
    SamePeopleQuestionError,
    SchemaChangedError,
    UnknownDatasetError,
)
from dpci_core.ledger.proposals import Proposal
from dpci_core.ledger.state import Account, Charge, Spending
from dpci_core.ledger.verify import RecordedHead, Verification

__all__ = [
    "FOLDER_VARIABLE",
    "KEY_VARIABLE",
    "NO_HEAD",
    "PATH_VARIABLE",
    "Account",
    "BudgetExceededError",
    "Cap",
    "Charge",
    "Cost",
    "DrawBegunError",
    "Entry",
    "Ledger",
    "LedgerBusyError",
    "LedgerDamagedError",
    "LedgerError",
    "NotApprovedError",
    "Proposal",
    "PublicKey",
    "RecordedHead",
    "SamePeopleQuestionError",
    "SchemaChangedError",
    "SigningKey",
    "Spending",
    "UnknownDatasetError",
    "Verification",
    "account_row",
    "as_csv",
    "as_text",
    "charge_row",
    "entry_row",
    "price",
    "proposal_row",
    "safe_cell",
]
