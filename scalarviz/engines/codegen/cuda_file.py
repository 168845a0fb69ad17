"""Files of kernels for GPUs: written from the tables of formulas, compiled once, cached on disk.

A file of kernels contains the formulas of all tables for one working type, the functions of
`cuda_dispatch.py`, and a *template*: a module of scalarviz whose functions are marked as kernels.
The file name contains a hash of the text, and so of everything that a kernel depends on: a change
of a formula, a constant or a row results in another file. So numba's cache for it is never out of
date.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from scalarviz.engines.codegen import (
    cuda_dispatch,
    dispatch,
    fast_math,
    float_bits,
    kernel_source,
)
from scalarviz.engines.codegen.cache_files import (
    compiled_files,
    drop_damaged,
    path_of,
    remove_old,
    write,
)
from scalarviz.engines.codegen.compiling import aside, keep_whole
from scalarviz.engines.codegen.cuda_rounding import round_products
from scalarviz.engines.codegen.kernel_cache import keep_apart
from scalarviz.engines.codegen.kernel_choice import with_choices, write_dispatcher
from scalarviz.engines.codegen.kernel_source import AnyFunction, KernelWriter, ingredients
from scalarviz.engines.common.cores import Guard, Refused, may_call_kernels, start_threads
from scalarviz.errors.messages import inform

Dtype = Literal["float32", "float64"]

# On a GPU a formula is compiled into the kernels that call it. The simulator runs kernels in plain
# Python, where math.exp(1000) would raise an OverflowError.
HEAD = '''"""Written by scalarviz from its tables; what you change here will be lost.

{versions}
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, types

if cuda.config.ENABLE_CUDASIM:
    from scalarviz.formulas import elementary as math


def kernel(function):
    return function if cuda.config.ENABLE_CUDASIM else cuda.jit(function, device=True)


