"""The exhibits of a session: chosen by its data and its network, maps of neurons, sorted digits."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.exhibits.answers import Answers
from scalarviz.scene.exhibits.classified import Sorting
from scalarviz.scene.exhibits.images import Pictures, Swatches
from scalarviz.scene.exhibits.plots import FunctionPlot, NeuronMap, Plane, cells
from scalarviz.scene.inspector import draw_inspector
from scalarviz.scene.layout.division import Box
from scalarviz.scene.neuron_images import tiled
from scalarviz.scene.neurons import draw_neurons
from scalarviz.stage.data_exhibits import (
    ASKED_DIGITS,
    ASKED_SLOWLY,
    PORTION,
    SHOWN_DIGITS,
    can_be_finer,
    exhibit_of,
    shrunk,
    sorting,
)
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import stage_of
from tests.studio import Noted, Studio


def session(layers: list[Any], learned: object, **options: Any) -> sv.Session:
    return sv.Session(sv.Network(layers, seed=0), learned, engine="python", **options)


def plane_of(session: sv.Session) -> Plane:
    """The exhibit of a session, which is a map of the plane."""
    plane = exhibit_of(session)
    assert isinstance(plane, Plane)
    return plane


# What is learned.


def test_the_plane_is_asked_at_the_middles_of_its_cells_the_top_first() -> None:
    s = session([2, 1], data.Circle(scale=5.0))
    s.network.bank.value[:] = [1.0, 100.0, 0.0]  # x + 100 y
    plane = plane_of(s)
    rows, columns = plane.values.shape
    step = 12.0 / columns
    assert plane.values[0, 0] == pytest.approx(-6 + step / 2 + 100 * (6 - step / 2), rel=1e-5)
    assert plane.values[-1, -1] == pytest.approx(6 - step / 2 + 100 * (-6 + step / 2), rel=1e-5)
    assert (plane.middle, plane.reach, rows) == (0.5, 0.5, columns)
    np.testing.assert_allclose(plane.points * 12 - 6, s.data.training[0][: len(plane.points)])


def test_how_right_the_corners_are_is_said() -> None:
    s = session([2, 1], data.Xnor())
    s.network.bank.value[:] = [0.25, 0.5, 0.0]
    exhibit = exhibit_of(s)
    assert exhibit.words() == [exhibit.verdict()] == ["3 of 4 right"]


def test_a_loss_that_takes_logits_shows_outputs_as_its_sigmoid_makes_them() -> None:
    s = session([2, 1], data.Xnor(), loss="sigmoid_cross_entropy")
    s.network.bank.value[:] = [1.0, 1.0, -0.25]
    plane = plane_of(s)
    wanted = 1.0 / (1.0 + np.exp(-np.array([-0.25, 0.75, 0.75, 1.75])))
    np.testing.assert_allclose(plane.outputs, wanted, rtol=1e-6)
    assert plane.wrong.tolist() == [True, True, True, False]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", "mse"])
def test_classes_have_a_map_of_the_largest_output(classes: int, loss: str) -> None:
    inputs = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.arange(30) % classes
    targets = labels if loss == "softmax_cross_entropy" else np.eye(classes)[labels]
    s = session([2, classes], data.Arrays(inputs, targets), loss=loss)
    plane = plane_of(s)
    assert plane.classes == [f"class {i}" for i in range(classes)]
    assert plane.targets.tolist() == labels.tolist()
    said = np.argmax(s.network(inputs), axis=1)
    assert plane.outputs.tolist() == said.tolist()
    assert plane.verdict() == f"{(said == labels).sum()} of 30 right"
    rows, columns = plane.values.shape
    across = plane.low[0] + (np.arange(columns) + 0.5) / columns * (plane.high[0] - plane.low[0])
    top = plane.high[1] - 0.5 / rows * (plane.high[1] - plane.low[1])
    first_row = s.network(np.stack([across, np.full(columns, top)], axis=1))
    assert plane.values[0].tolist() == np.argmax(first_row, axis=1).tolist()
    s.network.bank.value[0] = np.nan
    plane = plane_of(s)
    assert plane.wrong.all() and np.isnan(plane.values).all()


def test_classes_have_the_names_of_the_outputs() -> None:
    learned = data.Arrays([[0, 0], [0, 1], [1, 0]], np.eye(3))
    learned.output_names = ["ash", "oak", "elm"]
    s = session([2, 3], learned, loss="softmax_cross_entropy")
    s.network.bank.value[:] = [0, 0, 0, 2, 2, 0, 1, 0, 0]
    plane = plane_of(s)
    assert plane.classes == ["ash", "oak", "elm"]
    assert plane.verdict() == "3 of 3 right"


def test_one_input_gives_a_curve() -> None:
    s = session([1, 1], ([[3.0], [1.0], [2.0]], [6.0, 2.0, 4.0]))
    s.network.bank.value[:] = [2.0, 0.0]
    graph = exhibit_of(s)
    assert isinstance(graph, FunctionPlot)
    assert (graph.low, graph.high) == (1.0, 3.0)
    np.testing.assert_allclose(graph.outputs, np.linspace(2.0, 6.0, len(graph.outputs)), rtol=1e-6)
    assert graph.points.tolist() == [[3.0, 6.0], [1.0, 2.0], [2.0, 4.0]]
    assert graph.verdict() == "off by .00" and graph.off() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("transform", ["identity", "zoom", "flip"])
def test_a_texture_gives_output_and_target(transform: str) -> None:
    picture = np.random.default_rng(0).random((10, 200, 3))
    s = session([2, 3], data.Texture(picture, transform=transform), batch=4)
    pictures = exhibit_of(s)
    assert isinstance(pictures, Pictures)
    output, target = pictures.images
    assert target.shape == output.shape == (2, 50, 4)
    points, colors = s.data.pixels()
    row = 2 * 200 + 4 * 7 + 2  # of every four rows and columns the third is taken
    assert target[0, 7].tolist() == [*np.rint(255 * colors[row]), 255]
    answer = 255 * np.clip(s.network(points[row]), 0.0, 1.0)
    np.testing.assert_allclose(output[0, 7, :3], answer, atol=0.51)
    few = [*range(400, 600, 4), *range(1200, 1400, 4)]
    places = np.array([2 + each for each in few])
    off = np.abs(s.network(points[places]) - colors[places]).mean()
    assert pictures.off() == pytest.approx(off, rel=1e-6)
    assert pictures.words() == ["PSNR " + pictures.said.split("PSNR ")[1]]


def test_a_fine_texture_has_every_pixel_evaluated_in_portions() -> None:
    s = session([2, 3], data.Texture(np.random.default_rng(0).random((60, 90, 3))), batch=4)
    asked: list[int] = []

    def ask(points: FloatArray) -> FloatArray:
        asked.append(len(points))
        return np.asarray(s.network(points))

    with ThreadPoolExecutor(1) as background:
        pictures = background.submit(exhibit_of, s, ask, fine=True).result()
    assert isinstance(pictures, Pictures)
    points, colors = s.data.pixels()
    assert asked == [PORTION, 60 * 90 - PORTION]
    assert exhibit_of(s, ask, fine=True) is not None and asked[2:] == [60 * 90]
    output, target = (each[..., :3].reshape(-1, 3) for each in pictures.images)
    np.testing.assert_array_equal(target, np.rint(255 * colors))
    np.testing.assert_allclose(output, 255 * np.clip(s.network(points), 0.0, 1.0), atol=0.51)
    coarse = exhibit_of(s, ask)
    assert isinstance(coarse, Pictures) and len(coarse.images[1]) == 30


def test_only_a_texture_can_be_finer_and_not_with_the_python_engine() -> None:
    pixels = np.zeros((4, 4, 3))
    for engine, learned, finer in (
        ("cpu", data.Texture(pixels), True),
        ("python", data.Texture(pixels), False),
        ("cpu", data.Rgb(levels=2), False),
    ):
        network = sv.Network([learned.inputs, 3], seed=0)
        assert can_be_finer(sv.Session(network, learned, engine=engine)) is finer


def test_a_plane_has_the_names_and_ends_of_its_axes_and_outputs_of_two_classes() -> None:
    plane = plane_of(session([2, 1], data.Circle(scale=5.0)))
    assert plane.names == ("x", "y") and (plane.low, plane.high) == ((-6.0, -6.0), (6.0, 6.0))
    assert len(plane.outputs) == len(plane.points)
    inputs = np.array([[0.0, 7.0, 2.0], [0.0, 8.0, 3.0], [0.0, 9.0, 1.0]])
    s = session([3, 1], (inputs, np.array([[0.0], [1.0], [2.0]])))
    s.network.bank.value[:] = [0.0, 1.0, 0.0, 0.0]
    plane = plane_of(s)
    assert plane.names == ("x2", "x3") and plane.axes == (1, 2) and plane.score() is None
    assert plane.outputs.tolist() == [7.0, 8.0, 9.0] and plane.verdict() == "off by 7.00"
    marked = plane.marked(np.array([0.0, plane.low[0], plane.high[1]]))
    assert marked.focus is not None and marked.focus.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("sorts", [False, True])
def test_what_has_many_inputs_shows_its_answers_beside_their_goals(sorts: bool) -> None:
    many = np.random.default_rng(0).random((5, 4)), np.eye(2)[[0, 1, 1, 0, 1]] * (1 if sorts else 3)
    s = session([4, 2], data.Arrays(*many, output_names=["ash", "oak"]))
    answers = exhibit_of(s)
    assert isinstance(answers, Answers) and answers.sorts == sorts
    outputs = s.network(many[0])
    np.testing.assert_allclose(answers.outputs, outputs)
    right = int((outputs.argmax(axis=1) == many[1].argmax(axis=1)).sum())
    off = float(np.abs(outputs - many[1]).mean())
    assert answers.verdict() == (f"{right} of 5 right" if sorts else f"off by {short(off)}")
    canvas = Noted("#000000", 1280, 800)
    shown = answers.marked(many[0][1], np.array([0.25, -1.5]), many[1][1])
    shown.paint(canvas, Box(0.0, 0.0, 240.0, 400.0), THEMES["dark"])
    wanted = ["ash", "oak"] if sorts else ["ash .25", "oak -1.50", "ash 0", "oak 3.00"]
    assert canvas.words == ["OUT", "goal", *wanted, answers.verdict()]
    unknown = answers.marked(many[0][1], None, np.full(2, np.nan))
    canvas = Noted("#000000", 1280, 800)
    unknown.paint(canvas, Box(0.0, 0.0, 240.0, 400.0), THEMES["dark"])
    assert canvas.words == ["OUT", "goal", answers.verdict()]


def test_two_classes_have_the_names_of_the_data_and_a_corner_without_samples_is_found() -> None:
    circle = exhibit_of(session([2, 1], data.Circle()))
    moons = exhibit_of(session([2, 1], data.Moons(noise=0.1, share=1.0, samples=100, seed=1337)))
    assert isinstance(circle, Plane) and isinstance(moons, Plane)
    assert (circle.sides, moons.sides) == (["outside", "inside"], ["upper", "lower"])
    assert circle.corner is None and moons.corner is not None
    right, up = moons.corner
    near = np.abs(moons.points - [right, up]) - [0.56, 0.1]
    assert np.hypot(*np.maximum(near, 0.0).T).min() >= 0.15
    few = exhibit_of(session([2, 1], ([[0.0, 0.0], [0.1, 0.1]], [[0.0], [1.0]])))
    assert isinstance(few, Plane) and not few.sides and few.corner is None


def test_data_that_a_function_makes_is_drawn_too() -> None:
    made = data.Generated(
        lambda step, batch, seed: (np.linspace(0, 1, batch)[:, np.newaxis], np.ones((batch, 1))),
        inputs=1,
        outputs=1,
    )
    assert isinstance(exhibit_of(session([1, 1], made, batch=6)), FunctionPlot)


RNG = np.random.default_rng(0)
NAMED = RNG.integers(0, 10, 900)
PICTURES = RNG.integers(0, 256, (900, 8, 8))


def digits(**settings: Any) -> data.Digits:
    return data.Digits(**{"pictures": PICTURES, "labels": NAMED, "held_out": 500} | settings)


def knowing(known: data.Digits, *, mistakes: int = 0) -> Any:
    """A network that knows what is held out by heart, but for the first so many."""
    inputs, targets = known.held_out or known.training
    answers = {row.tobytes(): target for row, target in zip(inputs, targets, strict=True)}

    def ask(asked: np.ndarray) -> np.ndarray:
        said = np.array([answers[row.tobytes()] for row in asked])
        said[:mistakes] = np.roll(said[:mistakes], 1, axis=1)  # one digit further, 9 becomes 0
        return said

    return ask


KNOWN = digits()


def test_held_out_digits_are_counted_and_eight_of_each_are_shown() -> None:
    shown = sorting(knowing(KNOWN), KNOWN, "cpu")
    assert shown.confusion.all == shown.confusion.right == ASKED_DIGITS
    assert np.bincount(shown.labels).tolist() == [SHOWN_DIGITS // 10] * 10
    assert (shown.said == shown.labels).all()
    assert shown.words() == [f"{ASKED_DIGITS} of {ASKED_DIGITS} held-out digits are right, 100.0%"]
    assert shown.verdict() == f"{ASKED_DIGITS} of {ASKED_DIGITS} right"


def test_what_is_shown_are_the_pictures_of_what_is_said() -> None:
    shown = sorting(knowing(KNOWN, mistakes=ASKED_DIGITS), KNOWN, "cpu")
    assert ((shown.labels + 1) % 10 == shown.said).all() and shown.confusion.accuracy == 0.0
    rows = {row.tobytes(): label for row, label in zip(*KNOWN.held_out, strict=True)}
    for picture, label in zip(shown.pictures, shown.labels, strict=True):
        assert rows[np.float32(picture.ravel()).tobytes()][label] == 1.0


def test_mistakes_are_counted_by_what_it_is_and_what_is_said() -> None:
    counts = sorting(knowing(KNOWN, mistakes=100), KNOWN, "cpu").confusion.counts
    wanted = np.zeros((10, 10), int)
    for i, label in enumerate(NAMED[400:800]):
        wanted[label, (label + 1) % 10 if i < 100 else label] += 1
    assert counts.tolist() == wanted.tolist()


def test_without_held_out_digits_it_is_asked_for_those_it_trains_on() -> None:
    known = digits(held_out=0.0)
    shown = sorting(knowing(known), known, "cpu")
    assert shown.confusion.accuracy == 1.0 and shown.of == "training digits"


def test_a_large_picture_is_reduced_to_averages() -> None:
    large = RNG.integers(0, 256, (900, 56, 56))
    known = digits(pictures=large)
    shown = sorting(knowing(known), known, "cpu")
    assert shown.pictures.shape[1:] == (28, 28)
    place = np.flatnonzero(NAMED[400:] == NAMED[400])[0] + 400
    first = np.flatnonzero(shown.labels == NAMED[place])[0]
    wanted = large[place].reshape(28, 2, 28, 2).mean(axis=(1, 3)) / 255.0
    np.testing.assert_allclose(shown.pictures[first], wanted, atol=1e-6)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_sorted_too(odd: float) -> None:
    shown = sorting(lambda inputs: np.full((len(inputs), 10), odd), KNOWN, "cpu")
    assert (shown.said == 0).all() and shown.confusion.all == ASKED_DIGITS
    outputs = np.full((ASKED_DIGITS, 10), np.nan)
    outputs[:, 7] = -5.0
    assert (sorting(lambda inputs: outputs, KNOWN, "cpu").said == 7).all()


def test_a_session_that_learns_digits_shows_them() -> None:
    network = sv.Network([sv.Dense(64, 10)], seed=0)
    session = sv.Session(network, digits(), "softmax_cross_entropy", engine="python")
    shown = exhibit_of(session)
    assert isinstance(shown, Sorting) and shown.confusion.all == ASKED_SLOWLY
    assert isinstance(exhibit_of(session, knowing(session.data)), Sorting)  # a copy may be asked
    assert exhibit_of(session, knowing(session.data)).confusion.accuracy == 1.0
    sample = np.eye(10)[3], np.eye(10)[8]
    canvas = Noted("#000000", 1280, 800)
    shown.marked(np.zeros(64), *sample).paint(canvas, Box(0, 0, 400, 600), THEMES["dark"])
    assert canvas.words[:4] == ["OUT", "goal", "3", "8"]


def test_large_pictures_are_made_smaller_by_averages() -> None:
    large = np.arange(2.0 * 64 * 33).reshape(2, 64, 33)
    found = shrunk(large)
    assert found.shape == (2, 32, 16)
    assert found[1, 3, 5] == large[1, 6:8, 10:12].mean()
    assert found[1, -1, -1] == large[1, -2:, -3:].mean()


SIZE = (1280, 800)
THEME = THEMES["dark"]


def learned(samples: object, sizes: Any = (2, 4, 1), **options: Any) -> sv.Session:
    network = sv.Network([*sizes], "tanh", "tanh", seed=0, dtype="float64")
    return sv.Session(network, samples, **{"batch": 10, "engine": "python", **options})


def circle(**options: Any) -> data.Circle:
    return data.Circle(scale=5.0, signed=True, **options)


def test_own_inputs_on_the_map_set_all_features() -> None:
    known = circle(features="x2,sinx,xy")
    stage = Stage(learned(known, (3, 2, 1)))
    plane = stage.frame_data().exhibit
    assert isinstance(plane, Plane)
    canvas = Noted("#000000", 400.0, 500.0)
    plane.paint(canvas, stage.frame_data().division(1280, 800).exhibit, THEME)
    box = plane._boxes[0]
    found = plane.inputs_at(box.x + 0.75 * box.width, box.y + 0.25 * box.height)
    wanted = known.inputs_of(np.array([[3.0, 3.0]]))[0]
    np.testing.assert_allclose([found[i] for i in range(3)], wanted, atol=1e-5)


def test_the_sample_in_use_is_marked_where_it_lies_though_only_its_features_are_known() -> None:
    known = circle(features="x2,y2")
    session = learned(known, (2, 2, 1))
    plane = Stage(session).frame_data().exhibit
    assert isinstance(plane, Plane) and plane.focus is not None
    inputs = session.trainer.batches.at(0)[0][0]
    row = int(np.flatnonzero((known.training[0] == inputs).all(axis=1))[0])
    np.testing.assert_allclose(plane.focus * 12.0 - 6.0, known.points[row])


# In squares.


def test_each_map_has_its_own_place_among_the_tiles_of_all() -> None:
    images = np.random.default_rng(0).random((3, 2, 4, 3))
    whole, places = tiled(images)
    high, wide, _ = whole.shape
    for image, place in zip(images, places, strict=True):
        left, top, right, bottom = place * [wide, high, wide, high] - 0.5  # middles of its corners
        rows, columns = np.arange(top, bottom + 1.0), np.arange(left, right + 1.0)
        cells_there = np.ix_(rows.round().astype(int), columns.round().astype(int))
        np.testing.assert_array_equal(whole[cells_there], image)


def test_a_neuron_that_is_not_computed_yet_has_no_map(studio: Studio) -> None:
    session = learned(circle())
    stage = Stage(session)
    stage.take(neuron_maps=True)
    session.advance(1, "operation")
    stage.tick(0.0)
    stage.tick(100.0)
    shown = stage.frame_data()
    assert shown.maps is not None and "affine 0" not in shown.buffers.values
    see = stage.picture().see(shown, stage.eyes.camera, *SIZE)
    counts = {}
    for name, line in {line.values: line for line in shown.layout.neurons}.items():
        canvas = Noted("#000000", *SIZE)
        draw_neurons(canvas, see, line, 1.0, shown, THEME)
        counts[name] = len(canvas.images_in)
    assert counts == {"inputs": 1, "tanh 0": 0, "tanh 1": 0}


# On the card.


def test_the_card_of_a_neuron_has_its_map_with_axes_and_samples() -> None:
    stage = Stage(learned(circle()))
    stage.take(neuron_maps=False)
    stage.pin(("tanh 0", 2))
    shown = stage.frame_data()
    assert shown.maps is None and shown.pinned is not None  # none in the squares
    (found,) = (each for each in shown.pinned.blocks if isinstance(each, NeuronMap))
    weights, bias = stage.session.network.bank.value[4:6], stage.session.network.bank.value[10]
    places = cells(32) * 12.0 - 6.0
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
    canvas = Noted("#000000", *SIZE)
    draw_inspector(canvas, Box(600.0, 20.0, 260.0, high), stage.frame_data().pinned, THEME)
    sizes = [box.width for box, _ in canvas.images_drawn]
    assert (sizes[0] >= drawn) if drawn else not sizes
    assert canvas.extent().bottom <= 20.0 + high


@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "digits", "expression"])
def test_out_is_not_known_before_its_step_has_computed_it(name: str) -> None:
    show: Any = Show.of(load(find(name))(engine="cpu"))
    show.session.advance(20)
    stage, outputs, known = stage_of(show, (1280, 800)), show.session.network.program.outputs, False
    assert not stage.frame_data().exhibit.awaits  # at rest
    for moment in show.session.network.program.moments:
        show.session.advance(1, "operation")
        known = known or outputs.name in {each.name for each in moment.values}
        frame_data = stage.frame_data()
        exhibit = frame_data.exhibit
        assert exhibit is not None and exhibit.awaits != known
        if isinstance(exhibit, Swatches):
            assert np.isnan(exhibit.focus[1]).any() != known  # its plate is empty
            assert exhibit.verdict() == "" or known
            assert not np.isnan(exhibit.focus[::2]).any()  # IN and goal are there
        if isinstance(exhibit, Sorting):
            assert (exhibit.focus[0] is not None) == known == bool(exhibit.answers)
            assert exhibit.focus[1] is not None
