"""Health: the statistics of each module of a followed model over time, and the causes of faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import inf, prod
from typing import TYPE_CHECKING, Any, final
from warnings import catch_warnings, simplefilter

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import visible
from scalarviz.core.program import columns
from scalarviz.training.diagnosis import FAULTS, LOW, MOST, Finding, judge
from scalarviz.training.follow.scalars import RAISED
from scalarviz.training.follow.signs import DEAD, LOOKS, REMEDIES, SIGNS

if TYPE_CHECKING:
    from scalarviz.training.follow.followed import Followed

GRADIENT, CHANGE, UNITS = 1, 2, 3  # measures of a Health; 0 is the one of weights
HEAD = "module", "", "weights", "gradient", "update/weight", "dead", "fault"
# For each kind of note: a kind of FAULTS, and words on a module.
NOTED = {
    "nan": ("not finite", ""),
    "leap": ("rate", "large step at"),
    "vanished": ("vanishing", "vanished since"),
    "exploded": ("exploding", "exploded at"),
    "still": ("still", "does not learn since"),
}
# Modules and functions with slopes of 0 on both sides.
FLAT = {"Tanh", "Sigmoid", "Hardtanh", "Hardsigmoid", "tanh", "sigmoid", "hardtanh", "hardsigmoid"}
MOST_LISTED = 3  # modules in a sentence
# Losses of a mean; its least rise that is a fault, relative to the mean before, and to the usual
# change from one loss to the next.
FEW, RISE, JUMP = 10, 0.2, 5.0
LONG = 0.1  # share of a training run without a look


@final
@dataclass(frozen=True, eq=False)
class Health:
    """The health of a followed training run; its text is a table.

    Attributes:
        modules: names of the modules with parameters, in the order of the structure
        steps: steps with statistics ("looks"), int64
        table: root mean square of the weights and biases of a module and of their gradient, update
            relative to the weights, and fraction of dead units; shape (looks, modules, 4). NaN is
            unknown, infinity is not finite
        faults: words on each module, such as "dead since 301", or ""
        findings: the faults, earliest first
        head: number of looks, steps and losses, and the longest span without a look
        looked_at: what was examined
    """

    modules: dict[str, str]
    steps: Any
    table: FloatArray
    faults: Sequence[str]
    findings: Sequence[Finding]
    head: str
    looked_at: str

    def __repr__(self) -> str:
        cells = [map(cell, self.table[:, i].T, range(4)) for i in range(len(self.modules))]
        rows = zip(self.modules.items(), cells, self.faults, strict=True)
        lines = [HEAD]
        for numbers, alike in groupby(rows, lambda row: (*row[1], row[2])):  # such as not finite
            ((name, kind), *_), *more = alike
            lines.append((name, kind + f" and {len(more):,} more" * (len(more) > 0), *numbers))
        words = [str(each) for each in self.findings] or [self.looked_at]
        after, *of = self.moments
        news = (
            f"weights after step {after:,}; gradients, updates and dead units of step {max(of):,}"
        )
        if not self.modules:
            return self.head
        return "\n".join(
            [self.head, *[news] * (0 < max(of) < after), "", *columns(lines), "", *words]
        )

    @property
    def moments(self) -> list[int]:
        """Step of the newest look at each measure of `table`, 0 if unknown."""
        known: Any = ~np.isnan(self.table).all(axis=1)
        return [int(max(self.steps[each], default=0)) for each in known.T]


def nothing_yet(why: str) -> Health:
    """Return the Health of a training run without a step."""
    return Health({}, np.zeros(0, np.int64), np.zeros((0, 0, 4)), [], [], why, why)


def newest(numbers: FloatArray) -> float:
    """Return the last known number, or NaN."""
    return float([np.nan, *numbers[~np.isnan(numbers)]][-1])


def cell(numbers: FloatArray, measure: int) -> str:
    """Format the last known number of a column of a table."""
    last = newest(numbers)
    known = f"{100 * last:.0f} %" if measure == UNITS else f"{last:.2g}"
    return "-" if np.isnan(last) else "not finite" if np.isinf(last) else known


@final
class Modules:
    """The modules of a record, in the order of its structure.

    Attributes:
        parts: indices of the parameters of each module; `units`: those whose rows are units
        arrays: all arrays of the model
    """

    def __init__(self, followed: Followed) -> None:
        structure, self.arrays = followed.structure, followed.head().arrays
        self._names = [each["name"] for each in structure["nodes"]]
        self._after: dict[float, set[int]] = {}  # nodes that take what a node makes
        for before, after, _ in structure["edges"]:
            self._after.setdefault(before, set()).add(after)
        nodes = {name: each["id"] for each in structure["nodes"][::-1] for name in each["arrays"]}
        parts: dict[str, list[int]] = {}
        for i, array in sorted(enumerate(self.arrays), key=lambda x: nodes.get(x[1].name, inf)):
            if not array.is_buffer:
                parts.setdefault(array.module or array.name, []).append(i)
        self.parts = parts
        self._nodes = {
            name: {nodes.get(self.arrays[i].name, inf) for i in each}
            for name, each in parts.items()
        }
        self.units = {
            name: [i for i in each if self.arrays[i].has_units] or each[:1]
            for name, each in parts.items()
        }

    def behind(self, module: str) -> set[str]:
        """Return the modules that take what a module makes, directly or not."""
        names = [*self.parts]
        if not self._after:  # as in a chain
            return {*names[names.index(module) + 1 :]}
        left, seen = [*self._nodes[module]], set[float]()
        while left:
            new = self._after.get(left.pop(), set()) - seen
            seen |= new
            left += new
        return {name for name, nodes in self._nodes.items() if nodes & seen} - {module}

    def is_flat(self, module: str) -> bool:
        """Return whether a function behind a module has no slope on both sides, such as tanh."""
        after = [each for node in self._nodes[module] for each in self._after.get(node, ())]
        return any(self._names[each] in FLAT for each in after)

    def table(self, stats: FloatArray, chosen: dict[str, list[int]]) -> FloatArray:
        """Return the table of a Health for some arrays of each module, from all statistics."""
        found = []
        for parts in chosen.values():
            sizes = np.array([prod(self.arrays[i].shape) for i in parts], float)
            rows = np.array([prod(self.arrays[i].shape[:1]) for i in parts], float)
            squares = [mean(stats[:, parts, measure] ** 2, sizes) for measure in range(3)]
            squares[CHANGE] /= np.where(squares[0] > 0.0, squares[0], np.nan)  # they may start at 0
            found.append([*np.sqrt(squares), mean(stats[:, parts, UNITS], rows)])
        return np.moveaxis(np.array(found), (0, 1), (1, 2))


def mean(numbers: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the weighted mean of the known numbers of each row, or NaN."""
    known = ~np.isnan(numbers)
    found: FloatArray = np.nansum(numbers * sizes, axis=1) / np.sum(known * sizes, axis=1)
    return found


