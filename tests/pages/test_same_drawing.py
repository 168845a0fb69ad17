"""A page draws what a window draws: the same shapes and words, at the same places, in one order.

All that lies flat on the network is compared, over states of several scenes: at rest, in each
operation of a step, with other looks, and with something pinned or under the mouse. Lines and texts
are compared in their order, boxes and images by their places, as a window draws all boxes of a line
of neurons before all its images. Letters have one width here, as fonts of a browser are its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import texts
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.scene_data import scene_data
from scalarviz.scene.canvas.canvas2d import (
    CAPSULE,
    COLUMNS,
    EXTRA,
    FILL,
    HALF,
    IMAGE,
    KIND,
    LINE,
    OUTLINE,
    RADIUS,
    SMOOTH,
)
from scalarviz.scene.layout.sequence_places import Choice
from scalarviz.scene.lights import lights
from scalarviz.scene.look import Look
from scalarviz.scene.picture import beside_network
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.node import as_list, run_script
from tests.pages.states import box_data, state_of, told_data
from tests.scene.measures import played
from tests.studio import OneByOne

SCRIPT = Path(__file__).with_name("drawn.mjs")
SIZE = 1280, 800
LETTER = 0.6  # width of each letter, by their size
PARTS = "doors", "lines", "scenery", "marks", "words"  # of a picture, which lie on the network


@dataclass
class Asked:
    """What is shown of a scene.

    Attributes:
        operation: number of operations of the step that are done; 0: it is at rest
        look: fields of the look
        row: of a weight that is pinned
        neuron: that is under the mouse
        marks: whether the key to the marks is open
        held: row of a weight that a hand drags; it was half, and all neurons, too
    """

    operation: int = 0
    look: dict[str, Any] = field(default_factory=dict)
    row: int | None = None
    neuron: tuple[str, int] | None = None
    marks: bool = False
    held: int | None = None


class Recorded(OneByOne):
    """A canvas that notes its parts and its texts; all letters have one width."""

    def __init__(self, width: float, height: float, ratio: float, scale: float, *_: Any) -> None:
        super().__init__(width, height, ratio, scale)
        self.parts_drawn: list[tuple[str, slice, slice]] = []
        self.told: list[tuple[Any, ...]] = []

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return max(LETTER * (round(size) or 1) * len(line) for line in words.split("\n"))

    def fit(self, words: str, width: float, *, size: float = 13.0, bold: bool = False) -> str:
        kept = words
        while kept and self.measure(kept if kept == words else f"{kept}...", size=size) > width:
            kept = kept[:-1]
        return kept if kept == words else f"{kept.rstrip()}..."

    def text(self, x: float, y: float, words: str, *, size: float = 13.0, **look: Any) -> float:
        anchor, bold = look.get("anchor", "left"), look.get("bold", False)
        self.told.append((round(x, 2), round(y, 2), words, round(size, 2), anchor, bold))
        return self.measure(words, size=size)

    def by_turns(self, name: str, key: object, draw: Any, *, steady: bool = False) -> Any:
        before, told = self._quads.count, len(self.told)
        found = draw(self)
        part = name, slice(before, self._quads.count), slice(told, len(self.told))
        self.parts_drawn.append(part)
        return found

    @property
    def drawn(self) -> tuple[np.ndarray, list[tuple[Any, ...]]]:
        """The shapes and the texts on the network."""
        rows = self._quads.rows(1.0)
        kept = [each for each in self.parts_drawn if each[0] in PARTS]
        said = [words for _, _, told in kept for words in self.told[told]]
        return np.concatenate([rows[quads] for _, quads, _ in kept]), said


def window(
    show: Show, asked: Asked, *, choice: Choice | None = None
) -> tuple[Recorded, Stage, dict[str, Any]]:
    """Draw a state as a window does; return the canvas, and what a page is told of the state."""
    stage = Stage(show, Look(neuron_maps=False, **asked.look), reduced_motion=True)
    stage.resize(*SIZE)
    stage.unfold()  # a page shows no formulas
    stage.pin(asked.row)
    stage.hover_neuron = asked.neuron
    stage.marks = asked.marks
    stage.choice = choice or stage.choice
    stage.frame_data()  # the camera is fitted
    data, held = stage.frame_data(), None
    if asked.held is not None:
        stage.hold(asked.held)
        assert stage.held is not None
        values = {name: 0.5 * each for name, each in stage.held.values.items()}
        held = replace(stage.held, weights=0.5 * stage.held.weights, values=values)
        stage.held = held
        data = stage.frame_data()
    picture = stage.picture()
    see = picture.see(data, stage.eyes.camera, *SIZE)
    lit = lights(data.layout, picture.program, data.moment, data.focus, data.attention)
    made: list[Recorded] = []

    def noted(*given: Any) -> Recorded:
        made.append(Recorded(*given))
        return made[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scalarviz.scene.picture.Canvas2D", noted)
        picture._flat(data, see, lit, 1.0)
    look, caption, division = data.look, data.words.caption, data.division(*SIZE)
    exhibit, room, _ = beside_network(data, division)
    options = {
        "part": data.part,
        "caption": caption and told_data(caption),
        "look": {name: getattr(look, name) for name in ("color", "cubes", "numbers", "ghosts")},
        "pinned": None if asked.row is None else {"row": asked.row},
        "hover": asked.neuron and {"neuron": asked.neuron},
        "marks": asked.marks,
        "held": held
        and {
            "row": held.row,
            "neuron": held.neuron,
            "weights": held.weights.tolist(),
            "values": {name: each.tolist() for name, each in held.values.items()},
        },
        "result": exhibit is not None,
        "doors": exhibit and exhibit.doors(room, division.scale),
        "border": exhibit and exhibit.border and asdict(exhibit.border),
    }
    given = {
        "state": state_of(stage, data),
        "options": options,
        "theme": look.theme,
        "camera": look.camera,
    }
    return made[-1], stage, given


def pages(show: Show, stage: Stage, states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Draw states as a page does."""
    division = stage.frame_data().division(*SIZE)
    task = {
        "texts": dict(texts()),
        "scene": scene_data(show, [stage._shape]),
        "facts": caption_data(show.session),
        "states": states,
        "size": SIZE,
        "box": box_data(division.inner),
        "scale": division.scale,
        "letter": LETTER,
    }
    return run_script(SCRIPT, given=json.dumps(task, default=as_list))  # type: ignore[no-any-return]


