"""The controls of the method of a regression of a number: level, steps, clips."""

from __future__ import annotations

from functools import partial

from ui.controls import design
from ui.controls.paired import number_field, refusal
from ui.session import state
from ui.session.choices import CURRENCIES
from ui.session.settings import LIMITS, Settings

NUMBER_CURRENCIES = tuple(n for n, one in CURRENCIES.items() if one.definition.law == "gaussian")
"""In which a budget can be typed that buys Gaussian noise only."""
_LINEAR = {
    "steps": ("Steps", "Each has 2.5 times the budget of the one before it; 3 do nearly always."),
    "clip": (
        "Largest influence of a record",
        "As a multiple of what nine of ten records stay below; what is larger counts as that much. "
        "More lets extreme records count, and adds noise.",
    ),
    "row_clip": (
        "Longest row that counts in full",
        "As a multiple of the length that nine of ten rows stay below.",
    ),
}
"""Settings by their names, with label and help."""


def method_controls(settings: Settings) -> None:
    """Level, steps and clips."""
    design.level_control(settings)
    for name, (label, help) in _LINEAR.items():
        key, value, take = f"linear_{name}", getattr(settings, name), partial(_set, name)
        number_field(key, label, value, take, limits=LIMITS[name], is_shown=False, help=help)
        refusal(key)


def _set(name: str, value: float) -> None:
    state.update(**{name: value})
