"""Checked safetensors, the format of saved files: arrays, and a description with a checksum.

Any program that reads safetensors can read the arrays. The metadata has one entry, "scalarviz", a
JSON text with the checksum, the version of the format, the kind of the file (a row of KINDS), and a
description defined by the caller. The checksum is the SHA-256 of the complete file with zeros in
place of the checksum, so that a change of any byte is detected.

Files may be untrusted: reading executes no code, checks everything before use, and needs at most a
small multiple of the file size in memory. Writing copies only the header.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten
from scalarviz.base.limits import LARGEST_HEADER, MOST_PARTS, memory_size
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import FileError
from scalarviz.files.atomic import as_path, bytes_of, replace_file, shown

Array = npt.NDArray[Any]
# An array to be written in parts: its shape, and arrays of one type, one after the other.
InParts = tuple[tuple[int, ...], Sequence[Array]]
Arrays = Mapping[str, Array | InParts]
Description = dict[str, Any]

NAME = "scalarviz"
METADATA = "__metadata__"  # key of the metadata in a safetensors header
VERSION = 3  # files of newer versions are rejected
# Renamed arrays and settings of version 1, by their last word.
SINCE_VERSION_2 = {"scaling": "state"}
# Kinds of files, and their readers.
KINDS = {
    "network": "sv.load(path)",
    "expression": "sv.load(path)",
    "run": "sv.Session.load(path)",
}
# An extension of letters is a format; one with a digit is a version or a date, except for these.
WITH_DIGITS = (".7z", ".bz2", ".h5", ".hdf5", ".mp4")
# Extensions of networks and runs.
WRITTEN_AS = {
    "network": ".safetensors, .onnx, .npz, .glsl or .hlsl",
    "run": ".safetensors; s.to_csv(path) writes its losses and metrics",
}

# Supported dtypes: names in safetensors and in numpy.
DTYPES = {"U8": "uint8", "I64": "int64", "F32": "float32", "F64": "float64", "BOOL": "bool"}

COPIES = 3  # size of a file in memory while it is read
LENGTH_BYTES = 8  # safetensors begins with the length of the header, a multiple of this

# The JSON text begins with the checksum; its quotation marks are escaped in the file.
BEFORE_CHECKSUM = rb"{\"checksum\":\""
NO_CHECKSUM = "0" * 64


def write(path: object, kind: str, description: Description, arrays: Arrays) -> None:
    """Save a description, as JSON, and arrays; replace an existing file."""
    replace_file(as_own_path(path, kind), parts_of(kind, description, arrays))


def as_own_path(path: object, kind: str) -> Path:
    """Return the path of a file to write; raise InputError if it has another format's extension."""
    found = as_path(path)
    ending = found.suffix.strip().lower()
    require(
        not (ending in WITH_DIGITS or (ending[1:].isalpha() and ending != ".safetensors")),
        f"{shown(found)} ends in {found.suffix!r}: a {kind} is saved as "
        f"{WRITTEN_AS.get(kind, '.safetensors')}",
    )
    return found


def read(path: object, kind: str) -> tuple[Description, dict[str, Array]]:
    """Return the description and arrays of a file of this kind; raise FileError."""
    return read_one_of(path, (kind,))[1:]


def read_one_of(path: object, kinds: Sequence[str]) -> tuple[str, Description, dict[str, Array]]:
    """Return the kind, description and arrays of a file of one of `kinds`; raise FileError."""
    found = as_path(path)
    data, about = read_whole(found)
    check_sum(found, data, about)
    kind = kinds[0]
    if (other := about.get("kind")) not in kinds:
        reader = KINDS.get(other) if isinstance(other, str) else None
        remedy = f"read it with {reader}" if reader else f"pass the path of a {kind}"
        raise FileError(f"{shown(found)} holds a {shorten(other)[1:-1]}, not a {kind}: {remedy}")
    description = about.get("description")
    if not isinstance(description, dict):
        raise damaged(found, "it has no description")
    arrays = decode_arrays(found, data)
    return str(other), description, {current_name(name): array for name, array in arrays.items()}


def current_name(name: str) -> str:
    """Return the current name of an array or setting, given its name in a file of any version."""
    first, space, last = name.rpartition(" ")
    return first + space + SINCE_VERSION_2.get(last, last)


