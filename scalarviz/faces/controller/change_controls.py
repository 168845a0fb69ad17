"""Controls of changes: the pinned weight, undo, and branches."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.faces.controller import growing
from scalarviz.faces.controller.branch_windows import open_branches
from scalarviz.faces.controller.branches import rename, switch
from scalarviz.faces.controller.control import Control
from scalarviz.faces.controller.edits import type_value
from scalarviz.faces.controller.own_input import begin
from scalarviz.faces.controller.parts import freeze_layer, set_layer_rate, set_weight_rate
from scalarviz.faces.controller.presets import go_wrong, preset_names
from scalarviz.faces.controller.state import State
from scalarviz.faces.controller.stopping import completions, find_first, stop_when

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def has_pinned(state: State) -> bool:
    return state.pinned is not None


def pinned_value(state: State) -> float | None:
    return None if state.pinned is None else state.pinned.value


def name_of_pinned(state: State) -> str:
    pinned = state.pinned
    if pinned is None:
        return text("controls.unpinned")
    return text("controls.pinned", name=pinned.name)


def has_layer(state: State) -> bool:
    return state.pinned_layer is not None


def layer_rate(state: State) -> float | None:
    layer = state.pinned_layer
    return None if layer is None or math.isnan(layer.rate) else layer.rate


def edit_pinned(controller: Controller, value: float | str, *, dragged: bool = False) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.edit(row, value, dragged=dragged)


def freeze_pinned(controller: Controller, on: bool) -> None:
    row = controller.stage.pinned
    if row is not None:
        controller.freeze(row, on)


def choose_preset(controller: Controller, name: str) -> None:
    found = preset_names(shallow=True).get(name)
    if found is not None:
        go_wrong(controller, found)


CHANGE_CONTROLS = [
    Control(
        "undo",
        "button",
        "Undo the last change",
        lambda controller, _: controller.undo(),
        enabled=lambda state: state.undoable > 0,
        label="Changes",
        text="Undo",
        icon="undo",
        key="z",
        acts_on="group",
    ),
    Control(
        "redo",
        "button",
        "Do again what was undone",
        lambda controller, _: controller.redo(),
        enabled=lambda state: state.redoable > 0,
        label="Changes",
        text="Redo",
        icon="redo",
        key="y",
        acts_on="group",
    ),
    Control(
        "branches",
        "choice",
        "Go over to another branch",
        switch,
        lambda state: next(str(f) for f in state.branches if f.number == state.branch),
        names=lambda state: map(str, state.branches),
        label="Branch",
        room=20,
        key="b",
        help="go over to the next branch",
    ),
    Control(
        "branch name",
        "entry",
        "Name of this branch; empty: what was done there",
        rename,
        lambda state: state.branch_name,
        label="Branch name",
        room=20,
    ),
    Control(
        "rename",
        "button",
        "Give this branch another name",
        lambda controller, _: controller.start_editing("branch name"),
        menu="Time",
        text="Rename the branch",
        key="f2",
    ),
    Control(
        "branches beside",
        "button",
        "Show the branches side by side",
        lambda controller, _: open_branches(controller),
        enabled=lambda state: len(state.branches) > 1,
        menu="Time",
        text="Branches side by side",
        window=True,
    ),
    Control(
        "value",
        "number",
        name_of_pinned,
        edit_pinned,
        pinned_value,
        drag=partial(edit_pinned, dragged=True),
        enabled=has_pinned,
        on_cube=True,
        room=12,
    ),
    Control(
        "edit",
        "button",
        "Type a value for the pinned weight",
        lambda controller, _: type_value(controller),
        key="e",
    ),
    Control(
        "weight rate",
        "number",
        "Learning rate of this weight; empty for that of all",
        set_weight_rate,
        lambda state: None if state.pinned is None else state.pinned.rate,
        enabled=has_pinned,
        label="Rate of the weight",
        room=8,
    ),
    Control(
        "frozen",
        "tick",
        "Keep this weight from moving",
        freeze_pinned,
        lambda state: state.pinned is not None and state.pinned.frozen,
        enabled=has_pinned,
        label="Rate of the weight",
        text="frozen",
    ),
    Control(
        "layer rate",
        "number",
        "Learning rate of its layer; empty for that of all",
        set_layer_rate,
        layer_rate,
        enabled=has_layer,
        label="Rate of its layer",
        room=8,
    ),
    Control(
        "layer frozen",
        "tick",
        "Keep its layer from moving",
        freeze_layer,
        lambda state: state.pinned_layer is not None and state.pinned_layer.frozen,
        enabled=has_layer,
        label="Rate of its layer",
        text="frozen",
    ),
    Control(
        "own input",
        "button",
        "Put in something of your own",
        lambda controller, _: begin(controller),
        label="Input",
        text="Of your own",
        key="o",
        help="put in something of your own: drag an input, click the map, draw a digit",
    ),
    Control(
        "stop when",
        "entry",
        "Stop by itself when that is so; empty: nowhere",
        stop_when,
        lambda state: state.stops,
        names=completions,
        label="Stop when",
        example="loss < 0.01",
        room=20,
        acts_on="each",
    ),
    Control(
        "type a stop",
        "button",
        "Type a condition at which it stops by itself",
        lambda controller, _: controller.start_editing("stop when"),
        key="u",
    ),
    Control(
        "first time",
        "entry",
        "Find the first step of the past at which that was so",
        find_first,
        lambda state: "",
        names=completions,
        label="First time",
        example="loss < 0.1",
        room=20,
    ),
    Control(
        "type a first time",
        "button",
        "Find the first step at which something was so",
        lambda controller, _: controller.start_editing("first time"),
        key="i",
    ),
    Control(
        "go wrong",
        "choice",
        "What goes wrong in trainings: one of these, and what to look for",
        choose_preset,
        lambda state: text("controls.choose"),
        names=lambda state: (text("controls.choose"), *preset_names(state.needs_hidden_layers)),
        room=16,
    ),
    Control(
        "add neuron",
        "button",
        "Add a neuron to the layer of what is pinned, or to the first",
        lambda controller, _: growing.one_more(controller),
        label="Neurons",
        text="+ neuron",
    ),
    Control(
        "remove neuron",
        "button",
        "Remove the neuron that is pinned, or the last one of the first layer",
        lambda controller, _: growing.one_less(controller),
        label="Neurons",
        text="- neuron",
    ),
    Control(
        "add layer",
        "button",
        "Add a layer before the one of what is pinned, or before the last",
        lambda controller, _: growing.layer_more(controller),
        label="Layers",
        text="+ layer",
    ),
    Control(
        "remove layer",
        "button",
        "Remove the layer of what is pinned, or the first",
        lambda controller, _: growing.layer_less(controller),
        label="Layers",
        text="- layer",
    ),
]
