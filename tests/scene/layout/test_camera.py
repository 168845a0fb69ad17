"""Cameras, frames and panes: where points of space are seen, and how networks fill the stage."""

import itertools
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.compared_picture import ComparedPicture
from scalarviz.scene.frame_data import (
    Curve,
    FrameData,
    PictureWords,
)
from scalarviz.scene.layout.camera import CAMERAS, LAG, STEEPEST, Camera
from scalarviz.scene.layout.division import UPRIGHT, Box, Division, Panes, Projection
from scalarviz.scene.layout.points import reach_of
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.scene.overlay import OnTop
from scalarviz.stage.camera_control import CameraController
from scalarviz.stage.render import along_path
from scalarviz.stage.show import Several
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import stages_of
from tests.scene.measures import look, projection, stage_of, trained
from tests.studio import OneByOne, plate

ANGLES = st.floats(-STEEPEST, STEEPEST)
LENSES = st.sampled_from([0.0, 0.4, 0.6, 28.0, 60.0, 90.0])
PLACES = st.tuples(*[st.floats(-50.0, 50.0)] * 3)
HEIGHTS = st.floats(0.1, 1_000.0)


@st.composite
def cameras(draw: st.DrawFn) -> Camera:
    angles = draw(ANGLES), draw(ANGLES)
    return Camera(draw(PLACES), *angles, draw(HEIGHTS), draw(LENSES))


def axes_of(camera: Camera) -> np.ndarray:
    """Unit vectors to the right, up and towards the eye, one per row."""
    return np.array([camera.way(*row) for row in np.eye(3).tolist()])


def seen(camera: Camera, points: object, aspect: float = 1.5, reach: float = 1e4) -> np.ndarray:
    """Points in the picture, -1 to 1 across, up and into it."""
    found = np.c_[np.atleast_2d(points), np.ones(len(np.atleast_2d(points)))]
    clip = found @ np.transpose(camera.matrix(aspect, reach))
    assert (clip[:, 3] > 0.0).all()
    return clip[:, :3] / clip[:, 3:]


@given(camera=cameras())
def test_the_target_is_in_the_middle_and_the_height_from_edge_to_edge(camera: Camera) -> None:
    axes = axes_of(camera)
    right, up, toward = axes
    target, half = np.array(camera.target), 0.5 * camera.height
    points = [target, target + half * up, target - half * up, target + 1.5 * half * right]
    flat = seen(camera, points)[:, :2]
    np.testing.assert_allclose(flat, [(0, 0), (0, 1), (0, -1), (1, 0)], atol=1e-6)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, up), toward, atol=1e-12)
    np.testing.assert_allclose(
        camera.seen(*(axes.T @ [2.0, 3.0, 0.0])), [2.0, 3.0, 0.0], atol=1e-12
    )
    np.testing.assert_allclose(camera.seen(*camera.toward)[:2], 0.0, atol=1e-12)
    lag = np.subtract((camera.azimuth, camera.elevation), camera.plane)
    assert (np.abs(lag) <= np.minimum(LAG, np.abs([camera.azimuth, camera.elevation]))).all()


@given(camera=cameras(), reach=st.floats(2.0, 1e4))
def test_what_is_nearer_has_the_smaller_depth_and_all_within_reach_has_one(
    camera: Camera, reach: float
) -> None:
    steps = np.linspace(-0.999, 0.999, 41)
    eye = camera.distance if camera.fov >= 0.5 else np.inf
    steps = steps[steps * reach < 0.995 * eye]
    points = np.array(camera.target) + steps[:, None] * reach * np.array(camera.toward)
    depth = seen(camera, points, reach=reach)[:, 2]
    assert (np.diff(depth) < 0.0).all() and np.abs(depth).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=list(CAMERAS))
def test_framing_is_as_near_as_it_can_be(camera: Camera) -> None:
    for rows, columns in ((1, 1), (3, 8), (700, 30), (10, 2_000)):
        points = plate(rows, columns, origin=(40, 10, 0)).corners()
        for azimuth in (camera.azimuth, 60.0, -80.0):
            framed = replace(camera, azimuth=azimuth).framing(reach_of(points), 1.6)
            flat = seen(framed, points, 1.6, 1e5)[:, :2]
            assert np.ptp(flat, axis=0).max() == pytest.approx(1.84, abs=1e-6)
            again = framed.framing(reach_of(points), 1.6)
            assert again.height == pytest.approx(framed.height)
            np.testing.assert_allclose(again.target, framed.target, atol=1e-9)


