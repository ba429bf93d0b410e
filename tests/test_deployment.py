"""How the dashboard is run elsewhere: the container's recipe read line by line, and its command run
without Docker.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from tests.browser.driver import free_port
from tests.versions import requirements
from ui.gate import HEADERS, LARGEST_MESSAGE

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
BASE = "some/path"
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
"""Before a command of root: it may then no longer write what is marked as read-only."""


def instructions() -> list[tuple[str, str]]:
    """Name and argument of every instruction, continued lines joined."""
    lines = re.sub(r"\\\n", " ", DOCKERFILE).splitlines()
    return [
        tuple(line.split(maxsplit=1)) for line in lines if line.strip() and not line.startswith("#")
    ]  # type: ignore[misc]


def arguments(name: str) -> list[str]:
    return [argument for found, argument in instructions() if found == name]


def environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for argument in arguments("ENV") for pair in argument.split())


def copied() -> list[tuple[str, str]]:
    """Source and destination of every COPY."""
    pairs = []
    for argument in arguments("COPY"):
        *sources, target = argument.split()
        pairs += [(source, target) for source in sources]
    return pairs


def command(name: str) -> list[str]:
    """A command in exec form; a shell between Docker and Python would swallow the signal to
    stop.
    """
    (argument,) = arguments(name)
    return json.loads(argument[argument.index("[") :])


def is_ignored(path: str) -> bool:
    """What .dockerignore says of a path: the last pattern that matches decides, also by a folder
    above.
    """
    ignored = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        pattern = (
            re.escape(line.removeprefix("!")).replace(r"\*\*/", "(.+/)?").replace(r"\*\*", ".+")
        )
        if re.fullmatch(pattern.replace(r"\*", "[^/]*") + "(/.*)?", path):
            ignored = not line.startswith("!")
    return ignored


def test_the_container_runs_without_rights():
    names = [name for name, _ in instructions()]
    user = arguments("USER")
    assert len(user) == 1
    assert all(int(part) >= 1000 for part in user[0].split(":"))
    assert names.index("USER") > max(i for i, name in enumerate(names) if name in ("RUN", "COPY"))
    assert "sudo" not in DOCKERFILE
    assert not any(
        "--chown" in argument for argument in arguments("COPY")
    )  # the code belongs to root


def test_the_container_writes_to_its_volume_and_to_tmp_only():
    assert arguments("VOLUME") == ["/var/lib/dpci"]
    places = {
        name: environment()[name]
        for name in ("DPCI_LEDGER", "DPCI_LEDGER_KEYS", "DPCI_DATA_DIR", "NUMBA_CACHE_DIR", "HOME")
    }
    assert all(
        Path(place).is_relative_to("/var/lib/dpci") or Path(place).is_relative_to("/tmp")
        for place in places.values()
    )
    assert environment()["DPCI_LEDGER"] == "/var/lib/dpci/ledger.sqlite3"
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"


def test_the_container_listens_and_says_how_it_is():
    assert environment()["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"
    assert command("CMD")[:5] == ["python", "-m", "streamlit", "run", "app.py"]
    assert command("HEALTHCHECK")[:2] == ["python", "-c"]


def test_packages_come_before_the_code_and_nothing_secret_comes_at_all():
    sources = [source for source, _ in copied()]
    assert sources[0] == "requirements.lock"
    assert "." not in sources
    assert not [
        source
        for source in sources
        if re.search(r"secret|\.env|ledger|\.key|\.git|\.venv|tests", source)
    ]
    assert not re.search(r"(?i)(secret|token|password|key)\s*=", DOCKERFILE)
    assert not arguments("ADD")


def test_the_container_carries_the_licences_of_what_it_installs(tmp_path):
    (line,) = [run for run in arguments("RUN") if run.startswith("pip-licenses ")]
    command, *options = line.split()
    line = [Path(sys.executable).with_name(command), *options[:-1], "--output-file=all.txt"]
    assert options[-1] == "--output-file=LICENCES.txt"
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "all.txt").read_text()
    for wanted in requirements(ROOT / "requirements.txt"):
        assert re.search(rf"^{re.escape(wanted.name)}$", text, re.MULTILINE | re.IGNORECASE)
    assert "Redistribution and use in source and binary forms" in text  # texts, not only names


def test_the_documented_run_has_limits():
    text = " ".join((ROOT / "docs" / "operations.md").read_text().replace("\\\n", " ").split())
    (run,) = re.findall(r"docker run (.*?) dpci ```", text)
    for limit in ("--memory 3g", "--pids-limit 1024", "--read-only", "--cap-drop ALL"):
        assert limit in run


def test_the_container_installs_what_is_locked_with_hashes_within_the_ranges():
    """Every package of requirements.txt, and the login's."""
    assert any("--require-hashes -r requirements.lock" in run for run in arguments("RUN"))
    text = (ROOT / "requirements.lock").read_text()
    entries = [
        entry
        for entry in re.split(r"\n(?=\S)", text.replace("\\\n", " "))
        if not entry.startswith("#")
    ]
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)
    locked: dict[str, set[str]] = {}
    for entry in entries:
        pin = Requirement(entry.split("--hash")[0].strip())
        assert pin.url is None
        (version,) = pin.specifier
        assert version.operator == "=="
        locked.setdefault(canonicalize_name(pin.name), set()).add(version.version)
    for wanted in requirements(ROOT / "requirements.txt"):
        assert locked[canonicalize_name(wanted.name)]
        assert all(
            wanted.specifier.contains(found) for found in locked[canonicalize_name(wanted.name)]
        )
    assert "authlib" in locked


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".venv/bin/python",
        ".streamlit/secrets.toml",
        "ledger.sqlite3",
        "ledger.sqlite3-wal",
        "dpci_core/ledger.sqlite3",
        "data/ledger.key",
        "data/patients.csv",
        "ui/.env",
        "ui/secrets.toml",
        "patients.parquet",
        "tests/test_deployment.py",
        "dpci_core/__pycache__/design.pyc",
        "docs/screenshots/explore-light-1280.png",
    ],
)
def test_what_stays_out_of_the_image(path):
    assert is_ignored(path)


