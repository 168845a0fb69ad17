"""Widgets in rows, and how they are closed."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets
from ipywidgets import Layout


def group(name: str, *controls: Any) -> Any:
    """Return controls in a row, with a name in front if they have one."""
    if not name:
        return ipywidgets.HBox(controls, layout=Layout(flex="1 1 auto", align_items="center"))
    label = ipywidgets.HTML(f'<span style="opacity: 0.7">{escape(name)}</span>')
    return ipywidgets.HBox([label, *controls], layout=Layout(margin="0 8px 0 4px"))


def line(*children: Any) -> Any:
    """Return a row that wraps if it is too narrow."""
    return ipywidgets.HBox(children, layout=Layout(flex_flow="row wrap", align_items="center"))


def close(widget: Any) -> None:
    """Close a widget with its children, layout and style, which ipywidgets would keep otherwise."""
    for child in getattr(widget, "children", ()):
        close(child)
    widget.close()
    for name in ("layout", "style"):
        part = getattr(widget, name, None)
        if isinstance(part, ipywidgets.Widget):
            part.close()
