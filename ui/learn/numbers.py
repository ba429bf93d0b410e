"""The numbers behind the screens of Learn: each function takes a control's value and asks the core.
No Streamlit.

Everything is made up: the records are the first of the simulated census, and every generator has a
fixed seed, so the same value gives the same picture. Fits that do not depend on the value are kept
for the process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

import numpy as np
import pandas as pd

from dpci_core import (
    Design,
    HuberSVM,
    Logistic,
    Loss,
    Moments,
    PureDP,
    datasets,
    fit_moments,
    forecast,
)
from dpci_core.base.array import Array
from dpci_core.base.batches import as_table
from dpci_core.base.roots import find_root
from dpci_core.design import CalibrationName, MechanismName
from dpci_core.intervals.inflation import error_variance
from dpci_core.mechanisms.mechanism import model_noise, train_private
from dpci_core.privacy.budget import pair_budget, pure_risk
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.noise import half_width
from dpci_core.privacy.sensitivity import output_sensitivity
from dpci_core.schema import encode
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

SHOWN = "education_num"
"""The coefficient that the pictures of one coefficient show: years of education."""
ROWS = 10_000
"""People in the made-up population; small enough to fit in milliseconds."""
N_REPLAYS = 100
"""Studies that are replayed."""
REPLAY_ROWS = 500
"""People in each of them."""
C = 0.001
"""Penalty, unless a screen is about it."""
REPLAY_C = 0.01
"""Penalty where tables are small."""
DELTA = "1e-6"
_SEED = 20_261_121
_DRAWS = 16
"""Draws of matrix noise behind each point of a curve, as on Explore."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """What a screen shows at one value: the table that the picture is drawn from, and the facts of
    its sentence.
    """

    value: float
    table: pd.DataFrame
    facts: Mapping[str, float]


@lru_cache(maxsize=32)
def population(features: int | tuple[str, ...]) -> tuple[Array, Array]:
    """X and y of the made-up people, with so many features or those named."""
    records = encode(
        _people(),
        datasets.schema_of("census"),
        features=features,
        source="simulated",
        title="census",
    )
    return records.unweighted, records.y


@lru_cache(maxsize=1)
def _people() -> pd.DataFrame:
    return datasets.simulate_census(ROWS)


@lru_cache(maxsize=128)
def moments_of(features: int, loss: Loss, c: float) -> Moments:
    """The fit of the whole population."""
    X, y = population(features)
    return fit_moments(X, y, loss=loss, regularization=c)


def rows_of(features: tuple[str, ...]) -> Array:
    """y x, the rows that a fit sees."""
    X, y = population(features)
    return y[:, None] * X


def design(
    epsilon: float,
    *,
    mechanism: MechanismName = "objective",
    c: float = C,
    loss: Loss | None = None,
    share: float = 0.5,
    calibration: CalibrationName = "sharp",
    n: int = REPLAY_ROWS,
) -> Design:
    """A design with this total epsilon; the matrices share equally what the coefficients leave."""
    total = Decimal(repr(epsilon))
    model = total * Decimal(repr(share))
    rest = (total - model) / 2
    return Design(
        loss=loss or Logistic(),
        mechanism=mechanism,
        budget=PureDP(model=model, hessian=rest, covariance=rest),
        regularization=c,
        calibration=calibration,
        n_records=n,
    )


# --- replayed studies -----------------------------------------------------------------------------

REPLAYED = ("age", SHOWN)


@dataclass(frozen=True, eq=False)
class Replays:
    """Studies of the same population: estimates (N,) of one coefficient, their sampling variances,
    and the truth.
    """

    truth: float
    estimate: Array
    variance: Array
    n_coefficients: int


@lru_cache(maxsize=1)
def replays() -> Replays:
    """Each study draws its own people and estimates without noise."""
    A = rows_of(REPLAYED)
    truth = minimise(PenalisedRisk(as_table(A), Logistic(), REPLAY_C)).theta
    estimates, variances = [], []
    for child in np.random.SeedSequence(_SEED).spawn(N_REPLAYS):
        sample = A[np.random.default_rng(child).integers(0, len(A), REPLAY_ROWS)]
        theta = minimise(PenalisedRisk(as_table(sample), Logistic(), REPLAY_C), start=truth).theta
        H, S = PenalisedRisk(as_table(sample), Logistic(), REPLAY_C).moments(theta)
        estimates.append(theta[1])
        variances.append(sampling_variance(H, S, REPLAY_ROWS)[1])
    return Replays(float(truth[1]), np.array(estimates), np.array(variances), len(truth))


def sampling_variance(H: Array, S: Array, n_records: int) -> Array:
    """Variance of each coefficient from sampling alone."""
    return error_variance(
        H, S, mechanism="objective", noise=NoiseLaw(sd=1.0), n_records=n_records
    ).sampling


def plain_half_width(variance: Array, level: float) -> Array:
    """Half of an interval without privacy noise."""
    return half_width(variance, np.zeros_like(variance), dim=1, confidence_level=level)


def promise(level: float) -> Numbers:
    """The interval of each replayed study, and whether it holds the truth."""
    found = replays()
    q = plain_half_width(found.variance, level)
    hit = np.abs(found.estimate - found.truth) <= q
    table = pd.DataFrame(
        {
            "study": np.arange(1, N_REPLAYS + 1),
            "estimate": found.estimate,
            "low": found.estimate - q,
            "high": found.estimate + q,
            "holds the truth": hit,
        }
    )
    facts = {
        "truth": found.truth,
        "hits": float(hit.sum()),
        "level": level,
        "length": float(2.0 * q.mean()),
    }
    return Numbers(level, table, facts)


def _noise_draws(name: str, epsilon: float, dim: int, count: int) -> Array:
    """Noise of output perturbation for the replayed studies (count, dim): the same draws, scaled,
    at every epsilon.
    """
    law = model_noise(design(epsilon, mechanism="output", c=REPLAY_C))
    rng = np.random.default_rng([_SEED, *name.encode()])
    return np.array([law.sample(dim, rng) for _ in range(count)])


def noise(epsilon: float) -> Numbers:
    """One study published many times: the same estimate, fresh privacy noise each time."""
    found = replays()
    estimate = float(found.estimate[0])
    draws = _noise_draws("noise", epsilon, found.n_coefficients, N_REPLAYS)[:, 1]
    law = model_noise(design(epsilon, mechanism="output", c=REPLAY_C))
    table = pd.DataFrame({"release": np.arange(1, N_REPLAYS + 1), "published": estimate + draws})
    facts = {
        "estimate": estimate,
        "sampling_sd": float(np.sqrt(found.variance[0])),
        "noise_sd": float(np.sqrt(law.variance(found.n_coefficients))),
    }
    return Numbers(epsilon, table, facts)


_USUAL_LUCK = "spread 57"
"""A stream of noise under which 95 of the 100 estimates lie inside at most budgets, as they do on
average: others have 88 or 99, and would teach that.
"""


def spread(epsilon: float) -> Numbers:
    """Estimates of all studies with the noise of each, beside the two intervals that the forecast
    gives.
    """
    found, level = replays(), 0.95
    released = (
        found.estimate + _noise_draws(_USUAL_LUCK, epsilon, found.n_coefficients, N_REPLAYS)[:, 1]
    )
    X, y = population(REPLAYED)
    moments = _replay_moments(X, y)
    made = forecast(moments, design=design(epsilon, mechanism="output", c=REPLAY_C))
    lengths = made.vi_length, made.ci_length, made.nonprivate_length
    variability, private, without = (float(length[1]) for length in lengths)
    table = pd.DataFrame(
        {
            "study": np.arange(1, N_REPLAYS + 1),
            "published": released,
            "inside the variability interval": np.abs(released - found.truth) <= variability / 2.0,
        }
    )
    inside = float(table["inside the variability interval"].sum())
    facts = {
        "truth": found.truth,
        "variability": variability,
        "private": private,
        "non-private": without,
        "inside": inside,
        "level": level,
    }
    return Numbers(epsilon, table, facts)


_kept_moments: dict[str, Moments] = {}


def _replay_moments(X: Array, y: Array) -> Moments:
    """The fit of the population that the studies draw from."""
    if "replays" not in _kept_moments:
        _kept_moments["replays"] = fit_moments(X, y, loss=Logistic(), regularization=REPLAY_C)
    return _kept_moments["replays"]


# --- one person -----------------------------------------------------------------------------------

N_SWAPS = 30
"""Persons that are replaced, one at a time."""


@lru_cache(maxsize=16)
def neighbours(n: float) -> Numbers:
    """How far the coefficients move when one person's record is replaced, person by person."""
    count, A = int(n), rows_of(REPLAYED)
    table, strangers = A[:count], A[len(A) - N_SWAPS :]
    before = minimise(PenalisedRisk(as_table(table), Logistic(), REPLAY_C)).theta
    moved = []
    for i in range(min(N_SWAPS, count)):
        other = table.copy()
        other[i] = strangers[i]
        after = minimise(PenalisedRisk(as_table(other), Logistic(), REPLAY_C), start=before).theta
        moved.append(float(np.linalg.norm(after - before)))
    # Output perturbation scales its noise to this bound.
    most = output_sensitivity(n_records=count, regularization=REPLAY_C)
    shown = pd.DataFrame(
        {"person replaced": np.arange(1, len(moved) + 1), "coefficients move by": moved}
    )
    return Numbers(n, shown, {"bound": most.size / most.divided_by, "largest": max(moved), "n": n})


