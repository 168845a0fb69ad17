"""Cubes: the weights of a network as a node of any vispy scene."""

from __future__ import annotations

from contextlib import ExitStack
from time import perf_counter
from typing import Any, final

import numpy as np
from vispy import app, gloo

from scalarviz.base.checks import FloatArray, answers, number, require, shorten
from scalarviz.core.formulas.formula import pick
from scalarviz.engines.engine import HostSnapshot, SnapshotValues
from scalarviz.errors import DisplayError, InputError
from scalarviz.scene.bead_arrays import OF_WIRES, beads_of, joined, strokes
from scalarviz.scene.canvas.palette import THEMES, Theme
from scalarviz.scene.frame_data import CubeValues, FrameData
from scalarviz.scene.layout.plates import Fan, Layout
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.scene.lights import lights
from scalarviz.scene.look import Look
from scalarviz.scene.visuals.cubes import CubesNode
from scalarviz.scene.visuals.spheres import SpheresNode, WiresNode
from scalarviz.stage.background import quick_turns
from scalarviz.stage.channels import ChannelSource, Scales, checked, names_of, read
from scalarviz.stage.network_layout import values_of
from scalarviz.stage.sample_pass import SamplePass
from scalarviz.training.network.model import Model
from scalarviz.training.session.session import Session

WIDE = 1.75  # aspect ratio of the stage for the layout
LINED = 400  # weights of a layer whose lines are drawn
INTERVAL = 1.0 / 30.0  # seconds between checks of a followed session


@final
@answers
class Cubes(CubesNode):  # type: ignore[misc]  # vispy has no types
    """A vispy scene node that shows each weight of a network as a cube, with the connecting wires.

    The node reads the weights at each draw, from a snapshot, so it does not slow training down. It
    works with any vispy camera and next to other visuals; its up axis is +y. Removing it from its
    parent frees its GPU memory.

    Args:
        shown: a Network, a compiled expression, or a Session
        parent: parent node of the scene, such as `view.scene`; by default None
        color: quantity shown by the colors: "value", the default, "gradient", "last change",
            "change since start", or a slot of the optimizer
        cubes: quantity shown by the sizes, with the same choices; by default "value"
        theme: "dark", the default, or "light"
        name: name of the vispy node; by default None

    The scales of colors and sizes grow at most once in five seconds; they shrink when they have
    been too large for five seconds.

    Raises:
        InputError: if `shown` is anything else.
        UnknownNameError: if a name is unknown.
    """

    def __init__(
        self,
        shown: object,
        parent: Any = None,
        *,
        color: str = "value",
        cubes: str = "value",
        theme: str = "dark",
        name: str | None = None,
    ) -> None:
        network = shown.network if isinstance(shown, Session) else shown
        if not isinstance(shown, (Session, Model)) or not isinstance(network, Model):
            raise InputError(
                f"cubes show a Network or a Session, not {shorten(shown)}: write "
                "sv.Cubes(network, parent=view.scene)"
            )
        look = pick(THEMES, theme, "theme")
        plan = plan_of(network)
        CubesNode.__init__(self, plan.plates, len(network.bank), name=name)
        self.unfreeze()
        points = plan.extent if len(plan.extent) else np.zeros((1, 3))
        self._corners = np.stack([points.min(axis=0), points.max(axis=0)])
        self._around = SpheresNode(parent=self), WiresNode(parent=self)
        self.network = network
        self._snapshot: Any = shown.snapshot()
        self._snapshot.request()
        at_once = self._snapshot if self._snapshot.ready else HostSnapshot(network.bank)
        self._now: SnapshotValues = at_once.read()
        self._begun = self._now.value.copy()
        self._asked = False  # whether a snapshot was requested and not yet read
        slots = shown.optimizer.row.slots if isinstance(shown, Session) else ()
        known = names_of(list(dict.fromkeys((*self._now.slots, *slots))), has_layers=False)
        self._scales = Scales(Look(**checked({"color": color, "cubes": cubes}, known)))
        self._followed: Session | None = None
        self._interval = INTERVAL
        self._key: object = None
        self._timer: Any = None
        self._turns = ExitStack()  # held while Python's switch interval is shortened
        self._context: Any = None
        self.freeze()
        self.set_map(look.map, look.ground)
        self._show(self._now.value)
        self._surround(plan, look)
        self.events.canvas_change.connect(self._move)
        self.parent = parent

    def _surround(self, plan: Layout, look: Theme) -> None:
        """Set the wires and the spheres of the neurons; spheres show no numbers."""
        nothing = np.zeros(0)
        frame_data = FrameData(plan, CubeValues(nothing, nothing, "", "", nothing, nothing))
        spheres, wires = beads_of(frame_data, lights(plan, None, None), look)
        self._around[0].set_data(*spheres)
        lines = [
            lines_in_space(fan, look) for fan in plan.fans if fan.units * len(fan.columns) <= LINED
        ]
        self._around[1].set_data(*joined([wires, *lines], OF_WIRES))

    def _compute_bounds(self, axis: int, view: Any) -> tuple[float, float]:
        low, high = self._corners[:, axis].tolist()
        return low, high

    # Reading.

    def draw(self) -> None:
        """Read the numbers, and draw them in the current canvas.

        Raise DisplayError if the node was drawn in another canvas before.
        """
        context = gloo.get_current_canvas().context.shared
        if self._context not in (None, context):
            raise DisplayError(
                "cubes stay in the canvas in which they were first drawn: make another sv.Cubes "
                "for another canvas"
            )
        self._context = context
        if self._timer is not None:
            self._take_turns(quick=self._followed is not None and self._followed.playing)
        if not self._asked:
            self._snapshot.request()
        self._asked = not self._snapshot.ready
        if not self._asked:
            before, self._now = self._now, self._snapshot.read()
            if changed(before, self._now):
                self._show(before.value)
            if self._followed is not None and self._followed.playing:
                self._snapshot.request()  # filled until the next frame
                self._asked = True
        CubesNode.draw(self)

    def _show(self, before: Any) -> None:
        source = ChannelSource(
            self._now, before, self.network.program, SamplePass(), None, self._begun
        )
        scales, look = self._scales, self._scales.look
        scales.follow([(source, self.plates)], perf_counter())
        self.scales(scales.of(look.color, self.plates), scales.of(look.cubes, self.plates))
        self.numbers(read(look.color, source), read(look.cubes, source))

    # Following.

    def follow(self, session: Session | None, interval: float = INTERVAL) -> None:
        """Redraw the canvas whenever a session has advanced, checked by a timer of the canvas.

        Args:
            session: a Session of the shown network; None stops following
            interval: seconds between two checks; by default 1/30

        Without a canvas, following starts when the node is added to one.

        Raises:
            InputError: if the session trains another network.
            DisplayError: if the backend of the canvas has no timers in this environment.
        """
        if session is not None:
            require(
                isinstance(session, Session) and session.network is self.network,
                f"cubes follow a Session of their network, not {shorten(session)}",
            )
            number(interval, "the interval", 0.0, open_low=True)
            self._snapshot, self._asked = session.snapshot(), False
        self._stop()
        self._followed, self._interval = session, interval
        self._start()

    def _start(self) -> None:
        canvas = self.canvas
        if self._followed is None or canvas is None:
            return
        try:
            self._timer = app.Timer(self._interval, connect=self._look, app=canvas.app)
            self._timer.start()
        except Exception as error:  # backends raise errors of any class
            self._timer = None
            raise DisplayError(
                f"the backend {canvas.app.backend_name} of this canvas has no timer here "
                f"({error}): call update() of the cubes to redraw them"
            ) from error
        canvas.events.close.connect(self._stop)

    def _stop(self, event: object = None) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self._take_turns(quick=False)

    def _take_turns(self, *, quick: bool) -> None:
        """Shorten Python's switch interval while training plays, or restore it.

        Each OpenGL call waits for the interpreter lock, and a frame has about a hundred of them.
        """
        self._turns.close()
        if quick:
            self._turns.enter_context(quick_turns())

    def _look(self, event: object = None) -> None:
        session = self._followed
        self._take_turns(quick=session is not None and session.playing)
        if session is not None and (session.playing or session.clock != self._key):
            self._key = session.clock
            self.update()

    def _move(self, event: Any) -> None:
        """Move to another canvas, or out of all canvases."""
        self._stop()
        if event.new is None:
            for node in (self, *self._around):
                node.release()
        else:
            self._start()


