"""CubesVisual: draws each number of a bank as a cube, in any vispy scene.

    cubes = CubesVisual(plates, len(bank))
    cubes.numbers(bank.value, bank.grad)

The arrays are uploaded as textures once per frame, limited to the parts that are drawn cube by
cube. See `shaders` for the drawing. The first draw checks the driver and allocates the textures.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from vispy import gloo
from vispy.scene.visuals import create_visual_node
from vispy.visuals import Visual

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import inform
from scalarviz.scene.canvas.palette import NOT_A_NUMBER, ColorMap, rgb
from scalarviz.scene.canvas.renderer import send
from scalarviz.scene.layout.plates import Plate
from scalarviz.scene.visuals import mip_levels
from scalarviz.scene.visuals.mip_levels import fill, levels_of, room_of
from scalarviz.scene.visuals.nearness import ANYHOW, Near, near_of
from scalarviz.scene.visuals.opengl import (
    Eye,
    check_float_textures,
    draw_triangles,
    largest_texture,
)
from scalarviz.scene.visuals.shaders import (
    COLORS,
    CUBES_TO,
    FLAT_FROM,
    MEANS_FROM,
    OBLIQUE,
    SPLIT,
    TABLE,
    cubes,
)

SMALLEST, LARGEST = 1e-37, 1e37  # scales whose inverse is a float32
CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
# The six faces of a box as triangles, each clockwise as seen from outside.
SIDES = np.array(
    [
        *((0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5)),
        *((0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6)),
        *((0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)),
    ],
    np.uint32,
)
FEW = 512  # maximum cubes of a plate with a seat that have a box each
# Shader attributes of a plate, see `shaders`: a row for each corner of its boxes.
EVERYWHERE = 0.0, 0.0, 1e6, 1e6
LINES = np.dtype([(f"a_{name}", np.float32, 4) for name in TABLE])


class CubesVisual(Visual):  # type: ignore[misc]  # vispy has no types
    """Visual that draws the numbers of a bank as cubes on plates.

    Args:
        plates: the plates with the positions of the cubes
        count: number of elements of the bank

    The transform of the visual must be linear, with or without perspective.
    """

    def __init__(self, plates: Sequence[Plate], count: int) -> None:
        self._far = True  # whether the shader can draw small cubes
        self._seated = any(plate.seat for plate in plates)
        self._bars = any(plate.wide for plate in plates)
        Visual.__init__(self, *self._shaders(far=True))
        self._draw_mode = "triangles"
        state = {"depth_test": True, "depth_func": "less", "depth_mask": True, "blend": False}
        self.set_gl_state(**state, cull_face="front")
        self.plates = list(plates)
        self.count = count
        # Resources on the GPU; vispy forbids further attributes from here on.
        self._made: list[Any] = []
        self._numbers: Any = None
        self._lines: Any = None
        self._shown: list[int] = []
        self._colors: Any = None
        self._mean_texture: Any = None
        self._height, self._staging = 1, np.zeros((2, SPLIT), np.float32)
        self._levels, self._means = np.zeros(0, np.float32), np.zeros((1, 1, 4), np.uint8)
        self._near: list[Near] = []
        self._found: list[Near] = []
        self.eye, self._version = Eye(), 0
        self._without_means = False
        self._table = np.zeros((len(self.plates), len(TABLE), 4), np.float32)
        nothing = np.zeros(self.count, np.float32)
        self._given = (nothing, nothing)
        self._is_huge = False  # whether a scale is larger than the inverse of a float32
        self._describe_plates()
        self.set_map(None, "#000000")
        # 1.0 in tests: each cube in the color of its bank index, the lowest byte in red.
        self.shared_program["u_ids"] = 0.0

    def _shaders(self, *, far: bool) -> tuple[str, str]:
        return cubes(far=far, seated=self._seated, bars=self._bars)

    # Data to draw.

    def numbers(self, colors: FloatArray, sizes: FloatArray) -> None:
        """Set the numbers of the cubes.

        Args:
            colors: numbers shown by colors, one per element of the bank
            sizes: numbers shown by sizes, one per element of the bank
        """
        with np.errstate(over="ignore"):  # infinite in float32: drawn as the largest
            given = np.ascontiguousarray(colors, np.float32)
            # Read once by the kernels of the mip levels, if both are identical.
            same = sizes is colors
            self._given = given, given if same else np.ascontiguousarray(sizes, np.float32)
        self._fresh = False
        if not self.eye.is_shared:  # in a scene of vispy
            self.update()

    def scales(self, colors: Any, sizes: Any) -> None:
        """Set the numbers that have the strongest color and the largest cube.

        Args:
            colors: magnitude with the strongest color, one number or one per plate
            sizes: magnitude with the largest cube, one number or one per plate
        """
        ends = [np.asarray(each, np.float64) for each in (colors, sizes)]
        self._is_huge = any(bool((each > LARGEST).any()) for each in ends)
        for column, each in enumerate(ends, 2):
            self._table[:, 1, column] = 1.0 / np.clip(each, SMALLEST, LARGEST)
        self._fresh = False
        self._changed = True

    def lights(
        self,
        dim: Any = 1.0,
        outside: Any = None,
        focus: Any = EVERYWHERE,
    ) -> None:
        """Set the brightness of each plate; see `shaders`.

        Args:
            dim: brightness, 1 (default) or less
            outside: brightness of cells out of focus; None (default) means `dim`
            focus: cells in focus, (plates, 4), see `shaders`; default: all cells
        """
        self._table[:, 2, 0] = dim
        self._table[:, 2, 3] = dim if outside is None else outside
        self._table[:, 6] = focus
        self._changed = True

    def set_map(self, colors: ColorMap | None, ground: str) -> None:
        """Set the color map and the background color.

        Args:
            colors: color map of the numbers; None means a gray ramp from -1 (black) to 1 (white)
            ground: background color, such as "#101010"
        """
        values = np.linspace(-1.0, 1.0, COLORS)
        table = np.repeat(values[:, None], 3, 1) * 0.5 + 0.5 if colors is None else colors(values)
        self._palette = np.concatenate([table, [NOT_A_NUMBER]]).astype(np.float32)
        self._fresh = False
        if self._made:
            self._colors.set_data(self._color_bytes())
        self.shared_program["u_ground"] = rgb((ground,))[0]

    def release(self) -> None:
        """Free the GPU memory; the next draw allocates it again.

        Without this call, the memory is freed only by the garbage collector, since visuals contain
        reference cycles.
        """
        for part in self._made:
            part.delete()
        self._made.clear()

    # Buffers and textures.

    def _describe_plates(self) -> None:
        """Write the constant rows of the texture `plates`."""
        for i, plate in enumerate(self.plates):
            self._table[i, 0] = [plate.columns, plate.rows, *divmod(plate.first, SPLIT)]
            self._table[i, 1, :2] = divmod(plate.stride, SPLIT)
            grid = plate.grid
            self._table[i, 4] = [*grid.size[::-1], *grid.pitch[::-1]]
            self._table[i, 5] = [*grid.stride[::-1], *plate.cell]
            self._table[i, 7] = [plate.wide, plate.deep, *plate.rise]
        self.scales(1.0, 1.0)
        self.lights()

    def _allocate(self) -> None:
        """Allocate the resources for the current context, within the limits of its driver.

        Raise DisplayError if the context has no float textures.
        """
        check_float_textures()
        largest = largest_texture()
        most = largest // 2 * SPLIT
        shown = [i for i, plate in enumerate(self.plates) if plate.indices.stop <= most]
        if len(shown) < len(self.plates):
            inform(
                f"{len(self.plates) - len(shown)} of {len(self.plates)} plates of cubes are not "
                f"drawn: textures of this graphics card hold only {most:,} numbers of a network"
            )
        self._set_geometry(shown)
        self._set_textures(min(self.count, most), largest)
        self._near.clear()
        self._fresh, self._changed = False, True

    def _set_geometry(self, shown: Sequence[int]) -> None:
        boxes = [(i, cell) for i in shown for cell in boxes_of(self.plates[i])]
        self._shown = [i for i, _ in boxes]
        plates = [self.plates[i] for i in self._shown]
        parts = {
            **{
                name: [getattr(each, name) for each in plates]
                for name in ("origin", "along", "across", "toward")
            },
            "size": [
                (*cell, each.half, each.standing_at)
                for (_, cell), each in zip(boxes, plates, strict=True)
            ],
        }
        corners = {name: np.repeat(values, 8, 0) for name, values in parts.items()}
        corners["corner"] = np.tile(CORNERS, (len(boxes), 1))
        turned = [np.dot(np.cross(each.along, each.across), each.toward) < 0.0 for each in plates]
        sides = [8 * i + (SIDES[:, ::-1] if turn else SIDES) for i, turn in enumerate(turned)]
        for name, data in corners.items() if boxes else ():
            buffer = gloo.VertexBuffer(data.astype(np.float32))
            self._made.append(buffer)
            self.shared_program[f"a_{name}"] = buffer
        self._lines = gloo.VertexBuffer(self._rows())
        self._made.append(self._lines)
        for name in LINES.names or ():
            self.shared_program[name] = self._lines[name]
        self._index_buffer = gloo.IndexBuffer(np.array(sides, np.uint32).reshape(-1, 3))
        self._made.append(self._index_buffer)

    def _rows(self) -> Any:
        """Return the table of plates with one row per corner of a box."""
        rows = np.repeat(self._table[self._shown], 8, axis=0)
        return rows.reshape(-1, 4 * len(TABLE)).view(LINES)[:, 0]

    def _set_textures(self, count: int, largest: int) -> None:
        self._height = max(1, -(-count // SPLIT))
        self._staging = np.zeros((2 * self._height, SPLIT), np.float32)
        self._lay_out_means(largest)
        self._without_means = False
        self._numbers = gloo.Texture2D(
            self._staging[..., np.newaxis],
            interpolation="nearest",
            wrapping="clamp_to_edge",
            internalformat="r32f",
        )
        smooth = {"interpolation": "linear", "wrapping": "clamp_to_edge"}
        self._colors = gloo.Texture2D(self._color_bytes(), **smooth)
        self._mean_texture = gloo.Texture2D(self._means, **smooth)
        program = self.shared_program
        program["u_numbers"], program["u_numbers_size"] = self._numbers, (SPLIT, 2 * self._height)
        program["u_means"] = self._mean_texture
        program["u_means_size"] = self._means.shape[1::-1]
        program["u_colors"] = self._colors
        self._made += [self._numbers, self._colors, self._mean_texture]

    def _color_bytes(self) -> Any:
        return (self._palette[np.newaxis, :-1] * 255.0).round().astype(np.uint8)

    def _lay_out_means(self, largest: int) -> None:
        """Assign a place in one texture to the mip levels of each plate, stacked vertically.

        A plate whose mip levels would exceed the `largest` texture is drawn cube by cube.
        """
        top, width = 0, 1
        self._levels = np.zeros(len(self._table), np.float32)
        for i, plate in enumerate(self.plates):
            rows, columns = room_of(plate) if levels_of(plate) else (0, 0)
            if rows and top + rows <= largest and 2 * columns <= largest:
                self._levels[i] = levels_of(plate)
                self._table[i, 3] = [0.0, top, columns, rows]
                top, width = top + rows, max(width, 2 * columns)
        self._table[:, 2, 2] = self._levels
        self._means = np.zeros((max(top, 1), width, 4), np.uint8)

    def _compute_bounds(self, axis: int, view: Any) -> tuple[float, float] | None:
        """Return the range of all plates along an axis, which cameras use for framing."""
        if not self.plates:
            return None
        along = np.concatenate([plate.corners()[:, axis] for plate in self.plates])
        return float(along.min()), float(along.max())

    def _prepare_transforms(self, view: Any) -> None:
        """Do nothing: `eye` handles transforms."""

    def _prepare_draw(self, view: Any) -> bool:
        if not self.plates:
            return False
        if not self._made:
            self._allocate()
        if not self.eye.look(view):
            return False
        if self._version != self.eye.version:
            self._version = self.eye.version
            self.eye.show(view.view_program, ("transform", "inverse"))
            self.update_gl_state(cull_face="front" if self.eye.mirrors else "back")
            self._found = nearness(self.plates, self.eye.transform, self.eye.viewport)
        if self._without_means != mip_levels.held:
            self._without_means = mip_levels.held
            self._table[:, 2, 2] = 0.0 if mip_levels.held else self._levels
            self._changed, self._fresh = True, False
        if self._changed:
            send(self._lines, self._rows())
            self._changed = False
        large = np.flatnonzero(self._table[:, 2, 2]).tolist()
        found = self._found
        far = max([each.most for each in found]) > FLAT_FROM
        if far != self._far:
            self._use_shader(far=far)
        near = [each if i in large else ANYHOW for i, each in enumerate(found)]
        if not self._fresh or near != self._near:
            self._upload(near)
            self._near, self._fresh = near, True
        return True

    def draw(self) -> None:
        """Draw the cubes."""
        if self.visible and self._prepare_draw(self):
            draw_triangles(self)

    def _use_shader(self, *, far: bool) -> None:
        """Use the shader that also draws small cubes if `far`, otherwise a faster one."""
        self._far = far
        self.shared_program.vert, self.shared_program.frag = self._shaders(far=far)

    def _upload(self, near: list[Near]) -> None:
        """Upload the visible data: numbers of near plates, mip levels of far plates."""
        given = self._given
        if self._is_huge:  # float32 cannot divide all of them by the scale
            given = np.clip(given[0], -LARGEST, LARGEST), np.clip(given[1], -LARGEST, LARGEST)
        count = min(self.count, self._height * SPLIT)
        flat = self._staging[: self._height].reshape(-1), self._staging[self._height :].reshape(-1)
        touched = np.zeros(self._height, bool)
        for i, plate in enumerate(self.plates):
            levels = int(self._table[i, 2, 2])
            if plate.indices.stop > count:
                continue
            if near[i].least < CUBES_TO or not levels:
                touched[plate.first // SPLIT : (plate.indices.stop - 1) // SPLIT + 1] = True
            if levels and near[i].most > MEANS_FROM:
                finest = int(np.log2(max(near[i].fine, 1.0)) + 0.5)
                self._send_means(i, plate, max(1, min(levels, finest)), given)
        rows = np.flatnonzero(touched)
        if not len(rows):
            return
        first, last = int(rows[0]), int(rows[-1]) + 1
        for half, (shown, own) in enumerate(zip(given, flat, strict=True)):
            part = slice(first * SPLIT, min(last * SPLIT, count))
            own[part] = shown[part]
            if last - first < self._height:
                offset = half * self._height
                changed = self._staging[offset + first : offset + last]
                self._numbers.set_data(changed[..., np.newaxis], offset=(offset + first, 0))
        if last - first == self._height:
            self._numbers.set_data(self._staging[..., np.newaxis])

    def _send_means(
        self, i: int, plate: Plate, finest: int, given: tuple[FloatArray, FloatArray]
    ) -> None:
        scale = tuple(float(number) for number in self._table[i, 1, 2:])
        left, above, _, rows = self._table[i, 3].astype(int).tolist()
        table = self._means[above : above + rows]
        fill(table, plate, *given, scale, self._palette, finest)
        self._mean_texture.set_data(np.ascontiguousarray(table), offset=(above, left))


def boxes_of(plate: Plate) -> Any:
    """Return column and row of each cube that has its own box; (-1, -1) for one common box."""
    row, column, _ = plate.cells()
    has_boxes = (plate.seat or plate.wide) and plate.size <= FEW
    return np.c_[column, row] if has_boxes else [(-1, -1)]


CubesNode = create_visual_node(CubesVisual)


# Level of detail.


def nearness(plates: Sequence[Plate], matrix: FloatArray, size: tuple[float, float]) -> list[Near]:
    """Return the level of detail of each plate in a viewport of `size` pixels.

    `matrix` transforms points in space, (n, 4), to clip coordinates.
    """
    if not plates:
        return []
    half = 0.5 * size[0], 0.5 * size[1]
    points = np.concatenate([np.concatenate([each.corners(), each.face]) for each in plates])
    seen = np.c_[points, np.ones(len(points))] @ matrix
    found = seen[:, [0, 1, 3]].reshape(len(plates), -1, 3).tolist()
    return [
        near_of(plate.columns, plate.rows, each[:8], each[8:], half, OBLIQUE)
        for plate, each in zip(plates, found, strict=True)
    ]
