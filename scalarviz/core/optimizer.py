"""Optimizers: SGD, Momentum, Nesterov, RMSProp, Adam, AdamW; learning rate, clipping, penalties."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from itertools import repeat
from types import FunctionType, MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypedDict,
    TypeVar,
    Unpack,
    final,
    get_args,
)

import numpy as np

from scalarviz.base.attributes import set_known, unknown
from scalarviz.base.checks import FloatArray, answered, number, require, shorten
from scalarviz.base.near_names import PARAMETERS, meaning, plain, text_of
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.optimizers import OPTIMIZERS, OptimizerRow, Schedule, clip, regularize
from scalarviz.errors import InputError

# Learning rates, or decays, of single bank rows, which replace the rate of the optimizer.


@final
class OwnRates:
    """Separate learning rates for some bank rows; all other rows use the rate of the optimizer.

    Args:
        firsts: first row of each run of rows with equal rates, ascending; by default empty
        rates: rate of each run, float64; NaN, as in the last run, means the rate of the optimizer.
            Neighbouring runs have different rates
    """

    __slots__ = ("_rates", "firsts")

    def __init__(self, firsts: Any = (), rates: Any = ()) -> None:
        self.firsts = np.asarray(firsts, np.int64)
        self._rates = np.asarray(rates, np.float64)

    def __bool__(self) -> bool:
        return len(self.firsts) > 0

    def __len__(self) -> int:
        """Number of rows with a separate rate."""
        return int(np.diff(self.firsts)[~np.isnan(self._rates[:-1])].sum())

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, OwnRates):
            return self is other
        same = np.array_equal(self.firsts, other.firsts)
        return same and np.array_equal(self._rates, other._rates, equal_nan=True)

    def __hash__(self) -> int:
        return hash((self.firsts.tobytes(), self._rates.tobytes()))

    def __repr__(self) -> str:
        return f"OwnRates of {len(self)} rows"

    @property
    def spans(self) -> tuple[tuple[int, int, float], ...]:
        """Runs with a separate rate, in order, as (first row, row after the last, rate)."""
        firsts, rates = self.firsts.tolist(), self._rates.tolist()
        known = zip(firsts, firsts[1:], rates, strict=False)  # the last run has no separate rate
        return tuple(each for each in known if not math.isnan(each[2]))

    def of(self, row: int) -> float | None:
        """Return the rate of a row, or None if it uses the rate of the optimizer."""
        rate = float(self.at(np.array([row]))[0])
        return None if math.isnan(rate) else rate

    def of_all(self, rows: Any) -> float | None:
        """Return the common rate of rows: None for the optimizer's rate, NaN if rates differ."""
        rates = self.at(np.asarray(rows))
        if not np.array_equal(rates, np.full(len(rates), rates[0]), equal_nan=True):
            return math.nan
        return self.of(int(rows[0]))

    def changed(self, rows: Any, rate: float | None) -> OwnRates:
        """Return a copy with another rate for some rows; None means the rate of the optimizer.

        The time depends on the number of runs and of changed rows, not on the size of the bank.
        """
        rows = np.unique(np.asarray(rows, np.int64))
        gaps = np.flatnonzero(np.diff(rows) > 1)
        starts, ends = rows[[0, *(gaps + 1)]], rows[[*gaps, -1]] + 1
        bounds = np.unique(np.concatenate([self.firsts, starts, ends]))
        rates = self.at(bounds)
        inside = np.searchsorted(starts, bounds, "right") > np.searchsorted(ends, bounds, "right")
        rates[inside] = np.nan if rate is None else rate
        before = np.concatenate([[np.nan], rates[:-1]])
        differs = rates.view("u8") != before.view("u8")
        return OwnRates(bounds[differs], rates[differs])

    def at(self, rows: Any, otherwise: float = math.nan) -> FloatArray:
        """Return the rates of rows, with `otherwise` for rows that use the optimizer's rate."""
        known = np.concatenate([[np.nan], self._rates])
        known[np.isnan(known)] = otherwise
        rates: FloatArray = known[np.searchsorted(self.firsts, rows, "right")]
        return rates


