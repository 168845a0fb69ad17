"""Call-outs on the first row: when they are there, and that they keep clear of each other."""

import itertools

import pytest

from scalarviz.base.texts import choose, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.lines import carried
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import flat_of, stage_of
from tests.studio import Written

ROWS = "weight", "comes"  # what each first row has
BENDS = [f"bend.{curve}" for curve in ("relu", "relu_right", "sigmoid", "tanh")]


def stage_at(name: str, steps: int, size: tuple[int, int] = (1280, 800)) -> Stage:
    show = Show.of(load(find(name))())
    show.session.advance(steps)
    return stage_of(show, size)


def said(stage: Stage) -> list[Written]:
    keys = [*ROWS, *BENDS, "bias", "tile", "column", "row"]
    words = {line for key in keys for line in text(f"first_row.{key}").split("\n")}
    found = flat_of(stage).written
    return [each for each in found if any(said in each.words for said in words)]


@pytest.mark.some(3)
@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "xnor", "micrograd", "normalized"])
@pytest.mark.parametrize("lang", ["english", "german"])
def test_call_outs_stand_apart_before_the_first_step(name: str, lang: str) -> None:
    choose(lang)
    try:
        found = said(stage_at(name, 0))
        words = "\n".join(each.words for each in found)
        assert all(text(f"first_row.{key}") in words for key in ROWS)
        assert any(text(f"first_row.{key}") in words for key in BENDS)
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
    assert len(said(stage)) == 8
    assert said(moved(stage)) == []
    stage.marks = True
    assert len(said(stage)) == 8


def test_what_bends_is_said_of_the_curve_in_the_gate() -> None:
    for name, curve in (("rgb", "tanh"), ("micrograd", "relu"), ("xnor", "relu_right")):
        words = text(f"first_row.bend.{curve}")
        assert any(words in each.words for each in said(stage_at(name, 0))), name


@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
def test_sums_at_the_first_gate_and_at_the_last_are_those_of_the_network(name: str) -> None:
    stage = stage_at(name, 50)
    data = stage.frame_data()
    written = "\n".join(each.words for each in flat_of(stage).written)
    for fan in (data.layout.fans[0], data.layout.fans[-1]):
        unit = fan.units // 2 if fan is data.layout.fans[-1] else 0
        total = data.buffers.values[data.layout.neurons[fan.after].sums][unit]
        assert text("first_row.sum", sum=short(float(total))) in written


@pytest.mark.parametrize("name", ["rgb", "xnor"])
def test_columns_have_what_they_carry_above_them(name: str) -> None:
    stage = stage_at(name, 50)
    data, flat = stage.frame_data(), flat_of(stage)
    (fan, *_) = data.layout.fans[1:]
    carries = carried(fan, data).values
    rows = {round(each.box.y) for each in flat.written}
    heads = [typeset(short(each)) for each in reversed(carries)]
    lines = [
        [x.words for x in sorted(flat.written, key=lambda x: x.box.x) if round(x.box.y) == y]
        for y in rows
    ]
    assert any([words for words in line if words in heads] == heads for line in lines)


def test_kernels_and_squares_have_none() -> None:
    assert said(stage_at("texture", 0)) == []
    (bend,) = said(stage_at("digits", 0))  # of the place of a filter that is shown in numbers
    assert bend.words == f"({text('first_row.bend.relu')})"


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
