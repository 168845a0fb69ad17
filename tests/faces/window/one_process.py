"""Pictures and windows in one program, in an order that is given; test_window_endings.py runs it.

    python -m tests.faces.window.one_process picture watch picture

prints what was seen: of a window how many colours it had, of a picture whether it is the same as
the first.
"""

import sys
import threading
from typing import Any

import numpy as np

import scalarviz as sv
from tests.stage.many_pictures import made

first: list[Any] = []
errors: list[BaseException] = []


def picture() -> str:
    seen = sv.picture(made(), size=(320, 200), samples=1)
    first.append(seen)
    same = np.abs(seen.astype(int) - first[0]).max() <= 2
    return "same" if same and len(np.unique(seen.reshape(-1, 3), axis=0)) > 100 else "other"


def watch(meanwhile: Any = None) -> str:
    """Open a window for a moment; what was seen in it, before and after something was done."""
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from scalarviz.faces.window.application import application
    from scalarviz.faces.window.main_window import MainWindow

    application()
    found: list[int] = []

    def opened() -> Any:
        windows = [each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow)]
        return next(each for each in windows if each.isVisible())

    def look() -> None:
        image = opened().view.widget.grabFramebuffer()
        width, height = image.width(), image.height()
        found.append(
            len({image.pixel(x, y) for x in range(0, width, 5) for y in range(0, height, 5)})
        )

    def work() -> None:
        look()
        if meanwhile is not None:
            meanwhile()
        QTimer.singleShot(500, lambda: [look(), opened().close()])

    QTimer.singleShot(1500, work)
    code = sv.watch(made(), play=False, tour=False)
    return f"{'seen' if min(found) > 100 and code == 0 else found}"


def inside() -> str:
    """A window, and a picture from within what it calls."""
    said: list[str] = []
    return f"{watch(lambda: said.append(picture()))} {said[0]}"


def beside() -> str:
    """A window, and pictures on another thread all the while."""
    said: list[str] = []

    def draw() -> None:
        try:
            said.extend(picture() for _ in range(8))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=draw)
    seen = watch(thread.start)
    thread.join()
    if errors:
        raise errors[0]
    return f"{seen} {' '.join(sorted(set(said)))}"


if __name__ == "__main__":
    deeds = {"picture": picture, "watch": watch, "inside": inside, "beside": beside}
    for word in sys.argv[1:]:
        print(word, deeds[word](), flush=True)
