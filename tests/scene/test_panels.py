"""Panels, the strip of operations and the loss scale.

They show what the arrays say, pixel by pixel.
"""

import itertools
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.scales import apart, round_down, round_up
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import typeset
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, Theme, rgb
from scalarviz.scene.charts import (
    EDGE,
    PARTS,
    draw_history,
    draw_loss,
)
from scalarviz.scene.curve_points import heights, shown, thinned
from scalarviz.scene.frame_data import (
    BranchLine,
    CubeValues,
    Curve,
    FrameData,
    History,
    Measured,
    PictureWords,
)
from scalarviz.scene.inspector import draw_inspector, wrapped
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.loss_chart import (
    AXIS,
    BELOW,
    SHARES,
    TOP,
    curve_scale,
    loss_scale,
    smoothed_of,
    words_beside,
)
from scalarviz.scene.overlay import draw_band
from scalarviz.scene.strip import draw_hovered, draw_strip
from scalarviz.story.caption import Caption, Card, CardLine, CardTable
from scalarviz.training.session.reading import cells_of
from tests.scene.measures import DARK, Words
from tests.studio import Studio, at

WIDTH, HEIGHT = 500, 320
BOX = Box(10.0, 10.0, 480.0, 300.0)
RNG = np.random.default_rng(0)


def drawn_in(pixels: np.ndarray, color: str, within: int = 2) -> np.ndarray:
    """Where a color is, as (x, y) of each pixel."""
    own = rgb((color[:7],))[0] * 255.0
    y, x = np.nonzero(np.abs(pixels - own).max(axis=2) <= within)
    return np.stack([x, y], axis=1) + 0.5


# The loss.

LOSSES = 10.0 ** np.linspace(0.0, -2.0, 11)


def curve(**more: object) -> Curve:
    return replace(Curve(np.arange(1.0, 12.0), LOSSES, 11.0, float(LOSSES[-1])), **more)


LEFT = 60.0


def plot_of(box: Box, right: float = 0.0) -> Box:
    """Of a narrow chart."""
    wide = box.right - EDGE - right - LEFT
    return Box(LEFT, box.y + PARTS, wide, box.height - PARTS - BELOW)


def loss_place(step: float, loss: float, last: float = 11.0, right: float = 0.0) -> np.ndarray:
    """On a linear scale from 0 to the largest loss, 1, and a bit more."""
    plot = plot_of(BOX, right)
    return np.array([plot.x + step / last * plot.width, plot.bottom - loss / TOP * plot.height])


@pytest.fixture
def canvas() -> Canvas2D:
    return Canvas2D(WIDTH, HEIGHT)


def test_the_curve_passes_through_the_losses(canvas: Canvas2D, studio: Studio) -> None:
    draw_loss(canvas, BOX, LEFT, curve(), DARK)
    line = drawn_in(studio.paper(canvas), DARK.loss)
    for step, loss in enumerate(LOSSES[:-1], 1):
        assert np.hypot(*(line - loss_place(step, loss)).T).min() < 1.6
    assert {"loss now .0100", "start", "1.00", "step 11"} <= set(canvas.words)


@pytest.mark.parametrize(("wide", "is_said"), [(420.0, False), (620.0, True)])
def test_a_hint_is_no_wider_than_the_plot(wide: float, is_said: bool) -> None:
    canvas = Canvas2D(WIDTH, HEIGHT)
    shown = curve(at=1.0, measure="softmax_cross_entropy", large=True)
    draw_loss(canvas, Box(0.0, 10.0, wide, 300.0), 0.0, shown, DARK)
    hint = text("chart.hint.unsure")
    assert (hint in canvas.words) == is_said


def test_another_branch_is_a_thin_line(studio: Studio) -> None:
    others = [BranchLine(1, np.arange(1.0, 22.0), np.full(21, 0.3))]
    canvas = Canvas2D(WIDTH, HEIGHT)
    draw_loss(canvas, BOX, LEFT, curve(others=others), DARK)
    pixels = drawn_in(studio.paper(canvas), DARK.ghost, 40)
    for step in (3.0, 12.0, 20.0):
        assert np.hypot(*(pixels - loss_place(step, 0.3, 21.0)).T).min() < 1.5
    assert {"grey: other branch", "21", "step 11"} <= set(canvas.words)


