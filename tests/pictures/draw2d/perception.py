"""Oklab (Ottosson, 2020), in which distances of colours are those that the eye sees."""

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.scene.canvas.palette import linear

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


def cielab(colors: FloatArray) -> FloatArray:
    """Convert sRGB to CIELAB under D65."""
    light = linear(colors) @ np.array(
        [
            [0.4124564, 0.2126729, 0.0193339],
            [0.3575761, 0.7151522, 0.1191920],
            [0.1804375, 0.0721750, 0.9503041],
        ]
    )
    part = light / [0.95047, 1.0, 1.08883]
    f = np.where(part > 216 / 24389, np.cbrt(part), (24389 / 27 * part + 16) / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def difference(one: FloatArray, other: FloatArray) -> FloatArray:
    """CIEDE2000 of pairs in CIELAB (Sharma, Wu, Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = (
        np.moveaxis(np.asarray(one), -1, 0),
        np.moveaxis(np.asarray(other), -1, 0),
    )
    grey = 0.5 * (np.hypot(a1, b1) + np.hypot(a2, b2))
    more = 1.5 - 0.5 * np.sqrt(grey**7 / (grey**7 + 25.0**7))
    c1, c2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, more * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = np.where(c1 * c2 == 0, 0.0, (h2 - h1 + 180) % 360 - 180)
    h = np.where(c1 * c2 == 0, h1 + h2, h1 + 0.5 * turn)
    light, c = 0.5 * (l1 + l2), 0.5 * (c1 + c2)
    wave = sum(
        part * np.cos(np.radians(times * h + start))
        for part, times, start in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63))
    )
    sl = 1 + 0.015 * (light - 50) ** 2 / np.sqrt(20 + (light - 50) ** 2)
    dl, dc = (l2 - l1) / sl, (c2 - c1) / (1 + 0.045 * c)
    dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c * (1 + wave))
    around = np.exp(-((((h % 360) - 275) / 25) ** 2))
    mixed = -2 * np.sqrt(c**7 / (c**7 + 25.0**7)) * np.sin(np.radians(60 * around))
    found: FloatArray = np.sqrt(dl**2 + dc**2 + dh**2 + mixed * dc * dh)
    return found
