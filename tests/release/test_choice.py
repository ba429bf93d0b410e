"""The release of what is chosen privately: booked before anything is read, one line, drawn once,
nothing but the result leaves.
"""

from __future__ import annotations

import json
import os
import signal
import struct
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from dpci_core import DataRejectedError
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.cli.main import main
from dpci_core.design import Geometry
from dpci_core.ledger import BudgetExceededError, Cap
from dpci_core.plan import write_plan
from dpci_core.release import (
    HistogramChoice,
    ModelChoice,
    ReleaseFailedError,
    ReleaseLostError,
    ReleaseRefusedError,
    load_choice,
    load_release,
    once,
    read_header,
)
from dpci_core.schema import NumericColumn
from tests.release.test_standard import PLAN as STANDARD_PLAN
from tests.release_desk import SCHEMA, Desk, make_plan


def histogram(desk: Desk, **given) -> HistogramChoice:
    return HistogramChoice.make(desk.plan, "age", **{"epsilon": "0.5", "bins": (4, 8, 16)} | given)


def model(desk: Desk, **given) -> ModelChoice:
    return ModelChoice.make(desk.plan, **{"epsilon": "0.5", "penalties": (0.05, 0.5)} | given)


def released(desk: Desk, asked=None, **given):
    return desk.ask(histogram(desk) if asked is None else asked, **given)


def test_a_histogram_is_released_for_one_line(desk: Desk) -> None:
    made = released(desk, request="one")
    charge = desk.ledger.find("one")
    assert charge.result_hash
    assert [(name, str(amount)) for name, amount in charge.cost.lines] == [("histogram", "0.5")]
    assert desk.spent == "0.5"
    assert made.chosen in (4.0, 8.0, 16.0)
    assert len(made.counts) == int(made.chosen) == len(made.edges) - 1
    assert (made.edges[0], made.edges[-1]) == (0.0, 100.0)
    assert made.n_records == 200
    assert made.n_train + made.n_validation == 200
    assert all(0 <= count <= made.n_train for count in made.counts)
    folder = desk.folder / "out-one"
    assert {path.name for path in folder.iterdir()} == {
        "choice.json", "histogram.csv", "report.md", "plan.yaml", "signature.json",
    }  # fmt: skip
    assert load_choice(folder) == made
    assert "scores are not released" in (folder / "report.md").read_text()
    with pytest.raises(OSError, match=r"release\.json"):
        load_release(folder)


def test_a_histogram_of_a_column_whose_logarithm_is_meant_is_of_its_own_values(
    tmp_path: Path,
) -> None:
    age = NumericColumn("age", 1, 100, transform="log")
    schema = replace(SCHEMA, features=(age, *SCHEMA.features[1:]))
    desk = Desk.at(tmp_path, plan=make_plan(schema=schema))
    made = released(desk, histogram(desk, bins=(4,), epsilon="2"))
    assert made.edges == (1.0, 25.75, 50.5, 75.25, 100.0)
    assert sum(made.counts) > 100


def test_a_model_is_released_for_one_line(desk: Desk) -> None:
    made = released(desk, model(desk), request="m")
    charge = desk.ledger.find("m")
    assert [name for name, _ in charge.cost.lines] == ["model and choice"]
    assert made.chosen in (0.05, 0.5)
    assert len(made.coefficients) == len(made.names) == len(desk.plan.names)
    grid = np.array(made.coefficients) * 2.0**30
    assert np.array_equal(grid, np.round(grid))
    assert "coefficient,released" in (desk.folder / "out-m" / "model.csv").read_text()


def test_counts_are_those_of_the_file_but_for_their_noise(desk: Desk) -> None:
    ages = [float(row.split(",")[0]) for row in desk.file.read_text().splitlines()[1:]]
    (desk.folder / "sure").mkdir()
    other = Desk.at(desk.folder / "sure", cap=Cap.pure("1000000"))
    made = released(other, histogram(other, epsilon="500000", bins=(5,)))
    truth = np.histogram(ages, bins=5, range=(0, 100))[0]
    assert list(made.counts) == truth.tolist()


