"""Explanations: the arithmetic of one weight's update, and the numbers of one operation, as data.

Nothing is drawn here; pictures, captions and tests format these numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.optimizers import clip, regularize
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Buffer, Moment, Operation
from scalarviz.training.session.formula_lines import FormulaLine, constant_lines, update_lines
from scalarviz.training.session.last_change import LastChange
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


def rate_line(optimizer: Optimizer, row: int, step: int) -> FormulaLine:
    """Return the line of the learning rate, including the schedule if there is one."""
    rate, own = optimizer.rate_of(row, step), optimizer.own_rates.of(row)
    lr, is_same = (optimizer.lr, True) if own is None else (own, False)
    if optimizer.schedule.name == "constant":
        formula = f"{lr:g}" if is_same else "its own rate"
        return FormulaLine("lr", formula, rate, is_same=is_same, is_own_rate=not is_same)
    part = rate / lr if lr else 0.0
    known = {"lr": lr, optimizer.schedule.name: part}
    pattern = f"lr * {optimizer.schedule.name}"
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
