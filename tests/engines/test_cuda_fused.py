"""The fused kernel of the cuda engine without a GPU: its bits, its races, its machine code."""

import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda import places, tables
from scalarviz.engines.cuda.fused import compiling, launch, shape
from scalarviz.engines.cuda.fused.compiling import NAME, Choice
from scalarviz.engines.cuda.fused.formulas import fused_functions
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS
from tests.conftest import FakeDevice
from tests.engines.fused_library import compiled, needs_a_compiler, source_of
from tests.engines.machine_code import MachineCode, needs_a_linker, unit
from tests.engines.test_cuda import needs_numba_cuda, simulate

pytestmark = needs_numba_cuda


FILE = "tests/engines/simulated_fused.py"


@pytest.mark.slow
def test_the_fused_kernel_has_the_bits_of_the_other_ones_for_every_formula() -> None:
    """In `make test`, `test_cuda_interpreted.py` compares some of them."""
    needs_a_compiler()
    simulate(FILE, "-m", "")


# ---- races --------------------------------------------------------------------------------------

SANITIZERS = ["thread", "address,undefined"]
THREADS, LANES = 6, 2  # of a block, and of a warp
# Blocks, bytes of a block, and whether the norm is limited.
RACES = [(3, 20_000, False), (2, 6_300, True), (1, 3_450, False)]


