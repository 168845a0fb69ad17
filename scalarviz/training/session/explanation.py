"""Explanations: the arithmetic of one weight's update, and the numbers of one operation, as data.

Nothing is drawn here; pictures, captions and tests format these numbers.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.arithmetic import where
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.formula_words import (
    DEEPEST,
    UnwritableError,
    arguments_of,
    assignment,
    called,
    in_words,
    syntax_of,
    variables,
)
from scalarviz.core.formulas.optimizers import OptimizerRow, Schedule, clip, regularize
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Buffer, Moment, Operation
from scalarviz.story.facts import (
    Correction,
    Explained,
    LastChange,
    NamedFormula,
    NumberedFormula,
    UpdateLine,
)
from scalarviz.training.session.branches import Action, Clock
from scalarviz.training.session.timeline import Position, Timeline
from scalarviz.training.session.trainer import Trainer


@dataclass(frozen=True, slots=True)
class OperationNumbers:
    """The numbers of one operation, shape (samples, size); None where they are not computed yet.

    inputs, outputs    what the operation reads and writes
    upstream           gradient of the loss with respect to the outputs
    gradient           gradient with respect to the inputs; None if no earlier operation needs it
    """

    # "| Any", not "| None": a type checker takes `numbers.outputs.shape` without a check for None.
    inputs: FloatArray | Any
    outputs: FloatArray | Any
    upstream: FloatArray | Any
    gradient: FloatArray | Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one weight moves in one step. Attributes are None where they are not computed yet.

    name       name of the weight, such as "layer 1, perceptron 2, weight from input 0"
    row        its row in the bank
    value      its value before the step
    x          its input of each sample, float64, 1-D; ones for a bias. For a weight that is used in
               several places, the inputs of all places one after the other
    g          gradient of the loss with respect to the sum that x * w is part of; same shape as x
    products   x * g
    total      sum of the products: the gradient
    grad       the gradient in the bank
    frozen     whether the weight is frozen
    lines      the optimizer's arithmetic, from the gradient to the new value
    new_value  value after the step; equal to `value` if the weight is frozen
    edit       how the user has edited the weight since the last whole step; None if not
    """

    name: str
    row: int
    value: float
    x: FloatArray
    g: FloatArray | None
    products: FloatArray | None
    total: float | None
    grad: float
    frozen: bool
    lines: tuple[FormulaLine, ...]
    new_value: float | None
    edit: LastChange | None = None

    def __str__(self) -> str:
        ends = ["frozen: no step moves it"] if self.frozen else []
        if self.edit is not None:
            old, new, step = self.edit.old, self.edit.new, self.edit.step
            ends.append(f"edited: {old:.6g} -> {new:.6g} after step {step:,}")
        return "\n".join([*self._gradient_lines(), *map(str, self.spoken_lines()), *ends])

    __repr__ = __str__  # a prompt and a notebook show it, too

    def spoken_lines(self) -> list[FormulaLine]:
        """Return the lines with the word "grad" in place of g; after clipping, "grad used"."""
        found, word = [], "grad"
        for line in self.lines:
            formula = re.sub(r"\bg\b", word, line.formula)
            name = line.name
            if name == "g":
                name = word = "grad used"
            found.append(replace(line, name=name, formula=formula))
        return found

    def _gradient_lines(self) -> list[str]:
        lines = [f"{self.name}: w = {self.value:.6g}"]
        if self.total is None:
            return [lines[0] + ", no gradient yet"]
        if self.products is None or self.g is None:
            return [*lines, f"grad = {self.total:.6g}"]
        shown = 3 if len(self.x) > 4 else 4  # "1 more" would be as long as the term itself
        terms = [f"{x:.4g} * {g:.4g}" for x, g in zip(self.x[:shown], self.g[:shown], strict=True)]
        more = len(self.x) - len(terms)
        text = " + ".join(terms) + (f" + ... {more} more" if more > 0 else "")
        return [*lines, f"grad = {text} = {self.total:.6g}"]


def is_written(buffer: Buffer, moments: Sequence[Moment]) -> bool:
    """Return whether one of these moments writes the values of a buffer."""
    return any(buffer in moment.values for moment in moments)


def has_gradient(buffer: Buffer, moments: Sequence[Moment]) -> bool:
    """Return whether one of these moments writes the gradient of a buffer."""
    return any(buffer in moment.gradients for moment in moments)


