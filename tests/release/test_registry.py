"""deployment.yaml is an entry that the registry of deployments takes, of its highest tier."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpci_core.release import Release, load_release
from dpci_core.release.evaluation import OPEN, registry_entry
from dpci_core.release.report import risk_sentence

RECORDS = sorted((Path(__file__).parents[1] / "fixtures").glob("release_*.json"))

TEXT, DATE, WHOLE, NUMBER = "text", "date as text", "whole number", "number"
RULES = {  # opendp/deployments-registry-data, July 2026; "!" is required, nothing else may stand
    "url_slug!": TEXT,
    "deployment!": {
        "basic!": {
            "name!": TEXT,
            "data_curators!": [
                {
                    "data_curator_name!": TEXT,
                    "data_curator_type!": {"Government", "Industry", "Nonprofit"},
                }
            ],
            "description!": TEXT,
            "intended_use!": TEXT,
            "data_product_type!": {
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
                "Interactive API",
                "SQL queries",
            },
            "data_product_region!": TEXT,
            "publication_date!": DATE,
        },
        "dp_variant": {
            "variant_name": {
                "Pure DP",
                "Approximate DP",
                "Zero-concentrated DP",
                "Renyi DP",
                "Custom",
            },
            "data_domain": TEXT,
            "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT,
            "privacy_unit_details": TEXT,
            "number_of_privacy_units": WHOLE,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_details": TEXT,
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"},
            "model_name_details": TEXT,
            "trust_assumptions": TEXT,
            "actors": TEXT,
            "release_type": {"One release", "Many releases"},
            "release_type_details": TEXT,
            "data_source_type": {"Static", "Dynamic"},
            "data_source_type_details": TEXT,
            "access_type": {"Interactive", "Non-interactive"},
            "access_type_details": TEXT,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": TEXT,
            "mechanisms": TEXT,
            "composition": TEXT,
            "post_processing": TEXT,
            "justification": TEXT,
            "utility": TEXT,
            "additional_information": TEXT,
        },
        "administrative!": {
            "status!": {"Converted", "Draft", "Pending", "Changes Required", "Approved"},
            "registry_authors!": [TEXT],
            "tier!": {1, 2, 3},
        },
    },
}


def breaches(value: object, rule: object, path: str = "") -> Iterator[str]:
    """Where a value breaks a rule."""
    if isinstance(rule, dict):
        if not isinstance(value, dict):
            yield path
            return
        allowed = {name.rstrip("!"): inner for name, inner in rule.items()}
        yield from (f"{path}/{name}" for name in value if name not in allowed)
        yield from (f"{path}/{n[:-1]}" for n in rule if n.endswith("!") and n[:-1] not in value)
        for name in value.keys() & allowed.keys():
            yield from breaches(value[name], allowed[name], f"{path}/{name}")
    elif isinstance(rule, list):
        if not isinstance(value, list) or not value:
            yield path
            return
        for k, one in enumerate(value):
            yield from breaches(one, rule[0], f"{path}/{k}")
    elif not _fits(value, rule):
        yield path


def _fits(value: object, rule: object) -> bool:
    if isinstance(rule, set):
        return value in rule
    if rule is WHOLE:
        return type(value) is int
    if rule is NUMBER:
        return type(value) in (int, float)
    if rule is DATE:
        return isinstance(value, str) and bool(datetime.date.fromisoformat(value))
    return isinstance(value, str) and bool(value.strip())


def read(made: Release) -> Any:
    """As the registry's own checks read it: with YAML 1.1."""
    return yaml.safe_load(registry_entry(made))


@pytest.fixture(params=RECORDS, ids=lambda path: path.stem)
def made(request: pytest.FixtureRequest) -> Release:
    return load_release(request.param)


def test_the_entry_keeps_every_rule_of_the_registry(made: Release) -> None:
    assert list(breaches(read(made), RULES)) == []