def test_a_mean_is_strong_and_the_losses_are_faint(canvas: Canvas2D, studio: Studio) -> None:
    draw_loss(canvas, BOX, LEFT, curve(smoothed=np.full(11, 0.05)), DARK)
    strong = drawn_in(studio.paper(canvas), DARK.loss, 40)
    assert np.hypot(*(strong - loss_place(3.5, 0.05)).T).min() < 1.5
    assert np.hypot(*(strong - loss_place(2.0, LOSSES[1])).T).min() > 20.0
    faint = drawn_in(studio.paper(canvas), DARK.loss, 180)
    assert np.hypot(*(faint - loss_place(2.0, LOSSES[1])).T).min() < 1.5


def test_only_the_steps_wanted_are_drawn(canvas: Canvas2D, studio: Studio) -> None:
    chart = draw_loss(canvas, BOX, LEFT, curve(first=4.0, last=8.0), DARK)
    assert chart is not None and (chart.first, chart.last, chart.end) == (4.0, 8.0, 11.0)
    assert any(each.startswith("steps 4 to 8") for each in canvas.words)
    line = drawn_in(studio.paper(canvas), DARK.loss)
    plot = plot_of(BOX)
    assert plot.x - 5.0 < line[:, 0].min() and line[:, 0].max() < plot.right + 5.0
    assert [chart.step_at(x) for x in (0.0, plot.x + plot.width / 2.0, 999.0)] == [4, 6, 8]


def test_a_line_is_meant_near_it_but_not_where_the_curve_is() -> None:
    others = [
        BranchLine(1, np.arange(1.0, 12.0), np.full(11, 0.3)),
        BranchLine(2, np.arange(1.0, 12.0), np.full(11, 0.9)),
    ]
    chart = draw_loss(Canvas2D(WIDTH, HEIGHT), BOX, LEFT, curve(others=others), DARK)
    for number, loss in ((1, 0.3), (2, 0.9)):
        x, y = loss_place(7.5, loss)
        assert [chart.branch_at(x, y + dy) for dy in (0, -5, 5)] == [number] * 3
        assert chart.branch_at(x, y - 12.0) is None
    assert chart.branch_at(*loss_place(2.0, LOSSES[1])) is None


def test_metrics_have_curves_and_numbers(studio: Studio) -> None:
    steps = np.array([2.0, 8.0, 11.0])
    metrics = (
        Measured("held out", False, steps, np.array([0.5, 0.3, 0.3])),
        Measured("accuracy", True, steps, np.array([0.25, 0.76, 0.76])),
    )
    canvas = Canvas2D(WIDTH, HEIGHT)
    draw_loss(canvas, BOX, LEFT, curve(metrics=metrics), DARK)
    pixels = studio.paper(canvas)
    held_out = drawn_in(pixels, DARK.ink, 40)
    assert np.hypot(*(held_out - loss_place(9.5, 0.3, right=SHARES)).T).min() < 1.5
    accuracy, plot = drawn_in(pixels, DARK.metric, 40), plot_of(BOX, SHARES)
    place = plot.x + 9.5 / 11.0 * plot.width, plot.bottom - 0.76 * plot.height
    assert np.hypot(*(accuracy - place).T).min() < 1.5
    assert {"0%", "50%", "100%"} <= set(canvas.words)
    usual, pointed = curve(metrics=metrics), curve(metrics=metrics, pointed=10)
    for late in (usual, replace(usual, at=12.0), pointed):
        draw_loss(canvas := Canvas2D(1420, HEIGHT), replace(BOX, width=1400.0), LEFT, late, DARK)
        assert {"held out .300", "accuracy 76 %"} <= set(canvas.words)


