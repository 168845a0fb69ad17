"""The card of a layer: a matrix in colours for every kind; drawing changes no numbers."""

import base64
import struct
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.displays.cells import Scale
from scalarviz.formulas.initializers import Init
from scalarviz.layers.base import Batch
from scalarviz.model.program import Program
from tests.displays.drawn import Drawn


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


class Secret(Twice):
    """One that cannot say what it does."""

    def lower(self, program: Program) -> None:
        raise NotImplementedError


def draw(layer: sv.Layer) -> Drawn:
    return Drawn(layer._repr_html_())


def test_every_weight_is_a_cell_in_its_place() -> None:
    layer = sv.Dense(3, 2, "tanh")
    layer.bank.value[:] = [0.1, 0.2, 0.3, -0.1, -0.2, -0.3, 1.0, -1.0]
    drawn = draw(layer)
    cells = list(zip(drawn.boxes("cell"), drawn.all("rect", "cell"), strict=True))
    weights, biases = cells[:6], cells[6:]
    scale = Scale(1.0, False)
    assert [cell.attrib["fill"] for _, cell in cells] == [scale.color(x) for x in layer.bank.value]
    assert len({box[1] for box, _ in weights}) == 2 and len({box[0] for box, _ in weights}) == 3
    assert [box[1] for box, _ in biases] == sorted({box[1] for box, _ in weights})
    assert min(box[0] for box, _ in biases) > max(box[2] for box, _ in weights)
    for text in ("0.1", "−0.3", "3 → 2, tanh, 8 parameters", "bias"):
        assert text in drawn.texts


def test_it_says_what_rows_and_columns_are() -> None:
    texts = draw(sv.Network([3, 8]).layers[0]).texts
    assert "a row for each of 8 perceptrons" in texts
    assert "a column for each of 3 inputs" in texts


def test_without_biases_there_are_no_cells_for_them() -> None:
    layer = sv.Dense(3, 2, bias=False)
    _ = layer.bank
    drawn = draw(layer)
    assert len(drawn.all("rect", "cell")) == 6 and "bias" not in drawn.texts


@pytest.mark.parametrize(
    "make", [lambda: sv.Dense(3, 8), lambda: sv.LayerNorm(4), lambda: Twice(4)]
)
def test_a_layer_without_numbers_is_given_none_by_looking(make: Any) -> None:
    layer = make()
    drawn = draw(layer)
    assert any("no numbers yet" in text for text in drawn.texts)
    assert drawn.all("rect", "empty") and not drawn.all("rect", "cell")
    sv.Network([layer])  # it is still free


def test_a_middling_matrix_is_drawn_cell_by_cell() -> None:
    drawn = draw(sv.Network([20, 30]).layers[0])
    assert len(drawn.all("rect", "cell")) == 630 and not drawn.all("image")


def test_a_large_matrix_is_a_picture_of_its_own_size() -> None:
    drawn = draw(sv.Network([784, 128, 10]).layers[0])
    weights, biases = drawn.all("image")
    assert size_of(weights.attrib["href"]) == (784, 128)
    assert size_of(biases.attrib["href"]) == (1, 128)
    assert drawn.width < 1100


def size_of(href: str) -> tuple[int, int]:
    png = base64.b64decode(href.partition(",")[2])
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_of_an_enormous_matrix_the_first_are_shown_and_it_says_so() -> None:
    drawn = draw(sv.Network([3000, 600]).layers[0])
    assert "the first 520 × 960 are shown" in drawn.texts
    assert size_of(drawn.all("image")[0].attrib["href"]) == (480, 260)  # means of 2 x 2
    assert len(drawn.svg) < 800_000


def test_a_norm_shows_gains_and_shifts() -> None:
    net = sv.Network([sv.Dense(3, 4), sv.LayerNorm(4), sv.RMSNorm(4)])
    layer_norm, rms_norm = map(draw, net.layers[1:])
    assert {"gain", "shift", "each sample to mean 0 and variance 1"} <= set(layer_norm.texts)
    assert len(layer_norm.all("rect", "cell")) == 8
    assert "gain" in rms_norm.texts and "shift" not in rms_norm.texts
    assert len(rms_norm.all("rect", "cell")) == 4


