"""Warming: while kernels are compiled elsewhere, a window goes on without them.

Nothing that takes a kernel which is not on disk is done by the window's thread, nor by a training
that this thread may have to wait for. A small training that no kernel has computed yet goes on with
its objects; that is journalled, so that it is done again just so. Any other is held: it is seen,
and what can be done to it is refused until then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from time import monotonic
from typing import Any, final

from scalarviz.controller import precompile
from scalarviz.controller.options import settings_now
from scalarviz.presenter.answers import AT_ONCE
from scalarviz.presenter.scene_layout import layout_of
from scalarviz.process import children
from scalarviz.session.branches import Action
from scalarviz.session.session import Session
from scalarviz.session.timeline import Timeline
from scalarviz.texts import text
from scalarviz.view.cubes import mip_levels

LIGHT = 3e5  # multiplications a step, up to which objects are quick enough until then


@final
class Here:
    """Compiles on a thread of this process, where another process could not keep what it made."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._thread = Thread(target=self._compile, daemon=True)
        self._thread.start()

    def _compile(self) -> None:
        with suppress(Exception):  # whatever numba raises: who trains on it is told
            precompile.compile_kind(self._kind)

    def poll(self) -> int | None:
        """As of a process: None while it goes on."""
        return None if self._thread.is_alive() else 0


@final
class Compiling:
    """What is compiled just now, each kind by a process of its own."""

    def __init__(self) -> None:
        self._going: dict[str, tuple[Any, float]] = {}  # who does it, and since when
        self._done_here: set[str] = set()
        self._over = False

    def lacking(self, kinds: Iterable[str]) -> set[str]:
        """Those of some kinds that are not there; they are being compiled from now on."""
        found = {kind for kind in kinds if kind and not self._is_there(kind)}
        for kind in set() if self._over else found - set(self._going):
            try:
                worker: Any = children.start([*precompile.COMMAND, precompile.words_for(kind)])
            except OSError:
                worker = Here(kind)
            self._going[kind] = worker, monotonic()
        return found

    def _is_there(self, kind: str) -> bool:
        return kind not in self._going and (kind in self._done_here or precompile.is_ready(kind))

    @property
    def going_on(self) -> bool:
        """Whether something is still being compiled."""
        self.attend()
        return bool(self._going)

    def attend(self) -> bool:
        """Whether something was done just now."""
        ended = [kind for kind, (worker, _) in self._going.items() if worker.poll() is not None]
        for kind in ended:
            worker, since = self._going.pop(kind)
            if isinstance(worker, Here):
                self._done_here.add(kind)
            elif not precompile.is_ready(kind):
                self._going[kind] = Here(kind), since
        return any(kind not in self._going for kind in ended)

    @property
    def said(self) -> str:
        """What is compiled, and for how long it has been; nothing if nothing is."""
        if not self._going:
            return ""
        names = ", ".join(map(precompile.name_of, self._going))
        seconds = monotonic() - min(since for _, since in self._going.values())
        return text("notices.compiling", names=names, seconds=seconds)

    def stop(self) -> None:
        """Nobody waits for it any more; nothing is begun from now on."""
        self._over = True
        for worker, _ in self._going.values():
            if not isinstance(worker, Here):
                children.end(worker)
        self._going.clear()


@final
class Warming:
    """What becomes of a session until its kernels are there.

    held      whether nothing of it may be computed until then
    stood_in  the engine that its objects do the work of, or did; "" if they never did
    """

    def __init__(self) -> None:
        self.compiling = Compiling()
        self.session: Session | None = None
        self.held = False
        self.stood_in = ""
        self._large = False  # whether its picture has means of cubes
        self._lacking: set[str] = set()
        self._lacked = False  # whether something has been lacking, and it is not told yet
        self._actions: list[Action] = []  # by which the objects were put to work
        self._later: dict[str, tuple[str, Callable[[], object]]] = {}

    @property
    def said(self) -> str:
        """What is being compiled, in words."""
        return self.compiling.said

    def take(self, session: Session) -> None:
        """Take up a session, or look anew what it needs: formulas may have been added."""
        if session is not self.session:
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
        """Put the objects to work where an engine would be, whose kernels are not there.

        While somebody is at work that is left for the next time, after so many `seconds`.
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
            if before and before[0] in self._actions:  # on arrival, at the start say
                timeline.go(replace(clock, actions=clock.actions + 1))
                return
            self.stood_in = session.engine
            session.to("python")
            self._actions.append(last_change(timeline))

    def attend(self) -> bool:
        """Whether all that the session lacked is there just now, and it runs on its engine."""
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

    def _give_back(self, seconds: float = AT_ONCE) -> bool:
        """Let the engine do the work again where the objects have done it; not in the past.

        Whether that is settled: while somebody is at work it is left for the next time.
        """
        session = self.session
        if session is None or session.engine != "python" or not self._actions:
            return True
        with session.still(seconds) as is_still:
            timeline = session.timeline
            now = timeline.branch.end <= timeline.clock and last_change(timeline) in self._actions
            if is_still and now:
                session.to(self.stood_in)
        return is_still

    def later(self, name: str, kind: str, command: Callable[[], object]) -> bool:
        """Do something when a kind is there, in place of what was to be done under this name.

        If it is there already nothing is put off, and the answer is False.
        """
        self._later.pop(name, None)
        if not self.compiling.lacking([kind]):
            return False
        self._later[name] = kind, command
        return True

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self.compiling.stop()
        self._later.clear()
        mip_levels.held = False

    def leave(self) -> None:
        """The session goes on without a window, on its own engine."""
        self.stop()
        self._give_back(math.inf)
        self.session = None


def work_of(session: Session) -> int:
    """About how many multiplications, or operations of an expression, a step takes."""
    return session.timeline.trainer.products


def kinds_of(session: Session) -> set[str]:
    """What a session needs, here and everywhere in its past."""
    timeline = session.timeline
    engines = {first_engine(timeline), settings_now(session).engine}
    for branch in timeline.branches:
        engines |= {change.details["name"] for change in changes(branch.journal)}
    return {precompile.kind_of(session, engine) for engine in engines} - {""}


def engines_at_work(timeline: Timeline) -> set[str]:
    """The engines by which something was computed; to go back is to compute it again."""
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
    """The engine that a training began on."""
    frame = timeline.branch.frame_before(0)
    assert frame is not None, "the keyframe of step 0 is never removed"
    return str(frame.settings.engine)


def changes(journal: Iterable[Action]) -> list[Action]:
    """The actions that chose an engine."""
    return [action for action in journal if action.kind == "engine"]


def last_change(timeline: Timeline) -> Any:
    """The action that chose the engine of now, or of the next step; None if none did."""
    now = timeline.clock.place
    done = [
        each
        for each in changes(timeline.branch.journal)
        if each.place <= now or (each.asked is not None and each.asked <= now)
    ]
    return done[-1] if done else None
