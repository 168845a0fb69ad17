"""Files of kernels: what goes into one, and when it is made and compiled anew."""

import importlib.util
import os
import pickle
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scalarviz.engines.codegen import compile_kernel, kernel_file
from scalarviz.engines.cpu import replicas_kernel
from scalarviz.engines.expression import kernels as expression_kernels
from scalarviz.errors import EngineError
from scalarviz.formulas import activations, losses, rowwise
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import Formula
from tests.wording import refused

TEMPLATE = "kernels_alone"

pytestmark = pytest.mark.usefixtures("template")


def text(dtype: kernel_file.Dtype = "float32") -> str:
    return kernel_file.source(TEMPLATE, dtype).text


# ---- when a file is made anew -------------------------------------------------------------------


def test_the_same_formulas_give_the_same_text() -> None:
    assert text() == text()
    assert text() != text("float64")


@pytest.mark.parametrize(
    ("module", "constant"), [(activations, "LEAK"), (losses, "FLOOR"), (rowwise, "pi")]
)
def test_a_constant_of_a_helper_is_in_the_text(
    module: ModuleType, constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, loaded = text(), kernel_file.load(TEMPLATE, "float32")
    monkeypatch.setattr(module, constant, 0.0625)
    assert text() != before
    assert kernel_file.load(TEMPLATE, "float32") is not loaded
    monkeypatch.undo()
    assert kernel_file.load(TEMPLATE, "float32") is loaded


def wavy(x: float) -> float:
    return 2 * x if x > 0 else x**2


def wavy_derivative(x: float, y: float) -> float:
    return 2 if x > 0 else 2 * x


def test_a_new_row_is_in_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    before = text()
    row = Formula("wavy", wavy, (wavy_derivative,))
    monkeypatch.setitem(ACTIVATIONS, "wavy", row)
    assert text() != before
    monkeypatch.delitem(ACTIVATIONS, "wavy")
    assert text() == before


def test_versions_and_what_a_template_imports_are_in_the_text(
    template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert f"numba {kernel_file.version('numba')}" in text()
    (template / "other.py").write_text(
        "from scalarviz.engines.codegen.dispatch import (\n    kernel,\n)\n"
        "from scalarviz.model.operations import NONE\n\n\n"
        "@kernel\ndef twice(x):\n    return 2 * x\n",
        encoding="utf-8",
    )
    found = kernel_file.source("other", "float32").text
    assert "@kernel\ndef twice(x):\n    return 2 * x" in found
    assert "from scalarviz.model.operations import NONE" in found
    assert "dispatch import" not in found
    read = kernel_file.module_text

    def edited(module: str) -> str:
        return read(module) + "# edited\n" * (module == "scalarviz.model.operations")

    monkeypatch.setattr(kernel_file, "module_text", edited)
    assert kernel_file.source("other", "float32").text != found


PROGRAM = """
    import sys
    import numpy as np
    from scalarviz.engines.codegen import compile_kernel, kernel_file
    from scalarviz.formulas.activations import ACTIVATIONS
    from scalarviz.formulas.table import Formula
    from mine import bent, bent_derivative

    compiled, run_child = [], compile_kernel.run_child
    compile_kernel.run_child = lambda *words: compiled.append(words) or run_child(*words)
    ACTIVATIONS["bent"] = Formula("bent", bent, (bent_derivative,))
    kernels = kernel_file.load("kernels_alone", "float64")
    z, y = np.array([3.0]), np.zeros(1)
    kernels.activation_forward(len(ACTIVATIONS) - 1, z, y)
    print(y[0], len(compiled))
"""
MINE = """
    SLOPE = {slope}

    def bent(x: float) -> float:
        return helper(x) + 1

    def helper(x: float) -> float:
        return SLOPE * x

    def bent_derivative(x: float, y: float) -> float:
        return SLOPE
"""


def run(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, which finds the modules of a folder."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(folder), str(root)])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


def test_a_compiled_kernel_follows_the_constant_of_a_row(template: Path, tmp_path: Path) -> None:
    def with_slope(slope: float) -> tuple[list[float], str]:
        (template / "mine.py").write_text(textwrap.dedent(MINE.format(slope=slope)))
        done = run(PROGRAM, template, SCALARVIZ_CACHE_DIR=str(tmp_path))
        return [float(word) for word in done.stdout.split()], done.stderr

    first, said = with_slope(0.25)
    assert first == [1.75, 1]
    assert said.count("\n") == 1
    assert "compiles its kernels, once" in said
    assert with_slope(0.5)[0] == [2.5, 1]
    assert with_slope(0.25) == ([1.75, 0], "")  # this one was compiled before


WARM = """
    import numpy as np
    from scalarviz.engines.codegen import compile_kernel, kernel_file
    compiled, run_child = [], compile_kernel.run_child
    compile_kernel.run_child = lambda *words: compiled.append(words) or run_child(*words)
    kernels = kernel_file.load("kernels_alone", "float32")
    row, tile = np.zeros(60, np.float32), np.zeros((4, 21), np.float32)
    kernels.activation_forward(6, row, row)
    kernels.loss_forward(0, tile, tile, 19)
    called = [kernels.activation_forward, kernels.loss_forward]
    hits = [sum(kernel.stats.cache_hits.values()) for kernel in called]
    misses = [sum(kernel.stats.cache_misses.values()) for kernel in called]
    print(hits == [1, 1] and misses == [0, 0] and not compiled)
"""


def test_a_warm_start_compiles_nothing(template: Path) -> None:
    run(WARM, template)
    done = run(WARM, template)
    assert (done.stdout, done.stderr) == ("True\n", "")


# ---- one meaning for each name ------------------------------------------------------------------

KERNEL = (
    "from scalarviz.engines.codegen.dispatch import kernel\n{}\n\n\n@kernel\ndef {}(x):\n    {}\n"
)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("LIMIT = 1", "one", "return x"), ("LIMIT = 2", "two", "return x")),
        (("LOW, HIGH = 1, 2", "one", "return x"), ("HIGH, LOW = 1, 2", "two", "return x")),
        (("", "same", "return x"), ("", "same", "return x + 1")),
        (("", "load_tile", "return x"), ("load_tile = 2", "two", "return x")),
    ],
    ids=["constant", "several", "kernel", "kernel and constant"],
)
def test_a_file_gives_no_name_two_meanings(
    first: tuple[str, ...], second: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    text = "\n".join([SMALL, KERNEL.format(*first), "kernel = numba.njit"])
    kernel_file.check_names(text)
    with refused(EngineError, "two meanings", varies="LOW|HIGH"):
        kernel_file.import_text("\n".join([text, KERNEL.format(*second)]), "twice")
    assert not list(tmp_path.glob("*.py"))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (replicas_kernel.__name__, "cpu"),
        (expression_kernels.__name__, "cpu"),
        ("scalarviz.engines.cuda.kernels", "cuda"),
        ("scalarviz.engines.cuda.steps", "cuda"),
    ],
)
def test_every_file_of_kernels_gives_each_name_one_meaning(
    name: str, target: kernel_file.Target
) -> None:
    kernel_file.check_names(kernel_file.text_of(name, "float32", target))


