"""Fonts: glyphs rendered by FreeType into one atlas, and text layout.

A glyph is rendered at its exact screen size in device pixels and cached. Small glyphs are cached at
four subpixel shifts, so that letters are evenly spaced although every image is on whole pixels. All
units here are device pixels, with y down; `scalarviz.scene.canvas.canvas2d` converts from logical
pixels. The fonts are DejaVu, included in the package, and system fonts for other scripts.
"""

from __future__ import annotations

import os
import subprocess
from array import array
from contextlib import suppress
from ctypes import byref
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scalarviz.base.texts.decimals import typeset

LINE_HEIGHT = 1.35
QUARTERED = 24  # minimum pixels of glyphs without subpixel shifts

BOX = "□"  # replaces a letter that no font has
SPELLINGS = {"\n": "\n", "\u00a0": " ", "\t": "    "}


class Atlas:
    """One large gray image that holds small images in rows and grows without moving them."""

    def __init__(self, width: int = 1024, height: int = 256) -> None:
        self.pixels: npt.NDArray[np.uint8] = np.zeros((height, width), np.uint8)
        self.version = 0  # increases with every image
        self._left = self._top = self._row_height = 0

    def place(self, picture: npt.NDArray[np.uint8]) -> tuple[int, int]:
        """Add an image; return its left and top."""
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


# Center relative to the pen, x and y, and half of width and height; left, top, right and bottom of
# its position in the atlas.
Glyph = tuple[float, ...]


class Font:
    """Glyphs of one size in pixels, each from the font that contains the letter, see `face_of`."""

    def __init__(self, pixels: int, bold: bool) -> None:
        self.pixels = pixels
        self.bold = bold
        self.steps = 4 if pixels < QUARTERED else 1
        self._spellings = dict(SPELLINGS)
        self._advances: dict[str, float] = {}
        self.glyphs: dict[tuple[str, float, int], Glyph | None] = {}

    def spell(self, words: str) -> str:
        """Return the text with each letter that is missing from all fonts replaced by a box."""
        known = self._spellings
        for letter in set(words).difference(known):
            is_drawn = letter.isprintable() and face_of(letter, self.bold) is not None
            known[letter] = letter if is_drawn else BOX
        return "".join([known[letter] for letter in words])

    def advances(self, letters: str) -> list[float]:
        """Return the advance width of each letter, not rounded to pixels."""
        known = self._advances
        for letter in letters:
            if letter not in known:
                face, embolden = self._load(letter)
                known[letter] = face.glyph.linearHoriAdvance / 65536.0
                known[letter] += self.pixels / 24.0 if embolden else 0.0
        return [known[letter] for letter in letters]

    def glyph(self, letter: str, step: float, halo: int) -> Glyph | None:
        """Draw a glyph shifted right by `step` subpixel steps, or its halo; None for a blank."""
        glyph = self.glyphs[letter, step, halo] = self._draw(letter, int(step), halo)
        return glyph

    def _draw(self, letter: str, step: int, halo: int) -> Glyph | None:
        import freetype  # not available where a page is created in a browser

        slot = self._load(letter).face.glyph
        # freetype-py wraps neither this call nor FT_GlyphSlot_Embolden.
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
        return (
            *(x + width / 2, y + height / 2, width / 2, height / 2),
            *(left, top, left + width, top + height),
        )

    def _load(self, letter: str) -> StyledFace:
        import freetype

        found = face_of(letter, self.bold) or packaged(self.bold)
        # Light hinting is vertical only: sharp baselines and tops.
        found.face.set_pixel_sizes(0, self.pixels)
        found.face.load_char(letter, freetype.FT_LOAD_NO_BITMAP | freetype.FT_LOAD_TARGET_LIGHT)
        if found.embolden:
            freetype.FT_GlyphSlot_Embolden(found.face.glyph._FT_GlyphSlot)
        return found


class TextLayout(NamedTuple):
    """Text as glyphs: one `Glyph` row per letter, relative to the anchor on the first baseline."""

    glyphs: npt.NDArray[np.float32]
    width: float


