"""Build what is published, and use it as somebody who installs it: `make release`.

Wheel and source distribution go to build/dist. The wheel is installed into an empty environment
twice over: alone, to run the first example of a document, and with the dashboard, to open it. Needs
the package index, so it is not part of `make test`.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path

from tests.browser.driver import server_process

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "build" / "dist"
MOST_PACKAGES = 20
"""Of the core, itself among them (the README promises it)."""


def first_example(document: Path) -> str:
    """The first Python block of a Markdown document."""
    found = re.search(
        r"^```python\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    if found is None:
        raise ValueError(f"{document.name} has no example in Python.")
    return found[1]


def built() -> Path:
    """Build both distributions afresh; return the wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], check=True)
    (wheel,), (_source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel


def installed(environment: Path, wanted: str) -> tuple[int, float, float]:
    """Install into an environment; return its packages, its size in MB and the seconds it took."""
    python = environment / "bin" / "python"
    start = time.monotonic()
    subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
    seconds = time.monotonic() - start
    line = [python, "-m", "pip", "list", "--format", "json"]
    packages = json.loads(subprocess.run(line, check=True, capture_output=True).stdout)
    size = sum(path.stat().st_size for path in environment.rglob("*") if path.is_file()) / 1e6
    return sum(package["name"] != "pip" for package in packages), size, seconds


def main() -> None:
    """Print what was built, what installing it brings, and what the example prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--document", type=Path, default=ROOT / "docs" / "quickstart.md")
    options = parser.parse_args()
    example = first_example(options.document)
    wheel = built()
    with tempfile.TemporaryDirectory() as name:
        folder, environment = Path(name), Path(name) / "empty"
        venv.create(environment, with_pip=True)
        count, size, seconds = installed(environment, str(wheel))
        print(f"{wheel.name}: {count} packages, {size:.0f} MB with pip, {seconds:.0f} s")
        if count > MOST_PACKAGES:
            sys.exit(f"The core brings {count} packages, more than {MOST_PACKAGES}.")
        subprocess.run([environment / "bin" / "python", "-c", example], cwd=folder, check=True)
        count, size, seconds = installed(environment, f"{wheel}[app]")
        print(f"{wheel.name}[app]: {count} packages, {size:.0f} MB with pip, {seconds:.0f} s")

        def command(port: int) -> list[str]:
            return [str(environment / "bin" / "dpci"), "app", "--port", str(port)]

        with server_process(command, folder, HOME=name) as server:
            with urllib.request.urlopen(f"{server.address}/explore", timeout=30) as answer:
                if answer.status != 200 or answer.headers["x-frame-options"] != "DENY":
                    sys.exit("dpci app does not answer as the dashboard does.")
            print(f"dpci app: answers at {server.address}")


if __name__ == "__main__":
    main()
