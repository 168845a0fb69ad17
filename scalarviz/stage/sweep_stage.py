"""SweepStage: draws a sweep in an OpenGL context, and what a user can choose of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.metric_formulas import LOSS
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.sweep_panels import PicturePlaces, SweepPanels
from scalarviz.stage.sweep_look import NO_GROUPS, SweepLook, columns_of
from scalarviz.stage.sweep_results import Panels
from scalarviz.sweeps.sweep import Sweep
from scalarviz.sweeps.sweep_arguments import FALLING
from scalarviz.sweeps.tasks import NEVER

Run = tuple[int, int]  # number of the setting, and seed


@final
class SweepStage:
    """What is drawn of a sweep, which is read anew for each picture.

    chosen  setting and seed of the network that is looked at, or None
    first   number of settings before those that are shown
    """

    def __init__(self, sweep: Sweep, theme: str, look: SweepLook | None = None) -> None:
        """`look` is how the sweep is drawn; raise InputError if it cannot be drawn so."""
        pick(THEMES, theme, "theme")
        self.sweep, self.theme = sweep, theme
        self.panels = Panels(sweep, look or SweepLook())
        self.panels.check()
        self.chosen: Run | None = None
        self.first = 0
        self._shown = SweepPanels("", (), (), 0, 0.0, 0)  # before the first picture
        self._spots: list[PicturePlaces] = []
        self._renderer: Any = None

    @property
    def look(self) -> SweepLook:
        """How the sweep is drawn."""
        return self.panels.look

    @look.setter
    def look(self, look: SweepLook) -> None:
        self.panels.look, self.first = look, 0

    @property
    def has_pages(self) -> bool:
        """Whether there are more settings than on the last picture."""
        return len(self._shown.panels) + self.first > len(self._spots)

    def page(self, pages: int) -> None:
        """Show the settings behind those on the last picture, or before them."""
        first = self.first + pages * max(1, len(self._spots))
        if first < self.first + len(self._shown.panels):
            self.first = max(0, first)

    def draw(self, width: int, height: int, ratio: float) -> None:
        """Draw in the current OpenGL context, `ratio` device pixels per logical pixel."""
        from scalarviz.scene.canvas.canvas2d import Canvas2D
        from scalarviz.scene.canvas.renderer import Renderer, clear  # slow to import
        from scalarviz.scene.sweep_panels import draw_panels

        theme = THEMES[self.theme]
        canvas = Canvas2D(width / ratio, height / ratio, ratio)
        shown = self.panels.now(self.first)
        self._shown = replace(
            shown, before=self.first, chosen=self._place_in(shown), words=self._words()
        )
        self._spots = draw_panels(canvas, self._shown, theme)
        clear(theme.ground, width, height)
        self._renderer = self._renderer or Renderer()
        self._renderer.draw(canvas, width, height)

    def release(self) -> None:
        """Free what is on the graphics card; the next picture allocates it again."""
        self._renderer = None

    def point(self, x: float, y: float) -> Run | None:
        """Choose the network at a pixel of the last picture, and return it; None: nothing there."""
        self.chosen = None
        for spots in self._spots:
            if (place := spots.at(x, y)) is not None:
                self.chosen = run_at(self._shown, spots.panel, place)
        return self.chosen

    def move(self, across: int, down: int) -> None:
        """Choose a network beside the chosen one; the best of all if there is none."""
        if not self._spots:
            return
        at = self._place_in(self._shown)
        spots = next((each for each in self._spots if at and each.panel == at[0]), None)
        if at is None or spots is None:
            spots, place = self._spots[0], 0
        else:
            place = at[1] + across + down * spots.columns
            if not 0 <= place < spots.count:  # on to the panel before or behind
                step = 1 if place >= spots.count else -1
                spots = self._spots[(self._spots.index(spots) + step) % len(self._spots)]
                place = 0 if step > 0 else spots.count - 1
        self.chosen = run_at(self._shown, spots.panel, place)

    def _place_in(self, shown: SweepPanels) -> tuple[int, int] | None:
        """Return panel and place of the chosen network, which moves as it learns."""
        if self.chosen is None:
            return None
        setting, seed = self.chosen
        panels = (each for each in enumerate(shown.panels) if each[1].setting == setting)
        return next(((i, list(panel.seeds).index(seed)) for i, panel in panels), None)

    def _words(self) -> str:
        """Return what the chosen network came to, in words."""
        if self.chosen is None:
            return ""
        number, seed = self.chosen
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


def run_at(shown: SweepPanels, panel: int, place: int) -> Run:
    """Return setting and seed of the network at a place of a panel."""
    found = shown.panels[panel]
    return found.setting, found.seeds[place]


# What a user can choose in a window or a notebook.

MOST_SETTINGS = 100  # that others can be compared with


def choices_of(panels: Panels) -> dict[str, Mapping[Any, str]]:
    """Return the values that each field of a SweepLook can have for a sweep, with their words."""
    sweep = panels.sweep
    orders = {"": text("sweep.choose.order.grid")}
    groups = {"": text("sweep.choose.group.none")}
    for name in columns_of(sweep):
        orders[name] = text("sweep.choose.order.rising", name=name)
        orders[FALLING + name] = text("sweep.choose.order.falling", name=name)
        if name not in NO_GROUPS:
            groups[name] = text("sweep.choose.group.by", name=name)
    others: dict[int | None, str] = {None: text("sweep.choose.against.best")}
    for i in range(min(len(sweep.settings), MOST_SETTINGS)):
        others[i] = text("sweep.choose.against.is", name=panels.full_name(i))
    return {
        "networks": {kind: text(f"sweep.choose.networks.{kind}") for kind in panels.kinds},
        "order": orders,
        "group": groups,
        "against": others,
    }
