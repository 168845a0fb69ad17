"""Cells: their colours are those of the 3-D view, and what is written on them can be read."""

from io import BytesIO

import numpy as np
import PIL.Image
import pytest

from scalarviz.pictures.displays.cells import cell, color_of, ink_on, pixels, scale_of
from scalarviz.pictures.displays.svg import LOOK, SvgDrawing, image
from scalarviz.pictures.draw2d.colors import MAPS, contrast, rgb, to_bytes
from tests.pictures.displays.drawn import Drawn


def test_a_few_of_many_are_beyond_the_scale() -> None:
    values = np.ones(1000)
    values[0] = 50.0
    assert scale_of(values) == pytest.approx(1.0)


@pytest.mark.parametrize("x", np.linspace(-1, 1, 21))
def test_the_number_on_a_cell_can_be_read(x: float) -> None:
    color = color_of(x, 1.0)
    assert contrast(rgb((color,)), rgb((ink_on(color),)))[0] > 4.5


@pytest.mark.parametrize("number", [-1.23456e-5, -0.0123456, 123456.789, np.inf, np.nan])
def test_a_number_stays_inside_its_cell(number: float) -> None:
    drawing = SvgDrawing()
    cell(drawing, (0, 0, 62, 27), number, 1.0)
    drawn = Drawn(image(drawing, ""))
    assert drawn.width == pytest.approx(62 + 36)


def test_a_matrix_as_pixels_has_the_colors_of_its_numbers() -> None:
    values = np.array([[-1.0, 0.0, 1.0], [np.nan, 0.5, -0.5]])
    shown = np.asarray(PIL.Image.open(BytesIO(pixels(values, 1.0, 4))))
    assert shown.shape == (8, 12, 3)
    assert np.array_equal(shown[::4, ::4], to_bytes(MAPS["light"](values)))


def test_of_too_many_numbers_blocks_are_one_pixel_of_their_mean() -> None:
    values = np.zeros((600, 500))
    values[:2, :2] = [[1.0, 0.0], [0.0, 1.0]]
    shown = np.asarray(PIL.Image.open(BytesIO(pixels(values, 1.0, 1))))
    assert shown.shape == (300, 250, 3)
    middle = (LOOK.map(0.5, 1.0) * 255).round()
    assert np.abs(shown[0, 0] - middle).max() <= 1
    values[599, 499] = np.nan
    shown = np.asarray(PIL.Image.open(BytesIO(pixels(values, 1.0, 1))))
    assert shown[-1, -1].tolist() == [255, 0, 255]
