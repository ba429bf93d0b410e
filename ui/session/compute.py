"""From settings to numbers: where the dashboard calls the core, with stores that know whose data
they hold.

`PUBLIC` is shared by all sessions of the process and only ever holds public or simulated tables.
Tables a person uploads live in a `Store` inside that person's session and nowhere else.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar, cast

import numpy as np
import pandas as pd

from dpci_core import Forecast, InfeasibleDesignError, Moments, datasets, fit_moments, forecast
from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import ConvergenceError
from dpci_core.datasets.upload_rules import check_records
from dpci_core.design import ESTIMANDS, Design, Geometry, TargetName
from dpci_core.losses import Loss
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan import DeclaredTable
from dpci_core.plan.codec import plain, read
from dpci_core.plan.link import pack, unpack
from dpci_core.plan.source import Encoder, Source
from dpci_core.planner import shaped
from dpci_core.planner.geometry import in_metric
from dpci_core.planner.standard import enclosing
from dpci_core.privacy.budget import PARTS
from dpci_core.report.cautions import COVERAGE_SLACK
from dpci_core.schema import (
    CONSTANT,
    Column,
    Provenance,
    Records,
    Schema,
    StandardEncoding,
    encode,
)
from ui.session import quota
from ui.session.choices import PENALISED, UNPENALISED, Combination
from ui.session.results import NONE_REPORTED, SOME_MISS, IntervalRows, SweepCurve
from ui.session.settings import LIMITS, PRECISION, Settings
from ui.session.words import in_words

T = TypeVar("T")

DECLARED = "declared"
"""The data set that is only described."""
OF_A_NUMBER = (
    "The outcome of this table is a number. It has its place on the pages Explore, Plan and "
    "Release; this one is about an outcome that is yes or no."
)
SWEEP_POINTS = 25
SUBSAMPLE = 10_000
"""Rows on which sweeps over c, h and d are fitted."""
LARGEST_UNPENALISED = 5_000_000
"""Numbers in a table that is fitted without penalty only to say what a penalty leaves."""
_MEGABYTE = 2.0**20
RECORDS_LIMIT = 1500 * _MEGABYTE
SESSION_LIMIT = 300 * _MEGABYTE
"""Of the records of an upload: one session holds its table, and little more than the records in
use.
"""
SWEEP_DRAWS = {False: 16, True: 8}
"""Draws of the matrix noise per sweep point, fewer in high dimension (key: d > 20): curves have to
follow a slider. The interval that is shown is a whole forecast."""


class LRU:
    """A bounded, thread-safe memory of computed values; the oldest leave first."""

    def __init__(self, limit: float, weigh: Callable[[object], float] = lambda _: 1.0) -> None:
        self._limit = limit
        self._weigh = weigh
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, object] = OrderedDict()

    def peek(self, key: Hashable) -> object | None:
        """The value under `key`, if there is one, which counts as new again."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value under `key`, made if absent; the newest value always stays. Of two that are
        made at the same time both callers get the first.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast(T, self._values[key])
        value = make()
        with self._lock:
            if key in self._values:
                return cast(T, self._values[key])
        self.put(key, value)
        return value

    def put(self, key: Hashable, value: object) -> None:
        """Keep a value under `key`."""
        with self._lock:
            self._values[key] = value
            while (
                len(self._values) > 1 and sum(map(self._weigh, self._values.values())) > self._limit
            ):
                self._values.popitem(last=False)


@dataclass(frozen=True)
class Upload:
    """A table its owner declared public or synthetic, with the schema to encode it by."""

    frame: pd.DataFrame
    schema: Schema
    title: str
    source: Provenance


@dataclass(frozen=True)
class ImportedFit:
    """Moments of a public table that were computed elsewhere, for the table of these settings.

    dataset, declared, encoding: of the settings that their plan opened with.
    """

    moments: Moments
    names: tuple[str, ...]
    dataset: str
    declared: str
    encoding: str

    def is_of(self, settings: Settings) -> bool:
        """Whether the settings are about the same table."""
        now = (settings.dataset, settings.declared, settings.encoding)
        return now == (self.dataset, self.declared, self.encoding)

    def fits(
        self,
        names: tuple[str, ...],
        loss: Loss,
        c: float,
        target: TargetName = PENALISED,
        *,
        with_spread: bool = False,
        geometry: Geometry | None = None,
    ) -> bool:
        """Whether they are what a fit of these features would give."""
        found = self.moments
        is_told = found.unpenalised_fit is not None or found.is_separable
        return (
            (self.names, found.loss, found.regularization) == (names, loss, c)
            and found.geometry == geometry
            and (not ESTIMANDS[target].needs_unpenalised_fit or is_told)
            and (found.spread is not None or not with_spread)
        )


