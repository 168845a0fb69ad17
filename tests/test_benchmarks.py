"""The benchmarks.

They do not need pytest, each has results in BENCHMARKS.md, and the GPU script also runs without a
GPU.
"""

import json
import os
import tarfile
import time
from pathlib import Path

import pytest

from benchmarks import on_gpu, on_gpu_first, on_gpu_machine, on_gpu_right
from tests.engines.test_cuda import needs_numba_cuda
from tests.machine import ROOT, output_of

WITHOUT = """
import sys
sys.modules["pytest"] = None
from benchmarks.__main__ import PARTS
print(*PARTS)
"""


@pytest.mark.slow
def test_the_benchmarks_need_no_pytest_and_have_results() -> None:
    parts = output_of("-c", WITHOUT).split()
    text = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    assert parts and all(f"`python -m benchmarks {part}`" in text for part in parts)


# Output of the NVIDIA tools around a program that they run.
SANITIZER = """#!/bin/sh
while [ "$1" != "${1#--}" ]; do [ "$1" = --tool ] && tool=$2; shift 2; done
echo "========= COMPUTE-SANITIZER"
"$@" || exit 1
case $tool in
racecheck) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
*) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
"""
NCU = """#!/bin/sh
while [ "$1" != "${1#-}" ]; do [ "$1" = --csv ] || shift; shift; done
"$@" || exit 1
printf %s '"0","7","python","here","train[v4](Array)","1","13","(256)","(128)",'
echo '"0","9.0","gpu__time_duration.sum","us","131.07"'
"""
# As on the GPU machine: no window, no picture, no fonts.
WITHOUT_PICTURES = """
import sys
for name in ("freetype", "vispy", "OpenGL", "PySide6"):
    sys.modules[name] = None
"""


