"""Time travel: records, points, remade steps, names of branches, and weights over time."""

import csv
import gc
import sys
import threading
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from weakref import ref

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.cpu.engine import CpuRun
from scalarviz.engines.python import PythonRun
from scalarviz.errors import FileError, InputError, OrderError
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.session import timeline
from scalarviz.training.session.branches import MetricPoints
from scalarviz.training.session.over_time import (
    FilledPast,
    Now,
    OverTime,
    WeightsOverTime,
    layers_of,
)
from scalarviz.training.session.session import Session
from tests.sessions import advanced, bits, session_on
from tests.training.session.test_growing import COLOURS as SIX_COLOURS
from tests.training.session.test_growing import numbers, trained
from tests.training.session.test_session import COLOURS, every_engine, session
from tests.wording import refused

MEMORY = 2 * 2**20
STEPS = 20_000


def live(s: Session, rng: np.random.Generator) -> None:
    """20,000 steps in which all sorts of things are done."""
    while s.step_index < STEPS:
        what = rng.integers(8)
        if what == 0:
            s.learning_rate = float(rng.uniform(0.001, 0.02))
        elif what == 1:
            s.edit(rng.integers(0, len(s.network.bank), 3), rng.normal(size=3))
        elif what == 2:
            s.freeze(int(rng.integers(len(s.network.bank))), bool(rng.integers(2)))
        elif what == 3:
            s.data = data.Rgb(str(rng.choice(["invert", "sepia", "grey"])), levels=8)
        elif what == 4:
            s.engine = "python"
            s.advance(int(rng.integers(1, 20)))
            s.engine = "cpu"
        elif what == 5 and s.step_index > 1000:
            s.back(int(rng.integers(1, 300)))
        elif what == 6:
            s.advance(int(rng.integers(1, 30)), "operation")
        s.advance(int(rng.integers(1, 400)))


@pytest.mark.slow
def test_200_moments_of_20000_steps_come_back_in_2_megabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([3, 24, 24, 3], "tanh", "sigmoid", seed=1)
    s = sv.Session(
        net, data.Rgb("invert", levels=8), "mse", sv.Adam(0.005), 8, "cpu", memory=MEMORY
    )
    s.advance(10)
    tracemalloc.start()
    rng = np.random.default_rng(7)
    live(s, rng)
    assert len(s.branches) > 3
    kinds = {action.kind for branch in s.branches for action in branch.journal}
    assert kinds == {"learning rate", "edit", "freeze", "data", "engine"}

    seen: dict[tuple[int, int], tuple[Any, ...]] = {}
    taken = count_steps(monkeypatch)
    replays, starts = [], []
    for _ in range(200):
        branch = s.branches[rng.integers(len(s.branches))]
        step = int(rng.integers(0, branch.end.step + 1))
        if s.current_branch is not branch:
            s.switch(branch)
        taken.clear()
        s.seek(0 if step == s.step_index else step)
        s.seek(step)
        replays.append(sum(taken))
        starts.append(branch.frame_before(step).step)  # type: ignore[union-attr]  # it is there
        key = branch.number, step
        found = bits(s)
        assert seen.setdefault(key, found) == found
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert s.timeline.keyframes.used <= MEMORY
    tables = 40 * 2**20  # data sets and their tables in the engine's type
    assert peak < MEMORY + tables
    # Neither from zero, nor from a frame for every step.
    assert len(s.current_branch.frames) < 300
    assert np.mean(np.array(starts) == 0) < 0.1
    assert 0 < np.median(replays) < 2000


