"""The sentences of the core's errors do not matter to people: with nonsense for them the pages say
the same.

And nobody reads them: no pattern, no replacement is applied to the text of an error.
"""

from __future__ import annotations

import ast
import functools
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from string import Formatter

import numpy as np
import pytest

from dpci_core import Design, HuberSVM, Logistic, PureDP, Target
from dpci_core.base.codes import SENTENCES
from dpci_core.base.errors import (
    ArgumentError,
    BudgetExceededError,
    CodedError,
    DataRejectedError,
    Finding,
    InfeasibleDesignError,
    LedgerRuleError,
    check_choice,
    without_frames,
)
from dpci_core.base.limits import records_in_range
from dpci_core.base.validation import check_records
from dpci_core.datasets.download import DownloadError
from dpci_core.datasets.upload import read_upload
from dpci_core.intervals.certified import check_feasible
from dpci_core.ledger import Cap, Cost, Ledger
from dpci_core.ledger.amounts import price
from dpci_core.ledger.names import dataset_name, one_line
from dpci_core.ledger.problems import SamePeopleQuestionError
from dpci_core.plan import read_plan
from dpci_core.plan.source import check_line
from dpci_core.planner import best_split, needed_budget, needed_records, rank_mechanisms
from dpci_core.privacy.budget import ZCDP, ApproxDP, pair_budget
from dpci_core.privacy.sensitivity import gaussian_objective_sd, objective_noise_rate
from dpci_core.release import (
    ReleaseFailedError,
    ReleaseLostError,
    ReleaseRefusedError,
    ReleaseUnfinishedError,
)
from dpci_core.release.table import TableError, read_header
from dpci_core.report.words import called
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.planner.test_changes import FITS
from tests.ui.plan.test_page import SMALL, start_settings
from tests.ui.test_pages import start
from ui.plan import work as plan_work
from ui.plan.words import no_answer
from ui.session.case import make_case
from ui.session.choices import MECHANISMS
from ui.session.compute import PUBLIC, TableSource
from ui.session.words import in_words

ROOT = Path(__file__).resolve().parents[2]
NONSENSE = "Gurgle 42 plop."


def kinds(above: type = Exception) -> Iterator[type]:
    """The core's own errors."""
    for kind in above.__subclasses__():
        if kind.__module__.startswith("dpci_core"):
            yield kind
        yield from kinds(kind)


