"""The worlds that a declaration allows: twins in which a plan's promise has to hold.

What is typed narrows them. Where nothing is typed the kindest world (no effect, independent
columns, everything where it was declared) would be the most flattering one, so it is not among
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dpci_core.schema.declare import Schema
from dpci_core.schema.twin import LARGEST_EFFECT, Guesses

UNKNOWN_RATE = (0.05, 0.5)
"""Shares of "yes" of somebody who does not know."""
ODDS_RATIO = 1.5
"""Of a contrast whose effect nobody guessed: two spreads of a number, or a level against the
first."""
_COMMON = (0.5, 0.4, 0.3, 0.2, 0.1)
"""Correlation of columns that go together; the first that the named pairs allow."""
_SAID = {
    "half spreads": "spreads are half as large as declared",
    "twice the spreads": "spreads are twice as large as declared",
    "off centre": "typical values are one spread off",
    "long tails": "numbers have long tails towards far bounds",
    "rare levels": "the last level of a column has a third of an even share",
}
"""What columns may be like beside what is declared of them (`Column.doubts`)."""


@dataclass(frozen=True, slots=True)
class World:
    """What the table may be like.

    name: one word or two.
    assumption: a phrase that can stand after "if".
    guesses: what its twin is drawn from (`twin.simulate_twin`).
    """

    name: str
    assumption: str
    guesses: Guesses


def worlds_of(schema: Schema, guesses: Guesses) -> tuple[World, ...]:
    """Return the worlds that a declaration with these guesses allows, "as declared" first; at most
    ten.

    Raises:  ValueError naming the guess that does not fit the declaration.

    >>> from dpci_core.schema import NumericColumn
    >>> column = NumericColumn("age", 18, 98, typical=60, spread=15)
    >>> made = worlds_of(Schema((column,), "ill", "yes"), Guesses(base_rate=(0.1, 0.2)))
    >>> [world.name for world in made][:4]
    ['as declared', 'low rate', 'high rate', 'half spreads']
    """
    guesses.check_against(schema)
    first = replace(guesses, base_rate=guesses.rate, effects=_effects(schema, guesses))
    made = [World("as declared", "everything is as declared", first)]
    for name, assumption, changes in _changes(schema, first, guesses):
        made.append(World(name, assumption, changes))
    return tuple(made)


def _changes(
    schema: Schema, first: Guesses, guesses: Guesses
) -> Iterator[tuple[str, str, Guesses]]:
    """The other worlds: each differs from the first in one thing that nobody told."""
    names = schema.feature_names
    if len(names) > 1 and not set(names) <= set(guesses.effects):
        effects = _effects(schema, guesses, is_alternating=False)
        yield "one direction", "all effects go in one direction", replace(first, effects=effects)
    low, high = guesses.rates
    if low < high:
        for name, rate in (("low rate", low), ("high rate", high)):
            said = f"the share of “yes” is {100.0 * rate:.3g} %"
            yield name, said, replace(first, base_rate=rate)
    if (common := _common(schema, guesses)) is not None:
        said = f"columns go together (correlation {common:g})"
        yield "common factor", said, replace(first, correlation=common)
    doubts = {one: one.doubts(guesses.of(one)) for one in schema.features}
    if unknown := {name for of in doubts.values() for name in of} - _SAID.keys():
        raise ValueError(f"Expected doubts of columns to be among {list(_SAID)}, got {unknown}.")
    for name, said in _SAID.items():
        if found := {one: of[name] for one, of in doubts.items() if name in of}:
            yield name, said, first.about(found)


def _effects(schema: Schema, guesses: Guesses, *, is_alternating: bool = True) -> dict[str, float]:
    """Effects of all features: those guessed, the others of `ODDS_RATIO`, in turn up and down."""
    found, sign = {}, 1.0
    for column in schema.features:
        contrast = column.two_spreads(guesses.of(column))
        size = min(math.log(ODDS_RATIO) / contrast, LARGEST_EFFECT / column.reach)
        for name in column.feature_names:
            found[name] = guesses.effects.get(name, sign * size)
            sign = -sign if is_alternating else sign
    return found


def _common(schema: Schema, guesses: Guesses) -> float | None:
    """The correlation of columns that go together; None where more of it is guessed, or none can
    be beside the pairs.
    """
    if len(schema.features) < 2:
        return None
    for common in _COMMON:
        if common <= guesses.correlation:
            return None
        try:
            replace(guesses, correlation=common).check_against(schema)
        except ValueError:
            continue
        return common
    return None
