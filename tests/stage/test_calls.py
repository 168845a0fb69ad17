"""A picture takes few calls of functions of Python, as cProfile counts them."""

from __future__ import annotations

import cProfile
import statistics

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.render_options import RenderOptions, drawn, shown

SCENES = "rgb circle xor xnor digits texture micrograd expression normalized".split()
SPEED = 20  # steps a second while it plays
PICTURES = 50  # a second, by the clock of the pictures
BEFORE, COUNTED = 20, 10  # pictures

# Medians of the pictures of one turn of all texts.
MOST = {"playing": 2_800, "camera": 10_000}
# Three layers, each with a norm in three columns whose numbers are written, and an upright row.
# Of a crossbar the texts are a separate part, so that half of the pictures of a turn draw a
# part, and the median is between those that draw none and one that does.
MORE = {
    ("rgb", "playing"): 3_600,
    ("circle", "playing"): 3_400,
    ("xor", "playing"): 3_000,
    ("xnor", "playing"): 3_200,
    ("micrograd", "playing"): 4_000,
    ("micrograd", "camera"): 10_500,  # lines, curves and numbers of 33 neurons
    ("normalized", "camera"): 11_000,
    ("expression", "camera"): 10_500,  # each number has the decimals from which results follow
    ("texture", "camera"): 10_500,  # outputs have the decimals of their error
}


def calls_of_a_picture(name: str, unit: str) -> int:
    """Return the median of the calls of some pictures while a scene plays or the camera moves."""
    show, calls = load(find(name))(engine="cpu"), []
    session = show.session
    session.advance(50)
    look = RenderOptions(size=(1280, 800), samples=1)
    with look.canvas() as canvas, look.on(shown(show)) as stage:
        stage.lead.patience = AT_ONCE  # as in a window
        if unit == "playing":
            session.play(SPEED)
        for number in range(BEFORE + COUNTED):
            if unit == "camera":
                stage.lead.eyes.orbit(0.3, 0.0)
            stage.tick(number / PICTURES)
            profile = cProfile.Profile()
            profile.runcall(drawn, canvas, stage, look)
            calls.append(sum(each.callcount for each in profile.getstats()))
        session.pause()
    return int(statistics.median(calls[BEFORE:]))


@pytest.mark.parametrize("unit", MOST)
@pytest.mark.parametrize("name", SCENES)
def test_a_picture_takes_few_calls(name: str, unit: str) -> None:
    # Maps that are ready just then take calls, too: on a busy machine they come at other pictures.
    tries = (calls_of_a_picture(name, unit) for _ in range(3))
    assert any(calls <= MORE.get((name, unit), MOST[unit]) for calls in tries)
