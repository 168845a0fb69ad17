"""Themes: the colours of everything in the picture that is no number."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.draw2d.colors import MAPS, ColorMap
from scalarviz.formulas.table import table


@dataclass(frozen=True)
class Theme:
    """Colours of one look.

    map     of the numbers; its background is that of everything
    tray    what cubes stand on
    ink     of words, `quiet` of lesser ones, `faint` of lines that hardly matter
    accent  of what is pinned, chosen or offered
    light   of what is done just now
    panel   behind words and curves, `rim` around it
    ghost   of the other branch
    """

    name: str
    map: ColorMap
    tray: str
    ink: str
    quiet: str
    faint: str
    accent: str
    light: str
    panel: str
    rim: str
    ghost: str

    @property
    def ground(self) -> str:
        return self.map.background


THEMES = table(
    [
        Theme(
            "dark",
            MAPS["dark"],
            tray="#1a2029",
            ink="#e8ebf0",
            quiet="#98a2b3",
            faint="#39424f",
            accent="#a586ff",
            light="#ffffff",
            panel="#141922e8",
            rim="#242c38",
            ghost="#6b7686",
        ),
        Theme(
            "light",
            MAPS["light"],
            tray="#fafbfc",
            ink="#1b2028",
            quiet="#5a6472",
            faint="#c3cad4",
            accent="#6b46d9",
            light="#000000",
            panel="#f6f7f9e8",
            rim="#dfe3e9",
            ghost="#8d97a5",
        ),
    ]
)
