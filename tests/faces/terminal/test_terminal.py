"""A training in a terminal: the picture, the keys, and the text where there is no terminal."""

import re
import signal
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import GradientError, InputError
from scalarviz.faces.controller import precompile
from scalarviz.faces.controller.autosave import Keep
from scalarviz.faces.terminal import terminal
from scalarviz.faces.terminal.operations import strip_line
from scalarviz.faces.terminal.picture import picture
from scalarviz.faces.terminal.terminal import TerminalSession
from scalarviz.pictures.draw2d.colors import to_bytes
from scalarviz.pictures.export.rate import Pace
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.presenter.stage import Stage
from tests.wording import refused


@pytest.fixture
def watching(show: Show) -> TerminalSession:
    return TerminalSession(show, Pace(show), 2000, Console(), Keep())


# Keys.


def pressed(watching: TerminalSession, *keys: str) -> sv.Session:
    for key in keys:
        watching.obey(key)
    return watching.session


def test_arrows_go_a_step_on_and_back_and_pause(watching: TerminalSession) -> None:
    before = watching.session.network.bank.value.tolist()
    s = pressed(watching, "right", "right", "right", "left")
    assert s.step_index == 2 and watching.paused
    assert pressed(watching, "left", "left").network.bank.value.tolist() == before


def test_up_and_down_double_and_halve_the_rate_without_a_pause(watching: TerminalSession) -> None:
    assert pressed(watching, "up", "up", "down").learning_rate == 1.0
    assert not watching.paused


def test_space_pauses_and_goes_on(watching: TerminalSession) -> None:
    pressed(watching, "space")
    assert watching.paused
    pressed(watching, "space")
    assert not watching.paused


def test_going_on_by_hand_beyond_the_end_moves_the_end(watching: TerminalSession) -> None:
    watching.end = 1
    pressed(watching, "right", "right", "right", "space")
    assert watching.end == 4 and not watching.paused


class Typed:
    """A keyboard at which something is pressed once in a picture."""

    there = True

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)

    def read(self) -> list[str]:
        return [self.keys.pop(0)] if self.keys else ["q"]


def type_keys(patch: pytest.MonkeyPatch, *keys: str) -> None:
    typed = Typed(*keys)
    patch.setattr(terminal, "keyboard", lambda: nullcontext(typed))


def test_ctrl_z_gives_the_terminal_back_and_going_on_takes_it_again(
    show: Show, tty: Any, monkeypatch: Any
) -> None:
    class Left(list[str]):
        def __call__(self) -> None:
            self.append(tty.getvalue())

    stopped = Left()
    monkeypatch.setattr(terminal, "stop_here", stopped)
    type_keys(monkeypatch, "suspend")
    tty.watch(show, steps=2000, speed=1e-3)
    (before,) = stopped
    assert before.endswith("\x1b[?25h" + LEAVE) and before.count(LEAVE) == 1
    assert tty.getvalue().count(ENTER) == 2 == tty.getvalue().count(LEAVE)


# Watching.


ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def test_watching_uses_a_screen_of_its_own_and_leaves_the_last_picture(
    show: Show, tty: Any
) -> None:
    tty.watch(show, steps=30, speed=0)
    live, _, after = tty.getvalue().partition(LEAVE)
    first, last = show.session.losses[[0, -1]]
    assert ENTER in live and tty.code == 0
    assert "30 of 30" in after and "outputs" in after
    assert f"30 steps: loss from {first:#.3g} to {last:#.3g}, of what is held out" in after
    assert "Next: more" in after