def numbers_of(trainer: Trainer, operation: Operation, done: int) -> OperationNumbers:
    """Return the numbers of an operation after the first `done` moments of the step."""
    program, run = trainer.network.program, trainer.run
    if program.is_graph:
        return numbers_of_node(trainer, operation, done)
    source, target, past = operation.source, operation.target, program.moments[:done]
    is_read = source == program.inputs or is_written(source, past)
    return OperationNumbers(
        run.values(source) if is_read else None,
        run.values(target) if is_written(target, past) else None,
        run.gradients(target) if has_gradient(target, past) else None,
        run.gradients(source) if has_gradient(source, past) else None,
    )


def numbers_of_node(trainer: Trainer, operation: Operation, done: int) -> OperationNumbers:
    """Return the numbers of an operation of a compiled function, its operands side by side."""
    run, past = trainer.run, trainer.network.program.moments[:done]
    found: list[FloatArray | None] = [None] * 4
    if is_written(operation.target, past):
        found[0] = np.hstack([run.values(each) for each in operation.sources])
        found[1] = run.values(operation.target)
    if has_gradient(operation.target, past):
        found[2] = run.gradients(operation.target)
    if any(each.gradients == operation.sources for each in past):
        found[3] = np.hstack([run.gradients(each) for each in operation.sources])
    return OperationNumbers(*found)


def explain(trainer: Trainer, row: int, done: int) -> Explanation:
    """Explain the weight at `row` of the bank after the first `done` moments of the step."""
    program, bank = trainer.network.program, trainer.bank
    value, grad, frozen = float(bank.value[row]), float(bank.grad[row]), bool(bank.frozen[row])
    x, g, products, total = np.zeros(0), None, None, None
    own = [operation for operation in program.operations if row in operation.parameters]
    if not program.is_graph and all(operation.about.multiplies for operation in own):
        factors = [
            factors_of(operation, numbers_of(trainer, operation, done), row) for operation in own
        ]
        x, upstream = np.concatenate([x for x, _ in factors]), [g for _, g in factors]
        if all(g is not None for g in upstream):
            g = np.concatenate([g for g in upstream if g is not None])
            with np.errstate(all="ignore"):  # infinities and NaN are shown as they are
                products = x * g
                total = float(products.sum())
    elif is_final(trainer, row, done):
        total = grad  # of a compiled function, or a formula: no sum of products
    lines: tuple[FormulaLine, ...] = ()
    if total is not None and not frozen and is_ready(trainer, row, done):
        lines = optimizer_lines(trainer, row)
    new_value = lines[-1].value if lines else value if frozen and total is not None else None
    return Explanation(
        bank.name_of(row),
        row,
        value,
        x,
        g,
        products,
        total,
        grad,
        frozen,
        lines,
        new_value,
    )


def is_final(trainer: Trainer, row: int, done: int) -> bool:
    """Return whether the gradient of a weight is final that is no sum of products."""
    if trainer.network.program.is_graph:
        return all(each.kind == "step" for each in trainer.moments[done:])
    return is_ready(trainer, row, done)


def is_ready(trainer: Trainer, row: int, done: int) -> bool:
    """Return whether the gradient of a weight is final; with clip_norm, all gradients must be."""
    clips = trainer.settings.optimizer.clip_norm < np.inf
    operations = trainer.network.program.operations
    return all(
        i < done
        for i, moment in enumerate(trainer.moments)
        if moment.kind == "weight gradient"
        and (clips or row in operations[moment.operation].parameters)
    )


def factors_of(
    operation: Operation, numbers: OperationNumbers, row: int
) -> tuple[FloatArray, FloatArray | None]:
    """Return inputs and upstream gradients of a row, whose products sum to its gradient."""
    written, read = operation.uses(row)
    samples = 0 if numbers.inputs is None else len(numbers.inputs)
    x = np.ones(samples * len(written))
    if read is not None and numbers.inputs is not None:
        x = numbers.inputs[:, read].astype(np.float64).ravel()
    if numbers.upstream is None:
        return x, None
    return x, numbers.upstream[:, written].astype(np.float64).ravel()


