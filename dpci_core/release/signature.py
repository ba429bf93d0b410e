"""The signature of a release: its files, byte for byte, by the key of the ledger that paid.

It is a function of the files and the key alone: no time, no chance, nothing of the records that the
files do not say. Whoever checks it needs the folder and no ledger.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpci_core.base.errors import Finding, LedgerRuleError
from dpci_core.base.text import line_problem
from dpci_core.ledger import PublicKey, SigningKey
from dpci_core.plan.link import load_json

SIGNATURE_NAME = "signature.json"
FORMAT = "dpci-release-signature-1"
_MOST_BYTES = 1_000_000
_FIELDS = {"format", "files", "public_key", "signature"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SignatureCheck:
    """What was found in the folder of a release; `report.refusals.said` has the sentences.

    problems: what is wrong, nothing if all is as it was signed.
    n_files: that are signed.
    checked_with: whose key it was; None where there is no signature to check.
    """

    problems: tuple[Finding, ...]
    n_files: int = 0
    checked_with: Finding | None = None

    @property
    def is_good(self) -> bool:
        """Whether every file is the one that was released."""
        return not self.problems

    @property
    def verdict(self) -> Finding:
        """The outcome of it all."""
        if self.is_good:
            return Finding("release_as_signed", n_files=self.n_files)
        if self.checked_with is None:
            return Finding("release_not_signed")
        return Finding("release_not_as_signed")


def signed_bytes(digests: Mapping[str, str], key: PublicKey) -> bytes:
    """What a signature is over: JSON in ASCII of the format, the key and the SHA-256 of each file
    by its name.
    """
    message = {"format": FORMAT, "files": dict(digests), "public_key": key.text}
    return json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")


def signature_text(files: Mapping[str, str], key: SigningKey) -> str:
    """Return the text of the file that signs the others.

    Args:
        files: text by name.
        key: of the ledger.
    """
    digests = {name: _digest(text.encode()) for name, text in sorted(files.items())}
    content = {
        "format": FORMAT,
        "files": digests,
        "public_key": key.public.text,
        "signature": key.sign(signed_bytes(digests, key.public)),
    }
    return json.dumps(content, indent=1) + "\n"


def check_signature(folder: Path, *, public_key: PublicKey | None = None) -> SignatureCheck:
    """Return whether a folder holds the files that were released, and nothing else.

    Args:
        folder: of the release.
        public_key: that has to have signed; None takes the one that the folder names itself, which
            whoever signed it anew would have named, too.

    Raises:  OSError where nothing can be read.
    """
    place = folder / SIGNATURE_NAME
    if not place.exists() and folder.is_dir():
        return SignatureCheck(problems=(Finding("no_signature"),))
    if place.exists() and not place.is_file():  # a pipe would be waited for
        return SignatureCheck(problems=(Finding("signature_unreadable"),))
    with place.open("rb") as file:
        found = _read(file.read(_MOST_BYTES))
    if found is None:
        return SignatureCheck(problems=(Finding("signature_unreadable"),))
    digests, key, signature = found
    if public_key is not None and key != public_key:
        problem = Finding("release_of_another_key", found=key.text, wanted=public_key.text)
        return SignatureCheck(problems=(problem,))
    problems = []
    if not key.holds(signed_bytes(digests, key), signature):
        problems.append(Finding("signature_invalid"))
    here = {path.name: path for path in folder.iterdir() if path.name != SIGNATURE_NAME}
    for name, digest in digests.items():
        if name not in here:
            problems.append(Finding("signed_file_missing", name=_plain(name)))
        elif not here[name].is_file() or _digest_of_file(here[name]) != digest:
            problems.append(Finding("signed_file_changed", name=_plain(name)))
    extra = sorted(set(here) - set(digests))
    problems += [Finding("file_not_signed", name=_plain(name)) for name in extra]
    return SignatureCheck(
        problems=tuple(problems),
        n_files=len(digests),
        checked_with=Finding(
            "release_with_named" if public_key is None else "release_with_pinned", key=key.text
        ),
    )


def _read(content: bytes) -> tuple[dict[str, str], PublicKey, str] | None:
    """Files with their digests, key and signature; None for what is no signature."""
    try:
        made: Any = load_json(content.decode())
        digests, signature = made["files"], made["signature"]
        texts = [*digests, *digests.values(), signature]
        if set(made) != _FIELDS or made["format"] != FORMAT:
            return None
        if not digests or not all(isinstance(text, str) for text in texts):
            return None
        return digests, PublicKey.of(made["public_key"]), signature
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, LedgerRuleError):
        return None


def _plain(name: str) -> str:
    """A name without what would move the cursor of a terminal or turn its text."""
    return name if line_problem(name) is None else ascii(name)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file of any size, as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
