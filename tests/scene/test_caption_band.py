"""The caption in its band: rows of whole terms, bars and boxes, and the marks that go with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.core.program import NONE
from scalarviz.scene.callout import draw_told
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.caption_band import (
    SIZE,
    draw_caption,
    is_about,
    rows_of,
    width_of,
)
from scalarviz.scene.focus import pointed_rows
from scalarviz.scene.layout.division import Box
from scalarviz.scene.lines import known_fans
from scalarviz.scene.marks import box_of_neuron, cube_boxes, draw_chosen
from scalarviz.scene.picture import write_ends
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Caption, Piece, plain_lines
from tests.scene.measures import DARK, flat_of, played, projection, stage_of, trained
from tests.studio import Studio

SIZES = [(1280, 800), (800, 500), (640, 420), (1600, 1000)]


def canvas() -> Canvas2D:
    return Canvas2D(1280, 800)


def caption_of(name: str, done: int) -> Any:
    return played(name, 2, done, engine="cpu").session.caption()


def stage_at(done: int, name: str = "rgb", **options: Any) -> Stage:
    return Stage(played(name, 2, done, engine="cpu").session, **options)


def drawn(studio: Studio, stage: Stage, size: tuple[int, int] = (1280, 800)) -> Any:
    studio.stage(stage, 0.0, size)
    return stage.on_top.told


def text_of(rows: list[list[Piece]]) -> str:
    return " ".join("".join(piece.words for row in rows for piece in row).split())


@pytest.mark.parametrize("size", [(1280, 800), (640, 400)])
def test_a_caption_leaves_the_loss_curve_its_place(studio: Studio, size: tuple[int, int]) -> None:
    stage = stage_at(2)
    assert drawn(studio, stage, size) and stage.on_top.chart is not None
    stage.session.advance(1)
    assert not drawn(studio, stage, size)  # at rest the curve says it
    assert stage.on_top.chart is not None


@pytest.mark.parametrize("width", [2000.0, 600.0, 300.0, 150.0])
@pytest.mark.parametrize(("name", "done"), [("rgb", 4), ("normalized", 6), ("digits", 4)])
def test_rows_break_between_terms_and_lose_nothing(name: str, done: int, width: float) -> None:
    said, sheet = caption_of(name, done), canvas()
    for lines in (said.lines, said.whole):
        rows = rows_of(sheet, lines, width, SIZE)
        whole = "".join(piece.words for line in lines for piece in line)
        assert text_of(rows).replace(" ", "") == whole.replace(" ", "")
        kept = [piece for row in rows for piece in row if is_about(piece)]
        assert kept == [piece for line in lines for piece in line if is_about(piece)]
        for row in rows:
            terms = [piece for piece in row if is_about(piece)]
            assert width_of(sheet, row, SIZE) <= width or len(terms) <= 1


def test_sentences_break_at_words_and_brackets_stay_whole() -> None:
    sheet = canvas()
    (line,) = plain_lines("Each step moves weights a little, against their grad.")
    rows = rows_of(sheet, [line], 150.0, SIZE)
    assert len(rows) > 2 and all(width_of(sheet, row, SIZE) <= 150.0 for row in rows)
    (row,) = rows_of(sheet, plain_lines("a = 2 - b - c"), 300.0, SIZE)
    written = sheet.measure("a = 2 - b - c", size=SIZE)  # with true minus signs
    assert width_of(sheet, row, SIZE) == pytest.approx(written, abs=1.0)
    term = Piece("0.5", neuron=("a", 0))
    bracket = (Piece("L = ("), term, Piece(" + "), term, Piece(" + "), term, Piece(") / 3"))
    whole = width_of(sheet, list(bracket), SIZE)
    for room, is_whole in ((whole + 1.0, True), (whole - 1.0, False)):  # one too long is broken
        rows = rows_of(sheet, [(*bracket, Piece(" = "), Piece("0.5"))], room, SIZE)
        joined = ["".join(piece.words for piece in row).strip() for row in rows]
        assert any("(0.5 + 0.5 + 0.5) / 3" in row for row in joined) == is_whole
        assert all(width_of(sheet, row, SIZE) <= room for row in rows)


@pytest.mark.some(1)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("done", [2, 4, 5, 6, 7, 8, 9])
def test_the_caption_stays_in_its_place_at_every_size(size: tuple[int, int], done: int) -> None:
    """Boxes are inside the card, and large enough to read."""
    frame_data = stage_at(done).frame_data()
    division = frame_data.division(*size)
    card, found = draw_caption(Canvas2D(*size), division, frame_data, THEMES["dark"])
    assert found
    assert division.inner.x <= card.x and card.right <= division.inner.right + 0.5
    assert division.scene.y <= card.y and card.bottom <= division.scene.bottom
    for box, _ in found:
        assert card.x <= box.x and box.right <= card.right
        assert card.y <= box.y and box.bottom <= card.bottom + 0.5
    assert all(box.height >= 1.2 * SIZE for box, _ in found)


@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
@pytest.mark.parametrize("name", ["rgb", "xor", "digits", "normed 3-8-3"])
def test_while_it_plays_the_caption_is_a_line_below_all_rows_and_wires(
    name: str, size: tuple[int, int]
) -> None:
    stage = stage_of(trained(name), size)
    data, see = stage.frame_data(), projection(stage)
    words = replace(data.words, rests=False, caption=Caption("Step 20: off by .28; as before."))
    data, division = replace(data, words=words), data.division(*size)
    taken = write_ends(Canvas2D(*size), see, data, THEMES["dark"])
    card, _ = draw_caption(Canvas2D(*size), division, data, THEMES["dark"], taken)
    if data.layout.crossbar is not None:
        cubes = [row for fan in data.layout.fans for row in fan.all_rows.flat]
        balls = [(line.values, i) for line in data.layout.neurons for i in range(line.count)]
        boxes = cube_boxes(see, data, cubes, None)
        boxes += [box_of_neuron(see, data.layout, each) for each in balls]
        lowest = max(box.bottom for box in boxes)
    else:
        fans = known_fans(see, data.layout, division.scale)
        rows = [each.seen for each in fans if each is not None]
        lowest = max(y for row in rows for feet in row.feet for _, y in feet)
    assert lowest < card.y and card.bottom <= division.scene.bottom


def test_before_the_first_step_the_caption_says_what_the_network_learns() -> None:
    stage = stage_at(0)
    stage.session.seek(0)
    frame_data = stage.frame_data()
    assert frame_data.words.about
    for size in ((1280, 800), (1280, 500), (380, 800)):
        draw_caption(sheet := canvas(), frame_data.division(*size), frame_data, THEMES["dark"])
        assert " ".join(sheet.words).startswith(frame_data.words.about)


def test_a_click_on_what_is_left_out_shows_all_terms(studio: Studio) -> None:
    stage = stage_at(4)
    found = drawn(studio, stage)
    before = list(stage.picture().words)
    assert not stage.frame_data().opened
    (more,) = [box for box, piece in found if piece.opens]
    where = more.x + 0.5 * more.width, more.y + 0.5 * more.height
    stage.click(*where)
    found = drawn(studio, stage)
    assert stage.frame_data().opened and stage.pinned is None
    rows = {piece.row for _, piece in found if piece.row != NONE}
    ((_, k),) = {piece.neuron for _, piece in found if (piece.neuron or ("", 0))[0] == "affine 1"}
    assert rows == {*range(32 + 8 * k, 40 + 8 * k), 56 + k}
    assert len(stage.picture().words) > len(before) + 10
    panel = next(box for box, piece in found if not piece.words)
    scene = stage.frame_data().division(1280, 800).scene
    assert scene.y <= panel.y and panel.bottom <= scene.bottom
    stage.hover_at(panel.x + 3.0, panel.y + 3.0)
    assert stage.hover is None and stage.hover_neuron is None
    stage.restore()  # Esc
    assert not stage.frame_data().opened
    stage.click(*where)
    stage.click(5.0, 200.0)
    assert not stage.frame_data().opened and stage.pinned is None


def test_a_caption_that_does_not_fit_can_be_opened(studio: Studio) -> None:
    stage = stage_at(6)
    size = (640, 420)
    (more,) = [box for box, piece in drawn(studio, stage, size) if piece.opens]
    stage.click(more.x + 1.0, more.y + 0.5 * more.height)
    drawn(studio, stage, size)
    assert stage.frame_data().opened
    assert any("L = (" in words for words in stage.picture().words)
    assert any("L = mean of (p - t)²" in words for words in stage.picture().words)


FAR = 350.0  # pixels from what is named to the words that name it, at most
MARK_SIZES = [(1280, 800), (800, 500)]
SLOW = "digits", "xnor", "texture", "circle", "normalized"


def apart(first: Box, second: Box) -> float:
    """The distance between two boxes; 0 if they meet."""
    aside = max(first.x - second.right, second.x - first.right, 0.0)
    high = max(first.y - second.bottom, second.y - first.bottom, 0.0)
    return float(np.hypot(aside, high))


def subject_of(frame_data: Any, see: Any) -> Box | None:
    """The box around what the caption is about; None if that is not in the picture."""
    caption = frame_data.words.caption
    cubes = cube_boxes(see, frame_data, caption.rows[:1], None)
    neurons = [box_of_neuron(see, frame_data.layout, each) for each in caption.neurons[:1]]
    return next(filter(None, [*cubes, *neurons]), None)


@pytest.mark.some(1)
@pytest.mark.parametrize("size", MARK_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    "name", ["rgb", "xor", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)]
)
def test_what_is_named_is_marked_where_it_is_named(name: str, size: tuple[int, int]) -> None:
    show = trained(name)
    stage, session = stage_of(show, size), show.session
    try:
        for moment in session.operations:
            session.advance(1, "operation")
            frame_data, see = stage.frame_data(), projection(stage)
            canvas, subject = Canvas2D(*size), subject_of(frame_data, see)
            if subject is None:  # a weight whose cube stands nowhere
                assert name == "texture" and ("grad" in moment or moment == "step")
                continue
            taken = write_ends(Canvas2D(*size), see, frame_data, DARK)
            view = frame_data.division(*size).inner
            for box in draw_told(canvas, see, frame_data, taken, DARK):
                caption = frame_data.words.caption  # a card of outputs is beside one of these
                about = box_of_neuron(see, frame_data.layout, caption.subject or ("", 0)) or subject
                is_near = apart(box, about) <= FAR or bool(caption.wish or caption.blame)
                assert is_near and not box.meets(about), moment
                assert box.x >= view.x - 1.0 and box.right <= view.right + 1.0
                assert box.y >= view.y - 15.0 and box.bottom <= view.bottom + 1.0
            before = len(canvas.vertices())
            draw_chosen(canvas, see, frame_data, DARK)
            assert len(canvas.vertices()) > before, moment
    finally:
        session.back(len(session.operations), "operation")


@pytest.mark.parametrize(
    "name", ["rgb", "xor", *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)]
)
def test_in_a_low_picture_no_caption_covers_a_ball_or_a_tray(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    covered: list[float] = []

    def noted(part: Any, division: Any, data: Any, theme: Any, taken: Any, head: Box) -> Any:
        found = draw_caption(part, division, data, theme, taken, head)
        covered.append(taken.covered(found[0]))
        return found

    monkeypatch.setattr("scalarviz.scene.picture.draw_caption", noted)
    session = trained(name).session
    session.seek(0)
    try:
        for count in (0, *(1 for _ in session.operations)):
            session.advance(count, "operation")
            flat_of(stage_of(trained(name), (800, 500)))
    finally:
        session.seek(20)
    assert len(covered) > len(session.operations) and max(covered) == 0.0


@pytest.mark.slow
def test_the_mark_is_seen_around_its_subject(studio: Studio, monkeypatch: object) -> None:
    show, size = trained("rgb"), (1280, 800)
    stage, session = stage_of(show, size), show.session
    seen = 0
    try:
        for _ in session.operations:
            session.advance(1, "operation")
            marked = studio.stage(stage, 0.0, size)
            subject = subject_of(stage.frame_data(), projection(stage))
            with monkeypatch.context() as patch:
                patch.setattr("scalarviz.scene.picture.draw_chosen", lambda *given: None)
                plain = studio.stage(stage, 0.0, size)
            ys, xs = np.nonzero((marked != plain).any(axis=2))
            near = (
                (xs > subject.x - 12)
                & (xs < subject.right + 12)
                & (ys > subject.y - 12)
                & (ys < subject.bottom + 12)
            )
            assert near.sum() > 40
            seen += 1
    finally:
        session.back(len(session.operations), "operation")
    assert seen == 12


def test_a_neuron_that_is_looked_at_has_brackets_and_the_lines_of_both_its_sides() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    assert not pointed_rows(frame_data)
    for neuron, arrive, leave in (
        (("inputs", 1), [], range(1, 24, 3)),
        (("tanh 0", 2), [6, 7, 8, 26], [34, 42, 50]),
        (("sigmoid 1", 0), [*range(32, 40), 56], []),
    ):
        looked = replace(frame_data, pinned_neuron=neuron)
        assert pointed_rows(looked) == {*arrive, *leave}, neuron
        canvas = Canvas2D(1280, 800)
        draw_chosen(canvas, see, looked, DARK)
        line, place = frame_data.layout.line_of(neuron)
        x, y = see(line.points[place]).xy[0]
        middle = canvas.vertices()["a_place"][:, :2].mean(axis=0)
        np.testing.assert_allclose(middle, (x, y), atol=0.01)
