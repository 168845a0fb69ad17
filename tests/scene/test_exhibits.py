"""Exhibits at the right end of the stage.

Large, legible, in their box; sorted digits and counts.
"""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts.decimals import short
from scalarviz.scene.annotations import way_on_map
from scalarviz.scene.canvas.canvas2d import image_bytes
from scalarviz.scene.canvas.palette import THEMES, Theme, class_colors, contrast, rgb
from scalarviz.scene.exhibits.answers import Answers
from scalarviz.scene.exhibits.classified import ConfusionMatrix, Sorting, readable_on
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.exhibits.images import Pictures, Swatches
from scalarviz.scene.exhibits.plots import FAINT, LIGHT, FunctionPlot, NeuronMap, Plane
from scalarviz.scene.exhibits.why import sure_words, why_of
from scalarviz.scene.layout.division import Box, Division
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import DARK
from tests.studio import Noted, Studio, at

RNG = np.random.default_rng(0)
COLORS = [RNG.uniform(0.0, 1.0, (8, 3)) for _ in range(3)]
SWATCHES = Swatches(*COLORS)

VALUES = np.repeat(np.linspace(-1.0, 3.0, 40)[:, np.newaxis], 40, axis=1)  # more further down
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
PLANE = Plane(VALUES, 1.0, 2.0, CORNERS, np.array([3.0, -1.0, 3.0, -1.0]), sorts=True)
PLANE = replace(PLANE, outputs=np.array([2.5, 2.0, 0.5, 0.0]), low=(-6.0, -6.0), high=(6.0, 6.0))
MANY = RNG.uniform(0.08, 0.92, (250, 2))
CROWD = replace(PLANE, points=MANY, targets=np.sign(MANY[:, 0] - 0.5) + 1.0)
CROWD = replace(CROWD, outputs=RNG.normal(1.0, 1.0, 250), names=("petal length", "petal width"))
REGRESSION = replace(CROWD, sorts=False, corner=(True, False))
REGRESSION = replace(REGRESSION, first=REGRESSION)

CLASSES = replace(
    CROWD,
    values=np.repeat(np.arange(40)[:, np.newaxis] // 14, 40, axis=1).astype(float),
    targets=np.arange(250) % 3.0,
    outputs=np.where(MANY[:, 0] < 0.8, np.arange(250) % 3.0, 0.0),
    classes=["class 0", "class 1", "class 2"],
)
MANY_CLASSES = replace(CLASSES, classes=[f"the class with the number {i}" for i in range(12)])


def pictures(rows: int, columns: int) -> Pictures:
    now, goal, begun = (image_bytes(RNG.uniform(0.0, 1.0, (rows, columns, 3))) for _ in range(3))
    return Pictures((now, goal), 0.25, first=Pictures((begun, goal), 0.5))


X = np.linspace(-1.0, 3.0, 50)
POINTS = np.array([[-1.0, -1.0], [1.0, 2.0], [3.0, 0.5]])
GRAPH = FunctionPlot(np.sin(X), -1.0, 3.0, POINTS)
COUNTS = np.diag(np.full(10, 30)) + RNG.integers(0, 3, (10, 10))
LABELS = np.repeat(np.arange(10), 8)
SORTING = Sorting(
    RNG.random((80, 8, 8)),
    LABELS,
    np.where(RNG.random(80) < 0.8, LABELS, RNG.integers(0, 10, 80)),
    ConfusionMatrix(COUNTS),
    of="held-out digits",
)
ANSWERS = Answers(RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)), ["deep", "high"])
EXHIBITS: dict[str, Exhibit] = {
    "swatches": replace(SWATCHES, first=SWATCHES),
    "numbers": replace(ANSWERS, first=ANSWERS),
    "class": replace(ANSWERS, targets=np.eye(2)[np.arange(20) % 2], sorts=True),
    "corners": PLANE.marked(np.ones(2)),
    "crowd": CROWD,
    "regression": REGRESSION,
    "classes": replace(CLASSES.marked(np.zeros(2)), first=CLASSES),
    "many classes": MANY_CLASSES,
    "held out": replace(CROWD, tests=MANY[:90], test_targets=np.arange(90) % 2.0, show_tests=True),
    "neuron": NeuronMap(VALUES, np.clip(VALUES, -1.0, 1.0), CROWD),
    "square": pictures(16, 16).marked(np.array([0.0, 1.0])),
    "wide": pictures(8, 40),
    "high": pictures(40, 8),
    "function": replace(GRAPH.marked(np.ones(1)), first=GRAPH),
    "digits": replace(SORTING, first=SORTING),
    "one class": replace(SORTING, said=np.full(80, 5), pictures=np.ones((80, 14, 14))),
}
every_exhibit = pytest.mark.parametrize("exhibit", EXHIBITS.values(), ids=list(EXHIBITS))
every_theme = pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
every_size = pytest.mark.parametrize("size", [(1280, 800), (800, 500), (3840, 2160), (560, 900)])


def drawn(exhibit: Exhibit, size: tuple[int, int], theme: Theme = DARK) -> tuple[Noted, Box]:
    """The exhibit in a picture of this size, and its box."""
    stage = Division.of(*size)
    wanted = exhibit.wanted(stage.scene.width, stage.scene.height)
    division = Division.of(*size, exhibit=wanted)
    canvas = Noted(theme.ground, *size, division.scale)
    exhibit.paint(canvas, division.exhibit, theme)
    return canvas, division.exhibit