@given(camera=cameras(), turn=st.tuples(*[st.floats(-200.0, 200.0)] * 2))
def test_orbiting_turns_around_the_target_and_never_behind_the_scene(
    camera: Camera, turn: tuple[float, float]
) -> None:
    turned = camera.orbited(*turn)
    np.testing.assert_allclose(seen(turned, camera.target)[0, :2], 0.0, atol=1e-6)
    assert abs(turned.azimuth) <= STEEPEST and abs(turned.elevation) <= STEEPEST
    assert turned.toward[2] > 0.0 and axes_of(turned)[1][1] > 0.0


@given(first=cameras(), last=cameras())
def test_a_camera_on_its_way_begins_and_ends_where_it_should(first: Camera, last: Camera) -> None:
    for part, there in ((0.0, first), (1.0, last)):
        for found in (first.blended(last, part), along_path([first, last], part)):
            np.testing.assert_allclose(found.target, there.target, atol=1e-9)
            assert found.height == pytest.approx(there.height)
            assert found.azimuth == pytest.approx(there.azimuth, abs=1e-9)
    assert first.blended(last, 0.5).height == pytest.approx(np.sqrt(first.height * last.height))


def test_a_path_goes_by_all_its_cameras() -> None:
    path = [Camera(height=h) for h in (1.0, 10.0, 5.0)]
    assert [along_path(path, p).height for p in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 10.0, 5.0])
    assert along_path(path[:1], 0.7).height == along_path(path, -9.0).height == 1.0
    assert along_path(path, 9.0).height == pytest.approx(5.0)


# Pictures.


def test_a_projection_puts_its_box_into_the_picture() -> None:
    camera = Camera((3.0, 4.0, 0.0), height=10.0, fov=0.0)
    see = Projection(camera, Box(100.0, 50.0, 200.0, 100.0), 640.0, 480.0)
    found = see([(3.0, 4.0, 0.0), (13.0, 9.0, 0.0), (-7.0, -1.0, 0.0)])
    np.testing.assert_allclose(found.xy, [(200, 100), (300, 50), (100, 150)], atol=1e-9)
    np.testing.assert_allclose(found.unit, 10.0)


@pytest.mark.parametrize("fov", [0.0, 28.0])
def test_a_ray_goes_through_all_that_is_seen_at_its_pixel(fov: float) -> None:
    camera = Camera((1.0, 2.0, -3.0), 47.0, -15.0, 14.0, fov)
    see = Projection(camera, Box(100.0, 50.0, 200.0, 100.0), 640.0, 480.0, 20.0)
    start, way = see.ray(233.0, 122.0)
    found = see(np.array(start) + np.outer([0.1, 0.5, 2.0], way))
    np.testing.assert_allclose(found.xy, 3 * [(233.0, 122.0)])
    assert (np.diff(found.depth) > 0.0).all()


def test_what_is_nearer_has_more_pixels_and_what_is_behind_the_eye_none() -> None:
    see = Projection(Camera(height=10.0, fov=90.0), Box(0.0, 0.0, 100.0, 100.0), 100.0, 100.0)
    found = see([(0.0, 0.0, 0.0), (0.0, 0.0, 2.5), (0.0, 0.0, 5.5)])
    np.testing.assert_allclose(found.unit[:2], [10.0, 20.0])
    assert np.isnan(found.xy[2]).all()


SIZES = [(1280, 800), (800, 500), (640, 420), (1920, 1080), (3840, 2160), (420, 300), (60, 40)]


