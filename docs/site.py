"""The documents and the API reference as one site: `make docs` writes it to build/site.

Documents keep their places and their links: the site is built from a copy of the folder as it is.
"""

from __future__ import annotations

import inspect
import io
import pkgutil
import re
import shutil
import sys
from importlib import import_module
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

import dpci_core

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "site"
NOT_FOR_IMPORT = ("__main__", "cli")
"""The command line, which says itself what it can do."""
AT_THE_TOP = ("README", "CHANGELOG", "NOTATION", "CONTRIBUTING", "ARCHITECTURE", "SECURITY")
GUIDES = (
    "quickstart",
    "planning",
    "releasing",
    "operations",
    "library",
    "methods",
    "evidence",
    "scale",
)
SECTION = re.compile(r"^(Args|Shapes|Privacy|Returns|Raises|Source|Differs from):(\s+|$)(.*)")
ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): +(.*)")
SETTINGS = {
    "project": "dpci",
    "version": dpci_core.__version__,
    "html_title": f"dpci {dpci_core.__version__}",
    "extensions": ["myst_parser", "sphinx.ext.autodoc"],
    "root_doc": "index",
    "html_theme": "furo",
    "default_role": "code",  # docstrings have names between single backticks
    "html_copy_source": False,
    "myst_enable_extensions": ["dollarmath"],
    "myst_fence_as_directive": ["math"],
    "myst_heading_anchors": 4,
    "autodoc_member_order": "bysource",
    "autodoc_typehints": "none",
    "suppress_warnings": ["myst.header", "misc.highlighting_failure"],
}


def packages() -> list[str]:
    """The modules and packages of the core that are there to be imported."""
    found = [package.name for package in pkgutil.iter_modules(dpci_core.__path__)]
    return [name for name in found if name not in NOT_FOR_IMPORT]


def public(module: str) -> list[str]:
    """The names that a module shows: those that it lists, or those that it makes."""
    there = import_module(module)
    made = [
        name
        for name, value in vars(there).items()
        if getattr(value, "__module__", None) == module and callable(value)
    ]
    names = getattr(there, "__all__", [name for name in made if not name.startswith("_")])
    rooms = {name for name in names if f"{module}.{name}" in {f"dpci_core.{x}" for x in packages()}}
    return [name for name in names if name not in rooms]


def prepare(source: Path) -> None:
    """Copy the documents to a folder, and write the pages of the reference and the front page."""
    for name in AT_THE_TOP:
        shutil.copy(ROOT / f"{name}.md", source)
    shutil.copy(ROOT / "LICENSE", source)
    ignored = shutil.ignore_patterns("*.py", "__pycache__", "soak.json")
    shutil.copytree(ROOT / "docs", source / "docs", ignore=ignored)
    (source / "api").mkdir()
    rooms = ["dpci_core", *(f"dpci_core.{package}" for package in packages())]
    for room in rooms:
        lines = [room, "=" * len(room), "", f".. automodule:: {room}", ""]
        again = [name for name in public(room) if room != "dpci_core" and _is_public(room, name)]
        if again:
            lines += ["Described with `dpci_core`:", ""]
            lines += [f"- :py:obj:`{name} <dpci_core.{name}>`" for name in again] + [""]
        for name in public(room):
            if name in again:
                continue
            kind = "class" if isinstance(getattr(import_module(room), name), type) else "data"
            kind = "function" if _is_function(room, name) else kind
            members = ["   :members:"] if kind == "class" else []
            lines += [f".. auto{kind}:: {room}.{name}", *members, ""]
        (source / "api" / f"{room}.rst").write_text("\n".join(lines), encoding="utf-8")
    pages = (path.relative_to(source) for path in (source / "docs").rglob("*.md"))
    written = sorted(str(page.with_suffix("")) for page in pages)
    parts = {
        "Guides": [f"docs/{name}" for name in GUIDES],
        "Arguments and proofs": [x for x in written if x.removeprefix("docs/") not in GUIDES],
        "The project": list(AT_THE_TOP),
        "Reference": [f"api/{room}" for room in rooms],
    }
    front = ["dpci", "====", "", "Confidence intervals under differential privacy.", ""]
    for title, names in parts.items():
        front += [".. toctree::", "   :maxdepth: 1", f"   :caption: {title}", ""]
        front += [*(f"   {name}" for name in names), ""]
    (source / "index.rst").write_text("\n".join(front), encoding="utf-8")


