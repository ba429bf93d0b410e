"""Test vectors of what is signed: a fixed key, a few entries of a ledger, the files of a release.

`python -m tests.ledger_vectors` compares them with what the program writes now, `--write` replaces
the file, which is right only where the format is meant to change.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from dpci_core.ledger import Cap, Cost, Ledger
from dpci_core.ledger.entries import sealed_bytes
from dpci_core.ledger.key import SIGNED, SigningKey
from dpci_core.release.signature import signature_text, signed_bytes

FILE = Path(__file__).parent / "fixtures" / "ledger_vectors.json"
SEED, SECOND = bytes(range(32)), bytes(range(32, 64))


def written(folder: Path) -> Ledger:
    """A ledger of the fixed key, at one hour, with nonces that count."""
    nonces = [f"{k:032x}" for k in range(1, 100)]
    with (
        mock.patch("dpci_core.ledger.transaction.new_nonce", side_effect=nonces),
        mock.patch("dpci_core.ledger.keyring.new_key", return_value=SigningKey(SEED)),
        mock.patch.dict(os.environ, {"DPCI_LEDGER_KEYS": str(folder / "keys")}),
    ):
        ledger = Ledger(
            folder / "ledger.sqlite", clock=lambda: datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
        )
        given = {"schema_hash": "5" * 64, "unit": "one row is one person", "person": "Zoë"}
        ledger.create_dataset("Census", cap=Cap.approx(1, "1e-6"), **given)
        cost = Cost(definition="zcdp", amount="0.01", lines=[("coefficients", "0.01")])
        about = {"purpose": 'a "model"', "plan_hash": "a" * 64, "person": "Zoë"}
        charge = ledger.book(
            "Census",
            schema_hash="5" * 64,
            cost=cost,
            request_id="first",
            draws_later=True,
            **about,
        )
        ledger.begin_draw(charge.charge_id)
        ledger.finish(charge.charge_id, result_hash="b" * 64)
        with mock.patch("dpci_core.ledger.ledger.new_key", return_value=SigningKey(SECOND)):
            ledger.rotate_key(person="Zoë")
        book = {"cost": cost, "schema_hash": "5" * 64, "request_id": "second"}
        ledger.book("Census", **book, **about)
        ledger.create_dataset(
            "Clinic", cap=Cap.zcdp(1), other_people=True, needs_approval=True, **given
        )
        asked = {"cost": cost, "schema_hash": "5" * 64, "request_id": "third", **about}
        ledger.withdraw(ledger.propose("Clinic", **asked).proposal_id, person="Zoë")
        ledger.approve(ledger.propose("Clinic", **asked).proposal_id, person="Ada")
        ledger.book("Clinic", **asked)
    return ledger


def vectors(folder: Path) -> dict[str, Any]:
    """What the file holds."""
    ledger = written(folder)
    rows, previous = [], ""
    for entry in ledger.entries():
        fields = {name: value for name, value in asdict(entry).items() if value is not None}
        signature, seal = fields.pop("signature"), fields.pop("seal")
        signed = sealed_bytes(entry, previous, SIGNED).decode("ascii")
        rows.append(
            {
                "entry": fields,
                "previous": previous,
                "signed": signed,
                "signature": signature,
                "seal": seal,
                "head": entry.head,
            }
        )
        previous = entry.seal
    key = SigningKey(SEED)
    return {
        "secret_key": SEED.hex(),
        "public_key": key.public.text,
        "key_id": key.key_id,
        "entries": rows,
        "release": _release(key),
    }


def _release(key: SigningKey) -> dict[str, Any]:
    files = {"release.json": '{"title": "Zoë"}\n', "plan.yaml": "title: Zoë\n"}
    text = signature_text(files, key)
    signed = signed_bytes(json.loads(text)["files"], key.public).decode("ascii")
    return {"files": files, "signed": signed, "signature.json": text}


def main() -> int:
    """Return 0 if the file has what is written now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="replace the file")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = json.dumps(vectors(Path(folder)), indent=1) + "\n"
    if options.write:
        FILE.write_text(found, encoding="ascii")
    return int(FILE.read_text(encoding="ascii") != found)


if __name__ == "__main__":
    sys.exit(main())
