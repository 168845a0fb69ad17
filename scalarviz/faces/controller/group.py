"""Group: the controllers that a face has: one, or several on one clock, side by side.

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
from scalarviz.faces.controller import controller as keys
from scalarviz.faces.controller import guide as tours
from scalarviz.faces.controller.control import (
    UNITS,
    Control,
    FaceState,
    FaceUnit,
    state_of,
    units_of,
)
from scalarviz.faces.controller.controller import CHANNELS, MOST_STEPS, WHOLE, Controller
from scalarviz.faces.controller.controls import walk
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
from scalarviz.stage.side_by_side import AnyStage, SideBySide, stage_of
from scalarviz.training.session.shared_clock import Halted, SharedClock
from scalarviz.training.session.timeline import Position


@final
class Group:
    """The sessions of a face: commands on time and picture go to all of them, or to the chosen one.

    members   a controller for each session; all have the same hand and the same exports
    stage     the picture: that of the only member, or a SideBySide
    names     of the sessions; empty for one
    together  whether commands on time, rates and samples are for all of them
    jumps     how often pages were told that the next moment may be far from the last

    Sessions that go together are on one clock: see `SharedClock`.
    """

    def __init__(
        self,
        members: Sequence[Controller],
        stage: AnyStage,
        *,
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.members = list(members)
        self.stage: AnyStage = stage
        self.together = len(self.members) > 1
        self.unit: FaceUnit = "step"
        self.measured, self.jumps = 0.0, 0
        self._walk = Walk()
        self._changes = CommonChanges()
        self._told: Halted = {}  # those of which it was said that they were halted
        for member in self.members[1:]:
            member.hand, member.exports = self.members[0].hand, self.members[0].exports
        self.playing = self.members[0].playing  # of the only one
        self._clock: SharedClock | None = None
        if self.several:
            self._share_clock()
            both = Several(tuple(member.show for member in self.members), self.names)
            lead = replace(both.shows[0], steps=both.steps, speed=both.speed)
            self.playing = Playing(lead, steps, speed, self.clock)
            stage.keys = keys.help_rows(self.state())

    @staticmethod
    def of(given: Controller | Group) -> Group:
        """Return the group of one controller, or the group that is given."""
        return given if isinstance(given, Group) else Group([given], given.stage)

    @staticmethod
    def side_by_side(
        stage: AnyStage,
        recipes: Sequence[Recipe | None] = (),
        *,
        steps: int | None = None,
        speed: float | None = None,
    ) -> Group:
        """Return the group of several sessions.

        stage    their picture, a SideBySide
        recipes  how their shows were made, one for each; empty, the default: nobody knows
        steps    number of steps after which they pause, the first time; None: those of the shows
        speed    steps a second, 0 for as fast as possible; None: the speed of the first show
        """
        assert isinstance(stage, SideBySide), "several sessions have one picture"
        known = recipes or [None] * len(stage.stages)
        members = [
            Controller(each.show, each, recipe)
            for each, recipe in zip(stage.stages, known, strict=True)
        ]
        return Group(members, stage, steps=steps, speed=speed)

    def _share_clock(self) -> None:
        """Put the sessions on one clock."""
        clock = self._clock = SharedClock([member.session for member in self.members])
        if isinstance(self.stage, SideBySide):
            self.stage.still = partial(clock.still, PATIENCE)

    # Which sessions.

    @property
    def clock(self) -> SharedClock:
        """The clock of several sessions."""
        assert self._clock is not None, "a session alone has its own clock"
        return self._clock

    @property
    def several(self) -> bool:
        return len(self.members) > 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.stage.names) if isinstance(self.stage, SideBySide) else ()

    @property
    def chosen(self) -> int:
        """The number of the session that commands on one session mean."""
        return self.stage.chosen if isinstance(self.stage, SideBySide) else 0

    @property
    def lead(self) -> Controller:
        """The controller of the chosen session."""
        return self.members[self.chosen]

    def choose(self, name: str) -> None:
        """Choose a session by its name."""
        if self.several:
            numbers = {each: i for i, each in enumerate(self.names)}
            self.choose_number(pick(numbers, name, "session"))

    def choose_number(self, number: int) -> None:
        if isinstance(self.stage, SideBySide):
            self.stage.chosen = number

    def choose_at(self, x: float, y: float) -> None:
        """Choose the session at a pixel of the picture, if there is one."""
        if isinstance(self.stage, SideBySide):
            self.stage.choose_at(x, y)

    def set_together(self, on: bool) -> None:
        """Let commands be for all sessions, or for the chosen one."""
        if isinstance(self.stage, SideBySide):
            self.pause()
            self.together = self.stage.together = on

    @property
    def _commanded(self) -> list[Controller]:
        """The controllers that commands for each session go to."""
        return self.members if self.together else [self.lead]

    @property
    def is_playing(self) -> bool:
        """Whether a session plays."""
        return any(member.session.playing for member in self.members)

    @property
    def flat_out(self) -> bool:
        """Whether a session plays as fast as it can, so that drawing slows it down."""
        return self.playing.flat_out or any(each.playing.flat_out for each in self.members)

    @property
    def held(self) -> bool:
        """Whether a session waits for kernels, so that nothing may be computed."""
        return any(member.warming.held for member in self.members)

    # What faces do.

    def act(self, row: Control, value: Any, setter: Callable[..., object] | None = None) -> None:
        """Do what a control does with a value: with the chosen session, with each, or with all.

        setter  the setter of the row; None, the default: `set`
        """
        act: Callable[..., object] = setter or row.set
        if not self.several or row.acts_on == "one":
            act(self.lead, value)
        elif row.acts_on == "group":
            act(self, value)
        else:
            self.change(lambda member: act(member, value))

    def change(self, act: Callable[[Controller], object]) -> None:
        """Change the commanded sessions, which `undo` takes back together."""
        if self.several:
            self._changes.begin(self.members, self._commanded)
        for member in self._commanded:
            act(member)

    def press(self, key: str, shift: bool = False) -> bool:
        """Execute the command of a key; return whether it has one."""
        if not self.several:
            return self.lead.press(key, shift)
        self._finish()
        if self.lead.guessing.press(key) or walk(self.lead, key):
            return True
        if found := keys.command_of(self.state(), key, shift):
            self.act(*found)
        return found is not None

    def click(self, x: float, y: float) -> None:
        """Pin the cube at a position, or press a button there."""
        if not self.several:
            return self.lead.click(x, y)
        self._finish()
        return self._guarded(partial(self.stage.click, x, y))

    def _finish(self) -> None:
        """Show the end of the operation of a slow step that is under way."""
        for member in self.members if self._walk.slow else ():
            member.stage.finish()

    def drawing(self, work: Callable[[], None]) -> None:
        """Call `work`, such as drawing, while nothing computes in parallel."""
        if not self.several:
            return self.lead.drawing(work)
        for member in self.members:
            member.warming.settle()
        return self.playing.undisturbed(work)

    def attend(self) -> None:
        """Handle what happens by itself: results, errors, end of a run, opening speed."""
        for member in self.members:
            member.attend()
        if self.several:
            self._attend_clock()

    def _attend_clock(self) -> None:
        sessions = tuple(member.session for member in self.members)
        if sessions != self.clock.sessions:  # a network has grown, or a file was opened
            self.pause()
            self._share_clock()
            self.playing.session = self.clock
        playing, lead = self.playing, self.lead
        if not lead.hand.busy and not self.held:
            if direction := self._walk.due():
                go = self.clock.advance if direction > 0 else self.clock.back
                self._do(partial(go, 1, "operation"))
            else:
                self._walk.end()
        for member in self.members:
            member.stage.given = self._walk.given
        self.measured = playing.measured() if self.clock.playing else 0.0
        if playing.arrived:
            is_errand = playing.errand
            self.pause()
            playing.until = None
            if not is_errand:
                self.stage.notice(text("compared.arrived", step=self.clock.step_index))
        elif playing.ended:
            self.pause()
        elif not self.clock.playing:  # the last portion may have failed after the pause
            self._stop(partial(self.clock.pause, 0.0))

    def state(self, here: Position | None = None) -> FaceState:
        """Return everything that controls show; see `state_of`."""
        state = state_of(self.lead, here)
        if not self.several:
            return state
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
        """Show a message."""
        if self.several:
            self.stage.notice(words)
        else:
            self.lead.tell(words)

    def quit(self) -> None:
        """Stop everything; see `Controller.quit`."""
        if self.several:
            self.clock.pause(0.0)
        for member in self.members:
            member.quit()

    def rest(self) -> None:
        """Wait until everything has stopped, and what is kept is done."""
        if self.several:
            self._stop(self.clock.pause)
        for member in self.members:
            member.rest()

    def leave(self) -> None:
        """Detach from the sessions, each on its own engine."""
        for member in self.members:
            member.warming.leave()

    def each(self, name: str, value: object) -> None:
        """Set what the face does for a controller, such as `start_editing`, in all of them."""
        for member in self.members:
            setattr(member, name, value)

    # Time, of all sessions or of the chosen one.

    def toggle_play(self) -> None:
        if not self.together:
            self.lead.toggle_play()
        elif self.is_playing:
            self.pause()
        else:
            self.play()

    def play(self) -> None:
        """Play in the background."""
        if not self.together:
            return self.lead.play()
        self._walk.stop()
        if self._is_held():
            return None
        for member in self.members:
            member.guide.stop()
            member.withdraw()
        return self._guarded(self.playing.play)

    def pause(self) -> None:
        """Pause, and report the error that has stopped a training, if there is one."""
        self._walk.stop()
        if self.several:
            self._stop(self.playing.pause)
            self._tell_halted()
        for member in self._commanded:
            member.pause()

    def step(self, direction: int, times: int = 1) -> None:
        """Go forward (+1) or back (-1), `times` times the chosen unit."""
        if self.together:
            self.go(direction, times, self.unit)
        else:
            self.lead.step(direction, times)

    def operation(self, direction: int) -> None:
        """Go forward or back by one operation, whatever the unit."""
        self.go(direction, 1, "operation")

    def go(self, direction: int, times: int, unit: FaceUnit) -> None:
        if not self.together:
            return (
                self.lead.operation(direction)
                if unit == "operation" and unit != self.unit
                else self.lead.step(direction, times)
            )
        self.pause()
        clock, unit = self.clock, "operation" if unit == "neuron" else unit
        batches = clock.sessions[0].trainer.batches
        each = batches.steps_an_epoch if unit == "epoch" else 1
        if direction < 0:
            return self._do(partial(clock.back, times, unit))
        if unit not in WHOLE or times * each <= MOST_STEPS:
            return self._do(partial(clock.advance, times, unit))
        return self._guarded(
            partial(self.playing.run_to, (clock.step_index // each + times) * each)
        )

    def seek(self, step: int, operation: int = 0) -> None:
        """Go to a step, of those that a session has come to, and on to an operation of it."""
        if not self.together:
            return self.lead.seek(step)
        self.pause()
        place = max(0, min(step, self.clock.end))
        return self._do(partial(self._go_to, place, operation), name="seek")

    def _go_to(self, step: int, operation: int) -> None:
        self.clock.seek(step)
        if operation:
            self.clock.advance(operation, "operation")

    def reset(self) -> None:
        """Start again with the same initial weights; the speed stays."""
        if not self.together:
            return self.lead.reset()
        self.pause()
        return self._do(self.clock.reset)

    def slow_step(self) -> None:
        """Do the operations up to the end of a step slowly; then go on if it plays."""
        if not self.together:
            return self.lead.slow_step()
        plays = self.is_playing
        self.pause()
        every = shared([SUM] * len(self.clock.operations), again=self._walk.again)
        left = every[max(member.session.clock.operation for member in self.members) :]
        self._walk.begin(len(left), left, self.play if plays else None)
        return None

    def set_unit(self, unit: str) -> None:
        """Choose the unit of `step`."""
        self._guarded(partial(self._set_unit, unit))

    def _set_unit(self, unit: str) -> None:
        self.unit = pick(UNITS, unit, "unit")
        self.playing.unit = unit
        for member in self.members:
            member.set_unit(unit)

    def set_speed(self, speed: float | None) -> None:
        """Set the steps a second; None for as fast as possible."""
        self._guarded(partial(self.playing.set_speed, speed))
        for member in self.members:
            member.set_speed(speed)

    # Changes, and the picture.

    def undo(self) -> None:
        """Undo the last change: of all sessions, if it was one of all of them."""
        for member in self._changes.undone_by(self.lead):
            member.undo()

    def redo(self) -> None:
        """Do the change that was undone last again, of all sessions that it was undone of."""
        for member in self._changes.done_again_by(self.lead):
            member.redo()

    def set_channel(self, which: str, name: str) -> None:
        """Set the channel of the cubes' "color" or "size"."""

        def change() -> None:
            setattr(self.stage, pick(CHANNELS, which, "property of a cube"), name)

        self._guarded(change)

    # How.

    def _tell_halted(self) -> None:
        """Say what callbacks have said when they ended the training of a session, once."""
        halted = dict(self.clock.halted)
        for session, why in halted.items():
            if isinstance(why[1], str) and self._told.get(session) != why:
                self._owner(session).tell(why[1])
        self._told = halted

    def _owner(self, session: object) -> Controller:
        return next(member for member in self.members if member.session is session)

    def _tell_error(self, error: ScalarvizError) -> None:
        """Show an error under the name of the session that it came from."""
        for session, (_, why) in self.clock.halted.items():
            if why is error:
                return self._owner(session).tell_error(error)
        return self.lead.tell_error(error)

    def _guarded(self, command: Callable[[], object]) -> None:
        """Call a command, and report its errors."""
        try:
            command()
        except ScalarvizError as error:
            self._tell_error(error)

    def _stop(self, pause: Callable[[], None]) -> None:
        try:
            pause()
        except ScalarvizError as error:
            self._tell_error(error)
        except Exception as error:  # an error of the clock's thread must be reported
            self.stage.notice(text("notices.broken", kind=type(error).__name__, error=error))

    def _is_held(self) -> bool:
        """Return whether kernels are compiled first, and say so."""
        for member in self.members:
            member.look_at_kernels()
        if self.held:
            self.stage.notice(text("notices.wait"))
        return self.held

    def _do(self, command: Callable[[], object], name: str = "") -> None:
        """Execute a command on the clock, on the thread of the hand; report its errors."""
        if self._is_held():
            return

        def done() -> object:
            try:
                return command()
            finally:
                for member in self.members:
                    member.warming.settle(math.inf)

        def finish(_: object, error: BaseException | None) -> None:
            if isinstance(error, ScalarvizError):
                self._tell_error(error)
            elif error is not None:
                raise error

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

    def group(self, show: Show | Several, theme: str, *, reduced_motion: bool = False) -> Group:
        """Return the controllers of a show, or of several, and their picture in a `theme`.

        reduced_motion  True: no animations, whatever the options say
        """
        still = self.reduced_motion or reduced_motion
        stage = stage_of(show, theme, reduced_motion=still, patience=AT_ONCE)
        stage.present, stage.nodes = self.present, self.nodes
        stage.color, stage.size = self.color, self.cubes
        if self.pin is not None:
            stage.pin(self.pin)
        if isinstance(show, Several):
            return Group.side_by_side(stage, self.recipes, steps=self.steps, speed=self.speed)
        assert not isinstance(stage, SideBySide), "one session has a stage"
        recipe = next(iter(self.recipes), None)
        return Group.of(Controller(show, stage, recipe, steps=self.steps, speed=self.speed))


# What happens at the start, until the training plays.


@final
class Opening:
    """At the start, kernels are compiled if needed, and the tour is shown, or playing begins.

    controller  the controller, or a group of them
    tour        whether the tour is shown, which several sessions do not have; None: only the first
                time on this machine, and only at the start of a training
    play        whether it plays without a tour, or when that is skipped
    """

    def __init__(
        self, controller: Controller | Group, tour: bool | None = None, *, play: bool = True
    ) -> None:
        self.group = group = Group.of(controller)
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
                group.lead.guide.show_tour(group.play if plays else lambda: None)
            else:
                group.play()
        except ScalarvizError as error:
            group.lead.tell_error(error)
