"""`scalarviz page`: Ctrl-C ends it at once, and nothing is written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import InputError
from scalarviz.faces.cli import render_scene
from scalarviz.faces.controller.train import Autosave
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from tests.root import ROOT
from tests.wording import refused


def test_ctrl_c_ends_it_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def stopped(*_: object, **__: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(render_scene, "page_of", stopped)
    show = Show.of(load(find("xor"))(engine="python"))
    out = tmp_path / "x.html"
    code = render_scene.write_page(show, {"out": str(out), "steps": None}, "xor", Autosave())
    assert code == 130 and not out.exists()
    assert "no page was written" in capsys.readouterr().out


@pytest.mark.slow
def test_a_long_recording_ends_at_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    command = [sys.executable, "-m", "scalarviz", "page", "xor", "--engine", "python"]
    command += ["--no-engine", "--record", "200000", "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as run:
        time.sleep(8.0)
        assert run.poll() is None
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(20.0) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["record", "every"])
def test_a_recording_of_no_steps_is_refused(option: str, tmp_path: Path) -> None:
    show = Show.of(load(find("xor"))(engine="python"))
    given = {"out": str(tmp_path / "x.html"), "steps": None, "no_engine": True, option: 0}
    with refused(InputError, 0):
        render_scene.write_page(show, given, "xor", Autosave())
    assert list(tmp_path.iterdir()) == []
