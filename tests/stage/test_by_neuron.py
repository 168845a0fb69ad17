"""By neuron: the neurons of an operation come one after the other, and go in the same order."""

import re
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.scene.bead_arrays import spheres_of
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.focus import focus_of, rows_of_sum
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.picture import Canvas
from scalarviz.stage.by_parts import check_neurons, has_neurons, sizes_of
from scalarviz.stage.stage import Stage
from scalarviz.story.guide import ByNeuron
from scalarviz.training.session.reading import caption
from tests.sessions import image, inverting
from tests.studio import NAMES, Studio, go_by_neurons
from tests.wording import refused

# How many neurons of a 3-4-3 network each operation of NAMES goes through.
SIZES = dict(zip(NAMES, (1, 4, 4, 3, 3, 1, 3, 3, 4, 4, 4, 1), strict=True))


@pytest.fixture
def small() -> sv.Session:
    return inverting()


@pytest.fixture
def walked(small: sv.Session) -> Stage:
    small.advance(2)
    return Stage(small, reduced_motion=True)


def on(stage: Stage, by: int = 1) -> FrameData:
    stage.frame_data()
    go_by_neurons(stage, by)
    return stage.frame_data()


def to(stage: Stage, name: str, number: int) -> FrameData:
    """Go on to the neuron of a number, from 1, of an operation."""
    return on(stage, sum(SIZES[each] for each in NAMES[: NAMES.index(name)]) + number)


def test_one_goes_through_the_neurons_of_each_operation_in_order(walked: Stage) -> None:
    found = []
    for _ in range(sum(SIZES.values())):
        seen = on(walked)
        found.append((seen.moment.name, seen.walked and seen.walked[1]))
    expected = []
    for name, size in SIZES.items():
        is_whole = name in ("zero_grad", "loss", "step")
        expected += [(name, None if is_whole else i) for i in range(size)]
    assert found == expected
    assert walked.session.clock.place == (3, 0)


def test_the_results_of_later_neurons_are_not_there(walked: Stage) -> None:
    seen = to(walked, "affine 0", 2)
    assert len(seen.buffers.values["affine 0"]) == 2 and "tanh 0" not in seen.buffers.values
    whole = walked.reading.way.values["affine 0"]
    np.testing.assert_array_equal(seen.buffers.values["affine 0"], whole[:2])
    seen = on(walked, 2 + 3)
    assert len(seen.buffers.values["affine 0"]) == 4
    assert len(seen.buffers.values["tanh 0"]) == len(seen.buffers.saturated["tanh 0"]) == 3


def test_answers_and_target_come_with_the_last_output(walked: Stage) -> None:
    for number in (1, 2, 3):
        seen = to(walked, "sigmoid 1", 1) if number == 1 else on(walked)
        buffers, is_last = seen.buffers, number == 3
        assert len(buffers.values["sigmoid 1"]) == len(buffers.tints["sigmoid 1"]) == number
        assert (buffers.answers is not None) == (buffers.target is not None) == is_last


def test_what_is_wrong_comes_back_to_one_neuron_after_the_other(walked: Stage) -> None:
    seen = to(walked, "delta 1", 1)
    assert [len(seen.buffers.flows[name]) for name in ("sigmoid 1", "affine 1")] == [1, 1]
    seen = on(walked, 2 + 3 + 2)
    assert seen.moment is not None and seen.moment.name == "input gradient 1"
    flows = seen.buffers.flows
    assert len(flows["tanh 0"]) == 2 and len(flows["affine 1"]) == 3
    assert len(seen.buffers.values["tanh 0"]) == 4  # which were there before


@pytest.mark.parametrize("number", [1, 2, 3])
def test_each_weight_of_a_neuron_gets_its_gradient_with_it(walked: Stage, number: int) -> None:
    operation = walked.reading.program.operations[2]
    weights = np.reshape([*range(operation.weights, operation.biases)], (3, 4))
    own = {*weights[:number].ravel().tolist(), *range(operation.biases, operation.biases + number)}
    pushes = to(walked, "weight gradient 1", number).cubes.pushes
    assert pushes is not None and {*np.flatnonzero(np.isfinite(pushes)).tolist()} == own
    grad = walked.session.network.bank.grad
    np.testing.assert_array_equal(pushes[[*own]], np.asarray(grad)[[*own]])
    walked.take(color="gradient", cubes="gradient")
    assert {*np.flatnonzero(walked.frame_data().cubes.colors).tolist()} <= own


def test_the_caption_is_of_the_neuron(walked: Stage) -> None:
    for place in range(4):
        said = (to(walked, "affine 0", 1) if not place else on(walked)).words.caption
        assert said is not None and said == caption(walked.session, None, ("affine 0", place))
        assert said.title.startswith("This neuron adds up four numbers: ")
        result = float(said.numbers[0].split("=")[1])
        assert result == pytest.approx(walked.reading.way.values["affine 0"][place], abs=0.01)


@pytest.mark.parametrize(
    ("name", "number"), [("affine 0", 3), ("weight gradient 1", 2), ("input gradient 1", 2)]
)
def test_in_focus_is_what_the_neuron_is_connected_by(walked: Stage, name: str, number: int) -> None:
    seen = to(walked, name, number)
    focus, operation = focus_of(seen), walked.reading.program.operations
    assert focus is not None and seen.walked is not None
    if name == "input gradient 1":  # all its paths
        first = operation[2].weights + number - 1
        assert focus.rows == {first, first + 4, first + 8}
    else:
        fan = seen.layout.fan_into(seen.walked)
        assert fan is not None and focus.rows == {*rows_of_sum(*fan)}


