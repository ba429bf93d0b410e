"""What an experiment found, with its Monte Carlo errors, and as one JSON document."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import expect, short_repr
from dpci_core.base.extras import version_of
from dpci_core.design import Calibration, Design, Geometry
from dpci_core.losses import Loss, make_loss
from dpci_core.privacy.budget import DEFINITIONS

FORMAT = 1
"""Of the document `ExperimentResult.to_record` gives."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: replicates done of total, seconds left, running mean coverage and its error
    per design.
    """

    done: int
    total: int
    seconds_left: float
    coverage_so_far: tuple[float, ...]
    se: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class DesignResult:
    """One design, measured. Arrays (p,), NaN where nothing was done; every `_se` is a Monte Carlo
    standard error.

    coverage counts a failed fit as a miss; ci_length and its standard deviation over replicates;
    vi_low, vi_high: the variability interval, quantiles of the private estimates; theta_hat: the
    coefficients that should be covered.
    """

    design: Design
    theta_hat: Array
    coverage: Array
    coverage_coefficient_se: Array
    coverage_mean: float
    coverage_se: float
    ci_length: Array
    ci_length_sd: Array
    ci_length_mean: float
    ci_length_mean_se: float
    mean_length_sd: float
    vi_low: Array
    vi_high: Array
    vi_length_mean: float
    vi_length_mean_se: float
    n_failed: int

    __repr__ = short_repr

    @property
    def vi_length(self) -> Array:
        """Length of the variability intervals, (p,)."""
        return self.vi_high - self.vi_low


@dataclass(frozen=True, kw_only=True, eq=False)
class ExperimentResult:
    """Results in the order of the designs; n_done fits for variability and n_covered whole
    intervals were made.
    """

    designs: tuple[DesignResult, ...]
    seed: int
    versions: dict[str, str]
    n_done: int
    n_covered: int
    n_rows: int
    seconds: float

    @property
    def n_records(self) -> int:
        """Size of a replicate, that of every design."""
        return self.designs[0].design.n_records

    def to_record(self) -> dict[str, Any]:
        """Plain values for JSON; `from_record` reads them back."""
        return {
            "format": FORMAT,
            "seed": self.seed,
            "versions": self.versions,
            "n_done": self.n_done,
            "n_covered": self.n_covered,
            "n_records": self.n_records,
            "n_rows": self.n_rows,
            "seconds": round(self.seconds, 3),
            "designs": [_design_record(d) for d in self.designs],
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> ExperimentResult:
        """Rebuild a result; raises ValueError naming what is missing or of the wrong kind."""
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ValueError(f"Expected a result with format={FORMAT}.")
        try:
            expect(record["designs"], "Expected a result of one design or more.")
            return cls(
                designs=tuple(_design_from(d, record["n_records"]) for d in record["designs"]),
                versions={str(k): str(v) for k, v in record["versions"].items()},
                seconds=_number(record, "seconds"),
                **{k: _count(record, k) for k in ("n_done", "n_covered", "n_rows", "seed")},
            )
        except (KeyError, TypeError, AttributeError, ArithmeticError) as problem:
            raise ValueError(
                f"Expected a complete result document, stopped at {problem}."
            ) from None


_LARGEST = 1e300
_BOUNDS = {
    "theta_hat": (-_LARGEST, _LARGEST),
    "vi_low": (-_LARGEST, _LARGEST),
    "vi_high": (-_LARGEST, _LARGEST),
    "coverage": (0.0, 1.0),
}
"""What arrays of a document may hold; those not named are lengths and errors, which are not
negative.
"""
_ARRAYS = (
    "theta_hat",
    "coverage",
    "coverage_coefficient_se",
    "ci_length",
    "ci_length_sd",
    "vi_low",
    "vi_high",
)
_NUMBERS = (
    "coverage_mean",
    "coverage_se",
    "ci_length_mean",
    "ci_length_mean_se",
    "mean_length_sd",
    "vi_length_mean",
    "vi_length_mean_se",
)


def _count(record: dict[str, Any], name: str) -> int:
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"Expected {name} to be a whole number >= 0.")
    return value


def _number(record: dict[str, Any], name: str, most: float = _LARGEST) -> float:
    """A number from 0 to `most`."""
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= most:
        raise ValueError(f"Expected {name} to be a number from 0 to {most:g}.")
    return float(value)


def _numbers(record: dict[str, Any], name: str, p: int) -> Array:
    """Numbers (p,), NaN where the document has none."""
    values = record[name]
    if not isinstance(values, list) or len(values) != p:
        raise ValueError(f"Expected {name} to be a list of {p} numbers.")
    if any(isinstance(x, bool) or not isinstance(x, int | float | None) for x in values):
        raise ValueError(f"Expected {name} to hold numbers only.")
    array = np.array([np.nan if x is None else x for x in values], dtype=np.float64)
    low, high = _BOUNDS.get(name, (0.0, _LARGEST))
    if ((array < low) | (array > high)).any():
        raise ValueError(f"Expected {name} to lie between {low:g} and {high:g}.")
    return array


def _plain(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _design_record(result: DesignResult) -> dict[str, Any]:
    design = result.design
    return {
        "loss": {"name": design.loss.name, **design.loss.parameters},
        "mechanism": design.mechanism,
        "definition": design.definition,
        "budget": [str(part) for part in design.budget.parts],
        "regularization": design.regularization,
        "confidence_level": design.confidence_level,
        "calibration": asdict(design.switches),
        "target": design.target,
        **({} if design.clip == 1.0 else {"clip": design.clip}),
        **_geometry_record(design),
        "n_failed": result.n_failed,
        **{name: [_plain(x) for x in getattr(result, name)] for name in _ARRAYS},
        **{name: _plain(getattr(result, name)) for name in _NUMBERS},
    }


def _geometry_record(design: Design) -> dict[str, Any]:
    """What shapes the noise, of designs that have it."""
    if design.geometry is None:
        return {}
    return {"geometry": asdict(design.geometry), "metric": str(design.budget.metric)}


def _loss_from(record: dict[str, Any]) -> Loss:
    numbers = {name: float(value) for name, value in record.items() if name != "name"}
    return make_loss(record["name"], **numbers)


def _design_from(record: dict[str, Any], n_records: int) -> DesignResult:
    model, hessian, covariance = record["budget"]
    kind = DEFINITIONS[record["definition"]]
    design = Design(
        loss=_loss_from(record["loss"]),
        mechanism=record["mechanism"],
        budget=kind(
            model=model,
            hessian=hessian,
            covariance=covariance,
            metric=record.get("metric"),
        ),
        regularization=float(record["regularization"]),
        n_records=n_records,
        confidence_level=float(record["confidence_level"]),
        calibration=Calibration(**record["calibration"]),
        target=record["target"],
        geometry=Geometry(**record["geometry"]) if "geometry" in record else None,
        clip=record.get("clip", 1.0),
    )
    p = len(record["theta_hat"])
    values: dict[str, Any] = {k: _numbers(record, k, p) for k in _ARRAYS}
    values |= {
        k: np.nan
        if record[k] is None
        else _number(record, k, 1.0 if k == "coverage_mean" else _LARGEST)
        for k in _NUMBERS
    }
    return DesignResult(design=design, n_failed=_count(record, "n_failed"), **values)


def versions() -> dict[str, str]:
    """What made a result."""
    names = ("numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version_of(name) for name in names}}


def summarise(
    design: Design,
    *,
    theta_hat: Array,
    theta: Array,
    inside: Flags,
    length: Array,
    n_failed: int,
) -> DesignResult:
    """Return what replicates of a design amount to.

    Args:
        design: that ran.
        theta_hat: what its intervals are for, (p,).
        theta: private estimates (m, p), a row of NaN for a fit that failed.
        inside: whether each interval holds `theta_hat`, (k, p), False for a failure.
        length: of each interval (k, p), NaN for a failure.
        n_failed: fits that missed the tolerance.
    """
    p, level = len(theta_hat), design.confidence_level
    nothing = np.full(p, np.nan)
    good, lengths = theta[~np.isnan(theta[:, 0])], length[~np.isnan(length[:, 0])]
    tails = [0.5 - level / 2, 0.5 + level / 2]
    vi_low, vi_high = np.quantile(good, tails, axis=0) if len(good) else (nothing, nothing)
    coverage = inside.mean(axis=0) if len(inside) else nothing
    by_replicate, mean_lengths = inside.mean(axis=1), lengths.mean(axis=1)
    # Standard error of the mean VI length: quantiles of normal estimates, all coefficients moving
    # together at worst.
    z = float(ndtri(0.5 + level / 2))
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    relative = np.sqrt(2 * tails[0] * (1 - 2 * tails[0]) / max(1, len(good))) / density / (2 * z)
    vi_mean = float((vi_high - vi_low).mean())
    return DesignResult(
        design=design,
        theta_hat=theta_hat,
        coverage=coverage,
        coverage_coefficient_se=np.sqrt(
            np.maximum(coverage * (1 - coverage), 0.25 / len(inside)) / len(inside)
        )
        if len(inside)
        else nothing,
        coverage_mean=float(coverage.mean()),
        coverage_se=_standard_error(by_replicate),
        ci_length=lengths.mean(axis=0) if len(lengths) else nothing,
        ci_length_sd=lengths.std(axis=0) if len(lengths) else nothing,
        ci_length_mean=float(mean_lengths.mean()) if len(lengths) else np.nan,
        ci_length_mean_se=_standard_error(mean_lengths),
        mean_length_sd=float(mean_lengths.std()) if len(lengths) else np.nan,
        vi_low=vi_low,
        vi_high=vi_high,
        vi_length_mean=vi_mean,
        vi_length_mean_se=float(relative * vi_mean),
        n_failed=n_failed,
    )


def _standard_error(sample: Array) -> float:
    return float(sample.std(ddof=1) / np.sqrt(len(sample))) if len(sample) > 1 else np.nan
