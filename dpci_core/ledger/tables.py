"""The database of the ledger: one table that only grows, views for people, and the steps from
version to version.
"""

from __future__ import annotations

APPLICATION_ID = 0x64706369
"""The letters d, p, c, i in the file's header: this is a ledger."""

_ENTRIES = """
CREATE TABLE NAME (
    sequence        INTEGER PRIMARY KEY CHECK (sequence >= 1),
    kind            TEXT NOT NULL CHECK (kind IN ('account', 'booked', 'done', 'failed')),
    written_at      TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    person          TEXT CHECK (length(person) > 0),
    dataset         TEXT CHECK (length(dataset) > 0),
    schema_hash     TEXT CHECK (length(schema_hash) > 0),
    unit            TEXT CHECK (length(unit) > 0),
    people          TEXT CHECK (people IN ('first', 'other', 'same')),
    account         INTEGER REFERENCES NAME (sequence),
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
    charge          INTEGER REFERENCES NAME (sequence),
    result_hash     TEXT CHECK (length(result_hash) > 0),
    reason          TEXT CHECK (length(reason) > 0),
    mac             TEXT NOT NULL CHECK (length(mac) = 64),
    CHECK (
        (kind = 'account')
        = (dataset IS NOT NULL AND schema_hash IS NOT NULL AND unit IS NOT NULL AND people IS NOT NULL)
    ),
    CHECK ((kind = 'account') = (cap_definition IS NOT NULL AND cap_amount IS NOT NULL)),
    CHECK ((kind IN ('account', 'booked')) = (person IS NOT NULL)),
    CHECK ((kind = 'booked') = (cost_definition IS NOT NULL AND cost_amount IS NOT NULL AND cost_lines IS NOT NULL)),
    CHECK ((kind = 'booked') = (spent IS NOT NULL AND purpose IS NOT NULL AND plan_hash IS NOT NULL)),
    CHECK ((kind = 'booked') = (request_id IS NOT NULL)),
    CHECK ((kind = 'booked' OR people IS 'same') = (account IS NOT NULL)),
    CHECK ((kind IN ('done', 'failed')) = (charge IS NOT NULL)),
    CHECK ((kind = 'done') = (result_hash IS NOT NULL)),
    CHECK ((kind = 'failed') = (reason IS NOT NULL))
)
"""  # noqa: E501 - SQL


def _entries(name: str, *definitions: str) -> str:
    """The table under a name, for amounts of these definitions."""
    return _ENTRIES.replace("NAME", name).replace("DEFINITIONS", ", ".join(map(repr, definitions)))


_GUARDS = (
    "CREATE UNIQUE INDEX one_account_a_schema ON entries (dataset, schema_hash) WHERE kind = "
    "'account'",
    "CREATE UNIQUE INDEX one_charge_a_request ON entries (request_id) WHERE kind = 'booked'",
    "CREATE UNIQUE INDEX one_end_a_charge ON entries (charge) WHERE kind IN ('done', 'failed')",
    """
CREATE TRIGGER entries_are_added_in_order BEFORE INSERT ON entries
WHEN NEW.sequence IS NOT (SELECT coalesce(max(sequence), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'an entry comes right after the last one'); END
""",
    """
CREATE TRIGGER entries_refer_to_the_right_kind BEFORE INSERT ON entries
WHEN (NEW.account IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.account) IS NOT 'account')
  OR (NEW.charge IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.charge) IS NOT 'booked')
BEGIN SELECT RAISE(ABORT, 'an account or a booking is meant'); END
""",  # noqa: E501 - SQL
    """
CREATE TRIGGER entries_are_never_changed BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END
""",
    """
CREATE TRIGGER entries_are_never_deleted BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END
""",
)

_VERSION_1 = (_entries("entries", "pure", "zcdp"), *_GUARDS)

