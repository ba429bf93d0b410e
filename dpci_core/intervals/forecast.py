"""Expected interval length, variability length and coverage from the moments of one fit, in
milliseconds.

The law of the matrix noise is known, so its effect on the intervals is averaged over a few dozen
draws of it around the true moments; records are not needed, and n is only a number. A draw of
spherical Laplace noise in R^(p^2) is a random scale times a Gaussian matrix (`noise`), so the same
draws serve every budget.

Not private: the moments describe a table. What is shown may steer a release only when that table is
public or simulated, or the moments come from a release already paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_count, short_repr
from dpci_core.base.metric import Metric
from dpci_core.base.validation import check_contrasts
from dpci_core.base.watch import step
from dpci_core.design import Design, Geometry, check_design, guarantee_at
from dpci_core.intervals._length_drift import LengthDrift, length_drift
from dpci_core.intervals.estimands import Goal, estimand_of, released_hessian, step_at
from dpci_core.intervals.half_widths import N_REDRAWS, private_half_widths
from dpci_core.intervals.inflation import (
    ErrorVariance,
    Usefulness,
    error_variance,
    judge_usefulness,
)
from dpci_core.intervals.spectra import SharedSpectra
from dpci_core.mechanisms.matrices import MatrixNoise, covariance_noise, fixed_draws, hessian_noise
from dpci_core.mechanisms.mechanism import Mechanism, mechanism_of, model_noise
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.noise import coverage_probability, half_width
from dpci_core.report import words
from dpci_core.report.cautions import REPORTABLE_CHANCE
from dpci_core.solvers.metric import metric_of
from dpci_core.solvers.moments import Moments, cut_away
from dpci_core.solvers.one_step import has_one_step_point, one_step_point

Grade = Literal["valid", "rough", "unusable"]

N_DRAWS = 64
"""Draws of the matrix noise behind a forecast, in antithetic pairs."""
HEADLINE_DELTA = 1e-6
"""The delta at which `Forecast.epsilon_delta` states a budget in rho or mu^2."""
REPORTABLE_BIAS = 0.25
"""Bias in half-widths beyond which a coefficient is not reportable: an interval of level 95 % with
so much covers about 92 %."""
MOST_ODDS = 20.0
"""The factor between the ends of an odds interval of level 95 %, for two spreads or a level
(`Meaning.told`), beyond which a coefficient is not reportable.

It reaches from 1 / 4.5 to 4.5 times the estimate, the root of 20. Most odds ratios for such a
difference are smaller, whichever way they go (where none is guessed, twins have 1.5), so that a
wider interval as a rule excludes neither a strong effect nor its opposite, and says less than a
reader knew before. Another number from 10 to 50 would serve as well; this one was fixed before
any design was looked at. It is of level 95 % whatever level is asked for, so that a wider level
never loses a coefficient."""
LARGEST_WIDTH, TOLD_LEVEL = math.log(MOST_ODDS), 0.95
_TOLERATED_SHORTFALL = 0.03
_ROUNDING = 1.0 + 1e-9
_SEED = 20_111_201
_FACTOR_EVERY = 8
"""A noise-aware factor is computed at one draw in so many and carried to the others
(`half_widths`).
"""
_CUTS: dict[str, tuple[float, float]] = {
    "r1": (300.0, 1000.0),
    "r2": (4.0, 8.0),
    "r4": (0.1, 0.25),
}
"""Limits of r1 and r2; those of r3 are the mechanism's (`drift_limits`). Below the first number the
forecast was within 2 % in length and 1.5 points in coverage of full simulations on Adult; below the
second within about 10 % (`python -m benchmarks.constants cuts`). The averages over noise draws
include the eigenvalue floors, so r1 and r2 alone did not break the forecast in the
range tried (r1 up to 316, r2 up to 4); what breaks it is model noise that moves the Hessian, r3.
Without any noise, 95 % intervals cover 93 to 94 % at the first limit of r4 and 88 % at the second
(`python -m benchmarks.constants sampling`)."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether the asymptotic forecast can be believed.

    The limits are in `_CUTS` and with the mechanism.

    grade: "valid", "rough" or "unusable".
    exceeded: the ratios at or above their first limit, with that limit.
    r1: noise on the Hessian against its smallest eigenvalue.
    r2: noise on the gradient covariance against the variance it estimates.
    r3: how far the model noise moves the Hessian.
    r4: share of its variance that the fit takes off what it sees of it, at the worst coefficient: a
        record of leverage h = f'' a'H^-1 a / n pulls the fit toward itself, and its own gradient
        shrinks by about h. No effect of privacy; 0 where it is not known.
    r4_each: the same of each coefficient, (p,); empty where it is not known.
    """

    grade: Grade
    exceeded: tuple[tuple[words.Ratio, float], ...]
    r1: float
    r2: float
    r3: float
    r4: float = 0.0
    r4_each: tuple[float, ...] = ()

    @property
    def is_decided_by_few(self) -> tuple[bool, ...]:
        """Which coefficients so few records decide that r4 marks them; as `r4_each`."""
        return tuple(value >= _CUTS["r4"][0] for value in self.r4_each)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it cannot be believed, in sentences."""
        return self.reasons_of(())

    def reasons_of(self, names: Sequence[str], *, with_advice: bool = True) -> tuple[str, ...]:
        """Return these sentences, naming the coefficients that few records decide among `names`.

        with_advice: whether each ends with what would make its ratio smaller.
        """
        few = tuple(
            name for name, is_few in zip(names, self.is_decided_by_few, strict=False) if is_few
        )
        return tuple(
            words.exceeded(name, getattr(self, name), limit, few, with_advice=with_advice)
            for name, limit in self.exceeded
        )


