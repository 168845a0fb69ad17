"""Cameras and frames: where points of space are seen, and how a mouse moves them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.errors import InputError
from scalarviz.scene.layout.beads import beads
from scalarviz.scene.layout.camera import CAMERAS, STEEPEST, Camera, along_path
from scalarviz.scene.layout.division import UPRIGHT, Box, Division, Projection
from scalarviz.stage.camera_control import CameraController
from tests.studio import plate
from tests.wording import refused

ANGLES = st.floats(-STEEPEST, STEEPEST)
LENSES = st.sampled_from([0.0, 0.4, 0.6, 28.0, 60.0, 90.0])
PLACES = st.tuples(*[st.floats(-50.0, 50.0)] * 3)
HEIGHTS = st.floats(0.1, 1_000.0)


@st.composite
def cameras(draw: st.DrawFn) -> Camera:
    angles = draw(ANGLES), draw(ANGLES)
    return Camera(draw(PLACES), *angles, draw(HEIGHTS), draw(LENSES))


def seen(camera: Camera, points: object, aspect: float = 1.5, reach: float = 1e4) -> np.ndarray:
    """Points in the picture, -1 to 1 across, up and into it."""
    found = np.c_[np.atleast_2d(points), np.ones(len(np.atleast_2d(points)))]
    clip = found @ camera.matrix(aspect, reach).T
    assert (clip[:, 3] > 0.0).all()
    return clip[:, :3] / clip[:, 3:]


@given(camera=cameras())
def test_the_target_is_in_the_middle_and_the_height_from_edge_to_edge(camera: Camera) -> None:
    right, up, toward = camera.axes
    target, half = np.array(camera.target), 0.5 * camera.height
    points = [target, target + half * up, target - half * up, target + 1.5 * half * right]
    flat = seen(camera, points)[:, :2]
    np.testing.assert_allclose(flat, [(0, 0), (0, 1), (0, -1), (1, 0)], atol=1e-6)
    np.testing.assert_allclose(camera.axes @ camera.axes.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, up), toward, atol=1e-12)
    np.testing.assert_allclose(toward, camera.toward)


@given(camera=cameras(), reach=st.floats(2.0, 1e4))
def test_what_is_nearer_has_the_smaller_depth_and_all_within_reach_has_one(
    camera: Camera, reach: float
) -> None:
    steps = np.linspace(-0.999, 0.999, 41)
    eye = camera.distance if camera.fov >= 0.5 else np.inf
    steps = steps[steps * reach < 0.995 * eye]
    points = np.array(camera.target) + steps[:, None] * reach * camera.toward
    depth = seen(camera, points, reach=reach)[:, 2]
    assert (np.diff(depth) < 0.0).all() and np.abs(depth).max() <= 1.0 + 1e-9


@pytest.mark.parametrize("camera", CAMERAS.values(), ids=list(CAMERAS))
def test_framing_is_as_near_as_it_can_be(camera: Camera) -> None:
    for rows, columns in ((1, 1), (3, 8), (700, 30), (10, 2_000)):
        points = plate(rows, columns, origin=(40, 10, 0)).corners()
        for azimuth in (camera.azimuth, 60.0, -80.0):
            framed = replace(camera, azimuth=azimuth).framing(points, 1.6)
            flat = seen(framed, points, 1.6, 1e5)[:, :2]
            assert np.ptp(flat, axis=0).max() == pytest.approx(1.84, abs=1e-6)
            again = framed.framing(points, 1.6)
            assert again.height == pytest.approx(framed.height)
            np.testing.assert_allclose(again.target, framed.target, atol=1e-9)


@given(camera=cameras(), turn=st.tuples(*[st.floats(-200.0, 200.0)] * 2))
def test_orbiting_turns_around_the_target_and_never_behind_the_scene(
    camera: Camera, turn: tuple[float, float]
) -> None:
    turned = camera.orbited(*turn)
    np.testing.assert_allclose(seen(turned, camera.target)[0, :2], 0.0, atol=1e-6)
    assert abs(turned.azimuth) <= STEEPEST and abs(turned.elevation) <= STEEPEST
    assert turned.toward[2] > 0.0 and turned.axes[1][1] > 0.0


@given(first=cameras(), last=cameras())
def test_a_camera_on_its_way_begins_and_ends_where_it_should(first: Camera, last: Camera) -> None:
    for part, there in ((0.0, first), (1.0, last)):
        for found in (first.blended(last, part), along_path([first, last], part)):
            np.testing.assert_allclose(found.target, there.target, atol=1e-9)
            assert found.height == pytest.approx(there.height)
            assert found.azimuth == pytest.approx(there.azimuth, abs=1e-9)
    half = first.blended(last, 0.5)
    assert half.height == pytest.approx(np.sqrt(first.height * last.height))


def test_a_path_goes_by_all_its_cameras() -> None:
    path = [Camera(height=h) for h in (1.0, 10.0, 5.0)]
    assert [along_path(path, p).height for p in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 10.0, 5.0])
    assert along_path(path[:1], 0.7).height == along_path(path, -9.0).height == 1.0
    assert along_path(path, 9.0).height == pytest.approx(5.0)
    for wrong in ([], [1.0]):
        with refused(InputError):
            along_path(wrong, 0.5)


# Pictures.


def test_a_projection_puts_its_box_into_the_picture() -> None:
    camera = Camera((3.0, 4.0, 0.0), height=10.0, fov=0.0)
    see = Projection(camera, Box(100.0, 50.0, 200.0, 100.0), 640.0, 480.0)
    found = see([(3.0, 4.0, 0.0), (13.0, 9.0, 0.0), (-7.0, -1.0, 0.0)])
    np.testing.assert_allclose(found.xy, [(200, 100), (300, 50), (100, 150)], atol=1e-9)
    np.testing.assert_allclose(found.unit, 10.0)
    right, up = see.across(200.0, 100.0)
    at = np.linalg.inv(see.matrix) @ [right, up, 0.0, 1.0]
    np.testing.assert_allclose(at[:2] / at[3], (3.0, 4.0), atol=1e-9)


def test_what_is_nearer_has_more_pixels_and_what_is_behind_the_eye_none() -> None:
    see = Projection(Camera(height=10.0, fov=90.0), Box(0.0, 0.0, 100.0, 100.0), 100.0, 100.0)
    found = see([(0.0, 0.0, 0.0), (0.0, 0.0, 2.5), (0.0, 0.0, 5.5)])
    np.testing.assert_allclose(found.unit[:2], [10.0, 20.0])
    assert np.isnan(found.xy[2]).all()


SIZES = [(1280, 800), (800, 500), (640, 420), (1920, 1080), (3840, 2160), (420, 300), (60, 40)]


@given(
    size=st.sampled_from(SIZES) | st.tuples(st.floats(2.0, 5000.0), st.floats(2.0, 4000.0)),
    exhibit=st.sampled_from([0.0, 250.0, 600.0]),
    card=st.sampled_from([0.0, 300.0]),
    present=st.booleans(),
)
def test_the_parts_of_a_picture_lie_inside_it_and_apart(
    size: tuple[float, float], exhibit: float, card: float, present: bool
) -> None:
    width, height = size
    parts = Division.of(width, height, exhibit=exhibit, card=card, present=present)
    scene, inner = parts.scene, parts.inner
    assert inner.width >= 1.0 and inner.height >= 0.5
    assert scene.has(inner.x, inner.y) and scene.has(inner.right - 1e-6, inner.bottom - 1e-6)
    if height < 200.0:
        return  # there is no room for everything
    rows = [parts.head, scene, parts.strip, parts.band]
    assert rows[0].y == 0.0 and rows[-1].bottom == pytest.approx(height)
    for above, below in itertools.pairwise(rows):
        assert above.bottom == pytest.approx(below.y) and below.width == width
    beside = [each for each in (inner, parts.card) if each.width]
    if parts.exhibit.width and parts.exhibit.y == inner.y:
        beside.append(parts.exhibit)
    elif parts.exhibit.width:  # it is below the network, or below the card
        above, whole = parts.card if parts.card.width else inner, parts.exhibit
        assert card or width < UPRIGHT * scene.height
        assert above.bottom < whole.y and (above.x, above.right) == (whole.x, whole.right)
        assert whole.bottom < parts.strip.y and above.height > whole.height
    for left, right in itertools.pairwise(beside):
        assert left.right < right.x and right.y == inner.y
    assert beside[-1].right < width
    assert all(each.bottom < parts.strip.y for each in beside)


def test_a_picture_is_divided_as_it_was_agreed() -> None:
    parts = Division.of(1280, 800, exhibit=250.0, card=280.0)
    assert (parts.head.height, parts.strip.height, parts.band.height) == (44.0, 36.0, 80.0)
    assert parts.scene == Box(0.0, 44.0, 1280.0, 640.0) and parts.scale == 1.0
    assert parts.card == Box(984.0, 60.0, 280.0, 400.0)
    assert parts.exhibit == Box(984.0, 476.0, 280.0, 192.0)
    assert parts.inner == Box(16.0, 60.0, 952.0, 608.0)
    assert not Division.of(1366, 656, exhibit=250.0, card=280.0).exhibit.width
    parts = Division.of(800, 460, exhibit=250.0, card=280.0)
    assert (parts.head.height, parts.strip.height, parts.band.height) == (0.0, 28.0, 72.0)
    assert parts.scene.height == 360.0 and not parts.exhibit.width
    assert parts.card.right == 784.0
    parts = Division.of(2560, 1600, present=True)
    assert parts.scale == pytest.approx(2.7) and parts.head.height == 0.0
    assert parts.strip.height == pytest.approx(97.2)


# CameraController: a camera that is moved by a mouse.


@pytest.fixture
def eyes() -> CameraController:
    import scalarviz as sv

    program = sv.Network([3, 8, 3], "tanh", seed=0).program
    return CameraController(beads(program, lambda layer: ("", "")), "perspective")


def projection(eyes: CameraController, size: tuple[float, float] = (1280.0, 800.0)) -> Projection:
    return Projection(eyes.camera, Division.of(*size).inner, *size)


def inside(eyes: CameraController, size: tuple[float, float]) -> bool:
    box, xy = Division.of(*size).inner, projection(eyes, size)(eyes.layout.points()).xy
    return all(box.has(x, y) for x, y in xy)


def test_the_whole_network_stays_in_the_picture_until_somebody_moves_it(
    eyes: CameraController,
) -> None:
    for size in ((1280.0, 800.0), (500.0, 900.0), (2400.0, 500.0), (320.0, 240.0)):
        eyes.frame(size)
        assert inside(eyes, size)
    eyes.orbit(30.0, 10.0), eyes.zoom(1.5, 400.0, 300.0)
    before = eyes.camera
    eyes.frame((900.0, 700.0))
    assert eyes.camera == before
    eyes.frame_all()
    eyes.tick(0.0)
    assert eyes.tick(1.0) and inside(eyes, (900.0, 700.0))
    assert eyes.camera.azimuth == before.azimuth


def test_dragging_moves_the_scene_as_far_as_the_mouse(eyes: CameraController) -> None:
    target = np.array([eyes.camera.target])
    before = projection(eyes)(target).xy[0]
    eyes.move(40.0, -25.0)
    np.testing.assert_allclose(projection(eyes)(target).xy[0] - before, (40.0, -25.0), atol=1e-6)


def test_the_wheel_goes_toward_the_mouse(eyes: CameraController) -> None:
    box = Division.of(1280.0, 800.0).inner
    x, y = box.x + 0.8 * box.width, box.y + 0.3 * box.height
    see = projection(eyes)
    right, up = (x - box.x) / box.width - 0.5, 0.5 - (y - box.y) / box.height
    axes, camera = eyes.camera.axes, eyes.camera
    across = camera.height * box.width / box.height
    point = camera.target + right * across * axes[0] + up * camera.height * axes[1]
    np.testing.assert_allclose(see(point).xy[0], (x, y), atol=1e-6)
    eyes.zoom(2.5, x, y)
    np.testing.assert_allclose(projection(eyes)(point).xy[0], (x, y), atol=1e-6)
