"""The picture in a terminal: it shows what the numbers say, in any window."""

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from scalarviz.draw2d.braille_curve import braille, curve_block, heights, round_down, round_up
from scalarviz.draw2d.colors import MAPS, contrast, to_bytes
from scalarviz.draw2d.text_blocks import BIAS_GAP, TextPlate, digits
from scalarviz.terminal.picture import TerminalFrame, picture
from scalarviz.view.exhibits.exhibit import BlockStyle
from scalarviz.view.exhibits.swatches import Swatches

SIZES = [(80, 24), (100, 30), (160, 50)]
DIVE = np.array([0, 11, 11, 0])  # from the top to the bottom and back, in dots
DARK = BlockStyle()

Color = tuple[int, ...] | None
Screen = list[list[tuple[str, Color]]]


@pytest.fixture
def moment() -> TerminalFrame:
    random = np.random.default_rng(0)
    numbers = [str(i) for i in range(8)]
    return TerminalFrame(
        title="A network learns",
        step=120,
        steps=2000,
        losses=np.geomspace(0.11, 0.0123, 120),
        speed=10.0,
        learning_rate=0.5,
        plates=[
            TextPlate(
                "layer 0", "3 → 8  tanh", *layer(random, 8, 3), inputs="RGB", outputs=numbers
            ),
            TextPlate(
                "layer 1", "8 → 3  sigmoid", *layer(random, 3, 8), inputs=numbers, outputs="RGB"
            ),
        ],
        scale=1.5,
        epoch=0.2,
        engine="cpu",
        exhibit=Swatches(*random.random((3, 8, 3))),
        note="10 steps a second",
    )


