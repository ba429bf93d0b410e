"""The evaluation of a release and its entry for a registry say what the record says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dpci_core.__main__ import main
from dpci_core.release import Release, load_release
from dpci_core.release.evaluation import OPEN, evaluation, registry_entry
from dpci_core.release.report import guarantee_sentence, report_html
from dpci_core.schema import CONSTANT
from ui.release import result

RECORDS = sorted((Path(__file__).parents[1] / "fixtures").glob("release_*.json"))
QUESTIONS = (
    "Privacy parameters",
    "Unit of privacy",
    "Trust model",
    "Algorithms and correctness",
    "Utility",
    "Bias",
    "Side channels",
    "Access control and security",
    "Data collection exposure",
)


@pytest.fixture(params=RECORDS, ids=lambda path: path.stem)
def made(request: pytest.FixtureRequest) -> Release:
    return load_release(request.param)


def test_every_question_is_answered_or_left_to_the_deployer(made: Release) -> None:
    text = evaluation(made)
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert tuple(titles) == QUESTIONS
    answers = dict(zip(titles, text.split("\n## ")[1:], strict=True))
    assert all(answer.count("\n- ") >= 1 for answer in answers.values())
    for title in ("Privacy parameters", "Unit of privacy", "Bias", "Data collection exposure"):
        assert OPEN in answers[title]  # what a record cannot know is not made up
    assert guarantee_sentence(made) in answers["Privacy parameters"]
    assert made.guarantee.neighbours in answers["Unit of privacy"]
    assert all(name in answers["Utility"] for name in made.not_estimable)
    assert all(sentence in text for sentence in made.assumptions)


def test_files_and_page_compare_lengths_with_the_plan_alike(
    made: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They took a mean of ratios and a ratio of sums: 1.10 and 1.06 for one release."""
    first, *others = (
        one for one in made.coefficients if not one.is_not_estimable and one.name != CONSTANT
    )
    longer = replace(first, planned_scaled=first.scaled.length / 4.0)
    made = replace(
        made,
        coefficients=tuple(longer if one is first else one for one in made.coefficients),
    )
    lengths = [one.scaled.length for one in (first, *others)]
    planned = [one.planned_scaled for one in (longer, *others)]
    ratio = sum(lengths) / sum(planned)
    each = [a / b for a, b in zip(lengths, planned, strict=True)]
    said = f"{ratio:.2f} times as long as planned ({min(each):.2f} to {max(each):.2f} times)."
    assert said in evaluation(made)
    assert said in report_html(made)
    monkeypatch.setattr(result, "_usual", lambda *_: (1.0, 1.0))
    ones = np.ones(len(made.coefficients))
    no_plan: Any = SimpleNamespace(source=None)
    numbers: Any = SimpleNamespace(scaled=SimpleNamespace(ci_length=ones, nonprivate_length=ones))
    assert f"{ratio:.2f} times" in result.against_plan(made, no_plan, numbers)
    alone = tuple(replace(one, is_not_estimable=one.name != CONSTANT) for one in made.coefficients)
    assert replace(made, coefficients=alone).times_as_planned is None, "the intercept is no effect"
    assert replace(made, coefficients=alone).lengths_words == ""


def test_what_people_typed_stays_text() -> None:
    made = replace(
        load_release(RECORDS[0]), title="x\n## Utility\n- all good: !!python", unit="*`a`"
    )
    text = evaluation(made)
    assert text.count("\n## Utility") == 1
    assert "`` *`a` ``" in text


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = load_release(RECORDS[0])
    assert main(["evaluation", str(RECORDS[0])]) == 0
    assert capsys.readouterr().out == evaluation(made)
    assert main(["evaluation", str(RECORDS[0]), "--registry"]) == 0
    assert capsys.readouterr().out == registry_entry(made)
    assert main(["evaluation", str(tmp_path)]) == 1
