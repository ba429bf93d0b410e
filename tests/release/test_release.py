"""The release as a whole: what it does in which order, what it refuses, what it writes, and how it
is read again.
"""

from __future__ import annotations

import copy
import csv
import errno
import io
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpci_core
from dpci_core import HuberSVM, InfeasibleDesignError, load_release
from dpci_core.__main__ import main
from dpci_core.base.errors import BudgetExceededError, DataRejectedError, LedgerError
from dpci_core.base.extras import ExtraNeededError
from dpci_core.cli import release as cli
from dpci_core.ledger import (
    DrawBegunError,
    Ledger,
    RecordedHead,
    SchemaChangedError,
    UnknownDatasetError,
)
from dpci_core.ledger.draw import is_drawing, wait_for_draws
from dpci_core.plan import read_plan, write_plan
from dpci_core.release import (
    PlanRelease,
    RecordError,
    ReleaseFailedError,
    ReleaseLostError,
    ReleasePausedError,
    ReleaseRefusedError,
    ReleaseUnfinishedError,
    once,
    price_of,
    read_header,
    run,
    schema_hash,
)
from dpci_core.release.report import guarantee_sentence, risk_sentence
from dpci_core.report.refusals import said
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    RecordMapper,
    Schema,
    StandardEncoding,
)
from tests.refusals import refuses
from tests.release_example import PURE, RHO, SCHEMA, Desk, make_plan, write_table

FILES = {
    "release.json",
    "intervals.csv",
    "report.html",
    "model_card.md",
    "evaluation.md",
    "deployment.yaml",
    "plan.yaml",
    "after.ipynb",
    "signature.json",
}


# --- what a release does --------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "zcdp"])
def test_it_books_draws_writes_and_notes(tmp_path: Path, budget, mechanism) -> None:
    desk = Desk.at(tmp_path, plan=make_plan(budget, mechanism=mechanism))
    made = desk.release()
    charge = desk.ledger.find("r1")
    assert charge is not None
    assert charge.state == "done"
    assert desk.ledger.remaining("Clinic") == desk.plan.design.budget.total
    assert charge.plan_hash == desk.plan.digest
    assert dict(charge.cost.lines) == {k: Decimal(v) for k, v in made.guarantee.lines.items()}
    assert sum(map(Decimal, made.guarantee.lines.values())) == desk.plan.design.budget.total
    assert ("inexact minimiser" in made.guarantee.lines) == (mechanism == "objective")
    folder = tmp_path / "out"
    assert {path.name for path in folder.iterdir()} == FILES
    assert read_plan(folder / "plan.yaml") == desk.plan
    assert made.ledger_head.startswith(f"{charge.charge_id}:")
    assert (
        load_release(folder).to_dict()
        == made.to_dict()
        == json.loads((folder / "release.json").read_text())
    )
    assert desk.ledger.verify().is_good
    assert made.n_records == 200
    assert [c.name for c in made.coefficients] == ["age", "city=b", "constant"]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The path of every text, number and switch of a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else None
    )
    if inner is None:
        yield path
        return
    for key, item in inner:
        yield from leaves(item, (*path, key))


def edited(plain: dict, path: tuple[object, ...]) -> bytes:
    """The JSON with one value changed as little as can be."""
    changed = copy.deepcopy(plain)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    if isinstance(old, bool) or old is None:
        place[path[-1]] = not old
    elif isinstance(old, float):
        place[path[-1]] = math.nextafter(old, math.inf)
    else:
        place[path[-1]] = old + 1 if isinstance(old, int) else f"{old} "
    return (json.dumps(changed, indent=1, ensure_ascii=False) + "\n").encode()


def test_an_edited_record_is_found_whatever_was_edited(desk: Desk) -> None:
    desk.release()
    content = (desk.folder / "out" / "release.json").read_bytes()
    plain = json.loads(content)
    paths = [path for path in leaves(plain) if path != ("ledger", "head")]
    assert {
        ("coefficients", 0, "scaled", "low"),
        ("guarantee", "epsilon"),
        ("n_records", "actual"),
    } <= set(paths)
    copies = [edited(plain, path) for path in paths]
    copies += [
        content[:-1],
        json.dumps(plain).encode(),
        json.dumps({"ledger": plain["ledger"]}).encode(),
    ]
    assert content not in copies
    found = desk.ledger.verify(
        [RecordedHead.from_content(c, source=f"copy {i}") for i, c in enumerate(copies)]
    )
    assert (found.problems, found.is_good) == ((), False)
    assert [problem.facts["source"] for problem in found.record_problems] == [
        f"copy {i}" for i in range(len(copies))
    ]
    assert f"{len(copies)} of the {len(copies)} given records are NOT what was released" in said(
        found.verdict
    )
    assert desk.ledger.verify([RecordedHead.from_content(content, source="itself")]).is_good
    swapped = content.replace(plain["ledger"]["head"].encode(), desk.ledger.head().encode())
    assert not desk.ledger.verify([RecordedHead.from_content(swapped, source="swapped")]).is_good


