"""What the core refuses, in the words of the page: it names its arguments, people know controls. No Streamlit."""

from __future__ import annotations

import re

from ui.session.text import number

_NAMES = {
    "regularization": "The penalty c",
    "n_records": "The number of records n",
    "confidence_level": "The confidence level",
    "h": "The width h",
    "budget.model": "The part for the coefficients",
    "budget.hessian": "The part for the curvature",
    "budget.covariance": "The part for the gradient covariance",
    "model": "The part for the coefficients",
    "hessian": "The part for the curvature",
    "covariance": "The part for the gradient covariance",
    "epsilon": "ε",
    "rho": "ρ",
    "delta": "δ",
    "total": "The total budget",
    "length": "The length",
    "excludes_zero_at": "The true value",
    "unit": "What one row stands for",
    "person": "Your name",
    "dataset": "The name of the data set",
    "n_rows": "The number of rows",
}
_VALUE = r"(?P<value>Decimal\('[^']*'\)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\s,']+?)"
_RULES = (
    (
        rf"Expected (?P<low>\S+) <=? (?P<name>[\w.]+)={_VALUE} <=? (?P<high>\S+?)\.(?=\s|$)",
        "between {low} and {high}",
    ),
    (rf"Expected (?P<name>[\w.]+)={_VALUE} > (?P<low>\S+?)(?P<rest> and finite)?\.(?=\s|$)", "above {low}"),
    (rf"Expected (?P<name>[\w.]+)={_VALUE} > (?P<low>\S+) (?P<rest>for [^.]*)\.(?=\s|$)", "above {low} {rest}"),
    (rf"Expected (?P<name>[\w.]+)={_VALUE} < (?P<high>\S+?)\.(?=\s|$)", "below {high}"),
    (rf"Expected (?P<name>[\w.]+)={_VALUE} to be (?P<rest>[^.]*(?:\.\d[^.]*)*)\.(?=\s|$)", "{rest}"),
)
_DUTY = re.compile(r"Expected (?P<name>[\w.]+) to (?P<rest>be|have|say)\b")
_COUNT = re.compile(r"\bn_records=([\d,]+)")


def in_words(message: str) -> str:
    """A message of the core with the names of the controls in the place of those of its arguments.

    A message without such names stays. What it quotes is as it was typed: `text.plain` where Markdown would read it.

    >>> in_words("Expected regularization=0.001 > 0.00192687 for this budget and n_records=100. Take a larger one.")
    'The penalty c is 0.001, but has to be above 0.00193 for this budget and n = 100. Take a larger one.'
    """
    for pattern, rule in _RULES:
        message = re.sub(pattern, lambda found, rule=rule: _sentence(found, rule), message)  # type: ignore[misc]
    message = _DUTY.sub(_duty, message)
    return _COUNT.sub(lambda found: f"n = {int(found[1].replace(',', '')):,}", message)


def _sentence(found: re.Match[str], rule: str) -> str:
    given = found.groupdict(default="")
    if given["name"] not in _NAMES:
        return found[0]
    ends = {end: _rounded(given[end]) for end in ("low", "high") if end in given}
    wanted = rule.format(**ends, rest=given.get("rest", ""))
    return f"{_NAMES[given['name']]} is {_shown(given['value'])}, but has to be {wanted}."


def _duty(found: re.Match[str]) -> str:
    return f"{_NAMES[found['name']]} has to {found['rest']}" if found["name"] in _NAMES else found[0]


def _rounded(end: str) -> str:
    try:
        return number(float(end))
    except ValueError:
        return end


def _shown(value: str) -> str:
    """A value as the message quotes it: a number, or what was typed."""
    bare = re.sub(r"^Decimal\('(.*)'\)$", r"\1", value)
    if bare[:1] in "'\"":
        return f"“{bare[1:-1]}”"
    return f"{int(bare):,}" if bare.isdigit() else bare