def health_of(followed: Followed) -> Health:
    """Return the Health of a record; raise OrderError before its first step."""
    modules, losses, measures = Modules(followed), followed.losses, followed.measures()
    faults: dict[str, list[str]] = {name: [] for name in modules.parts}
    steps, stats = followed.looks
    with np.errstate(all="ignore"), catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # about means of unknown numbers
        is_low = measures.level <= LOW  # then dead units do not matter
        others = judge(replace(measures, dead=np.full_like(measures.dead, np.nan)))
        table, rows = (modules.table(stats, x) for x in (modules.parts, modules.units))
        still = still_modules(modules, steps, stats, faults)
    lost: Any = np.isinf(table[:, :, :UNITS]).any(axis=2)
    table[lost, CHANGE:] = np.inf
    end = int(np.argmax([*lost.any(axis=1), True]))  # the first look that is not finite
    found = [] if is_low else dead_layers(modules, steps[:end], rows[:end], faults)
    owners = {modules.arrays[i].name: name for name, part in modules.parts.items() for i in part}
    for each in followed.record.notes:
        if each["kind"] in NOTED:
            kind, words = NOTED[each["kind"]]
            text = visible(each["text"].partition(": ")[2], 300)
            remedy = visible(str(each.get("try") or REMEDIES[kind]), 300)
            where = owners.get(each["where"], "")  # it may have been replaced since
            found.append(Finding(kind, where, each["step"], text, remedy))
            if words and where:
                faults[where].append(f"{words} {each['step']:,}")
    for name, bad in zip(faults, lost.T, strict=True):
        faults[name] += [f"not finite since {step:,}" for step in steps[bad][:1]]
        if all(modules.arrays[i].frozen for i in modules.parts[name]):
            faults[name].append("frozen")
    found = found or still
    kinds = {each.kind for each in found}
    new = set() if kinds & {"rate", "not finite"} else {"rate"} if kinds else {*FAULTS} - {"still"}
    others = [replace(x, where=owners.get(x.where, "")) for x in others if x.kind in new]
    for rise in losses_found(losses, followed.scalars):
        since = rise.step - LOOKS
        others = [x for x in others if x.kind != "stuck" and x.step < since]
        # What begins later is a result of a raised rate; at the next look, it is the cause.
        until = max(rise.step + LOOKS, *steps[steps >= rise.step][:1])
        results = {*FAULTS} - {"not finite"} if "; the rate" in rise.text else {"vanishing"}
        found = [x for x in found if x.kind not in results or x.step < since]
        if not any(since <= x.step <= until or rise.kind == "rate" for x in found):
            others.append(rise)
    found = grouped([*found, *others], modules.parts)
    count, total = int(np.isfinite(losses).sum()), max(len(losses), int(steps[-1]))
    said = counted(count, "loss", "es") if count else "no loss was reported"
    said = "the loss of every step" if count >= max(1, total - 1) else said
    is_blind = bool(np.isnan(table[:, :, GRADIENT]).all())
    nothing = "No fault" if is_blind or not count else "Nothing wrong"
    gap = "; no gradient is known" if is_blind else gap_of(steps, table[:, :, GRADIENT], total)
    return Health(
        {name: modules.arrays[parts[0]].kind for name, parts in modules.parts.items()},
        steps,
        table,
        [", ".join(dict.fromkeys(words)) for words in faults.values()],
        found,
        f"{counted(len(steps), 'look')} in {counted(total, 'step')}, {said}{gap}",
        f"{nothing} was found in {measures.extent}.",
    )