def test_a_mark_is_on_the_curve(studio: Studio) -> None:
    draw_loss(canvas := Canvas2D(WIDTH, HEIGHT), BOX, LEFT, curve(marks=[(4, "grown")]), DARK)
    apart = drawn_in(studio.paper(canvas), DARK.accent) - loss_place(4.0, LOSSES[3])
    assert (np.hypot(*apart.T) < 3.0).sum() > 20


def test_numbers_beside_the_loss_end_where_the_chart_does() -> None:
    numbers = np.array([2.0]), np.array([0.5])
    metrics = tuple(Measured(f"metric {i}", False, *numbers) for i in range(4))
    for width in range(240, 900, 12):
        canvas = Words(width + 20.0, HEIGHT)
        chart = draw_loss(canvas, Box(10.0, 10.0, width, 300.0), LEFT, curve(metrics=metrics), DARK)
        assert chart is not None and max(box.right for _, box in canvas.found) <= width + 10.0
        over = [each for each, box in canvas.found if box.meets(chart.plot)]
        assert not any(each.startswith("metric") for each in over)  # no word lies on the curve


@pytest.mark.parametrize(("at", "said"), [(0.0, "(step 1)"), (12.0, "(step 11)")])
def test_beside_a_step_without_a_loss_is_the_last_known_one(at: float, said: str) -> None:
    seen = replace(curve(), at=at, loss=math.nan)
    loss, *_ = words_beside(seen)
    assert loss.startswith("loss ") and loss.endswith(said)
    for width in (700.0, 1400.0):
        draw_loss(canvas := Canvas2D(1420, HEIGHT), replace(BOX, width=width), LEFT, seen, DARK)
        assert not {"loss", f"{loss[:9]}..."} & {*canvas.words}


def test_losses_below_zero_have_a_curve_and_numbers(canvas: Canvas2D) -> None:
    falling = replace(curve(), losses=np.linspace(1.0, -3.0, len(curve().losses)), loss=-3.0)
    chart = draw_loss(canvas, BOX, LEFT, falling, DARK)
    assert chart is not None and np.isfinite(chart.own).all()
    assert {"start", "1.00"} <= set(canvas.words)
    assert not {text("chart.log"), text("chart.perfect"), "no step yet"} & set(canvas.words)
    draw_loss(canvas := Canvas2D(1420, HEIGHT), replace(BOX, width=1400.0), LEFT, falling, DARK)
    assert "−3" in canvas.words  # the bottom of the scale


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)], ids=["falls", "rises"])
def test_the_curve_runs_through_no_word_of_its_plot(order: slice) -> None:
    canvas, seen = Words(1420.0, HEIGHT), curve(losses=LOSSES[order], at=5.0, measure="mse")
    chart = draw_loss(canvas, replace(BOX, width=1400.0), LEFT, seen, DARK)
    assert chart is not None
    x = np.linspace(chart.plot.x, chart.plot.right, 500)
    y = np.interp(x, *chart.own.T)
    within = [(words, box) for words, box in canvas.found if chart.plot.has(box.x, box.y + 1.0)]
    said = [words for words, _ in within]
    assert {"11", text("chart.hint.squared")} <= set(said)
    for words, box in within:
        assert not any(map(box.has, x, y)), words


def test_a_long_curve_keeps_its_highest_and_its_lowest() -> None:
    y = RNG.normal(size=5_000)
    y[1234], y[4321] = 99.0, -99.0
    points = np.stack([np.arange(5_000.0), y], axis=1)
    found = thinned(points, 100.0)
    assert len(found) == 200 and {99.0, -99.0} <= set(found[:, 1].tolist())
    assert thinned(points[:150], 100.0) is not None and len(thinned(points[:150], 100.0)) == 150


def history(steps: object, values: object, known: object) -> History:
    return History(np.array(steps, float), np.array(values, float), np.array(known, bool))


