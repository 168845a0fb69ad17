"""Generated: a data set whose batches a function makes during training."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from scalarviz.base.checks import check_signature, shorten, size, true_or_false
from scalarviz.data.base import DataSet
from scalarviz.data.batches import Batches, GeneratedBatches, Pair
from scalarviz.errors import InputError

Maker = Callable[[int, int, int], Pair]


@final
class Generated(DataSet):
    """Batches from a function: `make(step, batch, seed)` returns inputs and targets, row by row.

    The result must depend on these three alone, so that steps can be replayed; seed a generator by
    `np.random.default_rng([seed, step])`. It has `batch` rows. Files cannot hold such a data set,
    since the function is code.

    make     the function; targets of one output can have the shape (batch,)
    inputs   numbers of a sample
    outputs  numbers of a target
    samples  samples of an epoch, and of a batch with batch=None; by default 1024
    standardize  True: a network that was just made begins with `affine()`, which gives the inputs
                 of the first `samples` mean 0 and deviation 1; by default False
    """

    name = "generated"

    def __init__(
        self,
        make: Maker,
        *,
        inputs: int,
        outputs: int,
        samples: int = 1024,
        standardize: bool = False,
    ) -> None:
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
        self.standardize = true_or_false(standardize, "standardize")

    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return batches of `batch` samples, None: `samples`; `seed` is passed to the function."""
        count = self.samples if batch is None else size(batch, "batch")
        widths = (self.inputs, self.outputs)
        return GeneratedBatches(lambda step: self.make(step, count, seed), widths, count, seed)
