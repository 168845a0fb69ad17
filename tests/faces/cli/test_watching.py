"""`scalarviz watch`, `open` and `render`: one scene or several, with a window or without."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.shell_commands import program
from scalarviz.errors import DisplayError, FileError, InputError, ScalarvizError, UnknownNameError
from scalarviz.faces import watch as faces
from scalarviz.faces.cli import commands, render_scene, watch_scene
from scalarviz.faces.cli.watch_scene import free_places, is_own, signed
from scalarviz.faces.scene_options import RUNNING, WATCHING, kind_of, option_words
from scalarviz.pages import addresses
from scalarviz.pages.plain_pages import index_of
from scalarviz.pages.web_server import PageServer
from scalarviz.scene.offscreen import make_canvas
from scalarviz.stage.encoders import png
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several
from scalarviz.stage.stage import Stage
from tests.base.test_progress import REMOVED, Clock, Tty, clock, tty
from tests.machine import ROOT
from tests.pages.node import data_in
from tests.pages.test_web_server import got
from tests.sessions import advanced, session_on
from tests.wording import refused

QUICK = ("--engine", "python", "--steps", "20")


def nowhere() -> dict[str, str]:
    """The environment of a container or a server: no screen, no browser."""
    kept = ("PATH", "HOME", "SCALARVIZ_CACHE_DIR")  # kernels that are compiled already
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": str(ROOT)
    }


def ran(folder: Path, *words: str) -> tuple[int, str, str]:
    """The exit code of a command line there, and what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "scalarviz", *words], cwd=folder, env=nowhere(),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (made := tmp_path / "own").mkdir()
    return made


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_without_a_screen_it_trains_and_writes_a_page_and_a_picture(folder: Path) -> None:
    code, out, error = ran(
        folder, "watch", "rgb", *QUICK, "--speed", "7", "--save", "it.safetensors"
    )
    assert code == 0 and "Traceback" not in error, error
    assert "no screen to open" in out and "Pass --browser" in out and "needs PySide6" not in out
    assert re.search(r"step +20 +loss", out) and "20 steps: loss from" in out
    assert "rgb.html: open it in any browser" in out and "rgb.png: a picture" in out
    assert files(folder) == ["it.safetensors", "rgb.html", "rgb.png"]
    assert data_in((folder / "rgb.html").read_bytes())["spec"]["page"]["speed"] == 7
    assert (folder / "rgb.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_files_of_others_stay_and_its_own_are_written_again(folder: Path) -> None:
    (folder / "rgb.png").write_bytes(b"mine")
    code, out, _ = ran(folder, "watch", "rgb", *QUICK)
    assert code == 0 and "rgb.html" in out and "rgb-2.html" in out
    assert files(folder) == ["rgb-2.html", "rgb-2.png", "rgb.png"]
    code, out, _ = ran(folder, "watch", "rgb", *QUICK, "--lr", "0.1")
    assert code == 0 and files(folder) == ["rgb-2.html", "rgb-2.png", "rgb.png"]
    assert (folder / "rgb.png").read_bytes() == b"mine"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_a_file_is_its_own_until_somebody_changes_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    image = png(np.zeros((2, 3, 3), np.uint8))
    for name, content in (("a.html", b"<html>page</html>\n"), ("a.png", image)):
        Path(name).write_bytes(signed(content, Path(name).suffix))
        assert is_own(Path(name))
    assert free_places(["a"]) == ([Path("a.html")], Path("a.png"))
    Path("a.html").write_bytes(Path("a.html").read_bytes().replace(b"page", b"pane"))
    assert not is_own(Path("a.html")) and is_own(Path("a.png"))
    assert free_places(["a"]) == ([Path("a-2.html")], Path("a-2.png"))
    Path("a-2.png").symlink_to("nowhere")
    assert free_places(["a"]) == ([Path("a-3.html")], Path("a-3.png"))
    assert free_places(["b/c", "d"]) == ([Path("b-c.html"), Path("d.html")], Path("b-c-d.png"))
    for content in (b"", b"short", image, b"<html></html>"):
        Path("a.html").write_bytes(content)
        assert not is_own(Path("a.html"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_no_steps_are_refused_before_anything_is_said(folder: Path) -> None:
    code, out, error = ran(folder, "watch", "xor", "--engine", "python", "--steps", "0")
    assert (code, out, files(folder)) == (1, "", []) and "at least 1, not 0" in error


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_several_scenes_have_a_page_each_and_one_picture(folder: Path) -> None:
    code, out, error = ran(folder, "watch", "rgb", "xor", *QUICK)
    assert code == 0 and "Traceback" not in error, error
    assert "rgb: 20 steps: loss from" in out and "xor: 20 steps: loss from" in out
    assert files(folder) == ["rgb-xor.png", "rgb.html", "xor.html"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_a_link_and_a_kept_training_are_shown_as_they_are(folder: Path) -> None:
    code, out, _ = ran(folder, "open", "xor?engine=python#step=5")
    assert code == 0 and files(folder) == ["xor.html", "xor.png"], out
    ran(folder, "train", "xor", *QUICK, "--save", "kept.safetensors")
    code, out, _ = ran(folder, "replay", "kept.safetensors")
    assert code == 0 and "steps/s" not in out and "It trains" not in out
    assert "open FILE --browser` shows it" in out
    assert {"kept.html", "kept.png"} <= set(files(folder))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_serve_goes_on_until_ctrl_c_on_this_machine_alone(folder: Path) -> None:
    command = [sys.executable, "-m", "scalarviz", "watch", "xor", *QUICK, "--serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=nowhere(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        try:
            status, page = got(int(found[1]), "/")
            process.send_signal(signal.SIGINT)
            assert (status, process.wait(60)) == (200, 130)
        finally:
            process.kill()
    assert b"<html" in page and len(page) > 100_000 and "20 steps: loss from" in said
    assert signed(page, ".html") == (folder / "xor.html").read_bytes()


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("192.168.1.5", "In your network: http://192.168.1.5:"),
        ("", "This machine is not connected to a network"),
    ],
)
def test_in_a_network_the_address_of_this_machine_is_told_and_who_opens_pages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, found: str, said: str
) -> None:
    def fetch(server: PageServer) -> None:
        for path in ("/", "/xor.html", "/xor.html", "/rgb.html"):
            assert got(server.port, path)[0] == 200
        raise KeyboardInterrupt

    monkeypatch.setattr(addresses, "address_for_others", lambda version: found)
    monkeypatch.setattr(PageServer, "wait", fetch)
    pages = {"xor.html": b"a", "rgb.html": b"b", "index.html": index_of(["xor.html", "rgb.html"])}
    with watch_scene.served("0.0.0.0", 0) as server:
        assert watch_scene.until_ctrl_c(server, pages, "0.0.0.0") == 130
    out = capsys.readouterr().out
    assert said in out
    assert "127.0.0.1 opens xor.html\n127.0.0.1 opens rgb.html\nStopped. 1 device" in out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_alone_it_watches_rgb_in_a_terminal(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        watch_scene, "watch_anywhere", lambda *given, **more: told.append(given) or 0
    )
    assert run().code == 0
    (show, given, name, _, recipe) = told[0]
    assert (name, given["steps"]) == ("rgb", None) and "every colour" in show.title
    assert recipe.values["hidden"] == 8


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_a_fresh_process_opens_a_link(folder: Path) -> None:
    assert ran(folder, "open", "xor?engine=python#step=3&op=2", "--steps", "2")[0] == 0
    assert "xor.html" in files(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
def test_in_a_pipe_it_prints_its_help(folder: Path) -> None:
    code, out, _ = ran(folder)
    assert code == 0 and "Usage: scalarviz" in out and "watch" in out


class Fallen:
    """`watch` that loses its screen, before or after a step."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def __call__(self, show: Any, *given: Any, **more: Any) -> int:
        if self.steps:
            show.session.advance(self.steps)
        raise DisplayError("OpenGL is refused here; without a window") from DisplayError("refused")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_a_context_that_is_refused_is_no_window(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(0))
    monkeypatch.setattr(watch_scene, "has_browser", lambda: False)
    code, out, _ = run("watch", "xor", *QUICK)
    assert code == 0 and "No window: refused." in out
    assert files(folder) == ["xor.html", "xor.png"]
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(1))
    code, _, err = run("watch", "xor", *QUICK)
    assert code == 1 and "refused" in err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")
@pytest.mark.slow
def test_what_cannot_be_made_is_left_out_with_its_reason(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = Mock(side_effect=DisplayError("no OpenGL"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(0))
    monkeypatch.setattr(watch_scene, "picture", refuse)
    seen: list[str] = []
    monkeypatch.setattr(watch_scene, "has_browser", lambda: True)
    monkeypatch.setattr(watch_scene.webbrowser, "open", seen.append)
    code, out, _ = run("watch", "xor", *QUICK)
    assert code == 0 and "xor.png is not written: no OpenGL" in out
    assert seen == [(folder / "xor.html").resolve().as_uri()]
    monkeypatch.setattr(watch_scene, "page_of", refuse)
    assert run("watch", "xor", *QUICK).code == 1


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """opened(link, *options): the session and the arguments that a window would have."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(link: str, *options: str) -> tuple[sv.Session, dict[str, Any]]:
        seen: list[Any] = []

        def watch(show: Any, *given: Any, **more: Any) -> int:
            seen.append((show.session, more))
            return 0

        monkeypatch.setattr(faces, "watch", watch)
        with pytest.raises(SystemExit) as left:
            commands.obey(["open", link, *options])
        assert left.value.code == 0
        return seen[0]

    return run


PYTHON = "engine=python"


def test_a_scene_opens_at_its_moment(opened) -> None:
    s, given = opened(f"rgb?hidden=4&map=grey&{PYTHON}#step=12&op=3&pin=5&sample=1&theme=light")
    assert s.clock.place == (12, 3) and s.focus == 1 and len(s.network.bank) == 31
    assert given["pin"] == 5 and given["theme"] == "light" and given["play"] is False
    assert given["recipe"].values["map"] == "grey"
    straight = sv.Session(
        sv.Network([3, 4, 3], "tanh", "sigmoid"),
        data.Rgb("grey"),
        "mse",
        sv.SGD(0.5),
        8,
        "python",
    )
    straight.advance(12, progress=False)
    assert (s.network.bank.value == straight.network.bank.value).all()


def test_options_of_every_scene_and_of_watch_hold(opened) -> None:
    s, given = opened(f"xnor?optimizer=adam&bias=no&{PYTHON}#step=2&play=5", "--tour")
    assert s.optimizer.name == "adam" and s.network[0].bias is None
    assert given["tour"] and given["play"] and given["speed"] == 5
    assert opened(f"rgb?{PYTHON}")[1]["play"]  # without a moment it plays, as watch does
    assert opened(f"rgb?{PYTHON}#step=1", "--speed", "3", "--theme", "dark")[1]["speed"] == 3


def test_a_file_of_a_training_opens_at_its_moment(opened, tmp_path: Path) -> None:
    path = tmp_path / "a run.safetensors"
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine="python"), 9, progress=False)
    s.save(path)
    assert opened(f"{path}#step=4&op=2")[0].clock.place == (4, 2)
    assert opened(f"{path}#step=15")[0].step_index == 15  # beyond its end: trained up to
    assert opened(f"{path}#op=2")[0].clock.place == (9, 2)
    assert opened(str(path))[0].clock.place == (9, 0)
    _seen, given = opened(f"{path}#neuron=inputs:1")
    assert given["pin"] == ("inputs", 1) and given["recipe"] is None
    refused(InputError, varies="'[^']*'").by(
        watch_scene.opened, watch_scene.read_link(f"{path}?hidden=3"), {"limit": None}
    )


@pytest.mark.parametrize(
    ("link", "kind", "value"),
    [
        ("mine.py#step=1", InputError, "'mine.py'"),
        ("../mine.PY", InputError, "'../mine.PY'"),
        ("https://example.org/rgb#step=1", InputError, "https"),
        ("//host/share/run.safetensors", InputError, "'//host"),
        ("\\\\host\\share\\run", InputError, "host"),
        ("none.safetensors", InputError, "'none.safetensors'"),
        ("rbg#step=1", UnknownNameError, "'rbg'"),
        ("rgb?hiden=4", UnknownNameError, "'hiden'"),
        ("rgb?hidden=many", InputError, "'many'"),
        (f"rgb?{PYTHON}#pin=59", ScalarvizError, "59"),
        (f"rgb?{PYTHON}#op=40", InputError, "40"),
        (f"rgb?{PYTHON}#neuron=tanh 0:8", InputError, "tanh 0:8"),
        (f"rgb?{PYTHON}#sample=9", InputError, "9"),
    ],
)
def test_a_wrong_link_is_refused_in_one_sentence(
    link: str, kind: type[ScalarvizError], value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    usual = {"limit": None, "save": None, "autosave": None, "speed": None}
    refused(kind, value).by(watch_scene.open_link, link, usual)


@pytest.mark.usefixtures("in_tmp_path")
def test_a_link_runs_no_code_and_reads_no_network_file(tmp_path: Path) -> None:
    scene = tmp_path / "evil.py"
    scene.write_text("open('ran', 'w').close()\n", encoding="utf-8")
    for link in ("evil.py", "./evil.py#step=1", f"{scene}", "evil%2Epy"):
        refused(InputError, "code").by(
            watch_scene.opened, watch_scene.read_link(link), {"limit": None}
        )
    (tmp_path / "text.safetensors").write_bytes(b"import os")
    refused(FileError).by(
        watch_scene.opened, watch_scene.read_link("text.safetensors"), {"limit": None}
    )
    assert not (tmp_path / "ran").exists()


def test_a_far_step_is_trained_up_to_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = MagicMock(asked=False)
    stop.__enter__.return_value = stop
    monkeypatch.setattr(watch_scene, "Stop", lambda: stop)
    s = sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine="python")
    s.on_step(lambda view: setattr(stop, "asked", view.step >= 8))
    link = watch_scene.read_link("xor#step=100000000")
    assert not watch_scene.go_to_moment(s, link, watch_scene.Autosave())
    assert 8 <= s.step_index < 10_000


OPTIONS = ("--engine", "python", "--steps", "4")
SERVING = "browser", "address", "port"


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
    run: Any, watched: list[Any], tmp_path: Path
) -> None:
    session = advanced(session_on(sv.data.Xor(), [2, 3, 1], "tanh", optimizer=sv.SGD(0.5)), 6)
    path = str(tmp_path / "kept.safetensors")
    session.save(path)
    assert run("replay", path, "--branches")[0] == 0
    (shown, _), _, _ = watched.pop()
    assert isinstance(shown, sv.Show) and shown.title == "kept.safetensors"
    for count in range(1, 8):
        session.seek(1)
        session.learning_rate = count
        session.advance(1)
    session.save(path)
    assert run("replay", path, "--branches", "--theme", "light")[0] == 0
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


