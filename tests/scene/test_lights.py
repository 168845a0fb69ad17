"""Light.

Fronts keep the color of their number, and the operation or sum that is shown is bright.
"""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.base.texts.decimals import short
from scalarviz.core.program import Program
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.drawn_lines import draw_lines
from scalarviz.scene.focus import focus_of
from scalarviz.scene.layout.plates import DOWN, HALF, NEAR, RIGHT, UP, Layout, Plate
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.scene.layout.ways import BEHIND
from scalarviz.scene.lights import DIM, lights
from scalarviz.scene.lines import known_fan
from scalarviz.stage.pointing import NOTHING
from scalarviz.stage.stage import Stage
from tests.pages.states import convolved, made
from tests.scene.canvas.test_palette import cielab, difference
from tests.scene.measures import look, projection, stage_of, trained
from tests.sessions import advanced, networks
from tests.studio import Studio, at, brightness, framed, plate, shade

SCENES = ["rgb", "xor", "xnor", "circle", "expression"]
MORE = ["normalized", "retrain", "digits", "texture"]


def fronts(studio: Studio, name: str, theme: str, value: float, **turned: Any) -> list[np.ndarray]:
    """For each wall, the colors of the sides that a row turns to the eye, of cubes of one number.

    Biases have a letter there.
    """
    stage = stage_of(trained(name), (1280, 800), theme=theme)
    stage.eyes.orbit(turned.get("right", 0.0), turned.get("up", 0.0))
    see, layout = projection(stage), stage.frame_data().layout
    count = max(each.indices.stop for each in layout.plates)
    cubes = studio.cubes(layout.plates, np.full(count, value), theme=theme)
    pixels = studio.look(cubes, see)
    ids = studio.ids(cubes, see)
    found = []
    for each in layout.plates:
        way = max(each.toward, -each.toward, key=lambda way: see.camera.toward @ way)
        row, column, indices = each.cells()
        x, y = see(each.middle(row, column) + each.half * way).xy.astype(int).T
        own = (x >= 0) & (x < 1280) & (y >= 0) & (y < 800) & (each.role != "bias")
        own[own] = ids[y[own], x[own]] == indices[own]
        found.append(pixels[y[own], x[own]] / (255.0 * brightness(see, way)))
    assert sum(len(each) > 0 for each in found) > 1
    return [each for each in found if len(each)]


def test_the_difference_of_colors_is_that_of_published_pairs() -> None:
    one = np.array(
        [(50, 2.6772, -79.7751), (50, -1.0, 2.0), (50, 2.5, 0), (2.0776, 0.0795, -1.1350)]
    )
    other = np.array([(50, 0, -82.7485), (50, 0, 0), (73, 25, -18), (0.9033, -0.0636, -0.5514)])
    np.testing.assert_allclose(difference(one, other), [2.0425, 2.3669, 27.1492, 0.9082], atol=1e-4)


# Large networks as they open: turned until two faces look almost equally large, both are lit.
@pytest.mark.some(1)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("name", "turned"),
    [
        *itertools.product(SCENES, [{}, {"right": 150.0}, {"right": -60.0}, {"up": 200.0}]),
        *((each, {}) for each in MORE),
    ],
    ids=str,
)
def test_fronts_of_equal_values_have_the_color_of_the_legend_on_all_walls(
    studio: Studio, name: str, turned: dict[str, float], theme: str
) -> None:
    for value in (-1.0, -0.3, 0.8):
        square = cielab(shade(theme, value) / 255.0)
        walls = [cielab(colors) for colors in fronts(studio, name, theme, value, **turned)]
        assert all(difference(each, square).max() <= 3.0 for each in walls)
        assert max(difference(a, b[:, np.newaxis]).max() for a in walls for b in walls) <= 3.0


def test_an_edge_is_lit_toward_the_light_and_dark_away_from_it(studio: Studio) -> None:
    flat = plate(1, 1)
    see = framed([flat], fov=0.0, azimuth=20.0, elevation=15.0)
    pixels = studio.look(studio.cubes([flat], [0.0]), see)
    places = [(0.5, 0.5 + 0.97 * side * HALF, HALF) for side in (-1.0, 0.0, 1.0)]
    upper, middle, lower = (at(pixels, see(flat.point(*each)).xy[0]).sum() for each in places)
    assert upper > 1.1 * middle and lower < 0.8 * middle


