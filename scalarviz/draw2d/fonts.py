"""Fonts: which file to draw with, and its letters as grey pictures side by side in one atlas.

A letter is drawn by FreeType at exactly the size that the screen shows, in device pixels, and kept.
Small letters are kept at four shifts of a quarter of a pixel, so that they stand as evenly as the
font means them to, while every picture still lands on whole pixels. Everything here is in device
pixels, y down; only `scalarviz.draw2d.canvas` knows of logical ones.
"""

from __future__ import annotations

import io
import sys
import warnings
from array import array
from collections.abc import Iterator
from contextlib import suppress
from ctypes import byref
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import freetype
import numpy as np
import numpy.typing as npt

from scalarviz.errors import InputError

LINE_HEIGHT = 1.35
QUARTERED = 24  # pixels: from this size on, letters are placed on whole pixels only

# Asked for in this order on Linux, where no font is certain.
SANS = ("Inter", "Noto Sans", "Open Sans", "DejaVu Sans", "Liberation Sans")
MONO = ("DejaVu Sans Mono", "Noto Sans Mono", "Liberation Mono")

# Elsewhere fonts are known by file. After "#" comes the number of the face within a collection.
SYSTEM = {"win32": "C:/Windows/Fonts/", "darwin": "/System/Library/Fonts/"}
FILES = {
    ("win32", "sans"): ("segoeui.ttf", "arial.ttf"),
    ("win32", "sans bold"): ("segoeuib.ttf", "arialbd.ttf"),
    ("win32", "mono"): ("consola.ttf", "cour.ttf"),
    ("win32", "mono bold"): ("consolab.ttf", "courbd.ttf"),
    ("darwin", "sans"): ("SFNS.ttf", "Helvetica.ttc#0", "Supplemental/Arial.ttf"),
    ("darwin", "sans bold"): ("SFNS.ttf", "Helvetica.ttc#1", "Supplemental/Arial Bold.ttf"),
    ("darwin", "mono"): ("Menlo.ttc#0", "SFNSMono.ttf"),
    ("darwin", "mono bold"): ("Menlo.ttc#1", "SFNSMono.ttf"),
}
PLAIN = ("DejaVuSans", "LiberationSans-Regular", "NotoSans-Regular")  # without fontconfig
FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")

# What is written instead of a letter that the font lacks; "?" for any other.
REPLACEMENTS = {"\n": "\n", "\u00a0": " ", "\t": "    "} | dict(
    zip(
        "→←×−–·…Σ²δ∂±≤≥≈’“”",
        '-> <- x - - . ... sum ^2 delta d +- <= >= ~ \' " "'.split(),
        strict=True,
    )
)


class Atlas:
    """Grey pictures on one large page, in rows; the page grows, and what is on it stays put."""

    def __init__(self, width: int = 1024, height: int = 256) -> None:
        self.pixels: npt.NDArray[np.uint8] = np.zeros((height, width), np.uint8)
        self.version = 0  # one more for every picture put on it
        self._left = self._top = self._row_height = 0

    def __repr__(self) -> str:
        height, width = self.pixels.shape
        return f"Atlas({width} x {height}, version {self.version})"

    def place(self, picture: npt.NDArray[np.uint8]) -> tuple[int, int]:
        """Put a picture on the page and return its left and top."""
        height, width = picture.shape
        if self._left + width + 1 > self.pixels.shape[1]:
            self._top += self._row_height
            self._left = self._row_height = 0
        while self._top + height + 1 > self.pixels.shape[0] or width + 1 > self.pixels.shape[1]:
            wider = width + 1 > self.pixels.shape[1]
            grown = np.zeros(np.multiply(self.pixels.shape, (1, 2) if wider else (2, 1)), np.uint8)
            grown[: self.pixels.shape[0], : self.pixels.shape[1]] = self.pixels
            self.pixels = grown
        left, top = self._left, self._top
        self.pixels[top : top + height, left : left + width] = picture
        self._left += width + 1
        self._row_height = max(self._row_height, height + 1)
        self.version += 1
        return left, top


ATLAS = Atlas()


class Glyph(NamedTuple):
    """Where a letter is in the atlas, and where its middle lies from the pen. Half its size too."""

    x: float
    y: float
    half_width: float
    half_height: float
    left: float
    top: float
    right: float
    bottom: float