def test_a_history_goes_from_the_first_value_to_the_last(canvas: Canvas2D, studio: Studio) -> None:
    box = Box(10.0, 10.0, 258.0, 76.0)
    draw_history(canvas, box, history([0.0, 100.0, 200.0], [-1.0, 3.0, 1.0], [True, True]), DARK)
    pixels = studio.paper(canvas)
    line = drawn_in(pixels, DARK.accent)
    plot = history_plot(canvas, box)
    for part, up in ((0.25, 0.5), (0.5, 1.0), (0.75, 0.75)):
        place = [plot.x + part * plot.width, plot.bottom - 2.0 - up * (plot.height - 4.0)]
        assert np.hypot(*(line - place).T).min() < 1.6
    end = plot.right, plot.bottom - 2.0 - 0.5 * (plot.height - 4.0)
    np.testing.assert_allclose(at(pixels, end), rgb((DARK.ink,))[0] * 255.0, atol=3)
    assert canvas.words == ["-1", "3", "0", "step 200"]


def history_plot(canvas: Canvas2D, box: Box) -> Box:
    axis = max(canvas.measure(each, size=12.0) for each in ("-1", "3")) + 6.0
    return Box(box.x + axis, box.y + 4.0, box.width - axis - 4.0, box.height - 21.0)


def test_a_history_is_thin_where_it_is_not_known(canvas: Canvas2D, studio: Studio) -> None:
    box = Box(10.0, 10.0, 258.0, 76.0)
    draw_history(canvas, box, history([0.0, 100.0, 200.0], [-1.0, 3.0, 3.0], [True, False]), DARK)
    pixels, plot = studio.paper(canvas), history_plot(canvas, box)
    part = pixels[int(plot.y) : int(plot.bottom) - 2, int(plot.x) + 4 : int(plot.right) - 8, :3]
    light = np.abs(part.astype(float) - np.median(part, axis=(0, 1))).sum(axis=(0, 2))
    known, _, unknown = np.array_split(light, 3)
    assert 0.0 < unknown.min() <= unknown.max() < 0.7 * known.min()


# Panels and the inspector.


CARD = Card(
    3,
    "input B → neuron 1",
    blocks=[
        CardLine("0.54 → 0.52", "large", "step 300"),
        history([0.0, 1.0, 2.0], [0.5, 0.25, 0.75], [True, True]),
        CardLine("Why did it change?", "strong"),
        CardLine(
            "Input B sent 0.27, neuron 1 was off by delta 0.0018: added up, that is grad -0.0063."
        ),
        CardTable(
            ("sample", "x", "delta", "x × delta"),
            [(str(i), "0.5", f"0.00{i}1", f"0.00{i}") for i in range(9)],
            [(f"... {9 - i} more", "", "", "0.07") for i in range(9)] + [()],
            ("grad", "", "", "-0.0063"),
            0,
        ),
        *(CardLine(f"m{i} = 0.9 × 0.01 + 0.1 × -0.00625 + 0.0000001 = 0.48") for i in range(4)),
    ],
)


def words_of(card: Card, box: Box) -> list[str]:
    canvas = Canvas2D(WIDTH, 700)
    draw_inspector(canvas, box, card, DARK)
    return list(canvas.words)


def test_the_inspector_writes_all_that_is_on_the_card() -> None:
    said = words_of(CARD, Box(10.0, 10.0, 280.0, 640.0))
    whole = " ".join(" ".join(said).split())
    for block in CARD.blocks:
        if isinstance(block, CardLine):
            assert block.words in whole and block.aside in whole
    for cells in [["sample", "x"], ["0.0021", "0.002"], ["grad", "-0.0063"], ["0", "step 2"]]:
        assert set(cells) <= set(said)
    assert not any("more" in words for words in said)


def test_where_there_is_less_room_rows_go_first_then_the_history_and_nothing_is_cut_off(
    studio: Studio,
) -> None:
    seen = []
    for height in (640.0, 470.0, 368.0, 310.0, 250.0, 150.0, 60.0):
        box = Box(10.0, 10.0, 280.0, height)
        canvas = Canvas2D(WIDTH, 700)
        draw_inspector(canvas, box, CARD, DARK)
        letters = (studio.paper(canvas) > 100).all(axis=2).nonzero()
        assert letters[0].max() < box.bottom - 4.0 and letters[1].max() < box.right - 4.0
        said = canvas.words
        rows = sum(each.startswith("0.00") and len(each) == 5 for each in said)
        seen.append((rows, "step 2" in said, any(words.startswith("m3") for words in said)))
        assert (said[-1] == "...") == (not seen[-1][2])
    assert seen[0] == (9, True, True) and 0 < seen[1][0] < 9 and seen[1][1:] == (True, True)
    assert seen[2][1:] == (False, True) and seen[3] == (0, False, True)
    assert not seen[-1][2]
    assert [each[0] for each in seen] == sorted((each[0] for each in seen), reverse=True)


