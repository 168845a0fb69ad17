"""Pushes: which gradients are known, and shown as arrows, at each moment of a step."""

from __future__ import annotations

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.stage.motion import pushes

GRAD = np.arange(1.0, 60.0)


def of(session: sv.Session, name: str, part: float = 1.0, frozen: list[int] | None = None):
    program = session.network.program
    names = [moment.name for moment in program.moments]
    mask = np.zeros(len(GRAD), np.bool_)
    mask[frozen or []] = True
    current = names.index(name) + 1
    return pushes(program, program.moments, current, part, 2.0 * GRAD, GRAD, mask)


def test_only_gradients_that_are_computed_push(colours: sv.Session) -> None:
    for name in ("affine 0", "sigmoid 1", "loss", "delta 1"):
        assert of(colours, name) is None
    found = of(colours, "weight gradient 1")
    rows = colours.network.program.operations[2].parameters
    last = np.arange(rows.start, rows.stop)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(found)), last)
    np.testing.assert_array_equal(found[last], GRAD[last])
    np.testing.assert_array_equal(of(colours, "input gradient 1"), found)
    np.testing.assert_array_equal(of(colours, "weight gradient 0"), GRAD)


def test_they_grow_when_light_meets_at_the_cubes_and_go_into_the_step(colours: sv.Session) -> None:
    assert of(colours, "weight gradient 1", 0.5) is None
    np.testing.assert_allclose(
        of(colours, "weight gradient 1", 0.75), 0.5 * of(colours, "weight gradient 1")
    )
    half = of(colours, "weight gradient 0", 0.75)
    assert half[0] == 0.5 * GRAD[0] and half[-1] == GRAD[-1]
    np.testing.assert_allclose(of(colours, "step", 0.25), 0.5 * GRAD)
    assert of(colours, "step", 0.5) is None and of(colours, "step") is None


def test_old_gradients_shrink_to_nothing_and_frozen_weights_are_not_pushed(
    colours: sv.Session,
) -> None:
    np.testing.assert_allclose(of(colours, "zero_grad", 0.25), 1.5 * GRAD)
    assert of(colours, "zero_grad") is None
    found = of(colours, "weight gradient 0", frozen=[3, 40])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found)), [3, 40])


@pytest.mark.parametrize("name", ["zero_grad", "weight gradient 0", "step"])
def test_infinite_gradients_do_not_disturb_the_others(name: str, colours: sv.Session) -> None:
    program = colours.network.program
    current = [moment.name for moment in program.moments].index(name) + 1
    infinite, mask = np.where(GRAD < 3.0, -np.inf, GRAD), np.zeros(len(GRAD), np.bool_)
    for part in (0.0, 0.25, 0.75, 1.0):
        found = pushes(program, program.moments, current, part, infinite, infinite, mask)
        usual = pushes(program, program.moments, current, part, GRAD, GRAD, mask)
        assert (found is None) == (usual is None)
        if found is not None:
            np.testing.assert_array_equal(found[2:], usual[2:])
