"""Renderer: the pixels of a canvas, drawn by OpenGL without a window."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.fonts import ATLAS
from tests.studio import Studio

WIDTH, HEIGHT = 64, 48  # logical pixels
BLACK, WHITE = [0, 0, 0], [255, 255, 255]
RED, GREEN, BLUE = [255, 0, 0], [0, 255, 0], [0, 0, 255]
Shown = Callable[..., np.ndarray]


@pytest.fixture(scope="module")
def shown(studio: Studio) -> Shown:
    """shown(paper): its pixels on black, (rows, columns, 3) from 0 to 255."""
    from vispy import gloo

    from scalarviz.scene.canvas.renderer import Renderer

    ink = Renderer()

    def draw(
        canvas: Canvas2D, color: tuple[float, ...] = (0, 0, 0, 1), wall: Any = None
    ) -> np.ndarray:
        width, height = round(WIDTH * canvas.ratio), round(HEIGHT * canvas.ratio)

        def draw_all() -> None:
            gloo.set_viewport(0, 0, width, height)
            gloo.clear(color=color, depth=True)
            if wall is not None:
                gloo.set_state(depth_test=True, blend=False)
                wall.draw("triangle_strip")
            ink.draw(canvas, width, height)

        return studio.shoot(draw_all, width, height)

    return draw


@pytest.fixture
def canvas() -> Canvas2D:
    return Canvas2D(WIDTH, HEIGHT)


def ink_box(pixels: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of all that is not black."""
    rows, columns = np.nonzero(pixels.any(axis=2))
    return columns.min(), rows.min(), columns.max() + 1, rows.max() + 1


