"""A further mechanism, loss or privacy definition is a class and its line in a registry; nothing
else knows names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import expit

from dpci_core import (
    ZCDP,
    Design,
    ExperimentResult,
    Logistic,
    Loss,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    rank_mechanisms,
    run_experiment,
)
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Rows
from dpci_core.design import ESTIMANDS, MECHANISMS
from dpci_core.intervals.certified import check_feasible
from dpci_core.intervals.draw import draw_release
from dpci_core.ledger.amounts import Cap, Cost, price
from dpci_core.losses import LOSSES, RoundedHinge
from dpci_core.mechanisms.mechanism import Mechanism, PerturbedModel, Solver
from dpci_core.plan.codec import plain, read
from dpci_core.plan.content import design_from
from dpci_core.privacy.budget import (
    DEFINITIONS,
    Amount,
    Budget,
    epsilon_to_zcdp,
    to_decimal,
    to_float_down,
    zcdp_to_epsilon,
    zcdp_to_pure_epsilon,
)
from dpci_core.privacy.laws import Law, NoiseLaw
from dpci_core.privacy.randomness import NoiseSource
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.moments import HessianDrift
from dpci_core.solvers.risk import PenalisedRisk
from ui.session.case import make_case
from ui.session.compute import PUBLIC, TableSource
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings

Array = npt.NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]
FOUR = Decimal(4)
N, P, C = 600, 3, 0.02


class Cautious(Mechanism):
    """Twice the noise that output perturbation adds."""

    name = "toy_cautious"
    title = "cautious perturbation"
    place = "twice the noise on the fitted coefficients"
    perturbs_objective = False
    drift_limits = (0.4, 0.8)

    def law(self, design: Design) -> Law:
        return design.budget.law

    def noise(self, design: Design, *, solver_error: float = 0.0) -> NoiseLaw:
        sensitivity = 2.0 * (1.0 / (design.n_records * design.regularization) + solver_error)
        amount = to_float_down(design.budget.model)
        return design.budget.noise(sensitivity=sensitivity, amount=amount)

    def perturb(
        self,
        A: Rows,
        *,
        design: Design,
        rng: NoiseSource,
        solver: Solver = minimise,
        solver_error: float = 0.0,
        metric: Metric | None = None,
    ) -> PerturbedModel:
        noise = self.noise(design, solver_error=solver_error)
        fit = solver(PenalisedRisk(A, design.loss, design.regularization))
        sensitivity = (1.0 / (len(A) * design.regularization) + solver_error) * (1.0 + 2.0**-50)
        amount = to_float_down(design.budget.model)
        theta = design.budget.add_noise(
            fit.theta, noise, rng, sensitivity=sensitivity, amount=amount, exponent=-30
        )
        return PerturbedModel(theta, noise, fit)

    def error_size(self, rows: Array, contrasts: Array, n_records: int) -> Array:
        return np.asarray((contrasts**2).sum(axis=-1))

    def shift(self, hessian: Array, noise: NoiseLaw, n_records: int) -> float:
        return float(np.sqrt(noise.variance(len(hessian)) * len(hessian)))

    def drift(self, tabulated: HessianDrift) -> Array:
        return tabulated.output

    def usual_regularization(self, design: Design, *, n_coefficients: int) -> float:
        return 4.0 * self.noise_per_record(design, n_coefficients)


class QuarterDP(Budget):
    """Concentrated privacy, counted in quarters of a rho: 4 of them are rho = 1."""

    definition, symbol, letter, law = "quarter", "quarters", "q", "gaussian"
    has_delta, title = True, "concentrated privacy in quarters"
    promise = "{amount}-quarter private"

    @classmethod
    def epsilon_of(cls, amount: float, delta: float) -> float:
        return zcdp_to_epsilon(amount / 4.0, delta)

    @classmethod
    def as_rho(cls, amount: Amount) -> Decimal:
        return to_decimal(amount, name="quarters") / FOUR

    @classmethod
    def pure_epsilon_within(cls, amount: Amount) -> float:
        return zcdp_to_pure_epsilon(to_decimal(amount, name="quarters") / FOUR)

    @classmethod
    def cost_of_pure_epsilon(cls, epsilon: Decimal) -> Decimal:
        return FOUR * ZCDP.cost_of_pure_epsilon(epsilon)

    @classmethod
    def total_within(cls, epsilon: Decimal, delta: float) -> Decimal | None:
        return FOUR * epsilon_to_zcdp(to_float_down(epsilon), delta) if delta > 0.0 else None

    @classmethod
    def noise_parameter(cls, amount: float) -> float:
        return amount / 4.0

    @classmethod
    def cost_of_noise_parameter(cls, amount: Decimal) -> Decimal:
        return FOUR * amount


@dataclass(frozen=True)
class Softplus(Loss):
    """f(z) = w log(1 + exp(-z/w)), the logistic loss at another width."""

    width: float
    name = "softplus"
    title = "softplus machine"
    is_nonincreasing = True

    def value(self, z: Array) -> Array:
        return np.asarray(self.width * np.logaddexp(0.0, -z / self.width))

    def slope(self, z: Array) -> Array:
        return np.asarray(-expit(-z / self.width))

    def curvature(self, z: Array) -> Array:
        return np.asarray(expit(z / self.width) * expit(-z / self.width) / self.width)

    @property
    def max_curvature(self) -> float:
        return 0.25 / self.width

    def max_squared_slope(self, radius: float) -> float:
        return float(expit(radius / self.width)) ** 2


RHO = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
QUARTERS = QuarterDP(model="2", hessian="1", covariance="1")
EPSILON = PureDP(model="2", hessian="1", covariance="1")
PLAIN = Design(
    loss=Logistic(),
    mechanism="output",
    budget=RHO,
    regularization=C,
    n_records=N,
    calibration="sharp",
)


@pytest.fixture
def further(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line in each registry, taken back afterwards."""
    monkeypatch.setitem(MECHANISMS, Cautious.name, Cautious())
    monkeypatch.setitem(DEFINITIONS, QuarterDP.definition, QuarterDP)
    monkeypatch.setitem(LOSSES, Softplus.name, Softplus)