def write_case(folder: Path, blocks: int, shared: int, clipped: bool) -> tuple[Choice, shape.Table]:
    """Write what `fused_alone.cpp` reads; return the constants and the table."""
    net = sv.Network([5, 9, 6, 3], "tanh", "sigmoid", dtype="float32", seed=1)
    optimizer = sv.Adam(0.01, clip_norm=0.5 if clipped else np.inf)
    random = np.random.default_rng(1)
    batches = InOrder(random.normal(size=(26, 5)), random.normal(size=(26, 3)))
    layout = tables.make_layout(net.program, net.bank, 26, 47_000)
    plan, scalars = layout.plan, np.zeros(layout.scalars)
    tables.set_loss(plan, scalars, sv.Loss("mse"), 3)
    tables.set_batches(plan, scalars, batches)
    tables.set_optimizer(plan, scalars, optimizer)
    tables.set_start(plan, scalars, net.bank, 0)
    arena = np.zeros(layout.arena, np.float32)
    arena[: len(net.bank)] = net.bank.value
    arena[plan[places.FROZEN] + 7] = 1.0
    chunks = int(plan[places.CHUNKS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shape, "THREADS", THREADS)
        patch.setattr(shape, "MOST_OWN", 128)
        table = shape.table_of(net.program, chunks, -(-26 // chunks), shared, blocks, clipped)
    assert table is not None
    data = np.concatenate([batches.inputs.ravel(), batches.targets.ravel()]).astype(np.float32)
    for name, numbers in {
        "plan": plan, "arena": arena, "scalars": scalars, "data": data, "table": table.numbers
    }.items():  # fmt: skip
        numbers.tofile(folder / name)
    return Choice(unit(fused_functions), 2, table.own), table


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", SANITIZERS)
@pytest.mark.parametrize(("blocks", "shared", "clipped"), RACES)
def test_no_thread_of_the_fused_kernel_reads_what_another_one_writes(
    sanitizer: str, blocks: int, shared: int, clipped: bool, tmp_path: Path
) -> None:
    """Between two barriers; nor does one read or write past the memory that it has."""
    needs_a_compiler()
    choice, table = write_case(tmp_path, blocks, shared, clipped)
    source = source_of(choice, THREADS, LANES, "fused_alone.cpp")
    program = compiled(source, "-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all")
    done = subprocess.run(
        [program, tmp_path, str(blocks), str(table.shared)],
        capture_output=True, text=True,
    )  # fmt: skip
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("this kernel spreads addresses further than ThreadSanitizer can follow")
    assert done.returncode == 0, done.stderr[-6000:]
    assert done.stdout.startswith("3 steps") and "nan" not in done.stdout


# ---- what a GPU is given ------------------------------------------------------------------------


def test_machine_code_is_compiled_once_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def link(functions: list[bytes], source: str, capability: tuple[int, int]) -> tuple[bytes, str]:
        made.append((capability, "fused_steps" in source, functions))
        return b"machine code", ""

    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "ltoir_of", lambda choice, capability: [b"formulas"])
    monkeypatch.setattr(compiling, "link", link)
    choice = choice_of(["tanh"], "mse", "sgd")
    assert compiling.machine_code(choice, (9, 0)) == b"machine code"
    assert compiling.machine_code(choice, (9, 0)) == b"machine code"
    assert made == [((9, 0), True, [b"formulas"])]
    compiling.machine_code(choice_of(["tanh"], "mse", "sgd", own=2), (9, 0))
    compiling.machine_code(choice_of(["relu"], "mse", "sgd"), (9, 0))
    compiling.machine_code(choice, (8, 0))
    assert len(made) == 4
    assert len([*tmp_path.glob("cuda_fused_*.cubin")]) == 4


def test_a_launch_is_configured_for_any_version_of_cuda_core() -> None:
    def before(*, grid: int, cooperative_launch: bool) -> tuple[int, bool]:
        return grid, cooperative_launch

    def now(*, grid: int, is_cooperative: bool) -> tuple[int, bool]:
        return grid, is_cooperative

    for version in (before, now):
        core = SimpleNamespace(LaunchConfig=version)
        assert launch.launch_config(core, {"grid": 3}) == (3, True)


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
    monkeypatch.setattr(launch.cuda, "get_current_device", lambda: device)
    monkeypatch.setattr(launch, "machine_code", lambda choice, capability: b"code")
    monkeypatch.setattr(launch, "import_module", lambda name: {"cuda.core": core}[name])
    monkeypatch.setattr(launch, "nvidia", lambda: driver)
    card = launch.find_card()
    assert card is not None and (card.blocks, card.shared) == (132, 232_448)
    table = shape.Table(np.zeros(3, np.int32), 1, 132, 100_000)
    prepared = card.kernel(choice_of(["tanh"], "mse", "sgd"), table)
    assert asked == [b"code", "fused_steps", ("most shared", 100_000, "handle", 7)]
    array = SimpleNamespace(device_ctypes_pointer=SimpleNamespace(value=4096))
    stream = SimpleNamespace(__cuda_stream__=lambda: (0, 3))
    card.launch(prepared, table, stream, [array, array], 5)
    sizes = {"grid": 132, "block": 256, "shmem_size": 100_000, "is_cooperative": True}
    assert asked[-1] == ("stream 3", sizes, kernel, 4096, 4096, 5)
    device.COOPERATIVE_LAUNCH = 0
    assert launch.find_card() is None
    device.COOPERATIVE_LAUNCH, device.compute_capability = 1, (7, 5)
    assert launch.find_card() is None


@pytest.mark.parametrize(
    ("width", "shared", "fits"),
    [(64, 101_376, True), (64, 166_912, True), (180, 232_448, True), (260, 232_448, False)],
)
def test_networks_fit_by_their_weights(width: int, shared: int, fits: bool) -> None:
    """12-64x4-3 fits into a block of every GPU; one of width 260 into none."""
    net = sv.Network([12, width, width, 3], "tanh", dtype="float32")
    table = shape.table_of(net.program, 128, 8, shared, 132, clipped=False)
    assert (table is not None) == fits
    assert table is None or table.shared <= shared


# ---- machine code -------------------------------------------------------------------------------

MOST_A_PRODUCT = 2.5  # instructions for a multiply-add in a loop of products


def choice_of(
    activations: list[str], loss: str, optimizer: str, schedule: str = "constant", own: int = 1
) -> Choice:  # fmt: skip
    table = "LOSSES" if loss in LOSSES else "ROW_LOSSES"
    rows = {("ACTIVATIONS", name) for name in activations}
    rows |= {(table, loss), ("KINDS_OF_LOSSES", table), ("OPTIMIZERS", optimizer)}
    rows |= {("SCHEDULES", schedule), ("DRAWS", "shuffled")}
    return Choice(unit(fused_functions, rows), len(OPTIMIZERS[optimizer].slots), own)


def machine_code_of(choice: Choice, capability: tuple[int, int], folder: Path) -> MachineCode:
    """Compile, link and disassemble the kernel."""
    from numba.cuda import dispatcher

    tool = needs_a_linker()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeDevice, "compute_capability", capability)
        patch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)
        functions = compiling.ltoir_of(choice, capability)
    source = compiling.constants_of(choice) + compiling.source_of()
    code, log = compiling.link(functions, source, capability)
    ptx, _ = compiling.link(functions, source, capability, ptx=True)
    cubin = folder / "fused.cubin"
    cubin.write_bytes(code)
    done = subprocess.run([tool, "-c", cubin], capture_output=True, text=True, check=True)
    return MachineCode(NAME, done.stdout, log, ptx.decode())


