"""`scalarviz doctor`: tests of this machine, with commands that fix failures.

`doctor` runs each probe in a separate process. To run a single probe:

    python -m scalarviz.faces.cli.doctor numba
"""

from __future__ import annotations

import io
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.progress import has_display
from scalarviz.base.shell_commands import (
    called,
    joined,
    lacking,
    pip_command,
    program,
    requirements,
)
from scalarviz.base.texts import text
from scalarviz.errors import DisplayError
from scalarviz.faces.window import display_check

SECONDS = 60.0  # timeout of a probe
AT_ONCE = 4

PIP, SYSTEM, COMMAND, NOTHING = "pip", "system", "command", ""  # kinds of repair commands
APT = "sudo apt-get install "
OPENGL = "libegl1 libgl1 libgl1-mesa-dri"
ON_WINDOWS = "winget install Microsoft.VCRedist.2015+.x64"


@dataclass(frozen=True)
class Check:
    """A test: its probe, its purpose, and how to fix a failure.

    Attributes:
        use: key of the text that states the purpose, without the prefix "doctor.use."
        extra: extra of scalarviz whose packages pip installs; "" for required packages
        debian: packages to install on Debian and Ubuntu
        macos: command or instruction for macOS
        windows: command or instruction for Windows
        ubuntu: command that is preferred on Ubuntu
        gpu: whether the test needs an NVIDIA GPU
        command: arguments for Python that fix a failure
        needed: whether scalarviz requires what is tested
    """

    name: str
    use: str
    extra: str = ""
    debian: str = ""
    macos: str = "softwareupdate --install --all"
    windows: str = ON_WINDOWS
    ubuntu: str = ""
    gpu: bool = False
    command: str = ""
    needed: bool = False


CHECKS = (
    Check(
        "python",
        "everything",
        debian="python3 python3-venv",
        macos="brew install python",
        windows="winget install Python.Python.3.13",
        needed=True,
    ),
    Check("packages", "everything", needed=True),
    Check("numba", "cpu", debian="libgomp1", macos="brew install libomp", needed=True),
    Check(
        "cuda",
        "cuda",
        "cuda",
        debian="nvidia-driver",
        macos="CUDA is not available on macOS: the cpu engine is used",
        windows="install NVIDIA's driver from https://www.nvidia.com/drivers",
        ubuntu="sudo ubuntu-drivers install",
        gpu=True,
    ),
    Check("opengl", "drawing", "desktop", OPENGL),
    Check("window", "window", "desktop", f"{display_check.ALL} fonts-dejavu-core"),
    Check("notebook", "notebook", "notebook", OPENGL),
    Check("images", "images", "images"),
    Check("video", "video", "video"),
    Check("onnx", "onnx", "onnx"),
    Check("jupyter", "lessons", "lessons"),
    Check("serve", "serve", "serve"),
    Check("sklearn", "sklearn", "sklearn"),
    Check("pandas", "pandas", "pandas"),
    Check("cluster", "cluster", "cluster"),
)

# Required for the lessons.
FOR_ALL = {check.name: replace(check, use="everything", needed=True) for check in CHECKS}
CLASS = (
    *(FOR_ALL[name] for name in ("python", "packages", "numba")),
    replace(FOR_ALL["opengl"], use="pictures"),
    replace(FOR_ALL["notebook"], use="live"),
    replace(FOR_ALL["jupyter"], use="lessons"),
    replace(FOR_ALL["onnx"], use="lesson_11"),
    Check("pictures", "watching", needed=True),
    Check(
        "kernels",
        "lessons_5_to_9",
        command="-m scalarviz warm",
    ),
    Check("room", "everything", needed=True),
)


@dataclass(frozen=True)
class Finding:
    """The result of a probe.

    Attributes:
        works: whether the test passed; None if the probe did not reply in time
        mend: kind of the repair command: PIP, SYSTEM, COMMAND, or NOTHING
        debian: the exact Debian packages to install, if known
    """

    works: bool | None
    said: str
    mend: str = SYSTEM
    debian: str = ""


Findings = Sequence[tuple[Check, Finding]]


