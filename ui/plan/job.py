"""The slow answers of the page Plan as a job in the background: what each rests on, and the search
for it.

Knows no Streamlit. An answer goes from the job straight into the memory of those who may see it, as
soon as it is whole; the job keeps none, and lets go of the table when it ends. About a public table
that is the memory of all sessions: so an answer is kept under everything that was asked, and what
two sessions share is only what both of them typed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, cast

from dpci_core import StoppedError, watched
from dpci_core.base.watch import Stage, counted
from dpci_core.schema import Schema
from ui.plan import numbers, options
from ui.plan.linear import LinearDesigns, SearchedLinear
from ui.plan.options import Find, Ways
from ui.session.budget import from_shares
from ui.session.case import Case, NumberCase, PlannedCase
from ui.session.choices import MECHANISMS
from ui.session.compute import LRU, TableSource
from ui.session.jobs import Task
from ui.session.settings import Settings

Key = tuple[object, ...]
Answer = numbers.Answer

_NEVER_ALL = 0.95
"""A search that takes more draws than usual counts as this share of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One slow answer: where it is kept, its name in a sentence, the draws its search usually
    takes, the search.
    """

    key: Key
    name: str
    draws: int
    find: Callable[[], object]


def designs_of(case: PlannedCase, source: TableSource) -> options.Amounts[Any]:
    """The designs of a case whose method is set by hand, for every total and n."""
    return _DESIGNS[type(case)](case, source)


_DESIGNS: dict[type, Callable[[Any, TableSource], options.Amounts[Any]]] = {
    Case: options.Designs,
    NumberCase: LinearDesigns,
}


def parts_of(
    case: PlannedCase, source: TableSource, find: Find = "budget", *, choice: Choice | None = None
) -> dict[str, Part]:
    """What the settings ask for: the answer, after a first look where its method is searched for;
    else with the map.

    choice: how the method is searched for; None where it is set by hand.

    A search for an amount took 4,000 to 4,500 draws on the simulated census.
    """
    if isinstance(case, NumberCase):
        return _of_a_number(case, source, find, choice)
    if choice is not None:
        return _searched(case, source, find, choice)
    answer = Part(
        key=memo_key(case, find, but=_FOUND[find]),
        name=_NAMES[find],
        draws=_DRAWS[find],
        find=lambda: designs_of(case, source).answer(find),
    )
    return {"answer": answer, "map": _map(case, source)}


_FOUND: dict[Find, set[str]] = {"precision": set(), "budget": {"total"}, "records": {"n"}}
"""What each answer finds."""


def _of_a_number(
    case: NumberCase, source: TableSource, find: Find, choice: Choice | None
) -> dict[str, Part]:
    """The answer about a regression of a number, after a first look."""
    key: Key = ()
    designs: Callable[..., LinearDesigns] = LinearDesigns
    if choice is not None:
        now = case.settings.usual("steps", "clip", "row_clip")
        if choice.is_split_free:
            now = replace(now, split=from_shares(now.split.total))
        case, key = case.of(now), ("chosen", choice.is_split_free)
        designs = partial(SearchedLinear, is_split_free=choice.is_split_free)
    answer = Part(
        key=(*key, *memo_key(case, find, but=_FOUND[find])),
        name=_NAMES[find],
        draws=_DRAWS_OF_A_NUMBER[choice is not None],
        find=lambda: designs(case, source).answer(find),
    )
    first = replace(
        answer,
        key=("first", *answer.key),
        name="a first look",
        find=lambda: designs(case, source, is_first=True).answer(find),
    )
    return {"first": first, "answer": answer}


@dataclass(frozen=True, slots=True)
class Choice:
    """How a method is searched for.

    schema: of the table.
    mechanism: "" where the better one is taken.
    is_split_free: whether the split is searched for, or is that of the settings.
    memo: where searches are kept.
    """

    schema: Schema
    mechanism: str
    is_split_free: bool
    memo: LRU


def _searched(case: Case, source: TableSource, find: Find, choice: Choice) -> dict[str, Part]:
    source = source.fitted_here  # a search looks at other encodings and tables
    key = _searched_key(case, source, find, choice)
    laws = {now.currency: replace(case, settings=now) for now in options.laws(case.settings)}

    def looked_by(law: str, name: str) -> options.FirstLook:
        return options.FirstLook(laws[law], source, choice.schema, name, choice.is_split_free)

    def look_of(law: str, name: str) -> Answer:
        return choice.memo.get(
            ("look", name, law, *key),
            lambda: numbers.attempt(lambda: looked_by(law, name).answer(find)),
        )

    def look(name: str) -> Answer:
        """What a mechanism gives without a search, as the law that is better for it."""
        looked = {law: look_of(law, name) for law in laws}
        return looked[options.ranked(find, looked).best]

    def both() -> Ways:
        return options.ranked(find, {name: look(name) for name in MECHANISMS})

    def quick(name: str, near: float = options.ROUGHLY) -> Answer:
        """What a mechanism gives after a short search, in every world."""
        return choice.memo.get(
            ("quick", near, name, *key),
            lambda: numbers.attempt(lambda: search_of(name, quick_to=near)),
        )

    def looked_at(near: float) -> object:
        answer, why = quick(choice.mechanism or next(iter(MECHANISMS)), near)
        if answer is None:
            raise cast(Exception, why)
        return answer

    def search() -> options.Option:
        if choice.mechanism:
            return search_of(choice.mechanism)
        names = both().in_question
        found = {
            name: choice.memo.get(
                _of_mechanism(name, key),
                lambda name=name: numbers.attempt(lambda: search_of(name)),  # type: ignore[misc]
            )
            for name in (counted("mechanism", names) if len(names) > 1 else names)
        }
        answer, why = found[options.ranked(find, found).best]
        defects = [one for _, one in found.values() if one and not numbers.is_refusal(one)]
        if (problem := next(iter(defects), why)) is not None:
            raise problem
        return cast(options.Option, answer)

    def search_of(name: str, *, quick_to: float | None = None) -> options.Option:
        """The answer, or a quick look in every world; from where something quicker ended."""
        is_quick = quick_to is not None
        near, start = cast("options.Option | None", (look if is_quick else quick)(name)[0]), None
        if near is not None and find != "precision":
            start = near.typed if find == "budget" else float(near.settings.n)
        designs = options.Searched(
            case if near is None else laws[near.settings.currency],
            source,
            choice.schema,
            name,
            choice.is_split_free,
            choice.memo,
            is_quick,
            near=quick_to or options.SEARCHED,
        )
        return designs.answer(find, start)

    def answer() -> Answer:
        return numbers.attempt(search)

    chosen = _of_mechanism(choice.mechanism, key)

    def equal() -> options.Option | None:
        """What equal parts ask for where the answer does, or what they give."""
        best = cast("options.Option | None", choice.memo.get(chosen, answer)[0])
        if best is None or not (best.works or find == "precision"):
            return None
        split = from_shares(best.settings.split.total, options.EQUAL_PARTS)
        here = replace(case, settings=replace(best.settings, split=split))
        name = best.settings.mechanisms[0]
        designs = options.Searched(
            here, source, choice.schema, name, False, choice.memo, near=options.ROUGHLY
        )
        return designs.answer(find, best.typed if find == "budget" else float(best.settings.n))

    parts = {
        "first": Part(
            key=("first", choice.mechanism, *key),
            name="a first look",
            draws=10_000,
            find=lambda: looked_at(options.AT_FIRST),
        ),
        "ways": Part(key=("ways", *key), name="the mechanisms", draws=1_000, find=both),
        "nearer": Part(
            key=("nearer", choice.mechanism, *key),
            name="a second look",
            draws=20_000,
            find=lambda: looked_at(options.ROUGHLY),
        ),
        "answer": Part(key=chosen, name=_NAMES[find], draws=_SEARCH_DRAWS[find], find=search),
    }
    if find == "precision":
        del parts["nearer"]  # of an amount that is given there is one quick look
    if choice.is_split_free:
        parts["equal"] = Part(
            key=("equal", *chosen), name="the same with equal parts", draws=20_000, find=equal
        )
    return parts


def _searched_key(case: Case, source: TableSource, find: Find, choice: Choice) -> Key:
    """What a searched answer rests on, beside the mechanism."""
    n_bytes = None if source.upload is None else id(source.upload.frame)
    now = replace(case.settings, mechanisms=Settings().mechanisms)
    if choice.is_split_free:
        now = replace(now, split=from_shares(now.split.total))
    return find, options.basis(now, find), choice.is_split_free, n_bytes


def _of_mechanism(name: str, key: Key) -> Key:
    """Where the answer with a mechanism is kept; "" for that of the better one."""
    return ("chosen", name, *key)


def both_searched(case: Case, source: TableSource, find: Find, choice: Choice) -> Ways | None:
    """The answers with every mechanism, the better first; None unless each was searched for."""
    key = _searched_key(case, source, find, choice)
    found = {name: choice.memo.peek(_of_mechanism(name, key)) for name in MECHANISMS}
    if None in found.values():
        return None
    return options.ranked(find, cast("dict[str, Answer]", found))


def parts_left(parts: dict[str, Part], memo: LRU) -> dict[str, Part]:
    """Those that are not known yet."""
    return {name: part for name, part in parts.items() if memo.peek(part.key) is None}


def beside(kept: PlannedCase, source: TableSource) -> Part:
    """What a design that was kept gives, with its own method."""
    return replace(parts_of(kept, source, "precision")["answer"], name="the design beside it")


_NAMES: dict[Find, str] = {
    "budget": "the least budget that works",
    "records": "the records needed",
    "precision": "the precision",
}
_DRAWS: dict[Find, int] = {"budget": 4_500, "records": 4_000, "precision": 200}
_DRAWS_OF_A_NUMBER = {False: 700, True: 3_500}
"""By whether the method is searched for, which took 1,600 draws for a first look and 2,400 to 5,000
for an answer."""
_SEARCH_DRAWS: dict[Find, int] = {"budget": 60_000, "records": 60_000, "precision": 28_000}
"""What a search for encoding, penalty and split took on the example."""


def _map(case: Case, source: TableSource) -> Part:
    return Part(
        key=memo_key(case, "map", but={"total", "n", "goal_length"}),
        name="the map",
        draws=numbers.map_tables(case) * numbers.map_points(case) ** 2 * numbers.draws(case),
        find=lambda: numbers.iso_map(case, source),
    )


def memo_key(case: PlannedCase, kind: str, *, but: Collection[str] = ()) -> Key:
    """What an answer rests on: the planning rows, the scale of the goal, and the settings, which it
    may tell.

    but: the settings that it does not rest on, and "total", of which only the shares count.
    """
    left_out = (name for name in but if name != "total")
    now = case.settings.usual("units", "sweep", *left_out)
    if "total" in but and not any(now.split.locked):  # locked amounts are the same at any total
        now = replace(now, epsilon=Settings().epsilon, split=now.split.with_total(Decimal(1)))
    return (kind, case.records.digest, case.scale, now)


@dataclass(eq=False, kw_only=True)
class PlanJob(Task):
    """Slow answers, one after the other, for the settings `about`; `held` are the bytes of a table
    of the session's.

    now, stages: the answer it is at, and how far the search for it is.
    share: of the draws that such answers usually take: whether an end may be near.
    """

    begins_anew: ClassVar[bool] = True

    about: Settings
    parts: tuple[Part, ...]
    memo: LRU | None
    held: int = 0
    now: str = ""
    stages: tuple[Stage, ...] = ()
    share: float = 0.0

    def left(self, memo: LRU) -> frozenset[Key]:
        """The answers it is still to give."""
        return frozenset(part.key for part in self.parts if memo.peek(part.key) is None)

    def _execute(self) -> bool:
        parts, memo = self.parts, self.memo
        assert memo is not None
        total, before = sum(part.draws for part in parts), 0
        for part in parts:
            self.now, self.stages = part.name, ()

            def count(done: int, part: Part = part, before: int = before) -> None:
                self.share = (before + min(done, _NEVER_ALL * part.draws)) / total

            if memo.peek(part.key) is None:  # another session's job may have found it by now
                try:
                    with watched(
                        progress=count, should_stop=self._should_stop, at_stage=self._note
                    ):
                        answer = numbers.attempt(part.find)
                except StoppedError:
                    return False
                memo.put(part.key, answer)
            before += part.draws
        return True

    def _note(self, stages: tuple[Stage, ...]) -> None:
        self.stages = stages

    @property
    def n_bytes(self) -> int:
        """What it holds while it waits."""
        return self.held

    def release(self) -> None:
        """Let go of the table, and of the session's memory."""
        self.parts, self.memo = (), None