@lru_cache(maxsize=16384)
def layout(words: str, pixels: int, bold: bool, anchor: str, halo: int) -> TextLayout:
    """Return the positions of letters, or of their halos if `halo` (a width in pixels) is not 0."""
    used = font(pixels, bold)
    steps = used.steps
    numbers: list[float] = []
    widest, known = 0.0, used.glyphs
    for row, line in enumerate(used.spell(typeset(words)).split("\n")):
        advances = used.advances(line)
        width = sum(advances)
        widest = max(widest, width)
        pen = -width if anchor == "right" else -width / 2 if anchor == "center" else 0.0
        baseline = round(row * LINE_HEIGHT * pixels)
        pens = np.rint(np.array([*accumulate(advances, initial=pen)]) * steps)
        for letter, x, step in zip(
            line, (pens // steps).tolist(), (pens % steps).tolist(), strict=False
        ):
            key = letter, step, halo
            glyph = known[key] if key in known else used.glyph(*key)
            if glyph is not None:
                right, down, *place = glyph
                numbers += (x + right, baseline + down, *place)
    return TextLayout(np.frombuffer(array("f", numbers), np.float32).reshape(-1, 8), widest)


@lru_cache(maxsize=16384)
def width_of(words: str, pixels: int, bold: bool) -> float:
    """Return the width of the widest line of a text, without rendering its letters."""
    used = font(pixels, bold)
    return max([sum(used.advances(line)) for line in used.spell(typeset(words)).split("\n")])


@lru_cache(maxsize=4096)
def shortened(words: str, width: float, pixels: int, bold: bool) -> str:
    """Truncate each line with "..." to a width; a line too narrow for the dots becomes empty."""
    used = font(pixels, bold)
    dots = sum(used.advances("..."))
    lines = []
    for line in used.spell(words).split("\n"):
        ends = np.cumsum(used.advances(typeset(line)))
        if len(line) and ends[-1] > width:
            kept = line[: np.searchsorted(ends, width - dots, "right")].rstrip()
            line = kept + "..." if dots <= width else ""
        lines.append(line)
    return "\n".join(lines)


@cache
def font(pixels: int, bold: bool) -> Font:
    """Return the font of a size in pixels and a weight."""
    return Font(pixels, bold)


def spread_out(picture: npt.NDArray[np.uint8], reach: int) -> npt.NDArray[np.uint8]:
    """Dilate a glyph by `reach` pixels on all sides; the outer half of the halo fades."""
    height, width = picture.shape
    halo = np.zeros((height + 2 * reach, width + 2 * reach), np.float32)
    for down, right, strength in brush(reach):
        part = halo[down : down + height, right : right + width]
        np.maximum(part, picture * strength, out=part)
    return np.round(halo).astype(np.uint8)


@cache
def brush(reach: int) -> list[tuple[int, int, np.float32]]:
    """Return row, column and strength of each pixel in the halo of a single pixel."""
    row, column = np.indices((2 * reach + 1, 2 * reach + 1))
    away = np.hypot(row - reach, column - reach) / reach
    strength = np.clip(2.0 - 2.0 * away, 0.0, 1.0).astype(np.float32)
    where = strength > 0.0
    return list(zip(row[where].tolist(), column[where].tolist(), strength[where], strict=True))


# Font files.

PACKAGED = {False: "DejaVuSans.ttf", True: "DejaVuSans-Bold.ttf"}  # by whether it is bold

# Font folders of systems, used if fontconfig is missing.
FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "~/.local/share/fonts",
    "~/.fonts",
    "/System/Library/Fonts",
    "/Library/Fonts",
    "~/Library/Fonts",
    "%WINDIR%/Fonts",
    "%LOCALAPPDATA%/Microsoft/Windows/Fonts",
)
ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
# Fonts whose glyphs are all boxes, blank, or colored images.
USELESS = ("lastresort", "adobeblank", "adobenotdef", "coloremoji")
# Parts of names of fonts that look unlike DejaVu Sans, and of similar ones.
UNLIKE = (
    *("serif", "mono", "italic", "oblique", "condensed", "light", "thin", "black", "unifont"),
    *("batang", "myungjo", "gungs", "pilgi", "mincho", "ming", "song", "simsun"),
)
LIKE = ("noto", "dotum", "applesdgothic", "msyh")

