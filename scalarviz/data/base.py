"""What every data set does: it says how wide its samples are, and draws batches of them."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from scalarviz.checks.numbers import (
    FloatArray,
    answered,
    as_batch,
    as_floats,
    number,
    shorten,
    size,
)
from scalarviz.data.batches import Batches, InOrder, Pair, Picked, Shuffled
from scalarviz.errors import InputError, ShapeError
from scalarviz.formulas.randomness import check_seed, shuffled
from scalarviz.formulas.table import pick

# The draws that make data, each with a stream of its own.
STREAM_PLACES = 16
STREAM_NOISE = 17
STREAM_COLORS = 18

DOUBLE = 8  # bytes of a number, as data sets have it
LARGEST_SET = 2**24  # samples that a data set makes itself
NEVER_TRAINED = 2**32 - 1  # an epoch that no training reaches: its order splits a table

ORDERS = {"shuffled": Shuffled, "in_order": InOrder, "picked": Picked}


@dataclass(frozen=True)
class DataChoice:
    """A setting of a data set that a control can change while a network learns it.

    names  what it can be
    help   what it is
    drops  settings that were made for the value before, and are left out with another
    """

    names: Iterable[str]
    help: str
    drops: tuple[str, ...] = ()


class DataSet(ABC):
    """Samples to learn: `batches(batch, seed)` draws them, by the seed and the step alone.

    name             of its row in DATA_SETS
    inputs, outputs  how many numbers go into a network, and how many it should say
    samples          how many an epoch has
    held_out         inputs and targets that are never trained on, one row a sample, or None

    `settings` are the arguments that make it again.

    How it is shown; each of these may be left out:

    input_names, output_names  what is written beside the first and the last neurons, one each
    input_tint, output_tint    what colours the same neurons have: "rgb" if they are red, green and
                               blue from 0 to 1, "grey" if each is a pixel; "" that of any number
    bounds           for inputs in the plane: the least and the largest coordinate to show, or None
    choices          settings that controls can change, by their names
    picture_setting  the setting that takes the path of a picture which is dropped on the window
    """

    name: ClassVar[str]
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    input_tint: str = ""
    output_tint: str = ""
    bounds: tuple[float, float] | None = None
    choices: ClassVar[Mapping[str, DataChoice]] = {}
    picture_setting: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            cls.__init__ = answered(cls.__init__)  # type: ignore[method-assign]  # the same arguments

    def __init__(
        self,
        inputs: int,
        outputs: int,
        samples: int,
        settings: Mapping[str, Any],
        held_out: Pair | None = None,
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.samples = samples
        self.held_out = held_out
        self._settings = {key: value for key, value in settings.items() if value is not None}

    @abstractmethod
    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Batches of `batch` samples, None: all of them, in an order that the `seed` decides."""

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        """Bytes that the data set of these `settings` takes, before it is made or they are checked.

        One that makes more than it is given says so.
        """
        given = (value.size for value in settings.values() if isinstance(value, np.ndarray))
        return DOUBLE * sum(given)

    @final
    def settings(self) -> dict[str, Any]:
        """Numbers, texts and arrays that make the same again: `remake(data.name, settings)`."""
        for key, value in self._settings.items():
            if callable(value):
                raise InputError(
                    f"{self} cannot be kept in a file, since its {key} is code: keep what it makes "
                    "as Arrays, or pass the data set again when the file is loaded"
                )
        return dict(self._settings)

    @final
    def changed(self, name: str, value: object) -> DataSet:
        """The data set with another `value` of the setting `name`."""
        drops = self.choices[name].drops if name in self.choices else ()
        kept = {key: old for key, old in self.settings().items() if key not in drops}
        return type(self)(**{**kept, name: value})

    @final
    def describe(self) -> str:
        """One line: how it was made, as far as that is unusual, and how large it is."""
        usual = inspect.signature(type(self)).parameters
        told = [
            f"{key}={brief(value)}"
            for key, value in self._settings.items()
            if usual[key].kind != usual[key].KEYWORD_ONLY or unlike(value, usual[key].default)
        ]
        sizes = f"{self.inputs} -> {self.outputs}, {self.samples:,} samples"
        if self.held_out is not None:
            sizes += f", {len(self.held_out[0]):,} held out"
        return f"{type(self).__name__}({', '.join(told)}): {sizes}"

    @final
    def __repr__(self) -> str:
        return self.describe()

    @final
    @staticmethod
    def of(data: object) -> DataSet:
        """`data` itself if it is a data set, or Arrays of a pair (inputs, targets)."""
        if isinstance(data, DataSet):
            return data
        if isinstance(data, (tuple, list)) and len(data) == 2:
            return Arrays(*data)
        if isinstance(data, type) and issubclass(data, DataSet):
            raise InputError(f"{data.__name__} is a class: pass one of it, {data.__name__}()")
        raise InputError(
            f"data must be a data set, such as sv.data.Xor(), or a pair of arrays "
            f"(inputs, targets), not {type(data).__name__} {shorten(data)}"
        )


