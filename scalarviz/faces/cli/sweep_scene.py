"""`scalarviz sweep`: train a scene with many settings and seeds; write a table and a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from scalarviz.base.checks import require, shorten
from scalarviz.base.interrupt import INTERRUPTED
from scalarviz.base.messages import say
from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.scene_file import Scene, find, load
from scalarviz.faces.scene_options import (
    RUNNING,
    SHARED,
    Option,
    as_kind,
    kind_of,
    make_show,
    own_options,
)
from scalarviz.files.atomic import as_path, check_place
from scalarviz.stage.show import Show
from scalarviz.sweeps.executors import ADDRESSES
from scalarviz.sweeps.results import CSV
from scalarviz.sweeps.sweep import Sweep, sweep

EXECUTORS = {"here": None, "processes": "processes", "dask": "dask"}


def show_of(path: Path, /, seed: int = 0, **options: Any) -> Show:
    """Return the Show of a scene file, created with the given seed and options."""
    scene = scene_of(path)
    known = RUNNING | options_of(scene)
    usual: dict[str, Any] = {name: option.default for name, option in known.items()}
    return make_show(scene, usual | options | {"seed": seed}, typed=[*options, "seed"])


scene_of = cache(load)  # of all settings and seeds: its code is run once


def options_of(scene: Scene) -> dict[str, Option]:
    """Return the options of a scene that a sweep may vary."""
    return SHARED | own_options(scene)


def sweep_scene(
    name: str,
    grid: Sequence[str],
    seeds: str,
    steps: int,
    every: int | None,
    success: str | None,
    goal: str | None,
    executor: str,
    out: str | None,
) -> int:
    """Run a sweep over a scene, print its table and write its runs; return the exit code.

    Args:
        name: name or path of the scene
        grid: strings such as lr=0.1,0.3
        seeds: number of seeds, starting at 0, or a range such as 5-14
        steps: number of training steps of each run
        every: number of steps between two checks; None means 40 checks
        success: loss below which a run is a success, or None
        goal: quantity by which settings are ranked; None means the default of `sv.sweep`
        executor: here, processes, dask or the address of a scheduler
        out: .csv file for the runs, or None
    """
    path = find(name)
    values = grid_of(grid, options_of(scene_of(path)))
    if out is not None:
        require(
            as_path(out).suffix == CSV,
            f"a sweep is saved as .csv, not as {shorten(out)}",
        )
        check_place(as_path(out))
    if not executor.startswith(ADDRESSES):
        executor = pick(EXECUTORS, executor, "executor")  # type: ignore[assignment]  # None: here
    bound = None if success is None else as_kind(success, float, "success")
    runs = sweep(
        partial(show_of, path),
        values,
        seeds_in(seeds),
        success=bound,
        goal=goal,
        executor=executor,
    )
    stopped = False
    try:
        runs.advance(steps, every)
    except KeyboardInterrupt:
        stopped = True
    report(runs, out, stopped)
    return INTERRUPTED if stopped else int(bool(runs.errors))


def report(runs: Sweep, out: str | None, stopped: bool) -> None:
    """Print the table of a sweep; write the file."""
    say(*repr(runs.table().sorted_by("rank")).splitlines())
    if stopped:
        say(text("sweep.stopped"))
    if out is not None and len(runs.runs()):
        runs.save(out)
        say(plural("sweep.written", len(runs.runs()), file=out))


def grid_of(texts: Sequence[str], known: Mapping[str, Option]) -> dict[str, list[Any]]:
    """Parse strings of the form NAME=VALUE,VALUE; values that contain commas need semicolons."""
    found: dict[str, list[Any]] = {}
    for each in texts:
        name, sign, values = each.partition("=")
        require(
            sign and values,
            f"--grid takes NAME=VALUE,VALUE, not {shorten(each)}: write --grid lr=0.1,0.3",
        )
        option = pick(known, name, "option of the scene")
        require(name not in found, f"--grid has {name} twice: list all its values together")
        parts = values.split(";" if ";" in values else ",")
        found[name] = [as_kind(part.strip(), kind_of(option), name) for part in parts]
        for value in found[name]:
            option.check(value, name)
    return found


def seeds_in(words: str) -> range:
    """Return the seeds given by a text: a number of seeds, or a range such as 5-14."""
    found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", words)
    if found is None:
        raise InputError(f"--seeds takes a number, or a range such as 5-14, not {shorten(words)}")
    first, last = found.groups()
    return range(int(first)) if last is None else range(int(first), int(last) + 1)
