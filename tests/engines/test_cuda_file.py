"""Files of kernels for GPUs: what goes into one, and when it is made anew."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scalarviz.core.formulas import activations, layer_formulas, losses
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.engines.codegen import cache_files, cuda_file
from scalarviz.engines.codegen.formula_loops import InUse
from scalarviz.engines.cuda import kernels
from tests.engines.machine_code import EVERY, IN_USE, unit
from tests.root import ROOT

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)

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
    def texts() -> list[str]:
        return [text(function), text(kernels.move_all)]

    before = texts()
    monkeypatch.setattr(module, constant, 0.0625)
    after = texts()
    assert after[0] != before[0] and after[1] == before[1]
    monkeypatch.undo()
    assert texts() == before


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


def wavy(x: float) -> float:
    return 2 * x if x > 0 else x**2


def wavy_derivative(x: float, y: float) -> float:
    return 2 if x > 0 else 2 * x


def test_a_row_added_later_changes_no_file_that_does_not_use_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
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
    cache_files.check_names(text(function))
    cache_files.check_names(text(function, rows=IN_USE))


NEW_ROW = """
    from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
    def mine(z: float) -> float:
        return {slope} * z if z > 0.0 else 0.0
    def mine_derivative(z: float, y: float) -> float:
        return {slope} if z > 0.0 else 0.0
    ACTIVATIONS["mine"] = ActivationFormula("mine", mine, (mine_derivative,))
"""
ON_EVERY_ENGINE = """
    import warnings
    # Numbers in the simulator of GPUs are numpy's, and numpy warns where a GPU overflows.
    warnings.simplefilter("ignore", RuntimeWarning)
    import new_row
    import scalarviz as sv
    net = sv.Network([1, 1], output="mine")
    net.bank.value[:] = [1.0, 0.0]
    for engine in ("python", "cpu", "cuda"):
        twin = net.copy().to(engine)
        twin.train_step([[2.0]], [[0.0]], "mse", sv.SGD(0.25))
        print(float(net.copy().to(engine)([[2.0]])[0, 0]), float(twin.bank.grad[0]))
"""


@pytest.mark.slow
def test_every_engine_follows_a_new_row_and_its_constant(tmp_path: Path) -> None:
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    own = {"PYTHONPATH": path, "SCALARVIZ_CACHE_DIR": str(tmp_path), "NUMBA_ENABLE_CUDASIM": "1"}
    for slope in (0.25, 0.5):
        (tmp_path / "new_row.py").write_text(textwrap.dedent(NEW_ROW.format(slope=slope)))
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", textwrap.dedent(ON_EVERY_ENGINE)],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **own},
        )
        told = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
        assert told == [[2 * slope, 8 * slope * slope]] * 3, done.stderr
