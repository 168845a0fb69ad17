"""Executors: where the tasks of a sweep are done, in processes, a pool or a Dask cluster."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, final

from scalarviz.checks.numbers import shorten
from scalarviz.errors import EngineError, InputError
from scalarviz.sweeps.outcome import Outcome
from scalarviz.sweeps.task import Task, perform

WAITING = 2  # tasks for each worker that are sent ahead
ON_A_CLUSTER = 256  # tasks under way on a cluster, whose workers may come and go
TRIES = 3  # of a task whose worker ends
KILLED = "KilledWorker"  # Dask's error for such a task
ADDRESSES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")

Result = tuple[Task, Outcome | BaseException]


class Workers(Protocol):
    """What a sweep needs of an executor.

    most   number of tasks that are sent ahead
    tries  how often a task is begun whose worker ends
    """

    most: int
    tries: int

    def submit(self, task: Task) -> Any:
        """Begin a task, and return its future."""

    def first_of(self, futures: Iterable[Any]) -> set[Any]:
        """Wait until some of these futures are done, and return them."""

    def restart(self) -> bool:
        """Replace workers that ended; return whether that is possible here."""

    def close(self) -> None:
        """Give up what is not done, and free what belongs to this sweep."""


def workers_of(executor: object, tasks: Sequence[Task]) -> Workers:
    """Return the Workers of the argument `executor` of a sweep.

    Raises InputError for what is none, and for tasks that cannot be sent.
    """
    if executor == "processes":
        check_sendable(tasks)
        return Processes()
    if isinstance(executor, Executor):
        if isinstance(executor, ProcessPoolExecutor):
            check_start_method(executor)
            check_sendable(tasks)
        return Pool(executor)
    if executor == "dask" or (isinstance(executor, str) and executor.startswith(ADDRESSES)):
        return Cluster(executor)
    if hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        return Cluster(executor)
    raise InputError(
        "the executor of a sweep is None, 'processes', 'dask', the address of a scheduler such as "
        "'tcp://10.0.0.1:8786', a Dask Client, or an Executor of concurrent.futures, not "
        f"{shorten(executor)}"
    )


def check_start_method(executor: ProcessPoolExecutor) -> None:
    """Raise InputError for a pool that forks: threads of kernels do not survive that."""
    context = getattr(executor, "_mp_context", None)
    if context is not None and context.get_start_method() == "fork":
        raise InputError(
            "a pool that forks cannot train, since threads do not survive a fork: make it by "
            'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))'
        )


def check_sendable(tasks: Sequence[Task]) -> None:
    """Raise InputError if a task cannot be pickled, as it must be to reach another process."""
    try:
        for task in tasks[:1]:
            pickle.dumps(task)
    except Exception as error:  # of any class: objects define how they are pickled
        raise InputError(
            f"this sweep cannot be sent to other processes ({error}): define the functions that "
            "it uses at the top level of a module, not inside a function and not as lambda"
        ) from error


def results_of(workers: Workers, tasks: Iterable[Task]) -> Iterator[Result]:
    """Do tasks, and yield each with its Outcome or its error, in the order in which they end."""
    coming, tries = iter(tasks), dict[Task, int]()
    under_way: dict[Any, Task] = {}
    again: list[Task] = []
    try:
        while True:
            while len(under_way) < workers.most:
                task = again.pop() if again else next(coming, None)
                if task is None:
                    break
                try:
                    under_way[workers.submit(task)] = task
                except BrokenProcessPool:  # it is noticed by the futures below
                    again.append(task)
                    if not under_way:
                        workers.restart()
                    break
            if not under_way and not again:
                return
            lost: list[tuple[Task, BaseException]] = []
            for future in workers.first_of(under_way):
                task = under_way.pop(future)
                try:
                    yield task, future.result()
                except BrokenProcessPool as error:
                    lost.append((task, error))
                except Exception as error:  # of the task: its setting is named with it
                    is_lost = type(error).__name__ == KILLED
                    yield task, ended(workers.tries, error) if is_lost else error
            if lost:
                lost += [(task, lost[0][1]) for task in under_way.values()]
                under_way.clear()
                goes_on = workers.restart()
                for task, cause in lost:
                    tries[task] = tries.get(task, 0) + 1
                    if goes_on and tries[task] < workers.tries:
                        again.append(task)
                    else:
                        yield task, ended(tries[task], cause)
    finally:
        workers.close()


def ended(times: int, error: BaseException) -> EngineError:
    """Return the error of a task whose worker ended."""
    made = EngineError(
        f"the process that trained it ended {'once' if times == 1 else f'{times} times'} without "
        "an answer: it may have run out of memory"
    )
    made.__cause__ = error
    return made


@final
class Pool:
    """An Executor of the user."""

    def __init__(self, executor: Executor) -> None:
        self.executor, self.tries = executor, 1
        self.most = WAITING * (getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
        self._futures: list[Future[Outcome]] = []

    def submit(self, task: Task) -> Future[Outcome]:
        future = self.executor.submit(perform, task)
        self._futures = [each for each in self._futures if not each.done()] + [future]
        return future

    def first_of(self, futures: Iterable[Any]) -> set[Any]:
        return set(wait(list(futures), return_when=FIRST_COMPLETED).done)

    def restart(self) -> bool:
        return False

    def close(self) -> None:
        for future in self._futures:
            future.cancel()


@final
class Processes:
    """Processes of this sweep, one for each core."""

    def __init__(self) -> None:
        self.count, self.tries = os.cpu_count() or 1, TRIES
        self.most = WAITING * self.count
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self.count, mp_context=get_context("spawn"), initializer=begin_worker
        )

    def submit(self, task: Task) -> Future[Outcome]:
        return self._pool.submit(perform, task)

    def first_of(self, futures: Iterable[Any]) -> set[Any]:
        return set(wait(list(futures), return_when=FIRST_COMPLETED).done)

    def restart(self) -> bool:
        self.close()
        self._pool = self._new()
        return True

    def close(self) -> None:
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:  # one may be in the middle of a long task
            process.terminate()
        for process in processes:
            process.join()


def begin_worker() -> None:
    """Leave Ctrl-C to the process that started this one, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker was started by a process"
    parent.join()
    os._exit(1)


