"""Picture: renders frame data with vispy, with a camera that scalarviz controls.

    root (SubScene)
    └── view (ViewBox), with a camera node; view.scene uses the coordinates of the layout
        └── view.scene: cubes, spheres, wires, and custom nodes

Shapes and text in logical pixels are not nodes; they are drawn over the view.

This is one of the few files that depend on vispy's internals. Several pictures of different sizes
share a canvas, so this file draws the nodes instead of `SceneCanvas.on_draw`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from operator import attrgetter, is_not
from typing import Any, final

import numpy as np
import numpy.typing as npt
from vispy import gloo
from vispy.scene import BaseCamera, ViewBox
from vispy.scene.subscene import SubScene
from vispy.visuals.transforms import MatrixTransform

from scalarviz.base.messages import inform
from scalarviz.base.texts import text
from scalarviz.core.program import Program
from scalarviz.errors import DisplayError
from scalarviz.scene import overlay
from scalarviz.scene.annotations import SMALLEST_BALL, around_ball
from scalarviz.scene.bead_arrays import beads_of, blame_in_formula, grounds_of
from scalarviz.scene.callout import draw_beside, draw_told
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, Theme
from scalarviz.scene.canvas.renderer import Renderer, clear, set_scissor, set_state
from scalarviz.scene.caption_band import CARD_PAD, MORE, PieceBox, draw_caption, draw_opened
from scalarviz.scene.crossbar_ink import (
    draw_crossbar_lines,
    draw_crossbar_marks,
    lit_colors,
)
from scalarviz.scene.cube_numbers import draw_numbers
from scalarviz.scene.diagram import draw_diagram
from scalarviz.scene.drawn_lines import draw_above, draw_lines
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.formula_marks import draw_ways
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.held import draw_call_outs, draw_held
from scalarviz.scene.inspector import draw_hover, draw_inspector
from scalarviz.scene.labels import (
    Obstacles,
    draw_doors,
    draw_labels,
    draw_tied,
    place_signs,
    place_written,
)
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.layout.threads import said_to, thread_of
from scalarviz.scene.lights import Lights, lights
from scalarviz.scene.lines import LinePaint
from scalarviz.scene.long_rows import draw_kernel_rows, draw_long_rows, draw_row_sheet
from scalarviz.scene.loss_chart import Chart
from scalarviz.scene.marks import (
    MOST_FROZEN,
    draw_chosen,
    draw_ghosts,
    draw_pushes,
    hold,
    hold_arrays,
)
from scalarviz.scene.neurons import draw_neurons
from scalarviz.scene.offscreen import drawing
from scalarviz.scene.overlay import Button, OnTop, draw_chips
from scalarviz.scene.pace import seam
from scalarviz.scene.probe_maps import draw_large_map, draw_maps
from scalarviz.scene.sequence_choice import brightness_of
from scalarviz.scene.sequence_lines import draw_sequence_lines
from scalarviz.scene.sequence_picture import (
    draw_sequence_legend,
    draw_sequence_marks,
    draw_sequence_row,
)
from scalarviz.scene.side_panel import Side, side_of, side_room
from scalarviz.scene.strip import Place, draw_hovered, draw_strip
from scalarviz.scene.tray_card import MARGIN, draw_tray, tray_box
from scalarviz.scene.visuals.cubes import CubesNode
from scalarviz.scene.visuals.opengl import Eye, largest_texture
from scalarviz.scene.visuals.shaders import POOL
from scalarviz.scene.visuals.spheres import GroundsNode, SpheresNode, WiresNode
from scalarviz.scene.wall_lines import paint_walls, walls_seen

# Order of nodes: ours before custom ones, and wires, which are blended, after solid ones.
CUBES, SPHERES, WIRES = -3, -2, -1
BELOW = 16.0  # pixels below a neuron for its number
STRIPE = 14.0  # pixels between OUT and its target, at full light
LOW = 150.0, 96.0  # heights of the panel beside the network if space is short


@final
class PictureScene:
    """The vispy nodes of a picture.

    Attributes:
        view: the ViewBox; nodes with `parent=view.scene` are drawn together with the cubes
        pool, grounds: the node of the ground, and the node of trays and shadows
        spheres, wires: the node of neurons, and the node of wires between them
    """

    def __init__(self) -> None:
        self.root = SubScene()
        self.view = ViewBox(camera=BaseCamera(), parent=self.root)
        self.view.scene.clip_children = False  # the picture ends with the view
        self._ink = Renderer()
        self.pool: Any = GroundsNode(POOL, parent=self.view.scene)
        self.pool.set_data(np.zeros((1, 3)), np.full((1, 3), -1.0))
        self.grounds: Any = GroundsNode(parent=self.view.scene)
        self.pool.visible = self.grounds.visible = False
        self.spheres: Any = SpheresNode(parent=self.view.scene)
        self.wires = WiresNode(parent=self.view.scene)
        self.spheres.order, self.wires.order = SPHERES, WIRES
        self._matrix, self.eye = MatrixTransform(), Eye()
        self._size: object = None
        self.eye.change()
        for node in (self.pool, self.grounds, self.spheres, self.wires):
            node.eye = self.eye
        self.view.camera.transform = self._matrix
        self.view.camera.view_changed()

    @contextmanager
    def changing(self, width: int, height: int, ratio: float) -> Iterator[None]:
        """Context manager: set up the nodes for a frame; changes inside request no new frame.

        Args:
            width, height: size in device pixels
            ratio: device pixels per logical pixel
        """
        canvas = gloo.get_current_canvas()
        before, canvas._drawing = canvas._drawing, True
        try:
            if self.root.canvas is not canvas:
                self.root._set_canvas(canvas)
            fit_canvas(canvas.transforms, width, height, ratio)
            if self._size != (width, height, ratio):
                self._size = width, height, ratio
                self.view.size = width / ratio, height / ratio
                self.eye.change()
            yield
        finally:
            canvas._drawing = before

    def look(self, see: Projection) -> None:
        """Point the camera."""
        # From clip coordinates to logical pixels of the view.
        half = 0.5 * see.width, 0.5 * see.height
        fit = np.diag([half[0], -half[1], 1.0, 1.0])
        fit[:2, 3] = half
        matrix = (fit @ see.matrix).T
        if not np.array_equal(matrix, self._matrix.matrix):
            self._matrix.matrix = matrix
            self.eye.change()

    def paint(self, theme: Theme) -> None:
        """Set the colors of the theme."""
        self.spheres.paint(glass=theme.glass, shadow=theme.shadow)
        self.pool.paint(ground=theme.ground, pool=theme.pool)
        self.grounds.paint(tray=theme.shelf, shadow=theme.shadow)

    def draw(
        self, box: Box, paper: Canvas2D, size: tuple[int, int], corner: tuple[int, int]
    ) -> None:
        """Draw all visible nodes in order into a box, then all shapes and text.

        Args:
            box: box of the view, in logical pixels
            paper: canvas with the shapes and text
            size: width and height of the picture in device pixels
            corner: lower left corner of the picture in the framebuffer, in device pixels
        """
        ratio = paper.ratio
        self.pool.draw_always()  # also beyond the view
        left, low = round(box.x * ratio), round((paper.height - box.bottom) * ratio)
        set_scissor(
            corner[0] + left, corner[1] + low, round(box.width * ratio), round(box.height * ratio)
        )
        self.grounds.draw_always()
        draw_node(self.view)
        set_state(scissor_test=False)
        self._ink.draw(paper, *size, corner)

    def release(self) -> None:
        """Free the memory of all nodes except the cubes, and detach them from their canvas."""
        for node in (self.pool, self.grounds, self.spheres, self.wires):
            node.release()
        self.root._set_canvas(None)


def draw_node(node: Any) -> None:
    """Draw a node and its children in order, unless the node is invisible."""
    if not node.visible:
        return
    if hasattr(node, "draw"):
        node.draw()
    for child in sorted(node.children, key=lambda child: child.order):
        draw_node(child)


def fit_canvas(system: Any, width: int, height: int, ratio: float) -> None:
    """Set a canvas's transforms from logical pixels to the framebuffer and to clip space."""
    to_pixels, to_clip = system.canvas_transform.transforms[1], system.framebuffer_transform
    for transform, scale, offset in (
        (to_pixels, (ratio, -ratio), (0.0, height)),
        (to_clip.transforms[0], (2.0 / width, 2.0 / height), (-1.0, -1.0)),
    ):
        if tuple(transform.scale[:2]) != scale or tuple(transform.translate[:2]) != offset:
            transform.scale, transform.translate = scale, offset


