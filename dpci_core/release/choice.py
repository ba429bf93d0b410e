"""A release of what is chosen privately: a histogram of a declared column, or one of several
penalties with its model.

In the order of `release.run`: check, book, read, draw, write, and note the result. One line of the
ledger pays for training and choice, which are two sides of a maximum (docs/selection.md). It is
booked before the rows are divided.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from dpci_core.base.errors import DataRejectedError, Finding, InfeasibleDesignError, without_frames
from dpci_core.base.rows import WeightedRows
from dpci_core.intervals.draw import _check_rows
from dpci_core.ledger import Charge, Cost, Ledger, LedgerError, as_text, safe_cell
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan import Plan, as_yaml
from dpci_core.plan.codec import read
from dpci_core.plan.link import canonical, load_json
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.privacy.randomness import SystemSource
from dpci_core.release.content import _software, schema_hash
from dpci_core.release.folder import write_folder
from dpci_core.release.record import NEIGHBOURS
from dpci_core.release.run import (
    ReleaseLostError,
    ReleaseRefusedError,
    ReleaseUnfinishedError,
    _check_place,
    _check_reachable,
    _failed,
    check_account,
)
from dpci_core.release.table import (
    Header,
    TableError,
    TableFile,
    TextEncoding,
    read_cells,
    read_header,
    read_records,
)
from dpci_core.report.covered import transformations
from dpci_core.schema import NumericColumn, RecordMapper
from dpci_core.schema.mapping import number_of
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.histograms import checked_bins, select_histogram, spend_histogram
from dpci_core.tuning.learners import Learner, Method, learner_noise
from dpci_core.tuning.released import certified, spending_of_release
from dpci_core.tuning.selection import Ramp, Spending, distinct_candidates, select_by

CHOICE_NAME = "choice.json"
"""The record in the folder of a result."""
_MOST_BYTES = 16 * 1024**2


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceRecord:
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
    title: str
    dataset: str
    person: str
    unit: str
    released_at: str
    request_id: str
    charge_id: int
    ledger_head: str
    plan_hash: str
    schema_hash: str
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

    def to_json(self) -> str:
        """Return the text of the record."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n"

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """What was drawn: the numbers of a record that depend on records, all released."""

    n_records: int
    spending: Spending
    chosen: float
    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    coefficients: tuple[float, ...] = ()
    regularization: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Choice(ABC):
    """A question to the private table of a plan: the plan declares columns, unit and n; its own
    budget plays no part.

    plan: whose table.
    epsilon: of everything (> 0), exact.
    candidates: numbers of bins, or penalties c.
    validation_share: of the rows, that score.
    """

    plan: Plan
    epsilon: Decimal
    candidates: tuple[float, ...]
    validation_share: Decimal

    @property
    @abstractmethod
    def kind(self) -> str:
        """ "histogram" or "model"."""

    @property
    @abstractmethod
    def column(self) -> str:
        """Of a histogram; empty for a model."""

    @property
    def title(self) -> str:
        """For the ledger."""
        about = f"histogram of {self.column}" if self.column else "a penalty chosen privately"
        return f"{self.plan.title}: {about}"

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was decided, the order of the candidates too."""
        decided = {
            "plan": self.plan.digest,
            "kind": self.kind,
            "column": self.column,
            "epsilon": as_text(self.epsilon),
            "candidates": [repr(one) for one in self.candidates],
            "validation_share": as_text(self.validation_share),
            "method": "stability",
        }
        return hashlib.sha256(canonical(decided).encode()).hexdigest()

    @property
    def cost(self) -> Cost:
        """One line: what training and choice cost does not add up."""
        line = "histogram" if self.column else "model and choice"
        return Cost(definition="pure", amount=self.epsilon, lines=[(line, self.epsilon)])

    @property
    @abstractmethod
    def needed(self) -> tuple[str, ...]:
        """Columns that the table must have."""

    @abstractmethod
    def spending(self, n_records: int) -> Spending:
        """What is spent on what at an n; every refusal that public numbers decide."""

    @abstractmethod
    def draw(self, header: Header) -> Drawing:
        """Read, divide, train, choose; the records exist in here only."""

    def price(self) -> Cost:
        """Return the price after every check that needs no file.

        Raises:  ValueError, InfeasibleDesignError: nothing was spent.
        """
        _check_reachable(self.plan.schema)
        self.spending(self.plan.n_records)
        return self.cost


@dataclass(frozen=True, kw_only=True)
class HistogramChoice(Choice):
    """A histogram of a declared number, the number of its bins chosen privately if there are
    several candidates.

    of: the column.
    """

    of: str

    @classmethod
    def make(
        cls,
        plan: Plan,
        column: str,
        *,
        epsilon: Amount,
        bins: tuple[int, ...],
        validation_share: Amount = "0.1",
    ) -> HistogramChoice:
        """Return the question after its checks.

        Raises:  ValueError naming what breaks a rule.
        """
        numbers = [one.name for one in plan.schema.features if isinstance(one, NumericColumn)]
        if column not in numbers:
            raise ValueError(
                f"Expected a number that the plan declares, got {column!r}; it declares "
                f"{', '.join(numbers) or 'none'}."
            )
        listed = checked_bins(bins)
        return cls(
            plan=plan,
            epsilon=to_decimal(epsilon, name="epsilon"),
            candidates=tuple(float(one) for one in listed),
            validation_share=to_decimal(validation_share, name="validation_share"),
            of=column,
        )

    @property
    def kind(self) -> str:
        return "histogram"

    @property
    def column(self) -> str:
        return self.of

    @property
    def needed(self) -> tuple[str, ...]:
        return (self.of,)

    @property
    def bins(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(int(one) for one in self.candidates)

    @property
    def declared(self) -> NumericColumn:
        """The column as it is declared."""
        found = next(one for one in self.plan.schema.features if one.name == self.of)
        assert isinstance(found, NumericColumn)
        return found

    def spending(self, n_records: int) -> Spending:
        return spend_histogram(
            "stability",
            epsilon=self.epsilon,
            candidates=self.bins,
            n_records=n_records,
            validation_share=self.validation_share,
        )

    def draw(self, header: Header) -> Drawing:
        column = self.declared
        mapper = RecordMapper(self.plan.schema, (column.name,))
        cells = read_cells(header, mapper)[column.name]
        if not cells:
            raise TableError("no_rows")
        values = np.array([number_of(cell) for cell in cells])
        x = np.where(np.isnan(values), column.stand_in, np.clip(values, column.low, column.high))
        found = select_histogram(
            x,
            bounds=(column.low, column.high),
            candidates=self.bins,
            epsilon=self.epsilon,
            validation_share=self.validation_share,
            source=SystemSource(),
        )
        return Drawing(
            n_records=len(x),
            spending=found.spending,
            chosen=float(found.n_bins),
            edges=tuple(found.edges.tolist()),
            counts=tuple(int(count) for count in found.counts),
        )


@dataclass(frozen=True, kw_only=True)
class ModelChoice(Choice):
    """The model of a plan's loss and mechanism at one of several penalties, chosen by
    stability-based validation; no intervals.
    """

    @classmethod
    def make(
        cls,
        plan: Plan,
        *,
        epsilon: Amount,
        penalties: tuple[float, ...],
        validation_share: Amount = "0.1",
    ) -> ModelChoice:
        """Return the question after its checks.

        Raises:  ValueError naming what breaks a rule.
        """
        if plan.schema.standard is not None:
            raise ValueError(
                "Expected a plan whose columns are scaled by their bounds: the bounds of the "
                "scores are for rows of weight 1."
            )
        if plan.design.geometry is not None:
            raise ValueError(
                "Expected a plan without a geometry: the bounds of the scores are for noise of "
                "equal size in every direction."
            )
        made = cls(
            plan=plan,
            epsilon=to_decimal(epsilon, name="epsilon"),
            candidates=tuple(float(c) for c in penalties),
            validation_share=to_decimal(validation_share, name="validation_share"),
        )
        distinct_candidates(made.listed)
        return made

    @property
    def kind(self) -> str:
        return "model"

    @property
    def column(self) -> str:
        return ""

    @property
    def needed(self) -> tuple[str, ...]:
        return RecordMapper(self.plan.schema, self.plan.features).needed

    @property
    def listed(self) -> tuple[Candidate, ...]:
        """The candidates as learners."""
        design = self.plan.design
        perturbs_objective = mechanism_of(design).perturbs_objective
        method: Method = "objective_tight" if perturbs_objective else "output"
        return tuple(
            Candidate(learner=Learner(loss=design.loss, method=method, regularization=c))
            for c in self.candidates
        )

    def spending(self, n_records: int) -> Spending:
        return spending_of_release(
            "stability",
            candidates=self.listed,
            epsilon=self.epsilon,
            n_records=n_records,
            n_features=len(self.plan.names),
            validation_share=self.validation_share,
        )

    def draw(self, header: Header) -> Drawing:
        X, y, _ = read_records(header, RecordMapper(self.plan.schema, self.plan.features))
        assert not isinstance(X, WeightedRows)  # `make` saw to it
        _check_rows(X, y)
        source, spending = SystemSource(), self.spending(len(y))
        result = select_by(
            X,
            y,
            candidates=self.listed,
            epsilon=self.epsilon,
            spending=spending,
            score=Ramp(),
            source=source,
            trainer=lambda A, learner, share: certified(A, learner, share, source),
        )
        run = learner_noise(
            result.chosen.learner, epsilon=float(spending.train), n_records=spending.n_train
        )
        return Drawing(
            n_records=len(y),
            spending=spending,
            chosen=self.candidates[result.index],
            coefficients=tuple(result.theta.tolist()),
            regularization=run.regularization,
        )


def release_choice(
    choice: Choice,
    file: TableFile | str,
    *,
    ledger: Ledger,
    dataset: str,
    person: str,
    request_id: str,
    folder: Path | str,
    encoding: TextEncoding = "utf-8",
) -> ChoiceRecord:
    """Release what is chosen from a private file, once, and return what was written to `folder`.

    Args:    as for `release.release`.
    Privacy: choice.epsilon, pure; replace-one neighbours, the number of rows is public.
    Raises:  as `release.release`. No message holds anything from below the header.
    """
    place, request_id = Path(folder).absolute(), request_id.strip()
    if os.path.lexists(place):
        return _recorded(place, choice, ledger, request_id)
    if ledger.find(request_id) is not None:
        raise ReleaseLostError("release_lost", request=request_id)
    cost = choice.price()
    check_account(ledger, dataset, choice.plan)
    header = check_choice_table(choice, file, encoding=encoding)
    _check_place(place)
    charge = ledger.book(
        dataset,
        schema_hash=schema_hash(choice.plan.schema),
        cost=cost,
        purpose=choice.title,
        plan_hash=choice.digest,
        person=person,
        request_id=request_id,
    )
    if not charge.is_new:
        raise ReleaseLostError("release_lost", request=request_id)
    outcome = _carry_out(choice, header, charge, place)
    if not isinstance(outcome, ChoiceRecord):  # out here no traceback leads to the records
        if not _holds(place, charge):
            raise _failed(ledger, charge, outcome)
        outcome = load_choice(place)  # stopped after the folder had its name
    _finish(ledger, charge, place)
    return outcome


def check_choice_table(
    choice: Choice, file: TableFile | str, *, encoding: TextEncoding = "utf-8"
) -> Header:
    """Return the header of a private table, as far as public facts tell whether it will do; nothing
    below it is opened.

    Raises:  as `release.check_table`.
    """
    path = Path(file) if isinstance(file, str) else file
    if isinstance(path, Path) and path.exists() and not path.is_file():
        raise ReleaseRefusedError("not_a_file")
    header = read_header(file, encoding=encoding)
    header.check_has(choice.needed)
    if header.n_records == 0:
        raise DataRejectedError("nothing_to_release")
    if header.n_records is not None:
        choice.spending(header.n_records)
    return header


def load_choice(path: str | Path) -> ChoiceRecord:
    """Return the record of a choice.json, or of the folder that holds one.

    Raises:  ValueError that begins with the path of the field; OSError where nothing can be opened.
    """
    file = Path(path)
    file = file / CHOICE_NAME if file.is_dir() else file
    with file.open("rb") as raw:
        content = raw.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"Expected a {CHOICE_NAME} of at most {_MOST_BYTES // 1024**2} MB.")
    try:
        found: ChoiceRecord = read(ChoiceRecord, load_json(content.decode("utf-8")))
    except RecursionError:
        raise ValueError(f"Expected the JSON of a {CHOICE_NAME}.") from None
    return found


def _carry_out(
    choice: Choice, header: Header, charge: Charge, place: Path
) -> ChoiceRecord | Finding | Exception:
    """Everything between booking and the finished folder; why it failed, free of records, where it
    did.
    """
    try:
        made = _record(choice, choice.draw(header), charge)
        files = {
            CHOICE_NAME: made.to_json(),
            f"{choice.kind}.csv": made.table(),
            "report.md": _report(made),
            "plan.yaml": as_yaml(choice.plan),
        }
        write_folder(
            place, files, owner=charge.request_id, dated=charge.booked_at, reached=lambda _: None
        )
        return made
    except (TableError, InfeasibleDesignError) as error:
        return without_frames(error)  # of the file as a whole, or of n and other public numbers
    except OSError:
        return Finding("not_read_or_written")
    except MemoryError:
        return Finding("out_of_memory")
    except Exception as error:
        return Finding("broken_off", problem=type(error).__name__)
    except BaseException:
        return Finding("stopped")


def _record(choice: Choice, drawn: Drawing, charge: Charge) -> ChoiceRecord:
    plan, spending = choice.plan, drawn.spending
    return ChoiceRecord(
        version=1,
        kind=choice.kind,
        title=choice.title,
        dataset=charge.dataset,
        person=charge.person,
        unit=plan.unit,
        released_at=charge.booked_at,
        request_id=charge.request_id,
        charge_id=charge.charge_id,
        ledger_head=charge.head,
        plan_hash=choice.digest,
        schema_hash=schema_hash(plan.schema),
        definition="pure",
        epsilon=as_text(choice.epsilon),
        neighbours=NEIGHBOURS,
        train=as_text(spending.train),
        n_records=drawn.n_records,
        n_train=spending.n_train,
        n_validation=spending.n_validation,
        candidates=choice.candidates,
        chosen=drawn.chosen,
        column=choice.column,
        edges=drawn.edges,
        counts=drawn.counts,
        names=plan.names if drawn.coefficients else (),
        coefficients=drawn.coefficients,
        regularization=drawn.regularization,
        assumptions=_assumptions(choice),
        software=dict(_software()),
    )


def _assumptions(choice: Choice) -> tuple[str, ...]:
    """What the guarantee rests on, in sentences."""
    found = [
        f"Whom a record stands for, as declared: {choice.plan.unit}.",
        "What is declared of the columns, the candidates and every setting were chosen without "
        "looking at the records.",
        *transformations(choice.plan.transformations),
        "All noise is drawn from the operating system's entropy and exact; the program, the OpenDP "
        "and Arb libraries do what they say.",
    ]
    if not choice.column:
        found.append(
            "Every fit reaches its fixed tolerance on every table: proved in exact arithmetic, "
            "tested beyond it."
        )
        if mechanism_of(choice.plan.design).perturbs_objective:
            found.append(
                "A noise vector too long for a certified fit ends a release without a result: a "
                f"delta of at most {len(choice.candidates)} times 2^-200."
            )
    found.append(
        "Nobody who should not know the records could watch the machine, or how long it took."
    )
    return tuple(found)


def _report(made: ChoiceRecord) -> str:
    """The release on one page, in Markdown."""
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


def _result_hash(place: Path) -> str:
    return hashlib.sha256((place / CHOICE_NAME).read_bytes()).hexdigest()


def _holds(place: Path, charge: Charge) -> bool:
    """Whether the folder holds the result of this very charge."""
    try:
        made = load_choice(place)
    except (OSError, ValueError):
        return False
    return made.charge_id == charge.charge_id and made.request_id == charge.request_id


def _finish(ledger: Ledger, charge: Charge, place: Path) -> None:
    try:
        ledger.finish(charge.charge_id, result_hash=_result_hash(place))
    except LedgerError as error:
        problem = without_frames(error)
    else:
        return
    raise ReleaseUnfinishedError(
        "release_unfinished", folder=place, charge=charge.charge_id, problem=problem
    )


def _recorded(place: Path, choice: Choice, ledger: Ledger, request_id: str) -> ChoiceRecord:
    """The result that is in the folder already, if it is that of this request; its entry is
    completed if need be.
    """
    try:
        made = load_choice(place)
    except (OSError, ValueError):
        raise ReleaseRefusedError("no_release", folder=place) from None
    charge = ledger.find(request_id)
    if made.request_id != request_id or made.plan_hash != choice.digest:
        raise ReleaseRefusedError("another_release", folder=place)
    if charge is None or charge.charge_id != made.charge_id or charge.plan_hash != made.plan_hash:
        raise ReleaseRefusedError("release_unknown", folder=place)
    if charge.state == "booked":
        _finish(ledger, charge, place)
    elif charge.state == "failed" or charge.result_hash != _result_hash(place):
        raise ReleaseRefusedError("release_replaced", folder=place)
    return made
