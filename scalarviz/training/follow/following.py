"""Following: the training of a model by another program, seen from outside.

Two hooks of PyTorch run around the step of every optimizer. Before it stand the gradients as the
step uses them: accumulated, unscaled, clipped; after it the new weights. Most steps cost a look at
the clock: numbers are copied as often as a share of the time permits.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, Self, final
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import answered, shorten
from scalarviz.base.checks import size as checked_size
from scalarviz.base.messages import inform
from scalarviz.base.processes import let_go, start
from scalarviz.base.progress import has_display
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.record import (
    BEFORE,
    GRADIENT,
    PARTS,
    STEP,
    VALUE,
    Recorder,
    bytes_in,
)
from scalarviz.training.follow.signs import Signs, statistics_of
from scalarviz.training.follow.sources import (
    MOST_EXPLAINED,
    WHOLE,
    ArraySource,
    NetworkSource,
    Numbers,
    Source,
    TorchSource,
    flat_arrays,
    is_module,
    picks_of,
    read_into,
    shape_of_pick,
)
from scalarviz.training.network.network import Network

SIZE = 200_000_000  # bytes of a file
ALONE, WATCHED = 0.01, 0.05  # shares of the time that following may take, with a viewer the second
PICTURES = 30.0  # kept steps a second, at most
FLUSH = 2.0  # seconds after which losses are written
SHOWN = {"auto": None, "window": False, "browser": True}  # whether a viewer is in a browser
LARGEST_PROBE = 100_000  # numbers


@answered
def follow(
    model: object = None,
    path: object = None,
    *,
    show: str | None = "auto",
    probe: object = None,
    size: int = SIZE,
) -> Following:
    """Follow a training that another program does, and show it; its loop stays as it is.

    With a PyTorch module, hooks around the step of every optimizer read what it does to the
    parameters of this module. Arrays of other programs are passed to `step` of the result.

    model  a PyTorch module; a Network that is trained by `train_step` or `step`; None, the default:
           arrays that `step` is given
    path   file of the record, such as "night.sv", for `scalarviz open night.sv` and `sv.load`; one
           of that name is replaced. None, the default: a temporary file
    show   "window", "browser", or "auto", the default: a window, or the address of a page where
           there is no screen; None: no viewer, the training is only recorded
    probe  one sample, an array or a tensor: the viewer computes what the neurons answer to it, on
           its copy of the weights, if the model is an nn.Sequential of modules that scalarviz has
           as layers. None, the default: no answers
    size   bytes of the file, at most; by default 200 MB

    Following takes at most 1 % of the time of the training, 5 % with a viewer, so the number of
    kept steps depends on the model; every reported loss is kept. Of more than 1,000,000 parameters
    a kept step has 10,000, evenly chosen. Not seen are a compiled optimizer.step, optimizers that
    step in backward, and the shards of FSDP; of several processes the first one is followed.

    Returns a Following. Raises InputError for other models and arguments.
    """
    if show is not None:
        pick(SHOWN, show, "show")
    if path is None and show is None:
        raise InputError("with show=None pass the path of a file, such as 'night.sv'")
    made = Following(path_of(path), checked_size(size, "size"), show, probe_of(probe))
    made.follow(model)
    return made


def path_of(path: object) -> str:
    """Return the path of a record; raise InputError for what is none."""
    if path is None:
        return os.path.join(tempfile.mkdtemp(prefix="scalarviz-"), "followed.sv")
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise InputError(f"a path must be a str or a Path, not {shorten(path)}")
    found = os.fsdecode(path)
    if (ending := os.path.splitext(found)[1]) != ".sv":
        raise InputError(f"the record of a followed training is kept as .sv, not as {ending!r}")
    return found


def probe_of(probe: object) -> dict[str, Any] | None:
    """Return a sample as a record has it: its shape, and its numbers."""
    if probe is None:
        return None
    array = flat_arrays({"probe": probe}, "probe")["probe"]
    array = array[0] if array.ndim > 1 and len(array) == 1 else array
    if array.size > LARGEST_PROBE or not np.isfinite(array).all():
        raise InputError(
            f"a probe is one sample of at most {LARGEST_PROBE:,} finite numbers, not {shorten(probe)}"
        )
    return {"shape": array.shape, "numbers": array.ravel().tolist()}


@final
class Following:
    """A training that is followed; made by `sv.follow`.

    `with sv.follow(model) as run:` closes it at the end. An error within it, such as a full disk,
    ends the recording with a sentence, and never the training.

    path   of the record
    steps  number of steps seen
    lack   why the recording ended early; "" if it did not
    """

    def __init__(self, path: str, bound: int, show: str | None, probe: object) -> None:
        self.path, self.steps, self.lack, self.is_closed = path, 0, "", False
        self._bound, self._show, self._probe = bound, show, probe
        self._share = ALONE if show is None else WATCHED
        self._source: Source | None = None
        self._recorder: Recorder | None = None
        self._handles: list[Any] = []
        self._known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # parameters of optimizers
        self._process = os.getpid()
        self._losses: list[list[Any]] = []  # reported for each step that is not written yet
        self._told: list[Any] = []  # those of the coming step
        self._tells_after: bool | None = None  # whether losses are reported after their step
        self._within = self._keeps = self._is_bad = False
        self._written, self._last = 0, -1  # losses; the last kept step
        self._parts = 0  # of a page
        self._newest_loss: float | None = None
        self._closes: Any = None  # the optimizer, if it evaluates the gradients itself
        self._begun = self._next = self._flushed = math.inf
        self._spent = self._price = self._full_price = 0.0
        self._signs = Signs()
        atexit.register(self.close)

    def follow(self, model: object) -> None:
        """Begin to follow a model; raise InputError for one that cannot be followed."""
        if isinstance(model, Network):
            self._source = NetworkSource(model)
            model.follower = self._network_stepped
            return
        if is_module(model):
            self._follow_torch(sys.modules["torch"], model)
        elif model is not None:
            raise InputError(
                f"a PyTorch module or a Network can be followed, not {shorten(model)}: for other "
                "programs write run = sv.follow(), and run.step({'dense/kernel': array}) after "
                "each step"
            )

    def _follow_torch(self, torch: Any, model: Any) -> None:
        hooks: Any = sys.modules.get("torch.optim.optimizer")
        distributed = getattr(torch, "distributed", None)
        if not hasattr(hooks, "register_optimizer_step_post_hook"):
            raise InputError(
                f"PyTorch {torch.__version__} has no hooks around the steps of optimizers: install "
                "PyTorch 2"
            )
        is_one_of = bool(distributed and distributed.is_available() and distributed.is_initialized())
        if is_one_of and (rank := torch.distributed.get_rank()):
            inform(f"the training of process {rank} is not followed: that of process 0 is")
            self.is_closed = True
            return
        self._source = TorchSource(model)
        self._handles = [
            hooks.register_optimizer_step_pre_hook(self._before),
            hooks.register_optimizer_step_post_hook(self._after),
        ]

    # What a loop calls.

    def loss(self, loss: object) -> None:
        """Report the loss of a step, before or after it; this is optional.

        loss  a number, or a tensor; one on a card is not waited for. Of several before one step, as
              with accumulated gradients, the mean is kept
        """
        if self.is_closed or (self._within and self._told):  # as an optimizer evaluates it again
            return
        if getattr(getattr(loss, "device", None), "type", "cpu") == "cpu":
            try:
                found = loss.item() if hasattr(loss, "item") else loss
                found = float(found)  # type: ignore[arg-type]  # or it is refused
            except (TypeError, ValueError, RuntimeError):
                raise InputError(f"a loss is one number, not {shorten(loss)}") from None
            self._is_bad = self._is_bad or not math.isfinite(found)
        else:
            found = loss.detach()  # type: ignore[attr-defined]  # a tensor
        if self._tells_after is None:
            self._tells_after = self.steps > 0 and not self._within
        if self._tells_after and self._losses and not self._losses[-1]:
            self._losses[-1].append(found)
        else:
            self._told.append(found)

    def step(self, arrays: object, loss: object = None, grads: object = None) -> None:
        """Report a step that another program has taken.

        arrays  its weights, arrays by name, such as {"dense/kernel": array}, or such dicts by name
        loss    of the step, a number; None, the default: unknown
        grads   its gradients, by the same names; None, the default: unknown

        Most calls only count the step: arrays are read as often as the time permits.
        """
        begun = time.perf_counter()
        if self._source is None:
            self._source = ArraySource(flat_arrays(arrays, "arrays"))
        source = self._source
        if not isinstance(source, ArraySource):
            raise InputError("the steps of this model are seen anyway: leave out run.step")
        if self.is_closed:
            return
        if loss is not None:
            self.loss(loss)
        if self._wants(begun):
            source.take(flat_arrays(arrays, "arrays"), flat_arrays(grads or {}, "gradients"))
            self._keeps = True
            self._try(self._begin)
        self._end_step(begun)

    def first(self, *conditions: Any) -> int | None:
        """Return the first kept step at which a condition held, as `Session.first` does."""
        found: int | None = self.followed.session.first(*conditions, progress=False)
        return found

    def diagnose(self) -> Any:
        """Return what `sv.diagnose` finds in the steps that were kept so far."""
        from scalarviz.training.diagnosis import diagnose

        return diagnose(self.followed)

    @property
    def followed(self) -> Followed:
        """What was recorded so far, as `sv.load(path)` returns it."""
        self._try(self._flush)
        return Followed(self.path)

    def close(self) -> None:
        """Remove the hooks, and write the newest weights; a viewer stays open."""
        atexit.unregister(self.close)
        if self.is_closed or os.getpid() != self._process:
            return
        self.is_closed = True
        for handle in self._handles:
            handle.remove()
        if isinstance(self._source, NetworkSource):
            self._source.network.follower = None
        if self._recorder is not None:
            self._try(self._end)
            self._recorder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False

    def __repr__(self) -> str:
        kept = len(self._recorder.pages[b"PAGE"].places) if self._recorder else 0
        ends = f"; {self.lack}" if self.lack else "; closed" if self.is_closed else ""
        return (
            f"Following: {self.steps:,} steps, {kept:,} moments of them in {self.path}, "
            f"{self.overhead:.2%} of the time{ends}"
        )

    @property
    def overhead(self) -> float:
        """Share of the time since the first step that following took."""
        passed = time.perf_counter() - self._begun
        return self._spent / passed if passed > 0.0 else 0.0

    # Around a step.

    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Called before the step of any optimizer."""
        begun = time.perf_counter()
        known = self._known.get(optimizer)
        if known is None:
            known = self._known[optimizer] = self._look_at(optimizer)
        if not known or self.is_closed:
            return
        self._within, self._keeps = True, self._wants(begun)
        if self._keeps:
            self._try(self._begin)
            self._try(self._read_before, optimizer, (*args[1:], *kwargs.values()))
        self._spent += time.perf_counter() - begun

    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Called after the step of any optimizer."""
        if self._within:
            self._end_step(time.perf_counter())

    def _network_stepped(self, losses: Sequence[float] | Numbers, steps: int) -> None:
        """Called after steps of a Network."""
        begun = time.perf_counter()
        self._losses += [[each] for each in losses] or [[] for _ in range(steps)]
        self._told = self._losses.pop()
        self.steps += steps - 1
        self._keeps = self._wants(begun)
        if self._keeps:
            self._try(self._begin)
        self._end_step(begun)

    def _look_at(self, optimizer: Any) -> int:
        """Return the number of parameters of an optimizer, or 0 if none is of this model."""
        source = self._source
        assert isinstance(source, TorchSource)
        arrays, count = source.arrays, parameters_of(optimizer)
        if not source.takes(optimizer):
            return 0
        source.used += [each for each in [optimizer] if each not in source.used]
        if self._recorder is not None:
            self._try(self._begin_file, anew=source.arrays != arrays)
        return count

    def _wants(self, now: float) -> bool:
        """Return whether the numbers of the step that begins are kept."""
        if self._recorder is None or self.lack:
            return not self.lack
        if now < self._next and not self._is_bad:
            return False
        is_urgent = self._is_bad and not self._signs.has_seen_nan
        is_due = is_urgent or self._recorder.pages[b"PAGE"].is_due(self.steps + 1)
        return is_due and os.getpid() == self._process  # and no fork of it

    def _begin(self) -> None:
        """At the first step, open the file and the viewer."""
        if self._recorder is None:
            self._begun = self._flushed = time.perf_counter()
            try:
                self._recorder = Recorder(self.path, self._bound)
            except OSError as error:
                raise FileError(f"it cannot be written: {error.strerror}") from error
            self._begin_file(anew=True)
            self._keep_start()
            if self._show is not None:
                show_record(self.path, SHOWN[self._show])

    def _begin_file(self, *, anew: bool) -> None:
        """Write which arrays there are, and make memory for a page if they are new."""
        source, recorder = self._source, self._recorder
        assert source is not None and recorder is not None
        arrays, self._picks = source.arrays, picks_of(source.arrays)
        shapes = [shape_of_pick(a.shape, p) for a, p in zip(arrays, self._picks, strict=True)]
        count, total = sum(map(prod, shapes)), sum(prod(each.shape) for each in arrays)
        explains = source.explains and total <= MOST_EXPLAINED
        parts = [*PARTS, *source.slots()] if explains else [*PARTS[:BEFORE]]
        if anew or len(parts) != self._parts:
            self._parts, self._shapes = len(parts), shapes
            self._numbers = np.zeros((max(BEFORE + 1, len(parts)), count), source.dtype)
            self._marks = np.zeros((2, len(shapes)), np.uint8)
            self._rates = np.full((len(shapes), 3), np.nan)
        header = {
            "title": source.title,
            "dtype": source.dtype,
            "parts": parts,
            "arrays": [vars(each) for each in arrays],
            "picks": self._picks,
            "modules": source.modules,
            "chain": source.is_chain,
            "optimizers": source.optimizers(),
            "probe": self._probe,
        }
        full = total * self._numbers.itemsize if total > count else 0
        recorder.begin(header, sum(map(bytes_in, self._page)), full)

    @property
    def _page(self) -> tuple[Numbers, Numbers, Numbers]:
        """What a page has: rates, the numbers, and of which arrays there are any."""
        return self._rates, self._numbers[: self._parts], self._marks

    def _read(self, part: int, given: Sequence[Any]) -> list[bool]:
        """Copy arrays into a part of the page."""
        return read_into(self._numbers[part], given, self._picks, self._shapes)

    def _keep_start(self) -> None:
        """Keep the weights before the first step, which are known of a module only."""
        source, recorder = self._source, self._recorder
        assert recorder is not None
        if isinstance(source, TorchSource):
            self._marks[0], self._marks[1] = self._read(VALUE, source.values()), 0
            self._numbers[BEFORE:] = self._numbers[VALUE]
            recorder.keep(b"PAGE", 0, *self._page)
            self._keep_full(0)

    def _read_before(self, optimizer: Any, arguments: Sequence[Any]) -> None:
        """Copy what stands before a step: weights, gradients, and the optimizer's numbers."""
        source, closes = self._source, any(map(callable, arguments))
        assert isinstance(source, TorchSource)
        if parameters_of(optimizer) != self._known[optimizer]:
            self._known[optimizer] = self._look_at(optimizer)
        self._read(BEFORE, source.values())
        if not closes:
            self._read_gradients(source, optimizer)
        if self._parts > BEFORE:
            for part, given in enumerate(source.slots().values(), BEFORE + 1):
                self._read(part, given)
        self._rates[:] = source.rates(optimizer)
        self._closes = optimizer if closes else None

    def _read_gradients(self, source: Source, optimizer: Any = None) -> None:
        """Copy the gradients; a fused optimizer gets them scaled, with the scale beside them."""
        self._marks[1] = self._read(GRADIENT, source.gradients())
        scale = getattr(optimizer, "grad_scale", None)
        if scale is not None:
            self._numbers[GRADIENT] /= float(scale)

    def _end_step(self, begun: float) -> None:
        """Count a step; write its numbers if it is kept."""
        self.steps += 1
        self._losses.append(self._told)
        self._told, self._within = [], False
        if not self._keeps:
            if begun > self._flushed + FLUSH:
                self._try(self._flush)
            self._spent += time.perf_counter() - begun
            return
        self._keeps = False
        self._try(self._keep)
        now = time.perf_counter()
        self._spent += now - begun
        self._price = max(now - begun, 0.5 * self._price)
        due = self._begun + (self._spent + 2.0 * self._price) / self._share
        self._next = max(due, now + 1.0 / PICTURES)

    def _keep(self) -> None:
        """Write the page of the step that was taken, and what is noticed in it."""
        source, recorder = self._source, self._recorder
        assert source is not None and recorder is not None
        if not isinstance(source, TorchSource):
            is_known = self._last == self.steps - 1
            self._numbers[BEFORE] = self._numbers[VALUE] if is_known else np.nan
            self._read_gradients(source)
        elif self._closes is not None:
            self._read_gradients(source, self._closes)
        self._marks[0] = self._read(VALUE, source.values())
        self._last = self.steps
        self._flush()
        recorder.keep(b"PAGE", self.steps, *self._page)
        stats = statistics_of(self._numbers, self._shapes, self._marks)
        recorder.append(b"STAT", STEP.pack(self.steps), stats)
        for note in self._signs.noticed(self.steps, source, stats, self._newest_loss):
            recorder.append(b"NOTE", json.dumps(note).encode())
            inform(note["text"])
            if note["kind"] == "nan":
                self._keep_full(self.steps)
        with_full = self._spent + 2.0 * self._full_price
        passed = time.perf_counter() - self._begun
        if recorder.pages[b"FULL"].is_due(self.steps) and with_full < self._share * passed:
            self._keep_full(self.steps)

    def _keep_full(self, step: int) -> None:
        """Write all weights of a model of which a page has chosen ones only."""
        source, recorder = self._source, self._recorder
        assert source is not None and recorder is not None
        if recorder.pages[b"FULL"].most:
            begun, shapes = time.perf_counter(), [each.shape for each in source.arrays]
            numbers = np.zeros(sum(map(prod, shapes)), source.dtype)
            read_into(numbers, source.values(), [WHOLE] * len(shapes), shapes)
            recorder.keep(b"FULL", step, numbers)
            self._full_price = time.perf_counter() - begun

    def _flush(self) -> None:
        """Write the losses that are there; those on a card are waited for here."""
        self._flushed = time.perf_counter()
        if self._recorder is None:
            return
        waits = self._tells_after is not False and not self.is_closed  # the last step may get one
        count = len(self._losses) - waits
        ready, self._losses = self._losses[:count], self._losses[count:]
        if ready:
            means = [sum(map(float, each)) / len(each) if each else math.nan for each in ready]
            self._recorder.append(b"LOSS", STEP.pack(self._written), np.array(means))
            self._written += len(means)
            self._newest_loss = means[-1] if ready[-1] else None

    def _end(self) -> None:
        """Write the newest losses and weights."""
        source, recorder = self._source, self._recorder
        assert source is not None and recorder is not None
        self._flush()
        if self._last != self.steps:
            self._numbers[1:] = 0.0
            self._marks[0], self._marks[1] = self._read(VALUE, source.values()), 0
            recorder.keep(b"PAGE", self.steps, *self._page)
        self._keep_full(self.steps)
        recorder.append(b"DONE")

    def _try(self, do: Callable[..., None], *given: Any, **more: Any) -> None:
        """Do something; an error ends the recording with a sentence, and not the training."""
        if self.lack:
            return
        try:
            do(*given, **more)
        except (OSError, ScalarvizError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self.lack = f"recording ended at step {self.steps:,}: {why}"
            inform(f"{shorten(self.path)}: {self.lack}; the training goes on")


def parameters_of(optimizer: Any) -> int:
    return sum(len(group["params"]) for group in optimizer.param_groups)


def show_record(path: str, in_browser: bool | None) -> None:
    """Show a record that grows in another process, which outlives this one."""
    if in_browser is None:
        in_browser = not has_display()
    words = ["-m", "scalarviz", "open", path, *(["--browser"] if in_browser else [])]
    if hasattr(os, "nice"):
        words = ["-c", f"import os, runpy, sys; os.nice(19); sys.argv[1:] = {words[2:]!r}; "
                 "runpy.run_module('scalarviz', run_name='__main__')"]
    let_go(start(words, stdout=None, stderr=None))
