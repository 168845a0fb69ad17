"""Files of kernels: written from the tables of formulas, compiled once, cached on disk.

A file of kernels contains the formulas of all tables for one working type, the functions of
`dispatch.py`, and a *template*: a module of scalarviz whose functions are marked as kernels. The
file name contains a hash of the text, and so of everything that a kernel depends on: a change of a
formula, a constant or a row results in another file. So numba's cache for it is never out of date.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from scalarviz.engines.codegen import cuda_dispatch, dispatch, fast_math, float_bits
from scalarviz.engines.codegen.compile_kernel import compile_elsewhere
from scalarviz.engines.codegen.compiling import aside, keep_whole
from scalarviz.engines.codegen.kernel_cache import keep_apart
from scalarviz.engines.codegen.kernel_choice import with_choices, write_dispatcher
from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    assigned_names,
    variables,
)
from scalarviz.engines.common.cores import Guard, Refused, may_call_kernels, start_threads
from scalarviz.errors import EngineError
from scalarviz.errors.messages import inform

Dtype = Literal["float32", "float64"]
Target = Literal["cpu", "cuda"]

HEAD = '''"""Written by scalarviz from its tables of formulas; what you change here will be lost.

{versions}
"""

from __future__ import annotations

import math

import numba
import numpy as np

OPTIONS = {{"error_model": "numpy", "nogil": True}}  # x / 0 is infinite, and no exception
INNER = {{**OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}}
REORDERED = {{"contract", "reassoc", "nsz"}}  # NaN and infinity keep their meaning
exact = numba.njit(fastmath=False, forceinline=True, **OPTIONS)
elementary = numba.njit(fastmath={{"contract", "nsz"}}, forceinline=True, **OPTIONS)
formula = numba.njit(fastmath=REORDERED, forceinline=True, **OPTIONS)
inlined = numba.njit(inline="always", **OPTIONS)
inner = numba.njit(fastmath=REORDERED, cache=True, **INNER)
kernel = numba.njit(fastmath=REORDERED, cache=True, **OPTIONS)
parallel_kernel = numba.njit(fastmath=REORDERED, cache=True, parallel=True, **OPTIONS)
'''

# On a GPU a formula is compiled into the kernels that call it. The simulator runs kernels in plain
# Python, where math.exp(1000) would raise an OverflowError.
CUDA_HEAD = '''"""Written by scalarviz from its tables; what you change here will be lost.

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
launched = cuda.jit(cache=True)
Real = types.{dtype}
'''

# Functions of dispatch.py in the working type, and those always in float64; then functions of
# cuda_dispatch.py in the working type; then formulas that kernels call directly.
IN_WORKING_TYPE = (
    "activation_forward", "activation_backward", "row_forward", "row_backward",
    "scalar_loss_forward", "scalar_loss_backward", "row_loss_forward", "row_loss_backward",
    "loss_forward", "loss_backward", "end_of_run", "move_rows", "optimizer_update",
    "condition_gradients", "unary_forward", "unary_backward", "binary_forward", "binary_backward",
    "ternary_forward", "ternary_backward",
)  # fmt: skip
IN_FLOAT64 = ("schedule_factor", "optimizer_constants")
ONE_AT_A_TIME = (
    "activation_value", "activation_slope", "row_value", "row_gradient", "scalar_sample_error",
    "row_sample_error", "sample_error", "scalar_sample_gradient", "row_sample_gradient",
    "sample_gradient", "move_one", "condition_one",
)  # fmt: skip
PLAIN = (
    "philox", "scramble", "unit", "uniform", "normal", "drop_word", "lowered_scale", "raised_scale",
)  # fmt: skip

# For each target: the module of its functions, those in the working type, and those in float64.
FORMULAS: dict[Target, tuple[ModuleType, tuple[str, ...], tuple[str, ...]]] = {
    "cpu": (dispatch, IN_WORKING_TYPE, IN_FLOAT64),
    "cuda": (cuda_dispatch, ONE_AT_A_TIME, (*IN_FLOAT64, "clip_factor", "deviation_factor")),
}

SECONDS = 40  # approximate time of compiling
DAYS_KEPT = 14

_lock = Guard()
_texts: dict[tuple[str, Dtype, Target], Text] = {}
_modules: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a file of kernels, the functions in it, and their `ingredients` at that time."""

    text: str
    functions: tuple[AnyFunction, ...]
    ingredients: list[Any]


def load(template: str, dtype: Dtype, target: Target = "cpu") -> ModuleType | Refused:
    """Return the kernels of a template, such as "scalarviz.engines.cpu.entry", in a working type.

    Each kernel is compiled on its first call, unless it is cached on disk. A row added to a table
    or a constant changed in this process takes effect at the next `load`. After a fork, each kernel
    raises an EngineError when it is called.
    """
    if not may_call_kernels():
        return Refused()
    with _lock:
        text = text_of(template, dtype, target)
        if text not in _modules:
            _modules[text] = import_text(text, stem_of(template, dtype))
        return _modules[text]


def text_of(template: str, dtype: Dtype, target: Target = "cpu") -> str:
    """Return the text of a file of kernels for the current tables."""
    with _lock:
        known = _texts.get((template, dtype, target))
        if known is None or known.ingredients != ingredients(known.functions):
            known = _texts[template, dtype, target] = source(template, dtype, target)
        return known.text


def written(template: str, dtype: Dtype, target: Target = "cpu") -> Path:
    """Write the file of kernels that `load` would load, and return it for `adopt`."""
    text = text_of(template, dtype, target)
    path = path_of(text, stem_of(template, dtype))
    write(path, text)
    return path


def adopt(path: Path, template: str, dtype: Dtype, target: Target = "cpu") -> None:
    """Use the file of kernels that another process has written, with the formulas in it."""
    _texts[template, dtype, target] = Text(path.read_text(encoding="utf-8"), (), [])


def stem_of(template: str, dtype: Dtype) -> str:
    place = template.removeprefix("scalarviz.engines.").replace(".", "_")
    return f"{place}_{dtype}"


def ingredients(functions: Iterable[AnyFunction]) -> list[Any]:
    """Return the code of functions, and the current values of their outer variables."""
    return [
        (
            getattr(function, "__code__", None),
            {k: dict(v) if isinstance(v, dict) else v for k, v in variables(function).items()},
        )
        for function in functions
    ]


def path_of(text: str, stem: str) -> Path:
    return cache_folder() / f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:20]}.py"


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
    compile_elsewhere(module)
    keep_whole(module)
    start_threads(module)
    return module


# ---- the text -----------------------------------------------------------------------------------


def source(template: str, dtype: Dtype, target: Target = "cpu") -> Text:
    """Generate the text of a file of kernels."""
    marks = dict.fromkeys((fast_math.__name__, float_bits.__name__), "elementary")
    functions = fast_math.FAST[dtype] if target == "cpu" else fast_math.STANDARD
    writer = KernelWriter(f"np.{dtype}", functions, "formula", marks)
    wide = KernelWriter("np.float64", fast_math.STANDARD, "exact", prefix="wide_")
    module, working, float64 = FORMULAS[target]
    chosen = [write_dispatcher(writer, getattr(module, name)) for name in working]
    chosen += [write_dispatcher(wide, getattr(module, name)) for name in float64]
    plain = [f"{name} = {wide.name(getattr(dispatch, name))}" for name in PLAIN]
    head = HEAD if target == "cpu" else CUDA_HEAD
    parts = [
        head.format(versions=versions(target), dtype=dtype),
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


def versions(target: Target = "cpu") -> str:
    """Return the versions of Python and of the packages that compile kernels."""
    names = ["numba", "numpy", "llvmlite", *(["numba-cuda"] if target == "cuda" else [])]
    packages = [f"{name} {version(name)}" for name in names]
    return ", ".join([f"Python {platform.python_version()}", *packages])


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


def check_names(text: str) -> None:
    """Raise an EngineError if a text has two different definitions of one name.

    The modules of a template share one namespace: a later definition would replace an earlier one
    everywhere.
    """
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        for name in names_defined(node):
            other = found.setdefault(name, node)
            if other is not node and ast.dump(other) != ast.dump(node):
                raise EngineError(
                    f"a file of kernels would give {name} two meanings, in the lines "
                    f"{other.lineno} and {node.lineno}: rename one of them"
                )


def names_defined(node: ast.stmt) -> Iterator[str]:
    """Iterate over the names that a statement of a module defines, except imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from assigned_names(target)


def module_text(module: str) -> str:
    """Return the source of a module, without importing it."""
    found = importlib.util.find_spec(module)
    assert found is not None and found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


# ---- the file -----------------------------------------------------------------------------------


def cache_folder() -> Path:
    """Return the cache folder: $SCALARVIZ_CACHE_DIR, the user's cache, or a temporary folder."""
    asked = os.environ.get("SCALARVIZ_CACHE_DIR")
    if asked and can_write(Path(asked)):
        return Path(asked)
    with suppress(RuntimeError):  # there may be no home
        folder = user_cache()
        if can_write(folder) and is_private(folder):
            return folder
    # A folder that others can write to is unsafe: its files are imported.
    user = os.getuid() if sys.platform != "win32" else "user"
    folder = Path(tempfile.gettempdir()) / f"scalarviz-{user}"
    if can_write(folder) and is_private(folder):
        return folder
    return Path(tempfile.mkdtemp(prefix="scalarviz-"))


def user_cache() -> Path:
    """Return the cache folder of this user on this operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "scalarviz"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/scalarviz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"


def can_write(folder: Path) -> bool:
    """Whether a file can be created in a folder; creates the folder if needed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def is_private(folder: Path) -> bool:
    """Whether the folder belongs to the user and nobody else can write to it."""
    if sys.platform == "win32":
        return True
    found = folder.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022 and not folder.is_symlink()


def write(path: Path, text: str) -> None:
    """Write a text to a file, unless it has it; another process may do so at the same time.

    Raises EngineError if the text has two different definitions of one name.
    """
    content = text.encode()
    if path.is_file() and path.read_bytes() == content:
        return
    check_names(text)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except PermissionError:  # on Windows, while another process reads the file it has written
        if path.read_bytes() != content:
            raise
    finally:
        Path(temporary).unlink(missing_ok=True)


def compiled_files(path: Path) -> list[Path]:
    """Return numba's cache files for a file of kernels."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or path.parent)
    return list(folder.rglob(f"{path.stem}.*.nb?"))


def drop_damaged(path: Path) -> None:
    """Delete numba's cache files if one of them is truncated, which numba would not handle."""
    files = compiled_files(path)
    if not all(file.read_bytes()[-1:] == b"." for file in files):  # a pickle ends with a full stop
        for file in files:
            file.unlink(missing_ok=True)


def remove_old(path: Path, stem: str) -> None:
    """Remove earlier versions of a file that were not read for DAYS_KEPT days."""
    limit = time.time() - DAYS_KEPT * 24 * 3600
    for other in path.parent.glob(f"{stem}_*.py"):
        with suppress(OSError):  # another process may be faster
            if other != path and max(other.stat().st_mtime, other.stat().st_atime) < limit:
                for file in [*compiled_files(other), other]:
                    file.unlink()