def dask_setting(name: str) -> Any:
    """Return a setting of Dask's configuration."""
    from dask import config

    return config.get(name)


@final
class Cluster:
    """Workers of Dask: a Client, the address of a scheduler, or "dask" for a cluster here."""

    def __init__(self, client: Any) -> None:
        try:
            import distributed as dask
        except ImportError:
            raise InputError(
                "Dask is not installed: pip install 'scalarviz[cluster]', or use "
                "executor='processes'"
            ) from None
        distributed: Any = dask  # half of it has types
        self._distributed = distributed
        self._own: list[Any] = []  # closed at the end
        if client == "dask":
            cluster = distributed.LocalCluster(
                n_workers=os.cpu_count() or 1, threads_per_worker=1, dashboard_address=None
            )
            self._own.append(cluster)
            client = cluster
        if not hasattr(client, "submit"):
            try:
                client = distributed.Client(client)
            except (OSError, ValueError) as error:
                self.close()
                raise InputError(
                    f"there is no scheduler at {shorten(client)} ({error}): start one by the "
                    "command dask scheduler, and workers by dask worker ADDRESS"
                ) from None
            self._own.insert(0, client)
        self.client = client
        self.tries = 1 + int(dask_setting("distributed.scheduler.allowed-failures"))
        self.most = ON_A_CLUSTER
        self._futures: set[Any] = set()

    def submit(self, task: Task) -> Any:
        future = self.client.submit(perform, task, pure=False)
        self._futures.add(future)
        return future

    def first_of(self, futures: Iterable[Any]) -> set[Any]:
        done = self._distributed.wait(list(futures), return_when="FIRST_COMPLETED").done
        self._futures -= set(done)
        return set(done)

    def restart(self) -> bool:
        return False

    def close(self) -> None:
        with suppress(Exception):  # the cluster may be gone
            self.client.cancel(list(self._futures))
        for each in self._own:
            with suppress(Exception):  # the same
                each.close()
