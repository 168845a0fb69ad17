"""qr_code: an address as a QR code of letters, for phones that look at a terminal."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

BLOCKS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
BORDER = 2  # modules; phones find it with less than the four of the norm


def qr_code(address: str) -> list[str]:
    """Return the lines of a code, light on dark; none where segno is not installed."""
    if find_spec("segno") is None:
        return []
    code = import_module("segno").make(address, micro=False)
    rows = [[not dark for dark in row] for row in code.matrix_iter(border=BORDER)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(BLOCKS[pair] for pair in zip(*both, strict=True)) for both in pairs]
