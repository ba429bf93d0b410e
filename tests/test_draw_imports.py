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
    import os, sys, tempfile
    from pathlib import Path
    from dpci_core.ledger.ledger import Ledger

    begin, known = Ledger.begin_draw, []

    def begun(self, charge_id):
        found = begin(self, charge_id)
        known.append({name.partition(".")[0] for name in sys.modules})
        return found

    Ledger.begin_draw = begun

    def tell(name, draw):
        if os.fork():  # a child is as a process that has come thus far, and imports by itself
            os.wait()
            return
        try:
            draw(Path(tempfile.mkdtemp()))
            new = {name.partition(".")[0] for name in sys.modules} - known[0]
            print(name, sorted(new), flush=True)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)

    def release(folder):
        from tests.release_example import Desk
        Desk.at(folder).release()

    def linear_release(folder):
        from tests.linear_example import linear_desk
        linear_desk(folder).release()

    tell("release", release)
    tell("linear release", linear_release)

    import numpy as np
    from dpci_core import Cap, LedgerAccount, NumericColumn, PureDP, ZCDP
    from dpci_core import DPLinearRegression, DPLogisticRegression, DPScorecard, DPSelection

    X = np.random.default_rng(0).uniform(size=(400, 2))
    y = (X[:, 0] > 0.5).astype(int)
    logistic = DPLogisticRegression(feature_bounds=(0, 1), classes=(0, 1), regularization=0.1)

    def account_of(folder, cap):
        said = {"schema_hash": "h", "unit": "one row is one person"}
        ledger = Ledger(folder / "ledger.sqlite")
        ledger.create_dataset("People", **said, cap=cap, person="Ada")
        return LedgerAccount(ledger=ledger, dataset="People", person="Kim", **said)

    def fit(folder):
        budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
        logistic.set_params(budget=budget, ledger=account_of(folder, Cap.pure(1000))).fit(X, y)

    def linear_fit(folder):
        DPLinearRegression(
            budget=ZCDP(model="0.5", hessian="0.25", covariance="0.25"),
            outcome=NumericColumn("y", -1, 2),
            feature_typical=0.5,
            feature_spread=0.3,
            ledger=account_of(folder, Cap.zcdp(1000)),
        ).fit(X, X[:, 0])

    def choice(folder):
        candidates = [{"regularization": c} for c in (1.0, 2.0)]
        account = account_of(folder, Cap.pure(1000))
        DPSelection(logistic, candidates, epsilon=1, ledger=account).fit(X, y)

    def card(folder):
        account = account_of(folder, Cap.pure(1000))
        DPScorecard(epsilon=1, classes=(0, 1), at_least=0.5, ledger=account).fit(X, y)

    for draw in (fit, linear_fit, choice, card):
        tell(draw.__name__, draw)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_draw_that_has_begun_imports_no_package() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WATCHED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    kinds = ("release", "linear release", "fit", "linear_fit", "choice", "card")
    assert done.stdout.splitlines() == [f"{kind} []" for kind in kinds], done.stderr