def table() -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    X = np.c_[rng.uniform(-0.55, 0.55, (N, P - 1)), np.full(N, 0.55)]
    return X, np.where(rng.random(N) < expit(3.0 * X[:, 0]), 1.0, -1.0)


@dataclass(frozen=True)
class Everything:
    """What the three commands say of one design."""

    one: Array
    expected: Array
    variability: Array
    many: ExperimentResult

    @classmethod
    def of(cls, design: Design, n_variability: int = 24, n_coverage: int = 8) -> Everything:
        X, y = table()
        moments = fit_moments(X, y, loss=design.loss, regularization=C)
        seen = forecast(moments, design=design)
        drawn = private_intervals(X, y, design=design, rng=np.random.default_rng(5))
        many = run_experiment(
            X,
            y,
            designs=[design],
            n_variability=n_variability,
            n_coverage=n_coverage,
            rng=np.random.default_rng(6),
        )
        assert drawn.to_record()["mechanism"] == design.mechanism
        kept = ExperimentResult.from_record(many.to_record())
        assert kept.designs[0].design == design
        return cls(np.r_[drawn.low, drawn.high], seen.ci_length, seen.vi_length, many)

    @property
    def numbers(self) -> Array:
        result = self.many.designs[0]
        return np.r_[
            self.one,
            self.expected,
            self.variability,
            result.ci_length,
            result.vi_low,
            result.coverage,
        ]