def test_everything_the_program_reads_gets_into_the_image():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a checkout of the repository")
    folders = ("dpci_core/", "ui/", "pages/", "data/")
    needed = [path for path in tracked if path.startswith(folders)] + [
        source for source, _ in copied() if "." in source
    ]
    assert not [path for path in needed if is_ignored(path)]
    for path in (path for path in needed if path.startswith(folders)):
        assert path.split("/")[0] in {source for source, _ in copied()}


def test_secrets_are_not_in_the_repository():
    assert ".streamlit/secrets.toml" in (ROOT / ".gitignore").read_text().split()


class Container:
    """The image's files and its command, without Docker: read-only files and a process without
    rights.
    """

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="dpci-"))
        self.code, self.tmp, self.volume = (self.home / name for name in ("code", "tmp", "volume"))
        self.home.chmod(0o755)
        for folder in (self.code, self.tmp, self.volume):
            folder.mkdir()
        for source, target in copied():
            place = self.code / (target if target != "./" else source)
            place.parent.mkdir(exist_ok=True)
            shutil.copytree(ROOT / source, place) if (ROOT / source).is_dir() else shutil.copy(
                ROOT / source, place
            )
        shutil.rmtree(self.code / "docs" / "screenshots", ignore_errors=True)
        self.files = self.listing()
        for path in [self.code, *self.code.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        self.port = free_port()
        line = [word.replace("8501", str(self.port)) for word in command("CMD")]
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in ("PATH", "LANG", "OMP_NUM_THREADS")
        }
        here = {
            name: self.local(value)
            for name, value in environment().items()
            if name != "STREAMLIT_SERVER_ADDRESS"
        }
        self.env = {**kept, **here, "TMPDIR": str(self.tmp), "STREAMLIT_SERVER_BASE_URL_PATH": BASE}
        prefix = WITHOUT_RIGHTS if os.geteuid() == 0 and shutil.which("setpriv") else []
        self.process = subprocess.Popen(
            [*prefix, sys.executable, *line[1:]],
            cwd=self.code,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def local(self, value: str) -> str:
        """The place outside a container that stands for one inside."""
        return value.replace("/var/lib/dpci", str(self.volume)).replace("/tmp", str(self.tmp), 1)

    def listing(self) -> list[str]:
        return sorted(str(path) for path in self.code.rglob("*"))

    def get(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        address = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(address, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def wait(self) -> None:
        for _ in range(900):
            assert self.process.poll() is None, self.process.stdout.read().decode()  # type: ignore[union-attr]
            try:
                if self.get(f"/{BASE}/_stcore/health")[2] == b"ok":
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("The server was not up within 90 seconds.")

    def stop(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        output, _ = self.process.communicate(timeout=60)
        return str(output.decode())

    def remove(self) -> None:
        self.process.kill()
        self.process.wait()
        for path in [self.code, *self.code.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(self.home)


@pytest.fixture(scope="module")
def container() -> Iterator[Container]:
    made = Container()
    try:
        made.wait()
        yield made
        output = made.stop()
        assert "Traceback" not in output
        assert made.listing() == made.files
    finally:
        made.remove()


def test_under_a_base_path_every_answer_carries_the_headers(container):
    for path in ("/", "/explore", "/_stcore/health"):
        status, headers, _ = container.get(f"/{BASE}{path}")
        assert status == 200
        assert {name: headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["metrics", "agent/openapi.json", "agent/interact"])
def test_the_closed_parts_are_closed_there_too(container, path):
    status, headers, body = container.get(f"/{BASE}/_stcore/{path}")
    assert (status, body) == (404, b"Not Found")
    assert {name: headers.get(name) for name in HEADERS} == HEADERS


def test_what_a_browser_loads_is_compressed(container):
    """The page's main script."""
    _, _, page = container.get(f"/{BASE}/")
    (main,) = re.findall(rb'src="\./(static/js/index[^"]+)"', page)
    _, headers, packed = container.get(f"/{BASE}/{main.decode()}", **{"Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == container.get(f"/{BASE}/{main.decode()}")[2]
    assert len(packed) < 0.4 * len(gzip.decompress(packed))


def test_a_message_is_as_long_on_the_line_as_in_memory_and_none_is_long(container):
    """A browser offers compression, by which a megabyte is a kilobyte on the line."""
    stream = f"ws://127.0.0.1:{container.port}/{BASE}/_stcore/stream"
    asked = BackMsg()
    asked.rerun_script.query_string = " " * (LARGEST_MESSAGE - 100)
    with connect(stream, subprotocols=[Subprotocol("streamlit")], proxy=None) as socket:
        assert "permessage-deflate" in socket.request.headers["Sec-WebSocket-Extensions"]
        assert "Sec-WebSocket-Extensions" not in socket.response.headers
        socket.send(asked.SerializeToString())
        assert socket.recv(timeout=60)
        asked.rerun_script.query_string += " " * 100
        socket.send(asked.SerializeToString())
        with suppress(ConnectionClosed):  # which 1009 is
            for _ in socket:
                pass  # what it still had to say of the first
        assert socket.close_code == 1009


def test_the_health_check_of_the_image_passes(container):
    check = [
        sys.executable,
        *(word.replace("8501", str(container.port)) for word in command("HEALTHCHECK")[1:]),
    ]
    assert (
        subprocess.run(check, env=container.env, check=False, capture_output=True).returncode == 0
    )
    wrong = {**container.env, "STREAMLIT_SERVER_BASE_URL_PATH": "elsewhere"}
    assert subprocess.run(check, env=wrong, check=False, capture_output=True).returncode != 0


def test_an_upload_needs_a_page_of_its_own(container):
    assert container.get(f"/{BASE}/_stcore/upload_file/a/b", "PUT")[0] == 404


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="127.0.0.2 is this machine on Linux only"
)
def test_without_a_word_the_server_answers_this_machine_only(container):
    with socket.socket() as probe:
        probe.settimeout(5)
        assert probe.connect_ex(("127.0.0.1", container.port)) == 0
    with socket.socket() as probe:
        probe.settimeout(5)
        assert probe.connect_ex(("127.0.0.2", container.port)) != 0
