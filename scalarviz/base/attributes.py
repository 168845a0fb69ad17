"""Errors for unknown and read-only attributes, and temporary values of attributes.

A class enables the errors as follows:

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

`__getattr__` slows down all attributes of a class, even existing ones: by half in CPython 3.11.
`__setattr__` slows down every assignment. `Value` and `Weight`, whose attributes are used thousands
of times per step, have neither, and raise the errors of Python.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from scalarviz.base.near_names import meaning
from scalarviz.errors import ReadOnlyError, UnknownAttributeError

OURS = __name__.partition(".")[0] + "."

put = object.__setattr__


def unknown(self: object, name: str) -> Any:
    """A `__getattr__` that raises UnknownAttributeError with a hint to the right name."""
    if name.startswith("_") or hasattr(type(self), name):
        return object.__getattribute__(self, name)  # Python's error, or the error of a property
    raise no_attribute(self, name)


def set_known(self: object, name: str, value: object) -> None:
    """A `__setattr__` that raises an error for an unknown or read-only attribute.

    Code of this package can set, and so add, any attribute. Other code can set the attributes
    listed in `_settable` of the class, and can add attributes to user-defined classes. If `_sealed`
    is not empty, other code cannot set any attribute, and the error quotes it as the reason.
    """
    if not sys._getframe(1).f_globals.get("__name__", "").startswith(OURS):
        check(self, name, value)
    put(self, name, value)


def check(self: object, name: str, value: object) -> None:
    """Raise ReadOnlyError or UnknownAttributeError for an assignment from outside the package."""
    kind = type(self)
    if vars(self).get("_sealed"):
        raise ReadOnlyError(f"{kind.__name__}.{name} {vars(self)['_sealed']}")
    if name.startswith("_") or name in getattr(kind, "_settable", ()):
        return
    there = getattr(kind, name, None)
    if isinstance(there, property):
        if there.fset is None:
            raise read_only(kind, name, "can only be read")
    elif callable(there):
        if not callable(value):
            raise read_only(kind, name, "is a method: call it")
    elif kind.__module__.startswith(OURS):
        if not hasattr(self, name):
            raise no_attribute(self, name)
        raise read_only(kind, name, "can only be read", f"make another {kind.__name__}")


def no_attribute(thing: object, name: str) -> UnknownAttributeError:
    """Return the error for an unknown attribute."""
    kind = type(thing)
    names = [each for each in dir(thing) if not each.startswith("_")]
    return UnknownAttributeError(kind.__name__, name, names, meant_by(kind, name, names))


def read_only(kind: type, name: str, reason: str, instead: str = "") -> ReadOnlyError:
    """Return the error for a read-only attribute; `instead` is the remedy if no hint is known."""
    meant = meant_by(kind, name) or instead
    return ReadOnlyError(f"{kind.__name__}.{name} {reason}{meant and f': {meant}'}")


def meant_by(kind: type, name: str, names: Iterable[str] = ()) -> str:
    """Return a hint to the attribute probably meant by `name`; base classes are also searched."""
    found = (meaning(f"attribute of {each.__name__}", name, names) for each in kind.__mro__)
    return next(filter(None, found), "")


@contextmanager
def meanwhile(thing: object, **values: object) -> Iterator[None]:
    """Context manager that sets attributes to `values` and restores them afterwards."""
    before = {name: getattr(thing, name) for name in values}
    vars(thing).update(values)
    try:
        yield
    finally:
        vars(thing).update(before)
