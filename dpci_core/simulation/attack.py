"""The best guess of somebody who knows everything but one record, played many times.

Two tables differ in one record. A fair coin chooses one, its coefficients are drawn as in a
simulation, and the attacker, who knows both tables and the law of the noise, names the table under
which what was drawn is more likely. No other rule guesses right more often, and pure epsilon says
how often that can be: e^epsilon of (1 + e^epsilon).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_count, check_generator
from dpci_core.design import Design, check_design
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise, train_private
from dpci_core.privacy.budget import pure_risk
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import Fit, PenalisedRisk


@dataclass(frozen=True, slots=True, eq=False)
class Attack:
    """How often the attacker was right.

    is_right: of every game, (n_games,).
    bound: the largest share of right guesses that the budget allows.
    """

    is_right: Flags
    bound: float

    @property
    def share(self) -> float:
        """Share of right guesses."""
        return float(self.is_right.mean())

    @property
    def standard_error(self) -> float:
        """Of that share, from the number of games."""
        return float(np.sqrt(self.share * (1.0 - self.share) / len(self.is_right)))


def play_attack(
    one: Array, other: Array, *, design: Design, n_games: int, rng: np.random.Generator
) -> Attack:
    """Return how often the most likely of two tables was the one that was drawn from.

    Args:
        one, other: rows y_i x_i (n, p) that differ in one record, norms at most 1; the attacker
            knows both, so they are public.
        design: loss, mechanism, c, n and budget of the coefficients, in pure epsilon and without a
            geometry. Only `budget.model` is drawn, and is what the bound is of.
        n_games: how often, >= 1.

    Privacy: none; a simulation on public tables.
    Raises:  ValueError for tables of unequal shape or that differ in more than one record, another
             definition than pure epsilon, or a design with a geometry.
    Source:  own; the bound is that of two hypotheses under pure differential privacy.
    """
    check_design(design)
    check_generator(rng)
    check_count(n_games=n_games)
    if one.shape != other.shape or int((one != other).any(axis=1).sum()) > 1:
        raise ValueError("Expected two tables of one shape that differ in at most one record.")
    if design.budget.has_delta or design.geometry is not None:
        raise ValueError("Expected a design in pure epsilon, without a geometry.")
    tables, law = (one, other), model_noise(design)
    minimisers = [minimise(_risk(rows, design)) for rows in tables]
    coins = rng.integers(2, size=n_games)
    drawn = np.array([_draw(tables[c], minimisers[c], design, rng) for c in coins])
    scores = [_log_density(drawn, *at, design, law) for at in zip(tables, minimisers, strict=True)]
    guesses = (scores[1] > scores[0]) | ((scores[1] == scores[0]) & (rng.random(n_games) < 0.5))
    return Attack(guesses == (coins == 1), pure_risk(float(design.budget.model)))


def _risk(rows: Array, design: Design) -> PenalisedRisk:
    return PenalisedRisk(as_table(rows), design.loss, design.regularization)


def _draw(rows: Array, found: Fit, design: Design, rng: np.random.Generator) -> Array:
    """Coefficients (p,) of one table; what is added to a minimiser is added to the one found."""

    def solve(risk: PenalisedRisk) -> Fit:
        return found if risk.noise_vector is None else minimise(risk)

    return train_private(as_table(rows), design=design, rng=rng, solver=solve).theta_priv


def _log_density(drawn: Array, rows: Array, found: Fit, design: Design, law: NoiseLaw) -> Array:
    """Log density (m,) of drawn coefficients (m, p), up to a constant that both tables share.

    In the objective the noise vector is a function of the coefficients, b = -(sum f' a + 2nc
    theta), so the density is that of b times |det| of its derivative.
    """
    if not mechanism_of(design).perturbs_objective:
        return _log_law(drawn - found.theta, law)
    two_nc = 2.0 * design.n_records * design.regularization
    z = drawn @ rows.T
    noise = -(design.loss.slope(z) @ rows + two_nc * drawn)
    change = np.einsum("mi,ij,ik->mjk", design.loss.curvature(z), rows, rows)
    log_det = np.linalg.slogdet(change + two_nc * np.eye(rows.shape[1]))[1]
    return np.asarray(_log_law(noise, law) + log_det)


def _log_law(noise: Array, law: NoiseLaw) -> Array:
    size = np.linalg.norm(noise, axis=1) / law.scale
    return np.asarray(-size if law.law == "laplace" else -0.5 * size**2)
