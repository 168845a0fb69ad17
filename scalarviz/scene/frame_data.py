"""FrameData: everything that one picture shows, as arrays and text, before drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.past_numbers import OverTime
from scalarviz.core.program import Moment
from scalarviz.scene.curve_points import nothing
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.plates import DiagramMark, Layout, Step
from scalarviz.scene.layout.sequence_places import MARGIN, Choice
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import BranchLine as BranchLine
from scalarviz.scene.loss_chart import Curve as Curve
from scalarviz.scene.loss_chart import Measured as Measured
from scalarviz.story.caption import Caption, Card, Cell, Piece
from scalarviz.story.facts import Neuron

if TYPE_CHECKING:
    from scalarviz.scene.annotations import Border
    from scalarviz.scene.focus import Focus

PERCENTILE = 0.94  # fraction of the numbers of a map below its strong colors
BEYOND = 1.1  # factor from there to the strongest color
FAINT = 0.05  # fraction of the strongest map of a line: minimum scale of the weaker ones
BESIDE_WALLS, BESIDE_ROWS = 0.28, 0.2  # maximum fraction of a picture's width for an exhibit
# beside walls, and beside long rows


@dataclass(frozen=True)
class CubeValues:
    """The values shown by cubes, one number per bank index.

    Attributes:
        colors, sizes: numbers shown by the colors and by the sizes of cubes
        color, size: the channels of these numbers, such as "value" or "gradient"
        color_scales: for each plate, the number with the strongest color
        size_scales: for each plate, the number with the largest cube
        per_layer: whether plates have separate scales
        clipped: count of numbers beyond the color scale
        frozen: mask of the frozen parameters, or None
        before: the numbers of the colors before the shown step, or None
        grown: the color scales before and after, just after the scale has grown; else None
        pushes: gradients already computed in the shown step, NaN elsewhere; or None
        top_push: gradient with the longest arrow; None means the largest gradient
        moved: bank indices with the largest changes in a step, and the magnification of the changes
        module: which module's scale the legend shows, or ""
        common: number with the strongest color in the legend; None for the one of the first plate
    """

    colors: FloatArray
    sizes: FloatArray
    color: str
    size: str
    color_scales: FloatArray
    size_scales: FloatArray
    per_layer: bool = False
    clipped: int = 0
    frozen: FloatArray | None = None
    before: FloatArray | None = None
    grown: tuple[float, float] | None = None
    pushes: FloatArray | None = None
    top_push: float | None = None
    common: float | None = None
    moved: tuple[tuple[int, ...], float] = ((), 1.0)
    module: str = ""

    @cached_property
    def longest_push(self) -> float | None:
        """The gradient with the longest arrow; None if there are no arrows."""
        if self.pushes is None or self.top_push:
            return self.top_push
        return float(np.abs(self.pushes[np.isfinite(self.pushes)]).max(initial=0.0)) or None


@dataclass(frozen=True)
class Buffers:
    """Known contents of the program's buffers for the current sample.

    Attributes:
        values: activations, by buffer name
        saturated: saturation of each activation, from 0 to 1
        left_out: 1 where dropout drops a number, otherwise 0
        tints: true colors of neurons that represent red, green and blue
        scale: number with the strongest color, as for cubes that show values
        flows: gradients of the loss, by buffer name
        target: targets of the outputs, or None
        answers: outputs as the loss interprets them, such as the softmax of logits; or None
        raw: names of inputs and outputs in original units, each mapped to the buffer on the other
            side of an Affine layer, which gives their colors
        squared: whether the loss consists of squared errors
    """

    values: Mapping[str, FloatArray] = field(default_factory=dict)
    saturated: Mapping[str, FloatArray] = field(default_factory=dict)
    tints: Mapping[str, FloatArray] = field(default_factory=dict)
    scale: float = 1.0
    flows: Mapping[str, FloatArray] = field(default_factory=dict)
    target: FloatArray | None = None
    left_out: Mapping[str, FloatArray] = field(default_factory=dict)
    answers: FloatArray | None = None
    raw: Mapping[str, str] = field(default_factory=dict)
    squared: bool = False


@dataclass(frozen=True)
class PastWeights:
    """All weights over time, shown below the large loss curve.

    Attributes:
        over_time: the weights at all recorded steps
        scale: number with the strongest color
        names: labels of the layers
        tile: index of the tile under the mouse, or None
        pinned: tiles of the last pinned weights
        says: text for the tile under the mouse, or the weights that changed most between two steps
        compared: the two compared steps, or None
        images: cached colors of all tiles at all recorded steps, as bytes, by theme name
    """

    over_time: OverTime
    scale: float
    names: Sequence[str] = ()
    tile: int | None = None
    pinned: Sequence[int] = ()
    says: str = ""
    compared: tuple[int, int] | None = None
    images: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HealthRows:
    """The health of a followed training run as rows of colors, shown below the large loss curve.

    Attributes:
        names: names of the modules, in the order of the model
        faulty: whether each module has a fault or follows from one
        causes: whether each module is the cause of a fault
        steps: recorded steps with statistics
        shades: for each of MEASURES in scene/health_strip.py, codes of one module after another;
            see stage/health_rows.py
        newest: for each of MEASURES, the newest number of each module, as text
        moments: for each of MEASURES, the step of the newest numbers; 0 if unknown
        findings: step, short name and sentence of each fault
        head: what is known, or that nothing wrong was found
    """

    names: Sequence[str]
    faulty: Sequence[bool]
    causes: Sequence[bool]
    steps: Sequence[float]
    shades: Sequence[Any]
    newest: Sequence[Sequence[str]]
    moments: Sequence[float]
    findings: Sequence[tuple[float, str, str]]
    head: str


@dataclass(frozen=True)
class ScalarCharts:
    """Scalars of a followed run, shown below the large loss curve.

    Attributes:
        names: names of the scalars
        curves: their curves
    """

    names: Sequence[str]
    curves: Sequence[Curve]


@dataclass(frozen=True)
class History:
    """The values of a weight over the steps, with thin lines across gaps.

    Attributes:
        steps, values: known values and their steps, (n,); an edit has two values at one step
        known: (n - 1,), whether all values between two neighbors are known
    """

    steps: FloatArray
    values: FloatArray
    known: FloatArray


@dataclass(frozen=True)
class NeuronMaps:
    """The output of each neuron over the inputs: a plane, or a line along one input.

    Attributes:
        values: by buffer name, (neurons, rows, columns); the first row is the top
        is_curve: whether there is a single row, along one input
        dot: position of the current sample, from 0 to 1 to the right (and up in a plane), or None
        paints: by buffer name, what its neurons add to red, green and blue, (neurons, 3)
        discrete: whether maps have only two colors
    """

    values: Mapping[str, FloatArray]
    is_curve: bool = False
    dot: FloatArray | None = None
    paints: Mapping[str, FloatArray] = field(default_factory=dict)
    discrete: bool = False
    images: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def parts(self, buffer: str) -> FloatArray:
        """Return the maps of a buffer as fractions of the strongest colors, mostly from -1 to 1.

        The strongest color is set slightly beyond a high percentile of each map. Discrete maps have
        only the two strongest colors.
        """
        values = self.values[buffer]
        if self.discrete:
            return np.where(values > 0.0, 1.0, -1.0)
        sizes = np.abs(np.nan_to_num(values)).reshape(len(values), -1)
        share = 1.0 if self.is_curve else PERCENTILE  # a curve is shown completely
        place = share * (sizes.shape[1] - 1)
        first, last = int(place), -int(-place // 1)
        sizes.partition([first, last], axis=1)
        far = sizes[:, last] - sizes[:, first]
        tops = BEYOND * (sizes[:, last] - far * (1.0 - (place - first)))
        tops = np.maximum(tops, FAINT * tops.max(initial=0.0))
        return values / np.where(tops > 0.0, tops, 1.0)[:, np.newaxis, np.newaxis]


@dataclass(frozen=True)
class PictureWords:
    """The text of a picture.

    Attributes:
        title: title of the show
        about: a sentence about the show, used at its start
        caption: description of the operation, or another sentence; or None
        is_new: whether no step is done yet, so that `about` replaces the title of the caption
        rests: whether nothing happens, so that the caption would only repeat the loss curve
        task: the task that the network learns
        things: name of the samples, such as "dots"
        is_first: whether this is the first moment shown and playback is stopped
    """

    title: str = ""
    about: str = ""
    caption: Caption | None = None
    is_new: bool = False
    rests: bool = False
    task: str = ""
    things: str = "samples"
    is_first: bool = False


@dataclass(frozen=True)
class Work:
    """A background task shown in the picture.

    Attributes:
        text: description of the task
        action: label of the button that cancels it, or ""
        part: finished fraction, from 0 to 1, or None if unknown
    """

    text: str
    action: str
    part: float


@dataclass(frozen=True)
class Pane:
    """Properties of a pane, the picture of one network among several.

    Attributes:
        scale: size of letters and margins in the whole picture
        name: name of the network
        color: color of the dot next to the name, and of the loss curve
        loss: the loss of the shown step as text, at the right end
        about: text to the left of the loss
    """

    scale: float
    name: str
    color: str
    loss: str = ""
    about: str = ""


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Held:
    """The item that the user drags while paused, and the state before.

    Attributes:
        row: bank index of the dragged weight; NONE for an input
        neuron: the dragged input, or None
        weights: all values of the bank before the change
        values: activations before the change, by buffer name
        exhibit: the exhibit before the change, or None
    """

    row: int
    neuron: Neuron | None
    weights: FloatArray
    values: Mapping[str, FloatArray]
    exhibit: Exhibit | None = None


@dataclass(frozen=True)
class FrameData:
    """Everything that one picture shows.

    Attributes:
        moment: the last operation if it is animated, else None
        part: finished fraction of that operation, from 0 to 1
        exhibit: the result plot, or None
        hover, pinned: cards of the hovered and the pinned item, or None
        chips: short messages, each with the label of its button or ""
        work: the background task, or None
        offers: labels of the large buttons
        help: pairs of key and meaning while the help is open
        strip: the operations of a step
        current: number of finished operations in the shown step
        hovered: `done` of the strip cell under the mouse, or 0
        hover_neuron, pinned_neuron: the neuron under the mouse and the pinned one, or None
        pointed: the piece of the caption under the mouse, or None
        opened: whether the caption shows all terms
        maps: outputs of the neurons over the inputs, drawn in their squares, or None
        probe: step of the shown probe and what modules computed for it, or None; `map`: the mark
            of its map under the mouse, or None
        pane: properties as one of several panes; None for a single picture
        marks: whether the key of the marks is open
        named: pixels of a cell from which on the first row has call-outs without being asked for
        focus: the items in focus; None means everything
        attention: dimming of everything out of focus, from 0 to 1
        look: view options chosen by the user
        beside: bank indices of additionally pinned weights
        walked: neuron reached by the operation when stepping by neuron, or None
        held: the dragged item, or None
        menus, panel: widths of menus and panel in pixels, see `Division.of`
        begun: initial numbers if cubes show them as outlines, else None
        weights: all values of the bank, for drawing lines; empty if unknown
        now: time in seconds for updating texts and charts in turn while cubes change continuously,
            or None
        chosen: key whose change redraws all texts and charts immediately
        thread: the path with the largest contribution if some rows are strips, else ()
        choice: chosen place, letter and head of a sequence
    """

    layout: Layout
    cubes: CubeValues
    buffers: Buffers = Buffers()
    curve: Curve = field(default_factory=Curve)
    words: PictureWords = PictureWords()
    moment: Moment | None = None
    part: float = 1.0
    exhibit: Exhibit | None = None
    hover: Card | None = None
    pinned: Card | None = None
    chips: Sequence[tuple[str, str]] = ()
    work: Work | None = None
    offers: Sequence[str] = ()
    help: Sequence[tuple[str, str]] = ()
    strip: Sequence[Cell] = ()
    current: int = 0
    hovered: int = 0
    hover_neuron: Neuron | None = None
    pinned_neuron: Neuron | None = None
    pointed: Piece | None = None
    opened: bool = False
    maps: NeuronMaps | None = None
    pane: Pane | None = None
    marks: bool = False
    named: float = math.inf
    menus: float = 0.0
    panel: float = 0.0
    focus: Focus | None = None
    attention: float = 1.0
    look: Look = field(default_factory=Look)
    beside: Sequence[int] = ()
    walked: Neuron | None = None
    held: Held | None = None
    begun: FloatArray | None = None
    weights: FloatArray = field(default_factory=nothing)
    now: float | None = None
    chosen: object = None
    thread: Sequence[Step] = ()
    probe: tuple[int, Mapping[str, Mapping[str, Any]]] | None = None
    map: DiagramMark | None = None
    choice: Choice = Choice()  # noqa: RUF009  # frozen
    _divisions: dict[tuple[float, float], Division] = field(default_factory=dict, init=False)

    def with_numbers(self, **numbers: object) -> FrameData:
        """Return a copy with other numbers that keeps the layout boxes and other cached values."""
        made = object.__new__(FrameData)
        made.__dict__.update(self.__dict__ | numbers)
        return made

    @property
    def told(self) -> Caption | None:
        """The caption of the animated operation; None if nothing is animated."""
        return self.words.caption if self.moment is not None else None

    @property
    def begun_rows(self) -> list[int]:
        """The bank indices of the cubes with outlines of their initial size."""
        plates = [] if self.begun is None else self.layout.plates
        return [row for each in plates if each.has_outlines for row in each.cells()[2].tolist()]

    @property
    def border(self) -> Border | None:
        """The border between two answers of the exhibit, or None."""
        return None if self.exhibit is None else self.exhibit.border

    @property
    def names_row(self) -> bool:
        """Whether the first row has call-outs: at the start, or while the marks are explained."""
        away = self.moment, self.held, self.pinned, self.hover
        neurons = self.pinned_neuron, self.hover_neuron
        is_alone = all(each is None for each in (*away, *neurons))
        return is_alone and (self.words.is_first or self.marks)

    @property
    def is_health(self) -> bool:
        """Whether the health of a followed model is drawn instead of its network."""
        return isinstance(self.curve.below, HealthRows)

    def division(self, width: float, height: float) -> Division:
        """Return the boxes of the parts of a picture of this size, in logical pixels."""
        if (width, height) not in self._divisions:
            self._divisions[width, height] = self._division(width, height)
        return self._divisions[width, height]

    def _division(self, width: float, height: float) -> Division:
        exhibit, stage = 0.0, self._divide(width, height)
        if self.exhibit is not None:
            exhibit = self.exhibit.wanted(stage.scene.width, stage.scene.height)
        if any(fan.top is not None for fan in self.layout.fans):
            exhibit = min(exhibit, BESIDE_WALLS * width)
        if any(fan.form == "long" for fan in self.layout.fans):
            exhibit = min(exhibit, BESIDE_ROWS * width)
        return self._divide(width, height, exhibit, card=self.pinned is not None)

    def _divide(
        self, width: float, height: float, exhibit: float = 0.0, *, card: bool = False
    ) -> Division:
        found = self._divided(width, height, exhibit, card=card)
        if self.layout.sequence is None:
            return found
        aside, scene = MARGIN * found.scale, found.scene
        right = found.inner.right if card or self.panel else scene.right - aside
        left, low = scene.x + aside, found.inner.bottom if self.curve.large else scene.bottom
        return replace(found, inner=Box(left, scene.y, right - left, low - scene.y))

    def _divided(self, width: float, height: float, exhibit: float, *, card: bool) -> Division:
        if self.pane is not None:
            return Division.of_pane(width, height, self.pane.scale, exhibit=exhibit, card=card)
        return Division.of(
            *(width, height),
            exhibit=exhibit,
            card=card,
            menus=self.menus,
            panel=self.panel,
            chart=self.curve.large,
            tall=self.is_health,
        )
