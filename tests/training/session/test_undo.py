"""`undo` and `redo` of a session."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OrderError
from tests.sessions import reloaded
from tests.wording import refused

DATA = ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.0], [1.0], [1.0], [0.0]])


@pytest.fixture
def session() -> sv.Session:
    net = sv.Network([2, 3, 1], "tanh", seed=1)
    return sv.Session(net, DATA, "mse", sv.SGD(0.5), batch=2, engine="python")


def state(session: sv.Session) -> tuple[Any, ...]:
    bank = session.network.bank
    clock = session.timeline.clock
    return clock.place, bank.value.tobytes(), bank.frozen.tobytes(), session.learning_rate


def test_an_undo_goes_back_to_the_moment_before_a_change_and_a_redo_to_the_one_after(
    session: sv.Session,
) -> None:
    session.advance(3)
    session.advance(4, "operation")
    before = state(session)
    session.edit(0, 9.0)
    after = state(session)
    session.undo()
    assert state(session) == before and len(session.branches) == 1
    session.redo()
    assert state(session) == after and len(session.branches) == 1


def test_every_kind_of_change_is_undone_and_done_again(session: sv.Session) -> None:
    session.advance(2)
    states = [state(session)]
    session.edit([1, 2], [0.5, -0.5])
    states.append(state(session))
    session.freeze(session.network.layers[0])
    states.append(state(session))
    session.optimizer = sv.Adam(0.01)
    states.append(state(session))
    session.learning_rate = 0.125
    states.append(state(session))
    session.set_activation(0, "relu")
    states.append(state(session))
    session.network.bank.value[4] = 3.0  # written into the bank
    session.advance(0)
    assert session.data is not None
    session.undo()
    assert state(session) == states[5]
    for expected in reversed(states[:5]):
        session.undo()
        assert state(session) == expected
    with refused(OrderError, "nothing to undo"):
        session.undo()
    for expected in states[1:]:
        session.redo()
        assert state(session) == expected
    session.redo()
    assert session.network.bank.value[4] == 3.0
    with refused(OrderError, "nothing to redo"):
        session.redo()


def test_a_reset_and_the_choice_of_a_branch_are_undone(session: sv.Session) -> None:
    session.advance(4)
    trained = state(session)
    session.reset()
    session.advance(2)
    session.switch(0)
    session.undo()
    assert session.current_branch.number == 1 and session.step_index == 2
    session.undo()
    assert state(session) == trained and session.current_branch.number == 0
    session.redo()
    assert session.current_branch.number == 1 and session.step_index == 0


def test_a_change_ends_what_could_be_done_again(session: sv.Session) -> None:
    session.edit(0, 1.0)
    session.undo()
    session.edit(0, 2.0)
    with refused(OrderError, "nothing to redo"):
        session.redo()


Change = Callable[[sv.Session, random.Random], object]
CHANGES: list[Change] = [
    lambda s, chance: s.edit(chance.randrange(13), chance.uniform(-1, 1)),
    lambda s, chance: s.freeze(chance.randrange(13), chance.random() < 0.5),
    lambda s, chance: setattr(s, "learning_rate", chance.uniform(0.01, 1)),
    lambda s, chance: s.set_rate(
        chance.sample(range(13), 3), chance.choice([None, 0.0, chance.uniform(0.01, 1)])
    ),
    lambda s, chance: setattr(s, "optimizer", chance.choice([sv.SGD(0.3), sv.Adam(0.05)])),
    lambda s, chance: setattr(s, "loss_function", chance.choice(["mse", "mae"])),
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


def test_all_that_a_user_does_is_undone_done_again_saved_and_replayed(
    session: sv.Session, tmp_path: Path
) -> None:
    for seed in range(25):
        chance, s = random.Random(seed), session.copy()
        log = s.undo_log
        for _ in range(25):
            before = state(s)
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
                assert state(s) == before
        here, now, data = s.timeline.clock, state(s), s.data.training
        for each in (s, reloaded(s, tmp_path)):
            each.timeline.restore(0)
            each.timeline.go(here)
            each.timeline.remember()
            assert state(each) == now, seed
            assert [rows.tolist() for rows in each.data.training] == [
                rows.tolist() for rows in data
            ]


def test_random_changes_with_undo_and_redo_lead_where_a_replay_leads(session: sv.Session) -> None:
    for seed in range(40):
        chance = random.Random(seed)
        session.reset()
        for _ in range(30):
            match chance.randrange(8):
                case 0:
                    session.advance(chance.randrange(4))
                case 1:
                    session.advance(chance.randrange(9), "operation")
                case 2:
                    session.back(chance.randrange(4))
                case 3:
                    session.edit(chance.randrange(13), chance.uniform(-1, 1))
                case 4:
                    session.learning_rate = chance.uniform(0.01, 1)
                case 5:
                    session.freeze(chance.randrange(13), chance.random() < 0.5)
                case 6 if session.undo_log.done:
                    session.undo()
                case 7 if session.undo_log.undone:
                    session.redo()
            here, now = session.timeline.clock, state(session)
            session.timeline.restore(0)
            session.timeline.go(here)
            session.timeline.remember()
            assert state(session) == now, seed


def test_an_undo_keeps_the_moment_where_another_branch_begins(
    session: sv.Session, tmp_path: Path
) -> None:
    session.advance(3)
    session.edit(0, 1.0)
    session.branch()
    session.undo()
    session.undo()
    there = state(session)
    loaded = reloaded(session, tmp_path)
    assert state(loaded) == there and len(loaded.branches) == len(session.branches)


def test_what_no_user_did_is_not_undone_and_ends_nothing(session: sv.Session) -> None:
    session.edit(0, 1.0)
    session.undo()
    with session.undo_log.off():
        session.learning_rate = 0.125
    session.redo()
    assert session.network.bank.value[0] == 1.0
    session.undo()
    with refused(OrderError, "nothing to undo"):
        session.undo()


def test_one_undo_takes_back_one_of_two_changes_that_wait_for_the_next_step(
    session: sv.Session,
) -> None:
    session.advance(4, "operation")
    session.set_activation(0, "relu")
    session.learning_rate = 0.05
    session.advance(2)

    def shown() -> tuple[str, float]:
        session.advance(max(0, 2 - session.step_index))
        return session.network.activations[0], session.learning_rate

    session.undo()
    assert shown() == ("relu", 0.5)
    session.undo()
    assert shown() == ("tanh", 0.5)
    session.redo()
    assert shown() == ("relu", 0.5)
    session.redo()
    assert shown() == ("relu", 0.05)
