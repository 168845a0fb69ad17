"""ChangesOfAll: changes of several sessions that a command made in all of them, undone together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


@final
class ChangesOfAll:
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
