"""What a record answers after the release: against the record itself, and what it refuses."""

from __future__ import annotations

import io
import json
import math
import shutil
from contextlib import redirect_stdout
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import dpci_core as dp
from dpci_core import ZCDP, PureDP, ReleaseInference
from dpci_core.__main__ import main
from dpci_core.ledger import Cap, Ledger
from dpci_core.release import (
    AfterError,
    Interval,
    Release,
    load_release,
    model_card,
    notebook,
    read_header,
    read_records,
    report_html,
)
from dpci_core.report.afterwards import hold_together, p_value
from dpci_core.report.refusals import said
from dpci_core.schema import RecordMapper
from tests.release_example import RHO, Desk, make_plan

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("release_*.json"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Desk.at(tmp_path_factory.mktemp("desk")).release()


@pytest.fixture(scope="module")
def after(made: Release) -> ReleaseInference:
    return ReleaseInference(made)


def ends(interval) -> tuple[float, float, float]:
    return interval.estimate, interval.low, interval.high


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_one_coefficient_is_told_as_its_record_tells_it(path: Path) -> None:
    after = ReleaseInference.read(path)
    assert after.is_exact
    for c in after.made.coefficients:
        own, encoded = after.contrast({c.name: 1}), after.contrast({c.name: 1}, unit="encoded")
        assert ends(own.interval) == pytest.approx(ends(c.original), rel=1e-8)
        assert ends(encoded.interval) == pytest.approx(ends(c.scaled), rel=1e-8)
        for found in (own, encoded):
            excludes = found.interval.low > 0 or found.interval.high < 0
            assert (found.p_value < 0.05) == excludes


@pytest.mark.parametrize(
    "fields",
    [
        {"mechanism": "objective", "calibration": "sharp", "target": "unpenalised"},
        {"mechanism": "objective", "calibration": "sharp", "regularization": 0.5},
        {"calibration": "sharp"},
    ],
    ids=["unpenalised", "objective", "output"],
)
def test_a_new_release_gives_its_own_intervals_again(fields: dict, tmp_path: Path) -> None:
    desk = Desk.at(tmp_path, plan=make_plan(RHO, **fields))
    after = ReleaseInference(desk.release(allow_unreviewed=True))
    for c in after.made.coefficients:
        told = after.contrast({c.name: 1}).interval
        assert told.estimate == pytest.approx(c.original.estimate, rel=1e-8)
        assert told.length >= c.original.length * (1 - 1e-8)
        if after.is_exact:
            assert told.length == pytest.approx(c.original.length, rel=1e-8)


def test_a_combination_is_linear_in_its_units(after: ReleaseInference) -> None:
    age, city = (after.contrast({name: 1}).interval for name in ("age", "city=b"))
    both = after.contrast({"age": 10, "city=b": -2})
    assert both.interval.estimate == pytest.approx(10 * age.estimate - 2 * city.estimate)
    assert both.interval.length < 10 * age.length + 2 * city.length
    assert both.interval.length > abs(10 * age.length - 2 * city.length)
    encoded = after.contrast({"age": 2}, unit="encoded").interval
    assert encoded.length == pytest.approx(2 * after.made.coefficients[0].scaled.length)
    wider = after.contrast({"age": 1}, level=0.99).interval
    assert wider.low < age.low
    assert age.high < wider.high
    assert after.contrast({"intercept": 1}) == after.contrast({"constant": 1})


def test_a_step_is_what_effects_are_told_for(tmp_path: Path) -> None:
    standard = next(path for path in FIXTURES if "standard" in path.stem)
    after = ReleaseInference.read(standard)
    from dpci_core.schema import told_steps

    name, step = next(
        (n, s) for n, s in zip(after.names, told_steps(after.made.schema, after.names), strict=True)
        if s != 1.0
    )  # fmt: skip
    unit, told = after.contrast({name: 1}), after.contrast({name: 1}, unit="step")
    assert ends(told.interval) == pytest.approx([step * x for x in ends(unit.interval)])


def test_what_was_chosen_after_looking_pays_for_it(after: ReleaseInference) -> None:
    plain = after.contrast({"age": 1})
    looked = after.contrast({"age": 1}, after_looking=True)
    assert looked.interval.length > after.together().intervals["age"].length
    assert after.together().intervals["age"].length > plain.interval.length
    assert looked.p_value > plain.p_value


def test_all_intervals_hold_together_less_often(after: ReleaseInference) -> None:
    found = after.together()
    assert set(found.intervals) == {"age", "city=b", "constant"}
    # One W of Laplace noise makes errors large together: more than .95^3 = .857.
    assert 0.857 < found.holds < 0.95
    assert 1.0 < found.multiplier < 1.4
    looser = after.together(level=0.8)
    assert looser.multiplier < found.multiplier
    steps = after.together(unit="encoded")
    assert steps.multiplier == pytest.approx(found.multiplier, rel=0.02)


def test_a_test_of_several_is_the_region_that_excludes_them(after: ReleaseInference) -> None:
    region = after.region(["age", "city=b"])
    found = after.test([{"age": 1}, {"city=b": 1}])
    at_zero = region.contains({"age": 0.0, "city=b": 0.0})
    assert at_zero == (found.p_value > 0.05) == (found.distance < region.radius**2)
    edge = region.centre + region.axes[:, 1] * 0.999
    outside = region.centre + region.axes[:, 1] * 1.001
    assert region.contains(dict(zip(region.names, edge, strict=True)))
    assert not region.contains(dict(zip(region.names, outside, strict=True)))
    area = math.pi * float(np.prod(np.linalg.norm(region.axes, axis=0)))
    assert region.volume == pytest.approx(area, rel=1e-9)
    solid = after.region(after.names)
    ball = 4.0 / 3.0 * math.pi * float(np.prod(np.linalg.norm(solid.axes, axis=0)))
    assert solid.volume == pytest.approx(ball, rel=1e-9)
    at_edge = after.test(
        [{"age": 1}, {"city=b": 1}], values=list(region.centre + region.axes[:, 0])
    )
    assert at_edge.p_value == pytest.approx(0.05, rel=1e-6)
    one = after.test([{"age": 1}])
    assert one.p_value == pytest.approx(after.contrast({"age": 1}).p_value, rel=0.05)


def test_predictions_are_those_of_the_model_with_intervals(after: ReleaseInference) -> None:
    rows = pd.DataFrame({"age": [40.0, 73.5], "city": ["b", "a"]})
    found = after.predict(rows)
    scores = after.made.decision(rows)
    assert [one.score.estimate for one in found] == pytest.approx(list(scores))
    for one in found:
        assert ends(one.probability) == pytest.approx(list(expit(ends(one.score))))
        assert 0.0 < one.probability.low < one.probability.high < 1.0
    weights = {"age": 40, "city=b": 1, "constant": 1}
    assert ends(found[0].score) == pytest.approx(ends(after.contrast(weights).interval))
    (alone,) = after.predict({"age": 40.0, "city": "b"})
    assert ends(alone.score) == pytest.approx(ends(found[0].score))
    assert ends(alone.probability) == pytest.approx(ends(found[0].probability))


def test_draws_have_the_spread_of_the_intervals(after: ReleaseInference) -> None:
    drawn = after.draws(40_000, rng=np.random.default_rng(4))
    for j, c in enumerate(after.made.coefficients):
        low, high = np.quantile(drawn[:, j], [0.025, 0.975])
        assert high - low == pytest.approx(c.original.length, rel=0.05)
    same = after.draws(5, rng=np.random.default_rng(4))
    assert same == pytest.approx(after.draws(5, rng=np.random.default_rng(4)))
    with pytest.raises(ValueError, match="rng"):
        after.draws(5, rng=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({"age": 40}, "column_to_predict_missing"),
        ({"age": 40, "city": "b", "name": "Ada"}, "column_not_used"),
        ({"age": None, "city": "b"}, "cell_to_predict_missing"),
        ({"age": "forty", "city": "b"}, "cell_to_predict_missing"),
        ({"age": 100.5, "city": "b"}, "cell_outside_bounds"),
        ({"age": -1, "city": "b"}, "cell_outside_bounds"),
        ({"age": 40, "city": "z"}, "level_to_predict_unknown"),
        ({"age": 40, "city": None}, "level_to_predict_unknown"),
        (pd.DataFrame({"age": [], "city": []}), "no_row_to_predict"),
    ],
)
def test_a_row_that_does_not_fit_the_declaration_is_refused(after, row, code: str) -> None:
    with pytest.raises(AfterError) as caught:
        after.predict(row)
    assert caught.value.code == code
    assert said(caught.value)


