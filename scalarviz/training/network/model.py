"""Model: base class of Network and Expression, with the four verbs, an engine and a Program."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

from scalarviz.base.attributes import set_known, unknown
from scalarviz.base.checks import FloatArray, Shape, as_batch, one_or_all
from scalarviz.base.messages import caution
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import Wall, start_scaling
from scalarviz.core.formulas.losses import JUDGED, Loss, Weights
from scalarviz.core.layers import Layer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Program
from scalarviz.core.weight import Part
from scalarviz.data.batches import Batches
from scalarviz.engines.engine import Engine, Run, Snapshot
from scalarviz.engines.registry import EngineRow
from scalarviz.errors import lost_by_forward
from scalarviz.training.network.model_queries import check_activation, probabilities, side_by_side


class Model(Part):
    """Base class of models that a session can train: Network and compiled Expression.

    Attributes:
        inputs, outputs: size of a sample
        layers: the layers in order; empty for an Expression
        input_widths: width of each named input of a Network
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    CALLED: ClassVar[str]  # in errors: "the network"

    inputs: int
    outputs: int
    layers: tuple[Layer, ...] = ()
    input_widths: Mapping[str, int] = MappingProxyType({})
    walls: Mapping[str, Wall] = MappingProxyType({})  # of an expression, by name
    _bank: Bank
    _engine: Engine

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without storing anything for `backward`.

        `x` has shape (inputs,), (batch, inputs) or (batch, *input_shape), or is a dict of named
        inputs.
        """
        x = self.input_rows(x)
        batch, single = as_batch(x, self.inputs, self.CALLED, copy=False, picture=self.input_shape)
        return one_or_all(self._engine.evaluate(batch), single)

    @final
    def input_rows(self, x: object) -> Any:
        """Return rows for named inputs `x`, such as {"u": u, "x": x}; others unchanged.

        An input has shape (batch, width), (batch,) if its width is 1, or (width,) for one sample.
        Raises InputError or ShapeError for inputs other than those of `input_widths`.
        """
        return side_by_side(x, self.input_widths, self.CALLED) if isinstance(x, Mapping) else x

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and store the data for `backward`.

        `x` is as in a call; the result has shape (outputs,) or (batch, outputs).
        Raises ShapeError for another shape and NotFiniteError for NaN or infinity.
        """
        x = self.input_rows(x)
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
        """Accumulate gradients for the most recent unmatched forward; return the input gradient.

        `upstream` is the gradient with respect to the outputs, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError for another shape.
        """
        if upstream is None:
            if any(JUDGED.get(id(each)) is each for each, _ in self._waiting[-1:]):
                caution(
                    "backward used ones, the gradient of the sum of the outputs, instead of the "
                    "gradient of the loss: write net.backward(loss.backward()), after "
                    "loss.forward"
                )
            batch, single = self._ones()
        else:
            who = f"backward of {self.CALLED}"
            batch, single = as_batch(upstream, self.outputs, who, finite=False)
        self._engine.check_backward(len(batch))
        by_inputs = self._engine.backward(batch)
        del self._waiting[-1:]
        return one_or_all(by_inputs, single)

    @final
    def forget(self) -> None:
        """Drop all unmatched forwards."""
        self._engine.forget()
        self._waiting.clear()

    # The bank, the program and the engine.

    @final
    @property
    def bank(self) -> Bank:
        return self._bank

    @final
    @property
    def dtype(self) -> str:
        """Dtype of the parameters, "float32" or "float64"."""
        return self._bank.dtype

    @final
    @property
    def engine(self) -> str:
        """Name of the engine that runs the model."""
        return self._engine.name

    @final
    @property
    def precision(self) -> Precision:
        """Precision of the computation."""
        return self._engine.precision

    @cached_property
    def program(self) -> Program:
        """The operations of this model, as run by engines and shown in pictures."""
        return self._lowered()

    @final
    def _run_on(self, row: EngineRow, precision: Precision) -> None:
        """Make the first engine, already checked."""
        self._waiting: list[tuple[FloatArray, bool]] = []  # outputs, and whether for one sample
        self._engine = row.make(self.layers, self.program, self._bank, precision)

    @final
    def to(self, engine: str, precision: str | Precision | None = None) -> Self:
        """Run on another engine from now on, and return the model itself.

        Args:
            engine: "python", "cpu", "cuda" or "auto", the fastest available for one sample
            precision: "full", "mixed" or a Precision; None, the default: unchanged

        Unmatched forwards are dropped. Raises EngineError if the engine is not available or cannot
        run this model in this precision.
        """
        chosen, before = Precision.of(precision or self.precision), self.precision
        row = self._choose(engine, 1, chosen)
        row.check(self._bank, chosen, self.program)
        made = row.make(self.layers, self.program, self._bank, chosen)
        self.forget()
        self._engine = made
        if chosen != before:
            start_scaling(self._bank, chosen)
        return self

    @final
    def run(self, batches: Batches, loss: Loss) -> Run:
        """Return a run of this model on its engine, with `batches` and a `loss`, for a session."""
        return self._engine.run(batches, loss)

    @final
    def loss_on(
        self, inputs: FloatArray, targets: FloatArray, weights: Weights, loss: Loss
    ) -> Callable[[], float]:
        """Return a function that evaluates the `loss` of a batch, for a session.

        It returns `loss(model(inputs), targets, weights)` for the current numbers of the model.
        """
        return self._engine.loss_on(self.input_rows(inputs), targets, weights, loss)

    @final
    def survey(self, inputs: FloatArray) -> dict[str, FloatArray]:
        """Return the values of all neurons for some samples, for a picture.

        Args:
            inputs: shape (samples, inputs)

        Returns arrays of shape (samples, neurons) by buffer name; for an expression all values of
        its trace, as "values".
        """
        return self._engine.survey(inputs)

    @final
    def snapshot(self) -> Snapshot:
        """Return a Snapshot of the current numbers.

        `request()` requests a copy and `ready` is whether it has arrived, neither of which blocks;
        `read()` and `await` wait for it. Use `Session.snapshot` while a session trains this model.
        """
        return self._engine.snapshot()

    @final
    def predict_proba(self, x: object) -> FloatArray:
        """Return the class probabilities for `x`, without storing anything.

        Outputs that are logits are passed through softmax, or sigmoid for a single output. The
        outputs of a network that ends with sigmoid or softmax, or with the pair p and 1 - p as in
        binary scikit-learn models, are returned unchanged. `x` is as in a call.
        """
        return probabilities(self, x)

    # Layers and parameters.

    @final
    @property
    def input_shape(self) -> Shape:
        """Shape (channels, height, width) of a sample that is a picture, else ().

        Arrays of pictures, (batch, *input_shape), become rows in C order; a single channel can be
        omitted.
        """
        return self.layers[0].input_shape if self.layers else ()

    @property
    def all_walls(self) -> Mapping[str, Wall]:
        """Its walls, and a wall of the unnamed parameters."""
        return self.walls

    @final
    @property
    def activations(self) -> tuple[str, ...]:
        """Name of the activation of each layer."""
        return tuple([layer.activation for layer in self.layers])

    @final
    def set_activation(self, layer: int, name: str, *, anew: bool = False) -> None:
        """Set the activation of a layer; unmatched forwards are dropped.

        Args:
            layer: index of the layer
            name: name of an activation, such as "tanh"
            anew: whether to set it even if unchanged; by default False

        Raises InputError for a layer without activation, UnknownNameError for an unknown name.
        """
        place = check_activation(self, layer, name)
        if anew or self.layers[place].activation != name:
            self.layers[place].set_activation(name)
            self.program = self._lowered()  # at once: other threads may read it
            self.to(self.engine)

    # Methods that differ between the subclasses.

    @abstractmethod
    def _lowered(self) -> Program:
        """Return a new program."""

    @abstractmethod
    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        """Return the row of the engine for batches of `samples` samples; raise EngineError."""

    @abstractmethod
    def _ones(self) -> tuple[FloatArray, bool]:
        """Return ones for the most recent unmatched forward, and whether it was a single sample."""

    @abstractmethod
    def name_of(self, row: int) -> str:
        """Return the name of the parameter on a `row` of the bank."""

    @abstractmethod
    def find_rows(self, part: object) -> object:
        """Return the rows of a `part` of this model; return anything else unchanged."""

    @abstractmethod
    def copy(self, dtype: str | None = None) -> Self:
        """Return another model with the same numbers, in `dtype` if given."""
