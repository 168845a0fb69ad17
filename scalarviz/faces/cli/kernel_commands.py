"""`scalarviz warm` and `bench`: compile kernels ahead of time, measure steps per second."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from subprocess import PIPE
from time import perf_counter
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from scalarviz.base import processes
from scalarviz.base.checks import require
from scalarviz.base.kernel_files import cache_folder, is_compiled
from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.engines.every_kernel import compile_all, compile_files
from scalarviz.engines.registry import ENGINES, choose
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller import precompile
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import played
from scalarviz.stage.background import Portions
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session


def warm(engine: str = "cpu") -> None:
    """Compile kernels, including the kernels for large pictures, with a progress bar.

    Args:
        engine: "cpu" (default) compiles all kernels; "cuda" compiles the kernels of the scenes
            for a GPU; "auto" chooses the fastest engine on this machine

    Raises:
        EngineError: if the engine cannot run here, or a kernel cannot be compiled.
        InputError: if the engine has no kernels.
    """
    row = choose(engine)
    require(
        row.kernels is not None, f"the {row.name!r} engine has no kernels: choose cpu, cuda or auto"
    )
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
    """Compile the missing GPU kernels of the scenes; yield the progress, as `compile_all` does."""
    lacking = [kind for kind in dict.fromkeys(kinds_of_scenes()) if not precompile.is_ready(kind)]
    paths = dict.fromkeys(path for kind in lacking for path in precompile.paths_of(kind))
    yield from compile_files(
        [path for path in paths if not is_compiled(path)], start_child, is_compiled
    )


def kinds_of_scenes() -> Iterator[str]:
    """Yield the kinds of kernels that the scenes require on a GPU; report each skipped scene."""
    for name, path in scenes().items():
        try:
            session = played(load(path), {}).session
        except ScalarvizError as error:  # such as a missing package
            say(text("warm.left_out", scene=name, why=error.lines[0]), file=sys.stderr)
            continue
        yield precompile.kind_of(session, "cuda")


def start_child(paths: Sequence[Path]) -> Any:
    """Start a child process that compiles files of kernels for a GPU, and return it."""
    words = precompile.words_for("cuda", paths)
    return processes.start([*precompile.COMMAND, words], stdin=PIPE)


# Steps per second of some scenes, on each available engine. The full benchmark, against micrograd
# and PyTorch, is `make bench`.

SCENES = ("rgb", "xor", "circle", "texture")
SECONDS = 1.5  # per scene
ROUNDS = 3  # the fastest counts, since other programs only slow it down
LARGEST = 1_000_000  # maximum weights times samples for the python engine


def measure() -> None:
    """Print a table of steps per second, with a row per scene and a column per engine."""
    console = Console()
    engines = [name for name, row in ENGINES.items() if not row.lack()]
    table = Table(box=box.SIMPLE_HEAD, title=text("bench.title"), title_justify="left")
    for head in ("scene", "weights", "batch"):
        justify: JustifyMethod = "left" if head == "scene" else "right"
        table.add_column(text(f"bench.column.{head}"), justify=justify)
    for engine in engines:
        table.add_column(engine, justify="right")
    for name in SCENES:
        scene = load(find(name))
        session = Show.of(scene(engine="python")).session
        weights, batch = len(session.network.bank), session.trainer.batches.size
        paces = []
        for engine in engines:
            if engine == "python" and weights * batch > LARGEST:
                paces.append(text("bench.slow"))
                continue
            say(text("bench.now", scene=name, engine=engine), file=sys.stderr)
            paces.append(words_for(steps_a_second(Show.of(scene(engine=engine)).session)))
        table.add_row(name, f"{weights:,}", f"{batch:,}", *paces)
    console.print(table)
    for name, row in ENGINES.items():
        if name not in engines:
            say(text("bench.lack", engine=name, lack=row.lack()))


def words_for(pace: float) -> str:
    """Return a speed as text with three significant digits."""
    digits = max(0, 2 - math.floor(math.log10(pace)))
    return f"{round(pace, digits):,.{digits}f}"


def steps_a_second(session: Session) -> float:
    """Return the best steps per second of several rounds, excluding compilation and metrics."""
    session.visits.metrics = None
    portions, best = Portions(session), 0.0
    portions.take(1)
    for _ in range(ROUNDS):
        start, first = perf_counter(), session.step_index
        while perf_counter() - start < SECONDS / ROUNDS:
            portions.take(math.inf)
        best = max(best, (session.step_index - first) / (perf_counter() - start))
    return best
