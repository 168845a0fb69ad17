"""A window that loses its connection to the display: what it trained is saved, and it ends."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import scalarviz as sv
from tests.root import ROOT

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
