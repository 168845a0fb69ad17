"""Store: the results of a sweep in a folder, one file for each task, by its key."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import final

from scalarviz.base.messages import caution
from scalarviz.errors import FileError
from scalarviz.files.atomic import as_path, shown
from scalarviz.sweeps.outcome import Outcome
from scalarviz.sweeps.task import Task

SUFFIX = ".safetensors"


@final
class Store:
    """A folder of results; what is there need not be trained again."""

    def __init__(self, folder: object) -> None:
        self.folder = as_path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"the folder {shown(self.folder)} for results cannot be made "
                f"({error.strerror}): pass another one"
            ) from error

    def find(self, task: Task) -> Outcome | None:
        """Return the result of a task if it is there and whole."""
        if not task.key or not is_file(self.path(task)):
            return None
        try:
            found = Outcome.load(self.path(task), task.key)
        except FileError as error:
            caution(f"{error}; it is trained again")
            return None
        same = found.seeds.tolist() == [
            seed if seed < 2**63 else seed - 2**64 for seed in task.seeds
        ]
        return found if same else None

    def keep(self, task: Task, outcome: Outcome) -> None:
        """Write the result of a task; a link of its name is replaced, and not followed."""
        if not task.key:
            return
        path = self.path(task)
        with suppress(OSError):  # a folder of this name stays, and writing says so
            if not is_file(path):
                path.unlink(missing_ok=True)
        outcome.save(path, task.key)

    def path(self, task: Task) -> Path:
        return self.folder / (task.key + SUFFIX)


def is_file(path: Path) -> bool:
    """Return whether a path is a file, and no link, pipe, device or folder."""
    return os.path.isfile(path) and not os.path.islink(path)
