"""Digits sorted by what is said of them, and the table of counts."""

from dataclasses import replace

import numpy as np
import pytest
from rich.segment import SegmentLines

from scalarviz.draw2d.batch import EXTRA, HALF, IMAGE, KIND, MIDDLE
from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import contrast, rgb
from scalarviz.draw2d.theme import THEMES, Theme
from scalarviz.view.exhibits.confusion import LABELS, WRONG, Confusion, readable_on
from scalarviz.view.exhibits.exhibit import BlockStyle
from scalarviz.view.exhibits.sorting import GAP, HEADS, TABLE, Sorting
from scalarviz.view.scene.frame import Box
from tests.studio import Studio, at

DARK = THEMES["dark"]
RNG = np.random.default_rng(0)
LABELLED = np.repeat(np.arange(10), 8)
SAID = LABELLED.copy()
SAID[[3, 77]] = 9, 4  # a 0 is taken for a 9, and a 9 for a 4
COUNTS = np.diag(np.full(10, 30))
COUNTS[0, 9], COUNTS[9, 4], COUNTS[9, 0] = 1, 6, 2
FLAT = np.repeat(np.linspace(0.0, 1.0, 80), 64).reshape(80, 8, 8)  # each its own grey
SORTING = Sorting(FLAT, LABELLED, SAID, Confusion(COUNTS), of="held-out digits")
BOX = Box(20.0, 30.0, 286.0, 490.0)


def painted(sorting: Sorting, box: Box = BOX, theme: Theme = DARK) -> Canvas2D:
    canvas = Canvas2D(700, 700)
    sorting.paint(canvas, box, theme)
    return canvas


def place_of(row: int, column: int) -> np.ndarray:
    """The middle of a picture in BOX."""
    cell = (BOX.width - LABELS) / 10.0
    return np.array([BOX.x + LABELS + (column + 0.5) * cell, BOX.y + HEADS + (row + 0.5) * cell])


def test_those_that_stand_wrongly_come_first_and_the_others_keep_their_order() -> None:
    assert [own.tolist() for own in SORTING.order][4] == [77, *range(32, 40)]
    assert SORTING.order[9].tolist() == [3, 72, 73, 74, 75, 76, 78, 79]
    assert SORTING.order[0].tolist() == [0, 1, 2, 4, 5, 6, 7]


