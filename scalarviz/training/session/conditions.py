"""Conditions on a step of a training run, written as text, such as "grad norm > 10".

A text is one clause, or several with "or" between them. A clause is a row of `STATES`, such as "not
finite", or a quantity with a predicate, rows of `QUANTITIES` and `PREDICATES`. The names of metrics
are quantities. Texts are never executed as code.
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
    """Return the first row of the first dead neuron on arrival at a step; NaN if none is dead.

    A neuron is dead if the gradients of all its weights were exactly 0 in the last step, and the
    derivative of its activation is 0 for every training sample; for generated data, for every
    sample of the next batch.
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
    """Yield the operations followed by an activation, and their neurons without gradient."""
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
    """Yield the inputs of all samples, some at a time."""
    data = trainer.settings.data
    table = data.training[0] if isinstance(data, TableSet) else trainer.batches.at(step)[0]
    first, count = 0, FIRST
    while first < len(table):
        yield table[first : first + count]
        first, count = first + count, 4 * count


def quiet_neurons(
    trainer: Trainer, still: dict[Operation, FloatArray], inputs: FloatArray
) -> dict[Operation, FloatArray]:
    """Return the neurons whose activation has the derivative 0 for all these samples."""
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
        name: text after the quantity, with `NUMBER` for a number
        holds: function of the values, an earlier value for each, and the number in the text
        before: the earlier value: "smallest" or "largest" of all, "previous", or "" if unused
        least: smallest valid number; by default any
    """

    name: str
    holds: Callable[[Any, Any, float], Any]
    before: str = ""
    least: float = -math.inf


IS_SO = Predicate("", lambda v, before, x: v > 0.5)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A row of QUANTITIES or STATES: a number on arrival at a step.

    Attributes:
        name: name in texts
        source: LOSSES or MEASURED: recorded; NUMBERS: read from the bank
        read: function of the trainer, the step and a row of the bank, for NUMBERS
        has_row: whether a row follows the name, as in "weight 7"; then "rises" and "falls" refer to
            its absolute value
        of_step: whether it belongs to the last step, so that it is missing at step 0
        predicate: predicate of a row of STATES, for the number or a loss; other rows get it from
            the text of a condition
        on_record: function of the settings: whether the losses are sufficient
        where: function of the trainer and the number that returns the explanation in brackets, or
            ""
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
    """Return the norm of the gradients of all non-frozen weights."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.square(trainer.bank.grad[~trainer.bank.frozen], dtype=np.float64)
        return math.sqrt(squares.sum())


def least_finite(trainer: Trainer, step: int, row: int) -> float:
    """Return 0, or NaN if a weight or a gradient is not finite."""
    arrays = trainer.bank.value, trainer.bank.grad
    return 0.0 if all(np.isfinite(array).all() for array in arrays) else math.nan


def changes_sign(value: Any, before: Any, number: float) -> Any:
    """Return whether the sign of a value differs from the sign of the previous one."""
    return ((value < 0.0) != (before < 0.0)) & (before == before)  # NaN: missing


def is_refused(settings: Settings) -> bool:
    """Return whether non-finite gradients and weights reject a step."""
    return settings.optimizer.not_finite == "error" and not settings.precision.mixed


def nowhere(trainer: Trainer, value: float) -> str:
    """Return no location, for a number without one."""
    return ""


