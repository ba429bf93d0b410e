"""A draw that has begun imports no package for the first time. An import searches `sys.path`, from
which Streamlit takes an entry when a script ends elsewhere: it could fail, and the charge be lost.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WATCHED = """if True:
    import sys, tempfile
    from pathlib import Path
    from dpci_core.ledger.ledger import Ledger

    begin, known = Ledger.begin_draw, []

    def begun(self, charge_id):
        found = begin(self, charge_id)
        known.append(set(sys.modules))
        return found

    Ledger.begin_draw = begun
    folder = Path(tempfile.mkdtemp())
"""
FIT = """
    import numpy as np
    from dpci_core import Cap, LedgerAccount, NumericColumn, PureDP, ZCDP
    from dpci_core import DPLinearRegression, DPLogisticRegression, DPScorecard, DPSelection

    said = {"schema_hash": "h", "unit": "one row is one person"}
    ledger = Ledger(folder / "ledger.sqlite")
    ledger.create_dataset("People", **said, cap=Cap.CAP(1000), person="Ada")
    account = LedgerAccount(ledger=ledger, dataset="People", person="Kim", **said)
    X = np.random.default_rng(0).uniform(size=(400, 2))
    y = (X[:, 0] > 0.5).astype(int)
    logistic = DPLogisticRegression(feature_bounds=(0, 1), classes=(0, 1), regularization=0.1)
"""
DRAWS = {
    "release": """
    from tests.release_example import Desk
    Desk.at(folder).release()
    """,
    "linear release": """
    from tests.linear_example import linear_desk
    linear_desk(folder).release()
    """,
    "fit": FIT.replace("CAP", "pure")
    + """
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    logistic.set_params(budget=budget, ledger=account).fit(X, y)
    """,
    "linear fit": FIT.replace("CAP", "zcdp")
    + """
    DPLinearRegression(
        budget=ZCDP(model="0.5", hessian="0.25", covariance="0.25"),
        outcome=NumericColumn("y", -1, 2),
        feature_typical=0.5,
        feature_spread=0.3,
        ledger=account,
    ).fit(X, X[:, 0])
    """,
    "choice": FIT.replace("CAP", "pure")
    + """
    candidates = [{"regularization": c} for c in (1.0, 2.0)]
    DPSelection(logistic, candidates, epsilon=1, ledger=account).fit(X, y)
    """,
    "card": FIT.replace("CAP", "pure")
    + """
    DPScorecard(epsilon=1, classes=(0, 1), at_least=0.5, ledger=account).fit(X, y)
    """,
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_that_has_begun_imports_no_package(name: str) -> None:
    told = """
    new = {name.partition(".")[0] for name in set(sys.modules) - known[0]}
    print(sorted(new - {name.partition(".")[0] for name in known[0]}))
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WATCHED + DRAWS[name].strip("\n") + told],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
