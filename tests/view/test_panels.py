"""Panels: they show what the arrays say, pixel by pixel."""

import numpy as np
import pytest

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.theme import THEMES, Theme
from scalarviz.view.charts import draw_loss, sparkline, thinned, ticks
from scalarviz.view.exhibits.exhibit import Exhibit
from scalarviz.view.exhibits.graph import FunctionPlot
from scalarviz.view.exhibits.pictures import Pictures
from scalarviz.view.exhibits.plane import FAINT, Plane
from scalarviz.view.exhibits.swatches import AXES, Swatches
from scalarviz.view.frame_data import Card, Curve
from scalarviz.view.inspector import draw_inspector, titles, wrapped
from scalarviz.view.scene.frame import Box
from tests.studio import Studio, at, shade

WIDTH, HEIGHT = 300, 320
BOX = Box(10.0, 10.0, 280.0, 300.0)
DARK = THEMES["dark"]
RNG = np.random.default_rng(0)
COLORS = [RNG.uniform(0.0, 1.0, (7, 3)) for _ in range(3)]


def painted(studio: Studio, exhibit: Exhibit, theme: Theme = DARK, box: Box = BOX) -> np.ndarray:
    canvas = Canvas2D(WIDTH, HEIGHT)
    exhibit.paint(canvas, box, theme)
    return studio.paper(canvas, rgb((theme.ground,))[0])


def drawn_in(pixels: np.ndarray, color: str, within: int = 2) -> np.ndarray:
    """Where a color is, as (x, y) of each pixel."""
    own = rgb((color[:7],))[0] * 255.0
    y, x = np.nonzero(np.abs(pixels - own).max(axis=2) <= within)
    return np.stack([x, y], axis=1) + 0.5


# What is learned.


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_swatches_have_the_colors_that_are_given(studio: Studio, theme: Theme) -> None:
    pixels = painted(studio, Swatches(*COLORS), theme)
    side = (BOX.width - 46.0) / 7
    tall = min(24.0, side - 3.0)
    for row, colors in enumerate(COLORS):
        y = BOX.y + row * tall + (6.0 if row else 0.0) + tall / 2
        for column, color in enumerate(colors):
            x = BOX.x + 46.0 + side * column + (side - 3.0) / 2
            np.testing.assert_allclose(at(pixels, (x, y)), color * 255.0, atol=1)


def test_swatches_of_numbers_that_are_no_colors_are_shown_anyhow(studio: Studio) -> None:
    odd = np.array([[np.nan, 0.5, 0.5], [2.0, -1.0, 0.5], [np.inf, 0.0, -np.inf]])
    pixels = painted(studio, Swatches(odd, odd, odd))
    found = {tuple(color) for color in pixels[22:34, 60:280].reshape(-1, 3).tolist()}
    assert {(255, 0, 128), (255, 0, 0)} <= found
    assert any(abs(r - 255) < 2 and b > 120 for r, _, b in found)


