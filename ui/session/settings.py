"""Everything a person can set, as one frozen value: what pages read, links carry and results are
stamped with.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from dpci_core import Calibration, DeclaredTable, Loss, Persons, datasets
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.design import ESTIMANDS, CalibrationName, Design, TargetName
from dpci_core.losses import HuberSVM, Logistic, make_loss
from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.plan.codec import read
from dpci_core.plan.link import unpack
from dpci_core.plan.source import Source
from dpci_core.planner.standard import enclosing_regularization
from dpci_core.privacy.budget import DEFINITIONS as BUDGETS
from dpci_core.privacy.budget import (
    GDP,
    PARTS,
    Budget,
    Pairing,
    Parts,
    PureDP,
    epsilon_to_zcdp,
    granted,
    pair_budget,
    to_decimal,
    to_float_down,
)
from dpci_core.regression.design import CLIP, STEPS, LinearDesign
from dpci_core.schema import Encoding, NumericColumn, Schema
from ui.session.budget import Split, from_shares
from ui.session.choices import (
    CALIBRATIONS,
    CURRENCIES,
    DEFINITIONS,
    EVERY_MECHANISM,
    LOSSES,
    MECHANISMS,
    PENALISED,
    PROMISE,
    SMOOTHINGS,
    TARGETS,
    UNPENALISED,
    Combination,
    Currency,
    Part,
)
from ui.session.shape import ShapeSource, shape_of

Goal = Literal["all", "length", "zero"]
Penalty = Literal["typed", "chosen"]

PRECISION = ("goal", "goal_on", "goal_length", "goal_value", "goal_chance")
"""The settings that are the goal on the page Plan."""
BUDGET = ("definitions", "currency", "epsilon", "delta", "split")
"""The settings that are the budget and its parts."""
USUAL_LENGTH = float(f"{2.0 * math.log(1.3):.12g}")
"""Of every effect, in log odds: each odds ratio to within a factor of 1.3."""
USUAL_CHANCE = 0.9
"""Of meeting a goal in every world that is looked at: a steward makes one release, and "on average"
is a coin toss in the least favourable world."""
LINEAR_SHARES = (Decimal("0.7"), Decimal("0.2"), Decimal("0.1"))
"""Of a regression of a number, for its steps and its two matrices, before anybody moves them."""
_OF_A_SPREAD = 0.2
"""The same where the outcome is a number: each difference to within a tenth of its spread."""
DEFAULT_ROWS = 30_000
"""Rows of the simulated census on which moments are taken."""
SWEEPS = ("total", *PARTS, "n", "d", "c", "h")
LIMITS: dict[str, tuple[float, float]] = {
    **{name: currency.limits for name, currency in CURRENCIES.items()},
    "n": (100, 1_000_000),
    "c": (1e-6, 1.0),
    "h": (0.01, 10.0),
    "level": (0.5, 0.999),
    "steps": STEPS,
    "clip": CLIP,
    "row_clip": CLIP,
    "goal_length": (1e-9, 1e9),
    "goal_value": (-1e9, 1e9),
    "goal_chance": (0.01, 0.99),
}
"""Range of each number control: the slider's ends and what may be typed."""