def layer(random: np.random.Generator, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    return random.uniform(-1.4, 1.4, (rows, columns)), random.uniform(-1.4, 1.4, rows)


def screen(moment: TerminalFrame, width: int, height: int, look: BlockStyle = DARK) -> Screen:
    """Every character of a picture with its background (of a half block: its own colour)."""
    console = Console(force_terminal=True, color_system="truecolor", width=width, height=height)
    options = console.options.update_dimensions(width, height)
    lines = console.render_lines(picture(moment, look, width, height), options)
    found: Screen = []
    for line in lines:
        found.append([])
        for text, style, _ in line:
            shown = style and (style.color if "▀" in text else style.bgcolor)
            found[-1] += [(c, tuple(shown.get_truecolor()) if shown else None) for c in text]
    return found


def text_of(found: Screen) -> list[str]:
    return ["".join(character for character, _ in line) for line in found]


def runs(line: list[tuple[str, Color]]) -> list[tuple[str, Color]]:
    """The coloured cells of a line, left to right: the text of each and its colour."""
    cells: list[tuple[str, Color]] = []
    before: Color = None
    for character, color in line:
        if color and color == before:
            cells[-1] = (cells[-1][0] + character, color)
        elif color:
            cells.append((character, color))
        before = color
    return cells


# Weights.


def test_a_cell_has_the_colour_of_its_weight_and_its_number(moment: TerminalFrame) -> None:
    lines = screen(moment, 80, 24)
    top = next(i for i, line in enumerate(text_of(lines)) if "layer 0" in line) + 2
    first, second = moment.plates
    for i in range(8):
        values = [*first.weights[i], first.biases[i]]
        if i < 3:
            values += [*second.weights[i], second.biases[i]]
        colors = [tuple(color) for color in to_bytes(MAPS["dark"](values, 1.5)).tolist()]
        wanted = [(digits(v, 4), color) for v, color in zip(values, colors, strict=True)]
        assert runs(lines[top + i]) == wanted


@pytest.mark.parametrize("size", SIZES)
def test_a_changed_weight_changes_its_own_cell_and_no_other(
    moment: TerminalFrame, size: tuple[int, int]
) -> None:
    before = screen(moment, *size)
    first, second = moment.plates
    weights = second.weights.copy()
    weights[1, 5] += 0.4
    after = screen(replace(moment, plates=[first, replace(second, weights=weights)]), *size)
    changed = {
        (x, y)
        for y, (old, new) in enumerate(zip(before, after, strict=True))
        for x, pair in enumerate(zip(old, new, strict=True))
        if pair[0][1] != pair[1][1]
    }
    columns, rows = {x for x, _ in changed}, {y for _, y in changed}
    assert len(changed) == len(columns) * len(rows) > 0
    assert max(columns) - min(columns) + 1 == len(columns) <= 8
    assert max(rows) - min(rows) + 1 == len(rows) <= 3
    names = "".join(text_of(after)[row][: min(columns)] for row in rows)
    assert " G " in names


@pytest.mark.parametrize("size", SIZES)
def test_every_weight_is_there_with_its_number(
    moment: TerminalFrame, size: tuple[int, int]
) -> None:
    text = "\n".join(text_of(screen(moment, *size)))
    count = len(re.findall(r"[+-]\d?\.\d+", text.partition("layer 0")[2]))
    assert count == 59


def test_the_biases_stand_apart_under_their_name(moment: TerminalFrame) -> None:
    lines = text_of(screen(moment, 80, 24))
    head = next(line for line in lines if "bias" in line)
    row = lines[lines.index(head) + 1]
    column = head.index("bias")
    assert row[column : column + 4] == digits(moment.plates[0].biases[0], 4)
    assert row[column - 1 - BIAS_GAP : column].isspace()


def test_a_layer_is_labelled_with_its_shape_and_activation(moment: TerminalFrame) -> None:
    text = "\n".join(text_of(screen(moment, 80, 24)))
    assert re.search(r"layer 0 +3 → 8 +tanh +layer 1 +8 → 3 +sigmoid", text)


def test_the_legend_has_the_ends_of_the_scale_and_says_what_is_beyond(
    moment: TerminalFrame,
) -> None:
    moment.plates[0].weights[0, 0] = -7.0
    text = "\n".join(text_of(screen(moment, 80, 24)))
    assert re.search(r"-1\.5 +0 +\+1\.5 +blue below 0, orange above +1 beyond", text)


def test_without_colour_the_signs_and_the_swatches_are_in_letters(moment: TerminalFrame) -> None:
    lines = screen(moment, 80, 24, BlockStyle(color=False))
    assert all(color is None for line in lines for _, color in line)
    text = "\n".join(text_of(lines))
    assert digits(moment.plates[1].weights[2, 7], 4) in text
    assert "- below 0, + above" in text
    assert isinstance(moment.exhibit, Swatches)
    red, green, blue = to_bytes(moment.exhibit.inputs)[0].tolist()
    assert f"input  {red // 16:x}{green // 16:x}{blue // 16:x} " in text


def test_numbers_on_cells_can_be_read(moment: TerminalFrame) -> None:
    for colors in MAPS.values():
        console = Console(force_terminal=True, color_system="truecolor", width=80, height=24)
        drawn = picture(moment, BlockStyle(colors), 80, 24)
        for segment in console.render(drawn, console.options.update_dimensions(80, 24)):
            style = segment.style
            if style and style.bgcolor and style.color and segment.text.strip():
                pair = [np.array(c.get_truecolor()) / 255 for c in (style.color, style.bgcolor)]
                assert contrast(*pair) >= 4.5


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (0.534, 5, "+0.53"),
        (0.534, 4, "+.53"),
        (-0.534, 4, "-.53"),
        (-0.999, 4, "-1.0"),
        (-0.004, 4, "0"),
        (-12.34, 5, "-12.3"),
        (-12.34, 4, "-12"),
        (1234.0, 4, "+1e3"),
        (-0.5, 2, "-"),
        (0.0, 1, "0"),
        (float("nan"), 3, "?"),
        (float("-inf"), 4, "-inf"),
    ],
)
def test_a_number_fits_its_cell_and_keeps_its_sign(value: float, width: int, text: str) -> None:
    assert digits(value, width) == text


# Swatches.


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["input", "output", "target"])
def test_swatches_have_their_colours(
    moment: TerminalFrame, size: tuple[int, int], name: str
) -> None:
    lines = screen(moment, *size)
    line = next(line for line, text in zip(lines, text_of(lines), strict=True) if name in text)
    colors = getattr(moment.exhibit, f"{name}s")
    assert [color for _, color in runs(line)] == [tuple(c) for c in to_bytes(colors).tolist()]


# The head and the curve.


@pytest.mark.parametrize("size", SIZES)
def test_the_numbers_of_the_training_are_there(
    moment: TerminalFrame, size: tuple[int, int]
) -> None:
    text = "\n".join(text_of(screen(moment, *size)))
    shown = ["A network learns", "step 120 of 2,000", "loss 0.0123 ", "steps/s 10 "]
    for part in (*shown, "learning rate 0.5", "10 steps a second", "Ctrl-C stops"):
        assert part in text
    assert "epoch 0.2  engine cpu" in text