def test_a_box_fills_exactly_its_pixels(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(3, 5, 10, 7, "#ff0000")
    expected = np.zeros((HEIGHT, WIDTH, 3), int)
    expected[5:12, 3:13] = RED
    np.testing.assert_array_equal(shown(canvas), expected)


def test_a_ratio_of_two_doubles_everything(shown: Shown) -> None:
    canvas = Canvas2D(WIDTH, HEIGHT, 2.0)
    canvas.boxes([(3, 5)], (10, 7.5), "#ff0000")
    expected = np.zeros((2 * HEIGHT, 2 * WIDTH, 3), int)
    expected[10:25, 6:26] = RED
    np.testing.assert_array_equal(shown(canvas), expected)


def test_half_a_pixel_is_half_as_bright(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(3.5, 5, 10, 7, "#ffffff")
    canvas.line([(20, 20.5), (40, 20.5)], "#ffffff", width=0.5)
    pixels = shown(canvas)[:, :, 0]
    assert pixels[8, 2:5].tolist() == pytest.approx([0, 128, 255], abs=1)
    assert pixels[19:22, 30].tolist() == pytest.approx([0, 128, 0], abs=1)


def test_the_outline_lies_inside_the_edge(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(2, 2, 20, 20, "#ff0000", outline="#00ff00", line=2)
    canvas.discs((40, 20), 10, "#ff0000", outline="#0000ff", line=3)
    pixels = shown(canvas)
    assert pixels[10, 1:5].tolist() == [BLACK, GREEN, GREEN, RED]
    assert pixels[20, [29, 31, 32, 34]].tolist() == [BLACK, BLUE, BLUE, RED]


def test_what_has_no_fill_lets_through(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(0, 0, WIDTH, HEIGHT, "#0000ff")
    canvas.discs((20, 20), 10, None, outline="#00ff00", line=2)
    pixels = shown(canvas)
    assert pixels[20, 20].tolist() == BLUE and pixels[20, 11].tolist() == GREEN


def test_a_disc_is_round(canvas: Canvas2D, shown: Shown) -> None:
    canvas.discs((30, 20), 12, "#ffffff")
    pixels = shown(canvas)[:, :, 0] / 255.0
    assert pixels[20, 30] == 1.0 and pixels[9, 19] == 0.0
    assert ink_box(shown(canvas)) == (18, 8, 42, 32)
    assert pixels.sum() == pytest.approx(np.pi * 144, rel=0.005)


def test_stripes_take_from_the_fill_and_leave_the_outline(shown: Shown) -> None:
    plain, striped = Canvas2D(WIDTH, HEIGHT), Canvas2D(WIDTH, HEIGHT)
    plain.discs((24, 24), 20, "#ff8000", outline="#ffffff", line=2)
    striped.discs((24, 24), 20, "#ff8000", outline="#ffffff", line=2, hatch=1.0)
    before, after = shown(plain), shown(striped)
    assert 0.4 < (before != after).any(axis=2)[14:34, 14:34].mean() < 0.8
    assert after[24, 5].tolist() == WHITE


def test_what_is_drawn_later_lies_on_top(canvas: Canvas2D, shown: Shown) -> None:
    canvas.discs([(20, 20)], 10, "#ff0000")
    canvas.image(15, 15, 10, 10, np.full((2, 2, 3), (0.0, 1.0, 0.0)))
    canvas.box(18, 18, 4, 4, "#0000ff")
    assert shown(canvas)[20, [12, 16, 20]].tolist() == [RED, GREEN, BLUE]


def test_colours_mix_by_their_alpha(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(0, 0, 20, 20, "#ff000080")
    canvas.box(30, 0, 20, 20, np.array([0.0, 1.0, 0.0, 0.25]), outline="#ffffff80", line=4)
    pixels = shown(canvas, color=(0, 0, 1, 1))
    assert pixels[10, 10].tolist() == pytest.approx([128, 0, 127], abs=1)
    assert pixels[10, 40].tolist() == pytest.approx([0, 64, 191], abs=1)
    assert pixels[10, 31].tolist() == pytest.approx([128, 128, 255], abs=1)


def test_angle_turns_clockwise(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(10, 20, 30, 4, "#ffffff", angle=np.pi / 4)
    pixels = shown(canvas)
    assert pixels[29, 32].tolist() == WHITE and pixels[15, 32].tolist() == BLACK


def test_clip_cuts_shapes_and_letters(canvas: Canvas2D, shown: Shown) -> None:
    with canvas.clip(10, 8, 20, 6):
        canvas.box(0, 0, WIDTH, HEIGHT, "#ffffff")
    assert ink_box(shown(canvas)) == (10, 8, 30, 14)
    with canvas.clip(10, 30, 20, 6):
        canvas.text(0, 36, "MMMMMMMMMM", color="#ff0000")
    pixels = shown(canvas)
    assert pixels[30:36, 10:30].any()
    pixels[8:14, 10:30] = pixels[30:36, 10:30] = 0
    assert not pixels.any()


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("words", ["H weighs", "0.125H"])
def test_text_is_as_wide_as_measured_and_stands_on_its_baseline(
    shown: Shown, words: str, ratio: float
) -> None:
    canvas = Canvas2D(WIDTH, HEIGHT, ratio)
    width = canvas.text(4, 30, words, size=10)
    left, top, right, bottom = ink_box(shown(canvas))
    # A letter has some air on either side.
    assert right - left == pytest.approx(width * ratio, abs=1 + 2 * ratio)
    assert left >= 4 * ratio
    upright = Canvas2D(WIDTH, HEIGHT, ratio)
    upright.text(4, 30, "H", size=10)
    _, top, _, bottom = ink_box(shown(upright))
    assert bottom == 30 * ratio and bottom - top == pytest.approx(7.3 * ratio, abs=1.2)


def test_text_at_ratio_two_is_twice_as_wide(shown: Shown) -> None:
    widths = []
    for ratio in (1.0, 2.0):
        canvas = Canvas2D(WIDTH, HEIGHT, ratio)
        canvas.text(2, 30, "Handle", size=14)
        left, _, right, _ = ink_box(shown(canvas))
        widths.append(right - left)
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_letters_stand_as_evenly_as_the_font_means_them_to(shown: Shown, ratio: float) -> None:
    middles = []
    for words in ("l", "l" * 12):
        canvas = Canvas2D(WIDTH, HEIGHT, ratio)
        canvas.text(4, 30, words, size=10)
        light = shown(canvas)[:, :, 0].sum(axis=0)
        middles.append(light @ np.arange(len(light)) / light.sum())
    apart = canvas.measure("l" * 11, size=10) / 2
    assert (middles[1] - middles[0]) / ratio == pytest.approx(apart, abs=0.15)


def test_baselines_are_sharp(canvas: Canvas2D, shown: Shown) -> None:
    canvas.text(10.4, 30.4, "E", size=20)
    assert shown(canvas)[:, :, 0][29:31, 17].tolist() == [255, 0]


def test_a_halo_sets_letters_off(shown: Shown) -> None:
    plain, haloed = Canvas2D(WIDTH, HEIGHT), Canvas2D(WIDTH, HEIGHT)
    plain.text(10, 30, "I", color="#ffffff")
    haloed.text(10, 30, "I", color="#ffffff", outline="#ff0000")
    left, top, right, bottom = ink_box(shown(plain))
    around = ink_box(shown(haloed))
    assert around[0] < left and around[1] < top and around[2] > right and around[3] > bottom
    assert shown(haloed)[30, left].tolist()[1:] == [0, 0] and shown(haloed)[30, left, 0] > 100


def test_letters_that_come_later_are_drawn_too(canvas: Canvas2D, shown: Shown) -> None:
    before = ATLAS.version
    canvas.text(2, 40, "Ω", size=37)
    assert ATLAS.version > before
    assert shown(canvas).any()


def test_an_image_shows_its_first_row_on_top(canvas: Canvas2D, shown: Shown) -> None:
    colors = np.array([[RED, GREEN], [BLUE, WHITE]]) / 255.0
    canvas.image(4, 4, 20, 20, colors)
    canvas.image(30, 4, 20, 20, colors, outline="#ffffff", smooth=True)
    pixels = shown(canvas)
    assert pixels[4, 4].tolist() == RED and pixels[13, 13].tolist() == RED
    assert pixels[13, 14].tolist() == GREEN and pixels[14, 13].tolist() == BLUE
    assert pixels[23, 23].tolist() == WHITE and pixels[24, 24].tolist() == BLACK
    assert pixels[4, 40].tolist() == WHITE  # the outline
    assert pixels[6, 40].tolist() not in (RED, GREEN)  # in between


def test_an_image_has_its_own_alpha(canvas: Canvas2D, shown: Shown) -> None:
    canvas.image(0, 0, 10, 10, np.array([[[1.0, 0.0, 0.0, 0.5]]]))
    assert shown(canvas, color=(0, 0, 1, 1))[5, 5].tolist() == pytest.approx([128, 0, 127], abs=1)


def test_a_transparent_line_is_nowhere_darker_and_has_no_holes(
    canvas: Canvas2D, shown: Shown
) -> None:
    x = np.linspace(6, 58, 40)
    canvas.line(np.stack([x, 30 + 10 * np.sin(x / 8)], axis=1), "#ffffff80", width=6)
    canvas.line([(6.5, 5.5), (20.5, 5.5), (30.5, 5.5), (30.5, 12.5)], "#ffffff80", width=3)
    pixels = shown(canvas)[:, :, 0]
    assert pixels.max() == pytest.approx(128, abs=1)
    middle = np.round(30 + 10 * np.sin(np.arange(6, 58) / 8)).astype(int)
    assert (pixels[middle, np.arange(6, 58)] >= 127).all()
    assert (pixels[5, 7:31] >= 127).all() and (pixels[6:12, 30] >= 127).all()


def test_nan_leaves_a_gap(canvas: Canvas2D, shown: Shown) -> None:
    canvas.line([(5, 20), (20, 20), (np.nan, 20), (40, 20), (60, 20)], "#ffffff", width=2)
    row = shown(canvas)[20, :, 0]
    assert row[10] == 255 and row[50] == 255 and not row[22:38].any()


def test_an_arrow_is_widest_at_its_head(canvas: Canvas2D, shown: Shown) -> None:
    canvas.arrows((10, 20), (50, 20), "#ffffff80", width=2, head=12)
    pixels = shown(canvas)[:, :, 0]
    thickness = (pixels > 60).sum(axis=0)
    assert thickness[20] == thickness[36] == 2 and thickness[39] >= 8 and thickness[47] <= 3
    assert not thickness[51:].any() and pixels.max() == pytest.approx(128, abs=1)


def wall(near: float) -> Any:
    """A program that covers the left half at this depth."""
    from vispy import gloo

    program = gloo.Program(
        "attribute vec3 a_at; void main() { gl_Position = vec4(a_at, 1.0); }",
        "void main() { gl_FragColor = vec4(0.0, 0.0, 1.0, 1.0); }",
    )
    corners = [(-1, -1, near), (0, -1, near), (-1, 1, near), (0, 1, near)]
    program["a_at"] = np.array(corners, np.float32)
    return program


def test_depth_hides_what_is_behind_the_scene(canvas: Canvas2D, shown: Shown) -> None:
    canvas.box(0, 0, WIDTH, 10, "#ffffff", depth=0.5)
    canvas.box(0, 10, WIDTH, 10, "#ffffff", depth=-0.5)
    canvas.box(0, 20, WIDTH, 10, "#ffffff")
    canvas.segments([(4, 39)], [(60, 39)], "#ffffff", width=16, depth=[(-0.8, 0.8)])
    pixels = shown(canvas, wall=wall(-0.2))
    assert pixels[5, [10, 50]].tolist() == [BLUE, WHITE]
    assert pixels[15, [10, 50]].tolist() == [WHITE, WHITE]
    assert pixels[25, [10, 50]].tolist() == [WHITE, WHITE]
    # It enters the wall where its depth is the wall's, at three eighths of its length.
    assert pixels[39, [1, 24, 25, 31, 33]].tolist() == [WHITE, WHITE, BLUE, BLUE, WHITE]


def test_nothing_on_the_paper_leaves_the_picture_as_it_was(shown: Shown) -> None:
    assert (shown(Canvas2D(WIDTH, HEIGHT), color=(1, 1, 1, 1)) == 255).all()


def test_a_paper_can_be_drawn_again_and_papers_of_other_sizes_between(shown: Shown) -> None:
    small, large = Canvas2D(WIDTH, HEIGHT), Canvas2D(WIDTH, HEIGHT)
    small.image(0, 0, 8, 8, np.ones((2, 2, 3)))
    for number in range(5):
        large.image(10 * number, 20, 8, 8, np.full((1 + number, 3, 3), number / 4))
    first = shown(small)
    assert shown(large)[24, 4::10][:5, 0].tolist() == [0, 64, 128, 191, 255]
    np.testing.assert_array_equal(shown(small), first)


def test_an_image_is_sent_to_the_graphics_card_when_it_has_changed(
    shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vispy import gloo

    sent: list[tuple[int, ...]] = []
    send = gloo.Texture2D.set_data

    def count(texture: Any, data: np.ndarray, *rest: Any, **more: Any) -> None:
        sent.append(data.shape)
        send(texture, data, *rest, **more)

    monkeypatch.setattr(gloo.Texture2D, "set_data", count)
    first, second = (np.full((5, 7, 4), part, np.uint8) for part in (255, 128))
    for pixels, times in ((first, 1), (first, 1), (second, 2), (first, 3)):
        canvas = Canvas2D(WIDTH, HEIGHT)
        canvas.image(0, 0, 8, 8, pixels)
        assert shown(canvas)[4, 4].tolist() == pixels[0, 0, :3].tolist()
        assert sent.count((7, 9, 4)) == times  # with its frame


def test_parts_of_one_picture_lie_on_parallelograms_and_are_drawn_at_once(studio: Studio) -> None:
    canvas = Canvas2D(64, 48)
    first = [(8, 8), (24, 14), (12, 28)]
    second = [(40, 8), (56, 8), (40, 24)]
    colors = np.zeros((2, 2, 3))
    colors[0, 1], colors[1, 0] = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    parts = [(0.0, 0.0, 1.0, 0.5), (0.0, 0.5, 1.0, 1.0)]  # the upper and the lower row
    canvas.images(np.array([first, second]), colors, np.array(parts))
    assert len(canvas.images_in) == 1
    pixels = studio.paper(canvas)

    def at(corners: list[tuple[int, int]], x: float, y: float) -> list[int]:
        corner, right, down = np.array(corners, float)
        place = corner + x * (right - corner) + y * (down - corner)
        return pixels[int(place[1]), int(place[0])].tolist()

    for y in (0.2, 0.8):
        assert at(first, 0.25, y) == [0, 0, 0] and at(first, 0.75, y) == [255, 0, 0]
        assert at(second, 0.25, y) == [0, 255, 0] and at(second, 0.75, y) == [0, 0, 0]
    assert at(first, 0.42, 0.9) == [0, 0, 0] and at(first, 0.58, 0.1) == [255, 0, 0]


def test_the_corners_of_images_can_be_round(canvas: Canvas2D, shown: Shown) -> None:
    corners = np.array([[[10.0, 10.0], [30.0, 10.0], [10.0, 30.0]]])
    green = np.array([[[0.0, 1.0, 0.0]]])
    canvas.images(corners, green, np.array([[0.0, 0.0, 1.0, 1.0]]), radius=10.0)
    pixels = shown(canvas)
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    apart = np.hypot(x - 20.0, y - 20.0)
    assert (pixels[apart < 9.3] == GREEN).all() and (pixels[apart > 10.7] == BLACK).all()


def test_images_can_be_smooth(shown: Shown) -> None:
    rows = np.array([[[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    corners = np.array([[[10.0, 10.0], [30.0, 10.0], [10.0, 30.0]]])
    middles = {}
    for smooth in (False, True):
        canvas = Canvas2D(WIDTH, HEIGHT)
        canvas.images(corners, rows, np.array([[0.0, 0.0, 1.0, 1.0]]), smooth=smooth)
        middles[smooth] = shown(canvas)[20, 19].tolist()
    assert middles[False] == RED and 90 < middles[True][0] < 165 > middles[True][2] > 90
