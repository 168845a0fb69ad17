"""scene_data: all that the picture in a page needs and that training does not change.

A page chooses among some layouts, as the stage of a window chooses one for its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.pages.bundle import packed
from scalarviz.scene import labels, neuron_images, neurons
from scalarviz.scene.callout import STACK
from scalarviz.scene.canvas.palette import HALO, NOT_A_NUMBER, NUMBER, POWER, THEMES, Theme
from scalarviz.scene.cube_numbers import NUMBERS
from scalarviz.scene.labels import SIGNS
from scalarviz.scene.layout.plates import SIDE, Fan, Label, Layout, Neurons, Plate, Sign, Wires
from scalarviz.scene.lights import FOCUS_SECONDS as SECONDS_OF_FOCUS
from scalarviz.scene.lights import gradient_path
from scalarviz.scene.marks import LEAST_GHOST
from scalarviz.scene.pace import pace_data
from scalarviz.scene.visuals import shaders
from scalarviz.scene.visuals.mip_levels import levels_of, room_of
from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from scalarviz.stage import stage
from scalarviz.stage.background import LONGEST_REST
from scalarviz.stage.by_parts import has_neurons, walked
from scalarviz.stage.motion import gradients_of
from scalarviz.stage.network_layout import TINTS, layout_of
from scalarviz.stage.sample_pass import FLAT
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session

# Shapes of the free stage, width by height, for which there is a layout: phones to wide screens.
SHAPES = tuple(float(np.exp(0.1 * step)) for step in range(-8, 15))
OF_GRAPHS = 4  # a graph has layouts for one in so many of them
REACH, STEP = 40.0, 0.01  # sums at which slopes of activations are looked at


def scene_data(show: object, shapes: Sequence[float] = ()) -> Any:
    """Return what the picture in a page needs of a show, for JSON.

    show    a Session or a Show
    shapes  widths by heights of the stages that layouts are made for; by default some of SHAPES
    """
    session = Show.of(show).session
    program = session.network.program
    placed, layouts = layouts_of(session, shapes)
    return {
        "count": len(session.network.bank),
        "frozen": packed(np.asarray(session.network.bank.frozen).astype(np.uint8)),
        "programs": programs(),
        "shader": {
            "split": shaders.SPLIT,
            "half": shaders.HALF,
            "least": shaders.LEAST,
            "colors": shaders.COLORS,
            "dim": shaders.DIM,
            "fog": shaders.FOG,
            "attention": SECONDS_OF_FOCUS,
            "contrast": shaders.CONTRAST,
            "steps": shaders.STEPS,
            "flatFrom": shaders.FLAT_FROM,
            "meansFrom": shaders.MEANS_FROM,
            "cubesTo": shaders.CUBES_TO,
            "oblique": shaders.OBLIQUE,
        },
        "maps": {
            "sides": stage.MAP_SIDES,
            "most": stage.MOST_MAP_NUMBERS,
            "rest": stage.MAP_REST,
            "longest": 1000.0 * LONGEST_REST,
            "faint": neuron_images.FAINT_MAP,
            "part": neuron_images.MAP_PART,
            "least": neuron_images.LEAST_SPHERE,
            "strong": neuron_images.MAP_STRENGTH,
            "low": neurons.LOW,
            "written": neurons.WRITTEN,
            "room": neurons.ROOM,
            "away": neurons.AWAY,
        },
        "numbers": NUMBERS,
        "signs": SIGNS,
        "pace": pace_data(program),
        "stack": STACK,
        "ghost": LEAST_GHOST,
        "themes": {theme.name: colors_of(theme) for theme in THEMES.values()},
        "layouts": layouts,
        "shapes": placed,
        "operations": [operation_data(program, i) for i in range(len(program.operations))],
        "moments": [moment_data(program, each) for each in program.moments],
        "inputs": program.inputs.name,
        "outputs": program.outputs.name,
        "tints": tints_data(session),
        "raw": program.raw,
        "apart": [[each.parameters.start, each.parameters.stop] for each in program.affines],
        "logits": session.trainer.loss.row.logits,
    }


def programs() -> dict[str, tuple[str, str]]:
    """Return vertex and fragment shader of each program, in GLSL ES, without comments."""
    return {
        name: (plain(as_es(vertex, fragment=False)), plain(as_es(fragment, fragment=True)))
        for name, (vertex, fragment) in PROGRAMS.items()
        if name in ("cubes", "spheres", "wires", "canvas")
    }


def plain(text: str) -> str:
    """Return a shader without comments and indents."""
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def colors_of(theme: Theme) -> dict[str, Any]:
    """Return the colors of a theme."""
    return {
        **parts(theme, "tray ink quiet faint accent light push lit wire panel rim ghost ground"),
        "number": NUMBER,
        "halo": HALO,
        "ends": (theme.map.negative, theme.map.zero, theme.map.positive),
        "power": POWER,
        "unknown": NOT_A_NUMBER,
    }


def parts(thing: object, names: str) -> dict[str, Any]:
    """Return some attributes of a thing by name."""
    return {name: getattr(thing, name) for name in names.split()}


def tints_data(session: Session) -> dict[str, str]:
    """Return "rgb" or "grey" for the buffers whose neurons stand for colors."""
    program, data = session.network.program, session.data
    ends = (program.inputs.name, data.input_tint), (program.outputs.name, data.output_tint)
    return {name: tint for name, tint in ends if tint in TINTS}


def operation_data(program: Program, place: int) -> dict[str, Any]:
    """Return what light on its wires and neurons needs of an operation, by its place."""
    operation = program.operations[place]
    found: dict[str, Any] = {
        "kind": operation.kind,
        "source": operation.source.name,
        "sources": [source.name for source in operation.sources],
        "target": operation.target.name,
        "back": gradient_path(program, operation),
    }
    if program.is_graph:
        found["rows"] = program.rows_read(place)
    if operation.kind == "activation":
        row = ACTIVATIONS[operation.formula]
        found["flat"] = flat_parts(row.value, row.derivative)
    return found


def flat_parts(
    value: Callable[[float], float], derivative: Callable[[float, float], float]
) -> list[list[float]]:
    """Return the ranges of sums in which the slope of an activation is nearly 0."""

    def is_flat(sums: float) -> bool:
        return bool(abs(derivative(sums, value(sums))) < least)

    places = np.arange(-REACH, REACH + STEP, STEP).tolist()
    with np.errstate(all="ignore"):
        steepest = max(abs(derivative(z, value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
        least = FLAT * steepest
        flags = [is_flat(place) for place in places]
        found, start = [], -1e300 if flags[0] else None
        for i in range(1, len(places)):
            if flags[i] == flags[i - 1]:
                continue
            low, high = places[i - 1], places[i]
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if is_flat(middle) == flags[i - 1] else (low, middle)
            if start is None:
                start = high
            else:
                found.append([start, low])
                start = None
    return [*found, [start, 1e300]] if start is not None else found


def moment_data(program: Program, moment: Moment) -> dict[str, Any]:
    """Return what a moment computes, and the bank indices of the gradients among that.

    `neurons` are those through which one goes one by one: their buffer, and how many they are.
    """
    found = gradients_of(program, moment)
    buffer = walked(program, moment) if has_neurons(program) else None
    rows = [found.start, found.stop] if isinstance(found, slice) else [0, 0]
    return {
        "kind": moment.kind,
        "operation": moment.operation,
        "values": [buffer.name for buffer in moment.values],
        "gradients": [buffer.name for buffer in moment.gradients],
        "rows": rows,
        "neurons": None if buffer is None else (buffer.name, buffer.size),
        "each": [] if isinstance(found, slice) else [*found],
    }


def layouts_of(
    session: Session, shapes: Sequence[float]
) -> tuple[list[tuple[float, int]], list[dict[str, Any]]]:
    """Return pairs of a shape and the index of its layout, and the layouts, each once."""
    placed: list[tuple[float, int]] = []
    found: dict[bytes, Layout] = {}
    is_graph = session.network.program.is_graph  # its layouts are large, and much alike
    for shape in shapes or SHAPES[:: OF_GRAPHS if is_graph else 1]:
        layout = layout_of(session, shape, walks=True)
        mark = layout.extent.tobytes()
        found.setdefault(mark, layout)
        placed.append((shape, [*found].index(mark)))
    return placed, [*map(layout_data, found.values())]


def layout_data(layout: Layout) -> dict[str, Any]:
    """Return a layout."""
    return {
        "plates": [plate_data(plate) for plate in layout.plates],
        "neurons": [neurons_data(line) for line in layout.neurons],
        "wires": [wires_data(bundle) for bundle in layout.wires],
        "labels": [label_data(label) for label in layout.labels],
        "fans": [fan_data(fan) for fan in layout.fans],
        "signs": [sign_data(sign) for sign in layout.signs],
        "views": {name: astuple(camera) for name, camera in layout.views.items()},
    }


def points(array: FloatArray | None) -> dict[str, Any] | None:
    """Return places in space, (n, 3); float32 is enough for what is seen."""
    return None if array is None else packed(np.asarray(array, np.float32))


def plate_data(plate: Plate) -> dict[str, Any]:
    """Return a plate, with the room of its mip levels."""
    tiles = plate.tiles
    return {
        **parts(plate, "first rows columns stride"),
        **{name: x.tolist() for name, x in parts(plate, "origin along across toward").items()},
        **parts(plate, "role operation layer seat"),
        "tiles": None if tiles is None else [*tiles.size, *tiles.pitch, *tiles.stride],
        "levels": levels_of(plate),
        "room": room_of(plate) if levels_of(plate) else (0, 0),
    }


def neurons_data(line: Neurons) -> dict[str, Any]:
    return {
        **parts(line, "sums values layer side radius again bars square"),
        "names": [*line.names],
        "shape": [*line.shape],
        "also": [*line.also],
        "points": points(line.points),
        "way": points(line.way),
        "one": None if line.one is None else line.one.tolist(),
        "tied": None if line.tied is None else tied_data(line.tied),
    }


def tied_data(place: FloatArray) -> dict[str, Any]:
    """Return where the color of a line stands, and the sizes of what is drawn there."""
    return {
        "place": place.tolist(),
        "side": SIDE,
        "largest": labels.COLOR_SIDE,
        "letters": labels.COLOR_LETTERS,
        "wide": labels.COLOR_WIRE,
        "head": labels.COLOR_WIRE_HEAD,
    }


def wires_data(bundle: Wires) -> dict[str, Any]:
    ends = {"start": points(bundle.start), "end": points(bundle.end)}
    return {**parts(bundle, "operation neurons outgoing head"), **ends}


def label_data(label: Label) -> dict[str, Any]:
    return {
        "name": label.name,
        "about": label.about,
        "start": label.start.tolist(),
        "end": label.end.tolist(),
        "rows": [label.rows.start, label.rows.stop],
        "around": points(label.around),
    }


def sign_data(sign: Sign) -> dict[str, Any]:
    places = {"middle": sign.middle.tolist(), "room": sign.room().ravel().tolist()}
    return {**parts(sign, "above below radius apart buffer row"), **places}


def fan_data(fan: Fan) -> dict[str, Any]:
    return {
        **parts(fan, "weights inputs radius"),
        "biases": fan.biases if fan.biases != NONE else -1,
        "wired": fan.is_wired,
        "first": fan.is_first,
        **{name: points(x) for name, x in parts(fan, "starts columns ends rows").items()},
    }
