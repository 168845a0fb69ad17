"""Numbers that a picture reads of a session: which, when, and how slow requests are answered."""

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz import data
from scalarviz.core.program import NONE
from scalarviz.scene.exhibits.images import Swatches
from scalarviz.scene.frame_data import History
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import CurveView
from scalarviz.stage import background, data_exhibits
from scalarviz.stage.background import AT_ONCE, LONGEST_REST, REST, Answer, Throttle
from scalarviz.stage.channels import ChannelSource, names_of, read
from scalarviz.stage.curves import POINTS
from scalarviz.stage.data_exhibits import in_portions
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.sample_pass import (
    SamplePass,
    backward,
    forward,
    forward_products,
    gradient_products,
)
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.story.caption import CardTable
from scalarviz.training.session.reading import TrainingState
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer
from scalarviz.training.session.value_session import session_of
from tests.machine import until
from tests.sessions import advanced, inverting, networks, plane
from tests.stage.conftest import go
from tests.training.session.test_session import session
from tests.training.session.test_threads import SOON, Gate, ours


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


def test_out_and_its_goal_are_known_in_every_phase(reading: LiveValues) -> None:
    session = reading.session
    for _ in range(2 * len(reading.moments)):
        session.advance(1, "operation")
        given, said, goal = exhibit_of(reading).focus
        np.testing.assert_allclose(goal, 1.0 - given)
        np.testing.assert_allclose(said, reading.way.values[reading.program.outputs.name])


def exhibit_of(reading: LiveValues) -> Any:
    """The exhibit, brought up to date."""
    reading.refresh()
    return reading.exhibit()


def learner(sizes: list[Any], learned: object) -> Session:
    return sv.Session(sv.Network(sizes, seed=0), learned, engine="python")


def graph_session() -> Session:
    a, b = sv.Value(0.25), sv.Value(-0.5)
    return sv.Session(sv.compile(lambda x, y: a * x + b * y, inputs=2), data.Xor(), engine="python")


@pytest.mark.parametrize(
    ("sizes", "learned"),
    [
        ([3, 4, 3], data.Rgb(levels=2)),
        ([2, 3, 1], data.Circle(samples=40)),
        ([2, 3], data.Texture(np.random.default_rng(0).random((6, 6, 3)))),
        ([1, 2, 1], (np.arange(6.0)[:, None], np.arange(6.0)[:, None])),
        ([4, 2], (np.arange(24.0).reshape(6, 4) / 24.0, np.ones((6, 2)))),
        ([], None),
    ],
    ids=["colors", "plane", "picture", "function", "table", "graph"],
)
def test_what_came_out_at_step_0_is_kept(sizes: list[int], learned: Any) -> None:
    reading = LiveValues(learner(sizes, learned) if sizes else graph_session())
    begun = exhibit_of(reading)
    assert begun.first.verdict() == begun.verdict() != ""
    reading.session.advance(5)
    reading.session.learning_rate = 0.001
    now = exhibit_of(reading)
    assert (now.first.score(), now.first.off()) == (begun.score(), begun.off())
    # Such as in a picture of a session that has trained.
    again = exhibit_of(LiveValues(reading.session)).first
    assert (again.score(), again.off()) == (begun.score(), begun.off())
    if isinstance(now, Swatches) and isinstance(now.first, Swatches):
        given, said, goal = now.first.shown  # of the sample in use, not of the one of step 0
        np.testing.assert_allclose((given, goal), now.shown[::2])
        first = reading.session.branches[0].frames[0].value
        way = forward(reading.program, first.astype(float), given)
        np.testing.assert_allclose(said, way.values[reading.program.outputs.name], rtol=1e-5)


def test_a_network_with_steps_behind_it_has_none(tmp_path: Path) -> None:
    trained = advanced(learner([2, 3, 1], data.Circle(samples=40)), 3)
    trained.network.save(tmp_path / "net.safetensors")
    again = sv.Session(sv.load(tmp_path / "net.safetensors"), trained.data, engine="python")
    assert exhibit_of(LiveValues(again)).first is None


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


