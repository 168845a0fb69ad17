"""Trainer: a network, its data, and what is set, at one moment of a training.

It goes forward only: whole steps, or one moment after the other. What the user does to it, and how
that is done again when time is replayed, are the tables `WRITES` and `CHANGES`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, final

import numpy as np

from scalarviz.checks.numbers import FloatArray, as_floats, as_labels, number, shorten
from scalarviz.data import DataSet
from scalarviz.data.base import TableSet
from scalarviz.data.batches import Batches
from scalarviz.engines.common.base import Outcome, Run
from scalarviz.errors import InputError, OrderError, ShapeError
from scalarviz.formulas.losses import Loss
from scalarviz.model.bank import Bank
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Moment, Program
from scalarviz.session.timeline import Action, Frame


class Model(Protocol):
    """What a training needs of a network, or of a compiled expression."""

    inputs: int
    outputs: int

    @property
    def bank(self) -> Bank: ...
    @property
    def program(self) -> Program: ...
    @property
    def engine(self) -> str: ...
    @property
    def precision(self) -> Precision: ...
    @property
    def activations(self) -> tuple[str, ...]: ...
    def __call__(self, x: object) -> FloatArray: ...
    def run(self, batches: Batches, loss: Loss) -> Run: ...
    def start(self, engine: str, precision: Precision) -> None: ...
    def to(self, engine: str, precision: Precision | None = None) -> object: ...
    def check_engine(
        self, engine: str, precision: str | Precision | None = None
    ) -> tuple[str, Precision]: ...
    def check_activation(self, layer: int, name: str) -> int: ...
    def set_activation(self, layer: int, name: str) -> None: ...
    def check_loss(self, loss: Loss) -> None: ...
    def find_rows(self, part: object) -> object: ...


@dataclass(frozen=True)
class Settings:
    """What the user can set while a network trains, besides its numbers."""

    optimizer: Optimizer
    data: DataSet
    engine: str
    precision: Precision
    activations: tuple[str, ...]


@final
class Trainer:
    """Takes a network through the moments of its steps."""

    def __init__(
        self, network: Model, settings: Settings, loss: Loss, batch: int | None, seed: int
    ) -> None:
        check_fits(settings.data, network)
        network.check_loss(loss)
        network.start(settings.engine, settings.precision)
        self.network = network
        self.bank = network.bank
        self.loss = loss
        self.batch = batch
        self.seed = seed
        self.settings = settings
        self._set_network()
        self.run = self._make_run()

    def _make_run(self) -> Run:
        data, network = self.settings.data, self.network
        self.batches = data.batches(self.batch, self.seed)
        return network.run(self.batches, self.loss)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """What is done in a step, in order."""
        return self.network.program.moments

    @property
    def products(self) -> int:
        """How many multiplications the sums of a step take, about."""
        return self.batches.size * self.network.program.products

    def begin(self, step: int) -> None:
        """Take up the batch of a step, to go through it moment by moment."""
        self.run.begin(step)

    def perform(self, operation: int) -> None:
        """Do one moment of the step that was begun."""
        self.run.perform(self.moments[operation], self.settings.optimizer)

    def steps(self, first: int, count: int) -> Outcome:
        """So many whole steps."""
        return self.run.steps(self.settings.optimizer, first, count)

    def frame(self, step: int) -> Frame:
        """Everything that is needed to come back here, on arrival at a step."""
        return Frame.of(self.bank, step, self.settings)

    def restore(self, frame: Frame) -> None:
        """Come back."""
        self.adopt(frame.settings)
        frame.restore(self.bank)

    def adopt(self, settings: Settings) -> None:
        """Set everything as it is here."""
        before, self.settings = self.settings, settings
        if self._set_network() or settings.data is not before.data:
            self.run = self._make_run()

    def _set_network(self) -> bool:
        """Bring the network in line with the settings: whether it was not."""
        network, settings = self.network, self.settings
        wanted = settings.engine, settings.precision, settings.activations
        if (network.engine, network.precision, network.activations) == wanted:
            return False
        for layer, name in enumerate(settings.activations):
            network.set_activation(layer, name)
        network.to(settings.engine, settings.precision)
        return True

    def check_data(self, data: DataSet) -> None:
        """Refuse data that is too wide or too narrow for the network."""
        check_fits(data, self.network)

    def check_untouched(self) -> None:
        """Refuse what was set past the session, and set it back."""
        if self._set_network():
            self.run = self._make_run()
            raise OrderError(
                "the engine or an activation of this network was changed past its session, and has "
                "been set back: use s.to(...) or s.set_activation(...)"
            )

    def apply(self, *actions: Action) -> None:
        """Do what the user did at one place, one after the other; what is set changes once."""
        bank, settings = self.bank, self.settings
        for action in actions:
            if action.kind in WRITES:
                WRITES[action.kind](bank, **action.details)
                continue
            before, settings = settings, CHANGES[action.kind](settings, **action.details)
            if action.kind == "optimizer":  # another one begins anew
                bank.restart_optimizer()
            if settings.precision != before.precision:
                bank.start_scaling(settings.precision)
        if settings is not self.settings:
            state = bank.state.copy()
            self.adopt(settings)
            bank.state[:] = state  # a new engine has begun with its own


def check_fits(data: DataSet, network: Model) -> None:
    """Refuse data that is too wide or too narrow for a network."""
    if (data.inputs, data.outputs) != (network.inputs, network.outputs):
        hint = ""
        if isinstance(data, TableSet) and data.outputs == 1 != network.outputs:
            labels = data.training[1]
            hint = as_labels(labels, len(labels), network.outputs)
        raise ShapeError(
            f"the data has samples of {data.inputs} -> {data.outputs} numbers, and the network "
            f"takes {network.inputs} -> {network.outputs}: make the two equal{hint}"
        )


# What a user can do: with the numbers of a bank, or with the settings. What is passed has been
# checked.


def set_values(bank: Bank, rows: Any, values: FloatArray) -> None:
    bank.value[rows] = values


def set_frozen(bank: Bank, rows: Any, on: bool) -> None:
    bank.frozen[rows] = on


def set_rate(settings: Settings, rate: float) -> Settings:
    optimizer = copy.copy(settings.optimizer)
    optimizer.lr = rate
    return replace(settings, optimizer=optimizer)


def set_optimizer(settings: Settings, optimizer: Optimizer) -> Settings:
    return replace(settings, optimizer=copy.copy(optimizer))


def set_data(settings: Settings, data: DataSet) -> Settings:
    return replace(settings, data=data)


def set_engine(settings: Settings, name: str, precision: Precision) -> Settings:
    return replace(settings, engine=name, precision=precision)


def set_activation(settings: Settings, layer: int, name: str) -> Settings:
    names = list(settings.activations)
    names[layer] = name
    return replace(settings, activations=tuple(names))


def set_numbers(bank: Bank, count: int, has_gradients: bool, **arrays: FloatArray) -> None:
    """All numbers of a bank, as somebody else has left them."""
    bank.value[:], bank.grad[:] = arrays["value"], arrays["grad"]
    bank.state[:] = arrays["state"]
    kept = {tuple(name.split()[1:]): block for name, block in arrays.items() if " " in name}
    for names in {**bank.blocks, **kept}:
        bank.slot_block(names)[:] = kept.get(names, 0.0)
    bank.restart_count(count)
    bank.has_gradients = has_gradients


def numbers_of_bank(bank: Bank) -> dict[str, Any]:
    """What `set_numbers` takes."""
    slots = {" ".join(("slots", *names)): b.copy() for names, b in bank.blocks.items() if names}
    return {
        "count": bank.step_count,
        "has_gradients": bank.has_gradients,
        "value": bank.value.copy(),
        "grad": bank.grad.copy(),
        "state": bank.state.copy(),
        **slots,
    }


WRITES: Mapping[str, Callable[..., None]] = {
    "edit": set_values,
    "freeze": set_frozen,
    "numbers": set_numbers,
}
CHANGES: Mapping[str, Callable[..., Settings]] = {
    "learning rate": set_rate,
    "optimizer": set_optimizer,
    "data": set_data,
    "engine": set_engine,
    "activation": set_activation,
}


def settings_after(settings: Settings, actions: Iterable[Action]) -> Settings:
    """What is set after some actions."""
    for action in actions:
        if action.kind in CHANGES:
            settings = CHANGES[action.kind](settings, **action.details)
    return settings


# These change what a step consists of: in the middle of one they wait for the next.
BETWEEN_STEPS = ("learning rate", "optimizer", "data", "engine", "activation")


def settings_of(
    network: Model, data: object, optimizer: Optimizer | None, engine: str, precision: Precision
) -> Settings:
    """The settings that a training begins with."""
    name, precision = network.check_engine(engine, precision)
    return Settings(
        copy.copy(Optimizer.of(optimizer)),
        DataSet.of(data),
        name,
        precision,
        network.activations,
    )


def checked_rate(rate: float) -> float:
    """A learning rate that can be."""
    return number(rate, "the learning rate", 0.0)


def rows_of(network: Model, part: object) -> Any:
    """The rows of the bank that a user means: by a part of the network, or by their numbers."""
    count = len(network.bank)
    found = network.find_rows(part)
    try:
        rows = np.atleast_1d(np.array(found))
    except ValueError:  # rows of different lengths
        rows = np.zeros(0)
    if rows.dtype == np.bool_ and rows.shape == (count,):
        rows = np.flatnonzero(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or rows.size == 0:
        raise InputError(
            f"weights are named by parts of the network or by whole numbers, not {shorten(part)}"
        )
    if rows.min() < 0 or rows.max() >= count:
        raise ShapeError(f"the network has rows 0 to {count - 1}, and not {shorten(part)}")
    return rows.astype(np.int64)


def one_row(network: Model, part: object) -> int:
    """The row of one weight."""
    rows = rows_of(network, part)
    if len(rows) != 1:
        raise InputError(f"this takes one weight, and {shorten(part)} has {len(rows)}")
    return int(rows[0])


def as_values(value: object, rows: Any, dtype: str) -> FloatArray:
    """A number for all of some rows, or one for each."""
    given = as_floats(value, "edit")
    try:
        given = np.broadcast_to(given, rows.shape)
    except ValueError:
        given = np.array([np.nan])
    with np.errstate(over="ignore"):
        values = given.astype(dtype)
    if not np.isfinite(values).all():
        ends = f": {dtype} ends at {np.finfo(dtype).max:.2g}" if np.isfinite(given).all() else ""
        raise InputError(
            f"the values of {len(rows)} weights are as many finite numbers, or one for all, "
            f"not {shorten(value)}{ends}"
        )
    return values