# ---- the file on disk ---------------------------------------------------------------------------

SMALL = """
import numba

@numba.njit(cache=True)
def answer(x):
    return x + 41
"""


def small() -> tuple[int, int, Path]:
    """A small kernel's result, how often it was compiled, and its file; loaded anew each time."""
    module = kernel_file.import_text(SMALL, "small")
    children: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        run_child = compile_kernel.run_child
        patch.setattr(
            compile_kernel, "run_child", lambda *words: children.append(run_child(*words))
        )
        result = module.answer(1)
    assert all(children)
    return result, len(children), Path(str(module.__file__))


def test_a_damaged_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    result, compiled, path = small()
    assert (result, compiled) == (42, 1)
    assert small()[:2] == (42, 0)
    for damaged in ("", SMALL[:40], SMALL.replace("41", "40")):
        path.write_text(damaged)
        assert small()[0] == 42
        assert path.read_text() == SMALL


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_what_numba_keeps_is_not_trusted_if_it_was_cut_short(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    small()
    (file,) = (tmp_path / "__pycache__").glob(f"*.{ending}")
    file.write_bytes(file.read_bytes()[:-20])
    assert small()[:2] == (42, 1)
    assert small()[:2] == (42, 0)


def test_without_a_child_process_kernels_are_compiled_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no process can be started")

    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_kernel.children, "start", refuse)
    module = kernel_file.import_text(SMALL, "small")
    assert module.answer(1) == 42
    assert sum(module.answer.stats.cache_misses.values()) == 1


