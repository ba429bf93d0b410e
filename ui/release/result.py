"""A finished release on the page: its report, lengths beside what was planned, and its files."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import streamlit as st

from dpci_core.plan import AnyPlan, DeclaredTable
from dpci_core.plan.base import Planned
from dpci_core.planner.targets import usual_lengths
from dpci_core.planner.worlds import drawn
from dpci_core.release import AnyRelease, report_html
from dpci_core.release.effects import acceptance, against_goal
from dpci_core.release.signature import SIGNATURE_NAME
from dpci_core.schema import MappingNote
from ui.kit.exports import download
from ui.release import after
from ui.session.text import plain, times_as_long
from ui.views.board import board
from ui.views.ledger_text import moment
from ui.views.releases import files_in, zipped


def panel(
    made: AnyRelease,
    folder: Path,
    fresh: tuple[str, MappingNote] | None,
    plan: AnyPlan,
    planned: Planned,
) -> None:
    """The report, the goal and what was planned against what was released, files; right after the
    release also what was mapped.

    planned: the numbers of the plan.
    """
    st.markdown(
        f"**{plain(made.title)}**, released {moment(made.released_at)} by {plain(made.person)} as "
        f"entry {made.charge_id} of the ledger. This is the report to send:"
    )
    if said := acceptance(made):
        st.info(plain(said))
    board(report_html(made), "The report")
    for compared in (plain(against_goal(made)), against_plan(made, plan, planned)):
        st.markdown(compared)
    after.section(made)
    _files(folder)
    if fresh is not None:
        _mapped(fresh[1])


def _counted(made: AnyRelease) -> str:
    return "rows" if made.schema.persons is None else made.counted


_NEARLY_ALL = 0.99
"""Of releases of a table as it was described: what is outside of their lengths speaks for another
table. More than is said, because forecasts have an error of their own.
"""


def against_plan(made: AnyRelease, plan: AnyPlan, planned: Planned) -> str:
    """Released lengths beside planned ones, whether noise explains a difference, and what the plan
    says that privacy costs: of the released matrices alone that is known too loosely.
    """
    if (ratio := made.times_as_planned) is None:
        return ""
    places = made.reported_effects
    length, without = (
        float(of[places].mean())
        for of in (planned.scaled.ci_length, planned.scaled.nonprivate_length)
    )
    told = [x / length for x in _usual(plan, made.n_records, tuple(places))]
    ratio, low, high = (round(x, 2) for x in (ratio, *told))  # what is told decides
    said = f"Intervals are **{ratio:.2f} times** as long as planned"
    if made.n_records != made.n_planned:
        said += f", from {made.n_records:,} {_counted(made)}, not {made.n_planned:,}"
    ends = _range(plan)
    between = (
        f"nearly all releases of a table as described{ends and f', with “yes” in {ends} %,'} are "
        f"between {low:.2f} and {high:.2f} times"
    )
    if low <= ratio <= high:
        why = "noise and the range of “yes” explain" if ends else "noise explains"
        said += f", which {why}: {between}."
    else:
        such = (
            "an outcome that is more one-sided or scattered, or columns with less spread"
            if ratio > high
            else "an outcome that is less one-sided or scattered, or columns with more spread"
        )
        said += (
            f", which noise hardly explains: {between}. The table probably differs from its "
            f"description, as by {such}."
        )
    return (
        f"{said} By the plan, intervals are {times_as_long(length / without)} as without "
        "privacy, on average of the reported effects."
    )


def _range(plan: AnyPlan) -> str:
    """The ends of the declared range of “yes” in percent; empty where one share was declared."""
    rates = plan.source.guesses.rates if isinstance(plan.source, DeclaredTable) else ()
    return " to ".join(f"{100.0 * rate:.4g}" for rate in rates) if len(set(rates)) > 1 else ""


@lru_cache(maxsize=4)
def _usual(plan: AnyPlan, n_records: int, places: tuple[int, ...]) -> tuple[float, float]:
    """The lengths of nearly all releases of a plan at this n, wherever its table is within declared
    ranges: of public numbers alone.
    """
    design = replace(plan.design, n_records=n_records)
    lows, highs = zip(
        *(
            usual_lengths(
                drawn(plan.moments_of(records), design=design), list(places), share=_NEARLY_ALL
            )
            for records in plan.source.described(plan.features)
        ),
        strict=True,
    )
    return min(lows), max(highs)


def _files(folder: Path) -> None:
    st.markdown(
        f"Files of this release, kept on the server as `{folder.name}`. All of them may be "
        "published."
    )
    if (folder / SIGNATURE_NAME).exists():
        st.caption(
            "`signature.json` signs all of them: whoever has the ledger's public key can check a "
            "copy with `python -m dpci_core verify`, and nobody can edit one unseen."
        )
    with st.container(horizontal=True):
        download(
            "Everything (ZIP)",
            partial(zipped, folder),
            file=f"{folder.name}.zip",
            key="release_zip",
            is_main=True,
        )
        for file in files_in(folder):
            download(file.name, file.read_bytes(), file=file.name, key=f"release_{file.name}")


def _mapped(note: MappingNote) -> None:
    """Counts for the steward alone."""
    with st.expander("For you alone: cells that did not fit the declaration"):
        st.markdown(
            "These counts come from the private table **without protection**. They are in no file "
            "and are gone when you leave; do not publish them, and do not change bounds because of "
            "them."
        )
        sentences = note.sentences()
        st.markdown(
            "\n".join(f"- {plain(sentence)}" for sentence in sentences) or "Every cell fitted."
        )
