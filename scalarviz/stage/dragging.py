"""Values changed by dragging: a weight by its cube, an input by its sphere.

It uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.base.checks import FloatArray

SMALLEST_HANDLE = 12.0  # minimum pixels of a draggable cube; elsewhere dragging rotates the network
VALUE_REACH = 100.0  # pixels of vertical dragging that change a value by the scale of the values
INPUT_REACH = 150.0  # pixels of dragging over the whole range of an input
DRAG_DIGITS = 3  # digits of a value during dragging


@dataclass(frozen=True)
class Handle:
    """A cube that is being dragged.

    Attributes:
        row: its bank index
        value: its original value
        top: the scale of the values
        answers: outputs for the current sample between two steps, or None
    """

    row: int
    value: float
    top: float
    answers: FloatArray | None = None

    def value_at(self, up: float) -> float:
        """Return the value after dragging up by `up` pixels."""
        value = self.value + up / VALUE_REACH * self.top
        return float(f"{value:.{DRAG_DIGITS}g}") if up else self.value


def input_at(value: float, low: float, high: float, up: float) -> float:
    """Return an input between low and high after dragging up by `up` pixels."""
    return min(max(value + up / INPUT_REACH * (high - low), low), high)
