"""Data from files of one's own, CSV and NPZ. Loading runs no code; a bad file is one sentence."""

from __future__ import annotations

import csv
import math
import os
import zipfile
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from scalarviz.checks import FloatArray, shorten
from scalarviz.data.base import Arrays, as_table
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from scalarviz.foreign import visible
from scalarviz.formulas.table import pick

LARGEST_FILE = 2**29  # bytes, also of what a compressed file holds
LARGEST_HEADER = 10_000  # letters; how numpy names a type and a shape

Columns = str | int | Sequence[str | int]
Rows = Iterator[tuple[int, list[str]]]  # the number of a line, and its cells


def from_csv(
    path: str | os.PathLike[str],
    inputs: Columns | None = None,
    targets: Columns | None = None,
    *,
    header: bool | None = None,
    share: float = 1.0,
    seed: int = 0,
    order: str = "shuffled",
) -> Arrays:
    """The samples of a text file, one a line: `from_csv("iris.csv", targets=["kind"])`.

    `inputs` and `targets` are columns, by name or by number, the first being 0, the last -1. What
    is left out: the targets are the last column, the inputs are all the others. Cells are separated
    by tabs if line 1 has any, else by semicolons, else by commas. Line 1 holds names if `header`
    says so, or if it is None and no cell of it is a number. For the rest see Arrays.
    """
    path = readable(path)
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise InputError(f"{called(path)} is empty: a data set needs at least one line")
    width = len(first[1])
    if header is None:
        header = not any(is_number(cell) for cell in first[1])
    names = [cell.strip() for cell in first[1]] if header else []
    wanted, answers = choose_columns(inputs, targets, names, width, path)
    table = read_numbers(rows if header else chain([first], rows), wanted + answers, width, path)
    if not len(table):
        raise InputError(
            f"{called(path)} has names in line 1, and no samples: add lines of numbers"
        )
    count = len(wanted)
    return Arrays(
        table[:, :count],
        table[:, count:],
        share=share,
        seed=seed,
        order=order,
        source=path.name,
    )


def read_rows(path: Path) -> Rows:
    """The lines of a CSV file that are not empty, with their numbers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = next((line for line in file if line.strip()), "")
            file.seek(0)
            separator = next((sign for sign in "\t;" if sign in first), ",")
            reader = csv.reader(file, delimiter=separator, strict=True)
            for row in reader:
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
    except UnicodeDecodeError as error:
        raise InputError(f"{called(path)} is no text in UTF-8: save it as CSV in UTF-8") from error
    except csv.Error as error:
        place = f"{called(path)}, line {reader.line_num}"
        raise InputError(f"{place}, cannot be read as CSV: {error}") from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_numbers(rows: Rows, columns: list[int], width: int, path: Path) -> FloatArray:
    """The numbers in these columns, one row a line."""
    numbers = array("d")
    for line, row in rows:
        if len(row) != width:
            raise ShapeError(
                f"{called(path)}, line {line}, has {len(row)} cells where the first line has "
                f"{width}: give every line as many"
            )
        numbers.extend(to_number(row[column], path, line, column) for column in columns)
    return np.array(numbers, np.float64).reshape(-1, len(columns))


def to_number(cell: str, path: Path, line: int, column: int) -> float:
    """The number in a cell; columns are counted from 1 in messages, as spreadsheets do."""
    place = f"{called(path)}, line {line}, column {column + 1}"
    if not is_number(cell):
        what = f"{shorten(cell)} is not a number" if cell.strip() else "the cell is empty"
        raise InputError(
            f"{place}: {what}: mend it, choose other columns, or say header=True if line 1 holds "
            "names"
        )
    value = float(cell)
    if not math.isfinite(value):
        raise NotFiniteError(
            f"{place}: {visible(cell.strip())} is not finite: remove or replace it"
        )
    return value


def is_number(cell: str) -> bool:
    """Whether a cell holds a number, with a decimal point if with anything."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python's own way to write 1_000


