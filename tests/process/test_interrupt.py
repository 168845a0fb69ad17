"""Stop: the first Ctrl-C sets a flag, the second one interrupts."""

import signal
import subprocess
import sys
import threading

import pytest

from scalarviz.process.interrupt import Stop


def test_ctrl_c_is_heard_and_does_not_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Stop() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.asked and stop.code == 130
    assert signal.getsignal(signal.SIGINT) is before


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


@pytest.mark.parametrize("name", ["signal", "scalarviz.cli.commands", "typer"])
def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_word(name: str) -> None:
    program = f"""
import builtins, runpy, signal
load = builtins.__import__

def interrupted(name, *args, **more):
    if name == {name!r}:
        builtins.__import__ = load
        signal.raise_signal(signal.SIGINT)
    return load(name, *args, **more)

builtins.__import__ = interrupted
runpy.run_module("scalarviz", run_name="__main__")
"""
    command = [sys.executable, "-c", program, "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
