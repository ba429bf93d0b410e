"""All wording that depends on a value: the sentence under each control, assumptions on charts,
explanations.
"""

from __future__ import annotations

import re
from functools import singledispatch
from typing import Any

from dpci_core.design import ESTIMANDS, Design
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.budget import (
    approx_risk,
    pure_risk,
    to_float_down,
    zcdp_to_epsilon,
    zcdp_to_epsilon_published,
)
from dpci_core.privacy.gaussian import gdp_to_epsilon
from dpci_core.regression.design import COVERS, LinearDesign
from dpci_core.report import words
from dpci_core.report.covered import covered
from dpci_core.report.words import CERTAIN, LARGE_EPSILON, people_at_most
from dpci_core.report.words import as_typed as as_typed
from dpci_core.report.words import at_most as at_most
from dpci_core.report.words import called as called
from dpci_core.report.words import number as number
from dpci_core.report.words import number_at_most as number_at_most
from dpci_core.report.words import percent as percent
from dpci_core.schema import Records
from ui.session.choices import CALIBRATIONS, SMOOTHINGS, TARGETS
from ui.session.settings import Settings
from ui.session.shape import ShapeSource

DECLARED_SENTENCE = (
    "Made-up rows from your description alone: bounds, levels and guesses. No file is opened, so "
    "nothing is given away."
)
BRING_YOUR_FILE = "Bring your file under “Settings”, or choose another table there."
LARGE_BUDGET = "**Large budget:** this is weak protection for one person."
PRIVACY_UNIT = (
    "What is protected: the record of any one person (replace-one neighbours: tables that differ "
    "in the value of one record). The number of records is public."
)


def privacy_unit(settings: Settings) -> str:
    """What is protected in a table that is planned for."""
    if settings.persons is None:
        return PRIVACY_UNIT
    rows = settings.persons.rows
    one = words.protected("one person", rows)
    return f"What is protected: {one}. {words.neighbours(rows)}"


_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>()#+-!|~$:&"})
_WOKEN = re.compile(
    r"(?<=www)(?=\.)|(?<=:)(?=//)|(?<=@)(?=[\w-])"  # a link without brackets
    r"|(?<=:)(?=[\w+-]+(?:/\w+)?:)"  # a picture by its name
    # an arrow, a dash or a comparison that stands alone
    r"|(?<=(?<!\S)[-<>~])(?=[-=>]>?(?!\S))|(?<=(?<!\S)<-)(?=>(?!\S))",
    re.IGNORECASE,
)
"""Where Streamlit puts something else into a text that is read already, so that no escape helps."""
_APART = ":small[]"
"""Small print of nothing, which parts a text in two: nothing of it is seen or copied."""
_NUMBERED = re.compile(r"^(\s*\d+)\.(?=\s|$)", re.MULTILINE)


def plain(text: str) -> str:
    """A text somebody typed, so that Markdown shows it letter by letter, and whoever copies it from
    the page has the same letters; where escapes do not help, the text is parted.
    """
    apart = _APART.join(part.translate(_MARKDOWN) for part in _WOKEN.split(text))
    return _NUMBERED.sub(r"\1\\.", apart)