_MOMENTS_LIMIT = 1_500
"""Fits: those of a few designs that a search looks at, in all worlds."""


class Store:
    """Records, fits and their last solutions, by what makes them; one for all sessions or one
    inside a session.

    given: moments that take the place of the fit that they are.
    """

    def __init__(self, limit: float = RECORDS_LIMIT, given: ImportedFit | None = None) -> None:
        self.given = given
        self._records = LRU(limit, lambda r: float(cast(Records, r).X.nbytes))
        self._moments = LRU(_MOMENTS_LIMIT)
        self.shapes = LRU(100)
        self._starts: dict[tuple[str, str], Moments] = {}

    def records(self, key: Hashable, make: Callable[[], Records]) -> Records:
        """Encoded records under `key`."""
        return self._records.get(key, make)

    def moments(
        self,
        records: Records,
        loss: Loss,
        c: float,
        target: TargetName = PENALISED,
        *,
        with_spread: bool = False,
        geometry: Geometry | None = None,
    ) -> Moments:
        """The fit of one table, warm-started from the last fit of the same table and kind of loss;
        for a target without penalty with what its forecast needs, and with what noise is shaped
        by, or with the weights of a geometry.
        """
        asked = (records.feature_names, loss, c, target)
        if self.given is not None and self.given.fits(
            *asked, with_spread=with_spread, geometry=geometry
        ):
            return self.given.moments

        def make() -> Moments:
            near = self._starts.get((records.digest, loss.name))
            is_same = near is not None and near.loss == loss and geometry is None
            fitted = fit_moments(
                records.X,
                records.y,
                loss=loss,
                regularization=c,
                start=None if near is None else near.theta_hat,
                target=target,
                with_spread=with_spread,
                geometry=geometry,
                meaning=records.meaning,
                known=near.unpenalised_fit if near is not None and is_same else None,
            )
            if len(self._starts) > 200:
                self._starts.clear()
            if geometry is None:
                self._starts[records.digest, loss.name] = fitted
            return fitted

        return self._moments.get((records.digest, loss, c, target, with_spread, geometry), make)


PUBLIC = Store()
CURVES = LRU(1000)
"""Forecast curves on tables of `PUBLIC`, for all sessions: a class that opens one link computes
them once.
"""
ANSWERS = LRU(1000)
"""Answers of the page Plan on such tables, for all sessions, each under its whole question: an
answer holds the settings that it was asked with.
"""
ANIMATIONS = LRU(40)
"""Pictures for all positions of a slider on such tables, for all sessions; each holds every
frame.
"""


@dataclass(frozen=True)
class TableSource:
    """Where the table of these settings comes from: a named set in the shared store, or an upload
    in its session.
    """

    store: Store
    upload: Upload | None = None

    @property
    def fitted_here(self) -> TableSource:
        """The same without moments that were computed elsewhere, which are those of one encoding
        and penalty.
        """
        return self if self.store.given is None else replace(self, store=PUBLIC)

    def load(
        self, settings: Settings, *, features: int | tuple[str, ...], sample: bool = False
    ) -> Records:
        """Encoded records; `sample` takes the first `SUBSAMPLE` rows only.

        Raises:  ValueError in words for a table whose outcome is a number.
        """
        if settings.outcome is not None:
            raise ValueError(OF_A_NUMBER)
        if self.upload is not None:
            upload = self.upload
            frame = upload.frame.head(SUBSAMPLE) if sample else upload.frame
            check_records(len(frame), len(upload.schema.select(features)))
            return self.store.records(
                ("upload", features, sample, upload.schema),
                lambda: encode(
                    frame,
                    upload.schema,
                    features=features,
                    title=upload.title,
                    source=upload.source,
                ),
            )
        if settings.dataset == DECLARED:
            return self.store.records(
                (DECLARED, settings.declared, features),
                lambda: declared_table(settings.declared).records(features),
            )
        rows = min(SUBSAMPLE, table_rows(settings)) if sample else None
        standard = standard_of(settings, features)
        key = (settings.dataset, settings.encoding, features, rows, standard)
        return self.store.records(
            key,
            lambda: datasets.load(
                settings.dataset,
                encoding=settings.encoding,
                features=features,
                n_rows=rows,
                standard=standard,
            ),
        )


def columns_of(settings: Settings, source: TableSource) -> tuple[Column, ...]:
    """The columns of a described table, or of an upload; of a named set none, whose effects are
    told per unit.
    """
    if source.upload is not None:
        return source.upload.schema.features
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).schema.features
    if settings.encoding == "standard":
        return datasets.schema_of(settings.dataset).features
    return ()


