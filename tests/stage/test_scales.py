"""Scales of colors and sizes, and metrics in the chart of the losses."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.base.scales import GROWTH_SECONDS, stop_above
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import SMOOTHED_PART, smoothed_of
from scalarviz.stage.channels import ChannelSource, Scales, largest_of, read
from scalarviz.stage.curves import measured_of
from scalarviz.stage.stage import Stage
from tests.sessions import advanced
from tests.studio import plate

PLATES = [plate(2, 3), plate(1, 4, 6)]


def numbers(*largest: float, grads: float = 0.0) -> ChannelSource:
    """Ten numbers on two plates, of which the first have these magnitudes."""
    first, *second = largest
    value = np.array([first, 0, 0, 0, 0, 0, *(second or [0.0]), 0, 0, 0], float)
    shown: Any = SimpleNamespace(value=value, grad=np.full(10, grads), slots={})
    program: Any = SimpleNamespace(apart={})
    return ChannelSource(shown, value, program, SimpleNamespace(values={}))


def of_layers() -> list[Any]:
    """A plate of layer 0 and one of layer 1."""
    return [replace(each, layer=layer) for layer, each in enumerate(PLATES)]


@given(st.floats(1e-300, 1e300))
def test_a_stop_is_one_of_six_times_a_power_of_ten_and_the_next_above(number: float) -> None:
    stop = stop_above(number)
    digits, power = f"{stop:e}".split("e")
    known = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0]
    assert number * (1.0 - 1e-12) <= stop
    assert [0.7, *known][known.index(float(digits))] * float(f"1e{power}") < number


@pytest.fixture
def scales() -> Scales:
    """Scales that cover 0.8."""
    made = Scales(Look())
    made.choose([(numbers(0.8), PLATES)])
    return made


def followed(scales: Scales, now: float, *largest: float, grads: float = 0.0) -> list[float]:
    """The scales of the values of both plates, once they have followed some numbers."""
    scales.follow([(numbers(*largest, grads=grads), PLATES)], now)
    return scales.of("value", PLATES).tolist()


def test_a_scale_grows_at_most_once_in_five_seconds(scales: Scales) -> None:
    moments = [100.0 + tenth / 10.0 for tenth in range(200)]
    stops = [followed(scales, now, 0.9 * 1.2**i)[0] for i, now in enumerate(moments)]
    times = [
        now
        for now, (before, stop) in zip(moments[1:], pairwise(stops), strict=True)
        if before != stop
    ]
    assert len(times) >= 3 and np.diff(times).min() >= GROWTH_SECONDS - 1e-6
    assert stops == sorted(stops)


def test_what_exceeds_a_scale_that_may_not_grow_yet_is_counted(scales: Scales) -> None:
    many = 2.5, -7.5
    assert followed(scales, 0.0, 1.6) == followed(scales, 4.9, *many) == [2.0, 2.0]
    assert scales.clipped(PLATES, numbers(*many).numbers.value) == 2
    assert followed(scales, 5.0, *many) == [10.0, 10.0]
    assert scales.clipped(PLATES, numbers(*many).numbers.value) == 0


def test_growth_is_said_for_some_seconds(scales: Scales) -> None:
    assert scales.stops.just_grown(0.0) is None
    followed(scales, 10.0, 3.0)
    assert scales.stops.just_grown(10.0) == scales.stops.just_grown(11.9) == (1.0, 3.0)
    assert scales.stops.just_grown(12.0) is None
    followed(scales, 20.0, 3.0)
    assert scales.stops.just_grown(20.0) is None
    scales.choose([(numbers(0.8), PLATES)])
    assert scales.stops.just_grown(10.0) is None


def test_growth_of_the_sizes_is_not_said_of_the_colors(scales: Scales) -> None:
    scales.look = Look(color="gradient")
    scales.choose([(numbers(0.8, grads=0.1), PLATES)])
    followed(scales, 10.0, 3.0, grads=0.1)
    assert scales.stops.just_grown(10.0) is None
    followed(scales, 20.0, 3.0, grads=0.3)
    assert scales.stops.just_grown(20.0) == (0.1, 0.3)


def test_each_layer_may_have_its_own() -> None:
    scales, plates = Scales(Look(per_layer=True)), of_layers()
    scales.choose([(numbers(0.8, 40.0), plates)])
    assert scales.of("value", plates).tolist() == [1.0, 50.0]
    assert scales.clipped(plates, numbers(0.9, 49.0).numbers.value) == 0
    assert scales.clipped(plates, numbers(1.1, 49.0).numbers.value) == 1
    scales.follow([(numbers(1.6, 40.0), plates)], 0.0)
    assert scales.of("value", plates).tolist() == [2.0, 50.0]


def test_the_first_gradient_has_a_scale_of_its_own_and_changes_no_other(scales: Scales) -> None:
    scales.look = Look(cubes="gradient")
    scales.choose([(numbers(0.8), PLATES)])  # before the first step there is no gradient
    assert scales.of("gradient", PLATES).tolist() == [1.0, 1.0]
    assert followed(scales, 1.0, 0.8, grads=3e-4) == [1.0, 1.0]
    assert scales.of("gradient", PLATES) == pytest.approx([3e-4, 3e-4])
    assert scales.stops.just_grown(1.0) is None  # it has not grown, it is the first
    assert followed(scales, 1.1, 1.4, grads=3e-4) == [1.5, 1.5]


def test_a_scale_waits_while_a_cube_is_dragged_and_grows_when_it_is_let_go(scales: Scales) -> None:
    scales.choose([(numbers(0.5), PLATES)])
    scales.stops.hold(True)
    found = [followed(scales, 0.0, 0.7)[0], followed(scales, 10.0, 1.4)[0]]
    scales.stops.hold(False)
    found.append(followed(scales, 20.0, 1.5)[0])
    assert found == [0.5, 0.5, 1.5]


def test_raising_a_weight_by_hand_makes_its_cube_no_smaller(scales: Scales) -> None:
    scales.choose([(numbers(0.5), PLATES)])
    scales.stops.hold(True)
    values = 0.1 * np.arange(60.0)
    tops = [followed(scales, 10.0 * value, value)[0] for value in values.tolist()]
    halves = [PLATES[0].halves(np.array([x]), top)[0] for x, top in zip(values, tops, strict=True)]
    assert halves == sorted(halves) and halves[0] < halves[-1]


def test_a_scale_shrinks_when_nothing_has_needed_it_for_five_seconds(scales: Scales) -> None:
    scales.choose([(numbers(8.0), PLATES)])
    tops = [8.0, 2.5, 0.6, 8.0, *[2.5, 0.6] * 3, *[0.6] * 10, 0.0]
    found = [followed(scales, float(second), top)[0] for second, top in enumerate(tops)]
    assert found == [10.0] * 9 + [3.0] * 6 + [0.7] * (len(tops) - 15)
    scales.stops.hold(True)  # not while a hand drags a cube
    assert all(followed(scales, 30.0 + second, 0.1)[0] == 0.7 for second in range(10))
    assert scales.stops.just_grown(float(len(tops))) is None


X = np.random.default_rng(0).normal(size=(40, 2))


def session(**more: Any) -> sv.Session:
    net = sv.Network([2, 4, 2], activation="tanh", seed=0)
    data = sv.data.Arrays(X, (X[:, 0] > 0).astype(int), classes=2, share=0.5)
    settings = {"loss": "softmax_cross_entropy", "batch": 10, "engine": "python", "seed": 0}
    return sv.Session(net, data, optimizer=sv.Adam(0.1), **settings, **more)


def test_held_out_loss_and_accuracy_are_drawn_up_to_now() -> None:
    s = session(metrics=["accuracy"], every=2)
    stage = Stage(s)
    s.advance(6)
    held_out, accuracy = stage.frame_data().curve.metrics
    assert (held_out.name, held_out.share) == ("new data: loss", False)
    assert (accuracy.name, accuracy.share) == ("new data: right", True)
    steps, values = s.metrics["held_out_accuracy"]
    np.testing.assert_array_equal(accuracy.steps, steps)
    np.testing.assert_array_equal(accuracy.values, values)
    assert steps.tolist() == [2, 4, 6]
    s.seek(3)
    assert stage.frame_data().curve.metrics[0].steps.tolist() == [2]


def test_the_curve_of_a_network_that_has_grown_goes_on_from_that_before() -> None:
    first = advanced(session(), 30)
    second = advanced(sv.add_neurons(first, 0), 10)
    first.advance(5)  # nothing of the second
    third = sv.remove_neuron(second, 0, 0)
    stage = Stage(third)
    curve = stage.frame_data().curve
    assert curve.span == (-40.0, 0.0) and curve.marks == [(0, third.origin.did.capitalize())]
    caption = stage.frame_data().words.caption
    assert caption is not None and caption.title.startswith("Neuron 0 removed from layer 0 after s")
    assert curve.steps.tolist() == list(range(-39, 1))
    expected = np.concatenate([first.losses[:30], second.losses])
    np.testing.assert_array_equal(curve.losses, expected)
    third.advance(20)
    stage.read()
    curve = stage.frame_data().curve
    assert curve.span == (-40.0, 20.0) and curve.steps.tolist() == list(range(-39, 21))
    np.testing.assert_array_equal(curve.losses, np.concatenate([expected, third.losses]))
    stage.common.curve_view.first = 5.0
    assert stage.frame_data().curve.span == (5.0, 20.0)


def test_the_mean_of_losses_is_drawn_once_there_are_enough() -> None:
    assert smoothed_of([1.0] * (2 * SMOOTHED_PART - 1)) == []
    np.testing.assert_array_equal(smoothed_of([0.5] * (2 * SMOOTHED_PART)), 0.5)


def test_which_metrics_are_drawn() -> None:
    def points(*values: float) -> Any:
        return np.arange(len(values)), np.array(values)

    known = {
        "mae": points(0.2, 0.1),
        "share_above": points(0.0, 1.0),
        "held_out_loss": points(1.0),
        "r2": points(-3.0, 0.5),
    }
    assert [(each.name, each.share) for each in measured_of(known)] == [
        ("new data: loss", False),
        ("share above", True),
    ]
    del known["held_out_loss"], known["share_above"]
    assert [(each.name, each.share) for each in measured_of(known)] == [
        ("mae", False),
        ("r2", False),
    ]


def test_an_unfolded_graph_has_scales_without_bars() -> None:
    """A scale for bars that do not meet is too large for the cubes of a graph."""
    stage = Stage(load(find("micrograd"))())
    assert stage.plan.crossbar is not None
    stage.unfold()
    assert stage.plan.crossbar is None
    shown = stage.frame_data().cubes
    largest = largest_of(stage.plan.plates, [-1], read("value", stage.shown()[0]))[-1]
    np.testing.assert_array_equal(shown.size_scales, stop_above(largest))
