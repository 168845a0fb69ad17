"""DataSet, the base class of data sets, and the general ones TableSet, Arrays and Generated."""

from __future__ import annotations

import copy
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import (
    FloatArray,
    Shape,
    answered,
    as_weights,
    check_binary,
    check_labels,
    check_signature,
    require,
    shorten,
    size,
    true_or_false,
    widened,
)
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.losses import Weights
from scalarviz.core.formulas.metric_formulas import is_one_hot
from scalarviz.core.formulas.randomness import check_seed, shuffled
from scalarviz.core.layers.normalization import Affine
from scalarviz.data.batches import (
    Batches,
    GeneratedBatches,
    InOrder,
    Pair,
    Picked,
    Shuffled,
    TableBatches,
)
from scalarviz.data.samples import (
    MOST_ADDED,
    MOST_NAMES,
    GrowingTable,
    as_labels,
    as_samples,
    as_table,
    checked_names,
    class_weights_of,
    columns_in,
    cut,
    groups_of,
    held_out_last,
    in_shape,
    is_labels,
    kinds_in,
    names_in,
    rows_of_labels,
    share_of,
    with_columns,
    with_tests,
)
from scalarviz.errors import InputError

# Streams of the random generator for data sets.
STREAM_PLACES = 16
STREAM_NOISE = 17
STREAM_COLORS = 18

Rows = npt.NDArray[np.int64]

DOUBLE = 8  # bytes of a float64
NEVER_TRAINED = 2**32 - 1  # an epoch never reached by training: its permutation splits a table

ORDERS: dict[str, type[TableBatches]] = {
    "shuffled": Shuffled,
    "in_order": InOrder,
    "picked": Picked,
}


@dataclass(frozen=True)
class DataChoice:
    """A setting of a data set that a control can change during training.

    Attributes:
        names: valid values of the setting
        help: description of the setting
        drops: settings that apply only to the previous value and are removed when it changes
        offer: noun for the value, for the button that offers the next value at the end of a run
    """

    names: Iterable[str]
    help: str
    drops: tuple[str, ...] = ()
    offer: str = ""


