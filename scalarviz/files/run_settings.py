"""Conversion of settings (optimizer, loss, data, precision) to JSON and arrays, and back."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any, cast, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.core.formulas.formula import make, pick
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS, OptimizerRow, Schedule
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.data import Arrays, DataSet, remake
from scalarviz.data.data_set import DOUBLE, TableSet
from scalarviz.errors import InputError
from scalarviz.files.checked_safetensors import Array, Description
from scalarviz.files.networks import field
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.conditions import Condition

CODE = "code"  # name of a data set made by code
LATEST = 2**53  # largest number of steps
MADE: dict[str, Any] = {"precision": Precision, "loss": Loss}  # of their settings only


@final
class SettingsWriter:
    """Converts settings to JSON; arrays are collected in `arrays`, by name.

    Args:
        samples: if False, samples of arrays are left out, and `needed` has the data sets to pass
            when loading
    """

    def __init__(self, samples: bool = True) -> None:
        self.samples = samples
        self.needed: set[str] = set()
        self.arrays: dict[str, Array] = {}
        self._known: dict[int, tuple[DataSet, Description]] = {}  # by id, with the object

    def write(self, thing: Any) -> Any:
        """Return an object as JSON; a data set that occurs several times is written once."""
        if isinstance(thing, np.ndarray):
            name = f"array {len(self.arrays)}"
            self.arrays[name] = thing
            return {"array": name}
        for name, (kind, describe) in DESCRIBED.items():
            if isinstance(thing, kind):
                return {name: describe(thing)}
        if isinstance(thing, DataSet):
            if id(thing) not in self._known:
                self._known[id(thing)] = thing, {"data": self._data(thing)}
            return self._known[id(thing)][1]
        if isinstance(thing, list):  # the conditions of a stop
            return [self.write(each) for each in thing]
        if isinstance(thing, Condition):
            return thing.text
        return thing.item() if isinstance(thing, np.generic) else thing

    def _data(self, data: DataSet) -> Description:
        try:
            settings = data.settings()
        except InputError:
            self.needed.add(CODE)
            return {"name": CODE, "settings": {}}
        left: Description = {}
        if data.is_given and not self.samples:
            left = {"samples": digest(cast("Arrays", data))}
            settings = {key: value for key, value in settings.items() if key in KEPT}
            self.needed.add(repr(left))
        written = {key: self.write(value) for key, value in settings.items()}
        added = data.added if isinstance(data, TableSet) else None
        more = {} if added is None else {"added": [self.write(table) for table in added]}
        return {"name": data.name, "settings": written, **left, **more}


@final
class SettingsReader:
    """Converts JSON back to settings.

    Args:
        data: data set that the file does not contain, as it is made by code or was left out
        outputs: number of outputs of the network
    """

    def __init__(
        self, arrays: Mapping[str, Array], data: DataSet | None, budget: Budget, outputs: int
    ) -> None:
        self._arrays = arrays
        self._budget = budget
        self._code = data
        self._outputs = outputs
        self._known: dict[str, DataSet] = {}

    def read(self, thing: Any) -> Any:
        """Return the object from the JSON that `SettingsWriter.write` returned."""
        if isinstance(thing, list):
            return [self.read(each) for each in thing]
        if not isinstance(thing, dict):
            return thing
        kind, value = next(iter(thing.items())) if len(thing) == 1 else ("", None)
        if kind == "array":
            return pick(self._arrays, value, "array")
        if kind == "own":  # a function, in files of earlier versions
            return f"own function {value}"
        if isinstance(value, dict) and kind == "optimizer":
            return build_optimizer(value)
        if isinstance(value, dict) and kind == "data":
            return self._data(value)
        if isinstance(value, dict) and kind in MADE:
            return make(MADE[kind], value, kind)
        raise InputError(f"{shorten(thing)} is unknown")

    def _with_added(self, data: DataSet, added: list[Any]) -> DataSet:
        if not isinstance(data, TableSet) or len(added) != 2:
            raise InputError(f"{shorten(added)} cannot be added to the data set {data.name}")
        return data.with_added(*data.as_added(*map(self.read, added)))

    def _again(self, samples: Description, settings: Description) -> DataSet:
        """Return the data set passed by the user, with the settings from the file."""
        code, outputs, classes = self._code, self._outputs, settings.get("classes")
        is_wide = f" x {outputs} " in str(samples.get("targets"))
        if code is not None and code.is_given and code.outputs < outputs and is_wide:
            needed = DOUBLE * len(code.settings()["targets"]) * outputs
            self._budget.take(needed, "the zeros behind its targets")
            code = code.with_outputs(outputs)  # as for training, by `data_for`
        given = given_again(code, samples)
        costs = [Arrays.cost({**given.settings(), "classes": each}) for each in (classes, None)]
        self._budget.take(costs[0] - costs[1], "the rows of its labels")
        told = {key: settings.get(key, []) for key in KEPT[2:]}
        return given.told_as(classes, {"standardize": settings.get("standardize", False), **told})

    def _data(self, value: Description) -> DataSet:
        name, settings = field(value, "name", str), field(value, "settings", dict)
        if name == CODE:
            if self._code is None:
                raise InputError(
                    "its data set is made by code, which a file does not contain: pass it again, "
                    "with data="
                )
            return self._code
        key = repr(value)
        if key not in self._known:
            read = {k: self.read(v) for k, v in settings.items()}
            if "samples" in value:
                self._known[key] = self._again(field(value, "samples", dict), read)
            else:
                self._known[key] = remake(name, read, self._budget)
            if "added" in value:
                self._known[key] = self._with_added(self._known[key], field(value, "added", list))
        return self._known[key]


def describe_loss(loss: Loss) -> Description:
    """Return the description of a loss."""
    return {"name": loss.name, "factor": loss.factor, "mean": loss.mean}


def describe_optimizer(optimizer: Optimizer) -> Description:
    """Return the description of an optimizer."""
    limits = {"clip_value": optimizer.clip_value, "clip_norm": optimizer.clip_norm}
    schedule = {"name": optimizer.schedule.name, "settings": dict(optimizer.schedule.settings)}
    return {
        "name": optimizer.name,
        "lr": optimizer.lr,
        "settings": dict(optimizer.settings),
        "schedule": schedule,
        "common": {
            "l1": optimizer.l1,
            "l2": optimizer.l2,
            "not_finite": optimizer.not_finite,
            **({"groups": optimizer.groups} if optimizer.groups else {}),
            **{key: value for key, value in limits.items() if value < math.inf},
        },
    }


DESCRIBED: dict[str, tuple[type, Callable[[Any], Description]]] = {
    "optimizer": (Optimizer, describe_optimizer),
    "precision": (Precision, vars),
    "loss": (Loss, describe_loss),
}


def build_optimizer(value: Description) -> Optimizer:
    """Return an optimizer from its description."""
    kind = pick(classes_of_optimizers(), field(value, "name", str), "optimizer")
    schedule = field(value, "schedule", dict)
    name, settings = field(schedule, "name", str), field(schedule, "settings", dict)
    if name == "one_cycle":
        settings = {"first": 0.0} | settings  # files from before this setting
    made: Optimizer = make(
        kind,
        field(value, "settings", dict) | field(value, "common", dict),
        "optimizer",
        lr=field(value, "lr", float),
        schedule=make(Schedule, settings, "schedule", name=name),
    )
    return made


def classes_of_optimizers() -> dict[str, Any]:
    """Return optimizer classes by name of their row, including classes made by `sv.optimizer`.

    Other user-defined subclasses use a row of one of these classes.
    """
    found: list[Any] = Optimizer.__subclasses__()
    kinds = [kind for kind in found if kind._own or kind.__module__ == Optimizer.__module__]
    rows: dict[Any, OptimizerRow] = {kind: kind._own or kind().row for kind in kinds}
    return {row.name: kind for kind, row in rows.items() if OPTIMIZERS.get(row.name) is row}


def build_clock(value: object) -> Clock:
    """Return a Clock from its description; raise InputError if it is invalid."""
    parts = value if isinstance(value, list) and len(value) == 3 else [None]
    if all(type(part) is int and 0 <= part < LATEST for part in parts):
        return Clock(*parts)
    raise InputError(f"{shorten(value)} is not a moment of a training run")


# Samples left out of a run file: a digest checks that the same ones are passed again.

ARRAYS = ("inputs", "targets")
KEPT = ("classes", "standardize", "input_names", "output_names")  # settings other than samples
SHA = " SHA-256"  # appended to the name of an array
WEIGHTS = "weights" + SHA  # in the digest of samples with unequal weights


def digest(data: Arrays) -> Description:
    """Return a digest of a data set of arrays: sizes, dtypes, hashes and order."""
    settings = data.settings()
    tables = {name: settings[name].reshape(len(settings[name]), -1) for name in ARRAYS}
    weights = settings.get("sample_weight")
    return {
        **{
            name: f"{' x '.join(map(str, each.shape))} {each.dtype}"
            for name, each in tables.items()
        },
        "held_out": f"{settings.get('held_out', 0)} samples",
        "order": data.order,
        **{name + SHA: hash_of(table) for name, table in tables.items()},
        **({} if weights is None else {WEIGHTS: hash_of(weights)}),
    }


def hash_of(table: FloatArray) -> str:
    """Return the SHA-256 of the numbers of an array, in hexadecimal digits."""
    return hashlib.sha256(table.data).hexdigest()


def given_again(given: object, saved: Description) -> Arrays:
    """Return the `given` data set if it has the digest `saved`; raise InputError otherwise."""
    if not isinstance(given, DataSet) or not given.is_given:
        what = "" if given is None else f", and not {type(given).__name__}"
        sizes = " and ".join(f"{name} {shown_text(saved.get(name))}" for name in ARRAYS)
        raise InputError(
            f"it was saved without its samples: pass them with data=(inputs, targets), or the same "
            f"sv.data.Arrays, which has {sizes}{what}"
        )
    arrays = cast("Arrays", given)
    found = digest(arrays)
    for name in (*found, WEIGHTS):
        mine = found.get(name)
        if mine == saved.get(name):
            continue
        require(
            name != WEIGHTS,
            "the samples of the data passed do not have the sample weights of this training run: "
            "pass data with the same weights of samples and of classes",
        )
        require(
            not name.endswith(SHA),
            f"the {name.removesuffix(SHA)} of the data passed differ from the training data in "
            "numbers or order: pass the same data",
        )
        raise InputError(
            f"the data passed has {name} {mine}, and it was trained on {name} "
            f"{shown_text(saved.get(name))}: pass the same data"
        )
    return arrays


def shown_text(saved: object) -> str:
    """Return a text from a digest in the form used in error messages."""
    return shorten(saved).strip("'")
