"""A page makes the layouts of chains of dense layers that Python makes, for any stage."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.scene_data import layout_data, scene_data
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.stage.network_layout import HIGH, layout_of, room_of, shape_of
from tests.pages.node import floats, in_web

FEATURES = "x y x2 y2 xy sinx siny".split()
ACTIVATIONS = "tanh relu sigmoid linear leaky_relu sin".split()
BODY = """
return data.asked.map(({ facts, room, tied, followed }) => {
  const made = layoutOf(facts, room, tied, !facts.tint, new Dict(followed));
  const { neurons, fans } = new Layout(made);
  return [made, neurons.map(({ count }) => count), fans.map(({ units }) => units)];
});"""


def drawn(random: np.random.Generator) -> sv.Session:
    """Return a session of random settings of the playground, some on a table of classes."""
    hidden = random.integers(1, 13, random.integers(0, 6)).tolist()
    if random.random() < 0.2:
        inputs, classes = (int(random.integers(2, most)) for most in (21, 11))
        data: Any = sv.data.Arrays(np.zeros((20, inputs)), np.zeros((20, classes)))
    else:
        features = [each for each in FEATURES if random.random() < 0.5] or ["x"]
        data = sv.data.Circle(features=",".join(features))
    pairs = pairwise([data.inputs, *hidden, data.outputs])
    layers = [
        sv.Dense(*each, str(random.choice(ACTIVATIONS)), bias=bool(random.random() < 0.8))
        for each in pairs
    ]
    return sv.Session(sv.Network(layers), data, "mse", sv.SGD(0.1), engine="python")


def compare(found: Any, wanted: Any, where: str) -> None:
    """Assert that a part of a layout made by a page equals the part made by Python."""
    if isinstance(wanted, dict) and "dtype" in wanted:
        numbers = np.frombuffer(base64.b64decode(wanted["data"]), np.float32)
        np.testing.assert_allclose(floats(found), numbers, rtol=2e-7, atol=1e-9, err_msg=where)
    elif isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for name, each in wanted.items():
            compare(found[name], each, f"{where} {name}")
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), where
        for place, each in enumerate(wanted):
            compare(found[place], each, f"{where} {place}")
    elif isinstance(wanted, float):
        assert abs(found - wanted) <= 1e-9, f"{where}: {found}, not {wanted}"
    else:
        assert found == wanted, f"{where}: {found}, not {wanted}"


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_page_makes_the_layout_of_a_window(count: int) -> None:
    random = np.random.default_rng(count)
    strips = sv.Session(sv.Network([2, 12, 12, 1]), sv.data.Circle(), engine="python")
    sessions = [drawn(random) for _ in range(count)] + [rgb(), strips]
    shapes = np.exp(random.uniform(np.log(0.3), np.log(6.0), len(sessions))).tolist()
    followed = [
        {0: session.network.program.operations[0].shape[0] - 1} if place % 2 else {}
        for place, session in enumerate(sessions)
    ]
    asked = [
        {
            "facts": caption_data(each),
            "room": (shape * HIGH, HIGH),
            "tied": bool(each.data.output_tint),
            "followed": [*lanes.items()],
        }
        for each, shape, lanes in zip(sessions, shapes, followed, strict=True)
    ]
    made = in_web("layout layout_maker python", BODY, asked=asked)
    for session, shape, lanes, (found, counts, units) in zip(
        sessions, shapes, followed, made, strict=True
    ):
        layout = layout_of(session, shape, walks=True, followed=lanes)
        compare(found, layout_data(layout), f"{session.network.program.operations} at {shape}:")
        assert counts == [each.count for each in layout.neurons]
        assert units == [each.units for each in layout.fans]


def rgb() -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(network, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), engine="python")


PLACED = """
const layoutAt = (room, followed) => layoutOf(data.facts, room, true, false, followed);
const canvas = { addEventListener: () => null, getContext: () => null };
const picture = new Picture(canvas, { ...data.scene, layouts: [], shapes: [], layoutAt });
Object.assign(picture, { eyes: { follow: () => null }, layThread: () => null });
const [first] = [picture.layouts.length];
return data.sizes.map(([width, height]) => {
  picture.place({ width, height }, data.scale, false);
  return [picture.laid.plates[0].origin[0], picture.layouts.length - first];
});"""


def test_a_picture_makes_a_layout_once_for_each_stage() -> None:
    session = rgb()
    given = {"facts": caption_data(session), "scene": scene_data(session)}
    scale, asked = 1.25, [(960.0, 512.0), (961.0, 512.0), (400.0, 512.0), (480.0, 256.0)]
    asked.append(asked[0])
    found = in_web("picture layout_maker", PLACED, sizes=asked, scale=scale, **given)
    assert [count for _, count in found] == [1, 1, 2, 3, 3]
    wanted = []
    for width, height in asked:
        box = Box(0.0, 0.0, width, height)
        room = room_of(Division(*[box] * 8, scale))
        layout = layout_of(session, shape_of(box), walks=True, room=room)
        wanted.append(layout.plates[0].origin[0])
    np.testing.assert_allclose([left for left, _ in found], wanted, rtol=1e-9)
    assert wanted[0] == wanted[1] != wanted[2]


FOLLOWED = """
const layout = new Layout(unpackedAll(data.layout));
const shown = { placed: layout, laid: layout };
return [[data.first, false], [data.second, true], [data.second, false]].map(([values, playing]) => {
  shown.frame = { layout, weights: data.weights, values };
  Picture.prototype.followThread.call(shown, { playing });
  return shown.frame.thread;
});"""


def test_a_page_keeps_the_opened_strip_while_it_plays() -> None:
    session = sv.Session(sv.Network([2, 12, 12, 1], seed=0), sv.data.Circle(), engine="python")
    program = session.network.program
    buffers = program.buffers
    hidden = [each.name for each in buffers[1:-1]]
    layout = trays_layout(program, lambda label: (label, ""), {}, 1.8, squares=hidden)
    first, second = ({each.name: [*range(each.size)][::way] for each in buffers} for way in (1, -1))
    given = {"layout": layout_data(layout), "weights": [1.0] * len(session.network.bank)}
    asked = {**given, "first": first, "second": second}
    before, playing, paused = in_web("arrays picture layout", FOLLOWED, **asked)
    assert before == playing != paused and [step[0] for step in before] == [2, 1, 0]
