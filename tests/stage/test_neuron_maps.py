"""What each neuron computes over all places: a plane, or the line along one input."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.exhibits.plots import cells
from scalarviz.scene.frame_data import FrameData, NeuronMaps
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.look import Look
from scalarviz.scene.neuron_images import heat_of, painted_parts
from scalarviz.scene.neurons import draw_neurons
from scalarviz.stage import background
from scalarviz.stage.network_layout import sees_places
from scalarviz.stage.neuron_maps import SIDES, SessionMaps
from scalarviz.stage.sample_pass import forward
from scalarviz.stage.stage import Stage
from tests.sessions import advanced
from tests.stage.test_exhibits import circle, learned
from tests.studio import Noted, Studio, at

SIZE = (1280, 800)
SIDE = SIDES[0]
TABLE = np.random.default_rng(0).uniform(-2.0, 3.0, (40, 3))


def numbers_at(session: sv.Session, inputs: Any) -> dict[str, np.ndarray]:
    """What plain Python computes for one sample."""
    network = session.network
    return forward(network.program, network.bank.value, np.asarray(inputs, float)).values


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("features", [None, "x2,y2,siny"])
def test_a_map_has_the_number_of_each_neuron_at_each_place(
    features: str | None, engine: str
) -> None:
    known = circle(features=features)
    session = advanced(learned(known, (known.inputs, 4, 1), engine=engine), 20)
    maps = Stage(session).frame_data().maps
    for row, column in ((0, 0), (7, 31), (30, 12)):
        place = np.array([column + 0.5, SIDE - row - 0.5]) / SIDE * 12.0 - 6.0
        for name, values in numbers_at(session, known.inputs_of(place[np.newaxis])[0]).items():
            np.testing.assert_allclose(maps.values[name][:, row, column], values, atol=1e-12)


@pytest.mark.parametrize("name", ["xor", "xnor"])
def test_four_points_span_the_plane_of_their_squares(name: str) -> None:
    show = load(find(name))(engine="python")
    maps = Stage(show).frame_data().maps
    places = (np.arange(SIDE) + 0.5) / SIDE
    np.testing.assert_allclose(maps.values["inputs"][0, 5], places)
    np.testing.assert_allclose(maps.values["inputs"][1, :, 5], places[::-1])
    for buffer, values in numbers_at(show.session, [places[3], places[-1]]).items():
        np.testing.assert_allclose(maps.values[buffer][:, 0, 3], values, atol=1e-6)


def test_places_of_a_picture_are_those_of_its_pixels_behind_the_encoding_too() -> None:
    session = load(find("texture"))(size=16, hidden=8, depth=2, engine="cpu").session
    stage = Stage(session)
    maps = stage.frame_data().maps
    assert all(line.square for line in stage.plan.neurons[:-1])
    for name, values in numbers_at(session, [(3 + 0.5) / SIDE, (28 + 0.5) / SIDE]).items():
        np.testing.assert_allclose(maps.values[name][:, 28, 3], values, atol=1e-5)
    u, v = stage.reading.shown_inputs
    assert maps.dot is not None and maps.dot.tolist() == pytest.approx([u, 1.0 - v])


def test_neurons_of_single_values_have_maps() -> None:
    show = load(find("micrograd"))(engine="cpu")
    maps = Stage(show).frame_data().maps
    places = cells(SIDE) * 3.6 - 1.8
    *hidden, last = (
        wall.of(show.session.network.bank.value) for wall in show.session.network.all_walls.values()
    )
    for (name, own), weights in zip([*maps.values.items()][1:], [*hidden, last], strict=True):
        sums = places @ weights[:, :-1].T + weights[:, -1]
        places = sums if weights is last else np.maximum(sums, 0.0)
        np.testing.assert_allclose(own.reshape(len(own), -1).T, places, atol=1e-9, err_msg=name)


def table(**options: Any) -> sv.Session:
    """A session of three inputs, all of which vary."""
    return learned(data.Arrays(TABLE, TABLE[:, :1]), (3, 4, 1), **options)


def test_a_table_has_curves_over_one_input_for_the_sample_that_is_shown() -> None:
    session = table()
    stage = Stage(session)
    maps = stage.frame_data().maps
    sample, inputs = stage.reading.shown_inputs, TABLE
    along = maps.values["inputs"][0, 0]
    assert along[[0, -1]].tolist() == [inputs[:, 0].min(), inputs[:, 0].max()]
    for place in (0, 17, -1):
        for name, values in numbers_at(session, [along[place], *sample[1:]]).items():
            np.testing.assert_allclose(maps.values[name][:, 0, place], values, atol=1e-12)
    wanted = np.interp(sample[0], along[[0, -1]], [0.0, 1.0])
    assert maps.dot is not None and maps.dot.tolist() == pytest.approx([wanted])


def test_the_input_of_curves_is_the_one_that_was_pointed_at_last() -> None:
    stage = Stage(table())
    stage.hover_neuron = "inputs", 2
    sample, inputs = stage.reading.shown_inputs, TABLE
    for hovered in (("inputs", 2), ("tanh 0", 1), None):
        stage.hover_neuron = hovered
        values = stage.frame_data().maps.values["inputs"][:, 0]
        assert values[2, [0, -1]].tolist() == [inputs[:, 2].min(), inputs[:, 2].max()]
        assert np.ptp(values[:2], axis=1).tolist() == [0.0, 0.0]
        np.testing.assert_allclose(values[:2, 0], sample[:2])


def test_maps_follow_the_training_and_are_not_made_twice_of_the_same() -> None:
    session = learned(circle())
    stage = Stage(session)
    first, same = stage.frame_data().maps, stage.frame_data().maps
    assert first.values is same.values and first.images is same.images
    session.advance(5)
    assert (
        np.abs(stage.frame_data().maps.values["affine 0"] - first.values["affine 0"]).max() > 1e-6
    )


def test_maps_are_made_five_times_a_second_while_it_plays_and_at_once_at_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(background, "perf_counter", lambda: now)
    session = learned(circle())
    reading = Stage(session).reading
    maps, seen = SessionMaps(reading), []

    def made() -> None:
        session.advance(1)
        reading.refresh()
        seen.append(id(maps.now().values))

    made()
    monkeypatch.setattr(sv.Session, "playing", True)
    for _ in range(100):
        now += 0.01
        made()
    assert 4 <= len(set(seen[1:])) <= 6
    monkeypatch.setattr(sv.Session, "playing", False)
    made()
    assert seen[-1] not in seen[:-1]


def test_a_larger_network_has_coarser_maps_and_one_too_large_no_maps() -> None:
    assert Stage(learned(circle(), (2, 100, 1))).frame_data().maps.values["inputs"].shape == (
        2,
        16,
        16,
    )
    assert Stage(learned(circle(), (2, 1000, 1))).frame_data().maps is None


def test_colors_and_pictures_are_no_places() -> None:
    assert not sees_places(load(find("rgb"))(engine="python").session)
    assert not sees_places(load(find("digits"))(engine="python").session)
    assert sees_places(table())


# Their colors.


def test_the_strongest_color_is_beyond_nearly_all_numbers_and_weak_maps_stay_weak() -> None:
    maps = np.random.default_rng(0).normal(size=(3, 32, 32))
    maps[1] *= 1e-3
    maps[2, 0, 0] = 1e6
    parts = np.abs(NeuronMaps({"a": maps}).parts("a"))
    assert np.mean(parts[0] > 1.0 / 1.1) == pytest.approx(0.06, abs=0.01)
    assert parts[1].max() < 0.1 and np.median(parts[2]) == pytest.approx(
        np.median(parts[0]), rel=0.1
    )
    np.testing.assert_array_equal(NeuronMaps({"a": maps}, discrete=True).parts("a"), np.sign(maps))


def test_a_paint_is_what_a_neuron_adds_and_grey_is_nothing() -> None:
    parts = np.array([[[0.0, 1.0]], [[1.0, -1.0]]])
    zero = np.array([51.0, 102.0, 153.0]) / 255.0
    red, less = painted_parts(parts, np.array([[2.0, 0.0, -1.0], [0.0, -3.0, 0.0]]), zero)
    assert red[0, 0, :3].tolist() == [51, 102, 153]
    assert red[0, 1, :3].tolist() == [255, 102, 84]
    assert less[0, :, 1].tolist() == [10, 255]


def test_the_last_hidden_neurons_of_a_picture_are_paints() -> None:
    session = load(find("texture"))(size=16, hidden=8, depth=2, engine="cpu").session
    ((name, weights),) = Stage(session).frame_data().maps.paints.items()
    assert name == "leaky_relu 2"
    np.testing.assert_allclose(weights.T, session.network.layers[-1].kernel)


# In a picture.


def view_of(stage: Stage, size: tuple[int, int] = SIZE) -> tuple[FrameData, Projection]:
    """What a picture shows, and how it is seen."""
    shown = stage.frame_data()
    return shown, stage.picture().see(shown, stage.eyes.camera, *size)


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "count"), [("circle", 8), ("xor", 6), ("xnor", 18)])
def test_the_first_picture_has_a_map_in_each_square(name: str, count: int) -> None:
    stage = Stage(load(find(name))(engine="python"))
    stage.session.advance(1)
    shown, see = view_of(stage)
    found = 0
    for line in shown.layout.neurons:
        canvas = Noted("#000000", *SIZE)
        draw_neurons(canvas, see, line, 1.0, shown, THEMES["dark"])
        found += len(line.points) * bool(canvas.images_in)
    assert found == count


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_square_shows_its_map_a_rim_of_its_hue_and_where_the_sample_lies(
    studio: Studio, theme: str
) -> None:
    session = sv.Session(
        sv.Network([2, 1], "tanh", "tanh", seed=0), circle(), batch=4, engine="python"
    )
    stage = Stage(session, Look(theme=theme))
    pixels, shown = studio.stage(stage, 0.0, SIZE), stage.frame_data()
    line, maps = shown.layout.neurons[0], shown.maps
    assert line.square and maps is not None and maps.dot is not None
    seen = stage.picture().see(shown, stage.eyes.camera, *SIZE)(line.points)
    (x, y), half = seen.xy[0], line.radius * float(seen.unit[0])
    assert half > 15.0
    colors, parts = heat_of(theme)[:, :3], np.linspace(-1.0, 1.0, len(heat_of(theme)))
    right, up = maps.dot.tolist()
    low = -0.8 if up > 0.5 else 0.8  # a row without the dot
    for part in (-0.8, -0.4, 0.4, 0.8):  # the input x grows from left to right, from -6 to 6
        wanted = [np.interp(part / (1.1 * 0.94), parts, each) for each in colors.T]
        np.testing.assert_allclose(at(pixels, (x + part * half, y - low * half)), wanted, atol=24)
    dot = x + (2.0 * right - 1.0) * half, y - (2.0 * up - 1.0) * half
    np.testing.assert_allclose(at(pixels, dot), [240, 244, 250], atol=12)
    number = float(shown.buffers.values["inputs"][0])
    rim = at(pixels, (x, y + half - 0.5)).astype(int)
    assert (rim[0] > rim[2]) == (number > 0.0)
    beside = at(pixels, (x - 1.3 * half, y + 0.99 * half))
    np.testing.assert_allclose(at(pixels, (x + 0.99 * half, y + 0.99 * half)), beside, atol=6)


def test_many_squares_of_a_line_have_no_dots() -> None:
    for hidden, dots in ((32, 34), (33, 2)):
        shown, see = view_of(Stage(learned(circle(), (2, hidden, 1))), (2560, 1600))
        canvas = Noted("#000000", 2560, 1600)
        for line in shown.layout.neurons:
            draw_neurons(canvas, see, line, 1.0, shown, THEMES["dark"])
        assert sum(len(xy) for xy, *_ in canvas.discs_drawn) == dots


def test_names_of_squares_that_are_close_stand_to_the_left_of_them() -> None:
    shown, see = view_of(Stage(learned(circle(), (2, 24, 1))))
    line, canvas = shown.layout.neurons[0], Noted("#000000", *SIZE)
    draw_neurons(canvas, see, line, 1.0, shown, THEMES["dark"])
    seen = see(line.points)
    assert [text.words for text in canvas.written] == ["x", "y"]
    for text, (x, y), unit in zip(canvas.written, seen.xy, seen.unit, strict=True):
        assert text.box.y + 0.5 * text.box.height == pytest.approx(y, abs=4.0)
        assert 0.0 < x - line.radius * unit - text.box.right < 12.0


def test_a_square_is_pointed_at_up_to_its_corners(studio: Studio) -> None:
    stage = Stage(learned(circle()))
    studio.stage(stage, 0.0, SIZE)
    line = stage.plan.neurons[0]
    seen = stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)(line.points)
    half = line.radius * seen.unit[0]
    stage.hover_at(*(seen.xy[0] - 0.9 * half).tolist())
    assert stage.hover_neuron == ("inputs", 0)
    stage.hover_at(*(seen.xy[0] - 1.1 * half).tolist())
    assert stage.hover_neuron is None


def test_without_maps_squares_have_the_colors_of_their_numbers() -> None:
    stage = Stage(learned(circle()))
    stage.take(neuron_maps=False)
    shown, see = view_of(stage)
    canvas = Noted("#000000", *SIZE)
    draw_neurons(canvas, see, shown.layout.neurons[0], 1.0, shown, THEMES["dark"])
    wanted = THEMES["dark"].map(shown.buffers.values["inputs"], shown.buffers.scale)
    np.testing.assert_allclose([color for _, color in canvas.filled[1:3]], wanted)
    assert canvas.words[-4:] == ["-.97", "-1.15", "x", "y"]
