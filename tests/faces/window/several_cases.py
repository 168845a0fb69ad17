"""Cases of several sessions in one real window, as in window_cases.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from PySide6.QtGui import QImage

from scalarviz.faces.controller.face import WatchOptions
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.division import Panes
from scalarviz.stage.show import Several
from tests.faces.controller.test_several_panes import make
from tests.faces.window.window_cases import Bench, Key, main


@contextmanager
def opened() -> Iterator[Bench]:
    """A window of three sessions, with their real picture."""
    several = Several.of([make(3, 3), make(), make(3, 4, 4, 3)])
    bench = Bench(face=WatchOptions(reduced_motion=True).face(several, "dark"))
    bench.window.resize(1000, 700)
    bench.settle()
    yield bench
    bench.close()
    bench.face.rest()
    assert bench.window.error is None, bench.window.error


def steps(bench: Bench) -> list[int]:
    return [pane.session.step_index for pane in bench.face.panes]


def pixels(bench: Bench) -> np.ndarray:
    widget: Any = bench.picture
    image = widget.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1)
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)


def case_every_session_is_drawn_in_its_pane_with_its_curve() -> None:
    with opened() as bench:
        seen, panes = pixels(bench), bench.face.stage._boxes
        for box in (*panes.panes, panes.chart):
            rows = slice(int(box.y) + 30, int(box.bottom) - 2)
            part = seen[rows, int(box.x) + 2 : int(box.right) - 2]
            assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20, box
        assert bench.window.windowTitle() == "3-3 | 3-8-3 | 3-4-4-3 - scalarviz"
        high = bench.picture.height()
        assert panes == Panes.of(3, 1000, high) and high == 700 - bench.bar.height()


def case_a_click_and_a_key_choose_and_arrows_move_all() -> None:
    with opened() as bench:
        box, stage = bench.face.stage._boxes.panes[1], bench.face.stage
        bench.click(bench.picture, box.x + 12.0, box.bottom - 12.0)
        assert stage.chosen == 1
        bench.press(*[Key.Key_Right] * 3)
        assert steps(bench) == [3, 3, 3]
        bench.press("x")
        assert stage.chosen == 2
        bench.settle()
        accent = np.array([int(THEMES["dark"].accent[i : i + 2], 16) for i in (1, 3, 5)])
        box = stage._boxes.panes[2]
        assert np.abs(pixels(bench)[int(box.y) + 40, int(box.x) + 1] - accent).max() <= 12


def case_closing_ends_every_thread() -> None:
    with opened() as bench:
        bench.press(Key.Key_Space)
        bench.until(lambda: min(steps(bench)) > 3)


CASES = {name: case for name, case in globals().items() if name.startswith("case_")}

if __name__ == "__main__":
    main(sys.argv[1:] or list(CASES), CASES)
