"""Numbers and risks in words: the same sentences on pages, in summaries and in reports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, Context, Decimal
from typing import Literal, Protocol

from dpci_core.privacy.budget import DEFINITIONS, approx_risk, pure_risk

LARGE_EPSILON = 3.0
"""Above this epsilon a budget is flagged: one person's odds move by a factor of 20."""
CERTAIN = "100 %"
"""`at_most` where a promise is no limit any more."""
SEEDED = (
    "SIMULATION, not for publication: random_state is given, so that whoever knows it can subtract "
    "the noise. The guarantee is what the same settings would promise with noise nobody can "
    "predict."
)
"""Stands with every fit whose random_state is not None."""
UNBOOKED_MARK = "not booked in a ledger"
UNBOOKED = (
    "NOT A RELEASE, not booked in a ledger: the noise comes from the operating system and the "
    "minimiser's error is hidden, as in a release, but nothing has counted this fit, and each "
    "further fit on the same people adds its budget to what they have paid. `ledger=` books it. "
    "`fit` raises for records that break a rule, which a release never does."
)
"""Stands with a fit with random_state=None that no account paid for."""


def booked(charge: int, dataset: str, person: str, *, is_noted: bool) -> str:
    """What stands with a fit that an account paid for."""
    end = "" if is_noted else " The ledger could not note that it ended; it stays spent."
    return (
        f"Booked in the ledger before any noise was drawn: charge {charge} of {dataset!r}, by "
        f"{person}.{end} It is no release: `fit` raises for records that break a rule, which a "
        "release never does."
    )


def influence_cut(share: float, sd: float, counted: str = "records") -> str:
    """The check of a linear regression: the released share of records, or of persons, whose
    influence was cut, and the standard deviation of its noise.

    >>> influence_cut(0.034, 0.002)[:66]
    'Of 3 % of the records, give or take 0.4 %, the influence was cut; '
    """
    told = percent(min(max(share, 0.0), 1.0))
    return (
        f"Of {told} of the {counted}, give or take {percent(2.0 * sd)}, the influence was cut; "
        f"about 2 % are usual, and many more mean that few {counted} decide, or that residuals "
        "are far from normal."
    )


def number(x: float, digits: int = 3) -> str:
    """A number for people: 3 significant digits, thousands with commas, no exponent between 1e-4
    and 1e7.

    >>> number(1234567.0), number(999.7), number(99.7, 2), number(0.012345), number(0.00001)
    ('1,230,000', '1,000', '100', '0.0123', '1.00e-05')
    """
    if not math.isfinite(x):
        return "-"
    if x == 0:
        return "0"
    if abs(float(f"{x:.{digits}g}")) >= min(1000.0, 10.0**digits):
        return (
            f"{round(x, digits - 1 - math.floor(math.log10(abs(x)))):,.0f}"
            if abs(x) < 1e7
            else f"{x:.{digits - 1}e}"
        )
    if abs(x) < 1e-4:
        return f"{x:.{digits - 1}e}"
    return f"{x:.{digits}g}"


def odds(factor: float) -> str:
    """A factor on the odds, with three digits of what it is away from 1, so that a small effect of
    a large table does not read as none.

    >>> odds(1.0081234), odds(1.22), odds(0.9912), odds(12.34), odds(0.0123)
    ('1.00812', '1.22', '0.9912', '12.3', '0.0123')
    """
    if not 0.5 <= factor < 2.0:
        return number(factor)
    return f"{1.0 + float(f'{factor - 1.0:.3g}'):.9g}"


def odds_alike(
    intervals: Iterable[tuple[float, float]], *, is_up: bool = False
) -> Callable[[float], str]:
    """How the factors on the odds of one table are told: all with the same decimals, two or more,
    and as many as the shortest of the intervals (low, high) needs.

    is_up: whether none is told as less than it is.

    >>> told = odds_alike([(0.9881, 1.0767), (0.7, 1.4)])
    >>> told(0.98812), told(1.0767), told(1.4), told(12_345.6)
    ('0.988', '1.077', '1.400', '12,300')
    """
    half = min(
        ((high - low) / 2.0 for low, high in intervals if low < high < math.inf), default=1.0
    )
    digits = min(max(2, 1 - math.floor(math.log10(half))), _MOST_DECIMALS)
    step = 10.0**-digits

    def tell(x: float) -> str:
        if not step <= x < 1_000.0:
            return number_at_most(x) if is_up else number(x)
        return f"{math.ceil(x / step - _ROUNDING) * step if is_up else x:.{digits}f}"

    return tell


