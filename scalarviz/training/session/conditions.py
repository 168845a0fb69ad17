"""Conditions on a step of a training run, written as text, such as "grad norm > 10".

A text is one clause, or several clauses joined by "or". A clause is a row of `STATES`, such as "not
finite", or consists of a quantity and a predicate, which are rows of `QUANTITIES` and `PREDICATES`.
Names of metrics are also quantities. Texts are never executed as code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, check_signature, require, shorten
from scalarviz.base.limits import LONGEST_CONDITION, MOST_CONDITIONS
from scalarviz.core.formulas.formula import table
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, METRICS
from scalarviz.core.program import NONE, Operation
from scalarviz.data.data_set import TableSet
from scalarviz.engines.reference import OperationArrays, operation_backward, program_forward
from scalarviz.errors import InputError, ShapeError, UnknownNameError
from scalarviz.training.network.model import Model

if TYPE_CHECKING:
    from scalarviz.training.session.trainer import Settings, Trainer


# Dead neurons: no training sample changes their weights any more.

FIRST = 32  # samples examined first, then increasingly many


def dead_neuron(trainer: Trainer, step: int, row: int) -> float:
    """Return the first bank row of the first dead neuron at a step; NaN if no neuron is dead.

    A neuron is dead if the gradients of all its weights were exactly 0 in the last step, and the
    derivative of its activation is 0 for every training sample (with generated data, for every
    sample of the next batch).
    """
    still = {op: neurons for op, neurons in still_neurons(trainer) if neurons.any()}
    if not still or not step:
        return math.nan
    for inputs in samples_of(trainer, step):
        still = quiet_neurons(trainer, still, inputs)
        if not still:
            return math.nan
    first = min(still, key=lambda operation: operation.weights)
    return float(rows_of_neurons(first)[int(np.flatnonzero(still[first])[0])][0])


def still_neurons(trainer: Trainer) -> Iterator[tuple[Operation, Any]]:
    """Yield each operation before an activation, and a mask of its neurons with zero gradient."""
    for operation, after in pairwise(trainer.network.program.operations):
        is_one = after.kind == "activation" and after.source == operation.target
        if is_one and operation.weights != NONE:
            yield operation, ~trainer.bank.grad[rows_of_neurons(operation)].any(axis=1)


@lru_cache(maxsize=64)
def rows_of_neurons(operation: Operation) -> FloatArray:
    """Return the bank rows of each neuron of an operation, shape (neurons, rows)."""
    has_bias = operation.biases != NONE
    count = operation.target.size // operation.outputs_per_bias
    rows = np.array(operation.parameters)
    weights = len(rows) - has_bias * count
    return np.hstack([rows[:weights].reshape(count, -1), rows[weights:].reshape(count, -1)])


def samples_of(trainer: Trainer, step: int) -> Iterator[FloatArray]:
    """Yield the inputs of all training samples in chunks of increasing size."""
    data = trainer.settings.data
    table = data.training[0] if isinstance(data, TableSet) else trainer.batches.at(step)[0]
    first, count = 0, FIRST
    while first < len(table):
        yield table[first : first + count]
        first, count = first + count, 4 * count


def quiet_neurons(
    trainer: Trainer, still: dict[Operation, FloatArray], inputs: FloatArray
) -> dict[Operation, FloatArray]:
    """Return the neurons in `still` whose activation has the derivative 0 for all these inputs."""
    program, bank = trainer.network.program, trainer.bank
    found = program_forward(program, bank.value, bank.state, inputs)
    left = {}
    for operation, after in pairwise(program.operations):
        if operation not in still:
            continue
        x, y = found[after.source.name], found[after.target.name]
        arrays = OperationArrays(
            bank.value, bank.state, 0, (x,), y, np.ones_like(y), learning=False
        )
        slopes = operation_backward(after, arrays)[0].reshape(len(x), len(still[operation]), -1)
        quiet = still[operation] & ~slopes.any(axis=(0, 2))
        if quiet.any():
            left[operation] = quiet
    return left


LOSSES, MEASURED, NUMBERS = "losses", "measured", "numbers"  # sources of a condition
NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf)"
OWN = "own function"
NOT_FINITE = "not finite"

Function = Callable[[Any], object]  # of a ConditionView


@dataclass(frozen=True, slots=True)
class Predicate:
    """A row of PREDICATES, or the predicate of a row of STATES.

    Attributes:
        name: text after the quantity, with `NUMBER` as the placeholder of a number
        holds: function f(values, earlier, number) that returns whether the predicate is true;
            `earlier` has one earlier value for each value, and `number` is the one in the text
        before: which earlier value is compared: the "smallest" or "largest" of all, the "previous"
            one, or "" for none
        least: smallest valid number; any number is valid by default
    """

    name: str
    holds: Callable[[Any, Any, float], Any]
    before: str = ""
    least: float = -math.inf


IS_SO = Predicate("", lambda v, before, x: v > 0.5)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A row of QUANTITIES or STATES: a number that has a value on arrival at each step.

    Attributes:
        name: name in texts
        source: where the number comes from: LOSSES or MEASURED are recorded, NUMBERS is read from
            the bank
        read: function f(trainer, step, row) that reads the number if the source is NUMBERS
        has_row: whether a bank row follows the name, as in "weight 7"; if so, "rises" and "falls"
            refer to the absolute value
        of_step: whether the number belongs to the last step, so that it is missing at step 0
        predicate: the predicate of a row of STATES; otherwise the text of the condition contains it
        on_record: function f(settings) that returns whether recorded losses are sufficient
        where: function f(trainer, number) that returns an explanation to show in brackets, or ""
    """

    name: str
    source: str
    read: Callable[[Trainer, int, int], float] = lambda trainer, step, row: math.nan
    has_row: bool = False
    of_step: bool = False
    predicate: Predicate = IS_SO
    on_record: Callable[[Settings], bool] = lambda settings: False
    where: Callable[[Trainer, float], str] = lambda trainer, value: f"it is {value:.4g}"


