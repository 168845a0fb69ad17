"""Model: the base of Network and Expression: the four verbs, an engine and a Program."""

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
    """A model that a session can train: a Network, or a compiled Expression.

    Attributes:
        inputs, outputs: size of a sample
        layers: in order; empty for an Expression, which is the code of a function
        input_widths: width of each input by name, of a Network whose inputs have names
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    CALLED: ClassVar[str]  # in errors: "the network"

    inputs: int
    outputs: int
    layers: tuple[Layer, ...] = ()
    input_widths: Mapping[str, int] = MappingProxyType({})
    walls: Mapping[str, Wall] = MappingProxyType({})  # of an expression, by names
    _bank: Bank
    _engine: Engine

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without keeping anything for `backward`.

        `x` has shape (inputs,), (batch, inputs) or (batch, *input_shape), or is a dict by name.
        """
        x = self.input_rows(x)
        batch, single = as_batch(x, self.inputs, self.CALLED, copy=False, picture=self.input_shape)
        return one_or_all(self._engine.evaluate(batch), single)

    @final
    def input_rows(self, x: object) -> Any:
        """Return rows of inputs by name, of `x` such as {"u": u, "x": x}; others as they are.

        An input has shape (batch, width), (batch,) if its width is 1, or (width,) for one sample.
        Raises InputError or ShapeError for inputs other than those of `input_widths`.
        """
        return side_by_side(x, self.input_widths, self.CALLED) if isinstance(x, Mapping) else x

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and keep what `backward` needs.

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

    @final
    def forget(self) -> None:
        """Drop all forwards that wait for their backward."""
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
    def _run_on(self, row: EngineRow, precision: Precision) -> None:
        """Make the first engine, which has been checked."""
        self._waiting: list[tuple[FloatArray, bool]] = []  # outputs, and whether of one sample
        self._engine = row.make(self.layers, self.program, self._bank, precision)

    @final
    def to(self, engine: str, precision: str | Precision | None = None) -> Self:
        """Run on another engine from now on, and return the model itself.

        Args:
            engine: "python", "cpu", "cuda" or "auto", the fastest here for one sample
            precision: "full", "mixed" or a Precision; None, the default: unchanged

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
            start_scaling(self._bank, chosen)
        return self

    @final
    def run(self, batches: Batches, loss: Loss) -> Run:
        """Return a run of this model on its engine, on `batches` with a `loss`, for a session."""
        return self._engine.run(batches, loss)

    @final
    def loss_on(
        self, inputs: FloatArray, targets: FloatArray, weights: Weights, loss: Loss
    ) -> Callable[[], float]:
        """Return a function that evaluates the `loss` of a batch, for a session.

        It returns `loss(model(inputs), targets, weights)` for the numbers of the model at its call.
        """
        return self._engine.loss_on(self.input_rows(inputs), targets, weights, loss)

    @final
    def survey(self, inputs: FloatArray) -> dict[str, FloatArray]:
        """Return the numbers of all neurons for some samples, for a picture.

        Args:
            inputs: shape (samples, inputs)

        Returns arrays of shape (samples, neurons) by the names of the buffers of its program; of an
        expression all values of its trace, as "values".
        """
        return self._engine.survey(inputs)

    @final
    def snapshot(self) -> Snapshot:
        """Return a Snapshot of the current numbers.

        Its `request()` asks for a copy and `ready` says whether it has arrived, both at once;
        `read()` and `await` wait for it. Use `Session.snapshot` while a session trains this model.
        """
        return self._engine.snapshot()

    @final
    def predict_proba(self, x: object) -> FloatArray:
        """Return the probabilities of the classes for `x`, without keeping anything.

        They are the softmax of the outputs, or the sigmoid of a single one, as the losses
        softmax_cross_entropy and sigmoid_cross_entropy take them; of a network that ends with a
        sigmoid or softmax of its own, its outputs, and so of one that ends with p and 1 - p side
        by side, as models of two classes from scikit-learn do. `x` is as in a call.
        """
        return probabilities(self, x)

    # Layers and parameters.

    @final
    @property
    def input_shape(self) -> Shape:
        """Shape of a sample that is a picture, (channels, height, width), else ().

        Arrays of pictures, (batch, *input_shape), become rows in C order; the channel can be left
        out if there is only one.
        """
        return self.layers[0].input_shape if self.layers else ()

    @property
    def all_walls(self) -> Mapping[str, Wall]:
        """Its walls, and one of the parameters without a name."""
        return self.walls

    @final
    @property
    def activations(self) -> tuple[str, ...]:
        """Name of the activation of each layer."""
        return tuple([layer.activation for layer in self.layers])

    @final
    def set_activation(self, layer: int, name: str, *, anew: bool = False) -> None:
        """Set the activation of a layer; forwards that wait for their backward are dropped.

        Args:
            layer: index of the layer
            name: name of an activation, such as "tanh"
            anew: whether to set it even if the layer has it; by default False

        Raises InputError for a layer without activation, UnknownNameError for an unknown name.
        """
        place = check_activation(self, layer, name)
        if anew or self.layers[place].activation != name:
            self.layers[place].set_activation(name)
            self.program = self._lowered()  # at once: other threads may read it
            self.to(self.engine)

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
        """Return another model with the same numbers, in `dtype` if one is given."""
