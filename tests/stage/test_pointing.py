"""The mouse and the keyboard on the picture.

Hovering, pinning, walking, and the one operation that is shown.
"""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.checks import shorten
from scalarviz.core.program import Moment
from scalarviz.errors import InputError, OwnershipError
from scalarviz.scene import inspector
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.inspector import boxes_of_sum, inputs_of, tooltip_box
from scalarviz.scene.layout.division import Division
from scalarviz.scene.marks import box_of
from scalarviz.stage.pointing import DIRECTIONS, PointerTarget, next_target, parts_seen
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Caption
from tests.stage.conftest import SIZE, go, words
from tests.studio import Studio, places
from tests.wording import refused


def near(stage: Stage, index: int, changed: np.ndarray) -> int:
    """How many pixels have changed in the cell of a cube and around it."""
    unit = (
        stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)(np.zeros((1, 3))).unit[0]
    )
    x, y = places(stage, SIZE)[index]
    reach = 0.5 * unit + 2.0
    return int(changed[int(y - reach) : int(y + reach), int(x - reach) : int(x + reach)].sum())


def test_each_cube_can_be_hovered_over_and_pinned(studio: Studio, stage: Stage) -> None:
    studio.stage(stage, 0.0, SIZE)
    for index, (x, y) in places(stage, SIZE).items():
        stage.hover_at(x, y)
        assert stage.hover == index
    stage.click(*places(stage, SIZE)[40])
    assert stage.pinned == 40 and stage.session.pinned == [40]
    for seconds in (0.0, 1.0):  # the network makes room for the card first
        studio.stage(stage, seconds, SIZE)
    assert "neuron 0 → output G" in stage.picture().words
    stage.click(*places(stage, SIZE)[41])
    assert stage.pinned == 41 and stage.session.pinned == [41]
    box = Division.of(*SIZE).scene
    stage.click(box.x + 3.0, box.bottom - 3.0)
    assert stage.pinned is None and stage.session.pinned == []


def test_on_beads_each_cube_is_found_where_it_is_seen_before_others(
    studio: Studio, colours: sv.Session
) -> None:
    size = (1280, 800)
    stage = shown(studio, colours, size)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    cubes, found = stage.frame_data().cubes, {}
    for plate, top in zip(stage.plan.plates, cubes.size_scales, strict=True):
        row, column, index = plate.cells()
        half = plate.halves(cubes.sizes[index], float(top))
        front = see(plate.middle(row, column, half) + half[:, np.newaxis] * plate.toward)
        found |= dict(zip(index.tolist(), zip(front.xy, front.depth, strict=True), strict=True))
    hidden = 0
    for index, (place, depth) in found.items():
        stage.hover_at(*place)
        assert stage.hover == index or found[stage.hover][1] < depth
        hidden += stage.hover != index
    assert len(found) == 59
    assert hidden < 6  # one of ten


def test_cubes_are_picked_at_the_size_that_they_are_shown_with(
    studio: Studio, stage: Stage
) -> None:
    stage.session.advance(len(stage.reading.moments) - 1, "operation")
    studio.stage(stage, 0.0, SIZE)
    stage.session.advance(1, "operation")
    studio.stage(stage, 10.0, SIZE)
    studio.stage(stage, 20.0, SIZE)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)
    shown = stage.frame_data().cubes
    half = stage.plan.plates[0].halves(shown.sizes, float(shown.size_scales[0]))
    half = half * float(see(np.zeros((1, 3))).unit[0])
    for index, (x, y) in places(stage, SIZE).items():
        assert stage.target_at(x + half[index] - 0.3, y).row == index
        assert stage.target_at(x + half[index] + 0.3, y).row != index


def test_a_pinned_cube_is_outlined_and_gone_to(studio: Studio, stage: Stage) -> None:
    plain = studio.stage(stage, 0.0, SIZE)
    stage.pin(30)
    shown = studio.stage(stage, 0.0, SIZE)
    assert near(stage, 30, (plain != shown).any(axis=2)) > 40
    stage.frame_pinned()
    for now in (0.0, 2.0):
        studio.stage(stage, now, SIZE)
    inner = stage.frame_data().division(*SIZE).inner
    assert stage.target_at(*(inner.x + inner.width / 2, inner.y + inner.height / 2)).row == 30


def test_without_a_pinned_weight_the_whole_network_is_looked_at(stage: Stage) -> None:
    first = stage.eyes.camera
    stage.eyes.zoom(5.0, 30.0, 30.0)
    stage.frame_pinned()
    stage.tick(0.0), stage.tick(5.0)
    assert stage.eyes.camera == first


