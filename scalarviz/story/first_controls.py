"""FIRST_CONTROLS: what window and page show at first behind "…"; all else stands under "More"."""

from __future__ import annotations

from typing import Any

from scalarviz.base.texts import row_text

# Names of rows of CONTROLS, by the title of their group. A page that trains by itself has no
# neurons to add, and shows its optimizer, its batch and new weights in their place.
FIRST_CONTROLS = {
    "Look": ("color", "theme", "neuron maps"),
    "Change": (
        *("add neuron", "remove neuron", "add layer", "remove layer", "own input"),
        *("undo", "redo", "optimizer", "batch", "new weights"),
    ),
    "Go wrong": ("go wrong",),
}


def first_groups() -> list[dict[str, Any]]:
    """Return the groups: their names, their titles, and the names of their controls."""
    return [
        {"name": name, "title": row_text(f"rows.groups.{name}.title", name), "names": names}
        for name, names in FIRST_CONTROLS.items()
    ]
