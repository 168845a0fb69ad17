"""The exhibits of a session, chosen by its data and its network."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.scene.exhibits.images import Pictures
from scalarviz.scene.exhibits.plots import FunctionPlot, Plane
from scalarviz.stage.data_exhibits import PORTION, can_be_finer, exhibit_of, held_out_loss


def session(layers: list[Any], learned: object, **options: Any) -> sv.Session:
    return sv.Session(sv.Network(layers, seed=0), learned, engine="python", **options)


# What is learned.


def test_the_plane_is_asked_at_the_middles_of_its_cells_the_top_first() -> None:
    s = session([2, 1], data.Circle(scale=5.0))
    s.network.bank.value[:] = [1.0, 100.0, 0.0]  # x + 100 y
    plane = exhibit_of(s)
    assert isinstance(plane, Plane)
    rows, columns = plane.values.shape
    step = 12.0 / columns
    assert plane.values[0, 0] == pytest.approx(-6 + step / 2 + 100 * (6 - step / 2), rel=1e-5)
    assert plane.values[-1, -1] == pytest.approx(6 - step / 2 + 100 * (-6 + step / 2), rel=1e-5)
    assert (plane.middle, plane.reach, rows) == (0.5, 0.5, columns)
    np.testing.assert_allclose(plane.points * 12 - 6, s.data.training[0][: len(plane.points)])


def test_the_corners_are_spelled_out() -> None:
    s = session([2, 1], data.Xnor())
    s.network.bank.value[:] = [0.25, 0.5, 0.0]
    exhibit = exhibit_of(s)
    assert exhibit is not None
    assert exhibit.words() == [
        "0 0 -> 0.000, should be 1",
        "0 1 -> 0.500, should be 0",
        "1 0 -> 0.250, should be 0",
        "1 1 -> 0.750, should be 1",
    ]


def test_a_loss_that_takes_logits_shows_outputs_as_its_sigmoid_makes_them() -> None:
    s = session([2, 1], data.Xnor(), loss="sigmoid_cross_entropy")
    s.network.bank.value[:] = [1.0, 1.0, -0.25]
    plane = exhibit_of(s)
    assert isinstance(plane, Plane)
    wanted = 1.0 / (1.0 + np.exp(-np.array([-0.25, 0.75, 0.75, 1.75])))
    np.testing.assert_allclose(plane.outputs, wanted, rtol=1e-6)
    assert plane.wrong.tolist() == [True, True, True, False]
    assert plane.words()[3] == "1 1 -> 0.852, should be 1"


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", "mse"])
def test_classes_have_a_map_of_the_largest_output(classes: int, loss: str) -> None:
    inputs = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.arange(30) % classes
    targets = labels if loss == "softmax_cross_entropy" else np.eye(classes)[labels]
    s = session([2, classes], data.Arrays(inputs, targets), loss=loss)
    plane = exhibit_of(s)
    assert isinstance(plane, Plane)
    assert plane.classes == [f"class {i}" for i in range(classes)]
    assert plane.targets.tolist() == labels.tolist()
    said = np.argmax(s.network(inputs), axis=1)
    assert plane.outputs.tolist() == said.tolist()
    assert plane.verdict() == f"{(said == labels).sum()} of 30 are right"
    rows, columns = plane.values.shape
    middles = (np.arange(columns) + 0.5) / columns
    across = plane.low[0] + middles * (plane.high[0] - plane.low[0])
    top = plane.high[1] - 0.5 / rows * (plane.high[1] - plane.low[1])
    first_row = s.network(np.stack([across, np.full(columns, top)], axis=1))
    assert plane.values[0].tolist() == np.argmax(first_row, axis=1).tolist()
    s.network.bank.value[0] = np.nan
    plane = exhibit_of(s)
    assert isinstance(plane, Plane) and plane.wrong.all() and np.isnan(plane.values).all()


def test_few_samples_of_classes_say_their_class_and_classes_have_the_names_of_the_outputs() -> None:
    learned = data.Arrays([[0, 0], [0, 1], [1, 0]], np.eye(3))
    learned.output_names = ["ash", "oak", "elm"]
    s = session([2, 3], learned, loss="softmax_cross_entropy")
    s.network.bank.value[:] = [0, 0, 0, 2, 2, 0, 1, 0, 0]
    plane = exhibit_of(s)
    assert isinstance(plane, Plane) and plane.classes == ["ash", "oak", "elm"]
    assert plane.words() == [
        "0 0 -> ash, should be ash",
        "0 1 -> oak, should be oak",
        "1 0 -> elm, should be elm",
    ]


def test_one_input_gives_a_curve() -> None:
    s = session([1, 1], ([[3.0], [1.0], [2.0]], [6.0, 2.0, 4.0]))
    s.network.bank.value[:] = [2.0, 0.0]
    graph = exhibit_of(s)
    assert isinstance(graph, FunctionPlot)
    assert (graph.low, graph.high) == (1.0, 3.0)
    np.testing.assert_allclose(graph.outputs, np.linspace(2.0, 6.0, len(graph.outputs)), rtol=1e-6)
    assert graph.points.tolist() == [[3.0, 6.0], [1.0, 2.0], [2.0, 4.0]]


@pytest.mark.parametrize("transform", ["identity", "zoom", "flip"])
def test_a_texture_gives_target_output_and_loss(transform: str) -> None:
    picture = np.random.default_rng(0).random((10, 200, 3))
    s = session([2, 3], data.Texture(picture, transform=transform), batch=4)
    pictures = exhibit_of(s)
    assert isinstance(pictures, Pictures)
    target, output, loss = pictures.pictures.values()
    assert target.shape == output.shape == loss.shape == (2, 50, 3)
    points, colors = s.data.pixels()
    row = 2 * 200 + 4 * 7 + 2  # of every four rows and columns the third is taken
    assert target[0, 7].tolist() == colors[row].tolist()
    np.testing.assert_allclose(output[0, 7], s.network(points[row]), rtol=1e-6)
    wanted = np.clip((output - target) * 0.5 * 10 + 0.5, 0.0, 1.0)
    np.testing.assert_allclose(loss, wanted, atol=1e-6)
    assert pictures.words() == ["PSNR " + pictures.said.split("PSNR ")[1]]


def test_a_fine_texture_has_every_pixel_evaluated_in_portions() -> None:
    picture = np.random.default_rng(0).random((60, 90, 3))
    s = session([2, 3], data.Texture(picture), batch=4)
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
    target, output, _ = [each.reshape(-1, 3) for each in pictures.pictures.values()]
    np.testing.assert_array_equal(target, colors)
    np.testing.assert_allclose(output, s.network(points), rtol=1e-6)
    assert len(exhibit_of(s, ask).pictures["target"]) == 30  # type: ignore[union-attr]  # it is there


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
    plane = exhibit_of(session([2, 1], data.Circle(scale=5.0)))
    assert isinstance(plane, Plane)
    assert plane.names == ("x", "y") and (plane.low, plane.high) == ((-6.0, -6.0), (6.0, 6.0))
    assert len(plane.outputs) == len(plane.points)
    inputs = np.array([[0.0, 7.0, 2.0], [0.0, 8.0, 3.0], [0.0, 9.0, 1.0]])
    s = session([3, 1], (inputs, np.array([[0.0], [1.0], [2.0]])))
    s.network.bank.value[:] = [0.0, 1.0, 0.0, 0.0]
    plane = exhibit_of(s)
    assert isinstance(plane, Plane)
    assert plane.names == ("x2", "x3") and plane.axes == (1, 2) and not len(plane.outputs)
    marked = plane.marked(np.array([0.0, plane.low[0], plane.high[1]]))
    assert marked.focus is not None and marked.focus.tolist() == [0.0, 1.0]


def test_what_has_many_inputs_is_not_drawn() -> None:
    many = np.random.default_rng(0).random((5, 4)), np.zeros((5, 1))
    assert exhibit_of(session([4, 1], many)) is None


def test_data_that_a_function_makes_is_drawn_too() -> None:
    made = data.Generated(
        lambda step, batch, seed: (np.linspace(0, 1, batch)[:, np.newaxis], np.ones((batch, 1))),
        inputs=1,
        outputs=1,
    )
    assert isinstance(exhibit_of(session([1, 1], made, batch=6)), FunctionPlot)


def test_the_loss_of_what_is_held_out() -> None:
    s = session([2, 1], data.Moons(samples=40))
    inputs, targets = s.data.held_out
    assert held_out_loss(s) == pytest.approx(np.mean((s.network(inputs) - targets) ** 2))
    assert held_out_loss(session([2, 1], data.Xor())) is None
