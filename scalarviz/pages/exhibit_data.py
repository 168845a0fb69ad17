"""What a network learns, for the end of the flow: samples to answer, and how they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data import Rgb
from scalarviz.formulas.metrics import cut
from scalarviz.presenter.exhibits_of import FEW, bounds_of, is_one_hot, numbered_axes, samples_of
from scalarviz.session.session import Session

SIDE = 24  # cells along a map
DOTS = 120  # most samples on a map


def probe_of(session: Session) -> FloatArray:
    """Return the inputs, shape (samples, inputs), whose outputs the exhibit shows; may be empty."""
    made = exhibit_of(session)
    return made[1] if made is not None else np.zeros((0, session.data.inputs))


def exhibit_data(session: Session) -> dict[str, Any] | None:
    """Return what the page draws of the outputs for `probe_of`; None: there is no exhibit for it.

    kind     "swatches": colours; "answers": a few samples as a table; "plane": a map of two inputs
    reads    "sigmoid" or "softmax" if the loss applies it to the outputs, else ""
    output   name of the buffer of the outputs
    """
    made = exhibit_of(session)
    if made is None:
        return None
    loss = session.timeline.trainer.loss
    output = session.network.program.outputs.name
    return {**made[0], "reads": loss.row.logits or "", "output": output}


def exhibit_of(session: Session) -> tuple[dict[str, Any], FloatArray] | None:
    """Return the exhibit without its answers, and the inputs that it takes."""
    data = session.data
    if isinstance(data, Rgb):
        inputs, targets = data.palette
        shown = {"kind": "swatches", "inputs": inputs.tolist(), "targets": targets.tolist()}
        return shown, np.asarray(inputs)
    if data.name == "digits" or not session.network.layers:
        return None
    inputs, targets = (np.asarray(part, np.float64) for part in samples_of(session))
    varying = np.flatnonzero(np.ptp(inputs, axis=0) > 0.0)
    if len(inputs) <= FEW and inputs.shape[1] <= FEW and targets.shape[1] <= 2:
        names = numbered_axes(data)
        return {
            "kind": "answers",
            "names": [names[i] for i in varying],
            "inputs": inputs[:, varying].tolist(),
            "targets": targets.tolist(),
            "cut": cut(targets) if targets.shape[1] == 1 else None,
        }, inputs
    if len(varying) != 2:
        return None
    return plane_of(session, inputs, targets, varying)


def plane_of(
    session: Session, inputs: FloatArray, targets: FloatArray, axes: Any
) -> tuple[dict[str, Any], FloatArray]:
    """Return a map of the plane of two inputs; other inputs are constant."""
    low, high = bounds_of(session.data, inputs[:, axes])
    part = (np.arange(SIDE) + 0.5) / SIDE
    across, up = low[0] + part * (high[0] - low[0]), high[1] - part * (high[1] - low[1])
    grid = np.repeat(inputs[:1], SIDE * SIDE, axis=0)
    grid[:, axes] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    dots = inputs[:DOTS]
    classes = targets.shape[1] if is_one_hot(targets) else 0
    wanted = targets.argmax(axis=1) if classes else targets[:, 0]
    least, most = float(wanted.min()), float(wanted.max())
    names = numbered_axes(session.data)
    shown = {
        "kind": "plane",
        "side": SIDE,
        "axes": axes.tolist(),
        "names": [names[i] for i in axes],
        "low": low.tolist(),
        "high": high.tolist(),
        "classes": classes,
        "sorts": bool(classes) or len(np.unique(wanted)) == 2,
        "middle": (least + most) / 2.0,
        "reach": (most - least) / 2.0 or 1.0,
        "dots": ((dots[:, axes] - low) / (high - low)).tolist(),
        "targets": wanted[:DOTS].tolist(),
    }
    return shown, np.concatenate([grid, dots])
