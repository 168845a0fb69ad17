"""What a caption speaks of is marked, and a few words beside it say its name and number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalarviz.scene.bead_arrays import beads_of
from scalarviz.scene.callout import draw_callout, subject_of, words_of
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.labels import draw_labels
from scalarviz.scene.layout.division import Box
from scalarviz.scene.lights import Lights, lights
from scalarviz.scene.marks import draw_highlights
from tests.pictures.view.measures import projection, stage_of, trained
from tests.studio import Studio

FAR = 350.0  # pixels from what is named to the words that name it, at most
SIZES = [(1280, 800), (800, 500)]
SLOW = "digits", "xnor", "texture", "circle", "normalized"
DARK = THEMES["dark"]


def bright(frame_data: FrameData) -> Lights:
    return lights(frame_data.layout, None, None, 1.0)


def apart(first: Box, second: Box) -> float:
    """The distance between two boxes; 0 if they meet."""
    aside = max(first.x - second.right, second.x - first.right, 0.0)
    high = max(first.y - second.bottom, second.y - first.bottom, 0.0)
    return float(np.hypot(aside, high))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
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
            caption = frame_data.words.caption
            assert frame_data.moment is not None and words_of(caption), moment
            canvas, subject = Canvas2D(*size), subject_of(frame_data, see)
            taken = draw_labels(Canvas2D(*size), see, frame_data, DARK, 1.0)
            box = draw_callout(canvas, see, frame_data, taken, DARK, 1.0)
            whole, (said, *_) = words_of(caption), canvas.words
            assert said in (whole, whole.rpartition(": ")[2])  # the name is left out to cover less
            assert apart(box, subject) <= (min(FAR, 60.0) if caption.summed is None else FAR), (
                moment
            )
            assert not box.meets(subject)
            view = frame_data.division(*size).inner
            assert box.x >= view.x - 1.0 and box.right <= view.right + 1.0
            assert box.y >= view.y - 1.0 and box.bottom <= view.bottom + 1.0
            before = len(canvas.vertices()[0])
            draw_highlights(canvas, see, frame_data, DARK)
            assert len(canvas.vertices()[0]) > before, moment
    finally:
        session.back(len(session.operations), "operation")


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
                patch.setattr("scalarviz.scene.marks.draw_highlights", lambda *given: None)
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


def test_a_neuron_that_is_looked_at_has_its_ring_and_the_wires_of_both_its_sides() -> None:
    show = trained("rgb")
    stage = stage_of(show, (1280, 800))
    frame_data, see = stage.frame_data(), projection(stage)
    plain = len(beads_of(frame_data, bright(frame_data), DARK).starts)
    # Wires that arrive, in two parts each, and those that leave; the place after the last is the 1.
    for neuron, arrive, leave in (
        (("inputs", 1), 0, 8),
        (("inputs", 3), 0, 8),
        (("tanh 0", 2), 4, 3),
        (("sigmoid 1", 0), 9, 0),
    ):
        looked = replace(frame_data, pinned_neuron=neuron)
        wires = len(beads_of(looked, bright(looked), DARK).starts) - plain
        assert wires == 2 * (arrive + leave), neuron
        canvas = Canvas2D(1280, 800)
        draw_highlights(canvas, see, looked, DARK)
        line, place = frame_data.layout.line_of(neuron)
        x, y = see(line.point(place)).xy[0]
        middle = canvas.vertices()[0]["a_place"][0, :2]
        np.testing.assert_allclose(middle, (x, y), atol=0.01)
