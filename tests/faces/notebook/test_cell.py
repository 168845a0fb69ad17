"""Pages and predictions below a cell: what they show, and which answers count as right."""

import asyncio
import base64
import io
import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import Mock

import numpy as np
import PIL.Image
import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError, InputError
from scalarviz.faces.controller import precompile
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.notebook import notebook_cells, page_view, session_display
from scalarviz.faces.notebook.exercises import MIME, Prediction, form_of, stored_answers
from scalarviz.pages.lessons.questions import question
from scalarviz.scene import picture
from scalarviz.stage.encoders import png
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show
from tests.faces.controller.fake_stage import HANG, patient
from tests.sessions import inverting
from tests.wording import refused

__all__ = ["patient"]  # a fixture
# Without the studio they are skipped: no picture can be stored.
SECONDS = 20.0


async def until(is_so: Callable[[], object]) -> None:
    """Wait for something."""
    end = perf_counter() + SECONDS
    while not is_so():
        assert perf_counter() < end
        await asyncio.sleep(0.01)


def watch(*sessions: sv.Session, **options: Any) -> Any:
    shown = Several.of(list(sessions)) if len(sessions) > 1 else Show.of(sessions[0])
    assert shown is not None
    return session_display.watch(shown, WatchOptions(size=(400, 300), **options))


class Views:
    """Views of the pages of a cell, whose newest states are taken at once."""

    def __init__(self, view: Any) -> None:
        self.view, self.states, self.refusals = view, dict[int, Any](), list[str]()
        self._asked, self.picture = 0, ""
        view.widget.send = self._take

    def _take(self, content: Any, buffers: Any) -> None:
        header, page = content["header"], content["page"]
        if "state" in header:
            self.states[page] = header["state"]
            self.say(page, {"taken": header["n"]})
        if "picture" in header:
            self.say(page, {"picture": self.picture})
            self.picture = ""
        if "refused" in header:
            self.refusals.append(header["refused"])

    def say(self, page: object, message: Any, **more: Any) -> None:
        content = {"view": "a view", "page": page, "message": message, **more}
        self.view.widget._take(None, content, [])

    def ask(self, page: int, command: str, **args: Any) -> None:
        self._asked += 1
        self.say(page, {"id": self._asked, "name": command, "args": args})


def expression() -> sv.Session:
    slope = sv.Value(0.5)
    line = sv.compile(lambda x: slope * x, inputs=1, engine="python")
    return sv.Session(line, ([[1.0]], [[2.0]]), "mse", sv.SGD(0.1), engine="python")


def pixels(image: Any) -> Any:
    return np.asarray(PIL.Image.open(io.BytesIO(image.data))).astype(int)


@pytest.mark.usefixtures("studio", "patient")
async def test_several_sessions_have_a_page_each_on_one_clock() -> None:
    sessions = inverting(), inverting()
    view = watch(*sessions)
    assert len(view.widget.pages) == 2
    views = Views(view)
    for page in (0, 1):
        views.ask(page, "open")
    await until(lambda: len(views.states) == 2)
    views.ask(0, "advance", count=2, unit="step")
    await until(lambda: [views.states[page]["step"] for page in (0, 1)] == [2, 2])
    rate = sessions[0].learning_rate
    views.ask(1, "learning rate", rate=0.25)
    await until(lambda: [each.learning_rate for each in sessions] == [rate, 0.25])
    views.ask(1, "undo")
    await until(lambda: [each.learning_rate for each in sessions] == [rate, rate])
    views.ask(1, "seek", step=1, operation=3)
    await until(lambda: [each.clock.place for each in sessions] == [(1, 3), (1, 3)])
    views.ask(1, "reset")
    await until(lambda: [each.step_index for each in sessions] == [0, 0])
    assert not views.refusals
    view.close()


@pytest.mark.usefixtures("studio", "patient")
async def test_several_play_and_pause_together() -> None:
    sessions = inverting(), inverting()
    view = watch(*sessions)
    views = Views(view)
    views.ask(1, "open")
    views.ask(1, "play", rate=200.0)
    await until(lambda: all(each.playing and each.step_index > 3 for each in sessions))
    views.ask(1, "pause")
    await until(lambda: not any(each.playing for each in sessions))
    assert len({each.step_index for each in sessions}) == 1
    view.close()


@pytest.mark.some(2)
@pytest.mark.usefixtures("studio", "patient")
@pytest.mark.parametrize("page", [-1, 2, "0", None, True, 1.0])
async def test_a_message_for_no_page_changes_nothing(page: object) -> None:
    session = inverting()
    view = watch(session)
    views = Views(view)
    views.say(page, {"id": 1, "name": "advance", "args": {}})
    views.say(0, "nonsense", view=["a view"])
    await asyncio.sleep(0.1)
    assert session.step_index == 0 and not view.widget.readers and not views.states
    view.close()


