"""Many pictures in one process, and what it holds of the machine's memory; `grown` runs it.

    python -m tests.stage.many_pictures picture 40

prints the MiB that are held after each quarter of them.
"""

import gc
import json
import os
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from tests.machine import output_of
from tests.proofs.soak import held
from tests.sessions import colours

SIZES = (320, 200), (1280, 800)
MOST = 1.0  # MiB for a picture; with a canvas for each it is ten or more

GIVEN_BACK = {"MALLOC_MMAP_THRESHOLD_": str(2**17)}  # what is freed is not held any more

linux = pytest.mark.skipif(sys.platform != "linux", reason="only /proc says what is held")


def grown(name: str, count: int, environment: Mapping[str, str] = os.environ) -> float:
    """MiB that each in the second half of so many adds to what a new process holds."""
    words = "-m", "tests.stage.many_pictures", name, str(count)
    said = output_of(*words, env={**environment, **GIVEN_BACK})
    quarters: list[float] = json.loads(said.splitlines()[-1])
    return (quarters[3] - quarters[1]) / (count // 2)


def made() -> sv.Session:
    return colours(data.Rgb())


def picture(count: int) -> None:
    session = made()
    for i in range(count):
        sv.picture(session, size=SIZES[i % 2], samples=1 + i % 2)


def thread(count: int) -> None:
    """Each on a thread of its own."""
    session = made()
    for i in range(count):
        each = threading.Thread(target=sv.picture, args=(session,), kwargs={"size": SIZES[i % 2]})
        each.start()
        each.join()


def export(count: int) -> None:
    """Videos of other networks each time."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            size = SIZES[i % 2]
            sv.record(made(), Path(folder) / "a.mp4", 2, size=size, fps=2, progress=False)


def view(count: int) -> None:
    """Pictures of the pages of a notebook, each in place of the one before."""
    import asyncio

    from scalarviz.faces.controller.face import WatchOptions
    from scalarviz.faces.notebook.page_view import PageView
    from scalarviz.stage.show import Show

    async def program() -> None:
        session = made()
        for i in range(count):
            options = WatchOptions()
            face = options.face(Show(session, title="colours"), "light")
            live = PageView(face, SIZES[i % 2], options)
            live.snapshot()
            live.close()
            await asyncio.sleep(0)

    asyncio.run(program())


def window(count: int) -> None:
    """Windows, opened and closed."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from scalarviz.faces.window.application import application
    from scalarviz.faces.window.main_window import MainWindow

    application()
    session = made()

    def look(timer: Any) -> None:
        for each in QApplication.topLevelWidgets():
            if isinstance(each, MainWindow) and each.isVisible() and each.view.drawn:
                timer.stop()
                each.close()

    for _ in range(count):
        timer = QTimer()
        timer.timeout.connect(lambda timer=timer: look(timer))
        timer.start(50)
        sv.watch(session, play=False, tour=False)


def main(name: str, count: int) -> None:
    deeds = {"picture": picture, "thread": thread, "export": export, "view": view}
    deed = {**deeds, "window": window}[name]
    found = []
    for _ in range(4):
        deed(count // 4)
        gc.collect()
        found.append(round(held() / 2**20, 1))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
