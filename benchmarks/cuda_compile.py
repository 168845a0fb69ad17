"""Compilation of the kernels of a training run for a GPU, on a machine without one.

    python -m benchmarks.cuda_compile

compiles (libnvvm) and links (nvJitLink) the kernels of 12-64x4-3 with Adam for the formulas in use,
and the same kernels with all formulas, and prints processor seconds, registers and instructions.
The time of numba before libnvvm counts as compiling. It also prints the loops that copy weights and
parts of matrices to the memory of a block, each with the number of loads in flight before the first
store; the instructions per multiply-add in the loops of whole steps, of matrix products and of a
convolution; and those of the loops of row formulas, which the compiler unrolls four times.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.cuda import kernels
from scalarviz.engines.cuda.launches import units_of_training
from tests.engines import machine_code

AFFINE = [("WHOLE_BATCH", "affine")]
CONVOLUTION = [("WHOLE_BATCH", "convolution")]
MATRICES = kernels.forward_all, kernels.input_gradient_all, kernels.parameter_gradients
SIZES = [12, 64, 64, 64, 64, 3]


def measured(unit: CudaUnit, label: str, folder: Path) -> float:
    """Print a line for a kernel; return the seconds that it took."""
    start = time.process_time()
    text = machine_code.ptx_of(unit, "float32")
    compiled = time.process_time() - start
    code = machine_code.link(unit.function.__name__, text, folder)
    linked = time.process_time() - start - compiled
    print(
        f"    {label:<36}{compiled:6.1f} s {linked:6.1f} s {code.registers:8} "
        f"{len(code.instructions):12,}",
        flush=True,
    )
    return compiled + linked


def print_loops(folder: Path) -> None:
    """Print the loops of products: multiply-adds, and instructions for each."""
    print(
        "products                                registers  multiply-adds in a loop: instructions"
    )
    of_matrices = [(function, rows) for rows in (AFFINE, CONVOLUTION) for function in MATRICES]
    for function, rows in [(kernels.train, machine_code.IN_USE), *of_matrices]:
        code = machine_code.linked(machine_code.unit(function, rows), "float32", folder)
        loops = sorted(
            (-loop.products, f"{loop.per_product:.2f}")
            for loop in code.loops
            if loop.products >= 16
        )
        text = ", ".join(f"{-products}: {each}" for products, each in loops)
        label = f"{function.__name__} {'' if rows is machine_code.IN_USE else rows[0][1]}"
        print(f"    {label:<36}{code.registers:9}  {text}", flush=True)


def print_copies(folder: Path) -> None:
    """Print the loops that copy weights, or parts of matrices, to a block's memory."""
    print("copies to a block's memory    registers  instructions of a loop: loads before a store")
    for function in (kernels.train, *MATRICES):
        rows = AFFINE if function in MATRICES else machine_code.IN_USE
        code = machine_code.linked(machine_code.unit(function, rows), "float32", folder)
        loops = [loop for loop in code.loops if loop.count(r"\bSTS") and loop.count(r"\bLDG")]
        # The other ones of whole steps draw the samples.
        shown = loops if function in MATRICES else loops[:1]
        text = ", ".join(
            f"{len(each.instructions)}: {each.before(r'LDG', r'STS')}" for each in shown
        )
        print(f"    {function.__name__:<26}{code.registers:9}  {text}", flush=True)


def print_rows(folder: Path) -> None:
    """Print the instructions of loops over a row, each with its loads from the GPU's memory."""
    print("row formulas                            registers  instructions of a loop: loads")
    for name in ("layer_norm", "rms_norm", "softmax", "frequency_encoding"):
        rows = [("KERNELS", "row"), ("WHOLE_BATCH", "row"), ("ROW_FORMULAS", name)]
        for function in (kernels.forward_all, kernels.input_gradient_all):
            code = machine_code.linked(machine_code.unit(function, rows), "float32", folder)
            loops = [(len(each.instructions), each.count(r"\bLDG")) for each in code.loops]
            text = ", ".join(f"{length}: {loads}" for length, loads in loops if length > 32)
            label = f"{name} {'back' if function is kernels.input_gradient_all else 'forward'}"
            print(f"    {label:<36}{code.registers:9}  {text}", flush=True)


def main() -> None:
    net = sv.Network(SIZES, "leaky_relu", "sigmoid")
    pair = sv.Loss.of("mse"), sv.Adam(0.01)
    batches = data.Rgb("invert").batches(1024, 0)
    units = units_of_training(net.program, net.bank, batches, [pair])
    everything = [machine_code.unit(each) for each in dict.fromkeys(u.function for u in units)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured(everything[-1], "(loading libraries)", folder)
        for title, group in (("formulas in use", units), ("all formulas", everything)):
            print(f"{title:<40}compiling  linking  registers  instructions")
            seconds = {each: measured(each, each.function.__name__, folder) for each in group}
            whole = sum(s for each, s in seconds.items() if each.function is kernels.train)
            print(f"    whole steps {whole:.1f} s; all {sum(seconds.values()):.1f} s")
        print_copies(folder)
        print_loops(folder)
        print_rows(folder)


if __name__ == "__main__":
    main()