_MOST_DECIMALS = 6
_ROUNDING = 1e-6
"""Of a decimal: a factor that has it but for the last bits is not told as the next."""


def as_typed(x: float) -> str:
    """A number that somebody typed, as it was typed, though it went through a logarithm and back; a
    goal with more than seven digits was computed, and is rounded.

    >>> as_typed(math.exp(math.log(1.2))), as_typed(2.345678), as_typed(10.000000000001)
    ('1.2', '2.345678', '10')
    >>> as_typed(12_500.0), as_typed(math.exp(0.2))
    ('12,500', '1.221')
    """
    short = f"{x:,.7g}"
    return short if short == f"{x:,.9g}" else odds(x)


def called(name: str) -> str:
    """A coefficient as people are told of it; its name in files stays `schema.CONSTANT`.

    >>> called("hours_per_week"), called("marital_status=Never"), called("constant")
    ('hours per week', 'marital status: Never', 'intercept')
    """
    return "intercept" if name == "constant" else plainly(name).replace("=", ": ", 1)


def plainly(name: str) -> str:
    """A name of a column or a level as a reader writes it."""
    return name.replace("_", " ")


def many(n: int, what: str) -> str:
    """A number before what it counts, in the right number.

    >>> many(1, "feature"), many(0, "row"), many(8_000, "record")
    ('1 feature', '0 rows', '8,000 records')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def lacking(n: int, of: int, what: str) -> str:
    """How many rows, or records, have a missing cell and no value for it.

    >>> lacking(1, 3_000, "record")
    '1 of 3,000 records has a missing cell and counts for nothing.'
    """
    has, counts = ("has", "counts") if n == 1 else ("have", "count")
    return f"{n:,} of {many(of, what)} {has} a missing cell and {counts} for nothing."


_ONE_ROW = re.compile(r"(?:(?:one|an?|each|every|1) )?(?:row|record) is ", re.I)


def one_is(unit: str) -> str:
    """Whom a row stands for, without saying once more that it is a row.

    >>> one_is("one row is one person"), one_is("one patient")
    ('one person', 'one patient')
    """
    return _ONE_ROW.sub("", unit.strip(), count=1) if _ONE_ROW.match(unit.strip()) else unit.strip()


def short(text: str, most: int = 60) -> str:
    """A text that somebody typed, cut where it is longer than so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def percent(x: float) -> str:
    """A share as percent; near the ends it never rounds to 0 or 100.

    >>> percent(0.25), percent(0.0012), percent(1e-170), percent(0.99999)
    ('25 %', '0.12 %', 'under 0.01 %', '99.99 %')
    """
    if 0 < x < 1e-4:
        return "under 0.01 %"
    if 0.99 < x < 1:
        return f"{min(99.99, math.floor(10_000 * x) / 100):g} %"
    return f"{100 * x:.0f} %" if x >= 0.01 else f"{100 * x:.2g} %"


def foreseen_chance(x: float, asked: float = 0.0) -> str:
    """The chance of a forecast as percent, at most 99 % unless more is asked for: what fails once
    in a thousand releases no forecast knows.

    >>> foreseen_chance(1.0), foreseen_chance(0.93), foreseen_chance(1.0, asked=0.995)
    ('99 %', '93 %', '99.5 %')
    """
    return percent(min(x, max(0.99, asked)))


