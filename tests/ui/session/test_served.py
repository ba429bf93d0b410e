"""For whom a page computes: a session that is there, and one large table at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from dpci_core import DeclaredTable, Design, Guesses, Logistic, Moments, PureDP, forecast
from dpci_core.schema import NumericColumn, Schema
from ui.session import compute, served
from ui.session.compute import declared_table, packed_table
from ui.session.quota import most_described

PATIENCE = 60.0
SHELL = Path(__file__).parents[3] / "ui" / "shell.py"


def described(count: int, highest: float = 1.0) -> DeclaredTable:
    columns = tuple(NumericColumn(f"c{i}", 0, highest) for i in range(count))
    return DeclaredTable(schema=Schema(columns, "t", "y"), guesses=Guesses(n_rows=1000))


def forecast_something() -> None:
    moments = Moments(
        theta_hat=np.zeros(2),
        hessian=0.2 * np.eye(2),
        covariance=0.1 * np.eye(2),
        n_records=1000,
        loss=Logistic(),
        regularization=0.01,
    )
    budget = PureDP(model="1", hessian="1", covariance="1")
    design = Design(
        loss=Logistic(), mechanism="output", budget=budget, regularization=0.01, n_records=1_000
    )
    forecast(moments, design=design)


@contextmanager
def somebody_elses(n_features: int) -> Iterator[None]:
    """Another session computes so many features meanwhile."""
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        with served.served(n_features):
            begun.set()
            assert over.wait(PATIENCE)

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_large_tables_are_computed_one_at_a_time(monkeypatch):
    """Small ones beside them; who waits reads why, and a page that was left ends there."""
    said = []

    def caption(words: str) -> None:
        said.append(words)
        raise StopException

    place = SimpleNamespace(caption=caption, empty=lambda: None)
    monkeypatch.setattr(served.st, "empty", lambda: place)
    monkeypatch.setattr(served, "_PATIENCE", 0.01)
    done = []

    def compute_for(n_features: int) -> None:
        with served.served(n_features):
            done.append(n_features)

    with somebody_elses(served.LARGE):
        compute_for(served.LARGE - 1)
        with pytest.raises(StopException):
            compute_for(served.LARGE)
        assert said == [served.WAITING]
    with somebody_elses(served.LARGE - 1):
        compute_for(served.LARGE)
    assert done == [served.LARGE - 1, served.LARGE]


@pytest.fixture
def there(monkeypatch):
    """The sessions with an open page, of which this run's is one."""
    there = {"ada"}
    server = SimpleNamespace(is_active_session=there.__contains__)
    monkeypatch.setattr(served.runtime, "exists", lambda: True)
    monkeypatch.setattr(served.runtime, "get_instance", lambda: server)
    running = SimpleNamespace(session_id="ada")
    monkeypatch.setattr(served, "get_script_run_ctx", lambda **_: running)
    return there


def test_nothing_more_is_computed_for_who_has_left(there, monkeypatch):
    stopped = []
    monkeypatch.setattr(served.st, "stop", lambda: stopped.append(set(there)))
    with served.served(served.LARGE):
        forecast_something()
        there.clear()
        forecast_something()
        pytest.fail("a forecast for nobody")
    assert stopped == [set()]
    with somebody_elses(served.LARGE):
        pass  # the turn is free again


def test_whether_a_page_is_open_can_be_asked_after_its_run(there, monkeypatch):
    is_there = served.presence()
    monkeypatch.setattr(served, "get_script_run_ctx", lambda **_: None)
    assert is_there()
    there.clear()
    assert not is_there()
    assert served.presence()()  # outside of a page nobody can leave


def test_every_page_and_every_move_is_served_so(monkeypatch):
    asked = []

    @contextmanager
    def counted(n_features: int) -> Iterator[None]:
        asked.append(n_features)
        yield

    monkeypatch.setattr("ui.session.served.served", counted)
    monkeypatch.setattr("ui.explore.page.served", counted)
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.query_params.update({"d": "3", "sweep": "d"})
    assert not app.run().exception
    most = compute.most_features(compute.Settings(sweep="d"))
    assert most > 3
    assert asked == [most, most]


def test_a_public_demo_takes_smaller_descriptions(monkeypatch):
    large = described(most_described({"DPCI_PUBLIC_DEMO": "1"}) + 1, highest=2.0)
    packed = packed_table(large)
    monkeypatch.setenv("DPCI_PUBLIC_DEMO", "1")
    assert packed_table(described(most_described()))
    for refused in (lambda: packed_table(large), lambda: declared_table(packed)):
        with pytest.raises(ValueError, match="at most 60 features on this public demo"):
            refused()
    app = AppTest.from_file(SHELL, default_timeout=PATIENCE)
    app.query_params.update({"dataset": "declared", "declared": packed})
    assert not app.run().exception
    assert "declared" in app.warning[0].value
