"""Control, a row of the table CONTROLS, and the FaceState that controls show.

A state is read often and without waiting for the training. A row has a label, a kind, a getter
(from `FaceState`), a setter (on `Controller`) and a tooltip. Window and notebook choose their
widget by the kind of a row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, final

import numpy as np

from scalarviz.base.texts import row_text, text
from scalarviz.faces.controller.changes import (
    PinnedLayer,
    needs_hidden_layers,
    pinned_layer,
    rate_of,
)
from scalarviz.faces.controller.options import OptionChoice, rate_now
from scalarviz.faces.controller.playing import WALKED
from scalarviz.scene.frame_data import Work
from scalarviz.stage.by_parts import has_neurons
from scalarviz.stage.show import FIRST_CONTROLS
from scalarviz.story.guide import can_guess
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.reading import bank_now, facts_of
from scalarviz.training.session.session import Session, Unit
from scalarviz.training.session.stops import in_one_text
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.clock_control import ClockControl
    from scalarviz.faces.controller.controller import Controller


FaceUnit = Unit | Literal["neuron"]  # neurons are gone through in the picture alone
UNITS: dict[str, FaceUnit] = {
    "neuron": "neuron",
    "operation": "operation",
    "phase": "phase",
    "sample": "sample",
    "step": "step",
    "epoch": "epoch",
}


@dataclass(frozen=True)
class Fork:
    """A branch: its number, its name, the step where it left its parent, and its last step.

    `parent` is the parent's number, -1 for the first branch.
    """

    number: int
    parent: int
    name: str
    start: int
    end: int

    def __str__(self) -> str:
        return text("branches.listed", number=self.number, name=self.name, end=self.end)


@dataclass(frozen=True)
class PinnedWeight:
    """The pinned weight."""

    row: int
    name: str
    value: float
    frozen: bool
    rate: float  # learning rate


@dataclass(frozen=True)
class FaceState:
    """Everything that controls show at one moment; a `speed` of None is as fast as possible."""

    title: str
    playing: bool
    unit: str
    units: tuple[str, ...]
    clock: Clock
    operations: int  # of a step
    end: int  # last step of the branch
    done: str
    loss: float
    speed: float | None
    measured: float  # steps a second while it plays, rounded; 0 if that is not known
    rate: float
    focus: int
    samples: int
    branch: int
    branches: tuple[Fork, ...]
    engine: str
    engines: tuple[str, ...]
    common: tuple[OptionChoice, ...]  # options that every training has, besides the engine
    options: tuple[OptionChoice, ...]  # of the scene
    scene: str  # of the package, or ""
    pinned: PinnedWeight | None
    pinned_layer: PinnedLayer | None
    undoable: int  # changes that can be undone
    redoable: int  # and done again
    own: tuple[float, ...] | None  # inputs of the user's own that are shown, or None
    offered: tuple[str, ...]  # labels of the large buttons
    needs_hidden_layers: bool  # whether one layer could not learn the data
    color: str
    size: str
    channels: tuple[str, ...]
    camera: str
    per_layer: bool
    smooth: bool  # whether the loss curve shows means
    large_curve: bool
    looks: tuple[object, ...]
    has_plane: bool
    neuron_maps: bool
    test_points: bool
    discrete: bool
    theme: str
    help: bool
    marks: bool
    guesses: bool  # whether the user guesses before a weight moves
    can_guess: bool
    message: str
    stops: str  # the conditions at which it stops by itself
    metrics: tuple[str, ...]  # names of those that are measured
    status: str  # background work, such as compiling kernels
    work: Work | None  # files that are written in the background
    names: tuple[str, ...] = ()  # of the sessions, if several are shown; the rest is of one of them
    name: str = ""  # of that one
    together: bool = False  # whether commands are for all of them

    @property
    def branch_name(self) -> str:
        """The name of the branch that is shown."""
        return next(fork.name for fork in self.branches if fork.number == self.branch)

    @property
    def step(self) -> int:
        return self.clock.step

    @property
    def by_operation(self) -> bool:
        """Whether it plays one operation after the other."""
        return self.unit in WALKED

    @property
    def choices(self) -> tuple[OptionChoice, ...]:
        """The options that every training has, the engine first, and those of the scene."""
        about, names = text("controls.engine"), self.engines
        known = "engine", str, self.engine, names, about, False
        engine = OptionChoice(*known, is_common=True, label=text("training.label.engine"))
        return engine, *self.common, *self.options

    @property
    def place(self) -> str:
        """The step, of how many, and the branch if there are several."""
        return "   ".join(self._place(""))

    def _place(self, loss: str) -> list[str]:
        within = f" + {self.clock.operation}" if self.clock.operation else ""
        parts = [text("where.step", step=f"{self.step:,}{within}", end=self.end), loss]
        if len(self.branches) > 1:
            parts.append(text("where.branch", number=self.branch))
        return [part for part in parts if part]

    @property
    def where(self) -> str:
        """The position of the training in words."""
        loss = "" if math.isnan(self.loss) else text("where.loss", loss=self.loss)
        return "   ".join(self._place(loss))

    @property
    def pace(self) -> str:
        """The speed in words: as measured while it plays, else as wanted."""
        speed = self.measured or self.speed
        walks = self.by_operation or (self.speed is not None and self.speed < 1.0)
        if self.speed is not None and walks:  # single operations are seen
            rate = self.speed * self.operations
            if rate < 1.01:
                return text("where.operation", seconds=1.0 / rate)
            return text("where.operations", rate=rate)
        if speed is None:
            return text("where.flat_out")
        return f"{speed:,.0f}/s" if speed >= 100.0 else f"{speed:.3g}/s"


def units_of(session: Session) -> tuple[FaceUnit, ...]:
    """Return the units to move by; "sample" only if a step has one sample."""
    one, small = session.trainer.batches.size == 1, has_neurons(session.network.program)
    known = {"sample": one, "neuron": small}
    return tuple(unit for unit in UNITS.values() if known.get(unit, True))


def common_units(time: ClockControl) -> tuple[FaceUnit, ...]:
    """Return the units to move by with all sessions of a time; one alone may go by neurons."""
    units = [units_of(pane.session) for pane in time.panes]
    return tuple(
        unit
        for unit in units[0]
        if all(unit in each for each in units) and not (time.several and unit == "neuron")
    )


def unit_for(session: Session, unit: FaceUnit) -> FaceUnit:
    """Return a unit if one can move by it, else the next larger one that is always there."""
    return unit if unit in units_of(session) else "operation" if unit == "neuron" else "step"


def forks_of(session: Session) -> tuple[Fork, ...]:
    """Return all branches."""
    return tuple(
        Fork(
            branch.number,
            branch.parent.number if branch.parent is not None else -1,
            branch.name,
            branch.fork.step,
            branch.end.step,
        )
        for branch in list(session.timeline.branches)
    )


def pinned_of(session: Session, row: int | None) -> PinnedWeight | None:
    """Return a weight by its bank index; None if there is none."""
    bank = session.network.bank
    if row is None or not 0 <= row < len(bank):
        return None
    value = float(np.asarray(bank.value[row]))
    frozen, rate = bool(bank.frozen[row]), rate_of(session, row)
    return PinnedWeight(row, bank.name_of(row), value, frozen, rate)


def state_of(controller: Controller, here: Position | None = None) -> FaceState:
    """Return everything that controls show of a pane; reads plain attributes without a lock.

    here  where the session stood when the next picture was read, of `Stages.read`, so
          that both show the same moment; by default where it stands now
    """
    session, stage, timeline = controller.session, controller.stage, controller.session.timeline
    face, picture = controller.face, controller.face.stage
    time = face.all if face.together else controller.time
    here = here or timeline.here
    others = [pane.session.timeline.here.end.step for pane in time.panes if pane is not controller]
    settings, recipe = settings_now(session), controller.options.recipe
    common = controller.options.common(session, settings)
    return FaceState(
        title=" | ".join(face.names) or controller.show.title,
        playing=time.is_playing,
        unit=time.unit,
        units=common_units(time),
        clock=here.clock,
        operations=len(time.clock.operations) if time.several else len(here.moments),
        end=max([here.end.step, *others]),
        done=session.done,
        loss=here.loss,
        speed=time.playing.speed,
        measured=float(f"{time.measured:.2g}"),
        rate=rate_now(session),
        focus=session.focus,
        samples=timeline.trainer.batches.size,
        branch=here.branch.number,
        branches=forks_of(session),
        engine=settings.engine,
        engines=controller.engines,
        common=common,
        options=controller.options.choices(settings, {choice.name for choice in common}),
        scene=recipe.name if recipe else "",
        pinned=pinned_of(session, stage.pinned),
        pinned_layer=pinned_layer(session, stage.pinned, stage.pinned_neuron),
        undoable=len(timeline.undo_log.done) + controller.trail.has_earlier(session),
        redoable=len(timeline.undo_log.undone) + len(controller.trail.later(session)),
        own=None if stage.own is None else tuple(stage.own.tolist()),
        offered=stage.offered,
        needs_hidden_layers=needs_hidden_layers(session),
        color=picture.color,
        size=picture.size,
        channels=tuple(picture.channels),
        camera=stage.camera,
        per_layer=picture.per_layer,
        smooth=stage.curve_view.smooths(here.end.step),
        large_curve=stage.curve_view.large,
        looks=picture.looks,
        has_plane=picture.has_plane,
        neuron_maps=stage.neuron_maps,
        test_points=stage.test_points,
        discrete=stage.discrete,
        theme=picture.theme,
        help=picture.help,
        marks=stage.marks,
        guesses=controller.guessing.on,
        can_guess=can_guess(facts_of(session), bank_now(session)),
        message=controller.message,
        status=stage.status,
        stops=in_one_text(session.stop_conditions),
        metrics=tuple(measured_names(timeline.visits.metrics, settings.data)),
        work=stage.work,
        names=face.names,
        name="".join(face.names[picture.chosen : picture.chosen + 1]),
        together=face.together,
    )


# The rows, and the scales of sliders.

KINDS = "button", "tick", "choice", "number", "slider", "timeline", "text", "entry"
DIGITS = "123456789"  # key of a choice whose names have a digit each
PER_DECADE = 60  # places of a slider per decade

Text = str | Callable[[FaceState], str]


@final
@dataclass(frozen=True)
class Scale:
    """Linear scale of a slider: places 0 to `last` are the numbers from `low` to `high` by `step`.

    `small` and `large` are the steps of the arrow and page keys, in places.
    """

    low: float
    high: float
    step: float = 1
    small: int = 1
    large: int = 10

    @property
    def last(self) -> int:
        return round((self.high - self.low) / self.step)

    def number(self, place: int) -> float:
        """Return the number at a place; an int if `low` and `step` are."""
        found = self.low + place * self.step
        return found if isinstance(found, int) else float(f"{found:.9g}")

    def place(self, number: float) -> int:
        """Return the place nearest to a number."""
        return round((min(max(number, self.low), self.high) - self.low) / self.step)


@final
@dataclass(frozen=True)
class LogScale:
    """Logarithmic scale of a slider; if `endless`, its right end is None."""

    low: float
    high: float
    endless: bool = False
    small: int = PER_DECADE // 20
    large: int = PER_DECADE // 2

    @property
    def _most(self) -> int:
        return round(math.log10(self.high / self.low) * PER_DECADE)

    @property
    def last(self) -> int:
        return self._most + self.endless * PER_DECADE // 2

    def number(self, place: int) -> float | None:
        """Return the number at a place, rounded to two digits."""
        if self.endless and place > self._most:
            return None
        return float(f"{self.low * 10.0 ** (place / PER_DECADE):.2g}")

    def place(self, number: float | None) -> int:
        """Return the place nearest to a number."""
        if number is None:
            return self.last
        if number <= self.low or math.isnan(number):
            return 0
        return round(min(math.log10(number / self.low) * PER_DECADE, self._most))


class Shown(NamedTuple):
    """The fields of a Control evaluated for one state."""

    value: Any
    names: tuple[str, ...]
    enabled: bool
    about: str
    text: str
    icon: str
    scale: Scale | LogScale
    marks: tuple[int, ...]


def always(state: FaceState) -> bool:
    return True


def nothing(state: FaceState) -> Any:
    return None


def none(state: FaceState) -> Sequence[Any]:
    return ()


def percents(state: FaceState) -> Scale | LogScale:
    return Scale(0, 100)


def ignore(controller: Controller, value: Any) -> None:
    pass


@final
@dataclass(frozen=True)
class Control:
    """One control: where it stands, what it shows and what it does.

    name     unique name of the row; of a choice in a menu also its label there
    kind     "button", "tick" (on or off), "choice" (one of several names), "number" (typed or, in
             a window, dragged), "slider", "timeline" (a slider as wide as possible, with marks) or
             "text" (read only); "entry" is a typed text that its names complete
    about    tooltip, accessible name and menu entry; like `text` and `icon` a string or a function
             of the state
    set      setter: receives the chosen name, bool or number, a string if the number was typed; a
             button passes how many times, 1, or 10 for its key with shift
    get      getter of the displayed value; not used by buttons
    names    names of a choice, or texts that an entry completes
    enabled  whether the control can be used now; by default always
    label    label in front of it; rows of one label form a group
    text     text on a button or beside a tick; by default `about`
    icon     icon of a button instead of the text: a Font Awesome name; the window has a few of them
    key      key that presses the button, flips the tick or takes the next name of the choice;
             DIGITS gives each name of a choice its own digit
    help     text in the list of keys, by default `about`; {} stands for the names of a choice
    primary  whether it stands in the line below the picture; other rows with a label are in the
             panel behind its last button, a row without one only in its menu, or only a key
    on_cube  whether it opens on the pinned cube
    example  what a typed text may be, shown in its empty field
    strong   whether it is the button in the colour of the theme
    menu     menu for buttons, ticks and choices without a label: "Scenes" and "File" at the end of
             the title, "Time", "View", ... in the panel
    window   whether only a window has it
    acts_on  what it acts on where several sessions are shown: "one", the chosen one, "each" of
             those that go together, the "time" of these, or "all" with their picture
    several  whether it is only there where several sessions are shown
    scale    scale of a slider; by default 0 to 100
    marks    marked values of a timeline
    drag     setter while a number is dragged; by default `set`
    room     width of a number or a text, in letters
    """

    name: str
    kind: str
    about: Text
    set: Callable[[Any, Any], object] = ignore
    get: Callable[[FaceState], Any] = nothing
    names: Callable[[FaceState], Iterable[str]] = none
    enabled: Callable[[FaceState], bool] = always
    label: str = ""
    text: Text = ""
    icon: Text = ""
    key: str = ""
    help: Text = ""
    primary: bool = False
    on_cube: bool = False
    example: str = ""
    strong: bool = False
    menu: str = ""
    window: bool = False
    acts_on: str = "one"
    several: bool = False
    scale: Callable[[FaceState], Scale | LogScale] = percents
    marks: Callable[[FaceState], Iterable[int]] = none
    drag: Callable[[Any, Any], object] | None = None
    room: int = 8

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"no face knows the kind {self.kind!r}"
        assert self.acts_on in ("one", "each", "time", "all"), self.acts_on
        pressed = self.kind in ("button", "tick", "choice")
        assert pressed or not (self.menu or self.key), f"a {self.kind} has no menu and no key"

    @property
    def place(self) -> str:
        """Where it stands: "bar", the line below the picture, "panel", "cube", or "" for none."""
        in_panel = self.label or self.group
        return "cube" if self.on_cube else "bar" if self.primary else "panel" if in_panel else ""

    @property
    def group(self) -> str:
        """The group of FIRST_CONTROLS in which it stands; "" if it stands under "More"."""
        return next((group for group, names in FIRST_CONTROLS.items() if self.name in names), "")

    def words(self, field: str, state: FaceState | None = None) -> str:
        """Return a text of the row, or its translation; a text that is a function needs `state`."""
        found = getattr(self, field)
        if callable(found):
            return str(found(state))
        return row_text(f"rows.controls.{self.name}.{field}", found)

    def shown(self, state: FaceState) -> Shown:
        """Return all displayed fields for one state."""
        return Shown(
            self.get(state),
            tuple(self.names(state)),
            self.enabled(state),
            self.words("about", state),
            self.words("text", state),
            self.icon if isinstance(self.icon, str) else self.icon(state),
            self.scale(state),
            tuple(self.marks(state)),
        )
