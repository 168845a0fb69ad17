"""The record of a followed training run: a file that grows during training and is kept afterwards.

The file begins with MAGIC, followed by entries. Each entry has a kind, a checksum, the length of
its content, and the content:

    HEAD  JSON: arrays of the model, modules, optimizers
    TREE  compressed JSON: the structure of the model, as structure.py describes it
    LOSS  index of a step, a count n, and losses from that step, each the mean over n steps,
          float64; n is 1 until half of the space for losses is used
    SCAL  JSON: name, steps and values of a scalar that was logged
    STAT  index of a step, and NUMBERS float32 values for each array of the model
    PAGE  a recorded step: its index, the index of its HEAD, and its numbers
    FULL  like PAGE, but with all weights of a model whose PAGEs contain only chosen weights
    FORM  compressed JSON: which numbers the following LOOKs have, as probing.py describes it
    LOOK  what the model computes for the probe: index of a step, index of its FORM, and numbers
    MOVE  file position of a page that has been overwritten
    NOTE  JSON: an observation, such as the first NaN
    DONE  the recording was closed

All pages of a kind have the same length, LOOKs as long as their FORM is unchanged. When their space
is full, every second page is dropped and its place is reused, so the file never exceeds its maximum
size and no page is copied. Entries with a wrong checksum are ignored, so a killed process loses at
most the last one. Reading executes no code.
"""

from __future__ import annotations

import json
import math
import os
import struct
import weakref
import zlib
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from os.path import samestat
from typing import IO, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.errors import FileError

MAGIC = b"scalarviz follow\x01\r\n\0"
PAGES = b"PAGE", b"FULL", b"LOOK"
KINDS = *PAGES, b"HEAD", b"TREE", b"FORM", b"LOSS", b"SCAL", b"STAT", b"MOVE", b"NOTE", b"DONE"
ENTRY = struct.Struct("<4sIQ")  # kind, checksum, bytes of the content
STEP = struct.Struct("<Q")
PAGE = struct.Struct("<QQ")  # step, and index of the HEAD
UNKNOWN = -1.0  # an unknown number of a STAT
NUMBERS = 4  # per array in a STAT: root mean squares of values, gradients, updates; dead units
# Parts of a page: numbers after the step, its gradients, and optionally numbers before it.
VALUE, GRADIENT, BEFORE = range(3)
PARTS = "value", "gradient", "before"
FEWEST = 4  # pages; a smaller bound is rejected
MOST_SHARED = 16**4  # steps that share a mean loss
MOST_LOSSES = 2**26  # limit of losses read, half a gigabyte
LOSSES_A_MEAN = 2**13  # upper limit, on average over a record: few means cover many steps
MOST_STRUCTURE = 8_000_000  # bytes of an unpacked structure
LOGGED = 0.1  # share of the bound left free by pages
LOOKS = 0.1  # share of the bound for the probe
RENEWED = 4  # times a page is rewritten, each leaving a STAT, a LOSS and a MOVE

Numbers = npt.NDArray[Any]
Content = Any  # bytes, or an array


def checksum(kind: bytes, parts: Sequence[Content]) -> int:
    found = zlib.crc32(kind)
    for part in parts:
        found = zlib.crc32(memoryview(part).cast("B"), found)
    return found


