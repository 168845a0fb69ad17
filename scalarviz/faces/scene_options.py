"""Options of a scene, and the Show created from them.

The parameters of a scene are its options: `def scene(lr=0.5)` defines `--lr`, with the type of the
default. A line of the scene's docstring that begins with the name of an option is its help text.
Common options (rate, batch, seed, engine, precision) exist even if a scene has no such parameters.

An annotation adds metadata: `shape: Annotated[str, OptionInfo(SHAPES, changes="data")] =
"circle"` makes the names of SHAPES valid values; a new value changes the data of a running session
without a restart.
"""

from __future__ import annotations

import copy
import inspect
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from scalarviz.base.checks import number, require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import INITIALIZERS, Init
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.layers import Activation
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import PRECISIONS
from scalarviz.data.rgb import MAPS
from scalarviz.data.texture import TRANSFORMS
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import FileError, InputError, ScalarvizError, SceneError
from scalarviz.faces.scene_file import Scene, place_of, told_by_line
from scalarviz.files.run_settings import classes_of_optimizers
from scalarviz.scene.look import IS_TICK, OFFERS, Look
from scalarviz.stage.channels import CHANNELS
from scalarviz.stage.show import Show
from scalarviz.training.network.grown_networks import remade
from scalarviz.training.network.network import Network
from scalarviz.training.session.conditions import examples
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import KIND

TYPES = (bool, int, float, str)
YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


CHANGES = dict.fromkeys(("", "data", "activations", "penalties", "rate", "engine", "precision"))


@dataclass(frozen=True)
class OptionInfo:
    """Metadata of an option, written in the annotation of a scene's parameter.

    Attributes:
        names: valid names, in a table or a list; if empty (default), any value is valid
        changes: part of a running session that a new value changes: "data", "activations",
            "penalties" (l1 and l2), "rate" (the learning rate) or "engine"; if "" (default), a new
            value restarts training
        offer: label, such as "colour map", of a button that switches to the option's next value at
            the end of a run; "" (default) means no button
        label: displayed name of the option; by default its name
        others: whether values that are not in `names` are also valid; by default False

    Raises:
        UnknownNameError: if `changes` is unknown.
    """

    names: Iterable[str] = ()
    changes: str = ""
    offer: str = ""
    label: str = ""
    others: bool = False

    def __post_init__(self) -> None:
        pick(CHANGES, self.changes, "change")


@dataclass(frozen=True)
class Option:
    """An option: its type, its default, its help text and its OptionInfo.

    `short` is a short form on the command line, such as "-o".
    """

    kind: Any
    default: Any
    help: str
    short: str = ""
    info: OptionInfo = OptionInfo()

    def check(self, value: object, name: str) -> None:
        """Raise UnknownNameError if a value is invalid; `name` is the name of the option."""
        names = tuple(self.info.names)
        if names and value != self.default and not self.info.others:
            pick(dict.fromkeys(names), value, name.replace("_", " "))


