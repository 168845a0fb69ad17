"""A perceptron as a row of cells."""

import scalarviz as sv
from scalarviz.pictures.displays.cells import color_of
from tests.pictures.displays.drawn import Drawn


def draw(perceptron: sv.Perceptron) -> Drawn:
    return Drawn(perceptron._repr_html_())


def test_every_weight_is_a_cell_with_its_number_and_its_gradient() -> None:
    p = sv.Perceptron(2, "tanh")
    p.bank.value[:] = [0.5, -0.25, 0.125]
    p.bank.grad[:] = [1.0, -2.0, 3.0]
    drawn = draw(p)
    fills = [cell.attrib["fill"] for cell in drawn.all("rect", "cell")]
    assert fills == [color_of(x, 0.5) for x in (0.5, -0.25, 0.125)]
    assert drawn.texts[2:] == [
        "grad",
        *("w0", "0.5", "1"),
        *("w1", "−0.25", "−2"),
        *("b", "0.125", "3"),
        *("Σ", "tanh", "y"),
    ]
    assert "w1 = −0.25, gradient −2" in drawn.words


def test_of_many_weights_the_first_and_the_last_are_shown() -> None:
    drawn = draw(sv.Perceptron(784))
    names = [text for text in drawn.texts if text.startswith("w")]
    assert names == ["w0", "w1", "w2", "w3", "w4", "w780", "w781", "w782", "w783"]
    assert "… 775 more" in drawn.texts and "b" in drawn.texts


def test_looking_changes_nothing() -> None:
    p = sv.Perceptron(2)
    p.forward([1.0, 2.0])
    before = p.bank.value.tobytes(), p.unmatched
    draw(p)
    assert (p.bank.value.tobytes(), p.unmatched) == before