PRIORS = np.array(
    [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999]
)


def odds(epsilon: float) -> Numbers:
    """How sure an attacker can become at most, by how sure she was."""
    after = np.array([pure_risk(epsilon, float(prior)) for prior in PRIORS])
    table = pd.DataFrame({"sure before": PRIORS, "sure after, at most": after})
    return Numbers(epsilon, table, {"even": pure_risk(epsilon), "factor": float(np.exp(epsilon))})


DIMENSIONS = (1, 2, 3, 5, 8, 12, 20, 35, 60, 100)


def concentrated(epsilon: float) -> Numbers:
    """Noise on each coefficient under pure epsilon and under zCDP with the same (epsilon, delta),
    by their number.
    """
    pure = design(epsilon, mechanism="output", c=REPLAY_C)
    zcdp = replace(pure, budget=pair_budget(pure.budget, rule="guarantee", delta=DELTA))
    laws = [model_noise(d) for d in (pure, zcdp)]
    sds = [[float(np.sqrt(law.variance(d + 1))) for d in DIMENSIONS] for law in laws]
    table = pd.DataFrame({"features d": DIMENSIONS, "pure ε": sds[0], "zCDP": sds[1]})
    better = next((d for d, a, b in zip(DIMENSIONS, *sds, strict=True) if b < a), 0)
    return Numbers(epsilon, table, {"better": float(better), "ratio": sds[0][-1] / sds[1][-1]})


