"""What a drag of the mouse changes: a weight by its cube, an input by its sphere.

Of plain numbers: pages have it in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.base.checks import FloatArray

SMALLEST_HANDLE = 12.0  # pixels of a cube that can be dragged; elsewhere a drag turns the network
VALUE_REACH = 100.0  # pixels of a drag, up or down, that add the scale of the values
INPUT_REACH = 150.0  # and from the least to the greatest number of an input
DRAG_DIGITS = 3  # of the values while it is dragged


@dataclass(frozen=True)
class Handle:
    """A cube, or a guess about it, that is held by the mouse.

    Attributes:
        row: its bank index
        value: that it had
        top: the scale of the values
        answers: outputs for the sample in use between two steps, or None
        guesses: whether it is the guess
    """

    row: int
    value: float
    top: float
    answers: FloatArray | None = None
    guesses: bool = False

    def value_at(self, up: float) -> float:
        """Return the value after a drag by so many pixels upwards."""
        value = self.value + up / VALUE_REACH * self.top
        return float(f"{value:.{DRAG_DIGITS}g}") if up else self.value


def input_at(value: float, low: float, high: float, up: float) -> float:
    """Return an input from low to high after a drag by so many pixels upwards."""
    return min(max(value + up / INPUT_REACH * (high - low), low), high)
