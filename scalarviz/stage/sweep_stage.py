"""SweepStage: draws a sweep in an OpenGL context, and offers its display options."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, require
from scalarviz.base.scales import stop_above
from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metric_formulas import LOSS
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.division import Box
from scalarviz.scene.sweep_panels import (
    CUBES,
    KINDS,
    LOSSES,
    MOST_GAP,
    SmallPictures,
    SweepPanel,
    SweepPanels,
)
from scalarviz.stage.sweep_look import NO_GROUPS, SweepLook, columns_of
from scalarviz.stage.sweep_results import Maker, means_of, values_in_a_row
from scalarviz.sweeps.results import (
    beats,
    cells_of,
    in_words,
    interquartile_mean,
    rate_of,
    share_below,
    words_of,
)
from scalarviz.sweeps.sweep import Sweep
from scalarviz.sweeps.sweep_arguments import FALLING, session_of
from scalarviz.sweeps.tasks import NEVER, Outcome

Run = tuple[int, int]  # index of the setting, and seed
BRIGHT = 98.0  # percent of the weights that are within the scale
FAR_SCALE = 3.0  # factor above the necessary scale from which it shrinks
MOST_COMPARED = 2**16  # cached comparisons


@final
class SweepStage:
    """The view of a sweep, which is read again for each picture.

    Attributes:
        look: display options of the sweep
        chosen: setting and seed of the selected network, or None
        first: number of settings before the first one shown
        networks: boxes of the networks in the last picture, by setting and seed
    """

    def __init__(self, sweep: Sweep, theme: str, look: SweepLook | None = None) -> None:
        """Set the display options; raise InputError if this sweep does not support them."""
        pick(THEMES, theme, "theme")
        self.sweep, self.theme, self.look = sweep, theme, look or SweepLook()
        first = sweep.seeds[0]
        self._maker = cache(lambda i: Maker(session_of(sweep.make, sweep.settings[i], first)))
        self.look.check(sweep)
        require(
            self.look.networks in self.kinds,
            f"these networks have no {self.look.networks}: maps need data in a plane, swatches "
            f"targets of three numbers from 0 to 1; choose {' or '.join(self.kinds)}",
        )
        self.chosen: Run | None = None
        self.first = 0
        self.shown = SweepPanels("", (), (), 0, 0.0, 0)  # before the first picture
        self.networks: dict[Run, Box] = {}
        self._count = 0  # settings that fit
        self._kept: dict[int, tuple[object, SweepPanel]] = {}
        self._beats = lru_cache(MOST_COMPARED)(
            lambda *scores: beats(*(np.frombuffer(each) for each in scores))
        )
        self._scale = 0.0
        self._renderer: Any = None

    @property
    def kinds(self) -> list[str]:
        """The kinds of thumbnails available for the first setting that can be created."""
        for number in range(len(self.sweep.settings)):
            try:
                found = self._maker(number).kinds
            except Exception:  # of any class: the setting is listed with its error elsewhere
                continue
            return [kind for kind in KINDS if kind in found]
        return [CUBES, LOSSES]

    def change(self, look: SweepLook) -> None:
        """Change the display options, and start from the first setting."""
        self.look, self.first = look, 0

    @property
    def has_pages(self) -> bool:
        """Whether there are settings that the last picture does not show."""
        return len(self.shown.panels) + self.first > self._count

    def page(self, pages: int) -> None:
        """Show the next settings, or the previous ones if `pages` is negative."""
        first = self.first + pages * max(1, self._count)
        if first < self.first + len(self.shown.panels):
            self.first = max(0, first)

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        from scalarviz.scene.canvas.canvas2d import Canvas2D
        from scalarviz.scene.canvas.renderer import Renderer, clear  # slow to import
        from scalarviz.scene.sweep_panels import draw_chosen, draw_panels

        theme = THEMES[self.theme]
        canvas = Canvas2D(width / ratio, height / ratio, ratio)
        self.shown = self.panels()
        boxes = draw_panels(canvas, self.shown, theme)
        self._count = len(boxes)
        self.networks = {
            (panel.setting, seed): box
            for panel, own in zip(self.shown.panels, boxes, strict=False)
            for seed, box in zip(panel.seeds, own, strict=False)
        }
        if self.chosen in self.networks:
            draw_chosen(canvas, self.networks[self.chosen], self._words(*self.chosen), theme)
        clear(theme.ground, width, height)
        self._renderer = self._renderer or Renderer()
        self._renderer.draw(canvas, width, height)

    def release(self) -> None:
        """Free the GPU memory; the next picture allocates it again."""
        self._renderer = None

    # The selected network.

    def point(self, x: float, y: float) -> Run | None:
        """Select the network at a pixel of the last picture, and return it, or None."""
        near = {
            run: math.hypot(x - box.x - 0.5 * box.width, y - box.y - 0.5 * box.height)
            for run, box in self.networks.items()
            if box.inside(-0.5 * MOST_GAP).has(x, y)
        }
        self.chosen = min(near, key=near.__getitem__, default=None)
        return self.chosen

    def move(self, across: int, down: int) -> None:
        """Select the nearest network in a direction; the best one if none is selected."""
        if self.chosen not in self.networks:
            self.chosen = next(iter(self.networks), None)
            return
        here, ahead = self.networks[self.chosen], dict[Run, float]()
        for run, box in self.networks.items():
            x, y = box.x - here.x, box.y - here.y
            far, aside = x * across + y * down, abs(x * down + y * across)
            if far > aside:
                ahead[run] = far + 2.0 * aside
        self.chosen = min(ahead, key=ahead.__getitem__, default=self.chosen)

    def _words(self, number: int, seed: int) -> str:
        """Return the result of a network as text."""
        outcome = self.sweep.outcome(number)
        row = outcome.row_of(seed)
        parts = [text("sweep.run", seed=seed, loss=float(outcome.last()[row]))]
        if (ranking := self.sweep.ranking).name != LOSS:
            parts.append(f"{ranking.words} {outcome.last(ranking.name)[row]:.4g}")
        if outcome.failed[row] != NEVER:
            parts.append(text("sweep.run.failed", step=int(outcome.failed[row])))
        elif outcome.succeeded[row] != NEVER:
            parts.append(text("sweep.run.succeeded", step=int(outcome.succeeded[row])))
        return ", ".join(parts)

    # Drawing.

    def panels(self) -> SweepPanels:
        """Return the panels of the sweep in its current state, beginning at setting `first`."""
        sweep, look, ranking = self.sweep, self.look, self.sweep.ranking
        outcomes = sweep.outcomes()
        known = {
            number: (setting, outcomes.get(number))
            for number, setting in enumerate(sweep.settings)
            if number in outcomes or number in sweep.errors
        }
        numbers = look.arranged(known, ranking)[self.first :]
        scores = {
            number: outcome.scores(ranking)
            for number, outcome in outcomes.items()
            if number not in sweep.errors
        }
        other = self._other(scores)
        panels = [
            replace(
                self._panel(number, outcomes.get(number)),
                against=self._compared(number, other, scores),
                is_other=number == other,
            )
            for number, _ in numbers
        ]
        scale, clipped = self._scale_of(panels)
        now = sweep.progressed
        title = text(
            "sweep.picture.title",
            networks=plural("sweep.picture.networks", now.total),
            settings=plural("sweep.picture.settings", len(sweep.settings)),
            seeds=plural("sweep.picture.seeds", len(sweep.seeds)),
            step=now.step,
            goal=ranking.words,
        )
        groups = [*Counter(name for _, name in numbers).items()]
        columns = 0 if look.order or look.group else values_in_a_row(sweep)
        about = scale, sweep.step, look.networks, clipped, self.first
        return SweepPanels(title, panels, groups, columns, *about)

    def _panel(self, number: int, outcome: Outcome | None) -> SweepPanel:
        """Return the panel of a setting, with networks in the selected order.

        It is cached while its networks are unchanged.
        """
        setting, ranking = self.sweep.settings[number], self.sweep.ranking
        named = {key: value for key, value in setting.items() if key != self.look.group}
        name = words_of(named) or text("sweep.picture.all")
        if outcome is None or number in self.sweep.errors:
            error = self.sweep.errors[number]
            return SweepPanel(number, name, error=f"{type(error).__name__}: {error}")
        kind, playing = self.look.networks, self.sweep.playing
        key = self.look, playing, outcome.digests, outcome.losses.shape
        before = self._kept.get(number)
        if before is not None and before[0] == key:
            return before[1]
        order = self.look.order_of_networks(outcome, ranking)
        pictures = SmallPictures()
        if len(outcome.values) and kind != LOSSES:
            values = outcome.values[order]
            pictures = self._maker(number).make(kind, values, len(self.sweep), playing=playing)
        value = cells_of(outcome, ranking)[ranking.name]
        panel = SweepPanel(
            number,
            name,
            outcome.seeds.view(np.uint64)[order].tolist(),
            outcome.checks.astype(np.float64),
            outcome.losses[order],
            means_of(outcome),
            pictures,
            (outcome.failed != NEVER)[order],
            (outcome.succeeded != NEVER)[order],
            rate_of(outcome) if self.sweep.success else None,
            score=f"{ranking.words} {in_words(value)}" if math.isfinite(value) else "",
        )
        self._kept[number] = key, panel
        return panel

    def _other(self, scores: Mapping[int, FloatArray]) -> int | None:
        """Return the setting with which the others are compared: the selected or the best one."""
        if self.look.against is not None:
            return self.look.against if self.look.against in scores else None
        means = {number: float(interquartile_mean(scores[number])) for number in scores}
        return min(means, key=means.__getitem__) if len(means) > 1 else None

    def _compared(
        self, number: int, other: int | None, scores: Mapping[int, FloatArray]
    ) -> list[str]:
        """Return texts on how often a setting's networks are better than another setting's.

        The texts are of decreasing width; there are none if one of the settings is unknown. During
        training, the interval is left out, because it takes several milliseconds.
        """
        if other is None or number not in scores:
            return []
        is_chosen = self.look.against is not None
        if number == other:
            kinds = ("long", "short")
            if is_chosen:
                return [text(f"sweep.picture.compared.{each}") for each in kinds]
            return [text(f"sweep.picture.best.{each}") for each in kinds]
        brief = text("sweep.picture.other" if is_chosen else "sweep.picture.the_best")
        names, sure = (words_of(self.sweep.settings[other]), brief), list[str]()
        share = share_below(scores[number], scores[other])
        if not self.sweep.playing:
            found = self._beats(scores[number].tobytes(), scores[other].tobytes())
            known = {"share": share, "low": found.low, "high": found.high}
            sure = [text("sweep.picture.beats", **known, name=each) for each in names]
        alone = [text("sweep.picture.beats.alone", share=share, name=each) for each in names]
        return [*sure, *alone, text("sweep.picture.beats.short", share=share, name=brief)]

    def _scale_of(self, panels: list[SweepPanel]) -> tuple[float, bool]:
        """Return a scale for most weights of successful networks, and whether any exceeds it.

        It shrinks only if it is far too large, to avoid flicker.
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


# Options in a window or a notebook.

MOST_SETTINGS = 100  # maximum settings to compare with


def choices_of(stage: SweepStage) -> dict[str, Mapping[Any, str]]:
    """Return the valid values of each field of SweepLook for a sweep, and their texts."""
    sweep = stage.sweep
    orders = {"": text("sweep.choose.order.grid")}
    groups = {"": text("sweep.choose.group.none")}
    for name in columns_of(sweep):
        orders[name] = text("sweep.choose.order.rising", name=name)
        orders[FALLING + name] = text("sweep.choose.order.falling", name=name)
        if name not in NO_GROUPS:
            groups[name] = text("sweep.choose.group.by", name=name)
    others: dict[int | None, str] = {None: text("sweep.choose.against.best")}
    for i, setting in enumerate(sweep.settings[:MOST_SETTINGS]):
        others[i] = text("sweep.choose.against.is", name=words_of(setting))
    return {
        "networks": {kind: text(f"sweep.choose.networks.{kind}") for kind in stage.kinds},
        "order": orders,
        "group": groups,
        "against": others,
    }
