"""Names of branches: those that users give, and, by default, what began the branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, cast

from scalarviz.base.checks import shorten
from scalarviz.base.messages import shortened, visible
from scalarviz.base.texts import plural, text
from scalarviz.errors import InputError

if TYPE_CHECKING:
    from scalarviz.core.optimizer import Optimizer
    from scalarviz.data import DataSet
    from scalarviz.training.session.branches import Action, Branch

LONGEST = 60  # characters of a name
LISTED = 5  # names in an error
MOST = 2  # changes that a default name tells
LONGEST_WORD = 24  # characters of the name of a data set or of a formula of the user's own


def checked_name(name: object) -> str:
    """Return a name for a branch, without blanks around it; raise InputError if it is unsuitable.

    A text of at most 60 characters, none of which is invisible or controls what is written.
    """
    if not isinstance(name, str):
        raise InputError(f"the name of a branch is a text, not {shorten(name)}")
    name = name.strip()
    if len(name) > LONGEST:
        raise InputError(
            f"the name of a branch has at most {LONGEST} characters, and this one has "
            f"{len(name):,}: {shorten(name)}"
        )
    if visible(name, LONGEST) != name:
        raise InputError(
            f"the name of a branch is one line of characters that can be seen, and not "
            f"{visible(name)}: leave the others out"
        )
    return name


def find_branch(branches: Sequence[Branch], branch: Branch | int | str) -> Branch:
    """Return a branch, given itself, its number or its name; raise InputError if unknown."""
    if isinstance(branch, str):
        return branch_of_name(branches, branch)
    if isinstance(branch, int) and 0 <= branch < len(branches):
        return branches[branch]
    if branch in branches:
        return cast("Branch", branch)
    raise InputError(
        f"this session has the branches 0 to {len(branches) - 1}, and no "
        f"{shorten(branch)}: choose one of s.branches"
    )


def branch_of_name(branches: Sequence[Branch], name: str) -> Branch:
    """Return the branch of a name; raise InputError if there is none, or several."""
    found = [each for each in branches if each.name == name]
    if len(found) == 1:
        return found[0]
    if not found:
        names = ", ".join(repr(each.name) for each in branches[-LISTED:])
        raise InputError(f"no branch is called {shorten(name)}: the newest ones are {names}")
    numbers = ", ".join(str(each.number) for each in found)
    raise InputError(
        f"several branches are called {shorten(name)}: take one of the numbers {numbers}"
    )


def default_name(branch: Branch) -> str:
    """Return where a branch begins and what a user did there."""
    step, operation, _ = branch.fork
    key = "start" if step == operation == 0 else "operation" if operation else "step"
    start = text(f"branches.from.{key}", step=step, operation=operation)
    if branch.parent is None:
        return start
    did = did_in_words(began_by(branch))
    return text("branches.name.did", start=start, did=did) if did else start


def did_in_words(actions: Sequence[Action]) -> str:
    """Return what some actions did, in a few words; "" for none."""
    did = [words_of(list(group)) for _, group in groupby(actions, subject)]
    listed = ", ".join(did[:MOST])
    if len(did) > MOST:
        listed = text("branches.name.more", listed=listed, count=len(did) - MOST)
    return listed


def began_by(branch: Branch) -> list[Action]:
    """Return what a user did at the moment where a branch begins, in order."""
    fork = branch.fork
    here = branch.actions_at(fork.place)[fork.actions :]
    found = [each for each in here if each.asked is None or each.asked >= fork.place]
    if fork.operation:  # the rest had to wait for the next step
        waited = branch.actions_at((fork.step + 1, 0))
        found += [each for each in waited if each.asked == fork.place]
    return found


def subject(action: Action) -> tuple[object, ...]:
    """Return what an action changes: of several in a row on one subject, the last one is told."""
    rows = action.details.get("rows")
    return action.kind, action.details.get("layer"), None if rows is None else rows.tobytes()


def words_of(actions: Sequence[Action]) -> str:
    """Return what the last of some actions on one subject did, in a few words."""
    action = actions[-1]
    tell = DID.get(action.kind)
    return action.kind if tell is None else tell(**action.details)


# ---- the details of each kind of action in a few words ------------------------------------------


def own_rate_set(rows: Any, rate: float | None) -> str:
    if rate is None:
        return plural("branches.did.no_rate", len(rows), row=int(rows[0]))
    return plural("branches.did.own_rate", len(rows), row=int(rows[0]), rate=rate)


def optimizer_set(optimizer: Optimizer, goes_on: bool = False) -> str:
    name = shortened(optimizer.name, LONGEST_WORD)
    words = text("branches.did.optimizer", name=name, rate=optimizer.lr)
    penalties = (f"{key} {getattr(optimizer, key):.3g}" for key in ("l1", "l2"))
    return ", ".join([words, *(each for each in penalties if not each.endswith(" 0"))])


def data_set(data: DataSet) -> str:
    try:
        settings = data.settings()
    except InputError:  # one that is made by code
        settings = {}
    values = (str(settings[key]) for key in data.choices if key in settings)
    name = shortened(" ".join([data.name, *values]), LONGEST_WORD)
    return text("branches.did.data", name=visible(name))


def stops_set(conditions: Sequence[object]) -> str:
    if not conditions:
        return text("branches.did.no_stops")
    listed = shortened(" or ".join(map(str, conditions)), LONGEST_WORD)
    return text("branches.did.stops", condition=visible(listed))


DID: Mapping[str, Callable[..., str]] = {
    "edit": lambda rows, values: plural(
        "branches.did.edit", len(rows), row=int(rows[0]), value=float(values[0])
    ),
    "freeze": lambda rows, on: plural(
        f"branches.frozen.{'on' if on else 'off'}", len(rows), row=int(rows[0])
    ),
    "numbers": lambda **_: text("branches.did.numbers"),
    "learning rate": lambda rate: text("branches.did.rate", rate=rate),
    "own rate": own_rate_set,
    "optimizer": optimizer_set,
    "data": data_set,
    "samples": lambda inputs, targets: plural("branches.did.samples", len(inputs)),
    "loss": lambda loss: text("branches.did.loss", name=shortened(loss.name, LONGEST_WORD)),
    "batch": lambda size: (
        text("branches.did.whole_batch") if size is None else text("branches.did.batch", size=size)
    ),
    "engine": lambda name, precision: text(
        f"branches.engine.{'mixed' if precision.mixed else 'full'}", name=name
    ),
    "activation": lambda layer, name: text(
        "branches.did.activation", layer=layer, name=shortened(name, LONGEST_WORD)
    ),
    "stop when": stops_set,
}
