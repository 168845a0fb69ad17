"""Cells: their colours are those of the 3-D view, and what is written on them can be read."""

import struct
import zlib
from io import BytesIO

import numpy as np
import PIL.Image
import pytest

from scalarviz.pictures.displays.cells import Scale, cell, ink_on, pixels
from scalarviz.pictures.displays.svg import LOOK, SvgDrawing, image
from scalarviz.pictures.draw2d.colors import MAPS, contrast, rgb, to_bytes
from tests.pictures.displays.drawn import Drawn


def test_a_few_of_many_are_beyond_the_scale() -> None:
    values = np.ones(1000)
    values[0] = 50.0
    scale = Scale.of(values)
    assert scale.end == pytest.approx(1.0)


@pytest.mark.parametrize("x", np.linspace(-1, 1, 21))
def test_the_number_on_a_cell_can_be_read(x: float) -> None:
    color = Scale(1.0).color(x)
    assert contrast(rgb((color,)), rgb((ink_on(color),)))[0] > 4.5


@pytest.mark.parametrize("number", [-1.23456e-5, -0.0123456, 123456.789, np.inf, np.nan])
def test_a_number_stays_inside_its_cell(number: float) -> None:
    drawing = SvgDrawing()
    cell(drawing, (0, 0, 62, 27), number, Scale(1.0))
    drawn = Drawn(image(drawing, ""))
    assert drawn.width == pytest.approx(62 + 36)


def test_a_matrix_as_pixels_has_the_colors_of_its_numbers() -> None:
    values = np.array([[-1.0, 0.0, 1.0], [np.nan, 0.5, -0.5]])
    scale = Scale(1.0)
    png = pixels(values, scale, 4)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">II", png[16:24]) == (12, 8)
    length = struct.unpack(">I", png[33:37])[0]
    assert png[37:41] == b"IDAT"
    lines = np.frombuffer(zlib.decompress(png[41 : 41 + length]), np.uint8).reshape(8, 37)
    read = lines[:, 1:].reshape(8, 12, 3)[::4, ::4]
    assert np.array_equal(read, to_bytes(MAPS["light"](values)))


def test_of_too_many_numbers_blocks_are_one_pixel_of_their_mean() -> None:
    values = np.zeros((600, 500))
    values[:2, :2] = [[1.0, 0.0], [0.0, 1.0]]
    shown = np.asarray(PIL.Image.open(BytesIO(pixels(values, Scale(1.0), 1))))
    assert shown.shape == (300, 250, 3)
    middle = (LOOK.map(0.5, 1.0) * 255).round()
    assert np.abs(shown[0, 0] - middle).max() <= 1
    values[599, 499] = np.nan
    assert tuple(np.asarray(PIL.Image.open(BytesIO(pixels(values, Scale(1.0), 1))))[-1, -1]) == (
        255,
        0,
        255,
    )
