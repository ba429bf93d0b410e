"""The command line: `app`, `data`, `moments`, `plan`, `ledger`, `release`, `predict`, `verify`,
`after` and `evaluation` after `dpci` or `python -m dpci_core`."""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path

from dpci_core.cli.after import AFTER
from dpci_core.cli.app import APP
from dpci_core.cli.command import JSON, Command, add_commands, flag
from dpci_core.cli.evaluation import EVALUATION
from dpci_core.cli.ledger import LEDGER
from dpci_core.cli.plan import PLAN
from dpci_core.cli.refuse import refuse
from dpci_core.cli.release import PREDICT, RELEASE_ONCE
from dpci_core.cli.tables import CONVERT, MOMENTS, SIMULATE
from dpci_core.cli.verify import VERIFY
from dpci_core.datasets import list_datasets
from dpci_core.datasets.download import download
from dpci_core.datasets.files import is_available
from dpci_core.datasets.public import PUBLIC_SETS
from dpci_core.report.refusals import said


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 1 after a sentence on the error output, or
    that of a command whose reader has left.
    """
    options = _parser().parse_args(arguments)
    try:
        code = int(options.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError as error:
        return _LEFT if _has_reader_left() else refuse(error)
    except FileNotFoundError as error:
        return refuse(error if error.filename is None else _missing(Path(error.filename)))
    except OSError as error:
        return refuse(error if error.filename is None else _refused(error))
    except (ValueError, RuntimeError) as error:
        return refuse(error)


_LEFT = 128 + 13
"""What a shell tells of a command that ended because nobody read on (SIGPIPE)."""


def _has_reader_left() -> bool:
    """Whether nobody reads the output any more, as after `| head`; what is left of it goes nowhere,
    also when the interpreter ends. Another pipe may have broken: that of a worker.
    """
    has_left = False
    for stream in (sys.stdout, sys.stderr):
        try:
            number = stream.fileno()
        except OSError:  # it is no file
            continue
        poll = select.poll()
        poll.register(number, select.POLLOUT)
        if any(event & select.POLLERR for _, event in poll.poll(0)):
            has_left = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return has_left


def _missing(path: Path) -> ValueError:
    """That there is no such file, or not even its folder."""
    return ValueError(f"There is no {path if path.parent.exists() else path.parent}.")


def _refused(error: OSError) -> ValueError:
    """What the system says of a file or folder, without its number."""
    if isinstance(error, FileExistsError):
        return ValueError(f"{error.filename} exists already. Name a new one.")
    return ValueError(f"{error.filename}: {error.strerror}.")


def _name() -> str:
    """How the command was called, for its help."""
    return "dpci" if Path(sys.argv[0]).stem == "dpci" else "python -m dpci_core"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_name(), description="Confidence intervals under privacy."
    )
    add_commands(parser, COMMANDS, metavar="COMMAND")
    return parser


def _list(options: argparse.Namespace) -> int:
    infos = list_datasets()
    if options.json:
        fields = (
            "key",
            "title",
            "source",
            "n_rows",
            "max_rows",
            "max_features",
            "available",
            "how_to_get",
        )
        print(
            json.dumps([{name: getattr(info, name) for name in fields} for info in infos], indent=1)
        )
        return 0
    for info in infos:
        state = "here" if info.available else info.how_to_get
        print(f"{info.key:<14}{info.n_rows:>9,} rows{info.max_features:>5} features  {state}")
    return 0


def _get(options: argparse.Namespace) -> int:
    title = PUBLIC_SETS[options.key].title
    if is_available(options.key) and not options.again:
        print(f"{title} is already on this machine; --again downloads it once more.")
        return 0
    download(options.key, say=lambda step: print(said(step), flush=True))
    return 0


_DATA = Command(
    name="data",
    help="the data sets",
    actions=(
        Command(name="list", help="list the known data sets", flags=(JSON,), run=_list),
        Command(
            name="get",
            help="download a public data set into the cache folder",
            flags=(
                flag("key", choices=sorted(PUBLIC_SETS)),
                flag(
                    "--again",
                    action="store_true",
                    help="download even if the set is already there",
                ),
            ),
            run=_get,
        ),
        SIMULATE,
        CONVERT,
    ),
)
COMMANDS = (
    APP,
    _DATA,
    MOMENTS,
    PLAN,
    LEDGER,
    RELEASE_ONCE,
    PREDICT,
    VERIFY,
    AFTER,
    EVALUATION,
)
