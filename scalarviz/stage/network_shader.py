"""NetworkShader: a network as a fragment shader, evaluated on the GPU for many samples."""

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

WAIT = 0.001  # seconds between checks of jobs whose numbers have not arrived


# The tasks of the service, in portions of a few milliseconds, which raise no errors. The context is
# current; None if OpenGL is not available.
ShaderTask = Callable[[HiddenContext | None], Iterator[None]]


@final
class Service:
    """A thread with the hidden OpenGL context of this process; it ends when idle.

    Attributes:
        lack: why OpenGL is not available; "" if available, or before the first request
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
        """Whether it belongs to this process, not to the parent from which this one was forked."""
        return self._process == os.getpid()

    @property
    def stopped(self) -> bool:
        """Whether the thread has ended with unfinished tasks, as at interpreter exit."""
        return self._works and not self._thread.busy

    def put(self, task: ShaderTask, waits: Callable[[], bool] = lambda: False) -> None:
        """Add a task to the end of the queue.

        Args:
            waits: function that returns whether the task must wait for its inputs
        """
        with self._guard:
            self._tasks.append((task, waits))
            if not self._works:
                self._works = True
                self._thread.start(self._work())

    def _take(self) -> ShaderTask | None:
        """Return the first task that can begin; None if all must wait or the queue is empty."""
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
        DisplayError: if this process was forked from one that has used the service.
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
    """The outputs of a network for some samples, possibly still being computed.

    `ready` is true once they have arrived; `read()` and `await` return them and wait if necessary.
    A result can be passed to `request` of another shader, which waits for it.

    Attributes:
        rows: the outputs, one row for each sample, or an error
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
        """Return the outputs like `read`, while other asyncio tasks continue."""
        return awaited(self)


# The task that computes the outputs of a network, by a shader or the cpu engine.

PORTION = 4096  # samples that the cpu evaluates at once
COMPARED = 16  # samples whose outputs are compared once with the reference
WRONG = 1e-3  # relative error above which the GPU is not used
MOST_WEIGHTS = 2**22  # maximum number of weights of a network in a shader


def text_of(net: Network) -> tuple[Shader | None, str]:
    """Return a network as shader code, or None and the reason why it cannot be converted."""
    if net.precision.mixed:
        return None, "a shader does not round numbers as mixed precision does"
    if len(net.bank) > MOST_WEIGHTS:
        return None, f"a shader holds {MOST_WEIGHTS:,} parameters, not {len(net.bank):,}"
    try:
        return Shader(net), ""
    except InputError as error:
        return None, str(error).partition(": export")[0]


class Core:
    """The state of a NetworkShader in the thread of the service, written by that thread only."""

    def __init__(self) -> None:
        self.why = ""
        self.renderer = ""
        self.error = float("nan")
        self.used = False
        self._said = ""
        self._twin: tuple[Program | None, Network | None] = (None, None)
        self._made: tuple[Shader | None, Evaluator | None] = (None, None)

    def free(self) -> None:
        """Free the GPU memory."""
        evaluator = self._made[1]
        self._made = (None, None)
        if evaluator is not None:
            evaluator.release()

    def end(self, context: HiddenContext | None) -> Iterator[None]:
        """Free the GPU memory, as a task."""
        self.free()
        yield

    def evaluate(self, task: Evaluation, context: HiddenContext | None) -> Iterator[None]:
        """Evaluate a network in portions, on the GPU if possible."""
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
        """Evaluate a network with the cpu engine."""
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
        """Log once why the cpu engine is used."""
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
    """The task of evaluating a network for one request.

    Attributes:
        samples: the inputs, or the pending result of an earlier request
        snapshot: the parameters at the time of the request
        rows: the outputs, which are discarded if the ShaderResult is gone
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
        """Return whether parameters or samples have not arrived yet."""
        if self._result() is None:
            return False
        return not (self.snapshot.ready and self.samples.ready)

    def work(self, context: HiddenContext | None) -> Iterator[None]:
        if self._result() is None:
            return
        try:
            yield from self._core.evaluate(self, context)
        except ScalarvizError as error:  # otherwise it would be lost with the thread
            self.rows.set_exception(error)
        except Exception as error:  # the same
            self.rows.set_exception(
                InputError(f"the outputs of a shader could not be computed: {error}")
            )


# The shader.


@answered
def shader(network: Network | Session) -> NetworkShader:
    """Return a network as a fragment shader; called with samples, it returns their outputs.

    The GPU evaluates the code that `network.export("net.glsl")` writes, in a thread with a separate
    OpenGL context; no window is needed. Each call uses the current parameters. `request(X)` does
    not wait for the result. Results have float32 precision; see `NetworkShader`.

    Networks that cannot be converted to a shader, and machines without OpenGL, use the cpu engine;
    a log message gives the reason.

    Args:
        network: a Network; or a Session, whose parameters are read between two training steps

    Raises:
        InputError: for anything else.
        DisplayError: in a process that was forked from one that has used a shader.
    """
    return NetworkShader(network)


@final
class NetworkShader(AbstractContextManager["NetworkShader"]):
    """A network evaluated on the GPU, or by the cpu engine if that is not possible.

    Create one with `sv.shader`, and close it with `close()` or as a context manager. A sample with
    NaN or infinity gives NaN in all outputs.

    Attributes:
        engine: "shader" or "cpu", whichever computes the outputs
        why: reason for using the cpu engine; "" on the GPU
        renderer: name of the OpenGL renderer; "" before the first outputs
        relative_error: largest error of the first samples against float64, relative to their
            largest output; NaN before the first outputs and on the cpu engine
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
            ShapeError: if the shape differs.
            OrderError: after `close`.
        """
        return self.request(x).read()

    def request(self, x: object) -> ShaderResult:
        """Request the outputs for some samples, and return their ShaderResult immediately.

        Args:
            x: shape (inputs,) or (batch, inputs); or the ShaderResult of another shader

        The current parameters are used. Requests are computed in order; a request is skipped if its
        result has been discarded.

        Raises:
            ShapeError: if the shape differs.
            OrderError: after `close`.
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
        """Whether the outputs of the latest request have arrived."""
        return self._newest is not None and self._newest.ready

    def read(self) -> FloatArray:
        """Return the outputs of the latest request; wait for them.

        Raises:
            OrderError: if nothing was requested.
        """
        if self._newest is None:
            raise OrderError("a shader was read before its first request: call request(X)")
        return self._newest.read()

    def close(self) -> None:
        """Free the GPU memory once all requests are computed."""
        self._closed()

    def _shader(self) -> tuple[Shader | None, str]:
        """Return the current network as shader code, or None and the reason for the failure."""
        net = self._network
        if self._text[0] is not net.program:
            self._text = (net.program, *text_of(net))
        return self._text[1:]


def release(thread: Service, core: Core) -> None:
    """Free the GPU memory of a shader after all earlier tasks."""
    if core.used and thread.is_own:
        thread.put(core.end)
