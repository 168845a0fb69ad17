"""No sentence names a neuron whose sphere has no name beside it."""

import re
from collections.abc import Iterator

import pytest

from scalarviz.faces.scenefiles.find import find, load
from scalarviz.pictures.draw2d.theme import THEMES
from scalarviz.pictures.presenter.show import Show
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.view.callout import draw_callout
from scalarviz.pictures.view.labels import draw_labels
from scalarviz.pictures.view.spoken import draw_spoken
from tests.pictures.view.measures import Words, projection, stage_of

DARK = THEMES["dark"]
NAMED = re.compile(r"[Nn]euron \d+")


def moments(name: str, steps: int) -> Iterator[Stage]:
    """The stage of a scene at each operation of some steps, with several samples."""
    show = Show.of(load(find(name))(engine="python"))
    session = show.session
    for step in range(steps):
        session.advance(5)
        session.focus = step % session.trainer.batches.size
        for _ in range(len(session.operations) - 1):
            session.advance(1, "operation")
            yield stage_of(show, (1280, 800))
        session.advance(1, "operation")


def title_of(stage: Stage) -> str:
    caption = stage.frame_data().words.caption
    assert caption is not None
    return caption.title


def without_a_name(stage: Stage) -> list[str]:
    frame_data, see, canvas = stage.frame_data(), projection(stage), Words(1280, 800)
    taken = draw_labels(canvas, see, frame_data, DARK, 1.0)
    box = draw_callout(canvas, see, frame_data, taken, DARK, 1.0)
    if box is not None:
        taken.boxes.append(box)
    draw_spoken(canvas, see, frame_data, taken, DARK, 1.0)
    seen = " ".join(canvas.words).lower()
    told = NAMED.findall(title_of(stage))
    return [each for each in told if each.lower() not in seen]


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        *(("rgb", 3), ("xor", 3), ("xnor", 2), ("circle", 2)),
        *(
            pytest.param(name, steps, marks=pytest.mark.slow)
            for name, steps in (("rgb", 15), ("xor", 15), ("xnor", 10), ("circle", 10))
        ),
    ],
)
def test_a_neuron_that_a_sentence_names_has_its_name_beside_it(name: str, steps: int) -> None:
    told = [(title_of(stage), without_a_name(stage)) for stage in moments(name, steps)]
    assert len(told) > 9 * steps and any(NAMED.search(title) for title, _ in told)
    assert [each for each in told if each[1]] == []
