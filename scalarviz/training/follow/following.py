"""Following: record how another program trains a model, without changing its code.

Two PyTorch hooks run around the step of every optimizer. The first one reads the gradients that the
step uses (accumulated, unscaled, clipped), the second one the new weights. In most steps the hooks
only read the clock; numbers are copied as often as the time budget for recording permits.
"""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from stat import S_ISFIFO, S_ISSOCK
from subprocess import DEVNULL
from traceback import format_exception_only
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Self, final
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import answered, require, shorten, true_or_false
from scalarviz.base.checks import size as checked_size
from scalarviz.base.leaf_calls import show_followed
from scalarviz.base.messages import inform
from scalarviz.base.processes import VIEWER, has_display, let_go, start
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import FileError, InputError, OrderError, ScalarvizError
from scalarviz.training.diagnosis import Diagnosis, diagnose
from scalarviz.training.follow.followed import FOREIGN, Followed, Head
from scalarviz.training.follow.modules import FollowedModel
from scalarviz.training.follow.observer import Observer
from scalarviz.training.follow.probing import Probing, checked_probe
from scalarviz.training.follow.record import BEFORE, LOOKS, PARTS, Numbers, Recorder, is_record
from scalarviz.training.follow.scalars import (
    RAISED,
    ReportedLosses,
    Scalars,
    SeenLosses,
    is_scaler_stepping,
    rates_of,
)
from scalarviz.training.follow.signs import note
from scalarviz.training.follow.snapshot_writer import (
    SnapshotWriter,
    between,
    header_of,
    moment,
    price,
)
from scalarviz.training.follow.sources import (
    ArraySource,
    Source,
    TorchSource,
    chosen,
    flat_arrays,
    is_module,
    number_of,
    numbers_in,
    parameters_of,
)
from scalarviz.training.network.network import Network

if TYPE_CHECKING:
    from scalarviz.training.follow.health import Health

SIZE = 200_000_000  # bytes of a file
ALONE, WATCHED = 0.01, 0.05  # shares of the time spent on following, without and with a viewer
PICTURES, FEW = 30.0, 5.0  # recorded steps a second at most; the second with few cores
STRUCTURE = 0.03  # share of a file for the structure of the model
LONELY = 50  # losses without a step, which are reported
GRACE = 0.02  # seconds of work during which every step is recorded
FIRST = 0.06  # seconds more, most of them in the first seconds of work
# Share of that time for the steps after events, and seconds more, for the first of them.
EVENTS, FIRST_EVENT = 0.2, 0.03
CHECKED = 4  # steps between two checks for frozen parameters
LOOKS_AT_EVENT = 6  # steps; a layer is dead after five
FLUSH = 2.0  # seconds after which losses are written
TICK = 1e-6  # seconds, to avoid 0
ASKED = 0.1  # seconds until the next check whether to record
SEEN = 5e-6  # seconds taken by a step that is not recorded
COLD = 2.0  # slowdown of the training compared with reading, since caches are cold afterwards
GRADIENT_NORM = "gradient norm"  # name of a scalar
SHOWN = {"auto": None, "window": False, "browser": True}  # whether the viewer is in a browser
SEVERAL = "pass one model, or several by name, as in sv.follow(G=netG, D=netD)"
OF_MODEL = "pass the model itself, not its optimizer, parameters, or state_dict"
OF_OTHERS = (
    "for other programs write run = sv.follow(), and run.step({'dense/kernel': array}) after each "
    "step"
)
LARGEST_PROBE = 100_000  # numbers, if the viewer computes its activations
PROBED, PROBE_EVERY = 0.3, 5.0  # share of that time for the probe; seconds between two


