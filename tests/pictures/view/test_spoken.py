"""No sentence names a neuron whose sphere has no name beside it."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.scene.callout import draw_callout, draw_spoken
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.labels import draw_labels, is_on
from scalarviz.scene.layout.division import Box
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pictures.view.measures import Words, projection, stage_of

DARK = THEMES["dark"]
NAMED = re.compile(r"\b(?:neuron|wave) \d+")
SIZES = [(1280, 800), (800, 500)]
SCENES = {"rgb": 10, "xor": 10, "xnor": 8, "circle": 8, "normalized": 6, "texture": 1}


def moments(name: str, steps: int, size: tuple[int, int]) -> Iterator[Stage]:
    """The stage of a scene at each operation of some steps, with several samples."""
    show = Show.of(load(find(name))(engine="cpu" if name == "texture" else "python"))
    session = show.session
    for step in range(steps):
        session.advance(5)
        session.focus = step % session.trainer.batches.size
        for _ in range(len(session.operations) - 1):
            session.advance(1, "operation")
            yield stage_of(show, size)
        session.advance(1, "operation")


def title_of(stage: Stage) -> str:
    caption = stage.frame_data().words.caption
    assert caption is not None
    return caption.title.lower()


def written(stage: Stage, part: float = 1.0) -> list[tuple[str, Box]]:
    """The words beside the neurons of a stage, of which no name covers a sphere or a label."""
    frame_data, see = replace(stage.frame_data(), part=part), projection(stage)
    canvas = Words(see.width, see.height)
    taken = draw_labels(Words(see.width, see.height), see, frame_data, DARK, 1.0)
    box = draw_callout(canvas, see, frame_data, taken, DARK, 1.0)
    boxes = [*taken.boxes, *([box] if box is not None else [])]
    taken.boxes[:], first = boxes, len(canvas.words)
    draw_spoken(canvas, see, frame_data, taken, DARK, 1.0)
    for name, place in canvas.found[first:]:
        assert not is_on(place, taken.spheres) and not any(map(place.meets, boxes)), name
    return [(words.lower(), place) for words, place in canvas.found]


def without_a_name(stage: Stage) -> list[str]:
    seen = " ".join(words for words, _ in written(stage))
    return [each for each in NAMED.findall(title_of(stage)) if each not in seen]


@pytest.mark.some("rgb-1-(1280, 800)", "xnor-1-(800, 500)", "circle-1-(1280, 800)")
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize(("name", "steps"), [*dict.fromkeys(SCENES, 1).items()])
def test_a_neuron_that_a_sentence_names_has_its_name_beside_it(
    name: str, steps: int, size: tuple[int, int]
) -> None:
    told = [(title_of(each), without_a_name(each)) for each in moments(name, steps, size)]
    assert len(told) > 9 * steps and any(NAMED.search(title) for title, _ in told)
    assert [each for each in told if each[1]] == []


@pytest.mark.slow
def test_600_sentences_name_no_sphere_without_a_name() -> None:
    told = [
        (title_of(stage), without_a_name(stage))
        for name, steps in SCENES.items()
        for stage in moments(name, steps, SIZES[0])
    ]
    assert len(told) >= 600
    assert [each for each in told if each[1]] == []


def test_a_sum_has_its_name_before_its_number_is_there() -> None:
    stage = next(each for each in moments("rgb", 1, SIZES[0]) if "adds up" in title_of(each))
    found = [written(stage, part)[-1] for part in (0.1, 1.0)]
    (early, place), (late, last) = found
    assert early == "neuron 0" and late.startswith("neuron 0: ")
    assert (place.x, place.y) == (last.x, last.y)


@pytest.mark.parametrize("thing", [0, ("affine 0", 5)], ids=str)
def test_the_neurons_of_a_card_have_their_names(thing: int | tuple[str, int]) -> None:
    stage = stage_of(Show.of(load(find("rgb"))(engine="python")), SIZES[0])
    stage.pin(thing)
    pinned = stage.frame_data().pinned
    assert pinned is not None
    assert [words for words, _ in written(stage)] == NAMED.findall(pinned.name.lower())