@given(
    size=st.sampled_from(SIZES) | st.tuples(st.floats(2.0, 5000.0), st.floats(2.0, 4000.0)),
    exhibit=st.sampled_from([0.0, 250.0, 600.0]),
    card=st.booleans(),
    panel=st.sampled_from([0.0, 300.0]),
)
def test_the_parts_of_a_picture_lie_inside_it_and_apart(
    size: tuple[float, float], exhibit: float, card: bool, panel: float
) -> None:
    width, height = size
    parts = Division.of(width, height, exhibit=exhibit, card=card, panel=panel)
    alone = Division.of(width, height, exhibit=exhibit, panel=panel)
    if parts.exhibit.width:
        assert parts.inner == alone.inner, "a card that opens moves nothing"
    scene, inner = parts.scene, parts.inner
    assert inner.width >= 1.0 and inner.height >= 0.5
    assert scene.has(inner.x, inner.y) and scene.has(inner.right - 1e-6, inner.bottom - 1e-6)
    if height < 200.0 or panel > 0.4 * width:
        return  # there is no room for everything
    rows = [parts.head, scene, parts.strip, parts.band]
    assert rows[0].y == 0.0 and rows[-1].bottom == pytest.approx(height)
    for above, below in itertools.pairwise(rows):
        assert above.bottom == pytest.approx(below.y) and below.width == width
    beside = [each for each in (inner, parts.card) if each.width]
    assert not (card and panel and parts.card.width)
    if alone.exhibit.width and scene.height > 250.0 * parts.scale:
        assert min(parts.exhibit.width, parts.exhibit.height) >= 100.0, "the result stays"
    whole = parts.headline.around(parts.exhibit)
    assert not parts.headline.meets(parts.exhibit)
    if whole.width and whole.y == inner.y:
        beside.append(whole)
    elif whole.width:  # it is below the network, a card or a panel
        assert card or panel or width < UPRIGHT * scene.height
        assert whole.bottom < parts.strip.y and whole.y > inner.y + 90.0
        assert not any(whole.meets(each) for each in beside)
        beside = beside[:1] if width < UPRIGHT * scene.height else beside
    for left, right in itertools.pairwise(beside):
        assert left.right < right.x and right.y == inner.y
    assert beside[-1].right < width
    assert all(each.bottom < parts.strip.y for each in beside)


def test_a_picture_is_divided_as_it_was_agreed() -> None:
    parts = Division.of(1280, 800, exhibit=280.0, card=True)
    assert (parts.head.height, parts.strip.height, parts.band.height) == (64.0, 28.0, 86.0)
    assert parts.scene == Box(0.0, 64.0, 1280.0, 622.0) and parts.scale == 1.0
    assert parts.card == Box(984.0, 80.0, 280.0, 400.0)
    assert parts.exhibit == Box(984.0, 496.0, 280.0, 174.0) and not parts.headline.height
    assert parts.inner == Box(16.0, 80.0, 952.0, 590.0)
    assert Division.of(1280, 800, exhibit=280.0, panel=300.0).exhibit == Box(980, 496, 284, 174)
    parts = Division.of(1280, 800, exhibit=280.0)
    assert parts.headline == Box(984.0, 80.0, 280.0, 88.0)
    assert parts.exhibit == Box(984.0, 168.0, 280.0, 502.0)
    assert Division.of(1366, 656, exhibit=250.0, card=True).exhibit.height == 100.0
    parts = Division.of(800, 460, exhibit=250.0, card=True)
    assert (parts.head.height, parts.strip.height, parts.band.height) == (42.0, 26.0, 62.0)
    assert parts.scene.height == 330.0 and parts.exhibit == Box(534.0, 256.0, 250.0, 100.0)
    assert parts.card == Box(534.0, 58.0, 250.0, 182.0)
    parts = Division.of(2560, 1600)
    assert parts.scale == 2.0 and (parts.head.height, parts.strip.height) == (128.0, 56.0)


# CameraController: a camera that is moved by a mouse.


@pytest.fixture
def eyes() -> CameraController:
    program = sv.Network([3, 8, 3], "tanh", seed=0).program
    found = CameraController(trays_layout(program, lambda layer: ("", "")), "perspective")
    found.frame((1280.0, 800.0), Division.of(1280.0, 800.0).inner)
    return found


def camera_projection(
    eyes: CameraController, size: tuple[float, float] = (1280.0, 800.0)
) -> Projection:
    return Projection(eyes.camera, Division.of(*size).inner, *size)


def inside(eyes: CameraController, size: tuple[float, float]) -> bool:
    box, xy = Division.of(*size).inner, camera_projection(eyes, size)(eyes.layout.extent).xy
    return all(box.has(x, y) for x, y in xy)


