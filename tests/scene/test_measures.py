"""What the eye needs of a picture, over scenes and sizes: computed without OpenGL."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.core.program import Moment
from scalarviz.scene.annotations import SHORT_MINUS, Number, on_face, write_names, write_on_faces
from scalarviz.scene.canvas.canvas2d import Canvas2D, color
from scalarviz.scene.canvas.palette import THEMES, contrast
from scalarviz.scene.cube_faces import CubeFaces
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.long_rows import draw_row_sheet
from scalarviz.scene.picture import write_ends
from scalarviz.scene.silhouettes import balls_of
from scalarviz.scene.visuals.cubes import nearness
from scalarviz.scene.visuals.shaders import FLAT_FROM
from scalarviz.stage.stage import Stage
from tests.scene.measures import (
    DARK,
    Words,
    covered_numbers,
    dense_session,
    look,
    maps_of,
    projection,
    stage_of,
    trained,
)

AT_STEP = Moment("step", "step", "step")
SIZES = [(1280, 800), (640, 420)]
MORE_SIZES = [(800, 500), (1920, 1080), (1000, 1000)]
SMALL = ["rgb", "xor", "xnor", "circle", "expression", "1-1"]
LARGE = ["normalized", "5x17", "2-200-2", "retrain", "digits"]
HUGE = ["texture", "12-64x4-3"]
FINE = 3  # samples a side of a pixel: cubes of thirteen thousand weights have few pixels
every_scene = pytest.mark.parametrize(
    "name", [*SMALL, *(pytest.param(each, marks=pytest.mark.slow) for each in LARGE + HUGE)]
)
every_size = pytest.mark.parametrize(
    "size",
    [*SIZES, *(pytest.param(each, marks=pytest.mark.slow) for each in MORE_SIZES)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)


@pytest.fixture
def stage(name: str, size: tuple[int, int]) -> Stage:
    return stage_of(trained(name), size)


# The edge is the geometric mean of the sides of the box around what is seen of a cube. 13,507
# cubes on a stage of 1248 x 608 pixels have 56 pixels each if they fill it: 4 is what walls that
# are seen obliquely leave to cubes that are smaller for small weights.
@pytest.mark.slow
def test_cubes_of_thirteen_thousand_weights_are_large_enough_to_be_seen() -> None:
    assert np.median(look(stage_of(trained("12-64x4-3"), (1280, 800))).edges) >= 3.8


# At 1280 x 800. Bars are as high as their weights, so half of them are low, and half as wide as
# their cells, so that numbers fit beside them. The largest cubes of rows of 17 have 19 pixels.
EDGES = {
    "rgb": 18.5,
    "circle": 24.0,
    "xor": 26.0,
    "micrograd": 9.0,
    "tanh 3-8-3": 25.0,
    "normed 3-17-14-2": 5.5,
}


@pytest.mark.some(5)
@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (1920, 1080), (3840, 2160)], ids=str)
@pytest.mark.parametrize("name", EDGES)
def test_cubes_are_large_and_seen_to_a_half_and_neurons_whole(
    name: str, size: tuple[int, int]
) -> None:
    fine = max(1, 2560 // size[0])
    stage = stage_of(trained(name), size)
    seen, plates = look(stage, fine), stage.frame_data().layout.plates
    least = EDGES[name] * min(size[0] / 1280, size[1] / 800)
    share = 0.86 if size == (800, 500) else 1.0  # beside results with letters of 12 pixels
    assert np.median(seen.edges) >= share * least * fine
    parts = seen.shown / seen.whole
    assert np.median(parts) >= 0.9 and parts.min() >= 0.5
    assert (seen.spheres[:, 0] == seen.spheres[:, 1]).all()
    for each in plates:  # none overlap in a row
        assert 2.0 * (each.wide or each.half) <= 0.9 * each.cell[1 if each.rise[0] else 0]


# Software rendering takes twice as long where some may be tiles.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["texture", "12-64x4-3"])
def test_cubes_of_thirteen_thousand_weights_are_cubes_and_no_tiles(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    found = nearness(stage.frame_data().layout.plates, projection(stage).matrix.T, (1280.0, 800.0))
    assert max(each.most for each in found) <= FLAT_FROM


# Sixteen maps stand one above another, on some 365 and 209 pixels, below a row that is opened; the
# smallest ones have fewer pixels than the image before them.
@pytest.mark.slow
@pytest.mark.parametrize(("size", "least"), [((1280, 800), 15.0), ((800, 500), 8.5)])
def test_feature_maps_are_large_enough_to_be_seen(size: tuple[int, int], least: float) -> None:
    assert maps_of(stage_of(trained("digits"), size)).min() >= least


@pytest.mark.some(5)
@every_size
@every_scene
def test_nine_of_ten_cubes_and_the_spheres_are_seen_to_a_half(
    name: str, size: tuple[int, int]
) -> None:
    seen = look(stage_of(trained(name), size), FINE)
    # A network keeps its angle on all stages; on a square one that hides some more.
    share = 0.89 if (name, size) == ("texture", (1000, 1000)) else 0.9
    assert (seen.shown >= 0.5 * seen.whole).sum() >= share * len(seen.whole)
    shown, whole = seen.spheres.T
    assert (shown >= 0.5 * whole).sum() >= 0.98 * len(whole)


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", ["3-3", "1-3", "3-9-3", "rgb", "xor", "xnor", "circle"])
def test_no_cube_lies_on_an_output(name: str, stage: Stage) -> None:
    shown, whole = look(stage).spheres[-len(stage.frame_data().layout.neurons[-1].points) :].T
    assert (shown == whole).all()


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", SMALL)
def test_no_two_spheres_touch(name: str, size: tuple[int, int]) -> None:
    x, y, radius = look(stage_of(trained(name), size)).circles.T
    for i, j in itertools.combinations(range(len(x)), 2):
        assert np.hypot(x[i] - x[j], y[i] - y[j]) > radius[i] + radius[j]


@every_size
@every_scene
def test_the_network_fills_its_part_of_the_stage_and_no_more(
    size: tuple[int, int], stage: Stage
) -> None:
    data, see = stage.frame_data(), projection(stage)
    inner = see.box
    xy = see(data.layout.extent).xy
    low, high = xy.min(axis=0), xy.max(axis=0)
    assert inner.x - 1.0 <= low[0] and high[0] <= inner.right + 1.0
    assert inner.y - 1.0 <= low[1] and high[1] <= inner.bottom + 1.0
    wide, tall = (high - low) / [inner.width, inner.height]
    assert max(wide, tall) > 0.9


# Beside the exhibit, and above strip and caption, which keep the size of their letters; beside
# texture two pictures that are two fifths of the width.
@pytest.mark.some(4)
@pytest.mark.parametrize(("size", "least"), [((640, 400), 0.59), ((640, 360), 0.57)])
@every_scene
def test_in_a_small_picture_the_network_takes_most_of_the_frame(
    name: str, size: tuple[int, int], least: float, stage: Stage
) -> None:
    xy = projection(stage)(stage.frame_data().layout.extent).xy
    assert (np.ptp(xy, axis=0) / size).max() > (0.52 if name == "texture" else least)


@pytest.mark.some(4)
@every_size
@every_scene
def test_no_label_lies_on_another_or_on_a_sphere(size: tuple[int, int], stage: Stage) -> None:
    data, see = stage.frame_data(), projection(stage)
    canvas = Words(*size)
    for line in data.layout.neurons:
        if not line.shape:
            balls, is_first = (
                balls_of(see, line.points, line.radius),
                line is data.layout.neurons[0],
            )
            bright, is_first = [1.0] * len(balls), line is data.layout.neurons[0]
            about = line, range(len(balls)), balls, bright, see.box
            numbers = data.buffers.values.get(line.values, np.zeros(0)).tolist()
            write_names(canvas, DARK, *about, numbers, ("#0000ff", "#ff8000"), is_first=is_first)
    write_ends(canvas, see, data, DARK)
    for (words, box), (other, taken) in itertools.combinations(canvas.found, 2):
        assert not box.meets(taken), (words, other)
    x, y, radius = look(stage).circles.T
    for words, box in canvas.found:
        aside = np.maximum(np.maximum(box.x - x, x - box.right), 0.0)
        apart = np.maximum(np.maximum(box.y - y, y - box.bottom), 0.0)
        assert (np.hypot(aside, apart) >= radius - 1.0).all(), words
        whole = data.division(*size).view
        assert whole.x <= box.x and box.right <= whole.right, words
        assert whole.y <= box.y and box.bottom <= whole.bottom, words


@pytest.mark.some(3)
@pytest.mark.parametrize("name", "rgb circle xor xnor expression".split())
def test_nothing_lies_on_a_number_also_while_a_neuron_is_hovered(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    seen = look(stage)
    assert covered_numbers(stage, seen) == []
    for line in stage.plan.neurons:
        stage.hover_neuron = line.values, len(line.points) // 2
        assert covered_numbers(stage, seen) == [], stage.hover_neuron


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["rgb", "circle", "xor", "normalized", "expression"])
def test_nothing_lies_on_a_number_in_any_operation(name: str) -> None:
    show = trained(name)  # which other tests use, too
    show.session.seek(show.session.step_index)
    for moment in show.session.network.program.moments:
        show.session.advance(1, "operation")
        stage = stage_of(show, (1280, 800))
        assert stage.frame_data().moment in (moment, None)
        assert covered_numbers(stage, look(stage)) == [], moment
    show.session.seek(show.session.step_index - 1)


# At 1280 x 800: of all cubes, those that have their number on a face at rest.
NUMBERED = {"tanh 3-8-3": 0.45, "tanh 2-4-3": 0.75, "tanh 2-4-3-1": 0.35}


@pytest.mark.parametrize("later", [False, True], ids=["start", "later"])
@pytest.mark.parametrize("name", NUMBERED)
def test_a_face_with_room_has_its_number_at_rest_and_others_have_it_above_their_cubes(
    name: str, later: bool
) -> None:
    stage = stage_of(trained(name) if later else dense_session(name), (1280, 800))
    data, canvas = stage.frame_data(), Canvas2D(1280, 800)
    see = projection(stage)
    found = numbers_on_cubes(canvas, see, data, at_rest=True)
    cubes = CubeFaces(see, data, {}, 1.0, 0.0).cubes
    for cube in cubes:
        room = cube.rooms[cube.order[0]][3]
        size = 16.0 if room >= 60.0 else 14.0 if room >= 44.0 else 12.0
        words = short(cube.value).replace("-", SHORT_MINUS)
        fits = canvas.measure(words, size=size) <= room - 1.5
        number = found[cube.row]  # else above it
        assert (number.share is not None) == fits, (cube.row, words, room)
        assert not fits or (number.words, number.size) == (words, size)
    on_faces = [each for each in found.values() if each.share is not None]
    assert len(on_faces) >= NUMBERED[name] * len(cubes)


def test_a_face_too_narrow_for_two_decimals_has_one_from_1_on() -> None:
    canvas = Canvas2D(1280, 800)
    wide = canvas.measure("–1.41", size=12.0) + 1.5
    for value, room, words in (
        (-1.41, wide + 0.1, "–1.41"),
        (-1.41, wide - 0.1, "–1.4"),
        (-0.41, 20.0, None),
        (-1.41, 20.0, None),
    ):
        found = on_face(canvas, value, (0.0, 0.0), 0.0, (0.0, 0.0, 0.0, room), 1.0)
        assert (None if found is None else found.words) == words


@pytest.mark.parametrize(("theme", "least"), [("dark", 3.8), ("light", 4.5)])
def test_a_number_on_a_face_has_contrast_at_every_value(theme: str, least: float) -> None:
    found, canvas = THEMES[theme], Faces(100, 100)
    for share in np.linspace(-1.0, 1.0, 201).tolist():
        number = Number("1", 0.0, 0.0, 12.0, -1.0, 1.0, 1.0, share)
        write_on_faces(canvas, [number], found)
        ink = np.array(color(canvas.inks.pop())[:3])
        assert contrast(found.map(share), ink) >= least, share


class Faces(Words):
    """A canvas that remembers the colors of its texts."""

    def __init__(self, *size: float) -> None:
        super().__init__(*size)
        self.inks: list[Any] = []

    def texts(self, xy: Any, words: Any, **look: Any) -> None:
        self.inks += [look["color"]] * len(words)


@pytest.mark.parametrize("name", ["tanh 3-8-3", "tanh 2-4-3-1", "normalized"])
def test_what_is_written_on_a_cube_is_its_weight_at_the_printed_digits(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    weights, written = stage.session.network.bank.value, []
    for row in (None, *range(len(weights))):
        stage.take(numbers=row is None)
        stage.hover = row
        found = numbers_on_cubes(Words(1280, 800), projection(stage), stage.frame_data())
        assert row is None or [*found] == [row]
        written += [(number.words, weights[each]) for each, number in found.items()]
    for words, weight in written:
        unit = 0.1 ** len(words.partition(".")[2])
        assert abs(float(words) - weight) <= 0.5001 * unit, words
    assert len(written) > len(weights)  # also with those of all


@pytest.mark.parametrize(("size", "has_sheet"), [((800, 500), True), ((1280, 800), False)])
def test_a_row_that_is_looked_at_has_a_sheet_with_its_numbers_where_its_cubes_are_small(
    size: tuple[int, int], has_sheet: bool
) -> None:
    stage, canvas = stage_of(trained("tanh 3-8-3"), size), Canvas2D(*size)
    see = projection(stage)
    assert draw_row_sheet(canvas, see, stage.frame_data(), DARK) == [] == canvas.words
    stage.hover_neuron = stage.plan.neurons[stage.plan.fans[1].after].values, 1
    frame_data = stage.frame_data()
    boxes = draw_row_sheet(canvas, see, frame_data, DARK)
    assert len(boxes) == has_sheet
    if has_sheet:
        (box,), (fan, unit) = boxes, (frame_data.layout.fans[1], 1)
        weights = frame_data.weights[fan.all_rows[unit]]
        numbers = [each for each in canvas.words if each.replace(".", "").isdigit()]
        assert len(numbers) == 3 * len(weights) - 1  # with products; nothing comes to a bias
        assert any(each.startswith("= ") for each in canvas.words)
        assert see.box.x <= box.x and box.right <= see.box.right
        assert see.box.y <= box.y and box.bottom <= see.box.bottom
    assert draw_row_sheet(canvas, see, replace(frame_data, moment=AT_STEP), DARK) == []
