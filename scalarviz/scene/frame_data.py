"""FrameData: all contents of one picture, as arrays and text, without drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.past_numbers import LossPlane, OverTime
from scalarviz.core.program import Moment
from scalarviz.scene.curve_points import nothing
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.layout.division import Division
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import BranchLine as BranchLine
from scalarviz.scene.loss_chart import Curve as Curve
from scalarviz.scene.loss_chart import Measured as Measured
from scalarviz.story.caption import Caption, Card, Cell, Piece
from scalarviz.story.facts import Neuron

if TYPE_CHECKING:
    from scalarviz.scene.focus import Focus

PERCENTILE = 0.94  # fraction of the numbers of a map below its strong colors
BEYOND = 1.1  # factor from there to the strongest color
FAINT = 0.05  # fraction of the strongest map of a line: minimum scale of the weaker ones
BESIDE_WALLS, BESIDE_ROWS = 0.28, 0.2  # maximum fraction of a picture's width for an exhibit
# beside walls, and beside long rows


@dataclass(frozen=True)
class CubeValues:
    """The values of cubes, one number per bank index.

    Attributes:
        colors, sizes: the numbers
        color, size: their channels, such as "value" or "gradient"
        color_scales: number with the strongest color, per plate
        size_scales: number with the largest cube, per plate
        per_layer: whether each plate has separate scales
        clipped: count of numbers that exceed the color scale
        frozen: mask of the frozen parameters
        before: the colors' numbers before the shown step, or None
        grown: the color scale before and after, while it has just grown; else None
        pushes: gradients known in the shown step, NaN for others; or None
        top_push: gradient with the longest arrow; None: the largest one
        moved: bank indices with the largest changes in a step, and the magnification of changes
        common: number with the strongest color if plates share one scale; or None
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

    @cached_property
    def longest_push(self) -> float | None:
        """The gradient with the longest mark; None without marks."""
        if self.pushes is None or self.top_push:
            return self.top_push
        return float(np.abs(self.pushes[np.isfinite(self.pushes)]).max(initial=0.0)) or None


@dataclass(frozen=True)
class Buffers:
    """The focus sample: the computed contents of each buffer of the program.

    Attributes:
        values: activations, by buffer name
        saturated: saturation of each activation, 0 to 1
        left_out: 1 where dropout drops a number, else 0
        tints: true colors of neurons that represent red, green and blue
        scale: number with the strongest color, as for cubes that show values
        flows: gradients of the loss, by buffer name
        target: targets of the outputs
        answers: outputs as the loss reads them: for logits, their softmax or sigmoid; or None
        raw: buffers in separate units, and those with the matching colors, after an Affine
        squared: whether the loss is made of squared errors
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
    """All weights over time, below the large loss curve.

    Attributes:
        over_time: the numbers
        order: sort order, or "norms" for the norms of layers; `kind` is the quantity
        scale: the number with the strongest color
        names: labels of the layers
        tile: the tile under the mouse, or None
        pinned: tiles of the last pinned weights
        says: the readout, or the weights that moved most between two steps
        compared: these two steps, or None
        images: colors of all tiles at all moments, as bytes, by name of the theme, cached
    """

    over_time: OverTime
    order: str
    scale: float
    names: Sequence[str] = ()
    tile: int | None = None
    pinned: Sequence[int] = ()
    says: str = ""
    compared: tuple[int, int] | None = None
    images: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Terrain:
    """The loss over a plane through the weights, below the large loss curve.

    Attributes:
        plane: directions and losses computed so far, or None
        done: computed fraction of the losses
        steps: of moments of the branch, and `path`, their positions in the plane, shape (moments,
            2)
        at: position of the present weights, a ball
        along: kind of directions: "main" or "two", and their `names`
        says: the readout at the mouse, or the reason for a missing plane
        images: colors of the plane as bytes, by their inputs, cached
    """

    plane: LossPlane | None
    done: float
    steps: FloatArray
    path: FloatArray
    at: tuple[float, float]
    along: str
    names: tuple[str, str] = ("", "")
    says: str = ""
    images: dict[tuple[object, ...], Any] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """The values of a weight: a line where all are known individually, else a thin one.

    Attributes:
        steps, values: (n,) known ones; two may be at one step: before and after an edit
        known: (n - 1,) whether all values between two of them are known
    """

    steps: FloatArray
    values: FloatArray
    known: FloatArray


@dataclass(frozen=True)
class NeuronMaps:
    """The function of each neuron over the inputs: a plane, or a line along one input.

    Attributes:
        values: by buffer name, (neurons, rows, columns); the first row is the top
        is_curve: whether there is one row, along one input
        dot: position of the shown sample, from 0 to 1 to the right, and up in a plane; or None
        paints: by buffer name, contributions of its neurons to red, green and blue, (neurons, 3)
        discrete: whether maps have only two colors
    """

    values: Mapping[str, FloatArray]
    is_curve: bool = False
    dot: FloatArray | None = None
    paints: Mapping[str, FloatArray] = field(default_factory=dict)
    discrete: bool = False
    images: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def parts(self, buffer: str) -> FloatArray:
        """Return the maps of a buffer as fractions of the strongest colors, from about -1 to 1.

        The strongest color is slightly beyond all but a few numbers of a map. Discrete maps have
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
        title: of the show; `about` is a sentence at its start
        caption: description of the operation, or another sentence
        is_new: whether no step is done, so that `about` is the title of the caption
        rests: whether nothing happens, so that the caption repeats the loss curve
        task: the task to learn
        things: name of the samples, such as "dots"
        is_first: whether it is the first shown moment, and nothing plays
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
    """Work in the background.

    Attributes:
        text: description of the work
        action: label of the button that ends it
        part: finished fraction, 0 to 1, or None if unknown
    """

    text: str
    action: str
    part: float | None = None