def in_hundred(parts: Sequence[float | Decimal], decimals: int = 1) -> list[str]:
    """Parts of a whole in per cent, which add up to 100 as they are told: what rounding leaves goes
    to those that lost most of it.

    decimals: at most, unless the least part has more zeros behind its point.

    >>> in_hundred([2, 1, 1]), in_hundred([1, 1, 1]), in_hundred([70.4, 17.3, 12.3], 0)
    (['50', '25', '25'], ['33.4', '33.3', '33.3'], ['71', '17', '12'])
    >>> in_hundred([0.9996, 0.0004])
    ['99.96', '0.04']
    """
    whole = math.fsum(parts)
    shares = [100.0 * float(part) / whole for part in parts]
    least = min(share for share in shares if share > 0.0)
    steps = 10 ** min(max(decimals, -math.floor(math.log10(least))), _MOST_DECIMALS)
    told = [math.floor(steps * share * (1.0 + _EXACT)) for share in shares]
    lost = [steps * share - down for share, down in zip(shares, told, strict=True)]
    order = sorted(range(len(told)), key=lambda place: -lost[place])
    for place in order[: 100 * steps - sum(told)]:
        told[place] += 1
    return [f"{one / steps:.10g}" for one in told]


_EXACT = 1e-12
"""Of a share that is a whole number of steps but for the last bits."""


def at_most(share: float) -> str:
    """A share as percent that is never below it, for promises; 100 only where less than one in a
    million lacks.

    >>> at_most(0.5), at_most(0.73106), at_most(0.99331), at_most(0.99991), at_most(0.9999995)
    ('50 %', '73.2 %', '99.34 %', '99.991 %', '100 %')
    """
    steps = 1_000_000 if share > 0.9999 else 10_000 if share > 0.99 else 1_000
    return f"{100 * math.ceil(steps * share) / steps:.8g} %"


def number_at_most(x: float, digits: int = 3) -> str:
    """A number that is never shown as less than it is, for promises.

    >>> number_at_most(5.2215), number_at_most(2.1), number_at_most(12_341.0)
    ('5.23', '2.1', '12,400')
    """
    if not math.isfinite(x):
        return number(x)
    up = Context(prec=digits, rounding=ROUND_CEILING)
    return number(float(up.create_decimal(repr(float(x)))), digits)


def people_at_most(share: float) -> str:
    """How many of 100 people a share is, with two digits and never below it.

    >>> people_at_most(0.034350), people_at_most(0.02719), people_at_most(1.0)
    ('3.5', '2.8', '100')
    """
    return number_at_most(100.0 * share, 2)


MEAN_COUNTS_ALL = "The mean counts every coefficient, also what cannot be reported."


def precision_target(
    what: str, asked: float, *, is_power: bool, probability: float, usual: float, unit: float = 1.0
) -> str:
    """What an interval should do: be short, or exclude zero; `unit` of the unit shown are a scaled
    one.
    """
    surely = f" with probability {probability:g} or more"
    shown = as_typed(asked * unit)
    if is_power:
        return f"{what} excludes zero{surely} if the true value is {shown}"
    return f"{what} is at most {shown} long{'' if probability == usual else surely}"


Ratio = Literal["r1", "r2", "r3", "r4"]
"""What must be small for a forecast to hold; see `intervals.forecast.Validity`."""
_EXCEEDED: dict[Ratio, tuple[str, str]] = {
    "r1": (
        "The noise on the Hessian is {value} times its smallest eigenvalue",
        "give more budget, or use more records or a larger c.",
    ),
    "r2": (
        "The noise on the gradient covariance is {value} times the variance it estimates",
        "give it a larger share of the budget.",
    ),
    "r3": (
        "The noise on the coefficients moves the Hessian by {value} of its size",
        "give more budget, or use more records or a larger c.",
    ),
    "r4": (
        "So few records decide {who} that {whose} variance is seen up to {value} of it too small",
        "use more records, a larger c or, for an SVM, a larger h.",
    ),
}


def exceeded(
    ratio: Ratio, value: float, limit: float, few: Sequence[str] = (), *, with_advice: bool = True
) -> str:
    """Why a forecast is off: a ratio that is at or above its limit, and what would make it smaller;
    for r4 at these coefficients.

    >>> exceeded("r4", 0.31, 0.1, ["town=North", "constant"])[:64]
    'So few records decide town: North, intercept that the variance i'
    """
    what, advice = _EXCEEDED[ratio]
    who, whose = (listed(few), "the") if few else ("a coefficient", "its")
    found = what.format(value=number(value, 2), who=who, whose=whose)
    said = f"{found} (the forecast holds below {limit:g})"
    return f"{said}: {advice}" if with_advice else f"{said}."


_MOST_NAMES = 6