def _is_public(module: str, name: str) -> bool:
    """Whether the public interface shows the same thing."""
    if name not in dpci_core.__all__:
        return False
    return getattr(dpci_core, name) is getattr(import_module(module), name)


def _is_function(module: str, name: str) -> bool:
    value = getattr(import_module(module), name)
    return callable(value) and not isinstance(value, type)


def as_rst(lines: list[str]) -> list[str]:
    """A docstring of this project as reStructuredText: its sections with a title, its arguments and
    attributes as items of a list, and no sign outside backticks and examples taken for markup.
    """
    found: list[str] = []
    section, is_item, is_example = "", False, False
    for line in lines:
        text = line.strip()
        is_example = text.startswith(">>>") or (is_example and bool(text))
        if is_example:
            found += ["", text] if text.startswith(">>>") and not _in_example(found) else [text]
            continue
        opened = SECTION.match(line)
        if opened:
            section, text, is_item = opened[1], opened[3], False
            found += ["", f"**{section}**", ""]
        elif text and not line.startswith(" "):
            section = ""
        argument = ARGUMENT.match(text) if section in ("", "Args", "Shapes") else None
        if not text:
            is_item = False
            found.append("")
        elif argument:
            found += [*([] if is_item else [""]), f"- `{argument[1]}`: {_plain(argument[2])}"]
            is_item = True
        elif is_item:
            found.append(f"  {_plain(text)}")
        else:
            found.append(_plain(text))
    return found


def _in_example(found: list[str]) -> bool:
    """Whether the last of these lines belongs to an example."""
    block = []
    for line in reversed(found):
        if not line:
            break
        block.append(line)
    return bool(block) and block[-1].startswith(">>>")


def _plain(text: str) -> str:
    """A line in which nothing but backticks is markup."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*|\\])|(?<=\w)_(?!\w)", _escaped, part) for part in parts[::2]]
    return "`".join(parts)


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]


def write(folder: Path, source: Path) -> list[str]:
    """Write the site, and return what is wrong with a document or a docstring, a line each.

    Args:
        folder: a new one for the pages.
        source: an empty folder for what they are made of.
    """
    prepare(source)
    complaints = io.StringIO()
    app = Sphinx(
        str(source), None, str(folder), str(source / ".doctrees"), "html",
        confoverrides=SETTINGS, status=None, warning=complaints,
    )  # fmt: skip
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("autodoc-skip-member", _skip)
    app.build()
    return complaints.getvalue().splitlines()


def _formula(to: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show by themselves: no page asks another host."""
    is_block = isinstance(node, nodes.math_block)
    shown = tex2mathml(_for_mathml(node.astext()), as_block=is_block)
    # fractions stand out of the line that a browser reserves
    to.body.append(f'<div style="padding: 0.5em 0">{shown}</div>' if is_block else shown)
    raise nodes.SkipNode


def _for_mathml(formula: str) -> str:
    """A formula as the converter reads it: without number, with dots and bars that it knows, and
    with an argument of one digit in braces, where it would take all digits there are.
    """
    formula = re.sub(r"\\tag\{(\d+)\}", r"\\qquad (\1)", formula)
    for own, known in ((r"\dots", r"\ldots"), (r"\lvert", r"\left|"), (r"\rvert", r"\right|")):
        formula = formula.replace(own, known)
    formula = re.sub(r"(\\t?frac)(\d)(\w)", r"\1{\2}{\3}", formula)
    return re.sub(r"([\^_]|\\sqrt)(\d)", r"\1{\2}", formula)


def _rewrite(
    app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """What Sphinx calls for every docstring, whose lines it then reads."""
    is_of_its_type = what == "data" and inspect.getdoc(type(thing)) == "\n".join(lines).strip()
    lines[:] = [] if is_of_its_type else as_rst(lines)


def _skip(
    app: Sphinx, what: str, name: str, thing: object, skip: bool, options: object
) -> bool | None:
    """Leave out what scikit-learn writes into every estimator for its metadata routing."""
    return True if name.startswith("set_") and name.endswith("_request") else None


if __name__ == "__main__":
    work = ROOT / "build" / "site-source"
    for old in (FOLDER, work):
        shutil.rmtree(old, ignore_errors=True)
    work.mkdir(parents=True)
    wrong = write(FOLDER, work)
    print("\n".join([*wrong, str(FOLDER / "index.html")]))
    sys.exit(bool(wrong))
