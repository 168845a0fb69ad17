"""The fused kernel of the cuda engine without a GPU: its bits, its races, how it is launched.

Its PTX is interpreted thread by thread, see the folder `ptx`, and its bits are compared with those
of the kernel of whole steps, `train`. So a sum in another order is seen.
"""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.program import NONE
from scalarviz.data.batches import (
    Batches,
    InOrder,
    Picked,
    PictureTransform,
    Points,
    Shuffled,
)
from scalarviz.engines.cuda import fused_steps
from scalarviz.engines.cuda.fused_steps import FusedChoice, fused_functions
from scalarviz.engines.engine import RunOutcome
from tests.engines.agreement import MAKERS, bits_of
from tests.engines.machine_code import IN_USE, all_formulas, fake_device, unit
from tests.engines.ptx.card import SHARED, Card, Fused, unguarded
from tests.engines.test_cuda import needs_numba_cuda
from tests.engines.test_cuda_interpreted import dense

pytestmark = needs_numba_cuda

THREADS, LANES = 8, 2  # of a block, and of a warp

Result = tuple[list[RunOutcome], list[bytes]]


def table(inputs: int, outputs: int, samples: int) -> tuple[Any, Any]:
    """Inputs, and targets that suit every loss."""
    random = np.random.default_rng(5)
    targets = random.random((samples, outputs)) + 0.1
    return random.normal(size=(samples, inputs)), targets / targets.sum(axis=1, keepdims=True)


def shuffled(sizes: tuple[int, ...], samples: int) -> Batches:
    """Batches of which the second has two samples, so that there are chunks without any."""
    return Shuffled(*table(sizes[0], sizes[-1], samples + 2), samples, seed=5)


def trained(
    card: Card, net: sv.Network, batches: Batches, optimizer: Optimizer, loss: Any = "mse",
    calls: tuple[int, ...] = (2, 1),
) -> Result:  # fmt: skip
    """Take steps on a card; return what the engine says, and the bits of the bank."""
    net, first, outcomes = net.copy(), 0, []
    with card.inserted():
        run = net.to("cuda")._engine.run(batches, sv.Loss.of(loss))
        for steps in calls:
            outcomes.append(run.steps(optimizer, first, steps))
            first += steps
    return outcomes, [bytes([net.bank.step_count]), *bits_of(net.bank)]


def bits(result: Result) -> list[Any]:
    outcomes, arrays = result
    words = [(each.losses.tobytes(), each.bad, repr(each.overflow)) for each in outcomes]
    return [*words, *arrays]


def both(blocks: int, shared: int, *how: Any, **more: Any) -> list[RunOutcome]:
    """Take steps by the fused kernel, which has the bits of the other one; return the outcomes."""
    fused = Card(blocks, THREADS, shared, LANES)
    found = trained(fused, *how, **more)
    assert bits(found) == bits(trained(Card(3, 32), *how, **more))
    assert [*fused.programs] == ["fused_steps"]
    return found[0]


# ---- bits ---------------------------------------------------------------------------------------

# Sizes, samples, blocks, bytes of a block, largest norm: blocks without a chunk, chunks of several
# tiles, and sums of several pieces. A thread has eight rows in all of them: one kernel is compiled.
SHAPES: list[Any] = [
    ((9, 16, 8, 3), 31, 6, SHARED, np.inf),
    ((9, 16, 8, 3), 31, 6, SHARED, 0.01),
    ((3, 5, 2), 80, 2, 3_168, 0.01),
    ((1, 1, 1), 1, 1, SHARED, 0.01),
    pytest.param(((1, 1), 1, 1, SHARED, 0.01), marks=pytest.mark.slow),
]


@pytest.mark.some("((3, 5, 2), 80, 2, 3168, 0.01)")
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_the_fused_kernel_has_the_bits_of_the_other_ones(case: Any) -> None:
    sizes, samples, blocks, shared, norm = case
    both(blocks, shared, dense(*sizes), shuffled(sizes, samples), sv.Adam(0.01, clip_norm=norm))


def small() -> sv.Network:
    return dense(3, 9, 7, 2)


def partly_frozen() -> sv.Network:
    net = small()
    for row in (0, 3, 34, 121):
        net.parameters()[row].freeze()
    return net


def test_frozen_weights_and_rates_of_single_weights() -> None:
    rates = NO_OWN_RATES.changed([0, 1, 5, 17], 0.02).changed([6], 0.0)
    optimizer = sv.Adam(0.01, l1=0.1, l2=0.2, clip_value=1e-4, clip_norm=1e-3).with_own_rates(rates)
    both(2, SHARED, partly_frozen(), shuffled((3, 2), 9), optimizer)


# ---- formulas -----------------------------------------------------------------------------------


