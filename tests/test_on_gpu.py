"""The script for a machine with a GPU, `tests.benchmarks.on_gpu`, where there is none."""

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.benchmarks import on_gpu, on_gpu_checks, on_gpu_machine
from tests.engines.test_cuda import needs_numba_cuda

ROOT = Path(__file__).parents[1]

# What the tools of NVIDIA print around a program, which they run.
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
echo "==PROF== Connected to process 7"
"$@" || exit 1
echo '"ID","Process Name","Kernel Name","Metric Name","Metric Unit","Metric Value"'
echo '"0","python","train","gpu__time_duration.sum","us","131.07"'
echo '"0","python","train","sm__inst_executed.sum","inst","7,812,345"'
"""
# The simulator takes whole steps part by part, and these kernels are not compiled before on a card.
IN_PARTS = "samples_alone", "sums_alone", "squares_alone"


def run_on_gpu(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script in the simulator, with tools of NVIDIA that find nothing."""
    tools, kernels = folder / "tools", folder / "kernels"
    for name, text in (("compute-sanitizer", SANITIZER), ("ncu", NCU)):
        tools.mkdir(exist_ok=True)
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    known = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "SCALARVIZ_CACHE_DIR": str(kernels)}
    known["PATH"] = f"{tools}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-m", "tests.benchmarks.on_gpu", str(folder / "results"), *words]
    return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True)


def rows_of(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "results" / "on_gpu.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@needs_numba_cuda
def test_parts_run_and_their_results_are_kept(tmp_path: Path) -> None:
    done = run_on_gpu(tmp_path, "versions", "profile")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("on_gpu.jsonl: all right\n")
    rows = rows_of(tmp_path)
    assert {"part": "versions", "can_run": True, "lack": ""} in rows
    (measured,) = [row for row in rows if "sm__inst_executed.sum" in row]
    assert measured["gpu__time_duration.sum"] == "131.07 us"
    assert json.dumps(measured) in done.stdout


@pytest.mark.slow
@needs_numba_cuda
def test_every_part_runs_and_compiles_its_kernels_before(tmp_path: Path) -> None:
    def kernels() -> set[str]:
        return {path.name for path in (tmp_path / "kernels").glob("cuda_*.py")}

    done = run_on_gpu(tmp_path, "compile")
    assert done.returncode == 0, done.stdout + done.stderr
    compiled = kernels()
    done = run_on_gpu(
        tmp_path, *[name for name in on_gpu.PARTS if name not in ("compile", "matrix")]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    others = {name.split("_float")[0].removeprefix("cuda_") for name in kernels() - compiled}
    assert others <= set(IN_PARTS)
    done = run_on_gpu(tmp_path, "matrix")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(tmp_path)
    assert {row["part"] for row in rows if row.get("status") == 0} == set(on_gpu.PARTS)
    assert not [row for row in rows if row.get("good") is False]
    # No folders, and three files in all groups, of which `matrix` makes two for each mark.
    assert all(path.is_file() for path in (tmp_path / "results").iterdir())
    assert len([*(tmp_path / "results").iterdir()]) <= 5


def test_a_part_leaves_time_for_those_after_it() -> None:
    _, most = on_gpu.PARTS["speed"][1:]
    kept = on_gpu.PARTS["growth"][1]
    assert on_gpu.limit_of("speed", ["growth"], 1000.0) == most
    assert on_gpu.limit_of("speed", ["growth"], most + kept - 50.0) == most - 50.0
    assert on_gpu.limit_of("speed", ["growth"], 30.0) == 30.0
    for group in on_gpu.GROUPS.values():
        assert sum(on_gpu.PARTS[name][1] for name in group) < on_gpu.MOST_SECONDS


def test_the_summary_has_what_was_wrong_left_out_or_measured() -> None:
    rows = [
        {"part": "bits", "what": "3 runs", "good": True},
        {"part": "bits", "what": "a grid", "good": False},
        {"part": "fused", "wrong": "None", "good": True},
        {"part": "compile", "wrong": "LinkerError: too old"},
        {"part": "smoke", "status": 0},
        {"part": "smoke", "status": "out of time"},
        {"part": "sanitizer", "left_out": "compute-sanitizer is not installed"},
        {"part": "speed", "side": "JAX", "us": 3.0},
    ]
    lines = [json.dumps(row) for row in rows]
    assert on_gpu.summary(lines) == [lines[1], lines[3], *lines[5:]]


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
    path, rows = tmp_path / "compute-sanitizer", list[dict[str, object]]()
    clean = {"racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"}
    lines = {name: clean.get(name, "ERROR SUMMARY: 0 errors") for name in on_gpu_checks.CLEAN}
    lines[tool] = said
    cases = "\n".join(f"{name}) echo '{line}' ;;" for name, line in lines.items())
    path.write_text(f"#!/bin/sh\ncase $2 in\n{cases}\nesac\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert not on_gpu_checks.sanitizer(lambda part, **found: rows.append({"part": part, **found}))
    assert {row["tool"]: row["good"] for row in rows} == {name: name != tool for name in lines}


def test_libnvvm_is_found_wherever_a_toolkit_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolkit = tmp_path / "toolkit"
    monkeypatch.setattr(on_gpu_machine, "TOOLKIT", toolkit)
    monkeypatch.setattr(on_gpu_machine, "BUILD", tmp_path / "build")
    monkeypatch.setattr(on_gpu_machine, "CARRIED", tmp_path / "carried")
    monkeypatch.setattr(on_gpu_machine, "installed", lambda package: False)
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
    monkeypatch.setattr(on_gpu_machine, "installed", lambda package: True)
    assert on_gpu_machine.toolkit() == ""


def test_kernels_are_kept_with_the_times_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """numba compares the times, to the fraction of a second."""
    file = tmp_path / "kernels" / "a.py"
    file.parent.mkdir()
    file.write_text("a kernel")
    os.utime(file, ns=(10**18, 1_764_000_000_123_456_789))
    monkeypatch.setattr(on_gpu_machine, "KERNELS", file.parent)
    on_gpu_machine.keep_kernels(tmp_path)
    on_gpu_machine.unpack(tmp_path / on_gpu_machine.KEPT_KERNELS, tmp_path / "elsewhere")
    found = tmp_path / "elsewhere/kernels/a.py"
    assert found.read_text() == "a kernel" and found.stat().st_mtime == file.stat().st_mtime
