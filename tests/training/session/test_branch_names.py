"""Names of branches: given by users, or made of what began the branch."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, InputError
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.session.branches import DID
from scalarviz.training.session.trainer import CHANGES, WRITES
from tests.sessions import advanced
from tests.wording import refused


def session() -> sv.Session:
    """A session with a branch from step 2."""
    net = sv.Network([3, 4, 3], "tanh", seed=0)
    s = sv.Session(net, data.Rgb(levels=3), optimizer=sv.SGD(0.1), batch=5, engine="python")
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
    "rate 0.02 of 16 weights": lambda s: s.set_rate(s.network.layers[0], 0.02),
    "no own rate of weight 3": lambda s: s.set_rate(3, None),
    "adam, rate 0.01, l2 0.5": lambda s: setattr(s, "optimizer", sv.Adam(0.01, l2=0.5)),
    "data rgb sepia": lambda s: setattr(s, "data", data.Rgb("sepia", levels=3)),
    "2 samples added": lambda s: s.add_samples([[0, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 0, 0]]),
    "loss huber": lambda s: setattr(s, "loss_function", "huber"),
    "batch 2": lambda s: setattr(s, "batch", 2),
    "batch of all": lambda s: setattr(s, "batch", None),
    "engine cpu, mixed": lambda s: s.to("cpu", "mixed"),
    "relu in layer 0": lambda s: s.set_activation(0, "relu"),
    "stops when loss < 0.001": lambda s: s.stop_when("loss < 0.001"),
    "no stops any more": lambda s: s.stop_when(),
    "numbers written": lambda s: s.network.train_step([0, 0, 1.0], [1, 1, 0.0]),
}


@pytest.mark.parametrize("did", DEEDS)
def test_a_branch_is_called_after_what_began_it(did: str) -> None:
    s = session()
    s.seek(1)
    DEEDS[did](s)
    s.branches  # noqa: B018  # what was written into the bank is noticed with the next call
    s.advance(1)
    assert s.current_branch.name == f"from step 1: {did}"


def test_every_kind_of_action_has_its_words() -> None:
    assert {*DID} == {*WRITES, *CHANGES}


def test_several_changes_are_told_shortly() -> None:
    s = session()
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


def test_what_was_asked_within_a_step_tells_its_place() -> None:
    s = session()
    s.seek(1)
    s.advance(3, "operation")
    s.batch = 2
    s.edit(4, 0.5)
    s.advance(2)
    s.batch = 3  # later: not what began it
    assert s.current_branch.name == "from step 1 + 3: weight 4 = 0.5, batch 2"


def test_a_name_is_given_undone_and_done_again() -> None:
    s = advanced(session(), 4)
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


def test_a_branch_begins_with_a_name_and_is_found_by_it() -> None:
    s = session()
    s.branch("mine")
    s.learning_rate = 0.5
    assert s.current_branch.name == "mine"
    s.switch("from the start")
    assert s.current_branch.number == 0
    s.switch("mine")
    assert s.current_branch.number == 2
    s.branches[0].name = "mine"
    with refused(InputError, "0, 2"):
        s.switch("mine")
    for unknown in ("yours", 3, -1):
        with refused(InputError, unknown):
            s.switch(unknown)
    count = len(s.branches)
    with refused(InputError, "x\\ny"):
        s.branch("x\ny")
    assert len(s.branches) == count


@pytest.mark.parametrize(
    "name", [None, 3, "x" * 61, "a\u202eb", "a\nb", "a\0", "\ud800", "a\u2800"]
)
def test_a_name_that_cannot_be_read_is_refused(name: Any) -> None:
    s = session()
    with refused(InputError):
        s.branches[1].name = name
    assert s.branches[1].name == "from step 2: rate 0.3"
    assert len(s.undo_log.done) == 1


@pytest.mark.parametrize("name", [None, 3, ["x"], {}, "x" * 61, "a\u202eb", "a\nb", "\0"])
def test_a_file_with_another_name_is_refused(name: Any, tmp_path: Path) -> None:
    session().save(tmp_path / "run")
    description, arrays = read(tmp_path / "run", "run")
    description["branches"][1]["name"] = name
    write(tmp_path / "run", "run", description, arrays)
    with refused(FileError, "name"):
        sv.Session.load(tmp_path / "run")


@pytest.mark.slow
def test_a_branch_outlives_its_session_and_keeps_it_not() -> None:
    s = session()
    branch, timeline = s.branches[1], ref(s.timeline)
    del s
    gc.collect()
    assert timeline() is None
    branch.name = "left"
    assert branch.name == "left"