def layers_of_all_kinds() -> sv.Network:
    """With and without biases and activations, of odd and of even widths."""
    layers = [
        sv.Dense(5, 9, "leaky_relu", bias=False), sv.Dense(9, 6), sv.Dense(6, 3, "sin", bias=False),
    ]  # fmt: skip
    return sv.Network(layers, seed=2)


@pytest.mark.slow
def test_layers_without_biases_or_activations() -> None:
    both(3, SHARED, layers_of_all_kinds(), shuffled((5, 3), 24), sv.SGD(0.01, clip_norm=0.01))


PICTURE = PictureTransform(1.7, -0.4, 0.3, 0.9, -0.31, 0.17)
DRAWS: list[Batches] = [
    InOrder(*table(2, 3, 26), 6),
    Shuffled(*table(2, 3, 26), 24, seed=2**63 + 11),
    Picked(*table(2, 3, 26), 6, seed=2**64 - 1),
    Points(table(5, 3, 4)[0].reshape(4, 5, 1).repeat(3, axis=2), 17, 40, 4, PICTURE),
]
MEANS = "samples", "none", "all"
RATES = [
    sv.Schedule("constant"), sv.Schedule("step", every=2), sv.Schedule("cosine", steps=5),
    sv.Schedule("warmup", warmup=3), sv.Schedule("one_cycle", warmup=2, steps=5),
    sv.Schedule("warmup_cosine", steps=5, warmup=2), sv.Schedule("linear", steps=4),
]  # fmt: skip
MOST = max(map(len, (ACTIVATIONS, LOSSES | ROW_LOSSES, OPTIMIZERS, SCHEDULES, DRAWS)))


def row(names: Any, i: int) -> Any:
    return [*names][i % len(names)]


def test_all_optimizers_and_schedules_are_among_the_mixtures() -> None:
    assert {*MAKERS} == {*OPTIMIZERS}
    assert {each.name for each in RATES} == {*SCHEDULES}


@pytest.mark.slow
@pytest.mark.parametrize("i", range(MOST))
def test_every_formula_has_the_bits_that_it_has_among_all_formulas(i: int) -> None:
    names = row(ACTIVATIONS, i), row(ACTIVATIONS, i + 5)
    optimizer = row(MAKERS.values(), i)(0.01, clip_norm=0.01, schedule=row(RATES, i))
    loss = sv.Loss(row(LOSSES | ROW_LOSSES, i), mean=row(MEANS, i), factor=0.3)
    how = sv.Network([2, 4, 3], *names, seed=3), row(DRAWS, i), optimizer, loss
    fused = Card(2, THREADS, SHARED, LANES)
    found = trained(fused, *how)
    with all_formulas():
        assert bits(found) == bits(trained(Card(3, 32), *how))
    assert [*fused.programs] == ["fused_steps"]


# ---- steps that are not taken -------------------------------------------------------------------


def with_input(size: float) -> Batches:
    """Batches of 9 samples; a number of the third one is very large."""
    inputs, targets = table(3, 2, 45)
    batches = Shuffled(inputs, targets, 9, seed=5)
    inputs[(inputs == batches.at(2)[0][5]).all(axis=1), 1] = size
    return batches


# The last bias moves by nearly the largest float32, and then once more.
FAR = sv.Adam(0.01, clip_norm=0.5).with_own_rates(NO_OWN_RATES.changed([121], 2e38))


@pytest.mark.parametrize(
    ("size", "optimizer", "taken", "is_bad"),
    [
        (1e39, sv.Adam(0.01), 2, True),
        (1e39, sv.Adam(0.01, clip_norm=0.5), 2, True),
        (1e39, sv.Adam(0.01, clip_norm=0.5, not_finite="zero"), 5, False),
        (1.0, FAR, 2, False),
    ],
    ids=["plain", "norm", "counts as zero", "overflow"],
)
def test_of_five_steps_a_bad_one_is_not_taken(
    size: float, optimizer: sv.Optimizer, taken: int, is_bad: bool
) -> None:
    (outcome,) = both(2, SHARED, small(), with_input(size), optimizer, calls=(5,))
    assert (len(outcome.losses), outcome.bad != NONE) == (taken, is_bad)
    assert (outcome.overflow is not None) == (optimizer is FAR)


# ---- barriers -----------------------------------------------------------------------------------

# A block without a chunk; then sums of several pieces, and chunks without samples.
GUARDED: list[tuple[Batches, float]] = [
    (shuffled((3, 2), 15), np.inf),
    (shuffled((3, 2), 48), 0.1),
]


