"""Plans as files that people read and edit: YAML with comments, or JSON; one content, one set of
rules.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from dpci_core.base.errors import expect
from dpci_core.plan.base import AnyPlan
from dpci_core.plan.codec import PlanFieldError
from dpci_core.plan.link import load_json
from dpci_core.plan.yaml_text import dump_yaml, load_yaml

MOST_CHARACTERS = 200_000
"""Of a plan file; longer ones are not opened."""
_YAML, _JSON = (".yaml", ".yml"), (".json",)

_HEAD = """\
# A plan for one release of a private model with intervals. It holds declarations and guesses, no record.
# Budgets and delta are in quotes, so that they stay the exact decimals they are.
"""  # noqa: E501 - text of the file
_COMMENTS = {
    "source": "Where the numbers come from: a public set by its key, or a declared table with "
    "guesses about it.\n"
    "low, high, centre and spread are in the column's own units; effects are log odds per unit, or "
    "per level.",
    "features": "How many of the encoded features, in their order; or a list of names; or all.",
    "design": "What would be released. Parts of the budget are in epsilon (pure) or rho (zcdp).",
    "n_records": "Records of the private table; public.",
    "n_tolerance": "A table is released that has at most this share of them more or fewer.",
    "goal": "What the plan is for, in encoded units (every number on [-1, 1] by its bounds); null "
    "for nothing.",
    "delta": "At which the epsilon of a zcdp budget is stated.",
}
_EXACT_COMMENTS = {
    "design": "What would be released. Parts of the budget are in mu^2 of Gaussian differential "
    "privacy (gdp).",
    "delta": "At which the epsilon of a gdp budget is stated.",
}
_STANDARD_COMMENTS = {
    "source": _COMMENTS["source"] + "\n"
    "typical and spread (of a logarithm a factor) centre and scale a number, step is the "
    "difference that effects\nare told for; shares are of the levels; limit is in spreads, and "
    "shape is the map of rows in spreads,\nby its rows, or R, in spreads; longer rows count less.",
    "goal": "What the plan is for, per spread; null for nothing.",
}
"""Instead, where the encoding is the standard one."""
_NUMBER_COMMENTS = {
    "source": _STANDARD_COMMENTS["source"].replace(
        "log odds per unit", "in units of the outcome per unit of the column"
    ),
}
"""Instead, where the outcome is a number."""


def as_yaml(plan: AnyPlan) -> str:
    """Return the plan as commented YAML."""
    parts = [_HEAD]
    comments = _COMMENTS | (_STANDARD_COMMENTS if plan.source.is_standard else {})
    comments |= _NUMBER_COMMENTS if plan.schema.outcome else {}
    comments |= _EXACT_COMMENTS if plan.design.budget.additive_only else {}
    for name, value in plan.to_dict().items():
        comment = "".join(f"# {line}\n" for line in comments.get(name, "").splitlines())
        parts.append(("\n" if comment else "") + comment + dump_yaml({name: value}))
    return "".join(parts)


def as_json(plan: AnyPlan) -> str:
    """Return the plan as indented JSON."""
    return json.dumps(plan.to_dict(), indent=1, ensure_ascii=False) + "\n"


def write_plan(plan: AnyPlan, path: str | Path) -> None:
    """Write a plan as YAML or JSON, by the ending of the name, in one step: readers see the old
    file or the new.

    Raises:  ValueError for another ending; OSError.
    """
    target = Path(path)
    text = as_json(plan) if _ending(target) in _JSON else as_yaml(plan)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    expect(
        ending in (*_YAML, *_JSON),
        f"Expected the name of a plan file to end in .yaml, .yml or .json, got {path.name!r}.",
    )
    return ending


def read_plan(path_or_text: str | Path) -> AnyPlan:
    """Return the plan of a file, or of a text: a str of more than one line or that begins with a
    brace is a text.

    Raises:  `PlanFieldError` (a ValueError) that begins with the path of the field; ValueError
             naming the line where the text is neither YAML nor JSON; OSError where a file cannot be
             opened.
    """
    text = str(path_or_text)
    if isinstance(path_or_text, Path) or not ("\n" in text or text.lstrip().startswith("{")):
        text = _read(Path(path_or_text))
    expect(
        len(text) <= MOST_CHARACTERS,
        f"Expected a plan of at most {MOST_CHARACTERS:,} characters, got {len(text):,}.",
    )
    text = text.removeprefix("\ufeff")
    content = load_json(text) if text.lstrip().startswith("{") else load_yaml(text)
    if not isinstance(content, dict):
        raise PlanFieldError("", "Expected a plan: fields with values, beginning with its version.")
    return AnyPlan.from_dict(content)


def _read(path: Path) -> str:
    """The text of a file that ends like a plan and is not too large for one."""
    _ending(path)
    with path.open("rb") as file:
        raw = file.read(4 * MOST_CHARACTERS + 1)
    expect(
        len(raw) <= 4 * MOST_CHARACTERS,
        f"Expected a plan of at most {MOST_CHARACTERS:,} characters; {path.name!r} is larger.",
    )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"Expected {path.name!r} to be text in UTF-8.") from None
