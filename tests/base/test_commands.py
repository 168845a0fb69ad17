"""Commands that are printed can be pasted: they lead to this scalarviz, and to this Python."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scalarviz.base import shell_commands
from scalarviz.base.shell_commands import called, needed, pasted, pip_command, program, requirements
from scalarviz.errors import InputError
from tests.root import ROOT
from tests.wording import refused


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of a checkout's .venv, in which this Python is said to run."""
    folder = tmp_path / "a folder" / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "scalarviz"):
        (folder / name).write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(folder.parents[1])
    return folder


def run(command: str) -> list[str]:
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    return shlex.split(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake programs are scripts of a shell")
def test_what_is_printed_can_be_pasted_where_the_path_does_not_lead_to_it(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pasted("scalarviz watch rgb --hidden 0") == ".venv/bin/scalarviz watch rgb --hidden 0"
    assert run(pasted("scalarviz watch rgb")) == [".venv/bin/scalarviz", "watch", "rgb"]
    assert pip_command("video") == ".venv/bin/python -m pip install 'av>=12' 'Pillow>=10.1'"
    monkeypatch.chdir("/")
    assert run(f"{program()} list")[-1] == "list"
    assert pasted("look at the loss") == "look at the loss"


def test_it_has_its_name_where_the_path_leads_to_it(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "scalarviz").symlink_to(venv / "scalarviz")
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert program() == "scalarviz"
    other = tmp_path / "other" / "scalarviz"  # of another environment
    other.parent.mkdir()
    other.write_bytes((venv / "scalarviz").read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert program() == ".venv/bin/scalarviz"
    (venv / "scalarviz").unlink()  # run from a folder without being installed
    assert program() == ".venv/bin/python -m scalarviz"


def test_a_path_is_short_only_where_a_shell_takes_it_for_a_path(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(venv)
    assert called(sys.executable) == sys.executable
    gone = venv / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert called(sys.executable) == sys.executable
    monkeypatch.chdir("/")


def test_requirements_are_those_of_this_system(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        "numpy>=1.26",
        'one>=1; extra == "notebook"',
        'PySide6-Essentials!=6.12.0,>=6.8; sys_platform != "{}" and extra == "notebook"',
        'two[more]<2; sys_platform == "{}" and extra == "notebook"',
        'three; sys_platform == "{}"',
    ]
    monkeypatch.setattr(
        shell_commands, "requires", lambda _: [e.format(sys.platform) for e in listed]
    )
    assert requirements("notebook") == ["one>=1", "two[more]<2"]
    assert requirements("") == ["numpy>=1.26", "three"]
    folder = ROOT.as_uri()
    assert requirements("none") == [f"scalarviz[none] @ {folder}"]


def test_only_what_is_lacking_is_to_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = ["numpy>=1", "numpy>=1000", "no-such-package"]
    monkeypatch.setattr(
        shell_commands, "requires", lambda _: [f"{e}; extra == 'x'" for e in listed]
    )
    assert requirements("x") == listed
    assert pip_command("x", "linux").endswith("install 'numpy>=1000' no-such-package")


def test_a_missing_package_is_told_with_the_command_that_installs_it() -> None:
    assert needed("os", "this needs os", "none") is os
    with refused(InputError, "no_such_module", "av>=12", "or do without") as caught:
        needed("no_such_module", "this needs no_such_module", "video", ", or do without")
    assert isinstance(caught.value.__cause__, ImportError)
