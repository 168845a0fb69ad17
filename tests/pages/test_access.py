"""What screen readers, keys and large letters need: tables of weights, contrast, boundaries."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.page import properties, style_of_page
from scalarviz.scene.canvas.palette import THEMES, contrast, rgb
from tests.pages.in_web import in_web

LEAST = 4.5  # contrast of letters to their ground, WCAG 2 AA
# Letters and their grounds in the style; those of a disabled button need none.
LETTERS = [
    ("ink", "ground"), ("ink", "panel"), ("ink", "raised"),
    ("quiet", "ground"), ("quiet", "panel"), ("quiet", "raised"),
    ("on-accent", "accent"), ("ground", "lit"), ("ground", "push"), ("good", "ground"),
    ("accent", "raised"),
]  # fmt: skip


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_letters_have_contrast(theme: object) -> None:
    colors = dict(re.findall(r"--([\w-]+): (#\w{6});", properties(theme)))
    low = {}
    for letters, ground in LETTERS:
        ratio = float(contrast(*rgb((colors[letters], colors[ground]))))
        if ratio < LEAST:
            low[letters, ground] = round(ratio, 2)
    assert low == {}


def test_all_colors_of_letters_in_the_style_are_among_those() -> None:
    used = set(re.findall(r"[{;]\s*color: var\(--([\w-]+)\)", style_of_page()))
    assert used <= {letters for letters, _ in LETTERS}


def tables_of(session: sv.Session) -> list:
    say = caption_data(session)
    body = """
    setTexts(data.texts);
    const counted = (count) => [...Array(count).keys()];
    return wallsOf(data.say).map((wall) => ({
      title: wall.title,
      head: counted(wall.columns).map(wall.head),
      names: counted(wall.rows).map(wall.name),
      places: counted(wall.rows).map((i) => counted(wall.columns).map((j) => wall.place(i, j))),
    }));"""
    return in_web("access texts", body, say=say, texts=dict(texts()))


def test_every_weight_is_in_one_table_under_the_names_of_its_neurons() -> None:
    session = sv.Session(sv.Network([2, 3, 1], seed=0), sv.data.Xor(), engine="python")
    tables = tables_of(session)
    places = [place for each in tables for line in each["places"] for place in line]
    assert sorted(places) == list(range(len(session.network.bank)))
    for table, layer in zip(tables, session.network.layers, strict=True):
        where, first = np.array(table["places"]), layer.rows.start
        weights, biases = np.split(
            np.arange(first, layer.rows.stop), [layer.inputs * layer.outputs]
        )
        np.testing.assert_array_equal(where[:, :-1], weights.reshape(layer.outputs, layer.inputs))
        np.testing.assert_array_equal(where[:, -1], biases)
        assert table["head"][-1] == "bias"
    assert tables[0]["head"][:2] == ["input x", "input y"]
    assert tables[0]["names"][1] == "Neuron 1" and len(tables[0]["names"]) == 3


def test_parameters_of_other_layers_are_listed_by_name() -> None:
    layers = [sv.Conv2d((1, 8, 8), 2, 3), sv.Dense(2 * 6 * 6, 10)]
    session = sv.Session(sv.Network(layers, seed=0), sv.data.Digits(), engine="python")
    listed, wall = tables_of(session)
    assert np.ravel(listed["places"]).tolist() == list(range(20))
    assert len(set(listed["names"])) == 20
    assert np.shape(wall["places"]) == (10, 73)


def test_the_cell_with_the_focus_always_exists() -> None:
    body = """
    const wall = { rows: 40, columns: 20 };
    let [place, first] = [[0, 0], [0, 0]];
    const seen = [];
    for (const key of data.keys) {
      place = cellAfter(key, place, wall);
      first = [firstLine(first[0], place[0], 40), firstLine(first[1], place[1], 20)];
      seen.push([place, first]);
    }
    return seen;"""
    keys = ["ArrowUp", "ArrowDown", "PageDown", "PageDown", "PageDown", "End", "Home", "PageUp"]
    seen = in_web("access", body, keys=keys)
    assert [place for place, _ in seen] == [
        [0, 0], [1, 0], [17, 0], [33, 0], [39, 0], [39, 19], [39, 0], [23, 0],
    ]  # fmt: skip
    for place, first in seen:
        for i, start, count in zip(place, first, (40, 20), strict=True):
            assert start <= i < start + 16 <= count


def test_boundaries_follow_a_value_and_classes() -> None:
    side = 16
    middles = (np.arange(side) + 0.5) / side
    x, y = np.meshgrid(middles, middles)
    body = "return boundaryOf(data.answers, data.side, data.middle)"
    answers = np.hypot(x - 0.5, y - 0.5).ravel()
    lines = np.array(in_web("plane_exhibit", body, answers=answers, side=side, middle=0.3))
    ends = lines.reshape(-1, 2)
    assert len(lines) > 20
    np.testing.assert_allclose(np.hypot(*(ends - 0.5).T), 0.3, atol=0.01)
    classes = (x > 0.5).astype(int).ravel()
    lines = np.array(in_web("plane_exhibit", body, answers=classes, side=side, middle=None))
    assert len(lines) == side and (lines[..., 0] == 0.5).all()
    assert sorted(lines[:, 0, 1].tolist()) == (np.arange(side) / side).tolist()


def test_an_input_of_the_users_own_is_answered_between_steps_only() -> None:
    body = """
    const engine = {
      step: 3, loss: 1, rate: 0.1, value: [1], grad: [0], frozen: [0], slots: {}, batch: 1,
      arrays: { probe: [] },
      spec: { slots: [], moments: [{ values: [], gradients: [] }], dropouts: [],
        buffers: [{ name: "in" }] },
      draw() {}, sample: () => ({ row: 0, inputs: [1, 2], targets: [3] }),
      look: (inputs) => ({ out: [inputs[0] + inputs[1]] }),
      values: () => [1, 2], gradients: () => [],
    };
    const losses = { since: () => [] };
    const clock = { engine, operation: 0, moment: -1, before: null, losses, shown: new Shown(),
      focus: 0, first: 0, step: 3, branch: { end: { step: 3 } }, all: null,
      edited: new Map(), since: 0, place() { return { step: 3, operation: this.operation }; } };
    const seen = [];
    for (const [own, operation] of data.cases) {
      clock.shown.own = own;
      clock.operation = operation;
      clock.moment = operation ? 0 : -1;
      const state = stateOf(clock, 0);
      seen.push([state.own ?? false, [...state.inputs], state.values.out ?? null, state.target]);
    }
    return seen;"""
    cases = [(None, 0), ([5, 6], 0), ([5, 6], 1), (None, 0)]
    sample = [False, [1, 2], [3], [3]]
    assert in_web("state", body, cases=cases) == [
        sample, [True, [5, 6], [11], None], [False, [1, 2], None, [3]], sample,
    ]  # fmt: skip