_VERSION_2 = (
    """
CREATE VIEW charges AS
SELECT booked.sequence AS charge, account.dataset, coalesce(ended.kind, 'booked') AS state,
       booked.cost_definition, booked.cost_amount, account.cap_definition, booked.spent AS spent_of_cap,
       booked.purpose, booked.person, booked.written_at AS booked_at, ended.written_at AS ended_at,
       booked.plan_hash, ended.result_hash, ended.reason, booked.cost_lines, booked.request_id
FROM entries AS booked
JOIN entries AS account ON account.sequence = booked.account
LEFT JOIN entries AS ended ON ended.charge = booked.sequence
WHERE booked.kind = 'booked'
ORDER BY booked.sequence
""",  # noqa: E501 - SQL
    """
CREATE VIEW datasets AS
SELECT account.sequence AS account, account.dataset, account.schema_hash, account.unit, account.cap_definition,
       account.cap_amount, account.cap_epsilon, account.cap_delta, account.people, other.dataset AS same_people_as,
       account.person, account.written_at AS created_at
FROM entries AS account
LEFT JOIN entries AS other ON other.sequence = account.account
WHERE account.kind = 'account'
ORDER BY account.sequence
""",  # noqa: E501 - SQL
)

_VERSION_3 = ("ALTER TABLE entries ADD COLUMN nonce TEXT CHECK (length(nonce) = 32)",)

_VERSION_4 = (
    "DROP VIEW charges",
    "DROP VIEW datasets",
    _entries("newer", "pure", "zcdp", "gdp"),
    "ALTER TABLE newer ADD COLUMN nonce TEXT CHECK (length(nonce) = 32)",
    "INSERT INTO newer SELECT * FROM entries ORDER BY sequence",
    "DROP TABLE entries",
    "PRAGMA legacy_alter_table = ON",
    "ALTER TABLE newer RENAME TO entries",
    "PRAGMA legacy_alter_table = OFF",
    *_GUARDS,
    *_VERSION_2,
)
"""Amounts of mu^2: SQLite changes no CHECK of a table that is there. The pragma is for views that
somebody added: by the newer way of renaming, one that lacks its table for a moment ends the step.
"""

_VERSION_5 = (
    "CREATE TABLE running (one INTEGER PRIMARY KEY CHECK (one = 1), content TEXT NOT NULL, "
    "mac TEXT NOT NULL CHECK (length(mac) = 64))",
)
"""The sums after the last entry (`running`)."""

_DRAWING = (
    _entries("newer", "pure", "zcdp", "gdp")
    .replace("'booked', 'done', 'failed'))", "'booked', 'drawing', 'done', 'failed'))")
    .replace("(kind IN ('done', 'failed')) =", "(kind IN ('drawing', 'done', 'failed')) =")
)

_VERSION_6 = (
    "DROP VIEW charges",
    "DROP VIEW datasets",
    _DRAWING,
    "ALTER TABLE newer ADD COLUMN nonce TEXT CHECK (length(nonce) = 32)",
    "ALTER TABLE newer ADD COLUMN draw TEXT "
    "CHECK (draw IS NULL OR (draw = 'announced' AND kind = 'booked'))",
    "INSERT INTO newer SELECT *, NULL FROM entries ORDER BY sequence",
    "DROP TABLE entries",
    "PRAGMA legacy_alter_table = ON",
    "ALTER TABLE newer RENAME TO entries",
    "PRAGMA legacy_alter_table = OFF",
    *_GUARDS,
    "CREATE UNIQUE INDEX one_draw_a_charge ON entries (charge) WHERE kind = 'drawing'",
    _VERSION_2[0].replace(
        "ended.charge = booked.sequence",
        "ended.charge = booked.sequence AND ended.kind IN ('done', 'failed')",
    ),
    _VERSION_2[1],
)
"""A draw has an entry of its own before it begins."""