@pytest.mark.parametrize("name", ["tanh 0", "delta 0", "sigmoid 1", "delta 1"])
def test_without_weights_the_neuron_alone_is_in_focus(walked: Stage, name: str) -> None:
    focus = focus_of(to(walked, name, 2))
    assert focus is not None and not focus.rows
    assert [mask.nonzero()[0].tolist() for mask in focus.neurons if mask.any()] == [[1]]


def test_the_glass_of_a_neuron_that_is_still_to_come_is_empty(walked: Stage) -> None:
    seen = to(walked, "sigmoid 1", 2)
    *_, rings = spheres_of(seen.layout.neurons[-1], np.ones(3), seen, THEMES["dark"])
    assert (rings[:2, 3] > 0.0).all() and rings[2, 3] == 0.0
    np.testing.assert_array_equal(rings[:, :3], rgb(THEMES["dark"].channels))


@pytest.mark.slow
def test_back_shows_the_same_pictures_in_reverse(small: sv.Session, studio: Studio) -> None:
    small.advance(3)
    small.back(1)  # so that the loss curve has its end
    stage = Stage(small, reduced_motion=True)
    pictures = [studio.stage(stage, 0.0, (640, 400))]
    for by in (1, -1):
        seen: list[Any] = []
        for number in range(1, sum(SIZES.values())):
            go_by_neurons(stage, by)
            seen.append(studio.stage(stage, 100.0 * number, (640, 400)))
        if by > 0:
            pictures = seen
    assert len({picture.tobytes() for picture in pictures}) == len(pictures)
    for there, back in zip(pictures[-2::-1], seen, strict=False):
        np.testing.assert_array_equal(there, back)


def test_a_neuron_arrives_with_its_light_and_goes_as_it_came(small: sv.Session) -> None:
    small.advance(1, "operation")
    stage, times = Stage(small), iter(np.arange(100.0, 10_000.0, 100.0).tolist())

    def count(by: int, part: float) -> int:
        """How many sums are there in the middle of a move."""
        now = next(times)
        stage.tick(now)
        stage.frame_data()
        go_by_neurons(stage, by)
        stage.frame_data()
        stage.tick(now + part * stage.motion.seconds)
        return len(stage.frame_data().buffers.values.get("affine 0", ()))

    assert count(1, 0.5) == 0  # neuron 0 is on its way
    assert count(1, 0.5) == 1 and count(1, 0.9) == 3
    assert count(-1, 0.1) == 3 and count(-1, 0.9) == 1
    assert count(3, 0.9) == 4
    stage.motion.by_neuron.shown.clear()
    assert count(-1, 0.1) == 4 and count(0, 1.0) == 3  # of the whole operation, the last one goes


def test_whole_operations_are_shown_when_one_goes_by_them_again(walked: Stage) -> None:
    seen = to(walked, "affine 0", 2)
    walked.motion.by_neuron.shown.clear()
    seen = walked.frame_data()
    assert seen.walked is None and len(seen.buffers.values["affine 0"]) == 4
    walked.session.advance(1, "operation")
    assert walked.frame_data().walked is None
    assert on(walked, -1).walked == ("tanh 0", 2)  # the last one goes


def test_the_card_of_a_later_neuron_has_no_number_yet(walked: Stage) -> None:
    to(walked, "affine 0", 2)
    numbers = []
    for place in (1, 2):
        walked.pin(("affine 0", place))
        numbers.append(walked.frame_data().pinned.blocks[0].words)
    assert re.match(r"-?[\d.]", numbers[0]) and numbers[1] == text("card.neuron.empty")


def test_moves_that_wait_are_added_up(small: sv.Session) -> None:
    sizes, walk = sizes_of(small.network.program), ByNeuron()
    assert walk.go(sizes, 0, 2, waits=False) == 2  # zero_grad, and neuron 0
    assert walk.go(sizes, 0, 3, waits=True) == 0
    assert walk.go(sizes, 0, 1, waits=True) == 1
    assert walk.at(3) == 1 and walk.at(2) == 4
    assert walk.go(sizes, 3, -2, waits=False) == -1 and walk.at(2) == 3
    assert walk.go(sizes, 2, -99, waits=False) == -2
    assert walk.go(sizes, 5, 1, waits=False) == 1  # from where something else has led
    assert walk.at(6) == 1 and not walk.at(5)


def test_only_small_networks_of_dense_layers_go_by_neurons() -> None:
    small, large = sv.Network([2, 60, 1]), sv.Network([2, 61, 1])
    assert has_neurons(small.program) and has_neurons(sv.Network([784, 10]).program)
    assert not has_neurons(sv.Network([sv.Dense(2, 3), sv.LayerNorm(3), sv.Dense(3, 1)]).program)
    assert not has_neurons(large.program) and not has_neurons(image().network.program)
    refused(InputError, "60").by(check_neurons, large.program)


def test_a_session_goes_by_operations() -> None:
    session = sv.Session(sv.Network([2, 2, 1]), data.Xor(), "mse", sv.SGD(0.1), engine="python")
    for move in (session.advance, session.back):
        refused(InputError, "neurons").by(move, 1, "neuron")
    assert session.clock.place == (0, 0)


def test_every_neuron_of_a_step_is_drawn(walked: Stage) -> None:
    with Canvas(240, 160) as canvas:
        for _ in range(sum(SIZES.values())):
            go_by_neurons(walked, 1)
            assert len(np.unique(canvas.frame(walked.draw).reshape(-1, 3), axis=0)) > 50
        walked.release()
