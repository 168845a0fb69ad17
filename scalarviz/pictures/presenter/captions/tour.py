"""Captions of the tour: what is seen in each of its parts, in one sentence."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.pictures.presenter.captions.format import said
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.training.session.caption import Caption

TINTS = "rgb", "grey"  # of inputs that are a color, and a picture
FEW = 4  # outputs up to which the largest distance from a target is said


def tour_caption(part: str, reading: LiveValues) -> Caption:
    """Return the sentence of a part of the tour, with the numbers of the reading.

    part     "stand", "forward", "error", "backward", "step" or "faster"
    reading  of the session
    """
    if part == "error":
        return Caption(error_of(reading))
    if part == "forward":
        tint = reading.session.data.input_tint
        kind = tint if tint in TINTS else "sample"
        return Caption(text(f"captions.tour.forward.{kind}"))
    return Caption(text(f"captions.tour.{part}"))


def error_of(reading: LiveValues) -> str:
    """Return how far the outputs of the focus sample are off; for many outputs, the loss."""
    known = reading.buffers(0)
    target, off = known.target, distance(known.answers, known.target)
    loss = reading.session.loss
    if off == off and target is not None and len(target) <= FEW:
        return text(f"captions.tour.error.{'one' if len(target) == 1 else 'some'}", off=said(off))
    if loss == loss:
        return text("captions.tour.error.loss", loss=said(loss))
    return text("captions.tour.error")


def distance(outputs: FloatArray | None, target: FloatArray | None) -> float:
    """Return the largest distance of an output from its target; NaN if there is none."""
    if outputs is None or target is None or outputs.shape != target.shape:
        return float("nan")
    return float(np.abs(outputs - target).max(initial=0.0))
