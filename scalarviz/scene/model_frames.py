"""Where a click opens or closes the frames of a followed model.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.silhouettes import balls_of

if TYPE_CHECKING:
    from scalarviz.scene.layout.division import Projection
    from scalarviz.scene.layout.plates import Layout

TITLE = 24.0  # height of the title of a frame, in units of PIXEL


def frames_seen(
    see: Projection, layout: Layout, *, badges: bool = False
) -> list[tuple[str, bool, Box]]:
    """Return the key of each frame, whether it is open, and the box in which a click changes that.

    It is the title of an open frame, and all of a closed one. Inner frames follow outer ones.

    Args:
        badges: return the numbers of repetitions instead, where a click shows the next one
    """
    found: list[tuple[str, bool, Box]] = []
    for each in layout.marks:
        if each.key and (each.look == "badge") == badges:
            seen = balls_of(see, each.points, 0.0)
            first, last = seen[0], seen[1]
            is_open = each.look == "frame"
            high = TITLE * PIXEL * first.unit if is_open else last.y - first.y
            found.append((each.key, is_open, Box(first.x, first.y, last.x - first.x, high)))
    return found
