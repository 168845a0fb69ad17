"""Followed: reader for the recorded training run of another program."""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten, size
from scalarviz.base.leaf_calls import session_of_record, show_followed
from scalarviz.base.messages import visible
from scalarviz.errors import FileError, InputError, OrderError, UnknownArrayError
from scalarviz.training.follow.record import NUMBERS, PARTS, UNKNOWN, Numbers, Record, unpacked
from scalarviz.training.follow.signs import DEAD, REMEDIES, in_words
from scalarviz.training.follow.sources import SLOTS, WHOLE, Array, numbers_in, placed

if TYPE_CHECKING:
    from scalarviz.training.diagnosis import Measures
    from scalarviz.training.follow.health import Health
    from scalarviz.training.session.session import Session

MOST_ARRAYS, MOST_AXES, MOST_DEPTH = 100_000, 32, 50
# Errors raised by a header with fields of a wrong type or size.
FOREIGN = LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError
# Types of a record by example, with the least numbers.
SIZES = (0,)
ARRAY = {
    "name": "", "shape": SIZES, "module": "", "kind": "", "is_buffer": False, "frozen": False,
    "also": ("",), "pick": (1,),
}  # fmt: skip
FRAME = {"path": "", "kind": "", "parent": -1, "first": 0, "times": 0, "within": [""]}
NODE = {
    "kind": "", "name": "", "path": "", "frame": -1, "times": 0, "out": False, "arrays": [""],
    "sizes": [SIZES], "shared": [""], "shape": SIZES, "within": [""],
}  # fmt: skip
ROW = {"path": "", "maps": SIZES, "attention": SIZES, "output": 0}  # of a module, for a probe
ROW_PARTS, FEW = ("maps", "attention"), 4  # arrays, and numbers before the output
MOST_SMALL = 8  # arrays of a part
NODE_KINDS = {"module", "function", "noise", "input"}


