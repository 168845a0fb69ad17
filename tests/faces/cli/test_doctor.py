"""`scalarviz doctor` and `scalarviz warm`: what is missing, and what is compiled ahead."""

import io
import sys
from configparser import ConfigParser
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console

from scalarviz.base import kernel_files, processes
from scalarviz.base.shell_commands import pip_command, requirements
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
from scalarviz.faces.cli.doctor import (
    CHECKS,
    CLASS,
    COMMAND,
    PIP,
    PROBES,
    SYSTEM,
    Finding,
    Lack,
    answer,
    command_for,
    examine,
    run_probe,
)
from scalarviz.faces.controller import precompile
from scalarviz.faces.scene_file import find
from tests.engines.test_cuda import needs_numba_cuda
from tests.machine import ROOT
from tests.wording import refused

BY_NAME = {check.name: check for check in CHECKS}


SLOW = "slow"


def said(**broken: str):
    """What the probes say where those named lack something, and all others work."""

    def run(name: str) -> Finding:
        mend = broken.get(name, "")
        works = None if mend == SLOW else not mend
        return Finding(works, f"about {name}", mend)

    return run


def examined(*, for_class: bool = False, **broken: str) -> tuple[int, str]:
    file = io.StringIO()
    code = examine(Console(file=file, width=100), said(**broken), for_class=for_class)
    return code, file.getvalue()


def test_every_check_has_its_probe() -> None:
    assert {check.name for check in (*CHECKS, *CLASS)} == set(PROBES)


def test_all_is_well_where_all_works() -> None:
    code, text = examined()
    assert code == 0 and "Scenes can be watched" in text
    assert text.count("works ") == len(CHECKS) and "To fix" not in text
    assert all(f"about {check.name}" in text for check in CHECKS)


def test_what_is_not_needed_may_lack() -> None:
    code, text = examined(cuda=SYSTEM, window=PIP, video=PIP)
    assert code == 0
    assert "To fix window:\n" in text and "pip install 'PySide6-Essentials" in text
    assert "To fix cuda (only with an NVIDIA GPU):" in text


def test_without_numba_nothing_can_be_watched() -> None:
    code, text = examined(numba=PIP)
    assert code == 1 and "No scene can be watched yet: numba must work first" in text


@pytest.mark.parametrize("for_class", [False, True])
def test_on_a_busy_machine_nothing_is_said_to_lack(*, for_class: bool) -> None:
    code, text = examined(for_class=for_class, numba=SLOW)
    assert code == 0 and "lacks" not in text and "To fix" not in text
    assert text.splitlines()[-1].startswith("Unknown: numba took too long")


@pytest.mark.parametrize("folder", ["", "/a/folder/with/a/long/name" * 10])
def test_a_class_is_summarized_in_one_screen(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = f"{folder}/scalarviz"
    monkeypatch.setattr(doctor, "program", lambda: command)
    code, text = examined(for_class=True)
    assert code == 0
    assert len(text.splitlines()) <= 24
    assert text.splitlines()[-1].startswith(f"Ready for a class: {command} lessons")
    assert "window" not in text and "cuda" not in text


@pytest.mark.parametrize(
    "name", ["python", "numba", "opengl", "notebook", "jupyter", "onnx", "room"]
)
def test_a_class_takes_all_that_the_lessons_take(name: str) -> None:
    code, text = examined(for_class=True, **{name: SYSTEM})
    assert code == 1
    assert text.splitlines()[-1] == f"Not ready for a class: {name} must work first."


def test_kernels_can_be_compiled_before_a_class() -> None:
    code, text = examined(for_class=True, kernels=COMMAND)
    assert code == 0
    assert "-m scalarviz warm" in text


@pytest.mark.slow
def test_slow_pictures_are_said_to_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SMOOTH", 1e9)
    found = answer("pictures")
    assert (found.works, found.mend) == (True, "")
    assert "pictures per second: close other programs" in found.said


def test_a_full_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("room").works
    monkeypatch.setattr(doctor, "GIGABYTES", 1e6)
    assert "of disk are free, and 1e+06 are needed" in answer("room").said


def test_a_notebook_without_its_widget_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("notebook").works
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name == "anywidget" else name)
    assert answer("notebook") == Finding(False, "anywidget is not installed", PIP)


