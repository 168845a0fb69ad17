"""CONTROLS: the table of all controls, menu entries and keys, in the order in which they appear.

Window, notebook, keyboard and help are built from it. A new control is a new row of the file for
its subject.
"""

from __future__ import annotations

from scalarviz.core.formulas.formula import table
from scalarviz.faces.controller.change_controls import CHANGE_CONTROLS
from scalarviz.faces.controller.file_controls import FILE_CONTROLS
from scalarviz.faces.controller.group_controls import GROUP_CONTROLS
from scalarviz.faces.controller.time_controls import SAMPLE_CONTROLS, TIME_CONTROLS
from scalarviz.faces.controller.view_controls import CHANNEL_CONTROLS, VIEW_CONTROLS

CONTROLS = table(
    [
        *TIME_CONTROLS,
        *GROUP_CONTROLS,
        *CHANNEL_CONTROLS,
        *SAMPLE_CONTROLS,
        *CHANGE_CONTROLS,
        *VIEW_CONTROLS,
        *FILE_CONTROLS,
    ]
)
