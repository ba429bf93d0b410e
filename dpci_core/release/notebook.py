"""A notebook that asks a release.json everything `ReleaseInference` answers."""

from __future__ import annotations

import json
from typing import Any

from dpci_core.release.record import AnyRelease

NOTEBOOK_NAME = "after.ipynb"


def notebook(release: AnyRelease) -> str:
    """Return a Jupyter notebook (format 4.5) that runs on the release.json beside it, and on
    nothing else.
    """
    cells = [
        _told(
            f"# {_line(release.title)}: what else this release answers\n\n"
            "Everything here is computed from `release.json` in the same folder. No table is "
            "opened, nothing is charged, and every number may be published. What is not valid is "
            "said in `docs/library.md` of the library `dpci_core`."
        ),
        _code(
            "import numpy as np\n\nimport dpci_core as dp\n\n"
            'after = dp.ReleaseInference.read("release.json")\n'
            "print(after.names)\n"
            'print("the record gives its own intervals again:", after.is_exact)'
        ),
        *_combinations(release),
        _told(
            "## All intervals at once\n\nSingle intervals do not all hold in the share of their "
            "level. These do."
        ),
        _code(
            "together = after.together()\n"
            'print(f"as released all hold in {together.holds:.0%}; '
            '{together.multiplier:.3f} times as long in {together.level:.0%}")\n'
            "for name, found in together.intervals.items():\n"
            '    print(f"{name}: {found.estimate:.4g} ({found.low:.4g} to {found.high:.4g})")'
        ),
        _told(
            "## One row\n\nThe score or mean, and the chance of a logistic model, with an interval "
            "for that row alone. A value outside its declared bounds is refused."
        ),
        _code(f"row = {_row(release)!r}\nprediction = after.predict(row)[0]\nprint(prediction)"),
        _told(
            "## What other releases could have given\n\nDraws of sampling and privacy noise "
            "together, around the released coefficients. They are no posterior."
        ),
        _code(
            "draws = after.draws(10_000, rng=np.random.default_rng(1))\n"
            "print(np.quantile(draws, [0.025, 0.5, 0.975], axis=0).round(4))"
        ),
    ]
    content = {
        "cells": [cell | {"id": f"cell-{k}"} for k, cell in enumerate(cells)],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _combinations(release: AnyRelease) -> list[dict[str, Any]]:
    """Return the cells about a combination of two estimable coefficients; none for fewer."""
    told = [c.name for c in release.coefficients[:-1] if not c.is_not_estimable]
    if len(told) < 2:
        return []
    first, second = told[:2]
    return [
        _told(
            "## A combination of coefficients\n\nPer unit of each column; "
            '`unit="step"` is per step, `unit="encoded"` in encoded units. A combination chosen '
            "after looking needs `after_looking=True`."
        ),
        _code(
            f"difference = {{{first!r}: 1, {second!r}: -1}}\n"
            "print(after.contrast(difference))\n"
            "print(after.contrast(difference, after_looking=True))"
        ),
        _told("## Several at once\n\nA test that both are 0, and the ellipsoid that goes with it."),
        _code(
            f"names = [{first!r}, {second!r}]\n"
            "print(after.test([{name: 1} for name in names]))\n"
            "region = after.region(names)\n"
            'print("area:", region.volume, "holds 0:", region.contains(dict.fromkeys(names, 0.0)))'
        ),
    ]


def _row(release: AnyRelease) -> dict[str, float | str]:
    """A row in the middle of what is declared."""
    columns = release.schema.columns_of(release.features)
    return {column.name: column.middling for column in columns}


def _line(text: str) -> str:
    """A text in one line of Markdown, letter by letter."""
    flat = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-!|~$&" else sign for sign in flat)


def _told(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text.splitlines(keepends=True),
    }
