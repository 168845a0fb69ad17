"""Control, a row of the table CONTROLS, and the FaceState shown by controls.

A state is read often and without waiting for training. A control has a getter (from `FaceState`)
and a setter (on `Controller`). Its texts and its kind are in its row of COMMANDS in
stage/commands.py; the kind determines the widget in the window and in notebooks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, final

from scalarviz.base.texts import text
from scalarviz.faces.controller.changes import (
    PinnedRows,
    needs_hidden_layers,
    pinned_layer,
    pinned_weight,
)
from scalarviz.faces.controller.options import OptionChoice, rate_now
from scalarviz.scene.frame_data import Work
from scalarviz.scene.look import Look
from scalarviz.stage.by_parts import has_neurons
from scalarviz.stage.commands import COMMANDS, OF_TRAININGS, Command
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.session import Session, Unit
from scalarviz.training.session.stops import in_one_text
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.clock_control import ClockControl
    from scalarviz.faces.controller.controller import Controller


FaceUnit = Unit | Literal["neuron"]  # neurons are stepped in the picture only
UNITS: dict[str, FaceUnit] = {
    "neuron": "neuron",
    "operation": "operation",
    "phase": "phase",
    "sample": "sample",
    "step": "step",
    "epoch": "epoch",
}
WALKED = "neuron", "operation"  # units for playing operation by operation
SLOW = 36.0  # maximum operations per second done individually: faster ones are invisible


@dataclass(frozen=True)
class FaceState:
    """The state of all controls at one moment; a `speed` of None means as fast as possible."""

    title: str
    playing: bool
    unit: str
    units: tuple[str, ...]
    clock: Clock
    operations: int  # of a step
    end: int  # last step of the branch
    loss: float
    speed: float | None
    measured: float  # steps per second during playback, rounded; 0 if unknown
    rate: float
    focus: int
    samples: int
    branch: int
    branches: tuple[Branch, ...]
    common: tuple[OptionChoice, ...]  # options of every session, the engine first
    options: tuple[OptionChoice, ...]  # of the scene
    scene: str  # name of a built-in scene, or ""
    pinned: PinnedRows | None
    pinned_layer: PinnedRows | None
    undoable: int  # number of undoable changes
    redoable: int  # number of changes that can be redone
    offered: tuple[str, ...]  # labels of the large buttons
    needs_hidden_layers: bool  # whether a single layer could not learn the data
    look: Look  # of the picture, with the selected session's camera
    channels: tuple[str, ...]
    smooth: bool  # whether the loss curve shows means
    large_curve: bool
    looks: tuple[object, ...]  # changes with the rest of the view, to trigger redrawing
    has_walls: bool
    has_plane: bool
    choosing: tuple[str, ...]  # keys that choose a place, then a head; empty without a sequence
    recorded: bool  # whether it was trained by another program, so that nothing can be changed
    marks: bool
    stops: str  # the stopping conditions
    metrics: tuple[str, ...]  # names of the measured metrics
    work: Work | None  # files being written, or kernels compiled, in the background
    names: tuple[str, ...] = ()  # of several sessions; the rest belongs to one of them
    name: str = ""  # name of that one

    @property
    def branch_name(self) -> str:
        """The name of the shown branch."""
        return next(each.name for each in self.branches if each.number == self.branch)

    @property
    def step(self) -> int:
        return self.clock.step

    @property
    def by_operation(self) -> bool:
        """Whether playback is operation by operation."""
        return self.unit in WALKED

    @property
    def choices(self) -> tuple[OptionChoice, ...]:
        """All options: those that every session has, and those of the scene."""
        return *self.common, *self.options

    @property
    def place(self) -> str:
        """The step, the last step, and the branch if there are several, as text."""
        return "   ".join(self._place(""))

    def _place(self, loss: str) -> list[str]:
        within = f" + {self.clock.operation}" if self.clock.operation else ""
        parts = [text("where.step", step=f"{self.step:,}{within}", end=self.end), loss]
        if len(self.branches) > 1:
            parts.append(text("where.branch", number=self.branch))
        return [part for part in parts if part]

    @property
    def where(self) -> str:
        """The position in training and the loss, as text."""
        loss = "" if math.isnan(self.loss) else text("where.loss", loss=self.loss)
        return "   ".join(self._place(loss))

    @property
    def pace(self) -> str:
        """The speed as text: measured during playback, otherwise requested."""
        speed = self.measured or self.speed
        walks = self.by_operation or (self.speed is not None and self.speed < 1.0)
        if self.speed is not None and walks:  # single operations are visible
            pace = self.speed * self.operations
            if pace < 1.01:
                return text("where.operation", seconds=1.0 / pace)
            return text("where.operations", pace=pace)
        if speed is None:
            return text("where.flat_out")
        return f"{speed:,.0f}/s" if speed >= 100.0 else f"{speed:.3g}/s"


def following(names: Sequence[str], name: str) -> str:
    """Return the name that follows `name`; the first one follows the last one."""
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


def units_of(session: Session) -> tuple[FaceUnit, ...]:
    """Return the units by which a session can step; "sample" only if the batch size is 1."""
    if session.trainer.recorded is not None:
        return ("step",)
    one, small = session.trainer.batches.size == 1, has_neurons(session.network.program)
    known = {"sample": one, "neuron": small}
    return tuple(unit for unit in UNITS.values() if known.get(unit, True))


def common_units(time: ClockControl) -> tuple[FaceUnit, ...]:
    """Return the units that all sessions of a clock support; "neuron" only for a single session."""
    units = [units_of(pane.session) for pane in time.panes]
    return tuple(
        unit
        for unit in units[0]
        if all(unit in each for each in units) and not (time.several and unit == "neuron")
    )


def unit_for(session: Session, unit: FaceUnit) -> FaceUnit:
    """Return `unit` if it is available, otherwise the next larger unit that always is."""
    return unit if unit in units_of(session) else "operation" if unit == "neuron" else "step"


def engine_of(controller: Controller) -> OptionChoice:
    """Return an option for the engine; its choices are the engines that can run the session."""
    return OptionChoice(
        "engine",
        str,
        settings_now(controller.session).engine,
        controller.engines,
        text("controls.engine"),
        label=text("training.label.engine"),
    )


def state_of(controller: Controller, here: Position | None = None) -> FaceState:
    """Return the state of all controls of a pane, without waiting for a lock.

    Args:
        here: position that `Stages.read` has read for the next picture, so that the picture and the
            controls show the same moment; by default the current position
    """
    session, stage, timeline = controller.session, controller.stage, controller.session.timeline
    face, picture = controller.face, controller.face.stage
    time = controller.time
    here = here or timeline.here
    others = [pane.session.timeline.here.end.step for pane in time.panes if pane is not controller]
    settings, recipe = settings_now(session), controller.options.recipe
    common = engine_of(controller), *controller.options.common(session, settings)
    own = None if stage.own is None else tuple(stage.own.tolist())
    return FaceState(
        title=" | ".join(face.names) or controller.show.title,
        playing=time.is_playing,
        unit=time.unit,
        units=common_units(time),
        clock=here.clock,
        operations=len(time.clock.operations) if time.several else len(here.moments),
        end=max([here.end.step, *others]),
        loss=here.loss,
        speed=time.speed,
        measured=float(f"{time.measured:.2g}"),
        rate=rate_now(session),
        focus=session.focus,
        samples=timeline.trainer.batches.size,
        branch=here.branch.number,
        branches=tuple(timeline.branches),
        common=common,
        options=controller.options.choices(settings, {choice.name for choice in common}),
        scene=recipe.name if recipe else "",
        pinned=pinned_weight(session, stage.pinned),
        pinned_layer=pinned_layer(session, stage.pinned, stage.pinned_neuron),
        undoable=len(session.undo_log.done),
        redoable=len(session.undo_log.undone),
        offered=stage.offered,
        needs_hidden_layers=needs_hidden_layers(session),
        look=replace(picture.look, camera=stage.eyes.name),
        channels=tuple(picture.channels),
        smooth=stage.common.curve_view.smooth,
        large_curve=stage.common.curve_view.large,
        looks=(
            *(*picture.looks, picture.common.help, own, controller.message, stage.status),
            *(branch.name for branch in timeline.branches),
        ),
        has_walls=picture.has_walls,
        has_plane=picture.has_plane,
        choosing=stage.choosing,
        recorded=session.trainer.recorded is not None,
        marks=stage.marks,
        stops=in_one_text(session.stop_conditions),
        metrics=tuple(measured_names(timeline.visits.metrics, settings.data)),
        work=stage.work,
        names=face.names,
        name="".join(face.names[picture.chosen : picture.chosen + 1]),
    )


# Actions and values of rows of COMMANDS, and the scales of sliders.

PER_DECADE = 60  # positions of a slider per decade


@final
@dataclass(frozen=True)
class Scale:
    """Scale of a slider whose positions are the integers from 0 to `last`.

    `small` and `large` are the steps of the arrow and page keys, in positions.
    """

    last: int
    small: ClassVar[int] = 1
    large: ClassVar[int] = 10

    def number(self, place: int) -> int:
        """Return the number at a position."""
        return place

    def place(self, number: float) -> int:
        """Return the position closest to a number."""
        return round(min(max(number, 0), self.last))


@final
@dataclass(frozen=True)
class LogScale:
    """Logarithmic scale of a slider; if `endless` is true, the right end of the slider is None."""

    low: float
    high: float
    endless: bool = False
    small: ClassVar[int] = PER_DECADE // 20
    large: ClassVar[int] = PER_DECADE // 2

    @property
    def _most(self) -> int:
        return round(math.log10(self.high / self.low) * PER_DECADE)

    @property
    def last(self) -> int:
        return self._most + self.endless * PER_DECADE // 2

    def number(self, place: int) -> float | None:
        """Return the number at a position, rounded to two digits."""
        if self.endless and place > self._most:
            return None
        return float(f"{self.low * 10.0 ** (place / PER_DECADE):.2g}")

    def place(self, number: float | None) -> int:
        """Return the position closest to a number."""
        if number is None:
            return self.last
        if number <= self.low or math.isnan(number):
            return 0
        return round(min(math.log10(number / self.low) * PER_DECADE, self._most))


class ControlState(NamedTuple):
    """What a Control displays for one state."""

    value: Any
    names: tuple[str, ...]
    enabled: bool
    about: str
    text: str
    icon: str
    scale: Scale | LogScale
    marks: tuple[int, ...]


Says = Callable[[FaceState], str]


@final
@dataclass(frozen=True)
class Control:
    """The action of a row of COMMANDS and its displayed value, in the window and in notebooks.

    Attributes:
        name: name of the row
        set: setter; it receives the chosen name, bool or number, and a string if a number was
            typed; a button passes a count: 1, or 10 if its key is pressed with shift
        get: getter of the displayed value; not used by buttons
        names: names of a choice, or completions of an entry
        enabled: whether the control can be used now; by default always
        scale: scale of a slider; by default 0 to 100
        marks: marked values of a timeline
        drag: setter while a number is dragged; None (default) means `set`
        about: function that returns a text for a state; None means the text of the row
        icon: function that returns an icon for a state; None means the icon of the row
        option: row of an option, which COMMANDS does not contain; None (default) means the row
            of COMMANDS with this name
    """

    name: str
    set: Callable[[Any, Any], object] = nothing
    get: Callable[[FaceState], Any] = nothing
    names: Callable[[FaceState], Iterable[str]] = lambda state: ()
    enabled: Callable[[FaceState], object] = lambda state: True
    scale: Callable[[FaceState], Scale | LogScale] = lambda state: Scale(100)
    marks: Callable[[FaceState], Iterable[int]] = lambda state: ()
    drag: Callable[[Any, Any], object] | None = None
    about: Says | None = None
    icon: Says | None = None
    option: Command | None = None

    @property
    def row(self) -> Command:
        return self.option or COMMANDS[self.name]

    def described(self, state: FaceState) -> str:
        """Return the text "about" for a state."""
        return self.row.about if self.about is None else self.about(state)

    def shown(self, state: FaceState) -> ControlState:
        """Return everything that the control displays for a state."""
        return ControlState(
            self.get(state),
            tuple(self.names(state)),
            bool(self.enabled(state)) and not (state.recorded and self.name in OF_TRAININGS),
            self.described(state),
            self.row.text,
            self.row.icon if self.icon is None else self.icon(state),
            self.scale(state),
            tuple(self.marks(state)),
        )


OPTION = "option "  # prefix of an option's name in the name of its control
OPTION_KINDS = {bool: "tick", int: "whole"}


def control_of(choice: OptionChoice) -> Control:
    """Return the control for an option, which shows its value and its choices."""
    kind = "choice" if choice.choices else OPTION_KINDS.get(choice.kind, "entry")
    value = choice.value
    if kind in ("choice", "entry"):
        value = f"{value:.9g}" if isinstance(value, float) else str(value)
    names = dict.fromkeys((*choice.choices, value)) if choice.choices else ()
    return Control(
        OPTION + choice.name,
        lambda controller, value: controller.set_option(choice.name, value),
        lambda state: value,
        lambda state: names,
        option=Command(OPTION + choice.name, kind, choice.help, label=choice.label),
    )
