"""Numbers on cubes: which cubes have them, how large they are, and where they stand."""

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import on_cube
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.canvas.palette import HALO, NUMBER, THEMES
from scalarviz.scene.cube_numbers import Number, draw_numbers, faces_seen, numbers_on_cubes
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.lights import lights
from scalarviz.scene.picture import draw_scenery
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pictures.view.measures import Words, look, projection, stage_of, trained

SIZES = [(1280, 800), (1366, 700), (800, 500), (3840, 2160)]
TURNS = [(0.0, 0.0), (17.0, 8.0), (-30.0, 5.0), (40.0, 30.0), (80.0, -10.0), (-60.0, 45.0)]
every_size = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


def numbers(stage: Stage, see: Projection | None = None) -> dict[int, Number]:
    """What is written on the cubes, by bank index."""
    scale = stage.frame_data().division(*stage._extent).scale
    canvas = Words(*stage._extent)
    return numbers_on_cubes(canvas, see or projection(stage), stage.frame_data(), scale)[0]


def written(stage: Stage, see: Projection | None = None) -> Words:
    """A canvas with what is written on the cubes."""
    scale = stage.frame_data().division(*stage._extent).scale
    canvas = Words(*stage._extent)
    draw_numbers(canvas, see or projection(stage), stage.frame_data(), scale)
    return canvas


def apart(boxes: Iterable[Box]) -> bool:
    return not any(a.meets(b) for a, b in itertools.combinations(boxes, 2))


PANEL = 400  # pixels of width


def shown(size: tuple[int, int], way: str) -> Stage:
    """The stage of 3-8-3 with a card, beside the panel of a window, or in a presentation."""
    wide, high = size
    stage = stage_of(trained("rgb"), (wide - PANEL, high) if way == "panel" else size)
    if way == "card":
        stage.pin(5)
    stage.present = way == "present"
    stage.frame_data()  # the camera is fitted
    return stage


@pytest.mark.parametrize("way", ["rest", "card", "panel", "present"])
@pytest.mark.parametrize("size", [(1280, 800), (1366, 700)], ids=str)
def test_nine_of_ten_cubes_of_3_8_3_have_a_number(way: str, size: Any) -> None:
    stage = shown(size, way)
    found = numbers(stage)
    stage.pin(None)
    assert len(found) >= 0.9 * 59


def test_a_cube_just_below_1_has_its_number_where_one_of_two_letters_fits() -> None:
    found = []
    for value in (0.94, 0.97):
        show = Show.of(load(find("rgb"))())
        show.session.network.bank.value[:] = value
        found.append(numbers(stage_of(show, (720, 450))))
    assert {each.words for each in found[0].values()} == {".9"}
    assert {each.words for each in found[1].values()} == {"1"} and len(found[0]) == len(found[1])


@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "xnor", "2-12-2"])
def test_numbers_stand_apart_and_on_their_cubes_after_each_turn(name: str, size: Any) -> None:
    stage = stage_of(trained(name), size)
    see = projection(stage)
    for right, up in TURNS:
        turned = replace(see, camera=see.camera.orbited(right, up))
        canvas = written(stage, turned)
        assert apart(box for _, box in canvas.found)


@pytest.mark.parametrize("zoom", [1.0, 2.0, 4.0])
def test_a_number_has_three_tenths_of_the_height_of_its_face(zoom: float) -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    see = projection(stage)
    near = replace(see, camera=see.camera.zoomed(zoom))
    faces, found = faces_seen(near, stage.frame_data(), (), 1.0), numbers(stage, near)
    highs = dict(zip(faces.rows.tolist(), faces.high.max(axis=1).tolist(), strict=True))
    wanted = np.array([min(max(0.3 * highs[row], 10.0), 28.0) for row in found])
    sizes = np.array([number.size for number in found.values()])
    assert (sizes <= wanted + 1e-9).all() and sizes.min() >= 10.0
    assert np.isclose(sizes, wanted, rtol=0.03).mean() > 0.6  # others are as wide as their cells


@pytest.mark.parametrize("name", ["rgb", "xor"])
def test_a_number_is_on_what_is_seen_of_its_cube(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    for turn in [(0.0, 0.0), (-60.0, 20.0), (150.0, -60.0)]:
        stage.orbit(*turn)
        seen, found = look(stage), numbers(stage)
        place = {row: i for i, row in enumerate(seen.rows.tolist())}
        for row, number in found.items():
            assert seen.picture[int(number.y), int(number.x)] == place[row]


@every_size
@pytest.mark.parametrize("way", ["hover", "pinned"])
def test_the_cubes_of_a_hovered_or_pinned_sum_have_their_numbers(way: str, size: Any) -> None:
    stage = stage_of(trained("rgb"), size)
    setattr(stage, way, 40)
    stage.frame_data()
    fan, unit = stage.frame_data().layout.fan_of(40)  # type: ignore[misc]  # it has one
    found = numbers(stage)
    assert {40, *fan.rows_of(unit), fan.biases + unit} <= set(found)
    assert all(found[row].depth == -1.0 for row in fan.rows_of(unit))


def test_the_hovered_cube_has_its_number_where_cubes_are_too_small_for_any() -> None:
    stage = stage_of(trained("12-64-3"), (800, 500))
    assert 100 not in numbers(stage)
    stage.hover = 100
    assert 100 in numbers(stage)


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
    said = [words for words, _ in written(stage).found]
    lines = [line for mark in marks for line in on_cube(mark).split("\n")]
    assert all(line in said for line in lines) or not any("×" in words for words in said)


@pytest.mark.parametrize("factor", [1e-4, 0.01, 1.0, 300.0])
def test_the_stage_writes_plain_decimals(factor: float) -> None:
    show = Show.of(load(find("rgb"))())
    show.session.network.bank.value[:] = factor * np.linspace(-3.0, 3.0, 59)
    stage = stage_of(show, (1280, 800))
    data, canvas = stage.frame_data(), Words(1280, 800)
    lit = lights(data.layout, None, None, 0.0)
    draw_scenery(canvas, projection(stage), data, lit, THEMES["dark"])
    assert not any(re.search(r"\d[eE][-+]?\d", words) for words, _ in canvas.found)


class Inks(Words):
    """A canvas that remembers the colors of its numbers, and of their halos."""

    inks: frozenset[tuple[Any, Any]] = frozenset()

    def text(self, x: float, y: float, words: str, **look: Any) -> float:
        if re.fullmatch(r"-?\d?\.\d+", words):
            self.inks |= {(look["color"], look.get("outline"))}
        return float(super().text(x, y, words, **look))


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_numbers_on_cubes_and_spheres_have_one_color_with_a_halo(theme: str) -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    data, canvas = stage.frame_data(), Inks(1280, 800)
    lit = lights(data.layout, None, None, 0.0)
    draw_scenery(canvas, projection(stage), data, lit, THEMES[theme])
    assert canvas.inks == {(NUMBER, HALO)}
