"""The widget of a prediction: question, input field, and feedback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets

from scalarviz.base.texts import text
from scalarviz.errors import ScalarvizError

if TYPE_CHECKING:
    from scalarviz.faces.notebook.predict import Prediction

COLORS = {True: "#1a7f37", False: "#9a6700"}


def form_of(prediction: Prediction) -> Any:
    """Return a widget that asks for a guess and checks it."""
    question = ipywidgets.HTMLMath(prediction.html)
    field: Any
    if prediction.choices:
        field = ipywidgets.ToggleButtons(options=prediction.choices, value=None)
        field.style.button_width = "auto"
    else:
        field = ipywidgets.Text(placeholder=text("predict.field"), layout={"width": "140px"})
    check = ipywidgets.Button(description=text("predict.check"), layout={"width": "80px"})
    shown = ipywidgets.Button(description=text("predict.show"), layout={"width": "90px"})
    shown.layout.display = "none"
    said = ipywidgets.HTMLMath()

    def say(words: str, right: bool) -> None:
        said.value = f'<b style="color: {COLORS[right]}">{prediction.as_html(words)}</b>'

    def look(_: object = None) -> None:
        if field.value in (None, ""):
            return say(text("predict.first"), False)
        try:
            right = prediction.check(field.value)
        except ScalarvizError as error:
            return say(str(error), False)
        except Exception as error:  # the answer may be computed from variables of cells
            why = f"{type(error).__name__}: {error}"
            return say(text("predict.cells", why=why), False)
        shown.layout.display = "none" if right else ""
        return say(prediction.said, right)

    def reveal(_: object) -> None:
        say(text("predict.answer", answer=prediction.known), False)

    check.on_click(look)
    shown.on_click(reveal)
    if prediction.choices:
        field.observe(look, "value")
        row = [field, shown]
    else:
        field.observe(look, "value")
        field.continuous_update = False  # Return submits like the button
        row = [field, check, shown]
    return ipywidgets.VBox([question, ipywidgets.HBox(row), said]).add_class("scalarviz")