@pytest.fixture
def nonsense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence of every error of the core, at whatever level it is kept."""

    def spoilt(make: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(make)
        def made(self, *args, **kwargs):
            make(self, *args, **kwargs)
            self.args = (NONSENSE,)
            vars(self).update(
                {name: NONSENSE for name in ("message", "suggestion") if name in vars(self)}
            )

        return made

    for kind in set(kinds()):
        monkeypatch.setattr(kind, "__str__", lambda self: NONSENSE)
        if "__init__" in vars(kind):
            monkeypatch.setattr(kind, "__init__", spoilt(kind.__init__))
    assert str(ArgumentError("name", 1, "Right.")) == NONSENSE
    assert InfeasibleDesignError("Wrong.", "Right.").suggestion == NONSENSE


def design_of(**changes: object) -> Design:
    usual = {
        "loss": Logistic(),
        "mechanism": "output",
        "budget": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        "regularization": 0.01,
        "n_records": 1_000,
    }
    return Design(**(usual | changes))


def split_locked(total: str, **locked: str) -> object:
    third = Decimal(total) / 4
    budget = PureDP(model=Decimal(total) - 2 * third, hessian=third, covariance=third)
    fit = FITS["logistic"]
    return best_split(
        fit, design=design_of(budget=budget, regularization=fit.regularization), locked=locked
    )


def refused(ask: Callable[[], object]) -> Exception:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its words are nonsense
        ask()
    return caught.value


TINY = {"n_records": 100_000, "regularization": 1e-8, "loss": Logistic()}
ARGUMENTS = [
    (lambda: design_of(regularization=-1), "The penalty c is -1, but has to be above 0."),
    (
        lambda: design_of(regularization=1e9),
        "The penalty c is 1000000000.0, but has to be between 10⁻¹⁰ and 1,000,00",
    ),
    (
        lambda: design_of(confidence_level=2),
        "The confidence level is 2, but has to be between 0 and 1.",
    ),
    (lambda: HuberSVM(h=0), "The width h is 0, but has to be above 0."),
    (
        lambda: HuberSVM(h=1e7),
        "The width h is 10000000.0, but has to be between 0.0001 and 1,000,000.",
    ),
    (
        lambda: records_in_range(0),
        "The number of records n is 0, but has to be a whole number >= 1.",
    ),
    (
        lambda: records_in_range(2 * 10**15),
        "The number of records n is 2,000,000,000,000,000, but has to be betw",
    ),
    (
        lambda: PureDP(model="0", hessian=1, covariance=1),
        "The part for the coefficients is 0, but has to be above 0.",
    ),
    (
        lambda: PureDP(model=1, hessian="x", covariance=1),
        "The part for the Hessian is “x”, but has to be a number.",
    ),
    (
        lambda: PureDP(model=1, hessian=1, covariance=None),
        "The part for the gradient covariance has to be a number",
    ),
    (
        lambda: design_of(budget=PureDP(model="1e-13", hessian=1, covariance=1)),
        "The part for the coefficients is 1E-13, but has to be between 10⁻¹² and 10²⁰.",
    ),
    (lambda: ApproxDP("1", "2", ("0.5", "0.25", "0.25")), "δ is 2, but has to be below 1."),
    (
        lambda: ApproxDP("1e300", "0.1", ("0.5", "0.25", "0.25")),
        "ε is 1E+300, but has to be between 10⁻¹² and 10²",
    ),
    (lambda: Cap.pure("1e30"), "ε is 1E+30, but has to be between 10⁻³⁰ and 10²⁰."),
    (lambda: Cap.approx("1", "x"), "δ is “x”, but has to be a number."),
    (lambda: Cap.pure("2,32"), "ε is “2,32”, but has to be a number with a decimal point."),
    (lambda: Target(-1.0), "The length is -1.0, but has to be above 0."),
    (
        lambda: check_choice("worst", ("a", "b"), name="rule"),
        "rule is “worst”, but has to be one of 'a', 'b'.",
    ),
    (lambda: check_line(unit=" "), "What one row stands for has to say something."),
    (lambda: check_line(title=201 * "x"), "title has to have at most 200 characters, got 201."),
    (lambda: one_line("", name="person"), "Your name has to say something."),
    (
        lambda: dataset_name("--"),
        "The name of the data set has to have a letter or a digit, got '--'.",
    ),
    (
        lambda: one_line("", name="unit"),
        "What one row stands for has to say something.",
    ),
]
DESIGNS = [
    (
        lambda: objective_noise_rate(epsilon=0.01, **TINY),
        "The penalty c is 1e-08, but has to be above 0.000124 for objective perturbation with this "
        "budget and n = 100,000. The smallest c that works is 0.000125.",
    ),
    (
        lambda: gaussian_objective_sd(rho=0.01, **TINY),
        "The penalty c is 1e-08, but has to be above 1.55e-05 for Gaussian objective perturbation "
        "with this budget and n = 100,000. The smallest c that works is 1.55e-05.",
    ),
    (
        lambda: pair_budget(
            ZCDP(model="5e-13", hessian="3e-13", covariance="2e-13"),
            rule="guarantee",
            delta="0.001",
        ),
        "A rho of 1.0E-12 already means epsilon = 0 at delta = 0.001, … a total of … or more, or a "
        "delta of … or less.",
    ),
    (
        lambda: check_feasible(replace(design_of(regularization=1e-9), n_records=10**6), dim=37),
        "With c = 1e-09, n = 1,000,000 and 37 coefficients the fit cannot be certified to 1e-…a "
        "larger h.",
    ),
    (
        lambda: split_locked("0.2", hessian="0.3", covariance="0.1"),
        "The locked parts take 0.40 of the total 0.20. Unlock a part or choose a total of 0.401.",
    ),
    (
        lambda: split_locked("0.2", model="0.1", hessian="0.05", covariance="0.01"),
        "The locked parts take 0.16 of the total 0.20. The total must be 0.16.",
    ),
    (
        lambda: _raise(BudgetExceededError(Decimal(2), Decimal("0.5"), symbol="rho")),
        "This would cost rho 2, but rho 0.5 of the budget is left, and nothing was booked. Choose "
        "a plan that costs at most rho 0.5.",
    ),
]


def _too_small() -> Exception:
    return without_frames(refused(lambda: objective_noise_rate(epsilon=0.01, **TINY)))


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(("ask", "words"), ARGUMENTS, ids=[words for _, words in ARGUMENTS])
def test_arguments_keep_their_names_and_numbers(ask, words, nonsense):
    assert in_words(refused(ask)).startswith(words)


@pytest.mark.parametrize(("ask", "words"), DESIGNS, ids=[words for _, words in DESIGNS])
def test_designs_keep_their_names_and_numbers(ask, words, nonsense):
    said = in_words(refused(ask))
    for part in words.split("…"):
        assert part in said


_SPREAD = {"source", "entry", "n_entries", "n_records", "dated", "latest"}
"""Facts that a check of the ledger hands on together."""


@functools.cache
def raised_facts() -> list[tuple[str, str, set[str]]]:
    """Place, code and the names of the facts of every error with a code that the core makes."""
    coded = {kind.__name__ for kind in kinds(CodedError)} | {"CodedError", "Finding"}
    found = []
    for path in sorted((ROOT / "dpci_core").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            made = isinstance(node.func, ast.Name) and node.func.id in coded
            asked = ast.unparse(node.func) == "super().__init__" and path.stem == "problems"
            if made or asked:
                codes = [
                    part.value
                    for part in ast.walk(node.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                names = {str(keyword.arg) for keyword in node.keywords}
                names |= _SPREAD if "None" in names else set()
                found += [(f"{path.name}:{node.lineno}", code, names) for code in codes]
    return found


def test_every_code_has_a_sentence_and_every_sentence_a_code():
    named = {code for _, code, _ in raised_facts()}
    assert named <= set(SENTENCES)
    passed_on = {"label_not_a_sign", "row_norm_above_1", "row_not_finite", "row_outweighs_1"}
    unpacking = {"parquet_damaged", "unpacking_too_slow"}
    of_columns = {"cell_outside_bounds", "cell_to_predict_missing", "level_to_predict_unknown"}
    assert set(SENTENCES) - named == passed_on | unpacking | of_columns


def test_every_sentence_is_made_of_the_facts_that_are_given():
    for place, code, facts in raised_facts():
        wanted = {
            name.partition(".")[0] for _, name, _, _ in Formatter().parse(SENTENCES[code]) if name
        }
        assert wanted <= facts, place


CODED = [
    (lambda: read_upload(b"", "t.csv"), "The file is empty."),
    (
        lambda: read_upload(b"a,b\n1,2\nSECRET,2,3\n", "t.csv"),
        "Line 3 has another number of fields (3) than the first line (2).",
    ),
    (
        lambda: check_records([[0.1], [7.5]], [1, -1]),
        "Expected every row of X to have Euclidean norm at most 1; row 1 is the first of 1 that",
    ),
    (
        lambda: check_records([[0.1]], [3]),
        "Expected every label in y to be -1 or +1; row 0 is the first of 1 that break it.",
    ),
    (
        lambda: read_header("nowhere.csv"),
        "There is no nowhere.csv.",
    ),
    (
        lambda: _raise(TableError("file_changed")),
        "The file has changed since its header was read.",
    ),
    (
        lambda: fit_moments([[0.5], [-0.5]], [1, -1], loss=Logistic(), regularization=0.0),
        "The penalty c is 0.0, but has to be above 0.",
    ),
    (
        lambda: Cost(definition="pure", amount="0.3", lines=[("a", "0.1")]),
        "Expected the lines of a cost to add up to exactly 0.3, got 0.1.",
    ),
    (
        lambda: price(Cap.pure("1.5"), Cost(definition="zcdp", amount="0.1")),
        "The cap of this data set is a pure epsilon of 1.5, and a release under zCDP has no pure",
    ),
    (
        lambda: Ledger(ROOT / "none" / "ledger.sqlite").account("Census"),
        "The ledger has no data set 'Census'; it has none yet. Create it first.",
    ),
    (
        lambda: _raise(SamePeopleQuestionError("A", ("B", "C"))),
        "Are the people in 'A' the same as in 'B' or 'C', all or some of them?",
    ),
    (
        lambda: _raise(ReleaseRefusedError("another_release", folder=Path("out"))),
        "The folder out holds another release. Name a new folder.",
    ),
    (
        lambda: _raise(
            ReleaseFailedError("release_failed", reason=_too_small(), charge=7),
        ),
        "The penalty c is 1e-08, but has to be above 0.000124 for objective perturbation with this "
        "budget and n = 100,000. The smallest c that works is 0.000125. The charge 7 stays spent",
    ),
    (
        lambda: _raise(
            ReleaseFailedError("failure_not_noted", reason=Finding("out_of_memory"), charge=7)
        ),
        "There was not enough memory. The ledger could not note it: the charge stays booked.",
    ),
    (
        lambda: _raise(ReleaseLostError("release_lost", request="r1")),
        "The request 'r1' was booked before, and there is no result of it here",
    ),
    (
        lambda: _raise(
            ReleaseUnfinishedError(
                "release_unfinished",
                folder=Path("out"),
                charge=7,
                problem=LedgerRuleError("disk_full", path=Path("l.sqlite")),
            )
        ),
        "The release is in out, and its charge 7 is booked, but the ledger could not note the "
        "result. The disk of the ledger l.sqlite is full",
    ),
    (
        lambda: _raise(
            DownloadError(
                "download_unusable",
                title="Adult",
                reason=DataRejectedError("another_number_of_columns", found=3, wanted=15),
            )
        ),
        "The downloaded Adult cannot be used. It has 3 columns instead of 15.",
    ),
    (
        lambda: Newton(1e-15, max_iterations=1).minimise(
            PenalisedRisk(np.array([[0.5]]), loss=Logistic(), regularization=0.1)
        ),
        "The gradient norm is still ",
    ),
]


@pytest.mark.parametrize(("ask", "words"), CODED, ids=[words for _, words in CODED])
def test_errors_with_a_code_keep_their_places_and_limits(ask, words, nonsense):
    with pytest.raises((ValueError, RuntimeError)) as caught:
        ask()
    assert in_words(caught.value).startswith(words)
    again = pickle.loads(pickle.dumps(without_frames(caught.value)))
    assert in_words(again) == in_words(caught.value)


@pytest.mark.parametrize(
    "target",
    [Target(1e-7), Target(1e-7, 2), Target(coefficient=2, excludes_zero_at=-1e-9, probability=0.9)],
)
@pytest.mark.parametrize("search", [needed_records, needed_budget])
def test_a_target_out_of_reach_keeps_its_name_its_units_and_what_can_be_had(
    search, target, nonsense
):
    case = make_case(start_settings(), TableSource(PUBLIC))
    why = refused(lambda: search(case.moments, design=case.design, target=target))
    said = no_answer(why, replace(case, scale=0.5))
    assert NONSENSE not in said
    name = (
        "the mean interval"
        if target.coefficient is None
        else f"“{called(case.records.feature_names[2])}”"
    )
    assert name in said
    asked = 0.5 * (target.length or target.excludes_zero_at)
    assert f" {asked:.3g}" in said  # a target stays as it was typed
    most = 10**12 if search is needed_records else case.design.n_records
    assert f"t n = {most:,} " in said
    value = float(re.search(r"(?:a length of|value must be) (\S+) or", said)[1])
    assert value == pytest.approx(0.5 * why.changes[-1].value, rel=6e-3)
    assert abs(value) >= 0.5 * abs(why.changes[-1].value)


def test_a_mechanism_that_cannot_run_keeps_its_numbers(nonsense):
    fit = FITS["logistic"]
    rows = rank_mechanisms(
        fit, epsilon="0.001", delta="1e-6", regularization=fit.regularization, n_records=50
    )
    refused = [row for row in rows if row.refusal is not None and row.mechanism in MECHANISMS]
    said = [in_words(row.refusal) for row in refused]
    assert said
    for words in said:
        assert words.startswith(f"The penalty c is {fit.regularization}, but has to be above ")
        assert "n = 50. The smallest c that works is " in words


def test_a_field_of_a_plan_keeps_its_path(nonsense):
    said = in_words(refused(lambda: read_plan("version: 1\ntitle: ' '\n")))
    assert said == "source: This field is missing."


@pytest.mark.parametrize("page", ["explore", "coverage", "plan", "errors"])
def test_pages_keep_the_numbers(page, nonsense, patient):
    app = start(page, n="100", mechanisms="objective", find="precision")
    said = seen(app)
    assert NONSENSE not in said
    if page != "errors":
        assert "penalty c is 0.001, but has to be above 0.00193" in said
        assert "with this budget and n = 100. The smallest c that works is 0.00193." in said


def test_the_page_plan_keeps_names_and_units(nonsense, monkeypatch):
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    app = start("plan", goal="zero", goal_on="age", goal_value="0.00001", **SMALL)
    said = seen(app)
    assert NONSENSE not in said
    assert (
        "No budget makes it true with 20,000 records that the interval of “age” excludes zero"
        in said
    )
    assert "if the true value is 1e-05: without any noise" in said
    assert "at n = 20,000 the true value must be " in said


def test_a_budget_that_cannot_be_paired_keeps_its_numbers(nonsense):
    app = start(delta="0.1", currency="zcdp", split="0.0002~0.0002~0.0001", definitions="pure~zcdp")
    assert (
        "A rho of 0.0005 already means epsilon = 0 at delta = 0.1, which no pure budget can"
        in seen(app)
    )


def seen(app) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info)
    return "\n".join(element.value for kind in kinds for element in kind)


def test_a_refusal_travels_between_processes():
    """Workers hand errors over by pickling them, with all fields."""
    for ask, _ in (*ARGUMENTS, *DESIGNS):
        error = without_frames(refused(ask))
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


READS = {
    "replace",
    "removeprefix",
    "removesuffix",
    "split",
    "partition",
    "startswith",
    "endswith",
    "find",
    "index",
}
WORDS = {"message", "suggestion", "reason", "sentence", "args"}
"""Where an error or an answer keeps what it says to programmers."""


def read_prose(source: str) -> list[str]:
    """Places of a module where a pattern, a method of texts or `in` looks into the words of an
    error or an answer.
    """
    tree, found = ast.parse(source), []
    errors = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
    }

    def is_prose(node: ast.AST) -> bool:
        inner = list(ast.walk(node))
        return any(isinstance(n, ast.Attribute) and n.attr in WORDS for n in inner) or any(
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in ("str", "repr")
            and any(isinstance(a, ast.Name) and a.id in errors for a in n.args)
            for n in inner
        )

    for node in ast.walk(tree):
        looked_into: list[ast.AST] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if node.func.attr in READS:
                looked_into = [owner]
            elif isinstance(owner, ast.Name) and owner.id == "re":
                looked_into = list(node.args)
        elif isinstance(node, ast.Compare) and any(
            isinstance(op, ast.In | ast.NotIn) for op in node.ops
        ):
            looked_into = list(node.comparators)
        found += [f"{ast.unparse(part)}" for part in looked_into if is_prose(part)]
    return found


@pytest.mark.parametrize("top", ["ui", "dpci_core", "pages"])
def test_nobody_reads_our_own_prose(top):
    found = {}
    for path in sorted((ROOT / top).rglob("*.py")):
        if places := read_prose(path.read_text()):
            found[str(path.relative_to(ROOT))] = places
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "re.sub('a', 'b', str(error))",
        "str(error).removeprefix('a')",
        "'Expected' in str(error)",
        "error.suggestion.split()[0]",
        "goal.sentence.replace('coefficient 1', name)",
        "answer.reason.startswith('No')",
    ],
)
def test_reading_prose_is_seen(line):
    assert read_prose(f"try:\n    f()\nexcept ValueError as error:\n    {line}\n")


def test_showing_prose_is_not_reading_it():
    assert not read_prose(
        "try:\n    f()\nexcept ValueError as error:\n    print(str(error), text.replace('a', "
        "'b'))\n"
    )


def shown_as_it_is(source: str) -> list[str]:
    """Places where a module turns a caught error into text by itself."""
    tree, found = ast.parse(source), []
    errors = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name
    }

    def is_error(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in errors

    for node in ast.walk(tree):
        calls_str = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("str", "repr")
        )
        if (calls_str and any(map(is_error, node.args))) or (
            isinstance(node, ast.FormattedValue) and is_error(node.value)
        ):
            found.append(ast.unparse(node))
    return found


def test_pages_make_their_words_in_one_place():
    paths = [*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    assert {p.name: found for p in paths if (found := shown_as_it_is(p.read_text()))} == {}
    for line in ("st.error(str(problem))", "st.error(f'No: {problem}')"):
        assert shown_as_it_is(f"try:\n    f()\nexcept ValueError as problem:\n    {line}\n")