def test_long_names_in_a_table_leave_room_for_its_numbers() -> None:
    name = "pixel 14, 14 of map 12 of layer 3"
    table = CardTable(("from", "x", "weight", "x × weight"), [(name, "0.12", "-0.12", "0.015")], [])
    said = words_of(Card(3, "a", blocks=[table]), Box(10.0, 10.0, 270.0, 300.0))
    assert said[-3:] == ["0.12", "-0.12", "0.015"]
    assert said[-4].startswith("pixel 1") and said[-4].endswith("...")
    numbers = ("-0.1234", "-0.1234", "-0.12345")
    table = CardTable(("from", "x", "weight", "x × weight"), [("neuron 7", *numbers)], [])
    said = words_of(Card(3, "a", blocks=[table]), Box(10.0, 10.0, 260.0, 300.0))
    assert said[-4:] == ["7", *numbers]


def test_points_of_numbers_stand_below_each_other_in_a_column_of_a_card() -> None:
    rows = [("neuron 1", "-12.5", "0.125"), ("neuron 2", "3", "1.4e-8"), ("neuron 3", ".25", "-2")]
    table = CardTable(("from", "x", "weight"), rows, [], ("sum", "-9.25", "0.1250"))
    canvas = Words(WIDTH, HEIGHT)
    draw_inspector(canvas, Box(10.0, 10.0, 260.0, 300.0), Card(3, "a", blocks=[table]), DARK)
    for column in zip(*rows, table.total, strict=True):
        points = [
            box.x + canvas.measure(typeset(words).partition(".")[0], bold=words in table.total)
            for words, box in canvas.found
            if words in column[1:] and any(map(str.isdigit, words)) and words[0] != "n"
        ]
        assert not points or (len(points) >= 3 and np.ptp(points) < 1.0)


def test_a_long_formula_is_broken_before_its_operators(canvas: Canvas2D) -> None:
    line = "  w = w - learning_rate * gradient * something_else"
    parts = wrapped(canvas, line, 150.0, 11.0)
    assert len(parts) > 1 and " ".join(" ".join(parts).split()) == line.strip()
    assert all(canvas.measure(part, size=11) <= 150.0 for part in parts)
    assert parts[0].startswith("  w") and parts[1].startswith("    ")


def test_a_history_and_its_numbers_grow_with_the_picture(studio: Studio) -> None:
    sizes = []
    for scale in (1.0, 2.0):
        canvas = Canvas2D(WIDTH * scale, HEIGHT * scale)
        box = Box(0.0, 0.0, 260.0 * scale, 60.0 * scale)
        draw_history(canvas, box, history(range(3), [0.0, 1.0, 0.5], [1, 1]), DARK, scale)
        pixels = drawn_in(studio.paper(canvas), DARK.quiet, 60)
        sizes.append(np.ptp(pixels[pixels[:, 1] < 20.0 * scale][:, 1]) + 1.0)
    assert 1.6 < sizes[1] / sizes[0] < 2.4


def test_what_stands_for_the_rows_of_a_long_sum_is_never_left_out() -> None:
    rows = [(str(i), "1", "0.5", "0.5") for i in range(6)]
    rests = [(f"... {90 - i} more", "", "", "9") for i in range(7)]
    table = CardTable(("sample", "x", "delta", "x × delta"), rows, rests, ("grad", "", "", "9"))
    for height in range(60, 260, 6):
        said = words_of(Card(3, "a", blocks=[table]), Box(0.0, 0.0, 280.0, float(height)))
        count = sum(said[i + 1 : i + 3] == ["1", "0.5"] for i in range(len(said)))
        assert not count or f"... {90 - count} more" in said