def test_a_column_that_is_too_long_says_how_many_are_left() -> None:
    chosen, row, column, lacking = SORTING.standing(8)
    assert lacking.tolist() == [0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    assert len(chosen) == len(row) == len(column) == 78 and row.max() == 7
    assert chosen[column == 4].tolist() == [77, *range(32, 38)]
    everything = replace(SORTING, said=np.full(80, 5))
    assert everything.standing(8)[3].tolist() == [0] * 5 + [73] + [0] * 4
    assert "+74" in painted(everything, Box(0, 0, 300, 300)).words
    narrow = painted(everything, Box(0, 0, 150, 300)).words
    assert "+" in narrow and "+74" not in narrow


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_each_picture_stands_in_the_column_of_its_class(studio: Studio, theme: Theme) -> None:
    pixels = studio.paper(painted(SORTING, theme=theme))
    tray, ink = rgb((theme.tray, theme.ink))
    for column, own in enumerate(SORTING.order):
        for row, picture in enumerate(own.tolist()):
            grey = tray + picture / 79.0 * (ink - tray)
            found = at(pixels, place_of(row, column))
            np.testing.assert_allclose(found, grey * 255.0, atol=2)
    assert (at(pixels, place_of(7, 0)) == 0).all()  # one 0 is missing there


def test_a_picture_is_the_right_way_up(studio: Studio) -> None:
    pictures = np.zeros((80, 8, 8))
    pictures[0, 1, :4] = 1.0  # the upper part, to the left
    pixels = studio.paper(painted(replace(SORTING, pictures=pictures)))
    texel = (BOX.width - LABELS) / 100.0
    for x, y, level in ((-2, -2.5, 255), (2, -2.5, 0), (-2, 2.5, 0), (-2, -3.5, 0)):
        found = at(pixels, place_of(0, 0) + np.array([x, y]) * texel)
        wanted = rgb((DARK.ink if level else DARK.tray,))[0] * 255.0
        np.testing.assert_allclose(found, wanted, atol=2)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_only_a_wrong_one_has_a_frame_and_its_class_in_the_corner(
    studio: Studio, theme: Theme
) -> None:
    pixels = studio.paper(painted(SORTING, theme=theme))
    side = 0.8 * (BOX.width - LABELS) / 10.0
    warning = theme.map([WRONG])[0] * 255.0
    for column, own in enumerate(SORTING.order):
        for row, picture in enumerate(own.tolist()):
            x, y = place_of(row, column)
            strip = pixels[int(y), int(x - side / 2.0 - 3.0) : int(x - side / 2.0)]
            framed = np.abs(strip - warning).max(axis=1).min() < 20
            assert framed == (picture in (3, 77))
            corner = pixels[int(y + side / 2.0 + 1.0), int(x + side / 2.0 + 1.0)]
            assert (np.abs(corner - warning).max() < 40) == (picture in (3, 77))
    words = painted(replace(SORTING, confusion=Confusion(0 * COUNTS))).words
    assert [words.count(str(i)) for i in range(10)] == [3, 2, 2, 2, 2, 2, 2, 2, 2, 3]


def test_small_pictures_have_a_filled_corner_and_no_number(studio: Studio) -> None:
    small = replace(SORTING, confusion=Confusion(0 * COUNTS))
    box = Box(20.0, 30.0, 186.0, 215.0)
    words = painted(small, box).words
    assert [words.count(str(i)) for i in range(10)] == [2] * 10
    pixels = studio.paper(painted(small, box))
    warning = DARK.map([WRONG])[0] * 255.0
    marked = (np.abs(pixels - warning).max(axis=2) < 6).sum()
    assert marked > 2 * 4 * 3


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_the_table_has_the_counts_and_stands_under_the_columns(
    studio: Studio, theme: Theme
) -> None:
    canvas = painted(SORTING, theme=theme)
    assert canvas.words.count("30") == 10 and "rows: true   columns: predicted" in canvas.words
    pixels = studio.paper(canvas)
    table = 0.42 * BOX.height
    assert table < TABLE * BOX.width
    wide, high = (BOX.width - LABELS) / 10.0, (table - 17.0) / 10.0
    colors = SORTING.confusion.colors(rgb((theme.tray,))[0], theme.map)
    for i, j in np.ndindex(10, 10):
        x, y = BOX.x + LABELS + j * wide + 3.0, BOX.bottom - (10 - i) * high + 3.0
        np.testing.assert_allclose(at(pixels, (x, y)), colors[i, j] * 255.0, atol=2)


def test_a_cell_is_stronger_the_larger_its_share_of_its_row() -> None:
    ground = rgb((DARK.tray,))[0]
    colors = Confusion(COUNTS).colors(ground, DARK.map)
    away = np.linalg.norm(colors - ground, axis=2)
    assert away[9, 4] > away[9, 0] > away[0, 9] > 0.1 and away[1, 1] > away[0, 0] > away[9, 9]
    assert not away[COUNTS == 0].any()
    assert colors[0, 0, 2] > colors[0, 0, 0] and colors[9, 4, 0] > colors[9, 4, 2]
    assert (Confusion(0 * COUNTS).colors(ground, DARK.map) == ground).all()


def test_where_rows_or_columns_are_narrow_only_some_are_named() -> None:
    for box, heads, named in (
        (Box(0, 0, 280, 200), True, 2 * list("0123456789")),
        (Box(0, 0, 280, 70), False, list("02468")),
        (Box(0, 0, 80, 250), True, [*"0123456789", *"02468"]),
    ):
        canvas = Canvas2D(300, 300)
        Confusion(0 * COUNTS).paint(canvas, box, DARK, heads=heads)
        assert [word for word in canvas.words if len(word) == 1] == named


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_count_can_be_read_on_its_cell(theme: Theme) -> None:
    for share in np.linspace(0.0, 1.0, 21):
        counts = np.round(100.0 * np.array([[1.0 - share, share], [share, 1.0 - share]]))
        confusion = Confusion(counts.astype(np.int64))
        colors = confusion.colors(rgb((theme.tray,))[0], theme.map).reshape(-1, 3)
        assert contrast(readable_on(colors, theme), colors).min() > 4.0


SIZES = [(286, 490), (196, 215), (196, 100), (320, 130), (286, 80), (100, 30), (12, 12), (660, 90)]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("side", [8, 14])
def test_nothing_leaves_its_box_or_is_written_over_something_else(
    width: int, height: int, side: int
) -> None:
    box = Box(50.0, 60.0, float(width), float(height))
    every = RNG.integers(0, 10, 80)
    pictures = np.ones((80, side, side))
    canvas = painted(replace(SORTING, pictures=pictures, said=every), box)
    rows = canvas._quads.rows(1.0)
    low, high = rows[:, MIDDLE] - rows[:, HALF], rows[:, MIDDLE] + rows[:, HALF]
    assert (low >= [box.x - 2.0, box.y - 1.0]).all()
    assert (high <= [box.right + 3.0, box.bottom + 3.0]).all()
    letters = rows[:, EXTRA].any(axis=1) & (rows[:, KIND] != IMAGE)
    low, high = low[letters] + 1.0, high[letters] - 1.0
    both = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    over = np.argwhere((both > 1.0).all(axis=2) & ~np.eye(len(low), dtype=bool))
    assert not len(over)


def test_its_height_shows_what_it_has() -> None:
    high = SORTING.height(286.0)
    cell = (286.0 - LABELS) / 10.0
    assert high == pytest.approx(HEADS + 11 * cell + GAP + TABLE * 286.0)


def test_in_a_terminal_there_is_the_table_and_without_color_a_sign() -> None:
    for look in (BlockStyle(), BlockStyle(color=False)):
        block = SORTING.block(look, 45, 11)
        lines = ["".join(segment.text for segment in line) for line in block]
        assert len(lines) == 11 and {len(line) for line in lines} == {44}
        assert lines[0].split() == list("0123456789")
        SegmentLines(block)
    assert lines[10].split() == ["9", "2!", ".", ".", ".", "6!", ".", ".", ".", ".", "30"]
    shown = SORTING.block(BlockStyle(), 45, 11)
    assert shown[1][1].style != shown[1][10].style != shown[1][2].style


@pytest.mark.parametrize("look", [BlockStyle(), BlockStyle(color=False)])
def test_a_high_terminal_has_the_digits_as_numbers_too(look: BlockStyle) -> None:
    lines = ["".join(part.text for part in line) for line in SORTING.block(look, 50, 30)]
    assert len(lines) == 11 + 1 + 9 and {len(line) for line in lines} == {44, 0}
    assert lines[12].split() == ["0", "1", "2", "3", "9!", "5", "6", "7", "8", "0!"]
    assert lines[20].split() == ["4"]
    lines = ["".join(part.text for part in line) for line in SORTING.block(look, 50, 19)]
    assert len(lines) == 19
    assert lines[18].split() == ["0", "+2", "+2", "+2", "+3", "+2", "+2", "+2", "+2", "+2"]
    assert len(SORTING.block(look, 50, 18)) == 11


@pytest.mark.parametrize(("width", "height"), [(43, 11), (44, 10), (12, 3), (1, 1)])
def test_a_terminal_too_small_for_it_says_how_many_are_right(width: int, height: int) -> None:
    block = SORTING.block(BlockStyle(), width, height)
    lines = ["".join(segment.text for segment in line) for line in block]
    assert lines == ["300 of 309 are right"[:width]]


def test_what_is_confused_most_is_said() -> None:
    assert SORTING.words() == [
        "300 of 309 held-out digits are right, 97.1%; 9 was taken for 4 6 times"
    ]
    rarely = replace(SORTING, confusion=Confusion(np.minimum(COUNTS, 1)))
    assert rarely.words() == ["10 of 13 held-out digits are right, 76.9%"]
    nothing = replace(SORTING, confusion=Confusion(0 * COUNTS))
    assert nothing.words() == ["0 of 0 held-out digits are right, 0.0%"]
