"""Watching and checking in a notebook: live pictures, what replaces them, the graph of a check."""

import asyncio
import base64
import html
import re
import struct
import sys
import threading
import time
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base import texts
from scalarviz.base.shell_commands import pip_command
from scalarviz.base.texts import text
from scalarviz.errors import DisplayError, EngineError, InputError, UnknownNameError
from scalarviz.faces.notebook import live_run, notebook_cells, page_view, session_display
from scalarviz.pages import page as pages
from scalarviz.scene import picture
from scalarviz.stage.displays.html_tables import session_table
from tests.sessions import advanced, inverting
from tests.training.test_learner_checks import Broken, checked
from tests.wording import refused

PUBLISHED = list[dict[str, Any]]
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def session() -> sv.Session:
    return inverting()


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> PUBLISHED:
    """What a notebook shows, of which one is pretended to be here; its first cell runs."""
    published: PUBLISHED = []
    shell = SimpleNamespace(
        kernel=None,
        execution_count=1,
        display_pub=SimpleNamespace(publish=lambda data, *_, **how: published.append(data)),
    )
    monkeypatch.setattr(notebook_cells, "shell", lambda: shell)
    return published


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels of a page take long to compile."""
    monkeypatch.setattr(pages, "engine_data", lambda *_: (b"\0asm", b"numbers", {}))


@pytest.fixture
def no_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What carries the page of a session is not installed."""
    monkeypatch.setattr(
        session_display, "find_spec", lambda name: None if name == "anywidget" else name
    )


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that no page can train."""
    monkeypatch.setattr(
        session_display, "page_of", Mock(side_effect=EngineError("a page cannot train it"))
    )


class Frames(HTMLParser):
    """The elements of a cell's output, and the attributes of its frame."""

    def __init__(self, bundle: dict[str, Any]) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.frame: dict[str, str | None] = {}
        self.feed(bundle["text/html"])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.frame |= dict(attrs)


def page_of(bundle: dict[str, Any]) -> str:
    (found,) = re.findall(r'srcdoc="([^"]*)"', bundle["text/html"])
    return html.unescape(found)


def assert_stands_apart(shown: PUBLISHED, kind: str) -> None:
    """First what needs no kernel, then a line that says what to do without, then the widget."""
    kept, again, widget = shown
    assert set(kept) == {"text/plain", kind}
    assert texts.text("notebook.again") in again["text/html"]
    assert set(widget) == {"text/plain", WIDGET}


no_opengl = Mock(
    side_effect=DisplayError("OpenGL cannot be used here (no driver): see scalarviz doctor")
)


@pytest.mark.usefixtures("_quick")
def test_a_terminal_is_no_notebook() -> None:
    assert notebook_cells.shell() is None
    assert not notebook_cells.in_notebook()


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
async def test_a_live_picture_shows_itself_once_in_its_cell(
    session: sv.Session, shown: PUBLISHED
) -> None:
    live = sv.watch(session)
    assert_stands_apart(shown, "image/png")
    live._ipython_display_()  # as the value of the last line of the same cell
    assert len(shown) == 3
    notebook_cells.shell().execution_count = 2
    live._ipython_display_()
    assert len(shown) == 6
    live.close()


