"""PyTorch's results, with which tests/test_against_pytorch.py compares ours.

Run by hand, after adding a row to a table in a file of this folder, with PyTorch installed:

    python tests/reference/make_reference.py

It writes pytorch.json beside itself, always the same bytes for the same PyTorch and machine. All
is float64. Rows, settings and slots have our names; parameters stand in the order of our bank,
which is that of PyTorch's `parameters()`: for each layer the weights, then the biases.
"""

import json
from pathlib import Path
from typing import Any

import torch
from networks import biases, initializers, layers, networks
from scalars import activations, activations_with_settings, losses, operations
from state_dicts import state_dicts
from tensors import Entry
from training import optimizers, schedules, steps

FILE = Path(__file__).with_name("pytorch.json")


def text(value: Any, depth: int = 0) -> str:
    """JSON with a line for every row of every table, so that a change can be seen."""
    if not isinstance(value, dict) or depth == 2:
        return json.dumps(value)
    indent = "\n" + " " * (depth + 1)
    rows = [f"{indent}{json.dumps(key)}: {text(x, depth + 1)}" for key, x in value.items()]
    return "{" + ",".join(rows) + "\n" + " " * depth + "}"


def main() -> None:
    torch.set_num_threads(1)
    groups = (
        activations, activations_with_settings, operations, losses, steps, optimizers, schedules,
        initializers, biases, layers, networks, state_dicts,
    )  # fmt: skip
    reference: Entry = {"torch": torch.__version__}
    reference |= {group.__name__: group() for group in groups}
    FILE.write_text(text(reference) + "\n", encoding="utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
