"""A short recording in a page that trains, which browsers show that cannot train it."""

from __future__ import annotations

import base64
from typing import Any

from scalarviz.base.checks import FloatArray
from scalarviz.errors import GradientError, InputError
from scalarviz.pages.recording import recording_of
from scalarviz.training.session.session import Session

STEPS = 600  # at most
PLACES = 6, 30  # fewest and most steps of these that are kept
NUMBERS = 210_000  # that are kept of them: fewer steps of a larger network
WORK = 2e9  # products of weights and samples that its steps may take
SMALL = 500  # weights of networks that Python trains, in full precision: others take kernels
ROOM = 150_000  # bytes that it may take, before base64


def spare_of(session: Session, probe: FloatArray) -> dict[str, Any] | None:
    """Return a recording as `recordedOnly` of web/main.js reads it; None if none is short enough.

    The session stays as it is.

    probe  inputs, shape (samples, inputs), to which the page shows the answers
    """
    twin, bank, program = session.copy(), session.network.bank, session.network.program
    twin.visits.metrics = None  # which may be functions that take long
    by_python = len(bank) <= SMALL and not session.network.precision.mixed
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
        made = recording_of(twin, probe, steps, every, ROOM * 4 // 3, walked=walked)
    except (GradientError, InputError):  # its first step is refused, or it has no room
        return None
    data = base64.b64encode(made.data).decode()
    return {"engine": made.engine, "recording": made.spec, "bytes": data}
