"""The keyboard over the picture: every cube and every sphere can be reached."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz.scene import inspector
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.inspector import box_of_hovered, ends_of, tooltip_box
from scalarviz.stage.pointing import DIRECTIONS, PointerTarget, next_target, places_of
from scalarviz.stage.stage import Stage
from tests.studio import Studio

SIZES = [(1280, 800), (800, 500)]


def shown(studio: Studio, session: sv.Session, size: tuple[int, int]) -> Stage:
    stage = Stage(session)
    for now in (0.0, 5.0):
        studio.stage(stage, now, size)
    return stage


@pytest.mark.parametrize("size", SIZES)
def test_arrows_reach_every_cube_and_every_sphere(
    studio: Studio, colours: sv.Session, size: tuple[int, int]
) -> None:
    stage = shown(studio, colours, size)
    frame_data = stage.frame_data()
    see = stage.picture().see(frame_data, stage.eyes.camera, *size)
    box = frame_data.division(*size).view
    targets, _ = places_of(frame_data, see, box)
    assert len(targets) == 59 + 14 + 2
    reached, waiting = set(), [next_target(frame_data, see, box, PointerTarget())]
    while waiting:
        now = waiting.pop()
        if now not in reached:
            reached.add(now)
            waiting += [next_target(frame_data, see, box, now, way) for way in DIRECTIONS]
    assert reached == set(targets)


def test_what_is_pointed_at_is_pinned_unpinned_and_left(
    studio: Studio, colours: sv.Session
) -> None:
    colours.advance(1)
    stage = shown(studio, colours, (1280, 800))
    stage.pin(5)
    stage.walk("")
    assert (stage.hover, stage.walking) == (5, True)  # from what is pinned
    stage.walk("right")
    stage.hover_at(-1.0, -1.0)  # the mouse leaves the picture
    pointed = PointerTarget(stage.hover, stage.hover_neuron)
    assert pointed and pointed != PointerTarget(5)
    stage.pin_pointed()
    assert PointerTarget(stage.pinned, stage.pinned_neuron) == pointed
    stage.pin_pointed()
    assert not PointerTarget(stage.pinned, stage.pinned_neuron)
    stage.pin(5)
    stage.restore()
    assert not stage.walking and stage.hover is None and stage.pinned == 5
    stage.restore()
    assert stage.pinned is None


# The tooltip.


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES)
def test_the_tooltip_covers_neither_its_cube_nor_the_neurons_it_joins(
    studio: Studio, colours: sv.Session, size: tuple[int, int]
) -> None:
    colours.advance(1)
    stage = shown(studio, colours, size)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    canvas = Canvas2D(*size)
    for row in range(59):
        stage.hover = row
        seen = stage.frame_data()
        division = seen.division(*size)
        assert seen.hover is not None
        tip = tooltip_box(canvas, see, seen, division)
        cube = box_of_hovered(see, seen, seen.hover)
        assert tip is not None and cube is not None and not tip.meets(cube)
        for end in ends_of(see, seen.layout, row):
            assert not tip.meets(end)
        scene = division.scene
        assert tip.x >= scene.x and tip.right <= scene.right
        assert tip.y >= scene.y and tip.bottom <= scene.bottom


@pytest.mark.some("size0-6")
@pytest.mark.parametrize("every", [6, 1])
@pytest.mark.parametrize("size", SIZES)
def test_the_tooltip_covers_no_button_of_a_message(
    studio: Studio,
    colours: sv.Session,
    size: tuple[int, int],
    every: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage, tips = shown(studio, colours, size), []

    def placed(*given: Any) -> Any:
        tips.append(tooltip_box(*given))
        return tips[-1]

    monkeypatch.setattr(inspector, "tooltip_box", placed)
    stage.notice("It moves from -1.1 to 0.54: R goes from 0.31 to 0.57", "let it fix that")
    for row in range(0, 59, every):
        stage.hover = row
        studio.stage(stage, 9.0, size)
        ((box, label),) = stage.on_top.buttons
        assert label == "let it fix that" and not tips[-1].meets(box)


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES)
def test_the_tooltip_covers_no_hovered_sphere(
    studio: Studio, colours: sv.Session, size: tuple[int, int]
) -> None:
    stage = shown(studio, colours, size)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    for neuron in [("inputs", 0), ("inputs", 3), ("tanh 0", 0), ("tanh 0", 7), ("sigmoid 1", 2)]:
        stage.hover_neuron = neuron
        seen = stage.frame_data()
        assert seen.hover is not None
        tip = tooltip_box(Canvas2D(*size), see, seen, seen.division(*size))
        ball = box_of_hovered(see, seen, seen.hover)
        assert tip is not None and ball is not None and not tip.meets(ball)
        studio.stage(stage, 9.0, size)
        assert seen.hover.name in stage.picture().words
