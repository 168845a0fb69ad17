"""The camera and the box that the network fills: free of panels, until a user chooses a view."""

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.scene.layout.camera import EDGE
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.stage.camera_control import QUICK, CameraController
from scalarviz.stage.stage import Stage
from tests.stage.conftest import go

SIZE = (1280.0, 800.0)
SIZES = [SIZE, (800.0, 500.0), (640.0, 800.0), (500.0, 900.0), (2400.0, 600.0), (3840.0, 2160.0)]
NETWORKS = {
    "3-8-3": sv.Network([3, 8, 3], "tanh", seed=0).program,
    "12-64-64-3": sv.Network([12, 64, 64, 3], "tanh", seed=0).program,
    "narrow": sv.Network([2] * 12, "tanh", seed=0).program,
}


def laid_out(program: Program, shape: float = 1.75) -> Layout:
    return trays_layout(program, lambda layer: (f"layer {layer}", ""), {}, shape)


def places(eyes: CameraController, size: tuple[float, float], box: Box | None = None) -> np.ndarray:
    """Where all of the network is seen."""
    return Projection(eyes.camera, box or eyes.inner, *size)(eyes.layout.extent).xy


def fills(box: Box, xy: np.ndarray) -> bool:
    """Whether all is in the box, and reaches from edge to edge in one direction."""
    parts = (xy - [box.x, box.y]) / [box.width, box.height]
    is_inside = parts.min() >= EDGE - 1e-6 and parts.max() <= 1.0 - EDGE + 1e-6
    return bool(is_inside and np.ptp(parts, axis=0).max() > 1.0 - 2.0 * EDGE - 1e-3)


@pytest.mark.some(3)
@pytest.mark.parametrize("camera", ["perspective", "orthographic", "flat"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_projected_network_fills_the_free_stage(name: str, camera: str) -> None:
    eyes = CameraController(laid_out(NETWORKS[name]), camera)
    for size in SIZES:
        for exhibit in (0.0, 250.0):
            inner = Division.of(*size, exhibit=exhibit).inner
            eyes.frame(size, inner)
            while eyes.tick(0.0) and eyes.tick(9.0):
                pass
            assert fills(inner, places(eyes, size)), (size, exhibit)


def test_another_layout_is_seen_from_its_own_side_until_the_user_moves() -> None:
    wide, high = (laid_out(NETWORKS["12-64-64-3"], shape) for shape in (4.0, 0.5))
    turned = {name: view.orbited(-3.0, 0.0) for name, view in high.views.items()}
    high = replace(high, views=turned)
    eyes = CameraController(wide, "perspective")
    eyes.frame(SIZE, Division.of(*SIZE).inner)
    eyes.follow(high)
    assert eyes.camera.azimuth == high.views["perspective"].azimuth
    assert fills(eyes.inner, places(eyes, SIZE)) and not eyes.tick(0.0)
    for change in (("zoom", 2.0, 500.0, 300.0), ("move", 30.0, 10.0)):
        eyes.look("perspective")
        eyes.tick(0.0), eyes.tick(9.0)
        go(eyes, change)
        chosen = eyes.camera
        eyes.follow(wide)
        assert eyes.camera == chosen and eyes.layout is wide
        eyes.frame(SIZE, Division.of(*SIZE, card=True).inner)
        assert eyes.camera == chosen and not eyes.tick(0.0)
        eyes.frame(SIZE, Division.of(*SIZE).inner)
        eyes.follow(high)


@pytest.mark.parametrize("cuts", [False, True])
def test_a_camera_that_was_turned_fits_the_network_again_from_its_angle(cuts: bool) -> None:
    """A panel opens, the window changes its size, and the network is laid out anew."""
    closed, open_ = Division.of(*SIZE).inner, Division.of(*SIZE, card=True).inner
    wide, high = (laid_out(NETWORKS["12-64-64-3"], shape) for shape in (4.0, 0.5))
    eyes = CameraController(wide, "perspective", cuts=cuts)
    eyes.frame(SIZE, closed)
    first = eyes.camera
    eyes.orbit(40.0, 12.0)
    turned = eyes.camera
    assert turned.target == first.target and turned.height == first.height
    eyes.frame(SIZE, closed)
    assert eyes.camera == turned  # while it is turned, the distance stays
    small = (900.0, 700.0), Division.of(900.0, 700.0).inner
    for size, box in ((SIZE, open_), (SIZE, closed), small):
        eyes.frame(size, box)
        eyes.tick(0.0), eyes.tick(9.0)
        assert fills(eyes.inner, places(eyes, size)), (size, box)
    eyes.follow(high)
    assert fills(eyes.inner, places(eyes, (900.0, 700.0)))
    assert (eyes.camera.azimuth, eyes.camera.elevation) == (turned.azimuth, turned.elevation)


def test_who_turns_the_camera_while_a_card_opens_has_the_network_beside_the_card() -> None:
    eyes = CameraController(laid_out(NETWORKS["3-8-3"]), "perspective")
    eyes.frame(SIZE, Division.of(*SIZE).inner)
    box = Division.of(*SIZE, card=True).inner
    eyes.frame(SIZE, box)
    eyes.tick(0.0), eyes.tick(0.1 * QUICK)
    eyes.orbit(0.0, 0.0)
    assert fills(box, places(eyes, SIZE)) and not eyes.tick(0.2)


def test_a_card_that_opens_moves_the_network_aside_quickly() -> None:
    eyes = CameraController(laid_out(NETWORKS["3-8-3"]), "orthographic")
    open_, closed = Division.of(*SIZE, card=True).inner, Division.of(*SIZE).inner
    eyes.frame(SIZE, closed)
    for before, box in ((closed, open_), (open_, closed)):
        first = places(eyes, SIZE, before)
        eyes.frame(SIZE, box)
        np.testing.assert_allclose(places(eyes, SIZE, box), first, atol=1e-6)  # nothing jumps
        assert eyes.tick(5.0) and eyes.tick(5.0 + 0.5 * QUICK)
        assert not fills(box, places(eyes, SIZE))
        assert eyes.tick(5.0 + QUICK) and fills(box, places(eyes, SIZE))
        assert not eyes.tick(5.0 + 2.0 * QUICK) and QUICK <= 0.2


def test_a_stage_makes_room_for_a_card_in_a_moment(
    colours: sv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(colours)
    monkeypatch.setattr(stage.reading, "exhibit", lambda **_: None)  # else the card is above it
    stage.resize(*SIZE)
    before = stage.frame_data().division(*SIZE).inner
    first = places(stage.eyes, SIZE, before)
    stage.pin(3)
    parts = stage.frame_data().division(*SIZE)
    assert parts.card.width and stage.eyes.inner == parts.inner != before
    np.testing.assert_allclose(places(stage.eyes, SIZE), first, atol=0.01)  # nothing jumps
    assert stage.tick(5.0) and stage.tick(5.0 + QUICK)
    assert fills(parts.inner, places(stage.eyes, SIZE))