RUNS_ON = (*ENGINES, "auto")
ALL_LOSSES = (*LOSSES, *ROW_LOSSES)
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
    "lr": Option(float | None, None, "learning rate"),
    "batch": Option(int | None, None, "samples per step"),
    "seed": Option(int | None, None, "seed of the initial weights and of the batches"),
    "engine": Option(
        str | None, None, f"engine: {', '.join(ENGINES)} or auto", info=OptionInfo(RUNS_ON)
    ),
    "precision": Option(
        str | None,
        None,
        "full, or mixed: half precision where that suffices",
        info=OptionInfo(PRECISIONS),
    ),
    "optimizer": Option(
        str | None,
        None,
        f"{', '.join(OPTIMIZERS)}; learning rate: --lr, or the usual one of the optimizer",
        info=OptionInfo(OPTIMIZERS),
    ),
    "loss": Option(str | None, None, f"loss: {', '.join(ALL_LOSSES)}", info=OptionInfo(ALL_LOSSES)),
    "activation": Option(
        str | None,
        None,
        f"activation of all hidden layers: {', '.join(ACTIVATIONS)}",
        info=OptionInfo(ACTIVATIONS, others=True),
    ),
    "init": Option(
        str | None, None, f"initializer: {', '.join(INITIALIZERS)}", info=OptionInfo(INITIALIZERS)
    ),
    "bias": Option(bool | None, None, "whether perceptrons have biases"),
    "l1": Option(float | None, None, "L1 regularization: pulls all weights to 0 equally"),
    "l2": Option(float | None, None, "L2 regularization: pulls large weights to 0 more"),
}
RUNNING = {
    "steps": Option(int | None, None, "number of steps; default: the number of the scene"),
    "save": Option(Path | None, None, "file to save the training run to, at the end or on Ctrl-C"),
    "resume": Option(Path | None, None, "saved training run to continue"),
    "limit": Option(
        int | None, None, "memory limit, in bytes, for data that the saved file only describes"
    ),
    "autosave": Option(float | None, None, "also save every N seconds"),
    "keyframes": Option(
        int | None,
        None,
        "bytes of keyframes in the file; default: 16 MB; fewer make going back slower",
    ),
    "weights": Option(
        bool, False, "save only the network, for sv.load; --resume needs the whole run"
    ),
    "stop_when": Option(
        list[str],
        [],
        "stop when this condition holds, such as 'loss < 0.01' or 'not finite'",
        info=OptionInfo(examples(), others=True),
    ),
    "set": Option(list[str], [], "set an option of the scene"),
}
# The fields of Look; a scene may have parameters of these names, which replace the options.
LOOK = {
    name: Option(
        bool if IS_TICK[name] else str,
        getattr(Look, name),
        offer.help,
        info=OptionInfo(
            offer.choices or (() if IS_TICK[name] else CHANNELS),
            others=not offer.choices,  # the optimizer's slots
        ),
    )
    for name, offer in OFFERS.items()
}
WATCHING = {
    "speed": Option(
        float | None, None, "steps per second, 0 for full speed; default: the speed of the scene"
    ),
    "tour": Option(bool, False, "show the ten-second tour, as at the first start"),
    "reduced_motion": Option(bool, False, "no animation between two pictures"),
    **LOOK,
    "browser": Option(
        bool, False, "show it in a browser until Ctrl-C, on other machines with --address"
    ),
    "control": Option(bool, False, "with --browser and --address: others can also change it"),
    "serve": Option(
        bool, False, "no window: write a page and a picture, and serve the page until Ctrl-C"
    ),
    "address": Option(str, "", "address to serve on; 0.0.0.0: the whole network"),
    "port": Option(int | None, None, "port to serve on; default: 8000, or a free port"),
}
# A scene may have parameters of these names, which replace the options.
RENDERING = {
    "out": Option(Path | None, None, "output file: .png, .mp4 or .gif", "-o"),
    "every": Option(int | None, None, "steps between two frames of a video"),
    "operations": Option(bool, False, "a video with every operation of each step"),
    "film": Option(
        bool, False, "a video of 27 frames in 16 seconds, with more and more steps between them"
    ),
    "hold": Option(float | None, None, "seconds per operation with --operations; default: 1.5"),
    "pixels": Option(str, "", "width x height of the picture, such as 1280x720"),
    "fps": Option(int, 30, "frames per second"),
    **LOOK,
    "move": Option(
        str,
        "still",
        "camera movement in a video: still, orbit or approach",
        info=OptionInfo(("still", "orbit", "approach")),
    ),
    "pin": Option(int | None, None, "row of the weight to explain"),
    "past": Option(str, "", "plot below the picture: value, all weights over time"),
    "samples": Option(int, 2, "each pixel is the mean of N x N samples"),
}

PAGING = {
    "out": Option(Path | None, None, "output file: .html", "-o"),
    "theme": LOOK["theme"],
    "steps": Option(int | None, None, "steps to train before writing; default: 0"),
    "no_engine": Option(
        bool, False, "write a recording, which plays but does not train", "--no-engine"
    ),
    "record": Option(int | None, None, "steps of the recording; default: 500"),
    "every": Option(int | None, None, "steps between two recorded ones; default: 1"),
}


