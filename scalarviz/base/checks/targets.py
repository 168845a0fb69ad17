"""Checks and conversions of targets: one row a sample, or one number or class label a sample."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.base.checks.numbers import FloatArray, Shape, as_batch, as_floats
from scalarviz.errors import InputError, ShapeError


def as_pairs(
    inputs: object,
    targets: object,
    widths: tuple[int, int],
    who: str,
    *,
    copy: bool = True,
    classes: int = 0,
    picture: Shape = (),
) -> tuple[FloatArray, FloatArray]:
    """Return inputs and targets as 2-D arrays with equally many rows; `widths` are the columns.

    `copy` and `picture` are as in `as_batch`, `classes` as in `as_targets`.
    """
    batch, _ = as_batch(inputs, widths[0], who, copy=copy, picture=picture)
    who = f"the target of {who}"
    samples, width = len(batch), widths[1]
    return batch, as_targets(targets, samples, width, who, "inputs", copy=copy, classes=classes)


def as_targets(
    targets: object,
    samples: int,
    width: int,
    who: str,
    of_what: str = "predictions",
    *,
    copy: bool = True,
    classes: int = 0,
) -> FloatArray:
    """Return targets as a 2-D array of shape (samples, width).

    One number a sample is a target if `width` is 1. For a larger width it is a class label if the
    loss takes labels of `classes` classes, see `Loss.classes`; 0, the default: it takes none.

    Raises ShapeError for other shapes, InputError for wrong labels.
    """
    try:
        wanted, _ = as_batch(targets, width, who, copy=copy)
    except ShapeError as error:
        one_each = as_one_each(targets, samples, width, who, classes)
        if one_each is None:
            raise ShapeError(f"{error}{labels_as_rows(targets, samples, width)}") from None
        return one_each
    if len(wanted) != samples:
        one_each = as_one_each(targets, samples, width, who, classes)
        if one_each is None:
            raise ShapeError(
                f"the {of_what} have {samples} rows and the targets {len(wanted)}: pass one target "
                f"for each{labels_as_rows(targets, samples, width)}"
            )
        return one_each
    return wanted


def as_one_each(
    targets: object, samples: int, width: int, who: str, classes: int
) -> FloatArray | None:
    """Return the rows for one number a sample, or None if `targets` are something else."""
    numbers = as_floats(targets, who)
    if not is_one_each(numbers, samples) or (width > 1 and not classes):
        return None
    as_batch(numbers.reshape(-1, 1), 1, who)  # raises NotFiniteError
    if width == 1:
        check_binary(numbers, classes)
        return numbers.reshape(-1, 1)
    return one_hot(numbers, classes)


def is_one_each(numbers: FloatArray, samples: int) -> bool:
    """Return whether an array has one number for each of some samples."""
    return numbers.size == samples and numbers.shape[1:] in ((), (1,))


def one_hot(labels: FloatArray, classes: int, trained: float = math.inf) -> FloatArray:
    """Return a row of `classes` numbers for each label, 1 at the label, else 0.

    `trained` is as in `check_labels`. Raises InputError unless all labels are whole numbers from 0
    to `classes` - 1.
    """
    check_labels(labels, classes, trained)
    rows = np.zeros((labels.size, classes))
    rows[np.arange(labels.size), labels.ravel().astype(np.int64)] = 1.0
    return rows


def check_labels(labels: FloatArray, classes: int, trained: float = math.inf) -> None:
    """Raise InputError unless all labels are whole numbers from 0 to `classes` - 1.

    trained  after how many labels those of held-out samples follow; by default there are none
    """
    given = labels.ravel()
    wrong = np.flatnonzero((given < 0.0) | (given >= classes) | (given % 1.0 != 0.0))
    if not wrong.size:
        return
    row, remedy = wrong[0], ""
    place = f"{row:,}" if row < trained else f"{row - trained:,} of the held-out samples"
    if given.min() >= 0.0 and not (given % 1.0).any():
        remedy = f": a network with {int(given.max()) + 1:,} outputs has one for each label"
        if given.min() == 1.0 and given.max() == classes:
            remedy = ": labels that begin with 1 become these by labels - 1"
    raise InputError(
        f"class labels for this network and loss must be whole numbers from 0 to {classes - 1:,}, "
        f"not {given[row]:g} at row {place}{remedy}"
    )


def check_binary(labels: FloatArray, classes: int) -> None:
    """Check whole numbers for one output as labels; other numbers, such as 0.3, are accepted.

    `classes` is as in `as_targets`: 0 accepts everything.
    """
    if classes and not (labels % 1.0).any():
        check_labels(labels, classes)


def labels_as_rows(targets: object, samples: int, width: int) -> str:
    """Return a remedy for class labels where the loss takes none, or ""."""
    array = np.asarray(targets)
    numbers = array.astype(np.float64).ravel()
    if width == 1 or not is_one_each(array, samples) or not np.isfinite(numbers).all():
        return ""
    if (numbers < 0.0).any() or (numbers % 1.0).any():
        return ""
    if numbers.max() >= width:
        return f": class labels up to {numbers.max():g} take as many outputs and one more"
    plain = array.ndim < 2 and array.dtype.kind in "iu"
    code = "labels" if plain else "np.ravel(labels).astype(int)"
    return f": class labels become rows of {width} numbers by np.eye({width})[{code}]"
