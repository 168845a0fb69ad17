"""Pointer: handles the mouse on the picture and the loss curve, for any GUI toolkit."""

from __future__ import annotations

from typing import final

from scalarviz.base.texts import text
from scalarviz.core.program import NONE
from scalarviz.faces.controller.changes import put_in, tell_branch
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.precompile import computes
from scalarviz.scene.loss_chart import Chart
from scalarviz.stage.chart_view import move, zoom
from scalarviz.stage.dragging import Handle
from scalarviz.stage.handles import Grip
from scalarviz.story.equations import change_between
from scalarviz.story.guide import moved_answer
from scalarviz.story.names import name_of_row, sentence
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.reading import facts_of

NOTCH = 1.15  # zoom factor per notch of the wheel


@final
class Pointer:
    """Handles the mouse on the picture: left button to rotate or click, others to move the camera.

    The wheel zooms in at the pointer. For the loss curve, see `CurvePointer`. The left button has
    other effects in some places:

    - a large enough cube: drag up to increase the weight, down to decrease it
    - the sphere of an input, the image of the inputs, or the result plot: enter a custom input

    With shift, a click on a cube pins it in addition to the pinned one. If there are several
    sessions, a press selects the session under the pointer.

    Buttons are numbered; 1 is left. Positions are logical pixels from the upper left corner.
    """

    def __init__(self, face: Face) -> None:
        self.face = face
        self.curve = CurvePointer(self.face)
        self._button: int | None = None  # the first one pressed
        self._start = self._last = (0.0, 0.0)
        self._moved = self._shift = False
        self._handle: Handle | None = None  # the dragged cube
        self._grip: Grip | None = None  # control of a custom input

    @property
    def controller(self) -> Controller:
        """The controller of the selected session."""
        return self.face.lead

    def press(
        self, button: int, x: float, y: float, *, shift: bool = False, twice: bool = False
    ) -> None:
        """Handle a pressed button; `twice` marks the second press of a double click."""
        if self._button is None:
            self.face.time.end_film()
            self._button, self._moved = button, False
            self._start = self._last = x, y
            self._shift = shift
            self._handle = self._grip = None
            on_curve = self.curve.press(button, x, y, shift=shift, twice=twice)
            if not on_curve:
                self.face.stage.choose_at(x, y)
            if button == LEFT and not on_curve:
                self._handle = self.face.stage.handle_at(x, y)
                self._grip = self.face.stage.grip_at(x, y)
                if self._grip is not None and self._grip.at_once:
                    put_in(self.controller, self._grip.inputs_at(x, y))

    def move(self, x: float, y: float) -> None:
        """Handle a move of the mouse: drag if a button is pressed, otherwise hover."""
        stage = self.face.stage
        if self._button is None:
            stage.hover_at(x, y)
            return
        if self.curve.move(x, y):
            return
        far = max(abs(x - self._start[0]), abs(y - self._start[1]))
        self._moved = self._moved or far >= STILL
        if self._grip is not None and (self._moved or self._grip.at_once):
            if self._grip.neuron is not None:
                self.controller.stage.hold(NONE, self._grip.neuron)
            put_in(self.controller, self._grip.inputs_at(x, y))
        elif self._moved and self._handle is not None:
            drag(self.controller, self._handle, self._start[1] - y)
        elif self._moved:
            self.leave()
            for each in stage.panes:
                act = each.eyes.orbit if self._button == LEFT else each.eyes.move
                act(x - self._last[0], y - self._last[1])
            self._last = x, y

    def release(self, button: int, x: float, y: float) -> None:
        if button != self._button:
            return
        self._button = None
        if self.curve.release():
            return
        self.controller.stage.let_go()
        if self._grip is not None and (self._moved or self._grip.at_once):
            return
        if not self._moved and button == LEFT:
            stages = self.face.stage.panes  # only a single session supports additional pins
            if not (self._shift and len(stages) == 1 and stages[0].pin_beside(x, y)):
                self.face.click(x, y)
        elif self._moved and self._handle is not None:
            let_go(self.controller, self._handle, self._start[1] - y)
        elif self._moved:
            self.face.stage.hover_at(x, y)

    def wheel(self, notches: float, x: float, y: float) -> None:
        """Zoom in by some notches of the wheel; a negative number zooms out."""
        if not self.curve.zoom(CURVE_NOTCH**notches, x, y):
            self.face.stage.zoom(NOTCH**notches, x, y)

    def pinch(self, factor: float, x: float, y: float) -> None:
        """Zoom in by a factor; a factor below 1 zooms out."""
        if not self.curve.zoom(factor, x, y):
            self.face.stage.zoom(factor, x, y)

    def leave(self) -> None:
        """Stop hovering, as the mouse has left the picture."""
        self.face.stage.hover_at(-1.0, -1.0)


# The loss curve: selection of steps and branches, and zoom.

LEFT = 1
STILL = 4.0  # pixels; a press that moves less is a click
CURVE_NOTCH = 1.3  # zoom factor of the curve per notch of the wheel