def check_order(canvas: Noted, box: Box) -> None:
    """Nothing leaves the box, and no two texts overlap."""
    extent, box = canvas.extent(), box.inside(-1.5)  # letters stand on whole pixels
    assert extent.x >= box.x and extent.y >= box.y
    assert extent.right <= box.right and extent.bottom <= box.bottom
    for one, other in combinations(canvas.written, 2):
        assert not one.box.meets(other.box), (one, other)


# All of them.


@pytest.mark.some(14)
@every_exhibit
@every_size
def test_nothing_leaves_its_box_and_no_two_texts_overlap(
    exhibit: Exhibit, size: tuple[int, int]
) -> None:
    check_order(*drawn(exhibit, size))


def test_a_picture_has_its_exhibit_at_the_right_end_of_the_stage(
    studio: Studio, colours: sv.Session
) -> None:
    stage = Stage(Show(colours))
    pixels = studio.stage(stage, 0.0, (1280, 800))
    words = set(stage.picture().words)
    assert {"in", "out", "goal", "OUT", "step 0"} <= words
    assert [word for word in words if word.startswith("off by")]
    exhibit = stage.frame_data().exhibit
    assert isinstance(exhibit, Swatches)
    box = stage.frame_data().division(1280, 800).exhibit
    assert box.width == exhibit.wanted(1280.0, stage.frame_data().division(1280, 800).scene.height)
    within = pixels[int(box.y) : int(box.bottom), int(box.x) : int(box.right)].reshape(-1, 3)
    for color in exhibit.inputs:
        assert (np.abs(within - color * 255.0).max(axis=1) < 2).sum() > 0.9 * 20.0 * 20.0


@pytest.mark.some(7)
@every_exhibit
@pytest.mark.parametrize("picture", [(1280, 800), (800, 500)])
def test_a_box_of_any_shape_is_enough(exhibit: Exhibit, picture: tuple[int, int]) -> None:
    for size in ((90, 560), (170, 560), (120, 320), (240, 320), (1400, 560), (300, 90)):
        canvas, box = Noted(DARK.ground, *picture), Box(7.0, 9.0, *map(float, size))
        exhibit.paint(canvas, box, DARK)
        check_order(canvas, box)


@pytest.mark.some(14)
@every_exhibit
@every_size
@every_theme
def test_every_text_can_be_read(exhibit: Exhibit, size: tuple[int, int], theme: Theme) -> None:
    canvas, _ = drawn(exhibit, size, theme)
    for written in canvas.written:
        assert written.size >= 12.0 * canvas.scale, written
        assert written.contrast >= 4.5, written


@pytest.mark.parametrize(
    ("name", "large", "small"),
    [
        ("swatches", (282, 282), (203, 204)),
        ("corners", (260, 270), (185, 195)),
        ("square", (460, 468), (300, 340)),
        ("digits", (250, 255), (180, 185)),
        ("function", (300, 340), (210, 250)),
    ],
)
def test_each_wants_so_much_of_the_stage(
    name: str, large: tuple[int, int], small: tuple[int, int]
) -> None:
    exhibit = EXHIBITS[name]
    assert large[0] <= exhibit.wanted(1280.0, 600.0) <= large[1]
    assert small[0] <= exhibit.wanted(800.0, 360.0) <= small[1]
    assert exhibit.wanted(2560.0, 1200.0) > 1.9 * exhibit.wanted(1280.0, 600.0)


@every_exhibit
def test_none_wants_more_than_its_share(exhibit: Exhibit) -> None:
    for width, height in ((1280, 600), (800, 360), (400, 800), (3840, 1700), (300, 200)):
        assert 0.0 < exhibit.wanted(width, height) <= exhibit.most * width + 1e-9


# Swatches.


def places(canvas: Noted, colors: np.ndarray) -> list[Box]:
    """The box of each color."""
    return [
        next(box for box, own in canvas.filled if np.abs(own - color).max() < 1.0 / 255.0)
        for color in colors
    ]


@every_theme
def test_the_samples_stand_in_rows_and_that_in_use_has_a_frame(theme: Theme) -> None:
    shown = SWATCHES.marked(COLORS[0][2], COLORS[1][2], COLORS[2][2])
    canvas, box = drawn(shown, (1280, 800), theme)
    assert canvas.words == ["OUT", "goal", shown.verdict(), "in", "out", "goal"]
    whole, again, *samples = [place for place, _ in canvas.filled[1:]]
    out, goal, _ = shown.places(box, canvas.scale)
    assert whole == again == out.around(goal) and goal.x == out.right  # two halves of one plate
    assert out.width == out.height == goal.width == pytest.approx(64.0)
    columns = samples[:8], samples[8:16], samples[16:]
    for given, said, wanted in zip(*columns, strict=True):
        assert said == wanted and (said.width, said.height) == pytest.approx((64.0, 36.0))
        assert given.width == given.height == pytest.approx(36.0) and given.y == said.y
        assert given.right < said.x - 5.0
    np.testing.assert_allclose(np.diff([each.y for each in columns[0]]), 60.0)
    assert columns[0] == places(canvas, COLORS[0])
    (frame,) = canvas.frames
    inside = [each for each in samples if frame.has(each.x, each.y)]
    assert inside == [column[2] for column in columns]
    assert drawn(replace(shown, focus=np.ones((3, 3))), (1280, 800))[0].frames == []


