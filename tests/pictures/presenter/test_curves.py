"""The metrics in the chart of the losses."""

from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.stage.curves import SMOOTHED_PART, measured_of, smoothed_of
from scalarviz.stage.stage import Stage
from tests.sessions import advanced

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
    assert (held_out.name, held_out.share) == ("held out", False)
    assert (accuracy.name, accuracy.share) == ("held-out accuracy", True)
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
    stage.curve_view.first = 5.0
    assert stage.frame_data().curve.span == (5.0, 20.0)


def test_the_mean_of_losses_is_drawn_once_there_are_enough() -> None:
    assert smoothed_of(np.ones(2 * SMOOTHED_PART - 1)).tolist() == []
    np.testing.assert_array_equal(smoothed_of(np.full(2 * SMOOTHED_PART, 0.5)), 0.5)


def test_which_metrics_are_drawn() -> None:
    def points(*values: float) -> Any:
        return np.arange(len(values)), np.array(values)

    known = {
        "mae": points(0.2, 0.1),
        "share_above": points(0.0, 1.0),
        "held_out_loss": points(1.0),
        "r2": points(-3.0, 0.5),
    }
    drawn = measured_of(known)
    assert [(each.name, each.share) for each in drawn] == [
        ("held out", False),
        ("share above", True),
    ]
    del known["held_out_loss"], known["share_above"]
    assert [(each.name, each.share) for each in measured_of(known)] == [
        ("mae", False),
        ("r2", False),
    ]