@pytest.mark.parametrize("weight", [1e-100, 1e100])
def test_a_weight_of_any_size_has_the_p_value_of_one(after: ReleaseInference, weight: float):
    found, plain = after.contrast({"age": weight}), after.contrast({"age": 1.0})
    assert found.p_value == pytest.approx(plain.p_value, abs=1e-9)
    assert found.interval.low == pytest.approx(weight * plain.interval.low)


def test_what_was_not_asked_in_its_terms_is_refused(after: ReleaseInference) -> None:
    for ask, code in (
        (lambda: after.contrast({"income": 1}), "no_such_coefficient"),
        (lambda: after.contrast({"age": math.inf}), "weight_beyond"),
        (lambda: after.contrast({"age": -1e101}), "weight_beyond"),
        (lambda: after.test([{"age": 1e-101}]), "weight_beyond"),
        (lambda: after.contrast({"age": 0}), "no_weight"),
        (lambda: after.test([]), "no_weight"),
        (lambda: after.test(["age"]), "combination_is_no_mapping"),  # type: ignore[list-item]
        (lambda: after.region([{"age": 1}]), "no_such_coefficient"),  # type: ignore[list-item]
        (lambda: after.test([{"age": 1}], values=[1, 2]), "a_value_for_each"),
        (lambda: after.test([{"age": 1}, {"age": 2}]), "depend_on_each_other"),
        (lambda: after.region(["age", "age"]), "depend_on_each_other"),
        (lambda: after.region(["age"]).contains({"city=b": 1}), "names_of_region"),
    ):
        with pytest.raises(AfterError) as caught:
            ask()
        assert caught.value.code == code
        assert said(caught.value)
    with pytest.raises(ValueError, match="unit"):
        after.contrast({"age": 1}, unit="metre")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level"):
        after.contrast({"age": 1}, level=1.0)


