"""What evaluators of differential privacy ask of a release, answered from its record: a page in the
order of NIST SP 800-226, and an entry for a public registry of deployments.
"""

from __future__ import annotations

import re

from dpci_core.base.decimals import UP_4
from dpci_core.plan.yaml_text import dump_yaml
from dpci_core.privacy.budget import DEFINITIONS, ZCDP, PureDP
from dpci_core.release.effects import against_goal
from dpci_core.release.record import AnyRelease
from dpci_core.release.report import (
    as_code,
    guarantee_sentence,
    mechanism_sentence,
    price_words,
    risk_sentence,
    target_sentence,
    together_sentence,
    with_earlier,
)
from dpci_core.report.cautions import not_reportable
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
_VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    PureDP.definition: ("Pure DP", ()),
    ZCDP.definition: ("Zero-concentrated DP", ("rho",)),
}
"""The registry's words, and its parameters beside epsilon and delta; others are "Custom" to it."""
_CURATOR = "data_curator_type: Government"


def evaluation(release: AnyRelease, *, together: str | None = None) -> str:
    """Return the evaluation of a release in Markdown, from the promise down to what it rests on.

    together: its `together_sentence`, for a caller who has it.
    """
    head = (
        f"# Evaluation: {as_code(release.title)}\n\nThe questions of NIST SP 800-226, answered "
        f"from the record of the release of {release.released_at[:10]}. {OPEN} marks what a record "
        "cannot know."
    )
    parts = [
        f"## {title}\n\n" + "\n".join(f"- {line}" for line in lines if line)
        for title, lines in _sections(release, together).items()
    ]
    return "\n\n".join([head, *parts]) + "\n"


