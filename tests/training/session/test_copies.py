"""Copies of a session: the same past, branches and settings, then independent."""

from typing import Any

import scalarviz as sv
from tests.sessions import advanced
from tests.training.session.test_session import COLOURS, PAIR, session, state


def branched(**options: Any) -> sv.Session:
    """A session with four branches, which stands within a step of the third."""
    s = advanced(session("python", **options), 6)
    s.back(3)
    s.edit(4, 0.5)
    s.advance(3)
    s.back(1)
    s.set_activation(0, "relu")
    s.advance(2)
    s.back(2)
    s.branch()
    s.switch(2)
    s.advance(5, "operation")
    return s


def visits(s: sv.Session) -> list[tuple[Any, ...]]:
    """Everything that can be seen at each step of each branch."""
    seen = []
    for branch in s.branches:
        s.switch(branch)
        parent = None if branch.parent is None else branch.parent.number
        seen.append((branch.number, parent, branch.fork, branch.end, branch.losses.tobytes()))
        for step in range(branch.end.step + 1):
            s.seek(step)
            seen.append(state(s))
    return seen


def test_a_copy_has_every_branch_and_stands_where_its_original_stood() -> None:
    s = branched()
    copied = s.copy()
    assert copied.clock == s.clock and copied.current_branch.number == 2
    assert state(copied) == state(s)
    assert not set(copied.branches) & set(s.branches)
    assert visits(copied) == visits(s)


def test_a_copy_has_the_pinned_weights_of_its_original() -> None:
    s = advanced(session(), 20)
    s.pin([3, 5])
    s.history(3, wait=True)
    s.back(10)
    s.branch()
    s.advance(5)
    copied = s.copy()
    assert copied.pinned == [3, 5]
    for each in (3, 5):
        (steps, values), (own, known) = s.history(each), copied.history(each)
        assert steps.tolist() == own.tolist() == list(range(16))
        assert values.tolist() == known.tolist()
    copied.advance(1)
    copied.pin(5, on=False)
    assert s.pinned == [3, 5] and len(s.history(3)[0]) == 16


def test_a_copy_shows_the_sample_that_its_original_showed() -> None:
    s = advanced(session(), 1)
    s.focus = 5
    assert s.copy().focus == 5


def test_a_batch_that_has_become_smaller_has_no_sample_beyond_its_end() -> None:
    s = session()
    s.focus = 7
    s.data = COLOURS[:3], COLOURS[:3]
    assert s.focus == 2
    s.data = PAIR
    assert s.focus == 7