@every_theme
def test_a_swatch_like_the_ground_has_an_outline_and_an_unknown_one_is_empty(theme: Theme) -> None:
    colors = np.stack([rgb((theme.ground,))[0], [0.9, 0.1, 0.1]])
    canvas, _ = drawn(Swatches(colors, colors[[1, 1]], colors[[1, 1]]), (1280, 800), theme)
    (pale,) = [box for box, own in canvas.filled[1:] if np.abs(own - colors[0]).max() < 1e-9]
    assert canvas.outlined == [pale.place]
    unknown = Swatches(colors[[1, 1]], np.full((2, 3), np.nan), colors[[1, 1]])
    canvas, _ = drawn(unknown, (1280, 800), theme)
    assert len(canvas.filled) == 6 and len(canvas.outlined) == 3  # OUT and two rows
    assert unknown.verdict() == ""


def test_off_by_is_that_of_the_pair_and_the_headline_that_of_all_samples() -> None:
    off = np.abs(COLORS[1][0] - COLORS[2][0]).mean()
    assert SWATCHES.verdict() == f"off by {off:.2f}".replace("0.", ".")
    shown = SWATCHES.marked(np.zeros(3), np.zeros(3), np.ones(3))
    assert shown.verdict() == "off by 1.00"
    assert shown.off() == SWATCHES.off() == pytest.approx(np.abs(COLORS[1] - COLORS[2]).mean())


# OUT, goal, and step 0.


@pytest.mark.parametrize("name", ["swatches", "numbers", "square", "digits"])
@every_size
def test_out_and_goal_stand_side_by_side_and_are_equal_in_size(
    name: str, size: tuple[int, int]
) -> None:
    exhibit = EXHIBITS[name]
    canvas, box = drawn(exhibit, size)
    out, goal, _ = exhibit.places(box, canvas.scale)
    assert (out.width, out.height, out.y) == (goal.width, goal.height, goal.y)
    assert box.x <= out.x < out.right <= goal.x < goal.right <= box.right
    assert (out.right == goal.x) == (name == "swatches")  # two halves of one plate
    heads = {each.words: each.box for each in canvas.written if each.words in ("OUT", "goal")}
    for words, place in (("OUT", out), ("goal", goal)):
        assert [
            each.box
            for each in canvas.written
            if each.words == words
            and each.box.bottom <= place.y + 1.0
            and abs(each.box.x + each.box.width / 2.0 - place.x - place.width / 2.0) < 1.5
        ], heads


@every_size
@pytest.mark.parametrize("name", ["swatches", "classes", "numbers", "square", "function", "digits"])
def test_below_it_stands_how_right_it_is_and_beside_that_what_step_0_gave(
    name: str, size: tuple[int, int]
) -> None:
    exhibit = EXHIBITS[name]
    canvas, _ = drawn(exhibit, size)
    written = next(each for each in canvas.written if each.words == exhibit.verdict())
    assert written.size == pytest.approx(14.0 * canvas.scale)
    said = [words for words in canvas.words if "at the start" in words]
    lacks = size == (560, 900) and name in ("function", "swatches", "square")
    if not lacks:  # too little room there
        assert said and any(words.endswith(exhibit.first.verdict()) for words in canvas.words)
    without, _ = drawn(replace(exhibit, first=None), size)  # type: ignore[type-var]
    assert not [words for words in without.words if "at the start" in words]


@every_exhibit
@every_size
def test_lines_from_the_outputs_end_on_the_left_edge_of_out(
    exhibit: Exhibit, size: tuple[int, int]
) -> None:
    canvas, box = drawn(exhibit, size)
    out = exhibit.places(box, canvas.scale).out
    doors = exhibit.doors(box, canvas.scale)
    assert len(doors) == (3 if isinstance(exhibit, (Swatches, Pictures)) else 1)
    assert all(out.x <= x <= out.x + 0.1 * out.width and out.y < y < out.bottom for x, y in doors)
    if isinstance(exhibit, FunctionPlot) and exhibit.focus is not None:  # to the white dot
        (plot,), (low, high) = exhibit._boxes, exhibit.range()
        up = (exhibit.focus[1] - low) / (high - low)
        assert doors[0][1] == pytest.approx(plot.bottom - up * plot.height)
    elif getattr(exhibit, "focus", None) is None or not isinstance(exhibit, Plane):
        assert sum(y for _, y in doors) / len(doors) == pytest.approx(out.y + out.height / 2.0)
    else:  # to the point that is shown
        across, up = exhibit.focus.tolist()
        plot = exhibit.plot(box, canvas.scale)
        way = way_on_map(plot, across, up)
        assert way[-1] == pytest.approx(
            (plot.x + across * plot.width, plot.bottom - up * plot.height)
        )
        assert way[0] == doors[0] and way[0][1] == way[1][1] and way[1][0] == way[2][0]
    if size == (1280, 800) and len(doors) == 3 and out.height > 64.0:
        assert doors[1][1] - doors[0][1] == pytest.approx(16.0)


