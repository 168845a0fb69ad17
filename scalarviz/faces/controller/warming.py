"""Warming: a window's session while its kernels are being compiled.

Neither the window's thread, nor a training that it may wait for, calls a kernel that is not
compiled. A small training without compiled steps continues with the python engine; the switch is
journalled, so it replays identically. Any other training is held: it is shown, but actions on it
are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from subprocess import PIPE
from threading import Thread
from time import monotonic, sleep
from typing import Any, final

from scalarviz.base import processes
from scalarviz.base.messages import inform
from scalarviz.base.texts import text
from scalarviz.faces.controller import precompile
from scalarviz.scene.visuals import mip_levels
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.network_layout import layout_of
from scalarviz.training.session.branches import Action
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import settings_now

LOOK = 0.02  # seconds between two looks
LIGHT = 3e5  # multiplications per step, up to which the python engine stands in


@final
class Here:
    """Compiles on a thread of this process, where another process could not share its cache."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._thread = Thread(target=self._compile, daemon=True)
        self._thread.start()

    def _compile(self) -> None:
        with suppress(Exception):  # numba's errors are reported to whoever trains with it
            precompile.compile_kind(self._kind)

    def poll(self) -> int | None:
        """Like a process's `poll`: None while it compiles."""
        return None if self._thread.is_alive() else 0


@final
class Compiling:
    """The kinds of kernels being compiled, each in a process of its own."""

    def __init__(self) -> None:
        self._going: dict[str, tuple[Any, float]] = {}  # the worker, and its start
        self._done_here: set[str] = set()
        self._over = False

    def lacking(self, kinds: Iterable[str]) -> set[str]:
        """Return the kinds that are not compiled, and start compiling them."""
        found = {kind for kind in kinds if kind and not self._is_there(kind)}
        for kind in set() if self._over else found - set(self._going):
            try:
                worker: Any = processes.start(
                    [*precompile.COMMAND, precompile.words_for(kind)], stdin=PIPE
                )
            except OSError:
                worker = Here(kind)
            self._going[kind] = worker, monotonic()
        return found

    def _is_there(self, kind: str) -> bool:
        return kind not in self._going and (kind in self._done_here or precompile.is_ready(kind))

    @property
    def going_on(self) -> bool:
        """Whether something is being compiled."""
        self.attend()
        return bool(self._going)

    def attend(self) -> bool:
        """Return whether a compilation has just ended."""
        ended = [kind for kind, (worker, _) in self._going.items() if worker.poll() is not None]
        for kind in ended:
            worker, since = self._going.pop(kind)
            if isinstance(worker, Here):
                self._done_here.add(kind)
                continue
            processes.end(worker)
            if not precompile.is_ready(kind):
                self._going[kind] = Here(kind), since
        return any(kind not in self._going for kind in ended)

    @property
    def said(self) -> str:
        """What is compiled, and for how long; "" for nothing."""
        if not self._going:
            return ""
        names = ", ".join(dict.fromkeys(map(precompile.name_of, self._going)))
        seconds = monotonic() - min(since for _, since in self._going.values())
        return text("notices.compiling", names=names, seconds=seconds)

    def stop(self) -> None:
        """End all compilations; no more are started."""
        self._over = True
        for worker, _ in self._going.values():
            if not isinstance(worker, Here):
                processes.end(worker)
        self._going.clear()


