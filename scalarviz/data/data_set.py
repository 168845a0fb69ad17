"""DataSet, the base of all data sets, and those of given samples: TableSet, Arrays, Generated."""

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

DOUBLE = 8  # bytes of a float64
NEVER_TRAINED = 2**32 - 1  # an epoch that no training reaches: its permutation splits a table

ORDERS: dict[str, type[TableBatches]] = {
    "shuffled": Shuffled,
    "in_order": InOrder,
    "picked": Picked,
}


@dataclass(frozen=True)
class DataChoice:
    """A setting of a data set that a control can change during training.

    Attributes:
        names: valid values
        help: description
        drops: settings that go with the previous value, and are removed when it changes
        offer: noun for what is chosen, for a button that offers the next one at the end of a run
    """

    names: Iterable[str]
    help: str
    drops: tuple[str, ...] = ()
    offer: str = ""


class DataSet(ABC):
    """Samples to learn. `batches(batch, seed)` draws them, determined by seed and step alone.

    Attributes:
        name: name of its row in DATA_SETS
        inputs, outputs: numbers of a sample, and of its target
        samples: number of samples of an epoch
        held_out: inputs and targets for testing, one row a sample, or None
        weights: how much each sample for training counts, or None: all alike
        held_out_weights: the same of the held-out ones
        is_given: whether its settings are arrays of its user, which a file can leave out

    `settings` are the arguments that make it again.

    How it is displayed; all of these are optional:

    Attributes:
        input_names, output_names: labels of the first and the last neurons, one each
        side_names: the two classes that one output separates, that of the lower target first:
            "outside" and "inside", "upper" and "lower", or none
        input_tint, output_tint: colours of the same neurons: "rgb" if they are red, green and blue
            from 0 to 1, "grey" if each is a pixel, "" for other numbers
        bounds: for inputs in the plane: smallest and largest coordinate to show, or None
        choices: settings that controls can change, by their names
        picture_setting: setting that takes the path of a picture dropped on the window
        standardize: whether a session lets a network that was just made begin with `affine()`
        first_shown: inputs and target of the sample that is shown at first; None: that of the first
            batch
        things: what its samples are, a key of texts: "things.dots" and the like
        rule: function from inputs to targets, one row a sample, if there is one: "Learn this too"
            takes the answer from it
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
        """How much each sample for training counts, those added 1; None: all alike."""
        given = self._settings.get("sample_weight")
        if given is None:
            return None
        count = len(given) - self._settings.get("held_out", 0)
        return np.append(given[:count], np.ones(self.samples - count))

    @final
    @property
    def held_out_weights(self) -> Weights:
        """How much each held-out sample counts; None: all alike."""
        given = self._settings.get("sample_weight")
        return None if given is None else given[len(given) - self._settings.get("held_out", 0) :]

    @abstractmethod
    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return the batches of a training.

        Args:
            batch: samples of a batch; None, the default: all of them
            seed: seed of their order; by default 0
        """

    @final
    def affine(self) -> Affine:
        """Return a new layer that gives each input of the training samples mean 0, deviation 1.

        It is the first layer of a network that takes these samples as they are. Those of a function
        are judged by its first batch, and pictures channel by channel.
        """
        shape = self.sample_shape if isinstance(self, TableSet) else ()
        return Affine.standardizing(in_shape(self.batches().at(0)[0], shape or (self.inputs,)))

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        """Return the bytes that the data set of these `settings` takes; they may be unchecked.

        Subclasses that make more numbers than their settings contain override this.
        """
        given = (value.size for value in settings.values() if isinstance(value, np.ndarray))
        return DOUBLE * sum(given)

    def with_classes(self, classes: int, outputs: int) -> DataSet:
        """Return the data set for a loss that takes labels of `classes` classes.

        Subclasses whose targets can be labels override this: they return a data set with a row of
        `outputs` numbers for each label, and raise InputError for wrong labels.
        """
        return self

    def with_outputs(self, outputs: int) -> DataSet:
        """Return the data set with `outputs` numbers a target, zeros behind those it has.

        That is for a loss that takes fewer numbers than outputs. Subclasses that can override this.
        """
        return self

    @final
    def settings(self) -> dict[str, Any]:
        """Return numbers, texts and arrays that make it again: `remake(data.name, settings)`.

        Raises:
            InputError: if a setting is a function.
        """
        for key, value in self._settings.items():
            if callable(value):
                raise InputError(
                    f"{self} cannot be kept in a file, since its {key} is code: keep what it makes "
                    "as Arrays, or pass the data set again when the file is loaded"
                )
        return dict(self._settings)

    @final
    def changed(self, name: str, value: object) -> DataSet:
        """Return the data set with another `value` of the setting `name`."""
        drops = self.choices[name].drops if name in self.choices else ()
        kept = {key: old for key, old in self.settings().items() if key not in drops}
        return type(self)(**{**kept, name: value})

    @final
    def describe(self) -> str:
        """Return one line with the settings that are not defaults, and the sizes."""
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
        """Return `data` if it is a DataSet, else Arrays of a pair (inputs, targets).

        Raises:
            InputError: for anything else.
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
    """Return the arguments of a class of data sets by name."""
    return inspect.signature(kind).parameters


class TableSet(DataSet):
    """A data set that is a table: `training` holds its inputs and targets, one row a sample.

    Args:
        training: inputs and targets, one row a sample; targets of one output can be 1-D
        settings: arguments that make it again
        held_out: inputs and targets for testing, or None, the default
        order: how batches are drawn: "shuffled", the default (each sample once an epoch),
            "in_order", or "picked" (each sample at random, independent of earlier ones)
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

    sample_shape: Shape = ()  # of inputs that were given as pictures
    added: Pair | None = None  # samples that `with_added` has appended
    _room: GrowingTable | None = None
    _grown: tuple[FloatArray, FloatArray, TableSet] | None = None  # what it last grew to, and by

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Raise InputError for added samples that the set could not have.

        Args:
            inputs, targets: float64, one row a sample; subclasses override this
        """

    def show_added(self, inputs: FloatArray, targets: FloatArray) -> None:
        """Take added samples into what displays show of the set; subclasses override this.

        Args:
            inputs, targets: float64, one row a sample
        """

    @final
    def as_added(self, inputs: object, targets: object) -> Pair:
        """Return samples to add as rows: `inputs` and `targets` of one or several.

        A target can be a class label if the targets of the set are rows that are 1 at a class.
        Raises InputError, ShapeError or NotFiniteError.
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
            "one of all of them, sv.data.Arrays(inputs, targets)",
        )
        return pair

    @final
    def with_added(self, inputs: FloatArray, targets: FloatArray) -> TableSet:
        """Return the set with more samples at its end: `inputs` and `targets` of `as_added`."""
        if self._grown is not None and inputs is self._grown[0] and targets is self._grown[1]:
            return self._grown[2]  # it is asked for again at each replay
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
        """Return batches of `batch` samples, None: all of them, in an order given by the `seed`."""
        if batch is None or self.order == "in_order":
            made: TableBatches = InOrder(*self.training, batch)
        else:
            made = ORDERS[self.order](*self.training, batch, seed)
        made.weights = self.weights
        return made


