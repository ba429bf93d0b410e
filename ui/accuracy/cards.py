"""The section "Private scorecards" of the page Prediction error: whole points instead of
coefficients, and what they are wrong about.
"""

from __future__ import annotations

import streamlit as st

from dpci_core.studies.accuracy.scorecard_run import ScorecardRate, read_scorecards
from ui.accuracy import cards_numbers as numbers
from ui.accuracy.cards_numbers import SIZES, TABLES, run_of
from ui.controls import hints
from ui.kit import linked
from ui.kit.bound import among
from ui.session.words import in_words
from ui.views.show import show

_TABLE = linked.one_of("cards_of", tuple(TABLES), default="adult", widget="cards_table_choice")
_SIZE = linked.one_of("cards_n", tuple(SIZES), default="all", widget="cards_size")
_EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3")
_EPSILON = linked.one_of("cards_epsilon", _EPSILONS, default="0.1", widget="cards_epsilon")
_CUBE = linked.whole_number("cube", numbers.MOST_DIMENSIONS, default=100, widget="cube_dimensions")
_LEAST = 5

LEAD = """
A card gives whole points for a yes to each of a few questions, and anybody can add them up. All cards are listed, and one
is drawn privately: no coefficients, and an exact forecast of how often the drawn card is wrong.
"""  # noqa: E501 - Markdown

HOW = """
Six questions, points from −2 to 2, thresholds from −5.5 to 5.5: 187,500 cards, of which 61,088 differ in an answer.
Exponential noise of mean 2/ε on the mistakes of each (permute-and-flip) makes the draw ε-private. The line of the card is its
law, summed exactly; nothing is simulated.

*RSPM* and *OPDisc* (Neel, Roth, Vietri and Wu 2019) look for the minimum of mistakes with noise in the objective; OPDisc stands
here with spherical Laplace noise, our repair. They look among whole vectors of squared norm at most 7 (3,240 rules), need an exact minimum, and are here **for comparison, never a release**.
They also work where cards cannot be listed; these tables are no such case. *Logistic regression* is objective perturbation at
the default penalty, the whole ε on its coefficients.

A release holds out some records that count the drawn card's mistakes. A record either chooses or counts, so the interval for the
card's error costs nothing more (`DPScorecard`). The proofs are in `docs/scorecards.md`.
"""  # noqa: E501 - Markdown

DIFFERS = """
- **Nothing to compare with.** The paper's figures are lost in our text and it prints no numbers; its claims are compared in direction.
- OPDisc above RSPM: confirmed for the pure version. Both above private logistic regression: not confirmed on Adult against objective
  perturbation; their baseline was private gradient descent.
- **Adult** is all positives of the complete rows and as many others, 15,016 records; theirs kept rows with missing cells. Six questions
  with cut points of ours stand for their seven features.
- Mistakes are counted on the records that choose, as they do.
"""  # noqa: E501 - Markdown

CUBE = """
To be private, noise must be rare to be bad **for whichever answer comes out**. OPDisc as printed bounds the bad noise for each answer
by itself, but the answer is the one that the noise points to. Here the answers are the corners of a cube in d dimensions and the one record
is about whether an even number of coordinates is −1.
"""  # noqa: E501 - Markdown


def section() -> None:
    """Draw the section."""
    st.markdown(LEAD)
    rows, problem = _read()
    if problem:
        st.warning(problem)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        table: str = st.selectbox("Table of the cards", **among(TABLES), **_TABLE.bound())
    sizes = [size for size in SIZES if any(row.run == run_of(table, size) for row in rows)]
    if not sizes:
        command = f"python -m benchmarks.scorecards curves {table}"
        st.info(f"No results of this table are on file; `{command}` measures them.")
        return
    with right:
        shown = _SIZE.value if _SIZE.value in sizes else sizes[0]
        words = {size: SIZES[size] for size in sizes}
        size = st.segmented_control("Records", **among(words), **_SIZE.bound(shown)) or shown
    mine = [row for row in rows if row.run == run_of(table, size)]
    _curves(mine, TABLES[table])
    _card(mine)
    hints.expander("How cards are drawn", HOW)
    hints.expander("What differs from the paper on hard losses", DIFFERS)
    with st.expander("A bound for each answer is not a bound for the answer you get"):
        _cube()


def _read() -> tuple[list[ScorecardRate], str]:
    """Our results; a file that cannot be read counts as none, in words."""
    try:
        return read_scorecards(), ""
    except (ValueError, OSError) as problem:
        return [], f"Our results on file cannot be read: {in_words(problem)}"


def _curves(rows: list[ScorecardRate], title: str) -> None:
    sentence = numbers.needs_sentence(rows)
    show(
        "cards",
        numbers.cards_chart(rows, title),
        sentence,
        numbers.cards_table(rows),
        title=sentence.rstrip("."),
    )
    st.markdown(numbers.other_way_sentence(rows))
    one = rows[0]
    st.caption(
        f"Seed {one.seed}, {one.date}, {one.versions}. `python -m benchmarks.scorecards curves "
        f"{one.run} --seed {one.seed}` makes it again."
    )


def _card(rows: list[ScorecardRate]) -> None:
    st.subheader("A card")
    options = {epsilon: epsilon for epsilon in _EPSILONS}
    epsilon: str = st.select_slider("ε of the card", **among(options), **_EPSILON.bound())
    row = next(r for r in rows if r.method == "scorecard" and r.epsilon == epsilon)
    left, right = st.columns(2)
    with left:
        st.table(numbers.card_table(row).set_index("question"))
    with right:
        st.markdown(numbers.card_sentence(row))
        st.markdown(f"**{numbers.planner_sentence(epsilon)}**")


def _cube() -> None:
    st.markdown(CUBE)
    d: int = st.slider(
        "Dimensions d",
        _LEAST,
        numbers.MOST_DIMENSIONS,
        **_CUBE.bound(max(_LEAST, int(_CUBE.value))),
    )
    show("cube", numbers.cube_chart(d), numbers.cube_sentence(d), numbers.cube_table())
