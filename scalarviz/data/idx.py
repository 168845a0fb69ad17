"""IDX, the file format of MNIST: reads pictures of digits and their labels from a folder.

A file consists of a magic number (two zeros, code of the dtype, number of dimensions), the length
of each dimension, then the numbers. Only bytes are supported. Sizes in the header are compared with
the length of the file before memory is allocated.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import shorten
from scalarviz.base.limits import Budget
from scalarviz.data.files import called, readable, unreadable
from scalarviz.errors import InputError, ShapeError

Bytes = npt.NDArray[np.uint8]

IMAGES, LABELS = 3, 1  # numbers of dimensions
BECOMES = {IMAGES: 4, LABELS: 40}  # bytes: a pixel as float32, a label as ten of them
BYTE = 0x08  # code of the dtype uint8
ZIPPED = b"\x1f\x8b"  # first bytes of a gzip file
TIGHTEST = 1032  # most bytes that one compressed byte can stand for


def read_folder(
    folder: str | os.PathLike[str], limit: int | None = None
) -> tuple[Bytes, Bytes, int]:
    """Return pictures (n, height, width), labels (n,), and the number of test digits at the end.

    The files are called train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-... for tests;
    also with a dot before idx, and compressed, with .gz at the end.
    """
    place, budget = as_folder(folder), Budget(limit)
    training = read_pair(place, "train", budget)
    if training is None:
        raise InputError(
            f"there is no train-images-idx3-ubyte, with or without .gz, in {shorten(str(place))}: "
            "pass the folder that holds the four files of MNIST"
        )
    tests = read_pair(place, "t10k", budget)
    if tests is None:
        return *training, 0
    if tests[0].shape[1:] != training[0].shape[1:]:
        raise ShapeError(
            f"the pictures for testing are {size_of(tests[0])}, those for training "
            f"{size_of(training[0])}: put files that belong together into the folder"
        )
    pictures, labels = [np.concatenate(parts) for parts in zip(training, tests, strict=True)]
    return pictures, labels, len(tests[1])


def as_folder(folder: object) -> Path:
    """Return the path of an existing folder; raise InputError for anything else."""
    try:
        place = Path(folder)  # type: ignore[arg-type]  # the wrong type raises TypeError
        there = place.is_dir()
    except OSError:  # an impossible name
        there = False
    except (TypeError, ValueError):
        raise InputError(f"a folder must be a str or a Path, not {shorten(folder)}") from None
    if not there:
        raise InputError(
            f"{shorten(str(place))} is no folder: pass the one that holds the files of MNIST"
        )
    return place


def read_pair(folder: Path, part: str, budget: Budget) -> tuple[Bytes, Bytes] | None:
    """Return pictures and labels of a part, `train` or `t10k`, or None if it has no pictures."""
    images = find(folder, f"{part}-images", "idx3-ubyte")
    if images is None:
        return None
    named = find(folder, f"{part}-labels", "idx1-ubyte")
    if named is None:
        raise InputError(f"beside {called(images)} there is no {part}-labels-idx1-ubyte: add it")
    pictures, labels = read_idx(images, IMAGES, budget), read_idx(named, LABELS, budget)
    if len(pictures) != len(labels):
        raise ShapeError(
            f"{called(images)} has {len(pictures):,} pictures and {called(named)} {len(labels):,} "
            "labels: put files that belong together into the folder"
        )
    wrong = np.flatnonzero(labels > 9)
    if len(wrong):
        raise InputError(
            f"{called(named)} has the label {labels[wrong[0]]} at place {wrong[0]:,}, and digits "
            "go from 0 to 9: use another copy of it"
        )
    return pictures, labels


def find(folder: Path, stem: str, kind: str) -> Path | None:
    """Return the file of a part under any of its names, or None."""
    names = [f"{stem}{dot}{kind}{end}" for end in ("", ".gz") for dot in "-."]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_idx(path: str | os.PathLike[str], dimensions: int, budget: Budget) -> Bytes:
    """Return the bytes of an IDX file with so many dimensions, compressed or not."""
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
        raise damaged(file, "what is compressed in it is cut short or changed") from error
    except OSError as error:
        raise unreadable(file, error) from error


def read_numbers(
    file: IO[bytes] | Any, path: Path, dimensions: int, most: int, budget: Budget
) -> Bytes:
    """Read header and numbers of a file of at most `most` bytes; raise InputError."""
    magic = file.read(4)
    if magic != bytes((0, 0, BYTE, dimensions)):
        what = "pictures" if dimensions == IMAGES else "labels"
        wanted = bytes((0, 0, BYTE, dimensions))
        raise InputError(
            f"{called(path)} is no IDX file of {what}: it begins with "
            f"{magic.hex(' ') or 'nothing'} and not with "
            f"{wanted.hex(' ')}: pass the files of MNIST under their own names"
        )
    header = file.read(4 * dimensions)
    if len(header) < 4 * dimensions:
        raise damaged(path, "it ends within its header")
    shape = struct.unpack(f">{dimensions}I", header)
    length = math.prod(shape)
    if not length:
        raise InputError(f"{called(path)} is empty, of shape {shape}: use another copy of it")
    data = b""
    if length <= most:  # else it is cut short: raise that error, not one of memory
        budget.take(length * BECOMES[dimensions], called(path))
        data = file.read(length + 1)
    if len(data) != length:
        has = "more" if len(data) > length else "fewer"
        raise damaged(path, f"it has {has} than the {length:,} numbers that it speaks of")
    return np.frombuffer(data, np.uint8).reshape(shape)


def size_of(pictures: Bytes) -> str:
    """Return width and height as text."""
    _, height, width = pictures.shape
    return f"{width} x {height}"


def damaged(path: Path, what: str) -> InputError:
    return InputError(f"{called(path)} is damaged, {what}: use another copy of it")
