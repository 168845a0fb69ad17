"""ShaderWriter: collects formulas, and the formulas they call, as functions of one shader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from scalarviz.engines.codegen.kernel_source import parse
from scalarviz.errors import InputError
from scalarviz.files.shaders.math import BUILT_IN, WRITTEN
from scalarviz.files.shaders.source import ShaderTranslation, plain

AnyFunction = Callable[..., Any]


class ShaderWriter:
    """The functions of one shader; all their names begin with `prefix`."""

    def __init__(self, prefix: str, taken: Sequence[str] = ()) -> None:
        self.prefix = prefix
        self.sources: list[str] = []
        self._names: dict[Any, str] = {name: name for name in taken}
        self._writing: set[Any] = set()  # formulas being translated, to detect recursion

    def scalar(self, function: AnyFunction) -> str:
        """Return the shader name of a formula on floats, translating it at its first use."""
        if function in BUILT_IN:
            return BUILT_IN[function]
        function = WRITTEN.get(function, function)
        if function in self._writing:
            raise InputError(
                f"the formula {function.__name__} cannot be written into a shader: it calls itself"
            )
        if function not in self._names:
            translation = self._translation(function)
            header = ", ".join(map(translation.parameter, translation.arguments))
            self._write(function, translation, header, [])
        return self._names[function]

    def row(
        self,
        function: AnyFunction,
        sizes: tuple[int, int],
        lengths: tuple[int, int],
        *settings: float,
    ) -> str:
        """Return the shader name of a formula on rows, for these sizes and settings.

        `lengths` are the lengths of the arrays, which may be padded.
        """
        key = (function, sizes, settings)
        if key not in self._names:
            translation = self._translation(function)
            x, y, *names = translation.arguments
            header = translation.row(x, "in", sizes[0], lengths[0])
            header += ", " + translation.row(y, "out", sizes[1], lengths[1])
            types = function.__annotations__
            constants = [
                translation.constant(name, types.get(name) in ("int", int), value)
                for name, value in zip(names, settings, strict=True)
            ]
            self._write(key, translation, header, constants)
        return self._names[key]

    def _translation(self, function: AnyFunction) -> ShaderTranslation:
        check_source(function)
        return ShaderTranslation(function, parse(function), self.scalar)

    def _write(
        self, key: object, translation: ShaderTranslation, header: str, constants: list[str]
    ) -> None:
        name = self._names[key] = self._new_name(translation.name)
        self._writing.add(key)
        body = translation.block(translation.syntax.body, "    ")
        self._writing.remove(key)
        declared = [f"{kind} {variable};" for variable, kind in translation.declared.items()]
        lines = [f"    {line}" for line in (*constants, *declared)]
        self.sources.append("\n".join([f"float {name}({header}) {{", *lines, *body, "}"]))

    def _new_name(self, formula: str) -> str:
        stem = f"{self.prefix}_{plain(formula)}"
        taken = set(self._names.values())
        names = (stem if i == 1 else f"{stem}_{i}" for i in range(1, len(taken) + 2))
        return next(name for name in names if name not in taken)


def check_source(function: AnyFunction) -> None:
    """Raise InputError for a function that is not written in Python."""
    if isinstance(function, FunctionType):
        return
    raise InputError(
        f"{getattr(function, '__name__', function)!r} cannot be written into a shader: a formula "
        "may call other formulas, and what core/formulas/elementary.py has"
    )
