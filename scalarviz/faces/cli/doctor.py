"""`scalarviz doctor`: versions, OpenGL, CUDA and kernels of this machine, with a remedy for each.

Each check runs in a separate process, since a broken library can end it. To run a single one:

    python -m scalarviz.faces.cli.doctor opengl
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rich.console import Console

from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.shell_commands import lacking, pip_command, program
from scalarviz.base.texts import text
from scalarviz.engines.codegen.kernel_source import version_of
from scalarviz.errors import DisplayError
from scalarviz.scene.offscreen import NEEDS

SECONDS = 60.0  # timeout of a check
NEEDED = "versions", "kernels"  # without these, no scene runs
SHOWN = "numpy", "numba", "vispy", "PySide6-Essentials", "numba-cuda"
OPENMP = {"linux": "sudo apt-get install libgomp1", "darwin": "brew install libomp"}


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes:
        works: whether it passed; None if it did not reply in time
        remedy: the command or instruction that fixes it, or ""
    """

    works: bool | None
    said: str
    remedy: str = ""


def examine(console: Console | None = None, run: Callable[[str], Finding] | None = None) -> int:
    """Run and print all checks; return 1 if something that scenes require is missing, else 0."""
    console = console or Console()
    with console.status(text("doctor.looking")), ThreadPoolExecutor(len(CHECKS)) as pool:
        found = dict(zip(CHECKS, pool.map(run or run_check, CHECKS), strict=True))
    for name, finding in found.items():
        color, sign = SIGNS[finding.works]
        console.print(f"[{color}]{text(f'doctor.sign.{sign}'):8}[/] {name:9}", end="")
        said = [visible(finding.said, LONGEST_LINE)]
        said += [text("doctor.remedy", remedy=finding.remedy)] if finding.remedy else []
        for line in said:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
    lacks = [name for name in NEEDED if found[name].works is False]
    if lacks:
        console.print(text("doctor.lacking", names=", ".join(lacks)))
    else:
        console.print(text("doctor.ready", program=program()), highlight=False, soft_wrap=True)
    return int(bool(lacks))


SIGNS = {True: ("green", "works"), False: ("yellow", "lacks"), None: ("yellow", "slow")}


def run_check(name: str) -> Finding:
    """Run a check in a separate process; return its finding, even after a crash or a timeout."""
    command = [sys.executable, "-m", "scalarviz.faces.cli.doctor", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Finding(None, text("doctor.no_answer", seconds=SECONDS))
    lines = done.stdout.splitlines()
    if lines and lines[-1].startswith("{"):
        return Finding(**json.loads(lines[-1]))
    told = [line for line in done.stderr.splitlines() if line.strip()]
    why = told[-1].strip() if told else text("doctor.exit_code", code=done.returncode)
    return Finding(False, text("doctor.died", why=why))


# Checks. Each imports what it checks, which may be slow, missing or broken. It returns a
# description, or raises a Lack.


class Lack(Exception):
    """Raised by a check: the reason of a failure or, if `works`, a limitation; and its remedy."""

    def __init__(self, why: str, remedy: str, *, works: bool = False) -> None:
        super().__init__(why)
        self.finding = Finding(works, why, remedy)


def versions() -> str:
    """Import the required packages."""
    if absent := lacking(""):
        raise Lack(f"{absent[0]} is not installed", pip_command(""))
    for module in ("numpy", "numba", "rich", "typer"):
        import_module(module)
    found = [f"{package} {known}" for package in SHOWN if (known := version_of(package))]
    machine = {"system": platform.system(), "processor": platform.machine()}
    python = text("doctor.found.python", version=platform.python_version(), **machine)
    return ", ".join([python, *found])


def opengl() -> str:
    """Draw a red frame with vispy and read it back."""
    is_linux = sys.platform == "linux"
    if not is_linux and find_spec("PySide6") is None:
        raise Lack("PySide6 is not installed", pip_command("desktop"))
    remedy = NEEDS if is_linux else text("doctor.update_driver")
    if is_linux:
        os.environ.update(EGL_PLATFORM="surfaceless", PYOPENGL_PLATFORM="egl")
    try:
        import_module("vispy").use("egl" if is_linux else "pyside6", "gl+")
        gloo, app = import_module("vispy.gloo"), import_module("vispy.app")
        with app.Canvas(size=(8, 8), show=False) as canvas:
            canvas.set_current()
            gloo.clear("red")
            pixel = gloo.read_pixels((0, 0, 1, 1))[0, 0]
            maker = gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)
            import_module("scalarviz.scene.visuals.opengl").check_float_textures()
    except DisplayError as error:
        raise Lack(first_line(error), remedy) from error
    except Exception as error:  # drivers raise errors of any class
        raise Lack(f"no OpenGL context: {first_line(error)}", remedy) from error
    if tuple(pixel[:3]) != (255, 0, 0):
        raise Lack("a red test frame was not red", remedy)
    return str(maker)


def cuda() -> str:
    """Ask the cuda engine whether it can run."""
    from scalarviz.engines.codegen.kernel_source import is_simulated
    from scalarviz.engines.registry import ENGINES

    if lack := ENGINES["cuda"].lack():
        raise Lack(lack, text("doctor.only_with_gpu"))
    if is_simulated():
        return text("doctor.found.simulator")
    name = import_module("numba.cuda").get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def kernels() -> str:
    """Compile and run a parallel kernel, and count those that are compiled."""
    import numpy as np

    compiler: Any = import_module("numba")

    def total(numbers: Any) -> Any:
        result = 0.0
        for i in compiler.prange(len(numbers)):
            result += numbers[i]
        return result

    if compiler.njit(parallel=True)(total)(np.ones(1000)) != 1000.0:
        raise Lack("a compiled loop returned a wrong sum", pip_command(""))
    if compiler.threading_layer() == "workqueue":
        remedy = OPENMP.get(sys.platform, pip_command(""))
        raise Lack("slow, since OpenMP was not found", remedy, works=True)
    known = import_module("scalarviz.engines.every_kernel")
    every, lacks = len(known.every_kernel()), len(known.lacking_kernels())
    found = text("doctor.found.kernels", ready=every - lacks, every=every)
    if lacks:
        raise Lack(found, f"{program()} warm", works=True)
    return found


CHECKS: dict[str, Callable[[], str]] = {
    check.__name__: check for check in (versions, opengl, cuda, kernels)
}


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def answer(name: str) -> Finding:
    """Run a check in this process and return its finding."""
    try:
        return Finding(True, CHECKS[name]())
    except Lack as lack:
        return lack.finding
    except Exception as error:  # a broken package must not break the doctor
        return Finding(False, f"{type(error).__name__}: {first_line(error)}", pip_command(""))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(answer(sys.argv[1]))))
    sys.stdout.flush()
    os._exit(0)  # some libraries crash when unloaded
