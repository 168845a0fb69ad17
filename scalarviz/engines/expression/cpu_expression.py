"""CpuExpressionEngine: runs a compiled expression with numba kernels on tiles of samples.

`ExpressionTables` contain the steps of a trace as arrays for the kernels. Additions, subtractions
and multiplications by a parameter or constant are combined into one step, a sum of terms
factor * number, without intermediate results. Every other operation is one step. Independent steps
with the same formula become adjacent. An `ExpressionJob` contains the records that kernels read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.kernel_threads import check_process
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import bad_gradient
from scalarviz.core.formulas.arithmetic import flat, where_by_condition
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.layers import Layer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import OVERFLOW, Program
from scalarviz.core.trace import EVERY_OPERATION, MOST_OPERANDS, Trace
from scalarviz.core.trace import NONE as NO_NODE
from scalarviz.engines.codegen.dispatch import partial_row
from scalarviz.engines.codegen.kernel_units import Dtype, Unit, load
from scalarviz.engines.codegen.machine_code import Kernel
from scalarviz.engines.cpu.job import CpuJob, address, link
from scalarviz.engines.cpu.records import PLAN, Records, TileRecord
from scalarviz.engines.cpu.table import MOVING, units_of_loss, units_of_optimizer
from scalarviz.engines.engine import BeforeStep, Waiting
from scalarviz.engines.expression import expression_kernels
from scalarviz.engines.expression.expression_engine import ExpressionEngine
from scalarviz.engines.expression.expression_kernels import FORMULA, SLOPES, STEP, SUM, TraceRecord

SHELL = {
    "forward": Unit("expression_tile_forward", expression_kernels.tile_forward),
    "backward": Unit("expression_tile_backward", expression_kernels.tile_backward),
    "run_forward": Unit("expression_forward", expression_kernels.forward),
    "run_backward": Unit("expression_backward", expression_kernels.backward),
    "run_train": Unit("expression_train", expression_kernels.train),
}


def units_of_expression(
    trace: Trace, dtype: Dtype, losses: Iterable[Loss], optimizers: Iterable[Optimizer]
) -> list[Unit]:
    """Return all kernels that training of a compiled function may need."""
    steps = [unit for unit in ExpressionTables(trace, dtype).units if unit is not None]
    groups = [SHELL, MOVING, *map(units_of_loss, losses), *map(units_of_optimizer, optimizers)]
    return [*dict.fromkeys([*steps, *[unit for group in groups for unit in group.values()]])]


def kernels_of_formula(formula: Formula) -> list[Unit]:
    """Return the kernels of a formula: one for forward, and one for each operand's gradient."""
    slopes = [slope_kernel(formula, i) for i in range(len(formula.partials))]
    return [forward_kernel(formula), *slopes]