@pytest.mark.parametrize("name", [name for name in watch_scene.PASSED if name not in SERVING])
def test_an_option_that_watch_has_as_an_argument_is_passed_on(
    name: str, run: Any, watched: list[Any]
) -> None:
    option = (RUNNING | WATCHING)[name]
    _, other, *_ = *option.info.names, "", ""
    value = {bool: not option.default, int: 3, float: 2.0, str: other}[kind_of(option)]
    words = option_words(name.replace("_", "-"), value)
    assert run("watch", "rgb", "--engine", "python", *words)[0] == 0
    assert watched[0][2][name] == value


def test_watch_shows_all_scenes_with_the_options_of_all(run: Any, watched: list[Any]) -> None:
    assert run("watch", "rgb", "xor", *OPTIONS, "--lr", "0.125", "--speed", "7")[0] == 0
    (((several, recipes), _, named),) = watched
    assert isinstance(several, Several) and several.names == ("rgb", "xor")
    assert (named["steps"], named["speed"], named["theme"]) == (4, 7.0, "auto")
    for session, recipe in zip(several.sessions, recipes, strict=True):
        assert session.engine == "python" and session.learning_rate == 0.125
        assert recipe.values["lr"] == 0.125


def test_options_of_one_scene_follow_its_name(run: Any, watched: list[Any]) -> None:
    line = ("watch", "rgb?hidden=4&map=grey", "rgb?hidden=5", "xor?lr=2", "--engine", "python")
    assert run(*line)[0] == 0
    (((several, _), _, _),) = watched
    assert several.names == ("rgb, hidden 4, map grey", "rgb, hidden 5", "xor")
    networks = [session.network for session in several.sessions]
    assert [network.layers[0].outputs for network in networks[:2]] == [4, 5]
    assert several.sessions[2].learning_rate == 2.0