class TableSet(DataSet):
    """A data set that is a table: `training` holds its inputs and targets, one row a sample.

    `order` says how batches are drawn from it: "shuffled" (each sample once an epoch), "in_order",
    or "picked" (each sample at random, whatever came before).

    `settings` are the arguments that make it again, `held_out` is as in DataSet.
    """

    def __init__(
        self,
        training: Pair,
        settings: Mapping[str, Any],
        held_out: Pair | None = None,
        order: str = "shuffled",
    ) -> None:
        pick(ORDERS, order, "order")
        self.training = training
        self.order = order
        inputs, targets = training
        if "order" in inspect.signature(type(self)).parameters:
            settings = {**settings, "order": order}
        super().__init__(inputs.shape[1], targets.shape[1], len(inputs), settings, held_out)

    @final
    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Batches of `batch` samples, None: all of them, in an order that the `seed` decides."""
        inputs, targets = self.training
        if batch is None or self.order == "in_order":
            return InOrder(inputs, targets, batch)
        if self.order == "picked":
            return Picked(inputs, targets, batch, seed)
        return Shuffled(inputs, targets, batch, seed)


@final
class Arrays(TableSet):
    """A table of one's own: inputs and targets, one row a sample.

    inputs   shape (samples, inputs)
    targets  shape (samples, outputs); or (samples,) for one output
    share    part of the samples that are trained on, up to 1.0, the default; the rest is held out
    seed     decides which samples are held out; by default 0
    order    "shuffled", the default: each sample once an epoch; "in_order"; or "picked": each
             sample at random, whatever came before
    source   where they came from, a text or a path; by default nothing is said

    Raises ShapeError, NotFiniteError and InputError.

    >>> Arrays([[0, 1], [1, 1]], [1, 0])
    Arrays(inputs=2 x 2, targets=2 x 1): 2 -> 1, 2 samples
    """

    name = "arrays"

    def __init__(
        self,
        inputs: object,
        targets: object,
        *,
        share: float = 1.0,
        seed: int = 0,
        order: str = "shuffled",
        source: str | os.PathLike[str] | None = None,
    ) -> None:
        if source is not None and not isinstance(source, (str, os.PathLike)):
            raise InputError(
                f"source says in words where the samples came from, such as 'iris.csv', and cannot "
                f"be {shorten(source)}"
            )
        source = source if source is None else os.fsdecode(source)
        whole = as_table(inputs, targets)
        share, seed = share_of(share), check_seed(seed)
        settings = {
            "source": source,
            "inputs": whole[0],
            "targets": whole[1],
            "share": share,
            "seed": seed,
        }
        if share < 1.0:
            count = len(whole[0])
            rows = shuffled(seed, NEVER_TRAINED, np.arange(count), count)
            training, held_out = split((whole[0][rows], whole[1][rows]), share)
        else:
            training, held_out = whole, None
        super().__init__(training, settings, held_out, order)

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        copies = 1 if settings.get("share", 1.0) == 1.0 else 2
        return copies * super().cost(settings)


def as_table(inputs: object, targets: object) -> Pair:
    """Inputs and targets of a data set as float64 arrays of their own, one row a sample."""
    x = as_floats(inputs, "a data set's inputs")
    y = as_floats(targets, "a data set's targets")
    if y.ndim == 1 and x.ndim == 2:
        y = y[:, np.newaxis]
    for name, table in (("inputs", x), ("targets", y)):
        if table.ndim != 2 or table.size == 0:
            raise ShapeError(
                f"the {name} of a data set are an array of shape (samples, {name}), not of shape "
                f"{table.shape}: give each sample a row"
            )
        as_batch(table, None, f"a data set's {name}")  # for what is not finite
    if len(x) != len(y):
        raise ShapeError(
            f"the inputs have {len(x)} rows and the targets {len(y)}: "
            "pass one target for each input"
        )
    return x, y


def split(whole: Pair, share: float) -> tuple[Pair, Pair | None]:
    """The first rows, `share` of all and at least one, to train on; the others are held out."""
    inputs, targets = whole
    count = max(1, round(share * len(inputs)))
    held_out = (inputs[count:], targets[count:]) if count < len(inputs) else None
    return (inputs[:count], targets[:count]), held_out


def share_of(share: object) -> float:
    """A share of training: above 0, at most 1."""
    result = number(share, "share", 0.0, open_low=True)
    if result > 1.0:
        raise InputError(f"share must be at most 1, all samples, not {shorten(share)}")
    return result


def whole(value: object, otherwise: int = 0) -> int:
    """A whole number that is not negative; what is none is refused later, and counts otherwise."""
    return value if isinstance(value, int) and value >= 0 else otherwise


def count_of(value: object, what: str, low: int = 1, high: int = LARGEST_SET) -> int:
    """A count between bounds."""
    result = size(value, what)
    if low <= result <= high:
        return result
    raise InputError(f"{what} must be an integer from {low:,} to {high:,}, not {result:,}")


def unlike(value: object, default: object) -> bool:
    """Whether a setting was given, as far as one can see."""
    return isinstance(value, np.ndarray) or value != default


def brief(value: object) -> str:
    """A setting in a few letters; an array by its shape."""
    if isinstance(value, np.ndarray):
        return " x ".join(str(n) for n in value.shape)
    if isinstance(value, float):
        return f"{value:g}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return shorten(value)


def same_bits(table: FloatArray) -> FloatArray:
    """Numbers rounded to 2**-20: machines differ in the last place of a sine or a logarithm."""
    return np.round(table * 2.0**20) * 2.0**-20
