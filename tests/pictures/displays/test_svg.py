"""The writer of drawings: what it writes can be read anywhere, and a card holds all of it."""

import pytest

from scalarviz.stage.displays.svg import MARGIN, WIDEST, SvgDrawing, image, shorten, width_of
from tests.pictures.displays.drawn import Drawn

NASTY = "<a & b> \"c\" 'd' \x00 \ud800 é 中"


def test_texts_are_escaped_and_come_back() -> None:
    drawing = SvgDrawing()
    drawing.text(0, 10, NASTY)
    drawing.words(0, 30, [("x < y", False), ("1 & 2", True)])
    drawn = Drawn(image(drawing, NASTY))
    assert drawn.texts == [
        NASTY.replace("\x00", r"\x00").replace("\ud800", r"\ud800"),
        "x < y 1 & 2",
    ]
    assert drawn.words == drawn.texts[0]


def test_a_card_has_room_for_everything() -> None:
    drawing = SvgDrawing()
    drawing.rect(10, 20, 300, 5)
    drawing.text(0, 97.5, "x", 10.0)
    drawn = Drawn(image(drawing, ""))
    assert (drawn.width, drawn.height) == (310 + 2 * MARGIN, 100 + 2 * MARGIN)


def test_a_wide_drawing_is_scrolled_and_keeps_its_size() -> None:
    narrow, wide = SvgDrawing(), SvgDrawing()
    narrow.rect(0, 0, 500, 10)
    wide.rect(0, 0, 2000, 10)
    assert image(narrow, "").startswith("<img") and "min-width" not in image(narrow, "")
    assert image(wide, "").startswith('<div style="overflow-x: auto">')
    assert f"min-width: {2000 + 2 * MARGIN:.0f}px" in image(wide, "")
    assert WIDEST < 2000


def test_every_image_fits_into_the_page() -> None:
    assert "max-width: 100%" in image(SvgDrawing(), "")


def test_an_anchored_text_reaches_as_far_as_it_does() -> None:
    drawing = SvgDrawing()
    drawing.text(100, 10, "mmmm", 10.0, anchor="end")
    assert drawing.right == 100
    drawing.text(100, 10, "mmmm", 10.0, anchor="middle")
    assert drawing.right == 100 + width_of("mmmm", 10.0) / 2


@pytest.mark.parametrize("text", ["mmm", "iii", "−0.1234", "layer 0, perceptron 2", "中文"])
def test_bold_and_large_is_wider(text: str) -> None:
    assert width_of(text, 12) < width_of(text, 12, bold=True) < width_of(text, 15, bold=True)


def test_shorten_keeps_what_fits() -> None:
    assert shorten("a\n b", 3) == "a b"
    assert shorten("abcdef", 4) == "abc…"
