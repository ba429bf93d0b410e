"""Plans for tests: one to change, a strategy over all of them, and some full of hostile words."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from dpci_core import (
    ZCDP,
    ApproxDP,
    Calibration,
    CategoricalColumn,
    DeclaredTable,
    Design,
    Guesses,
    HuberSVM,
    Logistic,
    NumberGuess,
    NumericColumn,
    Plan,
    PublicTable,
    PureDP,
    Schema,
    SmoothedHinge,
    StandardEncoding,
    Target,
)

PURE = PureDP(model="0.5", hessian="0.25", covariance="0.25")
SCHEMA = Schema(
    (NumericColumn("age", 18, 98), CategoricalColumn("owns home", ("no", "yes", "1"), other="1")),
    "ill",
    "yes",
    negative=("no",),
)


def a_design(**changes: Any) -> Design:
    given: dict[str, Any] = {
        "loss": Logistic(),
        "mechanism": "output",
        "budget": PURE,
        "regularization": 0.01,
        "n_records": 20_000,
        "calibration": "published",
    }
    return Design(**(given | changes))


def a_plan(**changes: Any) -> Plan:
    given: dict[str, Any] = {
        "title": "A study",
        "source": DeclaredTable(schema=SCHEMA, guesses=Guesses(effects={"age": 0.03}, n_rows=500)),
        "design": a_design(),
        "delta": "1e-6",
    }
    return Plan(**(given | changes))


TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
LINE = TEXT.map(lambda t: "".join(c for c in t if c.isprintable())).filter(str.strip)
WORDS = LINE | st.sampled_from(
    [
        "no",
        "1",
        "01",
        "1e-3",
        "null",
        "~",
        "true",
        "12:30",
        "2020-01-01",
        "=",
        "<<",
        "- a",
        "a: b",
        "#",
        "'",
        '"',
        "&a",
        "*a",
        "!a",
        "|",
        "%",
        "@",
        "`",
        "{",
        "[",
        "?",
        "\t",
        "\u2028",
        "\ufeff",
        "\x85",
    ]
)
AMOUNT = st.decimals("0.000001", 50, places=6).filter(bool)


def _said_of(low: float, high: float) -> st.SearchStrategy[dict[str, Any]]:
    """What may be declared of a number besides its bounds."""
    typical = {
        "typical": (low + high) / 2.0,
        "spread": (high - low) / 8.0,
        "step": (high - low) / 10.0,
    }
    choices = [{}, typical, typical | {"limit": 3.0}]
    if low > 1e-3:
        choices.append({"transform": "log"})
    return st.sampled_from(choices)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    columns: list[NumericColumn | CategoricalColumn] = []
    for name in names[:-1]:
        if draw(st.booleans()):
            low = draw(st.floats(-1e6, 1e6))
            high = low + draw(st.floats(1e-2, 1e6))
            columns.append(NumericColumn(name, low, high, **draw(_said_of(low, high))))
        else:
            levels = tuple(
                draw(st.lists(WORDS.map(str.strip), min_size=2, max_size=3, unique=True))
            )
            columns.append(
                CategoricalColumn(
                    name,
                    levels,
                    draw(st.sampled_from([None, levels[0]])),
                    draw(st.booleans()),
                    draw(st.sampled_from([None, (1.0 / len(levels),) * len(levels)])),
                )
            )
    try:
        return Schema(
            tuple(columns),
            names[-1],
            draw(WORDS),
            tuple(draw(st.lists(TEXT, max_size=2))),
            draw(st.sampled_from([None, StandardEncoding(shape=4.0)])),
            negative=tuple(draw(st.lists(WORDS, max_size=2, unique=True))),
            complete=draw(st.sampled_from([1.0, 0.85])),
            suggested=draw(st.sampled_from([(), (columns[0].name,)])),
        )
    except ValueError:  # two columns whose features have the same name
        return SCHEMA


@st.composite
def guesses(draw: st.DrawFn, schema: Schema) -> Guesses:
    shares, numbers, effects = {}, {}, {}
    for column in schema.features:
        if column.guessed == "shares":
            n = column.n_values
            weights = draw(st.lists(st.floats(0.1, 1.0), min_size=n, max_size=n))
            shares[column.name] = tuple(w / math.fsum(weights) for w in weights)
        else:
            numbers[column.name] = NumberGuess(
                draw(st.floats(column.low, column.high)),
                draw(st.floats(1.5 if column.transform else 1e-3, 1e3)),
                draw(st.sampled_from([None, "low", "high"])),
            )
            effects[column.feature_names[0]] = draw(st.floats(-50.0, 50.0)) / column.reach
    pairs: tuple[tuple[str, str, float], ...] = ()
    if len(schema.features) > 1:
        one, other = (column.name for column in schema.features[:2])
        pairs = draw(st.sampled_from([(), ((one, other, 0.6),)]))
    return Guesses(
        shares=shares,
        numbers=numbers,
        effects=effects,
        pairs=pairs,
        base_rate=draw(st.floats(0.01, 0.99) | st.sampled_from([(0.05, 0.5)])),
        correlation=draw(st.sampled_from([0.0, 0.3])),
        n_rows=draw(st.integers(100, 1000)),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    schema = draw(schemas())
    declared = DeclaredTable(schema=schema, guesses=draw(guesses(schema)), unit=draw(LINE))
    source = draw(
        st.sampled_from(
            [
                declared,
                PublicTable(key="census"),
                PublicTable(key="census", n_rows=200),
                PublicTable(key="census", standard=StandardEncoding(shape=3.0, limit=2.5)),
            ]
        )
    )
    kind, parts = draw(st.sampled_from([PureDP, ZCDP])), [draw(AMOUNT) for _ in range(3)]
    flags = {
        f.name: draw(st.booleans()) for f in dataclasses.fields(Calibration) if f.type == "bool"
    }
    design = Design(
        loss=draw(st.sampled_from([Logistic(), HuberSVM(h=0.3), SmoothedHinge(h=0.3)])),
        mechanism=draw(st.sampled_from(["objective", "output"])),
        budget=kind(**dict(zip(("model", "hessian", "covariance"), parts, strict=True))),
        regularization=draw(st.floats(1e-6, 1.0)),
        n_records=draw(st.integers(1, 10**9)),
        confidence_level=draw(st.floats(0.5, 0.999)),
        calibration=draw(st.sampled_from(["published", "sharp", Calibration(**flags)])),
        target=draw(st.sampled_from(["penalised", "unpenalised"])),
    )
    names = source.schema.feature_names
    goals = st.sampled_from(
        [
            None,
            Target(0.1),
            Target(0.25, coefficient=0),
            Target(coefficient=1, excludes_zero_at=-2.0, probability=0.8),
        ]
    )
    return Plan(
        title=draw(LINE),
        source=source,
        design=design,
        delta=draw(st.sampled_from(["1e-6", "1e-30", Decimal("0.00000100"), 0.05])),
        features=draw(st.sampled_from([None, 1, names[:1], names[::-1]])),
        goal=draw(goals),
        notes=draw(TEXT),
    )


HOSTILE = "'''\"\"\" */ {{ 7 * 7 }} {% raw %} </script><b> \\ \\N{DASH} %s {0} # $(ls)"
RHO = ZCDP(model="0.06", hessian="0.02", covariance="0.0300")
APPROX = ApproxDP("1.5", "1e-6", ("0.6", "0.2", "0.2"))
TWIN = DeclaredTable(
    schema=Schema(
        (
            NumericColumn("age", 18, 98),
            CategoricalColumn('own\'s "home"\n', ("no", "1", HOSTILE), other="1"),
            CategoricalColumn(HOSTILE, ("a", "b"), has_reference=False),
        ),
        "ill\\",
        'it\'s "so"',
        (HOSTILE,),
    ),
    guesses=Guesses(
        numbers={"age": NumberGuess(45, 12, "high")},
        shares={HOSTILE: (0.3, 0.7)},
        effects={"age": 0.03, f"{HOSTILE}=b": -0.5},
        pairs=(("age", HOSTILE, 0.6),),
        base_rate=(0.2, 0.3),
        correlation=0.1,
        n_rows=900,
    ),
    unit=HOSTILE,
)
STANDARD_TWIN = DeclaredTable(
    schema=Schema(
        (
            NumericColumn("age", 18, 98, typical=60, spread=15, step=10),
            NumericColumn(HOSTILE, 1, 1e6, typical=1000, spread=3, transform="log", limit=3),
            CategoricalColumn("home", ("no", "1"), shares=(0.7, 0.3)),
        ),
        "ill",
        "yes",
        negative=("no",),
        standard=StandardEncoding(shape=3.0),
    ),
    guesses=Guesses(effects={"age": 0.03}, n_rows=2_000),
    unit=HOSTILE,
)
CENSUS = PublicTable(key="census", n_rows=2_000)
ODD = Calibration(gaussian_objective=False, exact_slope_bound=False)


def _hostile(source: Any, budget: Any, mechanism: str = "objective", **changes: Any) -> Plan:
    design = {"loss": Logistic(), "regularization": 0.01, "n_records": 50_000}
    design |= changes.pop("design", {})
    given = {
        "title": HOSTILE,
        "notes": f"{HOSTILE}\r\n\u2028{HOSTILE}",
        "delta": "1e-7",
    } | changes
    return Plan(source=source, design=Design(mechanism=mechanism, budget=budget, **design), **given)


PLANS = {
    "public pure": _hostile(CENSUS, PURE, features=5),
    "public zcdp output": _hostile(
        CENSUS, RHO, "output", features=("age", "sex=Male"), design={"calibration": "sharp"}
    ),
    "public svm": _hostile(
        CENSUS, APPROX, features=4, design={"loss": SmoothedHinge(h=0.5), "calibration": ODD}
    ),
    "public standard": _hostile(
        replace(CENSUS, standard=StandardEncoding(shape=4.0)),
        RHO,
        features=3,
        design={"calibration": "sharp", "target": "unpenalised", "regularization": 0.0003},
    ),
    "twin standard": _hostile(
        STANDARD_TWIN,
        RHO,
        design={"calibration": "sharp", "target": "unpenalised", "regularization": 0.0003},
    ),
    "twin sharp": _hostile(
        TWIN, RHO, design={"calibration": "sharp"}, goal=Target(0.2, coefficient=1, probability=0.9)
    ),
    "twin unpenalised": _hostile(
        TWIN, PURE, "output", design={"target": "unpenalised"}, goal=Target(0.3)
    ),
    "twin svm": _hostile(
        TWIN,
        APPROX,
        design={
            "loss": HuberSVM(h=1.0),
            "calibration": "sharp",
            "target": "unpenalised",
            "confidence_level": 0.9,
        },
        goal=Target(coefficient=0, excludes_zero_at=0.5, probability=0.8),
    ),
}
numbers_of = cache(Plan.numbers)
"""What a plan promises, computed once in a process; both are frozen."""
