"""The set-up in the Makefile, with a fake apt and fake Pythons."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.root import ROOT

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


@pytest.fixture
def dotted(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Runs a command of sh as the set-up runs pip; a dot comes every tenth of a second."""
    (tmp_path / "fakes").mkdir()
    (tmp_path / "fakes" / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.1\n")
    (tmp_path / "fakes" / "sleep").chmod(0o755)
    rule = (
        f"include {ROOT / 'Makefile'}\nit:\n\t@exec sh -uc \"$$DOTS && with_dots sh -c '$$WORK'\""
    )
    (tmp_path / "makefile").write_text(rule)
    begun = []

    def begin(work: str) -> subprocess.Popen[str]:
        environment = os.environ | {"PATH": f"{tmp_path / 'fakes'}:/usr/bin:/bin", "WORK": work}
        begun.append(
            subprocess.Popen(
                ["make", "-s", "-f", "makefile", "it"], cwd=tmp_path, env=environment,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            )
        )  # fmt: skip
        return begun[-1]

    yield begin
    for each in begun:
        with suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)


@pytest.mark.parametrize("code", [0, 3])
def test_what_takes_long_prints_dots_and_then_what_it_said(dotted: Any, code: int) -> None:
    out, error = dotted(f"/bin/sleep 1; echo one; echo two >&2; exit {code}").communicate()
    assert re.fullmatch(r"\.{3,12}\none\ntwo\n", out), out
    assert (f"Error {code}" in error) == bool(code)
    assert dotted("true").communicate()[0] == "\n"


def test_no_dots_outlive_a_set_up_that_is_killed(dotted: Any) -> None:
    going = dotted("/bin/sleep 60 >/dev/null 2>&1")
    assert going.stdout.read(2) == ".."
    os.killpg(going.pid, signal.SIGINT)
    going.wait(10)
    assert len(going.communicate(timeout=10)[0]) < 20  # the pipe is closed: nobody writes