def optimizer_lines(trainer: Trainer, row: int) -> tuple[FormulaLine, ...]:
    """Return the optimizer's arithmetic for one weight, from its gradient to its new value."""
    optimizer, bank = trainer.settings.optimizer, trainer.bank
    step = bank.step_count
    w, g = float(bank.value[row]), float(bank.grad[row])
    kept = [float(slot[row]) for slot in bank.slot_block(optimizer.row.slots)]
    refuses = optimizer.not_finite == "error" and not trainer.network.precision.mixed
    if refuses and not np.isfinite(g):
        return (FormulaLine("w", "as it is: the step will be refused, since g is not finite", w),)
    lines = condition_lines(optimizer, bank.grad[~bank.frozen], w, g)
    g = lines[-1].value if lines else g
    known = {"w": w, "g": g, **dict(zip(optimizer.row.slots, kept, strict=True))}
    lines.append(rate_line(optimizer, row, step))
    known |= {"lr": optimizer.rate_of(row, step), **optimizer.settings, "step": float(step + 1)}
    lines += constant_lines(optimizer.row, known)
    return (*lines, *update_lines(optimizer.row, known))


def schedule_name(schedule: Schedule) -> str:
    """Return what the factor of a schedule is called in formulas."""
    return schedule.name if schedule.name.isidentifier() else "schedule"


def rate_line(optimizer: Optimizer, row: int, step: int) -> FormulaLine:
    """Return the line of the learning rate, including the schedule if there is one."""
    rate, own = optimizer.rate_of(row, step), optimizer.own_rates.of(row)
    lr, is_same = (optimizer.lr, True) if own is None else (own, False)
    if optimizer.schedule.name == "constant":
        formula = f"{lr:g}" if is_same else "its own rate"
        return FormulaLine("lr", formula, rate, is_same=is_same, is_own_rate=not is_same)
    name = schedule_name(optimizer.schedule)
    known, pattern = {"lr": lr, name: rate / lr if lr else 0.0}, f"lr * {name}"
    words = f"{'' if is_same else 'its own rate, '}{lr:g} * {optimizer.schedule!r}"
    return FormulaLine("lr", words, rate, pattern, known, is_same=is_same, is_own_rate=not is_same)


def condition_lines(
    optimizer: Optimizer, alive: FloatArray, w: float, g: float
) -> list[FormulaLine]:
    """Return the lines of clipping and regularisation, which come before the update."""
    scale = optimizer.norm_scale(alive)
    lines = []
    if not np.isfinite(g):
        g = 0.0
        lines.append(FormulaLine("g", "0, since it is not finite", g))
    if scale != 1.0 or np.isfinite(optimizer.clip_value):
        clipped, limit = clip(g, scale, optimizer.clip_value), optimizer.clip_value
        known = {"g": g, "scale": scale, "limit": limit}
        formula, pattern = f"{g:.6g} * {scale:.6g}", "g * scale"
        if np.isfinite(limit):
            formula, pattern = f"clip({formula}, -{limit:g}, {limit:g})", "clip(g * scale, limit)"
        if scale == 1.0:
            pattern = "clip(g, limit)"
        g = clipped
        lines.append(FormulaLine("g", formula, g, pattern, known))
    if optimizer.l1 or optimizer.l2:
        parts, names = [f"{g:.6g}"], ["g"]
        for name, rate, factor in (("l1", optimizer.l1, "sign(w)"), ("l2", optimizer.l2, "w")):
            if rate:
                parts.append(f"{rate:g} * {factor}")
                names.append(f"{name} * {factor}")
        known = {"g": g, "w": w, "l1": optimizer.l1, "l2": optimizer.l2}
        g = regularize(g, w, optimizer.l1, optimizer.l2)
        lines.append(FormulaLine("g", " + ".join(parts), g, " + ".join(names), known))
    return lines


# What changed a weight last, a step or a user, and its values before and after.


def last_change(timeline: Timeline, row: int) -> LastChange | None:
    """Return what changed the weight at `row` of the bank last; None before the first change.

    Several edits without a step between them are one change.
    """
    edit = last_edit(timeline, row)
    if edit is not None or timeline.clock.step == 0:
        return edit
    step, new = timeline.clock.step, float(timeline.trainer.bank.value[row])
    with timeline.visit_end(step - 1):
        return LastChange(step, False, float(timeline.trainer.bank.value[row]), new)


