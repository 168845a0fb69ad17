"""Panels: they show what the arrays say, pixel by pixel."""

import numpy as np
import pytest

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.theme import THEMES
from scalarviz.view.charts import draw_loss, sparkline, thinned, ticks
from scalarviz.view.frame_data import Card, Curve
from scalarviz.view.inspector import draw_inspector, titles, wrapped
from scalarviz.view.scene.frame import Box
from tests.studio import Studio, at

WIDTH, HEIGHT = 300, 320
BOX = Box(10.0, 10.0, 280.0, 300.0)
DARK = THEMES["dark"]
RNG = np.random.default_rng(0)
COLORS = [RNG.uniform(0.0, 1.0, (7, 3)) for _ in range(3)]


def drawn_in(pixels: np.ndarray, color: str, within: int = 2) -> np.ndarray:
    """Where a color is, as (x, y) of each pixel."""
    own = rgb((color[:7],))[0] * 255.0
    y, x = np.nonzero(np.abs(pixels - own).max(axis=2) <= within)
    return np.stack([x, y], axis=1) + 0.5


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
    assert ticks(0.001, 0.2, 29.0) == [0.001, 0.2]  # an axis has two numbers at least


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


def test_a_history_and_its_numbers_grow_with_the_picture(studio: Studio) -> None:
    sizes = []
    for scale in (1.0, 2.0):
        canvas = Canvas2D(WIDTH * scale, HEIGHT * scale)
        box = Box(0.0, 0.0, 260.0 * scale, 60.0 * scale)
        sparkline(canvas, box, np.arange(3.0), np.array([0.0, 1.0, 0.5]), DARK, scale)
        pixels = drawn_in(studio.paper(canvas), DARK.quiet, 60)
        high = pixels[pixels[:, 1] < 20.0 * scale]
        sizes.append(np.ptp(high[:, 1]) + 1.0)
    assert 1.6 < sizes[1] / sizes[0] < 2.4
