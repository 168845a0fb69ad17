"""Every weight as a cube of a wall, and the tray of a square, in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.pages.page import page_of
from tests.pages.browser import Tab
from tests.pages.conftest import Files, Opens

pytestmark = pytest.mark.slow

CUBES = "app.picture.placed.size"
NOW = "app.picture.opened"


@pytest.fixture(scope="module")
def places(files: Files) -> Path:
    """A page of a large network over a plane, whose neurons are squares."""
    inputs = np.random.default_rng(0).uniform(-1.0, 1.0, (16, 2))
    network = sv.Network([2, 40, 24, 1], "tanh", seed=0)
    session = sv.Session(network, (inputs, inputs[:, :1]), "mse", sv.SGD(0.01), batch=4)
    return files.write("places", page_of(session).text)


@pytest.mark.page("digits", (1280, 800))
def test_a_key_shows_every_weight_and_leads_back(tab: Tab) -> None:
    former = tab.ask("app.picture.placed.extent.length")
    tab.page.keyboard.press("w")
    tab.until(f"{NOW} && !app.picture.eyes.tick(performance.now() / 1000)")
    assert tab.ask(CUBES) == tab.ask("app.state.value.length")
    assert tab.ask("app.picture.eyes.camera.elevation") == 8
    tab.page.click("#more")
    tab.page.evaluate("document.getElementById('others').open = true")
    tab.page.click("#every-weight")
    tab.until(f"!{NOW}")
    assert tab.ask("app.picture.placed.extent.length") == former


@pytest.mark.page("rgb")
def test_a_small_network_has_no_button_for_it(tab: Tab) -> None:
    assert not tab.page.locator("#every-weight").is_visible()
    before = tab.ask(CUBES)
    tab.page.keyboard.press("w")
    tab.page.wait_for_timeout(300)
    assert (tab.ask(CUBES), tab.ask(NOW)) == (before, False)


@pytest.mark.parametrize("calm", [False, True])
def test_squares_open_their_row_and_then_become_walls(
    opened: Opens, places: Path, calm: bool
) -> None:
    tab = opened(places, (1280, 800), reduced_motion="reduce" if calm else "no-preference").ready()
    tab.page.keyboard.press("Escape")
    tab.ask("app.pin({ neuron: [app.picture.placed.neurons[2].values, 5] })")
    tab.until("app.picture.pairs.length === 16")
    weights = tab.ask("app.picture.pairs.map(([, row]) => Math.abs(app.state.value[row]))")
    assert weights == sorted(weights, reverse=True)
    at = "app.picture.at(box.x + box.width / 2, box.y + 9)"
    found, row = tab.ask(f"(([box, row]) => [{at}, row])(app.picture.pairs[3])")
    assert found == {"row": row}
    tab.page.keyboard.press("w")
    tab.until(f"{NOW} && !app.picture.pairs.length")
    assert tab.ask(CUBES) == tab.ask("app.state.value.length")
