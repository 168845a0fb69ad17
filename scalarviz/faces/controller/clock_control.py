"""ClockControl: plays, steps and rewinds all sessions of an interface on one clock."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast, final

from scalarviz.base.checks import number, size
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller.control import SLOW, UNITS, WALKED, FaceUnit
from scalarviz.faces.controller.guide import Walk
from scalarviz.faces.controller.precompile import CommandT
from scalarviz.faces.controller.stopping import offer_more
from scalarviz.scene.pace import SUM, pauses, shared
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.by_parts import check_neurons, sizes_of
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.show import Several
from scalarviz.story.guide import has_learned
from scalarviz.story.traced_weight import walk_to
from scalarviz.training.follow.followed_session import rewind
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.reading import facts_of
from scalarviz.training.session.session import Session, Unit
from scalarviz.training.session.shared_clock import Halted, SharedClock
from scalarviz.training.session.threads import FILM
from scalarviz.training.session.timeline import check_unit

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller
    from scalarviz.faces.controller.face import Face


MOST_STEPS = 100  # maximum steps of a command; beyond, it plays
WHOLE = "step", "epoch"  # units of whole steps
WALK = 1.0  # initial operations per second when playing by operation
LAGS = 0.8  # fraction of the requested speed below which training is too slow
APART = 0.1  # seconds between two measurements of the speed


def when_ready(command: CommandT) -> CommandT:
    """Decorate a command so that it only shows a message while kernels are being compiled."""

    @wraps(command)
    def done(time: ClockControl, *given: Any, **named: Any) -> Any:
        return None if time.waits() else command(time, *given, **named)

    return cast(CommandT, done)


@final
class ClockControl:
    """Playback commands for all sessions of an interface.

    Args:
        owner: the interface, which shows common messages
        panes: its panes, whose sessions are played
        steps: number of steps before the first pause; None: the number of steps in the Shows
        speed: steps per second, 0 for as fast as possible; None: the speed of the first Show

    Attributes:
        clock: the session, or the shared clock of several sessions; it plays in a separate thread
        walk: the operations that are being shown one after the other
        unit: unit of the command `step`; if it is the operation, playback is also by operation,
            with a separate speed
        until: the step at which playback pauses, or None
        films: whether to play a film after the tour, which is the case if no speed was given
        asked: whether the user wants playback
        errand: whether playback at full speed only serves to reach `until`
        film: whether a film is playing; any action of the user ends it
        explained: the sample that was last chosen because its step is easy to follow
        measured: measured speed in steps per second; 0 while paused
    """

    def __init__(
        self,
        owner: Face,
        panes: Sequence[Controller],
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.owner, self.panes = owner, panes
        if speed is not None:
            number(speed, "the speed", 0.0)
        self.walk = Walk()
        self.films = speed is None
        self.unit: FaceUnit = "step"
        self.measured = self._given = 0.0
        self._told: Halted = {}  # stops that were already reported
        self._walk_speed = WALK  # operations per second if the unit is the operation
        shown = Several(tuple(pane.show for pane in panes), owner.names)
        self._speed = (shown.speed if speed is None else speed) or None  # of steps, per second
        self.begin(shown.steps if steps is None else size(steps, "steps"))

    def begin(self, steps: int) -> None:
        """Begin a clock for the sessions of the panes, which will pause after `steps` steps."""
        sessions = [pane.session for pane in self.panes]
        clock: Session | SharedClock = SharedClock(sessions) if self.several else sessions[0]
        self.clock = clock
        self.asked = self.errand = self.film = False
        self.explained = 0
        self.until: int | None = clock.step_index + steps
        self._long: Clock | None = None  # clock within a step that took longer than AT_ONCE
        self._seen: deque[tuple[float, float]] = deque(maxlen=11)

    @property
    def several(self) -> bool:
        return len(self.panes) > 1

    @property
    def is_playing(self) -> bool:
        """Whether at least one session is playing."""
        return any(pane.session.playing for pane in self.panes)

    @property
    def held(self) -> bool:
        """Whether a session waits for its kernels, so that nothing may be computed."""
        return any(pane.warming.held for pane in self.panes)

    def waits(self) -> bool:
        """Return whether kernels are being compiled, and show a message if so."""
        for pane in self.panes:
            pane.look_at_kernels()
        if self.held:
            self.owner.tell(text("notices.wait"))
        return self.held

    # Playing.

    def toggle_play(self) -> None:
        if self.is_playing:
            self.pause()
        else:
            self.play()

    @when_ready
    def play(self, *, anew: bool = True, film: bool = False) -> None:
        """Play in a background thread.

        Args:
            anew: whether to continue beyond `until` if this step has been reached
            film: whether to play a film first, see `Session.play`
        """
        self.walk.stop()
        for pane in self.panes:
            pane.guide.stop()
            pane.show_whole_operations()
        with reporting_errors(self):
            for pane in self.panes:
                rewind(pane.session, grows=False)
            if anew and self.until is not None and self.clock.step_index >= self.until:
                self.until = None
            self._seen.clear()
            self.film = film
            self._start(None if self.errand else self.speed)
            self.asked = True

    def end_film(self) -> None:
        """End the film if one is playing, and continue at normal speed."""
        if self.film:
            self.film = False
            with reporting_errors(self):
                self._play_on()

    def play_on(self) -> None:
        """Continue playing up to the same step as before the pause."""
        self.play(anew=False)

    def pause(self) -> None:
        """Pause; if an error has stopped training, report it."""
        self.walk.stop()
        for pane in self.panes:
            pane.stand_by()
        self.stop(self.halt)
        if self.several:
            self.tell_stop()

    def halt(self) -> None:
        """Pause; if an error has stopped the clock, raise it."""
        self.asked, self.errand = False, False
        self._seen.clear()
        self.clock.pause(AT_ONCE)

    def stop(self, pause: Callable[[], None]) -> None:
        """Call a function that pauses, and report any error that it raises."""
        try:
            with reporting_errors(self):
                pause()
        except Exception as error:  # errors of the training thread must be reported
            self.owner.tell(text("notices.broken", kind=type(error).__name__, error=error))

    def stand_still(self) -> None:
        """Pause, remove the large buttons, and show complete operations, not single neurons."""
        self.pause()
        for pane in self.panes:
            pane.show_whole_operations()

    def attend(self) -> None:
        """Do pending work: operations in sequence, the end of a run, errors."""
        self.attend_walk()
        self.measured = self._measure() if self.clock.playing else 0.0
        if self.asked and self.until is not None and self.clock.step_index >= self.until:
            is_errand = self.errand
            self.pause()
            self.until = None
            self._arrive(is_errand=is_errand)
        elif self.asked and not self.clock.playing:  # it has stopped by itself
            self.pause()
            self.tell_stop()
        elif not self.clock.playing:  # the last portion may have failed after the pause
            self.stop(partial(self.clock.pause, 0.0))

    def _arrive(self, *, is_errand: bool) -> None:
        """Show a message after playback has reached `until`."""
        lead = self.panes[0]
        if self.several and not is_errand:
            self.owner.tell(text("compared.arrived", step=self.clock.step_index))
        elif not self.several:
            self.tell_stop()
            if not is_errand and not lead.session.stopped and lead.session.trainer.recorded is None:
                end = self.clock.step_index
                learned = has_learned(lead.session.current_branch.loss_at, 0, end)
                lead.tell(text(f"captions.arrived.{'learned' if learned else 'steps'}", count=end))
            if not is_errand and lead.stage.own is None:
                offer_more(lead)

    def tell_stop(self, _: object = None) -> None:
        """If training has stopped automatically, report the reason once."""
        if not isinstance(self.clock, SharedClock):
            if why := self.clock.stopped:
                self.panes[0].tell(why[0].upper() + why[1:])
            return
        halted = dict(self.clock.halted)
        for pane in self.panes:
            halt = halted.get(pane.session)
            if halt and isinstance(halt[1], str) and self._told.get(pane.session) != halt:
                pane.tell(halt[1])
        self._told = halted

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error; if there are several sessions, with the name of the one that failed."""
        halted = self.clock.halted if isinstance(self.clock, SharedClock) else {}
        known = {session: why for session, (_, why) in halted.items()}
        found = (pane for pane in self.panes if known.get(pane.session) is error)
        next(found, self.owner).tell_error(error)

    @property
    def by_operation(self) -> bool:
        """Whether playback is operation by operation."""
        return self.unit in WALKED

    @property
    def speed(self) -> float | None:
        """The requested speed in steps per second; None means as fast as possible."""
        return self._walk_speed / len(self.clock.operations) if self.by_operation else self._speed

    def set_speed(self, speed: float | None) -> None:
        """Set the speed in steps per second; None means as fast as possible.

        If the unit is the operation, the speed is limited to SLOW operations per second.
        """
        for pane in self.panes:
            pane.guide.interrupt()
        with reporting_errors(self):
            if speed is not None:
                number(speed, "the speed", 0.0, open_low=True)
            if self.by_operation:
                pace = math.inf if speed is None else speed * len(self.clock.operations)
                self._walk_speed = min(pace, SLOW)
            else:
                self._speed = speed
            self._play_on()

    def _play_on(self) -> None:
        """Apply a changed speed to a running playback."""
        if self.asked and not self.errand:
            self._start(self.speed)

    def _start(self, speed: float | None) -> None:
        """Start playback by steps, or by operations if these are slow enough to be seen."""
        pace = math.inf if speed is None else speed * len(self.clock.operations)
        if self.film and isinstance(self.clock, Session):
            self.clock.play(speed, "step", self.until, film=True)
        elif pace <= SLOW * (1.0 + 1e-9):
            self.clock.play(pace, "operation", self.until)
        else:
            self.clock.play(speed, "step", self.until)

    def _measure(self) -> float:
        """Return the measured steps per second since the last pause."""
        now, clock = perf_counter(), self.clock.clock
        if not self._seen or now - self._seen[-1][0] > APART:
            part = clock.operation / len(self.clock.operations)
            self._seen.append((now, clock.step + part))
        (before, first), (after, last) = self._seen[0], self._seen[-1]
        return max(0.0, (last - first) / (after - before)) if after > before else 0.0

    @property
    def flat_out(self) -> bool:
        """Whether playback runs at full speed, where drawing would slow it down."""
        if not self.asked or (self.film and self.clock.step_index < FILM[-1]):
            return False
        wanted = None if self.errand else self.speed
        return wanted is None or self._measure() < LAGS * wanted

    def undisturbed(self, work: Callable[[], None]) -> None:
        """Call `work`, such as drawing, while the python engine is paused.

        The python engine and drawing compete for the global interpreter lock, so that a picture
        would take seconds. Compiled engines release the lock. If a step takes longer than AT_ONCE,
        `work` no longer waits for the end of this step.
        """
        now = self.clock.clock
        is_slow = any(pane.session.engine == "python" for pane in self.panes)
        if not (self.clock.playing and is_slow) or now == self._long:
            return work()
        with self.clock.still(AT_ONCE) as still:
            self._long = None if still else now
            return work()

    # Steps.

    def set_unit(self, unit: str) -> None:
        """Set the unit of `step`; if it is the operation, playback is also by operation."""
        with reporting_errors(self):
            for pane in self.panes:
                if unit == "neuron":
                    check_neurons(pane.session.network.program)
                else:
                    check_unit(pane.session.timeline, unit)
            before, self.unit = self.by_operation, pick(UNITS, unit, "unit")
            if before != self.by_operation:
                self._play_on()

    def step(self, direction: int, times: int = 1) -> None:
        """Go forward (`direction` +1) or backward (-1) by `times` of the chosen unit."""
        self.go(direction, times, self.unit)

    def operation(self, direction: int) -> None:
        """Go forward (+1) or backward (-1) by one operation, or by one neuron in that unit."""
        self.go(direction, 1, "neuron" if self.unit == "neuron" else "operation")

    @when_ready
    def go(self, direction: int, times: int, unit: FaceUnit) -> None:
        if unit == "neuron" and not self.several:
            return self._go_by_neuron(direction * times)
        self.stand_still()
        unit = "operation" if unit == "neuron" else unit
        batches, clock = self.panes[0].session.trainer.batches, self.clock
        each = batches.steps_an_epoch if unit == "epoch" else 1
        if unit == "operation" and isinstance(clock, Session):
            return self.do(partial(self.walk_on, direction * times), self.tell_stop)
        if direction < 0:
            return self.do(partial(clock.back, times, unit))
        if unit not in WHOLE or times * each <= MOST_STEPS:
            return self.do(partial(self.advance, times, unit), self.tell_stop)
        with reporting_errors(self):
            self.until, self.errand = (clock.step_index // each + times) * each, True
            self._seen.clear()
            self._start(None)
            self.asked = True
        return None

    def advance(self, times: int, unit: Unit) -> None:
        """Advance; at the start of a step by operation, show the sample that is easiest to follow.

        If the user has chosen a sample, this sample is kept.
        """
        session = self.clock
        begins = unit == "operation" and session.clock.operation == 0
        if begins and isinstance(session, Session) and session.focus in (0, self.explained):
            found = sample_to_explain(session)
            if found is not None:
                session.focus = self.explained = found
        session.advance(times, unit)

    def walk_on(self, by: int) -> None:
        """Move forward, or backward if `by` is negative, by several stops of `walk_to`."""
        session = self.panes[0].session
        (step, operation), facts = session.clock.place, facts_of(session)
        times = walk_to(facts, step * len(facts.moments) + operation, by)
        if times > 0:
            self.advance(times, "operation")
        else:
            session.back(-times, "operation")

    def _go_by_neuron(self, by: int) -> None:
        """Show more or fewer neurons of an operation; after the last, go to the next operation."""
        self.pause()
        (pane,) = self.panes
        pane.withdraw()
        session, shown = pane.session, pane.stage.motion.by_neuron
        (step, operation), sizes = session.clock.place, sizes_of(session.network.program)
        done = step * len(sizes) + operation
        operations = shown.go(sizes, done, by, waits=pane.hand.busy)
        if operations:
            move = session.advance if operations > 0 else session.back
            self.do(partial(move, abs(operations), "operation"), self.tell_stop)

    @property
    def end(self) -> tuple[int, int]:
        """The last step and operation reached by training: the maximum over all sessions."""
        return max(pane.session.current_branch.end.place for pane in self.panes)

    @when_ready
    def seek(self, step: int, operation: int = 0) -> None:
        """Go to an operation of a step that was already reached."""
        self.stand_still()
        place = min((max(0, step), operation), self.end)
        self.do(partial(go_to, self.clock, *place), name="seek")

    @when_ready
    def reset(self) -> None:
        """Restart with the same initial weights, and fit the scales; the speed is unchanged."""
        self.stand_still()
        self.do(self._start_again, self.fit)

    def _start_again(self) -> None:
        """Go to step 0; start a new branch there only if the current one contains changes."""
        sessions = [pane.session for pane in self.panes]
        for session in sessions:
            with session.doing():
                pass  # writes of a program into the weights are recorded
        if any(session.current_branch.journal for session in sessions):
            self.clock.reset()
        else:
            self.clock.seek(0)

    def fit(self, _: object = None) -> None:
        """Fit the scales of the picture to the current numbers."""
        self.owner.stage.rescale(anew=True)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = nothing,
        *,
        name: str = "",
    ) -> None:
        """Execute a command that moves the clock; call `then` with its result in this thread."""
        self.panes[0].do(command, then, name=name, moving=True)

    # Walks.

    @when_ready
    def slow_step(self) -> None:
        """Execute the rest of the step slowly; afterwards resume playback if it was playing."""
        plays = self.is_playing or self.walk.then == self.play_on
        self.stand_still()
        done = max(pane.session.clock.operation for pane in self.panes)
        left = self._pauses()[done:]
        self.walk.begin(len(left), left, self.play_on if plays else None)
        self.attend_walk()

    def _pauses(self) -> Sequence[float]:
        """Return the time in seconds for which a slow step shows each operation."""
        again, clock = self.walk.again, self.clock
        if isinstance(clock, Session):
            return pauses(clock.network.program, again=again)
        return shared([SUM] * len(clock.operations), again=again)

    def attend_walk(self) -> None:
        """Execute the next operation of the walk if it is due."""
        if self.panes[0].hand.busy or self.held:
            return
        if direction := self.walk.due():
            go = self.advance if direction > 0 else self.clock.back
            self.do(partial(go, 1, "operation"))
        else:
            self.walk.end()
        if self.walk.given != self._given:
            self._given = self.walk.given
            for pane in self.panes:
                pane.stage.given = self._given

    def finish(self) -> None:
        """Show the result of the current operation of a slow step immediately."""
        for pane in self.panes if self.walk.slow else ():
            pane.stage.motion.finish()


def go_to(clock: Session | SharedClock, step: int, operation: int) -> None:
    """Go to the moment before an operation of a step, by training if necessary."""
    clock.seek(step)
    if operation:
        clock.advance(operation, "operation")


@contextmanager
def reporting_errors(speaker: ClockControl | Controller | Face) -> Iterator[None]:
    """Catch each ScalarvizError in this context, and let `speaker` show it."""
    try:
        yield
    except ScalarvizError as error:
        speaker.tell_error(error)