def run_on_gpu(folder: Path, *words: str) -> list[dict[str, object]]:
    """Run the script in the simulator, with NVIDIA tools that find nothing; return its facts."""
    for name, text in (
        ("compute-sanitizer", SANITIZER),
        ("ncu", NCU),
        ("sitecustomize.py", WITHOUT_PICTURES),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    known = {name: x for name, x in os.environ.items() if not name.startswith("PYTEST_")} | {
        "NUMBA_ENABLE_CUDASIM": "1",
        "OUT": str(folder / "out"),
    }
    known |= {"SCALARVIZ_CACHE_DIR": str(folder / "kernels"), "PYTHONPATH": str(folder)}
    known["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    said = output_of("-m", "benchmarks.on_gpu", *words, env=known, seconds=3600.0)
    assert said.endswith("on_gpu.jsonl: all right\n")
    lines = (folder / "out" / "on_gpu.jsonl").read_text().splitlines()
    assert all(line in said for line in lines)
    return [json.loads(line) for line in lines]


@needs_numba_cuda
def test_the_parts_on_a_gpu_need_no_picture() -> None:
    code = "import benchmarks.on_gpu_first, benchmarks.on_gpu_right, benchmarks.on_gpu_fast"
    output_of("-c", WITHOUT_PICTURES + code)


@pytest.mark.slow
@needs_numba_cuda
def test_parts_run_and_their_facts_are_kept(tmp_path: Path) -> None:
    rows = run_on_gpu(tmp_path, "barrier", "profile")
    assert [row["part"] for row in rows if "took" in row] == ["card", "barrier", "profile"]
    one, wide = [row["lines"] for row in rows if "lines" in row]
    assert one == wide == ["train gpu__time_duration.sum us 131.07"]


@pytest.mark.slow
@needs_numba_cuda
def test_every_part_runs(tmp_path: Path) -> None:
    rows = run_on_gpu(tmp_path)
    assert [row["part"] for row in rows if "took" in row] == list(on_gpu.PARTS)
    assert not any(on_gpu.is_wrong(row) for row in rows)
    # Small enough to be fetched from a rented machine.
    assert all(path.is_file() for path in (tmp_path / "out").iterdir())
    assert len([*(tmp_path / "out").iterdir()]) <= 5


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.parametrize(
    "ending",
    [
        "raise ValueError('odd')",
        "os._exit(7)",
        pytest.param("time.sleep(60)", marks=pytest.mark.slow),
    ],
)
def test_a_part_that_goes_wrong_is_told_and_the_next_one_runs(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("on_gpu.py", "on_gpu_machine.py"):
        text = (ROOT / "benchmarks" / name).read_text()
        (package / name).write_text(text.replace('("first", 120)', '("first", 6)'))
    (package / "on_gpu_first.py").write_text(
        f"import os, time\ndef right():\n    {ending}\ndef speed():\n    pass\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name, value in ((on_gpu.RESULTS, tmp_path / "facts"), (on_gpu.BEGAN, time.time())):
        monkeypatch.setenv(name, str(value))
    on_gpu.run_all(["right", "speed"], dict(os.environ), tmp_path / "log")
    right, speed = on_gpu.rows()
    assert right["wrong"] and "wrong" not in speed
    assert on_gpu.ended() == [right, speed]


def test_a_side_that_goes_wrong_is_told_and_a_slow_one_is_warmed_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    counts: list[int] = []

    def steps(count: int) -> None:
        counts.append(count)
        time.sleep(1e-3 * count)

    monkeypatch.setenv(on_gpu.RESULTS, str(tmp_path / "facts"))
    monkeypatch.setattr(on_gpu_first, "SECONDS", 0.02)
    monkeypatch.setattr(on_gpu_first, "ROUNDS", 3)
    assert 1000.0 <= on_gpu_first.measure("speed", "a side", lambda: steps) < 3000.0
    assert counts[-4] == counts[-1] >= 10
    on_gpu_first.measure("speed", "another", lambda: 1 / 0)
    first, second = on_gpu.rows()
    assert first["steps"] == counts[-1] and second["wrong"].startswith("ZeroDivisionError")


def test_the_summary_has_what_was_wrong_left_out_or_measured() -> None:
    rows = [
        {"part": "bits", "what": "3 runs", "good": True},
        {"part": "bits", "what": "a grid", "good": False},
        {"part": "compile", "wrong": "LinkerError: too old"},
        {"part": "barrier", "took": 1.0},
        {"part": "sanitizer", "left_out": "compute-sanitizer is not installed"},
        {"part": "rivals", "side": "JAX", "us": 3.0},
    ]
    lines = [json.dumps(row) for row in rows]
    assert on_gpu.summary(rows) == [lines[1], lines[2], *lines[4:]]


@pytest.mark.slow
def test_wheels_of_another_python_end_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu_machine, "CARRIED", tmp_path)
    told: list[dict[str, object]] = []
    known = dict(os.environ)
    assert on_gpu_machine.install_carried(known, print) == []
    (tmp_path / "numpy-2.4.6-cp26-cp26-linux_x86_64.whl").write_bytes(b"")
    assert on_gpu_machine.install_carried(known, lambda part, **found: told.append(found)) == []
    assert "not a supported wheel" in str(told[0]["pip"])


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("memcheck", "========= ERROR SUMMARY: 3 errors"),
        ("synccheck", "========= Error: the target did not run"),
        ("racecheck", "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)"),
        ("racecheck", "========= RACECHECK SUMMARY: 10 hazards displayed (10 errors, 0 warnings)"),
    ],
)
def test_what_a_sanitizer_finds_is_not_good(
    tool: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "compute-sanitizer"
    clean = {"racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"}
    lines = {name: clean.get(name, "ERROR SUMMARY: 0 errors") for name in on_gpu_right.CLEAN}
    lines[tool] = said
    cases = "\n".join(f"{name}) echo '{line}' ;;" for name, line in lines.items())
    path.write_text(f"#!/bin/sh\ncase $2 in\n{cases}\nesac\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv(on_gpu.RESULTS, str(tmp_path / "facts"))
    on_gpu_right.sanitizer()
    good = {row["tool"]: row["good"] for row in on_gpu.rows()}
    assert good == {name: name != tool for name in lines}


def test_libnvvm_is_found_wherever_a_toolkit_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = tmp_path / "toolkit"
    monkeypatch.setattr(on_gpu_machine, "TOOLKIT", toolkit)
    monkeypatch.setattr(on_gpu_machine, "BUILD", tmp_path / "build")
    monkeypatch.setattr(on_gpu_machine, "CARRIED", tmp_path / "carried")
    monkeypatch.setattr(on_gpu_machine, "version_of", lambda package: None)
    assert on_gpu_machine.toolkit() == ""
    (tmp_path / "some/nvvm/lib64").mkdir(parents=True)
    (tmp_path / "some/nvvm/lib64/libnvvm.so.4").write_text("a library")
    (tmp_path / "carried").mkdir()
    with tarfile.open(tmp_path / "carried" / on_gpu_machine.NVVM, "w:xz") as file:
        file.add(tmp_path / "some/nvvm", "nvvm")
    made = tmp_path / "build/cuda"
    assert on_gpu_machine.toolkit() == str(made)
    assert (made / "nvvm/lib64/libnvvm.so.4").read_text() == "a library"
    for name in ("lib/libnvvm.so.4", "nvvm/libdevice/libdevice.10.bc"):
        (toolkit / name).parent.mkdir(parents=True)
        (toolkit / name).write_text("its own")
    assert on_gpu_machine.toolkit() == str(made)
    assert (made / "nvvm/lib64/libnvvm.so.4").read_text() == "its own"
    assert (made / "nvvm/libdevice/libdevice.10.bc").read_text() == "its own"
    (toolkit / "nvvm/lib64").mkdir()
    assert on_gpu_machine.toolkit() == str(toolkit)
    monkeypatch.setattr(on_gpu_machine, "version_of", lambda package: "13")
    assert on_gpu_machine.toolkit() == ""


def test_kernels_are_kept_with_the_times_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kernels keep the modification times of their files, which numba compares exactly."""
    file = tmp_path / "kernels" / "a.py"
    file.parent.mkdir()
    file.write_text("a kernel")
    os.utime(file, ns=(10**18, 1_764_000_000_123_456_789))
    monkeypatch.setattr(on_gpu_machine, "KERNELS", file.parent)
    on_gpu_machine.keep_kernels(tmp_path)
    on_gpu_machine.unpack(tmp_path / on_gpu_machine.KEPT_KERNELS, tmp_path / "elsewhere")
    found = tmp_path / "elsewhere/kernels/a.py"
    assert found.read_text() == "a kernel" and found.stat().st_mtime == file.stat().st_mtime
