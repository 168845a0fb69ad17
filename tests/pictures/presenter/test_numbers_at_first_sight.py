"""What a scene shows before anybody has done anything has plain numbers only."""

import re

import pytest

from scalarviz.scene import picture
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.stage.stage import Stage
from tests.noted import Noted
from tests.pictures.presenter.test_words_apart import shown
from tests.studio import Studio

# An exponent, and what rounds to zero with a sign: 4e-3, 1.2e+07, -0, +.00, ≈0.
NOT_PLAIN = re.compile(r"(?<![\w#])[\d.]+e[-+]?\d|[-+≈](?:0(?:\.0*)?|\.0+)(?![\d.])")
SCENES = "circle digits expression normalized retrain rgb texture xnor xor".split()


@pytest.mark.some(1)
@pytest.mark.parametrize("name", SCENES)
def test_no_number_has_an_exponent_or_is_a_zero_with_a_sign(studio: Studio, name: str) -> None:
    """Neither in the first picture nor where the tour ends."""
    drawn: list[Noted] = []

    def noted(width: float, height: float, ratio: float, scale: float) -> Noted:
        drawn.append(Noted(THEMES["dark"].ground, width, height, scale))
        return drawn[-1]

    stage = Stage(shown(name))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(picture, "Canvas2D", noted)
        for steps in (0, 300):
            stage.session.advance(steps)
            stage.refresh()
            studio.stage(stage, 0.0, (1280, 800))
            words = [each.words for each in drawn[-1].texts]
            assert words
            assert [each for each in words if NOT_PLAIN.search(each)] == [], steps


@pytest.mark.parametrize("words", ["4e-3", "-8e-5", "1.2e+07", "-0", "x -.00", "+0.0", "≈0"])
def test_what_is_not_plain_is_found(words: str) -> None:
    assert NOT_PLAIN.search(words)


@pytest.mark.parametrize("words", ["-0.5", "+.05", "layer 0", "-.007", "0.00012", "#806e66"])
def test_what_is_plain_is_not(words: str) -> None:
    assert not NOT_PLAIN.search(words)
