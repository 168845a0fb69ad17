"""Evaluation: the task to compute the outputs of a network, by a shader or by the cpu engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final
from weakref import ref

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import inform
from scalarviz.core.program import Program
from scalarviz.engines.engine import Snapshot
from scalarviz.engines.reference import program_forward
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.files.shaders.live_shader import LiveShader, live_shader
from scalarviz.pictures.view.shading.context import HiddenContext
from scalarviz.pictures.view.shading.evaluator import Evaluator
from scalarviz.pictures.view.shading.result import ShaderResult
from scalarviz.pictures.view.shading.service import service
from scalarviz.training.network.network import Network
from scalarviz.training.session.threads import check_end

PORTION = 4096  # samples that the cpu evaluates at once
COMPARED = 16  # samples whose outputs are compared with the reference, once
WRONG = 1e-3  # relative error from which on the graphics card is not used
MOST_WEIGHTS = 2**22  # of a network in a shader


def text_of(net: Network) -> tuple[LiveShader | None, str]:
    """Return a network as the text of a shader, or None and why it cannot be one."""
    if net.precision.mixed:
        return None, "a shader does not round numbers as mixed precision does"
    if len(net.bank) > MOST_WEIGHTS:
        return None, f"a shader holds {MOST_WEIGHTS:,} parameters, not {len(net.bank):,}"
    try:
        return live_shader(net), ""
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
        self._made: tuple[LiveShader | None, Evaluator | None] = (None, None)

    def free(self) -> None:
        """Free the memory on the graphics card."""
        evaluator = self._made[1]
        self._made = (None, None)
        if evaluator is not None:
            evaluator.release()

    def evaluate(self, task: Evaluation, context: HiddenContext | None) -> Iterator[None]:
        """Evaluate a network, by the graphics card if possible, in portions."""
        samples = task.rows()
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
            why = self.why = task.lack
        if why:
            found = found.astype(task.network.dtype)
            yield from self._compute(task, samples, unknown, found)
            self._tell(why)
        found[unknown] = np.nan
        task.give(found.astype(task.network.dtype, copy=False))

    def _draw(
        self,
        task: Evaluation,
        context: HiddenContext,
        shader: LiveShader,
        inputs: FloatArray,
        found: FloatArray,
    ) -> Iterator[None]:
        net, (value, state) = task.network, task.numbers()
        known, evaluator = self._made
        if evaluator is None or known is not shader:
            self.free()
            evaluator = Evaluator(context, shader, net.inputs, net.outputs)
            self._made = shader, evaluator
        evaluator.put(np.concatenate([value, state]))
        yield from evaluator.evaluate(inputs, found)
        if known is not shader:
            self.error = error_of(task.program, value, state, inputs, found)
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
        value, state = task.numbers()
        twin.bank.value[:], twin.bank.state[:] = value, state
        for start in range(0, len(samples), PORTION):
            part = slice(start, start + PORTION)
            rows = np.where(unknown[part, np.newaxis], 0.0, samples[part])
            found[part] = twin(rows)
            check_end()
            yield

    def _tell(self, why: str) -> None:
        """Log why the cpu computes, once."""
        if why != self._said:
            self._said = why
            inform(f"sv.shader: the cpu computes this network, since {why}")


def error_of(
    program: Program, value: FloatArray, state: FloatArray, inputs: FloatArray, found: FloatArray
) -> float:
    """Return the largest error of the first samples, relative to their largest output."""
    wanted = program_forward(program, value, state, inputs[:COMPARED])[program.outputs.name]
    known = np.isfinite(wanted) & (np.abs(wanted) < np.finfo(np.float32).max)
    if not known.any():
        return 0.0
    apart = np.abs(found[:COMPARED] - wanted)[known]
    return float(apart.max() / max(np.abs(wanted[known]).max(), np.finfo(np.float32).tiny))


@final
class Evaluation:
    """The task to evaluate a network for one request."""

    def __init__(
        self,
        core: Core,
        network: Network,
        shader: LiveShader | None,
        why: str,
        samples: FloatArray | ShaderResult,
        snapshot: Snapshot,
        result: ref[ShaderResult],
    ) -> None:
        core.used = True
        self._core = core
        self.network, self.program = network, network.program
        self.shader, self.why = shader, why
        self._samples, self._snapshot, self._result = samples, snapshot, result

    @property
    def lack(self) -> str:
        """Why there is no OpenGL here."""
        return service().lack

    @property
    def waits(self) -> bool:
        if self._result() is None:
            return False
        source = self._samples
        return not self._snapshot.ready or (isinstance(source, ShaderResult) and not source.ready)

    def rows(self) -> FloatArray:
        """Return the samples; raise the error of the result that they are."""
        source = self._samples
        return source.taken() if isinstance(source, ShaderResult) else source

    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """Return parameters and state at the time of the request."""
        copy = self._snapshot.read()
        return copy.value, copy.state

    def give(self, found: FloatArray) -> None:
        """Hand over the outputs, if somebody still waits for them."""
        result = self._result()
        if result is not None:
            result.arrive(found)

    def work(self, context: HiddenContext | None) -> Iterator[None]:
        if self._result() is None:
            return
        try:
            yield from self._core.evaluate(self, context)
        except Exception as error:  # else it would be lost with the thread
            result = self._result()
            if result is not None:
                result.arrive(None, as_ours(error))


@final
class Release:
    """The task to free the memory of a shader."""

    waits = False

    def __init__(self, core: Core) -> None:
        self._core = core

    def work(self, context: HiddenContext | None) -> Iterator[None]:
        self._core.free()
        yield


def as_ours(error: Exception) -> ScalarvizError:
    """Return an error of the library for any error on the thread."""
    if isinstance(error, ScalarvizError):
        return error
    return InputError(f"the outputs of a shader could not be computed: {error}")