def schema_of(settings: Settings, source: TableSource) -> Schema | None:
    """What is declared of a table of one's own; None of a named set."""
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).schema
    kept = source.upload
    return kept.schema if settings.dataset == "upload" and kept else None


def encoders_of(
    settings: Settings, source: TableSource, features: tuple[str, ...]
) -> tuple[Encoder, ...]:
    """The planning rows of a table of one's own under an encoding, in every world."""
    if (kept := source.upload) is None:
        return declared_table(settings.declared).encoders(features)

    def encoded(encoding: StandardEncoding) -> Records:
        schema = replace(kept.schema, standard=encoding)
        return encode(kept.frame, schema, features=features, source=kept.source, title=kept.title)

    return (encoded,)


def usual_encoding(
    schema: Schema, features: int | tuple[str, ...] | None = None
) -> StandardEncoding:
    """The encoding that needs no row: one radius, within which most rows are."""
    size = len(schema.select(features)) + 1
    return StandardEncoding(shape=float(f"{math.sqrt(size):.2g}"))


def standard_of(settings: Settings, features: int | tuple[str, ...]) -> StandardEncoding | None:
    """The standard encoding of a named set under these settings; None for the others."""
    if settings.encoding != "standard":
        return None
    if settings.map_source == "declared":
        return usual_encoding(datasets.schema_of(settings.dataset), features)
    return _enclosing(settings.dataset, features)


@lru_cache(maxsize=64)
def _enclosing(dataset: str, features: int | tuple[str, ...]) -> StandardEncoding:
    """The standard encoding of a named set in which every row counts in full."""
    return enclosing(
        lambda standard: datasets.load(
            dataset, encoding="standard", features=features, standard=standard
        )
    )


@dataclass(frozen=True)
class Outcome:
    """One combination under the settings: its forecast, or the sentence that says why there is
    none.
    """

    combination: Combination
    forecast: Forecast | None
    moments: Moments | None
    refusal: str = ""


@dataclass(frozen=True)
class View:
    """What Explore shows: the records and one outcome per combination."""

    settings: Settings
    records: Records
    outcomes: tuple[Outcome, ...]
    store: Store
    columns: tuple[Column, ...] = ()

    def moments_at(self, outcome: Outcome, c: float) -> Moments:
        """The moments of a combination at another c."""
        design = self.settings.design(outcome.combination)
        return self.store.moments(
            self.records,
            design.loss,
            c,
            fit_target(self.records, design),
            with_spread=self.settings.is_shaped,
        )

    def contrasts(self, units: str) -> Array | None:
        """L (k, p) of the units of a chart; None for scaled ones."""
        is_told = units in ("original", "odds")
        return contrast_matrix(self.records, self.columns) if is_told else None

    @property
    def effective_settings(self) -> Settings:
        """The settings to be told."""
        found = (o.forecast.design for o in self.outcomes if o.forecast is not None)
        return effective_settings(self.settings, found)

    @property
    def drawn(self) -> tuple[Outcome, ...]:
        """Outcomes that have numbers which may be drawn as such, or as what no release could
        report.
        """
        return tuple(
            o
            for o in self.outcomes
            if o.forecast
            and (
                o.forecast.validity.grade != "unusable" or bool(o.forecast.is_not_reportable.all())
            )
        )


def table_rows(settings: Settings) -> int:
    """Rows of the named set, or of the twin of a described table."""
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).guesses.n_rows
    return next(info.n_rows for info in datasets.list_datasets() if info.key == settings.dataset)


def most_features(settings: Settings) -> int:
    """Features that a page of these settings computes with at most."""
    if settings.sweep != "d":
        return len(settings.names) or settings.d
    if settings.dataset == DECLARED:
        return len(declared_table(settings.declared).schema.feature_names)
    known = (i.max_features for i in datasets.list_datasets() if i.key == settings.dataset)
    return max(known, default=settings.d)


@lru_cache(maxsize=32)
def declared_table(packed: str) -> DeclaredTable:
    """The described table of these settings.

    Raises:  ValueError in words.
    """
    source = read(Source, unpack(packed), "table")
    if not isinstance(source, DeclaredTable):
        raise ValueError("Expected a described table, got a public one.")
    _check_described(source)
    return source


def _check_described(table: DeclaredTable) -> None:
    most, count = quota.most_described(), len(table.schema.feature_names)
    if count > most:
        raise ValueError(
            f"A described table may have at most {most} features on this public demo, and this one "
            f"has {count}, a level counted as one. Run the dashboard on your own machine."
        )


