"""Maps of neurons on their spheres and cards in a page."""

from __future__ import annotations

import numpy as np
import pytest

from tests.pages.browser import ONLY_CHROMIUM
from tests.pages.conftest import Opens

pytestmark = [pytest.mark.slow, ONLY_CHROMIUM]


def test_spheres_have_the_maps_of_their_neurons_while_it_trains_and_at_rest(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.until("app.maps.now?.side === 40")
    low, high = tab.ask("[app.exhibit.data.low, app.exhibit.data.high]")
    across, down = (np.arange(40) + 0.5) / 40, 1 - (np.arange(40) + 0.5) / 40
    x, y = (low[k] + part * (high[k] - low[k]) for k, part in enumerate((across, down)))
    value = np.array(tab.state["value"])
    wanted = np.tanh(value[6] * x + value[7] * y[:, np.newaxis] + value[8 + 3])
    found = tab.ask("Array.from(app.maps.now.values['tanh 0'].subarray(3 * 1600, 4 * 1600))")
    np.testing.assert_allclose(np.reshape(found, (40, 40)), wanted, atol=1e-5)
    tab.press("Space")
    tab.until("app.state.step > 20 && app.maps.now.side === 20")
    tab.press("Space")
    tab.until("app.maps.now.side === 40 && app.maps.of === app.state.value")


def test_a_pinned_neuron_has_its_own_map_on_its_card(opened: Opens) -> None:
    tab = opened("circle").ready()
    tab.press("Shift+ArrowRight", 3)
    tab.until("app.maps.now && app.maps.of === app.state.value")
    image = "document.querySelector('.neuron-map canvas').toDataURL()"
    seen = set()
    for neuron in (["tanh 0", 1], ["tanh 0", 2], ["inputs", 0]):
        tab.do(f"(app.pin({{neuron: {neuron!r}}}), 0)")
        assert tab.page.locator(".neuron-map").is_visible()
        seen.add(tab.ask(image))
    assert len(seen) == 3
    tab.do("(app.pin({row: 2}), 0)")
    assert not tab.page.locator(".neuron-map").is_visible()
