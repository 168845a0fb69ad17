"""Ctrl-C.

The first one sets a flag, the second one interrupts, and some functions are never cut in two.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scalarviz.base.interrupt import Stop, StoppableProgram, ctrl_c, uncut
from tests.machine import ROOT

AS_MODULE = 'runpy.run_module("scalarviz", run_name="__main__")'
AS_PROGRAM = f"""
import configparser
settings = configparser.ConfigParser()
settings.read({str(ROOT / "setup.cfg")!r})
[(home, function)] = [
    each.partition(" = ")[2].split(":")
    for each in settings["options.entry_points"]["console_scripts"].strip().splitlines()
]
exec(f"from {{home}} import {{function}} as run")  # as the script that pip writes does
run()
"""
# The code in C of this module prints any error within its import, and raises ImportError.
IN_IMPORT = """
import os, signal, sys

class Signals:
    def find_spec(self, name, path=None, target=None):
        if name == "numba._devicearray":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Signals())
from scalarviz.faces.cli.commands import main
main(["train", "xor", "--steps", "100000000"])
"""


def test_ctrl_c_is_heard_and_does_not_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.asked and stop.code == 130
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_ctrl_c_waits_also_in_a_fork_by_a_thread() -> None:
    program = """
import os, signal, threading
from scalarviz.base.interrupt import uncut

@uncut
def work():
    signal.raise_signal(signal.SIGINT)
    print("whole", flush=True)

def fork():
    if os.fork() == 0:
        try:
            work()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        os._exit(0)
    os.wait()

thread = threading.Thread(target=fork)
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["whole", "interrupted"], done.stderr


def test_asking_twice_stops_at_once() -> None:
    with Stop() as stop:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stop.code == 130


def test_whoever_ends_the_program_is_heard_too() -> None:
    with Stop() as stop:
        signal.raise_signal(signal.SIGTERM)
    assert stop.asked and stop.code == 143


def test_another_thread_hears_nothing_and_breaks_nothing() -> None:
    heard = []

    def run() -> None:
        with Stop() as stop:
            heard.append(stop.asked)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert heard == [False]


def test_ctrl_c_that_became_another_error_ends_the_program_as_well() -> None:
    def run() -> None:
        with StoppableProgram(last=False):
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt as error:
                raise SystemError("a result with an exception set") from error

    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 130


@pytest.mark.parametrize("name", ["signal", "scalarviz.faces.cli.commands", "typer"])
@pytest.mark.parametrize("run", [AS_MODULE, AS_PROGRAM])
def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_word(name: str, run: str) -> None:
    program = f"""
import builtins, runpy, signal
load = builtins.__import__

def interrupted(name, *args, **more):
    if name == {name!r}:
        builtins.__import__ = load
        signal.raise_signal(signal.SIGINT)
    return load(name, *args, **more)

builtins.__import__ = interrupted
{run}
"""
    command = [sys.executable, "-c", program, "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.skipif(sys.platform != "linux", reason="signals are those of POSIX")
def test_a_signal_that_an_import_turns_into_another_error_ends_it(
    name: str, tmp_path: Path
) -> None:
    number = int(getattr(signal, name))
    command = [sys.executable, "-c", IN_IMPORT.format(number=number)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert "ImportError" not in done.stderr


@pytest.fixture
def nothing_stays() -> Iterator[None]:
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and not ctrl_c.waits


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("delivers", [True, False])
def test_a_signal_waits_until_it_is_delivered_or_the_function_ends(delivers: bool) -> None:
    done: list[str] = []

    @uncut
    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        if delivers:
            ctrl_c.deliver()
        done.append("second")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first", "second"][: 1 + (not delivers)]


@pytest.mark.usefixtures("nothing_stays")
def test_a_second_signal_is_not_delayed() -> None:
    done: list[str] = []

    @uncut
    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first"]


@pytest.mark.usefixtures("nothing_stays")
def test_a_signal_waits_for_the_outermost_function() -> None:
    done: list[str] = []

    @uncut
    def inner() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("inner")

    @uncut
    def outer() -> None:
        inner()
        done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert done == ["inner", "outer"]


def test_another_handler_hears_a_delayed_signal_once() -> None:
    heard: list[int] = []

    @uncut
    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        assert not heard

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_a_program_that_is_asked_to_stop_within_a_delay_stops_after_it() -> None:
    @uncut
    def work(number: int) -> None:
        signal.raise_signal(number)

    def run(number: int, code: int) -> None:
        with StoppableProgram(last=False), Stop() as stop:
            work(number)
            assert stop.asked and stop.code == code
            with pytest.raises(KeyboardInterrupt):
                work(number)

    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with pytest.raises(SystemExit) as ended:
            run(number, code)
        assert ended.value.code == code