def count_steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many whole steps are taken from now on."""
    taken: list[int] = []

    def counted(self: Any, optimizer: Any, first: int, count: int) -> Any:
        taken.append(count)
        return steps[type(self)](self, optimizer, first, count)

    steps = {each: each.steps for each in (CpuRun, PythonRun)}
    for each in steps:
        monkeypatch.setattr(each, "steps", counted)
    return taken


MANY = 200_000


def test_values_are_read_up_to_a_step_while_others_are_added() -> None:
    points = MetricPoints([10, 20], [0.5, 0.25])
    writer = threading.Thread(target=lambda: [points.add(30 + i, 2.0 * i) for i in range(MANY)])
    writer.start()
    while writer.is_alive():
        steps, values = points.until(29 + MANY // 2)
        assert len(steps) == len(values) <= 2 + MANY // 2
        assert steps[:2].tolist() == [10, 20] and values[:2].tolist() == [0.5, 0.25]
        assert (values[2:] == 2.0 * (steps[2:] - 30)).all()
    writer.join()
    steps, values = points.until()
    assert steps.dtype == np.int64 and values.dtype == np.float64 and len(steps) == 2 + MANY
    assert [len(each) for each in points.until(20)] == [2, 2]
    assert [len(each) for each in MetricPoints().until()] == [0, 0]


def test_a_value_takes_few_bytes() -> None:
    tracemalloc.start()
    points, before = MetricPoints(), tracemalloc.get_traced_memory()[0]
    for step in range(MANY):
        points.add(step, step / 3)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used < 20 * MANY  # a list of pairs takes 120


X = np.linspace(-1.0, 1.0, 10).reshape(5, 2)


def recorded_session() -> sv.Session:
    table = data.Arrays(X, X[:, 0], held_out=2)
    return advanced(
        sv.Session(sv.Network([2, 1], seed=0), table, metrics=["mae"], every=2, engine="python"), 4
    )


def test_a_csv_has_every_number_bit_for_bit(tmp_path: Path) -> None:
    s = recorded_session()
    s.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["step", "loss", "mae", "held_out_loss", "held_out_mae"]
    assert [row["step"] for row in rows] == ["0", "1", "2", "3", "4"]
    assert [float(row["loss"]) for row in rows[:4]] == s.losses.tolist()
    assert rows[4]["loss"] == rows[3]["mae"] == rows[0]["mae"] == ""
    for name, (steps, values) in s.metrics.items():
        assert [float(rows[step][name]) for step in steps] == values.tolist()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    refused(FileError, varies=r"'[^']*'").by(
        recorded_session().to_csv, tmp_path / "missing" / "table.csv"
    )


def test_a_data_frame_has_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    pandas = ModuleType("pandas")  # pandas itself is not among the requirements of the tests
    pandas.RangeIndex = lambda stop, name: (stop, name)  # type: ignore[attr-defined]  # in its place
    pandas.DataFrame = lambda columns, index: made.update(columns, index=index)  # type: ignore[attr-defined]  # in its place
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    s = recorded_session()
    s.to_pandas()
    assert made["index"] == (5, "step")
    np.testing.assert_array_equal(made["loss"], [*s.losses, np.nan])
    np.testing.assert_array_equal(np.isfinite(made["held_out_mae"]), [0, 0, 1, 0, 1])


def test_without_pandas_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    refused(InputError, "pandas>=2.2").by(recorded_session().to_pandas)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_weights_are_drawn_anew_but_for_frozen_ones(engine: str) -> None:
    s = trained(engine)
    s.set_rate(40, 0.5)
    s.pin(41)
    before = numbers(s)
    drawn = sv.reinitialize(s, "he_normal")
    assert numbers(s) == before and drawn.origin.session is s
    assert str(drawn.origin) == "from step 20: weights drawn by he_normal"
    fresh = sv.Network([3, 5, 4, 3], "tanh", "sigmoid", init="he_normal", seed=3)
    frozen = s.network.bank.frozen
    assert frozen.sum() == 4 and (drawn.network.bank.frozen == frozen).all()
    expected = np.where(frozen, s.network.bank.value, fresh.bank.value)
    assert (drawn.network.bank.value == expected).all()
    assert drawn.network.bank.step_count == 0 and drawn.step_index == 0
    assert not any(block.any() for block in drawn.network.bank.blocks.values())
    assert drawn.own_rate(40) == 0.5 and drawn.pinned == [41]
    assert (drawn.network.init.row.name, drawn.engine) == ("he_normal", engine)
    drawn.advance(3, progress=False)
    assert not np.array_equal(
        sv.reinitialize(s, seed=1).network.bank.value, sv.reinitialize(s).network.bank.value
    )


def test_running_statistics_stay_with_a_frozen_layer_only() -> None:
    layers = [sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 3)]
    s = sv.Session(sv.Network(layers, seed=1), data.Rgb(levels=3), batch=9, engine="python")
    s.advance(5)
    norm = s.network.layers[1]
    assert sv.reinitialize(s).network.layers[1].state != pytest.approx(norm.state)
    s.freeze(norm)
    assert sv.reinitialize(s).network.layers[1].state == pytest.approx(norm.state)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_biases_go_and_come_back_at_0(engine: str) -> None:
    s = trained(engine)
    plain = sv.set_biases(s, False)
    assert [layer.has_bias for layer in plain.network] == [False] * 3
    assert all((a.kernel == b.kernel).all() for a, b in zip(plain.network, s.network, strict=True))
    assert plain.network.bank.frozen.sum() == 3  # the bias of the frozen neuron is gone
    plain.advance(4, progress=False)
    again = sv.set_biases(plain)
    assert not any(layer.bias.any() for layer in again.network)
    assert np.array_equal(again.network(SIX_COLOURS), plain.network(SIX_COLOURS))
    assert again.network.bank.step_count == 24
    assert (again.origin.rows == -1).sum() == 12
    names = [again.network.name_of(row) for row in np.flatnonzero(again.origin.rows == -1)]
    assert all(name.endswith("bias") for name in names)


def test_convolutions_and_shared_layers_have_theirs(rng: np.random.Generator) -> None:
    twice = sv.Dense(4, 4, "tanh")
    layers = [
        sv.Conv2d((1, 3, 3), 1, 2, activation="relu"),
        sv.BatchNorm((1, 2, 2)),
        sv.Flatten((1, 2, 2)),
        twice,
        twice,
        sv.Dense(4, 2),
    ]
    table = data.Arrays(rng.random((6, 9)), rng.random((6, 2)))
    s = advanced(sv.Session(sv.Network(layers, seed=1), table, engine="python"), 3)
    back = sv.set_biases(sv.set_biases(s, False))
    assert len(back.network.bank) == len(s.network.bank)
    known = [back.network.layers[i].kernel == s.network.layers[i].kernel for i in (0, 3, 4, 5)]
    assert all(each.all() for each in known)
    assert back.network.layers[1].state == pytest.approx(s.network.layers[1].state)
    back.advance(2)


def wrong_ones() -> dict[str, Any]:
    deep = sv.Network([sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)])
    still = sv.Network([sv.LayerNorm(2), sv.Activation(2, "tanh")])
    swing = sv.compile(lambda x: sv.Value(0.5) * x, inputs=1)
    pair = [[1.0, 0.0]], [[2.0, 1.0]]
    return {
        "have biases": lambda: sv.set_biases(trained()),
        "Residual": lambda: sv.set_biases(sv.Session(deep, data.Xor(), engine="python")),
        "no perceptrons": lambda: sv.set_biases(sv.Session(still, pair, engine="python")),
        "compiled": lambda: sv.reinitialize(sv.Session(swing, ([[1.0]], [[2.0]]), engine="python")),
        "-1": lambda: sv.reinitialize(trained(), seed=-1),
        "'yes'": lambda: sv.set_biases(trained(), "yes"),  # type: ignore[arg-type]  # on purpose
    }


@pytest.mark.parametrize(
    "value", ["have biases", "Residual", "no perceptrons", "compiled", "-1", "'yes'"]
)
def test_what_cannot_be_is_refused(value: str) -> None:
    refused(InputError, value).by(wrong_ones()[value])


CHANGES_BETWEEN_STEPS: dict[str, Callable[[sv.Session], object]] = {
    "nothing": lambda s: None,
    "relu": lambda s: s.set_activation(0, "relu"),
    "linear": lambda s: s.set_activation(0, "linear"),
    "both": lambda s: [s.set_activation(i, "relu") for i in (0, 1)],
    "engine": lambda s: s.to("python" if s.engine == "cpu" else "cpu"),
    "mixed": lambda s: s.to("cpu", "mixed"),
    "data": lambda s: setattr(s, "data", (COLOURS[:5], COLOURS[:5])),
    "optimizer": lambda s: setattr(s, "optimizer", sv.Momentum(0.5)),
    "loss": lambda s: setattr(s, "loss_function", "huber"),
    "batch": lambda s: setattr(s, "batch", 2),
    "rate": lambda s: setattr(s, "learning_rate", 0.5),
    "edit": lambda s: s.edit([0, 5], 0.75),
    "freeze": lambda s: s.freeze(0),
    "branch": lambda s: s.branch(),
}


def told(s: sv.Session) -> list[Any]:
    """Everything about the step that is done."""
    found: list[Any] = []
    for name in ("affine 0", "tanh 0", "affine 1", "sigmoid 1"):
        numbers = s.numbers(name)
        parts = numbers.inputs, numbers.outputs, numbers.upstream, numbers.gradient
        found.append([None if part is None else part.tolist() for part in parts])
    # But for the edit itself, which is said below the step.
    steps = [replace(s.explain(row), edit=None) for row in (0, 30, 58)]
    return [*found, *map(str, steps)]


@pytest.mark.some(7)
@every_engine
@pytest.mark.parametrize("change", CHANGES_BETWEEN_STEPS)
def test_the_step_that_is_done_is_told_whatever_is_set_after_it(engine: str, change: str) -> None:
    s = advanced(session(engine, dtype="float32"), 3)
    expected = told(s)
    CHANGES_BETWEEN_STEPS[change](s)
    before, moment = bits(s), s.clock
    assert told(s) == expected
    assert bits(s) == before and s.clock == moment and len(s.current_branch.journal) <= 2
    s.advance(2)
    reference = advanced(session(engine, dtype="float32"), 3)
    CHANGES_BETWEEN_STEPS[change](reference)
    reference.advance(2)
    assert bits(s) == bits(reference)


@pytest.mark.some(4)
@every_engine
@pytest.mark.parametrize("change", ["relu", "linear", "engine", "data", "optimizer", "rate"])
def test_what_waits_for_the_next_step_is_not_seen_in_this_one(engine: str, change: str) -> None:
    s, untouched = session(engine), session(engine)
    for each in (s, untouched):
        each.advance(3)
        each.advance(4, "operation")
    CHANGES_BETWEEN_STEPS[change](s)
    for operations in (0, 5, 3):  # within the step, and where it ends
        for each in (s, untouched):
            each.advance(operations, "operation") if operations else None
        assert told(s) == told(untouched)
    assert s.clock.place == (4, 0)
    s.advance(1)
    replayed = bits(s)
    s.seek(0)
    s.seek(5)
    assert bits(s) == replayed


@every_engine
def test_a_step_goes_on_after_something_was_set_past_the_session(engine: str) -> None:
    s, reference = session(engine), session(engine)
    for each in (s, reference):
        each.advance(2)
        each.advance(5, "operation")
    s.network.to("python" if engine == "cpu" else "cpu")
    refused(OrderError).by(s.advance, 1, "operation")
    assert s.clock == reference.clock
    assert np.array_equal(s.numbers("tanh 0").outputs, reference.numbers("tanh 0").outputs)
    for each in (s, reference):
        each.advance(3)
    assert bits(s) == bits(reference)


def branched_session() -> sv.Session:
    """A session with a branch from step 2."""
    s = session_on(data.Rgb(levels=3), [3, 4, 3], "tanh", optimizer=sv.SGD(0.1), batch=5)
    s.advance(5)
    s.back(3)
    s.learning_rate = 0.3
    s.advance(2)
    return s


DEEDS: dict[str, Callable[[sv.Session], object]] = {
    "rate 0.25": lambda s: setattr(s, "learning_rate", 0.25),
    "weight 7 = -0.5": lambda s: s.edit(7, -0.5),
    "3 weights set": lambda s: s.edit([1, 2, 3], [0.1, 0.2, 0.3]),
    "weight 5 frozen": lambda s: s.freeze(5),
    "16 weights frozen": lambda s: s.freeze(s.network.layers[0]),
    "weight 5 unfrozen": lambda s: s.freeze(5, False),
    "rate 0.02 for 16 weights": lambda s: s.set_rate(s.network.layers[0], 0.02),
    "global rate for weight 3": lambda s: s.set_rate(3, None),
    "adam, rate 0.01, l2 0.5": lambda s: setattr(s, "optimizer", sv.Adam(0.01, l2=0.5)),
    "data rgb sepia": lambda s: setattr(s, "data", data.Rgb("sepia", levels=3)),
    "2 samples added": lambda s: s.add_samples([[0, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 0, 0]]),
    "loss huber": lambda s: setattr(s, "loss_function", "huber"),
    "batch 2": lambda s: setattr(s, "batch", 2),
    "full batch": lambda s: setattr(s, "batch", None),
    "engine cpu, mixed": lambda s: s.to("cpu", "mixed"),
    "relu in layer 0": lambda s: s.set_activation(0, "relu"),
    "stops when loss < 0.001": lambda s: s.stop_when("loss < 0.001"),
    "no stop conditions": lambda s: s.stop_when(),
    "numbers written": lambda s: s.network.train_step([0, 0, 1.0], [1, 1, 0.0]),
}


@pytest.fixture
def s() -> sv.Session:
    return branched_session()


@pytest.mark.parametrize("did", DEEDS)
def test_a_branch_is_called_after_what_began_it(did: str, s: sv.Session) -> None:
    s.seek(1)
    DEEDS[did](s)
    s.branches  # noqa: B018  # what was written into the bank is noticed with the next call
    s.advance(1)
    assert s.current_branch.name == f"from step 1: {did}"


def test_several_changes_are_told_shortly(s: sv.Session) -> None:
    assert [each.name for each in s.branches] == ["from the start", "from step 2: rate 0.3"]
    s.seek(1)
    for value in (0.1, 0.2, 0.3):  # as in a drag
        s.edit(7, value)
    assert s.current_branch.name == "from step 1: weight 7 = 0.3"
    s.batch = 2
    assert s.current_branch.name == "from step 1: weight 7 = 0.3, batch 2"
    s.freeze(3)
    s.learning_rate = 0.0
    assert s.current_branch.name == "from step 1: weight 7 = 0.3, batch 2, 2 more"
    s.undo()
    s.undo()
    assert s.current_branch.name == "from step 1: weight 7 = 0.3, batch 2"
    s.reset()
    assert s.current_branch.name == "from the start"


def test_what_was_asked_within_a_step_tells_its_place(s: sv.Session) -> None:
    s.seek(1)
    s.advance(3, "operation")
    s.batch = 2
    s.edit(4, 0.5)
    s.advance(2)
    s.batch = 3  # later: not what began it
    assert s.current_branch.name == "from step 1 + 3: weight 4 = 0.5, batch 2"


def test_a_name_is_given_undone_and_done_again() -> None:
    s = advanced(branched_session(), 4)
    clock = s.clock
    branch = s.branches[1]
    branch.name = "  large rate "
    assert branch.name == "large rate" and repr(branch).startswith("Branch 1 'large rate' from")
    assert s.branches[0].name == "from the start"
    branch.name = "large rate"  # the same: nothing to undo
    s.undo()
    assert branch.name == "from step 2: rate 0.3" and s.clock == clock
    s.redo()
    assert branch.name == "large rate" and s.clock == clock
    branch.name = ""
    assert branch.name == "from step 2: rate 0.3"
    s.undo()
    s.undo()
    s.undo()  # the rate
    assert s.learning_rate == 0.1 and s.step_index == 2


def test_a_branch_begins_with_a_name_and_is_found_by_it(s: sv.Session) -> None:
    s.branch("mine")
    s.learning_rate = 0.5
    assert s.current_branch.name == "mine"
    s.switch("from the start")
    assert s.current_branch.number == 0
    s.switch("mine")
    assert s.current_branch.number == 2
    s.branches[0].name = "mine"
    refused(InputError, "0, 2").by(s.switch, "mine")
    for unknown in ("yours", 3, -1):
        refused(InputError, unknown).by(s.switch, unknown)
    count = len(s.branches)
    refused(InputError, "x\\ny").by(s.branch, "x\ny")
    assert len(s.branches) == count


@pytest.mark.parametrize(
    "name", [None, 3, "x" * 61, "a\u202eb", "a\nb", "a\0", "\ud800", "a\u2800"]
)
def test_a_name_that_cannot_be_read_is_refused(name: Any, s: sv.Session) -> None:
    with refused(InputError):
        s.branches[1].name = name
    assert s.branches[1].name == "from step 2: rate 0.3"
    assert len(s.undo_log.done) == 1


@pytest.mark.parametrize("name", [None, 3, ["x"], {}, "x" * 61, "a\u202eb", "a\nb", "\0"])
def test_a_file_with_another_name_is_refused(name: Any, tmp_path: Path) -> None:
    branched_session().save(tmp_path / "run")
    description, arrays = read(tmp_path / "run", "run")
    description["branches"][1]["name"] = name
    write(tmp_path / "run", "run", description, arrays)
    refused(FileError, "name").by(sv.Session.load, tmp_path / "run")


@pytest.mark.slow
def test_a_branch_outlives_its_session_and_keeps_it_not() -> None:
    s = branched_session()  # pytest keeps what a fixture returns
    branch, timeline = s.branches[1], ref(s.timeline)
    del s
    gc.collect()
    assert timeline() is None
    branch.name = "left"
    assert branch.name == "left"


INPUTS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
TARGETS = np.array([[0.0], [1.0], [1.0], [0.0]])


def made(memory: int = 2**28, hidden: int = 4) -> sv.Session:
    network = sv.Network([2, hidden, 1], activation="tanh", output="sigmoid", seed=3)
    rate = sv.Momentum(0.1)
    return sv.Session(network, (INPUTS, TARGETS), optimizer=rate, engine="cpu", memory=memory)


def over_time_of(
    session: sv.Session, steps: list[int], filled: object = None, most: int = 200
) -> OverTime:
    bank, here = session.network.bank, session.timeline.here
    reader = WeightsOverTime(session.network.program, len(bank), most)
    now = Now(here.clock.step, bank.value.copy())
    known = filled.moments if isinstance(filled, FilledPast) else {}
    return reader.read(here.branch, now, steps=steps, filled=known)


def trail(steps: int) -> np.ndarray:
    """Values on arrival at each step, (steps + 1, weights), by another session."""
    session = made()
    values = []
    for _ in range(steps + 1):
        values.append(session.network.bank.value.astype(np.float64))
        session.advance(1)
    return np.array(values)


def filled(session: sv.Session, steps: list[int]) -> FilledPast:
    past = FilledPast(session)
    past.want(session.timeline.branch, steps)
    past.background.complete()
    return past


def test_a_row_a_weight_has_its_numbers_at_each_step() -> None:
    session, steps = made(), list(range(31))
    session.advance(30)
    values = trail(30)
    past = filled(session, steps[:-1])
    seen = over_time_of(session, steps, past)
    assert seen.steps.tolist() == steps and seen.rows.tolist() == list(range(17))
    assert np.array_equal(seen.tiles, values.T)
    moved = values[30] - values[0]
    most = np.argsort(-np.abs(moved))[:2].tolist()
    assert seen.moved_most(0, 30, 2) == [(row, moved[row]) for row in most]
    assert seen.groups == [("0", 0, 12), ("1", 12, 5)]


def test_keyframes_alone_give_fewer_moments_but_the_same_numbers() -> None:
    session, steps = made(), list(range(31))
    session.advance(30)
    values = trail(30)
    seen = over_time_of(session, steps)
    assert 2 <= len(seen.steps) <= 31
    assert np.array_equal(seen.tiles, values[seen.steps.astype(int)].T)


@pytest.fixture(name="session")
def small_session() -> sv.Session:
    return made()


def test_slow_steps_are_all_kept(session: sv.Session) -> None:
    session.advance(2000)  # the pace is of many steps now
    for _ in range(5):
        session.timeline._kept_at -= 1.0  # as if a second had passed
        session.advance(1)
    kept = {frame.step for frame in session.timeline.branch.frames}
    assert {2001, 2002, 2003, 2004, 2005} <= kept


def test_a_tile_is_the_mean_of_its_weights() -> None:
    session = advanced(made(hidden=40), 10)
    seen = over_time_of(session, [0, 10], most=12)
    value = session.network.bank.value.astype(np.float64)
    parts = [value[seen.rows_of(tile)] for tile in range(len(seen.tiles))]
    assert len(parts) <= 13 and sum(map(len, parts)) == len(value)
    assert seen.tiles[:, -1] == pytest.approx([part.mean() for part in parts], rel=1e-12)
    sizes = {name: count for name, _, count in seen.groups}
    assert sizes == {"0": 9, "1": 3}  # 120 weights, and 41


def test_a_branch_has_the_moments_of_its_parent_and_its_own(session: sv.Session) -> None:
    session.advance(20)
    session.seek(10)
    session.edit(session.network.layers[0].perceptrons[0].weights[0], 5.0)
    session.advance(10)
    steps = list(range(21))
    seen = over_time_of(session, steps, filled(session, steps[:-1]))
    assert seen.steps.tolist() == steps
    assert abs(seen.tiles[0, 10]) < 5.0 <= seen.tiles[0, 11] + 0.5
    values = trail(10)
    assert np.array_equal(seen.tiles[:, :11], values[:11].T)
    assert np.array_equal(seen.tiles[:, 20], session.network.bank.value)


def test_filling_leaves_the_session_where_it_is(session: sv.Session) -> None:
    session.advance(25)
    before = session.network.bank.value.copy(), session.timeline.here
    filled(session, [3, 7, 11])
    assert np.array_equal(session.network.bank.value, before[0])
    assert session.timeline.here is before[1]


def test_a_past_that_takes_too_long_or_too_much_memory_is_not_filled(
    monkeypatch: pytest.MonkeyPatch, session: sv.Session
) -> None:
    session.advance(2000)
    monkeypatch.setattr("scalarviz.training.session.over_time.LONGEST", 0.0)
    assert filled(session, [100, 200]).moments == {}
    monkeypatch.setattr("scalarviz.training.session.over_time.LONGEST", 10.0)
    monkeypatch.setattr("scalarviz.training.session.over_time.ROOM", 8 * 17 * 5)
    past = FilledPast(session)
    assert past.steps(session.timeline.branch, 0, 2000) == [0, 500, 1000, 1500, 2000]
    past.background.complete()
    assert [now.step for now in past.moments[session.timeline.branch]] == [0, 500, 1000, 1500, 2000]


def test_shared_weights_belong_to_one_layer_and_a_function_has_one_group() -> None:
    network = sv.Network([2, 3, 1], seed=0)
    layers = layers_of(network.program, len(network.bank))
    assert sorted(np.concatenate([rows for _, rows in layers]).tolist()) == list(range(13))
    weight = sv.Value(2.0)
    f = sv.compile(lambda x: weight * x, inputs=1)
    (only,) = layers_of(f.program, len(f.bank))
    assert only[0] == "" and only[1].tolist() == [0]


@pytest.mark.parametrize(("copy", "least", "most"), [(0.0, 60, 60), (0.004, 8, 9), (0.05, 4, 5)])
def test_keyframes_of_a_large_network_take_a_tenth_of_the_time_and_a_replay_less_than_100_ms(
    copy: float, least: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step takes 6 ms here, and a keyframe `copy` seconds."""
    clock = SimpleNamespace(now=0.0)
    frame_of = timeline.Frame.of

    def passed(seconds: float, result: Any = None) -> Any:
        clock.now += seconds
        return result

    s = sv.Session(sv.Network([2, 3, 1], seed=0), sv.data.Xor())
    steps = s.timeline.trainer.run.steps
    slow = lambda *given: passed(0.006, steps(*given))  # noqa: E731
    monkeypatch.setattr(s.timeline.trainer.run, "steps", slow)
    monkeypatch.setattr(timeline, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    of = SimpleNamespace(of=lambda *given: passed(copy, frame_of(*given)))
    monkeypatch.setattr(timeline, "Frame", of)
    s.advance(60)
    assert least <= len(s.timeline.branch.frames) - 1 <= most
    end = bits(s)
    s.back(17)
    s.advance(17)
    assert bits(s) == end


@pytest.mark.slow
def test_a_million_steps_take_no_more_memory_than_the_keyframes_may() -> None:
    session = advanced(made(memory=2**20), 1_000_000)
    assert session.timeline.keyframes.used <= 2**20
    steps = sorted({*np.linspace(0, 1_000_000, 400).astype(int).tolist()})
    seen = over_time_of(session, steps, filled(session, steps[:-1]))
    assert seen.tiles.shape[0] == 17 and len(seen.steps) <= 400
    twin = advanced(made(), int(seen.steps[200]))
    assert np.array_equal(seen.tiles[:, 200], twin.network.bank.value)


def test_the_tile_of_a_weight_is_known() -> None:
    session = advanced(made(hidden=40), 10)
    seen = over_time_of(session, [0, 10], most=12)
    for row in (0, 57, 160):
        assert row in seen.rows_of(seen.tile_with(row))
