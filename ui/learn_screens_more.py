"""The second half of the path: what lengthens an interval, and how not to give the secret away while planning."""

from __future__ import annotations

from collections.abc import Callable

from ui import learn_figures as figures
from ui import learn_numbers as numbers
from ui.learn_model import Choice, Control, Question, Screen
from ui.learn_numbers import Numbers
from ui.learn_screens import FIRST, budget
from ui.text import number

_CURVE = (
    f"Forecast for {numbers.CURVE_D} features of the simulated census, logistic regression, objective perturbation, "
    "sharp calibration, pure ε = 1"
)
_MEAN = "mean interval length"


def _lengths(word: Callable[[float], str]) -> Callable[[Numbers], str]:
    """The sentence of a picture of lengths."""

    def say(found: Numbers) -> str:
        private, plain = found.facts["private"], found.facts["non-private"]
        return (
            f"At {word(found.value)} the private interval is {number(private)} long, {number(private / plain, 2)} "
            f"times as long as without privacy ({number(plain)})."
        )

    return say


def _split(found: Numbers) -> str:
    loss = found.facts["private"] / found.facts["shortest"] - 1.0
    return (
        f"With {100 * found.value:g} % for the coefficients the mean interval is {number(found.facts['private'])} "
        f"long. The best of the shares drawn is {100 * found.facts['best']:g} %; this one is {100 * loss:.0f} % longer."
    )


SPLIT = Screen(
    key="split",
    title="The budget is split in three, because three things are published",
    text=(
        "Coefficients alone are not enough for an interval: its length depends on the **curvature** of the problem "
        "and on the **spread of the gradients**, and these two matrices describe real people as well. So each of the "
        "three gets a part of the budget. Here the two matrices share equally what the coefficients leave."
    ),
    control=Control(
        label="Share for the coefficients",
        values=numbers.SHARES,
        start=0.5,
        show=lambda value: f"{100 * value:g} %",
        low_end="more for the matrices",
        high_end="more for the coefficients",
    ),
    question=Question(
        ask="Which share for the coefficients gives the shortest intervals here?",
        choices=(
            Choice(
                "As much as possible: the matrices are only bookkeeping",
                "Nearly: they do need less. But with almost nothing left, their noise makes the lengths explode.",
            ),
            Choice(
                "A good half to three quarters",
                "Yes. The coefficients need the most, but below some share the matrices become so noisy that the "
                "interval has to be longer to stay honest.",
                is_right=True,
            ),
            Choice(
                "A third for each: equal is fair",
                "A small part does not protect “that part” more, so there is nothing to be fair about: all three are "
                "about the same people. What counts is the length.",
            ),
        ),
    ),
    compute=numbers.split,
    figure=figures.lines("share for the coefficients", _MEAN, x_log=False),
    sentence=_split,
    assumptions=f"{_CURVE}, n = {numbers.CURVE_N:,}, c = {numbers.C:g}",
    mechanism=(
        "The releases compose: model, Hessian and gradient covariance parts add up to the total. The coefficients' "
        "noise enters the width as about 1/ε₁; the matrices' noise enters through H⁻¹SH⁻¹, mildly while it is small "
        "against their eigenvalues and violently after that. The page Plan finds the best split."
    ),
    legend_rows=2,
)


RECORDS = Screen(
    key="n",
    title="More records help twice",
    text=(
        "Every interval shrinks when more people answer. Without privacy, four times as many people halve it. "
        "**Privacy noise shrinks faster still: each person can hide in a larger crowd.** In a large table, privacy is "
        "nearly free; in a small one it can drown everything."
    ),
    control=Control(
        label="Records n",
        values=tuple(float(n) for n in numbers.RECORDS),
        start=20_000.0,
        show=lambda value: f"n = {value:,.0f}",
        low_end="small table",
        high_end="large table",
    ),
    question=Question(
        ask="n grows four times. What happens to the privacy noise in a coefficient?",
        choices=(
            Choice(
                "It halves, like the sampling error",
                "That is the rule for sampling error. Privacy noise has to cover one person out of n, so it falls like "
                "1/n, not like 1 over its square root.",
            ),
            Choice(
                "It falls to a quarter",
                "Yes: like 1/n, because it only has to cover what one person out of n can change.",
                is_right=True,
            ),
            Choice(
                "It stays: ε is the same",
                "The promise stays the same. The noise that keeps it gets smaller, because one person matters less.",
            ),
        ),
    ),
    compute=numbers.records,
    figure=figures.lines("records n", _MEAN),
    sentence=_lengths(lambda value: f"n = {value:,.0f}"),
    assumptions=f"{_CURVE}, c = {numbers.C:g}",
    mechanism=(
        "The variance of a coefficient is about A/n + B/n², the first from sampling and the second from noise. On a "
        "double logarithmic scale the non-private line falls with slope −1/2, and the private one with slope −1 until "
        "sampling takes over."
    ),
    legend_rows=2,
)

