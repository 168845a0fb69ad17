"""LaneJobs: trains networks of one shape in the lanes of a vector, as many at once as it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE
from scalarviz.data.batches import IN_ORDER, POINTS
from scalarviz.engines.cpu.job_tables import JobTables
from scalarviz.engines.cpu.lanes import padded
from scalarviz.engines.cpu.products import LONGEST
from scalarviz.engines.cpu.records import TILE_RECORD, Records
from scalarviz.engines.cpu.room import address
from scalarviz.engines.cpu.table import kernels_for
from scalarviz.engines.cpu.tables import LINE
from scalarviz.engines.cpu.units import TRAIN_LANES, units_of_lanes

if TYPE_CHECKING:
    from scalarviz.engines.cpu.replicas import CpuMany

KINDS = {"affine", "activation", "row", "branch", "sum", "product", "concatenation"}
TWO_PRODUCTS = {"rmsprop"}  # compilers round one of them, another one in each loop
LEAST = 4  # networks

Places = npt.NDArray[np.intp]


def fit_lanes(many: CpuMany) -> bool:
    """Return whether all that a training does is done by kernels for lanes, and that is faster.

    It is while the samples of one network do not fill the lanes.
    """
    names = {kernels_for(operation)[0] for operation in many.program.operations}
    return (
        names <= KINDS
        and many.optimizer not in TWO_PRODUCTS
        and many.batches.draw != POINTS
        and many.batches.size <= LINE // many.stack.value.itemsize
        and not many.plan["half"][0]
        and many.order.numbers[0]["clip_norm"][0] == np.inf
    )


@final
class LaneJobs(JobTables):
    """A job for the networks of each vector: those of networks alone, with other tables.

    many   the networks, with a job for each alone, whose workspaces draw samples and add up errors
    """

    def __init__(self, many: CpuMany) -> None:
        alone, stack = many.jobs, many.stack
        self.lanes = LINE // stack.value.itemsize
        count = min(alone.groups, -(-many.count // self.lanes))
        super().__init__(count, count)
        self.alone = alone
        rows = stack.value.shape[1] * self.lanes
        value, grad, slots, frozen = (
            np.zeros((self.count, *array.shape[1:], self.lanes), array.dtype)
            for array in (stack.value, stack.grad, stack.slots, stack.frozen)
        )
        batches = many.batches  # where each step has all samples, the first of a call draws them
        self.draws_once = batches.draw == IN_ORDER and batches.size >= batches.samples
        own = [(value, stack.value)] + [(slots, stack.slots)] * bool(slots.size)
        self.read = as_networks([*own, (frozen, stack.frozen)])
        self.written = as_networks([*own, (grad, stack.grad)])
        dtype, tables = value.dtype, many.tables
        room = int(padded(np.uint64(many.batches.size))) * self.lanes
        # Four samples are loaded even where there are fewer.
        space, flow = [(n // int(LONGEST) + 4) * room for n in (tables.space, tables.flow)]
        gradients = tables.gradients * self.lanes
        operations, spans = tables.operations.copy(), many.order.numbers[-1].copy()
        for field in ("weights", "biases", "gradients", "count"):
            operations[field] *= self.lanes
        for field in ("first", "end"):
            spans[field] *= self.lanes
        kernels = many.work.load(units_of_lanes() | {"train": TRAIN_LANES})
        affine = [operation.kind == "affine" for operation in many.program.operations]
        for field in units_of_lanes():
            operations[field][affine] = kernels[field].address
        self.run = many.kernels["train_networks"].call
        self.train = kernels["train"].address
        at = self.rows(value)
        changed: dict[str, dict[str, Any]] = {
            "program": {"operations": self.kept_at(operations)},
            "bank": {
                "value": at, "seen": at, "grad": self.rows(grad), "slots": self.rows(slots),
                "frozen": self.rows(frozen), "rows": rows,
            },
            "room": {
                "spaces": self.shared(space, dtype), "flows": self.shared(flow, dtype),
                "partial": self.shared(gradients, dtype), "tiles": self.shared(1, TILE_RECORD),
                "space": space, "flow": flow, "gradients": gradients,
            },
            "update": {
                "rows": rows, "scratch": self.shared(rows, dtype), "spans": self.kept_at(spans),
            },
        }  # fmt: skip
        self.drawings = np.zeros((self.count, self.lanes), np.uint64)
        records = {
            name: self.changed(table, **changed.get(name, {}))
            for name, table in alone.records.items()
        }
        self.progress = records["progress"]
        self.jobs = self.changed(
            alone.jobs,
            reader=self.rows(alone.jobs),
            drawings=self.rows(self.drawings),
            drawn=self.shared(self.lanes**2, np.uint64),
            **{name: self.rows(table) for name, table in records.items()},
        )

    def changed(self, table: Records, **fields: Any) -> Records:
        """Return the record of a network alone for each job, with other fields."""
        copy = table[: self.count].copy()
        for field, numbers in fields.items():
            copy[field] = numbers
        return copy

    def steps(self, which: Places, first: int, losses: FloatArray) -> Places:
        """Take steps with networks, and return those that took them all; others are unchanged."""
        size = self.count * self.lanes
        done = [self._steps(which[i : i + size], first, losses) for i in range(0, len(which), size)]
        return np.concatenate(done)

    def _steps(self, which: Places, first: int, losses: FloatArray) -> Places:
        """Do the same with as many networks as there is room for."""
        filled = np.append(which, np.repeat(which[-1], -len(which) % self.lanes))
        places = filled.reshape(-1, self.lanes)
        count, asked = len(places), losses.shape[1]
        for view, array in self.read:
            view[:count] = array[places]
        samples, alone = self.alone.records["samples"], self.alone.progress
        drawings = samples["drawing"].copy()
        self.drawings[:count] = drawings[places]
        found = np.zeros((count, self.lanes, asked))
        progress = self.progress
        progress["count"][:count] = alone["count"][places[:, 0]]
        progress["first"], progress["steps"], progress["taken"] = first, asked, 0
        progress["result"] = NONE
        progress["losses"][:count] = address(found) + np.arange(count) * found.strides[0]
        self.jobs["draws"] = 1 if self.draws_once else asked
        self.run(address(self.jobs), count, count, self.train)
        samples["drawing"] = drawings
        whole = progress["result"][:count] == NONE
        done = places[whole]
        for view, array in self.written:
            array[done] = view[:count][whole]
        losses[done] = found[whole]
        done = which if whole.all() else np.unique(done)
        alone["count"][done] += asked
        alone["taken"][done] += asked
        return done


def as_networks(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Return arrays in lanes as views with a row for each network, each with that of the stack."""
    return [(np.moveaxis(lanes, -1, 1), array) for lanes, array in pairs]
