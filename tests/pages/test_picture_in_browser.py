"""The page's picture in a browser beside that of a window at the same moment."""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.draw2d.canvas import Canvas2D
from scalarviz.draw2d.theme import THEMES
from scalarviz.export.render import RenderOptions, drawn
from scalarviz.pages.scene_data import scene_data
from scalarviz.presenter.show import Show
from scalarviz.presenter.stage import Stage
from scalarviz.view.callout import draw_callout
from scalarviz.view.frame_data import FrameData
from scalarviz.view.highlights import draw_marks
from scalarviz.view.legend import draw_legend, explain_arrows
from scalarviz.view.lights import lights
from scalarviz.view.moves import draw_ghosts, draw_pushes
from scalarviz.view.neurons import draw_errors
from scalarviz.view.scenery import draw_scenery
from tests.pages.pictures import CHROMIUM, PicturePage, picture_page
from tests.pages.states import caption_of, state_of

pytest.importorskip("playwright.sync_api", reason="needs the browser extra")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="needs chromium"),
]
BLOCK = 8  # pixels of the squares that are compared: letters differ, what is drawn does not
CLOSE = 20.0  # levels of color, of 255
SCENES = {
    "xor": [(20, 0), (20, 2), (20, 9)],
    "rgb": [(300, 0), (300, 2), (300, 5), (300, 8), (300, 11), (300, 12)],
    "texture": [(20, 0), (20, 9)],
    "digits": [(3, 0), (3, 5), (3, 15)],
}


def expected_words(seen: FrameData, stage: Stage, size: tuple[int, int], theme: str) -> list[str]:
    """The words that stand on the stage of a window: the network's, without title and panels."""
    picture = stage.picture()
    see, look = picture.see(seen, stage.eyes.camera, *size), THEMES[theme]
    division = seen.division(*size)
    scale = division.scale
    canvas = Canvas2D(*size, 1.0, scale)
    lit = lights(seen.layout, stage.reading.program, seen.moment, seen.part)
    taken = draw_scenery(canvas, see, seen, lit, look, scale)
    arrows = draw_pushes(canvas, see, seen, look, scale)
    draw_ghosts(canvas, see, seen, look)
    if seen.moment is not None and seen.moment.kind == "loss":
        draw_errors(canvas, see, seen, look)
    draw_marks(canvas, see, seen, look)
    draw_callout(canvas, see, seen, taken, look, scale)
    draw_legend(canvas, division, seen.cubes, look)
    if arrows:
        explain_arrows(canvas, division, 0.0, look)
    return canvas.words


def blocks(image: np.ndarray) -> np.ndarray:
    """The mean color of each square of an image."""
    high, wide = (length // BLOCK * BLOCK for length in image.shape[:2])
    parts = image[:high, :wide].reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK, 3)
    return parts.astype(float).mean(axis=(1, 3))


def compare(page: PicturePage, show: Show, size: tuple[int, int], theme: str) -> Any:
    """Draw the present moment in a window and in the page; return blocks and words of both."""
    look = RenderOptions(size=size, theme=theme, samples=1)
    with look.canvas() as canvas, look.on(show) as stage:
        image = drawn(canvas, stage, look)
        seen = stage.frame_data()
        division = seen.division(*size)
        scene, inner = division.scene, division.inner
        words = expected_words(seen, stage, size, theme)
        found, said = page.draw(
            state_of(stage, seen),
            (int(scene.width), int(scene.height)),
            theme=theme,
            caption=None if seen.moment is None else caption_of(seen.words.caption),
            scale=division.scale,
            box={
                "x": inner.x,
                "y": inner.y - scene.y,
                "width": inner.width,
                "height": inner.height,
            },
        )
    high, wide = int(scene.height), int(division.view.right - scene.x)
    top = int(scene.y)
    # Below the head, whose explanation of arrows stands in the corner of the page's picture.
    return blocks(image[top : top + high, :wide, :3]), blocks(found[:, :wide]), words, said


@pytest.fixture(scope="module", params=SCENES)
def opened(request: pytest.FixtureRequest) -> Iterator[tuple[str, Show, PicturePage]]:
    name = request.param
    show = import_module(f"scalarviz.scenes.{name}").scene()
    with picture_page(scene_data(show)) as page:
        yield name, show, page


@pytest.mark.parametrize(("size", "theme"), [((1280, 800), "dark"), ((800, 500), "light")])
def test_page_and_window_show_the_same(
    opened: tuple[str, Show, PicturePage], size: tuple[int, int], theme: str
) -> None:
    name, show, page = opened
    for step, operation in SCENES[name]:
        show.session.seek(step)
        if operation:
            show.session.advance(operation, "operation")
        window, found, words, said = compare(page, show, size, theme)
        apart = np.abs(window - found).max(axis=-1)
        arrows = np.zeros_like(apart, bool)
        arrows[: 40 // BLOCK, : 400 // BLOCK] = True  # their explanation has another place there
        apart = apart[~arrows]
        assert apart.max() < CLOSE, (step, operation)
        assert Counter(said) == Counter(words), (step, operation)
    assert page.fault == "" and page.errors == []
