"""NetworkShader: a network as a fragment shader, evaluated by the GPU for many samples."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from typing import Any, cast, final
from weakref import finalize, ref

import numpy as np

from scalarviz.base.checks import FloatArray, answered, as_batch, not_copied, require, shorten
from scalarviz.base.messages import inform
from scalarviz.base.processes import awaited
from scalarviz.core.program import Program
from scalarviz.engines.engine import Snapshot, SnapshotValues
from scalarviz.engines.reference import program_forward
from scalarviz.errors import DisplayError, InputError, OrderError, ScalarvizError, ShapeError
from scalarviz.files.shaders.shader import Shader
from scalarviz.scene.offscreen import no_opengl
from scalarviz.stage.shader_evaluator import Evaluator, HiddenContext
from scalarviz.training.network.network import Network
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import Background, check_end

# The one thread that evaluates networks in shaders, in the order of the requests.

WAIT = 0.001  # seconds until it looks again at jobs whose numbers have not arrived


# What the service does, in portions of some milliseconds, without raising an error. The context is
# current; None: there is no OpenGL here.
ShaderTask = Callable[[HiddenContext | None], Iterator[None]]


@final
class Service:
    """The hidden context of this process, and its thread, which ends when nothing is left to do.

    Attributes:
        lack: why there is no OpenGL here; "" before it was asked for, and where there is
    """

    def __init__(self) -> None:
        self.lack = ""
        self._process = os.getpid()
        self.context: HiddenContext | None = None
        self._tasks: list[tuple[ShaderTask, Callable[[], bool]]] = []
        self._guard = threading.Lock()
        self._thread = Background()
        self._works = False

    @property
    def is_own(self) -> bool:
        """Whether it belongs to this process, not to the one that this was forked from."""
        return self._process == os.getpid()

    @property
    def stopped(self) -> bool:
        """Whether the thread has ended with work to do, as at the end of the program."""
        return self._works and not self._thread.busy

    def put(self, task: ShaderTask, waits: Callable[[], bool] = lambda: False) -> None:
        """Have a task done after those that were put before.

        Args:
            waits: returns whether it cannot begin, since it needs what has not arrived yet
        """
        with self._guard:
            self._tasks.append((task, waits))
            if not self._works:
                self._works = True
                self._thread.start(self._work())

    def _take(self) -> ShaderTask | None:
        """Return the first task that can begin; None: all wait, or there is none."""
        with self._guard:
            for i, (task, waits) in enumerate(self._tasks):
                if not waits():
                    del self._tasks[i]
                    return task
        return None

    def _work(self) -> Iterator[float]:
        self._open()
        while True:
            task = self._take()
            if task is not None:
                for _ in task(self.context):
                    yield 0.0
            with self._guard:
                if not self._tasks:
                    self._works = False
                    break
            yield 0.0 if task is not None else WAIT
        if self.context is not None:
            self.context.end()

    def _open(self) -> None:
        try:
            if self.context is not None:
                self.context.begin()
            elif not self.lack:
                self.context = HiddenContext()
        except Exception as error:  # drivers raise errors of any class
            self.context = None
            self.lack = str(error if isinstance(error, DisplayError) else no_opengl(error))


_service: Any = None
_making = threading.Lock()


def service() -> Service:
    """Return the service of this process.

    Raises:
        DisplayError: in a process that was forked from one that has used it.
    """
    global _service
    with _making:
        if _service is None or (_service.context is None and not _service.is_own):
            _service = Service()
    found: Service = _service
    if not found.is_own:
        raise DisplayError(
            "this process was forked from one that has evaluated networks in shaders, and OpenGL "
            'does not work in both: start it with multiprocessing.get_context("spawn")'
        )
    return found


LOOK = 0.1  # seconds between two checks that the thread is alive


@final
class ShaderResult:
    """The outputs of a network for some samples, which may still be under way.

    `ready` says whether they have arrived, `read()` returns them, and waits if necessary, and so
    does `await`. It can be passed to `request` of another shader, which waits for it.

    Attributes:
        rows: what arrives: the outputs, one row for each sample, or an error
    """

    def __init__(self, thread: Service, outputs: int, single: bool) -> None:
        self.outputs = outputs
        self.single = single
        self._thread = thread
        self.rows: Future[FloatArray] = Future()

    __reduce_ex__ = not_copied(
        "the result of a shader, which may not be ready", "keep the result of read()"
    )

    def __repr__(self) -> str:
        state = "ready" if self.ready else "under way"
        return f"ShaderResult of {self.outputs} outputs, {state}"

    @property
    def ready(self) -> bool:
        """Whether `read` returns without waiting."""
        return self.rows.done()

    def read(self) -> FloatArray:
        """Return a copy of the outputs, shape (outputs,) or (batch, outputs); wait for them."""
        while not wait([self.rows], LOOK).done:
            if self._thread.stopped:
                raise OrderError(
                    "the outputs of a shader are not available: this program has ended"
                )
        found = self.rows.result()
        return found[0].copy() if self.single else found.copy()

    def __await__(self) -> Generator[Any, None, FloatArray]:
        """Return the outputs as `read` does, while other tasks of an asyncio loop go on."""
        return awaited(self)


# The task to compute the outputs of a network, by a shader or by the cpu engine.

PORTION = 4096  # samples that the cpu evaluates at once
COMPARED = 16  # samples whose outputs are compared with the reference, once
WRONG = 1e-3  # relative error from which on the graphics card is not used
MOST_WEIGHTS = 2**22  # of a network in a shader


def text_of(net: Network) -> tuple[Shader | None, str]:
    """Return a network as the text of a shader, or None and why it cannot be one."""
    if net.precision.mixed:
        return None, "a shader does not round numbers as mixed precision does"
    if len(net.bank) > MOST_WEIGHTS:
        return None, f"a shader holds {MOST_WEIGHTS:,} parameters, not {len(net.bank):,}"
    try:
        return Shader(net), ""
    except InputError as error:
        return None, str(error).partition(": export")[0]


class Core:
    """What the thread of the service keeps of a NetworkShader; only that thread writes it."""

    def __init__(self) -> None:
        self.why = ""
        self.renderer = ""
        self.error = float("nan")
        self.used = False
        self._said = ""
        self._twin: tuple[Program | None, Network | None] = (None, None)
        self._made: tuple[Shader | None, Evaluator | None] = (None, None)

    def free(self) -> None:
        """Free the memory on the graphics card."""
        evaluator = self._made[1]
        self._made = (None, None)
        if evaluator is not None:
            evaluator.release()

    def end(self, context: HiddenContext | None) -> Iterator[None]:
        """Free the memory, as a task."""
        self.free()
        yield

    def evaluate(self, task: Evaluation, context: HiddenContext | None) -> Iterator[None]:
        """Evaluate a network, by the graphics card if possible, in portions."""
        samples = task.samples.rows.result()
        unknown: FloatArray = np.logical_not(np.isfinite(samples).all(axis=1))
        with np.errstate(over="ignore"):
            inputs = np.where(unknown[:, np.newaxis], 0.0, samples).astype(np.float32)
        found = np.empty((len(samples), task.network.outputs), np.float32)
        why = task.why or self.why
        if not why and context is not None and task.shader is not None:
            try:
                yield from self._draw(task, context, task.shader, inputs, found)
            except ScalarvizError as error:
                self.free()
                why = self.why = str(error)
            else:
                why = self.why
        elif not why:
            why = self.why = service().lack
        if why:
            found = found.astype(task.network.dtype)
            yield from self._compute(task, samples, unknown, found)
            self._tell(why)
        found[unknown] = np.nan
        task.rows.set_result(found.astype(task.network.dtype, copy=False))

    def _draw(
        self,
        task: Evaluation,
        context: HiddenContext,
        shader: Shader,
        inputs: FloatArray,
        found: FloatArray,
    ) -> Iterator[None]:
        net, now = task.network, task.snapshot.read()
        known, evaluator = self._made
        if evaluator is None or known is not shader:
            self.free()
            evaluator = Evaluator(context, shader, net.inputs, net.outputs)
            self._made = shader, evaluator
        evaluator.put(np.concatenate([now.value, now.state]))
        yield from evaluator.evaluate(inputs, found)
        if known is not shader:
            self.error = error_of(task.program, now, inputs, found)
            self.renderer = context.renderer
            if not self.error <= WRONG:
                self.free()
                self.why = (
                    f"{context.renderer} gives outputs with a relative error of {self.error:.1e}"
                )
                self.renderer = ""

    def _compute(
        self, task: Evaluation, samples: FloatArray, unknown: FloatArray, found: FloatArray
    ) -> Iterator[None]:
        """Evaluate a network by the cpu engine."""
        known, twin = self._twin
        if twin is None or known is not task.program:
            twin = task.network.copy().to("cpu")
            self._twin = task.program, twin
        now = task.snapshot.read()
        twin.bank.value[:], twin.bank.state[:] = now.value, now.state
        for start in range(0, len(samples), PORTION):
            part = slice(start, start + PORTION)
            found[part] = twin(np.where(unknown[part, np.newaxis], 0.0, samples[part]))
            check_end()
            yield

    def _tell(self, why: str) -> None:
        """Log why the cpu computes, once."""
        if why != self._said:
            self._said = why
            inform(f"sv.shader: the cpu computes this network, since {why}")


def error_of(program: Program, now: SnapshotValues, inputs: FloatArray, found: FloatArray) -> float:
    """Return the largest error of the first samples, relative to their largest output."""
    values = program_forward(program, now.value, now.state, inputs[:COMPARED])
    wanted = values[program.outputs.name]
    known = np.isfinite(wanted) & (np.abs(wanted) < np.finfo(np.float32).max)
    if not known.any():
        return 0.0
    apart = np.abs(found[:COMPARED] - wanted)[known]
    return float(apart.max() / max(np.abs(wanted[known]).max(), np.finfo(np.float32).tiny))


@final
class Evaluation:
    """The task to evaluate a network for one request.

    Attributes:
        samples: which may be the outputs of an earlier request, and under way
        snapshot: the numbers of the network at the time of the request
        rows: where the outputs arrive; nobody waits for them once the ShaderResult is gone
    """

    def __init__(
        self,
        core: Core,
        network: Network,
        shader: Shader | None,
        why: str,
        samples: ShaderResult,
        snapshot: Snapshot,
        result: ShaderResult,
    ) -> None:
        core.used = True
        self._core = core
        self.network, self.program = network, network.program
        self.shader, self.why = shader, why
        self.samples, self.snapshot = samples, snapshot
        self.rows, self._result = result.rows, ref(result)

    def waits(self) -> bool:
        """Return whether numbers of the network, or the samples, have not arrived yet."""
        if self._result() is None:
            return False
        return not (self.snapshot.ready and self.samples.ready)

    def work(self, context: HiddenContext | None) -> Iterator[None]:
        if self._result() is None:
            return
        try:
            yield from self._core.evaluate(self, context)
        except ScalarvizError as error:  # else it would be lost with the thread
            self.rows.set_exception(error)
        except Exception as error:  # the same
            self.rows.set_exception(
                InputError(f"the outputs of a shader could not be computed: {error}")
            )


# The shader.


@answered
def shader(network: Network | Session) -> NetworkShader:
    """Return a network as a fragment shader: called with samples, it returns their outputs.

    The graphics card evaluates it, by the text that `network.export("net.glsl")` writes, on a
    thread with an OpenGL context of its own, which needs no window. The parameters are those at the
    time of each call. `request(X)` does not wait.

    Args:
        network: a Network; or a Session, whose numbers are read between two steps while it trains

    A network that a shader cannot have is computed by the cpu engine, and a message says why, as
    where there is no OpenGL. Results are those of float32; see `NetworkShader`. Raises InputError
    for anything else, and DisplayError in a process that was forked from one that has used it.
    """
    return NetworkShader(network)


@final
class NetworkShader(AbstractContextManager["NetworkShader"]):
    """A network that the graphics card evaluates, or the cpu engine where it cannot.

    Attributes:
        engine: "shader" or "cpu": what computes
        why: why the cpu computes; "" if it does not
        renderer: name of what draws; "" before the first outputs
        relative_error: largest error of the first samples, compared with float64, relative to their
            largest output; NaN before the first outputs, and on the cpu

    A sample with NaN or infinity gives NaN in all outputs. It is closed by `close()`, or as a
    context manager. `sv.shader` makes one.
    """

    def __init__(self, network: Network | Session) -> None:
        self._shown = network
        require(
            isinstance(self._network, Network),
            f"a shader is made of a Network or a Session of one, not of {shorten(network)}: "
            "write sv.shader(network)",
        )
        self._thread = service()
        self._core = Core()
        self._newest: ShaderResult | None = None
        self._text: tuple[Program | None, Shader | None, str] = (None, None, "")
        self._closed = finalize(self, release, self._thread, self._core)
        self._closed.atexit = False

    __reduce_ex__ = not_copied(
        "a shader, which is in the memory of a graphics card",
        "make another one with sv.shader(network)",
    )

    def __repr__(self) -> str:
        net = self._network
        where = self.renderer or self.engine
        return f"NetworkShader {net.inputs} -> {net.outputs}, {len(net.bank):,} parameters, {where}"

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _network(self) -> Network:
        shown = self._shown
        return cast(Network, shown.network if isinstance(shown, Session) else shown)

    @property
    def engine(self) -> str:
        return "cpu" if self.why else "shader"

    @property
    def why(self) -> str:
        return self._shader()[1] or self._core.why

    @property
    def renderer(self) -> str:
        return self._core.renderer

    @property
    def relative_error(self) -> float:
        return self._core.error

    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, of shape (inputs,) or (batch, inputs); wait for them.

        Raises:
            ShapeError: for another shape, and OrderError after `close`.
        """
        return self.request(x).read()

    def request(self, x: object) -> ShaderResult:
        """Ask for the outputs for some samples, and return their ShaderResult at once.

        Args:
            x: shape (inputs,) or (batch, inputs); or the ShaderResult of another shader

        The parameters are those of now. Requests are computed in their order; one whose result
        nobody keeps is left out. Raises ShapeError for another shape, and OrderError after `close`.
        """
        if not self._closed.alive:
            raise OrderError("this shader was closed: make another one with sv.shader(network)")
        net = self._network
        if isinstance(x, ShaderResult):
            samples = x
            if x.outputs != net.inputs:
                outputs = f"the {x.outputs} outputs of a result"
                raise ShapeError(f"the network takes {net.inputs} inputs, not {outputs}")
        else:
            rows, single = as_batch(
                x, net.inputs, net.CALLED, finite=False, picture=net.input_shape
            )
            samples = ShaderResult(self._thread, net.inputs, single)
            samples.rows.set_result(rows)
        self._thread = service()
        snapshot = self._shown.snapshot()
        snapshot.request()
        result = ShaderResult(self._thread, net.outputs, samples.single)
        self._newest = result
        task = Evaluation(self._core, net, *self._shader(), samples, snapshot, result)
        self._thread.put(task.work, task.waits)
        return result

    @property
    def ready(self) -> bool:
        """Whether the outputs of the newest request have arrived."""
        return self._newest is not None and self._newest.ready

    def read(self) -> FloatArray:
        """Return the outputs of the newest request; wait for them.

        Raises:
            OrderError: if there was none.
        """
        if self._newest is None:
            raise OrderError("a shader was read before its first request: call request(X)")
        return self._newest.read()

    def close(self) -> None:
        """Free its memory on the graphics card, once what was requested is computed."""
        self._closed()

    def _shader(self) -> tuple[Shader | None, str]:
        """Return the text of the network as it is now, or why there is none."""
        net = self._network
        if self._text[0] is not net.program:
            self._text = (net.program, *text_of(net))
        return self._text[1:]


def release(thread: Service, core: Core) -> None:
    """Free what a shader has on the graphics card, after all tasks that were put before."""
    if core.used and thread.is_own:
        thread.put(core.end)
