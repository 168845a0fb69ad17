"""from_csv and from_npz: data sets from files. No code in a file is run; bad files raise errors."""

from __future__ import annotations

import csv
import math
import os
import zipfile
from array import array
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import IO, Any, TextIO, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, answered, require, shorten
from scalarviz.base.limits import (
    LARGEST_DIRECTORY,
    LONGEST_ARRAY_HEADER,
    LONGEST_LINE,
    Budget,
    in_units,
)
from scalarviz.base.messages import inform, visible
from scalarviz.core.formulas.formula import pick
from scalarviz.data.data_set import DOUBLE, Arrays
from scalarviz.data.samples import MOST_NAMES
from scalarviz.errors import InputError, NotFiniteError, ShapeError

MISSING_CELLS = {"refuse": False, "drop": True}
MISSING = ("", "na", "nan", "n/a", "null", "?", "-")  # cells that mean a missing number
ZIPPED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as written by np.savez(_compressed)

Columns = str | int | Sequence[str | int]
Rows = Iterator[tuple[int, list[str]]]  # line numbers and cells


@answered
def from_csv(
    path: str | os.PathLike[str],
    inputs: Columns | None = None,
    targets: Columns | None = None,
    *,
    weights: str | int | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    header: bool | None = None,
    missing: str = "refuse",
    share: float = 1.0,
    seed: int = 0,
    order: str = "shuffled",
    standardize: bool = False,
    limit: int | None = None,
) -> Arrays:
    """Read a data set from a CSV file, one sample per line: `from_csv("iris.csv", targets="kind")`.

    `inputs` and `targets` are columns, given by name or by index; 0 is the first, -1 the last. By
    default the last column is the target and the others are inputs, except columns without a name
    in a file with names, such as the index written by pandas. Cells are separated by tabs if line 1
    contains any, else by semicolons, else by commas. Line 1 contains names if `header` is True, or
    if it is None and no cell of the line is a number. The names become the names of the inputs.

    Args:
        path: path of the file, which is encoded in UTF-8
        inputs: input columns; None (default) means all except targets and unnamed columns
        targets: target columns; None (default) means the last one
        weights: column with the `sample_weight` of Arrays; None (default) means no column
        class_weight: as in Arrays; None (default) means equal weights
        header: whether line 1 contains names; by default it does if no cell of it is a number
        missing: what to do with a line in which a cell of these columns is empty, "NA", "NaN",
            "null", "?" or "-": "refuse" (default) raises an error that names the cell; "drop" drops
            the line, and logs the number of dropped lines
        share: share of the samples used for training, by default 1.0; the rest is held out
        seed: seed of the choice of held-out samples; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        standardize: whether a new network begins with `affine()`, as in Arrays; by default False
        limit: maximum bytes of the file, and of its numbers as float64; None (default) means 640 MB

    Returns Arrays. Raises InputError for a file that cannot be read as numbers and for an ambiguous
    column name, UnknownNameError for an unknown column.
    """
    dropping = pick(MISSING_CELLS, missing, "choice for missing cells")
    budget = Budget(limit)
    path = readable(path, budget)
    with closing(read_rows(path)) as lines:  # also if a line is rejected
        first = next(lines, None)
        if first is None:
            raise InputError(f"{called(path)} is empty: a data set needs at least one line")
        width = len(first[1])
        has_names = not any(map(is_number, first[1])) if header is None else header
        names = [cell.strip() for cell in first[1]] if has_names else []
        weigh = [] if weights is None else column_numbers(weights, names, width, path)
        require(len(weigh) <= 1, f"weights= names one column, not {shorten(weights)}")
        wanted, answers = choose_columns(inputs, targets, weigh, names, width, path)
        columns = wanted + weigh + answers
        rows: Rows = lines if has_names else chain([first], lines)
        if dropping:
            rows = whole_rows(rows, columns, path)
        table, classes = read_numbers(rows, columns, len(answers), width, path, budget)
    require(len(table), f"{called(path)} has names in line 1, and no samples: add lines of numbers")
    count = len(wanted)
    speak_of_columns(
        [
            (names[i] if names else i, column)
            for i, column in zip(columns, table.T, strict=True)
            if i not in weigh
        ],
        path,
    )
    if header is None and not names and classes:
        speak_of_line_1(table, path)
    return Arrays(
        table[:, :count],
        [classes[int(place)] for place in table[:, -1]] if classes else table[:, -len(answers) :],
        share=share,
        seed=seed,
        order=order,
        source=path.name,
        sample_weight=table[:, count] if weigh else None,
        class_weight=class_weight,
        standardize=standardize,
        input_names=[names[i] for i in wanted] if names and count <= MOST_NAMES else None,
    )


