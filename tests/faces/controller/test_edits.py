"""Edits of weights, also within a step."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data import Rgb
from scalarviz.errors import InputError
from scalarviz.faces.controller.changes import Edits
from scalarviz.scene.exhibits.images import Swatches
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.sample_pass import SampleContext, forward
from tests.wording import refused

ROW = 6  # of the first layer, which is computed at operation 2


@pytest.fixture
def edits(colours: sv.Session) -> Edits:
    colours.advance(20)
    colours.advance(4, "operation")
    return Edits(colours)


def check_one_network(reading: LiveValues, value: float) -> None:
    """Check that cubes, spheres and chart are of the network with one value."""
    session = reading.session
    reading.refresh()
    assert reading.place[:2] == (20, 4) and reading.numbers.value[ROW] == pytest.approx(value)
    inputs, _ = session.trainer.batches.at(20)
    wanted = forward(reading.program, reading.numbers.value, inputs[0], SampleContext()).values
    seen = reading.buffers(4).values
    assert {"affine 0", "affine 1"} <= set(seen)
    for name, numbers in seen.items():
        np.testing.assert_allclose(numbers, wanted[name], atol=1e-6)
    exhibit = reading.exhibit()
    assert isinstance(exhibit, Swatches)
    data = session.data
    assert isinstance(data, Rgb)
    outputs = np.asarray(session.network(data.palette[0]))
    np.testing.assert_allclose(np.asarray(exhibit.outputs), outputs, atol=1e-6)


def test_a_drag_within_a_step_leaves_all_that_is_shown_of_one_network(edits: Edits) -> None:
    session = edits.session
    reading, old = LiveValues(session), float(session.network.bank.value[ROW])
    for value in (1.2, 1.6):
        edits.edit(ROW, value, dragged=True)
        check_one_network(reading, value)
    session.undo()
    assert session.network.bank.value[ROW] == old and session.clock.place == (20, 0)
    session.redo()
    assert session.network.bank.value[ROW] == 1.6 and len(session.branches) == 1
    session.advance(5, "operation")
    reading.refresh()
    session.back(1, "operation")
    check_one_network(reading, 1.6)


def test_a_value_that_is_refused_leaves_the_step_as_it_is(edits: Edits) -> None:
    before = edits.session.numbers("affine 1").outputs.copy()
    with refused(InputError, "inf"):
        edits.edit(ROW, float("inf"))
    assert edits.session.clock.place == (20, 4)
    np.testing.assert_array_equal(edits.session.numbers("affine 1").outputs, before)


def test_what_was_changed_within_a_step_before_an_edit_stays(edits: Edits) -> None:
    edits.session.freeze(3)
    edits.edit(ROW, 1.5)
    assert edits.session.clock == (20, 4, 2) and edits.session.network.bank.frozen[3]


def test_an_edit_in_an_earlier_step_begins_a_branch(edits: Edits) -> None:
    session = edits.session
    session.advance(10)
    session.seek(20)
    session.advance(4, "operation")
    edits.edit(ROW, 1.5)
    assert len(session.branches) == 2 and session.clock.place == (20, 4)
    check_one_network(LiveValues(session), 1.5)
