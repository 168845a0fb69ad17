"""The tour of the first step."""

from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.controller import tour
from scalarviz.controller.tour import OPENING, OPERATION, Tour


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tour, "cache_folder", lambda: tmp_path)


@pytest.fixture
def session() -> sv.Session:
    net = sv.Network([2, 2, 1], "tanh", seed=0)
    data = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]
    return sv.Session(net, data, optimizer=sv.SGD(0.5), engine="python")


def test_the_tour_goes_through_one_step_operation_by_operation(session: sv.Session) -> None:
    going = Tour(session, None)
    assert going.active and not going.attend(0.0) and session.step_index == 0
    assert not going.attend(OPENING - 0.1) and not session.clock.operation
    now, done = OPENING, []
    while not going.attend(now):
        done.append(session.done)
        now += OPERATION
    assert list(dict.fromkeys(done)) == session.operations
    assert session.step_index == 1 and not session.clock.operation and not going.active


def test_it_is_shown_once_on_a_machine_unless_somebody_asks(session: sv.Session) -> None:
    Tour(session, None).skip()
    session.seek(0)
    assert not Tour(session, None).active
    assert Tour(session, True).active and not Tour(session, False).active


def test_skipping_finishes_the_step(session: sv.Session) -> None:
    going = Tour(session, True)
    going.attend(0.0)
    going.attend(OPENING)
    going.attend(OPENING + OPERATION)
    assert session.clock.operation == 2
    going.skip()
    assert (session.step_index, session.clock.operation) == (1, 0) and not going.active
    going.skip()  # nothing more
    assert session.step_index == 1


def test_it_is_not_for_a_training_that_has_begun_nor_for_a_very_deep_network(
    session: sv.Session,
) -> None:
    session.advance(1)
    assert not Tour(session, None).active
    deep = sv.Network([2] * 30, "tanh", seed=0)
    s = sv.Session(deep, ([[0.0, 1.0]], [[1.0, 0.0]]), engine="python")
    assert not Tour(s, None).active


def test_a_cache_that_cannot_be_written_shows_it_again(
    session: sv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tour, "seen", lambda: Path("/nowhere/at/all"))
    Tour(session, None).skip()
    session.seek(0)
    assert Tour(session, None).active
