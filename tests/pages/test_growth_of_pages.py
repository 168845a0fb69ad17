"""Weights of networks that grow and shrink in a page, beside Python's."""

import itertools
import random
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.randomness import growth_seed
from scalarviz.pages.engine_data import initial_data
from scalarviz.story.build_link import ACTIVATIONS, sizes_of
from scalarviz.training.network.grown_networks import (
    keeps,
    with_layer,
    with_neurons,
    without_layer,
    without_neuron,
)
from tests.pages.node import floats, in_web
from tests.pages.test_build_links import USUAL, chosen

SCRIPT = """
return data.cases.map(([old, now, value, how]) => {
  const grown = grownWeights(old, now, Float32Array.from(value), how);
  return [grown.value, grown.rows, initialOf(now).draws, drawnWeights(now)];
});
"""
NAMED = """
return [growthSeed(...data.seeds), grownNumbers(Float64Array.from([1, 2, 3, 4]), [1, -1, 0], 2)];
"""


def network_of(settings: Any) -> sv.Network:
    sizes = sizes_of(settings)
    names = [*settings["activation"], "tanh"]
    layers = [
        sv.Dense(sizes[i], sizes[i + 1], name, bias=settings["bias"])
        for i, name in enumerate(names)
    ]
    return sv.Network(layers, init=settings["init"], seed=settings["seed"])


def changed(choose: random.Random, old: Any) -> tuple[Any, Any, Any]:
    """The settings after a change, what names it besides, and Python's function of it."""
    seed, hidden, names = choose.randrange(2**52), old["hidden"], old["activation"]
    layer = choose.randrange(len(hidden)) if hidden else 0
    wide = hidden[layer] if hidden else 0
    before, after = hidden[:layer], hidden[layer + 1 :]
    kind = choose.choice(["add", "drop", "remove"]) if hidden else "insert"
    if choose.random() < 0.3:
        kind = "insert"
    if kind == "add":
        now = {"hidden": [*before, wide + 2, *after]}
        return now, {"seed": seed}, lambda net: with_neurons(net, layer, 2, "same", seed)
    if kind == "drop" and wide > 1:
        now = {"hidden": [*before, wide - 1, *after]}
        return now, {"seed": seed}, lambda net: without_neuron(net, layer, wide - 1, seed)
    if kind != "insert":
        now = {"hidden": before + after, "activation": names[:layer] + names[layer + 1 :]}
        return now, {"seed": seed, "layer": layer}, lambda net: without_layer(net, layer, seed)
    name, end = choose.choice(ACTIVATIONS), len(hidden)
    now = {"hidden": [*hidden, sizes_of(old)[-2]], "activation": [*names, name]}
    return now, {"seed": seed}, lambda net: with_layer(net, end, None, name, "same", seed)


@pytest.mark.parametrize("count", [100, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_page_keeps_and_draws_the_weights_that_python_does(count: int) -> None:
    choose = random.Random(count)
    cases, networks = [], []
    for old in [chosen(choose) for _ in range(count)]:
        net = network_of(old)
        net.bank.value[:] += 1.0  # not as drawn
        now, how, grow = changed(choose, old)
        grown = grow(net)
        networks.append((grown, network_of(old | now)))
        cases.append((old, old | now, net.bank.value, how))
    for (grown, redrawn), page in zip(networks, in_web("growth", SCRIPT, cases=cases), strict=True):
        value, rows, draws, drawn = page
        np.testing.assert_array_equal(floats(value), grown.network.bank.value)
        assert rows == grown.rows.tolist()
        assert draws == initial_data(redrawn)["draws"]
        np.testing.assert_array_equal(floats(drawn), redrawn.bank.value)


def test_inputs_layers_and_biases_begin_so_that_answers_stay_if_they_can() -> None:
    value = np.arange(1.0, 26.0)
    more = USUAL | {"features": ["x", "sinx", "y"]}

    def bent(hidden: list[int], names: list[str]) -> Any:
        return USUAL | {"hidden": hidden, "activation": names}

    names = itertools.product(ACTIVATIONS, ACTIVATIONS)
    deep = [(bent([4, 2], [old] * 2), bent([4, 2, 2], [old, old, new])) for old, new in names]
    pairs = [
        (USUAL, more), (more, USUAL), (USUAL | {"bias": False}, USUAL), (USUAL, USUAL | {"l2": 1}),
        (USUAL, bent([4, 2, 2, 2], ["tanh"] * 4)), *deep,
    ]  # fmt: skip
    cases = [(*pair, value[: 29 if pair[0] is more else 25], {"seed": 3}) for pair in pairs]
    wider, narrow, biased, same, redrawn, *rest = in_web("growth", SCRIPT, cases=cases)
    assert wider[0][:6] == [1, 0, 2, 3, 0, 4] and wider[1].count(-1) == 4
    assert narrow[0][:4] == [1, 3, 4, 6] and narrow[1].count(-1) == 0
    assert biased[0][8:12] == [0, 0, 0, 0] and biased[1].count(-1) == 7
    assert same[0] == value.tolist() and set(redrawn[1]) == {-1}
    for page, (before, now) in zip(rest, deep, strict=True):
        is_passed = page[0][22:28] == [1, 0, 0, 1, 0, 0]  # weights and biases of the new layer
        assert is_passed == keeps(now["activation"][-1], before["activation"][-1])


def test_seeds_of_growth_and_numbers_of_slots_are_those_of_python() -> None:
    for seeds in ((1, 1, 420, 0), (2**40 + 5, 2**51, 2**33, 0)):
        seed, slots = in_web("growth", NAMED, seeds=seeds)
        assert seed == growth_seed(*seeds) < 2**52
        assert slots == [2, 0, 1, 4, 0, 3]
