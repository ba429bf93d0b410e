"""The path of Learn in its order, with its last screens: the yardstick, the slack, the shape of
noise, and the leak of a choice.
"""

from __future__ import annotations

from ui.learn import figures, numbers
from ui.learn.controls import budget, records
from ui.learn.crowd import CROWD
from ui.learn.model import Choice, ReleaseTask, Screen
from ui.learn.numbers import Numbers
from ui.learn.screens_lengths import CURVE, MIDDLE
from ui.learn.screens_promises import FIRST
from ui.session.text import number

SPREAD = Screen(
    key="variability",
    name="The yardstick",
    title="On average no valid interval is shorter than the spread of what you publish",
    text=(
        "Repeat the whole study, with new people and new noise each time, and look only at the "
        "published estimates. The middle 95 % of them span the **variability interval**. An "
        "interval around such an estimate that keeps its promise cannot be shorter on average. So "
        "it is the yardstick on all our charts."
    ),
    control=budget(2.0, lowest=1.0),
    question=ReleaseTask(
        ask="The private interval is 1.2 times the variability interval. What does that say?",
        choices=(
            Choice(
                "It misses too often",
                "Length alone does not say that. How often an interval misses depends on whether "
                "its noise is counted rightly: a longer one may miss more.",
            ),
            Choice(
                "If it keeps its promise, it is 20 % longer than it would have to be",
                "Yes: the two matrices are not known exactly, and a method may waste some length.",
                is_right=True,
            ),
            Choice(
                "Privacy made it 20 % longer",
                "That would be the comparison with the non-private interval. The variability "
                "interval already contains the privacy noise.",
            ),
        ),
    ),
    compute=numbers.spread,
    figure=figures.spread,
    sentence=lambda found: (
        f"The variability interval is {number(found.facts['variability'])} long and holds "
        f"{found.facts['inside']:.0f} of the {numbers.N_REPLAYS} private estimates; the private "
        f"interval is {number(found.facts['private'])} long on average, the non-private one "
        f"{number(found.facts['non-private'])}."
    ),
    assumptions=(
        f"{numbers.N_REPLAYS} studies of {numbers.REPLAY_ROWS} people of the simulated census, "
        f"output perturbation, half of ε for the coefficients, c = {numbers.REPLAY_C:g}; lengths "
        "are forecasts"
    ),
    mechanism=(
        "Under output perturbation an estimate is normal sampling error plus spherical Laplace "
        "noise; the variability interval holds 95 % of that law. The private interval has to "
        "estimate the same law from two noisy matrices, so its length varies from release to "
        "release; drawn is its mean."
    ),
    height=340,
)


SHARP = Screen(
    key="sharp",
    name="Sharper intervals",
    title="Same guarantee, shorter intervals",
    text=(
        "The published method rounds up wherever it can. **“Sharp” intervals of this project make "
        "the same two promises, privacy and coverage, from the same release budget, without the "
        "slack.** The gain is largest where the table is large; where noise dominates, sharp is "
        "longer, because published intervals then miss more."
    ),
    control=records(numbers.RECORDS, 50_000.0),
    question=ReleaseTask(
        ask="Shorter intervals at the same ε: who pays?",
        choices=(
            Choice(
                "The people in the table: less privacy",
                "A fair suspicion. But the guarantee is the same: ε is what it was, and only the "
                "proof is tighter.",
            ),
            Choice(
                "The readers: more intervals miss",
                "They are made for 95 %, and where noise dominates both fall a little short. "
                "Published intervals often cover 97 or 99 %, which is more than they promise.",
            ),
            Choice(
                "Nobody: the noise was larger than the guarantee needs",
                "Yes. There was more noise than hiding one person takes, and a lower limit on a "
                "matrix lengthened intervals for no reason.",
                is_right=True,
            ),
        ),
    ),
    compute=numbers.sharp,
    figure=figures.lines(
        "records n", "length ÷ variability interval", y_log=False, names=("published", "sharp")
    ),
    sentence=lambda found: (
        f"At n = {found.value:,.0f} the published interval is {found.facts['published']:.2f} times "
        f"the variability interval, the sharp one {found.facts['sharp']:.2f} times."
    ),
    assumptions=f"{CURVE.replace(', sharp calibration', '')}, c = {numbers.C:g}",
    mechanism=(
        "Contributions to both matrices are positive semidefinite, which takes √2 off every "
        "sensitivity; a symmetric matrix needs noise for p(p + 1)/2 entries only; the floor 2c "
        "under the gradient covariance has no ground; and the known law of the noise is undone in "
        "the half-widths. The page Evidence shows each alone."
    ),
)


def _peeking(found: Numbers) -> str:
    return (
        f"{numbers.N_CANDIDATES} records that one person may have had lead to "
        f"{found.facts['different']:.0f} different budgets, from {found.facts['low']:g} to "
        f"{found.facts['high']:g}. Whoever knows everybody else can compute this list, and the "
        "announced budget then reveals which records are impossible."
    )


PEEKING = Screen(
    key="peeking",
    name="Choosing by looking",
    title="Choosing the budget by looking at the table gives the table away",
    text=(
        "A steward opens the private table and takes **just enough budget** for an interval twice "
        "as long as without privacy. Then the budget is announced, as it must be. But the number "
        "came from the table, without any noise. Here it is, for each record that one person in "
        "the table may have."
    ),
    control=records((100, 200, 500, 1000, 2000, 5000), 200.0),
    question=ReleaseTask(
        ask="Is it enough that the release itself is private?",
        choices=(
            Choice(
                "Yes: the noise protects everything that is published",
                "It protects the release. The budget is published too, and it was read off the "
                "table without noise.",
            ),
            Choice(
                "Yes, if the table is large",
                "A larger table makes the differences smaller, but exact numbers stay exact: move "
                "the control and see.",
            ),
            Choice(
                "No: the choice itself is a message about the table",
                "Yes. Plan on a public table or on one made up from a description, as the page "
                "Plan does. Then the budget says nothing about anyone.",
                is_right=True,
            ),
        ),
    ),
    compute=numbers.peeking,
    figure=figures.peeking,
    sentence=_peeking,
    assumptions=(
        "Simulated census, education and intercept, output perturbation, pure ε, c = "
        f"{numbers.PEEK_C:g}; six digits"
    ),
    mechanism=(
        "The forecast of a length uses the table's own H and S, so the smallest sufficient budget "
        "is a deterministic function of the records. Such functions have no privacy guarantee at "
        "any ε. Rounding the budget helps only until a record lies near an edge. The same holds "
        "for dropping a feature, or for publishing only if the interval came out well."
    ),
)

SCREENS: tuple[Screen, ...] = (
    *FIRST,
    *MIDDLE,
    SPREAD,
    SHARP,
    CROWD,
    PEEKING,
)
"""The path, in its order."""


LESSON = tuple(screen for screen in SCREENS if screen.key not in ("concentrated", "split", "h"))
"""What 45 minutes have room for, in the same order."""


def find(name: str) -> Screen | None:
    """The screen with this address or, as in old links, this key."""
    return next((s for s in SCREENS if name in (s.key, s.address)), None)


def address(screen: Screen) -> str:
    """Return the name of a screen in a link."""
    return screen.address or screen.key
