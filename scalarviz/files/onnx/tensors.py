"""Tensors of a model, validated against their shape before memory is allocated.

A model may keep tensors in a second file. It must lie in the folder of the model, after resolving
links, and must be long enough.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import shorten
from scalarviz.base.limits import Budget
from scalarviz.errors import InputError

Array = npt.NDArray[Any]

# Data types of the format: how bytes are stored, and the field for single numbers.
TYPES = {
    1: ("<f4", "float_data"),
    6: ("<i4", "int32_data"),
    7: ("<i8", "int64_data"),
    9: ("?", "int32_data"),
    10: ("<f2", "int32_data"),
    11: ("<f8", "double_data"),
}
FLOATS = (1, 10, 11)
HALF = 10
EXTERNAL = 1  # data_location of tensors in another file

MOST_DIMENSIONS = 8


@dataclass(frozen=True, eq=False)
class Stored:
    """A TensorProto, decoded once at its first use."""

    tensor: Any
    folder: Path  # where a second file may be
    budget: Budget  # limits the memory of all tensors

    @cached_property
    def array(self) -> Array:
        return decode(self.tensor, self.folder, self.budget)


@dataclass(frozen=True, eq=False)
class Constant:
    """A tensor that a model has stored under a name.

    `turned` says that a Transpose follows it.
    """

    name: str
    stored: Stored
    turned: bool = False

    @cached_property
    def array(self) -> Array:
        """The numbers, in their shape."""
        try:
            found = self.stored.array
        except InputError as error:
            raise InputError(f"the numbers {shorten(self.name)} {error}") from error
        return found.T if self.turned else found

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def decode(tensor: Any, folder: Path, budget: Budget) -> Array:
    """Return the numbers of a TensorProto; errors continue after the name of the tensor."""
    if tensor.data_type not in TYPES:
        raise InputError(f"are of the type {tensor.data_type}, which is none of plain numbers")
    kind, listed = TYPES[tensor.data_type]
    shape = tuple(tensor.dims)
    if len(shape) > MOST_DIMENSIONS or any(n < 0 for n in shape):
        raise InputError(f"have the shape {shorten(shape)}")
    count = prod(shape)
    stored = np.dtype(kind)
    try:
        budget.take(count * stored.itemsize, "they")
    except InputError as error:
        raise InputError(f"have the shape {shorten(shape)}, which is too large: {error}") from None
    found = numbers_of(tensor, listed, stored, count, folder)
    if len(found) != count:
        raise InputError(f"have the shape {shorten(shape)}, but there are {len(found)} of them")
    if tensor.data_type in FLOATS and not np.isfinite(found).all():
        raise InputError("are not all finite")
    return found.reshape(shape)


def numbers_of(tensor: Any, name: str, stored: np.dtype[Any], count: int, folder: Path) -> Array:
    """Return the numbers, flat, from wherever they are stored."""
    if tensor.data_location == EXTERNAL:
        return as_numbers(read_external(tensor, count * stored.itemsize, folder), stored)
    if tensor.HasField("raw_data"):
        return as_numbers(tensor.raw_data, stored)
    listed = getattr(tensor, name)
    if len(listed) != count:
        raise InputError(f"should be {count:,}, but there are {len(listed):,} of them")
    if tensor.data_type == HALF:  # float16 bits stored as integers
        return np.array(listed, np.int64).astype(np.uint16).view("<f2")
    return np.array(listed, stored)


def as_numbers(data: bytes, stored: np.dtype[Any]) -> Array:
    """Decode bytes as numbers."""
    if len(data) % stored.itemsize:
        raise InputError(f"take {len(data):,} bytes, which is no whole number of them")
    if stored.kind == "b":
        return np.frombuffer(data, np.uint8).astype(np.bool_)
    return np.frombuffer(data, stored)


def read_external(tensor: Any, length: int, folder: Path) -> bytes:
    """Read bytes from a file in the model's folder."""
    about = {entry.key: entry.value for entry in tensor.external_data}
    location = about.get("location", "")
    path = inside(location if isinstance(location, str) else "", folder)
    try:
        offset = int(about.get("offset", "0"))
        stated = int(about.get("length", length))
    except ValueError:
        raise InputError("lie in another file at a place that is no number") from None
    if offset < 0 or stated != length:
        raise InputError(f"take {length:,} bytes, and their file is said to have {stated:,}")
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size < offset + length:
            raise InputError(f"lie in the file {path.name!r}, which is too short")
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(length)
    except OSError as error:
        raise InputError(
            f"lie in the file {path.name!r}, which cannot be read: {error.strerror or error}"
        ) from error
    return data


def inside(location: str, folder: Path) -> Path:
    """Return the path of a file in a folder; raise InputError if it leads out, by a link too."""
    parts = PurePosixPath(location).parts
    odd = PureWindowsPath(location).anchor or "\\" in location or "\0" in location
    if not parts or odd or ".." in parts or parts[0] == "/":
        raise InputError(f"lie in {shorten(location)}, which is no file in the model's folder")
    root = Path(os.path.realpath(folder))
    path = Path(os.path.realpath(root / location))
    if not path.is_relative_to(root):
        raise InputError(f"lie in {shorten(location)}, which leads out of the model's folder")
    return path
