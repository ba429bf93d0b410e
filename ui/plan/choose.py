"""Step 3: budget, records and precision, of which two are given and the third is answered; and how
the design comes about.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core.base.errors import ConvergenceError, InfeasibleDesignError
from dpci_core.plan.base import N_TOLERANCE
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.promise import MORE_INCOMPLETE
from dpci_core.report.cautions import REPORTABLE_CHANCE
from dpci_core.report.effect_table import EffectTable
from dpci_core.schema.worlds import checked, is_rate_untold, untold, worlds_of
from ui.controls import currency, design, linear
from ui.controls.paired import compact, log_grid, number_field, refusal, refuse
from ui.controls.shape import encode_by, shape_control
from ui.controls.sidebar import feature_names
from ui.controls.split import split_controls, split_slider
from ui.kit import share
from ui.kit.bound import among, bound
from ui.plan import bounds, cards, goal, numbers, options, pictures, standard, words
from ui.plan.job import beside, both_searched, designs_of
from ui.plan.linear import SearchedLinear
from ui.plan.options import Find, Option, Ways
from ui.plan.work import Work, choice_of, holds, work_on
from ui.session import quota, state, steps, text
from ui.session.case import Case, NumberCase, PlannedCase, make_case, place_of
from ui.session.choices import MECHANISMS
from ui.session.compute import DECLARED, declared_table, encoded, schema_of
from ui.session.settings import LIMITS, Settings, from_query
from ui.session.typed import Number
from ui.views import goals, path
from ui.views.cautions import box

METHODS = {"chosen": "Chosen for me", "own": "Set by hand"}
FIND: dict[Find, str] = {"budget": "Budget", "records": "Records", "precision": "Precision"}
SPLITS = {"best": "Best for this goal", "own": "Set by me"}
FACTORS: tuple[Number, ...] = (
    *(1.01, 1.02, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 1.6, 1.8),
    *(2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0),
)
"""Round factors on the slider of the precision."""
_CARD = 240
"""The least width of a card in pixels: beside the field its name breaks between words alone."""
_KEPT = (
    *("split", "shares", "locked", "epsilon", "delta", "currency"),
    *("definitions", "n", "c", "penalty", "mechanisms", "steps", "clip", "row_clip"),
    *("target", "shape", "declared"),
)
"""What a design that is kept to compare has of its own; of its table the encoding."""
_KEPT_ENCODING = "kept_encoding"
"""The same of an uploaded table, which no link holds."""


def panel(case: PlannedCase) -> None:
    """The three quantities and what comes of them, then how the design is reached."""
    st.title("Budget, records, precision", anchor=False)
    _say_if_gone(case)
    work: Work | None = None
    if not steps.has_goal():
        _ask_goal(case)
    elif _is_wanted(case):
        kept = _kept(case.settings)
        work = work_on(case, kept)
        _calculator(case, work, kept)
    _method(case, work)


def _say_if_gone(case: PlannedCase) -> None:
    """A goal about a coefficient that another table, or other features, do not have, is about
    another one now.
    """
    asked = case.settings.goal_on
    if asked == "" or asked in case.names or case.settings.goal == "all":
        return
    place = place_of(case.settings, case.records)
    shown = "" if place is None else case.names[place]
    now = f"“{text.plain(text.called(shown))}”" if shown else "the mean over all coefficients"
    st.warning(
        f"Your goal was about “{text.plain(text.called(asked))}”, which is not in the "
        f"model. It is about {now} for now, with the same number in its units."
    )
    st.button("Keep it so", key="keep_which", on_click=lambda: state.update(goal_on=shown))


def _ask_goal(case: PlannedCase) -> None:
    """Say that the plan has no goal, and the ways to one."""
    st.info(f"No goal was set. The usual one: {text.plain(goals.goal_words(case))}.")
    with st.container(horizontal=True):
        st.button("Take the usual goal", key="usual_goal", on_click=steps.GOAL.take, args=("set",))
        st.button("Set another", key="set_goal", on_click=steps.go, args=("goal",))


def _is_wanted(case: PlannedCase) -> bool:
    """Whether to compute; with many coefficients only if asked, because it takes minutes."""
    p = len(case.names)
    if p <= numbers.MANY:
        return True
    return st.toggle(
        f"Compute the answers for {p} coefficients, which takes minutes", key="many_coefficients"
    )


# --- the calculator -------------------------------------------------------------------------------


def _calculator(case: PlannedCase, work: Work, kept: PlannedCase | None) -> None:
    """Two quantities to move, the third as it is found, and what such a release would tell."""
    find = cast(Find, steps.FIND.value)
    option, is_first, why = _shown(work)
    answer = None if words.falls_short(option, find) else option
    found = "" if is_first else words.found_sentence(case, option, find)
    asked = None if is_first or answer is None or find != "records" else answer.settings.n
    st.session_state[path.FOUND] = case.settings, found, asked
    _find(find, option if found else None)
    cards = {"budget": _budget, "records": _records, "precision": _precision}
    grid = st.grid(3, min_column_width=_CARD, border=True)
    for name, card in cards.items():
        with grid.cell():
            card(case, answer if name == find else None, name == find, is_first)
    with st.container():  # one place, whatever is known: what is below stays what it is
        if why is not None:
            st.warning(words.no_answer(why, case))
            if isinstance(why, OutOfReachError) and choice_of(case) is None:
                _ask_most(case, find)
        elif option is not None:
            if is_first:
                st.caption(words.first_sentence(case, option, find, is_active=work.is_active))
            else:
                _reach(case, option, find, is_least="answer" in work.known)
        if "answer" in work.missing:
            work.default_value("answer")
    if choice_of(case) is not None:
        _movable(case, work)
    _use(case, option, is_first=is_first, has_kept=kept is not None)
    if kept is not None:
        _beside(case, work, option)


def _find(find: Find, found: Option | None) -> None:
    """Which of the three is asked for. The precision is asked for at the amount that was found; of
    two amounts that belong together the one would only give back the other.

    found: where the settings have another amount.
    """
    question = _question()

    def ask(asked: str) -> None:
        if found is not None and asked == "precision" and question == _question():
            name, amount = ("n", found.settings.n) if find == "records" else ("total", found.typed)
            state.put(state.settings().swept(name, amount))
        steps.FIND.take(asked)

    st.segmented_control("Find", **among(FIND), **bound("find", find, ask), required=True)


def _shown(work: Work) -> tuple[Option | None, bool, Exception | None]:
    """The answer as far as it is known, whether it is a first look, and why there is none. Where
    the search for a better one has ended, a first look in every world is the answer.
    """
    if "answer" in work.known:
        option, why = work.known["answer"]
        return cast("Option | None", option), False, why
    is_first = work.is_active or (work.first is not None and not holds(work.first))
    return work.first, is_first, None


def _found(case: PlannedCase, option: Option | None, shown: str | None, *, is_first: bool) -> None:
    """The quantity that is the answer, and which table it is true for; a dash where there is none,
    once that is known. A first look is grey: the answer can be far from it.
    """
    if shown:
        st.markdown(f"## :gray[about {shown}]" if is_first else f"## {shown}")
    else:
        st.markdown("## …" if is_first else "## –")
    if option is None or not shown or case.settings.dataset != DECLARED:
        return
    said = ["**A first look**"] if is_first else []
    is_kind = is_first and not holds(option)
    said += _kindest(case) if is_kind else ["in the least favourable case"]
    st.markdown(", ".join(said))


def _kindest(case: PlannedCase) -> list[str]:
    """The table that a first look at amounts is about: all that the answer leaves open."""
    table = declared_table(case.settings.declared)
    first, *others = worlds_of(table.schema, table.guesses)
    assumed = ["if the table is as you described it"]
    if names := untold(table.schema, table.guesses):
        assumed.append(f"values of {path.named(names)} equally often")
    if table.schema.outcome is None and len(set(table.guesses.rates)) > 1:
        assumed.append(f"“yes” in {text.number(100.0 * table.guesses.rate)} %")
    if any(one.guesses.correlation != first.guesses.correlation for one in others):
        assumed.append("columns as related as you said")
    if any(one.name == "one direction" for one in others):
        assumed.append("effects up and down in turn where you guessed none")
    if case.fewest < case.n:
        assumed.append("every record usable")
    return assumed


def _budget(case: PlannedCase, option: Option | None, is_answer: bool, is_first: bool) -> None:
    settings = case.settings
    if is_answer:
        st.markdown(f"**Privacy budget {settings.typed.letter}**")
        digits = 2 if is_first else 4
        shown = None if option is None else text.number(option.typed, digits)
        _found(case, option, shown, is_first=is_first)
        if option is not None and not is_first:  # of a rough amount nothing exact is told
            st.markdown(words.risk_of(option.design.budget, settings.delta))
        return
    currency.quick_total(settings)
    st.markdown(words.risk_of(case.design.budget, settings.delta))
    st.button(
        "Balance noise and sampling error",
        key="use_balanced",
        type="tertiary",
        on_click=_balance,
        args=(case,),
        help="Takes the budget at which privacy adds as much variance as sampling does.",
    )
    refusal("balanced")


def _balance(case: PlannedCase) -> None:
    """Take the budget at which privacy and sampling add as much variance each."""
    choice, source = choice_of(case), state.source()
    try:
        if choice is not None and isinstance(case, Case):
            mechanism = choice.mechanism or case.design.mechanism
            look = options.FirstLook(case, source, choice.schema, mechanism, choice.is_split_free)
            case = look.at(case.settings.typed_total, case.n)
        elif choice is not None and isinstance(case, NumberCase):
            found = SearchedLinear(case, source, is_first=True, is_split_free=choice.is_split_free)
            case = found.at(case.settings.typed_total, case.n)
        low, high = case.settings.typed.limits
        typed = min(max(designs_of(case, source).balanced(), low), high)
        state.put(currency.at_total(state.settings(), float(f"{typed:.3g}")))
    except InfeasibleDesignError as problem:
        refuse("balanced", problem)


def _records(case: PlannedCase, option: Option | None, is_answer: bool, is_first: bool) -> None:
    if is_answer:
        st.markdown("**Records**")
        shown = None if option is None else f"{option.settings.n:,}"
        _found(case, option, shown, is_first=is_first)
        if option is not None and option.promise is not None:
            usable = case.usable_of(option.promise.fewest)
            st.markdown(f"Enough even if only {usable:,} of them can be used.")
        return
    compact(
        "n",
        "Records",
        case.settings.n,
        log_grid("n", whole=True),
        _set_n,
        help=design.N_HELP,
    )
    if case.fewest < case.n:
        st.markdown(
            f"The plan holds even if only {case.usable_of(case.fewest):,} of them can be used.",
            help=f"{100 * N_TOLERANCE:g} % may be missing, and {100 * MORE_INCOMPLETE:g} % more "
            "incomplete than you said.",
        )


def _set_n(value: Number) -> None:
    low, high = LIMITS["n"]
    if not low <= value <= high:
        raise ValueError(f"Give a number of records from {low:,.0f} to {high:,.0f}.")
    state.update(n=int(value))


def _precision(case: PlannedCase, option: Option | None, is_answer: bool, is_first: bool) -> None:
    label = text.plain(goals.label(case))
    chance = words.chance_words(case.settings.goal, case.settings.goal_chance)
    if is_answer:
        st.markdown(f"**{words.about_words(case, option)}**")
        shown = "" if option is None else words.told_precision(case, option, 3 if is_first else 4)
        _found(case, option, shown, is_first=is_first)
    else:
        _asked(case, label, goals.as_number(case, goals.asked(case)))
    st.markdown(f"In {chance} of releases." if "%" in chance else f"{chance.capitalize()}.")
    if per := goals.steps_words(case):
        st.caption(text.plain(per))


def _asked(case: PlannedCase, label: str, shown: float | None) -> None:
    """The control of the number of the goal."""

    def apply(typed: Number) -> None:
        state.update(**goal.changes_by(case, float(typed)))

    is_factor = goals.has_odds(case) and not case.target.is_power and shown is not None
    if is_factor and shown is not None:
        most = goals.most_factor(case)
        grid = sorted({*(one for one in FACTORS if one < most), most, shown})
        compact("precision", label, shown, grid, apply, help=_FACTOR_HELP, show="×/÷ {:.4g}".format)
        return
    number_field("precision", label, shown, apply, name="precision_number")
    refusal("precision", shown)


_FACTOR_HELP = "An odds ratio of 1.2 to within a factor of 1.5 reads 0.8 to 1.8."


def _reach(case: PlannedCase, option: Option, find: Find, *, is_least: bool) -> None:
    """Whether the goal is met and what can be reported, and what else speaks against it.

    is_least: whether it was searched for to the end.
    """
    said = words.reach_sentence(case, option, find, is_least=is_least)
    if option.works:
        st.markdown(said)
    else:
        st.warning(said)
        if option.misses_goal_alone:
            _ask_less(case, goals.nearest_goal(case, option.precision))
    _ask_shares(case, option)
    if against := words.against_sentence(option):
        st.markdown(against)
    if law := words.law_sentence(case, option):
        st.markdown(law)
    box(option.cautions)
    if option.effects is not None:
        _effects(option.effects, "" if not option.has_worlds else _checked(case))


def _checked(case: PlannedCase) -> str:
    table = declared_table(case.settings.declared)
    return text.plain(checked(table.schema, table.guesses))


def _effects(effects: EffectTable, assumed: str) -> None:
    """Every effect with its length, as on the page for the board.

    assumed: what it is promised under.
    """
    with st.expander("How well each effect will be known", key="effects"):
        cells = [[text.plain(cell) for cell in row] for row in effects.cells]
        shown = pd.DataFrame(cells, columns=list(effects.heads))
        st.table(shown, border="horizontal", hide_index=True, alt=effects.saying())
        st.caption(f"On average over releases: some are longer. {assumed}")


def _ask_less(case: PlannedCase, typed: float | None) -> None:
    """A way to the nearest goal that is met, where one can be asked for."""
    if typed is not None:
        st.button(
            f"Take {text.number(typed, 4)} as the goal",
            key="ask_less",
            on_click=_take_goal,
            args=(case, typed, _question()),
        )


def _ask_most(case: PlannedCase, find: Find) -> None:
    """A way to the goal that the largest amount of the page reaches, where none is enough."""
    letter, most = case.settings.typed.letter, _largest(case, find)
    what = f"{most:,.0f} records reach" if find == "records" else f"{letter} = {most:g} reaches"
    st.button(
        f"Take what {what} as the goal",
        key="ask_most",
        on_click=_take_most,
        args=(case, find, _question()),
    )
    refusal("ask_most")


def _largest(case: PlannedCase, find: Find) -> float:
    return LIMITS["n" if find == "records" else case.settings.currency][1]


def _take_most(case: PlannedCase, find: Find, question: tuple[object, ...]) -> None:
    typed, n, most = case.settings.typed_total, case.n, _largest(case, find)
    designs, found = designs_of(case, state.source()), None
    with suppress(InfeasibleDesignError):
        there = designs.at(typed, int(most)) if find == "records" else designs.at(most, n)
        option = designs.described(there)
        found = goals.nearest_goal(case, option.precision) if option.misses_goal_alone else None
    if found is None:
        said = "Even that reports no effect that your goal is about."
        st.session_state["refused"] = ("ask_most", said, "")
    else:
        _take_goal(case, found, question)


def _take_goal(case: PlannedCase, typed: float, question: tuple[object, ...]) -> None:
    """Take another number as the goal; the table stays as it was looked at."""
    if question == _question():
        changes = goal.changes_by(case, typed)
        state.update(**{name: changes[name] for name in changes if name != "declared"})


def _ask_shares(case: PlannedCase, option: Option) -> None:
    """A way to the shares that nobody typed, where they decide."""
    if case.settings.dataset != DECLARED or option.promise is None:
        return
    table, promised = declared_table(case.settings.declared), option.promise
    lost = np.flatnonzero(promised.chance < REPORTABLE_CHANCE)
    decide = {promised.probability_decided_by, *(promised.decided_by[j] for j in lost)}
    found = (untold(table.schema, table.guesses, assumption) for assumption in sorted(decide))
    columns = next(filter(None, found), ())
    rates = ["yes"] if any(is_rate_untold(table.guesses, one) for one in decide) else []
    if names := [*rates, *(text.plain(text.called(one)) for one in columns)]:
        shown, more = names[: len(rates) + 1], len(names) - len(rates) - 1
        st.button(
            f"Say the share{'s' if columns else ''} of {', '.join(f'“{one}”' for one in shown)}"
            + (f" and {more} more" if more > 0 else ""),
            key="ask_shares",
            type="tertiary",
            icon=":material/edit:",
            on_click=_go_to_shares,
            args=(columns[0] if columns else table.schema.target,),
        )


def _go_to_shares(name: str) -> None:
    cards.ask_shares(name)
    steps.describe()
    steps.return_to_choose()


def _movable(case: PlannedCase, work: Work) -> None:
    """Mechanism and split, chosen for the goal until somebody moves them; of a regression of a
    number the split.
    """
    if not isinstance(case, Case):
        _split(case, work)
        return
    left, right = st.columns(2, gap="large")
    with left:
        name = _mechanism_of(work)
        best = f": {MECHANISMS[name].word}" if name else ""
        shown = {"": f"Chosen for you{best}"} | {
            name: one.word.capitalize() for name, one in MECHANISMS.items()
        }
        st.segmented_control(
            "Mechanism",
            **among(shown),
            **steps.MECHANISM.bound(),
            required=True,
            help=design.MECHANISM_HELP,
        )
        if said := _other_way(case, work):
            st.caption(said)
    with right:
        _split(case, work)


def _split(case: PlannedCase, work: Work) -> None:
    """The split, as it was found or as it is set, which begins with the one that was found."""
    found = cast("Option | None", work.known.get("answer", (None, None))[0])
    question = _question()

    def choose(how: str) -> None:
        if found is not None and how == "own" and question == _question():
            total = state.settings().split.total
            state.update(split=found.settings.split.with_total(total))
        steps.SPLIT.take(how)

    st.segmented_control(
        "Split of the budget",
        **among(SPLITS),
        **bound("parts", steps.SPLIT.value, choose),
        required=True,
        help=text.SPLIT_NOTE,
    )
    if steps.SPLIT.value == "own":
        split_slider(case.settings)
    elif found is not None:
        st.caption(f"{words.split_words(found.settings)} {words.FOUND}")
        if "equal" in work.missing:
            work.default_value("equal")
        elif (equal := work.known.get("equal", (None, None))[0]) is not None:
            find = cast(Find, steps.FIND.value)
            st.caption(words.equal_sentence(case, cast(Option, equal), found, find))


def _other_way(case: PlannedCase, work: Work) -> str:
    """What the other mechanism would cost: answers are compared with answers, and first looks with
    first looks as long as one of them is what is shown.
    """
    find, choice = cast(Find, steps.FIND.value), choice_of(case)
    is_first = "answer" not in work.known
    found = cast("Ways | None", work.known.get("ways", (None, None))[0])
    if not is_first:
        assert isinstance(case, Case)
        assert choice is not None
        found = both_searched(case, state.source(), find, choice)
    return "" if found is None else words.ways_sentence(found, find, is_first=is_first)


def _mechanism_of(work: Work) -> str:
    """The mechanism of the answer, or the better one at first sight; empty before that."""
    answer = work.known.get("answer", (None, None))[0]
    if answer is not None and not steps.MECHANISM.value:
        return cast(Option, answer).settings.mechanisms[0]
    looked = work.known.get("ways", (None, None))[0]
    return "" if looked is None else cast(Ways, looked).best


def _use(
    case: PlannedCase, option: Option | None, *, is_first: bool, has_kept: bool = False
) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        ready, question = None if is_first else option, _question()
        st.button(
            "Use this design",
            key="use_design",
            type="primary" if ready is None or ready.works else "secondary",
            on_click=_take,
            args=(ready, question),
            disabled=ready is None,
        )
        st.button(
            "\\+ Compare",
            key="keep_design",
            on_click=_keep,
            args=(None if has_kept else ready, question),
            disabled=has_kept or ready is None,
            help="Keeps this design beside others, until you remove it.",
        )
        host = urlsplit(st.context.url or "").hostname or "localhost"
        note = _THIS_MACHINE if quota.is_loopback(host) else ""
        share.button(dict(st.query_params), note=note)


_THIS_MACHINE = "Others cannot reach this address: it is that of this machine alone."


def _question() -> tuple[object, ...]:
    """What an answer is for: a click that comes with a move, or that a browser sent before it knew
    of one, is about another.
    """
    return state.settings(), steps.FIND.value, steps.MECHANISM.value, steps.SPLIT.value


def _take(option: Option | None, question: tuple[object, ...]) -> None:
    """Plan with this design for the goal that was typed, and go on. Nothing where it was only
    looked at first, whatever a browser sends, or is not of what is asked now.
    """
    if option is None or question != _question():
        return
    _adopt(option)
    st.session_state[steps.USED] = state.settings()
    steps.go("approve")


def _adopt(option: Option) -> None:
    """Take a design into the settings, and its encoding into the table."""
    if option.encoding is not None:
        encode_by(option.encoding)
    state.put(options.adopted(state.settings(), option))


# --- another design beside it ---------------------------------------------------------------------


def _keep(option: Option | None, question: tuple[object, ...]) -> None:
    """Keep this design with its numbers to compare with, where `_take` would use it."""
    if option is None or question != _question():
        return
    query = option.settings.to_query()
    steps.KEPT.take(urlencode({name: query[name] for name in query if name in _KEPT}) or "n=")
    st.session_state[_KEPT_ENCODING] = option.encoding
    if (kept := _kept(state.settings())) is not None:  # what is known is not computed again
        state.answers().put(beside(kept, state.source()).key, (option, None))


def _kept(now: Settings) -> PlannedCase | None:
    """The case of these settings with the design that was kept, and its encoding of the table."""
    if not steps.KEPT.value:
        return None
    own = dict(parse_qsl(steps.KEPT.value, keep_blank_values=True))
    found, _ = from_query({**_without(now), **{k: v for k, v in own.items() if v}})
    changes = {f.name: getattr(found, f.name) for f in fields(Settings) if f.name in _KEPT}
    source, encoding = state.source(), st.session_state.get(_KEPT_ENCODING)
    try:
        if now.dataset == DECLARED:
            encoding = declared_table(found.declared).schema.standard
            changes["declared"] = encoded(now.declared, encoding)
        elif source.upload is not None and encoding is not None:
            schema = replace(source.upload.schema, standard=encoding)
            source = replace(source, upload=replace(source.upload, schema=schema))
        return make_case(replace(now, **changes), source)
    except (ValueError, ConvergenceError):
        return None


def _without(now: Settings) -> dict[str, str]:
    """The parameters of the settings without those of the design."""
    return {k: v for k, v in now.to_query().items() if k not in _KEPT}


def _beside(case: PlannedCase, work: Work, option: Option | None) -> None:
    """This design and the one that was kept."""
    other, why = work.known.get("kept", (None, None))
    left, right = st.columns(2, gap="small")
    with left.container(border=True, height="stretch"):
        st.markdown("**This design**")
        if option is None or "answer" in work.missing:
            st.caption("Being computed …" if work.is_active else "Not computed.")
        else:
            st.markdown(words.design_lines(case, option))
    with right.container(border=True, height="stretch"):
        st.markdown("**Kept to compare**")
        if "kept" in work.missing:
            work.default_value("kept")
        elif why is not None:
            st.warning(words.no_answer(why, case))
        else:
            st.markdown(words.design_lines(case, cast(Option, other)))
        st.button("Remove", key="remove_kept", type="tertiary", on_click=_remove)
    if option is None or other is None or "answer" in work.missing:
        return
    if said := words.beside_sentence(case, option, cast(Option, other)):
        st.caption(said)


def _remove() -> None:
    steps.KEPT.take("")


# --- the method -----------------------------------------------------------------------------------


def _method(case: PlannedCase, work: Work | None) -> None:
    """How the design is found; by hand, beginning with the one that was found, with every control
    and the map.
    """
    settings = case.settings
    schema = schema_of(settings, state.source())
    if schema is not None:
        found = None if work is None else _shown(work)[0]
        if words.falls_short(found, cast(Find, steps.FIND.value)):
            found = None
        question = _question()

        def choose(how: str) -> None:
            if found is not None and how == "own" and question == _question():
                _adopt(found)
                steps.FIND.take("precision")  # of this design, whose own least amount is another
            steps.METHOD.take(how)

        st.radio(
            "How the method is set", **among(METHODS), **bound("method", steps.METHOD.value, choose)
        )
    if steps.is_chosen(settings):
        return
    if not isinstance(case, Case):
        with st.expander("Every setting of the method", key="method_by_hand"):
            _linear_settings(case)
        return
    _shape(case)
    with st.expander("Every setting of the method", key="method_by_hand"):
        left, right = st.columns(2, gap="large")
        with left:
            currency.currency_control(settings)
            split_controls(settings)
        with right:
            design.design_controls(settings)
            design.model_controls(settings)
            design.target_control()
            if schema is not None:
                standard.controls(schema)
            design.d_control(settings, feature_names())
    if settings.dataset == DECLARED and case.records.encoding == "schema":
        bounds.panel(case)
    if work is not None:
        pictures.panel(case, work)


def _linear_settings(case: NumberCase) -> None:
    """Budget, split, level, steps and clips."""
    settings = case.settings
    left, right = st.columns(2, gap="large")
    with left:
        currency.currency_control(settings, linear.NUMBER_CURRENCIES)
        split_slider(settings)
    with right:
        linear.method_controls(settings)
        design.d_control(settings, feature_names())


def _shape(case: Case) -> None:
    """How the noise is shaped, and what came of it."""
    shape_control(case.settings)
    if not case.settings.is_shaped:
        return
    if case.design.geometry is None:
        st.caption(text.NO_SHAPE)
        return
    how = text.OPENED_SHAPE if case.is_opened else text.HOW_SHAPED
    st.caption(f"{text.noise_sentence(case.design)} {how}")
    if case.is_opened:
        st.button("Plan the shape anew", key="shape_anew", on_click=lambda: state.update(opened=""))
