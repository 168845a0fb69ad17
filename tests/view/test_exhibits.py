"""What is learned, as something to look at: the plane, pictures, and the curve of a function."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.segment import SegmentLines

from scalarviz.draw2d.colors import MAPS, to_bytes
from scalarviz.draw2d.text_blocks import Block, TextPlate
from scalarviz.terminal.picture import TerminalFrame, picture
from scalarviz.view.exhibits.exhibit import BlockStyle, Exhibit, pixels, resized
from scalarviz.view.exhibits.graph import FunctionPlot
from scalarviz.view.exhibits.pictures import Pictures
from scalarviz.view.exhibits.plane import FAINT, Plane

DARK, PLAIN = BlockStyle(), BlockStyle(color=False)
RAMP = np.linspace(0.0, 1.0, 20)

PLANE = Plane(
    values=np.repeat(np.linspace(-1.0, 1.0, 40)[np.newaxis], 40, axis=0),  # left -1, right +1
    middle=0.0,
    reach=1.0,
    points=np.array([[0.01, 0.01], [0.99, 0.99]]),
    targets=np.array([1.0, -1.0]),
)
LEVELS = {"target": 0.0, "output": 1.0, "loss": 0.5}
PICTURES = Pictures({name: np.full((8, 16, 3), level) for name, level in LEVELS.items()})
GRAPH = FunctionPlot(RAMP, 0.0, 1.0, np.stack([RAMP, 1.0 - RAMP], axis=1))
ALL = [PLANE, replace(PLANE, answers=["0 1 -> 0.5, should be 1"]), PICTURES, GRAPH]


def texts(block: Block) -> list[str]:
    return ["".join(segment.text for segment in line) for line in block]


def halves(block: Block) -> np.ndarray:
    """The colours of the half blocks, (rows, columns, 3), two rows a line."""
    rows = []
    for line in block:
        styles = [segment.style for segment in line if segment.text == "▀"]
        rows.append([tuple(style.color.get_truecolor()) for style in styles])
        rows.append([tuple(style.bgcolor.get_truecolor()) for style in styles])
    return np.array(rows)


def close(color: object, other: object) -> bool:
    """The same but for the two bits that are left out."""
    return bool(np.abs(np.subtract(color, other)).max() < 4)


def test_a_character_holds_two_pixels_one_above_the_other() -> None:
    colors = np.random.default_rng(0).random((6, 5, 3))
    shown = halves(pixels(colors, DARK))
    assert shown.shape == (6, 5, 3)
    assert close(shown, to_bytes(colors).astype(int))


def test_without_colour_light_is_ink() -> None:
    block = pixels(np.repeat(np.linspace(0.0, 1.0, 10), 6).reshape(1, 10, 6).repeat(2, 0), PLAIN)
    assert texts(block) == [" .:-=+*#%@"]


def test_a_smaller_picture_is_made_of_averages_and_a_larger_one_of_the_nearest() -> None:
    small = np.arange(16.0).reshape(4, 4)
    assert resized(small, 2, 2).tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert resized(small[:2, :2], 4, 2).tolist() == [[0, 1], [0, 1], [4, 5], [4, 5]]


# The plane.


def test_the_plane_is_blue_where_the_output_is_low_and_orange_where_it_is_high() -> None:
    shown = halves(replace(PLANE, points=np.zeros((0, 2)), targets=np.zeros(0)).block(DARK, 40, 20))
    assert shown.shape == (40, 40, 3)
    for column, value in ((0, -1.0), (39, 1.0)):
        faint = DARK.paper + FAINT * (DARK.map([value])[0] - DARK.paper)
        assert close(shown[20, column], to_bytes(faint).astype(int))


def test_samples_stand_at_their_places_in_the_colour_of_their_target() -> None:
    shown = halves(PLANE.block(DARK, 40, 20))
    low, high = to_bytes(MAPS["dark"]([-1.0, 1.0])).astype(int)
    assert close(shown[39, 0], high)  # the lower left corner
    assert close(shown[0, 39], low)


def test_without_colour_the_samples_are_letters() -> None:
    lines = texts(PLANE.block(PLAIN, 40, 20))
    assert lines[-1][0] == "x" and lines[0][-1] == "o"
    assert lines[10][0] == " " and lines[10][-1] == "@"


def test_not_so_many_samples_are_shown_that_nothing_else_is_seen() -> None:
    points = np.random.default_rng(0).random((5000, 2))
    crowded = replace(PLANE, points=points, targets=np.ones(5000))
    shown = halves(crowded.block(DARK, 20, 10)).reshape(-1, 3)
    strong = to_bytes(MAPS["dark"]([1.0]))[0].astype(int)
    assert sum(close(color, strong) for color in shown) <= 0.3 * len(shown)


def test_without_colours_classes_are_their_numbers() -> None:
    values = np.repeat([[0.0], [2.0], [0.0], [2.0]], 4, axis=1)
    classes = replace(PLANE, values=values, classes=["a", "b", "c"])
    classes = replace(classes, targets=np.arange(len(PLANE.points)) % 3.0)
    written = "".join(texts(classes.block(PLAIN, 6, 3)))
    assert set(written) <= {" ", "@", "0", "1", "2"} and {"@", "0", "1"} <= set(written)


def test_answers_stand_beside_the_plane() -> None:
    few = replace(PLANE, answers=["0 1 -> 0.5, should be 1"])
    for height in (10, 30):
        lines = texts(few.block(DARK, few.columns(100, height) - 4, height))
        assert any(line.endswith("  0 1 -> 0.5, should be 1") for line in lines)
    assert few.words() == ["0 1 -> 0.5, should be 1"]


# Pictures.


def test_pictures_stand_side_by_side_under_their_names() -> None:
    block = PICTURES.block(DARK, 60, 20)
    assert texts(block)[0].split() == ["target", "output", "loss"]
    shown = halves(block[1:])
    parts = np.split(shown, 3, axis=1)
    for part, level in zip(parts, LEVELS.values(), strict=True):
        assert close(part, round(255 * level))


def test_a_picture_keeps_its_proportions() -> None:
    for height in (40, 6):
        rows, columns, _ = halves(PICTURES.block(DARK, 100, height)[1:]).shape
        assert columns / 3 == pytest.approx(2 * rows, abs=2)  # it is twice as wide as it is high


# The curve of a function.


def test_the_output_rises_and_the_samples_fall() -> None:
    lines = texts(GRAPH.block(DARK, 48, 13))
    marks = [[i for i, letter in enumerate(line[8:]) if letter > "⠀"] for line in lines[:-1]]
    drawn = [found for found in marks if found]
    assert drawn[0][0] < 3 and drawn[0][-1] > 36  # both ends meet the top in a corner
    assert drawn[-1][0] < 3 and drawn[-1][-1] > 36
    colors = [segment.style for segment in GRAPH.block(DARK, 48, 13)[2][1:] if segment.text != " "]
    assert colors[0] is None and colors[-1] is not None  # a sample left, the output right


def test_the_ends_of_both_axes_are_labelled() -> None:
    lines = texts(GRAPH.block(DARK, 48, 13))
    assert lines[0].split("┤")[0].strip() == "1.15" and lines[11].split("┤")[0].strip() == "-0.15"
    assert lines[-1].startswith("     0 └") and lines[-1].endswith(" 1")


def test_an_output_that_leaves_the_graph_is_not_drawn_on_its_edge() -> None:
    far = replace(GRAPH, outputs=np.full(20, 99.0), points=np.array([[0.0, 0.0], [1.0, 1.0]]))
    lines = texts(far.block(DARK, 48, 13))
    assert sum(letter > "⠀" for line in lines for letter in line if letter > "⟿") == 2


# In the whole picture.


@pytest.mark.parametrize("look", [DARK, PLAIN])
@pytest.mark.parametrize("exhibit", ALL, ids=["plane", "answers", "pictures", "graph"])
@pytest.mark.parametrize("width", [1, 40, 64, 100])
@pytest.mark.parametrize("height", [1, 12, 30])
def test_any_window_is_filled_and_nothing_spills(
    exhibit: Exhibit, width: int, height: int, look: BlockStyle
) -> None:
    plate = TextPlate("layer 0", "2 → 4", np.ones((4, 2)), np.ones(4), "01", "0123")
    for plates in ([], [plate]):
        moment = TerminalFrame(
            "t", 3, 9, np.ones(3), 1.0, 0.1, plates, 1.0, exhibit=exhibit, note="n"
        )
        console = Console(force_terminal=True, color_system="truecolor", width=width, height=height)
        options = console.options.update_dimensions(width, height)
        lines = console.render_lines(picture(moment, look, width, height), options)
        assert [sum(len(text) for text, *_ in line) for line in lines] == [width] * height


@pytest.mark.parametrize("exhibit", ALL)
def test_a_block_fits_the_room_it_was_given(exhibit: Exhibit) -> None:
    for width, height in ((30, 6), (50, 12), (90, 30)):
        lines = texts(exhibit.block(DARK, width, height))
        assert len(lines) <= height and max(map(len, lines)) <= width
        SegmentLines(exhibit.block(DARK, width, height))


def test_a_map_gets_at_least_half_of_the_room_that_it_shares_with_the_weights() -> None:
    plate = TextPlate("layer", "", np.ones((12, 12)), np.ones(12), "x" * 12, "y" * 12)
    moment = TerminalFrame(
        "t", 3, 9, np.ones(3), 1.0, 0.1, [plate] * 3, 1.0, exhibit=PLANE, note="n"
    )
    console = Console(force_terminal=True, color_system="truecolor", width=100, height=30)
    lines = console.render_lines(picture(moment, DARK, 100, 30), console.options)
    text = ["".join(segment.text for segment in line) for line in lines]
    assert sum("▀" * 20 in line for line in text) >= 11