def test_a_record_has_no_region_where_it_is_not_estimable(made: Release) -> None:
    first, *rest = made.coefficients
    after = ReleaseInference(
        replace(made, coefficients=(replace(first, is_not_estimable=True), *rest))
    )
    assert after.contrast({"age": 1, "city=b": 1}).is_not_estimable
    assert not after.contrast({"city=b": 1}).is_not_estimable
    assert after.test([{"age": 1}]).is_not_estimable
    assert after.predict({"age": 40, "city": "b"})[0].is_not_estimable
    assert set(after.together().intervals) == {"city=b", "constant"}
    with pytest.raises(AfterError) as caught:
        after.region(["age", "city=b"])
    assert caught.value.code == "not_estimable"
    lost = tuple(replace(c, is_not_estimable=True) for c in made.coefficients)
    with pytest.raises(AfterError) as caught:
        ReleaseInference(replace(made, coefficients=lost)).together()
    assert caught.value.code == "nothing_estimable"


def test_intervals_that_are_not_those_of_the_matrices_are_refused(made: Release) -> None:
    doubled = tuple(tuple(2 * x for x in row) for row in made.hessian)
    with pytest.raises(AfterError) as caught:
        ReleaseInference(replace(made, hessian=doubled))
    assert caught.value.code == "intervals_of_other_matrices"


