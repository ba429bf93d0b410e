"""Plain values in the address of a link: canonical JSON, compressed, in characters that every
address may hold.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from dpci_core.base.errors import expect
from dpci_core.plan.codec import PlanFieldError

LINK_KEY = "plan"
"""Name of the parameter."""
MOST_IN_LINK = 8_000
"""Characters of the parameter; servers cut off longer addresses."""
_MOST_UNPACKED = 200_000
"""Bytes behind a link, so that a short one cannot fill the memory."""
_PREFIX = "1."
"""Version of the packing."""


def canonical(content: dict[str, Any]) -> str:
    """Return the JSON of plain values that is the same for equal ones: keys in order, no spaces,
    ASCII.
    """
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def pack(content: dict[str, Any]) -> str:
    """Return plain values as the text of a link parameter, or raise ValueError if they are too
    many.
    """
    packed = zlib.compress(canonical(content).encode(), 9)
    text = _PREFIX + base64.urlsafe_b64encode(packed).decode().rstrip("=")
    expect(
        len(text) <= MOST_IN_LINK,
        f"This plan is too long for a link ({len(text):,} characters). Share it as a file instead.",
    )
    return text


def unpack(text: str) -> object:
    """Return what `pack` packed, or raise ValueError in words."""
    expect(
        len(text) <= MOST_IN_LINK,
        f"Expected a link with at most {MOST_IN_LINK:,} characters of plan, got {len(text):,}.",
    )
    expect(text.startswith(_PREFIX), "This link is not of a version that can be read here.")
    body = text.removeprefix(_PREFIX)
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, _MOST_UNPACKED)
    except (ValueError, zlib.error):
        raise ValueError("This link is damaged: a part of it is missing or changed.") from None
    expect(unpacker.eof, "This link is damaged: it ends too early or holds too much.")
    return load_json(plain.decode("utf-8", "replace"))


def load_json(text: str) -> object:
    """Return the values of JSON in which every key stands once and every number is finite, or raise
    ValueError.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except PlanFieldError:
        raise
    except json.JSONDecodeError as error:
        raise ValueError(f"Line {error.lineno} is not JSON: {error.msg}.") from None
    except (ValueError, RecursionError):
        raise ValueError(
            "This JSON is nested too deeply, or holds a number of too many digits."
        ) from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise PlanFieldError(key, "This field is given twice.")
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    raise PlanFieldError("", f"Expected finite numbers, got {name}.")
