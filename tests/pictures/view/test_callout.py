"""The callout and the panel of a caption: what they do not cover."""

from typing import Any

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.scene.callout import draw_callout
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.caption_band import draw_opened
from scalarviz.scene.labels import draw_labels
from scalarviz.scene.layout.division import Box
from scalarviz.stage.show import Show
from tests.pictures.view.measures import Words, projection, stage_of

DARK = THEMES["dark"]


def stages(name: str, size: tuple[int, int]) -> Any:
    """The stage of a scene at each operation of a step."""
    show = Show.of(load(find(name))(engine="python"))
    show.session.advance(30)
    for _ in range(len(show.session.operations) - 1):
        show.session.advance(1, "operation")
        yield stage_of(show, size)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *((name, size) for name in ("circle", "xor", "rgb") for size in ((1280, 800), (800, 500))),
        # Not rgb and xor: there a sphere of 10 pixels stands in each place that is near enough; of
        # xor, 1.4 pixels of one are covered.
        ("circle", (640, 420)),
    ],
    ids=str,
)  # fmt: skip
def test_the_callout_covers_no_sphere(name: str, size: tuple[int, int]) -> None:
    found = 0
    for stage in stages(name, size):
        frame_data, see, canvas = stage.frame_data(), projection(stage), Words(*size)
        taken = draw_labels(canvas, see, frame_data, DARK, 1.0)
        box = draw_callout(canvas, see, frame_data, taken, DARK, 1.0)
        if box is None:
            continue
        found += 1
        for x, y, radius in taken.spheres.tolist():
            part = 0.6 * radius  # its number, or its map
            assert not box.meets(Box(x - part, y - part, 2 * part, 2 * part)), frame_data.moment
    assert found > 5


@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
def test_all_terms_of_a_caption_stand_beside_the_exhibit(size: tuple[int, int]) -> None:
    stage = next(each for each in stages("circle", size) if each.frame_data().words.caption.lines)
    stage.over.opened = True
    frame_data = stage.frame_data()
    division = frame_data.division(*size)
    assert division.exhibit.width
    panel, _ = draw_opened(Words(*size), division, frame_data, DARK)[-1]
    assert not panel.meets(division.exhibit)