def test_the_line_to_a_point_on_an_edge_of_a_map_runs_outside_of_it() -> None:
    box = Box(100.0, 50.0, 200.0, 200.0)
    for up, is_outside in ((0.0, True), (0.01, False), (0.5, False), (1.0, True)):
        (_, level), _, (x, y) = way_on_map(box, 0.75, up)
        assert (x, y) == (250.0, box.bottom - 200.0 * up)
        assert (level < box.y or level > box.bottom) == is_outside == (level != y)


def test_the_line_to_the_point_shown_lies_below_the_dots(monkeypatch: Any) -> None:
    drawn_kinds: list[str] = []
    for kind in ("line", "discs"):
        draw = getattr(Noted, kind)

        def note(
            canvas: Noted, *given: Any, kind: str = kind, draw: Any = draw, **more: Any
        ) -> Any:
            drawn_kinds.append(kind)
            return draw(canvas, *given, **more)

        monkeypatch.setattr(Noted, kind, note)
    drawn(replace(CROWD, focus=np.array([0.5, 0.5])), (1280, 800))
    assert drawn_kinds[:3] == ["line", "line", "discs"]  # over its dark casing


def test_what_the_network_guesses_is_said_in_the_free_corner_if_it_has_room() -> None:
    words = "no dots here: it guesses"
    canvas, _ = drawn(REGRESSION, (1280, 800))
    ((plot, _), *_) = canvas.images_drawn
    (box,) = [each.box for each in canvas.written if each.words == words]
    assert plot.x + 0.3 * plot.width < box.x < box.right < plot.right
    assert plot.y + 0.9 * plot.height < box.y < box.bottom < plot.bottom
    assert words not in drawn(replace(REGRESSION, corner=None), (1280, 800))[0].words
    assert words not in drawn(REGRESSION, (560, 900))[0].words


# The plane.


@every_theme
def test_a_plane_shows_its_map_and_its_samples(studio: Studio, theme: Theme) -> None:
    canvas, _ = drawn(replace(PLANE, outputs=PLANE.targets), (1280, 800), theme)
    pixels = studio.paper(canvas, rgb((theme.ground,))[0])
    ((plot, _),) = canvas.images_drawn
    assert plot.width == pytest.approx(plot.height) and plot.width > 230.0
    assert {"-6", "x", "6", "y"} <= {*canvas.words}  # its axes, if samples are on its edge
    for row in (6, 11, 20, 33):
        full = theme.answers((VALUES[row, 0] - 1.0) / 2.0) * 255.0
        place = (plot.x + 0.75 * plot.width, plot.y + (row + 0.5) / 40 * plot.height)
        np.testing.assert_allclose(at(pixels, place), full, atol=4)
    for (x, y), target in zip(CORNERS, PLANE.targets, strict=True):
        color = rgb(theme.sides)[int(target > 1.0)] * 255.0
        place = (plot.x + x * plot.width, plot.y + (1.0 - y) * plot.height)
        np.testing.assert_allclose(at(pixels, place), color, atol=2)


def test_a_plane_names_its_marks_and_says_how_many_are_right() -> None:
    canvas, _ = drawn(CROWD, (1280, 800))
    right = (CROWD.outputs > 1.0) == (CROWD.targets > 1.0)
    assert f"{right.sum()} of 250 right" in canvas.words and "wrong" in canvas.words
    assert {"OUT", "goal -1", "goal 3"} <= {*canvas.words}
    named, _ = drawn(replace(CROWD, sides=["outside", "inside"]), (1280, 800))
    assert {"inside", "outside"} <= set(named.words) and "goal 3" not in named.words


def test_as_many_right_answers_as_at_the_start_are_better_only_if_nothing_has_moved() -> None:
    begun, again = CROWD, replace(CROWD, outputs=CROWD.outputs + 1e-9)
    for exhibit, is_better in (
        (replace(begun, first=begun), True),
        (replace(again, first=begun), False),
        (replace(again, first=begun, by_hand=True), True),
    ):
        said, was, now, better = exhibit.headline("dots")
        assert said == "of 250 dots right" and was == now and better == is_better


@every_theme
def test_few_samples_are_the_questions_of_a_table(theme: Theme) -> None:
    begun = replace(PLANE, outputs=np.array([0.5, 0.5, 0.5, 1.001]))
    shown = replace(PLANE, first=begun).marked(np.array([6.0, -6.0]))
    canvas, _ = drawn(shown, (1280, 800), theme)
    table = canvas.words[canvas.words.index("at the start") - 2 :]
    assert table[:5] == ["x", "y", "at the start", "now", "goal"]
    assert table[5:10] == ["-6", "-6", ".50", "2.50", "3"]
    assert "1.001" in table  # else it would be rounded to the border
    right = (PLANE.outputs > 1.0) == (PLANE.targets > 1.0)
    rows = canvas.filled[-12:]
    for i, (_, color) in enumerate(rows[1::3]):
        np.testing.assert_allclose(color, theme.answers((PLANE.outputs[i] - 1.0) / 2.0), atol=0.01)
    said = "answers right", "1 of 4", "2 of 4", True
    assert right.sum() == 2 and shown.headline("questions") == said
    (frame,) = [each for each in canvas.frames if each.has(rows[6][0].x, rows[6][0].y)]
    assert frame.has(rows[8][0].right, rows[8][0].bottom)  # of the question in use


