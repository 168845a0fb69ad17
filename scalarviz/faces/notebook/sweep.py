"""A sweep in a notebook: its picture below the cell, drawn anew while it trains, and choices."""

from __future__ import annotations

from time import monotonic
from typing import Any, final

from scalarviz.faces.notebook.place import has_widgets
from scalarviz.pictures.draw2d.png import png
from scalarviz.pictures.export.render import picture
from scalarviz.pictures.sweeps.choices import Choice, choices_of
from scalarviz.pictures.sweeps.look import SweepLook
from scalarviz.pictures.sweeps.panels import Panels
from scalarviz.sweeps.sweep import Sweep

BETWEEN = 0.5  # seconds between two pictures
WIDE = "190px"  # of a choice


@final
class SweepCell:
    """What stands below a cell: menus of how the sweep is drawn, and its picture.

    look   how it is drawn
    menus  the widgets, by the field of the look; empty without ipywidgets
    """

    def __init__(self, sweep: Sweep, theme: str, size: tuple[int, int], look: SweepLook) -> None:
        self.sweep, self.size, self.look = sweep, size, look
        self.theme = "dark" if theme == "auto" else theme
        self.menus: dict[str, Any] = {}
        self._place: Any = None

    def update(self) -> None:
        """Draw the picture anew, or for the first time, with the menus above it."""
        from IPython.display import Image, display

        if self._place is None and has_widgets():
            display(self._row())  # type: ignore[no-untyped-call]  # of IPython
        frame = picture(
            self.sweep, size=self.size, theme=self.theme, networks=self.look.networks,
            order=self.look.order, group=self.look.group, against=self.look.against,
        )  # fmt: skip
        image = Image(png(frame), width=self.size[0])  # type: ignore[no-untyped-call]  # of IPython
        if self._place is None:
            self._place = display(image, display_id=True)  # type: ignore[no-untyped-call]  # of IPython
        else:
            self._place.update(image)

    def _row(self) -> Any:
        from scalarviz.faces.notebook.widgets import line

        for choice in choices_of(Panels(self.sweep, self.look)):
            self.menus[choice.field] = self._menu(choice)
        return line(*self.menus.values())

    def _menu(self, choice: Choice) -> Any:
        import ipywidgets

        menu = ipywidgets.Dropdown(
            options=[(words, i) for i, words in enumerate(choice.words)],
            value=choice.place(self.look),
            tooltip=choice.about,
            layout=ipywidgets.Layout(width=WIDE, height="44px"),
        )

        def choose(change: Any) -> None:
            self.look = choice.chosen(self.look, change["new"])
            self.update()

        menu.observe(choose, "value")
        return menu


def show_sweep(
    sweep: Sweep,
    steps: int,
    theme: str,
    size: tuple[int, int],
    look: SweepLook | None = None,
    *,
    play: bool,
) -> None:
    """Train a sweep and draw it meanwhile; interrupting the cell pauses it.

    steps  number of steps of each training
    look   how the sweep is drawn at first
    play   False: only draw it as it is

    The menus above the picture work when the cell has ended.
    """
    cell = SweepCell(sweep, theme, size, look or SweepLook())
    last = 0.0
    if sweep.progressed.done:
        cell.update()
    if play:
        for now in sweep.train(steps):
            if monotonic() - last < BETWEEN and now.done < now.total:
                continue
            last = monotonic()
            cell.update()
