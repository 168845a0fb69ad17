"""`scalarviz doctor` and `scalarviz warm`: what is missing, and what is compiled ahead."""

import io
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

from scalarviz.base import kernel_files, processes
from scalarviz.base.shell_commands import pip_command
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines import every_kernel
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.dispatch import by_address
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.expression.expression_kernels import formula_value
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import EngineError, InputError
from scalarviz.faces.cli import doctor, kernel_commands
from scalarviz.faces.cli.commands import main
from scalarviz.faces.cli.doctor import CHECKS, Finding, answer, examine, run_check
from scalarviz.faces.controller import precompile
from scalarviz.faces.scene_file import find
from tests.engines.test_cuda import needs_numba_cuda
from tests.wording import refused


def said(**broken: Finding):
    """What the checks say where those named have another finding, and all others work."""
    return lambda name: broken.get(name, Finding(True, f"about {name}"))


def examined(**broken: Finding) -> tuple[int, list[str]]:
    file = io.StringIO()
    code = examine(Console(file=file, width=100), said(**broken))
    return code, file.getvalue().splitlines()


def test_all_is_well_where_all_works() -> None:
    code, lines = examined()
    assert code == 0 and lines[-1].startswith("Scenes can be watched: ")
    assert lines[:-1] == [f"works    {name:9}about {name}" for name in CHECKS]


def test_what_is_not_needed_may_lack_and_has_its_remedy() -> None:
    code, lines = examined(opengl=Finding(False, "no context", "sudo apt-get install libegl1"))
    assert code == 0 and lines[-1].startswith("Scenes can be watched: ")
    assert lines[1:3] == [
        "missing  opengl   no context", "    to fix it: sudo apt-get install libegl1",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["versions", "kernels"])
def test_without_what_is_needed_nothing_can_be_watched(name: str) -> None:
    code, lines = examined(**{name: Finding(False, "broken", "pip install it")})
    assert code == 1
    assert lines[-1] == f"No scene can be watched yet: {name} must work first."


def test_on_a_busy_machine_nothing_is_said_to_lack() -> None:
    code, lines = examined(kernels=Finding(None, "no answer within 60 seconds"))
    assert code == 0 and lines[3] == "slow     kernels  no answer within 60 seconds"


def test_versions_are_those_of_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    found = answer("versions")
    assert found.works and found.said.startswith(f"Python {sys.version_info.major}.")
    assert f"numpy {np.__version__}" in found.said
    monkeypatch.setattr(doctor, "lacking", lambda extra: ["numba>=0.66"])
    assert answer("versions") == Finding(False, "numba>=0.66 is not installed", pip_command(""))


def test_kernels_are_run_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: SMALL)
    monkeypatch.setattr(every_kernel, "lacking_kernels", list)
    assert answer("kernels") == Finding(True, "2 of 2 are compiled")
    monkeypatch.setattr(every_kernel, "lacking_kernels", lambda: SMALL[:1])
    found = answer("kernels")
    assert (found.works, found.said) == (True, "1 of 2 are compiled")
    assert found.remedy.endswith(" warm")


def test_slow_threads_are_said_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.threading_layer", lambda: "workqueue")
    found = answer("kernels")
    assert found.works and "OpenMP" in found.said and found.remedy


def test_cuda_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    lack = "scalarviz.engines.cuda.missing.missing_for_cuda"
    monkeypatch.setattr(lack, lambda: "no NVIDIA driver was found")
    found = answer("cuda")
    assert (found.works, found.said) == (False, "no NVIDIA driver was found")
    assert "NVIDIA" in found.remedy


def test_a_driver_that_draws_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vispy", None)
    found = answer("opengl")
    assert not found.works and found.said.startswith("no OpenGL context: ") and found.remedy


# Checks, each in a process of its own.


def test_a_check_tells_what_it_found() -> None:
    told = run_check("versions")
    assert told.works and told.said.startswith(f"Python {sys.version_info.major}.")


def test_a_check_that_dies_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, sys; print('no plugin', file=sys.stderr, flush=True); os.abort()"
    real = doctor.subprocess.run
    monkeypatch.setattr(
        doctor.subprocess, "run", lambda command, **more: real([command[0], "-c", code], **more)
    )
    assert run_check("opengl") == Finding(False, "it crashed: no plugin")


