"""What a release writes beside its record, for people: a table, a page for third parties, a section
of a model card.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from dpci_core.base.decimals import UP_4
from dpci_core.intervals.estimands import estimand_of
from dpci_core.ledger import safe_cell
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.budget import DEFINITIONS, approx_risk, pure_risk
from dpci_core.release.after import ReleaseInference
from dpci_core.release.effects import (
    effect_lines,
    effect_sentences,
    effects,
    reading_sentence,
    scaled_by,
)
from dpci_core.release.record import Coefficient, Interval, Release
from dpci_core.report import afterwards
from dpci_core.report.cautions import not_reportable
from dpci_core.report.html import IntervalRow, interval_chart, render, table
from dpci_core.report.words import CERTAIN, at_most, called, number, people_at_most
from dpci_core.schema import told_steps

_NOT_ESTIMABLE = "(not estimable)"
"""Beside a number that is in the full table only."""
_HEADS = (
    "coefficient",
    "estimate",
    "low",
    "high",
    "planned_length",
    "estimate_encoded",
    "low_encoded",
    "high_encoded",
    "planned_length_encoded",
    "released_encoded",
    "covers",
    "missing_cells",
    "is_not_estimable",
    "step",
    "estimate_per_step",
    "low_per_step",
    "high_per_step",
    "odds_times",
    "odds_low",
    "odds_high",
)


def intervals_csv(release: Release) -> str:
    """Return the intervals as CSV: in original units, encoded, and as effects of the step of each
    column, with the factors on the odds where there are some; a name that a spreadsheet could take
    for a formula is text.

    missing_cells: what became of them, and of their records.
    is_not_estimable: whether the coefficient is not estimable.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADS)
    filled = release.schema.used(release.features).transformations.filled
    for c, effect in zip(release.coefficients, (*effects(release), None), strict=True):
        numbers = [*_ends(c.original), c.planned_original, *_ends(c.scaled), c.planned_scaled]
        by = (None,) * 7
        if effect is not None:
            odds = (None,) * 3 if effect.odds is None else _ends(effect.odds)
            by = (effect.step, *_ends(effect.by), *odds)
        writer.writerow(
            [
                safe_cell(c.name),
                *map(repr, (*numbers, c.released)),
                release.covers,
                "filled in where declared" if filled else "left out",
                str(c.is_not_estimable).lower(),
                *("" if x is None else repr(float(x)) for x in by),
            ]
        )
    return out.getvalue()


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.estimate, interval.low, interval.high


def report_html(release: Release) -> str:
    """Return the self-contained page for third parties: what was protected, how to read it, how to
    use the model.
    """
    return render(
        "release.html",
        release=release,
        guarantee=guarantee_sentence(release),
        risk=risk_sentence(release),
        mechanism=mechanism_sentence(release),
        target=target_sentence(release),
        together=together_sentence(release),
        chart=_chart(release),
        rows=_table(release),
        effects=effect_sentences(release),
        reading=reading_sentence(release),
        positive=release.schema.positive,
        column=release.schema.target,
        covers=release.covers,
        level=f"{release.design.confidence_level:.10g}",
        not_estimable=not_reportable(release.not_estimable) if release.not_estimable else "",
        price=price_words(release.guarantee.lines),
    )


_PAID_FOR = {
    "model": "coefficients",
    "inexact minimiser": "coefficients",
    "hessian": "Hessian",
    "covariance": "gradient covariance",
}


def price_words(lines: Mapping[str, str]) -> str:
    """Return what the budget was spent on, three digits each; the record has every digit."""
    spent: dict[str, float] = {}
    for name, amount in lines.items():
        told = _PAID_FOR.get(name, name)
        spent[told] = spent.get(told, 0.0) + float(amount)
    return ", ".join(f"{name} {number(amount)}" for name, amount in spent.items())


def guarantee_sentence(release: Release) -> str:
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


def risk_sentence(release: Release) -> str:
    """What an attacker can gain."""
    g = release.guarantee
    if not DEFINITIONS[g.definition].has_delta:
        found = at_most(pure_risk(g.epsilon))
        return (
            "Someone who gave 50 % odds to a guess about one person's record can be "
            f"{f'at most {found} sure' if found != CERTAIN else 'certain'} after reading this."
        )
    return (
        "Of every 100 people in the table, an attacker with at most 1 false alarm in 100 finds at "
        f"most {people_at_most(approx_risk(g.epsilon, g.delta))}."
    )


def mechanism_sentence(release: Release) -> str:
    """How the noise was put in."""
    design = release.design
    mechanism = mechanism_of(design)
    kind = f"{mechanism.title}{mechanism.noise_words(design)}"
    return f"{design.loss.opening}, penalty c = {design.regularization:g}, trained by {kind}."


