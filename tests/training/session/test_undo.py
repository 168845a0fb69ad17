"""Undo, and what can be undone: another loss, another batch, learning rates of layers."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.core.optimizer import NO_OWN_RATES
from scalarviz.engines.cuda.device_memory import set_optimizer
from scalarviz.errors import (
    EngineError,
    FileError,
    InputError,
    OrderError,
    ReadOnlyError,
    ShapeError,
    UnknownAttributeError,
    UnknownNameError,
)
from scalarviz.faces.controller.precompile import kind_of
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.session.branches import Clock
from tests.sessions import bits, reloaded, session_on
from tests.wording import refused

DATA = ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.0], [1.0], [1.0], [0.0]])


ENGINES = ("python", "cpu")


def of_xor(engine: str) -> sv.Session:
    return session_on(
        DATA, [2, 3, 1], "tanh", first=1, optimizer=sv.SGD(0.5), batch=2, engine=engine
    )


@pytest.fixture
def undo_session() -> sv.Session:
    return of_xor("python")


def test_an_undo_goes_back_to_the_moment_before_a_change_and_a_redo_to_the_one_after(
    undo_session: sv.Session,
) -> None:
    undo_session.advance(3)
    undo_session.advance(4, "operation")
    before = bits(undo_session)
    undo_session.edit(0, 9.0)
    after = bits(undo_session)
    undo_session.undo()
    assert bits(undo_session) == before and len(undo_session.branches) == 1
    undo_session.redo()
    assert bits(undo_session) == after and len(undo_session.branches) == 1
    undo_session.network.bank.value[4] = 3.0  # written into the bank
    undo_session.advance(0)
    undo_session.undo()
    assert bits(undo_session) == after


def test_a_reset_and_the_choice_of_a_branch_are_undone(undo_session: sv.Session) -> None:
    undo_session.advance(4)
    trained = bits(undo_session)
    undo_session.reset()
    undo_session.advance(2)
    undo_session.switch(0)
    undo_session.undo()
    assert undo_session.current_branch.number == 1 and undo_session.step_index == 2
    undo_session.undo()
    assert bits(undo_session) == trained and undo_session.current_branch.number == 0
    undo_session.redo()
    assert undo_session.current_branch.number == 1 and undo_session.step_index == 0


def test_a_change_ends_what_could_be_done_again(undo_session: sv.Session) -> None:
    undo_session.edit(0, 1.0)
    undo_session.undo()
    undo_session.edit(0, 2.0)
    refused(OrderError, "nothing to redo").by(undo_session.redo)


MAE = sv.Loss("mae", factor=2.0, mean="samples")
Change = Callable[[sv.Session, random.Random], object]
CHANGES: list[Change] = [
    lambda s, chance: s.edit(chance.randrange(13), chance.uniform(-1, 1)),
    lambda s, chance: s.freeze(chance.randrange(13), chance.random() < 0.5),
    lambda s, chance: setattr(s, "learning_rate", chance.uniform(0.01, 1)),
    lambda s, chance: s.set_rate(
        chance.sample(range(13), 3), chance.choice([None, 0.0, chance.uniform(0.01, 1)])
    ),
    lambda s, chance: setattr(
        s, "optimizer", chance.choice([sv.SGD(0.3), sv.Adam(0.05), sv.Adam(0.05, l1=0.01)])
    ),
    lambda s, chance: setattr(s, "loss_function", chance.choice(["mse", MAE])),
    lambda s, chance: setattr(s, "batch", chance.choice([None, 1, 3])),
    lambda s, chance: s.set_activation(0, chance.choice(["tanh", "relu", "sigmoid"])),
    lambda s, chance: s.add_samples([chance.random(), chance.random()], [chance.random()]),
    lambda s, chance: setattr(s, "data", DATA),
    lambda s, chance: s.stop_when(*chance.choice([(), ("loss < 0.0001",)])),
    lambda s, chance: setattr(s.current_branch, "name", chance.choice(["", "one", "two"])),
    lambda s, chance: s.branch(),
    lambda s, chance: s.switch(chance.randrange(len(s.branches))),
    lambda s, chance: s.reset(),
]


def test_all_that_a_user_does_is_undone_done_again_saved_and_replayed(tmp_path: Path) -> None:
    for seed in range(26):
        chance, s = random.Random(seed), of_xor(ENGINES[seed % 2])
        log = s.undo_log
        for _ in range(25):
            before = bits(s)
            try:
                match chance.randrange(4):
                    case 0:
                        s.advance(chance.randrange(1, 9), chance.choice(["operation", "step"]))
                    case 1 if s.step_index:
                        s.back(chance.randrange(min(4, s.step_index)))
                    case 2 if log.done:
                        chance.choice([s.undo, s.undo, s.redo] if log.undone else [s.undo])()
                    case _:
                        chance.choice(CHANGES)(s, chance)
            except InputError:  # a rate of three frozen weights
                assert bits(s) == before
        here, now, data = s.timeline.clock, bits(s), s.data.training
        for each in (s, reloaded(s, tmp_path)):
            each.timeline.restore(0)
            each.timeline.go(here)
            each.timeline.remember()
            assert bits(each) == now, seed
            assert [rows.tolist() for rows in each.data.training] == [
                rows.tolist() for rows in data
            ]


def test_what_no_user_did_is_not_undone_and_ends_nothing(undo_session: sv.Session) -> None:
    undo_session.edit(0, 1.0)
    undo_session.undo()
    with undo_session.undo_log.off():
        undo_session.learning_rate = 0.125
    undo_session.redo()
    assert undo_session.network.bank.value[0] == 1.0
    undo_session.undo()
    refused(OrderError, "nothing to undo").by(undo_session.undo)


def test_one_undo_takes_back_one_of_two_changes_that_wait_for_the_next_step(
    undo_session: sv.Session,
) -> None:
    undo_session.advance(4, "operation")
    undo_session.set_activation(0, "relu")
    undo_session.learning_rate = 0.05
    undo_session.advance(2)

    def shown() -> tuple[str, float]:
        undo_session.advance(max(0, 2 - undo_session.step_index))
        return undo_session.network.activations[0], undo_session.learning_rate

    undo_session.undo()
    assert shown() == ("relu", 0.5)
    undo_session.undo()
    assert shown() == ("tanh", 0.5)
    undo_session.redo()
    assert shown() == ("relu", 0.5)
    undo_session.redo()
    assert shown() == ("relu", 0.05)


@pytest.mark.parametrize("begin", [sv.Session.branch, sv.Session.reset])
def test_what_was_undone_before_another_change_does_not_come_back(
    undo_session: sv.Session, begin: Callable[[sv.Session], object]
) -> None:
    undo_session.advance(1)
    begin(undo_session)
    undo_session.freeze(2)
    undo_session.advance(1)
    undo_session.undo()
    undo_session.edit(1, 0.2)
    undo_session.undo()
    undo_session.undo()
    undo_session.redo()
    undo_session.advance(1)
    assert not undo_session.network.bank.frozen[2]


Act = Callable[[sv.Session], object]


@dataclass(frozen=True)
class Line:
    """A moment of a straight training: changes with the places where they were asked for.

    Of the changes, the first `done` ones lie behind, the others ahead.
    """

    changes: tuple[tuple[tuple[int, int], Act], ...] = ()
    done: int = 0
    place: tuple[int, int] = (0, 0)

    def at(self, place: tuple[int, int]) -> "Line":
        """The moment of arrival at a place."""
        return replace(self, done=sum(each[0] < place for each in self.changes), place=place)

    def changed(self, *acts: Act) -> "Line":
        """The moment after changes, or without what lies ahead."""
        made = [(self.place, act) for act in acts]
        changes = (*self.changes[: self.done], *made)
        return Line(changes, len(changes), self.place)

    def without(self, acts: set[Act]) -> "Line":
        """The same moment, on a branch of its own if one of these would lie ahead."""
        return self.changed() if acts & {act for _, act in self.changes} else self

    def replayed(self, make: Callable[[], sv.Session], clock: Clock) -> sv.Session:
        """A session that was never undone, at this moment, which has a clock."""
        session = make()
        for place, act in self.changes[: self.done]:
            if session.clock.place != place:
                session.timeline.go(Clock(*place))
            session.timeline.remember()
            act(session)
        session.timeline.go(clock)
        session.timeline.remember()
        return session


def change_of(chance: random.Random, rows: int, waits: bool) -> Act:
    """A change that no other one is equal to; of weights where others wait for the next step."""
    row, number, count = chance.randrange(rows), chance.uniform(0.01, 1), chance.randrange(1, 5)
    optimizer = chance.choice(
        [sv.Adam(0.05), sv.Adam(0.05, l1=0.01), sv.Momentum(0.1), sv.SGD(0.3)]
    )
    changes: list[Act] = [
        lambda s: s.edit(row, number),
        lambda s: s.freeze(row, count > 2),
        lambda s: setattr(s, "learning_rate", number),
        lambda s: setattr(s, "batch", count),
        lambda s: setattr(s, "optimizer", optimizer),
        lambda s: setattr(s, "loss_function", ["mse", "mae", "huber"][count % 3]),
        lambda s: s.set_activation(0, ["tanh", "relu", "sigmoid"][count % 3]),
        lambda s: s.set_rate(range(rows), number if count > 2 else None),
    ]
    return chance.choice(changes[: 2 if waits else None])


def grown_at(line: Line, make: Callable[[], sv.Session], clock: Clock) -> sv.Session:
    """A straight training with a neuron more from a moment on."""
    return sv.add_neurons(line.replayed(make, clock), 0)


@pytest.mark.some(30)
@pytest.mark.parametrize("seed", range(1500))
def test_random_sequences_lead_where_a_straight_training_leads(
    undo_session: sv.Session, seed: int
) -> None:
    chance, s, line, now = random.Random(seed), undo_session.copy(), Line(), Clock()
    make: Callable[[], sv.Session] = undo_session.copy
    done: list[tuple[Line, Line, set[Act]]] = []  # before a change, after it, and what it does
    undone: list[tuple[Line, Line, set[Act]]] = []
    for _ in range(25):
        match chance.randrange(9):
            case 0 | 1:
                s.advance(chance.randrange(1, 5), chance.choice(["step", "operation"]))
                line = line.at(s.clock.place)
            case 2 if s.step_index:
                s.seek(chance.randrange(s.step_index))
                line = line.at(s.clock.place)
            case 3 | 4 if done:
                s.undo()
                before, after, acts = done.pop()
                if acts:
                    after = replace(line, done=after.done, place=after.place)
                undone.append((before, after, acts))
                line = before.without(set().union(*(each[2] for each in undone)))
            case 5 | 6 if undone:
                s.redo()
                before, line, acts = undone.pop()
                done.append((before, line, acts))
                line = line.without(set().union(*(each[2] for each in undone)))
            case 7 if chance.random() < 0.3:
                s.branch()
                before, line = line, line.changed()
                done.append((before, line, set()))
                undone.clear()
            case 8 if chance.random() < 0.05:
                make = partial(grown_at, line, make, now)
                s, line = sv.add_neurons(s, 0), Line()
                done.clear()
                undone.clear()
            case _:
                act = change_of(chance, len(s.network.bank), s.clock.operation > 0)
                act(s)
                before, line = line, line.changed(act)
                done.append((before, line, {act}))
                undone.clear()
        now = s.timeline.clock
        assert bits(s) == bits(straight := line.replayed(make, now)), seed
        assert s.batch == straight.batch, seed


def inverting_session(
    engine: str = "python", output: str = "sigmoid", **options: Any
) -> sv.Session:
    options = {"batch": 8, "optimizer": sv.SGD(0.1)} | options
    return session_on(
        data.Rgb(levels=3), [3, 8, 3], "tanh", output, dtype="float64", engine=engine, **options
    )


WRONG: dict[str, Callable[[sv.Session], object]] = {
    "softmax_cross_entropy": lambda s: setattr(s, "loss_function", "softmax_cross_entropy"),
    "'hubr'": lambda s: setattr(s, "loss_function", "hubr"),
    "28": lambda s: setattr(s, "batch", 28),
    "not 0": lambda s: setattr(s, "batch", 0),
    "not 2.5": lambda s: setattr(s, "batch", 2.5),
    "True": lambda s: setattr(s, "batch", True),
    "'huber'": lambda s: setattr(s, "loss", "huber"),
    "batch_size": lambda s: setattr(s, "batch_size", 4),
    "criterion": lambda s: setattr(s, "criterion", "mae"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused_in_one_sentence(wrong: str) -> None:
    s = inverting_session()
    kinds = InputError, UnknownNameError, ReadOnlyError, UnknownAttributeError
    with pytest.raises(kinds) as caught:
        WRONG[wrong](s)
    refused(type(caught.value)).by(WRONG[wrong], s)
    assert not s.current_branch.journal and (s.loss_function.name, s.batch) == ("mse", 8)


def test_class_labels_are_checked_for_a_new_loss() -> None:
    s = session_on(([[0.0, 1.0], [1.0, 0.0]], [0.0, 2.0]), [2, 4, 1])
    with refused(InputError, "2"):
        s.loss_function = "sigmoid_cross_entropy"
    assert s.loss_function.name == "mse"


def test_the_precision_is_a_setting_of_the_engine() -> None:
    s = sv.Session(sv.Network([3, 3], seed=0), data.Rgb(levels=3), engine="cpu")
    s.precision = "mixed"
    assert s.precision.mixed and s.engine == "cpu"
    s.undo()
    assert not s.precision.mixed
    s.engine = "python"
    with refused(EngineError, "mixed"):
        s.precision = "mixed"


def test_kernels_of_all_its_losses_belong_to_what_it_needs() -> None:
    s = inverting_session("cpu")
    before = kind_of(s, "cpu")
    s.advance(2)
    s.loss_function = "mae"
    s.advance(2)
    both = kind_of(s, "cpu")
    assert both != before
    s.loss_function = "mse"
    assert kind_of(s, "cpu") == both


@pytest.fixture
def cubed() -> str:
    def cubed(p: float, t: float) -> float:
        return abs(p - t) ** 3.0

    return sv.loss(cubed)


def test_a_file_names_a_loss_of_ones_own_that_came_later(cubed: str, tmp_path: Path) -> None:
    s = inverting_session()
    s.loss_function = cubed
    s.advance(2)
    s.save(tmp_path / "run")
    row = LOSSES.pop("cubed")
    refused(FileError, "cubed").by(sv.Session.load, tmp_path / "run")
    LOSSES["cubed"] = row
    assert sv.Session.load(tmp_path / "run").loss_function.name == "cubed"


DETAILS: dict[str, tuple[str, Any]] = {
    "no loss": ("loss", {"loss": "mse"}),
    "an unknown loss": ("loss", {"loss": {"loss": {"name": "hubr"}}}),
    "a loss on logits": ("loss", {"loss": {"loss": {"name": "softmax_cross_entropy"}}}),
    "a text": ("batch", {"size": "8"}),
    "no samples": ("batch", {"size": 0}),
    "a truth": ("batch", {"size": True}),
}


@pytest.mark.parametrize("what", DETAILS)
def test_a_file_with_wrong_details_is_refused(what: str, tmp_path: Path) -> None:
    s = inverting_session()
    s.loss_function, s.batch = "huber", 4
    s.save(tmp_path / "run")
    description, arrays = read(tmp_path / "run", "run")
    kind, details = DETAILS[what]
    description["branches"][0]["journal"][("loss", "batch").index(kind)][3] = details
    write(tmp_path / "run", "run", description, arrays)
    refused(FileError, kind).by(sv.Session.load, tmp_path / "run")


OPTIMIZERS = (
    sv.SGD(0.1),
    sv.Momentum(0.1, schedule=sv.Schedule("cosine", steps=50)),
    sv.Adam(0.02, l2=0.01, clip_norm=0.5),
    sv.AdamW(0.02),
)


def session_with_rates(engine: str = "python", optimizer: sv.Optimizer | None = None) -> sv.Session:
    return inverting_session(engine, optimizer=optimizer)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: o.name)
def test_engines_agree_on_own_rates(engine: str, optimizer: sv.Optimizer) -> None:
    sessions = [session_with_rates(name, optimizer) for name in ("python", engine)]
    for s in sessions:
        s.advance(2)
        s.set_rate(s.network.layers[1], 0.3)
        s.set_rate([1, 5, 6, 30], 0.001)
        s.set_rate(7, 0.0)
        s.advance(5)
        s.freeze([5, 28])
        s.set_rate(30, None)
        s.advance(5)
    one, other = [s.network.bank.value for s in sessions]
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_rates_after_any_changes_are_those_of_an_array(rng: np.random.Generator) -> None:
    rates, wanted = NO_OWN_RATES, np.full(40, np.nan)
    for _ in range(300):
        rows = rng.integers(0, 40, rng.integers(1, 30))
        rate = [None, 0.0, 0.25, 0.5][rng.integers(4)]
        before = rates
        rates = before.changed(rows, rate)
        wanted[rows] = np.nan if rate is None else rate
        for count in (0, 3, 40, 50):
            whole = np.concatenate([wanted, np.full(10, np.nan)])[:count]
            np.testing.assert_array_equal(rates.at(np.arange(count)), whole)
        own = ~np.isnan(wanted)
        assert len(rates) == own.sum() and bool(rates) == own.any()
        one = rates.of(7)
        assert one == wanted[7] if own[7] else one is None
        again = rates.changed(rows, rate)
        assert (again == rates, hash(again) == hash(rates)) == (True, True)
        several = before.at(np.arange(50)).tobytes() != rates.at(np.arange(50)).tobytes()
        assert (before != rates) is several


SLOW: dict[str, dict[str, float]] = {"2": {"lr": 0.003}, "2.bias": {"lr": 0.0}}
# Optimizers with groups, and the class and settings of PyTorch; decays of the arrays, in order.
IN_GROUPS: dict[str, tuple[sv.Optimizer, str, dict[str, float], list[float]]] = {
    "momentum": (
        sv.Momentum(0.02, l2=0.1, groups=SLOW),
        "SGD",
        {"lr": 0.02, "momentum": 0.9},
        [0.1] * 6,
    ),
    "adam": (sv.Adam(0.02, groups=SLOW), "Adam", {"lr": 0.02}, [0.0] * 6),
    "adamw": (
        sv.AdamW(0.02, decay=0.3, groups={**SLOW, "vectors": {"decay": 0.0}}),
        "AdamW",
        {"lr": 0.02},
        [0.3, 0.0, 0.0, 0.0, 0.3, 0.0],
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", IN_GROUPS)
def test_groups_are_those_of_pytorch(kind: str, engine: str) -> None:
    torch = pytest.importorskip("torch", reason="make test-all installs PyTorch")
    made, theirs, settings, decays = IN_GROUPS[kind]
    layers = [sv.Dense(3, 8, "tanh"), sv.LayerNorm(8), sv.Dense(8, 2)]
    net = sv.Network(layers, seed=0, dtype="float64", engine=engine)
    module, rates = net.to_torch(), [0.02, 0.02, 0.02, 0.02, 0.003, 0.0]
    own = zip(module.parameters(), rates, decays, strict=True)
    groups = [{"params": [p], "lr": rate, "weight_decay": decay} for p, rate, decay in own]
    optimizer = getattr(torch.optim, theirs)(groups, **settings)
    x, y = np.random.default_rng(0).random((2, 20, 3))
    s = sv.Session(net.copy(), (x, y[:, :2]), "mse", made, batch=None, engine=engine)
    for _ in range(20):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(module(torch.tensor(x)), torch.tensor(y[:, :2])).backward()
        optimizer.step()
        net.train_step(x, y[:, :2], "mse", made)
    s.advance(20)
    weights = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()])
    assert np.abs(weights - net.bank.value).max() < 1e-12
    assert np.array_equal(s.network.bank.value, net.bank.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_another_optimizer_brings_its_groups(engine: str, tmp_path: Path) -> None:
    s = session_with_rates(engine, sv.AdamW(0.02, groups={"0": {"lr": 0.1, "decay": 9.0}}))
    s.advance(2)
    s.optimizer = sv.AdamW(0.02, decay=0.5, groups={"*.bias": {"decay": 0.25}})
    s.advance(2)
    assert (s.own_rate("0"), s.own_rate("1")) == (0.1, None)
    weights = s.network.layers[1].perceptrons[0]
    before = [weights.weights[0].value, weights.bias.value]
    s.advance()
    lines = [str(s.explain(w)) for w in (weights.weights[0], weights.bias)]
    for line, value, decay in zip(lines, before, (0.5, 0.25), strict=True):
        assert f"w = w - lr * decay * w = {value * (1.0 - 0.02 * decay):.6g}" in line
    s.save(tmp_path / "run")
    loaded = sv.Session.load(tmp_path / "run")
    loaded.seek(1)
    loaded.seek(5)
    assert np.array_equal(loaded.network.bank.value, s.network.bank.value)
    assert (repr(loaded.optimizer), loaded.own_rate("0")) == (repr(s.optimizer), 0.1)


def test_groups_that_cannot_be_are_refused() -> None:
    refused(InputError, "params").by(sv.AdamW, groups=[{"params": 1}])
    refused(UnknownNameError, "decay").by(sv.Adam, groups={"0": {"decay": 0.1}})
    refused(InputError, "-1").by(sv.Adam, groups={"0": {"lr": -1}})
    bad = sv.SGD(groups={"7.weight": {"lr": 0.1}})
    refused(UnknownNameError, "7.weight").by(session_with_rates, "python", bad)
    refused(InputError, "7.weight").by(sv.Weight(1.0).step, bad)
    groups = sv.AdamW(groups={"0": {"decay": 0.0}}).on(lambda names: [0])
    refused(EngineError, "cuda").by(set_optimizer, {}, np.zeros(1), groups)


def test_a_rate_that_no_step_could_use_is_refused() -> None:
    s = session_with_rates()
    s.freeze(s.network.layers[0])
    refused(InputError, "Dense", "frozen").by(s.set_rate, s.network.layers[0], 0.1)
    s.set_rate(s.network.layers[0], None)
    for rate in (-0.1, float("nan"), float("inf"), "0.1"):
        refused(InputError, str(rate)).by(s.set_rate, 40, rate)
    refused(ShapeError, "99").by(s.set_rate, 99, 0.1)
    assert [action.kind for action in s.current_branch.journal] == ["freeze", "own rate"]


def test_the_rate_of_a_layer_is_that_of_all_its_weights() -> None:
    s = session_with_rates()
    first, second = s.network.layers
    assert s.own_rate(first) is None
    s.set_rate(first, 0.2)
    assert (s.own_rate(first), s.own_rate(first.perceptrons[1]), s.own_rate(second)) == (
        *(0.2, 0.2),
        None,
    )
    s.set_rate(first.perceptrons[1], 0.3)
    assert np.isnan(s.own_rate(first))
    assert s.own_rate(first.perceptrons[1]) == 0.3
    assert np.isnan(s.own_rate([0, 58]))
    refused(ShapeError, "99").by(s.own_rate, [0, 99])


def test_an_optimizer_taken_from_a_session_has_no_rates_of_its_weights() -> None:
    s = session_with_rates()
    s.set_rate(0, 0.5)
    assert not s.optimizer.own_rates
    other = sv.Session(sv.Network([2, 1], seed=0), data.Xor(), optimizer=s.optimizer)
    assert other.own_rate(0) is None
