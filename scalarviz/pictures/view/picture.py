"""Picture: renders frame data as a vispy scene, see `picture_scene`."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from vispy import gloo

from scalarviz.core.program import Program
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb
from scalarviz.pictures.draw2d.theme import THEMES, Theme
from scalarviz.pictures.view import overlay
from scalarviz.pictures.view.beads import beads_of
from scalarviz.pictures.view.callout import draw_callout
from scalarviz.pictures.view.chips import draw_chips
from scalarviz.pictures.view.cubes.cubes import CubesNode
from scalarviz.pictures.view.focus import focus_of
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.guess import draw_guess
from scalarviz.pictures.view.highlights import draw_marks
from scalarviz.pictures.view.inspector import draw_inspector
from scalarviz.pictures.view.labels import Obstacles
from scalarviz.pictures.view.legend import draw_legend, explain_arrows, legend_box
from scalarviz.pictures.view.lights import Lights, lights
from scalarviz.pictures.view.marks_key import draw_marks_key
from scalarviz.pictures.view.moves import draw_ghosts, draw_pushes
from scalarviz.pictures.view.neurons import draw_errors
from scalarviz.pictures.view.on_top import OnTop
from scalarviz.pictures.view.picture_scene import CUBES, PictureScene
from scalarviz.pictures.view.scene.camera import Camera
from scalarviz.pictures.view.scene.frame import Box, Division, Projection
from scalarviz.pictures.view.scene.plates import Layout
from scalarviz.pictures.view.scenery import draw_scenery
from scalarviz.pictures.view.spoken import draw_spoken
from scalarviz.pictures.view.strip import draw_hovered, draw_strip
from scalarviz.pictures.view.tied import draw_thread
from scalarviz.pictures.view.told import draw_caption, draw_opened
from scalarviz.pictures.view.tooltip import draw_hover


@final
class Picture:
    """Renders frame data in the current OpenGL context; bound to the first one it is used in.

    theme    name of the colors, a key of THEMES
    program  the program that is shown, which the lights need
    scene    its vispy nodes, with the view that a user's nodes are put in
    words    all text on the last picture
    """

    def __init__(self, theme: str = "dark", program: Program | None = None) -> None:
        self.theme: Theme = THEMES[theme]
        self.program = program
        self.words: list[str] = []
        self.scene = PictureScene()
        self._cubes: Any = None
        self._layout: Layout | None = None
        self._shown: Any = None

    def set_theme(self, name: str) -> None:
        """Change the colors."""
        self.theme = THEMES[name]
        if self._cubes is not None:
            self._cubes.set_map(self.theme.map, self.theme.ground)

    def release(self) -> None:
        """Free the memory on the graphics card; the next `draw` allocates it again."""
        if self._cubes is not None:
            self._cubes.release()
            self._cubes.parent = None
            self._cubes = None
        self.scene.release()

    def see(self, frame_data: FrameData, camera: Camera, width: float, height: float) -> Projection:
        """Return the projection of the scene in a picture of this size in logical pixels."""
        box = frame_data.view or frame_data.division(width, height).inner
        points = frame_data.layout.points()
        reach = (
            float(np.linalg.norm(points - np.array(camera.target), axis=1).max(initial=0.0)) + 2.0
        )
        return Projection(camera, box, width, height, reach)

    def draw(
        self,
        frame_data: FrameData,
        camera: Camera,
        width: int,
        height: int,
        ratio: float,
        corner: tuple[int, int] = (0, 0),
    ) -> OnTop:
        """Draw a frame of width x height device pixels; `ratio` of them are a logical pixel.

        Return what lies on top of it, for the mouse.

        corner  the lower left corner in the framebuffer, in device pixels from its own; by default
                that corner
        """
        if width < 2 or height < 2:
            return OnTop()  # a minimized window
        wide, high = width / ratio, height / ratio
        see = self.see(frame_data, camera, wide, high)
        shown = frame_data.layout, self.program, frame_data.moment, frame_data.part
        lit = lights(
            *shown,
            focus_of(frame_data),
            frame_data.attention,
            frame_data.wave,
            walks=frame_data.walked is not None,
        )
        gloo.set_viewport(*corner, width, height)
        gloo.set_state(depth_test=True, blend=False, cull_face=False, scissor_test=True)
        gloo.set_scissor(*corner, width, height)
        gloo.clear(color=(*rgb((self.theme.ground,))[0].tolist(), 1.0), depth=True)
        gloo.set_state(scissor_test=False)
        scale = frame_data.division(wide, high).scale
        beads = beads_of(frame_data, lit, self.theme, camera, scale)
        with self.scene.changing(width, height, ratio):
            self.scene.look(see)
            self._set_cubes(frame_data, lit)
            self._cubes.fog(see.deep(frame_data.layout.points()))
            self.scene.set_beads(beads)
            self.scene.flat.paper, on_top = self._flat(frame_data, see, lit, ratio)
            self.scene.draw(frame_data.division(wide, high).view, high, ratio, corner)
        return on_top

    def _flat(
        self, frame_data: FrameData, see: Projection, lit: Lights, ratio: float
    ) -> tuple[Canvas2D, OnTop]:
        """Return all shapes and text of a frame, and what of them the mouse can find."""
        wide, high = see.width, see.height
        division = frame_data.division(wide, high)
        canvas = Canvas2D(wide, high, ratio, division.scale)
        with canvas.clip(*division.view.place):
            arrows = draw_pushes(canvas, see, frame_data, self.theme, division.scale)
            taken = draw_scenery(canvas, see, frame_data, lit, self.theme, division.scale)
            draw_ghosts(canvas, see, frame_data, self.theme)
            if frame_data.moment is not None and frame_data.moment.kind == "loss":
                draw_errors(canvas, see, frame_data, self.theme, taken.boxes)
            draw_marks(canvas, see, frame_data, self.theme)
            callout = None
            if frame_data.guess is None:
                callout = draw_callout(canvas, see, frame_data, taken, self.theme, division.scale)
            if callout is not None:
                taken.boxes.append(callout)
            draw_spoken(canvas, see, frame_data, taken, self.theme, division.scale)
            draw_guess(canvas, see, frame_data, self.theme, division.scale)
        on_top = self._write(canvas, division, frame_data, see, taken, arrows)
        self.words = canvas.words
        return canvas, on_top

    def _write(
        self,
        canvas: Canvas2D,
        division: Division,
        frame_data: FrameData,
        see: Projection,
        taken: Obstacles,
        arrows: bool,
    ) -> OnTop:
        theme = self.theme
        draw_legend(canvas, division, frame_data.cubes, theme)
        self._draw_panels(canvas, division, frame_data, see)
        if frame_data.pane is not None:
            head = overlay.draw_pane_head(canvas, division, frame_data.pane, theme)
        else:
            head = overlay.draw_head(canvas, division, frame_data.words, theme)
        cells = draw_strip(canvas, division, frame_data, theme)
        offers, chart = overlay.draw_band(canvas, division, frame_data, theme)
        told = draw_caption(canvas, division, frame_data, theme)
        buttons: list[overlay.Button] = []
        messages: list[Box] = []
        if frame_data.pane is None:
            buttons, messages = draw_chips(canvas, division, frame_data, head, theme, taken)
        if arrows:
            explain_arrows(canvas, division, head, theme, messages, taken.meets)
        draw_hovered(canvas, cells, frame_data, theme, division.scale)
        draw_hover(canvas, see, frame_data, theme, division, messages)
        told = [*draw_opened(canvas, division, frame_data, theme), *told]
        draw_marks_key(canvas, division, frame_data, theme)
        overlay.draw_help(canvas, division, frame_data.help, theme)
        return OnTop([*offers, *buttons], chart, cells, told, legend_box(division))

    def _draw_panels(
        self, canvas: Canvas2D, division: Division, frame_data: FrameData, see: Projection
    ) -> None:
        """Draw the exhibit and the pinned weight at the right end of the stage."""
        if frame_data.exhibit is not None and division.exhibit.width:
            exhibit = frame_data.exhibit
            exhibit.paint(canvas, division.exhibit, self.theme)
            spot, lines = exhibit.spot(), frame_data.layout.neurons
            if spot is not None and lines:
                draw_thread(canvas, see, lines[-1], spot, self.theme)
        has_room = frame_data.view is None  # else the network is still on its way out of it
        if frame_data.pinned is not None and division.card.width and has_room:
            draw_inspector(canvas, division.card, frame_data.pinned, self.theme, division.scale)

    def _set_cubes(self, frame_data: FrameData, lit: Lights) -> None:
        cubes = self._node(frame_data)
        shown = frame_data.cubes
        if self._shown is not shown:
            cubes.scales(shown.color_scales, shown.size_scales)
            cubes.numbers(shown.colors, shown.sizes)
            self._shown = shown
        color = self.theme.accent if lit.back else "#ffffff"
        cells = {} if lit.focus is None else {"focus": lit.focus.cells}
        cubes.lights(lit.plates, lit.white, color, lit.outside, **cells)

    def _node(self, frame_data: FrameData) -> Any:
        """Return the node of the cubes; a new one if the layout has changed."""
        if self._cubes is None or self._layout is not frame_data.layout:
            if self._cubes is not None:
                self._cubes.release()
                self._cubes.parent = None
            count = len(frame_data.cubes.colors)
            parent = self.scene.view.scene
            self._cubes = CubesNode(frame_data.layout.plates, count, parent=parent)
            self._cubes.order = CUBES
            self._cubes.set_map(self.theme.map, self.theme.ground)
            self._layout, self._shown = frame_data.layout, None
        return self._cubes