def test_the_whole_network_stays_in_the_picture_until_somebody_moves_it(
    eyes: CameraController,
) -> None:
    for size in ((1280.0, 800.0), (500.0, 900.0), (2400.0, 500.0), (320.0, 240.0)):
        eyes.frame(size, Division.of(*size).inner)
        assert inside(eyes, size)
    eyes.orbit(30.0, 10.0), eyes.zoom(1.5, 400.0, 300.0)
    before = eyes.camera
    eyes.frame((900.0, 700.0), Division.of(900.0, 700.0).inner)
    assert eyes.camera == before
    eyes.go(eyes.whole(eyes.camera), framed=True)
    eyes.tick(0.0)
    assert eyes.tick(1.0) and inside(eyes, (900.0, 700.0))
    assert eyes.camera.azimuth == before.azimuth


def test_dragging_moves_the_scene_as_far_as_the_mouse(eyes: CameraController) -> None:
    target = np.array([eyes.camera.target])
    before = camera_projection(eyes)(target).xy[0]
    eyes.move(40.0, -25.0)
    np.testing.assert_allclose(
        camera_projection(eyes)(target).xy[0] - before, (40.0, -25.0), atol=1e-6
    )


def test_the_wheel_goes_toward_the_mouse(eyes: CameraController) -> None:
    box = Division.of(1280.0, 800.0).inner
    x, y = box.x + 0.8 * box.width, box.y + 0.3 * box.height
    see = camera_projection(eyes)
    right, up = (x - box.x) / box.width - 0.5, 0.5 - (y - box.y) / box.height
    axes, camera = axes_of(eyes.camera), eyes.camera
    across = camera.height * box.width / box.height
    point = camera.target + right * across * axes[0] + up * camera.height * axes[1]
    np.testing.assert_allclose(see(point).xy[0], (x, y), atol=1e-6)
    eyes.zoom(2.5, x, y)
    np.testing.assert_allclose(camera_projection(eyes)(point).xy[0], (x, y), atol=1e-6)


SMALL = ["rgb", "xor", "xnor", "circle", "normalized", "expression"]
LARGE = [pytest.param(each, marks=pytest.mark.slow) for each in ("digits", "retrain", "texture")]
SCREENS = [(1280, 800), (1366, 700), (1920, 1080)]
every_size = pytest.mark.parametrize("size", SCREENS, ids=lambda size: f"{size[0]}x{size[1]}")


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_the_network_takes_four_fifths_of_the_stage_and_across_three_fifths(
    name: str, size: tuple[int, int]
) -> None:
    stage = stage_of(trained(name), size)
    see = projection(stage)
    xy = see(replace(stage.frame_data().layout, labels=()).extent).xy
    less, more = sorted(np.ptp(xy, axis=0) / [see.box.width, see.box.height])
    assert less >= 0.6 and more >= 0.8


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "xnor", "circle", "3-16-3"])
def test_no_cube_lies_under_a_sphere_and_no_sphere_under_a_cube(
    name: str, size: tuple[int, int]
) -> None:
    stage = stage_of(trained(name), size)
    seen = look(stage)
    assert (seen.shown == look(stage, spheres=False).shown).all()
    shown, whole = seen.spheres.T
    assert (shown == whole).all()


def angles_of(stage: Stage) -> list[float]:
    stage.frame_data()
    return [stage.eyes.camera.azimuth, stage.eyes.camera.elevation]


@pytest.mark.some(2)
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_a_card_or_a_resize_by_a_tenth_turns_no_network(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    before = angles_of(stage)
    for size in [(1280, 880), (1280, 720), (1408, 800), (1152, 800), (820, 1180)]:
        stage.resize(*size)
        assert angles_of(stage) == before
    stage.pin(0)
    assert angles_of(stage) == before


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 8, 8, 1), (5, 19, 15)])
def test_a_neuron_more_turns_a_network_by_five_degrees_at_most(sizes: tuple[int, ...]) -> None:
    data = np.zeros((4, sizes[0])), np.zeros((4, sizes[-1]))
    session = sv.Session(sv.Network(list(sizes), "tanh", seed=0), data)
    stage = stage_of(session, (1280, 800))
    before = angles_of(stage)
    stage.replace(sv.add_neurons(session, 0))
    assert np.abs(np.subtract(angles_of(stage), before)).max() <= 5.0