def target_sentence(release: Release) -> str:
    """What the intervals are for."""
    return f"They are for the {release.covers}{estimand_of(release.design).reached}."


def together_sentence(release: Release) -> str:
    """How often all intervals hold at once, and what would make them; empty for fewer than two, and
    for a record whose matrices do not give its intervals.
    """
    try:
        found = ReleaseInference(release).together()
    except ValueError:
        return ""
    return afterwards.hold_together(found)


def _table(release: Release) -> str:
    heads = ["", "estimate", "from", "to", "length", "planned length"]
    caption = f"In original units of each column: the {release.covers}"
    if release.not_estimable:
        caption += f"; {_NOT_ESTIMABLE}: no interval of this level"
    return str(table(heads, [_cells(c) for c in release.coefficients], caption=caption))


def _cells(c: Coefficient) -> list[str]:
    numbers = (
        c.original.estimate,
        c.original.low,
        c.original.high,
        c.original.length,
        c.planned_original,
    )
    return [
        f"{called(c.name)} {_NOT_ESTIMABLE}" if c.is_not_estimable else called(c.name),
        *(f"{x:.4g}" for x in numbers),
    ]


def _chart(release: Release) -> str:
    """The intervals of the coefficients that are estimable from the release; told per step, a
    constant would be on another scale.
    """
    is_standard = release.schema.standard is not None
    listed = release.coefficients[: -1 if is_standard else None]
    steps = told_steps(release.schema, tuple(c.name for c in listed))
    rows = []
    for c, step in zip(listed, steps, strict=True):
        if c.is_not_estimable:
            continue
        shown, half = c.scaled, c.planned_scaled / 2.0
        if is_standard:
            shown, half = scaled_by(c.original, step), step * c.planned_original / 2.0
        planned = (shown.estimate - half, shown.estimate + half)
        rows.append(
            IntervalRow(
                label=called(c.name),
                centre=shown.estimate,
                intervals=((shown.low, shown.high), planned),
            )
        )
    if not rows:
        return ""
    n_apart = sum(
        c.scaled.low > 0.0 or c.scaled.high < 0.0 for c in listed if not c.is_not_estimable
    )
    return str(
        interval_chart(
            rows,
            series=("released", "planned length"),
            title=f"Intervals for the {release.covers}",
            description=f"{n_apart} of {len(rows)} intervals exclude zero.",
            axis="coefficient, for the step told of each column"
            if is_standard
            else "coefficient, encoded units (every number on -1 to 1 by its bounds)",
        )
    )


def model_card(release: Release) -> str:
    """Return the section for a model card, in Markdown; texts of people are shown as code, so that
    they stay text.
    """
    lines = [
        "## Privacy of the training data",
        "",
        f"- Model: {mechanism_sentence(release)}",
        f"- {release.counted.capitalize()}: {release.n_records:,} "
        f"({as_code(release.protects)}); planned for "
        f"{release.n_planned:,}.",
        f"- Guarantee: {guarantee_sentence(release)} {release.guarantee.neighbours}",
        f"- Risk: {risk_sentence(release)}",
        f"- Intervals: level {release.design.confidence_level:.10g}. {target_sentence(release)} "
        f"{together_sentence(release)}".rstrip(),
        *([f"- Status: {release.design.status}"] if release.design.status else []),
        *([f"- Usefulness: {release.verdict}"] if release.verdict else []),
        *([f"- {as_code(not_reportable(release.not_estimable))}"] if release.not_estimable else []),
        *(f"- Known before the draw: {as_code(sentence)}" for sentence in release.warnings),
        "- Assumptions:",
        *(f"  - {sentence}" for sentence in release.assumptions),
        f"- Hashes: plan {release.plan_hash}, schema {release.schema_hash}; ledger "
        f"{release.ledger_head}.",
        "",
    ]
    told = [c for c in release.coefficients if not c.is_not_estimable]
    if told:
        lines += [
            f"Intervals for the {release.covers}, in original units:",
            "",
            "| coefficient | estimate | from | to | effect |",
            "|---|---:|---:|---:|---|",
        ]
    said = dict(zip((c.name for c in told), effect_lines(release), strict=False))
    for c in told:
        name, *numbers = _cells(c)[:4]
        effect = f" {as_code(said[name])} " if name in said else " "
        lines.append(f"| {as_code(name)} | {' | '.join(numbers)} |{effect}|")
    return "\n".join(lines) + "\n"


def as_code(text: str) -> str:
    """A text in one line of Markdown that is shown as it is, whatever it holds."""
    flat = " ".join(text.split()).replace("|", "\\|")
    longest = max(
        (len(run) for run in "".join(ch if ch == "`" else " " for ch in flat).split()), default=0
    )
    fence = "`" * (longest + 1)
    return f"{fence} {flat} {fence}"
