"""Commands that users can paste into a terminal: scalarviz itself, and pip for an extra."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from scalarviz.errors import InputError

PROGRAM = "scalarviz"


def program() -> str:
    """Return the command that runs this scalarviz: its name if on PATH, otherwise its path."""
    known = shutil.which(PROGRAM)
    beside = shutil.which(PROGRAM, path=os.path.dirname(python()))
    if known and beside and os.path.samefile(known, beside):
        return PROGRAM
    return joined(called(beside)) if beside else joined(called(python()), "-m", PROGRAM)


def pasted(command: str) -> str:
    """Return a command with a leading "scalarviz" replaced by `program()`."""
    name, _, rest = command.partition(" ")
    return f"{program()} {rest}" if name == PROGRAM else command


def needed(module: str, what: str, extra: str, otherwise: str = "") -> Any:
    """Return a module installed by an extra; raise InputError if it is not installed.

    Args:
        what: beginning of the error: the feature and the package
        otherwise: end of the error: an alternative
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(
            f"{what}, which is not installed: {pip_command(extra)}{otherwise}"
        ) from error


def pip_command(extra: str) -> str:
    """Return the command that installs the missing packages of an extra, or all if none is missing.

    Args:
        extra: name of an extra; "" for the requirements of scalarviz itself
    """
    return pip_install(*lacking(extra) or requirements(extra))


def pip_install(*packages: str) -> str:
    """Return the command that installs packages with this Python."""
    return joined(called(python()), "-m", "pip", "install", *packages)


def lacking(extra: str) -> list[str]:
    """Return the requirements of an extra that are not installed in an accepted version."""
    return [line for line in requirements(extra) if not is_installed(line)]


def is_installed(requirement: str) -> bool:
    """Return whether a package is installed in a version accepted by a requirement."""
    from packaging.requirements import Requirement

    needed = Requirement(requirement)
    with suppress(PackageNotFoundError):
        return needed.specifier.contains(version(needed.name), prereleases=True)
    return False


def requirements(extra: str) -> list[str]:
    """Return the requirements of an extra on this machine; "" means scalarviz itself."""
    with suppress(PackageNotFoundError):  # run from a folder without being installed
        from packaging.requirements import Requirement

        lines = [Requirement(line) for line in requires(PROGRAM) or []]
        for_all, wanted = (
            [x for x in lines if x.marker is None or x.marker.evaluate({"extra": each})]
            for each in ("", extra)
        )
        found = [str(x).partition(";")[0].strip() for x in wanted if not extra or x not in for_all]
        if found:
            return found
    # Or an older version is installed, without such an extra.
    return [f"scalarviz[{extra}] @ {Path(__file__).parents[2].as_uri()}"]


def python() -> str:
    return sys.executable or "python"


def called(path: str) -> str:
    """Return the path of a program as typed in the current folder: relative if it is inside."""
    with suppress(OSError):  # the folder may be deleted
        short = path.removeprefix(os.path.join(os.getcwd(), ""))
        return short if os.sep in short else path
    return path


def joined(*words: str, system: str = sys.platform) -> str:
    """Return words as a command line of a POSIX shell, or of PowerShell on Windows."""
    if system != "win32":
        return shlex.join(words)
    line = " ".join(f'"{word}"' if re.search(r"[^\w.\\:-]", word) else word for word in words)
    return f"& {line}" if line.startswith('"') else line
