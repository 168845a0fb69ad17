"""A window whose OpenGL fails once, or always; test_window_endings.py runs it.

python -m tests.faces.window.lost_context once|always
"""

import sys
from typing import Any

import scalarviz as sv
from scalarviz.errors import DisplayError
from scalarviz.scene.picture import Picture
from tests.sessions import session_on

LOST = "OpenGL got errors (glDrawElements): GL_OUT_OF_MEMORY"


def main(times: float) -> None:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from scalarviz.faces.window.application import application
    from scalarviz.faces.window.main_window import MainWindow

    application()
    honest, frames, looks = Picture.draw, 0, 0

    def draw(self: Picture, *arguments: Any) -> Any:
        nonlocal frames
        frames += 1
        if 3 < frames <= 3 + times:
            raise RuntimeError(LOST)
        return honest(self, *arguments)

    def look() -> None:
        nonlocal looks
        looks += 1
        if frames <= 4 and looks < 400:
            return  # until some frames are drawn, on a slow machine, too
        timer.stop()
        windows = [each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow)]
        window = next(each for each in windows if each.isVisible())
        image = window.view.widget.grabFramebuffer()
        colors = {image.pixel(x, y) for x in range(0, 400, 3) for y in range(0, 300, 3)}
        print("frames", frames > 4, "colors", len(colors) > 20)
        window.close()

    Picture.draw = draw  # type: ignore[method-assign]  # in its place
    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(250)
    session = session_on(sv.data.Xor(), [2, 3, 1], "tanh", first=1, optimizer=sv.SGD(0.5))
    try:
        print("code", sv.watch(session, speed=10.0, size=(400, 300)))
    except DisplayError as error:
        print(error)


if __name__ == "__main__":
    main({"once": 1, "always": float("inf"), "never": 0}[sys.argv[1]])