FEATURES = Screen(
    key="d",
    title="Every further feature makes the others noisier",
    text=(
        "More features describe people better. But everything that is published shares one budget: more coefficients, "
        "and two matrices that grow with their square. **Look at the interval of the first coefficient, age, as "
        "others join it.**"
    ),
    control=Control(
        label="Features d",
        values=tuple(float(d) for d in numbers.FEATURES),
        start=6.0,
        show=lambda value: f"d = {value:.0f}",
        low_end="few features",
        high_end="many features",
    ),
    question=Question(
        ask="From 1 to 30 features: how does the interval of age change without privacy, and with it?",
        choices=(
            Choice("Both hardly change", "Without privacy that is right. Privacy noise, though, is shared by all."),
            Choice(
                "Without privacy a little, with privacy a lot",
                "Yes. Features that have little to do with age hardly disturb its estimate, but all of them have to be "
                "hidden by the same noise.",
                is_right=True,
            ),
            Choice(
                "Both grow alike",
                "Sampling error grows only where features overlap in meaning. Noise does not ask for meaning.",
            ),
        ),
    ),
    compute=numbers.features,
    figure=figures.lines("features d", "interval length of age"),
    sentence=_lengths(lambda value: f"d = {value:.0f}"),
    assumptions=f"Forecast for the first d features, n = {numbers.CURVE_N:,}, c = {numbers.C:g}, pure ε = 1, sharp",
    mechanism=(
        "Records are scaled to length at most 1, so with more features each one takes up less of it. Spherical noise "
        "grows with the dimension, and the noise on the matrices has p(p + 1)/2 entries, p = d + 1. Leaving out what "
        "you do not need is the cheapest gain there is, if you decide it without looking at the table."
    ),
    legend_rows=2,
)

PENALTY = Screen(
    key="c",
    title="The penalty c buys calm, and pulls coefficients toward zero",
    text=(
        "A penalty c holds the coefficients back, so that no single person can move them far. The larger c, the less "
        "noise is needed. **The price: what is estimated is itself pulled toward zero**, and the interval is around "
        "the pulled coefficient."
    ),
    control=Control(
        label="Penalty c",
        values=numbers.PENALTIES,
        start=0.001,
        show=lambda value: f"c = {value:g}",
        low_end="free, needs more noise",
        high_end="held back, needs less noise",
    ),
    question=Question(
        ask="A larger c gives a shorter interval. Is that a better interval?",
        choices=(
            Choice(
                "Yes, shorter is better",
                "Shorter around what? With a large c the interval is short around a number that is close to zero for "
                "everybody.",
            ),
            Choice(
                "Not always: it is around a coefficient that was pulled toward zero",
                "Yes. It keeps its promise for the pulled coefficient only. “Without penalty” on Explore undoes the "
                "pull, at the price of length.",
                is_right=True,
            ),
            Choice(
                "No, it is wrong: it misses too often",
                "It keeps its promise, but for another number than most readers have in mind.",
            ),
        ),
    ),
    compute=numbers.penalty,
    figure=figures.lines("penalty c", _MEAN),
    sentence=_lengths(lambda value: f"c = {value:g}"),
    assumptions=f"{_CURVE}, n = {numbers.CURVE_N:,}",
    mechanism=(
        "c|θ|² is added to the average loss, so every eigenvalue of H is at least 2c. Noise enters as H⁻¹b/n or with "
        "scale 1/(nc). The target is the minimiser of the penalised expected loss; it moves with c."
    ),
    legend_rows=2,
)

