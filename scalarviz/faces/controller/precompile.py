"""Compiles kernels in a process of its own before they are needed.

    python -m scalarviz.faces.controller.precompile means

compiles these kinds. Compiled kernels load quickly. The kind of a training names the kernels that
it needs on an engine, and no others; see `kernel_units` and `cuda_file`. That of large pictures is
marked on disk.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from scalarviz.base.texts import text
from scalarviz.core.bank import Dtype
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Conv2d
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.trace_program import TraceProgram
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import compiling, cuda_file, kernel_units
from scalarviz.engines.codegen.cache_files import cache_folder, is_compiled
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.cpu.table import units_of_training
from scalarviz.engines.expression.cpu_expression import units_of_expression
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import ScalarvizError
from scalarviz.files.runs import needs_of_run
from scalarviz.scene.visuals import mip_levels, mip_means
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.network.model import Model
from scalarviz.training.network.network import Network
from scalarviz.training.session.replays import all_settings
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import Settings

COMMAND = ("-m", "scalarviz.faces.controller.precompile")
DTYPES: tuple[Dtype, ...] = ("float32", "float64")
MEANS = "means"
LOW_PRIORITY = 10  # of a process that compiles ahead; 19 is the lowest


class Files(Protocol):
    """What is asked of `kernel_units` or `cuda_file` for kernels of theirs."""

    def text_of(self, unit: Any, dtype: Dtype) -> str: ...
    def path_of_unit(self, unit: Any, dtype: Dtype) -> Path: ...
    def is_ready(self, unit: Any, dtype: Dtype) -> bool: ...
    def load(self, units: Sequence[Any], dtype: Dtype) -> Any: ...


# The kernels of a kind, their type, and the module that has their files.
_units: dict[str, tuple[Sequence[Any], Dtype, Files]] = {}


def name_of(kind: str) -> str:
    """Return the name of a kind."""
    label, _, dtype = kind.partition(":")[0].rpartition("-")
    if dtype in DTYPES:
        return text(f"compiling.kinds.{label or 'network'}", dtype=dtype)
    return text(f"compiling.{kind}")


def kind_of(session: Session, engine: str) -> str:
    """Return the kind of kernels that a session needs on an engine; "" for python."""
    timeline = session.timeline
    trainer, used = timeline.trainer, list[object]()
    for branch in timeline.branches:
        used += formulas_of(all_settings(timeline, branch))
        used += formulas_of([frame.settings for frame in branch.frames])
    used += formulas_of([trainer.settings])
    return kind_of_training(session.network, trainer.batches, used, engine)


def load_kernels(session: Session) -> None:
    """Load what a session needs on its engine, before its first step; compile what is lacking."""
    if kind := kind_of(session, session.engine):
        units, dtype, files = _units[kind]
        files.load(units, dtype)


def formulas_of(settings: Iterable[Settings]) -> list[object]:
    """Return optimizer and loss of settings, each pair after a None."""
    return [each for now in settings for each in (None, now.optimizer, now.loss)]


def kind_of_training(network: Model, batches: Batches, used: Iterable[object], engine: str) -> str:
    """Return the kind for trainings of a network on an engine.

    used  optimizers and losses in the order in which each takes the place of the one before; None
          where others begin
    """
    program, dtype, used = network.program, network.bank.dtype, list(used)
    refused = network.precision.mixed or isinstance(program, TraceProgram)  # on a GPU
    if engine == "python" or (engine == "cuda" and refused):
        return ""
    if engine == "cuda":
        from scalarviz.engines.cuda import launches as cuda  # loads numba's CUDA module

        on_gpu = cuda.units_of_training(program, network.bank, batches, pairs(used))
        return remembered(f"cuda-{dtype}", on_gpu, dtype, cuda_file)
    moves = [each for each in used if isinstance(each, Optimizer)]
    losses = list({each.key: each for each in used if isinstance(each, Loss)}.values())
    if isinstance(program, TraceProgram):
        units = units_of_expression(program.trace, dtype, losses, moves)
        return remembered(f"expression-{dtype}", units, dtype)
    units = units_of_training(program, batches, losses, moves, network.precision)
    return remembered(dtype, units, dtype)


def pairs(used: Iterable[object]) -> Iterator[tuple[Loss, Optimizer]]:
    """Iterate over the losses and optimizers that are used together."""
    loss, optimizer = None, None
    for each in used:
        if each is None:
            loss, optimizer = None, None
        elif isinstance(each, Loss):
            loss = each
        elif isinstance(each, Optimizer):
            optimizer = each
        if loss is not None and optimizer is not None:
            yield loss, optimizer


def remembered(family: str, units: Sequence[Any], dtype: Dtype, files: Files = kernel_units) -> str:
    """Return the kind with these kernels."""
    texts = dict.fromkeys(files.text_of(unit, dtype) for unit in units)
    kind = f"{family}:{hashlib.sha256(''.join(texts).encode()).hexdigest()[:20]}"
    _units[kind] = units, dtype, files
    return kind


def kinds_of_run(path: object) -> list[str]:
    """Return the kinds that a saved run needs; [] if the file cannot be read."""
    try:
        network, batches, used, engines = needs_of_run(path)
    except (ScalarvizError, OSError):
        return []
    here = {name for name, row in ENGINES.items() if not row.lack()} - {"python"}
    return [kind_of_training(network, batches, used, each) for each in engines & here]


def is_ready(kind: str) -> bool:
    """Return whether a kind is compiled for the current formulas."""
    if kind in _units:
        units, dtype, files = _units[kind]
        return all(files.is_ready(unit, dtype) for unit in units)
    try:
        names = mark_of(kind).read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return bool(names) and all(Path(name).exists() for name in names)


def paths_of(kind: str) -> list[Path]:
    """Return the files of the kernels of a kind; [] for large pictures, which have none."""
    if kind not in _units:
        return []
    units, dtype, files = _units[kind]
    return list(dict.fromkeys(files.path_of_unit(unit, dtype) for unit in units))


def mark_of(kind: str) -> Path:
    """Return the file that marks a kind as compiled, and lists its compiled files."""
    source = inspect.getsource(mip_means)
    texts = [source, versions(), kept_means()]
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:20]
    return cache_folder() / f"compiled_{kind}_{digest}.txt"


def words_for(kind: str) -> str:
    """Return the argument for another process, so that it compiles the same kernels."""
    return f"{kind}={os.pathsep.join(map(str, paths_of(kind)))}"


def compile_kind(word: str) -> None:
    """Compile a kind, from source files of another process if the word names them."""
    kind, _, names = word.partition("=")
    if kind == MEANS:
        compile_means()
        compiled = Path(kept_means()).glob("mip_means.*.nbc")
        with suppress(OSError):
            mark_of(kind).write_text("\n".join(map(str, compiled)), encoding="utf-8")
        return
    paths = [Path(name) for name in names.split(os.pathsep)] if names else paths_of(kind)
    for path in paths:
        if is_compiled(path):
            continue
        if kind.startswith("cuda"):
            cuda_file.compile_module(cuda_file.import_file(path))
        else:
            compiling.import_file(path).compiled.compile()


def kept_means() -> str:
    """Return the folder of numba's cache for the module `mip_means`."""
    kernel: Any = mip_means.block_means
    return str(kernel._cache.cache_path)


def compile_means() -> None:
    """Fill the mip levels of a plate, and of a tiled one."""
    side = 512  # so large that all kernels are used
    wide, pair = Network([side, side]), ([[0.0] * side], [[0.0] * side])
    kernels = Network([Conv2d((16, 4, 4), 16, 3)])
    pictures = [[0.0] * kernels.inputs], [[0.0] * kernels.outputs]
    palette = np.zeros((4, 3), np.float32)
    for network, data in ((wide, pair), (kernels, pictures)):
        numbers = np.zeros(len(network.bank), np.float32)
        for plate in layout_of(Session(network, data, engine="python")).plates:
            if mip_levels.levels_of(plate):
                rows, columns = mip_levels.room_of(plate)
                table = np.zeros((rows, 4 * columns, 4), np.uint8)
                mip_levels.fill(table, plate, numbers, numbers, (1.0, 1.0), palette, 1)


if __name__ == "__main__":
    if hasattr(os, "nice"):  # what the user does meanwhile comes first
        os.nice(LOW_PRIORITY)
    threading.Thread(target=compiling.end_with_parent, daemon=True).start()
    for each in sys.argv[1:]:
        compile_kind(each)