def listed(names: Sequence[str], most: int = _MOST_NAMES) -> str:
    """The first coefficients, and how many more.

    >>> listed(["age", "constant"]), listed(["age", "sex=Male", "capital_loss"], 2)
    ('age, intercept', 'age, sex: Male and 1 more')
    """
    more = len(names) - most
    return ", ".join(map(called, names[:most])) + (f" and {more} more" if more > 0 else "")


def joined(names: Sequence[str]) -> str:
    """Every name, with "and" before the last.

    >>> joined(["age"]), joined(["age", "sex", "town"])
    ('age', 'age, sex and town')
    """
    *first, last = names or ("",)
    return f"{', '.join(first)} and {last}" if first else last


def useless(half_width: float, coefficient: float, privacy_share: float) -> str:
    """The verdict on intervals that say nothing.

    >>> useless(7.61, 4.9, 0.9968)[-41:]
    '99.68 % of the variance is privacy noise.'
    """
    return (
        f"These intervals are too long to be of use: ±{number(half_width, 2)} on average around "
        f"estimates of typical size {number(coefficient, 2)}, noise included, and "
        f"{percent(privacy_share)} of the variance is privacy noise."
    )


def for_fewest(fewest: int) -> str:
    """Say how many records an answer is for where a release may have fewer than planned.

    >>> for_fewest(6_840)
    'It holds even with only 6,840 records.'
    """
    return f"It holds even with only {fewest:,} records."


def remedies(
    n_records: int | None, budget_factor: float | None, regularization: float | None
) -> str:
    """From where on intervals that say nothing are of use, though they may be long; None where a
    change does not help.
    """
    ways = []
    if n_records is not None:
        ways.append(f"{n_records:,} records")
    if budget_factor is not None:
        ways.append(f"{number(budget_factor)} times the budget")
    if regularization is not None:
        ways.append(
            f"about c = {regularization:.3g}, which also shrinks the coefficients toward zero"
        )
    if not ways:
        return "No single change of n, budget or c that can be made here helps."
    return "They begin to be of use with " + ", or ".join(ways) + "."


class OutOfReach(Protocol):
    """What is known of a target that is not met; see `planner.needed.OutOfReachError`."""

    n_records: int
    is_power: bool
    is_records: bool
    is_floored: bool
    reached: float
    nearest: float
    needed: int | None


def out_of_reach(
    found: OutOfReach, wanted: str, *, n: str = "n = ", unit: float = 1.0
) -> tuple[str, str]:
    """Why no n, or no budget, makes it true, and what can be had; `unit` as for
    `precision_target`."""
    reached = (
        f"the probability is {number(found.reached)}"
        if found.is_power
        else f"sampling and the noise that is left make the length {number(found.reached * unit)}"
    )
    nearest = _not_nearer(found.nearest * unit)
    ask = f"ask for a length of {nearest} or more."
    if found.is_power:
        ask = f"the true value must be {nearest} or farther from zero."
    at = f"t {n}{found.n_records:,} {ask}"
    if found.is_records:
        why = f"Even 10^12 records do not make it true that {wanted}: {reached}."
        if found.is_floored:
            why += (
                " The published floor 2c under the gradient covariance helps to keep it long; "
                "sharp has none."
            )
        return why, f"A{at}"
    why = f"No budget makes it true with {found.n_records:,} records that {wanted}:"
    more = "A" if found.needed is None else f"{found.needed:,} records would make it possible; a"
    return f"{why} without any noise worth the name {reached}.", f"{more}{at}"


def _not_nearer(x: float) -> str:
    """Three digits of x, not nearer to zero: half a step of the third is at most 0.5 %."""
    shown = f"{x:.3g}"
    return shown if abs(float(shown)) >= abs(x) else f"{1.005 * x:.3g}"


def risk_pure(epsilon: float, *, mark: str = "", source: str = "for this ε") -> str:
    """What a pure epsilon lets an attacker learn about one person; `mark` goes around the number,
    for Markdown; `source` says what is published.
    """
    found = at_most(pure_risk(epsilon))
    sure = f"can become at most {mark}{found}{mark} sure"
    return (
        "Someone who knows all but one person's record and is 50 % sure what it says "
        f"{sure if found != CERTAIN else f'may become {mark}certain{mark}'} "
        f"by seeing all that is published {source}."
    )