@final
class CurvePointer:
    """Handles the mouse on the loss curve and on the plots of weights over time.

    On the curve, a click or drag with the left button goes to the step under the pointer, and a
    click on the line of a branch switches to this branch. A drag over the strip of weights compares
    two steps. Other buttons, or the left one with shift, move the curve. The wheel zooms in at the
    pointer, and a double click shows all steps.
    """

    def __init__(self, face: Face) -> None:
        self.face = face
        # While a button is held: "seek", "choose", "compare", "move" or "rest".
        self._does = ""
        self._start, self._x = (0.0, 0.0), 0.0
        self._step: int | None = None  # the last requested one
        self._branch: int | None = None  # the pressed one
        self._before = 0  # step of the session before the last press

    @property
    def _chart(self) -> Chart | None:
        return self.face.stage.chart

    def press(self, button: int, x: float, y: float, *, shift: bool, twice: bool) -> bool:
        """Handle a pressed button; return whether the position is on the curve."""
        self._does = ""
        chart = self._chart
        if chart is None or chart.step_under(x, y) is None:
            return False
        self._start, self._x = (x, y), x
        if chart.tile_at(x, y) is not None and button == LEFT and not shift:
            self._does, self._step = "compare", None
            self.face.stage.common.curve_view.compared = None
        elif button != LEFT or shift:
            self._does = "move"
        elif twice and self.face.stage.common.curve_view.show_all():
            self._does = "rest"
            self.face.time.seek(self._before)  # the step before the first click
        else:
            self._before = self.face.lead.session.step_index
            self._branch = chart.branch_at(x, y)
            self._does = "seek" if self._branch is None else "choose"
            self._step = None
            if self._does == "seek":
                self._seek(x)
        return True

    def _seek(self, x: float) -> None:
        chart = self._chart
        step = None if chart is None else chart.step_at(x)
        if step is not None and step != self._step:
            self._step = step
            self.face.time.seek(step)

    def move(self, x: float, y: float) -> bool:
        """Continue the action that `press` started; return whether there is one."""
        chart, stage = self._chart, self.face.stage
        if not self._does or chart is None:
            return bool(self._does)
        if max(abs(x - self._start[0]), abs(y - self._start[1])) >= STILL:
            if self._does == "choose":
                self._does = "seek"
            elif self._does == "move":
                move(stage.common.curve_view, chart, x - self._x)
                self._x = x
            elif self._does == "compare":
                ends = sorted((chart.step_at(self._start[0]), chart.step_at(x)))
                stage.common.curve_view.compared = ends[0], ends[1]
                stage.hover_at(x, y)
        if self._does == "seek":
            self._seek(x)
            stage.hover_at(x, y)
        return True

    def release(self) -> bool:
        """End the action that `press` started; return whether there was one."""
        did, self._does = self._does, ""
        chart = self._chart
        if did == "choose" and self._branch is not None and chart is not None:
            go_over(self.face.lead, self._branch, chart.step_at(self._start[0]))
        if did == "compare" and self.face.stage.common.curve_view.compared is None:
            self._seek(self._start[0])
        return bool(did)

    def zoom(self, factor: float, x: float, y: float) -> bool:
        """Zoom in on a position by a factor; return whether the position is on the curve."""
        chart = self._chart
        if chart is None or chart.step_under(x, y) is None:
            return False
        zoom(self.face.stage.common.curve_view, chart, factor, x)
        return True


@computes
def go_over(controller: Controller, branch: int, step: int) -> None:
    """Switch to the branch with this number, and go to one of its steps."""
    controller.time.pause()
    controller.stage.offer({})
    session = controller.session

    def go() -> None:
        session.switch(branch)
        session.seek(min(step, session.current_branch.end.step))

    controller.do(go, lambda _: tell_branch(controller, branch), branching=False)


# Dragging a weight by its cube.


def drag(controller: Controller, handle: Handle, up: float) -> None:
    """Apply a drag by `up` pixels to the weight of a cube.

    The picture is updated during the drag. The complete drag is one undo step.
    """
    controller.stage.common.scales.stops.hold(True)
    controller.stage.hold(handle.row)
    controller.edit(handle.row, handle.value_at(up), dragged=True)


def let_go(controller: Controller, handle: Handle, up: float) -> None:
    """Report the change made by a drag; unless playing, also offer to continue training."""
    controller.stage.common.scales.stops.hold(False)
    controller.do(nothing, lambda _: tell_dragged(controller, handle, up))


def tell_dragged(controller: Controller, handle: Handle, up: float) -> None:
    session = controller.session
    name = sentence(name_of_row(facts_of(session), handle.row))
    old, new, _ = change_between(handle.value, handle.value_at(up))
    words = text("notices.dragged", name=name, old=old, new=new)
    if session.playing:
        return controller.tell(words)
    words = answer_words(controller, handle, old, new) or words
    return controller.tell(words, text("notices.repair"), controller.time.play)


def answer_words(controller: Controller, handle: Handle, old: str, new: str) -> str:
    """Return a text about the output that a drag has changed most; "" if it is not known."""
    session, before = controller.session, handle.answers
    stage = controller.stage
    stage.reading.refresh()
    after = stage.reading.buffers(0).answers
    if before is None or after is None:
        return ""
    return moved_answer(facts_of(session), before.tolist(), after.tolist(), old, new)
