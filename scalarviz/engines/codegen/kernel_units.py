"""Kernels called by address: each is compiled separately, once, and stored on disk.

A kernel is a function of unsigned integers, most of them addresses. Its callers, other kernels or
Python, only need its address. So each kernel is compiled once for all callers, and a network
compiles only the kernels that it uses.

The file of a kernel contains the functions and constants that it uses: functions of `dispatch.py`
with the formula of one table row, formulas in the working type, and functions of an engine, which
are copied unchanged. So a file depends only on what its kernel needs, and changing a table row
affects only the files that use it.

Kernels of the cpu engine are marked `by_address`; see `cuda_file.py` for the cuda engine.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from scalarviz.base.kernel_files import assigned_names, path_of, remove_old, write
from scalarviz.base.kernel_threads import Guard, check_process, start_threads
from scalarviz.base.messages import inform
from scalarviz.base.progress import Progress
from scalarviz.engines.codegen import compiling, dispatch, fast_math, machine_code
from scalarviz.engines.codegen.formula_loops import (
    EVERYTHING,
    InUse,
    choose,
    renamed,
    write_dispatcher,
)
from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    function_in,
    ingredients,
    parse,
    plain_text,
    variables,
    versions,
)
from scalarviz.engines.codegen.machine_code import Kernel

Dtype = Literal["float32", "float64"]

HEAD = '''"""Written by scalarviz; changes to this file will be lost.