def still_modules(
    modules: Modules, steps: Any, stats: FloatArray, faults: dict[str, list[str]]
) -> list[Finding]:
    """Return the modules that do not move from a step on, unlike others; add words on them.

    They are frozen, or get gradients, or were trained before, unlike a target network that the
    program moves. If half of all modules are still, as in fine-tuning, this is intended.
    """
    values, gradients, updates = np.moveaxis(stats[:, :, :UNITS], 2, 0)
    moves, found = updates > 0.0, list[Finding]()
    moves[1:] |= np.diff(values, axis=0) != 0.0
    for name, part in modules.parts.items():
        first = int(max([*np.flatnonzero(moves[:, part].any(axis=1)), -1])) + 1
        late = gradients[first:, part]
        is_meant = all(modules.arrays[i].frozen for i in part) or (updates[:, part] > 0.0).any()
        if len(late) >= LOOKS and (is_meant or (late > 0.0).any()) and not (late == 0.0).all():
            since = f"not moved since step {steps[first - 1]:,}" if first else "never moved"
            text = f"its weights have {since}, unlike the weights of other layers"
            found.append(Finding("still", name, int(steps[first]), text, REMEDIES["still"]))
    found *= len(found) < MOST * len(modules.parts)
    for each in found:
        faults[each.where].append(f"does not learn since {each.step:,}")
    return found


def grouped(found: Sequence[Finding], names: Iterable[str]) -> list[Finding]:
    """Return findings, earliest first; equal ones of all modules of a parent are one of it."""

    def place(each: Finding) -> str:
        same = {x.where for x in found if (x.step, x.text) == (each.step, each.text)}
        for end in [i for i, letter in enumerate(each.where) if letter == "."]:
            inside = {name for name in names if name.startswith(each.where[: end + 1])}
            if len(inside) > 1 and inside <= same:
                return each.where[:end]
        return each.where

    placed = dict.fromkeys(replace(each, where=place(each)) for each in found)
    return sorted(placed, key=lambda each: each.step)


def losses_found(losses: FloatArray, scalars: Mapping[str, Any]) -> list[Finding]:
    """Return a finding if the loss jumped at a step, or rose slowly until the end.

    Args:
        scalars: scalars by name, with the learning rates
    """
    places = np.flatnonzero(np.isfinite(losses))
    known, count = losses[places], len(places)
    if count < 4 * FEW:
        return []
    sums = np.cumsum([0.0, *known])
    means = (sums[FEW:] - sums[:-FEW]) / FEW  # of FEW losses, by the first of them
    before, after = means[:-FEW], means[FEW:]
    changes = np.abs(np.diff(known))
    steady = np.cumsum(changes)[FEW - 2 : -FEW] / np.arange(FEW - 1, count - FEW)  # up to there
    jumps = np.flatnonzero(after - before > np.maximum(RISE * np.abs(before), JUMP * steady))
    place, end = int(np.argmin(means)), float(means[-1])
    kind, words = "rate", f"rose from {means[place]:.2g} to {end:.2g}, which it is at the end"
    if len(jumps):
        at = int(jumps[0])
        place = at + FEW + int(np.argmax(np.diff(known[at + FEW - 1 : at + 2 * FEW])))
        highest = means[place : place + FEW].max(initial=after[at])
        kind, words = "jump", f"jumped from {before[at]:.2g} to {highest:.2g}"
    elif end - means[place] <= max(RISE * abs(means[place]), JUMP * changes.mean()):
        return []
    step = int(places[place]) + 1
    rates = rise_of_rate(scalars, step)
    remedy = REMEDIES["raised" if rates else kind]
    return [Finding(kind, "", step, f"the loss {words}{rates}", remedy)]


