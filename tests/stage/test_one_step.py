"""One training step, seen.

What every operation lights up and marks, forward and back.
"""

from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.marks import cube_boxes, pushed_rows
from tests.faces.browser.conftest import browser as browser
from tests.stage.conftest import go
from tests.studio import (
    NAMES,
    SIZE,
    Studio,
    Walk,
    above_number,
    assert_dimmed,
    at,
    biases,
    lit,
    shade,
    widths,
)

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


def test_wires_at_work_are_lit(walk: Walk) -> None:
    wires = next(w for w in walk.stage.plan.wires if w.operation == 0)
    start, end = wires.start[1], wires.end[1]

    def brightness(name: str) -> np.ndarray:
        """Along the wire of the second sum, between the cubes."""
        walk.go_to(name)
        pixels = walk.look(0.5)
        places = walk.see(start + np.linspace(0.0, 1.0, 200)[:, None] * (end - start)).xy
        light = np.array([at(pixels, place).mean() for place in places])
        plate = walk.stage.plan.plates[0]
        columns = (places[:, 0] - walk.see(plate.point(0, 0)).xy[0, 0]) / walk.unit()
        between = np.abs(columns - np.round(columns)) < 0.1
        return light[between & (columns > 0.5) & (columns < plate.columns + 0.1)]

    assert brightness("affine 0").min() > 150 > 120 > brightness("affine 1").max()


# Back.


@pytest.mark.slow
@pytest.mark.parametrize(  # with marks the rest falls back and comes back first
    ("marks", "part"), [(False, 0.5), (True, 0.48), (True, 0.52)]
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


@pytest.mark.some(1)
@pytest.mark.parametrize("move", [("advance", 1), ("seek", 0), ("reset",)])
def test_after_any_other_move_all_is_bright(walk: Walk, move: Any) -> None:
    walk.go_to("affine 1")
    go(walk.session, move)
    walk.now += 10.0
    pixels, colors = walk.look(0.0), walk.colors()
    assert walk.stage.frame_data().moment is None
    for _, _, _, index, xy in walk.cubes():
        np.testing.assert_allclose(at(pixels, xy), colors[index], atol=2.5)


# Sizes.


@pytest.mark.slow
def test_a_weight_gradient_grows_the_cubes_of_its_layer_only(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No arrows stand beside the cubes whose widths are measured.
    monkeypatch.setattr("scalarviz.stage.stage.pushes", lambda *given: None)
    walk.stage.take(cubes="gradient")
    least = walk.stage.plan.plates[0].least
    for name, layer in (("weight gradient 1", 1), ("weight gradient 0", 0)):
        walk.go_to(name)
        start, half, end = (widths(walk, walk.look(part)) for part in (0.0, 0.6, 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                assert start[index] == pytest.approx(least, abs=0.08)
                assert start[index] - 0.08 <= half[index] <= end[index] + 0.08
            else:
                assert end[index] == pytest.approx(start[index], abs=0.08)
        shown = walk.stage.frame_data().cubes
        parts = np.sqrt(np.minimum(np.abs(shown.sizes) / shown.size_scales[0], 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                assert end[index] == pytest.approx(max(least, parts[index]), abs=0.08)
        assert parts.max() > 0.5


def test_arrows_stand_over_the_cubes_of_the_row_that_is_spoken_of(studio: Studio) -> None:
    """They are the longer, the larger the gradient."""
    walk = Walk(studio, marks=True)
    walk.go_to("weight gradient 1")
    pixels, data = walk.look(1.0), walk.stage.frame_data()
    push, long = rgb((THEMES["dark"].push,))[0] * 255.0, {}
    rows = pushed_rows(data)
    for row in rows:
        (box,) = cube_boxes(walk.see, data, [row], None)
        left, right = (round(box.x + 0.5 * box.width + side * 16.0) for side in (-1, 1))
        above = pixels[round(box.y) - 20 : round(box.y), left:right]
        long[abs(float(data.cubes.pushes[row]))] = (np.abs(above - push).max(axis=2) < 40).sum()
    assert len(rows) == 9 and max(long.values()) > 20
    assert long[max(long)] >= long[min(long)]


def test_a_step_has_dashes_around_what_moves_most_where_it_was(walk: Walk) -> None:
    values = walk.session.network.bank.value
    walk.session.learning_rate, values[:] = 14.0, np.sign(values)  # so that sizes change
    walk.go_to("weight gradient 0")
    old = values.copy()
    assert walk.go() == "step"
    pixels, unit = walk.look(1.0), walk.unit()
    shown = walk.stage.frame_data().cubes
    rows, factor = shown.moved
    assert shown.pushes is None and len(rows) == 10
    np.testing.assert_array_equal(shown.before, old)
    np.testing.assert_allclose(
        shown.sizes[list(rows)], (old + factor * (values - old))[list(rows)], rtol=1e-6
    )
    halves, top = walk.stage.plan.plates[0].halves, float(shown.size_scales[0])
    was, now = halves(old, top), halves(shown.sizes, top)
    light, seen = rgb((THEMES["dark"].light,))[0] * 255.0, 0
    for _, _, _, index, (x, y) in walk.cubes():
        if index not in rows or abs(was - now)[index] * unit < 2.0:
            continue
        seen += 1
        edge, half = round(x - was[index] * unit), round(was[index] * unit)
        side = pixels[round(y) - half : round(y) + half, edge - 2 : edge + 3]
        assert (np.abs(side - light).max(axis=2) < 60).any(axis=1).sum() > 0.2 * len(side)
    assert seen > 2


# Neurons.


def test_a_sphere_is_empty_then_holds_the_sum_and_then_the_activation(walk: Walk) -> None:
    hidden = walk.stage.plan.neurons[1]
    empty = rgb((THEMES["dark"].tray,))[0] * 255.0
    known = {"inputs"}
    for name, shown in (("zero_grad", ""), ("affine 0", "affine 0"), ("tanh 0", "tanh 0")):
        walk.go_to(name)
        pixels, buffers = walk.look(1.0), walk.stage.frame_data().buffers
        known |= {shown} if shown else set()
        assert set(buffers.values) == known
        values = buffers.values.get(shown)
        colors = np.tile(empty, (8, 1)) if values is None else shade("dark", values, buffers.scale)
        for place, color in zip(above_number(walk.see, hidden), colors, strict=True):
            np.testing.assert_allclose(at(pixels, place), lit(color), atol=8)
        if values is not None:
            assert {short(float(value)) for value in values} <= set(walk.stage.picture().words)


NASTY = "<script>alert(\"1\")</script> & 'more'"
VOID = set("meta link img input path br".split())
