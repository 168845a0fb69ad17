"""The tour of a training's first ten seconds, and the guide through the sum of a batch."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.faces.controller import guide
from scalarviz.faces.controller.changes import set_learning_rate
from scalarviz.faces.controller.face import Opening
from scalarviz.faces.controller.guide import SAMPLE, SUM_STANDS
from scalarviz.story.guide import (
    BACKWARD,
    END,
    ERROR,
    FORWARD,
    MORE,
    SPEEDS,
    STAND,
    STEP,
    Tour,
    has_learned,
    steps_after,
)
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import FRAME, Watcher, shown
from tests.sessions import colours, session_on


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guide, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr("scalarviz.faces.controller.controller.AT_ONCE", 10.0)


def session_of(sizes: list[int], rate: float = 0.5) -> sv.Session:
    data = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]
    return session_on(data, sizes, "tanh", optimizer=sv.SGD(rate))


MakeWatcher = Callable[[sv.Session], Watcher]


@pytest.fixture
def watched(opened: Open, monkeypatch: pytest.MonkeyPatch) -> MakeWatcher:
    return lambda session: Watcher(opened(session), monkeypatch)


@pytest.fixture
def watcher(watched: MakeWatcher) -> Watcher:
    return watched(session_of([2, 2, 1]))


@pytest.mark.usefixtures("own_cache")
def test_it_shows_a_step_in_ten_seconds_and_then_some_more(watcher: Watcher) -> None:
    watcher.opening = Opening(watcher.controller.face, None, play=False)
    watcher.watch(12.0)
    session = watcher.session
    names = session.operations
    assert watcher.operations[: len(names)] == ["", *names[1:]]
    for seconds, part, done in (
        (STAND - 0.1, "stand", ""),
        (FORWARD - 0.1, "forward", names[names.index("loss") - 1]),
        (FORWARD + 0.1, "error", "loss"),
        (ERROR - 0.1, "error", "loss"),
        (BACKWARD - 0.1, "backward", names[-2]),
        (BACKWARD + 0.1, "step", "step"),
        (STEP - 0.1, "step", "step"),
        (END - 0.1, "faster", "more"),
        (END + 0.1, "", "more"),
    ):
        assert watcher.at(seconds) == (part, done), seconds
    assert session.clock.place == (1 + steps_after(END), 0) == (413, 0)
    assert not session.playing and not watcher.stage.offered
    assert len(session.branches) == 1 and len(session.losses) == 413


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("begin", [Opening, lambda face: face.lead.guide.show_tour()])
def test_at_its_end_it_trains_and_says_what_one_can_do(watcher: Watcher, begin: Any) -> None:
    watcher.opening = begin(watcher.controller.face)
    watcher.watch(END - 0.1)
    assert not watcher.session.playing
    watcher.watch(0.3)
    assert watcher.session.playing and watcher.stage.part_of_tour == ""
    assert watcher.stage.notices[-1] == text("captions.tour.end")


@pytest.mark.usefixtures("own_cache")
def test_speed_rises_at_the_end() -> None:
    each = (END - STEP) / len(SPEEDS)
    done = [steps_after(STEP + each * i) for i in range(1 + len(SPEEDS))]
    assert done == [0, 0, 1, 4, 12, 41, 126, 412] and steps_after(END + 2.0) == 2412


def toured(took: Callable[[int, int], float], looks: Callable[[int], float]) -> tuple[float, int]:
    """When a tour is over, and the most steps that it took at a time.

    Args:
        took: seconds, by the number of steps before and the number of steps that take them
        looks: seconds from one look to the next, by the number of steps between them
    """
    going, now = Tour([each.kind for each in session_of([2, 2, 1]).trainer.moments]), STEP
    going.count(*going.due(now))
    done, longest = 0, 0
    while not going.is_over(now, learned=done >= steps_after(END)):
        steps, _ = going.due(now)
        going.count(steps, 0)
        if steps:
            going.took(steps, took(done, steps))
        done, now, longest = done + steps, now + looks(steps), max(longest, steps)
    return now, longest


@pytest.mark.usefixtures("own_cache")
def test_where_steps_take_long_there_are_few_at_once_and_more_time() -> None:
    end, longest = toured(lambda done, n: 0.02 * n, lambda n: max(0.03, 0.02 * n))
    assert END + 5.0 < end < END + MORE and longest == 5


@pytest.mark.usefixtures("own_cache")
def test_a_step_that_waited_for_the_machine_leaves_none_out() -> None:
    end, _ = toured(lambda done, n: 0.001 * n if done else 3.0, lambda n: FRAME)
    assert end < END + 2 * FRAME


@pytest.mark.usefixtures("own_cache")
def test_it_ends_when_the_network_has_learned_or_after_some_more_seconds(
    watched: MakeWatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalarviz.story.guide.MORE", 0.4)
    watcher = watched(session_of([2, 2, 1], 1e-9))
    watcher.controller.guide.show_tour(watcher.controller.time.pause)
    watcher.watch(END + 0.5)
    assert watcher.at(END + 0.3)[0] == "faster" and watcher.stage.part_of_tour == ""


@pytest.mark.parametrize(
    ("end", "late", "learned"), [(500, 0.3, False), (500, 0.1, True), (31, 0.1, False)]
)
def test_it_has_learned_when_the_loss_is_a_tenth(end: int, late: float, learned: bool) -> None:
    assert has_learned(lambda step: 2.0 if step < 8 else late, 0, end) == learned
    assert has_learned(lambda step: math.nan, 0, 500)  # it is not known


@pytest.mark.usefixtures("own_cache")
def test_it_ends_at_the_step_up_to_which_it_plays(watcher: Watcher) -> None:
    watcher.controller.time.until = 3
    watcher.controller.guide.show_tour(watcher.controller.time.pause)
    watcher.watch(END + 0.1)
    assert watcher.stage.part_of_tour == "" and watcher.session.clock.place == (3, 0)


@pytest.mark.some(1)
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("count", [2, 30])
def test_however_many_operations_there_are_it_takes_ten_seconds(
    count: int, watched: MakeWatcher
) -> None:
    watcher = watched(session_of([2] * count + [1]))
    watcher.controller.guide.show_tour()
    watcher.watch(12.0, frame=0.01)
    names = watcher.session.operations
    assert watcher.at(FORWARD - 0.02) == ("forward", names[names.index("loss") - 1])
    assert watcher.at(BACKWARD - 0.02) == ("backward", names[-2])
    after = "" if count == 2 else "faster"  # which has not learned by then
    assert watcher.at(END - 0.1)[0] == "faster" and watcher.at(END + 0.1)[0] == after


@pytest.mark.usefixtures("own_cache")
def test_a_click_on_skip_finishes_the_step_and_plays(watcher: Watcher) -> None:
    watcher.opening = Opening(watcher.controller.face, True)
    watcher.watch(3.0)
    assert watcher.session.clock.operation and list(watcher.stage.offered) == ["Skip the tour"]
    watcher.stage.press("Skip the tour")
    assert watcher.session.step_index >= 1 and watcher.session.playing
    assert watcher.stage.part_of_tour == "" and watcher.controller.guide.tour is None


@pytest.mark.some(3)
@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    "act",
    [
        lambda c: c.time.operation(-1),
        lambda c: c.time.operation(+1),
        lambda c: set_learning_rate(c, 0.25),
        lambda c: c.face.click(5.0, 5.0),
        lambda c: c.next_sample(),
        lambda c: c.time.set_speed(3.0),
        lambda c: c.session.advance(1, "operation"),  # a cell of a notebook
    ],
)
def test_any_action_ends_it_and_nothing_is_lost(
    watcher: Watcher, act: Callable[[Any], None]
) -> None:
    watcher.opening = Opening(watcher.controller.face, True)
    watcher.watch(3.0)
    there = watcher.session.clock.place
    assert there[1] > 1
    act(watcher.controller)
    watcher.watch(20.0)
    assert abs(watcher.session.clock.operation - there[1]) <= 1 and watcher.session.step_index == 0
    assert watcher.stage.part_of_tour == "" and not watcher.stage.offered
    assert len(watcher.session.branches) == 1


@pytest.mark.usefixtures("own_cache")
def test_space_ends_it_and_plays_on(watcher: Watcher) -> None:
    watcher.opening = Opening(watcher.controller.face, True)
    watcher.watch(3.0)
    watcher.controller.face.press("space")
    assert watcher.session.playing and watcher.stage.part_of_tour == ""


@pytest.mark.usefixtures("own_cache")
def test_a_step_that_is_refused_ends_it(watcher: Watcher) -> None:
    watcher.controller.guide.show_tour()
    watcher.watch(7.9)
    watcher.session.network.bank.value[:] = 3e38
    watcher.watch(10.0)
    assert watcher.controller.guide.tour is None and watcher.stage.notices


@pytest.mark.usefixtures("own_cache")
def test_it_is_shown_once_on_a_machine_unless_somebody_asks(watched: MakeWatcher) -> None:
    def begins(wanted: bool | None, steps: int = 0) -> bool:
        watcher = watched(session_of([2, 2, 1]))
        if steps:
            watcher.session.advance(steps)
        watcher.opening = Opening(watcher.controller.face, wanted, play=False)
        watcher.watch(0.2)
        shown = watcher.controller.guide.tour is not None
        watcher.controller.guide.stop()
        return shown

    assert not begins(None, steps=1) and begins(None)
    assert not begins(None) and begins(True) and begins(True, steps=1) and not begins(False)


@pytest.mark.usefixtures("own_cache")
def test_a_cache_that_cannot_be_written_shows_it_again(
    watcher: Watcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guide, "seen", lambda: Path("/nowhere/at/all"))
    watcher.controller.guide.show_tour()
    watcher.controller.guide.skip()
    assert not guide.was_seen()


@pytest.mark.usefixtures("own_cache")
def test_it_waits_for_kernels(watcher: Watcher) -> None:
    watcher.controller.warming.held = True
    watcher.controller.warming.take = lambda session: None  # type: ignore[method-assign]  # in its place
    watcher.controller.guide.show_tour()
    assert watcher.controller.guide.tour is None and "compilation" in watcher.stage.notices[-1]


@pytest.mark.usefixtures("own_cache")
def test_it_goes_by_pictures_and_takes_all_its_steps_on_a_slow_machine(watcher: Watcher) -> None:
    watcher.controller.guide.show_tour(watcher.controller.time.pause)
    watcher.watch(60.0, frame=1.5)
    names = watcher.session.operations
    assert watcher.operations[: len(names)] == ["", *names[1:]]  # each has a picture of its own
    assert watcher.stage.part_of_tour == "" and watcher.session.clock.place >= (413, 0)


# The sum of a batch.


@pytest.fixture
def adder(watched: MakeWatcher) -> Watcher:
    return watched(colours(batch=8))


def to_push(adder: Watcher, name: str = "weight gradient 1") -> None:
    adder.session.advance(adder.session.operations.index(name) + 1, "operation")


def test_samples_are_added_one_after_the_other(adder: Watcher) -> None:
    to_push(adder)
    adder.session.focus = 5
    there = adder.session.clock
    assert adder.controller.face.press("a")
    adder.watch(8 * SAMPLE + SUM_STANDS - 0.2)
    samples = [each[3] for each in adder.seen]
    assert samples == sorted(samples) and samples[-1] == 8.0
    focus = list(dict.fromkeys(each[4] for each in adder.seen))
    assert focus == [0, 1, 2, 3, 4, 5, 6, 7]
    assert all(each[4] == min(int(each[3]), 7) for each in adder.seen)
    adder.watch(0.5)
    assert adder.stage.adding == 0.0 and adder.session.focus == 5
    assert adder.session.clock == there and len(adder.session.branches) == 1


@pytest.mark.parametrize(
    ("act", "focus"),
    [
        (lambda c: c.time.operation(+1), 5),
        (lambda c: c.time.pause(), 5),
        (lambda c: c.session.back(1, "operation"), 5),
        (lambda c: c.next_sample(), 3),  # the sample that somebody chose stays
        (lambda c: setattr(c.session, "focus", 6), 6),
    ],
)
def test_any_action_ends_it(adder: Watcher, act: Callable[[Any], None], focus: int) -> None:
    to_push(adder)
    adder.session.focus = 5
    adder.controller.guide.add_up()
    adder.watch(2.5 * SAMPLE)
    assert adder.session.focus == 2
    act(adder.controller)
    adder.watch(0.2)
    assert adder.stage.adding == 0.0 and adder.session.focus == focus
    assert adder.controller.guide.adding is None


@pytest.mark.parametrize("batch", [1, 8])
def test_one_sample_is_no_sum(watched: MakeWatcher, batch: int) -> None:
    assert shown(watched(colours(batch=batch)).controller, "add up").enabled == (batch > 1)


def test_where_there_is_no_sum_it_says_so(adder: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.stage.by_parts.MOST_PRODUCTS", 3)
    adder.controller.guide.add_up()
    assert adder.stage.notices == ["There is no sum over samples to show here"]
    adder.watch(3.0)
    assert adder.session.clock.place == (0, 0)
