"""The command `dpci_core accuracy epsilon|records|published|tuning`: test error under privacy, by
simulation.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.rows import plain
from dpci_core.cli.refuse import refuse
from dpci_core.datasets import list_datasets, load, load_cms
from dpci_core.losses import LOSSES, Loss, make_loss
from dpci_core.schema import Records
from dpci_core.simulation.result import versions
from dpci_core.studies.accuracy import published, published_tuning
from dpci_core.tuning import METHODS, Candidate, Learner
from dpci_core.tuning.training import divide_rows

if TYPE_CHECKING:
    from dpci_core.studies.accuracy.study import Accuracy
    from dpci_core.studies.accuracy.tuned_curve import TunedPoint, TuningProtocol

TidyRows = list[dict[str, Any]]
EPSILONS = ("0.01", "0.05", "0.1", "0.2", "0.5", "1", "2")
FOLDS = 10
"""Of a cross-validation, as in the paper."""
MOST_ROWS = 70_000
"""Rows of KDD Cup 99 that are taken where none are asked for, as many as the paper took."""


def add_accuracy(rooms: Any) -> None:
    """Add the command and its four actions to the parsers of the command line."""
    actions = rooms.add_parser("accuracy", help="test error of private and non-private learners")
    actions = actions.add_subparsers(required=True, metavar="ACTION")
    for name, (answer, words) in _ACTIONS.items():
        parser = actions.add_parser(name, help=words)
        if name == "published":
            parts = (*published.EXHIBITS, *published_tuning.EXHIBITS)
            parser.add_argument(
                "part", choices=parts, help="table1 and figure2 are Adult, the others KDD"
            )
            parser.add_argument(
                "--rows",
                type=int,
                help="of the set (default: all; 70,000 of KDD in table2 and figure3)",
            )
            parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
            parser.add_argument(
                "--permutations", type=int, help="of the table, in figures 4 and 5 (default: 5)"
            )
            parser.add_argument(
                "--sizes", nargs="+", type=int, help="rows of a candidate, in figures 4 and 5"
            )
            parser.add_argument(
                "--held-out", type=int, help="rows to choose with, and to test, in figures 4 and 5"
            )
        else:
            parser.add_argument(
                "--data", required=True, choices=[info.key for info in list_datasets()]
            )
            parser.add_argument(
                "--rows", type=int, help="of the set (default: all; the census: its usual size)"
            )
            parser.add_argument("--loss", choices=tuple(LOSSES), required=True)
            parser.add_argument("--h", type=float, help="smoothing of an SVM")
        if name in ("epsilon", "records"):
            parser.add_argument(
                "--regularization", type=float, required=True, help="c; Lambda of the paper is 2c"
            )
            parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
        if name == "tuning":
            parser.add_argument(
                "--regularizations",
                nargs="+",
                type=float,
                required=True,
                help="c of each candidate",
            )
            parser.add_argument("--method", choices=METHODS[1:], default="objective_tight")
        if name in ("records", "tuning"):
            parser.add_argument("--epsilon", required=True)
            parser.add_argument(
                "--sizes", nargs="+", type=int, required=True, help="rows to train on"
            )
        if name == "epsilon":
            parser.add_argument("--epsilons", nargs="+", default=list(EPSILONS))
        parser.add_argument("--features", type=int, help="how many (default: all)")
        is_published = name == "published"
        parser.add_argument(
            "--encoding",
            choices=("schema", "paper", *(["cms"] if is_published else [])),
            default="cms" if is_published else "paper",
            help="(default: %(default)s)",
        )
        if name in ("epsilon", "published"):  # figures 4 and 5 have none
            default = FOLDS if name == "epsilon" else None
            parser.add_argument(
                "--folds", type=int, default=default, help="of the rows (default: 10)"
            )
        else:
            parser.add_argument(
                "--test-share", type=float, default=0.1, help="of the rows, never trained on"
            )
        parser.add_argument(
            "--draws",
            type=int,
            default=50,
            help="draws of noise (a fold, a permutation) behind a mean",
        )
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="print JSON for machines")
        parser.set_defaults(run=run, answer=answer)


def run(options: argparse.Namespace) -> int:
    """Answer one question; exit code 1 after a sentence on the error output."""
    try:
        rows: TidyRows = options.answer(options, np.random.default_rng(options.seed))
    except (ValueError, OSError) as error:
        return refuse(error)
    print(json.dumps(rows, indent=1) if options.json else _table(rows))
    return 0


def _against_epsilon(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    from dpci_core.studies.accuracy.protocol import (
        cross_validated,  # wakes the compiler, which the other commands do without
    )

    records = _records(options, options.data, options.rows)
    found = cross_validated(
        records.X,
        records.y,
        learners=_learners(options),
        epsilons=options.epsilons,
        n_folds=options.folds,
        n_fits=options.draws,
        rng=rng,
        progress=partial(_say, "fold"),
    )
    return [row.to_record() for row in found]


def _against_records(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    from dpci_core.studies.accuracy.study import accuracy_experiment

    found = accuracy_experiment(
        *_split(options, rng),
        learners=_learners(options),
        epsilons=[options.epsilon],
        n_fits=options.draws,
        rng=rng,
        n_records=options.sizes,
    )
    return [row.to_record() for row in found]


def _published(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    """A published table or figure measured again; what differs is in the encodings
    (docs/estimators.md).
    """
    is_tuned = options.part in published_tuning.EXHIBITS
    for name in ("folds",) if is_tuned else ("permutations", "sizes", "held_out"):
        if getattr(options, name) is not None:
            raise ValueError(f"Expected no --{name.replace('_', '-')} with {options.part}.")
    return _tuned_figure(options, rng) if is_tuned else _beside_the_printed(options, rng)


def _beside_the_printed(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    from dpci_core.studies.accuracy.protocol import measure_cells

    options.folds = FOLDS if options.folds is None else options.folds
    key, cells = published.EXHIBITS[options.part], published.cells_of(options.part)
    X, y = _as_published(
        options, key, MOST_ROWS if key == "kdd99" and options.rows is None else options.rows
    )
    found = measure_cells(
        X,
        y,
        cells=cells,
        n_folds=options.folds,
        n_fits=options.draws,
        rng=rng,
        progress=partial(_say, "fold"),
    )
    if options.out is not None:
        published.append_rates(map(partial(_on_file, options), cells, found), options.out)
    beside: TidyRows = []
    for cell, row in zip(cells, found, strict=True):
        printed = published.published_error(cell)
        made = {
            "loss": cell.loss,
            "method": cell.method,
            "Lambda": cell.penalty,
            "epsilon": cell.epsilon or None,
        }
        difference = None if printed is None else row.error - printed
        ours = {"error": row.error, "error_se": row.error_se, "difference": difference}
        beside.append(made | {"published": printed} | ours)
    return beside


def _on_file(
    options: argparse.Namespace, cell: published.RateCell, row: Accuracy
) -> published.MeasuredRate:
    """One row for the file, rounded far below its Monte Carlo error."""
    return published.MeasuredRate(
        **asdict(cell),
        regularization=row.regularization,
        n_records=row.n_records,
        error=round(row.error, 6),
        error_se=round(row.error_se, 7),
        error_sd=round(row.error_sd, 6),
        false_positive=round(row.false_positive, 6),
        false_negative=round(row.false_negative, 6),
        n_fits=row.n_fits,
        n_failed=row.n_failed,
        folds=options.folds,
        **_how_made(options),
    )


def _how_made(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "seed": options.seed,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": " ".join(f"{name} {number}" for name, number in versions().items()),
    }


def _tuned_figure(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    """Private tuning against n; nothing of it was printed, so ours stands alone."""
    from dpci_core.studies.accuracy.tuned_curve import TuningProtocol, tuned_curve

    protocol = TuningProtocol(
        sizes=published_tuning.SIZES if options.sizes is None else tuple(options.sizes),
        n_held_out=published_tuning.HELD_OUT if options.held_out is None else options.held_out,
        n_permutations=published_tuning.PERMUTATIONS
        if options.permutations is None
        else options.permutations,
        n_runs=options.draws,
    )
    X, y = _as_published(options, published_tuning.DATASET, options.rows)
    found = tuned_curve(
        X,
        y,
        loss=published_tuning.loss_of(options.part),
        regularizations=published_tuning.regularizations(),
        epsilons=published_tuning.EPSILONS,
        protocol=protocol,
        rng=rng,
        progress=partial(_say, "permutation"),
    )
    rows = [_tuned_on_file(options, protocol, point) for point in found]
    if options.out is not None:
        published_tuning.append_tuned(rows, options.out)
    hidden = ("part", "penalties", "seed", "date", "versions")
    return [{k: v for k, v in asdict(row).items() if k not in hidden} for row in rows]


def _tuned_on_file(
    options: argparse.Namespace, protocol: TuningProtocol, point: TunedPoint
) -> published_tuning.TunedRate:
    """One row for the file, rounded far below its Monte Carlo error."""
    measured: dict[str, Any] = {
        k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(point).items()
    }
    measured |= {"epsilon": point.epsilon or "", "chosen": " ".join(map(str, point.chosen))}
    return published_tuning.TunedRate(
        **measured,
        part=options.part,
        penalties=" ".join(published_tuning.PENALTIES),
        held_out=protocol.n_held_out,
        permutations=protocol.n_permutations,
        runs=protocol.n_runs,
        **_how_made(options),
    )


def _tuning(options: argparse.Namespace, rng: np.random.Generator) -> TidyRows:
    """Algorithm 4 over penalties, beside each of them trained on all rows, of which a public table
    tells the best.
    """
    from dpci_core.studies.accuracy.protocol import tuned_accuracy
    from dpci_core.studies.accuracy.study import accuracy_experiment

    loss = _loss(options)
    learners = [
        Learner(loss=loss, method=options.method, regularization=c) for c in options.regularizations
    ]
    X, y, X_test, y_test = _split(options, rng)
    rows: TidyRows = []
    for size in options.sizes:
        if not len(learners) < size <= len(y):
            raise ValueError(f"Expected {len(learners)} < size={size} <= {len(y)}.")
        tuned = tuned_accuracy(
            X[:size],
            y[:size],
            X_test,
            y_test,
            candidates=[Candidate(learner=learner) for learner in learners],
            epsilon=options.epsilon,
            n_runs=options.draws,
            rng=rng,
        )
        print(tuned.sentence, file=sys.stderr)
        alone = accuracy_experiment(
            X[:size],
            y[:size],
            X_test,
            y_test,
            learners=learners,
            epsilons=[options.epsilon],
            n_fits=options.draws,
            rng=rng,
        )
        best = min(alone, key=lambda row: row.error)
        told = {k: v for k, v in asdict(tuned).items() if k != "sentence"} | {
            "chosen": list(tuned.chosen)
        }
        rows.append(
            told
            | {
                "best_c": best.regularization,
                "best_error": best.error,
                "cost": tuned.error - best.error,
            }
        )
    return rows


_Answer = Callable[[argparse.Namespace, np.random.Generator], TidyRows]
_ACTIONS: dict[str, tuple[_Answer, str]] = {
    "epsilon": (_against_epsilon, "test error against epsilon, by cross-validation"),
    "records": (_against_records, "test error against the number of training records"),
    "published": (_published, "the published tables and figures beside our own run"),
    "tuning": (_tuning, "private tuning, and what it costs against a penalty known beforehand"),
}


def _records(options: argparse.Namespace, key: str, n_rows: int | None) -> Records:
    return load(key, encoding=options.encoding, features=options.features, n_rows=n_rows)


def _as_published(options: argparse.Namespace, key: str, n_rows: int | None) -> tuple[Array, Array]:
    """The table of a published exhibit."""
    if options.encoding == "cms":
        return load_cms(key, n_rows=n_rows, features=options.features)
    records = _records(options, key, n_rows)
    return plain(records.X), records.y


def _loss(options: argparse.Namespace) -> Loss:
    if ("h" in LOSSES[options.loss].parameter_names()) != (options.h is not None):
        raise ValueError("Expected --h, the smoothing of an SVM, with an SVM and only there.")
    return make_loss(options.loss, options.h)


def _learners(options: argparse.Namespace) -> list[Learner]:
    loss = _loss(options)
    return [
        Learner(loss=loss, method=m, regularization=options.regularization) for m in options.methods
    ]


def _split(options: argparse.Namespace, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """Rows to train on and to test with, in random order."""
    records = _records(options, options.data, options.rows)
    train, test = divide_rows(len(records.y), test_share=options.test_share, rng=rng)
    return records.X[train], records.y[train], records.X[test], records.y[test]


def _say(what: str, done: int, total: int) -> None:
    print(f"{what} {done} of {total}", file=sys.stderr, flush=True)


def _table(rows: TidyRows) -> str:
    headers = list(rows[0])
    cells = [headers, *([_cell(row[header]) for header in headers] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(headers))]
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(line, widths, strict=True))
        for line in cells
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(str, value))
    return "-" if value is None else str(value)
