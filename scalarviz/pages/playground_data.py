"""Data by which a page makes networks of its own: kernels, records, and constants of the engine.

`web/dense_image.js` makes the memory of a chain of dense layers from them, with the same bytes as
`engines/wasm/page_memory.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.optimizer import SGD, Adam, Momentum, Optimizer
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu import records, tiles
from scalarviz.engines.cpu.job import training_passes
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.table import ON_ONE_CORE, TRAINING, units_of_draws, units_of_loss
from scalarviz.engines.wasm import page_memory
from scalarviz.engines.wasm.compile_module import ALIGNMENT, FIRST
from scalarviz.engines.wasm.compile_pieces import HEAP
from scalarviz.engines.wasm.page_memory import PageMemory, PageTraining

OPTIMIZERS: tuple[Optimizer, ...] = SGD(), Momentum(), Adam()  # the optimizers on offer
RECORDS = "JOB PROGRAM PLAN PASS OPERATION BANK SAMPLES DRAWING BATCH ROOM UPDATE HOW SPAN PROGRESS"
FLAGS = "aim error keep learn forward weights delta flow"
# What `PageMemory.spec` says of every network of dense layers alike.
SAME = (
    "dtype first stack kernels places calls steady scaling mixed atOnce tile loss dropouts load "
    "step count"
)


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
        "loss": {field: kernels[unit.name] for field, unit in units_of_loss(training.loss).items()},
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
        "factor": training.loss.factor,
        "state": training.bank.state.tolist(),
        "longest": int(LONGEST),
        "settings": int(records.MOST_SETTINGS),
        "largestBatch": page_memory.LARGEST_BATCH,
        "atOnce": page_memory.AT_ONCE,
        "losses": page_memory.LOSSES,
        "heap": page_memory.heap_of(training),
        "heapAt": HEAP,
        "page": page_memory.PAGE,
        "alignment": ALIGNMENT,
        "first": first,
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
