"""Scalars: losses and other numbers of a training run, reported by its loop or seen in it.

The losses of the loop are seen without its help: while a run is followed, `torch.Tensor.backward`
is wrapped, and the scalar on which it is called is kept, detached.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from itertools import islice
from traceback import walk_stack
from typing import Any, cast, final

import numpy as np

from scalarviz.base.checks import require, shorten
from scalarviz.errors import InputError
from scalarviz.training.follow.record import ENTRY, PAGE, Recorder
from scalarviz.training.follow.sources import number_of

LOSSES = 0.04  # share of a file for losses; when it fills, more steps share a mean
SCALARS = 0.01  # share of a file for other scalars
RAISED = 2.0  # ratio of two learning rates, one after the other, that may be a fault
RECENT = 20  # losses; the next one jumps if it is above them by more than their range
SHORT = 0.002  # seconds between two steps whose losses are seen in backward passes
MOST_SEEN = 256  # losses of a step
MOST_MARKS = 64  # parameters whose gradients say whether a loss is that of the model
CALLERS = 16  # frames up to the one of a GradScaler


def number_in(given: Any, name: str) -> Any:
    """Return a reported number as a float; a tensor on a device is detached and not waited for."""
    with suppress(TypeError, ValueError, RuntimeError, OverflowError):
        if not isinstance(given, (str, bytes)) and math.prod(getattr(given, "shape", ())) == 1:
            if not getattr(given, "is_cpu", True):
                return given.detach()
            return float(given.item() if hasattr(given, "item") else given)
    raise InputError(f"{name} is one number, not {shorten(given)}")


def mean_of(numbers: Iterable[Any]) -> float:
    """Return the mean of the known numbers, waiting for tensors; NaN if all are None."""
    known = [float(each) for each in numbers if each is not None]
    return sum(known) / len(known) if known else math.nan


def is_bad(loss: Any) -> bool:
    """Return whether a number is not finite; False for a tensor on a device."""
    return isinstance(loss, float) and not math.isfinite(loss)


def power_for(used: int, room: float) -> int:
    """Return n so that 16**n numbers share a mean, 0 until half of the room is used."""
    return min(4, int(-math.log2(max(1e-9, 1.0 - used / room))))


@final
class ReportedLosses:
    """Losses that a training loop reports either before or after each step.

    The first report decides which: if steps have already been taken, losses are reported after
    their steps.
    """

    def __init__(self) -> None:
        self.written = self._used = 0  # steps, and bytes of their losses
        self._means: list[float | None] = []  # of steps not yet written
        self._newest: float | None = None  # of written steps
        self.is_bad = False  # whether one was not finite
        self.has_jumped = False  # the latest one
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._done: list[list[Any]] = []  # of each step not yet written
        self._next: list[Any] = []  # of the next step
        self._after: bool | None = None  # whether they follow their steps

    def report(self, loss: Any, *, within: bool, taken: bool) -> None:
        """Store a reported loss, without waiting for a tensor on a device.

        Args:
            within: whether a step is in progress; `taken`: whether any step was taken before
        """
        if within and self._next:  # an optimizer evaluates it again
            return
        loss = number_in(loss, "a loss")
        self.is_bad = self.is_bad or is_bad(loss)
        if self._after is None:
            self._after = taken and not within
            if self._after and self._done:
                self._done[-1] = []  # without a loss that was only seen
        is_late = self._after and self._done and not self._done[-1]
        (self._done[-1] if is_late else self._next).append(loss)

    @property
    def newest(self) -> float | None:
        """The newest written loss, NaN if one was not finite, or None."""
        return math.nan if self.is_bad else self._newest

    def end_step(self, seen: Sequence[Any] = ()) -> None:
        """End a step; its losses are those that were reported, else those that were seen."""
        if seen and not self._next:
            self._next += seen
            self.is_bad = self.is_bad or any(map(is_bad, self._next))
        self._done.append(self._next)
        self._next = []
        latest: Any = next(filter(None, self._done[:-3:-1]), [None])[-1]
        recent = self._recent if isinstance(latest, float) else deque[float]()
        self.has_jumped = bool(recent) and latest > 2.0 * max(recent) - min(recent)
        recent.append(latest)

    def write(self, recorder: Recorder, *, whole: bool) -> None:
        """Write the reported losses to the record, waiting for tensors on a device.

        Args:
            whole: whether to include the last step, whose loss may still be reported
        """
        count = len(self._done) - (not whole and self._after is not False)
        ready, self._done = self._done[:count], self._done[count:]
        if ready:
            self._means += [mean_of(each) if each else None for each in ready]
            self._newest = self._means[-1]
        power = power_for(self._used, LOSSES * recorder.bound)
        for each in [16**n for n in range(power, -1 if whole else power - 1, -1)]:
            count = len(self._means) // each
            if count:
                starts = range(0, count * each, each)
                means = np.array([mean_of(self._means[i : i + each]) for i in starts])
                recorder.append(b"LOSS", PAGE.pack(self.written, each), means)
                del self._means[: count * each]
                self.written, self._used = self.written + count * each, self._used + means.nbytes


@final
class Scalars:
    """Numbers with names and steps, until they are written to the record.

    Attributes:
        names: names of those that the loop reports
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._waiting: dict[str, list[tuple[int, list[Any]]]] = {}
        self._used = 0  # bytes

    def log(self, step: int, scalars: Mapping[str, object]) -> None:
        """Add numbers that a loop reports; raise InputError for anything else, and add nothing."""
        require(scalars, "pass scalars by name, as in run.log(accuracy=0.93)")
        self.add(step, {name: [number_in(each, shorten(name))] for name, each in scalars.items()})
        self.names |= {*scalars}

    def add(self, step: int, numbers: Mapping[str, list[Any]]) -> None:
        """Add numbers by name; several numbers of one name are averaged."""
        for name, each in numbers.items():
            self._waiting.setdefault(name, []).append((step, each))

    def write(self, recorder: Recorder, *, whole: bool) -> None:
        """Write the numbers, waiting for tensors on a device; means if half of the room is used.

        Args:
            whole: whether to include numbers of which more are to share a mean
        """
        room = SCALARS * recorder.bound
        for name, waiting in self._waiting.items():
            each = 16 ** power_for(self._used, room)
            count = len(waiting) if whole else len(waiting) // each * each
            groups = [waiting[i : min(i + each, count)] for i in range(0, count, each)]
            means = [mean_of(x for _, numbers in group for x in numbers) for group in groups]
            steps = [group[-1][0] for group in groups]
            content = json.dumps({"name": name, "steps": steps, "values": means}).encode()
            if steps and self._used + len(content) <= room:
                recorder.append(b"SCAL", content)
                self._used += ENTRY.size + len(content)
            del waiting[:count]


