"""Explanations: the arithmetic of a weight's update and the numbers of an operation.

The results are plain numbers, which pictures and captions format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import Buffer, Moment, Operation
from scalarviz.story.facts import Explained, LastChange, MovingWeight, UpdateLine
from scalarviz.story.update import optimizer_lines
from scalarviz.training.session.actions import Action
from scalarviz.training.session.branches import Clock, Frame
from scalarviz.training.session.optimizer_facts import optimizer_facts
from scalarviz.training.session.timeline import Position, Timeline
from scalarviz.training.session.trainer import Trainer


@dataclass(frozen=True, slots=True)
class OperationNumbers:
    """The numbers of one operation, each of shape (samples, size), or None if not computed yet.

    Attributes:
        inputs, outputs: inputs and outputs of the operation
        upstream: gradient of the loss with respect to the outputs
        gradient: gradient of the loss with respect to the inputs; None if no earlier operation
            needs it
    """

    # "| Any", not "| None": type checkers then accept `numbers.outputs.shape` without a check.
    inputs: FloatArray | Any
    outputs: FloatArray | Any
    upstream: FloatArray | Any
    gradient: FloatArray | Any


@dataclass(frozen=True)
class Explanation(Explained):
    """The update of one weight in one step; attributes are None if not computed yet.

    Attributes:
        row: bank row of the weight; `name`: its name, such as "layer 1, perceptron 2, weight from
            input 0"
        value: value of the weight before the step
        x: input of the weight for each sample, float64, 1-D; ones for a bias. For a shared weight,
            the inputs of all its uses are concatenated
        g: gradient of the loss with respect to the sum that contains x * w; same shape as x
        products: x * g
        total: sum of the products, which is the gradient
        grad: gradient in the bank
        kept: optimizer state of the weight before the step, by slot; `settings`: names of the
            optimizer's settings
        frozen: whether the weight is frozen
        lines: arithmetic of the optimizer, from the gradient to the new value
        new_value: value of the weight after the step; equal to `value` if the weight is frozen
        edit: last edit of the weight by the user since the last step, or None
    """

    name: str
    x: FloatArray
    g: FloatArray | None
    products: FloatArray | None
    total: float | None
    new_value: float | None
    edit: LastChange | None = None

    def __str__(self) -> str:
        ends = ["frozen: no step moves it"] if self.frozen else []
        if self.edit is not None:
            old, new, step = self.edit.old, self.edit.new, self.edit.step
            ends.append(f"edited: {old:.6g} -> {new:.6g} after step {step:,}")
        return "\n".join([*self._gradient_lines(), *map(str, self.spoken_lines()), *ends])

    __repr__ = __str__  # also shown by a prompt and a notebook

    def spoken_lines(self) -> list[UpdateLine]:
        """Return `lines` with "grad" instead of "g" and, after clipping, "grad used"."""
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
        shown = 3 if len(self.x) > 4 else 4  # "1 more" would be as long as the term
        terms = [f"{x:.4g} * {g:.4g}" for x, g in zip(self.x[:shown], self.g[:shown], strict=True)]
        more = len(self.x) - len(terms)
        text = " + ".join(terms) + (f" + ... {more} more" if more > 0 else "")
        return [*lines, f"grad = {text} = {self.total:.6g}"]


def is_written(buffer: Buffer, moments: Sequence[Moment]) -> bool:
    """Return whether one of these operations of a step computes the values of a buffer."""
    return any(buffer in moment.values for moment in moments)


def has_gradient(buffer: Buffer, moments: Sequence[Moment]) -> bool:
    """Return whether one of these operations of a step computes the gradient of a buffer."""
    return any(buffer in moment.gradients for moment in moments)


def numbers_of(trainer: Trainer, operation: Operation, done: int) -> OperationNumbers:
    """Return the numbers of an operation, as known after `done` operations of the step.

    The inputs of an operation in a compiled function are its operands, concatenated.
    """
    program, run, target = trainer.network.program, trainer.run, operation.target
    sources, past = operation.sources[: None if program.is_graph else 1], program.moments[:done]
    reached, slopes = is_written(target, past), has_gradient(sources[0], past)
    is_read = reached or sources[0] == program.inputs or is_written(sources[0], past)
    if program.is_graph:
        is_read, slopes = reached, any(each.gradients == sources for each in past)
    return OperationNumbers(
        np.hstack([run.values(each) for each in sources]) if is_read else None,
        run.values(target) if reached else None,
        run.gradients(target) if has_gradient(target, past) else None,
        np.hstack([run.gradients(each) for each in sources]) if slopes else None,
    )


def explain(trainer: Trainer, row: int, done: int) -> Explanation:
    """Explain the update of the weight in a bank `row`, after `done` operations of the step."""
    program, bank = trainer.network.program, trainer.bank
    value, grad, still = float(bank.value[row]), float(bank.grad[row]), trainer.still
    frozen = bool(still[row])
    x, g, products, total = np.zeros(0), None, None, None
    own = [operation for operation in program.operations if row in operation.parameters]
    is_recorded = trainer.recorded is not None
    is_sum = all(operation.about.multiplies for operation in own)
    if is_sum and not program.is_graph and not is_recorded:
        factors = [
            factors_of(operation, numbers_of(trainer, operation, done), row) for operation in own
        ]
        x, upstream = np.concatenate([x for x, _ in factors]), [g for _, g in factors]
        if all(g is not None for g in upstream):
            g = np.concatenate([g for g in upstream if g is not None])
            with np.errstate(all="ignore"):  # infinities and NaN are shown unchanged
                products = x * g
                total = float(products.sum())
    elif is_final(trainer, row, done):
        total = grad  # of a compiled function, or a formula: not a sum of products
    optimizer = trainer.settings.optimizer
    slots = optimizer.row.slots
    numbers = trainer.bank.slot_block(slots)[:, row].tolist()
    kept = dict(zip(slots, numbers, strict=True))
    mixed = trainer.network.precision.mixed
    is_moved = total is not None and not frozen and trainer.explains
    lines = (
        optimizer_lines(optimizer_facts(optimizer, mixed=mixed), moving(trainer, row, kept))
        if is_moved and is_ready(trainer, row, done)
        else []
    )
    return Explanation(
        row,
        value,
        grad,
        kept,
        tuple(optimizer.settings),
        frozen,
        bool(still.any()),
        lines,
        optimizer.clip_norm < np.inf,
        bank.name_of(row),
        x,
        g,
        products,
        total,
        lines[-1].value if lines else value if frozen and total is not None else None,
    )


def is_final(trainer: Trainer, row: int, done: int) -> bool:
    """Return whether a gradient that is not a sum of products is final after `done` operations."""
    program = trainer.network.program
    if not program.is_graph:
        return is_ready(trainer, row, done)
    left = [each for each in trainer.moments[done:] if each.kind != "step"]
    clips = bool(left) and trainer.settings.optimizer.clip_norm < np.inf
    back = all(each.kind == "operand gradient" for each in left)
    return back and not clips and all(row not in program.rows_read(x.operation) for x in left)


def is_ready(trainer: Trainer, row: int, done: int) -> bool:
    """Return whether a gradient is final after `done` operations; with clip_norm, all must be."""
    clips = trainer.settings.optimizer.clip_norm < np.inf
    operations = trainer.network.program.operations
    return all(
        i < done
        for i, moment in enumerate(trainer.moments)
        if moment.kind == "weight gradient"
        and (clips or row in operations[moment.operation].parameters)
    )


def moving(trainer: Trainer, row: int, kept: Mapping[str, float]) -> MovingWeight:
    """Return the numbers that the optimizer uses to update a weight."""
    optimizer, bank = trainer.settings.optimizer, trainer.bank
    limits = optimizer.clip_norm < np.inf
    value = float(bank.value[row])
    return MovingWeight(
        value,
        value,
        float(bank.grad[row]),
        optimizer.norm_scale(bank.grad[~bank.frozen]) if limits else 1.0,
        kept,
        optimizer.own_rates.of(row),
        {} if (decay := optimizer.own_decays.of(row)) is None else {"decay": decay},
        bank.step_count,
    )


def factors_of(
    operation: Operation, numbers: OperationNumbers, row: int
) -> tuple[FloatArray, FloatArray | None]:
    """Return the inputs and upstream gradients whose products add up to the gradient of a row."""
    written, read = operation.uses(row)
    samples = 0 if numbers.inputs is None else len(numbers.inputs)
    x = np.ones(samples * len(written))
    if read is not None and numbers.inputs is not None:
        x = numbers.inputs[:, read].astype(np.float64).ravel()
    g = numbers.upstream
    return x, None if g is None else g[:, written].astype(np.float64).ravel()


# Changes by the user since the last step, and the numbers before.


def last_edit(timeline: Timeline, row: int) -> LastChange | None:
    """Return the change of a weight by user edits since the last step, or None if unchanged."""
    if any(action.kind == "edit" and row in action.details["rows"] for action in done_in(timeline)):
        before = numbers_at(timeline, Clock(timeline.clock.step))
        old, new = float(before.value[row]), float(timeline.trainer.bank.value[row])
        if old != new:
            return LastChange(timeline.clock.step, True, old, new)
    return None


def done_in(timeline: Timeline | Position) -> list[Action]:
    """Return the user actions applied since the last step."""
    branch, now = timeline.branch, timeline.clock
    before = [each for i in range(now.operation) for each in branch.actions_at((now.step, i))]
    return before + branch.actions_at(now.place)[: now.actions]


def numbers_at(timeline: Timeline, moment: Clock) -> Frame:
    """Return a keyframe at the start of a step, before or after the user actions there.

    If no such keyframe is stored, the previous step is replayed; the timeline then returns to the
    current moment.
    """
    frame, trainer = timeline.branch.frame_before(moment.step), timeline.trainer
    if frame is not None and Clock(frame.step) == moment:
        return frame
    with timeline.visit(moment):
        return Frame.of(trainer.bank, moment.step, trainer.settings)