@dataclass(frozen=True)
class Pane:
    """Properties of a picture of one network as a pane of several.

    Attributes:
        scale: size of letters and margins in the whole picture
        name: name of its network
        color: of the dot beside the name, as of its loss curve; `about` is written on the right
    """

    scale: float
    name: str
    color: str
    about: str = ""


@dataclass(frozen=True)
class Guess:
    """A weight whose value or gradient is guessed before the operation that changes it.

    Attributes:
        row: its bank index
        kind: "value" or "gradient"
        title: the question, or the result
        way: the guess: 1 up, -1 down, 0 neither; None before it; `label`, its meaning
        typed: the typed number, or ""
        came: the true direction; None for NaN
        result: the true number; None before the answer
    """

    row: int
    kind: str
    title: str
    way: int | None = None
    label: str = ""
    typed: str = ""
    came: int | None = None
    result: str | None = None


Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Held:
    """The item dragged when paused, and the picture before.

    Attributes:
        row: bank index of the weight; NONE for an input
        neuron: the input, or None
        weights: all numbers of the bank before
        values: activations before, by buffer name
        exhibit: the exhibit before
    """

    row: int
    neuron: Neuron | None
    weights: FloatArray
    values: Mapping[str, FloatArray]
    exhibit: Exhibit | None = None


@dataclass(frozen=True)
class FrameData:
    """All contents of one picture.

    Attributes:
        moment: the last operation, if it is animated; `part` is its finished fraction, 0 to 1
        exhibit: the result plot, or None
        hover, pinned: cards of the inspector
        chips: short messages, each with the label of its button or ""
        work: work in the background, or None
        offers: labels of the large buttons
        help: pairs of key and meaning while the help is open
        strip: the operations of a step
        current: number of finished operations in the shown step, 0 for none
        hovered: `done` of the cell of the strip under the mouse, or 0
        present: whether it is in presentation mode: larger text, without head and loss
        hover_neuron: the neuron under the mouse, and `pinned_neuron`, or None
        pointed: the piece of the caption under the mouse, or None
        opened: whether the caption shows all terms
        maps: functions of the neurons, drawn in their squares, or None
        pane: its properties as one of several in a picture, or None
        marks: whether the key to the marks is open
        focus: the items in focus; None: everything
        attention: dimming of everything out of focus, 0 to 1
        look: view options of the user
        beside: additionally pinned weights, by their bank indices
        walked: the neuron reached by the operation, when stepping by neuron; or None
        guess: the current guess, or None
        held: the dragged item, or None
        menus, panel: their widths in pixels, see `Division.of`
        begun: the initial numbers if cubes have outlines of them, else None
        weights: all numbers of the bank, for drawing lines; empty if unknown
        now: time in seconds for updating texts and charts in turns, while cubes change
            continuously, or None; when `chosen` changes, everything is redrawn at once
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
    present: bool = False
    hover_neuron: Neuron | None = None
    pinned_neuron: Neuron | None = None
    pointed: Piece | None = None
    opened: bool = False
    maps: NeuronMaps | None = None
    pane: Pane | None = None
    marks: bool = False
    menus: float = 0.0
    panel: float = 0.0
    focus: Focus | None = None
    attention: float = 1.0
    look: Look = field(default_factory=Look)
    beside: Sequence[int] = ()
    walked: Neuron | None = None
    guess: Guess | None = None
    held: Held | None = None
    begun: FloatArray | None = None
    weights: FloatArray = field(default_factory=nothing)
    now: float | None = None
    chosen: object = None
    _divisions: dict[tuple[float, float], Division] = field(default_factory=dict, init=False)

    def with_numbers(self, **numbers: object) -> FrameData:
        """Return it with other numbers, keeping its boxes and other cached values."""
        made = object.__new__(FrameData)
        made.__dict__.update(self.__dict__ | numbers)
        return made

    @property
    def told(self) -> Caption | None:
        """The caption of an operation, explained in the picture unless guessing; or None."""
        return self.words.caption if self.moment is not None and self.guess is None else None

    @property
    def begun_rows(self) -> list[int]:
        """The bank indices of the cubes with outlines of their initial size."""
        plates = [] if self.begun is None else [each for each in self.layout.plates if each.in_row]
        return [row for each in plates for row in each.cells()[2].tolist()]

    @property
    def names_row(self) -> bool:
        """Whether the first row has call-outs: before any operation, or with the key to marks."""
        away = self.moment, self.guess, self.held, self.pinned, self.hover
        neurons = self.pinned_neuron, self.hover_neuron
        is_alone = all(each is None for each in (*away, *neurons))
        return is_alone and (self.words.is_first or self.marks)

    def division(self, width: float, height: float) -> Division:
        """Return the boxes of a picture of this size, in logical pixels."""
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
        if self.pane is not None:
            return Division.of_pane(width, height, self.pane.scale, exhibit=exhibit, card=card)
        return Division.of(
            *(width, height),
            exhibit=exhibit,
            card=card,
            present=self.present,
            menus=self.menus,
            panel=self.panel,
            chart=self.curve.large,
        )


# The surroundings of the panes in a picture of several networks.


@dataclass(frozen=True)
class Compared:
    """Contents drawn around the panes.

    Attributes:
        heads: of the columns of the table, except the names, each with its rank: if space is short,
            columns of a high rank are left out
        rows: the panes, each with a text for each head
        seen: contents of the selected session's pane, with the caption as its title, and with
            scales, losses and messages of all
        chosen: index of the pane marked as selected; None for none
    """

    heads: Sequence[tuple[str, int]]
    rows: Sequence[tuple[Pane, Sequence[str]]]
    seen: FrameData
    chosen: int | None = None
