"""The layout of a session's network: its names."""

from dataclasses import replace

import numpy as np

import scalarviz as sv
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.labels import draw_ends, margin_of, obstacles
from scalarviz.stage.network_layout import layout_of
from scalarviz.story.names import names_of
from tests.pictures.view.measures import Words, projection, stage_of


def test_parameters_of_an_expression_stand_in_the_order_of_its_formula() -> None:
    height, damping, speed, phase = (sv.Value(1.0, label=name) for name in "hdsp")
    made = sv.compile(lambda x: height * (-damping * x).exp() * (speed * x + phase).sin(), inputs=1)
    layout = layout_of(sv.Session(made, ([[0.0], [1.0]], [[0.0], [1.0]])))
    names = [each for each in layout.written if each.least > 0.0]
    assert [name.words for name in names] == ["h", "d", "s", "p"]
    for plate, name in zip(layout.plates, names, strict=True):
        assert made.name_of(plate.first) == name.words
        assert np.allclose(plate.point(0.5, 0.5)[0], name.middle[0])


def test_names_of_neurons_show_their_control_characters() -> None:
    names = ["\x1b[31mred", "a\nb"]
    known = sv.data.Arrays([[1.0, 2.0]], [[1.0]], input_names=names)
    (shown,) = names_of(sv.Session(sv.Network([2, 1]), known)).values()
    assert all(name.isprintable() for name in shown) and "red" in shown[0]


def test_a_network_without_walls_says_which_line_is_the_input_and_which_the_output() -> None:
    session = sv.Session(sv.Network([sv.LayerNorm(4), sv.Softmax(4)]), (np.eye(4), np.eye(4)))
    stage = stage_of(session, (1280, 800))
    see, canvas = projection(stage), Words(1280, 800)
    data = stage.frame_data()
    draw_ends(canvas, see, data, obstacles(see, data, 1.0), THEMES["dark"], 1.0)
    assert [words for words, _ in canvas.found] == ["IN", "OUT"]


def test_in_and_out_are_not_cut_where_spheres_are_near_the_edge() -> None:
    samples = np.zeros((4, 3)), np.zeros((4, 3))
    stage = stage_of(sv.Session(sv.Network([3, 8, 3]), samples), (800, 500))
    middle, data = projection(stage), stage.frame_data()
    outputs = data.layout.neurons[-1]
    for up in np.linspace(0.0, 0.4, 401):
        see = replace(middle, camera=middle.camera.moved(0.0, -up))
        seen = see(outputs.points)
        top = float((seen.xy[:, 1] - outputs.radius * seen.unit).min())
        if top < see.box.y - margin_of(data, see) + 17.0:  # no room for the word above it
            break
        canvas = Words(800, 500)
        draw_ends(canvas, see, data, obstacles(see, data, 1.0), THEMES["dark"], 1.0)
        assert "OUT" in [words for words, _ in canvas.found], top
    else:
        raise AssertionError("the spheres never came near the edge")
