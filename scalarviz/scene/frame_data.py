"""FrameData: everything that one picture shows, as arrays and text, without drawing."""

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

PERCENTILE = 0.94  # share of the numbers of a map that are below its strong colors
BEYOND = 1.1  # how far beyond these the strongest color is
FAINT = 0.05  # of the strongest map of a line: weaker ones are not made to look like it
BESIDE_WALLS, BESIDE_ROWS = 0.28, 0.2  # most of the width of a picture that an exhibit takes
# beside walls, and beside long rows


@dataclass(frozen=True)
class CubeValues:
    """What the cubes show, one number per bank index.

    Attributes:
        colors, sizes: the numbers
        color, size: their channels, such as "value" or "gradient"
        color_scales: number with the strongest color, per plate
        size_scales: number with the largest cube, per plate
        per_layer: whether each plate has its own scales
        clipped: how many numbers exceed the color scale
        frozen: mask of the frozen parameters
        before: the colors' numbers before the step that is shown, if there is one
        grown: the color scale before and after, while it has just grown; else None
        pushes: the gradients known in the step that is shown, NaN where they are not; or None
        top_push: gradient with the longest arrow; None: the largest one
        moved: bank indices of what a step moves most, and how much larger that is drawn
        common: number with the strongest color where plates have one scale together; or None
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
        """The gradient with the longest mark; None if there are no marks."""
        if self.pushes is None or self.top_push:
            return self.top_push
        return float(np.abs(self.pushes[np.isfinite(self.pushes)]).max(initial=0.0)) or None


@dataclass(frozen=True)
class Buffers:
    """The focus sample: what each buffer of the program holds, if it is computed yet.

    Attributes:
        values: activations, by name of the buffer
        saturated: share of saturation of each activation, 0 to 1
        left_out: 1 where dropout drops a number, else 0
        tints: true colors of neurons that stand for red, green and blue
        scale: number with the strongest color, as of cubes that show values
        flows: gradients of the loss, by name of the buffer
        target: targets of the outputs
        answers: outputs as the loss reads them: of logits, their softmax or sigmoid; or None
        raw: buffers in units of their own, and those whose colors they have, behind an Affine
        squared: whether the loss is made of the squares of what outputs are off
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
        order: how they are sorted, or "norms" for the norms of layers; `kind` is what they are
        scale: the number with the strongest color
        names: of the layers, by their labels
        tile: the tile under the mouse, or None
        pinned: tiles of the weights that were pinned last
        says: what is read there, or which weights moved most between two steps
        compared: these two steps, or None
        images: colors of all tiles at all moments, as bytes, by name of the theme, once made
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
        plane: directions and losses as far as they are computed; None before there is one
        done: share of the losses that are computed
        steps: of moments of the branch, and `path`, their places in the plane, shape (moments, 2)
        at: place of the present weights, a ball
        along: what the directions are: "main" or "two", and their `names`
        says: what is read at the mouse, or why there is no plane
        images: colors of the plane as bytes, by what they are made of, once made
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
    """The values of a weight: a line where all are known one by one, else a thin one.

    Attributes:
        steps, values: (n,) the known ones, of which two may be at one step: before and after an
            edit
        known: (n - 1,) whether all values between two of them are known
    """

    steps: FloatArray
    values: FloatArray
    known: FloatArray