def test_networks_side_by_side_are_seen_from_one_angle() -> None:
    shows = Several.of([trained(name) for name in ("rgb", "xor", "circle")])
    stages = stages_of(shows, reduced_motion=True)
    stages.resize(1280, 800)
    stages.frame_data()
    found = {(each.eyes.camera.azimuth, each.eyes.camera.elevation) for each in stages.panes}
    assert len(found) == 1


PANE_SIZES = [
    (640, 420),
    (800, 460),
    (800, 500),
    (1280, 760),
    (1280, 800),
    (3840, 2160),
    (500, 900),
]
COUNTS = range(2, 7)


def losses(count: int) -> Curve:
    return Curve(np.arange(1.0, count + 1.0), np.geomspace(2.0, 1e-3, count), count, 1e-3)


@cache
def pane() -> FrameData:
    return stage_of(trained("rgb"), (1280, 800)).frame_data()


def surroundings(count: int, title: str = "", **more: Any) -> FrameData:
    colors = ("#00cba5", "#a855b5", "#f6ea45", "#cf3f35", "#bd9cff", "#e8f0ff")
    several = [(color, losses(100 + 20 * i)) for i, color in enumerate(colors[:count])]
    curve = Curve(at=200.0, end=200.0, several=several)
    return replace(pane(), curve=curve, words=PictureWords(title), **more)


def with_curve(shown: FrameData, **more: Any) -> FrameData:
    return replace(shown, curve=replace(shown.curve, **more))


def flat(picture: ComparedPicture, parts: Panes, shown: FrameData, theme: str = "dark") -> OnTop:
    return picture.flat(parts, shown, 1, THEMES[theme], 1.0)[1]


class Texts(OneByOne):
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