@final
class Pages:
    """The file positions of all pages of one kind.

    Attributes:
        length: length of a page in bytes
        most: maximum number of pages; each also takes up `beside` bytes for other entries
        stride: minimum number of steps between pages; doubled when the space is full
    """

    def __init__(self, length: int, room: float, beside: int = 0) -> None:
        self.length, self.most, self.stride = length, int(room // (length + beside)), 1
        self.places: dict[int, int] = {}  # by step, in order
        self._free: list[int] = []

    def is_due(self, step: int) -> bool:
        """Return whether a step is at least `stride` steps after the last step with a page."""
        return self.most > 0 and step - next(reversed(self.places), -self.stride) >= self.stride

    def place_for(self, step: int) -> int | None:
        """Return the position of a page to overwrite, or None to append to the file."""
        if step in self.places:
            return self.places[step]
        if len(self.places) + len(self._free) < self.most:
            return None
        if not self._free:
            self._thin()
        return self._free.pop()

    def _thin(self) -> None:
        """Drop every second page, keeping the first one, and double the stride."""
        steps = [*self.places]
        apart = (steps[-1] - steps[0]) / max(1, len(steps) - 1)
        self._free = [self.places.pop(step) for step in steps[1::2] or steps]
        self.stride = 2 * max(self.stride, math.ceil(apart))


@final
class Recorder:
    """Writer of the record of a training run.

    Args:
        path: path of the file; an existing file is replaced, unless another Recorder is writing it
        bound: maximum size of the file in bytes
        looks: bytes of it for LOOKs

    Attributes:
        path: path of the file, with a number if another Recorder is writing the given one
    """

    def __init__(self, path: str, bound: int, looks: float = 0.0) -> None:
        self.path, self.bound, self._looks = free_path(path), bound, looks
        self.pages: dict[bytes, Pages] = {b"LOOK": Pages(1, 1.0)}  # until the first one
        self._end = self._heads = self._forms = 0
        self._form: bytes | None = None
        with suppress(FileNotFoundError):
            os.unlink(self.path)  # not truncated: another process may be reading it
        self._file: IO[bytes] = open(self.path, "xb", buffering=0)  # noqa: SIM115  # until `close`
        weakref.finalize(self, self._file.close)
        lock(self._file)
        self._place = os.path.abspath(self.path)  # wherever the program goes
        self._put(0, MAGIC)

    def begin(self, header: dict[str, Any], page: int, full: int) -> None:
        """Write a HEAD entry, and divide the remaining space between the pages.

        Args:
            header: description of the arrays
            page: number of data bytes in each following PAGE
            full: number of data bytes in each FULL; 0 if unused

        Raises InputError, before writing anything, if the maximum size is too small for the pages.
        """
        head, fixed = json.dumps(header).encode(), ENTRY.size + PAGE.size
        room = (1.0 - LOGGED) * (self.bound - self._end - len(head)) - self._looks
        beside = RENEWED * (3 * (ENTRY.size + STEP.size) + 4 * NUMBERS * len(header["arrays"]))
        least = FEWEST * (fixed + page + beside)
        needed = self._end + len(head) + (least + self._looks) / (1.0 - LOGGED)
        require(
            room >= least,
            f"size={self.bound:,} bytes cannot hold {FEWEST} moments of this model: pass "
            f"size={math.ceil(needed / 1e6)}_000_000, or more",
        )
        known = self.pages.get(b"PAGE")
        if known is None or known.length != fixed + page:
            of_full = Pages(fixed + full, 0.8 * room if full else 0.0)
            room -= of_full.most * of_full.length
            self.pages |= {b"PAGE": Pages(fixed + page, room, beside), b"FULL": of_full}
        self.append(b"HEAD", head)
        self._heads += 1

    def keep(self, kind: bytes, step: int, *parts: Content) -> bool:
        """Write the page of a step, over a dropped page if there is one; return if not."""
        index = (self._forms if kind == b"LOOK" else self._heads) - 1
        pages, parts = self.pages[kind], (PAGE.pack(step, index), *parts)
        place = pages.place_for(step)
        is_new = place is None
        if place is None:
            place = self.append(kind, *parts)
        else:
            self._write(place, kind, parts)
            self.append(b"MOVE", STEP.pack(place))
        pages.places[step] = place
        return is_new

    def look(self, step: int, form: bytes, *parts: Content) -> None:
        """Write what a model computes for the probe; raise FileError if there is no space.

        Args:
            form: content of the FORM; numbers of another one share the space that is left
        """
        if form != self._form:
            length = ENTRY.size + PAGE.size + sum(map(bytes_in, parts))
            pages = Pages(length, self._looks, RENEWED * (ENTRY.size + STEP.size))
            require(pages.most > 1, "its numbers need a larger size= of the file", FileError)
            self.append(b"FORM", form)
            self._forms += 1
            self._form, self.pages[b"LOOK"] = form, pages
        if self.keep(b"LOOK", step, *parts):
            self._looks -= self.pages[b"LOOK"].length

    def append(self, kind: bytes, *parts: Content) -> int:
        """Append an entry and return its position; raise FileError if the file is full."""
        place, after = self._end, self._end + ENTRY.size + sum(map(bytes_in, parts))
        require(after <= self.bound, f"it has reached its size of {self.bound:,} bytes", FileError)
        self._write(place, kind, parts)
        self._end = after
        return place

    def _write(self, place: int, kind: bytes, parts: Sequence[Content]) -> None:
        length = sum(map(bytes_in, parts))
        self._put(place, ENTRY.pack(kind, checksum(kind, parts), length), *parts)

    def _put(self, place: int, *parts: Content) -> None:
        self._file.seek(place)
        for part in parts:
            left = memoryview(part).cast("B")
            while left:
                left = left[self._file.write(left) :]
        self._end = max(self._end, self._file.tell())

    def check(self) -> None:
        """Raise FileError if the file was removed or replaced."""
        is_there, file = False, self._file
        with suppress(OSError):
            is_there = file.closed or samestat(os.stat(self._place), os.fstat(file.fileno()))
        require(is_there, "its file was removed or replaced", FileError)

    def close(self) -> None:
        self._file.close()


def lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return False if another one locks it."""
    with suppress(ImportError):  # of Windows, which keeps an open file by itself
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # also of a file system without locks
            return not isinstance(error, BlockingIOError)
    return True


def free_path(path: str) -> str:
    """Return a path, with a number if a record is being written there."""
    with suppress(OSError), open(path, "rb") as file:  # if it exists
        if not lock(file):
            start, end = os.path.splitext(path)
            numbered = (f"{start}-{i}{end}" for i in count(2))
            return next(each for each in numbered if not os.path.exists(each))
    return path


def is_record(path: object) -> bool:
    """Return whether a file starts with the magic bytes of a record."""
    with suppress(OSError, TypeError, ValueError), open(path, "rb") as file:  # type: ignore[call-overload]
        return bool(file.read(len(MAGIC)) == MAGIC)
    return False


def bytes_in(part: Content) -> int:
    return memoryview(part).nbytes


def unpacked(content: bytes) -> Any:
    """Return the structure in a TREE, not checked; raise an error if it cannot be read."""
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(content, MOST_STRUCTURE)
    require(unpacker.eof, "it is cut off or too long")
    return json.loads(text)


@final
class Record:
    """Reader of the record of a training run, which may still be growing.

    heads   all descriptions of the arrays; the last one is current
    tree    content of the last TREE, or None; `forms`: contents of all FORMs
    losses  loss of each step, or the mean of several steps; NaN if unknown
    stats   pairs of a step and its statistics, one row for each array of its HEAD
    pages   file position and HEAD index of the page of each step; `fulls`: same for FULLs,
            `looks`: same for LOOKs, with the FORM index
    notes   observations, such as the first NaN, in the order of steps
    scalars pairs of a step and a value, by name of the scalar
    is_done whether the recording was closed
    lack    why the rest of the file cannot be read, or ""
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._file: IO[bytes] = open(path, "rb")  # noqa: SIM115  # as long as the record
            weakref.finalize(self, self._file.close)
            is_known = self._file.read(len(MAGIC)) == MAGIC
            require(
                is_known, f"{shorten(path)} is not the record of a followed training", FileError
            )
        except OSError as error:
            raise FileError(f"{shorten(path)} cannot be read: {error.strerror}") from error
        self.heads: list[dict[str, Any]] = []
        self.tree: bytes | None = None
        self.stats: list[tuple[int, FloatArray]] = []
        self._index: dict[bytes, dict[int, tuple[int, int]]] = {kind: {} for kind in PAGES}
        self.pages, self.fulls, self.looks = self._index.values()
        self.forms: list[bytes] = []
        self.notes: list[dict[str, Any]] = []
        self.scalars: dict[str, list[tuple[int, float]]] = {}
        self.is_done, self.lack = False, ""
        self._steps: list[int] | None = []  # steps with a page, in order; None: to be sorted
        self._losses, self._count, self._means = np.zeros(1024), 0, 0
        self._at: dict[int, int] = {}  # steps of pages by place, or -1
        self._moved: dict[int, None] = {}  # overwritten places, to be checked
        self._next = len(MAGIC)
        self.refresh()

    @property
    def losses(self) -> FloatArray:
        return self._losses[: self._count]

    @property
    def steps(self) -> list[int]:
        """Steps that have a page, in order."""
        if self._steps is None:
            self._steps = sorted(self.pages)
        return self._steps

    def refresh(self) -> bool:
        """Read the entries written since the last call; return whether there were any."""
        before, end = self._next, os.fstat(self._file.fileno()).st_size
        while not self.is_done and not self.lack and self._next + ENTRY.size <= end:
            self._file.seek(self._next)
            kind, given, length = ENTRY.unpack(self._file.read(ENTRY.size))
            after = self._next + ENTRY.size + length
            try:
                if kind in PAGES and after <= end:
                    self._look(self._next)
                elif kind in KINDS and after <= end:
                    content = self._file.read(length)
                    require(checksum(kind, [content]) == given, "a checksum is wrong")
                    self._take(kind, content)
                else:  # it is being written, or its writer was killed; or it is invalid
                    require(kind in KINDS, "an entry is of no kind")
                    break
            except (ValueError, TypeError, LookupError, struct.error, RecursionError):
                self.lack = f"from byte {self._next:,} on it is damaged"
                break
            self._next = after
        for place in self._moved:  # each once, even if overwritten several times
            self._look(place)
        self._moved.clear()
        return self._next > before

    def _take(self, kind: bytes, content: bytes) -> None:
        """Parse and store an entry that is not a page; raise an error if invalid."""
        match kind:
            case b"HEAD":
                self.heads.append(json.loads(content))
            case b"TREE":
                self.tree = content
            case b"FORM":
                self.forms.append(content)
            case b"LOSS":
                (first, each), means = PAGE.unpack_from(content), content[PAGE.size :]
                end = first + each * (len(means) // 8)
                require(
                    first == self._count and 0 < each <= MOST_SHARED,
                    "losses have a gap, or no end",
                )
                self._means += len(means) // 8
                most = min(MOST_LOSSES, LOSSES_A_MEAN * self._means)
                require(end <= most, "a record of this length has fewer losses")
                if end > len(self._losses):
                    self._losses = np.append(self._losses, np.zeros(end))
                self._losses[first:end] = np.repeat(np.frombuffer(means, "<f8"), each)
                self._count = end
            case b"SCAL":
                found = json.loads(content)
                name, steps, values = found["name"], found["steps"], found["values"]
                types = [*map(type, [name, *steps, *values])]
                known = [str, *[int] * len(steps), *[float] * len(steps)]
                require(types == known and steps, "a scalar is of another type")
                require(all(map(self._is_near, steps)), "a scalar is of no step")
                self.scalars.setdefault(name, []).extend(zip(steps, values, strict=True))
            case b"STAT":
                numbers = np.frombuffer(content, "<f4", -1, STEP.size).reshape(-1, NUMBERS)
                (step,) = STEP.unpack_from(content)
                require(step > 0 and self._is_near(step), "its statistics are of no step")
                self.stats.append((step, numbers))
            case b"MOVE":
                place = STEP.unpack(content)[0]
                require(place in self._at, "a page is not there")
                self._moved[place] = None
            case b"NOTE":
                found = json.loads(content)
                require(
                    all(type(found[name]) is str for name in ("kind", "where", "text")),
                    "a note is not text",
                )
                require(type(found["step"]) is int and self._is_near(found["step"]), "of no step")
                self.notes.append(found)
            case _:
                self.is_done = True

    def numbers(self, step: int, kind: bytes = b"PAGE") -> Numbers | None:
        """Return the data bytes of a step's page, or None if it has been overwritten."""
        place, head = self._index[kind][step]
        found = self._page(place)
        if found is None or found[:3] != (kind, step, head):
            self._forget(step, place)
            return None
        return np.frombuffer(found[3], np.uint8)

    def _forget(self, step: int, place: int) -> None:
        """Remove from the index the entry of a step whose page is at a file position."""
        for pages in self._index.values():
            if pages.get(step, (-1, 0))[0] == place:
                del pages[step]
                if pages is self.pages:
                    self._steps = None

    def _page(self, place: int) -> tuple[bytes, int, int, bytes] | None:
        """Return kind, step, head index and data of the page at a position; None if incomplete."""
        self._file.seek(place)
        kind, given, length = ENTRY.unpack(self._file.read(ENTRY.size).ljust(ENTRY.size, b"\0"))
        end = os.fstat(self._file.fileno()).st_size
        if kind not in PAGES or not PAGE.size <= length <= end:
            return None
        content = self._file.read(length)
        if checksum(kind, [content]) != given:
            return None
        return kind, *PAGE.unpack_from(content), content[PAGE.size :]

    def _is_near(self, step: int) -> bool:
        """Return whether a step is plausible, given the number of losses written so far."""
        return 0 <= step <= self._count + MOST_SHARED

    def _look(self, place: int) -> None:
        """If the page at a file position is complete, add it to the index."""
        self._forget(self._at.get(place, -1), place)
        self._at[place], found = -1, self._page(place)
        if found is None:
            return
        kind, step, head, _ = found
        if self._is_near(step) and head < len(self.forms if kind == b"LOOK" else self.heads):
            self._at[place] = step
            if kind == b"PAGE" and step not in self.pages:
                self._steps = None
            self._index[kind][step] = place, head