WIDTH = Screen(
    key="h",
    title="An SVM needs its corner rounded, neither too little nor too much",
    text=(
        "A support vector machine's loss has a kink, and at a kink one person can flip the curvature. So the kink is "
        "**rounded over a width h**. A sharp corner makes the curvature hard to publish; a wide one blurs the model."
    ),
    control=Control(
        label="Width h",
        values=numbers.WIDTHS,
        start=1.0,
        show=lambda value: f"h = {value:g}",
        low_end="sharp corner",
        high_end="wide corner",
    ),
    question=Question(
        ask="What limits how sharp the corner can be?",
        choices=(
            Choice(
                "The noise on the curvature, which grows like 1/h",
                "Yes. One record changes the curvature by up to 1/(2h), so a small h needs much noise on that matrix.",
                is_right=True,
            ),
            Choice(
                "Computing time",
                "The solver takes sharp corners well. It is the protection of the curvature that gets expensive.",
            ),
            Choice(
                "Nothing: smaller is always better",
                "The variability interval indeed shrinks at first. But the private interval needs the curvature, and "
                "that becomes too noisy.",
            ),
        ),
    ),
    compute=numbers.width,
    figure=figures.lines("width h", _MEAN),
    sentence=_lengths(lambda value: f"h = {value:g}"),
    assumptions=f"{_CURVE.replace('logistic regression', 'Huber SVM')}, n = {numbers.CURVE_N:,}, c = {numbers.C:g}",
    mechanism=(
        "The Huber loss is quadratic on |1 − z| ≤ h and has curvature 1/(2h) there, 0 elsewhere. That sets the "
        "sensitivity of H. The loss itself changes with h, and with it the coefficient that is estimated."
    ),
    legend_rows=2,
)


SPREAD = Screen(
    key="variability",
    title="No honest interval is shorter than the spread of what you publish",
    text=(
        "Repeat the whole study, with new people and new noise each time, and look only at the published estimates. "
        "The middle 95 % of them span the **variability interval**. An interval around such an estimate that keeps its "
        "promise cannot be shorter on average. So it is the yardstick on all our charts."
    ),
    control=budget(2.0, lowest=0.3),
    question=Question(
        ask="The private interval is 1.2 times the variability interval. What does that say?",
        choices=(
            Choice(
                "It misses too often",
                "The other way round: it is longer than the spread, so it misses less often than it may.",
            ),
            Choice(
                "It is 20 % longer than it would have to be",
                "Yes: the extra length pays for not knowing the two matrices exactly, or for a method that wastes.",
                is_right=True,
            ),
            Choice(
                "Privacy made it 20 % longer",
                "That would be the comparison with the non-private interval. The variability interval already "
                "contains the privacy noise.",
            ),
        ),
    ),
    compute=numbers.spread,
    figure=figures.spread,
    sentence=lambda found: (
        f"The variability interval is {number(found.facts['vi'])} long and holds {found.facts['inside']:.0f} of the "
        f"{numbers.N_REPLAYS} private estimates; the private interval is {number(found.facts['ci'])} long on average, "
        f"the non-private one {number(found.facts['plain'])}."
    ),
    assumptions=(
        f"{numbers.N_REPLAYS} studies of {numbers.REPLAY_ROWS} people of the simulated census, output perturbation, "
        f"half of ε for the coefficients, c = {numbers.REPLAY_C:g}; lengths are forecasts"
    ),
    mechanism=(
        "Under output perturbation an estimate is normal sampling error plus spherical Laplace noise; the variability "
        "interval holds 95 % of that law. The private interval has to estimate the same law from two noisy matrices, "
        "so its length varies from release to release; drawn is its mean."
    ),
    legend_rows=5,
    height=420,
)


