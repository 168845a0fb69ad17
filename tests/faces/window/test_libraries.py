"""Libraries that Qt takes and a system has not: all of them are named, and what to install."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import DisplayError
from scalarviz.faces.cli import doctor
from scalarviz.faces.cli.doctor import CHECKS
from scalarviz.faces.window import display_check
from tests.wording import refused

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere PySide6 brings all it takes"),
    pytest.mark.skipif(find_spec("PySide6") is None, reason="without PySide6, that is missing"),
]
ABSENT = ("libxcb-cursor.so.0", "libxcb-shape.so.0", "libxkbcommon-x11.so.0")
INSTALL = "sudo apt-get install libxcb-cursor0 libxcb-shape0 libxkbcommon-x11-0"
WINDOW = next(check for check in CHECKS if check.name == "window")

# Runs a program where some libraries of the system are not, seen by nobody else.
HIDE = """
set -e
mkdir "$1/upper" "$1/work"
folder=$2
mount -t overlay -o "lowerdir=$folder,upperdir=$1/upper,workdir=$1/work" overlay "$folder"
rm "$folder"/libxcb-cursor.so* "$folder"/libxcb-shape.so* "$folder"/libxkbcommon-x11.so*
exec "$3" -m scalarviz.faces.cli.doctor window
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


def test_the_doctor_names_all_of_them_and_what_has_them(
    hidden: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.shutil, "which", lambda name: name)
    found = doctor.find(WINDOW, json.dumps(doctor.answer("window")))
    assert not found.works and found.mend == INSTALL
    assert found.said == f"{ABSENT[0]}, {ABSENT[1]} and {ABSENT[2]} are missing"


def test_who_opens_a_window_is_told_the_same(hidden: None) -> None:
    with refused(DisplayError, ABSENT[2]):
        display_check.check_window()


def test_a_library_that_nobody_knows_is_named_too() -> None:
    lack = "libnew-in-qt.so.7: cannot open shared object file: No such file or directory"
    assert display_check.missing(lack) == ["libnew-in-qt.so.7"]
    assert display_check.packages_of(["libnew-in-qt.so.7", "libEGL.so.1"]) == display_check.ALL
    assert display_check.told(["libEGL.so.1"]) == "libEGL.so.1 is missing"


def test_what_qt_says_otherwise_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_check, "lack_of_qt", lambda: "version `GLIBC_9' not found")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert doctor.answer("window")["said"] == "Qt cannot be loaded: version `GLIBC_9' not found"


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf lists what a library takes")
def test_the_table_has_everything_that_the_plugin_takes() -> None:
    found = find_spec("PySide6")
    assert found is not None and found.origin is not None
    plugin = Path(found.origin).parent / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    read = subprocess.run(["readelf", "-d", plugin], capture_output=True, text=True, check=True)
    needed = set(re.findall(r"NEEDED.*\[(libx[^]]+|libX[^]]+|lib[EG]L[^]]+)\]", read.stdout))
    assert len(needed) > 10 and needed <= set(display_check.PACKAGES)


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
    told = json.loads(done.stdout)
    assert told["said"] == f"{ABSENT[0]}, {ABSENT[1]} and {ABSENT[2]} are missing"
    assert f"sudo apt-get install {told['debian']}" == INSTALL
