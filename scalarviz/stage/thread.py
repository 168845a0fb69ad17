"""The thread of a step: the sample, output and weight that are shown from the guess to the change.

It is computed before the step is shown, on a copy of the session.
"""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts.decimals import short
from scalarviz.core.formulas.metric_formulas import predictions_of
from scalarviz.errors import InputError
from scalarviz.scene.telling import FEW_OUTPUTS, printed
from scalarviz.story.facts import NONE
from scalarviz.training.session.session import Session

MOST = 300_000  # numbers of a batch times weights: of a larger step none is computed before


def sample_to_explain(session: Session) -> int | None:
    """Return the sample of the coming step that is easiest to follow; None: not known, or none is.

    Each of its outputs moves toward its goal. Of several it is the one of which most is true: that
    printed terms add up to the printed sum, that the weight that is explained changes in print, as
    the sample itself asks, and that no number of its loss is printed twice.
    """
    program, bank = session.network.program, session.network.bank
    weighing = [each for each in program.operations if each.weights != NONE]
    is_plain = not any(each.about.learning for each in program.operations)
    if program.is_graph or not weighing or weighing[-1].kind != "affine" or not is_plain:
        return None
    if program.outputs.size > FEW_OUTPUTS or len(bank) * session.trainer.batches.size > MOST:
        return None
    try:
        twin = session.copy()
    except InputError:
        return None
    old, step = np.array(bank.value), twin.step_index
    twin.advance(1, progress=False)
    inputs, targets = twin.trainer.batches.at(step)
    numbers = twin.numbers(weighing[-1].name)
    outputs = twin.numbers(program.operations[-1].name).outputs
    if twin.step_index == step or outputs is None or numbers.upstream is None:
        return None
    read, changed = twin.trainer.loss, twin.network.bank
    before, after = predictions_of(read, outputs), predictions_of(read, twin.network(inputs))
    nearer = (np.abs(after - targets) < np.abs(before - targets)).all(axis=1)
    last, shape = weighing[-1], (numbers.outputs.shape[1], numbers.inputs.shape[1])
    rows = last.weights + np.arange(shape[0] * shape[1]).reshape(shape)
    best, most = None, -1
    for sample in np.flatnonzero(nearer).tolist():
        unit = int(np.abs(numbers.outputs[sample]).argmax())
        x = numbers.inputs[sample]
        own = numbers.upstream[sample, unit] * x
        grad = np.where(own * changed.grad[rows[unit]] > 0.0, changed.grad[rows[unit]], 0.0)
        row = rows[unit][int(np.abs(grad).argmax())]
        bias = [] if last.biases == NONE else [float(old[last.biases + unit])]
        terms = [*(x * old[rows[unit]]).tolist(), *bias]
        found = [
            bool(printed(terms, float(numbers.outputs[sample, unit]))),
            bool(grad.any()) and short(float(old[row])) != short(float(changed.value[row])),
            are_apart(before[sample], targets[sample]),
        ]
        if sum(found) > most:
            best, most = sample, sum(found)
    return best


def are_apart(outputs: FloatArray, goals: FloatArray) -> bool:
    """Return whether outputs, goals, how far these are apart, and the mean are printed apart."""
    gaps = np.abs(outputs - goals)
    mean = [gaps.mean()] if len(gaps) > 1 else []
    words = [short(float(each)) for each in [*outputs, *goals, *gaps, *mean]]
    return len({*words}) == len(words)
