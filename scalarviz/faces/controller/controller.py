"""Controller: all user actions on a session and its picture, independent of a GUI toolkit.

A window or widget calls a command for each user action, and several times per second reads `state`
and calls `attend`, all in one thread. This thread never blocks noticeably: playing uses a separate
thread, a `CommandQueue` executes commands in another, and pictures use `Answer`. The effects of
keys, and their help, are derived from the rows of CONTROLS.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.kernel_threads import Guard
from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.texts import text
from scalarviz.engines.registry import ENGINES, engines_for
from scalarviz.errors import GradientError, ScalarvizError
from scalarviz.faces.controller import changes, stopping
from scalarviz.faces.controller.changes import Edits
from scalarviz.faces.controller.clock_control import ClockControl, reporting_errors
from scalarviz.faces.controller.control import unit_for
from scalarviz.faces.controller.export import RunProcess, attend_branches
from scalarviz.faces.controller.guide import Guessing, Guide
from scalarviz.faces.controller.options import Options, Recipe, as_sentence
from scalarviz.faces.controller.precompile import Warming, computes, load_kernels
from scalarviz.faces.scene_options import as_number
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import Background, Job
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.face import Face


@final
class Controller:
    """A pane of an interface: a show, its picture, and the commands on both.

    Args:
        face: the interface that contains the pane
        stage: the picture of the show
        recipe: how the show was created, so that its options can be changed
        steps: number of steps after which it first pauses; None: the steps of the show
        speed: steps per second, 0 for as fast as possible; None: the speed of the show

    `time` has the commands on its time only. `last_words` are the messages after `quit`. `trail`
    has the sessions before this one and after it, `own_session` is the one for which the interface
    was opened, and `preset` the change of the last preset, if it was one. `mark` is equal in all
    panes while one command is applied to all of them; changes with the same mark are undone
    together.
    """

    def __init__(
        self,
        face: Face,
        stage: Stage,
        recipe: Recipe | None = None,
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.face = face
        self.show: Show = stage.show
        self.own_session = self.show.session
        self.stage: Stage = stage
        self.message = ""
        self.hand, self.exports = face.hand, face.exports
        self.guide: Guide = Guide(self)
        self.guessing: Guessing = Guessing(self)
        self.options = Options(recipe, self.show)
        self.edits = Edits(self.show.session)
        self.trail = changes.ShownTrainings()
        self.preset: Change | None = None
        self.mark: tuple[float, bool] | None = None
        self.branch_windows: list[RunProcess] = []
        self.search = stopping.Search()
        self.last_words: list[str] = []
        self._is_left = self._plays_soon = self._resumes = False
        self._engines = [name for name, row in ENGINES.items() if not row.lack()]
        self.warming = Warming()
        self.time: ClockControl = ClockControl(self, [self], steps, speed)
        self.look_at_kernels()
        stage.travel, stage.end_work = self.travel, self.cancel_exports

    @property
    def session(self) -> Session:
        return self.show.session

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that can run the session on this machine."""
        known = engines_for(self.session.network.program)
        return tuple(name for name in self._engines if name in known)

    def look_at_kernels(self) -> None:
        """Check for missing kernels, so that these are not called."""
        self.warming.take(self.session)
        self.stage.reading.asleep = self.warming.held

    def await_kernels(self) -> None:
        """Compile the kernels of the session for its engine, and wait for them."""
        load_kernels(self.session)
        self.look_at_kernels()

    # Time.

    def show_whole_operations(self) -> None:
        """Remove the large buttons, and show whole operations."""
        self.stage.motion.by_neuron.shown.clear()
        self.withdraw()

    @property
    def played_by(self) -> ClockControl:
        """The clock for playing: the shared clock of all panes, if they are linked."""
        return self.face.all if self.face.together else self.time

    def play_soon(self) -> None:
        """Play as soon as the kernels are compiled."""
        self._plays_soon, self._resumes = self.warming.held, False
        if not self._plays_soon:
            self.played_by.play()

    def stand_by(self) -> None:
        """Stop automatic actions."""
        self._plays_soon = self._resumes = False
        self.guide.stop()

    def attend(self) -> None:
        """Handle automatic events: results, errors, end of a run, initial speed."""
        self.guide.attend()
        self.guessing.attend()
        words = self.options.words(settings_now(self.session))
        if words["title"] != self.show.title:  # other data, perhaps after going back in time
            self.show = self.stage.show = replace(self.show, **words)
        time = self.time
        if time.unit != (unit := unit_for(self.session, time.unit)):  # another batch, or layers
            time.set_unit(unit)
        if self.warming.attend():
            self.tell(text("notices.ready", engine=settings_now(self.session).engine))
        self.stage.reading.asleep = self.warming.held
        self.stage.status = self.hand.said or self.warming.compiling.said
        if self.stage.own is None and text("own.end") in self.stage.offered:
            self.stage.offer({})
            self.tell(text("own.left"))
        if self._plays_soon and not self.warming.held:
            self.play_soon()
        for result, failed in self.exports.results().items():
            self.tell(result, text("exports.seen") * failed, nothing)
        attend_branches(self)
        self.stage.work = self.search.work or self.exports.work
        time.attend()

    @computes
    def travel(self, operations: int) -> None:
        """Go forward, or backward if negative, by some operations, one after the other."""
        self.time.stand_still()
        self.time.walk.begin(operations)
        self.guide.attend()

    def withdraw(self) -> None:
        """Remove the large buttons, except those of a custom input."""
        if self.stage.own is None:
            self.stage.offer({})

    def cancel_exports(self) -> None:
        """End the processes that write files, and a search of the past."""
        self.search.cancel()
        for result in self.exports.stop():
            self.tell(result)

    def quit(self) -> None:
        """Stop everything except requested files, after the current command; see `rest`.

        Messages from now on are added to `last_words`.
        """
        self._is_left = True
        self.hand.drop()
        self.time.pause()
        if not self.exports.lasting:
            self.last_words += self.exports.stop()
        self.warming.stop()

    def rest(self) -> None:
        """Wait until everything has stopped and kept commands are done."""
        self.hand.finish()
        self.hand.attend(kept=True)
        self.time.stop(self.session.pause)

    # Changes by the user.

    @computes
    def set_engine(self, name: str) -> None:
        """Run on another engine from the next step on."""
        self.do(partial(self.session.to, name), changing=True)

    @computes
    def edit(self, row: int, value: float | str, *, dragged: bool = False) -> None:
        """Set a weight; all edits of one drag are undone together."""
        edits, name = self.edits, f"edit {row}" if dragged else ""
        self.do(lambda: edits.edit(row, as_number(value), dragged=dragged), name=name)

    @computes
    def freeze(self, row: int, on: bool) -> None:
        """Freeze or unfreeze a weight."""
        changes.freeze_rows(self, row, on)

    def undo(self) -> None:
        """Undo the last change; without one, show the previous session, even while this is held."""
        changes.reverse(self, "undo")

    def redo(self) -> None:
        """Redo the last undone change, or show the next session."""
        changes.reverse(self, "redo")

    @computes
    def set_option(self, name: str, value: object) -> None:
        """Set an option of the session or the scene; some options start another session."""
        changes.set_option(self, name, value)

    # Samples, branches.

    @computes
    def next_sample(self, direction: int = 1) -> None:
        """Show another sample of the batch."""
        with reporting_errors(self):
            count = self.session.trainer.batches.size
            self.session.focus = (self.session.focus + direction) % count

    @computes
    def switch(self, branch: int) -> None:
        """Switch to another branch."""
        self.time.stand_still()
        self.do(partial(self.session.switch, branch), self.time.fit, branching=False)

    def replace(self, show: Show, options: Options) -> None:
        """Show another session, and play it if this one was playing."""
        plays = self.session.playing or self._resumes
        self.time.pause()
        self.show, self.options = show, options
        self.own_session = self.own_session if options.elsewhere else show.session
        self.edits = Edits(show.session)
        self.time.begin(show.session, show.steps)
        self.warming.take(show.session)
        self.time.set_unit(unit_for(show.session, self.time.unit))
        self.stage.replace(show)
        self.stage.reading.asleep = self.warming.held
        if plays:
            self.play_soon()

    # Messages.

    def tell(self, words: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a message, with a button if it has an action."""
        self.message = visible(words, LONGEST_LINE)
        if self._is_left:
            self.last_words.append(self.message)
        self.stage.notice(self.message, action, then)

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error in plain words; for a refused step, with a button to go back."""
        if isinstance(error, GradientError) and error.back is not None:
            action = text("notices.back", step=error.back)
            self.tell(as_sentence(error.lines[0]), action, partial(self.time.seek, error.back))
        else:
            self.tell(as_sentence(" ".join(error.lines)))

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = nothing,
        *,
        name: str = "",
        branching: bool = True,
        kept: bool = False,
        changing: bool = False,
        said: str = "",
        time: ClockControl | None = None,
    ) -> None:
        """Execute a command on the session, then call `then` with its result in this thread.

        A slow command runs while the interface stays responsive. Errors are reported.

        Args:
            command: called in the command thread
            then: called with the result
            name: of queued commands with the same name, only the latest is executed
            branching: whether to report a new branch
            kept: whether to execute it even after the interface is closed
            changing: whether other kernels may be needed afterwards: it plays again once compiled
            said: description shown while it is slow
            time: clock whose sessions it moves, which reports errors; by default None, this one's
        """
        time = time or self.time
        mark = self.mark or self.face.next_mark(several=time.several)
        moved = [(pane, pane.session) for pane in time.panes]
        branches: list[list[Branch]] = []  # of each session, before and after
        plays = changing and (self.session.playing or self._resumes)
        if plays:
            self._resumes = True
            self.played_by.stop(self.played_by.halt)

        def note() -> None:
            branches.append([session.current_branch for _, session in moved])

        def done() -> Any:
            note()
            newest = [session.undo_log.last for _, session in moved]
            try:
                return command()
            finally:
                note()
                for (pane, session), last in zip(moved, newest, strict=True):
                    change = session.undo_log.last
                    if change is not None and change is not last and change.mark[0] == math.inf:
                        change.mark = mark
                    pane.warming.settle(math.inf)

        def finish(result: Any, error: BaseException | None) -> None:
            if changing:
                self.look_at_kernels()
            with reporting_errors(time):
                if error is not None:
                    raise error
                then(result)
            if plays and self._resumes:
                self.play_soon()
            for (pane, session), before, now in zip(moved, *branches, strict=True):
                if branching and session is pane.session:
                    pane.tell_branch(before, now)

        self.hand.do(done, finish, name and f"{name} {id(time)}", kept=kept, said=said)

    def tell_branch(self, before: Branch, now: Branch) -> None:
        """Report a new branch, with a button to return."""
        if now is not before:
            words, action = text("notices.branch", step=now.fork.step), text("notices.return")
            self.tell(words, action, partial(self.switch, before.number))