def speak_of_line_1(table: FloatArray, path: Path) -> None:
    """Suggest header=True if line 1 was read as a sample but probably contains names.

    This is likely if its numbers count up, like years or default names of pandas, and if its class
    occurs in no other line while other classes do.
    """
    lines, steps = np.bincount(table[:, -1].astype(int)), np.diff(np.sort(table[0, :-1]))
    if lines[0] == 1 and lines.max() > 1 and steps.size and (steps == 1.0).all():
        inform(f"{called(path)}: line 1 is read as a sample: pass header=True if it contains names")


def speak_of_columns(columns: list[tuple[str | int, FloatArray]], path: Path) -> None:
    """Log which columns only number the lines, or equal another column."""
    first: dict[bytes, str | int] = {}
    for name, column in columns:
        other = first.setdefault(column.tobytes(), name)
        if len(column) > 2 and (np.diff(column) == 1.0).all():
            inform(f"{called(path)}: column {shorten(name)} numbers the lines: leave it out")
        elif other != name and (column != column[0]).any():
            inform(f"{called(path)}: columns {shorten(other)} and {shorten(name)} are the same")


def whole_rows(rows: Rows, columns: list[int], path: Path) -> Rows:
    """Yield the rows without missing cells in `columns`; log the number of skipped rows."""
    left_out = 0
    for line, row in rows:
        if any(row[i].strip().lower() in MISSING for i in columns if i < len(row)):
            left_out += 1
        else:
            yield line, row
    if left_out:
        inform(f"{called(path)}: lines skipped because of a missing cell: {left_out:,}")


def read_rows(path: Path) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the line number and the cells of each non-empty line of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = first_line(Lines(file, path))
            file.seek(0)
            separator = next((sign for sign in "\t;" if sign in first), ",")
            lines = Lines(file, path)
            reader = csv.reader(lines, delimiter=separator, strict=True)
            for row in reader:
                lines.letters = 0
                if any(cell.strip() for cell in row):
                    yield reader.line_num, row
    except UnicodeDecodeError as error:
        raise InputError(f"{called(path)} is not text in UTF-8: save it as CSV in UTF-8") from error
    except csv.Error as error:
        place = f"{called(path)}, line {reader.line_num}"
        raise InputError(f"{place}, cannot be read as CSV ({error}): save it again") from error
    except OSError as error:
        raise unreadable(path, error) from error


def first_line(lines: Lines) -> str:
    """Return the first line that is not empty."""
    for line in lines:
        if line.strip():
            return line
        lines.letters = 0
    return ""


@final
class Lines:
    """Lines of a text file; raises InputError if a row of cells is too long.

    A quoted cell can span several lines. The caller sets `letters` to 0 after each row.
    """

    def __init__(self, file: TextIO, path: Path) -> None:
        self._file = file
        self._path = path
        self.letters = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._file.readline(LONGEST_LINE + 1):
            self.letters += len(line)
            if self.letters > LONGEST_LINE:
                raise InputError(
                    f"{called(self._path)} has a line of more than {LONGEST_LINE:,} letters: "
                    "write one sample per line, and close every quotation mark"
                )
            yield line


def read_numbers(
    rows: Rows, columns: list[int], targets: int, width: int, path: Path, budget: Budget
) -> tuple[FloatArray, list[str]]:
    """Return the numbers in `columns`, one row per line, and the class names.

    The last `targets` columns are targets; class names become a single column of their indices.
    """
    numbers, classes = array("d"), dict[str, int]()
    for line, row in rows:
        if DOUBLE * len(numbers) > budget.limit:
            budget.take(DOUBLE * len(numbers), f"{called(path)} up to line {line:,}")
        if len(row) != width:
            raise ShapeError(
                f"{called(path)}, line {line}, has {len(row)} cells where the first line has "
                f"{width}: give every line the same number"
            )
        cells = [row[column] for column in columns]
        if targets == 1 and (classes or (not numbers and is_name(cells[-1]))):
            name = to_name(cells[-1], path, line, columns[-1])
            cells[-1] = str(classes.setdefault(name, len(classes)))
        found = as_numbers(cells)
        if not found:
            places = zip(cells, columns, strict=True)
            found = [to_number(cell, path, line, column) for cell, column in places]
        numbers.extend(found)
    return np.frombuffer(numbers, np.float64).reshape(-1, len(columns)), [*classes]


def is_name(cell: str) -> bool:
    """Return whether a cell contains text that can be a class name."""
    is_missing = cell.strip().lower() in MISSING
    return not is_missing and not is_number(cell) and any(map(str.isalpha, cell))


