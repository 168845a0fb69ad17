"""The picture of a network that reads a sequence."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.base.texts.sums import sum_words
from scalarviz.data.written_names import HEAT, SHOWN
from scalarviz.errors import UnknownNameError
from scalarviz.faces.controller.controls import walk
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.exhibits.answers import Answers
from scalarviz.scene.layout.division import Box
from scalarviz.scene.layout.sequence_layout import sequence_of
from scalarviz.scene.layout.sequence_places import AT_PLACE, Choice
from scalarviz.scene.past_names import draw_names
from scalarviz.scene.sequence_blame import cell_of
from scalarviz.scene.sequence_choice import brightness_of
from scalarviz.scene.sequence_lines import draw_sequence_lines
from scalarviz.scene.sequence_picture import (
    draw_sequence_marks,
    draw_sequence_row,
    row_with,
)
from scalarviz.scene.sequence_sheet import numbers_of
from scalarviz.scene.sequence_ways import SequenceNumbers
from scalarviz.scenes import adder, names
from scalarviz.stage import render
from scalarviz.stage.data_exhibits import exhibit_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Card, Uses
from scalarviz.story.traced_weight import walk_to
from scalarviz.training.session.reading import facts_of, state_of
from tests.scene.measures import flat_of, projection, stage_of
from tests.scene.sequences import HEADS, LETTERS, PLACES, WORDS, gpt, reading
from tests.wording import refused

MOST_TEXTS, LIT = 60, 7.0  # texts besides letters and bars; contrast of OUT and goal
SIZES = (1280, 800), (800, 500), (1920, 1080)
PHONE = 390, 700


def shown(size: tuple[int, int] = (1280, 800), *, choice: Choice | None = None) -> Stage:
    stage = stage_of(Show(reading()), size)
    stage.choice = choice or Choice()
    stage.frame_data()
    return stage


def known_of(stage: Stage) -> SequenceNumbers:
    return numbers_of(stage.frame_data())


def arrays(known: SequenceNumbers) -> dict[str, FloatArray]:
    """Return the numbers of each buffer, (numbers, places), and the weights of each wall."""
    plan, weights = known.plan, np.asarray(known.weights)
    values = {
        name: np.reshape(known.values[buffer], (-1, PLACES))
        for name, buffer in plan.buffers.items()
        if name != "inputs"
    }
    for name, shape in (("join", (16, 16)), ("wide", (64, 16)), ("narrow", (16, 64)),
                        ("scores", (27, 16))):  # fmt: skip
        first = plan.rows[name]
        values["W" + name] = weights[first : first + shape[0] * shape[1]].reshape(shape)
    return values


def test_each_weight_is_one_cube() -> None:
    stage = shown()
    cubes = np.concatenate([plate.cells()[2] for plate in stage.plan.plates])
    assert np.array_equal(np.sort(cubes), np.arange(len(stage.session.network.bank)))


def test_each_cube_can_be_pointed_at() -> None:
    stage = shown()
    picture = stage.picture()
    see = picture.see(stage.frame_data(), stage.eyes.camera, 1280, 800)
    for plate in stage.plan.plates[::7]:
        row, column = plate.rows - 1, plate.columns // 2
        x, y = see(plate.middle(row, column)[np.newaxis]).xy[0]
        assert stage.target_at(x, y).row == plate.index_of(row, column)


def test_shares_add_up_to_1_and_nothing_looks_ahead() -> None:
    known = known_of(shown())
    values = arrays(known)
    for head in range(HEADS):
        query, key, _ = values["qkv"].reshape(HEADS, 3, 4, PLACES)[head]
        for here in range(len(WORDS[0]) + 1):
            shares = np.array(known.shares[head][here])
            scores = key[:, : here + 1].T @ query[:, here] / 2.0
            assert len(shares) == here + 1 and shares.sum() == pytest.approx(1.0)
            np.testing.assert_allclose(shares, np.exp(scores) / np.exp(scores).sum())


@pytest.mark.parametrize("place", [0, 3, 5])
def test_the_parts_of_a_score_add_up_to_it(place: int) -> None:
    known = known_of(shown(choice=Choice(place)))
    scores = arrays(known)["scores"][:, place]
    for letter in range(LETTERS):
        parts = known.parts(letter)
        assert sum(parts) == pytest.approx(scores[letter], abs=1e-5)
        *terms, total = [float(each.replace("−", "-")) for each in sum_words(parts)]
        assert sum(terms) == pytest.approx(total)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_lit_ways_are_the_largest_terms(sign: float) -> None:
    known = known_of(shown())
    values, here = arrays(known), known.place
    for letter in range(0, LETTERS, 5):
        row = values["Wscores"][letter]
        stays = sign * row * values["x"][:, here]
        assert known.staying(letter, sign) == stays.argmax()
        value = values["qkv"].reshape(HEADS, 3, 4, PLACES)[:, 2].reshape(16, PLACES)
        shares = np.repeat([known.shares[head][here] for head in range(HEADS)], 4, axis=0)
        back = row[:, None, None] * values["Wjoin"][:, :, None] * (value[:, : here + 1] * shares)
        assert known.looking(letter, sign) == np.unravel_index((sign * back).argmax(), back.shape)
        reads = values["Wwide"] * values["n"][:, here] * (values["z"][:, here] > 0.0)[:, None]
        neurons = row[:, None, None] * values["Wnarrow"][:, :, None] * reads[None]
        found = known.speaking(letter, sign)
        assert found == np.unravel_index((sign * neurons).argmax(), neurons.shape)


@pytest.mark.parametrize("size", [*SIZES, PHONE])
@pytest.mark.parametrize(
    "choice", [Choice(), Choice(0), Choice(head=1), Choice(neuron=5), Choice(letter=17)], ids=str
)
def test_texts_are_few_and_do_not_meet(size: tuple[int, int], choice: Choice) -> None:
    assert_apart(shown(size, choice=choice), size)


def assert_apart(stage: Stage, size: tuple[int, int]) -> None:
    """Assert that the picture has few texts, of which none meets another."""
    data, scale = stage.frame_data(), stage.frame_data().division(*size).scale
    canvas = Canvas2D(*size, scale=scale)
    boxes = draw_sequence_marks(canvas, projection(stage), data, THEMES["dark"])
    is_text = [len(words) > 1 and not is_number(words) for words in canvas.words]
    assert sum(is_text) <= 30  # the others of a picture have 30
    near = [one.inside(1.0).meets(other.inside(1.0)) for one, other in combinations(boxes, 2)]
    assert not any(near), [
        (canvas.words[i], canvas.words[j])
        for (i, j), meets in zip(combinations(range(len(boxes)), 2), near, strict=True)
        if meets
    ]


def is_number(words: str) -> bool:
    return words.strip("+−.0123456789") == ""


@pytest.mark.parametrize("letter", [0, 9, 17])
def test_a_card_says_once_why_a_letter_is_as_likely_as_it_is(letter: int) -> None:
    stage = shown(choice=Choice(letter=letter))
    known = known_of(stage)
    canvas = Canvas2D(1280, 800)
    draw_sequence_marks(canvas, projection(stage), stage.frame_data(), THEMES["dark"])
    parts = sum_words(known.parts(letter))
    sign = known.plan.signs[letter]
    assert f"Why {sign}?" in canvas.words and set(parts) <= set(canvas.words)
    assert not any("stays" in words and parts[0] in words for words in canvas.words)
    assert typeset(short(known.chances[letter])) in canvas.words  # at its bar
    ((score, part),) = [re.split(r" = ", words[2:]) for words in canvas.words if words[:2] == "e^"]
    (total,) = [words.split()[1] for words in canvas.words if words.endswith("(all 27)")]
    (share,) = [words[2:] for words in canvas.words if words.startswith("= ")]
    score = score.replace("−", "-")
    assert math.exp(float(score)) == pytest.approx(float(part), abs=last_digit(part))
    assert float(part) / float(total) == pytest.approx(float(share), abs=last_digit(share))
    assert float(share) == pytest.approx(known.chances[letter], abs=last_digit(share))


def words_of(stage: Stage, size: tuple[int, int] = (1280, 800)) -> list[str]:
    """Return the texts of a picture, without the texts of the window around it."""
    data = stage.frame_data()
    canvas = Canvas2D(*size, scale=data.division(*size).scale)
    draw_sequence_marks(canvas, projection(stage), data, THEMES["dark"])
    return canvas.words


def test_a_large_picture_names_heads_and_rows_and_the_norm() -> None:
    told = {"head 1", "head 4", "query", "key", "value", "who at whom"}
    words = words_of(shown())
    assert told <= set(words) and any(each.endswith("the usual size is 1") for each in words)
    assert not told & set(words_of(shown((800, 500)), (800, 500)))


def test_a_silent_neuron_only_says_that_it_adds_nothing() -> None:
    known = known_of(shown())
    active = known.numbers("z", known.place)
    for neuron in (active.index(0.0), active.index(max(active))):
        words = words_of(shown(choice=Choice(neuron=neuron)))
        assert ("below 0: it adds nothing here" in words) == (active[neuron] == 0.0)
        assert ("what it adds to each score" in words) == (active[neuron] > 0.0)
        assert not {"+.00", "−.00"} & set(words)


def test_no_band_of_a_head_is_below_the_card_of_a_head() -> None:
    drawn: list[int] = []
    for choice in (Choice(), Choice(head=1)):
        stage, canvas = shown(choice=choice), Canvas2D(1280, 800)
        draw_sequence_lines(canvas, projection(stage), stage.frame_data(), THEMES["dark"])
        drawn.append(len(canvas.vertices()))
    assert drawn[1] < drawn[0]


def test_rows_that_are_not_used_are_dim() -> None:
    stage = shown()
    data, known = stage.frame_data(), known_of(stage)
    _, cells = brightness_of(data)
    plates = stage.plan.plates
    by_first = {plate.first: cell for plate, cell in zip(plates, cells, strict=True)}
    plan, active = known.plan, known.numbers("z", known.place)
    assert by_first[plan.rows["letters"]][1::2] == [known.read[3]] * 2
    for neuron, value in enumerate(active):
        lit = by_first[plan.rows["wide"] + 16 * neuron][3] >= 0
        assert lit == (value > 0.0) == (by_first[plan.rows["narrow"] + neuron][3] >= 0)


def test_a_place_a_letter_and_a_head_are_chosen_by_clicks_and_keys() -> None:
    stage = shown()
    stage.picture()
    plan = known_of(stage).plan
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, 1280, 800)

    def click(x: float, y: float) -> Choice:
        point = np.array([[0.03125 * x, -0.03125 * y, 0.0]])
        stage.click(*see(point).xy[0].tolist())
        return stage.choice

    assert click(plan.x("letters") + 30.0, 17.0).place == 1
    stage.frame_data()
    assert click(plan.x("bars") + 20.0, plan.score_y(5)) == Choice(1, 5)
    stage.frame_data()
    assert click(plan.x("bars") + 20.0, plan.score_y(5)) == Choice(1)
    for key, choice in (("right", Choice(2)), ("left", Choice(1)), ("2", Choice(1, head=1))):
        stage.frame_data()
        assert stage.choose(key) and stage.choice == choice
    assert not stage.choose("up")
    stage.restore()
    assert stage.choice == Choice()


def test_balls_show_the_numbers_of_the_chosen_place() -> None:
    stage = shown(choice=Choice(2))
    known = known_of(stage)
    lines = {line.values: line for line in stage.plan.neurons}
    for name in ("x", "qkv", "mix", "h", "z", "y"):
        own = known.plan.buffers[name] + AT_PLACE
        shown_numbers = stage.frame_data().buffers.values[own]
        np.testing.assert_allclose(shown_numbers, arrays(known)[name][:, 2])
        assert len(shown_numbers) == lines[own].count


def test_a_neuron_opens_with_products_and_additions_that_add_up() -> None:
    stage = shown()
    known = known_of(stage)
    values, plan = arrays(known), known.plan
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, 1280, 800)
    neuron = int(values["z"][:, 3].argmax())
    point = np.array([[0.03125 * plan.x("z"), -0.03125 * plan.neuron_y(neuron), 0.0]])
    stage.click(*see(point).xy[0].tolist())
    assert stage.choice == Choice(neuron=neuron)
    data = stage.frame_data()
    canvas = Canvas2D(1280, 800)
    draw_sequence_marks(canvas, projection(stage), data, THEMES["dark"])
    terms = values["Wwide"][neuron] * values["n"][:, 3]
    said_of = sum_words(terms.tolist())
    assert set(said_of) <= set(canvas.words)
    *parts, total = [float(each.replace("−", "-")) for each in said_of]
    assert sum(parts) == pytest.approx(total)
    assert total == pytest.approx(values["u"][neuron, 3], abs=5e-3)
    added = values["z"][neuron, 3] * values["Wscores"] @ values["Wnarrow"][:, neuron]
    np.testing.assert_allclose(known.additions(neuron), added, atol=1e-6)
    stage.restore()
    assert stage.choice == Choice()


def told_slopes(stage: Stage) -> dict[int, Uses]:
    """Return the weights whose slopes are explained during a step, by bank index."""
    found: dict[int, Uses] = {}
    for _ in range(len(stage.session.network.program.moments) - 1):
        stage.session.advance(1, "operation")
        caption = stage.frame_data().told
        if caption is not None and caption.uses is not None:
            found[caption.uses.row] = caption.uses
    return found


@pytest.mark.parametrize("place", [0, 3])
def test_a_slope_is_the_sum_over_the_places_that_use_the_weight(place: int) -> None:
    stage = shown(choice=Choice(place))
    found, plan = told_slopes(stage), known_of(stage).plan
    grad = stage.session.network.bank.grad
    assert len(found) >= 5 and all(each.place == place for each in found.values())
    for row, uses in found.items():
        assert sum(uses.parts) == pytest.approx(grad[row], rel=1e-5)
        *parts, total = [float(each.replace("−", "-")) for each in uses.said]
        assert sum(parts) == pytest.approx(total)
    for row in range(0, len(grad), 53):  # whichever weight is pinned
        stage.pin(row)
        caption = stage.frame_data().told
        assert caption is not None and caption.uses is not None and caption.uses.row == row
        assert sum(caption.uses.parts) == pytest.approx(grad[row], rel=1e-5, abs=1e-8)
        draw_sequence_marks(
            Canvas2D(1280, 800), projection(stage), stage.frame_data(), THEMES["dark"]
        )
    assert cell_of(plan, plan.rows["places"] + 3 * 16 + 5) == ("places", 5, 3)


def test_the_step_of_a_weight_is_told_in_two_beats() -> None:
    stage = stage_of(names.scene(engine="python"), (640, 400))
    stage.session.advance(2, "step")
    for row, uses in told_slopes(stage).items():
        numbers = [float(each.replace("−", "-")) for beat in uses.beats
                   for each in re.split(" [×/=] ", beat)]  # fmt: skip
        mean, usual, part, rate, again, change = numbers
        assert mean / usual == pytest.approx(part, rel=0.02) and again == part
        assert -part * rate == pytest.approx(change, rel=0.02)
        assert uses.new - uses.old == pytest.approx(change, rel=0.01, abs=1e-9)
        start, end = re.findall(r"(\S+) → ([^:]+):", uses.way.replace("−", "-"))[0]
        assert float(start) + change == pytest.approx(float(end), abs=1e-9)  # also in print
        assert uses.old == pytest.approx(stage.session.network.bank.value[row])


def last_digit(number: str) -> float:
    """Return a little more than half of the last decimal place of a written number."""
    return 0.501 * 10.0 ** -len(number.partition(".")[2])


def test_keys_stop_at_each_operation() -> None:
    session = reading()
    facts = facts_of(session)
    assert [walk_to(facts, done, 1) for done in range(len(facts.moments))] == [1] * len(
        facts.moments
    )


@pytest.mark.parametrize("place", [0, 3])
def test_equations_of_forward_sentences_hold_with_their_printed_digits(place: int) -> None:
    stage, equations = shown(choice=Choice(place)), 0
    value = stage.session.network.bank.value
    for _ in range(16):
        stage.session.advance(1, "operation")
        caption = stage.frame_data().words.caption
        assert caption is not None
        title = caption.title.replace("−", "-")
        for one, sign, other, result in re.findall(r"(\S+) ([×/]) (\S+) = ([-.\d]+\d)", title):
            equations += 1
            found = float(one) * float(other) ** (1 if sign == "×" else -1)
            assert found == pytest.approx(float(result), abs=last_digit(result))
            if sign == "×":  # its cube has brackets
                (row,) = caption.rows
                assert float(other) == pytest.approx(value[row], rel=0.05, abs=5e-3)
        for power, result in re.findall(r"e\^(\S+) = (\S+),", title):
            equations += 1
            assert math.exp(float(power)) == pytest.approx(float(result), abs=last_digit(result))
    assert equations == 8


def test_a_step_says_what_all_weights_do_and_what_one_does_against_its_slope() -> None:
    stage = stage_of(names.scene(engine="python"), (640, 400))
    for _ in range(4):
        stage.session.advance(39, "operation")
        told = stage.frame_data().told
        assert told is not None and told.uses is not None
        uses, plan, network = told.uses, known_of(stage).plan, stage.session.network
        is_against = (uses.new - uses.old) * sum(uses.parts) < 0.0
        assert ("before" in uses.way) != is_against
        assert is_against or uses.links == ()
        state = state_of(stage.session)
        letter, old, new = re.findall("move: (.) (.*) → (.*)", uses.moved)[0]
        at = plan.signs.index(letter) * PLACES + uses.place
        assert state.answer is not None and state.all is not None
        assert float(new) == pytest.approx(np.exp(state.answer[at]), abs=6e-4)
        name = plan.buffers["out"]
        assert float(old) == pytest.approx(np.exp(state.all.values[name][at]), abs=6e-4)
        outputs = network(stage.session.trainer.batches.at(stage.session.step_index - 1)[0])
        assert float(new) == pytest.approx(np.exp(outputs[0, at]), abs=6e-4)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("moment", [18, 30, 34])
def test_texts_of_slopes_do_not_meet(size: tuple[int, int], moment: int) -> None:
    stage = shown(size)
    stage.session.advance(moment, "operation")
    assert_apart(stage, size)


@pytest.mark.parametrize("size", SIZES[:2])
def test_a_whole_picture_of_slopes_has_texts_that_do_not_meet(size: tuple[int, int]) -> None:
    stage = stage_of(names.scene(engine="python"), size)
    stage.session.advance(1)
    stage.frame_data()
    for operations in (20, 6, 8, 5):  # weights of scores, wide, value, and the step
        stage.session.advance(operations, "operation")
        seen = [each for each in flat_of(stage).written if not each.hidden]
        words = [each.words for each in seen]
        assert {"OUT", "goal"} <= set(words) and not any("..." in each for each in words)
        assert all(each.contrast > LIT for each in seen if each.words in ("OUT", "goal"))
        long = [each for each in words if len(each) > 1 and not is_number(each)]
        assert len(long) <= MOST_TEXTS, long
        near = [(one.words, other.words) for one, other in combinations(seen, 2)
                if one.box.inside(1.0).meets(other.box.inside(1.0))]  # fmt: skip
        assert near == []
        data = stage.frame_data()  # no number covers the way to the weight
        assert data.told is not None and data.told.uses is not None
        canvas = Canvas2D(*size, scale=data.division(*size).scale)
        assert numbers_on_cubes(canvas, projection(stage), data, at_rest=True) == {}


@pytest.mark.parametrize("place", [1, 2, 4])
def test_a_weight_with_a_reason_has_a_cube_that_is_seen(place: int) -> None:
    stage = shown(choice=Choice(place))
    value, found = stage.session.network.bank.value, told_slopes(stage)
    assert all(abs(value[row]) >= 0.05 for row, uses in found.items() if uses.links)


def forward_with(row: int, change: float) -> tuple[dict[str, FloatArray], SequenceNumbers]:
    """Return the numbers of the first name at its usual place, with one weight changed."""
    stage = shown()
    stage.session.network.bank.value[row] += change
    stage.session.advance(16, "operation")
    known = known_of(stage)
    return {name: each[:, 3] for name, each in arrays(known).items()
            if not name.startswith("W")}, known  # fmt: skip


def test_each_link_of_a_reason_holds_when_its_weight_is_moved() -> None:
    stage = shown()
    found = [uses for uses in told_slopes(stage).values() if uses.links]
    plan, walls = known_of(stage).plan, set[str]()
    goal = WORDS[0][3:4]
    before = forward_with(0, 0.0)[0]
    for uses in found:
        wall = cell_of(plan, uses.row)[0]
        walls.add(wall)
        is_lower = sum(uses.parts) > 0.0
        assert uses.links[0] == ("if it is lower" if is_lower else "if it is higher")
        after, _ = forward_with(uses.row, -1e-3 if is_lower else 1e-3)
        moved = {name: after[name] - before[name] for name in before}
        letter = plan.signs.index(goal)
        number, inner = uses.route
        stations = {
            "qkv": [("mix", inner), ("h", number)],
            "join": [("h", number)],
            "wide": [("z", inner), ("y", number)],
            "narrow": [("y", number)],
            "scores": [],
        }[wall]
        *said, last = uses.links[1:]
        for (name, index), words in zip(stations, said, strict=True):
            assert words.endswith(("more", "higher")) == (moved[name][index] > 0.0), uses
        factors = [
            float(re.findall("× (.*):", each)[0].replace("−", "-")) for each in [*said, last]
        ]
        change = -1e-3 if is_lower else 1e-3
        for (name, index), factor in zip(stations, factors, strict=False):
            change *= factor  # each factor says how much is passed on
            assert moved[name][index] == pytest.approx(change, rel=0.15), uses
        assert change * factors[-1] > 0.0 and last.endswith(f"{goal} likelier")
        assert moved["out"][letter] > 0.0
    assert walls == {"qkv", "join", "wide", "narrow", "scores"}


def test_other_networks_have_other_layouts() -> None:
    assert sequence_of(gpt().program) is not None
    assert sequence_of(sv.Network([2, 3, 1]).program) is None
    dense: Any = sv.Network([sv.Embedding(3, 2, 4, positions=True), sv.Flatten((2, 1, 4)), 3])
    assert sequence_of(dense.program) is None


def test_the_scale_of_weights_does_not_follow_them() -> None:
    stage = shown()
    data = stage.frame_data()
    assert set(data.cubes.size_scales.tolist()) == {0.3}
    assert replace(data.cubes).common == 0.3


def test_a_temperature_divides_all_scores_but_not_those_of_a_step() -> None:
    stage = shown(choice=Choice(heat=0.5))
    known = known_of(stage)
    powers = np.exp(2.0 * arrays(known)["scores"][:, 3])
    np.testing.assert_allclose(known.chances, powers / powers.sum(), rtol=1e-5)
    stage.session.advance(20, "operation")
    powers = np.sqrt(powers)
    np.testing.assert_allclose(known_of(stage).chances, powers / powers.sum(), rtol=1e-5)


@pytest.mark.parametrize("size", [*SIZES, PHONE])
def test_a_hovered_weight_has_its_row_in_large_cubes(size: tuple[int, int]) -> None:
    stage = shown(size)
    plan, data = stage.plan.sequence, stage.frame_data()
    assert plan is not None
    for row in range(0, len(stage.session.network.bank), 97):
        hovered = replace(data, hover=Card(row, "", ()))
        known = draw_sequence_row(Canvas2D(*size), projection(stage), hovered, THEMES["dark"])
        assert row in [index for _, index in known] and len(known) == 16
        assert all(box.right <= size[0] and box.bottom <= size[1] for box, _ in known)
        plate, i, j = stage.plan.plate_of(row) or (None, 0, 0)
        assert plate is not None
        indices, left, height = row_with(plan, row)
        place = plate.middle(i, j)
        column = indices.index(row)
        assert place[0] / 0.03125 == pytest.approx(left + 6.6 * (column + 0.5), abs=1.5)
        assert -place[1] / 0.03125 == pytest.approx(height, abs=1.5)


def test_each_moment_of_a_step_has_a_picture() -> None:
    stage = shown((640, 400))
    canvas = Canvas2D(640, 400)
    for _ in stage.session.network.program.moments:
        stage.session.advance(1, "operation")
        data, see = stage.frame_data(), projection(stage)
        draw_sequence_lines(canvas, see, data, THEMES["dark"])
        draw_sequence_marks(canvas, see, data, THEMES["dark"])
    assert stage.session.step_index == 1


def test_a_name_that_is_empty_has_a_picture() -> None:
    stage = stage_of(Show(reading([""])), (1280, 800))
    known = known_of(stage)
    assert known.place == 0 and known.shares[0][0] == [1.0]


def test_keys_of_a_window_choose_unless_a_cube_is_selected_by_them() -> None:
    stage = shown()
    face: Any = SimpleNamespace(stage=stage)
    assert walk(face, "left", shift=False) and stage.choice.place == 2
    assert not walk(face, "left", shift=True)
    stage.picture()
    stage.walk("")
    assert walk(face, "left", shift=False) and stage.choice.place == 2


@pytest.mark.parametrize(("blocks", "size"), [(1, (1280, 800)), (2, (800, 500)), (4, (1280, 800))])
def test_of_several_blocks_the_last_one_is_open(blocks: int, size: tuple[int, int]) -> None:
    show = names.scene(blocks=blocks, engine="cpu")
    stage = stage_of(show, size)
    known, bank = known_of(stage), show.session.network.bank
    assert stage.frame_data().exhibit is None and known.plan.closed == blocks - 1
    cubes = np.concatenate([plate.cells()[2] for plate in stage.plan.plates])
    closed = range(*known.plan.closed_rows)
    assert sorted([*cubes, *closed]) == [*range(len(bank))] and len(bank) == 1120 + 3072 * blocks
    parts = known.parts(known.letter)
    assert sum(parts) == pytest.approx(known.numbers("scores", known.place)[known.letter], abs=1e-5)
    assert_apart(stage, size)
    for _ in range(len(show.session.network.program.moments) - 1):
        show.session.advance(1, "operation")
        data = stage.frame_data()
        draw_sequence_lines(Canvas2D(*size), projection(stage), data, THEMES["dark"])
        draw_sequence_marks(Canvas2D(*size), projection(stage), data, THEMES["dark"])
        caption = data.words.caption
        if caption is not None and "looking back" in caption.title:
            title = caption.title.replace("− ", "+ −")
            assert sum_words(parts) == [re.findall("[−.\\d]+", each)[-1] for each in
                                        title.replace("=", "+").split("+")]  # fmt: skip


def test_names_of_a_moment_are_those_that_the_network_writes_and_draws_as_likely() -> None:
    show = names.scene(engine="python", hidden=8)
    session, stage = show.session, stage_of(show, (1280, 800))
    stage.common.curve_view.large = True
    stage.common.curve_view.choose("names")
    seen: Any = stage.frame_data().curve.below
    learned: Any = session.data
    assert [each.letters for each in seen.names] == learned.write(session.network, SHOWN)
    for name in seen.names:
        outputs = session.network(learned.encode(name.letters)).reshape(27, PLACES)
        powers = np.exp(outputs / HEAT)
        codes = [learned.letters.index(letter) for letter in name.letters]
        chances = [(powers[code] / powers.sum(axis=0))[i] for i, code in enumerate(codes)]
        np.testing.assert_allclose(name.chances, chances, rtol=1e-6)
        assert name.is_known == (name.letters in learned.names)
    session.advance(3)
    later: Any = stage.frame_data().curve.below
    assert later.step == 3.0 and later.names != seen.names
    session.seek(0)
    again: Any = stage.frame_data().curve.below
    assert again.names == seen.names
    canvas = Canvas2D(800, 130)
    draw_names(canvas, Box(0.0, 0.0, 700.0, 130.0), seen, THEMES["dark"], 1.0)
    assert "".join(canvas.words).startswith(seen.names[0].letters)


@pytest.mark.slow
@pytest.mark.usefixtures("opengl")
def test_a_film_shows_bars_and_names_of_each_of_its_moments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show, seen, draw = names.scene(engine="cpu"), [], render.drawn
    learned: Any = show.session.data

    def noted(canvas: Any, stage: Any, look: Any) -> Any:
        frame, data = draw(canvas, stage, look), stage.panes[0].frame_data()
        network, known = show.session.network, numbers_of(data)
        inputs = [*known.read, *[-1] * (PLACES - len(known.read))]
        likely = np.exp(network(np.array(inputs, float))).reshape(LETTERS, PLACES)[:, known.place]
        np.testing.assert_allclose(known.chances, likely, rtol=1e-4, atol=1e-6)
        assert [each.letters for each in data.curve.below.names] == learned.write(network, SHOWN)
        seen.append(int(data.curve.below.step))
        return frame

    monkeypatch.setattr(render, "drawn", noted)
    options: Any = {"size": (320, 200), "samples": 1, "past": "names"}
    sv.record(show, tmp_path / "a.gif", 200, every=50, fps=5, **options)
    assert sorted({*seen}) == [0, 50, 100, 150, 200]


def test_only_names_have_a_picture_of_names() -> None:
    refused(UnknownNameError, "names").by(sv.picture, reading(), past="names")


def test_a_transformer_that_adds_has_its_own_signs() -> None:
    known = known_of(stage_of(adder.scene(engine="python"), (640, 400)))
    assert "".join(known.plan.signs) == adder.SIGNS


def test_the_likeliest_sign_of_each_place_is_counted() -> None:
    session = reading()
    exhibit = exhibit_of(session)
    assert isinstance(exhibit, Answers)
    data: Any = session.data
    outputs = session.network(data.training[0]).reshape(-1, LETTERS, PLACES)
    right = [
        outputs[i, :, place].argmax() == ([*map(ord, word), 96][place] - 96)
        for i, word in enumerate(WORDS)
        for place in range(len(word) + 1)
    ]
    assert exhibit.score() == (sum(right), len(right)) and len(right) == 29


def test_a_transformer_that_adds_shows_a_place_whose_error_counts() -> None:
    stage = stage_of(adder.scene(engine="python"), (640, 400))
    known = known_of(stage)
    assert known.place == adder.ASKED - 1 and known.plan.hidden == 24
