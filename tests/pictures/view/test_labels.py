"""Names of layers and of inputs cover no cube and no sphere, and no wire strikes layers through."""

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.labels import draw_labels
from scalarviz.scene.layout.division import Box
from scalarviz.scene.lights import lights
from scalarviz.scene.picture import draw_scenery
from scalarviz.stage.stage import Stage
from tests.pictures.view.measures import NOTHING, Words, look, projection, stage_of, trained

DARK = THEMES["dark"]
FAST = ["rgb", "xor", "xnor", "circle", "normalized", "expression"]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("digits", "retrain", "texture")]
every_size = pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)


class Boxes(Words):
    """A canvas that remembers its boxes, too."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.boxes: list[tuple[Box, object]] = []

    def box(self, x, y, width, height, fill, **look):
        self.boxes.append((Box(x, y, width, height), fill))
        super().box(x, y, width, height, fill, **look)


def covered(stage: Stage, place: Box) -> int:
    """How many pixels of cubes and spheres are in a box."""
    picture, part = look(stage).picture, np.round([place.x, place.right, place.y, place.bottom])
    left, right, top, bottom = np.maximum(part.astype(int), 0)
    return int((picture[top:bottom, left:right] != NOTHING).sum())


@pytest.mark.some(3)
@every_size
@pytest.mark.parametrize("name", [*FAST, *SLOW])
def test_the_name_of_a_layer_lies_over_no_cube_and_no_sphere(
    name: str, size: tuple[int, int]
) -> None:
    stage, canvas = stage_of(trained(name), size), Boxes(*size)
    data = stage.frame_data()
    draw_labels(canvas, projection(stage), data, DARK, 1.0)
    found = [each for each in canvas.found if each[0].startswith("layer")]
    assert len(found) >= sum(label.around is not None for label in data.layout.labels) - 1
    assert [words for words, place in found if covered(stage, place)] == []
    for words, place in found:
        below = [box for box, fill in canvas.boxes if fill == DARK.ground]
        assert any(box.x <= place.x and box.right >= place.right for box in below), words


@pytest.mark.some(3)
@every_size
@pytest.mark.parametrize("name", ["rgb", "xor", "xnor", "circle", "normalized"])
def test_the_name_of_an_input_lies_over_no_cube(name: str, size: tuple[int, int]) -> None:
    stage, canvas = stage_of(trained(name), size), Words(*size)
    data, names = stage.frame_data(), stage.plan.neurons[0].names
    lit = lights(data.layout, stage.session.network.program, None, 1.0)
    draw_scenery(canvas, projection(stage), data, lit, DARK, 1.0)
    found = [each for each in canvas.found if each[0] in names]
    assert len(found) >= len(names)
    assert [words for words, place in found if covered(stage, place)] == []
