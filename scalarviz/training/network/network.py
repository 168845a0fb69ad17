"""Network: layers in order on one bank, with the four verbs and an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, answered, as_pairs, size, true_or_false
from scalarviz.base.progress import Progress
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.losses import AnyLoss, Loss
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.layers import Layer
from scalarviz.core.layers.nested import as_layers
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Program
from scalarviz.engines.common.portions import Tell, take_steps
from scalarviz.engines.registry import FULL, EngineRow, choose
from scalarviz.training.network.saved import SavedNetwork


@final
class Network(SavedNetwork):
    """Layers in order, on one bank of numbers.

    `layers` is a list of sizes, such as [3, 8, 3], which makes Dense layers with `activation`
    between them and `output` after the last; a list of layers; or a layer and then both. A layer
    may be in the list twice: its weights are then shared, and their gradients add up.

    Calling the network evaluates it and keeps nothing; `forward` keeps what `backward` needs,
    and each backward belongs to the newest forward that none has matched yet.

    layers      sizes of layers, or Layers, whose inputs and outputs fit together
    activation  of the layers between, for sizes only; by default "linear"; the names are in
                core/formulas/activations.py
    output      activation of the last layer, for sizes only; by default "linear"
    init        initializer of the weights and biases, a name or an Init; by default "pytorch"
    seed        seed of the initial numbers, an integer from 0; by default 0
    dtype       "float32", the default, or "float64"
    engine      "python", the default, "cpu", "cuda" or "auto", the fastest here for small networks
    precision   "full", the default, "mixed", or a Precision; mixed runs on the engine "cpu"

    Raises InputError for layers that do not fit together, UnknownNameError for an unknown name,
    OwnershipError for layers of another network, and EngineError if the engine cannot run here.

    >>> net = Network([2, 3, 1], seed=0)
    >>> net.forward([1.0, -1.0]).shape, len(net.parameters())
    ((1,), 13)
    """

    CALLED = "the network"

    @answered
    def __init__(
        self,
        layers: Sequence[int | Layer],
        activation: str | None = None,
        output: str | None = None,
        *,
        init: str | Init = "pytorch",
        seed: int = 0,
        dtype: str = "float32",
        engine: str = "python",
        precision: str | Precision = "full",
    ) -> None:
        chain = as_layers(layers, activation, output)
        precision = Precision.of(precision)
        row = choose(engine, precision=precision)
        self._begin(chain, Init.of(init), check_seed(seed), row, precision, dtype)

    def _begin(
        self,
        layers: tuple[Layer, ...],
        init: Init,
        seed: int,
        engine: EngineRow,
        precision: Precision,
        bank: str | Bank,
    ) -> None:
        """Set up on a bank of zeros, or on a new one of this dtype."""
        self.layers = layers  # type: ignore[assignment]  # any Layer can be an AnyLayer
        self.inputs = self.layers[0].inputs
        self.outputs = self.layers[-1].outputs
        self.init = init
        self.seed = seed
        parts = list(dict.fromkeys(self.layers))  # a shared layer has its rows in the bank once
        for layer in parts:
            layer.check_free()
        rows, state = (sum(n) for n in zip(*[(p.size, p.state_size) for p in parts], strict=True))
        self._bank = bank if isinstance(bank, Bank) else Bank(rows, bank, state)
        self._bank.name_of = self._row_name
        row, state = 0, SCALING
        for layer in parts:
            layer.bind(self._bank, row, self.init, self.seed, state)
            row, state = row + layer.size, state + layer.state_size
        self._parts = parts
        self.names: dict[str, Any] | None = None  # of its parts, in the ONNX file it came from
        engine.check(self._bank, precision, self.program)
        self._run_on(engine, precision)
        self._bank.start_scaling(precision)

    @property
    def rows(self) -> slice:
        return slice(0, len(self._bank))

    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        work = 3 * samples * self.program.products  # once forward, twice back
        return choose(engine, work, precision, self.program)

    def _ones(self) -> tuple[FloatArray, bool]:
        return np.ones((self._engine.newest_batch(), self.outputs)), False

    @answered
    def train_step(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
    ) -> float:
        """Train one step on one batch: zero_grad, forward, loss, backward, step.

        inputs, targets, loss, optimizer  as in `train`

        Returns the loss before the step. Raises ShapeError, NotFiniteError and GradientError.
        """
        return float(self._train(inputs, targets, loss, optimizer, 1)[0])

    @answered
    def train(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
        *,
        steps: int,
        progress: bool = True,
    ) -> FloatArray:
        """Train `steps` steps on one batch; return the loss before each.

        Ctrl-C ends it after a whole step with `scalarviz.errors.Interrupted`, a KeyboardInterrupt.
        Raises GradientError if a gradient, UpdateError if the result of a step is not finite; that
        step is not taken. The errors have the losses so far in `losses`.

        inputs     shape (batch, inputs), (inputs,), or (batch, *input_shape)
        targets    shape (batch, outputs) or (outputs,); or (batch,) for one output, and for class
                   labels 0, 1, ... with softmax_cross_entropy and sigmoid_cross_entropy
        loss       a name or a Loss; by default "mse"
        optimizer  an Optimizer, or a name such as "adam"; by default SGD(0.01)
        steps      number of steps, at least 0, which changes nothing
        progress   True, the default: a progress bar in a terminal or a notebook, if it takes longer
                   than a second; False: none

        Returns a float64 array of shape (steps,).
        """
        steps, wanted = size(steps, "steps", least=0), true_or_false(progress, "progress")
        with Progress(steps, wanted) as bar:
            return self._train(inputs, targets, loss, optimizer, steps, bar.tell)

    def _train(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss,
        optimizer: Optimizer | str | None,
        steps: int,
        tell: Tell | None = None,
    ) -> FloatArray:
        loss, optimizer = Loss.of(loss), Optimizer.of(optimizer)
        self.check_loss(loss)
        widths, picture = (self.inputs, self.outputs), self.input_shape
        classes = loss.classes(self.outputs)
        batch, wanted = as_pairs(
            inputs, targets, widths, "the network", copy=False, classes=classes, picture=picture
        )
        if not steps:
            return np.zeros(0)
        engine = self._engine
        run = engine.take_run(batch, wanted, loss)
        losses = take_steps(engine, run, optimizer, steps, tell)
        engine.keep_run(run)
        return losses

    def _lowered(self) -> Program:
        program = Program(self.inputs)
        for program.layer, layer in enumerate(self.layers):
            layer.lower(program)
        return program

    def fresh(self, seed: int, dtype: str | None = None, bank: Bank | None = None) -> Network:
        """Return a network with the same layers and the initial numbers of a `seed`, on python.

        seed   integer from 0
        dtype  "float32" or "float64"; None, the default: the same
        bank   Bank of zeros to use; None, the default: a new one
        """
        twins = {layer: layer.again() for layer in self._parts}
        layers = tuple([twins[layer] for layer in self.layers])
        on = (dtype or self.dtype) if bank is None else bank
        other = Network.__new__(Network)
        other._begin(layers, self.init, check_seed(seed), choose("python"), FULL, on)
        other.names = self.names
        return other