def encode(kind: str, description: Description, arrays: Arrays) -> bytearray:
    """Return the bytes of a complete file."""
    return bytearray(b"".join(map(bytes_of, parts_of(kind, description, arrays))))


def parts_of(kind: str, description: Description, arrays: Arrays) -> list[Array]:
    """Return the parts of a file: the header, with the checksum of all parts, and the arrays."""
    pick(KINDS, kind, "kind of file")
    about = {"checksum": NO_CHECKSUM, "version": VERSION, "kind": kind, "description": description}
    text = json.dumps(about, allow_nan=False, separators=(",", ":"))
    header: Description = {METADATA: {NAME: text}}
    stored = [(name, as_stored(name, array)) for name, array in arrays.items()]
    stored.sort(key=lambda each: -each[1][1][0].itemsize)  # for alignment
    codes, end = {dtype: code for code, dtype in DTYPES.items()}, 0
    for name, (shape, parts) in stored:
        start, end = end, end + sum(part.nbytes for part in parts)
        dtype = codes[parts[0].dtype.name]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    letters = json.dumps(header, separators=(",", ":"))
    letters += " " * (-len(letters) % LENGTH_BYTES)
    require(
        len(letters) <= LARGEST_HEADER
        and max(count_parts(letters), count_parts(text)) <= MOST_PARTS,
        f"the description takes {len(text):,} bytes and has {len(arrays):,} arrays, more than "
        f"the limit of {LARGEST_HEADER:,} bytes in {MOST_PARTS:,} parts: put long values into an "
        "array",
    )
    head = bytearray(len(letters).to_bytes(LENGTH_BYTES, "little") + letters.encode())
    whole, numbers = hashlib.sha256(head), [part for _, (_, parts) in stored for part in parts]
    for part in map(bytes_of, numbers):
        whole.update(part)
    head[place_of_checksum(head)] = whole.hexdigest().encode()
    return [np.frombuffer(head, np.uint8), *numbers]


def as_stored(name: str, array: Array | InParts) -> InParts:
    """Return an array in the form in which it is stored: little-endian byte order."""
    shape, parts = array if isinstance(array, tuple) else (array.shape, [array])
    dtype = parts[0].dtype
    require(
        dtype.name in DTYPES.values(),
        f"the array {name!r} holds {dtype}: a file holds {', '.join(DTYPES.values())}",
    )
    return shape, [part.astype(dtype.newbyteorder("<"), copy=False) for part in parts]


def header_length(data: bytes | bytearray) -> int:
    """Return the length of the header, from the first bytes of a file."""
    return int.from_bytes(data[:LENGTH_BYTES], "little")


def place_of_checksum(data: bytes | bytearray) -> slice:
    """Return the slice of the checksum in a file, which is empty if it is missing."""
    found = data.find(BEFORE_CHECKSUM, LENGTH_BYTES, LENGTH_BYTES + header_length(data))
    start = found + len(BEFORE_CHECKSUM)
    return slice(start, start + len(NO_CHECKSUM)) if found >= 0 else slice(0, 0)


# ---- reading ------------------------------------------------------------------------------------


def read_whole(path: Path) -> tuple[bytes, Description]:
    """Return all bytes and the "scalarviz" metadata of a file; check the metadata first."""
    try:
        size = size_of(path)
        with path.open("rb") as file:
            about = parse_about(path, read_header(path, file, size))
            if 0 < memory_size() < COPIES * size:
                raise MemoryError
            file.seek(0)
            data = file.read(size)
    except FileNotFoundError:
        recorded = ", or train first: a followed model is recorded from its first step on"
        how = recorded if path.suffix == ".sv" else ""
        raise FileError(f"file not found: {shown(path)}: check the path{how}") from None
    except MemoryError:
        raise FileError(
            f"{shown(path)} is too large for the memory of this machine: load it on another"
        ) from None
    except OSError as error:
        raise FileError(
            f"{shown(path)} cannot be read: {error.strerror or error}: check the path and its "
            "permissions"
        ) from error
    return data, about


