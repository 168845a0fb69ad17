"""Kernel that trains, and keeps numbers of the bank after each step."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, exact, inner
from scalarviz.engines.cpu.arrays import Address, bank_of, progress_record
from scalarviz.engines.cpu.memory import array_at, call, record_at, table_at
from scalarviz.engines.cpu.products import ONE, ZERO, Index, Numbers, Table
from scalarviz.engines.cpu.watch_record import WATCH

STEPS, SQUARES, FINITE, FIRST = [np.uint64(i) for i in range(4)]  # see engines/common/watch.py
NUMBER = LANES = np.uint64(8)  # bytes of a number, and sums that a sum is made of


@by_address
def train_watched(job: Address, train: Address, watch: Address) -> None:
    """Take the steps that the job's progress asks for by `train`, one by one.

    Writes a line of numbers after each step that was taken; `train` writes the rest.
    """
    asked, progress, bank = record_at(watch, WATCH), progress_record(job), bank_of(job, Real)
    steps = progress.steps
    found = table_at(asked.found, steps, asked.columns, np.float64)
    values = array_at(asked.values, asked.value_count, np.uint64)
    gradients = array_at(asked.gradients, asked.gradient_count, np.uint64)
    progress.steps = ONE
    for k in range(steps):
        call(train, (job,))
        if progress.taken == k:
            break
        progress.first += ONE
        progress.losses += NUMBER
        found[k, STEPS] = np.float64(progress.count)
        if asked.squares:
            found[k, SQUARES] = sum_of_squares(bank.grad, bank.frozen)
        if asked.finite:
            found[k, FINITE] = none_or_nan(bank.value) + none_or_nan(bank.grad)
        place = FIRST
        for i in range(len(values)):
            found[k, place] = np.float64(bank.value[values[i]])
            place += ONE
        for i in range(len(gradients)):
            found[k, place] = np.float64(bank.grad[gradients[i]])
            place += ONE
    progress.steps = steps


@exact
def sum_of_squares(grad: Numbers, frozen: Table) -> float:
    """Return the sum of the squares of all gradients, not frozen, in eight sums, each in order."""
    a = b = c = d = e = f = g = h = 0.0
    count = np.uint64(len(grad))
    whole = count - count % LANES
    for row in range(ZERO, whole, LANES):
        a += square(grad, frozen, row)
        b += square(grad, frozen, row + ONE)
        c += square(grad, frozen, row + np.uint64(2))
        d += square(grad, frozen, row + np.uint64(3))
        e += square(grad, frozen, row + np.uint64(4))
        f += square(grad, frozen, row + np.uint64(5))
        g += square(grad, frozen, row + np.uint64(6))
        h += square(grad, frozen, row + np.uint64(7))
    left = count - whole
    if left > ZERO:
        a += square(grad, frozen, whole)
    if left > ONE:
        b += square(grad, frozen, whole + ONE)
    if left > np.uint64(2):
        c += square(grad, frozen, whole + np.uint64(2))
    if left > np.uint64(3):
        d += square(grad, frozen, whole + np.uint64(3))
    if left > np.uint64(4):
        e += square(grad, frozen, whole + np.uint64(4))
    if left > np.uint64(5):
        f += square(grad, frozen, whole + np.uint64(5))
    if left > np.uint64(6):
        g += square(grad, frozen, whole + np.uint64(6))
    return a + b + c + d + e + f + g + h


@exact
def square(grad: Numbers, frozen: Table, row: Index) -> float:
    """Return the square of a gradient, in float64; 0 if it is frozen."""
    return 0.0 if frozen[row] else np.float64(grad[row]) * np.float64(grad[row])


@inner
def none_or_nan(numbers: Numbers) -> float:
    """Return 0, or NaN if a number is not finite."""
    bad = False
    for i in range(len(numbers)):
        bad |= numbers[i] * 0.0 != 0.0
    return np.nan if bad else 0.0