def test_one_scene_with_options_is_one_session(run: Any, watched: list[Any]) -> None:
    assert run("watch", "rgb?hidden=4", "--engine", "python")[0] == 0
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
        (("watch", "rgb#step=3"), 1, f"open it with `{program()} open 'rgb#step=3'`"),
        (("render", "rgb", "xor", "-o", "both.html"), 2, "unknown kind of file '.html'"),
        (("render", *["xor"] * 7), 1, "not 7"),
        (("watch", "rgb", "xor", "--tour"), 1, "the tour shows one session"),
        (("watch", "rgb", "xor", "--nonsense"), 2, "--nonsense"),
    ],
)
def test_a_mistake_is_one_sentence(run: Any, words: tuple[str, ...], code: int, said: str) -> None:
    engine = () if "--nonsense" in words else ("--engine", "python")
    found, out, err = run(*words, *engine)
    assert found == code and said in err and "Traceback" not in err and not out


def test_help_names_the_options_that_all_have(run: Any) -> None:
    code, out, _ = run("watch", "rgb", "xor", "--help")
    assert code == 0 and "--hidden" in out and "--speed" in out and "--map" not in out
    assert "side by side" in out


def test_render_writes_a_picture_of_all_and_what_became_of_each(run: Any, tmp_path: Path) -> None:
    try:
        make_canvas(8, 8)
    except DisplayError as error:
        pytest.skip(str(error))
    from PIL import Image

    path = tmp_path / "both.png"
    code, out, err = run("render", "rgb", "xor", *OPTIONS, "--pixels", "320x200", "-o", str(path))
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("rgb: 4 steps") and lines[1].startswith("xor: 4 steps")
    assert lines[-1] == str(path)
    with Image.open(path) as image:
        pixels = np.asarray(image)
    assert pixels.shape == (200, 320, 3) and len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
    code, out, err = run("render", "rgb", "xor", *OPTIONS, "--steps", "0", "-o", str(path))
    assert code == 0 and "rgb: 0 steps: nothing learned yet" in out, err
    film = tmp_path / "both.gif"
    line = ("render", "rgb?hidden=3", "rgb?hidden=4", *OPTIONS, "--pixels", "160x100")
    code, out, err = run(*line, "--every", "2", "--fps", "2", "-o", str(film))
    assert code == 0 and str(film) in out, err
    assert film.exists()


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
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: list[str]
) -> Callable[..., tuple[int, str]]:
    """What `scalarviz render` answers in a folder of its own: the exit code and the errors."""
    monkeypatch.chdir(tmp_path)

    def answer(*words: str) -> tuple[int, str]:
        code, said, err = run("render", *words)
        out.append(said)
        return code, err

    return answer