_VERSION_7 = (
    "ALTER TABLE entries ADD COLUMN public_key TEXT CHECK (length(public_key) = 64)",
    "ALTER TABLE entries ADD COLUMN signature TEXT CHECK (length(signature) = 128)",
    "DROP TABLE running",
    "CREATE TABLE running (one INTEGER PRIMARY KEY CHECK (one = 1), content TEXT NOT NULL, "
    "mac TEXT NOT NULL CHECK (length(mac) IN (64, 128)))",
)
"""Signatures. The sums are made anew by the next whole check."""

_KEYS = _DRAWING.replace(
    "'booked', 'drawing', 'done'", "'booked', 'key', 'drawing', 'done'"
).replace("(kind IN ('account', 'booked')) =", "(kind IN ('account', 'booked', 'key')) =")

_VERSION_8 = (
    "DROP VIEW charges",
    "DROP VIEW datasets",
    _KEYS,
    *_VERSION_6[3:5],
    "ALTER TABLE newer ADD COLUMN public_key TEXT CHECK "
    "((kind = 'key') <= (public_key IS NOT NULL) AND (public_key IS NULL "
    "OR (length(public_key) = 64 AND (sequence = 1 OR kind = 'key'))))",
    "ALTER TABLE newer ADD COLUMN signature TEXT CHECK (length(signature) = 128)",
    "ALTER TABLE newer ADD COLUMN history TEXT "
    "CHECK (history IS NULL OR (length(history) = 64 AND kind = 'key'))",
    "ALTER TABLE newer ADD COLUMN vouched TEXT CHECK ((kind = 'key') = (vouched IS NOT NULL) AND "
    "(vouched IS NULL OR length(vouched) IN (64, 128)))",
    "INSERT INTO newer SELECT *, NULL, NULL FROM entries ORDER BY sequence",
    *_VERSION_6[6:],
)
"""A key takes the place of another."""

_PROPOSALS = (
    _KEYS.replace("'booked', 'key',", "'proposed', 'approved', 'withdrawn', 'booked', 'key',")
    .replace(
        "(kind IN ('account', 'booked', 'key')) =",
        "(kind IN ('account', 'proposed', 'approved', 'withdrawn', 'booked', 'key')) =",
    )
    .replace("(kind = 'booked') =", "(kind IN ('proposed', 'booked')) =")
    .replace("(kind = 'booked' OR people", "(kind IN ('proposed', 'booked') OR people")
)

_VERSION_9 = (
    "DROP VIEW charges",
    "DROP VIEW datasets",
    _PROPOSALS,
    *_VERSION_8[3:9],
    "ALTER TABLE newer ADD COLUMN approval TEXT "
    "CHECK (approval IS NULL OR (approval = 'another person' AND kind = 'account'))",
    "ALTER TABLE newer ADD COLUMN proposal INTEGER REFERENCES newer (sequence) "
    "CHECK ((kind IN ('approved', 'withdrawn')) = (proposal IS NOT NULL))",
    "INSERT INTO newer SELECT *, NULL, NULL FROM entries ORDER BY sequence",
    *_VERSION_6[6:],
    "CREATE INDEX proposals_of_a_request ON entries (request_id) WHERE kind = 'proposed'",
    "CREATE UNIQUE INDEX one_answer_a_proposal ON entries (proposal, kind) "
    "WHERE kind IN ('approved', 'withdrawn')",
    """
CREATE TRIGGER entries_answer_a_proposal BEFORE INSERT ON entries
WHEN NEW.proposal IS NOT NULL AND (SELECT kind FROM entries WHERE sequence = NEW.proposal) IS NOT 'proposed'
BEGIN SELECT RAISE(ABORT, 'a proposal is meant'); END
""",  # noqa: E501 - SQL
)
"""A charge may need the approval of another person before it is booked."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    _VERSION_1,
    _VERSION_2,
    _VERSION_3,
    _VERSION_4,
    _VERSION_5,
    _VERSION_6,
    _VERSION_7,
    _VERSION_8,
    _VERSION_9,
)
"""Step k takes a database from version k to k + 1; an empty file is version 0. Steps are added,
never changed: a further definition needs one that makes the table anew with its name.
"""
