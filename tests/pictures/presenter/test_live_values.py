"""LiveValues: which numbers of a session a picture reads, and when."""

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.scene.exhibits.images import Pictures, Swatches
from scalarviz.stage import data_exhibits
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.curves import POINTS
from scalarviz.stage.data_exhibits import in_portions
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.value_session import session_of
from tests.sessions import advanced
from tests.training.session.test_session import session
from tests.waiting import until


@pytest.fixture
def reading(colours: sv.Session) -> LiveValues:
    colours.advance(2)
    return LiveValues(colours)


def test_the_output_in_use_is_empty_until_it_is_computed(reading: LiveValues) -> None:
    reading.refresh()
    last = [moment.name for moment in reading.moments].index("sigmoid 1") + 1
    for done in range(len(reading.moments)):
        exhibit = reading.exhibit()
        assert (reading.buffers(done).answers is None) == (0 < done < last)
        assert isinstance(exhibit, Swatches) and np.isfinite(exhibit.outputs).all()
        assert reading.exhibit() is exhibit


def test_while_it_plays_numbers_and_clock_are_of_one_moment(reading: LiveValues) -> None:
    session, seen = reading.session, {}
    session.play(400.0, "operation")
    until(lambda: session.step_index > 4)
    while session.step_index < 20:
        reading.refresh()
        seen[reading.place] = reading.numbers.value
    session.pause()
    assert len({operation for _, operation, _ in seen}) > 1
    for step, operation, _ in seen:
        session.seek(step)
        if operation:
            session.advance(operation, "operation")
        np.testing.assert_array_equal(session.network.bank.value, seen[step, operation, 0])


def test_an_edit_within_a_step_leaves_what_is_computed_already(reading: LiveValues) -> None:
    session = reading.session
    session.advance(4, "operation")  # up to "affine 1"
    reading.refresh()
    before = reading.buffers(4).values
    session.edit(0, 3.0)
    session.edit(len(session.network.bank) - 2, 3.0)
    for done in range(4, len(session.operations)):
        reading.refresh()
        shown = reading.buffers(done)
        for name in before:
            assert shown.values[name] == pytest.approx(before[name], abs=1e-6)
        for operation in session.network.program.operations:
            numbers, name = session.numbers(operation.name), operation.target.name
            if name in shown.values:
                assert shown.values[name] == pytest.approx(numbers.outputs[session.focus])
            if name in shown.flows:
                assert shown.flows[name] == pytest.approx(numbers.upstream[session.focus])
        session.advance(1, "operation")
    reading.refresh()  # between two steps all is of the weights as they are
    assert reading.buffers(0).values["affine 0"][0] != before["affine 0"][0]


def test_what_was_before_is_one_step_earlier(reading: LiveValues) -> None:
    session = reading.session
    values = dict.fromkeys(range(8))
    for step in values:
        session.seek(step)
        values[step] = session.network.bank.value.copy()
    reading.refresh()
    session.seek(5)
    reading.refresh()
    before, since = reading.before()
    assert since == 4
    np.testing.assert_array_equal(before, values[4])
    np.testing.assert_array_equal(session.network.bank.value, values[5])
    assert session.step_index == 5


def test_the_focus_sample_is_followed_as_far_as_it_has_come(reading: LiveValues) -> None:
    known = reading.buffers(0)
    assert set(known.values) == {"inputs", "affine 0", "tanh 0", "affine 1", "sigmoid 1"}
    assert not known.flows and known.target is not None
    assert set(known.tints) == {"inputs", "sigmoid 1"}
    assert set(reading.buffers(1).values) == {"inputs"} and reading.buffers(1).target is None
    assert set(reading.buffers(3).values) == {"inputs", "affine 0", "tanh 0"}
    assert set(reading.buffers(7).flows) == {"affine 1", "sigmoid 1"}
    np.testing.assert_array_equal(np.diag(known.values["inputs"]), known.tints["inputs"])


def test_a_dropout_leaves_out_what_the_step_left_out() -> None:
    net = sv.Network([sv.Dense(3, 20), sv.Dropout(20, 0.5), sv.Dense(20, 3)], seed=0)
    session = sv.Session(net, data.Rgb(), optimizer=sv.SGD(0.1), batch=4, engine="python")
    session.focus = 2
    session.advance(3)
    session.optimizer = sv.Adam(0.1)  # which counts its steps anew
    session.advance(3, "operation")
    for _ in range(2):
        shown = LiveValues(session).buffers(0)
        name = net.program.operations[1].target.name
        done = session.numbers("dropout 1")
        np.testing.assert_array_equal(shown.left_out[name] == 1.0, done.outputs[2] == 0.0)
        assert 0 < shown.left_out[name].sum() < 20
        session.advance(5, "operation")


