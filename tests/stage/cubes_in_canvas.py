"""sv.Cubes in a SceneCanvas of a user, under any backend; test_cubes_node.py runs it.

    python -m tests.stage.cubes_in_canvas pyside6

prints what is seen in a canvas of this backend: each weight in its color, a line before the cubes
and another behind them, and how many frames a training that is followed has drawn.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError
from tests.studio import face, shade

SIZE = 320, 240
BEFORE, BEHIND = (0, 255, 0), (255, 0, 0)


def made(network: sv.Network | None = None) -> sv.Session:
    network = network or sv.Network([2, 3, 1], "tanh", seed=1)
    return sv.Session(network, sv.data.Xor(), "mse", sv.SGD(0.5), engine="python")


def facing_cubes(*given: Any, **options: Any) -> Any:
    """The cubes of a network, all seen from the front."""
    with pytest.MonkeyPatch.context() as patch:
        face(patch)
        return sv.Cubes(*given, **options)


def scene_in(canvas: Any, shown: Any, camera: Any = None, *, upright: bool = True) -> Any:
    """A view with the cubes of a network, turned to where cameras of vispy look from at first."""
    from vispy import scene
    from vispy.visuals.transforms import MatrixTransform

    view = canvas.central_widget.add_view()
    view.camera = camera or scene.TurntableCamera(fov=0, azimuth=0, elevation=0)
    cubes = facing_cubes(shown, view.scene)
    cubes.transform = MatrixTransform()
    if upright:
        cubes.transform.rotate(90.0, (1, 0, 0))
    view.camera.depth_value = 1e3  # vispy's 1e6 leaves a depth buffer of 16 bits no steps to tell
    view.camera.set_range(*(axis_range(cubes, axis) for axis in range(3)))
    return view, cubes


def axis_range(cubes: Any, axis: int) -> tuple[float, float]:
    corners = np.concatenate([plate.corners() for plate in cubes.plates])
    along = cubes.transform.map(corners)[:, axis]
    return along.min(), along.max()


def fronts(cubes: Any, toward: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the bank, and a place on each cube beside its wires, in space."""
    rows, points = [], []
    for plate in cubes.plates:
        for row, column in np.ndindex(plate.rows, plate.columns):
            rows.append(plate.index_of(row, column))
            points.append(plate.point(column + 0.6, row + 0.6, 0.1 * toward))
    return np.array(rows), np.array(points)


def seen_at(image: np.ndarray, node: Any, points: np.ndarray) -> np.ndarray:
    """The colors where points of a node are seen."""
    mapped = node.get_transform("visual", "framebuffer").map(points)
    x, y = (mapped[:, :2] / mapped[:, 3:]).T
    return image[(len(image) - y).astype(int), x.astype(int), :3].astype(int)


def lit_as(seen: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Colors as bright as they are seen, as far as light changes them on a front."""
    part = (seen * colors).sum(axis=1) / (colors**2).sum(axis=1)
    return np.clip(part, 0.8, 1.2)[:, np.newaxis] * colors


def check_colors(image: np.ndarray, cubes: Any) -> int:
    """How many weights are seen in their own color."""
    rows, points = fronts(cubes)
    values = np.asarray(cubes.network.bank.value)
    expected = shade("dark", values[rows], cubes._scales.of("value", cubes.plates)[0])
    seen = seen_at(image, cubes, points)
    return int((np.abs(seen - lit_as(seen, expected)).max(axis=1) <= 3).sum())


def add_lines(cubes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two lines through the first column of cubes, before and behind; points on a cube, beside."""
    from vispy import scene

    plate = cubes.plates[0]
    for (row, height), color in (((0.5, 3.0), BEFORE), ((1.5, -3.0), BEHIND)):
        ends = plate.point([-1.5, plate.columns + 1.0], [row, row], [height, height])
        tint = (*(part / 255.0 for part in color), 1.0)
        scene.visuals.Line(ends, color=tint, width=5, parent=cubes, antialias=False)
    return (
        plate.point([0.5, 0.5], [0.5, 1.5], [0.0, 0.0]),
        plate.point([-1.0, -1.0], [0.5, 1.5], [0.0, 0.0]),
    )


def lines_seen(image: np.ndarray, cubes: Any, places: Any) -> str:
    on, beside = (seen_at(image, cubes, each) for each in places)
    assert (beside == [BEFORE, BEHIND]).all(), beside
    return f"before {(on[0] == BEFORE).all()}, behind {(on[1] != BEHIND).any()}"


async def report(
    canvas: Any, image: Callable[[], np.ndarray], wait: Callable[[float], Awaitable[None]]
) -> None:
    session = made()
    _, cubes = scene_in(canvas, session)
    print("colors", check_colors(image(), cubes), "of", len(session.network.bank))
    places = add_lines(cubes)
    print("lines", lines_seen(image(), cubes, places))
    for line in cubes.children:
        line.parent = None
    frames: list[int] = []
    canvas.events.draw.connect(lambda event: frames.append(session.step_index))
    cubes.follow(session)
    session.advance(8000)  # until no cube is so small that its wire hides it
    session.play(100)  # flat out, the python engine leaves a thread that draws five frames a second
    await wait(1.5)
    session.pause()
    print("followed", len(set(frames)) > 5)
    print("colors", check_colors(image(), cubes), "of", len(session.network.bank))
    cubes.parent = None
    seen = image()
    print("removed", len(np.unique(seen.reshape(-1, seen.shape[-1]), axis=0)) == 1)


def in_qt() -> None:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QApplication
    from vispy import scene

    from scalarviz.faces.window.picture_widget import choose_binding

    qt = QApplication([])
    choose_binding()
    canvas = scene.SceneCanvas(app="pyside6", size=SIZE, show=True)

    def pause(seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            qt.processEvents()
            time.sleep(0.005)

    async def wait(seconds: float) -> None:
        pause(seconds)

    def image() -> np.ndarray:
        pause(0.3)
        found = canvas.native.grabFramebuffer().convertToFormat(QImage.Format.Format_RGB888)
        rows = np.frombuffer(found.constBits(), np.uint8).reshape(found.height(), -1)
        seen = rows[:, : 3 * found.width()].reshape(found.height(), found.width(), 3)
        return seen.copy()  # the image of Qt, whose memory this is, ends here

    asyncio.run(report(canvas, image, wait))


def in_notebook() -> None:
    """By vispy's own backend, as a page would call it; its context is of another backend."""
    import vispy
    from vispy import scene

    from scalarviz.scene.offscreen import make_canvas

    make_canvas(1, 1)
    vispy.config["default_backend"] = "egl"
    canvas = scene.SceneCanvas(app="jupyter_rfb", size=SIZE, show=False)
    backend = canvas._backend
    backend.handle_event({"type": "resize", "width": SIZE[0], "height": SIZE[1], "ratio": 1.0})
    view, cubes = scene_in(canvas, made())
    try:
        cubes.follow(made(cubes.network))
    except DisplayError as error:
        print(error)
    view.parent = None

    async def wait(seconds: float) -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            await asyncio.sleep(0.005)
            if canvas._update_pending:
                backend.get_frame()

    async def program() -> None:
        backend._loop = asyncio.get_running_loop()
        await report(canvas, backend.get_frame, wait)

    asyncio.run(program())


if __name__ == "__main__":
    {"pyside6": in_qt, "jupyter_rfb": in_notebook}[sys.argv[1]]()