def test_what_is_learned_is_shown_by_the_running_statistics_of_now() -> None:
    layers = [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 3, "sigmoid")]
    session = sv.Session(sv.Network(layers, seed=0), data.Rgb(), batch=8, engine="cpu")
    reading = LiveValues(session)
    for _ in range(3):
        session.advance(4)
        shown = exhibit_of(reading)
        np.testing.assert_array_equal(shown.outputs, session.network(session.data.palette[0]))


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
    learned = data.Texture(np.random.default_rng(0).random((90, 150, 3)))
    return sv.Session(sv.Network([2, hidden, 3], seed=0), learned, batch=8, engine="cpu")


def output_of(reading: LiveValues) -> Any:
    """The picture of the outputs that is shown."""
    return reading.exhibit().images[0]


def rows_of(reading: LiveValues) -> int:
    return len(output_of(reading))


def test_a_session_at_rest_is_shown_in_full_resolution_when_that_is_there() -> None:
    session = texture()
    reading = LiveValues(session, 0.0)
    reading.refresh()
    assert rows_of(reading) == 30 and reading.pending  # another picture is asked for
    for _ in range(2):
        until(lambda: reading.refresh() or not reading.pending)
        points, _ = session.data.pixels()
        assert rows_of(reading) == 90
        output = output_of(reading)[..., :3].reshape(-1, 3)
        answers = 255.0 * np.clip(session.network(points), 0.0, 1.0)
        np.testing.assert_allclose(output, answers, atol=0.51)
        before = output_of(reading)
        session.advance(1)
        reading.refresh()
        assert output_of(reading) is before  # meanwhile


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
    curve = reading.curves.read(CurveView(), TrainingState.of(session))
    np.testing.assert_allclose(curve.losses, session.losses)
    assert curve.steps.tolist() == list(range(1, 11)) and curve.at == 10.0
    assert curve.loss == pytest.approx(session.losses[-1]) and not curve.others
    left = np.array(session.losses)
    session.seek(4)
    session.learning_rate = 0.01
    session.advance(3)
    curve = reading.curves.read(CurveView(), TrainingState.of(session))
    assert curve.at == 7.0 and len(curve.steps) == 7
    (line,) = curve.others
    assert line.number == 0 and line.steps.tolist() == [4, 5, 6, 7, 8, 9, 10]  # from where it parts
    np.testing.assert_allclose(line.losses, left[3:])
    np.testing.assert_allclose(curve.losses[:4], left[:4])


def test_a_long_curve_has_few_points(reading: LiveValues) -> None:
    net = sv.Network([2, 2, 1], "tanh", seed=0)
    session = advanced(sv.Session(net, data.Xor(), optimizer=sv.SGD(0.1), engine="cpu"), 3_000)
    curve = LiveValues(session).curves.read(CurveView(), TrainingState.of(session))
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
    stage = Stage(Show(s), Look(camera="flat"))
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
    stage = Stage(Show(s), Look(camera="flat"))
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


def test_an_error_is_raised_where_it_was_asked_and_once() -> None:
    answer = Answer[Any]("before")

    def fail() -> None:
        raise RuntimeError("no answer")

    with pytest.raises(RuntimeError, match="no answer"):
        answer.get(1, fail, 10.0)
    assert answer.get(1, fail, 10.0) == "before" and not answer.pending


# A stage.


def seen(stage: Stage) -> Any:
    """Everything that is said, and that is computed for it."""
    frame_data = stage.frame_data()
    return (
        frame_data.words,
        [block for block in frame_data.pinned.blocks if not isinstance(block, History)],
        frame_data.buffers.values,
        stage.reading.numbers.value.tolist(),
    )