def test_however_much_is_asked_nothing_is_charged(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    desk.release()
    before = [(c.charge_id, c.state) for c in desk.ledger.history()]
    path = desk.folder / "out" / "release.json"
    content = path.read_bytes()
    after = ReleaseInference.read(path)
    after.together(), after.contrast({"age": 1}), after.predict({"age": 1, "city": "a"})
    assert path.read_bytes() == content
    assert [(c.charge_id, c.state) for c in Ledger(tmp_path / "ledger.sqlite").history()] == before
    assert load_release(path).to_dict() == after.made.to_dict()


# --- for people -----------------------------------------------------------------------------------


def test_report_and_card_say_how_often_all_hold(made: Release, after: ReleaseInference) -> None:
    found = hold_together(after.together())
    assert found.startswith("Each interval holds in 95 %, all 3 together in about 8")
    other = hold_together(after.together(level=0.8))  # how they were released stays what it was
    assert other.startswith(found.partition(";")[0])
    assert other.endswith("hold in 80 %.")
    assert found in report_html(made)
    assert found in model_card(made)
    first, *rest = made.coefficients
    one = tuple(replace(c, is_not_estimable=True) for c in rest)
    for spoken in ((first, *one), (replace(first, is_not_estimable=True), *one)):
        assert "together in about" not in report_html(replace(made, coefficients=spoken))


def run(text: str) -> tuple[dict, str]:
    """The names and the output of the code cells of a notebook, run as one program."""
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    space: dict = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as printed:
        for k, cell in enumerate(book.cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"cell {k}", "exec"), space)
    return space, printed.getvalue()


def test_the_notebook_of_a_release_runs_on_its_record_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk.at(tmp_path)
    desk.release()
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "release.json").write_bytes((desk.folder / "out" / "release.json").read_bytes())
    monkeypatch.chdir(alone)
    space, printed = run((desk.folder / "out" / "after.ipynb").read_text())
    assert repr(space["after"].contrast(space["difference"])) in printed
    assert space["draws"].shape == (10_000, 3)
    assert "as released all hold in" in printed


def test_the_notebook_of_any_record_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hostile = replace(load_release(FIXTURES[-1]), title="''' \"\"\" \\ `x` <b>\n# $x$")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "release.json").write_text(hostile.to_json())
    assert run(notebook(hostile))[0]["after"].is_exact


