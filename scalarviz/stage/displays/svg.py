"""SvgDrawing: a drawing as SVG text, and as an image for notebooks.

An <img> with a data URI isolates the drawing from the page, and survives the sanitizing of
untrusted pages. Every drawing has a background, readable on dark and on light pages.
"""

from __future__ import annotations

import base64
import html
from typing import final

from scalarviz.base import messages
from scalarviz.scene.canvas.palette import THEMES

LOOK = THEMES["light"]
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SMALL, NORMAL = 11.0, 12.5  # pixels
MARGIN = 18.0  # between the border of a card and its content

# Widths of characters relative to the font size, in a wide typeface: an upper bound.
NARROW = dict.fromkeys("iljI|!'.,:; ", 0.33) | dict.fromkeys('ftr()[]{}-/\\"*_', 0.45)
WIDE = dict.fromkeys("mwMW%@+=<>−×→≈", 0.9) | dict.fromkeys("ABCDEFGHKNOPQRUVXYZ…", 0.78)
WIDTHS = NARROW | WIDE
OTHER, FAR = 0.64, 1.05  # of ordinary characters, and of non-European ones
BOLD = 1.1
FIRST_FAR = "\u2e80"
WIDEST = 1100.0  # pixels; wider drawings are scrolled


def width_of(text: str, size: float = NORMAL, bold: bool = False) -> float:
    """Return an upper estimate of the width of a text in pixels."""
    total = sum(WIDTHS.get(c, OTHER if c < FIRST_FAR else FAR) for c in text)
    return total * size * (BOLD if bold else 1.0)


def shorten(text: str, longest: int) -> str:
    """Return a text on one line, with at most `longest` characters."""
    text = " ".join(text.split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def escaped(text: object) -> str:
    """Return a text escaped for XML, with visible control characters; line breaks are kept."""
    return html.escape("\n".join(map(messages.escaped, str(text).split("\n"))), quote=True)


@final
class SvgDrawing:
    """Shapes and texts in drawing order; y points down. `right` and `bottom` are its extent."""

    def __init__(self) -> None:
        self._shapes: list[str] = []
        self.right = 0.0
        self.bottom = 0.0

    def _add(self, name: str, content: str = "", **attributes: object) -> None:
        told = "".join(
            f' {key.strip("_").replace("_", "-")}="{attribute(value)}"'
            for key, value in attributes.items()
            if value is not None
        )
        self._shapes.append(f"<{name}{told}>{content}</{name}>" if content else f"<{name}{told}/>")

    def reach(self, right: float, bottom: float) -> None:
        """Extend the drawing to at least this size."""
        self.right = max(self.right, right)
        self.bottom = max(self.bottom, bottom)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        *,
        rim: str | None = None,
        radius: float = 0.0,
        kind: str | None = None,
    ) -> None:
        """Add a rectangle; `kind` is its CSS class."""
        self._add(
            "rect", x=x, y=y, width=width, height=height, rx=radius or None,
            fill=fill, stroke=rim, class_=kind,
        )  # fmt: skip
        self.reach(x + width, y + height)

    def path(
        self,
        way: str,
        color: str = "none",
        *,
        thick: float = 1.0,
        fill: str = "none",
        kind: str | None = None,
    ) -> None:
        """Add an SVG path; it does not extend the drawing."""
        self._add(
            "path",
            d=way,
            fill=fill,
            stroke=color,
            stroke_width=None if color == "none" else thick,
            stroke_linejoin="round",
            stroke_linecap="round",
            class_=kind,
        )

    def text(
        self,
        x: float,
        y: float,
        text: object,
        size: float = NORMAL,
        *,
        color: str = LOOK.ink,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Add a line of text with its baseline at y; `anchor` is "start", "middle" or "end"."""
        shown = str(text)
        wide = width_of(shown, size, bold)
        self._add(
            "text",
            escaped(shown),
            x=x,
            y=y,
            font_size=size,
            fill=color,
            text_anchor=None if anchor == "start" else anchor,
            font_weight=600 if bold else None,
        )
        self.reach(x + {"start": wide, "middle": wide / 2, "end": 0.0}[anchor], y + 0.25 * size)

    def card(self) -> str:
        """Return the drawing as SVG text, on a card with a margin around its origin (0, 0)."""
        width, height = self.right + 2 * MARGIN, self.bottom + 2 * MARGIN
        size = f'width="{attribute(width)}" height="{attribute(height)}"'
        box = f'viewBox="0 0 {attribute(width)} {attribute(height)}"'
        rim = f'x="0.5" y="0.5" width="{attribute(width - 1)}" height="{attribute(height - 1)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} font-family="{escaped(FONTS)}">'
            f'<rect {rim} rx="10" fill="{LOOK.ground}" stroke="{LOOK.rim}" class="card"/>'
            f'<g transform="translate({MARGIN:g} {MARGIN:g})">{"".join(self._shapes)}</g></svg>'
        )


def attribute(value: object) -> str:
    """Return a number or text as the value of an XML attribute."""
    return f"{round(value, 2):g}" if isinstance(value, float) else escaped(value)


def image(drawing: SvgDrawing, words: str) -> str:
    """Return a drawing as an HTML image with alt text `words`; wide images can be scrolled."""
    data = base64.b64encode(drawing.card().encode("utf-8")).decode()
    wide = drawing.right + 2 * MARGIN
    least = f"; min-width: {wide:.0f}px" if wide > WIDEST else ""
    shown = (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escaped(words)}" '
        f'style="max-width: 100%{least}">'
    )
    return f'<div style="overflow-x: auto">{shown}</div>' if least else shown