def last_edit(timeline: Timeline, row: int) -> LastChange | None:
    """Return the edits of a weight since the last step; None if they have not changed it."""
    if any(action.kind == "edit" and row in action.details["rows"] for action in done_in(timeline)):
        old, new = on_arrival(timeline, row), float(timeline.trainer.bank.value[row])
        if old != new:
            return LastChange(timeline.clock.step, True, old, new)
    return None


def done_in(timeline: Timeline | Position) -> list[Action]:
    """Return the actions of a user since the last step that are done."""
    branch, now = timeline.branch, timeline.clock
    before = [each for i in range(now.operation) for each in branch.actions_at((now.step, i))]
    return before + branch.actions_at(now.place)[: now.actions]


def on_arrival(timeline: Timeline, row: int) -> float:
    """Return the value of a weight on arrival at this step, before the actions there."""
    step = timeline.clock.step
    frame = timeline.branch.frame_before(step)
    if frame is not None and frame.step == step:
        return float(frame.value[row])
    with timeline.visit(Clock(step)):
        return float(timeline.trainer.bank.value[row])


# The arithmetic of an optimizer for one weight, as lines: the statements of its update. An update
# is followed with the numbers of the weight, so that a condition is no line: only the statements
# that these numbers reach are lines.

NAME = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True, slots=True)
class FormulaLine:
    """One line of arithmetic: the name of a quantity, its formula with numbers, and its value.

    pattern  the formula with names in place of all numbers; "" if it is a sentence
    known    the numbers of these names
    calls    the functions that it calls, by name
    is_same  whether it is the same for all weights, as the learning rate is
    is_own_rate  whether it is the learning rate that only some weights have
    """

    name: str
    formula: str
    value: float
    pattern: str = field(default="", compare=False, repr=False)
    known: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    calls: Mapping[str, Callable[..., float]] = field(
        default_factory=dict, compare=False, repr=False
    )
    is_same: bool = field(default=False, compare=False, repr=False)
    is_own_rate: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        value = f"{self.value:.6g}"
        return " = ".join([self.name, *([] if self.formula == value else [self.formula]), value])


def constant_lines(row: OptimizerRow, known: dict[str, float]) -> list[FormulaLine]:
    """Return the constants of a step, such as Adam's bias corrections; add them to `known`."""
    settings = [known[name] for name, _ in row.settings]
    values = row.constants(known["step"], *settings)
    names = list(inspect.signature(row.update).parameters)[-len(values) :] if values else []
    formulas = returned(row.constants, len(values))
    before = dict(known)
    known |= dict(zip(names, values, strict=True))
    return [
        FormulaLine(name, formula or f"{value:.6g}", value, formula, before, is_same=True)
        for name, formula, value in zip(names, formulas, values, strict=True)
    ]


def returned(function: Callable[..., Any], count: int) -> list[str]:
    """Return the source of each element of the tuple that a function returns; "": unknown."""
    try:
        (last,) = syntax_of(function).body
    except (UnwritableError, ValueError):
        return [""] * count
    value = last.value if isinstance(last, ast.Return) else None
    found = [ast.unparse(each) for each in value.elts] if isinstance(value, ast.Tuple) else []
    return found if len(found) == count else [""] * count


def update_lines(row: OptimizerRow, known: Mapping[str, float]) -> list[FormulaLine]:
    """Return the lines of an optimizer's update with the numbers of one weight.

    There is a line for each assignment that these numbers reach, and for what is returned; that of
    the weight is the last. Of an update that cannot be followed, such as one with a loop, there is
    a line for each slot and one for the weight, with their new values only.
    """
    names = list(inspect.signature(row.update).parameters)
    own = ["w", "g", *row.slots, "lr", *(name for name, _ in row.settings)]
    own += names[len(own) :]  # the constants

    def new(*numbers: float) -> list[float]:
        with np.errstate(all="ignore"):  # as kernels, which do not raise
            found = row.update(*map(np.float64, numbers))
        return [float(each) for each in (found if isinstance(found, tuple) else (found,))]

    try:
        values = new(*(known[name] for name in own))
    except ArithmeticError:
        values = [math.nan] * (len(row.slots) + 1)
    try:
        lines = Followed().update(row, dict(zip(own, names, strict=True)), known)
        if lines[-1].value == values[0] or values[0] != values[0]:
            return lines
    except (UnwritableError, ArithmeticError, TypeError, ValueError, RecursionError):
        pass
    found = [
        FormulaLine(slot, f"{value:.6g}", value, "", known)
        for slot, value in zip(row.slots, values[1:], strict=False)
    ]
    pattern, calls = f"{row.name}({', '.join(own)})", {row.name: lambda *each: new(*each)[0]}
    return [*found, FormulaLine("w", pattern, values[0], pattern, dict(known), calls)]