def looks_right(code: MachineCode) -> None:
    """Registers, formulas inlined, sums and loads as they are meant."""
    assert code.registers <= 255 and code.spilled == 0
    # There are no functions but the compiler's own, for rare cases of a division or a power.
    names = re.findall(r"^\.func .*?(\w+)\(", code.ptx, re.MULTILINE)
    assert all(name.startswith("__internal") for name in names), names
    assert set(re.findall(r"-- \.text\.(\w+)\s+--", code.text)) == {code.name}
    # No sum by atomics, but for three barriers, of which one is passed only if the norm is limited.
    assert code.count(r"\bREDG?\S*\.ADD") == 3
    smallest = code.count(r"\b(ATOM|RED)G?\.\S*MIN\.S64")
    assert code.count(r"\b(ATOM|RED)G?\.") == 3 + smallest
    # Loads by the cache for constants would not see what other blocks wrote: only a table of the
    # cosine may be read that way.
    assert not code.count(r"\bLDG\S*\.CONSTANT") or "__cudart_" in code.ptx
    # What is not rounded could be fused with a sum here, and not in another kernel.
    assert not re.search(r"\b(mul|add|sub|mad)\.f(32|64)\b", code.ptx)


CASES: list[Any] = [
    (choice_of(["leaky_relu", "sigmoid"], "mse", "adam"), (9, 0)),
    *[
        pytest.param(choice, capability, marks=pytest.mark.slow)
        for choice, capability in [
            (choice_of(["leaky_relu", "sigmoid"], "mse", "adam"), (8, 0)),
            (choice_of([*ACTIVATIONS], "mse", "adamw", "cosine", own=8), (9, 0)),
            (
                choice_of(["tanh", "gelu", "sin"], "softmax_cross_entropy", "adamw", "cosine"),
                (10, 0),
            ),
            (choice_of(["leaky_relu"], "mse", "sgd"), (12, 0)),
        ]
    ],
]


@pytest.mark.parametrize(("choice", "capability"), CASES)
def test_the_fused_kernel_has_few_instructions_and_its_formulas_in_it(
    choice: Choice, capability: tuple[int, int], tmp_path: Path
) -> None:
    code = machine_code_of(choice, capability, tmp_path)
    looks_right(code)
    # Loops of formulas, which may have products, too, write numbers or take functions.
    products = [x for x in code.loops if x.products >= 16 and not x.count(r"\b(ST|MUFU)")]
    assert len(products) >= 3  # forward, gradients of the weights, and of the inputs
    assert all(x.count(r"\bLDS") for x in products)
    assert max(x.per_product for x in products) <= MOST_A_PRODUCT
    assert "fma.rn.f32" in code.ptx