def test_an_entry_of_the_third_tier_leaves_no_field_out(made: Release) -> None:
    def names(rule: Any) -> Any:
        return {n.rstrip("!"): names(x) for n, x in rule.items()} if isinstance(rule, dict) else 0

    entry, wanted = read(made), names(RULES)
    del wanted["deployment"]["privacy_loss"]["privacy_parameters"]  # they go with the definition
    del entry["deployment"]["privacy_loss"]["privacy_parameters"]
    assert names(entry) == wanted
    assert entry["deployment"]["administrative"]["tier"] == 3


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        (("deployment", "basic", "surprise"), "x", "/deployment/basic/surprise"),
        (("deployment", "basic", "publication_date"), datetime.date(2026, 1, 1), None),
        (("deployment", "basic", "data_product_type"), "coefficients", None),
        (("deployment", "privacy_loss", "privacy_parameters", "epsilon"), "0.5", None),
        (("deployment", "privacy_loss", "number_of_privacy_units"), 5.0, None),
        (("deployment", "administrative", "registry_authors"), [], None),
        (("deployment", "implementation", "utility"), "", None),
        (("deployment", "dp_variant"), "Pure DP", None),
    ],
)
def test_the_rules_see_what_breaks_them(
    place: tuple[str, ...], value: object, where: str | None
) -> None:
    entry = deepcopy(read(load_release(RECORDS[0])))
    inner = entry
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    assert list(breaches(entry, RULES)) == [where or f"/{'/'.join(place)}"]
    del entry["url_slug"]
    assert "/url_slug" in list(breaches(entry, RULES))


def test_the_entry_is_the_record_and_leaves_the_rest_open(made: Release) -> None:
    entry = read(made)["deployment"]
    loss, guarantee = entry["privacy_loss"], made.guarantee
    assert loss["privacy_unit"] == made.unit
    assert loss["privacy_unit_details"] == guarantee.neighbours
    assert loss["number_of_privacy_units"] == made.n_records
    assert risk_sentence(made) in loss["privacy_parameters_details"]
    if guarantee.definition == "pure":
        assert loss["privacy_parameters"] == {"epsilon": guarantee.epsilon}
        assert entry["dp_variant"]["variant_name"] == "Pure DP"
    else:
        assert loss["privacy_parameters"] == {
            "epsilon": guarantee.epsilon,
            "delta": guarantee.delta,
            "rho": float(guarantee.amount),
        }
        assert entry["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    unknown = [
        entry["basic"]["data_curators"][0]["data_curator_name"],
        entry["basic"]["intended_use"],
        entry["basic"]["data_product_region"],
        entry["administrative"]["registry_authors"][0],
    ]
    assert all(text.startswith(OPEN) for text in unknown)
    (line,) = [x for x in registry_entry(made).splitlines() if "data_curator_type" in x]
    assert "# a placeholder" in line


def test_another_definition_is_custom_and_told_in_words() -> None:
    """Gaussian differential privacy has no word there."""
    made = load_release(RECORDS[-1])
    other = replace(made, guarantee=replace(made.guarantee, definition="gdp"))
    entry = read(other)["deployment"]
    assert entry["dp_variant"]["variant_name"] == "Custom"
    assert set(entry["privacy_loss"]["privacy_parameters"]) == {"epsilon", "delta"}
    assert "mu-GDP" in entry["privacy_loss"]["privacy_parameters_details"]
    assert list(breaches(read(other), RULES)) == []


def test_a_title_of_any_letters_makes_an_address_and_stays_text() -> None:
    made = load_release(RECORDS[0])
    for title in ("Blood: 10 % & more!", "血壓", "x\n## y: !!python"):
        entry = read(replace(made, title=title))
        assert entry["deployment"]["basic"]["name"] == title
        assert re.fullmatch(f"([a-z0-9]+-)*{made.plan_hash[:8]}", entry["url_slug"])
    assert read(replace(made, title="Blood: 10 %"))["url_slug"].startswith("blood-10-")