@final
class Arrays(TableSet):
    """A data set of two arrays, inputs and targets, one row a sample.

    Args:
        inputs: shape (samples, inputs); or pictures, (samples, channels, height, width) or
            (samples, height, width), for a network whose first layer takes them; float32 stays
            float32
        targets: shape (samples, outputs), or pictures as above; or (samples,) for one output or for
            class labels from 0 on, which a Session with a loss on logits takes for a network with
            one output a class; names of classes, texts, become labels in sorted order, and
            output_names
        share: share of the samples for training, up to 1.0, the default; the rest is held out, of
            classes the same share of each
        seed: seed of the choice of held-out samples; by default 0
        groups: a number or a text for each sample: those of a group, such as of one person, are all
            for training or all held out; None, the default: there are no groups
        order: "shuffled", the default: each sample once an epoch; "in_order"; or "picked": each
            sample at random, independent of earlier ones
        source: where the samples came from, a text or a path, for display; None, the default:
            unknown
        classes: number of classes, if the targets are labels from 0 on: each becomes a row of so
            many numbers, 1 at its class, else 0; None, the default: the session decides
        held_out: samples for testing instead of a share: a pair of arrays (inputs, targets), or the
            number of samples at the end; None, the default: those of the share
        sample_weight: a number from 0 on for each sample, of both `inputs` and a part that is held
            out: how much it counts in the loss and in metrics, as in Loss; None, the default: all
            alike
        class_weight: the same for the training samples of a class: a dict by labels or names, 1 for
            classes that it lacks; or "balanced", which lets each class count as much as another
            one; None, the default: all alike. Held-out ones count alike
        input_names: one text for each input, its name in pictures; None, the default: the names of
            the columns of a data frame, else no names
        output_names: one text for each output or class, in the same way
        standardize: True: a session lets a network that was just made begin with `affine()`, which
            gives each input of the training samples mean 0 and deviation 1; the samples stay as
            they are. By default False

    The names can be set later, too, before the data is given to a Session.

    Raises ShapeError, NotFiniteError and InputError.

    >>> Arrays([[0, 1], [1, 1]], [1, 0])
    Arrays(inputs=2 x 2, targets=2 x 1): 2 -> 1, 2 samples
    >>> Arrays([[0, 1], [1, 1]], [1, 0], classes=3).training[1]
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """

    name = "arrays"
    is_given = True
    _rows: np.ndarray | None = None  # those of the samples as they were given, if in another order

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
                f"source must be a str that says where the samples came from, such as 'iris.csv', "
                f"not {shorten(source)}"
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
            # Raises errors with the rows as they were given.
            rows_of_labels(whole[1], classes, len(whole[0]) - (tests or 0))
        if weights is not None:  # those of held-out samples that were given by themselves are 1
            weights = np.append(weights, np.ones(len(whole[0]) - len(weights)))
        require(
            groups is None or share != 1.0,
            "groups say which samples are held out together: pass share=0.8, say",
        )
        if share < 1.0:  # samples are kept once: those held out at the end
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
        """Where each sample for training stood in the arrays that were given.

        Of data from the file of a run it is where it stands in that file.
        """
        return self._all_rows[: len(self._all_rows) - self._settings.get("held_out", 0)]

    @property
    def held_out_rows(self) -> Any:
        """Where each held-out sample stood in the arrays that were given, as `rows`."""
        return self._all_rows[len(self.rows) :]

    @property
    def _all_rows(self) -> Any:
        return np.arange(len(self._settings["targets"])) if self._rows is None else self._rows

    @property
    def input_names(self) -> Sequence[str]:
        """Names of the inputs, one each; empty if they have none. Raises InputError when set."""
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
        """Names of the outputs or classes, one each; empty if they have none.

        Raises:
            InputError: when set to anything else.
        """
        names: Sequence[str] = self._settings.get("output_names", ())
        return names

    @output_names.setter
    def output_names(self, names: Sequence[str]) -> None:
        count, what = self.outputs, f"{self.outputs} outputs"
        if count == 1 and is_labels(self.training[1]) and len(names_in(names)) != 1:
            least = int(self.training[1].max()) + 1  # a held-out label may be one more
            count, what = max(least, len(names_in(names))), f"{least} classes or more"
        self._keep("output_names", checked_names("output_names", names, count, what))

    @property
    def standardize(self) -> bool:
        """Whether a session lets a network that was just made begin with `affine()`."""
        return bool(self._settings.get("standardize"))

    @standardize.setter
    def standardize(self, on: bool) -> None:
        self._keep("standardize", true_or_false(on, "standardize"))

    def _keep(self, key: str, found: object) -> None:
        """Keep names, or True, in the settings, so that copies have them, too."""
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
        """Return the set as it was given, on the same inputs; raise InputError.

        Args:
            classes: number of classes of its labels, for a row of each; None: its targets
            names: of outputs by "output_names", in the same way of inputs
        """
        found, targets = copy.copy(self), self._settings["targets"]
        if classes is not None and self._rows is not None:
            check_labels(targets[np.argsort(self._rows)], classes)  # names rows as they were given
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
    """Batches from a function: `make(step, batch, seed)` returns inputs and targets, row by row.

    The result must depend on these three alone, so that steps can be replayed; seed a generator by
    `np.random.default_rng([seed, step])`. It has `batch` rows. Files cannot hold such a data set,
    since the function is code.

    Args:
        make: the function; targets of one output can have the shape (batch,)
        inputs: numbers of a sample
        outputs: numbers of a target
        samples: samples of an epoch, and of a batch with batch=None; by default 1024
        standardize: True: a network that was just made begins with `affine()`, which gives the
            inputs of the first `samples` mean 0 and deviation 1; by default False
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
        """Return batches of `batch` samples, None: `samples`; `seed` is passed to the function."""
        count = self.samples if batch is None else size(batch, "batch")
        widths = (self.inputs, self.outputs)
        return GeneratedBatches(lambda step: self.make(step, count, seed), widths, count, seed)


# Settings of data sets: in a few words, and before they are checked.


def whole(value: object, otherwise: int = 0) -> int:
    """Return `value` if it is a non-negative int, else `otherwise`; it is checked later."""
    return value if isinstance(value, int) and value >= 0 else otherwise


def unlike(value: object, default: object) -> bool:
    """Return whether a setting differs from its default; arrays always do."""
    return isinstance(value, np.ndarray) or value != default


def brief(value: object) -> str:
    """Return a setting in a few characters; an array by its shape."""
    if isinstance(value, np.ndarray):
        return " x ".join(str(n) for n in value.shape)
    if isinstance(value, float):
        return f"{value:g}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return shorten(value)
