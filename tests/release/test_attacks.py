"""Attacks on the release: a sampled audit, planted values, kills, races. `make soak` runs the long
versions.
"""

from __future__ import annotations

import logging
import math
import os
import tempfile
import traceback
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta

from dpci_core import ZCDP, Design, HuberSVM, PureDP
from dpci_core.base.errors import DataRejectedError
from dpci_core.intervals.certified import draw_coefficients
from dpci_core.privacy.exact import Law, RealNoise
from dpci_core.privacy.randomness import SystemSource
from dpci_core.release import (
    ReleaseFailedError,
    ReleasePausedError,
    draw_release,
    once,
    share_out,
)
from dpci_core.release.run import PlanRelease
from tests.processes import found_by
from tests.release_example import RHO, Desk, make_plan

posix = pytest.mark.skipif(os.name != "posix", reason="needs fork")

# --- a sampled audit ------------------------------------------------------------------------------

RECORD = np.array([[1.0 - 1e-12]])
CONFIDENCE = 0.999
SOURCE = SystemSource()
PURE_MODEL = PureDP(model="1.9", hessian="0.05", covariance="0.05")
RHO_MODEL = ZCDP(model="1.9", hessian="0.05", covariance="0.05")


def audit_design(mechanism: str, budget: PureDP | ZCDP) -> Design:
    """One record and one coefficient, where the bound of objective and of output perturbation is
    attained.
    """
    return Design(
        loss=HuberSVM(h=0.1),
        mechanism=mechanism,
        budget=budget,
        regularization=100.0,
        n_records=1,
        calibration="published",
    )


