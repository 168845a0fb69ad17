"""Font files: DejaVu from the package, and fonts of the system for other scripts."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

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
# Fonts whose glyphs are all boxes, blank, or coloured images.
USELESS = ("lastresort", "adobeblank", "adobenotdef", "coloremoji")
# Parts of names of fonts that look unlike DejaVu Sans, and of some that resemble it.
UNLIKE = (
    *("serif", "mono", "italic", "oblique", "condensed", "light", "thin", "black", "unifont"),
    *("batang", "myungjo", "gungs", "pilgi", "mincho", "ming", "song", "simsun"),
)
LIKE = ("noto", "dotum", "applesdgothic", "msyh")

BLOCK = 256  # code points in a block; per font, only the blocks with glyphs are stored


class StyledFace(NamedTuple):
    """A FreeType face, and whether its glyphs must be emboldened."""

    face: Any
    embolden: bool


@cache
def packaged(bold: bool) -> StyledFace:
    """Return the face of DejaVu Sans in this weight."""
    import freetype  # not where a page is made in a browser

    face = freetype.Face(str(Path(__file__).parent / "dejavu" / PACKAGED[bold]))
    return StyledFace(face, False)


@cache
def fallback(letter: str, bold: bool) -> StyledFace | None:
    """Return the face that draws a letter which its font lacks, or None if no font has it.

    DejaVu Sans is tried first, then the fonts of the system in the order of `unlikeness`.
    """
    for own in (packaged(bold), StyledFace(packaged(False).face, bold)):
        if own.face.get_char_index(letter):
            return own
    paths = files_by_block().get(ord(letter) // BLOCK, ())
    for path in sorted(paths, key=lambda path: unlikeness(path, bold)):
        found = styled(path, bold)
        if found is not None and found.face.get_char_index(letter):
            return found
    return None


def unlikeness(path: str, bold: bool) -> tuple[int, bool, str]:
    """Sort key of a font by its name: fonts that resemble DejaVu Sans come first."""
    name = Path(path).stem.lower()
    unlike = sum(part in name for part in UNLIKE) + (("bold" in name) != bold)
    return unlike, not any(part in name for part in LIKE), path


@cache
def files_by_block() -> dict[int, list[str]]:
    """Return the paths of the system's fonts by block of code points in which they have glyphs."""
    found: dict[int, list[str]] = {}
    for path in system_files():
        face = opened(path)
        if face is None:
            continue
        code, glyph = face.get_first_char()
        while glyph:
            block = code // BLOCK
            found.setdefault(block, []).append(path)
            code, glyph = face.get_next_char((block + 1) * BLOCK - 1, 0)
    return found


def system_files() -> list[str]:
    """Return the font files of the system: those of fontconfig, or all in the usual folders."""
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
    """Return a file name in small letters, without folder, blanks and hyphens."""
    return Path(path).name.lower().replace(" ", "").replace("-", "")


@lru_cache(maxsize=32)
def styled(path: str, bold: bool) -> StyledFace | None:
    """Return the face of a file in this weight, or None if it cannot be read."""
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
    """Return a scalable face with a Unicode character map, or None."""
    import freetype

    try:
        face = freetype.Face(path)
        face.select_charmap(freetype.FT_ENCODING_UNICODE)
    except (freetype.FT_Exception, OSError):
        return None
    return face if face.is_scalable else None
