"""Numbers on cubes, moves of cubes, and marks on neurons: which have them, how large, and where."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import changed, short
from scalarviz.core.program import NONE
from scalarviz.faces.scene_file import find, load
from scalarviz.scene import marks
from scalarviz.scene.annotations import Number, write_number
from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import DARK_NUMBER, HALO, NUMBER, THEMES
from scalarviz.scene.cube_faces import CubeFaces
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.frame_data import Buffers, CubeValues, FrameData
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.lights import lights
from scalarviz.scene.neurons import draw_neurons
from scalarviz.scene.picture import draw_scenery
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import (
    DARK,
    Notes,
    Words,
    dense_session,
    look,
    played,
    projection,
    stage_of,
    trained,
)
from tests.sessions import advanced

SIZES = [(1280, 800), (1366, 700), (800, 500), (3840, 2160)]
TURNS = [(0.0, 0.0), (17.0, 8.0), (-30.0, 5.0), (40.0, 30.0), (80.0, -10.0), (-60.0, 45.0)]
every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def numbers(
    stage: Stage, see: Projection | None = None, canvas: Words | None = None, **more: bool
) -> dict[int, Number]:
    """What is written on the cubes, by bank index."""
    canvas = canvas or Words(*stage._extent)
    canvas.scale = stage.frame_data().division(*stage._extent).scale
    return numbers_on_cubes(canvas, see or projection(stage), stage.frame_data(), **more)


def apart(boxes: Iterable[Box]) -> bool:
    return not any(a.meets(b) for a, b in itertools.combinations(boxes, 2))


PANEL = 400  # pixels of width
ROWS = "tanh 3-8-3"  # a network whose layers are rows of cubes with numbers on them


def shown(size: tuple[int, int], way: str) -> Stage:
    """The stage of 3-8-3 with a card, or beside the panel of a window."""
    wide, high = size
    stage = stage_of(trained(ROWS), (wide - PANEL, high) if way == "panel" else size)
    if way == "card":
        stage.pin(5)
    stage.frame_data()  # the camera is fitted
    return stage


@pytest.mark.parametrize("way", ["rest", "card", "panel"])
@pytest.mark.parametrize("size", [(1280, 800), (1366, 700)], ids=str)
def test_cubes_have_two_decimals_or_one_if_all_have_numbers_and_none_is_asked_for_at_rest(
    way: str, size: Any
) -> None:
    stage = shown(size, way)
    assert [*numbers(stage)] == [5] * (way == "card")
    stage.take(numbers=True)
    found = numbers(stage)
    stage.pin(None)
    assert all(re.fullmatch(r"-?\.\d\d?", each.words) for each in found.values())
    least = 4 if way == "panel" else 0.45 * 59
    assert sum(len(each.words.partition(".")[2]) == 2 for each in found.values()) >= least


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", [ROWS, "tanh 2-4-2", "normed 2-12-2", "normalized"])
def test_numbers_stand_apart_and_on_their_cubes_after_each_turn(name: str, size: Any) -> None:
    stage = stage_of(trained(name), size)
    stage.take(numbers=True)
    see, written = projection(stage), 0
    for right, up in TURNS:
        canvas = Words(*size)
        turned = replace(see, camera=see.camera.orbited(right, up))
        for number in numbers(stage, turned, canvas).values():
            write_number(canvas, number, NUMBER, HALO)
        assert apart(box for _, box in canvas.found)
        written += len(canvas.found)
    assert written > 0


@pytest.mark.parametrize("zoom", [1.0, 2.0, 4.0])
def test_a_number_has_three_tenths_of_the_height_of_its_face(zoom: float) -> None:
    stage = stage_of(trained(ROWS), (1280, 800))
    stage.take(numbers=True)
    see = projection(stage)
    near = replace(see, camera=see.camera.zoomed(zoom))
    faces, found = CubeFaces(near, stage.frame_data(), {}, 1.0, 0.0), numbers(stage, near)
    highs = {cube.row: max(room[0] for room in cube.rooms) for cube in faces.cubes}
    wanted = np.array([min(max(0.3 * highs[row], 12.0), 16.0) for row in found])
    sizes = np.array([number.size for number in found.values()])
    assert (sizes <= wanted + 1e-9).all() and sizes.min() >= 12.0
    assert np.isclose(sizes, wanted, rtol=0.03).mean() > 0.6  # others are as wide as their cells


@pytest.mark.parametrize("name", [ROWS, "tanh 2-4-2"])
def test_a_number_is_on_what_is_seen_of_its_cube(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    stage.take(numbers=True)
    for turn in [(0.0, 0.0), (-60.0, 20.0), (150.0, -60.0)]:
        stage.eyes.orbit(*turn)
        seen, found = look(stage), numbers(stage)
        place = {row: i for i, row in enumerate(seen.rows.tolist())}
        assert found
        for row, number in found.items():
            assert seen.picture[int(number.y), int(number.x)] == place[row]


@pytest.mark.some(3)
@every_size
@pytest.mark.parametrize("way", ["hover", "pinned"])
def test_a_hovered_or_pinned_cube_has_its_number_and_the_cubes_of_a_neuron(
    way: str, size: Any
) -> None:
    stage = stage_of(trained(ROWS), size)
    setattr(stage, way, 40)
    stage.frame_data()
    found = numbers(stage)
    assert [*found] == [40] and found[40].depth == -1.0
    setattr(stage, way, None)
    setattr(stage, f"{way}_neuron", ("tanh 0", 2))
    fan, unit = stage.frame_data().layout.fan_into(("tanh 0", 2))  # type: ignore[misc]
    found = numbers(stage)
    assert {*found} <= {*fan.rows_of(unit), fan.biases + unit} and len(found) >= 4 - (
        size[0] < 1000
    )
    assert all(each.depth == -1.0 for each in found.values())


def test_the_hovered_cube_has_its_number_where_cubes_are_too_small_for_any() -> None:
    stage = stage_of(trained("12-64-3"), (800, 500))
    stage.take(every_weight=True, numbers=True)
    assert 100 not in numbers(stage)
    stage.hover = 100
    assert 100 in numbers(stage)


@pytest.mark.some(3)
@pytest.mark.parametrize("operation", [2, 4, 12, 14])
@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
def test_what_a_caption_speaks_of_has_its_number_and_no_arithmetic(
    operation: int, size: Any
) -> None:
    session = advanced(dense_session(ROWS), 20)
    session.advance(operation, "operation")
    stage = stage_of(session, size)
    data, found = stage.frame_data(), numbers(stage)
    assert data.words.caption is not None and data.part == 1.0
    spoken = {piece.row for piece in data.words.caption.pieces} - {NONE}
    is_sum = data.words.caption.bars is not None and operation < 12
    assert spoken and is_sum == (operation < 12)
    assert is_sum or found.keys() >= spoken  # of a sum the numbers stand above the cubes
    for row, number in found.items():
        assert number.words == short(float(data.cubes.colors[row]))


@pytest.mark.parametrize("factor", [1e-4, 0.01, 1.0, 300.0])
def test_the_stage_writes_plain_decimals(factor: float) -> None:
    show = Show.of(load(find("rgb"))())
    show.session.network.bank.value[:] = factor * np.linspace(-3.0, 3.0, 59)
    stage = stage_of(show, (1280, 800))
    stage.take(numbers=True)
    data, canvas = stage.frame_data(), Words(1280, 800)
    lit = lights(data.layout, None, None)
    draw_scenery(canvas, projection(stage), data, lit, THEMES["dark"])
    assert not any(re.search(r"\d[eE][-+]?\d", words) for words, _ in canvas.found)


class Inks(Words):
    """A canvas that remembers the colors of its numbers, and of their halos."""

    inks: frozenset[tuple[Any, Any]] = frozenset()

    def text(self, x: float, y: float, words: str, **look: Any) -> float:
        if re.fullmatch(r"-?\d?\.\d+", words):
            self.inks |= {(look["color"], look.get("outline"))}
        return float(super().text(x, y, words, **look))


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_numbers_have_a_halo_but_on_faces_which_have_two_inks(theme: str) -> None:
    stage = stage_of(trained("normed 3-8-3"), (1280, 800))
    stage.take(numbers=True)
    data, canvas = stage.frame_data(), Inks(1280, 800)
    lit = lights(data.layout, None, None)
    draw_scenery(canvas, projection(stage), data, lit, THEMES[theme])
    assert (DARK_NUMBER, None) in canvas.inks
    plain = THEMES[theme].ink, THEMES[theme].ground
    assert plain in canvas.inks  # above cubes
    carried = {(color, THEMES[theme].ground) for color in THEMES[theme].signs}  # above columns
    on_cubes = {(NUMBER, HALO), (NUMBER, None), (DARK_NUMBER, None), plain}
    assert canvas.inks <= on_cubes | carried


@pytest.fixture
def moving() -> Stage:
    """A stage at the beginning of a move."""
    show = played("rgb", 3, engine="cpu")
    show.session.advance(len(show.session.operations) - 1, "operation")
    stage = Stage(show)
    stage.resize(1280, 800)
    stage.frame_data()
    stage.tick(5.0)
    show.session.advance(1, "operation")
    stage.frame_data()
    return stage


def test_no_frame_draws_a_size_outside_the_old_and_the_new_one(moving: Stage) -> None:
    cubes, new = moving.frame_data().cubes, moving.session.network.bank.value.copy()
    old, (rows, factor) = cubes.before, cubes.moved
    assert old is not None and 10 <= len(rows) <= 12 and factor > 1.0
    for row in rows:  # what moves most is drawn larger
        new[row] = old[row] + factor * (new[row] - old[row])
    low, high = np.minimum(old, new) - 1e-7, np.maximum(old, new) + 1e-7
    seen = []
    for frame in range(110):
        moving.tick(5.0 + 0.01 * frame)
        sizes = moving.frame_data().cubes.sizes
        assert (sizes >= low).all() and (sizes <= high).all()
        seen.append(float(np.abs(sizes - old).max()))
    assert seen == sorted(seen) and seen[0] == 0.0
    np.testing.assert_allclose(sizes, new)
    assert 27 <= sum(0.0 < each < seen[-1] for each in seen) <= 31, "frames of 10 ms"


def test_a_ghost_is_drawn_from_two_pixels_on(
    moving: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving.tick(20.0)
    frame_data, see, drawn = moving.frame_data(), projection(moving), []
    frame_data.cubes.before[::3] *= 0.5
    monkeypatch.setattr(marks, "draw_before", lambda *given, **_: drawn.append(given[2]))
    marks.draw_ghosts(Notes(1280, 800), see, frame_data, DARK)
    far = 0
    for number, plate in enumerate(frame_data.layout.plates):
        row, column, rows = plate.cells()
        sides = [
            plate.halves(each[rows], float(frame_data.cubes.size_scales[number]))
            for each in (frame_data.cubes.before, frame_data.cubes.sizes)
        ]
        is_seen = 2.0 * np.abs(sides[1] - sides[0]) * see(plate.middle(row, column)).unit >= 2.0
        followed = np.isin(rows, frame_data.words.caption.rows)
        far += int(((is_seen | followed) & np.isin(rows, frame_data.cubes.moved[0])).sum())
    assert 0 < len(drawn) == far


def test_a_gradient_that_is_nearly_0_has_no_mark() -> None:
    pushes = [-0.5, 0.25, -7.6e-6, 3e-5, 0.0, float("nan")]
    large, small = ([marks.share_of(each, top, 2.0) for each in pushes] for top in (0.5, 3e-5))
    assert large == [-1.0, 0.5, 0.0, 3e-5 / 0.5, 0.0, 0.0]
    assert small[2:4] == [0.0, pytest.approx(0.15)]  # the largest of a step may be small


@pytest.mark.parametrize("name", ["xor", "normed 2-4-1"])
def test_each_cube_has_an_outline_of_the_start_when_ghosts_are_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, drawn = stage_of(trained(name), (1280, 800)), []
    monkeypatch.setattr(marks, "draw_before", lambda *given, **_: drawn.append(given[2]))
    marks.draw_ghosts(Notes(1280, 800), projection(stage), stage.frame_data(), DARK)
    assert drawn == []
    stage.take(ghosts=True)
    marks.draw_ghosts(Notes(1280, 800), projection(stage), stage.frame_data(), DARK)
    data, begun = stage.frame_data(), stage.reading.now.begun
    plate, top = data.layout.plates[0], float(data.cubes.size_scales[0])
    half = float(plate.halves(begun[plate.first], top))
    corners = projection(stage)(plate.corners_of(0, 0, half)).xy
    assert len(drawn) == sum(each.size for each in data.layout.plates if each.has_outlines) >= 17
    np.testing.assert_allclose(drawn[0], corners)


def test_a_change_is_an_arrow_with_its_amount() -> None:
    pairs = [(0.5, 0.53), (-0.4, -0.41), (0.1, 0.1004), (0.3, 0.3), (1.0, 14.25), (0.2, 0.20001)]
    expected = ["↑ .0300", "↓ .0100", "↑ .0004", None, "↑ 13.250", None]
    assert [changed(*pair) for pair in pairs] == [[each] if each else [] for each in expected]


LINE = Neurons(np.array([[-2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), "sums", "values")
NOTHING = np.zeros(0)
SEE = Projection(Camera(height=8.0, fov=0.0), Box(0.0, 0.0, 400.0, 400.0), 400.0, 400.0)


def shapes(buffers: Buffers) -> np.ndarray:
    """The rows of what is drawn, one for each shape."""
    cubes = CubeValues(NOTHING, NOTHING, "value", "value", NOTHING, NOTHING)
    frame_data = FrameData(Layout((), [LINE], (), ()), cubes, buffers)
    canvas = Canvas2D(400.0, 400.0)
    draw_neurons(canvas, SEE, LINE, 1.0, frame_data, THEMES["dark"])
    return canvas._quads.rows(1.0)


def test_a_saturated_neuron_is_hatched_where_it_stands() -> None:
    values = {"sums": np.array([0.1, 9.0, -0.2]), "values": np.array([0.1, 1.0, -0.2])}
    found = shapes(Buffers(values, {"values": np.array([0.0, 0.8, 0.0])}))
    hatched = found[found[:, canvas2d.HATCH] > 0.0]
    assert len(hatched) == 1 and hatched[0, canvas2d.HATCH] == np.float32(0.75 * 0.8)
    np.testing.assert_allclose(hatched[0, canvas2d.MIDDLE], [200.0, 200.0], atol=0.5)
    del values["values"]  # not computed yet: its sum says nothing of the slope
    assert not (shapes(Buffers(values, {"values": np.ones(3)}))[:, canvas2d.HATCH] > 0.0).any()


def test_a_dropped_neuron_is_crossed_out() -> None:
    values = {"values": np.array([0.1, 0.0, -0.2])}
    crossed = shapes(Buffers(values, left_out={"values": np.array([0.0, 1.0, 0.0])}))
    assert len(crossed) > len(shapes(Buffers(values)))
