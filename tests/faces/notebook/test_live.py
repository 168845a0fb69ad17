"""A training in a notebook: drawn on the kernel's thread, whatever thread the browser speaks on."""

import asyncio
import base64
import math
import threading
from collections.abc import Callable, Coroutine
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError
from scalarviz.faces.controller import export, precompile
from scalarviz.faces.controller.files import export_to
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook import live as live_module
from scalarviz.faces.notebook import show
from scalarviz.faces.scenefiles.find import find, load
from scalarviz.pictures.presenter.show import Show
from tests.faces.notebook.browser import Browser, until
from tests.patience import HANG, patient
from tests.sessions import inverting
from tests.studio import Studio
from tests.wording import refused

__all__ = ["patient"]  # a fixture
# Without the studio they are skipped: nothing can be drawn.
pytestmark = pytest.mark.usefixtures("studio", "patient")


def run(program: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(program())


def watch(session: sv.Session, **options: Any) -> Any:
    return show.watch(Show.of(session), WatchOptions(size=(400, 300), **options))


def sv_watch_scene(name: str) -> Any:
    recipe = Recipe(load(find(name)), {"engine": "python"})
    return show.watch(recipe.make({}), WatchOptions(size=(400, 300), recipes=[recipe]))


def test_pins_what_it_is_given() -> None:
    async def program() -> None:
        shown = watch(inverting(), pin=2)
        assert shown.group.stage.pinned == 2
        shown.close()

    run(program)


def test_closing_one_leaves_the_others() -> None:
    async def program() -> None:
        first, second = watch(inverting()), watch(inverting())
        first.close()
        assert first.closed
        assert second.bundle()["image/png"]
        second.close()

    run(program)


@pytest.mark.parametrize("present", [False, True])
def test_a_presentation_has_the_picture_only(present: bool) -> None:
    async def program() -> None:
        live = watch(inverting(), present=present)
        assert (live.controls.box in live.widget.children) is not present
        assert live.canvas in live.widget.children
        live.close()

    run(program)


@pytest.mark.slow
def test_a_file_that_is_being_written_is_finished_though_the_picture_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = "import sys, time; time.sleep(0.3); open(sys.argv[3], 'w').write('all')"
    monkeypatch.setattr(export, "COMMAND", ("-c", slow, "-"))

    async def program() -> None:
        live = watch(inverting())
        live.controller.step(+1)
        export_to(live.controller, tmp_path / "it.mp4")
        live.close()
        assert "it.mp4 is still being written" in capsys.readouterr().out
        await until(lambda: (tmp_path / "it.mp4").exists())

    run(program)


def test_a_link_goes_to_the_clipboard_of_the_browser(capsys: pytest.CaptureFixture[str]) -> None:
    async def program() -> None:
        live = sv_watch_scene("rgb")
        browser = Browser(live.canvas)
        browser.opens()
        live.controller.step(+1, 3)
        browser.say("key_down", key="k")
        await until(lambda: browser.copied)
        assert browser.copied == ["rgb?engine=python#step=3"]
        browser.say("not_copied")
        await until(lambda: "rgb?engine=python#step=3" in capsys.readouterr().out)
        live.controls.made["copy link"].click()
        await until(lambda: len(browser.copied) == 2)
        live.close()

    run(program)


def test_while_kernels_are_compiled_the_objects_do_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precompile, "COMMAND", ("-c", f"import time; time.sleep({HANG})"))
    monkeypatch.setattr(precompile, "is_ready", lambda kind: False)

    async def program() -> None:
        session = inverting("cpu")
        live = watch(session)
        assert session.engine == "python" and live.bundle()["image/png"]
        session.reset()  # a cell does so
        assert session.engine == "cpu" and live.snapshot() and session.engine == "python"
        await until(
            lambda: live.controller.state.status.startswith("Compiling for float32 networks")
        )
        live.close()
        assert session.engine == "cpu"

    run(program)


@pytest.mark.slow
def test_what_waits_for_kernels_is_shown_when_they_are_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = tmp_path / "done"
    program = f"import pathlib, time; time.sleep(0.5); pathlib.Path({str(done)!r}).touch()"
    monkeypatch.setattr(precompile, "COMMAND", ("-c", program))

    async def program_of_cells() -> None:
        session = sv.Session(sv.Network([2, 4, 1], "tanh"), data.Xor(), "mse", engine="cpu")
        session.advance(3)
        whole = watch(session).snapshot().data
        monkeypatch.setattr(precompile, "is_ready", lambda kind: done.exists())
        live = watch(session)
        assert done.exists() and session.engine == "cpu"
        assert live.snapshot().data == whole

    run(program_of_cells)


