"""Walls of named parameters: side by side, none over another, filling the stage."""

from itertools import combinations

import numpy as np
import pytest

from scalarviz.scene.layout.formula_layout import of_walls
from scalarviz.training.network.named_arrays import Wall

GPT = [(27, 16), (16, 16), (16, 16), (16, 16), (16, 16), (16, 16), (64, 16), (16, 64), (27, 16)]
MLP = [(16, 3), (16, 17), (1, 17)]
MIXED = [(), (3,), (2, 5), (), (40,), (9, 1)]
ASPECTS = [0.5, 1.0, 1.75, 3.0]


def laid(shapes: list[tuple[int, ...]], aspect: float) -> tuple[list[np.ndarray], float]:
    walls, first = {}, 0
    for number, shape in enumerate(shapes):
        walls[f"wall {number}"] = Wall(first, shape)
        first += int(np.prod(shape))
    layout = of_walls(walls, aspect)
    assert sorted(i for plate in layout.plates for i in plate.cells()[2]) == [*range(first)]
    assert [label.name for label in layout.labels] == [*walls]
    boxes = [
        np.stack([ends.min(axis=0), ends.max(axis=0)])[:, :2]
        for ends in (plate.corners() for plate in layout.plates)
    ]
    wide, tall = np.max(boxes, axis=(0, 1)) - np.min(boxes, axis=(0, 1))
    area = sum(np.prod(high - low) for low, high in boxes)
    return boxes, area / (max(wide, aspect * tall) ** 2 / aspect)


@pytest.mark.parametrize("shapes", [GPT, MLP, MIXED, [(1000, 3)]], ids=len)
@pytest.mark.parametrize("aspect", ASPECTS)
def test_no_wall_lies_over_another(shapes: list[tuple[int, ...]], aspect: float) -> None:
    boxes, _ = laid(shapes, aspect)
    for (low, high), (other_low, other_high) in combinations(boxes, 2):
        assert (high <= other_low - 1.0).any() or (other_high <= low - 1.0).any()


@pytest.mark.parametrize("aspect", [1.0, 1.75])
@pytest.mark.parametrize("shapes", [GPT, MLP], ids=len)
def test_walls_fill_three_tenths_of_the_stage(shapes: list[tuple[int, ...]], aspect: float) -> None:
    assert laid(shapes, aspect)[1] > 0.3
