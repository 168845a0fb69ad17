"""`scalarviz warm`: it compiles what is lacking, and says so."""

from pathlib import Path

import pytest

from scalarviz.cli import warm
from scalarviz.controller import precompile
from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import cache_files, kernel_units
from scalarviz.engines.codegen.dispatch import by_address
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.expression.kernels import unary, unary_back
from scalarviz.errors import EngineError
from scalarviz.formulas.activations import ACTIVATIONS
from tests.wording import refused

SMALL = [
    (Unit("test_warm", unary, ACTIVATIONS["relu"]), "float32"),
    (Unit("test_warm_back", unary_back, ACTIVATIONS["relu"]), "float64"),
]


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, and few kernels."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: SMALL)


def test_what_is_lacking_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    means: list[str] = []
    monkeypatch.setattr(precompile, "compile_kind", means.append)
    monkeypatch.setattr(precompile, "is_ready", lambda kind: bool(means))
    assert every_kernel.lacking_kernels() == SMALL
    warm.warm()
    assert capsys.readouterr().out == f"2 kernels compiled, kept in {tmp_path}\n"
    assert every_kernel.lacking_kernels() == [] and means == ["means"]
    assert all(cache_files.is_compiled(kernel_units.path_of_unit(*each)) for each in SMALL)
    warm.warm()
    assert capsys.readouterr().out == f"all kernels are compiled, kept in {tmp_path}\n"
    assert means == ["means"]


@by_address
def wrong(x: int) -> None:
    x.nothing()  # type: ignore[attr-defined]  # on purpose


def test_a_kernel_that_cannot_be_compiled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [*SMALL[:1], (Unit("test_wrong", wrong), "float32")]
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: bad)
    with refused(EngineError, "1 kernels", "test_wrong_float32", varies="_[0-9a-f]{20}"):
        for _ in every_kernel.compile_all():
            pass