exact = elementary = formula = kernel
# Link-time optimization is off, see `cuda_rounding`; the simulator knows no such option.
launched = cuda.jit(cache=True, **({{}} if cuda.config.ENABLE_CUDASIM else {{"lto": False}}))
Real = types.{dtype}
'''

# Functions of cuda_dispatch.py in the working type, and those always in float64; then formulas that
# kernels call directly.
IN_WORKING_TYPE = (
    "activation_value", "activation_slope", "row_value", "row_gradient", "scalar_sample_error",
    "row_sample_error", "sample_error", "scalar_sample_gradient", "row_sample_gradient",
    "sample_gradient", "move_one", "condition_one",
)  # fmt: skip
# These only in the files of templates that call them.
OF_EXPRESSIONS = (
    "unary_value", "unary_slope", "binary_value", "binary_slope", "ternary_value", "ternary_slope",
)  # fmt: skip
IN_FLOAT64 = ("schedule_factor", "optimizer_constants", "clip_factor", "deviation_factor")
PLAIN = (
    "philox", "scramble", "unit", "uniform", "normal", "drop_word", "lowered_scale", "raised_scale",
)  # fmt: skip

SECONDS = 40  # approximate time of compiling

_lock = Guard()
_texts: dict[tuple[str, Dtype], Text] = {}
_modules: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file of kernels, the functions in it, and their `ingredients` at that time."""

    text: str
    functions: tuple[AnyFunction, ...]
    ingredients: list[Any]


def load(template: str, dtype: Dtype) -> ModuleType | Refused:
    """Return the kernels of a template, such as "scalarviz.engines.cpu.entry", in a working type.

    Each kernel is compiled on its first call, unless it is cached on disk. A row added to a table
    or a constant changed in this process takes effect at the next `load`. After a fork, each kernel
    raises an EngineError when it is called.
    """
    if not may_call_kernels():
        return Refused()
    with _lock:
        text = text_of(template, dtype)
        if text not in _modules:
            _modules[text] = import_text(text, stem_of(template, dtype))
        return _modules[text]


def text_of(template: str, dtype: Dtype) -> str:
    """Return the text of a file of kernels for the current tables."""
    with _lock:
        known = _texts.get((template, dtype))
        if known is None or known.ingredients != ingredients(known.functions):
            known = _texts[template, dtype] = source(template, dtype)
        return known.text


def written(template: str, dtype: Dtype) -> Path:
    """Write the file of kernels that `load` would load, and return it for `adopt`."""
    text = text_of(template, dtype)
    path = path_of(text, stem_of(template, dtype))
    write(path, text)
    return path


def adopt(path: Path, template: str, dtype: Dtype) -> None:
    """Use the file of kernels that another process has written, with the formulas in it."""
    _texts[template, dtype] = Text(path.read_text(encoding="utf-8"), (), [])


def stem_of(template: str, dtype: Dtype) -> str:
    place = template.removeprefix("scalarviz.engines.").replace(".", "_")
    return f"{place}_{dtype}"


def import_text(text: str, stem: str) -> ModuleType:
    """Write a text to its file, and return the module imported from it."""
    write(path := path_of(text, stem), text)
    remove_old(path, stem)
    drop_damaged(path)
    if not compiled_files(path) and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") == "0":
        message = f"scalarviz compiles its kernels, once; this takes about {SECONDS} s"
        inform(message)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    aside(spec.loader.exec_module, module)
    keep_apart(module)
    round_products(module)
    keep_whole(module)
    start_threads(module)
    return module


# ---- the text -----------------------------------------------------------------------------------


def source(template: str, dtype: Dtype) -> Text:
    """Generate the text of a file of kernels."""
    marks = dict.fromkeys((fast_math.__name__, float_bits.__name__), "elementary")
    writer = KernelWriter(f"np.{dtype}", fast_math.STANDARD, "formula", marks)
    wide = KernelWriter("np.float64", fast_math.STANDARD, "exact", prefix="wide_")
    calls = module_text(template)
    names = [*IN_WORKING_TYPE, *[name for name in OF_EXPRESSIONS if name in calls]]
    chosen = [write_dispatcher(writer, getattr(cuda_dispatch, name)) for name in names]
    chosen += [write_dispatcher(wide, getattr(cuda_dispatch, name)) for name in IN_FLOAT64]
    plain = [f"{name} = {wide.name(getattr(dispatch, name))}" for name in PLAIN]
    parts = [
        HEAD.format(versions=versions(), dtype=dtype),
        "\n".join([*writer.constants.values(), *wide.constants.values()]),
        *writer.sources,
        *wide.sources,
        "\n".join(plain),
        *chosen,
        *template_parts(template, []),
    ]
    keys = [*writer.names, *wide.names]
    written = tuple(key[0] if isinstance(key, tuple) else key for key in keys)
    text = "\n\n\n".join(part.strip("\n") for part in parts) + "\n"
    return Text(text, written, ingredients(written))


def versions() -> str:
    """Return the versions of Python and of the packages that compile kernels."""
    return kernel_source.versions("numba-cuda")


def template_parts(module: str, done: list[str]) -> Iterator[str]:
    """Iterate over the text of a template's imported kernel modules, then that of the template.

    Modules in `done` are left out. Other modules of scalarviz are not copied; a comment has their
    name and hash.
    """
    done.append(module)
    text = module_text(module)
    lines = with_choices(module, text).splitlines()
    outside = []
    for node in ast.parse("\n".join(lines)).body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        name = node.module
        if name.startswith("scalarviz.engines."):
            assert not any(alias.asname for alias in node.names), f"{module} renames an import"
            if name not in (dispatch.__name__, cuda_dispatch.__name__, *done):
                yield from template_parts(name, done)
        elif name.startswith("scalarviz."):
            outside.append(f"# {name} {hashlib.sha256(module_text(name).encode()).hexdigest()}")
            continue
        elif name != "__future__":
            continue
        assert node.end_lineno is not None
        lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    yield "\n".join([*outside, *lines])


def module_text(module: str) -> str:
    """Return the source of a module, without importing it."""
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")
