"""`undo` and `redo` of a session."""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.branches import Clock
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


@pytest.mark.parametrize("apart", [0, 2])
def test_what_is_still_undone_does_not_come_back_after_a_redo(
    session: sv.Session, apart: int
) -> None:
    session.advance(2)
    session.learning_rate = 0.25
    session.advance(apart)
    session.batch = 1
    session.advance(3)
    session.undo()
    session.undo()
    session.redo()
    assert (session.learning_rate, session.batch) == (0.25, 2)
    session.advance(8)
    assert (session.learning_rate, session.batch) == (0.25, 2)
    session.redo()
    assert (session.learning_rate, session.batch) == (0.25, 1)


@pytest.mark.parametrize("begin", [sv.Session.branch, sv.Session.reset])
def test_what_was_undone_before_another_change_does_not_come_back(
    session: sv.Session, begin: Callable[[sv.Session], object]
) -> None:
    session.advance(1)
    begin(session)
    session.freeze(2)
    session.advance(1)
    session.undo()
    session.edit(1, 0.2)
    session.undo()
    session.undo()
    session.redo()
    session.advance(1)
    assert not session.network.bank.frozen[2]


def test_what_waited_with_a_change_that_is_done_again_waits_in_a_new_branch(
    session: sv.Session,
) -> None:
    session.advance(4, "operation")
    session.batch = 1
    session.edit(0, 0.5)
    session.advance(2)
    session.undo()
    session.redo()
    session.learning_rate = 0.05
    session.advance(2)
    assert (session.batch, session.learning_rate) == (1, 0.05)


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
    """A change that no other one is equal to; an edit where others wait for the next step."""
    row, number, count = chance.randrange(rows), chance.uniform(0.01, 1), chance.randrange(1, 5)
    changes: list[Act] = [
        lambda s: s.edit(row, number),
        lambda s: setattr(s, "learning_rate", number),
        lambda s: setattr(s, "batch", count),
    ]
    return changes[0] if waits else chance.choice(changes)


def grown_at(line: Line, make: Callable[[], sv.Session], clock: Clock) -> sv.Session:
    """A straight training with a neuron more from a moment on."""
    return sv.add_neurons(line.replayed(make, clock), 0)


@pytest.mark.some(60)
@pytest.mark.parametrize("seed", range(1500))
def test_random_sequences_lead_where_a_straight_training_leads(
    session: sv.Session, seed: int
) -> None:
    chance, s, line, now = random.Random(seed), session.copy(), Line(), Clock()
    make: Callable[[], sv.Session] = session.copy
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
        assert state(s) == state(straight := line.replayed(make, now)), seed
        assert s.batch == straight.batch, seed