class DataSet(ABC):
    """Samples for training. `batches(batch, seed)` draws them; seed and step determine the result.

    Attributes:
        name: key of its row in DATA_SETS
        inputs, outputs: number of inputs and number of targets per sample
        samples: number of samples per epoch
        held_out: inputs and targets of the held-out samples, one row per sample, or None
        weights: weights of the training samples, or None for equal weights
        held_out_weights: weights of the held-out samples, or None for equal weights
        is_given: whether its settings are arrays from the user, which files can omit

    `settings()` returns the arguments that create an equal data set.

    Optional attributes for display:

    Attributes:
        input_names, output_names: labels of the input and output neurons
        side_names: names of the two classes that a single output separates, lower target first,
            such as "outside" and "inside"; or empty
        input_tint, output_tint: colours of these neurons: "rgb" for red, green and blue from 0 to
            1, "grey" for pixels, "" for other numbers
        bounds: smallest and largest coordinate to show, for inputs that are points, or None
        choices: settings that controls can change, by name
        picture_setting: setting that receives the path of a picture dropped on the window
        standardize: whether a session inserts `affine()` as the first layer of a new network
        first_shown: inputs and target of the sample shown first; None for one of the first batch
        things: key of the text that names its samples, such as "things.dots"
        signs: how the signs of a sequence are written, by index; or empty
        writes: whether networks write such samples, with the methods of Names
        rule: function from inputs to targets, as rows, for the button "Learn this too"; or None
    """

    name: ClassVar[str]
    is_given: ClassVar[bool] = False
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    side_names: ClassVar[Sequence[str]] = ()
    input_tint: str = ""
    output_tint: str = ""
    bounds: tuple[float, float] | None = None
    choices: ClassVar[Mapping[str, DataChoice]] = {}
    picture_setting: ClassVar[str] = ""
    standardize: bool = False
    first_shown: tuple[FloatArray, FloatArray] | None = None
    rule: Callable[[FloatArray], object] | None = None
    things: ClassVar[str] = "samples"
    signs: Sequence[str] = ()
    writes: ClassVar[bool] = False

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

    @final
    @property
    def weights(self) -> Weights:
        """Weights of the training samples (1 for added samples), or None for equal weights."""
        given = self._settings.get("sample_weight")
        if given is None:
            return None
        count = len(given) - self._settings.get("held_out", 0)
        return np.append(given[:count], np.ones(self.samples - count))

    @final
    @property
    def held_out_weights(self) -> Weights:
        """Weights of the held-out samples, or None for equal weights."""
        given = self._settings.get("sample_weight")
        return None if given is None else given[len(given) - self._settings.get("held_out", 0) :]

    @abstractmethod
    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return the batches for a training run.

        Args:
            batch: number of samples per batch; None (default) means all samples
            seed: seed of the order of the samples; by default 0
        """

    @final
    def affine(self) -> Affine:
        """Return a new layer that standardizes the inputs, based on the training samples.

        As the first layer of a network, it makes scaling the samples unnecessary. For generated
        data it is based on the first batch; pictures are standardized per channel.
        """
        shape = self.sample_shape if isinstance(self, TableSet) else ()
        return Affine.standardizing(in_shape(self.batches().at(0)[0], shape or (self.inputs,)))

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        """Return the bytes of memory for a data set with these `settings`, which may be unchecked.

        Subclasses override this if they generate more numbers than their settings contain.
        """
        given = (value.size for value in settings.values() if isinstance(value, np.ndarray))
        return DOUBLE * sum(given)

    def with_classes(self, classes: int, outputs: int) -> DataSet:
        """Return the data set in the form for a loss on class labels, with `classes` classes.

        Subclasses whose targets can be labels override this: they return a data set with a one-hot
        row of `outputs` numbers for each label, and raise InputError for invalid labels.
        """
        return self

    def with_outputs(self, outputs: int) -> DataSet:
        """Return the data set with targets padded with zeros to `outputs` numbers.

        This is used for a loss that has more outputs than targets. Subclasses that support it
        override this method.
        """
        return self

    @final
    def settings(self) -> dict[str, Any]:
        """Return the numbers, strings and arrays from which `remake` creates an equal data set.

        Raises:
            InputError: if a setting is a function.
        """
        for key, value in self._settings.items():
            if callable(value):
                raise InputError(
                    f"{self} cannot be saved in a file, since its {key} is code: save its samples "
                    "as Arrays, or pass the data set again when the file is loaded"
                )
        return dict(self._settings)

    @final
    def changed(self, name: str, value: object) -> DataSet:
        """Return a copy of the data set in which the setting `name` has another `value`."""
        drops = self.choices[name].drops if name in self.choices else ()
        kept = {key: old for key, old in self.settings().items() if key not in drops}
        return type(self)(**{**kept, name: value})

    @final
    def describe(self) -> str:
        """Return one line with the non-default settings and the sizes of the data set."""
        usual = arguments_of(type(self))
        told = [
            f"{key}={brief(value)}"
            for key, value in self._settings.items()
            if usual[key].kind != usual[key].KEYWORD_ONLY or unlike(value, usual[key].default)
        ]
        sizes = f"{self.inputs} -> {self.outputs}, {self.samples:,} samples"
        added = self.added if isinstance(self, TableSet) else None
        if added is not None:
            sizes += f", {len(added[0]):,} of them added"
        if self.held_out is not None:
            sizes += f", {len(self.held_out[0]):,} held out"
        return f"{type(self).__name__}({', '.join(told)}): {sizes}"

    @final
    def __repr__(self) -> str:
        return self.describe()

    @final
    @staticmethod
    def of(data: object) -> DataSet:
        """Return `data` if it is a DataSet; convert a pair (inputs, targets) to Arrays.

        Raises:
            InputError: if `data` is anything else.
        """
        if isinstance(data, DataSet):
            return data
        if isinstance(data, (tuple, list)) and len(data) == 2:
            return Arrays(*data)
        if isinstance(data, type) and issubclass(data, DataSet):
            raise InputError(f"{data.__name__} is a class: pass an instance, {data.__name__}()")
        raise InputError(
            f"data must be a data set, such as sv.data.Xor(), or a pair of arrays "
            f"(inputs, targets), not {type(data).__name__} {shorten(data)}"
        )


@cache
def arguments_of(kind: type[DataSet]) -> Mapping[str, inspect.Parameter]:
    """Return the arguments of a DataSet class by name."""
    return inspect.signature(kind).parameters


class TableSet(DataSet):
    """A data set stored as a table: `training` contains inputs and targets, one row per sample.

    Args:
        training: inputs and targets, one row per sample; targets may be 1-D for a single output
        settings: arguments that create an equal data set
        held_out: inputs and targets of the held-out samples; None (default) means none
        order: "shuffled" (default) uses each sample once per epoch, in random order; "in_order"
            uses the order of the table; "picked" draws samples at random with replacement
    """

    def __init__(
        self,
        training: Pair,
        settings: Mapping[str, Any],
        held_out: Pair | None = None,
        order: str = "shuffled",
    ) -> None:
        pick(ORDERS, order, "order")
        self.training = training = with_columns(training)
        self.order = order
        held_out = None if held_out is None else with_columns(held_out)
        inputs, targets = training
        if "order" in arguments_of(type(self)):
            settings = {**settings, "order": order}
        super().__init__(inputs.shape[1], targets.shape[1], len(inputs), settings, held_out)

    sample_shape: Shape = ()  # of inputs given as pictures
    added: Pair | None = None  # number of samples appended by `with_added`
    _room: GrowingTable | None = None
    _grown: tuple[FloatArray, FloatArray, TableSet] | None = None  # its last growth, and added data

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Raise InputError for samples to add that are invalid for this data set.

        Args:
            inputs, targets: float64 arrays, one row per sample
        """

    def show_added(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Include added samples in displays of the data set; by default do nothing.

        Args:
            inputs, targets: float64 arrays, one row per sample
        """

    @final
    def as_added(self, inputs: object, targets: object) -> Pair:
        """Check one or several samples to add, and return them as rows of `inputs` and `targets`.

        Targets may be class labels if the data set has one-hot targets. Raises InputError,
        ShapeError or NotFiniteError for invalid samples.
        """
        known = self.training[1]
        pair = as_samples(
            inputs,
            targets,
            (self.inputs, self.outputs),
            labels=is_one_hot(known),
            picture=self.sample_shape,
        )
        self.check_sample(*pair)
        count = len(pair[0]) + (0 if self.added is None else len(self.added[0]))
        require(
            count <= MOST_ADDED,
            f"at most {MOST_ADDED:,} samples can be added to a data set, not {count:,}: make "
            "a new one of all samples, sv.data.Arrays(inputs, targets)",
        )
        return pair

    @final
    def with_added(self, inputs: FloatArray, targets: FloatArray) -> TableSet:
        """Return the data set with appended samples: `inputs` and `targets` from `as_added`."""
        if self._grown is not None and inputs is self._grown[0] and targets is self._grown[1]:
            return self._grown[2]  # requested again at each replay
        pair, count = (inputs, targets), self.samples
        grown = copy.copy(self)
        grown._grown = None
        table = None if self._room is None else self._room.appended(count, pair)
        if table is None:
            grown._room = GrowingTable.of(self.training, len(inputs))
            table = grown._room.appended(count, pair)
        assert table is not None, "a new room has room"
        grown.training, grown.samples = table, len(table[0])
        before = () if self.added is None else (self.added,)
        x, y = [np.concatenate(parts) for parts in zip(*before, pair, strict=True)]
        grown.added = x, y
        grown.show_added(inputs, targets)
        self._grown = inputs, targets, grown
        return grown

    @final
    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return batches of `batch` samples (None: all), in an order that depends on the `seed`."""
        if batch is None or self.order == "in_order":
            made: TableBatches = InOrder(*self.training, batch)
        else:
            made = ORDERS[self.order](*self.training, batch, seed)
        made.weights = self.weights
        return made


def divided(count: int, held_out: float, seed: int, things: str) -> tuple[Rows, Rows]:
    """Return the indices of the training samples and of the held-out samples."""
    rows = np.arange(count)
    if held_out < 1.0:
        rows = shuffled(seed, NEVER_TRAINED, rows, count)
        first = count - round(held_out * count)
    elif held_out == int(held_out) and held_out < count:
        first = count - int(held_out)
    else:
        raise InputError(
            f"held_out is a share below 1 or a number of {things} below {count:,}, not {held_out:g}"
        )
    return rows[:first], rows[first:]


@final
class Arrays(TableSet):
    """A data set from two arrays, inputs and targets, with one row per sample.

    Args:
        inputs: array of shape (samples, inputs); or pictures, (samples, channels, height, width) or
            (samples, height, width), if the first layer takes pictures; float32 is kept
        targets: array of shape (samples, outputs), or pictures as above; or of shape (samples,) for
            a single output or for class labels from 0. Labels need one output per class and a loss
            on logits. Class names (strings) become labels in sorted order, and output_names
        share: share of the samples used for training, by default 1.0; the rest is held out,
            stratified by class
        seed: seed of the choice of held-out samples; by default 0
        groups: a number or string for each sample; samples of one group, such as one person, are
            either all used for training or all held out; None (default) means no groups
        order: "shuffled" (default) uses each sample once per epoch, in random order; "in_order"
            uses the given order; "picked" draws samples at random with replacement
        source: origin of the samples for display, a string or path; None (default) means unknown
        classes: number of classes, if targets are labels from 0 that should be one-hot encoded;
            None (default) leaves the choice to the session
        held_out: samples for testing, instead of a share: a pair of arrays (inputs, targets), or
            the number of last samples to hold out; None (default) means as set by `share`
        sample_weight: non-negative weight of each sample in the loss and in metrics, as in Loss,
            including held-out samples; None (default) means equal weights
        class_weight: weights of the classes in training: a dict by label or name, with 1 for
            missing classes, or "balanced" for equal total weight of each class; None (default)
            means equal weights. It does not apply to held-out samples
        input_names: name of each input in pictures; None (default) means the column names of a data
            frame, or else no names
        output_names: name of each output or class; None (default) as for input_names
        standardize: whether a session inserts `affine()` as the first layer of a new network, which
            scales each input to mean 0 and deviation 1; by default False. Samples are unchanged

    The names can also be set later, before the data is passed to a Session.

    Raises ShapeError, NotFiniteError or InputError for invalid arrays and arguments.

    >>> Arrays([[0, 1], [1, 1]], [1, 0])
    Arrays(inputs=2 x 2, targets=2 x 1): 2 -> 1, 2 samples
    >>> Arrays([[0, 1], [1, 1]], [1, 0], classes=3).training[1]
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """

    name = "arrays"
    is_given = True
    _rows: np.ndarray | None = None  # rows of the samples as given, if reordered

    def __init__(
        self,
        inputs: object,
        targets: object,
        *,
        share: float = 1.0,
        seed: int = 0,
        groups: Sequence[object] | None = None,
        order: str = "shuffled",
        source: str | os.PathLike[str] | None = None,
        classes: int | None = None,
        held_out: object = None,
        sample_weight: object = None,
        class_weight: Mapping[Any, float] | str | None = None,
        input_names: Sequence[str] | None = None,
        output_names: Sequence[str] | None = None,
        standardize: bool = False,
    ) -> None:
        if source is not None and not isinstance(source, (str, os.PathLike)):
            raise InputError(
                "source must be a str with the origin of the samples, such as 'iris.csv', not "
                f"{shorten(source)}"
            )
        source = source if source is None else os.fsdecode(source)
        labels, names = as_labels(targets)
        is_copied = isinstance(held_out, (tuple, list)) or (
            isinstance(share, float) and share < 1.0
        )
        whole, self.sample_shape = as_table(inputs, labels, copy=not is_copied)
        tests, weights = None, None
        if sample_weight is not None:
            weights = as_weights(sample_weight, len(whole[0]))
        if held_out is not None:
            whole, tests = with_tests(whole, held_out, share, names, self.sample_shape)
        share, seed = share_of(share), check_seed(seed)
        if classes is not None:
            # Raises errors with the rows as given.
            rows_of_labels(whole[1], classes, len(whole[0]) - (tests or 0))
        if weights is not None:  # separately given held-out samples have the weight 1
            weights = np.append(weights, np.ones(len(whole[0]) - len(weights)))
        require(
            groups is None or share != 1.0,
            "groups define which samples are held out together: pass share=0.8, for example",
        )
        if share < 1.0:  # samples are stored once, held-out ones at the end
            count = len(whole[0])
            mixed = shuffled(seed, NEVER_TRAINED, np.arange(count), count)
            kinds = kinds_in(whole[1], are_classes=bool(names) or classes is not None)
            together = None if groups is None else groups_of(groups, count)
            rows, tests = held_out_last(mixed, kinds, together, max(1, round(share * count)))
            self._rows, whole = rows, (whole[0][rows], whole[1][rows])
            weights = None if weights is None else weights[rows]
        if class_weight is not None:
            of_classes = class_weights_of(
                class_weight, whole[1], classes, names, weights, tests or 0
            )
            weights = as_weights(
                of_classes * (1.0 if weights is None else weights), len(of_classes)
            )
        settings: dict[str, Any] = {
            "source": source,
            "inputs": in_shape(whole[0], self.sample_shape or whole[0].shape[1:]),
            "targets": whole[1],
            "classes": classes,
            "held_out": tests or None,
            "sample_weight": weights,
        }
        if classes is not None:
            whole = whole[0], rows_of_labels(whole[1], classes)
        training, last = cut(whole, tests or 0)
        super().__init__(training, settings, last, order)
        self.standardize = standardize
        self.input_names = columns_in(inputs, self.inputs) if input_names is None else input_names
        if output_names is None:
            has_labels = self.outputs == 1 and is_labels(self.training[1])
            output_names = [] if has_labels else columns_in(targets, self.outputs)
            output_names = names if 0 < len(names) <= MOST_NAMES else output_names
        self.output_names = output_names

    @property
    def rows(self) -> Any:
        """Index of each training sample in the original arrays.

        For data from a run file it is the index in the file.
        """
        return self._all_rows[: len(self._all_rows) - self._settings.get("held_out", 0)]

    @property
    def held_out_rows(self) -> Any:
        """Index of each held-out sample in the original arrays."""
        return self._all_rows[len(self.rows) :]

    @property
    def _all_rows(self) -> Any:
        return np.arange(len(self._settings["targets"])) if self._rows is None else self._rows

    @property
    def input_names(self) -> Sequence[str]:
        """Names of the inputs, or empty; setting invalid names raises InputError."""
        names: Sequence[str] = self._settings.get("input_names", ())
        return names

    @input_names.setter
    def input_names(self, names: Sequence[str]) -> None:
        self._keep(
            "input_names",
            checked_names("input_names", names, self.inputs, f"{self.inputs} inputs"),
        )

    @property
    def output_names(self) -> Sequence[str]:
        """Names of the outputs or classes, or empty.

        Raises:
            InputError: if it is set to invalid names.
        """
        names: Sequence[str] = self._settings.get("output_names", ())
        return names

    @output_names.setter
    def output_names(self, names: Sequence[str]) -> None:
        count, what = self.outputs, f"{self.outputs} outputs"
        if count == 1 and is_labels(self.training[1]) and len(names_in(names)) != 1:
            least = int(self.training[1].max()) + 1  # a held-out label may be larger by one
            count, what = max(least, len(names_in(names))), f"{least} classes or more"
        self._keep("output_names", checked_names("output_names", names, count, what))

    @property
    def standardize(self) -> bool:
        """Whether a session inserts `affine()` as the first layer of a new network."""
        return bool(self._settings.get("standardize"))

    @standardize.setter
    def standardize(self, on: bool) -> None:
        self._keep("standardize", true_or_false(on, "standardize"))

    def _keep(self, key: str, found: object) -> None:
        """Store names or a flag in the settings, so that copies also have them."""
        self._settings = {k: v for k, v in self._settings.items() if k != key}
        if found:
            self._settings[key] = found

    def with_classes(self, classes: int, outputs: int) -> DataSet:
        if self.outputs == 1 < outputs:
            return self.told_as(classes, {"output_names": self.output_names})
        if self.outputs == 1:
            check_binary(self.training[1], classes)
            if len(self.output_names) == classes:  # the output is the logit of the second class
                found = copy.copy(self)
                found._grown, found.output_names = None, self.output_names[1:]
                return found
        return self

    def with_outputs(self, outputs: int) -> DataSet:
        wide = widened(self._settings["targets"], outputs)
        made = Arrays(**{**self._settings, "targets": wide, "output_names": None})
        made._rows = self._rows
        return made

    def told_as(self, classes: int | None, names: Mapping[str, Any]) -> Arrays:
        """Return the data set with one-hot or original targets, on the same inputs.

        Args:
            classes: number of classes for one-hot encoding; None for the original targets
            names: names to set, by attribute: "output_names" or "input_names"
        """
        found, targets = copy.copy(self), self._settings["targets"]
        if classes is not None and self._rows is not None:
            check_labels(targets[np.argsort(self._rows)], classes)  # names rows as given
        answers = targets if classes is None else rows_of_labels(targets, classes, self.samples)
        whole = in_shape(self._settings["inputs"], (self.inputs,)), answers
        found.training, found.held_out = cut(whole, self._settings.get("held_out", 0))
        found.samples, found.outputs = len(found.training[0]), answers.shape[1]
        found.added = found._room = found._grown = None
        found._settings = {k: v for k, v in self._settings.items() if k != "classes"}
        if classes is not None:
            found._settings["classes"] = classes
        for key, listed in names.items():
            setattr(found, key, listed)
        return found

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        copies = 1 if settings.get("share", 1.0) == 1.0 else 2
        labels = np.size(settings.get("targets", ())) * whole(settings.get("classes"))
        return copies * (super().cost(settings) + DOUBLE * labels)


Maker = Callable[[int, int, int], Pair]


@final
class Generated(DataSet):
    """A data set from a function: `make(step, batch, seed)` returns inputs and targets as rows.

    The result must have `batch` rows and depend only on these three arguments, so that steps can be
    replayed; use a generator such as `np.random.default_rng([seed, step])`. Files cannot store this
    data set, since the function is code.

    Args:
        make: the function; for a single output, targets may have the shape (batch,)
        inputs: number of inputs per sample
        outputs: number of targets per sample
        samples: number of samples per epoch, and per batch if batch=None; by default 1024
        standardize: whether a session inserts `affine()` as the first layer of a new network, based
            on the first `samples` samples; by default False
    """

    name = "generated"

    def __init__(
        self,
        make: Maker,
        *,
        inputs: int,
        outputs: int,
        samples: int = 1024,
        standardize: bool = False,
    ) -> None:
        require(
            callable(make),
            f"make must be a function of step, batch and seed, not {shorten(make)}",
        )
        arguments = ["step", "batch", "seed"]
        check_signature(make, arguments, "what makes batches", "def make(step, batch, seed): ...")
        self.make = make
        widths = size(inputs, "inputs"), size(outputs, "outputs")
        samples = size(samples, "samples")
        settings = {"make": make, "inputs": inputs, "outputs": outputs, "samples": samples}
        super().__init__(*widths, samples, settings)
        self.standardize = true_or_false(standardize, "standardize")

    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return batches of `batch` samples (None: `samples`); `seed` is passed to the function."""
        count = self.samples if batch is None else size(batch, "batch")
        widths = (self.inputs, self.outputs)
        return GeneratedBatches(lambda step: self.make(step, count, seed), widths, count, seed)


# Settings of data sets: short descriptions, and values not yet checked.


def whole(value: object, otherwise: int = 0) -> int:
    """Return `value` if it is a non-negative int, else `otherwise`; errors are raised elsewhere."""
    return value if isinstance(value, int) and value >= 0 else otherwise


def unlike(value: object, default: object) -> bool:
    """Return whether a setting differs from its default; an array always does."""
    return isinstance(value, np.ndarray) or value != default


def brief(value: object) -> str:
    """Return a short description of a setting; for an array, its shape."""
    if isinstance(value, np.ndarray):
        return " x ".join(str(n) for n in value.shape)
    if isinstance(value, float):
        return f"{value:g}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return shorten(value)