@pytest.mark.slow
def test_a_race_is_found_wherever_a_barrier_is_left_out() -> None:
    """Or a thread that uses a number before it is there runs for ever, or out of all arrays."""
    card = Card(2, THREADS, 3_500, LANES)

    def train() -> None:
        for batches, norm in GUARDED:
            trained(card, small(), batches, sv.Adam(0.01, clip_norm=norm))

    # Two are not needed: after a chunk without samples, whose threads meet again before they go on,
    # and where the blocks have met for the norm, which only the thread reads that has waited.
    assert [name for name, _ in unguarded(card, train)] == ["fused_steps"] * 2


# ---- what is left to the other kernels ----------------------------------------------------------

SHARED_LAYER = sv.Dense(3, 3)
LEFT: dict[str, tuple[sv.Network, int, int]] = {
    "another layer": (sv.Network([sv.Dense(3, 4), sv.LayerNorm(4)]), 1, SHARED),
    "shared weights": (sv.Network([SHARED_LAYER, SHARED_LAYER]), 1, SHARED),
    "too many layers": (dense(*[3] * 18), 1, SHARED),
    "too large for a block": (dense(3, 90, 60, 2), 132, 20_000),
    "too many rows of a thread": (dense(3, 50, 50, 2), 1, SHARED),
}


@pytest.mark.parametrize(("other", "blocks", "shared"), LEFT.values(), ids=LEFT)
def test_other_networks_are_left_to_the_other_kernels(
    other: sv.Network, blocks: int, shared: int
) -> None:
    for net, is_left in ((dense(3, 5, 2), False), (other, True)):
        found = fused_steps.table_of(net.program, 1, 4, shared, blocks, clipped=False)
        assert (found is None) == is_left


def test_another_type_is_left_to_the_other_kernels() -> None:
    calls: Any = SimpleNamespace(bank=SimpleNamespace(dtype="float64"))
    assert not fused_steps.FusedSteps().take(calls, 1)


def steps_on(card: Card, change: Callable[[pytest.MonkeyPatch], None]) -> fused_steps.FusedSteps:
    """Take two steps on a card that is changed, which the other kernels take."""
    net = small()
    with card.inserted(), pytest.MonkeyPatch.context() as patch:
        change(patch)
        run = net.to("cuda")._engine.run(shuffled((3, 2), 4), sv.Loss.of("mse"))
        for step in range(2):
            assert len(run.steps(sv.Adam(0.01, clip_norm=0.1), step, 1).losses) == 1
    assert [*card.programs] == ["train"]
    return run._work.fused


def switch_off(patch: pytest.MonkeyPatch) -> None:
    plain = fused_steps.FusedSteps.__init__

    def make(steps: fused_steps.FusedSteps) -> None:
        plain(steps)
        steps.on = False

    patch.setattr(fused_steps.FusedSteps, "__init__", make)


@pytest.mark.parametrize(
    "change",
    [switch_off, lambda patch: patch.setattr(fused_steps, "find_card", lambda: None)],
    ids=["switched off", "no GPU"],
)
def test_without_it_the_other_kernels_run(change: Callable[[pytest.MonkeyPatch], None]) -> None:
    fused = steps_on(Card(2, THREADS, SHARED, LANES), change)
    assert fused.wrong == "" and fused.launches == 0


@pytest.mark.parametrize("method", ["kernel", "launch"])
def test_what_fails_leaves_the_steps_to_the_other_kernels(method: str) -> None:
    """Where NVRTC, nvJitLink or cuda.core is missing, or a launch is refused: it is tried once."""
    card, tried = Card(2, THREADS, SHARED, LANES), []

    def fail(*arguments: Any) -> None:
        tried.append(arguments)
        raise RuntimeError("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")

    fused = steps_on(card, lambda patch: patch.setattr(Fused, method, fail))
    assert len(tried) == 1 and "TOO_LARGE" in fused.wrong and fused.launches == 0


# ---- what a GPU is given ------------------------------------------------------------------------


def choice_of(*activations: str, own: int = 1) -> FusedChoice:
    rows = {each for each in IN_USE if each[0] != "ACTIVATIONS"} | {
        ("ACTIVATIONS", name) for name in activations
    }
    return FusedChoice(unit(fused_functions, rows), 2, own)


