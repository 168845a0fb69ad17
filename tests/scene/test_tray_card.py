"""The card of a tray whose cubes stand nowhere: the strongest pairs of input and cube."""

import itertools

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.inspector import inputs_of
from scalarviz.scene.tray_card import PAIRS, tray_box, tray_of
from scalarviz.stage.render_options import RenderOptions, drawn
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from tests.scene.measures import projection


@pytest.fixture
def stages() -> Stages:
    data = np.random.default_rng(0).normal(size=(8, 2)), np.zeros((8, 1))
    network = sv.Network([2, 40, 24, 1], "tanh", seed=0)
    return Stages([Stage(sv.Session(network, data, seed=0, engine="python"), reduced_motion=True)])


def neuron_of(stage: Stage, line: int, place: int) -> tuple[str, int]:
    stage.frame_data()
    return stage.plan.neurons[line].values, place


def test_a_hovered_square_opens_its_row_in_the_next_picture(stages: Stages) -> None:
    stage = stages.lead
    assert tray_of(stage.frame_data()) is None
    stage.hover_neuron = neuron_of(stage, 2, 5)
    data = stage.frame_data()
    fan, unit = tray_of(data)
    assert (unit, fan.inputs) == (5, 40)
    for line, size in itertools.product((1, 2), ((800, 500), (1280, 800))):
        stage.resize(*size)
        stage.hover_neuron = neuron_of(stage, line, 5)
        data, division = stage.frame_data(), stage.frame_data().division(*size)
        box, first = tray_box(data, division), inputs_of(projection(stage), data, 1.0)
        assert division.inner.has(box.x, box.y) and division.exhibit.width
        assert not any(map(box.meets, [division.exhibit, *first])), (line, size)


@pytest.mark.parametrize("size", [(800, 500), (1280, 800), (3840, 2160)])
def test_it_has_the_strongest_pairs_and_the_mouse_finds_their_weights(
    stages: Stages, size: tuple[int, int]
) -> None:
    stage = stages.lead
    stage.pin(neuron_of(stage, 2, 5))
    look = RenderOptions(size=size, samples=1)
    with look.canvas() as canvas:
        drawn(canvas, stages, look)
        pairs = list(stage.on_top.pairs)
        rows = tray_of(stage.frame_data())[0].all_rows[5, :40]
        weights = np.abs(stage.session.network.bank.value[rows])
        assert [row for _, row in pairs] == rows[np.argsort(-weights, kind="stable")][
            :PAIRS
        ].tolist()
        box, row = pairs[3]
        stage.hover_at(box.x + 0.5 * box.width, box.y + 0.5 * box.height)
        assert (stage.hover, stage.pinned_neuron) == (row, neuron_of(stage, 2, 5))
        stage.release()


def test_with_every_weight_as_a_cube_there_is_no_card(stages: Stages) -> None:
    stage = stages.lead
    stage.pin(neuron_of(stage, 2, 5))
    stage.take(every_weight=True)
    stage.frame_data()
    assert tray_of(stage.frame_data()) is None
