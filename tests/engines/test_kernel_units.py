"""Kernels that are called by their address.

What is compiled for which change, from which source.
"""

import ctypes
import errno
import json
import linecache
import os
import platform
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from docs import build_kernels
from scalarviz.base import kernel_files
from scalarviz.core.formulas import activations, layer_formulas, losses
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import FloatFunction, Formula
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula
from scalarviz.engines.codegen import compiling, kernel_units, machine_code
from scalarviz.engines.codegen.dispatch import by_address, partial_row
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu import products, records
from scalarviz.engines.cpu.table import KERNELS, every_unit, kernels_of, units_of_loss
from scalarviz.engines.expression import expression_kernels
from scalarviz.engines.expression.cpu_expression import SHELL
from scalarviz.errors import InputError
from tests.engines.conftest import Kernels, check_constant, text_of
from tests.machine import ROOT, ended, until
from tests.wording import refused

TANH = kernels_of("activation", KERNELS["activation"], ACTIVATIONS["tanh"])["forward"]


def text(unit: Unit, dtype: kernel_units.Dtype = "float32") -> str:
    return unit.source(dtype).text


# ---- what is in a file --------------------------------------------------------------------------


def test_the_same_formulas_give_the_same_text() -> None:
    assert text(TANH) == text(TANH)
    assert text(TANH) != text(TANH, "float64")


