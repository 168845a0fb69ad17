"""The marks of a crossbar: numbers close as printed, words do not overlap, lanes follow."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.crossbar_ink import layer_numbers, lit_colors
from scalarviz.scene.crossbar_marks import DARK, Mark, crossbar_marks, light_on
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.stage.pointing import target_at
from tests.scene.measures import (
    at_each_operation,
    flat_of,
    played,
    projection,
    stage_of,
    trained,
)

SCENES = ["rgb", "xor", "xnor", "circle", "micrograd"]
SIZES = [(1280, 800), (800, 500), (390, 844), (844, 390), (3840, 2160)]
NUMBER = re.compile(r"−?\d*\.?\d+")


def value_of(said: str) -> float:
    return float(said.replace("−", "-"))


def decimals_of(said: str) -> int:
    return len(said.partition(".")[2])


def marks_of(stage: Any) -> list[Mark]:
    """The marks over the bars of a picture."""
    data = stage.frame_data()
    plate, placed = data.layout.plates[0], data.layout.crossbar
    unit = 2.0 * plate.half / PIXEL / float(data.cubes.size_scales[0])
    layers = layer_numbers(data)
    return crossbar_marks(placed, layers, plate.wide / PIXEL, unit, [], placed.lanes)


def lanes_in(stage: Any) -> list[tuple[list[tuple[str, str]], str]]:
    """For each lane, each weight and the product beside it, as printed, and the sum."""
    placed, found = stage.frame_data().layout.crossbar, []
    layers = layer_numbers(stage.frame_data())
    marks = [each for each in marks_of(stage) if each.kind == "words"]
    for lane in placed.lanes:
        layer = layers[lane.layer]
        rows = layer.rows[lane.neuron]
        terms = [[each.words for each in marks if each.row == row] for row in rows]
        sums = [each.words for each in marks if each.neuron == (layer.buffer, lane.neuron)]
        found.append((terms, sums[0]))
    return found


@pytest.mark.parametrize("name", SCENES)
def test_printed_products_equal_their_printed_factors_and_the_sum_its_products(name: str) -> None:
    show = played(name, 0)
    checked = 0
    for _ in range(50):
        show.session.advance(4)
        stage = stage_of(show, (1280, 800))
        across = [each.across for each in stage.frame_data().layout.crossbar.boards]
        lanes = stage.frame_data().layout.crossbar.lanes
        for (terms, total), lane in zip(lanes_in(stage), lanes, strict=True):
            added = 0.0
            for said in terms:
                weight, rest = said
                numbers = NUMBER.findall(rest)
                product = 0.0 if "silent" in rest else value_of(numbers[-1].replace("+ ", ""))
                if across[lane.layer] and len(numbers) == 2 and "silent" not in rest:
                    exact = value_of(weight) * value_of(numbers[0])
                    places = decimals_of(numbers[-1])
                    assert abs(exact - product) <= 0.5 * 10.0**-places + 1e-9, said
                added += product
                checked += 1
            said_sum = value_of(NUMBER.findall(total)[0])
            assert added == pytest.approx(said_sum, abs=1e-9), (terms, total)
    assert checked >= 300


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SCENES)
def test_words_do_not_overlap(name: str, size: tuple[int, int]) -> None:
    found = []
    flat = flat_of(stage_of(trained(name), size))
    boxes = [(each.words, each.box) for each in flat.written if each.words.strip()]
    for i, (words, box) in enumerate(boxes):
        for other, beside in boxes[i + 1 :]:
            wide = min(box.right, beside.right) - max(box.x, beside.x)
            high = min(box.bottom, beside.bottom) - max(box.y, beside.y)
            if wide > 1.0 and high > 2.5 * flat.scale:
                found.append((words, other))
    assert not found


def test_the_lane_follows_the_explained_neuron() -> None:
    stages = at_each_operation(played("rgb", 89), (1280, 800))
    for stage in stages:
        data = stage.frame_data()
        caption, crossbar = data.told, data.layout.crossbar
        if caption is None or len(caption.neurons) != 1 or caption.rows:
            continue
        layer = [each.buffers for each in data.layout.neurons[1:]]
        name, place = caption.neurons[0]
        number = next(i for i, each in enumerate(layer) if name in each)
        assert (number, place) in [(each.layer, each.neuron) for each in crossbar.lanes]


def test_a_pinned_neuron_has_the_lane_of_its_layer() -> None:
    show = trained("rgb")
    stage = stage_of(show, (1280, 800))
    stage.pin(("tanh 0", 5))
    stage.frame_data()
    assert [each.neuron for each in stage.frame_data().layout.crossbar.lanes] == [5, 2]
    stage.pin(None)
    stage.frame_data()
    assert [each.neuron for each in stage.frame_data().layout.crossbar.lanes] == [0, 2]


def test_a_bar_is_as_bright_as_its_product() -> None:
    data = stage_of(trained("rgb"), (1280, 800)).frame_data()
    colors, scale = lit_colors(data), float(data.cubes.color_scales[0])
    for layer in layer_numbers(data):
        lights = light_on(layer)
        products = np.abs(np.array(layer.weights) * np.array([*layer.comes, 1.0]))
        largest = np.unravel_index(products.argmax(), products.shape)
        assert np.max(lights) == pytest.approx(1.0) == lights[largest[0]][largest[1]]
        assert np.min(lights) >= DARK
        for weights, rows, own in zip(layer.weights, layer.rows, lights, strict=True):
            for weight, row, light in zip(weights, rows, own, strict=True):
                shown = math.copysign(scale * light, weight) if abs(weight) >= 0.005 else 0.0
                assert colors[row] == pytest.approx(shown)


def test_unknown_numbers_leave_lines_grey_and_bars_lit() -> None:
    stage = next(at_each_operation(played("rgb", 5), (1280, 800)))  # zero_grad: nothing is known
    layers = layer_numbers(stage.frame_data())
    assert all(math.isnan(each) for each in layers[1].comes)
    assert {light for row in light_on(layers[1]) for light in row} <= {1.0} | {
        light for row in light_on(layers[1])[:] for light in row[-1:]
    }


def test_half_a_cell_belongs_to_a_small_bar() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    data, see = stage.frame_data(), projection(stage)
    plates = [each for each in data.layout.plates if each.size > 1]
    for plate in plates:
        row, column, index = (each[0] for each in plate.cells())
        x, y = see(plate.point(column + 0.5, row + 0.5)[np.newaxis]).xy[0]
        pixel = see.box.height / see.camera.height * PIXEL
        for aside in (0.0, 10.0 * pixel):
            assert target_at(data, see, x + aside, y).row == index


def test_each_bar_is_found_in_its_middle() -> None:
    stage = stage_of(trained("circle"), (1280, 800))
    data, see = stage.frame_data(), projection(stage)
    tops = data.cubes.size_scales
    for number, plate in enumerate(data.layout.plates):
        for row, column, index in zip(*plate.cells(), strict=True):
            half = float(plate.halves(data.cubes.sizes[index], float(tops[number])))
            middle = plate.middle(int(row), int(column), half) + plate.deep * plate.toward
            x, y = see(middle[np.newaxis]).xy[0]
            assert target_at(data, see, x, y).row == index