N_CLOUD = 80


@lru_cache(maxsize=16)
def clouds(c: float) -> Numbers:
    """Private coefficients in two dimensions, drawn by both mechanisms around one exact answer."""
    A = rows_of((SHOWN,))[:REPLAY_ROWS]
    exact = minimise(PenalisedRisk(as_table(A), Logistic(), c)).theta
    perturbed = design(1.0, c=c)
    rng = np.random.default_rng([_SEED, 6])
    objective = np.array(
        [train_private(as_table(A), design=perturbed, rng=rng).theta_priv for _ in range(N_CLOUD)]
    )
    law = model_noise(replace(perturbed, mechanism="output"))
    added = np.array([law.sample(2, rng) for _ in range(N_CLOUD)])
    noise = np.vstack([objective - exact, added])
    names = np.repeat(["objective perturbation", "output perturbation"], N_CLOUD)
    table = pd.DataFrame({"mechanism": names, "education": noise[:, 0], "intercept": noise[:, 1]})
    size = np.linalg.norm(noise, axis=1)
    facts = {
        "objective": float(np.sqrt(np.mean(size[:N_CLOUD] ** 2))),
        "output": float(np.sqrt(np.mean(size[N_CLOUD:] ** 2))),
    }
    return Numbers(c, table, facts)


# --- lengths along a control ----------------------------------------------------------------------

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
RECORDS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
FEATURES = (1, 2, 4, 6, 10, 15, 20, 30)
PENALTIES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
WIDTHS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
CURVE_D, CURVE_N = 5, 30_000
_LENGTHS = ("private", "variability", "non-private")


def lengths(
    moments: Moments, made_for: Design, *, first: bool = False
) -> tuple[float, float, float]:
    """Private, variability and non-private length: the mean over coefficients, or the first
    one's.
    """
    made = forecast(moments, design=made_for, n_draws=_DRAWS)
    if first:
        return float(made.ci_length[0]), float(made.vi_length[0]), float(made.nonprivate_length[0])
    return made.ci_length_mean, made.vi_length_mean, made.nonprivate_length_mean


def _along(
    name: str, grid: tuple[float, ...], at: Callable[[float], tuple[float, ...]], value: float
) -> Numbers:
    """Lengths over the grid of a control, and those at its value."""
    found = np.array([at(x) for x in grid])
    table = pd.DataFrame({name: grid, **{word: found[:, i] for i, word in enumerate(_LENGTHS)}})
    here = dict(zip(_LENGTHS, at(value), strict=True))
    best = int(np.argmin(found[:, 0]))
    return Numbers(
        value, table, {**here, "best": float(grid[best]), "shortest": float(found[best, 0])}
    )


@lru_cache(maxsize=16)
def _at_share(share: float) -> tuple[float, ...]:
    return lengths(moments_of(CURVE_D, Logistic(), C), design(1.0, share=share, n=CURVE_N))