def lines_in_space(fan: Fan, theme: Theme) -> tuple[FloatArray, ...]:
    """Return the wires from each input to its cubes, and from the cubes to their outputs."""
    columns, count = fan.columns, fan.inputs_count
    feet = fan.rows[:, np.newaxis] + columns[:count] + fan.foot
    gates = fan.rows + columns[0] - fan.begin + fan.foot
    gates = np.broadcast_to(gates[:, np.newaxis], feet.shape)
    starts = np.broadcast_to(fan.starts, feet.shape)
    cubes = fan.rows[:, np.newaxis] + columns
    ends = np.broadcast_to(fan.ends[:, np.newaxis], cubes.shape)
    begin = np.concatenate([each.reshape(-1, 3) for each in (starts, gates, cubes)])
    end = np.concatenate([each.reshape(-1, 3) for each in (gates, feet, ends)])
    return strokes(begin, end, theme.wire, 1.0)


def plan_of(network: Model) -> Layout:
    """Return the layout of a network."""
    if not network.layers:
        return values_of(network, WIDE)
    return trays_layout(network.program, lambda layer: ("", ""), None, WIDE)


def changed(before: SnapshotValues, now: SnapshotValues) -> bool:
    """Return whether any number differs between two snapshots."""
    return (
        not np.array_equal(before.value, now.value)
        or not np.array_equal(before.grad, now.grad)
        or before.slots.keys() != now.slots.keys()
        or any(not np.array_equal(slot, now.slots[name]) for name, slot in before.slots.items())
    )
