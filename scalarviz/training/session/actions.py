"""User actions: what each kind changes, when it takes effect, and how it is described.

Each kind is a row of `ACTIONS`, which is used to apply, replay, undo, save and load actions.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import UnionType
from typing import TYPE_CHECKING, Any, final, get_args

import numpy as np

from scalarviz.base.checks import FloatArray, number, require, shorten, size
from scalarviz.base.messages import shortened, visible
from scalarviz.base.texts import plural, text
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import (
    block_name,
    restart_optimizer,
    start_scaling,
)
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data import DataSet
from scalarviz.data.data_set import TableSet
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import InputError
from scalarviz.training.network import model_queries
from scalarviz.training.network.network import Network
from scalarviz.training.session.conditions import Condition, of_file

if TYPE_CHECKING:
    from scalarviz.training.session.trainer import Settings

Details = dict[str, Any]

ARRAYS = "value", "grad", "state"  # arrays of every bank
LONGEST_WORD = 24  # characters of the name of a data set or custom formula in a description


@dataclass(frozen=True, slots=True, eq=False)
class Action:
    """A user action: its kind, its details, and the step and operation at which it takes effect.

    `asked` is the step and operation of the request if the action had to wait for the next step,
    otherwise None.
    """

    step: int
    operation: int
    kind: str
    details: Details
    asked: tuple[int, int] | None = None

    @property
    def place(self) -> tuple[int, int]:
        return self.step, self.operation


def nothing(*_: object) -> None:
    """Do nothing; used as a default check or callback."""


@final
@dataclass(frozen=True)
class ActionKind:
    """A kind of user action.

    Attributes:
        apply: function f(settings, **details) that returns new settings, or f(bank, **details);
            `replace` if the details are fields of `Settings`
        words: function f(**details) that returns a short description
        types: expected types of details loaded from a file, by name; `check` checks all others
        check: function f(network, details) that raises InputError if details loaded from a file are
            impossible for the network, and may complete them
        on: first argument of `apply`, "settings" or "bank"
        waits: whether an action requested within a step waits for the next step, because it changes
            the structure of a step
        changes: "outputs" if it changes the loss of a batch, "batch" if it changes the samples of a
            batch, otherwise ""
    """

    apply: Callable[..., Any]
    words: Callable[..., str]
    types: Mapping[str, type | UnionType] = field(default_factory=dict)
    check: Callable[[Network, Details], object] = nothing
    on: str = "settings"
    waits: bool = True
    changes: str = ""

    def read(self, network: Network, details: Details) -> None:
        """Check and complete the details of an action that was loaded from a file."""
        for name in [each for each in self.types if each in details]:
            check_type(details[name], self.types[name], name)
        if "rows" in details:
            check_rows(network, details["rows"])
        self.check(network, details)


def after(settings: Settings, action: Action, bank: Bank) -> Settings:
    """Apply an action to the bank or to the settings; return the resulting settings."""
    if ACTIONS[action.kind].on == "bank":
        ACTIONS[action.kind].apply(bank, **action.details)
        return settings
    before, settings = settings, settings_after(settings, [action])
    if action.kind == "optimizer" and not action.details.get("goes_on"):
        restart_optimizer(bank)
    if settings.precision != before.precision:
        start_scaling(bank, settings.precision)
    return settings


def settings_after(settings: Settings, actions: Iterable[Action]) -> Settings:
    """Return the settings after applying actions."""
    for action in actions:
        if ACTIONS[action.kind].on == "settings":
            settings = ACTIONS[action.kind].apply(settings, **action.details)
    return settings


# Checks for the details of any action.


def check_type(thing: object, kind: type | UnionType, what: str) -> None:
    """Raise InputError if a value has the wrong type; True and False do not count as numbers."""
    if not isinstance(thing, kind) or (isinstance(thing, bool) and kind is not bool):
        name = (get_args(kind) or (kind,))[0].__name__
        raise InputError(f"{what} is {shorten(thing)}, and should be of the type {name}")


def check_rows(network: Network, rows: object) -> None:
    """Raise InputError unless `rows` is an array of valid bank rows."""
    count = len(network.bank)
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int64 or rows.ndim != 1:
        raise InputError(f"rows must be an array of integers, not {shorten(rows)}")
    if not rows.size or rows.min() < 0 or rows.max() >= count:
        raise InputError(f"the network has rows 0 to {count - 1}, and not {shorten(rows)}")


def checked_rate(rate: float) -> float:
    """Return a learning rate; raise InputError unless it is finite and non-negative."""
    return number(rate, "the learning rate", 0.0)


def checked_batch(count: int | None) -> int | None:
    """Return a batch size, or None for all samples; raise InputError for an invalid value."""
    return None if count is None else size(count, "batch")


def check_batch_of(data: DataSet, batch: int | None, seed: int) -> None:
    """Raise InputError if a batch is larger than the data set."""
    if batch is not None and data.batches(batch, seed).size < batch:
        raise InputError(
            f"a batch has at most the {data.samples:,} samples of the data, and not {batch:,}: "
            "None takes all of them"
        )


def addable(data: DataSet) -> TableSet:
    """Return the data set; raise InputError if it does not accept additional samples."""
    if isinstance(data, TableSet):
        return data
    raise InputError(
        f"{type(data).__name__} generates its samples, so none can be added: use a table, such as "
        "sv.data.Arrays(inputs, targets)"
    )


# Each kind: its effect, the checks of a file, and its description. A user's arguments are checked
# by the methods of `Session`.


def set_values(bank: Bank, rows: Any, values: FloatArray) -> None:
    bank.value[rows] = values


def check_edit(network: Network, details: Details) -> None:
    values = details["values"]
    fits = isinstance(values, np.ndarray) and values.shape == details["rows"].shape
    if not fits or values.dtype.name != network.dtype:
        raise InputError(f"{shorten(values)} is not a value for each row")


def set_frozen(bank: Bank, rows: Any, on: bool) -> None:
    bank.fetch()  # else the engine would ignore the marks
    bank.frozen[rows] = on


def set_numbers(bank: Bank, count: int, has_gradients: bool, **arrays: Any) -> None:
    """Set all numbers of a bank, except its frozen flags; see `numbers_of_bank`."""
    bank.value[:], bank.grad[:], bank.state[:] = map(arrays.pop, ARRAYS)
    slots = {tuple(name.split()[1:]): block for name, block in arrays.items()}
    for names in {*slots, *bank.blocks}:
        bank.slot_block(names)[:] = slots.get(names, 0.0)
    bank.restart_count(count)
    bank.has_gradients = has_gradients


def numbers_of_bank(bank: Bank, *, zeros: bool = True) -> Details:
    """Return the current values of a bank as keyword arguments of `set_numbers`.

    Args:
        zeros: whether to include optimizer slots that are all 0; True by default
    """
    slots = {
        block_name(names): block.copy()
        for names, block in bank.blocks.items()
        if names and (zeros or block.any())
    }
    return {
        "count": bank.step_count,
        "has_gradients": bank.has_gradients,
        **{name: getattr(bank, name).copy() for name in ARRAYS},
        **slots,
    }


def forms_of(bank: Bank) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return the shape and dtype of the ARRAYS of a bank and of every possible optimizer slot."""
    slots = [row.slots for row in OPTIMIZERS.values() if row.slots]
    rows: dict[str, tuple[int, ...]] = {"value": (len(bank),), "grad": (len(bank),)}
    rows |= {block_name(names): (len(names), len(bank)) for names in slots}
    return {"state": (bank.state.shape, "float64")} | {
        name: (shape, bank.dtype) for name, shape in rows.items()
    }


