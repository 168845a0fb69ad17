"""Kernel that trains, and keeps numbers of the bank after each step."""

from __future__ import annotations

import numpy as np

from scalarviz.engines.codegen.dispatch import Real, by_address, exact, inner
from scalarviz.engines.cpu.arrays import Address, bank_of, progress_record
from scalarviz.engines.cpu.memory import array_at, call, record_at, table_at
from scalarviz.engines.cpu.products import ONE, Numbers, Table
from scalarviz.engines.cpu.watch_record import WATCH

STEPS, SQUARES, FINITE, FIRST = [np.uint64(i) for i in range(4)]  # see engines/common/watch.py
NUMBER = np.uint64(8)  # bytes


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
    """Return the sum of the squares of all gradients, not frozen, in order."""
    total = 0.0
    for row in range(len(grad)):
        if not frozen[row]:
            total += np.float64(grad[row]) * np.float64(grad[row])
    return total


@inner
def none_or_nan(numbers: Numbers) -> float:
    """Return 0, or NaN if a number is not finite."""
    bad = False
    for i in range(len(numbers)):
        bad |= numbers[i] * 0.0 != 0.0
    return np.nan if bad else 0.0