def _sections(release: AnyRelease, together: str | None) -> dict[str, list[str]]:
    """Lines for each question."""
    return {
        "Privacy parameters": [
            guarantee_sentence(release),
            risk_sentence(release),
            f"Spent: {price_words(release.guarantee.lines)}.",
            _in_ledger(release),
        ],
        "Unit of privacy": _unit(release),
        "Trust model": [_TRUST],
        "Algorithms and correctness": [
            mechanism_sentence(release),
            "Bounds and levels were declared; none was taken from the records.",
            *release.assumptions,
            f"Software: {', '.join(f'{k} {v}' for k, v in release.software.items())}.",
            f"Schema {release.schema_hash}, plan {release.plan_hash}.",
        ],
        "Utility": _utility(release, together),
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


def _in_ledger(release: AnyRelease) -> str:
    """Which entry it is, and what the same people have paid."""
    return (
        f"Entry {release.charge_id} of the ledger of {as_code(release.dataset)}. "
        f"{with_earlier(release)} {OPEN} what other ledgers have paid for them."
    )


def _unit(release: AnyRelease) -> list[str]:
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


def _utility(release: AnyRelease, together: str | None) -> list[str]:
    told = [c for c in release.coefficients if not c.is_not_estimable]
    return [
        f"{len(told)} of {len(release.coefficients)} coefficients with intervals of level "
        f"{release.design.confidence_level:.10g} from {release.counted_words}.",
        release.lengths_words,
        together_sentence(release) if together is None else together,
        as_code(said) if (said := against_goal(release)) else "",
        release.verdict,
        not_reportable(release.not_estimable) if release.not_estimable else "",
        *(f"Known before the draw: {as_code(sentence)}" for sentence in release.warnings),
    ]


def registry_entry(release: AnyRelease, *, together: str | None = None) -> str:
    """Return an entry of tier 3 for OpenDP's registry of deployments, as YAML.

    Its keys, and the words of its lists, are those of `schemas/deployments-schema.yaml` in the
    repository opendp/deployments-registry-data as of July 2026. What a record cannot know is left
    to whoever deploys, and says so.

    together: its `together_sentence`, for a caller who has it.
    """
    entry = {
        "url_slug": _slug(release),
        "deployment": {
            "basic": _basic(release),
            "dp_variant": _variant(release),
            "privacy_loss": _privacy_loss(release),
            "deployment_model": _deployment_model(release),
            "implementation": _implementation(release, together),
            "administrative": {
                "status": "Draft",
                "registry_authors": [f"{OPEN} who fills this in."],
                "tier": 3,
            },
        },
    }
    text = dump_yaml(entry, is_block=True)
    # This field takes three words only, and none of them says that it is not known.
    return text.replace(_CURATOR, f"{_CURATOR}  # a placeholder; or Industry, or Nonprofit", 1)


def _slug(release: AnyRelease) -> str:
    words = re.findall("[a-z0-9]+", release.title.lower())
    return "-".join([*words, release.plan_hash[:8]])


def _basic(release: AnyRelease) -> dict[str, object]:
    return {
        "name": release.title,
        "data_curators": [
            {"data_curator_name": f"{OPEN} who publishes.", "data_curator_type": "Government"}
        ],
        "description": f"{mechanism_sentence(release)} Coefficients with confidence intervals.",
        "intended_use": f"{OPEN} what the coefficients are meant for.",
        "data_product_type": "Machine learning model",
        "data_product_region": f"{OPEN} which region the records describe.",
        "publication_date": release.released_at[:10],
    }


def _variant(release: AnyRelease) -> dict[str, object]:
    return {
        "variant_name": _variant_of(release)[0],
        "data_domain": f"All tables of {release.n_records:,} {release.counted}, whatever their "
        "cells hold.",
        "unprotected_quantities": f"The number of {release.counted}.",
    }


def _variant_of(release: AnyRelease) -> tuple[str, tuple[str, ...]]:
    return _VARIANTS.get(release.guarantee.definition, ("Custom", ()))


def _privacy_loss(release: AnyRelease) -> dict[str, object]:
    g = release.guarantee
    parameters = {"epsilon": g.epsilon}
    if DEFINITIONS[g.definition].has_delta:
        parameters["delta"] = g.delta
    for name in _variant_of(release)[1]:
        parameters[name] = float(UP_4.create_decimal(g.amount))
    return {
        "privacy_unit": release.protects,
        "privacy_unit_details": g.neighbours,
        "number_of_privacy_units": release.n_records,
        "privacy_parameters": parameters,
        "privacy_parameters_details": f"{guarantee_sentence(release)} {risk_sentence(release)}",
    }


def _deployment_model(release: AnyRelease) -> dict[str, object]:
    return {
        "model_name": "Central",
        "model_name_details": "Noise is added to what is computed from all records.",
        "trust_assumptions": _TRUST,
        "actors": f"The steward, {as_code(release.person)}, and the readers of the release. {OPEN} "
        "who else may read the table, the ledger and its key.",
        "release_type": "One release",
        "release_type_details": _in_ledger(release),
        "data_source_type": "Static",
        "data_source_type_details": "One table, read once.",
        "access_type": "Non-interactive",
        "access_type_details": "Readers get files.",
    }


def _implementation(release: AnyRelease, together: str | None) -> dict[str, object]:
    software = ", ".join(f"{name} {version}" for name, version in release.software.items())
    return {
        "preprocessing_and_hyperparameter_tuning": "Bounds and levels were declared; the program "
        "took none from the records. That no setting was chosen by looking at them is assumed.",
        "mechanisms": f"{mechanism_sentence(release)} Software: {software}.",
        "composition": "Sequential: the parts add up, and all were booked before any noise was "
        f"drawn ({price_words(release.guarantee.lines)}).",
        "post_processing": "Intervals are made from released numbers alone. "
        + target_sentence(release),
        "justification": f"{OPEN} why this budget and these declarations. What it rests on:\n"
        + "\n".join(f"- {line}" for line in release.assumptions),
        "utility": "\n".join(f"- {line}" for line in _utility(release, together) if line),
        "additional_information": f"Plan {release.plan_hash}, schema {release.schema_hash}, "
        f"ledger entry {release.ledger_head}.",
    }
