"""Helpers for tests that look at pixels: an OpenGL context, and short constructors of scenes."""

from typing import Any

import numpy as np

from scalarviz.scene.canvas.palette import THEMES, contrast, rgb
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Neurons, Plate
from scalarviz.scene.lights import DIM
from scalarviz.scene.visuals.shaders import HALF

BLACK = (0.0, 0.0, 0.0)
WHITE = (1.0, 1.0, 1.0)


def plate(
    rows: int,
    columns: int,
    first: int = 0,
    stride: int | None = None,
    origin: Any = (0.0, 0.0, 0.0),
    axes: Any = (RIGHT, DOWN, NEAR),
) -> Plate:
    """A plate that is looked at from the front, as long as nothing else is said."""
    stride = columns if stride is None else stride
    return Plate(first, rows, columns, stride, np.array(origin, float), *np.array(axes, float))


def corners(plates: Any) -> np.ndarray:
    return np.concatenate([each.corners() for each in plates])


def project(camera: Camera, plates: Any, width: int = 320, height: int = 240) -> Projection:
    """What a camera sees in a picture that has nothing around the scene."""
    apart = np.linalg.norm(corners(plates) - np.array(camera.target), axis=1)
    return Projection(camera, Box(0, 0, width, height), width, height, float(apart.max()) + 2.0)


def framed(plates: Any, width: int = 320, height: int = 240, **camera: float) -> Projection:
    """All of some plates."""
    whole = Camera(**camera).framing(corners(plates), width / height)
    return project(whole, plates, width, height)


class Studio:
    """A canvas that nobody sees; what is drawn comes back as (rows, columns, 3) from 0 to 255."""

    def __init__(self) -> None:
        from scalarviz.scene.offscreen import make_canvas

        self.canvas = make_canvas(64, 48)
        self._rooms: dict[tuple[int, int], Any] = {}
        self._ink: Any = None

    def shoot(self, draw: Any, width: int, height: int) -> np.ndarray:
        """What `draw()` leaves in so many device pixels."""
        from vispy import gloo

        self.canvas.set_current()
        if (width, height) not in self._rooms:
            size = (height, width)
            self._rooms[width, height] = gloo.FrameBuffer(
                gloo.Texture2D((*size, 3)), gloo.RenderBuffer(size, "depth")
            )
        with self._rooms[width, height]:
            draw()
            return gloo.read_pixels((0, 0, width, height), alpha=False).astype(int)

    def cubes(
        self,
        plates: Any,
        colors: Any,
        sizes: Any = None,
        *,
        theme: str = "dark",
        scale: Any = 1.0,
        top: Any = 1.0,
        floats: bool | None = None,
    ) -> Any:
        """Cubes with these numbers; they are as large as can be if nothing is said of sizes."""
        from scalarviz.scene.visuals.cubes import CubesVisual

        self.canvas.set_current()
        visual = CubesVisual(plates, len(colors), floats=floats)
        look = THEMES[theme]
        visual.set_map(look.map, look.ground)
        visual.scales(scale, top)
        visual.numbers(np.asarray(colors), np.ones(len(colors)) if sizes is None else sizes)
        return visual

    def look(self, visual: Any, see: Projection, ground: Any = BLACK, ratio: float = 1) -> Any:
        """The pixels of a visual alone, so many to a logical one."""
        from vispy import gloo

        width, height = round(see.width * ratio), round(see.height * ratio)

        def draw() -> None:
            gloo.set_viewport(0, 0, width, height)
            gloo.set_state(depth_test=True, blend=False, cull_face=False)
            gloo.clear(color=(*ground, 1.0), depth=True)
            place(visual, see.matrix, width, height, ratio)
            visual.draw()

        return self.shoot(draw, width, height)

    def paper(self, paper: Any, ground: Any = BLACK) -> np.ndarray:
        """What is on a paper."""
        from vispy import gloo

        from scalarviz.scene.canvas.renderer import Renderer

        self.canvas.set_current()
        self._ink = self._ink or Renderer()
        width, height = round(paper.width * paper.ratio), round(paper.height * paper.ratio)

        def draw() -> None:
            gloo.set_viewport(0, 0, width, height)
            gloo.clear(color=(*ground, 1.0), depth=True)
            self._ink.draw(paper, width, height)

        return self.shoot(draw, width, height)

    def stage(
        self,
        stage: Any,
        now: float | None = None,
        size: tuple[int, int] = (640, 480),
        ratio: int = 1,
    ) -> np.ndarray:
        """A picture of a stage at some time."""
        if now is not None:
            stage.tick(now)
        width, height = size[0] * ratio, size[1] * ratio
        return self.shoot(lambda: stage.draw(width, height, ratio), width, height)