class Head:
    """Description of the arrays of a model, read from a record; raises an error if invalid."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.dtype = np.dtype({"float32": "<f4", "float64": "<f8"}[given["dtype"]])
        self.parts = [*map(str, given["parts"])]
        known = len({*self.parts} & {*PARTS, *SLOTS})
        require("value" in self.parts and known == len(self.parts), "it has other parts")
        require(0 < len(given["arrays"]) <= MOST_ARRAYS, "it has no arrays, or too many")
        self.arrays = placed(map(array_in, given["arrays"]))
        self.count, self.total = self.arrays[-1].numbers.stop, numbers_in(self.arrays)
        self.modules: list[dict[str, Any]] = [
            {"name": visible(str(m["name"])), "kind": visible(str(m["kind"])),
             "settings": dict(m["settings"])}
            for m in given["modules"]
        ]  # fmt: skip
        self.optimizers: list[dict[str, Any]] = [
            {**each, "kind": str(each["kind"]), "settings": dict(each["settings"])}
            for each in given["optimizers"]
        ]
        self.probe = probe_in(given["probe"])
        self.is_chain, self.title = given["chain"] is True, visible(str(given["title"]))
        self.is_whole = all(each.pick == WHOLE for each in self.arrays)


def array_in(given: dict[str, Any]) -> Array:
    """Return the array described in a header; raise an error if invalid."""
    found = Array(**like(given, ARRAY))
    require(len(found.pick) == 2, "it has another pick")
    return found


def probe_in(given: Any) -> dict[str, Any] | None:
    """Return the probe sample in a header, or None; raise an error if invalid."""
    if given is None:
        return None
    shape, numbers = like(given["shape"], (1,)), np.array(given["numbers"], float)
    require(numbers.shape == (prod(shape),), "its probe has another size")
    return {"shape": shape, "numbers": numbers}


def structure_in(given: Any) -> dict[str, Any]:
    """Return the structure in a record; raise an error if invalid."""
    require(given["version"] == 1, "it was written by another version of scalarviz")
    frames = like(given["frames"], [FRAME])
    nodes = [
        like(each, NODE | {"settings": settings_like(each["settings"])})
        | {"ways": [(like(name, ""), *like(sizes, [SIZES])) for name, *sizes in each["ways"]]}
        | {"id": number}
        for number, each in enumerate(given["nodes"])
    ]
    edges = [(like(a, 0), like(b, 0), like(sizes, SIZES)) for a, b, sizes in given["edges"]]
    ends = {end for *two, _ in edges for end in two}
    depths: list[int] = []
    for each in frames:
        depths.append(1 + (depths[each["parent"]] if 0 <= each["parent"] < len(depths) else 0))
    require(max(depths, default=0) <= MOST_DEPTH, "its frames are nested too deeply")
    is_whole = (
        ends <= {*range(len(nodes))}
        and all(each["kind"] in NODE_KINDS for each in nodes)
        and all(each["frame"] < len(frames) for each in nodes)
        and all(each["parent"] < number for number, each in enumerate(frames))
    )
    require(is_whole, "a frame or a node is missing, or of no kind")
    return {
        "lack": visible(str(given["lack"]), 300),
        "frames": frames,
        "nodes": nodes,
        "edges": edges,
    }


def rows_in(given: Any, content: Numbers) -> dict[str, dict[str, Any]]:
    """Return what modules computed for a probe; raise an error if invalid.

    Args:
        given: the shapes; `content`: the bytes of the numbers, as `probing.packed` writes them
    """
    rows = like(given, [ROW])
    count = sum(FEW + each["output"] for each in rows)
    shapes = [each[part] for each in rows for part in ROW_PARTS if each[part]]
    is_like = all(len(x) == 3 and 0 not in x and x[0] <= MOST_SMALL for x in shapes)
    require(is_like, "its probe has other axes")
    require(len(content) == 4 * count + 2 * sum(map(prod, shapes)), "its probe has another size")
    numbers, small = content[: 4 * count].view("<f4"), content[4 * count :].view("<f2")
    found: dict[str, dict[str, Any]] = {}
    for each in rows:
        (mean, std, zeros, scale), numbers = numbers[:FEW].tolist(), numbers[FEW:]
        row = {"mean": mean, "std": std, "zeros": zeros} if 0.0 <= zeros <= 1.0 else {}
        for part in ROW_PARTS:
            if each[part]:
                flat, small = np.split(small, [prod(each[part])])
                by = scale if part == "maps" else 1.0
                row[part] = flat.reshape(each[part]).astype(np.float32) * by
        if each["output"]:
            row["output"], numbers = np.split(numbers.copy(), [each["output"]])
        found[each["path"]] = row
    return found


def settings_like(given: dict[str, Any]) -> dict[str, Any]:
    """Return an example of settings: words, numbers, and lists of integers."""
    return {name: [-(2**63)] if type(each) is list else each for name, each in given.items()}


def like(given: Any, example: Any) -> Any:
    """Return what was read of a record if it is like an example; else raise an error.

    It has the types of the example, and no smaller integers. A list or tuple in the example has one
    item; a tuple is a list in the record.
    """
    kind = list if isinstance(example, tuple) else type(example)
    require(type(given) is kind, f"it has {shorten(given)} where {kind.__name__} is expected")
    if kind is dict:
        return {visible(name): like(given[name], each) for name, each in example.items()}
    if kind is list:
        require(example is not SIZES or len(given) <= MOST_AXES, "it has too many axes")
        return type(example)(like(each, example[0]) for each in given)
    require(kind is not int or example <= given < 2**63, f"it has the number {shorten(given)}")
    return visible(given) if kind is str else given


class RecordedStep(NamedTuple):
    """The numbers of a recorded step.

    Attributes:
        step: number of training steps taken
        head: description of the model's arrays at that step
        parts: flat arrays by name, such as "value" and "gradient"
        marks: whether values and gradients of each array are available, and whether it is a frozen
            parameter, shape (3, arrays)
        rates: learning rate, number of earlier optimizer steps and index of the optimizer for each
            array, shape (arrays, 3); NaN for an array that this step does not change
    """

    step: int
    head: Head
    parts: dict[str, Numbers]
    marks: Numbers
    rates: Numbers


@final
class NamedArrays(dict[str, Numbers]):
    """Arrays by name; an unknown name raises UnknownArrayError, which lists the names."""

    def __missing__(self, name: object) -> Numbers:
        raise UnknownArrayError("array", name, self)


@final
class Followed:
    """A recorded training run, finished or still running; returned by `sv.load("night.sv")`.

    `sv.watch(followed)` shows it; `sv.page`, `sv.record` and `sv.picture` also accept it.

    Args:
        path: path of the recorded file
    """

    def __init__(self, path: Any) -> None:
        is_path = isinstance(path, (str, os.PathLike))
        require(is_path, f"a path must be a str or a Path, not {shorten(path)}")
        self.path = os.fsdecode(path)
        self.record = Record(self.path)
        self._heads: list[Head] = []
        self._newest: RecordedStep | None = None

    def refresh(self) -> bool:
        """Read new entries of the record; return True if there were any."""
        return self.record.refresh()

    def head(self, number: int = -1) -> Head:
        """Return a description of the model's arrays by its index, by default the latest one."""
        while len(self._heads) < len(self.record.heads):
            try:
                self._heads.append(Head(self.record.heads[len(self._heads)]))
            except FOREIGN as error:
                raise FileError(f"{shorten(self.path)} is damaged: {error}") from error
        lack = self.record.lack or "it ends before the first step"
        require(self._heads, f"{shorten(self.path)} has nothing to show: {lack}", FileError)
        return self._heads[number]

    @property
    def steps(self) -> Any:
        """Number of steps taken at each recorded moment, int64; 0 is the initial state."""
        return np.array(self.record.steps, np.int64)

    @property
    def losses(self) -> FloatArray:
        """Loss of each step, float64; NaN for steps without a reported loss."""
        return self.record.losses.copy()

    @property
    def notes(self) -> list[str]:
        """Automatic observations, such as the first NaN, as sentences with what to try."""
        return [visible(in_words(each), 400) for each in self.record.notes]

    @property
    def scalars(self) -> dict[str, tuple[Any, FloatArray]]:
        """Logged scalars by name: steps taken, int64, and values, float64.

        Also contains the norm of all gradients at each step that was looked at, "gradient norm";
        the learning rates: "lr", or "lr 1", "lr 2" of parameter groups that differ;
        and the losses of several optimizers, as in a GAN: "loss 1", "loss 2".
        """
        return {
            visible(name): (np.array([*steps], np.int64), np.array([*values], np.float64))
            for name, pairs in self.record.scalars.items()
            for steps, values in [zip(*pairs, strict=True)]
        }

    def parameters(self, step: int) -> dict[str, Numbers]:
        """Return the arrays of the model after a number of steps, named as in `state_dict`.

        Args:
            step: number of steps taken, one of `steps`

        For models with more than 1,000,000 parameters, the arrays are complete only at
        `whole_steps`; at other steps they contain every n-th row and column.
        """
        if size(step, "step", 0) in self.record.fulls:
            head, numbers = self._bytes(step, full=True)
            flat = numbers.view(head.dtype)
            return NamedArrays({
                each.name: flat[each.numbers].reshape(each.shape).copy()
                for each in placed(replace(each, pick=WHOLE) for each in head.arrays)
            })  # fmt: skip
        return self._part(step, "value", 0)

    def gradients(self, step: int) -> dict[str, Numbers]:
        """Return the gradients used by the last of `step` steps, for all arrays with a gradient."""
        has_any = "gradient" in self.kept(step).parts
        return self._part(step, "gradient", 1) if has_any else NamedArrays()

    @property
    def whole_steps(self) -> Any:
        """Steps at which all numbers of the model were recorded, int64."""
        return (
            np.array(sorted(self.record.fulls), np.int64)
            if not self.head().is_whole
            else self.steps
        )

    def kept(self, step: int) -> RecordedStep:
        """Return the numbers recorded at a step."""
        if self._newest is None or self._newest.step != step:
            head, numbers = self._bytes(step)
            count = len(head.arrays)
            rates, flat, marks = np.split(numbers, [24 * count, len(numbers) - 3 * count])
            rows = flat.view(head.dtype).reshape(len(head.parts), head.count)
            parts = dict(zip(head.parts, rows, strict=True))
            rates = rates.view("<f8").reshape(count, 3)
            self._newest = RecordedStep(step, head, parts, marks.reshape(3, count), rates)
        return self._newest

    def _bytes(self, step: int, *, full: bool = False) -> tuple[Head, Numbers]:
        pages = self.record.fulls if full else self.record.pages
        if size(step, "step", 0) not in pages:
            near = min(pages, key=lambda each: abs(each - step), default=0)
            raise InputError(f"step {step} was not recorded: the nearest recorded step is {near}")
        found = self.record.numbers(step, b"FULL" if full else b"PAGE")
        if found is None:
            raise FileError(f"{shorten(self.path)}: step {step:,} was dropped or is damaged")
        head = self.head(pages[step][1])
        count, beside = (head.total, 0) if full else (head.count * len(head.parts), 27)
        if len(found) != count * head.dtype.itemsize + beside * len(head.arrays):
            raise FileError(f"{shorten(self.path)} is damaged: step {step:,} has another length")
        return head, found

    def _part(self, step: int, part: str, mark: int) -> dict[str, Numbers]:
        kept = self.kept(step)
        return NamedArrays({
            name: kept.parts[part][each.numbers].reshape(each.kept).copy()
            for each, is_known in zip(kept.head.arrays, kept.marks[mark], strict=True)
            if is_known
            for name in (each.name, *each.also)
        })  # fmt: skip

    @property
    def structure(self) -> dict[str, Any]:
        """The structure of the model, as observed in its first forward passes.

        A dict with `nodes` (modules, functions and arguments), `frames` (modules that call
        others), `edges` (node, node, shape of the tensor between them), and `lack`: why the
        structure is unknown, or "". No error is raised if it is missing or damaged.
        """
        tree, lack = self.record.tree, "no structure was recorded"
        try:
            if tree is not None:
                return structure_in(unpacked(tree))
        except (*FOREIGN, zlib.error) as error:
            lack = f"the recorded structure is damaged: {visible(str(error))}"
        return {"lack": lack, "frames": [], "nodes": [], "edges": []}

    @property
    def probe_steps(self) -> Any:
        """Steps after which the model was run for the probe, int64."""
        return np.array(sorted(self.record.looks), np.int64)

    def probe(self, step: int) -> dict[str, dict[str, Any]]:
        """Return what the modules computed for the probe, at the last time up to a step.

        Args:
            step: number of steps taken; `probe_steps` contains those with a probe

        Returns a dict by the path of a module, "" for the whole model, with "mean", "std" and
        "zeros" (the share of zeros) of its result, as far as it has them, and the arrays "maps"
        (channels, height, width), "attention" (heads, queries, keys) and "output". Raises
        InputError if there is no probe up to this step.
        """
        step = size(step, "step", 0)
        known = [each for each in sorted(self.record.looks) if each <= step]
        require(known, f"no probe was recorded up to step {step:,}: pass probe= to sv.follow")
        try:
            form = self.record.forms[self.record.looks[known[-1]][1]]
            found = self.record.numbers(known[-1], b"LOOK")
            if found is None:
                raise ValueError("it was dropped")
            return rows_in(unpacked(form), found)
        except (*FOREIGN, zlib.error) as error:
            raise FileError(
                f"{shorten(self.path)} is damaged: the probe of step {known[-1]:,}: "
                f"{visible(str(error))}"
            ) from error

    @cached_property
    def session(self) -> Session:
        """A read-only Session that moves between the recorded moments, for pictures."""
        found: Session = session_of_record(self)
        return found

    def first(self, *conditions: Any) -> int | None:
        """Return the first recorded step at which a condition held; see `Session.first`."""
        session: Session = session_of_record(self)
        session.seek(len(self.record.losses))  # the loss of the last one may still follow
        return session.first(*conditions, progress=False)

    @property
    def looks(self) -> tuple[Any, FloatArray]:
        """Steps with statistics of the current arrays of the model, int64, and these, float64.

        Their shape is (looks, arrays, NUMBERS). NaN is unknown, infinity is not finite.
        """
        count = len(self.head().arrays)
        looks = [each for each in self.record.stats if len(each[1]) == count]
        table = np.array([stats for _, stats in looks], float).reshape(-1, count, NUMBERS)
        table[~np.isfinite(table)] = np.inf
        table[table == UNKNOWN] = np.nan
        return np.array([step for step, _ in looks], np.int64), table

    def health(self) -> Health:
        """Return the root mean squares and dead units of each module over time, and the faults.

        Its text is a table with the present numbers, the step at which each fault began, and its
        causes. Before the first recorded step, it is a sentence that says so.
        """
        from scalarviz.training.follow.health import health_of, nothing_yet

        try:
            return health_of(self)
        except OrderError as error:
            return nothing_yet(str(error))

    def measures(self) -> Measures:
        """Return Measures of the recorded run for `sv.diagnose`."""
        from scalarviz.training.diagnosis import Measures

        arrays, losses = self.head().arrays, self.losses
        steps, table = self.looks
        shown = [
            i
            for i, each in enumerate(arrays)
            if (len(each.shape) > 1 and not each.is_buffer)
            or (each.is_norm and (table[:, i, 3] > DEAD).any())
        ]
        require(
            len(steps) and shown,
            "no step was recorded yet, so nothing can be diagnosed: train first",
            OrderError,
        )
        if len(steps) > 1 and np.isnan(table[-1, :, 2]).all():
            steps, table = steps[:-1], table[:-1]  # the last look of a record has no update
        table = table[:, shown]
        later = np.cumsum(table[:, ::-1, 3] > DEAD, axis=1)[:, ::-1]
        table[later > 1, 3] = np.nan  # layers before a dead one also get no gradient
        losses = np.append(losses, np.full(max(0, steps.max() - len(losses)), np.nan))
        names = [arrays[i].name for i in shown]
        values, gradients, updates, dead = np.moveaxis(table, 2, 0)
        return Measures(
            steps - 1, losses, names, values, gradients, updates, dead,
            np.full(dead.shape, np.nan), takes_turns=len(self.head().optimizers) > 1, first=1,
            remedies=REMEDIES,
        )  # fmt: skip

    def _ipython_display_(self) -> None:
        """Show a live page if this is the last value of a notebook cell."""
        show_followed(self)

    def __repr__(self) -> str:
        record, head = self.record, self.head()
        ends = f"; {record.lack}" if record.lack else "" if record.is_done else "; not closed"
        chosen = "" if head.is_whole else f", {head.count:,} of them kept"
        return (
            f"Followed: {len(record.losses):,} steps, {len(record.pages):,} kept moments, "
            f"{head.total:,} numbers in {len(head.arrays)} arrays{chosen}{ends}"
        )
