"""take_steps: many steps in portions, so that Ctrl-C can interrupt and a bad update is undone."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.interrupt import ctrl_c, cuttable, uncut
from scalarviz.base.limits import empty_losses
from scalarviz.core.not_finite import bad_gradient, written_error
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE
from scalarviz.engines.common.base import Engine, Outcome, Run
from scalarviz.engines.common.before import Before
from scalarviz.errors import GradientError, Interrupted

Tell = Callable[[int, float], object]  # called with the steps done and the newest loss

NO_LOSSES = np.empty(0)
SECONDS = 0.05  # about what a portion takes, and the most that is repeated


@uncut
def take_steps(
    engine: Engine, run: Run, optimizer: Optimizer, steps: int, tell: Tell | None = None
) -> FloatArray:
    """Take `steps` steps; return the loss before each. The bank is always left after a whole step.

    `tell` is called after each portion but the last.
    Raises GradientError, or Interrupted on Ctrl-C; both have the losses so far.
    """
    losses = empty_losses(steps) if steps > 1 else NO_LOSSES
    done, kept, pace = 0, 0, 1
    before, start = before_of(engine, run, optimizer), time.perf_counter()
    while True:
        count = min(pace, steps - done)
        try:
            ctrl_c.deliver()
            outcome = portion(run, optimizer, done, count)
        except KeyboardInterrupt:
            restore(run, optimizer, before, kept, done)
            engine.forget()
            raise Interrupted(losses[:done], steps) from None
        except Exception:  # of a layer that runs as Python
            restore(run, optimizer, before, kept, done)
            engine.forget()
            raise
        taken = len(outcome.losses)
        if taken == steps:
            return outcome.losses
        losses[done : done + taken] = outcome.losses
        done += taken
        if taken < count:
            error = error_of(engine, run, optimizer, outcome, before, kept, done)
            error.losses = losses[:done]
            raise error
        if done == steps:
            return losses
        if tell is not None:
            tell(done, float(losses[done - 1]))
        seconds = time.perf_counter() - start
        pace = max(1, min(4 * count, int((done - kept) * SECONDS / seconds)))
        if seconds > SECONDS:
            before, start = before_of(engine, run, optimizer), time.perf_counter()
            kept = done


@cuttable
def portion(run: Run, optimizer: Optimizer, first: int, count: int) -> Outcome:
    """Take some steps; after Ctrl-C the bank may be anywhere within them."""
    return run.steps(optimizer, first, count)


def before_of(engine: Engine, run: Run, optimizer: Optimizer) -> Before:
    """Return a copy of the present numbers, in the memory of the last one of this run."""
    run.before = Before(engine.bank, optimizer, gradients=True, last=run.before)
    return run.before


def restore(run: Run, optimizer: Optimizer, before: Before, first: int, step: int) -> None:
    """Restore the bank at the beginning of `step`, from a copy made at step `first`."""
    before.restore()
    if step > first:
        run.steps(optimizer, first, step - first)


def error_of(
    engine: Engine,
    run: Run,
    optimizer: Optimizer,
    outcome: Outcome,
    before: Before,
    first: int,
    step: int,
) -> GradientError:
    """Return the error that ended a training at a step; undo the step if it overflowed.

    The bank is then as before that step, with the gradients of that step.
    """
    bank = engine.bank
    if outcome.overflow is None:
        assert outcome.bad != NONE, "a run ends early for one of two reasons"
        return bad_gradient(bank, outcome.bad)
    restore(run, optimizer, before, first, step)
    state = bank.state.copy()
    run.begin(step)
    for moment in engine.program.moments[:-1]:
        run.perform(moment, optimizer)
    run.finish_backward()
    bank.state[:] = state
    return written_error(bank) or outcome.overflow.at(step)
