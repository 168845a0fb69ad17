"""The tables whose rows are features."""

from __future__ import annotations

import re
import sys
from types import ModuleType

from scalarviz.errors import MOST_NAMES
from scalarviz.faces.scene_file import scenes
from scalarviz.scene.look import OFFERS

# Tables by their position in scalarviz, and the meaning of a row.
TABLES = {
    "core.formulas.activations.ACTIVATIONS": "activation",
    "core.formulas.losses.LOSSES": "loss",
    "core.formulas.losses.ROW_LOSSES": "loss",
    "core.formulas.metric_formulas.METRICS": "metric",
    "core.formulas.optimizers.OPTIMIZERS": "optimizer",
    "core.formulas.optimizers.SCHEDULES": "schedule",
    "core.formulas.initializers.INITIALIZERS": "initializer",
    "core.formulas.initializers.BIASES": "initializer of biases",
    "core.formulas.arithmetic.OPERATIONS": "operation",
    "core.formulas.arithmetic.COMPARISONS": "operation",
    "core.layers.LAYERS": "layer",
    "core.precision.PRECISIONS": "precision",
    "engines.registry.ENGINES": "engine",
    "engines.registry.EXPRESSION_ENGINES": "engine of expressions",
    "data.DATA_SETS": "data set",
    "data.MAPS": "colour map",
    "data.TRANSFORMS": "transform of pictures",
    "training.session.timeline.UNITS": "unit",
    "training.session.conditions.PREDICATES": "condition",
    "training.session.actions.ACTIONS": "action",
    "files.onnx.operators.OPERATORS": "operator of ONNX",
    "stage.channels.CHANNELS": "channel",
    "stage.data_exhibits.EXHIBITS": "exhibit",
    "scene.layout.camera.CAMERAS": "camera",
    "scene.canvas.palette.THEMES": "theme",
    "faces.controller.changes.PRESETS": "preset",
    "faces.cli.render_scene.KINDS": "file of render",
    "stage.render.MOVES": "move of the camera",
    "files.shaders.network_export.EXPORTS": "file of an export",
    "story.moments.PARTS": "part of a link",
    "story.moments.HIDEABLE": "part that a link hides",
}


# Tables that users meet only in messages.
INNER = ("core.program.KINDS",)


def names_of(module: ModuleType, table: str) -> list[str]:
    """Return the names of the rows of a table of a module."""
    return [row if isinstance(row, str) else row[0] for row in getattr(module, table)]


def without_rows(message: str) -> str:
    """Return a message with "all of TABLE", or "most of TABLE", in place of its rows' names."""
    if "choose one of" not in message:
        return message
    message = message.replace(", ".join(OFFERS), "all of OFFERS")  # among other arguments
    listings = {"scenes": list(scenes())}
    for place in (*INNER, *TABLES):
        module, _, table = place.rpartition(".")
        if (found := sys.modules.get(f"scalarviz.{module}")) is not None:
            listings[place] = names_of(found, table)
    for place, names in listings.items():
        table = place.rpartition(".")[2]
        listed = f"(?<=choose one of ){re.escape(', '.join(names[:MOST_NAMES]))}"
        message = re.sub(f"{listed}, and [0-9]+ more", f"most of {table}", message)
        message = re.sub(rf"{listed}(?!\w)", f"all of {table}", message)
    return message