def risk_approx(epsilon: float, delta: float, *, mark: str = "") -> str:
    """What an (epsilon, delta) guarantee lets an attacker find."""
    found = people_at_most(approx_risk(epsilon, delta))
    return (
        "Of 100 people whose record is in the table instead of someone else's, an attacker who "
        f"allows 1 false alarm in 100 recognises at most {mark}{found}{mark} (1 would "
        "be blind guessing)."
    )


def risk(epsilon: float, delta: float, *, source: str = "for this ε") -> str:
    """The sentence of a guarantee, pure where delta is 0, with a flag on a large budget."""
    sentence = risk_pure(epsilon, source=source) if delta == 0 else risk_approx(epsilon, delta)
    large = " This is a large budget: weak protection for one person."
    return sentence + (large if epsilon > LARGE_EPSILON else "")


def learned(epsilon: float, delta: float) -> str:
    """What somebody who reads what is published can learn about one person, its finding first.

    >>> learned(1.0, 0.0)[:23]
    '50 % → at most 73.2 %. '
    """
    found = f"50 % → at most {at_most(pure_risk(epsilon))}. " if delta == 0 else ""
    return f"{found}{risk(epsilon, delta, source='by this release')}"


OTHERS_ADD = "Other releases about the same people add to it."
"""Stands with what one release lets somebody learn."""


def together_with_earlier(definition: str, amount: str, earlier: int, same_plan: int | None) -> str:
    """What a release and those before it about the same people are together.

    Args:
        definition, amount: of what their cap had paid, the release included.
        earlier: how many were before.  same_plan: the newest of them for the same plan, by its
            number in the ledger.

    >>> told = together_with_earlier("pure", "2", 1, 3)
    >>> told[:told.index(". ")]
    'Not the first about these people: 1 earlier release was paid for, of this same plan (entry 3)'
    """
    if not earlier:
        return (
            f"As people were declared, the ledger has no earlier one about the same. {OTHERS_ADD}"
        )
    before = "1 earlier release was" if earlier == 1 else f"{earlier:,} earlier releases were"
    newest = ", of" if earlier == 1 else ", the newest of"
    which = "" if same_plan is None else f"{newest} this same plan (entry {same_plan})"
    kind = DEFINITIONS[definition]
    risk = "" if kind.has_delta else f": 50 % → at most {at_most(pure_risk(float(amount)))}"
    return (
        f"Not the first about these people: {before} paid for{which}. Together with this one they "
        f"are {kind.promise.format(amount=amount)}{risk}. Later ones add to it."
    )


def protected(unit: str, most: int | None) -> str:
    """Whom a guarantee protects: what a record is, or a person with up to so many rows.

    >>> protected("one visit", None), protected("one person", 4), protected("one patient", 1)
    ('one visit', 'one person with up to 4 rows', 'one patient with up to 1 row')
    """
    return unit if most is None else f"{unit} with up to {most:,} row{'' if most == 1 else 's'}"


def counted_as(most: int | None) -> str:
    """What n counts."""
    return "records" if most is None else "persons"


def neighbours(most: int | None) -> str:
    """What a guarantee compares."""
    if most is None:
        return (
            "Neighbouring tables differ in the value of one record; the number of records is "
            "public."
        )
    rows = "its row" if most == 1 else f"all of its up to {most:,} rows"
    return f"Neighbouring tables differ in one person, in {rows}; the number of persons is public."


def person_rules(column: str, most: int) -> str:
    """Which rows of a person count, and how much."""
    first = "the first row counts"
    if most > 1:
        first = f"the first {most:,} rows count, together as one, so that everybody counts alike"
    return (
        f"Whose row it is says the column {column}: of each person {first}; a row without a name "
        "there (empty, NA, null and the like) does not. Case, blanks around a name and zeros in "
        "front of a number tell no two names apart; that names are those of different people is "
        "declared."
    )


PERSONS_PLANNED = (
    "Lengths are planned as if every person had one row, any of theirs: where a person's rows "
    "differ, released intervals are shorter on average."
)
"""Where a plan has persons: the covariance of averages is no larger than that of what is averaged
(docs/proofs/release.md#persons)."""