def to_name(cell: str, path: Path, line: int, column: int) -> str:
    """Return the class name in a cell; if invalid, raise InputError with line and column from 1."""
    if is_name(cell):
        return cell.strip()
    place = f"{called(path)}, line {line}, column {column + 1}"
    refuse_missing(cell, place, "name")
    raise InputError(
        f"{place}: {shorten(cell)} is not the name of a class, unlike the lines before: correct "
        "it, leave the line out, or pass header=True if line 1 contains names"
    )


def refuse_missing(cell: str, place: str, wanted: str) -> None:
    """Raise InputError if a cell marks a missing value; `wanted` names what should be there."""
    if cell.strip().lower() in MISSING:
        what = f"{shorten(cell)} marks a missing {wanted}" if cell.strip() else "the cell is empty"
        raise InputError(f"{place}: {what}: fill it, choose other columns, or pass missing='drop'")


def as_numbers(cells: list[str]) -> list[float]:
    """Return the numbers in cells, or [] if a cell is not a finite number."""
    try:
        found = list(map(float, cells))
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) and "_" not in "".join(cells) else []


def to_number(cell: str, path: Path, line: int, column: int) -> float:
    """Return the number in a cell; if invalid, raise InputError with line and column from 1."""
    place = f"{called(path)}, line {line}, column {column + 1}"
    refuse_missing(cell, place, "number")
    if not is_number(cell):
        hint = "convert words and dates to numbers first, for example with pandas"
        if "," in cell:
            hint = "write numbers as 1234.5"
        elif line == 1:
            hint = "pass header=True if line 1 contains names"
        raise InputError(
            f"{place}: {shorten(cell)} is not a number: correct it, choose other columns, or {hint}"
        )
    value = float(cell)
    if not math.isfinite(value):
        raise NotFiniteError(
            f"{place}: {visible(cell.strip())} is not finite: remove or replace it"
        )
    return value


def is_number(cell: str) -> bool:
    """Return whether a cell contains a number written with a decimal point, not a comma."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # float() also accepts 1_000


def choose_columns(
    inputs: Columns | None,
    targets: Columns | None,
    weigh: list[int],
    names: list[str],
    width: int,
    path: Path,
) -> tuple[list[int], list[int]]:
    """Return the indices of input and target columns; columns in `weigh` are excluded."""
    left = [i for i in range(width) if i not in weigh]
    answers = left[-1:] if targets is None else column_numbers(targets, names, width, path)
    others = sorted({*left} - {*answers})
    if inputs is None and (nameless := [i for i in others if names and not names[i]]):
        others = [i for i in others if names[i]]
        inform(
            f"{called(path)}: skipped columns without a name, such as the index written by "
            f"pandas: {', '.join(map(str, nameless))}; inputs= also takes these numbers"
        )
    wanted = others if inputs is None else column_numbers(inputs, names, width, path)
    twice = [i for i, uses in Counter([*{*wanted}, *{*answers}, *weigh]).items() if uses > 1]
    if twice:
        raise InputError(
            f"column {twice[0]} of {called(path)} would be used twice: choose the columns with "
            "inputs=, targets= and weights="
        )
    if not wanted or not answers:
        columns = "1 column" if width == 1 else f"{width} columns"
        raise InputError(
            f"{called(path)} has {columns}, of which {len(wanted)} would be inputs and "
            f"{len(answers)} targets: at least one of each is needed"
        )
    return wanted, answers


def column_numbers(columns: Columns, names: list[str], width: int, path: Path) -> list[int]:
    """Convert columns given by name or index to indices from 0."""
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if not isinstance(columns, (Sequence, range)):
        raise InputError(f"columns are a list of names or numbers, not {shorten(columns)}")
    numbers, counts = {name: place for place, name in enumerate(names)}, Counter(names)
    found = []
    for column in columns:
        if isinstance(column, (int, np.integer)) and not isinstance(column, bool):
            require(
                -width <= column < width,
                f"{called(path)} has the columns 0 to {width - 1}, and no column {column}",
            )
            found.append(int(column) % width)
        else:
            require(
                names,
                f"{called(path)} has columns without names, since a cell of its first line is a "
                f"number, and {shorten(column)} is a name: pass header=True if this line contains "
                "names",
            )
            found.append(pick(numbers, column, f"column of {called(path)}:"))
            require(
                counts[str(column)] <= 1,
                f"{called(path)} has several columns {shorten(column)}: pass the number of one",
            )
    return found


@answered
def from_npz(
    path: str | os.PathLike[str],
    *,
    share: float = 1.0,
    seed: int = 0,
    order: str = "shuffled",
    standardize: bool = False,
    limit: int | None = None,
) -> Arrays:
    """Read a data set from an NPZ file with arrays `inputs` and `targets`, or `x` and `y`.

    Each array has one row per sample; inputs may be pictures, as in Arrays.

    Args:
        path: path of the file, as written by np.savez
        share: share of the samples used for training, by default 1.0; the rest is held out
        seed: seed of the choice of held-out samples; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        standardize: whether a new network begins with `affine()`, as in Arrays; by default False
        limit: maximum bytes of the arrays as float64; None (default) means 640 MB

    Returns Arrays. Raises InputError for a file that cannot be read or contains other arrays.
    """
    budget = Budget(limit)
    path = readable(path, budget)
    try:
        with path.open("rb") as file, zipfile.ZipFile(InPieces(file)) as archive:
            members = {item.filename.removesuffix(".npy"): item for item in archive.infolist()}
            keys = ("x", "y") if {"x", "y"} <= {*members} else ("inputs", "targets")
            kind = f"array of {called(path)}:"
            found = [Member(archive, pick(members, key, kind), path) for key in keys]
            for member in found:
                member.judge(budget)
            inputs, targets = [member.read() for member in found]
    except InputError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # parsers raise errors of many kinds for malicious files
        raise InputError(
            f"{called(path)} is damaged or not an NPZ file: make one with np.savez(path, "
            "inputs=..., targets=...)"
        ) from error
    try:
        return Arrays(
            inputs,
            targets,
            share=share,
            seed=seed,
            order=order,
            source=path.name,
            standardize=standardize,
        )
    except (ShapeError, NotFiniteError) as error:
        raise type(error)(f"in {called(path)}, {error}") from None


@final
class InPieces:
    """File wrapper that limits the bytes per read; only a huge ZIP directory exceeds it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, count: int = -1) -> bytes:
        data = self._file.read(min(count, LARGEST_DIRECTORY) if count >= 0 else LARGEST_DIRECTORY)
        if len(data) < LARGEST_DIRECTORY or count == LARGEST_DIRECTORY:
            return data
        raise InputError(
            f"{called(Path(self._file.name))} has more members than {in_units(LARGEST_DIRECTORY)} "
            "of names: put the two arrays into a separate file"
        )

    def seekable(self) -> bool:
        return True


