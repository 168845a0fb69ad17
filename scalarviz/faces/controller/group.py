"""Group: the face of several trainings on one clock, side by side.

WatchOptions say how a face makes them, and an Opening what happens until the training plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

from scalarviz.base.checks import number
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller import guide as tours
from scalarviz.faces.controller.control import UNITS, FaceState, units_of
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.face import Face, help_rows
from scalarviz.faces.controller.guide import Walk
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.playing import Playing
from scalarviz.faces.controller.train import Autosave
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.pace import SUM, shared
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.background import AT_ONCE as PATIENCE
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show
from scalarviz.stage.side_by_side import SideBySide, stage_of
from scalarviz.training.session.shared_clock import Halted, SharedClock
from scalarviz.training.session.timeline import Position


@final
class Group(Face):
    """Several sessions side by side, on one clock: see `SharedClock`.

    Commands on time and picture go to all of them, or to the chosen one.

    stage    their picture
    recipes  how their shows were made, one for each; empty, the default: nobody knows
    steps    number of steps after which they pause, the first time; None: those of the shows
    speed    steps a second, 0 for as fast as possible; None: the speed of the first show

    All members have the same hand and the same exports.
    """

    def __init__(
        self,
        stage: SideBySide,
        recipes: Sequence[Recipe | None] = (),
        *,
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.stage: SideBySide = stage
        known = recipes or [None] * len(stage.stages)
        self.members = [
            Controller(each.show, each, recipe)
            for each, recipe in zip(stage.stages, known, strict=True)
        ]
        for member in self.members[1:]:
            member.hand, member.exports = self.members[0].hand, self.members[0].exports
        self.together = True
        self.walk = Walk()
        self._changes = CommonChanges()
        self._told: Halted = {}  # those of which it was said that they were halted
        clock = self._share_clock()
        both = Several(tuple(member.show for member in self.members), self.names)
        lead = replace(both.shows[0], steps=both.steps, speed=both.speed)
        self.playing = Playing(lead, steps, speed, clock)
        stage.keys = help_rows(self.state)

    def _share_clock(self) -> SharedClock:
        """Put the sessions on one clock."""
        self._clock = SharedClock([member.session for member in self.members])
        self.stage.still = partial(self._clock.still, PATIENCE)
        return self._clock

    # Which sessions.

    @property
    def clock(self) -> SharedClock:
        return self._clock

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.stage.names)

    @property
    def chosen(self) -> int:
        return self.stage.chosen

    def choose(self, name: str) -> None:
        """Choose a session by its name."""
        self.choose_number(pick({each: i for i, each in enumerate(self.names)}, name, "session"))

    def set_together(self, on: bool) -> None:
        """Let commands be for all sessions, or for the chosen one."""
        self.pause()
        self.together = self.stage.together = on

    @property
    def _commanded(self) -> Sequence[Controller]:
        """The controllers that commands for each session go to."""
        return self.members if self.together else [self.lead]

    # What faces do.

    def change(self, act: Callable[[Controller], object]) -> None:
        self._changes.begin(self.members, self._commanded)
        for member in self._commanded:
            act(member)

    def attend(self) -> None:
        """Handle what happens by itself: results, errors, end of a run, opening speed."""
        for member in self.members:
            member.attend()
        sessions = tuple(member.session for member in self.members)
        if sessions != self.clock.sessions:  # a network has grown, or a file was opened
            self.pause()
            self.playing.session = self._share_clock()
        self.attend_walk()
        self.attend_playing()

    def arrive(self, *, is_errand: bool) -> None:
        if not is_errand:
            self.tell(text("compared.arrived", step=self.clock.step_index))

    def state_at(self, here: Position | None = None) -> FaceState:
        state = self.lead.state_at(here)
        units = [set(units_of(member.session)) for member in self.members]
        ends = [member.session.timeline.here.end.step for member in self.members]
        shared: dict[str, Any] = {
            "playing": self.is_playing,
            "unit": self.unit,
            "units": tuple(
                unit
                for unit in UNITS.values()
                if unit != "neuron" and all(unit in each for each in units)
            ),
            "operations": len(self.clock.operations),
            "end": max(ends),
            "speed": self.playing.speed,
            "measured": float(f"{self.measured:.2g}"),
        }
        return replace(
            state,
            title=" | ".join(self.names),
            **(shared if self.together else {}),
            undoable=state.undoable + len(self._changes.done),
            redoable=state.redoable + len(self._changes.undone),
            channels=tuple(self.stage.channels),
            has_plane=self.stage.has_plane,
            help=self.stage.help,
            names=self.names,
            name=self.names[self.chosen],
            together=self.together,
        )

    def tell(self, words: str) -> None:
        self.stage.notice(words)

    def quit(self) -> None:
        """Stop everything; see `Controller.quit`."""
        self.clock.pause(0.0)
        for member in self.members:
            member.quit()

    def rest(self) -> None:
        """Wait until everything has stopped, and what is kept is done."""
        self.stop(self.clock.pause)
        for member in self.members:
            member.rest()

    # Time, of all sessions or of the chosen one.

    def pause(self) -> None:
        self.walk.stop()
        self.stop(self.playing.pause)
        self.tell_stop()
        for member in self._commanded:
            member.pause()

    def go_by_neuron(self, by: int) -> None:
        self.go(1 if by > 0 else -1, abs(by), "operation")

    @property
    def end(self) -> tuple[int, int]:
        return self.clock.end, len(self.clock.operations)

    def pauses(self) -> Sequence[float]:
        return shared([SUM] * len(self.clock.operations), again=self.walk.again)

    def set_unit(self, unit: str) -> None:
        """Choose the unit of `step`."""
        with self.reporting_errors():
            self.unit = self.playing.unit = pick(UNITS, unit, "unit")
            for member in self.members:
                member.set_unit(unit)

    # Changes.

    def undo(self) -> None:
        """Undo the last change: of all sessions, if it was one of all of them."""
        for member in self._changes.undone_by(self.lead):
            member.undo()

    def redo(self) -> None:
        """Do the change that was undone last again, of all sessions that it was undone of."""
        for member in self._changes.done_again_by(self.lead):
            member.redo()

    # How.

    def tell_stop(self, _: object = None) -> None:
        """Say what callbacks have said when they ended the training of a session, once."""
        halted = dict(self.clock.halted)
        for session, why in halted.items():
            if isinstance(why[1], str) and self._told.get(session) != why:
                self._owner(session).tell(why[1])
        self._told = halted

    def _owner(self, session: object) -> Controller:
        return next(member for member in self.members if member.session is session)

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error under the name of the session that it came from."""
        for session, (_, why) in self.clock.halted.items():
            if why is error:
                return self._owner(session).tell_error(error)
        return self.lead.tell_error(error)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = lambda _: None,
        *,
        name: str = "",
    ) -> None:
        def done() -> object:
            try:
                return command()
            finally:
                for member in self.members:
                    member.warming.settle(math.inf)

        def finish(result: Any, error: BaseException | None) -> None:
            with self.reporting_errors():
                if error is not None:
                    raise error
                then(result)

        self.lead.hand.do(done, finish, name)


