"""State: what a face shows of a controller, read often and without waiting for the training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from scalarviz.base.texts import text
from scalarviz.faces.controller.bent_data import needs_hidden_layers
from scalarviz.faces.controller.options import OptionChoice, rate_now
from scalarviz.faces.controller.parts import PinnedLayer, pinned_layer, rate_of
from scalarviz.faces.controller.play import WALKED
from scalarviz.scene.frame_data import Work
from scalarviz.story.by_neuron import has_neurons
from scalarviz.story.guess_rules import can_guess
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.measurements import measured_names
from scalarviz.training.session.session import Session, Unit
from scalarviz.training.session.stops import in_one_text
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
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
class State:
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


def state_of(controller: Controller, here: Position | None = None) -> State:
    """Return everything that controls show; reads plain attributes without a lock.

    here  where the session stood when the next picture was read, of `Stage.read`, so
          that both show the same moment; by default where it stands now
    """
    session, stage, timeline = controller.session, controller.stage, controller.session.timeline
    here = here or timeline.here
    settings, recipe = settings_now(session), controller.options.recipe
    common = controller.options.common(session, settings)
    return State(
        title=controller.show.title,
        playing=session.playing,
        unit=controller.unit,
        units=units_of(session),
        clock=here.clock,
        operations=len(here.moments),
        end=here.end.step,
        done=session.done,
        loss=here.loss,
        speed=controller.playing.speed,
        measured=float(f"{controller.measured:.2g}"),
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
        color=stage.color,
        size=stage.size,
        channels=tuple(stage.channels),
        camera=stage.camera,
        per_layer=stage.per_layer,
        smooth=stage.curve_view.smooths(here.end.step),
        large_curve=stage.curve_view.large,
        looks=stage.looks,
        has_plane=stage.has_plane,
        neuron_maps=stage.neuron_maps,
        test_points=stage.test_points,
        discrete=stage.discrete,
        theme=stage.theme,
        help=stage.help,
        marks=stage.marks,
        guesses=controller.guessing.on,
        can_guess=can_guess(session),
        message=controller.message,
        status=stage.status,
        stops=in_one_text(session.stop_conditions),
        metrics=tuple(measured_names(timeline.visits.metrics, settings.data)),
        work=stage.work,
    )