def own_options(scene: Scene) -> dict[str, Option]:
    """Return the options that a scene defines as parameters; raise SceneError if one is invalid."""
    where = place_of(scene)
    said = re.sub(r"\n {8,}(?=\S)", " ", inspect.getdoc(scene) or "")  # continuation lines
    lines = dict(re.findall(r"^(?: {4})?(\w+)(?::|  ) *(\S.*)$", said, re.MULTILINE))
    infos, found = annotated(scene), {}
    for name, parameter in inspect.signature(scene).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise SceneError(f"{where}: the scene's parameter {name!r} has no default: give it one")
        if name in (RUNNING | WATCHING).keys() - LOOK.keys():
            raise SceneError(
                f"{where}: the scene's parameter {name!r} has the name of an option of every "
                "scene: rename it"
            )
        if type(parameter.default) in TYPES:
            kind = type(parameter.default)
            info = infos.get(name) or known_by_name(scene, name)
            found[name] = Option(kind, parameter.default, lines.get(name, ""), info=info)
    return found


def annotated(scene: Scene) -> dict[str, OptionInfo]:
    """Return the OptionInfo of each parameter of a scene that has one in its annotation."""
    try:
        hints = get_type_hints(scene, include_extras=True)
    except (NameError, TypeError):  # an annotation for type checkers only, or not a function
        return {}
    return {
        name: each
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, OptionInfo)
    }


def known_by_name(scene: Scene, name: str) -> OptionInfo:
    """Return the OptionInfo of an unannotated parameter; names of `shape` come from SHAPES."""
    info = BY_NAME.get(name, OptionInfo())
    table = getattr(scene, "__globals__", {}).get(f"{name.upper()}S")
    return replace(info, names=table if isinstance(table, Mapping) else info.names, others=True)


def kind_of(option: Option) -> Any:
    """Return the type of the values of an option, for example `int` for `int | None`."""
    return next(iter(get_args(option.kind)), option.kind)


# The Show of a scene with its options and the common ones.

# Options of SHARED that change a session, even one resumed from a file; others recreate it.
GOING_ON = "lr", "engine", "precision"


@contextmanager
def told_by_option(given: Mapping[str, Any]) -> Iterator[None]:
    """Add the names of options to errors about their values that are raised in this context.

    If a message contains no name of an option, the options whose values it contains are added. If
    it contains no values either, all options are added, unless the cause is a missing package.
    """
    try:
        yield
    except (InputError, FileError, SceneError) as error:
        own = error.__cause__ if isinstance(error, SceneError) else error
        text = str(error)
        guilty = {name: value for name, value in given.items() if is_in(value, text)}
        if not guilty and own is not None:
            guilty = dict(given)
        if isinstance(own, ScalarvizError) and isinstance(own.__cause__, ImportError):
            guilty = {}
        named = given.keys() & set(re.findall(r"\w+", text))
        if guilty and not named and isinstance(own, (InputError, FileError)):
            told = ", ".join(f"{name}={shorten(value)}" for name, value in guilty.items())
            error.args = (f"{told}: {error.lines[0]}", *error.lines[1:])
        raise


def is_in(value: object, text: str) -> bool:
    """Return whether a value occurs in a text as a separate word."""
    return re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", text) is not None


def played(scene: Scene, chosen: Mapping[str, Any]) -> Show:
    """Call a scene and return its Show; raise SceneError if it fails or returns something else."""
    with told_by_line():
        shown = scene(**chosen)
    if not isinstance(shown, (Session, Show)):
        raise SceneError(
            f"{place_of(scene)}: the scene returned {shorten(shown)}: return a Show, or just a "
            "Session"
        )
    return Show.of(shown, scene)


def make_show(scene: Scene, given: Mapping[str, Any], typed: Collection[str] = ()) -> Show:
    """Return the Show of a scene with these options, or a Show resumed from a file.

    Args:
        scene: the function of a scene file
        given: option values by name; missing options have their defaults
        typed: names of options that were given explicitly, even if equal to the default
    """
    show = show_of(scene, given, typed)
    if conditions := given.get("stop_when"):
        show.session.stop_when(*conditions)
    return show


