"""Saving shows how much of a file is written, if that takes longer than a second."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import progress
from scalarviz.base.progress import Progress
from scalarviz.errors import InputError
from scalarviz.files import atomic
from tests.bars import REMOVED, Clock, Tty, clock, tty
from tests.wording import refused

__all__ = ["clock", "tty"]  # fixtures

NET = sv.Network([2, 4, 1], "tanh", seed=0)


def saves_network(folder: Path, **options: Any) -> None:
    NET.save(folder / "net.safetensors", **options)
    assert sv.load(folder / "net.safetensors").bank.value.tolist() == NET.bank.value.tolist()


def saves_session(folder: Path, **options: Any) -> None:
    session = sv.Session(NET.copy(), data.Xor(), engine="python")
    session.save(folder / "run.safetensors", **options)
    assert sv.Session.load(folder / "run.safetensors").step_index == 0


def saves_onnx(folder: Path, **options: Any) -> None:
    pytest.importorskip("onnx", reason="needs the extra onnx")
    sv.onnx.save(NET, folder / "net.onnx", **options)
    assert sv.onnx.load(folder / "net.onnx").bank.value.tolist() == NET.bank.value.tolist()


SAVES = pytest.mark.parametrize("save", [saves_network, saves_session, saves_onnx])


@pytest.fixture(autouse=True)
def _large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files, as if each byte were a megabyte that is written by itself."""
    monkeypatch.setattr(atomic, "PIECE", 50)
    for module in (atomic, progress):
        monkeypatch.setattr(module, "MEGABYTE", 1)


@SAVES
def test_a_large_file_has_a_bar_while_it_is_written(
    save: Callable[..., None], tmp_path: Path, clock: Clock, tty: Tty
) -> None:
    clock.each = 1.0
    save(tmp_path)
    (file,) = tmp_path.iterdir()
    said = rf"saving: 100 of {file.stat().st_size:,} MB [━╺╸]+ +\d+% 50 MB/s"
    assert re.search(said, tty.words) and tty.getvalue().endswith(REMOVED)


@SAVES
def test_quick_saving_and_progress_false_show_nothing(
    save: Callable[..., None], tmp_path: Path, clock: Clock, tty: Tty
) -> None:
    save(tmp_path)
    clock.each = 1.0
    save(tmp_path, progress=False)
    with Progress(9, wanted=False):
        save(tmp_path)
    assert tty.getvalue() == ""
    with refused(InputError, "progress must be True or False, not 'no'"):
        save(tmp_path, progress="no")


def test_ctrl_c_keeps_the_old_file_and_removes_the_bar(
    tmp_path: Path, clock: Clock, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    NET.save(path := tmp_path / "net.safetensors")
    before, tell, clock.each = path.read_bytes(), Progress.tell, 1.0

    def interrupted(self: Progress, done: int, loss: float = 0.0) -> None:
        tell(self, done, loss)
        if done >= 100:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "tell", interrupted)
    other = sv.Network([2, 4, 1], "tanh", seed=1)
    with pytest.raises(KeyboardInterrupt):
        other.save(path)
    assert "100 of" in tty.words and tty.getvalue().endswith(REMOVED)
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]
