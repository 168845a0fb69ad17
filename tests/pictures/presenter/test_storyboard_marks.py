"""What is on the picture in single operations: sizes, arrows, spheres, error bars, dots."""

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.visuals.picking import half_sides
from scalarviz.scene.visuals.shaders import LEAST
from tests.studio import above_number, at, ground_of, lit, shade
from tests.walk import NAMES, Walk, widths


def without_arrows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no arrows beside the cubes whose widths are measured."""
    monkeypatch.setattr("scalarviz.stage.stage.pushes", lambda *given: None)


# Sizes.


def test_a_weight_gradient_grows_the_cubes_of_its_layer_only(
    walk: Walk, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_arrows(monkeypatch)
    walk.stage.size = "gradient"
    for name, layer in (("weight gradient 1", 1), ("weight gradient 0", 0)):
        walk.go_to(name)
        start, half, end = (widths(walk, walk.look(part)) for part in (0.0, 0.6, 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                assert start[index] == pytest.approx(LEAST, abs=0.08)
                assert start[index] - 0.08 <= half[index] <= end[index] + 0.08
            else:
                assert end[index] == pytest.approx(start[index], abs=0.08)
        shown = walk.stage.frame_data().cubes
        parts = np.sqrt(np.minimum(np.abs(shown.sizes) / shown.size_scales[0], 1.0))
        for each, _, _, index, _ in walk.cubes():
            if each == layer:
                expected = LEAST + (1.0 - LEAST) * parts[index]
                assert end[index] == pytest.approx(expected, abs=0.08)
        assert parts.max() > 0.5


def test_each_cube_is_pushed_by_an_arrow_up_or_down(walk: Walk) -> None:
    """Its head is where it points to: there is more of it."""
    walk.go_to("weight gradient 0")
    pixels, unit = walk.look(1.0), walk.unit()
    shown = walk.stage.frame_data().cubes
    push = rgb((THEMES["dark"].push,))[0] * 255.0
    ways, half = [], half_sides(shown.sizes, float(shown.size_scales[0]))
    for _, _, _, index, (x, y) in walk.cubes():
        left, reach = round(x + half[index] * unit), round(0.5 * unit)
        around = pixels[round(y) - reach : round(y) + reach, left - 6 : left + 7]
        inked = (np.abs(around - push).max(axis=2) < 24).sum(axis=1)
        above, below = inked[:reach].sum(), inked[reach:].sum()
        assert above + below > 10
        if abs(int(above) - int(below)) > 2:
            ways.append((above > below) == (shown.pushes[index] < 0.0))
    assert len(ways) > 40 and np.mean(ways) > 0.95


def test_a_step_has_the_old_size_around_the_new_one(walk: Walk) -> None:
    walk.session.learning_rate = 30.0  # so that sizes change
    walk.go_to("weight gradient 0")
    old = walk.session.network.bank.value.copy()
    assert walk.go() == "step"
    pixels, unit = walk.look(1.0), walk.unit()
    shown = walk.stage.frame_data().cubes
    assert shown.pushes is None and shown.sizes is shown.colors
    np.testing.assert_array_equal(shown.before, old)
    was, now = (half_sides(each, float(shown.size_scales[0])) for each in (old, shown.sizes))
    ground, seen = ground_of("dark"), 0
    for _, _, _, index, (x, y) in walk.cubes():
        if (was - now)[index] * unit < 2.0:
            continue  # only those that have shrunk stand free
        seen += 1
        edge = round(x - was[index] * unit)
        column = pixels[round(y) + 4, edge - 2 : edge + 3]
        assert np.abs(column - ground).max() > 60
    assert seen > 3


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
            numbers = {short(float(value)) for value in values}
            assert numbers <= set(walk.stage.picture().words)


def test_at_the_loss_each_output_has_a_bar_and_its_error(walk: Walk) -> None:
    for name in NAMES:
        walk.go_to(name)
        pixels, frame_data = walk.look(1.0), walk.stage.frame_data()
        outputs, see = walk.stage.plan.neurons[-1], walk.see
        assert ("sigmoid 1" in frame_data.buffers.values) == (NAMES.index(name) >= 4)
        if frame_data.buffers.target is None:
            continue
        errors = frame_data.buffers.values["sigmoid 1"] - frame_data.buffers.target
        below = see(outputs.points).xy + np.array([0.0, outputs.radius * walk.unit() + 22.5])
        for place, error in zip(below, errors, strict=True):
            bar = shade("dark", np.sign(error) * 0.8)
            shown = np.abs(at(pixels, place) - bar).max() < 8
            assert shown == (name == "loss")