def test_a_history_that_was_recorded_before_outlives_the_card(stage: Stage) -> None:
    stage.session.pin([5, 6])
    stage.pin(5)
    stage.pin(8)
    stage.pin(None)
    assert stage.session.pinned == [5, 6]


def test_messages_do_not_pile_up(stage: Stage) -> None:
    stage.tick(0.0)
    for number in range(4):
        stage.notice(f"said {number}")
    assert stage.chips() == [("said 3", "")]
    stage.notice("first", "undo")
    stage.notice("second", "return")
    assert stage.chips() == [("said 3", ""), ("second", "return")]
    stage.status = "compiling"
    assert stage.chips() == [("compiling", ""), ("second", "return")]
    stage.status = ""
    stage.notice("later")
    assert stage.chips() == [("second", "return"), ("later", "")]


def test_frozen_cubes_stand_between_bars(studio: Studio, stage: Stage) -> None:
    plain = studio.stage(stage, 0.0, SIZE)
    stage.session.freeze([30])
    changed = (studio.stage(stage, 0.0, SIZE) != plain).any(axis=2)
    assert near(stage, 30, changed) > 40 and near(stage, 30, changed) == changed.sum()


def test_what_is_said_before_the_first_look_at_the_time_is_seen(stage: Stage) -> None:
    stage.notice("at the very beginning")
    stage.tick(1e6)
    assert stage.chips() == [("at the very beginning", "")]
    assert stage.tick(1e6 + 9.0) and not stage.chips()


def test_notices_go_by_themselves_and_choices_wait(studio: Studio, stage: Stage) -> None:
    done = []
    stage.tick(0.0)
    stage.notice("saved", "undo", lambda: done.append("undo"))
    stage.offer({"go on": lambda: done.append("go on")})
    assert {"saved", "undo", "go on"} <= set(words(studio, stage))
    buttons = {name: box for box, name in stage.on_top.buttons}
    for name in ("undo", "go on"):
        stage.click(buttons[name].x + 5.0, buttons[name].y + 5.0)
    assert done == ["undo", "go on"] and not {"undo", "go on"} & set(words(studio, stage))
    stage.notice("once more")
    assert not stage.tick(7.0) and stage.tick(9.0) and "once more" not in words(studio, stage)


def test_a_click_on_the_strip_goes_to_just_after_that_operation(
    studio: Studio, stage: Stage
) -> None:
    went: list[int] = []
    stage.travel = went.append
    stage.pin(3)
    studio.stage(stage, 0.0, SIZE)
    for box, done in stage.on_top.cells:
        stage.click(box.x + 2.0, box.y + 2.0)
        assert went.pop() == done
    stage.session.advance(3, "operation")
    studio.stage(stage, 1.0, SIZE)
    for box, done in stage.on_top.cells:
        stage.click(box.right - 2.0, box.bottom - 2.0)
        assert went.pop() == done - 3
    assert stage.pinned == 3


def test_nothing_is_picked_through_band_strip_exhibit_or_card(studio: Studio, stage: Stage) -> None:
    stage.pin(3)
    studio.stage(stage, 0.0, (1200, 800))
    stage.eyes.zoom(30.0, *places(stage, (1200, 800))[10])
    studio.stage(stage, 0.0, (1200, 800))
    parts = stage.frame_data().division(1200, 800)
    for box in (parts.head, parts.strip, parts.band, parts.exhibit, parts.card):
        xs, ys = (
            np.linspace(box.x + 1, box.right - 1, 30),
            np.linspace(box.y + 1, box.bottom - 1, 9),
        )
        assert all(stage.target_at(x, y).row is None for x in xs for y in ys)
    inner = parts.inner
    xs, ys = np.linspace(inner.x, inner.right, 40), np.linspace(inner.y, inner.bottom, 40)
    assert any(stage.target_at(x, y).row is not None for x in xs for y in ys)


# Neurons.


def spheres(stage: Stage, size: tuple[int, int]) -> dict[tuple[str, int], tuple[float, float]]:
    """Where each sphere is seen."""
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    return {
        (line.values, i): tuple(xy)
        for line in stage.plan.neurons
        for i, xy in enumerate(see(line.points).xy.tolist())
    }


