"""The sample of a step that is easiest to follow through a formula of few parameters."""

from __future__ import annotations

import numpy as np

from scalarviz.errors import InputError
from scalarviz.training.session.session import Session

FEW = 8  # parameters of a formula
NUDGE = 1e-4  # by which each is changed to find what it does to the result


def sample_of_formula(session: Session) -> int | None:
    """Return the sample of the coming step that blames each parameter most; None without one.

    Its result comes closer to its goal. Its gradients agree with those of the batch in most
    parameters, and the smallest of them, compared with other samples, is largest.
    """
    try:
        twin = session.copy()
    except InputError:
        return None
    value, step = twin.network.bank.value, twin.step_index
    inputs, targets = twin.trainer.batches.at(step)
    before, old = np.asarray(twin.network(inputs), np.float64), np.array(value)
    if len(old) > FEW or before.shape != np.shape(targets) or before.shape[1:] != (1,):
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
