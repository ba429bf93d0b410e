"""A small data set on a desk of its own: plan, private file, ledger; shared by the tests of the
release.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpci_core import ZCDP, Design, Logistic, PureDP
from dpci_core.ledger import Cap, Ledger
from dpci_core.plan import DeclaredTable, Plan
from dpci_core.release import Release, ReleaseTask, release, release_once, schema_hash
from dpci_core.schema import CategoricalColumn, Guesses, NumericColumn, Schema

SCHEMA = Schema(
    features=(NumericColumn("age", 0, 100), CategoricalColumn("city", ("a", "b"))),
    target="sick",
    positive="yes",
    negative=("no",),
)
PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
RHO = ZCDP(model="0.25", hessian="0.125", covariance="0.125")
N = 200
_numbers = itertools.count()


def make_plan(
    budget: PureDP | ZCDP = PURE,
    *,
    schema: Schema = SCHEMA,
    title: str = "Sickness",
    n: int = N,
    **fields: Any,
) -> Plan:
    """A plan that costs epsilon = 1, or rho = 0.5."""
    settings = {"mechanism": "output", "regularization": 0.05, "calibration": "published"} | fields
    return Plan(
        title=title,
        source=DeclaredTable(schema=schema, guesses=Guesses(n_rows=200)),
        design=Design(loss=Logistic(), budget=budget, **settings, n_records=n),
        delta="1e-6",  # type: ignore[arg-type]
    )


def write_table(path: Path, n: int = N, *, header: str = "age,city,sick,name") -> Path:
    """A table of n rows in which age makes sick."""
    rng = np.random.default_rng(1)
    age = rng.uniform(0, 100, n)
    sick = np.where(rng.random(n) < age / 100, "yes", "no")
    rows = zip(age, rng.choice(["a", "b"], n), sick, strict=True)
    path.write_text("\n".join([header, *(f"{a:.3f},{c},{s},Ada" for a, c, s in rows)]) + "\n")
    return path


@dataclass
class Desk:
    """Where one data set is released from."""

    folder: Path
    plan: Plan
    file: Path
    ledger: Ledger

    @classmethod
    def at(cls, folder: Path, *, plan: Plan | None = None, cap: Cap | None = None) -> Desk:
        """A desk with a file and an account of epsilon = 2, or rho = 1."""
        plan = plan or make_plan()
        ledger = Ledger(folder / "ledger.sqlite")
        default = Cap.pure(2) if plan.design.definition == "pure" else Cap.zcdp(1)
        ledger.create_dataset(
            "Clinic",
            schema_hash=schema_hash(plan.schema),
            cap=cap or default,
            unit="one row is one person",
            person="A",
        )
        return cls(folder, plan, write_table(folder / "table.csv"), ledger)

    def release(self, request: str = "r1", *, to: str = "out", **other: Any) -> Release:
        """The same request unless something is changed."""
        what: dict[str, Any] = {
            "plan": self.plan,
            "file": self.file,
            "ledger": self.ledger,
            "dataset": "Clinic",
            "person": "Ada",
            "request_id": request,
            "folder": self.folder / to,
        }
        what |= other
        return release(what.pop("plan"), what.pop("file"), **what)

    def ask(
        self, asked: ReleaseTask[Any], *, request: str = "", file: Any = None, folder: Any = None
    ) -> Any:
        """The answer to a question of the same people; a new request where none is named."""
        name = request or f"r{next(_numbers)}"
        return release_once(
            asked,
            file or self.file,
            ledger=self.ledger,
            dataset="Clinic",
            person="A",
            request_id=name,
            folder=folder or self.folder / f"out-{name}",
        )

    @property
    def spent(self) -> str:
        """Of the account."""
        return str(self.ledger.account("Clinic").spent)