NO_OWN_RATES = OwnRates()
OWN = {"lr": "own_rates", "decay": "own_decays"}  # settings of groups, and where they are stored

Groups = Mapping[str, Mapping[str, float]]

NotFinite = Literal["error", "zero"]
InitT = TypeVar("InitT", bound=Callable[..., None])


class Common(TypedDict, total=False):
    """Keyword options of all optimizers; `Optimizer` has their defaults."""

    schedule: Schedule | None
    l1: float
    l2: float
    clip_value: float
    clip_norm: float
    not_finite: NotFinite
    groups: Groups | None


class Optimizer:
    """A row of `OPTIMIZERS` with a learning rate, a schedule, clipping and penalties.

    An optimizer is stateless: the slots of each weight (`row.slots`) are stored in the bank of the
    network, so one optimizer can train many networks.

    Gradients are processed in this order: a non-finite gradient raises an error, or is replaced by
    0 with `not_finite="zero"`; all gradients of the step are scaled so that their norm is at most
    `clip_norm`; each is limited to +-`clip_value`; then the gradient of l1 * |w| + l2 / 2 * w * w
    is added.

    Setting `lr` ends the schedule.

    Args:
        name: row of `OPTIMIZERS`: "sgd", "momentum", "nesterov", "rmsprop", "adam" or "adamw"
        lr: learning rate, at least 0
        settings: settings of the row by name, such as {"momentum": 0.9}; None (default) means the
            defaults of the row
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    _sealed = ""  # why attributes cannot be set, or ""
    _settable = ("l1", "l2", "clip_value", "clip_norm", "not_finite")
    _own: OptimizerRow | None = None  # the row of a class made by `sv.optimizer`

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    def __init_subclass__(cls) -> None:
        cls.__init__ = answered(cls.__init__, PARAMETERS)  # type: ignore[method-assign]  # the same arguments

    def __init__(
        self,
        name: str,
        lr: float,
        settings: dict[str, float] | None = None,
        schedule: Schedule | None = None,
        l1: float = 0.0,
        l2: float = 0.0,
        clip_value: float = math.inf,
        clip_norm: float = math.inf,
        not_finite: NotFinite = "error",
        groups: Groups | None = None,
    ) -> None:
        self.row = self._own or pick(OPTIMIZERS, name, "optimizer")
        given: object = lr
        if isinstance(given, (Sequence, Iterator)) and not isinstance(given, str):
            raise InputError(f"the learning rate is one number, not {shorten(lr)}: {PARAMETERS}")
        known = dict(self.row.settings)
        for key in settings or {}:
            pick(known, key, f"setting of {name!r}")
        self.settings: Mapping[str, float] = {
            key: number(value, key, 0.0 if known[key] >= 0.0 else -math.inf)
            for key, value in (known | (settings or {})).items()
        }
        for key, value in self.settings.items():
            require(key not in BELOW_1 or value < 1.0, f"{key} must be below 1, not {value:g}")
            require(
                key != "eps" or value != 0.0,
                "eps must be above 0, to avoid division by 0",
            )
        self._lr = number(lr, "the learning rate", 0.0)
        self.schedule = schedule
        self.l1 = number(l1, "l1", 0.0)
        self.l2 = number(l2, "l2", 0.0)
        self.clip_value = limit(clip_value, "clip_value")
        self.clip_norm = limit(clip_norm, "clip_norm")
        self.not_finite = pick({key: key for key in get_args(NotFinite)}, not_finite, "not_finite")
        self.own_rates = self.own_decays = NO_OWN_RATES
        self.groups = checked_groups(groups or {}, {"lr", *self.settings})

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def lr(self) -> float:
        """The learning rate, before the schedule. Setting it ends the schedule."""
        return self._lr

    @lr.setter
    def lr(self, rate: float) -> None:
        self._lr = number(rate, "the learning rate", 0.0)
        self.schedule = Schedule()

    @property
    def schedule(self) -> Schedule:
        """Schedule whose factor multiplies the learning rate at each step."""
        return self._schedule

    @schedule.setter
    def schedule(self, schedule: Schedule | None) -> None:
        if schedule is not None and not isinstance(schedule, Schedule):
            raise no_schedule(schedule)
        self._schedule = schedule or Schedule()

    def with_own_rates(self, rates: OwnRates) -> Optimizer:
        """Return a copy with these learning `rates` for single weights."""
        changed = copy.copy(self)
        changed.own_rates = rates
        return changed

    def on(self, rows_named: Callable[[str], Any]) -> Optimizer:
        """Return the optimizer for one network, with the settings of `groups` applied to bank rows.

        Args:
            rows_named: function that returns the rows of parameters by name
        """
        if not self.groups:
            return self
        made = copy.copy(self)
        made.own_decays = NO_OWN_RATES
        for name, own in self.groups.items():
            for key, value in own.items():
                vars(made)[OWN[key]] = vars(made)[OWN[key]].changed(rows_named(name), value)
        return made

    def goes_on_from(self, other: Optimizer) -> bool:
        """Return whether this optimizer can use the slots and the step count of `other`.

        Both must have the same slot names, as Adam and AdamW do, and the same schedule.
        """
        own, before = self.schedule, other.schedule
        if (own.name, own.settings) != (before.name, before.settings):
            return False
        return self.row.slots == other.row.slots

    def sealed(self, reason: str) -> Optimizer:
        """Return a copy that raises ReadOnlyError with a `reason` when it is changed.

        The copy has no rates of single weights, which belong to one network.
        """
        shown = self.with_own_rates(NO_OWN_RATES)
        shown.settings = MappingProxyType(shown.settings)
        shown._sealed = reason
        return shown

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy, which has separate settings and is not sealed."""
        state = {key: value for key, value in vars(self).items() if key != "_sealed"}
        return state | {"settings": dict(self.settings)}

    @staticmethod
    def of(optimizer: Optimizer | str | None) -> Optimizer:
        """Return `optimizer`, or the optimizer of that name, or SGD(0.01) for None.

        Raises:
            InputError: if `optimizer` is anything else.
        """
        if optimizer is None:
            return DEFAULT
        if isinstance(optimizer, str) and optimizer in NAMED:
            return NAMED[optimizer]()
        if not isinstance(optimizer, Optimizer):
            raise no_optimizer(optimizer)
        return optimizer

    def rate(self, step: int) -> float:
        """Return the learning rate at `step`, counted from 0, including the schedule."""
        return self._lr * self.schedule.factor(step)

    def rate_of(self, row: int, step: int) -> float:
        """Return the learning rate of the weight at `row` at `step`, including the schedule."""
        own = self.own_rates.of(row)
        return (self._lr if own is None else own) * self.schedule.factor(step)

    def arguments(self, step: int) -> tuple[float, ...]:
        """Return the arguments of `row.update` after w, g and the slots; `step` counts from 0."""
        settings = self.settings.values()
        return (self.rate(step), *settings, *self.row.constants(float(step + 1), *settings))

    def norm_scale(self, gradients: FloatArray) -> float:
        """Return the factor, at most 1, by which `clip_norm` multiplies all `gradients`."""
        if self.clip_norm == math.inf:
            return 1.0
        finite = np.where(np.isfinite(gradients), gradients, 0.0).astype(np.float64)
        with np.errstate(over="ignore"):  # an overflow gives infinity and the factor 0
            norm = float(np.linalg.norm(finite))
        return min(1.0, self.clip_norm / (norm + 1e-6))

    def gradients(self, g: list[float], w: list[float], scale: float) -> list[float]:
        """Return gradients as used by the update: finite, clipped, with penalties.

        `g` and `w` are gradients and values of the same weights, `scale` is the result of
        `norm_scale`.
        """
        g = [x if math.isfinite(x) else 0.0 for x in g]
        if scale != 1.0 or self.clip_value != math.inf:
            g = [clip(x, scale, self.clip_value) for x in g]
        if self.l1 or self.l2:
            g = list(map(regularize, g, w, repeat(self.l1), repeat(self.l2)))
        return g

    def __repr__(self) -> str:
        parts = [f"lr={self._lr:g}"] + [f"{key}={value:g}" for key, value in self.settings.items()]
        defaults = (("l1", 0.0), ("l2", 0.0), ("clip_value", math.inf), ("clip_norm", math.inf))
        parts += [f"{key}={getattr(self, key):g}" for key, d in defaults if getattr(self, key) != d]
        if self.schedule.name != "constant":
            parts.append(f"schedule={self.schedule!r}")
        parts += [f"not_finite={self.not_finite!r}"] * (self.not_finite != "error")
        parts += [f"groups={self.groups!r}"] * bool(self.groups)
        return f"{type(self).__name__}({', '.join(parts)})"