def columns_of(shapes: np.ndarray) -> np.ndarray:
    """What is compared of shapes: kind, place and look, and colors as bytes.

    Parts of images and ends of lines are left out: both sides keep images in their own way, and a
    page does not cut lines off where they join. Colors without opacity are all the same.
    """
    kind = np.where(shapes[:, KIND] == IMAGE, SMOOTH, shapes[:, KIND])  # images know it themselves
    look = shapes[:, [RADIUS, LINE]] * (kind != CAPSULE)[:, np.newaxis]
    colors = shapes[:, FILL.start : OUTLINE.stop].reshape(-1, 2, 2)
    packed = np.where(colors[:, :, 1:] % 256 > 0, colors, 0.0).reshape(-1, 4)
    parts = kind, shapes[:, : EXTRA.start], look, packed // 256, packed % 256
    found = np.column_stack(parts)
    is_point = (kind == CAPSULE) & (shapes[:, HALF.start] - shapes[:, HALF.start + 1] < 1e-3)
    return np.asarray(found[~is_point])


def in_order(shapes: np.ndarray) -> np.ndarray:
    """Boxes and images from left to right: those of squares do not meet."""
    return shapes[np.lexsort(np.round(shapes.T[::-1], 1))]


def assert_same(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Assert that shapes are the same, lines in the same order."""
    mine, other = columns_of(ours), columns_of(theirs)
    for is_line in (True, False):
        both = [each[(each[:, 0] == CAPSULE) == is_line] for each in (mine, other)]
        assert len(both[0]) == len(both[1]), is_line
        first, second = both if is_line else map(in_order, both)
        np.testing.assert_allclose(second[:, :11], first[:, :11], atol=0.01)
        np.testing.assert_allclose(second[:, 11:], first[:, 11:], atol=2.0)  # of 255


# What is asked of each scene.
LOOKS = (
    Asked(),
    Asked(look={"numbers": True}),
    Asked(look={"theme": "light", "color": "gradient"}),
    Asked(look={"camera": "flat", "cubes": "gradient"}),
    Asked(row=1),
    Asked(neuron=("inputs", 1)),
)
ONES = ("affine 4", 3), ("relu 2", 70)
SCENES = {
    "rgb": [
        *LOOKS,
        Asked(marks=True),
        Asked(held=1),
        Asked(row=24),
        Asked(neuron=("tanh 0", 2)),
        *map(Asked, range(1, 13)),
    ],
    "xor": [*LOOKS, Asked(look={"ghosts": True}), Asked(held=4), *map(Asked, range(1, 12))],
    "circle": [*LOOKS, Asked(marks=True), *map(Asked, range(1, 8)), Asked(13), Asked(16)],
    "expression": [*LOOKS, *map(Asked, (1, 3, 5, 7, 10, 14, 18))],
    "digits": [*LOOKS, *(Asked(neuron=each) for each in ONES), Asked(2), Asked(5)],
    "texture": LOOKS[:4],
    "normalized": [*LOOKS, Asked(neuron=("tanh 2", 3)), Asked(2)],  # rows of 14
    "xnor": [*LOOKS, Asked(marks=True), Asked(neuron=("relu_right 1", 3)), Asked(2), Asked(9)],
}
OPTIONS = {"normalized": {"hidden": 14}, "xnor": {"hidden": 12}}


def by_words(written: tuple[Any, ...]) -> tuple[Any, ...]:
    x, y, words, *look = written
    return words, *map(str, look), round(x), round(y)


@pytest.mark.parametrize("name", SCENES)
def test_a_page_draws_what_a_window_draws(name: str) -> None:
    show = played(name, 3, engine="cpu", **OPTIONS.get(name, {}))
    for is_resting, group in groupby(SCENES[name], lambda asked: asked.operation == 0):
        drawn: list[Recorded] = []
        states: list[dict[str, Any]] = []
        asked = [*group]
        for each in asked:
            done = show.session.timeline.here.clock.operation
            show.session.advance(each.operation - done, "operation") if not is_resting else None
            canvas, stage, state = window(show, each)
            drawn.append(canvas)
            states.append(state)
        found = pages(show, stage, states)
        for case, canvas, theirs in zip(asked, drawn, found, strict=True):
            rows, said = canvas.drawn
            # Which of two numbers comes first whose cubes are equally far is not said.
            texts = sorted((tuple(given) for given in theirs["texts"]), key=by_words)
            said = sorted(said, key=by_words)
            assert [each[2:] for each in texts] == [each[2:] for each in said], case
            places = [np.array([each[:2] for each in both]) for both in (texts, said)]
            np.testing.assert_allclose(*places, atol=0.0101)  # a hundredth, after rounding to it
            assert_same(rows, np.array(theirs["rows"], np.float64).reshape(-1, COLUMNS))
