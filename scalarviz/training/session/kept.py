"""Kept: which part of a session a file has, so that a link to the file can lead to its moments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from scalarviz.training.session.branches import Action, Branch

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


@final
@dataclass(frozen=True, eq=False)
class Kept:
    """The file that a session was last saved in or loaded from.

    path     the file, from the root
    branch   the branch that was shown then
    actions  what the user had done in this branch
    """

    path: Path
    branch: Branch
    actions: list[Action]

    @staticmethod
    def of(timeline: Timeline, path: object) -> Kept:
        """Return what a file has that was just written or read."""
        return Kept(Path(str(path)).absolute(), timeline.branch, actions_of(timeline.branch))

    def has(self, branch: Branch) -> bool:
        """Return whether the file leads to all moments of a branch as it is now."""
        return branch is self.branch and actions_of(branch) == self.actions and self.path.is_file()


def actions_of(branch: Branch) -> list[Action]:
    """Return what a user did; another engine of the same precision does not matter."""
    start = branch.frame_before(0)
    precision = None if start is None else start.settings.precision
    found = []
    for action in branch.journal:
        before, precision = precision, action.details.get("precision", precision)
        if action.kind != "engine" or precision != before:
            found.append(action)
    return found
