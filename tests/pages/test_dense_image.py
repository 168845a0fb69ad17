"""Memories of networks of dense layers that a page makes itself, compared with Python's."""

import base64
import json
import random
from typing import Any

import numpy as np
import pytest

from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.wasm.page_memory import PageMemory, PageTraining
from scalarviz.faces.cli.watch_scene import opened
from scalarviz.faces.links import read_link
from scalarviz.pages.engine_data import training_of
from scalarviz.pages.playground_data import LOSSES, image_tables, units_on_offer
from scalarviz.stage.show import Show
from scalarviz.story.build_link import write_build
from tests.pages.node import in_web
from tests.pages.test_build_links import chosen

FIRST = 2**18
SCRIPT = """
return data.cases.map(([net, training]) => {
  const { image, spec } = denseEngine(data.tables, net, training);
  return [Buffer.from(image).toString("base64"), spec];
});
"""


def show_of(settings: dict[str, Any]) -> Show:
    """The show of settings, as `scalarviz open` makes it."""
    return opened(read_link(f"play?{write_build(settings)}"), {})[0]


def units_of_all(trainings: list[PageTraining]) -> list[Unit]:
    return [*dict.fromkeys(unit for each in trainings for unit in units_on_offer(each))]


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
        "task": next(task for task, loss in LOSSES.items() if repr(loss) == repr(training.loss)),
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
    trainings = [training_of(show_of(chosen(choose)).session.trainer, 0) for _ in range(count)]
    units = units_of_all(trainings)
    tables = image_tables(trainings[0], units, FIRST)
    made = in_web("dense_image", SCRIPT, tables=tables, cases=[*map(case_of, trainings)])
    for training, (image, spec) in zip(trainings, made, strict=True):
        memory = PageMemory(training, units, np.zeros((0, training.program.inputs.size)), FIRST)
        assert base64.b64decode(image) == memory.image
        assert spec == json.loads(json.dumps(memory.spec))