def test_each_sphere_is_found_where_it_is_seen_and_pinned_by_a_click(
    studio: Studio, colours: sv.Session
) -> None:
    colours.advance(3)
    size = (1280, 800)
    stage = shown(studio, colours, size)
    found = spheres(stage, size)
    assert len(found) == 14
    for neuron, place in found.items():
        stage.hover_at(*place)
        assert (stage.hover, stage.hover_neuron) == (None, neuron)
    stage.pin(40)
    stage.click(*found["tanh 0", 3])
    assert (stage.pinned, stage.pinned_neuron) == (None, ("tanh 0", 3))
    assert stage.session.pinned == [] and stage.frame_data().pinned_neuron == ("tanh 0", 3)
    stage.pin(40)
    assert (stage.pinned, stage.pinned_neuron) == (40, None)
    stage.pin(("tanh 0", 5))
    stage.restore()
    assert (stage.pinned, stage.pinned_neuron) == (None, None)


def test_the_pixel_of_an_image_is_found(studio: Studio) -> None:
    net = sv.Network([sv.Conv2d((1, 6, 6), 2, 3), sv.Flatten((2, 4, 4)), sv.Dense(32, 2)], seed=0)
    session = sv.Session(net, (np.eye(36)[:4], np.eye(2)[[0, 1, 0, 1]]), engine="python")
    stage = shown(studio, session, (1280, 800))
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, 1280, 800)
    maps = next(line for line in stage.plan.neurons if line.shape == (2, 4, 4))
    for place, (x, y) in enumerate(see(maps.points).xy.tolist()):
        stage.hover_at(x, y)
        assert stage.hover_neuron == (maps.values, place)
    stage.hover_at(-1.0, -1.0)
    assert stage.hover_neuron is None


def test_a_perceptron_is_pinned_as_its_neuron(stage: Stage) -> None:
    layers = stage.session.network.layers
    stage.pin(layers[0].perceptrons[3])
    assert stage.pinned_neuron == ("tanh 0", 3) and stage.pinned is None
    stage.pin(layers[1].perceptrons[2])
    assert stage.pinned_neuron == ("sigmoid 1", 2)
    refused(OwnershipError, "Perceptron").by(stage.pin, sv.Perceptron(3))
    refused(InputError, "'tanh 7'").by(stage.pin, ("tanh 7", 0))
    for place in (99, -1, "a", None):
        refused(InputError, shorten(place)).by(stage.pin, ("tanh 0", place))
    stage.pin(["sigmoid 1", 2])  # as it is written in JSON
    assert stage.pinned_neuron == ("sigmoid 1", 2)


def test_a_pinned_neuron_stays_pinned_when_its_activation_changes(
    studio: Studio, stage: Stage
) -> None:
    stage.pin(("tanh 0", 3))
    stage.session.set_activation(0, "relu")
    stage.session.advance(1)
    studio.stage(stage, 0.0, SIZE)
    assert stage.frame_data().pinned_neuron == ("relu 0", 3)


SIZES = [(1280, 800), (800, 500)]


def shown(studio: Studio, session: sv.Session, size: tuple[int, int]) -> Stage:
    stage = Stage(session)
    for now in (0.0, 5.0):
        studio.stage(stage, now, size)
    return stage


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES)
def test_arrows_reach_every_cube_and_every_sphere(
    studio: Studio, colours: sv.Session, size: tuple[int, int]
) -> None:
    stage = shown(studio, colours, size)
    frame_data = stage.frame_data()
    see = stage.picture().see(frame_data, stage.eyes.camera, *size)
    box = frame_data.division(*size).view
    parts, _ = parts_seen(frame_data.layout, see, box)
    assert len(parts) == 59 + 14
    reached, waiting = set(), [next_target(frame_data, see, box, PointerTarget())]
    while waiting:
        now = waiting.pop()
        if now not in reached:
            reached.add(now)
            waiting += [next_target(frame_data, see, box, now, way) for way in DIRECTIONS]
    assert {each.part for each in reached} == {*parts}


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
        tip = tooltip_box(canvas, see, seen, division)
        cube = box_of(see, seen, seen.hover.row, seen.hover_neuron, 0.5)
        assert tip is not None and cube is not None and not tip.meets(cube)
        ends = boxes_of_sum(see, seen, row)[0]
        assert not any(map(tip.meets, [*ends, division.exhibit, *inputs_of(see, seen, 1.0)])), row
        scene = division.scene
        assert tip.x >= scene.x and tip.right <= scene.right
        assert tip.y >= scene.y and tip.bottom <= scene.bottom


