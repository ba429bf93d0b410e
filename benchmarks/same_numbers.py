"""Every number, file and link that a restructuring must leave as it is, kept and compared.

    python -m benchmarks.same_numbers --write before.json
    python -m benchmarks.same_numbers --against before.json [--tolerance 1e-9]

Nearly only names that outlive a move of modules are used: the public interface, public subpackages
and the command line. What time or the
operating system's noise decides is kept as a type. Equal is equal by repr, so both runs belong on
one machine; a tolerance is relative to the largest entry of an array. Sentences are those of the
command line and of files, because the core's own are free to move.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product, zip_longest
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
from threadpoolctl import threadpool_limits

import dpci_core as core
from dpci_core import datasets, plan, release
from dpci_core.estimators import DPLinearSVC, DPLogisticRegression
from dpci_core.tuning import Candidate, Learner, tune_privately
from ui.session.plan_settings import settings_of
from ui.session.settings import from_query

MOST_LINES, MOST_SHOWN = 8, 300
"""Of a section, one for each entry that differs; and characters of a line."""
SMALLEST = 1e-6
"""Under a tolerance, smaller numbers count as of this size: a coverage may be 1e-10."""
LOST = "LOST: "
"""In the place of what could not be computed."""
OF_THE_SOLVER = "gradient_norm n_iterations"
"""How a minimum was reached: compared only where no tolerance is asked for."""
OF_THE_MOMENT = (
    "released_at head released scaled original sampling_se privacy_se noise_factor is_noise_aware "
    "is_not_estimable matrices verdict software created_at booked_at ended_at result_hash"
)
"""Fields of a release or a ledger that time or the operating system's noise decides."""
TABLES = {"p=4": (3, 3_000, 0.01), "p=11": (10, 8_000, 0.001)}
"""Features and rows of the simulated census, and c."""
LOSSES = (core.Logistic(), core.HuberSVM(h=0.5), core.SmoothedHinge(h=0.5))
BUDGETS = {
    "pure": core.PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    "zcdp": core.ApproxDP("2", "1e-6", ("0.5", "0.25", "0.25")).to_zcdp(),
}
TARGETS = (
    core.Target(0.2),
    core.Target(0.3, coefficient=1, probability=0.9),
    core.Target(coefficient=0, excludes_zero_at=0.5, probability=0.8),
    core.Target(1e-7),
)
BUDGET = "budget.model budget.hessian budget.covariance budget.total "
DESIGN = BUDGET + "definition regularization confidence_level"
USE = "usefulness.half_width usefulness.coefficient usefulness.privacy_share "
FORECAST = USE + (
    "estimate ci_length ci_length_sd vi_length nonprivate_length coverage ci_length_mean "
    "mean_length_sd vi_length_mean nonprivate_length_mean coverage_mean epsilon_delta n_records "
    "not_estimable_share validity.grade validity.r1 validity.r2 validity.r3 usefulness.is_useless"
)
INTERVALS = USE + (
    "estimate low high theta_priv is_not_estimable sampling_se privacy_se confidence_level "
    "n_records hessian covariance noise_factor is_noise_aware n_lifted_hessian "
    "n_lifted_covariance length smallest_hessian_eigenvalue results_version"
)
MOMENTS = "theta_hat hessian covariance n_records drift.step drift.output drift.objective"
SPLIT = BUDGET.replace("budget", "design.budget") + (
    "shares gain near_best n_tried epsilon_delta forecast.ci_length_mean asked.ci_length_mean"
)
NEEDED = "forecast.n_records length probability epsilon_delta design.budget.total"
RANKED = "loss mechanism definition calibration length epsilon delta as_if_records"
CURVE = "regularization length shift shift_in_half_widths shift_norm largest_shift grade"
CHOICE = "regularization forecast.ci_length_mean shift largest_shift near_best"
HELP = "n_records budget_factor regularization"
FITTED = "names models estimate low high sampling_se privacy_se is_not_estimable"
LINKS = (
    "",
    "dataset=breast_cancer&d=5&definitions=pure~zcdp&losses=logistic~huber_svm&pairing=paper",
    "currency=approx&epsilon=0.7&delta=1e-7&calibrations=sharp~published&target=unpenalised",
    "names=age~sex=Male~a%257Eb&split=0.5~0.3~0.2&locked=010&smoothing=smoothed_hinge&h=0.25",
    "split=1.6~0.2~0.2&shares=0.8~0.1~0.1&goal=zero&goal_on=age&goal_value=-0.5&look=split",
    "encoding=paper&units=odds&results=reviewed&sweep=n&level=0.9&c=0.25&n=500",
    "n=-1&h=x&split=a~b~c&currency=euro&epsilon=1e999&definitions=&c=0&goal_value=0&junk=1",
)
MOVES = {"total": 0.8, "model": 30.0, "n": 7_000, "c": 0.02, "h": 2.0, "d": 4}
REFUSED = (
    "plan split --data census --features 3 --rows 3000 --loss logistic --regularization 1e-6 "
    "--epsilon 0.01 --mechanism objective --calibration published"
)
Plain = Any
"""What JSON can hold."""
Entries = Iterator[tuple[str, Plain]]


