"""Fits that a ledger pays for: booked before any noise exists, drawn once, and said on the fit."""

from __future__ import annotations

import pickle
from decimal import Decimal
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

from dpci_core import (
    ZCDP,
    Cap,
    DPHistogram,
    DPLinearSVC,
    DPLogisticRegression,
    DPScorecard,
    DPSelection,
    InfeasibleDesignError,
    Ledger,
    LedgerAccount,
    PureDP,
)
from dpci_core.base.errors import LedgerRuleError
from dpci_core.estimators import account as account_room
from dpci_core.estimators import select_for_release, tune_for_release
from dpci_core.estimators.account import numbers_hash
from dpci_core.ledger import (
    BudgetExceededError,
    Cost,
    DrawBegunError,
    LedgerError,
    NotApprovedError,
)
from dpci_core.losses import Logistic
from dpci_core.privacy.randomness import SystemSource
from dpci_core.report.words import SEEDED, UNBOOKED, UNBOOKED_MARK
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner

RNG = np.random.default_rng(7)
X = RNG.integers(0, 2, (600, 2)).astype(float)
Y = np.where(X[:, 0] > RNG.random(600), "yes", "no")
LABELS = ("no", "yes")
PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
MODEL = {"feature_bounds": (0, 1), "classes": LABELS, "budget": PURE}
KINDS: dict[str, tuple[BaseEstimator, list[tuple[str, str]]]] = {
    "logistic": (
        DPLogisticRegression(**MODEL),
        [
            ("model", "0.4995"),
            ("inexact minimiser", "0.0005"),
            ("hessian", "0.25"),
            ("covariance", "0.25"),
        ],
    ),
    "svm": (
        DPLinearSVC(**MODEL, mechanism="output", intervals=False, regularization=0.5),
        [("model", "1")],
    ),
    "selection": (
        DPSelection(
            DPLogisticRegression(feature_bounds=(0, 1), classes=LABELS),
            [{"regularization": c} for c in (0.1, 0.5)],
            epsilon=1,
        ),
        [("model and choice", "1")],
    ),
    "histogram": (DPHistogram(bounds=(0, 1), epsilon=1, candidates=(2, 4)), [("histogram", "1")]),
    "scorecard": (DPScorecard(epsilon=1, classes=LABELS), [("card and count", "1")]),
}
CANDIDATES = [Candidate(learner=Learner(loss=Logistic(), method="output", regularization=0.5))] * 2


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.sqlite")
    made.create_dataset(
        "Patients", schema_hash="h", cap=Cap.pure("2.5"), unit="one row is one person", person="Ada"
    )
    return made


def payer(ledger: Ledger, **others: str) -> LedgerAccount:
    given = {
        "dataset": "Patients",
        "schema_hash": "h",
        "unit": "one row is one person",
        "person": "Kim",
    }
    return LedgerAccount(ledger=ledger, **(given | others))