SIZES = [(1280, 800), (800, 500), (640, 420), (420, 300), (260, 210), (2560, 1600)]


def program_of(name: str) -> object:
    if name == "deep":
        return sv.Network([3, *[4] * 16, 3], "tanh", seed=0).program
    if name == "3-8-3":
        return sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0).program
    return load(find(name))(engine="python").session.network.program


def sight(program: object, current: int = 0, **more: object) -> FrameData:
    nothing = np.zeros(0)
    cubes = CubeValues(nothing, nothing, "value", "gradient", np.ones(0), np.ones(0))
    strip = cells_of(program)
    return FrameData(Layout([], [], [], []), cubes, strip=strip, current=current, **more)


def drawn(frame_data: FrameData, size: tuple[float, float], theme: Theme = DARK) -> object:
    canvas = Canvas2D(*size)
    division = Division.of(*size)
    return canvas, division, draw_strip(canvas, division, frame_data, theme)


CHIPS = [
    "1  forward: guess",
    "2  loss: how wrong?",
    "3  backward: what is to blame?",
    "4  step: change every weight",
]


def test_a_step_has_four_parts_and_waits_before_the_first() -> None:
    for current, said in ((0, [text("strip.waits")]), (1, []), (6, []), (12, [])):
        canvas, _, _ = drawn(sight(program_of("3-8-3"), current), (1366, 800))
        assert canvas.words == [*CHIPS, *said]


@pytest.mark.some(6)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["3-8-3", "digits", "normalized", "expression", "deep"])
def test_operations_lie_in_the_strip_side_by_side(name: str, size: tuple[int, int]) -> None:
    program = program_of(name)
    for current in range(len(program.moments) + 1):
        canvas, division, places = drawn(sight(program, current), size)
        boxes = [box for box, _ in places]
        for left, right in itertools.pairwise(boxes):
            assert left.right <= right.x + 1e-6
        assert all(
            division.strip.y <= box.y and box.bottom <= division.strip.bottom for box in boxes
        )
        assert all(box.x > 0.0 and box.right < size[0] for box in boxes)
        assert [done for _, done in places] == [*range(1, len(program.moments) + 1)]
        if size[0] >= 800:
            assert canvas.words[:4] == CHIPS
        assert [words[0] for words in canvas.words[:4]] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_the_part_that_runs_is_filled_in_its_color(studio: Studio, theme: Theme) -> None:
    program = program_of("3-8-3")
    filled = {"error": theme.loss, "backward": theme.push}
    for current in range(len(program.moments) + 1):
        shown = sight(program, current)
        canvas, _, places = drawn(shown, (1280, 800), theme)
        pixels, parts = studio.paper(canvas), [each.part for each in shown.strip]
        for box, done in places:
            runs = current > 0 and parts[done - 1] == parts[current - 1]
            color = filled.get(parts[done - 1], theme.lit) if runs else theme.chip
            low = at(pixels, (box.x + 0.5 * box.width, box.y + 0.5 * box.height + 9.0))
            np.testing.assert_allclose(low, rgb((color,))[0] * 255.0, atol=2)


def test_the_names_of_the_operation_under_the_mouse_are_written_over_it() -> None:
    frame_data = sight(program_of("3-8-3"))
    names = (
        (2, "layer 0: add up   affine 0"),
        (8, "layer 1: gradient   weight gradient 1"),
        (0, ""),
    )
    for done, said in names:
        canvas, division, places = drawn(frame_data, (1280, 800))
        before = len(canvas.words)
        draw_hovered(canvas, places, replace(frame_data, hovered=done), DARK, division.scale)
        assert canvas.words[before:] == [said] * bool(done)


FALLS = np.exp(-np.linspace(0.0, 4.0, 400))  # for most of the time
DROPS = np.append(np.full(30, 0.5), np.full(370, 0.005))  # a hundredfold, in the first steps