def test_a_picture_does_not_wait_for_the_step_that_goes_on() -> None:
    gate = Gate()
    stage = Stage(Show(gate.session), patience=AT_ONCE)
    with gate.closed(lambda: gate.session.advance(2)):
        start = time.perf_counter()
        stage.pin(4)
        stage.take(color="last change")
        for now in (0.0, 0.1):
            stage.tick(now)
            stage.frame_data()
        Stage(Show(gate.session), patience=AT_ONCE).frame_data()
        assert time.perf_counter() - start < SOON
    gate.session.history(4, wait=True)


@pytest.mark.parametrize("unit", ["step", "operation"])
def test_what_a_picture_asks_for_is_shown_when_it_is_there(unit: Any) -> None:
    gate = Gate()
    s = gate.session
    stages = [Stage(Show(s), patience=AT_ONCE), Stage(Show(s))]
    for stage in stages:
        stage.take(color="last change")
        stage.pin(4)
        stage.frame_data()
    until(lambda: not stages[0].reading.pending)
    s.advance(3, unit)
    gate.opened.clear()
    start = time.perf_counter()
    seen(stages[0])
    assert time.perf_counter() - start < SOON and stages[0].tick(1.0)
    gate.opened.set()
    until(lambda: (stages[0].frame_data(), not stages[0].reading.pending)[1])
    seen(stages[1])
    for stage in stages:
        stage.tick(9.0)  # to the last operation
    words, *others = seen(stages[1])
    now, *same = seen(stages[0])
    assert str(same) == str(others) and now.caption == words.caption
    s.history(4, wait=True)
    until(lambda: ours() == [])


@pytest.mark.parametrize(("takes", "rests"), [(0.1, 0.1 * REST), (30.0, LONGEST_REST)])
def test_work_rests_longer_than_it_takes_but_not_for_long(
    takes: float, rests: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(background, "perf_counter", lambda: now)
    work = Throttle()
    assert work.due
    with work.doing():
        now += takes
    assert not work.due
    now += rests - 0.01
    assert not work.due
    now += 0.02
    assert work.due


LAYERS: dict[str, list[sv.Layer]] = {
    "tanh": [sv.Dense(3, 5, "tanh"), sv.Dense(5, 2, "sigmoid")],
    "no bias": [sv.Dense(3, 6, "leaky_relu"), sv.Dense(6, 2, bias=False)],
    "layer norm": [sv.Dense(3, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 2)],
    "rms norm": [sv.RMSNorm(3), sv.Dense(3, 2, "tanh")],
    "softmax": [sv.Dense(3, 2, "tanh"), sv.Softmax(2)],
    "pool": [sv.Dense(3, 8, "tanh"), sv.MaxPool2d((2, 2, 2)), sv.AvgPool2d((2, 1, 1), 1)],
    "convolution": [
        sv.Dense(3, 18, "tanh"),
        sv.Conv2d((2, 3, 3), 3, padding=1),
        sv.Dense(27, 2),
    ],
    "dropout": [sv.Dense(3, 8, "tanh"), sv.Dropout(8), sv.Dense(8, 2)],
    "residual": [sv.Residual(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)), sv.Dense(3, 2)],
    "encoding": [sv.FrequencyEncoding(3, octaves=2), sv.Dense(12, 2, "sigmoid")],
}


def session_of_network(kind: str, engine: str = "python") -> Session:
    layers = [each.again() for each in LAYERS[kind]]
    net = sv.Network(layers, init="xavier_uniform", seed=0, dtype="float64")
    rng = np.random.default_rng(1)
    net.bank.value[:] += 0.3 * rng.normal(size=len(net.bank))
    pairs = rng.normal(size=(7, 3)), rng.uniform(0.1, 0.9, size=(7, 2))
    return sv.Session(net, pairs, optimizer=sv.SGD(0.1), batch=7, engine=engine)


def before_the_step(session: Session) -> None:
    """Everything of the step is known, and the weights have not moved."""
    session.advance(len(session.network.program.moments) - 1, "operation")


