"""docs/guide/window.md has all keys, with the words of the help, and all controls."""

import re
from collections.abc import Iterator

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.changes import preset_names
from scalarviz.faces.controller.controller import Controller, help_rows
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.stage.show import Show
from tests.faces.controller.fake_stage import FakeStage
from tests.root import ROOT

PAGE = ROOT / "docs" / "guide" / "window.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.fixture
def controller() -> Iterator[Controller]:
    net = sv.Network([3, 4, 3], seed=0)
    session = sv.Session(net, data.Rgb(), "mse", sv.SGD(0.1), engine="python")
    made = Controller(Show(session), FakeStage(Show(session)))  # type: ignore[arg-type]  # a part of a stage
    yield made
    made.quit()
    made.rest()


def table(heading: str) -> list[tuple[str, ...]]:
    """The rows of the first table below a heading."""
    part = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [
        tuple(cell.strip() for cell in row) for row in re.findall(r"^\|(.*)\|(.*)\|$", part, re.M)
    ]
    return rows[2:]


def test_its_keys_are_those_of_the_help(controller: Controller) -> None:
    assert table("Keys") == help_rows(controller.state)


def test_controls_without_a_key_are_named(controller: Controller) -> None:
    text = TEXT.lower()
    for row in CONTROLS.values():
        if row.key or not (row.label or row.menu):
            continue
        words = row.words("label") or row.words("text", controller.state) or row.name
        assert words.lower() in text, row.name


def test_what_goes_wrong_is_what_can_be_set_up() -> None:
    assert [name for name, _ in table("What goes wrong")] == list(preset_names(shallow=True))
