"""A picture.

Cubes, what stands around them, and what is written, each in its place and depth, pixel by pixel.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from vispy.gloo import Program

import scalarviz as sv
from scalarviz.scene import overlay
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.caption_band import clearest, corners, draw_caption
from scalarviz.scene.crossbar_ink import lit_colors
from scalarviz.scene.frame_data import Buffers, CubeValues, FrameData, PictureWords
from scalarviz.scene.labels import Obstacles
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.plates import HALF, Layout
from scalarviz.scene.layout.points import reach_of
from scalarviz.scene.overlay import OnTop, draw_band, draw_chips, draw_head
from scalarviz.scene.picture import Picture
from scalarviz.scene.strip import draw_strip
from scalarviz.story.caption import Caption, Card, CardLine, plain_lines
from tests.scene.measures import DARK, look, stage_of, trained
from tests.studio import Studio, above_number, assert_dimmed, at, facing, lit, shade

SIZE = (760, 560)
RNG = np.random.default_rng(0)
PROGRAM = sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0).program
LAYOUT = facing(PROGRAM)
VALUES, SIZES = RNG.uniform(-1.0, 1.0, 59), 10.0 ** RNG.uniform(-4.0, 0.0, 59)


def sight_of(layout: Layout = LAYOUT, **more: Any) -> FrameData:
    count = len(layout.plates)
    numbers = CubeValues(VALUES, SIZES, "value", "gradient", np.ones(count), np.ones(count))
    return FrameData(layout, numbers, **more)


def framed(picture: Picture, frame_data: FrameData, camera: Camera) -> Camera:
    inner = Division.of(*SIZE).inner
    return camera.framing(reach_of(frame_data.layout.extent), inner.width / inner.height)


def shot(
    studio: Studio,
    picture: Picture,
    frame_data: FrameData,
    camera: Camera,
    size: tuple[int, int] = SIZE,
) -> np.ndarray:
    return studio.shoot(lambda: picture.draw(frame_data, camera, *size, 1.0), *size)


@pytest.fixture
def picture(studio: Studio) -> Picture:
    studio.canvas.set_current()
    return Picture("dark", PROGRAM)


def ids(studio: Studio, frame_data: FrameData, see: Any) -> np.ndarray:
    """Where there is a cube, in the whole picture."""
    return studio.ids(studio.cubes(frame_data.layout.plates, VALUES, SIZES), see) >= 0


@pytest.mark.some(1)
@pytest.mark.parametrize("camera", CAMERAS)
def test_wires_are_seen_between_cubes_and_hidden_behind_them(
    studio: Studio, picture: Picture, camera: str
) -> None:
    with_wires, without = sight_of(), sight_of(replace(LAYOUT, wires=()))
    here = framed(picture, with_wires, CAMERAS[camera])
    changed = shot(studio, picture, with_wires, here) != shot(studio, picture, without, here)
    changed = changed.any(axis=2)
    see = picture.see(with_wires, here, *SIZE)
    # The backs of the largest cubes are as far away as wires: a pixel there may be either.
    assert changed.sum() > 1_000 and (changed & ids(studio, with_wires, see)).sum() <= 5
    for bundle in LAYOUT.wires:
        ends = see(np.stack([bundle.start[0], bundle.end[0]])).xy
        middle = [ends[0] + part * (ends[1] - ends[0]) for part in np.linspace(0.0, 1.0, 60)]
        assert sum(changed[int(y), int(x)] for x, y in middle) > 10


@pytest.mark.parametrize("theme", THEMES)
def test_a_neuron_has_the_color_of_its_number_or_its_own(studio: Studio, theme: str) -> None:
    studio.canvas.set_current()
    picture = Picture(theme, PROGRAM)
    values = {"inputs": np.array([0.2, 0.7, 0.4]), "affine 0": np.linspace(-2.0, 2.0, 8)}
    values["tanh 0"] = np.tanh(values["affine 0"])
    tints = {"inputs": np.diag(values["inputs"])}
    frame_data = sight_of(buffers=Buffers(values, tints=tints, scale=2.0))
    camera = framed(picture, frame_data, CAMERAS["flat"])
    pixels, see = shot(studio, picture, frame_data, camera), picture.see(frame_data, camera, *SIZE)
    first, hidden, last = LAYOUT.neurons
    for line, name, colors in (
        (first, "inputs", np.tile(255.0 * rgb((THEMES[theme].glass,)), (3, 1))),  # not so full
        (hidden, "tanh 0", shade(theme, values["tanh 0"], 2.0)),
        (last, "sigmoid 1", np.tile(255.0 * rgb((THEMES[theme].tray,)), (3, 1))),  # not computed
    ):
        assert line.values == name
        for place, color in zip(above_number(see, line), colors, strict=True):
            np.testing.assert_allclose(at(pixels, place), lit(color), atol=10)


@pytest.mark.parametrize("theme", THEMES)
def test_dim_plates_keep_their_share_and_a_contrast(
    studio: Studio, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalarviz.scene.picture.draw_numbers", lambda *given: None)
    studio.canvas.set_current()
    picture = Picture(theme, PROGRAM)
    loss = next(moment for moment in PROGRAM.moments if moment.kind == "loss")
    frame_data = sight_of(moment=loss)
    frame_data = replace(
        frame_data, cubes=replace(frame_data.cubes, colors=np.linspace(-1.0, 1.0, 59))
    )
    camera = framed(picture, frame_data, CAMERAS["flat"])
    pixels, see = shot(studio, picture, frame_data, camera), picture.see(frame_data, camera, *SIZE)
    for each in LAYOUT.plates:
        for row, column in np.ndindex(each.rows, each.columns):
            place = see(each.point(column + 0.5, row + 0.5, HALF)).xy[0]
            color = shade(theme, frame_data.cubes.colors[each.index_of(row, column)])
            assert_dimmed(at(pixels, place), color, theme)


def test_hover_and_pin_are_drawn_around_their_cubes(studio: Studio, picture: Picture) -> None:
    camera = framed(picture, sight_of(), CAMERAS["orthographic"])
    plain = shot(studio, picture, sight_of(), camera)
    see = picture.see(sight_of(), camera, *SIZE)
    for which, row in (("pinned", 20), ("hover", 58)):
        frame_data = sight_of(
            **{which: Card(row, "a weight", [("value", "1")], [CardLine("a line")])}
        )
        pixels = shot(studio, picture, frame_data, camera)
        each, i, j = LAYOUT.plate_of(row)
        reach = int(0.6 * see(np.zeros((1, 3))).unit[0])
        x, y = see(each.point(j + 0.5, i + 0.5)).xy[0].astype(int)
        box = (slice(y - reach, y + reach), slice(x - reach, x + reach))
        assert (pixels != plain).any(axis=2)[box].sum() > 30
        assert "a weight" in picture.words
        assert ("value" if which == "hover" else "a line") in picture.words


def drawn(
    studio: Studio, picture: Picture, frame_data: FrameData, size: tuple[int, int]
) -> tuple[np.ndarray, OnTop]:
    """A flat picture of this size, and what lies on top of it."""
    found: list[OnTop] = []

    return studio.shoot(
        lambda: found.append(picture.draw(frame_data, CAMERAS["flat"], *size, 1.0)), *size
    ), found[-1]


def test_everything_written_fits_into_a_small_picture(studio: Studio, picture: Picture) -> None:
    line = "= 0.1 * 0.2 + 0.3 * 0.4 + 0.5 * 0.6 = " + "1 + " * 40
    caption = Caption("affine 0", "z = w x + b", plain_lines(line))
    words = PictureWords("A title " * 20, "about " * 40, caption)
    frame_data = sight_of(
        words=words,
        chips=[("a message that is far too long " * 5, "press"), ("short", "")],
        offers=["go on", "start again", "leave"],
        help=[("Space", "go on or pause " * 4)] * 40,
        pinned=Card(3, "name " * 20, [("value", "1")] * 5, [CardLine("line " * 60)] * 30),
    )
    for size in ((1280, 800), (760, 560), (420, 300), (200, 150), (60, 40), (7, 5)):
        pixels, on_top = drawn(studio, picture, frame_data, size)
        assert pixels.shape == (size[1], size[0], 3)
        for box, _ in on_top.buttons:
            assert box.right <= size[0] + 1.0 or size[0] < 420


def test_a_long_message_is_written_whole_in_several_lines(studio: Studio, picture: Picture) -> None:
    said = (
        "the gradient of layer 0, perceptron 12, weight from input 3 is nan, so nothing was changed"
    )
    said += ": lower the learning rate, clip with clip_norm=, or count such gradients as 0"
    for width, height in ((800, 500), (1280, 800), (3840, 2160)):
        frame_data = sight_of(words=PictureWords("It"), chips=[(said, "back to step 12")])
        _, on_top = drawn(studio, picture, frame_data, (width, height))
        words = [each for each in picture.words if len(each) > 15 and each in said]
        ((box, _),) = on_top.buttons
        assert " ".join(words) == said and len(words) > 1
        assert box.height > 17.0 * len(words) and box.right < width


@pytest.mark.some(4)
@pytest.mark.parametrize("size", [(1280, 700), (800, 500), (640, 380), (420, 300), (2560, 1440)])
@pytest.mark.parametrize("pinned", [False, True])
def test_messages_and_offers_lie_over_no_words_and_offers_not_over_the_network(
    studio: Studio, picture: Picture, size: tuple[int, int], pinned: bool
) -> None:
    caption = Caption("A caption of some words", "f(x)", plain_lines("1", "2"))
    frame_data = sight_of(
        words=PictureWords("It learns", "", caption),
        chips=[("something that goes on for a while, and is said", "press"), ("short", "undo")],
        offers=["go on for 2,000 steps", "start again"],
        pinned=Card(3, "a weight", [("value", "1")], [CardLine("a line")]) if pinned else None,
    )
    _, on_top = drawn(studio, picture, frame_data, size)
    parts, boxes = frame_data.division(*size), dict(map(reversed, on_top.buttons))
    for name in ("press", "undo"):
        assert boxes[name].x >= 0.0 and boxes[name].bottom <= parts.scene.bottom
        assert boxes[name].y >= parts.scene.y
        assert not any(boxes[name].meets(each) for each in (parts.exhibit, parts.card))
    assert not boxes["press"].meets(boxes["undo"])
    offers = [box for name, box in boxes.items() if name in frame_data.offers]
    assert len(offers) == 2 or size[0] < 500
    for box in offers:
        assert parts.scene.y <= box.y and box.bottom <= parts.scene.bottom
        assert not any(box.meets(boxes[name]) for name in ("press", "undo"))
    assert "f(x)" not in picture.words  # its place is taken by the offers


@pytest.mark.parametrize("size", [(800, 460), (640, 420), (1280, 760)])
def test_a_message_leaves_room_to_the_neurons_beside_it(
    size: tuple[int, int],
) -> None:
    parts = Division.of(*size, exhibit=110.0)
    said = "New branch from step 2; the old steps are kept"
    frame_data, canvas = (
        sight_of(words=PictureWords("It " * 99), chips=[(said, "return")]),
        Canvas2D(*size),
    )
    _, (box,) = draw_chips(canvas, parts, frame_data, DARK)
    assert box.width < max(0.45 * parts.inner.width, 270.0)
    assert box.bottom < parts.scene.y + 0.2 * size[1]


def test_a_message_stands_in_the_corner_where_it_covers_least() -> None:
    low, left, upper, right = corners(Division.of(860, 760), 300.0, 40.0, [])
    assert upper.x == left.x < right.x == low.x and upper.y == right.y < left.y == low.y
    nothing, none = np.zeros((0, 3)), Obstacles([], np.zeros((0, 3)), np.zeros((0, 4, 2)))
    assert clearest([upper, right], none) is upper
    wall = np.array([[0.0, 0.0], [500.0, 0.0], [500.0, 300.0], [0.0, 300.0]])
    assert clearest([upper, right, low, left], Obstacles([], nothing, wall[np.newaxis])) is right
    spheres = np.array([[right.x + 5.0, right.y + 5.0, 30.0], [low.x, low.y, 5.0]])
    taken = Obstacles([upper.inside(-1.0)], spheres, np.zeros((0, 4, 2)))
    assert clearest([upper, right, low, left], taken) is left
    assert taken.covered(upper) == 1.0 and taken.covered(left) == 0.0
    assert 0.0 < taken.covered(low) < taken.covered(right) < 0.5


def test_messages_in_one_corner_stand_one_after_the_other() -> None:
    parts = Division.of(860, 760)
    boxes: list[Box] = []
    for _ in range(4):
        boxes.append(corners(parts, 300.0, 60.0, boxes)[2])
    assert [box.x for box in boxes] == [parts.inner.x] * 4
    assert all(b.y > a.bottom for a, b in pairwise(boxes))
    lows = [corners(parts, 300.0, 60.0, [])[0]]
    lows.append(corners(parts, 300.0, 60.0, lows)[0])
    assert lows[1].bottom < lows[0].y and lows[1].x == lows[0].x
    assert corners(parts, 300.0, 900.0, []) == []
    upright = Division.of(400, 480, exhibit=200.0)
    assert upright.exhibit.y > upright.inner.bottom
    assert not any(upright.exhibit.meets(box) for box in corners(upright, 200.0, 40.0, []))


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (640, 380), (2560, 1600)])
def test_the_help_is_written_whole_within_the_picture(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[tuple[float, float]] = []
    text = Canvas2D.text

    def written(canvas: Canvas2D, x: float, y: float, words: str, **more: Any) -> float:
        wide = text(canvas, x, y, words, **more)
        ends.append((x + wide, y))
        return wide

    monkeypatch.setattr(Canvas2D, "text", written)
    rows = [("Space, t", "go on or pause " * 2)] * 12
    rows += [("Esc", "close open panels and reset the view")] * 8
    overlay.draw_help(Canvas2D(*size), Division.of(*size), rows, DARK)
    assert len(ends) == 41
    assert all(x < size[0] - 15.0 and y < size[1] - 15.0 for x, y in ends)


def test_a_camera_that_moves_compiles_no_shader(
    studio: Studio, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame_data, camera = sight_of(), CAMERAS["perspective"]
    first = shot(studio, picture, frame_data, camera)
    compiled: list[object] = []
    monkeypatch.setattr(Program, "set_shaders", lambda self, *shaders: compiled.append(shaders))
    second = shot(studio, picture, frame_data, camera.orbited(30.0, 0.0))
    assert compiled == []
    assert np.abs(first - second).max() > 50


scenes = pytest.mark.parametrize(
    ("name", "size"),
    [
        ("rgb", (800, 500)),
        ("xor", (800, 500)),
        ("circle", (1280, 800)),
        *(
            pytest.param(name, size, marks=pytest.mark.slow)
            for name in ("rgb", "xor", "circle", "normalized", "expression")
            for size in ((1280, 800), (3840, 2160))
        ),
    ],
)


@pytest.mark.some(1)
@scenes
@pytest.mark.parametrize("theme", THEMES)
def test_each_cube_has_its_color_where_it_is_seen(
    studio: Studio, name: str, size: tuple[int, int], theme: str
) -> None:
    stage = stage_of(trained(name), size, theme=theme)
    seen, pixels = look(stage), studio.stage(stage, size=size)
    data = stage.frame_data()
    cubes = data.cubes
    scale = float(cubes.color_scales[0])
    colors = dict(enumerate(cubes.colors.tolist()))
    if data.layout.crossbar is not None:  # as bright as products are large
        colors = lit_colors(data)
    judged, least = 0, 120 if data.layout.crossbar is None else 60  # bars are half as wide
    for number, row in enumerate(seen.rows.tolist()):
        own = pixels[seen.picture == number]
        if len(own) < least or abs(colors[row]) < 0.04 * scale:  # small, or of glass
            continue
        color = shade(theme, colors[row], scale)
        # Its color, more or less bright.
        lit = np.minimum(np.arange(0.3, 1.3, 0.05)[:, np.newaxis] * color, 255.0)
        near = np.abs(own[:, np.newaxis] - lit).max(axis=2).min(axis=1) < 12.0
        # The rest are numbers and wires, and brighter than a screen can: on small cubes half.
        assert near.mean() > 0.33, row
        judged += 1
    assert judged > 0.6 * len(seen.rows) or name == "normalized"  # others are small


@pytest.mark.some(1)
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_zooming_draws_nothing_over_what_is_around_the_stage(studio: Studio, factor: float) -> None:
    size = (800, 500)
    stage = stage_of(trained("rgb"), size)
    stage.picture().scene.pool.set_data(np.zeros((0, 3)), np.zeros((0, 3)))  # it lies everywhere
    before = studio.stage(stage, size=size)
    stage.eyes.zoom(factor, 300.0, 180.0)
    after = studio.stage(stage, size=size)
    data, division = stage.frame_data(), stage.frame_data().division(*size)
    view, doors = division.view, data.exhibit.doors(division.exhibit, division.scale)
    outside = np.ones(before.shape[:2], bool)
    top, left = round(view.y), round(view.x)
    outside[top : round(view.bottom), left : round(doors[0][0])] = False  # lines end at OUT
    assert outside.sum() > 50_000
    np.testing.assert_array_equal(after[outside], before[outside])
    assert (after != before).any()


@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "expression"])
def test_at_rest_title_legend_and_timeline_have_few_texts(name: str) -> None:
    frame_data = stage_of(trained(name), (1280, 800)).frame_data()
    canvas, division = Canvas2D(1280, 800), frame_data.division(1280, 800)
    draw_head(canvas, division, frame_data, DARK)
    draw_strip(canvas, division, frame_data, DARK)
    draw_band(canvas, division, frame_data, DARK)
    draw_caption(canvas, division, frame_data, DARK)
    assert 10 <= len(canvas.words) <= 20 and any(each.startswith("loss") for each in canvas.words)
