"""Correctness and speed of the cuda engine on a GPU: 520 seconds in all.

    python3 -m benchmarks.on_gpu [FOLDER] [PART ...]

The first parts take about a minute: a run, correctness, and speed compared with PyTorch. The
others follow in order of importance until the time is over; another command runs named parts.
Each fact is an object of JSON, printed and appended to on_gpu.jsonl in FOLDER at once (by default
$OUT, where results are fetched from, or build/on_gpu). What libraries print is in on_gpu.txt there.
The last lines printed are the summary: whatever was wrong, left out or measured.

All parts run in one process. One that raises an error, hangs or ends the process is a line with
"wrong", and the next begins in a new process. Only without `card` nothing else is tried.

It runs in the root of the repository, without a network and with nothing installed but numba,
numba-cuda and numpy; on_gpu_machine.py has what else such a machine may lack. PyTorch, JAX, pytest,
compute-sanitizer and ncu are used where they are installed.

    card       card, driver, packages, and whether the engine can run
    barrier    all threads wait for each other, with more than 48 KiB of a block's memory
    right      three steps beside the cpu engine; the same bits whole and by kernels
    speed      a step, whole and by kernels, of networks small and 512 wide; a call; the cpu engine
    pytorch    the same, by PyTorch: eager, and as a CUDA graph
    compile    all kernels that the following parts launch, on all cores
    agreement  gradients beside the cpu engine at real sizes
    bits       the same bits in every run, on every path, with every size of the grid
    matrix     the tests of the simulator, on the card
    growth     a step over sizes of batches and networks
    held       a step while a session plays and somebody takes snapshots
    texture    seconds of training until a picture is learnt to 21 dB
    sanitizer  memory errors, races and barriers of a few small steps, by compute-sanitizer
    elsewhere  the same bits in another process, and of a session that goes back
    rivals     more ways of PyTorch, and JAX
    profile    one launch by Nsight Compute, and each kernel of a step 512 wide

In numba's simulator (NUMBA_ENABLE_CUDASIM=1) all of it runs on tiny networks, the others on the
processor: so the script itself is tested.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.on_gpu_machine import (
    BUILD,
    SIMULATED,
    environment,
    install_carried,
    keep_kernels,
)

RESULTS, BEGAN = "ON_GPU_RESULTS", "ON_GPU_BEGAN"  # environment: a file, and seconds since 1970
SECONDS = 505.0  # of all parts; the rest is for packing
LEAST = 5.0  # seconds in which a part is still begun
# What has one of these is in the summary.
DETAILS = {"at", "s", "from_to", "steps", "first_s", "graphs"}  # and these are not
SHOWN = {"card", "left_out", "us", "ms", "decibels", "lines"}
TOLD, LAST = (
    3,
    30,
)  # status of a process that told all of its part; lines of the log that are printed
# Parts in their order: the file with the function, and the most seconds.
PARTS = {
    "card": ("machine", 60), "barrier": ("first", 30), "right": ("first", 120),
    "speed": ("first", 100), "pytorch": ("first", 60),
    "compile": ("right", 160), "agreement": ("right", 60), "bits": ("right", 60),
    "matrix": ("right", 150), "growth": ("fast", 130), "held": ("fast", 50),
    "texture": ("fast", 50), "sanitizer": ("right", 100), "elsewhere": ("right", 40),
    "rivals": ("fast", 90), "profile": ("fast", 40),
}  # fmt: skip
# What others start.
HIDDEN = {
    "few_steps": ("right", 100),
    "a_digest": ("right", 60),
    "one_step": ("fast", 40),
    "wide_step": ("fast", 40),
}


def tell(part: str, **found: Any) -> None:
    """Print a fact, and append it to the file of results."""
    seconds = round(time.time() - float(os.environ.get(BEGAN, time.time())), 1)
    line = json.dumps({"part": part, "s": seconds, **found}, default=str)
    print(line, flush=True)
    with open(os.environ.get(RESULTS, os.devnull), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def left() -> float:
    """Seconds until the time is over."""
    most = SECONDS * (20 if SIMULATED else 1)
    return most - time.time() + float(os.environ.get(BEGAN, time.time()))


def run_parts(names: Sequence[str]) -> int:
    """Run parts in this process, until the next one needs another."""
    for name in names:
        module, most = {**PARTS, **HIDDEN}[name]
        if name in HIDDEN:
            os.environ[RESULTS] = os.devnull
        limit = left() if SIMULATED else min(left(), most)
        if limit < LEAST:
            tell(name, left_out="no time is left", took=0.0)
            continue
        faulthandler.dump_traceback_later(limit, exit=True)
        start, found = time.monotonic(), dict[str, Any]()
        try:
            getattr(import_module(f"benchmarks.on_gpu_{module}"), name)()
        except BaseException as error:
            at = traceback.format_exc().strip().splitlines()[-12:]
            found = {"wrong": f"{type(error).__name__}: {error}"[:400], "at": at}
        faulthandler.cancel_dump_traceback_later()
        tell(name, took=round(time.monotonic() - start, 1), **found)
        if found or sys.modules.keys() & {
            "torch",
            "jax",
        }:  # which bring CUDA libraries of their own
            return TOLD
    return 0


def process(names: Sequence[str], known: dict[str, str], log: Path) -> int | str:
    """Run parts in a process, and end all that it started; return its status."""
    command = [sys.executable, "-u", "-m", "benchmarks.on_gpu", "parts", *names]
    with log.open("a", encoding="utf-8") as file:
        child = subprocess.Popen(command, env=known, start_new_session=True, stderr=file)
    try:
        return child.wait(max(left(), 0.1))
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        with suppress(ProcessLookupError):  # none is left
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def run_all(names: Sequence[str], known: dict[str, str], log: Path) -> None:
    """Run parts in one process, and in another one those that are left if it ends early."""
    while names:
        before = len(ended())
        status = process(names, known, log)
        if not status:
            return
        if status != TOLD or ended()[-1].get("wrong"):
            print(*log.read_text(errors="replace").splitlines()[-LAST:], sep="\n", flush=True)
        done = len(ended()) - before
        if status != TOLD and done < len(names):
            tell(names[done], wrong=f"its process ended ({status})", took=None)
            done += 1
        names = names[done:]


def ended() -> list[dict[str, Any]]:
    """The last facts of the parts that have ended."""
    return [row for row in rows() if "took" in row]


def rows() -> list[dict[str, Any]]:
    path = Path(os.environ[RESULTS])
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def is_wrong(row: dict[str, Any]) -> bool:
    return row.get("good") is False or bool(row.get("wrong"))


def summary(found: Sequence[dict[str, Any]]) -> list[str]:
    """The facts that matter at first sight: what was not good, left out, or measured."""
    shown = [row for row in found if is_wrong(row) or row.keys() & SHOWN]
    less = [{name: row[name] for name in row if name not in DETAILS} for row in shown]
    return [json.dumps(row)[:500] for row in less]


def main(words: Sequence[str]) -> int:
    """Run the parts; the status is 0 if all were right."""
    if words[:1] == ["parts"]:
        return run_parts(words[1:])
    chosen = [name for name in PARTS if name in words] or list(PARTS)
    folder = next((word for word in words if word not in PARTS), os.environ.get("OUT", BUILD))
    results = Path(folder).resolve() / "on_gpu.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update({RESULTS: str(results), BEGAN: str(time.time())})
    known, before, log = environment(tell), len(rows()), results.with_suffix(".txt")
    run_all(["card"], known, log)
    if ended()[-1].get("wrong") and (wheels := install_carried(known, tell)):
        tell("card", again_with=wheels)
        run_all(["card"], known, log)
    if ended()[-1].get("wrong"):
        tell("card", left_out="all other parts")
    else:
        run_all([name for name in chosen if name != "card"], known, log)
    found = rows()[before:]
    print("\n", *summary(found), sep="\n")
    wrong = sorted({row["part"] for row in found if is_wrong(row)})
    print(f"{results}: {'WRONG: ' + ', '.join(wrong) if wrong else 'all right'}", flush=True)
    keep_kernels(results.parent)  # takes some seconds
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