def ways(session: Session) -> list[SamplePass]:
    """Of each sample of the batch."""
    net, trainer = session.network, session.trainer
    inputs, targets = trainer.batches.at(session.clock.step)
    found = []
    for i, (x, target) in enumerate(zip(inputs, targets, strict=True)):
        way = forward(net.program, net.bank.value, x, net.bank.state, session.clock.step, i)
        backward(net.program, way, target, trainer.loss, len(inputs))
        found.append(way)
    return found


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("kind", LAYERS)
def test_every_buffer_holds_what_the_session_says(kind: str, engine: str) -> None:
    session = advanced(session_of_network(kind, engine), 2)
    before_the_step(session)
    program, compared = session.network.program, 0
    for number, way in enumerate(ways(session)):
        for operation in program.operations:
            numbers = session.numbers(operation.name)
            for known, own in (
                (numbers.inputs, way.values[operation.source.name]),
                (numbers.outputs, way.values[operation.target.name]),
                (numbers.upstream, way.flows.get(operation.target.name)),
                (numbers.gradient, way.flows.get(operation.source.name)),
            ):
                if known is not None:
                    np.testing.assert_allclose(own, known[number], rtol=1e-9, atol=1e-9)
                    compared += 1
    count = len(program.operations)
    assert compared >= 7 * (3 * count - program.first_parameters)


@given(made=networks())
def test_the_products_of_all_samples_add_up_to_the_gradient(
    made: tuple[sv.Network, np.ndarray],
) -> None:
    net, x = made
    target = np.random.default_rng(0).normal(size=(len(x), net.program.outputs.size))
    session = sv.Session(net, (x, target), optimizer=sv.SGD(0.01), engine="python")
    before_the_step(session)
    found = [gradient_products(net.program, len(net.bank), way) for way in ways(session)]
    np.testing.assert_allclose(np.sum(found, axis=0), net.bank.grad, rtol=1e-9, atol=1e-9)


@given(made=networks())
def test_the_products_of_weights_and_inputs_add_up_to_the_sums(
    made: tuple[sv.Network, np.ndarray],
) -> None:
    net, x = made
    way = forward(net.program, net.bank.value, x[0])
    products = forward_products(net.program, net.bank.value, way)
    for operation in net.program.operations:
        if operation.weights == NONE:
            continue
        if operation.outputs_per_bias > 1 or operation.kind == "convolution":
            continue  # a mean over several places adds up to no sum
        size, biased = operation.target.size, operation.biases != NONE
        count = len(operation.parameters) - biased * size
        found = products[operation.weights :][:count].reshape(size, -1).sum(axis=1)
        if biased:
            found += products[operation.biases :][:size]
        np.testing.assert_allclose(found, way.values[operation.target.name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("tanh", -1.82, 1.82),
        ("sigmoid", -3.63, 3.63),
        ("relu", 0.0, np.inf),
        ("leaky_relu", 0.0, np.inf),
    ],
)
def test_a_neuron_is_saturated_where_it_hardly_answers(name: str, low: float, high: float) -> None:
    net = sv.Network([sv.Dense(1, 1, name)], seed=0, dtype="float64")
    net.bank.value[:] = [1.0, 0.0]
    for z in (-9.0, low - 0.02, low + 0.02, 0.02, min(high, 9.0) - 0.02, min(high, 8.0) + 0.02):
        (flat,) = forward(net.program, net.bank.value, [z]).saturated[net.program.outputs.name]
        assert bool(flat) == (not low < z < high)


# What the inspector says.


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", LAYERS)
def test_the_terms_that_are_displayed_add_up_to_the_gradient(kind: str) -> None:
    session = advanced(session_of_network(kind), 1)
    before_the_step(session)
    bank = session.network.bank
    for row in range(len(bank)):
        said = session.explain(row)
        assert said.total == pytest.approx(bank.grad[row], abs=1e-6)
        (table,) = [
            block for block in blocks_of_weight(session, row) if isinstance(block, CardTable)
        ]
        total = float(table.total[-1])
        assert total == pytest.approx(bank.grad[row], rel=0.06, abs=1e-9)
        assert len(table.rows) == min(len(said.x), 40)
        shown = [float(cells[3]) for cells in table.rows]
        shown += [float(table.rests[-1][3])] if table.rests[-1] else []
        assert sum(shown) == pytest.approx(total, rel=0.06, abs=0.06 * np.abs(shown).max())
        for cells in table.rows:
            x, g, product = (float(cell) for cell in cells[1:])
            assert x * g == pytest.approx(product, abs=0.06 * np.abs(shown).max())


