"""Mistakes of newcomers: the error says what to write instead."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.sessions import advanced
from tests.wording import refused

INPUTS = np.arange(8.0).reshape(4, 2)


def learn(targets: Any) -> sv.Session:
    net = sv.Network([2, 3], "linear")
    return sv.Session(net, (INPUTS, targets), "softmax_cross_entropy", engine="python")


def test_targets_in_the_place_of_the_loss_ask_for_a_pair() -> None:
    targets: Any = np.ones((4, 3))
    for given in (targets, targets.tolist()):
        with refused(InputError, given, "(inputs, targets)"):
            sv.Session(sv.Network([2, 3], "linear"), INPUTS, given)


@pytest.mark.parametrize("kind", [list, np.array, lambda t: np.array(t, object)])
def test_names_of_classes_are_labels(kind: Any) -> None:
    s = learn(kind(["cat", "dog", "cow", "cat"]))
    same = learn([0, 2, 1, 0])
    s.advance(1)
    same.advance(1)
    assert (s.data.output_names, s.losses[0]) == (["cat", "cow", "dog"], same.losses[0])


def test_labels_that_begin_with_1_are_too_large_by_1() -> None:
    labels = np.array([1, 2, 3, 3])
    with refused(InputError, "labels - 1"):
        learn(labels)
    learn(labels - 1).advance(1)
    with refused(InputError, "5 outputs"):
        learn([1, 2, 4, 4])


def test_a_metric_to_watch_that_is_not_known_lists_those_that_are() -> None:
    with refused(InputError, "accuracy_held_out", "loss, accuracy", "held_out_ before"):
        sv.EarlyStopping("accuracy_held_out")


def test_a_weight_that_is_not_pinned_has_no_history_and_a_message_says_so(caplog: Any) -> None:
    s = advanced(learn([0, 1, 2, 2]), 2)
    assert [len(each) for each in s.history(4)] == [0, 0]
    assert "s.pin(4)" in caplog.text
    caplog.clear()
    s.pin(4)
    assert len(s.history(4, wait=True)[0]) == 3 and not caplog.text