def encoded(declared: str, encoding: StandardEncoding | None) -> str:
    """A described table, as the settings hold it, with this encoding; raises as `packed_table`."""
    table = declared_table(declared)
    return packed_table(replace(table, schema=replace(table.schema, standard=encoding)))


def packed_table(table: DeclaredTable) -> str:
    """A described table as the settings hold it.

    Raises:  ValueError in words if it is too large, or too long for a link.
    """
    _check_described(table)
    try:
        return pack(plain(table))
    except ValueError:
        raise ValueError(
            "The description is too long for this page, whose address holds it. Give fewer or "
            "shorter names and levels, or keep the plan as a file for the command line."
        ) from None


def fit_target(records: Records, design: Design) -> TargetName:
    """For which target a table is fitted: also without penalty, if that does not take long."""
    return UNPENALISED if records.X.size <= LARGEST_UNPENALISED else design.target


def compute(settings: Settings, source: TableSource) -> View:
    """Forecast every chosen combination."""
    records = source.load(settings, features=settings.features)
    outcomes = tuple(
        _outcome(settings, records, combination, source.store)
        for combination in settings.combinations
    )
    return View(settings, records, outcomes, source.store, columns_of(settings, source))


def _outcome(
    settings: Settings, records: Records, combination: Combination, store: Store
) -> Outcome:
    try:
        design = settings.design(combination)
    except ValueError as problem:  # a paired budget can leave the range of a design
        return Outcome(combination, None, None, in_words(problem))
    try:
        fitted = fit_target(records, design)
        moments = store.moments(
            records, design.loss, settings.c, fitted, with_spread=settings.is_shaped
        )
        design = designed(settings, combination, moments)
        return Outcome(combination, forecast(moments, design=design), moments)
    except (InfeasibleDesignError, ConvergenceError) as problem:
        return Outcome(combination, None, None, in_words(problem))


def designed(settings: Settings, combination: Combination, moments: Moments) -> Design:
    """The design of one combination, its noise shaped like the records of these moments where that
    is asked for, goes with the mechanism and makes intervals shorter.

    Raises:  ValueError and InfeasibleDesignError, as designs and their forecasts do.
    """
    design = settings.design(combination)
    if not (settings.is_shaped and mechanism_of(design).turns_noise):
        return design
    if mechanism_of(design).needs_metric:
        return in_metric(moments, design=design)
    return shaped(moments, design=design) or design


def effective_settings(settings: Settings, designs: Iterable[Design]) -> Settings:
    """The settings with the noise as it came out: not paid for where no design is shorter so."""
    is_kept = settings.shape != "released" or any(d.geometry is not None for d in designs)
    return settings if is_kept else settings.usual("shape")


def contrast_matrix(records: Records, columns: Sequence[Column]) -> Array | None:
    """L (p, p): L @ theta are effects for the step of each column; None without a way back."""
    if records.to_original is None:
        return None
    steps = dict.fromkeys(records.feature_names, 1.0) | {
        name: column.step_size for column in columns for name in column.feature_names
    }
    L: Array = records.to_original * np.array([steps[n] for n in records.feature_names])[:, None]
    return L


def effect_label(name: str, columns: Sequence[Column]) -> str:
    """A coefficient with the step that its effect is told for, where that is not 1."""
    column = next((c for c in columns if name in c.feature_names), None)
    if column is None or column.step_size == 1.0:
        return name
    return f"{column.subject(name)} {column.per}"


def left_by_penalty(made: Forecast, moments: Moments, contrasts: Array | None) -> Array | None:
    """Share of each coefficient without penalty that intervals for penalised ones lie around."""
    free = moments.unpenalised_fit
    if not ESTIMANDS[made.design.target].is_shrunk or free is None:
        return None
    meant = free.unweighted if contrasts is None else contrasts @ free.unweighted
    with np.errstate(divide="ignore", invalid="ignore"):
        share: Array = made.estimate / meant
    return share


def interval_rows(view: View, units: str) -> list[IntervalRows]:
    """Chart 1: per coefficient, in scaled or original units, or as odds ratios."""
    contrasts = view.contrasts(units)
    names = view.records.feature_names
    if contrasts is not None:
        names = tuple(map(effect_label, names, [view.columns] * len(names)))
    rows = []
    for outcome in view.drawn:
        assert outcome.forecast is not None
        assert outcome.moments is not None
        made = outcome.forecast
        if contrasts is not None:
            made = forecast(outcome.moments, design=made.design, contrasts=contrasts)
        rows.append(
            IntervalRows(
                combination=outcome.combination,
                names=names,
                estimate=made.estimate,
                ci_length=made.ci_length,
                vi_length=made.vi_length,
                nonprivate_length=made.nonprivate_length,
                left=left_by_penalty(made, outcome.moments, contrasts),
                is_not_reportable=made.is_not_reportable,
            )
        )
    return rows


