"""Controls of the picture: channels, camera, theme, help and window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scalarviz.faces.controller.control import DIGITS, Control
from scalarviz.faces.controller.walking import point
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import CAMERAS

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def toggle_help(controller: Controller, _: int) -> None:
    controller.stage.help = not controller.stage.help


def in_picture(name: str) -> Any:
    """Return a setter of an attribute of the picture."""
    return lambda controller, value: setattr(controller.stage, name, value)


def in_curve(name: str) -> Any:
    """Return a setter of an attribute of the loss curve's view."""
    return lambda controller, value: setattr(controller.stage.curve_view, name, value)


CHANNEL_CONTROLS = [
    Control(
        "color",
        "choice",
        "What colours stand for",
        lambda controller, name: controller.set_channel("color", name),
        lambda state: state.color,
        names=lambda state: state.channels,
        label="Colour",
        key="c",
        help="colour by something else",
        acts_on="group",
    ),
    Control(
        "size",
        "choice",
        "What sizes stand for",
        lambda controller, name: controller.set_channel("size", name),
        lambda state: state.size,
        names=lambda state: state.channels,
        label="Size",
        acts_on="group",
    ),
]

VIEW_CONTROLS = [
    Control(
        "camera",
        "choice",
        "Where it is looked at from",
        lambda controller, name: controller.stage.look(name),
        lambda state: state.camera,
        names=lambda state: CAMERAS,
        menu="View",
        key=DIGITS,
        help="look at it from another side: {}",
        acts_on="group",
    ),
    Control(
        "look at pinned",
        "button",
        "The pinned weight closely, or everything",
        lambda controller, _: controller.stage.frame_pinned(),
        menu="View",
        text="Pinned closely",
        key="f",
        help="look at the pinned weight closely, or at everything",
        acts_on="group",
    ),
    Control(
        "point",
        "button",
        "Point at a cube or a neuron, and pin it",
        lambda controller, _: point(controller),
        menu="View",
        text="Point by keys",
        key="enter",
        help="point at cubes and neurons: arrows walk over them, Enter pins, Esc ends",
    ),
    Control(
        "look at everything",
        "button",
        "As at first",
        lambda controller, _: controller.stage.restore(),
        menu="View",
        text="As at first",
        key="escape",
        help="close what is open; look at everything as at first",
        acts_on="group",
    ),
    Control(
        "theme",
        "choice",
        "The colours of the picture and of what is around it",
        in_picture("theme"),
        lambda state: state.theme,
        names=lambda state: THEMES,
        label="Theme",
        key="d",
        help="{}",
        acts_on="group",
    ),
    Control(
        "by layer",
        "tick",
        "Colours of each layer by themselves",
        in_picture("per_layer"),
        lambda state: state.per_layer,
        menu="View",
        text="Colours by layer",
        acts_on="group",
    ),
    Control(
        "neuron maps",
        "tick",
        "What each neuron answers over the plane, on its sphere",
        in_picture("neuron_maps"),
        lambda state: state.neuron_maps,
        enabled=lambda state: state.has_plane,
        label="Spheres",
        text="Neuron maps",
        key="m",
        help="maps of the neurons over the plane, on their spheres",
        acts_on="group",
    ),
    Control(
        "test points",
        "tick",
        "The held-out points, hollow, on the map of the plane",
        in_picture("test_points"),
        lambda state: state.test_points,
        enabled=lambda state: state.has_plane,
        menu="View",
        text="Test points",
        acts_on="group",
    ),
    Control(
        "discrete",
        "tick",
        "Maps of the plane in two colours only",
        in_picture("discrete"),
        lambda state: state.discrete,
        enabled=lambda state: state.has_plane,
        menu="View",
        text="Discrete",
        acts_on="group",
    ),
    Control(
        "fit colours",
        "button",
        "Fit the colours to the numbers",
        lambda controller, _: controller.stage.rescale(),
        menu="View",
        text="Fit colours",
        acts_on="group",
    ),
    Control(
        "smooth",
        "tick",
        "Draw means over a 25th of the steps shown, and the losses themselves faintly",
        in_curve("smooth"),
        lambda state: state.smooth,
        label="Loss curve",
        text="Smooth",
        acts_on="group",
    ),
    Control(
        "large curve",
        "tick",
        "The loss curve over half of the picture, with all weights over time",
        in_curve("large"),
        lambda state: state.large_curve,
        label="Loss curve",
        text="Large",
        key="g",
        help="loss curve and all weights over time large, and small again",
        acts_on="group",
    ),
    Control(
        "tour",
        "button",
        "The tour: a step in ten seconds",
        lambda controller, _: controller.guide.show_tour(),
        menu="Help",
        text="Tour",
    ),
    Control(
        "keys",
        "button",
        "Keys",
        toggle_help,
        menu="Help",
        key="?",
        help="this help",
        acts_on="group",
    ),
    Control(
        "marks",
        "tick",
        "What the marks in the picture mean",
        in_picture("marks"),
        lambda state: state.marks,
        menu="Help",
        text="Marks",
        key="h",
        help="what the marks in the picture mean, as with the mouse on the legend",
    ),
    Control(
        "full screen",
        "button",
        "Full screen",
        lambda controller, _: controller.fill_screen(),
        menu="View",
        window=True,
        key="f11",
        help="full screen; Esc leaves it",
    ),
]
