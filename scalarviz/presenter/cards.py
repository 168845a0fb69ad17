"""Cards of the inspector, for the hovered and for the pinned weight."""

from __future__ import annotations

import math
from typing import final

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.errors import ScalarvizError
from scalarviz.model.operations import NONE
from scalarviz.presenter.answers import Answer
from scalarviz.presenter.channels import Source
from scalarviz.presenter.live_values import LiveValues
from scalarviz.presenter.throttle import Throttle
from scalarviz.session.explanation import Explanation
from scalarviz.session.session import Session
from scalarviz.texts import plural, text
from scalarviz.view.frame_data import Card

TERMS = 3  # terms of a sum that are written out


def facts(session: Session, row: int, source: Source, since: int) -> list[tuple[str, str]]:
    """Return value, gradient and last change of a weight, as names and texts."""
    value, grad = float(source.numbers.value[row]), float(source.numbers.grad[row])
    change = value - float(source.before[row])
    found = [
        (text("card.value"), f"{value:.5g}"),
        (text("card.gradient"), f"{grad:.4g}"),
        (text("card.change"), f"{change:+.3g}" if change else "0"),
        (text("card.since"), f"{since:,}"),
    ]
    if session.network.bank.frozen[row]:
        found.append((text("card.frozen"), text("card.frozen.meaning")))
    return found


def hover_card(session: Session, row: int | None, source: Source, since: int) -> Card | None:
    """Return the card beside a hovered cube; None if there is none."""
    if row is None:
        return None
    name = session.network.bank.name_of(row)
    own = text("card.row"), f"{row:,}"
    return Card(row, name, [*facts(session, row, source, since), own])


@final
class PinnedCard:
    """The card of the pinned weight; its arithmetic is recomputed only when the clock has moved."""

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self.session = reading.session
        self._lines: Answer[list[str]] = Answer([])
        reading.answers.append(self._lines)
        self._recalling = Throttle()
        self._recalled = NONE, (np.zeros(0), np.zeros(0))

    def card(self, row: int | None, source: Source, since: int, key: object) -> Card | None:
        """Return the card: numbers, history, and, unless the session plays, arithmetic."""
        if row is None:
            return None
        if self.session.playing:
            lines = [text("explanation.playing")]
        else:
            lines = self.reading.ask(self._lines, (row, key), lambda: arithmetic(self.session, row))
            lines = [text("explanation.pending")] if self._lines.pending else lines
        name = self.session.network.bank.name_of(row)
        return Card(row, name, facts(self.session, row, source, since), lines, self._history(row))

    def _history(self, row: int) -> tuple[FloatArray, FloatArray] | None:
        """Return steps and values so far; while the session plays, refreshed only at intervals.

        A picture that waits for all results waits for the earlier steps, too.
        """
        if row not in self.session.pinned:
            return None
        waits = self.reading.patience == math.inf
        if row != self._recalled[0] or not self.session.playing or self._recalling.due:
            with self._recalling.doing():
                self._recalled = row, self.session.history(row, wait=waits)
        steps, values = self._recalled[1]
        return (steps, values) if len(steps) > 1 else None


def arithmetic(session: Session, row: int) -> list[str]:
    """Return the sum that makes the gradient of a weight, and the optimizer's lines."""
    try:
        said = session.explain(row)
    except ScalarvizError:
        return [text("explanation.none")]
    places = [
        len(operation.uses(row)[0])
        for operation in session.network.program.operations
        if row in operation.parameters
    ]
    is_shared = sum(places) > 1
    lines = [text("explanation.shared", count=sum(places))] if is_shared else []
    lines += gradient_lines(said, largest_first=is_shared)
    lines += [str(line) for line in said.lines]
    return lines


def gradient_lines(said: Explanation, *, largest_first: bool = False) -> list[str]:
    """Return the sum over the batch: some terms, the number of others, and the total."""
    if said.total is None:
        return [text("explanation.unknown")]
    if said.products is None or said.g is None:
        return [f"grad = {said.total:.6g}"]
    count = len(said.products)
    if not count:
        return [text("explanation.beyond")]
    lines = [plural("explanation.terms", count)]
    order = np.arange(count)
    if largest_first:  # most terms of a shared weight may be 0
        order = np.argsort(-np.abs(said.products), kind="stable")
        lines = [text("explanation.largest_first", terms=lines[0])]
    for i in order[:TERMS].tolist():
        lines.append(f"  {said.x[i]:.4g} * {said.g[i]:.4g} = {said.products[i] + 0.0:.4g}")
    if count > TERMS:
        rest = float(np.sum(said.products[order[TERMS:]]))
        lines.append(text("explanation.more", count=count - TERMS, rest=rest))
    if count > 1:
        lines.append(text("explanation.total", total=said.total))
    return lines
