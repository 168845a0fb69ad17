"""One bank of numbers, and the Weight: a live object on one row of it.

All parameters of a network live in `Bank.value`, their gradients in `Bank.grad`, one row each. A
`Weight` holds no number of its own: it reads and writes its row. Kernels read and write the same
rows, and the picture is drawn from them, so nothing is ever copied to keep two things alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Literal, TypeVar, final, overload

import numpy as np
import numpy.typing as npt

from scalarviz.checks import FloatArray, number, size
from scalarviz.errors import GradientError, InputError, OrderError
from scalarviz.formulas.optimizers import SGD, Optimizer
from scalarviz.formulas.table import pick

Dtype = Literal["float32", "float64"]
T = TypeVar("T")
Rows = slice | npt.NDArray[np.intp]

DTYPES: dict[str, Dtype] = {"float32": "float32", "float64": "float64"}
DEFAULT_OPTIMIZER = SGD(0.01)


class Bank:
    """All numbers of one network, flat: one row a parameter.

    value, grad     the parameters and their gradients
    frozen          True where a parameter keeps its value
    slots           what optimizers keep for each parameter, by name (Adam's "m" and "v")
    step_count      how many steps were taken
    has_gradients   whether a backward has run since the last zero_grad; set it if you write
                    gradients into `grad` by hand that may all be 0

    The arrays are the same objects for the bank's whole life.
    """

    def __init__(self, rows: int, dtype: str = "float32") -> None:
        self.dtype: Dtype = pick(DTYPES, dtype, "dtype")
        self.value: FloatArray = np.zeros(rows, self.dtype)
        self.grad: FloatArray = np.zeros(rows, self.dtype)
        self.frozen: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)
        self.slots: dict[str, FloatArray] = {}
        self.step_count = 0
        self.has_gradients = False
        self.name_of: Callable[[int], str] = "row {}".format
        self._moved: npt.NDArray[np.bool_] = np.zeros(rows, np.bool_)

    def __len__(self) -> int:
        return len(self.value)

    @staticmethod
    def window(array: FloatArray, row: int) -> memoryview[float]:
        """One number of an array, read and written as `window[()]`.

        Python floats come out of a memoryview several times faster than out of a numpy array.
        """
        code: Literal["f", "d"] = "f" if array.dtype == np.float32 else "d"
        return array.data[row : row + 1].cast("B").cast(code, shape=())

    def slot(self, name: str) -> FloatArray:
        """The optimizer's numbers called `name`, zeros when first asked for."""
        if name not in self.slots:
            self.slots[name] = np.zeros(len(self), self.dtype)
        return self.slots[name]

    def copy_from(self, other: Bank) -> None:
        """Take over all numbers of a bank with as many rows."""
        self.value[:] = other.value
        self.grad[:] = other.grad
        self.frozen[:] = other.frozen
        self.has_gradients = other.has_gradients
        self.step_count = other.step_count
        for name in other.slots:
            self.slot(name)[:] = other.slots[name]

    def zero_grad(self, rows: Rows = slice(None)) -> None:
        """Forget the gradients of some rows, or of all."""
        self.grad[rows] = 0.0
        if len(self.grad[rows]) == len(self):
            self.has_gradients = False

    def step(self, optimizer: Optimizer, rows: Rows) -> None:
        """Move some rows against their gradients, all together; frozen ones stay.

        The step count goes on by one when a row steps again that has stepped already; so stepping
        a network weight by weight, or layer by layer, counts as one step.
        """
        gradients = self.grad[rows]
        if not self.has_gradients and not gradients.any():
            raise OrderError("there are no gradients to step with: call forward and backward first")
        alive = ~self.frozen[rows]
        if optimizer.not_finite == "error":
            self._check_finite(rows, alive)
        scale = optimizer.norm_scale(gradients[alive])
        if self.step_count == 0 or self._moved[rows].any():
            self.step_count += 1
            self._moved[:] = False
        self._moved[rows] = True

        # Everything is computed before anything is written.
        moving = np.arange(len(self))[rows][alive]
        arrays = [self.value, *[self.slot(name) for name in optimizer.row.slots]]
        weights, *kept = [array[moving].tolist() for array in arrays]
        g = optimizer.gradients(self.grad[moving].tolist(), weights, scale)
        arguments = map(repeat, optimizer.arguments(self.step_count - 1))
        moved = map(optimizer.row.update, weights, g, *kept, *arguments)
        with np.errstate(over="ignore"):  # a float32 that grows too large is inf
            for array, column in zip(arrays, zip(*moved, strict=True), strict=False):
                array[moving] = column

    def _check_finite(self, rows: Rows, alive: npt.NDArray[np.bool_]) -> None:
        bad = ~np.isfinite(self.grad[rows]) & alive
        if bad.any():
            row = int(np.arange(len(self))[rows][bad][0])
            raise GradientError(
                f"the gradient of {self.name_of(row)} is {self.grad[row]}, so nothing was changed: "
                "lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
                'not_finite="zero"'
            )

    def __repr__(self) -> str:
        slots = "".join(f", {name}" for name in self.slots)
        return f"Bank({len(self)} rows of {self.dtype}: value, grad{slots}; step {self.step_count})"


class OnDemand(Sequence[T]):
    """A sequence whose items are made when they are first asked for, and kept."""

    def __init__(self, count: int, make: Callable[[int], T]) -> None:
        self._items: list[T | None] = [None] * count
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        item = self._items[index]
        if item is None:
            item = self._items[index] = self._make(range(len(self))[index])
        return item

    def all(self) -> list[T]:
        """Every item; those that were not there yet are made."""
        return self[:]

    def made(self) -> list[T]:
        """The items that are there so far."""
        return [item for item in self._items if item is not None]

    def __repr__(self) -> str:
        return f"[{len(self)} items, {len(self.made())} of them made so far]"


class Part(ABC):
    """Something that stands on rows of a bank: a weight, a perceptron, a layer, a network.

    Two of the four verbs are alike for all of them, and are here; forward and backward are where
    they differ.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def bank(self) -> Bank:
        """The numbers this part stands on."""

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """Which rows of the bank are this part's."""

    @final
    def zero_grad(self) -> None:
        """Forget the gradients, but not what waits for its backward."""
        self.bank.zero_grad(self.rows)

    @final
    def step(self, optimizer: Optimizer | None = None) -> None:
        """Move against the gradients; by plain descent of rate .01 if no optimizer is given."""
        self.bank.step(optimizer or DEFAULT_OPTIMIZER, self.rows)

    @final
    def freeze(self) -> None:
        """Keep these parameters from stepping."""
        self.bank.frozen[self.rows] = True

    @final
    def unfreeze(self) -> None:
        """Let these parameters step again."""
        self.bank.frozen[self.rows] = False

    @final
    @property
    def frozen(self) -> bool:
        """True if no step moves any of these parameters."""
        return bool(self.bank.frozen[self.rows].all())


@final
class Weight(Part):
    """One number that learns: y = w x, and its gradient.

    The four verbs are the whole of backpropagation, for one weight. `backward` multiplies the
    upstream gradient by the input it saw, adds that to `grad`, and hands w times the upstream
    gradient on to whatever the input came from.

    >>> w = Weight(0.5)
    >>> w.forward(3.0)
    1.5
    >>> w.backward(1.0)
    0.5
    >>> w.grad
    3.0
    >>> w.step(SGD(0.1))
    >>> w.value
    0.2
    """

    __slots__ = ("_bank", "_grad", "_inputs", "_value", "index")

    def __init__(self, value: float, *, dtype: str = "float64") -> None:
        bank = Bank(1, dtype)
        bank.value[0] = number(value, "the value of a weight")
        bank.name_of = "the weight".format
        self._bind(bank, 0)

    @classmethod
    def on(cls, bank: Bank, index: int) -> Weight:
        """The weight on one row of a bank that is there already."""
        weight = cls.__new__(cls)
        weight._bind(bank, index)
        return weight

    def _bind(self, bank: Bank, index: int) -> None:
        self._bank = bank
        self.index = index
        self._value = bank.window(bank.value, index)
        self._grad = bank.window(bank.grad, index)
        self._inputs: list[float] = []  # one for each forward that no backward has matched yet

    @property
    def bank(self) -> Bank:
        return self._bank

    @property
    def rows(self) -> slice:
        return slice(self.index, self.index + 1)

    @property
    def value(self) -> float:
        """The number itself."""
        return self._value[()]

    @value.setter
    def value(self, value: float) -> None:
        self._value[()] = number(value, f"the value of {self.name}")

    @property
    def grad(self) -> float:
        """The gradient that has come together since the last zero_grad."""
        return self._grad[()]

    @grad.setter
    def grad(self, grad: float) -> None:
        self._grad[()] = number(grad, f"the gradient of {self.name}")
        self.bank.has_gradients = True

    @property
    def name(self) -> str:
        """Where this weight is: "layer 1, perceptron 2, weight from input 0"."""
        return self.bank.name_of(self.index)

    @property
    def unmatched(self) -> int:
        """How many forwards no backward has matched yet."""
        return len(self._inputs)

    def __call__(self, x: float) -> float:
        """w x, with nothing kept for a backward."""
        return self.evaluate(x)

    def evaluate(self, x: float) -> float:
        """w x, with nothing kept for a backward."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        return result

    def forward(self, x: float) -> float:
        """w x; it remembers x."""
        try:
            result = self._value[()] * x
        except TypeError:
            raise InputError(f"{self.name} takes a number, not {x!r}") from None
        self._inputs.append(x)
        return result

    def backward(self, upstream: float) -> float:
        """Add upstream times the newest unmatched x to the gradient; return upstream times w."""
        try:
            x = self._inputs.pop()
        except IndexError:
            raise OrderError(
                f"backward of {self.name} without a forward: call forward first, once for each"
            ) from None
        self._grad[()] += upstream * x
        self._bank.has_gradients = True
        return self._value[()] * upstream

    def forget(self, count: int | None = None) -> None:
        """Drop the newest `count` inputs that wait for a backward, or all of them."""
        del self._inputs[0 if count is None else max(0, len(self._inputs) - size(count, "count")) :]

    def __repr__(self) -> str:
        frozen = ", frozen" if self.frozen else ""
        return f"Weight({self.name}: value={self.value:.6g}, grad={self.grad:.6g}{frozen})"