def norm_of_gradients(trainer: Trainer, step: int, row: int) -> float:
    """Return the Euclidean norm of the gradients of all weights that are not frozen."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(trainer.bank.grad[~trainer.bank.frozen], dtype=np.float64)
        return math.sqrt(squares.sum())


def least_finite(trainer: Trainer, step: int, row: int) -> float:
    """Return 0 if all weights and gradients are finite, otherwise NaN."""
    arrays = trainer.bank.value, trainer.bank.grad
    return 0.0 if all(np.isfinite(array).all() for array in arrays) else math.nan


def changes_sign(value: Any, before: Any, number: float) -> Any:
    """Return whether the sign of a value differs from the sign of the previous value."""
    return ((value < 0.0) != (before < 0.0)) & (before == before)  # NaN: missing


def is_refused(settings: Settings) -> bool:
    """Return whether a step with non-finite gradients or weights is rejected."""
    return settings.optimizer.not_finite == "error" and not settings.precision.mixed


def nowhere(trainer: Trainer, value: float) -> str:
    """Return an empty explanation."""
    return ""


def neuron_at(trainer: Trainer, row: float) -> str:
    """Return the name of the neuron that owns a bank row."""
    return trainer.bank.name_of(int(row)).rpartition(", ")[0]


QUANTITIES = table(
    [
        Quantity("loss", LOSSES),
        Quantity("grad norm", NUMBERS, norm_of_gradients, of_step=True),
        Quantity(
            "weight", NUMBERS, lambda trainer, step, row: trainer.bank.value[row], has_row=True
        ),
        Quantity(
            "gradient",
            NUMBERS,
            lambda trainer, step, row: trainer.bank.grad[row],
            has_row=True,
            of_step=True,
        ),
        Quantity(
            "learning rate",
            NUMBERS,
            lambda trainer, step, row: trainer.settings.optimizer.rate(trainer.bank.step_count),
        ),
    ]
)
PREDICATES = table(
    [
        Predicate("> NUMBER", lambda v, before, x: v > x),
        Predicate("< NUMBER", lambda v, before, x: v < x),
        Predicate("rises NUMBERx", lambda v, low, x: v > x * low, "smallest", 1.0),
        Predicate("falls NUMBERx", lambda v, high, x: x * v < high, "largest", 1.0),
        Predicate("changes sign", changes_sign, "previous"),
    ]
)
STATES = table(
    [
        Quantity(
            NOT_FINITE,
            NUMBERS,
            least_finite,
            predicate=Predicate("", lambda v, before, x: ~np.isfinite(v)),
            on_record=is_refused,
            where=nowhere,
        ),
        Quantity(
            "a neuron is dead",
            NUMBERS,
            dead_neuron,
            predicate=Predicate("", lambda v, before, x: v >= 0.0),
            where=neuron_at,
        ),
    ]
)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Condition:
    """A condition: one clause of a text, or a user-defined function.

    Attributes:
        text: text of the condition in messages and files
        quantity: a row of QUANTITIES or STATES, a metric, or a user-defined function
        predicate: predicate that the quantity must fulfil
        number: number in the text; 0 if there is no number
        row: bank row in the text, or None
        function: the user-defined function; None after loading from a file, which cannot store it
    """

    text: str
    quantity: Quantity
    predicate: Predicate
    number: float = 0.0
    row: int | None = None
    function: Function | None = None

    def __repr__(self) -> str:
        return self.text.removeprefix(OWN).strip()

    @property
    def is_own(self) -> bool:
        """Whether the condition is a user-defined function, which a loaded file may lack."""
        return self.text.startswith(OWN)

    @property
    def is_lost(self) -> bool:
        """Whether the condition is a user-defined function that is missing after loading a file."""
        return self.is_own and self.function is None

    @property
    def is_not_finite(self) -> bool:
        """Whether this is the condition "not finite", which includes the loss."""
        return self.quantity.name == NOT_FINITE

    @property
    def looks_back(self) -> bool:
        """Whether the condition compares its number with all earlier steps, as "rises 3x" does."""
        return self.predicate.before in ("smallest", "largest")

    def compared(self, values: Any) -> Any:
        """Return values to compare; for "rises" and "falls" of a weight, their absolute values."""
        return np.abs(values) if self.looks_back and self.row is not None else values

    def number_at(self, trainer: Trainer, step: int, loss: float) -> float:
        """Return the value of the quantity on arrival at a step; `loss` is the last loss."""
        is_lost = self.is_not_finite and not math.isfinite(loss)
        is_known = not is_lost and step >= self.quantity.of_step
        return float(self.quantity.read(trainer, step, self.row or 0)) if is_known else math.nan

    def source_with(self, settings: Settings) -> str:
        """Return where the number comes from under these settings: LOSSES, MEASURED or NUMBERS."""
        return LOSSES if self.quantity.on_record(settings) else self.quantity.source

    def holds(self, values: Any, before: Any) -> Any:
        """Return whether the condition holds for each value, compared with the values `before`."""
        return self.predicate.holds(self.compared(values), before, self.number)

    def holds_over(self, values: FloatArray, before: FloatArray | None = None) -> Any:
        """Return whether the condition holds at each of a series of recorded values.

        Args:
            before: earlier value to compare with each value; None (default) takes it from `values`,
                which then must begin at step 0
        """
        if before is None:
            before = before_each(self.predicate.before, self.compared(values), math.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            return self.holds(values, before)

    def told(self, trainer: Trainer, value: float) -> str:
        """Return the condition with its current value, such as "grad norm > 10 (it is 11.3)"."""
        where = self.quantity.where(trainer, value)
        return f"{self.text} ({where})" if where else self.text


def before_each(which: str, values: FloatArray, first: float) -> FloatArray:
    """Return the smallest, largest or previous value before each; `first` precedes them all."""
    past = np.concatenate([[first], values[:-1]])
    if which in ("smallest", "largest"):
        known = np.where(np.isfinite(past), past, math.nan)
        least = np.fmin if which == "smallest" else np.fmax
        past = least.accumulate(known)
    return past


def parse(text: object, metrics: Sequence[str] | None = None) -> list[Condition]:
    """Parse a text into conditions; raise UnknownNameError or InputError if it is invalid.

    Args:
        metrics: names of the measured metrics, as in `Session.metrics`; None accepts any name as a
            metric, as needed for files
    """
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_CONDITION:
        raise InputError(
            f"a condition is a text of up to {LONGEST_CONDITION} letters, such as 'grad norm > 10',"
            f" or a function of a view, not {shorten(text)}"
        )
    if re.search(r" and ", text, re.IGNORECASE):
        raise InputError(
            f"conditions are joined only by 'or', but {shorten(text)} has 'and': write a function "
            "of a view, such as lambda view: view.loss < 1 and view.step > 100"
        )
    clauses = re.split(r"\bor\b", " ".join(text.split()), flags=re.IGNORECASE)
    return [one_clause(clause.strip(), metrics) for clause in clauses]


def one_clause(text: str, metrics: Sequence[str] | None) -> Condition:
    """Parse one clause into a condition."""
    state = STATES.get(text.lower())
    if state is not None:
        return Condition(state.name, state, state.predicate)
    for predicate in PREDICATES.values():
        pattern = r"(.+?) ?" + predicate.name.replace(" NUMBER", f" ?{NUMBER}")
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if found is None:
            continue
        name, *numbers = found.groups()
        number = float(numbers[0]) if numbers else 0.0
        if number < predicate.least:
            raise InputError(
                f"{text!r} takes a factor of at least {predicate.least:g}: write "
                f"{predicate.name.replace('NUMBER', '3')!r}, say"
            )
        words = predicate.name.replace("NUMBER", written(number))
        return of_quantity(name, words, predicate, number, metrics)
    raise UnknownNameError("condition", text, examples(metrics))


def written(number: float) -> str:
    """Return the shortest text that represents a number exactly."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)


