"""Packages that not every use needs: what brings them is an extra of this one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


def check_extra(package: str) -> None:
    """Raise ExtraNeededError unless a package of an extra is there; it is not imported."""
    if find_spec(package) is None:
        raise ExtraNeededError(package, _extra_of(package))


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


def _extra_of(package: str) -> str:
    """The extra that brings a package, or nothing."""
    return next((extra for extra, packages in EXTRAS.items() if package in packages), "")
