"""A finished release on the page: its report, lengths beside what was planned, and its files."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from statistics import NormalDist

import streamlit as st

from dpci_core.plan.base import Planned
from dpci_core.planner import Target
from dpci_core.release import AnyRelease, report_html
from dpci_core.release.effects import acceptance
from dpci_core.release.signature import SIGNATURE_NAME
from dpci_core.schema import MappingNote
from ui.kit.exports import download
from ui.release import after
from ui.session.text import number, plain
from ui.views.board import board
from ui.views.ledger_text import moment
from ui.views.releases import files_in, zipped


def panel(
    made: AnyRelease,
    folder: Path,
    fresh: tuple[str, MappingNote] | None,
    planned: Planned | None = None,
    goal: Target | None = None,
) -> None:
    """The report, the goal and what was planned against what was released, files; right after the
    release also what was mapped.
    """
    st.markdown(
        f"**{plain(made.title)}**, released {moment(made.released_at)} by {plain(made.person)} as "
        f"entry {made.charge_id} of the ledger. This is the report to send:"
    )
    if said := acceptance(made):
        st.info(plain(said))
    board(report_html(made), "The report")
    for compared in (against_goal(made, goal, planned), against_plan(made, planned)):
        st.markdown(compared)
    after.section(made)
    _files(folder)
    if fresh is not None:
        _mapped(fresh[1])


def _counted(made: AnyRelease) -> str:
    return "rows" if made.schema.persons is None else made.counted


def against_goal(made: AnyRelease, goal: Target | None, planned: Planned | None = None) -> str:
    """Whether intervals are as short as the plan asked, and whether it could promise that; nothing
    of a goal that is no length.
    """
    if goal is None or goal.most is None:
        return ""
    coefficients = made.coefficients
    if goal.limits is not None:
        named, most = coefficients[: len(goal.limits)], goal.limits
        lengths = [c.scaled.length for c in named]
    else:
        named = coefficients if goal.coefficient is None else coefficients[goal.coefficient :][:1]
        lengths, most = [sum(c.scaled.length for c in named) / len(named)], (goal.most,)
    is_told = goal.coefficient is None and goal.limits is None
    is_told = is_told or not any(c.is_not_estimable for c in named)
    if is_told and all(length <= limit for length, limit in zip(lengths, most, strict=True)):
        promised = None if planned is None else planned.promise.probability
        is_rare = promised is not None and promised < goal.probability
        luck = ", though the plan could not promise it for every table" if is_rare else ""
        return f"**The goal of the plan is met**{luck}."
    return "**The goal of the plan is missed** by this release."


_LIKE_PLANNED = (0.9, 1.1)
"""Lengths within these multiples of the planned ones are as planned."""


def against_plan(made: AnyRelease, planned: Planned | None) -> str:
    """Released lengths beside planned ones, and where the difference comes from."""
    spoken = made.reported_effects
    if (ratio := made.times_as_planned) is None:
        return ""
    told = [made.coefficients[j] for j in spoken]
    if _LIKE_PLANNED[0] <= ratio <= _LIKE_PLANNED[1]:
        return f"Intervals are about as long as planned ({number(ratio)} times)."
    word = "longer" if ratio > 1.0 else "shorter"
    said = f"Intervals are **{number(ratio)} times** as long as planned."
    if made.n_records != made.n_planned:
        of_n = math.sqrt(made.n_planned / made.n_records)
        said += (
            f" The table has {made.n_records:,} {_counted(made)}, not {made.n_planned:,}: that "
            f"alone makes the sampling part {number(of_n)} times as long."
        )
    if planned is None:
        return said
    z = NormalDist().inv_cdf((1.0 + made.design.confidence_level) / 2.0)
    sampling = sum(2.0 * z * c.sampling_se for c in told)
    sampling /= sum(float(planned.scaled.nonprivate_length[j]) for j in spoken)
    is_table = (sampling - 1.0) / (ratio - 1.0) > 0.5
    if is_table:
        return (
            f"{said} Mostly the table: its sampling part is {number(sampling)} times the planned "
            f"one, because the made-up rows of the plan vary otherwise (a rarer or more scattered "
            f"outcome, or columns with {'less' if ratio > 1.0 else 'more'} spread)."
        )
    return (
        f"{said} Mostly the noise: what privacy added made them {word}; another draw would have "
        "given another length."
    )


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