{versions}
"""

from __future__ import annotations

import math
from collections import namedtuple

import numba
import numpy as np
from numba import prange
from numba.core.ccallback import CFunc

OPTIONS = {{"error_model": "numpy", "nogil": True}}  # x / 0 is infinite, and no exception
INNER = {{**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}}
REORDERED = {{"contract", "reassoc", "nsz"}}  # NaN and infinity keep their meaning
exact = numba.njit(fastmath=False, forceinline=True, **INNER)
elementary = numba.njit(fastmath={{"contract", "nsz"}}, forceinline=True, **INNER)
formula = numba.njit(fastmath=REORDERED, forceinline=True, **INNER)
inlined = numba.njit(inline="always", **INNER)
inner = numba.njit(fastmath=REORDERED, **INNER)
Real = np.{dtype}
'''
FOOT = """
compiled = CFunc(
    {name}, ((numba.types.uint64,) * {count}, numba.types.void), {{}},
    {{"error_model": "numpy", "fastmath": REORDERED, "parallel": {parallel}}},
)
"""

# Functions of dispatch.py and formulas computed in float64 for any working type.
IN_FLOAT64 = (
    dispatch.schedule_factor, dispatch.optimizer_constants, dispatch.philox, dispatch.scramble,
    dispatch.unit, dispatch.uniform, dispatch.normal, dispatch.drop_word, dispatch.lowered_scale,
    dispatch.raised_scale,
)  # fmt: skip
NOT_COMPILED = dispatch.nth, dispatch.chosen  # of the modules with dispatchers


@dataclass(frozen=True, slots=True)
class Style:
    """Settings of an engine for writing its kernel files.

    Attributes:
        dispatchers: modules whose functions call formulas from tables
        mark: decorator of these functions
        marks: decorators of the engine's functions that are kept in the files
        in_float64: functions and formulas that are computed in float64 for every working type
        functions: replacements for the elementary functions, by working type
    """

    dispatchers: tuple[str, ...]
    mark: str
    marks: tuple[str, ...]
    in_float64: tuple[AnyFunction, ...]
    functions: Mapping[str, Mapping[AnyFunction, AnyFunction]]


ON_CPU = Style(
    (dispatch.__name__,), "inner", ("inner", "exact", "inlined"), IN_FLOAT64, fast_math.FAST
)


@dataclass(frozen=True, slots=True)
class KernelSource:
    """Text of a kernel file, its formulas, and their `ingredients` when it was written."""

    text: str
    functions: tuple[AnyFunction, ...]
    ingredients: list[Any]


class AnyUnit(Protocol):
    """A kernel that is compiled separately: a `Unit`, or the equivalent of another engine."""

    @property
    def name(self) -> str:
        """File name without extension and hash."""

    def source(self, dtype: Dtype) -> KernelSource:
        """Return the source of the kernel file for a working type."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A kernel that is compiled separately.

    Attributes:
        name: name of the kernel file, without type and hash
        function: the kernel, decorated with `by_address`
        row: table row with the formula that the kernel computes, or None
    """

    name: str
    function: AnyFunction
    row: Any = field(default=None, hash=False)  # the hash of a row, with its functions, is slow

    def source(self, dtype: Dtype) -> KernelSource:
        writer = UnitWriter(dtype, self.row)
        name = writer.name(self.function)
        count = len(syntax_of(self.function).args.args)
        parallel = "in_parallel" in form_of(self.function).marks
        head = HEAD.format(versions=versions(), dtype=dtype)
        return writer.source(head, FOOT.format(name=name, count=count, parallel=parallel))


def joined(parts: Iterable[str]) -> str:
    """Join the non-empty parts of a file into its text."""
    stripped = [part.strip("\n") for part in parts]
    return "\n\n\n".join(part for part in stripped if part) + "\n"


class UnitWriter:
    """Writer of functions and constants; each is written once, before it is used.

    Args:
        row: the only table row to support, or None for all rows in `used`
        used: the table rows to support
        style: settings of the engine for its files
    """

    def __init__(
        self, dtype: Dtype, row: Any, used: InUse = EVERYTHING, style: Style = ON_CPU
    ) -> None:
        self.row, self.used, self.style = row, used, style
        marks = {fast_math.__name__: "elementary"}
        self.formulas = KernelWriter(f"np.{dtype}", style.functions[dtype], "formula", marks)
        self.wide = KernelWriter("np.float64", fast_math.STANDARD, "exact", prefix="wide_")
        self.sources: list[str] = []
        self.formulas.sources = self.wide.sources = self.sources
        self.imports: set[str] = set()
        self.constants: dict[str, None] = {}  # definitions; `check_names` detects duplicate names
        self.names: dict[Any, str] = {}

    def parts(self) -> list[str]:
        """Return the imports, the constants, and the source of each function of the file."""
        constants = [
            *self.formulas.constants.values(), *self.wide.constants.values(),
            *self.constants,
        ]  # fmt: skip
        return ["\n".join(sorted(self.imports)), "\n".join(constants), *self.sources]

    @property
    def written(self) -> tuple[AnyFunction, ...]:
        """The formulas, and the functions with formulas, written so far."""
        keys = [*self.formulas.names, *self.wide.names]
        return tuple(key[0] if isinstance(key, tuple) else key for key in keys)

    def source(self, head: str, foot: str) -> KernelSource:
        """Return the source of the file, enclosed by a head and a foot."""
        text = joined([head, *self.parts(), foot])
        return KernelSource(text, self.written, ingredients(self.written))

    def name(self, function: AnyFunction) -> str:
        """Return the name of a function in the file, and write its source on first use."""
        if function not in self.names:
            self.names[function] = function.__name__
            if function.__module__ in self.style.dispatchers:
                self.write_dispatched(function)
            elif function in self.style.in_float64:
                self.sources.append(f"{function.__name__} = {self.wide.name(function)}")
            else:
                self.write_kernel(function)
        return self.names[function]

    def write_dispatched(self, function: AnyFunction) -> None:
        """Write a function of dispatch.py with the formulas that the kernel supports."""
        style, known = self.style, variables(function)
        writer = self.wide if function in style.in_float64 else self.formulas
        found = choose(parse(function), known, self.used)
        for called in [*known.values(), *found.values()]:
            is_dispatched = getattr(called, "__module__", "") in style.dispatchers
            if isinstance(called, FunctionType) and is_dispatched and called not in NOT_COMPILED:
                writer.names[called] = self.name(called)
        self.sources.append(write_dispatcher(writer, function, style.mark, self.row, self.used))

    def write_kernel(self, function: AnyFunction) -> None:
        """Write a function of an engine unchanged, preceded by everything that it uses."""
        form, known = form_of(function), variables(function)
        if "chosen" in form.names:
            syntax = syntax_of(function)
            known |= choose(syntax, known, self.used)
            form = form_in(syntax)
        found = {name: self.use(name, each) for name, each in known.items() if name in form.names}
        others = {name: other for name, other in found.items() if other != name}
        text = renamed(form.text, others) if others else form.text
        marks = [f"@{mark}" for mark in form.marks if mark in self.style.marks]
        self.sources.append("\n".join([*marks, text]))

    def use(self, name: str, value: Any) -> str:
        """Write the object that a function calls `name`, and return its name in the file."""
        if isinstance(value, ModuleType) or value is np or name in ("prange", "Real"):
            return name
        module = getattr(value, "__module__", None) or ""
        if module.startswith("numba."):
            self.imports.add(f"from {module} import {name}")
        elif isinstance(value, FunctionType):
            return self.name(value)
        elif isinstance(value, type) and issubclass(value, tuple):
            fields = " ".join(value._fields)  # type: ignore[attr-defined]  # NamedTuple
            self.constants[f'{name} = namedtuple("{name}", "{fields}")'] = None
        elif isinstance(value, np.dtype):
            self.constants[f"{name} = np.dtype({value.descr}, align=True)"] = None
        elif isinstance(value, np.generic):
            self.constants[f"{name} = np.{value.dtype}({value.item()!r})"] = None
        elif value is None or isinstance(value, int | float):
            self.constants[f"{name} = {value!r}"] = None
        else:  # an intrinsic function
            self.imports.add(f"from {module} import {name}  # {hash_of(module)}")
        return name


class FunctionForm(NamedTuple):
    """Source of an engine's function, split into decorators and the rest.

    Attributes:
        marks: names of the decorators
        text: source without the decorators
        names: names of the non-local variables
    """

    marks: tuple[str, ...]
    text: str
    names: frozenset[str]


@cache
def form_of(function: AnyFunction) -> FunctionForm:
    return form_in(syntax_of(function))


def form_in(syntax: ast.FunctionDef) -> FunctionForm:
    """Return the FunctionForm of a function; the decorators are removed from its tree."""
    marks = tuple(ast.unparse(mark) for mark in syntax.decorator_list)
    syntax.decorator_list = []
    nodes = list(ast.walk(syntax))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    local = assigned_names(syntax) | {node.arg for node in nodes if isinstance(node, ast.arg)}
    return FunctionForm(marks, ast.unparse(syntax), frozenset(names - local))


def syntax_of(function: AnyFunction) -> ast.FunctionDef:
    """Return the syntax tree of an engine's function, without docstring and annotations."""
    return function_in(plain_source(function))


