"""Oklab (Ottosson, 2020), in which distances of colours are those that the eye sees."""

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.draw2d.colors import linear

LMS_FROM_LINEAR = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB_FROM_LMS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
LINEAR_FROM_LMS = np.linalg.inv(LMS_FROM_LINEAR)
LMS_FROM_LAB = np.linalg.inv(LAB_FROM_LMS)


def oklab(colors: FloatArray) -> FloatArray:
    """Convert sRGB to Oklab: lightness, green to red, blue to yellow."""
    lab: FloatArray = np.cbrt(linear(colors) @ LMS_FROM_LINEAR.T) @ LAB_FROM_LMS.T
    return lab


def srgb(lab: FloatArray) -> FloatArray:
    """Convert Oklab to sRGB; channels outside of the gamut are clipped."""
    light = np.clip((lab @ LMS_FROM_LAB.T) ** 3 @ LINEAR_FROM_LMS.T, 0.0, 1.0)
    curved: FloatArray = 1.055 * light ** (1 / 2.4) - 0.055
    return np.where(light <= 0.0031308, light * 12.92, curved)
