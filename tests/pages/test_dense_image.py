"""Memories of networks of dense layers that a page makes itself, beside Python's."""

import base64
import itertools
import json
import random
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.wasm.page_memory import PageMemory, PageTraining
from scalarviz.pages.engine_data import training_of
from scalarviz.pages.playground_data import image_tables
from tests.pages.node import in_web

FIRST = 2**18
ACTIVATIONS = "tanh", "relu", "sigmoid", "linear", "leaky_relu", "sin"
FEATURES = "x y x2 y2 xy sinx siny".split()
SCRIPT = """
return data.cases.map(([net, training]) => {
  const { image, spec } = denseEngine(data.tables, net, training);
  return [Buffer.from(image).toString("base64"), spec];
});
"""


def chosen(choose: random.Random) -> sv.Session:
    """A session of what a playground offers, chosen at random."""
    features = [each for each in FEATURES if choose.random() < 0.5] or ["x"]
    hidden = [choose.randint(1, 12) for _ in range(choose.randint(0, 5))]
    points = data.Circle(
        share=choose.choice([0.1, 0.5, 0.9]), scale=5.0, signed=True, seed=choose.randint(0, 99),
        features=",".join(features),
    )  # fmt: skip
    bends, has_biases = [choose.choice(ACTIVATIONS) for _ in hidden], choose.random() < 0.8
    layers = [
        sv.Dense(inputs, outputs, activation, bias=has_biases)
        for (inputs, outputs), activation in zip(
            itertools.pairwise([len(features), *hidden, 1]), [*bends, "tanh"], strict=True
        )
    ]
    network = sv.Network(layers, seed=choose.randint(0, 99))
    kind = choose.choice([sv.SGD, sv.Momentum, sv.Adam])
    rates = choose.choice([0.03, 1.0]), choose.choice([0.0, 0.001])
    optimizer = kind(rates[0], l1=rates[1], l2=choose.choice([0.0, 0.1]))
    batch = choose.choice([1, 2, 10, 32, 64])
    return sv.Session(
        network, points, sv.Loss("mse", factor=0.5), optimizer=optimizer, batch=min(batch, 50),
        engine="python", seed=choose.randint(0, 99),
    )  # fmt: skip


def units_of_all(trainings: list[PageTraining]) -> list[Unit]:
    return [*dict.fromkeys(unit for each in trainings for unit in each.units())]


def case_of(training: PageTraining) -> Any:
    """What `denseEngine` takes of a training run."""
    affines = [each for each in training.program.operations if each.kind == "affine"]
    bends = {
        each.layer: each.formula for each in training.program.operations if each not in affines
    }
    sizes = [training.program.inputs.size, *[each.target.size for each in affines]]
    net = {
        "sizes": sizes,
        "activations": [bends.get(each.layer, "linear") for each in affines],
        "biases": affines[0].biases >= 0,
    }
    optimizers = [
        {"name": each.name, "rate": each.lr, "l1": each.l1, "l2": each.l2}
        for each in training.optimizers
    ]
    return net, {
        "value": training.bank.value,
        "inputs": training.batches.inputs.ravel(),
        "targets": training.batches.targets.ravel(),
        "probe": [],
        "seed": training.batches.seed,
        "batch": training.batches.size,
        "optimizers": optimizers,
    }


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_a_page_makes_the_memory_that_python_makes(count: int) -> None:
    choose = random.Random(count)
    trainings = [training_of(chosen(choose).trainer, 0) for _ in range(count)]
    units = units_of_all(trainings)
    tables = image_tables(trainings[0], units, FIRST)
    made = in_web("dense_image", SCRIPT, tables=tables, cases=[*map(case_of, trainings)])
    for training, (image, spec) in zip(trainings, made, strict=True):
        memory = PageMemory(training, units, np.zeros((0, training.program.inputs.size)), FIRST)
        assert base64.b64decode(image) == memory.image
        assert spec == json.loads(json.dumps(memory.spec))
