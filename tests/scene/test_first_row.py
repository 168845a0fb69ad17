"""Call-outs on the first row: when they are there, and that they keep clear of each other."""

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.first_row import closed_sum, sum_forms
from scalarviz.scene.held import draw_call_outs
from scalarviz.scene.layout.ways import REACH, OpenRow
from scalarviz.scene.lines import carried, known_fans
from scalarviz.stage.stage import Stage
from tests.scene.measures import Layers, dense_session, flat_of, played, projection, stage_of
from tests.sessions import advanced
from tests.studio import Written

ROWS = "weight", "comes"  # what each first row has
TURNS = "turns", "turns.s", "turns.sigmoid", "stays", "stays.s", "stays.0", "zero"
ADDS = re.compile(r"\+ .* = |-?[.\d]+ × [-.\d]")  # how a line of a sum begins


# Networks whose layers are rows: no crossbars.
NAMES = ["sigmoid 3-8-3", "tanh 2-4-3-1", "relu 2-8-8-1", "relu 2-16-3", "normalized"]


def stage_at(name: str, steps: int, size: tuple[int, int] = (1280, 800)) -> Stage:
    show = played(name, steps) if name.isalpha() else advanced(dense_session(name), steps)
    return stage_of(show, size)


def said(stage: Stage) -> list[Written]:
    words = {line for key in (*ROWS, "bias", "tile", "column", "row") for line in lines(key)}
    words |= turns()
    found = flat_of(stage).written
    return [x for x in found if ADDS.match(x.words) or any(each in x.words for each in words)]


def lines(key: str) -> list[str]:
    return text(f"first_row.{key}", sum="|", result="|").split("\n")


def turns() -> set[str]:
    """How the words begin that say what a curve makes of a sum."""
    return {lines(key)[0].partition("|")[0] for key in TURNS}


def sums(stage: Stage) -> list[str]:
    """The sums of products in a picture; one in two lines as a single text."""
    found: list[str] = []
    for each in said(stage):
        words, _, _ = each.words.partition("; ")
        if words.startswith("+ "):
            found[-1] += f" {words}"
        elif ADDS.match(words):
            found.append(words)
    return found


def number(words: str) -> float:
    return float(words.removesuffix(" (b)").split(" ")[-1].replace(",", ""))


@pytest.mark.some(3)
@pytest.mark.parametrize("name", NAMES)
def test_call_outs_stand_apart_before_the_first_step(name: str) -> None:
    found = said(stage_at(name, 0))
    words = "\n".join(each.words for each in found)
    assert all(text(f"first_row.{key}") in words for key in ROWS)
    assert any(turn in words for turn in turns())
    for one, other in itertools.combinations(found, 2):
        assert not one.box.meets(other.box), (one.words, other.words)
    assert all(each.box.x >= 0.0 and each.box.right <= 1280.0 for each in found)


def moved(stage: Stage) -> Stage:
    """The stage after a step, which it has seen."""
    stage.session.advance(1)
    stage.tick(1.0)
    return stage


def test_they_go_with_what_is_done_and_come_with_the_key_to_marks() -> None:
    stage = stage_at("sigmoid 3-8-3", 3)
    count = len(said(stage))
    assert count > 7
    assert said(moved(stage)) == []
    stage.marks = True
    assert len(said(stage)) == count


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("steps", [0, 50, 300])
def test_one_row_of_each_layer_adds_up_in_print_to_the_sum_of_the_network(
    name: str, steps: int
) -> None:
    stage = stage_at(name, steps)
    data, found = stage.frame_data(), sums(stage)
    others = [] if name == "normalized" else data.layout.fans[1:]  # normalized rows have that room
    nested = [fan for fan in others if fan.form == "nested"]
    assert len(found) == 1 + len(nested)
    for fan, words in zip((data.layout.fans[0], *nested), found, strict=True):
        products, _, total = words.partition(" = ")
        parts = [each.split(" × ") for each in products.split(" + ")]
        added = sum(math.prod(number(each) for each in part) for part in parts)
        assert short(added) == short(number(total)), words
        unit = fan.units - 1 if fan in nested else 0
        values, line = data.buffers.values, data.layout.neurons[fan.after]
        result = float(values[line.sums][unit]) if line.sums else number(total)
        says = float(values[line.values][unit])
        assert total == short(result)
        turns = "turns.sigmoid" if line.curve == "sigmoid" else "turns.s"
        kind = "stays.s" if short(says) == total else turns
        turned = text(f"first_row.{kind}", sum=total, result=short(says))
        if line.curve.startswith("relu"):
            assert short(says) == short(max(0.0, result))
            turned = "zero" if round(result, 2) < 0.0 else "stays.0" if result <= 0.0 else "stays"
            turned = text(f"first_row.{turned}", sum=total)
        assert any(turned in each.words for each in said(stage))


