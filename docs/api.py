"""The API reference, from the docstrings: `make docs` writes it to build/api."""

from __future__ import annotations

import pkgutil
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pdoc

import dpci_core

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "api"
NOT_FOR_IMPORT = ("__main__", "cli")
"""The command line, which says itself what it can do."""


def packages() -> list[str]:
    """The modules and packages of the core that are there to be imported."""
    found = [package.name for package in pkgutil.iter_modules(dpci_core.__path__)]
    return [name for name in found if name not in NOT_FOR_IMPORT]


def write(folder: Path) -> list[str]:
    """Write a page for the public interface and for each package; return what pdoc did not find."""
    for name in dpci_core.__all__:
        setattr(
            dpci_core, name, getattr(dpci_core, name)
        )  # pdoc sees no name that is imported on first use
    for package in packages():
        import_module(f"dpci_core.{package}")
    pdoc.render.configure(
        docformat="markdown", template_directory=ROOT / "docs" / "theme", show_source=False
    )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        # A package that is named in __all__ comes with the public interface.
        named = [
            f"dpci_core.{package}" for package in packages() if package not in dpci_core.__all__
        ]
        pdoc.pdoc("dpci_core", *named, output_directory=folder)
    # Constructors made by dataclasses do not know their module; their annotations are shown as
    # written.
    return [
        str(one.message)
        for one in heard
        if not str(one.message).startswith("Error parsing type annotation")
    ]


if __name__ == "__main__":
    complaints = write(FOLDER)
    print("\n".join([*complaints, f"{len(packages()) + 1} packages: {FOLDER / 'index.html'}"]))
    sys.exit(bool(complaints))
