"""The layer of what is pinned, and learning rates of its own."""

from typing import Any

import pytest

from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.stage.stage import Stage
from tests.faces.controller.conftest import Open
from tests.faces.controller.stages import shown
from tests.sessions import inverting


@pytest.fixture
def controller(opened: Open) -> Any:
    return opened(inverting(batch=4), Stage)


def test_a_layer_is_frozen_by_what_is_pinned_in_it(controller: Controller) -> None:
    session = controller.session
    layer = session.network.layers[1]
    assert not shown(controller, "layer frozen").enabled
    controller.stage.pin(layer.perceptrons[0].weights[2])
    assert shown(controller, "layer frozen").enabled
    CONTROLS["layer frozen"].set(controller, True)
    assert shown(controller, "layer frozen").value and shown(controller, "frozen").value
    before = session.network.bank.value.copy()
    session.advance(3)
    moved = session.network.bank.value != before
    assert moved[:16].any() and not moved[16:].any()
    controller.undo()
    assert not session.network.bank.frozen.any()
    sums = session.network.program.operations[0].target.name
    controller.stage.pin((sums, 2))
    CONTROLS["layer frozen"].set(controller, True)
    assert session.network.bank.frozen[:16].all() and not session.network.bank.frozen[16:].any()


def test_a_weight_and_a_layer_have_rates_of_their_own(controller: Controller) -> None:
    session = controller.session
    row = session.network.layers[0].perceptrons[1].weights[0].index
    controller.stage.pin(row)
    assert shown(controller, "weight rate").value == 0.5
    assert shown(controller, "layer rate").value == 0.5
    CONTROLS["weight rate"].set(controller, "0.125")
    assert session.own_rate(row) == 0.125 and session.own_rate(row + 1) is None
    assert shown(controller, "weight rate").value == 0.125
    assert shown(controller, "layer rate").value is None
    CONTROLS["layer rate"].set(controller, "0.25")
    assert {session.own_rate(each) for each in range(16)} == {0.25}
    assert session.own_rate(16) is None and shown(controller, "layer rate").value == 0.25
    CONTROLS["layer rate"].set(controller, " ")
    assert session.own_rate(row) is None and shown(controller, "layer rate").value == 0.5
    for _ in range(3):
        controller.undo()
    assert session.own_rate(row) is None
