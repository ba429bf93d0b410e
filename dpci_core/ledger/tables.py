"""The database of the ledger: one table that only grows, and views for people."""

from __future__ import annotations

from dpci_core.privacy.budget import DEFINITIONS

APPLICATION_ID = 0x64706369
"""The letters d, p, c, i in the file's header: this is a ledger."""
VERSION = 1
"""Of the tables, in the file's header."""
_ENTRIES = """
CREATE TABLE entries (
    sequence        INTEGER PRIMARY KEY CHECK (sequence >= 1),
    kind            TEXT NOT NULL CHECK (kind IN (
        'account', 'proposed', 'approved', 'withdrawn', 'booked', 'drawing', 'done', 'failed', 'key')),
    written_at      TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    nonce           TEXT NOT NULL CHECK (length(nonce) = 32),
    person          TEXT CHECK (length(person) > 0),
    dataset         TEXT CHECK (length(dataset) > 0),
    schema_hash     TEXT CHECK (length(schema_hash) > 0),
    unit            TEXT CHECK (length(unit) > 0),
    rows            TEXT CHECK (rows IS NULL OR (rows = 'several a person' AND kind = 'account')),
    people          TEXT CHECK (people IN ('first', 'other', 'same')),
    account         INTEGER REFERENCES entries (sequence),
    cap_definition  TEXT CHECK (cap_definition IN (DEFINITIONS)),
    cap_amount      TEXT CHECK (cap_amount NOT GLOB '*[^0-9.]*' AND cap_amount GLOB '*[1-9]*'),
    cap_epsilon     TEXT CHECK (cap_epsilon NOT GLOB '*[^0-9.]*' AND cap_epsilon GLOB '*[1-9]*'),
    cap_delta       TEXT CHECK (cap_delta NOT GLOB '*[^0-9.]*' AND cap_delta GLOB '*[1-9]*'),
    cost_definition TEXT CHECK (cost_definition IN (DEFINITIONS)),
    cost_amount     TEXT CHECK (cost_amount NOT GLOB '*[^0-9.]*' AND cost_amount GLOB '*[1-9]*'),
    cost_lines      TEXT,
    spent           TEXT CHECK (spent NOT GLOB '*[^0-9.]*' AND spent GLOB '*[1-9]*'),
    purpose         TEXT CHECK (length(purpose) > 0),
    plan_hash       TEXT CHECK (length(plan_hash) > 0),
    request_id      TEXT CHECK (length(request_id) > 0),
    charge          INTEGER REFERENCES entries (sequence),
    result_hash     TEXT CHECK (length(result_hash) > 0),
    reason          TEXT CHECK (length(reason) > 0),
    draw            TEXT CHECK (draw IS NULL OR (draw = 'announced' AND kind = 'booked')),
    public_key      TEXT CHECK (length(public_key) = 64),
    vouched         TEXT CHECK (length(vouched) = 128),
    approval        TEXT CHECK (approval IS NULL OR (approval = 'another person' AND kind = 'account')),
    proposal        INTEGER REFERENCES entries (sequence),
    signature       TEXT NOT NULL CHECK (length(signature) = 128),
    seal            TEXT NOT NULL CHECK (length(seal) = 64),
    CHECK (
        (kind = 'account')
        = (dataset IS NOT NULL AND schema_hash IS NOT NULL AND unit IS NOT NULL AND people IS NOT NULL)
    ),
    CHECK ((kind = 'account') = (cap_definition IS NOT NULL AND cap_amount IS NOT NULL)),
    CHECK ((kind NOT IN ('drawing', 'done', 'failed')) = (person IS NOT NULL)),
    CHECK (
        (kind IN ('proposed', 'booked'))
        = (cost_definition IS NOT NULL AND cost_amount IS NOT NULL AND cost_lines IS NOT NULL)
    ),
    CHECK ((kind IN ('proposed', 'booked')) = (spent IS NOT NULL AND purpose IS NOT NULL AND plan_hash IS NOT NULL)),
    CHECK ((kind IN ('proposed', 'booked')) = (request_id IS NOT NULL)),
    CHECK ((kind IN ('proposed', 'booked') OR people IS 'same') = (account IS NOT NULL)),
    CHECK ((kind IN ('drawing', 'done', 'failed')) = (charge IS NOT NULL)),
    CHECK ((kind = 'done') = (result_hash IS NOT NULL)),
    CHECK ((kind = 'failed') = (reason IS NOT NULL)),
    CHECK ((kind IN ('approved', 'withdrawn')) = (proposal IS NOT NULL)),
    CHECK ((sequence = 1 OR kind = 'key') = (public_key IS NOT NULL)),
    CHECK ((kind = 'key') = (vouched IS NOT NULL))
)
"""  # noqa: E501 - SQL

TABLES = (
    _ENTRIES.replace("DEFINITIONS", ", ".join(map(repr, DEFINITIONS))),
    "CREATE UNIQUE INDEX one_account_a_schema ON entries (dataset, schema_hash) WHERE kind = "
    "'account'",
    "CREATE UNIQUE INDEX one_charge_a_request ON entries (request_id) WHERE kind = 'booked'",
    "CREATE UNIQUE INDEX one_draw_a_charge ON entries (charge) WHERE kind = 'drawing'",
    "CREATE UNIQUE INDEX one_end_a_charge ON entries (charge) WHERE kind IN ('done', 'failed')",
    "CREATE UNIQUE INDEX one_answer_a_proposal ON entries (proposal, kind) "
    "WHERE kind IN ('approved', 'withdrawn')",
    """
CREATE TRIGGER entries_are_added_in_order BEFORE INSERT ON entries
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'an entry comes right after the last one'); END
""",
    """
CREATE TRIGGER entries_refer_to_the_right_kind BEFORE INSERT ON entries
WHEN (NEW.account IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.account) IS NOT 'account')
  OR (NEW.charge IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.charge) IS NOT 'booked')
  OR (NEW.proposal IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.proposal) IS NOT 'proposed')
BEGIN SELECT RAISE(ABORT, 'an account, a booking or a proposal is meant'); END
""",  # noqa: E501 - SQL
    """
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
""",
    """
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END
""",
    """
CREATE VIEW charges AS
SELECT booked.sequence AS charge, account.dataset, coalesce(ended.kind, 'booked') AS state,
       booked.cost_definition, booked.cost_amount, account.cap_definition, booked.spent AS spent_of_cap,
       booked.purpose, booked.person, booked.written_at AS booked_at, ended.written_at AS ended_at,
       booked.plan_hash, ended.result_hash, ended.reason, booked.cost_lines, booked.request_id
FROM entries AS booked
JOIN entries AS account ON account.sequence = booked.account
LEFT JOIN entries AS ended ON ended.charge = booked.sequence AND ended.kind IN ('done', 'failed')
WHERE booked.kind = 'booked'
ORDER BY booked.sequence
""",  # noqa: E501 - SQL
    """
CREATE VIEW datasets AS
SELECT account.sequence AS account, account.dataset, account.schema_hash, account.unit, account.rows, account.cap_definition,
       account.cap_amount, account.cap_epsilon, account.cap_delta, account.people, other.dataset AS same_people_as,
       account.person, account.written_at AS created_at
FROM entries AS account
LEFT JOIN entries AS other ON other.sequence = account.account
WHERE account.kind = 'account'
ORDER BY account.sequence
""",  # noqa: E501 - SQL
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
"""What makes an empty file a ledger."""