def free_of(settings: Settings, name: str) -> Settings:
    """What curves over the range of one control depend on: not where it stands, nor how the page
    shows them.
    """
    kept = replace(settings.usual("units", *PRECISION), sweep=name)
    if name == "total":
        largest = Decimal(repr(settings.typed.limits[1]))
        split = settings.split.with_locks().with_total(largest)
        return replace(kept, epsilon=Settings().epsilon, split=split).settled()
    if name == "c":
        return kept.usual("c", "penalty")
    return kept.usual(name).settled() if name in ("n", "h") else kept


def sweep_grid(settings: Settings, name: str, max_features: int) -> Array:
    """The values at which a control is swept; the present one is among them where it fits."""
    if name in PARTS:
        return np.linspace(4.0, 96.0, SWEEP_POINTS)
    if name == "d":
        grid = np.unique(np.round(np.geomspace(1, max_features, min(max_features, 12))).astype(int))
        return np.unique(np.append(grid, min(settings.d, max_features))).astype(np.float64)
    low, high = LIMITS[settings.currency if name == "total" else name]
    grid = np.geomspace(low, high, SWEEP_POINTS)
    return np.round(grid) if name == "n" else np.array([float(f"{x:.4g}") for x in grid])


def sweep(
    settings: Settings, source: TableSource, name: str, max_features: int
) -> list[SweepCurve]:
    """Chart 2: mean lengths (the first coefficient's when d is swept) as one control runs over its
    range.
    """
    grid = sweep_grid(settings, name, max_features)
    is_refitted = name in ("c", "h", "d")
    base = source.load(settings, features=settings.features, sample=is_refitted)
    curves = []
    for combination in settings.combinations:
        points = []
        for x in grid:
            records = base
            if name == "d":
                first = settings.swept(name, float(x)).features
                records = source.load(settings, features=first, sample=True)
            points.append(
                _sweep_point(settings, combination, source.store, records, name, float(x))
            )
        columns = [np.array(column) for column in zip(*points, strict=True)]
        curves.append(
            SweepCurve(
                combination=combination,
                x=grid,
                ci_length=columns[0],
                ci_sd=columns[1],
                vi_length=columns[2],
                grades=tuple(columns[3]),
                extrapolated_from=float(len(base.y)) if name == "n" else None,
                nonprivate_length=columns[4].astype(np.float64),
            )
        )
    return curves


def _sweep_point(
    settings: Settings,
    combination: Combination,
    store: Store,
    records: Records,
    name: str,
    x: float,
) -> tuple[float, float, float, str, float]:
    try:
        moved = settings.swept(name, x)
        design = moved.design(combination)
        moments = store.moments(
            records, design.loss, moved.c, design.target, with_spread=moved.is_shaped
        )
        design = designed(moved, combination, moments)
        draws = SWEEP_DRAWS[len(moments.theta_hat) > 21]
        made = forecast(moments, design=design, n_draws=draws)
    except (ConvergenceError, ValueError):
        return np.nan, np.nan, np.nan, "unusable", np.nan
    which = slice(1) if name == "d" else counted(moved, records)
    grade = _grade_of_point(made, moved, which)
    if grade == NONE_REPORTED:
        return np.nan, np.nan, np.nan, grade, np.nan
    private, spread, plain = (
        float(lengths[which].mean())
        for lengths in (made.ci_length, made.vi_length, made.nonprivate_length)
    )
    sd = float(made.ci_length_sd[0]) if name == "d" else made.mean_length_sd
    return private, sd, spread, grade, plain


def counted(settings: Settings, records: Records) -> Flags:
    """Which coefficients (p,) are counted: all, but not the constant where effects are shown
    without penalty.
    """
    names = records.feature_names
    is_all = settings.is_penalised or len(names) == 1
    return np.array([is_all or name != CONSTANT for name in names])


def _grade_of_point(made: Forecast, settings: Settings, which: Flags | slice) -> str:
    """Whether the forecast can be believed, and if so whether the intervals keep their promise:
    only of those that do no length is below that of the variability interval.
    """
    is_lost = made.is_not_reportable[which]
    if is_lost.all():
        return NONE_REPORTED
    is_short = made.coverage[which].mean() < settings.level - COVERAGE_SLACK
    if made.validity.grade == "valid" and (is_lost.any() or is_short):
        return SOME_MISS
    return made.validity.grade
