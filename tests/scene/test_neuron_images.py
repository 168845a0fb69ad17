"""Pictures between the plates: where they stand, and what they show."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import Buffers, CubeValues, FrameData
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.layout.division import Division, Projection
from scalarviz.scene.layout.plates import DOWN, RIGHT, Layout
from scalarviz.scene.layout.points import reach_of
from scalarviz.scene.layout.trays import trays_layout
from scalarviz.scene.neuron_images import draw_pictures, heat_of
from scalarviz.scene.picture import Picture
from tests.studio import Studio, at, ground_of

SIZE = (1200, 560)


def laid_out(program: Program) -> Layout:
    return trays_layout(program, lambda label: (f"layer {label}", ""))


# Where they stand.


def test_numbers_of_a_picture_stand_as_its_pixels() -> None:
    line = laid_out(sv.Network([sv.Conv2d((2, 3, 4), 2, 1)], seed=0).program).neurons[0]
    grid = line.points.reshape(2, 3, 4, 3)
    right, down = line.side * RIGHT, line.side * DOWN
    np.testing.assert_allclose(np.diff(grid, axis=2), np.broadcast_to(right, (2, 3, 3, 3)))
    np.testing.assert_allclose(np.diff(grid, axis=1), np.broadcast_to(down, (2, 2, 4, 3)))
    corners = line.corners()
    np.testing.assert_allclose(corners[:, 0], grid[:, 0, 0] - (right + down) / 2)
    np.testing.assert_allclose(corners[:, 1], grid[:, 0, -1] + (right - down) / 2)
    np.testing.assert_allclose(corners[:, 2], grid[:, -1, 0] - (right - down) / 2)


def test_a_gain_of_a_batch_norm_stands_beside_its_picture() -> None:
    layout = laid_out(sv.Network([sv.BatchNorm((3, 4, 4))], seed=0).program)
    before = layout.neurons[1].points.reshape(3, 16, 3).mean(axis=1)
    for plate in layout.plates:
        assert plate.size == 3
        for feature in range(3):
            row, column = plate.place_of(plate.first + feature)
            assert plate.point(column + 0.5, row + 0.5)[2] == pytest.approx(before[feature, 2])


def test_a_layer_with_cubes_and_pictures_has_one_label() -> None:
    layers = [sv.BatchNorm((3, 4, 4)), sv.MaxPool2d((3, 4, 4)), sv.Dense(12, 2)]
    labels = laid_out(sv.Network(layers, seed=0).program).labels
    assert sorted(each.name for each in labels) == ["layer 0", "layer 2"]


# What they show.


def sight_of(layout: Layout, count: int, **buffers: object) -> FrameData:
    plates = len(layout.plates)
    cubes = CubeValues(np.zeros(count), np.zeros(count), "", "", np.ones(plates), np.ones(plates))
    return FrameData(layout, cubes, Buffers(**buffers))


def shot(
    studio: Studio,
    frame_data: FrameData,
    program: Program,
    theme: str = "dark",
    camera: str = "flat",
) -> tuple[np.ndarray, object]:
    studio.canvas.set_current()
    picture = Picture(theme, program)
    inner = Division.of(*SIZE).inner
    look = frame_data.layout.views.get(camera, CAMERAS[camera])
    here: Camera = look.framing(reach_of(frame_data.layout.extent), inner.width / inner.height)
    pixels = studio.shoot(lambda: picture.draw(frame_data, here, *SIZE, 1.0), *SIZE)
    return pixels, picture.see(frame_data, here, *SIZE)


PROGRAM = sv.Network([sv.Conv2d((2, 3, 4), 3, 3, padding=1)], seed=0).program
LAYOUT = laid_out(PROGRAM)


@pytest.mark.some(2)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("camera", CAMERAS)
def test_each_pixel_has_the_color_of_its_number_on_the_scale_of_its_map(
    studio: Studio, camera: str, theme: str
) -> None:
    line = LAYOUT.neurons[0]
    maps = np.random.default_rng(0).uniform(-1.0, 1.0, (line.shape[0], 24 // line.shape[0]))
    maps[1] *= 0.2
    frame_data = sight_of(LAYOUT, 57, values={"inputs": maps.ravel()}, scale=1.0)
    pixels, see = shot(studio, frame_data, PROGRAM, theme, camera)
    shown = maps / np.abs(maps).max(axis=1, keepdims=True)
    table = heat_of(theme)[:, :3].T
    for point, value in zip(line.points, shown.ravel(), strict=True):
        wanted = [np.interp(value, np.linspace(-1.0, 1.0, len(each)), each) for each in table]
        np.testing.assert_allclose(at(pixels, see(point).xy[0]), wanted, atol=3)


def test_a_digit_has_its_own_grey(studio: Studio) -> None:
    grey = np.linspace(0.0, 1.0, 24)[:, np.newaxis].repeat(3, axis=1)
    frame_data = sight_of(LAYOUT, 57, values={"inputs": np.ones(24)}, tints={"inputs": grey})
    pixels, see = shot(studio, frame_data, PROGRAM)
    for point, color in zip(LAYOUT.neurons[0].points, grey, strict=True):
        np.testing.assert_allclose(at(pixels, see(point).xy[0]), 255.0 * color, atol=2)


def test_what_is_left_out_is_dark_and_crossed_out(studio: Studio) -> None:
    program = sv.Network([sv.Dropout((1, 3, 3), 0.5)], seed=0).program
    layout = laid_out(program)
    name, mask = program.outputs.name, np.zeros(9)
    mask[[1, 6]] = 1.0
    given = {"values": {name: np.where(mask > 0.0, 0.0, 1.0)}, "left_out": {name: mask}}
    pixels, see = shot(studio, sight_of(layout, 0, **given), program)
    line = layout.neurons[1]
    unit = see(line.points).unit[0] * line.side
    for point, is_out in zip(see(line.points).xy, mask, strict=True):
        edge = at(pixels, point + np.array([0.0, 0.42 * unit]))
        np.testing.assert_allclose(
            edge, ground_of("dark") if is_out else heat_of("dark")[-1, :3], atol=3
        )
        if is_out:  # a cross that has no hue
            middle = at(pixels, point).astype(float)
            assert np.ptp(middle) < 40.0 and middle.mean() > 60.0


def test_left_out_neurons_of_a_line_are_crossed_out(studio: Studio) -> None:
    program = sv.Network([sv.Dropout(4, 0.5)], seed=0).program
    layout, name = laid_out(program), program.outputs.name
    given = {"values": {name: np.array([1.0, 0.0, 1.0, 0.0])}}
    plain, see = shot(studio, sight_of(layout, 0, **given), program, camera="perspective")
    mask = np.array([0.0, 1.0, 0.0, 0.0])
    given["left_out"] = {name: mask}
    crossed, _ = shot(studio, sight_of(layout, 0, **given), program, camera="perspective")
    changed = (plain != crossed).any(axis=2)
    for i, (x, y) in enumerate(see(layout.neurons[1].points).xy.astype(int)):
        assert changed[y - 8 : y + 8, x - 8 : x + 8].any() == bool(mask[i])


def test_all_pictures_of_a_line_are_drawn_at_once() -> None:
    layout = laid_out(sv.Network([sv.Conv2d((40, 3, 3), 1, 1)], seed=0).program)
    camera = layout.views["flat"].framing(reach_of(layout.extent), 1.5)
    see = Projection(camera, Division.of(*SIZE).inner, *SIZE)
    canvas = Canvas2D(*SIZE)
    frame_data = sight_of(layout, 41, values={"inputs": np.ones(360)})
    draw_pictures(canvas, see, layout.neurons[0], 1.0, frame_data, THEMES["dark"])
    assert len(canvas.images_in) == 1


def test_numbers_are_written_out_from_near(studio: Studio) -> None:
    frame_data = sight_of(LAYOUT, 57, values={"inputs": np.full(24, 0.25)})
    line = LAYOUT.neurons[0]
    for height, written in ((4.0, True), (40.0, False)):
        middle = tuple(line.points.mean(axis=0).tolist())
        see = Projection(Camera(middle, -90.0, 0.0, height, 0.0), Division.of(*SIZE).inner, *SIZE)
        canvas = Canvas2D(*SIZE)
        draw_pictures(canvas, see, line, 1.0, frame_data, THEMES["dark"])
        assert (".25" in canvas.words) == written
        assert not {"0", "1"} & set(canvas.words)  # channels have no numbers
