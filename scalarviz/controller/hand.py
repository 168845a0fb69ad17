"""Hand: does to a training what a face was told to do, without the face waiting for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from scalarviz.engines.common.cores import Guard
from scalarviz.presenter.answers import AT_ONCE
from scalarviz.session.worker import Background, Job


@dataclass(eq=False)
class QueuedCommand:
    """Something to do, and who is told of its result or its error; of one `name` the newest counts.

    A deed without a name is always done.
    """

    do: Callable[[], Any]
    then: Callable[[Any, BaseException | None], None]
    name: str = ""
    result: Any = None
    error: BaseException | None = None


@final
class Hand:
    """Deeds, done one after the other on a thread of its own, of which a face sees little.

    What is quick is done when `do` comes back; what takes longer than `patience` seconds goes on,
    and its result is told by a later `attend`. Both are called by the face's thread.
    """

    def __init__(self) -> None:
        self.patience = AT_ONCE
        self._lock = Guard()
        self._waiting: deque[QueuedCommand] = deque()
        self._done: deque[QueuedCommand] = deque()
        self._thread = Background()

    @property
    def busy(self) -> bool:
        """Whether something is being done, or its result is not told yet."""
        return self._thread.busy or bool(self._done)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any, BaseException | None], None],
        name: str = "",
    ) -> None:
        """Do something, after what was to be done before; that is not waited for once more."""
        patience = 0.0 if self._thread.busy else self.patience
        with self._lock:
            if name and self._waiting and self._waiting[-1].name == name:
                self._waiting.pop()
            self._waiting.append(QueuedCommand(command, then, name))
        self._thread.start(self._work())
        self._thread.finish(patience)
        self.attend()

    def attend(self) -> None:
        """Tell what came of all that was done since the last time."""
        while self._done:
            command = self._done.popleft()
            command.then(command.result, command.error)

    def drop(self) -> None:
        """Forget what waits to be done."""
        with self._lock:
            self._waiting.clear()

    def finish(self) -> None:
        """Wait until everything was done."""
        self._thread.finish()

    def _work(self) -> Job:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                command = self._waiting.popleft()
            try:
                command.result = command.do()
            except BaseException as error:
                command.error = error
            self._done.append(command)
            yield 0.0
