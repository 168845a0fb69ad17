"""compile and Expression: record a function of Values once, and run it on batches with kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from math import prod
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import (
    FloatArray,
    answered,
    as_pairs,
    check_signature,
    listed,
    require,
    shorten,
    size,
    true_or_false,
    widened,
)
from scalarviz.base.leaf_calls import save_expression
from scalarviz.base.messages import visible
from scalarviz.core.bank import DTYPES, Dtype, Rows
from scalarviz.core.bank_arrays import Wall, copy_arrays
from scalarviz.core.bank_values import move_to_bank, place_of
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.losses import AnyLoss, Loss
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.trace import Trace, record_function, recorded_inputs
from scalarviz.core.trace_program import TraceProgram
from scalarviz.core.value import Value
from scalarviz.engines.expression.expression_engine import ExpressionEngine
from scalarviz.engines.registry import EngineRow, choose_for_expression
from scalarviz.errors import OwnershipError
from scalarviz.training.network.model import Model
from scalarviz.training.network.named_arrays import (
    REST,
    LoadedKeys,
    as_arrays,
    copies_of,
    label,
    load_arrays,
    walls_of,
)


@answered
def compile(
    function: Callable[..., Any],
    inputs: int,
    dtype: str = "float64",
    engine: str = "auto",
    parameters: object = None,
) -> Expression:
    """Compile a function of Values into an Expression with forward, backward, zero_grad and step.

    The function is called once, with `inputs` symbolic Values, and returns a Value or a list of
    Values. Its `if` and `for` statements run only in this call; use `where` to branch on numbers.
    Other Values on which the result depends become parameters: they remain the same objects, and
    their `data` and `grad` are up to date after every call.

    Args:
        function: function that takes `inputs` Values
        inputs: number of inputs, at least 1
        dtype: "float64" (default) or "float32"
        engine: "python", "cpu" or "auto"; "auto" (default) chooses the fastest one available
        parameters: mapping from names to parameters, such as {"wte": matrix}; each is a Value, a
            list of Values, or a list of lists of equal length. They become parameters even if the
            function does not use them; pictures show a wall of cubes and `state_dict` contains an
            array for each name. None (default) uses all Values on which the result depends, without
            names

    Returns an Expression. Raises InputError for a function that cannot be recorded, and EngineError
    for the "cuda" engine or an engine that is not available.

    >>> from scalarviz.core.optimizer import SGD
    >>> w, b = Value(2.0), Value(1.0)
    >>> f = compile(lambda x: w * x + b, inputs=1)
    >>> f([[1.0], [2.0]])
    array([[3.],
           [5.]])
    >>> f.forward([3.0])
    array([7.])
    >>> f.backward()
    array([2.])
    >>> w.grad
    3.0
    >>> f.step(SGD(0.5))
    >>> w.data
    0.5
    """
    inputs = size(inputs, "the number of inputs of a compiled function")
    chosen = pick(DTYPES, dtype, "dtype")
    row = choose_for_expression(engine)
    require(
        callable(function),
        f"compile takes a function of Values, not {shorten(function)}: "
        "write compile(lambda x: x * x, inputs=1)",
    )
    given = recorded_inputs(inputs)
    names = [x.label for x in given]
    how = f"lambda {listed(names)}: ..., or the number of its inputs as inputs="
    check_signature(function, names, "a compiled function", how)
    name = getattr(function, "__name__", type(function).__name__)
    arrays = {} if parameters is None else as_arrays(parameters)
    leaves = [value for array in arrays.values() for value in array.flat]
    return Expression(name, record_function(function, given, leaves), chosen, row, arrays)


@final
class Expression(Model):
    """A compiled function of Values, returned by `compile`.

    Calling it only evaluates it; `forward` stores the data for `backward`, and each backward
    consumes the most recent unmatched forward. A batch has shape (samples, inputs) and the result
    (samples, outputs), with one column for each Value that the function returns.

    Attributes:
        parameters: the parameters, named ones first, then others in the order of their first use
        walls: bank position and shape of each named parameter
        bank: the bank that stores the parameters, in the rows `rows`
        recording: the recorded function as a Trace, which is a table of operations
    """

    CALLED = "the expression"

    _engine: ExpressionEngine[Any]

    def __init__(
        self,
        name: str,
        recording: Trace,
        dtype: Dtype,
        engine: EngineRow,
        arrays: Mapping[str, npt.NDArray[Any]],
    ) -> None:
        self.name = name
        self.recording = recording
        self.inputs = recording.inputs
        self.outputs = len(recording.outputs)
        self.parameters = recording.parameters
        label(arrays)
        self._bank, self._places = move_to_bank(self.parameters, dtype)
        whole = len(self._places) == len(self._bank)
        self._rows: Rows = slice(0, len(self._bank)) if whole else self._places
        self.walls = walls_of(arrays, self._places, self._bank)
        self._numbers = {row: number for number, row in enumerate(self._places.tolist())}
        engine.check(self._bank, Precision(), self.program)
        self._run_on(engine, Precision())

    @property
    def rows(self) -> Rows:
        """The bank rows of the parameters."""
        return self._rows

    def _lowered(self) -> TraceProgram:
        return TraceProgram(self.recording, self._places)

    def _choose(self, engine: str, samples: int, precision: Precision) -> EngineRow:
        return choose_for_expression(engine)

    def _ones(self) -> tuple[FloatArray, bool]:
        return np.ones((self._engine.newest_batch(), self.outputs)), self._waiting[-1][1]

    def name_of(self, row: int) -> str:
        """Return the label of the parameter in a `row` of the bank; without one p0, p1, ..."""
        if row not in self._numbers:
            return self._bank.name_of(row)
        number = self._numbers[row]
        return visible(str(self.parameters[number].label)) or f"p{number}"

    def find_rows(self, part: object) -> object:
        """Return the bank row of a parameter; return any other object unchanged."""
        if not isinstance(part, Value):
            return part
        place = place_of(part)
        if place is None or place[0] is not self.bank:
            raise OwnershipError(f"{shorten(part)} is not a parameter of this expression")
        return place[1]

    def _step(self, optimizer: Optimizer) -> None:
        self._engine.step(optimizer)

    def train_step(
        self,
        inputs: object,
        targets: object,
        loss: AnyLoss = "mse",
        optimizer: Optimizer | str | None = None,
    ) -> float:
        """Train one step on one batch: zero_grad, forward, loss, backward, step.

        Args:
            inputs: array of shape (batch, inputs) or (inputs,)
            targets: array of shape (batch, outputs) or (outputs,); or (batch,) for one output, or
                for class labels 0, 1, ... with softmax_cross_entropy and sigmoid_cross_entropy
            loss: a name or a Loss; "mse" by default
            optimizer: an Optimizer or a name such as "adam"; SGD(0.01) by default

        Returns the loss before the step. Raises ShapeError, NotFiniteError or GradientError.
        """
        loss = Loss.of(loss)
        widths, classes = (self.inputs, loss.targets(self.outputs)), loss.classes(self.outputs)
        batch, wanted = as_pairs(inputs, targets, widths, "the expression", classes=classes)
        wide = widened(wanted, self.outputs)
        return self._engine.train(batch, wide, loss, Optimizer.of(optimizer).on(self._rows_named))

    def state_dict(self) -> dict[str, FloatArray]:
        """Return copies of the parameters by name; unnamed parameters are under "parameters"."""
        return copies_of(self._arrays())

    def load_state_dict(self, state_dict: object, strict: bool = True) -> LoadedKeys:
        """Load parameters by name, as returned by `state_dict` of the same function.

        Args:
            state_dict: mapping from names to arrays
            strict: True (default) requires that all names match; False loads the entries that match

        Returns the missing and unexpected names. If names or shapes do not fit, raises InputError
        and changes nothing.
        """
        strict = true_or_false(strict, "strict")
        return load_arrays(self._arrays(), self._bank, state_dict, strict)

    def _arrays(self) -> dict[str, FloatArray]:
        return {name: wall.of(self._bank.value) for name, wall in self.all_walls.items()}

    @property
    def all_walls(self) -> Mapping[str, Wall]:
        """`walls`, plus a wall of the unnamed parameters if their bank rows are consecutive."""
        rest = self._places[sum(prod(wall.shape) for wall in self.walls.values()) :]
        if not len(rest) or (np.diff(rest) != 1).any():
            return self.walls
        return {**self.walls, REST: Wall(int(rest[0]), rest.shape)}

    def save(self, path: object) -> None:
        """Save the function and its parameters to a file for `sv.load(path)`.

        Args:
            path: path of the .safetensors file; an existing file is replaced atomically

        Raises:
            FileError: if the file cannot be written.
        """
        save_expression(self, path)

    def copy(self, dtype: str | None = None) -> Expression:
        """Return a copy of the expression, with new Values that have the same numbers and labels.

        Args:
            dtype: "float64" or "float32"; None (default) keeps the dtype
        """
        chosen = pick(DTYPES, dtype or self.dtype, "dtype")
        leaves = [Value(float(x.data), label=x.label) for x in self.parameters]
        left = iter(leaves)
        arrays = {
            name: np.array([*islice(left, prod(wall.shape))], object).reshape(wall.shape)
            for name, wall in self.walls.items()
        }
        recording = replace(self.recording, parameters=leaves)
        other = Expression(self.name, recording, chosen, choose_for_expression(self.engine), arrays)
        if len(leaves) == len(self._bank):  # else it also belongs to a network
            copy_arrays(other.bank, self._bank)
        return other

    def __repr__(self) -> str:
        return (
            f"Expression {self.name}: {self.inputs} -> {self.outputs}, "
            f"{len(self.parameters):,} parameters, {len(self.recording.operations):,} operations, "
            f"{self.bank.dtype}, engine {self.engine}"
        )