def check_numbers(network: Network, details: Details) -> None:
    if not 0 <= details["count"] < 2**63:
        raise InputError(f"count must be from 0 to 2**63 - 1, not {shorten(details['count'])}")
    forms = forms_of(network.bank)
    for name in ARRAYS:
        pick(details, name, "array")
    for name in [each for each in details if each not in ("count", "has_gradients")]:
        array, form = details[name], pick(forms, name, "array")
        check_type(array, np.ndarray, name)
        if (array.shape, array.dtype.name) != form:
            raise InputError(f"the array {name} does not fit the network")
    model_queries.check_states(network, details["state"][np.newaxis])


def set_rate(settings: Settings, rate: float) -> Settings:
    optimizer = copy.copy(settings.optimizer)
    optimizer.lr = rate
    return replace(settings, optimizer=optimizer)


def check_rate(network: Network, details: Details) -> None:
    if details["rate"] is not None:
        checked_rate(details["rate"])


def optimizer_set(optimizer: Optimizer, goes_on: bool = False) -> str:
    name = shortened(optimizer.name, LONGEST_WORD)
    words = text("branches.did.optimizer", name=name, rate=optimizer.lr)
    penalties = [f"{key} {getattr(optimizer, key):.3g}" for key in ("l1", "l2")]
    return ", ".join([words, *[each for each in penalties if not each.endswith(" 0")]])


def data_set(data: DataSet) -> str:
    try:
        settings = data.settings()
    except InputError:  # one made by code
        settings = {}
    values = [str(settings[key]) for key in data.choices if key in settings]
    name = shortened(" ".join([data.name, *values]), LONGEST_WORD)
    return text("branches.did.data", name=visible(name))