def of_quantity(
    name: str, words: str, predicate: Predicate, number: float, metrics: Sequence[str] | None
) -> Condition:
    """Return the condition for the quantity `name` and a predicate with the text `words`."""
    plain, row = name, 0
    found = re.fullmatch(r"(.+?) (\d{1,18})", name)
    if found is not None:
        plain, row = found[1], int(found[2])
    quantity = QUANTITIES.get(plain.lower())
    if quantity is None or (found is not None and not quantity.has_row):
        metric = metric_named(name, metrics)
        shown = metric.replace(HELD_OUT, "held-out ")
        return Condition(f"{shown} {words}", Quantity(metric, MEASURED), predicate, number)
    if quantity.has_row and found is None:
        raise InputError(f"{name!r} needs a row: write '{name} 7 {words}'")
    if not quantity.has_row:
        return Condition(f"{quantity.name} {words}", quantity, predicate, number)
    return Condition(f"{quantity.name} {row} {words}", quantity, predicate, number, row)


def metric_named(name: str, metrics: Sequence[str] | None) -> str:
    """Convert the name of a metric in a text to its name in `Session.metrics`.

    Raises:
        UnknownNameError: for an unknown name.
        InputError: for a metric that the session does not measure.
    """
    plain = re.sub(r"^held[-_ ]out[-_ ]", "", name, flags=re.IGNORECASE)
    metric = (HELD_OUT if plain != name else "") + plain.replace(" ", "_")
    if metric.isidentifier() and (metrics is None or metric in metrics):
        return metric
    if metric.removeprefix(HELD_OUT) in (*METRICS, LOSS):
        raise InputError(
            f"{name!r} is not measured in this session: write sv.Session(..., metrics="
            f"[{metric.removeprefix(HELD_OUT)!r}], every=100)"
            + ", with data that hold samples out"
            * metric.startswith(HELD_OUT)
        )
    rows = [row.name + " 7" * row.has_row for row in QUANTITIES.values()]
    raise UnknownNameError("quantity of a condition", name, [*rows, *(metrics or METRICS)])


