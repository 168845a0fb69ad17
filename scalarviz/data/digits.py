"""Digits: handwritten digits from digits.npz or MNIST, as pictures and one-hot targets.

digits.npz has the test set of "Optical Recognition of Handwritten Digits" by E. Alpaydin and C.
Kaynak, UCI Machine Learning Repository, 1998, https://doi.org/10.24432/C50P49, under CC BY 4.0
(https://creativecommons.org/licenses/by/4.0/): the same numbers as in scikit-learn, in another
format.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from operator import index
from pathlib import Path
from typing import IO, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, number, refuse_mask, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import TableSet, divided
from scalarviz.data.samples import check_shares
from scalarviz.data.table_files import called, readable, unreadable
from scalarviz.errors import InputError, ShapeError

ALL = "0123456789"


@final
class Digits(TableSet):
    """Handwritten digits 0 to 9: the 1,797 pictures of 8 x 8 pixels in scikit-learn, or MNIST.

    Inputs are the pixels of a picture, from 0 to 1, row by row; targets are one-hot rows of ten
    numbers. `shape` is (1, height, width), for sv.Conv2d.

    Args:
        folder: folder with the MNIST files train-images-idx3-ubyte, ..., compressed or not; None
            (default) means the 1,797 built-in digits
        held_out: fraction of digits to hold out for testing, by default 0.2; a value of 1 or more
            is the number of digits to hold out, taken from the end. If the folder has
            test files, t10k-..., these are held out instead
        digits: digits to include, such as "01234567" or a list of numbers; by default all. It does
            not affect which samples are held out
        seed: seed of the choice of held-out digits; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        pictures, labels: integer arrays of shape (n, height, width) and (n,), instead of a folder;
            pixels are from 0 to 255
        limit: maximum bytes of the folder's files as float32; None (default) means 640 MB

    Raises InputError or ShapeError for invalid files or arrays.
    """

    things = "pictures"
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
            require(
                pictures is None and labels is None,
                "digits come from a folder or from pictures and labels, not both",
            )
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
        parts = [
            rows[np.isin(named[rows], wanted)] for rows in divided(len(named), kept, seed, "digits")
        ]
        training, held = [table(found[rows], named[rows], highest) for rows in parts]
        require(
            len(training[0]),
            f"no digit of {settings['digits']} is left to train on: hold out fewer",
        )
        super().__init__(training, settings, held if len(held[0]) else None, order)

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        check_shares(inputs, "pixels of a digit")
        require(
            inputs.any(axis=1).all(),
            "a digit to add is blank, all of its pixels are 0: draw it",
        )

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        pictures, labels = [np.size(settings.get(key, ())) for key in ("pictures", "labels")]
        return BECOMES[IMAGES] * pictures + BECOMES[LABELS] * labels


def table(pictures: Bytes, labels: Bytes, highest: int) -> Pair:
    """Return pictures as rows of numbers from 0 to 1, and labels as one-hot rows of ten numbers."""
    pixels = pictures.reshape(len(pictures), pictures.shape[1] * pictures.shape[2])
    inputs = np.divide(pixels, np.float32(highest), dtype=np.float32)
    return inputs, np.eye(len(ALL), dtype=np.float32)[labels]


def as_digits(digits: object) -> list[int]:
    """Return the distinct digits in ascending order; raise InputError for anything else."""
    with suppress(TypeError, ValueError):
        found = sorted(
            {int(each) if isinstance(each, str) else index(each) for each in iter(digits)}  # type: ignore[call-overload]  # or it raises
        )
        if found and found[0] >= 0 and found[-1] <= 9:
            return found
    raise InputError(
        f"digits are a selection of 0 to 9, such as {ALL!r} or [3, 8], not {shorten(digits)}"
    )


def as_bytes(values: object, what: str, dimensions: int) -> Bytes:
    """Convert an array of integers from 0 to 255 to uint8; raise InputError or ShapeError."""
    refuse_mask(values, f"the {what} of digits")
    try:
        array = np.asarray(values)
    except Exception:  # e.g. rows of different lengths, tensors on another device
        array = np.zeros(0)
    shape = "(n, height, width)" if dimensions == 3 else "(n)"
    require(
        array.ndim == dimensions and array.size,
        f"the {what} of digits are an array {shape}, not of shape {array.shape}",
        ShapeError,
    )
    require(
        array.dtype.kind in "ui" and array.min() >= 0 and array.max() <= 255,
        f"the {what} of digits are whole numbers from 0 to 255, not {array.dtype} such as "
        f"{array.flat[0]}: convert them with .astype(numpy.uint8)",
    )
    return array.astype(np.uint8)


def check_own(pictures: Bytes, labels: Bytes) -> None:
    """Raise ShapeError or InputError unless each picture has one label from 0 to 9."""
    require(
        len(pictures) == len(labels),
        f"there are {len(pictures):,} pictures and {len(labels):,} labels: pass one for each",
        ShapeError,
    )
    require(labels.max() <= 9, f"labels are digits from 0 to 9, not {labels.max()}")


@cache
def built_in() -> tuple[Bytes, Bytes]:
    """Return the built-in digits: pictures with pixels from 0 to 16, and labels."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as file:
        return file["pictures"], file["labels"]


# IDX, the file format of MNIST. A file consists of a magic number (two zeros, code of the dtype,
# number of dimensions), the length of each dimension, then the numbers. Only bytes are supported.
# Sizes in the header are compared with the length of the file before memory is allocated.

Bytes = npt.NDArray[np.uint8]

