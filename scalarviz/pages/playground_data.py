"""Data with which a page builds networks: kernels, record layouts, and constants of the engine.

`web/dense_image.js` uses them to build the memory of a chain of dense layers, with the same bytes
as `engines/wasm/page_memory.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula_trees import function_tree
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import SGD, Adam, Momentum, Optimizer
from scalarviz.data.plane import FEATURES
from scalarviz.data.rgb import PALETTE
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu import records, tiles
from scalarviz.engines.cpu.job import training_passes
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.table import (
    ON_ONE_CORE,
    TRAINING,
    units_of_draws,
    units_of_loss,
    units_on_one_core,
)
from scalarviz.engines.wasm import page_memory
from scalarviz.engines.wasm.compile_module import ALIGNMENT, FIRST, end_of_data
from scalarviz.engines.wasm.compile_pieces import HEAP
from scalarviz.engines.wasm.module import module_of
from scalarviz.engines.wasm.page_memory import PageMemory, PageTraining
from scalarviz.pages.caption_data import as_data, caption_data
from scalarviz.pages.caption_data import optimizer_data as captions_of
from scalarviz.pages.engine_data import training_of
from scalarviz.pages.scene_data import operation_data
from scalarviz.stage.show import Show
from scalarviz.story.build_link import ACTIVATIONS as OFFERED
from scalarviz.story.build_link import SHAPES
from scalarviz.training.session.reading import loss_facts, side_names

KINDS: tuple[Callable[..., Optimizer], ...] = SGD, Momentum, Adam  # optimizers on offer
OPTIMIZERS = [kind() for kind in KINDS]
LOSSES = {  # by what a network answers, see `task_of`
    "sides": Loss("mse", factor=0.5),
    "classes": Loss("softmax_cross_entropy"),
    "numbers": Loss("mse"),
    "colours": Loss("mse"),
}
RECORDS = "JOB PROGRAM PLAN PASS OPERATION BANK SAMPLES DRAWING BATCH ROOM UPDATE HOW SPAN PROGRESS"
FLAGS = "aim error keep learn forward weights delta flow"
# What `PageMemory.spec` says of every network of dense layers alike.
SAME = (
    "dtype first stack kernels places calls steady scaling mixed atOnce tile dropouts load "
    "step count"
)


class PlaygroundData(NamedTuple):
    """What a page needs to build networks: a WebAssembly module, and tables."""

    module: bytes
    tables: dict[str, Any]


def playground_data(make: Callable[..., Show]) -> PlaygroundData:
    """Return the kernels of all networks on offer, and the tables of `web/dense_page.js`.

    Args:
        make: returns the show of a network for settings: of the scene `circle`
    """
    shows = {name: make(activation=name, hidden="1", engine="python") for name in OFFERED}
    trainings = [training_of(each.session.trainer, 0) for each in shows.values()]
    units = [*dict.fromkeys(unit for each in trainings for unit in units_on_offer(each))]
    module = module_of(units, trainings[0].bank.dtype)
    image = image_tables(trainings[0], units, end_of_data(module))
    return PlaygroundData(module, {**page_tables(make, shows), "image": image})


def units_on_offer(training: PageTraining) -> list[Unit]:
    """Return the kernels of a training run with each of the losses and optimizers on offer."""
    of = training
    return units_on_one_core(of.program, of.batches, LOSSES.values(), OPTIMIZERS, of.precision)


def image_tables(training: PageTraining, units: Sequence[Unit], first: int) -> dict[str, Any]:
    """Return what `web/dense_image.js` needs to make the memory of a network of dense layers.

    Args:
        training: a training run on dense layers, for everything that does not depend on sizes
        units: the kernels of the module, in order
        first: first address of the image
    """
    memory = PageMemory(training, units, np.zeros((0, training.program.inputs.size)), first)
    kernels = {unit.name: FIRST + k for k, unit in enumerate(units)}
    (step,) = training_passes(training.program).tolist()
    fields = {key: unit for key, unit in TRAINING.items() if key != "train"}
    fields |= {"run_pass": ON_ONE_CORE, **units_of_draws(training.batches)}
    return {
        "records": {name: record_data(name) for name in (*RECORDS.split(), "TILE")},
        "kernels": kernels,
        "jobs": {field: kernels[unit.name] for field, unit in fields.items()},
        "losses": {
            task: {field: kernels[unit.name] for field, unit in units_of_loss(loss).items()}
            for task, loss in LOSSES.items()
        },
        "factors": {task: loss.factor for task, loss in LOSSES.items()},
        "activations": {name: place for place, name in enumerate(ACTIVATIONS)},
        "optimizers": {each.name: optimizer_data(each) for each in OPTIMIZERS},
        "flags": {name: getattr(tiles, f"DO_{name.upper()}") for name in FLAGS.split()},
        "passes": {
            "train": step,
            "evaluate": (tiles.DO_LOAD | tiles.DO_FORWARD | tiles.DO_STORE, 0, 1, 0),
        },
        "spec": {name: memory.spec[name] for name in SAME.split()},
        "steady": memory.spec["steady"],
        "patience": training.precision.patience,
        "draw": training.batches.draw,
        "state": training.bank.state.tolist(),
        "longest": int(LONGEST),
        "settings": int(records.MOST_SETTINGS),
        "largestBatch": page_memory.LARGEST_BATCH,
        "atOnce": page_memory.AT_ONCE,
        "mostLosses": page_memory.LOSSES,
        "heap": page_memory.heap_of(training),
        "heapAt": HEAP,
        "page": page_memory.PAGE,
        "alignment": ALIGNMENT,
        "first": first,
    }


def page_tables(make: Callable[..., Show], shows: Mapping[str, Show]) -> dict[str, Any]:
    """Return the tables with which `web/dense_page.js` builds the data of a page for a network.

    Args:
        make: returns the show of a network for settings
        shows: shows with one hidden neuron, by its activation
    """
    facts = {name: caption_data(show.session) for name, show in shows.items()}
    bent = {name: facts[name] for name in OFFERED if name != "linear"}
    first = facts[OFFERED[0]]
    cells = {each["technical"]: each["name"] for each in first["cells"]}
    return {
        "operations": {
            "affine": first["operations"][0],
            **{name: each["operations"][1] for name, each in bent.items()},
        },
        "activations": {name: each["activations"][name] for name, each in bent.items()},
        "flats": {
            name: operation_data(shows[name].session.network.program, 1)["flat"] for name in bent
        },
        "names": {
            **{name: cells[name] for name in ("zero_grad", "loss", "step")},
            **{name: cells[f"{name} 1"] for name in ("delta", "weight gradient", "input gradient")},
            "affine": cells["affine 0"],
            **{name: each["cells"][2]["name"] for name, each in bent.items()},
        },
        "optimizers": {kind().name: update_data(kind) for kind in KINDS},
        "losses": {task: as_data(loss_facts(loss, 1)) for task, loss in LOSSES.items()},
        "features": {
            name: {"label": each.label, "tree": function_tree(each.formula)}
            for name, each in FEATURES.items()
        },
        "palette": PALETTE.tolist(),
        "shapes": {
            shape: shape_data(make(shape=shape, hidden="1", engine="python")) for shape in SHAPES
        },
    }


def shape_data(show: Show) -> dict[str, Any]:
    """Return the words of a page that depend on the points, and the names of the two classes."""
    return {
        "page": {"title": show.title, "about": show.about},
        "sides": side_names(show.session.data),
    }


def update_data(kind: Callable[..., Optimizer]) -> dict[str, Any]:
    """Return the facts of an optimizer, and those on its penalties: none, L1, L2, and both.

    In their formulas L1 is .125 and L2 is .25; the page replaces these numbers.
    """
    penalties = [kind(l1=l1, l2=l2) for l2 in (0.0, 0.25) for l1 in (0.0, 0.125)]
    return {
        "facts": captions_of(kind(), mixed=False),
        "rate": kind().lr,
        "before": [captions_of(each, mixed=False)["before"] for each in penalties],
    }


def record_data(name: str) -> dict[str, Any]:
    """Return the size of a record in bytes, and the offset of each field and whether it is a float.

    Args:
        name: of the record in `engines/cpu/records.py`
    """
    kind = records.TILE_RECORD if name == "TILE" else getattr(records, name)
    assert kind.fields is not None
    fields = {name: (field[1], field[0].kind == "f") for name, field in kind.fields.items()}
    return {"size": kind.itemsize, "fields": fields}


def optimizer_data(optimizer: Optimizer) -> dict[str, Any]:
    """Return the part of an optimizer that does not depend on a network."""
    return {
        "title": type(optimizer).__name__,
        "rate": optimizer.lr,
        "slots": optimizer.row.slots,
        "settings": [*optimizer.settings.values()],
        "count": len(optimizer.arguments(0)),
    }
