"""Pictures drawn for tests.

An OpenGL context, layouts that face the viewer, a canvas that records drawing calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Buffer, Operation, Program
from scalarviz.scene.canvas.canvas2d import AXIS, CLIP, MIDDLE, Canvas2D
from scalarviz.scene.canvas.canvas2d import HALF as HALF_SIZE
from scalarviz.scene.canvas.canvas2d import color as color_of
from scalarviz.scene.canvas.fonts import layout
from scalarviz.scene.canvas.palette import THEMES, contrast, rgb
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    NEAR,
    RIGHT,
    UP,
    Label,
    Layout,
    Neurons,
    Plate,
    Wires,
)
from scalarviz.scene.layout.points import reach_of
from scalarviz.scene.lights import DIM
from scalarviz.scene.look import Look
from scalarviz.scene.visuals.picking import Half, seen_at
from scalarviz.stage import cubes_node, network_layout
from scalarviz.stage.by_parts import sizes_of
from scalarviz.stage.narration import NO_CAPTION
from scalarviz.stage.stage import Stage

if TYPE_CHECKING:  # benchmarks use it for drawing, without pytest
    import pytest

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
    """A plate that is viewed from the front by default."""
    stride = columns if stride is None else stride
    return Plate(first, rows, columns, stride, np.array(origin, float), *np.array(axes, float))


def corners(plates: Any) -> np.ndarray:
    return np.concatenate([each.corners() for each in plates])


def project(camera: Camera, plates: Any, width: int = 320, height: int = 240) -> Projection:
    """Return the projection of a camera in a picture that contains only the scene."""
    apart = np.linalg.norm(corners(plates) - np.array(camera.target), axis=1)
    return Projection(camera, Box(0, 0, width, height), width, height, float(apart.max()) + 2.0)


def picked(plates: Any, see: Projection, x: float, y: float, half: Half) -> int:
    """Return the bank index of the cube at a pixel, or NONE; see `seen_at`."""
    return seen_at(Layout(plates, (), (), ()), see, x, y, half)[0]


def framed(plates: Any, width: int = 320, height: int = 240, **camera: float) -> Projection:
    """Return the projection that frames some plates."""
    whole = Camera(**camera).framing(reach_of(corners(plates)), width / height)
    return project(whole, plates, width, height)


class Studio:
    """An offscreen canvas; pictures are returned as (rows, columns, 3) from 0 to 255."""

    def __init__(self) -> None:
        from scalarviz.scene.offscreen import make_canvas

        self.canvas = make_canvas(64, 48)
        self._rooms: dict[tuple[int, int], Any] = {}
        self._ink: Any = None

    def shoot(self, draw: Any, width: int, height: int) -> np.ndarray:
        """Return the result of `draw()` in `width` x `height` device pixels."""
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
    ) -> Any:
        """Return cubes with these numbers, by default of maximum size."""
        from scalarviz.scene.visuals.cubes import CubesVisual

        self.canvas.set_current()
        visual = CubesVisual(plates, len(colors))
        look = THEMES[theme]
        visual.set_map(look.map, look.ground)
        visual.scales(scale, top)
        visual.numbers(np.asarray(colors), np.ones(len(colors)) if sizes is None else sizes)
        return visual

    def ids(self, cubes: Any, see: Projection, ratio: float = 1) -> np.ndarray:
        """Return the bank row of the visible cube for each pixel; -1 without a cube."""
        cubes.shared_program["u_ids"] = 1.0
        found = self.look(cubes, see, WHITE, ratio) @ np.array([1, 256, 65536])
        return np.where(found == 0xFFFFFF, -1, found)

    def look(self, visual: Any, see: Projection, ground: Any = BLACK, ratio: float = 1) -> Any:
        """Return the pixels of one or several visuals, `ratio` of them per logical pixel."""
        from vispy import gloo

        width, height = round(see.width * ratio), round(see.height * ratio)

        def draw() -> None:
            gloo.set_viewport(0, 0, width, height)
            gloo.set_state(depth_test=True, blend=False, cull_face=False)
            gloo.clear(color=(*ground, 1.0), depth=True)
            for each in visual if isinstance(visual, list) else [visual]:
                place(each, see.matrix, width, height, ratio)
                each.draw()

        return self.shoot(draw, width, height)

    def paper(self, paper: Any, ground: Any = BLACK) -> np.ndarray:
        """Return the pixels of a 2D canvas."""
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
        """Return a picture of a stage at some time."""
        if now is not None:
            stage.tick(now)
        width, height = size[0] * ratio, size[1] * ratio
        return self.shoot(lambda: stage.draw(width, height, ratio), width, height)


def place(visual: Any, matrix: np.ndarray, width: int, height: int, ratio: float = 1.0) -> None:
    """Place a visual without a node before a camera, as a scene would."""
    from vispy.visuals.transforms import MatrixTransform, STTransform

    system = visual.transforms
    half = width / 2, height / 2
    pixels = STTransform(scale=(1.0 / half[0], 1.0 / half[1]), translate=(-1.0, -1.0))
    logical = STTransform(scale=(ratio, -ratio), translate=(0.0, height))
    system.framebuffer_transform = pixels
    system.canvas_transform = logical
    system.scene_transform = logical.inverse * (pixels.inverse * MatrixTransform(matrix.T))


def at(pixels: np.ndarray, xy: Any) -> np.ndarray:
    """Return the color at a position."""
    return pixels[int(xy[1]), int(xy[0])]


def between(pixels: np.ndarray, xy: Any) -> np.ndarray:
    """Return the color at a position from the pixels above and below it: a cube is darker below."""
    x, (y, part) = int(xy[0]), divmod(xy[1] - 0.5, 1.0)
    return (1.0 - part) * pixels[int(y), x] + part * pixels[int(y) + 1, x]


def shade(theme: str, value: Any, scale: float = 1.0) -> np.ndarray:
    """Return the color of a number, 0 to 255."""
    return THEMES[theme].map(value, scale) * 255.0


def brightness(see: Projection, way: np.ndarray) -> float:
    """Return the brightness at the center of a cube's side with this normal."""
    back = np.array(see.camera.toward) * [1.0, 0.0, 1.0]
    back /= np.linalg.norm(back)
    light = 0.77 * UP + 0.597 * back - 0.229 * np.cross(UP, back)
    return 0.411 + 0.988 * max(0.0, float(light @ way))


