"""Layer: base class of all layers, with forward, backward, a bank, and stacks for backward."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.attributes import OURS, set_known
from scalarviz.base.checks import FloatArray, answered, as_array, as_batch, require, shorten
from scalarviz.core.bank import ROW_NAME, SCALING, Bank
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers import custom_layers
from scalarviz.core.layers.parameters import (
    ParameterArray,
    check_free,
    leave_bank,
    own_parameters,
    own_states,
)
from scalarviz.core.layers.shapes import numbers_of
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import Program, Shape
from scalarviz.core.weight import Part, Weight
from scalarviz.errors import OrderError, ShapeError, lost_by_forward

Batch = list[list[float]]  # one row per sample, as plain Python floats

FEW = 9  # longest setting, in numbers, shown in the text of a layer


class Layer(Part):
    """A layer that maps `inputs` numbers of a sample to `outputs` numbers.

    A subclass defines the computation on a batch, in `forward_rows` and `backward_rows`, and the
    arguments of an identical layer, in `settings`; engines with kernels use `lower`, if defined.
    The results of its methods are checked. See docs/guide/extending.md for an example.

    A layer used outside a network makes a separate float64 bank; in a network it uses the bank of
    the network. It can join a network as long as its separate bank has not been used; the arrays of
    that bank then become read-only.

    Args:
        inputs: number of inputs, at least 1, or the shape (channels, height, width) of a picture
        outputs: number of outputs, at least 1, or the shape of a picture
        activation: name of a row of core/formulas/activations.py; by default "linear"
        parameters: shape of each parameter array by name; by default no parameters
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __setattr__ = set_known

    def __init__(
        self,
        inputs: int | Sequence[int],
        outputs: int | Sequence[int],
        activation: str = "linear",
        *,
        parameters: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> None:
        kind = type(self).__name__
        # The shapes are (channels, height, width) for pictures, else ().
        self.input_shape, self.inputs = numbers_of(inputs, f"the inputs of {kind}")
        self.output_shape, self.outputs = numbers_of(outputs, f"the outputs of {kind}")
        self._activation = activation
        self._shapes = custom_layers.shapes_of(parameters, kind)
        # Number of parameters, set by subclasses that do not pass `parameters`.
        self.size = sum(map(prod, self._shapes.values()))
        self.first_row = 0
        self.state_size = 0  # length of its part of the bank's state; set by subclasses
        self.first_state = 0
        self.layers: tuple[Layer, ...] = ()  # inner layers, e.g. of a Residual
        self._bank: Bank | None = None
        self._has_own_bank = False
        self._has_lent = False  # whether views of the bank were handed out
        self._weights: dict[int, Weight] = {}  # weights made by `weight`
        # For each unmatched forward: the batch size, and the data stored by `forward_rows`.
        self._batches: list[int] = []
        self.kept: list[Any] = []

    @abstractmethod
    def forward_rows(self, batch: Batch) -> Batch:
        """Return the outputs of a `batch`, a list of samples; store data for `backward_rows`."""

    @abstractmethod
    def backward_rows(self, upstream: Batch) -> Batch:
        """Return the gradient of the inputs of the most recent stored batch, and drop its data.

        `upstream` is the gradient with respect to the outputs. Gradients of parameters are added to
        the bank. The stacks are popped from the last sample to the first.
        """

    def evaluate_rows(self, batch: Batch) -> Batch:
        """Return the outputs of a `batch` like `forward_rows`, without storing anything."""
        return custom_layers.evaluated(self, batch)

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the constructor arguments that make another layer of this kind and shape."""

    def again(self) -> Layer:
        """Return another layer of this kind and shape, without a bank."""
        return type(self)(**self.settings())

    def lower(self, program: Program) -> None:
        """Append the operations of the layer to `program`; by default one that runs Python code."""
        custom_layers.lower_as_python(self, program)

    # The methods for users; zero_grad and step are inherited from Part.

    @final
    def __call__(self, x: object) -> FloatArray:
        """Return the outputs for `x`, without storing anything for `backward`.

        `x` has shape (inputs,), (batch, inputs) or (batch, *input_shape).
        """
        batch, single = as_batch(x, self.inputs, str(self), picture=self.input_shape)
        dtype = self.bank.dtype
        result = as_array(self.evaluate_rows(batch.tolist()), dtype)
        return result[0] if single else result

    @final
    def forward(self, x: object) -> FloatArray:
        """Return the outputs for `x`, and store the data for `backward`.

        `x` has shape (inputs,) or (batch, inputs), the result (outputs,) or (batch, outputs).
        Raises ShapeError if the shape does not fit, and NotFiniteError for NaN or infinity.
        """
        batch, single = as_batch(x, self.inputs, str(self), picture=self.input_shape)
        dtype, before = self.bank.dtype, self.state.copy()
        result = as_array(self.forward_batch(batch.tolist()), dtype)
        if lost := self.lost_statistic():
            self.state[:] = before
            self.forget()
            raise lost_by_forward(lost)
        return result[0] if single else result

    @final
    def backward(self, upstream: object = None) -> FloatArray:
        """Accumulate gradients for the most recent unmatched forward; return the input gradient.

        `upstream` is the gradient with respect to the outputs, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError if the shape does not fit.
        """
        if upstream is None:
            upstream = np.ones((self.newest_batch, self.outputs))
        batch, single = as_batch(upstream, self.outputs, f"backward of {self}", finite=False)
        self.check_backward(len(batch))
        result = as_array(self.backward_batch(batch.tolist()), self.bank.dtype)
        return result[0] if single else result

    # Unmatched forwards.

    @final
    @property
    def newest_batch(self) -> int:
        """Number of samples of the most recent unmatched forward; raises OrderError without one."""
        if not self._batches:
            raise OrderError(f"backward of {self} without a forward: call forward first")
        return self._batches[-1]

    @final
    @property
    def unmatched(self) -> int:
        """Number of samples whose forwards are unmatched in this layer and all its parts."""
        return min([sum(self._batches), *[part.unmatched for part in self.made_parts()]])

    @final
    def forward_batch(self, batch: Batch) -> Batch:
        """Run `forward` on a `batch` that has been checked."""
        result = self.forward_rows(batch)
        self._batches.append(len(batch))
        return result

    @final
    def backward_batch(self, upstream: Batch) -> Batch:
        """Run `backward` on an `upstream` gradient that has been checked."""
        self._batches.pop()
        return self.backward_rows(upstream)

    @final
    def check_backward(self, samples: int, uses: int = 1) -> None:
        """Raise OrderError or ShapeError if a gradient does not match the last `uses` forwards.

        `samples` is the number of rows of the gradient.
        """
        waiting = self._batches[-uses:]
        if len(waiting) < uses or self.unmatched < sum(waiting):
            raise OrderError(f"backward of {self} without a forward: call forward first")
        if any(batch != samples for batch in waiting):
            raise ShapeError(
                f"{self} was last given {waiting[-1]} samples, and its backward {samples}: pass "
                "one row of upstream gradients for each sample"
            )

    @final
    def forget(self) -> None:
        """Drop all unmatched forwards."""
        self._batches.clear()
        self.kept.clear()
        for part in self.made_parts():
            part.forget()

    # The bank, separate or of the network.

    @final
    @property
    def bank(self) -> Bank:
        """The bank of the network, or outside of networks a separate bank, created on first use."""
        if self._bank is not None:
            return self._bank
        bank = Bank(self.size, "float64", self.state_size)
        self.bind(bank, 0, Init(), 0)
        bank.name_of = self._name_on_bank
        self._has_own_bank = True
        return bank

    @final
    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.size)

    @final
    def bind(
        self, bank: Bank, first_row: int, init: Init, seed: int, first_state: int = SCALING
    ) -> None:
        """Move the layer to rows of a bank, and write its initial numbers.

        Args:
            bank: the Bank of a network
            first_row: first row of this layer
            init, seed: initializer and seed of the numbers
            first_state: first index of this layer in the state; by default the first after
                `scaling`

        Raises OwnershipError if the layer belongs to a network, or was used outside one.
        """
        check_free(self)
        if self._bank is not None:
            leave_bank(self, self._bank)
        self._bank = bank
        self.first_row = first_row
        self.first_state = first_state
        lent = self._has_lent
        self.initialize(init, seed)
        self._has_lent = lent  # the arrays written to were private

    @final
    @property
    def state(self) -> FloatArray:
        """This layer's part of `bank.state`, float64: non-parameter state such as running means."""
        return self.bank.state[self.first_state : self.first_state + self.state_size]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a copy; its separate bank gets the row names from the copy."""
        self.__dict__.update(state)
        if self._bank is not None and self._bank.name_of is ROW_NAME:
            self._bank.name_of = self._name_on_bank

    def _name_on_bank(self, row: int) -> str:
        own = self.first_row <= row < self.first_row + self.size
        return self.row_name(row - self.first_row) if own else ROW_NAME(row)

    # Parameters and state.

    def initialize(self, init: Init, seed: int) -> None:
        """Write the initial numbers of `init` and `seed` into this layer's rows.

        By default the `parameters` are initialized, and "bias" gets the numbers for biases.
        """
        custom_layers.draw_arrays(self, init, seed, (self.inputs, self.outputs))

    @final
    def parameter(self, name: str) -> ParameterArray:
        """Return the parameter array called `name`, whose `value` and `grad` are numpy arrays.

        Raises UnknownNameError for a name that is not in `parameter_shapes`.
        """
        self._has_lent = True
        return pick(own_parameters(self), name, f"parameter of {self}:")

    def parameter_shapes(self) -> dict[str, Shape]:
        """Return the shapes of the parameter arrays by name, in the order of their rows.

        By default these are the shapes in `parameters`, or of a single array "weight" if a layer
        without inner layers has no `parameters`.
        """
        if self._shapes:
            return dict(self._shapes)
        return {"weight": (self.size,)} if self.size and not self.layers else {}

    def state_shapes(self) -> dict[str, Shape]:
        """Return the shapes of the state arrays by name, in order."""
        return {"state": (self.state_size,)} if self.state_size and not self.layers else {}

    def weight(self, row: int) -> Weight:
        """Return the Weight on a `row` of the layer, counted from 0; it is created on first use."""
        self.row_name(row)  # raises IndexError
        self._has_lent = True
        return self._weights.setdefault(row, Weight.on(self.bank, self.first_row + row))

    def made_parts(self) -> Sequence[Perceptron | Weight | Layer]:
        """Return the perceptrons, weights or inner layers created so far."""
        return ()

    def check_states(self, states: FloatArray) -> None:
        """Raise InputError if states read from a file are invalid for this layer.

        `states` has shape (steps, state): each row is the complete state of a bank.
        """
        require(np.isfinite(own_states(self, states)).all(), f"what {self} has kept is not finite")
        for layer in self.layers:
            layer.check_states(states)

    @final
    def lost_statistic(self) -> str:
        """Return name and value of the first non-finite number of the state, or ""."""
        bad = np.flatnonzero(~np.isfinite(self.state))
        return f"{self.state_name(int(bad[0]))} {self.state[bad[0]]}" if bad.size else ""

    # Names, texts and the activation.

    def row_name(self, row: int) -> str:
        """Return the name of a parameter, e.g. "slope 2"; `row` is its index in the layer."""
        return custom_layers.name_by_shape(self, row)

    def state_name(self, place: int) -> str:
        """Return the name of a number of the state; `place` is its index in the layer's state."""
        raise IndexError(f"{self} keeps no state between batches")

    @final
    @property
    def activation(self) -> str:
        """Name of the activation; "linear" for layers without one."""
        return self._activation

    def check_activation(self, name: str) -> None:
        """Raise InputError if this layer cannot have the activation `name`."""
        require(
            name == self._activation,
            f"{self} has no activation to change: choose a layer with an activation, such as "
            "Dense, Conv2d or Activation",
        )

    def set_activation(self, name: str) -> None:
        """Set the activation, such as "tanh".

        Raises InputError if the layer has no activation, UnknownNameError if `name` is unknown.
        """
        self.check_activation(name)

    @final
    def __str__(self) -> str:
        return f"{type(self).__name__}({self.inputs} -> {self.outputs})"

    @final
    def __repr__(self) -> str:
        settings = ", ".join(
            f"{key}={shorten(value) if isinstance(value, list) and len(value) > FEW else value!r}"
            for key, value in self.settings().items()
        )
        return f"{type(self).__name__}({settings})"

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            cls.__init__ = answered(cls.__init__)  # type: ignore[method-assign]  # the same arguments
        if not cls.__module__.startswith(OURS):
            custom_layers.adopt(cls)