@final
class Warming:
    """A session until its kernels are compiled.

    held      whether nothing of the session may be computed until then
    stood_in  the engine that the python engine stands in for, or did; "" if it never did
    """

    def __init__(self) -> None:
        self.compiling = Compiling()
        self.session: Session | None = None
        self.held = False
        self.stood_in = ""
        self._large = False  # whether its picture has mip levels
        self._lacking: set[str] = set()
        self._lacked = False  # whether something was missing that has not been reported as ready
        self._actions: list[Action] = []  # switches to the python engine
        self._later: dict[str, tuple[str, Callable[[], object]]] = {}

    @property
    def said(self) -> str:
        """What is being compiled, in words."""
        return self.compiling.said

    def take(self, session: Session) -> None:
        """Attach to a session, or look again what it needs after formulas were added."""
        if session is not self.session:
            self._give_back()
            self.session, self.stood_in = session, ""
            self._actions.clear()
            self._large = any(mip_levels.levels_of(plate) for plate in layout_of(session).plates)
        self._lacking = self.compiling.lacking(kinds_of(session))
        mip_levels.held = self._large and bool(self.compiling.lacking(["means"]))
        computed = {precompile.kind_of(session, each) for each in engines_at_work(session.timeline)}
        self.held = bool(self._lacking & computed)
        self.held |= bool(self._lacking) and work_of(session) > LIGHT
        self.settle()

    def settle(self, seconds: float = AT_ONCE) -> None:
        """Switch to the python engine while the session's own kernels are missing.

        If the session is busy for longer than `seconds`, the next call tries again.
        """
        session = self.session
        if session is None or self.held or not self._lacking:
            return
        if precompile.kind_of(session, session.engine) not in self._lacking:
            return
        with session.still(seconds) as is_still:
            if is_still:
                self._stand_in(session)

    def _stand_in(self, session: Session) -> None:
        timeline = session.timeline
        with session.doing():
            clock = timeline.clock
            before = timeline.branch.actions_at(clock.place)[clock.actions :]
            if before and before[0] in self._actions:  # at the start, for example
                timeline.go(clock._replace(actions=clock.actions + 1))
                return
            self.stood_in = session.engine
            with timeline.undo_log.off():
                session.to("python")
            self._actions.append(last_change(timeline))

    def attend(self) -> bool:
        """Return whether everything missing has just become ready, and the engine is restored."""
        session = self.session
        if session is None:
            return False
        self._lacked |= bool(self._lacking)
        if self.compiling.attend():
            self.take(session)
            for name, (kind, command) in list(self._later.items()):
                if not self.compiling.lacking([kind]):
                    del self._later[name]
                    command()
        if self._lacking or not self._give_back():
            return False
        lacked, self._lacked = self._lacked, False
        return lacked

    def wait(self) -> None:
        """Return as soon as nothing is held."""
        if self.held:
            inform("scalarviz compiles the kernels of this picture, once; it waits for them")
        while self.held:
            sleep(LOOK)
            self.attend()

    def _give_back(self, seconds: float = AT_ONCE) -> bool:
        """Restore the engine that the python engine stands in for, except in the past.

        Return whether that is settled; if the session is busy, the next call tries again.
        """
        session = self.session
        if session is None or session.engine != "python" or not self._actions:
            return True
        with session.still(seconds) as is_still:
            timeline = session.timeline
            now = timeline.branch.end <= timeline.clock and last_change(timeline) in self._actions
            if is_still and now:
                with timeline.undo_log.off():
                    session.to(self.stood_in)
        return is_still

    def later(self, name: str, kind: str, command: Callable[[], object]) -> bool:
        """Run a command when a kind is ready, instead of the waiting one of the same name.

        Return False, without waiting, if the kind is ready already.
        """
        self._later.pop(name, None)
        if not self.compiling.lacking([kind]):
            return False
        self._later[name] = kind, command
        return True

    def stop(self) -> None:
        """End all compilations."""
        self.compiling.stop()
        self._later.clear()
        mip_levels.held = False

    def leave(self) -> None:
        """Detach from the session, on its own engine."""
        self.stop()
        self._give_back(math.inf)
        self.session = None


def work_of(session: Session) -> int:
    """Return the approximate number of multiplications per step."""
    return session.trainer.products


def kinds_of(session: Session) -> set[str]:
    """Return the kinds that a session needs, its past included."""
    timeline = session.timeline
    engines = {first_engine(timeline), settings_now(session).engine}
    for branch in timeline.branches:
        engines |= {change.details["name"] for change in changes(branch.journal)}
    return {precompile.kind_of(session, engine) for engine in engines} - {""}


def engines_at_work(timeline: Timeline) -> set[str]:
    """Return the engines that computed something, which going back would need again."""
    found = set()
    for branch in timeline.branches:
        engine, place = first_engine(timeline), (0, 0)
        for change in changes(branch.journal):
            if min(change.place, branch.end.place) > place:
                found.add(engine)
            engine, place = change.details["name"], change.place
        if branch.end.place > place:
            found.add(engine)
    return found


def first_engine(timeline: Timeline) -> str:
    """Return the engine that a training began on."""
    frame = timeline.branch.frame_before(0)
    assert frame is not None, "the keyframe of step 0 is never removed"
    return str(frame.settings.engine)


def changes(journal: Iterable[Action]) -> list[Action]:
    """Return the actions that chose an engine."""
    return [action for action in journal if action.kind == "engine"]


def last_change(timeline: Timeline) -> Any:
    """Return the action that chose the current engine, or that of the next step; or None."""
    now = timeline.clock.place
    done = [
        each
        for each in changes(timeline.branch.journal)
        if each.place <= now or (each.asked is not None and each.asked <= now)
    ]
    return done[-1] if done else None