refuse_to_train = Mock(side_effect=AssertionError("a step was taken"))


@pytest.mark.usefixtures("opengl")
@pytest.mark.some(4)
@pytest.mark.parametrize("name", ["x.png", "x.gif"])
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
        ("--samples 99", "a pixel has 1 to 4 samples per side, not 99"),
        ("--pixels 4x4", "the width of a picture is 16 to 8192 pixels, not 4"),
        (
            "--move orbit",
            "--move is for videos, .mp4 or .gif, but NAME is not a video: leave it out",
        ),
        ("--fps 0", "--fps is for videos, .mp4 or .gif, but NAME is not a video: leave it out"),
        ("--every 2", "--every is for videos, .mp4 or .gif, but NAME is not a video: leave it out"),
        (
            "--operations",
            "--operations is for videos, .mp4 or .gif, but NAME is not a video: leave it out",
        ),
        ("--film", "--film is for videos, .mp4 or .gif, but NAME is not a video: leave it out"),
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


@pytest.mark.usefixtures("opengl")
@pytest.mark.slow
def test_no_steps_draw_the_start(
    render: Any, out: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at: list[int] = []
    draws = render_scene.picture

    def drawn(show: Any, *given: Any, **more: Any) -> Any:
        at.append(show.session.step_index)
        return draws(show, *given, **more)

    monkeypatch.setattr(render_scene, "picture", drawn)
    assert render(*SMALL, "--steps", "0", "-o", "a.png") == (0, "") and Path("a.png").is_file()
    assert at == [0]


@pytest.mark.usefixtures("opengl")
def test_each_operation_is_held_as_long_as_asked(render: Any, out: list[str]) -> None:
    words = *SMALL[:3], "--steps", "1", "--pixels", "64x48", "-o", "x.gif", "--fps", "4"
    assert render(*words, "--operations", "--hold", "0.5") == (0, "")
    moments = len(sv.Session(sv.Network([3, 8, 3], "tanh", "sigmoid"), data.Rgb()).operations)
    assert f"{1 + 2 * moments + 4} pictures" in out[-1]
    code, said = render(*words, "--hold", "0.5")
    assert code == 1 and "--hold is the time of an operation: add --operations" in said


@pytest.mark.usefixtures("opengl")
def test_a_place_where_nothing_can_be_drawn_is_told_before_the_first_step(
    render: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "scalarviz.scene.picture.Canvas", Mock(side_effect=DisplayError("there is no OpenGL here"))
    )
    monkeypatch.setattr(sv.Session, "advance", refuse_to_train)
    code, said = render(*SMALL, "-o", "x.png")
    assert (code, said) == (1, "scalarviz: there is no OpenGL here\n")


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("name", ["x.png", "x.gif"])
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


@pytest.mark.usefixtures("opengl")
def test_a_long_training_and_a_long_video_have_bars(render: Any, clock: Clock, tty: Tty) -> None:
    clock.each = 1.0
    assert render(*SMALL, "-o", "x.png")[0] == 0
    assert re.search("1 of 3 steps [━╺╸]+ +33% loss 0", tty.words)
    assert tty.getvalue().endswith(REMOVED) and "pictures" not in tty.words
    assert render(*SMALL, "-o", "x.gif", "--autosave", "0.000001", "--save", "it")[0] == 0
    assert re.search("3 of 4 pictures [━╺╸]+ +75% loss 0", tty.words)
    assert tty.getvalue().endswith(REMOVED)


@pytest.mark.some(1)
@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize(("name", "writer"), [("x.png", "render"), ("x.gif", "encoders")])
def test_what_fails_to_be_drawn_is_saved(
    render: Any, name: str, writer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=FileError("the disk is full"))
    monkeypatch.setattr(f"scalarviz.stage.{writer}.replace_file", full)
    assert render(*SMALL, "-o", name, "--save", "it.safetensors")[0] == 1
    assert sv.Session.load("it.safetensors").step_index == 3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sv.Session, "save", refuse_to_train)
        assert render(*SMALL, "-o", name, "--save", "it.safetensors", "--theme", "no")[0] == 2


