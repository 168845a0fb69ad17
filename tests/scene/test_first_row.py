"""Call-outs on the first row: when they are there, and that they keep clear of each other."""

import itertools

import pytest

from scalarviz.base.texts import choose, text
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import flat_of, stage_of
from tests.studio import Written

ROWS = "weight", "comes", "sum"  # what each first row has


def stage_at(name: str, steps: int, size: tuple[int, int] = (1280, 800)) -> Stage:
    show = Show.of(load(find(name))())
    show.session.advance(steps)
    return stage_of(show, size)


def said(stage: Stage) -> list[Written]:
    keys = "weight", "bias", "comes", "sum", "tile", "column", "row"
    words = {line for key in keys for line in text(f"first_row.{key}").split("\n")}
    return [each for each in flat_of(stage).written if each.words in words]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
@pytest.mark.parametrize("lang", ["english", "german"])
def test_call_outs_stand_apart_before_the_first_step(name: str, lang: str) -> None:
    choose(lang)
    try:
        found = said(stage_at(name, 0))
        words = {each.words for each in found}
        assert {text(f"first_row.{key}") for key in ROWS} <= words
    finally:
        choose("english")
    for one, other in itertools.combinations(found, 2):
        assert not one.box.meets(other.box), (one.words, other.words)
    assert all(each.box.x >= 0.0 and each.box.right <= 1280.0 for each in found)


def moved(stage: Stage) -> Stage:
    """The stage after a step, which it has seen."""
    stage.session.advance(1)
    stage.tick(1.0)
    return stage


def test_they_go_with_what_is_done_and_come_with_the_key_to_marks() -> None:
    stage = stage_at("rgb", 3)
    assert len(said(stage)) == 7
    assert said(moved(stage)) == []
    stage.marks = True
    assert len(said(stage)) == 7


def test_small_cubes_have_none() -> None:
    assert said(stage_at("micrograd", 0)) == said(stage_at("normalized", 0)) == []


def test_a_small_picture_has_them_only_when_asked() -> None:
    stage = stage_at("rgb", 0, (800, 500))
    assert said(stage) == []
    stage.marks = True
    assert len(said(stage)) > 4


def test_the_letter_of_the_bias_gives_way_to_its_call_out() -> None:
    stage = stage_at("rgb", 0)
    for letters in (1, 2):
        assert sum(each.words == "b" for each in flat_of(stage).written) == letters
        moved(stage)