def test_booked_before_a_row_is_read_and_never_drawn_twice(desk: Desk, monkeypatch) -> None:
    order: list[str] = []
    book, draw = desk.ledger.book, HistogramChoice.draw
    monkeypatch.setattr(
        type(desk.ledger), "book", lambda self, *a, **k: order.append("book") or book(*a, **k)
    )
    monkeypatch.setattr(
        HistogramChoice, "draw", lambda self, *a: order.append("draw") or draw(self, *a)
    )
    first = released(desk, request="again", folder=desk.folder / "x")
    assert order == ["book", "draw"]
    assert released(desk, request="again", folder=desk.folder / "x") == first
    assert order == ["book", "draw"]
    assert desk.spent == "0.5"
    with pytest.raises(ReleaseLostError):
        released(desk, request="again", folder=desk.folder / "elsewhere")
    with pytest.raises(ReleaseRefusedError):
        released(desk, histogram(desk, bins=(4, 8)), request="again", folder=desk.folder / "x")


def test_a_failure_after_booking_stays_spent_and_says_nothing(desk: Desk, monkeypatch) -> None:
    def broken(self, header, begin):
        raise ValueError("7351946")

    monkeypatch.setattr(HistogramChoice, "draw", broken)
    with pytest.raises(ReleaseFailedError) as caught:
        released(desk)
    text = "".join(map(str, (caught.value, caught.value.__cause__, caught.value.__context__)))
    assert "7351946" not in text
    assert desk.spent == "0.5"


def test_too_few_rows_cost_nothing(desk: Desk) -> None:
    short = desk.folder / "short.csv"
    short.write_text("age,city,sick\n3,a,yes\n")
    with pytest.raises(ValueError, match="1"):
        released(desk, file=short)
    assert desk.spent == "0"


def test_bad_cells_are_counted_as_declared(desk: Desk) -> None:
    odd = desk.folder / "odd.csv"
    cells = ["x", "", "1e999", "-5", "50"] * 40
    odd.write_text("age,city\n" + "".join(f"{cell},a\n" for cell in cells))
    made = released(desk, file=odd)
    assert made.n_records == 200


def test_what_is_refused_before_booking(desk: Desk) -> None:
    with pytest.raises(ValueError, match="a number that the plan declares"):
        HistogramChoice.make(desk.plan, "city", epsilon=1, bins=(4,))
    with pytest.raises(ValueError, match="twice"):
        histogram(desk, bins=(4, 4))
    with pytest.raises(ValueError, match="repeats"):
        model(desk, penalties=(0.05, 0.05))
    with pytest.raises(ValueError, match="epsilon"):
        histogram(desk, epsilon="0")
    with pytest.raises(ValueError, match="n=200"):
        released(desk, histogram(desk, validation_share="0.001"))
    with pytest.raises(BudgetExceededError):
        released(desk, histogram(desk, epsilon="2.01"))
    other = desk.folder / "other.csv"
    other.write_text("city,sick\na,yes\n")
    with pytest.raises(DataRejectedError):
        released(desk, file=other)
    with pytest.raises(InfeasibleDesignError):
        released(desk, model(desk, penalties=(1e-10, 1.0)))
    assert desk.spent == "0"


def test_a_zcdp_account_pays_half_the_square(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path, cap=Cap.zcdp(1))
    released(desk)
    assert desk.spent == "0.125"


def test_a_record_is_checked_when_it_is_read(desk: Desk) -> None:
    released(desk, request="c")
    path = desk.folder / "out-c" / "choice.json"
    record = json.loads(path.read_text())
    for broken in ({**record, "counts": "many"}, {**record, "extra": 1}, {"kind": "model"}):
        path.write_text(json.dumps(broken))
        with pytest.raises(ValueError, match=r"counts|extra|missing"):
            load_choice(path)
    for field, other in (
        ("kind", "both"), ("kind", "model"), ("edges", [0.0, 1.0]), ("names", ["age"]),
        ("counts", []),
    ):  # fmt: skip
        path.write_text(json.dumps({**record, field: other}))
        with pytest.raises(ValueError, match=r"kind|edges|names"):
            load_choice(path)
    with pytest.raises(ReleaseRefusedError):
        released(desk, request="c", folder=desk.folder / "out-c")


