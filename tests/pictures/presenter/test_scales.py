"""Scales: stops that grow by themselves, and become smaller only if they are chosen anew."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.stage.channels import GROWTH_SECONDS, STOPS, ChannelSource, Scales, stop_above
from tests.pages.in_web import in_web
from tests.studio import plate

PLATES = [plate(2, 3), plate(1, 4, 6)]


def numbers(*largest: float, grads: float = 0.0) -> ChannelSource:
    """Ten numbers on two plates, of which the first have these magnitudes."""
    first, *second = largest
    value = np.array([first, 0, 0, 0, 0, 0, *(second or [0.0]), 0, 0, 0], float)
    grad = np.full(10, grads)
    shown: Any = SimpleNamespace(value=value, grad=grad, slots={})
    program: Any = SimpleNamespace(affines=[])
    return ChannelSource(shown, value, program, SimpleNamespace(values={}))


def of_layers() -> list[Any]:
    """A plate of layer 0 and one of layer 1."""
    return [replace(each, layer=layer) for layer, each in enumerate(PLATES)]


@given(st.floats(1e-300, 1e300))
def test_a_stop_is_1_2_or_5_times_a_power_of_ten_and_the_next_above(number: float) -> None:
    stop = stop_above(number)
    digits, power = f"{stop:e}".split("e")
    assert float(digits) in (1.0, 2.0, 5.0)
    assert number * (1.0 - 1e-12) <= stop
    below = {1.0: 0.5, 2.0: 1.0, 5.0: 2.0}[float(digits)] * float(f"1e{power}")
    assert below < number


def test_a_scale_grows_at_most_once_in_five_seconds() -> None:
    scales = Scales()
    scales.choose([(numbers(0.8), PLATES)])
    grown = []
    for tenth in range(200):
        now = 100.0 + tenth / 10.0
        scales.follow([(numbers(0.9 * 1.2**tenth), PLATES)], now)
        if not grown or scales.of("value", PLATES)[0] != grown[-1][1]:
            grown.append((now, scales.of("value", PLATES)[0]))
    times = [now for now, _ in grown]
    assert len(times) >= 4 and np.diff(times[1:]).min() >= GROWTH_SECONDS - 1e-6
    assert [stop for _, stop in grown] == sorted(stop for _, stop in grown)


def test_what_exceeds_a_scale_that_may_not_grow_yet_is_counted() -> None:
    scales = Scales()
    scales.choose([(numbers(0.8), PLATES)])
    scales.follow([(numbers(1.5), PLATES)], 0.0)
    source = numbers(2.5, -7.0)
    scales.follow([(source, PLATES)], 4.9)
    assert scales.of("value", PLATES).tolist() == [2.0, 2.0]
    assert scales.clipped(PLATES, source.numbers.value) == 2
    scales.follow([(source, PLATES)], 5.0)
    assert scales.of("value", PLATES).tolist() == [10.0, 10.0]
    assert scales.clipped(PLATES, source.numbers.value) == 0


def test_growth_is_said_for_some_seconds() -> None:
    scales = Scales()
    scales.choose([(numbers(0.8), PLATES)])
    assert scales.grown(0.0) is None
    scales.follow([(numbers(3.0), PLATES)], 10.0)
    assert scales.grown(10.0) == scales.grown(11.9) == (1.0, 5.0)
    assert scales.grown(12.0) is None
    scales.follow([(numbers(3.0), PLATES)], 20.0)
    assert scales.grown(20.0) is None
    scales.choose([(numbers(0.8), PLATES)])
    assert scales.grown(10.0) is None


def test_growth_of_the_sizes_is_not_said_of_the_colors() -> None:
    scales = Scales()
    scales.color = "gradient"
    scales.choose([(numbers(0.8, grads=0.1), PLATES)])
    scales.follow([(numbers(3.0, grads=0.1), PLATES)], 10.0)
    assert scales.grown(10.0) is None
    scales.follow([(numbers(3.0, grads=0.3), PLATES)], 20.0)
    assert scales.grown(20.0) == (0.1, 0.5)


def test_each_layer_may_have_its_own() -> None:
    scales, plates = Scales(), of_layers()
    scales.per_layer = True
    scales.choose([(numbers(0.8, 30.0), plates)])
    assert scales.of("value", plates).tolist() == [1.0, 50.0]
    assert scales.clipped(plates, numbers(0.9, 49.0).numbers.value) == 0
    assert scales.clipped(plates, numbers(1.1, 49.0).numbers.value) == 1
    scales.follow([(numbers(1.5, 30.0), plates)], 0.0)
    assert scales.of("value", plates).tolist() == [2.0, 50.0]


def test_the_first_gradient_has_a_scale_of_its_own_and_changes_no_other() -> None:
    scales = Scales()
    scales.size = "gradient"
    scales.choose([(numbers(0.8), PLATES)])  # before the first step there is no gradient
    assert scales.of("gradient", PLATES).tolist() == [1.0, 1.0]
    scales.follow([(numbers(0.8, grads=3e-4), PLATES)], 1.0)
    assert scales.of("gradient", PLATES) == pytest.approx([5e-4, 5e-4])
    assert scales.of("value", PLATES).tolist() == [1.0, 1.0]
    assert scales.grown(1.0) is None  # it has not grown, it is the first
    scales.follow([(numbers(1.5, grads=3e-4), PLATES)], 1.1)
    assert scales.of("value", PLATES).tolist() == [2.0, 2.0]


def test_a_scale_waits_while_a_cube_is_dragged_and_grows_when_it_is_let_go() -> None:
    scales = Scales()
    scales.choose([(numbers(0.5), PLATES)])
    found = []
    scales.held = True
    for seconds, value in enumerate((0.7, 1.4, 1.5)):
        if seconds == 2:
            scales.let_go()
        scales.follow([(numbers(value), PLATES)], 10.0 * seconds)
        found.append(scales.stop("value"))
    body = """
      const scales = new Scales(data.stops, data.patience);
      scales.choose("value", [0.5]);
      return [0.7, 1.4, 1.5].map((value, seconds) => {
        scales.hold(seconds < 2);
        scales.follow("value", [value], 10 * seconds);
        return scales.of("value");
      });"""
    assert found == in_web("scales", body, stops=STOPS, patience=GROWTH_SECONDS) == [0.5, 0.5, 2.0]
