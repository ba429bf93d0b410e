"""Clipped Newton steps on the pages: offered beside a released shape, opened as planned."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpci_core import forecast
from dpci_core.base.errors import InfeasibleDesignError
from ui.session import choices, text
from ui.session.case import Case, make_case
from ui.session.choices import EVERY_MECHANISM, MECHANISMS
from ui.session.compute import PUBLIC, TableSource
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings

NOW = Settings(
    d=4,
    n=30_000,
    mechanisms=("newton",),
    definitions=("zcdp",),
    currency="approx",
    shape="released",
).with_epsilon(1.0)
SOURCE = TableSource(PUBLIC)


@pytest.fixture(scope="module")
def case() -> Case:
    return make_case(NOW, SOURCE)


def test_they_are_offered_where_they_apply() -> None:
    assert NOW.offered_mechanisms == EVERY_MECHANISM
    chosen = replace(NOW, mechanisms=("objective",))
    assert chosen.offered_mechanisms == EVERY_MECHANISM
    for other in (
        {"shape": "planning"},
        {"target": "unpenalised"},
        {"losses": ("huber_svm",)},
        {"definitions": ("pure",)},
        {"mechanisms": ("output",)},
    ):
        assert replace(chosen, **other).offered_mechanisms == MECHANISMS, other
    assert Settings().mechanisms == ("objective", "output")


def test_every_mark_is_one_that_pictures_draw() -> None:
    script = (Path(choices.__file__).parents[1] / "kit" / "picture.js").read_text()
    drawn = script.partition("const SHAPES = {")[2].partition("}\n")[0]
    names = re.findall(r"^  \"?([a-z-]+)\"?: ", drawn, re.MULTILINE)
    assert "circle" in names
    for marker in choices._MARKERS.values():
        assert marker in names


def test_a_case_has_metric_and_clip(case: Case) -> None:
    design = case.design
    assert design.geometry is not None
    assert design.clip < 1.0
    assert design.definition == "gdp"
    made = forecast(case.moments, design=design)
    assert not made.is_not_reportable.any()
    assert f"gradients are cut at {design.clip:g}" in text.noise_sentence(design)


def test_a_plan_opens_as_it_was(case: Case) -> None:
    plan = plan_of(case, "Steps")
    again = make_case(settings_of(plan), SOURCE)
    assert again.is_opened
    assert again.design.geometry == case.design.geometry
    assert again.design.clip == case.design.clip
    assert again.design.mechanism == "newton"
    np.testing.assert_allclose(
        [float(part) for part in (*again.design.budget.parts, again.design.budget.metric)],
        [float(part) for part in (*plan.design.budget.parts, plan.design.budget.metric)],
        rtol=1e-6,
    )
    other = make_case(replace(settings_of(plan), mechanisms=("objective",)), SOURCE)
    assert other.design.clip == 1.0


def test_without_a_metric_it_is_refused_in_words() -> None:
    case = make_case(replace(NOW, shape="planning"), SOURCE)
    with pytest.raises(InfeasibleDesignError, match="need a metric"):
        forecast(case.moments, design=case.design)
