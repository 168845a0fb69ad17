"""The kernels of the cuda engine as a GPU would run them: their PTX, interpreted thread by thread.

See the folder `ptx`. Every load and store looks for a race, and for a place outside of all arrays.
"""

import copy
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.data.batches import Shuffled
from tests.engines.agreement import bits_of
from tests.engines.ptx.card import Card, Launch, Memory, Race, unguarded
from tests.engines.ptx.translate import translate
from tests.engines.test_cuda import needs_numba_cuda

pytestmark = needs_numba_cuda

NEAR = 1e-6  # of the largest number, in float32


def dense(*sizes: int) -> sv.Network:
    return sv.Network(list(sizes), "leaky_relu", "sigmoid", seed=1)


def trained(
    net: sv.Network, engine: str, samples: int, loss: Any = "mse", optimizer: Any = None,
    whole: bool = True, steps: int = 2,
) -> tuple[Any, Any]:  # fmt: skip
    """Take steps on an engine; return the run and the losses."""
    random = np.random.default_rng(5)
    rows = samples + samples // 2  # an epoch ends with half a batch
    targets = random.random((rows, net.outputs)) + 0.1
    targets /= targets.sum(axis=1, keepdims=True)
    batches = Shuffled(random.normal(size=(rows, net.inputs)), targets, samples, seed=5)
    run = net.to(engine)._engine.run(batches, sv.Loss.of(loss))
    if engine == "cuda":
        run.whole_steps = whole
    return run, run.steps(optimizer or sv.Adam(0.01), 0, steps).losses


def agrees(card: Card, net: sv.Network, samples: int, **how: Any) -> None:
    """Losses, weights, slots, gradients and statistics are those of the objects."""
    other = net.copy()
    with card.inserted():
        run, losses = trained(net, "cuda", samples, **how)
    _, expected = trained(other, "python", samples, **{k: how[k] for k in how if k != "whole"})
    assert losses == pytest.approx(expected, rel=NEAR)
    found, wanted = net.bank, other.bank
    pairs = [
        (found.value, wanted.value),
        (found.grad, wanted.grad),
        (found.state, wanted.state),
        *((found.slots[name], wanted.slots[name]) for name in run.slots),
    ]
    for a, b in pairs:
        assert abs(a - b).max(initial=0) <= NEAR * abs(b).max(initial=0)


# ---- whole steps --------------------------------------------------------------------------------

# Sizes, samples, blocks, threads and bytes of a block: chunks of several tiles, more blocks than
# chunks and fewer, threads without work and with much.
SHAPES = [
    ((3, 5, 2), 16, 2, 32, 44_000),
    ((3, 5, 2), 31, 2, 32, 1_480),
    ((5, 9, 6, 3), 27, 3, 7, 44_000),
    ((1, 1, 1), 1, 1, 32, 44_000),
]


@pytest.mark.parametrize(("sizes", "samples", "blocks", "threads", "shared"), SHAPES)
def test_whole_steps_give_what_the_objects_give(
    sizes: tuple[int, ...], samples: int, blocks: int, threads: int, shared: int
) -> None:
    card = Card(blocks, threads, shared)
    agrees(card, dense(*sizes), samples, optimizer=sv.Adam(0.01, clip_norm=0.1))
    assert [*card.programs] == ["train"]


# ---- kernel by kernel ---------------------------------------------------------------------------

SHAPE = (1, 4, 5)
LAYERS: dict[str, list[sv.Layer]] = {
    "layer norm": [sv.Dense(3, 5, "tanh"), sv.LayerNorm(5), sv.Dense(5, 2)],
    "convolution": [sv.Conv2d(SHAPE, 2, (2, 3), padding=1), sv.Dense(50, 2, "sigmoid")],
    "groups": [
        sv.Dense(2, 40),
        sv.Conv2d((2, 4, 5), 4, 2, (2, 1), 1, dilation=(2, 3), groups=2),
        sv.Dense(32, 2),
    ],
    "batch norm": [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 2, bias=False)],
}
FORMULAS = [
    ("mse", sv.Adam(0.01)),
    ("huber", sv.Momentum(0.01)),
    ("softmax_cross_entropy", sv.Adam(0.01, clip_norm=0.1)),
]


@pytest.mark.some(1)
@pytest.mark.parametrize(("loss", "optimizer"), FORMULAS, ids=[loss for loss, _ in FORMULAS])
def test_kernels_give_what_the_objects_give(loss: str, optimizer: Optimizer) -> None:
    card = Card(2, 32)
    agrees(card, dense(3, 5, 2), 16, loss=loss, optimizer=optimizer, whole=False)
    assert {"forward_all", "parameter_gradients", "input_gradient_all"} < {*card.programs}