@pytest.mark.usefixtures("further")
@pytest.mark.parametrize("mechanism", ["objective", "output", "toy_cautious"])
@pytest.mark.parametrize("calibration", ["sharp", "published"])
def test_a_further_definition_runs_as_the_one_it_is_counted_in(
    mechanism: str, calibration: str
) -> None:
    design = replace(PLAIN, mechanism=mechanism, calibration=calibration)
    ours, theirs = Everything.of(replace(design, budget=QUARTERS)), Everything.of(design)
    np.testing.assert_array_equal(ours.numbers, theirs.numbers)
    assert QUARTERS.guarantee(1e-6) == RHO.guarantee(1e-6)
    assert price(Cap.zcdp(2), Cost(definition="quarter", amount="3")) == Decimal("0.75")


@pytest.mark.usefixtures("further")
@pytest.mark.parametrize("budget", [RHO, QUARTERS, EPSILON], ids=["zcdp", "quarter", "pure"])
def test_a_further_mechanism_has_the_noise_it_says(budget: Budget) -> None:
    design = replace(PLAIN, mechanism="toy_cautious", budget=budget)
    found = Everything.of(design, n_variability=1_500, n_coverage=300)
    less = Everything.of(replace(design, mechanism="output"))
    assert (found.variability > 1.3 * less.variability).all()
    result = found.many.designs[0]
    # Quantiles of 1,500 normals at 95 %: 4 standard errors are 13 % of a length.
    np.testing.assert_allclose(result.vi_length, found.variability, rtol=0.13)
    assert abs(result.coverage_mean - 0.95) < 4.0 * max(result.coverage_se, 0.01)
    check_feasible(design, dim=P)
    X, y = table()
    drawn = draw_release(X, y, design=design)
    assert [name for name, _ in drawn.shares.lines] == ["model", "hessian", "covariance"]
    assert np.isfinite(drawn.low).all()


@pytest.mark.usefixtures("further")
@pytest.mark.parametrize("mechanism", ["objective", "output", "toy_cautious"])
def test_a_further_loss_without_a_kernel_gives_the_same_numbers(mechanism: str) -> None:
    design = replace(PLAIN, mechanism=mechanism)
    ours = Everything.of(replace(design, loss=Softplus(width=1.0)))
    theirs = Everything.of(design)
    np.testing.assert_allclose(ours.numbers, theirs.numbers, rtol=2e-5, atol=2e-6)
    wider = Everything.of(replace(design, loss=Softplus(width=2.0)))
    assert not np.allclose(wider.numbers, theirs.numbers, rtol=1e-2)


@pytest.mark.usefixtures("further")
def test_all_three_at_once_are_listed_and_kept_in_files() -> None:
    design = replace(PLAIN, loss=Softplus(width=0.5), mechanism="toy_cautious", budget=QUARTERS)
    made = plain(design)
    assert made["loss"] == {"name": "softplus", "width": 0.5}
    assert design_from(read(Design, made), N) == design
    X, y = table()
    moments = fit_moments(X, y, loss=design.loss, regularization=C)
    ranked = rank_mechanisms(
        moments, epsilon=8, delta="1e-6", regularization=C, calibrations=["sharp"]
    )
    assert {(r.mechanism, r.definition) for r in ranked} == {
        (m, d)
        for m, mechanism in MECHANISMS.items()
        for d, kind in DEFINITIONS.items()
        if not (kind.additive_only and mechanism.perturbs_objective)
    }
    lengths = {(r.mechanism, r.definition): r.forecast.ci_length_mean for r in ranked if r.forecast}
    assert lengths["output", "quarter"] == pytest.approx(lengths["output", "zcdp"], rel=1e-9)
    assert lengths["output", "zcdp"] < lengths["toy_cautious", "zcdp"]
    Everything.of(design)


def test_what_is_in_no_registry_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="mechanism='toy_cautious' to be one of"):
        replace(PLAIN, mechanism="toy_cautious")
    with pytest.raises(
        ValueError, match="budget to be PureDP, ZCDP, GDP or ApproxDP, got QuarterDP"
    ):
        replace(PLAIN, budget=QUARTERS)
    with pytest.raises(ValueError, match="definition='quarter' to be one of 'pure', 'zcdp', 'gdp'"):
        Cap(definition="quarter", amount=Decimal(1))


