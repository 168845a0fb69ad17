"""A window with vispy visuals of a user beside the cubes; test_cubes_node.py runs it."""

from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.scene.layout.plates import HALF
from scalarviz.stage.stage import Stage
from tests.stage.cubes_in_canvas import made

LIME, RED = (0, 255, 0), (255, 0, 0)
FIRST, SECOND = 4, 5  # bank indices of two cubes outside the frame of a lane
BELOW = 9.0  # pixels from the middle of a cube


def squares(stage: Stage, view: Any) -> None:
    """A green square before a cube, and a red one behind another, as the camera sees them."""
    from vispy import scene

    camera = stage.eyes.camera
    eye = np.array(camera.target) + camera.distance * np.array(camera.toward)
    for index, apart, color in ((FIRST, 1.0, "lime"), (SECOND, -1.0, "red")):
        middle = cube(stage, index)
        way = (eye - middle) / np.linalg.norm(eye - middle)
        scene.visuals.Markers(
            pos=(middle + apart * way)[np.newaxis],
            symbol="square",
            size=41,
            edge_width=0,
            face_color=color,
            parent=view.scene,
            antialias=0,
        )


def cube(stage: Stage, index: int) -> np.ndarray:
    """The middle of the cube of a bank index."""
    plate, row, column = stage.plan.plate_of(index)
    return plate.point(column + 0.5, row + 0.5)


def seen(stage: Stage, pixels: np.ndarray, ratio: float = 1.0) -> str:
    """What is seen at the two cubes, below their numbers."""
    height, width = pixels.shape[:2]
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, width / ratio, height / ratio)
    found = []
    for index, color in ((FIRST, LIME), (SECOND, RED)):
        x, y = see(cube(stage, index)[np.newaxis]).xy[0] * ratio
        found.append(
            (np.abs(pixels[int(y + BELOW * ratio), int(x)].astype(int) - color) <= 2).all()
        )
    return f"green {found[0]}, red {found[1]}"


def in_a_window() -> None:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from scalarviz.faces.window.application import application
    from scalarviz.faces.window.main_window import MainWindow

    application()

    def opened() -> Any:
        windows = [each for each in QApplication.topLevelWidgets() if isinstance(each, MainWindow)]
        return next(each for each in windows if each.isVisible())

    def look() -> None:
        image = opened().view.widget.grabFramebuffer()
        pixels = np.array(
            [
                [image.pixelColor(x, y).getRgb()[:3] for x in range(image.width())]
                for y in range(image.height())
            ]
        )
        print(seen(opened().face.lead.stage, pixels))
        opened().close()

    QTimer.singleShot(1500, look)
    sv.watch(
        made(),
        play=False,
        size=(900, 600),
        nodes=lambda view: squares(opened().face.lead.stage, view),
    )


if __name__ == "__main__":
    assert HALF < 1.0  # the squares are outside the cubes
    in_a_window()
