"""landscape: the built-in picture, a sunset behind mountains and a lake.

It has what is hard to learn: sharp edges, fine detail, and smooth colours. A program has painted
it; landscape.npz has its pixels.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

SIZE = 256


@cache
def landscape() -> npt.NDArray[np.uint8]:
    """Return the picture as 8-bit sRGB, shape (256, 256, 3)."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as file:
        picture: npt.NDArray[Any] = file["picture"]
        return picture