def test_a_check_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.01)
    assert run_check("versions") == Finding(None, "no answer within 0.01 seconds")


def test_whatever_a_check_meets_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        CHECKS, "broken", Mock(side_effect=ImportError("libfoo.so: cannot open\nmore"))
    )
    assert answer("broken").said == "ImportError: libfoo.so: cannot open"


SMALL = [
    (Unit("test_warm", formula_value, ACTIVATIONS["relu"]), "float32"),
    (Unit("test_warm_back", formula_value, ACTIVATIONS["relu"]), "float64"),
]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache folder, and few kernels, none of which is loaded."""
    monkeypatch.setattr(kernel_units, "_kernels", {})
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(every_kernel, "every_kernel", lambda: SMALL)


@pytest.mark.usefixtures("small")
def test_what_is_lacking_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    means: list[str] = []
    monkeypatch.setattr(precompile, "compile_kind", means.append)
    monkeypatch.setattr(precompile, "is_ready", lambda kind: bool(means))
    assert every_kernel.lacking_kernels() == SMALL
    kernel_commands.warm()
    assert capsys.readouterr().out == f"2 kernels compiled, stored in {tmp_path}\n"
    assert every_kernel.lacking_kernels() == [] and means == ["means"]
    assert all(kernel_files.is_compiled(kernel_units.path_of_unit(*each)) for each in SMALL)
    kernel_commands.warm()
    assert capsys.readouterr().out == f"all kernels are compiled, stored in {tmp_path}\n"
    assert means == ["means"]


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_what_another_process_has_compiled_meanwhile_is_left_as_it_is() -> None:
    first, second = [kernel_units.path_of_unit(*each) for each in SMALL]
    for paths in ([second], [first, second]):
        child = compiling.start_child(paths)
        child.wait()
        processes.end(child)
        assert child.returncode == 0 and all(map(kernel_files.is_compiled, paths))


@by_address
def wrong(x: int) -> None:
    x.nothing()  # type: ignore[attr-defined]  # on purpose


@pytest.mark.slow
@pytest.mark.usefixtures("small")
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
from scalarviz.base.kernel_files import keep
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


@pytest.mark.usefixtures("small")
@needs_numba_cuda
def test_the_kernels_of_the_scenes_are_compiled_for_a_gpu(
    a_gpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel_commands.warm("cuda")
    said = capsys.readouterr()
    compiled = [path.stem for path in tmp_path.glob("cuda_*.py")]
    assert len(compiled) > 10 and all(kernel_files.is_compiled(p) for p in tmp_path.glob("cuda_*"))
    assert any(name.startswith("cuda_train_float32") for name in compiled)
    kept = f"stored in {tmp_path}\n"
    assert said.out == f"{len(compiled)} kernels of the scenes compiled for the GPU, {kept}"
    assert "the lacking scene is skipped" in said.err and "no_such_package" in said.err
    kernel_commands.warm("cuda")
    assert capsys.readouterr().out == f"all kernels of the scenes are compiled for the GPU, {kept}"


@pytest.mark.usefixtures("small")
def test_without_a_gpu_a_sentence_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "scalarviz.engines.cuda.missing.missing_for_cuda", lambda: "no GPU is visible"
    )
    with pytest.raises(SystemExit, match="1"):
        main(["warm", "--engine", "cuda"])
    said = capsys.readouterr().err
    assert said.startswith("scalarviz: the 'cuda' engine cannot run here: no GPU is visible; the")
    assert said.endswith("'cpu' engine can\n")


@pytest.mark.usefixtures("small")
def test_an_engine_without_kernels_is_refused() -> None:
    refused(InputError, "python").by(kernel_commands.warm, "python")


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_the_fastest_engine_is_compiled_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "scalarviz.engines.cuda.missing.missing_for_cuda", lambda: "no GPU is visible"
    )
    monkeypatch.setattr(precompile, "is_ready", lambda kind: True)
    kernel_commands.warm("auto")
    assert capsys.readouterr().out.startswith("2 kernels compiled")