def test_the_pixels_of_a_digit_are_grey() -> None:
    layers = [sv.Conv2d((1, 8, 8), 2, activation="tanh"), sv.Dense(72, 10)]
    pictures = np.random.default_rng(0).integers(0, 255, (20, 8, 8), np.uint8)
    digits = data.Digits(pictures=pictures, labels=np.arange(20, dtype=np.uint8) % 10)
    session = sv.Session(sv.Network(layers, seed=0), digits, batch=4, engine="python")
    buffers = LiveValues(session).buffers(0)
    grey = buffers.tints["inputs"]
    assert grey.shape == (64, 3) and (grey == grey[:, :1]).all()
    np.testing.assert_allclose(grey[:, 0], buffers.values["inputs"])


def test_the_sample_in_use_is_shown(reading: LiveValues) -> None:
    session = reading.session
    for focus in (0, 3):
        session.focus = focus
        reading.refresh()
        shown = reading.buffers(0)
        inputs, targets = session.trainer.batches.at(1)
        np.testing.assert_allclose(shown.values["inputs"], inputs[focus])
        assert shown.target is not None and shown.answers is not None
        np.testing.assert_allclose(shown.target, targets[focus])
        said = session.network(inputs[focus : focus + 1])[0]
        np.testing.assert_allclose(shown.answers, said, atol=1e-6)


def test_the_sample_stays_while_it_plays_and_in_a_pause(reading: LiveValues) -> None:
    session, seen = reading.session, set[Any]()

    def look() -> None:
        reading.refresh()
        seen.add(reading.way.values["inputs"].tobytes())

    for start in (session.play, lambda: session.play(200.0)):
        look()
        start()
        until(lambda end=session.step_index + 50: look() or session.step_index > end)
        session.pause()
        session.edit(0, 0.5)
        look()
    assert len(seen) == 1
    for count, unit in ((1, "operation"), (2, "step")):
        session.advance(count, unit)
        look()
    assert len(seen) == 3


def texture(hidden: int = 1000) -> sv.Session:
    pixels = np.random.default_rng(0).random((90, 150, 3))
    learned = data.Texture(pixels)
    return sv.Session(sv.Network([2, hidden, 3], seed=0), learned, batch=8, engine="cpu")


def pictures_of(reading: LiveValues) -> Mapping[str, np.ndarray]:
    """The pictures that are shown."""
    assert isinstance(reading.exhibit(), Pictures)
    return reading.exhibit().pictures


def rows_of(reading: LiveValues) -> int:
    return len(pictures_of(reading)["output"])


def test_a_session_at_rest_is_shown_in_full_resolution_when_that_is_there() -> None:
    session = texture()
    reading = LiveValues(session, 0.0)
    reading.refresh()
    assert rows_of(reading) == 30 and reading.pending  # another picture is asked for
    for _ in range(2):
        until(lambda: reading.refresh() or not reading.pending)
        points, _ = session.data.pixels()
        assert rows_of(reading) == 90
        output = pictures_of(reading)["output"].reshape(-1, 3)
        np.testing.assert_allclose(output, session.network(points), atol=1e-6)
        before = pictures_of(reading)
        session.advance(1)
        reading.refresh()
        assert pictures_of(reading) is before  # meanwhile


