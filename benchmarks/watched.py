"""Speed of training with an open window, compared with the same training without one.

    python -m benchmarks watched [rounds]
    python -m benchmarks.sides benchmarks.watched alone|watched rgb|texture

On one thread, so that a machine with two cores has one free for the window. The second line prints
steps per second. Without a display it starts Xvfb, which draws in software.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager, redirect_stdout

from benchmarks.sides import Options, in_turn

WARM, SECONDS = 2.0, 5.0
SCENES = ("rgb", "texture")


def show_of(name: str):
    """A scene that plays for long."""
    from dataclasses import replace

    from scalarviz.faces.scene_file import find, load

    show = load(find(name))(engine="cpu")
    show.session.advance(10)  # loads the kernels
    return replace(show, steps=10**9, speed=None)


def alone(name: str) -> float:
    """Steps a second of the training by itself."""
    session = show_of(name).session
    session.play()
    time.sleep(WARM)
    start, first = time.perf_counter(), session.step_index
    time.sleep(SECONDS)
    rate = (session.step_index - first) / (time.perf_counter() - start)
    session.pause()
    return rate


def watched(name: str) -> float:
    """Steps a second while its window is open."""
    from PySide6.QtCore import QTimer

    from scalarviz.faces.controller.face import WatchOptions
    from scalarviz.faces.window import main_window, window

    show, found = show_of(name), {}
    session, run = show.session, main_window.MainWindow.run

    def timed(self, *arguments):
        def begin() -> None:
            found["start"] = time.perf_counter(), session.step_index

        def end() -> None:
            start, first = found["start"]
            found["rate"] = (session.step_index - first) / (time.perf_counter() - start)
            self.close()

        QTimer.singleShot(round(1e3 * WARM), begin)
        QTimer.singleShot(round(1e3 * (WARM + SECONDS)), end)
        return run(self, *arguments)

    main_window.MainWindow.run = timed
    with redirect_stdout(sys.stderr):  # it says at the end what was learned
        window.watch(show, WatchOptions(speed=0.0, theme="dark"))
    return found["rate"]


SIDES = {"alone": alone, "watched": watched}


@contextmanager
def screen():
    """A display, if there is none: Xvfb's."""
    if os.environ.get("DISPLAY"):
        yield os.environ["DISPLAY"]
        return
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def report(options: Options) -> None:
    """Steps a second with and without the window, one thread each."""
    print("\nSteps a second with the window open, on one thread")
    with screen() as display:
        for name in SCENES:
            sides = {side: [__name__, side, name] for side in SIDES}
            found = in_turn(sides, options.rounds, DISPLAY=display, NUMBA_NUM_THREADS="1")
            rates = {side: statistics.median(numbers) for side, numbers in found.items()}
            part = rates["watched"] / rates["alone"]
            print(
                f"    {name:8} alone {rates['alone']:9,.0f}   with the window "
                f"{rates['watched']:9,.0f}   {part:.0%} (asked for: 90%)"
            )
