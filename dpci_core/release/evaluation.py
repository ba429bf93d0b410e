"""What evaluators of differential privacy ask of a release, answered from its record: a page in the
order of NIST SP 800-226, and an entry for a public registry of deployments.
"""

from __future__ import annotations

from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan.yaml_text import dump_yaml
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.release.record import Release
from dpci_core.release.report import (
    as_code,
    guarantee_sentence,
    mechanism_sentence,
    price_words,
    risk_sentence,
    target_sentence,
    together_sentence,
)
from dpci_core.report.cautions import silent
from dpci_core.report.refusals import said
from dpci_core.report.words import person_rules

EVALUATION_NAME = "evaluation.md"
"""The page in the folder of a release."""
REGISTRY_NAME = "deployment.yaml"
"""The entry there."""
OPEN = "**To be answered by whoever deploys:**"
"""Begins what no record can know."""
_TRUST = (
    "The steward's machine reads the records and adds the noise once: whoever runs it is trusted, "
    "readers of the release are not."
)


def evaluation(release: Release) -> str:
    """Return the evaluation of a release in Markdown, from the promise down to what it rests on."""
    head = (
        f"# Evaluation: {as_code(release.title)}\n\nThe questions of NIST SP 800-226, answered "
        f"from the record of the release of {release.released_at[:10]}. {OPEN} marks what a record "
        "cannot know."
    )
    parts = [
        f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines if line)
        for title, lines in _sections(release).items()
    ]
    return "\n\n".join([head, *parts]) + "\n"


def _sections(release: Release) -> dict[str, list[str]]:
    """Lines for each question."""
    return {
        "Privacy parameters": [
            guarantee_sentence(release),
            risk_sentence(release),
            f"Spent: {price_words(release.guarantee.lines)}.",
            f"Entry {release.charge_id} of the ledger of {as_code(release.dataset)}. {OPEN} every "
            "other release about the same people, which add up.",
        ],
        "Unit of privacy": _unit(release),
        "Trust model": [_TRUST],
        "Algorithms and correctness": [
            mechanism_sentence(release),
            said(release.caution) if release.caution else "",
            "Bounds and levels were declared; none was taken from the records.",
            *release.assumptions,
            f"Software: {', '.join(f'{k} {v}' for k, v in release.software.items())}.",
            f"Schema {release.schema_hash}, plan {release.plan_hash}.",
        ],
        "Utility": _utility(release),
        "Bias": [
            target_sentence(release),
            "Values beyond their declared bounds count as the bound; how many is in no file.",
            f"{as_code(release.missing_cells)} How many there are is in no file.",
            f"{OPEN} which groups are so small that their coefficients stay uncertain, and what "
            "is decided about them.",
        ],
        "Side channels": [
            "Files carry the time of the charge, not that of the computation; no count of a value "
            "is in any file.",
            f"{OPEN} who can watch the machine, its processes and how long they take.",
        ],
        "Access control and security": [
            f"Released by {as_code(release.person)}, once for request "
            f"{as_code(release.request_id)}; ledger entry {release.ledger_head}.",
            f"{OPEN} who may read the table, the ledger and its key, and what is logged.",
        ],
        "Data collection exposure": [
            "A release protects readers' view of the table, not the table itself.",
            f"{OPEN} how the records were collected, where they lie, and until when.",
        ],
    }


def _unit(release: Release) -> list[str]:
    if release.schema.persons is not None:
        return [
            f"One person: {as_code(release.protects)}. {release.guarantee.neighbours}",
            person_rules(as_code(release.schema.persons.column), release.schema.persons.rows),
            f"{OPEN} how it is known that each person has one name, and no two share one.",
        ]
    return [
        f"One record: {as_code(release.unit)}. {release.guarantee.neighbours}",
        "Whoever has several records in the table is protected for each, not for all of them. "
        f"{OPEN} how it is known that each person has one.",
    ]


def _utility(release: Release) -> list[str]:
    told = [c for c in release.coefficients if not c.is_flat]
    lengths = [c.scaled.length / c.planned_scaled for c in told if c.planned_scaled > 0.0]
    ratio = sum(lengths) / len(lengths) if lengths else None
    return [
        f"{len(told)} of {len(release.coefficients)} coefficients with intervals of level "
        f"{release.design.confidence_level:.10g} from {release.n_records:,} {release.counted}.",
        "" if ratio is None else f"Released intervals are {ratio:.2f} times as long as planned.",
        together_sentence(release),
        release.verdict,
        silent(release.silent) if release.silent else "",
        *(f"Known before the draw: {as_code(sentence)}" for sentence in release.warnings),
    ]


def registry_entry(release: Release) -> str:
    """Return an entry for a registry of deployments as YAML; null is for the deployer to fill."""
    g = release.guarantee
    parameters = {"epsilon": g.epsilon, "delta": g.delta}
    return dump_yaml(
        {
            "name": release.title,
            "organisation": None,
            "description": mechanism_sentence(release),
            "intended_use": None,
            "data_product": "coefficients with confidence intervals",
            "region": None,
            "publication_date": release.released_at[:10],
            "privacy_unit": {"protects": release.protects, "neighbours": g.neighbours},
            "flavour": {
                "name": DEFINITIONS[g.definition].title,
                "amount": g.amount,
                "parts": dict(g.lines),
            },
            "parameters": parameters,
            "model": "central",
            "mechanism": mechanism_of(release.design).title,
            "accounting": "composition of all parts, booked before noise is drawn",
            "status": said(release.caution) if release.caution else release.design.status or None,
            "software": dict(release.software),
            "record": {"plan": release.plan_hash, "ledger": release.ledger_head},
        }
    )
