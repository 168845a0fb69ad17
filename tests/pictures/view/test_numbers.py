"""Numbers on cubes: which cubes have them, how large they are, and where they stand."""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from scalarviz.base.texts.decimals import on_cube
from scalarviz.faces.scenefiles.find import find, load
from scalarviz.pictures.draw2d.theme import THEMES
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.view.numbers import SMALLEST, draw_numbers, numbered_rows
from scalarviz.pictures.view.scene.frame import Box
from tests.pictures.view.measures import Words, projection, stage_of, trained

SIZES = [(1280, 800), (800, 500), (360, 400), (3840, 2160)]
every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


class Letters(Words):
    """A canvas that remembers the sizes of its letters, too."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.sizes: list[float] = []

    def text(self, *given: Any, size: float = 13.0, **look: Any) -> float:
        self.sizes.append(size)
        return float(super().text(*given, size=size, **look))


def walls_of(stage: Stage) -> list[set[int]]:
    """The bank indices of each wall: those of one operation."""
    found: dict[object, set[int]] = {}
    for plate in stage.frame_data().layout.plates:
        own = plate.operation if plate.operation >= 0 else id(plate)
        found.setdefault(own, set()).update(plate.cells()[2].tolist())
    return list(found.values())


def written(stage: Stage) -> Letters:
    """What is written on the cubes."""
    canvas = Letters(*stage._extent)
    scale = stage.frame_data().division(*stage._extent).scale
    canvas.scale = scale
    see = projection(stage)
    draw_numbers(canvas, see, stage.frame_data(), THEMES["dark"], scale)
    return canvas


def apart(boxes: Iterable[Box]) -> bool:
    return not any(a.meets(b) for a, b in itertools.combinations(boxes, 2))


@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "xnor", "2-12-2"])
def test_a_wall_has_numbers_on_all_of_its_cubes_or_on_none(name: str, size: Any) -> None:
    stage = stage_of(trained(name), size)
    scale = stage.frame_data().division(*size).scale
    rows = set(numbered_rows(projection(stage), stage.frame_data(), scale))
    for wall in walls_of(stage):
        assert rows & wall in (set(), wall)
    canvas = written(stage)
    assert len(canvas.found) == len(rows) and apart(box for _, box in canvas.found)
    assert not canvas.sizes or min(canvas.sizes) >= SMALLEST * scale


@pytest.mark.parametrize(
    ("name", "size", "count"),
    [
        ("xor", (1280, 800), 12), ("xor", (800, 500), 12), ("xor", (360, 400), 3),
        ("rgb", (1280, 800), 59), ("rgb", (1366, 656), 59), ("rgb", (800, 500), 0),
        ("circle", (1280, 800), 25), ("circle", (800, 500), 0),
    ],
)  # fmt: skip
def test_numbers_are_there_where_they_have_room(name: str, size: Any, count: int) -> None:
    assert len(written(stage_of(trained(name), size)).found) == count


@pytest.mark.parametrize("size", [(1280, 800), (1280, 756), (1366, 700), (1366, 656), (3840, 2160)])
def test_a_card_takes_its_room_from_the_exhibit_and_leaves_cubes_their_numbers(size: Any) -> None:
    stage = stage_of(trained("rgb"), size)
    before = written(stage).found
    stage.pin(5)
    stage.frame_data()  # the camera is fitted
    assert len(written(stage).found) == len(before) == 59
    stage.pin(None)


@every_size
@pytest.mark.parametrize("way", ["hover", "pinned"])
def test_the_hovered_and_the_pinned_cube_have_their_number_always(way: str, size: Any) -> None:
    stage = stage_of(trained("rgb"), size)
    setattr(stage, way, 40)
    stage.frame_data()
    scale = stage.frame_data().division(*size).scale
    rows = numbered_rows(projection(stage), stage.frame_data(), scale)
    assert rows[40][1] >= SMALLEST * scale
    fan, unit = stage.frame_data().layout.fan_of(40)  # type: ignore[misc]  # it has one
    whole = {*fan.rows_of(unit), fan.biases + unit}
    assert set(rows) & whole in ({40}, whole)


@pytest.mark.parametrize("operation", [2, 4, 9, 11])
@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
def test_the_arithmetic_of_a_caption_is_on_all_of_its_cubes_or_on_none(
    operation: int, size: Any
) -> None:
    show = Show.of(load(find("rgb"))())
    show.session.advance(20)
    show.session.advance(operation, "operation")
    stage = stage_of(show, size)
    caption = stage.frame_data().words.caption
    marks = [piece.mark for piece in caption.pieces if piece.mark] if caption else []
    canvas = written(stage)
    said = [words for words, _ in canvas.found]
    lines = [line for mark in marks for line in on_cube(mark).split("\n")]
    assert all(line in said for line in lines) or not any("×" in words for words in said)
    assert not canvas.sizes or min(canvas.sizes) >= SMALLEST


def test_a_wall_that_is_seen_from_its_side_has_no_numbers() -> None:
    stage = stage_of(trained("xor"), (1280, 800))
    see, frame_data = projection(stage), stage.frame_data()
    assert len(numbered_rows(see, frame_data, 1.0)) == 12
    along = replace(see, camera=replace(see.camera, azimuth=4.0))
    assert numbered_rows(along, frame_data, 1.0) == {}