SHARP = Screen(
    key="sharp",
    title="The same promise from the same budget can be kept with less length",
    text=(
        "The published method rounds up wherever it can. **“Sharp” intervals of this project make the same two "
        "promises, privacy and coverage, from the same release budget, without the slack.** The gain is largest "
        "where the table is large; where noise dominates, sharp is longer, because published intervals then miss."
    ),
    control=Control(
        label="Records n",
        values=tuple(float(n) for n in numbers.RECORDS),
        start=50_000.0,
        show=lambda value: f"n = {value:,.0f}",
        low_end="small table",
        high_end="large table",
    ),
    question=Question(
        ask="Shorter intervals at the same ε: who pays?",
        choices=(
            Choice(
                "The people in the table: less privacy",
                "A fair suspicion. But the guarantee is the same, proved with tighter bounds; ε is what it was.",
            ),
            Choice(
                "The readers: more intervals miss",
                "They are held to 95 %. Published intervals often cover 97 or 99 %, which is more than they promise.",
            ),
            Choice(
                "Nobody: the slack was waste",
                "Yes. Noise was larger than one person requires, and a floor under a matrix lengthened intervals for "
                "no reason.",
                is_right=True,
            ),
        ),
    ),
    compute=numbers.sharp,
    figure=figures.lines("records n", "length ÷ variability interval", y_log=False, names=("published", "sharp")),
    sentence=lambda found: (
        f"At n = {found.value:,.0f} the published interval is {found.facts['published']:.2f} times the variability "
        f"interval, the sharp one {found.facts['sharp']:.2f} times."
    ),
    assumptions=f"{_CURVE.replace(', sharp calibration', '')}, c = {numbers.C:g}",
    mechanism=(
        "Contributions to both matrices are positive semidefinite, which takes √2 off every sensitivity; a symmetric "
        "matrix needs noise for p(p + 1)/2 entries only; the floor 2c under the gradient covariance has no ground; and "
        "the known law of the noise is undone in the half-widths. The page “Published or sharp” shows each alone."
    ),
)


def _peeking(found: Numbers) -> str:
    return (
        f"{numbers.N_CANDIDATES} records that one person may have had lead to {found.facts['different']:.0f} "
        f"different budgets, from {found.facts['low']:g} to {found.facts['high']:g}. Whoever knows "
        "everybody else can compute this list, and the announced budget then rules records out, with certainty."
    )


PEEKING = Screen(
    key="peeking",
    title="Choosing the budget by looking at the table gives the table away",
    text=(
        "A steward opens the private table and takes **just enough budget** for an interval twice as long as without "
        "privacy. Then the budget is announced, as it must be. But the number came from the table, without any noise. "
        "Here it is, for each record that one person in the table may have."
    ),
    control=Control(
        label="Records n",
        values=(100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0),
        start=200.0,
        show=lambda value: f"n = {value:,.0f}",
        low_end="small table",
        high_end="large table",
    ),
    question=Question(
        ask="Is it enough that the release itself is private?",
        choices=(
            Choice(
                "Yes: the noise protects everything that is published",
                "It protects the release. The budget is published too, and it was read off the table without noise.",
            ),
            Choice(
                "Yes, if the table is large",
                "A larger table makes the differences smaller, but exact numbers stay exact: move the control and see.",
            ),
            Choice(
                "No: the choice itself is a message about the table",
                "Yes. Plan on a public table or on one made up from a description, as the page Plan does. Then the "
                "budget says nothing about anyone.",
                is_right=True,
            ),
        ),
    ),
    compute=numbers.peeking,
    figure=figures.peeking,
    sentence=_peeking,
    assumptions=(
        f"Simulated census, education and constant, output perturbation, pure ε, c = {numbers.PEEK_C:g}; six digits"
    ),
    mechanism=(
        "The forecast of a length uses the table's own H and S, so the smallest sufficient budget is a deterministic "
        "function of the records. Such functions have no privacy guarantee at any ε. Rounding the budget helps only "
        "until a record lies near an edge. The same holds for dropping a feature, or for publishing only if the "
        "interval came out well."
    ),
)

SCREENS: tuple[Screen, ...] = (
    *FIRST,
    SPLIT,
    RECORDS,
    FEATURES,
    PENALTY,
    WIDTH,
    SPREAD,
    SHARP,
    PEEKING,
)
"""The path, in its order."""


def find(key: str) -> Screen | None:
    """The screen with this key."""
    return next((screen for screen in SCREENS if screen.key == key), None)
