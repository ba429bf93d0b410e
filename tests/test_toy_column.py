"""A further kind of column is one class and its line in a registry: here levels that have an order.

Its features are cumulative: 1 for every step up to the level of a cell, so that a coefficient is
the effect of one step.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit

from dpci_core import Guesses, NumberGuess, NumericColumn, PureDP, Schema, StandardEncoding
from dpci_core.base.rows import parted
from dpci_core.ledger import Cap
from dpci_core.plan import DeclaredTable, Plan, as_yaml, read_plan
from dpci_core.plan.codec import PlanFieldError, plain, read
from dpci_core.plan.script import to_script
from dpci_core.plan.summary import to_html
from dpci_core.release import AfterError, ReleaseInference, effect_sentences, schema_hash
from dpci_core.schema import (
    KINDS,
    CategoricalColumn,
    Column,
    RecordMapper,
    Scale,
    encode,
    propose_standard,
    simulate_twin,
    twin_table,
)
from dpci_core.schema.categorical import LevelsColumn
from dpci_core.schema.mapping import Coded
from dpci_core.schema.worlds import worlds_of
from tests.release_example import Desk, make_plan
from ui.session.plan_settings import settings_of

Array = npt.NDArray[np.float64]
N = 4_000


@dataclass(frozen=True, slots=True)
class StepsColumn(LevelsColumn):
    """Levels from the lowest to the highest; in the standard encoding a step is divided by
    `divisor`.
    """

    divisor: float = 0.5
    other: str | None = None
    shares: tuple[float, ...] | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}>={level}" for level in self.levels[1:])

    def affine(self, *, is_standard: bool) -> tuple[tuple[float, float], ...]:
        k = len(self.levels) - 1
        if not is_standard:  # k ones have norm sqrt(k)
            return ((0.0, math.sqrt(k) * (1.0 + 1e-15)),) * k
        usual = np.array(self.expected_shares)
        return tuple((float(usual[step:].sum()), self.divisor) for step in range(1, k + 1))

    def encoded(self, values: Array, scale: Scale) -> Array:
        steps = (values[:, None] >= np.arange(1, len(self.levels))).astype(np.float64)
        if scale == "original":
            return steps
        centres, units = np.array(self.affine(is_standard=not isinstance(scale, str))).T
        return np.asarray((steps - centres) / units)

    @property
    def middling(self) -> str:
        return self.levels[len(self.levels) // 2]

    @property
    def per(self) -> str:
        return "per step"

    def _step(self, name: str) -> tuple[str, str]:
        k = self.feature_names.index(name)
        return self.levels[k], self.levels[k + 1]

    def contrast(self, name: str) -> str:
        return f"{self.name}, {' to '.join(self._step(name))}"

    def change(self, name: str, features: Collection[str]) -> tuple[str, str, str]:
        step = f"the step of {self.name} from {' to '.join(self._step(name))}"
        return step, f"for {step}", ""


STAGE = StepsColumn("stage", ("I", "II", "III", "IV"))
AGE = NumericColumn("age", 20, 80, typical=50, spread=15)
SCHEMA = Schema((AGE, STAGE), "sick", "yes", negative=("no",))
STANDARD = replace(SCHEMA, standard=StandardEncoding(shape=3.0))
EFFECTS = {"stage>=II": 1.0, "stage>=III": 0.0, "stage>=IV": 2.0}


@pytest.fixture(autouse=True)
def further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "steps", StepsColumn)


def plan_for(schema: Schema, **how: Any) -> Plan:
    budget = PureDP(model="40", hessian="20", covariance="20")
    plan = make_plan(budget, schema=schema, n=N, **({"regularization": 0.002} | how))
    return replace(
        plan, source=DeclaredTable(schema=schema, guesses=Guesses(effects=EFFECTS, n_rows=N))
    )


def test_a_plan_file_gives_it_back_and_a_mistake_is_named() -> None:
    for schema in (SCHEMA, replace(STANDARD, features=(replace(STAGE, shares=(0.25,) * 4),))):
        plan = plan_for(schema)
        assert read_plan(as_yaml(plan)) == Plan.from_query(plan.to_query()) == plan
    assert "kind: steps" in as_yaml(plan_for(SCHEMA))
    assert "StepsColumn('stage', levels=('I', 'II', 'III', 'IV'))" in to_script(plan_for(SCHEMA))
    wrong = plain(SCHEMA)
    wrong["features"][1]["colour"] = "red"
    with pytest.raises(PlanFieldError, match=r"features\[1\].colour: This field is unknown"):
        read(Schema, wrong)


def test_equal_columns_are_written_alike_whatever_numbers_they_hold() -> None:
    """Digests are of what is written, and a field of a new kind need not be listed for that."""
    for given, same in (
        ({"divisor": 2}, {"divisor": 2.0}),
        ({"shares": (1, 0, 0, 0)}, {"shares": (1.0, 0.0, 0.0, 0.0)}),
    ):
        one, other = (
            plan_for(replace(STANDARD, features=(AGE, replace(STAGE, **how))))
            for how in (given, same)
        )
        assert one == other
        assert as_yaml(one) == as_yaml(other)
        assert to_script(one) == to_script(other)


def test_a_doubt_that_belongs_to_no_world_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepsColumn, "doubts", lambda self, guess: {"rare level": (0.25,) * 4})
    with pytest.raises(ValueError, match=r"doubts of columns to be among .*'rare level'"):
        worlds_of(SCHEMA, Guesses())


@pytest.mark.parametrize("schema", [SCHEMA, STANDARD], ids=["bounds", "standard"])
def test_a_table_and_a_private_file_are_encoded_alike(schema: Schema) -> None:
    frame = twin_table(schema, Guesses(n_rows=500))
    records = encode(frame, schema, source="simulated", title="made up")
    assert records.feature_names == ("age", "stage>=II", "stage>=III", "stage>=IV", "constant")
    mapper = RecordMapper(schema)
    cells: dict[str, Any] = {name: frame[name].tolist() for name in mapper.needed}
    X, _ = mapper.records_of(cells)
    for ours, theirs in zip(parted(X), parted(records.X), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    codes = frame["stage"].cat.codes.to_numpy()
    packed = mapper.packed(cells | {"stage": Coded([f" {level}" for level in STAGE.levels], codes)})
    out, y = np.empty((500, packed.dim)), np.empty(500)
    packed.write(slice(0, 500), out, y)
    np.testing.assert_allclose(out, parted(X)[0], rtol=1e-15)
    # theta in original units is one coefficient for each step up
    B = np.eye(5) if records.meaning.basis is None else records.meaning.basis
    theta = np.linalg.solve(records.to_original @ B, [0.0, 1.0, 0.0, 2.0, 0.5])
    scores = parted(X)[0] @ theta
    np.testing.assert_allclose(scores, np.array([0.5, 1.5, 1.5, 3.5])[codes], atol=1e-9)


KINDS_HERE = [
    NumericColumn("x", -3, 7),
    NumericColumn("x", 0.1, 7, transform="log", missing=2),
    CategoricalColumn("x", ("a", "b", "c"), has_reference=False),
    CategoricalColumn("x", ("a", "b", "c"), other="c"),
    replace(STAGE, name="x"),
]


@pytest.mark.parametrize("column", KINDS_HERE, ids=lambda c: type(c).__name__)
def test_no_cell_makes_features_of_norm_above_1(column: Column) -> None:
    """What every kind promises: the noise is scaled for rows whose columns have norm 1."""
    cells: list[object] = [None, "", "a", " B", "zz", "IV", True, 1e308, -1e308, math.inf, "-inf"]
    cells += [math.nan, "nan", -3, 7, 6.999999999999999, "0.1", *np.linspace(-4, 8, 50).tolist()]
    values = column.filled(column.within(np.array([column.reader(cell) for cell in cells])))
    features = column.encoded(values[~np.isnan(values)], "bounds")
    assert features.shape == (np.sum(~np.isnan(values)), len(column.feature_names))
    assert np.linalg.norm(features, axis=1).max() <= 1.0 + 1e-15
    assert len(column.affine(is_standard=False)) == len(column.affine(is_standard=True))


def test_its_twin_follows_the_guesses() -> None:
    shares = (0.1, 0.2, 0.3, 0.4)
    guesses = Guesses(shares={"stage": shares}, effects=EFFECTS, n_rows=100_000)
    frame = twin_table(SCHEMA, guesses)
    found = frame["stage"].value_counts(normalize=True)[list(STAGE.levels)]
    np.testing.assert_allclose(found, shares, atol=0.01)
    chance = (frame["sick"] == "yes").groupby(frame["stage"], observed=True).mean()
    odds = np.log(chance / (1.0 - chance))
    np.testing.assert_allclose(np.diff(odds[list(STAGE.levels)]), [1.0, 0.0, 2.0], atol=0.1)
    with pytest.raises(ValueError, match="to name a column of numbers"):
        Guesses(numbers={"stage": NumberGuess(1.0, 1.0)}).check_against(SCHEMA)
    with pytest.raises(ValueError, match="to hold 4 shares"):
        simulate_twin(SCHEMA, guesses=Guesses(shares={"stage": (0.5, 0.5)}))
    usual = propose_standard(frame, SCHEMA, StandardEncoding(shape=2.0)).features[1]
    np.testing.assert_allclose(usual.shares, shares, atol=0.01)  # type: ignore[attr-defined]


def test_it_is_planned_with_and_released_in_words(tmp_path) -> None:
    plan = plan_for(SCHEMA)
    numbers = plan.numbers()
    assert numbers.names == ("age", "stage>=II", "stage>=III", "stage>=IV", "constant")
    assert "stage&gt;=IV" in to_html(plan, numbers)
    rng = np.random.default_rng(2)
    stage = rng.integers(0, 4, N)
    sick = rng.random(N) < expit(np.array([-2.0, -1.0, -1.0, 1.0])[stage])
    rows = zip(rng.uniform(20, 80, N), stage, sick, strict=True)
    file = tmp_path / "stages.csv"
    lines = [
        f"{age:.2f},{STAGE.levels[k]},{'yes' if is_sick else 'no'}" for age, k, is_sick in rows
    ]
    file.write_text("\n".join(["age,stage,sick", *lines]) + "\n")
    made = Desk.at(tmp_path, plan=plan, cap=Cap.pure(100)).release(file=file)
    assert made.schema == SCHEMA
    told = effect_sentences(made)
    assert told[3].startswith("the step of stage from III to IV, all else equal: odds times ")
    assert "It points towards sick = yes." in told[3]
    after = ReleaseInference(made)
    up = [after.predict({"age": 50, "stage": level})[0].score.estimate for level in STAGE.levels]
    np.testing.assert_allclose(
        np.diff(up), [c.original.estimate for c in made.coefficients[1:4]], rtol=1e-9
    )
    with pytest.raises(AfterError, match="I, II, III, IV"):
        after.predict({"age": 50, "stage": "V"})
    other = replace(SCHEMA, features=(AGE, replace(STAGE, levels=("1", "2"))))
    assert schema_hash(SCHEMA) == schema_hash(other)  # a corrected code is no other account


def test_pages_say_that_they_cannot_type_it() -> None:
    with pytest.raises(ValueError, match="no control for the column 'stage'"):
        settings_of(plan_for(SCHEMA, mechanism="objective"))
