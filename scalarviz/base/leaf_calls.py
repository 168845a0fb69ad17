"""Calls into packages below: objects draw, save and export themselves by them.

A package imports only from those above it. These calls are the exceptions: `Network.save`,
`Weight._repr_html_` and the like end in one of them. The module of a function is imported when the
function is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

LEAF_CALLS = {
    "value_html": "stage.displays.value_display",
    "weight_html": "stage.displays.weight_display",
    "perceptron_html": "stage.displays.html_tables",
    "network_html": "stage.displays.html_tables",
    "session_html": "faces.notebook.session_display",
    "confusion_html": "stage.displays.html_tables",
    "caption_and_edit": "story.captions",
    "save_network": "files.networks",
    "save_expression": "files.expressions",
    "save_model": "files.onnx.writing",
    "export_network": "files.shaders.network_export",
    "save_timeline": "files.runs",
    "load_timeline": "files.runs",
    "save_text": "files.atomic",
}

if TYPE_CHECKING:  # a type checker knows the functions themselves
    from scalarviz.faces.notebook.session_display import session_html as session_html
    from scalarviz.files.atomic import save_text as save_text
    from scalarviz.files.expressions import save_expression as save_expression
    from scalarviz.files.networks import save_network as save_network
    from scalarviz.files.onnx.writing import save_model as save_model
    from scalarviz.files.runs import load_timeline as load_timeline
    from scalarviz.files.runs import save_timeline as save_timeline
    from scalarviz.files.shaders.network_export import export_network as export_network
    from scalarviz.stage.displays.html_tables import confusion_html as confusion_html
    from scalarviz.stage.displays.html_tables import network_html as network_html
    from scalarviz.stage.displays.html_tables import perceptron_html as perceptron_html
    from scalarviz.stage.displays.value_display import value_html as value_html
    from scalarviz.stage.displays.weight_display import weight_html as weight_html
    from scalarviz.story.captions import caption_and_edit as caption_and_edit
else:

    def __getattr__(name: str) -> Callable[..., Any]:
        """Return a function that imports the one of this name when it is called."""
        if name not in LEAF_CALLS:
            raise AttributeError(name)
        return lambda *args: getattr(import_module(f"scalarviz.{LEAF_CALLS[name]}"), name)(*args)
