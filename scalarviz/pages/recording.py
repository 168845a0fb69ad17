"""Recordings: selected steps of a session, for pages that cannot train it.

Each array is quantized to integer fractions of its maximum, see PRECISIONS. Arrays that change
slowly, such as weights, form a track: each is stored as differences from the previous step, in 8
bits if possible, otherwise in 16 bits. `web/client.js` reads recordings.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import Any, NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.progress import Progress
from scalarviz.base.texts import text
from scalarviz.engines.engine import HostSnapshot
from scalarviz.engines.wasm.page_memory import buffer_names, moment_data
from scalarviz.errors import GradientError, InputError, UpdateError
from scalarviz.pages.bundle import as_json, lettered, packed
from scalarviz.pages.exhibit_data import measured_data
from scalarviz.stage.sample_pass import forward
from scalarviz.training.follow.followed_session import RecordedRun
from scalarviz.training.session.reading import in_focus, row_in_focus, weights_in
from scalarviz.training.session.session import Session

PIECE = 2**18  # bytes compressed at once
HEADS = 1_000  # bytes of metadata of a recording: names, maxima, precisions
FEW = 2**20  # bytes that are compressed quickly
GZIP = 31  # zlib window bits: maximum size, with a gzip header
MOST_RECORDED = 500  # recorded moments of a followed training run
WALKED = 10  # steps recorded operation by operation
LEAST = 1e-30  # smaller maxima count as 0
HELD = 1_000_000_000  # maximum bytes of arrays before quantization
MOST_KEPT = 500_000  # maximum recorded steps: their step numbers take 10 MB in a page
MOST_STEPS = 2_500_000  # maximum steps: their losses take 10 MB before compression
SMALL, LARGE, WHOLE, SAME, PLAIN = 1, 2, 3, 4, 5  # encodings of an array, see `pieces`
OWN, ROUGH = "", "rough"  # names of arrays without a track; see `Parts`

Arrays = list[tuple[str, FloatArray]]  # each with the name of its track, or OWN or ROUGH


class Parts(NamedTuple):
    """Numbers of quantization levels for arrays, between 0 and the maximum of an array.

    Attributes:
        values: levels for weights, and for all numbers of steps recorded operation by operation
        gradients: levels for gradients between steps, the largest part of a recording
        answers: levels for outputs of the probe, most of which become colors
    """

    values: int
    gradients: int
    answers: int


# From fine to coarse. The gradients, rarely read as numbers, are reduced first.
PRECISIONS = (
    Parts(30_000, 30_000, 30_000),
    Parts(30_000, 3_000, 3_000),
    Parts(30_000, 300, 1_000),
    Parts(30_000, 100, 300),
    Parts(10_000, 100, 300),
    Parts(10_000, 60, 300),
    Parts(5_000, 60, 300),
    Parts(3_000, 60, 300),
    Parts(3_000, 30, 300),
    Parts(1_000, 30, 300),
    Parts(500, 20, 100),
    Parts(300, 15, 100),
    Parts(100, 15, 100),
)
COARSE = Parts(60, 10, 60), Parts(30, 7, 30)  # only of followed runs, whose weights are many
FAIR = 11  # the coarsest precision for which a page of a followed run has fewer moments instead
MOST_LOSSES = 20_000  # losses of a followed run that a page has one by one
LEAST_BYTES = 1 / 6  # of a recorded weight and its gradient


@dataclass
class Taken:
    """The recorded numbers of a session, in the order in which they are read.

    Attributes:
        arrays: the arrays of all recorded positions
        steps: the steps before which numbers are recorded
        walked: the steps that are recorded operation by operation
        weights: weight of the focus sample in the loss, for each step in `walked`
        rows: row in focus, for each step in `steps`
        batches: batch size, for each step in `steps`
        rates: learning rate, for each step in `steps`
        frozen: mask of the frozen weights, for each step in `steps`
        stopped: why training cannot continue after the last step: "gradient", "overflow" or ""
        losses: loss of every step
        measured: metrics, or None
    """

    arrays: Arrays = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    walked: list[int] = field(default_factory=list)
    weights: list[float | None] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    frozen: list[Any] = field(default_factory=list)
    stopped: str = ""
    losses: FloatArray = field(default_factory=lambda: np.zeros(0))
    measured: dict[str, Any] | None = None


@dataclass(frozen=True)
class Recording:
    """A recording for a page: its compressed bytes, its entries in the spec, and its precision."""

    data: bytes
    engine: dict[str, Any]
    spec: dict[str, Any]
    parts: Parts
    steps: int
    measured: dict[str, Any] | None = None  # metrics, see `measured_data`
    left_out: str = ""  # what a page of a followed run does not have


def recording_of(
    session: Session,
    probe: FloatArray,
    steps: int,
    every: int,
    room: int,
    *,
    walked: int = WALKED,
) -> Recording:
    """Train a copy of a session and return a recording for a page.

    Args:
        session: a session whose network has layers; it is unchanged
        probe: inputs, shape (samples, inputs), whose outputs the page shows
        steps: number of steps to train; of a followed run, to show
        every: number of steps between two recorded steps
        room: maximum number of bytes in a page; the precision is lowered until the recording fits
        walked: maximum number of steps that are recorded operation by operation

    Raises:
        InputError: if the recording does not fit into a page. If this is certain, the error is
            raised before training.
    """
    if isinstance(session.trainer.run, RecordedRun):
        return of_record(session, session.trainer.run, probe, steps, room)
    check_room(session, probe, steps, every)
    taken = take(session, probe, steps, every, walked)
    made = encoded(session, probe, taken, room)
    if isinstance(made, float):
        raise too_long(steps, every * ceil(2.0 * made))
    return made


def of_record(
    session: Session, run: RecordedRun, probe: FloatArray, steps: int, room: int
) -> Recording:
    """Return the recording of a followed run, with fewer moments if a fair precision does not fit.

    Numbers are fractions of the largest one in their array. Of many losses, there are means.
    """
    most = max(2, min(MOST_RECORDED, int(room / LEAST_BYTES / len(session.network.bank))))
    sizes = [prod(each.kept) for each in run.named_arrays]
    excess: object = 1.0
    while isinstance(excess, float):
        taken = take(session, probe, steps, 1, most)
        scales, alone = scale_arrays(taken, sizes), -(-len(taken.losses) // MOST_LOSSES)
        taken.losses = with_means(taken.losses, alone)
        excess = most > 2 and encoded(session, probe, taken, room, PRECISIONS[FAIR : FAIR + 1])
        if isinstance(excess, float):
            most = max(2, int(0.97 * len(taken.steps) / excess))
    count = len(run.some_steps(taken.steps[0], taken.steps[-1], MOST_KEPT))
    made = encoded(session, probe, taken, room, (*PRECISIONS, *COARSE))
    if isinstance(made, float):
        raise InputError(
            "the record does not fit into a page, even with two moments: pass on its file, which "
            "`scalarviz open` shows"
        )
    made.spec["scales"] = scales
    made.spec["frozen"] = frozen_arrays(taken, sizes)
    words = [text("page.record.moments", count=len(taken.steps), all=count,
                  parts=made.parts.values)]  # fmt: skip
    words += [text("page.record.losses", count=alone)] if alone > 1 else []
    is_reduced = len(taken.steps) < count or made.parts != PRECISIONS[0] or alone > 1
    return replace(made, left_out=" ".join(words) if is_reduced else "")


def with_means(losses: FloatArray, size: int) -> FloatArray:
    """Return losses with the mean of each `size` of them, if all of these are finite."""
    found = losses.copy()
    for start in range(0, len(found), size) if size > 1 else ():
        part = found[start : start + size]
        part[:] = part.mean() if np.isfinite(part).all() else part
    return found


def scale_arrays(taken: Taken, sizes: list[int]) -> dict[str, list[float]]:
    """Divide weights and gradients by the largest of their array; return these, and the sizes."""
    firsts, found = np.cumsum([0, *sizes[:-1]]), dict[str, Any](sizes=sizes)
    for name in ("value", ROUGH):
        tops = np.full(len(sizes), LEAST)
        for track, array in taken.arrays:
            if track == name:
                sure = np.abs(np.where(np.isfinite(array), array, 0.0))
                tops = np.maximum(tops, np.maximum.reduceat(sure, firsts))
        found[name] = tops.tolist()
        rows = np.repeat(tops, sizes)
        taken.arrays = [(t, x / rows if t == name else x) for t, x in taken.arrays]
    return found


def frozen_arrays(taken: Taken, sizes: list[int]) -> dict[int, list[int]]:
    """Return the numbers of the frozen arrays from some moments on, by the number of the moment."""
    firsts, found = np.cumsum([0, *sizes[:-1]]), dict[int, list[int]]()
    for i, mask in enumerate(taken.frozen):
        now = np.flatnonzero(mask[firsts]).tolist()
        if now != (list(found.values()) or [[]])[-1]:
            found[i] = now
    return found


def encoded(
    session: Session,
    probe: FloatArray,
    taken: Taken,
    room: int,
    precisions: Sequence[Parts] = PRECISIONS,
) -> Recording | float:
    """Return the recording of the finest precision that fits, or its excess: size by room."""
    engine, count = engine_of(session, taken.steps[0]), len(taken.losses)
    with np.errstate(over="ignore"):  # infinity is drawn as such
        losses = taken.losses.astype(np.float32)
    spec = {
        "first": taken.steps[0],
        "steps": taken.steps,
        "walked": taken.walked,
        "weights": taken.weights,
        "stopped": taken.stopped,
        "rows": taken.rows,
        "batches": taken.batches,
        "rates": taken.rates,
        "losses": packed(losses),
        "count": len(session.network.bank),
        "probe": probe.shape[0] * session.network.outputs if len(probe) else 0,
        "focus": session.focus,
    }
    most = (
        (room - len(as_json([engine, spec, taken.measured])) - HEADS) * 4 // 5
    )  # before encoding as text
    tops = tops_of(taken.arrays)
    for precision in precisions:
        parts = {name: precision.answers if name == "probe" else precision.values for name in tops}
        content = b"".join(pieces(taken.arrays, tops, parts, precision))
        # For large data, run-length encoding compresses almost as well, twenty times faster.
        how = zlib.Z_DEFAULT_STRATEGY if len(content) < FEW else zlib.Z_RLE
        data = compressed(content, most, how)
        if data is not None:
            spec |= {"tops": tops, "parts": parts}
            return Recording(data, engine, spec, precision, count, taken.measured)
    needed = compressed(content, len(content) + PIECE, how)
    assert needed is not None, "compressed bytes are hardly more"
    return len(needed) / max(1, most)


def check_room(session: Session, probe: FloatArray, steps: int, every: int) -> None:
    """Raise InputError if a recording of `steps` steps certainly does not fit into a page."""
    program, bank = session.network.program, session.network.bank
    buffers = sum(buffer.size for buffer in program.buffers)
    answers = len(probe) * program.outputs.size
    each = bank.value.itemsize * (2 * len(bank) + program.outputs.size + buffers + answers)
    most = max(1, min(MOST_KEPT, HELD // each))
    if steps > MOST_STEPS:
        raise too_long(steps)
    if -(-steps // every) > most:
        raise too_long(steps, -(-steps // most))


def too_long(steps: int, every: int | None = None) -> InputError:
    """Return the error for a recording that does not fit into a page; suggest `every` if given."""
    if every is None:
        return InputError(
            f"a recording of {steps} steps does not fit into a page: take fewer steps"
        )
    return InputError(
        f"a recording of {steps} steps does not fit into a page: take fewer steps, or pass "
        f"every={every}, the steps between two recorded ones"
    )


def compressed(content: bytes, room: int, how: int = zlib.Z_DEFAULT_STRATEGY) -> bytes | None:
    """Compress bytes with gzip; return None as soon as the result exceeds `room` bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, GZIP, zlib.DEF_MEM_LEVEL, how)
    found, count = [], 0
    for start in range(0, len(content), PIECE):
        found.append(packer.compress(content[start : start + PIECE]))
        count += len(found[-1])
        if count > room:
            return None
    found.append(packer.flush())
    return b"".join(found) if count + len(found[-1]) <= room else None


