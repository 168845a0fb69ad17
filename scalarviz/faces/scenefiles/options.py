"""Command-line options of a scene, and the Show that they make.

The parameters of a scene are its options: `def scene(lr=0.5)` defines `--lr`, with the type of the
default. A line of the scene's docstring that begins with the name is the help text. Common options
(rate, batch, seed, engine, precision) exist even if a scene has no such parameter.

An annotation says more: `shape: Annotated[str, OptionInfo(SHAPES, changes="data")] = "circle"`
offers the names of SHAPES, and changes the data of a session without a restart.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.precision import PRECISIONS
from scalarviz.data.rgb import MAPS
from scalarviz.data.texture import TRANSFORMS
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import SceneError
from scalarviz.faces.scenefiles.find import Scene
from scalarviz.faces.scenefiles.user_code import place_of
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import CAMERAS
from scalarviz.stage.channels import CHANNELS
from scalarviz.training.session.conditions import examples

TYPES = (bool, int, float, str)
YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


CHANGES = dict.fromkeys(("", "data", "activations", "penalties", "rate", "engine", "precision"))


@dataclass(frozen=True)
class OptionInfo:
    """Metadata of an option, written in the annotation of a scene's parameter.

    names    names to choose from, in a table or a list; by default any value is valid
    changes  what a new value changes in a running session: "data", "activations", "penalties" (l1
             and l2), "rate" (the learning rate) or "engine"; by default "", a new value restarts
    offer    noun for what is chosen, such as "colour map": at the end of a run, a button offers
             the next one; by default there is no such button
    label    the option in plain words, beside its field; by default its name

    Raises UnknownNameError for an unknown `changes`.
    """

    names: Iterable[str] = ()
    changes: str = ""
    offer: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        pick(CHANGES, self.changes, "change")


@dataclass(frozen=True)
class Option:
    """An option: its type, its default, its help text and its OptionInfo.

    `short` is another name for it, such as "-o".
    """

    kind: Any
    default: Any
    help: str
    short: str = ""
    info: OptionInfo = OptionInfo()


RUNS_ON = (*ENGINES, "auto")
ALL_LOSSES = (*LOSSES, *ROW_LOSSES)
THEMES_OR_AUTO = (*THEMES, "auto")
# For parameters without OptionInfo, as in the scene files of version 0.1.
BY_NAME = {
    "map": OptionInfo(MAPS, "data", "colour map"),
    "shape": OptionInfo((), "data", "shape"),
    "noise": OptionInfo(changes="data"),
    "share": OptionInfo(changes="data"),
    "picture": OptionInfo(changes="data"),
    "transform": OptionInfo(TRANSFORMS),
    "activation": OptionInfo(ACTIVATIONS, "activations"),
    "l1": OptionInfo(changes="penalties"),
    "l2": OptionInfo(changes="penalties"),
    "lr": OptionInfo(changes="rate"),
    "engine": OptionInfo(RUNS_ON, "engine"),
    "precision": OptionInfo(PRECISIONS, "precision"),
}
# Passed to the scene if it has a parameter of that name, else applied to the session.
SHARED = {
    "lr": Option(float | None, None, "the learning rate"),
    "batch": Option(int | None, None, "how many samples a step sees"),
    "seed": Option(int | None, None, "decides on the first weights and on the batches"),
    "engine": Option(
        str | None, None, f"what it runs on: {', '.join(ENGINES)} or auto", info=OptionInfo(RUNS_ON)
    ),
    "precision": Option(
        str | None,
        None,
        "full, or mixed: half precision where that is enough",
        info=OptionInfo(PRECISIONS),
    ),
    "optimizer": Option(
        str | None,
        None,
        f"{', '.join(OPTIMIZERS)}; its rate is that of --lr, else a usual one",
        info=OptionInfo(OPTIMIZERS),
    ),
    "loss": Option(str | None, None, ", ".join(ALL_LOSSES), info=OptionInfo(ALL_LOSSES)),
    "activation": Option(
        str | None,
        None,
        f"that of all hidden layers: {', '.join(ACTIVATIONS)}",
        info=OptionInfo(ACTIVATIONS),
    ),
    "init": Option(
        str | None, None, f"initializer: {', '.join(INITIALIZERS)}", info=OptionInfo(INITIALIZERS)
    ),
    "bias": Option(bool | None, None, "whether perceptrons have biases"),
    "l1": Option(float | None, None, "L1 regularization: pulls all weights to 0 equally"),
    "l2": Option(float | None, None, "L2 regularization: pulls large weights to 0 more"),
}
RUNNING = {
    "steps": Option(int | None, None, "how many steps to take; each scene has its own number"),
    "save": Option(Path | None, None, "a file to keep the training in at the end, or on Ctrl-C"),
    "resume": Option(Path | None, None, "a file of a training to go on with"),
    "limit": Option(int | None, None, "bytes that data may take which such a file only describes"),
    "autosave": Option(float | None, None, "save every so many seconds too"),
    "keyframes": Option(
        int | None, None, "bytes of keyframes in the file; else 16 MB; fewer make going back slower"
    ),
    "weights": Option(bool, False, "save the network alone, for sv.load; --resume needs the rest"),
    "stop_when": Option(
        list[str],
        [],
        "stop by itself when that is so, such as 'loss < 0.01' or 'not finite'",
        info=OptionInfo(examples()),
    ),
    "set": Option(list[str], [], "an option of the scene by its name"),
}
WATCHING = {
    "speed": Option(float | None, None, "steps a second, 0 for flat out; else the scene's own way"),
    "theme": Option(str, "auto", f"{', '.join(THEMES)} or auto", info=OptionInfo(THEMES_OR_AUTO)),
    "tour": Option(bool, False, "show the tour of ten seconds, as the first time"),
    "present": Option(
        bool, False, "for an audience: larger letters, and few of them; controls at the lower end"
    ),
    "reduced_motion": Option(bool, False, "no smooth moves: one picture, then the next"),
    "browser": Option(bool, False, "in a browser, here or with --address elsewhere, until Ctrl-C"),
    "control": Option(bool, False, "with --browser and --address: others change it, too"),
    "serve": Option(bool, False, "no window: a page and a picture, then the page until Ctrl-C"),
    "address": Option(str, "", "serve on this address, 0.0.0.0 for the whole network"),
    "port": Option(int | None, None, "port to serve on, else 8000 or a free one"),
}
# A scene may have parameters of these names, which replace the options.
RENDERING = {
    "out": Option(Path | None, None, "the file: .png, .mp4, .gif or .html (one step)", "-o"),
    "every": Option(int | None, None, "steps from one picture of a video to the next"),
    "operations": Option(bool, False, "a video of every operation of each step"),
    "hold": Option(float | None, None, "seconds for each operation with --operations, else 1.5"),
    "pixels": Option(str, "", "width and height of the picture, such as 1280x720"),
    "fps": Option(int, 30, "pictures a second"),
    "theme": Option(str, "dark", " or ".join(THEMES), info=OptionInfo(THEMES)),
    "camera": Option(str, "perspective", ", ".join(CAMERAS), info=OptionInfo(CAMERAS)),
    "move": Option(
        str,
        "still",
        "how the camera of a video goes: still, orbit or approach",
        info=OptionInfo(("still", "orbit", "approach")),
    ),
    "color": Option(
        str,
        "value",
        "what colors stand for: value, gradient, last change, ...",
        info=OptionInfo(CHANNELS),
    ),
    "cubes": Option(str, "value", "what sizes stand for", info=OptionInfo(CHANNELS)),
    "pin": Option(int | None, None, "the row of a weight whose arithmetic is shown"),
    "past": Option(str, "", "what is below: value, gradient, change, distance, norms, landscape"),
    "samples": Option(int, 2, "a pixel is the mean of so many squared"),
}

PAGING = {
    "out": Option(Path | None, None, "the file: .html", "-o"),
    "theme": Option(
        str,
        "auto",
        f"{', '.join(THEMES)} or auto, as the reader's system has it",
        info=OptionInfo(THEMES_OR_AUTO),
    ),
    "steps": Option(int | None, None, "how many steps to take before; if not said, none"),
    "no_engine": Option(bool, False, "a recording, which plays but does not train", "--no-engine"),
    "record": Option(int | None, None, "steps of the recording; if not said, 500"),
    "every": Option(int | None, None, "steps between two that are kept; if not said, 1"),
}


def own_options(scene: Scene) -> dict[str, Option]:
    """Return the parameters of a scene that are options; raise SceneError for invalid ones."""
    where = place_of(scene)
    lines = dict(re.findall(r"^(\w+)  +(\S.*)$", inspect.getdoc(scene) or "", re.MULTILINE))
    infos, found = annotated(scene), {}
    for name, parameter in inspect.signature(scene).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise SceneError(f"{where}: the scene's parameter {name!r} has no default: give it one")
        if name in RUNNING | WATCHING:
            raise SceneError(
                f"{where}: the scene's parameter {name!r} is called like an option that every "
                "scene has: give it another name"
            )
        if type(parameter.default) in TYPES:
            kind = type(parameter.default)
            info = infos.get(name) or known_by_name(scene, name)
            found[name] = Option(kind, parameter.default, lines.get(name, ""), info=info)
    return found


def annotated(scene: Scene) -> dict[str, OptionInfo]:
    """Return the OptionInfo of each parameter that has one in its annotation."""
    try:
        hints = get_type_hints(scene, include_extras=True)
    except (NameError, TypeError):  # an annotation for type checkers alone, or no function
        return {}
    return {
        name: each
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, OptionInfo)
    }


def known_by_name(scene: Scene, name: str) -> OptionInfo:
    """Return the OptionInfo of a parameter without one; SHAPES of the file lists any `shape`."""
    info = BY_NAME.get(name, OptionInfo())
    table = getattr(scene, "__globals__", {}).get(f"{name.upper()}S")
    return replace(info, names=table) if isinstance(table, Mapping) else info


def kind_of(option: Option) -> Any:
    """Return the type of an option that is given: `int` of `int | None`."""
    return next(iter(get_args(option.kind)), option.kind)
