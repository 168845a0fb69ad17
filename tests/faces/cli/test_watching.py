"""`scalarviz watch` where no window can be opened: words, a page that trains and a picture."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import DisplayError
from scalarviz.faces.cli import commands, watch_scene
from scalarviz.faces.cli.watch_scene import free_places, is_own, signed
from scalarviz.stage.encoders import png
from tests.faces.cli.test_class_pages import got
from tests.pages.pages import data_in
from tests.root import ROOT

QUICK = ("--engine", "python", "--steps", "20")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen")


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


def test_without_a_screen_it_trains_and_writes_a_page_and_a_picture(folder: Path) -> None:
    code, out, error = ran(
        folder, "watch", "rgb", *QUICK, "--speed", "7", "--save", "it.safetensors"
    )
    assert code == 0 and "Traceback" not in error, error
    assert "there is no screen" in out and "With --browser" in out and "needs PySide6" not in out
    assert re.search(r"step +20 +loss", out) and "20 steps: loss from" in out
    assert "rgb.html: open it in any browser" in out and "rgb.png: a picture" in out
    assert files(folder) == ["it.safetensors", "rgb.html", "rgb.png"]
    page = (folder / "rgb.html").read_bytes()
    assert data_in(page)["spec"]["page"]["speed"] == 7
    assert (folder / "rgb.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_files_of_others_stay_and_its_own_are_written_again(folder: Path) -> None:
    (folder / "rgb.png").write_bytes(b"mine")
    code, out, _ = ran(folder, "watch", "rgb", *QUICK)
    assert code == 0 and "rgb.html" in out and "rgb-2.html" in out
    assert files(folder) == ["rgb-2.html", "rgb-2.png", "rgb.png"]
    code, out, _ = ran(folder, "watch", "rgb", *QUICK, "--lr", "0.1")
    assert code == 0 and files(folder) == ["rgb-2.html", "rgb-2.png", "rgb.png"]
    assert (folder / "rgb.png").read_bytes() == b"mine"


def test_a_file_is_its_own_until_somebody_changes_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import numpy as np

    monkeypatch.chdir(folder)
    image = png(np.zeros((2, 3, 3), np.uint8))
    for name, content in (("a.html", b"<html>page</html>\n"), ("a.png", image)):
        Path(name).write_bytes(signed(content, Path(name).suffix))
        assert is_own(Path(name))
    assert free_places(["a"]) == ([Path("a.html")], Path("a.png"))
    changed = Path("a.html").read_bytes().replace(b"page", b"pane")
    Path("a.html").write_bytes(changed)
    assert not is_own(Path("a.html")) and is_own(Path("a.png"))
    assert free_places(["a"]) == ([Path("a-2.html")], Path("a-2.png"))
    Path("a-2.png").symlink_to("nowhere")
    assert free_places(["a"]) == ([Path("a-3.html")], Path("a-3.png"))
    assert free_places(["b/c", "d"]) == ([Path("b-c.html"), Path("d.html")], Path("b-c-d.png"))
    for content in (b"", b"short", image, b"<html></html>"):
        Path("a.html").write_bytes(content)
        assert not is_own(Path("a.html"))


def test_no_steps_are_refused_before_anything_is_said(folder: Path) -> None:
    code, out, error = ran(folder, "watch", "xor", "--engine", "python", "--steps", "0")
    assert (code, out, files(folder)) == (1, "", []) and "at least 1, not 0" in error


@pytest.mark.slow
def test_several_scenes_have_a_page_each_and_one_picture(folder: Path) -> None:
    code, out, error = ran(folder, "watch", "rgb", "xor", *QUICK)
    assert code == 0 and "Traceback" not in error, error
    assert "rgb: 20 steps: loss from" in out and "xor: 20 steps: loss from" in out
    assert files(folder) == ["rgb-xor.png", "rgb.html", "xor.html"]


@pytest.mark.slow
def test_a_link_and_a_kept_training_are_shown_as_they_are(folder: Path) -> None:
    code, out, _ = ran(folder, "open", "xor?engine=python#step=5")
    assert code == 0 and files(folder) == ["xor.html", "xor.png"], out
    ran(folder, "train", "xor", *QUICK, "--save", "kept.safetensors")
    code, out, _ = ran(folder, "replay", "kept.safetensors")
    assert code == 0 and "steps/s" not in out
    assert {"kept.html", "kept.png"} <= set(files(folder))


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


def test_alone_it_watches_rgb_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        watch_scene, "watch_anywhere", lambda *given, **more: told.append(given) or 0
    )
    with pytest.raises(SystemExit) as left:
        commands.main([])
    (show, given, name, _, recipe) = told[0]
    assert left.value.code == 0 or left.value.code is None
    assert (name, given["steps"]) == ("rgb", None) and "learns colours" in show.title
    assert recipe.values["hidden"] == 8


def test_a_fresh_process_opens_a_link(folder: Path) -> None:
    link = "xor?engine=python#step=3&op=2"
    assert ran(folder, "open", link, "--steps", "2")[0] == 0
    assert "xor.html" in files(folder)


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


@pytest.mark.slow
def test_a_context_that_is_refused_is_no_window(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(0))
    monkeypatch.setattr(watch_scene, "has_browser", lambda: False)
    with pytest.raises(SystemExit) as left:
        commands.main(["watch", "xor", *QUICK])
    assert not left.value.code and "No window: refused." in capsys.readouterr().out
    assert files(folder) == ["xor.html", "xor.png"]
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(1))
    with pytest.raises(SystemExit) as left:
        commands.main(["watch", "xor", *QUICK])
    assert left.value.code == 1 and "refused" in capsys.readouterr().err


@pytest.mark.slow
def test_what_cannot_be_made_is_left_out_with_its_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*given: Any, **more: Any) -> Any:
        raise DisplayError("no OpenGL")

    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(watch_scene.faces, "watch", Fallen(0))
    monkeypatch.setattr(watch_scene, "picture", refuse)
    seen: list[str] = []
    monkeypatch.setattr(watch_scene, "has_browser", lambda: True)
    monkeypatch.setattr(watch_scene.webbrowser, "open", seen.append)
    with pytest.raises(SystemExit) as left:
        commands.main(["watch", "xor", *QUICK])
    assert not left.value.code and "xor.png is not written: no OpenGL" in capsys.readouterr().out
    assert seen == [(folder / "xor.html").resolve().as_uri()]
    monkeypatch.setattr(watch_scene, "page_of", refuse)
    with pytest.raises(SystemExit) as left:
        commands.main(["watch", "xor", *QUICK])
    assert left.value.code == 1