def forbid_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("spherical_laplace", "add_spherical_laplace", "permutation", "noisy_max"):
        monkeypatch.setattr(SystemSource, name, lambda *_, **__: pytest.fail("noise was drawn"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_fit_is_a_charge_and_none_is_drawn_beyond_the_cap(ledger, kind, monkeypatch) -> None:
    plain, lines = KINDS[kind]
    model = clone(plain).set_params(ledger=payer(ledger))
    for k in (1, 2):
        charge = model.fit(X, Y).privacy_.charge
        assert (charge.state, charge.spent, charge.draw) == ("done", Decimal(1), "begun")
        assert [(name, str(part)) for name, part in charge.cost.lines] == lines
        assert charge == ledger.history()[-1]
        assert len(ledger.history()) == k
        model = clone(model)  # carries the account, and no charge
    assert ledger.history()[0].plan_hash == ledger.history()[1].plan_hash
    forbid_draws(monkeypatch)
    with pytest.raises(BudgetExceededError):
        model.fit(X, Y)
    assert len(ledger.history()) == 2
    assert not hasattr(model, "privacy_")


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_waits_for_the_approval_of_another_person(ledger, kind, monkeypatch) -> None:
    ledger.create_dataset(
        "Others",
        schema_hash="h",
        cap=Cap.pure(2),
        unit="one row is one person",
        person="Ada",
        other_people=True,
        needs_approval=True,
    )
    plain = KINDS[kind][0]
    unnamed = clone(plain).set_params(ledger=payer(ledger, dataset="Others"))
    model = clone(plain).set_params(ledger=payer(ledger, dataset="Others", request_id="r"))
    with monkeypatch.context() as patch:
        forbid_draws(patch)
        with pytest.raises(ValueError, match="Expected request_id of LedgerAccount"):
            unnamed.fit(X, Y)
        assert ledger.proposals() == ()
        for _ in range(2):
            with pytest.raises(NotApprovedError):
                model.fit(X, Y)
        (made,) = ledger.proposals()
        ledger.approve(made.proposal_id, person="Ada")
        with pytest.raises(LedgerRuleError):  # other rows than were approved
            model.fit(X[:500], Y[:500])
    assert model.fit(X, Y).privacy_.charge.request_id == "r"
    with pytest.raises(DrawBegunError):
        clone(model).fit(X, Y)
    assert [one.spent for one in ledger.history()] == [Decimal(1)]


def test_what_another_person_reads_and_approves_is_what_is_drawn(ledger, tmp_path) -> None:
    unit = "one row is one person"
    given = {"schema_hash": "h", "cap": Cap.pure(9), "unit": unit, "person": "Ada"}
    ledger.create_dataset("Others", **given, other_people=True, needs_approval=True)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": Y, "u": np.where(X[:, 0] > 0, *LABELS)})
    for name, columns in {
        "one": ["a", "b", "t"],
        "hiv": ["a", "b", "u"],
        "more": ["a", "t"],
    }.items():
        (tmp_path / name).mkdir()
        frame[columns].to_parquet(tmp_path / name / "p.parquet")

    def model(**changes: object) -> BaseEstimator:
        account = payer(ledger, dataset="Others", request_id="r")
        return clone(KINDS["logistic"][0]).set_params(ledger=account, **changes)

    with pytest.raises(NotApprovedError):
        model().fit(tmp_path / "one", "t")
    (made,) = ledger.proposals()
    for words in ("label='t'", "features=('a', 'b')", "n_records=600", "classes=('no', 'yes')"):
        assert words in made.purpose
    assert "feature_bounds=(0, 1)" in made.purpose
    assert made.plan_hash == sha256(made.purpose.encode()).hexdigest()
    ledger.approve(made.proposal_id, person="Grace")
    others: list[tuple[BaseEstimator, object, object]] = [
        (model(), tmp_path / "hiv", "u"),
        (model(), tmp_path / "more", "t"),
        (model(), frame[["a", "b"]], frame["u"]),
        (model(), frame[["b", "a"]], frame["t"]),
        (model(), X, Y),
        (model(feature_bounds=(0.0, 1.0)), tmp_path / "one", "t"),
    ]
    for other, table, label in others:
        with pytest.raises(LedgerRuleError):
            other.fit(table, label)
    assert ledger.history() == ()
    assert model().fit(frame[["a", "b"]], frame["t"]).privacy_.charge.state == "done"


@pytest.mark.parametrize("kind", KINDS)
def test_every_charge_says_what_was_drawn(ledger, kind) -> None:
    frame, labels = pd.DataFrame(X, columns=["left", "right"]), pd.Series(Y, name="ill")
    model = clone(KINDS[kind][0]).set_params(ledger=payer(ledger))
    purpose = model.fit(frame, labels).privacy_.charge.purpose
    assert purpose.startswith(f"{type(model).__name__}.fit(")
    assert "features=('left', 'right'), n_records=600, n_features=2" in purpose
    assert ("label='ill'" in purpose) == (kind != "histogram")


def test_a_fit_says_whether_it_was_paid_for(ledger) -> None:
    plain = KINDS["logistic"][0]
    bound = clone(plain).set_params(ledger=payer(ledger)).fit(X, Y)
    said = " ".join(str(bound.summary()).split())
    assert "charge 2 of 'Patients', by Kim" in said
    assert "charge 2" in dict(bound.summary().facts)["Kind"]
    assert "the value of one record (one row is one person)" in said
    assert UNBOOKED_MARK not in repr(bound) + said
    free = clone(plain).fit(X, Y)
    assert repr(free).endswith(f"# {UNBOOKED_MARK}")
    assert UNBOOKED in free.privacy_.sentences
    assert UNBOOKED_MARK in str(free.summary())
    seeded = clone(plain).set_params(random_state=0).fit(X, Y)
    assert seeded.privacy_.caution == SEEDED
    assert UNBOOKED_MARK not in repr(seeded) + repr(clone(plain))
    assert numbers_hash(*bound._models[0].numbers) == bound.privacy_.charge.result_hash


def test_what_no_charge_stands_for_is_refused_before_one(ledger, monkeypatch) -> None:
    forbid_draws(monkeypatch)
    model, account = KINDS["logistic"][0], payer(ledger)
    nested = clone(KINDS["selection"][0]).set_params(estimator__ledger=account)
    wrong = {
        "random_state=None beside ledger": {"random_state": 0, "ledger": account},
        "classes= beside ledger": {"classes": None, "ledger": account},
        "LedgerAccount": {"ledger": ledger},
        "unit='one visit'": {"ledger": payer(ledger, unit="one visit")},
    }
    for match, changes in wrong.items():
        with pytest.raises(ValueError, match=match):
            clone(model).set_params(**changes).fit(X, Y)
    with pytest.raises(ValueError, match="without a ledger"):
        nested.fit(X, Y)
    for refused in (payer(ledger, schema_hash="other"), payer(ledger, dataset="Others")):
        with pytest.raises(LedgerError):
            clone(model).set_params(ledger=refused).fit(X, Y)
    tiny = clone(model).set_params(ledger=account, regularization=1e-9, mechanism="output")
    with pytest.raises(InfeasibleDesignError):
        tiny.fit(X, Y)
    with pytest.raises(LedgerError):
        clone(model).set_params(
            ledger=account, budget=ZCDP(model="0.1", hessian="0.1", covariance="0.1")
        ).fit(X, Y)
    assert ledger.history() == ()
    ledger.create_dataset(
        "Visits",
        schema_hash="v",
        cap=Cap.pure(1),
        unit="one patient",
        several_rows=True,
        person="Ada",
        other_people=True,
    )
    persons = payer(ledger, dataset="Visits", schema_hash="v", unit="one patient")
    with pytest.raises(ValueError, match="protects one"):
        clone(model).set_params(ledger=persons).fit(X, Y)
    assert ledger.history() == ()


def test_a_unit_is_words_and_whether_a_person_has_several_rows_is_not_read_from_them(ledger):
    """The account says it in a field of its own, so that no wording says it by chance."""
    unit = "one visit, with several rows"
    ledger.create_dataset(
        "Visits", schema_hash="v", cap=Cap.pure(1), unit=unit, person="Ada", other_people=True
    )
    account = payer(ledger, dataset="Visits", schema_hash="v", unit=unit)
    clone(KINDS["scorecard"][0]).set_params(ledger=account).fit(X, Y)
    assert [charge.state for charge in ledger.history()] == ["done"]
    assert not ledger.account("Visits").several_rows


def test_a_charge_stands_before_the_draw_and_a_request_is_drawn_once(ledger, monkeypatch) -> None:
    """What another process reads at the first draw is what a kill there would leave behind."""
    drawn, seen = account_room.LedgerAccount.draw, []
    bound = clone(KINDS["logistic"][0]).set_params(ledger=payer(ledger, request_id="fit-1"))

    def watched(self, draw, **given):
        def look():
            seen.append(Ledger(ledger.path).history()[-1])
            raise KeyboardInterrupt

        return drawn(self, look, **given)

    begin = Ledger.begin_draw
    monkeypatch.setattr(Ledger, "begin_draw", lambda *_: (_ for _ in ()).throw(SystemExit))
    with pytest.raises(SystemExit):
        bound.fit(X, Y)
    assert ledger.find("fit-1").may_go_on
    assert ledger.remaining("Patients") == Decimal("1.5")
    monkeypatch.setattr(Ledger, "begin_draw", begin)
    monkeypatch.setattr(account_room.LedgerAccount, "draw", watched)
    with pytest.raises(LedgerError, match="fit-1"):  # another content
        clone(bound).set_params(regularization=0.7).fit(X, Y)
    with pytest.raises(KeyboardInterrupt):
        bound.fit(X, Y)  # goes on, with no second charge
    assert [(charge.state, charge.draw) for charge in seen] == [("booked", "begun")]
    (charge,) = ledger.history()
    assert (charge.state, charge.spent) == ("failed", Decimal(1))
    monkeypatch.setattr(account_room.LedgerAccount, "draw", drawn)
    forbid_draws(monkeypatch)
    with pytest.raises(DrawBegunError):
        bound.fit(X, Y)
    assert ledger.remaining("Patients") == Decimal("1.5")


def test_an_end_that_is_not_noted_keeps_the_fit_and_says_so(ledger, monkeypatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise LedgerRuleError("reading_only", path="ledger")

    monkeypatch.setattr(Ledger, "finish", full)
    model = clone(KINDS["svm"][0]).set_params(ledger=payer(ledger)).fit(X, Y)
    assert model.privacy_.charge.state == "booked"
    assert "could not note" in str(model.privacy_)


def test_pickles_and_copies_carry_the_account_and_no_key(ledger) -> None:
    model = clone(KINDS["scorecard"][0]).set_params(ledger=payer(ledger)).fit(X, Y)
    held = pickle.dumps(model)
    secret = ledger.key_path.read_text().split()[1]
    assert secret.encode() not in held
    assert bytes.fromhex(secret) not in held
    again = pickle.loads(held)
    assert again.privacy_ == model.privacy_
    assert again.get_params()["ledger"].dataset == "Patients"
    assert again.fit(X, Y).privacy_.charge.charge_id > model.privacy_.charge.charge_id


def test_tuning_and_any_other_draw_are_paid_for_too(ledger) -> None:
    account, y = payer(ledger), np.where(Y == "yes", 1, -1)
    records = np.c_[X / 2, np.full(600, 0.5)]
    tuned = tune_for_release(records, y, candidates=CANDIDATES[:1], epsilon="0.5", ledger=account)
    assert f"charge {tuned.charge_id} of the ledger" in tuned.sentence()
    free = tune_for_release(records, y, candidates=CANDIDATES[:1], epsilon="0.5")
    assert free.charge_id is None
    assert UNBOOKED_MARK in free.sentence()
    chosen = select_for_release(
        records, y, candidates=CANDIDATES[:1], epsilon="0.5", method="data_split", ledger=account
    )
    assert chosen.charge_id == tuned.charge_id + 3
    numbers, charge = account.draw(
        lambda: SystemSource().add_spherical_laplace(
            np.array([2.0]), rate=0.25, sensitivity=1.0, epsilon=0.25, exponent=-20
        ),
        cost=Cost(definition="pure", amount="0.25"),
        purpose="a count",
        plan_hash="0" * 64,
        result_hash=numbers_hash,
    )
    assert numbers_hash(numbers) == charge.result_hash
    assert ledger.remaining("Patients") == Decimal("1.25")
