"""Pictures of several networks: where panes, table and chart stand, and what is written there."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.compared_picture import ComparedPicture
from scalarviz.scene.frame_data import Compared, ComparedRow, CubeValues, Curve, Head
from scalarviz.scene.layout.division import Box, Division, Panes

SIZES = [(640, 420), (800, 460), (800, 500), (1280, 760), (1280, 800), (3840, 2160), (500, 900)]
COUNTS = range(1, 7)
HEADS = ["step", "loss", "accuracy", "weights", "time a step"]
RANKS = [1, 0, 2, 3, 4]
CELLS = ["12,345,678 + 12", "0.00123", "12,345 of 60,000", "1,234,567", "12.3 ms"]
LEGEND = CubeValues(np.zeros(3), np.zeros(3), "value", "value", np.full(1, 2.0), np.full(1, 2.0))


def losses(count: int) -> Curve:
    return Curve(np.arange(1.0, count + 1.0), np.geomspace(2.0, 1e-3, count), count, 1e-3)


def compared(count: int, name: str = "784-128-10, branch", **more: Any) -> Compared:
    colors = ("#00cba5", "#a855b5", "#f6ea45", "#cf3f35", "#bd9cff", "#e8f0ff")
    rows = [
        ComparedRow(f"{name} {i}", color, CELLS, losses(100 + 20 * i))
        for i, color in enumerate(colors[:count])
    ]
    view = replace(losses(200), end=200.0)
    heads = [Head(words, rank) for words, rank in zip(HEADS, RANKS, strict=True)]
    return Compared(heads, rows, LEGEND, view, **more)


class Texts(Canvas2D):
    """A canvas that knows the box and the size of each text, and where it was clipped."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.written: list[tuple[Box, float, str]] = []
        self.clips: list[Box] = []

    def clip(self, *box: float) -> Any:
        self.clips.append(Box(*box))
        return super().clip(*box)

    def text(self, x: float, y: float, words: str, **style: Any) -> float:
        wide, size = super().text(x, y, words, **style), style.get("size", 13.0)
        left = x - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[style.get("anchor", "left")]
        if words:
            self.written.append((Box(left, y - 0.75 * size, wide, 0.8 * size), size, words))
        return wide


@pytest.fixture
def canvases(monkeypatch: pytest.MonkeyPatch) -> list[Texts]:
    """The canvases that what is around the panes is drawn on."""
    made: list[Texts] = []

    def canvas(*given: Any) -> Texts:
        made.append(Texts(*given))
        return made[-1]

    monkeypatch.setattr("scalarviz.scene.compared_picture.Canvas2D", canvas)
    return made


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_panes_fill_the_picture_above_the_table_and_meet_nothing(
    size: tuple[int, int], count: int
) -> None:
    parts = Panes.of(count, *size)
    assert len(parts.panes) == count
    boxes = [*parts.panes, parts.line, parts.table, parts.chart]
    boxes = [box for box in boxes if box.width and box.height]
    for i, box in enumerate(boxes):
        assert box.x >= 0.0 and box.right <= size[0] and box.y >= 0.0
        assert box.bottom <= size[1] + 1e-9
        assert not any(box.meets(other) for other in boxes[:i])
    sizes = {(box.width, box.height) for box in parts.panes}
    assert max(w for w, _ in sizes) - min(w for w, _ in sizes) <= 1.0
    assert parts.table.height >= (count + 1) * parts.row
    assert sum(box.height for box in (parts.line, parts.table)) <= 0.46 * size[1]
    for i, box in enumerate(parts.panes):
        assert parts.at(box.x + 1.0, box.bottom - 1.0) == i
    assert parts.at(1.0, parts.table.bottom - 1.0) is None


@pytest.mark.parametrize("size", [(7, 5), (60, 40), (200, 150)])
def test_a_tiny_picture_has_panes_only(size: tuple[int, int]) -> None:
    parts = Panes.of(6, *size)
    assert parts.line.height == parts.table.height == parts.chart.height == 0.0
    assert sum(box.width * box.height for box in parts.panes) == size[0] * size[1]


def test_the_curves_stand_in_the_place_of_the_pane_that_a_row_lacks() -> None:
    parts = Panes.of(5, 1280, 800)
    assert parts.chart.x >= parts.panes[-1].right and parts.chart.bottom <= parts.line.y
    assert parts.chart.height > 200.0 and parts.table.width == 1280.0