def show_of(scene: Scene, given: Mapping[str, Any], typed: Collection[str]) -> Show:
    """Return the same Show as `make_show`, but without stopping conditions."""
    own = own_options(scene)
    chosen = {name: given.get(name, option.default) for name, option in own.items()}
    by_name = parsed(given.get("set") or [], own)
    chosen |= by_name
    changed = [
        name
        for name in own
        if name in typed or name in by_name or chosen[name] != own[name].default
    ]
    extra = {
        name: given[name] for name in SHARED if name not in own and given.get(name) is not None
    }
    values = {name: chosen[name] for name in changed} | extra
    for name, value in values.items():
        (SHARED | own)[name].check(value, name)
    if given.get("resume") is None:
        if "optimizer" in extra and "lr" in values:  # a rate given for another optimizer
            extra["lr"] = values["lr"]
        with told_by_option(values):
            show = with_extra(played(scene, chosen), extra)
        return replace(show, hint=hint_with(show.hint, values))
    refused = [name for name in [*changed, *extra] if name not in GOING_ON]
    if refused:
        raise InputError(
            f"a resumed training run takes its {refused[0]} from the file: leave out "
            f"--{refused[0]}, or --resume"
        )
    session = Session.load(given["resume"], limit=given.get("limit"))
    show = played(scene, chosen)
    if session.data.name != show.session.data.name:
        raise InputError(
            f"{str(given['resume'])!r} holds a training run on the data {session.data.name}, and "
            f"this scene trains on {show.session.data.name}: pass the scene of this training run"
        )
    show = replace(show, session=session, title=session.timeline.title or show.title)
    with told_by_option(values):
        if "lr" in values and session.clock.operation:
            session.back(1)  # within a step, a new rate would take effect only after it
        return with_extra(show, values)


def hint_with(hint: str, values: Mapping[str, Any]) -> str:
    """Return a suggested command, with these options added unless it already has them.

    A hint that is not a command is unchanged. If it would only repeat these options, return "".
    """
    words = hint.split()
    if words[:1] != ["scalarviz"]:
        return hint
    given = {name: option_words(name.replace("_", "-"), value) for name, value in values.items()}
    if words[3:] and set(words[3:]) <= {word for each in given.values() for word in each}:
        return ""
    for name, each in given.items():
        option = name.replace("_", "-")
        if not {f"--{option}", f"--no-{option}"} & set(words):
            words += each
    return " ".join(words)


def option_words(option: str, value: object) -> list[str]:
    """Return the words that set an option to a value on the command line."""
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    return [f"--{option}", shlex.quote(str(value))]


def with_extra(show: Show, extra: Mapping[str, Any]) -> Show:
    """Return a Show with common options applied that are not parameters of its scene."""
    if extra.keys() - {*GOING_ON}:
        show = replace(show, session=made_again(show.session, extra))
    session = show.session
    if "lr" in extra:
        session.learning_rate = extra["lr"]
    if "engine" in extra or "precision" in extra:
        session.to(extra.get("engine") or session.engine, extra.get("precision"))
    return show