@pytest.mark.usefixtures("opengl")
@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["x.png", "x.gif"])
def test_a_loss_that_is_not_finite_is_told_and_drawn(
    render: Any, name: str, tmp_path: Path, out: list[str]
) -> None:
    (tmp_path / "lost.py").write_text(LOST, encoding="utf-8")
    assert render("lost.py", "--steps", "3", "--pixels", "64x48", "-o", name) == (0, "")
    assert Path(name).exists()
    assert (
        "The loss is inf from step 1 on; the learning rate 0.1 is probably too large."
        "\nNothing was saved: start again with --lr 0.01 or less.\n"
    ) in out[-1]


@pytest.mark.usefixtures("opengl")
def test_slots_of_the_optimizer_can_be_chosen_before_they_have_numbers() -> None:
    net = sv.Network([2, 4, 1], "tanh", seed=0)
    session = sv.Session(net, data.Xor(), "mse", sv.Adam(0.1), engine="python")
    stage = Stage(session)
    plain = "value", "gradient", "last change", "change since start"
    assert stage.channels == [*plain, "m", "v", "w*x", "x*g"]
    stage.take(color="m", cubes="m")
    assert not stage.frame_data().cubes.colors.any()
    session.advance(1)
    seen = stage.frame_data().cubes
    assert (seen.colors == net.bank.slots["m"]).all() and seen.colors.any()
    assert seen.clipped == 0  # the scale was chosen when there were numbers to choose it by


@pytest.mark.usefixtures("opengl")
def test_what_is_not_said_is_as_in_python(render: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[RenderOptions] = []
    monkeypatch.setattr(render_scene, "picture", lambda *_, look: looks.append(look) or 1)
    render("rgb", "--engine", "python", "--steps", "3", "--out", "net.png")
    assert looks == [RenderOptions()]