@dataclass(frozen=True)
class NeuronMaps:
    """What each neuron computes over all places of the inputs: a plane, or a line along one input.

    Attributes:
        values: by name of the buffer, (neurons, rows, columns); the first row is the top
        is_curve: whether there is one row, along one input
        dot: where the shown sample lies, from 0 to 1 to the right, and up in a plane; or None
        paints: by name of a buffer, what its neurons add to red, green and blue, (neurons, 3)
        discrete: whether maps have two colors only
    """

    values: Mapping[str, FloatArray]
    is_curve: bool = False
    dot: FloatArray | None = None
    paints: Mapping[str, FloatArray] = field(default_factory=dict)
    discrete: bool = False
    images: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def parts(self, buffer: str) -> FloatArray:
        """Return the maps of a buffer as shares of the strongest colors, from about -1 to 1.

        The strongest color is a little beyond all but a few numbers of a map. If maps are discrete,
        they have the two strongest colors only.
        """
        values = self.values[buffer]
        if self.discrete:
            return np.where(values > 0.0, 1.0, -1.0)
        sizes = np.abs(np.nan_to_num(values)).reshape(len(values), -1)
        share = 1.0 if self.is_curve else PERCENTILE  # a curve is seen whole
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
        caption: what the operation did, or another sentence
        is_new: no step is done: `about` is the title of the caption
        rests: nothing happens: the caption says what stands at the loss curve
        task: what is to be learned
        things: what the samples are, such as "dots"
        is_first: it is the moment that was shown first, and nothing plays
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
        text: what is done
        action: label of the button that ends it
        part: how far it is, 0 to 1, or None if nobody knows
    """

    text: str
    action: str
    part: float | None = None


@dataclass(frozen=True)
class Pane:
    """How a picture of one network is a pane of a picture of several.

    Attributes:
        scale: size of letters and margins in the whole picture
        name: of what it shows
        color: of the dot beside the name, as of its loss curve; `about` is written at the right
    """

    scale: float
    name: str
    color: str
    about: str = ""


@dataclass(frozen=True)
class Guess:
    """A weight whose value, or gradient, is guessed before the operation that changes it.

    Attributes:
        row: its bank index
        kind: "value" or "gradient"
        title: the question, or what came of it
        way: the guess: 1 up, -1 down, 0 neither; None before there is one; `label`, what it means
        typed: the number that he has typed; "" for none
        came: the true way; None of a number that is none
        result: the true number; None while it is asked
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
    """What a hand drags at rest, and what the picture was before.

    Attributes:
        row: bank index of the weight; NONE for an input
        neuron: the input, or None
        weights: all numbers of the bank before
        values: activations before, by name of the buffer
        exhibit: what was learned before
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
        moment: the last operation, if it is animated; `part` of it is done, 0 to 1
        exhibit: the result, if there is a way to show it
        hover, pinned: cards of the inspector
        chips: short messages, each with the label of its button or ""
        work: work in the background, or None
        offers: labels of the large buttons
        help: pairs of key and meaning while the help is open
        strip: the operations of a step
        current: number of operations that are done in the step shown, 0 if none is shown
        hovered: `done` of the cell of the strip under the mouse, or 0
        present: whether it is a presentation: with larger letters, and without head and loss
        hover_neuron: the neuron under the mouse, and `pinned_neuron`, or None
        pointed: the piece of the caption under the mouse, or None
        opened: whether the caption shows all terms
        maps: what neurons compute over all places, drawn in their squares, or None
        pane: how it is one of several in a picture, or None
        marks: whether the key to the marks is open
        focus: what is in focus; None: everything
        attention: how far what is out of focus has fallen back, 0 to 1
        look: what a user has decided of the view
        beside: further pinned weights, by their bank indices
        walked: the neuron that the operation has come to, where one goes by neurons; or None
        guess: what is guessed, or None
        held: what a hand drags, or None
        menus, panel: pixels that these take, see `Division.of`
        begun: the numbers of the start if cubes have outlines of them, else None
        weights: all numbers of the bank, which lines are drawn by; empty: not known
        now: seconds at which texts and charts take turns to be drawn, as they do while cubes change
            all the time, or None; `chosen`: when it changes, all is drawn at once
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
        """Return it with other numbers; its boxes, and what else was worked out, stay."""
        made = object.__new__(FrameData)
        made.__dict__.update(self.__dict__ | numbers)
        return made

    @property
    def told(self) -> Caption | None:
        """The caption of an operation, which the picture explains unless one guesses; or None."""
        return self.words.caption if self.moment is not None and self.guess is None else None

    @property
    def begun_rows(self) -> list[int]:
        """The bank indices of the cubes that have outlines of the start."""
        plates = [] if self.begun is None else [each for each in self.layout.plates if each.in_row]
        return [row for each in plates for row in each.cells()[2].tolist()]

    @property
    def names_row(self) -> bool:
        """Whether the first row has call-outs: before anything is done, or by the key to marks."""
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


# What a picture of several networks shows besides their panes.


@dataclass(frozen=True)
class Compared:
    """What is drawn around the panes.

    Attributes:
        heads: of the columns of the table, without that of the names, each with its rank: where
            there is little room, columns of a high rank are left out
        rows: the panes, each with a text for each head
        seen: what the pane of the chosen session shows, with the caption as its title, and with
            scales, losses and messages of all
        chosen: number of the pane that is marked as chosen; None: none is
    """

    heads: Sequence[tuple[str, int]]
    rows: Sequence[tuple[Pane, Sequence[str]]]
    seen: FrameData
    chosen: int | None = None