def test_machine_code_is_compiled_once_and_kept(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def link(functions: list[bytes], source: str, capability: tuple[int, int]) -> tuple[bytes, str]:
        made.append((capability, "fused_steps" in source, functions))
        return b"machine code", ""

    monkeypatch.setattr(fused_steps, "ltoir_of", lambda choice, capability: [b"formulas"])
    monkeypatch.setattr(fused_steps, "link", link)
    choice = choice_of("tanh")
    assert fused_steps.machine_code(choice, (9, 0)) == b"machine code"
    assert fused_steps.machine_code(choice, (9, 0)) == b"machine code"
    assert made == [((9, 0), True, [b"formulas"])]
    fused_steps.machine_code(choice_of("tanh", own=2), (9, 0))
    fused_steps.machine_code(choice_of("relu"), (9, 0))
    fused_steps.machine_code(choice, (8, 0))
    assert len(made) == 4
    assert len([*empty_cache.glob("cuda_fused_*.cubin")]) == 4


def test_a_launch_is_configured_for_any_version_of_cuda_core() -> None:
    for version in (
        lambda *, grid, cooperative_launch: (grid, cooperative_launch),
        lambda *, grid, is_cooperative: (grid, is_cooperative),
    ):
        core = SimpleNamespace(LaunchConfig=version)
        assert fused_steps.launch_config(core, {"grid": 3}) == (3, True)


def test_a_gpu_gets_all_blocks_at_once_and_the_memory_that_they_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The calls of the driver and of cuda.core; there is no GPU here that would take them."""
    device = SimpleNamespace(
        compute_capability=(9, 0), MULTIPROCESSOR_COUNT=132, id=7, COOPERATIVE_LAUNCH=1,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN=232_448,
    )  # fmt: skip
    asked: list[Any] = []
    kernel = SimpleNamespace(handle="handle")
    code = SimpleNamespace(get_kernel=lambda name: asked.append(name) or kernel)
    core = SimpleNamespace(
        ObjectCode=SimpleNamespace(from_cubin=lambda found: asked.append(found) or code),
        LaunchConfig=lambda **sizes: sizes,
        launch=lambda *arguments: asked.append(arguments),
        Stream=SimpleNamespace(from_handle=lambda number: f"stream {number}"),
    )
    attributes = SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="most shared")
    driver = SimpleNamespace(
        binding=SimpleNamespace(CUfunction_attribute=attributes),
        driver=SimpleNamespace(cuKernelSetAttribute=lambda *words: asked.append(words)),
    )
    monkeypatch.setattr(fused_steps.cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(fused_steps, "machine_code", lambda choice, capability: b"code")
    monkeypatch.setattr(fused_steps, "import_module", lambda name: {"cuda.core": core}[name])
    monkeypatch.setattr("scalarviz.engines.cuda.card.nvidia", lambda: driver)
    card = fused_steps.find_card()
    assert card is not None and (card.blocks, card.shared) == (132, 232_448)
    table = fused_steps.ShapeTable(np.zeros(3, np.int32), 1, 132, 100_000)
    prepared = card.kernel(choice_of("tanh"), table)
    assert asked == [b"code", "fused_steps", ("most shared", 100_000, "handle", 7)]
    array = SimpleNamespace(device_ctypes_pointer=SimpleNamespace(value=4096))
    card.launch(prepared, table, SimpleNamespace(__cuda_stream__=lambda: (0, 3)), [array, array], 5)
    sizes = {"grid": 132, "block": 256, "shmem_size": 100_000, "is_cooperative": True}
    assert asked[-1] == ("stream 3", sizes, kernel, 4096, 4096, 5)
    device.COOPERATIVE_LAUNCH = 0
    assert fused_steps.find_card() is None
    device.COOPERATIVE_LAUNCH, device.compute_capability = 1, (7, 5)
    assert fused_steps.find_card() is None


@pytest.mark.parametrize(
    ("width", "shared", "fits"),
    [(64, 101_376, True), (64, 166_912, True), (180, 232_448, True), (260, 232_448, False)],
)
def test_networks_fit_by_their_weights(width: int, shared: int, fits: bool) -> None:
    """12-64x4-3 fits into a block of every GPU; one of width 260 into none."""
    net = sv.Network([12, width, width, 3], "tanh", dtype="float32")
    table = fused_steps.table_of(net.program, 128, 8, shared, 132, clipped=False)
    assert (table is not None) == fits
    assert table is None or table.shared <= shared


# ---- machine code -------------------------------------------------------------------------------

CASES = [
    (choice_of("leaky_relu", "sigmoid"), (8, 0), 170),
    (choice_of("leaky_relu", "sigmoid"), (9, 0), 170),
    (choice_of(*ACTIVATIONS, own=8), (9, 0), 230),
]


@pytest.mark.slow
@pytest.mark.parametrize(("choice", "capability", "most"), CASES)
def test_the_fused_kernel_has_registers_enough(
    choice: FusedChoice, capability: tuple[int, int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_device(monkeypatch, capability)
    functions = fused_steps.ltoir_of(choice, capability)
    source = fused_steps.constants_of(choice) + fused_steps.source_of()
    _, log = fused_steps.link(functions, source, capability)
    registers, spilled = [
        max(map(int, re.findall(each, log)))
        for each in (r"Used (\d+) registers", r"(\d+) bytes spill stores")
    ]
    assert registers <= most and spilled == 0
