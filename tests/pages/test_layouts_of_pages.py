"""A page makes the layouts of chains of dense layers that Python makes, for any stage."""

from __future__ import annotations

import base64
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.scene_data import layout_data
from scalarviz.stage.network_layout import layout_of
from tests.pages.node import floats, in_web

FEATURES = "x y x2 y2 xy sinx siny".split()
ACTIVATIONS = "tanh relu sigmoid linear leaky_relu sin".split()
BODY = "return data.asked.map(({ facts, shape, tied }) => layoutOf(facts, shape, tied));"


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
    layers = [sv.Dense(*each, str(random.choice(ACTIVATIONS))) for each in pairs]
    return sv.Session(sv.Network(layers), data, "mse", sv.SGD(0.1), engine="python")


def compare(found: Any, wanted: Any, where: str) -> None:
    """Assert that a part of a layout of a page is that of Python."""
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
    sessions = [drawn(random) for _ in range(count)] + [rgb()]
    shapes = np.exp(random.uniform(np.log(0.3), np.log(6.0), len(sessions))).tolist()
    asked = [
        {"facts": caption_data(each), "shape": shape, "tied": bool(each.data.output_tint)}
        for each, shape in zip(sessions, shapes, strict=True)
    ]
    made = in_web("layout_maker", BODY, asked=asked)
    for session, shape, found in zip(sessions, shapes, made, strict=True):
        where = f"{session.network.program.operations} at {shape}:"
        compare(found, layout_data(layout_of(session, shape, walks=True)), where)


def rgb() -> sv.Session:
    network = sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(network, sv.data.Rgb("invert"), "mse", sv.SGD(0.5), engine="python")