def bounds(hits: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson, each side at the confidence of the audit."""
    low = float(beta.ppf(1 - CONFIDENCE, hits, n - hits + 1)) if hits else 0.0
    high = float(beta.ppf(CONFIDENCE, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def audited_epsilon(here: np.ndarray, there: np.ndarray) -> float:
    """A lower bound of epsilon from samples on both tables: event chosen on one half, counted on
    the other.
    """
    half = len(here) // 2
    best, found = -math.inf, 0.0
    for sign in (1.0, -1.0):
        for p, q in ((here, there), (there, here)):
            for cut in np.quantile(sign * q[:half], np.linspace(0.5, 0.98, 60)):
                chosen = math.log(
                    bounds(int((sign * p[:half] > cut).sum()), half)[0]
                    / bounds(int((sign * q[:half] > cut).sum()), half)[1]
                    + 1e-300
                )
                if chosen > best:
                    best = chosen
                    hits = [int((sign * t[half:] > cut).sum()) for t in (p, q)]
                    n = len(here) - half
                    found = math.log(bounds(hits[0], n)[0] / bounds(hits[1], n)[1] + 1e-300)
    return found


def coefficient(design: Design, label: float) -> float:
    theta, _ = draw_coefficients(label * RECORD, shares=share_out(design), source=SOURCE)
    return float(theta[0])


def whole_release(design: Design, label: float) -> float:
    return float(draw_release(RECORD, np.array([label]), design=design).theta_priv[0])


def samples(draw: Callable[[Design, float], float], design: Design, n: int) -> list[np.ndarray]:
    return [np.array([draw(design, label) for _ in range(n)]) for label in (1.0, -1.0)]


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_audit_finds_no_more_than_epsilon(mechanism: str) -> None:
    found = audited_epsilon(*samples(coefficient, audit_design(mechanism, PURE_MODEL), 1500))
    assert 0.6 < found <= 2.0


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_audit_catches_a_doubled_rate(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = RealNoise.__init__

    def halved(self: RealNoise, dim: int, *, law: Law, rate: Fraction) -> None:
        original(self, dim, law=law, rate=2 * rate)

    monkeypatch.setattr(RealNoise, "__init__", halved)
    assert audited_epsilon(*samples(coefficient, audit_design(mechanism, PURE_MODEL), 2500)) > 2.0


@pytest.mark.soak
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("budget", [PURE_MODEL, RHO_MODEL], ids=["pure", "zcdp"])
def test_a_long_audit_of_whole_releases(
    mechanism: str, budget: PureDP | ZCDP, record_property: Callable[[str, object], None]
) -> None:
    found = audited_epsilon(*samples(whole_release, audit_design(mechanism, budget), 20_000))
    record_property("log ratio, at least", round(found, 3))
    if budget is PURE_MODEL:
        assert found <= 2.0
    else:
        # an event of a zCDP release: log ratio beyond rho + 2 sqrt(rho log(1/delta)) has
        # probability delta at most
        assert found <= 2.0 + 2.0 * math.sqrt(2.0 * math.log(1.0 / 1e-4))


# --- planted values -------------------------------------------------------------------------------

NUMBER, TEXT, OUTSIDE = "37.1250417", "ZQXPLANTED", "918273645.5"
PLANTED = (NUMBER, NUMBER[:8], TEXT, OUTSIDE, OUTSIDE[:7])


def everything_in(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path, path.read_bytes()


def planted_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    (tmp_path / "desk").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    desk = Desk.at(tmp_path / "desk", plan=make_plan(RHO))
    (tmp_path / "private").mkdir()
    desk.file = desk.file.rename(tmp_path / "private" / "table.csv")
    rows = desk.file.read_text().splitlines()
    rows[3], rows[7], rows[9] = (
        f"{NUMBER},a,yes,{TEXT}",
        f"{NUMBER},{TEXT},{TEXT},x",
        f"{OUTSIDE},a,{TEXT},x",
    )
    desk.file.write_text("\n".join(rows) + "\n")
    return desk


def found_in(desk: Desk, texts: list[str]) -> list[str]:
    places = {
        str(path): content.decode("utf-8", "replace")
        for path, content in everything_in(desk.folder)
    }
    places |= {
        str(path): c.decode("utf-8", "replace")
        for path, c in everything_in(desk.folder.parent / "tmp")
    }
    places |= {f"text {i}": text for i, text in enumerate(texts)}
    return [
        f"{secret} in {place}"
        for place, text in places.items()
        for secret in PLANTED
        if secret in text
    ]


def test_planted_values_are_nowhere(tmp_path, monkeypatch, capfd, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    desk = planted_desk(tmp_path, monkeypatch)
    made = desk.release()
    assert made.note is not None
    said = capfd.readouterr()
    texts = [
        said.out,
        said.err,
        caplog.text,
        repr(made),
        str(made.note.sentences()),
        made.to_json(),
    ]
    texts += [repr(desk.ledger.history()), repr(desk.ledger.entries())]
    assert found_in(desk, texts) == []
    (desk.folder / "leak").write_text(TEXT)  # the search itself finds what is there
    assert found_in(desk, []) == [f"{TEXT} in {desk.folder / 'leak'}"]


def reachable(error: BaseException) -> str:
    """All that a careless log could print of an exception: the chain, and the local variables of
    every frame.
    """
    seen, left, texts = set(), [error], []
    while left:
        current = left.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        texts.append(f"{current!r} {vars(current)}")
        shown = traceback.TracebackException.from_exception(current, capture_locals=True)
        texts.append("".join(shown.format()))
        frame = current.__traceback__
        while frame is not None:
            texts.append(
                repr(frame.tb_frame.f_locals)
                if frame.tb_frame.f_code.co_filename != __file__
                else ""
            )
            frame = frame.tb_next
        left += [e for e in (current.__cause__, current.__context__) if e is not None]
    return "\n".join(texts)


@pytest.mark.parametrize("kind", [ValueError, OSError, MemoryError, KeyError, KeyboardInterrupt])
@pytest.mark.parametrize("stage", ["looking", "reading", "fitting"])
def test_no_error_carries_a_planted_value(
    tmp_path, monkeypatch, capfd, caplog, kind, stage
) -> None:
    desk = planted_desk(tmp_path, monkeypatch)

    def fail(*args, **options):
        row = f"the row with {NUMBER} and {TEXT}, {OUTSIDE}"
        raise kind(row)

    if stage == "reading":
        monkeypatch.setattr(PlanRelease, "look", lambda *_: None)
    if stage != "fitting":
        monkeypatch.setattr("dpci_core.schema.numeric.number_of", fail)
    else:
        monkeypatch.setattr("dpci_core.intervals.certified.minimise", fail)
    is_paused = (stage, kind) == ("reading", KeyboardInterrupt)  # before the draw: it may go on
    wanted: type[BaseException] = ReleasePausedError if is_paused else ReleaseFailedError
    if stage == "looking":  # nothing is booked yet
        wanted = KeyboardInterrupt if kind is KeyboardInterrupt else DataRejectedError
    with pytest.raises(wanted) as caught:
        desk.release()
    said = capfd.readouterr()
    assert (
        found_in(
            desk,
            [reachable(caught.value), said.out, said.err, caplog.text, repr(desk.ledger.entries())],
        )
        == []
    )
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    if stage == "looking":
        assert desk.ledger.find("r1") is None
        return
    assert desk.ledger.find("r1").state == ("booked" if is_paused else "failed")


# --- processes ------------------------------------------------------------------------------------

happened = partial(found_by, "tests.release_processes")


def check_kills(found: dict, rounds: int) -> None:
    assert found["faults"] == []
    assert sum(found["outcomes"].values()) == rounds
    expected = {"nothing", "a charge", "a charge without a draw", "a result"}
    assert set(found["outcomes"]) == expected
    assert found["charges"] == rounds + 2
    assert found["draws"] < found["charges"]


@posix
def test_killed_anywhere_a_release_is_drawn_at_most_once_and_never_free(memory: Path) -> None:
    check_kills(happened("kill", memory, 44), 44)


@posix
@pytest.mark.soak
def test_killed_a_thousand_times(
    memory: Path, record_property: Callable[[str, object], None]
) -> None:
    found = happened("kill", memory, 1000)
    record_property("found", found)
    check_kills(found, 1000)


@posix
def test_of_releases_that_race_for_the_last_of_a_budget_one_wins(memory: Path) -> None:
    found = happened("race", memory, 6)
    assert found == {
        "won": 1,
        "codes": found["codes"],
        "draws": 1,
        "results": 1,
        "left": "0.0",
        "is_good": True,
    }
    assert set(found["codes"]) <= {0, 2, 3}


def test_the_attacks_watch_the_real_stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.release_processes import STAGES

    seen: list[str] = []
    monkeypatch.setattr(once, "reached", seen.append)
    Desk.at(tmp_path).release()
    assert set(STAGES) <= set(seen)
