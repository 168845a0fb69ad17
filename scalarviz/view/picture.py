"""Picture: a sight and a camera become pixels, by one visual for all cubes and one for the rest."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from vispy import gloo
from vispy.visuals.transforms import MatrixTransform, NullTransform

from scalarviz.draw2d.canvas import Paper
from scalarviz.draw2d.colors import rgb
from scalarviz.draw2d.renderer import Ink
from scalarviz.draw2d.theme import THEMES, Theme
from scalarviz.model.program import Program
from scalarviz.view import overlay
from scalarviz.view.charts import loss_panel, panel
from scalarviz.view.cubes.cubes import Cubes
from scalarviz.view.frame_data import Sight
from scalarviz.view.highlights import draw_changes, draw_marks
from scalarviz.view.inspector import draw_hover, draw_inspector, inspector_height
from scalarviz.view.lights import Lights, lights
from scalarviz.view.neurons import draw_errors
from scalarviz.view.scene.camera import Camera
from scalarviz.view.scene.frame import Box, Division, Projection
from scalarviz.view.scene.plates import Layout
from scalarviz.view.scenery import draw_scenery

GAP = 10.0  # pixels between two panels


@final
class Picture:
    """Draws into whatever OpenGL context is current; it is bound to the first one.

    buttons  what can be pressed on the last picture: boxes in logical pixels, and their names
    """

    def __init__(self, theme: str = "dark", program: Program | None = None) -> None:
        self.theme: Theme = THEMES[theme]
        self.program = program
        self.buttons: list[overlay.Button] = []
        self.words: list[str] = []
        self._cubes: Cubes | None = None
        self._layout: Layout | None = None
        self._shown: Any = None
        self._ink = Ink()

    def set_theme(self, name: str) -> None:
        """Other colors from now on."""
        self.theme = THEMES[name]
        if self._cubes is not None:
            self._cubes.set_map(self.theme.map, self.theme.ground, self.theme.tray)

    def release(self) -> None:
        """Free its memory on the graphics card; what is drawn after it is made anew."""
        if self._cubes is not None:
            self._cubes.release()
            self._cubes = None

    def see(self, sight: Sight, camera: Camera, width: float, height: float) -> Projection:
        """Where the points of the scene are in a picture of so many logical pixels."""
        box = Division.of(width, height).inner
        points = sight.layout.points()
        reach = float(np.linalg.norm(points - np.array(camera.target), axis=1).max()) + 2.0
        return Projection(camera, box, width, height, reach)

    def draw(self, sight: Sight, camera: Camera, width: int, height: int, ratio: float) -> None:
        """Draw it, so many device pixels large; `ratio` of them are a logical pixel."""
        if width < 2 or height < 2:
            return  # a window that was made as small as that shows nothing
        wide, high = width / ratio, height / ratio
        see = self.see(sight, camera, wide, high)
        lit = lights(sight.layout, self.program, sight.moment, sight.part)
        gloo.set_viewport(0, 0, width, height)
        gloo.set_state(depth_test=True, blend=False, cull_face=False)
        gloo.clear(color=(*rgb((self.theme.ground,))[0].tolist(), 1.0), depth=True)
        self._draw_cubes(sight, see, lit, width, height)
        paper = Paper(wide, high, ratio)
        division = Division.of(wide, high)
        draw_scenery(paper, see, sight, lit, self.theme)
        if sight.moment is not None and sight.moment.kind == "step":
            draw_changes(paper, see, sight, sight.part, self.theme)
        if self._is_about_outputs(sight):
            draw_errors(paper, see, sight, self.theme)
        draw_marks(paper, see, sight, self.theme)
        self._write(paper, division, sight, see)
        self._ink.draw(paper, width, height)
        self.words = paper.words

    def _write(self, paper: Paper, division: Division, sight: Sight, see: Projection) -> None:
        theme = self.theme
        overlay.draw_strip(paper, division.strip, sight, theme)
        self._draw_panels(paper, division.side, sight)
        overlay.draw_foot(paper, division.foot, sight.words, theme)
        head = overlay.draw_head(paper, division.head, sight.words, theme)
        self.buttons = overlay.draw_chips(paper, division, sight, head, theme)
        self.buttons += overlay.draw_offers(paper, division, sight.offers, theme)
        draw_hover(paper, see, sight, theme, division.scene)
        overlay.draw_help(paper, division, sight.help, theme)

    def _is_about_outputs(self, sight: Sight) -> bool:
        """Whether the loss is shown, or the gradient by the outputs."""
        moment, program = sight.moment, self.program
        if moment is None or program is None or moment.kind not in ("loss", "delta"):
            return False
        return moment.kind == "loss" or moment.operation == len(program.operations) - 1

    def _draw_panels(self, paper: Paper, side: Box, sight: Sight) -> None:
        """The loss, what is learned, and the pinned weight: one below the other, or in a row."""
        if side.height < 40.0 or side.width < 40.0:
            return
        exhibit, card = sight.exhibit, sight.pinned
        if side.width > 1.6 * side.height:
            parts = 1 + (exhibit is not None) + (card is not None)
            wide = (side.width - GAP * (parts - 1)) / parts
            boxes = [
                Box(side.x + i * (wide + GAP), side.y, wide, side.height) for i in range(parts)
            ]
        else:
            most = 0.64 * side.height
            card_high = inspector_height(paper, card, side.width, most) if card else 0.0
            room = side.height - (card_high + GAP if card else 0.0)
            loss_high = min(240.0, room)
            if exhibit is not None:
                loss_high = min(200.0, exhibit.loss_share * room)
            boxes = [Box(side.x, side.y, side.width, loss_high)]
            if exhibit is not None:
                top = boxes[-1].bottom + GAP
                most = side.y + room - top
                wish = min(most, exhibit.height(side.width - 24.0) + 38.0)
                boxes.append(Box(side.x, top, side.width, wish))
            if card is not None:
                boxes.append(Box(side.x, boxes[-1].bottom + GAP, side.width, card_high))
        loss_panel(paper, boxes[0], sight.curve, self.theme)
        if exhibit is not None:
            title = exhibit.title.partition("  ")[0]
            inside = panel(paper, boxes[1], title, self.theme, exhibit.aside)
            if inside.height > 12.0:
                exhibit.paint(paper, inside, self.theme)
        if card is not None:
            draw_inspector(paper, boxes[-1], card, self.theme)

    def _draw_cubes(
        self, sight: Sight, see: Projection, lit: Lights, width: int, height: int
    ) -> None:
        cubes = self._visual(sight)
        shown = sight.cubes
        if self._shown is not shown:
            cubes.scales(shown.color_scales, shown.size_scales)
            cubes.numbers(shown.colors, shown.sizes)
            self._shown = shown
        cubes.lights(lit.plates, lit.white, lit.sweeps)
        cubes.viewport = (width, height)
        cubes.transform.matrix = see.matrix.T  # a new transform would compile the shaders anew
        cubes.draw()

    def _visual(self, sight: Sight) -> Cubes:
        """The cubes of this layout; made anew only when it changes."""
        if self._cubes is None or self._layout is not sight.layout:
            self.release()
            self._cubes = Cubes(sight.layout.plates, len(sight.cubes.colors))
            self._cubes.set_map(self.theme.map, self.theme.ground, self.theme.tray)
            self._cubes.transform = MatrixTransform()
            detach(self._cubes)
            self._layout, self._shown = sight.layout, None
        return self._cubes


def detach(visual: Any) -> None:
    """Have a visual's own transform lead straight to the picture, without a scene around it."""
    system = visual.transforms
    nothing = NullTransform()
    system.scene_transform = nothing
    system.document_transform = nothing
    system.canvas_transform = nothing
    system.framebuffer_transform = nothing