def assert_dimmed(seen: np.ndarray, color: np.ndarray, theme: str) -> None:
    """Assert that a color is blended with the background by DIM."""
    ground = ground_of(theme)
    np.testing.assert_allclose(seen, ground + DIM * (color - ground), atol=3)


def above_number(see: Projection, line: Neurons) -> np.ndarray:
    """Return positions on the spheres of a line above their written numbers; see `lit`."""
    seen = see(line.points)
    return seen.xy - 0.75 * line.radius * seen.unit[:, np.newaxis] * [0.0, 1.0]


def lit(color: Any) -> np.ndarray:
    """Return the color of such a position on a sphere, which is lit from above."""
    return np.minimum(1.033 * np.asarray(color) + 3.0, 255.0)


def ground_of(theme: str) -> np.ndarray:
    return rgb((THEMES[theme].ground,))[0] * 255.0


def places(stage: Any, size: tuple[int, int]) -> dict[int, np.ndarray]:
    """Return the position of each cube's front center, by its bank row."""
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    return {
        each.index_of(row, column): see(each.point(column + 0.5, row + 0.5, HALF)).xy[0]
        for each in stage.plan.plates
        for row, column in np.ndindex(each.rows, each.columns)
    }


GAP = 1.3  # from plates to neurons
BIAS_GAP = 0.5
BEHIND = -0.41 * NEAR  # position of wires: behind the centers of cubes, inside of them


