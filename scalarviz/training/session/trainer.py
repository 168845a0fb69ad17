"""Trainer: run the training steps of a network on its data, forward in time only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from scalarviz.base.checks import FloatArray, as_floats, shorten
from scalarviz.base.kernel_threads import may_call_kernels
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import restart
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.optimizer import NO_OWN_RATES, Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import Moment
from scalarviz.data import DataSet
from scalarviz.engines.engine import Run
from scalarviz.engines.registry import AUTO
from scalarviz.errors import InputError, OrderError, ShapeError
from scalarviz.training.network.grown_networks import begin_with_affine
from scalarviz.training.network.model import Model
from scalarviz.training.network.model_queries import check_engine, check_fits, check_loss, remark
from scalarviz.training.session.actions import Action, after, settings_after
from scalarviz.training.session.branches import Frame
from scalarviz.training.session.conditions import Condition

if TYPE_CHECKING:
    from scalarviz.training.session.session import Session


@dataclass(frozen=True)
class Settings:
    """Everything that a user can change during training, except the numbers of the bank."""

    optimizer: Optimizer
    data: DataSet
    loss: Loss
    batch: int | None
    engine: str
    precision: Precision
    activations: tuple[str, ...]
    stops: tuple[Condition, ...] = ()


@final
class Trainer:
    """Runs training steps, operation by operation or as a whole.

    Attributes:
        recorded: function that makes the Run of a recorded training run; None for ordinary training
        knows: whether the numbers before the last step are known
        explains: whether `settings` describes the optimizer that takes the steps
        computes: whether the network computes the same function as the followed model
        unmoved: mask of the weights that the shown step of a followed model does not update, or
            None
    """

    def __init__(
        self,
        network: Model,
        settings: Settings,
        seed: int,
        recorded: Callable[[Trainer], Run] | None = None,
    ) -> None:
        self.recorded, self.knows, self.explains, self.computes = recorded, True, True, True
        self.unmoved: Any = None
        check_fits(settings.data, network)
        check_loss(network, settings.loss)
        if begin_with_affine(network, settings.data):
            settings = replace(settings, activations=network.activations)
        network.to(settings.engine, settings.precision)
        restart(network.bank, settings.precision)
        self.network = network
        self.bank: Bank = network.bank
        self.seed = seed
        self.settings: Settings = settings
        self._set_network()
        self.run = self._make_run()

    @property
    def still(self) -> Any:
        """Mask of the weights that the step does not change."""
        return self.bank.frozen if self.unmoved is None else self.unmoved

    def _make_run(self) -> Run:
        self.batches = self.settings.data.batches(self.settings.batch, self.seed)
        remark(self.network, self.settings.data, self.batches)
        return self.recorded(self) if self.recorded else self.network.run(self.batches, self.loss)

    @property
    def loss(self) -> Loss:
        """The loss function of the current step."""
        return self.settings.loss

    @property
    def moments(self) -> tuple[Moment, ...]:
        """All operations of a step, in order, from zero_grad to the update."""
        return self.network.program.moments

    @property
    def products(self) -> int:
        """Approximate number of multiply-adds in the forward pass of a step."""
        return self.batches.size * self.network.program.products

    def restore(self, frame: Frame, *, anew: bool = False) -> None:
        """Restore the numbers and settings of a keyframe.

        Args:
            anew: whether to rebuild the run, because a change may have been interrupted
        """
        self.bank.away.end()
        self.adopt(frame.settings)
        if anew and may_call_kernels():  # otherwise nothing can run, but numbers are available
            for layer, name in enumerate(frame.settings.activations):
                self.network.set_activation(layer, name, anew=True)
            self.network.to(frame.settings.engine, frame.settings.precision)
            self.run = self._make_run()
        frame.restore(self.bank)

    def adopt(self, settings: Settings) -> None:
        """Replace the settings; make a new run unless only the optimizer or stops have changed."""
        before, self.settings = self.settings, settings
        is_same = settings.data is before.data and settings.batch == before.batch
        if self._set_network() or not is_same or settings.loss.key != before.loss.key:
            self.run = self._make_run()

    def _set_network(self) -> bool:
        """Set the engine, precision and activations of the network; return whether any changed."""
        network, settings = self.network, self.settings
        wanted = settings.engine, settings.precision, settings.activations
        if (network.engine, network.precision, network.activations) == wanted:
            return False
        for layer, name in enumerate(settings.activations):
            network.set_activation(layer, name)
        network.to(settings.engine, settings.precision)
        return True

    def fitting(self, data: object, loss: Loss) -> DataSet:
        """Convert data for this network and a loss; raise InputError if it does not fit."""
        found = data_for(self.network, data, loss)
        check_fits(found, self.network)
        if found.weights is not None:
            check_engine(self.network, self.network.engine, batches=found.batches())
        begin_with_affine(self.network, found)  # raises an error: it is in use
        return found

    def check_changes(self) -> None:
        """Raise OrderError if this is a recorded training run, which cannot be changed."""
        if self.recorded is not None:
            raise OrderError(
                "this is the record of a training run in another program: it cannot be changed "
                "or continued beyond its last recorded step"
            )

    def check_untouched(self) -> None:
        """Revert changes of engine or activations from outside the session, raising OrderError."""
        if self._set_network():
            self.run = self._make_run()
            raise OrderError(
                "the engine or an activation of this network was changed outside its session and "
                "has been restored: use s.to(...) or s.set_activation(...)"
            )

    def apply(self, *actions: Action) -> None:
        """Apply user actions in order; new settings are adopted only once, at the end."""
        bank, settings = self.bank, self.settings
        for action in actions:
            settings = after(settings, action, bank)
        if settings is not self.settings:
            state = bank.state.copy()
            self.adopt(settings)
            bank.state[:] = state  # a new engine starts with a new state


def data_for(network: Model, data: object, loss: Loss) -> DataSet:
    """Convert data to a data set for training, with one target for each output.

    Labels become one-hot rows if the loss accepts labels. Targets are padded with zeros if the loss
    requires fewer targets than outputs. Raises InputError for invalid labels.
    """
    if isinstance(data, (tuple, list)) and len(data) == 2:
        data = network.input_rows(data[0]), data[1]
    found, classes, outputs = DataSet.of(data), loss.classes(network.outputs), network.outputs
    if found.outputs == loss.targets(outputs) < outputs:
        return found.with_outputs(outputs)
    return found.with_classes(classes, outputs) if classes else found


def settings_of(
    network: Model,
    data: object,
    loss: Loss,
    optimizer: Optimizer | str | None,
    batch: int | None,
    engine: str,
    precision: Precision,
) -> Settings:
    """Return the initial Settings for the arguments of Session; raise InputError or EngineError."""
    found = data_for(network, data, loss)
    asks = engine == AUTO or found.weights is not None
    batches = found.batches(batch, 0) if asks else None
    name, precision = check_engine(network, engine, precision, batches)
    return Settings(
        Optimizer.of(optimizer).with_own_rates(NO_OWN_RATES).on(network._rows_named),
        found,
        loss,
        batch,
        name,
        precision,
        network.activations,
    )


def rows_of(network: Model, part: object) -> Any:
    """Return the bank rows (int64) of a part of the network, of row numbers or of a mask."""
    count = len(network.bank)
    found = network.find_rows(part)
    try:
        rows = np.atleast_1d(np.array(found))
    except ValueError:  # rows of different lengths
        rows = np.zeros(0)
    if rows.dtype == np.bool_ and rows.shape == (count,):
        rows = np.flatnonzero(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or rows.size == 0:
        raise InputError(
            f"weights are selected by parts of the network or by whole numbers, not {shorten(part)}"
        )
    if rows.min() < 0 or rows.max() >= count:
        raise ShapeError(f"the network has rows 0 to {count - 1}, and not {shorten(part)}")
    return rows.astype(np.int64)


def one_row(network: Model, part: object) -> int:
    """Return the bank row of a single weight; raise InputError if `part` has several weights."""
    rows = rows_of(network, part)
    if len(rows) != 1:
        raise InputError(f"pass one weight, not {shorten(part)}, which has {len(rows)}")
    return int(rows[0])


def as_values(value: object, rows: Any, dtype: str) -> FloatArray:
    """Convert a number for all rows, or one for each row, to an array of one value per row.

    Raises:
        InputError: if a value is not finite in `dtype`.
    """
    given = as_floats(value, "edit")
    try:
        given = np.broadcast_to(given, rows.shape)
    except ValueError:
        given = np.array([np.nan])
    with np.errstate(over="ignore"):
        values = given.astype(dtype)
    if not np.isfinite(values).all():
        ends = f": {dtype} ends at {np.finfo(dtype).max:.2g}" if np.isfinite(given).all() else ""
        many = f"edit takes a finite number for each of {len(rows)} weights, or one for all"
        takes = many if len(rows) > 1 else "a weight takes a finite number"
        raise InputError(f"{takes}, not {shorten(value)}{ends}")
    return values


def settings_now(session: Session) -> Settings:
    """Return the settings of a session, including changes that take effect at the next step."""
    timeline = session.timeline
    return settings_after(session.trainer.settings, timeline.branch.waiting_at(timeline.clock))
