"""A new data set is one class and a row, and so is its exhibit."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, final

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.checks import FloatArray, number
from scalarviz.data import DATA_SETS
from scalarviz.data.data_set import DataChoice, TableSet
from scalarviz.faces.controller.options import Options
from scalarviz.faces.controller.train import train
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, Theme
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.layout.division import Box
from scalarviz.stage.data_exhibits import EXHIBITS, exhibit_of
from scalarviz.stage.network_layout import layout_of, tints_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.captions import caption
from scalarviz.story.names import names_of
from tests.studio import Studio


@final
class Thermometer(TableSet):
    """Warmth as three shades; what is asked for is how warm it is."""

    name = "thermometer"
    input_names = ("cold", "mild", "hot")
    input_tint = "grey"
    output_names = ("warmth",)
    choices: ClassVar = {"scale": DataChoice(("1", "2"), "degrees of a shade")}

    def __init__(self, *, scale: float = 1.0) -> None:
        inputs = np.eye(3)
        targets = number(float(scale), "scale") * np.array([[0.0], [0.5], [1.0]])
        super().__init__((inputs, targets), {"scale": float(scale)})


@dataclass(frozen=True)
class Gauge(Exhibit):
    """How warm it is said to be."""

    said: FloatArray
    title: str = "how warm"

    def words(self) -> list[str]:
        return [f"shade of warmth {value:.2f}" for value in self.said]

    def paint(self, canvas: Canvas2D, box: Box, theme: Theme) -> None:
        canvas.box(box.x, box.y, box.width, box.height, theme.accent)


def gauge(ask: Any, data: Thermometer, engine: str) -> Gauge:
    return Gauge(ask(data.training[0])[:, 0])


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "thermometer", Thermometer)
    monkeypatch.setitem(EXHIBITS, "thermometer", gauge)


def session(engine: str = "python") -> sv.Session:
    network = sv.Network([3, 4, 1], "tanh", seed=0)
    return sv.Session(network, Thermometer(), "mse", sv.SGD(0.1), engine=engine)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_it_is_learned_and_its_run_comes_back(engine: str, tmp_path: Path) -> None:
    s = session(engine)
    s.advance(20)
    assert s.loss < s.losses[0]
    s.save(tmp_path / "run.safetensors")
    again = sv.Session.load(tmp_path / "run.safetensors")
    assert isinstance(again.data, Thermometer)
    assert (again.network.bank.value == s.network.bank.value).all()


def test_its_neurons_have_its_names_and_tints() -> None:
    s = session()
    program = s.network.program
    assert names_of(s) == {
        program.inputs.name: ("cold", "mild", "hot"),
        program.outputs.name: ("warmth",),
    }
    values = {program.inputs.name: np.array([0.0, 0.5, 1.0]), program.outputs.name: np.ones(1)}
    assert tints_of(s, values)[program.inputs.name].tolist() == [[0.0] * 3, [0.5] * 3, [1.0] * 3]
    assert layout_of(s).plates


def test_a_control_changes_its_choices() -> None:
    s = session()
    options = Options(None, Show(s))
    settings = s.trainer.settings
    (choice,) = options.choices(settings)
    assert (choice.name, choice.choices, choice.help) == ("scale", ("1", "2"), "degrees of a shade")
    options.set(s, settings, "scale", "2")
    assert s.data.settings()["scale"] == 2.0


def test_captions_and_terminal_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    s = session()
    s.advance(1, "operation")
    assert caption(s).title
    exhibit = exhibit_of(s)
    assert isinstance(exhibit, Gauge) and exhibit.wanted(1280.0, 600.0) == 320.0
    assert train(Show(s), 2) == 0
    assert capsys.readouterr().out.count("shade of warmth ") == 3


def test_the_picture_has_its_exhibit(studio: Studio) -> None:
    s = session()
    s.advance(2)
    stage = Stage(Show(s))
    pixels = studio.stage(stage, 0.0, (1280, 800))
    accent = THEMES["dark"].accent
    color = np.array([int(accent[i : i + 2], 16) for i in (1, 3, 5)])
    assert (abs(pixels - color).max(axis=2) <= 3).sum() > 5000


def test_nothing_asks_which_data_set_it_is() -> None:
    names = "|".join(kind.__name__ for kind in DATA_SETS.values())
    asks = re.compile(rf"isinstance\([^)]*\b({names})\b")
    package = Path(sv.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    assert [path for path, text in texts.items() if asks.search(text)] == []
