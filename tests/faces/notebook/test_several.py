"""Several sessions in a notebook: one picture and one bar of controls for all of them."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook import show
from scalarviz.pictures.presenter.several import Several
from tests.faces.notebook.browser import Browser, until
from tests.faces.notebook.test_live import picture, run
from tests.patience import patient

__all__ = ["patient"]  # a fixture
# Without the studio they are skipped: nothing can be drawn.
pytestmark = pytest.mark.usefixtures("studio", "patient")
SIZE = 640, 420


def make(*hidden: int) -> sv.Session:
    net = sv.Network([3, *hidden, 3], "tanh", "sigmoid", seed=0)
    return sv.Session(net, data.Rgb("invert"), "mse", sv.SGD(0.5), batch=8, engine="python")


def watch(sessions: list[sv.Session], **options: Any) -> Any:
    several = Several.of(sessions)
    assert several is not None
    return show.watch(several, WatchOptions(size=SIZE, **options))


@pytest.mark.slow
def test_keys_and_controls_move_all_or_the_chosen_one() -> None:
    async def program() -> None:
        sessions = [make(), make(4)]

        def steps() -> list[int]:
            return [session.step_index for session in sessions]

        live = watch(sessions)
        browser = Browser(live.canvas)
        browser.opens(*map(float, SIZE))
        await until(lambda: browser.frames)
        untrained = picture(browser.frames[-1])
        assert untrained.shape == (420, 640, 3)
        browser.say("key_down", key="ArrowRight")
        await until(lambda: steps() == [1, 1])
        live.controls.made["together"].value = False
        await until(lambda: not live.group.together)
        box = live.group.stage._panes.panes[1]
        browser.clicks(box.x + 6.0, box.bottom - 6.0)
        await until(lambda: live.group.chosen == 1)
        await until(lambda: live.controls.made["session"].value == live.group.names[1])
        browser.say("key_down", key="ArrowRight")
        await until(lambda: steps() == [1, 2])
        live.controls.made["session"].value = live.group.names[0]
        await until(lambda: live.group.chosen == 0)
        live.controls.made["together"].value = True
        await until(lambda: live.group.together)
        browser.say("key_down", key=" ")
        await until(lambda: min(steps()) > 20)
        browser.say("key_down", key=" ")
        await until(lambda: not live.group.is_playing)
        assert len(set(steps())) == 1
        count = len(browser.frames)
        live.refresh()
        await until(lambda: len(browser.frames) > count)
        assert (np.abs(picture(browser.frames[-1]) - untrained) > 30).any(axis=2).mean() > 0.01
        live.close()

    run(program)


def test_the_stored_picture_has_all_of_them_and_closing_pauses_them() -> None:
    async def program() -> None:
        sessions = [make(), make(4)]
        live = watch(sessions, play=True)
        browser = Browser(live.canvas)
        browser.opens(*map(float, SIZE))
        await until(lambda: min(session.step_index for session in sessions) > 3)
        assert live.bundle()["image/png"] and live.snapshot().width == SIZE[0]
        live.close()
        assert not any(session.playing for session in sessions)
        before = [session.step_index for session in sessions]
        sessions[0].advance(2)
        assert [session.step_index for session in sessions] == [before[0] + 2, before[1]]

    run(program)


def test_a_cell_that_trains_one_of_them_is_seen() -> None:
    async def program() -> None:
        sessions = [make(), make(4)]
        live = watch(sessions)
        browser = Browser(live.canvas)
        browser.opens(*map(float, SIZE))
        await until(lambda: browser.frames)
        before = picture(browser.frames[-1])
        sessions[1].advance(200)
        await until(lambda: live.group.stage.stages[1].reading.place[0] == 200)
        count = len(browser.frames)
        await until(lambda: len(browser.frames) > count)
        box = live.group.stage._panes.panes[1]
        part = slice(int(box.y) + 30, int(box.bottom)), slice(int(box.x) + 4, int(box.right))
        now = picture(browser.frames[-1])
        assert (np.abs(now[part] - before[part]) > 40).any(axis=2).sum() > 200
        live.close()

    run(program)


def test_without_live_pictures_their_picture_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show, "lack", lambda: "no live pictures")
    told = watch([make(), make(4)])
    bundle = told.bundle()
    assert bundle["image/png"] and "3-3 | 3-4-3" in bundle["text/html"]
    assert "no live pictures" in repr(told)
