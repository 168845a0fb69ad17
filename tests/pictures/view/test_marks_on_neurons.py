"""What is marked on neurons: saturated ones are hatched, dropped ones are crossed out."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from scalarviz.scene.canvas import canvas2d
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import Buffers, CubeValues, FrameData
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.neurons import draw_neurons, write_names
from tests.pictures.view.measures import Words

LINE = Neurons(np.array([[-2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]), "sums", "values")
NOTHING = np.zeros(0)
SEE = Projection(Camera(height=8.0, fov=0.0), Box(0.0, 0.0, 400.0, 400.0), 400.0, 400.0)


def shapes(buffers: Buffers) -> np.ndarray:
    """The rows of what is drawn, one for each shape."""
    cubes = CubeValues(NOTHING, NOTHING, "value", "value", NOTHING, NOTHING)
    frame_data = FrameData(Layout((), [LINE], (), ()), cubes, buffers)
    canvas = Canvas2D(400.0, 400.0)
    draw_neurons(canvas, SEE, LINE, 1.0, frame_data, THEMES["dark"], 1.0)
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
    plain = shapes(Buffers(values))
    crossed = shapes(Buffers(values, left_out={"values": np.array([0.0, 1.0, 0.0])}))
    assert len(crossed) > len(plain)


@pytest.mark.parametrize(
    ("apart", "shown"),
    [
        (120.0, ["petal length", "petal width"]),
        (75.0, ["petal\nlength", "petal\nwidth"]),
        (30.0, ["p...", "p..."]),
        (20.0, []),
    ],
)
def test_names_that_would_meet_are_in_two_lines(apart: float, shown: list[str]) -> None:
    canvas = Canvas2D(200, 100)
    xy = np.array([[20.0, 30.0], [20.0 + apart, 30.0]])
    line = replace(LINE, names=("petal length", "petal width"))
    radius, depth, good = np.full(2, 9.0), np.zeros(2), np.ones(2, bool)
    write_names(canvas, xy, radius, depth, good, line, THEMES["dark"], 1.0, 0.0)
    assert canvas.words == shown


@pytest.mark.parametrize("apart", [60.0, 100.0])
def test_names_side_by_side_do_not_meet(apart: float) -> None:
    canvas = Words(400, 200)
    xy = np.array([[20.0 + apart * i, 30.0] for i in range(4)])
    names = "sepal length", "a", "petal length or so", "petal width"
    line = replace(LINE, names=names, points=np.zeros((4, 3)))
    look = np.full(4, 9.0), np.zeros(4), np.ones(4, bool)
    write_names(canvas, xy, *look, line, THEMES["dark"], 1.0, 0.0)
    boxes = [
        replace(box, height=box.height + 18.0 * words.count("\n")) for words, box in canvas.found
    ]
    assert len(boxes) == 4 and all("\n" in each or len(each) <= 14 for each in canvas.words)
    assert not any(a.meets(b) for a, b in itertools.combinations(boxes, 2))