@dataclass(frozen=True)
class Settings:
    """The state that all pages share. Amounts are decimal strings, so that links and comparisons
    are exact.

    declared: a table that is only described, packed as for a link, for the data set "declared".
    smoothing: the loss of the SVM, whose kink is rounded by a parabola or, twice differentiable, by
    a quartic.
    shape: what the noise is shaped by (`ui.session.shape.ShapeSource`): "planning" is a map of the
    standard encoding, and what is declared for any other; "released" asks for the moments of the
    table, where noise is in the objective (`compute.designed`).
    opened: the geometry of a plan that was opened, packed (`ui.session.shape`); "" where it is
    planned.
    penalty: whether c is as it was typed, or follows budget and n ("chosen", by
    `enclosing_regularization`).
    steps, clip, row_clip: of a regression of a number (`LinearDesign`).
    goal, goal_on, goal_length, goal_value, goal_chance: the goal on the page Plan; "all" asks the
    same length, in log odds or units of the outcome, of every effect. goal_on is "" for the mean
    over the coefficients or a feature, whose length and value are then in its own units.
    """

    dataset: str = "census"
    declared: str = ""
    encoding: Encoding = "schema"
    names: tuple[str, ...] = ()
    d: int = 10
    definitions: tuple[str, ...] = (PureDP.definition,)
    mechanisms: tuple[str, ...] = tuple(MECHANISMS)
    losses: tuple[str, ...] = (Logistic.name,)
    calibrations: tuple[str, ...] = ("sharp",)
    results: str = "all"
    shape: ShapeSource = "planning"
    opened: str = ""
    target: TargetName = PENALISED
    currency: str = PureDP.definition
    epsilon: str = "1"
    delta: str = "1e-6"
    pairing: Pairing = "guarantee"
    split: Split = field(default_factory=lambda: from_shares(Decimal(1)))
    n: int = DEFAULT_ROWS
    penalty: Penalty = "typed"
    c: float = 0.001
    h: float = 1.0
    smoothing: str = HuberSVM.name
    level: float = 0.95
    steps: int = 3
    clip: float = 1.5
    row_clip: float = 1.2
    sweep: str = "total"
    units: str = "scaled"
    goal: Goal = "length"
    goal_on: str = ""
    goal_length: float = 0.5
    goal_value: float = 0.5
    goal_chance: float = USUAL_CHANCE

    def settled(self) -> Settings:
        """These settings with the c that budget and n ask for, the largest of all designs, where a
        target without penalty leaves it free and it is not typed. Of any other it counts as typed.
        """
        if self.is_penalised:
            return replace(self, penalty="typed")
        if self.penalty == "typed":
            return self
        needed = [enclosing_regularization(design) for design in self.designs()]
        return replace(self, c=min(max(needed, default=self.c), LIMITS["c"][1]))

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """The chosen definitions x mechanisms x losses x calibrations, in a fixed order."""
        chosen = product(
            *(
                [x for x in CHOICES[name] if x in getattr(self, name)]
                for name in ("definitions", "mechanisms", "losses", "calibrations")
            )
        )
        return tuple(Combination(*four) for four in chosen)  # type: ignore[arg-type]

    @property
    def features(self) -> int | tuple[str, ...]:
        """Which features are used: those chosen by name, or the first d on offer."""
        if self.names or not self.has_own_order:
            return self.names or self.d
        return self.ordered(datasets.feature_names(self.dataset))[: self.d]

    @property
    def has_own_order(self) -> bool:
        """Whether features are not offered in the order of their table, which is the paper's: of
        the census in plain terms those of a first visit come first, and nobody's weight last.
        """
        return (self.dataset, self.encoding) == (START.dataset, START.encoding)

    def ordered(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The features of the table of these settings in the order in which they are offered."""
        if not self.has_own_order:
            return names
        rest = [n for n in names if n not in (*START.names, _WEIGHT)]
        return (*START.names, *rest, _WEIGHT)

    @property
    def is_shaped(self) -> bool:
        """Whether budget is paid for the shape of the noise, where that can be."""
        return self.shape == "released" and self.may_pay_for_shape

    @property
    def may_pay_for_shape(self) -> bool:
        """Whether a released second moment can shape the noise: it is in the objective, not only
        reviewed results are asked for, and a row is a record.
        """
        turns = any(mechanism_named(name).turns_noise for name in self.mechanisms)
        return self.results == "all" and turns and self.persons is None

    @property
    def offered_mechanisms(self) -> dict[str, Part]:
        """Those that go with the other choices, and those that are chosen."""
        is_apt = (
            self.is_shaped
            and self.is_penalised
            and any(self.loss(name).is_log_odds for name in self.losses)
            and any(BUDGETS[name].has_delta for name in self.definitions)
        )
        return {
            name: option
            for name, option in EVERY_MECHANISM.items()
            if name in MECHANISMS or is_apt or name in self.mechanisms
        }

    @property
    def map_source(self) -> ShapeSource:
        """What the map of a named set's rows is made of, whether or not budget is paid besides."""
        is_declared = self.encoding != "standard" or self.shape == "declared"
        return "declared" if is_declared else "planning"

    @property
    def perturbs_objective(self) -> bool:
        """Whether the noise of a chosen mechanism is in the objective."""
        return any(mechanism_named(name).perturbs_objective for name in self.mechanisms)

    @property
    def has_width(self) -> bool:
        """Whether the kink of a chosen loss is rounded."""
        return any("h" in self.loss(name).parameters for name in self.losses)

    @property
    def is_penalised(self) -> bool:
        """Whether intervals are those of the paper, for what is left by a penalty."""
        return ESTIMANDS[self.target].is_shrunk

    @property
    def is_plain(self) -> bool:
        """Whether effects are shown as people mean them; a regression of a number has no other."""
        return self.outcome is not None or not self.is_penalised

    @property
    def typed(self) -> Currency:
        """How the budget is typed."""
        return CURRENCIES[self.currency]

    @property
    def persons(self) -> Persons | None:
        """Whose row it is, where a table is described in which one person may have several."""
        return None if self._schema is None else self._schema.persons

    @property
    def outcome(self) -> NumericColumn | None:
        """The outcome, where a table is described in which it is a number."""
        return None if self._schema is None else self._schema.outcome

    @property
    def _schema(self) -> Schema | None:
        """Of the table that is described."""
        return _schema_of(self.declared) if self.dataset == "declared" else None

    @property
    def rows_per_person(self) -> int:
        """k of a design; 1 where a row is a record."""
        return 1 if self.persons is None else self.persons.rows

    @property
    def is_compared(self) -> bool:
        """Whether a budget in another definition has to be paired with the typed one."""
        return any(definition != self.own_definition for definition in self.definitions)

    @property
    def own_definition(self) -> str:
        """The definition in which the budget is typed: (epsilon, delta) is spent as zCDP."""
        return self.kind.definition

    @property
    def kind(self) -> type[Budget]:
        """The class of budgets of the definition in which the budget is typed."""
        return self.typed.definition

    @property
    def own_epsilon(self) -> float:
        """The epsilon of the total budget, at delta where it is spent as zCDP."""
        return self.kind.epsilon_of(to_float_down(self.split.total), float(self.delta))

    def budget(self, definition: str) -> Budget:
        """The budget of a combination: the typed one, or its pair under `pairing`."""
        model, hessian, covariance = self.split.parts
        own = self.kind(model=model, hessian=hessian, covariance=covariance)
        return (
            own
            if definition == self.own_definition
            else pair_budget(own, rule=self.pairing, delta=self.delta)
        )

    def spent(self, combination: Combination) -> Budget:
        """Return the budget as a mechanism spends it: for a typed (epsilon, delta), one whose noise
        is exactly Gaussian is granted mu^2, which is more than the rho.
        """
        budget = self.budget(combination.definition)
        in_objective = mechanism_named(combination.mechanism).perturbs_objective
        return budget if in_objective or not budget.has_delta else self._as_gaussian(budget)

    def _as_gaussian(self, budget: Budget) -> Budget:
        """A budget as noise that is exactly Gaussian spends it: mu^2 where (epsilon, delta) is
        typed.
        """
        if not self.typed.is_promise:
            return budget
        return granted(GDP, Decimal(self.epsilon), self.delta, like=budget)

    def loss(self, name: str) -> Loss:
        """The loss of a combination."""
        return make_loss(self.smoothing if name in SMOOTHINGS else name, self.h)

    def calibration(self, name: CalibrationName) -> Calibration:
        """The switches of a calibration; those of sharp without what is not peer-reviewed, if asked
        for, or where its proof does not reach persons with several rows.
        """
        if name == "published":
            return Calibration.published()
        is_shown = self.rows_per_person == 1
        return Calibration(gaussian_objective=self.results == "all" and is_shown)

    def design(self, combination: Combination) -> Design:
        """The design of one combination under these settings."""
        return Design(
            loss=self.loss(combination.loss),
            mechanism=combination.mechanism,
            budget=self.spent(combination),
            regularization=self.c,
            n_records=self.n,
            confidence_level=self.level,
            calibration=self.calibration(combination.calibration),
            target=self.target,
            rows_per_person=self.rows_per_person,
        )

    @property
    def linear_design(self) -> LinearDesign:
        """The design of a regression of a number under these settings.

        Raises:  InfeasibleDesignError for a pure epsilon.
        """
        return LinearDesign(
            budget=self._as_gaussian(self.budget(self.own_definition)),
            n_records=self.n,
            steps=self.steps,
            clip=self.clip,
            row_clip=self.row_clip,
            confidence_level=self.level,
            rows_per_person=self.rows_per_person,
        )

    def designs(self) -> Iterator[Design]:
        """Yield the design of every combination for which a budget can be paired."""
        for combination in self.combinations:
            with suppress(InfeasibleDesignError):
                yield self.design(combination)

    def swept(self, name: str, value: float) -> Settings:
        """These settings with one control moved; parts scale with the total, others give way to a
        part.
        """
        if name == "total":
            is_promise = self.typed.is_promise
            moved = self.with_epsilon(value) if is_promise else self._with_pot(_decimal(value))
            return moved.settled()
        if name in PARTS:
            index = PARTS.index(name)
            split = self.split.with_locks().with_share(index, value)
            return replace(self, split=split).settled()
        if name == "d":
            return replace(self, d=round(value), names=())
        if name == "c":
            return replace(self, c=float(value), penalty="typed")
        change: dict[str, Any] = {name: round(value) if name == "n" else float(value)}
        return replace(self, **change).settled()

    @property
    def typed_total(self) -> float:
        """The total as it is typed: epsilon of an (epsilon, delta) budget, the amount itself of the
        others.
        """
        if self.typed.is_promise:
            return float(self.epsilon)
        return to_float_down(self.split.total)

    def with_epsilon(self, epsilon: float) -> Settings:
        """Set the epsilon of an (epsilon, delta) budget; the split divides the rho it buys."""
        shown = f"{epsilon:.12g}"
        return replace(
            self._with_pot(epsilon_to_zcdp(float(shown), float(self.delta))), epsilon=shown
        )

    def _with_pot(self, total: Decimal) -> Settings:
        return replace(
            self, split=self.split.with_locks().with_total(total).with_locks(self.split.locked)
        )

    def usual(self, *names: str) -> Settings:
        """These settings with the defaults of some of them."""
        defaults = Settings()
        return replace(self, **{name: getattr(defaults, name) for name in names})

    def with_usual_goal(self) -> Settings:
        """These settings with a goal that any table of the kind can have."""
        if self.outcome is None:
            return self.usual(*PRECISION)
        length = float(f"{_OF_A_SPREAD * self.outcome.unit:.2g}")
        return replace(self.usual(*PRECISION), goal="all", goal_length=length)

    def without_table(self) -> Settings:
        """These settings without anything that names or measures a column of the table."""
        bare = self.usual("dataset", "names", "goal_on", "goal_value")
        return replace(bare, goal_length=USUAL_LENGTH)

    def to_query(self) -> dict[str, str]:
        """The settings that differ from those of a first visit, as the parameters of a link; a
        table that was described before another was chosen is in none.
        """
        now, first = _flat(self), _flat(_first_of(self.dataset, has_d=self.d != START.d))
        left_out = {"c"} if self.penalty == "chosen" and self.settled() == self else set()
        if self.dataset != "declared":
            left_out.add("declared")
        return {k: v for k, v in now.items() if v != first[k] and k not in left_out}

    def in_paper_terms(self) -> Settings:
        """Return the same study as the paper would show it: columns by their bounds, coefficients
        with penalty. A goal that somebody set stays.
        """
        own = "schema" if self.encoding == "standard" else self.encoding
        goal = PRECISION if self.usual(*PRECISION).with_plain_goal() == self else ()
        now = self.usual("target", "units", "penalty", "c", "mechanisms", *goal)
        return replace(now, encoding=own)

    def with_plain_goal(self) -> Settings:
        """These settings with the goal of every odds ratio, unless somebody set another."""
        if self != self.usual(*PRECISION):
            return self
        return replace(
            self, goal="all", goal_on="", goal_length=USUAL_LENGTH, goal_chance=USUAL_CHANCE
        )

    def in_plain_terms(self) -> Settings:
        """Return the same study in the effects that people mean: odds ratios without penalty, of
        columns by their typical values and spreads.
        """
        is_named = self.dataset not in ("upload", "declared")
        plain = replace(
            self,
            encoding="standard" if is_named else self.encoding,
            target=UNPENALISED,
            units="odds",
            penalty="chosen",
            mechanisms=("objective",),
        )
        return plain.with_plain_goal().settled()


def convert_currency(now: Settings, chosen: str) -> Settings:
    """Return the settings with the budget in another currency: about the same (epsilon, delta), the
    same shares.
    """
    least, most = CURRENCIES[PROMISE].limits
    epsilon = float(f"{min(max(now.own_epsilon, least), most):.3g}")
    kind, total = CURRENCIES[chosen].definition, Decimal(f"{epsilon:.3g}")
    if kind.has_delta:
        rho = Decimal(f"{epsilon_to_zcdp(epsilon, float(now.delta)):.3g}")
        total = now.split.total if now.typed.is_promise else rho
    low, high = (Decimal(repr(limit)) for limit in CURRENCIES[kind.definition].limits)
    pot = min(max(total, low), high)
    moved = replace(now, currency=chosen, split=now.split.with_locks().with_total(pot))
    return moved.with_epsilon(epsilon) if CURRENCIES[chosen].is_promise else moved


def in_currency(now: Settings, chosen: str) -> Settings:
    """Return the settings with the budget typed, and spent, in another currency."""
    moved = convert_currency(now, chosen)
    return replace(moved, definitions=(moved.own_definition,))


def for_outcome(now: Settings) -> Settings:
    """Return the settings with goal, budget and split that a new kind of outcome can have."""
    now = now.with_usual_goal()
    if now.outcome is None:
        return now.in_plain_terms()
    if now.kind.law != "gaussian":
        now = in_currency(now, PROMISE)
    return replace(now, split=from_shares(now.split.total, LINEAR_SHARES))


@lru_cache(maxsize=32)
def _schema_of(packed: str) -> Schema | None:
    """Return what is declared of a described table (`compute.packed_table`); ValueError in words
    for anything else.
    """
    table = read(Source, unpack(packed), "table")
    return table.schema if isinstance(table, DeclaredTable) else None


def _decimal(value: float) -> Decimal:
    return Decimal(f"{value:.6g}")


_BETWEEN = "~"
"""Between the items of one parameter. In an item it is written as in an address, and so is the sign
that does that.
"""


def _packed(item: str) -> str:
    return item.replace("%", "%25").replace(_BETWEEN, "%7E")


def _unpacked(text: str) -> str:
    return text.replace("%7E", _BETWEEN).replace("%25", "%")


def _flat(settings: Settings) -> dict[str, str]:
    flat: dict[str, str] = {}
    for f in fields(settings):
        value = getattr(settings, f.name)
        if isinstance(value, Split):
            flat["split"] = _BETWEEN.join(map(str, value.parts))
            flat["shares"] = _BETWEEN.join(map(str, value.chosen or ()))
            flat["locked"] = "".join("01"[lock] for lock in value.locked)
        elif isinstance(value, tuple):
            flat[f.name] = _BETWEEN.join(map(_packed, value))
        else:
            flat[f.name] = str(value)
    return flat


def from_query(query: Mapping[str, str]) -> tuple[Settings, tuple[str, ...]]:
    """Rebuild settings from a link; what cannot be read keeps its default and is named in the
    second value.
    """
    if query.get("dataset") == "declared" and not _is_described(query.get("declared", "")):
        settings, also = from_query({k: v for k, v in query.items() if k not in _OF_TABLE})
        return settings, (*(name for name in _OF_TABLE if name in query), *also)
    settings, bad = _first_of(query.get("dataset", START.dataset), has_d="d" in query), []
    for name, text in query.items():
        if name == "split" or name not in {f.name for f in fields(Settings)}:
            continue
        try:
            if len(text) > _LONGEST_VALUE:
                raise ValueError(name)
            change: dict[str, Any] = {name: _parse(name, text)}
            settings = replace(settings, **change)
        except (ValueError, ArithmeticError):
            bad.append(name)
    given = [name for name in _OF_SPLIT if name in query]
    try:
        if given:
            settings = replace(settings, split=_split_from({**_flat(START), **query}))
        settings, is_split_used = _with_one_budget(settings)
    except (ValueError, ArithmeticError):
        settings, is_split_used = _with_one_budget(settings)[0], False
    if "c" in query and "c" not in bad and "penalty" not in query:
        settings = replace(settings, penalty="typed")
    settings = settings.settled()
    return settings, tuple(bad) if is_split_used or not given else (*bad, given[0])


def _is_described(packed: str) -> bool:
    """Whether a link holds a whole table; one that was cut off does not."""
    try:
        _schema_of(packed)
    except ValueError:
        return False
    return len(packed) <= _LONGEST_VALUE


_OF_TABLE = ("dataset", "declared", "names", "opened", "goal_on", "goal_length", "goal_value")
"""What is about the columns of a table."""
_OF_SPLIT = ("split", "shares", "locked")


_SAME_BUDGET = 1e-9
"""Relative difference of two totals that count as one: machines round the last digits of a solved
rho differently.
"""


def _with_one_budget(settings: Settings) -> tuple[Settings, bool]:
    """Settings whose control shows the budget that is computed with, and whether the split of the
    link could stay.

    A total must lie in the range of its control. An (epsilon, delta) budget is what epsilon says: a
    split that adds up to another rho gives way to the default shares of the rho it buys.
    """
    total = float(settings.split.total)
    fresh = replace(settings, split=START.split)
    if settings.typed.is_promise:
        bought = fresh.with_epsilon(float(settings.epsilon))
        is_same = math.isclose(total, float(bought.split.total), rel_tol=_SAME_BUDGET)
        return (settings, True) if is_same else (bought, False)
    low, high = settings.typed.limits
    return (settings, True) if low <= total <= high else (fresh, False)


CHOICES: dict[str, tuple[str, ...]] = {
    "encoding": ("schema", "standard", "paper"),
    "penalty": ("typed", "chosen"),
    "currency": tuple(CURRENCIES),
    "pairing": ("guarantee", "paper"),
    "sweep": SWEEPS,
    "units": ("scaled", "original", "odds"),
    "definitions": tuple(DEFINITIONS),
    "mechanisms": tuple(EVERY_MECHANISM),
    "losses": tuple(LOSSES),
    "smoothing": tuple(SMOOTHINGS),
    "calibrations": tuple(CALIBRATIONS),
    "results": ("all", "reviewed"),
    "shape": ("declared", "planning", "released"),
    "target": tuple(TARGETS),
    "goal": ("all", "length", "zero"),
}


_WEIGHT = "fnlwgt"
"""How many people a row of the census stands for: no effect that anybody asks for."""
START = Settings(
    names=(
        "age",
        "education_num",
        "hours_per_week",
        "capital_loss",
        "sex=Male",
        "workclass=Self-emp-not-inc",
        "race=Black",
    ),
).in_plain_terms()
"""Those of a first visit: every effect can be told, at a budget that many would take."""


def _first_of(dataset: str, *, has_d: bool) -> Settings:
    """What a link leaves out: features by name are those of one table, and not beside a number."""
    return replace(START, names=()) if has_d or dataset != START.dataset else START


def _parse(name: str, text: str) -> object:
    example = asdict(Settings())[name]
    if isinstance(example, tuple):
        items = tuple(map(_unpacked, text.split(_BETWEEN, maxsplit=_MOST_ITEMS))) if text else ()
        if name in CHOICES and (not items or not set(items) <= set(CHOICES[name])):
            raise ValueError(name)
        if len(items) > min(_MOST_ITEMS, len(CHOICES.get(name, items))):
            raise ValueError(name)
        return items
    if isinstance(example, int | float):
        if len(text) > _LONGEST_AMOUNT:
            raise ValueError(name)
        number = int(text) if isinstance(example, int) else float(text)
        low, high = LIMITS.get(name, (1, 1_000))
        if not low <= number <= high or (name == "goal_value" and number == 0):
            raise ValueError(name)
        return number
    if name in ("epsilon", "delta"):
        low, high = CURRENCIES[PROMISE].limits if name == "epsilon" else (1e-15, 0.1)
        if not low <= float(_amount(text)) <= high:
            raise ValueError(name)
    elif name in CHOICES and text not in CHOICES[name]:
        raise ValueError(name)
    elif name == "opened" and text:
        shape_of(text)
    return text


def _split_from(query: Mapping[str, str]) -> Split:
    flags = [c == "1" for c in query["locked"].ljust(3, "0")]
    parts, chosen = _amounts(query["split"]), _amounts(query["shares"]) if query["shares"] else None
    return Split(sum(parts, Decimal(0)), parts, (flags[0], flags[1], flags[2]), chosen)


_PART = (Decimal("1e-12"), Decimal(1000))
"""Around what a control can reach: exact arithmetic with what a stranger's link holds has to
end."""
_MOST_ITEMS = 1_000
"""Names of columns in a link."""
_LONGEST_VALUE = 20_000
"""Characters of one value of a link; a described table takes the most."""
_LONGEST_AMOUNT = 40
"""Characters; a control writes at most 28 digits."""


def _amount(text: str) -> Decimal:
    if len(text) > _LONGEST_AMOUNT:
        raise ValueError(text[:_LONGEST_AMOUNT])
    return to_decimal(text, name="amount")


def _amounts(text: str) -> Parts:
    amounts = [_amount(p) for p in text.split(_BETWEEN, maxsplit=3)]
    if len(amounts) != 3 or not all(_PART[0] <= a <= _PART[1] for a in amounts):
        raise ValueError("split")
    return amounts[0], amounts[1], amounts[2]
