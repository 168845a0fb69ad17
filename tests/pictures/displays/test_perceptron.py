"""A perceptron as a row of cells."""

from itertools import combinations, pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pictures.displays.cells import Scale
from tests.pictures.displays.drawn import Drawn, overlap


def draw(perceptron: sv.Perceptron) -> Drawn:
    return Drawn(perceptron._repr_html_())


def test_every_weight_is_a_cell_with_its_number_and_its_gradient() -> None:
    p = sv.Perceptron(2, "tanh")
    p.bank.value[:] = [0.5, -0.25, 0.125]
    p.bank.grad[:] = [1.0, -2.0, 3.0]
    drawn = draw(p)
    scale = Scale(0.5)
    fills = [cell.attrib["fill"] for cell in drawn.all("rect", "cell")]
    assert fills == [scale.color(x) for x in (0.5, -0.25, 0.125)]
    assert drawn.texts[2:] == [
        "grad",
        *("w0", "0.5", "1"),
        *("w1", "−0.25", "−2"),
        *("b", "0.125", "3"),
        *("Σ", "tanh", "y"),
    ]
    assert "w1 = −0.25, gradient −2" in drawn.words


def test_long_gradients_do_not_run_into_each_other() -> None:
    p = sv.Perceptron(3, "tanh")
    p.bank.grad[:] = [-0.0605234, -1.2345e-12, -123456.0, -0.0151234]
    drawn = draw(p)
    spans = drawn.across(drawn.texts[5:15:3])
    assert all(left[1] < right[0] for left, right in pairwise(spans))


def test_without_a_bias_there_is_no_cell_for_one() -> None:
    drawn = draw(sv.Perceptron(3, bias=False))
    assert len(drawn.all("rect", "cell")) == 3
    assert "b" not in drawn.texts and "3 weights, no bias, linear" in drawn.texts


def test_a_linear_one_has_no_activation_after_its_sum() -> None:
    assert draw(sv.Perceptron(1)).texts[-2:] == ["Σ", "y"]


def test_in_a_network_it_says_where_it_is() -> None:
    p = sv.Network([3, 8, 3], "tanh").layers[0].perceptrons[2]
    assert "layer 0, perceptron 2: 3 weights, a bias, tanh" in draw(p).texts


def test_of_many_weights_the_first_and_the_last_are_shown() -> None:
    drawn = draw(sv.Perceptron(784))
    names = [text for text in drawn.texts if text.startswith("w")]
    assert names == ["w0", "w1", "w2", "w3", "w4", "w780", "w781", "w782", "w783"]
    assert "… 775 more" in drawn.texts and "b" in drawn.texts


@pytest.mark.parametrize("inputs", [1, 10, 11, 50])
def test_no_cell_lies_on_another(inputs: int) -> None:
    cells = draw(sv.Perceptron(inputs)).boxes("cell")
    assert len(cells) == min(inputs, 10 if inputs == 10 else 9) + 1
    assert not [pair for pair in combinations(cells, 2) if overlap(*pair)]


def test_what_is_not_finite_is_shown() -> None:
    p = sv.Perceptron(1)
    p.bank.value[:] = [np.nan, -np.inf]
    assert {"NaN", "−∞"} <= set(draw(p).texts)


def test_looking_changes_nothing() -> None:
    p = sv.Perceptron(2)
    p.forward([1.0, 2.0])
    before = p.bank.value.tobytes(), p.unmatched
    draw(p)
    assert (p.bank.value.tobytes(), p.unmatched) == before