def test_outputs_are_discs_and_targets_rings_in_the_cube_of_colors(studio: Studio) -> None:
    inputs, outputs, targets = (
        np.full((1, 3), 0.5),
        np.array([[0.9, 0.2, 0.1]]),
        np.array([[0.1] * 3]),
    )
    pixels = painted(studio, Swatches(inputs, outputs, targets))
    # Of one sample the squares are 24 high.
    top = BOX.y + 3.0 * 24.0 + 16.0
    room = Box(BOX.x, top, BOX.width, BOX.bottom - top)
    size = min(room.width / 1.75, (room.height - 18.0) / 2.0)
    middle = np.array([room.x + room.width / 2.0, room.y + (room.height - 14.0) / 2.0])
    for color, away in ((outputs[0], 0.0), (targets[0], 5.3)):
        place = middle + size * ((color - 0.5) @ AXES)
        np.testing.assert_allclose(
            at(pixels, place + np.array([away, 0.0])), color * 255.0, atol=12
        )


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_plane_shows_its_map_and_its_samples(studio: Studio, theme: Theme) -> None:
    values = np.repeat(np.linspace(-1.0, 3.0, 40)[:, np.newaxis], 40, axis=1)  # more further down
    points = np.array([[0.5, 0.5], [0.25, 0.9], [1.0, 0.0]])
    plane = Plane(values, 1.0, 2.0, points, np.array([3.0, -1.0, 3.0]))
    pixels = painted(studio, plane, theme)
    side = min(BOX.width, BOX.height)
    left = BOX.x + (BOX.width - side) / 2.0
    ground = rgb((theme.ground,))[0] * 255.0
    for row in (2, 11, 20, 33):
        place = (left + 0.75 * side, BOX.y + (row + 0.5) / 40 * side)
        full = shade(theme.name, (values[row, 0] - 1.0) / 2.0)
        np.testing.assert_allclose(at(pixels, place), ground + FAINT * (full - ground), atol=4)
    for (x, y), target in zip(points[:2], (3.0, -1.0), strict=True):
        color = shade(theme.name, 0.8 if target > 1.0 else -0.8)
        place = (left + x * side, BOX.y + (1.0 - y) * side)
        np.testing.assert_allclose(at(pixels, place), color, atol=2)


def test_the_answers_of_a_plane_stand_below_it(studio: Studio) -> None:
    said = ["0 1 -> 0.5, should be 1", "1 1 -> 0.2, should be 0"]
    plane = Plane(np.zeros((4, 4)), 0.0, 1.0, np.zeros((2, 2)), np.zeros(2), said)
    canvas = Canvas2D(WIDTH, HEIGHT)
    plane.paint(canvas, BOX, DARK)
    assert canvas.words == said
    assert plane.height(100.0) > 130.0


def test_pictures_show_their_pixels(studio: Studio) -> None:
    shown = {name: RNG.uniform(0.0, 1.0, (6, 8, 3)) for name in ("target", "output", "loss")}
    pixels = painted(studio, Pictures(shown))
    scale = min(BOX.width / 8, (BOX.height / 3 - 22.0) / 6)
    top = BOX.y
    for picture in shown.values():
        for row, column in np.ndindex(6, 8):
            # Pixels have hard edges: near one of them it is the same color as in the middle.
            place = BOX.x + (column + 0.85) * scale, top + 18.0 + (row + 0.15) * scale
            np.testing.assert_allclose(at(pixels, place), picture[row, column] * 255.0, atol=1)
        top += 6 * scale + 22.0


def test_pictures_stand_side_by_side_where_that_makes_them_larger(studio: Studio) -> None:
    shown = {
        name: np.full((4, 4, 3), level) for name, level in (("a", 0.2), ("b", 0.6), ("c", 1.0))
    }
    pixels = painted(studio, Pictures(shown), box=Box(10.0, 10.0, 280.0, 100.0))
    found = [int(level) for level in np.unique(pixels[70, :, 0])]
    assert {51, 153, 255} <= set(found)


def test_a_graph_goes_through_its_outputs(studio: Studio) -> None:
    x = np.linspace(-1.0, 3.0, 50)
    points = np.array([[-1.0, -1.0], [1.0, 2.0], [3.0, 0.5]])
    graph = FunctionPlot(np.sin(x), -1.0, 3.0, points)
    canvas = Canvas2D(WIDTH, HEIGHT)
    graph.paint(canvas, BOX, DARK)
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    bottom, top = -1.0 - 0.45, 2.0 + 0.45
    plot = Box(BOX.x + 40.0, BOX.y + 4.0, BOX.width - 44.0, BOX.height - 22.0)

    def place(x: float, y: float) -> tuple[float, float]:
        up = (y - bottom) / (top - bottom)
        return plot.x + (x + 1.0) / 4.0 * plot.width, plot.bottom - up * plot.height

    accent, quiet = drawn_in(pixels, DARK.accent), drawn_in(pixels, DARK.quiet)
    for i in range(2, 48, 5):
        assert np.hypot(*(accent - place(x[i], np.sin(x[i]))).T).min() < 1.5
    assert np.hypot(*(quiet - place(1.0, 2.0)).T).min() < 1.0
    assert canvas.words == [f"{top:.3g}", f"{bottom:.3g}", "-1", "3"]


