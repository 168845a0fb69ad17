"""Windows that end or lack something.

A signal, the display, the context, libraries, another picture.
"""

import ctypes
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError
from scalarviz.faces.window import display_check
from tests.base.test_processes import HUP, INT, RGB, TERM, Ended
from tests.machine import ROOT, output_of
from tests.stage.many_pictures import MOST, grown, linux
from tests.wording import refused

WATCH = ("watch", *RGB)
BEGIN = """
print("begins")
from scalarviz.faces.window import main_window as frame
tick = frame.MainWindow._tick
def told(self):
    tick(self)
    if self.view.drawn and not hasattr(self, "told"):
        self.told = print("drawn")
frame.MainWindow._tick = told
from scalarviz.faces.cli.commands import main
main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("signals", "codes"),
    [
        ([TERM, *[INT, HUP] * 10], (129, 130, 143)),
        pytest.param([INT], (130,), marks=pytest.mark.slow),
        pytest.param([TERM], (143,), marks=pytest.mark.slow),
    ],
)
def test_a_window_ends_however_often_it_is_asked(
    signals: list[signal.Signals], codes: tuple[int], tmp_path: Path, screen: Mapping[str, str]
) -> None:
    ended = Ended(WATCH, signals, tmp_path, after="drawn", apart=0.003, begin=BEGIN, **screen)
    assert ended.code in codes and ended.seconds < 3.0
    assert not (ended.processes or ended.files) and ended.errors == ""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
def test_the_compiler_of_a_first_start_ends_with_it(
    tmp_path: Path, screen: Mapping[str, str]
) -> None:
    cache = {"SCALARVIZ_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "here").mkdir()
    words = ("watch", "rgb", "--engine", "cpu")
    ended = Ended(
        words, [TERM], tmp_path / "here", after="drawn", wait=0.5, begin=BEGIN, **screen | cache
    )
    assert (ended.code, ended.processes, ended.files) == (143, [], [])


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_window_ends_whenever_it_is_asked(
    seed: int, tmp_path: Path, screen: Mapping[str, str]
) -> None:
    chance = random.Random(seed)
    signals = chance.choices([INT, TERM, HUP], k=chance.randint(1, 20))
    wait, apart = chance.uniform(0.3, 4.0), chance.choice([0.0, 0.003, 0.05])
    given = {"handles": False, "wait": wait, "apart": apart, "begin": BEGIN}
    ended = Ended(WATCH, signals, tmp_path, **given, **screen)
    assert ended.code in [each for s in (INT, TERM, HUP) for each in (128 + s, -s)], ended.errors
    assert ended.seconds < 6.0 and not ended.processes and not ended.files


# The X server ends the connection while a picture is drawn: the driver never returns from it then.
LOST = """
import ctypes, os, time
from scalarviz.stage.stage import Stage
from scalarviz.faces.window.picture_widget import View
from scalarviz.faces.cli.commands import main

draw, views = Stage.draw, []

def drawn(stage, *given):
    if stage.show.session.step_index > 3 and views:
        xcb = ctypes.CDLL("libxcb.so.1")
        xcb.xcb_connect.restype = ctypes.c_void_p
        xcb.xcb_kill_client.argtypes = ctypes.c_void_p, ctypes.c_uint32
        xcb.xcb_flush.argtypes = [ctypes.c_void_p]
        server = xcb.xcb_connect(os.environ["DISPLAY"].encode(), None)
        xcb.xcb_kill_client(server, int(views.pop().widget.window().winId()))
        xcb.xcb_flush(server)
        time.sleep(0.5)
    draw(stage, *given)

def made(view, *given):
    begin(view, *given)
    views.append(view)

Stage.draw, begin, View.__init__ = drawn, View.__init__, made
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="it is an X server that is lost")
def test_a_lost_display_ends_the_training_and_saves_it(
    tmp_path: Path, screen: Mapping[str, str]
) -> None:
    words = ["watch", "rgb", "--engine", "python", "--speed", "0", "--save", "run.safetensors"]
    done = subprocess.run(
        [sys.executable, "-c", LOST, *words],
        env={**screen, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    # 0: the driver has returned, and Qt ends the window.
    assert (done.returncode == 1) == ("display is lost" in done.stderr), done.stderr
    assert "Saved to run.safetensors" in done.stdout
    assert sv.Session.load(tmp_path / "run.safetensors").step_index > 3


def seen_by(screen: Mapping[str, str], program: str, *words: str) -> list[str]:
    """What a program beside this file prints."""
    return output_of("-m", f"tests.faces.window.{program}", *words, env=screen).splitlines()


@pytest.mark.slow
def test_a_window_goes_on_after_one_lost_frame(screen: Mapping[str, str]) -> None:
    said = seen_by(screen, "lost_context", "once")
    assert "frames True colors True" in said and "code 0" in said


@pytest.mark.slow
def test_one_that_cannot_draw_at_all_any_more_ends_with_a_sentence(
    screen: Mapping[str, str],
) -> None:
    said = seen_by(screen, "lost_context", "always")
    assert "OpenGL failed while drawing (OpenGL got errors" in said[-1]
    assert not any(line.startswith(("frames", "code")) for line in said)


@pytest.mark.slow
def test_a_context_that_is_refused_is_told_with_what_is_possible(
    screen: Mapping[str, str],
) -> None:
    said = seen_by({**screen, "QT_XCB_GL_INTEGRATION": "none"}, "lost_context", "never")
    assert said[-1].startswith("OpenGL cannot be used here (Qt makes no context)")
    assert "browser=True" in said[-1]


def run_deeds(screen: Mapping[str, str], *words: str) -> list[str]:
    """What a program with these deeds saw."""
    said = seen_by(screen, "one_process", *words)
    return [line for line in said if line.split()[0] in words]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (["picture", "watch"], ["same", "seen"]),
        (["watch", "picture", "watch"], ["seen", "same", "seen"]),
        (["picture", "watch", "picture", "watch", "picture"], ["same", "seen"] * 2 + ["same"]),
        (["inside", "picture", "inside"], ["seen same", "same", "seen same"]),
        (["beside"] * 3, ["seen same"] * 3),
        (["picture", "beside", "watch", "beside"], ["same", "seen same", "seen", "seen same"]),
    ],
)
def test_in_every_order(screen: Mapping[str, str], words: list[str], seen: list[str]) -> None:
    found = run_deeds(screen, *words)
    assert found == [f"{word} {each}" for word, each in zip(words, seen, strict=True)]


