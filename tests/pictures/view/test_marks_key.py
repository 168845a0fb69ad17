"""The legend and the key to the marks: what has room where, and what is explained."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Division
from scalarviz.scene.legend import (
    SIZE,
    SMALL,
    draw_legend,
    draw_marks_key,
    draw_squares,
    legend_box,
    mark_rows,
)
from scalarviz.stage.show import Show
from tests.pictures.view.measures import Words, stage_of, trained


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        ((1280, 800), SIZE), ((800, 500), SIZE), ((360, 400), SMALL), ((640, 240), SMALL),
        ((300, 400), None), ((360, 100), None),
    ],
)  # fmt: skip
def test_the_legend_is_smaller_where_there_is_little_room(size: Any, wanted: Any) -> None:
    box = legend_box(Division.of(*size))
    assert (None if box is None else (box.width, box.height)) == wanted


@pytest.mark.parametrize("clipped", [0, 1234])
@pytest.mark.parametrize("grown", [None, (1.0, 2.0)])
def test_a_small_legend_says_its_ends_and_what_is_new(clipped: int, grown: Any) -> None:
    cubes = replace(stage_of(trained("rgb"), (360, 400)).frame_data().cubes)
    cubes = replace(cubes, clipped=clipped, grown=grown)
    canvas, division = Words(360, 400), Division.of(360, 400)
    draw_legend(canvas, division, cubes, THEMES["dark"])
    said = [words for words, _ in canvas.found]
    last = "scale 1 → 2" if grown else "(1,234 beyond)" if clipped else "value"
    assert said == ["-1", "+1", last]
    box = legend_box(division)
    assert box is not None and all(
        box.x <= each.x and each.right <= box.right for _, each in canvas.found
    )


def frame_at(name: str, operation: int) -> FrameData:
    show = Show.of(load(find(name))())
    show.session.advance(300)
    show.session.advance(operation, "operation")
    return stage_of(show, (800, 500)).frame_data()


def names_of(frame_data: FrameData) -> set[str]:
    return {name for name, _ in mark_rows(frame_data)}


def test_the_key_explains_the_marks_of_the_picture_alone() -> None:
    plain = frame_at("circle", 0)
    assert len(plain.buffers.saturated) and names_of(plain) >= {text("marks.cube.name")}
    none = replace(plain, buffers=replace(plain.buffers, saturated={}, flows={}))
    few = {text(f"marks.{name}.name") for name in ("cube", "sphere", "numbers")}
    assert names_of(none) == few
    for name, given in {
        "striped": {"saturated": {"tanh 0": np.array([0.0, 0.5])}},
        "crossed": {"left_out": {"tanh 0": np.array([0.0, 1.0])}},
        "dot": {"flows": {"tanh 0": np.array([0.0, 1.0])}},
    }.items():
        found = names_of(replace(none, buffers=replace(none.buffers, **given)))
        assert found - few == {text(f"marks.{name}.name")}
    numbers = none.cubes.colors
    for name, field in {"arrow": "pushes", "before": "before", "frozen": "frozen"}.items():
        found = names_of(replace(none, cubes=replace(none.cubes, **{field: numbers})))
        assert found - few == {text(f"marks.{name}.name")}
    changed = replace(none.cubes, clipped=2, grown=(1.0, 2.0))
    assert names_of(replace(none, cubes=changed)) - few == {"(2 beyond)", "scale 1 → 2"}


@pytest.mark.parametrize("size", [(1280, 800), (800, 500), (360, 400)])
def test_the_key_stands_above_the_legend_and_says_all(size: Any) -> None:
    canvas, division, frame_data = Words(*size), Division.of(*size), frame_at("circle", 10)
    assert draw_marks_key(canvas, division, frame_data, THEMES["dark"]) is None
    shown = replace(frame_data, marks=True)
    box = draw_marks_key(canvas, division, shown, THEMES["dark"])
    legend = legend_box(division)
    assert box is not None and legend is not None and box.bottom <= legend.y
    assert box.y >= division.scene.y and box.right <= division.scene.right
    said = " ".join(words for words, _ in canvas.found)
    for name, meaning in mark_rows(shown):
        assert name in said and meaning.split()[-1] in said
    for _, each in canvas.found:
        assert box.x <= each.x and each.right <= box.right and each.bottom <= box.bottom


def test_the_squares_of_the_scale_stand_around_one_line_from_end_to_end() -> None:
    middles: list[Any] = []

    class Squares(Words):
        def boxes(self, corners: Any, sizes: Any, *given: Any, **look: Any) -> None:
            middles.extend(corners + sizes / 2.0)

    draw_squares(Squares(300.0, 40.0), 10.0, 20.0, 200.0, 16.0, THEMES["dark"], 1.0)
    across, down = np.transpose(middles)
    np.testing.assert_allclose(down, 20.0)
    np.testing.assert_allclose(
        [across[0], across[-1], np.ptp(np.diff(across))], [18, 202, 0], atol=1e-9
    )
