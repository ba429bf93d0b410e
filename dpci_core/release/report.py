"""What a release writes beside its record, for people: a table, a page for third parties, a section
of a model card.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from decimal import Decimal

import jinja2  # noqa: F401 - here, since an import after the draw began could cost the charge

from dpci_core.base.decimals import EXACT, UP_4
from dpci_core.ledger import as_text, safe_cell
from dpci_core.privacy.budget import DEFINITIONS, approx_risk, pure_risk
from dpci_core.release.after import ReleaseInference
from dpci_core.release.effects import (
    acceptance,
    against_goal,
    effect_sentences,
    effect_table,
    effects,
    reading_sentence,
    why_not,
)
from dpci_core.release.record import AnyRelease, Coefficient, Interval
from dpci_core.report import afterwards
from dpci_core.report.cautions import not_reportable
from dpci_core.report.html import render, table
from dpci_core.report.words import (
    CERTAIN,
    at_most,
    called,
    learned,
    people_at_most,
    person_rules,
    together_with_earlier,
)

_HEADS = (
    "coefficient",
    "step",
    "odds_ratio",
    "odds_low",
    "odds_high",
    "not_reportable",
    "estimate_per_step",
    "low_per_step",
    "high_per_step",
    "estimate",
    "low",
    "high",
    "planned_length",
    "covers",
    "missing_cells",
    "is_not_estimable",
    "estimate_encoded",
    "low_encoded",
    "high_encoded",
    "planned_length_encoded",
    "released_encoded",
)


def intervals_csv(release: AnyRelease) -> str:
    """Return the intervals as CSV: as factors on the odds for the step of each column, where there
    are some, as effects of that step, in original units, and encoded; a name that a spreadsheet
    could take for a formula is text.

    not_reportable: why the coefficient is not, which has no numbers.
    missing_cells: what became of them, and of their records.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADS)
    filled = release.schema.used(release.features).transformations.filled
    for c, effect in zip(release.coefficients, (*effects(release), None), strict=True):
        told: tuple[float | None, ...] = (None,) * 16
        if not c.is_not_estimable:
            odds = _ends(effect.odds if effect else None)
            step = effect.step if effect else None
            original = (*_ends(c.original), c.planned_original)
            encoded = (*_ends(c.scaled), c.planned_scaled, c.released)
            told = (step, *odds, *_ends(effect.by if effect else None), *original, *encoded)
        cells = ["" if x is None else repr(float(x)) for x in told]
        writer.writerow(
            [
                safe_cell(c.name),
                *cells[:4],
                why_not(c, release),
                *cells[4:11],
                release.covers,
                "filled in where declared" if filled else "left out",
                str(c.is_not_estimable).lower(),
                *cells[11:],
            ]
        )
    return out.getvalue()


def _ends(interval: Interval | None) -> tuple[float | None, ...]:
    if interval is None:
        return None, None, None
    return interval.estimate, interval.low, interval.high


def report_html(release: AnyRelease, *, together: str | None = None) -> str:
    """Return the self-contained page for third parties: what was protected, how to read it, how to
    use the model.

    together: its `together_sentence`, for a caller who has it.
    """
    shown, whose = effect_table(release), release.schema.persons
    return render(
        "release.html",
        release=release,
        guarantee=guarantee_sentence(release),
        mechanism=mechanism_sentence(release),
        target=target_sentence(release),
        together=together_sentence(release) if together is None else together,
        learned=f"{learned(release.guarantee.epsilon, release.guarantee.delta)} "
        f"{with_earlier(release)}",
        saying=shown.saying(),
        table=shown.html(caption=f"Effects on {shown.outcome}, all else equal"),
        chart=shown.chart(title=f"Intervals for the {release.covers}"),
        rows=_table(release),
        effects=effect_sentences(release),
        reading=reading_sentence(release),
        goal=against_goal(release),
        acceptance=acceptance(release),
        outcome=release.schema.outcome_words,
        covers=release.covers,
        level=f"{100.0 * release.design.confidence_level:.10g} %",
        unit=release.protects,
        n=f"{release.n_records:,}",
        persons="" if whose is None else person_rules(f"“{whose.column}”", whose.rows),
        price=price_words(release.guarantee.lines),
    )


_PAID_FOR = {
    "model": "coefficients",
    "inexact minimiser": "coefficients",
    "hessian": "Hessian",
    "covariance": "gradient covariance",
    "steps": "steps to the coefficients",
    "second moment": "second moment of the rows",
}


def price_words(lines: Mapping[str, str]) -> str:
    """Return what the budget was spent on, exactly: the parts add up to the total."""
    spent: dict[str, Decimal] = {}
    for name, amount in lines.items():
        told = _PAID_FOR.get(name, name)
        spent[told] = EXACT.add(spent.get(told, Decimal()), Decimal(amount))
    return ", ".join(f"{name} {as_text(amount)}" for name, amount in spent.items())


