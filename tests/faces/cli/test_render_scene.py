"""`scalarviz render`: arguments are checked before the training, and a training is never lost."""

import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import DisplayError, FileError
from scalarviz.faces.cli import commands, render_scene
from scalarviz.stage.render_options import PAGE, RenderOptions
from scalarviz.stage.stage import Stage
from tests.bars import REMOVED, Clock, Tty, clock, tty

pytestmark = pytest.mark.usefixtures("opengl")

__all__ = ["clock", "tty"]  # fixtures

SMALL = ("rgb", "--engine", "python", "--steps", "3", "--pixels", "64x48")


LOST = """
import scalarviz as sv
from scalarviz import data


def scene():
    net = sv.Network([2, 3, 1], "relu", "linear", dtype="float32", seed=0)
    optimizer = sv.SGD(0.1, not_finite="zero")
    session = sv.Session(net, data.Xor(), "mse", optimizer, engine="python")
    session.edit(range(len(net.bank)), 1e37)
    return session
"""


@pytest.fixture
def out() -> list[str]:
    """What was printed, command by command."""
    return []


@pytest.fixture
def render(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    out: list[str],
) -> Callable[..., tuple[int, str]]:
    """What `scalarviz render` answers in a folder of its own: the exit code and the errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def answer(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as left:
            commands.main(["render", *words])
        said = capsys.readouterr()
        out.append(said.out)
        return int(left.value.code or 0), said.err

    return answer


def refuse_to_train(*given: object) -> None:
    raise AssertionError("a step was taken")


@pytest.mark.some(14)
@pytest.mark.parametrize("name", ["x.png", "x.html", "x.gif"])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--theme blue", "unknown theme 'blue': choose one of dark, light"),
        ("--camera front", "unknown camera 'front'"),
        ("--color red", "unknown channel 'red'"),
        ("--cubes red", "unknown channel 'red'"),
        ("--past red", "unknown past 'red'"),
        ("--pin 700", "the network has rows 0 to 58, and not 700"),
        ("--pin -1", "the network has rows 0 to 58, and not -1"),
        ("--samples 99", "a pixel has 1 to 4 samples a side, not 99"),
        ("--pixels 4x4", "the width of a picture is 16 to 8192 pixels, not 4"),
        ("--move orbit", "--move is for videos, .mp4 or .gif, and NAME is none: leave it out"),
        ("--fps 0", "--fps is for videos, .mp4 or .gif, and NAME is none: leave it out"),
        ("--every 2", "--every is for videos, .mp4 or .gif, and NAME is none: leave it out"),
        ("--operations", "--operations is for videos, .mp4 or .gif, and NAME is none"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_first_step(
    render: Any, name: str, words: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sv.Session, "advance", refuse_to_train)
    if name == "x.gif" and "videos" in sentence:
        return  # it is one
    code, said = render(*SMALL, "-o", name, *words.split())
    assert code in (1, 2) and said.count("\n") == 1
    assert re.match(f"scalarviz: {re.escape(sentence.replace('NAME', name))}", said)
    assert not list(Path().iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.png", "a.html"])
def test_no_steps_draw_the_start(
    render: Any, out: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    at: list[int] = []
    for function in ("picture", "storyboard"):
        draws = getattr(render_scene, function)

        def drawn(show: Any, *given: Any, draws: Any = draws, **more: Any) -> Any:
            at.append(show.session.step_index)
            return draws(show, *given, **more)

        monkeypatch.setattr(render_scene, function, drawn)
    assert render(*SMALL, "--steps", "0", "-o", name) == (0, "") and Path(name).is_file()
    assert at == [0]


def test_each_operation_is_held_as_long_as_asked(render: Any, out: list[str]) -> None:
    words = *SMALL[:3], "--steps", "1", "--pixels", "64x48", "-o", "x.gif", "--fps", "4"
    assert render(*words, "--operations", "--hold", "0.5") == (0, "")
    moments = len(sv.Session(sv.Network([3, 8, 3], "tanh", "sigmoid"), data.Rgb()).operations)
    assert f"{1 + 2 * moments + 4} pictures" in out[-1]
    code, said = render(*words, "--hold", "0.5")
    assert code == 1 and "--hold is the time of an operation: add --operations" in said


def test_a_place_where_nothing_can_be_drawn_is_told_before_the_first_step(
    render: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(*given: object) -> None:
        raise DisplayError("there is no OpenGL here")

    monkeypatch.setattr("scalarviz.scene.picture.Canvas", lack)
    monkeypatch.setattr(sv.Session, "advance", refuse_to_train)
    code, said = render(*SMALL, "-o", "x.png")
    assert (code, said) == (1, "scalarviz: there is no OpenGL here\n")


@pytest.mark.parametrize("name", ["x.png", "x.html", "x.gif"])
def test_ctrl_c_draws_nothing_and_is_saved(
    render: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = sv.Session.advance

    def interrupted(session: sv.Session, *count: int) -> None:
        signal.raise_signal(signal.SIGINT)
        steps(session, *count)

    monkeypatch.setattr(sv.Session, "advance", interrupted)
    words = (*SMALL[:-3], "30", *SMALL[-2:])
    code, said = render(*words, "-o", name, "--save", "it.safetensors")
    assert (code, said) == (130, "")
    assert [each.name for each in Path().iterdir()] == ["it.safetensors"]
    assert sv.Session.load("it.safetensors").step_index == 1


def test_a_long_training_and_a_long_video_have_bars(render: Any, clock: Clock, tty: Tty) -> None:
    clock.each = 1.0
    assert render(*SMALL, "-o", "x.png")[0] == 0
    assert re.search("1 of 3 steps [━╺╸]+ +33% loss 0", tty.words)
    assert tty.getvalue().endswith(REMOVED) and "pictures" not in tty.words
    assert render(*SMALL, "-o", "x.gif", "--autosave", "0.000001", "--save", "it")[0] == 0
    assert re.search("3 of 4 pictures [━╺╸]+ +75% loss 0", tty.words)
    assert tty.getvalue().endswith(REMOVED)


@pytest.mark.parametrize("name", ["x.png", "x.html"])
def test_what_fails_to_be_drawn_is_saved(
    render: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: object) -> None:
        raise FileError("the disk is full")

    monkeypatch.setattr("scalarviz.stage.render.replace_file", full)
    assert render(*SMALL, "-o", name, "--save", "it.safetensors")[0] == 1
    assert sv.Session.load("it.safetensors").step_index == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sv.Session, "save", refuse_to_train)
        assert render(*SMALL, "-o", name, "--save", "it.safetensors", "--theme", "no")[0] == 2


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["x.png", "x.html", "x.gif"])
def test_a_loss_that_is_not_finite_is_told_and_drawn(
    render: Any, name: str, tmp_path: Path, out: list[str]
) -> None:
    (tmp_path / "lost.py").write_text(LOST, encoding="utf-8")
    assert render("lost.py", "--steps", "3", "--pixels", "64x48", "-o", name) == (0, "")
    assert Path(name).exists()
    assert (
        "The loss is inf from step 1 on, most likely since the learning rate of 0.1 is too large."
        "\nNothing was saved: begin again with --lr 0.01, or less.\n"
    ) in out[-1]


def test_slots_of_the_optimizer_can_be_chosen_before_they_have_numbers() -> None:
    net = sv.Network([2, 4, 1], "tanh", seed=0)
    session = sv.Session(net, data.Xor(), "mse", sv.Adam(0.1), engine="python")
    stage = Stage(session)
    plain = "value", "gradient", "last change", "change since start"
    assert stage.channels == [*plain, "m", "v", "w*x", "x*g"]
    stage.color = stage.size = "m"
    assert not stage.frame_data().cubes.colors.any()
    session.advance(1)
    seen = stage.frame_data().cubes
    assert (seen.colors == net.bank.slots["m"]).all() and seen.colors.any()
    assert seen.clipped == 0  # the scale was chosen when there were numbers to choose it by


@pytest.mark.parametrize(("suffix", "drawer"), [(".png", "picture"), (".html", "storyboard")])
def test_what_is_not_said_is_as_in_python(
    render: Any, monkeypatch: pytest.MonkeyPatch, suffix: str, drawer: str
) -> None:
    looks: list[RenderOptions] = []
    monkeypatch.setattr(render_scene, drawer, lambda *_, look: looks.append(look) or 1)
    render("rgb", "--engine", "python", "--steps", "3", "--out", f"net{suffix}")
    assert looks == [RenderOptions() if suffix == ".png" else replace(PAGE, samples=2)]
