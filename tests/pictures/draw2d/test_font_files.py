"""Which face draws a letter: DejaVu of the package, then a font of the system, else a box."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scalarviz.scene.canvas import fonts
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.fonts import ATLAS, BOX, Font, fallback, layout, packaged, styled
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import PictureWords
from scalarviz.scene.layout.division import Division
from scalarviz.scene.overlay import draw_head

PACKAGE = Path(fonts.__file__).parent.parent
KOREAN, CHINESE = "한국", "漢"


def font(pixels: int = 20, bold: bool = False) -> Font:
    return Font(packaged(bold), pixels, bold)


def write_font(path: Path, letters: str, width: int = 1024) -> Path:
    """A font whose letters are squares of that many 1024ths of the size, one beside another."""
    builder = pytest.importorskip("fontTools.fontBuilder", reason="makes a font").FontBuilder(1024)
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    for i, corner in enumerate([(0, 0), (0, width), (width, width), (width, 0)]):
        pen.lineTo(corner) if i else pen.moveTo(corner)
    pen.closePath()
    square = pen.glyph()
    names = [".notdef", *(f"letter{i}" for i in range(len(letters)))]
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): names[i + 1] for i, letter in enumerate(letters)})
    builder.setupGlyf(dict.fromkeys(names, square))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (width, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


def forget() -> None:
    for search in (fallback, styled, fonts.files_by_block):
        search.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The only folder with fonts in it, on a system without fontconfig."""
    found = tmp_path / "fonts"
    found.mkdir()
    monkeypatch.setattr(fonts, "FOLDERS", (str(found),))
    monkeypatch.setenv("PATH", "")
    forget()
    yield found
    forget()


@pytest.mark.parametrize("bold", [False, True])
def test_all_letters_of_our_own_texts_come_with_the_package(bold: bool) -> None:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    letters = {letter for letter in "".join(texts) if letter.isprintable()}
    face = packaged(bold).face
    assert [letter for letter in sorted(letters) if not face.get_char_index(letter)] == []


@pytest.mark.parametrize("bold", [False, True])
def test_fonts_of_the_system_are_not_looked_for_without_need(
    bold: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fonts, "system_files", lambda: pytest.fail("looked for"))
    for words in ("Weight 3 → Σ δ²", "Вес нейрона", "Gewicht β ≈ −0.5", "a\x07b\tc\n"):
        assert BOX not in font(bold=bold).spell(words.replace("\x07", ""))


@pytest.mark.parametrize("words", ["a - b", "a -", "a -\n-2 - b"])
def test_a_minus_is_one_at_the_end_of_a_line_too(words: str) -> None:
    both = words, words.replace("-", "−")
    drawn, wanted = (layout(each, 13, False, "left", 0) for each in both)
    np.testing.assert_array_equal(drawn.glyphs, wanted.glyphs)


def test_a_letter_that_dejavu_lacks_is_drawn_by_a_font_of_the_system(folder: Path) -> None:
    (folder / "inner").mkdir()
    write_font(folder / "inner" / "korean.ttf", KOREAN, 768)
    used = font(20)
    assert used.spell(f"a{KOREAN}") == f"a{KOREAN}"
    assert used.advances(KOREAN) == [15.0, 15.0]
    glyph = used.glyph(KOREAN[0], 0, 0)
    assert glyph is not None and (glyph.half_width, glyph.half_height) == (7.5, 7.5)
    left, top, right, bottom = map(int, glyph[4:])
    np.testing.assert_array_equal(ATLAS.pixels[top:bottom, left:right], 255)
    assert used.advances("a") == font(20).advances("a")


def test_bold_letters_are_taken_from_a_bold_font_or_fattened(folder: Path) -> None:
    write_font(folder / "korean.ttf", KOREAN)
    bold = font(24, bold=True)
    bold.spell(KOREAN)
    assert bold.advances(KOREAN[0]) == [25.0]
    forget()
    write_font(folder / "korean-bold.ttf", KOREAN, 512)
    for is_bold, name in ((False, "korean"), (True, "korean-bold")):
        found = fallback(KOREAN[0], is_bold)
        assert found is not None and found.face.family_name == name.encode()


def test_of_several_fonts_the_one_that_looks_like_dejavu_is_chosen(folder: Path) -> None:
    for name in ("ASerif", "BMono-Regular", "NotoOne-Regular", "COther", "ALastResort"):
        write_font(folder / f"{name}.otf", KOREAN)
    chosen = []
    for _ in range(4):
        found = fallback(KOREAN[0], False)
        assert found is not None
        chosen.append(found.face.family_name.decode())
        (folder / f"{chosen[-1]}.otf").unlink()
        forget()
    assert chosen == ["NotoOne-Regular", "COther", "ASerif", "BMono-Regular"]
    assert fallback(KOREAN[0], False) is None


def test_what_is_no_font_is_passed_over(folder: Path) -> None:
    (folder / "empty.ttf").touch()
    (folder / "words.otf").write_text("this is no font")
    (folder / "folder.ttc").mkdir()
    (folder / "nowhere.ttf").symlink_to(folder / "deleted.ttf")
    whole = write_font(folder / "z.ttf", KOREAN).read_bytes()
    (folder / "half.ttf").write_bytes(whole[: len(whole) // 2])
    assert font().spell(KOREAN) == KOREAN


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for fc-list is a shell script")
@pytest.mark.parametrize("status", [0, 1])
def test_fontconfig_says_where_fonts_are_if_it_works(
    status: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = write_font(tmp_path / "elsewhere é.ttf", KOREAN)
    write_font(folder / "usual.ttf", CHINESE)
    program = tmp_path / "fc-list"
    program.write_text(f"#!/bin/sh\necho '{listed}'\nexit {status}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    expected = BOX * 2 + CHINESE if status else KOREAN + BOX
    assert font().spell(KOREAN + CHINESE) == expected


def test_a_title_is_written_with_letters_that_only_the_system_has(folder: Path) -> None:
    title = "셒갊"  # in no other test: fonts remember which letters they have
    write_font(folder / "korean.ttf", title, 512)
    canvas = Canvas2D(1280.0, 800.0)
    draw_head(canvas, Division.of(1280.0, 800.0), PictureWords(title), THEMES["dark"])
    assert canvas.words[0] == title
    wide = canvas.measure(title, size=16.0, bold=True)
    assert wide == pytest.approx(2 * (8.0 + 16.0 / 24.0), abs=1.0)
    assert wide != canvas.measure(BOX * 2, size=16.0, bold=True)