def plain(value: Any) -> Plain:
    """What JSON does not know: arrays as lists, amounts by their exact digits."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def picked(thing: object, names: str) -> Plain:
    """The attributes that are named, or the thing itself; None stays None."""
    if thing is None or not names:
        return thing
    made: dict[str, Plain] = {}
    for name in names.split():
        try:
            made[name] = attrgetter(name)(thing)
        except AttributeError as error:
            made[name] = LOST + str(error)
    return made


def asked(names: str, function: Callable[..., object], *args: Any, **kwargs: Any) -> Plain:
    """Attributes of what the function returns, or the ways out of a design that cannot run."""
    try:
        return picked(function(*args, **kwargs), names)
    except core.InfeasibleDesignError as error:
        return [[way.what, way.value, way.is_smallest] for way in error.changes]


def command(folder: Path, *args: object) -> Plain:
    """What the command line answers: exit code, text or JSON, and the error output."""
    line, root = [sys.executable, "-m", "dpci_core", *map(str, args)], Path(__file__).parents[1]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(line, cwd=root, env=env, capture_output=True, text=True, check=False)
    out, error = (text.replace(str(folder), "FOLDER") for text in (done.stdout, done.stderr))
    is_json = "--json" in args and out != ""
    return {"code": done.returncode, "out": json.loads(out) if is_json else out, "error": error}


@cache
def table(name: str) -> Any:
    """The records of a table."""
    features, rows, _ = TABLES[name]
    return datasets.load("census", encoding="schema", features=features, n_rows=rows)


@cache
def moments(name: str, loss: core.Loss) -> core.Moments:
    """The fit of a table."""
    of, c = table(name), TABLES[name][2]
    return core.fit_moments(of.X, of.y, loss=loss, regularization=c)


@cache
def grid() -> dict[str, tuple[str, core.Design]]:
    """Every table, loss, mechanism, definition, calibration and target."""
    ways = (("objective", "output"), BUDGETS, ("published", "sharp"), ("penalised", "unpenalised"))
    made = {}
    for name, loss, mechanism, kind, calibration, target in product(TABLES, LOSSES, *ways):
        key = f"{name} {loss.name} {mechanism} {kind} {calibration} {target}"
        how = {"loss": loss, "mechanism": mechanism, "calibration": calibration, "target": target}
        _, n, c = TABLES[name]
        how |= {"regularization": c, "n_records": n}
        made[key] = name, core.Design(budget=BUDGETS[kind], **how)
    return made


def numbers(_: Path) -> Entries:
    """Fits, forecasts at several n and of a contrast, intervals and experiments at a seed."""
    for name, loss in product(TABLES, LOSSES):
        yield f"{name} {loss.name}", picked(moments(name, loss), MOMENTS)
    for key, (name, design) in grid().items():
        fit, of = moments(name, design.loss), table(name)
        for n in (60, 400, None, 100_000):
            at = design if n is None else replace(design, n_records=n)
            yield f"{key} {n}", asked(FORECAST, core.forecast, fit, design=at)
        ones = np.ones((1, len(fit.theta_hat)))
        yield f"{key} sum", asked(FORECAST, core.forecast, fit, design=design, contrasts=ones)
        rng = np.random.default_rng(7)
        result = core.private_intervals(of.X, of.y, design=design, rng=rng)
        after = core.forecast(result.released_moments(), design=design)
        yield f"{key} interval", picked(result, INTERVALS) | {"next": after.ci_length_mean}
    for target, most in (("penalised", 120), ("unpenalised", 40)):
        chosen = [
            replace(x, n_records=800)
            for name, x in grid().values()
            if name == "p=4" and x.target == target
        ]
        of, rng = table("p=4"), np.random.default_rng(3)
        counts = {"n_variability": most, "n_coverage": 40}
        done = core.run_experiment(of.X[:800], of.y[:800], designs=chosen, rng=rng, **counts)
        kept = done.to_record().items()
        yield target, {k: v for k, v in kept if k not in ("versions", "seconds")}


def planner(_: Path) -> Entries:
    """Answers as numbers; the last target is out of reach."""
    n = 20_000
    for key, (name, design) in grid().items():
        few = {"p=4": ("sharp", "published pen"), "p=11": ("sharp pen",)}[name]
        if "smoothed" in key or not any(words in key for words in few):
            continue
        fit, of = moments(name, design.loss), table(name)
        design = replace(design, n_records=n)
        at: dict[str, Any] = {"design": design}
        for hold in ({}, {"hessian": design.budget.hessian}):
            yield f"{key} {[*hold]}", asked(SPLIT, core.best_split, fit, locked=hold, **at)
        few_records = replace(design, n_records=300)
        yield f"{key} help", asked(HELP, core.remedies, fit, design=few_records)
        yield f"{key} as if", asked("", core.as_if_records, fit, **at)
        best = core.best_regularization(of.X, of.y, **at)
        choices = (best.shortest, best.low_bias, best.unpenalised)
        yield f"{key} c", [picked(best.curve, CURVE), *(picked(x, CHOICE) for x in choices)]
        for i, target in enumerate(TARGETS):
            to = at | {"target": target}
            yield f"{key} chance {i}", asked("", core.meeting_probability, fit, **to)
            yield f"{key} budget {i}", asked(NEEDED, core.needed_budget, fit, **to)
            yield f"{key} records {i}", asked(NEEDED, core.needed_records, fit, **to)
    for name, loss in product(TABLES, LOSSES[:2]):
        at = {"epsilon": "1", "delta": "1e-6", "regularization": TABLES[name][2], "n_records": n}
        rows = core.rank_mechanisms(moments(name, loss), **at)
        ranked = [[picked(row, RANKED), picked(row.design, BUDGET)] for row in rows]
        yield f"{name} {loss.name} rank", ranked


def learners(folder: Path) -> Entries:
    """Estimators with two and three classes, private tuning, and test errors, all at seeds."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 10, (600, 3))
    two = (X @ [1, -1, 0.5] + rng.normal(0, 3, 600) > 2).astype(int)
    ways = (DPLogisticRegression, DPLinearSVC), (2, 3), ("objective", "output"), BUDGETS
    for kind, n, mechanism, name in product(*ways):
        how = {"mechanism": mechanism, "calibration": "sharp", "classes": range(n)}
        model = kind(budget=BUDGETS[name], feature_bounds=(0, 10), random_state=1, **how)
        model.fit(X, two if n == 2 else two + (X[:, 2] > 8))
        key, joint = f"{kind.__name__} {n} {mechanism} {name}", {"units": "scaled", "joint": True}
        yield f"{key} fit", picked(model, "coef_ intercept_ regularization_")
        yield f"{key} intervals", picked(model.confidence_intervals(), FITTED)
        yield f"{key} joint", picked(model.confidence_intervals(0.9, **joint), FITTED)
        yield f"{key} summary", str(model.summary())
    of = table("p=4")
    listed = [
        Candidate(learner=Learner(loss=loss, method=method, regularization=0.05))
        for loss, method in product(LOSSES, ("output", "objective", "objective_tight"))
    ]
    for seed in range(5):
        how = {"epsilon": "0.5", "rng": np.random.default_rng(seed)}
        made = tune_privately(of.X, of.y, candidates=listed, **how)
        yield f"tuned {seed}", picked(made, "index theta epsilon n_train n_holdout")


