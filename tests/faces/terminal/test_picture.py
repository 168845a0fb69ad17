"""The picture in a terminal: it shows what the numbers say, in any window."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from scalarviz.faces.terminal.picture import TerminalFrame, picture
from scalarviz.pictures.draw2d.braille_curve import braille, curve_block, in_columns
from scalarviz.pictures.view.exhibits.plane import Plane

SIZES = [(80, 24), (100, 30), (160, 50)]
DIVE = np.array([0, 11, 11, 0])  # from the top to the bottom and back, in dots
PLANE = Plane(
    np.zeros((4, 4)), 0.0, 1.0, np.zeros((0, 2)), np.zeros(0), ["0 1 -> 0.5", "1 1 -> 0.2"], "a map"
)


@pytest.fixture
def moment() -> TerminalFrame:
    return TerminalFrame(
        title="A network learns",
        step=120,
        steps=2000,
        losses=np.geomspace(0.11, 0.0123, 120),
        speed=10.0,
        learning_rate=0.5,
        epoch=0.2,
        engine="cpu",
        exhibit=PLANE,
        note="10 steps a second",
    )


def screen(moment: TerminalFrame, width: int, height: int) -> list[str]:
    """The lines of a picture."""
    console = Console(force_terminal=True, color_system="truecolor", width=width, height=height)
    options = console.options.update_dimensions(width, height)
    lines = console.render_lines(picture(moment, width, height), options)
    return ["".join(text for text, *_ in line) for line in lines]


# What is learned.


@pytest.mark.parametrize("size", SIZES)
def test_what_is_learned_stands_below_the_loss_in_words(
    moment: TerminalFrame, size: tuple[int, int]
) -> None:
    lines = screen(moment, *size)
    title = next(i for i, line in enumerate(lines) if line.strip() == "a map")
    assert [line.strip() for line in lines[title + 1 : title + 3]] == ["0 1 -> 0.5", "1 1 -> 0.2"]
    assert "─╯" in lines[title - 1] and "10 steps a second" in lines[title + 3]


# The head and the curve.


@pytest.mark.parametrize("size", SIZES)
def test_the_numbers_of_the_training_are_there(
    moment: TerminalFrame, size: tuple[int, int]
) -> None:
    text = "\n".join(screen(moment, *size))
    shown = ["A network learns", "step 120 of 2,000", "loss 0.0123 ", "steps/s 10 "]
    for part in (*shown, "learning rate 0.5", "10 steps a second", "Ctrl-C stops"):
        assert part in text
    assert "epoch 0.2  engine cpu" in text


def test_the_loss_of_what_is_held_out_stands_above_the_curve(moment: TerminalFrame) -> None:
    held_out = replace(moment, held_out=0.0151)
    assert "loss  (held out: 0.0151)" in "\n".join(screen(held_out, 80, 24))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_of_the_keys_as_many_are_named_as_fit_and_always_how_to_leave(
    moment: TerminalFrame, width: int
) -> None:
    keys = ("space pauses", "←→ step", ", . operation", "r resets", "q leaves")
    foot = screen(replace(moment, note="n" * 30, keys=keys), width, 24)[-1]
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
    found = in_columns(np.array([1.0, 100.0, 10.0, 1000.0]), 2)
    assert found.tolist() == pytest.approx([10.0, 100.0])
    assert in_columns(np.array([-1.0, 3.0, 4.0, 0.0]), 2).tolist() == [1.0, 2.0]


def test_losses_below_zero_have_a_linear_curve() -> None:
    lines = curve_text(np.linspace(1.0, -4.0, 300), 60, 13)
    labels = [line.split("┤")[0].strip() for line in lines if "┤" in line]
    assert (labels[0], labels[-1]) == ("1", "-4") and "0" in labels


# Sizes.


@pytest.mark.parametrize("width", [1, 7, 20, 40, 63, 64, 79, 80, 133, 200])
def test_any_window_is_filled_and_nothing_spills(moment: TerminalFrame, width: int) -> None:
    for height in (1, 4, 9, 12, 16, 24, 31, 60):
        for shown in (moment, replace(moment, exhibit=None)):
            found = screen(shown, width, height)
            assert [len(line) for line in found] == [width] * height


LARGEST = sys.float_info.max


@pytest.mark.parametrize(
    "losses",
    [
        [-58696.242610418914, -58696.24261041891], [-123456789.0, -123456789.00000001],
        [-1.5e300] * 2, [-5e-324, 1e300], [1e-301], [5e-324] * 5, [-1e305, 1.0],
        [-LARGEST, LARGEST], [LARGEST] * 3, [-1e-300, -2e-300], [-1.0, 0.0, 0.0],
    ],
    ids=str,
)  # fmt: skip
def test_any_losses_have_a_curve(losses: list[float]) -> None:
    with np.errstate(all="raise", under="ignore"):
        assert len(curve_text(np.array(losses), 80, 12)) == 12