def choose_columns(
    inputs: Columns | None, targets: Columns | None, names: list[str], width: int, path: Path
) -> tuple[list[int], list[int]]:
    """The numbers of the columns that are inputs and of those that are targets."""
    answers = None if targets is None else column_numbers(targets, names, width, path)
    wanted = None if inputs is None else column_numbers(inputs, names, width, path)
    if answers is None:
        answers = [width - 1]
    if wanted is None:
        wanted = [column for column in range(width) if column not in answers]
    twice = sorted({*wanted} & {*answers})
    if twice:
        raise InputError(
            f"column {twice[0]} of {called(path)} would be both input and target: say which "
            "columns are which by inputs= and targets="
        )
    if not wanted or not answers:
        raise InputError(
            f"{called(path)} has {width} columns, of which {len(wanted)} would be inputs and "
            f"{len(answers)} targets: there must be one of each"
        )
    return wanted, answers


def column_numbers(columns: Columns, names: list[str], width: int, path: Path) -> list[int]:
    """Columns, by name or number, as numbers from 0."""
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if not isinstance(columns, (Sequence, range)):
        raise InputError(f"columns are a list of names or numbers, not {shorten(columns)}")
    numbers = {name: names.index(name) for name in names}
    found = []
    for column in columns:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            if not -width <= column < width:
                raise InputError(
                    f"{called(path)} has the columns 0 to {width - 1}, and no column {column}"
                )
            found.append(int(column) % width)
        else:
            found.append(pick(numbers, column, f"column of {called(path)}:"))
    return found


def from_npz(
    path: str | os.PathLike[str],
    *,
    share: float = 1.0,
    seed: int = 0,
    order: str = "shuffled",
) -> Arrays:
    """The arrays `inputs` and `targets`, or `x` and `y`, of a file made by np.savez.

    Each has one row a sample. For the rest see Arrays.
    """
    path = readable(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()}
            keys = ("x", "y") if {"x", "y"} <= {*members} else ("inputs", "targets")
            inputs, targets = [
                read_array(archive, pick(members, key, f"array of {called(path)}:"), path)
                for key in keys
            ]
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # whatever a hostile file makes the parsers stumble over
        raise InputError(
            f"{called(path)} is damaged, or no NPZ file: make one by "
            "np.savez(path, inputs=..., targets=...)"
        ) from error
    try:
        inputs, targets = as_table(inputs, targets)
    except (ShapeError, NotFiniteError) as error:
        raise type(error)(f"in {called(path)}, {error}") from None
    return Arrays(inputs, targets, share=share, seed=seed, order=order, source=path.name)


def read_array(archive: zipfile.ZipFile, item: zipfile.ZipInfo, path: Path) -> FloatArray:
    """One array of numbers, whose size is known to be what the file says before it is read."""
    name = f"{visible(item.filename)} in {called(path)}"
    if item.file_size > LARGEST_FILE:
        raise too_large(name, item.file_size)
    with archive.open(item) as file:
        shape, by_columns, dtype = read_header(file)
        if dtype.kind not in "biuf":
            raise InputError(
                f"{name} holds {visible(str(dtype))}: a data set is made of real numbers"
            )
        data = file.read()
    if math.prod(shape) * dtype.itemsize != len(data):
        raise InputError(f"{name} is damaged: make the file again")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Shape, whether columns come first, and type of an array, without reading its numbers."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    return read(file, max_header_size=LARGEST_HEADER)


def called(path: Path) -> str:
    """The name of a file as a message shows it."""
    return visible(path.name)


def readable(path: object) -> Path:
    """The path of a file that is there and not too large."""
    try:
        found = Path(path)  # type: ignore[arg-type]  # what is no path raises, as it should
        status = found.stat()
    except TypeError:
        raise InputError(f"a path is a text or a Path, not {shorten(path)}") from None
    except FileNotFoundError:
        raise InputError(f"there is no file {shorten(str(path))}: check the path") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{shorten(str(path))} cannot be read: {why}") from error
    if not found.is_file():
        kind = "a folder" if found.is_dir() else "no file"
        raise InputError(f"{shorten(str(path))} is {kind}: pass the path of a file")
    if status.st_size > LARGEST_FILE:
        raise too_large(called(found), status.st_size)
    return found


def too_large(what: str, size: int) -> InputError:
    """The error for more bytes than are ever read."""
    return InputError(
        f"{what} has {size / 2**20:,.0f} MB, more than the {LARGEST_FILE / 2**20:,.0f} that are "
        "read: make it smaller, or pass arrays to sv.data.Arrays"
    )


def unreadable(path: Path, error: OSError) -> InputError:
    """The error for what the system will not let us read."""
    return InputError(f"{called(path)} cannot be read: {error.strerror or error}")