def test_each_kernel_is_a_small_matrix_of_its_own() -> None:
    layer = sv.Conv2d((2, 4, 4), 3, (2, 3))
    _ = layer.bank
    drawn = draw(layer)
    boxes = drawn.boxes("cell")
    assert len(boxes) == 3 * 2 * 6 + 3
    kernels = np.array(boxes[:36]).reshape(3, 2, 2, 3, 4)
    assert (np.diff(kernels[..., 0], axis=3) == 16.0).all()  # columns of a kernel
    assert (np.diff(kernels[..., 1], axis=2) == 16.0).all()  # and its lines
    assert (kernels[:, 1, 0, 0, 0] > kernels[:, 0, 0, 2, 2]).all()
    assert (kernels[1:, 0, 0, 0, 1] > kernels[:-1, 0, 1, 0, 3]).all()
    fills = [cell.attrib["fill"] for cell in drawn.all("rect", "cell")]
    scale = Scale.of(layer.bank.value.astype(float))
    assert fills == [scale.color(x) for x in layer.bank.value.tolist()]
    for text in ("a row for each of 3 kernels", "2 × 3 for each of 2 channels", "bias"):
        assert text in drawn.texts


def test_many_kernels_are_a_picture() -> None:
    weights, biases = draw(sv.Network([sv.Conv2d((8, 6, 6), 40)]).layers[0]).all("image")
    assert size_of(weights.attrib["href"])[1] == size_of(biases.attrib["href"])[1]


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (sv.BatchNorm((3, 2, 2)), ["one for each of 3 channels", "gain", "shift"]),
        (sv.Dropout(4, 0.5), ["while it learns, some numbers are left out by chance"]),
        (sv.MaxPool2d((1, 4, 4)), ["the largest number of each window"]),
        (
            sv.Residual(sv.Dense(3, 5, "tanh"), sv.Dense(5, 3)),
            ["the inputs go on, and straight past what follows", "and are added to what comes out"],
        ),
        (sv.Flatten((1, 2, 2)), ["nothing to learn"]),
        (sv.Reshape(4, (1, 2, 2)), ["nothing to learn"]),
        (sv.Residual(sv.Conv2d((2, 4, 4), 2, padding=1)), ["a row for each of 2 kernels"]),
    ],
)
def test_layers_of_pictures_and_those_made_of_layers_are_drawn(
    layer: sv.Layer, words: list[str]
) -> None:
    for new in (layer, sv.Network([layer]).layers[0]):
        told = " | ".join(draw(new).texts)
        for each in words:
            assert each in told


def test_an_encoding_shows_its_waves() -> None:
    drawn = draw(sv.FrequencyEncoding(2, octaves=3))
    assert "2 → 12, nothing to learn" in drawn.texts
    waves = drawn.all("path", "curve")
    assert len(waves) == 6
    names = ("sin πx", "cos πx", "sin 2πx", "cos 2πx", "sin 4πx", "cos 4πx")
    assert [text for text in drawn.texts if text in names] == list(names)
    ys = [[float(p.split()[1]) for p in wave.attrib["d"][1:].split("L")] for wave in waves]
    assert abs(ys[0][0] - ys[0][-1]) < 0.2  # sin is 0 at both ends
    swings = [np.array(y[2:-2]) - (min(y) + max(y)) / 2 for y in ys]
    crossings = [int((np.diff(np.sign(y[np.abs(y) > 0.5])) != 0).sum()) for y in swings]
    assert crossings == [1, 2, 3, 4, 7, 8]


@pytest.mark.parametrize("kind", [Twice, Secret])
def test_a_layer_of_your_own_is_drawn(kind: type[Twice]) -> None:
    net_or_alone = kind(5)
    net_or_alone.bank.value[:] = [0.0, 1.0, -1.0, 0.5, 0.25]
    drawn = draw(net_or_alone)
    assert kind.__name__ in drawn.texts
    assert len(drawn.all("rect", "cell")) == 5
    assert {"1", "−1", "0.25"} <= set(drawn.texts)


def test_what_is_not_finite_is_shown() -> None:
    layer = sv.Dense(1, 1)
    layer.bank.value[:] = [np.nan, np.inf]
    assert {"NaN", "∞"} <= set(draw(layer).texts)


def test_looking_makes_no_perceptrons() -> None:
    net = sv.Network([3, 8, 3])
    draw(net.layers[0])
    assert not net.layers[0].made_parts()


def test_words_say_kind_shape_and_range() -> None:
    net = sv.Network([2, 1], output="sigmoid")
    net.bank.value[:] = [0.5, -0.25, 0.0]
    words = draw(net.layers[0]).words
    assert words == "A Dense layer: 2 → 1, sigmoid, 3 parameters. 3 numbers from −0.25 to 0.5."