# A thread that executes commands, so that an interface does not wait for them.


@dataclass(eq=False)
class QueuedCommand:
    """A command, and the callback for its result or error.

    Of consecutive queued commands with the same `name`, only the latest is executed; commands
    without a name are always executed. A `kept` one is executed and reported even after `drop`.
    """

    do: Callable[[], Any]
    then: Callable[[Any, BaseException | None], None]
    name: str = ""
    kept: bool = False
    said: str = ""
    result: Any = None
    error: BaseException | None = None


@final
class CommandQueue:
    """A queue that executes commands one after the other in a separate thread.

    A quick command is done when `do` returns. A command slower than `patience` seconds continues,
    and a later `attend` calls back with its result. Both are called in the interface's thread.
    """

    def __init__(self) -> None:
        self.patience = AT_ONCE
        self._lock = Guard()
        self._waiting: deque[QueuedCommand] = deque()
        self._done: deque[QueuedCommand] = deque()
        self._thread = Background()
        self._now: tuple[str, float] = "", 0.0  # name of the current command, and its start

    @property
    def busy(self) -> bool:
        """Whether a command is running, or a result has not been reported."""
        return self._thread.busy or bool(self._done)

    @property
    def said(self) -> str:
        """The current command and its duration; "" without one, or without a description."""
        words, since = self._now
        return words and text("notices.busy", what=words, seconds=monotonic() - since)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any, BaseException | None], None],
        name: str = "",
        *,
        kept: bool = False,
        said: str = "",
    ) -> None:
        """Queue a command for execution.

        Args:
            command: the function to call
            then: called with its result and its error, one of them None
            name: queued commands with the same name replace each other
            kept: whether it survives `drop`
            said: its description, for the property of this name
        """
        patience = 0.0 if self._thread.busy else self.patience
        with self._lock:
            if name and self._waiting and self._waiting[-1].name == name:
                self._waiting.pop()
            self._waiting.append(QueuedCommand(command, then, name, kept, said))
        self._thread.start(self._work())
        self._thread.wait(patience)
        self.attend()

    def attend(self, *, kept: bool = False) -> None:
        """Report the results since the last call, or only those of kept commands."""
        while self._done:
            command = self._done.popleft()
            if command.kept or not kept:
                command.then(command.result, command.error)

    def drop(self) -> None:
        """Discard the queued commands that are not kept."""
        with self._lock:
            self._waiting = deque(each for each in self._waiting if each.kept)

    def finish(self) -> None:
        """Wait until all commands are done."""
        self._thread.wait()

    def _work(self) -> Job:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                command = self._waiting.popleft()
            self._now = command.said, monotonic()
            try:
                command.result = command.do()
            except BaseException as error:
                command.error = error
            self._now = "", 0.0
            self._done.append(command)
            yield 0.0