def engine_of(session: Session, step: int) -> dict[str, Any]:
    """Return what a page must know about the engine: step, sizes, buffers and moments."""
    program, names = session.network.program, buffer_names(session.network.program)
    return {
        "step": step,
        "sizes": {
            "batch": session.trainer.batches.size,
            "inputs": program.inputs.size,
            "outputs": program.outputs.size,
        },
        "buffers": [{"name": names[each], "size": each.size} for each in program.buffers],
        "moments": [moment_data(moment, names) for moment in program.moments],
    }


def take(session: Session, probe: FloatArray, steps: int, every: int, most: int) -> Taken:
    """Train a copy of a session and return its recorded numbers; stop at an invalid step.

    Args:
        session: the session
        probe: inputs, shape (samples, inputs), whose outputs are recorded
        steps: number of steps to train
        every: number of steps between two recorded steps
        most: maximum number of steps that are recorded operation by operation; of a followed run,
            maximum number of its recorded moments
    """
    twin = session.copy()
    twin.stops.are_ignored = True
    if twin.clock.operation:
        twin.back(1)
    first = twin.step_index
    if isinstance(twin.trainer.run, RecordedRun):
        walked, wanted = [], twin.trainer.run.some_steps(first, first + steps, most)
    else:
        kept = [*range(first, first + steps, every)]
        walked = kept[:: -(-len(kept) // most)]
        wanted = sorted({*kept, *(step + 1 for step in walked), first + steps})
    taken = Taken()
    with Progress(steps) as bar:
        try:
            for step in wanted:
                if step > twin.step_index:
                    twin.seek(step)
                bar.tell(step - first, twin.loss)
                take_rest(taken, twin, probe, first)
                if step in walked:
                    take_walk(taken, twin)
        except GradientError as error:
            if len(taken.steps) < 2:
                raise
            taken.stopped = "overflow" if isinstance(error, UpdateError) else "gradient"
    losses = np.asarray(twin.losses, np.float64)
    taken.losses = losses[first : taken.steps[-1]]
    if metrics := twin.metrics:
        taken.measured = measured_data(metrics)
    return taken


def take_rest(taken: Taken, session: Session, probe: FloatArray, first: int) -> None:
    """Record the numbers between two steps: weights, gradients, sample and outputs.

    Args:
        taken: the recorded numbers, to which the new ones are added
        session: the session
        probe: inputs, shape (samples, inputs), whose outputs are recorded
        first: step whose sample is shown during playback
    """
    program, step = session.network.program, session.step_index
    focus, inputs, target, size = in_focus(session, session.trainer.batches.at(first), first)
    with session.doing():
        numbers = HostSnapshot(session.network.bank).read()
    way = forward(program, numbers.value, inputs, numbers.state, step, focus)
    taken.steps.append(step)
    taken.batches.append(size)
    taken.rates.append(session.learning_rate)
    taken.frozen.append(session.network.bank.frozen.copy())
    taken.rows.append(row_in_focus(session, first, rests=True))
    values = (way.values.get(each.name, np.zeros(each.size)) for each in program.buffers)
    taken.arrays += [("value", numbers.value), (ROUGH, numbers.grad)]
    taken.arrays += [(OWN, each) for each in (target, *values)]
    if len(probe):
        taken.arrays.append(("probe", np.asarray(session.network(probe)).ravel()))


def take_walk(taken: Taken, session: Session) -> None:
    """Record a step operation by operation, with the numbers after each operation."""
    run, step = session.trainer.run, session.step_index
    focus, *found, _ = in_focus(session, session.trainer.batches.at(step))
    for moment in session.network.program.moments:
        session.advance(1, "operation")
        with session.doing():
            found.append(session.network.bank.grad.copy())
            found += [np.array(run.values(each)[focus]) for each in moment.values]
            found += [np.array(run.gradients(each)[focus]) for each in moment.gradients]
    weights = weights_in(session.timeline)
    taken.weights.append(None if weights is None else float(weights[focus]))
    taken.arrays += [(OWN, each) for each in found]  # of whole steps only: one may be refused
    taken.walked.append(step)


def tops_of(arrays: Arrays) -> dict[str, float]:
    """Return the maximum magnitude in each track, a sequence of arrays with the same name."""
    tracks = dict.fromkeys(name for name, _ in arrays if name not in (OWN, ROUGH))
    return {name: max(top_of(x) for track, x in arrays if track == name) for name in tracks}


def pieces(
    arrays: Arrays, tops: Mapping[str, float], parts: Mapping[str, int], precision: Parts
) -> Iterator[bytes]:
    """Yield the bytes of each array; the first byte is its encoding.

    SMALL, LARGE  differences from the previous array of the track, in 8 or 16 bits, as fractions of
                  the maximum of the track
    WHOLE         maximum of the array as float64, number of levels in 16 bits, and the numbers as
                  fractions of the maximum, in 8 bits for less than 128 levels, otherwise in 16
    SAME          no data: the array is equal to the previous one that does not belong to a track
    PLAIN         float32, for arrays that are not finite

    In 16-bit data, the low bytes of all numbers precede the high bytes.

    Args:
        arrays: the arrays, each with the name of its track
        tops: maximum of each track
        parts: number of quantization levels of each track
        precision: numbers of quantization levels of the other arrays
    """
    lasts: dict[str, Any] = {}
    last: FloatArray | None = None
    for name, array in arrays:
        if name == ROUGH:
            yield whole_piece(array, precision.gradients)
            last = None
        elif name == OWN:
            same = last is not None and np.array_equal(array, last)
            yield bytes([SAME]) if same else whole_piece(array, precision.values)
            last = array
        elif not np.isfinite(array).all():
            yield plain_piece(array)
            lasts[name] = np.zeros(array.size, np.int32)
        else:
            now = in_parts(array, tops[name], parts[name])
            yield difference_piece(now - lasts.get(name, 0))
            lasts[name] = now


def top_of(array: FloatArray) -> float:
    """Return the largest finite magnitude of an array; 0 if it is negligible."""
    finite = np.abs(array[np.isfinite(array)])
    top = float(finite.max()) if finite.size else 0.0
    return top if top > LEAST else 0.0


def in_parts(array: FloatArray, top: float, parts: int) -> Any:
    """Return numbers as integers, quantized to `parts` levels up to the maximum `top`."""
    if top == 0.0:
        return np.zeros(array.size, np.int32)
    return np.rint(array.astype(np.float64).ravel() * (parts / top)).astype(np.int32)


def whole_piece(array: FloatArray, parts: int) -> bytes:
    """Return the bytes of an array in the encoding WHOLE, or PLAIN if it is not finite."""
    if not np.isfinite(array).all():
        return plain_piece(array)
    top = top_of(array)
    numbers = in_parts(array, top, parts)
    written = numbers.astype(np.int8).tobytes() if parts < 128 else two_planes(numbers)
    return b"".join([bytes([WHOLE]), struct.pack("<dH", top, parts), written])


def difference_piece(differences: Any) -> bytes:
    """Return the bytes of differences in the encoding SMALL, or LARGE if they need 16 bits."""
    if np.abs(differences).max(initial=0) < 128:
        return b"".join([bytes([SMALL]), differences.astype(np.int8).tobytes()])
    return bytes([LARGE]) + two_planes(differences)


def two_planes(numbers: Any) -> bytes:
    """Return the low bytes of 16-bit numbers, followed by their high bytes."""
    pairs = (numbers & 0xFFFF).astype("<u2").view(np.uint8).reshape(-1, 2)
    return bytes(pairs.T.tobytes())


def plain_piece(array: FloatArray) -> bytes:
    with np.errstate(over="ignore"):
        return b"".join([bytes([PLAIN]), array.astype("<f4").tobytes()])


# A short recording in a page that trains, for browsers without the required features.

STEPS = 600  # maximum
PLACES = 6, 12  # minimum and maximum of recorded steps
NUMBERS = 210_000  # recorded numbers: fewer steps for a larger network
WORK = 2e9  # maximum products of weights and samples of its steps
BY_PYTHON = 500  # maximum weights of networks trained in Python; others use kernels
ROOM = 150_000  # maximum bytes before encoding as text


def spare_of(session: Session, probe: FloatArray) -> dict[str, Any] | None:
    """Return a short recording for browsers that cannot train the page; None if it would not fit.

    The session is unchanged. `recordedOnly` in web/main.js reads the recording.

    Args:
        session: the session
        probe: inputs, shape (samples, inputs), whose outputs the page shows
    """
    twin, bank, program = session.copy(), session.network.bank, session.network.program
    twin.visits.metrics = None  # these may be slow functions
    by_python = len(bank) <= BY_PYTHON and not session.network.precision.mixed
    if by_python:
        twin.to("python")
    fewest, most = PLACES
    answers = len(probe) * program.outputs.size
    each = 2 * len(bank) + answers + sum(buffer.size for buffer in program.buffers)
    places = min(most, int(NUMBERS / each))
    steps = min(STEPS, int(WORK / (len(bank) * session.trainer.batches.size)))
    if places < fewest or steps < fewest:
        return None
    every, walked = -(-steps // places), 2 if by_python else 1
    try:
        made = recording_of(twin, probe, steps, every, ROOM * 5 // 4, walked=walked)
    except (GradientError, InputError):  # its first step is refused, or it does not fit
        return None
    data = lettered(made.data)
    return {"engine": made.engine, "recording": made.spec, "bytes": data}