def links(_: Path) -> Entries:
    """What the dashboard makes of a link: its settings, what it refuses, designs, every move."""
    for link in LINKS:
        now, bad = from_query(dict(parse_qsl(link, keep_blank_values=True)))
        yield f"?{link}", [now.to_query(), list(bad)]
        yield f"?{link} moved", [now.swept(*move).to_query() for move in MOVES.items()]
        yield f"?{link} designs", [picked(now.design(x), DESIGN) for x in now.combinations]


@cache
def some_plans() -> dict[str, core.Plan]:
    """Two plans for one declared table, and one that starts from the census."""
    columns = (core.NumericColumn("age", 0, 100), core.CategoricalColumn("city", ("a", "b")))
    guesses = core.Guesses(effects={"age": 0.03}, n_rows=200)
    twin = core.DeclaredTable(
        schema=core.Schema(columns, "sick", "yes", negative=("no",)), guesses=guesses
    )
    designs = {key: design for key, (_, design) in grid().items()}
    rho = designs["p=4 smoothed_hinge objective zcdp sharp penalised"]
    ways = {
        "pure": designs["p=4 logistic output pure published penalised"],
        "rho": replace(rho, calibration=core.Calibration(gaussian_objective=False)),
        "svm": designs["p=4 huber_svm objective zcdp sharp unpenalised"],
    }
    made = {}
    for (name, design), goal in zip(ways.items(), TARGETS[:3], strict=True):
        is_public = name == "svm"
        made[name] = core.Plan(
            title=f'A "{name}"',
            source=core.PublicTable(key="census") if is_public else twin,
            features=("age", "sex=Male") if is_public else None,
            design=replace(design, n_records=50_000 if is_public else 400),
            delta="1e-7",
            goal=goal,
            notes="One line,\nand ''' another",
        )
    return made