CODE_BLOCK = 256  # code points in a block; per font, only the blocks with glyphs are stored


class StyledFace(NamedTuple):
    """A FreeType face, and whether its glyphs need artificial bold."""

    face: Any
    embolden: bool


@cache
def packaged(bold: bool) -> StyledFace:
    """Return the packaged face of DejaVu Sans, bold or regular."""
    import freetype  # not available where a page is created in a browser

    face = freetype.Face(str(Path(__file__).parent / "dejavu" / PACKAGED[bold]))
    return StyledFace(face, False)


@cache
def face_of(letter: str, bold: bool) -> StyledFace | None:
    """Return the face that contains a letter, bold or regular; None if no font does.

    DejaVu Sans is tried first, then the system fonts in the order of `unlikeness`.
    """
    for own in (packaged(bold), StyledFace(packaged(False).face, bold)):
        if own.face.get_char_index(letter):
            return own
    paths = files_by_block().get(ord(letter) // CODE_BLOCK, ())
    for path in sorted(paths, key=lambda path: unlikeness(path, bold)):
        found = styled(path, bold)
        if found is not None and found.face.get_char_index(letter):
            return found
    return None


def unlikeness(path: str, bold: bool) -> tuple[int, bool, str]:
    """Return the sort key of a font path; fonts that resemble DejaVu Sans come first."""
    name = Path(path).stem.lower()
    unlike = sum(part in name for part in UNLIKE) + (("bold" in name) != bold)
    return unlike, not any(part in name for part in LIKE), path


@cache
def files_by_block() -> dict[int, list[str]]:
    """Return the paths of system fonts by the block of code points for which they have glyphs."""
    found: dict[int, list[str]] = {}
    for path in system_files():
        face = opened(path)
        if face is None:
            continue
        code, glyph = face.get_first_char()
        while glyph:
            block = code // CODE_BLOCK
            found.setdefault(block, []).append(path)
            code, glyph = face.get_next_char((block + 1) * CODE_BLOCK - 1, 0)
    return found


def system_files() -> list[str]:
    """Return the paths of system fonts, found by fontconfig or in the standard folders."""
    names: list[str] = []
    with suppress(OSError, subprocess.SubprocessError):
        command = ["fc-list", "--format", "%{file}\n"]
        done = subprocess.run(command, capture_output=True, timeout=20, check=True)
        names = os.fsdecode(done.stdout).splitlines()
    if not names:
        folders = [Path(os.path.expandvars(folder)).expanduser() for folder in FOLDERS]
        names = [str(path) for folder in folders for path in folder.rglob("*.*")]
    fonts = {name for name in names if name.lower().endswith(ENDINGS)}
    return sorted(name for name in fonts if not any(part in plain(name) for part in USELESS))


def plain(path: str) -> str:
    """Return a file name in lower case, without folder, blanks and hyphens."""
    return Path(path).name.lower().replace(" ", "").replace("-", "")


@lru_cache(maxsize=32)
def styled(path: str, bold: bool) -> StyledFace | None:
    """Return the bold or regular face of a font file, or None if it cannot be read."""
    import freetype

    face = opened(path)
    if face is None:
        return None
    weight = "Bold" if bold else "Regular"
    with suppress(freetype.FT_Exception, NotImplementedError):  # not a variable font
        if weight in [instance.name for instance in face.get_variation_info().instances]:
            face.set_var_named_instance(weight)
            return StyledFace(face, False)
    return StyledFace(face, bold and not face.style_flags & freetype.FT_STYLE_FLAG_BOLD)


def opened(path: str) -> Any:
    """Return the face of a font file, or None if it is not scalable or has no Unicode map."""
    import freetype

    try:
        face = freetype.Face(path)
        face.select_charmap(freetype.FT_ENCODING_UNICODE)
    except (freetype.FT_Exception, OSError):
        return None
    return face if face.is_scalable else None
