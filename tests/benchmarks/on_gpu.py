"""The cuda engine on a real GPU: does it agree, and how fast is it beside PyTorch?

    python -m tests.benchmarks.on_gpu [rounds]

First the agreement with the python engine, and of every path with every other, bit for bit. Then
whole training steps of 12-64x4-3 with Adam and batch 1024, on the same card: the cuda engine in
full and in mixed precision, PyTorch eager, and PyTorch under a CUDA graph, taking turns. PyTorch is
left out where it is not installed. Memory errors and races are looked for by

    compute-sanitizer --tool memcheck python -m tests.benchmarks.on_gpu 0
    compute-sanitizer --tool racecheck python -m tests.benchmarks.on_gpu 0
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.data.batches import Batches, InOrder, Points, Shuffled
from scalarviz.engines.cuda.missing import missing_for_cuda
from scalarviz.model.precision import Precision

SIZES = [12, 64, 64, 64, 64, 3]
BATCH = 1024
STEPS = 500  # in one call
WARM_UP = 20

Step = Callable[[], object]


# ---- agreement ----------------------------------------------------------------------------------


def networks(dtype: str) -> list[sv.Network]:
    """Every kind of layer, and every activation that matters to a compiler."""
    shared = sv.Dense(9, 9, "swish")
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 9, "leaky_relu"),
        sv.LayerNorm(9),
        shared,
        sv.RMSNorm(9),
        shared,
        sv.Dense(9, 3, "gelu", bias=False),
    ]
    kinds = sv.Network(layers, dtype=dtype, seed=3)
    return [kinds, sv.Network([2, 33, 17, 3], "tanh", "sigmoid", dtype=dtype, seed=1)]


def difference(a: Any, b: Any) -> float:
    """The largest difference over the largest value."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(abs(x - y).max() / abs(x).max())


