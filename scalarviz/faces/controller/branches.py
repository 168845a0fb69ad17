"""Branches in a face: going over to another one, and giving it a name."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scalarviz.base.texts import text

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def switch(controller: Controller, name: str) -> None:
    """Switch to a branch, given by its text, and say its name."""
    if len(controller.session.branches) == 1:
        return controller.tell(text("notices.one_branch"))
    number = int(name.partition(":")[0])
    controller.switch(number)
    return tell_branch(controller, number)


def tell_branch(controller: Controller, number: int) -> None:
    """Say that a branch is shown, given by its number."""
    branches = controller.session.branches
    name, last = branches[number].name, len(branches) - 1
    controller.tell(text("notices.switched", number=number, last=last, name=name))


def rename(controller: Controller, name: str) -> None:
    """Give the branch that is shown another name."""
    branch = controller.session.current_branch
    controller.do(partial(setattr, branch, "name", name))
