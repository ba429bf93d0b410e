"""The middle of the path: what lengthens an interval, one control at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.learn import figures, numbers
from ui.learn.controls import penalty, records
from ui.learn.model import Choice, Control, ReleaseTask, Screen
from ui.learn.numbers import Numbers
from ui.session.text import number

CURVE = (
    f"Forecast for {numbers.CURVE_D} features of the simulated census, logistic regression, "
    "objective perturbation, sharp calibration, pure ε = 1"
)
"""What all these pictures assume."""
_MEAN = "mean interval length"


_RECORDS = records(numbers.RECORDS, 20_000.0)
_FEATURES = Control(
    label="Features d",
    values=tuple(float(d) for d in numbers.FEATURES),
    start=6.0,
    show=lambda value: f"d = {value:.0f}",
    low_end="few features",
    high_end="many features",
)
_PENALTY = penalty(
    numbers.PENALTIES, 0.001, "free, needs more noise", "held back, needs less noise"
)
_WIDTH = Control(
    label="Width h",
    values=numbers.WIDTHS,
    start=1.0,
    show=lambda value: f"h = {value:g}",
    low_end="sharp kink",
    high_end="smooth kink",
)


def _lengths(control: Control) -> Callable[[Numbers], str]:
    """The sentence of a picture of lengths."""

    def say(found: Numbers) -> str:
        private, without = found.facts["private"], found.facts["non-private"]
        return (
            f"At {control.show(found.value)} the private interval is {number(private)} long, "
            f"{number(private / without, 2)} times as long as without privacy ({number(without)})."
        )

    return say


def _split(found: Numbers) -> str:
    loss = found.facts["private"] / found.facts["shortest"] - 1.0
    return (
        f"With {100 * found.value:g} % for the coefficients the mean interval is "
        f"{number(found.facts['private'])} long. The best of the shares drawn is "
        f"{100 * found.facts['best']:g} %; this one is {100 * loss:.0f} % longer."
    )


SPLIT = Screen(
    key="split",
    name="Splitting the budget",
    title="The budget is split in three, because three things are published",
    text=(
        "Coefficients alone are not enough for an interval: its length depends on the "
        "**Hessian**, the curvature of the problem, and on the **covariance of the gradients**, "
        "and these two matrices describe real people as well. So each of the three gets a part of "
        "the budget. Here the two matrices share equally what the coefficients leave."
    ),
    control=Control(
        label="Share for the coefficients",
        values=numbers.SHARES,
        start=0.5,
        show=lambda value: f"{100 * value:g} %",
        low_end="more for the matrices",
        high_end="more for the coefficients",
    ),
    question=ReleaseTask(
        ask="Which share for the coefficients gives the shortest intervals here?",
        choices=(
            Choice(
                "As much as possible: the matrices are only bookkeeping",
                "Nearly: they do need less. But with almost nothing left, their noise makes "
                "intervals very long.",
            ),
            Choice(
                "60 to 80 %",
                "Yes. The coefficients need the most, but below some share the matrices become so "
                "noisy that the interval has to be longer to stay valid.",
                is_right=True,
            ),
            Choice(
                "A third for each: equal is fair",
                "A small part does not protect “that part” more, so there is nothing to be fair "
                "about: all three are about the same people. What counts is the length.",
            ),
        ),
    ),
    compute=numbers.split,
    figure=figures.lines("share for the coefficients", _MEAN, x_log=False),
    sentence=_split,
    assumptions=f"{CURVE}, n = {numbers.CURVE_N:,}, c = {numbers.C:g}",
    mechanism=(
        "The releases compose: model, Hessian and gradient covariance parts add up to the total. "
        "The coefficients' noise enters the width as about 1/ε₁; the matrices' noise enters "
        "through H⁻¹SH⁻¹, mildly while it is small against their eigenvalues and violently after "
        "that. The page Plan moves all three parts by themselves and holds the coverage too, so "
        "its best split is another one than the best here; the length is flat around both."
    ),
)


RECORDS = Screen(
    key="n",
    address="records",
    name="More records",
    title="More records help twice",
    text=(
        "Every interval shrinks when more people answer. Without privacy, four times as many "
        "people halve it. **Privacy noise shrinks faster still: each person can hide in a larger "
        "crowd.** In a large table, privacy is nearly free; in a small one it can drown everything."
    ),
    control=_RECORDS,
    question=ReleaseTask(
        ask="n grows four times. What happens to the privacy noise in a coefficient?",
        choices=(
            Choice(
                "It halves, like the sampling error",
                "That is the rule for sampling error. Privacy noise has to cover one person out of "
                "n, so it falls like 1/n, not like 1 over its square root.",
            ),
            Choice(
                "It falls to a quarter",
                "Yes: like 1/n, because it only has to cover what one person out of n can change.",
                is_right=True,
            ),
            Choice(
                "It stays: ε is the same",
                "The promise stays the same. The noise that keeps it gets smaller, because one "
                "person matters less.",
            ),
        ),
    ),
    compute=numbers.records,
    figure=figures.lines("records n", _MEAN),
    sentence=_lengths(_RECORDS),
    assumptions=f"{CURVE}, c = {numbers.C:g}",
    mechanism=(
        "The variance of a coefficient is about A/n + B/n², the first from sampling and the second "
        "from noise. On a double logarithmic scale the non-private line falls with slope −1/2, and "
        "the private one with slope about −1, steeper at few records, until sampling takes over."
    ),
)

FEATURES = Screen(
    key="d",
    address="features",
    name="More features",
    title="Every further feature makes the others noisier",
    text=(
        "More features describe people better. But everything that is published shares one budget: "
        "more coefficients, and two matrices that grow with their square. **Look at the interval "
        "of the first coefficient, age, as others join it.**"
    ),
    control=_FEATURES,
    question=ReleaseTask(
        ask="From 1 to 30 features: how does the interval of age change without privacy, and with "
        "it?",
        choices=(
            Choice(
                "Both hardly change",
                "Without privacy that is right. Privacy noise, though, is shared by all.",
            ),
            Choice(
                "Without privacy a little, with privacy a lot",
                "Yes. Features that have little to do with age hardly disturb its estimate, but "
                "all of them have to be hidden by the same noise.",
                is_right=True,
            ),
            Choice(
                "Both grow alike",
                "Sampling error grows only where features say much the same. Noise grows with "
                "every feature.",
            ),
        ),
    ),
    compute=numbers.features,
    figure=figures.lines("features d", "interval length of age"),
    sentence=_lengths(_FEATURES),
    assumptions=f"Forecast for the first d features, n = {numbers.CURVE_N:,}, c = {numbers.C:g}, "
    "pure ε = 1, sharp",
    mechanism=(
        "Records are scaled to length at most 1, so with more features each one takes up less of "
        "it. Spherical noise grows with the dimension, and the noise on the matrices has p(p + "
        "1)/2 entries, p = d + 1. Leaving out what you do not need is the cheapest gain there is, "
        "if you decide it without looking at the table."
    ),
)

PENALTY = Screen(
    key="c",
    address="penalty",
    name="The penalty",
    title="The penalty c stabilises estimates, and shrinks them toward zero",
    text=(
        "A penalty c holds the coefficients back, so that no single person can move them far. The "
        "larger c, the less noise is needed. **The price: what is estimated is itself shrunk "
        "toward zero**, and the interval is around the shrunken coefficient."
    ),
    control=_PENALTY,
    question=ReleaseTask(
        ask="A larger c gives a shorter interval. Is that a better interval?",
        choices=(
            Choice(
                "Yes, shorter is better",
                "Shorter around what? With a large c the interval is short around a number that is "
                "close to zero for everybody.",
            ),
            Choice(
                "Not always: it is around a coefficient that was shrunk toward zero",
                "Yes. It keeps its promise for the shrunken coefficient only. “Without penalty” on "
                "Explore undoes that, at the price of length.",
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
    sentence=_lengths(_PENALTY),
    assumptions=f"{CURVE}, n = {numbers.CURVE_N:,}",
    mechanism=(
        "c|θ|² is added to the average loss, so every eigenvalue of H is at least 2c. Noise enters "
        "as H⁻¹b/n or with scale 1/(nc). The target is the minimiser of the penalised expected "
        "loss; it moves with c."
    ),
)

WIDTH = Screen(
    key="h",
    address="rounding",
    name="Rounding the SVM",
    title="An SVM needs its kink smoothed, neither too little nor too much",
    text=(
        "A support vector machine's loss has a kink, and at a kink one person can flip the "
        "curvature. So the kink is **smoothed over a width h**. A sharp kink makes the curvature "
        "hard to publish; a wide one blurs the model."
    ),
    control=_WIDTH,
    question=ReleaseTask(
        ask="What limits how sharp the kink can be?",
        choices=(
            Choice(
                "The noise on the Hessian, which grows like 1/h",
                "Yes. One record can change the Hessian by up to 1/(2h): the smaller h, the more "
                "noise hides it.",
                is_right=True,
            ),
            Choice(
                "Computing time",
                "Sharp kinks are no trouble to compute. What gets expensive is hiding one person "
                "in the Hessian.",
            ),
            Choice(
                "Nothing: smaller is always better",
                "The estimates do scatter less at first. But the private interval needs the "
                "Hessian, and that becomes too noisy.",
            ),
        ),
    ),
    compute=numbers.width,
    figure=figures.lines("width h", _MEAN),
    sentence=_lengths(_WIDTH),
    assumptions=f"{CURVE.replace('logistic regression', 'Huber SVM')}, n = {numbers.CURVE_N:,}, c "
    f"= {numbers.C:g}",
    mechanism=(
        "The Huber loss is quadratic on |1 − z| ≤ h and has curvature 1/(2h) there, 0 elsewhere. "
        "That sets the sensitivity of H. The loss itself changes with h, and with it the "
        "coefficient that is estimated."
    ),
)

MIDDLE = (SPLIT, RECORDS, FEATURES, PENALTY, WIDTH)
