"""SnapshotWriter: writes the parameters of a followed model to its record."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any, final

import numpy as np

from scalarviz.base.messages import inform
from scalarviz.training.follow.record import (
    BEFORE,
    ENTRY,
    GRADIENT,
    PARTS,
    STEP,
    UNKNOWN,
    VALUE,
    Numbers,
    Recorder,
    bytes_in,
)
from scalarviz.training.follow.scalars import power_for
from scalarviz.training.follow.signs import Signs, in_words, statistics_of
from scalarviz.training.follow.sources import (
    MOST_EXPLAINED,
    Array,
    Source,
    TorchSource,
    chosen,
    norm_of,
    numbers_in,
    optimizers_of,
    placed,
    read_into,
    slots_of,
)

RATE = 2e8  # bytes written per second, before it was measured
WAITED = 0.04  # fraction of waiting time that counts as cost
LOOKED = 0.04  # share of a file for statistics; when full, only recorded steps have them


@final
class SnapshotWriter:
    """Copies the parameters of a followed model and writes them to its record.

    Attributes:
        source: the followed model, as a list of arrays
        recorder: Recorder that writes the file
        probe: a sample in the format of a record, or None
        last: the last recorded step; -1 before the first one
        signs: observations so far, such as the first NaN
        norm: norm of all gradients of the last recorded step, None if unknown
    """

    def __init__(self, source: Source, recorder: Recorder, probe: object) -> None:
        self.source, self.recorder, self.last = source, recorder, -1
        self._probe, self.signs = probe, Signs()
        self.norm: float | None = None
        self._parts, self._looked = 0, 0
        self._newest = 0  # the last step with statistics
        self._closes: Any = None  # the optimizer, if it evaluates the gradients itself
        self.begin(anew=True)
        if source.used:  # else the initial weights are unknown
            self._write_values(0, full=recorder.pages[b"FULL"].most > 1)

    def is_due(self, step: int, is_event: bool = False) -> bool:
        """Return whether to record a step: its page is due, or a look at its statistics.

        Looks are at every step, and at each 16th one whenever half of the remaining space is used,
        and after an event.
        """
        room = LOOKED * self.recorder.bound
        is_look = is_event or step % 16 ** power_for(self._looked, room) == 0
        return (is_look and self._looked < room) or self.recorder.pages[b"PAGE"].is_due(step)

    def begin(self, *, anew: bool) -> None:
        """Write a description of the arrays; allocate new buffers if the arrays have changed."""
        source, self._arrays = self.source, chosen(self.source.arrays)
        count, total = (
            self._arrays[-1].numbers.stop if self._arrays else 0,
            numbers_in(self._arrays),
        )
        explains = source.explains and total <= MOST_EXPLAINED
        parts = [*PARTS, *slots_of(source.used)] if explains else [*PARTS[:BEFORE]]
        if anew or len(parts) != self._parts:
            self._parts = len(parts)
            numbers: Numbers = np.zeros((max(BEFORE + 1, len(parts)), count), source.dtype)
            if anew:
                self._marks = np.zeros((3, len(self._arrays)), np.uint8)
                self._rates = np.full((len(self._arrays), 3), np.nan)
                self._norms = np.full(len(self._arrays), np.nan)  # of gradients
            else:  # a second optimizer, perhaps within a step
                numbers[: BEFORE + 1] = self._numbers[: BEFORE + 1]
            self._numbers: Numbers = numbers
        header = header_of(source, self._arrays, parts, self._probe)
        full = total * self._numbers.itemsize if total > count else 0
        self._full_price = full / RATE
        self.recorder.begin(header, sum(map(bytes_in, self._page)), full)

    @property
    def _page(self) -> tuple[Numbers, Numbers, Numbers]:
        """The contents of a page: rates, numbers, and marks of the arrays, see `RecordedStep`."""
        return self._rates, self._numbers[: self._parts], self._marks

    def _read(self, part: int, given: Sequence[Any]) -> list[bool]:
        """Copy arrays into a part of the page; return which of them have numbers."""
        return read_into(self._numbers[part], given, self._arrays)

    def read_before(self, optimizer: Any, *, closes: bool, goes_on: bool = False) -> None:
        """Copy the weights, gradients and optimizer slots before a step.

        Args:
            closes: whether the optimizer gets a closure that evaluates the gradients
            goes_on: whether other optimizers have stepped since the last backward pass; the arrays
                that they update are left as they are
        """
        source = self.source
        assert isinstance(source, TorchSource)
        arrays = self._rates, self._numbers, self._marks, self._norms
        earlier = [each.copy() for each in arrays if goes_on]
        self._read(BEFORE, source.values())
        self._closes = optimizer if closes else None
        if not closes:
            self._read_gradients(optimizer)
        if self._parts > BEFORE:
            for part, given in enumerate(source.slots().values(), BEFORE + 1):
                self._read(part, given)
        self._rates[:] = source.rates(optimizer)
        if goes_on:
            rates, numbers, marks, norms = earlier
            for i in np.flatnonzero(~np.isnan(rates[:, 2])):
                span = self._arrays[i].numbers
                self._numbers[:, span], self._marks[:, i] = numbers[:, span], marks[:, i]
                self._rates[i], self._norms[i] = rates[i], norms[i]

    def _read_gradients(self, optimizer: Any) -> None:
        """Copy the gradients; divide by the `grad_scale` of a fused optimizer, if it has one."""
        gradients = self.source.gradients()
        self._marks[1] = self._read(GRADIENT, gradients)
        parts = [self._numbers[GRADIENT, each.numbers] for each in self._arrays]
        self._norms[:] = [*map(norm_of, gradients, parts, self._arrays)]
        scale = getattr(optimizer, "grad_scale", None)
        if scale is not None:
            self._numbers[GRADIENT] /= float(scale)
            self._norms /= float(scale)

    def keep(self, step: int, loss: float | None, *, urgent: bool) -> None:
        """Record a finished step: write its statistics, new observations and, if due, its page.

        Args:
            urgent: whether to write a page even if none is due
        """
        source, recorder = self.source, self.recorder
        if not source.used:
            is_known = self.last == step - 1
            self._numbers[BEFORE] = self._numbers[VALUE] if is_known else np.nan
        if self._closes is not None or not source.used:
            self._read_gradients(self._closes)
        self._marks[0], self._marks[2] = self._read(VALUE, source.values()), source.frozen
        if urgent or recorder.pages[b"PAGE"].is_due(step):
            recorder.keep(b"PAGE", step, *self._page)
            self.last = step
        stats = statistics_of(self._numbers, self._arrays, self._marks)
        is_known = self._marks[1] > 0
        if source.used:
            others = np.isnan(self._rates[:, 2])  # another optimizer updates them
            stats[others, 2] = UNKNOWN
            is_known &= ~others | (self._closes is not None)
        self.norm = float(np.linalg.norm(self._norms[is_known])) if is_known.any() else None
        self._append(step, stats)
        for found in self.signs.noticed(step, self._arrays, stats, loss):
            self.note(found)
            if found["kind"] == "nan":
                self.keep_full(step)

    def _append(self, step: int, stats: Numbers) -> None:
        """Write the statistics of a step."""
        self.recorder.append(b"STAT", STEP.pack(step), stats)
        self._looked += stats.nbytes + 2 * (ENTRY.size + STEP.size)  # of the STAT, and of a LOSS
        self._newest = step

    def note(self, found: Mapping[str, Any]) -> None:
        """Write an observation to the record, and log it."""
        self.recorder.append(b"NOTE", json.dumps(found).encode())
        inform(in_words(found))

    def keep_full(self, step: int, room: float = inf) -> None:
        """Write all weights of a large model; if `room` is given, only if due and fast enough."""
        pages = self.recorder.pages[b"FULL"]
        is_wanted = room == inf or (pages.is_due(step) and 2.0 * self._full_price < room)
        if is_wanted and pages.most and step not in pages.places:
            begun, arrays = moment(), placed(self.source.arrays)
            numbers = np.zeros(numbers_in(arrays), self.source.dtype)
            read_into(numbers, self.source.values(), arrays)
            self.recorder.keep(b"FULL", step, numbers)
            self._full_price = price(*between(begun, moment()))

    def _write_values(self, step: int, *, full: bool = True) -> None:
        """Write a page with the current weights only, without gradients and rates."""
        self._numbers[:], self._rates[:] = 0.0, np.nan
        self._marks[0], self._marks[1] = self._read(VALUE, self.source.values()), 0
        self._marks[2] = self.source.frozen
        self.recorder.keep(b"PAGE", step, *self._page)
        if full:
            self.keep_full(step)

    def look(self, step: int, loss: float | None, *, last: bool = False) -> None:
        """Write an observation if the latest weights or loss are not finite.

        Args:
            last: whether to write their statistics, with the gradients that the last step has left
        """
        marks = np.zeros_like(self._marks)
        marks[0] = self._read(VALUE, self.source.values())
        self._numbers[BEFORE] = np.nan
        stats = statistics_of(self._numbers, self._arrays, marks)
        for found in self.signs.lost(step, self._arrays, stats, loss):
            self.note(found)
        if last and step > self._newest:
            used = self.source.used
            # These may leave gradients with the scale of a GradScaler.
            if used and not any(hasattr(x, "_step_supports_amp_scaling") for x in used):
                marks[1] = self._read(GRADIENT, self.source.gradients())
            self._append(step, statistics_of(self._numbers, self._arrays, marks))

    def end(self, step: int, loss: float | None) -> None:
        """Finish the record: write and check the latest weights, with their statistics."""
        if self.last != step:
            self._write_values(step)
        self.look(step, loss, last=True)
        self.keep_full(step)
        self.recorder.append(b"DONE")


def header_of(
    source: Source, arrays: Sequence[Array], parts: Sequence[str], probe: object
) -> dict[str, Any]:
    """Return the content of a HEAD."""
    return {
        "title": source.title,
        "dtype": source.dtype,
        "parts": parts,
        "arrays": [asdict(each) for each in arrays],
        "modules": source.modules,
        "chain": source.is_chain,
        "optimizers": optimizers_of(source.used),
        "probe": probe,
    }


def moment() -> tuple[float, float]:
    """Return wall time and the CPU time of this thread, in seconds."""
    return time.perf_counter(), time.thread_time()


def between(begun: tuple[float, float], now: tuple[float, float]) -> tuple[float, float]:
    """Return the wall time and the CPU time between two moments, in seconds."""
    passed, worked = now[0] - begun[0], now[1] - begun[1]
    return passed, min(max(worked, 0.0), passed)


def price(passed: float, worked: float) -> float:
    """Return the cost of a recording: its CPU time and a part of its waiting time, in seconds.

    Waiting counts only partly, since its cause may be another process that uses the core.
    """
    return worked + WAITED * (passed - worked)
