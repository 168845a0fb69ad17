"""Tables of samples: conversion of arrays, labels and names, and appending samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from scalarviz.base.checks import (
    FloatArray,
    Shape,
    as_batch,
    as_floats,
    as_rows_remedy,
    listed,
    number,
    one_hot,
    require,
    shorten,
    size,
)
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.losses import Weights
from scalarviz.core.formulas.metric_formulas import is_one_hot
from scalarviz.data.batches import Pair
from scalarviz.errors import InputError, ShapeError

MOST_NAMES = 128  # maximum number of column names, limited by the space in a picture
PICTURES = (3, 4)  # dimensions of an array of pictures, without and with channels
LARGEST_SET = 2**24  # largest number of generated samples


def with_columns(pair: Pair) -> Pair:
    """Return inputs and targets, with 1-D targets converted to a column."""
    inputs, targets = pair
    return (inputs, targets[:, np.newaxis]) if targets.ndim == 1 else pair


def as_table(inputs: object, targets: object, *, copy: bool = True) -> tuple[Pair, Shape]:
    """Return inputs and targets with one row per sample, and the shape of the input pictures.

    float32 is kept, other numbers become float64; `copy` is as in `floats`. The shape is () if the
    inputs are not pictures. Raises InputError if an array is invalid.
    """
    x = as_floats(inputs, "the array of inputs", keep=True, copy=copy)
    y = as_floats(targets, "the array of targets", keep=True, copy=copy)
    shape = x.shape[1:] if x.ndim in PICTURES and x.size else ()
    if shape:
        x = x.reshape(len(x), -1)
    if y.ndim == 1 and x.ndim == 2:
        y = y[:, np.newaxis]
    y = y.reshape(len(y), -1) if y.ndim > 2 and y.size else y
    for name, table in (("inputs", x), ("targets", y)):
        require(
            table.ndim == 2 and table.size != 0,
            f"the {name} of a data set are an array of shape (samples, {name}), not of shape "
            f"{table.shape}{as_rows_remedy(table.shape) or ': give each sample a row'}",
            ShapeError,
        )
        as_batch(table, None, f"the array of {name}", copy=False)  # raises NotFiniteError
    require(
        len(x) == len(y),
        f"the inputs have {len(x)} rows and the targets {len(y)}: pass one target for each input",
        ShapeError,
    )
    return (x, y), shape


def as_labels(targets: object, names: Sequence[str] = ()) -> tuple[object, Sequence[str]]:
    """Return labels from 0 and the class names, for targets that are strings.

    Args:
        names: class names, if known; by default the sorted strings

    Other targets are returned unchanged.
    """
    given = texts_in(targets)
    if not given:
        return targets, names
    known = names or sorted({*given})
    places = {name: place for place, name in enumerate(known)}
    return [
        places[each] if each in places else pick(places, each, "class") for each in given
    ], known


def texts_in(targets: object) -> list[str]:
    """Return targets as a list if they are strings: a list, an array or a table column.

    Returns [] for other targets; raises InputError if the first is a string but not all are.
    """
    if not isinstance(targets, (list, tuple)):
        try:
            array = np.asarray(targets)
        except Exception:  # tensors and tables raise errors of many kinds
            return []
        is_column = array.ndim in (1, 2) and array.size == len(array) and array.dtype.kind in "OUT"
        targets = array.ravel().tolist() if is_column else []
    if not targets or not isinstance(targets[0], str):
        return []
    for row, each in enumerate(targets):
        if not isinstance(each, str):
            raise InputError(
                f"the targets are names of classes, and row {row} has {shorten(each)}: name its "
                "class, or leave the sample out"
            )
    return list(targets)


def rows_of_labels(targets: FloatArray, classes: object, trained: float = math.inf) -> FloatArray:
    """Convert a column of labels to one-hot rows of `classes` numbers; raise InputError if invalid.

    Args:
        trained: number of training samples; the other ones are held out; by default all
    """
    count = count_of(classes, "classes")
    require(
        targets.shape[1] == 1,
        f"targets with classes={count} are one label a sample, not rows of "
        f"{targets.shape[1]} numbers: leave classes out",
        ShapeError,
    )
    return one_hot(targets, count, trained)


def is_labels(targets: FloatArray) -> bool:
    """Return whether targets can be class labels: integers from 0."""
    return bool(targets.min() >= 0 and (targets == np.floor(targets)).all())


def names_in(names: object) -> list[Any]:
    """Return a list or tuple as a list; an empty list for anything else."""
    return list(names) if isinstance(names, (list, tuple)) else []


def columns_in(table: object, count: int) -> list[str]:
    """Return the column names of a data frame; [] for other tables or too many columns."""
    columns = getattr(table, "columns", None)
    names = list(columns) if np.iterable(columns) else []
    is_named = len(names) == count <= MOST_NAMES and all(isinstance(each, str) for each in names)
    return names if is_named else []


def checked_names(key: str, names: object, count: int, what: str) -> list[str]:
    """Return a list of `count` names, or []; raise InputError for anything else."""
    given = names_in(names)
    if isinstance(names, (list, tuple)) and not given:
        return []
    if len(given) != count or not all(isinstance(name, str) for name in given):
        raise InputError(
            f"{key} are a list of strings, one for each of the {what}, not {shorten(names)}"
        )
    return given


def cut(whole: Pair, tests: int) -> tuple[Pair, Pair | None]:
    """Split samples into those for training and the last `tests`, held out (None if 0)."""
    inputs, targets = whole
    if not tests:
        return whole, None
    return (inputs[:-tests], targets[:-tests]), (inputs[-tests:], targets[-tests:])


def held_out_last(rows: Any, kinds: Any, groups: Any, training: int) -> tuple[Any, int]:
    """Reorder rows so that held-out ones are at the end; return the rows and the held-out count.

    Args:
        rows: all row indices in random order
        kinds: class of each row; the same share of each class is held out, at least one row
        groups: group of each row, or None; a group is not split
        training: minimum number of training samples

    If groups are given, kinds are ignored.
    """
    if groups is None:
        of_rows = kinds[rows]
        by_kind, sizes = np.argsort(of_rows, kind="stable"), np.bincount(of_rows)
        ranks = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        places = np.empty(len(rows))
        places[by_kind] = (ranks + 0.5) / np.repeat(sizes, sizes)
        places[by_kind[np.cumsum(sizes)[sizes > 1] - 1]] = 1.0  # one of each kind is held out
    else:
        _, firsts, of_rows = np.unique(groups[rows], return_index=True, return_inverse=True)
        places = firsts[of_rows].astype(float)
        training = int(np.sum(places <= np.sort(places)[training - 1]))
        require(training < len(rows), "no group is left to hold out: pass a smaller share")
    is_training = np.zeros(len(rows), np.bool_)
    is_training[np.argsort(places, kind="stable")[:training]] = True
    return np.append(rows[is_training], rows[~is_training]), len(rows) - training


def groups_of(groups: object, count: int) -> Any:
    """Return the group of each sample as a number; raise InputError if `groups` is invalid."""
    found = np.zeros(0)
    with suppress(ValueError):  # of rows of unequal length
        found = np.asarray(groups)
    require(
        found.shape == (count,) and found.dtype.kind in "iufbUS",
        f"groups are a number or a string for each of the {count} samples, not {shorten(groups)}",
    )
    return np.unique(found, return_inverse=True)[1].ravel()


FEWEST_OF_A_KIND = 10  # average samples per whole number for targets to be classes


def kinds_in(targets: FloatArray, *, are_classes: bool) -> Any:
    """Return the class of each sample as a number, or 0 for all if targets are not classes.

    Args:
        are_classes: whether a single column of targets is known to contain labels
    """
    if targets.shape[1] > 1:
        return targets.argmax(axis=1) * is_one_hot(targets)
    _, found = np.unique(targets, return_inverse=True)
    few = is_labels(targets) and FEWEST_OF_A_KIND * (found.max() + 1) <= len(targets)
    return found.ravel() * (are_classes or few)


def class_weights_of(
    given: object,
    targets: FloatArray,
    classes: int | None,
    names: Sequence[str],
    weights: Weights,
    tests: int,
) -> FloatArray:
    """Return the class weight of each sample; raise InputError if `given` is invalid.

    Args:
        given: "balanced", or a dict of weights by label or class name
        targets: labels in a column, or one-hot rows, of all samples
        classes: number of classes if targets are labels, or None
        weights: sample weights used to count classes, or None for equal weights
        tests: number of held-out samples at the end; they are not counted, and have weight 1
    """
    column = targets if targets.shape[1] == 1 else targets.argmax(axis=1)
    labels = np.union1d(column, np.arange(classes or len(names)))
    found = np.searchsorted(labels, column.ravel())
    require(
        not (labels % 1).any() and (column is targets or is_one_hot(targets)),
        "class_weight needs classes, and these targets are not classes: pass sample_weight",
    )
    places: dict[Any, int] = {int(label): place for place, label in enumerate(labels)}
    places |= {name: places[i] for i, name in enumerate(names) if i in places}
    by_class, kept = np.ones(len(labels)), slice(len(found) - tests)
    if isinstance(given, Mapping):
        for key, weight in given.items():
            if key not in places:
                known = listed([shorten(each) for each in names or places])
                raise InputError(f"class_weight has {shorten(key)}, and the classes are {known}")
            by_class[places[key]] = number(weight, f"the weight of class {shorten(key)}", 0.0)
    else:
        what = f"class_weight is 'balanced' or a dict of weights by class, not {shorten(given)}"
        require(isinstance(given, str) and given == "balanced", what)
        counts = np.bincount(found[kept], None if weights is None else weights[kept], len(labels))
        by_class = counts.sum() / np.count_nonzero(counts) / np.where(counts, counts, 1.0)
    return np.append(by_class[found[kept]], np.ones(tests))


def in_shape(table: FloatArray, shape: Shape) -> FloatArray:
    """Reshape samples to a shape; return the same object if unchanged, which avoids a copy."""
    return table if table.shape[1:] == shape else table.reshape(-1, *shape)


def with_tests(
    whole: Pair, held_out: object, share: object, names: Sequence[str], shape: Shape
) -> tuple[Pair, int]:
    """Append held-out samples; return all samples and the held-out count, or raise InputError.

    `held_out` is a pair of arrays, or the number of last samples of `whole` to hold out; `names`
    are class names, `shape` is the shape of a picture, or ().
    """
    require(share == 1.0, f"pass share={shorten(share)} or held_out, not both")
    if not isinstance(held_out, (tuple, list)):
        return whole, count_of(held_out, "held_out", high=len(whole[0]) - 1)
    require(
        len(held_out) == 2,
        f"held_out is a pair of arrays (inputs, targets) or a number of samples, not "
        f"{len(held_out)} arrays",
    )
    tests, other = as_table(held_out[0], as_labels(held_out[1], names)[0], copy=False)
    widths = [tuple(table.shape[1] for table in pair) for pair in (whole, tests)]
    require(
        widths[0] == widths[1],
        f"the held-out samples have {widths[1][0]} -> {widths[1][1]} numbers, those for "
        f"training {widths[0][0]} -> {widths[0][1]}: make the two equal",
        ShapeError,
    )
    require(
        other == shape,
        f"the held-out samples have the shape {other or widths[1][:1]}, those for training "
        f"{shape or widths[0][:1]}: make the two equal",
        ShapeError,
    )
    joined = [np.concatenate(pair) for pair in zip(whole, tests, strict=True)]
    return (joined[0], joined[1]), len(tests[0])


def share_of(share: object) -> float:
    """Check that a share is above 0 and at most 1, and return it; else raise InputError."""
    result = number(share, "share", 0.0, open_low=True)
    require(result <= 1.0, f"share must be at most 1, all samples, not {shorten(share)}")
    return result


def count_of(value: object, what: str, low: int = 1, high: int = LARGEST_SET) -> int:
    """Check that a count is between two bounds, and return it; else raise InputError."""
    result = size(value, what)
    if low <= result <= high:
        return result
    raise InputError(f"{what} must be an integer from {low:,} to {high:,}, not {result:,}")


def same_bits(table: FloatArray) -> FloatArray:
    """Round to multiples of 2**-20: machines differ in the last digits of sines and logarithms."""
    return np.round(table * 2.0**20) * 2.0**-20


# Samples added to a table: checks, and tables that grow without copies.

MOST_ADDED = 10_000  # samples added to one data set
SPARE = 64  # minimum number of spare rows of a copied table


@final
@dataclass(frozen=True)
class GrowingTable:
    """A table with spare rows that several data sets share as samples are appended.

    Attributes:
        claimed: for each number of rows, a token of the one append that may write after them
    """

    inputs: np.ndarray
    targets: np.ndarray
    claimed: dict[int, object] = field(default_factory=dict)

    @staticmethod
    def of(table: Pair, more: int) -> GrowingTable:
        """Return a copy of a table with space for at least `more` additional rows."""
        count = len(table[0])
        rows = count + max(more, SPARE, count // 8)
        x, y = [np.empty((rows, each.shape[1]), each.dtype) for each in table]
        room = GrowingTable(x, y)
        room.inputs[:count], room.targets[:count] = table
        return room

    def appended(self, count: int, added: Pair) -> Pair | None:
        """Append rows after the first `count`; return the table, or None if later rows are used."""
        end, token = count + len(added[0]), object()
        if end > len(self.inputs) or self.claimed.setdefault(count, token) is not token:
            return None
        self.inputs[count:end], self.targets[count:end] = added
        return self.inputs[:end], self.targets[:end]


def as_samples(
    inputs: object,
    targets: object,
    widths: tuple[int, int],
    *,
    labels: bool,
    picture: Shape = (),
) -> Pair:
    """Return one or several samples as float64 arrays with one row per sample.

    Args:
        widths: number of inputs and number of targets
        labels: whether targets may be class labels, which are then one-hot encoded
        picture: shape of input pictures; by default (), which means no pictures

    Raises InputError, ShapeError or NotFiniteError for invalid samples.
    """
    x, is_single = as_batch(inputs, widths[0], "a sample to add", picture=picture)
    y = as_floats(targets, "the target of a sample to add")
    count = len(x)
    if labels and y.size == count and widths[1] > 1:
        y = one_hot(y.reshape(-1, 1), widths[1])
    elif y.size == count * widths[1] and (is_single or len(y) == count):
        y = y.reshape(count, widths[1])
    else:
        raise ShapeError(
            f"a sample to add has a target of {widths[1]} numbers, one row for each of "
            f"{count:,} samples, not {shorten(targets)}"
        )
    as_batch(y, widths[1], "the target of a sample to add")
    require(count, "no sample to add: pass at least one")
    return x, y


def check_shares(table: np.ndarray, what: str) -> None:
    """Raise InputError unless all numbers are from 0 to 1."""
    wrong = table[(table < 0.0) | (table > 1.0)]
    if wrong.size:
        raise InputError(f"{what} are numbers from 0 to 1, and one is {wrong.flat[0]:g}: scale it")
