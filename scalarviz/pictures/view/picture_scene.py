"""PictureScene: the vispy scene of a picture, seen through a view whose camera we drive.

    root (SubScene)
    ├── view (ViewBox), with a camera node; view.scene has the space of the layout
    │   └── view.scene: cubes, spheres, wires, and nodes of a user
    └── flat: shapes and text in logical pixels

One of the few files that depend on vispy's internals: a canvas is used by several pictures in turn,
each of a size of its own, so this file draws the nodes, not `SceneCanvas.on_draw`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, final

import numpy as np
from vispy import gloo
from vispy.scene import BaseCamera, ViewBox
from vispy.scene.subscene import SubScene
from vispy.scene.visuals import create_visual_node
from vispy.visuals import BaseVisual
from vispy.visuals.transforms import MatrixTransform

from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.renderer import Renderer
from scalarviz.pictures.view.beads import Beads
from scalarviz.pictures.view.scene.frame import Box, Projection
from scalarviz.pictures.view.scene.node_transforms import viewport_of
from scalarviz.pictures.view.spheres.spheres import SpheresNode, WiresNode

# Order of nodes: our own before those of a user, and wires, which mix, after all that is solid.
CUBES, SPHERES, WIRES = -3, -2, -1


class FlatVisual(BaseVisual):  # type: ignore[misc]  # vispy has no types
    """Visual of a Canvas2D, over the whole viewport.

    `paper` is the canvas to draw; None, the default, draws nothing. `corner` is the lower left
    corner of the viewport. Filters of vispy, such as the opacity of a node, have no effect.
    """

    def __init__(self) -> None:
        BaseVisual.__init__(self)
        self.paper: Canvas2D | None = None
        self.corner = (0, 0)
        self._ink = Renderer()

    def draw(self) -> None:
        """Draw the canvas in the current context."""
        if self.paper is not None:
            width, height = viewport_of(self.transforms)
            self._ink.draw(self.paper, round(width), round(height), self.corner)

    def attach(self, filt: Any, view: Any = None) -> None:
        """Do nothing: `filt` and `view` are ignored."""

    def detach(self, filt: Any, view: Any = None) -> None:
        """Do nothing: `filt` and `view` are ignored."""


FlatNode = create_visual_node(FlatVisual)


@final
class PictureScene:
    """The nodes of a picture.

    view            the ViewBox; a node with `parent=view.scene` is drawn beside the cubes
    spheres, wires  the nodes of neurons and of the wires between them
    flat            the node of the flat shapes
    """

    def __init__(self) -> None:
        self.root = SubScene()
        self.view = ViewBox(camera=BaseCamera(), parent=self.root)
        self.view.scene.clip_children = False  # the picture ends where the view ends
        self.flat = FlatNode(parent=self.root)
        self.spheres = SpheresNode(parent=self.view.scene)
        self.wires = WiresNode(parent=self.view.scene)
        self.spheres.order, self.wires.order = SPHERES, WIRES
        self._matrix = MatrixTransform()
        self.view.camera.transform = self._matrix
        self.view.camera.view_changed()

    @contextmanager
    def changing(self, width: int, height: int, ratio: float) -> Iterator[None]:
        """Set up the nodes for a frame; changes inside the block ask for no further frame.

        width, height  in device pixels, `ratio` of which are a logical pixel
        """
        canvas = gloo.get_current_canvas()
        before, canvas._drawing = canvas._drawing, True
        try:
            if self.root.canvas is not canvas:
                self.root._set_canvas(canvas)
            fit(canvas.transforms, width, height, ratio)
            self.view.size = width / ratio, height / ratio
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

    def set_beads(self, beads: Beads) -> None:
        """Set spheres and wires."""
        self.spheres.set_data(beads.centers, beads.radii, beads.fills, beads.outlines, beads.lines)
        self.wires.set_data(beads.starts, beads.ends, beads.colors, beads.widths)

    def draw(self, box: Box, high: float, ratio: float, corner: tuple[int, int] = (0, 0)) -> None:
        """Draw all nodes that are visible, in their order; those of the view inside a box.

        box     in logical pixels, `ratio` device pixels each, of a picture `high` logical pixels
        corner  the lower left corner of the picture in the framebuffer, in device pixels
        """
        left, low = round(box.x * ratio), round((high - box.bottom) * ratio)
        gloo.set_state(scissor_test=True)
        gloo.set_scissor(
            corner[0] + left, corner[1] + low, round(box.width * ratio), round(box.height * ratio)
        )
        draw(self.view)
        gloo.set_state(scissor_test=False)
        self.flat.corner = corner
        draw(self.flat)

    def release(self) -> None:
        """Free the memory of spheres and wires, and take all nodes off their canvas."""
        self.spheres.release()
        self.wires.release()
        self.root._set_canvas(None)


def draw(node: Any) -> None:
    """Draw a node and its children, by their order, unless it is invisible."""
    if not node.visible:
        return
    if hasattr(node, "draw"):
        node.draw()
    for child in sorted(node.children, key=lambda child: child.order):
        draw(child)


def fit(system: Any, width: int, height: int, ratio: float) -> None:
    """Set a canvas's transforms from logical pixels to a framebuffer, and on to its clip space."""
    to_pixels, to_clip = system.canvas_transform.transforms[1], system.framebuffer_transform
    for transform, scale, offset in (
        (to_pixels, (ratio, -ratio), (0.0, height)),
        (to_clip.transforms[0], (2.0 / width, 2.0 / height), (-1.0, -1.0)),
    ):
        if tuple(transform.scale[:2]) != scale or tuple(transform.translate[:2]) != offset:
            transform.scale, transform.translate = scale, offset
