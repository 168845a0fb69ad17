"""The sample with which a step is explained, from the prediction to the update.

It is chosen before the step is shown, by running the step on a copy of the session.
"""

from __future__ import annotations

import numpy as np

from scalarviz.errors import InputError
from scalarviz.stage.clearest import can_choose, clearest_sample
from scalarviz.training.session.reading import facts_of, state_of
from scalarviz.training.session.session import Session

FEW = 8  # parameters of a formula
NUDGE = 1e-4  # change of each parameter to find its effect on the result


def sample_to_explain(session: Session) -> int | None:
    """Return the sample of the next step that is easiest to follow; None if unknown."""
    facts, weights = facts_of(session), len(session.network.bank)
    batch = session.trainer.batches.size
    if not (weights <= FEW if facts.is_graph else can_choose(facts, weights, batch)):
        return None
    try:
        twin = session.copy()
    except InputError:
        return None
    if facts.is_graph:
        return sample_of_formula(twin)
    step = twin.step_index
    twin.advance(1, progress=False)
    if twin.step_index == step:
        return None
    fresh = twin.network(twin.trainer.batches.at(step)[0]).ravel()
    with twin.doing():
        return clearest_sample(facts, state_of(twin), fresh)


def sample_of_formula(twin: Session) -> int | None:
    """Return the sample of the next step whose gradients of all parameters are largest, or None.

    Only samples whose result moves closer to the target fit. Of these, the best sample has
    gradients with the sign of the batch gradients in most parameters; ties are resolved by its
    smallest gradient, relative to other samples. The step is run on `twin`, a session copy.
    """
    value, step = twin.network.bank.value, twin.step_index
    inputs, targets = twin.trainer.batches.at(step)
    before, old = np.asarray(twin.network(inputs), np.float64), np.array(value)
    if before.shape != np.shape(targets) or before.shape[1:] != (1,):
        return None
    slopes = np.zeros((len(old), len(before)))
    for row in range(len(old)):
        value[row] = old[row] + NUDGE
        slopes[row] = np.asarray(twin.network(inputs))[:, 0] - before[:, 0]
        value[row] = old[row]
    twin.advance(1, progress=False)
    after = np.asarray(twin.network(inputs), np.float64)
    asked = slopes * (targets - before)[:, 0]
    share = np.abs(asked) / np.fmax(np.abs(asked).max(axis=1, keepdims=True), 1e-300)
    agrees = (asked * np.array(twin.network.bank.grad)[:, np.newaxis] < 0.0).sum(axis=0)
    nearer = (np.abs(after - targets) < np.abs(before - targets))[:, 0]
    worth = np.where(nearer, agrees + share.min(axis=0), -1.0)
    return int(worth.argmax()) if worth.max() >= 0.0 else None
