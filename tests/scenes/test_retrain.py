"""The scene that retrains a network from a file: frozen parts, learning parts, accepted files."""

import sys
from typing import Any

import numpy as np
import pytest
from scalarviz.scenes.retrain import MODEL

import scalarviz as sv
from scalarviz.errors import UnknownNameError
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from tests.wording import refused


def play(**options: Any) -> Show:
    show = load(find("retrain"))(engine="cpu", **options)
    assert isinstance(show, Show)
    return show


def shares(show: Show) -> tuple[float, float]:
    """How much of the held-out digits it gets right: of 0 to 7, and of 8 and 9."""
    pictures, truth = play().session.data.held_out
    label = truth.argmax(axis=1)
    right = show.session.network(pictures).argmax(axis=1) == label
    return float(right[label < 8].mean()), float(right[label >= 8].mean())


def test_it_knows_eight_digits_and_learns_two() -> None:
    show = play()
    old, new = shares(show)
    assert old > 0.95 and new == 0.0
    show.session.advance(500)
    old, new = shares(show)
    assert old > 0.9 and new > 0.85


def test_its_first_layers_stand_still() -> None:
    show = play()
    bank = show.session.network.bank
    before = bank.value.copy()
    show.session.advance(20)
    assert "500 of its 830 weights" in show.about
    assert bank.frozen.tolist() == [True] * 500 + [False] * 330
    assert (bank.value[:500] == before[:500]).all()
    assert (bank.value[500:] != before[500:]).sum() > 250


def test_it_forgets_what_it_is_not_shown() -> None:
    show = play(digits="89")
    show.session.advance(200)
    old, new = shares(show)
    assert old < 0.1 and new > 0.8


def test_any_of_its_layers_can_stand_still() -> None:
    assert not play(freeze="none").session.network.bank.frozen.any()
    assert play(freeze="fc").session.network.bank.frozen.sum() == 330
    with refused(UnknownNameError, "'conv3'"):
        play(freeze="conv3")


def test_it_needs_no_onnx_and_has_the_network_of_the_file_for_onnx(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = sv.onnx.load(MODEL, freeze=["conv1", "conv2"])
    monkeypatch.setitem(sys.modules, "onnx", None)
    network = play().session.network
    assert repr(network) == repr(read.to("cpu")) and network.names == read.names
    np.testing.assert_array_equal(network.bank.value, read.bank.value)
    np.testing.assert_array_equal(network.bank.frozen, read.bank.frozen)


def test_a_seed_decides_on_the_order_and_not_on_what_is_held_out() -> None:
    one, other = play(seed=1).session, play(seed=2).session
    assert np.array_equal(one.data.held_out[0], other.data.held_out[0])
    one.advance(1), other.advance(1)
    assert one.loss != other.loss