def checked_groups(groups: object, known: set[str]) -> Groups:
    """Return the groups of an optimizer with the settings `known`; raise InputError if invalid."""
    if isinstance(groups, Mapping) and all(isinstance(own, Mapping) for own in groups.values()):
        can = {key: key for key in OWN if key in known}
        return {
            name: {
                pick(can, key, "setting of a group"): number(value, f"{key} of a group", 0.0)
                for key, value in own.items()
            }
            for name, own in groups.items()
        }
    raise InputError(
        "groups maps names of parameters to their own settings, as in {'*.bias': {'lr': "
        f"0.001}}}}, and cannot be {shorten(groups)}"
    )


BELOW_1 = ("momentum", "alpha", "beta1", "beta2")


def no_schedule(given: object) -> InputError:
    """Return the error for a `schedule` that is not a Schedule, with the equivalent if known."""
    meant = meaning("schedule", given, ())
    how = meant if " " in meant else 'write Schedule("cosine", steps=1000)'
    return InputError(f"schedule takes a Schedule, not {shorten(given)}: {how}")


def no_optimizer(given: object) -> InputError:
    """Return the error for an invalid optimizer, such as a class."""
    if isinstance(given, FunctionType):
        return InputError(
            f"an optimizer is one such as SGD(0.1), not {shorten(given)}: sv.optimizer(function, "
            "slots) makes a class from a custom update rule"
        )
    if isinstance(given, str):
        names = ", ".join(NAMED)
        return InputError(
            f"an optimizer is one such as SGD(0.1), or a name, {names}, not {shorten(given)}"
        )
    kinds = {plain(kind.__name__): kind.__name__ for kind in Optimizer.__subclasses__()}
    name = kinds.get(plain(text_of(given)), "SGD")
    return InputError(
        f"an optimizer is one such as {name}(0.1), with brackets, not {shorten(given)}"
    )