IMAGES, LABELS = 3, 1  # number of dimensions
BECOMES = {IMAGES: 4, LABELS: 40}  # bytes: a pixel as float32, a label as ten float32
BYTE = 0x08  # code of the dtype uint8
ZIPPED = b"\x1f\x8b"  # first bytes of a gzip file
TIGHTEST = 1032  # largest number of bytes decompressed from one byte


def read_folder(
    folder: str | os.PathLike[str], limit: int | None = None
) -> tuple[Bytes, Bytes, int]:
    """Return pictures (n, height, width), labels (n,), and the number of test digits at the end.

    The files are train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-... for tests. Names
    with a dot before idx, and compressed files with the extension .gz, are also accepted.
    """
    place, budget = as_folder(folder), Budget(limit)
    training = read_pair(place, "train", budget)
    if training is None:
        raise InputError(
            f"train-images-idx3-ubyte, with or without .gz, is missing in {shorten(str(place))}: "
            "pass the folder with the four files of MNIST"
        )
    tests = read_pair(place, "t10k", budget)
    if tests is None:
        return *training, 0
    require(
        tests[0].shape[1:] == training[0].shape[1:],
        f"the pictures for testing are {size_of(tests[0])}, those for training "
        f"{size_of(training[0])}: put matching files into the folder",
        ShapeError,
    )
    pictures, labels = [np.concatenate(parts) for parts in zip(training, tests, strict=True)]
    return pictures, labels, len(tests[1])


def as_folder(folder: object) -> Path:
    """Return the path of an existing folder; raise InputError for anything else."""
    try:
        place = Path(folder)  # type: ignore[arg-type]  # the wrong type raises TypeError
        there = place.is_dir()
    except OSError:  # an invalid name
        there = False
    except (TypeError, ValueError):
        raise InputError(f"a folder must be a str or a Path, not {shorten(folder)}") from None
    require(
        there,
        f"{shorten(str(place))} is not a folder: pass the folder with the files of MNIST",
    )
    return place


def read_pair(folder: Path, part: str, budget: Budget) -> tuple[Bytes, Bytes] | None:
    """Read the pictures and labels of the part "train" or "t10k"; return None if missing."""
    images = find(folder, f"{part}-images", "idx3-ubyte")
    if images is None:
        return None
    named = find(folder, f"{part}-labels", "idx1-ubyte")
    if named is None:
        raise InputError(f"{part}-labels-idx1-ubyte is missing next to {called(images)}: add it")
    pictures, labels = read_idx(images, IMAGES, budget), read_idx(named, LABELS, budget)
    require(
        len(pictures) == len(labels),
        f"{called(images)} has {len(pictures):,} pictures and {called(named)} {len(labels):,} "
        "labels: put matching files into the folder",
        ShapeError,
    )
    wrong = np.flatnonzero(labels > 9)
    if len(wrong):
        raise InputError(
            f"{called(named)} has the label {labels[wrong[0]]} at place {wrong[0]:,}, and digits "
            "go from 0 to 9: use another copy of it"
        )
    return pictures, labels


def find(folder: Path, stem: str, kind: str) -> Path | None:
    """Return the path of a file under any of its possible names, or None."""
    names = [f"{stem}{dot}{kind}{end}" for end in ("", ".gz") for dot in "-."]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_idx(path: str | os.PathLike[str], dimensions: int, budget: Budget) -> Bytes:
    """Read the bytes of an IDX file with `dimensions` dimensions, compressed or not."""
    file = readable(path, budget)
    try:
        with file.open("rb") as raw:
            zipped = raw.read(2) == ZIPPED
            raw.seek(0)
            if not zipped:
                return read_numbers(raw, file, dimensions, file.stat().st_size, budget)
            with gzip.GzipFile(fileobj=raw) as inside:
                most = TIGHTEST * file.stat().st_size
                return read_numbers(inside, file, dimensions, most, budget)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(file, "its compressed data is truncated or modified") from error
    except OSError as error:
        raise unreadable(file, error) from error


def read_numbers(
    file: IO[bytes] | Any, path: Path, dimensions: int, most: int, budget: Budget
) -> Bytes:
    """Read the numbers of an IDX file of at most `most` bytes; raise InputError if invalid."""
    magic = file.read(4)
    if magic != bytes((0, 0, BYTE, dimensions)):
        what = "pictures" if dimensions == IMAGES else "labels"
        wanted = bytes((0, 0, BYTE, dimensions))
        raise InputError(
            f"{called(path)} is not an IDX file of {what}: it begins with "
            f"{magic.hex(' ') or 'nothing'} and not with {wanted.hex(' ')}: pass the files of "
            "MNIST under their own names"
        )
    header = file.read(4 * dimensions)
    if len(header) < 4 * dimensions:
        raise damaged(path, "it ends within its header")
    shape = struct.unpack(f">{dimensions}I", header)
    length = math.prod(shape)
    require(length, f"{called(path)} is empty, of shape {shape}: use another copy of it")
    data = b""
    if length <= most:  # otherwise it is truncated: raise that error, not a memory error
        budget.take(length * BECOMES[dimensions], called(path))
        data = file.read(length + 1)
    if len(data) != length:
        has = "more" if len(data) > length else "fewer"
        raise damaged(path, f"it has {has} than the {length:,} numbers in its header")
    return np.frombuffer(data, np.uint8).reshape(shape)


def size_of(pictures: Bytes) -> str:
    """Return the width and height of pictures as text."""
    _, height, width = pictures.shape
    return f"{width} x {height}"


def damaged(path: Path, what: str) -> InputError:
    return InputError(f"{called(path)} is damaged, {what}: use another copy of it")
