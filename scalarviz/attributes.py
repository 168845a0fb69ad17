"""Attributes that an object does not have: none is set in vain, and those of others are answered.

A class takes them up with

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known
"""

from __future__ import annotations

import sys
from typing import Any

from scalarviz.errors import ReadOnlyError, UnknownAttributeError
from scalarviz.spellings import meaning

PACKAGE = __name__.partition(".")[0]
NOTHING = object()


def unknown(self: object, name: str) -> Any:
    """`__getattr__`: the error for an attribute that is not there, with what to write instead."""
    if name.startswith("_") or hasattr(type(self), name):
        return object.__getattribute__(self, name)  # Python's error, or that within a property
    raise no_attribute(self, name)


def set_known(self: object, name: str, value: object) -> None:
    """`__setattr__`: refuse what is not known, and what cannot be set.

    What code of this package sets is known from then on. Classes of users may have what they like.
    A thing with a `_sealed` takes nothing: that is the reason.
    """
    if vars(self).get("_sealed"):
        raise ReadOnlyError(f"{type(self).__name__}.{name} {vars(self)['_sealed']}")
    if not (name.startswith("_") or name in vars(self)):
        kind = type(self)
        there = getattr(kind, name, NOTHING)
        if isinstance(there, property) and there.fset is None:
            raise read_only(kind, name, "can only be read")
        if callable(there) and not callable(value):
            raise read_only(kind, name, "is a method: call it")
        setter = sys._getframe(1).f_globals.get("__name__", "")
        if there is NOTHING and is_ours(kind.__module__) and not is_ours(setter):
            raise no_attribute(self, name)
    object.__setattr__(self, name, value)


def is_ours(module: str) -> bool:
    """Whether a module is one of this package."""
    return module.partition(".")[0] == PACKAGE


def no_attribute(thing: object, name: str) -> UnknownAttributeError:
    """The error for an attribute that there is not."""
    kind = type(thing)
    names = [each for each in dir(thing) if not each.startswith("_")]
    return UnknownAttributeError(kind.__name__, name, names, meant_by(kind, name, names))


def read_only(kind: type, name: str, reason: str) -> ReadOnlyError:
    """The error for an attribute that cannot be set."""
    meant = meant_by(kind, name)
    return ReadOnlyError(f"{kind.__name__}.{name} {reason}{meant and f': {meant}'}")


def meant_by(kind: type, name: str, names: list[str] | None = None) -> str:
    """What somebody meant by an attribute; tables of the classes above hold too."""
    found = (meaning(f"attribute of {each.__name__}", name, names or ()) for each in kind.__mro__)
    return next(filter(None, found), "")
