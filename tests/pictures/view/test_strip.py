"""The strip: the operations of a step, in order, side by side, with the current one lit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, Theme, rgb
from scalarviz.scene.frame_data import CubeValues, FrameData
from scalarviz.scene.layout.division import Division
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.strip import draw_hovered, draw_strip
from scalarviz.story.names import cells_of
from tests.studio import Studio, at

DARK = THEMES["dark"]
SIZES = [(1280, 800), (800, 500), (640, 420), (420, 300), (260, 210), (2560, 1600)]


def program_of(name: str) -> object:
    if name == "deep":
        return sv.Network([3, *[4] * 16, 3], "tanh", seed=0).program
    if name == "3-8-3":
        return sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0).program
    return load(find(name))(engine="python").session.network.program


def sight(program: object, current: int = 0, **more: object) -> FrameData:
    nothing = np.zeros(0)
    cubes = CubeValues(nothing, nothing, "value", "gradient", np.ones(0), np.ones(0))
    strip = cells_of(program, program.moments)
    return FrameData(Layout([], [], [], []), cubes, strip=strip, current=current, **more)


def drawn(frame_data: FrameData, size: tuple[float, float], theme: Theme = DARK) -> object:
    canvas = Canvas2D(*size)
    division = Division.of(*size)
    return canvas, division, draw_strip(canvas, division, frame_data, theme)


def test_a_step_is_said_in_plain_words_under_three_parts() -> None:
    canvas, _, _ = drawn(sight(program_of("3-8-3")), (1280, 800))
    assert canvas.words == [
        *("forward →", "clear", "layer 0: add up", "tanh", "layer 1: add up", "sigmoid"),
        *("error", "compare"),
        *("← backward and learn", "layer 1: slope", "push", "pass back", "layer 0: slope"),
        *("push", "move"),
    ]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["3-8-3", "digits", "normalized", "expression", "deep"])
def test_cells_lie_in_the_strip_side_by_side_and_the_current_one_is_there(
    name: str, size: tuple[int, int]
) -> None:
    program = program_of(name)
    for current in range(len(program.moments) + 1):
        canvas, division, places = drawn(sight(program, current), size)
        boxes = [box for box, _ in places]
        for left, right in itertools.pairwise(boxes):
            assert left.right <= right.x + 1e-6
        assert all(
            division.strip.y <= box.y and box.bottom <= division.strip.bottom for box in boxes
        )
        assert all(box.x > 0.0 and box.right < size[0] for box in boxes)
        dones = [done for _, done in places]
        assert dones == sorted(dones)
        if size[0] >= 640:
            assert current <= dones[-1]
            assert {"forward →", "error", "← backward and learn"} <= set(canvas.words)


def test_where_there_is_little_room_operations_of_a_layer_share_a_cell() -> None:
    canvas, _, _ = drawn(sight(program_of("3-8-3"), 0), (800, 500))
    assert canvas.words == [
        *("forward →", "clear", "layer 0", "layer 1", "error", "compare"),
        *("← backward and learn", "layer 1", "layer 0", "move"),
    ]
    canvas, _, places = drawn(sight(program_of("3-8-3"), 8), (800, 500))  # but for the current one
    assert canvas.words == [
        *("forward →", "…", "error", "compare"),
        *("← backward and learn", "layer 1: slope", "push", "pass back", "layer 0", "move"),
    ]
    assert [done for _, done in places] == [6, 7, 8, 9, 11, 12]
    canvas, _, _ = drawn(sight(program_of("deep"), 20), (800, 500))
    assert "…" in canvas.words and {"layer 9: add up", "tanh"} <= set(canvas.words)


def test_where_there_is_room_for_one_cell_it_is_the_current_one_and_an_empty_bar_is_not_drawn() -> (
    None
):
    program = program_of("deep")
    canvas, _, places = drawn(sight(program, 20), (330, 300))
    assert canvas.words == ["forward →", "layer 9"] and [done for _, done in places] == [21]
    for current, size in ((0, (330, 300)), (20, (120, 300))):
        canvas, _, places = drawn(sight(program, current), size)
        assert canvas.words == [] and places == [] and not canvas.vertices()[2]


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_only_the_current_operation_is_lit(studio: Studio, theme: Theme) -> None:
    program = program_of("3-8-3")
    for current in range(len(program.moments) + 1):
        canvas, _, places = drawn(sight(program, current), (1280, 800), theme)
        pixels = studio.paper(canvas)
        for box, done in places:
            fill = theme.accent if done > 6 else theme.light
            corner = at(pixels, (box.x + 3.0, box.y + box.height / 2.0))
            lit = np.abs(corner - rgb((fill[:7],))[0] * 255.0).max() < 8
            assert lit == (done == current)


def test_the_name_that_the_session_uses_is_written_over_the_cell_under_the_mouse() -> None:
    frame_data = sight(program_of("3-8-3"))
    for done, technical in ((2, "affine 0"), (8, "weight gradient 1"), (0, "")):
        canvas, division, places = drawn(frame_data, (1280, 800))
        before = len(canvas.words)
        draw_hovered(canvas, places, replace(frame_data, hovered=done), DARK, division.scale)
        assert canvas.words[before:] == [technical] * bool(done)
