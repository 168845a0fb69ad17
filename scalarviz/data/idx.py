"""IDX, the files of MNIST: pictures of handwritten digits and their labels, from a folder.

A file is a magic number (two zeros, the type of the numbers, how many dimensions), the length of
each dimension, then the numbers. Only bytes are read here. What a file says about itself is
compared with its length before memory is taken for it.
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

from scalarviz.checks.limits import Budget
from scalarviz.checks.numbers import shorten
from scalarviz.data.files import called, readable, unreadable
from scalarviz.errors import InputError, ShapeError

Bytes = npt.NDArray[np.uint8]

IMAGES, LABELS = 3, 1  # dimensions
BECOMES = {IMAGES: 4, LABELS: 40}  # bytes: a pixel a float32, a label ten of them
BYTE = 0x08  # how a file of bytes names the type of its numbers
ZIPPED = b"\x1f\x8b"  # how a compressed file begins
TIGHTEST = 1032  # bytes that one compressed byte can stand for


def read_folder(
    folder: str | os.PathLike[str], limit: int | None = None
) -> tuple[Bytes, Bytes, int]:
    """Pictures (n, height, width), labels (n), and how many, at the end, are those for testing.

    The files are called train-images-idx3-ubyte, train-labels-idx1-ubyte, and t10k-... if there are
    any for testing; also with a dot before idx, and compressed, with .gz at the end.
    """
    place, budget = as_folder(folder), Budget(limit)
    training = read_pair(place, "train", budget)
    if training is None:
        raise InputError(
            f"there is no train-images-idx3-ubyte in {shorten(str(place))}, nor with .gz: pass the "
            "folder that holds the four files of MNIST"
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
    """The path of a folder that is there."""
    try:
        place = Path(folder)  # type: ignore[arg-type]  # what is no path raises, as it should
        there = place.is_dir()
    except OSError:  # such a name cannot be
        there = False
    except (TypeError, ValueError):
        raise InputError(f"a folder is a text or a Path, not {shorten(folder)}") from None
    if not there:
        raise InputError(
            f"{shorten(str(place))} is no folder: pass the one that holds the files of MNIST"
        )
    return place


def read_pair(folder: Path, part: str, budget: Budget) -> tuple[Bytes, Bytes] | None:
    """The pictures and the labels of one part, `train` or `t10k`; None if there are no pictures."""
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
    """The file of a part, by any of its names."""
    names = [f"{stem}{dot}{kind}{end}" for end in ("", ".gz") for dot in "-."]
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_idx(path: str | os.PathLike[str], dimensions: int, budget: Budget) -> Bytes:
    """The bytes of an IDX file that has so many dimensions, compressed or not."""
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
    """Header and numbers of a file that has no more than `most` bytes."""
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
        raise InputError(f"{called(path)} is empty: its shape is {shape}")
    data = b""
    if length <= most:  # else it is cut short, and that is its fault
        budget.take(length * BECOMES[dimensions], called(path))
        data = file.read(length + 1)
    if len(data) != length:
        has = "more" if len(data) > length else "fewer"
        raise damaged(path, f"it has {has} than the {length:,} numbers that it speaks of")
    return np.frombuffer(data, np.uint8).reshape(shape)


def size_of(pictures: Bytes) -> str:
    """Width and height in words."""
    _, height, width = pictures.shape
    return f"{width} x {height}"


def damaged(path: Path, what: str) -> InputError:
    return InputError(f"{called(path)} is damaged, {what}: use another copy of it")