@every_theme
@every_size
def test_each_class_has_a_color_and_a_name(size: tuple[int, int], theme: Theme) -> None:
    canvas, _ = drawn(CLASSES, size, theme)
    colors = class_colors(np.arange(3), theme.ground)
    ground = rgb((theme.ground,))[0]
    ((_, map_colors),) = canvas.images_drawn
    for row in (0, 20, 39):
        wanted = ground + FAINT * (colors[row // 14] - ground)
        np.testing.assert_allclose(map_colors[row], np.tile(wanted, (40, 1)))
    every, *_ = canvas.discs_drawn
    dots = rgb((theme.ink,))[0] + LIGHT * (colors - rgb((theme.ink,))[0])
    np.testing.assert_allclose(every[2], dots[np.arange(250) % 3][~CLASSES.wrong])
    assert {"class 0", "class 1", "class 2", "wrong"} <= set(canvas.words)
    assert not any(words.startswith("target") for words in canvas.words)
    right = int((CLASSES.outputs == CLASSES.targets).sum())
    assert 0 < right < 250 and f"{right} of 250 right" in canvas.words
    np.testing.assert_array_equal(CLASSES.wrong, CLASSES.outputs != CLASSES.targets)


def test_what_is_not_one_of_two_classes_is_not_counted() -> None:
    canvas, _ = drawn(REGRESSION, (1280, 800))
    assert not any("right" in words for words in canvas.words)
    off = np.abs(REGRESSION.outputs - REGRESSION.targets).mean()
    assert f"off by {off:.2f}".replace(" 0.", " .") in canvas.words


def test_the_wrong_samples_are_crosses_in_the_color_of_their_class(studio: Studio) -> None:
    canvas, _ = drawn(PLANE, (1280, 800))
    ((every, radius, colors),) = canvas.discs_drawn
    ((plot, _),) = canvas.images_drawn
    assert len(every) == len(colors) == 2
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    for (x, y), color in zip(CORNERS[1:3], rgb(DARK.sides) * 255.0, strict=True):
        middle = np.array([plot.x + x * plot.width, plot.bottom - y * plot.height])
        np.testing.assert_allclose(at(pixels, middle), color, atol=4)
        np.testing.assert_allclose(at(pixels, middle + 0.7 * radius), color, atol=25)
        assert np.abs(at(pixels, middle + np.array([0.75 * radius, 0.0])) - color).max() > 40.0


@pytest.mark.parametrize("size", [(1280, 800), (800, 500)])
def test_the_sample_in_use_is_a_white_dot_on_the_map(studio: Studio, size: tuple[int, int]) -> None:
    canvas, _ = drawn(CROWD.marked(np.array([3.0, -3.0])), size)
    ((plot, _),) = canvas.images_drawn
    place = plot.x + 0.75 * plot.width, plot.y + 0.75 * plot.height
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    np.testing.assert_allclose(at(pixels, place), rgb(("#f0f4fa",))[0] * 255.0, atol=2)


# Pictures.


@pytest.mark.parametrize("name", ["square", "wide", "high"])
def test_pictures_keep_their_proportions(name: str) -> None:
    exhibit = EXHIBITS[name]
    assert isinstance(exhibit, Pictures)
    canvas, _box = drawn(exhibit, (1280, 800))
    out, goal, first = [place for place, _ in canvas.images_drawn]
    rows, columns, _ = exhibit.images[1].shape
    for place in (out, goal, first):
        assert place.width / place.height == pytest.approx(columns / rows)
    assert out.width == pytest.approx(228.0, abs=1.0) or name == "high"  # and a gap
    assert "off by .25" in canvas.words


def test_what_the_network_says_at_the_point_in_use_is_written() -> None:
    shown = pictures(16, 16).marked(np.array([0.25, 0.5]), np.array([0.1, 0.25, 0.75]))
    canvas, _ = drawn(shown, (1280, 800))
    assert "White ring: the position shown." in canvas.words
    assert [words for words in canvas.words if words in (".10", ".25", ".75")] == [
        ".10",
        ".25",
        ".75",
    ]
    boxes = [each.box.inside(0.5) for each in canvas.written]
    assert not any(one.meets(other) for one, other in combinations(boxes, 2))


def test_the_point_in_use_is_marked_in_each_picture() -> None:
    plain = pictures(16, 16)
    before = drawn(plain, (1280, 800))[0]._quads.count
    marked = plain.marked(np.array([0.25, 0.5]))
    assert drawn(marked, (1280, 800))[0]._quads.count == before + 4


# The curve of a function.


def test_a_graph_goes_through_its_outputs(studio: Studio) -> None:
    canvas, box = drawn(GRAPH, (1280, 800))
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    spots, radius, _ = canvas.discs_drawn[0]
    off = GRAPH.verdict()
    (x0, y0), (x1, y1) = spots[0], spots[1]  # of (-1, -1) and (1, 2)
    hue = rgb((DARK.no_yes[0],))[0] * 255.0
    for i in range(2, 48, 5):
        x = x0 + (X[i] + 1.0) / 2.0 * (x1 - x0)
        y = y0 + (np.sin(X[i]) + 1.0) / 3.0 * (y1 - y0)
        near = pixels[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3].reshape(-1, 3)
        assert np.abs(near - hue).max(axis=1).min() < 40
    words = ["OUT now", "2.45", "y", "-1.45", "-1", "3", "x", off, "goal", "OUT", "off by"]
    assert canvas.words == words
    wanted = np.abs(np.interp(POINTS[:, 0], X, np.sin(X)) - POINTS[:, 1]).mean()
    assert off == f"off by {wanted:.2f}".replace(" 0.", " .")
    assert radius >= 3.0 and x1 - x0 > 0.4 * box.width


def test_the_input_in_use_is_marked_on_the_curve(studio: Studio) -> None:
    marked = GRAPH.marked(X[20:21], target=np.array([0.5]))
    assert marked.focus == pytest.approx((X[20], np.sin(X[20]), 0.5))
    canvas, _ = drawn(marked, (1280, 800))
    (x0, y0), (x1, y1) = canvas.discs_drawn[0][0][:2]
    place = x0 + (X[20] + 1.0) / 2.0 * (x1 - x0), y0 + (np.sin(X[20]) + 1.0) / 3.0 * (y1 - y0)
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    np.testing.assert_allclose(at(pixels, place), rgb(("#f0f4fa",))[0] * 255.0, atol=2)
    canvas, _ = drawn(replace(marked, awaits=True), (1280, 800))  # at its goal
    place = place[0], y0 + (0.5 + 1.0) / 3.0 * (y1 - y0)
    pixels = studio.paper(canvas, rgb((DARK.ground,))[0])
    np.testing.assert_allclose(at(pixels, place), rgb(("#f0f4fa",))[0] * 255.0, atol=2)


def test_held_out_samples_are_hollow_and_only_drawn_on_demand() -> None:
    places = RNG.uniform(0.1, 0.9, (60, 2))
    hidden = replace(CROWD, tests=places, test_targets=np.arange(60) % 2 * 4.0 - 1.0)
    shown = replace(hidden, show_tests=True)
    before, _ = drawn(hidden, (1280, 800))
    after, _ = drawn(shown, (1280, 800))
    assert "held out" not in before.words and "held out" in after.words
    assert len(after.discs_drawn) == len(before.discs_drawn) + 2
    below, hollow = after.discs_drawn[:2]
    assert len(below[0]) == len(hollow[0]) == 60 and hollow[2] == DARK.ground
    right = int((~CROWD.wrong).sum())
    assert len(after.discs_drawn[2][0]) == right  # those of the training lie above


@every_theme
def test_a_hollow_sample_has_the_color_of_its_target_around_the_ground(
    studio: Studio, theme: Theme
) -> None:
    one = replace(PLANE, tests=np.array([[0.5, 0.5]]), test_targets=np.array([3.0]))
    canvas, _ = drawn(replace(one, show_tests=True), (1280, 800), theme)
    pixels = studio.paper(canvas, rgb((theme.ground,))[0])
    ((plot, _),) = canvas.images_drawn
    middle = plot.x + 0.5 * plot.width, plot.y + 0.5 * plot.height
    np.testing.assert_allclose(at(pixels, middle), rgb((theme.ground,))[0] * 255.0, atol=2)
    rim = middle[0] + 0.8 * one.radius(plot, 12.0), middle[1]
    np.testing.assert_allclose(at(pixels, rim), rgb(theme.sides)[1] * 255.0, atol=6)


@every_theme
def test_a_discrete_map_has_two_colors_with_a_smooth_border(theme: Theme) -> None:
    slope = np.add.outer(np.arange(40.0), np.arange(40.0)) / 39.0 - 0.5
    canvas, _ = drawn(replace(PLANE, values=slope, discrete=True), (1280, 800), theme)
    ((_, colors),) = canvas.images_drawn
    found = np.unique(np.asarray(colors).reshape(-1, 3).round(6), axis=0)
    wanted = theme.answers(np.array([-1.0, 1.0]))
    np.testing.assert_allclose(found, wanted[np.lexsort(wanted.T[::-1])], atol=1e-5)
    assert colors.shape == (160, 160, 3)  # finer than the map, whose cells would be seen
    odd = replace(PLANE, values=np.full((40, 40), np.nan), discrete=True)
    check_order(*drawn(odd, (1280, 800)))


LABELLED = np.repeat(np.arange(10), 8)
SAID = LABELLED.copy()
SAID[[3, 77]] = 9, 4  # a 0 is taken for a 9, and a 9 for a 4
EVEN_COUNTS = np.diag(np.full(10, 30))
EVEN_COUNTS[0, 9], EVEN_COUNTS[9, 4], EVEN_COUNTS[9, 0] = 1, 6, 2
FLAT = np.repeat(np.linspace(0.0, 1.0, 80), 64).reshape(80, 8, 8)  # each its own grey
EVEN_SORTING = Sorting(FLAT, LABELLED, SAID, ConfusionMatrix(EVEN_COUNTS), of="held-out digits")
BOX = Box(20.0, 30.0, 420.0, 612.0)


def painted(sorting: Sorting, box: Box = BOX, theme: Theme = DARK) -> Noted:
    canvas = Noted(theme.ground, 1280, 800)
    sorting.in_detail().headed().paint(canvas, box, theme)
    return canvas


def columns_of(canvas: Noted, box: Box = BOX) -> list[list[tuple[Box, np.ndarray]]]:
    """Places and pixels of the images of each column, from the top down."""
    left = box.x + 1.2 * 12.0  # right of the numbers of the matrix
    across = (box.right - left) / 10.0
    found: list[list[tuple[Box, np.ndarray]]] = [[] for _ in range(10)]
    for place, pixels in canvas.images_drawn:
        found[int((place.x - left) / across)].append((place, pixels))
    return [sorted(each, key=lambda one: one[0].y) for each in found]


def grey_of(picture: int, theme: Theme) -> np.ndarray:
    """The color of one of the images of a single grey."""
    tray, ink = rgb((theme.tray, theme.ink))
    return np.asarray(tray + picture / 79.0 * (ink - tray))


@every_theme
def test_each_picture_stands_in_the_column_of_its_class_wrong_ones_first(theme: Theme) -> None:
    found = columns_of(painted(EVEN_SORTING, theme=theme))
    wanted = [[77, *range(32, 38)] if i == 4 else [*range(8 * i, 8 * i + 8)] for i in range(10)]
    wanted[0].remove(3)
    wanted[9] = [3, 72, 73, 74, 75, 76, 78, 79]
    assert [len(each) for each in found] == [len(each) for each in wanted]
    for column, pictures in zip(found, wanted, strict=True):
        for (_, pixels), picture in zip(column, pictures, strict=True):
            grey = grey_of(picture, theme) * 255.0
            np.testing.assert_allclose(pixels[..., :3].mean(axis=(0, 1)), grey, atol=2)


def test_a_column_that_is_too_long_says_how_many_are_left() -> None:
    assert "+2" in painted(EVEN_SORTING).words  # nine are taken for a 4, and eight rows fit
    everything = replace(EVEN_SORTING, said=np.full(80, 5))
    assert "+73" in painted(everything).words
    narrow = painted(everything, Box(0, 0, 150, 300)).words
    assert not any(word.startswith("+") for word in narrow)  # nothing rather than a part of it


def test_a_picture_is_the_right_way_up() -> None:
    pictures = np.zeros((80, 8, 8))
    pictures[0, 1, :4] = 1.0  # the upper part, to the left
    ((_, pixels), *_) = columns_of(painted(replace(EVEN_SORTING, pictures=pictures)))[0]
    ink = rgb((DARK.ink,))[0] * 255.0
    assert (np.abs(pixels[1, :4, :3] - ink) < 2).all()
    assert (np.abs(pixels[..., :3] - ink).max(axis=2) < 2).sum() == 4


@every_theme
def test_only_a_wrong_one_has_a_frame_and_its_class_in_the_corner(theme: Theme) -> None:
    canvas = painted(EVEN_SORTING, theme=theme)
    found = columns_of(canvas)
    marks = canvas.frames
    wrong = [found[4][0][0], found[9][0][0]]
    framed = [place for column in found for place, _ in column if place in marks]
    assert framed == wrong
    for place, label in zip(wrong, ("9", "0"), strict=True):
        own = [each for each in canvas.written if place.inside(2.0).meets(each.box)]
        assert [each.words for each in own] == [label]


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_the_table_has_the_counts_and_stands_under_the_columns(
    studio: Studio, theme: Theme
) -> None:
    canvas = painted(EVEN_SORTING, theme=theme)
    assert canvas.words.count("30") == 10
    assert "rows: true class   columns: answer" in canvas.words
    pixels = studio.paper(canvas)
    cells = [box for box, _ in canvas.filled if 12.0 < box.height < 20.0 and box.width > 30.0]
    assert len(cells) == 100
    columns = columns_of(canvas)
    low = max(place.bottom for column in columns for place, _ in column)
    colors = EVEN_SORTING.confusion.colors(rgb((theme.tray,))[0], theme.map)
    for (i, j), box in zip(np.ndindex(10, 10), cells, strict=True):
        middle = columns[j][0][0].x + 0.5 * columns[j][0][0].width
        assert box.x + 0.5 * box.width == pytest.approx(middle, abs=1.0)
        assert low < box.y and box.bottom <= BOX.bottom
        np.testing.assert_allclose(
            at(pixels, (box.x + 3.0, box.y + 3.0)), colors[i, j] * 255, atol=2
        )


def test_a_cell_is_stronger_the_larger_its_share_of_its_row() -> None:
    ground = rgb((DARK.tray,))[0]
    colors = ConfusionMatrix(EVEN_COUNTS).colors(ground, DARK.map)
    away = np.linalg.norm(colors - ground, axis=2)
    assert away[9, 4] > away[9, 0] > away[0, 9] > 0.1 and away[1, 1] > away[0, 0] > away[9, 9]
    assert not away[EVEN_COUNTS == 0].any()
    assert colors[0, 0, 2] > colors[0, 0, 0] and colors[9, 4, 0] > colors[9, 4, 2]
    assert (ConfusionMatrix(0 * EVEN_COUNTS).colors(ground, DARK.map) == ground).all()


@pytest.mark.parametrize("theme", THEMES.values(), ids=list(THEMES))
def test_a_count_can_be_read_on_its_cell(theme: Theme) -> None:
    for share in np.linspace(0.0, 1.0, 21):
        counts = np.round(100.0 * np.array([[1.0 - share, share], [share, 1.0 - share]]))
        confusion = ConfusionMatrix(counts.astype(np.int64))
        colors = confusion.colors(rgb((theme.tray,))[0], theme.map).reshape(-1, 3)
        assert contrast(readable_on(colors), colors).min() >= 4.5


def test_what_is_confused_most_is_said() -> None:
    assert EVEN_SORTING.words() == [
        "300 of 309 held-out digits are right, 97.1%; 9 was taken for 4 6 times"
    ]
    rarely = replace(EVEN_SORTING, confusion=ConfusionMatrix(np.minimum(EVEN_COUNTS, 1)))
    assert rarely.words() == ["10 of 13 held-out digits are right, 76.9%"]
    nothing = replace(EVEN_SORTING, confusion=ConfusionMatrix(0 * EVEN_COUNTS))
    assert nothing.words() == ["0 of 0 held-out digits are right, 0.0%"]


# What an answer rests on, and what is still wrong.

WRONG = [(FLAT[i], int(LABELLED[i]), int(SAID[i])) for i in (3, 77)]
OUTPUTS = np.random.default_rng(3).normal(size=(65, 10))
REASONED = replace(
    EVEN_SORTING,
    says=False,
    names=[*map(str, range(10))],
    wrong=WRONG,
    why=why_of(OUTPUTS.tolist(), 8),
    focus=(int(OUTPUTS[0].argmax()), 2),
    answers=np.eye(10)[int(OUTPUTS[0].argmax())].tolist(),
)


def test_an_answer_rests_on_pixels_without_which_it_leads_by_less() -> None:
    why = why_of(OUTPUTS.tolist(), 8)
    first, second = np.argsort(-OUTPUTS[0])[:2]
    assert (why.said, why.other) == (first, second)
    leads = OUTPUTS[:, first] - OUTPUTS[:, second]
    np.testing.assert_allclose(why.falls, leads[0] - leads[1:])
    assert why.strongest == int(leads[1:].argmin())
    words = drawn_in(REASONED).words
    assert f"Now the {first} leads the {second} by {short(float(leads[0]))};" in words
    assert f"without the framed pixel by {short(float(leads[1:].min()))}." in words


def test_outputs_of_two_equal_classes_have_two_names() -> None:
    why = why_of([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]], 1)
    assert (why.said, why.other, why.lead, why.falls) == (0, 1, 0.0, [-1.0])


def test_wrong_images_stand_over_what_they_are_and_what_was_said() -> None:
    canvas = drawn_in(REASONED)
    assert "2 of the 9 that it still gets wrong:" in canvas.words
    places = {each.words: each.box for each in canvas.written}
    assert canvas.words.count("9") >= 2 and places["is"].y < places["said"].y
    assert len(canvas.images_drawn) == 3  # the map, and two that are wrong


def test_how_sure_an_answer_is_is_said_of_shares_only() -> None:
    assert sure_words([0.995, 0.005], 0) == ["right", ">99 %", "sure"]
    assert sure_words([0.4, 0.6], 0) == ["wrong", "60 %", "sure"]
    assert sure_words([4.0, -6.0], 0) == ["right"]


def test_new_classes_have_the_headline_and_known_ones_a_line_below_it() -> None:
    def sorting(right: list[int]) -> Sorting:
        counts = np.diag(right)
        counts[:, 0] += 20 - np.array(right)  # all others are taken for the first class
        return replace(REASONED, confusion=ConfusionMatrix(counts))

    known, after = sorting([20] + [18] * 7 + [0, 0]), sorting([20] + [17] * 7 + [15, 12])
    shown = after.after(known)
    assert shown.headline("pictures") == ("of 40 pictures of 8 and 9 right", "0", "27", True)
    assert shown.aside() == "of 160 pictures of 0 to 7: 146 \u2192 139"
    assert after.after(sorting([20] + [0] * 9)).aside() == ""  # it knew one class only
    counted = after.after(sorting([20] + [0] * 9)).headline("pictures")
    assert counted is not None and counted[0] == "of 200 unseen pictures right"


@pytest.mark.parametrize("scale", [1.0, 0.625])
def test_the_panel_of_an_operation_takes_the_place_of_the_reasons(scale: float) -> None:
    box = Box(1004.0, 160.0, 252.0 * scale, 520.0 * scale)
    shown, room, panel = REASONED.above(box, scale, 100.0 * scale)
    assert panel is not None and panel.y > REASONED.places(box, scale).out.bottom
    assert (panel.x, panel.width, panel.bottom) == (box.x, box.width, box.bottom)
    assert isinstance(shown, Sorting)
    words = drawn_in(shown, room).words
    assert not any(each.startswith(("Why", "2 of the 9")) for each in words)


@pytest.mark.parametrize("size", [(252.0, 520.0), (180.0, 300.0), (252.0, 300.0)])
def test_texts_about_an_answer_meet_no_others(size: tuple[float, float]) -> None:
    box = Box(20.0, 30.0, *size)
    found = [each.box for each in drawn_in(REASONED, box).written]
    for one, other in combinations(found, 2):
        assert not one.inside(0.5).meets(other.inside(0.5))
    assert all(each.bottom <= box.bottom and each.right <= box.right + 1.0 for each in found)


def test_all_images_are_a_click_away() -> None:
    canvas = drawn_in(REASONED.in_detail())
    assert "rows: true class   columns: answer" in canvas.words
    assert REASONED.details(BOX, 1.0) is not None
    assert REASONED.in_detail().details(BOX, 1.0) is None


def drawn_in(sorting: Sorting, box: Box = BOX) -> Noted:
    canvas = Noted(DARK.ground, 1280, 800)
    sorting.paint(canvas, box, DARK)
    return canvas
