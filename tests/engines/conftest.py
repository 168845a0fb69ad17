"""What the tests of kernels share: functions of dispatch.py, compiled for a working type."""

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scalarviz.base import kernel_files
from scalarviz.engines.codegen import dispatch
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.kernel_units import HEAD, Dtype, UnitWriter

# In a file of kernels these functions have no wrapper for Python; here the first is called by it.
FOOT = """compiled = numba.njit(fastmath=REORDERED, cache=True, **OPTIONS)({name}.py_func)
"""


def text_of(name: str, row: Any, dtype: Dtype) -> str:
    """The file of a function of dispatch.py for a row, or for all, as in a file of kernels."""
    writer = UnitWriter(dtype, row)
    assert writer.name(getattr(dispatch, name)) == name
    constants = [*writer.formulas.constants.values(), *writer.wide.constants.values()]
    head = HEAD.format(versions=versions(), dtype=dtype)
    return "\n\n\n".join([head, *constants, *writer.sources, FOOT.format(name=name)])


def check_constant(
    texts: Callable[[], list[str]], module: ModuleType, constant: str, patch: pytest.MonkeyPatch
) -> None:
    """A constant is in the first of two texts and not in the other."""
    before = texts()
    patch.setattr(module, constant, 0.0625)
    after = texts()
    assert after[0] != before[0] and after[1] == before[1]
    patch.undo()
    assert texts() == before


def body(llvm: str) -> str:
    """The function itself; what follows it only unpacks Python's objects."""
    return llvm[llvm.index("define ") : llvm.index("\n}", llvm.index("define "))]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that kernels are kept in, which is empty."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    return tmp_path


def import_text(text: str, stem: str) -> ModuleType:
    """The module of a file with a text, whose functions are compiled when they are called."""
    path = kernel_files.path_of(text, stem)
    kernel_files.write(path, text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Kernels:
    """The functions of dispatch.py in one working type, and how they compare with plain Python.

    Args:
        row: the row of a table that they are compiled for; None for all, which share what they call
    """

    def __init__(self, dtype: Dtype, row: Any = None) -> None:
        self.dtype, self.row = dtype, row
        self.functions: list[Any] = []  # all that were compiled or loaded
        self.function = cache(self._function)

    def _function(self, name: str) -> Any:
        text = text_of(name, self.row, self.dtype)
        function = import_text(text, f"test_{name}_{self.dtype}").compiled
        self.functions.append(function)
        return function

    def compiled(self, name: str, *arguments: Any) -> list[Any]:
        """What is left of the arrays among the arguments, and the result."""
        return self._run(self.function(name), self.dtype, arguments)

    def plain(self, name: str, *arguments: Any) -> list[Any]:
        """The same of the plain version, in float64."""
        return self._run(getattr(dispatch, name), "float64", arguments)

    def _run(self, function: Callable[..., Any], dtype: str, arguments: Any) -> list[Any]:
        kind = np.dtype(dtype).type
        taken: list[Any] = []
        for argument in arguments:
            if isinstance(argument, np.ndarray) and argument.dtype == np.float64:
                taken.append(argument.astype(self.dtype).astype(kind))
            else:
                taken.append(kind(argument) if isinstance(argument, float) else argument)
        with np.errstate(all="ignore"):
            result = function(*taken)
        arrays = [array for array in taken if isinstance(array, np.ndarray)]
        return [*arrays, 0.0 if result is None else result]

    def check(self, name: str, *arguments: Any, near: float = 8.0) -> None:
        """Compiled and plain agree to `near` times the precision of the type."""
        epsilon = near * float(np.finfo(self.dtype).eps)
        plain = self.plain(name, *arguments)
        with np.errstate(over="ignore"):
            for a, b in zip(self.compiled(name, *arguments), plain, strict=True):
                expected = np.asarray(b).astype(np.asarray(a).dtype)
                assert a == pytest.approx(expected, rel=epsilon, abs=epsilon / 4, nan_ok=True)


# A kernel has the same body in both types, and `test_one_answer` compares every row in float64.
DTYPES = ["float32", pytest.param("float64", marks=pytest.mark.slow)]


@pytest.fixture(scope="session", params=DTYPES)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    return Kernels(request.param)
