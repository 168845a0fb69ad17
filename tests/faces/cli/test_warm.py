"""`scalarviz warm`: it compiles what is lacking, and says so."""

from pathlib import Path

import pytest

from scalarviz.base import processes
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import cache_files, compiling, kernel_units
from scalarviz.engines.codegen.dispatch import by_address
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.expression.expression_kernels import unary, unary_back
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import EngineError, InputError
from scalarviz.faces.cli import kernel_commands
from scalarviz.faces.cli.commands import main
from scalarviz.faces.controller import precompile
from scalarviz.faces.scene_file import find
from tests.engines.test_cuda import needs_numba_cuda
from tests.wording import refused

SMALL = [
    (Unit("test_warm", unary, ACTIVATIONS["relu"]), "float32"),
    (Unit("test_warm_back", unary_back, ACTIVATIONS["relu"]), "float64"),
]


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, and few kernels, none of which is loaded."""
    monkeypatch.setattr(kernel_units, "_kernels", {})
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: SMALL)


def test_what_is_lacking_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    means: list[str] = []
    monkeypatch.setattr(precompile, "compile_kind", means.append)
    monkeypatch.setattr(precompile, "is_ready", lambda kind: bool(means))
    assert every_kernel.lacking_kernels() == SMALL
    kernel_commands.warm()
    assert capsys.readouterr().out == f"2 kernels compiled, kept in {tmp_path}\n"
    assert every_kernel.lacking_kernels() == [] and means == ["means"]
    assert all(cache_files.is_compiled(kernel_units.path_of_unit(*each)) for each in SMALL)
    kernel_commands.warm()
    assert capsys.readouterr().out == f"all kernels are compiled, kept in {tmp_path}\n"
    assert means == ["means"]


def test_what_another_process_has_compiled_meanwhile_is_left_as_it_is() -> None:
    first, second = [kernel_units.path_of_unit(*each) for each in SMALL]
    for paths in ([second], [first, second]):
        child = compiling.start_child(paths)
        child.wait()
        processes.end(child)
        assert child.returncode == 0 and all(map(cache_files.is_compiled, paths))


@by_address
def wrong(x: int) -> None:
    x.nothing()  # type: ignore[attr-defined]  # on purpose


def test_a_kernel_that_cannot_be_compiled_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = [*SMALL[:1], (Unit("test_wrong", wrong), "float32")]
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: bad)
    with refused(EngineError, "1 kernels", "test_wrong_float32", varies="_[0-9a-f]{20}"):
        for _ in every_kernel.compile_all():
            pass


# ---- for a GPU ----------------------------------------------------------------------------------

SCENES = "expression", "rgb"
# In the place of the process that compiles for a GPU: it leaves the files that numba would leave.
COMPILER = """
import os, pathlib, sys
from scalarviz.engines.codegen.cache_files import keep
kind, _, names = sys.argv[1].partition("=")
assert kind == "cuda"
for name in names.split(os.pathsep):
    path = pathlib.Path(name)
    assert "cuda.jit" in path.read_text()
    keep(path.parent / "__pycache__" / f"{path.stem}.kernel-7.nbc", b"code")
"""


@pytest.fixture
def a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU, a scene that needs what is not installed, a compiled function, and a network."""
    monkeypatch.setattr(kernel_commands, "choose", lambda name: ENGINES["cuda"])
    monkeypatch.setattr(precompile, "COMMAND", ("-c", COMPILER))
    plain = precompile.is_ready
    monkeypatch.setattr(precompile, "is_ready", lambda kind: kind == "means" or plain(kind))
    lacking = tmp_path / "lacking.py"
    lacking.write_text("def scene():\n    import no_such_package\n", encoding="utf-8")
    found = {"lacking": lacking} | {name: find(name) for name in SCENES}
    monkeypatch.setattr(kernel_commands, "scenes", lambda: found)


@needs_numba_cuda
def test_the_kernels_of_the_scenes_are_compiled_for_a_gpu(
    a_gpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel_commands.warm("cuda")
    said = capsys.readouterr()
    compiled = [path.stem for path in tmp_path.glob("cuda_*.py")]
    assert len(compiled) > 10 and all(cache_files.is_compiled(p) for p in tmp_path.glob("cuda_*"))
    assert any(name.startswith("cuda_train_float32") for name in compiled)
    kept = f"kept in {tmp_path}\n"
    assert said.out == f"{len(compiled)} kernels of the scenes compiled for the GPU, {kept}"
    assert "the scene lacking is left out" in said.err and "no_such_package" in said.err
    kernel_commands.warm("cuda")
    assert capsys.readouterr().out == f"all kernels of the scenes are compiled for the GPU, {kept}"


def test_without_a_gpu_a_sentence_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "scalarviz.engines.cuda.missing.missing_for_cuda", lambda: "no GPU is visible"
    )
    with pytest.raises(SystemExit, match="1"):
        main(["warm", "--engine", "cuda"])
    said = capsys.readouterr().err
    assert said == "scalarviz: the engine 'cuda' cannot run here: no GPU is visible\n"


def test_an_engine_without_kernels_is_refused() -> None:
    with refused(InputError, "python"):
        kernel_commands.warm("python")


def test_the_fastest_engine_is_compiled_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "scalarviz.engines.cuda.missing.missing_for_cuda", lambda: "no GPU is visible"
    )
    monkeypatch.setattr(precompile, "is_ready", lambda kind: True)
    kernel_commands.warm("auto")
    assert capsys.readouterr().out.startswith("2 kernels compiled")