@pytest.mark.slow
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
    stage.notice("It moves from -1.1 to 0.54: R goes from 0.31 to 0.57", "train on from here")
    for row in range(0, 59, every):
        stage.hover = row
        studio.stage(stage, 9.0, size)
        ((box, label),) = stage.on_top.buttons
        assert label == "train on from here" and not tips[-1].meets(box)


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES)
def test_the_tooltip_covers_no_hovered_sphere(
    studio: Studio, colours: sv.Session, size: tuple[int, int]
) -> None:
    stage = shown(studio, colours, size)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    for neuron in [("inputs", 0), ("inputs", 2), ("tanh 0", 0), ("tanh 0", 7), ("sigmoid 1", 2)]:
        stage.hover_neuron = neuron
        seen = stage.frame_data()
        tip = tooltip_box(Canvas2D(*size), see, seen, seen.division(*size))
        ball = box_of(see, seen, seen.hover.row, seen.hover_neuron, 0.5)
        assert tip is not None and ball is not None and not tip.meets(ball)
        assert not any(map(tip.meets, inputs_of(see, seen, 1.0))), neuron
        studio.stage(stage, 9.0, size)
        assert seen.hover.name in stage.picture().words


COUNT = 12  # operations of a step of colours


def told(session: sv.Session, steps: int) -> dict[tuple[int, int], Caption]:
    """The caption after each operation, by the clock, as it is without any picture."""
    session, found = session.copy(), {}
    for _ in range(steps * COUNT):
        session.advance(1, "operation")
        found[session.clock.place] = session.caption()
    return found


def seen(stage: Stage) -> tuple[Moment | None, int, str]:
    """The operation that is lit, the cell of the strip, and the caption's sentence."""
    data = stage.frame_data()
    return data.moment, data.current, data.words.caption.title


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "moves",
    [
        [("advance", 5, "operation")],
        [("advance", 7, "operation")],
        [("back", 4, "operation")],
        [("advance", 6, "operation"), ("back", 1, "operation")],
    ],
)
def test_while_the_light_catches_up_the_caption_is_of_the_operation_that_is_lit(
    colours: sv.Session, moves: Any
) -> None:
    colours.advance(2)
    captions = told(colours, 3)
    colours.advance(8, "operation")
    stage = Stage(colours)
    stage.tick(0.0), stage.frame_data()
    go(colours, *moves)
    lit, step, before = [], 2, 8
    for now in np.arange(1.0, 8.0, 0.1):
        stage.tick(float(now))
        moment, current, title = seen(stage)
        assert moment == stage.reading.moments[current - 1]
        step += (current == 1 and before == COUNT) - (current == COUNT and before == 1)
        assert title == captions[(step + current // COUNT, current % COUNT)].title
        before = current
        lit.append(current)
    assert len(set(lit)) > 2 and before == colours.clock.operation


@pytest.mark.some(1)
@pytest.mark.parametrize("unit", ["operation", "phase"])
def test_a_new_picture_is_of_the_last_operation_of_a_step_too(
    colours: sv.Session, unit: Any
) -> None:
    colours.advance(2)
    following = Stage(colours, reduced_motion=True)
    following.frame_data()
    for _ in range(COUNT):
        colours.advance(1, unit)
        new, old = Stage(colours, reduced_motion=True).frame_data(), following.frame_data()
        assert new.moment is not None and new.moment.name == colours.done
        assert new.words.caption == colours.caption()
        assert (new.moment, new.part, new.current) == (old.moment, old.part, old.current)
        assert new.words == old.words
        for name in ("colors", "sizes", "before", "pushes"):
            np.testing.assert_array_equal(getattr(new.cubes, name), getattr(old.cubes, name))
        if new.moment.kind == "step":
            assert (new.cubes.before != new.cubes.colors).any()


@pytest.mark.parametrize(
    "moves",
    [
        [("advance", 1)],
        [("seek", 3)],
        [("back", 1, "operation")],
        [("edit", [3], [0.5])],
        [("advance", 1), ("back", 1)],
    ],
)
def test_after_another_move_a_new_picture_is_of_the_network_at_rest(
    colours: sv.Session, moves: Any
) -> None:
    colours.advance(COUNT, "operation")
    assert seen(Stage(colours))[1] == COUNT
    colours.advance(1, "operation")
    colours.back(1, "operation")
    assert seen(Stage(colours))[:2] == (None, 0)
    colours.advance(COUNT, "operation")
    go(colours, *moves)
    assert seen(Stage(colours))[1] == colours.clock.operation