@dataclass(frozen=True)
class Returned:
    """What a function returns: expressions of names with values, and of names outside."""

    elements: list[ast.expr]
    values: Mapping[str, float]
    outer: Mapping[str, Any]


class Followed:
    """The statements of an update that numbers reach, with a line for each assignment."""

    def __init__(self) -> None:
        self.lines: list[FormulaLine] = []
        self.depth = 0

    def update(
        self, row: OptimizerRow, names: Mapping[str, str], known: Mapping[str, float]
    ) -> list[FormulaLine]:
        """Return the lines of an update, that of the weight last.

        row    the optimizer
        names  the names of the update's parameters, by what captions call them
        known  numbers, by what captions call them
        """
        found = self.function(row.update, {name: known[own] for own, name in names.items()})
        lines, last = self.lines, None
        for target, element in zip(("w", *row.slots), found.elements, strict=True):
            given = element.id if isinstance(element, ast.Name) else ""
            line = next((line for line in reversed(lines) if line.name == given), None)
            if target == "w":
                last = line or line_of(target, element, found.values, found.outer)
                lines = [each for each in lines if each is not line]
            elif line is None and given != names[target]:
                lines.append(line_of(target, element, found.values, found.outer))
        assert last is not None
        new_names = {name: own for own, name in names.items() if own != name}
        lines = [renamed(line, new_names) for line in (*lines, replace(last, name="w"))]
        return [replace(line, known={**known, **line.known}) for line in lines]

    def function(self, function: Callable[..., Any], values: dict[str, float]) -> Returned:
        """Follow the statements of a function; return what it returns."""
        self.depth += 1
        if self.depth > DEEPEST or not isinstance(function, FunctionType):
            raise UnwritableError
        outer, statements = variables(function), list(syntax_of(function).body)
        while statements:
            statement = statements.pop(0)
            if isinstance(statement, ast.If):
                test = line_of("", statement.test, values, outer).value
                statements[:0] = statement.body if test else statement.orelse
            elif isinstance(statement, ast.Return) and statement.value is not None:
                return self.ending(statement.value, values, outer)
            elif not isinstance(statement, ast.Pass):
                values |= self.assigned(statement, values, outer)
        raise UnwritableError

    def assigned(
        self, statement: ast.stmt, values: Mapping[str, float], outer: Mapping[str, Any]
    ) -> dict[str, float]:
        """Follow one assignment, or several such as `m, v = v, m`; return the new values."""
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        pairs = [] if isinstance(target, ast.Tuple) else [assignment(statement)]
        if isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign):
            each = statement.value
            if not isinstance(each, ast.Tuple) or len(each.elts) != len(target.elts):
                raise UnwritableError
            pairs = [*zip(map(ast.unparse, target.elts), each.elts, strict=True)]
        new = [line_of(name, value, values, outer) for name, value in pairs]
        self.lines += new
        return {line.name: line.value for line in new}

    def ending(
        self, value: ast.expr, values: Mapping[str, float], outer: Mapping[str, Any]
    ) -> Returned:
        """Return what a return returns; an update that it calls is followed, too."""
        if isinstance(value, ast.Tuple) and len(value.elts) == 1:  # a number in a tuple
            return self.ending(value.elts[0], values, outer)
        if isinstance(value, ast.Tuple):
            return Returned(value.elts, values, outer)
        if isinstance(value, ast.IfExp):
            test = line_of("", value.test, values, outer).value
            return self.ending(value.body if test else value.orelse, values, outer)
        function = called(value.func, outer) if isinstance(value, ast.Call) else None
        if not isinstance(value, ast.Call) or not isinstance(function, FunctionType):
            return Returned([value], values, outer)
        lines = self.lines.copy()
        try:
            return self.called(value, function, values, outer)
        except UnwritableError:
            self.lines = lines
            return Returned([value], values, outer)

    def called(
        self,
        call: ast.Call,
        function: Callable[..., Any],
        values: Mapping[str, float],
        outer: Mapping[str, Any],
    ) -> Returned:
        """Follow the function that a call calls; return what it returns."""
        given: dict[str, float] = {}
        for name, each in arguments_of(call, function).items():
            if not isinstance(each, ast.expr):
                given[name] = float(each)
                continue
            line = line_of(name, each, values, outer)
            given[name] = line.value
            if not isinstance(each, ast.Name):
                self.lines.append(line)
        return self.function(function, given)