def rates_of(optimizers: Iterable[Any], *, differ: bool) -> dict[str, list[float]]:
    """Return the known learning rates of the parameter groups of optimizers, by name.

    Args:
        differ: whether the groups have differed before, so that each has its own name
    """
    rates = [number_of(group.get("lr")) for each in optimizers for group in each.param_groups]
    if not differ and len({*rates}) == 1:
        return {"lr": rates[:1]} if math.isfinite(rates[0]) else {}
    return {f"lr {i + 1}": [rate] for i, rate in enumerate(rates) if not math.isnan(rate)}


@final
class SeenLosses:
    """Sees the losses of backward passes: wraps `torch.Tensor.backward` until it is closed.

    A loss belongs to the model if its backward pass changes a gradient of the model. If steps are
    shorter than SHORT, the losses of some of them are seen.

    Args:
        tensors: function that returns the parameters of the model
        failed: function that is called with an internal error
        evaluates: function that returns whether an optimizer evaluates the loss within its step
        has_many: function that is called if a step has MOST_SEEN losses

    Attributes:
        is_scaled: whether a GradScaler scales the losses
        is_bad: whether a loss of the next step is not finite
        passes: number of backward passes so far
        reads: whether the loop reports no losses, so that these are read
    """

    def __init__(
        self,
        tensors: Callable[[], Sequence[Any]],
        failed: Callable[[Exception], None],
        evaluates: Callable[[], bool],
        has_many: Callable[[], None],
    ) -> None:
        self.is_scaled = self.is_bad = self._is_closed = False
        self.passes, self.reads = 0, True
        self._tensors, self._failed, self._evaluates = tensors, failed, evaluates
        self._has_many = has_many
        self._seen: list[tuple[Any, Any]] = []  # of the next step, also without a scale
        self._watches: bool | None = None  # in this step
        self._next = 0.0  # time of the next step whose losses are seen
        torch: Any = sys.modules["torch"]
        self._torch, self._wrapped = torch, torch.Tensor.backward

        @wraps(self._wrapped)
        def backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            is_open = not self._is_closed and not torch.compiler.is_compiling()
            self.passes += is_open
            loss, marks = self._loss_of(tensor) if is_open and self.reads else (None, None)
            result = self._wrapped(tensor, *args, **kwargs)
            if loss is not None and marks != self._marks():
                self._seen.append(loss)
                self.is_bad = self.is_bad or is_bad(loss[0])
                if len(self._seen) == MOST_SEEN:
                    self._has_many()
                self._next = time.perf_counter() + SHORT
            return result

        self.backward = cast("Any", backward)
        self.backward.seen_by = self
        torch.Tensor.backward = self.backward

    def close(self) -> None:
        """Restore `torch.Tensor.backward`, unless another program has wrapped it since."""
        self._is_closed = True
        tensor: Any = self._torch.Tensor
        top: SeenLosses | None = self
        while top and top._is_closed and tensor.backward is top.backward:
            tensor.backward = top._wrapped
            top = getattr(tensor.backward, "seen_by", None)

    def _marks(self) -> list[Any]:
        """Return what a backward pass changes: the gradients of the model, and their versions."""
        tensors = self._tensors()
        some = tensors[:: 1 + len(tensors) // MOST_MARKS]
        return [None if x.grad is None else (id(x.grad), x.grad._version) for x in some]

    def _loss_of(self, tensor: Any) -> tuple[Any, Any]:
        """Return a loss, also without a scale, and the gradients before; None if it is not seen."""
        try:
            if self._watches is None:
                self._watches = time.perf_counter() >= self._next
            is_late = len(self._seen) == MOST_SEEN or (self._seen and self._evaluates())
            if (
                self._watches
                and not is_late
                and not self._torch.overrides.has_torch_function((tensor,))  # it is called again
                and tensor.numel() == 1
                and tensor.is_floating_point()
            ):
                loss, scale = number_in(tensor, "a loss"), scale_of(tensor.grad_fn)
                return (loss, loss if scale is None else loss / scale), self._marks()
        except Exception as error:
            self._failed(error)
        return None, None

    def take(self) -> list[Any]:
        """Return the losses of the next step, and forget them."""
        self._watches = None
        if not self._seen:  # at most steps, if they are short
            return []
        losses = [pair[self.is_scaled] for pair in self._seen]
        self._seen, self.is_bad = [], False
        return losses


def scale_of(function: Any) -> Any:
    """Return a factor by which a loss was multiplied, as by a GradScaler, or None."""
    factor = function._saved_other if function and function.name() == "MulBackward0" else None
    # A number of the program is not float32.
    if factor is None or factor.shape or factor.requires_grad or "float32" not in str(factor.dtype):
        return None
    scale = number_in(factor, "a scale")
    return None if isinstance(scale, float) and scale == 0.0 else scale


def is_scaler_stepping() -> bool:
    """Return whether the running step of an optimizer was called by a GradScaler."""
    scaler: Any = getattr(sys.modules["torch"].amp, "GradScaler", None)
    frames = islice(walk_stack(None), CALLERS)
    return scaler is not None and any(x.f_code is scaler.step.__code__ for x, _ in frames)
