"""Cases of several sessions in one real window, as in window_cases.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox

import scalarviz as sv
from scalarviz.base.interrupt import Stop
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.window.main_window import MainWindow
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.division import Panes
from scalarviz.stage.show import Several
from tests.faces.controller.test_several_panes import make
from tests.faces.window.window_cases import NONE, Key, Left, main
from tests.machine import until


class Open:
    """A window of several sessions, with their real picture, and hands to use it."""

    def __init__(self, *sessions: sv.Session, size: tuple[int, int] = (1000, 700)) -> None:
        self.sessions = list(sessions) or [make(3, 3), make(), make(3, 4, 4, 3)]
        several = Several.of(self.sessions)
        assert several is not None
        self.face = WatchOptions(reduced_motion=True).face(several, "dark")
        self.stage: Any = self.face.stage
        self.window = MainWindow(self.face, Stop())
        self.window.resize(*size)
        self.picture = self.window.view.widget

    def __enter__(self) -> Open:
        self.window.show()
        self.window.activateWindow()
        assert QTest.qWaitForWindowActive(self.window), "no window was shown"
        self.until(lambda: self.window.view.drawn)
        return self

    def __exit__(self, *error: object) -> None:
        self.window.close()
        self.face.quit()
        self.face.rest()
        self.face.detach()
        if error[0] is None:
            assert self.window.error is None, self.window.error

    @property
    def steps(self) -> list[int]:
        return [each.step_index for each in self.sessions]

    def until(self, happened: Callable[[], object], seconds: float = 30.0) -> None:
        until(happened, QApplication.processEvents, seconds)

    def settle(self) -> None:
        count = self.window._count
        self.until(lambda: self.window._count > count + 4 and not self.face.lead.hand.busy)

    def press(self, *keys: Any) -> None:
        for key in keys:
            QTest.keyClick(self.window.windowHandle(), key, NONE)
            self.settle()

    def click(self, x: float, y: float) -> None:
        QTest.mouseMove(self.picture, QPoint(round(x), round(y)))
        QTest.mouseClick(self.picture, Left, NONE, QPoint(round(x), round(y)))
        self.settle()

    def pixels(self) -> np.ndarray:
        widget: Any = self.picture
        image = widget.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
        rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
        return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def case_every_session_is_drawn_in_its_pane_with_a_table_below() -> None:
    with Open() as it:
        pixels, panes = it.pixels(), it.stage._boxes
        for box in (*panes.panes, panes.table, panes.chart):
            rows = slice(int(box.y) + 30, int(box.bottom) - 2)
            part = pixels[rows, int(box.x) + 2 : int(box.right) - 2]
            assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20, box
        assert it.window.windowTitle() == "3-3 | 3-8-3 | 3-4-4-3 - scalarviz"
        high = it.picture.height()
        assert panes == Panes.of(3, 1000, high) and high == 700 - it.window.controls.height()


def case_a_click_chooses_and_the_tick_lets_one_go_alone() -> None:
    with Open() as it:
        box = it.stage._boxes.panes[1]
        it.click(box.x + 12.0, box.bottom - 12.0)
        assert it.stage.chosen == 1
        tick = it.window.controls.made["together"]
        assert isinstance(tick, QCheckBox) and tick.isVisible() and tick.isChecked()
        QTest.mouseClick(tick, Left, NONE, QPoint(8, tick.height() // 2))
        it.settle()
        assert not it.face.together and not tick.isChecked()
        it.press(Key.Key_Right, Key.Key_Right, Key.Key_Right)
        assert it.steps == [0, 3, 0]
        it.press("x", Key.Key_Right)
        assert it.stage.chosen == 2 and it.steps == [0, 3, 1]
        it.press("j", Key.Key_Right, Key.Key_Right, Key.Key_Right)
        assert it.steps == [3, 3, 3]
        accent = np.array([int(THEMES["dark"].accent[i : i + 2], 16) for i in (1, 3, 5)])
        box = it.stage._boxes.panes[2]
        assert np.abs(it.pixels()[int(box.y) + 40, int(box.x) + 1] - accent).max() <= 12


def case_closing_ends_every_thread() -> None:
    with Open() as it:
        it.press(Key.Key_Space)
        it.until(lambda: min(it.steps) > 3)


CASES = {name: case for name, case in globals().items() if name.startswith("case_")}

if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES), CASES)
