"""Theme: the colours of everything in a picture except numbers."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.core.formulas.formula import table
from scalarviz.pictures.draw2d.colors import MAPS, ColorMap, rgb


@dataclass(frozen=True)
class ControlColors:
    """Colours of the controls of a window."""

    ground: str
    panel: str
    raised: str
    edge: str
    ink: str
    quiet: str
    faint: str
    accent: str
    on_accent: str


@dataclass(frozen=True)
class Theme:
    """Colours of one theme, as "#rrggbb" or "#rrggbbaa".

    map     colour map of the numbers; its background is that of the picture
    tray    ground under the cubes
    ink     text; `quiet` is less important text, `faint` are unimportant lines
    accent  pinned and selected things, and buttons
    light   what is computed now
    push    arrows of the way back on cubes
    wire    wires; `lit` are those of what is looked at
    panel   background of texts and curves, `rim` its border
    ghost   curve of the other branch
    metric  curve of a metric such as the accuracy
    controls  colours of the window's controls
    """

    name: str
    map: ColorMap
    tray: str
    ink: str
    quiet: str
    faint: str
    accent: str
    light: str
    push: str
    lit: str
    wire: str
    panel: str
    rim: str
    ghost: str
    metric: str
    controls: ControlColors

    @property
    def ground(self) -> str:
        return self.map.background

    @property
    def is_dark(self) -> bool:
        return float(rgb((self.ground,)).mean()) < 0.5


THEMES = table(
    [
        Theme(
            "dark",
            MAPS["dark"],
            tray="#131820",
            ink="#e8ebf0",
            quiet="#98a2b3",
            faint="#39424f",
            accent="#a586ff",
            light="#ffffff",
            push="#b9a0ff",
            lit="#fff0be",
            wire="#556072",
            panel="#141922e8",
            rim="#242c38",
            ghost="#6b7686",
            metric="#62cfa6",
            controls=ControlColors(
                ground="#0e1116",
                panel="#151a21",
                raised="#262e39",
                edge="#343d4a",
                ink="#e6e9ee",
                quiet="#9aa4b2",
                faint="#646e7c",
                accent="#8f6cf0",
                on_accent="#0e1116",
            ),
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
            push="#4a22c8",
            lit="#3d2f00",
            wire="#a2abb8",
            panel="#f6f7f9e8",
            rim="#dfe3e9",
            ghost="#8d97a5",
            metric="#0b7350",
            controls=ControlColors(
                ground="#ffffff",
                panel="#f4f5f7",
                raised="#ffffff",
                edge="#c9ced6",
                ink="#1c2128",
                quiet="#5c6672",
                faint="#969ea9",
                accent="#6b46d9",
                on_accent="#ffffff",
            ),
        ),
    ]
)