# The loss.

LOSSES = 10.0 ** np.linspace(0.0, -2.0, 11)


def curve(**more: object) -> Curve:
    return Curve(np.arange(1.0, 12.0), LOSSES, 11.0, float(LOSSES[-1]), **more)


def plot_of(box: Box) -> Box:
    return Box(box.x + 46.0, box.y + 22.0, box.width - 50.0, box.height - 37.0)


def loss_place(step: float, loss: float, last: float = 11.0) -> np.ndarray:
    """On a scale from .01 to 1."""
    plot = plot_of(BOX)
    up = (np.log10(loss) + 2.0) / 2.0
    return np.array([plot.x + step / last * plot.width, plot.bottom - up * plot.height])


def test_the_curve_passes_through_the_losses(studio: Studio) -> None:
    canvas = Canvas2D(WIDTH, HEIGHT)
    draw_loss(canvas, BOX, curve(), DARK)
    line = drawn_in(studio.paper(canvas), DARK.accent)
    for step, loss in enumerate(LOSSES[:-1], 1):
        assert np.hypot(*(line - loss_place(step, loss)).T).min() < 1.6
    assert {"loss 0.0100", "1", "0.1", "0.01", "0", "step 11"} <= set(canvas.words)


def test_a_dot_says_where_the_clock_stands(studio: Studio) -> None:
    for at_step in (1, 4, 11):
        canvas = Canvas2D(WIDTH, HEIGHT)
        now = Curve(np.arange(1.0, 12.0), LOSSES, float(at_step), float(LOSSES[at_step - 1]))
        draw_loss(canvas, BOX, now, DARK)
        pixels = studio.paper(canvas)
        x, y = loss_place(at_step, LOSSES[at_step - 1])
        np.testing.assert_allclose(at(pixels, (x, y)), rgb((DARK.ink,))[0] * 255.0, atol=3)


def test_the_other_branch_is_a_ghost(studio: Studio) -> None:
    ghost = {"ghost_steps": np.arange(1.0, 22.0), "ghost_losses": np.full(21, 0.3)}
    canvas = Canvas2D(WIDTH, HEIGHT)
    draw_loss(canvas, BOX, curve(**ghost), DARK)
    pixels = drawn_in(studio.paper(canvas), DARK.ghost, 40)
    for step in (3.0, 12.0, 20.0):
        assert np.hypot(*(pixels - loss_place(step, 0.3, 21.0)).T).min() < 1.5
    assert "grey: other branch" in canvas.words and "step 21" in canvas.words


@pytest.mark.parametrize(
    "losses",
    [[], [np.nan], [0.0], [-1.0], [np.inf], [1e-300, 1e300], [0.5], [1e-12] * 5, [3.0, np.nan, 2]],
)
def test_any_losses_can_be_shown(studio: Studio, losses: list[float]) -> None:
    values = np.array(losses, float)
    now = Curve(np.arange(1.0, 1.0 + len(values)), values, float(len(values)), np.nan)
    for box in (BOX, Box(0, 0, 60, 40), Box(0, 0, 300, 60), Box(0, 0, 0, 0)):
        canvas = Canvas2D(WIDTH, HEIGHT)
        draw_loss(canvas, box, now, DARK)
        studio.paper(canvas)


def test_powers_of_ten_are_on_the_axis_as_far_as_there_is_room() -> None:
    assert ticks(0.01, 1.0, 200.0) == pytest.approx([0.01, 0.1, 1.0])
    assert ticks(0.2, 0.8, 200.0) == [0.2, 0.8]
    assert len(ticks(1e-12, 1.0, 60.0)) <= 3