def row_of(terms: list[float], comes: list[float], largest: float = 1.0) -> OpenRow:
    weights = [term / come for term, come in zip(terms, comes, strict=True)]
    result, count = sum(terms), len(terms) - 1
    given = weights, weights, terms, result, largest, math.tanh(result), "tanh", [-1.0, 0.0, 1.0]
    return OpenRow(0, count, comes, *given)


def test_a_sum_has_the_digits_that_it_needs_and_the_others_are_one_number() -> None:
    row = row_of([-0.071, 0.0, -0.475], [1.0, 1.0, 1.0])
    assert closed_sum(row, [0, 1, 2]) == ["1.000 × -.071", "1.000 × 0", "-.475 (b)", ""]
    row = row_of([0.5, 0.2, 0.013, -0.1], [0.5, 1.0, 1.0, 1.0])
    assert closed_sum(row, [0, 1]) == [".50 × 1.00", "1.00 × .20", "-.09"]
    assert sum_forms(row, []) == [[text("first_row.sum", sum=".61")]]


@pytest.mark.parametrize("name", ["sigmoid 3-8-3", "relu 2-8-8-1"])
def test_the_dot_of_each_gate_lies_at_its_sum_and_result(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[float, float]] = []
    whole = Canvas2D.segments

    def noted(canvas: Canvas2D, start: Any, end: Any, color: Any, **look: Any) -> None:
        drawn.extend(start if start is end else [])
        whole(canvas, start, end, color, **look)

    monkeypatch.setattr(Canvas2D, "segments", noted)
    stage = stage_at(name, 50)
    flat_of(stage)
    data = stage.frame_data()
    for fan, known in zip(
        data.layout.fans, known_fans(projection(stage), data.layout, 1.0), strict=True
    ):
        line, seen = data.layout.neurons[fan.after], known.seen
        if len(line.bends) < 3:
            continue
        value = ACTIVATIONS[line.curve].value
        low, high = min(0.0, value(-REACH)), max(0.0, value(REACH))
        buffers = data.buffers.values[line.sums], data.buffers.values[line.values]
        for (x, y), total, says in zip(seen.gates, *buffers, strict=True):
            along = min(max(float(total) / REACH, -1.0), 1.0)
            up = min(2.0 * (float(says) - low) / (high - low) - 1.0, 1.0)
            at = x + 0.72 * seen.half_gate * along, y - 0.55 * seen.half_gate * up
            assert min(math.dist(at, dot) for dot in drawn) < 0.1
    small, count = stage_at(name, 50, (800, 500)), len(drawn)
    flat_of(small)
    assert len(drawn) == count  # there is no room for dots


@pytest.mark.parametrize("name", ["sigmoid 3-8-3", "tanh 2-4-3-1"])
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
    assert bend.words == text("opened.bends")


def test_a_small_picture_has_them_only_when_asked() -> None:
    stage = stage_at("sigmoid 3-8-3", 0, (800, 500))
    assert said(stage) == []
    stage.marks = True
    assert len(said(stage)) > 3


def test_the_letter_of_the_bias_gives_way_to_its_call_out() -> None:
    stage = stage_at("sigmoid 3-8-3", 0)
    for letters in (1, 2):
        assert sum(each.words == "b" for each in flat_of(stage).written) == letters
        moved(stage)


def test_the_sum_of_a_hovered_neuron_is_below_its_row() -> None:
    stage = stage_at("tanh 2-4-3-1", 50)
    data, see, theme = stage.frame_data(), projection(stage), stage.picture().theme
    for fan, after in zip(data.layout.fans[:2], data.layout.neurons[1:], strict=False):
        for unit in range(fan.units):
            sheet = Layers(theme.ground, 1280, 800)
            hovered = replace(data, hover_neuron=(after.values, unit), named=0.0)
            draw_call_outs(sheet, see, hovered, theme, [])
            assert sum(" = " in each.words for each in sheet.written) == 1
