"""Compiles kernels in a process of its own before they are needed.

    python -m scalarviz.controller.precompile cuda-float32 means

compiles these kinds and marks them on disk. Compiled kernels load quickly. The kind of a training
on the cpu engine names the kernels that it needs, and no others; see `kernel_units`.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import compile_kernel, cuda_file, kernel_units
from scalarviz.engines.codegen.cache_files import cache_folder, compiled_files, is_compiled
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.unit_source import Unit
from scalarviz.engines.cpu.units import units_of_training
from scalarviz.engines.expression.cpu import units_of_expression
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import ScalarvizError
from scalarviz.files.runs import needs_of_run
from scalarviz.formulas.losses import Loss
from scalarviz.layers import Conv2d, Dense, LayerNorm
from scalarviz.model.bank import Dtype
from scalarviz.model.optimizer import SGD, Optimizer
from scalarviz.model.trace import TraceProgram
from scalarviz.network.base import Model
from scalarviz.network.network import Network
from scalarviz.presenter.scene_layout import layout_of
from scalarviz.session.session import Session
from scalarviz.texts import text
from scalarviz.view.cubes import mip_levels, mip_means

COMMAND = ("-m", "scalarviz.controller.precompile")
CUDA = "scalarviz.engines.cuda.kernels", "scalarviz.engines.cuda.steps"
DTYPES: tuple[Dtype, ...] = ("float32", "float64")
MEANS = "means"
LOW_PRIORITY = 10  # of a process that compiles ahead; 19 is the lowest

_units: dict[str, tuple[list[Unit], Dtype]] = {}  # the kernels of a kind, and their type


def name_of(kind: str) -> str:
    """Return the name of a kind."""
    label, _, dtype = kind.partition(":")[0].rpartition("-")
    if dtype in DTYPES:
        return text(f"compiling.kinds.{label or 'network'}", dtype=dtype)
    return text(f"compiling.{kind}")


def kind_of(session: Session, engine: str) -> str:
    """Return the kind of kernels that a session needs on an engine; "" for python."""
    timeline = session.timeline
    actions = [action for branch in timeline.branches for action in branch.journal]
    given = [each for action in actions for each in action.details.values()]
    frames = [frame for branch in timeline.branches for frame in branch.frames]
    trainer = timeline.trainer
    settings = [trainer.settings, *[frame.settings for frame in frames]]
    used = [*given, *[each for now in settings for each in (now.optimizer, now.loss)]]
    return kind_of_training(session.network, trainer.batches, used, engine)


def kind_of_training(network: Model, batches: Batches, used: Iterable[object], engine: str) -> str:
    """Return the kind for trainings of a network on an engine: `used` are optimizers and losses."""
    program, dtype = network.program, network.bank.dtype
    if engine == "python":
        return ""
    if engine != "cpu":
        # On a GPU an expression has few kernels of its own, and none of a network's.
        return "" if isinstance(program, TraceProgram) else f"{engine}-{dtype}"
    used = list(used)
    moves = [each for each in used if isinstance(each, Optimizer)]
    losses = list({each.key: each for each in used if isinstance(each, Loss)}.values())
    if isinstance(program, TraceProgram):
        return remembered(
            f"expression-{dtype}", units_of_expression(program.trace, dtype, losses, moves), dtype
        )
    units = units_of_training(program, batches, losses, moves, network.precision)
    return remembered(dtype, units, dtype)


def remembered(family: str, units: list[Unit], dtype: Dtype) -> str:
    """Return the kind with these kernels."""
    texts = "".join(kernel_units.text_of(unit, dtype) for unit in units)
    kind = f"{family}:{hashlib.sha256(texts.encode()).hexdigest()[:20]}"
    _units[kind] = units, dtype
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
        units, dtype = _units[kind]
        return all(kernel_units.is_ready(unit, dtype) for unit in units)
    if kind.startswith("cuda") and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return True  # the simulator compiles nothing
    try:
        files = mark_of(kind).read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return bool(files) and all(Path(file).exists() for file in files)


def paths_of(kind: str) -> list[Path]:
    """Return the files of the kernels of a kind."""
    units, dtype = _units[kind]
    return [kernel_units.path_of_unit(unit, dtype) for unit in units]


def templates_of(kind: str) -> list[tuple[str, Any]]:
    """Return the templates of a kind of cuda, with their working type."""
    return [] if kind == MEANS else [(name, kind.rpartition("-")[2]) for name in CUDA]


def mark_of(kind: str) -> Path:
    """Return the file that marks a kind as compiled, and lists its compiled files."""
    texts = [cuda_file.text_of(*template) for template in templates_of(kind)]
    texts = texts or [cuda_file.module_text(mip_means.__name__), versions(), kept_means()]
    texts.append(os.environ.get("NUMBA_CACHE_DIR", ""))
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:20]
    return cache_folder() / f"compiled_{kind}_{digest}.txt"


def words_for(kind: str) -> str:
    """Return the argument for another process, so that it compiles the same kernels."""
    files = paths_of(kind) if kind in _units else []
    files = files or [cuda_file.written(*template) for template in templates_of(kind)]
    return f"{kind}={os.pathsep.join(map(str, files))}"


def compile_kind(word: str) -> None:
    """Compile a kind, from source files of another process if the word names them."""
    kind, _, names = word.partition("=")
    paths = [Path(name) for name in names.split(os.pathsep)] if names else []
    if ":" in kind:
        for path in paths or paths_of(kind):
            if not is_compiled(path):
                compile_kernel.import_file(path).compiled.compile()
        return
    templates = templates_of(kind)
    for path, template in zip(paths, templates, strict=False):
        cuda_file.adopt(path, *template)
    if kind == MEANS:
        compile_means()
        files = list(Path(kept_means()).glob("mip_means.*.nb?"))
    else:
        compile_network(kind.rpartition("-")[2], "cuda")
        files = [file for each in templates for file in compiled_files(cuda_file.written(*each))]
    with suppress(OSError):
        mark_of(kind).write_text("\n".join(map(str, files)), encoding="utf-8")


def kept_means() -> str:
    """Return the folder of numba's cache for the module `mip_means`."""
    kernel: Any = mip_means.block_means
    return str(kernel._cache.cache_path)


def compile_network(dtype: Any, engine: str) -> None:
    """Take steps of each kind, in one go and operation by operation."""
    for batch in (1, 8):
        layers = [Dense(2, 3, "tanh"), LayerNorm(3), Dense(3, 1, "sigmoid")]
        network = Network(layers, dtype=dtype)
        data = [[0.0, 1.0]] * 8, [[1.0]] * 8
        session = Session(network, data, "mse", SGD(0.1), batch=batch, engine=engine)
        session.advance(2)
        session.advance(len(session.operations), "operation")
        network([[0.0, 1.0]] * 200)
    wide = [[0.0] * 64] * 128  # large enough for two cores
    Session(Network([64, 64], dtype=dtype), (wide, wide), "mse", SGD(0.1), engine=engine).advance(1)


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
    threading.Thread(target=compile_kernel.end_with_parent, daemon=True).start()
    for each in sys.argv[1:]:
        compile_kind(each)
