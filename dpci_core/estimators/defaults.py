"""Penalties from public quantities, for those who do not choose one."""

from __future__ import annotations

from dpci_core.base.errors import InfeasibleDesignError, check_count
from dpci_core.base.limits import REGULARIZATION
from dpci_core.design import Design
from dpci_core.mechanisms.mechanism import mechanism_of

_WITHOUT_PRIVACY = 0.01
"""Penalty times n where the budget is unlimited, so that separable classes have a minimiser."""
_NOISE_SHARE = 4.0
"""Times t / (n epsilon): about an eighth of the share of the coefficients pays for the penalty, the
rest for noise. A smaller c lengthens intervals quickly, a larger one hardly shortens them and adds
bias."""
_BALANCE = 0.04
"""Of c R^2 over (s R)^(1/4). Noise on the minimiser, per spread, is s R / (c R^2), and what the
step to the coefficient without penalty leaves of its bias grows with the cube of c R^2: so both
fall alike."""


def default_regularization(design: Design, *, n_coefficients: int) -> float:
    """Return a penalty c for a design, whose own c plays no part.

    1.5 sqrt(p + 1) s^1.5 (objective) or 2 s (output), plus 0.01/n.
    s is the noise for each record: sqrt(p + 1) / (n epsilon), or 1 / (n epsilon) if the noise is
    Gaussian, with epsilon the share of the coefficients and a rho counted as epsilon = sqrt(2 rho).
    Noise asks for a penalty, and a penalty costs signal, so c falls with n and with the budget.
    For objective perturbation c is at least t / (n epsilon), which leaves half of the budget to the
    noise, so that the design is feasible at every budget.

    Args:
        design: mechanism, loss, budget and n count.
        n_coefficients: p.

    Privacy: n, p and the budget are public; nothing is read off the records.
    Source:  own.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import PureDP
    >>> budget = PureDP(model="1", hessian="1", covariance="1")
    >>> design = Design(loss=Logistic(), mechanism="objective", budget=budget, regularization=1,
    ...                 n_records=1000)
    >>> round(
    ...     default_regularization(design, n_coefficients=3), 6
    ... )  # 3 * 0.002^1.5 + 0.00001
    0.000278
    """
    check_count(n_coefficients=n_coefficients)
    mechanism = mechanism_of(design)
    wanted = mechanism.usual_regularization(design, n_coefficients=n_coefficients)
    return _in_range(wanted + _WITHOUT_PRIVACY / design.n_records)


def effects_regularization(design: Design, *, n_coefficients: int, row_radius: float) -> float:
    """Return a penalty c for intervals of the coefficients without penalty, of rows v / R.

    4 t / (n epsilon) (objective) or 0.04 (s R)^(1/4) / R^2 (output), plus 0.01 / (n R^2), where s
    and epsilon are those of `default_regularization`. c R^2 is what acts on coefficients per
    spread.

    Args:
        design: mechanism, loss, budget and n count.
        n_coefficients: p.
        row_radius: R, in spreads.

    Privacy: n, p, R and the budget are public; nothing is read off the records.
    Source:  own.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import PureDP
    >>> budget = PureDP(model="1", hessian="0.5", covariance="0.5")
    >>> design = Design(loss=Logistic(), mechanism="objective", budget=budget, regularization=1,
    ...                 n_records=10_000)
    >>> c = effects_regularization(design, n_coefficients=3, row_radius=2.0)
    >>> round(c, 9)  # 4 * 0.25 / 10000 + 0.01 / 10000 / 4
    0.00010025
    """
    check_count(n_coefficients=n_coefficients)
    mechanism, squared = mechanism_of(design), row_radius**2
    if mechanism.perturbs_objective:
        epsilon = design.budget.pure_epsilon_within(design.budget.model)
        wanted = _NOISE_SHARE * design.loss.max_curvature / (design.n_records * epsilon)
    else:
        noise = mechanism.noise_per_record(design, n_coefficients)
        wanted = _BALANCE * (noise * row_radius) ** 0.25 / squared
    return _in_range(wanted + _WITHOUT_PRIVACY / (design.n_records * squared))


def _in_range(wanted: float) -> float:
    low, high = REGULARIZATION
    return min(max(wanted, low), high)


def certifiable(design: Design, *, n_coefficients: int) -> float:
    """Return the penalty of a design, or the larger one at which a fit like a release's can be
    certified.

    Public numbers decide, as for `default_regularization`.
    Raises:  UncertainFitError where no penalty is large enough.
    """
    # Tables and files, which a simulation does without.
    from dpci_core.intervals.certified import UncertainFitError, check_feasible

    try:
        check_feasible(design, dim=n_coefficients)
    except InfeasibleDesignError as error:
        needed = [
            float(change.value) for change in error.changes if change.what == "regularization"
        ]
        if not needed:
            raise UncertainFitError(None, design.n_records, n_coefficients) from None
        return max([design.regularization, *needed])
    return design.regularization
