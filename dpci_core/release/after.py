"""What else a release answers, from its record alone: combinations, tests, regions, predictions,
draws.

Everything here is post-processing of released and public numbers: no table is opened and nothing is
charged, however much is asked. docs/library.md says what is conditioned on and what is not valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import CodedError, check_choice, check_probability
from dpci_core.base.rows import plain
from dpci_core.intervals.joint import JointErrors
from dpci_core.release.reading import load_release
from dpci_core.release.record import AnyRelease, Interval, Law
from dpci_core.schema import (
    CONSTANT,
    RecordMapper,
    told_steps,
)

Unit = Literal["unit", "step", "encoded"]
"""What a weight of 1 is per: a unit of the column, the step its effect is told for, or the encoded
column.
"""
_SAME = 1e-6
"""Recorded and recomputed half-widths that differ by a smaller share are the same."""
_MIXED = 4.0
"""They may differ by this factor where the release mixed two half-widths (`half_widths`)."""
_FLAT_WEIGHT = 1e-12
_WEIGHTS = (1e-100, 1e100)
"""Sizes of a weight whose square, the variance of what it weighs, is still a number."""


class AfterError(CodedError, ValueError):
    """What cannot be answered from this record, or was not asked in its terms."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A combination of coefficients with its interval.

    p_value: probability of an estimate this far from 0 if the combination were 0, by the law of the
    interval, both noises in it.
    privacy_share: part of the error variance that is privacy noise.
    is_not_estimable: whether the release says nothing about it; its numbers are no interval of that
        level.
    """

    interval: Interval
    level: float
    p_value: float
    privacy_share: float
    is_not_estimable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What a row gets, pointwise.

    score: linear predictor, or the mean of an outcome that is a number.
    probability: of the positive level, None where the model has none.
    """

    score: Interval
    probability: Interval | None
    level: float
    is_not_estimable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Together:
    """All intervals of a release at once, of the coefficients that are estimable.

    released: level at which each of them was released.
    holds: probability that all intervals as released hold at once.
    multiplier, level: what their lengths are multiplied by to hold at once at this level.
    intervals: by name, that long.
    """

    level: float
    released: float
    holds: float
    multiplier: float
    intervals: dict[str, Interval]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Region:
    """A confidence ellipsoid: points x with (x - centre)' V^-1 (x - centre) <= radius^2.

    covariance: V (k, k).
    """

    names: tuple[str, ...]
    level: float
    centre: Array
    covariance: Array
    radius: float

    def contains(self, point: Mapping[str, float]) -> bool:
        """Whether a point, a value for each name, lies in the region."""
        if set(point) != set(self.names):
            raise AfterError("names_of_region", names=", ".join(self.names))
        gap = np.array([point[name] for name in self.names]) - self.centre
        return float(gap @ np.linalg.solve(self.covariance, gap)) <= self.radius**2

    @property
    def volume(self) -> float:
        """The volume of the region in the units of the coefficients; for two it is an area."""
        k = len(self.names)
        ball = 0.5 * k * math.log(math.pi) - float(gammaln(0.5 * k + 1.0))
        spread = 0.5 * float(np.linalg.slogdet(self.covariance)[1])
        return math.exp(ball + k * math.log(self.radius) + spread)

    @property
    def axes(self) -> Array:
        """Half-axes as columns (k, k), the shortest first."""
        values, vectors = np.linalg.eigh(self.covariance)
        return np.asarray(vectors * (self.radius * np.sqrt(values)))


@dataclass(frozen=True, kw_only=True, slots=True)
class WaldTest:
    """Several combinations against values at once.

    distance: gap' V^-1 gap, chi-squared but for Laplace and matrix noise.
    p_value: by the joint law.
    privacy_share: the largest among them.
    """

    distance: float
    p_value: float
    privacy_share: float
    is_not_estimable: bool


