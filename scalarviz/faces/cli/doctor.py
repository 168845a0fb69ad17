"""`scalarviz doctor`: what works on this machine, and commands that fix what does not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.shell_commands import called, joined, pip_command, program
from scalarviz.base.texts import text
from scalarviz.faces.cli.probes import COMMAND, PIP, SYSTEM
from scalarviz.faces.window import libraries

SECONDS = 60.0  # timeout of a probe
AT_ONCE = 4

APT = "sudo apt-get install "
OPENGL = "libegl1 libgl1 libgl1-mesa-dri"
ON_WINDOWS = "winget install Microsoft.VCRedist.2015+.x64"


@dataclass(frozen=True)
class Check:
    """Something to test: its probe, its use, and how to fix it.

    use      a key of the texts, after "doctor.use."
    extra    extra of scalarviz whose packages pip installs; "" for required packages
    debian   packages of Debian and Ubuntu
    macos    a command or an instruction
    windows  a command or an instruction
    ubuntu   a better command for Ubuntu
    gpu      whether it needs an NVIDIA GPU
    command  arguments of Python that fix it
    needed   whether it is required
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
        macos="there is no CUDA for macOS: the engine cpu is used",
        windows="install NVIDIA's driver from https://www.nvidia.com/drivers",
        ubuntu="sudo ubuntu-drivers install",
        gpu=True,
    ),
    Check("opengl", "drawing", "desktop", OPENGL),
    Check("shader", "maps", "desktop", OPENGL),
    Check("window", "window", "desktop", f"{libraries.ALL} fonts-dejavu-core"),
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
    """Result of a check; `mend` is a command that fixes it, or ""."""

    check: Check
    works: bool
    said: str
    mend: str = ""


def examine(
    console: Console | None = None,
    run: Callable[[str], str] | None = None,
    *,
    for_class: bool = False,
) -> int:
    """Run all checks and print them; return 0 if a scene can be trained, else 1.

    With `for_class`, return 0 if all lessons can be taught here.
    """
    console, run = console or Console(), run or run_probe
    checks = CLASS if for_class else CHECKS
    with (
        console.status(text("doctor.looking")),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        said = pool.map(run, [check.name for check in checks])
        findings = [find(check, found) for check, found in zip(checks, said, strict=True)]
    console.print(as_table(findings))
    for finding in findings:
        if finding.mend:
            how = "mend_with_gpu" if finding.check.gpu else "mend"
            head = text(f"doctor.heading.{how}", name=finding.check.name)
            console.print(head, highlight=False)
            console.print(f"    {finding.mend}", highlight=False, markup=False, soft_wrap=True)
    lacking = [each.check.name for each in findings if each.check.needed and not each.works]
    has_window = any(each.check.name == "window" and each.works for each in findings)
    if lacking:
        whose = "class" if for_class else "scenes"
        verdict = text(f"doctor.{whose}.lacking", names=", ".join(lacking))
    elif for_class:
        verdict = text("doctor.class.ready", program=program())
    else:
        verdict = text(
            "doctor.scenes.window" if has_window else "doctor.scenes.page", program=program()
        )
    console.print(verdict)
    return int(bool(lacking))


def run_probe(name: str) -> str:
    """Run a probe in a process of its own; return its JSON, or a failure if it dies or hangs."""
    command = [sys.executable, "-m", "scalarviz.faces.cli.probes", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return failed(text("doctor.slow", seconds=SECONDS))
    except OSError as error:
        return failed(text("doctor.alone", error=error))
    lines = done.stdout.splitlines()
    if lines and lines[-1].startswith("{"):
        return lines[-1]
    told = [line for line in done.stderr.splitlines() if line.strip()]
    why = told[-1].strip() if told else text("doctor.exit_code", code=done.returncode)
    return failed(text("doctor.died", why=why))


def failed(why: str) -> str:
    return json.dumps({"works": False, "said": why, "mend": SYSTEM})


def find(check: Check, found: str) -> Finding:
    """Return the finding of a probe's JSON."""
    answer = json.loads(found)
    exactly = replace(check, debian=answer.get("debian", check.debian))
    mend = command_for(exactly, answer["mend"], sys.platform)
    return Finding(check, answer["works"], answer["said"], mend)


def command_for(check: Check, kind: str, system: str) -> str:
    """Return the command or instruction that fixes a finding on this system."""
    if kind == COMMAND:
        return joined(called(sys.executable), *check.command.split())
    if kind == PIP and not (check.name == "cuda" and system == "darwin"):
        return pip_command(check.extra, system)
    if kind not in (PIP, SYSTEM):
        return ""
    if system == "darwin":
        return check.macos
    if system == "win32":
        return check.windows
    if not check.debian:
        return pip_command(check.extra, system)
    if check.ubuntu and shutil.which("ubuntu-drivers"):
        return check.ubuntu
    if shutil.which("apt-get"):
        return APT + check.debian
    return text("doctor.install", packages=check.debian)


def as_table(findings: list[Finding]) -> Table:
    """Return a table with one row per finding."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for head in ("what", "for", "found"):
        table.add_column(text(f"doctor.column.{head}"), no_wrap=head != "found", overflow="fold")
    for finding in findings:
        color = "green" if finding.works else "red" if finding.check.needed else "yellow"
        works = text("doctor.works" if finding.works else "doctor.lacks")
        sign = f"[{color}]{works}[/]"
        said = Text(visible(finding.said, LONGEST_LINE))
        table.add_row(sign, finding.check.name, text(f"doctor.use.{finding.check.use}"), said)
    return table
