"""Opened rows of digits: what adds most is shown, agrees with its sum, and meets nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.lights import lights
from scalarviz.scene.lines import carried, known_fans
from scalarviz.scene.opened_rows import (
    Opened,
    draw_opened_rows,
    filter_place,
    largest_words,
    norm_words,
    opened_rows,
    panel_of,
)
from scalarviz.scene.picture import beside_network
from scalarviz.stage.chart_view import OverlayPointer
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.scene.measures import DARK, Words, flat_of, projection, stage_of, trained

SIZES = [(1280, 800), (800, 500), (640, 420)]


def shown(stage: Stage) -> tuple[Any, list[Opened]]:
    data = stage.frame_data()
    return data, opened_rows(data, lambda fan: carried(fan, data))


def seen_fans(stage: Stage, data: Any) -> list[Any]:
    fans = known_fans(projection(stage), data.layout, 1.0)
    return [None if known is None else known.seen for known in fans]


@pytest.fixture
def stage() -> Stage:
    return stage_of(trained("digits"), (1280, 800))


def test_the_opened_row_of_the_last_layer_is_the_answer_and_has_its_score(stage: Stage) -> None:
    data, rows = shown(stage)
    scores = data.buffers.values[data.layout.neurons[-1].values]
    assert rows[-1].unit == int(scores.argmax())
    assert rows[-1].total == pytest.approx(float(scores.max()), rel=1e-5)


def test_each_opened_row_is_the_one_that_adds_most_to_the_next(stage: Stage) -> None:
    data, rows = shown(stage)
    assert [data.layout.fans[each.number].form for each in rows] == ["", "open", "open"]
    for row, following in pairwise(rows):
        terms = carried(data.layout.fans[following.number], data).terms[following.unit]
        assert row.unit == following.column == int(np.argmax(terms[:-1]))
        assert following.terms == terms[:-1]
    last = data.layout.fans[rows[-1].number]
    images = data.buffers.values[data.layout.neurons[last.before].values].reshape(16, 4)
    weights = data.weights[list(last.rows_of(rows[-1].unit))].reshape(16, 4)
    assert rows[-1].column == int((images * weights).sum(axis=1).argmax())


def test_a_step_opens_the_rows_that_it_explains_and_says_what_they_ask_for() -> None:
    show = trained("digits")
    stage, threads, tagged = stage_of(show, (1280, 800)), [], 0
    for _ in show.session.operations:
        show.session.advance(1, "operation")
        data, rows = shown(stage)
        thread = data.told.thread
        threads.append(thread)
        lines = {data.layout.fans[each.number].after: each for each in rows}
        for name, place in thread:
            number, line = next(
                (i, line) for i, line in enumerate(data.layout.neurons) if name in line.buffers
            )
            pixels = line.shape[1] * line.shape[2] if line.shape else 1
            assert number not in lines or lines[number].unit == place // pixels
        assert all(row.unit == following.column for row, following in pairwise(rows))
        canvas, fans = Words(1280, 800), seen_fans(stage, data)
        boxes = draw_opened_rows(
            canvas,
            DARK,
            data,
            fans,
            lambda fan, data=data: carried(fan, data),
            data.buffers.values,
        )
        tags = boxes[len(rows) :]
        assert bool(tags) == (data.told.blame is not None)
        tagged += len(tags)
        for one in tags:
            assert not any(one.meets(other) for other in boxes if other is not one)
            assert all(not one.has(one.x, y) for _, y, _ in fans[-1].ends)  # between rows
    longest = max(threads, key=len)
    assert len(longest) == 3 and tagged == 3
    assert all(each == longest[: len(each)] for each in threads)


def test_a_row_under_the_mouse_is_opened_instead(stage: Stage) -> None:
    _, rows = shown(stage)
    other = (rows[-1].unit + 3) % 10
    data = stage.frame_data()
    stage.hover_neuron = data.layout.neurons[-1].values, other
    _, now = shown(stage)
    assert now[-1].unit == other


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_panels_meet_no_row_and_no_other_panel(size: tuple[int, int]) -> None:
    stage = stage_of(trained("digits"), size)
    data, rows = shown(stage)
    fans = seen_fans(stage, data)
    panels = []
    for row in rows[1:]:
        seen = fans[row.number]
        assert seen is not None
        panels.append(panel_of(data, fans, row.number, seen))
        first = min(y for _, y, _ in seen.ends) - 0.5 * (seen.ends[1][1] - seen.ends[0][1])
        assert projection(stage).box.y - 16.0 <= panels[-1].y and panels[-1].bottom < first
    assert panels[0].right <= panels[1].x


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_words_of_opened_rows_stay_in_their_panels(size: tuple[int, int]) -> None:
    stage = stage_of(trained("digits"), size)
    data, rows = shown(stage)
    fans = seen_fans(stage, data)
    canvas = Words(*size)
    theme = DARK
    known = data.buffers.values
    draw_opened_rows(canvas, theme, data, fans, lambda fan: carried(fan, data), known)
    panels = [panel_of(data, fans, row.number, fans[row.number]) for row in rows[1:]]
    found = [each for each in canvas.found if each[1].x > panels[0].x]
    for words, box in found:
        own = [panel for panel in panels if panel.has(box.x + 1.0, box.y + 1.0)]
        assert own and box.right <= own[0].right and box.bottom <= own[0].bottom, words


def test_why_has_what_the_network_says_without_each_pixel(stage: Stage) -> None:
    data = stage.frame_data()
    why, inputs = data.exhibit.why, data.buffers.values[data.layout.neurons[0].values]
    network = stage.show.session.network
    scores = network(inputs[np.newaxis])[0]
    assert why.said == scores.argmax()
    assert why.lead == pytest.approx(scores[why.said] - scores[why.other], abs=1e-4)
    for pixel in (0, 27, why.strongest):
        erased = inputs.copy()
        erased[pixel] = 0.0
        out = network(erased[np.newaxis])[0]
        lead = why.lead - why.falls[pixel]
        assert lead == pytest.approx(out[why.said] - out[why.other], abs=1e-4)


def test_a_click_on_what_is_below_the_answer_shows_all_images(stage: Stage) -> None:
    data, picture = stage.frame_data(), stage.picture()
    see = picture.see(data, stage.eyes.camera, 1280, 800)
    lit = lights(data.layout, picture.program, None)
    _, on_top = picture._flat(data, see, lit, 1.0)
    division = data.division(1280, 800)
    places = data.exhibit.places(division.exhibit, 1.0)
    pointer, view = OverlayPointer(), stage.common.curve_view
    x, y = places.goal.x, places.goal.bottom + 60.0
    assert pointer.click(on_top, x, y, view) and pointer.opened
    assert not pointer.click(on_top, places.goal.x, places.goal.y + 5.0, view) or not pointer.opened
    assert beside_network(replace(data, opened=True), division)[0].whole
    assert not beside_network(data, division)[0].whole


@pytest.mark.parametrize("name", ["digits", "retrain"])
def test_a_filter_shows_a_place_whose_numbers_add_up_to_a_pixel_that_it_finds(name: str) -> None:
    data, rows = shown(stage_of(trained(name), (1280, 800)))
    fan, known = data.layout.fans[rows[0].number], data.buffers.values
    place = filter_place(data, fan, rows[0], (3, 3), known)
    assert place is not None
    image = known[data.layout.neurons[0].values].reshape(8, 8)
    top, left = place.corner
    assert place.pixels == pytest.approx(image[top : top + 3, left : left + 3].ravel().tolist())
    found = known[data.layout.neurons[fan.after].values].reshape(-1, 64)
    assert place.found == found[rows[0].unit, place.pixel]
    assert place.found == pytest.approx(max(0.0, sum(place.terms)), abs=1e-4)
    assert place.pixel == (top + 1) * 8 + left + 1
    if data.told is None:  # that has its own place
        printed = [round(100.0 * each) for each in [*place.terms, place.found]]
        assert printed[0] + printed[1] == printed[2]
        assert sum(each[2] for each in place.lines) == pytest.approx(printed[0] / 100.0)
        for x, weight, product in place.lines:
            assert abs(float(x) * float(weight) - product) < 0.005
        smaller = known[data.layout.neurons[fan.after + 1].values].reshape(-1, 16)
        assert smaller[rows[0].unit, place.pooled] == place.found


def test_a_pixel_of_a_filter_is_followed_into_the_next_row() -> None:
    stage = stage_of(Show.of(load(find("digits"))()), (1280, 800))
    stage.session.advance(20)
    data, rows = shown(stage)
    canvas, known = Words(1280, 800), data.buffers.values
    place = filter_place(data, data.layout.fans[0], rows[0], (3, 3), known)
    assert place is not None
    draw = seen_fans(stage, data), lambda fan: carried(fan, data), known
    draw_opened_rows(canvas, DARK, data, *draw)
    words = [said for said, _ in canvas.found]
    number = typeset(short(place.found))
    assert words.count(number) == 2  # of the filter, and above the image that comes in
    assert text("opened.pooled", found=number) in words
    best = max(rows[-1].terms, key=abs)
    assert typeset(f"{best:.2f}") in words


def test_the_words_on_a_row_that_is_evened_out_close_in_print(rng: np.random.Generator) -> None:
    for _ in range(100):
        bent = np.tanh(rng.normal(size=8))
        gain, shift = rng.normal(size=2).tolist()
        even = float((bent[-1] - bent.mean()) / bent.std())
        words = norm_words(bent.tolist(), even, [gain, shift], even * gain + shift)
        first, mean, spread, last = [each.replace("− ", "+ -").replace("−", "-") for each in words]
        ((x,), (middle,), (by, evened), (times, plus, out)) = (
            re.findall(r"-?\d*\.\d+", each) for each in (first, mean, spread, last)
        )
        assert abs((float(x) - float(middle)) / float(by) - float(evened)) <= 0.00501
        assert abs(float(evened) * float(times) + float(plus) - float(out)) <= 0.00501
        assert float(out) == pytest.approx(even * gain + shift, abs=0.00501)


def test_a_row_that_is_evened_out_has_its_numbers_at_rest() -> None:
    stage = stage_of(Show.of(load(find("normalized"))()), (1280, 800))
    assert text("norm.bent", bent="") in "\n".join(each.words for each in flat_of(stage).written)


def test_the_largest_bars_of_a_score_add_up_with_all_others() -> None:
    words = largest_words(Opened(0, 0, 0, 1.0, [0.5, -0.2, 0.3, 0.1]))
    assert words[0] == ".50 + .30 − .20 + 1 others with b .40"
