"""FrequencyEncoding: coordinates as sines and cosines, so that fine detail can be learned."""

from __future__ import annotations

from typing import Any, final

from scalarviz.base.checks import size
from scalarviz.core.formulas.rowwise import ROW_FORMULAS
from scalarviz.core.layers.rowwise import Rowwise


@final
class FrequencyEncoding(Rowwise):
    """Map each input x to sin and cos of pi x, 2 pi x, 4 pi x, ...; no parameters.

    With 2 inputs and 3 octaves it gives 12 numbers: six of the first coordinate, then six of the
    second.

    inputs   numbers of a sample, at least 1
    octaves  number of frequencies, at least 1; by default 3

    >>> FrequencyEncoding(1, octaves=2)([0.5]).round(3).tolist()
    [1.0, 0.0, 0.0, -1.0]
    """

    def __init__(self, inputs: int, octaves: int = 3) -> None:
        self.octaves = size(octaves, "octaves")
        outputs = 2 * self.octaves * size(inputs, "the inputs of FrequencyEncoding")
        formula = ROW_FORMULAS["frequency_encoding"]
        super().__init__(inputs, outputs, formula, (float(self.octaves),))

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "octaves": self.octaves}
