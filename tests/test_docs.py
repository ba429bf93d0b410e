"""Documents name tests, files and commands that exist."""

from __future__ import annotations

import csv
import inspect
import json
import re
import runpy
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import dpci_core
from benchmarks import constants
from dpci_core.cli.main import main
from dpci_core.privacy.budget import PARTS
from dpci_core.privacy.randomness import SystemSource
from tests.questions import QUESTIONS
from tests.versions import RECORD, lowest, requirements
from ui.session.jobs import MOST_HELD, MOST_WAITING
from ui.session.quota import MB, Quota, most_minutes

ROOT = Path(__file__).resolve().parents[1]
SOAK = json.loads((ROOT / "docs" / "soak.json").read_text(encoding="utf-8"))
"""What `make soak` counted, by test."""


def test_the_table_of_questions_names_tests_that_exist():
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = {name for _, *tests in QUESTIONS.values() for name in tests}
    assert len(named) > 30
    assert all(tests for _, *tests in QUESTIONS.values())
    assert {str(row) for row in range(1, 34)} <= set(QUESTIONS)
    for name in named:
        is_file = name.endswith(".py")
        assert (ROOT / name).is_file() if is_file else f"def {name}(" in sources, name


def anchors_of(document: Path) -> set[str]:
    """What a link can name of a document: its headings as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in kept}


def test_links_between_documents_lead_somewhere():
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")):
        for target, anchor in re.findall(
            r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", document.read_text(encoding="utf-8")
        ):
            there = document.parent / target if target else document
            assert there.exists(), f"{document.name} names {target}"
            if anchor and there.suffix == ".md":
                assert anchor in anchors_of(there), f"{document.name} names {target}#{anchor}"


PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))


def test_code_names_proofs_that_exist():
    named = {
        (place.name, *found)
        for folder in ("dpci_core", "ui", "tests")
        for place in (ROOT / folder).rglob("*.py")
        for found in re.findall(
            r"docs/(proofs/[\w-]+\.md)(?:#([\w-]+))?", place.read_text(encoding="utf-8")
        )
    }
    assert len(named) > 40
    for place, document, anchor in named:
        there = ROOT / "docs" / document
        assert there.is_file(), f"{place} names {document}"
        assert not anchor or anchor in anchors_of(there), f"{place} names {document}#{anchor}"


@pytest.mark.parametrize("proof", PROOFS, ids=[proof.stem for proof in PROOFS])
def test_a_proof_names_tests_and_code_that_exist(proof):
    """Every part says which code computes it, and which tests attack it."""
    text = proof.read_text(encoding="utf-8")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    tests = set(re.findall(r"`(test_\w+)`", text))
    assert len(tests) >= 10
    assert [name for name in sorted(tests) if f"def {name}(" not in sources] == []
    for file in re.findall(r"`((?:tests|docs)/[\w/]+\.\w+)`", text):
        assert (ROOT / file).is_file(), file
    names = {name for name in re.findall(r"`([a-z_]+(?:\.\w+)+)`", text) if "/" not in name}
    names -= {name for name in names if name.endswith((".py", ".json", ".txt"))}
    assert len(names) >= 6
    assert [name for name in sorted(names) if not is_code(name)] == []


def is_code(name: str) -> bool:
    """Whether a dotted name is a module of `dpci_core`, or what one has; its package may be left
    out, as that of a name which is plain."""
    packages = ["dpci_core", *(f"dpci_core.{path.name}" for path in (ROOT / "dpci_core").iterdir())]
    parts = name.split(".")
    if parts[0] == "budget":
        return parts[1] in ("metric", *PARTS)
    for package in packages:
        for size in range(len(parts), 0, -1):
            path = ROOT / "/".join([*package.split("."), *parts[:size]])
            if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
                found: Any = import_module(".".join([package, *parts[:size]]))
                for part in parts[size:]:
                    found = getattr(found, part, None)
                if found is not None:
                    return True
    return False


def test_the_list_of_what_leaves_and_the_table_of_draws_are_whole():
    """Whoever adds a mechanism adds a line to both: docs/proofs/release.md."""
    text = (ROOT / "docs" / "proofs" / "release.md").read_text(encoding="utf-8")
    leaves = text.partition("## What leaves")[2].partition("\n## ")[0]
    for name in (
        *("coefficients", "`hessian_at`", "`not_reportable`", "`covers`", "`warnings`", "H, S in"),
        *("`second_moment`", "`coef_`", "`classes_`", "`share_clipped_`", "private tuning"),
        *("`released_at`", "that it failed", "exports", "experiments"),
    ):
        assert name in leaves, name
    draws = text.partition("## Noise")[2].partition("\n## ")[0]
    methods = [
        name for name in vars(SystemSource) if name.startswith(("add_", "spherical", "gaussian"))
    ]
    methods += ["permutation", "noisy_max", "below"]
    assert {name for name in vars(SystemSource) if not name.startswith("_")} == set(methods)
    for name in methods:
        assert f"`{name}`" in draws, name


def test_addresses_of_pages_are_those_of_pages():
    """Any other address shows Explore, and says nothing."""
    pages = {path.stem for path in (ROOT / "pages").glob("*.py")}
    places = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "pages").glob("*.py")]
    places += [*(ROOT / "docs").rglob("*.ipynb"), *(ROOT / "ui").rglob("*.[pj][ys]")]
    found = [
        (place.name, "".join(names))
        for place in places
        for names in re.findall(
            r"localhost:8501/(\w+)|\]\(/?(\w+)\?|\]\(/(\w+)\)|\blink\(\"(\w+)\"|href=\W+(\w+)\?"
            r"|f\"(\w+)\?\{urlencode|pages/(\w+)\.py\"",
            place.read_text(encoding="utf-8"),
        )
    ]
    assert {"learn", "plan", "explore", "ledger"} <= {name for _, name in found}
    assert [one for one in found if one[1] not in pages] == []


@pytest.mark.filterwarnings("ignore:'myst_parser.*' is deprecated")  # theirs, of each other
def test_the_site_is_built_and_its_reference_shows_every_public_name_with_words(tmp_path):
    site = runpy.run_path(str(ROOT / "docs" / "site.py"))
    source, folder = tmp_path / "source", tmp_path / "site"
    source.mkdir()
    assert site["write"](folder, source) == []
    rooms = ["dpci_core", *(f"dpci_core.{room}" for room in site["packages"]())]
    assert {
        "dpci_core.plan",
        "dpci_core.ledger",
        "dpci_core.estimators",
        "dpci_core.privacy",
    } < set(rooms)
    assert not [room for room in rooms if room.endswith(("cli", "__main__"))]
    for room in rooms:
        page = (folder / "api" / f"{room}.html").read_text(encoding="utf-8")
        module = import_module(room)
        shown = set(re.findall(rf'id="{re.escape(room)}\.(\w+)"', page))
        rooms_shown = {x for x in getattr(module, "__all__", ()) if f"{room}.{x}" in rooms}
        shown |= set(re.findall(r'href="dpci_core.html#dpci_core\.(\w+)"', page))
        assert set(getattr(module, "__all__", ())) - rooms_shown <= shown
        made_here = [x for x in vars(module).values() if getattr(x, "__module__", None) == room]
        public = {x.__name__ for x in made_here if not x.__name__.startswith("_") and callable(x)}
        assert public <= shown or hasattr(module, "__all__"), room
    words = {name: inspect.getdoc(getattr(dpci_core, name)) for name in dpci_core.__all__}
    assert [name for name, text in words.items() if not text] == []
    front = (folder / "api" / "dpci_core.html").read_text(encoding="utf-8")
    assert "neighbours" in front
    assert "<strong>Privacy</strong>" in front
    for page in ("README", "NOTATION", "CHANGELOG", *(f"docs/{name}" for name in site["GUIDES"])):
        assert (folder / f"{page}.html").is_file()
    assert (folder / "searchindex.js").is_file()
    pages = {page: page.read_text(encoding="utf-8") for page in folder.rglob("*.html")}
    for page, text in pages.items():
        for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", text):
            assert not re.search(r"(?:src|href)=[\"']?(?:\w+:)?//", tag), f"{page.name}: {tag}"
    assert "<math" in pages[folder / "docs" / "proofs" / "gaussian.html"]
    assert site["_for_mathml"](r"\frac12x^22^{-53}\lvert a\rvert") == (
        r"\frac{1}{2}x^{2}2^{-53}\left| a\right|"
    )
    styles = "".join(sheet.read_text(encoding="utf-8") for sheet in folder.rglob("*.css"))
    assert not re.search(r"url\([\"']?(?:\w+:)?//|@import", styles)


def test_the_versions_on_record_are_those_that_are_allowed():
    _, python, *rows = csv.reader(RECORD.read_text(encoding="utf-8").splitlines())
    assert python[0] == "Python"
    found = {name: (oldest, newest) for name, oldest, newest in rows}
    wanted = {
        requirement.name.lower(): requirement
        for requirement in requirements(ROOT / "requirements.txt")
    }
    assert set(found) == set(wanted)
    for name, (oldest, newest) in found.items():
        assert oldest in wanted[name].specifier
        assert newest in wanted[name].specifier
        pin = lowest(wanted[name]).partition("==")[2]
        assert oldest.removesuffix(".0").startswith(pin.removesuffix(".0"))


def soaked(name: str) -> list[dict[str, Any]]:
    """What the soak tests of this name counted."""
    return [found for test, found in SOAK.items() if name in test]


def test_the_page_of_attacks_has_the_figures_of_its_file_and_no_fault():
    (kills,) = (one["found"] for one in soaked("test_killed_a_thousand_times"))
    ends = [one["outcomes"] for one in soaked("test_sigterm.py")]
    bits = [
        one[matrix] for one in soaked("test_last_bits.py") for matrix in ("hessian", "covariance")
    ]
    right, wrong = (
        sum(int(n) for one in bits for n in re.findall(rf"{word} (\d+)", one))
        for word in ("right", "wrong")
    )
    audits = [one["log ratio, at least"] for one in soaked("long_audit")]
    assert kills["faults"] == []
    assert {end for one in ends for end in one} <= {"may go on, went on", "done, released"}
    assert {one["outcome"] for one in soaked("test_last_bits")} == {"passed"}
    assert max(audits) <= 2.0
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| ([\d,]+) \| (\d+) \| (.*) \| `make soak`", page, re.MULTILINE)
    assert [(tries, faults) for tries, faults, _ in rows] == [
        (f"{tries:,}", "0")
        for tries in (
            sum(kills["outcomes"].values()),
            sum(sum(one.values()) for one in ends),
            right + wrong,
            40_000 * len(audits),
        )
    ]
    assert f"{kills['charges']:,} charges, {kills['draws']:,} draws, none twice" in rows[0][2]
    assert f"{right:,} right, {wrong:,} wrong" in rows[2][2]
    assert f"at least {max(audits):g} seen" in rows[3][2]


def test_the_page_of_attacks_has_the_limits_of_a_process():
    usual, demo = {"DPCI_VISITORS": "200"}, {"DPCI_PUBLIC_DEMO": "1", "DPCI_VISITORS": "200"}
    limits = [
        [
            quota.visitors,
            quota.visitors_each,
            quota.upload // MB,
            quota.upload_session // MB,
            quota.upload_all // MB,
            most_minutes(environment),
            MOST_WAITING,
            MOST_WAITING // 2,
            MOST_HELD // MB,
        ]
        for environment in (usual, demo)
        for quota in (Quota.from_environment(environment),)
    ]
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
    assert rows == [(f"{own}", f"{public}") for own, public in zip(*limits, strict=True)]


def test_whoever_ends_the_dashboard_waits_longer_than_it_does():
    source = (ROOT / "app.py").read_text(encoding="utf-8")
    patience = float(re.search(r"^PATIENCE_SECONDS = ([\d.]+)", source, re.MULTILINE)[1])
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    given = re.findall(r"(?:TimeoutStopSec=|--stop-timeout )(\d+)", text)
    assert len(given) == 2
    assert min(map(float, given)) > patience


def test_what_releases_answer_afterwards_is_told_as_it_was_counted():
    counted = [one["held"] for one in soaked("test_what_many_whole")]
    page = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
    assert len(counted) == 2
    for held in counted:
        for what in ("all intervals at once", "simultaneous intervals", "contrast"):
            assert held[what].split(",")[0].removeprefix("0") in page


NAMED = re.compile(r"python -m ((?:benchmarks|docs|tests)(?:\.\w+)+)([^`\n\"]*)")
OWN = re.compile(
    r"(?:python -m dpci_core|(?:^[ \t]*|`)dpci) ([a-z][a-z-]*)(?![\w.]| =)([^`\n\"]*)",
    re.MULTILINE,
)
OPTION = re.compile(r"(?<!\S)\[?(--[a-z][a-z-]*)")


def quoted() -> list[tuple[str, str]]:
    """Every place that may quote a command: its name and its text, continued lines joined."""
    places = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    places += [ROOT / "Makefile", ROOT / "Dockerfile", ROOT / "app.py"]
    for folder in ("benchmarks", "dpci_core", "pages", "ui"):
        places += (ROOT / folder).rglob("*.py")
    return [
        (place.name, re.sub(r"\\\n\s*", " ", place.read_text(encoding="utf-8"))) for place in places
    ]


def test_every_command_of_a_module_that_is_quoted_exists():
    found = [(where, *one) for where, text in quoted() for one in NAMED.findall(text)]
    assert {"benchmarks.reproduce", "benchmarks.compare", "tests.versions", "docs.site"} <= {
        module for _, module, _ in found
    }
    for where, module, rest in found:
        path = ROOT / f"{module.replace('.', '/')}.py"
        assert path.is_file(), f"{where} quotes python -m {module}"
        source = path.read_text(encoding="utf-8")
        assert '__name__ == "__main__"' in source, f"{where} quotes python -m {module}"
        if "add_options" in source:
            source += (ROOT / "benchmarks" / "study.py").read_text(encoding="utf-8")
        for option in OPTION.findall(rest):
            assert f'"{option}"' in source, f"{where} quotes {module} {option}"
        if module == "benchmarks.constants" and (name := re.match(r" ([a-z][a-z-]*)", rest)):
            assert name[1] in constants.MEASUREMENTS, f"{where} quotes {module} {name[1]}"


def help_of(capsys, *command: str) -> str:
    """What the command line says of one of its commands; empty where it has none of this name."""
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    shown = capsys.readouterr().out
    return shown if ended.value.code == 0 else ""


def test_every_command_of_the_command_line_that_is_quoted_exists(capsys):
    said = cache(partial(help_of, capsys))
    checked = 0
    for where, text in quoted():
        for name, rest in OWN.findall(text):
            command = (name,)
            assert said(*command), f"{where} quotes dpci {name}"
            if "ACTION" in said(*command) and (action := re.match(r" ([a-z][a-z-]*)(?!\S)", rest)):
                command = (name, action[1])
                assert said(*command), f"{where} quotes dpci {' '.join(command)}"
            for option in OPTION.findall(rest.split("#")[0]):
                assert option in said(*command), f"{where} quotes {command} {option}"
            checked += 1
    assert checked > 30
