"""Compile kernels in other processes before a session needs them.

A process compiles the kinds of kernels that are its arguments:

    python -m scalarviz.faces.controller.precompile means

The kind of a session identifies exactly the kernels that it needs on an engine; see `kernel_units`
and `cuda_file`. The "means" kind contains the kernels of large pictures; a file on disk marks it
as compiled. Compiled kernels load quickly.

During compilation, the thread of an interface must not call a kernel that is not compiled, nor wait
for a session that calls one. A small session without steps of a compiled engine continues with the
python engine; the switch is recorded in the journal, so that it is reproducible. Any other session
is held: it is shown, but commands that compute are refused.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from itertools import filterfalse, pairwise
from pathlib import Path
from subprocess import PIPE
from threading import Thread
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar, cast, final

import numpy as np

from scalarviz.base import processes
from scalarviz.base.kernel_files import cache_folder, is_compiled
from scalarviz.base.texts import text
from scalarviz.core.bank import Dtype
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Conv2d
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.trace_program import TraceProgram
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import compiling, cuda_file, kernel_units
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.cpu.table import units_of_training
from scalarviz.engines.expression.cpu_expression import units_of_expression
from scalarviz.scene.visuals import mip_levels, mip_means
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.network.model import Model
from scalarviz.training.network.network import Network
from scalarviz.training.session.actions import Action
from scalarviz.training.session.replays import all_settings
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


SMALL = 3e5  # maximum multiplications per step for replacement by the python engine


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


@final
class Compiling:
    """Compiles kinds of kernels, each in a separate process."""

    def __init__(self) -> None:
        self._going: dict[str, tuple[Any, float]] = {}  # the worker, and its start
        self._done_here: set[str] = set()
        self._over = False

    def lacking(self, kinds: Iterable[str]) -> set[str]:
        """Return which of these kinds are not compiled, and start to compile them."""
        found = {
            kind
            for kind in filter(None, kinds)
            if kind in self._going or not (kind in self._done_here or is_ready(kind))
        }
        for kind in set() if self._over else found - set(self._going):
            try:
                worker: Any = processes.start([*COMMAND, words_for(kind)], stdin=PIPE)
            except OSError:
                worker = CompilingThread(kind)
            self._going[kind] = worker, monotonic()
        return found

    def attend(self) -> bool:
        """Return whether a compilation has just ended."""
        ended = [kind for kind, (worker, _) in self._going.items() if worker.poll() is not None]
        for kind in ended:
            worker, since = self._going.pop(kind)
            if isinstance(worker, CompilingThread):
                self._done_here.add(kind)
                continue
            processes.end(worker)
            if not is_ready(kind):
                self._going[kind] = CompilingThread(kind), since
        return any(kind not in self._going for kind in ended)

    @property
    def said(self) -> str:
        """Text about the current compilations and their duration; "" if nothing is compiled."""
        if not self._going:
            return ""
        names = ", ".join(dict.fromkeys(map(name_of, self._going)))
        seconds = monotonic() - min(since for _, since in self._going.values())
        return text("notices.compiling", names=names, seconds=seconds)

    def stop(self) -> None:
        """Stop all compilations; no more are started afterwards."""
        self._over = True
        for worker, _ in self._going.values():
            if not isinstance(worker, CompilingThread):
                processes.end(worker)
        self._going.clear()


@final
class Warming:
    """Lets a session wait, or use the python engine, until its kernels are compiled.

    Attributes:
        held: whether nothing may be computed until the kernels are compiled
        stood_in: name of the engine that the python engine has replaced; "" if it never has
    """

    def __init__(self) -> None:
        self.compiling = Compiling()
        self.session: Session | None = None
        self.held = False
        self.stood_in = ""
        self._large = False  # whether its picture has mip levels
        self._lacking: set[str] = set()
        self._lacked = False  # whether something was missing and is not yet reported as ready
        self._actions: list[Action] = []  # switches to the python engine

    def take(self, session: Session) -> None:
        """Attach to a session; for the same session, check again which kernels are missing."""
        if session is not self.session:
            self._give_back()
            self.session, self.stood_in = session, ""
            self._actions.clear()
            self._large = any(mip_levels.levels_of(plate) for plate in layout_of(session).plates)
        self._lacking = self.compiling.lacking(kinds_of(session))
        mip_levels.held = self._large and bool(self.compiling.lacking(["means"]))
        computed = {kind_of(session, each) for each in engines_at_work(session.timeline)}
        is_large = session.trainer.products > SMALL
        self.held = bool(self._lacking if is_large else self._lacking & computed)
        self.settle()

    def settle(self, seconds: float = AT_ONCE) -> None:
        """Switch to the python engine if kernels of the current engine are missing.

        If the session is busy for longer than `seconds`, nothing happens until the next call.
        """
        session = self.session
        if session is None or self.held or not self._lacking:
            return
        if kind_of(session, session.engine) not in self._lacking:
            return
        with session.still(seconds) as is_still:
            if is_still:
                self._stand_in(session)

    def _stand_in(self, session: Session) -> None:
        timeline = session.timeline
        with session.doing():
            clock = timeline.clock
            before = timeline.branch.actions_at(clock.place)[clock.actions :]
            if before and before[0] in self._actions:  # at the start, for example
                timeline.go(clock._replace(actions=clock.actions + 1))
                return
            self.stood_in = session.engine
            with timeline.undo_log.off():
                session.to("python")
            self._actions.append(last_change(timeline))

    def attend(self) -> bool:
        """Restore the engine if possible; return True once, when all kernels have become ready."""
        session = self.session
        if session is None:
            return False
        self._lacked |= bool(self._lacking)
        if self.compiling.attend():
            self.take(session)
        if self._lacking or not self._give_back():
            return False
        lacked, self._lacked = self._lacked, False
        return lacked

    def _give_back(self, seconds: float = AT_ONCE) -> bool:
        """Restore the engine that the python engine has replaced, unless the clock is in the past.

        Return False if the session is busy; then the next call tries again.
        """
        session = self.session
        if session is None or session.engine != "python" or not self._actions:
            return True
        with session.still(seconds) as is_still:
            timeline = session.timeline
            now = timeline.branch.end <= timeline.clock and last_change(timeline) in self._actions
            if is_still and now:
                with timeline.undo_log.off():
                    session.to(self.stood_in)
        return is_still

    def stop(self) -> None:
        """Stop all compilations."""
        self.compiling.stop()
        mip_levels.held = False

    def leave(self) -> None:
        """Detach from the session, and restore its engine."""
        self.stop()
        self._give_back(math.inf)
        self.session = None


def kinds_of(session: Session) -> set[str]:
    """Return the kinds of kernels that a session needs, including those for its past steps."""
    timeline = session.timeline
    engines = {first_engine(timeline), settings_now(session).engine}
    for branch in timeline.branches:
        engines |= {change.details["name"] for change in changes(branch.journal)}
    return {kind_of(session, engine) for engine in engines} - {""}


def engines_at_work(timeline: Timeline) -> set[str]:
    """Return the engines used so far, which are needed again to replay past steps."""
    found: set[str] = set()
    for branch in timeline.branches:
        chosen = [(each.place, each.details["name"]) for each in changes(branch.journal)]
        last = branch.end.place
        spans = pairwise([((0, 0), first_engine(timeline)), *chosen, (last, "")])
        found |= {engine for (place, engine), (end, _) in spans if min(end, last) > place}
    return found


def first_engine(timeline: Timeline) -> str:
    """Return the name of the engine with which a session began."""
    return str(timeline.branches[0].frames[0].settings.engine)


def changes(journal: Iterable[Action]) -> list[Action]:
    """Return the actions of a journal that selected an engine."""
    return [action for action in journal if action.kind == "engine"]


def last_change(timeline: Timeline) -> Any:
    """Return the action that selected the engine of the current or the next step, or None."""
    now = timeline.clock.place
    done = [
        each
        for each in changes(timeline.branch.journal)
        if each.place <= now or (each.asked is not None and each.asked <= now)
    ]
    return done[-1] if done else None


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
DTYPES: tuple[Dtype, ...] = ("float32", "float64")
MEANS = "means"
LOW_PRIORITY = 10  # priority of a compiling process; 19 is the lowest


# The kernels of a kind, their type, and the module of their files: `kernel_units` or `cuda_file`.
_units: dict[str, tuple[Sequence[Any], Dtype, ModuleType]] = {}


def name_of(kind: str) -> str:
    """Return the displayed name of a kind of kernels."""
    label, _, dtype = kind.partition(":")[0].rpartition("-")
    if dtype in DTYPES:
        return text(f"compiling.kinds.{label or 'network'}", dtype=dtype)
    return text(f"compiling.{kind}")


def kind_of(session: Session, engine: str) -> str:
    """Return the kind of kernels that a session needs on an engine; "" for the python engine."""
    timeline = session.timeline
    trainer = timeline.trainer
    past = [
        settings
        for branch in timeline.branches
        for settings in (
            *all_settings(timeline, branch),
            *(frame.settings for frame in branch.frames),
        )
    ]
    used = [(now.loss, now.optimizer) for now in (*past, trainer.settings)]
    return kind_of_training(session.network, trainer.batches, used, engine)


def load_kernels(session: Session) -> None:
    """Load the kernels that a session needs on its engine; compile them if they are missing."""
    if kind := kind_of(session, session.engine):
        units, dtype, files = _units[kind]
        files.load(units, dtype)


def kind_of_training(
    network: Model, batches: Batches, used: Sequence[tuple[Loss, Optimizer]], engine: str
) -> str:
    """Return the kind of kernels for training a network on an engine.

    Args:
        network: the network
        batches: the batches of the training
        used: pairs of a loss and an optimizer that are used together
        engine: name of the engine
    """
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


def words_for(kind: str) -> str:
    """Return the command-line argument for another process to compile the kernels of a kind."""
    return f"{kind}={os.pathsep.join(map(str, paths_of(kind, missing=True)))}"


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