def test_no_picture_waits_for_the_exhibit(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, asked, same = threading.Event(), [], []

    def slowly(ask: Any, points: Any) -> Any:
        asked.append(len(points))
        before = ask.bank.value.copy()
        assert opened.wait(30.0)  # fails if a refresh waits for it
        same.append(np.array_equal(ask.bank.value, before))
        return in_portions(ask, points)

    session = texture()
    reading = LiveValues(session, AT_ONCE)
    until(lambda: reading.refresh() or not reading.pending)
    monkeypatch.setattr(data_exhibits, "in_portions", slowly)
    session.play()
    try:
        until(lambda: reading.refresh() or bool(asked))
        before = reading.numbers
        until(lambda: reading.refresh() or reading.numbers is not before)
        reading.refresh()
        assert rows_of(reading) == 90 and asked == [30 * 50]  # one at a time
        opened.set()
        until(lambda: reading.refresh() or rows_of(reading) == 30)
    finally:
        opened.set()
        session.pause()
    until(lambda: reading.refresh() or (rows_of(reading) == 90 and not reading.pending))
    assert all(same)  # each with the numbers that it was asked with


def test_an_exhibit_of_other_data_is_not_shown_when_it_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened, seen = threading.Event(), set()

    def slowly(ask: Any, points: Any) -> Any:
        assert len(points) < 90 * 150 or opened.wait(30.0)
        return in_portions(ask, points)

    monkeypatch.setattr(data_exhibits, "in_portions", slowly)
    session = texture()
    reading = LiveValues(session, 0.0)
    reading.refresh()
    assert reading.pending
    session.data = data.Texture(np.zeros((20, 20, 3)))
    opened.set()
    until(lambda: reading.refresh() or seen.add(rows_of(reading)) or not reading.pending)
    assert seen == {30, 20}


def test_the_curve_is_that_of_the_branch_and_others_are_lines(reading: LiveValues) -> None:
    session = advanced(reading.session, 8)
    curve = reading.curves.read()
    np.testing.assert_allclose(curve.losses, session.losses)
    assert curve.steps.tolist() == list(range(1, 11)) and curve.at == 10.0
    assert curve.loss == pytest.approx(session.losses[-1]) and not curve.others
    left = np.array(session.losses)
    session.seek(4)
    session.learning_rate = 0.01
    session.advance(3)
    curve = reading.curves.read()
    assert curve.at == 7.0 and len(curve.steps) == 7
    (line,) = curve.others
    assert line.number == 0 and line.steps.tolist() == [4, 5, 6, 7, 8, 9, 10]  # from where it parts
    np.testing.assert_allclose(line.losses, left[3:])
    np.testing.assert_allclose(curve.losses[:4], left[:4])


def test_a_long_curve_has_few_points(reading: LiveValues) -> None:
    net = sv.Network([2, 2, 1], "tanh", seed=0)
    session = advanced(sv.Session(net, data.Xor(), optimizer=sv.SGD(0.1), engine="cpu"), 3_000)
    curve = LiveValues(session).curves.read()
    assert len(curve.steps) == len(curve.losses) <= 2 * POINTS and curve.steps[-1] >= 2_990


def test_the_nodes_of_an_expression_have_the_numbers_of_the_sample() -> None:
    a, b = sv.Value(0.5, label="a"), sv.Value(0.1, label="b")
    line = sv.compile(lambda x: a * x + b, inputs=1)
    x = np.linspace(0.0, 1.0, 8)[:, None]
    session = sv.Session(line, (x, 2.0 * x), optimizer=sv.SGD(0.1), engine="python")
    reading = LiveValues(session)
    session.advance(2)
    reading.refresh()
    values = reading.buffers(0).values
    assert not reading.has_layers and set(values) == {"inputs", "x0", "[0]", "[1]", "outputs"}
    assert values["[1]"] == pytest.approx(a.data * values["x0"] + b.data) == values["outputs"]
    np.testing.assert_allclose(reading.numbers.value, session.network.bank.value)
    assert reading.exhibit() is not None


@pytest.mark.parametrize("activation", ["relu", "linear"])
@pytest.mark.parametrize("within", [0, 4])
def test_after_another_activation_its_numbers_are_shown(activation: str, within: int) -> None:
    s = session()
    stage = Stage(Show(s), camera="flat")
    s.advance(2)
    stage.frame_data()
    camera, name = stage.eyes.camera, "affine 0" if activation == "linear" else f"{activation} 0"
    s.set_activation(0, activation)
    inputs = s.trainer.batches.at(1)[0]
    said, shown = s.network.layers[0](inputs)[s.focus], stage.frame_data().buffers.values
    assert shown[name] == pytest.approx(said) and "tanh 0" not in shown
    s.advance(1)
    if within:
        s.advance(within, "operation")
        said = s.numbers(name).outputs[s.focus]
    else:
        said = s.network.layers[0](s.trainer.batches.at(2)[0])[s.focus]
    shown = stage.frame_data().buffers.values
    assert shown[name] == pytest.approx(said) and stage.eyes.camera == camera
    assert [each.name for each in stage.reading.moments] == s.operations
    s.seek(1)
    assert "tanh 0" in stage.frame_data().buffers.values


def test_a_step_that_is_only_looked_up_is_not_shown() -> None:
    s = session()
    stage = Stage(Show(s), camera="flat")
    s.advance(2)
    s.set_activation(0, "relu")
    stage.frame_data()
    program, plan = stage.reading.program, stage.plan
    with s.timeline.at_work():  # as on another thread: the step before had tanh
        assert "tanh 0" in [each.target.name for each in s.network.program.operations]
        assert "relu 0" in stage.frame_data().buffers.values
    stage.frame_data()
    assert stage.reading.program is program and stage.plan is plan


def test_gradients_of_a_shared_node_add_up_as_they_come_back() -> None:
    a, b = sv.Value(2.0, label="[0]"), sv.Value(-1.5, label="b")  # as the node a * b is called
    product = a * b
    reading = LiveValues(session_of(product * product + product.exp() + product))
    program: Any = reading.program
    run, shown = reading.session.trainer.run, list[float]()
    for done, moment in enumerate(reading.moments[:-1], 1):
        reading.session.advance(1, "operation")
        reading.refresh()
        flows = reading.buffers(done).flows
        for each in moment.gradients:
            if each.name != "b" and each.offset != program.trace.first_parameter:
                assert flows[each.name] == pytest.approx(run.gradients(each)[0])
        if "[0]" in flows:
            shown.append(float(flows["[0]"][0]))
    number = a.data * b.data
    assert [*dict.fromkeys(shown)] == pytest.approx(
        [1.0, 1.0 + np.exp(number), 1.0 + np.exp(number) + 2.0 * number]
    )
