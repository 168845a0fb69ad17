"""Digits sorted by what is said of them, and the table of counts."""

from dataclasses import replace

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import THEMES, Theme, contrast, rgb
from scalarviz.scene.exhibits.classified import WRONG, ConfusionMatrix, Sorting, readable_on
from scalarviz.scene.layout.division import Box
from tests.noted import Noted
from tests.studio import Studio, at

DARK = THEMES["dark"]
LABELLED = np.repeat(np.arange(10), 8)
SAID = LABELLED.copy()
SAID[[3, 77]] = 9, 4  # a 0 is taken for a 9, and a 9 for a 4
COUNTS = np.diag(np.full(10, 30))
COUNTS[0, 9], COUNTS[9, 4], COUNTS[9, 0] = 1, 6, 2
FLAT = np.repeat(np.linspace(0.0, 1.0, 80), 64).reshape(80, 8, 8)  # each its own grey
SORTING = Sorting(FLAT, LABELLED, SAID, ConfusionMatrix(COUNTS), of="held-out digits")
BOX = Box(20.0, 30.0, 420.0, 568.0)


def painted(sorting: Sorting, box: Box = BOX, theme: Theme = DARK) -> Noted:
    canvas = Noted(theme.ground, 1280, 800)
    sorting.paint(canvas, box, theme)
    return canvas


def tiles(canvas: Noted, rows: int = 8) -> tuple[Box, np.ndarray]:
    """The place of all images, and the size of one with the gaps around it."""
    ((place, _),) = canvas.images_drawn
    return place, np.array([place.width / 10.0, place.height / rows])


def place_of(canvas: Noted, row: int, column: int) -> np.ndarray:
    """The middle of an image of 8 x 8 pixels, of those in eight rows; the ninth pixel is a gap."""
    place, cell = tiles(canvas)
    return np.array([place.x, place.y]) + (np.array([column, row]) + 4.0 / 9.0) * cell


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
    assert "+73" in painted(everything).words
    narrow = painted(everything, Box(0, 0, 150, 300)).words
    assert "+" in narrow and not any(word.startswith("+7") for word in narrow)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_each_picture_stands_in_the_column_of_its_class(studio: Studio, theme: Theme) -> None:
    canvas = painted(SORTING, theme=theme)
    pixels = studio.paper(canvas)
    tray, ink = rgb((theme.tray, theme.ink))
    for picture, row, column in zip(*SORTING.standing(8)[:3], strict=True):
        grey = tray + picture / 79.0 * (ink - tray)
        found = at(pixels, place_of(canvas, row, column))
        np.testing.assert_allclose(found, grey * 255.0, atol=2)
    assert (at(pixels, place_of(canvas, 7, 0)) == 0).all()  # one 0 is missing there


def test_a_picture_is_the_right_way_up(studio: Studio) -> None:
    pictures = np.zeros((80, 8, 8))
    pictures[0, 1, :4] = 1.0  # the upper part, to the left
    canvas = painted(replace(SORTING, pictures=pictures))
    pixels = studio.paper(canvas)
    texel = tiles(canvas)[1] / 9.0  # one of nine is a gap
    for x, y, level in ((-2, -2.5, 255), (2, -2.5, 0), (-2, 2.5, 0), (-2, -3.5, 0)):
        found = at(pixels, place_of(canvas, 0, 0) + np.array([x, y]) * texel)
        wanted = rgb((DARK.ink if level else DARK.tray,))[0] * 255.0
        np.testing.assert_allclose(found, wanted, atol=2)


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_only_a_wrong_one_has_a_frame_and_its_class_in_the_corner(
    studio: Studio, theme: Theme
) -> None:
    canvas = painted(SORTING, theme=theme)
    pixels = studio.paper(canvas)
    side = 8.0 / 9.0 * tiles(canvas)[1]
    warning = theme.map([WRONG])[0] * 255.0
    for picture, row, column in zip(*SORTING.standing(8)[:3], strict=True):
        x, y = place_of(canvas, row, column)
        strip = pixels[int(y), int(x - side[0] / 2.0 - 2.0) : int(x - side[0] / 2.0)]
        framed = np.abs(strip - warning).max(axis=1).min() < 20
        assert framed == (picture in (3, 77))
        corner = pixels[int(y + side[1] / 2.0), int(x + side[0] / 2.0)]
        assert (np.abs(corner - warning).max() < 40) == (picture in (3, 77))
    words = painted(replace(SORTING, confusion=ConfusionMatrix(0 * COUNTS))).words
    assert [words.count(str(i)) for i in range(10)] == [3, 2, 2, 2, 2, 2, 2, 2, 2, 3]


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_the_table_has_the_counts_and_stands_under_the_columns(
    studio: Studio, theme: Theme
) -> None:
    canvas = painted(SORTING, theme=theme)
    assert canvas.words.count("30") == 10
    assert "down: what it is   across: what it was taken for" in canvas.words
    pixels = studio.paper(canvas)
    cells = [box for box, _ in canvas.filled if 12.0 < box.height < 20.0 and box.width > 30.0]
    assert len(cells) == 100
    place, cell = tiles(canvas)
    colors = SORTING.confusion.colors(rgb((theme.tray,))[0], theme.map)
    for (i, j), box in zip(np.ndindex(10, 10), cells, strict=True):
        assert box.x == pytest.approx(place.x + j * cell[0])
        assert place.bottom < box.y and box.bottom <= BOX.bottom
        np.testing.assert_allclose(
            at(pixels, (box.x + 3.0, box.y + 3.0)), colors[i, j] * 255, atol=2
        )


def test_a_cell_is_stronger_the_larger_its_share_of_its_row() -> None:
    ground = rgb((DARK.tray,))[0]
    colors = ConfusionMatrix(COUNTS).colors(ground, DARK.map)
    away = np.linalg.norm(colors - ground, axis=2)
    assert away[9, 4] > away[9, 0] > away[0, 9] > 0.1 and away[1, 1] > away[0, 0] > away[9, 9]
    assert not away[COUNTS == 0].any()
    assert colors[0, 0, 2] > colors[0, 0, 0] and colors[9, 4, 0] > colors[9, 4, 2]
    assert (ConfusionMatrix(0 * COUNTS).colors(ground, DARK.map) == ground).all()


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_count_can_be_read_on_its_cell(theme: Theme) -> None:
    for share in np.linspace(0.0, 1.0, 21):
        counts = np.round(100.0 * np.array([[1.0 - share, share], [share, 1.0 - share]]))
        confusion = ConfusionMatrix(counts.astype(np.int64))
        colors = confusion.colors(rgb((theme.tray,))[0], theme.map).reshape(-1, 3)
        assert contrast(readable_on(colors), colors).min() >= 4.5


def test_what_is_confused_most_is_said() -> None:
    assert SORTING.words() == [
        "300 of 309 held-out digits are right, 97.1%; 9 was taken for 4 6 times"
    ]
    rarely = replace(SORTING, confusion=ConfusionMatrix(np.minimum(COUNTS, 1)))
    assert rarely.words() == ["10 of 13 held-out digits are right, 76.9%"]
    nothing = replace(SORTING, confusion=ConfusionMatrix(0 * COUNTS))
    assert nothing.words() == ["0 of 0 held-out digits are right, 0.0%"]
