"""Data that a function makes while a network trains."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from scalarviz.checks.numbers import check_signature, shorten, size
from scalarviz.data.base import DataSet
from scalarviz.data.batches import Batches, GeneratedBatches, Pair
from scalarviz.errors import InputError

Maker = Callable[[int, int, int], Pair]


@final
class Generated(DataSet):
    """What a function makes: `make(step, batch, seed)` gives inputs and targets, one row a sample.

    It should depend on these three alone, so that any step can be taken again:
    `np.random.default_rng([seed, step])` is a way. There must be `batch` rows; `samples` is what
    batch=None stands for. A file cannot keep such a data set, as the function is code.

    make     the function
    inputs   numbers of a sample that come in
    outputs  numbers of a target
    samples  of an epoch; by default 1024
    """

    name = "generated"

    def __init__(self, make: Maker, *, inputs: int, outputs: int, samples: int = 1024) -> None:
        if not callable(make):
            raise InputError(
                f"make must be a function of step, batch and seed, not {shorten(make)}"
            )
        arguments = ["step", "batch", "seed"]
        check_signature(make, arguments, "what makes batches", "def make(step, batch, seed): ...")
        self.make = make
        widths = size(inputs, "inputs"), size(outputs, "outputs")
        samples = size(samples, "samples")
        settings = {"make": make, "inputs": inputs, "outputs": outputs, "samples": samples}
        super().__init__(*widths, samples, settings)

    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Batches of `batch` samples, None: `samples` of them; `seed` goes to the function."""
        count = self.samples if batch is None else size(batch, "batch")
        widths = (self.inputs, self.outputs)
        return GeneratedBatches(lambda step: self.make(step, count, seed), widths, count, seed)