def test_the_released_bins_have_the_law_of_the_choice(desk: Desk, monkeypatch) -> None:
    # Two candidates of equal scores are chosen equally often; the division is drawn anew each time.
    from dpci_core.tuning import histograms

    monkeypatch.setattr(histograms, "histogram_score", lambda *_, **__: -0.5)
    header = read_header(desk.file)
    asked = histogram(desk, bins=(4, 8))
    found = [asked.draw(header, lambda: None).chosen for _ in range(400)]
    assert binomtest(found.count(4.0), 400).pvalue > 1e-9
    assert set(found) == {4.0, 8.0}


def test_nothing_but_the_result_is_in_the_folder(desk: Desk) -> None:
    made = released(desk, model(desk), request="leak")
    text = "".join(path.read_text() for path in (desk.folder / "out-leak").iterdir())
    assert "Ada" not in text
    numbers = [n for n in vars(type(made)) if "score" in n or "mistakes" in n]
    assert not numbers
    record = json.loads((desk.folder / "out-leak" / "choice.json").read_text())
    lists = [key for key, value in record.items() if isinstance(value, list)]
    assert set(lists) == {"candidates", "edges", "counts", "names", "coefficients", "assumptions"}
    assert record["counts"] == []


def test_a_model_is_chosen_in_the_plain_encoding_and_metric_only(desk: Desk) -> None:
    with pytest.raises(ValueError, match="scaled by their bounds"):
        ModelChoice.make(STANDARD_PLAN, epsilon=1, penalties=(0.1, 1.0))
    assert HistogramChoice.make(STANDARD_PLAN, "cost", epsilon=1, bins=(8,)).kind == "histogram"
    budget = replace(desk.plan.design.budget, metric="0.1")
    shaped = make_plan(budget, mechanism="objective", geometry=Geometry(ridge=0.03, leverage=20))
    with pytest.raises(ValueError, match="without a geometry"):
        ModelChoice.make(shaped, epsilon=1, penalties=(0.1, 1.0))


PLANTED = 0.123456789012345
STAGES = (
    "before booking", "booked", "read", "begun", "drawn", "wrote choice.json",
    "wrote histogram.csv", "wrote report.md", "wrote plan.yaml",
    "wrote signature.json", "renamed", "written", "finished",
)  # fmt: skip


def test_the_stages_are_those_of_every_release(desk: Desk, monkeypatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(once, "reached", seen.append)
    released(desk)
    assert seen == list(STAGES)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX")
def test_killed_anywhere_it_leaves_no_score_and_is_never_drawn_again(
    desk: Desk, monkeypatch
) -> None:
    from dpci_core.tuning import histograms

    rich = Desk.at(make_folder(desk.folder / "rich"), cap=Cap.pure(20))
    monkeypatch.setattr(histograms, "histogram_score", lambda *_, **__: PLANTED)
    released(rich, request="warm")  # imports what is imported late
    for stage in STAGES:
        child = os.fork()
        if not child:
            once.reached = lambda at, stage=stage: (
                at == stage and os.kill(os.getpid(), signal.SIGKILL)
            )
            try:
                released(rich, request=stage)
            finally:
                os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), stage
        charge, place = rich.ledger.find(stage), rich.folder / f"out-{stage}"
        had = load_choice(place) if place.exists() else None
        assert (had is None) or (charge is not None and charge.charge_id == had.charge_id)
        for _ in range(2):
            if charge is not None and not charge.may_go_on and had is None:
                with pytest.raises(ReleaseLostError):
                    released(rich, request=stage)
            else:
                found = released(rich, request=stage)
                assert had in (None, found)
                had = found
    assert rich.spent == str(Decimal("0.5") * (1 + len(STAGES)))
    assert rich.ledger.verify().is_good
    for path in rich.folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for form in (b"0.12345678", struct.pack("<d", PLANTED), struct.pack(">d", PLANTED)):
            assert form not in content, path


