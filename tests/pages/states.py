"""States of a training as the page's picture takes them, made of a session of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.pages.bundle import packed
from scalarviz.scene.frame_data import FrameData
from scalarviz.stage.stage import Stage


def state_of(stage: Stage, seen: FrameData) -> dict[str, Any]:
    """The state that a stage shows, with all that its operation computes."""
    session, reading, motion = stage.session, stage.reading, stage.motion
    clock, bank = session.clock, session.network.bank
    number = 0 if seen.moment is None else motion.current
    done = reading.moments[:number] if number else reading.moments
    names = {buffer.name for moment in done for buffer in moment.values}
    flows = {buffer.name for moment in done for buffer in moment.gradients if number}
    names |= {buffer.name for buffer in reading.program.given}
    neurons, reading.neurons = reading.neurons, None  # a page leaves out neurons itself
    now = reading.buffers(max(1, number)).flows  # in a graph they add up
    reading.neurons = neurons
    before, (way, target) = seen.cubes.before, reading.held or reading.sample
    return {
        "step": clock.step,
        "operation": clock.operation,
        "moment": number - 1,
        "value": numbers(bank.value),
        "grad": numbers(bank.grad),
        "gradBefore": numbers(motion.gradients[0]),
        "before": numbers(bank.value if before is None else before),
        "values": {name: numbers(v) for name, v in way.values.items() if name in names},
        "gradients": {name: numbers(v) for name, v in now.items() if name in flows},
        "gradientsBefore": reading.program.is_graph
        and {name: numbers(v) for name, v in reading.buffers(max(1, number - 1)).flows.items()},
        "target": None if target is None else numbers(target),
    }


def numbers(array: Any) -> dict[str, Any]:
    return packed(np.asarray(array, np.float64))
