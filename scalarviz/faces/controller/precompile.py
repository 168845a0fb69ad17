"""Compile kernels in other processes before a session needs them.

A process compiles the kinds of kernels that are its arguments:

    python -m scalarviz.faces.controller.precompile means

The kind of a session identifies exactly the kernels that it needs on an engine; see `kernel_units`
and `cuda_file`. The "means" kind contains the kernels of large pictures; a file on disk marks it
as compiled. Compiled kernels load quickly.

During compilation, the thread of an interface must not call a kernel that is not compiled, nor wait
for a session that calls one. So the session is held: it is shown, but commands that compute are
refused.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from itertools import filterfalse
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast, final

import numpy as np

from scalarviz.base import processes
from scalarviz.base.kernel_files import cache_folder, is_compiled
from scalarviz.base.texts import plural
from scalarviz.core.bank import Dtype
from scalarviz.core.layers import Conv2d
from scalarviz.core.trace_program import TraceProgram
from scalarviz.engines.codegen import compiling, cuda_file, kernel_units
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.cpu.table import units_of_training
from scalarviz.engines.every_kernel import count_compiled
from scalarviz.engines.expression.cpu_expression import units_of_expression
from scalarviz.scene.frame_data import Work
from scalarviz.scene.visuals import mip_levels, mip_means
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.network.network import Network
from scalarviz.training.session.replays import all_settings
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


LOOK = 0.5  # seconds between two counts of the compiled kernels


@final
class CompilingThread:
    """Compiles kernels in a thread of this process, if another process cannot do it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._thread = Thread(target=self._compile, daemon=True)
        self._thread.start()

    def _compile(self) -> None:
        with suppress(Exception):  # errors of numba are reported by the session that uses it
            compile_kind(self._kind)

    def poll(self) -> int | None:
        """Return None while compiling and 0 afterwards, like `Popen.poll`."""
        return None if self._thread.is_alive() else 0


class Compilation(NamedTuple):
    """The compilation of a kind of kernels.

    Attributes:
        worker: the process or thread that compiles
        since: when it began
        paths: the files of the kernels, empty for large pictures
        kernels: number of kernels
    """

    worker: Any
    since: float
    paths: Sequence[Path]
    kernels: int


@final
class Compiling:
    """Compiles kinds of kernels, each in a separate process."""

    def __init__(self) -> None:
        self._going: dict[str, Compilation] = {}
        self._done_here: set[str] = set()
        self._over = False
        self._counted = 0, -LOOK  # the kernels compiled so far, and when they were counted

    def lacking(self, kinds: Iterable[str]) -> set[str]:
        """Return which of these kinds are not compiled, and start to compile them."""
        found = {
            kind
            for kind in kinds
            if kind in self._going or not (kind in self._done_here or is_ready(kind))
        }
        for kind in set() if self._over else found - set(self._going):
            paths = paths_of(kind, missing=True)
            try:
                worker: Any = processes.start([*COMMAND, words_for(kind, paths)], stdin=PIPE)
            except OSError:
                worker = CompilingThread(kind)
            kernels = len(paths) or len(KERNELS_OF_MEANS)
            self._going[kind] = Compilation(worker, monotonic(), paths, kernels)
        return found

    def attend(self) -> bool:
        """Return whether a compilation has just ended."""
        ended = [kind for kind, each in self._going.items() if each.worker.poll() is not None]
        for kind in ended:
            done = self._going.pop(kind)
            if isinstance(done.worker, CompilingThread):
                self._done_here.add(kind)
                continue
            processes.end(done.worker)
            if not is_ready(kind):
                self._going[kind] = done._replace(worker=CompilingThread(kind))
        return any(kind not in self._going for kind in ended)

    @property
    def work(self) -> Work | None:
        """The current compilations and their progress, for display in the picture; or None."""
        if not self._going:
            return None
        now, going = monotonic(), self._going.values()
        if now >= self._counted[1] + LOOK:
            done = sum(count_compiled(each.paths, is_compiled) for each in going)
            self._counted = done, now
        total, since = sum(each.kernels for each in going), min(each.since for each in going)
        words = plural("notices.compiling", total, seconds=now - since)
        return Work(words, "", min(self._counted[0] / total, 1.0))

    def stop(self) -> None:
        """Stop all compilations; no more are started afterwards."""
        self._over = True
        for each in self._going.values():
            if not isinstance(each.worker, CompilingThread):
                processes.end(each.worker)
        self._going.clear()


@final
class Warming:
    """Holds a session until its kernels are compiled.

    Attributes:
        held: whether nothing may be computed until the kernels are compiled
    """

    def __init__(self) -> None:
        self.compiling = Compiling()
        self.held = False
        self._session: Session | None = None
        self._large = False  # whether its picture has mip levels

    def take(self, session: Session) -> None:
        """Attach to a session; for the same session, check again which kernels are missing."""
        if session is not self._session:
            self._session = session
            self._large = any(mip_levels.levels_of(plate) for plate in layout_of(session).plates)
        self.held = bool(self.compiling.lacking(kinds_of(session)))
        mip_levels.held = self._large and bool(self.compiling.lacking([MEANS]))

    def attend(self) -> None:
        """Release the session as soon as its kernels are compiled."""
        if self.compiling.attend() and self._session is not None:
            self.take(self._session)

    def stop(self) -> None:
        """Stop all compilations."""
        self.compiling.stop()
        mip_levels.held = False


def kinds_of(session: Session) -> set[str]:
    """Return the kinds of kernels that a session needs, including those for its past steps."""
    timeline = session.timeline
    engines = {timeline.branches[0].frames[0].settings.engine, settings_now(session).engine}
    for branch in timeline.branches:
        engines |= {each.details["name"] for each in branch.journal if each.kind == "engine"}
    return {kind_of(session, engine) for engine in engines} - {""}