def limit(value: float, what: str) -> float:
    """Return a positive bound; infinity means no bound."""
    unbounded = isinstance(value, float) and value == math.inf
    return math.inf if unbounded else number(value, what, 0.0, open_low=True)


def naming_common(init: InitT) -> InitT:
    """Decorate a constructor so that `help` lists the options in its **common."""
    *own, _ = inspect.signature(init).parameters.values()
    init.__signature__ = inspect.Signature([*own, *common_arguments()], return_annotation="None")  # type: ignore[attr-defined]  # inspect reads it
    return init


def common_arguments() -> list[Parameter]:
    """Return the names of `Common` as parameters, with the defaults of `Optimizer`."""
    base = inspect.signature(Optimizer.__init__).parameters
    return [base[name].replace(kind=Parameter.KEYWORD_ONLY) for name in Common.__annotations__]


class SGD(Optimizer):
    """Stochastic gradient descent: w becomes w - lr * g.

    Attributes:
        lr: learning rate, at least 0; by default 0.01
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.

    >>> SGD(0.1)
    SGD(lr=0.1)
    """

    @naming_common
    def __init__(self, lr: float = 0.01, **common: Unpack[Common]) -> None:
        super().__init__("sgd", lr, **common)


class Momentum(Optimizer):
    """Gradient descent with momentum: w becomes w - lr * velocity.

    The velocity is momentum times the previous velocity, plus g.

    Attributes:
        lr: learning rate, at least 0; by default 0.01
        momentum: share of the velocity kept at each step, 0 to below 1; by default 0.9
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    @naming_common
    def __init__(self, lr: float = 0.01, momentum: float = 0.9, **common: Unpack[Common]) -> None:
        super().__init__("momentum", lr, {"momentum": momentum}, **common)


class Nesterov(Optimizer):
    """Nesterov momentum: w becomes w - lr * (g + momentum * velocity).

    The velocity is momentum times the previous velocity, plus g.

    Attributes:
        lr: learning rate, at least 0; by default 0.01
        momentum: share of the velocity kept at each step, 0 to below 1; by default 0.9
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    @naming_common
    def __init__(self, lr: float = 0.01, momentum: float = 0.9, **common: Unpack[Common]) -> None:
        super().__init__("nesterov", lr, {"momentum": momentum}, **common)