class Font:
    """One face at one size in pixels."""

    def __init__(self, face: freetype.Face, pixels: int, embolden: bool) -> None:
        self.face = face
        self.pixels = pixels
        self.steps = 4 if pixels < QUARTERED else 1
        self.embolden = embolden
        self._advances: dict[str, float] = {}
        self._glyphs: dict[tuple[str, int, int], Glyph | None] = {}

    def __repr__(self) -> str:
        return f"Font({family(self.face)!r}, {self.pixels} pixels)"

    def spell(self, words: str) -> str:
        """The same words in letters that the font has."""
        if not set(words).difference(self._advances):
            return words
        return "".join(letter if self.has(letter) else self._instead(letter) for letter in words)

    def has(self, letter: str) -> bool:
        """Whether the font can draw this letter."""
        return letter.isprintable() and self.face.get_char_index(letter) != 0

    def _instead(self, letter: str) -> str:
        instead = REPLACEMENTS.get(letter, "?")
        return instead if all(map(self.has, instead.strip("\n"))) else "?"

    def advances(self, letters: str) -> list[float]:
        """How far each letter moves the pen: as the font means it, not in whole pixels."""
        known = self._advances
        for letter in letters:
            if letter not in known:
                self._load(letter)
                known[letter] = self.face.glyph.linearHoriAdvance / 65536.0
                known[letter] += self.pixels / 24.0 if self.embolden else 0.0
        return [known[letter] for letter in letters]

    def glyph(self, letter: str, step: int, halo: int) -> Glyph | None:
        """A letter shifted by that many steps to the right, or its halo; None for a blank."""
        try:
            return self._glyphs[letter, step, halo]
        except KeyError:
            glyph = self._glyphs[letter, step, halo] = self._draw(letter, step, halo)
            return glyph

    def _draw(self, letter: str, step: int, halo: int) -> Glyph | None:
        self._load(letter)
        slot = self.face.glyph
        # Freetype-py wraps neither this call nor FT_GlyphSlot_Embolden.
        outline = slot._FT_GlyphSlot.contents.outline
        freetype.FT_Outline_Translate(byref(outline), 64 * step // self.steps, 0)
        slot.render(freetype.FT_RENDER_MODE_NORMAL)
        bitmap = slot.bitmap
        if not bitmap.width or not bitmap.rows:
            return None
        rows = np.array(bitmap.buffer, np.uint8).reshape(bitmap.rows, bitmap.pitch)
        picture = spread_out(rows[:, : bitmap.width], halo) if halo else rows[:, : bitmap.width]
        x, y = slot.bitmap_left - halo, -slot.bitmap_top - halo
        height, width = picture.shape
        left, top = ATLAS.place(picture)
        return Glyph(
            *(x + width / 2, y + height / 2, width / 2, height / 2),
            *(left, top, left + width, top + height),
        )

    def _load(self, letter: str) -> None:
        # Light hinting moves outlines up and down only, to sharp baselines and tops.
        self.face.set_pixel_sizes(0, self.pixels)
        flags = freetype.FT_LOAD_NO_BITMAP | freetype.FT_LOAD_TARGET_LIGHT
        self.face.load_char(letter, flags)
        if self.embolden:
            freetype.FT_GlyphSlot_Embolden(self.face.glyph._FT_GlyphSlot)


class TextLayout(NamedTuple):
    """Some words as letters: one row of a `Glyph` each, from the anchor on the first baseline."""

    glyphs: npt.NDArray[np.float32]
    width: float


@lru_cache(maxsize=16384)
def layout(words: str, pixels: int, bold: bool, mono: bool, anchor: str, halo: int) -> TextLayout:
    """Where each letter goes; a halo is that many pixels wide, and drawn instead of the letters."""
    used = font(pixels, bold, mono)
    steps = used.steps
    numbers: list[float] = []
    widest = 0.0
    for row, line in enumerate(used.spell(words).split("\n")):
        advances = used.advances(line)
        width = sum(advances)
        widest = max(widest, width)
        pen = -width if anchor == "right" else -width / 2 if anchor == "center" else 0.0
        baseline = round(row * LINE_HEIGHT * pixels)
        for letter, advance in zip(line, advances, strict=True):
            x, step = divmod(round(pen * steps), steps)
            pen += advance
            glyph = used.glyph(letter, step, halo)
            if glyph is not None:
                right, down, *place = glyph
                numbers += (x + right, baseline + down, *place)
    return TextLayout(np.frombuffer(array("f", numbers), np.float32).reshape(-1, 8), widest)


@lru_cache(maxsize=4096)
def shortened(words: str, width: float, pixels: int, bold: bool, mono: bool) -> str:
    """Words cut with "..." to be at most so wide, line by line; nothing if no dots fit."""
    used = font(pixels, bold, mono)
    dots = sum(used.advances("..."))
    lines = []
    for line in used.spell(words).split("\n"):
        ends = np.cumsum(used.advances(line))
        if len(line) and ends[-1] > width:
            kept = line[: np.searchsorted(ends, width - dots, "right")].rstrip()
            line = kept + "..." if dots <= width else ""
        lines.append(line)
    return "\n".join(lines)


@cache
def font(pixels: int, bold: bool, mono: bool) -> Font:
    """The font for text of this size."""
    face, embolden = find_face(bold, mono)
    return Font(face, pixels, embolden)


def spread_out(picture: npt.NDArray[np.uint8], reach: int) -> npt.NDArray[np.uint8]:
    """A letter made fatter by `reach` pixels all around, fading over the outer half of them."""
    height, width = picture.shape
    halo = np.zeros((height + 2 * reach, width + 2 * reach), np.float32)
    for down, right, strength in brush(reach):
        part = halo[down : down + height, right : right + width]
        np.maximum(part, picture * strength, out=part)
    return np.round(halo).astype(np.uint8)


@cache
def brush(reach: int) -> list[tuple[int, int, np.float32]]:
    """Row, column and strength of each pixel that a halo of one pixel touches."""
    row, column = np.indices((2 * reach + 1, 2 * reach + 1))
    away = np.hypot(row - reach, column - reach) / reach
    strength = np.clip(2.0 - 2.0 * away, 0.0, 1.0).astype(np.float32)
    where = strength > 0.0
    return list(zip(row[where].tolist(), column[where].tolist(), strength[where], strict=True))


@cache
def find_face(bold: bool, mono: bool) -> tuple[freetype.Face, bool]:
    """The face to draw with, and whether it has to be made bold by fattening."""
    for face in candidates(bold, mono):
        if face is not None and all(face.get_char_index(letter) for letter in "Aa0.?-"):
            return face, bold and not made_bold(face)
    raise InputError(
        "there is no font to write with: apt-get install fonts-dejavu-core, or pip install Pillow"
    )


def candidates(bold: bool, mono: bool) -> Iterator[freetype.Face | None]:
    """Faces, the best first; None for one that cannot be read."""
    style = ("mono" if mono else "sans") + (" bold" if bold else "")
    for name in FILES.get((sys.platform, style), ()):
        path, _, number = name.partition("#")
        yield opened(SYSTEM[sys.platform] + path, int(number or 0))
    if sys.platform not in SYSTEM:
        for name in MONO if mono else SANS:
            face = opened(ask_fontconfig(name, bold))
            # It answers with some font, whatever the name.
            yield face if family(face) == name else None
        yield opened(ask_fontconfig("monospace" if mono else "sans-serif", bold))
    if mono:
        yield find_face(bold, False)[0]
    for folder in FOLDERS:
        files = Path(folder).expanduser().rglob("*.[ot]tf")
        for file in sorted(files, key=lambda file: (file.stem not in PLAIN, file)):
            yield opened(str(file))
    yield from built_in()


def ask_fontconfig(name: str, bold: bool) -> str:
    """The file of the font that fontconfig finds nearest to this name; "" without fontconfig."""
    with suppress(ImportError, OSError, RuntimeError):
        from vispy.ext.fontconfig import find_font

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(find_font(name, bold, False))
    return ""


def opened(path: str, number: int = 0) -> freetype.Face | None:
    """A face from a file, or None if it cannot be read."""
    if not Path(path).is_file():
        return None
    try:
        face = freetype.Face(path, number)
    except freetype.FT_Exception:
        return None
    return face if face.is_scalable else None


def built_in() -> Iterator[freetype.Face]:
    """The font that travels inside Pillow, if that is installed."""
    with suppress(ImportError, AttributeError, freetype.FT_Exception):
        from PIL import ImageFont

        yield freetype.Face(io.BytesIO(ImageFont.load_default(12).path.getvalue()))  # type: ignore[union-attr]


def family(face: freetype.Face | None) -> str:
    """The name of a face's family."""
    return "" if face is None else (face.family_name or b"").decode("utf-8", "replace")


def made_bold(face: freetype.Face) -> bool:
    """Whether the face is bold by itself, or can be turned so because its weight is variable."""
    if face.style_flags & freetype.FT_STYLE_FLAG_BOLD:
        return True
    try:
        names = [instance.name for instance in face.get_variation_info().instances]
        face.set_var_named_instance("Bold")
    except (freetype.FT_Exception, NotImplementedError):
        return False
    return "Bold" in names
