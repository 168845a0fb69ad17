"""`scalarviz warm`: compiles kernels ahead of time, for a class, a container or CI."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scalarviz.base import processes
from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.engines.codegen.cache_files import cache_folder, is_compiled
from scalarviz.engines.every_kernel import compile_all, compile_files
from scalarviz.engines.registry import choose
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.controller import precompile
from scalarviz.faces.scenefiles.find import load, scenes
from scalarviz.faces.scenefiles.making import played


def warm(engine: str = "cpu") -> None:
    """Compile kernels, with a progress bar, and those of large pictures.

    engine  "cpu", by default: all kernels; "cuda": those of the scenes, for a GPU; "auto": the one
            of these that is the fastest here

    Raises EngineError if the engine cannot run here, or a kernel cannot be compiled, and InputError
    for an engine that has no kernels.
    """
    row = choose(engine)
    if row.kernels is None:
        raise InputError(f"the engine {row.name!r} has no kernels: choose cpu, cuda or auto")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    compiled = 0
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(text("warm.compiling"), total=None)
        for done, compiled in compile_for_scenes() if row.name == "cuda" else compile_all():
            progress.update(task, completed=done, total=compiled)
        if not precompile.is_ready(precompile.MEANS):
            precompile.compile_kind(precompile.MEANS)
    state = "done" if compiled else "ready"
    say(text(f"warm.{state}.{row.name}", count=compiled, folder=cache_folder()))


def compile_for_scenes() -> Iterator[tuple[int, int]]:
    """Compile what is lacking for the scenes on a GPU; iterate as `compile_all` does."""
    kinds = dict.fromkeys(kinds_of_scenes())
    lacking = [kind for kind in kinds if not precompile.is_ready(kind)]
    paths = dict.fromkeys(path for kind in lacking for path in precompile.paths_of(kind))
    yield from compile_files([path for path in paths if not is_compiled(path)], start_child)


def kinds_of_scenes() -> Iterator[str]:
    """Iterate over the kinds that the scenes need on a GPU; a line names a scene left out."""
    for name, path in scenes().items():
        try:
            session = played(load(path), {}).session
        except ScalarvizError as error:  # such as a package that is missing
            say(text("warm.left_out", scene=name, why=error.lines[0]), file=sys.stderr)
            continue
        yield precompile.kind_of(session, "cuda")


def start_child(paths: Sequence[Path]) -> Any:
    """Return a child process that compiles files of kernels for a GPU."""
    files = os.pathsep.join(map(str, paths))
    return processes.start([*precompile.COMMAND, f"cuda={files}"], stdin=PIPE)