def test_the_loss_of_what_is_held_out_stands_above_the_curve(moment: TerminalFrame) -> None:
    held_out = replace(moment, held_out=0.0151)
    assert "loss  (held out: 0.0151)" in "\n".join(text_of(screen(held_out, 80, 24)))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_of_the_keys_as_many_are_named_as_fit_and_always_how_to_leave(
    moment: TerminalFrame, width: int
) -> None:
    keys = ("space pauses", "←→ step", ", . operation", "r resets", "q leaves")
    foot = text_of(screen(replace(moment, note="n" * 30, keys=keys), width, 24))[-1]
    named = [key for key in keys if key in foot]
    assert foot.rstrip().endswith("q leaves") and foot.startswith(" " + "n" * 30)
    assert named == [*keys[: len(named) - 1], "q leaves"]
    assert len(named) == {60: 2, 80: 4, 100: 5}[width]


def curve_text(losses: np.ndarray, width: int, height: int) -> list[str]:
    block = curve_block(losses, width, height)
    return ["".join(segment.text for segment in line) for line in block]


def test_the_curve_falls_with_the_loss_between_labelled_ends() -> None:
    lines = curve_text(np.geomspace(1.0, 1e-3, 5000), 60, 13)
    assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == [
        "1", "0.1", "0.01", "0.001",
    ]  # fmt: skip
    assert lines[-1].endswith("5,000 steps")
    marks = [min((i for i, c in enumerate(line[8:]) if c > "⠀"), default=-1) for line in lines[:-1]]
    assert marks == sorted(marks) and marks[0] == 0
    assert all(len(line) == 60 for line in lines)


def test_a_curve_has_no_holes() -> None:
    # Of a character, 0x01 and 0x40 are the left ends; 0xB8 is the right column, 0x08 its top.
    rows = [[ord(character) - 0x2800 for character in row] for row in braille(DIVE, 3)]
    assert rows == [[0x01 | 0xB0, 0xB8], [0xB8, 0xB8], [0xB8, 0x40 | 0x38]]


def test_more_losses_than_columns_are_averaged_not_skipped() -> None:
    assert heights(np.array([1.0, 100.0, 10.0, 1000.0]), 2).tolist() == [1.0, 2.0]


def test_losses_that_no_logarithm_can_show_are_left_out() -> None:
    lines = curve_text(np.array([1.0, 0.0, np.inf, np.nan, 0.1]), 40, 6)
    assert lines[0].strip().startswith("1┤")
    assert lines[-1].endswith("5 steps")
    assert curve_text(np.zeros(0), 40, 6) == ["no loss yet"]


@pytest.mark.parametrize("value", [1e-7, 0.3, 0.999999999999999, 1.0, 7.3, 999.9999999999999])
def test_plain_numbers_enclose_a_number(value: float) -> None:
    assert value / 2.01 <= round_down(value) <= value <= round_up(value) <= 1.51 * value


def test_no_number_is_too_large_for_a_plain_one() -> None:
    for value in (1e308, 1.7e308, sys.float_info.max):
        assert value <= round_up(value) <= sys.float_info.max


# Sizes.


@pytest.mark.parametrize("width", [1, 7, 20, 40, 63, 64, 79, 80, 133, 200])
@pytest.mark.parametrize("height", [1, 4, 9, 12, 16, 24, 31, 60])
def test_any_window_is_filled_and_nothing_spills(
    moment: TerminalFrame, width: int, height: int
) -> None:
    wide = replace(
        moment.plates[0],
        weights=np.ones((128, 784)),
        biases=np.ones(128),
        inputs=[str(i) for i in range(784)],
        outputs=[str(i) for i in range(128)],
    )
    for shown in (moment, replace(moment, plates=[wide]), replace(moment, exhibit=None)):
        found = screen(shown, width, height)
        assert [len(line) for line in found] == [width] * height


def test_what_does_not_fit_is_said(moment: TerminalFrame) -> None:
    assert "larger window" in "\n".join(text_of(screen(moment, 60, 20)))
    assert "larger window" not in "\n".join(text_of(screen(moment, 80, 24)))
