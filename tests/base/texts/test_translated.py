"""With a translation in capitals nothing is shown in small letters but names and formulas."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.faces.controller.controller import Controller, help_rows
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.stage.show import Show
from scalarviz.story.captions import caption
from tests.faces.controller.fake_stage import FakeStage
from tests.pictures.displays.drawn import Drawn

# Names of weights, operations, functions, engines and data sets, and what stands in formulas.
NAMES = set(
    "layer perceptron weight bias from input affine tanh sigmoid delta signal gradient grad zero "
    "loss step zero_grad forward backward python".split()
)
ROWS = {
    f"rows.controls.{row.name}.{field}": getattr(row, field)
    for row in CONTROLS.values()
    for field in ("about", "text", "label", "help")
    if isinstance(getattr(row, field), str)
}


def in_capitals(words: str) -> str:
    return re.sub(r"(\{[^}]*\})|([^{]+)", lambda part: part[1] or part[2].upper(), words)


@pytest.fixture(autouse=True)
def capitals(speak: Callable[[object], None]) -> None:
    """All texts in capitals, but formulas of losses, into which numbers are put."""
    speak({key: in_capitals(words) for key, words in {**ROWS, **texts()}.items()})


def small(shown: list[str]) -> set[str]:
    """The words with small letters, names left out."""
    return {word for each in shown for word in re.findall(r"\b[a-z]{3,}\b", each)} - NAMES


def test_captions(colours: sv.Session) -> None:
    shown = []
    for _ in colours.operations:
        colours.advance(1, "operation")
        said = caption(colours)
        if not re.match("tanh|delta", colours.done):  # the words of a row of ACTIVATIONS
            shown += [said.title, said.formula, *said.numbers]
    assert small(shown) == set()


@pytest.mark.parametrize("done", [0, 5, 13])
def test_pictures(done: int, colours: sv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = Canvas2D.text

    def noted(canvas: Canvas2D, x: float, y: float, words: str, **how: Any) -> float:
        drawn.append(words)
        return draw(canvas, x, y, words, **how)

    monkeypatch.setattr(Canvas2D, "text", noted)
    if done:
        colours.advance(done, "operation")
    show = Show(colours, title="TITLE")
    sv.picture(show, size=(1280, 800), samples=1, pin=3, color="value", cubes="gradient")
    assert len(drawn) > 20
    assert small(drawn) <= {"value"}  # a channel


@pytest.mark.parametrize("steps", [0, 3])
def test_displays(steps: int, colours: sv.Session) -> None:
    network = colours.network
    perceptron = network.layers[0].perceptrons[0]
    network.bank.frozen[1] = True
    if steps:
        colours.advance(steps)
    for each in (colours, network, perceptron, perceptron.weights[1]):
        html = each._repr_html_()
        shown = re.findall(r"<th[^>]*>([^<>]+)<", html)
        if "svg+xml" in html:
            shown += [*Drawn(html).texts, Drawn(html).words]
        assert small(shown) == set(), type(each)


def test_controls_and_keys() -> None:
    network = sv.Network([3, 4, 3], "tanh", seed=0)
    show = Show(sv.Session(network, data.Rgb(), engine="python", batch=2), title="TITLE")
    controller = Controller(show, FakeStage(show))
    for row in CONTROLS.values():
        shown = row.shown(controller.state)
        assert small([shown.about, shown.text, row.words("label")]) <= {controller.unit}, row.name
    for _, about in help_rows(controller.state):
        assert small([re.sub("[A-Z ]*: .*|LAY.*", "", about)]) <= {*THEMES}, about