def split(share: float) -> Numbers:
    """Lengths as the coefficients' share of the same total moves."""
    return _along("share", SHARES, _at_share, share)


@lru_cache(maxsize=16)
def _at_records(n: float) -> tuple[float, ...]:
    return lengths(moments_of(CURVE_D, Logistic(), C), design(1.0, n=int(n)))


def records(n: float) -> Numbers:
    """Lengths as the number of records moves."""
    return _along("records n", RECORDS, _at_records, n)


@lru_cache(maxsize=16)
def _at_features(d: float) -> tuple[float, ...]:
    return lengths(moments_of(int(d), Logistic(), C), design(1.0, n=CURVE_N), first=True)


def features(d: float) -> Numbers:
    """Lengths of the first coefficient's interval as features are added."""
    return _along("features d", FEATURES, _at_features, d)


@lru_cache(maxsize=16)
def _at_penalty(c: float) -> tuple[float, ...]:
    return lengths(moments_of(CURVE_D, Logistic(), c), design(1.0, c=c, n=CURVE_N))


def penalty(c: float) -> Numbers:
    """Lengths as the penalty moves."""
    return _along("penalty c", PENALTIES, _at_penalty, c)


@lru_cache(maxsize=16)
def _at_width(h: float) -> tuple[float, ...]:
    loss = HuberSVM(h=h)
    return lengths(moments_of(CURVE_D, loss, C), design(1.0, loss=loss, n=CURVE_N))


def width(h: float) -> Numbers:
    """Lengths for the SVM as the smoothing of its loss gets wider."""
    return _along("width h", WIDTHS, _at_width, h)


@lru_cache(maxsize=16)
def _ratios(n: float) -> tuple[float, float]:
    """Of the published and the sharp interval to the variability interval."""
    moments = moments_of(CURVE_D, Logistic(), C)
    names: tuple[CalibrationName, ...] = ("published", "sharp")
    made = [lengths(moments, design(1.0, calibration=name, n=int(n))) for name in names]
    return made[0][0] / made[0][1], made[1][0] / made[1][1]


def sharp(n: float) -> Numbers:
    """Published and sharp lengths for the same release, as multiples of the variability
    interval.
    """
    found = np.array([_ratios(x) for x in RECORDS])
    table = pd.DataFrame({"records n": RECORDS, "published": found[:, 0], "sharp": found[:, 1]})
    here = _ratios(n)
    return Numbers(n, table, {"published": here[0], "sharp": here[1]})


# --- peeking --------------------------------------------------------------------------------------

N_CANDIDATES = 7
"""Records that one person may have had."""
PEEK_C = 0.05
PEEK_ROOM = 2.0
"""The steward asks for this many times the length without privacy, at the table as it would be on
average.
"""


@lru_cache(maxsize=16)
def peeking(n: float) -> Numbers:
    """The budget that "just enough for my interval" picks on the real table, for each record one
    person may have.
    """
    count, A = int(n), rows_of((SHOWN,))
    others, candidates = A[: count - 1], A[len(A) - N_CANDIDATES :]
    everybody = _moments_of_rows(A)
    wanted = PEEK_ROOM * lengths(everybody, design(1.0, mechanism="output", c=PEEK_C, n=count))[2]
    about = _enough(everybody, wanted, count, (0.01, 100.0))
    tables = [_moments_of_rows(np.vstack([others, record])) for record in candidates]
    picked = [_enough(moments, wanted, count, (about / 1.25, 1.25 * about)) for moments in tables]
    table = pd.DataFrame(
        {"record of that person": np.arange(1, N_CANDIDATES + 1), "budget ε picked": picked}
    )
    facts = {
        "wanted": wanted,
        "low": min(picked),
        "high": max(picked),
        "different": float(len(set(picked))),
    }
    return Numbers(n, table, facts)


def _moments_of_rows(A: Array) -> Moments:
    theta = minimise(PenalisedRisk(as_table(A), Logistic(), PEEK_C)).theta
    H, S = PenalisedRisk(as_table(A), Logistic(), PEEK_C).moments(theta)
    return Moments(theta, H, S, len(A), Logistic(), PEEK_C)


def _enough(moments: Moments, wanted: float, n: int, within: tuple[float, float]) -> float:
    """The epsilon at which the forecast mean length is the wanted one, to six digits."""

    def excess(log_epsilon: float) -> float:
        made_for = design(float(f"{np.exp(log_epsilon):.12g}"), mechanism="output", c=PEEK_C, n=n)
        return lengths(moments, made_for)[0] - wanted

    return float(
        f"{np.exp(find_root(excess, np.log(within[0]), np.log(within[1]), xtol=1e-7)):.6g}"
    )
