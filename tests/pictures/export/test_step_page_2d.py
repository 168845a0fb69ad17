"""A step without OpenGL: discs and lines in the colours of the numbers of each moment."""

import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.pictures.displays.network import BELOW
from scalarviz.pictures.export.step_page_2d import plain_drawing, plain_story
from scalarviz.pictures.presenter.show import Show
from tests.sessions import inverting

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def session() -> sv.Session:
    return inverting()


def drawn(session: sv.Session) -> list[ElementTree.Element]:
    """The drawing after each moment of the next step."""
    found = []
    for moment in session.trainer.moments:
        session.advance(1, "operation")
        found.append(ElementTree.fromstring(plain_drawing(session, moment).card()))
    return found


def discs(drawing: ElementTree.Element) -> list[str]:
    return [each.get("fill", "") for each in drawing.iter(f"{SVG}circle")]


def lines(drawing: ElementTree.Element) -> list[tuple[str, str]]:
    paths = [each for each in drawing.iter(f"{SVG}path") if each.get("class") == "weight"]
    return [(each.get("stroke", ""), each.get("d", "")) for each in paths]


def test_every_moment_has_its_discs_and_lines(session: sv.Session) -> None:
    found = drawn(session)
    assert len(found) == 12
    assert {len(discs(each)) for each in found} == {10}
    assert {len(lines(each)) for each in found} == {24}


def test_a_channel_is_a_picture_as_soon_as_its_numbers_are_there() -> None:
    conv = sv.Conv2d((1, 4, 4), 3, padding=1, activation="tanh")
    net = sv.Network([conv, sv.MaxPool2d((3, 4, 4)), sv.Dense(12, 2)], seed=0)
    rng = np.random.default_rng(0)
    pairs = rng.normal(size=(4, 16)), rng.normal(size=(4, 2))
    found = drawn(sv.Session(net, pairs, "mse", sv.SGD(0.1), batch=4, engine="python"))
    frames = [each.get("class") == "picture" for each in found[0].iter(f"{SVG}rect")]
    assert sum(frames) == 7 and len(discs(found[0])) == 2
    shown = [len(list(each.iter(f"{SVG}image"))) for each in found[:5]]
    assert shown == [1, 1, 4, 7, 7]  # the inputs, the sums, tanh, the pool, the outputs


def test_on_the_way_back_lines_are_gradients(session: sv.Session) -> None:
    session.advance(1)
    moments = session.trainer.moments
    found = {each.name: drawing for each, drawing in zip(moments, drawn(session), strict=True)}
    for name, numbers in (
        ("weight gradient 0", session.network.bank.grad),
        ("affine 0", session.network.bank.value),
    ):
        below = sum(color == BELOW for color, _ in lines(found[name]))
        assert below == (numbers[:12] < 0).sum()
    assert (session.network.bank.grad[:12] < 0).sum() != (session.network.bank.value[:12] < 0).sum()


class AsItIs(sv.Layer):
    """A layer that hands on what it is given."""

    def __init__(self, inputs: int) -> None:
        super().__init__(inputs, inputs)

    def evaluate_rows(self, batch: Any) -> Any:
        return batch

    def forward_rows(self, batch: Any) -> Any:
        return batch

    def backward_rows(self, upstream: Any) -> Any:
        return upstream

    def lower(self, program: Any) -> None:
        pass

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs}


def test_a_layer_that_does_nothing_shows_the_numbers_before_it() -> None:
    layers = [AsItIs(3), sv.Dense(3, 4, "tanh"), AsItIs(4), sv.Dense(4, 3)]
    session = sv.Session(sv.Network(layers, seed=0), data.Rgb("invert"), batch=8, engine="python")
    found = discs(drawn(session)[3])
    assert found[:3] == found[3:6]
    assert found[6:10] == found[10:14]
    assert found[3:6] != found[6:9]


def test_the_page_has_every_moment_and_the_session_stays(session: sv.Session) -> None:
    session.advance(2)
    page = plain_story(Show(session, title="a <title>"), "dark")
    assert len(re.findall("<figcaption>", page)) == 12
    assert "a &lt;title&gt;" in page
    assert session.step_index == 2
    assert session.clock.operation == 0
