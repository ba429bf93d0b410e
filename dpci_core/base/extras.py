"""Packages that not every use needs, what brings them being an extra of this one; and versions of
those that are there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distributions
from importlib.util import find_spec

EXTRAS = {
    "release": ("opendp", "cryptography", "pyarrow", "jinja2", "pydantic", "yaml"),
    "app": ("streamlit", "plotly", "segno"),
    "dask": ("dask", "distributed"),
}
"""Modules of each; pyproject.toml says which versions."""


class ExtraNeededError(ModuleNotFoundError):
    """A package is missing that an extra brings; says which."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"{package} is not installed; get it with `pip install 'dpci[{extra}]'`.", name=package
        )


def has_extra(extra: str) -> bool:
    """Whether every package of an extra is there; none is imported."""
    return all(
        sys.modules[package] is not None if package in sys.modules else find_spec(package)
        for package in EXTRAS[extra]
    )


@contextmanager
def named_extras() -> Iterator[None]:
    """Say of a package that is missing which extra brings it.

    Raises:  ExtraNeededError in place of ModuleNotFoundError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if isinstance(error, ExtraNeededError) or not (extra := _extra_of(package)):
            raise
        raise ExtraNeededError(package, extra) from None


def version_of(package: str) -> str:
    """Return the version of a distribution that is installed.

    Where it is looked for is copied first: Streamlit takes an entry off `sys.path` when it has run
    a script, and a search of another thread that is under way would leave a folder out.

    Raises:  PackageNotFoundError.
    """
    found = next(iter(distributions(name=package, path=sys.path.copy())), None)
    if found is None:
        raise PackageNotFoundError(package)
    return found.version


def _extra_of(package: str) -> str:
    """The extra that brings a package, or nothing."""
    return next((extra for extra, packages in EXTRAS.items() if package in packages), "")