@pytest.mark.parametrize("size", PANE_SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_panes_fill_the_picture_above_the_curves_and_meet_nothing(
    size: tuple[int, int], count: int
) -> None:
    parts = Panes.of(count, *size)
    assert len(parts.panes) == count
    boxes = [*parts.panes, parts.chart]
    boxes = [box for box in boxes if box.width and box.height]
    for i, box in enumerate(boxes):
        assert box.x >= 0.0 and box.right <= size[0] and box.y >= 0.0
        assert box.bottom <= size[1] + 1e-9
        assert not any(box.meets(other) for other in boxes[:i])
    sizes = {(box.width, box.height) for box in parts.panes}
    assert max(w for w, _ in sizes) - min(w for w, _ in sizes) <= 1.0
    assert parts.band.y == max(box.bottom for box in parts.panes)
    assert 60.0 <= round(parts.band.height / parts.scale, 6) <= 96.0
    for i, box in enumerate(parts.panes):
        assert parts.at(box.x + 1.0, box.bottom - 1.0) == i
    assert parts.at(1.0, parts.band.bottom - 1.0) is None


@pytest.mark.parametrize(
    ("count", "size"), [(6, (7, 5)), (6, (60, 40)), (6, (200, 150)), (1, (1280, 800))]
)
def test_a_tiny_picture_and_one_of_one_network_have_panes_only(
    count: int, size: tuple[int, int]
) -> None:
    parts = Panes.of(count, *size)
    assert parts.band.height == parts.chart.height == 0.0
    assert sum(box.width * box.height for box in parts.panes) == size[0] * size[1]


def test_the_curves_stand_in_the_place_of_the_pane_that_a_row_lacks() -> None:
    parts = Panes.of(5, 1280, 800)
    assert parts.chart.x >= parts.panes[-1].right and parts.chart.bottom <= parts.band.y
    assert parts.chart.height > 200.0 and parts.band.height < Panes.of(4, 1280, 800).band.height


@pytest.mark.parametrize("size", [(640, 420), (266, 160), (430, 300), (160, 400), (30, 20)])
@pytest.mark.parametrize("card", [False, True])
def test_the_parts_of_a_pane_lie_beside_each_other(size: tuple[int, int], card: bool) -> None:
    parts = Division.of_pane(*size, 1.0, exhibit=0.36 * size[0], card=card)
    boxes = [parts.head, parts.inner, parts.exhibit, parts.card]
    boxes = [box for box in boxes if box.width and box.height]
    for i, box in enumerate(boxes):
        assert box.x >= 0.0 and box.right <= size[0] + 1e-9 and box.bottom <= size[1] + 1e-9
        assert not any(box.meets(other) for other in boxes[:i])
    assert parts.strip.height == parts.band.height == 0.0
    assert bool(parts.card.width) == (card and size[0] >= 560)


@pytest.mark.some(14)
@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("size", PANE_SIZES)
@pytest.mark.parametrize("count", [2, 3, 4, 6])
@pytest.mark.parametrize("title", ["", "Neuron 3 adds up", "Neuron 3 adds up what arrives, " * 6])
def test_all_that_is_written_around_the_panes_is_large_enough_and_covers_nothing(
    size: tuple[int, int], count: int, theme: str, title: str, canvases: list[Texts]
) -> None:
    parts = Panes.of(count, *size)
    flat(ComparedPicture(), parts, surroundings(count, title), theme)
    (drawn,) = canvases
    for i, (box, letters, words) in enumerate(drawn.written):
        assert letters >= 12.0 * parts.scale - 1e-9, words
        assert box.x >= 0.0 and box.right <= size[0] and box.bottom <= size[1], words
        for other, _, others in drawn.written[:i]:
            assert not box.meets(other), (words, others)
        if words.startswith("Neuron 3"):
            assert parts.band.y <= box.y and box.bottom <= parts.band.bottom
    written = [words for _, _, words in drawn.written]
    assert ("loss" in written and "step 200" in written) == (parts.chart.width > 0.0)


def test_the_chart_has_a_line_for_each_network_and_says_the_losses_under_the_mouse() -> None:
    shown, parts = ComparedPicture(), Panes.of(2, 1280, 800)
    chart = flat(shown, parts, surroundings(2)).chart
    assert chart is not None and chart.last == 200.0
    assert parts.chart.has(chart.plot.x, chart.plot.y)
    assert chart.step_at(chart.plot.x + 0.5 * chart.plot.width) == 100
    assert {"loss", "step 200"} <= {*shown.words}
    curves = surroundings(2).curve.several
    several = [(color, replace(curve, reads=0.125)) for color, curve in curves]
    flat(shown, parts, with_curve(surroundings(2), pointed=50, several=several))
    assert shown.words.count(".125") == 2 and "step 50" in shown.words


def test_why_a_session_stopped_ends_within_the_chart(canvases: list[Texts]) -> None:
    parts, marks = Panes.of(2, 800, 500), [(50, "net 1: " + "grad norm rises 12x, " * 9)]
    chart = flat(
        ComparedPicture(), parts, with_curve(surroundings(2), pointed=50, marks=marks)
    ).chart
    (box,) = [box for box, _, words in canvases[0].written if words.startswith("net 1: ")]
    assert box.right <= parts.chart.right
    assert chart is not None and canvases[0].clips
    for clip in canvases[0].clips:
        assert clip.y <= chart.plot.y and clip.bottom >= chart.plot.bottom


def test_the_mouse_on_the_legend_of_several_opens_the_key_to_the_marks() -> None:
    shown, parts = ComparedPicture(), Panes.of(2, 800, 500)
    legend = flat(shown, parts, surroundings(2)).legend
    assert legend is not None and legend.y == parts.band.y
    assert text("legend.stands") in shown.words and text("marks.title") not in shown.words
    flat(shown, parts, surroundings(2, marks=True))
    assert text("marks.title") in shown.words


def test_a_message_has_a_button_and_help_lies_over_everything() -> None:
    shown = ComparedPicture()
    more = {"chips": [("said", "undo")], "offers": ["go on"], "help": [("Space", "play")]}
    on_top = flat(shown, Panes.of(2, 1280, 800), surroundings(2, **more))
    boxes = {name: box for box, name in on_top.buttons}
    assert set(boxes) == {"undo", "go on"} and not boxes["undo"].meets(boxes["go on"])
    assert {"said", "undo", "go on", "Space", "play"} <= set(shown.words)