def test_kernels_are_compiled_before_the_screen_is_taken_and_it_is_said(
    show: Show, tty: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tmp_path / "done"
    program = f"import pathlib, time; time.sleep(0.3); pathlib.Path({str(done)!r}).touch()"
    monkeypatch.setattr(precompile, "COMMAND", ("-c", program))
    monkeypatch.setattr(precompile, "is_ready", lambda kind: done.exists())
    monkeypatch.setattr(terminal, "kinds_of", lambda session: {precompile.kind_of(session, "cpu")})
    tty.watch(show, steps=3, speed=0)
    before, _, _ = tty.getvalue().partition(ENTER)
    assert done.exists() and "Compiling for float32 networks: 0 s" in before


class Interrupted:
    """Batches of one sample, during the eighth of which someone presses Ctrl-C."""

    def __call__(self, step: int, batch: int, seed: int) -> Any:
        if step == 7:
            signal.raise_signal(signal.SIGINT)
        return np.full((batch, 1), 0.5), np.ones((batch, 1))


@pytest.fixture
def interrupted() -> Show:
    made = data.Generated(Interrupted(), inputs=1, outputs=1)
    return Show(sv.Session(sv.Network([1, 1]), made, batch=1, engine="python"))


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where sessions were saved, and at which step."""
    made: list[Any] = []

    def save(session: sv.Session, path: Path, keyframes: int) -> None:
        path.touch()
        made.append((path, session.step_index, session.done))

    monkeypatch.setattr(sv.Session, "save", save)
    return made


def test_ctrl_c_gives_the_terminal_back_after_a_whole_step_and_saves(
    interrupted: Show, tty: Any, tmp_path: Path, saved: list[Any]
) -> None:
    text = tty.watch(interrupted, steps=300_000, speed=0, keep=Keep(tmp_path / "it"))
    _, _, after = text.partition(LEAVE)
    assert tty.code == 130
    assert "\x1b[?25h" in text  # the cursor is shown again
    step = interrupted.session.step_index
    assert 8 <= step < 300_000 and saved == [(tmp_path / "it", step, "step")]
    assert f"Stopped at step {step:,} of 300,000" in after and "Saved to" in after


def test_an_error_gives_the_terminal_back(show: Show, tty: Any) -> None:
    show.session.network.bank.value[:] = np.nan
    with pytest.raises(GradientError):
        tty.watch(show, steps=30, speed=0)
    assert tty.getvalue().index(ENTER) < tty.getvalue().index(LEAVE)


@pytest.mark.parametrize(("wanted", "pictures_a_second"), [(0.0, 1 / 0.15), (10.0, 20.0)])
def test_slow_pictures_become_fewer_where_they_would_hold_the_training_up(
    fake: Any, clock: Any, wanted: float, pictures_a_second: float
) -> None:
    show = fake(0.001)
    watching = TerminalSession(show, Pace(show, wanted), 50 if wanted else 5000, Console(), Keep())
    pictures = []

    class Screen:
        def update(self, picture: object, refresh: bool) -> None:
            clock.wait(0.03)  # a picture takes this long
            pictures.append(clock.now)

    class Never:
        asked = False

    watching.picture = lambda: ""  # type: ignore[method-assign, assignment]  # in its place
    watching.go(Screen(), Never())  # type: ignore[arg-type]  # parts of them
    assert len(pictures) / clock.now == pytest.approx(pictures_a_second, rel=0.1)


def test_a_training_that_starts_paused_takes_no_step(show: Show, tty: Any) -> None:
    show.session.advance(3)
    with redirect_stdout(tty):
        assert sv.watch(show, terminal=True, play=False, steps=30, speed=0) == 0
    assert show.session.step_index == 3 and LEAVE in tty.getvalue()


def test_no_color_is_respected(show: Show, tty: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    tty.watch(show, steps=1, speed=0)
    assert not re.search(r"[\[;][34]8;[25];", tty.getvalue())


def make_pipe(patch: pytest.MonkeyPatch, tty: Any) -> None:
    patch.setattr(tty, "isatty", lambda: False)


def make_pipe_with_forced_colour(patch: pytest.MonkeyPatch, tty: Any) -> None:
    make_pipe(patch, tty)
    patch.setenv("FORCE_COLOR", "1")


def make_dumb_terminal(patch: pytest.MonkeyPatch, tty: Any) -> None:
    patch.setenv("TERM", "dumb")


def make_terminal_without_braille(patch: pytest.MonkeyPatch, tty: Any) -> None:
    patch.setattr(type(tty), "encoding", "cp1252")


@pytest.mark.parametrize(
    "make",
    [make_pipe, make_pipe_with_forced_colour, make_dumb_terminal, make_terminal_without_braille],
)
def test_where_nothing_can_be_drawn_there_are_plain_lines(
    show: Show,
    tty: Any,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[pytest.MonkeyPatch, Any], None],
) -> None:
    make(monkeypatch, tty)
    text = tty.watch(show, steps=40)
    assert text.isascii() and "\x1b" not in text
    assert re.search(r"step +20 +loss 0\.\d+ +[\d,]+ steps/s", text)
    outputs = re.search(r"outputs +(.*)", text)
    codes = [f"#{code.tobytes().hex()}" for code in to_bytes(show.session.network(data.PALETTE))]
    assert outputs and outputs.group(1).split() == codes
    assert "40 steps: loss from" in text


def test_bad_wishes_are_refused_before_anything_is_drawn(show: Show, tty: Any) -> None:
    with refused(InputError, "0"):
        tty.watch(show, steps=0)
    with refused(InputError, "-1"):
        tty.watch(show, speed=-1)
    assert tty.getvalue() == "" and show.session.step_index == 0


@pytest.mark.parametrize(("engine", "steps"), [("cpu", 1), ("python", 0)])
def test_what_must_be_compiled_is_compiled_before_the_screen_is_taken(
    fake: Any, monkeypatch: pytest.MonkeyPatch, engine: str, steps: int
) -> None:
    asked = []
    monkeypatch.setattr(terminal, "exhibit_of", asked.append)
    session = fake().session
    session.engine = engine
    terminal.warm_up(session, 10)
    assert session.step_index == len(asked) == steps


def test_what_overflows_while_one_watches_is_saved(
    colours: sv.Session, tty: Any, tmp_path: Path
) -> None:
    colours.advance(3)
    colours.learning_rate = 1e300
    path = tmp_path / "it.safetensors"
    with pytest.raises(GradientError) as caught:
        tty.watch(colours, speed=0, keep=Keep(path))
    assert f"Saved to {path} at step 3; --resume {path} --lr 1e+299" in caught.value.lines[1]
    assert sv.Session.load(path).clock.place == (3, 0)


# Operations, in a pause.


def test_the_strip_and_the_caption_are_those_of_a_picture(watching: TerminalSession) -> None:
    moment = watching.moment(watching.note())
    assert not moment.strip and moment.caption is None  # nothing is done yet
    s = pressed(watching, ".", ".", ".")
    moment, seen = watching.moment(watching.note()), Stage(s).frame_data()
    assert moment.strip == seen.strip and moment.current == seen.current == 3
    assert moment.caption == seen.words.caption == s.caption()
    assert moment.exhibit is None  # nothing would show it
    pressed(watching, ",")
    assert watching.moment(watching.note()).current == 2
    assert not watching.moment("").strip  # in the picture that stays
    pressed(watching, "right")
    assert watching.moment(watching.note()).current == len(s.operations)
    pressed(watching, "space")
    assert not watching.moment(watching.note()).strip


@pytest.mark.parametrize("width", [76, 100, 120, 200])
def test_the_strip_fits_and_lights_the_operation(watching: TerminalSession, width: int) -> None:
    s = watching.session
    for done in range(1, len(s.operations) + 1):
        s.advance(1, "operation")
        cells = watching.session.timeline.here.moments
        watching.paused = True
        moment = watching.moment(watching.note())
        line = strip_line(moment.strip, moment.current, width)
        assert line.cell_len <= width and len(moment.strip) == len(cells)
        (lit,) = (span for span in line.spans if "reverse" in str(span.style))
        words = line.plain[lit.start : lit.end]
        assert words.split(": ")[-1] in (moment.strip[done - 1].name, moment.strip[done - 1].layer)


@pytest.mark.parametrize(("height", "shown"), [(30, True), (18, True), (17, False)])
def test_a_low_terminal_has_no_room_for_them(
    watching: TerminalSession, height: int, shown: bool
) -> None:
    pressed(watching, ".", ".")
    console = Console(width=100, height=height, force_terminal=False, record=True)
    with console.capture() as capture:
        console.print(picture(watching.moment(watching.note()), 100, height))
    lines = capture.get().splitlines()
    assert len(lines) == height
    assert any(watching.session.caption().title in line for line in lines) == shown
    assert any("backward and learn" in line for line in lines) == shown
