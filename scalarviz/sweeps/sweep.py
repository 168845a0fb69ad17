"""Sweep: train networks with many settings and seeds, and compare their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, final

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
from scalarviz.core.formulas.metric_formulas import rows_of_metrics
from scalarviz.errors import InputError, OrderError
from scalarviz.sweeps.executors import Result, results_of, workers_of
from scalarviz.sweeps.results import SweepTable, table_of_runs, table_of_settings
from scalarviz.sweeps.sweep_arguments import (
    Make,
    Setting,
    bound_of,
    ranking_of,
    seeds_of,
    session_of,
    settings_of,
)
from scalarviz.sweeps.tasks import Outcome, Plan, SweepTask, joined, tasks_of
from scalarviz.training.session.session import Session

CHECKS = 40  # checks of a training run, unless `every` is given
SOME = 20  # settings made to examine them


@final
class Sweep:
    """Networks with many settings and seeds; returned by `sv.sweep`.

    Attributes:
        make: function that makes a session from a setting and a seed
        settings: the settings, each a mapping from argument names to values
        seeds: seeds; each setting has one network per seed
        success: bound on the loss below which a network succeeds, or None
        ranking: quantity by which settings and networks are ranked
        step: number of steps requested from `advance`
        errors: error of each failed setting, by setting number; other settings continue
    """

    def __init__(
        self,
        make: Make,
        grid: object,
        seeds: Iterable[int],
        success: object,
        goal: object,
        metrics: object,
        executor: object,
    ) -> None:
        self.settings: list[Setting] = settings_of(make, grid)
        self.seeds = seeds_of(seeds, len(self.settings))
        self.make, self._executor = make, executor
        first, rows = self._first_session(), rows_of_metrics(metrics)
        held_out = first is not None and first.data.held_out is not None
        self.ranking, self._metrics = ranking_of(goal, rows, held_out)
        self.success = bound_of(success)
        self.step = 0
        self.errors: dict[int, BaseException] = {}
        self._outcomes: dict[int, list[Outcome]] = {}

    def _first_session(self) -> Session | None:
        """Return the session of the first of a few settings that raises no error, or None."""
        count = len(self.settings)
        for number in np.linspace(0, count - 1, min(count, SOME)).round().astype(int).tolist():
            with suppress(Exception):  # of any class: training names the setting with its error
                return session_of(self.make, self.settings[number], self.seeds[0])
        return None

    @property
    def metrics(self) -> list[str]:
        """Names of the measured metrics."""
        return list(self._metrics)

    __reduce_ex__ = not_copied("a sweep", "save its table instead")

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
        After Ctrl-C, finished results are kept; the next call starts over.
        """
        steps = size(steps, "steps")
        every = max(1, steps // CHECKS) if every is None else size(every, "every")
        with Progress(len(self), true_or_false(progress, "progress"), "networks") as bar:
            tasks = self._tasks(steps, min(every, steps))
            bar.tell(self._done)
            for task, result in self._results(tasks):
                if isinstance(result, Outcome):
                    self._add(task, result)
                else:
                    self.errors[task.number] = result
                bar.tell(self._done)
            self._check_results()

    def _tasks(self, steps: int, every: int) -> list[SweepTask]:
        """Return the tasks of all settings; errors raised by `make` are stored in `errors`."""
        plan = Plan(steps, every, self.success, self._metrics)
        tasks: list[SweepTask] = []
        as_files = self._executor is not None
        self.errors = {}
        for number, setting in enumerate(self.settings):
            try:
                tasks += tasks_of(number, self.make, setting, self.seeds, plan, as_files)
            except Exception as error:  # of any class: raised by the user's function
                self.errors[number] = error
        if self.errors and not tasks:
            raise next(iter(self.errors.values()))
        self._outcomes, self.step = {}, steps
        return tasks

    def _add(self, task: SweepTask, outcome: Outcome) -> None:
        parts = self._outcomes.setdefault(task.number, [])
        parts.append(outcome)
        order = {seed: i for i, seed in enumerate(self.seeds)}
        parts.sort(key=lambda part: order[int(part.seeds.view(np.uint64)[0])])

    def _results(self, tasks: list[SweepTask]) -> Iterator[Result]:
        """Run tasks; return an iterator over each task with its Outcome or error, when it ends."""
        if self._executor is None:
            return ((task, task.train()) for task in tasks)
        for first in {task.number: task for task in reversed(tasks)}.values():
            first.start().networks.prepare()  # compiles the kernels once for all workers
        return results_of(workers_of(self._executor, tasks), tasks)

    @property
    def _done(self) -> int:
        lost = len(set(self.errors) - set(self._outcomes)) * len(self.seeds)
        return lost + sum(len(part.seeds) for parts in self._outcomes.values() for part in parts)

    def _check_results(self) -> None:
        """Warn if results do not depend on the seed."""
        ended = sorted(self._outcomes.items()) if len(self.seeds) > 1 else []
        same = [number for number, parts in ended if len({d for p in parts for d in p.digests}) < 2]
        if same:
            caution(
                f"all runs of the settings {shorten(same)} have equal numbers for all seeds: let "
                "make pass the seed on, sv.Network(sizes, seed=seed) and sv.Session(..., "
                "seed=seed)"
            )

    # Results.

    def outcome(self, setting: int) -> Outcome:
        """Return the results of a setting, one row per seed; raise OrderError if missing."""
        number = self._number(setting)
        parts = self._outcomes.get(number)
        if not parts:
            if number in self.errors:
                raise self.errors[number]
            raise OrderError(
                f"setting {number} has no results yet: call advance(2000) on the sweep first"
            )
        return joined(parts)

    def knows(self, setting: int) -> bool:
        """Return whether a setting has results or an error."""
        return setting in self._outcomes or setting in self.errors

    def _number(self, setting: object) -> int:
        count = len(self.settings)
        if isinstance(setting, (int, np.integer)) and -count <= setting < count:
            return int(setting) % count
        raise InputError(f"the sweep has settings 0 to {count - 1}, not {shorten(setting)}")

    def __getitem__(self, place: tuple[int, int]) -> Session:
        """Return one run as a Session: `runs[4, 17]` is setting 4 with seed 17.

        The session is trained again to the end of the run, so its whole history is available.
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
        session.advance(int(outcome.lasted[outcome.row_of(int(seed))]))
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
        """Save `runs()` to a `.csv` file."""
        self.runs().save(path)

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


@answered
def sweep(
    make: Make,
    grid: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    seeds: Iterable[int] = range(10),
    *,
    success: float | None = None,
    goal: str | None = None,
    metrics: object = (),
    executor: object = None,
) -> Sweep:
    """Return a Sweep, which trains every combination of settings with many seeds.

    Args:
        make: function that takes the names of the grid and `seed` as keyword arguments, and returns
            an untrained Session, or a Show (as the function of a scene does). Training is fastest
            if the function passes the seed only to a network and a session
        grid: mapping from argument names to lists of values; the settings are all combinations of
            the values. Or a list of settings, each a mapping from argument names to values
        seeds: non-negative integers, one for each network of a setting; 0 to 9 by default
        success: a network succeeds at the first check at which its mean loss since the previous
            check is below this bound; None (default) counts no successes
        goal: quantity for ranking settings and networks: "loss", "held_out_loss", or the name of a
            metric, prefixed with "held_out_" for held-out samples, such as "held_out_accuracy".
            Larger is better for metrics like accuracy. By default "held_out_loss" if the data has
            held-out samples, else "loss"
        metrics: names of metrics, or functions f(predictions, targets) -> float. They are measured
            at every check on the training samples (at most 4,096, evenly spaced), and at every
            fourth check and at the end on the held-out samples, together with the held-out loss
        executor: None (default) trains in this process; otherwise "processes", an Executor of
            concurrent.futures, a Dask Client, the address of a Dask scheduler, or "dask" for a
            local cluster. Functions are pickled, so use only clusters that you trust

    Networks that differ only in their seed are trained together by the same kernel calls, as in
    `sv.replicate`; networks with other engines or separate data are trained one by one. In both
    cases the weights equal, bit for bit, the weights of a separate session.

    Raises:
        InputError: for invalid arguments.
    """
    return Sweep(make, grid, seeds, success, goal, metrics, executor)
