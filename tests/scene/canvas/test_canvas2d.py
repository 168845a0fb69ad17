"""Canvas2D and its fonts: the vertices of shapes and texts, without OpenGL."""

import sys
from collections.abc import Iterator
from pathlib import Path

import freetype
import numpy as np
import pytest

from scalarviz.errors import InputError
from scalarviz.scene.canvas import fonts
from scalarviz.scene.canvas.canvas2d import BOX, COLUMNS, FILL, MIDDLE, Canvas2D, color, joins
from scalarviz.scene.canvas.fonts import ATLAS, Atlas, Font, face_of, layout, packaged, styled
from scalarviz.scene.canvas.fonts import BOX as BOX_LETTER
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import CubeValues, FrameData, PictureWords
from scalarviz.scene.layout.division import Division
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.overlay import draw_head
from tests.machine import output_of
from tests.wording import refused


def rows(canvas: Canvas2D) -> np.ndarray:
    """The 24 numbers of each shape on the paper."""
    return canvas.vertices().view(np.float32).reshape(-1, 4, COLUMNS)[:, 0]


@pytest.fixture
def canvas() -> Canvas2D:
    return Canvas2D(100, 100)


def test_needs_neither_vispy_nor_opengl() -> None:
    output_of("-c", "import sys, scalarviz.scene.canvas.canvas2d; sys.exit('vispy' in sys.modules)")


def test_every_shape_has_four_corners(canvas: Canvas2D) -> None:
    canvas.box(0, 0, 10, 10, "#ffffff")
    canvas.discs(np.zeros((3, 2)), 4.0, "#ffffff")
    vertices = canvas.vertices()
    assert len(vertices) == 16
    np.testing.assert_array_equal(vertices["a_style"][:4, 2] - BOX, [0, 1, 2, 3])


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    xy, radius, depth = [(1.0, 2.0), (30.0, 4.0)], [2.0, 3.0], [0.5, -0.25]
    fill, outline = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [(0, 0, 0, 1), (1, 1, 1, 0.5)]
    together, apart = Canvas2D(50, 50), Canvas2D(50, 50)
    together.discs(xy, radius, np.array(fill), outline=np.array(outline), depth=depth, hatch=0.5)
    together.boxes(xy, (5, 6), "#102030", radius=2.0, outline="#ffffff", line=[1.0, 2.0])
    for (x, y), r, z, f, o in zip(xy, radius, depth, fill, outline, strict=True):
        apart.discs((x, y), r, f, outline=o, depth=z, hatch=0.5)
    for (x, y), line in zip(xy, (1.0, 2.0), strict=True):
        apart.box(x, y, 5, 6, "#102030", radius=2.0, outline="#ffffff", line=line)
    np.testing.assert_array_equal(rows(together), rows(apart))


@pytest.mark.parametrize(
    "value", ["#ff8000", (1.0, 128 / 255, 0.0), np.array([1, 128 / 255, 0, 1])]
)
def test_a_colour_is_written_in_three_ways(value: object) -> None:
    assert color(value) == pytest.approx((1.0, 128 / 255, 0.0, 1.0))
    canvas = Canvas2D(10, 10)
    canvas.box(0, 0, 1, 1, value)
    assert rows(canvas)[0, FILL].tolist() == [255 * 256 + 128, 255]


@pytest.mark.parametrize("value", ["red", "#ff", "", "ff8000", (1.0, 0.0), 3.0])
def test_what_is_no_colour_is_refused(value: object) -> None:
    refused(InputError, value).by(Canvas2D(10, 10).box, 0, 0, 1, 1, value)


def test_colours_beyond_the_ends_are_cut_and_nan_is_magenta() -> None:
    canvas = Canvas2D(10, 10)
    canvas.box(0, 0, 1, 1, (2.0, -1.0, 0.0))
    canvas.box(0, 0, 1, 1, (float("nan"), 0.0, 0.0))
    assert rows(canvas)[:, FILL].tolist() == [[255 * 256, 255], [255 * 256, 255 * 256 + 255]]


def test_words_are_remembered_in_order(canvas: Canvas2D) -> None:
    canvas.text(0, 10, "one")
    canvas.text(0, 20, "two", depth=0.5)
    assert canvas.words == ["one", "two"]


def test_a_character_that_cannot_be_drawn_is_a_box(canvas: Canvas2D) -> None:
    assert canvas.measure("a\x07b\u00ad\ud800") == canvas.measure("a□b□□")
    assert canvas.measure("a\u00a0b\tc") == canvas.measure("a b    c")


