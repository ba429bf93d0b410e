"""What a release writes beside its record, for people: a table, a page for third parties, a section
of a model card.
"""

from __future__ import annotations

import csv
import io
import math

from dpci_core.base.decimals import UP_4
from dpci_core.ledger import safe_cell
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.budget import DEFINITIONS, approx_risk, pure_risk
from dpci_core.release.effects import effect_sentences, reading_sentence
from dpci_core.release.record import Coefficient, Release
from dpci_core.report.html import IntervalRow, interval_chart, render, table

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
)


def intervals_csv(release: Release) -> str:
    """Return the intervals as CSV, original units first; a name that a spreadsheet could take for a
    formula is text.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEADS)
    for c in release.coefficients:
        original, scaled = ([i.estimate, i.low, i.high] for i in (c.original, c.scaled))
        numbers = [*original, c.planned_original, *scaled, c.planned_scaled, c.released]
        writer.writerow([safe_cell(c.name), *map(repr, numbers)])
    return out.getvalue()


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
        chart=_chart(release),
        rows=_table(release),
        effects=effect_sentences(release),
        reading=reading_sentence(release),
        positive=release.schema.positive,
        column=release.schema.target,
        level=f"{release.design.confidence_level:.10g}",
        marked=[c.name for c in release.coefficients if c.is_flat],
        lines=list(release.guarantee.lines.items()),
    )


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
        return (
            "Whoever held it for as likely as not that a given person's record is this one, and "
            f"no other, can be at most {_percent_up(pure_risk(g.epsilon))}% sure of it after "
            "reading everything here."
        )
    found = approx_risk(g.epsilon, g.delta)
    return (
        "Of every 100 people in the table, an attacker with at most 1 false alarm in 100 finds at "
        f"most {_percent_up(found)}."
    )


def _percent_up(share: float) -> str:
    """Percent with one decimal that is never less than the share: what is printed is a promise."""
    return f"{math.ceil(1000.0 * share) / 10.0:.1f}"


def mechanism_sentence(release: Release) -> str:
    """How the noise was put in."""
    design = release.design
    mechanism = mechanism_of(design)
    kind = f"{mechanism.title}{mechanism.noise_words(design)}"
    return f"{design.loss.opening}, penalty c = {design.regularization:g}, trained by {kind}."


def target_sentence(release: Release) -> str:
    """What the intervals are for."""
    if release.design.target == "penalised":
        return (
            "They are for the coefficients that the penalty leaves in the whole population, not "
            "for those without penalty."
        )
    return (
        "They are for the coefficients without penalty, reached by one step from the released ones."
    )


def _table(release: Release) -> str:
    heads = ["", "estimate", "from", "to", "length", "planned length"]
    return str(
        table(
            heads,
            [_cells(c) for c in release.coefficients],
            caption="In original units of each column",
        )
    )


def _cells(c: Coefficient) -> list[str]:
    numbers = (
        c.original.estimate,
        c.original.low,
        c.original.high,
        c.original.length,
        c.planned_original,
    )
    return [c.name, *(f"{number:.4g}" for number in numbers)]


def _chart(release: Release) -> str:
    rows = []
    for c in release.coefficients:
        half = c.planned_scaled / 2.0
        planned = (c.scaled.estimate - half, c.scaled.estimate + half)
        rows.append(
            IntervalRow(
                label=c.name,
                centre=c.scaled.estimate,
                intervals=((c.scaled.low, c.scaled.high), planned),
            )
        )
    n_apart = sum(c.scaled.low > 0.0 or c.scaled.high < 0.0 for c in release.coefficients)
    return str(
        interval_chart(
            rows,
            series=("released", "planned length"),
            title="Released coefficients with their intervals",
            description=f"{n_apart} of {len(rows)} intervals exclude zero.",
            axis="coefficient, encoded units (every number on -1 to 1 by its bounds)",
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
        f"- Records: {release.n_records:,} ({_code(release.unit)}); planned for "
        f"{release.n_planned:,}.",
        f"- Guarantee: {guarantee_sentence(release)} {release.guarantee.neighbours}",
        f"- Risk: {risk_sentence(release)}",
        f"- Intervals: level {release.design.confidence_level:.10g}. {target_sentence(release)}",
        *([f"- Status: {release.design.status}"] if release.design.status else []),
        *([f"- Usefulness: {release.verdict}"] if release.verdict else []),
        "- Assumptions:",
        *(f"  - {sentence}" for sentence in release.assumptions),
        f"- Hashes: plan {release.plan_hash}, schema {release.schema_hash}; ledger "
        f"{release.ledger_head}.",
        "",
        "| coefficient | estimate | from | to |",
        "|---|---:|---:|---:|",
    ]
    for c in release.coefficients:
        name, *numbers = _cells(c)[:4]
        lines.append(f"| {_code(name)} | {' | '.join(numbers)} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """A text in one line of Markdown that is shown as it is, whatever it holds."""
    flat = " ".join(text.split()).replace("|", "\\|")
    longest = max(
        (len(run) for run in "".join(ch if ch == "`" else " " for ch in flat).split()), default=0
    )
    fence = "`" * (longest + 1)
    return f"{fence} {flat} {fence}"
