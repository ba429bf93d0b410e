"""A private fit in OpenDP's Context, beside a sum."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import opendp.prelude as dp
import pytest

from dpci_core import ZCDP, ApproxDP, DPLinearSVC, DPLogisticRegression, PureDP
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.estimators import make_private_fit

N = 400
DOMAIN = {"T": float, "size": N, "num_columns": 3, "nan": False}
PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
CONCENTRATED = ZCDP(model="0.2", hessian="0.1", covariance="0.1")


@pytest.fixture(autouse=True)
def features():
    dp.enable_features("contrib", "honest-but-curious")
    yield
    dp.disable_features("contrib", "honest-but-curious")


def domain(**other: object):
    return dp.numpy.array2_domain(**{**DOMAIN, **other})


def model(kind=DPLogisticRegression, **settings: object):
    declared = {"feature_typical": [60, 1], "feature_spread": [15, 0.7], "budget": PURE}
    return kind(**{**declared, **settings})


def table() -> np.ndarray:
    rng = np.random.default_rng(1)
    age, dose = rng.normal(60, 15, N), rng.gamma(2, 0.5, N)
    return np.c_[age, dose, rng.random(N) < 1 / (1 + np.exp(2.1 - 0.04 * age + 0.8 * dose))]


def column(input_domain, input_metric, index):
    """One column of an array as OpenDP's own queries take it."""
    numbers = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=N)
    return dp.t.make_user_transformation(
        input_domain,
        input_metric,
        numbers,
        input_metric,
        lambda a: a[:, index].tolist(),
        lambda d: d,
    )


def test_a_context_counts_a_sum_and_a_fit_and_then_refuses_both() -> None:
    dp.register(make_private_fit)
    dp.register(column, "column")
    context = dp.Context.compositor(
        data=table(),
        privacy_unit=(dp.symmetric_distance(), 2),  # one record replaced
        privacy_loss=dp.loss_of(epsilon=1.5),
        split_by_weights=[1, 2],
        domain=domain(),
    )
    total = context.query().column(0).clamp((0.0, 120.0)).sum().laplace().release()
    assert total / N == pytest.approx(table()[:, 0].mean(), abs=12.0)
    fitted = context.query().private_fit(model()).release()
    assert fitted.conf_int().shape == (3, 2)
    assert (fitted.privacy_.noise, list(fitted.classes_)) == ("system", [False, True])
    with pytest.raises(ValueError, match="exhausted"):
        context.query().private_fit(model())
    smaller = dp.Context.compositor(
        data=table(),
        privacy_unit=(dp.symmetric_distance(), 2),
        privacy_loss=dp.loss_of(epsilon=0.999),
        split_evenly_over=1,
        domain=domain(),
    )
    with pytest.raises(Exception, match=r"d_out|insufficient|0\.999"):
        smaller.query().private_fit(model()).release()


@pytest.mark.parametrize("kind", [DPLogisticRegression, DPLinearSVC])
@pytest.mark.parametrize(
    ("budget", "losses"), [(PURE, [0, 1, 2, 3]), (CONCENTRATED, [0, 0.4, 1.6, 3.6])]
)
def test_the_loss_is_the_budget_of_a_record_and_that_of_a_group(kind, budget, losses) -> None:
    fit = make_private_fit(domain(), dp.change_one_distance(), model(kind, budget=budget))
    symmetric = make_private_fit(domain(), dp.symmetric_distance(), model(kind, budget=budget))
    for records, loss in enumerate(losses):
        assert fit.map(records) == pytest.approx(loss, abs=0, rel=1e-15)
        assert Decimal(fit.map(records)) >= budget.total * Decimal(str(loss / losses[1]))
        # an odd distance is one that tables of n records do not have: counted as the next even one
        assert symmetric.map(2 * records) == fit.map(records)
        assert symmetric.map(max(2 * records - 1, 0)) == fit.map(records)


def test_no_cell_makes_it_refuse_a_table() -> None:
    fit = make_private_fit(domain(), dp.change_one_distance(), model())
    hostile = table()
    hostile[:6, 0] = [np.inf, -np.inf, np.nan, 1.8e308, -1.8e308, 5e-324]
    hostile[:4, 2] = [np.nan, np.inf, -1.0, 2.0]
    for cells in (hostile, np.full((N, 3), np.inf), np.zeros((N, 3)), np.full((N, 3), np.nan)):
        assert np.isfinite(fit(cells).coef_).all()


def test_only_ones_are_true() -> None:
    fit = make_private_fit(domain(), dp.change_one_distance(), model(budget=_wide()))
    cells = table()
    other = cells.copy()
    other[:, 2] = np.where(cells[:, 2] == 1.0, 1.0, np.nan)
    for found in (fit(cells), fit(other)):
        assert found.coef_[0, 0] > 0.0 > found.coef_[0, 1]


def _wide() -> PureDP:
    return PureDP(model="50", hessian="50", covariance="50")


@pytest.mark.parametrize(
    ("estimator", "problem"),
    [
        (
            model(budget=ApproxDP(epsilon="1", delta="1e-6", shares=("0.5", "0.25", "0.25"))),
            "PureDP or ZCDP",
        ),
        (model(random_state=3), "random_state"),
        (model(classes=(0, 1)), "classes"),
        (model(feature_typical=[1, 2, 3], feature_spread=[1, 1, 1]), "feature_typical"),
        (object(), "object"),
    ],
)
def test_what_it_cannot_promise_is_refused_before_a_table_is_seen(estimator, problem) -> None:
    with pytest.raises(ValueError, match=problem):
        make_private_fit(domain(), dp.change_one_distance(), estimator)


def test_a_design_that_cannot_run_is_refused_before_a_table_is_seen() -> None:
    with pytest.raises(InfeasibleDesignError):
        make_private_fit(domain(), dp.change_one_distance(), model(regularization=1e-9))


@pytest.mark.parametrize(
    "wrong",
    [
        dp.vector_domain(dp.atom_domain(T=float)),
        domain(size=None),
        domain(num_columns=None),
        domain(num_columns=1),
        domain(nan=True),
        domain(T=int),
    ],
)
def test_another_domain_is_refused(wrong) -> None:
    with pytest.raises(ValueError, match="input_domain"):
        make_private_fit(wrong, dp.change_one_distance(), model())


def test_another_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="input_metric"):
        make_private_fit(domain(), dp.absolute_distance(T=float), model())
