"""UserActions: what a user changes in a training, journalled with its moment and replayed."""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Sequence
from typing import Any, final

from scalarviz.base.checks.numbers import shorten, size
from scalarviz.core.formulas.losses import AnyLoss, Loss
from scalarviz.core.model.optimizer import Optimizer
from scalarviz.core.model.part import Part
from scalarviz.core.model.precision import Precision
from scalarviz.core.model.weight import Weight
from scalarviz.data import DataSet
from scalarviz.errors import InputError
from scalarviz.training.session.conditions import Function, checked
from scalarviz.training.session.settings_now import settings_now
from scalarviz.training.session.state import SessionState
from scalarviz.training.session.stops import KIND, texts_of
from scalarviz.training.session.trainer import addable, as_values, checked_rate, rows_of

OF_A_SESSION = "of a session cannot be set here: set s.learning_rate, or another s.optimizer"


class UserActions(SessionState, ABC):
    """The actions of a user on a session: each is a row of the tables in `session.trainer`."""

    @final
    def edit(self, weight: Weight | int | Sequence[int], value: object) -> None:
        """Set the value of one or several weights, from this moment on.

        weight  a Weight of the network, its row in the bank, or several rows
        value   a finite number; for several rows, one number or one for each

        Raises InputError for an unsuitable value, ShapeError for a row that the network lacks.
        """
        rows = rows_of(self.network, weight)
        self._do("edit", rows=rows, values=as_values(value, rows, self.network.bank.dtype))

    @final
    def freeze(self, part: Part | int | str | Sequence[int], on: bool = True) -> None:
        """Freeze a part of the network, so that steps do not move it, or unfreeze it.

        part  a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several rows
        on    False: unfreeze; by default True
        """
        self._do("freeze", rows=rows_of(self.network, part), on=bool(on))

    @property
    def learning_rate(self) -> float:
        """Learning rate of the next step, schedule included; at least 0.

        Setting it ends the schedule, and takes effect from the next step on.
        """
        optimizer = self.timeline.trainer.settings.optimizer
        return optimizer.rate(self.network.bank.step_count)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        self._do("learning rate", rate=checked_rate(rate))

    @final
    def set_rate(self, part: Part | int | str | Sequence[int], rate: float | None) -> None:
        """Give a part of the network a learning rate of its own, from the next step on.

        part  a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several rows
        rate  at least 0; None: that of the session again

        It stays the same when the `learning_rate` or the `optimizer` of the session changes, and
        the schedule of the optimizer multiplies it as it does the session's. With a rate of 0 the
        part stays as it is, while the optimizer still notes its gradients; `freeze` ends that, too.
        `own_rate` returns it. Raises InputError for an unsuitable rate or a frozen part.
        """
        rows = rows_of(self.network, part)
        rate = None if rate is None else checked_rate(rate)
        with self.doing():
            if rate is not None and self.network.bank.frozen[rows].all():
                many = isinstance(part, Sequence)
                name = f"each of {len(rows)} weights" if many else shorten(part)
                name = self.network.name_of(rows[0]) if len(rows) == 1 else name
                raise InputError(
                    f"{name} is frozen, so that no rate moves it: write s.freeze(part, False) first"
                )
            self.timeline.note("own rate", {"rows": rows, "rate": rate})

    @final
    def own_rate(self, part: Part | int | str | Sequence[int]) -> float | None:
        """Return the learning rate that `set_rate` gave a part, or None: it has the session's.

        part  a Weight, Perceptron, Layer, name such as "0.weight", row of the bank, or several rows

        The rate is that before the schedule; NaN if the weights of the part have several. Raises
        ShapeError for a row that the network lacks.
        """
        rates = self.timeline.trainer.settings.optimizer.own_rates
        return rates.of_all(rows_of(self.network, part))

    @property
    def optimizer(self) -> Optimizer:
        """Read-only optimizer; to change it, set `learning_rate` or another optimizer.

        An optimizer whose slots have the same names and whose schedule is the same, such as Adam
        with other penalties or AdamW after Adam, goes on with the slots and the count of steps.
        Any other one begins with empty slots, and its schedule at its start.
        """
        return self.timeline.trainer.settings.optimizer.sealed(OF_A_SESSION)

    @optimizer.setter
    def optimizer(self, optimizer: Optimizer) -> None:
        chosen = copy.copy(Optimizer.of(optimizer))
        with self.doing():
            goes_on = chosen.goes_on_from(settings_now(self).optimizer)
            self.timeline.note("optimizer", {"optimizer": chosen, "goes_on": goes_on})

    @property
    def data(self) -> DataSet:
        """The data set; setting it takes effect from the next step on."""
        return self.timeline.trainer.settings.data

    @data.setter
    def data(self, data: object) -> None:
        with self.doing():
            found = self.timeline.trainer.fitting(data, settings_now(self).loss)
            self.timeline.note("data", {"data": found})

    @property
    def loss_function(self) -> Loss:
        """The loss that steps make smaller; setting a name or a Loss holds from the next step on.

        `loss` is its last number. Setting one that does not go with the last activation, or with
        the targets of the data, raises InputError.
        """
        return self.timeline.trainer.settings.loss

    @loss_function.setter
    def loss_function(self, loss: AnyLoss) -> None:
        chosen = Loss.of(loss)
        with self.doing():
            now, trainer = settings_now(self), self.timeline.trainer
            chosen.check_output(now.activations[-1] if now.activations else "linear")
            if now.activations == self.network.activations:
                self.network.check_loss(chosen)
            trainer.fitting(now.data, chosen)
            self.timeline.note("loss", {"loss": chosen})

    @property
    def batch(self) -> int | None:
        """Samples a step, or None: all of them; setting it takes effect from the next step on.

        Setting more than the data has raises InputError. The samples of a step follow from the
        seed, its number and the batch, so that another batch also begins another order of samples.
        """
        return self.timeline.trainer.settings.batch

    @batch.setter
    def batch(self, count: int | None) -> None:
        chosen = None if count is None else size(count, "batch")
        with self.doing():
            data, seed = settings_now(self).data, self.timeline.trainer.seed
            if chosen is not None and data.batches(chosen, seed).size < chosen:
                raise InputError(
                    f"a batch has at most the {data.samples:,} samples of the data, and not "
                    f"{chosen:,}: None takes all of them"
                )
            self.timeline.note("batch", {"size": chosen})

    @final
    def add_samples(self, inputs: object, targets: object) -> None:
        """Add one or several samples to those it learns, from the next step on.

        inputs   numbers of a sample, or rows of them
        targets  numbers of its target, or rows; or class labels, if the targets of the data are
                 rows that are 1 at a class, such as those of digits

        They come after the others: `data.training` has them at its end, and `data.added` alone.
        `batch=None` takes them into each step; a numbered batch keeps its size, and the samples of
        a step follow from the seed, the step and the number of samples. Held-out samples stay.
        Another data set, or another setting of it, does not have them. At most 10,000 can be added.

        Raises InputError for data that is no table, and for samples that it could not have, such as
        a colour beyond 1; ShapeError, NotFiniteError.
        """
        with self.doing():
            data = addable(settings_now(self).data)
            x, y = data.as_added(inputs, targets)
            self.timeline.trainer.fitting(data.with_added(x, y), settings_now(self).loss)
            self.timeline.note("samples", {"inputs": x, "targets": y})

    @property
    def engine(self) -> str:
        """Name of the engine; setting it is `to(name)`."""
        return self.timeline.trainer.network.engine

    @engine.setter
    def engine(self, name: str) -> None:
        self.to(name)

    @property
    def precision(self) -> Precision:
        """How numbers are rounded; setting "full", "mixed" or a Precision is `to(engine, ...)`."""
        return self.timeline.trainer.network.precision

    @precision.setter
    def precision(self, precision: str | Precision) -> None:
        self.to(settings_now(self).engine, precision)

    @final
    def to(self, engine: str, precision: str | Precision | None = None) -> None:
        """Run on another engine, or in another precision, from the next step on.

        engine     "python", "cpu", "cuda" or "auto"
        precision  "full", "mixed" or a Precision; None, the default: unchanged

        Raises EngineError if the engine cannot run here, or not in this precision: mixed runs on
        "cpu".
        """
        samples = self.timeline.trainer.batches.size
        name, chosen = self.network.check_engine(engine, precision, samples)
        self._do("engine", name=name, precision=chosen)

    @final
    def set_activation(self, layer: int, name: str) -> None:
        """Set the activation of a layer, from the next step on.

        layer  index of the layer
        name   name of an activation, such as "tanh"

        Raises UnknownNameError for an unknown name, InputError for a layer without activation.
        """
        places = self.network.places_of(self.network.check_activation(layer, name))
        with self.doing(as_one=True):
            if len(self.network.activations) - 1 in places:
                settings_now(self).loss.check_output(name)
            for place in places:
                self.timeline.note("activation", {"layer": place, "name": name})

    @final
    def stop_when(self, *conditions: str | Function) -> None:
        """Stop by itself from now on, at the first step at which a condition holds; none: no more.

        conditions  texts, such as "grad norm > 10", "loss rises 3x", "not finite", "weight 7
                    changes sign" or "a neuron is dead", several with "or" between them; or
                    functions f(view) -> bool. They replace those set before

        `advance` and `play` stop at that very step, also in steps that are repeated after going
        back, and `stopped` says why; `seek` stops in new steps only. A condition that goes on to
        hold stops once, and again after a step where it did not hold. With "not finite" a step
        that would be refused with an error ends the training before it, without the error.

        The guide, "Stopping by itself", has all conditions. A function sees the `step`, `loss`,
        `losses`, `metrics`, `learning_rate`, `values`, `gradients` and `outputs`, read-only, is
        called after each step, and must change nothing; no file can hold it. Raises
        UnknownNameError for a text without meaning, InputError, ShapeError for a row that the
        network lacks.
        """
        with self.doing():
            found = checked(conditions, self.network, self._measured_names())
            self.timeline.note(KIND, {"conditions": found})

    @property
    def stop_conditions(self) -> list[str]:
        """The conditions at which it stops by itself, as texts; `stop_when` sets them."""
        return texts_of(self.timeline.trainer.settings.stops)

    @final
    def undo(self) -> None:
        """Undo the last change: go to the moment before it.

        A change is an edit, a freeze or a setting, also one written into the bank directly, another
        name of a branch, and `reset`, `branch` and `switch`. What was trained since stays in a
        branch, and `redo` leads there. What callbacks changed belongs to the training. Files and
        copies have no changes to undo. Raises OrderError if there is none.
        """
        with self.doing():
            self.timeline.undo_log.undo(self.timeline)

    @final
    def redo(self) -> None:
        """Do the change that was undone last again, or go to the moment after it.

        Raises OrderError if nothing was undone since the last change.
        """
        with self.doing():
            self.timeline.undo_log.redo(self.timeline)

    @final
    def _do(self, kind: str, **details: Any) -> None:
        with self.doing():
            self.timeline.note(kind, details)