def test_a_child_that_compiles_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\n\ntime.sleep(60)\n")
    module = "scalarviz.engines.codegen.compile_kernel"
    words = [sys.executable, "-m", module, str(tmp_path / "slow.py"), "answer"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        child.stdin.write(pickle.dumps(()))
        child.stdin.close()
        assert child.wait(30) == 1


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
    environment = {**os.environ, "SCALARVIZ_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-c", textwrap.dedent(BITS)]
    found = [
        subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    assert found[0] == found[1] and len(found[0]) == 65


def test_a_folder_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    home = tmp_path / "home"
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(blocked / "cache"))
    monkeypatch.setattr(kernel_file, "user_cache", lambda: home)
    assert kernel_file.cache_folder() == home
    monkeypatch.setattr(kernel_file, "user_cache", lambda: blocked / "home")
    monkeypatch.setattr(kernel_file.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernel_file.cache_folder()
    assert folder.parent == tmp_path
    assert kernel_file.cache_folder() == folder
    assert kernel_file.import_text("ANSWER = 42\n", "blocked").ANSWER == 42


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_folder_that_others_can_write_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.delenv("SCALARVIZ_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_file, "user_cache", lambda: shared)
    monkeypatch.setattr(kernel_file.tempfile, "gettempdir", lambda: str(tmp_path))
    assert kernel_file.cache_folder() == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    shared.chmod(0o777)
    folder = kernel_file.cache_folder()
    assert folder != shared
    folder.chmod(0o777)
    monkeypatch.setattr(kernel_file.tempfile, "tempdir", str(tmp_path))
    assert kernel_file.cache_folder() not in (folder, shared)


def test_old_generations_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    names = ["kind_old", "kind_new", "other_old"]
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    path = str(kernel_file.import_text("ANSWER = 42\n", "kind").__file__)
    long_ago = time.time() - 30 * 24 * 3600
    for old in (tmp_path / "kind_old.py", tmp_path / "other_old.py", path):
        os.utime(old, (long_ago, long_ago))
    kernel_file.remove_old(Path(path), "kind")
    left = {file.name for file in tmp_path.glob("*.py")}
    assert left == {"kind_new.py", "other_old.py", Path(path).name}


def test_many_processes_may_begin_at_once(tmp_path: Path) -> None:
    program = f"""
        from scalarviz.engines.codegen import compile_kernel, kernel_file
        print(kernel_file.import_text({SMALL!r}, "small").answer(1))
    """
    with ThreadPoolExecutor(3) as pool:
        runs = [
            pool.submit(run, program, tmp_path, SCALARVIZ_CACHE_DIR=str(tmp_path)) for _ in range(3)
        ]
    assert [done.result().stdout.strip() for done in runs] == ["42"] * 3
    assert len(list(tmp_path.glob("*.py"))) == 1
    assert list(tmp_path.glob("*.new")) == []


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
@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)
def test_every_engine_follows_a_new_row_and_its_constant(template: Path, tmp_path: Path) -> None:
    for slope in (0.25, 0.5):
        (template / "new_row.py").write_text(textwrap.dedent(NEW_ROW.format(slope=slope)))
        done = run(
            ON_EVERY_ENGINE, template, SCALARVIZ_CACHE_DIR=str(tmp_path), NUMBA_ENABLE_CUDASIM="1"
        )
        told = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
        assert told == [[2 * slope, 8 * slope * slope]] * 3, done.stderr
