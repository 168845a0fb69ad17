"""Every public name of scalarviz, with the methods of its classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import scalarviz as sv


def public_objects() -> Iterator[tuple[str, Any]]:
    """Yield names such as "Network" and "data.Rgb", with their objects."""
    for name in sv.__all__:
        found = getattr(sv, name)
        if not inspect.ismodule(found):
            yield name, found
            continue
        home = found.__name__
        for own in dir(found):
            member = getattr(found, own)
            if not own.startswith("_") and getattr(member, "__module__", "").startswith(home):
                yield f"{name}.{own}", member


def classes() -> Iterator[tuple[str, type]]:
    """Yield the public classes, and their base classes in scalarviz."""
    seen: set[type] = set()
    for name, found in public_objects():
        if inspect.isclass(found):
            for kind in found.__mro__:
                if kind.__module__.startswith("scalarviz") and kind not in seen:
                    seen.add(kind)
                    yield (name if kind is found else kind.__qualname__), kind


def methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods that a class itself defines."""
    for name, member in vars(kind).items():
        function = inspect.unwrap(getattr(member, "__func__", member))
        if inspect.isfunction(function) and not name.startswith("_"):
            yield name, function


def callables() -> Iterator[tuple[str, Callable[..., Any], type | None]]:
    """Yield every public function, class and method with its name and its class."""
    for name, found in public_objects():
        if inspect.isfunction(found):
            yield name, found, None
    for name, kind in classes():
        if not issubclass(kind, BaseException):
            yield name, kind, kind
            for own, method in methods(kind):
                yield f"{name}.{own}", method, kind


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the arguments that a user can pass."""
    found = inspect.signature(function).parameters.values()
    return [each for each in found if each.name not in ("self", "cls") and each.name[0] != "_"]