def test_the_pictures_of_a_cell_are_of_the_last_operation() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        stage = live.controller.stage
        live.refresh()

        def shown() -> tuple[int, float, str]:
            seen = stage._seen
            return seen.current, seen.part, seen.words.caption.title

        def last() -> tuple[int, float, str]:
            return session.clock.operation, 1.0, session.caption().title

        session.advance(5, "operation")
        live._sent = 0.0  # as if the last one was long ago
        live.refresh()
        assert shown() == last()
        session.advance(2, "operation")
        stage.frame_data()  # the picture on the page begins to catch up
        assert shown() != last()
        assert live.snapshot() and shown() == last()
        session.advance(1, "operation")
        stage.frame_data()
        assert stage.motion.shown()[1] == 0.0  # there the light goes on as before
        live.close()

    run(program)


def picture(frame: bytes) -> np.ndarray:
    return np.asarray(PIL.Image.open(BytesIO(frame)).convert("RGB"), int)


def test_while_it_plays_the_picture_shows_the_step_that_stands_below_it() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        live.controller.play()
        for _ in range(5):
            step = session.step_index
            await until(lambda step=step: session.step_index > step)
            live.canvas.get_frame()
            shown = live.controller.stage.reading.here.clock.step
            assert live.controls.made["where"].value.split(" ")[0] == f"{shown:,}"
        live.close()

    run(program)


def test_a_picture_is_kept_for_where_no_kernel_runs() -> None:
    async def program() -> None:
        live = watch(inverting())
        bundle = live.bundle()
        kept = picture(base64.b64decode(bundle["image/png"]))
        assert kept.shape == (300, 400, 3)
        assert kept.std() > 10
        assert not [kind for kind in bundle if "widget" in kind]  # which readers would prefer
        assert "0 of 0" in bundle["text/plain"]
        live.close()

    run(program)


