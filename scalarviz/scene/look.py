"""Look: all view options of the user, one field per option.

Name, type, default, texts and key of an option are defined only here. Controls of the window,
menus, keys and their help, command-line options, arguments of `sv.watch` and `sv.picture`, parts of
links, and all checks are derived from the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypedDict, final

from scalarviz.base.checks import true_or_false
from scalarviz.core.formulas.formula import pick
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import CAMERAS, Camera

DIGITS = "123456789"  # keys of a choice whose names have one digit each
AUTO = "auto"  # the theme of the system or the reader


@final
@dataclass(frozen=True)
class Offer:
    """How a field of Look is offered to the user.

    Attributes:
        control: name of the command that sets the field
        about: tooltip and menu entry; with a lower-case first letter also the help of the
            command-line option
        names: names to choose from, which are the keys of a table; empty for a flag or a channel
        also: another name that options and arguments accept, or ""
        words: other fields of the command, such as label, text, help and key
    """

    control: str
    about: str
    names: Iterable[str] = ()
    also: str = ""
    words: Mapping[str, Any] = field(default_factory=dict)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that options and arguments accept; empty if all names are accepted."""
        return (*self.names, self.also) if self.also else tuple(self.names)

    @property
    def help(self) -> str:
        """The help text of the command-line option."""
        listed = f": {', '.join(self.choices)}" if self.choices else ""
        return self.about[:1].lower() + self.about[1:] + listed


def offered(
    control: str, about: str, names: Iterable[str] = (), *, also: str = "", **words: Any
) -> dict[str, Offer]:
    """Return the metadata of a field of Look."""
    return {"offer": Offer(control, about, names, also, words)}


class LookArgs(TypedDict, total=False):
    """The fields of Look as keyword arguments of a function."""

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
    """View options of a network.

    Attributes:
        color: channel shown by the colors of cubes: "value", "gradient", ...; see `Stage.channels`
        cubes: channel shown by the sizes of cubes; the same names
        camera: "perspective", "orthographic", "flat" or a Camera
        theme: "dark", "light" or "auto" (follows the system or the reader; dark in files)
        per_layer: whether each layer has its own color scale
        every_weight: whether each layer is a wall with a cube for every weight, as for large layers
        neuron_maps: whether squares show the function that each neuron computes
        numbers: whether all cubes show their numbers
        ghosts: whether cubes in rows show their initial size as a dashed outline
        test_points: whether held-out samples are drawn on the map of the plane
        discrete: whether maps of the plane have only two colors

    Raises:
        InputError: if a value is invalid.
        UnknownNameError: if a name is unknown.
    """

    color: str = field(
        default="value",
        metadata=offered(
            "color",
            "Quantity shown by the colours",
            label="Colour",
            help="show another quantity as colour",
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
            help="a map or curve of each neuron, drawn in its square",
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
        """Return a copy with the given values; None keeps the current value.

        Raise UnknownNameError if a name is not a field, InputError if a value is invalid.
        """
        for name in given:
            pick(self.__dataclass_fields__, name, "option of the view")
        return replace(self, **{name: each for name, each in given.items() if each is not None})

    def in_theme(self, name: str) -> Self:
        """Return a copy with this theme if the theme is "auto", otherwise the look itself."""
        return replace(self, theme=name) if self.theme == AUTO else self

    @property
    def preset(self) -> str:
        """The name of the camera preset; for a custom camera, the preset it is based on."""
        return self.camera if isinstance(self.camera, str) else "perspective"

    @property
    def unusual(self) -> dict[str, Any]:
        """The fields that differ from their defaults, with their values."""
        found = {name: getattr(self, name) for name in OFFERS}
        return {name: each for name, each in found.items() if each != getattr(Look, name)}


OFFERS: dict[str, Offer] = {each.name: each.metadata["offer"] for each in fields(Look)}
IS_TICK = {each.name: isinstance(each.default, bool) for each in fields(Look)}


def check_choice(name: str, value: object) -> None:
    """Raise UnknownNameError or InputError for an invalid value of a field."""
    names = OFFERS[name].choices
    if IS_TICK[name]:
        true_or_false(value, name)
    elif names and not (name == "camera" and isinstance(value, Camera)):
        pick(dict.fromkeys(names), value, name)
