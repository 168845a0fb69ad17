"""A network's drawing: a disc for each neuron, a line for each weight, and the table below."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch
from scalarviz.core.model.program import Program
from scalarviz.pictures.displays.network import ABOVE, BELOW
from scalarviz.pictures.draw2d.colors import MAPS
from tests.pictures.displays.drawn import Drawn, cells_of


class Twice(sv.Layer):
    """A user's layer: each number times two, then times a weight. It tells its operations."""

    def __init__(self, features: int) -> None:
        super().__init__(features, features)
        self.size = features

    def initialize(self, init: Init, seed: int) -> None:
        self.bank.value[self.rows] = 0.5

    def row_name(self, row: int) -> str:
        return f"factor {row}"

    def weight(self, row: int) -> sv.Weight:
        return sv.Weight.on(self.bank, self.first_row + row)

    def made_parts(self) -> list[sv.Weight]:
        return []

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def lower(self, program: Program) -> None:
        program.add("scale", size=self.outputs, weights=self.first_row)

    def forward_rows(self, batch: Batch) -> Batch:
        return batch

    def backward_rows(self, upstream: Batch) -> Batch:
        return upstream

    def evaluate_rows(self, batch: Batch) -> Batch:
        return batch


class Block(Twice):
    """A user's layer with two steps inside."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__(features)
        self.width = width

    def lower(self, program: Program) -> None:
        program.add("affine", size=self.width, weights=self.first_row)
        program.add("affine", size=self.outputs, weights=self.first_row)


def draw(network: sv.Network) -> Drawn:
    return Drawn(network._repr_html_())


def test_every_neuron_is_a_disc_and_every_weight_a_line() -> None:
    drawn = draw(sv.Network([3, 8, 3], "tanh", "sigmoid"))
    assert len(drawn.all("circle", "neuron")) == 3 + 8 + 3
    assert len(drawn.all("path", "weight")) == 3 * 8 + 8 * 3


def test_a_line_leads_from_its_input_to_its_perceptron() -> None:
    net = sv.Network([2, 3])
    net.bank.value[:] = 0.0
    net.layers[0].perceptrons[2].weights[0].value = -1.0
    drawn = draw(net)
    discs = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in drawn.all("circle", "neuron")]
    (line,) = [each for each in drawn.all("path", "weight") if each.attrib["stroke"] == BELOW]
    ends = [tuple(map(float, end.split())) for end in line.attrib["d"][1:].split("L")]
    assert ends == [pytest.approx(discs[0], abs=0.1), pytest.approx(discs[2 + 2], abs=0.1)]


def test_the_two_hues_are_those_of_the_view() -> None:
    assert (MAPS["light"].negative, MAPS["light"].positive) == (BELOW, ABOVE)


def test_a_wide_layer_is_shortened_and_says_its_true_size() -> None:
    drawn = draw(sv.Network([784, 128, 10], "relu"))
    assert len(drawn.all("circle", "neuron")) == 9 + 9 + 10
    assert len(drawn.all("path", "weight")) == 9 * 9 + 9 * 10
    assert {"784", "128", "10"} <= set(drawn.texts)
    dots = [c for c in drawn.all("circle") if c.attrib.get("class") is None]
    assert len(dots) == 2 * 3


@pytest.mark.parametrize(
    "sizes", [[1, 1], [2, 2, 1], [3, 8, 3], [12, 64, 64, 64, 64, 3], [784, 128, 10], [13] * 12]
)
def test_no_disc_lies_on_another(sizes: list[int]) -> None:
    drawn = draw(sv.Network(sizes))
    discs = [
        (float(c.attrib["cx"]), float(c.attrib["cy"]), float(c.attrib["r"]))
        for c in drawn.all("circle")
    ]
    for (x, y, r), (a, b, s) in combinations(discs, 2):
        assert (x - a) ** 2 + (y - b) ** 2 > (r + s) ** 2
    assert all(r <= x <= drawn.width and r <= y <= drawn.height for x, y, r in discs)
    assert drawn.height < 500


def test_columns_of_a_deep_network_stand_closer() -> None:
    few, many = (Drawn(sv.Network([3] * n)._repr_html_()).width for n in (3, 12))
    assert few / 3 > many / 12 and many < 1100


def test_a_weight_of_your_own_that_several_numbers_share_is_no_line() -> None:
    class Pairs(Twice):
        def lower(self, program: Program) -> None:
            program.add("scale", size=self.outputs, weights=self.first_row, settings=(2.0,))

    drawn = draw(sv.Network([Pairs(4)]))
    assert drawn.all("path", "band") and not drawn.all("path", "weight")


def test_networks_of_every_kind_of_layer_are_drawn_and_told() -> None:
    shape = (2, 4, 4)
    residual = sv.Residual(sv.Conv2d(shape, 2, padding=1), sv.BatchNorm(shape))
    layers = [residual, sv.Activation(shape, "relu"), sv.Dropout(shape, 0.2), sv.Flatten(shape)]
    net = sv.Network([sv.Reshape(32, shape), *layers, sv.Dense(32, 3), sv.Softmax(3)])
    drawn, listed = draw(net), repr(net.program)
    assert "Residual" in drawn.texts and "relu" in drawn.texts
    for words in ("convolution 1.0", "batch_norm 1.1", "sum 1", "dropout 3"):
        assert words in listed


@pytest.mark.parametrize("width", [3, 9])
def test_a_layer_with_several_steps_inside_is_a_shadow(width: int) -> None:
    net = sv.Network([sv.Dense(2, 3), sv.Dense(3, 3)])
    vars(net)["layers"] = (net.layers[0], Block(3, width))
    del net.program
    drawn = draw(net)
    assert len(drawn.all("path", "weight")) == 6 and len(drawn.all("path", "band")) == 1


def test_the_table_says_kind_shape_activation_and_parameters() -> None:
    shared = sv.Dense(4, 4, "tanh")
    net = sv.Network([sv.Dense(2000, 4), shared, shared])
    assert cells_of(net._repr_html_()) == [
        ["layer", "kind", "shape", "activation", "parameters"],
        ["0", "Dense", "2,000 → 4", "linear", "8,004"],
        ["1", "Dense", "4 → 4", "tanh", "20"],
        ["2", "Dense", "4 → 4", "tanh", "shared with layer 1"],
    ]


def test_a_number_that_is_not_finite_is_seen() -> None:
    net = sv.Network([2, 2])
    net.bank.value[:] = [np.nan, np.inf, -np.inf, 1.0, 0.0, 0.0]
    colors = [line.attrib["stroke"] for line in draw(net).all("path", "weight")]
    assert sorted(colors) == sorted(["#ff00ff", ABOVE, BELOW, ABOVE])


def test_looking_changes_nothing() -> None:
    net = sv.Network([2, 3, 1])
    net.forward([1.0, 2.0])
    before = net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]
    draw(net)
    assert (net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]) == before


def test_text_can_be_read() -> None:
    assert min(draw(sv.Network([784, 128, 10])).sizes()) >= 11