@pytest.mark.slow
@pytest.mark.usefixtures("studio", "patient")
async def test_closing_one_leaves_the_others() -> None:
    session = inverting()
    first, second = watch(session), watch(session)
    second.face.time.play()
    first.close()
    first.close()  # once more does nothing
    assert first.closed and session.playing
    assert second.bundle()["image/png"]
    second.close()
    assert not session.playing


@pytest.mark.usefixtures("studio", "patient")
async def test_while_kernels_are_compiled_the_network_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precompile, "COMMAND", ("-c", f"import time; time.sleep({HANG})"))
    monkeypatch.setattr(precompile, "is_ready", lambda kind: False)

    session = inverting("cpu")
    view = watch(session)
    assert view.face.time.held and view.bundle()["image/png"]
    view.close()
    assert session.step_index == 0 and session.engine == "cpu"


async def playing() -> tuple[sv.Session, Any, Views]:
    """A session that plays in a view."""
    session = inverting()
    view = watch(session)
    views = Views(view)
    views.ask(0, "open")
    views.ask(0, "play", rate=100.0)
    await until(lambda: session.playing)
    return session, view, views


@pytest.mark.usefixtures("studio", "patient")
async def test_an_output_that_is_gone_lets_the_training_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_view, "ALONE", 0.05)
    session, view, views = await playing()
    await asyncio.sleep(0.2)
    assert session.playing
    views.say(0, None, gone=True)
    await until(lambda: not session.playing)
    assert not view.closed
    view.close()


@pytest.mark.usefixtures("studio", "patient")
async def test_what_the_notebook_has_closed_lets_the_training_rest() -> None:
    """As marimo does with a widget whose cell runs again, and without a word of its view."""

    session, view, _ = await playing()
    view.widget.comm.close()
    await until(lambda: view.closed and not session.playing)


@pytest.mark.usefixtures("studio", "patient")
async def test_a_cell_that_goes_on_for_long_can_show_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = inverting()
    view = watch(session)
    views = Views(view)
    views.ask(0, "open")
    await until(lambda: views.states)
    await asyncio.sleep(0.1)
    monkeypatch.setattr(page_view, "BETWEEN_STATES", HANG)
    view.attended = -HANG
    session.advance(5)  # the rest is a cell that does not let go
    view.refresh()
    assert views.states[0]["step"] == 5
    session.advance(1)
    view.refresh()  # too soon for anybody to see it
    assert views.states[0]["step"] == 5
    view.close()


@pytest.mark.some(1)
@pytest.mark.usefixtures("studio", "patient")
@pytest.mark.parametrize("make", [inverting, expression])
async def test_a_snapshot_is_the_picture_as_it_is_now(make: Callable[[], sv.Session]) -> None:
    session = make()
    view = watch(session)
    first = pixels(view.snapshot())
    session.advance(100)
    assert np.abs(pixels(view.snapshot()) - first).max() > 50
    view.close()


@pytest.mark.usefixtures("studio", "patient")
async def test_a_snapshot_has_the_numbers_that_are_asked_for() -> None:
    network = sv.Network([sv.Dense(1, 2), sv.LayerNorm(2), sv.Dense(2, 1)], seed=0)
    large = sv.Session(network, ([[1.0]], [[2.0]]), engine="python")
    plain, numbered = watch(large), watch(large, look=RenderOptions(numbers=True))
    apart = np.abs(pixels(numbered.snapshot()) - pixels(plain.snapshot()))
    assert apart.max() > 50 and (apart > 50).mean() < 0.05
    plain.close()
    numbered.close()


@pytest.mark.usefixtures("studio", "patient")
async def test_without_opengl_the_picture_is_that_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(picture, "drawing", Mock(side_effect=DisplayError("no driver")))
    drawn = png(np.zeros((2, 2, 3), np.uint8))
    address = "data:image/png;base64," + base64.b64encode(drawn).decode()

    outputs = Published(monkeypatch).outputs
    session = inverting()
    view = watch(session)
    assert "image/png" not in view.bundle()
    refused(DisplayError).by(view.snapshot)
    views = Views(view)
    views.picture = address
    views.ask(0, "open")
    await until(lambda: outputs)
    assert outputs == [(True, base64.b64encode(drawn).decode())]
    assert view.snapshot().data == drawn
    session.advance(1)
    views.picture = address.replace("iVBOR", "AAAAA")  # is none
    await until(lambda: not views.picture)
    assert view.snapshot().data == drawn and len(outputs) == 1
    view.close()


