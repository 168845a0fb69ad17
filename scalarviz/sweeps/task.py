"""Task: the unit of work of a sweep, which a process here or on another machine can do."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import numpy as np

from scalarviz.errors import EngineError, InputError
from scalarviz.files.checked_safetensors import encode
from scalarviz.files.runs import check_saving, describe_timeline
from scalarviz.sweeps.goal import code_of
from scalarviz.sweeps.grid import Make, Setting, session_of
from scalarviz.sweeps.outcome import Outcome
from scalarviz.sweeps.training import OneByOne, Plan, Training, trains_together
from scalarviz.sweeps.versions import difference, versions_here
from scalarviz.training.session.replicas import Replicas
from scalarviz.training.session.session import Session

STEP_SECONDS = 1e-6  # about what a step of the smallest network takes
PRODUCTS_A_SECOND = 1e9
TASK_SECONDS = 4.0  # about what a task takes at most
MOST_NETWORKS = 1024  # of a task


@final
@dataclass(frozen=True, eq=False)
class Task:
    """Some seeds of one setting.

    number    number of the setting in the sweep
    seeds     seeds of the networks
    plan      what is done with them
    key       digest of everything that the result depends on; "" if a file cannot hold all of that
    together  whether one session stands for all, which differ in their seed only
    files     run files of the sessions, one for all or one a seed; none: `make` makes them
    make      function that makes a session of a setting and a seed; None if there are files
    setting   its arguments
    versions  of the libraries that wrote the files
    """

    number: int
    seeds: tuple[int, ...]
    plan: Plan
    key: str
    together: bool
    files: tuple[bytes, ...]
    make: Make | None
    setting: Setting
    versions: dict[str, str]

    def start(self) -> Training:
        """Return the Training of this task, before its first step."""
        if self.files:
            sessions = [session_in(file) for file in self.files]
        else:
            assert self.make is not None  # one of the two is there
            asked = self.seeds[:1] if self.together else self.seeds
            sessions = [session_of(self.make, self.setting, seed) for seed in asked]
        networks = Replicas(sessions[0], self.seeds) if self.together else OneByOne(sessions)
        return Training(networks, sessions[0], self.seeds, self.plan)

    def train(self) -> Outcome:
        """Train the networks of this task to the end."""
        training = self.start()
        while not training.done:
            training.advance()
        return training.outcome()


def perform(task: Task) -> Outcome:
    """Do a task in a worker, on one thread; raise EngineError if its versions are others."""
    import numba  # slow to import

    if other := difference(task.versions):
        raise EngineError(
            f"this worker has {other}: install the same versions on all machines of a sweep"
        )
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        return task.train()
    finally:
        numba.set_num_threads(threads)


def tasks_of(
    number: int, make: Make, setting: Setting, seeds: Sequence[int], plan: Plan
) -> list[Task]:
    """Return the tasks of one setting: all its seeds, or parts of them if they take long.

    The parts do not depend on the number of workers, so that results serve any executor.
    """
    first = session_of(make, setting, seeds[0])
    together = trains_together(first, seeds, partial(session_of, make, setting))
    saved = can_be_saved(first)
    common: tuple[bytes, ...] = (file_of(first),) if together and saved else ()
    most = networks_of_a_task(first, plan)
    tasks = []
    for start in range(0, len(seeds), most):
        part = tuple(seeds[start : start + most])
        files = common
        if saved and not together:
            files = tuple(file_of(session_of(make, setting, seed)) for seed in part)
        key = key_of(files, part, plan) if saved else ""
        tasks.append(
            Task(
                number, part, plan, key, together, files,
                None if saved else make, setting, dict(versions_here()),
            )
        )  # fmt: skip
    return tasks


def networks_of_a_task(session: Session, plan: Plan) -> int:
    """Return how many networks a task has, which differs with the time that a network takes."""
    products = 3.0 * session.trainer.batches.size * len(session.network.bank)
    seconds = plan.steps * (STEP_SECONDS + products / PRODUCTS_A_SECOND)
    return int(min(max(1.0, TASK_SECONDS / max(seconds, 1e-9)), MOST_NETWORKS))


def can_be_saved(session: Session) -> bool:
    """Return whether a run file can hold a session."""
    try:
        check_saving(session.timeline)
        file_of(session)
    except InputError:
        return False
    return True


def file_of(session: Session) -> bytes:
    """Return the bytes of the run file of a session."""
    return bytes(encode("run", *describe_timeline(session.timeline, session.network)))


def session_in(file: bytes) -> Session:
    """Return the session of a run file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.safetensors"
        path.write_bytes(file)
        return Session.load(path)


def key_of(files: Sequence[bytes], seeds: Sequence[int], plan: Plan) -> str:
    """Return a digest of everything that a result depends on, except the processor."""
    goals = [goal.key if goal else "" for goal in (plan.success, plan.stop)]
    metrics = [f"{name} {code_of(row.value)}" for name, row in plan.metrics.items()]
    parts = [plan.steps, plan.every, plan.keep, *goals, *metrics, sorted(versions_here().items())]
    found = hashlib.sha256(repr(parts).encode())
    found.update(np.array(seeds, np.uint64).tobytes())
    for file in files:
        found.update(hashlib.sha256(file).digest())
    return found.hexdigest()[:32]