class Shortfall(NamedTuple):
    """What keeps sharp intervals longer than they usually are.

    ratio: their length against the variability interval.
    usual: what they reach where the matrices are released well.
    is_hessian: whether the noise on the Hessian is why, else that on the gradient covariance.
    noise: that noise against the smallest eigenvalue, or against the variance it is on.
    """

    ratio: float
    usual: float
    is_hessian: bool
    noise: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """Expected lengths and coverage of a design, without a draw of its noise on the coefficients.

    Arrays are (p,), one entry a coefficient with the constant last, or (k,) where k contrasts were
    asked for; lengths are in units of the coefficient or contrast.

    Args:
        estimate: what the intervals lie around on average.
        ci_length: expected length of the intervals.
        ci_length_sd: standard deviation of that length over the noise on the two matrices.
        vi_length: length of the variability interval, the spread of the private estimates.
        nonprivate_length: length of the intervals without any privacy noise.
        bias: expected distance of the estimate from the target, with its sign; 0 for the penalised
            target unless gradients are cut.
        coverage: chance that an interval holds its target, under the true law of the estimate.
        is_not_reportable: where an unpenalised target, or by its bias one whose gradients are cut,
            is not reportable with this design:
            the bias is more than a quarter of the half-width, or one release in twenty would mark
            the coefficient, or coverage falls 3 points short, or the planning rows are separable,
            or the noise moves the Hessian so far that no forecast holds (r3), or the interval is
            so wide that it says nothing (`is_too_wide`). Public, decided before any draw.
        chance_to_report: share of releases that report a coefficient: 0 where one of the other
            reasons forbids it, else that of releases that do not mark it.
        odds_width: logarithm of the factor between the ends of the odds interval of level 95 % for
            two spreads or a level (`DrawnIntervals.odds_width`); 0 where nothing is declared.
        ci_length_mean: mean of `ci_length` over the coefficients, or contrasts.
        mean_length_sd: standard deviation of that mean over the noise on the two matrices.
        vi_length_mean: mean of `vi_length`.
        nonprivate_length_mean: mean of `nonprivate_length`.
        coverage_mean: mean of `coverage`.
        epsilon_delta: what the total budget promises as (epsilon, delta); delta is 0 if pure.
        not_estimable_share: share of releases that would mark a coefficient, because its
            unpenalised target is not estimable; 0 for the penalised target.
        validity: whether the forecast can be believed, with reasons.
        usefulness: whether a release could say anything; `planner.remedies` says what would help.
        design: the design it is for.

    Privacy:
        None by itself: it is as private as the moments it was made from.
    """

    estimate: Array
    ci_length: Array
    ci_length_sd: Array
    vi_length: Array
    nonprivate_length: Array
    bias: Array
    coverage: Array
    is_not_reportable: Flags
    chance_to_report: Array
    odds_width: Array
    ci_length_mean: float
    mean_length_sd: float
    vi_length_mean: float
    nonprivate_length_mean: float
    coverage_mean: float
    epsilon_delta: tuple[float, float]
    not_estimable_share: Array
    validity: Validity
    usefulness: Usefulness
    design: Design

    __repr__ = short_repr

    @property
    def n_records(self) -> int:
        """n, the number of records the forecast is for."""
        return self.design.n_records

    @property
    def is_too_wide(self) -> Flags:
        """Which odds intervals are wider than `MOST_ODDS`."""
        return np.asarray(self.odds_width > LARGEST_WIDTH)

    @property
    def shortfall(self) -> Shortfall | None:
        """Why sharp intervals stay longer than they usually do, None where they do not."""
        ratio, v = self.ci_length_mean / self.vi_length_mean, self.validity
        usual = _EXPECTED[len(self.ci_length) > 21]
        if not self.design.switches.noise_aware or ratio < usual + 0.005:
            return None
        return Shortfall(ratio, usual, is_hessian=v.r1 >= v.r2, noise=max(v.r1, v.r2))