def make_folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize("stage", ["read", "begun", "drawn", "wrote choice.json"])
def test_what_breaks_in_the_middle_says_nothing(desk: Desk, monkeypatch, stage, capfd) -> None:
    from dpci_core.tuning import histograms

    monkeypatch.setattr(histograms, "histogram_score", lambda *_, **__: PLANTED)

    def fail(at: str) -> None:
        if at == stage:
            raise ValueError(f"the score was {PLANTED}")

    monkeypatch.setattr(once, "reached", fail)
    with pytest.raises(ReleaseFailedError) as caught:
        released(desk, request="broken")
    error = caught.value
    told = "".join(map(str, (error, repr(error), vars(error), error.__cause__, error.__context__)))
    told += str(desk.ledger.find("broken")) + "".join(capfd.readouterr())
    assert "0.1234" not in told
    frames, trace = [], error.__traceback__
    while trace:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    locals_of = [f for f in frames if "/dpci_core/tuning/" in f.f_code.co_filename]
    assert not locals_of  # nobody who keeps the error keeps records or scores with it


# --- the command line -----------------------------------------------------------------------------


def command(desk: Desk, *options: str) -> int:
    path = desk.folder / "plan.yaml"
    if not path.exists():
        write_plan(desk.plan, path)
    ledger = str(desk.folder / "ledger.sqlite")
    return main(["release", str(path), "--ledger", ledger, *options])


def test_the_command_releases_a_histogram(desk: Desk, capsys) -> None:
    asked = ("--histogram", "age", "--bins", "4", "8", "--epsilon", "0.5")
    place = ("--file", str(desk.file), "--dataset", "Clinic", "--folder", str(desk.folder / "h"))
    assert command(desk, *asked, "--check", *place[:4]) == 0
    assert "costs epsilon 0.5" in capsys.readouterr().out
    assert desk.spent == "0"
    assert command(desk, *asked, *place) == 1
    assert "--confirm" in capsys.readouterr().err
    assert command(desk, *asked, *place, "--confirm", "Clinic") == 0
    assert "from,to,noisy count,share" in capsys.readouterr().out
    assert desk.spent == "0.5"
    assert load_choice(desk.folder / "h").kind == "histogram"


def test_the_command_releases_a_chosen_model(desk: Desk, capsys) -> None:
    place = ("--file", str(desk.file), "--dataset", "Clinic", "--confirm", "Clinic")
    asked = ("--penalties", "0.05", "0.5", "--epsilon", "0.25", "--json")
    assert command(desk, *asked, *place, "--folder", str(desk.folder / "m")) == 0
    out = capsys.readouterr().out
    assert json.loads(out[out.index("{") :])["kind"] == "model"


def test_what_the_command_refuses(desk: Desk, capsys) -> None:
    for options, words in (
        (("--histogram", "age"), "--epsilon"),
        (("--histogram", "age", "--penalties", "1", "--epsilon", "1"), "one of --histogram"),
        (("--histogram", "name", "--epsilon", "1"), "declares age"),
        (("--histogram", "age", "--epsilon", "x"), "epsilon"),
        (("--histogram", "age", "--epsilon", "1"), "--file"),
    ):
        assert command(desk, *options) == 1
        assert words in capsys.readouterr().err
    assert desk.spent == "0"


def test_a_plan_is_digested_with_what_is_asked() -> None:
    plan = make_plan()
    base = HistogramChoice.make(plan, "age", epsilon="0.5", bins=(4, 8))
    others = [
        HistogramChoice.make(plan, "age", epsilon="0.5", bins=(8, 4)),
        HistogramChoice.make(plan, "age", epsilon="0.6", bins=(4, 8)),
        HistogramChoice.make(plan, "age", epsilon="0.5", bins=(4, 8), validation_share="0.2"),
        ModelChoice.make(plan, epsilon="0.5", penalties=(4.0, 8.0)),
        HistogramChoice.make(make_plan(title="Other"), "age", epsilon="0.5", bins=(4, 8)),
    ]
    assert len({base.digest, *(one.digest for one in others)}) == 6
    assert base.digest == HistogramChoice.make(plan, "age", epsilon="0.50", bins=(4, 8)).digest