def parsed(pairs: Sequence[str], own: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values given by `--set name=value`, converted to the types of the options."""
    found = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        require(sign, f"--set takes NAME=VALUE, not {pair!r}: write --set lr=0.1")
        option = pick(own, name, "option of the scene")
        found[name] = as_kind(text, option.kind, name)
    return found


def as_kind(text: str, kind: Any, name: str) -> Any:
    """Convert a text to the type `kind`: a number, a bool or a string."""
    try:
        return YES_OR_NO[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise InputError(f"the option {name} takes {wanted}, not {shorten(text)}") from None


def as_number(value: object) -> float:
    """Return a value entered by the user as a float; raise InputError if it is not a number."""
    try:
        return float(str(value).replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise InputError(f"a number is wanted, such as 0.5, not {shorten(str(value))}") from None


# The session of a scene, recreated with options without a parameter of the scene.

REBUILDS = {"seed", "init", "bias"}
# Default learning rates of optimizers.
USUAL_RATES = {
    "sgd": 0.1,
    "momentum": 0.01,
    "nesterov": 0.01,
    "rmsprop": 0.001,
    "adam": 0.01,
    "adamw": 0.01,
}
PENALTIES = {"l1", "l2"}
OF_EVERY_OPTIMIZER = (
    "l1",
    "l2",
    "clip_value",
    "clip_norm",
    "not_finite",
)  # settings of every optimizer


def made_again(session: Session, given: Mapping[str, Any]) -> Session:
    """Return a new session like the given one, but with other values of options.

    The optimizer keeps its schedule, penalties and clipping. Raises InputError for options that
    this network does not support.
    """
    trainer, network = session.trainer, session.network
    loss, optimizer = trainer.loss, trainer.settings.optimizer
    if "loss" in given and given["loss"] != loss.name:
        loss = Loss(given["loss"])
    if "optimizer" in given and given["optimizer"] != optimizer.name:
        optimizer = another_optimizer(optimizer, given["optimizer"])
    for name in given.keys() & PENALTIES:
        optimizer = with_penalty(optimizer, name, given[name])
    for name in given.keys() & (REBUILDS | {"activation"}):
        require(
            network.layers,
            f"the scene trains an expression, which has no {name}: leave out --{name}",
        )
    if given.keys() & REBUILDS:
        network = rebuilt(network, **{name: given.get(name) for name in REBUILDS})
    if "activation" in given:
        set_hidden_activations(network, given["activation"])
    found = Session(
        network,
        session.data,
        loss,
        optimizer,
        given.get("batch") or trainer.settings.batch,
        given.get("engine") or session.engine,
        trainer.seed if given.get("seed") is None else given["seed"],
        precision=trainer.settings.precision,
        memory=session.timeline.keyframes.budget,
    )
    found.visits.metrics = session.visits.metrics
    if stops := trainer.settings.stops:
        with found.undo_log.off():
            found.timeline.note(KIND, {"conditions": [*stops]})
    return found


def another_optimizer(old: Optimizer, name: str) -> Optimizer:
    """Return an optimizer of another kind with the same schedule, and its default learning rate."""
    pick(OPTIMIZERS, name, "optimizer")
    kept = {key: getattr(old, key) for key in OF_EVERY_OPTIMIZER}
    kind = classes_of_optimizers()[name]
    made: Optimizer = kind(USUAL_RATES.get(name, kind().lr), schedule=old.schedule, **kept)
    return made


def with_penalty(optimizer: Optimizer, name: str, value: float) -> Optimizer:
    """Return a copy of an optimizer with another l1 or l2; raise InputError if it is negative."""
    changed = copy.copy(optimizer)
    setattr(changed, name, number(value, name, 0.0))
    return changed


def rebuilt(network: Network, seed: int | None, init: str | None, bias: bool | None) -> Network:
    """Return the network with another seed or initializer, or with or without biases.

    Raises:
        InputError: if the weights of the network do not come from its initializer, or if biases
            of nested layers would be changed.
    """
    seed = network.seed if seed is None else seed
    if init is None and bias is None:
        return network.fresh(seed)
    option = "--bias" if init is None else "--init"
    drawn = network.fresh(network.seed).bank.value
    require(
        np.array_equal(drawn, network.bank.value) and not network.bank.frozen.any(),
        f"the network of the scene has predefined weights: leave out {option}",
    )
    if bias is not None and any(layer.layers for layer in network.layers):
        raise InputError("--bias is for sequential layers, and this network has a Residual")
    return remade(network, seed, init=None if init is None else Init(init), bias=bias)


def hidden_places(network: Network) -> list[int]:
    """Return the indices of the hidden layers that support an activation."""
    return [
        place
        for place, layer in enumerate(network.layers[:-1])
        if isinstance(layer, (PerceptronLayer, Activation))
    ]


def set_hidden_activations(network: Network, names: str) -> None:
    """Set the activation of all hidden layers, or of each: tanh,relu; raise InputError if wrong."""
    each = names.split(",")
    for name in each:
        activation_row(name)
    hidden = hidden_places(network)
    require(
        hidden, "the scene's network has no hidden layer with an activation: leave out --activation"
    )
    count = len(hidden)
    each = each * count if len(each) == 1 else each
    require(len(each) == count, f"activation has a name for each of {count} layers, not {names}")
    for place, name in zip(hidden, each, strict=True):
        network.set_activation(place, name)
