"""A network's drawing: a disc for each neuron, a line for each weight, and the table below."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch
from scalarviz.core.model.program import Program
from scalarviz.pictures.displays.network import ABOVE, BELOW, THICK
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


def test_hue_is_the_sign_and_thickness_the_size() -> None:
    net = sv.Network([4, 1])
    net.bank.value[:4] = [-1.0, -0.5, 0.0, 1.0]
    lines = draw(net).all("path", "weight")  # the large ones last, so that they lie on top
    widths = [float(line.attrib["stroke-width"]) for line in lines]
    assert widths == sorted(widths) and widths[-1] == widths[-2] == THICK
    colors = [line.attrib["stroke"] for line in lines]
    assert colors[1:] == [BELOW, BELOW, ABOVE] or colors[1:] == [BELOW, ABOVE, BELOW]
    assert colors[0] not in (BELOW, ABOVE)


def test_the_two_hues_are_those_of_the_view() -> None:
    assert (MAPS["light"].negative, MAPS["light"].positive) == (BELOW, ABOVE)


def test_a_wide_layer_is_shortened_and_says_its_true_size() -> None:
    drawn = draw(sv.Network([784, 128, 10], "relu"))
    assert len(drawn.all("circle", "neuron")) == 9 + 9 + 10
    assert len(drawn.all("path", "weight")) == 9 * 9 + 9 * 10
    assert {"784", "128", "10"} <= set(drawn.texts)
    dots = [c for c in drawn.all("circle") if c.attrib.get("class") is None]
    assert len(dots) == 2 * 3


def test_lines_of_a_shortened_layer_are_those_of_its_first_and_last_neurons() -> None:
    net = sv.Network([20, 1])
    net.bank.value[:] = 0.0
    net.bank.value[19] = 1.0
    net.bank.value[10] = -1.0  # left out
    drawn = draw(net)
    (line,) = [each for each in drawn.all("path", "weight") if each.attrib["stroke"] == ABOVE]
    lowest = max(float(c.attrib["cy"]) for c in drawn.all("circle", "neuron"))
    assert float(line.attrib["d"][1:].split("L")[0].split()[1]) == pytest.approx(lowest, abs=0.1)
    assert not [each for each in drawn.all("path", "weight") if each.attrib["stroke"] == BELOW]


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


def test_layers_are_named_below_their_column() -> None:
    net = sv.Network([sv.FrequencyEncoding(2, 3), sv.Dense(12, 4, "relu"), sv.LayerNorm(4)])
    texts = draw(net).texts
    assert texts[:9] == ["2", "inputs", "12", "FrequencyEncoding", "4", "Dense", "relu", "4",
                         "LayerNorm"]  # fmt: skip


def test_what_is_no_weight_is_a_shadow_and_a_gain_goes_straight() -> None:
    drawn = draw(sv.Network([sv.FrequencyEncoding(2, 3), sv.LayerNorm(12)]))
    assert len(drawn.all("path", "band")) == 2
    lines = [line.attrib["d"][1:].split("L") for line in drawn.all("path", "weight")]
    assert len(lines) == 12
    assert all(start.split()[1] == end.split()[1] for start, end in lines)


def test_pictures_are_squares_one_a_channel_and_shared_weights_are_a_shadow() -> None:
    conv = sv.Conv2d((1, 4, 4), 3, padding=1)
    net = sv.Network([conv, sv.BatchNorm((3, 4, 4)), sv.MaxPool2d((3, 4, 4)), sv.Dense(12, 2)])
    drawn = draw(net)
    assert len(drawn.all("rect", "picture")) == 1 + 3 + 3 + 3
    assert len(drawn.all("circle", "neuron")) == 2
    assert len(drawn.all("path", "band")) == 4 and not drawn.all("path", "weight")
    for size in ("1×4×4", "3×4×4", "3×2×2"):
        assert size in drawn.texts


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


def test_a_layer_of_your_own_is_drawn() -> None:
    drawn = draw(sv.Network([sv.Dense(2, 3), Twice(3)]))
    assert len(drawn.all("path", "weight")) == 6 + 3 and "Twice" in drawn.texts


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


def test_it_can_be_looked_at_while_it_trains() -> None:
    net = sv.Network([3, 8, 3], "tanh", "sigmoid")
    s = sv.Session(net, data.Rgb(levels=4), batch=8, engine="cpu")
    s.play()
    try:
        for _ in range(5):
            assert len(draw(net).all("path", "weight")) == 48
    finally:
        s.pause()
    assert "engine cpu" in net._repr_html_()


def test_looking_changes_nothing() -> None:
    net = sv.Network([2, 3, 1])
    net.forward([1.0, 2.0])
    before = net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]
    draw(net)
    assert (net.bank.value.tobytes(), [weight.unmatched for weight in net.parameters()]) == before


def test_text_can_be_read() -> None:
    assert min(draw(sv.Network([784, 128, 10])).sizes()) >= 11
