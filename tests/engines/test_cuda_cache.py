"""Files of kernels for GPUs.

Compiled once, for the formulas in use, and made anew after a change.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import kernel_files
from scalarviz.core.formulas import activations, layer_formulas, losses
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.cuda import kernels
from scalarviz.engines.cuda.launches import units_of_training
from scalarviz.faces.controller import precompile
from tests.engines.conftest import check_constant
from tests.engines.machine_code import (
    EVERY,
    IN_USE,
    compile_without_gpu,
    compiled_again,
    needs_a_linker,
    unit,
)
from tests.engines.test_kernel_units import wavy, wavy_derivative
from tests.machine import output_of

pytest.importorskip("numba_cuda", reason="it is not available for this system or Python")

LOADED, COMPILED = (1, 0), (0, 1)
SMALL = kernels.clear_all, kernels.sum_errors


def units(
    net: sv.Network, loss: str = "mse", optimizer: sv.Optimizer | None = None, batch: int = 4
) -> list[cuda_file.CudaUnit]:
    pair = sv.Loss.of(loss), optimizer or sv.SGD(0.1)
    return units_of_training(net.program, net.bank, data.Xor().batches(batch, 0), [pair])


def files(found: Iterable[cuda_file.CudaUnit]) -> set[str]:
    return {cuda_file.path_of_unit(each, "float32").name for each in found}


@pytest.fixture
def cache(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a process without a kernel."""
    monkeypatch.setattr(cuda_file, "_modules", {})
    return empty_cache


@pytest.mark.usefixtures("cache")
def test_another_size_of_network_or_batch_takes_the_kernels_that_are_there() -> None:
    known = files(units(sv.Network([2, 3, 1], "tanh")))
    assert files(units(sv.Network([2, 30, 30, 30, 1], "tanh"), batch=2)) == known


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("other", "changed"),
    [
        ({"net": sv.Network([2, 3, 1], "relu")}, {"train", "forward_all", "input_gradient_all"}),
        ({"loss": "mae"}, {"train", "sum_errors", "loss_gradient_all"}),
        ({"optimizer": sv.Adam(0.1)}, {"train", "look_over", "move_all"}),
        (
            {"optimizer": sv.SGD(0.1, schedule=sv.Schedule("cosine", steps=9))},
            {"train", "look_over"},
        ),
    ],
    ids=["activation", "loss", "optimizer", "schedule"],
)
def test_another_formula_changes_the_files_of_kernels_that_compute_it(
    other: dict[str, Any], changed: set[str]
) -> None:
    known = files(units(sv.Network([2, 3, 1], "tanh")))
    now = files(units(**{"net": sv.Network([2, 3, 1], "tanh"), **other}))
    assert {name.removeprefix("cuda_").partition("_float")[0] for name in now - known} == changed
    assert len(now) == len(known)


@pytest.mark.usefixtures("cache")
def test_a_kernel_of_an_operation_is_shared_by_all_that_compute_the_same() -> None:
    found = units(sv.Network([2, 3, 3, 3, 1], "tanh"))
    forward = [each for each in found if each.function is kernels.forward_all]
    assert len(forward) == 2  # the products, and tanh
    net = sv.Network([sv.Dense(2, 3, "tanh"), sv.BatchNorm(3), sv.Dense(3, 1)])
    assert len([each for each in units(net) if each.function is kernels.gather_all]) == 1
    assert not [each for each in units(net) if each.function is kernels.train]