@final
class CpuExpressionEngine(ExpressionEngine[FloatArray]):
    """Runs the steps of a trace on tiles of samples; results are reproduced bit for bit."""

    name = "cpu"

    def __init__(
        self, layers: Sequence[Layer], program: Program, bank: Bank, precision: Precision
    ) -> None:
        super().__init__(layers, program, bank, precision)
        tables = self.tables = ExpressionTables(self.trace, bank.dtype)
        self._results = len(tables.outputs)
        self._tile = tables.numbers * tables.samples
        self._whole = len(self.rows) == len(bank)
        self._spare: list[FloatArray] = []  # workspaces without a pending backward
        self._error = np.zeros(1)
        self._plan = np.zeros(1, PLAN)
        self._plan["out_size"] = self._plan["goals"] = self._results
        self._space = np.zeros((1, self._tile), bank.dtype)
        self._kernels: dict[Unit, Kernel] = {}

    def _load(self, units: Mapping[str, Unit]) -> dict[str, Kernel]:
        """Return kernels by name; the first call also loads the kernels of all steps."""
        wanted = set(units.values()) - set(self._kernels)
        if not self._kernels:
            wanted |= {*SHELL.values(), *MOVING.values(), *filter(None, self.tables.units)}
        if wanted:
            self._kernels |= dict(zip(wanted, load([*wanted], self.bank.dtype), strict=True))
        return {name: self._kernels[unit] for name, unit in units.items()}

    def _job(self) -> ExpressionJob:
        """Return a job with everything except a batch and workspaces."""
        kernels = self._load(SHELL | MOVING)
        for i, unit in enumerate(self.tables.units):
            if unit is not None:
                self.tables.code["run"][i] = self._kernels[unit].address
        return ExpressionJob(self.tables, self.bank, self.rows, self._plan, kernels)

    @cached_property
    def _training(self) -> ExpressionJob:
        """The job for forward and backward passes and for training steps."""
        return self._job()

    def evaluate(self, batch: FloatArray) -> FloatArray:
        # A run may be active in another thread: it must not share buffers with this call.
        return self._forward(batch, np.empty((1, self._tile), self.bank.dtype), self._job())

    def forward(self, batch: FloatArray) -> FloatArray:
        spaces = self._room(len(batch))
        results = self._forward(batch, spaces, self._training)
        self._waiting.append(Waiting(len(batch), spaces))
        return results

    def _forward(self, batch: FloatArray, spaces: FloatArray, job: ExpressionJob) -> FloatArray:
        check_process()
        results, data = np.empty((len(batch), self._results), self.bank.dtype), self.array(batch)
        job.set_batch(len(batch), spaces, data=data, results=results)
        self._load(SHELL)["run_forward"].call(job.address)
        return results

    def _room(self, samples: int) -> FloatArray:
        """Return workspaces for a batch, with one row per tile."""
        tiles = -(-samples // self.tables.samples)
        if self._spare and len(self._spare[-1]) == tiles:
            return self._spare.pop()
        self._spare.clear()
        return np.empty((tiles, self._tile), self.bank.dtype)

    def backward(self, upstream: FloatArray) -> FloatArray:
        check_process()
        spaces, job = self._waiting.pop().kept, self._training
        by_inputs = np.empty((len(upstream), self.trace.inputs), self.bank.dtype)
        upstream = self.array(upstream)
        job.set_batch(len(upstream), spaces, upstream=upstream, by_inputs=by_inputs)
        self._load(SHELL)["run_backward"].call(job.address)
        self._spare.append(spaces)
        self.bank.has_gradients = True
        return by_inputs

    def step(self, optimizer: Optimizer) -> None:
        bank = self.bank
        if not (self._whole and bank.has_gradients):
            bank.step(optimizer, self.rows)
            return
        before = self._prepare(optimizer)
        self._load(MOVING)["move"].call(self._training.job.address)
        self._moved(before)

    def learn(self, inputs: FloatArray, targets: FloatArray, loss: Loss) -> float:
        self._take_step(inputs, targets, loss, moves=False)
        return float(self._error[0])

    def train(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, optimizer: Optimizer
    ) -> float:
        if not self._whole:
            return super().train(inputs, targets, loss, optimizer)
        check_process()
        self._load(units_of_loss(loss) | units_of_optimizer(optimizer))
        before = self._prepare(optimizer)
        self._take_step(inputs, targets, loss, moves=True)
        self._moved(before)
        return float(self._error[0])

    def _take_step(
        self, inputs: FloatArray, targets: FloatArray, loss: Loss, *, moves: bool
    ) -> None:
        """Run the kernel of a training step; the optimizer runs only if `moves` is True."""
        check_process()
        kernels = self._load(units_of_loss(loss))
        job = self._training
        if job.loss is not loss.row:
            job.loss = loss.row
            link(self._plan, kernels)
        data, goals = self.array(inputs), self.array(targets)
        job.set_batch(len(data), self._space, data=data, goals=goals, moves=moves)
        scale = self.bank.value.dtype.type(loss.scale(targets.shape))
        job.job.batch.scale, job.job.batch.errors = float(scale), address(self._error)
        self._load(SHELL)["run_train"].call(job.address)
        self.bank.has_gradients = True

    def _prepare(self, optimizer: Optimizer) -> BeforeStep:
        """Write an optimizer to the job, and return a copy of the state that a step may change."""
        self._training.job.follow(optimizer, self._load)
        self._training.job.progress.count = self.bank.step_count
        return BeforeStep(self.bank, optimizer)

    def _moved(self, before: BeforeStep) -> None:
        """Count a successful step; raise the error of a failed one."""
        bad = self._training.job.progress.result
        if bad >= 0:
            raise bad_gradient(self.bank, bad)
        before.end_step(None, overflowed=bad == OVERFLOW)


# ---- arrays for the kernels ---------------------------------------------------------------------

CACHE = 1 << 18  # maximum bytes of the values and gradients of a tile
MOST_SAMPLES, LEAST_SAMPLES = 128, 8

Code = tuple[tuple[int, ...], Unit | None]  # the fields of a STEP, and its kernel


class ExpressionTables:
    """The steps of a trace as arrays for kernels.

    Attributes:
        code, units: forward steps, then backward steps; the kernel of each step, or None
        forwards: number of forward steps
        signs, scalars, rows: terms of all sums; see `TraceTerm`
        constants: constants of the trace, followed by the number 1
        outputs: row in a tile of each output
        numbers, samples: number of rows and number of columns of a tile
        steps: forward steps, in order
    """

    def __init__(self, recording: Trace, dtype: str) -> None:
        self.recording = recording
        steps = Lowering(recording).steps
        find_slopes(steps, recording)
        runs, self.row = in_order(steps, recording.inputs)
        self.steps = [step for run in runs for step in run]
        self.terms: list[tuple[float, int, int]] = []
        forward = [self._forward(run) for run in runs]
        code = forward + list(self._backward(runs))
        self.code = np.array([step for step, _ in code], STEP)
        self.units = [unit for _, unit in code]
        self.forwards = len(forward)
        signs, scalars, rows = zip(*self.terms, strict=True) if self.terms else ((), (), ())
        self.signs = np.array(signs, dtype)
        self.scalars = np.array(scalars, np.uint64)
        self.rows = np.array(rows, np.uint64)
        self.constants = np.array([*recording.constants, 1.0], dtype)
        self.outputs = np.array([self.row[place] for place in recording.outputs], np.uint64)
        self.numbers = len(self.row)
        fitting = CACHE // (2 * self.constants.itemsize * self.numbers)
        self.samples = min(MOST_SAMPLES, max(LEAST_SAMPLES, fitting))

    def _forward(self, run: list[TraceStep]) -> Code:
        """Return the STEP record of a run of adjacent steps."""
        first = run[0]
        if first.formula is None:
            return self._code(SUM, target=first.target, terms=self._add(first.terms))
        unit = forward_kernel(first.formula)
        return self._code(FORMULA, unit, first.operands, first.target, len(run))

    def _add(self, terms: list[TraceTerm]) -> tuple[int, int, int]:
        """Append terms, those without a number first; return their bounds for a STEP record."""
        begin = len(self.terms)
        shifts = [term for term in terms if term.number == NO_NODE]
        products = [term for term in terms if term.number != NO_NODE]
        for term in [*shifts, *products]:
            self.terms.append((term.sign, self._scalar(term.factor), self.row.get(term.number, 0)))
        return begin, begin + len(shifts), len(self.terms)

    def _scalar(self, factor: int) -> int:
        """Return the index of a factor among the scalars: parameters, constants, the number 1."""
        recording = self.recording
        if factor == NO_NODE:
            return len(recording.parameters) + len(recording.constants)
        if factor >= recording.first_parameter:
            return factor - recording.first_parameter
        return len(recording.parameters) + factor - recording.inputs

    def _code(
        self,
        kind: np.uint64,
        unit: Unit | None = None,
        operands: tuple[int, ...] = (),
        target: int = 0,
        count: int = 1,
        source: int = 0,
        terms: tuple[int, int, int] = (0, 0, 0),
    ) -> Code:
        places = [*operands, 0, 0, 0][:MOST_OPERANDS]
        rows = [self.row.get(place, 0) for place in [*places, target]]
        return (int(kind), 0, *rows, count, self.row.get(source, 0), *terms), unit

    def _backward(self, runs: list[list[TraceStep]]) -> Iterator[Code]:
        """Yield the STEP records of the backward pass."""
        readers = self._readers()
        for run in reversed(runs):
            for step in run:
                yield from self._gather(step.target, readers)
            if not any(run[0].slopes):
                continue
            if run[0].formula is None:
                yield from self._slopes(run[0])
            else:
                yield from self._partials(run)
        for place in range(self.recording.inputs):
            yield from self._gather(place, readers)

    def _readers(self) -> dict[int, list[TraceTerm]]:
        """Return the terms that contain each number, in which the number is replaced by its sum."""
        readers: dict[int, list[TraceTerm]] = {}
        for step in self.steps:
            for term in step.terms:
                if term.number != NO_NODE:
                    turned = TraceTerm(term.sign, term.factor, step.target)
                    readers.setdefault(term.number, []).append(turned)
        return readers

    def _gather(self, place: int, readers: dict[int, list[TraceTerm]]) -> Iterator[Code]:
        """Yield the STEP record that adds to a number's gradient, from the sums that read it."""
        if place in readers:
            yield self._code(SUM, target=place, terms=self._add(readers[place]))

    def _slopes(self, step: TraceStep) -> Iterator[Code]:
        """Yield the STEP record that computes the gradients of the parameters in a sum."""
        learned = [term for term in step.terms if term.factor >= self.recording.first_parameter]
        if learned:
            yield self._code(SLOPES, target=step.target, terms=self._add(learned))

    def _partials(self, run: list[TraceStep]) -> Iterator[Code]:
        """Yield the STEP records that compute the gradients of a run's operands."""
        first = run[0]
        assert first.formula is not None
        read = *first.operands, first.target
        for i, (operand, wanted) in enumerate(zip(first.operands, first.slopes, strict=True)):
            if wanted:
                unit = slope_kernel(first.formula, i)
                yield self._code(FORMULA, unit, read, first.target, len(run), operand)


def forward_kernel(formula: Formula) -> Unit:
    """Return the kernel that computes a formula."""
    return Unit(f"expression_{formula.name}", expression_kernels.formula_value, formula)


def slope_kernel(formula: Formula, operand: int) -> Unit:
    """Return the kernel that computes the gradient of one operand of a formula."""
    name, row = f"expression_{formula.name}_back_{operand}", partial_row(formula, operand)
    return Unit(name, expression_kernels.formula_slope, row)


# ---- steps: a place is the index of a number in a trace -----------------------------------------

LINEAR = ("add", "subtract", "negate", "linear")
FLAT = (flat, where_by_condition)  # derivatives that are 0 everywhere


@dataclass(frozen=True, slots=True)
class TraceTerm:
    """A term of a sum: sign * factor * number.

    `factor` is the index of a parameter or constant, or NONE for 1. `number` is the index of a
    number of the trace, or NONE if the term has only a factor.
    """

    sign: float
    factor: int
    number: int


@dataclass(slots=True)
class TraceStep:
    """Computation of one number: a formula applied to other numbers, or a sum of terms."""

    target: int  # index of the number
    formula: Formula | None = None  # None for a sum
    operands: tuple[int, ...] = ()
    terms: list[TraceTerm] = field(default_factory=list)
    level: int = 0  # length of the longest chain of steps on which it depends
    slopes: list[bool] = field(default_factory=list)  # operands or terms that need a gradient

    @property
    def name(self) -> str:
        """Name of the formula; "" for a sum."""
        return self.formula.name if self.formula else ""

    @property
    def reads(self) -> Iterable[int]:
        """Indices of the numbers that the step reads."""
        return self.operands or [term.number for term in self.terms if term.number != NO_NODE]


class Lowering:
    """Conversion of a trace to steps: combines sums, and gives rows to scalars that need them."""

    def __init__(self, recording: Trace) -> None:
        self.recording = recording
        self.steps: list[TraceStep] = []
        self.sums: dict[int, list[TraceTerm]] = {}  # sums not yet merged into another sum
        self.rows: dict[int, None] = {}  # scalars with a number for every sample
        self.inlined = self._inlined()
        for i, formula in enumerate(recording.formulas):
            operands = [int(place) for place in recording.operands[i] if place != NO_NODE]
            self._operation(recording.first_made + i, formula, operands)
        for place in recording.outputs:
            self._number(place)

    def _inlined(self) -> set[int]:
        """Return the indices of sums that are read by only one other sum, and so merged into it."""
        recording = self.recording
        uses = np.bincount(recording.operands[recording.operands != NO_NODE], minlength=1).tolist()
        in_sums = recording.operands[[each.name in LINEAR for each in recording.formulas]]
        made = {place for place in in_sums.ravel().tolist() if place >= recording.first_made}
        return {place for place in made - set(recording.outputs) if uses[place] == 1}

    def _is_scalar(self, place: int) -> bool:
        return self.recording.inputs <= place < self.recording.first_made

    def _is_two(self, place: int) -> bool:
        recording = self.recording
        is_constant = recording.inputs <= place < recording.first_parameter
        return is_constant and recording.constants[place - recording.inputs] == 2.0

    def _operation(self, place: int, formula: Formula, operands: list[int]) -> None:
        terms = self._terms(formula, operands)
        if terms is not None:
            if place in self.inlined:
                self.sums[place] = terms
            else:
                self.steps.append(TraceStep(place, terms=terms))
            return
        if formula.name == "power" and self._is_two(operands[1]):
            formula, operands = EVERY_OPERATION["multiply"], [operands[0], operands[0]]
        numbers = tuple([self._number(operand) for operand in operands])
        self.steps.append(TraceStep(place, formula, numbers))

    def _terms(self, formula: Formula, operands: list[int]) -> list[TraceTerm] | None:
        """Return an operation as terms of a sum; None for other operations."""
        if formula.name in ("add", "subtract"):
            left, right = map(self._as_terms, operands)
            if formula.name == "subtract":
                right = negated(right)
            if len(left) < len(right):  # extend the longer sum: copying it is slow
                left, right = right, left
            left.extend(right)
            return left
        if formula.name == "negate":
            return negated(self._as_terms(operands[0]))
        if formula.name == "linear":
            return self._as_terms(operands[0])
        scalars = [place for place in operands if self._is_scalar(place)]
        if formula.name == "multiply" and len(scalars) == 1:
            (number,) = set(operands) - set(scalars)
            return [TraceTerm(1.0, scalars[0], number)]
        return None

    def _as_terms(self, place: int) -> list[TraceTerm]:
        if place in self.sums:
            return self.sums.pop(place)
        if self._is_scalar(place):
            return [TraceTerm(1.0, place, NO_NODE)]
        return [TraceTerm(1.0, NO_NODE, place)]

    def _number(self, place: int) -> int:
        """Ensure that a number has a row in a tile, also if it is a parameter or constant."""
        if self._is_scalar(place) and place not in self.rows:
            self.rows[place] = None
            self.steps.append(TraceStep(place, terms=[TraceTerm(1.0, place, NO_NODE)]))
        return place


def negated(terms: list[TraceTerm]) -> list[TraceTerm]:
    return [TraceTerm(-term.sign, term.factor, term.number) for term in terms]


def in_order(steps: list[TraceStep], inputs: int) -> tuple[list[list[TraceStep]], dict[int, int]]:
    """Group steps into runs that one loop can compute; return the runs, and each number's row.

    Within a level, steps with the same formula are adjacent and ordered by the rows that they read;
    their results are in adjacent rows.
    """
    level = dict.fromkeys(range(inputs), 0)
    for step in steps:
        step.level = level[step.target] = 1 + max((level[x] for x in step.reads), default=0)
    row = {i: i for i in range(inputs)}
    runs: list[list[TraceStep]] = []
    for _, group in groupby(sorted(steps, key=lambda s: s.level), key=lambda s: s.level):
        for step in sorted(group, key=lambda s: (s.name, [row[x] for x in s.operands])):
            row[step.target] = len(row)
            if runs and continues(runs[-1][-1], step, row):
                runs[-1].append(step)
            else:
                runs.append([step])
    return runs, row


def continues(before: TraceStep, step: TraceStep, row: dict[int, int]) -> bool:
    """Return whether a step has the previous step's formula and reads the next row per operand."""
    return (
        step.formula is not None
        and step.formula is before.formula
        and (step.level, step.slopes) == (before.level, before.slopes)
        and all(
            row[after] == row[first] + 1
            for first, after in zip(before.operands, step.operands, strict=True)
        )
    )


def find_slopes(steps: list[TraceStep], recording: Trace) -> None:
    """Set the `slopes` field of each step: which operands or terms need a gradient."""
    changing = {*range(recording.inputs), *range(recording.first_parameter, recording.first_made)}
    for step in steps:
        if step.formula is None:
            step.slopes = [t.factor in changing or t.number in changing for t in step.terms]
        else:
            pairs = zip(step.operands, step.formula.partials, strict=True)
            step.slopes = [x in changing and partial not in FLAT for x, partial in pairs]
        if any(step.slopes):
            changing.add(step.target)
        else:
            changing.discard(step.target)


# ---- records for the kernels --------------------------------------------------------------------


@final
class ExpressionJob:
    """Records of a compiled function: a `CpuJob` and a `TraceRecord`.

    Attributes:
        job: the CpuJob with bank, optimizer and loss
        loss: table row of the loss whose kernels are in the plan
        address: memory address of the TraceRecord
    """

    def __init__(
        self,
        tables: ExpressionTables,
        bank: Bank,
        rows: Any,
        plan: Records,
        kernels: Mapping[str, Kernel],
    ) -> None:
        self.job = CpuJob(bank)
        self.loss: Any = None
        self._record, self._ends = TraceRecord(), TileRecord()
        self.address = ctypes.addressof(self._record)
        dtype, outputs, record = bank.value.dtype, len(tables.outputs), self._record
        self.job.fill("program", plan=plan)
        self.job.record.move = kernels["move"].address
        ends = np.zeros((3, outputs, tables.samples), dtype)
        self._ends.space = address(ends)
        self._ends.flow = self._ends.space + ends.strides[0] * 2
        self._ends.space_size, self._ends.flow_size = ends[:2].size, ends[2].size
        self._ends.stride = tables.samples
        terms = len(tables.signs)
        (
            record.code, record.signs, record.scalars, record.rows, record.factors,
            record.constants, record.outputs, record.owned, record.flow, record.sums, _,
        ) = self.job.keep(
            code=tables.code, signs=tables.signs, scalars=tables.scalars, rows=tables.rows,
            factors=np.zeros(terms, dtype), constants=tables.constants, outputs=tables.outputs,
            owned=rows.astype(np.uint64),
            flow=np.zeros(tables.numbers * tables.samples, dtype),
            sums=np.zeros(len(rows), dtype), ends=ends,
        )  # fmt: skip
        record.job, record.ends = self.job.address, ctypes.addressof(self._ends)
        record.code_count, record.steps = len(tables.code), tables.forwards
        record.term_count, record.constant_count = terms, len(tables.constants)
        record.output_count, record.parameters = outputs, len(rows)
        record.numbers, record.tile_samples = tables.numbers, tables.samples
        record.tile, record.item = tables.numbers * tables.samples, dtype.itemsize
        record.columns = tables.recording.inputs
        record.forward, record.backward = kernels["forward"].address, kernels["backward"].address

    def set_batch(
        self, samples: int, spaces: FloatArray, *, moves: bool = False, **arrays: FloatArray
    ) -> None:
        """Set the batch: `arrays` are named like the record fields that hold their addresses."""
        record = self._record
        record.spaces, record.places, record.samples = address(spaces), len(spaces), samples
        record.moves, record.learning = moves, "results" not in arrays
        self._batch = spaces, arrays
        for name, array in arrays.items():
            setattr(record, name, address(array))
