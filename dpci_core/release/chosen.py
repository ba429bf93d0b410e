"""What a private choice published: choice.json, read and written, and its page of text."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from dpci_core.ledger import safe_cell
from dpci_core.plan.codec import PlanFieldError, read
from dpci_core.plan.link import load_json
from dpci_core.release.record import Entry

CHOICE_NAME = "choice.json"
"""The record in the folder of a result."""
_MOST_BYTES = 16 * 1024**2
Made = TypeVar("Made", bound=Entry)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceRecord(Entry):
    """What one release of a private choice publishes, and what it is about.

    kind: "histogram" or "model".
    epsilon: of everything.  train: of one training or count.
    candidates: numbers of bins, or penalties c.  chosen: the one that won.
    column, edges, counts: of a histogram: noisy counts cut to [0, n_train], of the chosen bins.
    names, coefficients: of a model, in encoded units, the constant last; regularization: the c it
        was trained at.
    Scores, the other models and counts are no part of it.
    """

    version: int
    kind: str
    definition: str
    epsilon: str
    neighbours: str
    train: str
    n_records: int
    n_train: int
    n_validation: int
    candidates: tuple[float, ...]
    chosen: float
    column: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    regularization: float
    assumptions: tuple[str, ...]
    software: dict[str, str]

    def __post_init__(self) -> None:
        if self.kind not in ("histogram", "model"):
            raise PlanFieldError("kind", f"Expected histogram or model, got {self.kind!r}.")
        is_histogram = self.kind == "histogram"
        if len(self.edges) != (len(self.counts) + 1 if is_histogram else 0) or (
            is_histogram != bool(self.counts)
        ):
            raise PlanFieldError("edges", "Expected the ends of the bins of a histogram.")
        if len(self.names) != len(self.coefficients) or is_histogram == bool(self.names):
            raise PlanFieldError("names", "Expected one for each coefficient of a model.")

    def to_dict(self) -> dict[str, Any]:
        return {"version": self.version, "kind": self.kind} | asdict(self)

    def table(self) -> str:
        """Return the released numbers as CSV: bins with shares, or coefficients."""
        if self.kind == "histogram":
            total = sum(self.counts)
            lines = ["from,to,noisy count,share"]
            for low, high, count in zip(self.edges, self.edges[1:], self.counts, strict=False):
                share = count / total if total else 1.0 / len(self.counts)
                lines.append(f"{low!r},{high!r},{count},{share!r}")
            return "\n".join(lines) + "\n"
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["coefficient", "released"])
        for name, value in zip(self.names, self.coefficients, strict=True):
            writer.writerow([safe_cell(name), repr(value)])
        return out.getvalue()


def load_choice(path: str | Path) -> ChoiceRecord:
    """Return the record of a choice.json, or of the folder that holds one.

    Raises:  ValueError that begins with the path of the field; OSError where nothing can be opened.
    """
    return load_record(ChoiceRecord, CHOICE_NAME, path)


def load_record(kind: type[Made], name: str, path: str | Path) -> Made:
    """Return the record of a file of this name, or of the folder that holds one.

    Raises:  as `load_choice`.
    """
    file = Path(path)
    file = file / name if file.is_dir() else file
    with file.open("rb") as raw:
        content = raw.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"Expected a {name} of at most {_MOST_BYTES // 1024**2} MB.")
    try:
        found: Made = read(kind, load_json(content.decode("utf-8")))
    except RecursionError:
        raise ValueError(f"Expected the JSON of a {name}.") from None
    return found


def report_of(made: ChoiceRecord) -> str:
    """Return the release on one page, in Markdown."""
    what = (
        f"{len(made.counts)} bins" if made.kind == "histogram" else f"penalty c = {made.chosen:g}"
    )
    several = len(made.candidates) > 1
    lines = [
        f"# {made.title}",
        "",
        f"Released from {made.dataset!r} for ε = {made.epsilon} (pure differential privacy), "
        f"everything together. Neighbours are {made.neighbours}.",
        "",
        f"{made.n_records:,} records; {made.n_train:,} behind the result, {made.n_validation:,} "
        "behind the choice." if several else f"{made.n_records:,} records.",
        f"Chosen privately among {len(made.candidates)} candidates: {what}." if several
        else f"Nothing was chosen: {what}.",
        "The candidates' scores are not released, nor are the results of those not chosen.",
        "",
        "## What it rests on",
        "",
        *(f"- {sentence}" for sentence in made.assumptions),
        "",
        f"Charge {made.charge_id} of the ledger; {made.released_at}.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"
