"""The panels of a picture of a sweep, for `scene/sweep_panels.py`, from the results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.scales import stop_above
from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.metric_formulas import is_one_hot, predictions_of
from scalarviz.core.program import NONE, Program
from scalarviz.scene.sweep_panels import (
    CUBES,
    KINDS,
    LOSSES,
    MAPS,
    SWATCHES,
    PanelComparison,
    SmallPictures,
    SweepPanel,
    SweepPanels,
)
from scalarviz.stage.data_exhibits import (
    PlanePoints,
    largest,
    middle_and_reach,
    plane_points,
)
from scalarviz.stage.sweep_look import SweepLook
from scalarviz.sweeps.results import (
    Interval,
    beats,
    cells_of,
    in_words,
    interquartile_mean,
    plain,
    rate_of,
    share_below,
    words_of,
)
from scalarviz.sweeps.sweep import Sweep
from scalarviz.sweeps.sweep_arguments import session_of
from scalarviz.sweeps.tasks import NEVER, Outcome, samples_of
from scalarviz.training.session.session import Session

BRIGHT = 98.0  # percent of the weights that are not beyond the scale
FAR_SCALE = 3.0  # times the scale that is needed at least, from which on it shrinks
# The panel of a setting that raised an error.
NO_NETWORKS = SweepPanel(
    *(NONE, "", (), np.zeros(0), np.zeros((0, 0)), np.zeros(0), SmallPictures()),
    *(np.zeros(0, np.bool_), np.zeros(0, np.bool_)),
)


@final
class Panels:
    """Makes the panels of a sweep, and keeps those that change no more.

    look  how the sweep is drawn
    """

    def __init__(self, sweep: Sweep, look: SweepLook) -> None:
        self.sweep = sweep
        self.look = look
        first = sweep.seeds[0]
        self._maker = cache(lambda i: Maker(session_of(sweep.make, sweep.settings[i], first)))
        self._kept: dict[tuple[int, SweepLook, bool], tuple[Outcome, SweepPanel]] = {}
        self._compared: dict[tuple[int, int], tuple[tuple[bytes, ...], Interval]] = {}
        self._scale = 0.0

    def now(self, first: int = 0) -> SweepPanels:
        """Return what is drawn of the sweep as it is now, without the `first` settings."""
        sweep, look = self.sweep, self.look
        outcomes = sweep.outcomes()
        known = {
            number: (setting, outcomes.get(number))
            for number, setting in enumerate(sweep.settings)
            if number in outcomes or number in sweep.errors
        }
        groups = behind(
            look.grouped(known, look.ordered(known, sweep.ranking), sweep.ranking), first
        )
        numbers = [number for _, found in groups for number in found]
        panels = [self.panel(number, outcomes.get(number)) for number in numbers]
        scores = {number: outcome.scores(sweep.ranking) for number, outcome in outcomes.items()}
        best = self._against(scores)
        panels = [replace(each, against=self._comparison(each, scores, best)) for each in panels]
        scale, clipped = self._scale_of(panels)
        now = sweep.progressed
        title = text(
            "sweep.picture.title",
            networks=plural("sweep.picture.networks", now.total),
            settings=plural("sweep.picture.settings", len(sweep.settings)),
            seeds=plural("sweep.picture.seeds", len(sweep.seeds)),
            step=now.step,
            goal=sweep.ranking.words,
        )
        sizes = [(name, len(found)) for name, found in groups]
        columns = 0 if look.order or look.group else columns_of(sweep)
        return SweepPanels(title, panels, sizes, columns, scale, sweep.step, look.networks, clipped)

    @property
    def kinds(self) -> list[str]:
        """The kinds of small pictures that the first setting, or the next one, can have."""
        for number in range(len(self.sweep.settings)):
            try:
                found = self._maker(number).kinds
            except Exception:  # of any class: the setting is named with its error elsewhere
                continue
            return [kind for kind in KINDS if kind in found]
        return [CUBES, LOSSES]

    def check(self) -> None:
        """Raise InputError if there are no such pictures of the networks of this sweep."""
        self.look.check(self.sweep)
        require(
            self.look.networks in self.kinds,
            f"these networks have no {self.look.networks}: maps need data in a plane, swatches "
            f"targets of three numbers from 0 to 1; choose {' or '.join(self.kinds)}",
        )

    def panel(self, number: int, outcome: Outcome | None) -> SweepPanel:
        """Return the panel of a setting, its networks in the order of the look."""
        if outcome is None or number in self.sweep.errors:
            error = self.sweep.errors[number]
            words = f"{type(error).__name__}: {error}"
            return replace(NO_NETWORKS, setting=number, name=self.name(number), error=words)
        key = number, self.look, self.sweep.playing
        before = self._kept.get(key)
        if before is not None and same(before[0], outcome):
            return before[1]
        order = self.look.order_of_networks(outcome, self.sweep.ranking)
        succeeded = outcome.succeeded != NEVER
        pictures = SmallPictures(LOSSES)
        if len(outcome.values) and self.look.networks != LOSSES:
            pictures = self._maker(number).make(
                self.look.networks, outcome.values[order], len(self.sweep),
                playing=self.sweep.playing,
            )  # fmt: skip
        panel = SweepPanel(
            number,
            self.name(number),
            outcome.seeds.view(np.uint64)[order].tolist(),
            outcome.checks.astype(np.float64),
            outcome.losses[order],
            means_of(outcome),
            pictures,
            (outcome.failed != NEVER)[order],
            succeeded[order],
            rate_of(outcome) if self.sweep.success else None,
            score=self._score(outcome),
        )
        self._kept[key] = outcome, panel
        return panel

    def _score(self, outcome: Outcome) -> str:
        """Return what a setting is ranked by, in words."""
        ranking = self.sweep.ranking
        value = cells_of(outcome, ranking)[ranking.name]
        return f"{ranking.words} {in_words(value)}" if math.isfinite(value) else ""

    def full_name(self, number: int) -> str:
        """Return a setting in words."""
        return words_of(self.sweep.settings[number])

    def name(self, number: int) -> str:
        """Return a setting in words, without the column that its group has in its name."""
        setting = self.sweep.settings[number]
        named = {key: value for key, value in setting.items() if key != self.look.group}
        return words_of(named) or text("sweep.picture.all")

    def _against(self, scores: Mapping[int, FloatArray]) -> int | None:
        """Return the setting with which the others are compared, by the scores of each."""
        good = [number for number in scores if number not in self.sweep.errors]
        if self.look.against is not None:
            return self.look.against if self.look.against in good else None
        return (
            min(good, key=lambda number: float(interquartile_mean(scores[number])))
            if len(good) > 1
            else None
        )

    def _comparison(
        self, panel: SweepPanel, scores: Mapping[int, FloatArray], best: int | None
    ) -> PanelComparison | None:
        """Return how often the networks of a panel are better than those of a setting.

        While it trains there is no interval, which takes some milliseconds.
        """
        if best is None or panel.error:
            return None
        chosen = self.look.against is not None
        if panel.setting == best:
            return PanelComparison("", chosen)
        ours, theirs = scores[panel.setting], scores[best]
        place = panel.setting, best
        if self.sweep.playing:
            found = Interval(share_below(ours, theirs), math.nan, math.nan)
            return PanelComparison(self.full_name(best), chosen, found)
        key = ours.tobytes(), theirs.tobytes()
        if place not in self._compared or self._compared[place][0] != key:
            self._compared[place] = key, beats(ours, theirs)
        return PanelComparison(self.full_name(best), chosen, self._compared[place][1])

    def _scale_of(self, panels: list[SweepPanel]) -> tuple[float, bool]:
        """Return a stop that most weights of networks that work do not exceed, and if some do.

        It shrinks only if it is far too large, so that it does not flicker.
        """
        walls = [panel for panel in panels if panel.pictures.kind == CUBES]
        weights, good = (
            np.concatenate([np.zeros(0), *(abs(each[np.isfinite(each)]) for each in found)])
            for found in (
                [panel.pictures.numbers for panel in walls],
                [panel.pictures.numbers[~panel.failed] for panel in walls],
            )
        )
        good = good if len(good) else weights
        needed = stop_above(float(np.percentile(good, BRIGHT))) if len(good) else 1.0
        if not self._scale >= needed or self._scale > FAR_SCALE * needed:
            self._scale = needed or 1.0
        return self._scale, bool((weights > self._scale).any())


def behind(groups: list[tuple[str, list[int]]], first: int) -> list[tuple[str, list[int]]]:
    """Return groups of settings without the `first` ones."""
    left = []
    for name, found in groups:
        if found[first:]:
            left.append((name, found[first:]))
        first = max(0, first - len(found))
    return left


def same(before: Outcome, now: Outcome) -> bool:
    """Return whether two readings of a setting are of the same moment."""
    return (
        before.digests == now.digests
        and len(before.checks) == len(now.checks)
        and before.losses.shape == now.losses.shape
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
    losses[(failed & (outcome.checks > outcome.failed[:, np.newaxis])) | np.isnan(losses)] = np.inf
    mean = interquartile_mean(losses.T)
    return np.where(np.isfinite(mean), mean, np.nan)


def columns_of(sweep: Sweep) -> int:
    """Return the number of values of the last name if the settings are a whole grid, else 0."""
    names = list(sweep.settings[0])
    if not names:
        return 1
    words = [in_words(plain(setting[names[-1]])) for setting in sweep.settings]
    last = list(dict.fromkeys(words))
    whole = last * -(-len(words) // len(last))
    return len(last) if words == whole[: len(words)] else 0


# Small pictures of the networks of a setting: their weights, maps, or swatches.

COARSEST = 48  # weights along a side of a wall
# Points of all maps of a sweep, and weights times points: while it plays they take some tens of
# milliseconds. At rest they are so many times as many.
POINTS, WORK, AT_REST = 1e5, 1e7, 10.0
SIDES = 8, 32  # cells along a map, at least and at most
MOST_SAMPLES = 24  # swatches of a network

Cells = npt.NDArray[np.int64]


@final
class Maker:
    """Makes the small pictures of one setting, from the weights of its networks.

    session  a session of the setting, untrained; its network is used to evaluate others
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.samples = getattr(session.data, "palette", samples_of(session)[:2])

    @cached_property
    def cells(self) -> Cells:
        """The row of the bank that each cube shows, NONE for empty cells."""
        cells = layers_side_by_side(self.session.network.program)
        step = math.ceil(max(cells.shape) / COARSEST)  # of more, every so many are shown
        return cells[::step, ::step]

    @cached_property
    def plane(self) -> PlanePoints | None:
        """The plane in which the data lie."""
        return plane_points(self.session.data, self.samples)

    @cached_property
    def network(self) -> Any:
        """A network that evaluates others, by their weights."""
        own = self.session.network
        network = own.fresh(0)
        return network.to("cpu", own.precision) if self.session.engine == "cpu" else network

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of pictures that there can be."""
        program, targets = self.session.network.program, self.samples[1]
        found = [CUBES, LOSSES]
        if any(operation.state != NONE for operation in program.operations):
            return found  # running statistics are not kept by sweeps
        if self.plane is not None:
            found.insert(1, MAPS)
        if targets.shape[1] == 3 and targets.min() >= 0.0 and targets.max() <= 1.0:
            found.insert(1, SWATCHES)
        return found

    def make(self, kind: str, values: FloatArray, networks: int, *, playing: bool) -> SmallPictures:
        """Return pictures of networks with these weights; cubes if there are none of this kind.

        values    shape (networks, parameters)
        networks  number of networks of the sweep, all of which are drawn
        playing   whether the sweep trains, so that maps have to be quick
        """
        if kind == MAPS and MAPS in self.kinds:
            classes = is_one_hot(self.samples[1])
            times = (1.0 if playing else AT_REST) / max(networks, len(values))
            side = math.sqrt(times * min(POINTS, WORK / values.shape[1]))
            side = int(min(max(side, SIDES[0]), SIDES[1]))
            return SmallPictures(MAPS, self._maps(values, side), classes)
        if kind == SWATCHES and SWATCHES in self.kinds:
            return SmallPictures(SWATCHES, self._swatches(values))
        known = self.cells != NONE
        found = np.full((len(values), *self.cells.shape), np.nan)
        found[:, known] = values[:, self.cells[known]]
        return SmallPictures(CUBES, found)

    def _outputs(self, values: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the outputs of each network, shape (networks, samples, outputs)."""
        loss, found = self.session.trainer.loss, []
        for weights in values:
            self.network.bank.value[:] = weights
            found.append(self.network(inputs))
        outputs = np.array(found)
        return predictions_of(loss, outputs.reshape(-1, outputs.shape[2])).reshape(outputs.shape)

    def _swatches(self, values: FloatArray) -> FloatArray:
        inputs, targets = self.samples
        some = np.linspace(0, len(inputs) - 1, min(len(inputs), MOST_SAMPLES)).round()
        rows = some.astype(np.intp)
        outputs = np.clip(self._outputs(values, inputs[rows]), 0.0, 1.0)
        return np.stack([outputs, np.broadcast_to(targets[rows], outputs.shape)], axis=2)

    def _maps(self, values: FloatArray, side: int) -> FloatArray:
        plane, targets = self.plane, self.samples[1]
        assert plane is not None, "it is among the kinds"
        outputs = self._outputs(values, plane.grid(side))
        if is_one_hot(targets):
            return np.array([largest(each) for each in outputs]).reshape(len(values), side, side)
        middle, reach = middle_and_reach(targets[:, 0])
        with np.errstate(over="ignore", invalid="ignore"):
            parts = (outputs[:, :, 0] - middle) / reach
        return np.asarray(parts.reshape(len(values), side, side))


def layers_side_by_side(program: Program) -> Cells:
    """Return the rows of all parameters, layer beside layer, in the middle of the height.

    A row of cells is a perceptron with its bias last, or a column if it has more inputs than its
    layer has perceptrons. Parameters of other kinds fill a square.
    """
    blocks = [block for block in map(block_of, program.operations) if block.size]
    if not blocks:
        return np.full((1, 1), NONE, np.int64)
    height = max(map(len, blocks))
    free = [height - len(block) for block in blocks]
    columns = [
        np.pad(block, ((rows // 2, rows - rows // 2), (0, 1)), constant_values=NONE)
        for block, rows in zip(blocks, free, strict=True)
    ]
    return np.hstack(columns)[:, :-1]  # there is a gap behind each but the last


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
    return np.pad(rows, (0, side * side - len(rows)), constant_values=NONE).reshape(side, side)
