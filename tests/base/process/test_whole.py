"""Functions that Ctrl-C does not cut in two, and those within them that it does."""

import signal
from collections.abc import Iterator

import pytest

from scalarviz.base.interrupt import ctrl_c, cuttable, uncut


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler and not ctrl_c.waits


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


def test_a_function_that_may_be_cut_is_and_the_one_that_calls_it_is_not() -> None:
    done: list[str] = []

    @cuttable
    def loose() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("loose")

    @uncut
    def work() -> None:
        try:
            loose()
        except KeyboardInterrupt as error:
            signal.raise_signal(signal.SIGINT)
            done.append("mended")
            raise KeyboardInterrupt("one error of two signals") from error

    @uncut
    def around() -> None:
        work()
        done.append("around")

    with pytest.raises(KeyboardInterrupt, match="one error"):
        work()
    assert done == ["mended"]
    with pytest.raises(KeyboardInterrupt):
        around()
    assert done == ["mended", "loose", "around"]


def test_another_handler_hears_every_signal_that_cuts_and_one_of_those_that_wait() -> None:
    heard: list[int] = []

    @cuttable
    def loose() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert len(heard) == 2

    @uncut
    def work() -> None:
        loose()
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert len(heard) == 2

    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(heard) == 3