def test_width_is_that_of_the_widest_line(canvas: Canvas2D) -> None:
    assert canvas.measure("long line\nshort") == canvas.measure("long line")
    assert canvas.text(0, 0, "long line\nshort", bold=True) == canvas.measure(
        "long line", bold=True
    )
    assert canvas.measure("MMM") > canvas.measure("iii")
    assert canvas.measure("") == 0.0


def test_width_is_what_the_font_says() -> None:
    face = packaged(False).face
    expected = 0.0
    for letter in "Weight 3":
        face.load_char(letter, freetype.FT_LOAD_NO_SCALE)
        expected += 16.0 * face.glyph.advance.x / face.units_per_EM
    assert Canvas2D(1, 1).measure("Weight 3", size=16) == pytest.approx(expected, abs=0.01)


def test_anchors_shift_words_by_their_width() -> None:
    lefts = {}
    for anchor in ("left", "center", "right"):
        canvas = Canvas2D(200, 100)
        width = canvas.text(100, 50, "anchored", anchor=anchor)
        lefts[anchor] = (rows(canvas)[:, 0] - rows(canvas)[:, 2]).min()
    assert lefts["left"] - lefts["center"] == pytest.approx(width / 2, abs=1.0)
    assert lefts["left"] - lefts["right"] == pytest.approx(width, abs=1.0)


def test_nan_breaks_a_line(canvas: Canvas2D) -> None:
    canvas.line([(0, 0), (10, 0), (np.nan, 5), (20, 0), (30, 0), (40, np.inf)], "#ffffff")
    assert rows(canvas)[:, MIDDLE].tolist() == [[5, 0], [25, 0]]


def test_what_is_nowhere_is_not_drawn() -> None:
    canvas, nan = Canvas2D(100, 100), float("nan")
    canvas.box(nan, 0, 1, 1, "#ffffff")
    canvas.discs((0, float("inf")), 1, "#ffffff")
    canvas.discs([(nan, 0), (5, 5)], 1.0, "#ffffff")
    canvas.image(nan, 0, 1, 1, np.zeros((1, 1, 3)))
    canvas.line([], "#ffffff")
    canvas.line([(1, 1)], "#ffffff")
    canvas.segments([(0, 0), (np.inf, 0)], [(np.nan, 0), (np.inf, 0)], "#ffffff")
    assert canvas.text(nan, 0, "still measured") > 0.0
    assert rows(canvas)[:, MIDDLE].tolist() == [[5, 5]]
    assert canvas.images_in == []


def test_a_line_is_cut_where_its_pieces_meet() -> None:
    corner = joins(np.array([(0.0, 0.0), (10.0, 0.0), (10.0, 10.0)]), 2.0)
    half = np.sqrt(0.5)
    np.testing.assert_allclose(corner, [[0, 0, half, half], [half, -half, 0, 0]], atol=1e-12)
    # There and back again: no line halves that angle.
    assert not joins(np.array([(0.0, 0.0), (10.0, 0.0), (0.0, 0.0)]), 2.0).any()
    # Shorter than it is wide: a cut would leave nothing of the middle piece.
    assert not joins(np.array([(0.0, 0.0), (9.0, 9.0), (9.0, 8.0), (18.0, 17.0)]), 6.0).any()


def test_an_image_that_is_seen_from_its_edge_is_nowhere() -> None:
    canvas = Canvas2D(10, 10)
    corners = np.array([[(1, 1), (1, 1), (1, 5)], [(1, 1), (3, 1), (1, 5)]])
    canvas.images(corners, np.zeros((1, 1, 3)), np.tile([0.0, 0.0, 1.0, 1.0], (2, 1)))
    assert len(rows(canvas)) == 1


@pytest.mark.parametrize("shape", [(3, 3), (2, 2, 5), (0, 2, 3), (2, 2, 2, 3)])
def test_what_is_no_image_is_refused(shape: tuple[int, ...]) -> None:
    refused(InputError, shape).by(Canvas2D(10, 10).image, 0, 0, 1, 1, np.zeros(shape))


