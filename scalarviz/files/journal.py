"""Actions: reads the journal of a run file; each action is checked in full, as it is replayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from scalarviz.base.checks import shorten, size
from scalarviz.base.limits import LONGEST_CONDITION, MOST_CONDITIONS
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import check_names, pick
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data import DataSet
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.files.checked_safetensors import current_name
from scalarviz.files.networks import check_states
from scalarviz.files.run_settings import SettingsReader, build_clock
from scalarviz.training.network import model_queries
from scalarviz.training.network.network import Network
from scalarviz.training.session.branches import Action, Clock
from scalarviz.training.session.conditions import Condition, of_function, parse
from scalarviz.training.session.conditions import check_rows as check_rows_of_conditions
from scalarviz.training.session.trainer import (
    BETWEEN_STEPS,
    CHANGES,
    WRITES,
    check_fits,
    checked_rate,
)

Details = Mapping[str, Any]


@final
class Actions:
    """Reads and checks the actions of a journal."""

    def __init__(self, reader: SettingsReader, network: Network) -> None:
        self._reader = reader
        self._network = network
        self._engines: set[tuple[str, bool]] = set()  # (engine, mixed precision), checked

    def read(self, value: object) -> Action:
        """Return an action; raise InputError if it cannot be applied to this network."""
        if not isinstance(value, list) or len(value) != 5 or not isinstance(value[3], dict):
            raise InputError(f"{shorten(value)} is no action")
        step, operation, kind, details, asked = value
        check, place = pick(CHECKS, kind, "action"), build_clock([step, operation, 0])
        done = WRITES[kind] if kind in WRITES else CHANGES[kind]
        read = {current_name(key): self._reader.read(x) for key, x in details.items()}
        try:
            check_names(done, read, f"action {kind!r}", "bank" if kind in WRITES else "settings")
            if operation and kind in BETWEEN_STEPS:
                raise InputError("that is done between two steps, and not in the middle of one")
            for name in [each for each in TYPES if each in read]:
                if read[name] is not None or kind not in NONE_IS_FOR_ALL:
                    check_type(read[name], TYPES[name], name)
            if "rows" in read:
                check_rows(self._network, read)
            if check is not None:
                check(self._network, read)
            if kind == "stop when":
                read["conditions"] = [one for each in read["conditions"] for one in clauses(each)]
            if kind == "engine":
                self._check_engine(read["name"], read["precision"])
        except ScalarvizError as error:
            raise InputError(
                f"the action {kind!r} at step {step:,} cannot be done: {error}"
            ) from error
        return Action(step, operation, kind, read, asked_at(asked, place, kind))

    def _check_engine(self, name: str, precision: Precision) -> None:
        """Raise EngineError for a precision that an engine lacks; skip engines missing here."""
        key = name, precision.mixed
        if key not in self._engines and not ENGINES[name].lack():
            model_queries.check_engine(self._network, name, precision)
        self._engines.add(key)


def asked_at(asked: object, place: Clock, kind: str) -> tuple[int, int] | None:
    """Return the place of the request of an action that waited for the next step, or None."""
    if asked is None:
        return None
    moment = build_clock([*asked, 0]) if isinstance(asked, list) else place
    waits = moment.step + 1 == place.step and moment.operation and not place.operation
    if not waits or kind not in BETWEEN_STEPS:
        raise InputError(f"the action {kind!r} at step {place.step:,} waits for no step")
    return moment.place


# ---- what holds for a detail of any action ------------------------------------------------------

TYPES: Mapping[str, type] = {
    "on": bool,
    "has_gradients": bool,
    "count": int,
    "rate": float,
    "optimizer": Optimizer,
    "goes_on": bool,
    "data": DataSet,
    "inputs": np.ndarray,
    "targets": np.ndarray,
    "loss": Loss,
    "size": int,
    "precision": Precision,
    "layer": int,
    "conditions": list,
}
NONE_IS_FOR_ALL = ("own rate", "batch")  # actions: None is the rate, or the size, of all others


def check_type(thing: object, kind: type, what: str) -> None:
    """Raise InputError for a value of another type; True is no number."""
    if not isinstance(thing, kind) or (isinstance(thing, bool) and kind is not bool):
        raise InputError(f"{what} is {shorten(thing)}, and should be of the type {kind.__name__}")


def check_rows(network: Network, details: Details) -> None:
    """Check row numbers of the bank."""
    rows, count = details["rows"], len(network.bank)
    if not isinstance(rows, np.ndarray) or rows.dtype != np.int64 or rows.ndim != 1:
        raise InputError(f"rows must be an array of integers, not {shorten(rows)}")
    if not rows.size or rows.min() < 0 or rows.max() >= count:
        raise InputError(f"the network has rows 0 to {count - 1}, and not {shorten(rows)}")


# ---- one check for each kind of action ----------------------------------------------------------


def check_edit(network: Network, details: Details) -> None:
    values = details["values"]
    fits = isinstance(values, np.ndarray) and values.shape == details["rows"].shape
    if not fits or values.dtype.name != network.dtype:
        raise InputError(f"{shorten(values)} is not a value for each row")


def check_numbers(network: Network, details: Details) -> None:
    """Check all numbers of a bank."""
    bank = network.bank
    if not 0 <= details["count"] < 2**63:
        raise InputError(f"count must be from 0 to 2**63 - 1, not {shorten(details['count'])}")
    needed: dict[str, tuple[int, ...]] = {
        "value": (len(bank),),
        "grad": (len(bank),),
        "state": bank.state.shape,
    }
    shapes = needed | {
        " ".join(("slots", *row.slots)): (len(row.slots), len(bank)) for row in OPTIMIZERS.values()
    }
    for name in needed:
        pick(details, name, "array")
    for name in [each for each in details if each not in ("count", "has_gradients")]:
        array, shape = details[name], pick(shapes, name, "array")
        dtype = "float64" if name == "state" else bank.dtype
        check_type(array, np.ndarray, name)
        if (array.shape, array.dtype.name) != (shape, dtype):
            raise InputError(f"the array {name} does not fit the network")
    check_states(network, details["state"][np.newaxis])


def check_rate(network: Network, details: Details) -> None:
    if details["rate"] is not None:
        checked_rate(details["rate"])


def check_data(network: Network, details: Details) -> None:
    check_fits(details["data"], network)


def check_samples(network: Network, details: Details) -> None:
    widths = {"inputs": network.inputs, "targets": network.outputs}
    for name, width in widths.items():
        table = details[name]
        fits = table.dtype == np.float64 and table.ndim == 2 and table.shape[1] == width
        if not fits or not len(table) or not np.isfinite(table).all():
            raise InputError(f"{name} of added samples are rows of {width} numbers")
    if len(details["inputs"]) != len(details["targets"]):
        raise InputError("added samples have one target each")


def check_batch(network: Network, details: Details) -> None:
    if details["size"] is not None:
        size(details["size"], "batch")


def check_engine(network: Network, details: Details) -> None:
    pick(ENGINES, details["name"], "engine")


def check_activation(network: Network, details: Details) -> None:
    name = details["name"]
    if model_queries.check_activation(network, details["layer"], name) != details["layer"]:
        raise InputError(f"a layer must be counted from 0, not {details['layer']}")
    if activation_row(name).name != name:
        raise InputError(f"the activation {shorten(name)} must be {activation_row(name).name}")


def check_stops(network: Network, details: Details) -> None:
    given = details["conditions"]
    for each in given:
        name = each.get("own") if isinstance(each, dict) and len(each) == 1 else None
        if name is None:
            check_rows_of_conditions(parse(each), network)
        elif not isinstance(name, str) or len(name) > LONGEST_CONDITION:
            raise InputError(f"{shorten(name)} is no name of a function")
    if len(given) > MOST_CONDITIONS:
        raise InputError(f"at most {MOST_CONDITIONS} conditions are watched, not {len(given)}")


def clauses(given: Any) -> list[Condition]:
    """Return the conditions of a text, or of the name of a function, which a file cannot hold."""
    return [of_function(given["own"], None)] if isinstance(given, dict) else parse(given)


CHECKS: Mapping[str, Callable[[Network, Details], None] | None] = {
    "edit": check_edit,
    "freeze": None,
    "numbers": check_numbers,
    "learning rate": check_rate,
    "own rate": check_rate,
    "optimizer": None,
    "data": check_data,
    "samples": check_samples,
    "loss": None,
    "batch": check_batch,
    "engine": check_engine,
    "activation": check_activation,
    "stop when": check_stops,
}