# Changes that a command made in several sessions, undone together.


@final
class CommonChanges:
    """The changes of several sessions that commands made in all of them at once.

    done    for each command, how many changes each session could undo before, and its sessions
    undone  the sessions in which a command was undone, the last one at the end
    """

    def __init__(self) -> None:
        self.done: list[tuple[dict[Controller, int], list[Controller]]] = []
        self.undone: list[list[Controller]] = []

    def begin(self, everyone: Sequence[Controller], changed: Sequence[Controller]) -> None:
        """Note that a command is about to change some sessions of everyone."""
        self.done.append(({each: changes_of(each) for each in everyone}, list(changed)))
        self.undone.clear()

    def undone_by(self, lead: Controller) -> list[Controller]:
        """Return the controllers that undo the last change; `lead` is that of the chosen session.

        That is the lead alone if it has made a change of its own since the last command.
        """
        while self.done:
            before, commanded = self.done[-1]
            since = {each: changes_of(each) - count for each, count in before.items()}
            if since[lead] > (lead in commanded):
                return [lead]
            self.done.pop()
            if changed := [each for each in commanded if since[each] > 0]:
                self.undone.append(changed)
                return changed
        return [lead]

    def done_again_by(self, lead: Controller) -> list[Controller]:
        """Return the controllers that do the change again that was undone last."""
        return self.undone.pop() if self.undone else [lead]