def test_the_scale_of_a_curve_begins_at_zero_unless_the_curve_was_flat_there() -> None:
    for losses in (FALLS, np.full(400, 0.3), FALLS[:1], DROPS[:60]):
        assert curve_scale(losses).low == 0.0 and curve_scale(losses).is_linear
        assert curve_scale(losses).high == pytest.approx(TOP * losses.max())
    assert curve_scale(DROPS) == loss_scale(DROPS) and not curve_scale(DROPS).is_linear
    assert curve_scale(FALLS - 0.5) == loss_scale(FALLS - 0.5)


def test_the_scale_of_a_curve_begins_near_its_losses_beside_a_level_that_they_come_near() -> None:
    losses = np.array([3.3, 2.6, 2.31])
    scale = curve_scale(losses, (), 2.56)
    assert scale.is_linear and scale.low == pytest.approx(2.3) and 3.2 < scale.high < 3.5
    assert curve_scale(losses * 0.3, (), 2.56).low == 0.0
    assert not curve_scale(losses, ("log",), 2.56).even


def test_a_curve_with_a_level_shows_means_since_single_losses_say_little() -> None:
    losses = np.tile([2.0, 2.25, 2.5, 2.75, 3.0], 20)
    means = np.array(smoothed_of(losses.tolist(), single=True))
    np.testing.assert_allclose(means, 2.5, atol=0.1)
    curve = Curve(np.arange(100.0), losses, at=50.0, loss=3.0, smoothed=means, level=2.56)
    loss, among, _ = words_beside(curve)
    assert loss == text("chart.mean", loss="2.50") and among == text("chart.among", count=12)
    assert words_beside(replace(curve, level=math.nan))[0] == text("chart.now", loss="3.00")
    begun = replace(curve, at=0.0, start=3.25)  # step 0 has its loss
    unknown = replace(begun, loss=math.nan, level=math.nan)
    for each in (begun, unknown):
        assert words_beside(each)[::2] == ("loss 3.25", "step 0")
    stepped = words_beside(replace(curve, told=("2.3", "2.2")))
    assert stepped[:2] == ("step loss 2.3 → 2.2", "of this step's names")
    canvas = Canvas2D(1280, 200)
    draw_loss(canvas, Box(0.0, 0.0, 1280.0, 180.0), 0.0, curve, DARK)
    assert text("chart.pairs", loss="2.56") in canvas.words
    assert text("chart.perfect") not in canvas.words


@pytest.mark.parametrize(
    ("losses", "said", "missing"),
    [(FALLS, "chart.perfect", "chart.log"), (DROPS, "chart.log", "chart.perfect")],
    ids=["linear", "log"],
)
def test_the_bottom_of_a_scale_is_named_and_a_logarithm_says_so(
    losses: np.ndarray, said: str, missing: str
) -> None:
    seen = Curve(np.arange(1.0, 401.0), losses, 400.0, 0.25, start=0.75)
    for width, is_wide in ((1280.0, True), (880.0, False)):
        canvas = Words(width, 120.0)
        chart = draw_loss(canvas, Box(0.0, 0.0, width, 114.0), LEFT, seen, DARK)
        words, places = zip(*canvas.found, strict=True)
        assert {"start", ".750", "loss now .250", "step 400"} <= set(words)
        assert not any(text(missing) in each for each in words)
        assert any(text(said) in each for each in words) == (is_wide or said == "chart.log")
        assert (text("chart.better") in words) == is_wide
        assert chart is not None and chart.plot.x == LEFT + AXIS * is_wide
        start = places[words.index("start")]
        assert start.right <= chart.plot.x if is_wide else start.y >= chart.plot.bottom - 2.0
        for i, box in enumerate(places):
            assert box.x >= 0.0 and box.right <= width and box.bottom <= 116.0, words[i]
            assert not any(map(box.meets, places[:i])), words[i]


def test_a_large_chart_leaves_room_for_the_names_of_layers() -> None:
    for large in (False, True):
        canvas = Words(600.0, 200.0)
        chart = draw_loss(canvas, Box(0.0, 0.0, 600.0, 194.0), LEFT, curve(large=large), DARK)
        assert chart is not None and chart.plot.x == LEFT + AXIS * large
        assert (text("chart.perfect") in [words for words, _ in canvas.found]) == large


