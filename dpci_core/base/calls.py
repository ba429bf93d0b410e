"""Calls with arguments that a class does not take, refused with its name and what to write."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Signature, signature
from typing import Any, ClassVar, Self


class Called:
    """A class that is called by name of its arguments.

    Python's own refusal names `__init__` of the base class in which it is written.
    """

    __signature__: ClassVar[Signature]
    call_hint: ClassVar[str] = ""
    """What to write instead; `{name}` is the class."""
    renamed: ClassVar[Mapping[str, str]] = {}
    """The same for arguments that other libraries have."""

    def __init_subclass__(cls, **others: Any) -> None:
        super().__init_subclass__(**others)
        made = signature(cls.__init__)
        kept = [one for one in made.parameters.values() if one.name != "self"]
        cls.__signature__ = made.replace(parameters=kept)  # not that of __new__, in help too

    def __new__(cls, *unnamed: object, **named: object) -> Self:
        """Check what is given; nothing at all is what copies and pickles begin with."""
        if unnamed or named:
            try:
                cls.__signature__.bind(*unnamed, **named)
            except TypeError as problem:
                known = (hint for other, hint in cls.renamed.items() if other in named)
                hint = next(known, cls.call_hint).format(name=cls.__name__)
                raise TypeError(f"{cls.__name__}: {problem}. {hint}") from None
        return super().__new__(cls)