def changes_of(controller: Controller) -> int:
    """Return how many changes of a session can be undone."""
    return len(controller.session.undo_log.done)


# How a window or a notebook shows a training.


@final
@dataclass(frozen=True)
class WatchOptions:
    """The arguments of `sv.watch` for a window or a notebook; InputError for one out of range.

    recipes  how the scenes were made, one for each session; empty: nobody knows
    """

    steps: int | None = None
    speed: float | None = None
    theme: str = "auto"
    keep: Autosave = field(default_factory=Autosave)
    recipes: Sequence[Recipe | None] = ()
    size: tuple[int, int] | None = None
    play: bool | None = None
    tour: bool = False
    reduced_motion: bool = False
    present: bool = False
    nodes: Callable[[Any], object] | None = None
    color: str = "value"
    cubes: str = "value"
    pin: Any = None

    def __post_init__(self) -> None:
        pick({"auto": "", **THEMES}, self.theme, "theme")
        if self.speed is not None:
            number(self.speed, "the speed", 0.0)
        if self.size is not None:
            object.__setattr__(self, "size", RenderOptions(size=self.size).size)

    def group(self, show: Show | Several, theme: str, *, reduced_motion: bool = False) -> Face:
        """Return the controllers of a show, or of several, and their picture in a `theme`.

        reduced_motion  True: no animations, whatever the options say
        """
        still = self.reduced_motion or reduced_motion
        stage = stage_of(show, theme, reduced_motion=still, patience=AT_ONCE)
        stage.present, stage.nodes = self.present, self.nodes
        stage.color, stage.size = self.color, self.cubes
        if self.pin is not None:
            stage.pin(self.pin)
        if isinstance(stage, SideBySide):
            return Group(stage, self.recipes, steps=self.steps, speed=self.speed)
        recipe = next(iter(self.recipes), None)
        return Controller(stage.show, stage, recipe, steps=self.steps, speed=self.speed)


# What happens at the start, until the training plays.


@final
class Opening:
    """At the start, kernels are compiled if needed, and the tour is shown, or playing begins.

    face        one training, or several
    tour        whether the tour is shown, which several sessions do not have; None: only the first
                time on this machine, and only at the start of a training
    play        whether it plays without a tour, or when that is skipped
    """

    def __init__(self, face: Face, tour: bool | None = None, *, play: bool = True) -> None:
        self.group = group = face
        lead = group.lead
        begins = lead.session.clock.place == (0, 0) and lead.stage.pinned is None
        wanted = begins and not tours.was_seen() if tour is None else tour
        self._tours = wanted and not group.several
        self._plays = play
        if any(member.warming.said for member in group.members):
            held = group.held
            group.tell(text(f"notices.{'kernels_first' if held else 'objects_first'}"))

    def attend(self) -> None:
        """Do what is due; called several times a second from the first picture on."""
        group = self.group
        if group.held or not (self._tours or self._plays):
            return
        tours, plays = self._tours, self._plays
        self._tours = self._plays = False
        try:
            if group.is_playing:
                return
            if tours:
                group.lead.guide.show_tour(group.time.play if plays else lambda: None)
            else:
                group.time.play()
        except ScalarvizError as error:
            group.lead.tell_error(error)
