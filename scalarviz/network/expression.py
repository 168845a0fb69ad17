"""compile and Expression: a function of Values, recorded once, run by kernels on whole batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.autograd.value import Value
from scalarviz.checks.attributes import set_known, unknown
from scalarviz.checks.numbers import (
    FloatArray,
    answered,
    as_batch,
    as_pairs,
    check_signature,
    listed,
    shorten,
    size,
)
from scalarviz.data.batches import Batches
from scalarviz.engines.expression.engines import ExpressionEngine, PythonExpressionEngine
from scalarviz.engines.expression.run import ExpressionRun, phases_program
from scalarviz.engines.registry import announce, choose
from scalarviz.errors import EngineError, InputError, OrderError, OwnershipError, ShapeError
from scalarviz.formulas.losses import Loss
from scalarviz.formulas.table import pick
from scalarviz.model.bank import DTYPES, Bank, Dtype, Rows
from scalarviz.model.optimizer import Optimizer
from scalarviz.model.precision import Precision
from scalarviz.model.program import Program
from scalarviz.model.trace import Trace, record_function, recorded_inputs
from scalarviz.network.bank_value import move_to_bank, place_of

Maker = Callable[[Trace, Bank, npt.NDArray[np.intp]], ExpressionEngine]


@answered
def compile(
    function: Callable[..., Any], inputs: int, dtype: str = "float64", engine: str = "auto"
) -> Expression:
    """Compile a function of Values to run on whole batches, with the four verbs.

    The function is called once, with `inputs` symbolic Values, and returns a Value or a list of
    Values. Its `if` and `for` are executed in this call only; `where` chooses by numbers.
    Values from outside that the result depends on become its parameters: they stay the same
    objects, and their `data` and `grad` are current after every verb.

    function  function of as many Values as there are `inputs`
    inputs    number of inputs, at least 1
    dtype     "float64", the default, or "float32"
    engine    "python", "cpu", "cuda" or "auto", the default: the fastest that works here

    Returns an Expression. Raises InputError for a function that cannot be recorded, and EngineError
    if the engine cannot run here.

    >>> from scalarviz.model.optimizer import SGD
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
    maker = engine_maker(engine)
    if not callable(function):
        raise InputError(
            f"compile takes a function of Values, not {shorten(function)}: "
            "write compile(lambda x: x * x, inputs=1)"
        )
    given = recorded_inputs(inputs)
    names = [x.label for x in given]
    how = f"lambda {listed(names)}: ..., or the number of its inputs as inputs="
    check_signature(function, names, "a compiled function", how)
    name = getattr(function, "__name__", type(function).__name__)
    return Expression(name, record_function(function, given), chosen, maker)