def facing(
    program: Program,
    about: Callable[[str], tuple[str, str]] = lambda layer: (f"layer {layer}", "about"),
    names: Mapping[str, Sequence[str]] | None = None,
    aspect: float = 1.75,
    *,
    tied: bool = False,
    squares: Sequence[str] = (),
) -> Layout:
    """Lay out a program like `trays_layout`, with matrices as plates and other layers as balls."""
    names, at = names or {}, 0.0
    plates: list[Plate] = []
    wires: list[Wires] = []
    labels: list[Label] = []
    lines = [line_of(program.inputs, 0.5 * RIGHT + GAP * UP, RIGHT, NONE, names)]
    for place, operation in enumerate(program.operations):
        target, layer = operation.target, operation.layer
        if operation.kind == "activation" and not lines[-1].sums and len(lines) > 1:
            shown = names.get(target.name, lines[-1].names)
            filled = replace(lines[-1], sums=lines[-1].values, values=target.name, names=shown)
            lines[-1] = filled
            continue
        own, start = plates_of(operation, place, at), at
        if own:
            at = float(own[-1].corners()[:, 0].max())
        at += GAP
        lines.append(line_of(target, at * RIGHT + 0.5 * DOWN, DOWN, layer, names))
        at += GAP
        if own:
            edge = own[0].point(0.0, np.arange(own[0].rows) + 0.5)
            ends = edge + (own[-1].corners()[:, 0].max() + GAP - start) * RIGHT
            wires.append(Wires(edge + BEHIND, ends + BEHIND, place, len(lines) - 1, False))
            low = own[0].point(0.0, own[0].rows)
            labels.append(Label(*about(operation.label), low, slice(0, 0)))
        plates += own
    return Layout(plates, lines, wires, labels)


def line_of(
    buffer: Buffer,
    begin: FloatArray,
    axis: FloatArray,
    layer: int,
    names: Mapping[str, Sequence[str]],
) -> Neurons:
    """Return neurons side by side, starting with the first one."""
    points = begin + np.arange(buffer.size)[:, np.newaxis] * axis
    return Neurons(points, "", buffer.name, names.get(buffer.name, ()), layer)


def plates_of(operation: Operation, place: int, at: float) -> list[Plate]:
    """The plates of an operation, from left to right."""
    rows, found = operation.shape[0] if operation.shape else 0, []
    inputs = operation.shape[1] if len(operation.shape) > 1 else 1
    roles = ("weight", "bias") if len(operation.shape) > 1 else ("gain", "shift")
    for role, first in zip(roles, (operation.weights, operation.biases), strict=True):
        columns = inputs if role == "weight" else 1
        corner = at * RIGHT
        if first != NONE:
            shape = first, rows, columns, columns
            found.append(Plate(*shape, corner, RIGHT, DOWN, NEAR, role, place, operation.layer))
            at += columns + BIAS_GAP
    return found