_EXPECTED = {False: 1.05, True: 1.12}
"""Length against the variability interval that a sharp interval reaches where the matrices are
released well; the key says whether there are more than 20 features."""


def forecast(
    moments: Moments,
    *,
    design: Design,
    contrasts: npt.ArrayLike | None = None,
    n_draws: int = N_DRAWS,
) -> Forecast:
    """Forecast the intervals of a design; deterministic, O(p^3) per draw whatever n is.

    Args:
        moments: of the loss and regularization of the design, of a table of any size.
        design: the one to forecast, with the n it is planned for.
        contrasts: L (k, p), to forecast intervals for these combinations of the coefficients, which
            are theta, or B theta where the moments have a `basis`.
        n_draws: even; fewer are faster, and further off the larger r1 is.

    Privacy: none (module docstring).
    Raises:  ValueError if the moments belong to another loss or regularization;
             InfeasibleDesignError.
    """
    drawn = drawn_intervals(moments, design=design, contrasts=contrasts, n_draws=n_draws)
    return forecast_of(drawn, moments)


def forecast_of(drawn: DrawnIntervals, moments: Moments) -> Forecast:
    """Return the forecast that drawn intervals amount to."""
    design = drawn.design
    goal, p = drawn.goal, len(moments.hessian)
    q, level, coverage = drawn.half_width, design.confidence_level, drawn.coverage.mean(axis=0)
    truth = drawn.truth._replace(gaussian=drawn.truth.gaussian + goal.extra)
    validity = _validity(moments, drawn)
    bias = np.broadcast_to(np.asarray(drawn.shift), q.shape).mean(axis=0)
    takes_step = estimand_of(design).takes_step
    share, width = (drawn.is_not_estimable & takes_step).mean(axis=0), drawn.odds_width
    is_biased = np.abs(bias) + goal.target_se > REPORTABLE_BIAS * q.mean(axis=0)
    is_never = (
        is_biased
        | (coverage < level - _TOLERATED_SHORTFALL)
        | moments.is_separable
        | (validity.r3 >= mechanism_of(design).drift_limits[1])
        | (width > LARGEST_WIDTH)
    ) & takes_step
    is_never |= is_biased & (design.clip < 1.0)
    chance = np.where(is_never, 0.0, 1.0 - share)
    vi = 2.0 * truth.half_width(dim=p, confidence_level=level)
    plain = 2.0 * half_width(
        truth.sampling, np.zeros_like(truth.sampling), dim=p, confidence_level=level
    )
    return Forecast(
        estimate=goal.value,
        ci_length=2.0 * q.mean(axis=0),
        ci_length_sd=2.0 * q.std(axis=0),
        vi_length=vi,
        nonprivate_length=plain,
        bias=bias,
        coverage=coverage,
        is_not_reportable=chance < REPORTABLE_CHANCE,
        chance_to_report=chance,
        odds_width=width,
        ci_length_mean=float(2.0 * q.mean()),
        mean_length_sd=float(2.0 * q.mean(axis=1).std()),
        vi_length_mean=float(vi.mean()),
        nonprivate_length_mean=float(plain.mean()),
        coverage_mean=float(coverage.mean()),
        epsilon_delta=guarantee_at(design, HEADLINE_DELTA),
        not_estimable_share=share,
        validity=validity,
        usefulness=_usefulness(moments, q, truth, goal.contrasts),
        design=design,
    )


