"""Executors: the same bits from every one, and faults of workers cost only what they trained."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import EngineError, InputError
from scalarviz.sweeps import executors
from scalarviz.sweeps import tasks as task
from scalarviz.sweeps.tasks import versions_here
from tests.root import ROOT
from tests.sessions import advanced
from tests.sweeps.making import (
    GRID,
    always_killing,
    close,
    digests,
    digests_here,
    killing,
    own_data,
    xor,
)
from tests.waiting import until
from tests.wording import refused


@pytest.fixture(scope="module")
def here() -> list[tuple[str, ...]]:
    return digests_here()


@pytest.mark.slow
def test_processes_give_the_same_bits(here: list[tuple[str, ...]]) -> None:
    runs = sv.sweep(xor, GRID, seeds=range(4), executor="processes", success=close)
    seen = list(runs.train(30))
    assert digests(runs) == here
    assert [now.done for now in seen] == [0, 4, 8, 12]


def test_sessions_with_data_of_their_own_can_be_sent() -> None:
    alone = advanced(sv.sweep(own_data, {"noise": [0.1]}, seeds=[1, 4]), 20)
    with ThreadPoolExecutor(1) as pool:
        runs = advanced(sv.sweep(own_data, {"noise": [0.1]}, seeds=[1, 4], executor=pool), 20)
    assert digests(runs) == digests(alone)


def test_a_function_that_cannot_be_pickled_makes_sessions_that_are_sent_as_files(
    here: list[tuple[str, ...]],
) -> None:
    runs = sv.sweep(lambda hidden, seed: xor(hidden, seed=seed), GRID, range(4))
    tasks = runs._tasks(30, 1)
    executors.check_sendable(tasks)
    assert [len(each.files) for each in tasks] == [1, 1, 1]


def test_a_condition_that_cannot_be_pickled_is_refused_before_anything_is_trained() -> None:
    with refused(InputError):
        sv.sweep(xor, GRID, executor="processes", success=lambda outputs, targets: True).advance(5)


def test_a_pool_that_forks_is_refused() -> None:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool, refused(InputError):
        sv.sweep(xor, GRID, executor=pool).advance(5)


def test_a_worker_of_other_versions_is_refused() -> None:
    (sent, *_) = sv.sweep(xor, GRID)._tasks(5, 1)
    sent.versions["numba"] = "0.1"
    with refused(EngineError):
        task.perform(sent)
    assert versions_here()["numba"] != "0.1"


@pytest.mark.slow  # three pools are started
def test_a_killed_worker_costs_only_what_it_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("SWEEP_MARKS", str(tmp_path))
    monkeypatch.setenv("SWEEP_PARENT", str(os.getpid()))
    runs = advanced(sv.sweep(xor, GRID, seeds=range(4), executor="processes", success=killing), 30)
    assert (tmp_path / "killed").exists() and not runs.errors
    assert digests(runs) == here


@pytest.mark.slow  # several pools are started
def test_a_task_that_ends_its_worker_each_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_PARENT", str(os.getpid()))
    runs = advanced(sv.sweep(xor, {"hidden": [2]}, executor="processes", success=always_killing), 5)
    assert "ended 3 times without an answer" in runs.table().columns["error"][0]


def test_tasks_of_a_pool_whose_workers_have_ended_are_named() -> None:
    class Ended(ThreadPoolExecutor):
        def submit(self, *given: Any, **named: Any) -> Any:
            raise BrokenProcessPool("a worker was killed")

    with Ended(1) as pool:
        runs = sv.sweep(xor, {"hidden": [2, 3]}, executor=pool)
        runs.advance(5)
    assert all("ended once" in error for error in runs.table().columns["error"])


JOB = """
import signal
import scalarviz as sv
from tests.patience import HANG
from tests.sweeps.making import xor

if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run below nohup, which ignores it
    runs = sv.sweep(xor, {"hidden": list(range(2, 30))}, seeds=range(200), executor="processes")
    runs.advance(3_000_000, progress=False)
"""


def workers_of(parent: int) -> set[int]:
    """Return the processes that a pool in a process has started, by Linux's tables."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = path.read_text().rpartition(")")[2].split()[:2]
            begun_by = (path.parent / "cmdline").read_text()
            if int(owner) == parent and "spawn_main" in begun_by and state not in "ZX":
                found.add(int(path.parent.name))
    return found


def lives(process: int) -> bool:
    with suppress(OSError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX"
    return False


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's tables")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_workers_end_with_the_sweep_however_it_ends(name: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(JOB)
    words = [sys.executable, str(tmp_path / "job.py")]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env=env, stdout=quiet, stderr=quiet) as job:
        until(lambda: workers_of(job.pid))
        time.sleep(2.0)
        workers = workers_of(job.pid)
        job.send_signal(getattr(signal, name))
    until(lambda: not any(map(lives, workers)))