def size_of(path: Path) -> int:
    """Return the size of a regular file; raise FileError for a folder or a device."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise FileError(f"{shown(path)} is {kind}: pass the path of a saved file")
    return status.st_size


def read_header(path: Path, file: IO[bytes], size: int) -> bytes:
    """Return the header of a file; raise FileError if it is too long for the file or for us."""
    length = header_length(file.read(LENGTH_BYTES))
    if size < LENGTH_BYTES or length > min(size - LENGTH_BYTES, LARGEST_HEADER):
        is_onnx = path.suffix.lower() == ".onnx"
        remedy = "pass a complete file saved by scalarviz"
        raise FileError(
            f"{shown(path)} is not a safetensors file, or is truncated: "
            f"{'read it with sv.onnx.load(path)' if is_onnx else remedy}"
        )
    return file.read(length)


def parse_about(path: Path, header: bytes) -> Description:
    """Return the "scalarviz" part of the metadata; raise FileError for an unknown version."""
    try:
        outer = parse_json(header)
        inner = outer.get(METADATA)
        text = inner.get(NAME) if isinstance(inner, dict) else None
        about = parse_json(text) if isinstance(text, str) else None
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"{shown(path)} is damaged or not a scalarviz file: pass a file saved by scalarviz"
        ) from error
    if about is None:
        raise FileError(
            f"{shown(path)} is a safetensors file, but not from scalarviz: make the network, and "
            "write net.load_state_dict(safetensors.numpy.load_file(path))"
        )
    version = about.get("version")
    if type(version) is not int or version < 1:
        raise damaged(path, "it does not state its format version")
    require(
        version <= VERSION,
        f"{shown(path)} was saved by a newer scalarviz, in format version {version}, and this one "
        f"reads up to {VERSION}: update scalarviz",
        FileError,
    )
    return about


def parse_json(text: bytes | str) -> Description:
    """Parse a JSON object; raise ValueError if it is too large, or contains NaN or infinity."""
    require(count_parts(text) <= MOST_PARTS, "its parts would take too much memory", ValueError)
    found = json.loads(text, parse_constant=refuse)
    require(isinstance(found, dict), "not a JSON object", ValueError)
    return found  # type: ignore[no-any-return]  # checked above


def count_parts(text: bytes | bytearray | str) -> int:
    """Return an upper bound for the number of lists, objects and items in a JSON text."""
    if isinstance(text, str):
        return sum(map(text.count, ",:[{"))
    return sum(map(text.count, (b",", b":", b"[", b"{")))


def refuse(constant: str) -> None:
    """Raise ValueError for NaN and infinity, which Python's parser accepts in JSON."""
    raise ValueError(f"{constant} is not a JSON number")


def check_sum(path: Path, data: bytes, about: Description) -> None:
    """Raise FileError unless the checksum matches the file."""
    place = place_of_checksum(data)
    whole = hashlib.sha256(memoryview(data)[: place.start])
    whole.update(NO_CHECKSUM.encode())
    whole.update(memoryview(data)[place.stop :])
    stated = data[place].decode("ascii", "replace")
    if not stated == about.get("checksum") == whole.hexdigest():
        raise damaged(path, "its checksum does not match its content")


def decode_arrays(path: Path, data: bytes) -> dict[str, Array]:
    """Return the arrays by name; safetensors checks that they are inside the file and disjoint."""
    from safetensors import SafetensorError, deserialize

    try:
        found = deserialize(data)  # type: ignore[no-untyped-call]  # safetensors has no types
    except SafetensorError as error:
        raise damaged(path, "its arrays cannot be read") from error
    return {name: to_array(path, name, each) for name, each in found}


def to_array(path: Path, name: str, found: Mapping[str, Any]) -> Array:
    """Return an array from its description by safetensors."""
    dtype = DTYPES.get(found["dtype"])
    if dtype is None:
        raise damaged(path, f"its array {shorten(name)} is of the type {found['dtype']}")
    numbers = np.frombuffer(found["data"], np.uint8)
    if dtype == "bool" and (numbers > 1).any():
        raise damaged(path, f"its array {shorten(name)} contains values other than true and false")
    try:
        array: Array = numbers.view(np.dtype(dtype).newbyteorder("<")).reshape(found["shape"])
    except (ValueError, OverflowError) as error:
        raise damaged(path, f"its array {shorten(name)} has an impossible shape") from error
    return array.astype(dtype, copy=False)


def damaged(path: Path, what: str) -> FileError:
    """Return the error for a damaged file."""
    return FileError(f"{shown(path)} is damaged: {what}: use another copy of it")
