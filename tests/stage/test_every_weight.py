"""Every weight as a cube of a wall: on and off, in two parts of a turn, or at once."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import scalarviz as sv
from scalarviz.scene.layout.plates import Layout
from scalarviz.stage.camera_control import FOLDS, UNFOLDS
from scalarviz.stage.commands import COMMANDS
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages


def session_of(*sizes: int) -> sv.Session:
    random = np.random.default_rng(0)
    data = random.normal(size=(8, sizes[0])), random.normal(size=(8, sizes[-1]))
    return sv.Session(sv.Network(list(sizes), "tanh", seed=0), data, seed=0, engine="python")


def stage_of(*sizes: int, still: bool = False) -> Stage:
    stage = Stage(session_of(*sizes), reduced_motion=still)
    at(stage, 0.0)
    return stage


def at(stage: Stage, now: float) -> Layout:
    """The layout that is shown at a time."""
    stage.tick(now)
    return stage.frame_data().layout


def test_it_has_a_key_in_window_and_page() -> None:
    row = COMMANDS["every weight"]
    assert (row.kind, row.key, row.page, row.group) == ("tick", "w", "key", "")


def test_the_former_layout_turns_edge_on_then_walls_turn_to_their_side() -> None:
    stage = stage_of(30, 24, 2)
    before, azimuth = stage.plan, stage.eyes.camera.azimuth
    stage.take(every_weight=True)
    seen = [(at(stage, 1.0 + 0.01 * i), stage.eyes.camera.azimuth) for i in range(70)]
    walls, end = seen[-1][0], seen[-1][0].views["perspective"].azimuth
    folding = [turned for layout, turned in seen if layout is before]
    unfolding = [turned for layout, turned in seen if layout is walls]
    assert len(folding) + len(unfolding) == len(seen)
    assert folding == sorted(folding, reverse=True)
    assert unfolding == sorted(unfolding, reverse=True)
    assert (folding[0], unfolding[0]) == (azimuth, 0.0)
    assert len(folding) == pytest.approx(100 * FOLDS, abs=3)
    assert unfolding.index(end) == pytest.approx(100 * UNFOLDS, abs=3)
    assert folding[-1] < -80.0  # trays face the viewer, as squares do
    assert stage.eyes.framed
    assert not stage.eyes.tick(1.8)
    stage.take(every_weight=False)
    for now in np.arange(2.0, 2.8, 0.05):
        at(stage, now)
    assert_array_equal(stage.plan.extent, before.extent)
    assert stage.eyes.camera.azimuth == azimuth


def test_squares_turn_edge_on_before_walls_do() -> None:
    stage = stage_of(2, 30, 24, 1)
    assert len(stage.plan.plates) < 4
    stage.take(every_weight=True)
    seen = [(at(stage, 1.0 + 0.01 * i), stage.eyes.camera.azimuth) for i in range(70)]
    squares = [turned for layout, turned in seen if layout.fans[0].is_direct]
    assert squares == sorted(squares, reverse=True)
    assert squares[-1] < -80.0
    assert next(turned for layout, turned in seen if not layout.fans[0].is_direct) == 0.0


def test_it_changes_at_once_where_motion_is_reduced() -> None:
    stage = stage_of(30, 24, 2, still=True)
    stage.take(every_weight=True)
    walls = at(stage, 0.1)
    assert stage.eyes.camera.azimuth == walls.views["perspective"].azimuth != 0.0


def test_training_continues_in_walls_and_what_is_pinned_stays() -> None:
    stage = stage_of(30, 24, 2, still=True)
    stage.pin(40)
    stage.take(every_weight=True)
    at(stage, 0.1)
    stage.session.advance(2)
    shown = stage.frame_data()
    assert_array_equal(shown.cubes.colors, stage.session.network.bank.value)
    assert stage.pinned == 40
    assert shown.layout.plate_of(40) is not None


def test_it_is_remembered_for_another_session() -> None:
    stage = stage_of(30, 24, 2, still=True)
    stage.take(every_weight=True)
    stage.replace(session_of(3, 8, 3))
    few = at(stage, 0.2)
    stage.replace(session_of(25, 5, 3))
    assert not stage_of(3, 8, 3).has_walls
    assert_array_equal(few.extent, stage_of(3, 8, 3).plan.extent)
    assert stage.plan.views["perspective"].elevation == 8.0


def test_a_small_network_does_not_turn() -> None:
    stage = stage_of(3, 8, 3)
    before = stage.plan
    stage.take(every_weight=True)
    assert at(stage, 1.0) is before
    assert not stage.eyes.tick(1.1)


def test_very_long_rows_are_walls_without_it() -> None:
    stage = stage_of(200, 4, 2)
    assert not stage.has_walls
    assert stage.plan.views["perspective"].elevation == 8.0


def test_side_by_side_all_change() -> None:
    stages = Stages([stage_of(30, 24, 2, still=True), stage_of(3, 8, 3, still=True)], ("a", "b"))
    assert stages.has_walls
    stages.take(every_weight=True)
    assert [each.look.every_weight for each in stages.panes] == [True, True]


@pytest.mark.parametrize("every", [False, True])
def test_pictures_have_it(tmp_path: Path, every: bool) -> None:
    with RenderOptions(every_weight=every).on(session_of(30, 24, 2)) as stages:
        stages.lead.frame_data()
        elevation = stages.lead.plan.views["perspective"].elevation
    assert (elevation == 8.0) == every
