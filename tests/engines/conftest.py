"""What the tests of kernels share: a template without kernels, and its modules for both types."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from scalarviz.engines.codegen import dispatch, kernel_file

TEMPLATE = "kernels_alone"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a template with no kernels of its own, which can be imported by its name."""
    folder = tmp_path_factory.mktemp("template")
    text = "from scalarviz.engines.codegen.dispatch import kernel\n"
    (folder / f"{TEMPLATE}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


class Kernels:
    """The dispatchers in one working type, and how they compare with the plain ones."""

    def __init__(self, dtype: kernel_file.Dtype) -> None:
        self.dtype = dtype
        self.module: ModuleType = kernel_file.load(TEMPLATE, dtype)

    def compiled(self, name: str, *arguments: Any) -> list[Any]:
        """What is left of the arrays among the arguments, and the result."""
        return self._run(getattr(self.module, name), self.dtype, arguments)

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


@pytest.fixture(scope="session", params=["float32", "float64"])
def kernels(request: pytest.FixtureRequest, template: Path) -> Kernels:
    return Kernels(request.param)
