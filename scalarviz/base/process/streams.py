"""Standard output and error that end no program: what a full disk does not take is lost."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

from scalarviz.base.visible_text import say

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STREAMS = "stdout", "stderr"


@final
class LossyFile(io.FileIO):
    """A file whose `write` raises only BrokenPipeError; `lack` says why other data was lost."""

    lack: str = ""

    def write(self, data: ReadableBuffer, /) -> int:
        """Return how many bytes were written, or all if they were lost."""
        try:
            return super().write(data)
        except BrokenPipeError:  # nobody reads any more, so nothing is to be done any more
            raise
        except OSError as error:
            self.lack = error.strerror or str(error)
            return memoryview(data).nbytes


@contextmanager
def lossy_streams() -> Iterator[None]:
    """Replace standard output and error while a program runs, which ends with SystemExit.

    Instead of one that is closed there is /dev/null. If something for standard output was lost,
    standard error says so, and the exit code is not 0.
    """
    # Files that are opened later must not get the numbers of closed streams.
    while (file := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(file, True)
    os.close(file)
    out, _ = files = [LossyFile(number, "w", closefd=False) for number in (1, 2)]
    for name, lossy in zip(STREAMS, files, strict=True):
        before = getattr(sys, name)
        if before is None or not before.isatty():  # terminals of Windows take letters, not bytes
            setattr(sys, name, as_text(lossy, before))
    try:
        yield
    except SystemExit as end:
        if out.lack:
            say(f"scalarviz: standard output was lost: {out.lack}", file=sys.stderr)
        sys.exit(end.code or int(bool(out.lack)))


def as_text(file: LossyFile, before: io.TextIOWrapper | None) -> io.TextIOWrapper:
    """Return a text stream that writes into a file as the stream `before` does."""
    if before is None:
        return io.TextIOWrapper(io.BufferedWriter(file), "utf-8", "backslashreplace")
    return io.TextIOWrapper(
        file if before.write_through else io.BufferedWriter(file),  # raw, as Python itself does
        before.encoding,
        "backslashreplace",  # a file of Windows has not all letters
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )
