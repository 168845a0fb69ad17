"""packed: arrays as JSON, which `web/packed.js` reads."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def packed(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return an array as {"dtype", "shape", "data"}: its little-endian bytes in base64.

    array  of float32, float64, or integers of 8, 16 or 32 bits
    """
    plain = np.ascontiguousarray(array)
    ordered = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
    return {
        "dtype": plain.dtype.name,
        "shape": [*plain.shape],
        "data": base64.b64encode(ordered.tobytes()).decode("ascii"),
    }
