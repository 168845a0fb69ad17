"""`scalarviz lessons`: copies the lessons and the guide out of the package, and opens them."""

from __future__ import annotations

import shlex
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from scalarviz.base.messages import say
from scalarviz.base.package_files import top_folder
from scalarviz.base.shell_commands import pip_command, program
from scalarviz.base.texts import text
from scalarviz.files.atomic import replace_file

PARTS = "notebooks", "docs/guide"  # beside each other, as their links have it


def copy_lessons(folder: str) -> None:
    """Copy the lessons and the guide into a folder, and open them if somebody is at the terminal.

    Files that are there already stay as they are.
    """
    found = {Path(folder, part, each.name): each for part in PARTS for each in files_of(part)}
    new = [place for place in found if not place.exists()]
    for place in new:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, found[place].read_bytes())
    say(text("lessons.copied", folder=Path(folder)))
    if kept := len(found) - len(new):
        say(text("lessons.kept", count=kept))
    if find_spec("jupyterlab") is None:
        say(text("lessons.install", command=pip_command("lessons"), program=program()))
    elif sys.stdout.isatty():
        import_module("jupyterlab.labapp").main(["--allow-root", f"--notebook-dir={folder}"])
    else:
        say(text("lessons.open", folder=shlex.quote(str(Path(folder)))))


def files_of(part: str) -> list[Path]:
    return sorted(path for path in top_folder(part).iterdir() if path.is_file())
