"""The thread of a step: the sample that is shown from the guess to the change.

It is computed before the step is shown, on a copy of the session.
"""

from __future__ import annotations

from scalarviz.errors import InputError
from scalarviz.stage.clearest import can_choose, clearest_sample
from scalarviz.stage.formula_thread import sample_of_formula
from scalarviz.training.session.reading import facts_of, state_of
from scalarviz.training.session.session import Session


def sample_to_explain(session: Session) -> int | None:
    """Return the sample of the coming step that is easiest to follow; None if none is known."""
    facts, batches = facts_of(session), session.trainer.batches
    if facts.is_graph:
        return sample_of_formula(session)
    if not can_choose(facts, len(session.network.bank), batches.size):
        return None
    try:
        twin = session.copy()
    except InputError:
        return None
    step = twin.step_index
    twin.advance(1, progress=False)
    if twin.step_index == step:
        return None
    fresh = twin.network(twin.trainer.batches.at(step)[0]).ravel()
    with twin.doing():
        return clearest_sample(facts, state_of(twin), fresh)
