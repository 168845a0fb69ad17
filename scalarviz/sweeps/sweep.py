"""Sweep: train networks with many settings and seeds, and compare their results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import (
    FloatArray,
    answered,
    not_copied,
    shorten,
    size,
    true_or_false,
)
from scalarviz.base.messages import caution, visible
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.metric_formulas import is_one_hot, rows_of_metrics
from scalarviz.errors import FileError, InputError, OrderError
from scalarviz.files.atomic import as_path, shown
from scalarviz.files.runs import bits_of
from scalarviz.sweeps.executors import results_of, workers_of
from scalarviz.sweeps.results import (
    Interval,
    SweepTable,
    beats,
    table_of_runs,
    table_of_settings,
)
from scalarviz.sweeps.sweep_arguments import (
    RIGHT,
    Make,
    Setting,
    goal_of,
    ranking_of,
    seeds_of,
    session_of,
    settings_of,
)
from scalarviz.sweeps.tasks import (
    NEVER,
    Outcome,
    Plan,
    SweepTask,
    TaskTraining,
    joined,
    processor_here,
    samples_of,
    tasks_of,
)
from scalarviz.training.session.measurements import has_all_targets
from scalarviz.training.session.session import Session

CHECKS = 40  # checks of a training run, unless `every` is given
SOME = 20  # settings made to examine them
MOST_JUDGED = 1000  # samples of data for which "all right" is the default success


class Progressed(NamedTuple):
    """Progress of a sweep.

    Attributes:
        step: smallest step of the networks that are being trained in this process
        done: number of finished networks
        failed: number of networks that failed with a non-finite number or an error
        total: number of networks
    """

    step: int
    done: int
    failed: int
    total: int


@final
class Sweep:
    """Networks with many settings and seeds; returned by `sv.sweep`.

    Attributes:
        make: function that makes a session from a setting and a seed
        settings: the settings, each a mapping from argument names to values
        seeds: seeds; each setting has one network per seed
        success: description of the success criterion, or ""
        ranking: quantity by which settings and networks are ranked
        step: number of steps requested from `advance` or `train`
        errors: error of each failed setting, by setting number; other settings continue
    """

    def __init__(
        self,
        make: Make,
        grid: object,
        seeds: Iterable[int],
        success: object,
        stop: object,
        goal: object,
        metrics: object,
        executor: object,
        folder: object,
    ) -> None:
        self.settings: list[Setting] = settings_of(make, grid)
        self.seeds = seeds_of(seeds, len(self.settings))
        self.make, self._executor = make, executor
        first, rows = next(self._some_sessions(), None), rows_of_metrics(metrics)
        held_out = first is not None and first.data.held_out is not None
        self.ranking, self._metrics = ranking_of(goal, rows, held_out)
        self._store = None if folder is None else Store(folder)
        if isinstance(success, str) and success == "auto":
            success = None if first is None else usual_success(first)
        self._success = goal_of(success, "success")
        self._stop = self._success if stop == "success" else goal_of(stop, "stop")
        if stop == "success" and self._stop is None:
            raise InputError("stop='success' needs success=, such as success=0.05")
        self.step = 0
        self.errors: dict[int, BaseException] = {}
        self._outcomes: dict[int, list[Outcome]] = {}
        self._trainings: list[tuple[SweepTask, TaskTraining]] = []  # those in progress

    def _some_sessions(self) -> Iterator[Session]:
        """Yield sessions of a few settings, skipping settings that raise an error."""
        count = len(self.settings)
        for number in np.linspace(0, count - 1, min(count, SOME)).round().astype(int).tolist():
            try:
                yield session_of(self.make, self.settings[number], self.seeds[0])
            except Exception:  # of any class: training names the setting with its error
                continue

    @property
    def metrics(self) -> list[str]:
        """Names of the measured metrics."""
        return list(self._metrics)

    __reduce_ex__ = not_copied("a sweep", "save its table instead")

    @property
    def success(self) -> str:
        return self._success.words if self._success else ""

    def __len__(self) -> int:
        return len(self.settings) * len(self.seeds)

    # Training.

    def advance(self, steps: int, every: int | None = None, *, progress: bool = True) -> None:
        """Train all networks from their initial weights, and return when done.

        Args:
            steps: number of training steps of each network
            every: number of steps between checks; None (default) makes 40 checks
            progress: whether to show a progress bar in a terminal or notebook; by default True

        If a setting raises an error, it is stored in `errors`, and the other settings continue.
        After Ctrl-C, finished results are kept; the next call starts over, except for results
        stored in the folder.
        """
        with Progress(len(self), true_or_false(progress, "progress"), "networks") as bar:
            for now in self._by_tasks(*self._asked(steps, every)):
                bar.tell(now.done)

    def train(self, steps: int, every: int | None = None) -> Iterator[Progressed]:
        """Train like `advance`, and yield the progress after every check or task.

        Without an executor, all networks advance together from check to check, and can be examined
        at each check. With an executor, results appear task by task. Training runs only while you
        iterate, as in `for now in runs.train(2000)`.
        """
        asked = self._asked(steps, every)
        return self._by_tasks(*asked) if self._executor is not None else self._by_checks(*asked)

    def _asked(self, steps: int, every: int | None) -> tuple[int, int]:
        steps = size(steps, "steps")
        every = max(1, steps // CHECKS) if every is None else size(every, "every")
        return steps, min(every, steps)

    def _tasks(self, steps: int, every: int) -> list[SweepTask]:
        """Return the tasks of all settings; errors raised by `make` are stored in `errors`."""
        plan = Plan(steps, every, self._success, self._stop, self._metrics)
        tasks: list[SweepTask] = []
        as_files = self._executor is not None or self._store is not None
        self.errors = {}
        for number, setting in enumerate(self.settings):
            try:
                tasks += tasks_of(number, self.make, setting, self.seeds, plan, as_files)
            except Exception as error:  # of any class: raised by the user's function
                self.errors[number] = error
        if self.errors and not tasks:
            raise next(iter(self.errors.values()))
        self._outcomes, self._trainings, self.step = {}, [], steps
        return tasks

    def _known(self, tasks: list[SweepTask]) -> list[SweepTask]:
        """Load the results stored in the folder, and return the tasks without stored results."""
        left = []
        for task in tasks:
            found = self._store.find(task) if self._store else None
            if found is None:
                left.append(task)
            else:
                self._add(task, found)
        return left

    def _add(self, task: SweepTask, outcome: Outcome) -> None:
        parts = self._outcomes.setdefault(task.number, [])
        parts.append(outcome)
        order = {seed: i for i, seed in enumerate(self.seeds)}
        parts.sort(key=lambda part: order[int(part.seeds.view(np.uint64)[0])])

    def _finish(self, task: SweepTask, outcome: Outcome) -> None:
        self._add(task, outcome)
        if self._store:
            self._store.keep(task, outcome)

    def _by_tasks(self, steps: int, every: int) -> Iterator[Progressed]:
        left = self._known(self._tasks(steps, every))
        yield self.progressed
        if self._executor is None:
            for task in left:
                self._finish(task, task.train())
                yield self.progressed
        elif left:
            for first in {task.number: task for task in reversed(left)}.values():
                first.start().networks.prepare()  # compiles the kernels once for all workers
            for task, result in results_of(workers_of(self._executor, left), left):
                if isinstance(result, Outcome):
                    self._finish(task, result)
                else:
                    self.errors[task.number] = result
                yield self.progressed
        self._check_results()

    def _by_checks(self, steps: int, every: int) -> Iterator[Progressed]:
        left = self._known(self._tasks(steps, every))
        self._trainings = trainings = [(task, task.start()) for task in left]
        while trainings:
            for _, training in trainings:
                training.advance()
            for ended in [each for each in trainings if each[1].done]:
                trainings.remove(ended)
                self._finish(ended[0], ended[1].outcome())
            yield self.progressed
        self._check_results()

    @property
    def progressed(self) -> Progressed:
        """Current progress of training."""
        running = [training for _, training in self._trainings]
        ended = [part for parts in self._outcomes.values() for part in parts]
        lost = len(set(self.errors) - set(self._outcomes)) * len(self.seeds)
        failed = lost + sum(int((part.failed != NEVER).sum()) for part in ended)
        failed += sum(int((training.failed != NEVER).sum()) for training in running)
        done = lost + sum(len(part.seeds) for part in ended)
        done += sum(int((~training.running).sum()) for training in running)
        step = min((training.step for training in running), default=self.step if ended else 0)
        return Progressed(step, done, failed, len(self))

    def _check_results(self) -> None:
        """Warn if results do not depend on the seed, or come from different processors."""
        ended = sorted(self._outcomes.items()) if len(self.seeds) > 1 else []
        same = [number for number, parts in ended if len({d for p in parts for d in p.digests}) < 2]
        if same:
            caution(
                f"all runs of the settings {shorten(same)} have equal numbers for all seeds: let "
                "make pass the seed on, sv.Network(sizes, seed=seed) and sv.Session(..., "
                "seed=seed)"
            )
        found = {part.processor for parts in self._outcomes.values() for part in parts}
        if len(found | {processor_here()}) > 1:
            caution(
                f"the runs were trained on {len(found)} kinds of processors, which may round "
                "differently: opening one here may give slightly different numbers"
            )

    # Results.

    def outcome(self, setting: int) -> Outcome:
        """Return the results of a setting, one row per seed; raise OrderError if missing."""
        number = self._number(setting)
        parts = [*self._outcomes.get(number, [])]
        parts += [training.outcome() for task, training in self._trainings if task.number == number]
        if not parts:
            if number in self.errors:
                raise self.errors[number]
            raise OrderError(
                f"setting {number} has no results yet: call advance(2000) on the sweep first"
            )
        return joined(parts)

    def knows(self, setting: int) -> bool:
        """Return whether a setting has results or an error."""
        under_way = [task.number for task, _ in self._trainings]
        return any(setting in each for each in (self._outcomes, under_way, self.errors))

    def _number(self, setting: object) -> int:
        count = len(self.settings)
        if isinstance(setting, (int, np.integer)) and -count <= setting < count:
            return int(setting) % count
        raise InputError(f"the sweep has settings 0 to {count - 1}, not {shorten(setting)}")

    def __getitem__(self, place: tuple[int, int]) -> Session:
        """Return one run as a Session: `runs[4, 17]` is setting 4 with seed 17.

        The session is trained again to the end of the run, so its whole history is available. Its
        weights equal the run's weights bit for bit. If they differ, for example because the run was
        trained on another machine, a warning is logged.
        """
        if not (isinstance(place, tuple) and len(place) == 2):
            raise InputError(
                "a run has the number of its setting and its seed, runs[4, 17], not "
                f"{shorten(place)}"
            )
        number, seed = self._number(place[0]), place[1]
        if seed not in self.seeds:
            raise InputError(
                f"the sweep has the seeds {shorten(self.seeds)}, and no {shorten(seed)}"
            )
        session = session_of(self.make, self.settings[number], int(seed))
        if number in self.errors or not self.knows(number):
            return session
        outcome = self.outcome(number)
        row = outcome.row_of(int(seed))
        session.advance(int(outcome.lasted[row]))
        if bits_of(session.network.bank) != outcome.digests[row]:
            was, here = outcome.processor, processor_here()
            why = (
                "slightly different numbers here than in the original training, on " + was
                if was != here
                else "different numbers than in the original training: make does not return "
                "equal sessions for equal arguments"
            )
            caution(f"run {number}, {seed} has {why}")
        return session

    def table(self) -> SweepTable:
        """Return a table with one row per setting, in the order of `settings`.

        The columns are the names of the grid; `runs`; `rank`, 1 for the best setting by the goal;
        `success`, the share of successful runs, with `success low` and `success high`, the 95 %
        Wilson interval; `steps to success`, the median over successful runs; `loss`, the
        interquartile mean of the last measured losses, with `loss low` and `loss high`, the 95 %
        bootstrap interval; the same three columns for another goal; `failed`, the number of runs
        with non-finite numbers; the mean of each metric; `seconds`, the time for training and
        measurements; and `error`, if a setting raised one.
        """
        return table_of_settings(self)

    def runs(self) -> SweepTable:
        """Return a table with one row per run: setting, seed, loss, success, failure and digest."""
        return table_of_runs(self)

    def to_pandas(self) -> Any:
        """Return `runs()` as a pandas DataFrame; raise InputError if pandas is not installed."""
        return self.runs().to_pandas()

    def save(self, path: object) -> None:
        """Save `runs()` to a `.csv` or `.parquet` file."""
        self.runs().save(path)

    def beats(self, setting: int, other: int) -> Interval:
        """Return the probability that a run of `setting` beats a run of `other` by the goal.

        Returns an Interval with the ends `low` and `high` of the 95 % bootstrap interval. Ties
        count half.
        """
        return beats(*(self.outcome(each).scores(self.ranking) for each in (setting, other)))

    def losses(self, setting: int) -> FloatArray:
        """Return the mean training loss between consecutive checks, shape (seeds, checks)."""
        return self.outcome(setting).losses

    def __repr__(self) -> str:
        names = ", ".join(map(visible, self.settings[0]))
        trained = f"step {self.step:,}" if self.step else "not trained yet"
        lost = f", {len(self.errors)} settings with errors" if self.errors else ""
        return (
            f"Sweep({len(self.settings):,} settings of {names or 'nothing'} x {len(self.seeds):,} "
            f"seeds; {trained}{lost})"
        )


def usual_success(session: Session) -> str | None:
    """Return the default success criterion: "all right" for small two-class data, or None.

    One-hot classes have no default, since "all right" would be slow and rarely reached.
    """
    targets = samples_of(session)[1]
    has_sides = len(np.unique(targets)) == 2 and not is_one_hot(targets)
    fits = len(targets) <= MOST_JUDGED and has_all_targets(session.trainer.settings)
    return RIGHT if has_sides and fits else None


@answered
def sweep(
    make: Make,
    grid: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    seeds: Iterable[int] = range(10),
    *,
    success: object = "auto",
    stop: object = None,
    goal: str | None = None,
    metrics: object = (),
    executor: object = None,
    folder: object = None,
) -> Sweep:
    """Return a Sweep, which trains every combination of settings with many seeds.

    Args:
        make: function that takes the names of the grid and `seed` as keyword arguments, and returns
            an untrained Session, or a Show (as the function of a scene does). Training is fastest
            if the function passes the seed only to a network and a session
        grid: mapping from argument names to lists of values; the settings are all combinations of
            the values. Or a list of settings, each a mapping from argument names to values
        seeds: non-negative integers, one for each network of a setting; 0 to 9 by default
        success: success criterion, tested at every check: an upper bound on the mean loss since the
            previous check; a function f(outputs, targets) -> bool of all training samples; "all
            right": every output is on the same side of the targets' midpoint as its target or, for
            one-hot targets, the largest output is the right class; or None. By default "all right"
            for at most 1,000 samples whose targets have two values and are not one-hot, otherwise
            None
        stop: criterion for stopping a network early: "success", or a criterion of the same kind as
            `success`; None (default) never stops early
        goal: quantity for ranking settings and networks: "loss", "held_out_loss", or the name of a
            metric, prefixed with "held_out_" for held-out samples, such as "held_out_accuracy".
            Larger is better for metrics like accuracy, and for a custom function if its name is
            prefixed with "-". By default "held_out_loss" if the data has held-out samples, else
            "loss"
        metrics: names of metrics, or functions f(predictions, targets) -> float. They are measured
            at every check on the training samples (at most 4,096, evenly spaced), and at every
            fourth check and at the end on the held-out samples, together with the held-out loss
        executor: None (default) trains in this process; otherwise "processes", an Executor of
            concurrent.futures, a Dask Client, the address of a Dask scheduler, or "dask" for a
            local cluster. Functions are pickled, so use only clusters that you trust
        folder: folder in which to store results; runs whose results are stored there are not
            trained again. None (default) stores nothing

    Networks that differ only in their seed are trained together by the same kernel calls, as in
    `sv.replicate`; networks with other engines or separate data are trained one by one. In both
    cases the weights equal, bit for bit, the weights of a separate session.

    Raises:
        InputError: for invalid arguments.
    """
    return Sweep(make, grid, seeds, success, stop, goal, metrics, executor, folder)


SUFFIX = ".safetensors"


@final
class Store:
    """A folder of stored results, so that finished tasks are not trained again."""

    def __init__(self, folder: object) -> None:
        self.folder = as_path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"the folder {shown(self.folder)} for results cannot be made "
                f"({error.strerror}): pass another one"
            ) from error

    def find(self, task: SweepTask) -> Outcome | None:
        """Return the stored result of a task, or None if it is missing or damaged."""
        if not task.key or not is_file(self.path(task)):
            return None
        try:
            found = Outcome.load(self.path(task), task.key)
        except FileError as error:
            caution(f"{error}; it is trained again")
            return None
        return found if found.seeds.view(np.uint64).tolist() == [*task.seeds] else None

    def keep(self, task: SweepTask, outcome: Outcome) -> None:
        """Store the result of a task; an existing link at its path is replaced, not followed."""
        if not task.key:
            return
        path = self.path(task)
        with suppress(OSError):  # a folder with this name is kept, and writing raises an error
            if not is_file(path):
                path.unlink(missing_ok=True)
        outcome.save(path, task.key)

    def path(self, task: SweepTask) -> Path:
        return self.folder / (task.key + SUFFIX)


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file, not a link, pipe, device or folder."""
    return os.path.isfile(path) and not os.path.islink(path)