@answered
def follow(
    model: object = None,
    path: object = None,
    *,
    show: str | None = "auto",
    probe: object = None,
    size: int = SIZE,
    structure: bool = True,
    **models: object,
) -> Following:
    """Record and show a training run of another program; its training loop stays unchanged.

    With a PyTorch module, hooks around the step of every optimizer read its parameters and
    gradients. Other frameworks pass their arrays to the `step` method of the returned object.

    Args:
        model: a PyTorch module, or a Network trained with `train_step` or `train`. Call `step`
            after each step if a module is trained without an optimizer, or a network with its own
            methods forward, backward and step. None (default) records the arrays passed to `step`
        path: file to record to, such as "night.sv", which `scalarviz open night.sv` and `sv.load`
            read; an existing record is replaced. None (default) uses a temporary file that is
            removed after the program and the viewer have exited
        show: "window", "browser", "auto" or None; "auto" (default) opens a window or, without a
            screen, serves a page and prints its address; None only records
        probe: one sample, for which activations, feature maps and attention are recorded: a
            tensor or an array, a tuple of arguments, or a dict of keyword arguments, such as
            `batch[:1]`; for several models, a dict of them by name. The model runs for it in
            evaluation mode, at most every 5 seconds. None (default) records none
        size: maximum size of the file in bytes; 200 MB by default
        structure: whether to record which modules and functions a PyTorch module calls; if True
            (default), its first forward passes are observed, which takes 2 to 50 ms once
        models: several PyTorch modules instead of `model`, by name, such as G=netG, D=netD

    Recording takes about 1 % of the training time, or 5 % with a viewer and in the first seconds;
    the number of recorded steps depends on the model. The losses of a PyTorch loop are read when it
    calls `backward`; of steps shorter than 2 ms, some are read. Every reported loss is recorded;
    after half a million steps, means of several losses are stored. For models with more than
    1,000,000 parameters, a recorded step contains 10,000 evenly chosen ones. Not supported: a
    compiled optimizer.step, optimizers that step inside backward, and FSDP shards. With several
    processes, only rank 0 is followed. An internal error ends the recording with a message, never
    the training.

    Returns a Following. Raises InputError for an unsupported model or argument, and FileError if
    the folder of `path` does not exist or the existing file is not a record.
    """
    if show is not None:
        pick(SHOWN, show, "show")
    require(not is_module(path), SEVERAL)
    if not (model is None or can_be_followed(model)):
        raise InputError(
            f"a PyTorch module or a Network can be followed, not {shorten(model)}: "
            f"{advice_for(model)}"
        )
    if path is None and show is None:
        raise InputError("with show=None pass the path of a file, such as 'night.sv'")
    if models:
        model = together(model, models)
    probe = None if probe is None else checked_probe(probe, [*models])
    made = Following(path_of(path), checked_size(size, "size"), show, probe, path is None)
    made.follow(model, structure=true_or_false(structure, "structure"))
    return made


def together(model: object, models: Mapping[str, object]) -> Any:
    """Return several PyTorch modules as one; raise InputError for other models."""
    for name, each in models.items():
        require(
            is_module(each),
            f"sv.follow has no argument {name}; several PyTorch modules are passed by name, as in "
            f"sv.follow(G=netG, D=netD), but {name} is {shorten(each)}",
        )
        is_free = name.isidentifier() and not hasattr(sys.modules["torch"].nn.ModuleDict, name)
        require(is_free, f"a model cannot be named {shorten(name)}: choose another name")
    require(model is None, SEVERAL)
    return sys.modules["torch"].nn.ModuleDict(models)


def can_be_followed(model: object) -> bool:
    """Return whether the steps of a model can be observed."""
    return isinstance(model, Network) or is_module(model)


def advice_for(given: Any) -> str:
    """Return what to pass in place of something that is no model."""
    if isinstance(given, type):
        return f"create it first, as in model = {given.__name__}(...)"
    is_group = isinstance(given, (list, tuple, Mapping))
    inner = [*getattr(given, "values", given.__iter__)()] if is_group else []
    if any(map(is_module, inner)):
        return SEVERAL
    if isinstance(given, GeneratorType) or any(hasattr(x, "grad_fn") for x in inner):
        return OF_MODEL
    return OF_MODEL if hasattr(given, "param_groups") else OF_OTHERS


def path_of(path: Any) -> str:
    """Return the path of a record; raise InputError if invalid."""
    if path is None:
        return os.path.join(tempfile.mkdtemp(prefix="scalarviz-"), "followed.sv")
    is_path = isinstance(path, (str, os.PathLike)) and os.fspath(path)
    require(is_path, f"a path must be a str or a Path, not {shorten(path)}")
    found = os.fsdecode(path)
    if (ending := os.path.splitext(found)[1]) != ".sv":
        raise InputError(
            f"the record of a followed training run is saved as .sv, not as {ending!r}"
        )
    if not os.path.isdir(folder := os.path.dirname(found) or "."):
        raise FileError(f"folder not found for the record of a training run: {shorten(folder)}")
    require(
        not os.path.exists(found) or is_record(found) or not os.path.getsize(found),
        f"{shorten(found)} is not the record of a training run and is not replaced: pass "
        "another path, or remove it",
        FileError,
    )
    return found


