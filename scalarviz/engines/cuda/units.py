"""The kernels of the cuda engine: which ones a training needs, each for the formulas in use.

A kernel of one operation is made for its kind and formula, one of whole steps for all of a network
and a training. The indices in a plan are those of the tables, whatever is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, final

from scalarviz.core.bank import Bank
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Operation, Program
from scalarviz.data.batches import Batches
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_choice import InUse
from scalarviz.engines.codegen.unit_source import Dtype
from scalarviz.engines.common.cores import Refused
from scalarviz.engines.cuda import kernels, steps
from scalarviz.engines.cuda.draws import DRAWS
from scalarviz.engines.cuda.table import BY_NUMBER, WHOLE_BATCH
from scalarviz.engines.cuda.tables import fits, make_layout

Launched = Callable[..., None]
Rows = frozenset[tuple[str, str]]  # a table's name in the kernels, and a row's

MOST_SHARED = 222 * 1024  # bytes of shared memory for a block, on the GPU with most of it

# Kernels of one operation; then all, those together that are needed at the same time.
OF_OPERATIONS = (
    kernels.gather_all, kernels.forward_all, kernels.parameter_gradients, kernels.gather_back_all,
    kernels.input_gradient_all,
)  # fmt: skip
GROUPS: tuple[tuple[Launched, ...], ...] = (
    (steps.train,),
    (kernels.gather_all, kernels.forward_all),
    (
        kernels.parameter_gradients, kernels.add_all, kernels.gather_back_all,
        kernels.input_gradient_all,
    ),
    (kernels.draw_batch,),
    (kernels.sum_errors, kernels.loss_all, kernels.loss_gradient_all),
    (kernels.clear_all,),
    (kernels.look_over, kernels.move_all),
)  # fmt: skip

FORMULAS = {
    "activation": "ACTIVATIONS",
    "row": "ROW_FORMULAS",
    "parametric": "PARAMETRIC_FORMULAS",
}


def rows_of_operation(operation: Operation) -> Rows:
    """Return the rows that an operation needs in whole steps."""
    rows = {("KERNELS", operation.kind)}
    if table := FORMULAS.get(operation.kind):
        rows.add((table, operation.formula))
    return frozenset(rows)


def rows_alone(operation: Operation) -> Rows:
    """Return the rows that an operation needs on a whole batch.

    Those of kinds with kernels of their own for that do not include the kernels of a team.
    """
    rows = rows_of_operation(operation)
    if not set(BY_NUMBER) & set(WHOLE_BATCH[operation.kind]):
        rows -= {("KERNELS", operation.kind)}
    return rows | {("WHOLE_BATCH", operation.kind)}


def rows_of_loss(loss: Loss) -> Rows:
    """Return the rows that a loss needs."""
    table = "LOSSES" if isinstance(loss.row, LossRow) else "ROW_LOSSES"
    return frozenset({(table, loss.row.name), ("KINDS_OF_LOSSES", table)})


def rows_of_optimizer(optimizer: Optimizer) -> Rows:
    """Return the rows that an optimizer and its schedule need."""
    schedule = optimizer.schedule.name
    return frozenset({("OPTIMIZERS", optimizer.row.name), ("SCHEDULES", schedule)})


def rows_of_batches(batches: Batches) -> Rows:
    """Return the rows that drawing batches needs."""
    return frozenset({("DRAWS", list(DRAWS)[batches.draw])})


def is_needed(function: Launched, operation: Operation) -> bool:
    """Whether an operation needs one of `OF_OPERATIONS`."""
    if function in (kernels.gather_all, kernels.gather_back_all):
        return operation.about.statistics(operation) > 0
    return function is not kernels.parameter_gradients or len(operation.parameters) > 0


def units_of_group(
    group: Iterable[Launched], program: Program, rows: Rows
) -> dict[tuple[Launched, Rows], CudaUnit]:
    """Return the kernels of a group for a program; `rows` are those of loss, optimizer and draw.

    Each is found by its function, and, if it is one of an operation, by the rows of that.
    """
    found, operations = {}, [each for each in program.operations if each.kind in WHOLE_BATCH]
    for function in group:
        if function not in OF_OPERATIONS:
            whole = rows.union(*map(rows_of_operation, operations))
            found[function, Rows()] = CudaUnit(function, InUse(whole))
            continue
        for operation in operations:
            if is_needed(function, operation):
                own = rows_alone(operation)
                found[function, own] = CudaUnit(function, InUse(own))
    return found


def units_of_training(
    program: Program,
    bank: Bank,
    batches: Batches,
    formulas: Iterable[tuple[Loss, Optimizer]],
) -> list[CudaUnit]:
    """Return the kernels of trainings of a program, in whole steps and moment by moment.

    formulas  losses and optimizers that are used together
    """
    layout = make_layout(program, bank, batches.size, MOST_SHARED)
    left_out = set() if fits(program, layout) else {steps.train}
    found: dict[CudaUnit, None] = {}
    drawn = rows_of_batches(batches)
    pairs = [rows_of_loss(loss) | rows_of_optimizer(optimizer) for loss, optimizer in formulas]
    for rows in dict.fromkeys(drawn | each for each in pairs):
        for group in GROUPS:
            if group[0] not in left_out:
                units = units_of_group(group, program, rows)
                found |= dict.fromkeys(units.values())
    return list(found)


@final
class KernelsInUse:
    """The kernels of a network for the formulas in use, each loaded when it is first needed."""

    def __init__(self, program: Program, dtype: Dtype) -> None:
        self._program, self._dtype = program, dtype
        self._parts: dict[str, Rows] = {}
        self._modules: dict[tuple[Launched, Rows], ModuleType | Refused] = {}

    def use(self, part: str, rows: Rows) -> None:
        """Set the rows of a part: "loss", "optimizer" or "batches"."""
        if self._parts.get(part) != rows:
            self._parts[part] = rows
            self._modules.clear()

    def of(self, function: Launched, operation: Operation | None = None) -> Any:
        """Return a kernel, to launch; one of `OF_OPERATIONS` for an operation."""
        key = function, Rows() if operation is None else rows_alone(operation)
        if key not in self._modules:
            self._load(function)
        return getattr(self._modules[key], function.__name__)

    @property
    def modules(self) -> list[Any]:
        """The files of the kernels that were loaded, as modules."""
        return list(dict.fromkeys(self._modules.values()))

    def units(self, group: Iterable[Launched]) -> dict[tuple[Launched, Rows], CudaUnit]:
        """Return `units_of_group` for what is in use now."""
        rows = Rows().union(*self._parts.values())
        return units_of_group(group, self._program, rows)

    def _load(self, function: Launched) -> None:
        """Load a kernel, and those that are needed at the same time."""
        units = self.units(next(group for group in GROUPS if function in group))
        modules = cuda_file.load([*units.values()], self._dtype)
        self._modules.update(zip(units, modules, strict=True))
