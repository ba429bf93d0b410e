"""The package as a stranger gets it: built without the network, installed in a fresh environment,
run elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import tomllib
import urllib.request
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.browser.driver import server_process
from tests.versions import TESTS, lowest, requirements

ROOT = Path(__file__).resolve().parents[1]
BIN = "Scripts" if sys.platform == "win32" else "bin"
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CONFIG_FILE": os.devnull}
PACKED = ("dpci_core", "ui", "pages", "data", "app.py", ".streamlit", "docs")
COMMANDS = (
    "app",
    "data",
    "moments",
    "plan",
    "ledger",
    "release",
    "predict",
)


def run(*line: str | Path, folder: Path, **env: str) -> str:
    """Run a command from another folder, without the variables of this one, and give its output."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "DPCI_", "PIP_"))
    }
    done = subprocess.run(
        list(map(str, line)),
        cwd=folder,
        env=kept | env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        ROOT,
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
    ]
    run(*build, folder=folder, **OFFLINE)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def fresh(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a new environment with the wheel in it; the dependencies are those of the
    tests.
    """
    home = tmp_path_factory.mktemp("fresh")
    venv.create(home)
    scripts = home / BIN
    own = run(
        scripts / "python",
        "-c",
        "import sysconfig; print(sysconfig.get_path('purelib'))",
        folder=home,
    ).strip()
    Path(own, "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        scripts / "python",
        "install",
        "--no-deps",
        wheel,
    ]
    run(*install, folder=home, **OFFLINE)
    return scripts


def test_the_wheel_holds_what_is_tracked_and_nothing_else(wheel: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *PACKED], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a checkout of the repository")
    wanted = {
        path
        for path in tracked
        if not path.startswith("docs/") or re.fullmatch(r"docs/(proofs/)?[^/]*\.md", path)
    }
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert sorted(name.removeprefix("dpci_core/_app/") for name in names) == sorted(wanted)
    assert {name.split("/")[0] for name in names} == {"dpci_core"}
    assert not (ROOT / "dpci_core" / "_app").exists()


def test_a_table_that_somebody_left_there_is_never_packed() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "hatch"
    ]["build"]["include"]
    assert sum(pattern.startswith("/data/") for pattern in patterns) >= 8
    for pattern in patterns:
        wild = "*" in pattern or "." not in pattern.rpartition("/")[2]
        assert not wild or pattern.endswith((".py", ".md", ".html", ".svg"))
        assert not (wild and pattern.startswith("/data"))


def test_only_one_room_knows_where_files_are() -> None:
    sources = [p for top in ("dpci_core", "ui", "pages") for p in (ROOT / top).rglob("*.py")]
    found = {
        str(p.relative_to(ROOT)) for p in sources if "parents[" in p.read_text(encoding="utf-8")
    }
    assert found == {"ui/shell.py", "dpci_core/base/places.py"}, (
        "take HOME or DATA from dpci_core.base.places"
    )


def test_the_dependencies_are_those_of_requirements_txt(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        (path,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(packed.read(path).decode())
    found = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    others = {w.name.lower(): str(w.specifier) for w in found if w.name != metadata["Name"]}
    core = {wanted.name for wanted in found if wanted.marker is None}
    wanted = {w.name.lower(): str(w.specifier) for w in requirements(ROOT / "requirements.txt")}
    tested = {w.name: str(w.specifier) for w in requirements(ROOT / "requirements-dev.txt")}
    assert others == wanted | {"dask": tested["dask"]}
    assert core < wanted.keys() - {"streamlit", "plotly", "opendp", "pyarrow"}
    assert len(core) > 5
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"


def test_every_dependency_has_a_lowest_version_to_try() -> None:
    pins = [lowest(wanted) for wanted in requirements(ROOT / "requirements.txt")]
    assert "numpy==2.2" in pins
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", pin) for pin in pins)
    assert "pytest" in {tool.name for tool in requirements(ROOT / "requirements-dev.txt")}
    assert all((ROOT / path).exists() for path in TESTS)


def test_the_core_is_there_and_no_name_of_the_dashboard_is(fresh: Path, tmp_path: Path) -> None:
    code = (
        "import dpci_core, importlib.util as u; print(dpci_core.__file__, *map(u.find_spec, ('ui', "
        "'pages', 'app')))"
    )
    place, *others = run(fresh / "python", "-c", code, folder=tmp_path).split()
    assert Path(place).is_relative_to(fresh.parent)
    assert others == ["None"] * 3


def test_the_command_shows_every_room_and_its_own_name(fresh: Path, tmp_path: Path) -> None:
    text = run(fresh / "dpci", "--help", folder=tmp_path, COLUMNS="120")
    assert text.startswith("usage: dpci [-h]")
    assert [name for name in COMMANDS if not re.search(rf"^    {name}\b", text, re.MULTILINE)] == []
    assert run(fresh / "python", "-m", "dpci_core", "--help", folder=tmp_path).startswith(
        "usage: python -m dpci_core"
    )
    listed = json.loads(run(fresh / "dpci", "data", "list", "--json", folder=tmp_path))
    assert "census" in {row["key"] for row in listed}


def test_the_installed_app_finds_its_files_and_draws_its_pages(fresh: Path, tmp_path: Path) -> None:
    code = """if True:
        import json
        from streamlit.testing.v1 import AppTest
        from dpci_core.base import places
        app = AppTest.from_file(str(places.HOME / "ui" / "shell.py"), default_timeout=120)
        app.query_params["evidence"] = "replication"
        app.run()
        from ui.evidence import errors
        from ui.evidence.lengths import rivals, rows
        from ui.evidence.replication import tab
        files = [errors.PRINTED_FILE, errors.RUN_FILE, rivals.RIVALS_FILE]
        files += [rows.COMPARISON_FILE, tab.PUBLISHED_FILE, tab.RUN_FILE]
        shown = {}
        for page in ("explore", "evidence"):
            app.switch_page(str(places.HOME / "pages" / f"{page}.py")).run()
            shown[page] = [e.value for e in app.exception], "".join(m.value for m in app.markdown)
        print(json.dumps([places.HOME.name, [str(f) for f in files if not f.is_file()], shown]))"""
    home, missing, shown = json.loads(
        run(fresh / "python", "-c", code, folder=tmp_path).splitlines()[-1]
    )
    assert (home, missing) == ("_app", [])
    assert [problems for problems, _ in shown.values()] == [[], []]
    note = "Differences are in standard errors of the difference"
    assert note in shown["evidence"][1]  # below the tables, a document
    assert shown["explore"][1] not in ("", shown["evidence"][1])


def test_the_installed_app_starts_elsewhere_with_its_own_settings(
    fresh: Path, tmp_path: Path
) -> None:
    other = tmp_path / ".streamlit"
    other.mkdir()
    (other / "config.toml").write_text('[server]\naddress = "0.0.0.0"\n', encoding="utf-8")

    def command(port: int) -> list[str]:
        return [str(fresh / "dpci"), "app", "--port", str(port)]

    with server_process(command, tmp_path, HOME=str(tmp_path)) as server:
        port = int(server.address.rpartition(":")[2])
        with urllib.request.urlopen(f"{server.address}/explore", timeout=10) as answer:
            assert answer.headers["x-frame-options"] == "DENY"  # app.py, not the bare script
        if sys.platform.startswith("linux"):
            with socket.socket() as probe:
                probe.settimeout(5)
                assert (
                    probe.connect_ex(("127.0.0.2", port)) != 0
                )  # this machine only, whatever the folder says
    assert server.process.returncode is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == [".streamlit"]


@pytest.mark.parametrize("port", ["0", "65536", "-1", "x", "٣"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    from dpci_core.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main(["app", f"--port={port}"])
    assert stopped.value.code == 2
    assert "whole number from 1 to 65535" in capsys.readouterr().err
