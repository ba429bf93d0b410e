"""The tab of prediction error: published rates beside ours."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import error_rates
from benchmarks.study import append_rows
from tests.ui.test_pages import charts_of, start
from ui.evidence import errors


def names_of(chart) -> set[str]:
    return {t["name"] for t in chart["data"] if t.get("showlegend") is not False}


def measured(part: str, shift: float = 0.01) -> list[error_rates.MeasuredRate]:
    """Made-up results so far from the printed ones."""
    rows = []
    for cell in error_rates.cells_of(part):
        printed = error_rates.published_error(cell)
        rows.append(
            error_rates.MeasuredRate(
                **dataclasses.asdict(cell),
                regularization=0.001,
                n_records=900,
                error=0.2 if printed is None else printed + shift,
                error_se=0.001,
                error_sd=0.01,
                false_positive=0.1,
                false_negative=0.3,
                n_fits=10 if cell.method == "non_private" else 500,
                n_failed=0,
                folds=10,
                seed=1,
                date="2026-11-21",
                versions="python 3.11",
            )
        )
    return rows


@pytest.mark.parametrize("part", list(errors.TITLES))
def test_printed_and_ours_stand_side_by_side(part, monkeypatch, tmp_path):
    file = tmp_path / "run.csv"
    append_rows(measured(part), file, error_rates.MeasuredRate)
    monkeypatch.setattr(errors, "RUN_FILE", file)
    app = start("errors", published=part)
    chart = next(c for c in charts_of(app) if c["layout"]["meta"].get("part") == part)
    assert names_of(chart) == {
        f"{words}: {who}" for words in errors.METHOD_WORDS.values() for who in ("printed", "ours")
    }
    cells = error_rates.cells_of(part)
    n_printed = sum(error_rates.published_error(cell) is not None for cell in cells)
    title = f"0 of {n_printed} printed error rates agree with ours within 0.5 percentage points"
    assert title in [h.value for h in app.header]
    words = app.get("plotly_chart")[0].proto.alt
    assert any("Test error is the share of wrong predictions" in c.value for c in app.caption)
    assert f"{n_printed} printed values are measured here: 0 agree within 0.5 percentage" in words
    assert "median difference is 1.0 percentage points, the largest 1.0 percentage" in words
    assert "perturbation (Algorithm" not in words  # the table has the errors of each method
    (caption,) = [c.value for c in app.caption if c.value.startswith("Ours")]
    assert "50 draws of noise a fold, seed 1" in caption
    assert f"`python -m benchmarks.error_rates {part} --draws 50 --seed 1`" in caption
    frame = next(d.value for d in app.dataframe if "printed" in d.value.columns)
    assert len(frame) == len(cells)
    assert frame.difference.dropna().to_numpy() == pytest.approx(0.01)
    assert frame.printed.dropna().tolist() == [
        error for cell in cells if (error := error_rates.published_error(cell)) is not None
    ]


@pytest.mark.parametrize("content", [None, "nonsense\n1,2\n"])
def test_without_a_usable_file_the_printed_values_stand_alone(content, monkeypatch, tmp_path):
    file = tmp_path / "run.csv"
    if content:
        file.write_text(content)
    monkeypatch.setattr(errors, "RUN_FILE", file)
    app = start("errors")
    assert "No printed error rate is measured here" in [h.value for h in app.header]
    assert any("cannot be read" in w.value for w in app.warning) == bool(content)
    assert any("benchmarks.error_rates table1" in i.value for i in app.info)