def examine(
    console: Console | None = None,
    run: Callable[[str], Finding] | None = None,
    *,
    for_class: bool = False,
) -> int:
    """Run and print all checks; return 1 if something that scenes require is missing, else 0.

    With `for_class`, return 1 if something that the lessons require is missing.
    """
    console, run = console or Console(), run or run_probe
    checks = CLASS if for_class else CHECKS
    with (
        console.status(text("doctor.looking")),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        found = pool.map(run, [check.name for check in checks])
        findings = [*zip(checks, found, strict=True)]
    console.print(as_table(findings))
    for check, finding in findings:
        if mend := command_for(check, finding, sys.platform):
            how = "mend_with_gpu" if check.gpu else "mend"
            console.print(text(f"doctor.heading.{how}", name=check.name), highlight=False)
            console.print(f"    {mend}", highlight=False, markup=False, soft_wrap=True)
    lacking, slow = (
        [check.name for check, found in findings if check.needed and found.works is works]
        for works in (False, None)
    )
    if lacking:
        whose = "class" if for_class else "scenes"
        console.print(text(f"doctor.{whose}.lacking", names=", ".join(lacking)))
    elif slow:
        console.print(text("doctor.not_known", names=", ".join(slow)))
    elif for_class:
        console.print(text("doctor.class.ready", program=program()), soft_wrap=True)
    elif any(check.name == "window" and found.works for check, found in findings):
        console.print(text("doctor.scenes.window", program=program()), soft_wrap=True)
    else:
        console.print(text("doctor.scenes.page", program=program()), soft_wrap=True)
    return int(bool(lacking))


def run_probe(name: str) -> Finding:
    """Run a probe in a separate process; return its finding, even after a crash or a timeout."""
    command = [sys.executable, "-m", "scalarviz.faces.cli.doctor", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return Finding(None, text("doctor.no_answer", seconds=SECONDS), NOTHING)
    except OSError as error:
        return Finding(False, text("doctor.alone", error=error))
    lines = done.stdout.splitlines()
    if lines and lines[-1].startswith("{"):
        return Finding(**json.loads(lines[-1]))
    told = [line for line in done.stderr.splitlines() if line.strip()]
    why = told[-1].strip() if told else text("doctor.exit_code", code=done.returncode)
    return Finding(False, text("doctor.died", why=why))


def command_for(check: Check, found: Finding, system: str) -> str:
    """Return the command or instruction that fixes a failed check on this system."""
    kind, debian = found.mend, found.debian or check.debian
    if kind == COMMAND:
        return joined(called(sys.executable), *check.command.split())
    if kind == PIP and not (check.name == "cuda" and system == "darwin"):
        return pip_command(check.extra, system)
    if kind not in (PIP, SYSTEM):
        return ""
    if system in ("darwin", "win32"):
        return check.macos if system == "darwin" else check.windows
    if not debian:
        return pip_command(check.extra, system)
    if check.ubuntu and shutil.which("ubuntu-drivers"):
        return check.ubuntu
    if shutil.which("apt-get"):
        return APT + debian
    return text("doctor.install", packages=debian)


SIGNS = {True: "works", False: "lacks", None: "slow"}


def as_table(findings: Findings) -> Table:
    """Return a table with one row per finding."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for head in ("what", "for", "found"):
        table.add_column(text(f"doctor.column.{head}"), no_wrap=head != "found", overflow="fold")
    for check, finding in findings:
        is_fault = finding.works is False and check.needed
        color = "green" if finding.works else "red" if is_fault else "yellow"
        sign = f"[{color}]{text(f'doctor.sign.{SIGNS[finding.works]}')}[/]"
        said = Text(visible(finding.said, LONGEST_LINE))
        table.add_row(sign, check.name, text(f"doctor.use.{check.use}"), said)
    return table


# Probes. Each imports the tested package, which may be slow, missing or broken. It returns a
# description, or raises a Lack.

SMOOTH = 15.0  # pictures per second
GIGABYTES = 2.0


class Lack(Exception):
    """Raised by a probe to report a failure, or, if `works` is true, a limitation."""

    def __init__(
        self, why: str, mend: str = SYSTEM, *, works: bool = False, debian: str = ""
    ) -> None:
        super().__init__(why)
        self.finding = Finding(works, why, mend, debian)


def require(holds: object, why: str, mend: str = SYSTEM, *, works: bool = False) -> None:
    """Raise Lack with the reason `why` unless `holds` is true."""
    if not holds:
        raise Lack(why, mend, works=works)


def need(*modules: str) -> str:
    """Return the names and versions of modules; raise Lack if a module is not installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Lack(f"{missing[0]} is not installed", PIP)
    return ", ".join(map(version_of, modules))


def version_of(module: str) -> str:
    """Return the name and version of the package that contains a module."""
    names = {"PySide6": "PySide6-Essentials", "PIL": "Pillow", "OpenGL": "PyOpenGL"}
    package = names.get(module, module)
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package


def python() -> str:
    require(sys.maxsize >= 2**32, "32-bit Python, which numba does not support")
    machine = {"system": platform.system(), "processor": platform.machine()}
    return text("doctor.found.python", version=platform.python_version(), **machine)


def packages() -> str:
    found = need("numpy", "rich", "typer")
    for module in ("numpy", "rich", "typer"):
        import_module(module)
    return found


def numba() -> str:
    """Compile and run a parallel kernel."""
    found = need("numba")
    import numpy as np

    compiler: Any = import_module("numba")

    def total(numbers: Any) -> Any:
        result = 0.0
        for i in compiler.prange(len(numbers)):
            result += numbers[i]
        return result

    require(
        compiler.njit(parallel=True)(total)(np.ones(1000)) == 1000.0,
        "a compiled loop returned a wrong sum",
    )
    layer = compiler.threading_layer()
    require(layer != "workqueue", f"{found}, slowly: OpenMP was not found", works=True)
    known = import_module("scalarviz.engines.every_kernel")
    count, every = compiler.get_num_threads(), len(known.every_kernel())
    ready = every - len(known.lacking_kernels())
    facts = {"found": found, "count": count, "layer": layer, "ready": ready, "every": every}
    return text("doctor.found.numba", **facts)


def cuda() -> str:
    from scalarviz.engines.registry import ENGINES

    lack = ENGINES["cuda"].lack()
    require(not lack, lack, PIP if "pip install" in lack else SYSTEM)
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return text("doctor.found.simulator")
    name = import_module("numba.cuda").get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)


def opengl() -> str:
    """Draw a red frame with vispy and read it back."""
    found = need("vispy", "OpenGL") if sys.platform == "linux" else need("vispy", "PySide6")
    if sys.platform == "linux":
        os.environ.update(EGL_PLATFORM="surfaceless", PYOPENGL_PLATFORM="egl")
    vispy = import_module("vispy")
    try:
        vispy.use("egl" if sys.platform == "linux" else "pyside6", "gl+")
        gloo, app = import_module("vispy.gloo"), import_module("vispy.app")
        with app.Canvas(size=(8, 8), show=False) as canvas:
            canvas.set_current()
            gloo.clear("red")
            pixel = gloo.read_pixels((0, 0, 1, 1))[0, 0]
            maker = gloo.gl.glGetParameter(gloo.gl.GL_RENDERER)
            import_module("scalarviz.scene.visuals.opengl").check_float_textures()
    except DisplayError as error:
        raise Lack(first_line(error)) from error
    except Exception as error:  # drivers raise errors of any class
        raise Lack(f"no OpenGL context: {first_line(error)}") from error
    require(tuple(pixel[:3]) == (255, 0, 0), "a red test frame was not red")
    return f"{found}, {maker}"


def window() -> str:
    """Connect Qt to the display."""
    found = need("PySide6")
    if sys.platform == "linux" and not os.environ.get("WAYLAND_DISPLAY"):
        check_libraries()
    require(
        has_display(),
        "no display: work directly on the machine, or connect with ssh -X",
        NOTHING,
    )
    try:
        toolkit = import_module("PySide6.QtGui")
    except ImportError as error:
        raise Lack(f"Qt cannot be loaded: {first_line(error)}") from error
    os.environ.setdefault("QT_XCB_GL_INTEGRATION", "xcb_egl")  # as for a window
    application = toolkit.QGuiApplication([])  # aborts if libraries are missing
    require(toolkit.QOpenGLContext().create(), "Qt finds no OpenGL on this display")
    return text("doctor.found.window", found=found, platform=application.platformName())


def check_libraries() -> None:
    """Raise Lack with all libraries that Qt lacks on X11; Qt itself reports at most the first."""
    why = display_check.lack_of_qt()
    absent = display_check.missing(why) if why else []
    if absent:
        raise Lack(display_check.told(absent), debian=display_check.packages_of(absent))
    require(not why, f"Qt cannot be loaded: {why}")


def notebook() -> str:
    found = need("anywidget", "ipywidgets", *(["OpenGL"] * (sys.platform == "linux")))
    import_module("anywidget")
    return found


def images() -> str:
    """Write and read PNG and JPEG with Pillow."""
    found = need("PIL")
    pillow = import_module("PIL.Image")
    for kind in ("PNG", "JPEG"):
        file = io.BytesIO()
        pillow.new("RGB", (8, 8), "red").save(file, kind)
        pillow.open(file).load()
    return found


def video() -> str:
    found = need("av")
    av = import_module("av")
    try:
        av.Codec("libx264", "w")
    except Exception as error:  # an error class of av
        raise Lack("av has no encoder libx264", PIP) from error
    return text("doctor.found.video", found=found)


def packages_of(extra: str) -> str:
    """Return the versions of an extra's packages; raise Lack if one is missing or too old."""
    if lacks := lacking(extra):
        raise Lack(f"{lacks[0]} is not installed", PIP)
    names = [re.split(r"[^\w.-]", line)[0] for line in requirements(extra)]
    return ", ".join(map(version_of, names))


def onnx() -> str:
    """Save a network as ONNX and load it."""
    found = need("onnx")
    sv = import_module("scalarviz")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        sv.onnx.save(sv.Network([2, 2]), path)
        sv.onnx.load(path)
    return found


def jupyter() -> str:
    """Check for JupyterLab, a local port, and the packages that lessons use for plots."""
    found = need("jupyterlab", "matplotlib", "ipykernel")
    try:
        socket.create_server(("127.0.0.1", 0)).close()
    except OSError as error:
        raise Lack(f"no server can listen on this machine: {error}", NOTHING) from error
    return found


def pictures() -> str:
    """Measure how many pictures per second are drawn at the size used in lessons."""
    view, stage = (
        import_module("scalarviz.scene.picture"),
        import_module("scalarviz.stage.stage"),
    )
    scene = import_module("scalarviz.scenes.rgb").scene(engine="python")
    seen, canvas = stage.Stage(scene), view.Canvas(800, 500)
    canvas.frame(seen.draw)
    began, count = perf_counter(), 0
    while perf_counter() - began < 2.0:
        seen.eyes.orbit(3.0, 0.0)
        canvas.frame(seen.draw)
        count += 1
    pace = count / (perf_counter() - began)
    require(
        pace >= SMOOTH,
        f"only {pace:.0f} pictures per second: close other programs",
        NOTHING,
        works=True,
    )
    return text("doctor.found.pictures", pace=pace)


def kernels() -> str:
    """Check whether the kernels are compiled on this machine."""
    lacking = len(import_module("scalarviz.engines.every_kernel").lacking_kernels())
    require(
        not lacking,
        f"{lacking} are not compiled: a lesson waits some seconds when it first needs them",
        COMMAND,
        works=True,
    )
    return text("doctor.found.kernels")


def room() -> str:
    """Check the free disk space, the memory and the number of processors."""
    free = shutil.disk_usage(Path.home()).free / 2**30
    require(
        free >= GIGABYTES,
        f"{free:.1f} GB of disk are free, and {GIGABYTES:g} are needed",
        NOTHING,
    )
    memory = import_module("scalarviz.base.limits").memory_size() / 2**30
    require(
        not 0.0 < memory < GIGABYTES,  # 0 if unknown
        f"{memory:.1f} GB of memory, and {GIGABYTES:g} are needed",
        NOTHING,
    )
    processors = text("doctor.found.processors", count=os.cpu_count())
    if memory:
        processors = text("doctor.found.memory", processors=processors, memory=memory)
    return text("doctor.found.room", processors=processors, disk=free)


EXTRAS = "serve", "sklearn", "pandas", "cluster"  # not tested elsewhere
PROBES: dict[str, Callable[[], str]] = {
    **{
        probe.__name__: probe
        for probe in (
            *(python, packages, numba, cuda, opengl, window, notebook, images, video),
            *(onnx, jupyter, pictures, kernels, room),
        )
    },
    **{extra: partial(packages_of, extra) for extra in EXTRAS},
}


def first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def answer(name: str) -> Finding:
    """Run a probe in this process and return its finding."""
    try:
        return Finding(True, PROBES[name](), NOTHING)
    except Lack as lack:
        return lack.finding
    except Exception as error:  # a broken package must not break the doctor
        return Finding(False, f"{type(error).__name__}: {first_line(error)}", PIP)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(answer(sys.argv[1]))))
    sys.stdout.flush()
    os._exit(0)  # some libraries crash when unloaded
