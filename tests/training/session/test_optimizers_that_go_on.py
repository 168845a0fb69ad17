"""Another optimizer of a session: whether it goes on with the slots and the count of steps."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, UnknownAttributeError
from tests.sessions import advanced, reloaded
from tests.wording import refused

COSINE = sv.Schedule("cosine", steps=50)


def session(optimizer: sv.Optimizer, engine: str = "python") -> sv.Session:
    net = sv.Network([2, 4, 1], "tanh", seed=0, dtype="float64")
    return advanced(sv.Session(net, data.Xor(), "mse", optimizer, engine=engine), 5)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sv.Adam(0.05), sv.Adam(0.05, l2=0.1)),
        (sv.Adam(0.05), sv.AdamW(0.02)),
        (sv.Momentum(0.1, l1=0.2), sv.Nesterov(0.1)),
        (sv.SGD(0.1, schedule=COSINE), sv.SGD(0.2, schedule=COSINE, clip_norm=1.0)),
    ],
)
def test_equal_slots_and_schedules_go_on(before: sv.Optimizer, after: sv.Optimizer) -> None:
    s = session(before)
    slots = {name: block.copy() for name, block in s.network.bank.blocks.items()}
    assert all(block.any() for names, block in slots.items() if names)
    s.optimizer = after
    assert s.network.bank.step_count == 5
    assert {name: b.tobytes() for name, b in s.network.bank.blocks.items()} == {
        name: b.tobytes() for name, b in slots.items()
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (sv.Adam(0.05), sv.RMSProp(0.05)),
        (sv.Adam(0.05), sv.Adam(0.05, schedule=COSINE)),
        (sv.SGD(0.1, schedule=COSINE), sv.SGD(0.1)),
    ],
)
def test_others_begin_anew(before: sv.Optimizer, after: sv.Optimizer) -> None:
    s = session(before)
    s.optimizer = after
    assert s.network.bank.step_count == 0
    assert not any(block.any() for block in s.network.bank.blocks.values())


def test_a_penalty_changes_the_next_step_by_itself_alone() -> None:
    plain, pulled = session(sv.Momentum(0.1)), session(sv.Momentum(0.1))
    before = pulled.network.bank.value.copy()
    pulled.optimizer = sv.Momentum(0.1, l2=0.5)
    plain.advance()
    pulled.advance()
    expected = plain.network.bank.value - 0.1 * 0.5 * before
    np.testing.assert_allclose(pulled.network.bank.value, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_it_is_replayed_saved_and_undone(engine: str, tmp_path: Path) -> None:
    s = session(sv.Adam(0.05), engine)
    s.optimizer = sv.Adam(0.05, l1=0.01)
    s.advance(4)
    s.optimizer = sv.Momentum(0.05)
    s.advance(4)
    end = s.network.bank.value.tobytes()
    for again in (s, reloaded(s, tmp_path)):
        again.seek(2)
        again.seek(13)
        assert again.network.bank.value.tobytes() == end
    s.undo()
    s.undo()
    assert (s.step_index, s.optimizer.l1) == (5, 0.0)


def test_what_waits_for_the_next_step_counts_as_done() -> None:
    s = advanced(session(sv.Adam(0.05)), 3, "operation")
    s.optimizer = sv.RMSProp(0.05)
    s.optimizer = sv.Adam(0.05)
    s.advance()
    s.advance(1, "operation")
    assert s.network.bank.step_count == 0


def test_a_run_of_an_earlier_version_begins_anew(tmp_path: Path) -> None:
    s = session(sv.Adam(0.05))
    s.timeline.note("optimizer", {"optimizer": sv.Adam(0.05, l2=0.1)})
    assert s.network.bank.step_count == 0
    s.advance(3)
    end = s.network.bank.value.tobytes()
    again = reloaded(s, tmp_path)
    again.seek(3)
    again.seek(8)
    assert again.network.bank.value.tobytes() == end


def test_a_wrong_mark_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    s = session(sv.Adam(0.05))
    s.optimizer = sv.Adam(0.05, l2=0.1)
    s.branches[0].journal[-1].details["goes_on"] = 1  # type: ignore[index]  # on purpose
    s.save(tmp_path / "run")
    with refused(FileError, "goes_on is 1"):
        sv.Session.load(tmp_path / "run")


def test_a_session_names_the_way_to_unfreeze_and_to_pull() -> None:
    s = session(sv.SGD(0.1))
    with refused(UnknownAttributeError, "unfreeze"):
        s.unfreeze  # type: ignore[attr-defined]  # noqa: B018
    with refused(UnknownAttributeError, "weight_decay"):
        s.weight_decay = 0.1  # type: ignore[attr-defined]  # on purpose