@dataclass(frozen=True, slots=True)
class DrawnIntervals:
    """The intervals of a design in each draw of the matrix noise.

    half_width, is_not_estimable: (K, k).
    weight: that of the noise-aware half-widths, (K, k).
    truth: the law of the private estimates, (k,).
    error: the law of what the intervals are around, about its mean.
    shift: how far that mean is from the goal.
    matrix_sd: diagonal noise on H and S.
    metric: of the design's geometry.
    r3: as in `Validity`.
    drift: (k, 2p), by which the error of the coefficients moves the logarithms of the half-widths,
        in independent directions of standard deviation 1; None where it is not known.
    told: (k,), the differences by which odds ratios of the contrasts are judged; 0 where nothing is
        declared, or nothing is told in odds ratios without penalty.
    """

    design: Design
    half_width: Array
    is_not_estimable: Flags
    weight: Array
    goal: Goal
    truth: ErrorVariance
    error: ErrorVariance
    shift: Array | float
    noise: NoiseLaw
    matrix_sd: tuple[float, float]
    dim: int
    metric: Metric | None
    r3: float
    drift: Array | None
    told: Array

    @property
    def lengths(self) -> Array:
        """(K, k)."""
        return 2.0 * self.half_width

    @property
    def odds_width(self) -> Array:
        """Expected log odds (k,) between the ends of an interval for the difference by which it is
        judged. Of another level than 95 % it is carried there by the law of the private estimates.
        """
        if not self.told.any():
            return self.told
        length, level = self.lengths.mean(axis=0), self.design.confidence_level
        if level != TOLD_LEVEL:
            of = partial(self.truth.half_width, dim=self.dim)
            length = length * of(confidence_level=TOLD_LEVEL) / of(confidence_level=level)
        return np.asarray(np.where(self.told > 0.0, self.told * length, 0.0))

    @property
    def coverage(self) -> Array:
        """Chance of each interval to contain its goal, (K, k)."""
        return self._within(self.shift)

    def power(self, value: float) -> Array:
        """Chance of each interval to exclude 0 when its goal is `value`, (K, k)."""
        return np.asarray(1.0 - self._within(self.shift + value))

    def _within(self, shift: Array | float) -> Array:
        law = self.error
        return coverage_probability(
            self.half_width, law.normal, law.laplace, dim=self.dim, shift=shift
        )


