"""The numbers on the page as a few lines of Python."""

from __future__ import annotations

import streamlit as st

from dpci_core.mechanisms.mechanism import mechanism_of
from ui.session import compute
from ui.session.settings import Settings


def panel(view: compute.View) -> None:
    """The code, or why there is none."""
    if view.settings.dataset in ("upload", compute.DECLARED):
        st.info(
            "Code is written for the built-in tables. For a table that you describe, Plan writes a "
            "plan file that the command line and Python read."
        )
        return
    st.code(code_of(view.settings), language="python")


def _printed(settings: Settings) -> str:
    """Lines that print the finding of the page."""
    if settings.is_penalised:
        return (
            'print(f"mean length {expected.ci_length_mean:.4g}, '
            'coverage {expected.coverage_mean:.1%}")\n'
        )
    return """told = ~expected.is_not_reportable
told[-1] = False  # the constant is no effect
times = (expected.ci_length / expected.nonprivate_length)[told]
coverage = expected.coverage[told].mean()
print(f"{told.sum()} effects, {np.exp(np.log(times).mean()):.2f} times as long as without privacy")
print(f"coverage {coverage:.1%}")
"""


def code_of(settings: Settings) -> str:
    """Python that prints mean length and coverage of the first combination."""
    first = settings.combinations[0]
    design = settings.design(first)
    budget = design.budget
    parts = ", ".join(
        f'{name}="{part:f}"'
        for name, part in zip(("model", "hessian", "covariance"), budget.parts, strict=True)
    )
    loss = type(design.loss).__name__
    width = f"h={settings.h!r}" if "h" in design.loss.parameters else ""
    features = repr(settings.features)
    calibration = (
        '"published"'
        if first.calibration == "published"
        else (
            '"sharp"' if settings.results == "all" else "dp.Calibration(gaussian_objective=False)"
        )
    )
    shape = ""
    if settings.is_shaped and mechanism_of(design).turns_noise:
        shape = "design = dp.planner.shaped(moments, design=design) or design\n"
    spread = ", with_spread=True" if shape else ""
    imports, meaning = "import dpci_core as dp\n", ""
    if not settings.is_penalised:
        imports = "import numpy as np\n\n" + imports
    if settings.encoding == "standard":
        is_declared = settings.map_source == "declared"
        imports += (
            "from dpci_core.schema import StandardEncoding\n"
            if is_declared
            else "from dpci_core.planner.standard import enclosing\n"
        )
        encoding = repr(compute.standard_of(settings, settings.features))
        meaning = ", meaning=records.meaning"
        table = f'''
def table(standard):
    return dp.datasets.load(
        "{settings.dataset}", encoding="standard", features={features}, standard=standard
    )


records = table({encoding if is_declared else "enclosing(table)"})'''
    else:
        table = f'''
records = dp.datasets.load(
    "{settings.dataset}", encoding="{settings.encoding}", features={features}
)'''
    return f'''{imports}{table}
design = dp.Design(
    loss=dp.{loss}({width}),
    mechanism="{first.mechanism}",
    budget=dp.{type(budget).__name__}({parts}),
    regularization={settings.c!r},
    n_records={settings.n!r},
    confidence_level={settings.level!r},
    calibration={calibration},
    target="{settings.target}",
)
moments = dp.fit_moments(
    records.X, records.y, loss=design.loss, regularization={settings.c!r},
    target="unpenalised"{spread}{meaning},
)
{shape}expected = dp.forecast(moments, design=design)
{_printed(settings)}'''
