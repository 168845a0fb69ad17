"""How two branches stand: one behind the other, each behind the neurons that it reads."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.scene.layout.plates import Layout, Neurons
from tests.pictures.view.test_feature_maps import laid_out

SHAPE = 1, 4, 4


def rows() -> Program:
    product = sv.Product([sv.Dense(6, 8, "tanh"), sv.Dense(8, 6)], sv.Dense(6, 6))
    joined = sv.Concatenate(sv.Dense(6, 4, "tanh"), sv.Residual(sv.Dense(6, 6)))
    return sv.Network([sv.Dense(3, 6, "tanh"), product, joined, sv.Dense(10, 3)]).program


def pictures() -> Program:
    a, b = sv.Conv2d(SHAPE, 2, padding=1), sv.Activation(SHAPE, "tanh")
    return sv.Network([sv.Concatenate(a, b), sv.Conv2d((3, 4, 4), 2)]).program


every_program = pytest.mark.parametrize("make", [rows, pictures])


def lines_before(layout: Layout, buffer: str) -> list[Neurons]:
    place = next(i for i, line in enumerate(layout.neurons) if buffer in line.buffers)
    return layout.neurons[:place]


@every_program
def test_each_row_stands_behind_what_its_operation_reads(make: object) -> None:
    program = make()  # type: ignore[operator]  # one of these functions
    layout = laid_out(program)
    for operation in program.operations:
        before = lines_before(layout, operation.target.name)
        shown = [name for line in before[-1:] for name in line.buffers]
        own = next(line for line in layout.neurons if operation.target.name in line.buffers)
        assert any(source.name in (*shown, *own.buffers) for source in operation.sources)
    again = [line for line in layout.neurons if line.way is not None]
    joins = [each for each in program.operations if len(each.sources) > 1]
    assert len(again) == len(joins) + (len(joins) + 1) // 2  # one of rows is a Residual


def test_wires_of_a_concatenation_lead_to_the_part_of_the_second_branch() -> None:
    program = sv.Network([sv.Concatenate(sv.Dense(3, 2), sv.Dense(3, 4))]).program
    layout = laid_out(program)
    (wires,) = [each for each in layout.wires if each.operation == len(program.operations) - 1]
    last = layout.neurons[-1].points
    off = np.abs(wires.end[:, np.newaxis] - last).sum(axis=2).argmin(axis=1)
    assert off.tolist() == [2, 3, 4, 5]