def test_the_atlas_grows_and_what_is_on_it_stays_put() -> None:
    atlas = Atlas(8, 8)
    pictures = [np.full((3, 5), number + 1, np.uint8) for number in range(9)]
    places = [atlas.place(picture) for picture in pictures]
    wide = atlas.place(np.full((2, 30), 99, np.uint8))
    assert atlas.version == 10 and atlas.pixels.shape[1] >= 30
    for (left, top), picture in [*zip(places, pictures, strict=True)]:
        np.testing.assert_array_equal(atlas.pixels[top : top + 3, left : left + 5], picture)
    assert (atlas.pixels == 99).sum() == 60 and atlas.pixels[wide[1], wide[0]] == 99


def test_many_arrows_are_those_drawn_one_by_one() -> None:
    start = np.array([[0.0, 0.0], [5.0, 9.0], [3.0, 3.0]])
    end = np.array([[5.0, 0.0], [5.0, 2.0], [3.0, 3.0]])  # the last one has no length
    width, head, depth = np.array([1.0, 2.0, 2.0]), np.array([3.0, 20.0, 3.0]), [0.1, 0.2, 0.3]
    one, many = Canvas2D(20, 20), Canvas2D(20, 20)
    for i in range(3):
        more = {"width": float(width[i]), "head": float(head[i]), "depth": depth[i]}
        one.arrows(start[i], end[i], "#ff8000", **more)
    many.arrows(start, end, "#ff8000", width=width, head=head, depth=depth)
    assert len(many.vertices()) == 8
    for name in one.vertices().dtype.names:
        np.testing.assert_allclose(many.vertices()[name], one.vertices()[name], rtol=1e-6)


PACKAGE = Path(fonts.__file__).parent.parent
KOREAN, CHINESE = "한국", "漢"


def font(pixels: int = 20, bold: bool = False) -> Font:
    return Font(pixels, bold)


def write_font(path: Path, letters: str, width: int = 1024) -> Path:
    """A font whose letters are squares of that many 1024ths of the size, one beside another."""
    builder = pytest.importorskip("fontTools.fontBuilder", reason="makes a font").FontBuilder(1024)
    pen = pytest.importorskip("fontTools.pens.ttGlyphPen").TTGlyphPen(None)
    for i, corner in enumerate([(0, 0), (0, width), (width, width), (width, 0)]):
        pen.lineTo(corner) if i else pen.moveTo(corner)
    pen.closePath()
    names = [".notdef", *(f"letter{i}" for i in range(len(letters)))]
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): names[i + 1] for i, letter in enumerate(letters)})
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (width, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": path.stem, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return path


def forget() -> None:
    for search in (face_of, styled, fonts.files_by_block):
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
        assert BOX_LETTER not in font(bold=bold).spell(words.replace("\x07", ""))


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
    assert glyph is not None and glyph[2:4] == (7.5, 7.5)
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
        found = face_of(KOREAN[0], is_bold)
        assert found is not None and found.face.family_name == name.encode()


def test_of_several_fonts_the_one_that_looks_like_dejavu_is_chosen(folder: Path) -> None:
    for name in ("ASerif", "BMono-Regular", "NotoOne-Regular", "COther", "ALastResort"):
        write_font(folder / f"{name}.otf", KOREAN)
    chosen = []
    for _ in range(4):
        chosen.append(face_of(KOREAN[0], False).face.family_name.decode())
        (folder / f"{chosen[-1]}.otf").unlink()
        forget()
    assert chosen == ["NotoOne-Regular", "COther", "ASerif", "BMono-Regular"]
    assert face_of(KOREAN[0], False) is None


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
    expected = BOX_LETTER * 2 + CHINESE if status else KOREAN + BOX_LETTER
    assert font().spell(KOREAN + CHINESE) == expected


def test_a_title_is_written_with_letters_that_only_the_system_has(folder: Path) -> None:
    title = "셒갊"  # in no other test: fonts remember which letters they have
    write_font(folder / "korean.ttf", title, 512)
    canvas = Canvas2D(1280.0, 800.0)
    none = np.zeros(0)
    cubes = CubeValues(none, none, "value", "value", none, none)
    words = FrameData(Layout([], [], [], []), cubes, words=PictureWords(title))
    draw_head(canvas, Division.of(1280.0, 800.0), words, THEMES["dark"])
    assert canvas.words[0] == title
    wide = canvas.measure(title, size=16.0, bold=True)
    assert wide == pytest.approx(2 * (8.0 + 16.0 / 24.0), abs=1.0)
    assert wide != canvas.measure(BOX_LETTER * 2, size=16.0, bold=True)