def draws() -> list[Batches]:
    """Batches from tables and from a picture, of sizes that divide by nothing."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(1000, 2)), rng.random((1000, 3))
    return [Shuffled(*tables, 301, seed=2**63 + 5), Points(rng.random((50, 40, 3)), 301, 1000, 7)]


def trained(net: sv.Network, batches: Batches, whole: bool | None, mixed: bool) -> tuple[Any, Any]:
    """The bank and the losses after a few steps; moment by moment if `whole` is None."""
    from scalarviz.engines.cuda.engine import CudaEngine

    copy, optimizer = net.copy(), sv.Adam(0.01, clip_norm=1.0)
    precision = Precision("mixed" if mixed else "full")
    copy.bank.start_scaling(precision)
    engine = CudaEngine(copy.layers, copy.program, copy.bank, precision)
    run = engine.run(batches, sv.Loss("mse"))
    if whole is not None:
        run.whole = whole
        return copy.bank, run.steps(optimizer, 0, 10).losses
    losses = []
    for step in range(10):
        run.begin(step)
        for moment in copy.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    return copy.bank, np.array(losses)


def reference(net: sv.Network, batches: Batches) -> tuple[Any, Any]:
    """The same steps by the objects."""
    copy, loss, optimizer = net.copy(), sv.Loss("mse"), sv.Adam(0.01, clip_norm=1.0)
    losses = []
    for step in range(10):
        inputs, targets = batches.at(step)
        copy.zero_grad()
        losses.append(loss.forward(copy.forward(inputs), targets))
        copy.backward(loss.backward())
        copy.step(optimizer)
    return copy.bank, np.array(losses)


def agreement() -> bool:
    """Print how far the engines are apart; whether that is near enough."""
    good = True
    for dtype, near in (("float32", 1e-3), ("float64", 1e-9)):
        for net in networks(dtype):
            for batches in draws():
                bank, losses = reference(net, batches)
                first, found = trained(net, batches, True, False)
                apart = difference(bank.value, first.value), difference(losses, found)
                paths = [trained(net, batches, whole, False) for whole in (True, False, None)]
                same = [
                    bool((each.value == first.value).all() and (values == found).all())
                    for each, values in paths
                ]
                good = good and all(same) and max(apart) < near
                print(
                    f"    {dtype} {type(batches).__name__:9} weights {apart[0]:.1e}, "
                    f"losses {apart[1]:.1e} after 10 steps; same bits again, by single kernels, "
                    f"moment by moment: {same}"
                )
    return good


# ---- speed --------------------------------------------------------------------------------------


def samples() -> tuple[Any, Any]:
    """One batch of random numbers."""
    rng = np.random.default_rng(0)
    return rng.random((BATCH, SIZES[0])), rng.random((BATCH, SIZES[-1]))


def cuda_steps(mixed: bool) -> Step:
    """STEPS steps of the cuda engine in one call."""
    from scalarviz.engines.cuda.engine import CudaEngine

    net = sv.Network(SIZES, "leaky_relu", "sigmoid")
    precision = Precision("mixed" if mixed else "full")
    net.bank.start_scaling(precision)
    engine = CudaEngine(net.layers, net.program, net.bank, precision)
    run, optimizer = engine.run(InOrder(*samples()), sv.Loss("mse")), sv.Adam(1e-3)
    return lambda: run.steps(optimizer, 0, STEPS)


def torch_model() -> tuple[Any, Any, Any, Any]:
    """The network of PyTorch, its optimizer and the batch, on the card."""
    import torch

    layers: list[Any] = []
    for i, (a, b) in enumerate(pairwise(SIZES)):
        last = i == len(SIZES) - 2
        layers += [torch.nn.Linear(a, b), torch.nn.Sigmoid() if last else torch.nn.LeakyReLU()]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
    inputs, targets = [torch.tensor(x, dtype=torch.float32, device="cuda") for x in samples()]
    return model, optimizer, inputs, targets


def torch_step() -> Step:
    """One step of PyTorch, as its tutorials write it."""
    import torch

    model, optimizer, inputs, targets = torch_model()
    criterion = torch.nn.MSELoss()

    def step() -> None:
        optimizer.zero_grad()
        criterion(model(inputs), targets).backward()
        optimizer.step()

    return step


def eager_steps() -> Step:
    """STEPS steps of PyTorch eager."""
    import torch

    step = torch_step()

    def steps() -> None:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()

    return steps


def graph_steps() -> Step:
    """STEPS steps of PyTorch, recorded once as a CUDA graph."""
    import torch

    step, graph = torch_step(), torch.cuda.CUDAGraph()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()

    def steps() -> None:
        for _ in range(STEPS):
            graph.replay()
        torch.cuda.synchronize()

    return steps


def seconds(steps: Step) -> float:
    """Seconds a step."""
    start = time.perf_counter()
    steps()
    return (time.perf_counter() - start) / STEPS


def speed(rounds: int) -> None:
    """Print the medians, and how many times faster the cuda engine is."""
    sides = {"cuda": cuda_steps(False), "cuda, mixed": cuda_steps(True)}
    if importlib.util.find_spec("torch"):
        sides |= {"PyTorch eager": eager_steps(), "PyTorch CUDA graph": graph_steps()}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for steps in sides.values():
        steps()
    for _ in range(rounds):
        for name, steps in sides.items():
            times[name].append(seconds(steps))
    ours = statistics.median(times["cuda"])
    for name, found in times.items():
        middle = statistics.median(found)
        spread = f"({1e6 * min(found):.1f} to {1e6 * max(found):.1f})"
        print(
            f"    {name:20} {1e6 * middle:8.1f} us a step {spread}, {middle / ours:.2f} of cuda's"
        )


def card() -> str:
    """What these numbers were measured on."""
    from scalarviz.engines.cuda.api import cuda

    device = cuda.get_current_device()
    name = device.name.decode() if isinstance(device.name, bytes) else device.name
    return f"{name}, compute capability {'.'.join(map(str, device.compute_capability))}"


def main(arguments: Sequence[str]) -> int:
    lack = missing_for_cuda()
    if lack:
        print(f"The cuda engine cannot run here: {lack}.")
        return 1
    rounds = int(arguments[0]) if arguments else 9
    print(f"{card()}\nAgreement with the python engine:")
    good = agreement()
    print("    near enough" if good else "    NOT near enough")
    if rounds:
        print(f"12-64x4-3, Adam, batch {BATCH}, {STEPS} steps a call; medians of {rounds} rounds:")
        speed(rounds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