@pytest.mark.slow
def test_kernels_are_compiled_once_and_then_loaded(
    cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    needs_a_linker()
    compile_without_gpu(monkeypatch)
    found = [each for each in units(sv.Network([2, 3, 1], "tanh")) if each.function in SMALL]
    assert len(found) == len(SMALL) and not any(
        cuda_file.is_ready(each, "float32") for each in found
    )
    first = cuda_file.load(found, "float32")
    assert [compiled_again(each) for each in first] == [COMPILED] * len(SMALL)
    assert all(cuda_file.is_ready(each, "float32") for each in found)
    assert cuda_file.load(found, "float32") == first
    assert ["compiles 2 kernels for the GPU, once" in said for said in caplog.messages] == [True]
    for _ in range(2):
        monkeypatch.setattr(cuda_file, "_modules", {})  # as in another process
        again = cuda_file.load(found, "float32")
        assert [compiled_again(each) for each in again] == [LOADED] * len(SMALL)
    # Another loss: one of both has it. What was there before stays.
    other = [each for each in units(sv.Network([2, 3, 1]), "mae") if each.function in SMALL]
    assert sorted(map(compiled_again, cuda_file.load(other, "float32"))) == [COMPILED, LOADED]
    assert len(caplog.messages) == 2
    monkeypatch.setattr(cuda_file, "_modules", {})
    assert [compiled_again(each) for each in cuda_file.load(found, "float32")] == [LOADED] * 2


PROGRAM = """
import pytest
from tests.engines.machine_code import compile_without_gpu
patch = pytest.MonkeyPatch()
compile_without_gpu(patch)
import sys
from scalarviz.faces.controller import precompile


for word in sys.argv[1:]:
    precompile.compile_kind(word)
"""
LOAD = """
import sys
from pathlib import Path
from tests.engines.machine_code import compiled_again
from scalarviz.engines.codegen import cuda_file
for name in sys.argv[1:]:
    print(*compiled_again(cuda_file.import_file(Path(name))))
"""


def run(program: str, *words: str) -> str:
    return output_of("-c", program, *words, env={**os.environ, "PYTHONHASHSEED": "random"})


@pytest.mark.slow
def test_what_one_process_compiles_ahead_all_others_load(cache: Path) -> None:
    needs_a_linker()
    net = sv.Network([12, 64, 64, 64, 64, 3], "leaky_relu", "sigmoid")
    s = sv.Session(net, ([[0.0] * 12], [[0.0] * 3]), "mse", sv.Adam(0.01), engine="python")
    kind = precompile.kind_of(s, "cuda")
    assert kind.startswith("cuda-float32:") and not precompile.is_ready(kind)
    names = list(map(str, precompile.paths_of(kind)))
    assert len(names) == 16
    run(PROGRAM, precompile.words_for(kind, precompile.paths_of(kind)))
    assert precompile.is_ready(kind)
    for _ in range(2):
        assert run(
            PROGRAM.partition("from scalarviz.faces.controller")[0] + LOAD, *names
        ) == "1 0\n" * len(names)
    # Where the cache is empty, every process writes files of the same names.
    assert run(TEXTS, str(cache / "other")).split() == sorted(Path(name).name for name in names)


TEXTS = """
import os, sys
os.environ["SCALARVIZ_CACHE_DIR"] = sys.argv[1]
import scalarviz as sv
from scalarviz.faces.controller import precompile
net = sv.Network([12, 64, 64, 64, 64, 3], "leaky_relu", "sigmoid")
s = sv.Session(net, ([[0.0] * 12], [[0.0] * 3]), "mse", sv.Adam(0.01), engine="python")
print(*sorted(path.name for path in precompile.paths_of(precompile.kind_of(s, "cuda"))))
"""


@pytest.mark.usefixtures("cache")
def test_the_kind_of_a_training_covers_what_it_has_used_together() -> None:
    def trains(session: sv.Session) -> int:
        names = precompile.paths_of(precompile.kind_of(session, "cuda"))
        return len([path for path in names if path.name.startswith("cuda_train_")])

    s = sv.Session(sv.Network([2, 3, 1]), data.Xor(), "mse", sv.SGD(0.1), engine="python")
    before = precompile.kind_of(s, "cuda")
    assert trains(s) == 1
    s.advance(2)
    assert precompile.kind_of(s, "cuda") == before
    s.optimizer = sv.Adam(0.1)
    s.advance(1)
    assert trains(s) == 2
    s.loss_function = "mae"
    s.advance(1)
    assert trains(s) == 3  # mse with sgd, mse with adam, mae with adam
    s.back(3)
    assert trains(s) == 3


TANH = unit(kernels.forward_all, [*IN_USE, ("WHOLE_BATCH", "activation"), ("ACTIVATIONS", "tanh")])


def text(function: Any = kernels.train, **given: Any) -> str:
    return cuda_file.text_of(unit(function, **given), "float32")


@pytest.mark.parametrize(
    ("module", "constant", "function"),
    [
        (activations, "LEAK", kernels.forward_all),
        (losses, "FLOOR", kernels.sum_errors),
        (layer_formulas, "pi", kernels.forward_all),
    ],
)
def test_a_constant_of_a_formula_is_in_the_texts_with_it_and_in_no_other(
    module: ModuleType, constant: str, function: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_constant(lambda: [text(function), text(kernels.move_all)], module, constant, monkeypatch)


def test_a_kernel_has_the_rows_in_use_and_no_others() -> None:
    found = text(rows=IN_USE)
    assert "activations_leaky_relu" in found and "optimizers_adam(" in found
    for name in ("relu(x", "tanh", "sgd", "convolution", "batch_norm", "cosine", "row_loss"):
        assert name not in found.replace("leaky_relu(x", ""), name
    assert len(text()) > 1.5 * len(found)


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (kernels.move_all, [("ACTIVATIONS", "tanh"), ("LOSSES", "mae"), ("KERNELS", "row")]),
        (kernels.sum_errors, [("OPTIMIZERS", "sgd"), ("DRAWS", "points")]),
        (kernels.draw_batch, [("LOSSES", "mae"), ("WHOLE_BATCH", "convolution")]),
        (kernels.add_all, [("OPTIMIZERS", "sgd"), ("LOSSES", "mae"), ("DRAWS", "points")]),
    ],
)
def test_a_formula_that_a_kernel_does_not_compute_leaves_its_file_as_it_is(
    function: Any, rows: list[tuple[str, str]]
) -> None:
    assert text(function, rows=IN_USE) == text(function, rows=[*IN_USE, *rows])


@pytest.mark.usefixtures("empty_cache")
def test_a_row_added_later_changes_no_file_that_does_not_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = cuda_file.path_of_unit(TANH, "float32")
    monkeypatch.setitem(ACTIVATIONS, "wavy", Formula("wavy", wavy, (wavy_derivative,)))
    assert cuda_file.path_of_unit(TANH, "float32") == before
    assert TANH.used.rows is not None
    more = InUse(TANH.used.rows | {("ACTIVATIONS", "wavy")})
    after = cuda_file.path_of_unit(cuda_file.CudaUnit(kernels.forward_all, more), "float32")
    assert after != before and before.exists()
    assert f"formula == {list(ACTIVATIONS).index('tanh')}" in after.read_text()


def test_versions_of_all_that_compiles_are_in_the_text() -> None:
    assert cuda_file.versions() in text(kernels.clear_all)
    for name in (
        "numba-cuda 0.",
        "cuda-toolkit ",
        "nvidia-nvvm ",
        "nvidia-nvjitlink ",
        "llvmlite ",
    ):
        assert name in cuda_file.versions()


@pytest.mark.parametrize("function", EVERY)
def test_every_file_of_kernels_gives_each_name_one_meaning(function: Any) -> None:
    kernel_files.check_names(text(function))
    kernel_files.check_names(text(function, rows=IN_USE))
