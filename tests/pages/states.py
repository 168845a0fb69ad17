"""States of a training as the page's picture takes them, made of a session of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.pages.packed import packed
from scalarviz.presenter.stage import Stage
from scalarviz.session.caption import Caption
from scalarviz.view.frame_data import FrameData


def state_of(stage: Stage, seen: FrameData) -> dict[str, Any]:
    """The state that a stage shows at the end of its animation."""
    session, buffers = stage.session, seen.buffers
    clock, bank = session.clock, session.network.bank
    before = seen.cubes.before
    return {
        "step": clock.step,
        "operation": clock.operation,
        "moment": -1 if seen.moment is None else stage.motion.current - 1,
        "value": numbers(bank.value),
        "grad": numbers(bank.grad),
        "before": numbers(bank.value if before is None else before),
        "values": {name: numbers(each) for name, each in buffers.values.items()},
        "gradients": {name: numbers(each) for name, each in buffers.flows.items()},
        "target": None if buffers.target is None else numbers(buffers.target),
    }


def caption_of(caption: Caption | None) -> dict[str, Any] | None:
    """A caption as captions.js returns it."""
    if caption is None:
        return None
    lines, whole = (
        [
            [{"words": p.words, "row": p.row, "neuron": p.neuron, "mark": p.mark} for p in line]
            for line in part
        ]
        for part in (caption.lines, caption.whole)
    )
    return {
        "title": caption.title,
        "formula": caption.formula,
        "lines": lines,
        "whole": whole,
        "rows": [*caption.rows],
        "neurons": [*caption.neurons],
        "callout": caption.callout,
    }


def numbers(array: Any) -> dict[str, Any]:
    return packed(np.asarray(array, np.float64))
