"""Colours of classes: legible on both grounds, and different, for the colour-blind too."""

from itertools import combinations

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import (
    CLASSES_ON_DARK,
    CLASSES_ON_LIGHT,
    MAPS,
    class_colors,
    contrast,
    linear,
    rgb,
)
from tests.pictures.draw2d.perception import oklab
from tests.pictures.draw2d.test_colors import BLINDNESS

every_ground = pytest.mark.parametrize("ground", [row.background for row in MAPS.values()])


@every_ground
def test_each_stands_out_from_the_ground(ground: str) -> None:
    assert contrast(class_colors(np.arange(7), ground), rgb((ground,))[0]).min() >= 3.0


@every_ground
@pytest.mark.parametrize("kind", ["", *BLINDNESS])
def test_each_pair_differs_for_the_colour_blind(ground: str, kind: str) -> None:
    seen = linear(class_colors(np.arange(7), ground)) @ np.array(BLINDNESS.get(kind, np.eye(3))).T
    lab = oklab(np.clip(seen, 0.0, 1.0) ** (1 / 2.2))
    for i, j in combinations(range(7), 2):
        least = 0.1 if j < 3 else 0.06  # a difference of .02 can just be seen
        assert np.linalg.norm(lab[i] - lab[j]) > least, (i, j)


@every_ground
def test_more_classes_than_colours_have_other_ones(ground: str) -> None:
    colors = class_colors(np.arange(3 * len(CLASSES_ON_DARK)), ground)
    assert len(CLASSES_ON_DARK) == len(CLASSES_ON_LIGHT) == 7
    assert len(np.unique(colors.round(2), axis=0)) == len(colors)
    assert colors.min() >= 0.0 and colors.max() <= 1.0


def test_no_number_is_magenta() -> None:
    assert class_colors([[np.nan, 0.0]], "#000000")[0, 0].tolist() == [1.0, 0.0, 1.0]