@pytest.mark.parametrize("size", [(640, 420), (266, 160), (430, 300), (160, 400), (30, 20)])
@pytest.mark.parametrize("card", [0.0, 300.0])
def test_the_parts_of_a_pane_lie_beside_each_other(size: tuple[int, int], card: float) -> None:
    parts = Division.of_pane(*size, 1.0, exhibit=0.36 * size[0], card=card)
    boxes = [parts.head, parts.inner, parts.exhibit, parts.card]
    boxes = [box for box in boxes if box.width and box.height]
    for i, box in enumerate(boxes):
        assert box.x >= 0.0 and box.right <= size[0] + 1e-9 and box.bottom <= size[1] + 1e-9
        assert not any(box.meets(other) for other in boxes[:i])
    assert parts.strip.height == parts.band.height == 0.0 and not parts.legend
    assert bool(parts.card.width) == (card > 0.0 and size[0] >= 560)


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_all_that_is_written_around_the_panes_is_large_enough_and_covers_nothing(
    size: tuple[int, int], count: int, theme: str, canvases: list[Texts]
) -> None:
    parts = Panes.of(count, *size)
    shown = compared(count, caption="Neuron 3 adds up what arrives, " * 6, chosen=1)
    ComparedPicture().flat(parts, shown, THEMES[theme], 1.0)
    (drawn,) = canvases
    for i, (box, letters, words) in enumerate(drawn.written):
        assert letters >= 12.0 * parts.scale - 1e-9, words
        assert box.x >= 0.0 and box.right <= size[0] and box.bottom <= size[1], words
        for other, _, others in drawn.written[:i]:
            assert not box.meets(other), (words, others)
        if words.startswith("Neuron 3"):
            assert parts.line.y <= box.y and box.bottom <= parts.line.bottom
    written = [words for _, _, words in drawn.written]
    assert "step" in written and "loss" in written
    assert sum(words in ("0.00123",) for words in written) == count


def test_columns_that_have_no_room_are_left_out_by_their_ranks() -> None:
    shown = ComparedPicture()
    shown.flat(Panes.of(2, 500, 500), compared(2), THEMES["dark"], 1.0)
    assert "step" in shown.words and "time a step" not in shown.words
    turned = compared(2)
    turned = replace(turned, heads=[replace(each, rank=9 - each.rank) for each in turned.heads])
    shown.flat(Panes.of(2, 500, 500), turned, THEMES["dark"], 1.0)
    assert "step" not in shown.words and "time a step" in shown.words
    shown.flat(Panes.of(2, 1280, 800), compared(2), THEMES["dark"], 1.0)
    assert {*HEADS, *CELLS} <= set(shown.words)


def test_the_chart_has_a_line_for_each_network_and_says_the_losses_under_the_mouse() -> None:
    shown, parts = ComparedPicture(), Panes.of(2, 1280, 800)
    chart = shown.flat(parts, compared(2), THEMES["dark"], 1.0)[1].chart
    assert chart is not None and chart.last == 200.0
    assert parts.chart.has(chart.plot.x, chart.plot.y)
    assert chart.step_at(chart.plot.x + 0.5 * chart.plot.width) == 100
    pointed = compared(2)
    pointed = replace(
        pointed,
        view=replace(pointed.view, pointed=50),
        rows=[
            replace(row, curve=replace(row.curve, reads=row.curve.losses[49]))
            for row in pointed.rows
        ],
    )
    shown.flat(parts, pointed, THEMES["dark"], 1.0)
    for row in pointed.rows:
        assert f"{row.curve.losses[49]:#.3g}" in shown.words


def test_why_a_session_stopped_ends_within_the_chart(canvases: list[Texts]) -> None:
    shown, parts = compared(2, "net"), Panes.of(2, 800, 500)
    stopped = replace(shown.rows[1].curve, marks=[(50, "grad norm rises 12x, " * 9)])
    shown = replace(
        shown,
        view=replace(shown.view, pointed=50),
        rows=[shown.rows[0], replace(shown.rows[1], curve=stopped)],
    )
    chart = ComparedPicture().flat(parts, shown, THEMES["dark"], 1.0)[1].chart
    (box,) = [box for box, _, words in canvases[0].written if words.startswith("net 1: ")]
    assert box.right <= parts.chart.right
    assert chart is not None and canvases[0].clips
    for clip in canvases[0].clips:
        assert clip.y <= chart.plot.y and clip.bottom >= chart.plot.bottom


def test_a_message_has_a_button_and_help_lies_over_everything() -> None:
    shown = ComparedPicture()
    more = {"chips": [("said", "undo")], "offers": ["go on"], "help": [("Space", "play")]}
    _, on_top = shown.flat(Panes.of(2, 1280, 800), compared(2, **more), THEMES["dark"], 1.0)
    boxes = {name: box for box, name in on_top.buttons}
    assert set(boxes) == {"undo", "go on"} and not boxes["undo"].meets(boxes["go on"])
    assert {"said", "undo", "go on", "Space", "play"} <= set(shown.words)