# A convolution reads four samples at a time, 16 apart, also where there are fewer: what it does
# not use may be written meanwhile.
CONVOLVED = 64


@pytest.mark.slow  # some seconds of compiling; in the simulator quick tests have layers
@pytest.mark.parametrize("name", LAYERS)
def test_kernels_of_layers_give_what_the_objects_give(name: str) -> None:
    how = {"optimizer": sv.Momentum(0.01), "whole": False, "steps": 1}
    samples = CONVOLVED if name in ("convolution", "groups") else 11
    agrees(Card(2, 32), sv.Network(copy.deepcopy(LAYERS[name]), seed=2), samples, **how)


@pytest.mark.slow
def test_products_of_several_tiles_give_what_the_objects_give() -> None:
    """Two tiles of 64 in each direction, panels of 16, and more parts than threads."""
    how = {"optimizer": sv.Momentum(0.01), "whole": False, "steps": 1}
    agrees(Card(2, 32), dense(20, 70, 3), 66, **how)


def bits(card: Card, whole: bool = True) -> list[bytes]:
    """Losses, weights and gradients of a network with odd rows, and samples, on a card."""
    net = dense(5, 9, 6, 3)
    with card.inserted():
        _, losses = trained(net, "cuda", 27, whole=whole)
    return [losses.tobytes(), *bits_of(net.bank)]


def test_whole_steps_and_kernels_have_the_same_bits() -> None:
    assert bits(Card(3, 8)) == bits(Card(3, 8), whole=False)


def test_tiles_of_four_rows_and_of_two_have_the_same_bits() -> None:
    """Tiles are 4 rows high, unless there are twice as many threads as tiles, or more."""
    assert bits(Card(3, 2)) == bits(Card(3, 32))


# ---- barriers -----------------------------------------------------------------------------------

# Batches in which each barrier stands between two threads that share something: chunks of several
# tiles, a norm that several threads add up, several blocks; products of several panels, and with
# more parts than a block has threads.
GUARDED: dict[str, tuple[Card, sv.Network, int, dict[str, Any]]] = {
    "whole steps": (
        Card(2, 32, 6_200), dense(9, 16, 8, 3), 31,
        {"optimizer": sv.Adam(0.01, clip_norm=0.1)},
    ),
    "products": (
        Card(2, 8), dense(17, 18, 17), 32,
        {"whole": False, "steps": 1, "optimizer": sv.Adam(0.01, clip_norm=0.1)},
    ),
    "convolution": (
        Card(2, 8), sv.Network(copy.deepcopy(LAYERS["convolution"]), seed=2), CONVOLVED,
        {"whole": False, "steps": 1, "optimizer": sv.Adam(0.01, clip_norm=0.1)},
    ),
}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize("case", GUARDED)
def test_a_race_is_found_wherever_a_barrier_is_left_out(case: str) -> None:
    card, net, samples, how = GUARDED[case]

    def train() -> None:
        with card.inserted():
            trained(net.copy(), "cuda", samples, **how)

    assert unguarded(card, train) == []


# ---- what is found ------------------------------------------------------------------------------

# A kernel whose threads have the address of an array of four numbers.
KERNEL = """
.visible .entry probe(.param .u64 numbers) {{
    .shared .align 16 .b8 room[16];
    ld.param.u64 %rd1, [numbers];
    mov.u32 %r1, room;
    setp.eq.u32 %p1, %tid.x, 0;
    {}
    ret;
}}
"""
FOUND: dict[str, tuple[str, Any, str]] = {
    "a loop without an end": ("$again: bra $again;", RuntimeError, "runs for ever"),
    "a product that may be fused": ("mul.f32 %f1, %f2, %f3;", NotImplementedError, "mul.f32"),
    "a constant that is written": (
        "@%p1 st.global.u32 [%rd1], 1; bar.sync 0; ld.global.nc.u32 %r2, [%rd1];", Race, "constant"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "error", "words"), FOUND.values(), ids=FOUND)
def test_what_no_gpu_may_run_is_found(body: str, error: Any, words: str) -> None:
    memory = Memory()
    address = memory.add(np.zeros(4, np.uint32), "probed")
    with pytest.raises(error) as told:
        Launch(translate(KERNEL.format(body)), memory, blocks=1, threads=2).run(address)
    assert words in str(told.value)