@pytest.mark.usefixtures("studio")
async def test_a_followed_run_has_a_page_that_is_live_while_a_later_cell_trains(
    shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(live_run, "shell", notebook_cells.shell)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(
        page_view.PageWidget, "send", lambda _, content, buffers: sent.append(content)
    )
    with sv.follow(path=tmp_path / "night.sv", show=None) as before:  # whose record is replaced
        before.step({"old": np.zeros((2, 2))}, 0.5)
    run = sv.follow(path=tmp_path / "night.sv", show=None)
    run._ipython_display_()  # as the last value of a cell
    assert text("notebook.follow") in shown[-1]["text/html"] and len(shown) == 3

    def steps() -> set[int]:
        return {x["header"]["state"]["step"] for x in sent if "state" in x["header"]}

    end = time.perf_counter() + 60.0
    while len(steps()) < 3:  # without await: a cell runs, and nothing of pages is received
        run.step({"a": np.full((3, 2), float(run.steps))}, 0.5)
        time.sleep(0.01)
        assert time.perf_counter() < end
    assert len(shown) == 4 and WIDGET in shown[-1] and {x["view"] for x in sent} == {""}
    run.close()
    assert len(page_view._open[-1].face.lead.session.network.bank) == 6
    for each in list(page_view._open):
        each.close()
    sv.load(tmp_path / "night.sv")._ipython_display_()
    assert_stands_apart(shown[-3:], "image/png")
    page_view._open[-1].close()


async def test_a_run_that_ends_before_its_first_step_leaves_no_thread(
    shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(live_run, "shell", notebook_cells.shell)
    before = {*threading.enumerate()}
    run = sv.follow(path=tmp_path / "night.sv", show=None)
    run._ipython_display_()
    waiting = [x for x in {*threading.enumerate()} - before if "_work" in x.name]
    run.close()
    for each in waiting:
        each.join(10.0)
    assert len(waiting) == 1 and not waiting[0].is_alive()
    assert text("notebook.follow.none") in shown[-1]["text/html"]


@pytest.mark.usefixtures("_quick")
async def test_colab_is_told_how_to_load_the_widget(
    session: sv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Imitated: outputs say where the browser finds what loads widgets that are not Colab's."""
    output: Any = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: None
    output._widgets = SimpleNamespace(_installed_url="https://colab/manager.js")
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    told: list[Any] = []
    display = SimpleNamespace(publish=lambda data, metadata=None, **_: told.append(metadata))
    shell = SimpleNamespace(kernel=None, execution_count=1, display_pub=display)
    monkeypatch.setattr(notebook_cells, "shell", lambda: shell)

    sv.watch(session).close()
    (found,) = next(each for each in told if each).values()
    assert found["colab"]["custom_widget_manager"]["url"] == "https://colab/manager.js"


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
async def test_it_waits_for_somebody_to_press_play_and_then_begins_slowly(
    session: sv.Session, shown: PUBLISHED
) -> None:
    live = sv.watch(session)
    await asyncio.sleep(0.1)
    assert not session.playing
    assert live.face.time.speed == page_view.SPEED
    assert live.face.time.until is None
    live.close()
    chosen = sv.watch(session, steps=7, speed=0)
    assert chosen.face.time.speed is None
    assert chosen.face.time.until == 7
    chosen.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
async def test_colours_and_sizes_of_cubes_show_the_channels_that_are_asked_for(
    session: sv.Session, shown: PUBLISHED
) -> None:
    session.advance(1)

    for given in (session, [session, session.copy()]):
        live = sv.watch(given, color="last change", cubes="gradient")
        stage = live.face.stage
        assert (stage.look.color, stage.look.cubes) == ("last change", "gradient")
        live.close()
    refused(UnknownNameError, "gradeint").by(sv.watch, session, cubes="gradeint")


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
async def test_a_scene_is_watched_by_its_name_and_has_its_options(shown: PUBLISHED) -> None:
    live = sv.watch("circle")
    assert "hidden" in [choice.name for choice in live.face.state.choices]
    live.close()
    refused(InputError, "'circel'").by(sv.watch, "circel")


@pytest.mark.usefixtures("_quick")
def test_a_question_is_kept_apart_from_its_form(shown: PUBLISHED) -> None:
    sv.predict("How many?", 3)
    assert_stands_apart(shown, "text/html")
    assert "How many?" in shown[0]["text/html"]


@pytest.fixture
def marimo(monkeypatch: pytest.MonkeyPatch) -> Any:
    made: Any = ModuleType("marimo")
    made.running_in_notebook = lambda: True
    monkeypatch.setitem(sys.modules, "marimo", made)
    return made


@pytest.mark.usefixtures("_quick")
async def test_in_marimo_the_value_of_the_cell_is_the_page_of_the_session(
    session: sv.Session, marimo: Any
) -> None:
    view = sv.watch(session)
    assert view._display_() is view.widget
    view.close()
    marimo.running_in_notebook = lambda: False  # a script that imports it
    assert not notebook_cells.in_marimo()


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio", "no_widget")
def test_without_the_widget_it_shows_a_page_that_trains_and_says_why(
    session: sv.Session, shown: PUBLISHED
) -> None:
    session.advance(3)
    told = sv.watch(session)
    assert repr(told) == (
        f"a page linked to its session needs anywidget: {pip_command('notebook')}. "
        "This page trains by itself in the browser; it is not connected to "
        "the session."
    )
    assert html.escape(repr(told)) in shown[0]["text/html"]
    assert page_of(shown[0]) == pages.page_of(session).text.decode()
    assert base64.b64decode(shown[0]["image/png"]).startswith(b"\x89PNG")
    assert (session.step_index, session.playing) == (3, False)


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("no_widget")
def test_the_page_in_a_frame_cannot_break_out_and_has_no_rights(
    session: sv.Session, shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "drawing", no_opengl)
    nasty = """"></iframe><script>alert('1')</script>&quot;"""
    sv.watch(sv.Show(session, title=nasty, about=nasty), theme="dark")
    found = Frames(shown[0])
    assert found.tags == ["p", "iframe"]
    assert found.frame["title"] == f"{nasty}, training in the browser"
    assert found.frame["sandbox"] == "allow-scripts"
    assert found.frame.keys() == {"srcdoc", "style", "title", "sandbox"}
    same = pages.page_of(sv.Show(session, title=nasty, about=nasty), theme="dark")
    assert found.frame["srcdoc"] == same.text.decode()
    assert "image/png" not in shown[0]


@pytest.mark.some(1)
@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio", "no_widget", "no_page")
@pytest.mark.parametrize("count", [1, 2])
def test_where_no_page_can_train_it_its_picture_is_shown(
    count: int, session: sv.Session, shown: PUBLISHED
) -> None:
    session.advance(3)
    told = sv.watch([session, *(session.copy() for _ in range(count - 1))])
    assert "anywidget" in repr(told) and repr(told).endswith("Here is its picture.")
    kept = shown[0]["image/png"]
    assert f'src="data:image/png;base64,{kept}"' in shown[0]["text/html"]
    assert (session.step_index, session.playing) == (3, False)


@pytest.mark.usefixtures("_quick")
@pytest.mark.some(1)
@pytest.mark.parametrize("package", session_display.PACKAGES)
def test_what_is_not_installed_is_named(
    package: str, session: sv.Session, shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        session_display, "find_spec", lambda name: None if name == package else name
    )
    monkeypatch.setattr(picture, "drawing", no_opengl)
    assert f"needs {package}: {pip_command('notebook')}" in repr(sv.watch(session))


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("no_widget")
async def test_an_expression_without_widget_and_opengl_says_where_it_stands(
    shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "drawing", no_opengl)
    slope = sv.Value(0.5)
    line = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    session = advanced(sv.Session(line, ([[1.0]], [[2.0]]), "mse", sv.SGD(0.1), engine="python"), 3)

    sv.watch(session)
    assert "anywidget" in shown[0]["text/plain"] and "Its current state" in shown[0]["text/plain"]
    assert "step 3" in shown[0]["text/html"]


@pytest.mark.usefixtures("_quick")
async def test_without_opengl_the_page_of_a_session_is_live_all_the_same(
    session: sv.Session, shown: PUBLISHED, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "drawing", no_opengl)

    view = sv.watch(session, color="last change", cubes="gradient", pin=3)
    looks = view.links[0].described["spec"]["page"]
    now = looks["look"]["now"]
    assert (now["color"], now["cubes"]) == ("last change", "gradient")
    assert looks["pin"] == {"row": 3}
    view.close()
    assert "image/png" not in shown[0]
    assert "application/vnd.jupyter.widget-view+json" in shown[2]


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("nonsense", [3, None])
def test_what_cannot_be_seen_is_refused_by_what_can(nonsense: Any, shown: PUBLISHED) -> None:
    refused(InputError, nonsense).by(sv.watch, nonsense)


@pytest.mark.usefixtures("_quick")
def test_bad_options_are_refused_before_anything_is_shown(
    session: sv.Session, shown: PUBLISHED
) -> None:
    refused(InputError, "3").by(sv.watch, session, size=(3, 300))
    refused(InputError, "-1").by(sv.watch, session, speed=-1)
    assert shown == []


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
def test_a_session_is_displayed_as_the_still_of_its_page_above_its_table(
    session: sv.Session,
) -> None:
    page = session._repr_html_()
    (code,) = re.findall(r'^<img [^>]*src="data:image/png;base64,([^"]*)">', page)
    assert struct.unpack(">II", base64.b64decode(code)[16:24]) == session_display.SIZE
    assert page.endswith(f'">{session_table(session)}')


@pytest.mark.usefixtures("_quick")
@pytest.mark.usefixtures("studio")
@pytest.mark.parametrize("lack", ["OpenGL", "kernels", "kernels of a large picture", "rest"])
def test_where_its_still_cannot_be_had_soon_it_is_its_table(
    lack: str, session: sv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lack == "OpenGL":
        monkeypatch.setattr(picture, "drawing", no_opengl)
    elif lack == "rest":
        session.play(1.0)
    else:
        engine, size = ("cpu", 2) if lack == "kernels" else ("python", 64)
        monkeypatch.setattr(session_display.precompile, "is_ready", lambda kind: False)
        samples = [[0.0] * size], [[0.0] * size]
        session = sv.Session(sv.Network([size, size]), samples, engine=engine)
    try:
        page = session._repr_html_()
        assert "<table" in page and "<img" not in page
    finally:
        session.pause()


def test_a_notebook_shows_the_graph(shown: PUBLISHED) -> None:
    found = checked("value", "self.grad += other.data", "self.grad = other.data")
    found._ipython_display_()  # the last value of the same cell
    (wrong,) = shown
    assert "<img" in wrong["text/html"] and "← yours: 4.5" in wrong["text/html"]
    assert wrong["text/plain"].splitlines()[1] == "    a: data 0.5, grad 9  ← yours: 4.5"
    assert found.bundle() == wrong  # and again
    checked("dense")
    right = shown[-1]
    assert right["text/html"] == "<p>Mine is right: every number agrees.</p>"


def test_code_of_a_learner_is_escaped_in_a_notebook() -> None:
    made = type("<b>", (Broken,), {"forward": lambda self, x: 1 / 0})
    assert "<b>" not in sv.check(made).bundle()["text/html"]
