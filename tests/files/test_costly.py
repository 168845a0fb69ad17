"""A small file that stands for much is refused before it costs anything; the rest loads quickly."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="models take onnx")
if not Path("/proc/self/clear_refs").exists():
    pytest.skip("only Linux tells what a process has taken so", allow_module_level=True)

from tests.files.costly import LOADED, REFUSED
from tests.machine import output_of

MOST_SECONDS = 20.0  # of the processor; a file that costs too much would take minutes
MOST_BYTES = 150 * 2**20


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each file cost in a process of its own."""
    told = output_of("-m", "tests.files.costly", str(tmp_path_factory.mktemp("costly")))
    return {each["name"]: each for each in map(json.loads, told.splitlines())}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REFUSED, *LOADED])
def test_a_small_file_costs_little(name: str, costs: dict[str, Any]) -> None:
    cost = costs[name]
    assert bool(cost["said"]) == (name in REFUSED)
    assert "\n" not in cost["said"] or "no counterpart here" in cost["said"]  # node by node
    assert cost["seconds"] < MOST_SECONDS
    assert cost["bytes"] < MOST_BYTES
