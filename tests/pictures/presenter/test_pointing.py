"""The mouse on the picture: hovering, pinning, freezing, pressing."""

import numpy as np

import scalarviz as sv
from scalarviz.base.checks import shorten
from scalarviz.errors import InputError, OwnershipError
from scalarviz.scene.layout.division import Division
from scalarviz.scene.visuals.picking import half_sides
from scalarviz.scene.visuals.shaders import HALF
from scalarviz.stage.stage import Stage
from tests.pictures.presenter.conftest import SIZE, words
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
    stage, size = Stage(colours), (1280, 800)
    for now in (0.0, 5.0):
        studio.stage(stage, now, size)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    shown, found = stage.frame_data().cubes, {}
    for plate, top in zip(stage.plan.plates, shown.size_scales, strict=True):
        row, column, index = plate.cells()
        front = see(plate.point(column + 0.5, row + 0.5, half_sides(shown.sizes[index], top)))
        found |= dict(zip(index.tolist(), zip(front.xy, front.depth, strict=True), strict=True))
    hidden = 0
    for index, (place, depth) in found.items():
        stage.hover_at(*place)
        assert stage.hover is not None
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
    part = np.sqrt(np.minimum(np.abs(shown.sizes) / shown.size_scales[0], 1.0))
    half = HALF * (0.45 + 0.55 * part) * float(see(np.zeros((1, 3))).unit[0])
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
        shown = studio.stage(stage, now, SIZE)
    inner = stage.frame_data().division(*SIZE).inner
    middle = (inner.x + inner.width / 2, inner.y + inner.height / 2)
    assert stage.target_at(*middle).row == 30


def test_without_a_pinned_weight_the_whole_network_is_looked_at(stage: Stage) -> None:
    first = stage.eyes.camera
    stage.zoom(5.0, 30.0, 30.0)
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
    stage.zoom(30.0, *places(stage, (1200, 800))[10])
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
    """Where each sphere is seen, the 1 of the biases as the place after the last."""
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *size)
    return {
        (line.values, i): tuple(xy)
        for line in stage.plan.neurons
        for points in [[*line.points, *([] if line.one is None else [line.one])]]
        for i, xy in enumerate(see(np.array(points)).xy.tolist())
    }


def test_each_sphere_is_found_where_it_is_seen_and_pinned_by_a_click(
    studio: Studio, colours: sv.Session
) -> None:
    colours.advance(3)
    stage, size = Stage(colours), (1280, 800)
    for now in (0.0, 5.0):
        studio.stage(stage, now, size)
    found = spheres(stage, size)
    assert len(found) == 14 + 2
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
    stage = Stage(sv.Session(net, (np.eye(36)[:4], np.eye(2)[[0, 1, 0, 1]]), engine="python"))
    for now in (0.0, 5.0):
        studio.stage(stage, now, (1280, 800))
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
    with refused(OwnershipError, "Perceptron"):
        stage.pin(sv.Perceptron(3))
    with refused(InputError, "'tanh 7'"):
        stage.pin(("tanh 7", 0))
    for place in (99, -1, "a", None):
        with refused(InputError, shorten(place)):
            stage.pin(("tanh 0", place))
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
