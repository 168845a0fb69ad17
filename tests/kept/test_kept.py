"""Files and links of earlier versions.

Networks load, runs replay bit for bit, links and scenes work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.training.session.actions import ACTIONS
from tests.kept.make_every_action import (
    EXPECTED,
    LINKS,
    MACHINE,
    RUN,
    every_action,
    numbers,
    numbers_now,
    opened,
)
from tests.kept.make_kept import FOLDER, SAMPLES, moments

EXPECTED_OF_0_1 = np.load(FOLDER / "expected.npz")
# Other versions of numpy, or another processor, may round otherwise.
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


# The file has conditions that are gone.
pytestmark = pytest.mark.filterwarnings("ignore:the training no longer stops at:UserWarning")


@pytest.fixture
def s() -> sv.Session:
    return sv.Session.load(RUN)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_kept_network_computes_what_it_did(engine: str) -> None:
    net = sv.load(FOLDER / "network.safetensors", engine=engine)
    np.testing.assert_allclose(net(SAMPLES), EXPECTED_OF_0_1["outputs"], **CLOSE)


def test_a_kept_run_replays_to_its_weights_at_every_step() -> None:
    found = moments(sv.Session.load(FOLDER / "run.safetensors"))
    assert len(found) == 2
    for branch, values in found.items():
        np.testing.assert_allclose(values, EXPECTED_OF_0_1[branch], **CLOSE)


def test_a_kept_run_goes_on() -> None:
    s = sv.Session.load(FOLDER / "run.safetensors")
    before = s.step_index
    s.advance(3)
    assert s.step_index == before + 3
    assert np.isfinite(s.loss)


def test_a_kept_scene_trains(run: Any) -> None:
    code, out, _ = run("train", str(FOLDER / "xor_scene.py"), "--steps", "20")
    assert code == 0 and "20" in out


KEPT = dict(np.load(EXPECTED))


def assert_kept(found: Mapping[str, np.ndarray], what: str = "") -> None:
    """Compare arrays with the kept ones, bit for bit on a machine of the kind that made them."""
    for name, array in found.items():
        expected = KEPT[what + name]
        if str(KEPT["machine"]) == MACHINE:
            assert (array.dtype, array.shape) == (expected.dtype, expected.shape), name
            assert array.tobytes() == expected.tobytes(), name
        else:
            np.testing.assert_allclose(array, expected, rtol=1e-9, atol=1e-11, err_msg=name)


def kinds_in(s: sv.Session) -> set[str]:
    return {action.kind for branch in s.branches for action in branch.journal}


def test_every_kind_of_action_is_in_a_kept_run() -> None:
    """A version that adds a kind keeps another run, every_action_of_X.safetensors, which has it."""
    runs = map(sv.Session.load, FOLDER.glob("every_action*.safetensors"))
    assert set().union(*map(kinds_in, runs)) == {*ACTIONS}


def test_actions_that_waited_for_a_step_are_in_it(s: sv.Session) -> None:
    assert any(action.asked for branch in s.branches for action in branch.journal)


def test_it_has_the_same_bits_at_every_step_of_every_branch(s: sv.Session) -> None:
    found = numbers(s)
    assert len(s.branches) == 3
    assert {name for name in KEPT if not name.startswith(("link", "machine"))} == {*found}
    assert_kept(found)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_the_same_actions_done_anew_give_the_same_numbers(engine: str) -> None:
    s = every_action(engine)
    assert kinds_in(s) == kinds_in(sv.Session.load(RUN))
    for name, array in numbers(s).items():
        np.testing.assert_allclose(array, KEPT[name], rtol=1e-9, atol=1e-11, err_msg=name)


def test_it_continues_from_a_moment_within_a_step(s: sv.Session) -> None:
    assert s.clock.operation == 5
    s.advance(3)
    assert np.isfinite(s.loss)


@pytest.mark.parametrize("place", range(len(LINKS)))
def test_a_kept_link_leads_to_its_moment(place: int) -> None:
    assert_kept(numbers_now(opened(LINKS[place])), f"link {place} ")
