"""Styles of text in a terminal, and blocks: lists of lines, each a list of rich's segments."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

Line = list[Segment]
Block = list[Line]

ACCENT = Style(color="#8f6cf0")  # readable on black and white, and no color of weights
QUIET = Style(dim=True, bold=False)
STRONG = Style(bold=True, dim=False)