@pytest.mark.slow
def test_where_qt_must_draw_by_glx_it_says_what_is_possible(screen: Mapping[str, str]) -> None:
    glx = {**screen, "QT_XCB_GL_INTEGRATION": "xcb_glx"}
    assert run_deeds(glx, "watch", "picture", "inside") == [
        "watch seen",
        "picture same",
        "inside seen same",
    ]
    command = [sys.executable, "-m", "tests.faces.window.one_process", "picture", "watch"]
    done = subprocess.run(command, env=glx, cwd=ROOT, capture_output=True, text=True)
    assert "this program already draws with EGL, and Qt would draw with GLX" in done.stderr


@linux
@pytest.mark.slow
def test_windows_that_are_closed_leave_no_memory_behind(screen: Mapping[str, str]) -> None:
    assert grown("window", 16, screen) < MOST


ABSENT = ("libxcb-cursor.so.0", "libxcb-shape.so.0", "libxkbcommon-x11.so.0")
INSTALL = "sudo apt-get install libxcb-cursor0 libxcb-shape0 libxkbcommon-x11-0"

# Runs a program where some libraries of the system are not, seen by nobody else.
HIDE = """
set -e
mkdir "$1/upper" "$1/work"
folder=$2
mount -t overlay -o "lowerdir=$folder,upperdir=$1/upper,workdir=$1/work" overlay "$folder"
rm "$folder"/libxcb-cursor.so* "$folder"/libxcb-shape.so* "$folder"/libxkbcommon-x11.so*
exec "$3" -c "from scalarviz.faces.window import display_check; display_check.check_linux()"
"""


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some libraries cannot be loaded, nor can what needs them: the loader names the first."""
    load = ctypes.CDLL

    def load_other(name: str) -> Any:
        asked = ABSENT[0] if name.endswith("libqxcb.so") else name
        if asked in ABSENT:
            raise OSError(f"{asked}: cannot open shared object file: No such file or directory")
        return load(name)

    monkeypatch.setattr(display_check.ctypes, "CDLL", load_other)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setenv("DISPLAY", ":59999")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing")
def test_who_opens_a_window_is_told_all_of_them_and_what_has_them(hidden: None) -> None:
    refused(DisplayError, *ABSENT, INSTALL).by(display_check.check_window)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing")
def test_a_library_that_nobody_knows_is_named_too() -> None:
    lack = "libnew-in-qt.so.7: cannot open shared object file: No such file or directory"
    assert display_check.missing(lack) == ["libnew-in-qt.so.7"]
    assert display_check.packages_of(["libnew-in-qt.so.7", "libEGL.so.1"]) == display_check.ALL
    assert display_check.told(["libEGL.so.1"]) == "libEGL.so.1 is missing"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing")
def test_what_qt_says_otherwise_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_check, "lack_of_qt", lambda: "version `GLIBC_9' not found")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    refused(DisplayError, "GLIBC_9").by(display_check.check_linux)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing")
@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf lists what a library takes")
def test_the_table_has_everything_that_the_plugin_takes() -> None:
    found = find_spec("PySide6")
    assert found is not None and found.origin is not None
    plugin = Path(found.origin).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    read = subprocess.run(["readelf", "-d", plugin], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"NEEDED.*\[(libx[^]]+|libX[^]]+|lib[EG]L[^]]+)\]", read.stdout))
    assert len(needed) > 10 and needed <= set(display_check.PACKAGES)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing")
@pytest.mark.slow
def test_it_is_so_where_they_really_are_not(tmp_path: Path) -> None:
    folder = Path(os.path.realpath(f"/usr/lib/{os.uname().machine}-linux-gnu"))
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True)
    if tried.returncode or not (folder / ABSENT[0]).exists():
        pytest.skip("hiding files from one process takes root, and Debian's folders")
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    command = ["unshare", "-m", "sh", "-c", HIDE, "hide", str(tmp_path), str(folder)]
    subprocess.run(["mount", "-t", "tmpfs", "none", str(tmp_path)], check=True)
    try:
        done = subprocess.run(
            [*command, sys.executable], env=environment, capture_output=True, text=True
        )
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    missing = f"{ABSENT[0]}, {ABSENT[1]} and {ABSENT[2]} are missing"
    assert done.stderr.endswith(f"Qt cannot be loaded ({missing}): {INSTALL}\n")