def guarantee_sentence(release: AnyRelease) -> str:
    """The guarantee in one sentence, in its own definition."""
    g = release.guarantee
    kind = DEFINITIONS[g.definition]
    promise = kind.promise.format(amount=g.amount)
    if not kind.has_delta:
        return f"The release is {promise}."
    epsilon = UP_4.create_decimal(g.epsilon)
    return (
        f"The release is {promise}; at delta = {g.delta!r} that means ({epsilon:g}, "
        f"{g.delta!r})-differential privacy."
    )


def risk_sentence(release: AnyRelease) -> str:
    """What an attacker can gain."""
    g = release.guarantee
    if not DEFINITIONS[g.definition].has_delta:
        found = at_most(pure_risk(g.epsilon))
        return (
            "Someone who knew all other records and gave 50 % odds to a guess about one can be "
            f"{f'at most {found} sure' if found != CERTAIN else 'certain'} after reading this."
        )
    return (
        "Of every 100 people in the table, an attacker with at most 1 false alarm in 100 finds at "
        f"most {people_at_most(approx_risk(g.epsilon, g.delta))}."
    )


def with_earlier(release: AnyRelease) -> str:
    """What the releases about the same people are together, by the ledger."""
    so_far = release.so_far
    return together_with_earlier(so_far.definition, so_far.amount, so_far.earlier, so_far.same_plan)


def mechanism_sentence(release: AnyRelease) -> str:
    """How the noise was put in."""
    return release.how


def target_sentence(release: AnyRelease) -> str:
    """What the intervals are for."""
    return f"They are for the {release.covers}{release.reached}."


def together_sentence(release: AnyRelease) -> str:
    """How often all intervals hold at once, and what would make them; empty for fewer than two, and
    for a record whose matrices do not give its intervals.
    """
    try:
        found = ReleaseInference(release).together()
    except ValueError:
        return ""
    return afterwards.hold_together(found)


def _table(release: AnyRelease) -> str:
    heads = ["", "estimate", "from", "to", "length", "planned length"]
    caption = f"Per original unit of each column: the {release.covers}"
    return table(heads, [_cells(c) for c in release.coefficients], caption=caption)


def _cells(c: Coefficient) -> list[str]:
    if c.is_not_estimable:
        return [called(c.name), "not reportable", *[""] * 4]
    numbers = (*_ends(c.original), c.original.length, c.planned_original)
    return [called(c.name), *(f"{x:.7g}" for x in numbers)]


def model_card(release: AnyRelease, *, together: str | None = None) -> str:
    """Return the section for a model card, in Markdown; texts of people are shown as code, so that
    they stay text.

    together: its `together_sentence`, for a caller who has it.
    """
    at_once = together_sentence(release) if together is None else together
    lines = [
        "## Privacy of the training data",
        "",
        f"- Model: {mechanism_sentence(release)}",
        f"- Released from {release.counted_words}, {as_code(release.protects)} each; planned for "
        f"{release.n_planned:,}.",
        f"- Guarantee: {guarantee_sentence(release)} {release.guarantee.neighbours}",
        f"- Risk: {risk_sentence(release)} {with_earlier(release)}",
        f"- Intervals: level {release.design.confidence_level:.10g}. {target_sentence(release)} "
        f"{at_once}".rstrip(),
        *([f"- Status: {release.design.status}"] if release.design.status else []),
        *([f"- Usefulness: {release.verdict}"] if release.verdict else []),
        *([f"- {as_code(said)}"] if (said := against_goal(release)) else []),
        *([f"- Publication: {as_code(rule)}"] if (rule := acceptance(release)) else []),
        *([f"- {as_code(not_reportable(release.not_estimable))}"] if release.not_estimable else []),
        *(f"- Known before the draw: {as_code(sentence)}" for sentence in release.warnings),
        "- Assumptions:",
        *(f"  - {sentence}" for sentence in release.assumptions),
        f"- Hashes: plan {release.plan_hash}, schema {release.schema_hash}; ledger "
        f"{release.ledger_head}.",
        "",
    ]
    shown = effect_table(release)
    lines += [
        f"Effects on {as_code(shown.outcome)}, intervals for the {release.covers}:",
        "",
        f"| {' | '.join(shown.heads)} |",
        "|---|---:|",
        *(f"| {as_code(name)} | {' | '.join(told)} |" for name, *told in shown.cells),
    ]
    return "\n".join(lines) + "\n"


def as_code(text: str) -> str:
    """A text in one line of Markdown that is shown as it is, whatever it holds."""
    flat = " ".join(text.split()).replace("|", "\\|")
    longest = max(
        (len(run) for run in "".join(ch if ch == "`" else " " for ch in flat).split()), default=0
    )
    fence = "`" * (longest + 1)
    return f"{fence} {flat} {fence}"