def code(text: str) -> str:
    """A text as code, which no backtick in it ends."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, blank = "`" * (longest + 1), " " * bool(longest)
    return f"{fence}{blank}{text}{blank}{fence}"


def is_as_long(times: float) -> bool:
    """Whether so many times as long is told as as long: a forecast by draws can even be shorter."""
    return times < 1.005


def times_as_long(times: float) -> str:
    """How long intervals are beside others, before an "as"."""
    return "about as long" if is_as_long(times) else f"{number(times)} times as long"


def lowered(sentence: str) -> str:
    """A sentence as it goes on after a colon or a comma."""
    return sentence[0].lower() + sentence[1:]


def risk_pure(epsilon: float) -> str:
    """What a pure epsilon lets an attacker learn about one person."""
    return words.risk_pure(epsilon, mark="**")


def risk_approx(epsilon: float, delta: float) -> str:
    """What an (epsilon, delta) guarantee lets an attacker find."""
    return words.risk_approx(epsilon, delta, mark="**")


def risk_pure_short(epsilon: float) -> str:
    """Return in a few words what a pure epsilon lets an attacker learn about one person."""
    found = at_most(pure_risk(epsilon))
    most = f"to at most **{found}** sure" if found != CERTAIN else "sure to **certain**"
    return f"Lets an attacker go from 50 % {most}."


def risk_approx_short(epsilon: float, delta: float) -> str:
    """Return in a few words what an (epsilon, delta) guarantee lets an attacker find."""
    found = people_at_most(approx_risk(epsilon, delta))
    return (
        f"Lets an attacker recognise at most **{found}** of 100 people, with 1 false alarm in 100."
    )


def unbroken(words: str) -> str:
    """Words in which no line ends inside a number such as 1e-6, or between it and its sign."""
    return re.sub(
        r"(\de)-(\d)",
        "\\1\N{NON-BREAKING HYPHEN}\\2",
        words.replace(" %", "\N{NO-BREAK SPACE}%").replace(
            " = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
        ),
    )


def risk_sentence(settings: Settings) -> str:
    """What the total budget lets somebody learn, with a flag on a large one."""
    epsilon = settings.own_epsilon
    is_pure = not settings.kind.has_delta
    said = risk_pure(epsilon) if is_pure else risk_approx(epsilon, float(settings.delta))
    return f"{said} {LARGE_BUDGET}" if epsilon > LARGE_EPSILON else said


def budget_sentence(settings: Settings) -> str:
    """The risk sentence, after what a rho means and before how it was counted."""
    parts = (meaning_of_rho(settings), risk_sentence(settings), exact_sentence(settings))
    return " ".join(filter(None, parts))


def meaning_of_rho(settings: Settings) -> str:
    """The epsilon at delta of a budget that is spent as zCDP."""
    if not settings.kind.has_delta:
        return ""
    return (
        f"ρ = {number(to_float_down(settings.split.total))} means (ε = "
        f"{number_at_most(settings.own_epsilon)}, δ = {settings.delta})."
    )


def exact_sentence(settings: Settings) -> str:
    """Which accounting a typed (epsilon, delta) had, where not all of it went through zCDP."""
    if not settings.typed.is_promise:
        return ""
    if settings.outcome is None:
        spent = ((mechanism_of(d).title, d.budget) for d in settings.designs())
    else:
        spent = (("a linear regression", d.budget) for d in (settings.linear_design,))
    for name, budget in spent:
        if budget.additive_only:
            rho = number(to_float_down(budget.as_rho(budget.total)))
            return (
                f"The noise of {name} is exactly Gaussian and counted exactly (Gaussian "
                f"differential privacy), so that the same promise buys it ρ = {rho}."
            )
    return ""


def conversion_details(settings: Settings) -> str:
    """The conversions behind the headline, for whoever asks."""
    delta = float(settings.delta)
    if not settings.kind.has_delta:
        total = to_float_down(settings.split.total)
        return (
            f"A pure ε of {number(total)} holds with δ = 0, and is at most ρ = ε²/2 = "
            f"{number_at_most(total**2 / 2)} in zCDP."
        )
    rho = to_float_down(settings.split.total)
    return (
        f"{meaning_of_rho(settings)} Headline: Canonne, Kamath, Steinke 2020, ε = "
        f"{number_at_most(zcdp_to_epsilon(rho, delta), 4)}. "
        "The older published conversion ρ + 2√(ρ log(1/δ)) gives "
        f"{number_at_most(zcdp_to_epsilon_published(rho, delta), 4)}; where all noise is "
        "exactly Gaussian, as by output perturbation, the analytic formula gives "
        f"{number_at_most(gdp_to_epsilon(2.0 * rho, delta), 4)}. δ is the chance that the ε bound "
        "fails to hold."
    )


PART_SENTENCES = {
    "model": "For the coefficients themselves: more here, and the estimates scatter less.",
    "hessian": "Needed to compute standard errors. With too small a share they become unreliable.",
    "covariance": "Needed for the sampling error. With too small a share, intervals become too "
    "long.",
}
PART_NAMES = {
    "model": "Coefficients",
    "hessian": "Hessian",
    "covariance": "Gradient covariance",
}
SPLIT_NOTE = "Only the total protects people; the split only affects accuracy."


def n_sentence(settings: Settings, n_table: int, *, with_help: bool = True) -> str:
    """Number of records; without help, only that it is extrapolated, if it is."""
    each = (
        "Four times as many records halve the sampling error and quarter the privacy noise."
        if with_help
        else ""
    )
    if settings.n > n_table:
        return f"{each} Beyond the {n_table:,} rows at hand: extrapolated.".strip()
    return each


def d_sentence(p: int) -> str:
    """Number of features."""
    return f"{p} coefficients with the intercept; two {p} × {p} matrices need noise as well."


def c_sentence(settings: Settings) -> str:
    """The penalty."""
    needed: dict[str, float] = {}
    for design in settings.designs():
        mechanism = mechanism_of(design)
        smallest = mechanism.smallest_regularization(design)
        needed[mechanism.title] = max(smallest, needed.get(mechanism.title, 0.0))
    rule = "".join(
        f" {title.capitalize()} needs c above {number(smallest, 2)} here."
        for title, smallest in needed.items()
        if smallest > 0.0
    )
    return (
        "Shrinks coefficients toward 0 and makes them less noisy; the interval is for the "
        f"{TARGETS[settings.target].estimate}.{rule}"
    )


def h_sentence(settings: Settings) -> str:
    """Width of the smoothing."""
    return (
        f"The SVM's kink is rounded between margins {number(1 - settings.h)} and "
        f"{number(1 + settings.h)}; a sharper kink (small h) needs more noise on the Hessian."
    )


def level_sentence(settings: Settings) -> str:
    """Confidence level."""
    missed = 1000 * (1 - settings.level)
    return f"About {number(missed)} of 1,000 intervals would miss the target."


def assumptions(settings: Settings, records: Records, *, how: str = "forecast") -> str:
    """Every assumed value, as it stands on each chart and export; `how` numbers were made."""
    shares = "/".join(words.in_hundred(settings.split.parts))
    delta = (
        "" if not (settings.kind.has_delta or settings.is_compared) else f", δ = {settings.delta}"
    )
    h = f", h = {settings.h:g}{SMOOTHINGS[settings.smoothing].aside}" if settings.has_width else ""
    total = f"{settings.split.total.normalize():f}"
    return (
        f"{records.title}, encoding “{records.encoding}”, d = {len(records.feature_names) - 1}, n "
        f"= {settings.n:,}, {settings.kind.letter} = {total}{delta}, split "
        f"{shares} %, c = {settings.c:g}{h}, level {100 * settings.level:g} %, "
        f"{calibration_words(settings)}, {how}{pairing_words(settings)}"
    )


def calibration_words(settings: Settings) -> str:
    """Which intervals, and what they are for."""
    words = " and ".join(c for c in CALIBRATIONS if c in settings.calibrations) + " calibration"
    if settings.results == "reviewed" and "sharp" in settings.calibrations:
        words += " (published privacy results only)"
    if settings.is_shaped:
        words += ", noise shaped like the data"
    return f"{words}, for the {covers(settings)}"


def covers(settings: Settings) -> str:
    """What the intervals of these settings are for, to stand after "for the"; of settings as they
    came out (`compute.effective_settings`), where it is known whether noise is shaped.
    """
    rows = ", extreme rows weighted down" if settings.is_shaped else ""
    if rows and len(settings.combinations) > 1:
        rows += " where noise is shaped"
    return f"{ESTIMANDS[settings.target].covers(settings.c)}{rows}"


def pairing_words(settings: Settings) -> str:
    """How pure and zCDP budgets are paired, where both are on a chart."""
    if not settings.is_compared:
        return ""
    if settings.pairing == "paper":
        return ", paired by ρ_k\u00a0=\u00a0ε_k²/2"
    return f", paired by equal (ε, δ = {settings.delta})"


CALIBRATION_HELP = (
    "Both make the same promise from the same budget. Published follows the paper to the letter; "
    "sharp is this project's own and shorter, but longer where published intervals miss too often."
)
SHAPES: dict[ShapeSource, str] = {
    "declared": "As declared",
    "planning": "As in the planning rows",
    "released": "Pay for a look (new)",
}
SHAPE_HELP = (
    "As declared, every column counts alike. The planning rows show, for free, how columns go "
    "together; a shape that fits badly costs length, never privacy. A look, not peer-reviewed, "
    "spends a small part of the budget on the shape of the private records: with columns by their "
    "bounds, intervals of Adult, Bank and the simulated census were 10 to 36 % shorter under zCDP; "
    "where typical values are declared it hardly ever helps. Unusual rows count a little less."
)


@singledispatch
def method(design: Any) -> str:
    """Model and mechanism of a design."""
    raise TypeError(type(design).__name__)


@method.register
def _(design: Design) -> str:
    return f"{design.loss.title}, {design.mechanism} perturbation, c = {design.regularization:g}"


@method.register
def _(design: LinearDesign) -> str:
    return (
        f"linear regression in {design.steps} steps, gradients cut at {design.clip:g} and rows at "
        f"{design.row_clip:g} times the length that nine of ten stay below"
    )


@singledispatch
def covers_of(design: Any) -> str:
    """What the intervals of a design are for, to stand after "for the"."""
    return covered(design)


@covers_of.register
def _(design: LinearDesign) -> str:
    return COVERS


@singledispatch
def noise_sentence(design: Any) -> str:
    """How the noise of a design is shaped; "" where no budget is paid for that."""
    return ""


@noise_sentence.register
def _(design: Design) -> str:
    geometry, budget = design.geometry, design.budget
    if geometry is None:
        return ""
    share = percent(float(budget.metric / budget.total))
    return (
        f"The noise is shaped like the data, whose shape is learnt first, for {share} of the "
        f"budget; rows far outside the crowd (leverage above {number(geometry.leverage)}) count "
        f"less{f', and gradients are cut at {number(design.clip)}' * (design.clip < 1.0)}."
    )


NO_SHAPE = "A look makes these intervals no shorter here, so nothing is paid for one."
HOW_SHAPED = (
    "The shape, and what it costs, are chosen for the shortest intervals; the split divides the "
    "rest of the budget."
)
OPENED_SHAPE = "The shape, and what it costs, are those of the plan that was opened."
TARGET_HELP = (
    "A penalty shrinks coefficients toward zero. That can be undone afterwards: no further budget, "
    "somewhat longer intervals."
)


WHAT_HELPS = "A larger budget, more records or fewer columns help."
WHY_NOT_REPORTABLE = (
    "Penalty, limits or noise move them too far for their intervals, or these are too wide to say "
    "anything."
)
NEITHER_HELPS = (
    "They are moved by more than a penalty, as by limits on rows: neither a smaller c nor more "
    "records mend that."
)
