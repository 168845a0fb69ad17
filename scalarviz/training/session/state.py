"""SessionState: the properties of a session, and its numbers, without moving the clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, final

from scalarviz.base.checks.numbers import FloatArray, not_copied, size, true_or_false
from scalarviz.base.leaf_calls import save_text, session_html
from scalarviz.base.messages import inform
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.table import pick
from scalarviz.core.model.weight import Weight
from scalarviz.errors import OrderError
from scalarviz.training.network.norms import Norms, norms_of
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.conditions import Function, checked
from scalarviz.training.session.explanation import (
    Explanation,
    OperationNumbers,
    explain,
    numbers_of,
)
from scalarviz.training.session.first import first_held
from scalarviz.training.session.last_change import last_edit
from scalarviz.training.session.metrics import measured_names, series
from scalarviz.training.session.origin import Origin
from scalarviz.training.session.points import Series
from scalarviz.training.session.record import Record
from scalarviz.training.session.samples_moved import SamplesMoved, samples_that_moved
from scalarviz.training.session.stops import in_one_text
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import one_row
from scalarviz.training.session.units import check_sample
from scalarviz.training.session.weight_history import KINDS, Recorded, WeightHistory


class SessionState(ABC):
    """Read access to the present moment, the numbers of its batch, and the pinned weights."""

    timeline: Timeline
    _weight_history: WeightHistory
    _focus: int

    __reduce_ex__ = not_copied(
        "a session, which has locks and perhaps a thread of its own",
        "s.copy() makes a second one, and s.save(path) keeps it in a file for Session.load(path)",
    )

    @abstractmethod
    def doing(self, *, as_one: bool = False) -> AbstractContextManager[None]:
        """Hold the session's lock, see `Session.doing`, also for `as_one`."""

    @final
    @property
    def network(self) -> Any:  # a Model; what a Network alone has is checked where it is used
        """The Network or Expression that is trained."""
        return self.timeline.trainer.network

    @final
    @property
    def clock(self) -> Clock:
        """The present moment: step, operation, and actions done at this place."""
        return self.timeline.here.clock

    @final
    @property
    def step_index(self) -> int:
        """Number of whole steps done, which is the index of the next one."""
        return self.timeline.here.clock.step

    @final
    @property
    def epoch(self) -> float:
        """Epochs done so far: steps divided by steps per epoch."""
        return self.timeline.here.clock.step / self.timeline.trainer.batches.steps_an_epoch

    @final
    @property
    def branches(self) -> list[Branch]:
        """All branches, in the order in which they were started."""
        return list(self.timeline.branches)

    @final
    @property
    def current_branch(self) -> Branch:
        """The branch that the session is on."""
        return self.timeline.here.branch

    @final
    @property
    def origin(self) -> Origin | None:
        """The session that this one was made from by a change of the network, and what was done.

        None for a session that was not made by `add_neurons`, `remove_neuron`, `insert_layer` or
        `remove_layer`.
        """
        return self.timeline.origin

    @final
    @property
    def operations(self) -> list[str]:
        """Names of the moments of a step, in order."""
        return [moment.name for moment in self.timeline.here.moments]

    @final
    @property
    def done(self) -> str:
        """Name of the moment that the clock has just passed; "" at the very start."""
        here = self.timeline.here
        before = here.moments[here.clock.operation - 1].name
        return before if here.clock.operation or here.clock.step else ""

    @final
    @property
    def next(self) -> str:
        """Name of the moment that comes next."""
        here = self.timeline.here
        return here.moments[here.clock.operation].name

    @final
    @property
    def phase(self) -> str:
        """Phase of the moment that comes next."""
        here = self.timeline.here
        return here.moments[here.clock.operation].phase

    @final
    @property
    def loss(self) -> float:
        """The last loss that was computed; NaN at first."""
        return self.timeline.here.loss

    @final
    @property
    def losses(self) -> FloatArray:
        """Loss of each step that is done, before its update; float64, 1-D.

        The last 2**20 steps of a branch, at least, have their loss exactly, and so has each step of
        a training that is no longer. For older steps only the smallest and the largest loss of each
        block of some hundred steps are kept: steps of a block have them by turns, also in a file.
        `first` and `seek` find the exact ones by a replay.
        """
        here = self.timeline.here
        return here.branch.losses[: here.clock.step]

    @final
    @property
    def stopped(self) -> str:
        """Reason for which the last `advance`, `seek` or `play` was ended, or "".

        It is that of a callback, or the condition of `stop_when`.
        """
        return self.timeline.visits.stopped

    @final
    @property
    def metrics(self) -> dict[str, Series]:
        """Steps and values of each metric on this branch up to now: int64 and float64, 1-D.

        The value at step k is that of the weights after k steps, on the batch that comes next. The
        names of those of held-out samples begin with "held_out_", such as "held_out_loss".
        """
        here = self.timeline.here
        return series(here.branch, here.clock.step)

    @final
    def to_pandas(self) -> Any:
        """Return losses and metrics of this branch up to now as a pandas DataFrame.

        Its index is the step; a row belongs to the weights after so many steps, and is NaN where
        nothing was measured. Raises InputError without pandas.
        """
        return Record(self.losses, self.metrics).pandas()

    @final
    def to_csv(self, path: object) -> None:
        """Write losses and metrics of this branch up to now into the CSV file `path`.

        Rows are those of `to_pandas`; cells where nothing was measured are empty. Raises FileError
        if the file cannot be written.
        """
        save_text(Record(self.losses, self.metrics).csv(), path)

    def _measured_names(self) -> list[str]:
        """Names of the metrics that are measured."""
        return measured_names(self.timeline.visits.metrics, self.timeline.trainer.settings.data)

    @final
    def first(self, *conditions: str | Function, progress: bool = True) -> int | None:
        """Return the first step up to now at which one of some conditions held; None: it never did.

        conditions  texts and functions, as in `stop_when`
        progress    True, the default: a progress bar in a terminal or a notebook, if it takes
                    longer than a second; False: none

        Losses and metrics are on record. Anything else is found by a replay of the whole past of
        this branch, step by step, since a condition may hold for a while and then not: Ctrl-C
        cancels it. The session stays where it is; `seek` goes to the step. At step k the numbers
        are those on arrival there, before what was done there. Raises errors as `stop_when` does.
        """
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(self.timeline.clock.step + 1, wanted) as bar:
            given = checked(conditions, self.network, self._measured_names())
            found = first_held(self.timeline, given, bar.tell)
            if found is not None:
                self.timeline.stops.mark(self.timeline.branch, found, in_one_text(given))
            return found

    # The numbers of the current batch.

    @property
    def focus(self) -> int:
        """Index in the batch of the sample whose numbers are shown; can be set."""
        return min(self._focus, self.timeline.trainer.batches.size - 1)

    @focus.setter
    def focus(self, sample: int) -> None:
        self._focus = check_sample(self.timeline, sample)

    @final
    def numbers(self, operation: str) -> OperationNumbers:
        """Return the numbers of one operation of the current batch, and their gradients.

        operation  name of an operation, such as "affine 0"

        Between two steps the current batch is that of the step that is done, with the operations
        that this step had. Raises UnknownNameError if it had no such operation, OrderError if only
        the next step will have it, or if no step has begun yet.
        """
        with self.doing():
            coming = [each.name for each in self.network.program.stepped]
            with self.timeline.at_work():
                known = {each.name: each for each in self.network.program.stepped}
                if operation in coming and operation not in list(known):
                    raise OrderError(
                        f"{operation!r} has not been computed yet, since an activation was changed "
                        f"after the step that is done, which has {', '.join(known)}: advance first"
                    )
                found = pick(known, operation, "operation")
                return numbers_of(self.timeline.trainer, found, self.timeline.clock.operation)

    @final
    def explain(self, weight: Weight | int) -> Explanation:
        """Explain how a `weight` moves in this step: x * g of each sample, gradient, new value.

        `weight` is a Weight or a row of the bank. Between two steps, the step that is done is
        explained; an edit since then is in its `edit`. Raises OrderError before the first step.
        """
        row = one_row(self.network, weight)
        with self.doing():
            edit = last_edit(self.timeline, row)
            with self.timeline.at_work():
                found = explain(self.timeline.trainer, row, self.timeline.clock.operation)
            return replace(found, edit=edit)

    @final
    def samples_that_moved(
        self, weight: Weight | int, steps: int = 100, most: int = 5, *, progress: bool = True
    ) -> SamplesMoved:
        """Return the samples that moved a weight most over the last steps.

        weight    a Weight or a row of the bank
        steps     how many of the steps that are done; by default 100
        most      how many samples; by default 5
        progress  True, the default: a progress bar in a terminal or a notebook, if it takes longer
                  than a second; False: none

        These steps are replayed, and the batch of each follows from seed and step. In one step, a
        sample's part of the gradient is the sum of x * g over the places where the weight is used.
        With SGD the amount is the sum over the steps of |rate * part|, the rate with its schedule
        and clip_norm: exactly what the sample changed the weight by, l1 and l2 apart. With other
        optimizers, clip_value or mixed precision it is the sum of |part|. Steps in which the weight
        was frozen count as 0; those before another data set are left out.

        Raises OrderError before the first step, InputError for data that makes its samples anew in
        each step and for a compiled function.
        """
        row, steps, most = one_row(self.network, weight), size(steps, "steps"), size(most, "most")
        wanted = true_or_false(progress, "progress")
        with self.doing(), Progress(min(steps, self.timeline.clock.step), wanted) as bar:
            return samples_that_moved(self.timeline, row, steps, most, bar.tell)

    @final
    def norms(self) -> dict[str, Norms]:
        """Return the norms of the values and of the gradients of each layer with parameters.

        Keys are indices of layers, as in `net.state_dict()`. Between two steps the gradients are
        those of the step that is done. Raises InputError for a compiled function.
        """
        with self.doing():
            return norms_of(self.network.layers)

    @final
    @property
    def pinned(self) -> list[int]:
        """Rows of the pinned weights in the bank."""
        return self._weight_history.rows

    @final
    def history(
        self, weight: Weight | int, kind: Recorded = "value", *, wait: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the steps up to now at which a pinned `weight` is known, and its numbers there.

        weight  a Weight or a row of the bank
        kind    "value", the default, on arrival at a step; "gradient": that of the step before, by
                which the weight came to this value, and 0 at the start
        wait    True: wait until the background thread has replayed the steps before the pinning,
                and raise the error that ended it, if any; by default False

        Returns two arrays of the same length, int64 and float64. They are empty, and a message says
        so, if the weight is not pinned.
        """
        row, kind = one_row(self.network, weight), pick(KINDS, kind, "kind of history")
        if wait:
            self._weight_history.wait()
        if row not in self.pinned:
            inform(f"{self.network.name_of(row)} has no history: s.pin({row}) records it")
        return self._weight_history.history(row, kind)

    @final
    def _repr_html_(self) -> str:
        return session_html(self)