def test_the_command_says_what_the_object_answers(
    made: Release, after: ReleaseInference, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "release.json"
    path.write_text(made.to_json())
    assert main(["after", str(path)]) == 0
    found = after.together()
    heading, said, *rows = capsys.readouterr().out.splitlines()
    assert heading == hold_together(found)
    assert said == f"All at once, {found.multiplier:.3g} times as long as released:"
    assert len(rows) == len(found.intervals)
    asked = ["--contrast", "age=1", "city=b=-2", "--predict", "age=40", "city=b", "--json"]
    book = tmp_path / "book.ipynb"
    assert main(["after", str(path), *asked, "--notebook", str(book)]) == 0
    combination, row = json.loads(capsys.readouterr().out)
    found = after.contrast({"age": 1, "city=b": -2})
    assert combination["interval"]["low"] == pytest.approx(found.interval.low, rel=1e-9)
    assert row["probability"]["high"] == pytest.approx(
        after.predict({"age": 40, "city": "b"})[0].probability.high, rel=1e-9
    )
    assert book.read_text() == notebook(made)
    assert main(["after", str(path), "--test", "age", "city=b", "--simultaneous"]) == 0
    assert "age, city=b all 0: p = " in capsys.readouterr().out
    for wrong in (["--contrast", "age"], ["--contrast", "age=x"], ["--contrast", "agee=1"]):
        assert main(["after", str(path), *wrong]) == 1
    for twice in (["--contrast", "age=1", "age=2"], ["--predict", "age=40", "age=50", "city=b"]):
        assert main(["after", str(path), *twice]) == 1
        assert capsys.readouterr().err.endswith("Expected 'age' once, got it twice.\n")
    assert main(["after", str(path), "--predict", "age=140", "city=b"]) == 1
    assert "outside its declared bounds, 0 to 100" in capsys.readouterr().err
    assert main(["after", str(path), "--notebook", str(book)]) == 1


def test_a_large_p_value_under_large_noise_says_so() -> None:
    assert p_value(0.3, 0.6).endswith("says more about the noise than about the effect.")
    assert p_value(0.3, 0.4) == "p = 0.3."
    assert p_value(0.01, 0.9) == "p = 0.01."
    assert p_value(1e-9, 0.9) == "p below 0.000001."


# --- many whole releases, `make soak` -------------------------------------------------------------

RELEASES = 400
N_ROWS = 2_000
WEIGHTS = {"age": 40.0, "city=b": -1.0}
PERSON = {"age": 35.0, "city": "b"}


def write_sample(path: Path, n: int, rng: np.random.Generator) -> Path:
    """A table of n rows of one population."""
    age, city = rng.uniform(0, 100, n), rng.choice(["a", "b"], n)
    sick = rng.random(n) < expit((age - 50) / 25 + 0.5 * (city == "b"))
    frame = pd.DataFrame({"age": age, "city": city, "sick": np.where(sick, "yes", "no")})
    frame.to_csv(path, index=False)
    return path


def truth_of(plan: dp.Plan, folder: Path) -> tuple[RecordMapper, np.ndarray]:
    """The encoding, and what the releases of a plan estimate: the fit of 400,000 rows."""
    mapper = RecordMapper(plan.schema, plan.features)
    file = write_sample(folder / "population.csv", 400_000, np.random.default_rng(20))
    X, y, _ = read_records(read_header(file), mapper)
    fit = dp.fit_moments(X, y, loss=plan.design.loss, regularization=plan.design.regularization)
    return mapper, fit.theta_hat


def has(interval: Interval, value: float) -> bool:
    return interval.low <= value <= interval.high


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["zcdp-output", "pure-objective"])
def test_what_many_whole_releases_answer_is_as_often_right_as_it_says(
    kind: str, memory: Path, record_property
) -> None:
    """Every release: from a file of its own through the ledger to its folder, and read there."""
    definition, mechanism = kind.split("-")
    budget = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
    if definition == "pure":
        budget = PureDP(model="2", hessian="1", covariance="1")
    plan = make_plan(
        budget, n=N_ROWS, mechanism=mechanism, calibration="sharp", regularization=0.02
    )
    desk = Desk.at(memory, plan=plan, cap=Cap(definition=definition, amount=Decimal(10_000)))
    mapper, theta = truth_of(plan, memory)
    original = mapper.to_original @ theta
    by_name = dict(zip(plan.names, original.tolist(), strict=True))
    contrast = sum(weight * by_name[name] for name, weight in WEIGHTS.items())
    score = float(mapper.features_of({k: [v] for k, v in PERSON.items()})[0] @ theta)
    held: dict[str, list[bool]] = {}
    said: list[float] = []
    for k in range(RELEASES):
        file = write_sample(memory / "table.csv", N_ROWS, np.random.default_rng([21, k]))
        desk.release(f"r{k}", to=f"out{k}", file=file)
        after = ReleaseInference.read(memory / f"out{k}")
        assert after.is_exact
        together, answer = after.together(), after.contrast(WEIGHTS)
        slopes = [name for name in after.names if name != "constant"]
        found = {
            "all intervals at once": all(
                has(c.original, by_name[c.name]) for c in after.made.coefficients
            ),
            "simultaneous intervals": all(
                has(one, by_name[name]) for name, one in together.intervals.items()
            ),
            "contrast": has(answer.interval, contrast),
            "test of a true value, level .05": after.test(
                [{name: 1.0} for name in slopes], values=[by_name[name] for name in slopes]
            ).p_value
            >= 0.05,
            "region": after.region(slopes).contains({name: by_name[name] for name in slopes}),
            "prediction": has(after.predict(PERSON)[0].score, score),
        }
        for name, is_held in found.items():
            held.setdefault(name, []).append(bool(is_held))
        said.append(together.holds)
        shutil.rmtree(memory / f"out{k}")
    shares = {name: float(np.mean(values)) for name, values in held.items()}
    levels = dict.fromkeys(shares, 0.95) | {"all intervals at once": float(np.mean(said))}
    shown = {name: f"{share:.3f}, said {levels[name]:.3f}" for name, share in shares.items()}
    record_property("held", {"releases": RELEASES, **shown})
    for name, share in shares.items():
        error = math.sqrt(levels[name] * (1 - levels[name]) / RELEASES)
        assert abs(share - levels[name]) <= 4 * error, name