def face(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use this layout for all pictures."""
    for module in (network_layout, cubes_node):
        monkeypatch.setattr(module, "trays_layout", facing)
    monkeypatch.setattr(network_layout, "crossbar_layout", lambda *given, **named: None)


@dataclass
class Written:
    """A text: the box of its ink, its size in pixels, and its contrast to what is behind it.

    It is `hidden` if a panel lies on all of it that was drawn later.
    """

    words: str
    box: Box
    size: float
    contrast: float
    hidden: bool = False


class OneByOne(Canvas2D):
    """A canvas that writes and measures texts individually, for canvases that record these."""

    def texts(self, xy: Any, words: Any, *, depth: Any = -1.0, **look: Any) -> None:
        places, depths = np.reshape(xy, (-1, 2)).tolist(), np.broadcast_to(depth, len(words))
        for (x, y), each, deep in zip(places, words, depths.tolist(), strict=True):
            self.text(x, y, each, depth=deep, **look)

    def widest(self, texts: Any, **look: Any) -> float:
        return max(self.measure(each, **look) for each in texts)


class Noted(OneByOne):
    """Recorded drawing: texts, filled boxes, frames, images and discs, each in order."""

    def __init__(self, ground: str, width: float, height: float, scale: float = 1.0) -> None:
        super().__init__(width, height, 1.0, scale)
        self.written: list[Written] = []
        self.filled: list[tuple[Box, np.ndarray]] = [(Box(-1e4, -1e4, 1e5, 1e5), rgb_of(ground))]
        self.images_drawn: list[tuple[Box, np.ndarray]] = []
        self.frames: list[Box] = []
        self.outlined: list[tuple[float, ...]] = []
        self.discs_drawn: list[tuple[np.ndarray, float, Any]] = []

    def box(self, x: float, y: float, width: float, height: float, fill: Any, **more: Any) -> None:
        if fill is not None:
            own = Box(x, y, width, height)
            self.filled.append((own, rgb_of(fill)))
            if len(str(fill)) == len("#000000"):
                for each in self.written:
                    inner = each.box.inside(0.5)
                    each.hidden |= own.has(inner.x, inner.y) and own.has(inner.right, inner.bottom)
        else:
            self.frames.append(Box(x, y, width, height))
        super().box(x, y, width, height, fill, **more)

    def boxes(self, xy: Any, size: Any, fill: Any, **more: Any) -> None:
        if fill is not None:
            colors = fill if np.ndim(fill) == 2 else [fill] * len(xy)
            sizes = np.broadcast_to(size, (len(xy), 2))
            for (x, y), (wide, high), color in zip(xy, sizes, colors, strict=True):
                self.filled.append((Box(x, y, wide, high), rgb_of(color)))
        else:
            self.outlined += [(*each, *size) for each in np.asarray(xy).tolist()]
        super().boxes(xy, size, fill, **more)

    def image(
        self, x: float, y: float, width: float, height: float, colors: Any, **more: Any
    ) -> None:
        self.images_drawn.append((Box(x, y, width, height), np.asarray(colors)))
        super().image(x, y, width, height, colors, **more)

    def discs(self, xy: Any, radius: Any, fill: Any, **more: Any) -> None:
        if np.ndim(xy) > 1:  # single ones belong to axes and keys
            self.discs_drawn.append((np.asarray(xy), radius, fill))
        super().discs(xy, radius, fill, **more)

    def text(self, x: float, y: float, words: str, **more: Any) -> float:
        size, bold = more.get("size", 13.0), more.get("bold", False)
        if "room" in more:
            words = self.fit(words, more["room"], size=size, bold=bold)
        glyphs = layout(words, round(size), bold, more.get("anchor", "left"), 0).glyphs
        if len(glyphs):
            pen = np.round([x, y])
            low = pen + (glyphs[:, :2] - glyphs[:, 2:4]).min(axis=0)
            high = pen + (glyphs[:, :2] + glyphs[:, 2:4]).max(axis=0)
            box = Box(*low.tolist(), *(high - low).tolist())
            at = box.x + box.width / 2.0, box.y + box.height / 2.0
            behind = [color for place, color in self.filled if place.has(*at)][-1]
            ratio = float(contrast(rgb_of(more["color"]), behind))
            self.written.append(Written(words, box, size, ratio))
        return super().text(x, y, words, **more)

    def texts(self, xy: Any, words: Sequence[str], *, depth: Any = -1.0, **more: Any) -> None:
        deep = np.broadcast_to(depth, len(words)).tolist()
        for (x, y), each, own in zip(np.reshape(xy, (-1, 2)).tolist(), words, deep, strict=True):
            self.text(x, y, each, depth=own, **more)

    def kept(self, name: str, key: object, draw: Callable[[Any], Any]) -> Any:
        return draw(self)

    def extent(self) -> Box:
        """Return the bounding box of everything that is drawn."""
        rows = self._quads.rows(1.0)
        axis, half = np.abs(rows[:, AXIS]), rows[:, HALF_SIZE]
        half = axis * half[:, :1] + axis[:, ::-1] * half[:, 1:]  # lines are rotated
        low = np.maximum(rows[:, MIDDLE] - half, rows[:, CLIP][:, :2]).min(axis=0)
        high = np.minimum(rows[:, MIDDLE] + half, rows[:, CLIP][:, 2:]).max(axis=0)
        return Box(*low.tolist(), *(high - low).tolist())


def rgb_of(color: Any) -> np.ndarray:
    return np.array(color_of(color)[:3])


SIZE = (1000, 700)
NAMES = [
    *("zero_grad", "affine 0", "tanh 0", "affine 1", "sigmoid 1", "loss", "delta 1"),
    *("weight gradient 1", "input gradient 1", "delta 0", "weight gradient 0", "step"),
]


class Walk:
    """Steps through operations, and renders any fraction of each."""

    def __init__(
        self,
        studio: Studio,
        activation: str = "tanh",
        scale: float = 1.0,
        *,
        marks: bool = False,
    ) -> None:
        net = sv.Network([3, 8, 3], activation, output="sigmoid", seed=0)
        net.bank.value[:] *= scale
        self.session = sv.Session(
            net, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python"
        )
        self.session.advance(2)
        self.studio = studio
        self.stage = Stage(self.session, Look(camera="flat"))
        if not marks:  # words on cubes cover the measured pixels
            self.stage.narration.caption = lambda *given: NO_CAPTION
        self.now = 0.0
        self.look(1.0)

    def look(self, part: float) -> np.ndarray:
        """Return the picture with `part` of the operation shown."""
        seconds = self.stage.motion.seconds
        return self.studio.stage(self.stage, self.now + seconds * part + (part == 1.0), SIZE)

    def go(self, by: int = 1) -> str:
        """Go one operation forward or backward; return its name."""
        if by > 0:
            self.session.advance(1, "operation")
            name = self.session.done
        else:
            name = self.session.done
            self.session.back(1, "operation")
        self.now += 10.0
        self.look(0.0)
        return name

    def go_to(self, name: str) -> None:
        while self.go() != name:
            pass

    @property
    def see(self) -> Projection:
        return self.stage.picture().see(self.stage.frame_data(), self.stage.eyes.camera, *SIZE)

    def cubes(self) -> Iterator[tuple[int, int, int, int, np.ndarray]]:
        """Yield for each cube: layer, row, column, bank row, and position of its center."""
        see = self.see
        for plate in self.stage.plan.plates:
            for row, column in np.ndindex(plate.rows, plate.columns):
                xy = see(plate.point(column + 0.5, row + 0.5, HALF)).xy[0]
                yield plate.layer, row, column, plate.index_of(row, column), xy

    def colors(self) -> np.ndarray:
        """Return the colors of the cubes at rest."""
        frame_data = self.stage.frame_data()
        return shade("dark", frame_data.cubes.colors, float(frame_data.cubes.color_scales[0]))

    def unit(self) -> float:
        return float(self.see(np.zeros((1, 3))).unit[0])


def widths(walk: Walk, pixels: np.ndarray) -> dict[int, float]:
    """Return the width of each cube in the picture, relative to the largest."""
    found, unit = {}, walk.unit()
    ground = ground_of("dark")
    for _, _, _, index, (x, y) in walk.cubes():
        # Beside the wire, which passes through the center, slightly behind.
        run = pixels[int(y) + 3, round(x - unit / 2) : round(x + unit / 2)]
        away = np.abs(run - ground).max(axis=1) > 30  # the pool of light is darker
        found[index] = float(away.sum() / (2.0 * HALF * unit))
    return found


def biases(walk: Walk) -> set[int]:
    return {
        row
        for each in walk.session.network.program.operations
        if each.biases != NONE
        for row in range(each.biases, each.biases + each.target.size)
    }


def go_by_neurons(stage: Stage, by: int) -> None:
    """Step by neurons, backward if negative, as a controller does."""
    session = stage.session
    (step, operation), sizes = session.clock.place, sizes_of(stage.reading.program)
    operations = stage.motion.by_neuron.go(sizes, step * len(sizes) + operation, by, waits=False)
    if operations > 0:
        session.advance(operations, "operation")
    elif operations:
        session.back(-operations, "operation")
