"""Run the tasks of a sweep in processes, in a custom executor or on a Dask cluster."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from typing import Any, final

from scalarviz.base.checks import require, shorten
from scalarviz.base.shell_commands import needed
from scalarviz.errors import EngineError, InputError
from scalarviz.sweeps.tasks import Outcome, SweepTask, perform

WAITING = 2  # tasks sent ahead for each worker
ON_A_CLUSTER = 256  # tasks in progress on a cluster, whose workers may change
TRIES = 3  # attempts of a task whose worker ends
KILLED = "KilledWorker"  # Dask's error for such a task
ADDRESSES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")

Result = tuple[SweepTask, Outcome | BaseException]


@final
@dataclass
class Workers:
    """Workers that run the tasks of a sweep.

    Attributes:
        executor: an Executor of concurrent.futures, or a Client of Dask
        wait: function that waits for futures, like `concurrent.futures.wait`
        most: maximum number of tasks submitted and not yet finished
        end: function `end(executor, futures)` that cancels unfinished futures and frees resources
        tries: maximum number of attempts for a task whose worker process dies
        make: function that returns a new executor after a worker process has died, or None
        options: keyword arguments of `executor.submit`
    """

    executor: Any
    wait: Callable[..., Any]
    most: int
    end: Callable[[Any, list[Any]], None]
    tries: int = 1
    make: Callable[[], Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def submit(self, task: SweepTask) -> Any:
        """Submit a task and return its future, which holds the error if the pool is broken."""
        try:
            return self.executor.submit(perform, task, **self.options)
        except BrokenProcessPool as error:
            future: Future[Outcome] = Future()
            future.set_exception(error)
            return future

    def restart(self) -> None:
        """Replace the executor by a new one, if `make` is set."""
        if self.make is not None:
            self.end(self.executor, [])
            self.executor = self.make()


def workers_of(executor: object, tasks: Sequence[SweepTask]) -> Workers:
    """Return the Workers for the argument `executor` of a sweep.

    Raises:
        InputError: for an invalid executor, or for tasks that cannot be pickled.
    """
    if executor == "processes":
        check_sendable(tasks)
        count = os.cpu_count() or 1
        return Workers(
            processes(), wait, WAITING * count, end_processes, tries=TRIES, make=processes
        )
    if isinstance(executor, Executor):
        if isinstance(executor, ProcessPoolExecutor):
            context = getattr(executor, "_mp_context", None)
            require(
                context is None or context.get_start_method() != "fork",
                "a forking pool cannot train, since threads do not survive a fork: make it with "
                'ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"))',
            )
            check_sendable(tasks)
        count = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        return Workers(executor, wait, WAITING * count, cancel)
    if executor == "dask" or (isinstance(executor, str) and executor.startswith(ADDRESSES)):
        return cluster(executor)
    if hasattr(executor, "submit") and hasattr(executor, "scheduler_info"):
        return cluster(executor)
    raise InputError(
        "the executor of a sweep is None, 'processes', 'dask', the address of a scheduler such as "
        "'tcp://10.0.0.1:8786', a Dask Client, or an Executor of concurrent.futures, not "
        f"{shorten(executor)}"
    )


def check_sendable(tasks: Sequence[SweepTask]) -> None:
    """Raise InputError if a task cannot be pickled for another process."""
    try:
        for task in tasks[:1]:
            pickle.dumps(task)
    except Exception as error:  # of any class: objects define how they are pickled
        raise InputError(
            f"this sweep cannot be sent to other processes ({error}): define the functions that "
            "it uses at the top level of a module, not inside a function and not as lambda"
        ) from error


def results_of(workers: Workers, tasks: Iterable[SweepTask]) -> Iterator[Result]:
    """Run tasks, and yield each task with its Outcome or error, in order of completion."""
    coming, tries = iter(tasks), Counter[SweepTask]()
    under_way: dict[Any, SweepTask] = {}
    again: list[SweepTask] = []
    try:
        while True:
            while len(under_way) < workers.most:
                task = again.pop() if again else next(coming, None)
                if task is None:
                    break
                under_way[workers.submit(task)] = task
            if not under_way:
                return
            lost: dict[SweepTask, BaseException] = {}
            for future in workers.wait(list(under_way), return_when=FIRST_COMPLETED).done:
                task = under_way.pop(future)
                try:
                    yield task, future.result()
                except BrokenProcessPool as error:
                    lost[task] = error
                except Exception as error:  # raised by the task: named with its setting
                    is_lost = type(error).__name__ == KILLED
                    yield task, ended(workers.tries, error) if is_lost else error
            if lost:
                lost |= dict.fromkeys(under_way.values(), next(iter(lost.values())))
                under_way.clear()
                workers.restart()
                for task, cause in lost.items():
                    tries[task] += 1
                    if tries[task] < workers.tries:
                        again.append(task)
                    else:
                        yield task, ended(tries[task], cause)
    finally:
        workers.end(workers.executor, list(under_way))


def ended(times: int, error: BaseException) -> EngineError:
    """Return the EngineError for a task whose worker process died."""
    made = EngineError(
        f"the process that trained it ended {'once' if times == 1 else f'{times} times'} without "
        "an answer: it may have run out of memory"
    )
    made.__cause__ = error
    return made


def cancel(executor: Executor, futures: list[Any]) -> None:
    """Cancel the unfinished futures of an executor that was passed by the user."""
    for future in futures:
        future.cancel()


def processes() -> ProcessPoolExecutor:
    """Return a new process pool with one worker per core."""
    return ProcessPoolExecutor(
        os.cpu_count() or 1, mp_context=get_context("spawn"), initializer=begin_worker
    )


def end_processes(pool: ProcessPoolExecutor, futures: list[Any]) -> None:
    """Shut down a process pool and terminate its workers."""
    ending = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in ending:  # one may be in the middle of a long task
        process.terminate()
    for process in ending:
        process.join()


def begin_worker() -> None:
    """Ignore Ctrl-C, which the parent process handles, and exit when the parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None, "a worker was started by a process"
    parent.join()
    os._exit(1)


def cluster(client: Any) -> Workers:
    """Return Workers for a Dask Client, a scheduler address, or "dask" (a local cluster).

    Raises:
        InputError: if Dask is not installed, or if no scheduler responds.
    """
    distributed = needed(
        "distributed", "a cluster needs Dask", "cluster", ", or use executor='processes'"
    )
    from dask import config

    own: list[Any] = []  # tasks begun by this sweep

    def end(client: Any, futures: list[Any]) -> None:
        with suppress(Exception):  # the cluster may be down
            client.cancel(futures)
        for each in own:
            with suppress(Exception):  # the same
                each.close()

    if client == "dask":
        client = distributed.LocalCluster(
            n_workers=os.cpu_count() or 1, threads_per_worker=1, dashboard_address=None
        )
        own.append(client)
    if not hasattr(client, "submit"):
        try:
            client = distributed.Client(client)
        except (OSError, ValueError) as error:
            end(client, [])
            raise InputError(
                f"no scheduler found at {shorten(client)} ({error}): start one with dask "
                "scheduler, and workers with dask worker ADDRESS"
            ) from None
        own.insert(0, client)
    tries = 1 + int(config.get("distributed.scheduler.allowed-failures"))
    return Workers(client, distributed.wait, ON_A_CLUSTER, end, tries, options={"pure": False})
