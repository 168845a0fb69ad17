"""Model: the base of Network and Expression: the four verbs, an engine and a Program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, final

import numpy as np

from scalarviz.base.attributes import set_known, unknown
from scalarviz.base.checks import FloatArray, Shape, as_batch, shorten
from scalarviz.base.messages import caution
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import JUDGED, Loss
from scalarviz.core.formulas.metrics import predictions_of
from scalarviz.core.layers import Layer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.core.trace_program import Piece
from scalarviz.core.weight import Part
from scalarviz.data.batches import Batches
from scalarviz.engines.engine import Engine, Run, Snapshot
from scalarviz.engines.registry import EngineRow
from scalarviz.errors import InputError, lost_by_forward
from scalarviz.training.network.named_arrays import Wall

ENDS = "sigmoid", "softmax"  # whose results are probabilities
JOINS = "branch", "concatenation"  # which pass on what they read


class ModelOnEngine(Part):
    """The base of Model, without the verbs: its bank, program and engine, and its layers."""

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    CALLED: ClassVar[str]  # in errors: "the network"

    inputs: int
    outputs: int
    layers: tuple[Layer, ...] = ()
    walls: Mapping[str, Wall] = MappingProxyType({})  # of an expression, by names
    _bank: Bank
    _engine: Engine

    # The differences between the two.

    @abstractmethod
    def _lowered(self) -> Program:
        """Return the program, made anew."""

    @abstractmethod
    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        """Return the row of the engine for batches of so many samples; raise EngineError."""

    @abstractmethod
    def _ones(self) -> tuple[FloatArray, bool]:
        """Return ones for the newest unmatched forward, and whether it is answered by one row."""

    @abstractmethod
    def name_of(self, row: int) -> str:
        """Return the name of the parameter on a `row` of the bank."""

    @abstractmethod
    def find_rows(self, part: object) -> object:
        """Return the rows of a `part` of this model; return anything else unchanged."""

    @abstractmethod
    def copy(self, dtype: str | None = None) -> Self:
        """Return a model of its own with the same numbers, in `dtype` if one is given.

        Raises InputError for a model that cannot be copied.
        """

    @abstractmethod
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`: shape (inputs,) or (batch, inputs)."""

    @final
    @property
    def input_shape(self) -> Shape:
        """Shape of a sample that is a picture, (channels, height, width), else ().

        Arrays of pictures, (batch, *input_shape), become rows in C order; the channel can be left
        out if there is only one.
        """
        return self.layers[0].input_shape if self.layers else ()

    # The bank and the engine.

    @final
    @property
    def bank(self) -> Bank:
        return self._bank

    @final
    @property
    def row_numbers(self) -> Sequence[int]:
        """The rows of the bank that hold its parameters, as numbers."""
        rows, every = self.rows, range(len(self._bank))
        return every[rows] if isinstance(rows, slice) else rows.tolist()

    @final
    @property
    def parameter_names(self) -> list[str]:
        """The names of its parameters, in the order of `row_numbers`."""
        return [self.name_of(row) for row in self.row_numbers]

    def formula(self) -> list[Piece]:
        """Return the formula of an expression in words, and its parameters by their numbers."""
        return []

    @property
    def all_walls(self) -> Mapping[str, Wall]:
        """Its walls, and one of the parameters without a name."""
        return self.walls

    @final
    @property
    def dtype(self) -> str:
        """Dtype of the parameters, "float32" or "float64"."""
        return self._bank.dtype

    @final
    @property
    def engine(self) -> str:
        """Name of the engine that runs the verbs."""
        return self._engine.name

    @final
    @property
    def precision(self) -> Precision:
        """Precision in which the engine computes."""
        return self._engine.precision

    @cached_property
    def program(self) -> Program:
        """The operations of this model, as engines run them and pictures show them."""
        return self._lowered()

    @final
    def predict_proba(self, x: object) -> FloatArray:
        """Return the probabilities of the classes for `x`, without keeping anything.

        They are the softmax of the outputs, or the sigmoid of a single one, as the losses
        softmax_cross_entropy and sigmoid_cross_entropy take them; of a network that ends with a
        sigmoid or softmax of its own, its outputs, and so of one that ends with p and 1 - p side
        by side, as models of two classes from scikit-learn do. `x` is as in a call.
        """
        outputs = self(x)
        if end_of(self.program, self._bank.value):
            return outputs
        loss = Loss("sigmoid_cross_entropy" if self.outputs == 1 else "softmax_cross_entropy")
        found = predictions_of(loss, np.atleast_2d(outputs)).astype(outputs.dtype)
        proba: FloatArray = found[0] if outputs.ndim == 1 else found
        return proba

    @final
    def _run_on(self, row: EngineRow, precision: Precision) -> None:
        """Make the first engine, which has been checked."""
        self._waiting: list[tuple[FloatArray, bool]] = []  # outputs, and whether of one sample
        self._engine = row.make(self.layers, self.program, self._bank, precision)

    @final
    def to(self, engine: str, precision: str | Precision | None = None) -> Self:
        """Run on another engine from now on, and return the model itself.

        engine     "python", "cpu", "cuda" or "auto", the fastest here for one sample
        precision  "full", "mixed" or a Precision; None, the default: unchanged

        Forwards that wait for their backward are dropped. Raises EngineError if the engine cannot
        run here, or not this model in this precision.
        """
        chosen, before = Precision.of(precision or self.precision), self.precision
        row = self._choose(engine, 1, chosen)
        row.check(self._bank, chosen, self.program)
        made = row.make(self.layers, self.program, self._bank, chosen)
        self.forget()
        self._engine = made
        if chosen != before:
            self._bank.start_scaling(chosen)
        return self

    @final
    def check_engine(
        self, engine: str, precision: str | Precision | None = None, samples: int = 1
    ) -> tuple[str, Precision]:
        """Return the engine and precision that this model would run with, without changing it.

        engine     "python", "cpu", "cuda" or "auto"
        precision  "full", "mixed" or a Precision; None, the default: unchanged
        samples    in a batch; on a GPU a small network is slower than on "cpu"

        Raises EngineError if the engine cannot run this model in this precision.
        """
        chosen = self.precision if precision is None else Precision.of(precision)
        row = self._choose(engine, samples, chosen)
        row.check(self._bank, chosen, self.program)
        return row.name, chosen

    @final
    def start(self, engine: str, precision: Precision) -> None:
        """Start a training on an `engine` in a `precision`: everything but the values is reset."""
        self.to(engine, precision)
        self._bank.restart(precision)

    @final
    def run(self, batches: Batches, loss: Loss) -> Run:
        """Return a run of this model on its engine, on `batches` with a `loss`, for a session."""
        return self._engine.run(batches, loss)

    @final
    def loss_on(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> Callable[[], float]:
        """Return a function that evaluates the `loss` of a batch, for a session.

        It returns that of `inputs` and `targets`, one row a sample, for the numbers at its call, as
        `loss(model(inputs), targets)` does.
        """
        return self._engine.loss_on(inputs, targets, loss)

    @final
    def snapshot(self) -> Snapshot:
        """Return a Snapshot of the current numbers.

        Its `request()` asks for a copy and `ready` says whether it has arrived, both at once;
        `read()` and `await` wait for it. Use `Session.snapshot` while a session trains this model.
        """
        return self._engine.snapshot()

    @final
    def forget(self) -> None:
        """Drop all forwards that wait for their backward."""
        self._engine.forget()
        self._waiting.clear()

    # Layers.

    @final
    @property
    def activations(self) -> tuple[str, ...]:
        """Name of the activation of each layer."""
        return tuple([layer.activation for layer in self.layers])

    @final
    def check_loss(self, loss: Loss) -> None:
        """Raise InputError if a `loss` does not go with the last activation."""
        if self.layers:
            last = [each.formula for each in self.program.operations[-1:]]
            end = end_of(self.program, self._bank.value)
            for name in {self.layers[-1].activation, *last, end}:
                loss.check_output(name)

    @final
    def check_activation(self, layer: int, name: str) -> int:
        """Return the index of a `layer`; raise InputError if it cannot have activation `name`."""
        count = len(self.layers)
        if not count:
            raise InputError("a compiled function has no layers whose activation could be changed")
        if not isinstance(layer, (int, np.integer)) or layer not in range(-count, count):
            raise InputError(f"the network has layers 0 to {count - 1}, and no {shorten(layer)}")
        self.layers[layer].check_activation(name)
        return int(layer) % count

    @final
    def places_of(self, layer: int) -> list[int]:
        """Return every index of the layer at index `layer`, which may be used several times."""
        return [i for i, other in enumerate(self.layers) if other is self.layers[layer]]

    @final
    def set_activation(self, layer: int, name: str, *, anew: bool = False) -> None:
        """Set the activation of a layer; forwards that wait for their backward are dropped.

        layer  index of the layer
        name   name of an activation, such as "tanh"
        anew   whether to set it even if the layer has it; by default False

        Raises InputError for a layer without activation, UnknownNameError for an unknown name.
        """
        place = self.check_activation(layer, name)
        if anew or self.layers[place].activation != name:
            self.layers[place].set_activation(name)
            self.program = self._lowered()  # at once: other threads may read it
            self.to(self.engine)


def end_of(program: Program, values: FloatArray) -> str:
    """Return which of ENDS makes all outputs, perhaps with p and 1 - p at last; "" if none does."""
    end = ""
    makers = {each.target: each for each in program.operations}
    reached = [program.outputs]
    for buffer in reached:  # which grows
        made = makers.get(buffer)
        if made is not None and made.formula in ENDS:
            end = made.formula
        elif made is not None and (made.kind in JOINS or turns_round(made, values)):
            reached += [each for each in made.sources if each not in reached]
        else:
            return ""
    return end


def turns_round(made: Operation, values: FloatArray) -> bool:
    """Return whether an operation makes 1 - p of each p."""
    if made.kind != "scale" or made.biases == NONE:
        return False
    gains, shifts = np.split(values[made.weights :][: 2 * (made.biases - made.weights)], 2)
    return bool((gains == -1.0).all() and (shifts == 1.0).all())


class Model(ModelOnEngine):
    """A model that a session can train: a Network, or a compiled Expression.

    inputs, outputs  size of a sample
    layers           in order; empty for an Expression, which is the code of a function
    """

    # zero_grad and step are inherited from Part.

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without keeping anything for `backward`.

        `x` has shape (inputs,), (batch, inputs), or (batch, *input_shape) for pictures.
        """
        batch, single = as_batch(x, self.inputs, self.CALLED, copy=False, picture=self.input_shape)
        return one_or_all(self._engine.evaluate(batch), single)

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and keep what `backward` needs.

        `x` is as in a call; the result has shape (outputs,) or (batch, outputs).
        Raises ShapeError for another shape and NotFiniteError for NaN or infinity.
        """
        batch, single = as_batch(x, self.inputs, self.CALLED, picture=self.input_shape)
        before = self._bank.state.copy()
        outputs = self._engine.forward(batch)
        if lost := self._engine.lost_statistic():
            self._bank.state[:] = before
            self._engine.forget()
            raise lost_by_forward(lost)
        result = one_or_all(outputs, single)
        self._waiting.append((result, single))
        return result

    @final
    def backward(self, upstream: object = None) -> FloatArray:
        """Add to the gradients for the newest unmatched forward; return those of its inputs.

        `upstream` is the gradient with respect to the outputs, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError for another shape.
        """
        if upstream is None:
            if any(JUDGED.get(id(each)) is each for each, _ in self._waiting[-1:]):
                caution(
                    "backward took ones, the gradient of the sum of the outputs, and not that of "
                    "the loss: write net.backward(loss.backward()), after loss.forward"
                )
            batch, single = self._ones()
        else:
            who = f"backward of {self.CALLED}"
            batch, single = as_batch(upstream, self.outputs, who, finite=False)
        self._engine.check_backward(len(batch))
        by_inputs = self._engine.backward(batch)
        del self._waiting[-1:]
        return one_or_all(by_inputs, single)


def one_or_all(rows: FloatArray, single: bool) -> FloatArray:
    """Return the only row for a single sample, else all rows."""
    result: FloatArray = rows[0] if single else rows
    return result
