"""The set-up in the Makefile, with a fake apt and fake Pythons."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCKED = (
    "E: Could not get lock /var/lib/{0}lock. It is held by process 4711 (unattended-upgr)\n"
    "E: Unable to lock directory /var/lib/{0}\n"
)
FAKES = {
    "dpkg-query": "exit 1",
    "id": "echo 0",
    "sleep": 'echo "sleep $@" >> "$TOLD"',
    # Of the answers that were prepared, each is given once; then all goes well.
    "apt-get": """
        echo "$@" >> "$TOLD"
        first=$(ls "$ANSWERS" | head -1)
        [ -n "$first" ] || exit 0
        cat "$ANSWERS/$first" >&2
        rm "$ANSWERS/$first"
        exit 100""",
    **dict.fromkeys(["python3", *(f"python3.{minor}" for minor in range(11, 16))], "exit 1"),
}

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("make") is None, reason="the set-up is that of Debian"
)


class Ran:
    """What came of `make watch`: what it said, what it complained of, what was asked for."""

    def __init__(self, folder: Path, answers: list[str]) -> None:
        for name in ("Makefile", "setup.cfg", "setup.py", "pyproject.toml"):
            shutil.copy(ROOT / name, folder / name)
        fakes, prepared, told = folder / "fakes", folder / "answers", folder / "told"
        fakes.mkdir()
        prepared.mkdir()
        told.touch()
        for name, body in FAKES.items():
            (fakes / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
            (fakes / name).chmod(0o755)
        for i, answer in enumerate(answers):
            (prepared / f"{i:03}").write_text(answer, encoding="utf-8")
        # What `make test PYTHON=...` passes on to each make below it.
        own = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
        environment = own | {
            "PATH": f"{fakes}:/usr/bin:/bin",
            "TOLD": str(told),
            "ANSWERS": str(prepared),
        }
        done = subprocess.run(
            ["make", "watch"], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode
        self.said, self.complaint = done.stdout, done.stderr
        asked = [line.split() for line in told.read_text(encoding="utf-8").splitlines()]
        self.asked = [next(word for word in line if not word.startswith("-")) for line in asked]


def test_it_waits_for_an_apt_that_is_at_work_whichever_lock_it_holds(tmp_path: Path) -> None:
    busy = [LOCKED.format(lock) for lock in ("dpkg/", "dpkg/", "apt/lists/")]
    ran = Ran(tmp_path, [*busy[:2], "E: Unable to locate package libegl1\n", busy[2]])
    tried = ["install", "sleep"] * 2 + ["install", "update", "sleep", "update", "install"]
    assert ran.asked == tried
    waits = "waits for another apt, up to half an hour: process 4711 (unattended-upgr)"
    assert ran.said.count(waits) == 1
    assert "no Python found" in ran.complaint  # what comes after it


def test_what_apt_cannot_do_is_told_and_ends_it(tmp_path: Path) -> None:
    ran = Ran(tmp_path, ["E: Unable to locate package libegl1\n", "E: no network\n"])
    assert ran.asked == ["install", "update"]
    assert "apt could not install" in ran.complaint and "E: no network" in ran.complaint


@pytest.mark.slow
def test_an_apt_that_never_ends_is_told_in_the_end(tmp_path: Path) -> None:
    ran = Ran(tmp_path, [LOCKED.format("dpkg/")] * 400)
    assert "Could not get lock /var/lib/dpkg/lock" in ran.complaint
    assert ran.asked.count("sleep") == 179
