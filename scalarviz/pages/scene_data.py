"""scene_data: the data of the picture in a page that do not change during training.

A page chooses among several layouts for its aspect ratio, as a window does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import partial
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.pages.bundle import packed
from scalarviz.pages.exhibit_data import places_data
from scalarviz.scene import neuron_images
from scalarviz.scene.canvas.palette import NOT_A_NUMBER, THEMES, Theme, heat_of
from scalarviz.scene.frame_data import BEYOND, FAINT, PERCENTILE
from scalarviz.scene.layout.crossbar_layout import Crossbar
from scalarviz.scene.layout.plates import HALF, LEAST, Fan, Layout, Neurons, Plate, WrittenWords
from scalarviz.scene.layout.sequence_places import SCALE
from scalarviz.scene.layout.threads import turned_cube
from scalarviz.scene.lights import lit_buffers
from scalarviz.scene.marks import LEAST_GHOST
from scalarviz.scene.pace import LIT, longest, pauses
from scalarviz.scene.visuals import shaders
from scalarviz.scene.visuals.mip_levels import levels_of, room_of
from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from scalarviz.stage.background import LONGEST_REST, REST
from scalarviz.stage.by_parts import has_neurons, walked
from scalarviz.stage.handles import limits_of
from scalarviz.stage.motion import gradients_of
from scalarviz.stage.network_layout import (
    TINTS,
    has_walls,
    layout_of,
    sees_places,
    shows_every_weight,
)
from scalarviz.stage.neuron_maps import APART, buffers_of, painting, side_of
from scalarviz.stage.sample_pass import FLAT
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session

# Aspect ratios of the stage for which a layout exists: phones to wide screens.
SHAPES = tuple(float(np.exp(0.1 * step)) for step in range(-8, 15))
OF_LARGE = 4  # graphs and walls have a layout for every fourth aspect ratio
MOST_OPENED = 120  # layouts with other open frames of a followed model
DIGITS = 5  # decimals of the numbers of a layout
Placed = list[tuple[float, int]]
REACH, STEP = 40.0, 0.01  # range and step of the sums at which slopes of activations are sampled


def scene_data(
    show: object,
    shapes: Sequence[float] = (),
    opened: Mapping[str, int] | None = None,
    *,
    maps: bool = True,
) -> Any:
    """Return the data for drawing the picture of a Show in a page, for JSON.

    Args:
        show: a Session or a Show
        shapes: aspect ratios for which layouts are computed; if empty (default), some of SHAPES
        opened: frames of a followed model that a click opened or closed, as in `ModelLayout`, in a
            page that asks for other layouts; None (default) adds the layouts that clicks lead to
        maps: whether a followed model has the maps of its probe
    """
    session = Show.of(show).session
    program = session.network.program
    chain = chain_data(session)
    few = shapes or (SHAPES[:1] if chain else ())
    placed, walls, layouts = layouts_of(session, few, opened, maps=maps)
    return {
        "count": len(session.network.bank),
        "frozen": packed(np.asarray(session.network.bank.frozen).astype(np.uint8)),
        "programs": programs(),
        "shader": {
            "split": shaders.SPLIT,
            "half": HALF,
            "least": LEAST,
            "hollow": shaders.HOLLOW,
            "colors": shaders.COLORS,
            "dim": shaders.DIM,
            "flatFrom": shaders.FLAT_FROM,
            "meansFrom": shaders.MEANS_FROM,
            "cubesTo": shaders.CUBES_TO,
            "oblique": shaders.OBLIQUE,
        },
        "maps": maps_data(session),
        "pace": {  # seconds of its operations
            "longest": [longest(program, moment) for moment in program.moments],
            "slow": [pauses(program, again=again) for again in (False, True)],
        },
        "ghost": LEAST_GHOST,
        "themes": {theme.name: colors_of(theme) for theme in THEMES.values()},
        "layouts": shorter(layouts),
        "cube": plate_data(turned_cube(NONE, NONE, np.zeros(3))),
        "shapes": placed,
        "chain": chain,
        "walls": walls,
        "operations": [operation_data(program, i) for i in range(len(program.operations))],
        "moments": [moment_data(program, each) for each in program.moments],
        "inputs": program.inputs.name,
        "limits": [each.tolist() for each in limits_of(session.data)],
        "outputs": program.outputs.name,
        "tints": tints_data(session),
        "raw": program.raw,
        "apart": [[each.parameters.start, each.parameters.stop] for each in program.apart.values()],
        "usual": SCALE if layouts and "sequence" in layouts[0] else None,
        "logits": session.trainer.loss.row.logits,
        "squared": session.trainer.loss.row.name == "mse",
    }


def programs() -> dict[str, tuple[str, str]]:
    """Return the vertex and fragment shaders of each program, in GLSL ES, without comments."""
    return {
        name: (plain(as_es(vertex, fragment=False)), plain(as_es(fragment, fragment=True)))
        for name, (vertex, fragment) in PROGRAMS.items()
        if name in ("cubes", "pool", "grounds", "spheres", "wires", "canvas", "lines")
    }


def plain(text: str) -> str:
    """Return the source of a shader without comments and indentation."""
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return "\n".join(filter(None, lines)) + "\n"


def colors_of(theme: Theme) -> dict[str, Any]:
    """Return the colors of a theme, by name."""
    return {
        **parts(
            theme, "ground pool tray shelf glass shadow channels ink soft former worse quiet faint"
        ),
        **parts(theme, "accent light chip loss no_yes"),
        **parts(theme, "push lit wire panel rim ghost number halo on_faces borders"),
        "ends": (theme.map.negative, theme.map.zero, theme.map.positive),
        "places": theme.map.table[0],
        "colors": theme.map.table[1],
        "power": theme.map.power,
        "answers": theme.answers.table,
        "unknown": NOT_A_NUMBER,
        "heat": packed(heat_of(theme.name)[:, :3].copy()),
    }


def maps_data(session: Session) -> dict[str, Any]:
    """Return how neurons are drawn as maps, and over which inputs.

    places   the plane or line of inputs, see `places_data`; None if there are no maps
    side     number of cells along the side of a map; 0 if computing all maps would take too long
    buffers  name and size of each buffer that is evaluated for maps
    paints   name, size and first weight of the buffer from which output colors are computed; None
             if outputs are not colors
    """
    paints = [{"first": x.weights, **parts(x.source, "name size")} for x in painting(session)]
    return {
        **neuron_images.SQUARES,
        "percentile": PERCENTILE,
        "beyond": BEYOND,
        "faint": FAINT,
        "rest": REST,
        "apart": 1000.0 * APART,
        "longest": 1000.0 * LONGEST_REST,
        "side": side_of(session.network),
        "buffers": [*buffers_of(session.network).items()],
        "places": places_data(session) if sees_places(session) else None,
        "paints": paints[0] if paints else None,
    }


def parts(thing: object, names: str) -> dict[str, Any]:
    """Return some attributes of an object as a dict; `names` are separated by spaces."""
    return {name: getattr(thing, name) for name in names.split()}


def tints_data(session: Session) -> dict[str, str]:
    """Return "rgb" or "grey" for each buffer whose neurons represent colors."""
    program, data = session.network.program, session.data
    ends = (program.inputs.name, data.input_tint), (program.outputs.name, data.output_tint)
    return {name: tint for name, tint in ends if tint in TINTS}


def operation_data(program: Program, place: int) -> dict[str, Any]:
    """Return the data for drawing the operation with this index."""
    operation = program.operations[place]
    found: dict[str, Any] = {
        "source": operation.source.name,
        "target": operation.target.name,
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
    """Return the ranges of inputs where the slope of an activation is nearly 0."""

    def is_flat(sums: float) -> bool:
        return bool(abs(derivative(sums, value(sums))) < least)

    places = np.arange(-REACH, REACH + STEP, STEP).tolist()
    with np.errstate(all="ignore"):
        steepest = max(abs(derivative(z, value(z))) for z in (-2.0, -0.5, 0.0, 0.5, 2.0))
        least = FLAT * steepest
        flags = [is_flat(place) for place in places]
        ends = [-1e300] if flags[0] else []
        for i in np.flatnonzero(np.diff(flags)).tolist():
            low, high = places[i : i + 2]
            for _ in range(40):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if is_flat(middle) == flags[i] else (low, middle)
            ends.append(low if flags[i] else high)
    ends += [1e300] * (len(ends) % 2)
    return [[*each] for each in zip(ends[::2], ends[1::2], strict=True)]


def moment_data(program: Program, moment: Moment) -> dict[str, Any]:
    """Return which arrays a moment computes, and the bank indices of its gradients.

    The entry "neurons" contains the buffer and the number of the neurons if they can be shown one
    by one.
    """
    found = gradients_of(program, moment)
    buffer = walked(program, moment) if has_neurons(program) else None
    return {
        "kind": moment.kind,
        "operation": moment.operation,
        "lit": sorted(lit_buffers(program, moment)) if moment.kind in LIT else [],
        "values": [buffer.name for buffer in moment.values],
        "gradients": [buffer.name for buffer in moment.gradients],
        "rows": [found.start, found.stop] if isinstance(found, slice) else [0, 0],
        "neurons": None if buffer is None else (buffer.name, buffer.size),
        "each": [] if isinstance(found, slice) else [*found],
    }


def chain_data(session: Session) -> dict[str, bool] | None:
    """Return how a page itself lays out a chain of dense layers for its stage.

    None for other networks, whose layouts are part of the page.
    """
    if not session.trainer.computes or layout_of(session, walks=True).crossbar is None:
        return None
    tints = session.data.input_tint, session.data.output_tint
    return {"tied": tints == ("rgb", "rgb"), "square": sees_places(session)}


def layouts_of(
    session: Session,
    shapes: Sequence[float],
    opened: Mapping[str, int] | None = None,
    *,
    maps: bool = True,
) -> tuple[Placed, Placed, list[dict[str, Any]]]:
    """Return layout indices by aspect ratio, the same for walls of weights, and the layouts.

    The indices for walls are empty if a network cannot be drawn both with and without walls. For
    `opened`, see `scene_data`.
    """
    pairs: tuple[Placed, Placed] = [], []
    found: dict[bytes, Layout] = {}
    queue: list[tuple[float, dict[str, int], Layout]] = []  # layouts with frames
    frames: dict[int, dict[str, int]] = defaultdict(dict)  # where a click on each leads
    is_graph = session.network.program.is_graph
    laid_out = partial(layout_of, session, walks=True, maps=maps)
    for every in (False, True)[: 1 + has_walls(session)]:
        is_large = every or shows_every_weight(session) or session.trainer.run.structure
        few = is_graph or is_large  # they are large and similar
        for shape in shapes or SHAPES[:: OF_LARGE if few else 1]:
            layout = laid_out(shape, every=every, opened=opened)
            place, is_new = put_in(found, layout)
            pairs[every].append((shape, place))
            if is_new and layout.marks and opened is None:
                queue.append((shape, {}, layout))
    has_maps = any(mark.kind == "map" for *_, layout in queue for mark in layout.marks)
    most = len(found) + MOST_OPENED // (1 + has_maps)
    for shape, before, layout in queue:  # grows
        at = put_in(found, layout)[0]
        looks = {x.key: x.look for x in layout.marks if x.key and x.look != "badge"}
        for key in [each for each in looks if each not in frames[at]]:
            if len(found) >= most:
                break
            after = {**before, key: looks[key] != "frame"}
            turned = laid_out(shape, opened=after)
            frames[at][key], is_new = put_in(found, turned)
            if is_new:
                frames[frames[at][key]][key] = at
                queue.append((shape, after, turned))
    data = [layout_data(each) for each in found.values()]
    for place, leads in frames.items():
        data[place]["frames"] = leads
    return *pairs, data


def put_in(found: dict[bytes, Layout], layout: Layout) -> tuple[int, bool]:
    """Add a layout to others unless they have it; return its place, and whether it is new."""
    mark, count = layout.extent.tobytes(), len(found)
    found.setdefault(mark, layout)
    return [*found].index(mark), len(found) > count


def layout_data(layout: Layout) -> dict[str, Any]:
    """Return the data of a layout for JSON."""
    return {
        "plates": [plate_data(plate) for plate in layout.plates],
        "neurons": [neurons_data(line) for line in layout.neurons],
        "wires": [
            {
                **parts(bundle, "operation neurons outgoing"),
                "start": points(bundle.start),
                "end": points(bundle.end),
            }
            for bundle in layout.wires
        ],
        "labels": [label.place.tolist() for label in layout.labels],
        "fans": [fan_data(fan) for fan in layout.fans],
        "signs": [
            {
                **parts(sign, "above below radius apart buffer row"),
                "middle": sign.middle.tolist(),
                "room": sign.room().ravel().tolist(),
            }
            for sign in layout.signs
        ],
        "written": [words_data(each) for each in layout.written],
        "heads": [words_data(each) for each in layout.heads],
        **({"steps": layout.steps} if layout.steps else {}),
        **({"marks": shorter([*map(asdict, layout.marks)], 3)} if layout.marks else {}),
        **({"sequence": asdict(layout.sequence)} if layout.sequence is not None else {}),
        **({} if layout.crossbar is None else {"crossbar": crossbar_data(layout.crossbar)}),
        "views": {name: astuple(camera) for name, camera in layout.views.items()},
    }


def crossbar_data(placed: Crossbar) -> dict[str, Any]:
    """Return the data of a crossbar for JSON; "free" has pairs of a neuron and its pixels."""
    return {**asdict(placed), "free": [[[*key], pixels] for key, pixels in placed.free.items()]}


def shorter(value: Any, digits: int = DIGITS) -> Any:
    """Round the numbers in a layout, and make whole ones integers.

    A pixel is about 0.02 cells.
    """
    if isinstance(value, dict):
        return {name: shorter(each, digits) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shorter(each, digits) for each in value]
    rounded = round(value, digits) if isinstance(value, float) else value
    return int(rounded) if isinstance(rounded, float) and rounded.is_integer() else rounded


def words_data(words: WrittenWords) -> dict[str, Any]:
    """Return the data of words that are written in the scene."""
    return {"words": words.words, "least": words.least, "ends": np.ravel(words.ends).tolist()}


def points(array: FloatArray | None) -> dict[str, Any] | None:
    """Return positions of shape (n, 3) for JSON, in float32, which is precise enough to draw."""
    return None if array is None else packed(np.asarray(array, np.float32))


def plate_data(plate: Plate) -> dict[str, Any]:
    """Return the data of a plate, with the size of its mip levels."""
    return {
        **parts(plate, "first rows columns stride role operation layer seat"),
        **({**parts(plate, "wide deep free"), "rise": [*plate.rise]} if plate.wide else {}),
        **({"is_full": True} if plate.is_full else {}),
        **{name: x.tolist() for name, x in parts(plate, "origin along across toward").items()},
        "tiles": plate.tiles and asdict(plate.tiles),
        "levels": levels_of(plate),
        "room": room_of(plate) if levels_of(plate) else (0, 0),
    }


def neurons_data(line: Neurons) -> dict[str, Any]:
    return {
        **parts(line, "sums values layer side radius square told scores along curve aside"),
        "bends": [*line.bends],
        "names": [*line.names],
        "shape": [*line.shape],
        "also": [*line.also],
        "points": points(line.points),
        "way": points(line.way),
        "tied": None if line.tied is None else line.tied.tolist(),
    }


def fan_data(fan: Fan) -> dict[str, Any]:
    return {
        **parts(fan, "weights inputs biases stride operation before after radius is_direct form"),
        **{name: x.tolist() for name, x in parts(fan, "begin foot").items()},
        "reads": [fan.reads.start, fan.reads.stop],
        "top": None if fan.top is None else fan.top.tolist(),
        **{name: points(x) for name, x in parts(fan, "starts columns ends rows").items()},
    }