class RMSProp(Optimizer):
    """RMSProp: w becomes w - lr * g / (sqrt(square) + eps), with the running mean square of g.

    Attributes:
        lr: learning rate, at least 0; by default 0.01
        alpha: share of the mean square kept at each step, 0 to below 1; by default 0.99
        eps: positive number added to the root to avoid division by 0; by default 1e-8
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    @naming_common
    def __init__(
        self, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8, **common: Unpack[Common]
    ) -> None:
        super().__init__("rmsprop", lr, {"alpha": alpha, "eps": eps}, **common)


class Adam(Optimizer):
    """Adam: running mean m and mean square v of the gradients, corrected for their bias.

    Step t replaces w by w - lr * m' / (sqrt(v') + eps), with m' = m / (1 - beta1**t) and
    v' = v / (1 - beta2**t).

    Attributes:
        lr: learning rate, at least 0; by default 0.001
        beta1: share of the mean kept at each step, 0 to below 1; by default 0.9
        beta2: share of the mean square kept at each step, 0 to below 1; by default 0.999
        eps: positive number added to the root to avoid division by 0; by default 1e-8
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    @naming_common
    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        **common: Unpack[Common],
    ) -> None:
        super().__init__("adam", lr, {"beta1": beta1, "beta2": beta2, "eps": eps}, **common)


class AdamW(Optimizer):
    """Adam with decoupled weight decay: each step also multiplies weights by 1 - lr * decay.

    Attributes:
        lr: learning rate, at least 0; by default 0.001
        beta1: share of the mean kept at each step, 0 to below 1; by default 0.9
        beta2: share of the mean square kept at each step, 0 to below 1; by default 0.999
        eps: positive number added to the root to avoid division by 0; by default 1e-8
        decay: weight decay: each step multiplies weights by 1 - lr * decay; by default 0.01
        schedule: a Schedule that multiplies the rate at each step; None (default) keeps it constant
        l1, l2: factors of the penalties l1 * |w| and l2 / 2 * w * w; by default 0.0
        clip_value: largest magnitude of each gradient; by default infinity (no bound)
        clip_norm: largest norm of all gradients of a step; by default infinity (no bound)
        not_finite: "error" (default) raises an error for NaN or infinite gradients; "zero" uses 0
        groups: separate "lr", or "decay" of AdamW, for parameters named as in `net.freeze`:
            {"vectors": {"decay": 0.0}}; None (default) means no groups

    Raises:
        InputError: if a number is out of range.
    """

    @naming_common
    def __init__(
        self,
        lr: float = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        decay: float = 0.01,
        **common: Unpack[Common],
    ) -> None:
        super().__init__(
            "adamw", lr, {"beta1": beta1, "beta2": beta2, "eps": eps, "decay": decay}, **common
        )


NAMED = {kind().name: kind for kind in (SGD, Momentum, Nesterov, RMSProp, Adam, AdamW)}
DEFAULT = SGD(0.01)  # private, as users could change it
