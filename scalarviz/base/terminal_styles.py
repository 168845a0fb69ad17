"""Styles of text in a terminal."""

from __future__ import annotations

from rich.style import Style

ACCENT = Style(color="#8f6cf0")  # readable on black and white, and no color of weights
QUIET = Style(dim=True, bold=False)
STRONG = Style(bold=True, dim=False)
