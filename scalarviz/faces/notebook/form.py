"""The widget of a prediction: question, input field, and feedback."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.errors import ScalarvizError
from scalarviz.faces.notebook.html import as_html

if TYPE_CHECKING:
    from scalarviz.faces.notebook.predict import Prediction

COLORS = {True: "#1a7f37", False: "#9a6700"}
OPEN = "scalarviz-open"  # what follows such a form is hidden, see again.css


def form_of(prediction: Prediction) -> Any:
    """Return a widget that asks for a guess and checks it."""
    ipywidgets: Any = import_module("ipywidgets")
    question = ipywidgets.HTMLMath(prediction.html)
    field: Any
    if prediction.choices:
        field = ipywidgets.ToggleButtons(options=prediction.choices, value=None)
        field.style.button_width = "auto"
    else:
        field = ipywidgets.Text(placeholder=text("predict.field"), layout={"width": "140px"})
    check = ipywidgets.Button(description=text("predict.check"), layout={"width": "80px"})
    shown = ipywidgets.Button(description=text("predict.show"), layout={"width": "90px"})
    said = ipywidgets.HTMLMath()
    row = [field, shown] if prediction.choices else [field, check, shown]
    goes_on = ipywidgets.HTML(f'<p class="scalarviz-goes-on">{text("predict.goes_on")}</p>')
    parts = [question, ipywidgets.HBox(row), said, goes_on]
    form = ipywidgets.VBox(parts).add_class("scalarviz")

    def say(words: str) -> None:
        said.value = f'<b style="color: {COLORS[prediction.right]}">{as_html(words)}</b>'

    def follow() -> None:
        """Show what a guess has led to."""
        shown.layout.display = "" if prediction.guesses and prediction.is_open else "none"
        if prediction.is_open:
            form.add_class(OPEN)
        else:
            form.remove_class(OPEN)
        if prediction.guesses:
            say(prediction.said)

    def look(_: object = None) -> None:
        if field.value in (None, ""):
            return say(text("predict.first"))
        if field.value == "".join(prediction.guesses[-1:]):  # a button, after the field was left
            return follow()
        try:
            if not prediction.is_open:  # what was settled stays so
                return say(prediction.judged(field.value, prediction.asked.is_right(field.value)))
            prediction.check(field.value)
        except ScalarvizError as error:
            return say(str(error))
        except Exception as error:  # the answer may be computed from variables of cells
            why = f"{type(error).__name__}: {error}"
            return say(text("predict.cells", why=why))
        return follow()

    def reveal(_: object) -> None:
        prediction.give_up()
        follow()

    check.on_click(look)
    shown.on_click(reveal)
    field.observe(look, "value")
    field.continuous_update = False  # Return submits like the button
    follow()
    return form