def sample_of(source: Source, probe: object) -> dict[str, Any] | None:
    """Return a probe that the viewer can compute, as a dict of its shape and numbers, or None."""
    with suppress(ScalarvizError, *FOREIGN):
        if source.is_chain and isinstance(probe, np.ndarray) and probe.size <= LARGEST_PROBE:
            array = probe[0] if probe.ndim > 1 and len(probe) == 1 else probe
            sample = {"shape": array.shape, "numbers": array.ravel().tolist()}
            header = header_of(source, chosen(source.arrays), PARTS[:BEFORE], sample)
            if FollowedModel(Head(json.loads(json.dumps(header)))).computes:
                return sample
    return None


P = ParamSpec("P")


def harmless(
    method: Callable[Concatenate[Following, P], None],
) -> Callable[Concatenate[Following, P], None]:
    """Wrap a method so that its errors end the recording but never the training loop.

    A collection of the garbage of the program, which may take longer than a hundred looks, waits
    until the method has ended: it is no cost of following.
    """

    @wraps(method)
    def call(self: Following, /, *args: P.args, **kwargs: P.kwargs) -> None:
        collects = gc.isenabled()
        gc.disable()
        try:
            method(self, *args, **kwargs)
        except Exception as error:
            self.give_up(error)
        finally:
            if collects:
                gc.enable()

    return call


