"""The move of a step: each cube eases from its old size to the new one, and says its change."""

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.faces.scene_file import find, load
from scalarviz.scene import marks
from scalarviz.scene.cube_numbers import changed
from scalarviz.scene.visuals.picking import half_sides
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.in_web import in_web
from tests.pictures.view.drawn_terms import DARK, Notes
from tests.pictures.view.measures import projection


@pytest.fixture
def moving() -> Stage:
    """A stage at the beginning of a move."""
    show = Show.of(load(find("rgb"))(engine="cpu"))
    show.session.advance(3)
    show.session.advance(len(show.session.operations) - 1, "operation")
    stage = Stage(show)
    stage.resize(1280, 800)
    stage.frame_data()
    stage.tick(5.0)
    show.session.advance(1, "operation")
    stage.frame_data()
    return stage


def test_no_frame_draws_a_size_outside_the_old_and_the_new_one(moving: Stage) -> None:
    bank = moving.session.network.bank
    old, new = moving.frame_data().cubes.before, bank.value.copy()
    assert old is not None
    low, high = np.minimum(old, new) - 1e-7, np.maximum(old, new) + 1e-7
    seen = []
    for frame in range(110):
        moving.tick(5.0 + 0.01 * frame)
        sizes = moving.frame_data().cubes.sizes
        assert (sizes >= low).all() and (sizes <= high).all()
        seen.append(float(np.abs(sizes - old).max()))
    assert seen == sorted(seen) and seen[0] == 0.0
    np.testing.assert_allclose(sizes, new)
    on_way = sum(0.0 < each < seen[-1] for each in seen)
    assert 27 <= on_way <= 31, "frames of 10 ms"


def test_a_ghost_is_drawn_from_two_pixels_on(
    moving: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving.tick(20.0)
    frame_data, see, drawn = moving.frame_data(), projection(moving), []
    frame_data.cubes.before[::3] *= 0.5
    monkeypatch.setattr(
        marks, "edges_of", lambda canvas, see, corners, *look: drawn.append(corners)
    )
    marks.draw_ghosts(Notes(1280, 800), see, frame_data, DARK)
    far = 0
    for number, plate in enumerate(frame_data.layout.plates):
        row, column, rows = plate.cells()
        top = float(frame_data.cubes.size_scales[number])
        sides = [
            half_sides(each[rows], top)
            for each in (frame_data.cubes.before, frame_data.cubes.sizes)
        ]
        unit = see(plate.point(column + 0.5, row + 0.5)).unit * plate.unit
        far += int((2.0 * np.abs(sides[1] - sides[0]) * unit >= 2.0).sum())
    assert 0 < len(drawn) == far < len(frame_data.cubes.sizes)


def test_a_change_is_an_arrow_with_its_amount_in_window_and_page() -> None:
    pairs = [(0.5, 0.53), (-0.4, -0.41), (0.1, 0.1004), (0.3, 0.3), (1.0, 14.25), (0.2, 0.20001)]
    words = [changed(*pair) for pair in pairs]
    expected = ["↑ .03", "↓ .01", "↑ .0004", None, f"↑ {short(13.25)}", None]
    assert words == [[each] if each else [] for each in expected]
    found = in_web(
        "cube_numbers", "return data.pairs.map((pair) => changedBy(...pair));", pairs=pairs
    )
    assert found == words
