"""A reader for the user's own IPUMS extract: its terms of use do not allow a copy in this
project.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from dpci_core.datasets._paper import encode_paper
from dpci_core.datasets.upload import read_upload
from dpci_core.schema import Records, Schema, propose_schema

_SEED = 20_260_102


def load_ipums(
    path: Path, *, n_features: int, n_rows: int, target: str = "INCOME", above: float | None = None
) -> Records:
    """Return the first rows of a random order and the first features of an extract, `paper`
    encoding.

    Args:
        path: CSV file, plain or gzipped, as IPUMS delivers it; columns in the order in which
            features are taken.
        n_features: the first so many.
        n_rows: of a random order.
        target: column of the outcome.
        above: positive where the target exceeds it (default: its median).

    Raises:  ValueError naming the column that is missing or unusable.
    """
    frame = read_upload(path.read_bytes(), path.name)
    if target not in frame.columns:
        raise ValueError(f"Expected a column {target!r} in {path.name}.")
    frame = frame.dropna().reset_index(drop=True)
    income = pd.to_numeric(frame[target], errors="coerce")
    if income.isna().any():
        raise ValueError(f"Expected numbers in the column {target!r}.")
    cut = float(income.median()) if above is None else above
    frame[target] = (income > cut).map({True: "yes", False: "no"})
    chosen = (
        frame.sample(n=min(n_rows, len(frame)), random_state=_SEED)
        .sort_index()
        .reset_index(drop=True)
    )
    schema: Schema = propose_schema(chosen, target, "yes")
    return encode_paper(
        chosen,
        schema,
        features=min(n_features, len(schema.feature_names)),
        source="public",
        title="Your IPUMS extract",
    )