@pytest.mark.parametrize(
    ("module", "constant", "unit"),
    [
        (
            activations,
            "LEAK",
            kernels_of("activation", KERNELS["activation"], ACTIVATIONS["leaky_relu"])["forward"],
        ),
        (losses, "FLOOR", units_of_loss(losses.Loss("mape"))["loss"]),
        (
            layer_formulas,
            "pi",
            kernels_of("row", KERNELS["row"], ROW_FORMULAS["frequency_encoding"])["forward"],
        ),
    ],
)
def test_a_constant_of_a_formula_is_in_its_text_and_in_no_other(
    module: ModuleType, constant: str, unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_constant(
        lambda: [kernel_units.text_of(each, "float32") for each in (unit, TANH)],
        module,
        constant,
        monkeypatch,
    )


def test_a_kernel_has_the_formula_of_its_row_and_no_other() -> None:
    found = text(TANH)
    assert "fast_math_tanh" in found and "sigmoid" not in found
    assert len({unit.name for unit in every_unit()}) == len(every_unit())


def test_versions_are_in_the_text() -> None:
    assert f"numba {version('numba')}" in text(TANH)


@pytest.mark.parametrize("edited", [records, products])
def test_what_the_compiler_imports_is_in_the_text(
    edited: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, getsource = text(TANH), kernel_units.inspect.getsource

    monkeypatch.setattr(
        kernel_units.inspect,
        "getsource",
        lambda found: getsource(found) + "# edited\n" * (found is edited),
    )
    kernel_units.hash_of.cache_clear()
    try:
        assert text(TANH) != before
    finally:
        kernel_units.hash_of.cache_clear()


def at_most(limit: int) -> Callable[..., Any]:
    LIMIT = limit

    def hold(x: Any) -> Any:
        return min(x, LIMIT)

    return hold


def at_least(limit: int) -> Callable[..., Any]:
    LIMIT = limit

    def hold(x: Any) -> Any:
        return max(x, LIMIT)

    return hold


high, low = at_most(1), at_least(1)


@by_address
def local_variable(x: Any) -> None:
    high = x
    low(high)


def test_a_variable_of_a_kernel_is_no_function_of_the_same_name() -> None:
    found = text(Unit("one", local_variable))
    assert "max(" in found and "min(" not in found


def test_every_kernel_gives_each_name_one_meaning() -> None:
    for unit in [*every_unit(), *SHELL.values()]:
        kernel_files.check_names(kernel_units.text_of(unit, "float32"))


# ---- loading and compiling ----------------------------------------------------------------------


def bent(x: float) -> float:
    return 0.25 * x + 1


def bent_slope(x: float, y: float) -> float:
    return 0.25


ROW = Formula("bent", bent, (bent_slope,))
BENT = Unit("test_bent", expression_kernels.formula_value, ROW)
BENT_BACK = Unit("test_bent_back", expression_kernels.formula_slope, partial_row(ROW, 0))


RUN_CHILDREN = compiling.run_children


class Process:
    """This process as if it had loaded no kernel, with a separate cache folder.

    Attributes:
        children: the files that child processes were asked to compile; none starts if `alone`
    """

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self._patch, self.folder = patch, folder
        patch.setenv("SCALARVIZ_CACHE_DIR", str(folder))
        self.anew()

    def anew(self, *, alone: bool = True) -> None:
        """Forget all kernels."""
        self.children: list[list[str]] = []
        self._patch.setattr(kernel_units, "_kernels", {})
        self._patch.setattr(compiling, "run_children", self._note)
        self._alone = alone

    def _note(self, paths: Any) -> None:
        self.children.append([path.name for path in paths])
        if not self._alone:
            RUN_CHILDREN(paths)

    def load(self, *units: Unit) -> list[kernel_units.Kernel]:
        return kernel_units.load(units, "float64")


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(monkeypatch, tmp_path)


def value(kernel: kernel_units.Kernel, x: float) -> float:
    """The result of a kernel of a formula, called by its address."""
    numbers = np.array([x, 0.0])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 7)(kernel.address)
    start = numbers.ctypes.data
    run(start, 0, 0, start + 8, 0, 0, 1)
    return float(numbers[1])


def test_one_child_compiles_all_that_is_missing_and_this_process_loads_it(
    process: Process, caplog: pytest.LogCaptureFixture
) -> None:
    process.anew(alone=False)
    first, again, back = process.load(BENT, BENT, BENT_BACK)
    (files,) = process.children
    assert sorted(files) == sorted(path.name for path in process.folder.glob("*.py"))
    assert len(files) == 2 and first is again and compiling.done == 2
    assert value(first, 3.0) == 1.75
    assert all(hasattr(kernel.owner, "linker") for kernel in (first, back))
    assert ["compiles 2 kernels, once" in said for said in caplog.messages] == [True]
    assert process.load(BENT) == [first]
    assert len(process.children) == 1


def test_a_warm_start_compiles_nothing(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    process.load(BENT)
    assert kernel_units.is_ready(BENT, "float64") and not kernel_units.is_ready(BENT, "float32")
    caplog.clear()
    process.anew()
    assert kernel_units.is_ready(BENT, "float64")
    (kernel,) = process.load(BENT)
    assert process.children == caplog.messages == []
    assert hasattr(kernel.owner, "linker")
    assert value(kernel, 3.0) == 1.75
    process.load(BENT, BENT_BACK)
    assert [len(files) for files in process.children] == [1]
    assert ["compiles 1 kernel" in said for said in caplog.messages] == [True]


def test_without_a_child_process_kernels_are_compiled_here(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.anew(alone=False)
    monkeypatch.setattr(
        compiling.processes, "start", Mock(side_effect=OSError("no process can be started"))
    )
    (kernel,) = process.load(BENT)
    assert not hasattr(kernel.owner, "linker") and value(kernel, 3.0) == 1.75


def test_beside_the_machine_code_of_another_processor_a_child_compiles(process: Process) -> None:
    """Else this process would compile the kernel, which gives other bits than loading it."""
    process.load(BENT)
    (file,) = process.folder.rglob("*.o")
    kernel_files.keep(file.with_suffix(".other.o"), kernel_files.kept(file) or b"")
    file.unlink()
    process.anew(alone=False)
    assert not kernel_units.is_ready(BENT, "float64")
    (kernel,) = process.load(BENT)
    assert hasattr(kernel.owner, "linker") and file.exists()


@pytest.mark.some(1)
@pytest.mark.parametrize("part", ["end", "middle", "bit"])
def test_machine_code_is_not_trusted_if_it_is_damaged(part: str, process: Process) -> None:
    process.load(BENT)
    (file,) = process.folder.rglob("*.o")
    whole = file.read_bytes()
    half = len(whole) // 2
    damaged = {
        "end": whole[:-20],
        "middle": whole[:half] + bytes(100) + whole[half + 100 :],
        "bit": whole[:half] + bytes([whole[half] ^ 8]) + whole[half + 1 :],
    }
    file.write_bytes(damaged[part])
    for compiled in (True, False):
        process.anew()
        assert kernel_units.is_ready(BENT, "float64") is not compiled
        assert value(process.load(BENT)[0], 3.0) == 1.75
        assert len(process.children) == compiled


@pytest.mark.some(2)
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("what", ["machine code", "everything"])
def test_where_nothing_can_be_kept_kernels_are_compiled_in_memory(
    what: str,
    alone: bool,
    process: Process,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(source: str, target: Path) -> None:
        if what == "everything" or target.suffix == ".o":
            raise OSError(errno.ENOSPC, "No space left on device")
        replace_file(source, target)

    replace_file = os.replace
    monkeypatch.setattr(kernel_files.os, "replace", full)
    process.anew(alone=alone)
    assert value(process.load(BENT)[0], 3.0) == 1.75
    said = [each for each in caplog.messages if "cannot be stored" in each]
    assert len(said) == len({*said}) and bool(said) is (alone or what == "everything")


# ---- kernels that come with the package ---------------------------------------------------------


@pytest.fixture
def archive(process: Process, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An archive with one kernel, as in a wheel for this processor; the cache folder is empty."""
    process.load(BENT)
    monkeypatch.setattr(machine_code, "FOLDER", process.folder)
    path = process.folder / f"{machine_code.level()}.zip"
    assert build_kernels.write(path, [(BENT, "float64")]) == 1
    shutil.rmtree(process.folder / "__pycache__")
    machine_code.archive.cache_clear()
    process.anew()
    yield path
    machine_code.archive.cache_clear()


on_linux = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64",
    reason="machine code is shipped for Linux on x86-64 only",
)


@on_linux
def test_a_shipped_kernel_is_not_compiled(
    archive: Path, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel_units.is_ready(BENT, "float64") and not kernel_units.is_ready(BENT, "float32")
    assert value(process.load(BENT)[0], 3.0) == 1.75
    assert process.children == []
    process.load(BENT_BACK)
    assert [len(files) for files in process.children] == [1]
    text, versions = kernel_units.text_of(BENT, "float64"), machine_code.versions()
    monkeypatch.setattr(machine_code, "versions", lambda: "Python 3.99, numba 0.68")
    assert machine_code.is_shipped(text.replace(versions, machine_code.versions()))
    assert not machine_code.is_shipped(text)


@on_linux
@pytest.mark.parametrize("what", ["versions", "processor", "asked", "damaged", "no archive"])
def test_shipped_kernels_that_do_not_fit_are_compiled(
    what: str, archive: Path, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "versions":
        monkeypatch.setattr(machine_code, "version_of", lambda name: "0.1")
    elif what == "processor":
        levels = {name: ["avx999"] for name in machine_code.LEVELS}
        monkeypatch.setattr(machine_code, "LEVELS", levels)
    elif what == "asked":
        monkeypatch.setattr("numba.core.config.CPU_NAME", "generic")
    else:
        content = archive.read_bytes()
        middle = content.index(b"cfunc.") + 999
        damaged = content[:middle] + b"damaged" + content[middle + 7 :]
        archive.write_bytes(damaged if what == "damaged" else b"")
    machine_code.archive.cache_clear()
    assert value(process.load(BENT)[0], 3.0) == 1.75
    assert len(process.children) == 1


def test_a_row_that_changes_in_this_process_is_another_kernel(process: Process) -> None:
    def steep(x: float) -> float:
        return 2.0 * x

    other = replace(BENT, row=Formula("bent", steep, (bent_slope,)))
    assert [value(kernel, 3.0) for kernel in process.load(BENT, other, BENT)] == [1.75, 6.0, 1.75]


# ---- several processes --------------------------------------------------------------------------

MINE = """
    SLOPE = {slope}

    def bent(x: float) -> float:
        return helper(x) + 1

    def helper(x: float) -> float:
        return SLOPE * x

    def bent_derivative(x: float, y: float) -> float:
        return SLOPE
"""
PROGRAM = """
    import numpy as np
    from scalarviz.engines.codegen import compiling, kernel_units
    from scalarviz.engines.codegen.kernel_units import Unit
    from scalarviz.engines.expression.expression_kernels import formula_value
    from scalarviz.core.formulas.formula import Formula
    from mine import bent, bent_derivative

    asked, run_children = [], compiling.run_children
    compiling.run_children = lambda paths: asked.append(paths) or run_children(paths)
    row = Formula("bent", bent, (bent_derivative,))
    (kernel,) = kernel_units.load([Unit("test_bent", formula_value, row)], "float64")
    z = np.array([3.0, 0.0])
    kernel.call(z.ctypes.data, 0, 0, z.ctypes.data + 8, 0, 0, 1)
    print(z[1], len(asked))
"""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, which finds the modules of a folder."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    own = {"PYTHONPATH": path, "SCALARVIZ_CACHE_DIR": str(folder / "cache")}
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **own}
    return ended("-W", "error", "-c", textwrap.dedent(program), env=env, folder=folder)


@pytest.mark.slow
def test_a_compiled_kernel_follows_the_constant_of_a_row(tmp_path: Path) -> None:
    def with_slope(slope: float) -> tuple[list[float], str]:
        (tmp_path / "mine.py").write_text(textwrap.dedent(MINE.format(slope=slope)))
        done = run(PROGRAM, tmp_path)
        return [float(word) for word in done.stdout.split()], done.stderr

    first, said = with_slope(0.25)
    assert first == [1.75, 1]
    assert said.count("\n") == 1
    assert "compiles 1 kernel" in said
    assert with_slope(0.5)[0] == [2.5, 1]
    assert with_slope(0.25) == ([1.75, 0], "")  # this one was compiled before


@pytest.mark.slow
def test_many_processes_may_begin_at_once(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE.format(slope=0.5)))
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(run, PROGRAM, tmp_path) for _ in range(3)]
    assert [done.result().stdout.split()[0] for done in runs] == ["2.5"] * 3
    assert len(list(tmp_path.glob("cache/*.py"))) == 1
    assert list(tmp_path.glob("cache/*.new")) == []
    assert run(PROGRAM, tmp_path).stdout.split() == ["2.5", "0"]


@pytest.mark.skipif(not compiling.CAN_FORK, reason="starts a process for each part, without forks")
def test_a_child_that_compiles_ends_with_its_parent(tmp_path: Path) -> None:
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_text(
            "import pathlib, time\nwhile True:\n    pathlib.Path(__file__ + '.on').touch()\n"
            "    time.sleep(0.01)\n"
        )
    words = [sys.executable, "-m", "scalarviz.engines.codegen.compiling", "2", *map(str, paths)]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        until(lambda: len([*tmp_path.glob("*.on")]) == len(paths))
        child.stdin.close()
        assert child.wait(30) == 1
    for path in tmp_path.glob("*.on"):  # of the process and of its fork
        until(lambda path=path: time.time() - path.stat().st_mtime > 0.5)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
def test_a_child_that_is_killed_while_it_compiles_leaves_a_correct_cache(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.engines.killed_compiler", str(tmp_path)]
    root, pipe = ROOT, subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, cwd=root) as killer:
        assert killer.stdout is not None
        result = json.loads(killer.stdout.read())
    missing = [count for count, _ in result["found"]]
    assert missing == sorted(missing, reverse=True) and set(missing) == {2, 1}
    assert {bits for _, bits in result["found"]} == {result["whole"]}


BITS = """
    import hashlib, numpy as np, scalarviz as sv
    X = np.random.default_rng(0).normal(size=(70, 8))
    layers = [sv.Dense(8, 6), sv.BatchNorm(6), sv.Dense(6, 2)]
    net = sv.Network(layers, seed=1, dtype="float64")
    s = sv.Session(net, (X, X[:, :2] > 0), "mae", sv.RMSProp(0.01), batch=20, engine="cpu", seed=1)
    s.advance(3)
    s.advance(2 * len(s.operations), "operation")
    numbers = [net.bank.value, net.bank.state, np.array(s.losses)]
    print(hashlib.sha256(b"".join(array.tobytes() for array in numbers)).hexdigest())
"""


@pytest.mark.slow
def test_a_process_that_compiles_has_the_bits_of_one_that_loads(tmp_path: Path) -> None:
    found = [run(BITS, tmp_path) for _ in range(2)]
    assert "kernels, once" in found[0].stderr and found[1].stderr == ""
    assert found[0].stdout == found[1].stdout and len(found[0].stdout) == 65


def activation_text(field: str, value: FloatFunction, derivative: FloatFunction) -> str:
    """The file of a kernel of an activation: `forward` or `back`."""
    row = Formula("mine", value, (derivative,))
    return kernels_of("activation", KERNELS["activation"], row)[field].source("float32").text


def forward(value: FloatFunction) -> str:
    return activation_text("forward", value, activations.linear_derivative)


def wavy(x: float) -> float:
    return 2 * x if x > 0 else x**2


def wavy_derivative(x: float, y: float) -> float:
    return 2 if x > 0 else 2 * x


def largest(x: list[float], y: list[float], length: float) -> float:
    top = x[0]
    for i in range(len(x)):
        if x[i] > top:
            top = x[i]
    for i in range(len(x)):
        y[i] = x[i] / (top * length)
    return top


def largest_backward(
    x: list[float], y: list[float], top: float, g: list[float], d: list[float], length: float
) -> None:
    for i in range(len(x)):
        d[i] = g[i] / (top * length)


def test_whole_numbers_in_a_formula_are_floats() -> None:
    value, slope = (
        activation_text("forward", wavy, wavy_derivative),
        activation_text("back", wavy, wavy_derivative),
    )
    assert "return _2_0 * x if x > _0_0 else x ** 2" in value
    assert "return _2_0 if x > _0_0 else _2_0 * x" in slope
    assert "_2_0 = np.float32(2.0)" in value and "_2_0 = np.float32(2.0)" in slope


def test_a_row_formula_that_branches_goes_sample_by_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = RowFormula("largest", largest, largest_backward)
    monkeypatch.setitem(ROW_FORMULAS, "largest", row)
    called = "test_kernel_units_largest(x[:, n], y[:, n], settings_0)"
    assert called in text_of("row_forward", row, "float32")
    called = "test_kernel_units_largest_backward_tile(x, y, memo,"
    assert called in text_of("row_backward", row, "float32")
    changed = Kernels("float32", row)
    x = np.random.default_rng(0).random((5, 21))
    arguments = (
        list(ROW_FORMULAS).index("largest"),
        x,
        np.zeros_like(x),
        np.zeros(21),
        np.array([5.0]),
        20,
    )
    changed.check("row_forward", *arguments)
    assert changed.compiled("row_forward", *arguments)[2][:20] == pytest.approx(x.max(axis=0)[:20])


def times(factor: float) -> FloatFunction:
    def scale(x: float) -> float:
        return factor * x

    return scale


double, triple = times(2.0), times(3.0)


def between(x: float) -> float:
    return double(x) if x > 0.0 else triple(x)


def test_two_formulas_of_one_name_do_not_clash() -> None:
    found = forward(between)
    assert found.count("def test_kernel_units_scale(") == 1
    assert found.count("def test_kernel_units_scale_2(") == 1
    assert "test_kernel_units_scale(x) if x > _0_0 else test_kernel_units_scale_2(x)" in found
    assert "return _2_0 * x" in found and "return _3_0 * x" in found


class Outside:
    """Has a function whose source cannot be had."""

    @staticmethod
    def relu(x: float) -> float:
        return x + 1.0


def test_a_method_is_refused_in_one_sentence() -> None:
    for function in (Outside.relu, lambda x: x, eval("lambda x: x")):
        refused(InputError, "source of the formula").by(forward, function)


THRESHOLDS = {"low": 1.0}


def uses_a_dict(x: float) -> float:
    return x if x > THRESHOLDS["low"] else 0.0


def test_a_formula_may_not_use_what_a_kernel_cannot() -> None:
    refused(InputError, "THRESHOLDS").by(forward, uses_a_dict)


def test_a_file_that_was_edited_after_it_was_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edited.py"
    path.write_text("def steep(x):\n    return 3.0 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    import edited  # type: ignore[import-not-found]  # made by the test

    path.write_text("def steep(x):\n    return 30.0 * x\n")
    linecache.checkcache()
    refused(InputError, "'steep'").by(forward, edited.steep)
