"""How much of the free stage networks take, what covers what, and from where they are seen."""

from dataclasses import replace

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.stage.show import Several
from scalarviz.stage.side_by_side import SideBySide
from scalarviz.stage.stage import Stage
from tests.pictures.view.measures import look, projection, stage_of, trained

SMALL = ["rgb", "xor", "xnor", "circle", "normalized", "expression"]
LARGE = [pytest.param(each, marks=pytest.mark.slow) for each in ("digits", "retrain", "texture")]
SIZES = [(1280, 800), (1366, 700), (1920, 1080)]
every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


@pytest.mark.some(4)
@every_size
@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_the_network_takes_four_fifths_of_the_stage_and_across_three_fifths(
    name: str, size: tuple[int, int]
) -> None:
    stage = stage_of(trained(name), size)
    see, layout = projection(stage), stage.frame_data().layout
    xy = see(replace(layout, labels=()).points()).xy
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
    stages = SideBySide(shows, reduced_motion=True)
    stages.resize(1280, 800)
    stages.frame_data()
    found = {(each.eyes.camera.azimuth, each.eyes.camera.elevation) for each in stages.stages}
    assert len(found) == 1