def neuron_at(trainer: Trainer, row: float) -> str:
    """Return the name of the neuron of a bank row."""
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
    """One clause, or a user-defined function.

    Attributes:
        text: text in error messages and files
        quantity: a row of QUANTITIES or STATES, a metric, or a user-defined function
        predicate: predicate of the number
        number: number in the text; 0 if missing
        row: bank row, or None
        function: the user-defined function; None if lost in a file
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
        """Whether the condition is, or was, a user-defined function, which files cannot store."""
        return self.text.startswith(OWN)

    @property
    def is_lost(self) -> bool:
        """Whether the condition is a user-defined function lost in a file."""
        return self.is_own and self.function is None

    @property
    def is_not_finite(self) -> bool:
        """Whether the condition holds if any number is not finite, including the loss."""
        return self.quantity.name == NOT_FINITE

    @property
    def looks_back(self) -> bool:
        """Whether the condition compares with all earlier steps, as "rises 3x" does."""
        return self.predicate.before in ("smallest", "largest")

    def compared(self, values: Any) -> Any:
        """Return the number for the predicate, or its absolute value for "rises" and "falls"."""
        return np.abs(values) if self.looks_back and self.row is not None else values

    def number_at(self, trainer: Trainer, step: int, loss: float) -> float:
        """Return the number on arrival at a step, given the loss of its step."""
        is_lost = self.is_not_finite and not math.isfinite(loss)
        is_known = not is_lost and step >= self.quantity.of_step
        return float(self.quantity.read(trainer, step, self.row or 0)) if is_known else math.nan

    def source_with(self, settings: Settings) -> str:
        """Return its source with these settings."""
        return LOSSES if self.quantity.on_record(settings) else self.quantity.source

    def holds(self, values: Any, before: Any) -> Any:
        """Return whether it holds for a value, or each value of an array, given earlier values."""
        return self.predicate.holds(self.compared(values), before, self.number)

    def holds_over(self, values: FloatArray, before: FloatArray | None = None) -> Any:
        """Return whether it holds at each place of a record.

        Args:
            before: value before each place; None, the default: the record begins at step 0
        """
        if before is None:
            before = before_each(self.predicate.before, self.compared(values), math.nan)
        with np.errstate(invalid="ignore", over="ignore"):
            return self.holds(values, before)

    def told(self, trainer: Trainer, value: float) -> str:
        """Return it with the value of its number: "grad norm > 10 (it is 11.3)"."""
        where = self.quantity.where(trainer, value)
        return f"{self.text} ({where})" if where else self.text


def before_each(which: str, values: FloatArray, first: float) -> FloatArray:
    """Return the smallest, largest or last earlier value for each; `first` precedes them all."""
    past = np.concatenate([[first], values[:-1]])
    if which in ("smallest", "largest"):
        known = np.where(np.isfinite(past), past, math.nan)
        least = np.fmin if which == "smallest" else np.fmax
        past = least.accumulate(known)
    return past


def parse(text: object, metrics: Sequence[str] | None = None) -> list[Condition]:
    """Return the clauses of a text; raise UnknownNameError or InputError if invalid.

    Args:
        metrics: names of the measured metrics, as in `Session.metrics`; None: any name may be a
            metric, as in a file
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
    """Return the condition of one clause."""
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
    """Return the condition of a named quantity with a predicate, whose text is `words`."""
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
    """Return the name of a metric in `Session.metrics`.

    Raises:
        UnknownNameError: for another name.
        InputError: for a metric that is not measured.
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
    """Return example conditions, one or several of each kind.

    Args:
        metrics: names of the measured metrics; `row`: row of a weight
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
    """Return a condition for a user-defined function, or for None, a lost one."""
    quantity = Quantity(OWN, NUMBERS, where=nowhere)
    return Condition(f"{OWN} {name}", quantity, quantity.predicate, function=function)


def checked(
    given: Sequence[object], network: Model, metrics: Sequence[str] | None
) -> list[Condition]:
    """Return the conditions for texts and functions of a user.

    Args:
        given: texts, functions and conditions
        network: the network whose rows occur in the texts
        metrics: as in `parse`

    Raises InputError, UnknownNameError or ShapeError.
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
    """Raise ShapeError for a row outside of the network."""
    count = len(network.bank)
    for clause in clauses:
        if clause.row is not None and clause.row >= count:
            raise ShapeError(
                f"the network has rows 0 to {count - 1}, and no row {clause.row}, which "
                f"{clause.text!r} names"
            )


def with_rows(given: Sequence[Condition], rows: Mapping[int, int]) -> list[Condition]:
    """Return conditions with renumbered rows; drop those on removed rows.

    Args:
        rows: new row of each kept old row
    """
    found: list[Condition] = []
    for each in given:
        if each.row is None:
            found.append(each)
        elif each.row in rows:
            found += parse(each.text.replace(f" {each.row} ", f" {rows[each.row]} ", 1))
    return found