# Commands that are refused while the session is held.

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def computes(command: CommandT) -> CommandT:
    """Decorate a command that computes: it is refused while its session waits for kernels."""

    @wraps(command)
    def done(controller: Controller, *given: Any, **named: Any) -> Any:
        if controller.time.waits():
            return None
        try:
            return command(controller, *given, **named)
        finally:
            controller.guide.interrupt()
            controller.look_at_kernels()  # the command may have changed what is needed

    return cast(CommandT, done)


# Kinds of kernels, and how they are compiled.

COMMAND = ("-m", "scalarviz.faces.controller.precompile")
MEANS = "means"
KERNELS_OF_MEANS = [each for each in vars(mip_means).values() if hasattr(each, "py_func")]
LOW_PRIORITY = 10  # priority of a compiling process; 19 is the lowest


# The kernels of a kind, their type, and the module of their files: `kernel_units` or `cuda_file`.
_units: dict[str, tuple[Sequence[Any], Dtype, ModuleType]] = {}


def kind_of(session: Session, engine: str) -> str:
    """Return the kind of kernels that a session needs on an engine; "" for the python engine."""
    timeline, trainer = session.timeline, session.timeline.trainer
    past = [
        settings
        for branch in timeline.branches
        for settings in (
            *all_settings(timeline, branch),
            *(frame.settings for frame in branch.frames),
        )
    ]
    used = [(now.loss, now.optimizer) for now in (*past, trainer.settings)]
    network, batches = session.network, trainer.batches
    program, dtype = network.program, network.bank.dtype
    refused = network.precision.mixed or isinstance(program, TraceProgram)  # on a GPU
    if engine == "python" or (engine == "cuda" and refused):
        return ""
    if engine == "cuda":
        from scalarviz.engines.cuda import launches as cuda  # loads numba's CUDA module

        on_gpu = cuda.units_of_training(program, network.bank, batches, used)
        return remembered(f"cuda-{dtype}", on_gpu, dtype, cuda_file)
    moves = [optimizer for _, optimizer in used]
    losses = list({loss.key: loss for loss, _ in used}.values())
    if isinstance(program, TraceProgram):
        units = units_of_expression(program.trace, dtype, losses, moves)
        return remembered(f"expression-{dtype}", units, dtype)
    units = units_of_training(program, batches, losses, moves, network.precision)
    return remembered(dtype, units, dtype)


def load_kernels(session: Session) -> None:
    """Load the kernels that a session needs on its engine; compile them if they are missing."""
    if kind := kind_of(session, session.engine):
        units, dtype, files = _units[kind]
        files.load(units, dtype)


def remembered(
    family: str, units: Sequence[Any], dtype: Dtype, files: ModuleType = kernel_units
) -> str:
    """Register the kernels of a kind, and return the kind: its family and a digest."""
    texts = dict.fromkeys(files.text_of(unit, dtype) for unit in units)
    kind = f"{family}:{hashlib.sha256(''.join(texts).encode()).hexdigest()[:20]}"
    _units[kind] = units, dtype, files
    return kind


def is_ready(kind: str) -> bool:
    """Return whether all kernels of a kind are compiled for the current formulas."""
    if kind in _units:
        units, dtype, files = _units[kind]
        return all(files.is_ready(unit, dtype) for unit in units)
    try:
        names = mark_of(kind).read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return bool(names) and all(Path(name).exists() for name in names)


def paths_of(kind: str, *, missing: bool = False) -> list[Path]:
    """Return the files with all or the missing kernels of a kind; [] for large pictures."""
    if kind not in _units:
        return []
    units, dtype, files = _units[kind]
    chosen = [unit for unit in units if not (missing and files.is_ready(unit, dtype))]
    return list(dict.fromkeys(files.path_of_unit(unit, dtype) for unit in chosen))


def mark_of(kind: str) -> Path:
    """Return the file that marks a kind as compiled, and lists its compiled files."""
    texts = [inspect.getsource(mip_means), versions(), kept_means()]
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:20]
    return cache_folder() / f"compiled_{kind}_{digest}.txt"


def words_for(kind: str, paths: Iterable[Path]) -> str:
    """Return the command-line argument for another process to compile kernels of a kind."""
    return f"{kind}={os.pathsep.join(map(str, paths))}"


def compile_kind(word: str) -> None:
    """Compile the kernels of a kind; `word` is the result of `words_for`, or only the kind."""
    kind, _, names = word.partition("=")
    if kind == MEANS:
        compile_means()
        compiled = Path(kept_means()).glob("mip_means.*.nbc")
        with suppress(OSError):
            mark_of(kind).write_text("\n".join(map(str, compiled)), encoding="utf-8")
        return
    paths = [Path(name) for name in names.split(os.pathsep)] if names else paths_of(kind)
    for path in filterfalse(is_compiled, paths):
        if kind.startswith("cuda"):
            cuda_file.compile_module(cuda_file.import_file(path))
        else:
            compiling.import_file(path).compiled.compile()


def kept_means() -> str:
    """Return the folder of numba's cache for the module `mip_means`."""
    kernel: Any = mip_means.block_means
    return str(kernel._cache.cache_path)


def compile_means() -> None:
    """Compile the kernels of large pictures by filling the mip levels of two networks."""
    side = 512  # large enough to use all kernels
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
    if hasattr(os, "nice"):  # interactive work has priority
        os.nice(LOW_PRIORITY)
    threading.Thread(target=compiling.end_with_parent, daemon=True).start()
    for each in sys.argv[1:]:
        compile_kind(each)
