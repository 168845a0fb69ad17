"""`scalarviz lessons` copies notebooks and the guide, and opens them."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from scalarviz.base.shell_commands import pip_command
from scalarviz.faces.cli import lessons
from scalarviz.faces.cli.lessons import copy_lessons
from tests.machine import ROOT


def test_lessons_and_the_guide_are_copied_and_what_is_there_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "find_spec", lambda name: object())
    mine = tmp_path / "a room" / "notebooks" / "05-xor.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_text("my answers")
    copy_lessons(str(tmp_path / "a room"))
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("1 existing files were kept")
    assert said[2].endswith(f"jupyter lab '{tmp_path}/a room'")
    assert mine.read_text() == "my answers"
    for folder in ("notebooks", "docs/guide"):
        copied = {path.name for path in (tmp_path / "a room" / folder).iterdir()}
        assert copied == {path.name for path in (ROOT / folder).iterdir() if path.is_file()}


def test_they_are_opened_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[list[str]] = []
    monkeypatch.setitem(sys.modules, "jupyterlab.labapp", SimpleNamespace(main=opened.append))
    monkeypatch.setattr(lessons, "find_spec", lambda name: object())
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    copy_lessons(str(tmp_path))
    assert opened == [["--allow-root", f"--notebook-dir={tmp_path}"]]


def test_what_is_missing_to_open_them_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "find_spec", lambda name: None)
    copy_lessons(str(tmp_path))
    assert pip_command("lessons") in capsys.readouterr().out