@dataclass(frozen=True, eq=False)
class ReleaseInference:
    """What else one release answers.

    made: its record.

    Privacy: post-processing; nothing is charged.
    Raises:  AfterError where the intervals of the record are not those of its matrices, as in a
             record that was edited.
    """

    made: AnyRelease

    def __post_init__(self) -> None:
        is_near = 1.0 / _MIXED <= min(self._ratios) <= max(self._ratios) <= _MIXED
        if not (self.is_exact or (self._is_mixed and is_near)):
            raise AfterError("intervals_of_other_matrices")

    @classmethod
    def read(cls, path: str | Path) -> ReleaseInference:
        """Return that of a release.json, or of the folder that holds one.

        Raises:  RecordError and OSError as `load_release`.
        """
        return cls(load_release(path))

    # --- the record -------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients (p,), the constant last."""
        return tuple(c.name for c in self.made.coefficients)

    @cached_property
    def _law(self) -> Law:
        return self.made.law()

    @cached_property
    def _basis(self) -> Array:
        """The coefficients (p, p), as combinations of theta."""
        basis = self.made.mapper.basis
        return np.eye(len(self.names)) if basis is None else basis

    @cached_property
    def _to_original(self) -> Array:
        """The coefficients in original units (p, p), as combinations of theta."""
        return np.asarray(self.made.mapper.to_original @ self._basis)

    @cached_property
    def _recomputed(self) -> JointErrors:
        """The errors of encoded and original coefficients, (2p,)."""
        return self._law.errors(np.concatenate([self._basis, self._to_original]))

    @cached_property
    def _ratios(self) -> tuple[float, ...]:
        """Half-widths of the record against those its matrices give."""
        told = [c.scaled for c in self.made.coefficients]
        told += [c.original for c in self.made.coefficients]
        again = self._recomputed.half_width(self.made.design.confidence_level)
        return tuple(x.length / 2.0 / q for x, q in zip(told, again.tolist(), strict=True))

    @property
    def _is_mixed(self) -> bool:
        """Whether noise is so large that a half-width may be a mixture."""
        return self._recomputed.is_mixed

    @property
    def _lengthening(self) -> float:
        """1 where the matrices give the intervals of the record; where it mixed two half-widths,
        what makes all at least as long.
        """
        return max(1.0, *self._ratios) if not self.is_exact else 1.0

    @property
    def is_exact(self) -> bool:
        """Whether the matrices of the record give its intervals again; if not, everything here is
        at least as long as they are.
        """
        return all(abs(ratio - 1.0) <= _SAME for ratio in self._ratios)

    def _units(self, unit: Unit) -> Array:
        """Coefficients (p, p) in a unit, as combinations of theta."""
        check_choice(unit, ("unit", "step", "encoded"), name="unit")
        if unit == "encoded":
            return self._basis
        if unit == "unit":
            return self._to_original
        return np.array(told_steps(self.made.schema, self.names))[:, None] * self._to_original

    def _combination(self, weights: Mapping[str, float], unit: Unit) -> Array:
        """(p,) over theta."""
        called = {"intercept": CONSTANT} if "intercept" not in self.names else {}
        vector = np.zeros(len(self.names))
        if not isinstance(weights, Mapping):
            raise AfterError("combination_is_no_mapping", found=type(weights).__name__)
        for name, weight in weights.items():
            found = called.get(name, name)
            if found not in self.names:
                raise AfterError("no_such_coefficient", name=name, names=", ".join(self.names))
            if not (weight == 0.0 or _WEIGHTS[0] <= abs(weight) <= _WEIGHTS[1]):
                raise AfterError("weight_beyond", name=name, low=_WEIGHTS[0], high=_WEIGHTS[1])
            vector[self.names.index(found)] += weight
        if not np.any(vector):
            raise AfterError("no_weight")
        return np.asarray(vector @ self._units(unit))

    def _is_not_estimable(self, vectors: Array, errors: JointErrors) -> Flags:
        """Which combinations (k, p) lean on a coefficient that is not estimable."""
        lost = np.array([c.is_not_estimable for c in self.made.coefficients])
        size = np.abs(vectors @ np.linalg.inv(self._basis))
        leans = size > _FLAT_WEIGHT * np.max(size, axis=1, keepdims=True)
        return np.asarray(np.any(leans & lost, axis=1) | errors.is_not_estimable)

    def _level(self, level: float | None) -> float:
        if level is None:
            return self.made.design.confidence_level
        check_probability(level=level)
        return float(level)

    # --- what it answers --------------------------------------------------------------------------

    def contrast(
        self,
        weights: Mapping[str, float],
        *,
        unit: Unit = "unit",
        level: float | None = None,
        after_looking: bool = False,
    ) -> Answer:
        """Return a combination of coefficients with its interval.

        Args:
            weights: by name of the coefficient, like {"age": 1, "income": -2}.
            unit: what a weight of 1 is per.
            level: that of the release by default.
            after_looking: whether the combination was chosen after looking at the release; then
                the interval and the test hold for every combination at once (Scheffe).

        Raises:  AfterError naming what is unknown.

        A weight of 1 on one coefficient is its released interval.
        """
        vector, wanted = self._combination(weights, unit), self._level(level)
        errors = self._law.errors(vector[None])
        estimate, half = float(errors.estimate[0]), float(errors.half_width(wanted)[0])
        p_value = float(errors.p_value(errors.estimate / self._lengthening)[0])
        if after_looking:
            sd = math.sqrt(float(errors.variance[0, 0]))
            half = max(half, self._scheffe(wanted) * sd)
            beyond = self._spoken.beyond((estimate / (self._lengthening * sd)) ** 2)
            p_value = max(p_value, beyond)
        return Answer(
            interval=_around(estimate, half * self._lengthening),
            level=wanted,
            p_value=p_value,
            privacy_share=float(errors.privacy_share[0]),
            is_not_estimable=bool(self._is_not_estimable(vector[None], errors)[0]),
        )

    @cached_property
    def _spoken(self) -> JointErrors:
        """The errors of the coefficients that the release speaks about."""
        told = [not c.is_not_estimable for c in self.made.coefficients]
        if not any(told):
            raise AfterError("nothing_estimable")
        return self._law.errors(self._to_original[told])

    def _scheffe(self, level: float) -> float:
        return self._spoken.radius(level)

    def test(
        self,
        combinations: Sequence[Mapping[str, float]],
        *,
        values: Sequence[float] | None = None,
        unit: Unit = "unit",
    ) -> WaldTest:
        """Return a test that several combinations have these values, all at once.

        Args:
            combinations: as for `contrast`; a test of one is its `p_value`.
            values: 0 each by default.
            unit: what a weight of 1 is per.

        Raises:  AfterError, also for combinations that depend on each other.
        """
        vectors = np.array([self._combination(weights, unit) for weights in combinations])
        if len(vectors) == 0:
            raise AfterError("no_weight")
        errors = self._law.errors(vectors)
        target = np.zeros(len(vectors)) if values is None else np.array(values, dtype=np.float64)
        if target.shape != (len(vectors),) or not np.all(np.isfinite(target)):
            raise AfterError("a_value_for_each")
        try:
            distance = errors.distance(errors.estimate - target) / self._lengthening**2
        except ValueError:
            raise AfterError("depend_on_each_other") from None
        return WaldTest(
            distance=distance,
            p_value=errors.beyond(distance),
            privacy_share=float(np.max(errors.privacy_share)),
            is_not_estimable=bool(np.any(self._is_not_estimable(vectors, errors))),
        )

    def together(self, *, level: float | None = None, unit: Unit = "unit") -> Together:
        """Return with which probability all intervals of the release hold, and those that hold at
        once at a level.

        Raises:  AfterError if no coefficient is estimable from the release.
        """
        wanted = self._level(level)
        told = [name for name, c in zip(self.names, self.made.coefficients, strict=True)
                if not c.is_not_estimable]  # fmt: skip
        if not told:
            raise AfterError("nothing_estimable")
        errors = self._law.errors(np.array([self._combination({name: 1.0}, unit) for name in told]))
        half = self._lengthening * errors.simultaneous(wanted)
        return Together(
            level=wanted,
            released=self._level(None),
            holds=errors.together(),
            multiplier=errors.multiplier(wanted),
            intervals={
                name: _around(estimate, q)
                for name, estimate, q in zip(
                    told, errors.estimate.tolist(), half.tolist(), strict=True
                )
            },
        )

    def region(
        self, names: Sequence[str], *, level: float | None = None, unit: Unit = "unit"
    ) -> Region:
        """Return the confidence ellipsoid of some coefficients.

        Args:
            names: of the coefficients, each once.
            level: that of the release by default.
            unit: what the coefficients are per.
        """
        for name in names:
            if not isinstance(name, str):
                raise AfterError("no_such_coefficient", name=name, names=", ".join(self.names))
        vectors = np.array([self._combination({name: 1.0}, unit) for name in names])
        if len(set(names)) != len(names) or len(vectors) == 0:
            raise AfterError("depend_on_each_other")
        errors, wanted = self._law.errors(vectors), self._level(level)
        for name, is_not_estimable in zip(
            names, self._is_not_estimable(vectors, errors), strict=True
        ):
            if is_not_estimable:
                raise AfterError("not_estimable", name=name)
        return Region(
            names=tuple(names),
            level=wanted,
            centre=errors.estimate,
            covariance=errors.variance,
            radius=errors.radius(wanted) * self._lengthening,
        )

    def predict(
        self, rows: pd.DataFrame | Mapping[str, object], *, level: float | None = None
    ) -> tuple[Prediction, ...]:
        """Return what each row gets, with an interval that holds for that row alone.

        Args:
            rows: one row by column, or a table, in the units of the table; the columns of the
                features and no others.
            level: that of the release by default.

        Raises:  AfterError for a column that is missing or not declared, an empty cell, a number
                 outside its declared bounds, and a level that is not declared.
        """
        wanted = self._level(level)
        x = self._encoded(rows)
        errors = self._law.errors(x)
        half = self._lengthening * errors.half_width(wanted)
        has_chances = self.made.design.measures == "odds"
        lost = self._is_not_estimable(x, errors)
        scores = (
            _around(*ends) for ends in zip(errors.estimate.tolist(), half.tolist(), strict=True)
        )
        return tuple(
            Prediction(
                score=score,
                probability=_chance(score) if has_chances else None,
                level=wanted,
                is_not_estimable=bool(is_not_estimable),
            )
            for score, is_not_estimable in zip(scores, lost, strict=True)
        )

    def _encoded(self, rows: pd.DataFrame | Mapping[str, object]) -> Array:
        """x (n, p) of rows that fit the declaration."""
        mapper = RecordMapper(self.made.schema, self.made.features)
        frame = (
            rows
            if isinstance(rows, pd.DataFrame)
            else pd.DataFrame({k: [v] for k, v in rows.items()})
        )
        needed = mapper.needed[:-1]
        for name in needed:
            if list(frame.columns).count(name) != 1:
                raise AfterError("column_to_predict_missing", column=name)
        for name in frame.columns:
            if name not in needed:
                raise AfterError("column_not_used", column=name, names=", ".join(needed))
        if len(frame) == 0:
            raise AfterError("no_row_to_predict")
        cells = {name: frame[name].tolist() for name in needed}
        for column in mapper.columns:
            for row, cell in enumerate(cells[column.name]):
                if refused := column.refused(cell):
                    code, facts = refused
                    raise AfterError(code, column=column.name, row=row + 1, **facts)
        return plain(mapper.features_of(cells))

    def draws(self, size: int, *, rng: np.random.Generator, unit: Unit = "unit") -> Array:
        """Return coefficients (size, p) that other releases from the same population could have
        given: draws of sampling and privacy noise around the released ones, the released matrices
        taken for the truth.

        Args:
            size: number of draws.
            rng: seeded generator; a simulation, no release.
            unit: what the coefficients are per.

        The intervals of the record are longer than quantiles of these draws by `noise_factor`,
        which allows for the noise on the matrices.
        """
        errors = self._law.errors(self._units(unit))
        return np.asarray(errors.estimate + errors.draws(size, rng))


def _around(estimate: float, half_width: float) -> Interval:
    return Interval(estimate=estimate, low=estimate - half_width, high=estimate + half_width)


def _chance(score: Interval) -> Interval:
    low, middle, high = (float(expit(x)) for x in (score.low, score.estimate, score.high))
    return Interval(estimate=middle, low=low, high=high)
