"""A screen of Learn: two algorithms with the same privacy, of which one jumps when one record is
replaced.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ui.learn import figures
from ui.learn.controls import records
from ui.learn.model import Choice, ReleaseTask, Screen
from ui.learn.numbers import Numbers
from ui.session.text import number_at_most, percent

ALPHA = 1.0
"""Privacy of both algorithms."""
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


def _chance_of_first(lead: float, n: float) -> float:
    """Return the probability that the exponential mechanism at alpha / 2 chooses the first
    candidate, `lead` ahead of the second; one record moves scores by 1/n, weights are exp(n alpha
    score / 4).
    """
    return 1.0 / (1.0 + math.exp(-n * ALPHA / 4.0 * lead))


def jump(lead: float, n: float) -> float:
    """Probability that, at equal randomness, the index changes when one record takes 1/n from the
    first score and gives it to the second.
    """
    return _chance_of_first(lead, n) - _chance_of_first(lead - 2.0 / n, n)


def unstable(n: float) -> Numbers:
    """How often the index jumps, for two tables, and how far a maximum moves."""

    def at(x: float) -> tuple[float, float, float]:
        return jump(0.0, x), max(jump(0.5, x), 1e-12), 1.0 / x

    found = np.array([at(x) for x in SIZES])
    names = ("near tie", "clear lead", "largest score")
    table = pd.DataFrame({"records n": SIZES, **dict(zip(names, found.T, strict=True))})
    near, clear, moved = at(n)
    return Numbers(n, table, {"near": near, "clear": clear, "moved": moved})


def _sentence(found: Numbers) -> str:
    return (
        f"At n = {found.value:,.0f} one replaced record makes the index jump in "
        f"{percent(found.facts['near'])} of all runs where the two candidates are close, whatever "
        f"n is; the largest noisy score moves by "
        f"{number_at_most(found.facts['moved'])} at most."
    )


UNSTABLE = Screen(
    key="unstable",
    name="Steady and unsteady algorithms",
    title="Two algorithms with the same privacy: one is steady, one jumps",
    text=(
        "Two candidates have a score each. **Both algorithms add the same kind of noise and "
        "promise the same ε = 1.** One says which candidate leads, the other how large the largest "
        "noisy score is. Now one person's record is replaced, and the dice fall exactly as before."
    ),
    control=records(SIZES, 100.0),
    question=ReleaseTask(
        ask="Does a private algorithm's answer stay nearly the same when one record changes?",
        choices=(
            Choice(
                "Yes: that is what privacy means",
                "A natural reading. Privacy says that every answer stays nearly as likely; the "
                "answer itself may jump.",
            ),
            Choice(
                "Yes, if there are many records",
                "Only where one candidate leads clearly. In a near tie the index jumps as often at "
                "any n: move the control and see.",
            ),
            Choice(
                "Not always: privacy is about chances, not about single runs",
                "Yes. So a private choice among trained models needs a score that moves little at "
                "equal noise, which privacy alone does not give.",
                is_right=True,
            ),
        ),
    ),
    compute=unstable,
    figure=figures.lines(
        "records n",
        "chance of a jump, or change",
        names=("index jumps: near tie", "index jumps: clear lead", "change of the largest score"),
    ),
    sentence=_sentence,
    assumptions=(
        "Exponential mechanism at half of ε = 1, scores that one record moves by 1/n; near tie: "
        "equal scores, clear lead: 1 and 1/2"
    ),
    mechanism=(
        "Feed both tables the same random number. The index differs where that number falls "
        "between the two chances, which is tanh(ε/4)/2 wide in a near tie, for every n, and about "
        "exp(−nε/8) where one leads by 1/2 (Chaudhuri and Vinterbo 2013). A maximum of shifted "
        "numbers moves by no more than the largest shift. Stability-based validation needs the "
        "second kind: a score of bounded slope moves by 1/(nc) at most."
    ),
    height=340,
)
