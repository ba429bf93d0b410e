"""The worlds that a promise is checked in: twins that a declaration leaves possible.

What is typed narrows them. Where nothing is typed the kindest world (no effect, independent
columns, everything where it was declared) would be the most flattering one, so it is not among
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dpci_core.report.words import joined
from dpci_core.schema.column import Column
from dpci_core.schema.declare import Schema
from dpci_core.schema.twin import LARGEST_EFFECT, Guesses, log_odds_unit

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
}
"""How what is typed of columns may be wrong (`Column.doubts`)."""
_SAID_OF_OUTCOME = {
    "half spreads": "the spread of {} is half as large as declared",
    "twice the spreads": "the spread of {} is twice as large as declared",
    "off centre": "the typical value of {} is one spread off",
    "long tails": "{} has a long tail towards a far bound",
}
"""The same of an outcome that is a number."""
_UNTOLD = "(a third of an even share; say theirs)"
_RARE = {
    "rare levels": f"levels of {{}} are rare {_UNTOLD}",
    "other rare levels": f"other levels of {{}} are rare {_UNTOLD}",
}
"""What nobody told of columns; it may go with anything else."""


@dataclass(frozen=True, slots=True)
class World:
    """What the table may be like.

    name: one word or two.
    said: what is assumed at the same time, phrases that can stand after "if"; none where everything
    is as declared.
    guesses: what its twin is drawn from (`twin.simulate_twin`).
    """

    name: str
    said: tuple[str, ...]
    guesses: Guesses

    @property
    def assumption(self) -> str:
        """The same as one phrase."""
        if len(self.said) > 1:
            return f"{', '.join(self.said[:-1])}, and {self.said[-1]}"
        return self.said[0] if self.said else "everything is as declared"


def worlds_of(schema: Schema, guesses: Guesses) -> tuple[World, ...]:
    """Return the worlds that a declaration with these guesses allows, "as declared" first; at most
    nine, and of an outcome that is a number twelve.

    What is typed may be wrong, one thing at a time. What is left open may be anything at the same
    time: the share of "yes" within its range, and levels whose shares nobody told. So each of the
    others is as uncertain in this as it can be: "yes" at the end of its range that tells least, and
    rare levels. The end that tells most has a world of its own, as bias shows there.

    Raises:  ValueError naming the guess that does not fit the declaration.

    >>> from dpci_core.schema import NumericColumn
    >>> column = NumericColumn("age", 18, 98, typical=60, spread=15)
    >>> made = worlds_of(Schema((column,), "ill", "yes"), Guesses(base_rate=(0.1, 0.2)))
    >>> [world.name for world in made][:3]
    ['as declared', 'high rate', 'half spreads']
    >>> made[2].assumption
    'the share of “yes” is 10 %, and spreads are half as large as declared'
    """
    guesses.check_against(schema)
    first = replace(guesses, base_rate=guesses.rate, effects=_effects(schema, guesses))
    made = [World("as declared", (), first)]
    for name, said, changed in _changes(schema, first, guesses):
        made.append(World(name, tuple(said), changed))
    return tuple(made)


def checked(schema: Schema, guesses: Guesses) -> str:
    """Return in which worlds a promise is looked at, and what is in all of them as it was typed.

    >>> from dpci_core.schema import CategoricalColumn
    >>> sex = CategoricalColumn("sex", ("f", "m"), shares=(0.6, 0.4))
    >>> checked(Schema((sex,), "ill", "yes"), Guesses(base_rate=(0.1, 0.2)))[:80]
    'What is promised holds under 2 sets of assumptions: as declared, and where the s'
    >>> checked(Schema((sex,), "ill", "yes"), Guesses(base_rate=(0.1, 0.2)))[-46:]
    'Not doubted, as typed: how often values occur.'
    """
    worlds = worlds_of(schema, guesses)
    phrases = dict.fromkeys(phrase for one in worlds for phrase in one.said)
    rates = {_rate(rate) for rate in guesses.rates}
    off = [one.removesuffix(" as declared") for one in phrases if _UNTOLD not in one]
    off = [one for one in off if one not in rates]
    off += ["the share of “yes” is at either end"] if rates & set(phrases) else []
    off += ["untold values are rare"] if untold(schema, guesses) else []
    kept = _as_typed(schema, guesses)
    return (
        f"What is promised holds under {len(worlds)} sets of assumptions: as declared, and where "
        f"{'; '.join(off)}."
    ) + (f" Not doubted, as typed: {joined(kept)}." if kept else "")


def _as_typed(schema: Schema, guesses: Guesses) -> list[str]:
    """What no world changes."""
    is_told = any(not one.doubts(guesses.of(one)) for one in schema.features)
    kept = ["how often values occur"] if is_told else []
    if schema.outcome is None and len(set(guesses.rates)) == 1:
        kept.append("the share of “yes”")
    if guesses.effects:
        kept.append("the guessed effects")
    if guesses.correlation and _common(schema, guesses) is None:
        kept.append("how much columns go together")
    if guesses.pairs:
        kept.append("the named pairs of columns that go together")
    return kept


def untold(schema: Schema, guesses: Guesses, assumption: str = _UNTOLD) -> tuple[str, ...]:
    """Return the names of the columns whose shares nobody told; none where the assumption of a
    world is given, and is not that their levels are rare.

    >>> from dpci_core.schema import CategoricalColumn
    >>> schema = Schema((CategoricalColumn("sex", ("f", "m")),), "ill", "yes")
    >>> [untold(schema, Guesses(), one.assumption) for one in worlds_of(schema, Guesses())]
    [(), ('sex',), ('sex',)]
    """
    if _UNTOLD not in assumption:
        return ()
    return tuple(
        one.name for one in schema.features if set(_RARE) & set(one.doubts(guesses.of(one)))
    )


def is_rate_untold(guesses: Guesses, assumption: str) -> bool:
    """Return whether nobody told the share of "yes", and the world with this assumption has an end
    of what it may be then.

    >>> is_rate_untold(Guesses(base_rate=UNKNOWN_RATE), "the share of “yes” is 5 %")
    True
    >>> is_rate_untold(Guesses(base_rate=(0.05, 0.4)), "the share of “yes” is 5 %")
    False
    """
    return guesses.base_rate == UNKNOWN_RATE and any(
        _rate(rate) in assumption for rate in guesses.rates
    )


def _changes(
    schema: Schema, first: Guesses, guesses: Guesses
) -> Iterator[tuple[str, list[str], Guesses]]:
    """The other worlds, each with what is assumed in it."""
    common = _common(schema, guesses)
    together = [] if common is None else [f"columns go together (correlation {common:g})"]
    related = first if common is None else replace(first, correlation=common)
    least, most = sorted(guesses.rates, key=lambda rate: rate * (1.0 - rate))
    if least != most:
        name = "high rate" if most > least else "low rate"
        yield name, [_rate(most), *together], replace(related, base_rate=most)
    rate = [_rate(least)] if least != most else []
    doubts = {one: one.doubts(guesses.of(one)) for one in schema.features}
    known = (*_RARE, *_SAID)
    if unknown := {name for of in doubts.values() for name in of} - set(known):
        raise ValueError(f"Expected doubts of columns to be among {known}, got {unknown}.")
    rare = [
        (name, [*rate, said.format(", ".join(one.name for one in found))], found)
        for name, said in _RARE.items()
        if (found := _named(doubts, name))
    ]
    for name, said, found in rare:
        yield name, [*said, *together], replace(related, base_rate=least).about(found)
    if together and not rare:
        yield "common factor", [*rate, *together], replace(related, base_rate=least)
    _, told, found = rare[0] if rare else ("", rate, {})
    for name, wrong, guess in _wrong(schema, guesses, doubts):
        world = replace(first if guess is None else first.about(guess), base_rate=least)
        if guess is None:
            world = replace(world, effects=_effects(schema, guesses, is_alternating=False))
        yield name, [*told, wrong], world.about(found)


def _wrong(
    schema: Schema, guesses: Guesses, doubts: Mapping[Column, Mapping[str, Any]]
) -> Iterator[tuple[str, str, dict[Column, Any] | None]]:
    """What is typed, or assumed in its place, wrong in one thing: of columns, or (None) of
    effects.
    """
    names = schema.feature_names
    if len(names) > 1 and not set(names) <= set(guesses.effects):
        yield "one direction", "all effects go in one direction", None
    for name, said in _SAID.items():
        if found := _named(doubts, name):
            yield name, said, found
    if (outcome := schema.outcome) is not None:
        for name, guess in outcome.doubts(guesses.numbers.get(outcome.name)).items():
            yield f"{name}, outcome", _SAID_OF_OUTCOME[name].format(outcome.name), {outcome: guess}


def _named(doubts: Mapping[Column, Mapping[str, Any]], name: str) -> dict[Column, Any]:
    """The guesses of one name, of the columns that have one."""
    return {one: of[name] for one, of in doubts.items() if name in of}


def _rate(rate: float) -> str:
    """A share of "yes" in words."""
    return f"the share of “yes” is {100.0 * rate:.3g} %"


def _effects(schema: Schema, guesses: Guesses, *, is_alternating: bool = True) -> dict[str, float]:
    """Effects of all features: those guessed, the others of `ODDS_RATIO`, or as strong on a number,
    in turn up and down.
    """
    found, sign, unit = {}, 1.0, log_odds_unit(schema)
    for column in schema.features:
        contrast = column.two_spreads(guesses.of(column))
        size = min(math.log(ODDS_RATIO) / contrast, LARGEST_EFFECT / column.reach)
        for name in column.feature_names:
            found[name] = guesses.effects.get(name, sign * size * unit)
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