def on_tray(count: int) -> Plate:
    """A row of cubes on a tray."""
    return Plate(0, 1, count, count, np.zeros(3), NEAR, DOWN, -RIGHT, "bias", seat=0.45)


def seen_on_tray(studio: Studio, sizes: list[float], width: int = 640) -> tuple[np.ndarray, Any]:
    each = on_tray(len(sizes))
    see = framed([each], width, width // 2, fov=0.0, azimuth=-42.0, elevation=6.0)
    cubes = studio.cubes([each], np.full(len(sizes), 0.8), sizes)
    return studio.look(cubes, see), see


def test_a_cube_has_the_shadow_of_the_one_before_it(studio: Studio) -> None:
    found = []
    for before in (0.3, 0.03):  # nothing in a hollow one
        pixels, see = seen_on_tray(studio, [1.0, before])
        corners = on_tray(2).corners_of(0, 0, 0.43)
        front, back = corners[5], corners[4]  # of the upper edge of the face near the viewer
        places = [front + part * (back - front) + 0.65 * DOWN for part in (0.05, 0.28)]
        found.append([at(pixels, see(place).xy[0]).sum() for place in places])
    (free, deep), clear = found
    assert deep < 0.9 * clear[1] and free > 0.98 * clear[0]


def test_near_0_a_cube_is_of_dark_glass_with_edges(studio: Studio) -> None:
    sizes = [0.02, 1.0]
    pixels, see = seen_on_tray(studio, sizes, 900)
    each = on_tray(2)
    middles = [each.middle(0, i, float(each.halves(size, 1.0))) for i, size in enumerate(sizes)]
    for i, (size, middle) in enumerate(zip(sizes, middles, strict=True)):
        half = float(each.halves(size, 1.0))
        left, edge, beside = (
            at(pixels, see(middle + half * (NEAR * near + right * RIGHT + up * UP)).xy[0]).sum()
            for near, right, up in ((0, -1, 0), (0.97, -1, 0), (1, 0.4, 0.5))
        )
        assert (left < 0.7 * edge) == (beside < 0.5 * edge) == (i == 0) and 0 < beside < left


def ball_seen(studio: Studio, ring: list[float], fill: float = 0.5) -> Any:
    from scalarviz.scene.visuals.spheres import SpheresVisual

    studio.canvas.set_current()
    see = framed([plate(1, 1, origin=(-0.5, 0.5, 0.0))], 200, 200, azimuth=-42.0, elevation=6)
    ball = SpheresVisual()
    ball.paint(glass="#222630", shadow="#020408bf")
    ball.set_data(np.zeros((1, 3)), np.array([0.3]), np.full((1, 3), fill), np.array([ring]))
    pixels = studio.look(ball, see)
    radius = int(0.3 * see(np.zeros((1, 3))).unit[0])
    x, y = see(np.zeros((1, 3))).xy[0].astype(int)
    return lambda right, up, far=0: pixels[
        y - int(up * radius) + far, x + int(right * radius)
    ].astype(float)


def test_a_ball_is_lit_from_above_and_from_the_left(studio: Studio) -> None:
    seen = ball_seen(studio, [1.0, 1.0, 1.0, -1.0])
    assert seen(0.0, 0.6).sum() > seen(0.0, 0.0).sum() > seen(0.0, -0.6).sum()
    assert seen(-0.6, 0.0).sum() > seen(0.6, 0.0).sum()


@pytest.mark.parametrize("amount", [0.0, 0.5, 1.0])
def test_glass_is_filled_as_high_as_its_amount_and_has_a_ring(
    studio: Studio, amount: float
) -> None:
    seen = ball_seen(studio, [1.0, 0.0, 0.0, amount])
    for up in (-0.7, -0.3, 0.3, 0.7):
        red, _, blue = seen(0.1, up)
        assert (red > 2.0 * blue) == (up < 1.72 * amount - 0.86)
    assert max(seen(0.0, -1.0, far)[0] for far in (1, 2, 3)) > 150.0


PARTS = (0.0, 0.2, 0.5, 0.8, 1.0)


def laid_out(program: Program) -> Layout:
    return trays_layout(program, lambda layer: ("", ""))


@given(made=networks())
def test_every_operation_of_every_network_has_its_light(made: object) -> None:
    program = made[0].program
    layout = laid_out(program)
    for moment in program.moments:
        touched = {i for i, p in enumerate(layout.plates) if p.operation == moment.operation}
        shown = lights(layout, program, moment)
        assert len(shown.plates) == len(layout.plates)
        assert len(shown.neurons) == len(layout.neurons)
        assert set(np.unique([*shown.plates, *shown.neurons])) <= {DIM, 1.0}
        if moment.kind in ("zero_grad", "step"):
            resting = DIM if moment.kind == "step" else 1.0
            assert (shown.plates == 1.0).all() and (shown.neurons == resting).all()
            continue
        bright = {i for i, each in enumerate(shown.plates) if each == 1.0}
        assert bright <= touched  # what takes no part is dim
        if moment.kind in ("forward", "weight gradient"):
            assert bright == touched
        assert (shown.neurons == 1.0).any()


def with_pin(stage: Stage, row: int) -> Stage:
    stage.pin(row)
    return stage


def with_neuron(stage: Stage, name: str, place: int) -> Stage:
    stage.hover_neuron = name, place
    return stage


def told(operations: int) -> Stage:
    s = advanced(made(3, 4, 2), 1)
    s.advance(operations, "operation")
    return stage_of(s, (1280, 800))


CASES: dict[str, Any] = {
    "a pinned weight": lambda: with_pin(stage_of(made(3, 4, 2), (1280, 800)), 5),
    "a pinned bias": lambda: with_pin(stage_of(made(3, 4, 2), (1280, 800)), 13),
    "a neuron": lambda: with_neuron(stage_of(made(3, 4, 2), (1280, 800)), "tanh 0", 2),
    "an input": lambda: with_neuron(stage_of(made(3, 4, 2), (1280, 800)), "inputs", 1),
    "a kernel": lambda: with_pin(stage_of(convolved(), (1280, 800)), 11),
    "a sum that is told": lambda: told(2),
    "products that are told": lambda: told(8),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("case", CASES)
def test_the_cells_and_neurons_of_a_sum_are_in_focus(case: str) -> None:
    stage = CASES[case]()
    frame_data = stage.frame_data()
    focus, layout = focus_of(frame_data), frame_data.layout
    lit = set()
    for each, (left, top, right, bottom) in zip(layout.plates, focus.cells, strict=True):
        row, column, indices = each.cells()
        inside = (column >= left) & (column <= right) & (row >= top) & (row <= bottom)
        lit |= set(indices[inside].tolist())
    assert lit == focus.rows
    fans = [layout.fan_of(row) for row in focus.rows]
    ends = np.concatenate(
        [fan.ends[[unit]] for fan, unit in fans if fan is not None] or [np.zeros((0, 3))]
    )
    for line, mask in zip(layout.neurons, focus.neurons, strict=True):
        known = (np.abs(line.points[:, np.newaxis] - ends) < 1e-9).all(axis=2).any(axis=1)
        assert mask[known].all()


def test_at_rest_nothing_falls_back_and_at_a_large_step_all_but_what_it_moves_most() -> None:
    s = advanced(made(3, 20, 4), 1)
    assert focus_of(stage_of(s, (1280, 800)).frame_data()) is None
    s.advance(len(s.operations), "operation")
    data = stage_of(s, (1280, 800)).frame_data()
    focus, (rows, factor) = focus_of(data), data.cubes.moved
    assert focus is not None and data.told is not None
    assert focus.rows == {*rows, *data.told.rows} and 10 <= len(rows) <= 12 and factor > 1.0


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", THEMES)
def test_what_is_out_of_focus_has_35_percent_and_no_words_and_the_rest_is_unchanged(
    studio: Studio, theme: str
) -> None:
    size = 1280, 800
    stage = stage_of(trained("rgb"), size, theme=theme)
    seen, rest = look(stage), studio.stage(stage, size=size)
    values = stage.frame_data().buffers.values["tanh 0"]
    others = {short(float(each)) for i, each in enumerate(values) if i != 2}
    assert others <= set(stage.picture().words)
    stage.hover_neuron = "tanh 0", 2
    frame_data = stage.frame_data()
    focus = frame_data.focus
    assert focus is not None
    after = studio.stage(stage, size=size)
    dims = lights(frame_data.layout, None, None, focus)
    assert (dims.outside == dims.level).all() and (dims.plates == 1.0).all()
    out = []
    for number, row in enumerate(seen.rows.tolist()):  # by their colors: the ground is grey
        apart = [np.ptp(each[seen.picture == number], axis=1) for each in (rest, after)]
        was, now = np.quantile(np.array(apart, float), 0.9, axis=1)
        if row in focus.rows:
            assert now >= 0.95 * was
        else:
            out.append(now / was)
    assert np.median(out) == pytest.approx(DIM, abs=0.12)
    assert not others & set(stage.picture().words)


def test_lines_of_what_comes_in_are_behind_all_cubes_and_products_begin_in_theirs() -> None:
    stage = stage_of(trained("tanh 3-8-3"), (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    found: list[np.ndarray] = []

    class Noted(Canvas2D):
        def segments(self, *ends: Any, **look: Any) -> None:
            found.extend([look["depth"]] if "depth" in look else [])  # the curve of a gate has none

    lit = lights(frame_data.layout, None, None)
    draw_lines(Noted(1280, 800), see, frame_data, lit, THEMES["dark"])
    depths, plates = np.concatenate(found), frame_data.layout.plates
    corners = np.concatenate([see(plate.corners()).depth for plate in plates])
    assert (depths[depths.min(axis=1) > corners.max()] == BEHIND[0]).all()
    assert (depths == BEHIND[0]).any() and depths.min() >= corners.min()
    for fan in frame_data.layout.fans:
        known = known_fan(fan, frame_data.layout, see, 1.0)
        cubes = see((fan.rows[:, np.newaxis] + fan.columns).reshape(-1, 3)).depth
        np.testing.assert_allclose(np.reshape(known.depths, (-1, 2))[:, 0], cubes)


@pytest.mark.parametrize("calm", [False, True])
def test_all_else_falls_back_within_a_moment_and_comes_back_slower(calm: bool) -> None:
    stage = Stage(made(3, 4, 2))
    stage.reduced_motion = calm
    stage.tick(1.0)
    assert stage.frame_data().attention == 0.0
    found, times = [], [1.0, 1.125, 1.25, 3.0, 3.2, 3.5]
    for now in times:
        stage.hover_neuron = ("tanh 0", 1) if now < 3.0 else None
        moves = stage.tick(now)
        frame_data = stage.frame_data()
        found.append(frame_data.attention)
        assert moves == (now in (1.125, 1.25, 3.2, 3.5) and not calm), now
        assert (frame_data.focus is not None) == (now < 3.0 or (now < 3.5 and not calm))
    assert found == pytest.approx([1.0] * 3 + [0.0] * 3 if calm else [0.0, 0.5, 1.0, 1.0, 0.5, 0.0])


def test_a_resting_mouse_lights_nothing_while_operations_are_shown() -> None:
    s = advanced(made(3, 4, 2), 1)
    stage = stage_of(s, (1280, 800))
    stage.hover_neuron = "tanh 0", 1
    assert stage.frame_data().hover_neuron == ("tanh 0", 1)
    found = []
    for moves in (False, False, True, False):
        s.advance(1, "operation")
        stage.frame_data()
        if moves:  # on the same neuron
            stage._resting = NOTHING
        found.append(stage.frame_data().hover_neuron is not None)
    assert found == [False, False, True, False]
    s.advance(2)
    assert stage.frame_data().hover_neuron == ("tanh 0", 1)


def test_a_square_is_in_focus_where_there_are_no_cubes() -> None:
    session = sv.Session(sv.Network([2, 24, 24, 1], "tanh", seed=0), sv.data.Circle())
    stage = stage_of(advanced(session, 1, "operation"), (1280, 800))
    stage.hover_neuron = stage.plan.neurons[1].values, 3
    frame_data = stage.frame_data()
    assert not frame_data.layout.plates and frame_data.focus is not None
    assert frame_data.focus.cells == []