NAMES = {*MECHANISMS, *DEFINITIONS, *LOSSES, *ESTIMANDS}
CLASSES = {type(made).__name__ for made in (*MECHANISMS.values(), *ESTIMANDS.values())}
CLASSES |= {kind.__name__ for kind in (*DEFINITIONS.values(), *LOSSES.values(), RoundedHinge)}
OWN = {
    "losses.py",
    "privacy/budget.py",
    "intervals/estimands.py",
    *(f"mechanisms/{name}.py" for name in ("mechanism", "objective", "output")),
}
"""Where the names are made."""
LEARNERS = "[CMS] calls its ways of training so, also where a mechanism has the same name"
KERNELS = "compiled code exists for these losses; any other goes through its own methods"
EXCEPTIONS = {
    "tuning/released.py: candidate.learner.method == 'objective'": LEARNERS,
    "tuning/released.py: learner.method == 'output'": LEARNERS,
    "tuning/learners.py: learner.method == 'output'": LEARNERS,
    "solvers/replicates.py: type(loss) is HuberSVM": KERNELS,
    "solvers/replicates.py: type(loss) is Logistic": KERNELS,
    "solvers/replicates.py: type(loss) is SmoothedHinge": KERNELS,
}
"""Each with its reason."""


def branches(source: str) -> Iterator[str]:
    """Comparisons with the name or the class of a mechanism, a definition, a loss or a target."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            parts: list[ast.AST] = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        ):
            parts = list(node.args)
        elif isinstance(node, ast.match_case):
            parts = [node.pattern]
        else:
            continue
        inner = [n for part in parts for n in ast.walk(part)]
        if any(isinstance(n, ast.Constant) and n.value in NAMES for n in inner) or any(
            isinstance(n, ast.Name) and n.id in CLASSES for n in inner
        ):
            yield ast.unparse(node)


def test_no_branch_on_a_name_is_left_outside_the_registries() -> None:
    core = ROOT / "dpci_core"
    found = {
        f"{path.relative_to(core)}: {branch}"
        for path in sorted(core.rglob("*.py"))
        if str(path.relative_to(core)) not in OWN
        for branch in branches(path.read_text())
    }
    assert found == EXCEPTIONS.keys()


def test_no_branch_on_a_name_is_left_in_the_dashboard() -> None:
    for path in sorted((ROOT / "ui").rglob("*.py")):
        assert list(branches(path.read_text())) == [], path.name


def test_the_search_sees_a_branch() -> None:
    for code in (
        'x = 1 if design.mechanism == "objective" else 2',
        'if definition not in ("pure", "zcdp"): pass',
        "isinstance(budget, PureDP | ZCDP)",
        "type(loss) is Logistic",
        "cap.definition == ZCDP.definition",
        'match name:\n    case "huber_svm": pass',
    ):
        assert list(branches(code)), code
    assert not list(branches('x = {"pure": PureDP}; Design(loss=Logistic(), mechanism="output")'))


@pytest.mark.usefixtures("further")
def test_the_dashboard_leaves_alone_what_it_has_no_control_for() -> None:
    """A plan with what is registered and not offered is refused in words."""
    case = make_case(Settings(d=2, n=20_000), TableSource(PUBLIC))
    plan = plan_of(case, "Toys")
    for field, what in (
        ({"mechanism": "toy_cautious"}, "mechanism 'toy_cautious'"),
        ({"budget": QUARTERS}, "privacy definition 'quarter'"),
        ({"loss": Softplus(width=0.5)}, "loss"),
    ):
        strange = replace(plan, design=replace(plan.design, **field))
        with pytest.raises(ValueError, match=f"no control for the {what}"):
            settings_of(strange)
