"""Files of kernels for GPUs: what goes into one, and when it is made anew."""

import importlib.util
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from scalarviz.engines.codegen import cache_files, cuda_file
from scalarviz.formulas import activations, losses, rowwise
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import Formula

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)

TEMPLATE = "kernels_alone"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a template with no kernels of its own, which can be imported by its name."""
    folder = tmp_path_factory.mktemp("template")
    text = "from scalarviz.engines.codegen.cuda_dispatch import kernel\n"
    (folder / f"{TEMPLATE}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield folder


def text(dtype: cuda_file.Dtype = "float32") -> str:
    return cuda_file.source(TEMPLATE, dtype).text


@pytest.mark.usefixtures("template")
@pytest.mark.parametrize(
    ("module", "constant"), [(activations, "LEAK"), (losses, "FLOOR"), (rowwise, "pi")]
)
def test_a_constant_of_a_helper_is_in_the_text(
    module: ModuleType, constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, loaded = text(), cuda_file.load(TEMPLATE, "float32")
    assert before == text() != text("float64")
    monkeypatch.setattr(module, constant, 0.0625)
    assert text() != before
    assert cuda_file.load(TEMPLATE, "float32") is not loaded
    monkeypatch.undo()
    assert cuda_file.load(TEMPLATE, "float32") is loaded


def wavy(x: float) -> float:
    return 2 * x if x > 0 else x**2


def wavy_derivative(x: float, y: float) -> float:
    return 2 if x > 0 else 2 * x


@pytest.mark.usefixtures("template")
def test_another_process_takes_the_formulas_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cuda_file, "_texts", {})
    plain = cuda_file.text_of(TEMPLATE, "float32")
    monkeypatch.setitem(ACTIVATIONS, "wavy", Formula("wavy", wavy, (wavy_derivative,)))
    path = cuda_file.written(TEMPLATE, "float32")
    own = cuda_file.text_of(TEMPLATE, "float32")
    assert own != plain and path.read_text() == own
    monkeypatch.delitem(ACTIVATIONS, "wavy")
    assert cuda_file.text_of(TEMPLATE, "float32") == plain
    cuda_file.adopt(path, TEMPLATE, "float32")
    assert cuda_file.text_of(TEMPLATE, "float32") == own


def test_versions_and_what_a_template_imports_are_in_the_text(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cuda_file.versions() in text() and "numba-cuda" in cuda_file.versions()
    (template / "other.py").write_text(
        "from scalarviz.engines.codegen.dispatch import (\n    kernel,\n)\n"
        "from scalarviz.model.operations import NONE\n\n\n"
        "@kernel\ndef twice(x):\n    return 2 * x\n",
        encoding="utf-8",
    )
    found = cuda_file.source("other", "float32").text
    assert "@kernel\ndef twice(x):\n    return 2 * x" in found
    assert "# scalarviz.model.operations " in found
    assert "dispatch import" not in found
    read = cuda_file.module_text

    def edited(module: str) -> str:
        return read(module) + "# edited\n" * (module == "scalarviz.model.operations")

    monkeypatch.setattr(cuda_file, "module_text", edited)
    assert cuda_file.source("other", "float32").text != found


@pytest.mark.parametrize("name", ["scalarviz.engines.cuda.kernels", "scalarviz.engines.cuda.steps"])
def test_every_file_of_kernels_gives_each_name_one_meaning(name: str) -> None:
    cache_files.check_names(cuda_file.text_of(name, "float32"))


NEW_ROW = """
    from scalarviz.formulas.activations import ACTIVATIONS
    from scalarviz.formulas.table import Formula
    def mine(z: float) -> float:
        return {slope} * z if z > 0.0 else 0.0
    def mine_derivative(z: float, y: float) -> float:
        return {slope} if z > 0.0 else 0.0
    ACTIVATIONS["mine"] = Formula("mine", mine, (mine_derivative,))
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
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
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