class Resolved(ast.NodeTransformer):
    """An expression with conditions decided by numbers, and functions called by their own names.

    known  the numbers of all names in it
    calls  the functions that it calls, by name
    """

    def __init__(self, values: Mapping[str, float], outer: Mapping[str, Any]) -> None:
        self.known: dict[str, float] = dict(values)
        self.outer = outer
        self.calls: dict[str, Callable[..., float]] = {}

    def value(self, syntax: ast.expr) -> Any:
        code = compile(ast.fix_missing_locations(ast.Expression(syntax)), "<formula>", "eval")
        known = {name: np.float64(value) for name, value in self.known.items()}
        with np.errstate(all="ignore"):  # as kernels, which do not raise
            return eval(code, {"__builtins__": {}, **self.calls}, known)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(copy.deepcopy(node.test))
        found: ast.expr = self.visit(node.body if self.value(test) else node.orelse)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in self.known else self.outside(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.outside(node, node.attr)

    def outside(self, node: ast.expr, name: str) -> ast.expr:
        """Return the name of a number that is defined outside."""
        value = called(node, self.outer)
        if not isinstance(value, (int, float)) or self.known.setdefault(name, value) != value:
            raise UnwritableError
        return ast.Name(name, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = called(node.func, self.outer)
        arguments: list[Any] = node.args
        if function is where and len(arguments) == 3:
            return self.visit_IfExp(ast.IfExp(*arguments))
        if isinstance(function, FunctionType):
            arguments = [
                each if isinstance(each, ast.expr) else ast.Constant(each)
                for each in arguments_of(node, function).values()
            ]
        elif node.keywords:
            raise UnwritableError
        name = str(getattr(function, "__name__", ""))
        if self.calls.setdefault(name, function) is not function or name in self.known:
            raise UnwritableError
        return ast.Call(ast.Name(name, ast.Load()), [self.visit(each) for each in arguments], [])


def line_of(
    name: str, syntax: ast.expr, values: Mapping[str, float], outer: Mapping[str, Any]
) -> FormulaLine:
    """Return a line of one expression with its numbers."""
    resolved = Resolved(values, outer)
    found = resolved.visit(copy.deepcopy(syntax))
    formula, value = ast.unparse(found), float(resolved.value(found))
    return FormulaLine(name, formula, value, formula, resolved.known, resolved.calls)


def renamed(line: FormulaLine, names: Mapping[str, str]) -> FormulaLine:
    """Return a line with other names; raise UnwritableError if one of them is taken."""
    own = {old: new for old, new in names.items() if old in line.known}
    if any(new in line.known and new not in own for new in own.values()):
        raise UnwritableError
    pattern = NAME.sub(lambda found: own.get(found[0], found[0]), line.pattern)
    known = {own.get(name, name): value for name, value in line.known.items()}
    name = names.get(line.name, line.name)
    return replace(line, name=name, formula=pattern, pattern=pattern, known=known)


# The same arithmetic for captions and cards: words, and functions of numbers.

CORRECTED = re.compile(r"\b(\w+) / (correction\d?)\b")
ALONE = re.compile(r"(?<!\w)\((\w+)\)")  # brackets around a name, not those of a function
CORRECTION = re.compile(r"1(?:\.0)? - power\((\w+), step\)")


def sign(x: float) -> float:
    return float(np.sign(x))


FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "power": pow,
    "sign": sign,
    "clip": lambda x, limit: max(-limit, min(limit, x)),
}
FUNCTIONS_WITH_NUMBERS: dict[str, Callable[..., float]] = {
    "sqrt": sqrt,
    "sign": sign,
    "clip": lambda x, low, high: min(max(x, low), high),
}


def explained_of(
    found: Explanation, optimizer: Optimizer, kept: Mapping[str, float], is_any_frozen: bool
) -> Explained:
    """Return an explanation as captions and cards read it.

    optimizer      of the step
    kept           its own numbers for the weight before the step, by slot
    is_any_frozen  whether any weight is frozen
    """
    powers = powers_of(found.lines)
    return Explained(
        found.row,
        found.value,
        found.grad,
        kept,
        tuple(optimizer.settings),
        found.frozen,
        is_any_frozen,
        tuple(update_line(line, powers) for line in found.lines),
        clips=optimizer.clip_norm < np.inf,
    )


def powers_of(lines: Sequence[FormulaLine]) -> dict[str, str]:
    """Return the settings whose powers make corrections, by the names of these corrections."""
    matches = [(line.name, CORRECTION.fullmatch(line.pattern)) for line in lines]
    return {name: match[1] for name, match in matches if match is not None}


def update_line(line: FormulaLine, powers: Mapping[str, str]) -> UpdateLine:
    """Return a line with its words, and with functions that compute it; `powers` as above."""
    functions, short = {**FUNCTIONS, **line.calls}, corrected(line, powers)
    is_written = line.name == "lr" or not line.is_same
    return UpdateLine(
        line.name,
        line.formula,
        line.value,
        line.known,
        in_words(line.formula, line.known, line.calls) or line.formula,
        None if line.is_same else numbered_formula(line),
        named_formula(short, functions) if is_written and line.pattern else None,
        [
            Correction(name, by, named_formula(divided(line, name, powers[by]), FUNCTIONS))
            for name, by in divisions_of(line, powers)
        ],
        same=line.is_same,
        own_rate=line.is_own_rate,
    )


def divisions_of(line: FormulaLine, powers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the numbers that a line divides by corrections made of powers, and these."""
    return [each for each in CORRECTED.findall(line.pattern) if each[1] in powers]


def corrected(line: FormulaLine, powers: Mapping[str, str]) -> FormulaLine:
    """Return a line with the corrected numbers in the place of their quotients."""
    known, pattern = dict(line.known), line.pattern
    for name, by in divisions_of(line, powers):
        known[f"{name}_corrected"] = known[name] / known[by]
        pattern = re.sub(rf"\b{name} / {by}\b", f"{name}_corrected", pattern)
    return replace(line, pattern=ALONE.sub(r"\1", pattern), known=known)


def divided(line: FormulaLine, name: str, power: str) -> FormulaLine:
    """Return the line of a number that is divided by a correction made of a power."""
    return replace(line, pattern=f"{name} / (1 - {power}^step)")


def named_formula(line: FormulaLine, functions: Mapping[str, Callable[..., float]]) -> NamedFormula:
    """Return the formula of a card."""
    names = [each for each in dict.fromkeys(NAME.findall(line.pattern)) if each in line.known]
    words = in_words(line.pattern, names, functions) or line.pattern
    return NamedFormula(words, names, function_of(line.pattern.replace("^", "**"), functions))


def numbered_formula(line: FormulaLine) -> NumberedFormula | None:
    """Return a line with _0_, _1_ ... in place of its numbers; None of a sentence."""
    functions = {**FUNCTIONS_WITH_NUMBERS, **line.calls}
    numbered = Numbered(constants=line.formula != line.pattern)
    try:
        code = ast.unparse(numbered.visit(ast.parse(line.formula, mode="eval")))
    except SyntaxError:
        return None
    names = [f"_{i}_" for i in range(len(numbered.numbers))]
    words = in_words(code, names, functions)
    return NumberedFormula(words, numbered.numbers, function_of(code, functions))


def function_of(
    code: str, functions: Mapping[str, Callable[..., float]]
) -> Callable[[Mapping[str, float]], float]:
    """Return a function of a dict of the names in an expression."""
    compiled, known = compile(code, "<formula>", "eval"), {"__builtins__": {}, **functions}
    return lambda numbers: float(eval(compiled, known, numbers))


class Numbered(ast.NodeTransformer):
    """An expression with a name of its own in place of each number.

    numbers  these numbers: a name, or a constant
    """

    def __init__(self, *, constants: bool) -> None:
        self.constants = constants
        self.numbers: list[str | float] = []

    def next(self, number: str | float) -> ast.expr:
        self.numbers.append(number)
        return ast.Name(f"_{len(self.numbers) - 1}_", ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.next(node.id)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if self.constants and isinstance(node.value, (int, float)):
            return self.next(float(node.value))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(each) for each in node.args]
        return ast.Call(node.func, arguments, [])
