"""`scalarviz doctor`: what works on this machine, and commands that fix what does not."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, requires

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scalarviz.cli.probes import COMMAND, PIP, SYSTEM
from scalarviz.errors.visible_text import LONGEST_LINE, visible
from scalarviz.window import libraries

SECONDS = 60.0  # timeout of a probe
AT_ONCE = 4

APT = "sudo apt-get install "
OTHER = "install what Debian calls "
OPENGL = "libegl1 libgl1 libgl1-mesa-dri"
ON_WINDOWS = "winget install Microsoft.VCRedist.2015+.x64"


@dataclass(frozen=True)
class Check:
    """Something to test: its probe, its use, and how to fix it.

    extra    extra of scalarviz whose packages pip installs; "" for required packages
    debian   packages of Debian and Ubuntu
    macos    a command or an instruction
    windows  a command or an instruction
    ubuntu   a better command for Ubuntu
    only     when it is useful
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
    only: str = ""
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
    Check("numba", "the engine cpu", debian="libgomp1", macos="brew install libomp", needed=True),
    Check(
        "cuda",
        "the engine cuda",
        "cuda",
        debian="nvidia-driver",
        macos="there is no CUDA for macOS: the engine cpu is used",
        windows="install NVIDIA's driver from https://www.nvidia.com/drivers",
        ubuntu="sudo ubuntu-drivers install",
        only="with an NVIDIA GPU only",
    ),
    Check("opengl", "pictures and videos", "desktop", OPENGL),
    Check("window", "watching in a window", "desktop", f"{libraries.ALL} fonts-dejavu-core"),
    Check("notebook", "watching in a notebook", "notebook", OPENGL),
    Check("images", "learning from PNG and JPEG", "images"),
    Check("video", "saving videos", "video"),
    Check("digits", "learning digits", "digits"),
    Check("onnx", "ONNX models", "onnx"),
)

# Required for the lessons.
FOR_ALL = {check.name: replace(check, use="everything", needed=True) for check in CHECKS}
CLASS = (
    *(FOR_ALL[name] for name in ("python", "packages", "numba")),
    replace(FOR_ALL["opengl"], use="pictures"),
    replace(FOR_ALL["notebook"], use="live pictures"),
    Check("jupyter", "the lessons", "lessons", needed=True),
    replace(FOR_ALL["digits"], use="lesson 11"),
    replace(FOR_ALL["onnx"], use="lesson 11"),
    Check("pictures", "watching", needed=True),
    Check(
        "kernels",
        "lessons 5 to 9",
        command="-m scalarviz.controller.precompile float32 float64 replicas",
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
    """Run all checks and print them; return 0 if a scene can be watched in a terminal, else 1.

    With `for_class`, return 0 if all lessons can be taught here.
    """
    console, run = console or Console(), run or run_probe
    checks = CLASS if for_class else CHECKS
    with (
        console.status("looking, for up to a minute ..."),
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        said = pool.map(run, [check.name for check in checks])
        findings = [find(check, text) for check, text in zip(checks, said, strict=True)]
    console.print(as_table(findings))
    for finding in findings:
        if finding.mend:
            only = f" ({finding.check.only})" if finding.check.only else ""
            console.print(f"To mend {finding.check.name}{only}:", highlight=False)
            console.print(f"    {finding.mend}", highlight=False, markup=False, soft_wrap=True)
    lacking = [each.check.name for each in findings if each.check.needed and not each.works]
    verdict = of_class if for_class else of_scenes
    console.print(verdict(lacking, {each.check.name for each in findings if each.works}))
    return int(bool(lacking))


def of_scenes(lacking: list[str], works: set[str]) -> str:
    """Return a summary for users of scenes."""
    if lacking:
        return f"No scene can be watched yet: {', '.join(lacking)} must work first."
    how, option = ("a window", "") if "window" in works else ("this terminal", " --terminal")
    return f"Scenes can be watched in {how}: scalarviz watch rgb{option}"


def of_class(lacking: list[str], works: set[str]) -> str:
    """Return a summary for teachers."""
    if lacking:
        return f"[bold]Not ready for a class: {', '.join(lacking)} must work first.[/]"
    return "[bold]Ready for a class:[/] make notebooks, or jupyter lab in the folder notebooks"


def run_probe(name: str) -> str:
    """Run a probe in a process of its own; return its JSON, or a failure if it dies or hangs."""
    command = [sys.executable, "-m", "scalarviz.cli.probes", name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return failed(f"it did not answer within {SECONDS:g} seconds")
    except OSError as error:
        return failed(f"no other process could be started: {error}")
    lines = done.stdout.splitlines()
    if lines and lines[-1].startswith("{"):
        return lines[-1]
    told = [line for line in done.stderr.splitlines() if line.strip()]
    return failed(f"it died: {told[-1].strip() if told else f'exit code {done.returncode}'}")


def failed(why: str) -> str:
    return json.dumps({"works": False, "said": why, "mend": SYSTEM})


def find(check: Check, text: str) -> Finding:
    """Return the finding of a probe's JSON."""
    answer = json.loads(text)
    exactly = replace(check, debian=answer.get("debian", check.debian))
    mend = command_for(exactly, answer["mend"], sys.platform)
    return Finding(check, answer["works"], answer["said"], mend)


def command_for(check: Check, kind: str, system: str) -> str:
    """Return the command or instruction that fixes a finding on this system."""
    if kind == COMMAND:
        return shlex.join([sys.executable, *check.command.split()])
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
    return (APT if shutil.which("apt-get") else OTHER) + check.debian


def pip_command(extra: str, system: str) -> str:
    """Return the pip command that installs an extra with this Python."""
    words = [sys.executable, "-m", "pip", "install", *requirements(extra)]
    if system == "win32":
        line = " ".join(f'"{word}"' if re.search(r"[^\w.\\:-]", word) else word for word in words)
        return f"& {line}" if line.startswith('"') else line  # PowerShell's syntax
    return shlex.join(words)


def requirements(extra: str) -> list[str]:
    """Return the requirements of an extra of scalarviz; of scalarviz itself for ""."""
    try:
        listed = requires("scalarviz") or []
    except PackageNotFoundError:  # run from a folder without being installed
        return [f"scalarviz[{extra}]" if extra else "scalarviz"]
    found = []
    for line in listed:
        requirement, _, marker = line.partition(";")
        of = re.search(r"extra\s*==\s*['\"](\w+)['\"]", marker)
        if (of.group(1) if of else "") == extra:
            found.append(requirement.strip())
    return found or [f"scalarviz[{extra}]"]  # an older version without this extra is installed


def as_table(findings: list[Finding]) -> Table:
    """Return a table with one row per finding."""
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("", "what", "for", "found"):
        table.add_column(head, no_wrap=head != "found", overflow="fold")
    signs: Mapping[bool, str] = {True: "[green]works[/]", False: "[yellow]lacks[/]"}
    for finding in findings:
        sign = signs[finding.works]
        if finding.check.needed and not finding.works:
            sign = "[red]lacks[/]"
        said = Text(visible(finding.said, LONGEST_LINE))
        table.add_row(sign, finding.check.name, finding.check.use, said)
    return table