@final
class Expression:
    """A compiled function, made by `compile`.

    Calling it evaluates it and keeps nothing; `forward` keeps what `backward` needs, and each
    backward belongs to the newest forward that none has matched yet. A batch has shape (samples,
    inputs), the result (samples, outputs), a column for each Value that the function returned.

    parameters  the Values from outside, in the order of their first use
    bank        the bank of their numbers; `rows` are their rows
    recording   the function as a table, a Trace
    """

    if not TYPE_CHECKING:  # a type checker knows the names by itself
        __getattr__, __setattr__ = unknown, set_known

    def __init__(self, name: str, recording: Trace, dtype: Dtype, maker: Maker) -> None:
        self.name = name
        self.recording = recording
        self.inputs = recording.inputs
        self.outputs = len(recording.outputs)
        self.parameters = recording.parameters
        self.bank, self._places = move_to_bank(self.parameters, dtype)
        whole = len(self._places) == len(self.bank)
        self.rows: Rows = slice(0, len(self.bank)) if whole else self._places
        self._engine = maker(recording, self.bank, self._places)
        self._singles: list[bool] = []  # per unmatched forward: whether of one sample

    @property
    def engine(self) -> str:
        """Name of the engine that runs the verbs."""
        return self._engine.name

    def to(self, engine: str, precision: Precision | None = None) -> Expression:
        """Run on another engine from now on; "auto" is the fastest that works here."""
        self.check_engine(engine, precision)
        self._engine = engine_maker(engine)(self.recording, self.bank, self._places)
        self._singles.clear()
        return self

    # The interface for a session; see `trainer.Model`.

    precision = Precision()
    activations: tuple[str, ...] = ()

    @cached_property
    def program(self) -> Program:
        """The five phases of a step, for a session; `recording` has the operations."""
        return phases_program(self.inputs, self.outputs)

    def run(self, batches: Batches, loss: Loss) -> ExpressionRun:
        """Return a run on the engine of this expression, for a session."""
        return ExpressionRun(self._engine, self.program, batches, loss)

    def start(self, engine: str, precision: Precision) -> None:
        """Start a training on an engine: everything but the values is reset."""
        self.forget()
        self.to(engine)
        self.bank.restart(precision)

    def check_engine(
        self, engine: str, precision: str | Precision | None = None
    ) -> tuple[str, Precision]:
        """Return engine and precision that this expression would run with; raise EngineError."""
        if precision is not None and Precision.of(precision).mixed:
            raise EngineError("a compiled function computes in full precision only")
        maker = engine_maker(engine)
        return ("python" if maker is PythonExpressionEngine else "cpu"), self.precision

    def check_activation(self, layer: int, name: str) -> int:
        """Raise InputError: an expression has no layers."""
        raise InputError("a compiled function has no layers whose activation could be changed")

    def places_of(self, layer: int) -> list[int]:
        return [layer]

    def set_activation(self, layer: int, name: str) -> None:
        self.check_activation(layer, name)

    def check_loss(self, loss: Loss) -> None:
        """Accept any loss."""

    def find_rows(self, part: object) -> object:
        """Return the row of a parameter; return anything but a Value unchanged."""
        if not isinstance(part, Value):
            return part
        place = place_of(part)
        if place is None or place[0] is not self.bank:
            raise OwnershipError(f"{shorten(part)} is no parameter of this expression")
        return place[1]

    def __call__(self, x: object) -> FloatArray:
        """Return the results for one sample or a batch, without keeping anything for `backward`."""
        batch, single = as_batch(x, self.inputs, "the expression")
        return one_or_all(self._engine.evaluate(batch), single)

    def zero_grad(self) -> None:
        """Set the gradients to 0; forwards that wait for their backward are kept."""
        self.bank.zero_grad(self.rows)

    def forward(self, x: object) -> FloatArray:
        """Return the results for one sample or a batch, and keep what `backward` needs."""
        batch, single = as_batch(x, self.inputs, "the expression")
        results = self._engine.forward(batch)
        self._singles.append(single)
        return one_or_all(results, single)

    def backward(self, upstream: object = None) -> FloatArray:
        """Add to the gradients for the newest unmatched forward; return those of its inputs.

        `upstream` is the gradient with respect to the results, in their shape; None means ones.
        Raises OrderError without an unmatched forward, ShapeError for another number of samples.
        """
        samples = self._engine.newest_batch()
        if not samples:
            raise OrderError("backward of the expression without a forward: call forward first")
        batch = np.ones((samples, self.outputs))
        if upstream is not None:
            batch, _ = as_batch(upstream, self.outputs, "backward of the expression", finite=False)
        if len(batch) != samples:
            raise ShapeError(
                f"the expression was last given {samples} samples, and its backward {len(batch)}: "
                "pass one row of upstream gradients for each sample"
            )
        return one_or_all(self._engine.backward(batch), self._singles.pop())

    def step(self, optimizer: Optimizer | None = None) -> None:
        """Take a step of an `optimizer`; None, the default: SGD(0.01)."""
        self._engine.step(Optimizer.of(optimizer))

    def train_step(
        self,
        inputs: object,
        targets: object,
        loss: str | Loss = "mse",
        optimizer: Optimizer | None = None,
    ) -> float:
        """Train one step on one batch: zero_grad, forward, loss, backward, step.

        inputs     shape (batch, inputs) or (inputs,)
        targets    shape (batch, outputs) or (outputs,)
        loss       a name or a Loss; by default "mse"
        optimizer  an Optimizer; by default SGD(0.01)

        Returns the loss before the step. Raises ShapeError, NotFiniteError and GradientError.
        """
        batch, wanted = as_pairs(inputs, targets, (self.inputs, self.outputs), "the expression")
        return self._engine.train(batch, wanted, Loss.of(loss), Optimizer.of(optimizer))

    def forget(self) -> None:
        """Drop all forwards that wait for their backward."""
        self._engine.forget()
        self._singles.clear()

    def __repr__(self) -> str:
        return (
            f"Expression {self.name}: {self.inputs} -> {self.outputs}, "
            f"{len(self.parameters):,} parameters, {len(self.recording.operations):,} operations, "
            f"{self.bank.dtype}, engine {self.engine}"
        )


def engine_maker(name: str) -> Maker:
    """Return the class of the engine of that name; numba is loaded only if it is needed."""
    row = choose(name)
    if row.name == "python":
        return PythonExpressionEngine
    if row.name != "cpu":
        announce(
            f"compiled functions run on the engine cpu: the engine {row.name} has none of their "
            "operations yet"
        )
    from scalarviz.engines.common.cores import check_process
    from scalarviz.engines.expression.cpu import CpuExpressionEngine

    check_process()
    return CpuExpressionEngine


def one_or_all(rows: FloatArray, single: bool) -> FloatArray:
    """Return the only row for a single sample, else all rows."""
    result: FloatArray = rows[0] if single else rows
    return result
