"""What every layer is: numbers in, numbers out, the four verbs, and rows of a bank."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.checks.attributes import set_known
from scalarviz.checks.numbers import FloatArray, answered, as_array, as_batch, size
from scalarviz.errors import InputError, OrderError, OwnershipError, ShapeError, lost_by_forward
from scalarviz.formulas.initializers import Init
from scalarviz.layers.perceptron import Perceptron
from scalarviz.leaf_calls import layer_html
from scalarviz.model.bank import ROW_NAME, SCALING, Bank
from scalarviz.model.operations import Shape
from scalarviz.model.program import Program
from scalarviz.model.weight import Part, Weight

Batch = list[list[float]]  # one row a sample, as plain Python floats


class Layer(Part):
    """A layer: `inputs` numbers a sample come in, `outputs` numbers go out.

    A new kind of layer says what it does with a batch in the three `*_rows` methods, and how it is
    made and lowered. One with parameters also says how many rows of the bank it needs, how they
    begin and what they are called. All else is here, once.

    A layer that is used by itself makes a bank of its own, in float64. In a network it stands on
    the network's bank. A layer with a bank of its own can still join a network as long as nothing
    was computed, changed or made on that bank; the arrays of that bank become read-only then.

    inputs      numbers of a sample that come in, at least 1
    outputs     numbers of a sample that go out, at least 1
    activation  name of a row of formulas/activations.py; by default "linear"
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __setattr__ = set_known

    def __init_subclass__(cls) -> None:
        if "__init__" in vars(cls):
            cls.__init__ = answered(cls.__init__)  # type: ignore[method-assign]  # the same arguments

    def __init__(self, inputs: int, outputs: int, activation: str = "linear") -> None:
        self.inputs = size(inputs, f"the inputs of {type(self).__name__}")
        self.outputs = size(outputs, f"the outputs of {type(self).__name__}")
        self._activation = activation
        self.size = 0  # how many parameters; a layer that has some says so
        self.first_row = 0
        self.state_size = 0  # how many numbers of the bank's state
        self.first_state = 0
        # Where its numbers are a picture: channels, height, width.
        self.input_shape: Shape = ()
        self.output_shape: Shape = ()
        self.layers: tuple[Layer, ...] = ()  # that it is made of, if it is
        self._bank: Bank | None = None
        self._has_own_bank = False
        # What no backward has matched yet: the size of each batch, and what `forward_rows` of a
        # layer kept for each sample.
        self._batches: list[int] = []
        self.kept: list[Any] = []

    @final
    @property
    def activation(self) -> str:
        """The name of the activation, for layers that have one; else "linear"."""
        return self._activation

    def check_activation(self, name: str) -> None:
        """Raise InputError if this layer cannot have the activation `name`."""
        if name != self._activation:
            raise InputError(
                f"{self} has no activation that could be changed: choose a layer that has one, "
                "such as Dense, Conv2d or Activation"
            )

    def set_activation(self, name: str) -> None:
        """Replace the activation by the one called `name`; InputError if there can be none."""
        self.check_activation(name)

    # What a new layer says about itself.

    def initialize(self, init: Init, seed: int) -> None:
        """Write the initial numbers of `init` and `seed` into this layer's rows, if it has any."""

    def row_name(self, row: int) -> str:
        """The name of a parameter; `row` counts from the layer's first."""
        raise IndexError(f"{self} has no parameters")

    def state_name(self, place: int) -> str:
        """The name of a number of the state; `place` counts from the layer's first."""
        raise IndexError(f"{self} keeps nothing of its batches")

    def weight(self, row: int) -> Weight:
        """The Weight on a row, made when first used; `row` counts from the layer's first."""
        raise IndexError(f"{self} has no parameters")

    def check_states(self, states: FloatArray) -> None:
        """Refuse states that came from a file and that this layer cannot have.

        `states` has the whole state of a bank in each row.
        """
        if not np.isfinite(self.own_states(states)).all():
            raise InputError(f"what {self} has kept is not finite")
        for layer in self.layers:
            layer.check_states(states)

    @final
    def own_states(self, states: FloatArray) -> FloatArray:
        """This layer's columns of whole `states`, shape (steps, state)."""
        return states[:, self.first_state : self.first_state + self.state_size]

    def made_parts(self) -> Sequence[Perceptron | Weight | Layer]:
        """The objects that do the work, perceptrons or weights, as far as they were made."""
        return ()

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The arguments that make another layer of this kind and shape."""

    def again(self) -> Layer:
        """Another layer of this kind and shape, which stands on no bank yet."""
        return type(self)(**self.settings())

    @abstractmethod
    def lower(self, program: Program) -> None:
        """Append the operations of this layer to a `program`."""

    @abstractmethod
    def forward_rows(self, batch: Batch) -> Batch:
        """The outputs of a `batch`, a list of samples; what backward needs is kept on stacks."""

    @abstractmethod
    def backward_rows(self, upstream: Batch) -> Batch:
        """Take the newest batch off the stacks, last sample first.

        `upstream` is the gradient by its outputs; returns the gradient by its inputs.
        """

    @abstractmethod
    def evaluate_rows(self, batch: Batch) -> Batch:
        """The outputs of a `batch`, a list of samples, with nothing kept."""

    # The four verbs, for users.

    @final
    def __call__(self, x: object) -> FloatArray:
        """The outputs for one sample or a batch, with nothing kept for a backward."""
        batch, single = as_batch(x, self.inputs, str(self))
        dtype = self.bank.dtype
        result = as_array(self.evaluate_rows(batch.tolist()), dtype)
        return result[0] if single else result

    @final
    def forward(self, x: object) -> FloatArray:
        """The outputs for one sample or a batch; what `backward` needs is remembered.

        `x` has the shape (inputs,) or (batch, inputs), and the result (outputs,) or (batch,
        outputs). Raises ShapeError for another shape and NotFiniteError for NaN or infinity.
        """
        batch, single = as_batch(x, self.inputs, str(self))
        dtype, before = self.bank.dtype, self.state.copy()
        result = as_array(self.forward_batch(batch.tolist()), dtype)
        if lost := self.lost_statistic():
            self.state[:] = before
            self.forget()
            raise lost_by_forward(lost)
        return result[0] if single else result

    @final
    def backward(self, upstream: object = None) -> FloatArray:
        """Add to the gradients, for the newest unmatched forward; return that by its inputs.

        `upstream` is the gradient by the outputs, of the outputs' shape; None means ones.
        """
        if upstream is None:
            upstream = np.ones((self.newest_batch, self.outputs))
        batch, single = as_batch(upstream, self.outputs, f"backward of {self}", finite=False)
        self.check_backward(len(batch))
        result = as_array(self.backward_batch(batch.tolist()), self.bank.dtype)
        return result[0] if single else result

    # Being part of a network, or alone.

    @final
    @property
    def bank(self) -> Bank:
        """The bank this layer stands on; one of its own if it is in no network."""
        return self.bind_alone()

    @final
    def bind_alone(self) -> Bank:
        """Stand on a bank of its own, unless this layer stands on a bank already; that bank."""
        if self._bank is not None:
            return self._bank
        bank = Bank(self.size, "float64", self.state_size)
        self.bind(bank, 0, Init(), 0)
        bank.name_of = self._name_on_bank
        self._has_own_bank = True
        return bank

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy of a layer by itself names the rows of its copy of the bank."""
        self.__dict__.update(state)
        if self._bank is not None and self._bank.name_of is ROW_NAME:
            self._bank.name_of = self._name_on_bank

    def _name_on_bank(self, row: int) -> str:
        own = self.first_row <= row < self.first_row + self.size
        return self.row_name(row - self.first_row) if own else ROW_NAME(row)

    @final
    @property
    def rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.size)

    @final
    def bind(
        self, bank: Bank, first_row: int, init: Init, seed: int, first_state: int = SCALING
    ) -> None:
        """Move to rows of a bank, and write the initial numbers there.

        bank         the Bank of a network
        first_row    the first of this layer's rows
        init, seed   initializer and seed of the numbers
        first_state  the first of this layer's places in the state; by default the first after
                     `scaling`

        Raises OwnershipError if the layer belongs to a network, or was used by itself.
        """
        self.check_free()
        if self._bank is not None:
            self._leave_own_bank(self._bank)
        self._bank = bank
        self.first_row = first_row
        self.first_state = first_state
        self.initialize(init, seed)

    @final
    @property
    def state(self) -> FloatArray:
        """What it keeps that is no parameter."""
        return self.bank.state[self.first_state : self.first_state + self.state_size]

    @final
    def check_free(self) -> None:
        """Raise OwnershipError if this layer, or one that it is made of, stands on a bank already.

        A bank of its own that is as it was made does not count.
        """
        if self._has_own_bank and self._is_as_made():
            return
        for layer in self.layers:
            layer.check_free()
        if self._bank is not None:
            raise OwnershipError(
                f"{self} has its numbers already, from another network or from being used by "
                "itself: make a new layer"
            )

    @final
    def _is_as_made(self) -> bool:
        """Whether nothing was computed, changed or made on its own bank."""
        if self._is_in_use():
            return False
        bank, new = self.bank, self.again().bank
        changed = bank.grad.any() or bank.frozen.any() or bank.step_count
        return not changed and all(
            np.array_equal(old, made)
            for old, made in ((bank.value, new.value), (bank.state, new.state))
        )

    @final
    def _is_in_use(self) -> bool:
        """Whether a forward waits, or weights were made, here or in a layer that it is made of."""
        parts = self.made_parts()
        return bool(self._batches) or any(
            not isinstance(part, Layer) or part._is_in_use() for part in parts
        )

    @final
    def _leave_own_bank(self, bank: Bank) -> None:
        """Stand on no bank; who still holds `bank` cannot write into it in vain."""
        for array in (bank.value, bank.grad, bank.frozen, bank.state):
            array.flags.writeable = False
        self._bank, self._has_own_bank = None, False
        for layer in self.layers:
            layer._leave_own_bank(bank)

    # What waits for its backward.

    @final
    def lost_statistic(self) -> str:
        """The first number of its state that is not finite, by name, and what it is; or ""."""
        bad = np.flatnonzero(~np.isfinite(self.state))
        return f"{self.state_name(int(bad[0]))} {self.state[bad[0]]}" if bad.size else ""

    @final
    @property
    def newest_batch(self) -> int:
        """How many samples the newest unmatched forward had."""
        if not self._batches:
            raise OrderError(f"backward of {self} without a forward: call forward first")
        return self._batches[-1]

    @final
    @property
    def unmatched(self) -> int:
        """How many samples wait for their backward, here and in every part."""
        own = sum(self._batches)
        return min([own, *[part.unmatched for part in self.made_parts()]])

    @final
    def forward_batch(self, batch: Batch) -> Batch:
        """`forward` of a `batch` of numbers that were checked already."""
        result = self.forward_rows(batch)
        self._batches.append(len(batch))
        return result

    @final
    def backward_batch(self, upstream: Batch) -> Batch:
        """`backward` of an `upstream` gradient that was checked already."""
        self._batches.pop()
        return self.backward_rows(upstream)

    @final
    def check_backward(self, samples: int, uses: int = 1) -> None:
        """Raise OrderError or ShapeError if a backward does not fit the newest `uses` forwards.

        `samples` is the number of rows of its gradient.
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
        """Drop everything that waits for a backward."""
        self._batches.clear()
        self.kept.clear()
        for part in self.made_parts():
            part.forget()

    @final
    def __str__(self) -> str:
        return f"{type(self).__name__}({self.inputs} -> {self.outputs})"

    @final
    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self.settings().items())
        return f"{type(self).__name__}({settings})"

    @final
    def _repr_html_(self) -> str:
        return layer_html(self)