def drawn_intervals(
    moments: Moments,
    *,
    design: Design,
    contrasts: npt.ArrayLike | None = None,
    n_draws: int = N_DRAWS,
    n_redraws: int = N_REDRAWS,
    spectra: SharedSpectra | None = None,
) -> DrawnIntervals:
    """Return the intervals behind a forecast, draw by draw; privacy and errors as for `forecast`.

    Args:
        moments, design, contrasts, n_draws: as for `forecast`.
        n_redraws: even, draws behind a noise-aware factor.
        spectra: of the Hessian of these moments, to share with other designs; the numbers are the
            same.
    """
    _check_match(moments, design)
    if spectra is not None and spectra.hessian is not released_hessian(moments, design):
        raise ValueError("Expected spectra of the Hessian of these moments, got those of another.")
    check_count(n_draws=n_draws)
    if n_draws % 2:
        raise ValueError(f"Expected n_draws={n_draws} to be even: draws come in antithetic pairs.")
    step(n_draws)
    metric = forecast_metric(moments, design)
    hessian, covariance = released_hessian(moments, design), moments.covariance
    H, S = hessian, covariance
    if metric is not None:
        H, S = metric.matrix(H), metric.matrix(S)
    p = len(H)
    L = asked = None if contrasts is None else check_contrasts(contrasts, p=p)
    if moments.basis is not None:
        L = moments.basis if L is None else L @ moments.basis
    noise = model_noise(design)
    on_h, on_s = _matrix_noise(moments, design, noise, metric)
    S_noisy = S + _fixed_noise(on_s, p, n_draws, _SEED + 1)
    widths = private_half_widths(
        H + _fixed_noise(on_h, p, n_draws, _SEED),
        S_noisy,
        design=design,
        noise=noise,
        covariance_noise=on_s,
        theta_priv=moments.theta_hat,
        contrasts=L,
        n_factors=max(2, n_draws // _FACTOR_EVERY),
        n_redraws=n_redraws,
        spectra=spectra,
        metric=metric,
        constant=moments.constant,
    )
    rows = np.eye(p) if L is None else L
    refused = mechanism_of(design).too_noisy(design, H)
    if refused is not None:
        raise refused
    estimand = estimand_of(design)
    goal = estimand.goal(
        moments, design=design, hessian_sd=on_h.diagonal_sd(p), contrasts=rows, metric=metric
    )
    drift = length_drift(moments, design=design, noise=noise, contrasts=asked, metric=metric)
    stretch, pull = _shortened_half_step(
        moments,
        design,
        goal,
        (on_h.diagonal_sd(p), on_s.diagonal_sd(p)),
        rows,
        metric,
        (S_noisy, drift),
    )

    law = partial(
        estimand.error, moments, design=design, noise=noise, contrasts=rows, metric=metric
    )
    if estimand.takes_step:
        both = law(np.concatenate([goal.contrasts[None], widths.contrasts]))
        truth, error = (ErrorVariance(*(part[at] for part in both)) for at in (0, slice(1, None)))
    else:
        truth = error = law(goal.contrasts)
    return DrawnIntervals(
        design=design,
        half_width=widths.half_width * stretch,
        is_not_estimable=widths.is_not_estimable,
        weight=widths.weight,
        goal=goal,
        truth=truth,
        error=error,
        shift=(
            widths.estimate(moments.theta_hat) + pull - goal.value
            if estimand.takes_step
            else _cut_away(moments, design, rows)
        ),
        noise=noise,
        matrix_sd=(on_h.diagonal_sd(p), on_s.diagonal_sd(p)),
        dim=p,
        metric=metric,
        r3=_drift(moments, noise, design, metric),
        drift=None if drift is None else drift.by_error,
        told=_told(moments, design, asked, len(rows)),
    )


def _cut_away(moments: Moments, design: Design, L: Array) -> Array | float:
    """How far cut gradients move each contrast (k,) of the planning rows; 0 where none is cut."""
    if design.clip == 1.0:
        return 0.0
    assert design.geometry is not None  # `model_noise` refuses a clip without one
    return np.asarray(L @ cut_away(moments, design.geometry, design.clip))


def _told(moments: Moments, design: Design, asked: Array | None, k: int) -> Array:
    """The differences by which odds ratios of contrasts (k, p) are judged: as many times the
    contrast as leaves each of its coefficients within its own.
    """
    is_judged = estimand_of(design).takes_step and design.measures == "odds"
    if moments.told is None or not is_judged:
        return np.zeros(k)
    if asked is None:
        return moments.told
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.where(asked == 0.0, np.inf, moments.told / np.abs(asked)).min(axis=1)
    return np.where(np.isfinite(times), times, 0.0)


def forecast_metric(moments: Moments, design: Design) -> Metric | None:
    """Return the metric of a design without the noise on it; None if it has no geometry.

    Raises:  ValueError for moments without what it takes, or of rows that lack its weights.
    """
    geometry = design.geometry
    if geometry is None:
        if moments.geometry is not None:
            raise ValueError("Expected a design with the geometry of these moments, got none.")
        return None
    if moments.spread is None:
        raise ValueError("Expected moments with a spread: fit_moments(..., with_spread=True).")
    metric = metric_of(geometry, moments.spread.second_moment)
    if moments.geometry != geometry and not _counts_in_full(moments, geometry):
        raise ValueError(
            "Expected moments of rows with the weights of this geometry: "
            "fit_moments(..., geometry=design.geometry)."
        )
    return metric


def _counts_in_full(moments: Moments, geometry: Geometry) -> bool:
    """Whether hardly a planning row has a weight (`Spread`), so that rows as they are will do."""
    spread = moments.spread
    assert spread is not None
    is_below = spread.leverage(geometry.ridge) <= geometry.leverage * _ROUNDING
    return moments.geometry is None and is_below


def _shortened_half_step(
    moments: Moments,
    design: Design,
    goal: Goal,
    noise_sd: tuple[float, float],
    L: Array,
    metric: Metric | None,
    drawn: tuple[Array, LengthDrift | None],
) -> tuple[Array | float, Array | float]:
    """What lengths are multiplied by, and estimates moved by, where the noise on the gradient
    covariance lets the half step go only a part of its way (`solvers.one_step`), or leads it
    elsewhere: `drawn` are the noisy covariances and what such a step does, where that is known.

    The curvature is taken to change evenly along the step.
    """
    found, theta, c = moments.unpenalised_fit, moments.theta_hat, design.regularization
    if found is None or not has_one_step_point(design):
        return 1.0, 0.0
    S, whiten = moments.covariance, None
    if metric is not None:
        S, whiten = metric.matrix(S), metric.whiten
    planned = one_step_point(theta, moments.covariance, regularization=c, matrix_sd=0.0) - theta
    taken = one_step_point(theta, S, regularization=c, matrix_sd=noise_sd[1], whiten=whiten) - theta
    along = moments.covariance @ planned
    share = float(taken @ along) / max(float(planned @ along), np.finfo(np.float64).tiny)
    factor, shift = _led_elsewhere(
        theta + min(share, 1.0) * planned, drawn, design, noise_sd[1], moments, whiten
    )
    if share >= 1.0:
        return factor, shift
    at_one_step = found.one_step_point
    reached = moments.hessian + share * (at_one_step - moments.hessian)
    steps = step_at(reached, theta, design, noise_sd[0], L, metric).contrasts
    size, planned_size = (
        np.einsum("ij,jk,ik->i", rows, moments.covariance, rows)
        for rows in (steps @ np.linalg.inv(reached), goal.contrasts @ np.linalg.inv(at_one_step))
    )
    stretch: Array = np.sqrt(np.divide(size, np.maximum(planned_size, np.finfo(np.float64).tiny)))
    return stretch * factor, (steps - goal.contrasts) @ theta + shift


def _led_elsewhere(
    usual: Array,
    drawn: tuple[Array, LengthDrift | None],
    design: Design,
    covariance_sd: float,
    moments: Moments,
    whiten: Array | None,
) -> tuple[Array | float, Array | float]:
    """What each draw (K, k) of the gradient covariance does to lengths and estimates, because the
    Hessian is released elsewhere than at the usual point.
    """
    S_noisy, drift = drawn
    if drift is None:
        return 1.0, 0.0
    at = one_step_point(
        moments.theta_hat,
        S_noisy,
        regularization=design.regularization,
        matrix_sd=covariance_sd,
        whiten=whiten,
    )
    moved = at - usual
    return np.exp(moved @ drift.by_hessian.T), np.asarray(moved @ drift.of_estimate.T)


def _usefulness(moments: Moments, q: Array, truth: ErrorVariance, L: Array) -> Usefulness:
    """The verdict a release of this design can expect; rows of contrasts count at length 1,
    whatever their units.
    """
    p = len(moments.theta_hat)
    size = np.linalg.norm(L, axis=1)
    law = ErrorVariance(*(part / size**2 for part in truth))
    expected = (L @ moments.theta_hat / size) ** 2 + law.total(p)
    return judge_usefulness(q.mean(axis=0) / size, expected, law, dim=p)


def _check_match(moments: object, design: object) -> None:
    if not isinstance(moments, Moments):
        raise ValueError(
            f"Expected moments as `fit_moments` returns them, got {type(moments).__name__}."
        )
    check_design(design)
    assert isinstance(design, Design)
    if moments.loss != design.loss:
        raise ValueError(f"Expected moments of loss {design.loss!r}, got {moments.loss!r}.")
    if moments.regularization != design.regularization:
        raise ValueError(
            f"Expected moments at regularization={design.regularization!r}, got "
            f"{moments.regularization!r}."
        )


def _matrix_noise(
    moments: Moments, design: Design, noise: NoiseLaw, metric: Metric | None
) -> tuple[MatrixNoise, MatrixNoise]:
    """The laws of the noise on H and on S, the second at a released theta of typical norm."""
    return hessian_noise(design), covariance_noise(
        design, typical_norm(moments, noise, design, metric)
    )


def _shift(moments: Moments, noise: NoiseLaw, design: Design, metric: Metric | None) -> float:
    """How far the noise moves the coefficients; in a metric it is H^-1 W^-1 b / n."""
    H = moments.hessian if metric is None else metric.whiten @ moments.hessian
    return mechanism_of(design).shift(H, noise, design.n_records)


def typical_norm(
    moments: Moments, noise: NoiseLaw, design: Design, metric: Metric | None = None
) -> float:
    """Root-mean-square norm of the released coefficients."""
    shift = _shift(moments, noise, design, metric)
    return float(np.sqrt(moments.theta_hat @ moments.theta_hat + shift**2))


def _fixed_noise(law: MatrixNoise, p: int, n_draws: int, seed: int) -> Array:
    """Noise matrices (n_draws, p, p) of this law, constants of the module."""
    unit = fixed_draws(p, n_draws=n_draws, law=law.law, symmetric=law.symmetric, seed=seed)
    return law.diagonal_sd(p) * unit


def _validity(moments: Moments, drawn: DrawnIntervals) -> Validity:
    """Grade the forecast by the ratios of `Validity`."""
    H, S, L = moments.hessian, moments.covariance, None
    design, metric, noise, n = drawn.design, drawn.metric, drawn.noise, drawn.design.n_records
    sd_h, sd_s = drawn.matrix_sd
    if metric is not None:
        H, S, L = metric.matrix(H), metric.matrix(S), metric.whiten
    p = len(H)
    law = error_variance(H, S, L, mechanism=design.mechanism, noise=noise, n_records=n)
    inverse = np.linalg.inv(H) if L is None else L @ np.linalg.inv(H)
    r1 = sd_h * np.sqrt(2.0 * p) / float(np.linalg.eigvalsh(H)[0])
    r2 = float(np.max(sd_s * np.einsum("ij,ij->i", inverse, inverse) / (n * law.total(p))))
    ratios: dict[words.Ratio, float] = {"r1": float(r1), "r2": r2, "r3": drawn.r3}
    each: tuple[float, ...] = ()
    if moments.leverage_correction is not None:
        plain = np.linalg.inv(moments.hessian)
        lost = np.einsum("ij,jk,ik->i", plain, moments.leverage_correction, plain) / n**2
        each = tuple((lost / law.total(p)).tolist())
        ratios["r4"] = max(each)
    return _grade(ratios, mechanism_of(design), each)


def _drift(moments: Moments, noise: NoiseLaw, design: Design, metric: Metric | None) -> float:
    """How far the noise on the coefficients moves the Hessian, r3; 0 where it is not known."""
    if moments.drift is None:
        return 0.0
    size = _shift(moments, noise, design, metric)
    drift = mechanism_of(design).drift(moments.drift)
    return float(np.interp(np.log(size), np.log(moments.drift.step), drift, left=0.0))


def _grade(
    ratios: dict[words.Ratio, float], mechanism: Mechanism, each: tuple[float, ...]
) -> Validity:
    """By the largest of every ratio; a few coefficients that r4 marks leave the others usable."""
    grade: Grade = "valid"
    exceeded = []
    for name, value in ratios.items():
        valid, rough = _CUTS.get(name, mechanism.drift_limits)
        if value >= valid:
            exceeded.append((name, valid))
            of_most = float(np.median(each)) if name == "r4" else value
            grade = "unusable" if of_most >= rough or grade == "unusable" else "rough"
    return Validity(grade, tuple(exceeded), **ratios, r4_each=each)
