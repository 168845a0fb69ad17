"""ClockControl: plays, steps and goes back with the sessions of some panes, on one clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller.control import UNITS, FaceUnit
from scalarviz.faces.controller.guide import Walk
from scalarviz.faces.controller.playing import Playing, offer_more, tell_stop
from scalarviz.scene.pace import SUM, pauses, shared
from scalarviz.stage.by_parts import check_neurons, sizes_of
from scalarviz.stage.show import Several
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import Halted, SharedClock
from scalarviz.training.session.timeline import check_unit

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller
    from scalarviz.faces.controller.face import Face


MOST_STEPS = 100  # most steps taken by a command; for more, it plays
WHOLE = "step", "epoch"  # units of whole steps


@final
class ClockControl:
    """What a user can do with the time of one pane, or of all panes of a face together.

    face      shows what concerns all
    panes     those whose sessions move
    steps     number of steps after which they pause, the first time; None: those of the shows
    speed     steps a second, 0 for as fast as possible; None: the speed of the first show

    playing   plays the session, or the clock of several
    walk      the operations that are done one after the other
    unit      of `step`
    measured  the speed while it plays, in steps a second, else 0
    """

    def __init__(
        self,
        face: Face,
        panes: Sequence[Controller],
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.face, self.panes = face, panes
        self.walk = Walk()
        self.unit: FaceUnit = "step"
        self.measured = 0.0
        self._told: Halted = {}  # those of which it was said that they were halted
        show = panes[0].show
        if self.several:
            shows = Several(tuple(pane.show for pane in panes), face.names)
            show = replace(show, steps=shows.steps, speed=shows.speed)
        clock = SharedClock([pane.session for pane in panes]) if self.several else None
        self.playing = Playing(show, steps, speed, clock)

    @property
    def several(self) -> bool:
        return len(self.panes) > 1

    @property
    def clock(self) -> Session | SharedClock:
        """What the commands move."""
        return self.playing.session

    @property
    def is_playing(self) -> bool:
        """Whether a session plays."""
        return any(pane.session.playing for pane in self.panes)

    @property
    def held(self) -> bool:
        """Whether a session waits for kernels, so that nothing may be computed."""
        return any(pane.warming.held for pane in self.panes)

    def waits(self) -> bool:
        """Return whether kernels are compiled first, and say so."""
        for pane in self.panes:
            pane.look_at_kernels()
        if self.held:
            self._speaker.tell(text("notices.wait"))
        return self.held

    @property
    def _speaker(self) -> Controller | Face:
        return self.face if self.several else self.panes[0]

    # Playing.

    def toggle_play(self) -> None:
        if self.is_playing:
            self.pause()
        else:
            self.play()

    def play(self, *, anew: bool = True) -> None:
        """Play in the background; `anew`: beyond the step where it pauses, if it is there."""
        if self.waits():
            return
        self.walk.stop()
        for pane in self.panes:
            pane.guide.stop()
            pane.show_whole_operations()
        with reporting_errors(self):
            self.playing.play(anew=anew)

    def play_on(self) -> None:
        """Play as before, up to the same step."""
        self.play(anew=False)

    def pause(self) -> None:
        """Pause; report the error that has stopped a training, if there is one."""
        self.walk.stop()
        if self.several:
            self.stop(self.playing.pause)
            self.tell_stop()
            for pane in self.panes:
                pane.time.pause()
        else:
            self.panes[0].stand_by()
            self.stop(self.playing.pause)

    def stop(self, pause: Callable[[], None]) -> None:
        """Call what pauses, and report its error."""
        try:
            with reporting_errors(self):
                pause()
        except Exception as error:  # an error of the training's thread must be reported
            self._speaker.tell(text("notices.broken", kind=type(error).__name__, error=error))

    def stand_still(self) -> None:
        """Pause, remove the large buttons, and show whole operations."""
        self.pause()
        for pane in self.panes:
            pane.show_whole_operations()

    def attend(self) -> None:
        """Handle what happens by itself: walks, the end of a run, an error."""
        sessions = tuple(pane.session for pane in self.panes)
        if isinstance(self.clock, SharedClock) and sessions != self.clock.sessions:
            self.pause()  # a network has grown, or a file was opened
            self.playing.session = SharedClock(sessions)
        self.attend_walk()
        playing = self.playing
        self.measured = playing.measured() if self.clock.playing else 0.0
        if playing.arrived:
            is_errand = playing.errand
            self.pause()
            playing.until = None
            self._arrive(is_errand=is_errand)
        elif playing.ended:
            self.pause()
            self.tell_stop()
        elif not self.clock.playing:  # the last portion may have failed after the pause
            self.stop(partial(self.clock.pause, 0.0))

    def _arrive(self, *, is_errand: bool) -> None:
        """Say what is to be said where it pauses by itself."""
        lead = self.panes[0]
        if self.several and not is_errand:
            self.face.tell(text("compared.arrived", step=self.clock.step_index))
        elif not self.several:
            self.tell_stop()
            if not is_errand and lead.stage.own is None:
                offer_more(lead)

    def tell_stop(self, _: object = None) -> None:
        """Say why a training has stopped by itself, if one has; of several, once."""
        if not isinstance(self.clock, SharedClock):
            return tell_stop(self.panes[0])
        halted = dict(self.clock.halted)
        for pane in self.panes:
            why = halted.get(pane.session)
            if why and isinstance(why[1], str) and self._told.get(pane.session) != why:
                pane.tell(why[1])
        self._told = halted
        return None

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error; of several sessions, under the name of the one that it came from."""
        halted = self.clock.halted if isinstance(self.clock, SharedClock) else {}
        known = {session: why for session, (_, why) in halted.items()}
        found = [pane for pane in self.panes if known.get(pane.session) is error]
        (found or [self.panes[0] if not self.several else self.face.lead])[0].tell_error(error)

    def set_speed(self, speed: float | None) -> None:
        """Set the steps a second; None for as fast as possible."""
        for pane in self.panes:
            pane.guide.interrupt()
        with reporting_errors(self):
            for each in dict.fromkeys([self.playing, *(pane.time.playing for pane in self.panes)]):
                each.set_speed(speed)

    # Steps.

    def set_unit(self, unit: str) -> None:
        """Choose the unit of `step`; if it is the operation, that of playing, too."""
        lead = self.panes[0]
        with reporting_errors(self):
            if self.several:
                for pane in self.panes:
                    pane.time.set_unit(unit)
            elif unit == "neuron":
                check_neurons(lead.session.network.program)
            else:
                check_unit(lead.session.timeline, unit)
            self.unit = self.playing.unit = pick(UNITS, unit, "unit")

    def step(self, direction: int, times: int = 1) -> None:
        """Go forward (+1) or back (-1), `times` times the chosen unit."""
        self.go(direction, times, self.unit)

    def operation(self, direction: int) -> None:
        """Go forward or back by one operation, or by one neuron if that is the unit."""
        self.go(direction, 1, "neuron" if self.unit == "neuron" else "operation")

    def go(self, direction: int, times: int, unit: FaceUnit) -> None:
        if self.waits():
            return None
        if unit == "neuron" and not self.several:
            return self._go_by_neuron(direction * times)
        self.stand_still()
        unit = "operation" if unit == "neuron" else unit
        batches, clock = self.panes[0].session.trainer.batches, self.clock
        each = batches.steps_an_epoch if unit == "epoch" else 1
        if direction < 0:
            return self.do(partial(clock.back, times, unit))
        if unit not in WHOLE or times * each <= MOST_STEPS:
            return self.do(partial(clock.advance, times, unit), self.tell_stop)
        with reporting_errors(self):
            self.playing.run_to((clock.step_index // each + times) * each)
        return None

    def _go_by_neuron(self, by: int) -> None:
        """Show more neurons of the last operation, or fewer; go on where there are no others."""
        self.pause()
        (pane,) = self.panes
        pane.withdraw()
        session, shown = pane.session, pane.stage.by_neuron
        (step, operation), sizes = session.clock.place, sizes_of(session.network.program)
        done = step * len(sizes) + operation
        operations = shown.go(sizes, done, by, waits=pane.hand.busy)
        if operations:
            move = session.advance if operations > 0 else session.back
            self.do(partial(move, abs(operations), "operation"), self.tell_stop)

    @property
    def end(self) -> tuple[int, int]:
        """Step and operation that the training has come to."""
        clock = self.clock
        if isinstance(clock, SharedClock):
            return clock.end, len(clock.operations)
        return clock.current_branch.end.place

    def seek(self, step: int, operation: int = 0) -> None:
        """Go to a step, of those that it has come to, and on to an operation of it."""
        if self.waits():
            return
        self.stand_still()
        place = min((max(0, step), operation), self.end)
        self.do(partial(go_to, self.clock, *place), name="seek")

    def reset(self) -> None:
        """Start again with the same initial weights, and scales that fit them; the speed stays."""
        if self.waits():
            return
        self.stand_still()
        self.do(self.clock.reset, self.fit)

    def fit(self, _: object = None) -> None:
        """Fit the scales to the numbers."""
        stage = self.face.stage if self.several else self.panes[0].stage
        stage.rescale(anew=True)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = lambda _: None,
        *,
        name: str = "",
    ) -> None:
        """Execute a command on the clock, and then call `then` with its result on this thread."""
        self.panes[0].do(command, then, name=name, time=self)

    # Walks.

    def slow_step(self) -> None:
        """Do the operations up to the end of a step slowly; then go on if it plays."""
        if self.waits():
            return
        plays = self.is_playing or self.walk.then == self.play_on
        self.stand_still()
        done = max(pane.session.clock.operation for pane in self.panes)
        left = self._pauses()[done:]
        self.walk.begin(len(left), left, self.play_on if plays else None)
        self.attend_walk()

    def _pauses(self) -> Sequence[float]:
        """Return the seconds that a slow step gives to each of its operations."""
        again, clock = self.walk.again, self.clock
        if isinstance(clock, Session):
            return pauses(clock.network.program, again=again)
        return shared([SUM] * len(clock.operations), again=again)

    def attend_walk(self) -> None:
        """Do the operation that is due, if one is."""
        if self.panes[0].hand.busy or self.held:
            return
        if direction := self.walk.due():
            go = self.clock.advance if direction > 0 else self.clock.back
            self.do(partial(go, 1, "operation"))
        else:
            self.walk.end()
        for pane in self.panes:
            pane.stage.given = self.walk.given

    def finish(self) -> None:
        """Show the end of the operation of a slow step that is under way."""
        for pane in self.panes if self.walk.slow else ():
            pane.stage.finish()


def go_to(clock: Session | SharedClock, step: int, operation: int) -> None:
    """Go to the moment of arrival at an operation."""
    clock.seek(step)
    if operation:
        clock.advance(operation, "operation")


@contextmanager
def reporting_errors(speaker: ClockControl | Controller | Face) -> Iterator[None]:
    """Let a speaker report the ScalarvizErrors of this block."""
    try:
        yield
    except ScalarvizError as error:
        speaker.tell_error(error)