def rise_of_rate(scalars: Mapping[str, Any], step: int) -> str:
    """Return how a learning rate rose near a step, in words, or "" if none did."""
    for name, (steps, values) in scalars.items():
        rises = (values[1:] > RAISED * values[:-1]) & (np.abs(steps[1:] - step) < FEW)
        for i in np.flatnonzero(rises)[: name.split()[0] == "lr"]:
            before, after = (f"{values[j]:.2g} at step {steps[j]:,}" for j in (i, i + 1))
            return f"; the rate was {before} and {after}"
    return ""


def gap_of(steps: Any, gradients: FloatArray, total: int) -> str:
    """Return the longest span without a look at gradients, in words, or "" if it is short."""
    ends = np.array([0, *steps[~np.isnan(gradients).all(axis=1)], total])
    first = int(np.argmax(np.diff(ends)))
    is_short = ends[first + 1] - ends[first] - 1 < LONG * total
    return "" if is_short else f"; no look from step {ends[first]:,} to {ends[first + 1]:,}"


def counted(count: int, what: str, plural: str = "s") -> str:
    return f"{count:,} {what}{plural * (count != 1)}"


def dead_layers(
    modules: Modules, steps: Any, table: FloatArray, faults: dict[str, list[str]]
) -> list[Finding]:
    """Return the dead layers behind which no other is dead, and add words on all modules.

    Args:
        steps: looks at which everything is finite; `table`: their table of a Health,
            of the arrays with units
        faults: words on each module
    """
    dead: dict[str, tuple[int, str, str]] = {}  # step at which it began, share, and former share
    for name, shares in zip(modules.parts, table[:, :, UNITS].T, strict=True):
        last = int(max([*np.flatnonzero(shares <= DEAD), -1]))  # look at which it was alive
        looks = last + 1 + np.flatnonzero(shares[last + 1 :] > DEAD)
        if len(looks) >= LOOKS:
            units = sum(modules.arrays[i].shape[0] for i in modules.units[name])
            was = f" ({100 * shares[last]:.0f} % at step {steps[last]:,})" * (last >= 0)
            share = f"{100 * shares[looks[-1]]:.0f} % of its {units:,} units are"
            dead[name] = int(steps[looks[0]]), share, was
    behind, found = {name: modules.behind(name) for name in dead}, []
    newest_ones = map(newest, table[:, :, GRADIENT].T)
    gradients = dict(zip(modules.parts, newest_ones, strict=True))
    zeros = {name for name, gradient in gradients.items() if gradient == 0.0} - {*dead}
    for name, (step, share, was) in dead.items():
        if any(name not in behind[other] for other in behind[name] & {*dead}):
            continue  # a layer behind it is dead, so it gets no gradient
        before = [other for other in dead if name in behind[other] and other not in behind[name]]
        after = [other for other in modules.parts if other in behind[name] & zeros]
        kind = "saturated" if modules.is_flat(name) else "dead"
        for other in before:
            faults[other].append(f"no gradient since {dead[other][0]:,}")
        for other in after:
            faults[other].append("gets only zeros")
        faults[name].append(f"{kind} since {step:,}")
        is_fixed = np.isnan(gradients[name])
        words = f"{share} {kind}{was}: "
        words += "its weights are 0 and frozen" if is_fixed else "their gradients are 0"
        words += listed(before, "before it", "no gradient")
        words += listed(after, "behind it", "only zeros")
        remedy = FAULTS[kind][2] if kind == "saturated" else SIGNS[kind][2]
        found.append(Finding(kind, name, step, words, REMEDIES["still"] if is_fixed else remedy))
    return found


def listed(names: Sequence[str], where: str, what: str) -> str:
    """Return that modules at a place get something, or ""."""
    more = f" and {len(names) - MOST_LISTED:,} more" * (len(names) > MOST_LISTED)
    words = f"{', '.join(names[:MOST_LISTED])}{more} {where} get{'s' * (len(names) == 1)} {what}"
    return f"; {words}" if names else ""
