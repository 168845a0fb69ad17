"""Encoders: frames are written atomically as PNG, MP4 or GIF files."""

from __future__ import annotations

import io
import struct
import zlib
from abc import abstractmethod
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require
from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, check_place, replace_file

Frame = npt.NDArray[np.uint8]
COLORS, EXACT = 256, 48  # colors of a GIF; how many of them are its most frequent colors
SHIFT = np.array([65536, 256, 1])
MOST_SHARED = 24  # frames of a GIF from which its palette is computed
# Module, package and installation extra for each file suffix.
NEEDS = {".mp4": ("av", "PyAV", "video"), ".gif": ("PIL", "Pillow", "images")}


class Encoder(AbstractContextManager["Encoder"]):
    """Receives frames, and writes a file when the `with` block ends without an error.

    Attributes:
        count: number of frames so far
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    @final
    def add(self, frame: Frame, times: int = 1) -> None:
        """Add a frame, uint8 (height, width, 3), once or several times."""
        for _ in range(times):
            self.encode(frame)
        self.count += times

    @abstractmethod
    def encode(self, frame: Frame) -> None:
        """Append a frame."""

    @abstractmethod
    def finish(self) -> bytes | memoryview:
        """Return the content of the file."""

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            replace_file(self.path, self.finish())


@final
class Mp4(Encoder):
    """Encoder of H.264 video in MP4 files, which every browser supports."""

    def __init__(self, path: Path, width: int, height: int, fps: int) -> None:
        super().__init__(path)
        import av

        self._whole = io.BytesIO()  # in memory, so that a killed process leaves no partial file
        self._av: Any = av
        self._file: Any = av.open(
            self._whole,
            "w",
            format="mp4",
            options={"movflags": "faststart"},
            # To move the index to the front, faststart reads the data written so far.
            io_open=lambda *about: io.BytesIO(self._whole.getvalue()),
        )
        self._stream: Any = self._file.add_stream("libx264", rate=fps)
        # yuv420p requires even sizes: an odd last row or column is cropped.
        self._stream.width, self._stream.height = width // 2 * 2, height // 2 * 2
        self._stream.pix_fmt = "yuv420p"
        self._stream.options = {"crf": "18", "preset": "veryfast"}

    def encode(self, frame: Frame) -> None:
        even = np.ascontiguousarray(frame[: self._stream.height, : self._stream.width])
        self._file.mux(self._stream.encode(self._av.VideoFrame.from_ndarray(even, "rgb24")))

    def finish(self) -> memoryview:
        self._file.mux(self._stream.encode())
        self._file.close()
        return self._whole.getbuffer()


@final
class Gif(Encoder):
    """Encoder of GIF files with one palette for all frames, to avoid flicker."""

    def __init__(self, path: Path, fps: int) -> None:
        super().__init__(path)
        self._frames: list[Any] = []
        self._milliseconds = round(1000 / fps)

    def encode(self, frame: Frame) -> None:
        from PIL import Image

        self._frames.append(Image.fromarray(frame))

    def finish(self) -> bytes:
        from PIL import Image

        apart = max(1, len(self._frames) // MOST_SHARED)
        colors = Image.new("P", (1, 1))
        colors.putpalette(table_of([np.asarray(each) for each in self._frames[::apart]]))
        frames = [
            frame.quantize(palette=colors, dither=Image.Dither.NONE) for frame in self._frames
        ]
        file = io.BytesIO()
        frames[0].save(
            file,
            "GIF",
            save_all=True,
            append_images=frames[1:],
            duration=self._milliseconds,
            loop=0,
            optimize=False,
        )
        return file.getvalue()


def table_of(frames: list[Frame]) -> bytes:
    """Return the palette of a GIF: its most frequent colors exactly, others approximated.

    The weight of a color grows with the logarithm of its frequency: otherwise shades of the
    background would take most of the palette.
    """
    from PIL import Image

    parts = np.concatenate([each.reshape(-1, 3) for each in frames]).astype(np.int32)
    found, count = np.unique(parts @ SHIFT, return_counts=True)
    order = np.argsort(-count, kind="stable")
    exact, others = found[order[:EXACT]], order[EXACT:]
    often = np.minimum(4, np.maximum(0, np.log2(count[others]).astype(int) - 2))
    row = split(np.repeat(found[others], often))
    if not len(row):
        return split(exact).tobytes()
    sheet = Image.fromarray(row[np.newaxis])
    rest = sheet.quantize(COLORS - EXACT, method=Image.Quantize.MAXCOVERAGE).getpalette() or []
    return split(exact).tobytes() + bytes(rest[: 3 * (COLORS - EXACT)])


def split(codes: npt.NDArray[np.int32]) -> Frame:
    """Return 24-bit colors as rows of three bytes."""
    return np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1).astype(np.uint8)


def encoder_for(path: object, size: tuple[int, int], ratio: float, fps: int) -> Encoder:
    """Return the encoder for a file name.

    Raises:
        InputError: if its suffix is unknown or a package is missing.
        FileError: if the file cannot be written.
    """
    place = as_path(path)
    kind = place.suffix.lower()
    require(kind in NEEDS, f"a video is saved as .mp4 or .gif, not as {place.name!r}: rename it")
    module, name, extra = NEEDS[kind]
    if find_spec(module) is None:
        raise InputError(
            f"writing {kind} needs {name}, which is not installed: {pip_command(extra)}"
        )
    check_place(place)
    if kind == ".gif":
        return Gif(place, fps)
    return Mp4(place, round(size[0] * ratio), round(size[1] * ratio), fps)


def png(frame: npt.NDArray[np.uint8]) -> bytes:
    """Return a frame as a PNG file (RFC 2083), with the filter "up" (2) on each row of RGB."""
    height, width, _ = frame.shape
    up = np.diff(frame, axis=0, prepend=np.zeros_like(frame[:1]))
    rows = np.insert(up.reshape(height, -1), 0, 2, axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