@pytest.mark.slow
def test_what_a_lesson_draws_with_is_looked_for() -> None:
    found = answer("kernels")
    assert found.works
    assert found.said.startswith("compiled;") or found.mend == COMMAND


def test_every_extra_for_users_has_its_row() -> None:
    setup = ConfigParser(interpolation=None)
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    others = {"bench", "docs", "browser", "dev", "site", "cuda12"}
    extras = set(setup["options.extras_require"]) - others
    assert extras == {check.extra for check in CHECKS} - {""}


def test_what_is_found_has_the_name_of_its_package() -> None:
    assert "PyOpenGL 3" in doctor.need("vispy", "OpenGL")
    assert answer("serve").said.startswith("websockets ")


def test_extras_that_are_missing_have_their_line(monkeypatch: pytest.MonkeyPatch) -> None:
    code, text = examined(serve=PIP, onnx=PIP)
    assert code == 0
    for name, needed in (("serve", "websockets>=17"), ("onnx", "onnx>=1.16")):
        assert f"To fix {name}:\n" in text
        assert pip_command(name) in text and needed in requirements(name)
    monkeypatch.setattr(doctor, "find_spec", lambda module: None)
    monkeypatch.setattr(doctor, "lacking", lambda extra: ["websockets>=17"])
    for name, module in (("serve", "websockets>=17"), ("onnx", "onnx")):
        assert answer(name) == Finding(False, f"{module} is not installed", PIP)


def test_extras_are_tried_and_not_only_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer("onnx").works
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert not answer("onnx").works


@pytest.mark.parametrize(
    ("name", "kind", "system", "command"),
    [
        ("numba", SYSTEM, "linux", "sudo apt-get install libgomp1"),
        ("numba", SYSTEM, "darwin", "brew install libomp"),
        ("numba", SYSTEM, "win32", "winget install Microsoft.VCRedist.2015+.x64"),
        ("cuda", PIP, "darwin", "CUDA is not available on macOS"),
        ("window", "", "linux", ""),
        ("window", SYSTEM, "linux", "libxcb-cursor0"),
        ("video", PIP, "win32", '-m pip install "av>=12"'),
        ("video", SYSTEM, "linux", "-m pip install 'av>=12'"),
    ],
)
def test_each_system_has_its_command(
    monkeypatch: pytest.MonkeyPatch, name: str, kind: str, system: str, command: str
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", {"apt-get": "there"}.get)
    told = command_for(BY_NAME[name], Finding(False, "", kind), system)
    assert command in told and bool(told) == bool(command)


def test_where_there_is_no_apt_the_names_are_still_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    told = command_for(BY_NAME["numba"], Finding(False, ""), "linux")
    assert told == "install the Debian packages libgomp1, or their equivalents"


# Probes, each in a process of its own.


def test_a_probe_tells_what_it_found() -> None:
    told = run_probe("python")
    assert told.works and told.said.startswith(f"{sys.version_info.major}.")


def test_a_probe_that_dies_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import os, sys; print('no plugin', file=sys.stderr, flush=True); os.abort()"
    real = doctor.subprocess.run
    monkeypatch.setattr(
        doctor.subprocess, "run", lambda command, **more: real([command[0], "-c", code], **more)
    )
    assert run_probe("window") == Finding(False, "it crashed: no plugin", SYSTEM)


def test_a_probe_that_hangs_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.01)
    assert run_probe("python") == Finding(None, "no answer within 0.01 seconds", "")


def test_a_python_that_cannot_be_started_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "no other process could be started" in run_probe("python").said


def test_whatever_a_probe_meets_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        PROBES, "broken", Mock(side_effect=ImportError("libfoo.so: cannot open\nmore"))
    )
    monkeypatch.setitem(PROBES, "lacking", Mock(side_effect=Lack("slowly", SYSTEM, works=True)))
    assert answer("broken").said == "ImportError: libfoo.so: cannot open"
    assert answer("lacking") == Finding(True, "slowly", SYSTEM)
    refused(Lack, "a_module_that_is_not").by(doctor.need, "numpy", "a_module_that_is_not")


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