def in_cell(monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    """Pretend that a cell runs."""
    monkeypatch.setattr(page_view, "run_of", lambda found: (name, count))


@pytest.mark.usefixtures("studio", "patient")
async def test_a_cell_that_runs_again_closes_what_it_has_shown_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_cell(monkeypatch, "cell a", 1)
    first, beside = watch(inverting()), watch(inverting())
    in_cell(monkeypatch, "cell b", 2)
    other = watch(inverting())
    first.face.time.play()
    in_cell(monkeypatch, "cell a", 3)
    again = watch(inverting())
    assert [each.closed for each in (first, beside, other, again)] == [True, True, False, False]
    assert not first.face.time.is_playing
    for each in (other, again):
        each.close()


@pytest.mark.usefixtures("studio", "patient")
async def test_a_cell_that_runs_again_goes_on_with_a_training_that_plays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = inverting()
    in_cell(monkeypatch, "cell a", 1)
    first = watch(session)
    first.face.time.play()
    in_cell(monkeypatch, "cell a", 2)
    again = watch(session)
    assert first.closed and session.playing
    again.close()
    assert not session.playing


@pytest.mark.usefixtures("studio", "patient")
def test_away_from_the_cells_it_says_where_to_call_it() -> None:
    refused(InputError, "thread").by(watch, inverting())
    refused(InputError, "thread").by(watch, expression())


class Published:
    """A notebook that shows outputs, and changes some of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.outputs: list[tuple[bool, Any]] = []
        self.execution_count, self.display_pub = 1, self
        monkeypatch.setattr(notebook_cells, "shell", lambda: self)

    def publish(self, data: Any, metadata: Any = None, **how: Any) -> None:
        if "image/png" in data:
            assert how["transient"]["display_id"].startswith("scalarviz")
            self.outputs.append((how.get("update", False), data["image/png"]))


@pytest.mark.usefixtures("studio", "patient")
async def test_nodes_of_vispy_are_in_snapshots_and_it_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from vispy.scene.visuals import Markers

    session = inverting()
    plain = watch(session)
    before = pixels(plain.snapshot())
    plain.close()
    assert "snapshot()" not in capsys.readouterr().out
    view = watch(session, nodes=lambda view: Markers(pos=np.zeros((1, 3)), parent=view.scene))
    assert "snapshot() draws a picture that includes them" in capsys.readouterr().out
    assert np.abs(pixels(view.snapshot()) - before).max() > 50
    view.close()


TINY = (0.0, 0, -1e-17)  # the last one is a sum in floats


@pytest.mark.parametrize(
    ("answer", "options", "right", "wrong"),
    [
        (0.25, {}, [0.25, "0.25", " .25 ", "1/4", "2.5e-1", 0.2549], [0.256, 0.2, "-1/4", 0]),
        (-3, {}, ["−3"], []),
        (100, {"near": 0.5}, [60], []),
        *((tiny, {}, ["0", 0.0001], ["-0.03"]) for tiny in TINY),  # no number is relatively near it
        (0.0, {"near": 0}, [], [0.0001]),
        (2.2e-8, {}, [], [0.0001]),
    ],
)
def test_a_number_is_right_if_it_is_near(
    answer: Any, options: dict[str, Any], right: list[Any], wrong: list[Any]
) -> None:
    assert all(sv.predict("?", answer, **options).check(guess) for guess in right)
    assert not any(sv.predict("?", answer, **options).check(guess) for guess in wrong)


def test_an_answer_may_be_computed_when_it_is_asked_for() -> None:
    w = sv.Weight(0.5)
    guess = sv.predict("the gradient?", lambda: w.grad)
    w.forward(3.0)
    w.backward(2.0)
    assert guess.check(6)


def test_words_can_be_chosen_from() -> None:
    guess = sv.predict("which way?", "up", choices=["up", "down"])
    assert not guess.check("down")
    assert guess.check("up")
    assert guess.guesses == ["down", "up"]
    assert guess.choices == ("up", "down")


def test_a_typical_wrong_guess_has_its_reply_and_the_answer_its_reason() -> None:
    guess = sv.predict("2 * -3?", -6, replies={6: "Mind the sign."}, why="Plus times minus.")
    guess.check(6)
    assert guess.said == "Not 6. Mind the sign."
    guess.check(-6)
    assert guess.said == "Yes: -6. Plus times minus."
    assert ("2 * -3?", "6, -6", "-6", "Plus times minus.") in sv.predictions().rows


def test_the_answer_may_be_a_word_that_is_typed() -> None:
    for answer in ("green", lambda: "green"):
        guess = sv.predict("which colour?", answer)
        assert guess.check(" Green")
        assert not guess.check("red")
        assert guess.said == "Not red."
        assert guess.guesses == [" Green", "red"]


@pytest.mark.parametrize("typed", ["two", "", "1/0", "1,500"])
def test_what_is_no_number_is_said_to_be_none(typed: str) -> None:
    refused(InputError).by(sv.predict("?", 2).check, typed)


def test_an_answer_that_cannot_be_given_is_refused() -> None:
    refused(InputError, "'left'").by(sv.predict, "?", "left", choices=["up", "down"])
    refused(InputError, "''").by(sv.predict, "?", "")
    refused(InputError, "(1, 2)").by(sv.predict, "?", 1.0, choices=[1, 2])
    refused(InputError, "3").by(sv.predict, 3, 3)  # type: ignore[arg-type]
    refused(InputError, "3").by(sv.predict, 3)  # type: ignore[arg-type]
    refused(InputError, "'less'").by(sv.predict, "?", 3, replies=["less"])  # type: ignore[arg-type]


def test_the_name_of_a_notebook_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    stored_answers.cache_clear()
    monkeypatch.setenv("JPY_SESSION_NAME", f"/{'a' * 300}.ipynb")
    assert stored_answers() == {}
    stored_answers.cache_clear()


GIVEN = {"lesson": "01-one-weight", "key": "gradient", "guesses": ["8", "-8"], "right": True}


@pytest.mark.parametrize(
    ("record", "guesses"),
    [(GIVEN, ["8", "-8"]), (GIVEN | {"guesses": 8}, []), ({"lesson": []}, []), (None, [])],
)
def test_guesses_in_the_file_of_the_notebook_are_there_again(
    record: Any, guesses: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = {"outputs": [{"data": {MIME: record}}, {"text": "printed"}]}
    file = tmp_path / "01.ipynb"
    file.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, cell]}), encoding="utf-8")
    monkeypatch.setenv("JPY_SESSION_NAME", str(file))
    stored_answers.cache_clear()
    found = Prediction(question("01/gradient"))
    stored_answers.cache_clear()
    assert found.guesses == guesses and found.right == bool(guesses) and not found.given_up


def parts(guess: Any) -> tuple[Any, Any, Any, Any]:
    """The field, the last button and the words of its form, and the question."""
    question, row, said, _ = form_of(guess).children
    return row.children[0], row.children[-1], said, question


def test_a_form_says_whether_it_is_right() -> None:
    field, button, said, question = parts(sv.predict("what is $2 < 3$?", 6, hint="Count."))
    assert "what is $2 &lt; 3$?" in question.value
    assert button.layout.display == "none"
    field.value = "5"
    assert "Not 5. Count." in said.value
    assert button.layout.display == ""
    field.value = "6"
    assert "Yes: 6." in said.value
    assert button.layout.display == "none"


@pytest.mark.parametrize(
    ("answer", "options", "typed"),
    [
        (6, {}, {"<b>": "type a number"}),
        ("green", {}, {"green": "Yes: green."}),
        ("up", {"choices": ["up", "down"]}, {"down": "Not “down”.", "up": "Yes: “up”."}),
    ],
)
def test_a_form_answers_what_is_typed_or_chosen(
    answer: Any, options: dict[str, Any], typed: dict[str, str]
) -> None:
    field, _, said, _ = parts(sv.predict("?", answer, **options))
    for guess, words in typed.items():
        field.value = guess
        assert words in said.value


def test_a_form_says_that_cells_must_be_run_first() -> None:
    made: dict[str, float] = {}
    field, _, said, _ = parts(sv.predict("?", lambda: made["weight"]))
    field.value = "1"
    assert "Run the cells above first (KeyError: 'weight')." in said.value
    made["weight"] = 2.0
    field.value = "2"
    assert "Yes: 2." in said.value


def test_a_form_shows_the_answer_which_is_computed_once_to_those_who_have_tried() -> None:
    answer = Mock(return_value=1 / 3)
    field, button, said, _ = parts(sv.predict("?", answer))
    field.value = "3"
    button.click()
    assert "It is 0.3333." in said.value
    assert answer.call_count == 1


def test_in_a_terminal_it_is_a_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    sv.predict("What is 2 times 3?", 6)._ipython_display_()
    assert capsys.readouterr().out == "Predict: What is 2 times 3?\n"


def test_a_notebook_keeps_the_question() -> None:
    bundle = sv.predict("is `<b>` bold?", 1).bundle()
    assert bundle["text/html"] == "<p><b>Predict:</b> is <code>&lt;b&gt;</code> bold?</p>"


def test_outside_of_a_notebook_nothing_is_shown_by_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sv.predict("3 * -3?", -9).show()
    sv.predictions().show()
    assert capsys.readouterr().out == ""
