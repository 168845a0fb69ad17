"""The crossbar of a page equals the one of a window: marks as data, lit colors, scale."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.pages.scene_data import crossbar_data, layout_data, scene_data
from scalarviz.scene.crossbar_ink import lanes_shown, layer_numbers, lit_colors
from scalarviz.scene.crossbar_marks import (
    crossbar_frames,
    crossbar_lines,
    crossbar_marks,
    crossbar_notes,
)
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.legend import round_number
from scalarviz.scene.pace import BACK
from scalarviz.stage.channels import needed_by
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.stage import Stage
from tests.pages.node import in_web
from tests.pages.states import made, plain, state_of
from tests.scene.measures import played

# Pictures that are compared: rest, forward and backward of scenes at two sizes.
MOMENTS = {
    "rgb": (0, 2, 4, 8, 11),
    "xor": (0, 2, 7, 10),
    "circle": (0, 3, 9, 14),
    "micrograd": (0,),
}
SIZES = (1280, 800), (700, 900)
LOOK = 20.0, 31.0  # half the width of a bar, and the height of the bar of 1
MARKS = """
setTexts(data.texts);
const number = (x) => (typeof x === "string" ? Number(x) : x);
const numbers = (list) => list.map((each) => (Array.isArray(each) ? numbers(each) : number(each)));
const { crossbar: placed } = new Layout({
  ...{ plates: [], neurons: [], fans: [], views: {}, labels: [], signs: [], written: [] },
  marks: [],
  crossbar: data.placed,
});
const layers = data.layers.map((each) => {
  const { comes, weights, rows, sums, results, curve, bends, buffer, names } = each;
  const [known, all] = [[comes, weights, rows], [sums, results]].map(numbers);
  return new LayerNumbers(...known, ...all, curve, bends, buffer, names);
});
const { look, asked, pictured, lanes, backward } = data;
return [
  ...crossbar_frames(placed, layers, ...look, lanes),
  ...crossbar_lines(placed, layers, lanes, backward),
  ...crossbar_marks(placed, layers, ...look, asked, lanes),
  ...crossbar_notes(placed, layers, look[1], pictured, lanes).flat(2),
].map((mark) => ({ ...mark, value: Number.isNaN(mark.value) ? "NaN" : mark.value }));"""


def frames(name: str, size: tuple[int, int]) -> list[FrameData]:
    """Return what a window shows of a scene at rest, in forward and in backward."""
    show, found = played(name, 3, engine="cpu"), []
    for operation in MOMENTS[name]:
        done = show.session.timeline.here.clock.operation
        show.session.advance(operation - done, "operation") if operation else None
        stage = Stage(show, reduced_motion=True)
        stage.resize(*size)
        stage.unfold() if operation else None
        found.append(stage.frame_data())
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", MOMENTS)
def test_the_marks_of_a_page_are_those_of_a_window(name: str, size: tuple[int, int]) -> None:
    kinds = set()
    for seen in frames(name, size):
        placed, layers = seen.layout.crossbar, layer_numbers(seen)
        assert placed is not None
        lanes, asked, pictured = lanes_shown(seen, placed), layers[0].rows[0][:2], ["x", "y"]
        backward, (wide, unit) = seen.moment is not None and seen.moment.kind in BACK, LOOK
        notes = crossbar_notes(placed, layers, unit, pictured, lanes)
        ours = [
            *crossbar_frames(placed, layers, wide, unit, lanes),
            *crossbar_lines(placed, layers, lanes, backward=backward),
            *crossbar_marks(placed, layers, wide, unit, asked, lanes),
            *[mark for note in notes for words in note for mark in words],
        ]
        theirs = in_web(
            "layout story/crossbar_marks texts",
            MARKS,
            placed=crossbar_data(placed),
            layers=[plain(asdict(each)) for each in layers],
            look=LOOK,
            lanes=[asdict(each) for each in lanes],
            asked=asked,
            pictured=pictured,
            backward=backward,
            texts=dict(texts()),
        )
        assert len(theirs) == len(ours) > 30
        for mark, found in zip(ours, theirs, strict=True):
            wanted = asdict(mark)
            np.testing.assert_allclose(found.pop("points"), wanted.pop("points"), atol=1e-9)
            value, number = float(found.pop("value")), wanted.pop("value")
            assert value == pytest.approx(number, nan_ok=True)
            found["neuron"] = found["neuron"] and tuple(found["neuron"])
            assert found == {**wanted, "bends": [*mark.bends]}
        kinds |= {each.kind for each in ours}
    assert kinds >= {"line", "arrow", "words", "token", "dots"}


LIT = """
const scene = unpackedAll(data.scene);
const layout = new Layout(unpackedAll(data.layout));
const scales = new Scales();
const state = unpackedAll(data.state);
scales.take(state, ["value", "value"], 0, layout.plates);
const frame = frameOf(scene, layout, state, { part: data.part }, scales, 0);
const unit = (2 * layout.plates[0].half) / data.pixel / frame.cubes.size_scales[0];
return [[...lit_colors(frame)], frame.cubes.size_scales[0], round_number(17 / unit)];"""


@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
def test_bars_of_a_page_are_as_bright_as_in_a_window(name: str) -> None:
    show = played(name, 3, engine="cpu")
    for operation in MOMENTS[name]:
        done = show.session.timeline.here.clock.operation
        show.session.advance(operation - done, "operation") if operation else None
        stage = Stage(show, reduced_motion=True)
        stage.frame_data()
        seen = stage.frame_data()
        found, scale, number = in_web(
            "arrays layout scales frame_data story/crossbar_ink story/legend",
            LIT,
            scene=scene_data(show, [1.0]),
            layout=layout_data(seen.layout),
            state=state_of(stage, seen),
            part=seen.part,
            pixel=PIXEL,
        )
        wanted = lit_colors(seen)
        assert [row for row, _ in found] == [*wanted]
        np.testing.assert_allclose([color for _, color in found], [*wanted.values()], rtol=1e-6)
        assert scale == seen.cubes.size_scales[0]
        plate = seen.layout.plates[0]
        assert number == round_number(17.0 * scale * PIXEL / (2.0 * plate.half))


def test_the_scale_of_bars_is_that_of_a_window() -> None:
    random = np.random.default_rng(4)
    for sizes in ((2, 3, 1), (3, 8, 3), (1, 1), (4, 5, 6, 2)):
        session = made(*sizes)
        plates = layout_of(session).plates
        numbers = random.normal(size=len(session.network.bank))
        numbers[0] = math.nan
        wanted = needed_by(plates, [-1] * len(plates), numbers)[-1]
        body = """
        const { plates } = new Layout(unpackedAll(data.layout));
        return neededBy(plates, data.numbers.map(Number));"""
        given: dict[str, Any] = {"layout": layout_data(layout_of(session))}
        found = in_web("arrays layout scales", body, numbers=plain(numbers), **given)
        assert found == pytest.approx(wanted, rel=1e-6)


def test_a_page_makes_its_crossbar_and_has_other_layouts_in_itself() -> None:
    chain = scene_data(made(2, 3, 1))
    assert chain["chain"] == {"tied": False, "square": True} and len(chain["layouts"]) == 1
    inputs = np.zeros((4, 3))
    layers = [sv.Dense(3, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 3)]
    other = scene_data(sv.Session(sv.Network(layers), (inputs, inputs), engine="python"))
    assert other["chain"] is None and len(other["layouts"]) > 9