@cache
def plain_source(function: AnyFunction) -> str:
    """Return the source of a function, without docstring and annotations."""
    return plain_text(function_in(textwrap.dedent(inspect.getsource(function))))


@cache
def hash_of(module: str) -> str:
    """Return a hash of a module's source, including all engine modules that it imports."""
    source = inspect.getsource(sys.modules[module])
    found = hashlib.sha256(source.encode())
    for node in ast.parse(source).body:
        name = node.module if isinstance(node, ast.ImportFrom) and node.module else ""
        if name.startswith("scalarviz.engines."):
            found.update(hash_of(name).encode())
    return found.hexdigest()


# ---- files and machine code ---------------------------------------------------------------------

SECONDS = 0.4  # compile time of a kernel, on average
START = 2.0  # seconds to start compiling

_lock = Guard()
_sources: dict[tuple[AnyUnit, Dtype], KernelSource] = {}
_kernels: dict[str, Kernel] = {}


def load(units: Sequence[Unit], dtype: Dtype) -> list[Kernel]:
    """Return kernels for a working type; kernels not on disk are compiled first.

    Changed constants or table rows take effect at the next call. Raises EngineError in a
    process that was forked after kernels had been loaded.
    """
    check_process()
    with _lock:
        texts = [text_of(unit, dtype) for unit in units]
        missing = {t: unit for t, unit in zip(texts, units, strict=True) if t not in _kernels}
        if missing:
            compiling.counted(load_missing, missing, dtype)
        return [_kernels[text] for text in texts]


def load_missing(missing: dict[str, Unit], dtype: Dtype, bar: Progress) -> None:
    """Load kernels; those neither shipped nor on disk are compiled in child processes first.

    The total of `bar` is set to the number of compiled kernels.
    """
    paths = {}
    for text, unit in missing.items():
        if found := machine_code.shipped(text):
            _kernels[text] = found
        else:
            paths[text] = written(text, stem_of(unit, dtype))
    uncompiled = [text for text, path in paths.items() if not load_stored(text, path)]
    if uncompiled:
        workers = compiling.workers_for(len(uncompiled))
        announce(len(uncompiled), START + SECONDS * len(uncompiled) / workers, bar)
        compiling.run_children([paths[text] for text in uncompiled])
    for text in uncompiled:
        if not load_stored(text, paths[text]):  # the child has failed, or nothing can be stored
            module = compiling.import_file(paths[text], text)
            module.compiled.compile()
            start_threads(module)
            _kernels[text] = Kernel(module.compiled.address, module.compiled.ctypes, module)


def load_stored(text: str, path: Path) -> bool:
    """Load the kernel of a text from disk, and return whether it was found."""
    found = machine_code.stored(path)
    if found is not None:
        _kernels[text] = found
    return found is not None


def announce(count: int, seconds: float, bar: Progress, purpose: str = "") -> None:
    """Log the number of kernels to compile and the expected time; set the total of the bar."""
    kernels = "1 kernel" if count == 1 else f"{count} kernels"
    said = f"scalarviz compiles {kernels}{purpose}, once; this takes about {round(seconds)} s"
    inform(said, is_shown=bar.will_be_seen)
    bar.total = count


def text_of(unit: AnyUnit, dtype: Dtype) -> str:
    """Return the text of a kernel file; it is rewritten if a formula or constant has changed."""
    known = _sources.get((unit, dtype))
    if known is None or known.ingredients != ingredients(known.functions):
        known = _sources[unit, dtype] = unit.source(dtype)
    return known.text


def stem_of(unit: AnyUnit, dtype: Dtype) -> str:
    return f"{unit.name}_{dtype}"


def written(text: str, stem: str) -> Path:
    """Write a kernel file, and return its path."""
    path = path_of(text, stem)
    if write(path, text):
        remove_old(path, stem)
    return path


def path_of_unit(unit: AnyUnit, dtype: Dtype) -> Path:
    """Write the file of a kernel for a working type, and return its path."""
    return written(text_of(unit, dtype), stem_of(unit, dtype))


def is_ready(unit: Unit, dtype: Dtype) -> bool:
    """Return whether a kernel is loaded, shipped, or on disk."""
    text = text_of(unit, dtype)
    if text in _kernels or machine_code.is_shipped(text):
        return True
    return machine_code.is_stored(path_of(text, stem_of(unit, dtype)))
