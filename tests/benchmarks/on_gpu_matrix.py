"""The tests of the simulator, on the card; a part of `on_gpu`."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.benchmarks.on_gpu_machine import SIMULATED, Tell
from tests.engines.on_card import OUTCOMES

# Formulas of users would be compiled anew; graphs and the fused kernel have parts of their own.
NAMES = ("cuda", "away", "layers", "sessions")
FILES = [f"tests/engines/simulated_{name}.py" for name in NAMES]
# What says that the simulator runs; and what compiles for minutes, which `bits` looks at.
NOT_HERE = "simulator_is_what", "kernels_for_the_formulas_in_use"
# In the simulator only the command is tried.
TRIED = "bad_gradient or schedule or what_is_refused or several"
SECONDS = {"not slow": 130.0, "slow": 90.0}
WORKERS = 2 if SIMULATED else 8
SLOWEST = 3


def matrix(tell: Tell) -> bool:
    if importlib.util.find_spec("pytest") is None:
        tell("matrix", left_out="pytest is not installed")
        return True
    found = [run(tell, which) for which in (["not slow"] if SIMULATED else SECONDS)]
    return all(found)


def command(which: str) -> list[str]:
    """pytest without the settings, the plugins and the conftest of this repository."""
    found = [sys.executable, "-m", "pytest", "-v", "--noconftest", "--tb=short", "-o", "addopts="]
    found += ["-o", "filterwarnings=", "-p", "no:cacheprovider", "--import-mode=importlib"]
    found += ["-p", "tests.wording", "-p", "tests.engines.simulator", "-p", "tests.engines.on_card"]
    if importlib.util.find_spec("xdist") is not None:
        found += ["-p", "xdist.plugin", "-n", str(WORKERS)]
    left_out = " and ".join(f"not {name}" for name in NOT_HERE)
    chosen = f"({TRIED}) and {left_out}" if SIMULATED else left_out
    return [*found, "-k", chosen, "-m", which, *FILES]


def run(tell: Tell, which: str) -> bool:
    """Run the tests of a mark; what is done when the time is over counts."""
    folder = Path(os.environ.get("ON_GPU_RESULTS", "on_gpu.jsonl")).parent
    name = f"matrix_{which.replace(' ', '_')}"
    outcomes, start = folder / f"{name}.jsonl", time.monotonic()
    outcomes.unlink(missing_ok=True)
    known = os.environ | {OUTCOMES: str(outcomes), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    late = False
    with (folder / f"{name}.txt").open("w") as file:
        process = subprocess.Popen(command(which), stdout=file, stderr=file, env=known)
        try:
            process.wait(SECONDS[which])
        except subprocess.TimeoutExpired:
            late = True
            process.kill()
            process.wait()
    text = outcomes.read_text(encoding="utf-8") if outcomes.exists() else ""
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    counts = Counter(row["outcome"] for row in rows)
    failed = list(dict.fromkeys(row["test"] for row in rows if row["outcome"] == "failed"))
    good = not failed and counts["passed"] > 0 and (late or process.returncode == 0)
    slowest = sorted(rows, key=lambda row: -row["seconds"])[:SLOWEST]
    tell(
        "matrix", which=which, status=process.returncode, counts=dict(counts), failed=failed,
        said={row["test"]: row["said"] for row in rows if row["outcome"] == "failed"},
        slowest=[(row["test"], row["seconds"]) for row in slowest], good=good,
        seconds=round(time.monotonic() - start, 1),
    )  # fmt: skip
    if late:
        tell("matrix", which=which, left_out=f"what was not done in {SECONDS[which]:.0f} s")
    return good
