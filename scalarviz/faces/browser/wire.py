"""Messages of a link on their way to a page: a header for JSON, and the arrays beside it as bytes.

An array is {"$": number of its buffer, "t": its type}; a number that JSON has not is {"$n": name}.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Header = dict[str, Any]
Buffers = list[bytes]
TYPES = {np.dtype(kind): name for kind, name in
         (("<f4", "f4"), ("<f8", "f8"), ("u1", "u1"), ("i1", "i1"), ("<u4", "u4"))}  # fmt: skip
NOT_FINITE = -128  # the code of a number that is not finite
LEVELS = 127  # whole parts of the largest number, where an array is sent in bytes


def split(message: Any, buffers: Buffers) -> Any:
    """Return a message for JSON, and append its arrays to `buffers`."""
    if isinstance(message, np.ndarray):
        return reference(np.ascontiguousarray(message), buffers)
    if isinstance(message, Coded):
        return {**reference(message.codes, buffers), **message.about}
    if isinstance(message, dict):
        return {str(name): split(each, buffers) for name, each in message.items()}
    if isinstance(message, (list, tuple)):
        return [split(each, buffers) for each in message]
    if isinstance(message, (float, np.floating)) and not math.isfinite(message):
        return {"$n": "nan" if math.isnan(message) else "inf" if message > 0 else "-inf"}
    return message.item() if isinstance(message, np.generic) else message


def reference(array: npt.NDArray[Any], buffers: Buffers) -> dict[str, Any]:
    """Append an array to the buffers; return what stands for it in the header."""
    if array.dtype not in TYPES:
        array = array.astype(np.float64)
    buffers.append(array.tobytes())
    return {"$": len(buffers) - 1, "t": TYPES[array.dtype]}


class Coded:
    """Numbers of a bank in bytes: each is code * top / 127.

    about  "top", "tile" where a code is the mean of a tile of so many rows and columns, and what is
           so of all numbers, see `facts_of` of light.py
    """

    def __init__(self, numbers: npt.NDArray[Any], facts: Header, tile: int = 1) -> None:
        isfinite = np.isfinite(numbers)
        finite = np.where(isfinite, numbers, 0.0)
        top = float(np.abs(finite).max(initial=0.0))
        parts = np.round(finite * (LEVELS / top)) if top else finite
        self.codes = np.where(isfinite, parts, NOT_FINITE).astype(np.int8)
        self.about: Header = {**facts, "top": top} | ({"tile": tile} if tile > 1 else {})


def size_of(message: Any) -> int:
    """Return the bytes of all arrays in a message."""
    if isinstance(message, (np.ndarray, Coded)):
        return message.nbytes if isinstance(message, np.ndarray) else message.codes.nbytes
    if isinstance(message, dict):
        return sum(map(size_of, message.values()))
    return sum(map(size_of, message)) if isinstance(message, (list, tuple)) else 0
