"""What goes on by itself while one looks: the batch that is added up."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller import guide
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.guide import SAMPLE, SUM_STANDS
from scalarviz.stage.show import Show
from tests.faces.controller.fake_stage import FakeStage

FRAME = 0.05


class Adder:
    """A controller whose time is set by hand, with what it shows of the batch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, batch: int | None = 8) -> None:
        net = sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0)
        colours = data.Rgb(levels=4)
        self.session = sv.Session(net, colours, "mse", sv.SGD(0.5), batch=batch, engine="python")
        self.stage = FakeStage(Show(self.session))
        self.controller = Controller(Show(self.session), self.stage)  # type: ignore[arg-type]  # a part of a stage
        self.now = 0.0
        self.seen: list[tuple[float, int]] = []  # samples, and the focus
        monkeypatch.setattr(guide, "perf_counter", lambda: self.now)
        monkeypatch.setattr("scalarviz.faces.controller.controller.AT_ONCE", 10.0)

    def watch(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end:
            self.controller.attend()
            self.seen.append((self.stage.adding, self.session.focus))
            self.now += FRAME


@pytest.fixture
def adder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Adder]:
    made = Adder(monkeypatch)
    yield made
    made.session.pause()


def to_push(adder: Adder, name: str = "weight gradient 1") -> None:
    adder.session.advance(adder.session.operations.index(name) + 1, "operation")


def test_samples_are_added_one_after_the_other(adder: Adder) -> None:
    to_push(adder)
    adder.session.focus = 5
    there = adder.session.clock
    assert adder.controller.press("a")
    adder.watch(8 * SAMPLE + SUM_STANDS - 0.2)
    samples = [samples for samples, _ in adder.seen]
    assert samples == sorted(samples) and samples[-1] == 8.0
    focus = list(dict.fromkeys(focus for _, focus in adder.seen))
    assert focus == [0, 1, 2, 3, 4, 5, 6, 7]
    assert all(focus == min(int(samples), 7) for samples, focus in adder.seen)
    adder.watch(0.5)
    assert adder.stage.adding == 0.0 and adder.session.focus == 5
    assert adder.session.clock == there and len(adder.session.branches) == 1


@pytest.mark.parametrize(
    ("act", "focus"),
    [
        (lambda c: c.operation(+1), 5),
        (lambda c: c.pause(), 5),
        (lambda c: c.session.back(1, "operation"), 5),
        (lambda c: c.next_sample(), 3),  # the sample that somebody chose stays
        (lambda c: setattr(c.session, "focus", 6), 6),
    ],
)
def test_any_action_ends_it(adder: Adder, act: Callable[[Any], None], focus: int) -> None:
    to_push(adder)
    adder.session.focus = 5
    adder.controller.guide.add_up()
    adder.watch(2.5 * SAMPLE)
    assert adder.session.focus == 2
    act(adder.controller)
    adder.watch(0.2)
    assert adder.stage.adding == 0.0 and adder.session.focus == focus
    assert adder.controller.guide.adding is None


def test_one_sample_is_no_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    row = CONTROLS["add up"]
    assert not row.shown(Adder(monkeypatch, batch=1).controller.state).enabled
    assert row.shown(Adder(monkeypatch).controller.state).enabled


def test_where_there_is_no_sum_it_says_so(adder: Adder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.story.batch_sum.MOST", 3)
    adder.controller.guide.add_up()
    assert adder.stage.notices == ["There is no sum over samples that can be shown here"]
    adder.watch(3.0)
    assert adder.session.clock.place == (0, 0)