def test_pictures_are_drawn_on_the_thread_of_the_cells() -> None:
    async def program() -> None:
        live = watch(inverting())
        browser = Browser(live.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        for turn in range(3):
            before = len(browser.frames)
            browser.say("pointer_down", button=1, x=100, y=100)
            browser.say("pointer_move", x=120 + 10 * turn, y=100)
            browser.say("pointer_up", button=1, x=120 + 10 * turn, y=100)
            await until(lambda before=before: len(browser.frames) > before)
        assert browser.threads == {threading.get_ident()}
        assert np.abs(picture(browser.frames[0]) - picture(browser.frames[-1])).max() > 50
        live.close()

    run(program)


def test_it_plays_while_the_kernel_is_free_and_draws_it() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        browser = Browser(live.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        assert not session.playing
        live.controls.made["play"].click()
        await until(lambda: session.playing and session.step_index > 5)
        before = len(browser.frames)
        await until(lambda: len(browser.frames) > before + 3)
        assert live.controls.made["timeline"].value > 0
        browser.say("key_down", key=" ")
        await until(lambda: not session.playing)
        step = session.step_index
        browser.say("key_down", key="ArrowLeft")
        await until(lambda: session.step_index == step - 1)
        live.close()

    run(program)


@pytest.mark.slow
def test_the_tour_is_shown_and_skipped_there_too() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        browser, stage = Browser(live.canvas), live.controller.stage
        browser.opens(800.0, 500.0)
        await until(lambda: browser.frames)
        live.controls.made["tour"].click()
        await until(lambda: session.clock.operation > 1)
        assert stage.part_of_tour == "forward"

        def buttons() -> list[Any]:
            return [box for box, name in stage.on_top.buttons if name == "Skip the tour"]

        await until(buttons)
        (box,) = buttons()
        browser.clicks(box.x + box.width / 2.0, box.y + box.height / 2.0)
        await until(lambda: session.clock.place == (1, 0))
        assert stage.part_of_tour == "" and not session.playing
        browser.say("key_down", key="s")
        await until(lambda: session.clock.operation > 1)
        browser.say("key_down", key="a")
        await until(lambda: stage.adding > 0.0)
        live.close()

    run(program)


def test_a_click_pins_a_cube_and_the_controls_say_so() -> None:
    async def program() -> None:
        live = watch(inverting())
        browser = Browser(live.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        stage = live.controller.stage
        places = ((x, y) for y in range(60, 220, 4) for x in range(20, 400, 4))
        at = next(place for place in places if stage.target_at(*place).row is not None)
        row = stage.target_at(*at).row
        browser.clicks(*at)
        await until(lambda: stage.pinned == row)
        await until(lambda: not live.controls.made["value"].disabled)
        assert live.controls.made["value"].tooltip.startswith("Value of layer ")
        live.close()

    run(program)


def test_the_picture_has_the_size_and_the_sharpness_of_its_place_on_the_page() -> None:
    async def program() -> None:
        live = watch(inverting())
        browser = Browser(live.canvas)
        browser.opens(500.4, 320.0, ratio=1.5)
        await until(lambda: browser.frames and picture(browser.frames[-1]).shape == (480, 750, 3))
        browser.say("resize", width=300, height=200, ratio=9.0)
        await until(lambda: picture(browser.frames[-1]).shape == (400, 600, 3))
        browser.say("resize", width=1e9, height=20, ratio=0.1)
        await until(lambda: picture(browser.frames[-1]).shape == (2, 410, 3))
        live.close()

    run(program)


@pytest.mark.some(2)
@pytest.mark.parametrize("bad", [1e308, -1e300, math.inf, math.nan, None, "9"])
def test_a_message_with_a_number_that_no_browser_sends_changes_nothing(bad: object) -> None:
    async def program() -> None:
        live = watch(inverting())
        browser = Browser(live.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        for kind in ("wheel", "pointer_down", "pointer_move", "pointer_up", "resize"):
            good = {"x": 9, "y": 9, "dx": 0, "dy": 5, "button": 1, "width": 300, "height": 200}
            for name in (*good, "ratio"):
                browser.say(kind, **{**good, "ratio": 1, name: bad})
        browser.say("resize", width=300, height=200, ratio=-1)
        await until(lambda: picture(browser.frames[-1]).shape == (20, 30, 3))
        browser.say("resize", width=300, height=200, ratio=1)
        await until(lambda: picture(browser.frames[-1]).shape == (200, 300, 3))
        count = len(browser.frames)
        browser.say("wheel", dx=0, dy=10, x=200, y=150)
        await until(lambda: len(browser.frames) > count)
        assert not live.canvas.errors.outputs
        live.close()

    run(program)


def test_the_theme_is_that_of_the_page_unless_somebody_chose() -> None:
    async def program() -> None:
        follows, stays = watch(inverting()), watch(inverting(), theme="light")
        for live in (follows, stays):
            Browser(live.canvas).say("theme", light=False)
        await until(lambda: follows.controller.stage.theme == "dark")
        assert stays.controller.stage.theme == "light"
        for live in (follows, stays):
            live.close()

    run(program)


def test_nothing_is_drawn_where_nobody_looks() -> None:
    async def program() -> None:
        live = watch(inverting())
        browser = Browser(live.canvas)
        live.controls.made["on"].click()
        await asyncio.sleep(0.3)
        assert browser.frames == []
        live.close()

    run(program)


def test_two_trainings_side_by_side_do_not_mix() -> None:
    async def program() -> None:
        lives = [watch(inverting()), watch(inverting())]
        browsers = [Browser(live.canvas) for live in lives]
        for browser in browsers:
            browser.opens()
        for browser in browsers:
            await until(lambda browser=browser: browser.frames)
        lives[0].controller.step(+1, 50)
        await until(lambda: len(browsers[0].frames) > 1)
        assert [live.controller.session.step_index for live in lives] == [50, 0]
        first, second = (picture(browser.frames[-1]) for browser in browsers)
        assert np.abs(first - second).max() > 50
        for live in lives:
            live.close()

    run(program)


@pytest.mark.slow
def test_an_output_that_is_gone_lets_the_training_rest_and_a_newer_one_takes_over() -> None:
    async def program() -> None:
        session = inverting()
        old = watch(session)
        browser = Browser(old.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        old.controller.play()
        assert session.playing
        browser.elsewhere(lambda: setattr(old.canvas, "_has_visible_views", False))
        browser.say("gone")
        await until(lambda: not session.playing)
        assert not old.closed
        new = watch(session)
        new.controller.play()
        await until(lambda: old.closed)
        assert session.playing
        new.close()
        assert not session.playing

    run(program)


def test_a_cell_that_goes_on_for_long_can_show_itself() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        browser = Browser(live.canvas)
        session.advance(5)
        live.refresh()
        assert len(browser.frames) == 1
        assert live.controls.made["where"].value.startswith("5 of 5")
        live.refresh()  # too soon for anybody to see it
        assert len(browser.frames) == 1
        live.close()

    run(program)


def test_a_snapshot_is_the_picture_as_it_is_now() -> None:
    async def program() -> None:
        session = inverting()
        live = watch(session)
        first = picture(live.snapshot().data)
        session.advance(100)
        assert np.abs(picture(live.snapshot().data) - first).max() > 50
        live.close()

    run(program)


def test_an_error_is_told_once_below_the_picture_and_life_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(live_module, "AFTER_AN_ERROR", 0.02)

    async def program() -> None:
        session = inverting()
        live = watch(session)
        said: list[str] = []
        asked: list[int] = []
        attend = live.controller.attend
        monkeypatch.setattr(live.canvas.errors, "append_stderr", said.append)
        monkeypatch.setattr(live.controller, "attend", lambda: asked.append(1 // 0))
        await until(lambda: said)
        await asyncio.sleep(0.2)
        assert len(said) == 1 and "ZeroDivisionError" in said[0]
        monkeypatch.setattr(live.controller, "attend", attend)
        session.advance(3)
        await until(lambda: live.controls.made["where"].value.startswith("3 of 3"))
        live.close()

    run(program)


def in_cell(monkeypatch: pytest.MonkeyPatch, cell: str, count: int) -> None:
    """Pretend that a cell of a page runs."""
    monkeypatch.setattr(live_module, "shell", lambda: None)
    monkeypatch.setattr(live_module, "run_of", lambda found: (cell, count))


def test_a_cell_that_runs_again_closes_what_it_has_shown_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def program() -> None:
        in_cell(monkeypatch, "cell a", 1)
        first, beside = watch(inverting()), watch(inverting())
        in_cell(monkeypatch, "cell b", 2)
        other = watch(inverting())
        first.controller.play()
        in_cell(monkeypatch, "cell a", 3)
        again = watch(inverting())
        assert [live.closed for live in (first, beside, other, again)] == [True, True, False, False]
        assert not first.controller.session.playing
        for live in (other, again):
            live.close()

    run(program)


def test_a_cell_that_runs_again_goes_on_with_a_training_that_plays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def program() -> None:
        session = inverting()
        in_cell(monkeypatch, "cell a", 1)
        first = watch(session)
        first.controller.play()
        in_cell(monkeypatch, "cell a", 2)
        again = watch(session)
        assert first.closed
        assert session.playing
        again.close()
        assert not session.playing

    run(program)


def test_of_many_that_nobody_sees_the_oldest_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "MOST", 3)

    async def program() -> None:
        lives = [watch(inverting()) for _ in range(2)]
        seen = watch(inverting())
        Browser(seen.canvas).opens()
        await until(lambda: seen.canvas.views)
        lives += [watch(inverting()) for _ in range(3)]
        assert [live.closed for live in lives] == [True, True, True, False, False]
        assert not seen.closed
        for live in (*lives[3:], seen):
            live.close()

    run(program)


def test_a_training_begun_by_an_option_rests_too_when_nobody_looks() -> None:
    async def program() -> None:
        live = sv_watch_scene("circle")
        browser = Browser(live.canvas)
        browser.opens()
        await until(lambda: browser.frames)
        before = live.controller.session
        live.controller.set_option("hidden", "5")
        assert live.controller.session is not before
        live.controller.play()
        browser.elsewhere(lambda: setattr(live.canvas, "_has_visible_views", False))
        browser.say("gone")
        await until(lambda: not live.controller.session.playing)
        assert not live.closed
        live.close()

    run(program)


def test_away_from_the_cells_it_says_where_to_call_it() -> None:
    with refused(InputError):
        watch(inverting())


def test_keys_that_a_browser_needs_are_left_to_it() -> None:
    async def program() -> None:
        live = watch(inverting())
        pressed: list[tuple[str, bool]] = []
        live.controller.press = lambda key, shift=False: bool(pressed.append((key, shift)))
        browser = Browser(live.canvas)
        browser.say("key_down", key="r", modifiers=["Control"])
        browser.say("key_down", key="ArrowRight", modifiers=["Shift"])
        browser.say("key_down", key="L")
        browser.say("key_down", key="Enter")
        await until(lambda: len(pressed) == 3)
        assert pressed == [("right", True), ("l", False), ("enter", False)]
        live.close()

    run(program)


def test_a_notebook_is_not_left_by_a_key() -> None:
    async def program() -> None:
        live = watch(inverting())
        assert "q" not in [key for key, _ in live.controller.stage.keys]
        live.controller.press("q")
        assert not live.closed
        live.close()

    run(program)


def test_bad_sizes_are_refused(studio: Studio) -> None:
    with refused(InputError, "0"):
        WatchOptions(size=(0, 300))
