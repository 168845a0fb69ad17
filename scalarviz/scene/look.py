"""Look: everything that a user decides of the view, a field each.

A field has its name, type, default, words and key here and nowhere else. The controls of a window,
menus, keys and their help, options of the command line, arguments of `sv.watch` and `sv.picture`,
parts of links and the checks of all of them are made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypedDict, final

from scalarviz.base.checks import true_or_false
from scalarviz.core.formulas.formula import pick
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import CAMERAS, Camera

DIGITS = "123456789"  # key of a choice whose names have a digit each
AUTO = "auto"  # the theme of the system or the reader


@final
@dataclass(frozen=True)
class Offer:
    """How a field of Look is offered.

    Attributes:
        control: name of its command
        about: tooltip and menu entry; with a small letter, the help of its option
        names: names to choose from, a table of them; empty: yes and no, or the channels of a
            session
        also: a name that options and arguments take besides, or ""
        words: other fields of its Command: label, text, help, key, ...
    """

    control: str
    about: str
    names: Iterable[str] = ()
    also: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that options and arguments take; empty: any."""
        return (*self.names, self.also) if self.also else tuple(self.names)

    @property
    def help(self) -> str:
        """The help of its option."""
        listed = f": {', '.join(self.choices)}" if self.choices else ""
        return self.about[:1].lower() + self.about[1:] + listed


def offered(
    control: str, about: str, names: Iterable[str] = (), *, also: str = "", **words: Any
) -> dict[str, Offer]:
    """Return the metadata of a field of Look."""
    return {"offer": Offer(control, about, names, also, words)}


class LookArgs(TypedDict, total=False):
    """The fields of Look as arguments of a function."""

    color: str
    cubes: str
    camera: str | Camera
    theme: str
    per_layer: bool
    every_weight: bool
    neuron_maps: bool
    numbers: bool
    ghosts: bool
    test_points: bool
    discrete: bool


@dataclass(frozen=True)
class Look:
    """How a network is shown; raises InputError for a wrong value, UnknownNameError for a name.

    Attributes:
        color: what the colors of cubes show: "value", "gradient", ...; see `Stage.channels`
        cubes: what the sizes of cubes show, likewise
        camera: "perspective", "orthographic" or "flat", or a Camera
        theme: "dark", "light", or "auto": that of the system or the reader, dark in files
        per_layer: whether each layer has its own color scale
        every_weight: whether each layer is a wall in which every weight is a cube, as in large
            tables
        neuron_maps: whether squares show what their neurons compute
        numbers: whether all cubes have their numbers
        ghosts: whether cubes in a row have a dashed outline: how large they were at the start
        test_points: whether held-out samples are drawn on the map of the plane
        discrete: whether maps of the plane have two colors only
    """

    color: str = field(
        default="value",
        metadata=offered(
            "color",
            "Quantity shown by the colours",
            label="Colour",
            help="show another quantity by the colours",
            key="c",
            page="field",
        ),
    )
    cubes: str = field(
        default="value", metadata=offered("size", "Quantity shown by the sizes", label="Size")
    )
    camera: str | Camera = field(
        default="perspective",
        metadata=offered(
            "camera",
            "Camera",
            CAMERAS,
            help="choose the camera: {}",
            menu="View",
            key=DIGITS,
        ),
    )
    theme: str = field(
        default=AUTO,
        metadata=offered(
            "theme",
            "Colour theme",
            THEMES,
            also=AUTO,
            label="Theme",
            help="{}",
            key="d",
            page="key",
        ),
    )
    per_layer: bool = field(
        default=False,
        metadata=offered(
            "by layer",
            "A separate colour scale for each layer",
            text="Colours by layer",
            menu="View",
        ),
    )
    every_weight: bool = field(
        default=False,
        metadata=offered(
            "every weight",
            "Each layer as a wall of cubes, one for every weight",
            label="Walls",
            text="Every weight",
            help="show or hide walls, with a cube for every weight",
            key="w",
            page="key",
        ),
    )
    neuron_maps: bool = field(
        default=True,
        metadata=offered(
            "neuron maps",
            "The output of each neuron over all places, in its square",
            label="Squares",
            text="Neuron maps",
            help="maps or curves of the neurons, in their squares",
            key="m",
        ),
    )
    numbers: bool = field(
        default=False,
        metadata=offered(
            "numbers",
            "The numbers of all cubes, not only of pointed and explained ones",
            text="Numbers on cubes",
            help="numbers on all cubes",
            menu="View",
            key="n",
            page="key",
        ),
    )
    ghosts: bool = field(
        default=False,
        metadata=offered(
            "ghosts",
            "A dashed outline around each cube: its size at the start",
            text="Ghosts",
            help="dashed outlines of the cubes at the start",
            menu="View",
            key="g",
            page="key",
        ),
    )
    test_points: bool = field(
        default=False,
        metadata=offered(
            "test points",
            "The held-out points, as hollow dots on the map of the plane",
            text="Test points",
            menu="View",
        ),
    )
    discrete: bool = field(
        default=False,
        metadata=offered(
            "discrete", "Maps of the plane in only two colours", text="Discrete", menu="View"
        ),
    )

    def __post_init__(self) -> None:
        for name in OFFERS:
            check_choice(name, getattr(self, name))

    def changed(self, given: Mapping[str, Any]) -> Self:
        """Return the look with other values; None keeps one.

        Raise UnknownNameError for a name that is no field, InputError for a wrong value.
        """
        for name in given:
            pick(self.__dataclass_fields__, name, "option of the view")
        return replace(self, **{name: each for name, each in given.items() if each is not None})

    def in_theme(self, name: str) -> Self:
        """Return the look in this theme if its own is "auto"."""
        return replace(self, theme=name) if self.theme == AUTO else self

    @property
    def preset(self) -> str:
        """The name of the camera; of a custom one that from which it starts."""
        return self.camera if isinstance(self.camera, str) else "perspective"

    @property
    def unusual(self) -> dict[str, Any]:
        """The fields of Look that are not as usual."""
        found = {name: getattr(self, name) for name in OFFERS}
        return {name: each for name, each in found.items() if each != getattr(Look, name)}


OFFERS: dict[str, Offer] = {each.name: each.metadata["offer"] for each in fields(Look)}
IS_TICK = {each.name: isinstance(each.default, bool) for each in fields(Look)}


def check_choice(name: str, value: object) -> None:
    """Raise UnknownNameError or InputError for a wrong value of a field."""
    names = OFFERS[name].choices
    if IS_TICK[name]:
        true_or_false(value, name)
    elif names and not (name == "camera" and isinstance(value, Camera)):
        pick(dict.fromkeys(names), value, name)
