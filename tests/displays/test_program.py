"""A program as a table: the same cells as in its text."""

import scalarviz as sv
from tests.displays.drawn import cells_of


def test_it_is_the_table_of_its_text() -> None:
    net = sv.Network([3, 8, 3], activation="tanh", output="sigmoid")
    html = net.program._repr_html_()
    assert cells_of(html) == [
        ["", "operation", "reads", "writes", "shape", "parameters"],
        ["0", "affine 0", "inputs", "affine 0", "3 → 8", "0 to 31"],
        ["1", "tanh 0", "affine 0", "tanh 0", "8 → 8", "–"],
        ["2", "affine 1", "tanh 0", "affine 1", "8 → 3", "32 to 58"],
        ["3", "sigmoid 1", "affine 1", "sigmoid 1", "3 → 3", "–"],
    ]
    assert "4 operations, 3 → 3, workspace of 25 numbers a sample" in html


def test_its_colors_are_those_of_the_page() -> None:
    html = sv.Network([3, 8, 3]).program._repr_html_()
    assert "color:" not in html.replace("background-color:", "")