def plans(folder: Path) -> Entries:
    """Plans in every form, what is read back, and the planner's command line."""
    for name, made in some_plans().items():
        file = folder / f"{name}.yaml"
        core.write_plan(made, file)
        yield f"{name} files", [file.read_text(), plan.as_json(made), made.to_query()]
        again = core.read_plan(plan.as_json(made)), core.Plan.from_query(made.to_query())
        yield f"{name} digest", [x.digest for x in (made, core.read_plan(file), *again)]
        yield f"{name} numbers", made.numbers().to_record()
        yield f"{name} settings", settings_of(made).to_query()
        for form in ("script", "notebook", "html"):
            yield f"{name} {form}", command(folder, "plan", "export", file, "--to", form)
        yield f"{name} show", command(folder, "plan", "show", file)
        for action in ("split", "records", "budget", *(("rank", "c") if name == "pure" else ())):
            yield f"{name} {action}", command(folder, "plan", action, "--plan", file, "--json")
    yield "refused", command(folder, *REFUSED.split())
    yield "out of reach", command(folder, "plan", "budget", "--plan", file, "--length", "1e-7")


def masked(value: Plain, is_hidden: bool = False) -> Plain:
    """A record with types in the place of what another release would have otherwise."""
    if isinstance(value, dict):
        hidden = OF_THE_MOMENT.split()
        return {key: masked(item, is_hidden or key in hidden) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item, is_hidden) for item in value]
    return type(value).__name__ if is_hidden else value


def frozen(record: Plain) -> Plain:
    """A record with fixed numbers in the place of released ones."""
    for j, row in enumerate(record["coefficients"]):
        value = 0.7 - 0.3 * j
        row |= {"released": value, "sampling_se": 0.1, "privacy_se": 0.2, "noise_factor": 1.25}
        of = {"estimate": value, "low": value - 0.5, "high": value + 0.25}
        row |= {"scaled": of, "original": of, "is_not_estimable": False, "is_noise_aware": True}
    p = len(record["coefficients"])
    same = (0.2 * np.eye(p)).tolist()
    record["matrices"] |= {"hessian": same, "covariance": same, "hessian_at": [0.1] * p}
    record["ledger"]["head"] = f"2:{'0' * 16}:{'0' * 64}"
    record["software"] = dict.fromkeys(record["software"], "1.0")
    return record | {"released_at": "2026-01-01T00:00:00+00:00", "verdict": ""}


