"""Going on in the background: a thread that takes portions of a training, and can be stopped."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, final

from scalarviz.checks import number
from scalarviz.engines.snapshot import HostSnapshot, Numbers, Snapshot

if TYPE_CHECKING:
    from scalarviz.session import Session

BEHIND = 0.25  # seconds; who falls further behind does not catch up


@final
class Player:
    """Plays a session in a thread of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._error: BaseException | None = None

    @property
    def playing(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def play(self, speed: float | None, unit: str) -> None:
        """Start, or go on at another speed."""
        if speed is not None:
            speed = number(speed, "the speed", 0.0, open_low=True)
        self.pause()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(speed, unit, self._stop), name="scalarviz plays", daemon=True
        )
        self._thread.start()

    def pause(self) -> None:
        """Stop, and raise the error that ended the playing, if there was one."""
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, speed: float | None, unit: str, stop: threading.Event) -> None:
        try:
            if speed is None:
                while not stop.is_set():
                    self._session.advance(self._portion(unit), unit)  # type: ignore[arg-type]
                    while self._session.crowded:  # a lock is not fair by itself
                        time.sleep(1e-4)
            else:
                self._run_at(speed, unit, stop)
        except BaseException as error:  # it must not be lost with the thread
            self._error = error

    def _run_at(self, speed: float, unit: str, stop: threading.Event) -> None:
        """So many a second, on the average."""
        start, done = time.perf_counter(), 0
        while not stop.is_set():
            due = int((time.perf_counter() - start) * speed) - done
            if due > speed * BEHIND + 1:
                start, done, due = time.perf_counter(), 0, 1
            if due > 0:
                count = min(due, self._portion(unit))
                self._session.advance(count, unit)  # type: ignore[arg-type]
                done += count
            stop.wait(max(0.0, start + (done + 1) / speed - time.perf_counter()))

    def _portion(self, unit: str) -> int:
        """How many steps at once, so that a pause is noticed soon."""
        return max(1, int(self._session.pace)) if unit == "step" else 1


@final
class SessionSnapshot(Snapshot):
    """The numbers of a session between two of its portions."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._copy: HostSnapshot | None = None

    def request(self) -> None:
        self._copy = None
        self._session.ask(self)

    def take(self) -> None:
        """Copy the numbers; the one who holds the session's lock calls this."""
        copy = HostSnapshot(self._session.network.bank)
        copy.request()
        self._copy = copy

    @property
    def ready(self) -> bool:
        if self._copy is None:
            self._session.serve()
        return self._copy is not None

    def read(self) -> Numbers:
        if self._copy is None:
            with self._session.doing():
                self.take()
        assert self._copy is not None
        return self._copy.read()