def test_a_step_that_is_explained_has_both_losses_of_its_samples() -> None:
    words = PictureWords("", "", Caption("The weight moved.", losses=("0.094", "0.092")))
    frame_data = sight(program_of("3-8-3"), curve=curve(), words=words)
    draw_band(canvas := Canvas2D(1280, 800), Division.of(1280, 800), frame_data, DARK)
    assert {"loss .094 → .092", text("chart.by"), "step 10 → 11"} <= set(canvas.words)
    words = PictureWords("", "", Caption("The weight moved.", losses=("0.002244", "0.002243")))
    frame_data = sight(program_of("3-8-3"), curve=curve(), words=words)
    draw_band(canvas := Canvas2D(1280, 800), Division.of(1280, 800), frame_data, DARK)
    assert {"loss .002244", "→ .002243"} <= set(canvas.words)
    pointed = curve(told=("0.094", "0.092"), pointed=4, reads=0.5)
    draw_loss(canvas := Canvas2D(WIDTH, HEIGHT), BOX, LEFT, pointed, DARK)
    assert {"loss .500", "step 4"} <= set(canvas.words)


def test_a_part_of_the_steps_begins_with_its_own_loss() -> None:
    part = curve(first=4.0, last=8.0, start=0.75)
    draw_loss(canvas := Canvas2D(WIDTH, HEIGHT), BOX, LEFT, part, DARK)
    assert {"step 4", f"{LOSSES[3]:.3f}".lstrip("0")} <= set(canvas.words)
    assert not {"start", ".750"} & set(canvas.words)


def test_losses_above_zero_have_a_logarithmic_scale() -> None:
    scale = loss_scale(np.array([0.8, 0.03]))
    assert (scale.low, scale.high, scale.is_linear) == (0.03, 0.8, False)
    found = heights(scale, np.array([0.03, 0.8, 0.0, -1.0, math.nan]))
    np.testing.assert_allclose(found, [0.0, 1.0, math.nan, math.nan, math.nan], atol=1e-12)


@pytest.mark.parametrize(
    ("losses", "low", "high"),
    [
        ([-3.0, -4.7], -4.8, -3.0),
        ([2.3, -0.4], -0.5, 2.5),
        ([-7.0], -7.0, -6.0),
        ([5.0, -95.0], -100.0, 20.0),
    ],
)
def test_with_losses_below_zero_it_is_linear(losses: list[float], low: float, high: float) -> None:
    scale = loss_scale(np.array(losses))
    assert (scale.low, scale.high) == pytest.approx((low, high)) and scale.is_linear
    assert heights(scale, np.array([low, (low + high) / 2.0, high])) == pytest.approx(
        [0.0, 0.5, 1.0]
    )


def test_any_finite_losses_have_a_scale() -> None:
    largest = sys.float_info.max
    for losses in ([largest, -largest], [-5e-324], [5e-324, -5e-324], [largest], [5e-324, largest]):
        scale = loss_scale(np.array(losses))
        assert math.isfinite(scale.high - scale.low) and scale.low < scale.high


def test_of_a_logarithm_zeros_are_left_out() -> None:
    assert shown(np.array([0.0, 1.0, math.inf, math.nan])).tolist() == [1.0]
    assert shown(np.array([0.0, -1.0, math.inf])).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("between", [1.0, 1.9999, 2.0, 4.9, 5.0, 9.99, 1e-7, 3e200])
def test_four_to_ten_steps_are_between_two_losses(between: float) -> None:
    assert 4.0 - 1e-9 <= between / apart(between) <= 10.0 + 1e-9


@pytest.mark.parametrize("value", [1e-7, 0.3, 0.999999999999999, 1.0, 7.3, 999.9999999999999])
def test_plain_numbers_enclose_a_number(value: float) -> None:
    assert value / 2.01 <= round_down(value) <= value <= round_up(value) <= 1.51 * value


def test_no_number_is_too_large_for_a_plain_one() -> None:
    for value in (1e308, 1.7e308, sys.float_info.max):
        assert value <= round_up(value) <= sys.float_info.max
