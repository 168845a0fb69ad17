"""`scalarviz warm`: compiles all kernels ahead of time, for a class, a container or CI."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from scalarviz.controller import precompile
from scalarviz.engines.codegen.cache_files import cache_folder
from scalarviz.engines.every_kernel import compile_all
from scalarviz.errors.visible_text import say
from scalarviz.texts import text


def warm() -> None:
    """Compile all kernels of the cpu engine, and those of large pictures, with a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    compiled = 0
    console = Console(file=sys.stderr)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task(text("warm.compiling"), total=None)
        for done, compiled in compile_all():
            progress.update(task, completed=done, total=compiled)
        if not precompile.is_ready(precompile.MEANS):
            precompile.compile_kind(precompile.MEANS)
    say(text("warm.done" if compiled else "warm.ready", count=compiled, folder=cache_folder()))
