"""Digits: handwritten digits, those of digits.npz or MNIST; a picture in, ten numbers out.

digits.npz has the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C.
Kaynak, UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49, under CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/): its numbers, in another format, as scikit-learn has
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from operator import index
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, number, refuse_mask, shorten
from scalarviz.core.formulas.randomness import check_seed, shuffled
from scalarviz.data.adding import check_within
from scalarviz.data.base import NEVER_TRAINED, TableSet
from scalarviz.data.batches import Pair
from scalarviz.data.idx import BECOMES, IMAGES, LABELS, Bytes, read_folder
from scalarviz.errors import InputError, ShapeError

ALL = "0123456789"
Rows = npt.NDArray[np.int64]


@final
class Digits(TableSet):
    """Handwritten digits, 0 to 9: 1,797 of 8 x 8 pixels, which scikit-learn also has, or MNIST's.

    Inputs are the pixels of a picture, line by line, from 0 to 1; targets are rows of ten numbers,
    1 at the digit, else 0. `shape` is (1, height, width), as sv.Conv2d takes it.

    folder    folder with the files of MNIST, compressed or not: train-images-idx3-ubyte, ...; None,
              the default: the 1,797 digits
    held_out  share held out for testing, or, from 1 on, the number of digits at the end; by default
              0.2. If the folder has test files, t10k-..., they are held out instead
    digits    which digits to use: "01234567", or a list of numbers; by default all. Whether a digit
              is held out does not depend on it
    seed      seed of the choice of held-out digits; by default 0
    order     "shuffled", the default, "in_order" or "picked", as in Arrays
    pictures, labels   arrays instead of a folder, of shape (n, height, width) and (n,), integers;
                       pixels from 0 to 255
    limit     bytes that the files of a folder may take as float32; None, the default: 640 MB

    Raises InputError or ShapeError for unsuitable files or arrays.
    """

    name = "digits"
    input_tint = "grey"
    output_names = "0123456789"

    def __init__(
        self,
        folder: str | os.PathLike[str] | None = None,
        *,
        held_out: float = 0.2,
        digits: str | Iterable[int] = ALL,
        seed: int = 0,
        order: str = "shuffled",
        pictures: object = None,
        labels: object = None,
        limit: int | None = None,
    ) -> None:
        kept = number(held_out, "held_out", 0.0)
        wanted, seed = as_digits(digits), check_seed(seed)
        own, highest = pictures is not None or labels is not None or folder is not None, 255
        if folder is not None:
            if pictures is not None or labels is not None:
                raise InputError("digits come from a folder or from pictures and labels, not both")
            found, named, tests = read_folder(folder, limit)
            kept = tests or kept
        elif own:
            found, named = as_bytes(pictures, "pictures", 3), as_bytes(labels, "labels", 1)
            check_own(found, named)
        else:
            (found, named), highest = built_in(), 16
        settings = {
            "held_out": kept,
            "digits": "".join(map(str, wanted)),
            "seed": seed,
            "pictures": found if own else None,
            "labels": named if own else None,
        }
        self.shape = (1, *found.shape[1:])
        parts = [rows[np.isin(named[rows], wanted)] for rows in divided(len(named), kept, seed)]
        training, held = [table(found[rows], named[rows], highest) for rows in parts]
        if not len(training[0]):
            raise InputError(f"no digit of {settings['digits']} is left to train on: hold out less")
        super().__init__(training, settings, held if len(held[0]) else None, order)

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        check_within(inputs, 0.0, 1.0, "pixels of a digit")
        if not inputs.any(axis=1).all():
            raise InputError("a digit to add has nothing drawn, all of its pixels are 0: draw it")

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        pictures, labels = [np.size(settings.get(key, ())) for key in ("pictures", "labels")]
        return BECOMES[IMAGES] * pictures + BECOMES[LABELS] * labels


def divided(count: int, held_out: float, seed: int) -> tuple[Rows, Rows]:
    """Return the rows for training and the held-out rows, of `count` samples."""
    rows = np.arange(count)
    if held_out < 1.0:
        rows = shuffled(seed, NEVER_TRAINED, rows, count)
        first = count - round(held_out * count)
    elif held_out == int(held_out) and held_out < count:
        first = count - int(held_out)
    else:
        raise InputError(
            f"held_out is a share below 1 or a number of digits, fewer than the {count:,} that "
            f"there are, not {held_out:g}"
        )
    return rows[:first], rows[first:]


def table(pictures: Bytes, labels: Bytes, highest: int) -> Pair:
    """Return pictures as rows from 0 to 1, and a one-hot row of ten for each label."""
    pixels = pictures.reshape(len(pictures), pictures.shape[1] * pictures.shape[2])
    inputs = np.divide(pixels, np.float32(highest), dtype=np.float32)
    return inputs, np.eye(len(ALL), dtype=np.float32)[labels]


def as_digits(digits: object) -> list[int]:
    """Return the distinct digits in order; raise InputError for anything else."""
    try:
        found = sorted(
            {int(each) if isinstance(each, str) else index(each) for each in iter(digits)}  # type: ignore[call-overload]  # or it raises
        )
        if found and found[0] >= 0 and found[-1] <= 9:
            return found
    except (TypeError, ValueError):
        pass
    raise InputError(f"digits are some of 0 to 9, such as {ALL!r} or [3, 8], not {shorten(digits)}")


def as_bytes(values: object, what: str, dimensions: int) -> Bytes:
    """Return an array of integers from 0 to 255 as uint8; raise InputError, ShapeError."""
    refuse_mask(values, f"the {what} of digits")
    try:
        array = np.asarray(values)
    except Exception:  # e.g. rows of different lengths, tensors on another device
        array = np.zeros(0)
    shape = "(n, height, width)" if dimensions == 3 else "(n)"
    if array.ndim != dimensions or not array.size:
        raise ShapeError(f"the {what} of digits are an array {shape}, not of shape {array.shape}")
    if array.dtype.kind not in "ui" or array.min() < 0 or array.max() > 255:
        raise InputError(
            f"the {what} of digits are whole numbers from 0 to 255, not {array.dtype} such as "
            f"{array.flat[0]}: convert them with .astype(numpy.uint8)"
        )
    return array.astype(np.uint8)


def check_own(pictures: Bytes, labels: Bytes) -> None:
    """Raise ShapeError or InputError unless there is one label from 0 to 9 for each picture."""
    if len(pictures) != len(labels):
        raise ShapeError(
            f"there are {len(pictures):,} pictures and {len(labels):,} labels: pass one for each"
        )
    if labels.max() > 9:
        raise InputError(f"labels are digits from 0 to 9, not {labels.max()}")


@cache
def built_in() -> tuple[Bytes, Bytes]:
    """Return the digits of digits.npz: pictures with pixels from 0 to 16, and labels."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as file:
        return file["pictures"], file["labels"]