def examples(metrics: Iterable[str] | None = None, row: int = 7) -> list[str]:
    """Return examples of conditions of every kind.

    Args:
        metrics: names of the measured metrics; `row`: bank row of a weight for the examples
    """
    shown = [name.replace(HELD_OUT, "held-out ") for name in metrics or ()]
    return [
        *STATES,
        "loss < 0.01",
        "loss rises 3x",
        "grad norm > 10",
        "grad norm rises 10x",
        f"weight {row} changes sign",
        f"weight {row} > 1",
        f"gradient {row} changes sign",
        "learning rate < 0.001",
        *(f"{name} {'< 0.1' if name.endswith(LOSS) else '> 0.9'}" for name in shown),
    ]


def of_function(name: str, function: Function | None) -> Condition:
    """Return the condition for a user-defined function, or for None if a file lacks it."""
    quantity = Quantity(OWN, NUMBERS, where=nowhere)
    return Condition(f"{OWN} {name}", quantity, quantity.predicate, function=function)


def checked(
    given: Sequence[object], network: Model, metrics: Sequence[str] | None
) -> list[Condition]:
    """Convert strings and functions passed by the user to conditions.

    Args:
        given: strings, functions and conditions
        network: the network to whose bank rows the texts refer
        metrics: see `parse`

    Raises InputError, UnknownNameError or ShapeError for invalid conditions.
    """
    found: list[Condition] = []
    for each in given:
        if callable(each):
            check_signature(each, ["view"], "a condition", "def spikes(view): return view.loss > 1")
            name = str(getattr(each, "__qualname__", type(each).__name__))
            found.append(of_function(name.rpartition(".")[2][:LONGEST_CONDITION], each))
        elif isinstance(each, Condition):
            found.append(each)
        else:
            found += parse(each, metrics)
    check_rows(found, network)
    require(
        len(found) <= MOST_CONDITIONS,
        f"at most {MOST_CONDITIONS} conditions are watched, not {len(found)}",
    )
    return found


def check_rows(clauses: Iterable[Condition], network: Model) -> None:
    """Raise ShapeError if a condition refers to a row that the network does not have."""
    count = len(network.bank)
    for clause in clauses:
        if clause.row is not None and clause.row >= count:
            raise ShapeError(
                f"the network has rows 0 to {count - 1}, and no row {clause.row}, which "
                f"{clause.text!r} names"
            )


def with_rows(given: Sequence[Condition], rows: Mapping[int, int]) -> list[Condition]:
    """Return conditions with renumbered bank rows, without conditions on removed rows.

    Args:
        rows: mapping from each old row that is kept to its new row
    """
    found: list[Condition] = []
    for each in given:
        if each.row is None:
            found.append(each)
        elif each.row in rows:
            found += parse(each.text.replace(f" {each.row} ", f" {rows[each.row]} ", 1))
    return found
