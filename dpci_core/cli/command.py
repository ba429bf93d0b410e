"""What a command of the command line takes, as data: `main` makes the parser of a table of them.

A command returns its exit code. What it raises because something asked for cannot be done, `main`
says on the error output, with exit code 1.
"""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpci_core.ledger import KEY_VARIABLE, PATH_VARIABLE, PublicKey

Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class Flag:
    """One argument, with or without dashes.

    names: as it is typed.
    settings: what argparse knows of it.
    """

    names: tuple[str, ...]
    settings: Mapping[str, Any]

    def add_to(self, parser: Any) -> None:
        """Add it to a parser or a group."""
        parser.add_argument(*self.names, **self.settings)


@dataclass(frozen=True, slots=True)
class OneOf:
    """Flags of which at most one is given; exactly one where it is required."""

    flags: tuple[Flag, ...]
    required: bool = False

    def add_to(self, parser: Any) -> None:
        """Add all of them."""
        group = parser.add_mutually_exclusive_group(required=self.required)
        for one in self.flags:
            one.add_to(group)


Flags = tuple[Flag | OneOf, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A command, or the name above several.

    help: in the list of commands.
    flags: in the order of the help.
    run: does it, and returns the exit code.
    actions: the commands below it, which has no flags then.
    defaults: what `run` reads of the options besides its flags.
    """

    name: str
    help: str
    flags: Flags = ()
    run: Run | None = None
    actions: tuple[Command, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, subparsers: Any) -> None:
        """Add it to the parsers of the command line; `run` finds its own as `options.parser`."""
        parser = subparsers.add_parser(self.name, help=self.help)
        for one in self.flags:
            one.add_to(parser)
        if self.actions:
            add_commands(parser, self.actions, metavar="ACTION")
        else:
            parser.set_defaults(run=self.run, parser=parser, **self.defaults)


def add_commands(
    parser: argparse.ArgumentParser, commands: tuple[Command, ...], *, metavar: str
) -> None:
    """Make a parser one that needs the name of a command."""
    subparsers = parser.add_subparsers(required=True, metavar=metavar)
    for one in commands:
        one.add_to(subparsers)


def flag(*names: str, **settings: Any) -> Flag:
    """An argument as `ArgumentParser.add_argument` takes it."""
    return Flag(names, settings)


JSON = flag("--json", action="store_true", help="print JSON for machines")
RELEASE = flag("release", type=Path, help="release.json, or the folder that holds it")
OUTPUT = flag("--output", type=Path, help="a new file (default: print)")
ENCODING = flag("--encoding", choices=("utf-8", "latin-1"), default="utf-8", help="of a CSV file")
OF_A_LEDGER = (
    flag("--ledger", type=Path, help=f"the ledger's file (default: {PATH_VARIABLE})"),
    flag("--key", type=Path, help=f"the key that signs (default: {KEY_VARIABLE}, else by itself)"),
)


def person(does: str) -> Flag:
    """Who does something, in the words of its help."""
    return flag("--person", help=f"who {does} (default: the user of this machine)")


def person_of(options: argparse.Namespace) -> str:
    """Who was named, or else the user of this machine.

    Raises:  ValueError where that one has no name, as in a container.
    """
    if options.person:
        return str(options.person)
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        raise ValueError("Expected --person: the user of this machine has no name.") from None


def public_key(default: str) -> Flag:
    """The key that signatures are checked with."""
    return flag(
        "--public-key",
        metavar="KEY",
        help=f"64 digits, or a file that holds them (default: the key that {default})",
    )


def pinned(options: argparse.Namespace) -> PublicKey | None:
    """The public key of a file or of its digits, None where none was given."""
    if options.public_key is None:
        return None
    path = Path(options.public_key)
    return PublicKey.of(path.read_text("utf-8") if path.is_file() else options.public_key)


def put(text: str, output: Path | None) -> int:
    """Print a text, or write it to a new file; the exit code is 0.

    Raises:  ValueError for a file that is there already; OSError.
    """
    if output is None:
        print(text, end="")
        return 0
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise _there(output) from None
    return 0


def check_new(output: Path | None) -> None:
    """Raise ValueError where a file that is to be written is there already, or its folder is not;
    before what takes long.
    """
    if output is None:
        return
    if output.exists():
        raise _there(output)
    if not output.absolute().parent.is_dir():
        raise ValueError(f"There is no {output.parent}.")


def _there(output: Path) -> ValueError:
    return ValueError(f"{output} exists already. Name a new file.")
