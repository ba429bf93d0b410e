"""The core by itself: what it does without the packages that extras bring, and what it says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dpci_core
from dpci_core.base.extras import EXTRAS, ExtraNeededError, named_extras

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_PACKAGES = 20
WITHOUT = f"""if True:
    import sys

    for name in {[name for names in EXTRAS.values() for name in names]!r}:
        sys.modules[name] = None  # as if it were not installed
    """


def without_extras(code: str) -> str:
    """What code prints where only the core's own packages are there."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + code.strip("\n")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def needed_by(names: set[str]) -> set[str]:
    """These packages and what they need in turn."""
    found: set[str] = set()
    waiting = {canonicalize_name(name) for name in names}
    while waiting:
        found.add(name := waiting.pop())
        for line in requires(name) or []:
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
                waiting |= {canonicalize_name(wanted.name)} - found
    return found


def test_the_core_is_at_most_twenty_packages() -> None:
    core = {Requirement(line).name for line in PROJECT["dependencies"]}
    found = needed_by(core) | {PROJECT["name"]}
    assert len(core) < len(found) <= MOST_PACKAGES, sorted(found)
    assert not found & {"streamlit", "plotly", "opendp", "pyarrow", "cryptography", "pydantic"}


def test_the_core_plans_and_fits_without_any_extra() -> None:
    printed = without_extras("""
    import numpy as np
    import dpci_core as dp

    table = dp.datasets.load("census", encoding="schema", features=2, n_rows=5_000)
    budget = dp.PureDP(model="0.5", hessian="0.25", covariance="0.25")
    design = dp.Design(
        loss=dp.Logistic(), mechanism="objective", budget=budget, regularization=0.01,
        n_records=5_000, calibration="sharp",
    )
    moments = dp.fit_moments(table.X, table.y, loss=design.loss, regularization=0.01)
    print(dp.forecast(moments, design=design).ci_length_mean > 0)
    print(dp.needed_budget(moments, design=design, target=dp.Target(0.5)).total > 0)
    print(dp.gdp_to_epsilon(0.25, 1e-6) > 2)
    rows = np.random.default_rng(0).uniform(size=(500, 2))
    model = dp.DPLogisticRegression(
        budget=budget, feature_bounds=(0, 1), classes=(0, 1), random_state=0
    )
    print(model.fit(rows, rows[:, 0] > 0.5).coef_.shape)
    """)
    assert printed.split("\n") == ["True", "True", "True", "(1, 2)", ""]


def test_completion_shows_every_name_that_is_there() -> None:
    assert set(dpci_core.__all__) <= set(dir(dpci_core))
    printed = without_extras("""
    import pydoc
    import dpci_core as dp

    shown = dir(dp)
    left = [name for name in dp.__all__ if name not in shown]
    print([name for name in shown if getattr(dp, name, None) is None])
    for name in left:
        try:
            getattr(dp, name)
        except dp.ExtraNeededError:
            continue
        print(f"{name} is there, and not shown")
    print("run_experiment" in shown, "read_plan" in left)
    print("best_standard" in pydoc.render_doc(dp, renderer=pydoc.plaintext))
    """)
    assert printed.split("\n") == ["[]", "True True", "True", ""]


def test_what_is_missing_is_said_with_the_extra_that_brings_it() -> None:
    package_of = {
        "dp.read_plan": "yaml",
        "dp.release": "yaml",
        "DPLogisticRegression(**given).fit(X, [0, 1])": "opendp",
        "DPLogisticRegression(**given).fit('.', 'y')": "pyarrow",
        "dp.datasets.read_upload(b'PAR1', 'a.parquet')": "pyarrow",
    }
    printed = without_extras(f"""
    import dpci_core as dp
    from dpci_core import DPLogisticRegression

    budget, X = dp.PureDP(model="0.5", hessian="0.25", covariance="0.25"), [[0.0], [1.0]]
    given = {{"budget": budget, "feature_bounds": (0, 1)}}
    for call in {[*package_of]}:
        try:
            eval(call)
        except dp.ExtraNeededError as error:
            print(error)
    """)
    assert printed.splitlines() == [
        f"{package} is not installed; get it with `pip install 'dpci[release]'`."
        for package in package_of.values()
    ]


def test_a_draw_without_its_packages_is_refused_before_anything_is_booked() -> None:
    """The extra is asked for where the source is made, and each draw makes it before it books."""
    printed = without_extras("""
    import dpci_core as dp
    from dpci_core.estimators import linear

    linear.drawn_by = lambda *_, **__: print("booked")
    budget = dp.PureDP(model="0.5", hessian="0.25", covariance="0.25")
    for estimator in (dp.DPLogisticRegression, dp.DPLinearSVC):
        try:
            estimator(budget=budget, feature_bounds=(0, 1), classes=(0, 1)).fit([[0.0]], [0])
        except dp.ExtraNeededError:
            print("refused")
    """)
    assert printed == "refused\nrefused\n"


def test_the_command_line_says_what_it_needs() -> None:
    printed = without_extras("""
    import runpy

    sys.argv, sys.stderr = ["dpci", "data", "list"], sys.stdout
    try:
        runpy.run_module("dpci_core", run_name="__main__")
    except SystemExit as end:
        print(end.code)
    """)
    assert re.fullmatch(r"\w+ is not installed; get .*dpci\[release\]'`\.\n1\n", printed), printed


def test_other_missing_packages_are_what_they_are() -> None:
    with pytest.raises(ModuleNotFoundError) as found, named_extras():
        import no_such_package  # noqa: F401
    assert not isinstance(found.value, ExtraNeededError)


def test_every_package_of_an_extra_is_one_that_pyproject_lists() -> None:
    modules = {"yaml": "pyyaml"}
    for extra, names in EXTRAS.items():
        listed = {
            canonicalize_name(Requirement(line).name)
            for line in PROJECT["optional-dependencies"][extra]
        }
        for name in names:
            assert modules.get(name, name) in listed | {"distributed"}
