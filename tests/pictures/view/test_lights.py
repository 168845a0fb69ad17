"""Lights: what is bright while an operation is shown, as numbers."""

from itertools import pairwise

import numpy as np
from hypothesis import given

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.scene.layout.beads import beads
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.lights import BACK, DIM, Lights, lights
from tests.strategies import networks

PARTS = (0.0, 0.2, 0.5, 0.8, 1.0)


def laid_out(program: Program) -> Layout:
    return beads(program, lambda layer: ("", ""))


@given(made=networks())
def test_every_operation_of_every_network_has_its_light(made: object) -> None:
    program = made[0].program
    layout = laid_out(program)
    for moment in program.moments:
        touched = {i for i, p in enumerate(layout.plates) if p.operation == moment.operation}
        for part in PARTS:
            shown = lights(layout, program, moment, part)
            assert len(shown.plates) == len(shown.white) == len(layout.plates)
            assert len(shown.neurons) == len(layout.neurons)
            assert len(shown.wires) == len(layout.wires)
            assert set(np.unique([*shown.plates, *shown.neurons])) <= {DIM, 1.0}
            assert ((shown.white >= 0.0) & (shown.white <= 1.0)).all()
            if moment.kind in ("zero_grad", "step"):
                resting = DIM if moment.kind == "step" else 1.0
                assert (shown.plates == 1.0).all() and (shown.neurons == resting).all()
                continue
            bright = {i for i, each in enumerate(shown.plates) if each == 1.0}
            assert bright <= touched  # what takes no part is dim
            if moment.kind in ("forward", "weight gradient"):
                assert bright == touched
            assert set(np.flatnonzero(shown.white)) <= bright
            for j, glow in enumerate(shown.wires):
                if glow is not None:
                    assert layout.wires[j].operation == moment.operation
                    assert 0.0 <= glow.span[0] <= glow.span[1] <= 1.0
                    assert not glow.back or moment.kind in BACK
            assert shown.back == (moment.kind in BACK)
            assert (shown.neurons == 1.0).any()


def test_light_goes_on_without_a_leap() -> None:
    program = sv.Network([3, 8, 3], "tanh", seed=0).program
    layout = laid_out(program)
    parts = np.linspace(0.0, 0.999, 60)

    def course(name: str) -> list[Lights]:
        (moment,) = [each for each in program.moments if each.name == name]
        return [lights(layout, program, moment, part) for part in parts]

    for name in ("affine 0", "affine 1", "input gradient 1", "weight gradient 0"):
        shown = course(name)
        for before, after in pairwise(shown):
            assert np.abs(after.white - before.white).max() < 0.1
            assert (after.plates == before.plates).all()
            for first, last in zip(before.wires, after.wires, strict=True):
                assert (first is None) == (last is None)
                if first is not None and last is not None:
                    ways = zip(first.span, last.span, strict=True)
                    assert max(abs(a - b) for a, b in ways) < 0.08


def test_light_goes_from_left_to_right_and_on_the_way_back_from_right_to_left() -> None:
    program = sv.Network([3, 8, 3], "tanh", seed=0).program
    layout = beads(program, lambda layer: ("", ""))
    moments = {moment.name: moment for moment in program.moments}

    def heads(name: str, part: float) -> dict[bool, tuple[float, float, bool]]:
        """By whether wires leave neurons: where light is, and whether it goes back."""
        shown = lights(layout, program, moments[name], part)
        glows = zip(layout.wires, shown.wires, strict=True)
        return {w.outgoing: (*glow.span, glow.back) for w, glow in glows if glow is not None}

    early, late = heads("affine 0", 0.2), heads("affine 0", 0.75)
    assert early[True][0] < early[True][1] < 1.0 and early[False][:2] == (0.0, 0.0)
    assert late[True][:2] == (1.0, 1.0) and late[False][1] > 0.0 and not late[False][2]
    early, late = heads("input gradient 1", 0.2), heads("input gradient 1", 0.75)
    assert 0.0 < early[False][0] < early[False][1] and early[True][:2] == (1.0, 1.0)
    assert late[False][:2] == (0.0, 0.0) and late[True][0] < 1.0 and late[True][2]
    meets = heads("weight gradient 0", 0.3)
    assert meets[True][1] > 0.5 and not meets[True][2]
    assert meets[False][0] < 0.5 and meets[False][2]


def test_cubes_on_wires_brighten_as_they_are_touched() -> None:
    program = sv.Network([3, 8, 3], "tanh", seed=0).program
    layout = beads(program, lambda layer: ("", ""))
    moments = {moment.name: moment for moment in program.moments}
    for name, layer in (("affine 0", 0), ("weight gradient 1", 1), ("input gradient 1", 1)):
        for part in PARTS:
            shown = lights(layout, program, moments[name], part)
            own = np.array([p.layer == layer for p in layout.plates])
            weights = own & np.array([p.role == "weight" for p in layout.plates])
            assert not shown.white[~own].any()
            assert (shown.white[weights] > 0.3).all() == (part == 0.5)
