"""Maps of neurons: their numbers, what they follow, and where they are drawn."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.exhibits.plots import NeuronMap, Plane, cells
from scalarviz.scene.frame_data import Drawing
from scalarviz.scene.inspector import draw_inspector
from scalarviz.scene.layout.division import Box
from scalarviz.scene.neuron_images import tiled
from scalarviz.scene.neurons import draw_neurons
from scalarviz.stage.sample_pass import forward
from scalarviz.stage.stage import PlaneMaps, Stage
from tests.noted import Noted
from tests.sessions import advanced
from tests.studio import Studio, at, shade

SIZE = (1280, 800)
THEME = THEMES["dark"]


def learned(samples: object, sizes: Any = (2, 4, 1), **options: Any) -> sv.Session:
    network = sv.Network([*sizes], "tanh", "tanh", seed=0, dtype="float64")
    return sv.Session(network, samples, batch=10, engine="python", **options)


def circle(**options: Any) -> data.Circle:
    return data.Circle(scale=5.0, signed=True, **options)


@pytest.mark.parametrize("features", [None, "x2,y2,siny"])
def test_a_map_has_the_number_of_each_neuron_at_each_place(features: str | None) -> None:
    known = circle(features=features)
    session = advanced(learned(known, (known.inputs, 4, 1)), 20)
    stage = Stage(session)
    stage.frame_data()
    maps = PlaneMaps(stage.reading).now()
    assert maps is not None
    side = maps.values["inputs"].shape[1]
    for row, column in ((0, 0), (7, 31), (39, 12)):
        place = np.array([column + 0.5, side - row - 0.5]) / side * 12.0 - 6.0
        way = forward(
            session.network.program,
            session.network.bank.value,
            known.inputs_of(place[np.newaxis])[0],
        )
        for name, values in way.values.items():
            np.testing.assert_allclose(maps.values[name][:, row, column], values, rtol=1e-12)


def test_the_map_of_the_output_is_what_is_learned_of_features_too() -> None:
    known = circle(features="x,x2,xy")
    session = learned(known, (3, 3, 1))
    stage = Stage(session)
    plane = stage.frame_data().exhibit
    maps = PlaneMaps(stage.reading).now()
    assert isinstance(plane, Plane) and maps is not None and plane.axes == ()
    end = session.network.program.outputs.name
    np.testing.assert_allclose(maps.values[end][0], plane.values)
    np.testing.assert_allclose(maps.parts(end)[0], plane.values)  # targets are -1 and 1


def test_maps_follow_the_training_and_are_not_made_twice_of_the_same() -> None:
    session = learned(circle())
    stage = Stage(session)
    stage.neuron_maps = True
    first = stage.frame_data().maps
    same = stage.frame_data().maps
    assert first is not None and same is not None and first.values is same.values
    session.advance(5)
    later = stage.frame_data().maps
    assert later is not None
    assert np.abs(later.values["affine 0"] - first.values["affine 0"]).max() > 1e-6


def test_a_network_too_large_for_maps_has_none() -> None:
    stage = Stage(learned(circle(), (2, 100, 1)))
    stage.neuron_maps = True
    small = stage.frame_data().maps
    assert small is not None and small.values["inputs"].shape == (2, 20, 20)
    stage = Stage(learned(circle(), (2, 400, 1)))
    stage.neuron_maps = True
    assert stage.frame_data().maps is None


def test_own_inputs_on_the_map_set_all_features() -> None:
    known = circle(features="x2,sinx,xy")
    stage = Stage(learned(known, (3, 2, 1)))
    plane = stage.frame_data().exhibit
    assert isinstance(plane, Plane)
    canvas = Noted("#000000", 400.0, 500.0)
    plane.paint(canvas, stage.frame_data().division(1280, 800).exhibit, THEME)
    box = plane._plots[0]
    found = plane.inputs_at(box.x + 0.75 * box.width, box.y + 0.25 * box.height)
    wanted = known.inputs_of(np.array([[3.0, 3.0]]))[0]
    np.testing.assert_allclose([found[i] for i in range(3)], wanted, atol=1e-5)


def test_the_sample_in_use_is_marked_where_it_lies_though_only_its_features_are_known() -> None:
    known = circle(features="x2,y2")
    session = learned(known, (2, 2, 1))
    stage = Stage(session)
    plane = stage.frame_data().exhibit
    assert isinstance(plane, Plane) and plane.focus is not None
    inputs = session.trainer.batches.at(0)[0][0]
    row = int(np.flatnonzero((known.training[0] == inputs).all(axis=1))[0])
    np.testing.assert_allclose(plane.focus * 12.0 - 6.0, known.points[row])


# On spheres.


def test_each_map_has_its_own_place_among_the_tiles_of_all() -> None:
    images = np.random.default_rng(0).random((3, 2, 4, 3))
    whole, places = tiled(images)
    high, wide, _ = whole.shape
    for image, place in zip(images, places, strict=True):
        left, top, right, bottom = place * [wide, high, wide, high] - 0.5  # middles of its corners
        rows, columns = np.arange(top, bottom + 1.0), np.arange(left, right + 1.0)
        cells_there = np.ix_(rows.round().astype(int), columns.round().astype(int))
        np.testing.assert_array_equal(whole[cells_there], image)


@pytest.mark.parametrize(
    ("name", "most", "large"), [("circle", 9, 6), ("xor", 7, 7), ("xnor", 19, 0)]
)
def test_the_first_picture_of_a_plane_has_a_map_on_each_sphere(
    name: str, most: int, large: int
) -> None:
    """Of these, `large` have at least 44 pixels."""
    stage = Stage(load(find(name))(engine="python"))
    stage.session.advance(1)
    shown = stage.frame_data()
    see = stage.picture().see(shown, stage.eyes.camera, *SIZE)
    count = wide = 0
    for line in shown.layout.neurons:
        wide += np.count_nonzero(2.0 * line.radius * see(line.points).unit >= 44.0)
        canvas = Noted("#000000", *SIZE)
        draw_neurons(canvas, see, line, 1.0, shown, THEME, 1.0)
        drawn = any(batch.image is not None for batch in canvas.vertices()[2])
        count += drawn * len(line.points)
    assert count == most and wide >= large


def test_maps_are_coarser_while_it_plays_and_finer_at_rest() -> None:
    stage = Stage(learned(circle()))
    session = stage.session
    session.play(1.0)
    played = stage.frame_data().maps
    session.pause()
    rested = stage.frame_data().maps
    assert played is not None and played.values["inputs"].shape == (2, 20, 20)
    assert rested is not None and rested.values["inputs"].shape == (2, 40, 40)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_sphere_shows_its_map_as_a_disc_and_keeps_its_rim(studio: Studio, theme: str) -> None:
    known = data.Xor()
    network = sv.Network([2, 1], "tanh", "tanh", seed=0)
    stage = Stage(sv.Session(network, known, batch=4, engine="python"), theme)
    stage.neuron_maps = False
    plain = studio.stage(stage, 0.0, SIZE)
    stage.neuron_maps = True
    pixels, shown = studio.stage(stage, 0.0, SIZE), stage.frame_data()
    see = stage.picture().see(shown, stage.eyes.camera, *SIZE)
    line = shown.layout.neurons[0]
    seen = see(line.points)
    (x, y), radius = seen.xy[0], line.radius * float(seen.unit[0])
    assert radius > 15.0
    for part in (-0.6, 0.0, 0.6):  # the input x grows from left to right, from 0 to 1
        wanted = shade(theme, 0.8 * (0.5 + 0.5 * part / 0.86))
        np.testing.assert_allclose(at(pixels, (x + part * radius, y)), wanted, atol=6)
    for way in ((-0.93, 0.0), (0.65, -0.65)):  # the rim, also where a square would cover it
        place = x + way[0] * radius, y + way[1] * radius
        np.testing.assert_allclose(at(pixels, place), at(plain, place), atol=3)


def test_a_neuron_that_is_not_computed_yet_has_no_map(studio: Studio) -> None:
    session = learned(circle())
    stage = Stage(session)
    stage.neuron_maps = True
    session.advance(1, "operation")
    stage.tick(0.0)
    stage.tick(100.0)
    shown = stage.frame_data()
    assert shown.maps is not None and "affine 0" not in shown.buffers.values
    see = stage.picture().see(shown, stage.eyes.camera, *SIZE)
    lines = {line.values: line for line in shown.layout.neurons}
    counts = {}
    for name, line in lines.items():
        canvas = Noted("#000000", *SIZE)
        draw_neurons(canvas, see, line, 1.0, shown, THEME, 1.0)
        counts[name] = sum(batch.image is not None for batch in canvas.vertices()[2])
    assert counts == {"inputs": 1, "tanh 0": 0, "tanh 1": 0}


# On the card.


def test_the_card_of_a_neuron_has_its_map_with_axes_and_samples() -> None:
    stage = Stage(learned(circle()))
    stage.neuron_maps = False
    stage.pin(("tanh 0", 2))
    shown = stage.frame_data()
    assert shown.maps is None and shown.pinned is not None  # none on the spheres
    (drawing,) = (each for each in shown.pinned.blocks if isinstance(each, Drawing))
    found = drawing.exhibit
    assert isinstance(found, NeuronMap)
    weights, bias = stage.session.network.bank.value[4:6], stage.session.network.bank.value[10]
    places = cells(40) * 12.0 - 6.0
    np.testing.assert_allclose(found.values.ravel(), np.tanh(places @ weights + bias))
    canvas = Noted("#000000", *SIZE)
    draw_inspector(canvas, Box(600.0, 20.0, 300.0, 600.0), shown.pinned, THEME)
    assert {"-6", "6", "x", "y", *found.words()} <= set(canvas.words)
    ((box, _),) = canvas.images_drawn
    assert box.width == pytest.approx(box.height) and box.width > 150.0
    assert any(len(xy) == 250 for xy, *_ in canvas.discs_drawn)


@pytest.mark.parametrize(("high", "drawn"), [(600.0, 140.0), (330.0, 60.0), (150.0, 0.0)])
def test_a_low_card_has_a_smaller_map_and_a_lower_one_none(high: float, drawn: float) -> None:
    stage = Stage(learned(circle()))
    stage.pin(("tanh 0", 2))
    card = stage.frame_data().pinned
    assert card is not None
    canvas = Noted("#000000", *SIZE)
    draw_inspector(canvas, Box(600.0, 20.0, 260.0, high), card, THEME)
    sizes = [box.width for box, _ in canvas.images_drawn]
    assert (sizes[0] >= drawn) if drawn else not sizes
    assert canvas.extent().bottom <= 20.0 + high