@final
class Following:
    """The recording of a training run; returned by `sv.follow`.

    `with sv.follow(model) as run:` closes the recording at the end of the block. An internal error,
    such as a full disk, ends the recording with a message, never the training. Only invalid
    arguments of `loss` and `step` raise InputError.

    Attributes:
        path: path of the recorded file
        steps: number of training steps observed so far
        lack: why the recording ended early, or ""
    """

    def __init__(
        self, path: str, bound: int, show: str | None, probe: object, is_temporary: bool
    ) -> None:
        self.path, self.steps, self.lack, self.is_closed = path, 0, "", False
        self._bound, self._show, self._probe = bound, show, probe
        self._probing: Probing | None = None  # if the viewer cannot compute the probe
        self._share = ALONE if show is None else WATCHED
        self._source: Source | None = None
        self._keeper: SnapshotWriter | None = None
        self._handles: list[Any] = []
        self._viewer: Any = None  # its process
        self.is_temporary = is_temporary  # whether the record is removed when unused
        self._network: Network | None = None
        self._observer: Observer | None = None  # of the structure, until it is written
        self._known: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # parameters of optimizers
        self._process = os.getpid()
        self._losses, self._scalars = ReportedLosses(), Scalars()
        self._seen: SeenLosses | None = None
        self._turn: list[Any] = []  # optimizers that have stepped since the last backward pass
        self._passes = 0  # backward passes before the last of them
        self._taken: list[Any] = []  # losses of this step
        self._rates: dict[str, list[float]] = {}  # learning rates at the last look
        self._watched = 0  # the step up to which an event is followed
        self._watching = 0.0  # the part of the seconds spent recording after events
        self._learned = 0  # parameters that get gradients
        self._newest: Any = None  # the optimizer of the last observed step
        self._within = self._keeps = self._has_others = self._has_warned = False
        self._lonely = 0  # losses before the first step
        self._begun, self._flushed = moment(), math.inf  # of the first step
        self._next = self._stepped = 0.0
        self._spent = self._price = 0.0
        self._has_refused = False  # a scalar
        self._looked = np.zeros(2)  # seconds spent recording, and working during it
        atexit.register(self._end)

    def follow(self, model: object, *, structure: bool = False) -> None:
        """Start following a model.

        Args:
            structure: whether to observe the structure of a PyTorch module
        """
        if isinstance(model, Network):
            parts = dict(model.named_parameters())
            arrays, gradients = (
                {name: getattr(each, what) for name, each in parts.items()}
                for what in ("value", "grad")
            )
            self._source = ArraySource(arrays, gradients)
            self._network, model.follower = model, self._network_stepped
        elif is_module(model):
            self._follow_torch(sys.modules["torch"], model)
            if structure and not self.is_closed:
                self._observer = Observer(model)
        if self._source is not None:
            self._announce(self._source, type(model).__name__)

    def _follow_torch(self, torch: Any, model: Any) -> None:
        hooks: Any = sys.modules.get("torch.optim.optimizer")
        require(
            hasattr(hooks, "register_optimizer_step_post_hook"),
            f"PyTorch {torch.__version__} has no optimizer step hooks: install PyTorch 2",
        )
        group: Any = getattr(torch, "distributed", None)
        is_one_of = group and group.is_available() and group.is_initialized()
        if is_one_of and (rank := group.get_rank()):
            inform(f"process {rank} is not followed: only process 0 is")
            self.is_closed = True
            return
        try:
            self._source = TorchSource(model)
        except Exception as error:  # of a module that cannot be read
            self.give_up(error)
            self.is_closed = True
            return
        self._handles = [
            hooks.register_optimizer_step_pre_hook(self._before),
            hooks.register_optimizer_step_post_hook(self._after),
        ]
        if hasattr(getattr(torch, "Tensor", None), "backward"):
            source = self._source
            self._seen = SeenLosses(
                source.learned, self.give_up, lambda: self._within, self._report_lonely
            )

    @harmless
    def _write_structure(self) -> None:
        """Stop observing the structure and write it to the record."""
        found, self._observer = self._observer and self._observer.close(), None
        if found and self._keeper is not None:
            content = zlib.compress(json.dumps(found, default=str).encode())
            if len(content) < STRUCTURE * self._bound:
                self._try(self._keeper.recorder.append, b"TREE", content)

    def _announce(self, source: Source, name: str) -> None:
        """Log the name of the followed model, before the viewer starts."""
        count = numbers_in(each for each in source.arrays if not each.is_buffer)
        then = f"the record is {shorten(self.path)}"
        then = then if self._show is None else "the viewer opens at the first step"
        if source.is_lazy:
            inform(f"following {name}, whose weights get their shapes in the first call; {then}")
        elif count:
            inform(f"following {name}, {count:,} weights; {then}")
        else:
            inform(
                f"{name} has no parameters, so nothing is recorded until it has parameters: put "
                "layers of a list into an nn.ModuleList"
            )

    # Methods called by a training loop.

    def loss(self, loss: object) -> None:
        """Report the loss of a step, either before or after the step; optional.

        Without it, the losses of a PyTorch loop are those on which it calls `backward`.

        Args:
            loss: a number or a tensor; the call does not wait for a tensor on a device. Several
                losses for one step, as in gradient accumulation, are averaged
        """
        if self.is_closed:
            return
        self._report(loss, within=self._within, taken=self.steps > 0)
        self._lonely += not self.steps
        if self._lonely == LONELY:
            self._report_lonely()

    def _report_lonely(self) -> None:
        """Log once why nothing is recorded, if there is no step yet."""
        if not (self.steps or self.lack or self._has_warned):
            self._has_warned = True
            inform(self._why_nothing)

    @property
    def _why_nothing(self) -> str:
        """Why nothing is recorded before the first step, as a sentence."""
        if self._source is None:
            return "no step yet, so nothing is recorded: call run.step(arrays) after each step"
        who = (
            "an optimizer took steps, but of other parameters: follow the model that it trains"
            if self._has_others
            else "no PyTorch optimizer has stepped"
        )
        return (
            f"no step yet of this model, so nothing is recorded: {who}. Without a PyTorch "
            "optimizer, as in Keras or by p.data.add_, call run.step() after each step"
        )

    def _report(self, loss: object, *, within: bool, taken: bool) -> None:
        try:
            self._losses.report(loss, within=within, taken=taken)
            if self._seen is not None and self._seen.reads:
                self._seen.reads = False
                self._seen.take()
        except InputError:
            raise
        except Exception as error:
            self.give_up(error)

    def _see_no_more(self) -> None:
        seen, self._seen = self._seen, None
        if seen is not None:
            seen.close()

    def log(self, /, *unnamed: object, **scalars: object) -> None:
        """Record scalars of the present step, as in `run.log(accuracy=0.93, val_loss=0.4)`.

        Args:
            scalars: numbers or tensors with one number, by name; they may be NaN or infinite. The
                call does not wait for a tensor on a device. When the file fills, several numbers
                share a mean

        `night.scalars` contains them. A call with anything else, such as None, records nothing, and
        one message says so; the training continues.
        """
        try:
            if not self.is_closed:
                self._scalars.log(self.steps, {} if unnamed else scalars)
        except InputError as error:
            if not self._has_refused:
                inform(f"run.log: {error}; the call records nothing")
            self._has_refused = True

    def step(self, arrays: object = None, loss: object = None, grads: object = None) -> None:
        """Report a step that no hook observes, such as a step of JAX or `Network.step`.

        Args:
            arrays: weights after the step, a dict of arrays such as {"dense/kernel": array}, which
                may be nested; not needed for networks and modules
            loss: loss of the step; None (default) means unknown
            grads: gradients with the same names as `arrays`; None (default) means unknown

        Most calls only count the step; arrays are copied as often as the time budget for recording
        permits.
        """
        begun = self._moment()
        if self.is_closed:
            return
        if self._source is None:
            self._source = ArraySource(flat_arrays(arrays, "arrays"), {})
        source = self._source
        require(
            not source.used,
            "the steps of this model are recorded automatically: leave out run.step",
        )
        self._keeps = self._wants(begun[0])
        if isinstance(source, TorchSource):
            source.explains = False
            if self._keeps:
                self._try(self._look_at_model, source)
        elif self._keeps and self._network is None:
            source.take(flat_arrays(arrays, "arrays"), flat_arrays(grads or {}, "gradients"))
        if loss is not None:
            self._report(loss, within=True, taken=True)
        self._end_losses()
        self._end_step(begun)

    def first(self, *conditions: Any) -> int | None:
        """Return the first recorded step at which a condition held; see `Session.first`."""
        return self.followed.first(*conditions)

    @property
    def notes(self) -> list[str]:
        """Automatic observations so far, such as the first NaN, as sentences."""
        return [] if self._keeper is None else self.followed.notes

    def diagnose(self) -> Diagnosis:
        """Run `sv.diagnose` on the steps recorded so far."""
        return diagnose(self.followed)

    def health(self) -> Health:
        """Return the health of each module so far; before the first step, it says so."""
        if self._keeper is None:
            from scalarviz.training.follow.health import nothing_yet

            return nothing_yet(self.lack or self._why_nothing)
        return self.followed.health()

    @property
    def followed(self) -> Followed:
        """The record so far, as returned by `sv.load(path)`.

        Raises:
            OrderError: before the first step.
        """
        if self._keeper is None:
            raise OrderError("no step yet, so nothing is recorded: train first")
        self._finish()
        self._try(self._flush)
        if not self._within and not self.is_closed:
            self._try(self._look, self._keeper.look)
        return Followed(self.path)

    @harmless
    def close(self) -> None:
        """Remove the hooks, and write the latest weights; a viewer stays open."""
        if not self.is_temporary:
            atexit.unregister(self._end)
        if self.is_closed or os.getpid() != self._process:
            return
        self._finish()
        self.is_closed, self._newest = True, None
        self._see_no_more()
        for handle in self._handles:
            handle.remove()
        if self._network is not None:
            self._network.follower = None
        self._write_structure()
        if self._keeper is not None:
            self._try(self._run_probe, self._keeper, last=True)
            self._try(self._flush)
            self._try(self._look, self._keeper.end)
            self._keeper.recorder.close()
        else:
            self._report_lonely()

    def _look(self, do: Callable[[int, float | None], None]) -> None:
        """Call a function that records the latest weights, with the step and the latest loss."""
        self._look_at_model(self._source)
        do(self.steps, self._losses.newest)

    @harmless
    def _end(self) -> None:
        """Close when the program exits; remove a temporary record unless a viewer shows it."""
        self.close()
        is_unseen = self._viewer is None or self._viewer.poll() is not None
        if self.is_temporary and is_unseen and os.getpid() == self._process:
            shutil.rmtree(os.path.dirname(self.path), ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> Literal[False]:
        self.close()
        return False

    def _ipython_display_(self) -> None:
        """Show a live page if this is the last value of a notebook cell."""
        self._share = WATCHED
        show_followed(self)

    def __repr__(self) -> str:
        kept = len(self._keeper.recorder.pages[b"PAGE"].places) if self._keeper else 0
        ends = f"; {self.lack}" if self.lack else "; closed" if self.is_closed else ""
        return (
            f"Following: {self.steps:,} steps, {kept:,} moments of them in {self.path}, "
            f"{self.overhead:.2%} of the time{ends}"
        )

    @property
    def overhead(self) -> float:
        """Fraction of the training time spent on recording, not counting waits for a CPU core."""
        taken = self._spent + SEEN * self.steps
        taken += self._probing.spent if self._probing is not None else 0.0
        return min(1.0, taken / self._alone(moment())) if self._keeper is not None else 0.0

    def _alone(self, now: tuple[float, float]) -> float:
        """Return the seconds since the first step, not counting waits for a CPU core.

        If other processes occupy all cores, the training is slowed down by the same factor as the
        recording. Any remaining time counts as sleep of the training, for example while it waits
        for data.
        """
        passed, worked = between(self._begun, now)
        slower = self._looked[0] / max(self._looked[1], TICK)
        asleep = max(0.0, passed - worked * max(1.0, float(slower)))
        return max(TICK, worked + asleep)

    def _spend(self, begun: tuple[float, float]) -> float:
        """Add the time since `begun` to the total recording time; return its cost in seconds."""
        passed, worked = between(begun, moment())
        self._looked += passed, worked
        cost = COLD * price(passed, worked)
        self._spent += cost
        return cost

    # Around a step.

    @harmless
    def _before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Hook called before a step of any optimizer."""
        self._stepped = time.perf_counter()
        if optimizer is not self._newest:  # first, since this runs at each step
            known = self._known.get(optimizer)
            if known is None:
                self._known[optimizer] = False  # if it cannot be read
                known = self._known[optimizer] = self._look_at(optimizer)
            if not known or self.is_closed:
                self._has_others = True
                if self._seen:
                    self._seen.take()  # it was the loss of another model
                return
            self._newest = optimizer
        self._within = True
        self._watch(optimizer)
        closes = any(map(callable, (*args[1:], *kwargs.values())))
        is_same = self._turn and self._seen is not None and self._seen.passes == self._passes
        goes_on = bool(is_same) and not closes and all(x is not optimizer for x in self._turn)
        if not goes_on:
            self._finish()
            self._keeps = self._wants(time.perf_counter())
        if self._keeps:
            keeper, begun = self._begin(), moment()  # opening the file is no part of a look
            self._known[optimizer] = self._look_at(optimizer)
            keeper.read_before(optimizer, closes=closes, goes_on=goes_on)
            self._spend(begun)

    def _watch(self, optimizer: Any) -> None:
        """Let the next steps be recorded if a rate has risen, or parameters were frozen."""
        source, rate = self._source, optimizer.param_groups[0].get("lr")
        assert isinstance(source, TorchSource)
        learned = self._learned if self.steps % CHECKED else len(source.learned())
        if 0 < self._learned != learned or (
            type(rate) is float and rate > RAISED * max(self._rates.values(), default=[rate])[0]
        ):
            self._watched = self.steps + LOOKS_AT_EVENT
        self._learned = learned

    @harmless
    def _after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Hook called after a step of any optimizer."""
        if self._within:
            if not self._turn:
                self._end_losses()
                self.steps += 1
            self._within = False
            self._turn.append(optimizer)
            if not self._may_go_on():
                self._finish()

    def _may_go_on(self) -> bool:
        """Return whether another optimizer may step before the next backward pass."""
        source = self._source
        if self._seen is None or not self._seen.passes or not isinstance(source, TorchSource):
            return False
        self._passes = self._seen.passes
        if self.steps == 1:  # others may still be unknown
            known = {id(x) for each in source.used for x in parameters_of(each)}
            return any(x.grad is not None and id(x) not in known for x in source.learned())
        return len(self._turn) < len(source.used)

    @harmless
    def _finish(self) -> None:
        """End a step, after all optimizers that use its gradients; write it if it is due."""
        turn, self._turn = self._turn, []
        used = self._source.used if turn and self._source else ()
        if len(turn) == 1 < len(used) and self._taken:
            number = next(i for i, each in enumerate(used, 1) if each is turn[0])
            self._scalars.add(self.steps, {f"loss {number}": self._taken})
        if turn and (self._keeps or self._observer or self._stepped > self._flushed + FLUSH):
            self._write_step(moment())

    def _end_losses(self) -> None:
        """End the losses of a step; without a reported one, its backward passes have them."""
        self._taken = self._seen.take() if self._seen else []
        self._losses.end_step(self._taken)

    @harmless
    def _network_stepped(self, losses: Numbers) -> None:
        """Hook called with the losses of completed Network steps; may record the last step."""
        begun = self._moment()
        for loss in losses:
            self._losses.report(loss, within=True, taken=True)
            self._losses.end_step()
        self.steps += len(losses) - 1
        self._keeps = self._wants(begun[0])
        self._end_step(begun)

    def _look_at(self, optimizer: Any) -> bool:
        """Return whether an optimizer updates this model; log an unknown rate the first time."""
        source = self._source
        assert isinstance(source, TorchSource)
        self._look_at_model(source)
        if self._seen:
            self._seen.is_scaled = self._seen.is_scaled or is_scaler_stepping()
        if source.takes(optimizer) and not any(each is optimizer for each in source.used):
            source.used.append(optimizer)
            rates = [each.get("lr") for each in optimizer.param_groups]
            if unknown := [rate for rate in rates if math.isnan(number_of(rate))]:
                inform(
                    f"the rate of {type(optimizer).__name__} is unknown, since its lr is "
                    f"{shorten(unknown[0])}: steps are recorded without a rate"
                )
            if self._keeper is not None:
                self._try(self._keeper.begin, anew=False)
        return source.takes(optimizer)

    def _look_at_model(self, source: Source | None) -> None:
        """Read the parameters again if they have changed since the last time."""
        if not isinstance(source, TorchSource):
            return
        arrays, names = source.arrays, source.look()
        if self._keeper and arrays != source.arrays:
            self._try(self._keeper.begin, anew=True)
        if self._keeper and names:
            words = (
                "parameters were added, removed or replaced: "
                f"{', '.join(names[:3])}{', ...' * (len(names) > 3)}; the record continues with "
                "the current ones"
            )
            self._try(self._keeper.note, note("exchanged", self.steps, names[0], words))

    def _moment(self) -> tuple[float, float]:
        """Return wall time and CPU time; the CPU time is 0 unless recording is due."""
        now = time.perf_counter()
        return (now, 0.0) if now < self._next else moment()

    def _wants(self, now: float) -> bool:
        """Return whether to record the step that is about to begin."""
        keeper = self._keeper
        if self._losses.has_jumped:
            self._watched = self.steps + LOOKS_AT_EVENT
        is_bad = self._losses.is_bad or (self._seen is not None and self._seen.is_bad)
        is_event = is_bad or self.steps < self._watched
        if self.lack or (now < self._next and not is_event) or os.getpid() != self._process:
            return False  # the last one in a fork of it
        if keeper is None or (is_bad and not keeper.signs.has_seen_nan):
            return True
        return keeper.is_due(self.steps + 1, is_event) and self._can_afford(is_event)

    def _can_afford(self, is_event: bool) -> bool:
        """Return whether the time budget allows two more recordings; if not, check again later.

        Args:
            is_event: whether the step is one of the first after an event, which have their own part
                of the time
        """
        if self._spent + self._price < GRACE:
            return True
        now = moment()
        alone = self._alone(now)
        share = max(self._share, min(WATCHED, self._share + FIRST / (1.0 + alone)))
        room = max(0.25 * share * alone, share * alone - SEEN * self.steps)
        if is_event:
            return self._watching + self._price <= EVENTS * room + FIRST_EVENT
        if self._spent - self._watching + 2.0 * self._price <= (1.0 - EVENTS) * room:
            return True
        self._next = now[0] + ASKED
        return False

    def _begin(self) -> SnapshotWriter:
        """Return the writer; at the first call, open the file and start the viewer."""
        if self._keeper is None:
            assert self._source is not None
            self._begun = moment()
            self._flushed = self._begun[0]
            sample = sample_of(self._source, self._probe)
            model, looks = getattr(self._source, "model", None), 0.0
            if self._probe is not None and sample is None and model is not None:
                self._probing, looks = Probing(model, self._probe), LOOKS * self._bound
                self._share *= 1.0 - PROBED
            recorder = Recorder(self.path, self._bound, looks)
            if recorder.path != self.path:
                words = f"{shorten(self.path)} is the record of another run that is not closed"
                inform(f"{words}: this one is recorded to {shorten(recorder.path)}")
            self.path = recorder.path
            self._keeper = SnapshotWriter(self._source, recorder, sample)
            if self._show is not None:
                self._viewer = show_record(
                    self.path, SHOWN[self._show], self._source.is_crowded, self.is_temporary
                )
        return self._keeper

    @harmless
    def _end_step(self, begun: tuple[float, float]) -> None:
        """Count a finished step, and write it if it is due."""
        self.steps, self._within = self.steps + 1, False
        self._write_step(begun)

    @harmless
    def _write_step(self, begun: tuple[float, float]) -> None:
        """Write the numbers of a finished step if it is to be recorded."""
        keeps, self._keeps = self._keeps, False
        if keeps:
            keeper = self._begin()
            self._rates = rates_of(keeper.source.used, differ=len(self._rates) > 1)
            if "lr" not in self._scalars.names:
                self._scalars.add(self.steps, self._rates)
            self._flush()
            urgent = self._losses.is_bad and not keeper.signs.has_seen_nan
            keeper.keep(self.steps, self._losses.newest, urgent=urgent)
            if keeper.norm is not None and GRADIENT_NORM not in self._scalars.names:
                self._scalars.add(self.steps, {GRADIENT_NORM: [keeper.norm]})
            keeper.keep_full(self.steps, self._share * self._alone(moment()) - self._spent)
            self._price = max(cost := self._spend(begun), 0.5 * self._price)
            self._watching += cost * (self.steps <= self._watched)
            is_calm = self._show is not None and keeper.source.is_crowded
            if self._spent + self._price >= GRACE:
                self._next = time.perf_counter() + 1.0 / (FEW if is_calm else PICTURES)
            self._run_probe(keeper)
        elif begun[0] > self._flushed + FLUSH:
            self._try(self._flush)
            self._spend(begun)
        if self._observer is not None and self._observer.is_done(self.steps):
            self._write_structure()

    def _run_probe(self, keeper: SnapshotWriter, *, last: bool = False) -> None:
        """Record what the model computes for the probe, if due; an error ends this with a note.

        Args:
            last: whether this is the last step, which has a probe in any case
        """
        probing, pages, begun = self._probing, keeper.recorder.pages[b"LOOK"], moment()
        if probing is None or self.steps in pages.places:
            return
        room = PROBED / (1.0 - PROBED) * self._share * self._alone(begun)
        is_affordable = begun[0] >= probing.next and probing.spent + probing.price <= room
        if not last and not (is_affordable and pages.is_due(self.steps)):
            return
        try:
            keeper.recorder.look(self.steps, *probing.take())
        except Exception as error:
            self._probing = None
            words = f"the model is not run for the probe: {reason(error).splitlines()[0]}"
            keeper.note(note("probe", self.steps, "", words))
        probing.price = self._spend(begun)
        self._spent -= probing.price  # it has its own part of the time
        probing.spent += probing.price
        probing.next = time.perf_counter() + PROBE_EVERY

    def _flush(self) -> None:
        self._flushed = time.perf_counter()
        if self._keeper is not None:
            self._keeper.recorder.check()
            self._losses.write(self._keeper.recorder, whole=self.is_closed)
            self._scalars.write(self._keeper.recorder, whole=self.is_closed)
        if code := self._viewer and self._viewer.poll():
            self._viewer = None
            ended = f"was killed by signal {-code}" if code < 0 else f"ended with the code {code}"
            inform(
                f"the viewer {ended}; the training continues and is recorded: "
                f"scalarviz open {shorten(self.path)} shows it again"
            )

    @harmless
    def _try(self, do: Callable[..., object], *given: Any, **more: Any) -> None:
        """Call a function that writes to the record, unless the recording has ended."""
        if not self.lack and os.getpid() == self._process:  # a fork shares the file
            do(*given, **more)

    def give_up(self, error: Exception) -> None:
        """End the recording with a message; the training continues."""
        self._keeps = False
        with suppress(Exception):
            self._see_no_more()
        if self.lack:
            return
        self.lack = f"recording ended at step {self.steps:,}: {reason(error)}"
        with suppress(Exception):  # of a handler of the program
            inform(f"{shorten(self.path)}: {self.lack}; the training continues")


def reason(error: Exception) -> str:
    """Return an error as the end of a sentence."""
    if isinstance(error, ScalarvizError):
        return str(error)
    return getattr(error, "strerror", None) or format_exception_only(error)[-1].strip()


def show_record(path: str, in_browser: bool | None, calm: bool, is_temporary: bool) -> Any:
    """Show a growing record in a viewer process that outlives this one; return that process.

    Args:
        in_browser: whether to show it in a browser; None means only if there is no screen
        calm: whether to skip animations between recorded moments
        is_temporary: whether the viewer removes the record when it exits after this process
    """
    browser = not has_display() if in_browser is None else in_browser
    words = ["open", path, *["--browser"] * browser, *["--reduced-motion"] * calm]
    program = (
        "import os, runpy, shutil, sys; getattr(os, 'nice', int)(19)\n"
        f"sys.argv[1:] = {words!r}\n"
        "try: runpy.run_module('scalarviz', run_name='__main__')\n"
        "finally:\n"
        f"    if {is_temporary} and os.getppid() != {os.getpid()}:\n"
        f"        shutil.rmtree({os.path.dirname(path)!r}, ignore_errors=True)\n"
    )
    out, error = map(for_a_viewer, (1, 2))
    viewer = start(["-c", program], stdout=out, stderr=error, env={**os.environ, VIEWER: "1"})
    let_go(viewer)
    return viewer


def for_a_viewer(stream: int) -> int | None:
    """Return None if a viewer can write to a descriptor of this process, otherwise DEVNULL.

    Whoever reads a pipe waits until every process that can write to it has ended.
    """
    with suppress(OSError):
        mode = os.fstat(stream).st_mode
        return DEVNULL if S_ISFIFO(mode) or S_ISSOCK(mode) else None
    return DEVNULL