def place(visual: Any, matrix: np.ndarray, width: int, height: int, ratio: float = 1.0) -> None:
    """Put a visual that is no node before a camera: all that a scene would tell it."""
    from vispy.visuals.transforms import MatrixTransform, STTransform

    system = visual.transforms
    half = width / 2, height / 2
    pixels = STTransform(scale=(1.0 / half[0], 1.0 / half[1]), translate=(-1.0, -1.0))
    logical = STTransform(scale=(ratio, -ratio), translate=(0.0, height))
    system.framebuffer_transform = pixels
    system.canvas_transform = logical
    system.scene_transform = logical.inverse * (pixels.inverse * MatrixTransform(matrix.T))


def ids_of(pixels: np.ndarray) -> np.ndarray:
    """The rows of the bank that colors stand for; -1 where all is white."""
    found = pixels @ np.array([1, 256, 65536])
    return np.where(found == 0xFFFFFF, -1, found)


def at(pixels: np.ndarray, xy: Any) -> np.ndarray:
    """The color at a place."""
    return pixels[int(xy[1]), int(xy[0])]


def shade(theme: str, value: Any, scale: float = 1.0) -> np.ndarray:
    """The color of a number, 0 to 255."""
    return THEMES[theme].map(value, scale) * 255.0


def assert_dimmed(seen: np.ndarray, color: np.ndarray, theme: str) -> None:
    """It is DIM of the way from the ground to a color, or so much that the contrast is 3."""
    ground = ground_of(theme)
    way = color - ground
    part = float((seen - ground) @ way / (way @ way))
    np.testing.assert_allclose(seen, ground + part * way, atol=3)
    behind = ground / 255.0
    assert contrast(seen / 255.0, behind) >= 3.0
    if contrast((ground + DIM * way) / 255.0, behind) > 3.1:
        assert abs(part - DIM) <= 0.02
    else:
        assert contrast(seen / 255.0, behind) < 3.25


def above_number(see: Projection, line: Neurons) -> np.ndarray:
    """Places on the spheres of a line above the numbers that are written on them; see `lit`."""
    seen = see(line.points)
    return seen.xy - 0.75 * line.radius * seen.unit[:, np.newaxis] * [0.0, 1.0]


def lit(color: Any) -> np.ndarray:
    """The color there of a sphere of this color, since light comes from above."""
    return np.minimum(1.063 * np.asarray(color), 255.0)


def ground_of(theme: str) -> np.ndarray:
    return rgb((THEMES[theme].ground,))[0] * 255.0


def places(
    stage: Any, size: tuple[int, int], aside: tuple[float, float] = (0.0, 0.0)
) -> dict[int, np.ndarray]:
    """Where the middle of each cube's front is, by its row of the bank.

    aside  so many cells right of and below the middle
    """
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    right, down = 0.5 + aside[0], 0.5 + aside[1]
    return {
        each.index_of(row, column): see(each.point(column + right, row + down, HALF)).xy[0]
        for each in stage.plan.plates
        for row, column in np.ndindex(each.rows, each.columns)
    }
