"""Messages between a page and this process over a WebSocket.

Down each is one binary frame: the length of a header as uint32, the header as JSON, then arrays,
each at a multiple of 8 bytes. Up it is JSON, or such a frame with one array at its end, which is
the argument of a command: the header names it, and the type of its numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MULTIPLE = 8  # bytes
KINDS = {"f8": "<f8", "u4": "<u4"}  # of arrays of a page
ARRAYS = {"evaluate": "inputs", "survey": "inputs", "exact": "rows"}  # commands that take one


def packed(header: Mapping[str, Any], buffers: Sequence[Any] = ()) -> bytes:
    """Return the frame of a header and its arrays, anything with a buffer."""
    arrays = [memoryview(each).cast("B") for each in buffers]
    told = {**header, "buffers": [len(each) for each in arrays]}
    head = json.dumps(told, allow_nan=False, separators=(",", ":")).encode()
    head += b" " * (-(4 + len(head)) % MULTIPLE)
    parts: list[Any] = [len(head).to_bytes(4, "little"), head]
    for each in arrays:
        parts += [each, bytes(-len(each) % MULTIPLE)]
    return b"".join(parts)


def read(sent: str | bytes) -> dict[str, Any] | None:
    """Return what a page sends; None for what it never sends: no object, or another one."""
    try:
        if isinstance(sent, str):
            found = json.loads(sent, parse_constant=refuse)
        else:
            end = 4 + int.from_bytes(sent[:4], "little")
            found = json.loads(sent[4:end], parse_constant=refuse)
            name, kind = found.pop("array")
            if ARRAYS.get(found["name"]) != name:
                return None
            found["args"][name] = np.frombuffer(sent, KINDS[kind], offset=end)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return found if isinstance(found, dict) else None


def is_command(found: Mapping[str, Any]) -> bool:
    """Return whether a message is a command, or says that a state is taken."""
    if found.keys() == {"taken"}:
        return type(found["taken"]) is int
    kinds = {"id": int, "name": str, "args": dict}
    return found.keys() == kinds.keys() and all(type(found[k]) is kinds[k] for k in kinds)


def refuse(constant: str) -> float:
    raise ValueError(constant)