def test_a_long_curve_keeps_its_highest_and_its_lowest() -> None:
    y = RNG.normal(size=5_000)
    y[1234], y[4321] = 99.0, -99.0
    points = np.stack([np.arange(5_000.0), y], axis=1)
    found = thinned(points, 100.0)
    assert len(found) == 200 and {99.0, -99.0} <= set(found[:, 1].tolist())
    assert thinned(points[:150], 100.0) is not None and len(thinned(points[:150], 100.0)) == 150


def test_a_small_line_goes_from_the_first_value_to_the_last(studio: Studio) -> None:
    canvas = Canvas2D(WIDTH, HEIGHT)
    box = Box(10.0, 10.0, 258.0, 60.0)
    sparkline(canvas, box, np.array([0.0, 1.0, 2.0]), np.array([-1.0, 3.0, 1.0]), DARK)
    pixels = studio.paper(canvas)
    line = drawn_in(pixels, DARK.accent)
    for part, up in ((0.25, 0.5), (0.5, 1.0), (0.75, 0.75)):
        place = [box.x + part * 200.0, box.bottom - 3.0 - up * 54.0]
        assert np.hypot(*(line - place).T).min() < 1.6
    np.testing.assert_allclose(at(pixels, (210.0, 40.0)), rgb((DARK.ink,))[0] * 255.0, atol=3)
    assert canvas.words == ["3", "-1"]


# Panels and the inspector.


def test_the_name_of_a_weight_of_a_kernel_is_not_torn_apart_between_two_numbers() -> None:
    canvas, name = Canvas2D(300, 300), "layer 2, kernel 10, weight of channel 2 at 0, 2"
    assert titles(canvas, name, 256.0, 13.0) == (
        "layer 2, kernel 10",
        "weight of channel 2 at 0, 2",
    )
    assert titles(canvas, name, 900.0, 13.0) == (name, "")


def test_the_inspector_writes_all_that_is_on_the_card(studio: Studio) -> None:
    lines = [
        "grad = sum of x * g",
        "  0.1 * 0.2 = 0.02",
        "w = w - lr * m_hat / (v_hat ** 0.5 + eps) = 0.1",
    ]
    card = Card(3, "layer 0, bias", [("value", "0.5"), ("gradient", "1e-3")], lines, None)
    canvas = Canvas2D(WIDTH, HEIGHT)
    draw_inspector(canvas, BOX, card, DARK)
    said = " ".join(" ".join(canvas.words).split())
    for words in (card.name, "value 0.5", "gradient 1e-3", *lines):
        assert " ".join(words.split()) in said


def test_a_card_is_whole_with_its_arithmetic_even_where_there_is_little_room(
    studio: Studio,
) -> None:
    lines = ["grad = sum of x * g", *(f"  0.{i} * 0.2 = 0.02 + a longer part" for i in range(12))]
    history = np.arange(5.0), np.arange(5.0)
    facts = [("value", "0.5"), ("gradient", "1e-3"), ("last change", "0"), ("since step", "3")]
    card = Card(3, "layer 0, perceptron 1, weight from input 2", facts, lines, history)
    for height in (560.0, 330.0, 300.0):
        box = Box(10.0, 10.0, 260.0, height)
        canvas = Canvas2D(WIDTH, 600)
        draw_inspector(canvas, box, card, DARK)
        pixels = studio.paper(canvas)
        assert ("4" in canvas.words) == (height > 500.0)  # the end of its history
        letters = (pixels > 100).all(axis=2).nonzero()[0]
        assert letters.max() < box.bottom - 4.0 and letters.max() > 0.8 * box.bottom * (
            height < 400.0
        )
        said = " ".join(" ".join(canvas.words).split())
        for line in lines:
            assert line.strip() in said


def test_a_long_formula_is_broken_before_its_operators() -> None:
    canvas = Canvas2D(WIDTH, HEIGHT)
    line = "  w = w - learning_rate * gradient * something_else"
    parts = wrapped(canvas, line, 150.0, 11.0)
    assert len(parts) > 1 and " ".join(" ".join(parts).split()) == line.strip()
    assert all(canvas.measure(part, size=11) <= 150.0 for part in parts)
    assert parts[0].startswith("  w") and parts[1].startswith("    ")
