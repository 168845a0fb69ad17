"""Hand: executes commands on a thread, so that a face does not wait for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, final

from scalarviz.base.texts import text
from scalarviz.engines.kernel_threads import Guard
from scalarviz.stage.background import AT_ONCE
from scalarviz.training.session.threads import Background, Job


@dataclass(eq=False)
class QueuedCommand:
    """A command, and the callback for its result or error.

    Of consecutive waiting commands with the same `name`, only the newest is executed; commands
    without a name are always executed. One that is `kept` is executed and reported after `drop`,
    too.
    """

    do: Callable[[], Any]
    then: Callable[[Any, BaseException | None], None]
    name: str = ""
    kept: bool = False
    said: str = ""
    result: Any = None
    error: BaseException | None = None


@final
class Hand:
    """Executes commands one after the other on a thread of its own.

    A quick command is done when `do` returns. One that takes longer than `patience` seconds
    continues, and a later `attend` calls back with its result. Both are called on the face's
    thread.
    """

    def __init__(self) -> None:
        self.patience = AT_ONCE
        self._lock = Guard()
        self._waiting: deque[QueuedCommand] = deque()
        self._done: deque[QueuedCommand] = deque()
        self._thread = Background()
        self._now: tuple[str, float] = "", 0.0  # what the present command is called, and its start

    @property
    def busy(self) -> bool:
        """Whether a command is being executed, or a result has not been reported."""
        return self._thread.busy or bool(self._done)

    @property
    def said(self) -> str:
        """What is being done, and for how long; "" for nothing, and for what has no words."""
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
        """Execute a command after those that wait already.

        command  the function to call
        then     called with its result and its error, one of them None
        name     commands of one name replace each other while they wait
        kept     whether `drop` does not forget it
        said     what it does, for the property of this name
        """
        patience = 0.0 if self._thread.busy else self.patience
        with self._lock:
            if name and self._waiting and self._waiting[-1].name == name:
                self._waiting.pop()
            self._waiting.append(QueuedCommand(command, then, name, kept, said))
        self._thread.start(self._work())
        self._thread.finish(patience)
        self.attend()

    def attend(self, *, kept: bool = False) -> None:
        """Report the results since the last call, or only those of kept commands."""
        while self._done:
            command = self._done.popleft()
            if command.kept or not kept:
                command.then(command.result, command.error)

    def drop(self) -> None:
        """Forget the waiting commands that are not kept."""
        with self._lock:
            self._waiting = deque(each for each in self._waiting if each.kept)

    def finish(self) -> None:
        """Wait until all commands are done."""
        self._thread.finish()

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
