"""Model: base class of Network and Expression, with forward, backward, zero_grad and step."""

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
        inputs, outputs: number of inputs and outputs of a sample
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
        """Return the outputs for `x`, without storing data for `backward`.

        `x` has shape (inputs,), (batch, inputs) or (batch, *input_shape), or is a dict of named
        inputs.
        """
        x = self.input_rows(x)
        batch, single = as_batch(x, self.inputs, self.CALLED, copy=False, picture=self.input_shape)
        return one_or_all(self._engine.evaluate(batch), single)

    @final
    def input_rows(self, x: object) -> Any:
        """Convert `x`, a dict of named inputs such as {"u": u, "v": v}, to rows; keep other inputs.

        Each named input has shape (batch, width), (batch,) if its width is 1, or (width,) for one
        sample. Raises InputError or ShapeError for inputs that do not match `input_widths`.
        """
        return side_by_side(x, self.input_widths, self.CALLED) if isinstance(x, Mapping) else x

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and store the data for `backward`.

        `x` is as in `__call__`; the result has shape (outputs,) or (batch, outputs). Raises
        ShapeError for another shape, and NotFiniteError for NaN or infinity.
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

        `upstream` is the gradient with respect to the outputs and has their shape; None means ones.
        Raises OrderError if there is no unmatched forward, and ShapeError for another shape.
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
        """Discard the stored data of all forwards that have no backward yet."""
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
        """Precision in which the model is computed."""
        return self._engine.precision

    @cached_property
    def program(self) -> Program:
        """The operations of the model, as engines run them and pictures show them."""
        return self._lowered()

    @final
    def _run_on(self, row: EngineRow, precision: Precision) -> None:
        """Create the first engine, which has already been checked."""
        self._waiting: list[tuple[FloatArray, bool]] = []  # outputs, and whether for one sample
        self._engine = row.make(self.layers, self.program, self._bank, precision)

    @final
    def to(self, engine: str, precision: str | Precision | None = None) -> Self:
        """Switch to another engine, and return the model itself.

        Args:
            engine: "python", "cpu", "cuda" or "auto"; "auto" chooses the fastest available engine
                for one sample
            precision: "full", "mixed" or a Precision; None (default) keeps the precision

        Forwards without a backward are discarded. Raises EngineError if the engine is not available
        or cannot run this model in this precision.
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
        """Return a Run, which trains this model on its engine with `batches` and a `loss`."""
        return self._engine.run(batches, loss)

    @final
    def loss_on(
        self, inputs: FloatArray, targets: FloatArray, weights: Weights, loss: Loss
    ) -> Callable[[], float]:
        """Return a function that computes the `loss` of a batch for the current weights.

        Each call returns `loss(model(inputs), targets, weights)`.
        """
        return self._engine.loss_on(self.input_rows(inputs), targets, weights, loss)

    @final
    def survey(self, inputs: FloatArray) -> dict[str, FloatArray]:
        """Return the values of all neurons for some samples, for display.

        Args:
            inputs: array of shape (samples, inputs)

        Returns arrays of shape (samples, neurons) by buffer name. For an expression, the array
        "values" contains all values of the trace.
        """
        return self._engine.survey(inputs)

    @final
    def snapshot(self) -> Snapshot:
        """Return a Snapshot, which copies the current numbers of the model on request.

        `request()` starts a copy and `ready` is True once it is complete; neither blocks. `read()`
        and `await` wait for the copy. Use `Session.snapshot` while a session trains this model.
        """
        return self._engine.snapshot()

    @final
    def predict_proba(self, x: object) -> FloatArray:
        """Return the class probabilities for `x`, without storing anything.

        Logits are passed through softmax, or through sigmoid for a single output. The outputs are
        returned unchanged if the network ends with sigmoid or softmax, or with a pair p and 1 - p
        as in binary scikit-learn models. `x` is as in `__call__`.
        """
        return probabilities(self, x)

    # Layers and parameters.

    @final
    @property
    def input_shape(self) -> Shape:
        """Shape (channels, height, width) of a sample if samples are pictures, otherwise ().

        Arrays of shape (batch, *input_shape) are flattened to rows; one channel can be omitted.
        """
        return self.layers[0].input_shape if self.layers else ()

    @property
    def all_walls(self) -> Mapping[str, Wall]:
        """Arrays of parameters drawn as walls of cubes, by name, including unnamed parameters."""
        return self.walls

    @final
    @property
    def activations(self) -> tuple[str, ...]:
        """Names of the activations, one for each layer."""
        return tuple([layer.activation for layer in self.layers])

    @final
    def set_activation(self, layer: int, name: str, *, anew: bool = False) -> None:
        """Set the activation of a layer, and discard forwards without a backward.

        Args:
            layer: index of the layer
            name: name of an activation, such as "tanh"
            anew: whether to set it again even if the name is unchanged; False by default

        Raises InputError for a layer without an activation, UnknownNameError for an unknown name.
        """
        place = check_activation(self, layer, name)
        if anew or self.layers[place].activation != name:
            self.layers[place].set_activation(name)
            self.program = self._lowered()  # at once: other threads may read it
            self.to(self.engine)

    # Methods that differ between the subclasses.

    @abstractmethod
    def _lowered(self) -> Program:
        """Lower the model to a new Program."""

    @abstractmethod
    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        """Return the engine to use for batches of `samples` samples, or raise EngineError."""

    @abstractmethod
    def _ones(self) -> tuple[FloatArray, bool]:
        """Return ones in the shape of the latest unmatched outputs; True if `x` was one sample."""

    @abstractmethod
    def name_of(self, row: int) -> str:
        """Return the name of the parameter in a `row` of the bank."""

    @abstractmethod
    def find_rows(self, part: object) -> object:
        """Return the bank rows of a `part` of this model; return any other object unchanged."""

    @abstractmethod
    def copy(self, dtype: str | None = None) -> Self:
        """Return a copy of the model with the same numbers, converted to `dtype` if given."""
