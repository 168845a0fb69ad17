"""sv.Cubes in vispy scenes of users, and visuals of users in the scene of our pictures."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError, InputError, UnknownNameError
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.stage.cubes_node import plan_of
from scalarviz.stage.stage import Stage
from tests.faces.window.conftest import screen as screen
from tests.machine import output_of
from tests.sessions import advanced
from tests.stage import cubes_in_canvas as inside
from tests.stage import nodes_of_users as own
from tests.studio import Studio, shade
from tests.wording import refused


@pytest.fixture
def canvas(studio: Studio) -> Iterator[Any]:
    """A SceneCanvas as a user makes it, without a window."""
    from vispy import scene

    from scalarviz.scene.offscreen import use_offscreen

    made = scene.SceneCanvas(app=use_offscreen(), size=inside.SIZE, show=False)
    made.events.ignore_callback_errors = False
    yield made
    made.close()
    studio.canvas.set_current()


def memory(canvas: Any) -> int:
    """How many textures and buffers the context of a canvas holds."""
    canvas.context.flush_commands()
    held = canvas.context.shared.parser._objects.values()
    kinds = ("GlirTexture2D", "GlirVertexBuffer", "GlirIndexBuffer")
    return sum(type(each).__name__ in kinds for each in held)


CAMERAS: dict[str, tuple[str, dict[str, Any]]] = {
    "turntable": ("TurntableCamera", {"fov": 0, "azimuth": 0, "elevation": 0}),
    "perspective": ("TurntableCamera", {"fov": 45, "azimuth": 10, "elevation": 10}),
    "arcball": ("ArcballCamera", {"fov": 30}),
    "panzoom": ("PanZoomCamera", {"aspect": 1}),
    "mirrored": ("PanZoomCamera", {"aspect": 1, "flip": (True, False, False)}),
    "fly": ("FlyCamera", {"fov": 60}),
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CAMERAS)
def test_each_weight_is_seen_in_its_color_under_any_camera(
    canvas: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vispy import scene
    from vispy.util.quaternion import Quaternion

    # A camera with a timer takes vispy's default application: Qt ends the process without a screen.
    monkeypatch.setattr("vispy.app._default_app.default_app", canvas.app)
    session = inside.made()
    kind, given = CAMERAS[name]
    upright = name in ("turntable", "perspective", "arcball")
    view, cubes = inside.scene_in(canvas, session, getattr(scene, kind)(**given), upright=upright)
    if name == "fly":
        view.camera.auto_roll = False
        view.camera.rotation1 = Quaternion()
        view.camera.center = (2.5, -3.5, 12.0)
    assert inside.check_colors(canvas.render(), cubes) == len(session.network.bank) == 13


def test_what_stands_before_the_cubes_hides_them_and_what_stands_behind_is_hidden(
    canvas: Any,
) -> None:
    _, cubes = inside.scene_in(canvas, inside.made())
    places = inside.add_lines(cubes)
    assert inside.lines_seen(canvas.render(), cubes, places) == "before True, behind True"


@pytest.mark.parametrize("kind", ["session", "network", "expression"])
def test_it_asks_for_the_numbers_once_a_frame(canvas: Any, kind: str) -> None:
    session = inside.made()
    network: Any = session.network
    if kind == "expression":
        a = sv.Value(0.5)
        network = sv.compile(lambda x: a * x, inputs=1)
    _, cubes = inside.scene_in(canvas, session if kind == "session" else network)
    count = len(network.bank)
    assert inside.check_colors(canvas.render(), cubes) == count
    network.bank.value[:] = (
        np.linspace(-1.0, 1.0, count) * cubes._scales.of("value", cubes.plates)[0]
    )
    assert inside.check_colors(canvas.render(), cubes) == count


def test_neurons_and_wires_stand_around_the_cubes(canvas: Any) -> None:
    from vispy import scene

    session = inside.made()
    view = canvas.central_widget.add_view(camera=scene.TurntableCamera(up="+y", azimuth=60, fov=30))
    cubes = sv.Cubes(session, parent=view.scene)
    view.camera.set_range()
    plan = plan_of(session.network)
    seen = inside.seen_at(canvas.render(), cubes, plan.neurons[0].points)
    assert (np.abs(seen - (255.0 * rgb((THEMES["dark"].tray,))[0])).max(axis=1) < 12).all()
    for axis in range(3):
        low, high = cubes.bounds(axis)
        points = plan.extent[:, axis]
        assert (low, high) == (points.min(), points.max())


def test_scales_grow_and_do_not_shrink(canvas: Any) -> None:
    network = sv.Network([1, 1], seed=0)
    _, cubes = inside.scene_in(canvas, network)
    seen = []
    for value in (1.0, 50.0, 0.5):
        network.bank.value[:] = value
        cubes._scales._grown_at = -np.inf
        canvas.render()
        seen.append(float(cubes._scales.of("value", cubes.plates)[0]))
    assert seen[0] >= 1.0 and seen[1] >= 50.0 and seen[2] == seen[1]


def test_colors_sizes_and_theme_can_be_chosen(canvas: Any, faced: None) -> None:
    session = advanced(inside.made(), 3)
    view, first = inside.scene_in(canvas, session)
    first.parent = None
    cubes = sv.Cubes(session, view.scene, color="gradient", cubes="value", theme="light")
    cubes.transform = first.transform
    rows, points = inside.fronts(cubes)
    view.camera.set_range()
    seen = inside.seen_at(canvas.render(), cubes, points)
    shown = np.asarray(session.network.bank.grad)[rows]
    expected = shade("light", shown, float(cubes._scales.of("gradient", cubes.plates)[0]))
    np.testing.assert_allclose(seen, inside.lit_as(seen, expected), atol=3)


def test_a_node_that_is_removed_frees_its_textures_and_can_come_back(canvas: Any) -> None:
    before = memory(canvas)
    view, cubes = inside.scene_in(canvas, inside.made())
    first = canvas.render()
    held = memory(canvas)
    cubes.parent = None
    canvas.render()
    assert held > before + 3 and memory(canvas) == before
    cubes.parent = view.scene
    np.testing.assert_array_equal(canvas.render(), first)


def test_in_half_a_canvas_of_two_pixels_a_point_it_is_as_sharp(studio: Studio) -> None:
    from vispy import scene

    from scalarviz.scene.offscreen import use_offscreen
    from scalarviz.scene.visuals.opengl import ratio_of, viewport_of

    canvas = scene.SceneCanvas(app=use_offscreen(), size=(300, 200), px_scale=2, show=False)
    session = inside.made()
    grid = canvas.central_widget.add_grid()
    for column in (0, 1):
        view = grid.add_view(row=0, col=column, camera=scene.PanZoomCamera(aspect=1))
        cubes = inside.facing_cubes(session, view.scene)
        view.camera.set_range()
    image = canvas.render()
    assert image.shape[:2] == (200, 300) or image.shape[:2] == (400, 600)
    assert viewport_of(cubes.transforms) == pytest.approx(image.shape[1::-1], rel=1e-6)
    assert ratio_of(cubes.transforms) == canvas.pixel_scale
    assert inside.check_colors(image, cubes) == 13
    canvas.close()
    studio.canvas.set_current()


def test_a_training_that_is_followed_draws_by_itself(canvas: Any) -> None:
    session = inside.made()
    view, cubes = inside.scene_in(canvas, session)
    cubes.follow(session)
    frames: list[int] = []
    canvas.events.draw.connect(lambda event: frames.append(session.step_index))

    def let_it_run() -> int:
        cubes._timer._backend._next_time = 0.0
        canvas.app.process_events()
        canvas.app.process_events()
        return len(frames)

    let_it_run()
    at_rest = let_it_run()
    session.advance(2)
    assert let_it_run() == at_rest + 1 and frames[-1] == 2
    assert let_it_run() == at_rest + 1
    cubes.parent = None
    assert cubes._timer is None
    cubes.parent = view.scene
    assert cubes._timer.running
    cubes.follow(None)
    assert cubes._timer is None


def test_it_has_the_name_of_a_node() -> None:
    assert sv.Cubes(sv.Network([1, 1], seed=0), name="weights").name == "weights"


def test_what_it_cannot_show_or_follow_is_said() -> None:
    network = sv.Network([1, 1], seed=0)
    refused(InputError, "3").by(sv.Cubes, 3)
    for option in ("color", "cubes", "theme"):
        refused(UnknownNameError, "'velue'").by(sv.Cubes, network, **{option: "velue"})
    refused(UnknownNameError, "'colour'").by(sv.Cubes, network, colour="value")
    refused(InputError, "Session").by(sv.Cubes(network).follow, inside.made())


def test_it_cannot_be_bent_or_drawn_in_two_canvases(canvas: Any, studio: Studio) -> None:
    from vispy import scene
    from vispy.visuals.transforms import LogTransform

    from scalarviz.scene.offscreen import use_offscreen

    _, cubes = inside.scene_in(canvas, inside.made())
    canvas.render()
    cubes.transform = LogTransform((2, 0, 0))
    refused(DisplayError, "linear").by(canvas.render)
    other = scene.SceneCanvas(app=use_offscreen(), size=(64, 48), show=False)
    cubes.parent = other.central_widget.add_view(camera="panzoom").scene
    refused(DisplayError, "canvas").by(other.render)
    other.close()


def run(backend: str, environment: Mapping[str, str]) -> list[str]:
    """What is seen in a canvas of a backend, in a process of its own."""
    return output_of("-m", "tests.stage.cubes_in_canvas", backend, env=environment).splitlines()


SEEN = ["colors 13 of 13", "lines before True, behind True", "followed True", "colors 13 of 13"]


@pytest.mark.slow
def test_in_a_window_of_qt(screen: Mapping[str, str]) -> None:
    assert run("pyside6", screen) == [*SEEN, "removed True"]


@pytest.mark.slow
def test_in_a_notebook_by_the_backend_of_vispy(screen: Mapping[str, str]) -> None:
    said = run("jupyter_rfb", screen)
    assert "the backend jupyter_rfb of this canvas has no timer here" in said[-6]
    assert said[-5:] == [*SEEN, "removed True"]


SEEN_NODES = "green True, red False"


@pytest.mark.parametrize("ratio", [1, 2])
def test_a_visual_stands_before_or_behind_a_cube(studio: Studio, ratio: int) -> None:
    stage = Stage(own.made())
    stage.common.nodes = lambda view: own.squares(stage, view)
    assert own.seen(stage, studio.stage(stage, 0.0, (900, 600), ratio), ratio) == SEEN_NODES


def test_another_session_has_another_view_with_the_same_visuals(studio: Studio) -> None:
    views: list[Any] = []
    stage = Stage(own.made())
    stage.common.nodes = views.append
    studio.stage(stage, 0.0)
    stage.replace(own.made())
    studio.stage(stage, 0.0)
    assert len(views) == len({*views}) == 2 and views[-1] is stage.picture().scene.view


def test_a_visual_that_is_invisible_or_removed_is_not_drawn(studio: Studio) -> None:
    stage = Stage(own.made())
    plain = studio.stage(stage, 0.0)
    view = stage.picture().scene.view
    own.squares(stage, view)
    first, second = view.scene.children[-2:]
    assert (studio.stage(stage) != plain).any()
    first.visible, second.parent = False, None
    np.testing.assert_array_equal(studio.stage(stage), plain)


@pytest.mark.slow
def test_a_window_calls_for_them(screen: Mapping[str, str]) -> None:
    assert SEEN_NODES in output_of("-m", "tests.stage.nodes_of_users", env=screen).splitlines()


def test_they_are_made_by_a_function() -> None:
    refused(InputError, "3").by(sv.watch, own.made(), nodes=3)