@final
class Member:
    """An array in an NPZ archive; its header is read and checked first."""

    def __init__(self, archive: zipfile.ZipFile, item: zipfile.ZipInfo, path: Path) -> None:
        self._archive = archive
        self._item = item
        self._name = f"{visible(item.filename)} in {called(path)}"
        require(
            item.compress_type in ZIPPED,
            f"{self._name} is compressed by a method that numpy does not use: save it again "
            "with np.savez",
        )
        with archive.open(item) as file:
            shape, _, dtype = read_header(file)
            start = file.tell()
        require(
            dtype.kind in "biuf",
            f"{self._name} holds {visible(str(dtype))}: a data set consists of real numbers",
        )
        self._count = math.prod(shape)
        if start + self._count * dtype.itemsize != item.file_size:
            raise self._damaged()

    def judge(self, budget: Budget) -> None:
        """Add the array's size to the budget; raise InputError if this exceeds it."""
        budget.take(DOUBLE * self._count, self._name)

    def read(self) -> npt.NDArray[np.generic]:
        """Read and return the array."""
        try:
            with self._archive.open(self._item) as file:
                return np.lib.format.read_array(file, max_header_size=LONGEST_ARRAY_HEADER)
        except ValueError as error:  # the file ends too early
            raise self._damaged() from error

    def _damaged(self) -> InputError:
        return InputError(f"{self._name} is damaged: make the file again")


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Return shape, Fortran order and dtype of an array without reading its numbers."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    return read(file, max_header_size=LONGEST_ARRAY_HEADER)


def called(path: Path) -> str:
    """Return the name of a file for use in messages."""
    return visible(path.name)


def readable(path: object, budget: Budget) -> Path:
    """Return the path of an existing file that is not too large; raise InputError for others."""
    try:
        found = Path(path)  # type: ignore[arg-type]  # the wrong type raises TypeError
        status = found.stat()
    except TypeError:
        raise InputError(f"a path must be a str or a Path, not {shorten(path)}") from None
    except FileNotFoundError:
        raise InputError(f"file not found: {shorten(str(path))}: check the path") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{shorten(str(path))} cannot be read ({why}): check the path") from error
    if not found.is_file():
        kind = "a folder" if found.is_dir() else "not a regular file"
        raise InputError(f"{shorten(str(path))} is {kind}: pass the path of a file")
    Budget(budget.limit).take(status.st_size, called(found))
    return found


def unreadable(path: Path, error: OSError) -> InputError:
    """Return the error to raise for a file that the operating system cannot read."""
    return InputError(f"{called(path)} cannot be read: {error.strerror or error}")
