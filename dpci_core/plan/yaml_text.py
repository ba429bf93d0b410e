"""YAML for people, read strictly: one document, no alias, no tag, no key twice; only true and false
are switches.

Plain words follow the rules of YAML 1.2: `no` and `01` are texts, `1e-3` is a number, and nothing
is a date.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

_RULES = (
    ("null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""]),
    ("bool", re.compile(r"^(?:true|false)$"), list("tf")),
    ("int", re.compile(r"^(?:0|-?[1-9][0-9]*)$"), list("-0123456789")),
    (
        "float",
        re.compile(
            r"^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|-?\.[0-9]+(?:[eE][-+]?[0-9]+)?)$"
        ),
        list("-.0123456789"),
    ),
)
"""What a plain word can be besides a text, tried in this order."""
_WIDTH = 110


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _refused(
                "Expected no anchor & or alias *; put texts that begin so in quotes.", event
            )
        if getattr(event, "tag", None) is not None:
            raise _refused("Expected no tag !; put texts that begin so in quotes.", event)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, int) and not isinstance(key, bool):
                key = str(key)
            if not isinstance(key, str):
                raise _refused(
                    "Expected the name of a field here; put names like true or 1.5 in quotes.",
                    key_node,
                )
            if key in found:
                raise _refused(f"The field {key!r} is given twice.", key_node)
            found[key] = self.construct_object(value_node, deep=True)
        return found


def _construct_mapping(loader: _Loader, node: Any) -> dict[Any, Any]:
    return loader.construct_mapping(node, deep=True)


def _construct_int(loader: _Loader, node: Any) -> int:
    return int(loader.construct_scalar(node))


def _construct_float(loader: _Loader, node: Any) -> float:
    number = float(loader.construct_scalar(node))
    if not math.isfinite(number):
        raise _refused("Expected a finite number.", node)
    return number


def _refused(message: str, place: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=place.start_mark)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


_OTHER_READERS = yaml.resolver.Resolver()
"""The rules of YAML 1.1, by which other programs would take `no` or `12:30` for something else than
a text.
"""


_OTHER_BREAKS = frozenset("\r\x85\u2028\u2029\ufeff")
"""Line breaks and marks of YAML 1.1 besides the usual one; only escapes in double quotes bring them
back.
"""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> Any:
    tag = "tag:yaml.org,2002:str"
    elsewhere = _OTHER_READERS.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if _OTHER_BREAKS.intersection(text):
        style: str | None = '"'
    else:
        style = "|" if "\n" in text else None if elsewhere == tag else "'"
    return dumper.represent_scalar(tag, text, style=style)


for _kind in (_Loader, _Dumper):
    _kind.yaml_implicit_resolvers = {}  # instead of those of YAML 1.1
    for _name, _rule, _first in _RULES:
        _kind.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", _rule, _first)
_Loader.add_constructor("tag:yaml.org,2002:map", _construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_Dumper.add_representer(str, _represent_text)


def load_yaml(text: str) -> object:
    """Return the plain values of a YAML text, or raise ValueError naming the line."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"Line {error.problem_mark.line + 1}: "
        raise ValueError(f"{line}{error.problem or 'This is not YAML.'}") from None
    except yaml.YAMLError:
        raise ValueError("A character in this text cannot stand in YAML.") from None
    except (RecursionError, ValueError, AttributeError, IndexError):
        raise ValueError(
            "This YAML is nested too deeply, or holds something that cannot be read."
        ) from None


def dump_yaml(content: dict[str, Any], *, is_block: bool = False) -> str:
    """Return plain values as YAML in their order; lists and fields without further ones stay on a
    line, unless `is_block` gives each a line of its own.
    """
    is_flat = is_block or not any(isinstance(value, dict | list) for value in content.values())
    flow = False if is_flat else None
    text: str = yaml.dump(
        content,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=flow,
    )
    return text
