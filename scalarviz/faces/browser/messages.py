"""Messages between a page and this process over a WebSocket.

Up they are JSON; down one binary frame each: the length of a header as uint32, the header as JSON,
then arrays, each at a multiple of 8 bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

MULTIPLE = 8  # bytes


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


def read(text: str | bytes) -> dict[str, Any] | None:
    """Return what a page sends; None for what it never sends: no object, or another one."""
    if isinstance(text, bytes):
        return None
    try:
        found = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    return found


def is_command(found: Mapping[str, Any]) -> bool:
    """Return whether a message is a command, or says that a state is taken."""
    if found.keys() == {"taken"}:
        return type(found["taken"]) is int
    kinds = {"id": int, "name": str, "args": dict}
    return found.keys() == kinds.keys() and all(type(found[k]) is kinds[k] for k in kinds)


def refuse(constant: str) -> float:
    raise ValueError(constant)