# Items on and beside the cubes: marks and numbers of neurons, numbers of cubes, labels.


def draw_scenery(
    canvas: Canvas2D,
    see: Projection,
    frame_data: FrameData,
    lit: Lights,
    theme: Theme,
    scale: float = 1.0,
    above: LinePaint | None = None,
) -> Obstacles:
    """Draw marks, images and text on cubes and spheres, with depth, so that cubes can hide them.

    Args:
        above: lines drawn in front of squares and behind all numbers

    Returns:
        The areas that other labels must not cover.
    """
    layout = frame_data.layout
    draw_tied(canvas, theme, see, layout, frame_data.buffers.values)
    for i, line in enumerate(layout.neurons):
        bright = lit.neurons_of(i, len(line.points))
        draw_neurons(canvas, see, line, bright, frame_data, theme)
    if above is not None:
        draw_above(canvas, see, frame_data, theme, above)
    draw_numbers(canvas, see, frame_data, lit, theme)
    taken = write_ends(canvas, see, frame_data, theme)
    place_written(canvas, theme, see, layout, taken)
    place_signs(
        canvas, theme, see, layout, taken, frame_data.cubes.pushes, frame_data.buffers.flows
    )
    return taken


def draw_walls(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> None:
    """Draw the lines of all walls."""
    layout, known, scale = frame_data.layout, frame_data.buffers.values, canvas.scale
    walls = see.once(("walls", scale), layout, lambda found: walls_seen(found, see, scale))
    paint_walls(
        canvas,
        see,
        frame_data,
        theme,
        walls,
        lambda fan: said_to(fan, layout, known).tolist(),
        lambda: [
            layout.fans[number].row_of(*step)
            for number, *step in thread_of(layout, frame_data.weights, known)
        ],
    )


def write_ends(canvas: Canvas2D, see: Projection, frame_data: FrameData, theme: Theme) -> Obstacles:
    """Label the inputs and outputs; return the areas that other labels must not cover."""
    division = frame_data.division(see.width, see.height)
    has_result = frame_data.exhibit is not None and division.exhibit.width > 0.0
    return draw_labels(canvas, theme, see, frame_data.layout, division.margin, has_result)


def beside_network(
    frame_data: FrameData, division: Division
) -> tuple[Exhibit | None, Box, Box | None]:
    """Return the exhibit, its box, and the box for a panel below it while an operation is shown."""
    exhibit, box = frame_data.exhibit, division.exhibit
    if exhibit is not None and frame_data.opened:
        exhibit = exhibit.in_detail()
    if exhibit is not None and division.headline.height and exhibit.headline("") is not None:
        exhibit = exhibit.headed()
    if exhibit is None or frame_data.told is None or frame_data.pinned is not None:
        return exhibit, box, None
    scale, outputs = division.scale, len(frame_data.layout.neurons[-1].points)
    for high in (side_room(outputs), *LOW):
        shown, upper, panel = exhibit.above(box, scale, high * scale)
        if panel is not None:
            return shown, upper, panel
    return exhibit, box, None


def side_in(frame_data: FrameData, *, told: bool) -> Side | None:
    """Return the contents of the side panel, without its sentence if `told` (shown elsewhere)."""
    caption = frame_data.told
    if caption is None:
        return None
    return side_of(caption, text(f"things.{frame_data.words.things}"), told=told)


def draw_results(
    canvas: Canvas2D, see: Projection, frame_data: FrameData, division: Division, theme: Theme
) -> None:
    """Draw the lines from the outputs to the exhibit, unless it is below the network."""
    exhibit, box, _ = beside_network(frame_data, division)
    if exhibit is not None and division.exhibit.width:
        doors = exhibit.doors(box, division.scale)
        if doors[0][0] >= division.inner.right:
            draw_doors(
                canvas,
                theme,
                see,
                frame_data.layout,
                doors,
                frame_data.buffers.values,
                frame_data.buffers.answers,
                exhibit.border,
                awaits=exhibit.awaits,
            )


def draw_seam(canvas: Canvas2D, frame_data: FrameData, box: Box, theme: Theme) -> None:
    """Draw the glowing bar between output and target during the loss."""
    moment, exhibit = frame_data.moment, frame_data.exhibit
    light = seam("" if moment is None else moment.kind, frame_data.part)
    if exhibit is None or not box.width or not light:
        return
    places = exhibit.places(box, canvas.scale)
    between = places.goal.x - places.out.right
    if between < 0.0:
        return  # targets are marks on the map of answers
    wide, middle = max(STRIPE * canvas.scale, between) * light, places.out.right + 0.5 * between
    canvas.box(
        middle - 0.5 * wide, places.out.y, wide, places.out.height, theme.push, radius=0.5 * wide
    )


# Inputs of title and legend.
HEAD = attrgetter(
    *("words.title", "cubes.color", "cubes.size", "cubes.per_layer", "cubes.clipped"),
    *("cubes.grown", "cubes.common", "cubes.module", "strip"),
)
# Inputs of cubes, balls and their light, besides the view.
SOLID = attrgetter(
    *("layout", "cubes", "buffers", "moment", "part", "focus", "attention", "walked", "choice")
)


@final
class Picture:
    """Renders frame data in one OpenGL context, the first in which it draws.

    Attributes:
        theme: name of the theme, a key of THEMES
        program: the shown program, used to compute brightness
        scene: its vispy nodes, including the view for custom nodes
        words: all text in the last picture
    """

    def __init__(self, theme: str = "dark", program: Program | None = None) -> None:
        self.program = program
        self.words: list[str] = []
        self.scene = PictureScene()
        self._cubes: Any = None
        self.set_theme(theme)
        self._layout: Layout | None = None
        self._shown: Any = None
        self._lit_by: object = None  # of the light on bars
        self._solid: tuple[object, ...] = (None,)
        self._lit: Any = None
        self._seen: tuple[Layout, object, Projection] | None = None
        self._parts: dict[str, Any] = {}  # of the flat canvas, see `Canvas2D.by_turns`

    def set_theme(self, name: str) -> None:
        """Change the theme."""
        self.theme: Theme = THEMES[name]
        if self._cubes is not None:
            self._cubes.set_map(self.theme.map, self.theme.ground)
        self.scene.paint(self.theme)

    def release(self) -> None:
        """Free the GPU memory; the next `draw` allocates it again."""
        if self._cubes is not None:
            self._cubes.release()
            self._cubes.parent = None
            self._cubes = None
        self.scene.release()

    def see(self, frame_data: FrameData, camera: Camera, width: float, height: float) -> Projection:
        """Return the projection of the scene in a picture of this size in logical pixels."""
        layout, box = frame_data.layout, frame_data.division(width, height).inner
        key = camera, box, width, height
        if self._seen is None or self._seen[0] is not layout or self._seen[1] != key:
            far = np.linalg.norm(layout.extent - np.array(camera.target), axis=1)
            reach = float(far.max(initial=0.0)) + 2.0
            self._seen = layout, key, Projection(camera, box, width, height, reach)
        return self._seen[2]

    def draw(
        self,
        frame_data: FrameData,
        camera: Camera,
        width: int,
        height: int,
        ratio: float,
        corner: tuple[int, int] = (0, 0),
    ) -> OnTop:
        """Draw a frame of width x height device pixels; `ratio` is device per logical pixel.

        Returns the overlays, which handle the mouse.

        Args:
            corner: lower left corner in the framebuffer, in device pixels; default (0, 0)
        """
        if width < 2 or height < 2:
            return OnTop()  # a minimized window
        wide, high = width / ratio, height / ratio
        see = self.see(frame_data, camera, wide, high)
        clear(self.theme.ground, width, height, corner)
        division = frame_data.division(wide, high)
        with self.scene.changing(width, height, ratio):
            self.scene.look(see)
            solid = *SOLID(frame_data), self.theme, camera, division, self.program
            if any(map(is_not, solid, self._solid)) or self._cubes is None:
                self._solid = solid
                self._set_solid(frame_data, camera, division.scale)
            paper, on_top = self._flat(frame_data, see, self._lit, ratio)
            self.scene.draw(division.view, paper, (width, height), corner)
        return on_top

    def _flat(
        self, frame_data: FrameData, see: Projection, lit: Lights, ratio: float
    ) -> tuple[Canvas2D, OnTop]:
        """Return a canvas with the shapes and text of a frame, and its mouse targets."""
        theme, division = self.theme, frame_data.division(see.width, see.height)
        shown = frame_data.moment, frame_data.part, frame_data.current
        scale, key = division.scale, (theme.name, division, frame_data.chosen, shown)
        canvas = Canvas2D(see.width, see.height, ratio, scale, self._parts, frame_data.now)

        def scenery(part: Canvas2D) -> tuple[Obstacles, bool]:
            draw_ghosts(part, see, frame_data, theme)
            pushed = draw_pushes(part, see, frame_data, theme)
            found = draw_scenery(part, see, frame_data, lit, theme, scale, above)
            draw_ways(part, see, frame_data, theme, blame_in_formula(frame_data))
            opened = draw_kernel_rows(part, see, frame_data, theme)
            return replace(found, boxes=[*found.boxes, *opened]), pushed

        def lines(part: Canvas2D) -> LinePaint:
            draw_diagram(part, theme, see, frame_data.layout)
            draw_sequence_lines(part, see, frame_data, theme)
            draw_maps(part, see, frame_data.layout, frame_data.probe, theme)
            draw_walls(part, see, frame_data, theme)
            draw_crossbar_lines(part, see, frame_data, theme)
            above = draw_lines(part, see, frame_data, lit, theme)
            draw_long_rows(part, see, frame_data, theme)
            return above

        def marks(part: Canvas2D) -> tuple[list[Box], Box | None, list[Box]]:
            taken.boxes += draw_sequence_marks(part, see, frame_data, theme)
            draw_chosen(part, see, frame_data, theme)
            draw_crossbar_marks(part, see, frame_data, theme)  # over brackets
            frozen = frame_data.cubes.frozen
            if frame_data.layout.marks:
                hold_arrays(part, see, frame_data, theme)
            elif frozen is not None:
                for row in np.flatnonzero(frozen)[:MOST_FROZEN].tolist():
                    hold(part, see, frame_data, row, theme)
            draw_held(part, see, frame_data, theme)
            taken.boxes += draw_call_outs(part, see, frame_data, theme, taken.boxes)
            sheets = draw_row_sheet(part, see, frame_data, theme)
            taken.boxes += sheets
            taken.boxes += draw_told(part, see, frame_data, taken, theme)
            draw_large_map(part, see, frame_data.map, frame_data.probe, theme, division.view)
            return taken.boxes, taken.panel, sheets

        doors = partial(
            draw_results, see=see, frame_data=frame_data, division=division, theme=theme
        )
        canvas.by_turns("doors", (see, key), doors)  # below all numbers
        with canvas.clip(*division.view.place):
            above = canvas.by_turns("lines", (see, key), lines)
            found, arrows = canvas.by_turns("scenery", (see, key), scenery)
            taken = replace(found, boxes=[*found.boxes])
            covered, panel, sheets = canvas.by_turns("marks", (see, key), marks)
            taken = replace(taken, boxes=[*covered], panel=panel, sheets=sheets)
        on_top = self._write(canvas, division, frame_data, see, taken, key, arrows=arrows)
        self.words = canvas.words
        return canvas, on_top

    def _write(
        self,
        canvas: Canvas2D,
        division: Division,
        frame_data: FrameData,
        see: Projection,
        taken: Obstacles,
        key: object,
        *,
        arrows: bool,
    ) -> OnTop:
        theme, scale = self.theme, division.scale
        if frame_data.is_health:
            words = replace(frame_data.words, caption=None, task="")
            frame_data = replace(frame_data, words=words)
        tray, card = tray_box(frame_data, division), division.card
        if tray is not None:
            taken.boxes.append(tray)
        if tray is not None and card.width:
            top = tray.bottom + MARGIN - card.y
            card = Box(card.x, card.y + top, card.width, max(0.0, card.height - top))

        def head(part: Canvas2D) -> tuple[Box | None, list[Place]]:
            legend = None
            if frame_data.pane is not None:
                overlay.draw_pane_head(part, division, frame_data.pane, theme)
            else:
                factor = frame_data.cubes.moved[1]
                news = text("legend.moved", factor=f"{factor:g}") if factor > 1.0 else ""
                news = text("legend.ghosts") if frame_data.begun is not None else news
                is_upright = frame_data.layout.crossbar is not None
                pushes = text("legend.pushes.upright" if is_upright else "legend.pushes")
                news = pushes if arrows else news
                news = text("legend.ways") if blame_in_formula(frame_data) else news
                look = frame_data, theme, news
                legend = overlay.draw_head(part, division, *look, titled=False)
                left = overlay.title_right(part, division, frame_data)
                draw_sequence_legend(part, frame_data, legend, left, theme)
            return legend, draw_strip(part, division, frame_data, theme)

        def band(part: Canvas2D) -> tuple[Chart | None, list[PieceBox], list[Button], list[Box]]:
            if frame_data.pane is not None:
                return None, [], [], []
            chart = overlay.draw_band(part, division, frame_data, theme, cells)
            balls = taken.spheres[taken.spheres[:, 2] >= SMALLEST_BALL * scale].tolist()
            around = [around_ball((x, y, radius), scale).box for x, y, radius in balls]
            low = BELOW * scale
            numbers = [Box(each.x, each.y, each.width, each.height + low) for each in around]
            clear = replace(taken, boxes=[*taken.boxes, *numbers])  # no sentence covers a number
            said = frame_data
            if taken.panel is not None or below is not None:  # contains the sentence
                said = replace(said, words=replace(said.words, caption=None))
            caption, told = draw_caption(part, division, said, theme, clear, title)
            if division.head.height and caption != title:
                overlay.draw_title(part, division, frame_data, theme)
            inner = caption.inside(CARD_PAD * scale)
            buttons = overlay.draw_offers(part, inner, frame_data.offers, theme, scale)
            made, boxes = draw_chips(part, division, frame_data, theme, taken, [caption])
            return chart, told, [*buttons, *made], [caption, *boxes]

        exhibit, room, panel = beside_network(frame_data, division)
        side = side_in(frame_data, told=taken.panel is not None)
        below = None if side is None else panel

        def result(part: Canvas2D) -> None:
            overlay.draw_headline(part, division, frame_data, theme)
            if exhibit is not None and division.exhibit.width:
                exhibit.paint(part, room, theme)

        canvas.by_turns("result", (key, room), result)
        draw_seam(canvas, frame_data, room, theme)
        if side is not None and below is not None:
            below = draw_beside(canvas, frame_data, below, side, theme)
        pinned = frame_data.pinned
        if pinned is not None and card.width:
            inspector = partial(draw_inspector, box=card, card=pinned, theme=theme, scale=scale)
            canvas.by_turns("card", key, inspector)
        legend, cells = canvas.by_turns(
            "head",
            (
                key,
                arrows,
                frame_data.look,
                *HEAD(frame_data),
                frame_data.cubes.color_scales.tobytes(),
            ),
            head,
            steady=True,
        )
        title = division.head if legend is None else replace(division.head, width=legend.x)
        title = title.inside(min(4.0 * scale, 0.1 * title.height))
        chart, told, buttons, boxes = canvas.by_turns("band", key, band)
        told += [(each, MORE) for each in (taken.panel, below) if each is not None]  # all terms
        more = None if exhibit is None or panel is not None else exhibit.details(room, scale)
        if more is not None and division.exhibit.width:
            told = [*told, (more, MORE)]
        with canvas.clip(*division.view.place):
            canvas.by_turns("words", (see, key), lambda part: taken.write(part, theme, boxes))
        draw_hovered(canvas, cells, frame_data, theme, scale)
        pairs = [] if tray is None else draw_tray(canvas, see, frame_data, tray, theme)
        row = draw_sequence_row(canvas, see, frame_data, theme)
        pairs += row
        over = [*boxes, *taken.sheets, *([] if tray is None else [tray]), *[box for box, _ in row]]
        draw_hover(canvas, see, frame_data, theme, division, over)
        told = [*draw_opened(canvas, division, frame_data, theme), *told]
        overlay.draw_marks_key(canvas, division, frame_data, theme)
        overlay.draw_help(canvas, division, frame_data.help, theme)
        return OnTop(buttons, chart, cells, told, legend, pairs)

    def _set_solid(self, frame_data: FrameData, camera: Camera, scale: float) -> None:
        """Set the data of cubes, spheres, wires and grounds, with their brightness."""
        lit = self._lit = lights(
            *(frame_data.layout, self.program, frame_data.moment),
            *(frame_data.focus, frame_data.attention),
        )
        self._set_cubes(frame_data, lit)
        spheres, wires = beads_of(frame_data, lit, self.theme, camera, scale)
        self.scene.spheres.set_data(*spheres)
        self.scene.wires.set_data(*wires)
        self.scene.grounds.set_data(*grounds_of(frame_data))

    def _set_cubes(self, frame_data: FrameData, lit: Lights) -> None:
        cubes = self._node(frame_data)
        shown = frame_data.cubes
        is_usual = shown.color == shown.size == "value"
        by_products = frame_data.layout.crossbar is not None and is_usual
        if self._shown is not shown or (by_products and self._lit_by is not frame_data.buffers):
            cubes.scales(shown.color_scales, shown.size_scales)
            colors = shown.colors
            if by_products:
                colors, lit_rows = np.array(colors, np.float64), lit_colors(frame_data)
                colors[[*lit_rows]] = [*lit_rows.values()]
            cubes.numbers(colors, shown.sizes)
            self._shown, self._lit_by = shown, frame_data.buffers
        cells = {} if lit.focus is None else {"focus": np.reshape(lit.focus.cells, (-1, 4))}
        outside = lit.outside
        if lit.focus is None and frame_data.layout.sequence is not None:
            bright, own = brightness_of(frame_data)
            outside, cells = lit.plates * bright, {"focus": np.reshape(own, (-1, 4))}
        cubes.lights(lit.plates, outside, **cells)

    def _node(self, frame_data: FrameData) -> Any:
        """Return the node of the cubes, which is a new one if the layout has changed."""
        if self._cubes is None or self._layout is not frame_data.layout:
            if self._cubes is not None:
                self._cubes.release()
                self._cubes.parent = None
            count = len(frame_data.cubes.colors)
            self._cubes = CubesNode(frame_data.layout.plates, count, parent=self.scene.view.scene)
            self._cubes.order, self._cubes.eye = CUBES, self.scene.eye
            self._cubes.set_map(self.theme.map, self.theme.ground)
            self._layout, self._shown = frame_data.layout, None
        return self._cubes


# Rendering without a window, into arrays.


@final
class Canvas(AbstractContextManager["Canvas"]):
    """An offscreen canvas; use it as a context manager, or call `close`.

    Args:
        width, height: size in logical pixels

    Raises:
        DisplayError: if OpenGL cannot be used here.
    """

    def __init__(self, width: int, height: int) -> None:
        with drawing():
            pass  # raises the error early
        self.width, self.height = width, height
        self._room = (0, 0)
        self._buffer: Any = None
        self._of: Any = None  # the offscreen canvas of the buffer

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory of the canvas and of all released pictures."""
        with drawing():
            self._buffer, self._of, self._room = None, None, (0, 0)

    def frame(
        self, draw: Callable[[int, int, float], None], ratio: float = 1.0, samples: int = 1
    ) -> npt.NDArray[np.uint8]:
        """Return what `draw(width, height, ratio)` draws, as bytes (height, width, 3).

        Args:
            ratio: device pixels per logical pixel
            samples: supersampling; each pixel is the mean of samples x samples drawn pixels

        Raises DisplayError if the driver cannot draw pictures of this size. If only the
        supersampling exceeds its limit, `samples` is reduced.
        """
        wide, high = round(self.width * ratio), round(self.height * ratio)
        with drawing() as canvas:
            samples = affordable(samples, max(wide, high))
            size = high * samples, wide * samples
            if self._room != size or self._of is not canvas:
                self._buffer = gloo.FrameBuffer(
                    gloo.Texture2D((*size, 3)), gloo.RenderBuffer(size, "depth")
                )
                self._room, self._of = size, canvas
            with self._buffer:
                draw(size[1], size[0], ratio * samples)
                pixels = gloo.read_pixels((0, 0, size[1], size[0]), alpha=False)
        if samples == 1:
            return np.ascontiguousarray(pixels)
        total = np.zeros((high, wide, 3), np.uint16)
        for row in range(samples):
            for column in range(samples):
                total += pixels[row::samples, column::samples]
        return ((total + samples**2 // 2) // samples**2).astype(np.uint8)


def affordable(samples: int, side: int) -> int:
    """Return `samples`, reduced to what the driver supports for a picture side of `side` pixels."""
    most = largest_texture()
    if side > most:
        raise DisplayError(
            f"this graphics card draws pictures of up to {most:,} pixels per side, not {side:,}: "
            "choose a smaller size or ratio"
        )
    fewer = min(samples, most // side)
    if fewer < samples:
        inform(
            f"each pixel is the mean of {fewer} x {fewer} samples, not {samples} x {samples}: "
            f"this graphics card draws up to {most:,} pixels per side"
        )
    return fewer
