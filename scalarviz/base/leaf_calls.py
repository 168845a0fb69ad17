"""Calls into higher-level packages, with which objects draw, save and export themselves.

A package imports only lower-level packages. These calls are the exceptions, used by `Network.save`,
`Weight._repr_html_` and others. The module of a function is imported at the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

LEAF_CALLS: dict[str, str] = {}  # function names and their modules


def later(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports the function `name` from `module` when it is called."""

    def call(*args: object) -> Any:
        return getattr(import_module(f"scalarviz.{module}"), name)(*args)

    LEAF_CALLS[name] = module
    return call


value_html: Callable[[object], str] = later("stage.displays.value_display", "value_html")
weight_html: Callable[[object], str] = later("stage.displays.weight_display", "weight_html")
perceptron_html: Callable[[object], str] = later("stage.displays.html_tables", "perceptron_html")
network_html: Callable[[object], str] = later("stage.displays.html_tables", "network_html")
session_html: Callable[[object], str] = later("faces.notebook.session_display", "session_html")
show_followed: Callable[[object], None] = later("faces.notebook.live_run", "show_followed")
confusion_html: Callable[[object], str] = later("stage.displays.html_tables", "confusion_html")
caption_and_edit: Callable[[object, int | None], Any] = later(
    "training.session.reading", "caption_and_edit"
)
save_network: Callable[[object, object], None] = later("files.networks", "save_network")
save_expression: Callable[[object, object], None] = later("files.expressions", "save_expression")
save_model: Callable[[object, object], None] = later("files.onnx.writing", "save_model")
network_to_torch: Callable[[object], Any] = later("files.onnx.torch_modules", "network_to_torch")
export_network: Callable[..., None] = later("files.shaders.network_export", "export_network")
save_timeline: Callable[[object, object, bool, int | None], None] = later(
    "files.runs", "save_timeline"
)
load_timeline: Callable[[object, object, int | None, object], Any] = later(
    "files.runs", "load_timeline"
)
session_of_record: Callable[[object], Any] = later(
    "training.follow.followed_session", "session_of_record"
)
save_text: Callable[[str, object], None] = later("files.atomic", "save_text")
