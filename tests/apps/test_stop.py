"""Ctrl-C as a wish."""

import signal
import threading

import pytest

from scalarviz.apps.stop import Stop


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