def releases(folder: Path) -> Entries:
    """Two releases of a tiny table, their ledger, and the pages of both with fixed numbers."""
    ages, private = np.random.default_rng(1).uniform(0, 100, 400), folder / "table.csv"
    rows = [f"{age:.3f},{'ab'[int(age) % 2]},{'yes' if age > 55 else 'no'}" for age in ages]
    private.write_text("\n".join(["age,city,sick", *rows]) + "\n")
    book = ("--ledger", folder / "ledger.sqlite", "--json")
    for name, cap in (("pure", ("--epsilon", 2)), ("rho", ("--rho", 1))):
        file, place, kept = folder / f"{name}.yaml", folder / name, folder / f"{name}.json"
        core.write_plan(some_plans()[name], file)
        make = ("ledger", "create", name, "--plan", file, *cap, "--person", "A", "--other-people")
        yield f"{name} account", masked(command(folder, *make, *book))
        spend = ("release", file, "--file", private, "--dataset", name)
        yield f"{name} price", command(folder, *spend, "--check", *book)
        whose = ("--person", "B", "--request", name, "--confirm", name, "--folder", place)
        whose = (*whose, "--accept-warnings")
        done = command(folder, *spend, *whose, *book)
        yield f"{name} record", masked(done)
        yield f"{name} files", sorted(file.name for file in place.iterdir())
        yield f"{name} plan", (place / "plan.yaml").read_text()
        kept.write_text(json.dumps(frozen(done["out"])))
        for maker in ("report_html", "model_card", "intervals_csv"):
            yield f"{name} {maker}", getattr(release, maker)(release.load_release(kept))
        yield f"{name} predict", command(folder, "predict", kept, private)
    yield "ledger", masked(command(folder, "ledger", "show", *book))


def everything() -> Plain:
    """All sections; one that breaks off says so at its end and leaves the others alone."""
    made: dict[str, Plain] = {}
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        for section in (numbers, planner, learners, links, plans, releases):
            kept = made[section.__name__] = {}
            try:
                kept.update(section(Path(folder)))
            except Exception as error:
                kept["broken off"] = f"{LOST}{type(error).__name__}: {error}"
    return json.loads(json.dumps(made, default=plain))


def size(value: Plain) -> float:
    """The largest number of an array, 0 for what is none."""
    if isinstance(value, list):
        return max(map(size, value), default=0.0)
    return abs(value) if isinstance(value, int | float) else 0.0


def differences(a: Plain, b: Plain, slack: float, path: str = "", near: float = 0) -> Iterator[str]:
    """A line for every path at which two contents differ."""
    near = max(near, slack * max(size(a), SMALLEST))
    if isinstance(a, dict) and isinstance(b, dict):
        for key in dict.fromkeys([*a, *b]):
            at = f"{path} / {key}" if path else key
            if key not in a or key not in b:
                yield f"{at}: {f'new, {b[key]}' if key in b else 'not there any more'}"
            elif not (slack and key in OF_THE_SOLVER.split()):
                yield from differences(a[key], b[key], slack, at)
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from differences(x, y, slack, f"{path}[{i}]", near)
    elif repr(a) != repr(b):
        if {type(a), type(b)} <= {int, float} and abs(a - b) <= near:
            return
        texts = f"{a}\n".splitlines(), f"{b}\n".splitlines()
        pairs = zip_longest(*texts, fillvalue="no such line")
        x, y = next((pair for pair in pairs if pair[0] != pair[1]), (repr(a), repr(b)))
        yield f"{path}: {x[:99]} is now {y[:99]}"


def main() -> int:
    """Keep or compare; exit code 1 where anything differs or could not be computed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_numbers")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="keep what is computed now")
    what.add_argument("--against", type=Path, metavar="FILE", help="compare with what was kept")
    parser.add_argument("--tolerance", type=float, default=0.0, help="relative (default: exact)")
    options = parser.parse_args()
    now = everything()
    if options.write:
        text = json.dumps(now, indent=0)
        options.write.write_text(text + "\n")
        lines = [line for line in text.splitlines() if LOST in line]
    else:
        lines = [*differences(json.loads(options.against.read_text()), now, options.tolerance)]
    firsts: dict[str, dict[str, str]] = {}
    for line in sorted(lines, key=lambda line: LOST not in line):
        section, _, rest = line.partition(" / ")
        firsts.setdefault(section, {}).setdefault(rest.partition(" / ")[0], line[:MOST_SHOWN])
    for section, first in firsts.items():
        print("\n".join([*first.values()][:MOST_LINES]))
        print(f"{section}: {len(first)} entries differ.\n")
    print(f"{len(lines)} paths differ or could not be computed.")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
