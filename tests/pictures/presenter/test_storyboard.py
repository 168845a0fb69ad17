"""One training step, seen: what every operation lights up in the picture, forward and back."""

from collections.abc import Callable

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.lights import FLASH
from tests.studio import Studio, assert_dimmed, at
from tests.walk import NAMES, SIZE, Walk, biases

# Which layers' plates are bright while an operation is shown; the rest is dim.
BRIGHT = {
    "zero_grad": {0, 1},
    "affine 0": {0},
    "affine 1": {1},
    "step": {0, 1},
    "weight gradient 1": {1},
    "input gradient 1": {1},
    "weight gradient 0": {0},
}


@pytest.mark.slow
def test_what_takes_no_part_is_dim(walk: Walk) -> None:
    seen = []
    for _ in NAMES:
        name = walk.go()
        seen.append(name)
        pixels, colors = walk.look(1.0), walk.colors()
        if name == "step":
            continue  # numbers lie on the cubes
        for layer, row, _, index, xy in walk.cubes():
            bias = row >= 0 and index in biases(walk)
            bright = layer in BRIGHT.get(name, ()) and not (bias and name == "input gradient 1")
            if not bright:
                assert_dimmed(at(pixels, xy), colors[index], "dark")
                continue
            np.testing.assert_allclose(at(pixels, xy), colors[index], atol=2.5)
        assert walk.stage.frame_data().moment.name == name
    assert seen == NAMES


def whiteness(walk: Walk, pixels: np.ndarray, light: str = "#ffffff") -> dict[int, float]:
    """How far each cube's color is on its way to the light's, by default white."""
    colors, found = walk.colors(), {}
    for _, _, _, index, xy in walk.cubes():
        room = 255.0 * rgb((light,))[0] - colors[index]
        found[index] = float(((at(pixels, xy) - colors[index]) @ room) / (room @ room))
    return found


def test_all_cubes_flash_violet_where_rows_and_columns_meet(walk: Walk) -> None:
    for name, layer in (("weight gradient 1", 1), ("weight gradient 0", 0)):
        walk.go_to(name)
        course = [
            whiteness(walk, walk.look(part), THEMES["dark"].accent)
            for part in (0.0, 0.25, 0.5, 0.8)
        ]
        own = [index for each, _, _, index, _ in walk.cubes() if each == layer]
        means = [np.mean([white[index] for index in own]) for white in course]
        assert means[2] == pytest.approx(FLASH, abs=0.05)
        assert max(means[0], means[1], means[3]) < 0.05


def test_white_light_runs_along_the_wires_at_work(walk: Walk) -> None:
    walk.go_to("affine 0")
    wires = next(w for w in walk.stage.plan.wires if w.operation == 0)
    start, end = wires.start[1], wires.end[1]

    def brightness(part: float) -> np.ndarray:
        """Along the wire of the second sum, between the cubes."""
        pixels = walk.look(part)
        places = walk.see(start + np.linspace(0.0, 1.0, 200)[:, None] * (end - start)).xy
        light = np.array([at(pixels, place).mean() for place in places])
        unit = walk.unit()
        plate = walk.stage.plan.plates[0]
        columns = (places[:, 0] - walk.see(plate.point(0, 0)).xy[0, 0]) / unit
        between = np.abs(columns - np.round(columns)) < 0.1
        return light[between & (columns > 0.5) & (columns < plate.columns + 0.1)]

    before, early = brightness(0.0), brightness(0.6)
    count = len(early)
    assert before.max() < 120 and early[-count // 6 :].max() < 120
    assert early[count // 10 : count // 3].min() > 150 and brightness(0.95).max() < 120


# Back.


@pytest.mark.slow
@pytest.mark.parametrize(  # with marks the rest falls back first, whichever way time goes
    ("marks", "part"), [(False, 0.1), (False, 0.3), (False, 0.7), (True, 0.4), (True, 0.6)]
)
def test_going_back_shows_the_same_pictures_in_reverse(
    studio: Studio, part: float, marks: bool
) -> None:
    walk = Walk(studio, marks=marks)
    inner = walk.stage.frame_data().division(*SIZE).inner

    def picture(part: float) -> np.ndarray:
        return walk.look(part)[int(inner.y) : int(inner.bottom), : int(inner.right)]

    forward = {walk.go(): picture(part) for _ in NAMES}
    for _ in NAMES:
        name = walk.go(-1)
        assert np.abs(picture(1.0 - part) - forward[name]).max() <= 2, name


@pytest.mark.parametrize("move", [lambda s: s.advance(1), lambda s: s.seek(0), lambda s: s.reset()])
def test_after_any_other_move_all_is_bright(walk: Walk, move: Callable[[sv.Session], None]) -> None:
    walk.go_to("affine 1")
    move(walk.session)
    walk.now += 10.0
    pixels, colors = walk.look(0.0), walk.colors()
    assert walk.stage.frame_data().moment is None
    for _, _, _, index, xy in walk.cubes():
        np.testing.assert_allclose(at(pixels, xy), colors[index], atol=2.5)