def test_a_record_whose_charge_has_no_result_yet_is_not_vouched_for(
    desk: Desk, monkeypatch
) -> None:
    def stop(self: Ledger, charge_id: int, *, result_hash: str) -> None:
        raise LedgerError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "finish", stop)
        with pytest.raises(ReleaseUnfinishedError):
            desk.release()
    record = RecordedHead.from_record(desk.folder / "out" / "release.json")
    found = desk.ledger.verify([record])
    assert not found.is_good
    assert "make the same request again" in said(found.record_problems[0])
    desk.release()
    assert desk.ledger.verify([record]).is_good


def test_the_command_finds_an_edited_record(desk: Desk, capsys) -> None:
    desk.release()
    record = desk.folder / "out" / "release.json"
    command = ["ledger", "verify", "--ledger", str(desk.ledger.path), "--against", str(record)]
    record.write_text(record.read_text().replace('"actual": 200', '"actual": 201'))
    assert main(command) == 1
    assert "is not what was released" in capsys.readouterr().out
    assert main([*command, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["is_good"], said["problems"], len(said["record_problems"])) == (False, [], 1)


def test_intervals_in_original_units_are_those_of_the_map(desk: Desk) -> None:
    made = desk.release()
    L = RecordMapper(SCHEMA).to_original
    np.testing.assert_allclose(
        [c.original.estimate for c in made.coefficients], L @ made.theta, rtol=1e-12
    )
    age = made.coefficients[0]
    assert age.original.length == pytest.approx(L[0, 0] * age.scaled.length, rel=1e-9)
    assert age.planned_original == pytest.approx(L[0, 0] * age.planned_scaled, rel=1e-9)


def test_the_guarantee_in_numbers(tmp_path: Path) -> None:
    (tmp_path / "pure").mkdir()
    (tmp_path / "zcdp").mkdir()
    pure = Desk.at(tmp_path / "pure").release().guarantee
    assert (pure.definition, pure.amount, pure.epsilon, pure.delta, pure.rho) == (
        "pure",
        "1",
        1.0,
        0.0,
        "0.5",
    )
    rho = Desk.at(tmp_path / "zcdp", plan=make_plan(RHO)).release().guarantee
    assert (rho.definition, rho.amount, rho.rho, rho.delta) == ("zcdp", "0.5", "0.5", 1e-6)
    assert rho.epsilon == dpci_core.zcdp_to_epsilon(0.5, 1e-6)


def test_things_happen_in_order(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(once, "reached", seen.append)
    desk.release()
    written = [
        f"wrote {name}"
        for name in (
            "release.json",
            "intervals.csv",
            "report.html",
            "model_card.md",
            "evaluation.md",
            "deployment.yaml",
            "plan.yaml",
            "after.ipynb",
            "signature.json",
        )
    ]
    assert seen == [
        "before booking",
        "booked",
        "read",
        "begun",
        "drawn",
        *written,
        "renamed",
        "written",
        "finished",
    ]


@pytest.mark.parametrize("left", [0, 199, 201])
def test_rows_are_read_after_the_charge_and_are_as_many_as_were_counted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    def check(stage: str) -> None:
        if stage == "before booking":  # whatever was read before would still be in memory
            write_table(desk.file, left)

    monkeypatch.setattr(once, "reached", check)
    with refuses(ReleaseFailedError, match="has changed"):
        desk.release()
    assert desk.ledger.find("r1").state == "failed"


def test_before_the_charge_rows_are_counted_and_no_cell_is_mapped(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    original = RecordMapper.records_of

    def records_of(self: RecordMapper, cells: dict[str, list[object]]) -> object:
        seen.append("mapped")
        return original(self, cells)

    monkeypatch.setattr(RecordMapper, "records_of", records_of)
    monkeypatch.setattr(once, "reached", seen.append)
    assert desk.release().n_records == 200
    assert seen[:3] == ["before booking", "booked", "mapped"]


@pytest.mark.parametrize(
    ("n", "is_refused"), [(179, True), (180, False), (220, False), (221, True)]
)
def test_another_number_of_rows_than_declared_is_refused_before_anything_is_spent(
    desk: Desk, n: int, is_refused: bool
) -> None:
    write_table(desk.file, n)
    frame = desk.folder / "t.parquet"
    pd.read_csv(desk.file).to_parquet(frame)
    if not is_refused:
        assert desk.release().n_records == n
        return
    for file in (desk.file, frame):
        with refuses(ReleaseRefusedError, match=rf"rows is {n},.*declares 200.*180 to 220"):
            desk.release(file=file)
    assert desk.ledger.history() == ()
    wide = replace(desk.plan, n_tolerance=0.2)
    assert desk.release(plan=wide).n_records == n


def test_a_quotation_mark_that_swallows_rows_is_found_before_anything_is_spent(desk: Desk) -> None:
    lines = desk.file.read_text().splitlines()
    age, rest = lines[51].split(",", 1)
    lines[51] = f'"{age},{rest}'
    desk.file.write_text("\n".join(lines) + "\n")
    with refuses(ReleaseRefusedError, match=r"rows is 51,.*quotation mark.*never closed"):
        desk.release()
    assert desk.ledger.history() == ()


def test_what_the_number_of_rows_rules_out_is_refused_before_booking(desk: Desk) -> None:
    """A Parquet file states it beside its names; a CSV file that ends with its header has none."""
    frame, file = pd.read_csv(desk.file), desk.folder / "t.parquet"
    frame.iloc[:0].to_parquet(file)
    with refuses(DataRejectedError, match=r"no rows\. Nothing was booked"):
        desk.release(file=file)
    empty = desk.folder / "empty.csv"
    for end in (b"\n", b"\r", b"\r\n"):
        empty.write_bytes(b"age,city,sick,name" + end)
        with refuses(DataRejectedError, match=r"no rows\. Nothing was booked"):
            desk.release(file=empty)
    frame.iloc[:1].to_parquet(file)
    gaussian = make_plan(
        RHO, mechanism="objective", calibration="sharp", regularization=1e-4, n=20_000
    )
    with refuses(ReleaseRefusedError, match=r"rows is 1, .*declares 20,000"):  # not for its penalty
        desk.release(plan=gaussian, file=file, allow_unreviewed=True)
    with pytest.raises(InfeasibleDesignError):
        desk.release(plan=replace(gaussian, n_tolerance=1), file=file, allow_unreviewed=True)
    assert desk.ledger.history() == ()
    frame.to_parquet(file)
    assert desk.release(file=file).n_records == 200


def test_a_column_without_any_value_is_accepted_as_one_with_a_single_value_is(desk: Desk) -> None:
    """A writer infers its type from the records, so that a refusal would tell about one of them."""
    frame, file = pd.read_csv(desk.file), desk.folder / "t.parquet"
    age, city = SCHEMA.features
    filled = make_plan(schema=replace(SCHEMA, features=(age, replace(city, other="b"))))
    for request, first in (("r1", None), ("r2", "a")):
        frame["city"] = pd.Series([first] + [None] * (len(frame) - 1), dtype=object)
        frame.to_parquet(file)
        with refuses(ReleaseRefusedError, match="do not fit the plan in 'city'"):
            desk.release(request, to=request, file=file)
        made = desk.release(request, to=request, file=file, plan=filled)
        assert made.n_records == len(frame)


def test_only_names_types_and_the_number_of_rows_are_known_before_booking(desk: Desk) -> None:
    """So files that differ in a record are refused alike, whatever the statistics beside the names
    hold.
    """
    frame = pd.read_csv(desk.file)
    found = []
    for age in (0.0, 1e300):
        file = desk.folder / f"{age}.parquet"
        frame.assign(age=[age, *frame["age"][1:]]).to_parquet(file)
        found.append(replace(read_header(file), file=desk.file))
    assert found[0] == found[1]
    assert found[0].n_records == 200


def test_the_same_request_again_gives_the_recorded_release(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.release()
    assert first.note is not None
    desk.file.unlink()
    monkeypatch.setattr(run, "draw_release", None)
    again = desk.release(" r1 ")
    assert again.to_dict() == first.to_dict()
    assert again.note is None
    assert len(desk.ledger.history()) == 1
    with refuses(ReleaseLostError, match="released before, into another folder"):
        desk.release("r1", to="elsewhere")


def test_two_clicks_in_the_same_moment_draw_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.release()
    monkeypatch.setattr(
        Ledger, "find", lambda *_: None
    )  # the first had not booked when the second looked
    monkeypatch.setattr(run, "draw_release", None)
    with pytest.raises(ReleaseLostError):
        desk.release("r1", to="second")
    assert desk.ledger.history()[0].state == "done"


def test_a_folder_is_only_taken_for_what_it_is(desk: Desk) -> None:
    desk.release()
    with refuses(ReleaseRefusedError, match="holds another release"):
        desk.release("r2")
    with refuses(ReleaseRefusedError, match="holds another release"):
        desk.release("r1", plan=make_plan(title="Another"))
    (desk.folder / "empty").mkdir()
    with refuses(ReleaseRefusedError, match="no release in it"):
        desk.release("r2", to="empty")
    with refuses(ReleaseRefusedError, match="does not exist"):
        desk.release("r2", to="no/such")
    other = Ledger(desk.folder / "other.sqlite")
    with refuses(ReleaseRefusedError, match="does not know"):
        desk.release("r1", ledger=other)
    record = desk.folder / "out" / "release.json"
    record.write_text(record.read_text().replace('"person": "Ada"', '"person": "Eve"'))
    with refuses(ReleaseRefusedError, match="not the one that the ledger has"):
        desk.release("r1")
    assert len(desk.ledger.history()) == 1


@pytest.mark.parametrize("stage", ["read", "begun", "drawn", "wrote report.html"])
def test_a_failure_after_booking_is_spent_and_never_drawn_again(
    desk: Desk, stage, monkeypatch
) -> None:
    def fail(reached: str) -> None:
        if reached == stage:
            raise RuntimeError("37.125 is the age of Ada")

    monkeypatch.setattr(once, "reached", fail)
    with pytest.raises(ReleaseFailedError) as caught:
        desk.release()
    monkeypatch.undo()
    assert "37.125" not in str(caught.value)
    assert desk.ledger.find("r1").state == "failed"
    assert desk.ledger.remaining("Clinic") == 1
    assert not (desk.folder / "out").exists()
    assert not [path for path in desk.folder.iterdir() if path.name.endswith(".part")]
    with pytest.raises(ReleaseLostError):
        desk.release()


@pytest.mark.parametrize("stage", ["booked", "read"])
def test_what_was_stopped_before_its_draw_goes_on_once_at_no_further_price(
    desk: Desk, stage, monkeypatch
) -> None:
    """A charge without a draw was lost for ever."""

    def stop(reached: str) -> None:
        if reached == stage:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(once, "reached", stop)
        expected = KeyboardInterrupt if stage == "booked" else ReleasePausedError
        with pytest.raises(expected):
            desk.release()
        with pytest.raises(expected):  # as often as one likes, until it draws
            desk.release()
    charge, left = desk.ledger.find("r1"), desk.ledger.remaining("Clinic")
    assert charge.may_go_on
    made = desk.release()
    assert (made.charge_id, desk.ledger.find("r1").state) == (charge.charge_id, "done")
    assert (len(desk.ledger.history()), desk.ledger.remaining("Clinic")) == (1, left)
    assert desk.release().to_dict() == made.to_dict()
    with pytest.raises(ReleaseLostError):
        desk.release("r1", to="elsewhere")
    assert not is_drawing()
    assert desk.ledger.verify().is_good


@pytest.mark.parametrize("stage", ["begun", "drawn", "wrote report.html"])
def test_what_was_stopped_in_its_draw_never_goes_on(desk: Desk, stage, monkeypatch) -> None:
    def stop(reached: str) -> None:
        if reached == stage:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(once, "reached", stop)
        with pytest.raises(ReleaseFailedError):
            desk.release()
    with pytest.raises(ReleaseLostError):
        desk.release()
    assert not is_drawing()


@pytest.mark.parametrize("is_broken", [False, True])
def test_of_two_that_read_for_one_charge_one_draws(desk: Desk, monkeypatch, is_broken) -> None:
    def overtaken(reached: str) -> None:
        if reached == "read":
            charge = desk.ledger.find("r1")
            desk.ledger.begin_draw(charge.charge_id)  # the other one was faster
            if is_broken:
                raise RuntimeError

    monkeypatch.setattr(once, "reached", overtaken)
    monkeypatch.setattr(run, "draw_release", None)
    with pytest.raises(ReleaseLostError):
        desk.release()
    charge = desk.ledger.find("r1")
    assert (charge.state, charge.draw) == ("booked", "begun")
    with pytest.raises(DrawBegunError):
        desk.ledger.begin_draw(charge.charge_id)


def test_a_booking_without_a_draw_to_come_is_not_carried_on(desk: Desk, monkeypatch) -> None:
    """It gave the right to draw itself: its process may have drawn before it died."""
    book = Ledger.book
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "book", lambda *a, draws_later, **k: book(*a, **k))
        with pytest.raises(ReleaseLostError):
            desk.release()
    with pytest.raises(ReleaseLostError):
        desk.release()


@pytest.mark.parametrize("stage", ["booked", "read", "begun", "drawn", "renamed"])
def test_a_command_that_is_told_to_end_writes_what_it_draws_and_pauses_the_rest(
    desk: Desk, stage, monkeypatch
) -> None:
    def end(reached: str) -> None:
        if reached == stage:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(once, "reached", end)
    before = signal.getsignal(signal.SIGTERM)
    with cli._ending_in_order(), suppress(SystemExit, ReleasePausedError):
        desk.release()
    assert signal.getsignal(signal.SIGTERM) == before
    charge = desk.ledger.find("r1")
    if stage in ("booked", "read"):
        assert charge.may_go_on
    else:
        assert charge.state == "done"


def test_a_server_that_ends_waits_for_what_draws(desk: Desk, monkeypatch) -> None:
    draws, go = threading.Event(), threading.Event()

    def wait(reached: str) -> None:
        if reached == "drawn":
            draws.set()
            go.wait(60)

    monkeypatch.setattr(once, "reached", wait)
    thread = threading.Thread(target=desk.release)
    thread.start()
    assert draws.wait(60)
    assert is_drawing()
    assert not wait_for_draws(0.01)
    go.set()
    assert wait_for_draws(60)
    thread.join()
    assert desk.ledger.find("r1").state == "done"


def test_stopped_after_the_folder_has_its_name_is_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(reached: str) -> None:
        if reached == "renamed":
            raise RuntimeError

    monkeypatch.setattr(once, "reached", fail)
    made = desk.release()
    assert desk.ledger.find("r1").state == "done"
    assert made.to_dict() == load_release(desk.folder / "out").to_dict()


def test_a_ledger_that_cannot_note_the_result_says_what_to_do(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self, *_, **__):
        raise LedgerError("The disk is full. Free some space.")

    monkeypatch.setattr(Ledger, "finish", full)
    with refuses(ReleaseUnfinishedError, match="same request again"):
        desk.release()
    monkeypatch.undo()
    monkeypatch.setattr(run, "draw_release", None)
    assert desk.release().request_id == "r1"
    assert desk.ledger.find("r1").state == "done"


def test_too_few_records_are_refused_in_public_numbers_and_cost_nothing(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path, plan=make_plan(mechanism="objective"))
    write_table(desk.file, 3)
    with refuses(ReleaseRefusedError, match=r"rows is 3, .*declares 200"):
        desk.release()
    any_number = replace(make_plan(mechanism="objective"), n_tolerance=1)
    with refuses(InfeasibleDesignError, match="smallest c that works"):
        desk.release(plan=any_number)
    assert desk.ledger.history() == ()


# --- what is refused before anything is spent -----------------------------------------------------


def test_refusals_cost_nothing(desk: Desk) -> None:
    unreviewed = make_plan(RHO, mechanism="objective", calibration="sharp")
    infeasible = make_plan(mechanism="objective", regularization=1e-6)
    wider = (NumericColumn("age", 0, 120), SCHEMA.features[1])
    other_schema = make_plan(schema=replace(SCHEMA, features=wider))
    refused = [
        (ReleaseRefusedError, "off by default", {"plan": unreviewed}),
        (InfeasibleDesignError, "smallest c", {"plan": infeasible}),
        (SchemaChangedError, "another schema", {"plan": other_schema}),
        (UnknownDatasetError, "no data set", {"dataset": "Other"}),
        (DataRejectedError, "There is no .*none.csv", {"file": desk.folder / "none.csv"}),
        (
            DataRejectedError,
            "no column 'sick'",
            {"file": write_table(desk.folder / "h.csv", header="age,city,ill,name")},
        ),
    ]
    for kind, sentence, change in refused:
        with refuses(kind, match=sentence):
            desk.release(**change)
    assert desk.ledger.history() == ()
    desk.release("r1", to="one")
    desk.release("r2", to="two")
    with pytest.raises(BudgetExceededError):
        desk.release("r3", to="three")
    assert not (desk.folder / "three").exists()


def test_without_the_package_that_draws_nothing_is_booked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(ExtraNeededError, match=r"dpci\[release\]"):
        desk.release()
    assert desk.ledger.history() == ()


def test_what_could_not_be_written_costs_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refuses(ReleaseRefusedError, match="too long"):
        desk.release(to="x" * 245)
    (desk.folder / "link").symlink_to(desk.folder / "nowhere")
    with refuses(ReleaseRefusedError, match="no release in it"):
        desk.release(to="link")
    with refuses(ReleaseRefusedError, match="does not exist"):
        desk.release(to="nowhere/out")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with refuses(ReleaseRefusedError, match="No space left"):
            desk.release()
    assert desk.ledger.history() == ()
    assert not list(desk.folder.glob(".*"))


def test_a_pipe_is_refused_before_it_costs_anything(desk: Desk) -> None:
    pipe = desk.folder / "pipe.csv"
    os.mkfifo(pipe)
    with refuses(ReleaseRefusedError, match="has to be a file"):
        desk.release(file=str(pipe))
    assert desk.ledger.history() == ()


def test_the_budget_has_to_be_for_the_unit_of_the_plan(desk: Desk) -> None:
    """Otherwise the report would promise patients what the steward allowed for visits."""
    visits = replace(desk.plan, source=replace(desk.plan.source, unit="one row is one visit"))
    with refuses(ReleaseRefusedError, match=r"'one row is one visit'.*'one row is one person'"):
        desk.release(plan=visits)
    assert desk.ledger.history() == ()


def test_a_release_wants_both_codes_of_the_outcome() -> None:
    with refuses(ReleaseRefusedError, match="which code of 'sick' counts as yes, and not which"):
        price_of(make_plan(schema=replace(SCHEMA, negative=())))


@pytest.mark.parametrize(
    "schema",
    [
        Schema(SCHEMA.features, "sick", "yes "),
        Schema(SCHEMA.features, "sick", "yes", negative=(" no",)),
        Schema(SCHEMA.features, " sick", "yes"),
        Schema((NumericColumn("age ", 0, 1),), "sick", "yes"),
        Schema((CategoricalColumn("city", ("a", " b")),), "sick", "yes"),
    ],
)
def test_a_text_that_no_cell_can_match_is_refused(schema: Schema) -> None:
    with refuses(ReleaseRefusedError, match="blanks around it"):
        price_of(make_plan(schema=schema))


def test_the_report_never_rounds_a_promise_down(desk: Desk) -> None:
    made = desk.release()  # epsilon 1: 73.106 %
    assert re.search(r"at most 73\.2\s% sure", risk_sentence(made))
    guarantee = replace(
        made.guarantee, definition="zcdp", amount="0.1", epsilon=1.23401, delta=1.2345678e-6
    )
    other = replace(made, guarantee=guarantee)
    assert "(1.235, 1.2345678e-06)-differential" in guarantee_sentence(other)
    assert "finds at most 3.5." in risk_sentence(other)  # exp(1.23401) = 3.4350


def test_unreviewed_noise_needs_to_be_allowed_by_name(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path, plan=make_plan(RHO, mechanism="objective", calibration="sharp"))
    made = desk.release(allow_unreviewed=True)
    assert "not peer-reviewed" in made.assumptions[-1]
    for name in ("report.html", "model_card.md", "release.json"):
        assert "not peer-reviewed" in (tmp_path / "out" / name).read_text()


def test_no_seed_and_no_generator_fit_in_anywhere(desk: Desk) -> None:
    for extra in ({"rng": np.random.default_rng(1)}, {"seed": 1}, {"source": None}):
        with pytest.raises(TypeError):
            desk.release(**extra)


def test_a_schema_hash_is_of_the_declaration_alone() -> None:
    assert schema_hash(SCHEMA) == schema_hash(Schema(SCHEMA.features, "sick", "yes", ("a note",)))
    assert schema_hash(SCHEMA) != schema_hash(Schema(SCHEMA.features, "ill", "yes"))
    codes = (SCHEMA.features[0], CategoricalColumn("city", ("1", "2", "3"), other="3"))
    assert schema_hash(SCHEMA) == schema_hash(Schema(codes, "sick", "1", negative=("0",)))
    assert price_of(make_plan()).schema_hash == schema_hash(SCHEMA)


def test_what_is_declared_for_planning_is_the_same_account():
    """Another radius, step or typical value is about the same people; another bound may not be."""
    column = NumericColumn("cost", 1, 1_000)
    levels = CategoricalColumn("sex", ("f", "m"))
    given = Schema((column, levels), "sick", "yes")
    told = NumericColumn("cost", 1, 1_000, typical=30, spread=3, step=2, limit=5, transform="log")
    other = replace(
        given,
        features=(told, replace(levels, shares=(0.3, 0.7))),
        standard=StandardEncoding(shape=3),
    )
    assert schema_hash(other) == schema_hash(given)
    wider = replace(given, features=(NumericColumn("cost", 1, 2_000), levels))
    assert schema_hash(wider) != schema_hash(given)


# --- names that want to do harm -------------------------------------------------------------------

HOSTILE = (
    "=HYPERLINK(1)",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "@SUM(1)",
    "-1+1|cmd",
    "a|b`c``d",
    "</svg><script>",
)


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_no_formula_and_no_script_through_a_name(tmp_path: Path) -> None:
    features = tuple(NumericColumn(name, 0, 1) for name in HOSTILE[:-1])
    levels = CategoricalColumn(HOSTILE[-1], ("=1", "<b>"))
    schema = Schema((*features, levels), "<i>y</i>", "=yes<script>", negative=("=no<script>",))
    plan = make_plan(schema=schema, title="<script>alert('title')</script>")
    desk = Desk.at(tmp_path, plan=plan)
    with desk.file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([*HOSTILE, "<i>y</i>"])
        writer.writerows([[0.5] * len(features) + ["<b>", "=yes<script>"]] * 200)
    made = desk.release(person="=Eve<script>", accept=["no_absent"])
    page = (tmp_path / "out" / "report.html").read_text()
    seen = Tags(page)
    assert not seen.tags & {"script", "img", "b", "i", "iframe", "link"}
    assert "svg" in seen.tags
    assert not {
        name for name in seen.attributes if name.startswith("on") or name in ("src", "href")
    }
    assert "default-src 'none'" in page
    rows = list(csv.reader(io.StringIO((tmp_path / "out" / "intervals.csv").read_text())))
    assert len(rows) == 1 + len(made.coefficients)
    for row in rows:
        assert not row[0].startswith(("=", "+", "-", "@", "\t"))
        assert all(
            cell in ("", made.covers, "left out")
            or re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?|\w+", cell)
            for cell in row[1:]
        )
    card = (tmp_path / "out" / "model_card.md").read_text()
    table = [line for line in card.splitlines() if line.startswith("|")][2:]
    assert len(table) == len(made.coefficients) - 1
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 3 for line in table)
    predicted = subprocess.run(
        [sys.executable, "-m", "dpci_core", "predict", str(tmp_path / "out"), str(desk.file)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {row[1] for row in csv.reader(io.StringIO(predicted.stdout))} <= {
        "prediction",
        "'=yes<script>",
        "not =yes<script>",
    }


# --- reading it again -----------------------------------------------------------------------------


def test_predictions_are_those_of_the_released_coefficients(desk: Desk) -> None:
    made = load_release(desk.release() and desk.folder / "out")
    frame = pd.DataFrame({"age": [0.0, 100.0, 250.0, None], "city": ["a", "b", "b", "?"]})
    s = (1 - 1e-12) / 2.0
    rows = np.array([[-s, 0, 1], [s, s, 1], [s, s, 1]], dtype=float)
    rows[:, 2] = (1 - 1e-12) / np.sqrt(2)
    scores = np.append(rows @ made.theta, np.nan)  # the last row has missing cells
    np.testing.assert_allclose(made.decision(frame), scores, rtol=1e-12)
    assert made.predict(frame).tolist() == [*np.where(scores[:3] > 0, 1, -1), 0]
    np.testing.assert_allclose(made.predict_proba(frame), 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert made.predict(frame.iloc[:0]).shape == (0,)
    assert (
        made.predict(frame.assign(age=frame["age"].map(str))).tolist()
        == made.predict(frame).tolist()
    )
    with refuses(ValueError, match="one column 'city'"):
        made.predict(frame[["age"]])


def test_a_machine_has_no_probabilities(tmp_path: Path) -> None:
    plan = make_plan()
    design = dpci_core.Design(
        loss=HuberSVM(h=1.0),
        mechanism="output",
        budget=PURE,
        regularization=0.05,
        n_records=200,
        calibration="published",
    )
    from dataclasses import replace

    made = Desk.at(tmp_path, plan=replace(plan, design=design)).release()
    with refuses(ValueError, match="no probabilities"):
        made.predict_proba(pd.DataFrame({"age": [1], "city": ["a"]}))
    assert "Huber SVM with h = 1" in (tmp_path / "out" / "report.html").read_text()


CHANGES = [
    (("format",), "x", "format"),
    (("version",), 4, "version"),
    (("status",), "fine", "status"),
    (("switches", "noise_aware"), True, "switches"),
    (("grid",), 0.5, "grid"),
    (("n_records", "actual"), "many", "n_records.actual"),
    (("coefficients", 1, "released"), "0", "coefficients[1].released"),
    (("coefficients", 0, "scaled", "low"), 1e300, "coefficients[0].scaled"),
    (("coefficients", 0, "name"), "height", "coefficients"),
    (("matrices", "hessian"), [[1.0]], "matrices.hessian"),
    (("matrices", "covariance", 1, 2), None, "matrices.covariance[1][2]"),
    (("guarantee", "definition"), "none", "guarantee.definition"),
    (("guarantee", "lines", "model"), 1.5, "guarantee.lines.model"),
    (("design", "budget", "model"), "-1", "design.budget.model"),
    (("schema", "features", 0, "low"), "x", "schema.features[0].low"),
    (("features",), ["height"], "features"),
    (("ledger", "head"), None, "ledger.head"),
    (("software", "numpy"), None, "software.numpy"),
    (("more",), 1, "more"),
]


@pytest.fixture(scope="module")
def record(tmp_path_factory) -> dict:
    return Desk.at(tmp_path_factory.mktemp("desk")).release().to_dict()


@pytest.mark.parametrize(("path", "value", "field"), CHANGES, ids=[c[2] for c in CHANGES])
def test_a_changed_field_is_named(record: dict, path, value, field: str, tmp_path: Path) -> None:
    changed = json.loads(json.dumps(record))
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    (tmp_path / "release.json").write_text(json.dumps(changed))
    with pytest.raises(RecordError) as caught:
        load_release(tmp_path)
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


@pytest.mark.parametrize(
    "name", ["title", "design", "coefficients", "guarantee", "ledger", "features"]
)
def test_a_missing_field_is_named(record: dict, name: str, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_text(
        json.dumps({k: v for k, v in record.items() if k != name})
    )
    with refuses(RecordError, match=f"^{name}: "):
        load_release(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"[1]", b"{", b"\xff", b'{"format": NaN}', b"[" * 100_000]
)
def test_what_is_no_record_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "release.json").write_bytes(content)
    with pytest.raises(RecordError):
        load_release(tmp_path)


@pytest.mark.parametrize("is_begun", [False, True])
def test_a_release_of_another_ledger_ends_no_charge_of_this_one(
    desk: Desk, tmp_path: Path, is_begun: bool
) -> None:
    """Both have the same request, as the same charge."""
    other = tmp_path / "other"
    other.mkdir()
    theirs = Desk.at(other, plan=desk.plan)
    theirs.release(to="out")
    question = PlanRelease(plan=desk.plan)
    charge = desk.ledger.book(
        "Clinic",
        schema_hash=schema_hash(SCHEMA),
        cost=question.price(),
        purpose=question.title,
        plan_hash=question.digest,
        person="Ada",
        request_id="r1",
        draws_later=True,
    )
    assert charge.charge_id == theirs.ledger.history()[0].charge_id
    if is_begun:
        desk.ledger.begin_draw(charge.charge_id)
    shutil.copytree(other / "out", desk.folder / "out")
    with refuses(ReleaseRefusedError, match="this ledger does not know"):
        desk.release()
    assert desk.ledger.history()[0].state == "booked"


# --- the commands ---------------------------------------------------------------------------------


def command(desk: Desk, *more: str) -> list[str]:
    write_plan(desk.plan, desk.folder / "plan.yaml")
    where = ["--ledger", str(desk.ledger.path), "--dataset", "Clinic"]
    return ["release", str(desk.folder / "plan.yaml"), *where, "--file", str(desk.file), *more]


def test_mistakes_on_the_command_line_are_told_as_what_they_are(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = command(desk, "--check")
    asked[asked.index("--file") + 1] = str(desk.folder / "none.csv")
    assert main(asked) == 1
    assert capsys.readouterr().err == f"There is no {desk.folder / 'none.csv'}.\n"
    to = ["--folder", str(desk.folder / "out"), "--accept-warnings", "--confirm", "Clinc"]
    assert main(command(desk, *to)) == 1
    told = capsys.readouterr().err
    assert "Not confirmed with the name of the data set, 'Clinic'. Nothing was spent." in told


@pytest.mark.parametrize("n", [0, 1, 160])
def test_a_check_counts_the_rows_as_the_release_and_the_page_do(
    desk: Desk, capsys: pytest.CaptureFixture[str], n: int
) -> None:
    lines = desk.file.read_text().splitlines()
    desk.file.write_text("\n".join(lines[: n + 1]) + "\n")
    assert main(command(desk, "--check")) == 1
    shown = capsys.readouterr()
    wanted = f"The number of rows is {n}, counted as they would be read" if n else "no rows"
    assert wanted in shown.err
    assert shown.out == ""


def test_release_and_predict_on_the_command_line(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(desk, "--check")) == 0
    shown = capsys.readouterr().out
    assert "costs epsilon 1" in shown
    assert "'Clinic' has epsilon 2 left" in shown
    assert schema_hash(SCHEMA) in shown
    assert main(command(desk, "--check", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["lines"] == {
        "model": "0.5",
        "hessian": "0.25",
        "covariance": "0.25",
    }
    to = ["--folder", str(desk.folder / "out"), "--request", "first", "--person", "Ada"]
    assert main(command(desk, *to)) == 1
    assert (
        "--confirm with the name of the data set and --accept-warnings" in capsys.readouterr().err
    )
    assert main(command(desk, *to, "--confirm", "Clinic")) == 1
    said = capsys.readouterr().err
    assert "Expected --accept-warnings: nobody is here to be asked. Nothing was spent." in said
    assert "Warning: These intervals are too long to be of use" in said
    to.append("--accept-warnings")
    assert main(command(desk, *to, "--confirm", "clinic")) == 1
    assert "Nothing was spent" in capsys.readouterr().err
    assert desk.ledger.history() == ()
    assert main(command(desk, *to, "--confirm", "Clinic")) == 0
    first = capsys.readouterr()
    assert "age" in first.out
    assert "Request first" in first.err
    assert main(command(desk, *to, "--json")) == 0  # known: nothing to confirm, nothing to spend
    assert json.loads(capsys.readouterr().out) == load_release(desk.folder / "out").to_dict()
    output = desk.folder / "predicted.csv"
    predict = ["predict", str(desk.folder / "out"), str(desk.file), "--output", str(output)]
    assert main(predict) == 0
    found = pd.read_csv(output)
    made = load_release(desk.folder / "out")
    np.testing.assert_allclose(found["score"], made.decision(pd.read_csv(desk.file)), rtol=1e-12)
    assert found["prediction"].tolist() == ["yes" if x > 0 else "no" for x in found["score"]]
    assert main(predict) == 1
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "spent"),
    [("yes\nClinic\n", 1), ("yes\nclinic\n", 0), ("Clinic\nClinic\n", 0), ("", 0)],
)
def test_warnings_and_the_name_are_asked_for_at_a_terminal(
    desk: Desk, typed: str, spent: int, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = io.StringIO(typed)
    monkeypatch.setattr(here, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", here)
    done = main(command(desk, "--folder", str(desk.folder / "out")))
    assert (done, len(desk.ledger.history())) == (1 - spent, spent)
    shown = capsys.readouterr().err
    assert shown.index("Warning: These intervals") < shown.index('Type "yes" to release')
    assert ("Type the name" in shown) == typed.startswith("yes")


def test_the_private_note_is_said_and_not_printed(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    with desk.file.open("a") as rows:
        rows.write("-5,zzz,,\n")
    to = ["--folder", str(desk.folder / "out"), "--confirm", "Clinic", "--accept-warnings"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(command(desk, *to)) == 0
    shown = capsys.readouterr()
    assert "1 of 201 cells of age: outside the bounds" in shown.err
    assert "outside the bounds" not in shown.out
    assert all(
        "outside the bounds" not in path.read_text() for path in (desk.folder / "out").iterdir()
    )


def test_no_count_of_private_cells_gets_into_a_log(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nobody watches, the error output is kept by whatever started the command. Missing
    parents are made.
    """
    with desk.file.open("a") as rows:
        rows.write("-5,zzz,,\n")
    to = ["--folder", str(desk.folder / "new" / "out"), "--confirm", "Clinic"]
    assert main(command(desk, *to, "--accept-warnings")) == 0
    assert "outside the bounds" not in "".join(capsys.readouterr())
    assert (desk.folder / "new" / "out" / "release.json").is_file()


@pytest.mark.parametrize(
    "table",
    [
        # a comma after every row: not a column of its own that shifts the others
        "age,city\n50,b,\n10,a,\n",
        " age ;city\n50;b\n\n10;a;9;9\n",
        '\ufeffx,age,city\n,50,b\n"é",10,A\n',
    ],
)
def test_new_rows_are_read_as_the_release_reads_them(
    desk: Desk, table: str, capsys, tmp_path: Path
) -> None:
    made = desk.release()
    (tmp_path / "new.csv").write_text(table)
    assert main(["predict", str(desk.folder / "out"), str(tmp_path / "new.csv")]) == 0
    scores = pd.read_csv(io.StringIO(capsys.readouterr().out))["score"]
    expected = made.decision(pd.DataFrame({"age": [50, 10], "city": ["b", "a"]}))
    np.testing.assert_allclose(scores, expected, rtol=1e-12)
    pd.DataFrame({"age": [50, 10], "city": ["b", None]}).to_parquet(tmp_path / "new.parquet")
    assert main(["predict", str(desk.folder / "out"), str(tmp_path / "new.parquet")]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert first.split(",")[1] in ("yes", "no")
    assert second == "," * head.count(",")  # a missing cell, no prediction


def test_commands_end_in_sentences(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(desk)) == 1
    assert "--folder" in capsys.readouterr().err
    assert main(["release", str(desk.folder / "none.yaml"), "--check"]) == 1
    assert main(["predict", str(desk.folder / "none"), str(desk.file)]) == 1
    assert "Traceback" not in capsys.readouterr().err