def check_engine(network: Network, details: Details) -> None:
    """Raise EngineError if an available engine does not support the precision for this network."""
    if not pick(ENGINES, details["name"], "engine").lack():
        model_queries.check_engine(network, details["name"], details["precision"])


def set_activation(settings: Settings, layer: int, name: str) -> Settings:
    names = list(settings.activations)
    names[layer] = name
    return replace(settings, activations=tuple(names))


def check_activation(network: Network, details: Details) -> None:
    layer, name = details["layer"], details["name"]
    require(
        model_queries.check_activation(network, layer, name) == layer,
        f"a layer must be counted from 0, not {layer}",
    )
    if activation_row(name).name != name:
        raise InputError(f"the activation {shorten(name)} must be {activation_row(name).name}")


def stops_set(conditions: list[Condition]) -> str:
    if not conditions:
        return text("branches.did.no_stops")
    listed = shortened(" or ".join(map(str, conditions)), LONGEST_WORD)
    return text("branches.did.stops", condition=visible(listed))


ACTIONS: dict[str, ActionKind] = {
    "edit": ActionKind(
        set_values,
        lambda rows, values: plural(
            "branches.did.edit", len(rows), row=int(rows[0]), value=float(values[0])
        ),
        check=check_edit,
        on="bank",
        waits=False,
        changes="outputs",
    ),
    "freeze": ActionKind(
        set_frozen,
        lambda rows, on: plural(
            f"branches.frozen.{'on' if on else 'off'}", len(rows), row=int(rows[0])
        ),
        {"on": bool},
        on="bank",
        waits=False,
    ),
    "numbers": ActionKind(
        set_numbers,
        lambda **_: text("branches.did.numbers"),
        {"count": int, "has_gradients": bool},
        check_numbers,
        on="bank",
        waits=False,
        changes="outputs",
    ),
    "learning rate": ActionKind(
        set_rate,
        lambda rate: text("branches.did.rate", rate=rate),
        {"rate": float},
        check_rate,
    ),
    "own rate": ActionKind(  # None is the rate of all others
        lambda settings, rows, rate: replace(
            settings,
            optimizer=settings.optimizer.with_own_rates(
                settings.optimizer.own_rates.changed(rows, rate)
            ),
        ),
        lambda rows, rate: plural(
            f"branches.did.{'no' if rate is None else 'own'}_rate",
            len(rows),
            row=int(rows[0]),
            rate=rate,
        ),
        {"rate": float | None},
        check_rate,
    ),
    "optimizer": ActionKind(
        # With goes_on, slots and step count are kept; files of earlier versions lack it.
        lambda settings, optimizer, goes_on=False: replace(
            settings,
            optimizer=optimizer.with_own_rates(optimizer.own_rates or settings.optimizer.own_rates),
        ),
        optimizer_set,
        {"optimizer": Optimizer, "goes_on": bool},
        lambda network, details: details.update(
            optimizer=details["optimizer"].on(network._rows_named)
        ),
    ),
    "data": ActionKind(
        replace,
        data_set,
        {"data": DataSet},
        lambda network, details: model_queries.check_fits(details["data"], network),
        changes="batch",
    ),
    "samples": ActionKind(  # checked where the data set is known
        lambda settings, inputs, targets: replace(
            settings, data=addable(settings.data).with_added(inputs, targets)
        ),
        lambda inputs, targets: plural("branches.did.samples", len(inputs)),
        {"inputs": np.ndarray, "targets": np.ndarray},
        changes="batch",
    ),
    "loss": ActionKind(
        replace,
        lambda loss: text("branches.did.loss", name=shortened(loss.name, LONGEST_WORD)),
        {"loss": Loss},
        changes="outputs",
    ),
    "batch": ActionKind(  # None is the number of all samples
        lambda settings, size: replace(settings, batch=size),
        lambda size: (
            text("branches.did.whole_batch")
            if size is None
            else text("branches.did.batch", size=size)
        ),
        {"size": int | None},
        lambda network, details: checked_batch(details["size"]),
    ),
    "engine": ActionKind(
        lambda settings, name, precision: replace(settings, engine=name, precision=precision),
        lambda name, precision: text(
            f"branches.engine.{'mixed' if precision.mixed else 'full'}", name=name
        ),
        {"precision": Precision},
        check_engine,
    ),
    "activation": ActionKind(
        set_activation,
        lambda layer, name: text(
            "branches.did.activation", layer=layer, name=shortened(name, LONGEST_WORD)
        ),
        {"layer": int},
        check_activation,
        changes="outputs",
    ),
    "stop when": ActionKind(
        lambda settings, conditions: replace(settings, stops=tuple(conditions)),
        stops_set,
        {"conditions": list},
        lambda network, details: details.update(conditions=of_file(details["conditions"])),
        waits=False,
    ),
}
