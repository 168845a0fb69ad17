"""The panels of a picture of a sweep: what `view/sweep_panels.py` draws, from the results."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import NONE
from scalarviz.model.program import Program
from scalarviz.sweeps.grid import session_of
from scalarviz.sweeps.outcome import NEVER, Outcome
from scalarviz.sweeps.statistics import interquartile_mean, rate
from scalarviz.sweeps.sweep import Sweep
from scalarviz.sweeps.table import in_words
from scalarviz.texts import plural, text
from scalarviz.view.sweep_panels import COARSEST, SweepPanel, SweepPanels

BRIGHT = 98.0  # percent of the weights that are not brighter than the scale
Cells = npt.NDArray[np.int64]


def panels_of(sweep: Sweep) -> SweepPanels:
    """Return what is drawn of a sweep as it is now."""
    known = [n for n in range(len(sweep.settings)) if sweep.knows(n)]
    panels = [panel_of(sweep, number) for number in known]
    weights = np.concatenate([np.zeros(0), *(abs(panel.pictures).ravel() for panel in panels)])
    weights = weights[np.isfinite(weights)]
    scale = float(np.percentile(weights, BRIGHT)) if len(weights) else 1.0
    now = sweep.progressed
    title = text(
        "sweep.picture.title",
        networks=plural("sweep.picture.networks", now.total),
        settings=plural("sweep.picture.settings", len(sweep.settings)),
        seeds=plural("sweep.picture.seeds", len(sweep.seeds)),
        step=now.step,
    )
    return SweepPanels(title, panels, columns_of(sweep), rounded(scale), sweep.step)


def panel_of(sweep: Sweep, number: int) -> SweepPanel:
    """Return the panel of a setting, its networks ordered by their last loss."""
    name = ", ".join(f"{key} {in_words(value)}" for key, value in sweep.settings[number].items())
    if number in sweep.errors:
        error = sweep.errors[number]
        nothing = np.zeros((0, 0)), np.zeros(0), np.zeros((0, 1, 1)), np.zeros(0, np.bool_)
        losses, mean, pictures, failed = nothing
        words = f"{type(error).__name__}: {error}"
        return SweepPanel(
            number, name, (), mean, losses, mean, pictures, failed, failed, None, words
        )
    outcome = sweep.outcome(number)
    order = np.argsort(outcome.final_losses, kind="stable")
    succeeded = outcome.succeeded != NEVER
    return SweepPanel(
        number,
        name or text("sweep.picture.all"),
        outcome.seeds.view(np.uint64)[order].tolist(),
        outcome.checks.astype(np.float64),
        outcome.losses[order],
        means_of(outcome),
        pictures_of(sweep, number, outcome)[order] if len(outcome.values) else np.zeros((0, 1, 1)),
        (outcome.failed != NEVER)[order],
        succeeded[order],
        rate(int(succeeded.sum()), len(succeeded)) if sweep.success else None,
    )


def means_of(outcome: Outcome) -> FloatArray:
    """Return the interquartile mean of the losses at each check.

    A network that has ended counts with its last loss, one that failed as infinite.
    """
    losses = outcome.losses.copy()
    for check in range(1, losses.shape[1]):
        missing = np.isnan(losses[:, check])
        losses[missing, check] = losses[missing, check - 1]
    failed = outcome.failed[:, np.newaxis] != NEVER
    late = outcome.checks > outcome.failed[:, np.newaxis]
    losses[(failed & late) | np.isnan(losses)] = np.inf
    mean = interquartile_mean(losses.T)
    return np.where(np.isfinite(mean), mean, np.nan)


def pictures_of(sweep: Sweep, number: int, outcome: Outcome) -> FloatArray:
    """Return the cells of the small picture of each network."""
    cells = sweep.cells_of(number, cells_in)
    known = cells != NONE
    found = np.full((len(outcome.values), *cells.shape), np.nan)
    found[:, known] = outcome.values[:, cells[known]]
    return found


def cells_in(sweep: Sweep, number: int) -> Cells:
    """Return the row of the bank that each cell of a small picture shows, NONE for empty cells."""
    session = session_of(sweep.make, sweep.settings[number], sweep.seeds[0])
    return coarser(layers_side_by_side(session.network.program))


def layers_side_by_side(program: Program) -> Cells:
    """Return the rows of all parameters, layer beside layer, in the middle of the height.

    A row of cells is a perceptron with its bias last, or a column if it has more inputs than its
    layer has perceptrons. Parameters of other kinds fill a square.
    """
    blocks = [block for block in map(block_of, program.operations) if block.size]
    if not blocks:
        return np.full((1, 1), NONE, np.int64)
    height = max(len(block) for block in blocks)
    columns: list[Cells] = []
    for block in blocks:
        place = (height - len(block)) // 2
        whole = np.full((height, block.shape[1] + 1), NONE, np.int64)  # a gap behind it
        whole[place : place + len(block), :-1] = block
        columns.append(whole)
    return np.hstack(columns)[:, :-1]


def block_of(operation: Any) -> Cells:
    """Return the rows of an operation's parameters as a matrix, higher than wide."""
    rows = np.array(operation.parameters, np.int64)
    shape = operation.shape
    if len(shape) == 2 and len(rows) in (shape[0] * shape[1], shape[0] * (shape[1] + 1)):
        weights = rows[: shape[0] * shape[1]].reshape(shape)
        biases = rows[shape[0] * shape[1] :]
        block = np.column_stack([weights, biases]) if len(biases) else weights
        return block if len(block) >= block.shape[1] else block.T
    side = math.ceil(math.sqrt(len(rows)))
    whole = np.full(side * side, NONE, np.int64)
    whole[: len(rows)] = rows
    return whole.reshape(side, side)


def coarser(cells: Cells) -> Cells:
    """Return every so many of the cells of a picture that has too many of them."""
    step = math.ceil(max(cells.shape) / COARSEST)
    return cells[::step, ::step]


def columns_of(sweep: Sweep) -> int:
    """Return the number of values of the last name if the settings are a whole grid, else 0."""
    names = list(sweep.settings[0])
    if not names:
        return 1
    last = list(dict.fromkeys(repr(setting[names[-1]]) for setting in sweep.settings))
    for i, setting in enumerate(sweep.settings):
        if repr(setting[names[-1]]) != last[i % len(last)]:
            return 0
    return len(last)


def rounded(scale: float) -> float:
    """Return a scale with two digits, at least as large."""
    if scale <= 0.0 or not math.isfinite(scale):
        return 1.0
    digit = 10.0 ** (math.floor(math.log10(scale)) - 1)
    return float(f"{math.ceil(scale / digit - 1e-9) * digit:.2g}")
