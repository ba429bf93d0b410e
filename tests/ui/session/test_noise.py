"""Noise shaped like the data: what the switch does to designs, numbers, words and links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpci_core.schema import StandardEncoding
from ui.explore.code import code_of
from ui.explore.later import _best
from ui.session import compute, text
from ui.session.case import make_case
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings, from_query

SHAPED = Settings(d=5, n=8_000, shape="released", definitions=("pure", "zcdp"))
SOURCE = compute.TableSource(compute.PUBLIC)


def test_only_noise_in_the_objective_is_shaped_and_its_intervals_are_shorter() -> None:
    shaped = compute.compute(SHAPED, SOURCE)
    even = compute.compute(replace(SHAPED, shape="declared"), SOURCE)
    assert len(shaped.outcomes) == len(even.outcomes) == 4
    for one, other in zip(shaped.outcomes, even.outcomes, strict=True):
        assert one.forecast is not None
        assert other.forecast is not None
        has_geometry = one.forecast.design.geometry is not None
        assert other.forecast.design.geometry is None
        assert one.forecast.design.budget.total == other.forecast.design.budget.total
        if one.combination.mechanism == "output":
            assert not has_geometry
            assert one.forecast.ci_length_mean == pytest.approx(
                other.forecast.ci_length_mean, rel=1e-9
            )
        elif has_geometry:
            assert one.forecast.vi_length_mean < other.forecast.vi_length_mean
    assert any(o.forecast and o.forecast.design.geometry for o in shaped.outcomes)


def test_asking_for_reviewed_results_alone_leaves_noise_even() -> None:
    reviewed = replace(SHAPED, results="reviewed")
    assert not reviewed.is_shaped
    found = compute.compute(reviewed, SOURCE)
    assert all(o.forecast and o.forecast.design.geometry is None for o in found.outcomes)


def test_the_switch_is_in_the_link_and_in_the_words() -> None:
    assert SHAPED.to_query()["shape"] == "released"
    assert from_query(SHAPED.to_query())[0] == SHAPED
    assert "shape" not in SHAPED.usual("shape").to_query()
    assert "weighted down" in text.covers(SHAPED)
    assert "shaped like the data" in text.calibration_words(SHAPED)
    output = replace(SHAPED, mechanisms=("output",))
    assert not output.is_shaped
    assert "shaped" not in text.calibration_words(output)
    assert "weighted" not in text.covers(output)


def test_words_are_those_of_what_came_out() -> None:
    """Rows are said to count less only where a geometry is used."""
    one = replace(SHAPED, mechanisms=("objective",), definitions=("zcdp",), currency="zcdp")
    view = compute.compute(one, SOURCE)
    (outcome,) = view.outcomes
    assert outcome.forecast is not None
    assert outcome.forecast.design.geometry is not None
    assert text.covers(view.effective_settings) == (
        "coefficient penalised at c = 0.001, extreme rows weighted down"
    )
    both = replace(one, mechanisms=("objective", "output"))
    assert text.covers(compute.compute(both, SOURCE).effective_settings).endswith(
        "where noise is shaped"
    )
    free = replace(one, target="unpenalised")
    assert text.covers(compute.compute(free, SOURCE).effective_settings) == (
        "coefficient without penalty, extreme rows weighted down"
    )
    poor = compute.compute(one.swept("total", 0.001), SOURCE)
    assert all(o.forecast is None or o.forecast.design.geometry is None for o in poor.outcomes)
    assert "weighted" not in text.covers(poor.effective_settings)
    assert "shaped" not in text.calibration_words(poor.effective_settings)
    assert "shaped" not in text.assumptions(poor.effective_settings, poor.records)


def test_the_code_on_the_page_prints_the_pages_length(capsys: pytest.CaptureFixture[str]) -> None:
    settings = replace(SHAPED, mechanisms=("objective",), definitions=("pure",))
    (outcome,) = compute.compute(settings, SOURCE).outcomes
    assert outcome.forecast is not None
    exec(code_of(settings), {})
    assert f"mean length {outcome.forecast.ci_length_mean:.4g}," in capsys.readouterr().out


def test_the_map_of_a_named_set_is_one_number_or_made_of_its_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = replace(
        Settings(d=5, n=30_000, definitions=("pure",)).in_plain_terms(), penalty="typed", c=0.0005
    )
    declared = replace(rows, shape="declared")
    assert compute.standard_of(declared, 5) == StandardEncoding(shape=2.4)
    found = compute.standard_of(rows, 5)
    assert found is not None
    assert isinstance(found.shape, tuple)
    assert compute.standard_of(rows.in_paper_terms(), 5) is None
    lengths = []
    for settings in (rows, declared):
        (outcome,) = compute.compute(settings, SOURCE).outcomes
        assert outcome.forecast is not None
        lengths.append(outcome.forecast.ci_length_mean)
        exec(code_of(settings), {})
        told = int((~outcome.forecast.is_not_reportable[:-1]).sum())
        assert capsys.readouterr().out.startswith(f"{told} effects, ")
        plan = plan_of(make_case(settings, SOURCE), "Map")
        assert settings_of(plan).shape == settings.shape
    assert lengths[0] != pytest.approx(lengths[1], rel=0.01)


def test_plan_shapes_its_noise_as_explore_does() -> None:
    """Where no row has to count in full for the sake of a coefficient, they are the same design."""
    settings = replace(
        SHAPED, definitions=("zcdp",), currency="zcdp", mechanisms=("objective",), encoding="schema"
    )
    for shape in ("declared", "planning", "released"):
        asked = replace(settings, shape=shape)  # type: ignore[arg-type]
        (outcome,) = compute.compute(asked, SOURCE).outcomes
        assert outcome.forecast is not None
        assert make_case(asked, SOURCE).design == outcome.forecast.design


@pytest.mark.parametrize("locked", [(False, False, False), (False, False, True)])
def test_the_best_split_of_explore_adds_up_with_a_metric(locked: tuple[bool, bool, bool]) -> None:
    settings = replace(SHAPED, definitions=("zcdp",), currency="zcdp", mechanisms=("objective",))
    settings = replace(settings, split=settings.split.with_locks(locked))
    view = compute.compute(settings, SOURCE)
    made = view.outcomes[0].forecast
    assert made is not None
    assert made.design.budget.metric > 0
    found = _best(view)
    assert found.split is not None
    assert found.split.total == settings.split.total
    assert found.split.locked == locked
    assert not locked[2] or found.split.parts[2] == settings.split.parts[2]
