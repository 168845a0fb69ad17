"""Run by `test_cuda_calls.py` with stub_driver.c for a driver: all ways to call it.

    python on_stub_driver.py WAY ...

It prints an object of JSON: what each way gave. Nothing is computed, so that numbers mean nothing.
"""

import json
import sys
import warnings
from typing import Any

import numpy as np

if not hasattr(np, "row_stack"):  # numpy 2.5, which numba-cuda 0.30.4 does not know
    np.row_stack = np.vstack  # type: ignore[attr-defined]  # numpy 2.5 has none

import scalarviz as sv
from scalarviz.data.batches import InOrder

SIZES = [12, 64, 64, 64, 64, 3]
BATCH = 1024


def run_of(net: Any, batch: int = BATCH) -> Any:
    net.to("cuda")
    rng = np.random.default_rng(0)
    batches = InOrder(rng.random((batch, net.inputs)), rng.random((batch, net.outputs)))
    return net._engine.run(batches, sv.Loss("mse"))


def network() -> Any:
    return sv.Network(SIZES, "leaky_relu", "sigmoid", seed=1)


def trained(run: Any) -> dict[str, Any]:
    """Two calls of steps, of which the second uses what the first has prepared."""
    taken = len(run.steps(sv.Adam(1e-3), 0, 3).losses) + len(run.steps(sv.Adam(1e-3), 3, 2).losses)
    work = run._work
    return {"taken": taken, "blocks": work._together, "refused": work.steps.refused}


def lack() -> str:
    from scalarviz.engines.cuda.missing import missing_for_cuda

    return missing_for_cuda()


def whole() -> dict[str, Any]:
    return trained(run_of(network()))


def sizes() -> list[int]:
    """Networks of one formula and of several sizes, which train in turn by one kernel."""
    nets = [sv.Network([12, *inner, 3], "leaky_relu", "sigmoid") for inner in ([64] * 4, [80] * 2)]
    runs = [run_of(net) for net in nets]
    return [len(run.steps(sv.Adam(1e-3), 0, 2).losses) for run in (*runs, runs[0])]


def kernels() -> dict[str, Any]:
    run = run_of(network())
    run.whole_steps = False
    return trained(run)


def moments() -> int:
    run = run_of(network())
    for step in range(2):
        run.begin(step)
        for moment in run.engine.program.moments:
            run.perform(moment, sv.Adam(1e-3))
    return int(run.engine.bank.step_count)


def room() -> str:
    """A GPU without room for a training: what is said of it."""
    try:
        run_of(network())
    except sv.errors.EngineError as error:
        return str(error)
    return ""


def verbs() -> list[int]:
    net = network().to("cuda")
    found = net(np.zeros((5000, 12)))
    net.forward(np.zeros((10, 12)))
    net.backward(np.ones((10, 3)))
    return list(found.shape)


def session() -> int:
    data = sv.data.Arrays(np.zeros((9, 3)), np.ones((9, 3)))
    s = sv.Session(sv.Network([3, 4, 3]), data, optimizer=sv.Adam(0.1), engine="cuda")
    s.advance(3)
    s.snapshot()
    s.advance(1, "operation")
    s.back(1)
    sv.replicate(s, seeds=range(2)).advance(2, progress=False)
    return s.step_index


WAYS = {
    each.__name__: each
    for each in (
        lack,
        whole,
        sizes,
        kernels,
        moments,
        room,
        verbs,
        session,
    )
}

if __name__ == "__main__":
    # No call of ours is one that NVIDIA's or numba's packages warn of.
    warnings.filterwarnings("error", module=r"scalarviz\b")
    print(json.dumps({way: WAYS[way]() for way in sys.argv[1:]}))
