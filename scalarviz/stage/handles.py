"""Draggable items: cubes and custom inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import stop_above
from scalarviz.base.texts import text
from scalarviz.core.program import Program
from scalarviz.data import DataSet
from scalarviz.data.data_set import TableSet
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.exhibits.images import Pad
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.marks import box_of
from scalarviz.stage.dragging import SMALLEST_HANDLE, Handle, input_at
from scalarviz.story.caption import Caption
from scalarviz.story.facts import Facts, Neuron
from scalarviz.story.guide import custom_answer
from scalarviz.training.session.reading import TrainingState
from scalarviz.training.session.session import Session


def handle_at(
    frame_data: FrameData, see: Projection, values: FloatArray, row: int, *, is_large: bool
) -> Handle | None:
    """Return the handle of a cube; None if its image is too small to be dragged.

    Args:
        is_large: whether the cube is drawn large elsewhere
    """
    box = box_of(see, frame_data, row, None, 0.5)
    is_small = box is None or min(box.width, box.height) < SMALLEST_HANDLE
    if (is_small and not is_large) or not np.isfinite(values[row]):
        return None
    largest = np.max(np.abs(values), where=np.isfinite(values), initial=0.0)
    answers = None if frame_data.current else frame_data.buffers.answers
    return Handle(row, float(values[row]), stop_above(float(largest)) or 1.0, answers)


# Custom inputs: how they are entered, and the reply to the outputs.

STROKE, MOST_STROKES = 3.0, 200  # pixels between points of a stroke; maximum number


def limits_of(data: DataSet) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum of each custom input."""
    bounds = (0.0, 1.0) if data.input_tint in ("rgb", "grey") else data.bounds
    if bounds is None and isinstance(data, TableSet):
        inputs = data.training[0]
        return inputs.min(axis=0), inputs.max(axis=0)
    low, high = bounds or (0.0, 1.0)
    return np.full(data.inputs, low), np.full(data.inputs, high)


@dataclass(frozen=True)
class Grip:
    """A control for custom inputs: a sphere, an image, or a panel of the exhibit.

    Attributes:
        inputs_at: function that returns the inputs for the mouse at a pixel
        at_once: whether pressing the mouse button suffices, without dragging
        neuron: the input that is dragged by its sphere, or None
    """

    inputs_at: Callable[[float, float], FloatArray]
    at_once: bool = True
    neuron: Neuron | None = None

    def within(self, left: float, top: float) -> Grip:
        """Return this grip for a pane whose upper left corner is at a pixel of the picture."""
        return replace(self, inputs_at=lambda x, y: self.inputs_at(x - left, y - top))


def sphere_grip(inputs: FloatArray, neuron: Neuron, data: DataSet, start: float) -> Grip:
    """Return the grip of an input's sphere, grabbed at y = `start`: dragging up increases it."""
    place = neuron[1]
    low, high = (float(limit[place]) for limit in limits_of(data))

    def inputs_at(x: float, y: float) -> FloatArray:
        found = inputs.copy()
        found[place] = input_at(float(inputs[place]), low, high, start - y)
        return found

    return Grip(inputs_at, at_once=False, neuron=neuron)


def panel_grip(inputs: FloatArray, exhibit: Callable[[], Exhibit | None]) -> Grip:
    """Return the grip of a panel whose points are inputs, such as a map of the plane.

    Args:
        inputs: values of the inputs that the panel does not set
        exhibit: function that returns the currently shown exhibit
    """
    now = inputs.copy()
    last: tuple[float, float] | None = None  # a stroke connects it to the next point

    def inputs_at(x: float, y: float) -> FloatArray:
        nonlocal last
        seen, start = exhibit(), last or (x, y)
        count = 1 + int(max(abs(x - start[0]), abs(y - start[1])) / STROKE)
        count = min(count, MOST_STROKES) if isinstance(seen, Pad) else 1
        for part in (np.arange(count) + 1) / count:
            at = start[0] + part * (x - start[0]), start[1] + part * (y - start[1])
            for place, number in (seen.inputs_at(*at) if seen else {}).items():
                both = max(number, float(now[place]))
                now[place] = both if isinstance(seen, Pad) else number
        last = x, y
        return now.copy()

    return Grip(inputs_at)


def image_shape(program: Program) -> tuple[int, int] | None:
    """Return rows and columns of the inputs if they are a grayscale image, else None."""
    shape = program.inputs.shape
    return (shape[1], shape[2]) if len(shape) == 3 and shape[0] == 1 and shape[1] > 1 else None


def pad_of(session: Session | TrainingState, inputs: FloatArray) -> Pad | None:
    """Return the pad for drawing inputs; None if the inputs are not an image."""
    shape = image_shape(session.network.program)
    if shape is None:
        return None
    low, high = limits_of(session.data)
    return Pad(inputs.reshape(shape), float(low.min()), float(high.max()))


def blank_of(session: Session | TrainingState, shown: FloatArray) -> FloatArray:
    """Return initial custom inputs: the shown ones, or an empty image."""
    is_image = image_shape(session.network.program) is not None
    return limits_of(session.data)[0] if is_image else shown


def target_of(data: DataSet, inputs: FloatArray) -> FloatArray | None:
    """Return the target that the data define for these inputs, such as a pixel's color, or None."""
    if data.rule is None:
        return None
    target: FloatArray = np.asarray(data.rule(inputs[np.newaxis]), np.float64)[0]
    return np.clip(target, 0.0, 1.0) if data.output_tint == "rgb" else target


def caption_of_custom(
    session: Session | TrainingState, facts: Facts, inputs: FloatArray, outputs: FloatArray
) -> Caption:
    """Return the caption of a custom input: the inputs and the outputs."""
    is_image = image_shape(session.network.program) is not None
    if is_image and np.array_equal(inputs, blank_of(session, inputs)):
        return Caption(text("own.blank"))
    return Caption(custom_answer(facts, inputs.tolist(), outputs.tolist()))