# Channels.


def test_channels_of_a_sample_are_zero_while_no_sample_is_followed() -> None:
    session = session_of_network("tanh")
    snapshot = session.snapshot()
    snapshot.request()
    numbers = snapshot.read()
    source = ChannelSource(numbers, numbers.value, session.network.program, SamplePass())
    for name in names_of([], has_layers=True):
        found = read(name, source)
        assert len(found) == len(numbers.value)
        assert name == "value" or not found.any()
    plain = "value", "gradient", "last change", "change since start"
    assert names_of(["m"], has_layers=False) == [*plain, "m"]


# A picture reads its session once, before it is made: meanwhile nothing asks it.

# It computes in the background what a large chart shows.
WORKER = "scalarviz.training.session.over_time"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What this thread reads of sessions, but for questions, to which they are handed over."""
    found, questions, here = list[str](), list[object](), threading.get_ident()

    def read(thing: object, name: str) -> object:
        callers = [each.f_globals["__name__"] for each, _ in walk_stack(sys._getframe(1))]
        if threading.get_ident() == here and not questions and WORKER not in callers:
            found.append(f"{type(thing).__name__}.{name} in {callers[0]}")
        return object.__getattribute__(thing, name)

    def get(answer: Answer[object], *given: object) -> object:
        questions.append(answer)
        try:
            return plain(answer, *given)
        finally:
            questions.pop()

    plain: Callable[..., object] = Answer.get
    monkeypatch.setattr(Answer, "get", get)
    for each in (Session, Timeline, Trainer):
        monkeypatch.setattr(each, "__getattribute__", read, raising=False)
    return found


# What happens between two pictures, to the session and to its stage.
MOVES: dict[str, Any] = {
    "step": ("advance", 1),
    "operation": ("advance", 1, "operation"),
    "start": ("seek", 0),
    "edit": ("edit", 3, 0.5),
    "frozen": ("freeze", 3),
    "playing": ("play", 50.0),
}
VIEWS: dict[str, Any] = {
    "weight": ("pin", 7),
    "neuron": ("pin", ("tanh 0", 1)),
    "hover": ("__setattr__", "hover", 3),
    "own input": ("__setattr__", "own", np.zeros(2)),
    "channels": ("look_as", Look(color="change since start", cubes="last change"), ()),
    "maps": ("look_as", Look(neuron_maps=True), ()),
    "walls": ("look_as", Look(every_weight=True), ()),
}


@pytest.mark.parametrize(
    ("change", "past"),
    [*((each, "") for each in [*MOVES, *VIEWS]), ("step", "value")],
)
def test_no_frame_asks_its_session(change: str, past: str, asked: list[str]) -> None:
    stage = Stage(advanced(plane(), 3))
    stage.pin(2)
    if past:
        stage.common.curve_view.large = True
        stage.common.curve_view.choose(past)
    stage.frame_data()
    go(stage if change in VIEWS else stage.session, (MOVES | VIEWS)[change])
    try:
        stage.read()
        asked.clear()
        stage.frame_data()
        assert asked == []
    finally:
        stage.session.pause()


def test_several_ask_none_of_their_sessions(asked: list[str]) -> None:
    stages = Stages([Stage(advanced(inverting(), steps)) for steps in (2, 5)], ["a", "b"])
    stages.take(color="difference to first")
    stages.pin(1)
    stages.surroundings(stages.frame_data())
    stages.lead.session.advance(1)
    stages.read()
    asked.clear()
    stages.surroundings(stages.frame_data())
    assert asked == []


def test_what_is_asked_is_seen(asked: list[str]) -> None:
    assert not plane().playing and any("Session.playing in tests" in each for each in asked)
