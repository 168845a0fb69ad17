"""FrameData: all that one picture shows, as numbers and words; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.program import Moment
from scalarviz.view.exhibits.exhibit import Exhibit
from scalarviz.view.scene.plates import Layout

NOTHING = np.zeros(0)


@dataclass(frozen=True)
class CubeValues:
    """What the cubes show, one number a row of the bank.

    colors, sizes      the numbers
    color, size        what they are: "value", "gradient"
    color_scales       the strongest color's number, for each plate
    size_scales        the largest cube's number, for each plate
    per_layer          whether plates have scales of their own
    clipped            how many are beyond the strongest color
    frozen             rows that no step moves
    before             the colors' numbers before the step that is shown, if one is
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


@dataclass(frozen=True)
class Buffers:
    """The focus sample on its way: what each buffer of the program holds, as far as it is known.

    values     by the buffer's name
    saturated  where an activation hardly answers to what goes in, 0 to 1
    left_out   1 where a dropout leaves a number out, else 0
    tints      true colors of neurons, for those that stand for red, green and blue
    scale      the number with the strongest color
    flows      the gradient of the loss by them, as far as it is known
    target     what the outputs should be
    """

    values: Mapping[str, FloatArray] = field(default_factory=dict)
    saturated: Mapping[str, FloatArray] = field(default_factory=dict)
    tints: Mapping[str, FloatArray] = field(default_factory=dict)
    scale: float = 1.0
    flows: Mapping[str, FloatArray] = field(default_factory=dict)
    target: FloatArray | None = None
    left_out: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True)
class Curve:
    """Losses by step, where the clock stands, and those of another branch."""

    steps: FloatArray = field(default_factory=lambda: NOTHING)
    losses: FloatArray = field(default_factory=lambda: NOTHING)
    at: float = 0.0
    loss: float = np.nan
    ghost_steps: FloatArray = field(default_factory=lambda: NOTHING)
    ghost_losses: FloatArray = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True)
class Card:
    """What the inspector says of a cube: its name, and lines of words and numbers.

    history  steps and values, of a pinned one
    """

    row: int
    name: str
    facts: Sequence[tuple[str, str]] = ()
    lines: Sequence[str] = ()
    history: tuple[FloatArray, FloatArray] | None = None


@dataclass(frozen=True)
class Words:
    """What a picture says of the moment.

    title    of the show, `about` a sentence below it
    status   pairs of what and how much, from left to right, at the foot
    caption  what the operation does: a title, a formula, and lines of numbers
    """

    title: str = ""
    about: str = ""
    status: Sequence[tuple[str, str]] = ()
    caption: tuple[str, str, Sequence[str]] | None = None


@dataclass(frozen=True)
class FrameData:
    """One picture.

    moment    what was done last, if it is shown by light; `part` of it is done, 0 to 1
    exhibit   what is learned, if there is a way to show it
    hover, pinned   cards of the inspector
    chips     short messages, each with something that can be pressed, or nothing
    offers    large choices in the middle
    help      the keys, if they are asked for: pairs of key and meaning
    """

    layout: Layout
    cubes: CubeValues
    buffers: Buffers = Buffers()
    curve: Curve = Curve()
    words: Words = Words()
    moment: Moment | None = None
    part: float = 1.0
    exhibit: Exhibit | None = None
    hover: Card | None = None
    pinned: Card | None = None
    chips: Sequence[tuple[str, str]] = ()
    offers: Sequence[str] = ()
    help: Sequence[tuple[str, str]] = ()
