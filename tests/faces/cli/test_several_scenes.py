"""`scalarviz watch` and `scalarviz render` with several scenes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.shell_commands import program
from scalarviz.errors import DisplayError
from scalarviz.faces import watch as faces
from scalarviz.faces.cli import commands
from scalarviz.scene.offscreen import make_canvas
from scalarviz.stage.show import Several
from tests.sessions import advanced

OPTIONS = ("--engine", "python", "--steps", "4")


@pytest.fixture
def ran(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command line; return the exit code, what was printed, and what went wrong."""

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            commands.main(list(words))
        told = capsys.readouterr()
        return int(end.value.code or 0), told.out, told.err

    return run


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a window would show, and its other arguments."""
    found: list[Any] = []

    def watch(shown: object, *given: object, **named: object) -> int:
        found.append((faces.shown_in(shown, named.get("recipe")), given, named))  # type: ignore[arg-type]  # of many types
        return 0

    monkeypatch.setattr(faces, "watch", watch)
    return found


def test_the_newest_branches_of_a_kept_training_are_shown_side_by_side(
    ran: Any, watched: list[Any], tmp_path: Path
) -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    session = advanced(sv.Session(net, sv.data.Xor(), optimizer=sv.SGD(0.5), engine="python"), 6)
    path = str(tmp_path / "kept.safetensors")
    session.save(path)
    assert ran("replay", path, "--branches")[0] == 0
    (shown, _), _, _ = watched.pop()
    assert isinstance(shown, sv.Show) and shown.title == "kept.safetensors"
    for count in range(1, 8):
        session.seek(1)
        session.learning_rate = count
        session.advance(1)
    session.save(path)
    assert ran("replay", path, "--branches", "--theme", "light")[0] == 0
    (several, _), _, named = watched.pop()
    assert [each.current_branch.number for each in several.sessions] == [2, 3, 4, 5, 6, 7]
    assert several.names[0] == f"2. {session.branches[2].name}" and named["theme"] == "light"
    assert named["play"] is False


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["watch", "rgb", "xor", "--steps", "5"], ["rgb", "xor"]),
        (["render", "rgb?hidden=4", "-o", "x.png"], ["rgb?hidden=4"]),
        (["watch", "rgb"], []),
        (["watch", "rgb", "--lr", "0.1"], []),
        (["watch", "--help"], []),
        (["train", "rgb", "xor"], []),
        (["watch"], []),
        ([], []),
    ],
)
def test_scenes_are_the_words_before_the_options(words: list[str], found: list[str]) -> None:
    assert commands.scenes_in(words) == found


def test_watch_shows_all_scenes_with_the_options_of_all(ran: Any, watched: list[Any]) -> None:
    assert ran("watch", "rgb", "xor", *OPTIONS, "--lr", "0.125", "--speed", "7")[0] == 0
    (((several, recipes), _, named),) = watched
    assert isinstance(several, Several) and several.names == ("rgb", "xor")
    assert (named["steps"], named["speed"], named["theme"]) == (4, 7.0, "auto")
    for session, recipe in zip(several.sessions, recipes, strict=True):
        assert session.engine == "python" and session.learning_rate == 0.125
        assert recipe.values["lr"] == 0.125


def test_options_of_one_scene_follow_its_name(ran: Any, watched: list[Any]) -> None:
    line = ("watch", "rgb?hidden=4&map=grey", "rgb?hidden=5", "xor?lr=2", "--engine", "python")
    assert ran(*line)[0] == 0
    (((several, _), _, _),) = watched
    assert several.names == ("rgb, hidden 4, map grey", "rgb, hidden 5", "xor")
    networks = [session.network for session in several.sessions]
    assert [network.layers[0].outputs for network in networks[:2]] == [4, 5]
    assert several.sessions[2].learning_rate == 2.0


def test_one_scene_with_options_is_one_session(ran: Any, watched: list[Any]) -> None:
    assert ran("watch", "rgb?hidden=4", "--engine", "python")[0] == 0
    (((show, _), _, _),) = watched
    assert isinstance(show, sv.Show) and show.session.network.layers[0].outputs == 4


def test_the_same_scene_twice_has_two_names() -> None:
    named = commands.named_scenes(["rgb", "rgb", "xor", "rgb"])
    assert commands.names_of(named) == ["rgb", "rgb (2)", "xor", "rgb (3)"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("render", "rgb", "nonsense"), 2, "unknown scene 'nonsense'"),
        (("render", "rgb?foo=3", "xor"), 2, "unknown option of rgb 'foo'"),
        (("render", "rgb?hidden=x", "xor"), 1, "'x'"),
        (("watch", "rgb#step=3", "xor"), 1, "'rgb#step=3' names a moment"),
        (("watch", "rgb#step=3"), 1, f"go there by `{program()} open 'rgb#step=3'`"),
        (("render", "rgb", "xor", "-o", "both.html"), 1, "a page shows one scene, not 2"),
        (("render", *["xor"] * 7), 1, "not 7"),
        (("watch", "rgb", "xor", "--tour"), 1, "the tour is of one session"),
        (("watch", "rgb", "xor", "--nonsense"), 2, "--nonsense"),
    ],
)
def test_a_mistake_is_one_sentence(ran: Any, words: tuple[str, ...], code: int, said: str) -> None:
    engine = () if "--nonsense" in words else ("--engine", "python")
    found, out, err = ran(*words, *engine)
    assert found == code and said in err and "Traceback" not in err and not out


def test_help_names_the_options_that_all_have(ran: Any) -> None:
    code, out, _ = ran("watch", "rgb", "xor", "--help")
    assert code == 0 and "--hidden" in out and "--speed" in out and "--map" not in out
    assert "side by side" in out


def test_render_writes_a_picture_of_all_and_what_became_of_each(ran: Any, tmp_path: Path) -> None:
    try:
        make_canvas(8, 8)
    except DisplayError as error:
        pytest.skip(str(error))
    from PIL import Image

    path = tmp_path / "both.png"
    code, out, err = ran("render", "rgb", "xor", *OPTIONS, "--pixels", "320x200", "-o", str(path))
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("rgb: 4 steps") and lines[1].startswith("xor: 4 steps")
    assert lines[-1] == str(path)
    with Image.open(path) as image:
        pixels = np.asarray(image)
    assert pixels.shape == (200, 320, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
    code, out, err = ran("render", "rgb", "xor", *OPTIONS, "--steps", "0", "-o", str(path))
    assert code == 0 and "rgb: 0 steps: nothing learned yet" in out, err
    film = tmp_path / "both.gif"
    line = ("render", "rgb?hidden=3", "rgb?hidden=4", *OPTIONS, "--pixels", "160x100")
    code, out, err = ran(*line, "--every", "2", "--fps", "2", "-o", str(film))
    assert code == 0 and str(film) in out, err
    assert film.exists()
