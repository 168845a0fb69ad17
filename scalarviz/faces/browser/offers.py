"""Offers: the controls of a session that a page has not by itself, and how they are used."""

from __future__ import annotations

from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.errors import InputError
from scalarviz.faces.controller.control import Control
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.options import OptionChoice
from scalarviz.faces.controller.state import State
from scalarviz.faces.scenefiles.links import check_plain

# Rows of CONTROLS; a page has the others, or it has no use for them.
OFFERED = (
    "branch name", "weight rate", "layer rate", "layer frozen", "stop when", "first time",
    "go wrong", "add neuron", "remove neuron", "add layer", "remove layer",
)  # fmt: skip
TOGETHER = "together"  # offered where several sessions are shown
OPTION = "option "  # before the name of an option, in those of offers
OWN = "rate", "batch", "seed"  # options for which a page has fields of its own, or buttons
LONGEST = 500  # letters of a typed text


def offers_of(
    state: State, offered: tuple[str, ...], *, several: bool = False
) -> list[dict[str, Any]]:
    """Return the offers of a state, for JSON; `offered` are the labels of the large buttons."""
    found = [button_of(label) for label in offered]
    found += [control_of(CONTROLS[TOGETHER], state)] * several
    found += [option_of(choice) for choice in state.choices if choice.name not in OWN]
    return found + [control_of(CONTROLS[name], state) for name in OFFERED]


def button_of(label: str) -> dict[str, Any]:
    return {"name": label, "kind": "button", "label": "", "text": label, "about": label,
            "value": None, "names": [], "enabled": True, "menu": "own"}  # fmt: skip


def option_of(choice: OptionChoice) -> dict[str, Any]:
    kind = "tick" if choice.kind is bool else "choice" if choice.choices else "entry"
    value = choice.value if kind == "tick" else str(choice.value)
    names = [*dict.fromkeys((*choice.choices, str(choice.value)))] if choice.choices else []
    return {"name": OPTION + choice.name, "kind": kind, "label": choice.label, "text": "",
            "about": choice.help, "value": value, "names": names, "enabled": True,
            "menu": "Training" if choice.is_common else "Scene"}  # fmt: skip


def control_of(row: Control, state: State) -> dict[str, Any]:
    shown = row.shown(state)
    value = shown.value if row.kind == "tick" else "" if shown.value is None else str(shown.value)
    label = row.words("label", state)
    alone = row.kind == "tick" and label != ""  # without the number beside it
    return {"name": row.name, "kind": row.kind, "label": shown.about if alone else label,
            "text": "" if alone else shown.text, "about": shown.about, "value": value,
            "names": [*shown.names], "enabled": shown.enabled, "menu": row.group or "Training",
            "example": row.words("example")}  # fmt: skip


def use(group: Group, name: str, value: object, *, owns: bool = True) -> None:
    """Use an offer by its name; raise InputError if it is none, or not of its kind.

    owns  whether the owner of this machine asks: others set no option to a path
    """
    controller = group.lead
    found = offers_of(controller.state, controller.stage.offered, several=group.several)
    offers = {each["name"]: each for each in found}
    if name not in offers:
        raise InputError(f"this training has no control {shorten(name)}")
    offer = offers[name]
    kind = offer["kind"]
    if kind == "tick" and not isinstance(value, bool):
        raise InputError(f"{offer['label'] or name} is true or false, not {shorten(value)}")
    if kind in ("choice", "entry", "number") and (
        not isinstance(value, str) or len(value) > LONGEST
    ):
        raise InputError(f"{offer['label'] or name} takes a text, not {shorten(value)}")
    if kind == "choice" and value not in offer["names"]:
        raise InputError(f"{offer['label'] or name} has no choice {shorten(value)}")
    if name.startswith(OPTION):
        option = name.removeprefix(OPTION)
        if kind == "entry" and not owns:
            check_plain(option, str(value), "from another machine", names_files=False)
        controller.set_option(option, value)
    elif name in controller.stage.offered:
        controller.stage.press(name)
    elif offer["enabled"]:
        group.act(CONTROLS[name], 1 if kind == "button" else value)
